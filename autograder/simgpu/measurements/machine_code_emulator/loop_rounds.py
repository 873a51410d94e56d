"""How many instructions machine code has for loops, by what they go over and by how many rounds they have.

    python -m autograder.simgpu.measurements.machine_code_emulator.loop_rounds   # wheels, cc; no GPU; minutes

Writes loop_rounds.json: by kernel, the warp instructions of one warp with 0, 1, 2 ... rounds, by the emulator. The compiler
does four rounds at a time and those left over in another loop or, inside a loop, written out. facts/loop_costs.py is held to
it.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text

RESULT = Path(__file__).with_name("loop_rounds.json")
WARP, OUTER = 32, 8  # lanes; rounds of a loop around
MOST = 9  # rounds
HEAD = """def kernel(a, x, o, n, m, q):
    t = cuda.threadIdx.x
    s = float32(0)
    first = x[t]
    last = x[t + 32]
"""
"""a: float32; x: where each lane begins and ends, whole numbers; n: rounds, m: a step of 2, q: rounds of a loop around."""
RANGES = {
    "from 0": "range(n)",
    "from 1": "range(1, n + 1)",
    "by lane": "range(first, last)",
    "by lane, int32": "range(first, last)",
    "as many by lane": "range(last - first)",
    "from the lane": "range(t, n + t)",
    "by twos": "range(first, first + 2 * n, 2)",
    "by a step": "range(first, first + n * m, m)",
}
WHILES = {  # where it begins, while what it goes on, what a round adds
    "while from 0": ("0", "j < n", "j += 1"),
    "while by lane": ("first", "j < last", "j += 1"),
    "while by twos": ("first", "j < first + 2 * n", "j += 2"),
    "while by a step": ("first", "j < first + n * m", "j += m"),
    "while down": ("n", "j > 0", "j -= 1"),
}
BODIES = {"load": "s += a[j]", "product": "s += a[j] * a[j + 1000]", "exit": "s += a[j]\nif s < -1.0:\n    break"}
WAITS = {"barrier": "cuda.syncthreads()\ns += a[j]", "shuffle": "s += cuda.shfl_sync(0xFFFFFFFF, s, 0) * a[j]"}


@dataclass(frozen=True)
class CountedLoop:
    """A kernel with a loop; `is_within`: the loop stands in another one."""

    kind: str
    body: str
    is_within: bool

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.body}{', in a loop' * self.is_within}"

    def text(self) -> str:
        """The kernel's source, in the words that Numba and the simulated GPU have in common."""
        body = (BODIES | WAITS)[self.body]
        if self.kind in RANGES:
            lines = [f"for j in {RANGES[self.kind]}:"]
        else:
            begins, goes_on, advances = WHILES[self.kind]
            lines, body = [f"j = {begins}", f"while {goes_on}:"], f"{body}\n{advances}"
        lines += [f"    {line}" for line in body.splitlines()]
        if self.is_within:
            lines = ["r = 0", "while r < q:", "    cuda.syncwarp()", *(f"    {line}" for line in lines), "    r += 1"]
        return HEAD + "".join(f"    {line}\n" for line in [*lines, "o[t] = s + first + last"])

    def arguments(self, rounds: int) -> tuple[object, ...]:
        dtype = np.int32 if self.kind.endswith("int32") else np.int64
        bounds = np.concatenate([np.full(WARP, 5), np.full(WARP, 5 + rounds)]).astype(dtype)
        return np.ones(4096, np.float32), bounds, np.zeros(WARP, np.float32), rounds, 2, OUTER


LOOPS = [
    *(CountedLoop(kind, body, within) for kind in RANGES for body in BODIES for within in (False, True)),
    *(CountedLoop(kind, body, within) for kind in WHILES for body in ("load", "product") for within in (False, True)),
    *(CountedLoop(kind, body, False) for kind in ("from 0", "while from 0") for body in WAITS),
]


def simulated(loop: CountedLoop) -> list[int]:
    """The instructions that the simulated GPU counts, by rounds."""
    float32 = TypeReference("numba.float32", np.dtype(np.float32))
    kernel = Function.from_text(loop.text(), "kernel.py", {"cuda": Reference("numba.cuda"), "float32": float32})
    session = Session(output=lambda line: None)
    launched = [session.launch(kernel, 1, WARP, loop.arguments(rounds)) for rounds in range(MOST + 1)]
    return [each.compiled.issued_warp_instructions for each in launched]


def count() -> dict[str, list[int]]:
    """By kernel and rounds: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, loop in enumerate(LOOPS):
            source = f"from numba import cuda, float32\n\n\n@cuda.jit\n{loop.text()}"
            kernel = from_text(source, Path(folder), number)
            carried = [carried_out(kernel, (1,), (WARP,), loop.arguments(rounds)) for rounds in range(MOST + 1)]
            found[loop.name] = [int(each.summary()["warp_instructions"]) for each in carried]
    return found


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(counts)}" for name, counts in count().items()]
    RESULT.write_text("{\n " + ",\n ".join(lines) + "\n}\n", encoding="utf-8")
    print(RESULT)
