"""The worker process: reads submissions and runs their functions on a device, one job at a time, until its pipe closes.

It never executes a student's Python: the text is parsed into a `Program` and the device interprets or compiles that.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import signal
import sys
import traceback
from dataclasses import replace
from io import BufferedReader, BufferedWriter
from typing import Any

import numpy as np

import autograder.language.host  # noqa: F401  now: once the walls are up, no byte code is written
from autograder.device import Device
from autograder.errors import GraderFault, KernelFault, KitError, SubmissionError, Unforeseen, one_line
from autograder.grading.answers import as_sent, comparison_as_sent
from autograder.grading.isolation import isolate
from autograder.grading.jobs import (
    Begin,
    CompareJob,
    File,
    FunctionSummary,
    Greeting,
    Limits,
    Read,
    RunJob,
    Summary,
    WorkerReply,
    receive_job,
    send_reply,
)
from autograder.grading.wire import TooMuch
from autograder.language import parse_program
from autograder.language.canonical import fingerprints
from autograder.language.modules import reference
from autograder.language.program import Function, Program
from autograder.language.quoting import lines_of
from autograder.language.requirements import Required, hold_to
from autograder.language.source import Submission, submission_from_bytes
from autograder.live import wants_gpu

SIMULATED = "autograder.simulated_device:SimulatedDevice"
GPU = "autograder.cudagpu:GpuDevice"
MOST_OF_A_NAME = 40  # characters
LARGE_BYTES = 1 << 24


def make_ready() -> None:
    """Imports, and takes from caches on disk, what workers need whatever they are asked: before one is copied, or begins."""
    from autograder.simgpu.loading import for_good

    with for_good():
        reference("numpy.float32")  # imports what reading needs now, outside every submission's time
        prepared(open_device("simulated"))


def main() -> None:
    """Serves jobs from standard input; answers go to what was standard output: a stray print cannot spoil them."""
    jobs, answers = _private_streams()
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which closes the pipe
    session: WorkerState | None = None
    limits = Limits()
    while True:
        try:
            job = receive_job(jobs)
        except EOFError:
            return
        if isinstance(job, Begin):
            limits = job.limits
        try:
            if isinstance(job, Begin):
                session = WorkerState(job)
                reply = WorkerReply(session.greeting)
            else:
                assert session is not None
                reply = session.answer(job)
        except Exception as problem:  # the kit's own failure: reported, never a student's
            reply = WorkerReply(error=_as_fault(problem), details=traceback.format_exc())
        if session is not None and _tells_of_a_fault(reply) and not session.is_usable():
            reply = replace(reply, is_last=True)
        try:
            send_reply(answers, job, reply, limits)
        except MemoryError:
            send_reply(answers, job, WorkerReply(out_of_memory=True), limits)
        except TooMuch as too_much:
            fault = KernelFault(f"The submission's outputs are too large: {too_much}.")
            send_reply(answers, job, WorkerReply(error=fault), limits)
        except Exception as problem:  # an answer that cannot be written down
            reply = WorkerReply(error=_as_fault(problem), details=traceback.format_exc())
            send_reply(answers, job, reply, limits)
        # Cycles of references keep the arrays of what is done, which would count against the next job.
        was_large = _keeps_much(job)
        del job, reply
        if was_large:
            gc.collect()


def _keeps_much(job: Any) -> bool:
    """Whether a job's arrays are worth the milliseconds that it takes to look for them."""
    if isinstance(job, RunJob):
        arrays = [each for each in job.request.arguments.values() if hasattr(each, "shape")]
        return bool(sum(math.prod(each.shape) * np.dtype(each.dtype).itemsize for each in arrays) >= LARGE_BYTES)
    return isinstance(job, CompareJob)


def _private_streams() -> tuple[BufferedReader, BufferedWriter]:
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(jobs.fileno(), os.O_BINARY)
        msvcrt.setmode(answers.fileno(), os.O_BINARY)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return jobs, answers


def _tells_of_a_fault(reply: WorkerReply) -> bool:
    return reply.error is not None or getattr(reply.value, "fault", None) is not None


def _as_fault(problem: Exception) -> KitError:
    if isinstance(problem, KitError):
        return problem
    return Unforeseen(f"The grader's worker failed: {one_line(f'{type(problem).__name__}: {problem}')}")


