"""Small kernels that each show one rule of what the compiler leaves of loads and stores, with the instructions that it left.

    python -m autograder.simgpu.measurements.registers     # needs numba-cuda, ptxas and nvdisasm; no GPU; half a minute

The packages are those of spellings.py; nvdisasm is nvidia-cuda-nvdisasm. None of the kernels has a loop that is left as
one, so that a warp carries out each memory instruction once, as long as its threads go both ways at each branch. `main`
compiles them for compute capability 9.0 and writes registers.json: how many there are of each (`LDG`, `STG`: global memory;
`LDS`, `STS`: shared memory, a wide one counts once; `LDL`, `STL`: local memory).
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import HEAD, defined, tool

COMPILED = Path(__file__).with_name("registers.json")
OPCODES = ("LDG", "STG", "LDS", "STS", "LDL", "STL")
START = """@cuda.jit
def kernel(a, b, c, m, n):
    t = cuda.threadIdx.x
"""
PIECES = {
    "an element of the next round": """
total = float32(0)
for j in range(8):
    total += a[t + j] * a[t + j + 1]
c[t] = total
""",
    "a triangular loop": """
x = cuda.local.array(4, float32)
for r in range(4):
    total = b[t + 32 * r]
    for k in range(r):
        total -= m[r, k] * x[k]
    x[r] = total / m[r, r]
for r in range(4):
    c[t + 32 * r] = x[r]
""",
    "a sorting network in registers": """
v = cuda.local.array(4, float32)
for k in range(4):
    v[k] = a[t + k]
for i in range(3):
    for j in range(3 - i):
        if v[j] > v[j + 1]:
            v[j], v[j + 1] = v[j + 1], v[j]
c[t] = v[1]
""",
    "conditions on the counter": """
total = float32(0)
for i in range(3):
    for j in range(3):
        if i != 1 or j != 1:
            total += m[t + i, t + j]
c[t] = total
""",
    "a column of a stored row": """
s = cuda.shared.array((32, 4), float32)
for k in range(4):
    s[t, k] = a[t + 32 * k]
cuda.syncthreads()
c[t] = s[31 - t, 0] + s[31 - t, 1] + s[31 - t, 2] + s[31 - t, 3]
""",
    "stored rows of odd length": """
s = cuda.shared.array((32, 5), float32)
for k in range(5):
    s[t, k] = a[t + 32 * k]
cuda.syncthreads()
c[t] = s[31 - t, 0] + s[31 - t, 1]
""",
    "neighbours in an arm": """
s = cuda.shared.array(32, float32)
s[t] = a[t]
cuda.syncthreads()
if t < n:
    total = float32(0)
    for j in range(32):
        total += s[j]
    c[t] = total
""",
    "both arms load the element": """
if t < n:
    c[t] = a[t] * 2
else:
    c[t] = a[t] + 7
b[t] = 1
""",
    "both arms load, into other arrays": """
if t < n:
    c[t] = a[t] * 2
else:
    b[t] = a[t] + 7
""",
    "a selected address": """
c[t] = a[t + 32] if t < n else a[t]
""",
    "a selected address, into a variable": """
if t < n:
    x = a[t + 32]
else:
    x = a[t]
c[t] = x
""",
    "a store of a selected value": """
s = cuda.shared.array(32, float32)
x = a[t]
y = b[t]
if t < n:
    s[t] = x * y + 1
else:
    s[t] = x - y
cuda.syncthreads()
c[t] = s[31 - t]
""",
    "a store in each arm, one of them loads": """
s = cuda.shared.array(32, float32)
if t < n:
    s[t] = a[t]
else:
    s[t] = 0
cuda.syncthreads()
c[t] = s[31 - t]
""",
}


def text(name: str) -> str:
    """The module of a piece."""
    return HEAD + START + "".join(f"    {line}\n" for line in PIECES[name].strip().splitlines())


def arguments() -> tuple[Any, ...]:
    """What every piece is launched with, on one block of 32 threads; anew each time."""
    a, b = (np.random.default_rng(seed).random(256, dtype=np.float32) for seed in (1, 2))
    m = np.random.default_rng(3).random((64, 64), dtype=np.float32)
    return a, b, np.zeros(256, np.float32), m, 16


def instructions(name: str) -> dict[str, int]:
    """How many memory instructions the compiler leaves of a piece, by kind; zeros are left out."""
    from numba import cuda, typeof

    ptx, _ = cuda.compile_ptx(defined(text(name)).py_func, tuple(map(typeof, arguments())), cc=(9, 0))
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        subprocess.run([tool("ptxas"), "-arch=sm_90", str(made), "-o", str(cubin)], check=True)
        listing = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], check=True, capture_output=True, text=True)
    found = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]+)", listing.stdout, re.M)
    counted = Counter(found)
    return {opcode: counted[opcode] for opcode in OPCODES if counted[opcode]}


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    kept = {"versions": versions, "instructions": {name: instructions(name) for name in PIECES}}
    COMPILED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
