"""The judge of who got full marks: whole runs at sizes drawn at random, every hazard, and Numba's own typing.

It shares nothing with a lab's checks: cases and what is right come from `solutions/LAB/judge.py`, where `cases(rng)` yields
`JudgedCall` after `JudgedCall`, small ones first. A program is right where it is right in all of them.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Protocol
from unittest import mock

import numpy as np

from autograder.errors import KitError, UsageError, one_line
from autograder.grading.known_answers.answers import solution_of
from autograder.grading.spec import Lab
from autograder.language import parse_program
from autograder.language.program import Function, Program, reachable
from autograder.language.requirements import hold_to
from autograder.language.source import submission_from_cells
from autograder.records.hazards import Hazard
from autograder.records.runs import RunRequest, Uninitialised

COMPUTE_CAPABILITY = (9, 0)
MOST_OF_A_FINDING = 300  # characters
WORK_LIMIT = 12_000_000  # warp instructions of a case, several times what a right answer needs: what a loop without end gets


@dataclass(frozen=True)
class JudgedCall:
    """One call, and what is wrong with what came of it: an empty text where nothing is.

    `wrong(outputs, returned)`: each array argument afterwards (NumPy), and what the function returned. `Nothing written` in
    an output that was `Uninitialised` is poison, which no expected value equals.
    """

    request: RunRequest
    wrong: Callable[[Mapping[str, np.ndarray], Any], str]
    name: str


class Cases(Protocol):
    def __call__(self, rng: np.random.Generator) -> Iterator[JudgedCall]: ...


@dataclass
class Signatures:
    """The argument types of each kernel that was launched, as Numba knows them."""

    seen: dict[tuple[Function, tuple[Any, ...]], None] = field(default_factory=dict)

    def note(self, kernel: Function, arguments: tuple[Any, ...]) -> None:
        self.seen[kernel, tuple(type_of(each) for each in arguments)] = None


def size(rng: np.random.Generator, low: int, high: int) -> int:
    """A size from `low` up to below `high`: every second one is a multiple of a power of two, or one more or less."""
    drawn = int(rng.integers(low, high))
    if rng.random() < 0.5:
        power = 2 ** int(rng.integers(2, 9))
        drawn = round(drawn / power) * power + int(rng.integers(-1, 2))
    return min(max(drawn, low), high - 1)


def judge_file(lab: Lab) -> Path:
    """Where a lab's own judge is; raises `UsageError` where it has none."""
    path = solution_of(lab) / "judge.py"
    if not path.is_file():
        raise UsageError(
            f"{lab.name} has no judge for who gets full marks.",
            remedy=f"Write solutions/{lab.name}/judge.py with a function cases(rng), as lab 1 has it.",
        )
    return path


def judge_of(lab: Lab) -> Cases:
    """A lab's own judge; raises `UsageError` where it has none."""
    found: Cases = runpy.run_path(str(judge_file(lab)))["cases"]
    return found


def judged(lab: Lab, cases: Cases, text: str, seed: int) -> list[str]:
    """What is wrong with a program that got full marks: a line for the first case that shows it, or else for Numba."""
    program = hold_to(parse_program(submission_from_cells("mutant.py", [("mutant.py", text)], False)), lab.required)
    signatures, found = Signatures(), []
    for case in cases(np.random.default_rng(seed)):
        if problem := _problem(program, case, signatures):
            found.append(one_line(f"{case.name}: {problem}", MOST_OF_A_FINDING))
            break
    if not found and (refused := refused_by_numba(signatures)):
        found.append(one_line(f"Numba: {refused}", MOST_OF_A_FINDING))
    return found


