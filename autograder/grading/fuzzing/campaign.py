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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from autograder.errors import KitError, SubmissionError, UsageError
from autograder.grading.fuzzing.judging import judge_file, judge_of, judged
from autograder.grading.fuzzing.mutants import Mutant, mutants
from autograder.grading.fuzzing.programs import right_answers
from autograder.grading.grade import PUBLIC_SEED, Grading, attempted, check_submission, read
from autograder.grading.identity import grader_version
from autograder.grading.labs import lab_digest, load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.language.source import submission_from_cells

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


def key_of(lab: Lab, mutant: Mutant, seed: int) -> str:
    """A hash of all that a mutant's verdict depends on."""
    judge = judge_file(lab).read_text(encoding="utf-8")
    parts = (mutant.text, lab_digest(lab), judge, str(seed), grader_version())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def graded(lab: Lab, mutant: Mutant, worker: Worker, seed: int, key: str = "") -> Verdict:
    """One mutant's verdict: by the lab's checks and, where it gets full marks, by its judge."""
    submission = submission_from_cells("mutant.py", [("mutant.py", mutant.text)], is_notebook=False)
    result = check_submission(lab, submission, worker=worker)
    failed = tuple(each.name for each in result.checks if each.outcome == "failed" and not each.bonus)
    hints = tuple((each.name, hint.name, hint.text) for each in result.checks for hint in each.hints)
    message = next(
        (each.message for each in result.checks if each.outcome == "failed" and not each.bonus), result.error
    )
    outcome = "failed"
    found: tuple[str, ...] = ()
    if result.error:
        outcome = "unreadable"
    elif any(each.fault for each in result.checks) or any(flag.startswith("hint ") for flag in result.flags):
        outcome, message = OURS, "; ".join(result.flags)
    elif result.outcome == "passed" and sum(e.points for e in result.checks if not e.bonus) >= lab.points:
        outcome = "full marks"
        found = tuple(judged(lab, judge_of(lab), mutant.text, seed))
    elif result.outcome == "passed":
        outcome = "passed in part"
    told = outcome == OURS or bool(found)
    return Verdict(
        mutant.number, mutant.base, mutant.kinds, mutant.said, key, outcome, failed, hints, message, found,
        mutant.text if told else "",
    )  # fmt: skip


def first_failed(lab: Lab, mutant: Mutant, worker: Worker) -> str:
    """The first check that a mutant fails, or what is wrong with its text; empty where it passes them all.

    Nothing is drawn and no hint is looked for: what grading says at all, in the least time.
    """
    submission = submission_from_cells("mutant.py", [("mutant.py", mutant.text)], is_notebook=False)
    try:
        grading = Grading(lab, worker, PUBLIC_SEED, read(lab, submission, worker))
    except SubmissionError as problem:
        return str(problem)
    for check in lab.checks:
        if not check.bonus:
            attempt, _ = attempted(grading, worker, check)
            if attempt.failure is not None:
                return check.name
    return ""


def campaign(
    lab: Lab,
    count: int,
    seed: int,
    jobs: int = 1,
    out: Path | None = None,
    tell: Callable[[Verdict], None] = lambda each: None,
) -> list[Verdict]:
    """The verdicts of so many mutants of a lab's right answers, in the order of their numbers.

    `out`: a folder in which verdicts are kept, and from which those that still hold are taken over. Raises `UsageError`
    where the lab has no right answers here, or no judge, and where `out` cannot be a folder.
    """
    answers = right_answers(lab)
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageError(f"{out} cannot be used as a folder: {problem.strerror}.") from None
    known = _known(out)
    found: list[Verdict] = []
    todo: list[tuple[Mutant, str]] = []
    for mutant in mutants(answers, seed, count):
        key = key_of(lab, mutant, seed)
        if key in known:
            found.append(replace(known[key], number=mutant.number))
        else:
            todo.append((mutant, key))
    newline = "\n" if known else ""  # a line that was cut short, at the end of what is kept, ends here
    for verdict in _verdicts(lab, todo, seed, jobs):
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


def _verdicts(lab: Lab, todo: Sequence[tuple[Mutant, str]], seed: int, jobs: int) -> Iterator[Verdict]:
    if jobs == 1 or len(todo) < 2:
        with Worker("simulated") as worker:
            for mutant, key in todo:
                yield _graded_or_fault(lab, mutant, worker, seed, key)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _begin, (str(lab.folder),))
    try:
        rest = iter(todo)
        running: set[Future[Verdict]] = set()
        while True:
            more = islice(rest, WAITING * jobs - len(running))
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


def _begin(lab: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all: the campaign ends its processes
    _mine["lab"], _mine["worker"] = load_lab(lab), Worker("simulated")


def _in_process(mutant: Mutant, seed: int, key: str) -> Verdict:
    return _graded_or_fault(_mine["lab"], mutant, _mine["worker"], seed, key)


def _graded_or_fault(lab: Lab, mutant: Mutant, worker: Worker, seed: int, key: str) -> Verdict:
    """A mutant's verdict; of a worker that could not start again, a fault of ours."""
    try:
        return graded(lab, mutant, worker, seed, key)
    except KitError as fault:
        about = (mutant.number, mutant.base, mutant.kinds, mutant.said)
        return Verdict(*about, key, OURS, (), (), str(fault), (), mutant.text)
