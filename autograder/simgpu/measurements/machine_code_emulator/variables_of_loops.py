"""How many instructions machine code has for the variables of loops: copied, exchanged, selected, and only counted.

    python -m autograder.simgpu.measurements.machine_code_emulator.variables_of_loops   # wheels, cc; no GPU; minutes

Loops that stay loops, since more than their counter ends them; arms of branches that give variables the values of others;
`while` loops that count to nothing but their end, or to a constant at the most; loops that `if ...: break` leaves, first,
in between or last; elements by unsigned indices; loops that count on beside their counter, ask in each unrolled round, or
divide between barriers; numbers that other lanes give; rotations.

Writes variables_of_loops.json: the warp instructions of each kernel, by the emulator. facts/copies.py, facts/loop_costs.py,
facts/short_arms.py, facts/addresses.py, facts/rounds.py, facts/halves.py and the types in facts/library.py are held to it.
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

RESULT = Path(__file__).with_name("variables_of_loops.json")
GRID, BLOCK, ELEMENTS, ROUNDS = 1, 32, 1024, 61
TYPES = {"f4": "float32", "f8": "float64", "i4": "int32", "i8": "int64", "u1": "uint8", "u4": "uint32"}
HEAD = "def kernel(x, y, o, n):\n"
BEGIN = f"{HEAD}    i = cuda.grid(1)\n    a = x[i]\n    b = x[(i + 7) % 1024]\n    c = a + b\n    at = i\n"

# By what a round does with its variables; `;` ends a statement.
ROUND = {
    "sum and name": "a, b = b, a + b + x[7]",
    "name and sum": "a, b = b, a + x[7]",
    "old one": "b = a; a = a * b + x[7]",
    "three": "a, b, c = b, c, a + b + x[7]",
    "asked again": "t = a * b + x[7]; b = t - a; a = t",
    "both of both": "t = a + b; b = a - b; a = t + x[7]",
    "square": "t = a * a - b * b + c; b = a * b + c; a = t",
    "recurrence": "t = b * a - c; c = a; a = t",
}
LOOPS = {
    "two conditions": "j = 0\nwhile j < n and a < 100000:\n{body}    j += 1\n",
    "break first": "for j in range(n):\n    if a >= 100000:\n        break\n{body}",
    "break last": "for j in range(n):\n{body}    if a >= 100000:\n        break\n",
    "one condition": "while a < 100000:\n{body}",
}
GROWS = ("sum and name", "three", "both of both")  # else a loop with one condition might never end
ARMS = {
    "larger": "if v > a:; |a = v",
    "larger, where": "if v > a:; |a = v; |at = j",
    "second": "if v > a:; |b = a; |a = v",
    "either": "if v > b:; |a = v; else:; |c = v",
    "exchanged": "if v > b:; |a, c = c, a",
    "both ends, where": "if v > a:; |a = v; |at = j; if v < b:; |b = v; |c = v",
    "sum": "if v > b:; |a += v",
    "larger and smaller": "if v > a:; |a = v; if v < b:; |b = v",
}
GOING = {
    "range": "for j in range(n):\n    v = x[j]\n{body}",
    "two conditions": "j = 0\nwhile j < n and a < 100000:\n    v = x[j]\n{body}    j += 1\n",
}
COUNTED = {
    **{f"{many} products": "; ".join(["a = a * b + x[7]"] * many) for many in (1, 2, 3, 4, 5, 8, 12)},
    "stored": "a = a * b + x[7]; o[i] = a",
    "stored, longer": "; ".join(["a = a * b + x[7]"] * 5) + "; o[i] = a",
    "root": "a = math.sqrt(a)",
    "logistic": "a = a * float32(3.5) * (float32(1) - a)",
    "logistic of float64": "a = 3.5 * a * (1 - a)",
    "oscillator": "v = -a * b; a += v * float32(.01); b += a",
    "smaller": "a = min(a * b, x[7])",
    "gathered": "a = x[int(a * 0)]",
    "gathered, product": "a = x[int(a * 0)]; a = a * b + x[7]",
    "gathered, three products": "a = x[int(a * 0)]; " + "; ".join(["a = a * b + x[7]"] * 3),
    "shuffled": "a += cuda.shfl_xor_sync(-1, a, 1)",
    "shuffled three times": "; ".join(["a += cuda.shfl_xor_sync(-1, a, 1)"] * 3),
    "loaded": "a += x[j]",
    "read": "a = a * b + j",
}
ENDS = {
    "range": "for j in range(n):\n{body}",
    "range from": "for j in range(i % 2, n):\n{body}",
    "range of 500": "for j in range(500):\n{body}",
    "while": "j = 0\nwhile j < n:\n    j += 1\n{body}",
}
BROKEN = {
    "first": "if a >= c + 100000:; |break; a = {}; b = b * a + x[5]",
    "in between": "a = {}; if a >= c + 100000:; |break; b = b * a + x[5]",
}
# Loops that go from a constant to a constant R at the most, and that something else may end.
BOUNDED = {
    "product": "k = 0\nwhile k < R and a < 100000:\n    a = a * b + x[7]\n    k += 1\n",
    "product, asked before": "k = 0\nwhile a < 100000 and k < R:\n    a = a * b + x[7]\n    k += 1\n",
    "down": "k = R\nwhile k > 0 and a < 100000:\n    a = a * b + x[k]\n    k -= 1\n",
    "by two": "k = 0\nwhile k < R and a < 100000:\n    a = a * b + x[7]\n    k += 2\n",
    "asked of memory": "k = 0\nwhile k < R and x[(i + k) & 511] < 100000:\n    a = a * b + x[7]\n    k += 1\n",
    "halved": "k = R\nwhile k > 0 and a < 100000:\n    a = a * b + x[k]\n    k >>= 1\n",
    "in a loop": "k = 0\nfor p in range(1, R):\n    k = p\n    while k > 0 and a < 100000:\n        a = a * b\n"
    "        k -= 1\n    c += a\n",
    "in a loop, upwards": "k = 0\nfor p in range(1, R):\n    k = 0\n    while k < p and a < 100000:\n        a = a * b\n"
    "        k += 1\n    c += a\n",
}
# Whole kernels, behind `i = cuda.grid(1)` and `a = x[i]`, by the types that they are counted with; `;` ends a line.
TREE = (
    "s = cuda.shared.array(64, float32); t = cuda.threadIdx.x; s[t] = a; cuda.syncthreads(); {}; |cuda.syncthreads(); "
    "o[i] = s[0]"
)
WHOLE = {
    "range begun with a number, xor": ("s = 1; for k in range(n):; |s ^= s * 5; o[i] = s + a", "i8"),
    "range begun with a number, sum": ("s = 0; for k in range(n):; |s ^= a + s; o[i] = s", "i8"),
    "range begun with a value, xor": ("s = a; for k in range(n):; |s ^= s * 5; o[i] = s", "i8"),
    "from a thread's place": ("j = cuda.threadIdx.x; while j < n:; |a += y[j]; |j += cuda.blockDim.x; o[i] = a", "f4"),
    "from a thread of the grid": ("j = i; while j < n:; |a += y[j]; |j += cuda.blockDim.x; o[i] = a", "f4"),
    "remainder between barriers": ("for k in range(n):; |a += y[(i + 5) % (n - 3)]; |cuda.syncthreads(); o[i] = a", "f4 i8"),
    "quotient between barriers": ("for k in range(n):; |y[k] = (i + 5) // (n - 3); |cuda.syncwarp(); o[i] = a", "i8"),
    "remainder beside a shuffle": (
        "for k in range(n):; |a += y[(i + 5) % (n - 3)]; |a += cuda.shfl_xor_sync(-1, a, 1); o[i] = a", "f4 i8"),
    "exchanged": ("v = cuda.shfl_down_sync(-1, a, 1); o[i] = v * a + v", "f4 f8 i4 i8"),
    "exchanged and divided": ("v = cuda.shfl_xor_sync(-1, a, 2); o[i] = a / (v + 1)", "f4 f8"),
    "exchanged in rounds": ("h = 16; while h > 0:; |a += cuda.shfl_down_sync(-1, a, h); |h //= 2; o[i] = a", "f4 f8 i8"),
    "added to a counter": ("old = cuda.atomic.add(y, 0, a); o[i] = (old + a) * old", "f4 f8 i8"),
    "rotated": ("v = a ^ x[i + 1]; o[i] = (v << 7) | (v >> 25)", "u4"),
    "rotated twice": ("v = a ^ x[i + 1]; v = uint32((v << 7) | (v >> 25)) ^ a; o[i] = (v << 9) | (v >> 23)", "u4"),
    "window behind a place": ("s = float32(0); for k in range(16):; |j = i - k; |if j >= 0:; ||s += x[j]; o[i] = s", "f4"),
    "window around a place": (
        "s = float32(0); for k in range(9):; |j = i - 4 + k; |if j >= 0 and j < n:; ||s += x[j]; o[i] = s", "f4"),
    "tree over a tuple": (TREE.format("for h in (16, 8, 4, 2, 1):; |if t < h:; ||s[t] += s[t + h]"), "f4"),
    "tree over a range": (TREE.format("for k in range(4, -1, -1):; |if t < 1 << k:; ||s[t] += s[t + (1 << k)]"), "f4"),
    "tree without a sum": (TREE.format("for h in (16, 8, 4, 2, 1):; |if t < h:; ||s[t] = s[t + h]"), "f4"),
    "counted on, insertion": (
        "w = cuda.local.array(9, float32); m = 0; for k in range(9):; |v = x[i + k]; |p = m; "
        "|while p > 0 and w[p - 1] > v:; ||w[p] = w[p - 1]; ||p -= 1; |w[p] = v; |m += 1; o[i] = w[4] + a", "f4"),
    "counted on, nested": (
        "w = cuda.local.array(9, float32); m = 0; for k in range(3):; |for l in range(3):; ||w[m] = x[i + l + 4 * k]; "
        "||m += 1; for k in range(9):; |for j in range(8 - k):; ||if w[j] > w[j + 1]:; |||w[j], w[j + 1] = w[j + 1], w[j]; "
        "o[i] = w[4] + a", "f4"),
}  # fmt: skip
PLACES = {
    "element": "y[x[i]]",
    "a constant behind it": "y[x[i] + 3]",
    "two": "y[x[i]] + y[x[i] + 1]",
    "masked": "y[x[i] & 7]",
    "looked up twice": "y[x[x[i]]]",
}


def _lines(body: str, depth: int) -> str:
    """Statements, each on its line; `|`: one more indentation."""
    found = []
    for each in body.split("; "):
        statement = each.strip().lstrip("|")
        inside = len(each.strip()) - len(statement)
        found.append("    " * (depth + inside) + statement + "\n")
    return "".join(found)


def _loop(loop: str, body: str, result: str) -> str:
    lines = loop.replace("{body}", _lines(body, 1)).splitlines()
    return BEGIN + "".join(f"    {each}\n" for each in lines) + f"    o[i] = {result}\n"


def _all() -> Iterator[tuple[str, str]]:
    """Names, the last part of which is the type of `x`, and sources."""
    for of, loop in LOOPS.items():
        for name, body in ROUND.items():
            if of == "one condition" and name not in GROWS:
                continue
            for result in ("a", "b", "a - b")[:: 2 if name == "recurrence" else 1]:  # its `b` never changes
                for each in ("f4", "f8"):
                    if result == "a - b" or each == "f4":
                        yield f"{of}, {name}, {result}, {each}", _loop(loop, body, result)
    for of, loop in GOING.items():
        for name, body in ARMS.items():
            for each in ("f4", "f8", "i4", "i8"):
                yield f"{of}, {name}, {each}", _loop(loop, body, "a - b + c + at")
    for name, body in COUNTED.items():
        yield f"counted, {name}, f4", _loop("j = 0\nwhile j < n:\n{body}    j += 1\n", body, "a - b")
    inside = "for k in range(4):\n    cuda.syncthreads()\n    j = 0\n    while j < n:\n    {body}        j += 1\n"
    for name in ("1 products", "8 products"):
        lines = inside.replace("    {body}", _lines(COUNTED[name], 2)).splitlines()
        yield f"counted inside, {name}, f4", BEGIN + "".join(f"    {each}\n" for each in lines) + "    o[i] = a - b\n"
    for of, loop in ENDS.items():
        for name in ("x[7]", "x[j]"):
            body = f"a = a * b + {name}; if a >= c + 100000:; |break"
            yield f"ends, {of}, {name}, f4", _loop(loop, body, "a - b")
    for where, body in BROKEN.items():
        for value in ("a * b + x[j]", "a + x[(i + j) & 255]"):
            for rounds in (64, 500):
                loop = f"for j in range({rounds}):\n{{body}}"
                yield f"broken {where}, {rounds} rounds, {value}, f4", _loop(loop, body.format(value), "a - b")
    for name, loop in BOUNDED.items():
        for rounds in (4, 8, 16) if "in a loop" in name else (4, 16, 64, 200):
            yield f"bounded, {name}, {rounds}, f4", _loop(loop.replace("R", str(rounds)), "pass", "a - b + c + k")
    for name, (body, dtypes) in WHOLE.items():
        for each in dtypes.split():
            yield f"whole, {name}, {each}", f"{HEAD}    i = cuda.grid(1)\n    a = x[i]\n{_lines(body, 1)}"
    for name, place in PLACES.items():
        for each in ("u1", "u4"):
            for other in ("f4", "f8", "u1"):
                yield f"place, {name}, {other}, {each}", f"{HEAD}    i = cuda.grid(1)\n    o[i] = {place}\n"


KERNELS = dict(_all())
OFF = (  # by more than an eighth: copies that coincide, or that are made although another order would do without
    "two conditions, name and sum, a - b, f8",
    "two conditions, square, a - b, f8",
    "break first, square, a - b, f8",
    "break first, three, a - b, f8",
    "break last, old one, b, f4",
    "break last, old one, a - b, f4",
    "break last, old one, a - b, f8",
    "break last, three, a - b, f8",
    *(f"bounded, asked of memory, {rounds}, f4" for rounds in (16, 64, 200)),  # its address
    *(f"bounded, in a loop{each}, f4" for each in (", 4", ", 8", ", upwards, 16")),
    *(f"whole, {each}" for each in ("remainder between barriers, f4", "remainder between barriers, i8")),
    "whole, quotient between barriers, i8",  # what a division does with its divisor alone
    "whole, counted on, insertion, f4",
    "whole, window behind a place, f4",  # what the array's parameter is read for, in each round
)


def arguments(name: str) -> tuple[object, ...]:
    *_, other, dtype = name.split(", ")
    rng = np.random.default_rng(5)
    x = rng.random(ELEMENTS) * 0.3 if dtype.startswith("f") else rng.integers(1, 90, ELEMENTS)
    results = other if name.startswith("place") else dtype
    return x.astype(dtype), np.ones(ELEMENTS, results), np.zeros(ELEMENTS, results), ROUNDS


def simulated(name: str) -> int:
    """The instructions that the simulated GPU counts."""
    kernel = others.function_of(KERNELS[name], {})
    record = Session(output=lambda line: None).launch(kernel, GRID, BLOCK, arguments(name))
    return record.compiled.issued_warp_instructions


def count() -> dict[str, int]:
    """By kernel: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, int] = {}
    head = f"import math\n\nfrom numba import cuda, {', '.join(TYPES.values())}\n\n\n@cuda.jit\n"
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text) in enumerate(KERNELS.items()):
            carried = carried_out(from_text(head + text, Path(folder), number), (GRID,), (BLOCK,), arguments(name))
            found[name] = int(carried.summary()["warp_instructions"])
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
