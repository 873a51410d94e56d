"""`numba.extending` and `numba.cuda.extending`: what a program gives to kernels, noted while the device is installed.

Overloads are noted for the simulated GPU, which steps through them. What else these modules have is Numba's own, and tells
Numba: the simulated GPU asks there (numba_extensions.py).
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from autograder.language import live, overloads
from autograder.language.program import Reference
from autograder.simgpu.wider import numbas_own

_NAMES = ("overload", "overload_method", "overload_attribute", "register_jitable")
_PLACES = ("numba.extending", "numba.core.extending")
_before: dict[str, dict[str, Any]] = {}


def _is_numbas(choose: Callable[..., Any]) -> bool:
    """Whether a function is part of Numba itself, whose overloads the simulated GPU knows without them."""
    module = choose.__module__ or ""
    return module.startswith("numba.") and ".tests." not in module


def _rule(target: str, choose: Callable[..., Any], options: Mapping[str, Any]) -> overloads.Rule:
    return overloads.Rule(target, choose, bool(options.get("prefer_literal")), bool(options.get("strict", True)))


def overload(function: Any, *_: Any, target: str = "cuda", **options: Any) -> Callable[..., Any]:
    """Numba's decorator: the function below it takes types, and returns an implementation or None."""

    def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
        if not _is_numbas(choose):
            found = live.as_constant(function)
            path = found.path if isinstance(found, Reference) else None
            overloads.add(function, path, _rule(target, choose, options), live.from_python)
        return choose

    return decorate


def _of_type(is_method: bool) -> Callable[..., Any]:
    def decorator(owner: Any, name: str, *, target: str = "cuda", **options: Any) -> Callable[..., Any]:
        """Numba's decorator: the function below it takes the owner's type first."""

        def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
            if not _is_numbas(choose):
                overloads.add_member(owner, name, is_method, _rule(target, choose, options), live.from_python)
            return choose

        return decorate

    return decorator


overload_method, overload_attribute = _of_type(True), _of_type(False)


def register_jitable(*functions: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Numba's decorator: an ordinary function that compiled code may call too."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not _is_numbas(function):
            rule = overloads.Rule("generic", lambda *args, **kwargs: function, is_strict=False)
            overloads.add(function, None, rule, live.from_python)
        return function

    return decorate(*functions) if functions else decorate


_NOTED: dict[str, Callable[..., Any]] = {
    "overload": overload, "overload_method": overload_method, "overload_attribute": overload_attribute,
    "register_jitable": register_jitable,
}  # fmt: skip


class ExtendingModule(types.ModuleType):
    """`numba.cuda.extending`: what is noted here, and beside that what Numba has there, or for all targets."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from numba.core import extending

        own = numbas_own.module("extending")
        for place in (own, extending):
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(f"numba.cuda.extending has no {name}")


def build_module() -> types.ModuleType:
    """`numba.cuda.extending`."""
    module = ExtendingModule("numba.cuda.extending", "numba.cuda.extending on the simulated GPU")
    module.__dict__.update(_NOTED)
    return module


def _is_typed(function: object) -> bool:
    """Whether Numba was told how to call an ordinary function (`type_callable`, `register_global`)."""
    from numba.core.typing.templates import builtin_registry

    registries = [builtin_registry]
    for name, registry in (("cudadecl", "registry"), ("typing.templates", "builtin_registry")):  # numba-cuda has its own
        if (declared := numbas_own.imported(name)) is not None:
            registries.append(getattr(declared, registry))
    return any(value is function for registry in registries for value, _ in registry.globals)


def install() -> None:
    """Lets Numba's own decorators tell the simulated GPU, besides what they do for compiled code."""
    overloads.IS_TYPED.append(_is_typed)
    for place in _PLACES:
        module = importlib.import_module(place)
        _before[place] = {name: getattr(module, name) for name in _NAMES}
        module.__dict__.update({name: _telling_both(name) for name in _NAMES})


def uninstall() -> None:
    """Brings back Numba's own."""
    overloads.IS_TYPED.remove(_is_typed)
    overloads.forget()
    for place, names in _before.items():
        sys.modules[place].__dict__.update(names)
    _before.clear()


def _telling_both(name: str) -> Callable[..., Any]:
    """Numba's decorator, that tells the simulated GPU too; what is for the GPU alone tells nobody else."""
    noted, theirs = _NOTED[name], _before["numba.extending"][name]

    def decorator(*arguments: Any, **options: Any) -> Any:
        target = options.get("target", "generic")
        note = noted(*arguments, **{**options, "target": "generic" if target == "cpu" else target})
        if target == "cuda":
            return note
        numbas = theirs(*arguments, **options)
        return lambda choose: numbas(note(choose))

    def jitable(*functions: Any, **options: Any) -> Any:
        if functions:
            return theirs(noted(functions[0]))
        return lambda function: theirs(**options)(noted(function))

    return jitable if name == "register_jitable" else decorator