class WorkerState:
    """The worker's state: its devices and the submission read last."""

    def __init__(self, begin: Begin) -> None:
        self.limits: Limits = begin.limits
        self.device = open_device(begin.device)
        reference("numpy.float32")  # imports what reading needs now, outside every submission's time
        self.simulated: Device | None = self.device if self.device.source == "simulated" else None
        with_gpu = self.device.source == "measured"
        # Devices open first: a driver, and what is compiled and cached, may need what the limits forbid.
        if with_gpu:
            self.limits = replace(self.limits, memory_bytes=self.limits.gpu_memory_bytes)
        confined = not with_gpu if begin.confined is None else begin.confined
        if confined:
            prepared(self.on("simulated"))
        in_force = isolate(self.limits, begin.own, with_gpu=with_gpu, confined=confined)
        gc.collect()
        gc.freeze()  # what is imported and compiled stays: looking through it again takes a tenth of a second each time
        cards = tuple(getattr(self.device, "cards", ()))
        self.greeting = Greeting(self.device.name, self.device.source, in_force, cards)
        self.program: Program | None = None
        self._read_of: tuple[Submission, tuple[Required, ...]] | None = None  # what `program` was made of
        self.baseline: Program | None = None
        self._baseline_text: Submission | None = None

    def answer(self, job: Any) -> WorkerReply:
        """Carries out one job; memory and recursion that a submission exhausts are its own error."""
        try:
            if isinstance(job, Read):
                return WorkerReply(self.read(job))
            if isinstance(job, RunJob):
                return WorkerReply(as_sent(self.on(job.on).run(self._program(), job.request), job.request))
            if isinstance(job, CompareJob):
                if self.baseline is None:
                    raise GraderFault("The lab compares speed but names no baseline.")
                # Measuring stops once the interval is clear of the threshold; an estimate has no interval.
                is_measured = self.device.source == "measured"
                options = {"threshold": job.threshold, "goes_on": job.goes_on} if is_measured else {}
                compared = self.device.compare(self.baseline, self._program(), job.requests, **options)
                return WorkerReply(comparison_as_sent(compared, job.requests))
            raise GraderFault(f"The worker knows no job called {type(job).__name__}.")
        except MemoryError:
            self.program = None
            return WorkerReply(out_of_memory=True)
        except RecursionError:
            kind = SubmissionError if isinstance(job, Read) else KernelFault
            return WorkerReply(error=kind("The code is nested too deeply to be graded.", remedy="Split the expression up."))
        except SubmissionError as problem:
            return WorkerReply(error=problem)

    def is_usable(self) -> bool:
        """Whether the device, asked after a fault, still works in this process; one that cannot be asked does."""
        probe = getattr(self.device, "is_usable", None)
        return probe is None or probe()

    def on(self, place: str) -> Device:
        if place == "device":
            return self.device
        if self.simulated is None:
            self.simulated = open_device("simulated")
        return self.simulated

    def read(self, job: Read) -> Summary:
        """Reads a submission. One that is checked again as it was keeps what has been worked out of its kernels."""
        made_of = (_text_of(job.submission), tuple(job.required))
        if made_of != self._read_of:
            self.program = self._read_of = None
        try:
            self._read_baseline(job.baseline)
        except SubmissionError as problem:
            raise GraderFault(f"The lab's baseline cannot be read: {problem}") from None
        if self.program is None:
            self.program = hold_to(parse_program(made_of[0]), job.required)
            self._read_of = made_of
        texts: dict[str, list[str]] = {}  # each cell is cut into lines once, however many functions it holds
        functions = {name: _summary(each, self.program, texts) for name, each in self.program.functions.items()}
        compared_by = fingerprints(self.program, [each.name for each in job.required])
        chosen = leaderboard_name(self.program)
        return Summary(self.program.label, functions, self.program.broken, compared_by, chosen)

    def _read_baseline(self, file: File | None) -> None:
        """Keeps the baseline from one submission to the next where its text has not changed: it is compiled once."""
        text = _text_of(file) if file else None
        if text is None or text != self._baseline_text:
            self.baseline, self._baseline_text = parse_program(text) if text else None, text

    def _program(self) -> Program:
        if self.program is None:
            raise GraderFault("A submission was to be run before it was read.")
        return self.program


def leaderboard_name(program: Program) -> str:
    """What a submission says its author is called on a leaderboard; empty where it says nothing that could be a name."""
    try:
        found = program.names["LEADERBOARD_NAME"] if "LEADERBOARD_NAME" in program.names else ""
    except SubmissionError:  # that it cannot be read costs nobody anything
        return ""
    return found[:MOST_OF_A_NAME] if isinstance(found, str) else ""


def _text_of(handed_in: File | Submission) -> Submission:
    return submission_from_bytes(handed_in.name, handed_in.data) if isinstance(handed_in, File) else handed_in


def _summary(function: Function, program: Program, texts: dict[str, list[str]]) -> FunctionSummary:
    node = function.node
    lines = texts.setdefault(function.file, lines_of(function.text))
    source = "\n".join(lines[node.lineno - 1 : node.end_lineno])[node.col_offset :]
    uses = tuple(name for name in function.free_names if name in program.functions)
    line = function.line(node)
    return FunctionSummary(function.kind, function.parameters, line, source, function.is_empty, uses)


def prepared(device: Device) -> None:
    """Has a device that can do so make all that it will ever write to disk."""
    prepare = getattr(device, "prepare", None)
    if prepare is not None:
        prepare()


def open_device(name: str) -> Device:
    """The device called "gpu" or "simulated", a notebook's choice ("auto"), or what "module:callable" returns."""
    if name == "auto":
        name = "gpu" if wants_gpu() else "simulated"
    from autograder.simgpu.loading import for_good

    module, _, attribute = {"gpu": GPU, "simulated": SIMULATED}.get(name, name).partition(":")
    with for_good():
        imported = importlib.import_module(module)
    opened: Device = getattr(imported, attribute)()
    return opened
