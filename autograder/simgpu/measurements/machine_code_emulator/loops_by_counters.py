"""How many instructions machine code has for what loops of constant length share, and for quotients that come again.

    python -m autograder.simgpu.measurements.machine_code_emulator.loops_by_counters   # wheels, cc; no GPU; a minute

Loops inside whose length depends on the counter of the loop around; local arrays, which have registers only if loops
are unrolled; arrays that are constants of the kernel; numbers of rounds that four does not divide. Quotients by a
variable: Numba asks first whether the divisor is 0, and so the compiler sees no second one in the first.

Writes loops_by_counters.json: the warp instructions of each kernel, by the emulator. facts/written_out.py and
facts/known_results.py are held to it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions as others
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text

RESULT = Path(__file__).with_name("loops_by_counters.json")
TABLE = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]]
NAMED = f"TABLE = np.array({TABLE}, np.int8)\n"

# N: the rounds. What stands before the loops reads a local array of N elements.
LOCAL = """r = cuda.local.array(N, float32)
z = cuda.local.array(N, float32)
for k in range(N):
    r[k] = a[i + k]
    z[k] = 0.0
"""
TRIANGLES = {
    "of an array": """for k in range(N):
    s = float32(0)
    for j in range(k + 1):
        s += a[k * N + j] * a[i + j]
    o[i] = s""",
    "of pairs": """s = float32(0)
for k in range(N):
    for j in range(k + 1, N):
        z = a[i + k] - a[i + j]
        s += z * z
o[i] = s""",
    "of local sums": LOCAL
    + """for k in range(N):
    s = r[k]
    for j in range(k):
        s += z[j] * r[k - j]
    z[k] = s
for k in range(N):
    o[i] += z[k]""",
    "of a factor": """z = cuda.local.array((N, N), float32)
for k in range(N):
    for j in range(k + 1):
        s = a[i + k * N + j]
        for m in range(j):
            s -= z[k, m] * z[j, m]
        if k == j:
            z[k, j] = math.sqrt(s + float32(3))
        else:
            z[k, j] = s / z[j, j]
o[i] = z[N - 1, N - 1]""",
}
LINES = {
    "of arithmetic": "s = float32(0)\nfor k in range(N):\nBODYo[i] = s",
    "of a local array": LOCAL + "s = float32(0)\nfor k in range(N):\n    s += r[k]\nBODYo[i] = s",
}
AT_THE_END = {
    "one dimension": """z = cuda.local.array(3, float32)
for k in range(3):
    z[k] = a[i + k]
c = 1
for k in range(3):
    if z[k] > 2:
        c = 0
        break
p[i] = c""",
    "two dimensions": """z = cuda.local.array((3, 3), float32)
for k in range(3):
    for j in range(3):
        z[k, j] = a[i + k + 3 * j]
c = 1
for k in range(3):
    s = a[i + k]
    for j in range(3):
        s += z[k, j]
    if s > 9:
        c = 0
        break
p[i] = c""",
}
TABLES = {
    "edges": """t = cuda.const.array_like(TABLE)
r = cuda.local.array(8, float32)
for k in range(8):
    r[k] = a[i + k]
s = float32(0)
for k in range(12):
    g0 = int32(t[k, 0])
    g1 = int32(t[k, 1])
    s += r[g0] / (r[g0] - r[g1])
o[i] = s""",
}
# Of two tables b and h, n rows each: whether the inner loop is unrolled depends on N, and on whether four divides it.
ROWS = {
    "of two tables": "s = float32(0)\nfor j in range(n):\n    for k in range(N):\n"
    "        s += b[j, k] * h[j, i + k]\no[i] = s",
}
IN_ROWS = (20, 22, 23, 25, 28, 32)
HEAD_OF_ROWS = "def kernel(b, h, o, n):\n    i = cuda.threadIdx.x\n"
QUOTIENTS = {
    "remainder": "p[i] = x[i] % y[i]",
    "remainder again": "c = x[i]\nm = y[i]\nz = c % m\nw0 = c % m\np[i] = z * 3 + w0 * n",
    "quotient again": "c = x[i]\nm = y[i]\nz = c // m\nw0 = c // m\np[i] = z * 3 + w0 * n",
    "three remainders": "c = x[i]\nm = y[i]\np[i] = c % m\np[i + 256] = (c % m) * 3\np[i] += (c % m) * n",
    "unsigned remainder again": "c = uint64(u[i])\nm = uint64(v[i])\nz = c % m\nw0 = c % m\n"
    "p[i] = z * uint64(3) + w0 * uint64(5)",
    "loads behind remainders": "s = a[x[i] % n]\nz = a[x[i] % n] * a[i]\no[i] = s + z",
    "remainder by a number again": "c = x[i]\nz = c % 7\nw0 = c % 7\np[i] = z * 3 + w0 * n",
}
# Known to be off: two unsigned remainders with nothing between them share the branch; of 144 local elements some
# are spilled.
OFF = (
    "unsigned remainder again", "triangle of a factor, 12",
)  # fmt: skip
SIZES, ROUNDS, STATEMENTS = (3, 5, 8, 12, 16), (8, 12, 16, 24), (10, 40, 160)


def _all() -> Iterator[tuple[str, str]]:
    for name, text in TRIANGLES.items():
        for size in SIZES:
            yield f"triangle {name}, {size}", text.replace("N", str(size))
    for name, text in LINES.items():
        for rounds in ROUNDS:
            for statements in STATEMENTS:
                body = "".join(f"    s = s * a[0] + float32({k}.5)\n" for k in range(statements))
                yield f"{statements} statements {name}, {rounds}", text.replace("N", str(rounds)).replace("BODY", body)
    for name, text in ROWS.items():
        for rounds in IN_ROWS:
            yield f"rows {name}, {rounds}", text.replace("N", str(rounds))
    for name, text in AT_THE_END.items():
        yield f"leaves at the end, {name}", text
    for name, text in TABLES.items():
        yield f"table of {name}", text
    yield from QUOTIENTS.items()


KERNELS = dict(_all())


def text(name: str) -> str:
    """The kernel's source."""
    head = HEAD_OF_ROWS if name.startswith("rows ") else others.HEAD
    return head + "".join(f"    {line}\n" for line in KERNELS[name].split("\n"))


def arguments(name: str) -> tuple[object, ...]:
    if not name.startswith("rows "):
        return others.arguments()
    rng = np.random.default_rng(5)
    tables = (rng.random((20, 256)).astype(np.float32) for _ in range(2))
    return *tables, np.zeros(others.BLOCK, np.float32), 20


def simulated(name: str) -> int:
    """The instructions that the simulated GPU counts."""
    kernel = others.function_of(text(name), {"TABLE": np.array(TABLE, np.int8)})
    record = Session(output=lambda line: None).launch(kernel, others.GRID, others.BLOCK, arguments(name))
    return record.compiled.issued_warp_instructions


def count() -> dict[str, int]:
    """By kernel: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, int] = {}
    head = f"import math\n\nimport numpy as np\nfrom numba import cuda, {', '.join(others.TYPES)}\n\n{NAMED}\n\n@cuda.jit\n"
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(KERNELS):
            kernel = from_text(head + text(name), Path(folder), number)
            carried = carried_out(kernel, (others.GRID,), (others.BLOCK,), arguments(name))
            found[name] = int(carried.summary()["warp_instructions"])
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
