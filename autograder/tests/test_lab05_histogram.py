"""Lab 5 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from autograder.device import RunRequest
from autograder.grading.attempt import Attempt
from autograder.grading.grade import check_submission
from autograder.grading.histograms import KINDS, items_of
from autograder.grading.known_answers import table
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.simgpu.host.device import SimulatedDevice
from autograder.tests.known_answers import DEVICES, failed_checks, hints, promised, report, waiting_for_a_gpu

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab05_histogram"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
RIGHT = sorted((SOLUTIONS / "right").glob("*.py"))
LAB = load_lab("lab05_histogram")
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))
SPEED_CHECKS = {
    "fast_on_uniform_items": "uniform",
    "fast_on_one_value": "one value",
    "fast_on_zipf_items": "zipf",
}
MARGIN = 1.2  # that a threshold keeps, at least, from both sides and on both devices
BONUS = [each.name for each in LAB.checks if each.bonus]
# what each answer does about more bins than a copy has room for: bonus checks passed, and the hint for the other
BONUS_OF = {
    "many_bins_in_ranges": (BONUS, None),
    "lanes_that_agree": (BONUS, None),
    "global_where_there_is_no_room": (BONUS[:1], "still_crowded"),
    "ranges_merged_whole": (BONUS[:1], "merges_empty_bins"),
    "grid_stride_loop": ([], "no_room_for_the_copy"),
}


@pytest.fixture(scope="module", params=DEVICES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as running:
        yield running


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_answer_fails_exactly_its_checks_and_gets_exactly_its_hint(path: Path, worker: Worker) -> None:
    checks, hint = promised(path)
    result = check_submission(LAB, path, worker=worker)
    assert not result.error and not result.flags, report(result)
    assert failed_checks(result) == checks, report(result)
    assert hints(result) == {hint}, report(result)


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_answer_earns_full_marks_and_its_share_of_the_bonus(path: Path, worker: Worker) -> None:
    result = check_submission(LAB, path, worker=worker)
    assert result.outcome == "passed" and not result.flags, report(result)
    assert sum(each.points for each in result.checks if not each.bonus) == LAB.points, report(result)
    passed, hint = BONUS_OF.get(path.stem, BONUS_OF["grid_stride_loop"])
    bonus = [each for each in result.checks if each.bonus]
    assert [each.name for each in bonus if each.outcome == "passed"] == passed, report(result)
    assert [each.name for check in bonus for each in check.hints] == [hint] * bool(hint), report(result)


def test_the_solution_earns_full_marks_and_the_whole_bonus(worker: Worker) -> None:
    result = check_submission(LAB, SOLUTIONS / "lab.ipynb", worker=worker)
    assert result.outcome == "passed" and not result.flags, report(result)
    assert result.points == sum(each.points for each in LAB.checks), report(result)


def test_updates_in_global_memory_alone_earn_the_first_part(worker: Worker) -> None:
    result = check_submission(LAB, SOLUTIONS / "wrong" / "global_atomics.py", worker=worker)
    first_part = [each for each in result.checks if each.title.startswith("Right counts:")]
    assert len(first_part) == 5 and all(each.points == each.max_points for each in first_part), report(result)


def test_the_starter_fails_only_the_check_that_all_others_wait_for(worker: Worker) -> None:
    result = check_submission(LAB, LAB.notebook, worker=worker)
    assert not result.error, report(result)
    assert failed_checks(result) == {LAB.checks[0].name}, report(result)
    assert {each.outcome for each in result.checks[1:]} == {"not run"}, report(result)
    assert result.points == 0


def test_the_starter_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(LAB.notebook, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(LAB.folder)}}).execute()
    shown = "".join(str(output) for output in notebook.cells[-1].outputs)
    assert "every item is counted" in shown


def test_what_the_host_does_where_it_is_timed_is_not_for_free(tmp_path: Path) -> None:
    """The same answer that passes, but for a copy with as many items as are timed and with no others."""
    text = (SOLUTIONS / "right" / "grid_stride_loop.py").read_text(encoding="utf-8")
    path = tmp_path / "asks_when_timed.py"
    path.write_text(text + "    if items.size == 1_048_576:\n        bins.copy_to_host()\n", encoding="utf-8")
    with Worker("simulated") as running:
        result = check_submission(LAB, path, worker=running)
    assert failed_checks(result) == {"fast_on_uniform_items", "fast_on_one_value", "fast_on_zipf_items"}, report(result)
    speeds = [each for each in result.checks if each.name.startswith("fast_on")]
    assert not any(each.points for each in speeds) and "host asks for 1 cop" in speeds[0].message


def test_every_check_is_failed_by_some_wrong_answer() -> None:
    required = {each.name for each in LAB.checks if not each.bonus}
    assert set().union(*(promised(path)[0] for path in WRONG)) == required


def test_every_hint_is_given_to_some_answer() -> None:
    given = {promised(path)[1] for path in WRONG} | {hint for _, hint in BONUS_OF.values() if hint}
    assert given == {each.name for each in LAB.hints}


@pytest.mark.parametrize("n", [1, 1000, 65_537])
def test_the_baseline_is_right_and_without_a_private_copy(n: int) -> None:
    items = np.random.default_rng(1).integers(-9, 265, n).astype(np.int32)
    request = RunRequest("histogram", {"items": items, "bins": np.full(256, -7, np.int32)})
    run = SimulatedDevice().run(parse_program(read_submission(LAB.folder / "baseline.py")), request)
    assert np.array_equal(run.outputs["bins"], [(items == value).sum() for value in range(256)])
    assert not run.counters.shared_atomic_requests


def test_the_three_kinds_of_items_differ_in_their_hottest_bin() -> None:
    attempt, shares = Attempt("", None, np.random.default_rng(1)), {}
    for kind in KINDS:
        items = items_of(attempt, kind, 100_000, 256)
        assert items.dtype == np.int32 and 0 <= items.min() and items.max() < 256
        shares[kind] = np.bincount(items).max() / items.size
    assert shares["uniform"] < 0.01 < 0.35 < shares["zipf"] < 0.42 < shares["one value"] == 1  # 1 / zeta(1.5) = 0.383


CALIBRATIONS = {
    source: json.loads((CALIBRATION / f"{name}.json").read_text(encoding="utf-8"))
    for source, name in (("measured", "h200"), ("simulated", "simulated"))
}


EVERY = {"solution"} | {f"{path.parent.name}/{path.stem}" for path in (*RIGHT, *WRONG)}


@pytest.mark.parametrize("source", CALIBRATIONS)
def test_known_answers_were_given_their_verdicts(source: str) -> None:
    found = CALIBRATIONS[source]
    assert found["source"] == source
    waiting = waiting_for_a_gpu(SOLUTIONS) if source == "measured" else set()
    assert "solution" in found["verdicts"] and set(found["verdicts"]) == EVERY - waiting
    for path in (*RIGHT, *WRONG):
        checks, hint = promised(path) if path in WRONG else (set(), None)
        if verdict := found["verdicts"].get(f"{path.parent.name}/{path.stem}"):
            assert set(verdict["failed"]) == checks and set(verdict["hints"]) == ({hint} if hint else set()), path.name
    assert not found["verdicts"]["solution"]["failed"]


def test_both_devices_gave_the_same_verdicts_and_the_table_says_so() -> None:
    measured, simulated = (CALIBRATIONS[source]["verdicts"] for source in ("measured", "simulated"))
    assert measured == {name: simulated[name] for name in measured}
    assert table(LAB) == (CALIBRATION / "verdicts.md").read_text(encoding="utf-8")


def lies_clear(ratios: dict[str, float], check: str) -> bool:
    """Whether the threshold keeps its margin from every right answer and from every one that fails this check."""
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution", "at most/"))]
    too_slow = [ratios[f"wrong/{path.stem}"] for path in WRONG if check in promised(path)[0]]
    assert len(right) > 5 and len(too_slow) >= 2
    return max(too_slow) * MARGIN < SPEC["SPEEDUP"][SPEED_CHECKS[check]] < min(right) / MARGIN


@pytest.mark.parametrize("check", SPEED_CHECKS)
def test_the_threshold_lies_clear_of_every_predicted_ratio(check: str) -> None:
    ratios = CALIBRATIONS["simulated"]["ratios"][check]
    assert lies_clear({name: each["ratio"] for name, each in ratios.items()}, check)


@pytest.mark.parametrize("check", SPEED_CHECKS)
def test_the_threshold_lies_clear_of_every_ratio_measured_on_an_h200(check: str) -> None:
    times = json.loads((CALIBRATION / "times_h200.json").read_text(encoding="utf-8"))
    microseconds = times["microseconds"][SPEED_CHECKS[check]]
    assert lies_clear({name: microseconds["baseline"] / each for name, each in microseconds.items()}, check)
    graded = CALIBRATIONS["measured"]["ratios"][check]
    right = [each["ratio"] for name, each in graded.items() if name.startswith(("right/", "solution"))]
    assert right and SPEC["SPEEDUP"][SPEED_CHECKS[check]] < min(right) / MARGIN


def test_no_points_or_thresholds_stand_in_the_handout_by_hand() -> None:
    notebook = json.loads(LAB.notebook.read_text(encoding="utf-8"))
    prose = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    assert not re.search(r"\d[\d.]*\s*(points?|times|x faster|%)", prose)
