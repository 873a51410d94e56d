"""Thresholds recommended from measured rounds, and how often a verdict by them would be wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from autograder.errors import UsageError
from autograder.grading import check
from autograder.grading.known_answers import thresholds as module
from autograder.grading.known_answers.thresholds import (
    Calibration,
    TimedAnswer,
    calibrate,
    calibration_text,
    recommend,
    to_dict,
)
from autograder.records.runs import Comparison
from autograder.tests.grading_fakes import FakeWorker, a_call, lab_with

RNG = np.random.default_rng(3)


def answer(name, kind, ratio, spread=0.01, must_fail=False, sessions=3, rounds=12):
    found = [list(ratio * RNG.lognormal(0, spread, rounds)) for _ in range(sessions)]
    return TimedAnswer(name, kind, must_fail, found)


def calibration(*answers, threshold=2.0, source="measured"):
    rounds = (8, 40) if source == "measured" else (1, 1)
    recommended, reason = recommend(answers, rounds[0])
    return Calibration("fast", "NVIDIA H200", source, 3, threshold, recommended, reason, answers, *rounds)


def test_a_threshold_halfway_is_recommended_and_almost_never_wrong():
    found = calibration(answer("baseline", "baseline", 1.0, must_fail=True), answer("lab", "solution", 3.0))
    assert found.recommended == pytest.approx(np.sqrt(3), abs=0.06) and found.recommended < 3.0
    assert found.failing(found.recommended) == {"solution fails": 0, "baseline passes": 0}
    assert "the solution fails in under 0.05 % of gradings" in calibration_text(found)


@pytest.mark.parametrize(
    ("threshold", "fails", "passes"), [(4.0, 1.0, 0.0), (0.5, 0.0, 1.0), (3.6, 1.0, 0.0), (1.2, 0.0, 0.0)]
)
def test_shares_are_those_of_the_verdict(threshold, fails, passes):
    shares = calibration(
        answer("baseline", "baseline", 1.0, must_fail=True), answer("lab", "solution", 3.0), threshold=threshold
    ).failing(threshold)
    assert shares == {"solution fails": fails, "baseline passes": passes}


def test_a_threshold_within_the_noise_gives_the_benefit_of_the_doubt_and_still_fails_some():
    """Rounds spread by 20 % around the threshold: most intervals hold it, so that most gradings pass."""
    noisy = calibration(
        answer("baseline", "baseline", 1.0, must_fail=True), answer("lab", "solution", 2.0, 0.2), threshold=2.0
    )
    share = noisy.failing(2.0)["solution fails"]
    assert 0 < share < 0.5
    assert noisy.failing(2.3)["solution fails"] > share


def test_a_session_that_differs_counts():
    """Two of three sessions are slow: about two in three gradings fail, however narrow each session's rounds are."""
    torn = TimedAnswer("lab", "solution", False, [[1.9] * 10, [1.9] * 10, [2.5] * 10])
    assert 1 - torn.share_passed(2.2, 8, 40) == pytest.approx(2 / 3, abs=0.05)


def test_answers_that_overlap_get_no_threshold():
    close = calibration(answer("baseline", "baseline", 2.0, 0.1, must_fail=True), answer("lab", "solution", 2.02, 0.1))
    assert close.recommended is None and "No threshold lies clearly between" in calibration_text(close)
    alone = recommend([answer("lab", "solution", 2.0)], 8)
    assert alone == (None, "Nothing to choose a threshold between: one side was not timed.")


def test_a_simulated_calibration_is_labelled_and_has_no_shares_of_gradings():
    answers = (TimedAnswer("baseline", "baseline", True, [[1.0]]), TimedAnswer("lab", "solution", False, [[2.5]]))
    words = calibration_text(calibration(*answers, source="simulated"))
    assert "simulated on" in words and "every time (simulated)" in words and "gradings" not in words


def test_its_json_has_no_nan():
    found = calibration(answer("baseline", "baseline", 1.0, must_fail=True), answer("lab", "solution", 3.0))
    found = Calibration(
        **{**vars(found), "answers": (*found.answers, TimedAnswer("w", "wrong", False, note="not timed"))}
    )
    assert json.loads(json.dumps(to_dict(found), allow_nan=False))["answers"][2]["ratio"] is None