def _problem(program: Program, case: JudgedCall, signatures: Signatures) -> str:
    from autograder.language.host import call
    from autograder.simgpu.host.device import Session
    from autograder.simgpu.host.launch_record import merged_hazards

    request = case.request
    session = _Noting(Session(work_limit=request.work_limit or WORK_LIMIT), signatures)
    handles = {name: _to_device(session, value) for name, value in request.arguments.items()}
    returned: Any = None
    try:
        function = program.function(request.function)
        if function.kind == "kernel":
            session.launch(function, request.grid, request.block, tuple(handles.values()))
        else:
            returned = call(program, function, tuple(handles.values()), session, wants_returned=request.wants_returned)
    except KitError as fault:
        return f"it ends with: {fault}"
    hazards = [each for each in merged_hazards(session.session.records) if _is_wrong(each)]
    if hazards:
        return str(hazards[0])
    outputs = {
        name: handle.copy_to_host()
        for name, handle in handles.items()
        if hasattr(handle, "copy_to_host") and name not in request.scratch
    }
    if hasattr(returned, "copy_to_host"):
        returned = returned.copy_to_host()
    return case.wrong(outputs, returned)


def _is_wrong(hazard: Hazard) -> bool:
    return hazard.severity == "error"


class _Noting:
    """A session's memory and launches, with a note of what each kernel is given."""

    def __init__(self, session: Any, signatures: Signatures) -> None:
        self.session = session
        self.signatures = signatures
        self.transfers = session.transfers

    @property
    def launched(self) -> int:
        return int(self.session.launched)

    def to_device(self, host: np.ndarray) -> Any:
        return self.session.to_device(host)

    def device_array(self, shape: Any, dtype: Any) -> Any:
        return self.session.device_array(shape, dtype)

    def copy_to_host(self, array: Any) -> np.ndarray:
        copied: np.ndarray = self.session.copy_to_host(array)
        return copied

    def launch(self, kernel: Function, grid: Any, block: Any, arguments: Any, dynamic_shared_bytes: int = 0) -> Any:
        record = self.session.launch(kernel, grid, block, arguments, dynamic_shared_bytes)
        self.signatures.note(kernel, tuple(arguments))  # of a launch that ended well: others are told anyway
        return record


def _to_device(session: _Noting, value: Any) -> Any:
    if isinstance(value, Uninitialised):
        return session.device_array(value.shape, value.dtype)
    return session.to_device(value) if isinstance(value, np.ndarray) and value.ndim else value


def _lesser(a: Any, b: Any) -> Any:
    return a if a < b else b


def _greater(a: Any, b: Any) -> Any:
    return a if a > b else b


# ---- Numba -----------------------------------------------------------------------------------------------------------


def type_of(value: Any) -> Any:
    """The type that Numba gives to a launch's argument: an array of the device, or a number."""
    from numba import from_dtype, typeof, types

    if not hasattr(value, "copy_to_host"):
        return typeof(value)
    layout: Literal["C", "A"] = "C"
    along = value.dtype.itemsize
    for size, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
        if stride != along and size > 1:
            layout = "A"
        along *= size
    return types.Array(from_dtype(value.dtype), value.ndim, layout)


def refused_by_numba(signatures: Signatures) -> str:
    """Why Numba refuses to compile one of these kernels, typing and lowering, no GPU needed; empty where it takes them.

    Without a GPU's own functions Numba takes `min` and `max` of two numbers for those of one list: they get stand-ins.
    """
    from numba import cuda
    from numba.cuda.compiler import compile_cuda

    from autograder.cudagpu.compilation import Compiler, compile_fault

    compiler = Compiler()
    two_numbers = {"min": cuda.jit(_lesser, device=True), "max": cuda.jit(_greater, device=True)}
    device = SimpleNamespace(compute_capability=COMPUTE_CAPABILITY)
    with warnings.catch_warnings(), mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        warnings.simplefilter("ignore")
        for kernel, types in signatures.seen:
            try:
                function = compiler.dispatcher(kernel).py_func
                for each in reachable(kernel):
                    names = compiler.dispatcher(each).py_func.__globals__
                    names.update({name: value for name, value in two_numbers.items() if name not in names})
                returned = compile_cuda(function, None, types, nvvm_options={}, cc=COMPUTE_CAPABILITY)
            except KitError as fault:
                return str(fault)
            except Exception as problem:  # whatever class Numba's compiler ends with: many of its refusals have none
                return str(compile_fault(kernel, problem))
            if str(returned.signature.return_type) != "none":
                return f"`{kernel.name}` returns something, and a kernel must not."
    return ""
