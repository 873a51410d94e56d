"""How many instructions machine code has for integers of 32 and of 64 bits: small kernels, written as text.

    python -m autograder.simgpu.measurements.machine_code_emulator.integer_halves   # wheels and cc; no GPU; a minute

Writes integer_halves.json: warp instructions of each kernel, by the emulator, with a result of 32 bits and of 64. What is
loaded is int32. facts/halves.py is held to it, what facts/addresses.py says of loops over a vector, and what
facts/written_out.py says of loops that count.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.host.device import Session

RESULT = Path(__file__).with_name("integer_halves.json")
GRID, BLOCK = 2, 128
OUTCOMES = ("int32", "int64")
ROUND = "t = {begin}\nfor j in range(b.size):\n    t {what}\nc[i] = t"
GOING = "t = {begin}\nj = 0\nwhile j < b.size:\n    t {what}\n    j += 1\nc[i] = t"

BODIES = {
    "copy": "c[i] = a[i]",
    "sum": "c[i] = a[i] + b[i]",
    "sum of three": "c[i] = a[i] + b[i] + d[i]",
    "difference": "c[i] = a[i] - b[i]",
    "negative": "c[i] = -a[i]",
    "product": "c[i] = a[i] * b[i]",
    "product and sum": "c[i] = a[i] * b[i] + d[i]",
    "two products": "c[i] = a[i] * b[i] + d[i] * a[i]",
    "product of three": "c[i] = a[i] * b[i] * d[i]",
    "product with a constant": "c[i] = a[i] * 31",
    "product with a constant and sum": "c[i] = a[i] * 1103515245 + 12345",
    "Horner": "v = a[i]\nc[i] = (v * v + b[i]) * v + d[i]",
    "and": "c[i] = a[i] & b[i]",
    "mask": "c[i] = a[i] & 255",
    "sum under a mask": "c[i] = (a[i] + b[i]) & 255",
    "hash under a mask": "c[i] = (a[i] * 31 + b[i]) & 0xffff",
    "hash under a mask of 32 bits": "c[i] = (a[i] * 31 + b[i]) & 0xffffffff",
    "left": "c[i] = a[i] << 3",
    "right": "c[i] = a[i] >> 3",
    "mean": "c[i] = (a[i] + b[i]) >> 1",
    "shifts": "v = a[i]\nv ^= v << 13\nv ^= v >> 17\nv ^= v << 5\nc[i] = v",
    "comparison": "c[i] = 1 if a[i] < b[i] else 0",
    "choice": "c[i] = a[i] if a[i] < b[i] else b[i]",
    "least": "c[i] = min(a[i], b[i])",
    "converted": "c[i] = int32(a[i] + b[i])",
    "threads": "c[i] = cuda.threadIdx.x * cuda.blockIdx.x",
    "row of a table": "c[i] = cuda.threadIdx.x * cuda.blockDim.x + b[i]",
    "in a device function": "c[i] = mixed(a[i], b[i])",
    "two of a device function": "x, y = both(a[i], b[i])\nc[i] = x - y",
    "total": ROUND.format(begin="0", what="+= a[j]"),
    "total of xor": ROUND.format(begin="0", what="^= a[j]"),
    "dot product": ROUND.format(begin="0", what="+= a[j] * b[j]"),
    "factors": ROUND.format(begin="1", what="*= a[j]"),
    "hash": ROUND.format(begin="0", what="= t * 31 + a[j]"),
    "masked hash": ROUND.format(begin="0", what="= (t * 31 + a[j]) & 0xffff"),
    "masked hash of 32 bits": ROUND.format(begin="0", what="= (t * 31 + a[j]) & 0xffffffff"),
    "weights": ROUND.format(begin="0", what="+= a[j] * 3"),
    "greatest": ROUND.format(begin="0", what="= max(t, a[j])"),
    "neighbours": ROUND.format(begin="0", what="+= a[j + i % 4]"),
    "steps": "x = a[i]\nfor j in range(b.size):\n    x = (x * 1664525 + 1013904223) & 0x7fffffff\nc[i] = x",
    "total by while": GOING.format(begin="0", what="+= a[j]"),
    "dot product by while": GOING.format(begin="0", what="+= a[j] * b[j]"),
    "hash by while": GOING.format(begin="0", what="= t * 31 + a[j]"),
    "64 rounds that count": "t = 0\nfor j in range(64):\n    if a[j] < 7:\n        t += 1\nc[i] = t",
    "72 rounds that count": "t = 0\nfor j in range(72):\n    if a[j] < 7:\n        t += 1\nc[i] = t",
    "56 rounds that count by two": "t = 0\nfor j in range(56):\n    if a[j] < 7:\n        t += 2\nc[i] = t",
    "masked hash by while": GOING.format(begin="0", what="= (t * 31 + a[j]) & 0xffff"),
}
DEVICE = {
    "mixed": "def mixed(x, y):\n    return (x * 31 + y) & 0xffff\n",
    "both": "def both(x, y):\n    return x * 3, y * 5\n",
}


def text(name: str) -> str:
    """The kernel's source."""
    body = "".join(f"        {line}\n" for line in BODIES[name].split("\n"))
    return f"def kernel(a, b, c, d):\n    i = cuda.grid(1)\n    if i < c.size:\n{body}"


def arguments(outcome: str) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(5)
    a, b, d = (rng.integers(1, 20, size).astype(np.int32) for size in (300, 256, 300))
    return a, b, np.zeros(256, outcome), d


def simulated(name: str, outcome: str) -> int:
    """The instructions that the simulated GPU counts."""
    names: dict[str, object] = {"cuda": Reference("numba.cuda"), "int32": TypeReference("numba.int32", np.dtype(np.int32))}
    device = {each: Function.from_text(source, f"{each}.py", {}) for each, source in DEVICE.items()}
    kernel = Function.from_text(text(name), "kernel.py", {**names, **device})
    launch = Session(output=lambda line: None).launch(kernel, GRID, BLOCK, arguments(outcome))
    return launch.compiled.issued_warp_instructions


def compiled(name: str, folder: Path) -> Any:
    """The kernel for Numba."""
    device = "\n".join(f"@cuda.jit(device=True)\n{each}" for each in DEVICE.values())
    return from_text(f"from numba import cuda, int32\n\n{device}\n@cuda.jit\n{text(name)}", folder, list(BODIES).index(name))


def from_text(source: str, folder: Path, number: int) -> Any:
    """The `kernel` of a module's source, from a file of its own, as it is asked where a kernel stands."""
    path = folder / f"kernel_{number}.py"
    path.write_text(source, encoding="utf-8")
    made = util.spec_from_file_location(path.stem, path)
    assert made is not None and made.loader is not None
    module = util.module_from_spec(made)
    sys.modules[path.stem] = module
    made.loader.exec_module(module)
    return module.kernel


def count() -> dict[str, dict[str, int]]:
    """By kernel and outcome: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in BODIES:
            kernel = compiled(name, Path(folder))
            for outcome in OUTCOMES:
                carried = carried_out(kernel, GRID, BLOCK, arguments(outcome))
                found.setdefault(name, {})[outcome] = int(carried.summary()["warp_instructions"])
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
