"""Every student's page, made from the results on disk, and what pages of the class need of each beside its row.

START HERE: `write_pages`. One result is in memory at a time; where a class is large, several processes share it.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from autograder.errors import MachineFault, UsageError
from autograder.grading.fence import page_of
from autograder.grading.grade import in_words
from autograder.records.files import report_name, write_atomically
from autograder.records.json_form import from_text
from autograder.records.results import Result
from autograder.records.stored import StoredResults, Weight
from autograder.reports import html, terminal
from autograder.reports.alike import AtHand, Mark, mark_of
from autograder.reports.misconceptions import weights_of
from autograder.reports.withheld import for_students

AT_ONCE = 40  # students of whom a process makes the pages before it says so
WORTH_A_PROCESS = 150  # students: to start one takes about a second
# What a row may have that its result on disk has not: what was told of the student, and of the submission since.
_TOLD = ("ids", "note", "flags", "name", "handed_in", "due", "marked_late", "by_hand")


@dataclass(frozen=True)
class Fault:
    """Why a result cannot be shown: in words, and with its traceback."""

    words: str
    details: str


@dataclass
class PagesMade:
    """What is left of results once their pages are written, by student."""

    marks: dict[str, Mark] = field(default_factory=dict)  # what they are compared by
    weights: dict[str, dict[str, Weight]] = field(default_factory=dict)  # what they would show as examples
    faults: dict[str, Fault] = field(default_factory=dict)
    at_hand: AtHand = AtHand()  # what of it they have

    def add(self, other: PagesMade) -> None:
        self.marks |= other.marks
        self.weights |= other.weights
        self.faults |= other.faults
        self.at_hand = AtHand(
            self.at_hand.statements | other.at_hand.statements,
            self.at_hand.words | other.at_hand.words,
            self.at_hand.starter | other.at_hand.starter,
        )


def stored(out: Path, rows: Sequence[Result]) -> StoredResults:
    """The results of a class's folder that these are the rows of."""
    return StoredResults(rows, partial(whole_of, out))


def whole_of(out: Path, row: Result) -> Result:
    """All of a result on disk, with what its row says of it; raises `UsageError` where it cannot be read."""
    path = out / "results" / f"{report_name(row.student)}.json"
    try:
        whole = from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UsageError(f"{path} cannot be read: {problem}.", remedy="Grade the class again.") from None
    except UsageError as problem:
        raise UsageError(f"{path}: {problem.message}", remedy=problem.remedy) from None
    return replace(whole, **{name: getattr(row, name) for name in _TOLD})


def write_pages(results: StoredResults, out: Path, students_have: AtHand, jobs: int | None = None) -> PagesMade:
    """Writes `out`/reports/*.html. Where one cannot be made, a plain one that says so is written, and why is in `faults`."""
    rows = results.rows
    chunks = [StoredResults(rows[at : at + AT_ONCE], results.read) for at in range(0, len(rows), AT_ONCE)]
    processes = min(jobs or os.cpu_count() or 1, len(rows) // WORTH_A_PROCESS)
    seen = PagesMade()
    for each in _shared(chunks, out, students_have, processes):
        seen.add(each)
    return seen


def _shared(chunks: list[StoredResults], out: Path, students_have: AtHand, processes: int) -> Iterator[PagesMade]:
    """What becomes of each chunk, by several processes where that is worth it and they can be started."""
    done = 0
    if processes > 1 and _can_start_processes():
        # Not forked: workers' threads may hold locks. Pages of a folder need nothing of this process.
        pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
        try:
            for each in pool.map(_pages, chunks, itertools.repeat(out), itertools.repeat(students_have)):
                yield each
                done += 1
        except BrokenProcessPool:  # one was killed, or none can be started: what is left is done here
            pass
        finally:
            pool.shutdown(cancel_futures=True)
    for chunk in chunks[done:]:
        yield _pages(chunk, out, students_have)


def _can_start_processes() -> bool:
    """Whether another Python can begin as this one did: not one that reads its program from standard input."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return file is None or getattr(main, "__spec__", None) is not None or Path(file).is_file()


def _pages(results: StoredResults, out: Path, students_have: AtHand) -> PagesMade:
    """Writes the pages of some students."""
    seen = PagesMade()
    for row in results.rows:
        result = results.whole(row)
        page, fault = _page(result)
        write_atomically(out / "reports" / f"{report_name(result.student)}.html", page)
        if fault is not None:
            seen.faults[result.student] = fault
        seen.marks[result.student] = mark_of(result, students_have)
        seen.weights[result.student] = weights_of(result)
        seen.add(PagesMade(at_hand=students_have.within([result])))
    return seen


def _page(result: Result) -> tuple[str, Fault | None]:
    """A student's page, and why it or what the terminal shows cannot be made."""
    try:
        terminal.render(result)
        return html.render(for_students(result)), None
    except MachineFault:
        raise
    except Exception as problem:
        return page_of(result), Fault(in_words(problem), traceback.format_exc())
