"""Work that some lanes of a warp do while the others wait, by what their numbers are: small kernels, and machine code.

    python -m autograder.simgpu.measurements.machine_code_emulator.divergent_work   # compiler wheels and cc; no GPU; seconds

Writes divergent_work.json: warp and thread instructions of each kernel, by the emulator. operations/long_quotients.py, the
tries of atomics in counting/counting.py, and what arms.py says is done before a branch are held to it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import HEAD, defined

RESULT = Path(__file__).with_name("divergent_work.json")
GRID, BLOCK = 2, 128
START = "@cuda.jit\ndef kernel(x, y, place, sums, out, n):\n    i = cuda.grid(1)\n"
SHARED = """
part = cuda.shared.array(16, {0})
if cuda.threadIdx.x < 16:
    part[cuda.threadIdx.x] = 0
cuda.syncthreads()
cuda.atomic.add(part, place[i], {1})
cuda.syncthreads()
if cuda.threadIdx.x < 16:
    sums[cuda.threadIdx.x] = part[cuda.threadIdx.x]
"""
FLOATS = ("float32", "float64")
BODIES = {
    **{
        f"{name}, {dtype}": (dtype, body)
        for dtype in FLOATS
        for name, body in {
            "a quotient": "out[i] = x[i] / y[i]",
            "quotients of a few": "if place[i] < 4:\n    out[i] = x[i] / y[i]",
            "quotients in rounds": "t = x[i]\nfor j in range(n):\n    t += (x[j] - x[i]) / y[i]\nout[i] = t",
            "divided by the number of a lane": "out[i] = x[i] * (i % 32) / (i + 1)",
            "the same sum in both arms": (
                "v = x[i]\nt = y[i]\nif v > 1:\n    t += y[i] / (v + 3)\nelse:\n    t -= y[i] / (v + 3)\nout[i] = t"
            ),
            "the same function in both arms": (
                "v = x[i]\nif v > 1:\n    t = math.exp(v) * y[i]\nelse:\n    t = math.exp(v) - y[i]\nout[i] = t"
            ),
        }.items()
    },
    "an atomic sum in shared memory, float32": ("float32", SHARED.format("float32", "x[i]")),
    "an atomic sum in shared memory, float64": ("float64", SHARED.format("float64", "x[i]")),
    "an atomic sum in shared memory, int64": ("float64", SHARED.format("int64", "i")),
    "a quotient, complex64": ("complex64", "out[i] = x[i] / y[i]"),
    "a quotient, complex128": ("complex128", "out[i] = x[i] / y[i]"),
}


def kernel_of(body: str, cuda: Any) -> Any:
    return defined("import math\n" + HEAD + START + textwrap.indent(body.strip("\n"), "    ") + "\n", cuda)


def arguments(dtype: str) -> tuple[Any, ...]:
    """What each is launched with; anew each time. A tenth of the numbers is zero."""
    rng = np.random.default_rng(1)
    x, y = (rng.random((2, GRID * BLOCK)) + 0.5).astype(dtype)
    if "complex" in dtype:
        x, y = x + 1j * rng.random(len(x)).astype(x.real.dtype), y + 2j * rng.random(len(y)).astype(y.real.dtype)
    else:
        x[rng.random(len(x)) < 0.1] = 0
    place = rng.integers(0, 16, len(x)).astype(np.int32)
    return x, y, place, np.zeros(16), np.zeros_like(x), len(x)


def main() -> None:
    from numba import cuda

    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found = {}
    for name, (dtype, body) in BODIES.items():
        counted = carried_out(kernel_of(body, cuda), GRID, BLOCK, arguments(dtype))
        found[name] = [counted.total("warps"), counted.total("threads")]
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    RESULT.write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
