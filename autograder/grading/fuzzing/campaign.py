"""A campaign: mutants of a lab are graded in several processes, what is known is kept, and what comes of it is the same
for a seed whatever the number of processes.

Each mutant's verdict is a line of `mutants.jsonl`, written as soon as it is there under a key of all that it depends on:
a campaign that was stopped goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from autograder.errors import KitError, SubmissionError, UsageError
from autograder.grading.fuzzing.judging import judge_file, judge_of, judged
from autograder.grading.fuzzing.mutants import Mutant, mutants
from autograder.grading.fuzzing.programs import right_answers
from autograder.grading.grade import PUBLIC_SEED, Grading, attempted, check_submission, in_words, read
from autograder.grading.identity import grader_version
from autograder.grading.labs import lab_digest, load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.language.source import Submission, submission_from_cells

KEPT = "mutants.jsonl"
OURS = "a fault of ours"  # tried again by the next campaign
WAITING = 3  # mutants a process that lie ready for it


@dataclass(frozen=True)
class Verdict:
    """What came of one mutant."""

    number: int
    base: str
    kinds: tuple[str, ...]
    said: str
    key: str
    outcome: str  # unreadable, failed, passed in part, full marks, or OURS
    failed: tuple[str, ...]  # checks
    hints: tuple[tuple[str, str, str], ...]  # check, name, text
    message: str  # of the first failed check
    found: tuple[str, ...]  # by the judge, of full marks
    text: str = ""  # of a survivor, and of what the grader failed at

    @property
    def survived(self) -> bool:
        """Whether it got full marks and is wrong."""
        return self.outcome == "full marks" and bool(self.found)


def keys(lab: Lab, seed: int, marks_only: bool = False) -> Callable[[Mutant], str]:
    """Gives a mutant the hash of all that its verdict depends on."""
    judge = judge_file(lab).read_text(encoding="utf-8")
    parts = (lab_digest(lab), judge, str(seed), grader_version(), *(["marks only"] if marks_only else []))
    return lambda mutant: hashlib.sha256("\0".join((mutant.text, *parts)).encode()).hexdigest()[:32]


def graded(lab: Lab, mutant: Mutant, worker: Worker, seed: int, key: str = "") -> Verdict:
    """One mutant's verdict: by the lab's checks and, where it gets full marks, by its judge."""
    result = check_submission(lab, _submission(mutant), worker=worker)
    failed = tuple(each.name for each in result.checks if each.outcome == "failed" and not each.bonus)
    hints = tuple((each.name, hint.name, hint.text) for each in result.checks for hint in each.hints)
    message = next(
        (each.message for each in result.checks if each.outcome == "failed" and not each.bonus), result.error
    )
    outcome = "failed"
    if result.error:
        outcome = "unreadable"
    elif any(each.fault for each in result.checks) or any(flag.startswith("hint ") for flag in result.flags):
        outcome, message = OURS, "; ".join(result.flags)
    elif result.outcome == "passed" and sum(e.points for e in result.checks if not e.bonus) >= lab.points:
        outcome = "full marks"
    elif result.outcome == "passed":
        outcome = "passed in part"
    return _verdict(lab, mutant, seed, key, outcome, failed, message, hints)


def marked(lab: Lab, mutant: Mutant, worker: Worker, seed: int, key: str = "") -> Verdict:
    """Whether it gets full marks, and what the judge says then: the same as of `graded`, in a fraction of the time.

    Grading ends at the first check that the mutant fails, which is the only one named. No hint is looked for and nothing
    is drawn; bonus checks, which take no marks away, are left out.
    """
    marks = marks_of(lab, mutant, worker)
    failed = (marks.failed,) if marks.failed else ()
    return _verdict(lab, mutant, seed, key, marks.outcome, failed, marks.message)


def _verdict(
    lab: Lab, mutant: Mutant, seed: int, key: str, outcome: str, failed: tuple[str, ...], message: str,
    hints: tuple[tuple[str, str, str], ...] = (),
) -> Verdict:  # fmt: skip
    """With what the judge says of full marks."""
    found = tuple(judged(lab, judge_of(lab), mutant.text, seed)) if outcome == "full marks" else ()
    text = mutant.text if outcome == OURS or found else ""
    about = (mutant.number, mutant.base, mutant.kinds, mutant.said)
    return Verdict(*about, key, outcome, failed, hints, message, found, text)


@dataclass(frozen=True)
class Marks:
    """What a mutant's marks come to, known as soon as one is lost."""

    outcome: str  # like that of a `Verdict`
    failed: str = ""  # the first check that it fails
    message: str = ""  # of that check, or what is wrong with the text


