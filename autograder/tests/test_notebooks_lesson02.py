"""Lesson 2: what its prose says of its kernels and measurements is so; exercises reply to what they saw."""

from __future__ import annotations

import ast
import json
import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import simulate
from autograder.course import lesson02
from autograder.tests.finding import found
from autograder.tests.test_notebooks_exercises import reply_to

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "02a_tiling.ipynb"
CELLS = {each["id"]: each for each in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
DECK = NOTEBOOK.parents[1] / "slides" / "02_tiling.md"


def source(cell: str) -> str:
    return "".join(CELLS[cell]["source"])


def smoothed(code: str, x: np.ndarray) -> np.ndarray:
    """What the lesson's `smooth` makes of x, 64 threads a block."""
    kernel = next(n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef) and n.name == "smooth")
    text = f"WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)\n{ast.unparse(kernel)}"
    file = f"smooth {hash(text)}"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    out = np.zeros_like(x)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(text, file, "exec"), scope)
        scope["smooth"][len(x) // 64, 64](x, out)
    return out


def test_smooth_takes_the_mean_of_neighbours_in_rings_of_64() -> None:
    x = np.random.default_rng(5).random(256, dtype=np.float32)
    rings = x.reshape(-1, 64)
    expected = 0.25 * np.roll(rings, 1, axis=1) + 0.5 * rings + 0.25 * np.roll(rings, -1, axis=1)
    deck = found(r"^@cuda.jit\ndef smooth.*?^    out\[i\] = total$", DECK.read_text(encoding="utf-8"), re.M | re.S)
    for code in (source("five-places"), deck[0]):
        np.testing.assert_allclose(smoothed(code, x), expected.ravel(), rtol=1e-6)


def test_about_nine_of_ten_elements_are_wrong_without_the_first_barrier() -> None:
    measured = json.loads((NOTEBOOK.parent / "data" / "tiling_h200.json").read_text(encoding="utf-8"))
    shares = [
        each / int(size) ** 2
        for size, wrong in measured["wrong_elements"]["without the first"].items()
        for each in wrong
    ]
    assert 0.88 < min(shares) < 0.9 < max(shares) < 0.93
    assert "Without the first barrier about nine of ten elements are wrong" in source("barriers-measured-explained")


def test_a_profile_s_lines_come_with_what_they_asked_of_each_memory() -> None:
    printed = "".join("".join(each.get("text", [])) for each in CELLS["five-places"]["outputs"]).splitlines()
    assert printed[0].split() == ["global", "shared", "local", "const."]
    (stores,) = (line for line in printed if "out[i] = total" in line)
    assert stores.split()[0] == "8" and not stores[7:28].strip()
    assert not [line for line in printed if line != line.rstrip()]


def test_a_loop_of_64_rounds_by_range_takes_no_more_than_a_while() -> None:
    """What the answer of "From an empty cell" says of its loop, by the simulated GPU's count."""
    from autograder import profile

    answer = found(r"```python\n@cuda.jit\n(.*?)```", source("l2-empty-answer"), re.S)[1]
    by_hand = "        k = 0\n        while k < 64:\n", "            k += 1\n"
    assert all(answer.count(each) == 1 for each in by_hand)
    by_range = answer.replace(by_hand[0], "        for k in range(64):\n").replace(by_hand[1], "")
    instructions = []
    for text in (answer, by_range):
        file = f"loop {hash(text)}"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        x = np.random.default_rng(3).permutation(6400).astype(np.float32)
        with simulate() as cuda:
            scope: dict[str, Any] = {"cuda": cuda, "np": np}
            exec(compile(text, file, "exec"), scope)
            p = profile(cuda.jit(scope["count_smaller"]), sample_blocks=2)[100, 64](x, np.zeros(6400, np.int32))
        instructions.append(p.compiled.issued_warp_instructions)
    assert 0.7 < instructions[1] / instructions[0] < 1.1  # in machine code both are the same
    assert "`for k in range(64)` does as well" in " ".join(source("l2-empty-answer").split())


def estimated(answer: str, name: str, grid: Any, *arguments: np.ndarray, block: Any = 64) -> Any:
    """The estimate for a kernel given as text, launched with `grid` blocks."""
    from autograder import profile

    file = f"estimated {hash(answer)}"
    linecache.cache[file] = (len(answer), None, answer.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(answer, file, "exec"), scope)
        return profile(cuda.jit(scope[name]), sample_blocks=4)[grid, block](*arguments).estimate("H200")


def test_what_holds_up_the_kernels_from_an_empty_cell_is_waiting() -> None:
    x = np.random.default_rng(3).permutation(16384).astype(np.float32)
    answer = found(r"```python\n@cuda.jit\n(.*?)```", source("l2-empty-answer"), re.S)[1]
    counted = estimated(answer, "count_smaller", 256, x, np.zeros(16384, np.int32))
    assert counted.binding == "latency" and dict(counted.largest())["latency"] > 0.95 * counted.ns
    assert f"nearly all of the estimated {counted.ns / 1e6:.2f} ms is latency" in " ".join(
        source("l2-empty-answer").split()
    )
    large = np.ones((4096, 4096), np.float32)
    arguments = large[0].copy(), large, np.zeros(4096, np.float32)
    plain = NOTHING_SHARED.replace("        for k in range(v.size):", "        k = 0\n        while k < v.size:")
    plain = plain.replace("        out[column]", "            k += 1\n        out[column]")
    each = [estimated(code, "kernel", 64, *arguments) for code in (plain, SHARED)]
    assert [one.binding for one in each] == ["latency", "latency"]
    part_b = json.loads((NOTEBOOK.parent / "02b_what_a_tile_saves.ipynb").read_text(encoding="utf-8"))
    (words,) = ("".join(cell["source"]) for cell in part_b["cells"] if cell["id"] == "b-share-answer")
    said = f"the estimate goes from {each[0].ns / 1e6:.2f} to {each[1].ns / 1e6:.2f} ms"
    assert said in " ".join(words.split())


def test_two_elements_a_thread_are_still_held_up_by_shared_memory_and_issue() -> None:
    large = np.ones((1024, 1024), np.float32)
    e = estimated(TWO, "kernel", (64, 64), large, large, np.zeros_like(large), block=(16, 8))
    (first, shared_ns), (second, issue_ns) = e.largest()[:2]
    assert (first, second) == ("shared memory", "issue")
    part_b = json.loads((NOTEBOOK.parent / "02b_what_a_tile_saves.ipynb").read_text(encoding="utf-8"))
    texts = {each["id"]: each for each in part_b["cells"]}
    printed = "".join("".join(each.get("text", [])) for each in texts["breakdown-run"]["outputs"])
    tiled = found(r"^together +\S+ +(\S+)", printed, re.M)[1]
    said = f"it takes {e.ns / 1e6:.2f} ms at 1,024 × 1,024, where tiled takes {tiled}: "
    said += f"shared memory {shared_ns / 1e6:.2f}, issue {issue_ns / 1e6:.2f}"
    assert said in " ".join("".join(texts["b-two-answer"]["source"]).split())


SHARED = """
def kernel(v, a, out):
    piece = cuda.shared.array(64, np.float32)
    column, t = cuda.grid(1), cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, v.size, 64):
        if start + t < v.size:
            piece[t] = v[start + t]
        cuda.syncthreads()
        k = 0
        while k < 64 and start + k < v.size and column < out.size:
            total += piece[k] * a[start + k, column]
            k += 1
        cuda.syncthreads()
    if column < out.size:
        out[column] = total
"""
ZEROS = """
def kernel(row, matrix, sums):
    tile = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    column = cuda.blockIdx.x * 64 + t
    total = np.float32(0)
    for start in range(0, matrix.shape[0], 128):
        for at in range(t, 128, 64):
            tile[at] = row[start + at] if start + at < row.size else np.float32(0)
        cuda.syncthreads()
        for k in range(min(128, matrix.shape[0] - start)):
            if column < matrix.shape[1]:
                total += tile[k] * matrix[start + k, column]
        cuda.syncthreads()
    if column < matrix.shape[1]:
        sums[column] = total
"""
NOTHING_SHARED = """
def kernel(v, a, out):
    column = cuda.grid(1)
    if column < out.size:
        total = np.float32(0)
        for k in range(v.size):
            total += v[k] * a[k, column]
        out[column] = total
"""
BOTH_SHARED = SHARED.replace(
    "            total += piece[k] * a[start + k, column]",
    "            of_a[t] = a[start + k, column]\n            total += piece[k] * of_a[t]",
).replace("    column, t", "    of_a = cuda.shared.array(64, np.float32)\n    column, t")
ONE_FETCHES = SHARED.replace(
    "        if start + t < v.size:\n            piece[t] = v[start + t]",
    "        if t == 0:\n            for k in range(min(64, v.size - start)):\n                piece[k] = v[start + k]",
)
TWICE = SHARED.replace(
    "            total +=", "            if a[start + k, column] < 0:\n                break\n            total +="
)
LEAVES = SHARED.replace("    total", "    if column >= out.size:\n        return\n    total", 1)
AROUND_ALL = """
def kernel(v, a, out):
    piece = cuda.shared.array(64, np.float32)
    column, t = cuda.grid(1), cuda.threadIdx.x
    if column < out.size:
        total = np.float32(0)
        for start in range(0, v.size, 64):
            if start + t < v.size:
                piece[t] = v[start + t]
            cuda.syncthreads()
            for k in range(min(64, v.size - start)):
                total += piece[k] * a[start + k, column]
            cuda.syncthreads()
        out[column] = total
"""
ALL_AT_ONCE = """
def kernel(v, a, out):
    all_of_v = cuda.shared.array(1024, np.float32)
    column, t = cuda.grid(1), cuda.threadIdx.x
    for at in range(t, v.size, 64):
        all_of_v[at] = v[at]
    cuda.syncthreads()
    if column < out.size:
        total = np.float32(0)
        for k in range(v.size):
            total += all_of_v[k] * a[k, column]
        out[column] = total
"""
LARGE_PIECES = ZEROS.replace("128", "1024")
ALONE = """
def kernel(v, a, out):
    if cuda.grid(1) == 0:
        for column in range(out.size):
            total = np.float32(0)
            for k in range(v.size):
                total += v[k] * a[k, column]
            out[column] = total
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (SHARED, "right", "10 times for v in place of 600, and 600 times for a"),
        (ZEROS, "right", "10 times for v"),
        ("def kernel(v, a, out):\n    pass\n", "your turn", "Nothing was written to out"),
        (NOTHING_SHARED, "not yet", "asks global memory 600 times for numbers of v"),
        (ONE_FETCHES, "not yet", "one number a thread"),
        (BOTH_SHARED, "not yet", "needed by one thread alone"),
        (TWICE, "not yet", "times for rows of a, and a has 600"),
        (LEAVES, "not yet", "returns early"),
        (ALL_AT_ONCE, "not yet", "outside its shape (1024,)"),
        (LARGE_PIECES, "right", "10 times for v"),
        (AROUND_ALL, "not yet", "did not reach"),
        (SHARED.replace("        cuda.syncthreads()\n        k", "        k"), "not yet", "Race on `piece["),
        (SHARED.replace("        cuda.syncthreads()\n    if", "    if"), "not yet", "Race on `piece["),
        (SHARED.replace(" and column < out.size:", ":"), "not yet", "outside its shape (200, 70)"),
        (SHARED.replace("        if start + t < v.size:", "        if True:"), "not yet", "outside its shape"),
        (SHARED.replace(" and start + k < v.size", ""), "not yet", "v has 200 numbers, a is 200 x 70"),
        (SHARED.replace("a[start + k, column]", "a[k, column]"), "not yet", "meets the first rows of a again"),
        (SHARED.replace("= v[start + t]", "= v[t]"), "not yet", "holds the first numbers of v again"),
        (SHARED.replace("        k = 0", "        k = 0\n        total = np.float32(0)"), "not yet", "Only the last piece"),
        (SHARED.replace("range(0, v.size, 64)", "range(0, 64, 64)"), "not yet", "Only the first piece"),
        (SHARED.replace("a[start + k, column]", "a[column, start + k]"), "not yet", "k counts its rows, and comes first"),
        (SHARED.replace("piece[k] * ", ""), "not yet", "multiply each number by its v[k]"),
        (SHARED.replace("out[column] = total", "out[column] += total"), "not yet", "you added to what was there"),
        (SHARED.replace("(v, a, out)", "(v, a, out, n)"), "not yet", "takes v, a and out; yours takes 4"),
        (ALONE, "not yet", "1 of the threads wrote it alone"),
    ],
)
def test_a_vector_is_shared_and_the_matrix_is_not(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson02.vector_times_matrix, source)
    assert reply.outcome == outcome and words in reply.words, reply


TWO = """
def kernel(a, b, c):
    a_tile = cuda.shared.array((16, 16), np.float32)
    b_tile = cuda.shared.array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = 16 * cuda.blockIdx.x + x, 16 * cuda.blockIdx.y + y
    total, below = np.float32(0), np.float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[y, x] = a[row, start + x]
        a_tile[y + 8, x] = a[row + 8, start + x]
        b_tile[y, x] = b[start + y, column]
        b_tile[y + 8, x] = b[start + y + 8, column]
        cuda.syncthreads()
        for k in range(16):
            from_b = b_tile[k, x]
            total += a_tile[y, k] * from_b
            below += a_tile[y + 8, k] * from_b
        cuda.syncthreads()
    c[row, column] = total
    c[row + 8, column] = below
"""
NAMED_TWICE = TWO.replace("            from_b = b_tile[k, x]\n", "").replace("from_b", "b_tile[k, x]")
BY_LOOP = """
def kernel(a, b, c):
    a_tile = cuda.shared.array((16, 16), np.float32)
    b_tile = cuda.shared.array((16, 16), np.float32)
    sums = cuda.local.array(2, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = 16 * cuda.blockIdx.x + x, 16 * cuda.blockIdx.y + y
    for j in range(2):
        sums[j] = 0
    for start in range(0, a.shape[1], 16):
        for j in range(2):
            a_tile[y + 8 * j, x] = a[row + 8 * j, start + x]
            b_tile[y + 8 * j, x] = b[start + y + 8 * j, column]
        cuda.syncthreads()
        for k in range(16):
            for j in range(2):
                sums[j] += a_tile[y + 8 * j, k] * b_tile[k, x]
        cuda.syncthreads()
    for j in range(2):
        c[row + 8 * j, column] = sums[j]
"""
ONE_AFTER_THE_OTHER = TWO.replace(
    "            from_b = b_tile[k, x]\n            total += a_tile[y, k] * from_b\n"
    "            below += a_tile[y + 8, k] * from_b\n",
    "            total += a_tile[y, k] * b_tile[k, x]\n        cuda.syncthreads()\n        for k in range(16):\n"
    "            below += a_tile[y + 8, k] * b_tile[k, x]\n",
)
NO_TILES = """
def kernel(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = 16 * cuda.blockIdx.x + x, 16 * cuda.blockIdx.y + y
    total, below = np.float32(0), np.float32(0)
    for k in range(a.shape[1]):
        from_b = b[k, column]
        total += a[row, k] * from_b
        below += a[row + 8, k] * from_b
    c[row, column] = total
    c[row + 8, column] = below
"""
STARTER = "".join(TWO.splitlines(keepends=True)[:-1])


@pytest.mark.long
@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (TWO, "right", "1.00 passes through shared memory"),
        (NAMED_TWICE, "right", "1.00 passes through shared memory"),
        (BY_LOOP, "right", "passes through shared memory"),
        (STARTER, "your turn", "one element so far"),
        ("def kernel(a, b, c):\n    pass\n", "your turn", "Nothing was written to c"),
        (NO_TILES, "not yet", "asks global memory 144 times, where tiles take 12"),
        (ONE_AFTER_THE_OTHER, "not yet", "as if a thread had one element"),
        (TWO.replace("a_tile[y + 8, k] * from_b", "a_tile[y, k] * from_b"), "not yet", "repeats the upper one"),
        (TWO.replace("= below", "= total"), "not yet", "repeats the upper one"),
        (TWO.replace("below += a_tile", "total += a_tile"), "not yet", "into one sum, and none into the other"),
        (TWO.replace("below += a_tile", "total += a_tile").replace("= below", "= total"), "not yet", "is stored twice"),
        (TWO.replace("c[row + 8, column] =", "c[row + 16, column] ="), "not yet", "so no guard is missing: which index"),
        (TWO.replace("c[row + 8, column] =", "c[row, column + 8] ="), "not yet", "so no guard is missing: which index"),
        (TWO.replace("c[row + 8, column] = below", "c[row + 1, column] = below"), "not yet", "c["),
        (TWO.replace("below += a_tile[y + 8, k] * from_b", "below = a_tile[y + 8, k] * from_b"), "not yet", "differ"),
        (TWO.replace("        cuda.syncthreads()\n        for", "        for"), "not yet", "Race on"),
        (
            TWO.replace("        cuda.syncthreads()\n    c[", "    c["),
            "not yet",
            "Put cuda.syncthreads() between the two accesses: the other warps of the block use",
        ),
        (TWO.replace("16 * cuda.blockIdx.y + y", "8 * cuda.blockIdx.y + y"), "not yet", "a is 32 x 48, b is 48 x 64"),
        (TWO.replace("c[row, column] = total", "c[row, column] += total"), "not yet", "elements differ"),
        (TWO.replace("(a, b, c)", "(a, b, c, n)"), "not yet", "takes a, b and c; yours takes 4"),
    ],
)
def test_two_elements_a_thread_share_what_they_read(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson02.two_a_thread, source)
    assert reply.outcome == outcome and words in reply.words, reply


SMALLER = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    mine = x[i] if i < x.size else np.float32(0)
    smaller = 0
    for start in range(0, x.size, 64):
        piece[t] = x[start + t] if start + t < x.size else np.float32(np.inf)
        cuda.syncthreads()
        k = 0
        while k < 64:
            if piece[k] < mine:
                smaller += 1
            k += 1
        cuda.syncthreads()
    if i < x.size:
        out[i] = smaller
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (SMALLER, "right", "load requests to global memory"),
        (SMALLER.replace("np.inf", "0"), "not yet", "is 56 too large, and 56 places of the last piece lie behind the end"),
        (SMALLER.replace("piece[k] < mine", "piece[k] <= mine"), "not yet", "is a number smaller than itself?"),
        (SMALLER.replace("piece[k] < mine", "piece[k] > mine"), "not yet", "Those are the numbers that are larger"),
        (SMALLER.replace("k = 0", "k = smaller = 0"), "not yet", "Only the last piece is counted"),
    ],
)
def test_a_wrong_count_is_known_by_what_it_counted(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson02.count_smaller, source)
    assert reply.outcome == outcome and words in reply.words, reply


REVERSED = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        piece[t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = piece[63 - t]
        cuda.syncthreads()
"""


def test_barriers_are_counted_where_their_number_is_what_is_wrong() -> None:
    one = REVERSED.replace("        cuda.syncthreads()\n", "").replace("    for", "    cuda.syncthreads()\n    for")
    assert reply_to(lesson02.two_barriers, one).words.startswith("1 barrier in four rounds, and the report still says")
    half = REVERSED.replace("cuda.syncthreads()\n        out", "if t < 32:\n            cuda.syncthreads()\n        out")
    reply = reply_to(lesson02.two_barriers, half)
    assert "did not reach" in reply.words and "in four rounds" not in reply.words, reply


def test_an_answer_that_leaves_shared_memory_out_is_told_so() -> None:
    reply = reply_to(lesson02.two_barriers, REVERSED.replace("piece[63 - t]", "x[start + 63 - t]"))
    assert reply.outcome == "not yet" and "nothing is read from `piece`" in reply.words, reply
    straight = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        cuda.syncthreads()
        out[start + t] = x[start + 63 - t]
"""
    reply = reply_to(lesson02.two_barriers, straight)
    assert reply.outcome == "not yet" and "go through shared memory" in reply.words, reply
    naive = """
def kernel(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total
"""
    reply = reply_to(lesson02.ragged_tiles, naive)
    assert reply.outcome == "not yet" and "asks global memory 32 times where tiles take 2" in reply.words, reply
