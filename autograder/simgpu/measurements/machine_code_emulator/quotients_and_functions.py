"""How many instructions machine code has for quotients, functions of `math`, bits, arms, loops and rounds.

    python -m autograder.simgpu.measurements.machine_code_emulator.quotients_and_functions   # wheels, cc; no GPU; minutes

Writes quotients_and_functions.json: the warp instructions of each kernel, by the emulator. facts/arithmetic.py,
facts/calls.py, facts/short_arms.py, facts/loop_costs.py and facts/written_out.py are held to it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Options, Reference
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator.integer_halves import from_text

RESULT = Path(__file__).with_name("quotients_and_functions.json")
GRID, BLOCK, WARPS = 2, 128, 8
TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "uint8")
HEAD = "def kernel(a, e, q, w, x, y, u, v, g, o, d, p, n):\n    i = cuda.grid(1)\n"
"""a: float32, e: float64, q, w: int32, x, y: int64, u, v: uint32, g: uint8; o, d, p: results of 4, 8 bytes, and whole."""

LONG = "s = u[i]\nr = 0\nwhile r < 40:\n    s = uint32(s * uint32(1664525) + uint32(1013904223))\n    r += 1\n"
QUOTIENTS = {
    "unsigned by unsigned": "p[i] = u[i] % v[i]",
    "unsigned quotient": "p[i] = u[i] // v[i]",
    "unsigned by 6": "p[i] = u[i] % uint32(6)",
    "half of it by 6": "p[i] = uint32(u[i] >> uint32(16)) % uint32(6)",
    "random, by 6": f"{LONG}    if s % uint32(6) == uint32(5):\n        break\np[i] = r",
    "half of random, by 6": f"{LONG}    if uint32(s >> uint32(16)) % uint32(6) == uint32(5):\n        break\np[i] = r",
    "bytes by 6": "p[i] = g[i] % 6",
    "bytes by 10": "p[i] = g[i] % 10",
    "quotient of bytes": "p[i] = g[i] // 10",
    "both of bytes": "p[i] = g[i] // 10 + 1000 * (g[i] % 10)",
    "masked by 5": "p[i] = (q[i] & 1023) % 5",
    "masked to 17 bits by 5": "p[i] = (q[i] & 131071) % 5",
    "bytes in a loop": "c = 0\nfor k in range(n):\n    c += g[i + k] % 10\np[i] = c",
    "sum of bytes by 10": "p[i] = (g[i] + g[i + 1]) % 10",
    "int32 by 7": "p[i] = q[i] % 7",
    "int32 by int32": "p[i] = q[i] % w[i]",
    "quotient of int32": "p[i] = q[i] // w[i]",
    "int64 by int64": "p[i] = x[i] % y[i]",
    "quotient of int64": "p[i] = x[i] // y[i]",
    "divides": "if q[i] % w[i] == 0:\n    p[i] = 1",
    "divisors": "c = 0\nm = q[i]\nfor k in range(1, n):\n    if m % k == 0:\n        c += 1\np[i] = c",
    "divisors of int64": "c = 0\nm = x[i]\nfor k in range(1, n):\n    if m % k == 0:\n        c += 1\np[i] = c",
    "digits": "m = q[i]\nc = 0\nwhile m > 0:\n    c += m % 10\n    m //= 10\np[i] = c",
    "Euclid": "m = q[i]\nk = w[i]\nwhile k != 0:\n    r = m % k\n    m = k\n    k = r\np[i] = m",
}
TURNED = "uint32((s << uint32({})) | (s >> uint32({})))"
ROTATIONS = {
    "rotation": f"s = u[i]\np[i] = {TURNED.format(7, 25)}",
    "no rotation": f"s = u[i]\np[i] = {TURNED.format(7, 24)}",
    "rotation to the right": f"s = u[i]\np[i] = {TURNED.format(19, 13)}",
    "rotations by a list": f"s = u[i]\nfor k in range(n):\n    s = uint32({TURNED.format(5, 27)} ^ u[i + k])\np[i] = s",
    "rounds of four": f"s = u[i]\nt = v[i]\nfor k in range(4):\n    t = uint32(t + {TURNED.format(11, 21)})\n"
    "    s = uint32(s ^ t)\np[i] = uint32(s + t)",
}
ROUNDS = {
    "rows guarded": "t = float32(0)\nfor k in range(8):\n    if q[i + k] > 100:\n        t += a[i + 32 * k]\no[i] = t",
    "stores guarded": "z = a[i]\nfor k in range(8):\n    if q[i + k] > 100:\n        o[i + 32 * k] = z",
    "local by a while": "s = cuda.local.array(64, float32)\nk = 0\nwhile k < n:\n    s[k] = a[i + k]\n    k += 1\n"
    "k = 0\nt = float32(0)\nwhile k < n:\n    t += s[k]\n    k += 1\no[i] = t",
    "local by steps of two": "s = cuda.local.array(64, float32)\nk = 0\nwhile k < 2 * n:\n    s[k] = a[i + k]\n    k += 2\n"
    "o[i] = s[q[i] & 31]",
}
BODIES = {  # of a `for` loop, and whether four rounds of it are done at a time
    "a logarithm": ("t += math.log(a[i + k])", True),
    "three logarithms": ("t += math.log(a[i + k])\nt += math.log(t)\nt += math.log(t)", False),
    "four logarithms": ("t += math.log(a[i + k])\nt += math.log(t)\nt += math.log(t)\nt += math.log(t)", False),
    "a sine": ("t += math.sin(a[i + k])", False),
    "three rounds": ("for j in range(3):\n    t += a[i + j + k]", True),
}
BEHIND = {  # a loop's rounds: in which a quotient is left where it is, behind a condition, and where it is not
    "a quotient": "t += a[i + k] * (q[0] // n)",
    "a quotient behind a condition": "if a[i + k] > 0.5:\n    t += a[i + k] * (q[0] // n)",
    "a quotient behind a way out": "if a[i + k] > 0.5:\n    continue\nt += a[i + k] * (q[0] // n)",
    "a quotient of floats behind a condition": "if a[i + k] > 0.5:\n    t += a[i + k] * (z / y[0])",
    "a root behind a condition": "if a[i + k] > 0.5:\n    t += a[i + k] * math.sqrt(z)",
    "a root": "t += a[i + k] * math.sqrt(z)",
}
STEPS = {"by ones": "1", "by what is given": "q[0]"}  # of a while loop with an atomic: four rounds at a time, or one
BITS = {
    "of three": "p[i] = u[i] ^ v[i] ^ u[i + 7]",
    "of four": "p[i] = (u[i] ^ v[i]) | (u[i + 7] & v[i + 7])",
    "by a list": "s = u[i]\nfor k in range(n):\n    s = uint32((s & u[i + k]) ^ v[i + k])\np[i] = s",
    "of 64 bits": "s = uint64(x[i])\nfor k in range(n):\n    s ^= uint64(x[i + k]) & s\np[i] = s",
    "high and low half": "s = uint64(u[i]) * uint64(0xD2511F53)\n"
    "p[i] = uint32(s >> uint64(32)) ^ uint32(s & uint64(0xFFFFFFFF))",
}
SHARED = "s = cuda.shared.array(128, float32)\nt = cuda.threadIdx.x\ns[t] = a[i]\ncuda.syncthreads()\n"
TREES = {
    "a tree": f"{SHARED}w = 64\nwhile w > 0:\n    if t < w:\n        s[t] += s[t + w]\n"
    "    cuda.syncthreads()\n    w //= 2\no[i] = s[0]",
    "a tree by distances": f"{SHARED}w = 1\nwhile w < 128:\n    r = 2 * w * t\n    if r + w < 128:\n"
    "        s[r] += s[r + w]\n    cuda.syncthreads()\n    w *= 2\no[i] = s[0]",
}
AGAIN = {  # values that nested unrolled loops come back to
    "steps of a sort": f"{SHARED}w = 2\nwhile w <= 128:\n    r = w // 2\n    while r > 0:\n        k = t ^ r\n"
    "        if k > t and (s[t] > s[k]) == ((t & w) == 0):\n            z = s[t]\n            s[t] = s[k]\n"
    "            s[k] = z\n        cuda.syncthreads()\n        r //= 2\n    w *= 2\no[i] = s[t]",
    "clamped rows": "c = 0\nt = cuda.threadIdx.x\nfor b in range(-2, 3):\n    for k in range(-2, 3):\n"
    "        c += q[min(max(i + b, 0), 199) * 8 + min(max(t + k, 0), 7)]\np[i] = c",
}
SIDES = {  # all lanes work out the addresses of both sides
    "a side of a tree": "k = q[i]\nfor r in range(n):\n    k = w[k] if a[k] > float32(0.5) else q[k]\np[i] = k",
}
ARMS = {
    "sums of four and two": "t += float32(4) * a[i + k]\n|t += float32(2) * a[i + k]",
    "doubles": "t += 4 * e[i + k]\n|t += 2 * e[i + k]",
    "one loaded before": "z = a[i + k]\n!t += float32(4) * z\n|t += float32(2) * z",
    "exponentials": "t += 4 * math.exp(e[i + k])\n|t += 2 * math.exp(e[i + k])",
}
CONDITIONS = {
    "either, or both": "a[k] < z or (a[k] == z and k < i)",
    "either": "a[k] < z or a[k] > float32(0.9)",
    "both": "a[k] == z and k < i",
}
SINGLES = {  # of numbers of the source, which Numba takes for float64, and of float32: what is stored as float32
    "half": "o[i] = 0.5 * a[i]",
    "double": "o[i] = 2 * a[i]",
    "one more": "o[i] = a[i] + 1.0",
    "mean of two": "o[i] = (a[i] + a[i + 1]) / 2",
    "converted": "o[i] = float32(0.25 * (a[i] + a[i + 1])) * a[i + 2]",
    "a tenth": "o[i] = 0.1 * a[i]",
    "two steps": "o[i] = 2 * a[i] + a[i + 1]",
    "updated": "o[i] *= 0.5",
    "a third": "o[i] = a[i] / 3",
    "reciprocal": "o[i] = 1.0 / a[i]",
}
NUMBERS = {
    "reciprocal of 64 bits": "d[i] = 1 / e[i]",
    "of a root": "d[i] = 1.0 / math.sqrt(e[i])",
    "a negative power": "d[i] = e[i] ** -2",
    "two numbers": "d[i] = 2.0 * e[i] - 1.0",
    "two numbers of 32 bits": "o[i] = float32(0.3) * a[i] + float32(0.7)",
    "a circle": "d[i] = math.pi * e[i] * e[i]",
    "least of two": "d[i] = max(e[i], e[i + 1])",
    "least of three": "d[i] = min(e[i], e[i + 1], e[i + 2])",
    "least of three of 32 bits": "o[i] = min(a[i], a[i + 1], a[i + 2])",
    "greatest of three integers": "p[i] = max(x[i], x[i + 1], x[i + 2])",
    "both of an angle": "z = a[i]\no[i] = math.sin(z) + math.cos(z)",
    "both of an angle of 64 bits": "z = e[i]\nd[i] = math.sin(z) * math.cos(z)",
    "both of two numbers": "r, m = divmod(a[i], a[i + 1])\no[i] = r",
    "unsigned of 64 bits": "p[i] = uint64(u[i]) * uint64(v[i]) // uint64(v[i + 1])",
    "a power": "d[i] = e[i] ** (q[i] & 7)",
    "a power of 32 bits": "o[i] = a[i] ** (q[i] & 7)",
    "a whole power": "p[i] = 3 ** (q[i] & 15)",
    "exp2": "o[i] = math.exp2(a[i])",
    "gamma": "d[i] = math.gamma(e[i] + 1)",
    "of an integer": "d[i] = math.log(x[i])",
    "logistic sum": "t = 0.0\nfor k in range(n):\n    t += 1 / (1 + math.exp(-e[i + k]))\nd[i] = t",
    "exponential and root": "t = 0.0\nfor k in range(n):\n    t += math.exp(-e[i + k]) * math.sqrt(e[i + k])\nd[i] = t",
    "sum of squares": "t = 0.0\nfor k in range(n):\n    t += e[i + k] ** 2\nd[i] = t",
    "sum of tenths": "t = 0.0\nfor k in range(n):\n    t += 0.1 * e[i + k]\nd[i] = t",
    "unsigned remainders of a list": "s = uint64(u[i])\nm = uint64(v[i])\nfor k in range(n):\n"
    "    s = (s * s + uint64(k)) % m\np[i] = s",
    "a count of bits": "p[i] = cuda.popc(x[i]) + cuda.clz(u[i])",
}
IN_A_TREE = "    cuda.syncthreads()\n    w = 64\n    while w > 0:\n        if t < w:\n            s[t] += s[t + w]\n"
IN_A_SCAN = (
    "    cuda.syncthreads()\n    w = 1\n    while w < 128:\n        y = float32(0)\n"
    "        if t >= w:\n            y = s[t - w]\n"
)
LONGER = {  # a few rules together
    "squares of differences": "c = 0\nfor k in range(n):\n    z = q[i + k] - w[i + k]\n    c += z * z\nq[i + 600] = c",
    "exponentials of quotients": "d[i] = math.exp(e[i] / 7.0) + math.exp(e[i + 1] / e[i + 2])",
    "error functions of quotients": "d[i] = math.erf(e[i] / 7.0) + math.erf(e[i + 1] / e[i + 2])",
    "exponentials and a root": "d[i] = math.exp(e[i]) + math.sqrt(e[i + 1]) + math.exp(e[i + 2])",
    "remainders by a counter": "c = 0\nk = 2\nwhile k < n:\n    c += x[i] % k\n    k += 1\np[i] = c",
    "quotients by a counter": "c = 0\nk = 1\nwhile k < n:\n    c += x[i] // k\n    k += 1\np[i] = c",
    "remainders of a counter": "c = 0\nk = 0\nwhile k < n:\n    c += (k % n) * x[i]\n    k += 1\np[i] = c",
    "remainders by what a range counts": "c = 0\nfor k in range(n):\n    c += x[i] % (k + 2)\np[i] = c",
    "as many rounds as an int32": "t = a[i]\nfor k in range(w[i]):\n    t = t * t + float32(1)\no[i] = t",
    "threads along a row, again and again": "t = float32(0)\nj = cuda.threadIdx.x\nfor r in range(n):\n"
    "    for k in range(j, 600, cuda.blockDim.x):\n        t += a[r + k]\no[i] = t",
    "a tree in a loop": f"{SHARED}z = float32(0)\nfor r in range(n):\n    s[t] = a[i + r]\n{IN_A_TREE}"
    "        cuda.syncthreads()\n        w //= 2\n    z += s[0]\n    cuda.syncthreads()\no[i] = z",
    "a scan in a loop": f"{SHARED}z = float32(0)\nfor r in range(n):\n    s[t] = a[i + r]\n{IN_A_SCAN}"
    "        cuda.syncthreads()\n        s[t] += y\n        cuda.syncthreads()\n        w *= 2\n    z += s[t]\no[i] = z",
    "one of two by turns": f"{SHARED}z = a[i]\nfor k in range(48):\n    z = z * s[(t >> 1) + (k & 1)] + a[i]\no[i] = z",
    "up a tree and down again": f"{SHARED}w = 1\nwhile w < 128:\n    s[t] += a[i + w]\n    cuda.syncthreads()\n    w *= 2\n"
    "while w > 1:\n    w //= 2\n    s[t] += a[i + 3 * w]\n    cuda.syncthreads()\no[i] = s[t]",
    "every second of a few": "z = a[i]\nfor k in range(12):\n    z += a[k // 2]\no[i] = z",
    "every second of many": "z = a[i]\nfor k in range(48):\n    z += a[k // 2]\no[i] = z",
}
HALF = "z = a[0]\nif a[i] > float32(0.5):\n    {}\nelse:\n    {}"
BEGUN = {  # both arms begin with a store to one element
    "a number or another": HALF.format("o[i] = 1", "o[i] = 2"),
    "an element or an argument": HALF.format("o[i] = a[i]", "o[i] = n"),
    "an element or its multiple": HALF.format("o[i] = a[i]", "o[i] = a[i] * z"),
    "a sum or a difference": HALF.format("o[i] = a[i] + z", "o[i] = a[i] - z"),
    "a multiple, further on": HALF.format("o[i + 200] = a[i]", "o[i + 200] = a[i] * z"),
    "two numbers in place": HALF.format("a[i] = 1", "a[i] = 2"),
    "to two arrays": HALF.format("o[i] = 1\n    d[i] = 1", "o[i] = 2\n    d[i] = 3"),
    "or else a third": "z = a[0]\nif a[i] > float32(0.7):\n    o[i] = a[i]\nelif a[i] > float32(0.3):\n    o[i] = n\n"
    "else:\n    o[i] = a[i] * z",
    "one of three numbers": "if a[i] > float32(0.7):\n    o[i] = 1\nelif a[i] > float32(0.3):\n    o[i] = 2\n"
    "else:\n    o[i] = 3",
    "in a loop": "for k in range(i, 512, 256):\n    if a[k] > float32(0.5):\n        o[k] = a[k]\n"
    "    else:\n        o[k] = n",
}
WINDOW = "z = float32(0)\nfor k in range(-2, 3):\n"
GUARDED = {  # a condition in each round of an unrolled loop says that an index is not negative
    "so many before": "z = a[i]\nfor k in range(1, 5):\n    if i >= k:\n        z += a[i - k]\no[i] = z",
    "so many before, in two arrays": "z = a[i]\nfor k in range(1, 5):\n    if i >= k:\n        z += a[i - k] * w[i - k]\n"
    "o[i] = z",
    "twice as many each time": "z = a[i]\nfor k in range(4):\n    if i >= 1 << k:\n        z += a[i - (1 << k)]\no[i] = z",
    "a window": f"{WINDOW}    j = i + k\n    if 0 <= j < 256:\n        z += a[j]\no[i] = z",
    "a window of an array": f"{WINDOW}    j = i + k\n    if j >= 0 and j < a.size:\n        z += a[j]\no[i] = z",
    "a window and a condition": f"{WINDOW}    if i + k >= 0 and n > 3:\n        z += a[i + k]\no[i] = z",
    "the largest before": "z = a[i]\nfor k in range(1, 5):\n    if i >= k:\n        z = max(z, a[i - k])\no[i] = z",
    "in shared memory": f"{SHARED}cuda.syncthreads()\nz = a[i]\nfor k in range(1, 5):\n    if t >= k:\n"
    "        z += s[t - k]\no[i] = z",
    "in shared memory, by powers": f"{SHARED}cuda.syncthreads()\nz = a[i]\nfor k in range(4):\n    if t >= 1 << k:\n"
    "        z += s[t - (1 << k)]\no[i] = z",
}
SQUARED = "z = e[i] * e[i]\nt = z + e[i]\n"
HABITS = {  # of kernels as people write them
    "bits side by side": "c = 0\nfor k in range(10):\n    c |= ((q[i] >> k) & 1) << (2 * k)\n"
    "    c |= ((w[i] >> k) & 1) << (2 * k + 1)\np[i] = c",
    "a root step by step": "z = 0.5 * (1 + e[i])\nfor k in range(20):\n    t = 0.5 * (z + e[i] / z)\n"
    "    if abs(t - z) < 1e-12:\n        break\n    z = t\nd[i] = z",
    "one more, of float64": f"{SQUARED}if z < 0.5:\n    z += t\nd[i] = z",
    "two more, of float64": f"{SQUARED}if z < 0.5:\n    z += t\n    t += e[i]\nd[i] = z * t",
    "one or another, of float64": "z = e[i]\nif z < 0.5:\n    z = z * 3\nelse:\n    z = z + 1\nd[i] = z",
    "a long arm of float64": f"{SQUARED}if z < 0.5:\n    z += (z + t) * (e[i] + t) * (z - t) * (e[i] - z)\nd[i] = z * t",
    "eight times, of float64": "z = e[i]\nfor k in range(8):\n    if z < 0.5:\n        z += 1.5\nd[i] = z",
    "multiplied by a tenth more": "z = e[i]\nfor k in range(8):\n    z = z * 1.1 + 0.3\nd[i] = z",
    "compared with a tenth": "z = e[i]\nfor k in range(8):\n    if e[i + k] < 0.1:\n        z += e[i]\nd[i] = z",
    "while it is not 0": "m = q[i]\nc = 0\nwhile m:\n    m >>= 1\n    c += 1\np[i] = c",
    "on to where it is more": "k = 0\nwhile k < 50 and a[k + 1] < a[i]:\n    k += 1\no[i] = a[k] + a[k + 1]",
    "until it leaves a circle": "z = e[i]\nt = e[i + 1]\nc = 0\nwhile z * z + t * t < 4 and c < n:\n"
    "    r = z * z - t * t - 0.7\n    t = 2 * z * t + 0.27\n    z = r\n    c += 1\np[i] = c",
    "fewer rounds each time": "z = float32(0)\nfor r in range(n):\n    for k in range(r, n):\n        z = z * a[i] + a[i]\n"
    "o[i] = z",
}
FAST = {  # with fastmath=True
    "fast quotient": "o[i] = a[i] / a[i + 1]",
    "fast root": "o[i] = math.sqrt(a[i])",
    "fast sine": "o[i] = math.sin(a[i]) * math.exp(a[i + 1])",
    "fast power": "o[i] = a[i] ** a[i + 1]",
    "fast quotients of a list": "t = float32(0)\nfor k in range(n):\n    t += a[i + k] / a[k]\no[i] = t",
}
FUNCTIONS = {
    "exp": "z", "log": "z + {1.5}", "sin": "z", "tanh": "z", "erf": "z", "sqrt": "z", "log10": "z + {1.5}", "sinh": "z",
}  # fmt: skip


def _of_functions() -> Iterator[tuple[str, str]]:
    """Each once, in a `for` loop, in a `while` loop that data ends, and twice side by side."""
    for name, argument in FUNCTIONS.items():
        for kind, source, out in (("float32", "a", "o"), ("float64", "e", "d")):
            given = argument.replace("{1.5}", "float32(1.5)" if kind == "float32" else "1.5")
            call, zero = f"math.{name}({given})", f"{kind}(0)"
            yield f"{name}, {kind}", f"z = {source}[i]\n{out}[i] = {call}"
            loop = f"    z = {source}[i + k]\n    t += {call}\n"
            yield f"{name}, {kind}, for", f"t = {zero}\nfor k in range(n):\n{loop}{out}[i] = t"
            begin = f"t = {zero}\nk = 0\nwhile k < n and t < {kind}(1e9):\n"
            yield f"{name}, {kind}, while", f"{begin}{loop}    k += 1\n{out}[i] = t"
            other = call.replace("z", "t")
            yield f"{name}, {kind}, twice", f"z = {source}[i]\nt = {source}[i + 7]\n{out}[i] = {call} + {other}"


def _of_loops() -> Iterator[tuple[str, str]]:
    """With bodies of all sizes, with quotients that stay, and with atomics."""
    for name, (body, _) in BODIES.items():
        inside = "".join(f"    {line}\n" for line in body.split("\n"))
        yield f"for {name}", f"t = float32(0)\nfor k in range(n):\n{inside}o[i] = t"
    for name, body in BEHIND.items():
        inside = "".join(f"    {line}\n" for line in body.split("\n"))
        yield f"rounds with {name}", f"t = float32(0)\nz = a[i]\nfor k in range(n):\n{inside}o[i] = t"
    for name, step in STEPS.items():
        yield f"atomics {name}", f"k = 0\nwhile k < n:\n    cuda.atomic.add(o, k, a[i + k])\n    k += {step}"


def _of_arms() -> Iterator[tuple[str, str]]:
    for name, text in ARMS.items():
        before, _, arms = text.rpartition("!")
        one, other = arms.split("|")
        out = "d" if "e[" in text else "o"
        inside = f"    if k % 2 == 1:\n        {one.strip()}\n    else:\n        {other}\n"
        begin = f"t = float{64 if out == 'd' else 32}(0)\nfor k in range(1, n):\n"
        yield f"arms: {name}", begin + (f"    {before.strip()}\n" if before else "") + inside + f"{out}[i] = t"


def _of_conditions() -> Iterator[tuple[str, str]]:
    for name, condition in CONDITIONS.items():
        yield f"condition: {name}", f"z = a[i]\nc = 0\nfor k in range(n):\n    if {condition}:\n        c += 1\np[i] = c"


KERNELS: dict[str, str] = {
    **QUOTIENTS, **ROTATIONS, **ROUNDS, **dict(_of_functions()), **dict(_of_arms()), **dict(_of_conditions()),
    **dict(_of_loops()), **{f"bits {name}": text for name, text in BITS.items()}, **TREES,
    **AGAIN, **SIDES, **SINGLES, **NUMBERS, **LONGER, **BEGUN, **GUARDED, **HABITS, **FAST,
}  # fmt: skip


def text(name: str) -> str:
    """The kernel's source."""
    return HEAD + "".join(f"    {line}\n" for line in KERNELS[name].split("\n"))


