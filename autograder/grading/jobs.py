"""What the grader and its worker process say to each other, as pickled data over a pipe, arrays beside it."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from autograder.errors import BrokenDefinition, Line, _rebuild, _rebuild_definition
from autograder.grading.attempt import Place
from autograder.language.program import Kind
from autograder.language.requirements import Required
from autograder.records.runs import RunRequest, Source

GIB = 1 << 30
NUMPY_PARTS = {
    (module, name)
    for module in ("numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric")
    for name in ("_reconstruct", "scalar", "_frombuffer")
} | {("numpy", "ndarray"), ("numpy", "dtype"), ("builtins", "slice"), ("builtins", "complex")}


@dataclass(frozen=True)
class Limits:
    """What a submission may use. The grader watches the times, the operating system enforces the rest.

    Simulated work is limited in processor time, work on a GPU by the clock.
    """

    run_seconds: float = 20  # one run or comparison
    submission_seconds: float = 120  # all of them together
    memory_bytes: int = 3 * GIB
    gpu_memory_bytes: int = 24 * GIB  # of the host, where a driver maps its own buffers as well
    file_bytes: int = GIB // 16  # no file of the worker grows beyond
    message_bytes: int = GIB // 2  # one reply, outputs included; of a single run never more than its arrays take


@dataclass(frozen=True)
class Begin:
    """First message: which device to open and the limits to put on the process."""

    device: str  # "auto", "gpu", "simulated", or "module:callable"
    limits: Limits


@dataclass(frozen=True)
class Greeting:
    """The worker's answer to `Begin`."""

    device: str
    source: Source
    isolation: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """Reads a submission (a path, or a `Submission` of live cells) and the lab's baseline; answer: `Summary`."""

    submission: Any
    baseline: Path | None
    required: tuple[Required, ...] = ()  # what the lab asks for


@dataclass(frozen=True)
class FunctionSummary:
    """What the grader needs to know of one function of a submission; its text is for hints."""

    kind: Kind
    parameters: tuple[str, ...]
    line: Line
    source: str


@dataclass(frozen=True)
class Summary:
    """What a submission defines, and what is wrong with the functions that the lab asks for."""

    label: str
    functions: Mapping[str, FunctionSummary]
    broken: Mapping[str, BrokenDefinition] = field(default_factory=dict)


@dataclass(frozen=True)
class RunJob:
    """Runs the submission read last; answer: `Run`."""

    request: RunRequest
    on: Place


@dataclass(frozen=True)
class CompareJob:
    """Compares baseline and submission; answer: `Comparison`."""

    requests: Sequence[RunRequest]
    threshold: float | None  # None: until the interval is narrow


@dataclass(frozen=True)
class WorkerReply:
    """The worker's answer: a value, or the error that took its place; `details` is a traceback where the kit failed."""

    value: Any = None
    error: Exception | None = None
    details: str = ""
    out_of_memory: bool = False
    is_last: bool = False  # the device is lost to this process: another one is to go on


class MessageTooLong(ValueError):
    """A message longer than what was asked for can be."""


def send(stream: IO[bytes], message: object) -> None:
    """Writes one message: lengths of eight bytes, then its pickle, then its arrays as they lie in memory.

    The first eight bytes hold the length of all that follows them. Then come the number of parts and the length of each.
    """
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(data), *(each.raw() for each in buffers)]
    sizes = [len(parts), *(each.nbytes for each in parts)]
    stream.write(_in_bytes(8 * len(sizes) + sum(each.nbytes for each in parts)) + b"".join(map(_in_bytes, sizes)))
    for part in parts:  # no array is copied into a message: it may be as large as all that a machine has left
        stream.write(part)
    stream.flush()


def _in_bytes(length: int) -> bytes:
    return length.to_bytes(8, "little")


class _Records(pickle.Unpickler):
    """Unpickles the kit's own records, arrays and numbers. An answer cannot make the grader call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in NUMPY_PARTS:
            return getattr(importlib.import_module(module), name)
        if module.startswith("autograder.") and "." not in name:
            found = getattr(importlib.import_module(module), name)
            if (isinstance(found, type) and found.__module__ == module) or found in (_rebuild, _rebuild_definition):
                return found
        if module == "numpy" or module.startswith("numpy.dtypes"):
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, (np.generic, np.dtype)):
                return found
        raise pickle.UnpicklingError(f"the worker's answer names {module}.{name}")


def receive_records(stream: io.BufferedIOBase, limit_bytes: int) -> Any:
    """Like `receive`, from the worker: raises `pickle.UnpicklingError` for anything but records, arrays and numbers."""
    data, *buffers = _message(stream, limit_bytes)
    return _Records(io.BytesIO(data), buffers=buffers).load()


def receive(stream: io.BufferedIOBase, limit_bytes: int) -> Any:
    """Reads one message; raises `EOFError` if the other side has gone, `MessageTooLong` if the message is too long."""
    data, *buffers = _message(stream, limit_bytes)
    return pickle.loads(data, buffers=buffers)


def _message(stream: io.BufferedIOBase, limit_bytes: int) -> list[bytearray]:
    """The parts of one message; raises `UnpicklingError` where their lengths are not those of the whole."""
    length = _length(stream)
    if length > limit_bytes:
        raise MessageTooLong(f"a message of {length:,} bytes, at most {limit_bytes:,} allowed")
    number = _length(stream)
    left = length - 8 * (number + 1)
    if number < 1 or left < 0:
        raise pickle.UnpicklingError("a message whose lengths do not fit")
    sizes = [_length(stream) for _ in range(number)]
    if sum(sizes) != left:
        raise pickle.UnpicklingError("a message whose lengths do not fit")
    return [_read_exactly(stream, size) for size in sizes]


def _length(stream: io.BufferedIOBase) -> int:
    return int.from_bytes(_read_exactly(stream, 8), "little")


def _read_exactly(stream: io.BufferedIOBase, length: int) -> bytearray:
    data = bytearray(length)
    view, read = memoryview(data), 0
    while read < length:
        count = stream.readinto(view[read:])
        if not count:
            raise EOFError
        read += count
    return data