# ---- over a lab ------------------------------------------------------------------------------------


@check(points=1)
def small(attempt):
    """It is right."""
    run = attempt.run("double", a=np.ones(4, np.float32), out=np.zeros(4, np.float32))
    attempt.expect_close(run.outputs["out"], np.full(4, 2.0), "out")


@check(points=1, after=("small",))
def fast(attempt):
    """It is fast."""
    return attempt.speedup(a_call, threshold=2.0)


@check(points=1, after=("small",), bonus=True)
def fast_for_a_bonus(attempt):
    """Bonus: it is fast."""
    return attempt.speedup(a_call, threshold=2.0)


class Timed(FakeWorker):
    """A worker whose submissions say how fast they are: `speed 2.5`; "wrong" ones are wrong as well."""

    asked: list[Any] = []
    comparisons: list[Comparison]
    until_narrow = True

    def __init__(self, *_, **__):
        super().__init__(lambda a, out: np.multiply(a, 2, out=out))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def close(self):
        pass

    def read(self, submission, *_):
        text = submission.read_text()
        self.speed = float(text.split("speed ")[1].split()[0])
        right = "wrong" not in text
        self.function = (lambda a, out: np.multiply(a, 2, out=out)) if right else (lambda a, out: None)
        return self.summary

    def compare(self, requests, threshold, goes_on=False):
        Timed.asked.append(threshold)
        return Comparison(self.speed, self.speed, self.speed, "simulated", 1.0, 1.0)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "Worker", Timed)
    folder, solution = tmp_path / "labs" / "lab99_doubling", tmp_path / "solutions" / "lab99_doubling"
    (solution / "wrong").mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "baseline.py").write_text("speed 1.0")
    (solution / "lab.ipynb").write_text("speed 4.0")
    (solution / "wrong" / "slow.py").write_text("# fails: fast; hint: slow\nspeed 1.5")
    (solution / "wrong" / "broken.py").write_text("# fails: small; hint: x\nwrong speed 9.0")
    return lab_with(small, fast, folder=folder, baseline="baseline.py")


def test_a_lab_s_answers_are_graded_as_submissions_are(lab):
    heard: list[str] = []
    (found,) = calibrate(lab, tell=heard.append)
    assert {each.name: each.ratio for each in found.answers if each.rounds} == {
        "baseline": 1.0,
        "lab": 4.0,
        "slow": 1.5,
    }
    assert next(each for each in found.answers if each.name == "broken").note == "not timed: fails small"
    assert [each.name for each in found.answers if each.must_fail] == ["baseline", "slow"]
    assert found.threshold == 2.0 and found.recommended == 2.4  # the root of 1.5 times 4, in steps of 0.05
    assert heard == ["baseline baseline", "solution lab", "wrong broken", "wrong slow"]


def test_a_baseline_that_another_check_stops_is_timed_all_the_same(lab):
    (lab.folder / "baseline.py").write_text("wrong speed 1.0")
    (found,) = calibrate(lab)
    assert found.answers[0].ratio == 1.0


def test_a_right_answer_need_not_have_a_bonus_of_speed(lab):
    right = lab.folder.parents[1] / "solutions" / lab.name / "right"
    right.mkdir()
    (right / "plain.py").write_text("speed 1.2")
    for checks, recommended in (((small, fast), None), ((small, fast_for_a_bonus), 2.0)):  # the root of 1 times 4
        (found,) = calibrate(lab_with(*checks, folder=lab.folder, baseline="baseline.py"))
        assert [each.name for each in found.answers if each.must_pass] == ["lab", "plain"][: 2 if checks[1] is fast else 1]
        assert found.recommended == recommended


def test_a_lab_without_solution_baseline_or_speed_check_is_bad_usage(lab, tmp_path):
    with pytest.raises(UsageError, match="names no baseline"):
        calibrate(lab_with(small, fast, folder=lab.folder))
    with pytest.raises(UsageError, match="No check of lab99_doubling compares speed"):
        calibrate(lab_with(small, folder=lab.folder, baseline="baseline.py"))
    (tmp_path / "solutions" / "lab99_doubling" / "lab.ipynb").unlink()
    with pytest.raises(UsageError, match="has no solution"):
        calibrate(lab)
