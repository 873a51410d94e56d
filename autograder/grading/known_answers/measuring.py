"""Grades and times a lab's known answers on one device, and keeps what came of it beside the answers.

It writes solutions/LAB/calibration/h200.json (the GPU's name without its maker) or simulated.json. Every answer that runs
at all is timed by each check that compares speed, even if grading stops before that check: the model predicts the time
of a wrong answer too, and that is tested. An answer whose second line begins with `# not timed:` is left out, for the
reason given there. Times are taken as in grading (autograder/cudagpu/comparing.py).
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from autograder.grading.known_answers.answers import KnownAnswer, calibration_file, known_answers
from autograder.grading.known_answers.recording import Recorder
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.records.runs import Comparison

SECONDS_TO_RUN = 20  # for an answer that is timed although grading would have stopped before
WHAT = "verdicts of grading; times the baseline's speed by each check that compares speed"


class KnownFile:
    """What a device gave a lab's answers: verdicts, ratios by check, and why there are none."""

    def __init__(self, path: Path, checks: Sequence[str]) -> None:
        self.path, self.checks = path, checks
        self.known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.verdicts: dict[str, Any] = self.known.get("verdicts", {})
        self.texts: dict[str, str] = self.known.get("texts", {})  # the fingerprints of what verdicts were given to
        self.seconds: dict[str, float] = self.known.get("seconds", {})  # of a processor, to grade it whole
        self.ratios, self.not_timed = (
            {check: dict(self.known.get(of, {}).get(check, {})) for check in checks} for of in ("ratios", "not timed")
        )

    def take(
        self,
        answer: KnownAnswer,
        verdict: Mapping[str, Any] | None,
        compared: Mapping[str, Comparison] | None,
        seconds: float,
    ) -> None:
        """What was found of one answer: a verdict or none, comparisons or none, in place of what was known of it.

        `seconds`: what it took to give that verdict.
        """
        name = answer.name
        if verdict is not None:
            self.verdicts[name] = verdict
            self.texts[name] = answer.fingerprint
            self.seconds[name] = float(f"{seconds:.2g}")
        for check in self.checks if compared is not None else ():
            self.ratios[check].pop(name, None)
            self.not_timed[check].pop(name, None)
            if not answer.is_timed:
                continue
            found = compared.get(check) if compared else None
            if why := not_timed_because(found):
                self.not_timed[check][name] = why
            elif found is not None:
                self.ratios[check][name] = figures(found)

    def write(self, device: str, source: str, names: Sequence[str]) -> None:
        """Writes the file, its answers in the order of `names`."""
        in_order = {"ratios": self.ratios, "not timed": self.not_timed}
        form = {
            "what": WHAT,
            "device": device,
            "source": source,
            **{
                of: {check: {n: rows[check][n] for n in names if n in rows[check]} for check in self.checks}
                for of, rows in in_order.items()
            },
            "verdicts": {each: self.verdicts[each] for each in names if each in self.verdicts},
            "texts": {each: self.texts[each] for each in names if self.texts.get(each)},
        }
        if source == "simulated":  # for tests, which take the quickest of those that show the same
            form["seconds"] = {each: self.seconds[each] for each in names if each in self.seconds}
        self.path.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


def measure(
    lab: Lab,
    device: str,
    only: Sequence[str] = (),
    *,
    jobs: int = 1,
    missing: bool = False,
    grades: bool = True,
    times: bool = True,
) -> Path:
    """Grades and times every answer, those named or those `missing`; what was found so far is in the file at any moment.

    Without `grades`, or without `times`, the file keeps its old grades, or times.
    """
    cases, lock, free = known_answers(lab), threading.Lock(), queue.SimpleQueue[Recorder]()
    with contextlib.ExitStack() as stack:
        for _ in range(jobs):
            free.put(Recorder(lab, stack.enter_context(Worker(device))))
        first = free.get()
        solution = cases["solution"].submission
        assert isinstance(solution, Path)
        greeting, checks = first.worker.greeting, first.speed_checks(solution)
        free.put(first)
        out = calibration_file(lab, greeting.device if greeting.source == "measured" else "simulated")
        out.parent.mkdir(exist_ok=True)
        file = KnownFile(out, checks)

        def one(name: str) -> None:
            recorder = free.get()
            try:
                verdict, compared = found_of(recorder, cases[name], checks, grades, times)
            finally:
                free.put(recorder)
            with lock:
                file.take(cases[name], verdict, compared, recorder.seconds)
                print(name, verdict, [file.ratios[check].get(name) for check in checks], flush=True)
                file.write(greeting.device, greeting.source, list(cases))

        with ThreadPoolExecutor(jobs) as pool:
            wanted = [name for name in cases if not only or name in only]
            list(pool.map(one, [name for name in wanted if not missing or is_missing(cases[name], file.known, checks)]))
    return out


def found_of(
    recorder: Recorder, answer: KnownAnswer, checks: Sequence[str], grades: bool = True, times: bool = True
) -> tuple[dict[str, Any] | None, dict[str, Comparison] | None]:
    """An answer's verdict, and its comparison in each check that it came to; None for what was not asked for.

    Of an answer that is not to be timed there are none, although grading may have compared it.
    """
    verdict: dict[str, Any] | None = None
    found: dict[str, Comparison] = {}
    if grades and answer.is_graded:
        verdict = verdict_of(recorder.graded(answer.submission))
        if answer.is_timed:
            found = {name: each.comparison for name, each in recorder.timed().items()}
    if not times:
        return verdict, None
    for check in checks:
        if check not in found and answer.is_timed:
            recorder.judged_alone(answer.submission, check, SECONDS_TO_RUN)
            found |= {name: each.comparison for name, each in recorder.made.items() if name == check}
    return verdict, found


def verdict_of(result: Result) -> dict[str, Any]:
    """Failed checks, hints, bonus checks passed, an instructor's flags."""
    if result.error:
        return {"failed": [], "hints": [], "bonus": [], "flags": [result.error]}
    return {
        "failed": [check.name for check in result.checks if check.outcome == "failed" and not check.bonus],
        "hints": [hint.name for check in result.checks for hint in check.hints if not check.bonus],
        "bonus": [check.name for check in result.checks if check.outcome == "passed" and check.bonus],
        "flags": list(result.flags),
    }


def is_missing(answer: KnownAnswer, known: dict[str, Any], checks: Sequence[str]) -> bool:
    """Whether a file lacks the verdict of an answer's text as it is, or its time in one of these checks.

    To which text a verdict was given is not known of all that a GPU gave.
    """
    name, texts = answer.name, known.get("texts", {})
    if answer.is_graded and name not in known.get("verdicts", {}):
        return True
    if answer.is_graded and (name in texts or known.get("source") == "simulated"):
        if texts.get(name, "") != answer.fingerprint:
            return True
    kept = (known.get("ratios", {}), known.get("not timed", {}))
    return answer.is_timed and any(all(name not in of.get(check, {}) for of in kept) for check in checks)


def figures(found: Comparison) -> dict[str, float]:
    """The median ratio of times with its interval, and the answer's own time."""
    row = {"ratio": found.ratio, "least": found.low, "most": found.high, "milliseconds": found.submission_ns / 1e6}
    return {name: float(f"{value:.5g}") for name, value in row.items()}


def not_timed_because(found: Comparison | None) -> str:
    """Why a comparison, if there was one, says nothing about speed; empty where it does."""
    if found is None:
        return "It ends before anything is compared."
    if found.fault is not None:
        return str(found.fault)
    return "" if np.isfinite(found.ratio) else "It launches nothing."
