"""What machine code makes of random numbers: how often a generator's state is loaded and stored, and the instructions.

    python -m autograder.simgpu.measurements.machine_code_emulator.draws    # needs the wheels, and cc; no GPU; a minute

Writes draws.json: of each kernel the counters below, by the emulator. facts/known_memory.py, facts/registers.py and
facts/calls.py are held to it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text
from autograder.simgpu.wider.random_numbers import initial_states

RESULT = Path(__file__).with_name("draws.json")
GRID, BLOCK, ROUNDS = 2, 64, 9
COUNTERS = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
HEAD = "def kernel(states, o, n):\n    i = cuda.grid(1)\n"
FUNCTIONS = ("next", "uniform_float32", "uniform_float64", "normal_float32", "normal_float64")
UNIFORM = "random.xoroshiro128p_uniform_float32(states, i)"
NORMAL = "random.xoroshiro128p_normal_float32(states, i)"
KERNELS = {
    **{f"one {name}": f"o[i] = float32(random.xoroshiro128p_{name}(states, i))" for name in FUNCTIONS},
    **{
        f"three {name}": "t = float32(0)\nfor k in range(3):\n"
        f"    t += float32(random.xoroshiro128p_{name}(states, i))\no[i] = t"
        for name in FUNCTIONS
    },
    "two in a row": f"o[i] = {UNIFORM} * {UNIFORM}",
    "points of a square": f"c = 0\nfor k in range(n):\n    x = {UNIFORM}\n    y = {UNIFORM}\n"
    "    if x * x + y * y < 1:\n        c += 1\no[i] = c",
    "while": f"t = float32(0)\nk = 0\nwhile k < n:\n    t += {UNIFORM}\n    k += 1\no[i] = t",
    "stored in each round": f"for k in range(n):\n    o[i] = {UNIFORM}",
    "normal numbers": f"t = float32(0)\nfor k in range(n):\n    t += {NORMAL}\no[i] = t",
}


def text(name: str) -> str:
    """The kernel's source."""
    return HEAD + "".join(f"    {line}\n" for line in KERNELS[name].split("\n"))


def arguments() -> tuple[Any, ...]:
    return initial_states(GRID * BLOCK, 5), np.zeros(GRID * BLOCK, np.float32), ROUNDS


def simulated(name: str) -> dict[str, int]:
    """What the simulated GPU counts."""
    names: dict[str, object] = {"cuda": Reference("numba.cuda"), "random": Reference("numba.cuda.random")}
    names["float32"] = TypeReference("numba.float32", np.dtype(np.float32))
    kernel = Function.from_text(text(name), "kernel.py", names)
    counters = Session(output=lambda line: None).launch(kernel, GRID, BLOCK, arguments()).compiled
    return {"instructions": counters.issued_warp_instructions, **{each: getattr(counters, each) for each in COUNTERS}}


def count() -> dict[str, dict[str, int]]:
    """By kernel: what its machine code does."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(KERNELS):
            source = f"from numba import cuda, float32\nfrom numba.cuda import random\n\n\n@cuda.jit\n{text(name)}"
            summary = carried_out(from_text(source, Path(folder), number), (GRID,), (BLOCK,), arguments()).summary()
            found[name] = {each: int(summary[each]) for each in COUNTERS}
            found[name]["instructions"] = int(summary["warp_instructions"])
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
