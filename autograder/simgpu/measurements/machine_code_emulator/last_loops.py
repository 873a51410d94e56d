"""Loops behind which a kernel ends, and what is in a register behind a `while` loop: small kernels, and machine code.

    python -m autograder.simgpu.measurements.machine_code_emulator.last_loops     # compiler wheels and cc; no GPU; seconds

Writes last_loops.json: requests and sectors of each kernel, by the emulator. facts/behind_loops.py and facts/analysis.py
are held to it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import HEAD, defined

RESULT = Path(__file__).with_name("last_loops.json")
COUNTERS = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
ATOMICS = "global_atomic_requests"
GRID, BLOCK, LENGTH = 2, 128, 250
START = (
    "@cuda.jit\ndef kernel(table, keys, out, n, s):\n    i = cuda.grid(1)\n    if i >= n:\n        return\n"
    "    key = keys[i]\n    k = key % 50\n"
)
BODIES = {
    "a store before break": """
while k < 1500:
    if table[k] > key:
        out[i] = k
        break
    k += s
""",
    "a store before break, and more behind": """
while k < 1500:
    if table[k] > key:
        out[i] = k
        break
    k += s
out[i] += key
""",
    "a store before return": """
while k < 1500:
    if table[k] > key:
        out[i] = k
        return
    k += s
""",
    "a load before break, and a branch": """
while True:
    if table[k] > key:
        if key > 2000:
            out[i] = table[k + 1]
        break
    k += s
""",
    "either of two stores before break": """
while k < 1500:
    if table[k] > key:
        if key > 2000:
            out[i] = k
        else:
            out[i] = -k
        break
    k += s
""",
    "an atomic before break": """
while k < 1500:
    if table[k] > key:
        cuda.atomic.add(out, k % 8, 1)
        break
    k += s
""",
    "an atomic before the break of a range": """
for j in range(s * 100):
    if table[j] > key:
        cuda.atomic.add(out, j % 8, 1)
        break
""",
    "a store in each other round of a range": """
for j in range(k, s * 100):
    x = table[j]
    if x > key:
        out[i] = j
        break
    out[i] = x
""",
    "two breaks": """
while k < 1500:
    x = table[k]
    if x > key:
        out[i] = k
        break
    if x > key + 3000:
        out[i] = 3
        break
    k += s
""",
    "break, then continue": """
t = 0
while k < 1500:
    if table[k] > key:
        out[i] = t
        break
    if table[k] % 2 == 0:
        t += 1
        k += 1
        continue
    k += s
""",
    "continue, then break": """
while k < 1500:
    x = table[k]
    if x % 7 == 3:
        k += 1
        continue
    if x > key:
        out[i] = k
        break
    k += s
""",
    "break where two things hold": """
while k < 1500:
    if table[k] > key and table[k + 1] > key + 500:
        out[i] = k
        break
    k += s
""",
    "break where one of two things holds": """
while k < 1500:
    if table[k] > key or table[k + 1] > key + 500:
        out[i] = k
        break
    k += s
""",
    "break within a branch": """
while k < 1500:
    if table[k] > key:
        if table[k + 1] > key + 500:
            out[i] = k
            break
    k += s
""",
    "within another loop": """
for j in range(s // 2):
    k = j
    while k < 1500:
        if table[k] > key - 100 * j:
            out[i] = k
            break
        k += s
""",
    "loaded by the condition": """
while table[k] < key:
    k += s
out[i] = table[k]
""",
    "loaded by the condition, behind a store": """
while table[k] < key:
    out[i] = k
    k += s
out[i] = table[k]
""",
    "loaded by a condition of two parts": """
while table[k] < key and k < 1200:
    k += s
out[i] = table[k]
""",
    "loaded by a condition that loads twice": """
while table[k] < key and keys[k % n] < 4900:
    k += s
out[i] = table[k]
""",
    "loaded by a condition, a constant further each round": """
while table[k] < key:
    k += 2
out[i] = table[k]
""",
    "loaded by a condition, somewhere else each round": """
while table[k] < key and k % 97 != 0:
    k = (k * 3 + 1) % 2000
out[i] = table[k]
""",
    "loaded by the condition, and in the round": """
t = 0
while table[k] < key:
    t += table[k]
    k += s
out[i] = t
""",
    "loaded by the condition, with a break": """
while table[k] < key:
    if table[k] == key - 1:
        break
    k += 1
out[i] = table[k]
""",
    "an atomic in rounds of unlike numbers": """
for j in range(k, k + key % 11):
    cuda.atomic.add(out, table[j] % n, 1)
""",
}  # fmt: skip


def kernel_of(body: str, cuda: Any) -> Any:
    return defined(HEAD + START + textwrap.indent(body.strip("\n"), "    ") + "\n", cuda)


def arguments() -> tuple[Any, ...]:
    """What each is launched with; anew each time."""
    rng = np.random.default_rng(1)
    table, keys = np.sort(rng.integers(0, 5000, 2048)).astype(np.int32), rng.integers(0, 2000, LENGTH).astype(np.int32)
    return table, keys, np.zeros(LENGTH, np.int32), LENGTH, 7


def main() -> None:
    from numba import cuda

    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found = {}
    for name, body in BODIES.items():
        counted = carried_out(kernel_of(body, cuda), GRID, BLOCK, arguments()).summary()
        found[name] = {each: counted[each] for each in COUNTERS}
        found[name][ATOMICS] = counted["global_red_requests"] + counted["global_atom_requests"]
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
