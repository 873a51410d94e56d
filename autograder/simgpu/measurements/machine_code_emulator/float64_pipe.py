"""How many instructions of machine code the pipe of float64 carries out: of sums, products, comparisons and functions.

    python -m autograder.simgpu.measurements.machine_code_emulator.float64_pipe      # wheels, cc; no GPU; seconds

A product is one instruction with the sum that it is added to, unless it is needed for anything else. float32 is compared as
float64 with an integer, and with a number of the source that it cannot hold. What is stored as float32 is computed as that
if nothing but a sum, a product or a quotient of float32 comes before.

Writes float64_pipe.json: by kernel, all warp instructions and those of the pipe. facts/float64_pipe.py is held to it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.instruction_costs import OF_FLOAT64
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions as others
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text

RESULT = Path(__file__).with_name("float64_pipe.json")
GRID, BLOCK = 2, 64

# x, y: float64; a, b: float32; n: int64; out: float64; single: float32; found: int64
HEAD = "def kernel(x, y, a, b, n, out, single, found):\n    i = cuda.grid(1)\n"
KERNELS = {
    "sum": "out[i] = x[i] + y[i]",
    "product and sum": "out[i] = x[i] * y[i] + x[i]",
    "product alone and sum": "p = x[i] * y[i]\nout[i] = p + x[i]\nout[i + 128] = p",
    "product for two sums": "p = x[i] * y[i]\nout[i] = p + x[i]\nout[i + 128] = p - y[i]",
    "product compared": "p = x[i] * y[i]\nif p > 0.25:\n    out[i] = p + x[i]",
    "two products": "out[i] = x[i] * x[i] - y[i] * y[i]",
    "sums in a loop": "s = 0.0\nfor k in range(n):\n    s += x[i + k] * y[i + k]\nout[i] = s",
    "singles in a loop": "s = 0.0\nfor k in range(n):\n    s += a[i + k] * b[i + k]\nout[i] = s",
    "singles, differences": "s = 0.0\nfor k in range(n):\n    s += (a[i + k] - b[i]) * (b[i + k] - a[i])\nout[i] = s",
    "quotient": "out[i] = x[i] / y[i]",
    "reciprocal": "out[i] = 1 / x[i]",
    "half": "out[i] = x[i] / 2",
    "negation": "out[i] = -x[i]",
    "square": "out[i] = x[i] ** 2",
    "fifth power": "out[i] = x[i] ** 5",
    "single by a number": "single[i] = a[i] * 0.5",
    "single by a tenth": "single[i] = a[i] * 0.1",
    "singles halved": "single[i] = (a[i] + b[i]) / 2.0",
    "polynomial of numbers": "single[i] = a[i] * (a[i] * 0.25 + 0.1) + 1.0",
    "comparison": "found[i] = x[i] < y[i]",
    "singles compared": "found[i] = a[i] < b[i]",
    "single and an integer": "found[i] = a[i] > n",
    "single and a half": "found[i] = a[i] > 0.5",
    "single and a tenth": "found[i] = a[i] > 0.1",
    "single and zero": "found[i] = a[i] > 0",
    "single and a double": "found[i] = a[i] > x[i]",
    "smaller one": "out[i] = min(x[i], y[i])",
    "larger single": "single[i] = max(a[i], b[i])",
    "index and numbers": "out[i] = i * 0.1 + 0.5",
    "integer and single": "single[i] = a[i] * n",
    "root": "out[i] = math.sqrt(x[i])",
    "root of a single": "single[i] = math.sqrt(a[i])",
    "exponential": "out[i] = math.exp(x[i])",
    "logarithm": "out[i] = math.log(x[i])",
    "sine": "out[i] = math.sin(x[i])",
    "power": "out[i] = x[i] ** y[i]",
    "complex product": "z = complex(x[i], y[i]) * complex(y[i], x[i])\nout[i] = z.real\nout[i + 128] = z.imag",
    "arms": "if x[i] > 0.5:\n    out[i] = x[i] + y[i]\nelse:\n    out[i] = x[i] - y[i]",
    "in both arms": "s = 0.0\nif i & 1:\n    s += 4 * math.exp(-x[i])\nelse:\n    s += 2 * math.exp(-x[i])\nout[i] = s",
    "what a loop leaves alone": "s = 0.0\nfor k in range(n):\n    s += x[i] * y[i] + x[i + k]\nout[i] = s",
}


def text(name: str) -> str:
    """The kernel's source."""
    return HEAD + "".join(f"    {line}\n" for line in KERNELS[name].split("\n"))


def arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    doubles = [rng.uniform(0.1, 0.9, 256) for _ in range(2)]
    singles = [rng.uniform(0.1, 0.9, 256).astype(np.float32) for _ in range(2)]
    return *doubles, *singles, 5, np.zeros(256), np.zeros(256, np.float32), np.zeros(256, np.int64)


def simulated(name: str) -> tuple[int, int]:
    """The instructions that the simulated GPU counts, and those of the pipe."""
    record = Session(output=lambda line: None).launch(others.function_of(text(name), {}), GRID, BLOCK, arguments())
    return record.compiled.issued_warp_instructions, record.compiled.issued_float64_instructions


def count() -> dict[str, tuple[int, int]]:
    """By kernel: the instructions of its machine code, and those of the pipe."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(KERNELS):
            kernel = from_text(f"import math\n\nfrom numba import cuda\n\n\n@cuda.jit\n{text(name)}", Path(folder), number)
            done = carried_out(kernel, (GRID,), (BLOCK,), arguments())
            found[name] = done.total("warps"), done.total("warps", *OF_FLOAT64)
    return found


if __name__ == "__main__":
    rows = [f" {json.dumps(name)}: {json.dumps(counted)}" for name, counted in count().items()]
    RESULT.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(RESULT)
