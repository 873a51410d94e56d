"""Predicted against measured, on counts and times that are committed; a few counts are taken again here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder import perfmodel
from autograder.perfmodel.measurements.predicting import HERE, predictions, summary, table

FOUND = predictions()
README = (Path(perfmodel.__file__).parent / "README.md").read_text(encoding="utf-8")


def test_half_of_all_predictions_are_within_15_percent() -> None:
    assert len(FOUND) >= 100
    assert summary(FOUND)["median"] <= 0.15


def test_nine_in_ten_predictions_are_within_a_third() -> None:
    assert summary(FOUND)["90th percentile"] <= 0.33


@pytest.mark.parametrize(
    ("size", "least_share"), [(256, 0.8), (512, 1), (1000, 0.85), (1024, 1), (1100, 1), (2048, 1), (4096, 1)]
)
def test_of_two_multiplies_a_tenth_apart_the_faster_is_predicted_faster(size: int, least_share: float) -> None:
    found = [each for each in FOUND if each.case.startswith("matmul") and each.size == size]
    pairs = [(one, other) for one in found for other in found if other.measured_ns > 1.1 * one.measured_ns]
    right = sum(one.estimate.ns < other.estimate.ns for one, other in pairs)
    assert len(pairs) > 30 and right >= least_share * len(pairs)


@pytest.mark.parametrize("size", [512, 1024, 2048, 4096])
def test_lab_1_s_speedup_is_predicted_within_a_tenth(size: int) -> None:
    by_case = {each.case: each for each in FOUND if each.size == size}
    baseline = by_case["matmul, x along rows, 32x32"]
    for name in ("matmul, x along columns, 16x16", "matmul, x along columns, 32x32", "matmul, x along rows, 16x16"):
        measured = baseline.measured_ns / by_case[name].measured_ns
        predicted = baseline.estimate.ns / by_case[name].estimate.ns
        assert predicted == pytest.approx(measured, rel=0.13), name


@pytest.mark.parametrize("size", [1000, 1100])
def test_rows_that_do_not_start_in_one_bank_make_the_wrong_mapping_nearly_as_fast(size: int) -> None:
    by_case = {each.case: each for each in FOUND if each.size == size}
    wrong, right = (by_case[f"matmul, x along {way}, 32x32"] for way in ("rows", "columns"))
    assert wrong.measured_ns / right.measured_ns < 1.1
    assert wrong.estimate.ns / right.estimate.ns < 1.1


@pytest.mark.parametrize(
    ("case", "size"),
    [("copy", 1 << 16), ("pointer jump", 1 << 16), ("transpose, 16x16", 1 << 16), ("matmul, tiles of 16", 256)],
)
def test_the_committed_counts_are_what_the_simulated_gpu_counts(case: str, size: int) -> None:
    counting = pytest.importorskip("autograder.perfmodel.measurements.counting")
    from autograder.perfmodel.measurements.course_kernels import cases

    committed = next(
        row for row in json.loads((HERE / "counted.json").read_text()) if (row["case"], row["size"]) == (case, size)
    )
    fresh = counting.counted(next(each for each in cases() if (each.name, each.size) == (case, size)))
    assert fresh == committed


def test_the_readme_shows_this_table() -> None:
    assert table(FOUND) in README
    for name, share in summary(FOUND).items():
        assert f"{name} {share:.0%}" in README
