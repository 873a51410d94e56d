"""Branches whose arms load or store alike, or alone use what was loaded, and what machine code has of them: small kernels.

    python -m autograder.simgpu.measurements.machine_code_emulator.merged_arms     # compiler wheels and cc; no GPU; a minute

Writes merged_arms.json: requests and sectors of each kernel, by the emulator. facts/arms.py and
facts/sunk_loads.py are held to it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import HEAD, defined

RESULT = Path(__file__).with_name("merged_arms.json")
COUNTERS = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
START = "@cuda.jit\ndef kernel(a, b, c, d, p, q, m, n, k, s):\n    i = cuda.grid(1)\n"
GRID, BLOCK, LENGTH = 4, 64, 200
BODIES = {
    "loaded or a variable": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[p[i]]
    else:
        c[i] = v
    d[i] = v
""",
    "loaded or a variable, in a stride": """
for j in range(i, n, cuda.gridsize(1)):
    v = a[j]
    if v > s:
        c[j] = b[p[j]]
    else:
        c[j] = v
""",
    "loaded or 0, in a stride": """
for j in range(i, n, cuda.gridsize(1)):
    v = a[j]
    if v > s:
        c[j] = b[j]
    else:
        c[j] = 0
""",
    "loaded or 0": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i]
    else:
        c[i] = 0
    d[i] = v
""",
    "the kernel ends": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = v
    else:
        c[i] = v * 2
""",
    "a store in each of three arms": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = v
    elif v > s / 2:
        c[i] = v * 2
    else:
        c[i] = 0
    d[i] = v
""",
    "a store and an update": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = v
    else:
        c[i] += v
    d[i] = v
""",
    "two updates": """
if i < n:
    v = a[i]
    if v > s:
        c[i] += v
    else:
        c[i] -= v
    d[i] = v
""",
    "two updates, the kernel ends": """
if i < n:
    v = a[i]
    if v > s:
        c[i] += v
    else:
        c[i] -= v
""",
    "two stores in each arm": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = v
        d[i] = v * 2
    else:
        c[i] = v * 3
        d[i] = v * 4
    b[i] = 0
""",
    "an element that was asked for": """
if i < n:
    for j in range(m.shape[1]):
        if m[i, j] > s:
            m[i, j] = a[j]
        else:
            m[i, j] = 0
""",
    "an argument, in a stride": """
for j in range(i, n, cuda.gridsize(1)):
    v = p[j]
    if 1 <= v < k:
        c[j] = b[v]
    else:
        c[j] = s
""",
    "neighbours as a tuple": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x, y = a[i - 1], a[i + 1]
    else:
        x, y = a[i - 2], a[i + 2]
    c[i] = x + y
""",
    "neighbours one by one": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1]
        y = a[i + 1]
    else:
        x = a[i - 2]
        y = a[i + 2]
    c[i] = x + y
""",
    "three elifs": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1]
    elif p[i] == 1:
        x = a[i - 2]
    elif p[i] == 2:
        x = a[i + 1]
    else:
        x = a[i + 2]
    c[i] = x
""",
    "times another constant": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1] * 2
    else:
        x = a[i - 2] * 3
    c[i] = x
""",
    "other arrays": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x, y = a[i], b[i]
    else:
        x, y = b[i], a[i]
    c[i] = x - y
""",
    "a load and a number": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        x, y = a[i - 1], s
    else:
        x, y = a[i - 2], s * 2
    c[i] = x + y
""",
    "added up": """
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x += a[i - 1]
    else:
        x += a[i - 2]
    c[i] = x
""",
    "added and taken away": """
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x += a[i - 1]
    else:
        x -= a[i - 2]
    c[i] = x
""",
    "loads that are stored": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        c[i] = a[i - 1]
    else:
        c[i] = a[i - 2]
    d[i] = s
""",
    "asked for in both arms": """
if i < n - 2:
    if p[i] == 0:
        if a[i] > a[i + 1]:
            c[i] = 1
    else:
        if a[i] < a[i + 1]:
            c[i] = 2
""",
    "asked for in both arms, more behind": """
if i < n - 2:
    if p[i] == 0:
        if a[i] > a[i + 1]:
            c[i] = 1
    else:
        if a[i] < a[i + 1]:
            c[i] = 2
    d[i] = s
""",
    "exchanges up and down": """
if i < n - 2 and i % 2 == 0:
    if p[i] == 0:
        if a[i] > a[i + 1]:
            a[i], a[i + 1] = a[i + 1], a[i]
    else:
        if a[i] < a[i + 1]:
            a[i], a[i + 1] = a[i + 1], a[i]
""",
    "asked for in an elif": """
if i < n - 2:
    if p[i] == 0:
        c[i] = a[i] * 2
    elif a[i] > s:
        c[i] = 5
""",
    "asked for and loaded more": """
if i < n - 2:
    if p[i] == 0:
        if a[i] > s:
            c[i] = 1
    elif a[i] > b[i]:
        c[i] = 2
    d[i] = s
""",
    "loaded or an argument": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i]
    else:
        c[i] = s
    d[i] = v
""",
    "loaded or a constant": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i]
    else:
        c[i] = float32(1.5)
    d[i] = v
""",
    "loaded or a product": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i]
    else:
        c[i] = v * 2
    d[i] = v
""",
    "loaded or a whole argument": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i]
    else:
        c[i] = k
    d[i] = v
""",
    "a product or 0": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i] * 2
    else:
        c[i] = 0
    d[i] = v
""",
    "a sum or a variable": """
