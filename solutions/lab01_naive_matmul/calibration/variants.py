"""More to time in lab 1, for `python -m autograder.grading.known_answers lab01_naive_matmul`: both mappings with both
loops, in some shapes of block."""

from __future__ import annotations

from collections.abc import Iterator

SHAPED = """
from numba import cuda
import numpy as np

@cuda.jit
def matmul_kernel(a, b, c):
    {first}, {second} = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
{loop}
        c[row, col] = total

def matmul(a, b, c):
    along_x, along_y = c.shape[{x_axis}], c.shape[{y_axis}]
    matmul_kernel[(-(-along_x // {width}), -(-along_y // {height})), ({width}, {height})](a, b, c)
"""
MAPPINGS = {"x along columns": ("col", "row", 1, 0), "x along rows": ("row", "col", 0, 1)}
WHILE = """\
        i = 0
        while i < a.shape[1]:
            total += a[row, i] * b[i, col]
            i += 1"""
RANGE = """\
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]"""
LOOPS = {"while": WHILE, "range": RANGE}
BLOCKS = {
    "while": ((8, 8), (16, 4), (16, 16), (32, 8), (32, 32)),
    "range": ((16, 16), (32, 8), (32, 32)),
}


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source: x along the columns (coalesced) and x along the rows of C."""
    for loop, blocks in BLOCKS.items():
        for width, height in blocks:
            for mapping, (first, second, x_axis, y_axis) in MAPPINGS.items():
                shape = {"x_axis": x_axis, "y_axis": y_axis, "width": width, "height": height}
                text = SHAPED.format(first=first, second=second, loop=LOOPS[loop], **shape)
                yield f"{mapping}, {loop}, {width}x{height}", text
