"""Grading and timing all known answers of a lab: what is left to do, and what is kept of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.grading.grade import check_submission
from autograder.grading.known_answers import measuring
from autograder.grading.known_answers.answers import Kind, KnownAnswer, fingerprint, solution_of
from autograder.grading.known_answers.recording import Recorder
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.worker import Worker
from autograder.records.results import Result

KNOWN = {
    "verdicts": {"solution": {}, "wrong/slow": {}, "wrong/never_ends": {}, "wrong/too_much": {}},
    "ratios": {"speed": {"solution": {"ratio": 3.0}, "baseline": {"ratio": 1.0}}},
    "not timed": {"speed": {"wrong/never_ends": "It was stopped.", "wrong/too_much": "It ends before."}},
}
CHECKS = ("speed",)


def answer_called(name: str, folder: Path) -> KnownAnswer:
    path = folder / f"{name.replace('/', '_')}.py"
    path.write_text("", encoding="utf-8")
    kinds: dict[str, Kind] = {"baseline": "baseline", "solution": "solution", "wrong": "wrong"}
    return KnownAnswer(name, kinds.get(name.partition("/")[0], "variant"), path)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("baseline", False),
        ("solution", False),
        ("wrong/slow", True),  # graded, not timed
        ("wrong/never_ends", False),  # the file says why it was not
        ("wrong/new", True),  # no verdict
        ("wrong/too_much", False),  # nothing was compared, and the file says so
        ("another block", True),  # a variant: only timed
    ],
)
def test_an_answer_is_missing_that_has_no_verdict_or_no_time(name: str, missing: bool, tmp_path: Path) -> None:
    assert measuring.is_missing(answer_called(name, tmp_path), KNOWN, CHECKS) is missing


def test_an_answer_is_missing_whose_verdict_was_given_to_another_text(tmp_path: Path) -> None:
    """On a GPU only where it is known to which text: a verdict from there is kept until somebody has one."""
    path = tmp_path / "slow.py"
    path.write_text("total = 0\n", encoding="utf-8")
    answer = KnownAnswer("wrong/slow", "wrong", path)
    here: dict[str, Any] = {"verdicts": {"wrong/slow": {}}, "source": "simulated"}
    on_a_gpu = here | {"source": "measured"}
    same, other = ({"texts": {"wrong/slow": text}} for text in (answer.fingerprint, "another"))
    assert measuring.is_missing(answer, here, ()) and not measuring.is_missing(answer, on_a_gpu, ())
    for known in (here, on_a_gpu):
        assert not measuring.is_missing(answer, known | same, ()) and measuring.is_missing(answer, known | other, ())


@pytest.mark.parametrize(("line", "is_kept"), [("", True), ("# not timed: it does nothing then\n", False)])
def test_of_an_answer_that_is_not_to_be_timed_no_ratio_is_kept(tmp_path: Path, line: str, is_kept: bool) -> None:
    """Grading compares it all the same, as far as it gets."""
    path = tmp_path / "pretends.py"
    path.write_text(f"# fails: speed\n{line}", encoding="utf-8")

    class Graded:
        made: dict[str, Any] = {}

        def graded(self, submission: object) -> Result:
            return Result("lab", "Lab", "ann", "ann.py", (), "d", "simulated")

        def timed(self) -> dict[str, Any]:
            return {"speed": SimpleNamespace(comparison="compared")}

        def judged_alone(self, *_: object) -> None:
            raise AssertionError("timed")

    recorder: Any = Graded()
    verdict, found = measuring.found_of(recorder, KnownAnswer("wrong/pretends", "wrong", path), ["speed"])
    assert verdict is not None and list(found or ()) == (["speed"] if is_kept else [])


def test_answers_are_added_to_the_file_and_those_in_it_left_alone(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(measuring, "calibration_file", lambda lab, device: tmp_path / f"{device}.json")
    lab = load_lab("lab01")
    out = measuring.measure(lab, "simulated", ["solution"])
    first = json.loads(out.read_text(encoding="utf-8"))
    bonus = ["faster_at_other_sizes_too", "loads_a_number_for_several_sums"]
    assert first["verdicts"] == {"solution": {"failed": [], "hints": [], "bonus": bonus, "flags": []}}
    assert first["ratios"]["faster_than_the_baseline"]["solution"]["ratio"] > 2
    assert "launches_us" not in first["ratios"]["faster_than_the_baseline"]["solution"]  # nothing was measured

    names = ["solution", "wrong/missing_guard"]
    found: list[str] = []
    graded = Recorder.graded
    monkeypatch.setattr(Recorder, "graded", lambda self, answer: found.append(answer.stem) or graded(self, answer))
    measuring.measure(lab, "simulated", names, missing=True)
    second = json.loads(out.read_text(encoding="utf-8"))
    assert found == ["lab", "missing_guard"]  # the solution shows which checks compare speed
    assert second["verdicts"]["solution"] == first["verdicts"]["solution"]
    assert second["verdicts"]["wrong/missing_guard"]["failed"]
    wrong = solution_of(lab) / "wrong" / "missing_guard.py"
    assert second["texts"] == {"wrong/missing_guard": fingerprint(wrong.read_text(encoding="utf-8"))}
    assert second["seconds"].keys() == set(names) and all(0 < each < 60 for each in second["seconds"].values())


@pytest.fixture(scope="module")
def gpu_that_ends_every_run() -> Iterator[Worker]:
    with Worker("autograder.tests.grading_fakes:GpuThatEndsEveryRun") as worker:
        yield worker


@pytest.mark.parametrize("name", lab_names())
def test_hints_and_pictures_bear_a_gpu_that_gives_back_nothing_but_a_fault(
    name: str, gpu_that_ends_every_run: Worker
) -> None:
    """What such a run lacks is no bug of a hint's, and no misconception of an answer that is right."""
    result = check_submission(load_lab(name), solution_of(load_lab(name)) / "lab.ipynb", worker=gpu_that_ends_every_run)
    failed = [each for each in result.checks if each.outcome == "failed"]
    assert failed and all("CUDA error 700" in each.message for each in failed)
    assert not result.flags and not [each.name for check in failed for each in check.hints]
