"""A submission after reading: functions as syntax trees with the few names they may use. Nothing here is ever executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from autograder.errors import BrokenDefinition, Line
from autograder.language.names import ModuleNames
from autograder.language.quoting import cut, lines_of

Kind = Literal["kernel", "device", "host"]


@dataclass(frozen=True)
class Reference:
    """A name from a library, by its canonical dotted path: `numba.cuda.threadIdx.x`, `math.sqrt`, `numpy.float32`."""

    path: str


class Namespace:
    """A module of somebody's own: its functions and numbers are what a kernel's `module.name` means."""

    def __init__(self, name: str, look_up: Callable[[str], object]) -> None:
        self.name = name
        self._look_up = look_up
        self._known: dict[str, object] = {}

    def member(self, name: str) -> object:
        """What a name of the module stands for, fixed when it is first asked for; raises AttributeError for none."""
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]


@dataclass(frozen=True)
class Casts:
    """What the signature of a device function converts: dtypes of its arguments and its result, None for anything else."""

    arguments: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class Options:
    """What @cuda.jit is told about the code that the compiler makes."""

    max_registers: int | None = None
    fastmath: bool = False


PLAIN = Options()


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a program: its syntax tree, the text it came from, and what its free names mean.

    `names` maps a free name to a number, tuple or NumPy array (a module constant), a `Reference`, or another `Function`.
    Line numbers in `node` count from 1 within `file` (a notebook's code cell counts as a file of its own).
    """

    name: str
    kind: Kind
    node: ast.FunctionDef
    file: str
    text: str  # the whole text of that file or cell
    names: Mapping[str, object] = field(repr=False)
    options: Options = PLAIN
    casts: Casts | None = None

    @classmethod
    def from_text(cls, text: str, file: str, names: Mapping[str, object]) -> Function:
        """A kernel of the kit's own: the one function that a text defines."""
        (node,) = ast.parse(text).body
        if not isinstance(node, ast.FunctionDef):
            raise TypeError(f"{file} defines no function")
        return cls(node.name, "kernel", node, file, text, names)

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args))

    @property
    def star(self) -> str | None:
        """The name of `*args`, where the function takes any number of arguments."""
        return self.node.args.vararg.arg if self.node.args.vararg else None

    def takes(self, count: int) -> bool:
        """Whether a launch with so many arguments has as many as there are parameters."""
        return count == len(self.parameters) or count > len(self.parameters) and self.star is not None

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that the function itself binds: its parameters, and whatever it assigns or defines anywhere."""
        names = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        functions = {n.name for n in ast.walk(self.node) if isinstance(n, ast.FunctionDef) and n is not self.node}
        return frozenset(names | functions | {*self.parameters, *filter(None, [self.star])})

    @cached_property
    def free_names(self) -> tuple[str, ...]:
        """Names that the body takes from outside, each once, in order."""
        used = [n.id for statement in self.node.body for n in ast.walk(statement) if isinstance(n, ast.Name)]
        return tuple(dict.fromkeys(name for name in used if name not in self.local_names and name in self.names))

    @property
    def is_empty(self) -> bool:
        """Whether the body does nothing: there is only a docstring, `pass`, `...` or a `return` of nothing in it."""
        return all(map(_does_nothing, self.node.body))

    @cached_property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        """(name, attribute) of every attribute of a name, each once, in order: ("cuda", "grid")."""
        found = (n for n in ast.walk(self.node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name))
        return tuple(dict.fromkeys((n.value.id, n.attr) for n in found if isinstance(n.value, ast.Name)))

    @cached_property
    def notes(self) -> dict[object, Any]:
        """What other modules have worked out about this function, each under its own key; kept while the function is."""
        return {}

    def line(self, node: ast.AST) -> Line:
        """Where a node stands. Python keeps no place for some (an operator, say): they get the function's first line."""
        return Line(self.file, getattr(node, "lineno", self.node.lineno))

    def line_text(self, number: int) -> str:
        """A line of the file, counted from 1 as Python counts them; cut where nobody would read on."""
        return cut(self._lines[number - 1]) if 0 < number <= len(self._lines) else ""

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.text)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, ast.Constant) and statement.value.value is None
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)


@dataclass(frozen=True)
class Program:
    """What a submission defines: the last definition of each function, and what its module-level names mean."""

    label: str  # the file as people know it: "lab.ipynb"
    functions: Mapping[str, Function]
    names: ModuleNames  # every module-level name; asking for a forbidden one raises
    broken: Mapping[str, BrokenDefinition] = field(default_factory=dict)  # functions that the lab cannot call, and why

    def function(self, name: str) -> Function:
        """The function called `name`, for the lab to call; raises `SubmissionError` if there is none that can be called."""
        if name in self.broken:
            raise self.broken[name].with_traceback(None)
        if name not in self.functions:
            if name in self.names:
                found = self.names[name]  # raises what is wrong with its definition
                other = f"another name of `{found.name}`" if isinstance(found, Function) else f"a {type(found).__name__}"
                raise BrokenDefinition(
                    f"`{name}` in {self.label} is not a function but {other}.",
                    name=name,
                    remedy=f"Define it with `def {name}(...)`.",
                )
            defined = ", ".join(sorted(self.functions)) or "none"
            raise BrokenDefinition(
                f"{self.label} does not define a function called `{name}`.",
                name=name,
                remedy=f"Define it exactly under that name (functions found: {defined}).",
            )
        return self.functions[name]


def wrong_number(function: Function, given: int) -> str:
    """What to say where a function is given too few or too many arguments."""
    least = "at least " if function.star else ""
    wanted = f"{least}{len(function.parameters)} argument{'s' * (len(function.parameters) != 1)}"
    return f"`{function.name}` takes {wanted} ({', '.join(function.parameters)}), but {given} are given."


def reachable(function: Function, seen: dict[int, Function] | None = None) -> list[Function]:
    """The function and every other one of the program that it can call, directly or through others."""
    seen = {} if seen is None else seen
    if id(function) not in seen:
        seen[id(function)] = function
        for value in _mentioned(function):
            if isinstance(value, Function):
                reachable(value, seen)
    return list(seen.values())


def _mentioned(function: Function) -> Iterator[object]:
    """What a function's free names stand for, and the members of modules among them."""
    values = {name: function.names[name] for name in function.free_names}
    yield from values.values()
    for name, attribute in function.attributes:
        module = values.get(name)
        if isinstance(module, Namespace):
            try:
                yield module.member(attribute)
            except AttributeError:  # told where it is used
                continue
