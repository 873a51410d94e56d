"""The performance model's validation as a picture for its README: `python -m autograder.figures.validation` draws it."""

from __future__ import annotations

from pathlib import Path

from autograder.figures.scatter import Pair, scatter
from autograder.figures.svg import Figure
from autograder.perfmodel.measurements import predicting

VALIDATION = Path(predicting.__file__).parents[1] / "predicted_against_measured.svg"


def validation() -> Figure:
    """Every case that the performance model was held against, from the committed counts and times."""
    return scatter(
        [
            Pair(f"{each.case}, {each.size}", each.measured_ns, each.estimate.ns, each.roofline_ns)
            for each in predicting.predictions()
        ],
        title="Predicted against measured times, NVIDIA H200",
    )


if __name__ == "__main__":
    VALIDATION.write_text(validation().svg + "\n", encoding="utf-8")
