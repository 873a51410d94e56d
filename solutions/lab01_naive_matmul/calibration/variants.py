"""More to time in lab 1, for `python -m autograder.grading.known_answers lab01_naive_matmul`: both mappings with a
`while` in many shapes of block, with a `for` in some; and the right mapping with its loop spelled in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

BLOCKS = (
    (8, 8), (16, 4), (16, 8), (8, 16), (16, 16), (32, 1), (32, 4), (4, 32), (32, 8), (8, 32), (64, 4), (4, 64),
    (24, 24), (32, 32), (16, 64), (64, 16), (128, 1), (256, 1), (1, 256), (2, 128),
)  # fmt: skip
FEW_BLOCKS = ((8, 8), (16, 16), (24, 24), (32, 8), (32, 32))
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
        i = {zero}
        while i < {end}:
            total += a[row, i] * b[i, col]
            i += {one}"""
RANGE = """\
        for i in range({end}):
            total += a[row, i] * b[i, col]"""
LOOPS = {
    "while": WHILE.format(zero="0", end="a.shape[1]", one="1"),
    "range": RANGE.format(end="a.shape[1]"),
}
MORE_LOOPS = {
    "while, int32": WHILE.format(zero="np.int32(0)", end="np.int32(a.shape[1])", one="np.int32(1)"),
    "while, uint32": WHILE.format(zero="np.uint32(0)", end="np.uint32(a.shape[1])", one="np.uint32(1)"),
    "range of an int32": RANGE.format(end="np.int32(a.shape[1])"),
    "range of a uint32": RANGE.format(end="np.uint32(a.shape[1])"),
}


def shaped(mapping: str, loop: str, width: int, height: int) -> str:
    """The source of an answer."""
    first, second, x_axis, y_axis = MAPPINGS[mapping]
    shape = {"x_axis": x_axis, "y_axis": y_axis, "width": width, "height": height}
    return SHAPED.format(first=first, second=second, loop=loop, **shape)


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source: x along the columns (coalesced) and x along the rows of C."""
    for name, blocks in (("while", BLOCKS), ("range", FEW_BLOCKS)):
        for (width, height), mapping in product(blocks, MAPPINGS):
            yield f"{mapping}, {name}, {width}x{height}", shaped(mapping, LOOPS[name], width, height)
    for (name, loop), (width, height) in product(MORE_LOOPS.items(), ((16, 16), (32, 8))):
        yield f"x along columns, {name}, {width}x{height}", shaped("x along columns", loop, width, height)
