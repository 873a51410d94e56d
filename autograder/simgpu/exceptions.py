"""Exceptions in kernels: a thread that raises just stops, and only a kernel compiled with debug=True tells the host."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from autograder.errors import Line
from autograder.language.program import Function, Reference

Dim3 = tuple[int, int, int]


class DivisionByZero(ZeroDivisionError, FloatingPointError):
    """A division by zero: Numba raises the first of the two for a GPU, and the second in its own simulator."""


@dataclass(frozen=True)
class Debug:
    """That a kernel was compiled with debug=True; with fastmath a division by zero is no exception even then."""

    division: bool = True

    def tells(self, kind: type[Exception]) -> bool:
        """Whether the host is told of exceptions of this class."""
        return self.division or kind is not DivisionByZero


class Stopped(Exception):  # noqa: N818 (it ends a launch, and is no error of anybody's)
    """A thread raised an exception in the middle of an expression, in a kernel compiled with debug=True."""


@dataclass(frozen=True)
class Raised:
    """The first exception of a launch: its class and values, and which thread raised it where."""

    kind: type[Exception]
    values: tuple[object, ...]
    function: str
    line: Line
    block: Dim3
    thread: Dim3

    def as_exception(self) -> Exception:
        """The exception as Numba makes it on the host: its message begins with function, line, thread and block."""
        where = (
            f"In function {self.function!r}, file {self.line.file}, line {self.line.number}, "
            f"tid={list(self.thread[::-1])} ctaid={list(self.block[::-1])}"
        )
        first, *others = self.values or ("",)
        return self.kind(f"{where}: {first}" if self.values else where, *others)


def named_in(function: Function, node: ast.Raise) -> tuple[type[Exception], tuple[object, ...]]:
    """The class and the literal values of a `raise` statement; RuntimeError where the class is not an exception's."""
    call = node.exc if isinstance(node.exc, ast.Call) else None
    name = ast.unparse(call.func if call else node.exc) if node.exc is not None else "RuntimeError"
    found = function.names.get(name, getattr(builtins, name, RuntimeError))
    if isinstance(found, Reference):
        found = getattr(builtins, found.path.split(".")[-1], RuntimeError)
    kind = found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError
    try:
        return kind, tuple(ast.literal_eval(argument) for argument in call.args) if call else ()
    except ValueError:
        return kind, ()
