"""The grader's side of a worker process: starts it, gives it jobs, and ends it when it takes too long."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from filelock import FileLock

import autograder
from autograder.errors import GraderFault, KernelFault, SubmissionError, Unforeseen, WorkLimit, one_line
from autograder.grading import cards, forking
from autograder.grading.answers import as_expected, comparison_taken
from autograder.grading.attempt import Place
from autograder.grading.isolation import wished_confinement
from autograder.grading.jobs import (
    Begin,
    CompareJob,
    File,
    Greeting,
    Limits,
    Read,
    RunJob,
    Summary,
    WorkerReply,
    receive_reply,
    send_job,
)
from autograder.language.requirements import Required
from autograder.language.source import bytes_of
from autograder.records.runs import Comparison, Run, RunRequest, Source

if TYPE_CHECKING:
    from typing import Self

# Simulated work has its limit in processor time, so that a verdict does not depend on what else a machine does; by the clock
# it may take this many times as long. Work on a GPU has its limit by the clock: a kernel that hangs takes no processor time.
PATIENCE = 5
START_SECONDS = 180  # a first start may compile and cache primitives, or wait for a driver
COPY_SECONDS = START_SECONDS  # as long may what workers are copies of take
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "USERPROFILE", "APPDATA")
LATE_PREFIX = "AUTOGRADER_"  # of variables that are read where they are needed, by no module that is imported
PASSED_ON_PREFIXES = (LATE_PREFIX, "NUMBA_", "CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "DYLD_", "LOCALAPPDATA", "XDG_")
OF_A_GPU = ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg")  # one of which is there where a driver is: on servers, Tegra, WSL
# -I keeps the current folder off the module path: a submission called numba.py must not be imported by anybody.
BOOTSTRAP = "import sys; sys.path[:] = {path!r}; from autograder.grading.worker_process import main; main()"


class WorkerDied(GraderFault):
    """The worker process ended without an answer: killed by the system, or crashed."""


class Worker:
    """A process that reads and runs submissions, restarted whenever it had to be ended. Implements `attempt.Runner`.

    One thread uses a worker at a time. `device`: "auto", "gpu", "simulated", or "module:callable" for tests.
    `until_narrow`: a GPU compares until the interval is narrow, and does not stop where it is clear of the threshold.
    """

    card = ""  # the one GPU that the process sees, as in CUDA_VISIBLE_DEVICES; empty: all that this process sees
    deaths = 0  # how often its process ended without an answer

    def __init__(
        self, device: str = "auto", limits: Limits | None = None, *, until_narrow: bool = False, card: str = ""
    ) -> None:
        self.device = device
        self.card = card
        self.until_narrow = until_narrow
        self.limits = limits or Limits()
        self._is_confined = wished_confinement()
        self.last_details = ""  # traceback of the worker's last failure, for the fault report
        self._process: subprocess.Popen[bytes] | forking.Forked | None = None
        self._own: tempfile.TemporaryDirectory[str] | None = None  # the one folder in which the process may make files
        self._retired = False
        self._stderr: Any = None
        self._greeting: Greeting | None = None
        self._read: Read | None = None
        self._is_read = False  # by the process that runs now
        self._run_seconds = self.limits.run_seconds
        self._seconds_left = self.limits.submission_seconds
        self._processor_seconds = 0.0  # of the process so far, when somebody last looked
        self._measured: psutil.Process | None = None  # the process that runs now, for its processor time

    @property
    def _begin(self) -> Begin:
        assert self._own is not None
        return Begin(self.device, self.limits, Path(self._own.name).resolve(), self._is_confined)

    # ---- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the process without waiting for it, so that the grader can load a lab meanwhile."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        if self._retired:
            raise GraderFault("Grading was interrupted.")
        self._stderr = tempfile.TemporaryFile()
        self._own = tempfile.TemporaryDirectory(prefix="autograder-worker-", ignore_cleanup_errors=True)
        if not _may_drive_a_gpu(self.device):
            own = _own_environment(self._own.name, self.card)
            self._process = forking.fork(_module_path(), _environment(), self._own.name, own, self._stderr.fileno())
        if self._process is None:
            self._start_alone()
        else:
            self._send_begin()

    def _start_alone(self) -> None:
        """Starts the process as one that imports everything itself."""
        assert self._own is not None
        session: dict[str, Any] = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", BOOTSTRAP.format(path=_module_path())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
            env={**_environment(), **_own_environment(self._own.name, self.card)}, cwd=self._own.name, **session,
        )  # fmt: skip
        self._send_begin()

    def _send_begin(self) -> None:
        with suppress(OSError):  # it died at once; `greeting` says so
            send_job(self._stdin, self._begin)

    @property
    def greeting(self) -> Greeting:
        """The device and the isolation in force; waits for the process to be ready."""
        if self._greeting is None:
            self.start()
            if isinstance(self._process, forking.Forked) and not self._process.has_begun(COPY_SECONDS):
                self._process.kill()
                forking.give_up()
                self._start_alone()
            reply = self._receive(self._begin, START_SECONDS)
            if reply is None:
                raise GraderFault("The grader's worker did not start in time." + self._last_words())
            if reply.error is not None:
                self.last_details = reply.details
                self.close()
                raise reply.error
            self._greeting = reply.value
        return self._greeting

    @property
    def source(self) -> Source:
        return self.greeting.source

    @property
    def seconds_used(self) -> float:
        """Of a processor, by the process, for the submission that was read last; on a GPU, by the clock."""
        return self.limits.submission_seconds - self._seconds_left

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process, self._greeting, self._is_read = self._process, None, None, False
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, self._stderr):
                with suppress(OSError):  # unsent bytes to a process that has gone
                    if stream is not None:
                        stream.close()
            if self._own is not None:
                self._own.cleanup()

    def retire(self) -> None:
        """Ends the process for good; another thread that waits for it is told so."""
        self._retired = True
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- jobs ------------------------------------------------------------------------------------

    def read(
        self,
        submission: Any,
        baseline: Path | None = None,
        required: Sequence[Required] = (),
        run_seconds: float | None = None,
    ) -> Summary:
        """Reads a submission, the one that `run` and `compare` are about from now on.

        Raises `SubmissionError` where it cannot be read. What is wrong with the `required` functions is in the summary,
        and the fault of every run that comes to one of them.
        """
        if isinstance(submission, str | os.PathLike):
            submission = _file(Path(submission))
        base = None if baseline is None else _file(baseline)
        self._read, self._is_read = Read(submission, base, tuple(required)), False
        self._run_seconds = run_seconds or self.limits.run_seconds
        self._seconds_left = self.limits.submission_seconds
        try:
            return self._read_now()
        except WorkerDied:
            pass
        try:  # a second death, of a fresh process, is the text's doing: reading is all that it was asked
            return self._read_now()
        except WorkerDied:
            problem = "The source cannot be read: Python's own parser gives up on it."
            raise SubmissionError(problem, remedy="Is something nested hundreds of levels deep?") from None

    def run(self, request: RunRequest, on: Place) -> Run:
        """One run; what the submission got wrong is `Run.fault`."""
        try:
            run = self._about_submission(RunJob(request, on))
            with self._relied_on():
                return as_expected(run, request)
        except SubmissionError as fault:
            return Run(fault=fault)

    def compare(self, requests: Sequence[RunRequest], threshold: float | None, goes_on: bool = False) -> Comparison:
        """A comparison with the baseline, or its next round on a GPU; what the submission got wrong is its `fault`."""
        try:
            needed = list(requests)
            if self.source == "simulated":
                needed = needed[:1]  # an estimate is that of the first
            if self.until_narrow:  # whoever measures wants to know how slow
                needed = [replace(each, least_ratio=None) for each in needed]
            job = CompareJob(needed, None if self.until_narrow else threshold, goes_on)
            comparison = self._about_submission(job)
            with self._relied_on():
                return comparison_taken(comparison, needed)
        except SubmissionError as fault:
            return Comparison(0.0, 0.0, 0.0, self.source, 0.0, 0.0, fault=fault)

    @contextmanager
    def _relied_on(self) -> Iterator[None]:
        """Ends the process where it answers something else than it was asked: the next submission gets another one."""
        try:
            yield
        except GraderFault:
            self.close()
            raise

    def _about_submission(self, job: RunJob | CompareJob) -> Any:
        if self._seconds_left <= 0:
            limit = f"{self.limits.submission_seconds:g} s"
            raise KernelFault(
                f"The {limit} for one submission were used up by the runs before this one.",
                remedy="Mend what takes long there first.",
            )
        if not self._is_read:
            self._read_now()
        seconds = min(self._run_seconds, self._seconds_left)
        if self.source == "measured" and not (isinstance(job, RunJob) and job.on == "simulated"):
            with gpu_lock(self.card):  # waiting for it is not the submission's time
                return self._ask(job, seconds, by_clock=True)
        return self._ask(job, seconds)

    def _read_now(self) -> Summary:
        self.greeting  # noqa: B018  waits until the process is ready, outside the submission's time
        summary: Summary = self._ask(self._read, self._run_seconds)
        self._is_read = True
        return summary

    def _ask(self, job: Any, seconds: float, by_clock: bool = False) -> Any:
        """Sends a job and waits; raises the submission's error, or `GraderFault` where the worker itself failed.

        `seconds` are of the worker's processor time, or by the clock.
        """
        self.greeting  # noqa: B018  waits until the process is ready, outside the time of what is asked
        time_used = time.monotonic if by_clock else self._processor_time
        before = time_used()
        reply = self._receive(job, seconds, time_used, before, sends=True)
        self._seconds_left -= seconds if reply is None else time_used() - before
        if reply is None:
            whole = f"{self.limits.submission_seconds:g} s for one submission"
            left = f" that were left of the {whole}," if seconds < self._run_seconds else ""
            problem = f"This took longer than {'the ' if left else ''}{seconds:.0f} s{left} and was stopped."
            # A GPU takes as long for nothing that ends; what the simulated GPU had done by then nobody knows.
            why = "Look for a loop that never ends." if by_clock else "It does too much, or has a loop that never ends."
            raise WorkLimit(problem, remedy=why, kind="" if by_clock else "out_of_time")
        if reply.out_of_memory:
            self.close()
            problem = f"This needs more than the {self.limits.memory_bytes / 2**30:g} GiB of memory allowed."
            raise KernelFault(problem, remedy="Look for an array that is far too large, or made again and again.")
        if reply.is_last:
            self.close()
        if reply.error is not None:
            self.last_details = reply.details
            raise reply.error
        return reply.value

    def _receive(
        self,
        job: Any,
        seconds: float,
        time_used: Callable[[], float] = time.monotonic,
        before: float | None = None,
        sends: bool = False,
    ) -> WorkerReply | None:
        """The reply to a job, which is sent first where it has not been; None where `time_used` is `seconds` above `before`
        (the process is then ended).

        Raises `GraderFault` where the clock runs on and the process gets no processor time.
        """
        process, answered, out_of_time, starved = self._process, *(threading.Event() for _ in range(3))
        assert process is not None and isinstance(process.stdout, io.BufferedIOBase)
        before = time_used() if before is None else before
        patience = seconds if time_used is time.monotonic else PATIENCE * seconds
        last = time.monotonic() + patience

        def watch() -> None:
            left = seconds
            while left > 0:
                if answered.wait(max(0.1, min(left, last - time.monotonic()))):
                    return
                left = seconds - (time_used() - before)
                if time.monotonic() >= last:
                    if left > 0:
                        starved.set()
                    break
            out_of_time.set()
            process.kill()

        threading.Thread(target=watch, daemon=True).start()
        try:
            if sends:
                with suppress(OSError):  # it has gone: receiving says so
                    send_job(self._stdin, job)
            return receive_reply(process.stdout, job, self.limits)
        except EOFError:
            if starved.is_set():
                self.close()
                got = f"in {patience:.0f} s one run got less than {seconds:.0f} s of processor time"
                remedy = "Grade again with fewer --jobs, or when less else is running."
                raise GraderFault(f"This machine is too busy: {got}.", remedy=remedy) from None
            if out_of_time.is_set():
                self.close()
                return None
            self.deaths += 1
            raise WorkerDied("The grader's worker ended without an answer" + self._last_words()) from None
        except Exception as problem:  # whatever a damaged or forged answer makes of itself
            self.close()
            raise Unforeseen(f"The worker's answer cannot be read: {one_line(str(problem))}.") from None
        except BaseException:  # Ctrl-C while waiting leaves the pipe in the middle of a message
            self.close()
            raise
        finally:
            answered.set()

    def _processor_time(self) -> float:
        """Seconds that the process has spent on processors so far; its last value once it has gone."""
        process = self._process
        if process is not None:
            try:
                if self._measured is None or self._measured.pid != process.pid:
                    self._measured = psutil.Process(process.pid)  # which reads when it began: once is enough
                times = self._measured.cpu_times()
                self._processor_seconds = times.user + times.system
            except psutil.Error:
                pass
        return self._processor_seconds

    @property
    def _stdin(self) -> Any:
        assert self._process is not None
        return self._process.stdin

    def _last_words(self) -> str:
        """How the process ended and the last line it wrote, after which it is closed."""
        process, stderr = self._process, self._stderr
        code = process.wait() if process is not None else None
        words = ""
        if stderr is not None and not stderr.closed:
            stderr.seek(0)
            self.last_details = stderr.read()[-20_000:].decode(errors="replace")
            words = next((line for line in reversed(self.last_details.splitlines()) if line.strip()), "")
        self.close()
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f" ({how}{': ' + words.strip() if words else ''})."


def _file(path: Path) -> File:
    """A file as the worker gets it, who opens none itself. Raises what `bytes_of` raises."""
    return File(path.name, bytes_of(path))


def gpu_lock(card: str = "") -> FileLock:
    """Holds off every other grader on this machine from a card (empty: the one that is used where none is named): a time is
    that of one kernel only while nothing else is on the GPU."""
    name = re.sub(r"\W", "_", card or cards.first())
    return FileLock(Path(tempfile.gettempdir()) / f"autograder-gpu-{name}.lock", mode=0o666)


def _module_path() -> list[str]:
    """This process's module path with the package first and without the current folder."""
    package = str(Path(autograder.__file__).resolve().parent.parent)
    here = os.getcwd()
    return [package] + [each for each in sys.path if each and os.path.abspath(each) not in (here, package)]


def _environment() -> dict[str, str]:
    """What workers of this process find in their environment already when they import: what that needs and nothing else;
    one BLAS thread, so that they can still leave the network."""
    passed = {key: value for key, value in _passed_on().items() if not key.upper().startswith(LATE_PREFIX)}
    return {**passed, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _own_environment(own: str, card: str = "") -> dict[str, str]:
    """What one worker has beside that: the kit's own variables, a folder of its own for temporary files, and one card where
    one is named."""
    ours = {key: value for key, value in _passed_on().items() if key.upper().startswith(LATE_PREFIX)}
    seen = {cards.VISIBLE: card} if card else {}
    return {**ours, **seen, "TMPDIR": own, "TEMP": own, "TMP": own}


def _passed_on() -> dict[str, str]:
    return {
        key: value for key, value in os.environ.items()
        if key.upper() in PASSED_ON or key.upper().startswith(PASSED_ON_PREFIXES)
    }  # fmt: skip


def _may_drive_a_gpu(device: str) -> bool:
    """Whether a device opens a GPU, as far as is known before it has been opened; a worker for it starts by itself."""
    return device == "gpu" or (device == "auto" and any(os.path.exists(each) for each in OF_A_GPU))
