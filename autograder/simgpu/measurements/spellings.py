"""Kernels of the course, each in several spellings, and which of these the compiler makes the same machine code of.

    python autograder/simgpu/measurements/spellings.py     # needs numba-cuda, ptxas and cuobjdump; no GPU; two minutes

`pip install "numba-cuda[cu13]==0.30.4" nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-cuobjdump` in an environment
of its own has them all. A spelling is the kernel's text with some pieces replaced. `main` compiles every spelling for compute
capability 9.0 and writes spellings.json: the machine code's sha256 and length, and how far it equals that of the text as it
stands: "equal", "but for registers", "but for order" (the same instructions, operands aside), "different", or "refused".
"""

# ruff: noqa: E501 (an edit is easier to read beside what it replaces, on a line each)

from __future__ import annotations

import hashlib
import json
import linecache
import math
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

COMPILED = Path(__file__).with_name("spellings.json")
HEAD = """import math
import numpy as np
from numba import cuda, float32, float64, int32, int64
from numba.cuda import atomic, grid, shared, syncthreads

"""
Shape = tuple[int, ...]
Edits = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Family:
    """One kernel: its text, a launch, arguments (made anew each time), and its other spellings by name."""

    name: str
    source: str
    grid: Shape
    block: Shape
    arguments: Callable[[], tuple[Any, ...]]
    spellings: dict[str, Edits] = field(default_factory=dict)

    def text(self, spelling: str = "") -> str:
        """The kernel's module in a spelling; "" is the text as it stands. Raises ValueError where an edit finds nothing."""
        found = self.source
        for old, new in self.spellings[spelling] if spelling else ():
            if old not in found:
                raise ValueError(f"{self.name}, {spelling}: {old!r} is not in the text")
            found = found.replace(old, new)
        return HEAD + found


def _edits(*pairs: str) -> Edits:
    return tuple(zip(pairs[::2], pairs[1::2], strict=True))


def _floats(*shape: int) -> np.ndarray:
    return (np.arange(math.prod(shape), dtype=np.float32) % 7).reshape(shape)


def _squares() -> tuple[Any, ...]:
    return _floats(64, 64), _floats(64, 64), np.zeros((64, 64), np.float32)


def _linked() -> tuple[Any, ...]:
    following = np.roll(np.random.default_rng(1).permutation(1024), 1).astype(np.int32)
    return following, np.ones(1024, np.int32), np.zeros(1024, np.int32), np.zeros(1024, np.int32)


def _items() -> tuple[Any, ...]:
    return np.random.default_rng(2).integers(0, 256, 8192).astype(np.int32), np.zeros(256, np.int32)


DEVICE = "@cuda.jit(device=True)\n"
KERNEL = "@cuda.jit\ndef kernel"
FAMILIES: list[Family] = []


def _family(
    name: str, source: str, grid: Shape, block: Shape, arguments: Callable[[], tuple[Any, ...]], **spellings: Edits
) -> None:
    FAMILIES.append(
        Family(name, source, grid, block, arguments, {k.replace("_", " "): v for k, v in spellings.items()})
    )


