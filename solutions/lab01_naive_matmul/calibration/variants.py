"""Both mappings of lab 1 in many shapes of block, for `python -m autograder.grading.known_answers lab01_naive_matmul`."""

from __future__ import annotations

from collections.abc import Iterator

BLOCKS = (
    (8, 8), (16, 4), (16, 8), (8, 16), (16, 16), (32, 1), (32, 4), (4, 32), (32, 8), (8, 32), (64, 4), (4, 64),
    (24, 24), (32, 32), (16, 64), (64, 16), (128, 1), (256, 1), (1, 256), (2, 128),
)  # fmt: skip
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


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source: x along the columns (coalesced) and x along the rows of C."""
    for width, height in BLOCKS:
        for mapping, (first, second, x_axis, y_axis) in (
            ("x along columns", ("col", "row", 1, 0)),
            ("x along rows", ("row", "col", 0, 1)),
        ):
            shape = {"x_axis": x_axis, "y_axis": y_axis, "width": width, "height": height}
            yield f"{mapping}, {width}x{height}", SHAPED.format(first=first, second=second, **shape)
