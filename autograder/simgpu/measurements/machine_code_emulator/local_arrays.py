"""Which local arrays machine code keeps in registers, and how many instructions it has then.

    python -m autograder.simgpu.measurements.machine_code_emulator.local_arrays   # wheels, cc; no GPU; minutes

Small kernels whose local array is indexed by what is known only at run time: tables, counts, stacks, rings, sorts.

Writes local_arrays.json: of each kernel and number of elements the accesses to local memory that its machine code has, and
the warp instructions that it executes, by the emulator. facts/local_arrays.py is held to it.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autograder.records.counters import Counters
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions as others
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text

RESULT = Path(__file__).with_name("local_arrays.json")
GRID, BLOCK, ROUNDS, NUMBERS = 1, 32, 11, 4096
SIZES = (3, 5, 8, 10, 12, 16, 24)
TYPES = {"i4": "int32", "f4": "float32", "i8": "int64", "f8": "float64", "u1": "uint8"}
HEAD = "def kernel(x, o, n):\n    a = cuda.local.array(W, {dtype})\n    i = cuda.grid(1)\n"
CLEAR = "for j in range(W):; |a[j] = 0; "
FILL = "for j in range(W):; |a[j] = x[i + j]; "
TELL = "s = 0; for j in range(W):; |s = s * 3 + a[j]; o[i] = s"
BEST = "best = 0; for d in range(1, W):; |if a[d] > a[best]:; ||best = d; o[i] = best"

# `;` ends a line, `|` indents it, W is the number of elements. `x` holds 0, 1 and 2: all are places of the array.
BODIES = {
    "counts": f"{CLEAR}for r in range(n):; |a[x[i + r]] += 1; {TELL}",
    "counts in while": f"{CLEAR}r = n; while r > 0:; |a[x[i + r]] += 1; |r -= 1 + x[r] // 4; {TELL}",
    "stores": f"{CLEAR}for r in range(n):; |a[x[i + r]] = r; {TELL}",
    "table": f"{FILL}s = 0; for r in range(n):; |s += a[x[i + r]]; o[i] = s",
    "table twice": f"{FILL}s = 0; for r in range(n):; |s += a[x[i + r]] * a[x[i + r + n]]; o[i] = s",
    "one of them": f"{FILL}o[i] = a[x[i]]",
    "four of them": f"{FILL}o[i] = a[x[i]] + a[x[i + 1]] * a[x[i + 2]] - a[x[i + 3]]",
    "votes": f"{CLEAR}for r in range(n):; |a[x[i + r]] += 1; {BEST}",
    "greatest": f"{FILL}{BEST}",
    "up to n": "m = n % W; for j in range(m):; |a[j] = x[i + j]; s = 0; for j in range(m):; |s = s * 3 + a[j]; o[i] = s",
    "ring": f"{CLEAR}s = 0; at = 0; for r in range(n):; |v = x[i + r]; |s += v - a[at]; |a[at] = v; |at += 1;"
    " |if at == W:; ||at = 0; |o[i + r] = s",
    "push": "m = 0; for j in range(n):; |v = x[i + j]; |if v > 1 and m < W:; ||a[m] = v; ||m += 1; s = 0;"
    " for j in range(m):; |s = s * 3 + a[j]; o[i] = s",
    "stack": "top = 1; a[0] = x[i]; s = 0; while top > 0:; |top -= 1; |v = a[top]; |s += v + 1;"
    " |if v > 0 and top < W - 2:; ||a[top] = v - 1; ||a[top + 1] = v // 2; ||top += 2; o[i] = s",
    "insertion sort": f"{FILL}for p in range(1, W):; |v = a[p]; |q = p - 1; |while q >= 0 and a[q] > v:; ||a[q + 1] = a[q];"
    " ||q -= 1; |a[q + 1] = v; o[i] = a[W // 2]",
    "selection sort": f"{FILL}for p in range(W // 2 + 1):; |least = p; |for q in range(p + 1, W):; ||if a[q] < a[least]:;"
    " |||least = q; |t = a[p]; |a[p] = a[least]; |a[least] = t; o[i] = a[W // 2]",
    "best of all": f"{CLEAR}for r in range(n):; |d = x[i + r]; |if d > a[W - 1]:; ||slot = W - 1;"
    " ||while slot > 0 and a[slot - 1] < d:; |||a[slot] = a[slot - 1]; |||slot -= 1; ||a[slot] = d; o[i] = a[0] + a[W - 1]",
}


def _all() -> Iterator[tuple[str, str]]:
    """By name: the source of a kernel."""
    for name, body in BODIES.items():
        for dtype in TYPES if name in ("counts", "table") else ("i4",):
            for elements in SIZES:
                lines = [each.strip().replace("|", "    ") for each in body.split(";")]
                text = HEAD.format(dtype=TYPES[dtype]) + "".join(f"    {each}\n" for each in lines)
                yield f"{name}, {elements} of {dtype}", re.sub(r"\bW\b", str(elements), text)


KERNELS = dict(_all())
SMALL = 8  # elements: so many ordinary kernels have in registers, and short ones, as these, have more
OFF = (  # in registers, and taken to be in memory
    "votes, 8 of i4", "insertion sort, 3 of i4", "insertion sort, 5 of i4", "selection sort, 8 of i4",
)  # fmt: skip
SORTS = ("insertion sort", "selection sort", "best of all", "greatest")  # their loops are unrolled further


def arguments(name: str) -> tuple[object, ...]:
    rng = np.random.default_rng(5)
    return rng.integers(0, 3, NUMBERS).astype(np.int32), np.zeros(NUMBERS, name[-2:]), ROUNDS


def simulated(name: str) -> Counters:
    """What the simulated GPU counts, as the compiler leaves it."""
    kernel = others.function_of(KERNELS[name], {})
    return Session(output=lambda line: None).launch(kernel, GRID, BLOCK, arguments(name)).compiled


def count() -> dict[str, list[int]]:
    """By kernel: accesses to local memory in its machine code, and the instructions that are executed."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, list[int]] = {}
    head = f"import math\n\nfrom numba import cuda, {', '.join(TYPES.values())}\n\n\n@cuda.jit\n"
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text) in enumerate(KERNELS.items()):
            carried = carried_out(from_text(head + text, Path(folder), number), (GRID,), (BLOCK,), arguments(name))
            local = sum("LDL" in each or "STL" in each for each in carried.code.code.texts)
            found[name] = [local, int(carried.summary()["warp_instructions"])]
    return found


if __name__ == "__main__":
    rows = (f" {json.dumps(name)}: {json.dumps(counts)}" for name, counts in count().items())
    RESULT.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(RESULT)
