"""`@overload`, `@overload_method` and `@overload_attribute`: what kernels may call or name, in an implementation that is
chosen by the arguments' types.

Stands in for Numba's decorators while the simulated GPU is installed: what they are given is remembered here, and the
kernel's call asks for the implementation with Numba types, as Numba's compiler does.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from autograder.errors import KernelFault, one_line
from autograder.language.program import Function, Kind

Read: TypeAlias = Callable[[types.FunctionType, Kind], Function]  # how a live function becomes one of a program
Choose: TypeAlias = Callable[..., Any]  # takes Numba types; gives an implementation, or None

TARGETS = ("cuda", "generic")  # for whom an overload may be meant that a kernel uses; the first has precedence


class Rule(NamedTuple):
    """One overload: for which target, what chooses, and how it was given."""

    target: str
    choose: Choose
    prefers_literal: bool = False
    is_strict: bool = True  # whether an implementation must have the parameters of the function that chooses it


class Overloaded:
    """A function with overloads, as a kernel sees it; or a method, or an attribute, whose owner is its first argument."""

    def __init__(self, name: str, read: Read) -> None:
        self._read = read
        self.name = name
        self._rules: list[Rule] = []
        self._chosen: dict[tuple[Any, ...], Function | None] = {}

    def add(self, rule: Rule) -> None:
        """A further overload, which comes before those that are there."""
        self._rules.insert(0, rule)
        self._chosen.clear()

    def for_types(
        self, numba_types: Sequence[Any], names: Sequence[str] = (), literal: Sequence[Any] | None = None
    ) -> Function | None:
        """The implementation for arguments of these types (the last ones by these names); None where there is none.

        `literal`: the types with the numbers and texts that stand written in the call.
        """
        known_as = list(numba_types) if literal is None else list(literal)
        key = (*numba_types, *known_as, *names)
        if key not in self._chosen:
            self._chosen[key] = self._choose(list(numba_types), known_as, names)
        return self._chosen[key]

    def _choose(self, plain: list[Any], literal: list[Any], names: Sequence[str]) -> Function | None:
        for wanted in TARGETS:
            for rule in self._rules:
                if rule.target != wanted:
                    continue
                for given in (literal, plain) if rule.prefers_literal else (plain, literal):
                    by_position = given[: len(given) - len(names)]
                    by_name = dict(zip(names, given[len(by_position) :], strict=True))
                    chosen = _chosen_by(rule.choose, self.name, by_position, by_name)
                    if isinstance(chosen, types.FunctionType):
                        if rule.is_strict:
                            _check_parameters(rule.choose, chosen, self.name)
                        return self._read(chosen, "device")
        return None


def _check_parameters(choose: Choose, chosen: types.FunctionType, name: str) -> None:
    """Refuses an implementation whose parameters are others than those of the function that chose it, as Numba does."""
    one, other = inspect.signature(choose), inspect.signature(chosen)
    stars = [[n for n, p in each.parameters.items() if p.kind is p.VAR_POSITIONAL] for each in (one, other)]
    doubled = [n for each in (one, other) for n, p in each.parameters.items() if p.kind is p.VAR_KEYWORD]
    plain = [[(n, p.default) for n, p in each.parameters.items() if p.kind is not p.VAR_POSITIONAL] for each in (one, other)]
    takes_all = stars[1] and not stars[0]  # an implementation may take several arguments as one *args
    if doubled or stars[0] and stars[0] != stars[1] or not takes_all and plain[0] != plain[1]:
        raise KernelFault(
            f"The implementation of `{name}` takes {other}, and `{choose.__name__}`, which chooses it, {one}: "
            "to Numba, typing and implementation arguments differ.",
            remedy="Give both the same names and defaults" + (", and no **kwargs." if doubled else "."),
        )


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


def add(function: Callable[..., Any], path: str | None, rule: Rule, read: Read) -> None:
    """Remembers an overload of a function; `path`: its canonical one, where it is one of the library's."""
    name = getattr(function, "__name__", str(function))
    if path is None:
        _functions.setdefault(function, Overloaded(name, read)).add(rule)
    else:
        OF_LIBRARY.setdefault(path, Overloaded(name, read)).add(rule)


def add_member(owner: Any, name: str, is_method: bool, rule: Rule, read: Read) -> None:
    """Remembers a method or an attribute of the values of a Numba type, or of all types of a class."""
    rows = _members.setdefault(name, [])
    known = next((each for each in rows if each[:2] == (owner, is_method)), None)
    if known is None:
        known = (owner, is_method, Overloaded(name, read))
        rows.append(known)
    known[2].add(rule)


def forget() -> None:
    """Forgets overloads of the library's functions and of types: they are for the program that gave them."""
    OF_LIBRARY.clear()
    _members.clear()
