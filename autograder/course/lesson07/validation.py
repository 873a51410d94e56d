"""The performance model's validation as two pictures: `python -m autograder.course.lesson07.validation` draws them."""

from __future__ import annotations

from pathlib import Path

from autograder.course.lesson07.agreement import JudgedAnswer, agreement
from autograder.figures.scatter import Pair, scatter
from autograder.figures.svg import Figure
from autograder.perfmodel.measurements import predicting, verdicts

VALIDATION = Path(predicting.__file__).parents[1] / "predicted_against_measured.svg"
VERDICTS = VALIDATION.with_name("verdicts_by_prediction.svg")


def validation() -> Figure:
    """Every case that the performance model was held against, from the committed counts and times."""
    return scatter(
        [
            Pair(f"{each.case}, {each.size}", each.measured_ns, each.estimate.ns, each.roofline_ns)
            for each in predicting.predictions()
        ],
        title="Predicted against measured times, NVIDIA H200",
    )


def verdicts_of_labs() -> Figure:
    """Every answer to the labs that was timed and predicted, without those whose host code copies between launches."""
    found = [
        (lab, each)
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.verdicts(lab, check)
        if not each.host_requests
    ]
    return agreement(
        [
            JudgedAnswer(
                f"{lab}, {each.name}",
                each.measured / each.threshold,
                each.predicted / each.threshold,
                not each.stopped_before,
            )
            for lab, each in found
        ],
        title="Answers to the six labs: fast enough by prediction, and by an H200's clock?",
    )


if __name__ == "__main__":
    VERDICTS.write_text(verdicts_of_labs().svg + "\n", encoding="utf-8")
    VALIDATION.write_text(validation().svg + "\n", encoding="utf-8")
