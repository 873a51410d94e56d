"""What the grader and its worker process say to each other over a pipe.

Jobs are pickled: the worker may rely on the grader. What comes back is data (wire.py), of the type that the job asks for.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import GenericAlias
from typing import IO, Any

from autograder.errors import BrokenDefinition, KitError, Line
from autograder.grading.answers import OTHER_BYTES, bytes_of_run
from autograder.grading.attempt import Place
from autograder.grading.wire import Malformed, fill, read_frame, write_frame
from autograder.language.program import Kind
from autograder.language.requirements import Required
from autograder.language.source import Submission
from autograder.records.results import FunctionFingerprint
from autograder.records.runs import Comparison, Run, RunRequest, Source

GIB = 1 << 30
MOST_DETAILS = 20_000  # characters of a traceback


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
    own: Path  # the one folder in which the process may make files
    confined: bool | None = None  # as far as the system can; None: unless the device is a GPU


@dataclass(frozen=True)
class Greeting:
    """The worker's answer to `Begin`."""

    device: str
    source: Source
    isolation: tuple[str, ...]
    cards: tuple[str, ...] = ()  # the kinds of the GPUs that it sees, the one that it uses first; none without a GPU


@dataclass(frozen=True)
class File:
    """A file's name and what is in it."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Read:
    """Reads a submission (a file, or live cells) and the lab's baseline; answer: `Summary`."""

    submission: File | Submission
    baseline: File | None
    required: tuple[Required, ...] = ()  # what the lab asks for


@dataclass(frozen=True)
class FunctionSummary:
    """What the grader needs to know of one function of a submission; its text is for hints."""

    kind: Kind
    parameters: tuple[str, ...]
    line: Line
    source: str
    is_empty: bool = False  # it does nothing: its body is a docstring, `pass` or the like, as in a starter
    uses: tuple[str, ...] = ()  # other functions of the submission that its body names


@dataclass(frozen=True)
class Summary:
    """What a submission defines, and what is wrong with the functions that the lab asks for."""

    label: str
    functions: Mapping[str, FunctionSummary]
    broken: Mapping[str, BrokenDefinition] = field(default_factory=dict)
    fingerprints: tuple[FunctionFingerprint, ...] = ()  # of the functions that the lab asks for, and those that they call
    leaderboard_name: str = ""  # the text that stands at module level under LEADERBOARD_NAME


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
    goes_on: bool = False  # with another round of the comparison that the last such job left unsettled


@dataclass(frozen=True)
class WorkerReply:
    """The worker's answer: a value, or the error that took its place; `details` is a traceback where the kit failed."""

    value: Any = None
    error: Exception | None = None
    details: str = ""
    out_of_memory: bool = False
    is_last: bool = False  # the device is lost to this process: another one is to go on


def answer_of(job: object) -> Any:
    """The type of the answer to a job, None included."""
    return {Begin: Greeting, Read: Summary, RunJob: Run, CompareJob: Comparison}[type(job)]


def most_bytes(job: object, limits: Limits) -> int:
    """The most bytes that the answer to a job may have: all of a run is known from its request."""
    if isinstance(job, CompareJob):
        return limits.message_bytes
    return min(limits.message_bytes, bytes_of_run(job.request) if isinstance(job, RunJob) else OTHER_BYTES)


# ---- over the pipe -------------------------------------------------------------------------------------


def send_job(stream: IO[bytes], job: object) -> None:
    """Writes a job: lengths of eight bytes, then its pickle, then its arrays as they lie in memory.

    The first eight bytes hold the number of parts, those after it the length of each.
    """
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(job, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(data), *(each.raw() for each in buffers)]
    sizes = [len(parts), *(each.nbytes for each in parts)]
    stream.write(b"".join(each.to_bytes(8, "little") for each in sizes))
    for part in parts:  # no array is copied into a message: it may be as large as all that a machine has left
        stream.write(part)
    stream.flush()


def receive_job(stream: IO[bytes]) -> Any:
    """Reads a job, in the worker: it is the grader's, who is to be relied on. Raises `EOFError` where that has gone."""
    number = int.from_bytes(_read(stream, 8), "little")
    sizes = [int.from_bytes(_read(stream, 8), "little") for _ in range(number)]
    data, *buffers = [_read(stream, size) for size in sizes]
    return pickle.loads(data, buffers=buffers)


def _read(stream: IO[bytes], size: int) -> bytearray:
    """So many bytes, which may be written to: arrays lie in them."""
    data = bytearray(size)
    fill(stream, memoryview(data))
    return data


def send_reply(stream: IO[bytes], job: object, reply: WorkerReply, limits: Limits) -> None:
    """Writes the reply to a job; raises `TooMuch` and `Malformed` before anything of it is written."""
    form = (reply.value, reply.error, reply.details[-MOST_DETAILS:], reply.out_of_memory, reply.is_last)
    write_frame(stream, _form_of(job), form, most_bytes(job, limits))


def receive_reply(stream: IO[bytes], job: object, limits: Limits) -> WorkerReply:
    """Reads the reply to a job. Raises `EOFError` where the worker has gone, `Malformed` where this is no reply."""
    reply = WorkerReply(*read_frame(stream, _form_of(job), most_bytes(job, limits)))
    if reply.value is None and reply.error is None and not reply.out_of_memory:
        raise Malformed("an answer of nothing")
    return reply


def _form_of(job: object) -> Any:
    """A reply's fields; what its value is, says the job."""
    return GenericAlias(tuple, (answer_of(job) | None, KitError | None, str, bool, bool))
