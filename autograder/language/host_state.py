"""What host code is interpreted with: the device, the frames and steps so far, and how faults are told with their line."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from autograder.errors import FaultKind, KernelFault, KitError, Line, NotCarriedOut, SubmissionError
from autograder.language.host_limits import ITEMS_A_STEP, weigh, without_insides
from autograder.language.program import Function
from autograder.language.quoting import quoted
from autograder.records.transfers import Transfer

MOST_STEPS = 50_000  # statements and expressions of host code: a thousand launches, but no product of matrices
MANY_LAUNCHES = 500  # among them; then its loop does launch

# What Python and NumPy say of a submission's values. NumPy reads data types as Python: a SyntaxError is about such a text.
FORESEEN = (
    ArithmeticError, AttributeError, LookupError, NotImplementedError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
OF_THE_MACHINE = (ImportError, MemoryError, OSError, RecursionError)  # told elsewhere, and not as a value's fault


P = ParamSpec("P")
T = TypeVar("T")


class Backend(Protocol):
    """What a device gives to host code; arrays are handles that only the backend understands."""

    transfers: list[Transfer]  # what host code asked for beside launches, in order

    @property
    def launched(self) -> int: ...  # launches so far

    def to_device(self, host: np.ndarray) -> Any: ...

    def device_array(self, shape: Any, dtype: Any) -> Any: ...

    def copy_to_host(self, array: Any) -> np.ndarray: ...

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence[Any], dynamic_shared_bytes: int = 0
    ) -> Any: ...


class HostState(ABC):
    """The state and the bookkeeping of one outermost call of a host function.

    Expressions, statements and functions are carried out by classes derived from this one, each built on the one before
    it; what an earlier one asks of a later one is abstract here.
    """

    def __init__(self, backend: Backend | None) -> None:
        self.backend = backend
        self.steps = 0
        self.frames: list[tuple[Function, dict[str, Any]]] = []
        self.here: tuple[Function, ast.AST] | None = None  # what is being carried out

    @abstractmethod
    def call(self, function: Function, arguments: list[Any], keywords: dict[str, Any], node: ast.AST | None) -> Any:
        """Calls a host function of the submission; what it returns."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds a name, the items of a tuple, or an element."""

    @abstractmethod
    def over(self, node: ast.expr, items: Any) -> Iterator[Any]:
        """The items that a loop comes to, one by one."""

    def weigh(self, node: ast.AST, *values: Any) -> None:
        """Counts the items that Python is about to walk through; raises a fault if there are too many."""
        for value in values:
            if isinstance(value, (list, tuple)):
                self.steps += self.guarded(node, weigh, value) // ITEMS_A_STEP

    def guarded(self, node: ast.AST, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Calls one of our functions on the submission's values; Python's complaint becomes a fault with the line."""
        try:
            return function(*arguments, **keywords)
        except KernelFault as fault:
            if fault.line is None:
                raise fault.told_at(self.line(node), without_insides(fault.message)) from None
            raise
        except SubmissionError:
            raise
        except SyntaxError:
            raise self.fault(node, f"`{quoted(node)}` fails: NumPy cannot read this data type.") from None
        except FORESEEN as error:
            kind: FaultKind = "division_by_zero" if isinstance(error, ZeroDivisionError) else ""
            problem = f"`{quoted(node)}` fails: {without_insides(str(error)).rstrip('.')}."
            raise self.fault(node, problem, kind=kind) from None
        except Exception:  # told where the call ends, of this piece of the submission
            self.here = (self.frames[-1][0], node) if self.frames else None
            raise

    @contextmanager
    def surprises_told(self) -> Iterator[None]:
        """Turns an error of Python's that we did not foresee into a fault with its line, flagged for somebody to look at."""
        try:
            yield
        except (KitError, *OF_THE_MACHINE):
            raise
        except Exception as problem:
            function, node = self.here or (None, None)
            raise NotCarriedOut(
                f"Host code cannot carry out `{quoted(node)}` ({type(problem).__name__}).",
                line=function.line(node) if function is not None and node is not None else None,
                remedy="Write it in smaller steps; if Numba takes it, tell your teachers.",
            ) from problem

    def note(self, node: ast.AST, what: str, size_bytes: int, is_host_work: bool = False) -> None:
        """Keeps account of what the device was asked for beside launches."""
        if self.backend is not None:
            asked = Transfer(what, int(size_bytes), self.line(node), is_host_work, self.backend.launched)
            self.backend.transfers.append(asked)

    def step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.frames:
            self.here = self.frames[-1][0], node
        if self.steps > MOST_STEPS:
            launched = self.backend.launched if self.backend is not None else 0
            raise self.fault(node, *_too_long(launched))

    def line(self, node: ast.AST | None) -> Line | None:
        if not self.frames:
            return None
        function = self.frames[-1][0]
        return function.line(node if node is not None else function.node)

    def fault(self, node: ast.AST | None, message: str, remedy: str = "", kind: FaultKind = "") -> KernelFault:
        return KernelFault(message, line=self.line(node), remedy=remedy, kind=kind)

    def refusal(self, node: ast.AST, message: str, remedy: str = "") -> SubmissionError:
        """A fault that lies in the text, whatever the function was called with."""
        return SubmissionError(message, line=self.line(node), remedy=remedy)


def _too_long(launched: int) -> tuple[str, str]:
    """What is said of host code that took too many steps, and what to do: a loop that launches is not called endless."""
    stopped = f"The host code was stopped after {MOST_STEPS:,} steps"
    if launched < MANY_LAUNCHES:
        return f"{stopped} (an endless loop?).", "Host code should only launch kernels; let the kernels do the work."
    return (
        f"{stopped}, with {launched:,} launches until then.",
        "Does the loop around the launch end? If it does, have a launch do more: a thread for each element, say, not a "
        "launch for each row.",
    )
