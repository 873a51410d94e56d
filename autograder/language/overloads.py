"""`@overload`, `@overload_method` and `@overload_attribute`: what kernels may call or name, in an implementation that is
chosen by the arguments' types.

Stands in for Numba's decorators while the simulated GPU is installed: what they are given is remembered here, and the
kernel's call asks for the implementation with Numba types, as Numba's compiler does.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from autograder.errors import KernelFault, one_line
from autograder.language.program import Function, Kind

Read: TypeAlias = Callable[[types.FunctionType, Kind], Function]  # how a live function becomes one of a program
Choose: TypeAlias = Callable[..., Any]  # takes Numba types; gives an implementation, or None

TARGETS = ("cuda", "generic")  # for whom an overload may be meant that a kernel uses; the first has precedence


class Overloaded:
    """A function with overloads, as a kernel sees it; or a method, or an attribute, whose owner is its first argument."""

    def __init__(self, name: str, read: Read) -> None:
        self._read = read
        self.name = name
        self._known: list[tuple[str, Choose]] = []
        self._chosen: dict[tuple[Any, ...], Function | None] = {}

    def add(self, target: str, choose: Choose) -> None:
        """A further overload, which comes before those that are there."""
        self._known.insert(0, (target, choose))
        self._chosen.clear()

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
            for target, choose in self._known:
                chosen = _chosen_by(choose, self.name, by_position, by_name) if target == wanted else None
                if isinstance(chosen, types.FunctionType):
                    return self._read(chosen, "device")
        return None


def _chosen_by(choose: Choose, name: str, by_position: Sequence[Any], by_name: Mapping[str, Any]) -> Any:
    """What the program's function chooses; None where it refuses these types, as Numba's functions do, by an exception."""
    from numba.core.errors import NumbaError

    try:
        return choose(*by_position, **by_name)
    except NumbaError:
        return None
    except Exception as problem:
        raise KernelFault(
            f"`{choose.__name__}`, which chooses what `{name}` is for these types, fails: "
            f"{type(problem).__name__}: {one_line(str(problem))}",
            remedy="It takes Numba types, by the names that the function's own parameters have.",
        ) from problem


IS_TYPED: list[Callable[[object], bool]] = []
"""Who can say whether Numba was told how to call an ordinary function in another way; none while nothing is installed."""

_functions: dict[Callable[..., Any], Overloaded] = {}
OF_LIBRARY: dict[str, Overloaded] = {}  # by canonical path: overloads of what kernels know without them
_members: dict[str, list[tuple[Any, bool, Overloaded]]] = {}  # by name: (class of types or one type, is it a method, ...)


def as_overloaded(function: Callable[..., Any]) -> Overloaded | None:
    """The function with its overloads; None where it has none."""
    return _functions.get(function)


def is_typed(function: object) -> bool:
    """Whether Numba was told how to call an ordinary function, other than by an overload."""
    return any(ask(function) for ask in IS_TYPED)


def of_library(path: str) -> Overloaded | None:
    """A program's overloads of a function of the library, such as `builtins.len`; None where it has none."""
    return OF_LIBRARY.get(path)


def has_member(name: str) -> bool:
    """Whether any type has a method or an attribute of that name by an overload."""
    return name in _members


def member(name: str, numba_type: Any) -> tuple[bool, Overloaded] | None:
    """(whether it is a method, its overloads) of values of a type; None where they have none by that name."""
    for owner, is_method, overloaded in reversed(_members.get(name, ())):
        if isinstance(numba_type, owner) if isinstance(owner, type) else numba_type == owner:
            return is_method, overloaded
    return None


def add(function: Callable[..., Any], path: str | None, target: str, choose: Choose, read: Read) -> None:
    """Remembers an overload of a function; `path`: its canonical one, where it is one of the library's."""
    name = getattr(function, "__name__", str(function))
    if path is None:
        _functions.setdefault(function, Overloaded(name, read)).add(target, choose)
    else:
        OF_LIBRARY.setdefault(path, Overloaded(name, read)).add(target, choose)


def add_member(owner: Any, name: str, is_method: bool, target: str, choose: Choose, read: Read) -> None:
    """Remembers a method or an attribute of the values of a Numba type, or of all types of a class."""
    rows = _members.setdefault(name, [])
    known = next((each for each in rows if each[:2] == (owner, is_method)), None)
    if known is None:
        known = (owner, is_method, Overloaded(name, read))
        rows.append(known)
    known[2].add(target, choose)


def forget() -> None:
    """Forgets overloads of the library's functions and of types: they are for the program that gave them."""
    OF_LIBRARY.clear()
    _members.clear()
