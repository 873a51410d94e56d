"""`@overload`: an ordinary Python function that kernels may call, with an implementation chosen by the arguments' types.

Stands in for Numba's decorators while the simulated GPU is installed: what they are given is remembered here, and the
kernel's call asks for the implementation with Numba types, as Numba's compiler does.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from autograder.language.program import Function, Kind

Read: TypeAlias = Callable[[types.FunctionType, Kind], Function]  # how a live function becomes one of a program

TARGETS = ("cuda", "generic")  # for whom an overload may be meant that a kernel uses; the first has precedence

_known: dict[
    Callable[..., Any], list[tuple[str, Callable[..., Any]]]
] = {}  # by function: (target, what chooses an implementation)


class Overloaded:
    """A function with overloads, as a kernel sees it."""

    def __init__(self, function: Callable[..., Any], read: Read) -> None:
        self._read = read
        self.function = function
        self.name = function.__name__
        self._chosen: dict[tuple[Any, ...], Function | None] = {}

    def for_types(self, numba_types: Sequence[Any], names: Sequence[str] = ()) -> Function | None:
        """The implementation for arguments of these types (the last ones by these names); None where there is none."""
        key = (*numba_types, *names)
        if key not in self._chosen:
            self._chosen[key] = self._choose(list(numba_types), names)
        return self._chosen[key]

    def _choose(self, numba_types: list[Any], names: Sequence[str]) -> Function | None:
        by_position = numba_types[: len(numba_types) - len(names)]
        by_name = dict(zip(names, numba_types[len(by_position) :], strict=True))
        for wanted in TARGETS:
            for target, choose in _known[self.function]:
                chosen = choose(*by_position, **by_name) if target == wanted else None
                if isinstance(chosen, types.FunctionType):
                    return self._read(chosen, "device")
        return None


_overloaded: dict[Callable[..., Any], Overloaded] = {}


def as_overloaded(function: Callable[..., Any], read: Read) -> Overloaded | None:
    """The function with its overloads, whose implementations are to be read so; None where it has none."""
    if function not in _known:
        return None
    return _overloaded.setdefault(function, Overloaded(function, read))


def overload(function: Callable[..., Any], *_: Any, target: str = "cuda", **options: Any) -> Callable[..., Any]:
    """Numba's decorator: the function below it takes types, and returns an implementation or None."""

    def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
        _known.setdefault(function, []).insert(0, (target, choose))
        return choose

    return decorate


def register_jitable(*functions: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Numba's decorator: an ordinary function that compiled code may call too."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _known.setdefault(function, []).insert(0, ("generic", lambda *args, **kwargs: function))
        return function

    return decorate(*functions) if functions else decorate
