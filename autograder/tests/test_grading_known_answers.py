"""Grading and timing all known answers of a lab: what is left to do, and what is kept of each."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from autograder.device import Launch, Run
from autograder.grading import known_answers
from autograder.grading.labs import load_lab

KNOWN = {
    "verdicts": {"solution": {}, "wrong/slow": {}, "wrong/never_ends": {}},
    "ratios": {"speed": {"solution": {"ratio": 3.0}, "baseline": {"ratio": 1.0}}},
    "not timed": {"speed": {"wrong/never_ends": "It was stopped."}},
}
COUNTED = {
    "speed": {
        "launches": {
            "baseline": [{}],
            "solution": [{}],
            "wrong/slow": [{}],
            "wrong/never_ends": [{}],
            "wrong/too_much": [],
            "another block": [{}],
        }
    }
}


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("baseline", False),
        ("solution", False),
        ("wrong/slow", True),  # graded, not timed
        ("wrong/never_ends", False),  # the file says why it was not
        ("wrong/new", True),  # no verdict
        ("wrong/too_much", True),  # no verdict; nothing to time
        ("another block", True),  # a variant: only timed
    ],
)
def test_an_answer_is_missing_that_has_no_verdict_or_was_counted_and_never_timed(name: str, missing: bool) -> None:
    assert known_answers.is_missing(name, KNOWN, COUNTED) is missing


def test_one_that_takes_too_much_work_is_not_missing_once_graded() -> None:
    known = KNOWN | {"verdicts": {"wrong/too_much": {}}}
    assert not known_answers.is_missing("wrong/too_much", known, COUNTED)


def test_answers_are_added_to_the_file_and_those_in_it_left_alone(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(known_answers, "calibration_file", lambda lab, device: tmp_path / f"{device}.json")
    lab = load_lab("lab01")
    out = known_answers.measure(lab, "simulated", ["solution"])
    first = json.loads(out.read_text(encoding="utf-8"))
    bonus = ["loads_a_number_for_several_sums"]
    assert first["verdicts"] == {"solution": {"failed": [], "hints": [], "bonus": bonus, "flags": []}}
    assert first["ratios"]["faster_than_the_baseline"]["solution"]["ratio"] > 2
    assert "launches_us" not in first["ratios"]["faster_than_the_baseline"]["solution"]  # nothing was measured

    names = ["solution", "wrong/missing_guard"]
    found: list[str] = []
    graded = known_answers.Measuring.graded
    monkeypatch.setattr(
        known_answers.Measuring, "graded", lambda self, answer: found.append(answer.stem) or graded(self, answer)
    )
    known_answers.measure(lab, "simulated", names, missing=True)
    second = json.loads(out.read_text(encoding="utf-8"))
    assert found == ["missing_guard"]
    assert second["verdicts"]["solution"] == first["verdicts"]["solution"]
    assert second["verdicts"]["wrong/missing_guard"]["failed"]


def test_on_a_gpu_each_launch_s_own_time_is_kept_by_kernel_in_order() -> None:
    launches = [
        Launch(name, (1, 1, 1), (32, 1, 1), measured_ns=ns) for name, ns in (("a", 3e3), ("b", 12345.6), ("a", 2e3))
    ]
    worker = SimpleNamespace(
        greeting=SimpleNamespace(source="measured"),
        compare=None,
        run=lambda request, on: Run(launches=tuple(launches), source="measured"),
    )
    measuring = known_answers.Measuring(load_lab("lab01"), worker)
    assert measuring.launch_times([None]) == {"a": [3.0, 2.0], "b": [12.35]}