if i < n:
    v = a[i]
    if v > s:
        c[i] = b[i] + v
    else:
        c[i] = v
    d[i] = v
""",
    "times 3 or 5": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1] * 3
    else:
        x = a[i - 2] * 5
    c[i] = x + y
""",
    "times 3": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1] * 3
    else:
        x = a[i - 2] * 3
    c[i] = x + y
""",
    "two loads each": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1] * b[i]
    else:
        x = a[i - 2] * b[i + 1]
    c[i] = x + y
""",
    "a minimum": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = min(a[i - 1], s)
    else:
        x = min(a[i - 2], s)
    c[i] = x + y
""",
    "two sums": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x += a[i - 1]
        y += b[i - 1]
    else:
        x += a[i - 2]
        y += b[i + 1]
    c[i] = x + y
""",
    "two sums in other order": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x += a[i - 1]
        y += b[i - 1]
    else:
        y += b[i + 1]
        x += a[i - 2]
    c[i] = x + y
""",
    "used once more": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i - 1]
    else:
        x = a[i - 2]
        x = x * x
    c[i] = x + y
""",
    "another load first": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x = a[i + 1]
        y = a[i - 1]
    else:
        y = a[i - 2]
    c[i] = x + y
""",
    "a branch first": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        if p[i] == 2:
            x = b[i]
        y = a[i - 1]
    else:
        y = a[i - 2]
    c[i] = x + y
""",
    "added up in an elif": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x += a[i - 1]
    elif p[i] == 1:
        x += a[i + 2]
    else:
        x += a[i - 2]
    c[i] = x + y
""",
    "tuples in an elif": """
y = s
x = s
if i < n - 2 and i > 1:
    if p[i] == 0:
        x, y = a[i - 1], a[i]
    elif p[i] == 1:
        x, y = a[i + 2], a[i + 1]
    else:
        x, y = a[i - 2], a[i - 1]
    c[i] = x + y
""",
    "a conditional expression": """
if i < n - 2 and i > 1:
    x = a[i - 1] * 3 if p[i] == 0 else a[i - 2] * 3
    c[i] = x
""",
    "one value, two places": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        c[i - 1] = s
    else:
        c[i + 1] = s
    d[i] = s
""",
    "one value, two arrays": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        c[i] = s
    else:
        b[i] = s
    d[i] = s
""",
    "updates of two places": """
if i < n - 2 and i > 1:
    if p[i] == 0:
        c[i - 1] += s
    else:
        c[i + 1] += s
    d[i] = s
""",
    "used in one arm": """
if i < n:
    x = a[i]
    if p[i] == 0:
        c[i] = x
""",
    "used in one arm, stored by both": """
if i < n:
    x = a[i]
    if p[i] == 0:
        c[i] = x
    else:
        c[i] = s
    d[i] = s
""",
    "a store between": """
if i < n:
    x = a[i]
    d[i] = s
    if p[i] == 0:
        c[i] = x
""",
    "used in a loop in the arm": """
if i < n:
    x = a[i]
    if p[i] == 0:
        for j in range(k):
            m[i, j] = x
""",
    "used in an arm of an arm": """
if i < n:
    x, y = a[i], b[i]
    if x > s:
        if y > s:
            c[i] = s
        d[i] = s
""",
    "used in both": """
if i < n:
    x = a[i]
    if p[i] == 0:
        c[i] = x
    else:
        d[i] = x
""",
    "used by an elif": """
if i < n:
    x = a[i]
    y = b[i]
    if x > s:
        c[i] = s
    elif y > s:
        d[i] = s
""",
    "used behind a return": """
if i >= n:
    return
x = a[i]
if p[i] == 0:
    return
c[i] = x
""",
    "used twice in the arm": """
if i < n:
    x = a[i]
    if p[i] == 0:
        c[i] = x
        d[i] = x * x
""",
    "used in the arm and behind": """
if i < n:
    x = a[i]
    if p[i] == 0:
        c[i] = x
    d[i] = x
""",
    "two used in an arm of an arm": """
if i < n:
    x = a[i]
    y = b[i]
    if p[i] == 0:
        if s > 0:
            c[i] = x * y
""",
    "used in a sum": """
t = s
for j in range(i, n, cuda.gridsize(1)):
    x = a[j]
    if p[j] == 0:
        t += x
d[i % n] = t
""",
    "chosen": """
if i < n:
    x = a[i]
    y = b[i]
    if x < y:
        t = y
    else:
        t = x
    c[i] = t
""",
}


def kernel_of(body: str, cuda: Any) -> Any:
    """The kernel with this body, by this `numba.cuda`."""
    return defined(HEAD + START + textwrap.indent(body.strip("\n") + "\n", "    "), cuda)


def arguments() -> tuple[Any, ...]:
    """What each is launched with; anew each time."""
    rng = np.random.default_rng(5)
    a, b = rng.random(LENGTH, np.float32), rng.random(LENGTH, np.float32)
    c, d = np.zeros(LENGTH, np.float32), np.zeros(LENGTH, np.float32)
    p, q = rng.integers(0, 4, LENGTH).astype(np.int32), rng.integers(0, LENGTH, LENGTH)
    return a, b, c, d, p, q, rng.random((LENGTH, 8), np.float32), LENGTH, 7, np.float32(0.5)


def main() -> None:
    import numba.cuda

    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found = {}
    for name, body in BODIES.items():
        counted = carried_out(kernel_of(body, numba.cuda), GRID, BLOCK, arguments()).summary()
        found[name] = {each: counted[each] for each in COUNTERS}
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    RESULT.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
