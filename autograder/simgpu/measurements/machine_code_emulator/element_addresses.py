"""How many instructions machine code has for elements of arrays and for loops over them: small kernels, written as text.

    python -m autograder.simgpu.measurements.machine_code_emulator.element_addresses   # wheels and cc; no GPU; minutes

Writes element_addresses.json: the warp instructions of each kernel, by the emulator. facts/addresses.py is held to it, and
what facts/arithmetic.py, facts/halves.py, facts/literals.py and facts/loop_costs.py say of numbers and loops.
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

RESULT = Path(__file__).with_name("element_addresses.json")
RECORD = np.dtype([("x", np.float32), ("y", np.float32), ("k", np.int32), ("z", np.float32)], align=True)
HEAD = "def kernel(a, b, m, n, v, q, w, r, g, o, p, u):\n"
"""a, b, o: vectors of float32; m, n, p: matrices; v, u: volumes; q, w: int32; r: records; g: uint8."""

VECTORS = {
    "two of a pair": "o[i] = a[2 * i] + a[2 * i + 1]",
    "four of a group": "o[i] = a[4 * i] + a[4 * i + 1] + a[4 * i + 2] + a[4 * i + 3]",
    "four of six": "o[i] = a[6 * i] + a[6 * i + 1] + a[6 * i + 2] + a[6 * i + 3]",
    "three of three": "o[i] = a[3 * i] + a[3 * i + 1] + a[3 * i + 2]",
    "group by a loop": "t = float32(0)\nfor k in range(4):\n    t += a[4 * i + k]\no[i] = t",
    "stores of a pair": "a[2 * i] = o[i]\na[2 * i + 1] = o[i]",
    "unrelated places": "j = q[i]\no[i] = a[i] + a[j]",
    "three unrelated": "j = q[i]\nk = q[j]\no[i] = a[i] + a[j] + a[k]",
    "two arrays unrelated": "j = q[i]\no[i] = a[j] + b[j]",
    "neighbours of unknown": "j = q[i]\no[i] = a[j] + a[j + 1]",
    "gathered": "o[i] = a[q[i]]",
    "record field": "o[i] = r[i].x",
    "record fields": "o[i] = r[i].x + r[i].y",
    "record update": "r[i].x += o[i]",
    "record updates": "r[i].x += o[i]\nr[i].y += o[i]",
    "record update by field": "r[i].x += r[i].y",
    "record set": "r[i].x = o[i]",
    "record set two": "r[i].x = o[i]\nr[i].y = o[i]",
    "record by name": "o[i] = r[i]['x']",
    "record held": "s = r[i]\no[i] = s.x * s.y",
    "record held by name": "s = r[i]\no[i] = s['x'] * s['y']",
    "record in arms": "s = r[i]\nif s.k == 2:\n    o[i] = s.x * s.y * float32(0.5)\nelse:\n    o[i] = s.x * s.y",
    "double constant": "o[i] = a[i] * 1.8",
    "double constant and sum": "o[i] = a[i] * 1.8 + 32.0",
    "double two constants": "o[i] = a[i] * 1.8 + 0.3",
    "double round constant": "o[i] = a[i] * 2.5",
    "const rows": "o[i] = m[0, i] + m[1, i] + m[2, i]",
    "const rows loop": "t = float32(0)\nfor k in range(8):\n    t += m[k, i]\no[i] = t",
    "const rows twice": "t = float32(0)\nfor k in range(8):\n    t += m[k, i]\nfor k in range(8):\n    m[k, i] = t",
    "const columns": "o[i] = m[i, 0] + m[i, 1] + m[i, 2]",
    "const columns loop": "t = float32(0)\nfor k in range(8):\n    t += m[i, k]\no[i] = t",
    "own row then const": "j = q[i]\no[i] = m[j, 0] + m[j, 1]",
    "const row gathered": "j = q[i]\no[i] = m[0, j] + m[1, j] + m[2, j]",
    "const row gathered loop": "j = q[i]\nt = float32(0)\nfor k in range(4):\n    t += m[k, j]\no[i] = t",
    "three dims middle": "o[i] = v[i, 0, 0] + v[i, 0, 1] + v[i, 1, 0] + v[i, 1, 1]",
    "three dims middle 3": "o[i] = v[i, 0, 0] + v[i, 1, 0] + v[i, 2, 0]",
    "three dims column": "o[i] = v[0, 1, i] + v[1, 1, i] + v[1, 2, i]",
    "const all": "o[i] = m[0, 0] + m[1, 1] + m[2, 1]",
    "uint8 mean": "g[i] = (g[i] * g[i + 1] + g[i + 2] * (255 - g[i])) // 255",
    "uint8 third": "g[i] = (g[i] + g[i + 1] + g[i + 2]) // 3",
    "uint8 mod": "g[i] = (g[i] + g[i + 1]) % 10",
    "rem by variable": "o[i] = (q[i] + q[i + 1]) % o.size",
    "and zero": "z = q[i]\nif z & 1 == 0:\n    o[i] = a[i]",
    "scaled var": "j = 2 * i\no[i] = a[j] + a[j + 1]",
    "scaled var guarded": "j = 2 * i\nif j + 1 < a.size:\n    o[i] = a[j] + a[j + 1]",
    "shifted": "o[i] = a[i << 1]",
    "tripled": "o[i] = a[3 * i]",
    "tripled twice": "o[i] = a[3 * i] + a[3 * i + 1]",
    "halved": "o[i] = a[i // 2]",
    "shifted right": "o[i] = a[i >> 1]",
    "plus one": "o[i] = a[i + 1]",
    "minus one": "o[i] = a[i - 1] + a[i]",
    "plus half": "o[i] = a[i + o.size]",
    "modulo": "o[i] = a[i % 16]",
    "masked": "o[i] = a[i & 15]",
    "guarded one": "if i > 0:\n    o[i] = a[i - 1] + a[i]",
    "guarded both": "if i > 0 and i < a.size - 1:\n    o[i] = a[i - 1] + a[i] + a[i + 1]",
    "flat": "y = i // 64\nx = i % 64\no[i] = a[y * 32 + x]",
    "two halves of thread": "o[i] = a[cuda.threadIdx.x] + a[cuda.threadIdx.x + 64]",
    "thread in block": "o[i] = a[cuda.blockIdx.x * 256 + cuda.threadIdx.x]",
}
LOOPS = {
    "while and": "k = q[i] % 8\nwhile k >= 0 and a[k] > o[i]:\n    a[k + 1] = a[k]\n    k -= 1\n",
    "while down": "k = q[i] % 8\nt = float32(0)\nwhile k >= 0:\n    t += a[k]\n    k -= 1\no[i] = t",
    "while down and": "k = q[i] % 8\nt = float32(0)\nwhile k >= 0 and a[k] < 2.0:\n    t += a[k]\n    k -= 1\no[i] = t",
    "while up and": "k = 0\nt = float32(0)\nwhile k < 8 and a[k] < 2.0:\n    t += b[k]\n    k += 1\no[i] = t",
    "while up to n": "k = 0\nt = float32(0)\nwhile k < q[i] and a[k] < 2.0:\n    t += a[k]\n    k += 1\no[i] = t",
    "while up": "k = 0\nt = float32(0)\nwhile k < q[i] % 16:\n    t += a[k]\n    k += 1\no[i] = t",
    "for reversed": "t = float32(0)\nfor k in range(q[i] % 16, -1, -1):\n    t += a[k]\no[i] = t",
    "for up": "t = float32(0)\nfor k in range(q[i] % 16):\n    t += a[k]\no[i] = t",
    "for two": "t = float32(0)\nfor k in range(q[i] % 16):\n    t += a[k] * b[k]\no[i] = t",
    "for two offset": "t = float32(0)\nfor k in range(q[i] % 16):\n    t += a[k] * b[k + i]\no[i] = t",
    "for from to": "t = float32(0)\nfor k in range(q[i] % 16, q[i + 1] % 32):\n    t += a[k]\no[i] = t",
    "for gather": "t = float32(0)\nfor k in range(q[i] % 16):\n    t += a[q[k]]\no[i] = t",
    "for gather csr": "t = float32(0)\nfor k in range(q[i] % 16, q[i + 1] % 32):\n    t += a[q[k]] * b[k]\no[i] = t",
    "for row": "t = float32(0)\nfor k in range(q[i] % 16):\n    t += m[i, k]\no[i] = t",
    "for row uniform": "t = float32(0)\nfor k in range(q[0] % 16 + 3):\n    t += m[i, k]\no[i] = t",
    "for row n": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[i, k]\no[i] = t",
    "for row two": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[i, k] * n[i, k]\no[i] = t",
    "for matvec": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[i, k] * a[k]\no[i] = t",
    "for column": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[k, i]\no[i] = t",
    "for row store": "for k in range(m.shape[1] % 32):\n    n[i, k] = m[i, k]\n",
    "for row update": "for k in range(m.shape[1] % 32):\n    m[i, k] *= a[i]\n",
    "for uniform 1d": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += a[k]\no[i] = t",
    "for uniform two": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += a[k] * b[k]\no[i] = t",
    "for uniform points": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[k, 0] * m[k, 1]\no[i] = t",
    "for strided": "t = float32(0)\nfor k in range(i, 600, 256):\n    t += a[k]\no[i] = t",
    "for strided grid": "for k in range(i, 600, cuda.gridsize(1)):\n    b[k] = a[k]\n",
    "for strided grid 2": "for k in range(cuda.grid(1), 2000, cuda.gridsize(1)):\n    b[k] = a[k]\n",
    "for dot 2d": "t = float32(0)\nfor k in range(m.shape[1] % 32):\n    t += m[i, k] * n[k, i]\no[i] = t",
    "for nested": (
        "t = float32(0)\n"
        "for h in range(q[i] % 4):\n"
        "    for k in range(q[i + 1] % 8):\n"
        "        t += m[h, k]\n"
        "o[i] = t"
    ),
    "for lookup byte": "t = 0\nfor k in range(q[i] % 16):\n    t += g[k]\no[i] = t",
    "chain": "z = i\nc = 0\nwhile z > 0 and c < 5:\n    z = q[z]\n    c += 1\no[i] = z",
    "bisect": (
        "lo = 0\n"
        "hi = 128\n"
        "while lo < hi:\n"
        "    mid = (lo + hi) // 2\n"
        "    if a[mid] < o[i]:\n"
        "        lo = mid + 1\n"
        "    else:\n"
        "        hi = mid\n"
        "o[i] = lo"
    ),
    "count if": "t = 0\nfor k in range(q[i] % 16):\n    if a[k] > 0.5:\n        t += 1\no[i] = t",
    "max loop": "t = a[0]\nfor k in range(q[i] % 16):\n    if a[k] > t:\n        t = a[k]\no[i] = t",
    "argmax loop": (
        "t = a[0]\n"
        "j = 0\n"
        "for k in range(q[i] % 16):\n"
        "    if a[k] > t:\n"
        "        t = a[k]\n"
        "        j = k\n"
        "o[i] = t + j"
    ),
    "break loop": "j = -1\nfor k in range(q[i] % 16):\n    if a[k] > 0.9:\n        j = k\n        break\no[i] = j",
    "continue loop": (
        "t = float32(0)\n"
        "for k in range(q[i] % 16):\n"
        "    if k == i:\n"
        "        continue\n"
        "    t += a[k]\n"
        "o[i] = t"
    ),
    "rem is zero": "z = 0\nif q[i] % q[i + 1] == 0:\n    z = 1\no[i] = z",
    "rem is one": "z = 0\nif q[i] % q[i + 1] == 1:\n    z = 1\no[i] = z",
    "rem 2 is zero": "z = 0\nif q[i] % 2 == 0:\n    z = 1\no[i] = z",
    "rem 2 is one": "z = 0\nif q[i] % 2 == 1:\n    z = 1\no[i] = z",
    "rem 3 is zero": "z = 0\nif q[i] % 3 == 0:\n    z = 1\no[i] = z",
    "i rem 2 is zero": "z = 0\nif i % 2 == 0:\n    z = 1\no[i] = z",
    "i rem 4 is zero": "if i % 4 == 0:\n    o[i] = a[i]",
    "mod loop": "x = 1\nfor k in range(q[i] % 16):\n    x = x * 3 % o.size\no[i] = x",
    "mod const loop": "x = 1\nfor k in range(q[i] % 16):\n    x = (x * 3 + k) % 1009\no[i] = x",
    "un k uniform": "x = a[i]\nfor k in range(m.shape[1] % 32):\n    x = x * float32(0.5) + float32(1)\no[i] = x",
    "un k size": "x = a[i]\nfor k in range(m.shape[1]):\n    x = x * float32(0.5) + float32(1)\no[i] = x",
    "un k if": (
        "x = a[i]\n"
        "y = b[i]\n"
        "for k in range(m.shape[1]):\n"
        "    y += float32(0.1) * x\n"
        "    if y < float32(0):\n"
        "        y = -y\n"
        "        x = x * float32(0.3)\n"
        "o[i] = x + y"
    ),
    "un k if count": (
        "x = a[i]\n"
        "y = b[i]\n"
        "z = 0\n"
        "for k in range(m.shape[1]):\n"
        "    y += float32(0.1) * x\n"
        "    if y < float32(0):\n"
        "        y = -y\n"
        "        z += 1\n"
        "o[i] = x + y + z"
    ),
}
BY_HAND = {
    "hand": "i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\nif i < o.size:\n    o[i] = a[i]",
    "hand of shape": "i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x\nif i < o.shape[0]:\n    o[i] = a[i]",
    "hand guard returns": (
        "i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x\n"
        "if i >= o.shape[0]:\n"
        "    return\n"
        "o[i] = a[i]"
    ),
    "hand 2d": (
        "x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\n"
        "y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y\n"
        "if y < p.shape[0] and x < p.shape[1]:\n"
        "    p[y, x] = m[y, x]"
    ),
    "hand const": "i = cuda.blockIdx.x * 128 + cuda.threadIdx.x\nif i < o.size:\n    o[i] = a[i]",
}
MATRICES = {
    "copy": "p[y, x] = m[y, x]",
    "sum of two": "p[y, x] = m[y, x] + n[y, x]",
    "transposed": "p[y, x] = m[x, y]",
    "row below": "p[y, x] = m[y, x] + m[y + 1, x]",
    "row below and left": "p[y, x] = m[y, x] + m[y + 1, x] + m[y, x + 1]",
    "downsample": "p[y, x] = m[2 * y, 2 * x] + m[2 * y, 2 * x + 1] + m[2 * y + 1, 2 * x] + m[2 * y + 1, 2 * x + 1]",
    "down rows": "p[y, x] = m[2 * y, x] + m[2 * y + 1, x]",
    "other row": "j = w[y, x]\np[y, x] = m[j, x]",
    "other column": "j = w[y, x]\np[y, x] = m[y, j] + m[y, x]",
    "wrapped neighbours": "l = w[y, x]\nu = w[y, 0]\np[y, x] = m[y, l] + m[u, x] + m[y, x]",
    "wrapped neighbours 2": "l = w[y, x]\nu = w[y, 0]\np[y, x] = m[y, l] + m[u, x] + m[y, x] + n[y, l] + n[u, x] + n[y, x]",
    "planes": "p[y, x] = v[0, y, x] + v[1, y, x] + v[2, y, x]",
    "planes loop": "t = float32(0)\nfor k in range(4):\n    t += v[k, y, x]\np[y, x] = t",
    "planes twice": "t = float32(0)\nfor k in range(4):\n    t += v[k, y, x]\nfor k in range(4):\n    v[k, y, x] = t",
    "channels": "p[y, x] = v[y, x, 0] + v[y, x, 1] + v[y, x, 2]",
    "guarded stencil": "if x > 0 and y > 0:\n    p[y, x] = m[y - 1, x] + m[y, x - 1] + m[y, x]",
    "guarded nine": (
        "if x > 0 and y > 0:\n"
        "    t = float32(0)\n"
        "    for j in range(-1, 2):\n"
        "        for k in range(-1, 2):\n"
        "            t += m[y + j, x + k]\n"
        "    p[y, x] = t"
    ),
    "guarded 27": (
        "if x > 0 and y > 0:\n"
        "    t = float32(0)\n"
        "    for h in range(3):\n"
        "        for j in range(-1, 2):\n"
        "            for k in range(-1, 2):\n"
        "                t += v[h, y + j, x + k]\n"
        "    p[y, x] = t"
    ),
    "planes loop 8": "t = float32(0)\nfor k in range(8):\n    t += v[k, y, x]\np[y, x] = t",
    "planes pos": (
        "if x > 0 and y > 0:\n"
        "    t = float32(0)\n"
        "    for k in range(4):\n"
        "        t += v[k, y, x]\n"
        "    p[y, x] = t"
    ),
    "five": (
        "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n"
        "    p[y, x] = m[y - 1, x] + m[y + 1, x] + m[y, x - 1] + m[y, x + 1] - m[y, x]"
    ),
    "five by three": (
        "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n"
        "    p[y, x] = m[y - 1, x] + m[y, x] + m[y + 1, x]"
    ),
    "five two": "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n    p[y, x] = m[y, x] + m[y + 1, x]",
    "five two b": "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n    p[y, x] = m[y + 1, x] + m[y, x]",
    "nine straight": (
        "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n"
        "    p[y, x] = m[y - 1, x - 1] + m[y - 1, x] + m[y - 1, x + 1] + "
        "m[y, x - 1] + m[y, x] + m[y, x + 1] + m[y + 1, x - 1] + m[y + 1, x] + m[y + 1, x + 1]"
    ),
    "five return": (
        "if x == 0 or y == 0 or x == p.shape[1] - 1 or y == p.shape[0] - 1:\n"
        "    return\n"
        "p[y, x] = m[y - 1, x] + m[y + 1, x] + m[y, x - 1] + m[y, x + 1] - m[y, x]"
    ),
    "five centre first": (
        "if 0 < x < p.shape[1] - 1 and 0 < y < p.shape[0] - 1:\n"
        "    c = m[y, x]\n"
        "    p[y, x] = c + float32(0.1) * (m[y - 1, x] + m[y + 1, x] + m[y, x - 1] + m[y, x + 1] - c)"
    ),
}
AROUND = (
    "t = float32(0)\n"
    "for j in range(-1, 2):\n"
    "    for k in range(-1, 2):\n"
    "        h = y + j\n"
    "        i = x + k\n"
    "        if {}:\n"
    "            t += m[h, i]\n"
    "p[y, x] = t"
)
INSIDE = "0 <= h < m.shape[0] and 0 <= i < m.shape[1]"
NEIGHBOURS = {  # nine, each behind a condition of its own
    "nine inside": AROUND.format(INSIDE),
    "nine inside, signs first": AROUND.format("h >= 0 and i >= 0 and h < m.shape[0] and i < m.shape[1]"),
    "nine with signs": AROUND.format("h >= 0 and i >= 0"),
    "nine below the last row": AROUND.format("h >= 0 and h < m.shape[0]"),
    "nine but one": AROUND.format(f"(j != 0 or k != 0) and {INSIDE}"),
}
NESTS = {  # as people write them
    "nine around the edges": (
        "t = float32(0)\nfor j in range(-1, 2):\n    for k in range(-1, 2):\n"
        "        t += m[(y + j) % m.shape[0], (x + k) % m.shape[1]]\np[y, x] = t"
    ),
    "nine but those left out": AROUND.format(
        "h < 0 or i < 0 or h >= m.shape[0] or i >= m.shape[1]:\n            continue\n        if True"
    ),
    "25 held inside": (
        "t = float32(0)\nfor j in range(-2, 3):\n    h = min(max(y + j, 0), m.shape[0] - 1)\n    for k in range(-2, 3):\n"
        "        i = min(max(x + k, 0), m.shape[1] - 1)\n        t += m[h, i] * n[j + 2, k + 2]\np[y, x] = t"
    ),
    "49 in a loop that stays": (
        "t = float32(0)\nfor j in range(7):\n    for k in range(7):\n        t += m[y + j, x + k] * n[j, k]\np[y, x] = t"
    ),
    "the nearest of a few": (
        "t = float32(1e30)\nfor r in range(w.shape[0]):\n    c = float32(0)\n    for j in range(3):\n"
        "        d = m[y, j] - n[r, j]\n        c += d * d\n    if c < t:\n        t = c\np[y, x] = t"
    ),
}
VOLUMES = {
    "copy 3d": "u[z, y, x] = v[z, y, x]",
    "six": (
        "if x > 0 and y > 0 and z > 0:\n"
        "    u[z, y, x] = v[z, y, x - 1] + v[z, y, x + 1] + v[z, y - 1, x] + v[z, y + 1, x] "
        "+ v[z - 1, y, x] + v[z + 1, y, x]"
    ),
    "27": (
        "if x > 0 and y > 0 and z > 0:\n"
        "    t = float32(0)\n"
        "    for h in range(-1, 2):\n"
        "        for j in range(-1, 2):\n"
        "            for k in range(-1, 2):\n"
        "                t += v[z + h, y + j, x + k]\n"
        "    u[z, y, x] = t"
    ),
}

GUARDED = {
    "VECTORS": "    i = cuda.grid(1)\n    if i < o.size:\n",
    "MATRICES": "    x, y = cuda.grid(2)\n    if y < p.shape[0] and x < p.shape[1]:\n",
    "VOLUMES": "    x, y, z = cuda.grid(3)\n    if z < u.shape[0] and y < u.shape[1] and x < u.shape[2]:\n",
}
SHAPES: dict[str, tuple[Any, Any]] = {
    "VECTORS": (2, 128), "MATRICES": ((2, 2), (32, 4)), "VOLUMES": ((1, 1, 1), (32, 2, 2)),
}  # fmt: skip
KERNELS = {
    **{name: ("VECTORS", body) for name, body in {**VECTORS, **LOOPS}.items()},
    **{name: ("MATRICES", body) for name, body in {**MATRICES, **NEIGHBOURS, **NESTS}.items()},
    **{name: ("VOLUMES", body) for name, body in VOLUMES.items()},
}


def text(name: str) -> str:
    """The kernel's source."""
    if name in BY_HAND:
        return HEAD + "".join(f"    {line}\n" for line in BY_HAND[name].split("\n"))
    kind, body = KERNELS[name]
    return HEAD + GUARDED[kind] + "".join(f"        {line}\n" for line in body.rstrip().split("\n"))