_family(
    "flat tiles", """TILE = 16
AREA = TILE * TILE

@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array(AREA, float32)
    tile_b = cuda.shared.array(AREA, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col, row = cuda.grid(2)
    m, n = c.shape
    k = a.shape[1]
    total = np.float32(0)
    for phase in range((k + TILE - 1) // TILE):
        if row < m and phase * TILE + x < k:
            tile_a[y * TILE + x] = a[row, phase * TILE + x]
        else:
            tile_a[y * TILE + x] = 0
        if phase * TILE + y < k and col < n:
            tile_b[y * TILE + x] = b[phase * TILE + y, col]
        else:
            tile_b[y * TILE + x] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total
""",
    (4, 4), (16, 16), _squares,
    arrays_in_one_assignment=_edits(
        "    tile_a = cuda.shared.array(AREA, float32)\n    tile_b = cuda.shared.array(AREA, float32)\n",
        "    tile_a, tile_b = cuda.shared.array(AREA, float32), cuda.shared.array(AREA, float32)\n"),
    aliases_before_the_loop=_edits("        for i in range(TILE):", "        left = tile_a\n        above = tile_b\n        for i in range(TILE):",
                                   "tile_a[y * TILE + i] * tile_b[i", "left[y * TILE + i] * above[i"),
    dot_in_a_device_function=_edits(
        KERNEL, DEVICE + "def dot(left, above, y, x, total):\n    for i in range(TILE):\n"
        "        total += left[y * TILE + i] * above[i * TILE + x]\n    return total\n\n" + KERNEL,
        "        for i in range(TILE):\n            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]\n",
        "        total = dot(tile_a, tile_b, y, x, total)\n"),
    dot_from_zero_in_a_device_function=_edits(
        KERNEL, DEVICE + "def dot(left, above, y, x):\n    total = float32(0)\n    for i in range(TILE):\n"
        "        total += left[y * TILE + i] * above[i * TILE + x]\n    return total\n\n" + KERNEL,
        "        for i in range(TILE):\n            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]\n",
        "        total += dot(tile_a, tile_b, y, x)\n"),
    product_in_a_device_function=_edits(
        KERNEL, DEVICE + "def product(left, above, y, x, i):\n    return left[y * TILE + i] * above[i * TILE + x]\n\n" + KERNEL,
        "total += tile_a[y * TILE + i] * tile_b[i * TILE + x]", "total += product(tile_a, tile_b, y, x, i)"),
    index_in_a_device_function=_edits(KERNEL, DEVICE + "def at(row, column):\n    return row * TILE + column\n\n" + KERNEL,
                                      "tile_a[y * TILE + i] * tile_b[i * TILE + x]", "tile_a[at(y, i)] * tile_b[at(i, x)]"),
    index_in_a_variable=_edits("            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]",
                               "            p = y * TILE + i\n            q = i * TILE + x\n            total += tile_a[p] * tile_b[q]"),
    index_commuted=_edits("tile_a[y * TILE + i] * tile_b[i * TILE + x]", "tile_a[i + y * TILE] * tile_b[x + TILE * i]"),
    row_worked_out_before=_edits("    total = np", "    first = y * TILE\n    total = np", "tile_a[y * TILE + i]", "tile_a[first + i]"),
    product_named=_edits("            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]",
                         "            product = tile_a[y * TILE + i] * tile_b[i * TILE + x]\n            total = total + product"),
    operands_named=_edits("            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]",
                          "            v = tile_a[y * TILE + i]\n            w = tile_b[i * TILE + x]\n            total += v * w"),
    factors_commuted=_edits("tile_a[y * TILE + i] * tile_b[i * TILE + x]", "tile_b[i * TILE + x] * tile_a[y * TILE + i]"),
    sum_written_out=_edits("total += tile_a", "total = total + tile_a"),
    sum_commuted=_edits("total += tile_a[y * TILE + i] * tile_b[i * TILE + x]", "total = tile_a[y * TILE + i] * tile_b[i * TILE + x] + total"),
    constants_written=_edits("range(TILE)", "range(16)", "* TILE", "* 16", "AREA, ", "256, "),
    constants_in_the_kernel=_edits("def kernel(a, b, c):\n", "def kernel(a, b, c):\n    side = 16\n", "range(TILE)", "range(side)"),
    range_with_start_and_step=_edits("range(TILE)", "range(0, TILE, 1)"),
    names_of_arrays=_edits("tile_a", "left_part", "tile_b", "right_part"),
    shape_written=_edits("    m, n = c.shape\n", "    m = c.shape[0]\n    n = c.shape[1]\n"),
    grid_by_formula=_edits("    col, row = cuda.grid(2)\n", "    col = cuda.blockIdx.x * cuda.blockDim.x + x\n"
                           "    row = cuda.blockIdx.y * cuda.blockDim.y + y\n"),
    keywords=_edits("array(AREA, float32)", "array(shape=AREA, dtype=float32)"),
    numpy_type=_edits("AREA, float32", "AREA, np.float32"),
    zero_by_numba_type=_edits("np.float32(0)", "float32(0.0)"),
    imported_names=_edits("cuda.syncthreads()", "syncthreads()", "cuda.shared.array", "shared.array", "cuda.grid", "grid"),
    ifs_nested=_edits("        if row < m and phase * TILE + x < k:\n            tile_a[y * TILE + x] = a[row, phase * TILE + x]\n"
                      "        else:\n            tile_a[y * TILE + x] = 0\n",
                      "        v = float32(0)\n        if row < m:\n            if phase * TILE + x < k:\n"
                      "                v = a[row, phase * TILE + x]\n        tile_a[y * TILE + x] = v\n"),
    conditional_expression=_edits("        if row < m and phase * TILE + x < k:\n            tile_a[y * TILE + x] = a[row, phase * TILE + x]\n"
                                  "        else:\n            tile_a[y * TILE + x] = 0\n",
                                  "        tile_a[y * TILE + x] = a[row, phase * TILE + x] if row < m and phase * TILE + x < k else 0\n"),
    last_guard_turned=_edits("    if row < m and col < n:\n        c[row, col] = total", "    if not (row < m and col < n):\n        return\n    c[row, col] = total"),
    array_with_an_index=_edits("    tile_a = cuda.shared.array(AREA, float32)\n", "", "    x = cuda.threadIdx.x\n",
                               "    tile_a, x = cuda.shared.array(AREA, float32), cuda.threadIdx.x\n"),
    both_tiles_in_a_tuple=_edits("        for i in range(TILE):\n            total += tile_a[y * TILE + i] * tile_b[i * TILE + x]",
                                 "        tiles = (tile_a, tile_b)\n        for i in range(TILE):\n            total += tiles[0][y * TILE + i] * tiles[1][i * TILE + x]"),
    slice_of_one_array=_edits("    tile_a = cuda.shared.array(AREA, float32)\n    tile_b = cuda.shared.array(AREA, float32)\n",
                              "    both = cuda.shared.array(512, float32)\n    tile_a = both[:256]\n    tile_b = both[256:]\n"),
)  # fmt: skip
_family(
    "square tiles", """TILE = 16

@cuda.jit
def kernel(a, b, c):
    tile_a = cuda.shared.array((16, 16), float32)
    tile_b = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], 16):
        tile_a[y, x] = a[row, start + x]
        tile_b[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(16):
            total += tile_a[y, k] * tile_b[k, x]
        cuda.syncthreads()
    c[row, column] = total
""",
    (4, 4), (16, 16), _squares,
    alias=_edits("        for k in range(16):", "        left = tile_a\n        for k in range(16):", "tile_a[y, k]", "left[y, k]"),
    aliases_at_the_top=_edits("    total = float32(0)\n", "    total = float32(0)\n    p = tile_a\n    q = tile_b\n", "tile_a[y, k] * tile_b[k, x]", "p[y, k] * q[k, x]"),
    arrays_in_one_assignment=_edits("    tile_a = cuda.shared.array((16, 16), float32)\n    tile_b = cuda.shared.array((16, 16), float32)\n",
                                    "    tile_a, tile_b = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)\n"),
    dot_in_a_device_function=_edits(KERNEL, DEVICE + "def dot(left, above, y, x, total):\n    for k in range(16):\n        total += left[y, k] * above[k, x]\n"
                                    "    return total\n\n" + KERNEL,
                                    "        for k in range(16):\n            total += tile_a[y, k] * tile_b[k, x]\n", "        total = dot(tile_a, tile_b, y, x, total)\n"),
    fill_in_a_device_function=_edits(KERNEL, DEVICE + "def fill(tile, y, x, source, row, column):\n    tile[y, x] = source[row, column]\n\n" + KERNEL,
                                     "tile_a[y, x] = a[row, start + x]", "fill(tile_a, y, x, a, row, start + x)"),
    element_in_a_device_function=_edits(KERNEL, DEVICE + "def item(tile, y, x):\n    return tile[y, x]\n\n" + KERNEL,
                                        "tile_a[y, k] * tile_b[k, x]", "item(tile_a, y, k) * item(tile_b, k, x)"),
    product_named=_edits("            total += tile_a[y, k] * tile_b[k, x]", "            p = tile_a[y, k] * tile_b[k, x]\n            total += p"),
    operands_named=_edits("            total += tile_a[y, k] * tile_b[k, x]", "            v, w = tile_a[y, k], tile_b[k, x]\n            total += v * w"),
    shape_by_name=_edits("cuda.shared.array((16, 16)", "cuda.shared.array((TILE, TILE)", "range(16)", "range(TILE)", ", 16):", ", TILE):"),
    shape_in_a_variable=_edits("    total = float32(0)\n", "    total = float32(0)\n    depth = a.shape[1]\n", "range(0, a.shape[1], 16)", "range(0, depth, 16)"),
    position_from_a_device_function=_edits(KERNEL, DEVICE + "def place():\n    return cuda.threadIdx.x, cuda.threadIdx.y\n\n" + KERNEL,
                                           "x, y = cuda.threadIdx.x, cuda.threadIdx.y", "x, y = place()"),
    row_of_the_tile=_edits("        for k in range(16):", "        line = tile_a[y]\n        for k in range(16):", "tile_a[y, k]", "line[k]"),
    two_indices=_edits("tile_a[y, k]", "tile_a[y][k]"),
    converted_to_its_own_type=_edits("total += tile_a[y, k] * tile_b[k, x]", "total += float32(tile_a[y, k]) * tile_b[k, x]"),
    nested_function=_edits("    total = float32(0)\n", "    total = float32(0)\n\n    def product(v, w):\n        return v * w\n\n",
                           "tile_a[y, k] * tile_b[k, x]", "product(tile_a[y, k], tile_b[k, x])"),
    while_loop=_edits("    for start in range(0, a.shape[1], 16):\n", "    start = 0\n    while start < a.shape[1]:\n", "        cuda.syncthreads()\n    c[", "        cuda.syncthreads()\n        start += 16\n    c["),
    index_tuple=_edits("            total += tile_a[y, k]", "            where = (y, k)\n            total += tile_a[where]"),
    written_out=_edits("        for k in range(16):\n            total += tile_a[y, k] * tile_b[k, x]\n",
                       "".join(f"        total += tile_a[y, {k}] * tile_b[{k}, x]\n" for k in range(16))),
    loop_over_a_tuple=_edits("for k in range(16):", "for k in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15):"),
)  # fmt: skip
_family(
    "sums in registers", """
@cuda.jit
def kernel(a, b, c):
    tile = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 16 + x, cuda.blockIdx.y * 32 + y
    s = float32(0)
    t = float32(0)
    for start in range(0, a.shape[1], 16):
        tile[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(16):
            s += a[row, start + k] * tile[k, x]
            t += a[row + 16, start + k] * tile[k, x]
        cuda.syncthreads()
    c[row, column] = s
    c[row + 16, column] = t
""",
    (4, 2), (16, 16), _squares,
    element_named=_edits("            s += a[row, start + k] * tile[k, x]\n            t += a[row + 16, start + k] * tile[k, x]",
                         "            v = tile[k, x]\n            s += a[row, start + k] * v\n            t += a[row + 16, start + k] * v"),
    alias=_edits("        for k in range(16):", "        u = tile\n        for k in range(16):", " * tile[k, x]", " * u[k, x]"),
    sums_in_one_assignment=_edits("    s = float32(0)\n    t = float32(0)\n", "    s, t = float32(0), float32(0)\n"),
    sums_from_a_device_function=_edits(KERNEL, DEVICE + "def add(s, t, v, w, e):\n    return s + v * e, t + w * e\n\n" + KERNEL,
                                       "            s += a[row, start + k] * tile[k, x]\n            t += a[row + 16, start + k] * tile[k, x]",
                                       "            s, t = add(s, t, a[row, start + k], a[row + 16, start + k], tile[k, x])"),
    local_array=_edits("    s = float32(0)\n    t = float32(0)\n", "    s = cuda.local.array(2, float32)\n    s[0] = 0\n    s[1] = 0\n",
                       "            s +=", "            s[0] +=", "            t +=", "            s[1] +=", "] = s\n", "] = s[0]\n", "] = t\n", "] = s[1]\n"),
    row_below_named=_edits("    s = float32(0)\n", "    s = float32(0)\n    below = row + 16\n", "a[row + 16,", "a[below,", "c[row + 16,", "c[below,"),
)  # fmt: skip
_family(
    "naive multiply", """
@cuda.jit
def kernel(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total
""",
    (4, 4), (16, 16), _squares,
    guard_turned=_edits("    if row < c.shape[0] and column < c.shape[1]:\n        total = float32(0)\n        for k in range(a.shape[1]):\n            total += a[row, k] * b[k, column]\n        c[row, column] = total", "    if row >= c.shape[0] or column >= c.shape[1]:\n        return\n    total = float32(0)\n    for k in range(a.shape[1]):\n        total += a[row, k] * b[k, column]\n    c[row, column] = total"),
    not_guard=_edits("    if row < c.shape[0] and column < c.shape[1]:\n        total = float32(0)\n        for k in range(a.shape[1]):\n            total += a[row, k] * b[k, column]\n        c[row, column] = total", "    if not (row < c.shape[0] and column < c.shape[1]):\n        return\n    total = float32(0)\n    for k in range(a.shape[1]):\n        total += a[row, k] * b[k, column]\n    c[row, column] = total"),
    ifs_nested=_edits("    if row < c.shape[0] and column < c.shape[1]:\n", "    if row < c.shape[0]:\n      if column < c.shape[1]:\n"),
    compared_the_other_way=_edits("row < c.shape[0] and column < c.shape[1]", "c.shape[0] > row and c.shape[1] > column"),
    shape_named=_edits("    column, row = cuda.grid(2)\n", "    column, row = cuda.grid(2)\n    m, n = c.shape\n", "row < c.shape[0] and column < c.shape[1]", "row < m and column < n"),
    depth_named=_edits("        total = float32(0)\n", "        total = float32(0)\n        depth = a.shape[1]\n", "range(a.shape[1])", "range(depth)"),
    range_from_zero=_edits("range(a.shape[1])", "range(0, a.shape[1], 1)"),
    grid_by_formula=_edits("    column, row = cuda.grid(2)\n", "    column = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x\n    row = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y\n"),
    grid_in_a_tuple=_edits("    column, row = cuda.grid(2)\n", "    place = cuda.grid(2)\n    column = place[0]\n    row = place[1]\n"),
    product_in_two=_edits("            total += a[row, k] * b[k, column]", "            p = a[row, k] * b[k, column]\n            total = total + p"),
    element_function=_edits(KERNEL, DEVICE + "def dot(a, b, row, column):\n    total = float32(0)\n    for k in range(a.shape[1]):\n        total += a[row, k] * b[k, column]\n    return total\n\n" + KERNEL,
                            "        total = float32(0)\n        for k in range(a.shape[1]):\n            total += a[row, k] * b[k, column]\n        c[row, column] = total", "        c[row, column] = dot(a, b, row, column)"),
    alias_of_an_argument=_edits("        total = float32(0)\n", "        total = float32(0)\n        left = a\n", "a[row, k]", "left[row, k]"),
    row_taken_first=_edits("        total = float32(0)\n", "        total = float32(0)\n        line = a[row]\n", "a[row, k]", "line[k]"),
    position_in_a_device_function=_edits(KERNEL, DEVICE + "def place():\n    return cuda.grid(2)\n\n" + KERNEL, "= cuda.grid(2)", "= place()"),
    fused_by_hand=_edits("total += a[row, k] * b[k, column]", "total = cuda.fma(a[row, k], b[k, column], total)"),
    bool_named=_edits("    if row < c.shape[0] and column < c.shape[1]:\n", "    inside = row < c.shape[0] and column < c.shape[1]\n    if inside:\n"),
)  # fmt: skip
_family(
    "total in global memory", """
@cuda.jit
def kernel(a, b, c):
    t = cuda.shared.array(64, float32)
    x = cuda.threadIdx.x
    t[x] = a[0, x]
    cuda.syncthreads()
    for i in range(16):
        c[0, x] += t[i]
""",
    (1,), (64,), _squares,
    array_with_an_index=_edits("    t = cuda.shared.array(64, float32)\n    x = cuda.threadIdx.x\n", "    t, x = cuda.shared.array(64, float32), cuda.threadIdx.x\n"),
    alias=_edits("    for i", "    u = t\n    for i", "+= t[i]", "+= u[i]"),
    alias_of_the_result=_edits("    for i", "    out = c\n    for i", "        c[0, x]", "        out[0, x]"),
    written_out=_edits("c[0, x] += t[i]", "c[0, x] = c[0, x] + t[i]"),
    commuted=_edits("c[0, x] += t[i]", "c[0, x] = t[i] + c[0, x]"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def gather(c, t, x):\n    for i in range(16):\n        c[0, x] += t[i]\n\n" + KERNEL, "    for i in range(16):\n        c[0, x] += t[i]", "    gather(c, t, x)"),
    addition_in_a_device_function=_edits(KERNEL, DEVICE + "def add(c, x, v):\n    c[0, x] += v\n\n" + KERNEL, "c[0, x] += t[i]", "add(c, x, t[i])"),
    row_of_the_result=_edits("    for i", "    line = c[0]\n    for i", "c[0, x] +=", "line[x] +="),
    element_named=_edits("        c[0, x] += t[i]", "        v = t[i]\n        c[0, x] += v"),
)  # fmt: skip
_family(
    "absolute values in global memory", """
@cuda.jit
def kernel(a, b, c):
    t = cuda.shared.array(64, float32)
    x = cuda.threadIdx.x
    t[x] = a[0, x]
    cuda.syncthreads()
    for i in range(16):
        c[0, x] += abs(t[i])
""",
    (1,), (64,), _squares,
    by_math=_edits("abs(t[i])", "math.fabs(t[i])"),
    element_named=_edits("        c[0, x] += abs(t[i])", "        v = abs(t[i])\n        c[0, x] += v"),
    alias=_edits("    for i", "    u = t\n    for i", "abs(t[i])", "abs(u[i])"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def size(v):\n    return abs(v)\n\n" + KERNEL, "abs(t[i])", "size(t[i])"),
)  # fmt: skip
_family(
    "transpose", """
@cuda.jit
def kernel(source, target):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(0, 32, 8):
        tile[ty + j, tx] = source[y + ty + j, x + tx]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        target[x + ty + j, y + tx] = tile[tx, ty + j]
""",
    (2, 2), (32, 8), lambda: (_floats(64, 64), np.zeros((64, 64), np.float32)),
    loop_over_a_tuple=_edits("range(0, 32, 8)", "(0, 8, 16, 24)"),
    rounds_counted=_edits("for j in range(0, 32, 8):\n", "for r in range(4):\n        j = 8 * r\n"),
    row_named=_edits("        tile[ty + j, tx] = source[y + ty + j, x + tx]", "        row = ty + j\n        tile[row, tx] = source[y + row, x + tx]"),
    alias=_edits("    cuda.syncthreads()\n", "    cuda.syncthreads()\n    turned = tile\n", "= tile[tx", "= turned[tx"),
    read_in_a_device_function=_edits(KERNEL, DEVICE + "def fetch(tile, source, y, x, ty, tx):\n    for j in range(0, 32, 8):\n        tile[ty + j, tx] = source[y + ty + j, x + tx]\n\n" + KERNEL,
                                     "    for j in range(0, 32, 8):\n        tile[ty + j, tx] = source[y + ty + j, x + tx]\n", "    fetch(tile, source, y, x, ty, tx)\n"),
    written_out=_edits("    for j in range(0, 32, 8):\n        target[x + ty + j, y + tx] = tile[tx, ty + j]\n",
                       "".join(f"    target[x + ty + {j}, y + tx] = tile[tx, ty + {j}]\n" for j in (0, 8, 16, 24))),
    flat_tile=_edits("array((32, 33)", "array(32 * 33", "tile[ty + j, tx]", "tile[(ty + j) * 33 + tx]", "tile[tx, ty + j]", "tile[tx * 33 + ty + j]"),
    value_named=_edits("        tile[ty + j, tx] = source[y + ty + j, x + tx]", "        v = source[y + ty + j, x + tx]\n        tile[ty + j, tx] = v"),
    transposed_view=_edits("= tile[tx, ty + j]", "= tile.T[ty + j, tx]"),
    shape_in_a_constant=_edits(KERNEL, "SHAPE = (32, 33)\n\n" + KERNEL, "array((32, 33)", "array(SHAPE"),
)  # fmt: skip
_family(
    "reduction", """
@cuda.jit
def kernel(values, sums):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]
""",
    (8,), (256,), lambda: (_floats(2048), np.zeros(8, np.float32)),
    written_out=_edits("part[t] += part[t + half]", "part[t] = part[t] + part[t + half]"),
    commuted=_edits("part[t] += part[t + half]", "part[t] = part[t + half] + part[t]"),
    alias=_edits("    half = 128\n", "    half = 128\n    p = part\n", "part[t] += part[t + half]", "p[t] += p[t + half]"),
    array_with_an_index=_edits("    part = cuda.shared.array(256, float32)\n    t = cuda.threadIdx.x\n", "    part, t = cuda.shared.array(256, float32), cuda.threadIdx.x\n"),
    shifted=_edits("half //= 2", "half >>= 1"),
    halved_in_full=_edits("half //= 2", "half = half // 2"),
    grid_named=_edits("    part[t] = values[cuda.grid(1)]", "    i = cuda.grid(1)\n    part[t] = values[i]"),
    grid_by_formula=_edits("cuda.grid(1)", "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"),
    other_named=_edits("            part[t] += part[t + half]", "            other = part[t + half]\n            part[t] += other"),
    step_in_a_device_function=_edits(KERNEL, DEVICE + "def step(part, t, half):\n    if t < half:\n        part[t] += part[t + half]\n    cuda.syncthreads()\n\n" + KERNEL,
                                     "        if t < half:\n            part[t] += part[t + half]\n        cuda.syncthreads()\n", "        step(part, t, half)\n"),
    whole_in_a_device_function=_edits(KERNEL, DEVICE + "def added(part, t):\n    half = 128\n    while half > 0:\n        if t < half:\n            part[t] += part[t + half]\n        cuda.syncthreads()\n        half //= 2\n    return part[0]\n\n" + KERNEL,
                                      "    half = 128\n    while half > 0:\n        if t < half:\n            part[t] += part[t + half]\n        cuda.syncthreads()\n        half //= 2\n", "    total = added(part, t)\n", "= part[0]", "= total"),
    while_half=_edits("while half > 0:", "while half:"),
    while_at_least_one=_edits("while half > 0:", "while half >= 1:"),
    not_zero=_edits("    if t == 0:\n        sums", "    if not t:\n        sums"),
    loop_over_a_tuple=_edits("    half = 128\n    while half > 0:\n", "    for half in (128, 64, 32, 16, 8, 4, 2, 1):\n", "        half //= 2\n", ""),
    returns_early=_edits("    if t == 0:\n        sums", "    if t != 0:\n        return\n    sums"),
)  # fmt: skip
_family(
    "shuffled reduction", """
@cuda.jit
def kernel(values, sums):
    t = cuda.threadIdx.x
    value = values[cuda.grid(1)]
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 8)
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 4)
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 2)
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
    if t % 32 == 0:
        cuda.atomic.add(sums, 0, value)
""",
    (8,), (256,), lambda: (_floats(2048), np.zeros(8, np.float32)),
    loop_over_a_tuple=_edits("".join(f"    value += cuda.shfl_down_sync(0xFFFFFFFF, value, {s})\n" for s in (16, 8, 4, 2, 1)), "    for s in (16, 8, 4, 2, 1):\n        value += cuda.shfl_down_sync(0xFFFFFFFF, value, s)\n"),
    loop_that_halves=_edits("".join(f"    value += cuda.shfl_down_sync(0xFFFFFFFF, value, {s})\n" for s in (16, 8, 4, 2, 1)), "    s = 16\n    while s > 0:\n        value += cuda.shfl_down_sync(0xFFFFFFFF, value, s)\n        s //= 2\n"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def warp_sum(value):\n" + "".join(f"    value += cuda.shfl_down_sync(0xFFFFFFFF, value, {s})\n" for s in (16, 8, 4, 2, 1)) + "    return value\n\n" + KERNEL,
                                "".join(f"    value += cuda.shfl_down_sync(0xFFFFFFFF, value, {s})\n" for s in (16, 8, 4, 2, 1)), "    value = warp_sum(value)\n"),
    mask_named=_edits(KERNEL, "EVERYONE = 0xFFFFFFFF\n\n" + KERNEL, "(0xFFFFFFFF,", "(EVERYONE,"),
    other_named=_edits("    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)", "    other = cuda.shfl_down_sync(0xFFFFFFFF, value, 16)\n    value += other"),
    lane_by_and=_edits("t % 32 == 0", "t & 31 == 0"),
    name_for_shuffle=_edits("    t = cuda", "    down = cuda.shfl_down_sync\n    t = cuda", "+= cuda.shfl_down_sync(", "+= down("),
    name_for_atomic=_edits("    t = cuda", "    add = cuda.atomic.add\n    t = cuda", "cuda.atomic.add(sums", "add(sums"),
)  # fmt: skip
_family(
    "global histogram", """
@cuda.jit
def kernel(items, bins):
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, items[i], 1)
""",
    (8,), (256,), _items,
    imported=_edits("cuda.atomic.add(", "atomic.add("),
    name_for_atomic=_edits("    for i", "    add = cuda.atomic.add\n    for i", "cuda.atomic.add(bins", "add(bins"),
    module_name_for_atomic=_edits(KERNEL, "add = cuda.atomic.add\n\n" + KERNEL, "cuda.atomic.add(bins", "add(bins"),
    item_named=_edits("        cuda.atomic.add(bins, items[i], 1)", "        v = items[i]\n        cuda.atomic.add(bins, v, 1)"),
    shape_for_size=_edits("items.size", "items.shape[0]"),
    len_for_size=_edits("items.size", "len(items)"),
    while_loop=_edits("    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):\n", "    i = cuda.grid(1)\n    while i < items.size:\n", "items[i], 1)\n", "items[i], 1)\n        i += cuda.gridsize(1)\n"),
    step_by_formula=_edits("cuda.gridsize(1)", "cuda.blockDim.x * cuda.gridDim.x"),
    bounds_named=_edits("    for i in range(cuda.grid(1), items.size, cuda.gridsize(1))", "    first, step = cuda.grid(1), cuda.gridsize(1)\n    for i in range(first, items.size, step)"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def count(bins, v):\n    cuda.atomic.add(bins, v, 1)\n\n" + KERNEL, "cuda.atomic.add(bins, items[i], 1)", "count(bins, items[i])"),
    alias=_edits("    for i", "    counts = bins\n    for i", "(bins, items", "(counts, items"),
    index_in_a_tuple=_edits("bins, items[i], 1", "bins, int32(items[i]), 1"),
    old_value_named=_edits("        cuda.atomic", "        old = cuda.atomic"),
)  # fmt: skip
_family(
    "count in one word", """
@cuda.jit
def kernel(items, bins):
    i = cuda.grid(1)
    if items[i] > 100:
        cuda.atomic.add(bins, 0, 1)
""",
    (8,), (256,), _items,
    name_for_atomic=_edits("    i = cuda", "    add = cuda.atomic.add\n    i = cuda", "cuda.atomic.add(bins", "add(bins"),
    imported=_edits("cuda.atomic.add(", "atomic.add("),
    module_name_for_atomic=_edits(KERNEL, "add = cuda.atomic.add\n\n" + KERNEL, "cuda.atomic.add(bins", "add(bins"),
    place_named=_edits("        cuda.atomic.add(bins, 0, 1)", "        place = 0\n        cuda.atomic.add(bins, place, 1)"),
    place_by_module_name=_edits(KERNEL, "PLACE = 0\n\n" + KERNEL, "bins, 0, 1", "bins, PLACE, 1"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def count(bins, place):\n    cuda.atomic.add(bins, place, 1)\n\n" + KERNEL, "cuda.atomic.add(bins, 0, 1)", "count(bins, 0)"),
    slice_of_the_array=_edits("cuda.atomic.add(bins, 0, 1)", "cuda.atomic.add(bins[:1], 0, 1)"),
    returns_early=_edits("    if items[i] > 100:\n        cuda", "    if not items[i] > 100:\n        return\n    cuda"),
    compared_the_other_way=_edits("items[i] > 100", "100 < items[i]"),
    one_named=_edits("        cuda.atomic.add(bins, 0, 1)", "        one = 1\n        cuda.atomic.add(bins, 0, one)"),
)  # fmt: skip
_family(
    "private histogram", """
@cuda.jit
def kernel(items, bins):
    own = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
        cuda.atomic.add(own, items[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])
""",
    (8,), (256,), _items,
    imported=_edits("cuda.atomic.add(", "atomic.add("),
    name_for_atomic=_edits("    own = ", "    add = cuda.atomic.add\n    own = ", "cuda.atomic.add(", "add("),
    alias=_edits("    for i", "    mine = own\n    for i", "add(own, items", "add(mine, items"),
    array_with_an_index=_edits("    own = cuda.shared.array(256, int32)\n    t = cuda.threadIdx.x\n", "    own, t = cuda.shared.array(256, int32), cuda.threadIdx.x\n"),
    item_named=_edits("        cuda.atomic.add(own, items[i], 1)", "        v = items[i]\n        cuda.atomic.add(own, v, 1)"),
    sum_named=_edits("    cuda.atomic.add(bins, t, own[t])", "    v = own[t]\n    cuda.atomic.add(bins, t, v)"),
    counting_in_a_device_function=_edits(KERNEL, DEVICE + "def count(own, items):\n    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):\n        cuda.atomic.add(own, items[i], 1)\n\n" + KERNEL,
                                         "    for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):\n        cuda.atomic.add(own, items[i], 1)\n", "    count(own, items)\n"),
    keywords=_edits("array(256, int32)", "array(dtype=int32, shape=256)"),
)  # fmt: skip
_family(
    "scan", """
@cuda.jit
def kernel(values, target):
    part = cuda.shared.array((2, 256), int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    now = 0
    part[0, t] = values[i]
    cuda.syncthreads()
    step = 1
    while step < 256:
        if t >= step:
            part[1 - now, t] = part[now, t] + part[now, t - step]
        else:
            part[1 - now, t] = part[now, t]
        now = 1 - now
        step *= 2
        cuda.syncthreads()
    target[i] = part[now, t]
""",
    (8,), (256,), lambda: (np.arange(2048, dtype=np.int32), np.zeros(2048, np.int32)),
    alias=_edits("    now = 0\n", "    now = 0\n    p = part\n", "part[now, t] + part[now, t - step]", "p[now, t] + p[now, t - step]"),
    terms_named=_edits("            part[1 - now, t] = part[now, t] + part[now, t - step]", "            v = part[now, t]\n            w = part[now, t - step]\n            part[1 - now, t] = v + w"),
    doubled_by_addition=_edits("step *= 2", "step = 2 * step"),
    doubled_by_shift=_edits("step *= 2", "step <<= 1"),
    other_half_named=_edits("        if t >= step:", "        then = 1 - now\n        if t >= step:", "part[1 - now, t]", "part[then, t]", "now = 1 - now", "now = then"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def move(part, now, t, step):\n    if t >= step:\n        part[1 - now, t] = part[now, t] + part[now, t - step]\n    else:\n        part[1 - now, t] = part[now, t]\n\n" + KERNEL,
                                "        if t >= step:\n            part[1 - now, t] = part[now, t] + part[now, t - step]\n        else:\n            part[1 - now, t] = part[now, t]\n", "        move(part, now, t, step)\n"),
    compared_the_other_way=_edits("t >= step", "step <= t"),
)  # fmt: skip
_family(
    "stencil", """
@cuda.jit
def kernel(source, target):
    i = cuda.grid(1)
    if 0 < i < source.size - 1:
        target[i] = (source[i - 1] + source[i] + source[i + 1]) * float32(0.25)
""",
    (8,), (128,), lambda: (_floats(1000), np.zeros(1000, np.float32)),
    two_comparisons=_edits("0 < i < source.size - 1", "0 < i and i < source.size - 1"),
    ifs_nested=_edits("    if 0 < i < source.size - 1:\n", "    if 0 < i:\n      if i < source.size - 1:\n"),
    returns_early=_edits("    if 0 < i < source.size - 1:\n        target", "    if not (0 < i < source.size - 1):\n        return\n    target"),
    terms_named=_edits("        target[i] = (source[i - 1] + source[i] + source[i + 1])", "        left = source[i - 1]\n        here = source[i]\n        right = source[i + 1]\n        target[i] = (left + here + right)"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def around(source, i):\n    return source[i - 1] + source[i] + source[i + 1]\n\n" + KERNEL, "(source[i - 1] + source[i] + source[i + 1])", "around(source, i)"),
    weight_of_the_module=_edits("* float32(0.25)", "* WEIGHT", KERNEL, "WEIGHT = np.float32(0.25)\n\n" + KERNEL),
    weight_by_numpy=_edits("float32(0.25)", "np.float32(0.25)"),
    factors_commuted=_edits("target[i] = (source[i - 1] + source[i] + source[i + 1]) * float32(0.25)", "target[i] = float32(0.25) * (source[i - 1] + source[i] + source[i + 1])"),
    shape_for_size=_edits("source.size", "source.shape[0]"),
    slice_of_the_source=_edits("        target", "        near = source[i - 1:i + 2]\n        target", "(source[i - 1] + source[i] + source[i + 1])", "(near[0] + near[1] + near[2])"),
    loop_over_offsets=_edits("        target[i] = (source[i - 1] + source[i] + source[i + 1])", "        s = float32(0)\n        for d in (-1, 0, 1):\n            s += source[i + d]\n        target[i] = s"),
)  # fmt: skip
_family(
    "shared stencil", """
@cuda.jit
def kernel(source, target):
    tile = cuda.shared.array(130, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t + 1] = source[i]
    if t == 0 and i > 0:
        tile[0] = source[i - 1]
    if t == 127 and i + 1 < source.size:
        tile[129] = source[i + 1]
    cuda.syncthreads()
    if 0 < i < source.size - 1:
        target[i] = (tile[t] + tile[t + 1] + tile[t + 2]) * float32(0.25)
""",
    (8,), (128,), lambda: (_floats(1024), np.zeros(1024, np.float32)),
    alias=_edits("    cuda.syncthreads()\n", "    cuda.syncthreads()\n    p = tile\n", "(tile[t] + tile[t + 1] + tile[t + 2])", "(p[t] + p[t + 1] + p[t + 2])"),
    terms_named=_edits("        target[i] = (tile[t] + tile[t + 1] + tile[t + 2])", "        v = tile[t]\n        w = tile[t + 1]\n        u = tile[t + 2]\n        target[i] = (v + w + u)"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def around(tile, t):\n    return tile[t] + tile[t + 1] + tile[t + 2]\n\n" + KERNEL, "(tile[t] + tile[t + 1] + tile[t + 2])", "around(tile, t)"),
    halo_in_a_device_function=_edits(KERNEL, DEVICE + "def halo(tile, source, t, i):\n    if t == 0 and i > 0:\n        tile[0] = source[i - 1]\n    if t == 127 and i + 1 < source.size:\n        tile[129] = source[i + 1]\n\n" + KERNEL,
                                     "    if t == 0 and i > 0:\n        tile[0] = source[i - 1]\n    if t == 127 and i + 1 < source.size:\n        tile[129] = source[i + 1]\n", "    halo(tile, source, t, i)\n"),
    ifs_nested=_edits("    if t == 0 and i > 0:\n        tile[0]", "    if t == 0:\n      if i > 0:\n        tile[0]"),
    constant_in_the_kernel=_edits("    tile = cuda", "    last = 127\n    tile = cuda", "t == 127", "t == last"),
)  # fmt: skip
_family(
    "list ranking", """
@cuda.jit
def kernel(following, rank, new_following, new_rank):
    i = cuda.grid(1)
    if i < following.size:
        other = following[i]
        new_rank[i] = rank[i] + rank[other]
        new_following[i] = following[other]
""",
    (8,), (128,), _linked,
    successor_written=_edits("        other = following[i]\n", "", "rank[i] + rank[other]\n        new_following[i] = following[other]", "rank[i] + rank[following[i]]\n        new_following[i] = following[following[i]]"),
    returns_early=_edits("    if i < following.size:\n        other = following[i]\n        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "    if i >= following.size:\n        return\n    other = following[i]\n    new_rank[i] = rank[i] + rank[other]\n    new_following[i] = following[other]"),
    not_less=_edits("    if i < following.size:\n        other = following[i]\n        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "    if not i < following.size:\n        return\n    other = following[i]\n    new_rank[i] = rank[i] + rank[other]\n    new_following[i] = following[other]"),
    sum_commuted=_edits("rank[i] + rank[other]", "rank[other] + rank[i]"),
    results_in_one_assignment=_edits("        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "        new_rank[i], new_following[i] = rank[i] + rank[other], following[other]"),
    values_first=_edits("        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "        r = rank[i] + rank[other]\n        f = following[other]\n        new_rank[i] = r\n        new_following[i] = f"),
    from_a_device_function=_edits(KERNEL, DEVICE + "def jumped(following, rank, i):\n    other = following[i]\n    return rank[i] + rank[other], following[other]\n\n" + KERNEL,
                                  "        other = following[i]\n        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "        r, f = jumped(following, rank, i)\n        new_rank[i] = r\n        new_following[i] = f"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def jump(following, rank, new_following, new_rank, i):\n    other = following[i]\n    new_rank[i] = rank[i] + rank[other]\n    new_following[i] = following[other]\n\n" + KERNEL,
                                "        other = following[i]\n        new_rank[i] = rank[i] + rank[other]\n        new_following[i] = following[other]", "        jump(following, rank, new_following, new_rank, i)"),
    aliases=_edits("        other = following[i]\n", "        f = following\n        r = rank\n        other = f[i]\n", "rank[i] + rank[other]", "r[i] + r[other]", "= following[other]", "= f[other]"),
    converted_to_its_own_type=_edits("other = following[i]", "other = int32(following[i])"),
    size_by_len=_edits("following.size", "len(following)"),
    size_named=_edits("    if i < following.size:", "    n = following.shape[0]\n    if i < n:"),
)  # fmt: skip
_family(
    "saxpy", """
@cuda.jit
def kernel(alpha, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = alpha * x[i] + y[i]
""",
    (8,), (128,), lambda: (np.float32(2), _floats(1000), _floats(1000)),
    added_in_place=_edits("y[i] = alpha * x[i] + y[i]", "y[i] += alpha * x[i]"),
    commuted=_edits("alpha * x[i] + y[i]", "y[i] + x[i] * alpha"),
    product_named=_edits("        y[i] = alpha * x[i] + y[i]", "        p = alpha * x[i]\n        y[i] = p + y[i]"),
    values_named=_edits("        y[i] = alpha * x[i] + y[i]", "        v, w = x[i], y[i]\n        y[i] = alpha * v + w"),
    fused_by_hand=_edits("alpha * x[i] + y[i]", "cuda.fma(alpha, x[i], y[i])"),
    returns_early=_edits("    if i < y.size:\n        y[i]", "    if i >= y.size:\n        return\n    y[i]"),
    not_less=_edits("    if i < y.size:\n        y[i]", "    if not (i < y.size):\n        return\n    y[i]"),
    grid_by_formula=_edits("cuda.grid(1)", "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"),
    grid_commuted=_edits("cuda.grid(1)", "cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x"),
    in_a_device_function=_edits(KERNEL, DEVICE + "def axpy(alpha, v, w):\n    return alpha * v + w\n\n" + KERNEL, "alpha * x[i] + y[i]", "axpy(alpha, x[i], y[i])"),
    store_in_a_device_function=_edits(KERNEL, DEVICE + "def update(alpha, x, y, i):\n    y[i] = alpha * x[i] + y[i]\n\n" + KERNEL, "y[i] = alpha * x[i] + y[i]", "update(alpha, x, y, i)"),
    lambda_free_closure=_edits("    i = cuda", "    def axpy(v, w):\n        return alpha * v + w\n\n    i = cuda", "alpha * x[i] + y[i]", "axpy(x[i], y[i])"),
    names=_edits("alpha", "factor", "kernel(factor, x, y)", "kernel(factor, v, w)", "y.size", "w.size", "y[i] = factor * x[i] + y[i]", "w[i] = factor * v[i] + w[i]"),
    shape_for_size=_edits("y.size", "y.shape[0]"),
    converted_to_its_own_type=_edits("alpha * x[i]", "float32(alpha) * float32(x[i])"),
    alias=_edits("    if i", "    out = y\n    if i", "        y[i] =", "        out[i] ="),
    square_named=_edits("        y[i] = alpha * x[i] + y[i]", "        v = x[i]\n        y[i] = alpha * v + y[i]"),
    pass_in_the_other_branch=_edits("+ y[i]\n", "+ y[i]\n    else:\n        pass\n"),
)  # fmt: skip
_family(
    "sum of squares", """
@cuda.jit
def kernel(alpha, x, y):
    i = cuda.grid(1)
    s = float32(0)
    for j in range(i, x.size, 128):
        v = x[j]
        s += v * v
    y[i] = s
""",
    (1,), (128,), lambda: (np.float32(2), _floats(1000), _floats(1000)),
    value_written_twice=_edits("        v = x[j]\n        s += v * v", "        s += x[j] * x[j]"),
    square_in_a_device_function=_edits(KERNEL, DEVICE + "def square(v):\n    return v * v\n\n" + KERNEL, "v * v\n    y", "square(v)\n    y"),
    square_of_the_element=_edits(KERNEL, DEVICE + "def square(v):\n    return v * v\n\n" + KERNEL, "        v = x[j]\n        s += v * v", "        s += square(x[j])"),
    power=_edits("v * v", "v ** 2"),
    two_statements=_edits("        s += v * v", "        p = v * v\n        s = s + p"),
    number_of_threads_named=_edits(KERNEL, "THREADS = 128\n\n" + KERNEL, "x.size, 128", "x.size, THREADS"),
)  # fmt: skip


def spellings() -> Iterator[tuple[Family, str]]:
    """Every family with each of its spellings; "" comes first."""
    for family in FAMILIES:
        yield family, ""
        for spelling in family.spellings:
            yield family, spelling


def defined(text: str, cuda: Any = None) -> Any:
    """The function `kernel` of a module's text, run with this `numba.cuda`, or the one that is installed."""
    name = f"<spelling {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "spelling"}
    if cuda is not None:
        text = text.replace("from numba import cuda, ", "from numba import ", 1)
        line = "from numba.cuda import atomic, grid, shared, syncthreads"
        text = text.replace(line, "", 1)
        names |= {
            "cuda": cuda,
            "atomic": cuda.atomic,
            "grid": cuda.grid,
            "shared": cuda.shared,
            "syncthreads": cuda.syncthreads,
        }
    exec(compile(text, name, "exec"), names)
    return names["kernel"]


# -- machine code -------------------------------------------------------------------------------------------------


def machine_code(family: Family, spelling: str) -> list[str]:
    """The instructions of a spelling for compute capability 9.0, without addresses and encodings."""
    from numba import cuda, typeof

    types = tuple(map(typeof, family.arguments()))
    ptx, _ = cuda.compile_ptx(defined(family.text(spelling)).py_func, types, cc=(9, 0))
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        subprocess.run([tool("ptxas"), "-arch=sm_90", str(made), "-o", str(cubin)], check=True)
        listing = subprocess.run([tool("cuobjdump"), "-sass", str(cubin)], check=True, capture_output=True, text=True)
    return re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", listing.stdout, re.M)


def tool(name: str) -> str:
    """Where a tool of CUDA lies: in the wheels of this environment, else on the PATH."""
    wheels = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", name)
    return str(wheels) if wheels.exists() else shutil.which(name) or name


def likeness(code: list[str], other: list[str]) -> str:
    """How far two listings are equal: "equal", "but for registers", "but for order" or "different"."""
    if code == other:
        return "equal"
    if renumbered(code) == renumbered(other):
        return "but for registers"
    return "but for order" if operations(code) == operations(other) else "different"


def renumbered(code: list[str]) -> list[str]:
    """The instructions with registers and predicates numbered as they appear, and no marks of reuse."""
    numbers: dict[str, str] = {}
    pattern = re.compile(r"\b(U?[RP])(\d+)(\.reuse)?\b")
    return [
        pattern.sub(lambda found: numbers.setdefault(found[1] + found[2], f"{found[1]}{len(numbers)}"), line)
        for line in code
    ]


def operations(code: list[str]) -> Counter[str]:
    """How often each instruction stands in a listing, by its name with its modifiers."""
    return Counter(re.sub(r"^@!?U?P\w+\s+", "@ ", line).split(" ")[0 if line[0] != "@" else 1] for line in code)


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    found: dict[str, dict[str, dict[str, Any]]] = {}
    plain: list[str] = []
    for family, spelling in spellings():
        try:
            code = machine_code(family, spelling)
        except Exception as error:  # Numba has many classes for what it does not compile, some of them its own mistakes
            print(f"{family.name}, {spelling}: refused, {error}", file=sys.stderr)
            found[family.name][spelling] = {"sha256": "", "instructions": 0, "like the first": "refused"}
            continue
        plain = plain if spelling else code
        digest = hashlib.sha256("\n".join(code).encode()).hexdigest()
        kept = {"sha256": digest, "instructions": len(code), "like the first": likeness(code, plain)}
        found.setdefault(family.name, {})[spelling] = kept
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    COMPILED.write_text(json.dumps({"versions": versions, "families": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
