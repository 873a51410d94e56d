"""Recommends a lab's threshold: grades the baseline, the solution and the known answers here, and says where to put it.

On a GPU every answer is timed in several sessions of a fresh process each, so that what changes from one run to the
next counts as well. Without one the ratios are the model's estimates: the same every time, with no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import GraderFault, UsageError
from autograder.grading.known_answers.answers import Kind, known_answers, solution_of
from autograder.grading.known_answers.recording import Recorder
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.language.source import Submission
from autograder.records.results import Result
from autograder.records.runs import Source

SESSIONS = 3  # on a GPU
GRADINGS = 2000  # drawn from the measured rounds for each statement
RESAMPLES = 400  # for each drawn grading's own interval
STEP = 0.05  # thresholds are recommended in steps of this


@dataclass
class TimedAnswer:
    """One known answer: `rounds` holds the measured ratios of each session (one number each without a GPU)."""

    name: str
    kind: Kind
    must_fail: bool  # this speed check, by the first line of a wrong answer; always for the baseline
    rounds: list[list[float]] = field(default_factory=list)
    note: str = ""  # why it was not timed
    may_fail: bool = False  # a right answer, where speed earns a bonus: not all that are right are to have it

    @property
    def must_pass(self) -> bool:
        """Whether a threshold that it misses is too high."""
        return self.kind in ("solution", "right") and not self.may_fail

    @property
    def ratio(self) -> float:
        return float(np.median(np.concatenate(self.rounds))) if self.rounds else math.nan

    def gradings(self, rng: np.random.Generator, rounds: int) -> np.ndarray:
        """Ratios of `GRADINGS` gradings, (GRADINGS, rounds): a session each at random, then rounds of it."""
        sessions = rng.integers(len(self.rounds), size=GRADINGS)
        return np.stack([rng.choice(self.rounds[which], rounds) for which in sessions])

    def interval(self, rounds: int) -> tuple[float, float]:
        """Where 95 % of all gradings' ratios lie, by the bootstrap over sessions and rounds (Efron 1979)."""
        ratios = np.median(self.gradings(np.random.default_rng(1), rounds), axis=1)
        low, high = np.percentile(ratios, (2.5, 97.5))
        return float(low), float(high)

    def share_passed(self, threshold: float, rounds: int, most_rounds: int) -> float:
        """How often it would reach the threshold, graded as a submission is.

        An interval that straddles the threshold after the first rounds is measured again up to the cap; who then
        straddles it still has the benefit of the doubt.
        """
        rng = np.random.default_rng(2)
        lows, highs = _ends(self.gradings(rng, rounds), rng)
        unsettled = (lows < threshold) & (highs >= threshold)
        if unsettled.any() and most_rounds > rounds:
            _, again = _ends(self.gradings(rng, most_rounds)[unsettled], rng)
            highs[unsettled] = again
        return float(np.mean(highs >= threshold))


@dataclass(frozen=True)
class Calibration:
    """One speed check's answers, and the threshold that they speak for (None where they overlap)."""

    check: str
    device: str
    source: Source
    sessions: int
    threshold: float
    recommended: float | None
    reason: str
    answers: tuple[TimedAnswer, ...]
    rounds: int
    most_rounds: int

    def failing(self, threshold: float) -> dict[str, float]:
        """How often the solution would fail at this threshold, and how often the baseline would pass."""
        solution = next(each for each in self.answers if each.kind == "solution")
        baseline = next(each for each in self.answers if each.kind == "baseline")
        return {
            "solution fails": 1 - solution.share_passed(threshold, self.rounds, self.most_rounds),
            "baseline passes": baseline.share_passed(threshold, self.rounds, self.most_rounds),
        }


