"""The model on kernels that it was not tuned on: what the README says of them is what the data say."""

from __future__ import annotations

import json

import pytest

from autograder.perfmodel import prediction
from autograder.perfmodel.measurements import fitting, unseen
from autograder.perfmodel.measurements.predicting import HERE

FOUND = unseen.predictions()
FURTHER = [each for name in unseen.SETS for each in unseen.of_set(name)]


def test_the_readmes_table_is_what_the_data_say() -> None:
    assert unseen.table([*FOUND, *FURTHER]) in (HERE.parent / "README.md").read_text(encoding="utf-8")


def test_every_case_was_measured_and_counted_and_computed_what_numpy_computes() -> None:
    measured = json.loads(unseen.MEASURED.read_text(encoding="utf-8"))["cases"]
    counted = json.loads(unseen.COUNTED.read_text(encoding="utf-8"))
    assert len(FOUND) == len(measured) == len(counted) == 430
    assert all(row["times"]["right"] is True for row in measured)
    assert all(each.measured_ns > 0 and each.measured_instructions > 0 for each in FOUND)


def test_both_sizes_of_a_kernel_are_in_the_same_half() -> None:
    halves = {half: {each.case.split("@")[0] for each in FOUND if each.half == half} for half in unseen.HALVES}
    assert not halves["learned"] & halves["held"]
    assert min(len(names) for names in halves.values()) >= 60


@pytest.mark.parametrize(
    ("times", "expected"),
    [([(1, 10), (2, 20), (3, 30)], 1.0), ([(1, 30), (2, 20), (3, 10)], -1.0), ([(1, 1), (2, 3), (3, 2)], 0.5)],
)
def test_the_rank_correlation_is_spearmans(times: list[tuple[float, float]], expected: float) -> None:
    cases = [unseen.UnseenPrediction("a", "held", measured, predicted, 1, 1, "L2") for predicted, measured in times]
    assert unseen.rank_correlation(cases) == pytest.approx(expected)


def test_a_time_four_times_too_short_is_as_far_off_as_one_four_times_too_long() -> None:
    short, long = (unseen.UnseenPrediction("a", "held", 100, predicted, 1, 1, "L2") for predicted in (25, 400))
    assert short.factor == long.factor == 4 and short.error == -0.75 and long.error == 3


def test_the_fitted_numbers_are_where_they_fit_best() -> None:
    """None of them fits the cases that were learned from better by a hundredth where it is a fifth away."""
    learned, development = fitting.cases()
    further = [each for each in FURTHER if each.half != unseen.CLOSED]
    assert len(learned) == sum(each.half == "learned" for each in FOUND) + len(further)

    def loss() -> float:
        return fitting.loss(learned) + fitting.OF_DEVELOPMENT * fitting.loss(development)

    best = loss()
    for name in fitting.FITTED:
        for factor in (0.8, 1.25):
            with fitting.set_to({name: getattr(prediction, name) * factor}):
                assert loss() > 0.99 * best, (name, factor)
    assert loss() == best


def test_the_fit_finds_a_number_that_was_moved() -> None:
    learned, _ = fitting.cases()
    with fitting.set_to({"ISSUE_SHARE": 0.5}):
        found = fitting.fitted(lambda: fitting.loss(learned[:40]))
    assert found["ISSUE_SHARE"] > 0.65 and prediction.ISSUE_SHARE >= 0.75
