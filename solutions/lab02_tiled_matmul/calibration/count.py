"""Counts, on the simulated GPU, the work of everything that `measure.py` timed; writes counted.json beside h200.json.

    python solutions/lab02_tiled_matmul/calibration/count.py

From these counts and the measured ratios `autograder.perfmodel.measurements.verdicts` tells whether the model's verdicts
are the clock's.
"""

from __future__ import annotations

from pathlib import Path

from measure import WHILE_LOOP, answers

from autograder.grading.counted import write_counted
from autograder.language import read_submission
from autograder.language.source import Submission, submission_from_cells

HERE = Path(__file__).resolve().parent
BASELINE = HERE.parents[2] / "labs" / HERE.parent.name / "baseline.py"
FILES = dict(answers())


def submission(name: str) -> Submission:
    """What stands behind a name in h200.json: an answer's file, or the baseline with one of two loops."""
    if name in FILES:
        return read_submission(FILES[name])
    text = BASELINE.read_text(encoding="utf-8")
    if name == "naive loops/while":
        text = text.replace(*WHILE_LOOP)
    return submission_from_cells(name, [(name, text)], is_notebook=False)


if __name__ == "__main__":
    write_counted(HERE, "matmul_tiled", submission)