def marks_of(lab: Lab, mutant: Mutant, worker: Worker) -> Marks:
    """A mutant's marks by the lab's checks in their order. Raises `GraderFault` for a failure of the grader's own."""
    try:
        grading = Grading(lab, worker, PUBLIC_SEED, read(lab, _submission(mutant), worker))
    except SubmissionError as problem:
        return Marks("unreadable", message=str(problem))
    in_part = False
    for check in lab.checks:
        if check.bonus:
            continue
        attempt, _ = attempted(grading, worker, check)
        if attempt.failure is not None:
            return Marks("failed", check.name, str(attempt.failure))
        grading.unnoticed.take(attempt)
        in_part |= attempt.fraction is not None and attempt.fraction < 1
    unnoticed = grading.unnoticed.first()
    if unnoticed is not None:
        return Marks("failed", unnoticed.check, str(unnoticed.failure))
    return Marks("passed in part" if in_part else "full marks")


def _submission(mutant: Mutant) -> Submission:
    return submission_from_cells("mutant.py", [("mutant.py", mutant.text)], is_notebook=False)


def campaign(
    lab: Lab,
    count: int,
    seed: int,
    jobs: int = 1,
    out: Path | None = None,
    tell: Callable[[Verdict], None] = lambda each: None,
    *,
    marks_only: bool = False,
) -> list[Verdict]:
    """The verdicts of so many mutants of a lab's right answers, in the order of their numbers.

    `out`: a folder in which verdicts are kept, and from which those that still hold are taken over. `marks_only`: by
    `marked` instead of `graded`, for campaigns of many thousands. Raises `UsageError` where the lab has no right answers
    here, or no judge, and where `out` cannot be a folder.
    """
    answers = right_answers(lab)
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageError(f"{out} cannot be used as a folder: {problem.strerror}.") from None
    known, key_of = _known(out), keys(lab, seed, marks_only)
    found: list[Verdict] = []

    def unknown() -> Iterator[tuple[Mutant, str]]:
        """One after the other, while others are graded already: to make ten thousand takes a minute."""
        for mutant in mutants(answers, seed, count):
            key = key_of(mutant)
            if key in known:
                found.append(replace(known[key], number=mutant.number))
            else:
                yield mutant, key

    newline = "\n" if known else ""  # a line that was cut short, at the end of what is kept, ends here
    for verdict in _verdicts(lab, unknown(), seed, jobs, marked if marks_only else graded):
        found.append(verdict)
        if out is not None:
            with (out / KEPT).open("a", encoding="utf-8") as file:
                file.write(f"{newline}{json.dumps(asdict(verdict))}\n")
            newline = ""
        tell(verdict)
    return sorted(found, key=lambda each: each.number)


def _known(out: Path | None) -> dict[str, Verdict]:
    """Verdicts of an earlier run, by key; a line that was cut short is no verdict, nor is a fault of ours."""
    known = {}
    if out is not None and (out / KEPT).is_file():
        for line in (out / KEPT).read_text(encoding="utf-8").splitlines():
            try:
                each = json.loads(line)
                hints = tuple(tuple(hint) for hint in each.pop("hints"))
                lists = {name: tuple(value) for name, value in each.items() if isinstance(value, list)}
                if each["outcome"] != OURS:
                    known[each["key"]] = Verdict(**{**each, **lists, "hints": hints})
            except (ValueError, TypeError, KeyError):
                continue
    return known


Grader = Callable[[Lab, Mutant, Worker, int, str], Verdict]  # `graded` or `marked`


def _verdicts(
    lab: Lab, todo: Iterator[tuple[Mutant, str]], seed: int, jobs: int, by: Grader
) -> Iterator[Verdict]:
    if jobs == 1:
        with Worker("simulated") as worker:
            for mutant, key in todo:
                yield _graded_or_fault(by, lab, mutant, worker, seed, key)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _begin, (str(lab.folder), by))
    try:
        running: set[Future[Verdict]] = set()
        while True:
            more = islice(todo, WAITING * jobs - len(running))
            running |= {pool.submit(_in_process, mutant, seed, key) for mutant, key in more}
            if not running:
                pool.shutdown()
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
    finally:  # interrupted or failed: whoever is still at work is not waited for
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for each in processes:
            each.terminate()


_mine: dict[str, Any] = {}  # of a process of the pool: its lab and its worker


def _begin(lab: str, by: Grader) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all: the campaign ends its processes
    _mine["lab"], _mine["worker"], _mine["by"] = load_lab(lab), Worker("simulated"), by


def _in_process(mutant: Mutant, seed: int, key: str) -> Verdict:
    return _graded_or_fault(_mine["by"], _mine["lab"], mutant, _mine["worker"], seed, key)


def _graded_or_fault(by: Grader, lab: Lab, mutant: Mutant, worker: Worker, seed: int, key: str) -> Verdict:
    """A mutant's verdict; a fault of ours where the worker, a check or the judge fails, whatever with."""
    try:
        return by(lab, mutant, worker, seed, key)
    except (Exception, SystemExit) as fault:
        said = str(fault) if isinstance(fault, KitError) else in_words(fault)
        about = (mutant.number, mutant.base, mutant.kinds, mutant.said)
        return Verdict(*about, key, OURS, (), (), said, (), mutant.text)