def calibrate(
    lab: Lab, *, device: str = "auto", sessions: int | None = None, tell: Callable[[str], None] = lambda _: None
) -> list[Calibration]:
    """Grades every known answer and looks at each check that compares speed.

    `sessions`: how often each answer that ought to reach the speed check is timed (default: 3 on a GPU, else 1). Raises
    `UsageError` where the lab has no solution, no baseline or no speed check.
    """
    solution = solution_of(lab)
    if not (solution / "lab.ipynb").is_file():
        raise UsageError(
            f"{lab.name} has no solution to calibrate by.", remedy=f"It is to be {solution / 'lab.ipynb'}."
        )
    if lab.baseline_path is None:
        raise UsageError(f"{lab.name} names no baseline: there is no speed to compare.")
    with Worker(device, until_narrow=True) as worker:
        recorder = Recorder(lab, worker)
        measured = worker.source == "measured"
        sessions = (sessions or SESSIONS) if measured else 1
        names = _speed_checks(recorder, solution / "lab.ipynb")
        bonuses = {each.name for each in lab.checks if each.bonus}
        found: dict[str, list[TimedAnswer]] = {name: [] for name in names}
        thresholds: dict[str, float] = {}
        for known in known_answers(lab).values():
            if isinstance(known.submission, Submission):  # a variant: no file that anybody hands in
                continue
            path = known.submission
            tell(f"{known.kind} {path.stem}")
            answers = {
                name: TimedAnswer(
                    path.stem, known.kind, known.must_fail(name), may_fail=known.kind == "right" and name in bonuses
                )
                for name in names
            }
            for _ in range(sessions):
                if measured:
                    worker.close()  # a fresh process for each session
                _time(recorder, path, known.kind, answers, thresholds)
                if known.kind == "wrong" and not any(each.must_fail for each in answers.values()):
                    break
            for name, answer in answers.items():
                found[name].append(answer)
        greeting = worker.greeting
    rounds, most = _rounds() if measured else (1, 1)
    return [
        Calibration(
            name, greeting.device, greeting.source, sessions, thresholds[name], *recommend(answers, rounds),
            tuple(answers), rounds, most,
        )
        for name, answers in found.items()
    ]  # fmt: skip


def recommend(answers: Sequence[TimedAnswer], rounds: int) -> tuple[float | None, str]:
    """A threshold halfway, as ratios go, between what must fail and what must pass, and a sentence about it."""
    timed = [each for each in answers if each.rounds]
    slow = [(each.interval(rounds)[1], each.name) for each in timed if each.must_fail]
    fast = [(each.interval(rounds)[0], each.name) for each in timed if each.must_pass]
    if not slow or not fast:
        return None, "Nothing to choose a threshold between: one side was not timed."
    (highest, slow_name), (lowest, fast_name) = max(slow), min(fast)
    between = f"between {slow_name} ({highest:.2f} at most) and {fast_name} ({lowest:.2f} at least)"
    middle = math.floor(math.sqrt(highest * lowest) / STEP + 1e-9) * STEP
    if highest >= lowest or not highest < middle < lowest:
        return None, f"No threshold lies clearly {between}: let the check ask for less, or for something countable."
    return round(middle, 2), f"halfway {between}"


# ---- timing ----------------------------------------------------------------------------------------


def _speed_checks(recorder: Recorder, solution: Path) -> list[str]:
    """The checks that compare speed, as grading the solution shows; it must pass all before them."""
    result = _graded(recorder, solution)
    timed = recorder.timed()
    names = [check.name for check in result.checks if check.name in timed]
    if not names:
        failed = next((check for check in result.checks if check.outcome != "passed"), None)
        why = f" (the solution did not pass {failed.name}: {failed.message})" if failed else ""
        raise UsageError(f"No check of {recorder.lab.name} compares speed{why}.", remedy="attempt.speedup(...) does.")
    return names


def _graded(recorder: Recorder, answer: Path) -> Result:
    result = recorder.graded(answer)
    if fault := next((check for check in result.checks if check.fault), None):
        raise GraderFault(f"{answer.name}, {fault.name}: {fault.message}")
    return result