def shape(name: str) -> tuple[Any, Any]:
    """Grid and block."""
    return SHAPES[KERNELS[name][0] if name in KERNELS else "VECTORS"]


def arguments() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(5)

    def reals(*sizes: int) -> np.ndarray:
        return rng.random(sizes).astype(np.float32)

    q = rng.integers(1, 200, 600).astype(np.int32)
    records = np.zeros(600, RECORD)
    records["x"], records["k"] = 1, rng.integers(0, 4, 600)
    a, b, m, n, v = reals(2048), reals(2048), reals(600, 300), reals(600, 300), reals(256, 70, 260)
    w, g = rng.integers(0, 8, (16, 128)).astype(np.int32), rng.integers(0, 255, 600).astype(np.uint8)
    return a, b, m, n, v, q, w, records, g, np.zeros(256, np.float32), np.zeros((8, 64), np.float32), reals(2, 2, 32)


def simulated(name: str) -> int:
    """The instructions that the simulated GPU counts."""
    names: dict[str, object] = {
        "cuda": Reference("numba.cuda"),
        "math": Reference("math"),
        "float32": TypeReference("numba.float32", np.dtype(np.float32)),
    }
    grid, block = shape(name)
    kernel = Function.from_text(text(name), "kernel.py", names)
    return Session(output=lambda line: None).launch(kernel, grid, block, arguments()).compiled.issued_warp_instructions


def count() -> dict[str, int]:
    """By kernel: the instructions of its machine code."""
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate((*BY_HAND, *KERNELS)):
            source = f"import math\n\nfrom numba import cuda, float32\n\n\n@cuda.jit\n{text(name)}"
            carried = carried_out(from_text(source, Path(folder), number), *shape(name), arguments())
            found[name] = int(carried.summary()["warp_instructions"])
    return found


if __name__ == "__main__":
    RESULT.write_text(json.dumps(count(), indent=1) + "\n", encoding="utf-8")
    print(RESULT)
