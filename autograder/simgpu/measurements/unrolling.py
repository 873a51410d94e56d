"""Which loops of constant length the compiler writes out whole: many bodies, 2 to 256 rounds each.

    python -m autograder.simgpu.measurements.unrolling     # needs numba-cuda with NVIDIA's compiler, but no GPU; a minute

Compiles every loop for compute capability 9.0 and looks whether a branch in its PTX leads back. Writes unrolling.json:
for each body how often it was written out, by rounds; `autograder.simgpu.facts.written_out` is held to it by a test.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROUNDS = (2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 256)
KERNEL = """
def kernel(a, b, c, g, h, n):
    tile = cuda.shared.array({shape}, float32)
    own = cuda.local.array(64, float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    v = np.float32(1.0)
    total = np.float32(0)
    tile[{first}] = a[y, x]
    cuda.syncthreads()
    for i in range({rounds}):
{body}
    c[y, x] = total
"""
TILED = """
def kernel(a, b, c, g, h, n):
    tile_a = cuda.shared.array((64, {width}), float32)
    tile_b = cuda.shared.array(({rounds}, {width}), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
{totals}
    for phase in range(a.shape[1]):
        tile_a[y, x] = a[y, phase]
        tile_b[y, x] = b[phase, x]
        cuda.syncthreads()
        for i in range({rounds}):
            v = tile_b[i, x]
{body}
        cuda.syncthreads()
    c[y, x] = {total}
"""
NEST = """
def kernel(a, b, c, g, h, n):
    tile = cuda.shared.array((32, 32), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    total = np.float32(0)
    for j in range({rounds}):
        for i in range({inside}):
            {body}
    c[y, x] = total
"""
INSIDE, OUTER_ROUNDS = (3, 5, 8), (4, 6, 8, 10, 12, 16)
NESTS = {  # whether the outer loop is unrolled, around one that is
    "elements of a row": "total += a[y + j, x + i]",
    "elements of a row, and of a table": "total += a[y + j, x + i] * b[j, i]",
    "elements of a column": "total += a[y + i, x + j]",
    "elements of a vector": "total += g[x + 3 * j + i]",
    "elements of a table": "total += b[j, i]",
    "elements of a shared row": "total += tile[y + j, x + i]",
    "elements of a shared table": "total += tile[j, i]",
    "elements stored along a row": "c[y + j, x + i] = total",
}
WITH_LOOPS = ("sin", "tan")  # of float32: they have a loop of their own, for large angles
FUNCTIONS = ("exp", "log", "sin", "tan", "tanh", "sqrt", "erf", "atan", "expm1", "log1p", "floor", "fabs")
# name: body, shape of the shared array, where it is filled
BODIES = {
    "an addition": ("total += v", "64", "x"),
    "shared, along": ("total += tile[i]", "64", "x"),
    "shared, along from x": ("total += tile[x + i]", "64", "x"),
    "shared row": ("total += tile[y, i]", "(32, 32)", "y, x"),
    "shared column": ("total += tile[i, x]", "(32, 32)", "y, x"),
    "shared column from y": ("total += tile[y + i, x]", "(64, 32)", "y, x"),
    "global, along": ("total += g[i]", "64", "x"),
    "global, along from x": ("total += g[x + i]", "64", "x"),
    "global, strided": ("total += g[x + i * n]", "64", "x"),
    "global row": ("total += a[y, i]", "64", "x"),
    "global column": ("total += a[i, x]", "64", "x"),
    "two of global memory": ("total += g[i] * h[i]", "64", "x"),
    "global, guarded": ("if x + i < n:\n    total += g[x + i]", "64", "x"),
    "a branch": ("if x > i:\n    total += v", "64", "x"),
    "store, global": ("g[x + i] = v", "64", "x"),
    "rows to a tile": ("tile[y + i, x] = a[y + i, x]", "(64, 32)", "y, x"),
    "rows to a tile, guarded": ("tile[y + i, x] = a[y + i, x] if y + i < n else v", "(64, 32)", "y, x"),
    "a tile, turned": ("c[y + i, x] = tile[x, y + i]", "(64, 33)", "y, x"),
    "shared atomic": ("cuda.atomic.add(tile, i, v)", "64", "x"),
    "a sine": ("total += math.sin(v + i)", "64", "x"),
    "a column of a tile filled": ("tile[i, x] = v", "(256, 32)", "y, x"),
    "a row of a tile filled": ("tile[y, i] = v", "(32, 256)", "y, x"),
    **{f"{name}, float32": (f"total += math.{name}(g[i])", "64", "x") for name in FUNCTIONS if name not in WITH_LOOPS},
    **{f"{name}, float64": (f"total += math.{name}(v + i)", "64", "x") for name in FUNCTIONS},
    "a power, float32": ("total += g[i] ** v", "64", "x"),
    "a quotient of floats": ("total += v / g[i]", "64", "x"),
    "a quotient of doubles": ("total += v / (g[i] + i)", "64", "x"),
    "a branch on the counter": ("if i > 3:\n    total += g[i]", "64", "x"),
    "branches on the counter": (
        "if i == 1 or i == 5:\n    v = g[x]\nelif i == 3:\n    v = h[x]\nif i > 4:\n    v += total\ntotal += v * g[i]",
        "64",
        "x",
    ),
    "local array": ("own[i] = v\ntotal += own[i]", "64", "x"),
    "a barrier": ("cuda.syncthreads()\ntotal += tile[i]", "64", "x"),
    "a loop": ("j = 0\nwhile j < n:\n    total += g[j]\n    j += 1", "64", "x"),
    "a break at the end": ("total += v\nif total > g[i]:\n    break", "64", "x"),
    "a break before more": ("if v > g[i]:\n    break\ntotal += v", "64", "x"),
    "a break after both hold": ("if v > g[i] and v < h[i]:\n    break", "64", "x"),
    "a break after both hold, of sums": ("total += v\nif total > v and total < n:\n    total = v\n    break", "64", "x"),
    "a break after either holds": ("total += v\nif total > g[i] or total < h[i]:\n    break", "64", "x"),
    "a break in an inner branch": ("if v > g[i]:\n    if v < h[i]:\n        total = v\n        break", "64", "x"),
    "a break, or more": ("if v > g[i]:\n    break\nelse:\n    total += v", "64", "x"),
    "more, or a break": ("if total < g[i]:\n    total += v\nelse:\n    break", "64", "x"),
    "a continue before a break": ("if v > g[i]:\n    continue\ntotal += h[i]\nif total > v:\n    break", "64", "x"),
    "a return at the end": ("total += v\nif total > g[i]:\n    return", "64", "x"),
    "a remainder": ("total += n % (i + 2)", "64", "x"),
    "a quotient": ("total += n // (i + 2)", "64", "x"),
    "a shuffle": ("total += cuda.shfl_down_sync(0xffffffff, total, i)", "64", "x"),
}


def sources() -> Iterator[tuple[str, int, str]]:
    """Name, rounds and source of every kernel."""
    for (name, (body, shape, first)), rounds in itertools.product(BODIES.items(), ROUNDS):
        indented = "\n".join(f"        {line}" for line in body.split("\n"))
        yield name, rounds, KERNEL.format(shape=shape, first=first, rounds=rounds, body=indented)
    for (name, body), inside, rounds in itertools.product(NESTS.items(), INSIDE, OUTER_ROUNDS):
        yield f"{name}, {inside} inside", rounds, NEST.format(rounds=rounds, inside=inside, body=body)
    for width, sums, rounds in itertools.product((16, 17, 32, 33, 64, 65), (1, 2, 4, 8), (8, 16, 32, 64)):
        body = "\n".join(f"            t{s} += tile_a[y + {8 * s}, i] * v" for s in range(sums))
        totals = "\n".join(f"    t{s} = np.float32(0)" for s in range(sums))
        total = " + ".join(f"t{s}" for s in range(sums))
        text = TILED.format(width=width, rounds=rounds, body=body, totals=totals, total=total)
        yield f"{sums} sums from tiles {width} wide", rounds, text


def is_written_out(source: str) -> bool:
    """Whether the compiler leaves no loop where the source has its last one (outer loops of tiles stay)."""
    from numba import cuda, float32, int64

    matrix, vector = float32[:, ::1], float32[::1]
    names: dict[str, Any] = {"cuda": cuda, "float32": float32, "np": np, "math": math}
    exec(compile(source, "<kernel>", "exec"), names)
    ptx, _ = cuda.compile_ptx(names["kernel"], (matrix, matrix, matrix, vector, vector, int64), cc=(9, 0))
    labels = {found[1]: found.start() for found in re.finditer(r"^(\$L__BB\w+):", ptx, re.M)}
    jumps = re.finditer(r"bra(?:\.uni)?\s+(\$L__BB\w+);", ptx)
    back = sum(labels.get(jump[1], len(ptx)) < jump.start() for jump in jumps)
    return back <= source.count("for phase")


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    found: dict[str, dict[str, bool]] = {}
    for name, rounds, source in sources():
        found.setdefault(name, {})[str(rounds)] = is_written_out(source)
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(by_rounds)}" for name, by_rounds in found.items())
    (HERE / "unrolling.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
