"""More to time in lab 2: the baseline's loop as a `for` over a range, which compiles to more instructions; a right
answer with its two loops spelled in every way, in tiles of 16 and of 32; what stands in `long_loops/`, tiles of 32 whose
inner loop is too long to be written out; and in `dynamic/`, tiles in a dynamic array."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE.parents[2] / "labs" / HERE.parent.name / "baseline.py"
FOR = "        for i in range(a.shape[1]):\n            total += a[row, i] * b[i, col]\n"
WHILE = "        i = 0\n        while i < a.shape[1]:\n            total += a[row, i] * b[i, col]\n            i += 1\n"
TILED = """
import numpy as np
from numba import cuda, float32

TILE = {tile}

@cuda.jit
def matmul_tiled_kernel(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
{before}
        tile_a[y, x] = 0
        tile_b[y, x] = 0
        if row < m and start + x < k:
            tile_a[y, x] = a[row, start + x]
        if start + y < k and col < n:
            tile_b[y, x] = b[start + y, col]
        cuda.syncthreads()
{inner}
        cuda.syncthreads()
{after}
    if row < m and col < n:
        c[row, col] = total

def matmul_tiled(a, b, c):
    m, n = c.shape
    matmul_tiled_kernel[(-(-n // TILE), -(-m // TILE)), (TILE, TILE)](a, b, c)
"""
PHASES = {  # by what is said of it: how the loop over phases begins, and how it ends
    "numbered": ("    for phase in range((k + TILE - 1) // TILE):\n        start = phase * TILE", ""),
    "in steps": ("    for start in range(0, k, TILE):", ""),
    "while": ("    start = 0\n    while start < k:", "        start += TILE"),
}
TERM = "total += tile_a[y, i] * tile_b[i, x]"
INNER = {
    "range": f"        for i in range(TILE):\n            {TERM}",
    "while": f"        i = 0\n        while i < TILE:\n            {TERM}\n            i += 1",
    "four at a time": "        for j in range(0, TILE, 4):\n"
    + "\n".join("            " + TERM.replace("i]", f"j + {each}]").replace("[i,", f"[j + {each},") for each in range(4)),
}


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source."""
    yield "naive loops/range", BASELINE.read_text(encoding="utf-8").replace(WHILE, FOR)
    for tile, (phases, (before, after)), (terms, inner) in product((16, 32), PHASES.items(), INNER.items()):
        name = f"loops/tiles of {tile}, phases {phases}, terms {terms}"
        yield name, TILED.format(tile=tile, before=before, after=after, inner=inner)
    for path in sorted(HERE.glob("*/*.py")):
        yield f"{path.parent.name}/{path.stem}", path.read_text(encoding="utf-8")
