"""Grades a class: each submission becomes a result on disk, then all become reports. It can be stopped at any moment.

A result is written as soon as it is there, whole or not at all. Its key is a hash of all that the verdict depends on: a
later run takes over every result whose key is still the same.
"""

from __future__ import annotations

import itertools
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault, KitError, MachineFault
from autograder.grading.cards import Cards
from autograder.grading.grade import PUBLIC_SEED, check_submission, faulted, in_words, unreadable
from autograder.grading.identity import result_key, submission_digest
from autograder.grading.jobs import Limits
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry
from autograder.grading.worker import Worker
from autograder.records.files import report_name, write_atomically
from autograder.records.json_form import from_text, to_text, write_result
from autograder.records.results import Result
from autograder.records.runs import Source
from autograder.records.stored import row_of

SUBMISSIONS_A_WORKER = 250  # then a fresh one takes over: a leak must not grow with the class
GPU_WORKERS = 3


class ClassBatch:
    """Grades a class's entries with `jobs` workers (default: one a core, or a few for a GPU).

    Use it as a context manager: leaving it ends the workers.
    """

    def __init__(
        self,
        lab: Lab,
        out: Path,
        *,
        device: str = "auto",
        jobs: int | None = None,
        seed: str = PUBLIC_SEED,
        limits: Limits | None = None,
        regrade: bool = False,
    ) -> None:
        self.lab = lab
        self.results_folder = out / "results"
        self.seed = seed
        self.regrade = regrade  # take over nothing
        self._device = device
        self._jobs = jobs
        self._limits = limits
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._graded: dict[Worker, int] = {}  # every worker, and how many submissions it has seen
        self._shared: dict[Any, Any] = {}  # what rows have in common
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.remarks: list[str] = []  # what to tell of the machine
        self.fault_details: dict[str, str] = {}  # student -> the traceback of a fault of ours, or what is known of it

    def __enter__(self) -> ClassBatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for worker in list(self._graded):
            worker.retire()

    def grade(self, entries: Iterable[Entry], progress: bool = False) -> list[Result]:
        """Rows of the results, in the order of `entries`; the results themselves are on disk. On Ctrl-C those that are done
        stay there and the rest is dropped."""
        entries = list(entries)
        workers = self._start_workers(len(entries))  # one that cannot start is one fault, not one a student
        rows: dict[int, Result] = {}
        pool = ThreadPoolExecutor(workers, thread_name_prefix="grading")
        try:
            places = enumerate(entries)
            waiting = {pool.submit(self.result_of, entry): place for place, entry in itertools.islice(places, 2 * workers)}
            with progress_of(len(entries), progress) as done_one:
                while waiting:  # few at a time: a future of each would stay as long as the class is graded
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        rows[waiting.pop(done)] = done.result()
                        done_one()
                        for place, entry in itertools.islice(places, 1):
                            waiting[pool.submit(self.result_of, entry)] = place
        except BaseException:
            self.__exit__()  # workers end first: no thread still waits for one
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()
        return [rows[place] for place in range(len(entries))]

    def result_of(self, entry: Entry) -> Result:
        """The row of one entry's result: of the one on disk where its key still holds, else graded now and written."""
        if self._stopped.is_set():
            raise CancelledError
        worker = self._working()
        try:
            return self.row_of(self._result_with(worker, entry))
        finally:
            self._free.put(worker)

    def row_of(self, result: Result) -> Result:
        with self._lock:
            return row_of(result, self._shared)

    def _working(self) -> Worker:
        """A free worker. One whose GPU does not answer is left out from now on where there are others: it would be free at
        once again, and one submission after the other would come to nothing on it."""
        while True:
            worker = self._borrowed()
            if not worker.card:
                return worker
            try:
                worker.greeting  # noqa: B018  waits until it is up
            except GraderFault as problem:
                with self._lock:
                    if len(self._graded) > 1 and not self._stopped.is_set():
                        del self._graded[worker]
                        self.remarks.append(f"GPU {worker.card} grades nobody: {problem}")
                        worker.retire()
                        continue
            return worker

    def _result_with(self, worker: Worker, entry: Entry) -> Result:
        """One entry's result, on disk. Whatever goes wrong on the way is this student's row, and ends nothing else."""
        try:
            result, is_new = self._result_of(worker, entry)
            if self._stopped.is_set():  # we ended the workers: that one has gone says nothing about the submission
                raise CancelledError
            if is_new:
                write_result(result, self._path(entry))
            return result
        except (CancelledError, MachineFault):
            raise
        except (Exception, SystemExit) as problem:  # sys.exit() in a check would end us, and look as if all were well
            if self._stopped.is_set():
                raise CancelledError from None
            return self.failed(entry, problem)

    def _result_of(self, worker: Worker, entry: Entry) -> tuple[Result, bool]:
        """An entry's result, and whether it is new."""
        problem = entry.problem
        if not problem:
            try:
                key = result_key(self.lab, entry.path, self.seed, worker.greeting.device, entry.flags)
            except OSError as reason:
                problem = f"{entry.shown_as} cannot be read: {reason.strerror}."
        if problem:
            return with_entry(entry, unreadable(self.lab, entry.student, entry.shown_as, problem, worker.greeting)), True
        known = None if self.regrade else self.earlier_result(self._path(entry), key, entry)
        if known is not None:
            return known, False
        result = with_entry(entry, self._checked(entry, worker, key))
        if any(check.fault for check in result.checks):
            self.fault_details[entry.student] = worker.last_details or "\n".join(result.flags)
        return result, True

    def _path(self, entry: Entry) -> Path:
        return self.results_folder / f"{report_name(entry.student)}.json"

    def failed(self, entry: Entry, problem: BaseException) -> Result:
        """Writes the row of a student whom we failed to grade. A later run finds the fault in it and grades again."""
        self.fault_details[entry.student] = "".join(traceback.format_exception(problem))
        message = str(problem) if isinstance(problem, KitError) else in_words(problem)
        result = self.faulted(entry, f"{entry.student} could not be graded: {message}")
        write_atomically(self._path(entry), to_text(result))
        return result

    def earlier_result(self, path: Path, key: str, entry: Entry) -> Result | None:
        """The result of an earlier run, if its key is still the same and it holds no fault of ours; else None."""
        try:
            result = from_text(path.read_text(encoding="utf-8"))
        except Exception:  # not there, damaged, or no result at all: it is made anew
            return None
        same = result.key == key and result.student == entry.student and result.submission == entry.shown_as
        same = same and result == with_entry(entry, result)
        if not same or any(check.fault for check in result.checks):  # our own failure is worth another try
            return None
        return result

    def _checked(self, entry: Entry, worker: Worker, key: str) -> Result:
        about_it = {"student": entry.student, "shown_as": entry.shown_as, "seed": self.seed, "key": key}
        return checked(self.lab, entry.path, worker, **about_it)

    def faulted(self, entry: Entry, fault: str) -> Result:
        """The result of a submission that we failed to grade at all."""
        source: Source = "measured" if self._device == "gpu" else "simulated"
        return with_entry(entry, faulted(self.lab, entry.student, entry.shown_as, self._device, source, fault))

    def _borrowed(self) -> Worker:
        """A worker that is free. After some submissions a fresh one takes its place."""
        worker = self._free.get()
        self._graded[worker] += 1
        if self._graded[worker] > SUBMISSIONS_A_WORKER:
            worker.close()
            self._graded[worker] = 1
        return worker

    def _start_workers(self, most: int) -> int:
        """Starts one worker and waits for it, since it must come up; then starts the others. Returns how many there are."""
        first = Worker(self._device, self._limits)
        self._graded[first] = 0
        cards = Cards.of(first.greeting.cards)  # waits until it is up
        self.remarks += cards.left_aside
        cores = os.cpu_count() or 1
        # A GPU is one worker's at a time: a few keep it busy while others compile or compare.
        jobs = self._jobs or (cores if first.source == "simulated" else min(cores, GPU_WORKERS * max(1, len(cards.used))))
        first.card = cards.used[0] if cards.used else ""  # which it uses, and will be all that it sees if it is restarted
        for number in range(1, min(jobs, most)):
            worker = Worker(self._device, self._limits)
            worker.card = cards.used[number % len(cards.used)] if cards.used else ""
            worker.start()
            self._graded[worker] = 0
        for worker in self._graded:
            self._free.put(worker)
        return len(self._graded)


def checked(lab: Lab, path: Path, worker: Worker, **about_it: Any) -> Result:
    """`check_submission`, and once more where the worker was lost on the way and checks with it: to be killed from outside,
    by a system short of memory or a person, costs nobody anything. What ends its worker itself does so again."""
    before = worker.deaths
    result = check_submission(lab, path, worker=worker, **about_it)
    if worker.deaths > before and any(check.fault for check in result.checks):
        result = check_submission(lab, path, worker=worker, **about_it)
    return result


def with_entry(entry: Entry, result: Result) -> Result:
    """The result, completed with what its entry knows: IDs, which of several files counts, flags, and when it came in."""
    return replace(
        result,
        ids=dict(entry.ids),
        note=entry.note,
        flags=tuple(dict.fromkeys((*result.flags, *entry.flags))),
        digest="" if entry.problem else submission_digest(entry.path),
        handed_in=entry.handed_in,
        marked_late=entry.marked_late,
    )


@contextmanager
def progress_of(total: int, shown: bool) -> Iterator[Callable[[], object]]:
    """What to call for each that is done; it moves a progress bar on standard error: done of total, rate and time left."""
    if not shown:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit="submission", file=sys.stderr, dynamic_ncols=True, desc="Grading") as bar:
        yield bar.update
