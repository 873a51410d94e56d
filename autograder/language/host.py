"""Interprets host functions: the Python that picks a grid, moves arrays and launches kernels, from a closed vocabulary.

START HERE: `call(program, function, arguments, backend)` walks the function's syntax tree: host_statements.py and
host_expressions.py have a method for each kind of node, host_names.py what may be called, host_limits.py how much.
Numbers, tuples and lists are ordinary Python values of ours; arrays are the backend's handles; kernels are launched through
the backend, which any device provides. Nothing of the submission is ever executed as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from autograder.errors import KernelFault, KitError, Line, NotCarriedOut, SubmissionError, as_broken
from autograder.language.host_expressions import HostExpressions
from autograder.language.host_limits import ITEMS_A_STEP, fixed, handed_back, weigh, without_insides
from autograder.language.host_statements import HostStatements, LoopEnds, LoopGoesOn, Returned
from autograder.language.program import Function, Program
from autograder.language.quoting import shown
from autograder.language.transfers import Transfer

MOST_STEPS = 50_000  # statements and expressions of host code: a thousand launches, but no product of matrices
MOST_CALLS = 40  # host functions calling each other, deepest

# What Python and NumPy say of a submission's values. NumPy reads data types as Python: a SyntaxError is about such a text.
FORESEEN = (
    ArithmeticError, AttributeError, LookupError, NotImplementedError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
OF_THE_MACHINE = (ImportError, MemoryError, OSError, RecursionError)  # told elsewhere, and not as a value's fault


class Backend(Protocol):
    """What a device gives to host code; arrays are handles that only the backend understands."""

    transfers: list[Transfer]  # what host code asked for beside launches, in order

    def to_device(self, host: np.ndarray) -> Any: ...

    def device_array(self, shape: Any, dtype: Any) -> Any: ...

    def copy_to_host(self, array: Any) -> np.ndarray: ...

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence, dynamic_shared_bytes: int = 0
    ) -> Any: ...


def call(
    program: Program, function: Function, arguments: Sequence, backend: Backend, *, wants_returned: bool = False
) -> Any:
    """Interprets a host function; raises `SubmissionError` (with the line) for whatever goes wrong in it.

    Returns what it returned where that is wanted, and an array of numbers, a number, text or a tuple of such; else None.
    """
    interpreter = HostInterpreter(backend)
    with interpreter.surprises_told():
        returned = interpreter.call(function, list(arguments), {}, None)
        if not wants_returned:
            return None
        interpreter.frames.append((function, {}))
        return interpreter.guarded(function.node, handed_back, function.name, returned)


def evaluate_constant(node: ast.expr, file: str, names: Any) -> Any:
    """The value of a module-level assignment, by the same closed vocabulary, without a device; nothing can change it."""
    module = ast.FunctionDef(name="the module", args=ast.arguments([], [], None, [], [], None, []), body=[], lineno=1)
    frame = Function("the module", "host", module, file, "", names)
    interpreter = HostInterpreter(None)
    interpreter.frames.append((frame, {}))
    with interpreter.surprises_told():
        return interpreter.guarded(node, fixed, interpreter.evaluate(node))


class HostInterpreter(HostStatements, HostExpressions):
    """Walks host code statement by statement; one instance for each outermost call."""

    def __init__(self, backend: Backend | None) -> None:
        self.backend = backend
        self.steps = 0
        self.frames: list[tuple[Function, dict[str, Any]]] = []
        self.here: tuple[Function, ast.AST] | None = None  # what is being carried out

    # -- functions --------------------------------------------------------------------------------------------------

    def call(self, function: Function, arguments: list, keywords: dict[str, Any], node: ast.AST | None) -> Any:
        if function.kind != "host":
            raise self.fault(
                node, f"`{function.name}` is a kernel: it must be launched, not called.",
                f"Write {function.name}[grid, block](...).",
            )  # fmt: skip
        if len(self.frames) >= MOST_CALLS:
            raise self.fault(node, f"`{function.name}` calls itself more than {MOST_CALLS} deep.", "Use a loop.")
        self.frames.append((function, self.bind(function, arguments, keywords, node)))
        try:
            self.body(function.node.body)
        except Returned as returned:
            return returned.value
        except (LoopEnds, LoopGoesOn):
            raise self.fault(function.node, "`break` or `continue` outside a loop.") from None
        except SubmissionError as problem:
            raise as_broken(function.name, problem) from None
        finally:
            self.frames.pop()
        return None

    def bind(self, function: Function, arguments: list, keywords: dict[str, Any], node: ast.AST | None) -> dict:
        spec = function.node.args
        if spec.vararg or spec.kwarg:
            problem = f"`{function.name}` must take plain parameters, without *args and **kwargs."
            raise SubmissionError(problem, line=function.line(function.node))
        names = list(function.parameters)
        values = dict(zip(names, arguments, strict=False)) | keywords
        for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
            if name not in values:
                values[name] = evaluate_constant(default, function.file, function.names)
        for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):  # those behind a `*`
            if parameter.arg not in values and default is not None:
                values[parameter.arg] = evaluate_constant(default, function.file, function.names)
        by_name = [parameter.arg for parameter in spec.kwonlyargs]
        missing = [name for name in (*names, *by_name) if name not in values]
        if missing or len(arguments) > len(names) or set(values) - {*names, *by_name}:
            raise SubmissionError(
                f"`{function.name}` takes {len(names) + len(by_name)} arguments ({', '.join((*names, *by_name))}), "
                f"but it is called with {len(arguments) + len(keywords)}.",
                line=function.line(function.node),
            )
        return values

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def weigh(self, node: ast.AST, *values: Any) -> None:
        """Counts the items of values that Python is about to walk through; a fault where they are too many."""
        for value in values:
            if isinstance(value, (list, tuple)):
                self.steps += self.guarded(node, weigh, value) // ITEMS_A_STEP

    def guarded(self, node: ast.AST, function: Callable, *arguments: Any, **keywords: Any) -> Any:
        """Calls one of our functions on the submission's values; Python's complaint becomes a fault with the line."""
        try:
            return function(*arguments, **keywords)
        except KernelFault as fault:
            if fault.line is None:
                raise KernelFault(without_insides(fault.message), line=self.line(node), remedy=fault.remedy) from None
            raise
        except SubmissionError:
            raise
        except SyntaxError:
            raise self.fault(node, f"`{shown(node)}` fails: NumPy cannot read this data type.") from None
        except FORESEEN as error:
            raise self.fault(node, f"`{shown(node)}` fails: {without_insides(str(error)).rstrip('.')}.") from None
        except Exception:  # told where the call ends, of this piece of the submission
            self.here = (self.frames[-1][0], node) if self.frames else None
            raise

    @contextmanager
    def surprises_told(self) -> Iterator[None]:
        """Turns what Python complains of and nobody here had foreseen into a fault with its line, flagged for a look."""
        try:
            yield
        except (KitError, *OF_THE_MACHINE):
            raise
        except Exception as problem:
            function, node = self.here or (None, None)
            raise NotCarriedOut(
                f"Host code cannot carry out `{shown(node)}` ({type(problem).__name__}).",
                line=function.line(node) if function is not None and hasattr(node, "lineno") else None,
                remedy="Write it in smaller steps; if Numba takes it, tell your teachers.",
            ) from problem

    def note(self, node: ast.AST, what: str, size_bytes: int) -> None:
        """Keeps account of what the device was asked for beside launches."""
        if self.backend is not None:
            self.backend.transfers.append(Transfer(what, int(size_bytes), self.line(node)))

    def step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.frames:
            self.here = self.frames[-1][0], node
        if self.steps > MOST_STEPS:
            raise self.fault(
                node, f"The host code was stopped after {MOST_STEPS:,} steps (an endless loop?).",
                "Host code should only launch kernels; let the kernels do the work.",
            )  # fmt: skip

    def line(self, node: ast.AST | None) -> Line | None:
        if not self.frames:
            return None
        function = self.frames[-1][0]
        return Line(function.file, getattr(node, "lineno", function.node.lineno))

    def fault(self, node: ast.AST | None, message: str, remedy: str = "") -> KernelFault:
        return KernelFault(message, line=self.line(node), remedy=remedy)

    def refusal(self, node: ast.AST, message: str, remedy: str = "") -> SubmissionError:
        """For what is wrong with the text, whatever the function was called with."""
        return SubmissionError(message, line=self.line(node), remedy=remedy)