def arguments() -> tuple[object, ...]:
    rng = np.random.default_rng(5)
    long = 2048
    small = [rng.integers(1, 200, long).astype(kind) for kind in (np.int32, np.int32, np.int64, np.int64)]
    unsigned = rng.integers(0, 2**32, long).astype(np.uint32), rng.integers(1, 200, long).astype(np.uint32)
    results = [np.zeros(512, kind) for kind in (np.float32, np.float64, np.int64)]
    a, e, g = rng.random(long).astype(np.float32), rng.random(long), rng.integers(0, 255, long).astype(np.uint8)
    return a, e, *small, *unsigned, g, *results, 20


def function_of(source: str, values: Mapping[str, object]) -> Function:
    """A kernel for the simulated GPU; `values`: what else its source may name."""
    names: dict[str, object] = {"cuda": Reference("numba.cuda"), "math": Reference("math"), **values}
    names |= {each: TypeReference(f"numba.{each}", np.dtype(each)) for each in TYPES}
    return Function.from_text(source, "kernel.py", names)


def kernel_of(name: str) -> Function:
    """The kernel for the simulated GPU."""
    return replace(function_of(text(name), {}), options=Options(fastmath=name in FAST))


def simulated(name: str) -> int:
    """The instructions that the simulated GPU counts."""
    record = Session(output=lambda line: None).launch(kernel_of(name), GRID, BLOCK, arguments())
    return record.compiled.issued_warp_instructions


def count() -> dict[str, int]:
    """By kernel: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(KERNELS):
            head = f"import math\n\nfrom numba import cuda, {', '.join(TYPES)}\n\n\n@cuda.jit(fastmath={name in FAST})\n"
            source = head + text(name)
            carried = carried_out(from_text(source, Path(folder), number), (GRID,), (BLOCK,), arguments())
            summary = carried.summary()
            found[name] = int(summary["warp_instructions"])
            if name in SIDES and summary["thread_instructions"] != 32 * summary["warp_instructions"]:
                raise AssertionError(f"{name}: lanes part")
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
