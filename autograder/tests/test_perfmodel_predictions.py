"""Predicted against measured, on counts and times that are committed; a few counts are taken again here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder import perfmodel
from autograder.grading.known_answers.answers import known_answers
from autograder.grading.known_answers.counting import compared_by_the_solution, counted_launches
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.perfmodel.measurements import verdicts
from autograder.perfmodel.measurements.course_kernels import cases
from autograder.perfmodel.measurements.predicting import HERE, headline, predictions, summary, table
from autograder.sampling.measurements import course_counts
from autograder.tests.part import first_of

pytestmark = pytest.mark.long

FOUND = predictions()
PAGES = [
    (Path(perfmodel.__file__).parent / name).read_text(encoding="utf-8") for name in ("README.md", "MISSES.md", "TABLES.md")
]
README, TABLES = "".join(PAGES[:2]), PAGES[2]


def test_half_of_all_predictions_are_within_15_percent() -> None:
    assert len(FOUND) >= 100
    assert summary(FOUND)["median"] <= 0.15


def test_nine_in_ten_predictions_are_within_30_percent() -> None:
    assert summary(FOUND)["90th percentile"] <= 0.30


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
    committed = next(
        row for row in json.loads((HERE / "counted.json").read_text()) if (row["case"], row["size"]) == (case, size)
    )
    fresh = course_counts.count_case(next(each for each in cases() if (each.name, each.size) == (case, size)))
    assert fresh == committed


def test_the_tables_are_what_the_data_say() -> None:
    assert f"{headline(FOUND)}\n\n{table(FOUND)}" in TABLES
    assert verdicts.published() in TABLES


def test_the_readme_s_pictures_are_drawn_from_these_cases() -> None:
    from autograder.course.lesson07.validation import VALIDATION, VERDICTS, validation, verdicts_of_labs

    assert VALIDATION.name in README
    assert VALIDATION.read_text(encoding="utf-8") == validation().svg + "\n"
    assert VERDICTS.name in README
    assert VERDICTS.read_text(encoding="utf-8") == verdicts_of_labs().svg + "\n"


BY_CASE = {(each.case, each.size): each for each in FOUND}
ANSWERS = {
    (lab, check): {each.name: each for each in verdicts.verdicts(lab, check)}
    for lab in verdicts.labs()
    for check in verdicts.speed_checks(lab)
}
OF_LAB_2 = ANSWERS["lab02_tiled_matmul", "faster_than_one_thread_an_element"]["dynamic/one_array_for_both_tiles"]
OF_LAB_4 = ANSWERS["lab04_reduction", "faster_than_the_first_idea"]
IN_SHARED, BY_FIRST, BY_CHUNKS = (
    OF_LAB_4[f"wrong/{name}"] for name in ("atomics_in_shared_memory", "first_block_finishes", "a_chunk_a_thread")
)
WITH_WHILE = [BY_CASE[f"matmul, x along columns, while, {block}", 4096] for block in ("16x16", "32x32")]
ZIPF = [100 * BY_CASE["histogram, global, zipf", 2**power].error for power in (16, 20, 24)]
LISTS = [-100 * BY_CASE[f"list ranking, {kind} sublists", 2**22].error for kind in ("equal", "random")]
LAUNCHES = json.loads((verdicts.SOLUTIONS / "lab04_reduction/calibration/counted.json").read_text(encoding="utf-8"))
LAUNCHES = LAUNCHES["faster_than_the_first_idea"]["launches"]
A_WARP = [
    LAUNCHES[f"wrong/{name}"][0]["counters"]["issued_warp_instructions"] / LAUNCHES[f"wrong/{name}"][0]["counters"]["warps"]
    for name in ("one_element_a_thread", "no_grid_stride")
]


@pytest.mark.parametrize(
    "words",
    [
        f"(predicted {OF_LAB_2.predicted:.1f} times, measured {OF_LAB_2.measured:.1f}, asked for {OF_LAB_2.threshold})",
        f"global, zipf: {max(ZIPF):.0f} to {min(ZIPF):.0f} %)",
        f"(lab 4's atomics in shared memory: predicted {IN_SHARED.predicted:.1f} times, measured {IN_SHARED.measured:.1f})",
        f"(predicted {BY_FIRST.predicted:.1f} times, measured {BY_FIRST.measured:.1f})",
        f"`a_chunk_a_thread` ({BY_CHUNKS.predicted:.1f} against {BY_CHUNKS.measured:.1f})",
        f"16 million nodes is within {abs(100 * BY_CASE['pointer jump', 2**24].error):.0f} % of the clock",
        f"list ranking on 4 million {min(LISTS):.0f} to {max(LISTS):.0f} %",
        f"counted are {A_WARP[0]:.0f}; of `no_grid_stride`, which has no loop over the elements, 263 and {A_WARP[1]:.0f}",
        f"at N = 4096 ({100 * WITH_WHILE[0].error:.0f} %, {100 * WITH_WHILE[1].error:.0f} %)",
        f"equal sublists of 65,536 nodes ({100 * BY_CASE['list ranking, equal sublists', 2**16].error:.0f} %)",
        f"(axpy of float64, +{100 * BY_CASE['axpy, float64', 2**20].error:.0f} %)",
        f"cheap loops ({100 * BY_CASE['matmul, x along rows, while, 32x32', 1000].error:.0f} %)",
    ],
)
def test_what_the_readme_says_falls_short_is_what_the_data_say(words: str) -> None:
    assert words in " ".join(README.split())


# The verdicts that a prediction gives and the clock does not; no other may join them unseen.
DIFFERING = {
    ("lab02_tiled_matmul", "faster_than_one_thread_an_element"): ["dynamic/one_array_for_both_tiles"],
}
SPEED_CHECKS = [(lab, check) for lab in verdicts.labs() for check in verdicts.speed_checks(lab)]


@pytest.mark.parametrize(("lab", "check"), SPEED_CHECKS)
def test_a_lab_s_variants_rank_as_measured_and_no_other_verdict_differs(lab: str, check: str) -> None:
    found = verdicts.verdicts(lab, check)
    assert {each.measured >= each.threshold for each in found} == {True, False}
    differing = [each.name for each in found if not each.agrees]
    assert differing == DIFFERING.get((lab, check), [])
    correlation = verdicts.rank_correlation(verdicts.distinct(found))
    # the targets are 0.9 and no verdict that differs; what misses one is listed with the resource that is wrong
    falls_short = README.split("## What falls short")[1]
    assert all(f"{lab}, {check}: {name} differs" in falls_short for name in differing)
    assert correlation >= 0.9 or f"{lab}, {check}, {correlation:.2f}" in falls_short


@pytest.mark.parametrize(("lab", "check"), SPEED_CHECKS)
def test_what_of_a_lab_s_answers_was_not_timed_yet_is_said(lab: str, check: str) -> None:
    calibration = verdicts.SOLUTIONS / lab / "calibration"
    counted = json.loads((calibration / "counted.json").read_text(encoding="utf-8"))[check]["launches"]
    assert set(counted) <= set(known_answers(load_lab(lab))) and {"baseline", "solution"} <= set(counted)
    timed, of = verdicts.coverage(lab, check)
    assert timed == of or f"{lab}, {check}: {timed} of {of}" in README.split("## What falls short")[1]


@pytest.mark.parametrize("lab", first_of(verdicts.labs(), tried=2))
def test_a_lab_s_thresholds_are_those_its_counts_were_taken_for_and_its_counts_are_fresh(
    lab: str, simulated: Worker
) -> None:
    counted = json.loads((verdicts.SOLUTIONS / lab / "calibration" / "counted.json").read_text(encoding="utf-8"))
    solution = known_answers(load_lab(lab))["solution"]
    compared = compared_by_the_solution(load_lab(lab), simulated)
    assert {check: each.threshold for check, each in compared.items()} == {
        check: counted[check]["threshold"] for check in counted
    }
    for check, each in compared.items():
        launches = counted_launches(solution, each.requests[0])
        assert launches is not None
        fresh, _ = verdicts.predicted(launches)
        assert fresh == pytest.approx(verdicts.predicted(counted[check]["launches"]["solution"])[0], rel=0.03)


@pytest.mark.parametrize(
    ("measured", "predicted", "correlation"),
    [([1, 2, 3], [10, 20, 30], 1.0), ([1, 2, 3], [3, 2, 1], -1.0), ([1, 2, 3, 4], [1, 3, 2, 4], 0.8)],
)
def test_rank_correlation_is_spearman_s(measured: list[float], predicted: list[float], correlation: float) -> None:
    found = [variant(one, other) for one, other in zip(measured, predicted, strict=True)]
    assert verdicts.rank_correlation(found) == pytest.approx(correlation)


def variant(measured: float, predicted: float) -> verdicts.VariantVerdict:
    return verdicts.VariantVerdict("", measured, predicted, 2.0, measured_ns=1e6 / measured)


def test_answers_with_the_same_work_are_one_variant_timed_several_times() -> None:
    pairs = ((1.0, 1.0), (2.9, 3.0), (3.1, 3.01), (3.0, 3.005), (4.0, 4.0))
    found = verdicts.distinct([variant(*pair) for pair in pairs])
    assert [(each.measured, each.predicted) for each in found] == [(1.0, 1.0), (3.0, 3.0), (4.0, 4.0)]


def test_times_that_nobody_could_tell_apart_share_a_rank() -> None:
    found = [variant(*pair) for pair in ((1.0, 1.0), (2.00, 2.02), (2.02, 2.00), (3.0, 3.0))]
    assert verdicts.rank_correlation(found) == pytest.approx(1)
    assert verdicts.rank_correlation(found, 0) < 1
