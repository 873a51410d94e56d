"""Counts, on the simulated GPU, the work of everything that `measure.py` timed; writes counted.json beside h200.json.

    python solutions/lab01_naive_matmul/calibration/count.py

One product of the size that the lab times, sampled as the grader samples it. From these counts and the measured ratios
`autograder.perfmodel.measurements.verdicts` tells whether the model's verdicts are the clock's.
"""

from __future__ import annotations

from pathlib import Path

from autograder.grading.counted import write_counted
from autograder.language import read_submission
from autograder.language.source import Cell, Submission

HERE = Path(__file__).resolve().parent
LAB = HERE.parent
SHAPED = """
from numba import cuda
import numpy as np

@cuda.jit
def matmul_kernel(a, b, c):
    {first}, {second} = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total

def matmul(a, b, c):
    along_x, along_y = c.shape[{x_axis}], c.shape[{y_axis}]
    matmul_kernel[(-(-along_x // {width}), -(-along_y // {height})), ({width}, {height})](a, b, c)
"""


def submission(name: str) -> Submission:
    """What stands behind a name in h200.json: an answer's file, or one of the two mappings in a shape of block."""
    if "/" in name:
        places = [LAB / f"{name}.py", HERE / f"{Path(name).name}.py"]
        return read_submission(next(each for each in places if each.is_file()))
    mapping, shape = name.split(", ")
    width, height = shape.split("x")
    first, second, x_axis, y_axis = ("row", "col", 0, 1) if mapping == "x along rows" else ("col", "row", 1, 0)
    text = SHAPED.format(first=first, second=second, x_axis=x_axis, y_axis=y_axis, width=width, height=height)
    return Submission(name, (Cell(name, text),))


if __name__ == "__main__":
    write_counted(HERE, "matmul", submission)