def _time(
    recorder: Recorder, path: Path, kind: Kind, answers: dict[str, TimedAnswer], thresholds: dict[str, float]
) -> None:
    """Grades one answer once and adds each speed check's rounds to its answer, or the reason why there are none."""
    result = _graded(recorder, path)
    found = recorder.timed()
    for name, answer in answers.items():
        if name not in found and kind == "baseline":  # it may fail, on purpose, what the speed check waits for
            recorder.judged_alone(path, name)
            found |= recorder.timed()
        if name not in found:
            failed = next((each.name for each in result.checks if each.outcome == "failed"), name)
            answer.note = f"not timed: {result.error or 'fails ' + failed}"
            continue
        thresholds[name] = found[name].threshold
        comparison = found[name].comparison
        answer.rounds.append(list(comparison.rounds or (comparison.ratio,)))


def _rounds() -> tuple[int, int]:
    """How many rounds a grading on a GPU has, at least and at most."""
    from autograder.cudagpu.timing import LEAST_ROUNDS, MOST_ROUNDS

    return LEAST_ROUNDS, MOST_ROUNDS


def _ends(gradings: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of each grading's own 95 % interval: gradings (g, rounds) -> two arrays of g."""
    count, rounds = gradings.shape
    picks = rng.integers(rounds, size=(RESAMPLES, rounds))
    medians = np.median(gradings[:, picks], axis=2)  # (g, RESAMPLES)
    low, high = np.percentile(medians, (2.5, 97.5), axis=1)
    return low, high


# ---- telling ---------------------------------------------------------------------------------------


def calibration_text(calibration: Calibration) -> str:
    """A calibration as text: a table of answers, then what follows for the threshold."""
    each_in = f", {calibration.sessions} sessions each" if calibration.source == "measured" else ""
    lines = [f"{calibration.check}: {calibration.source} on {calibration.device}{each_in}"]
    for answer in sorted(calibration.answers, key=lambda each: -each.ratio if each.rounds else math.inf):
        if not answer.rounds:
            continue
        low, high = answer.interval(calibration.rounds)
        wanted = "must fail" if answer.must_fail else ("must pass" if answer.must_pass else "")
        interval = f"{low:6.2f} to {high:5.2f}" if calibration.source == "measured" else " " * 15
        lines.append(f"  {answer.ratio:6.2f}  {interval}  {answer.kind:8}  {answer.name}  {wanted}".rstrip())
    untimed = [each for each in calibration.answers if not each.rounds]
    if untimed:
        lines.append(
            f"  Not timed, for they fail an earlier check: {len(untimed)} of {len(calibration.answers)} answers."
        )
    lines += _at(calibration, "The threshold is", calibration.threshold)
    if calibration.recommended is None:
        return "\n".join([*lines, calibration.reason])
    return "\n".join(lines + _at(calibration, f"Recommended, {calibration.reason}:", calibration.recommended))


def _at(calibration: Calibration, words: str, threshold: float) -> list[str]:
    shares = calibration.failing(threshold)
    if calibration.source == "simulated":
        solution = "fails" if shares["solution fails"] else "passes"
        baseline = "passes" if shares["baseline passes"] else "fails"
        return [f"{words} {threshold:g}. The solution {solution} and the baseline {baseline}, every time (simulated)."]
    said = "; ".join(f"the {name} in {_percent(share)} of gradings" for name, share in shares.items())
    return [f"{words} {threshold:g}. By the bootstrap, {said}."]


def _percent(share: float) -> str:
    return f"under {100 / GRADINGS:g} %" if share == 0 else f"{100 * share:.3g} %"


def to_dict(calibration: Calibration) -> dict[str, Any]:
    """A calibration as plain data for JSON, with the shares at both thresholds."""
    form = asdict(calibration)
    for answer, each in zip(form["answers"], calibration.answers, strict=True):
        low, high = each.interval(calibration.rounds) if each.rounds else (None, None)
        answer |= {"ratio": each.ratio if each.rounds else None, "low": low, "high": high}
    form["at_threshold"] = calibration.failing(calibration.threshold)
    form["at_recommended"] = calibration.failing(calibration.recommended) if calibration.recommended else None
    return form
