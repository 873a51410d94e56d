"""Lesson 3: its exercises reply to right and wrong answers; the numbers in its prose follow from the measurements."""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import perfmodel, profile, simulate
from autograder.course import lesson03
from autograder.course.lesson03 import rates
from autograder.course.lesson03.bursts import BURST_TICKS, CORE_TICKS
from autograder.course.replies import Reply

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PARTS = {
    part: json.loads((NOTEBOOKS / f"03{part}.ipynb").read_text(encoding="utf-8"))["cells"]
    for part in ("a_coalescing", "b_turning_the_corner")
}
COALESCING, CORNER = PARTS

RIGHT = [
    (lesson03.sectors_by_hand, (5, 12, 8)),
    (lesson03.transposed_a, (4, 1)),
    (lesson03.around_the_corner, (37, 67, 69, 35)),
    (lesson03.queues_at_a_bank, (1, 2, 16)),
]
WRONG = [
    (lesson03.sectors_by_hand, (4, 12, 8), "where does it begin"),
    (lesson03.sectors_by_hand, (5, 32, 8), "Some lanes do share a sector"),
    (lesson03.sectors_by_hand, (5, 12, 4), "takes 8 bytes"),
    (lesson03.sectors_by_hand, (5, 13, 8), "The second of"),
    (lesson03.sectors_by_hand, (4, 4, 4), "The first, second and third of (4, 4, 4) are not right. Which bytes"),
    (lesson03.transposed_a, (32, 32), "Lanes 0 and 1 differ in row"),
    (lesson03.around_the_corner, (35, 69, 69, 35), "The first and second of (35, 69, 69, 35) are not right. Write"),
    (lesson03.around_the_corner, (35, 69, 67, 37), "fourth of (35, 69, 67, 37) are not right. Write"),
    (lesson03.around_the_corner, (35, 69, 67, 37), "(3, 5) is (x, y): tx is 3."),
    (lesson03.queues_at_a_bank, (31, 17, 24), "come to the same bank"),
    (lesson03.transposed_a, (32, 1), "still a row apart"),
    (lesson03.transposed_a, (4, 4), "same column"),
    (lesson03.around_the_corner, (37, 67, 67, 37), "would be right without the tile"),
    (lesson03.around_the_corner, (67, 37, 69, 35), "x counts columns"),
    (lesson03.around_the_corner, (37, 67, 69, 36), "The fourth of"),
    (lesson03.queues_at_a_bank, (32, 2, 16), "does one come twice"),
    (lesson03.queues_at_a_bank, (1, 16, 2), "How many lanes queue at each"),
]


@pytest.mark.parametrize("exercise, answer", RIGHT)
def test_the_right_answer_is_praised_and_an_empty_cell_is_an_invitation(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"
    assert exercise(...).outcome == exercise((..., *answer[1:])).outcome == "your turn"


@pytest.mark.parametrize("exercise, answer, words", WRONG)
def test_a_wrong_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == "not yet"
    assert words in reply.words


@pytest.mark.parametrize(
    "width, fill, read, outcome, words",
    [
        (33, "tile[k, t] = x[first + k, start + t]", "tile[t, k]", "right", "no bank conflict"),
        (35, "tile[k, t] = x[first + k, start + t]", "tile[t, k]", "right", "no bank conflict"),
        (32, "tile[t, k] = x[first + t, start + k]", "tile[t, k]", "your turn", "Make it 4 and 0"),
        (33, "tile[t, k] = x[first + t, start + k]", "tile[t, k]", "not yet", "The tile is fine"),
        (32, "tile[k, t] = x[first + k, start + t]", "tile[t, k]", "not yet", "The lanes read the tile down a column."),
        (32, "tile[t, k] = x[first + k, start + t]", "tile[k, t]", "not yet", "The lanes write the tile down a column."),
        (64, "tile[k, t] = x[first + k, start + t]", "tile[t, k]", "not yet", "rows begin in different banks"),
        (33, "tile[k, t] = x[first + k, start + t]", "tile[k, t]", "not yet", "elements differ"),
        (33, "tile[t, k] = x[first + k, start + t]", "tile[t, k]", "not yet", "where the line with total looks for it"),
        (33, "tile[k, t] = x[start + t, first + k]", "tile[t, k]", "not yet", "no guard is missing"),
        (33, "pass", "x[first + k, start + t]", "not yet", "elements differ"),
        (33, "pass", "x[first + t, start + k]", "not yet", "do not go through the tile"),
    ],
)
def test_row_sums_are_judged_by_what_was_counted(width: int, fill: str, read: str, outcome: str, words: str) -> None:
    reply = reply_to(
        lesson03.row_sums,
        f"""
def kernel(x, out):
    tile = cuda.shared.array((32, {width}), np.float32)
    t = cuda.threadIdx.x
    first = 32 * cuda.blockIdx.x
    total = np.float32(0)
    for start in range(0, x.shape[1], 32):
        for k in range(32):
            {fill}
        cuda.syncthreads()
        for k in range(32):
            total += {read}
        cuda.syncthreads()
    out[first + t] = total
""",
    )
    assert reply.outcome == outcome
    assert words in reply.words


def test_row_sums_through_a_tile_of_integers_are_told_what_is_lost() -> None:
    reply = reply_to(
        lesson03.row_sums,
        """
def kernel(x, out):
    tile = cuda.shared.array((32, 33), np.int32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, x.shape[1], 32):
        for k in range(32):
            tile[k, t] = x[32 * cuda.blockIdx.x + k, start + t]
        cuda.syncthreads()
        for k in range(32):
            total += tile[t, k]
        cuda.syncthreads()
    out[32 * cuda.blockIdx.x + t] = total
""",
    )
    assert reply.outcome == "not yet"
    assert "The tile holds integers" in reply.words


def test_row_sums_need_their_barriers() -> None:
    reply = reply_to(
        lesson03.row_sums,
        """
def kernel(x, out):
    tile = cuda.shared.array((32, 33), np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, x.shape[1], 32):
        for k in range(32):
            tile[k, t] = x[32 * cuda.blockIdx.x + k, start + t]
        for k in range(32):
            total += tile[t, k]
    out[32 * cuda.blockIdx.x + t] = total
""",
    )
    assert reply.outcome == "not yet"
    assert "Race on `tile[" in reply.words


def test_what_is_no_kernel_gets_a_reply_and_no_error() -> None:
    def kernel(x, out):
        pass

    with simulate() as cuda:
        too_few = cuda.jit(lambda x: None)
        for exercise in (lesson03.table_of_bytes, lesson03.few_threads, lesson03.turned_upright):
            assert exercise(...).outcome == "your turn"
            assert "plain Python function" in exercise(kernel).words
            assert "is none" in exercise(5).words
            assert "yours takes 1 parameter." in exercise(too_few).words


LOOKED_UP = [
    ("    if i < x.size:\n        out[i] = box[x[i]]", "right", "up to 8 sectors of the table at once, with equal ones 1"),
    ("    if i >= x.size:\n        return\n    byte = x[i]\n    out[i] = box[byte]", "right", "never be"),
    ("    for k in range(i, x.size, cuda.gridsize(1)):\n        out[k] = box[x[k]]", "right", "up to 8 sectors"),
    (
        "    i = (cuda.blockIdx.x + 1) * 64 - 1 - cuda.threadIdx.x\n    if i < x.size:\n        out[i] = box[x[i]]",
        "right",
        "up to 8",
    ),
    (
        "    table = cuda.shared.array(256, np.uint8)\n    for k in range(cuda.threadIdx.x, 256, 64):\n"
        "        table[k] = box[k]\n    cuda.syncthreads()\n    if i < x.size:\n        out[i] = table[x[i]]",
        "right",
        "Your warps fetch the table side by side, and look up in shared memory.",
    ),
    (
        "    i = cuda.blockIdx.x + cuda.threadIdx.x * cuda.gridDim.x\n    if i < x.size:\n        out[i] = box[x[i]]",
        "not yet",
        "x has 4,000 bytes. out is right, but a load request takes 31 sectors. In one of them lane 0 takes x[0] and lane 1 "
        "x[64]. Which bytes should neighbours take?",
    ),
    ("    pass", "your turn", "Nothing was written to out"),
    ("    out[i] = box[x[i]]", "not yet", "Reads `x[200]`, outside its shape (200,)"),
    ("    out[i] = box[x[i]]", "not yet", "for example with a guard"),
    ("    k = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x\n    out[k] = box[x[k]]", "not yet", "with a guard"),
    ("    if i < x.size:\n        out[i] = x[box[i]]", "not yet", "no guard is missing: which index belongs to which array"),
    ("    if i < x.size:\n        out[i] = box[i]", "not yet", "x has 64 bytes. Thread i took entry i"),
    ("    if i < x.size:\n        out[i] = x[i]", "not yet", "out is a copy of x"),
    ("    if i < x.size:\n        out[x[i]] = box[i]", "not yet", "no guard is missing: which index belongs to which array"),
    ("    if i < x.size:\n        out[i] = box[x[i]] + 1", "not yet", "64 of 64 bytes differ; the first: out[0] should be"),
    ("    if i < 64:\n        out[i] = box[x[i]]", "not yet", "x has 200 bytes. "),
    ("    if i == 0:\n        for k in range(x.size):\n            out[k] = box[x[k]]", "not yet", "1 of the threads"),
]


@pytest.mark.parametrize("body, outcome, words", LOOKED_UP)
def test_bytes_looked_up_in_a_table_are_judged_by_what_they_became(body: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson03.table_of_bytes, f"\ndef kernel(x, box, out):\n    i = cuda.grid(1)\n{body}\n")
    assert reply.outcome == outcome, reply
    assert words in reply.words


SQUARE = "out[k] = x[k] * x[k]"
IN_PIECES = """    each = {each}
    for k in range(i * each, min((i + 1) * each, x.size)):
        {square}"""
FEW = [
    (f"    for k in range(i, x.size, n):\n        {SQUARE}", "right", "4.0 sectors a load request"),
    (f"    k = i\n    while k < x.size:\n        {SQUARE}\n        k += n", "right", "stand side by side"),
    (
        "    mine = (x.size + cuda.gridDim.x - 1) // cuda.gridDim.x\n    first = mine * cuda.blockIdx.x\n"
        "    for k in range(first + cuda.threadIdx.x, min(first + mine, x.size), cuda.blockDim.x):\n"
        f"        {SQUARE}",
        "right",
        "sectors a load request",
    ),
    ("    pass", "your turn", "Nothing was written to out"),
    (
        IN_PIECES.format(each="(x.size + n - 1) // n", square=SQUARE),
        "not yet",
        "3 blocks of 96 threads; x has 4,111 numbers. out is right, but a load request takes",
    ),
    (IN_PIECES.format(each="(x.size + n - 1) // n", square=SQUARE), "not yet", "lane 0 takes x[0] and lane 1 x[15]"),
    (IN_PIECES.format(each="x.size // n", square=SQUARE), "not yet", "4 of the 100 were left out; the first is out[96]"),
    (
        f"    for m in range(2 * i, x.size, 2 * n):\n        for k in range(m, min(m + 2, x.size)):\n            {SQUARE}",
        "not yet",
        "lane 0 takes x[0] and lane 1 x[2]",
    ),
    (f"    k = i\n    if k < x.size:\n        {SQUARE}", "not yet", "68 of the 100 were left out; the first is out[32]"),
    (f"    for k in range(x.size):\n        {SQUARE}", "not yet", "Race on `out[0]`"),
    (f"    if i == 0:\n        for k in range(x.size):\n            {SQUARE}", "not yet", "1 of the 288 threads"),
    ("    for k in range(i, x.size, n):\n        out[k] = x[k] + x[k]", "not yet", "100 of 100 elements differ"),
    (f"    for part in range(8):\n        k = part * n + i\n        {SQUARE}", "not yet", "outside its shape"),
]


@pytest.mark.parametrize("body, outcome, words", FEW)
def test_few_threads_are_judged_by_which_numbers_neighbours_take(body: str, outcome: str, words: str) -> None:
    start = "\ndef kernel(x, out):\n    i, n = cuda.grid(1), cuda.gridsize(1)\n"
    reply = reply_to(lesson03.few_threads, f"{start}{body}\n")
    assert reply.outcome == outcome, reply
    assert words in reply.words


THROUGH_A_TILE = """
def kernel(x, out):
    tile = cuda.shared.array((32, {width}), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column, rows = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x, x.shape[0]
    {fill} = x[row + ty, column + tx]
    {barrier}
    {store} = {read}
"""
GOOD = {
    "width": 33,
    "fill": "tile[ty, tx]",
    "barrier": "cuda.syncthreads()",
    "store": "out[column + ty, rows - row - 32 + tx]",
    "read": "tile[31 - tx, ty]",
}
DIRECT = """
def kernel(x, out):
    column, row = cuda.grid(2)
    out[column, x.shape[0] - 1 - row] = x[row, column]
"""
BY_PLACES_OF_OUT = """
def kernel(x, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[x.shape[0] - 1 - column, row]
"""
UPRIGHT = [
    (GOOD, "right", "4 sectors a load request, 4 a store request, no bank conflict"),
    (GOOD | {"store": "out[column + ty, rows - 1 - row - tx]", "read": "tile[tx, ty]"}, "right", "no bank conflict"),
    (GOOD | {"fill": "tile[31 - ty, tx]", "read": "tile[tx, ty]", "width": 35}, "right", "no bank conflict"),
    (GOOD | {"width": 32}, "not yet", "In which bank does each row of the tile begin? Make all 32 differ."),
    (GOOD | {"width": 34}, "not yet", "Bank conflicts: 160. In which bank does each row of the tile begin?"),
    (GOOD | {"barrier": "pass"}, "not yet", "Race on `tile["),
    (GOOD | {"store": "out[column + ty, row + tx]", "read": "tile[tx, ty]"}, "not yet", "That is the transpose"),
    (
        GOOD | {"store": "out[x.shape[1] - 1 - column - ty, row + tx]", "read": "tile[tx, ty]"},
        "not yet",
        "turned anticlockwise",
    ),
    (
        GOOD | {"store": "out[x.shape[1] - 1 - column - ty, rows - 1 - row - tx]", "read": "tile[tx, ty]"},
        "not yet",
        "from bottom to top",
    ),
    (GOOD | {"read": "tile[tx, ty]"}, "not yet", "elements differ; the first: out[0, 0] should be"),
    (GOOD | {"store": "out[column + ty, row + tx]"}, "not yet", "elements differ"),
    (
        GOOD | {"store": "out[column + ty, rows - 1 - row - tx]", "read": "tile[ty, tx]"},
        "not yet",
        "Each tile has got to its place, but is not turned itself",
    ),
    (GOOD | {"store": "out[rows - row - 32 + tx, column + ty]"}, "not yet", "no guard is missing"),
    (GOOD | {"store": "out[column + ty, rows - row - tx]"}, "not yet", "Writes `out[0, 64]`, outside its shape"),
    (GOOD | {"width": 31}, "not yet", "no guard is missing"),
    (
        GOOD | {"store": "out[column + tx, rows - 1 - row - ty]", "read": "tile[ty, tx]"},
        "not yet",
        "4 a load request, 32 a store request. The stores go down the columns. Which index of that line holds tx?",
    ),
]


@pytest.mark.parametrize("how, outcome, words", UPRIGHT)
def test_a_picture_is_turned_and_judged_by_what_was_counted(how: dict[str, Any], outcome: str, words: str) -> None:
    reply = reply_to(lesson03.turned_upright, THROUGH_A_TILE.format(**how))
    assert reply.outcome == outcome, reply
    assert words in reply.words


def test_a_picture_that_is_turned_without_a_tile_is_told_which_side_goes_down_the_columns() -> None:
    reply = reply_to(lesson03.turned_upright, DIRECT)
    assert "Sectors: 4 a load request, 32 a store request. The stores go down the columns. Let a tile" in reply.words
    reply = reply_to(lesson03.turned_upright, BY_PLACES_OF_OUT)
    assert "2,048 of 6,144 elements were not written; the first is out[64, 0]. The grid covers x" in reply.words
    reply = reply_to(lesson03.turned_upright, "\ndef kernel(x, out):\n    pass\n")
    assert reply.outcome == "your turn"


def reply_to(exercise: Callable[[Any], Reply], source: str) -> Reply:
    """What an exercise says to a kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return exercise(cuda.jit(scope["kernel"]))


def test_the_eight_loads_of_the_rule_stay_inside_their_array() -> None:
    source = next("".join(cell["source"]) for cell in PARTS[COALESCING] if cell["id"] == "rule-run")
    linecache.cache["the rule"] = (len(source), None, source.splitlines(keepends=True), "the rule")
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np, "profile": profile}
        exec(compile(source, "the rule", "exec"), scope)
    assert not scope["p"].hazards, scope["p"].hazards[0]


H200 = json.loads((NOTEBOOKS / "data" / "coalescing_h200.json").read_text(encoding="utf-8"))
MOVES, SUMS, LAYOUTS = (H200[part]["milliseconds"] for part in ("transposes", "sums", "layouts"))
STRIDE, STORED, OFFSET = (
    {int(step): ms for step, ms in H200["sweeps"]["milliseconds"][knob].items()}
    for knob in ("load by stride", "store by stride", "load by offset")
)
RTX_6000 = perfmodel.SPECIFICATIONS["Quadro RTX 6000"].dram_gb_per_s
COPY, TURNED, TILE, PADDED = (MOVES[name] for name in ("copy", "transpose", "tile of 32 x 32", "tile of 32 x 33"))
LOOPS, BLOCKS = (H200[part]["milliseconds"] for part in ("loops", "blocks"))
COPY_4, TILE_4, PADDED_4 = (MOVES[f"{name}, four each"] for name in ("copy", "tile of 32 x 32", "tile of 32 x 33"))


def prose(part: str) -> str:
    """A part's text in one line."""
    return " ".join(" ".join("".join(cell["source"]).split()) for cell in PARTS[part] if cell["cell_type"] == "markdown")


def printed(part: str, cell: str) -> str:
    """What a cell of a part printed when it was executed."""
    return "".join(next(each for each in PARTS[part] if each["id"] == cell)["outputs"][0]["text"])


@pytest.mark.parametrize(
    "sentence",
    [
        f"takes **{TURNED / COPY:.1f} times as long** as the copy",
        f"65,536 / 8,192 = **{65_536 // 8_192}** times as many sectors",
        f"32 × 14 / 8 = {32 * 14 // 8} GB/s. An NVIDIA Quadro RTX 6000 is made for {RTX_6000:.0f} GB/s: "
        f"{RTX_6000 / (32 * 14 / 8):.0f} chips",
        f"busy for {BURST_TICKS} of {CORE_TICKS + BURST_TICKS} ticks",
        f"3 × 31 × 4 = {3 * 31 * 4}, in sector {3 * 31 * 4 // 32}",
        f"the whole table has only {256 // 32} sectors",
        f"16 × 16 bits are {16 * 16 // 8} bytes, and that is a sector. An H200's memory, HBM3e, has many more pins: "
        f"{perfmodel.SPECIFICATIONS['H200'].dram_gb_per_s:,.0f} GB/s",
        f"with the {4 * 2**26 // 8 / 1e6:.0f} MB that the kernel stores",
        f"in place of `range` {LOOPS['range']:.2f} ms become {LOOPS['while']:.2f}, what DRAM needs alone. "
        f"({SUMS['sum_columns']:.2f} was another run.)",
        f"A stride of 32 took {STORED[32]:.1f} ms for 2²⁶ stores. Why does the transpose, with 8,192, take "
        f"{TURNED:.2f} for as many",
        f"by a factor of **{SUMS['sum_rows'] / SUMS['sum_columns']:.1f}**",
        f"({2**18:,} threads, each sums up 1,024 numbers)",
        f"{4 * 2**26 / 1e6:.0f} MB that are *used*",
        f"Loads with a stride of 2 take {STRIDE[2] / STRIDE[1]:.1f} times as long, with a stride of 8 they take "
        f"{STRIDE[8] / STRIDE[1]:.1f} times",
        f"to {STRIDE[16] / STRIDE[1]:.1f} at a stride of 16",
        f"Stores suffer more: {STORED[2] / STORED[1]:.1f} times as long with a stride of 2, "
        f"{STORED[8] / STORED[1]:.1f} times with 8",
        f"It varies by {100 * (max(OFFSET.values()) / min(OFFSET.values()) - 1):.0f} %",
        f"moves 4 + 32 sectors, a warp of the copy 4 + 4. That is {(4 + 32) / (4 + 4)} times as many; the clock said "
        f"{TURNED / COPY:.1f}",
    ],
)
def test_lesson_3a_says(sentence: str) -> None:
    assert sentence in prose(COALESCING)


@pytest.mark.parametrize(
    "sentence",
    [
        f"On an NVIDIA H200 it is **{TILE / PADDED:.1f} times as fast**",
        f"storing columns takes {TURNED:.2f} ms, loading columns {MOVES['transpose_by_columns']:.2f}",
        f"The first transpose took {TURNED:.2f} ms, this one takes {TILE:.2f}, and the copy {COPY:.2f}",
        f"took only {MOVES['transpose_by_columns']:.2f}",
        f"{TILE:.2f} ms become {PADDED:.2f}, and the transpose runs at {100 * COPY / PADDED:.0f} % of the copy's rate",
        f"made for {perfmodel.SPECIFICATIONS['H200'].dram_gb_per_s:,.0f} GB/s, and the *copy* gets "
        f"{2 * 4 * 8192**2 / COPY / 1e6:,.0f}",
        f"gains a factor of {COPY / COPY_4:.1f}, and the padded transpose {PADDED / PADDED_4:.1f}",
        f"come from {rates.gb_per_s(COPY):,.0f} to {rates.gb_per_s(BLOCKS['32 x 8']):,.0f} GB/s, four elements from "
        f"there to {rates.gb_per_s(COPY_4):,.0f}",
        f"The first transpose gains nothing ({rates.gb_per_s(MOVES['transpose, four each']):.0f} after "
        f"{rates.gb_per_s(TURNED):.0f})",
        f"({PADDED:.2f} and {COPY:.2f} ms)",
        f"{TURNED / PADDED_4:.1f} times as fast as the first transpose, {COPY / PADDED_4:.1f} times as fast as the first",
        f"four stores. {2 * 4 * 8192**2 / MOVES['copy, four each, loads first'] / 1e6:,.0f} GB/s, from the same sectors",
        f"Padding now gains a factor of {TILE_4 / PADDED_4:.1f}, more than before",
        f"`sum_rows` of 3a took {SUMS['sum_rows']:.2f} ms; this takes {SUMS['sum_rows, tile of 32 x 33']:.2f} "
        f"({SUMS['sum_rows, tile of 32 x 32']:.2f} without the padding). `sum_columns` took {SUMS['sum_columns']:.2f}",
        f"{LAYOUTS['(n, 4), one field'] / LAYOUTS['(4, n), one field']:.1f} times as fast",
        f"{LAYOUTS['(n, 4), all fields']:.2f} ms against {LAYOUTS['(4, n), all fields']:.2f}",
        f"take {LAYOUTS['record array, packed, one field'] / LAYOUTS['record array, align=True, one field']:.1f} times as "
        "long as the same records with `align=True` for the mass alone",
        f"{LAYOUTS['record array, packed, all fields'] / LAYOUTS['record array, align=True, all fields']:.0f} times as "
        "long as with `align=True`",
        f"32 × 4 = {32 * 4} bytes of shared memory",
    ],
)
def test_lesson_3b_says(sentence: str) -> None:
    assert sentence in prose(CORNER)


def test_lesson_3_s_words_for_numbers_hold() -> None:
    assert PADDED_4 < COPY < PADDED, "a transpose that beats the copy, at the end"
    assert MOVES["copy, four each, loads first"] < PADDED_4 < COPY_4 and TILE_4 / PADDED_4 > TILE / PADDED
    assert MOVES["transpose_by_columns"] < TILE < TURNED
    assert LAYOUTS["(n, 4), all fields"] < LAYOUTS["(4, n), all fields"]
    assert OFFSET[16] > OFFSET[1], "an offset of 16, with four sectors, took longer"
    stored = 4 * 2**26 // 8  # bytes, beside the pieces that are loaded
    in_64, in_32 = (
        [
            (size * len({4 * lane * stride // size for lane in range(32)}) * 2**26 // 32 + stored) / STRIDE[stride]
            for stride in STRIDE
            if stride <= 16
        ]
        for size in (64, 32)
    )
    assert max(in_64) / min(in_64) < 1.06, "in pieces of 64 bytes the rate is the same, other strides than the table's too"
    assert max(in_32) / min(in_32) > 1.9, "and counted in sectors it is not"
    assert MOVES["transpose, four each"] > TURNED, "the first transpose gains nothing"
    assert BLOCKS["32 x 32"] == pytest.approx(COPY, rel=0.01), "the same kernel as in the table, measured again"
    assert LOOPS["range"] == pytest.approx(SUMS["sum_columns"], rel=0.05), "and this one"
    gpu = perfmodel.SPECIFICATIONS["H200"]
    file = Path(perfmodel.__file__).parent / "measurements" / "microbenchmarks.json"
    moved = json.loads(file.read_text(encoding="utf-8"))["memory"]
    gather, scatter = (moved[f"{each} 16 MiB, G sectors/s"] for each in ("gather from", "scatter to"))
    assert gather / scatter == pytest.approx(2, rel=0.03), "a stored sector costs twice a loaded"
    assert LOOPS["while"] == pytest.approx(4 * 2**28 / gpu.dram_achievable_gb_per_s / 1e6, rel=0.05), "DRAM alone"


def test_what_holds_up_the_two_sums_is_as_lesson_3_says() -> None:
    """From the cell's committed output: the passes explain the slow kernel, no resource alone the fast one."""
    head, _, *rows, loops = printed(COALESCING, "sums-limits").splitlines()
    assert all(f"{ms}" in loops for ms in LOOPS.values())
    dram_ms = float(head.removesuffix(" ms").split()[-1])
    table = {name: [float(each) for each in numbers] for name, *numbers in map(str.split, rows)}
    (row_passes, row_l1, _, row_issue, row_ms), (passes, l1, instructions, issue, ms) = (
        table["sum_rows"],
        table["sum_columns"],
    )
    assert (row_passes, passes) == (32, 1), "one by one, and all at once"
    assert max(row_l1, row_issue, dram_ms) == row_l1 > 0.9 * row_ms
    assert l1 < 0.1 * ms and max(issue, dram_ms) < 0.75 * ms < ms < issue + dram_ms, "neither quite hides the other"
    for sentence in (
        f"The passes alone take {row_l1:.2f} ms of the {row_ms:.2f}",
        f"DRAM, {dram_ms:.2f} ms, and, by the simulated GPU's estimate, {instructions:.0f} instructions for one addition, "
        f"{issue:.2f} ms",
    ):
        assert sentence in prose(COALESCING)


def test_rows_of_1_000_numbers_need_eight_passes_as_lesson_3a_says() -> None:
    with simulate():
        from autograder.course.lesson03.kernels import sum_rows

        c = profile(sum_rows)[1, 256](np.ones((256, 1000), np.float32), np.zeros(256, np.float32)).counters
    assert c.global_load_wavefronts == 8 * c.global_load_requests
    assert "(Rows of 1,000 would need 8 passes.)" in prose(COALESCING)


def test_a_gpu_at_hand_is_measured_by_the_bytes_that_a_launch_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the simulated GPU, whose clock is stopped at 2 ms: five timed launches of 2 x 2 blocks after the first."""
    launched = []

    class Kernel:
        def __getitem__(self, where: Any) -> Callable[..., None]:
            return lambda x, out: launched.append((where, x.shape, out.shape))

    monkeypatch.setattr(rates, "SIDE", 64)
    with simulate() as cuda:
        monkeypatch.setattr(cuda, "event_elapsed_time", lambda start, end: 2.0)
        assert rates.measured_gb_per_s(Kernel()) == pytest.approx(2 * 4 * 64**2 / 2 / 1e6)
    assert launched == 6 * [(((2, 2), (32, 32)), (64, 64), (64, 64))]


def test_the_profiler_on_an_h200_read_the_wavefronts_that_the_cell_prints() -> None:
    """From the cell's committed output: a quarter of the requests and wavefronts that were counted for 256 x 256."""
    text = printed(CORNER, "padding-counted")
    rows = re.findall(r"rows of (\d+): +([\d,]+) load requests, +([\d,]+) wavefronts", text)
    numbers = [tuple(int(each.replace(",", "")) for each in row) for row in rows]
    counted, read = numbers[:2], numbers[-2:]
    assert counted == [(width, 4 * requests, 4 * wavefronts) for width, requests, wavefronts in read]


def test_the_strides_that_were_counted_are_those_that_the_h200_counted() -> None:
    rows = re.findall(r"stride +(\d+): simulated +([\d.]+), H200 +([\d.]+)", printed(COALESCING, "stride-counted"))
    assert len(rows) == 6
    assert all(simulated == read for _, simulated, read in rows)


def test_the_rates_of_strides_are_nearly_the_same_in_pieces_of_64_bytes_as_the_cell_prints() -> None:
    _, *rows = printed(COALESCING, "stride-pieces").splitlines()
    table = {
        int(stride): [float(each.replace(",", "")) for each in numbers]
        for stride, _, _, *numbers in map(str.split, rows)
    }
    in_64 = [last for *_, last in table.values()]
    assert max(in_64[:-1]) / min(in_64[:-1]) < 1.05 and in_64[-1] < 0.9 * min(in_64[:-1]) and list(table)[-1] == 32
    assert "in pieces of 64 bytes the rate is the same within 5 % up to a stride of 16" in prose(COALESCING)
    assert table[1][1] == table[1][2] == pytest.approx((4 * 2**26 + 4 * 2**23) / STRIDE[1] / 1e6, rel=1e-3)


def test_the_two_transposes_of_3b_differ_in_nothing_that_3a_counts() -> None:
    _, one, _, other = printed(CORNER, "run-surprise").splitlines()
    assert one.partition("H200")[0] == other.partition("H200")[0]
    assert (one.split()[-2], other.split()[-2]) == (f"{TILE:.2f}", f"{PADDED:.2f}")


def test_the_layouts_that_3b_shows_are_those_that_were_measured() -> None:
    """Its words: four requests where one would do, and four times the sectors."""
    _, _, _, *rows = printed(CORNER, "structures-measured").partition("\n\n")[0].splitlines()
    table = {row[:26].strip(): [float(each) for each in row[26:].split()] for row in rows}
    for name, (_, _, one, everything) in table.items():
        assert (one, everything) == tuple(round(LAYOUTS[f"{name}, {words}"], 3) for words in ("one field", "all fields"))
    assert {name: row[:2] for name, row in table.items()} == {
        "record array, align=True": [1, 16],
        "record array, packed": [4, 64],
        "(n, 4)": [1, 16],
        "(4, n)": [1, 4],
    }


def test_what_holds_up_the_layouts_is_as_lesson_3b_says() -> None:
    head, *rows = printed(CORNER, "structures-measured").partition("\n\n")[2].splitlines()
    names = re.split(r" {2,}", head)[1:]
    table = {row[:22].strip(): dict(zip(names, map(float, row[22:].split()), strict=True)) for row in rows}
    assert table["(n, 4), mass only"]["measured"] == round(LAYOUTS["(n, 4), one field"], 2)
    assert table["packed, all fields"]["measured"] == round(LAYOUTS["record array, packed, all fields"], 2)
    one = table["(n, 4), mass only"]
    assert longest(one) in ("DRAM", "L2")
    assert one["DRAM"] == pytest.approx(one["measured"], rel=0.05) and one["L2"] == pytest.approx(one["measured"], rel=0.05)
    both = f"even if one is wanted, {one['DRAM']} ms through DRAM and {one['L2']} through L2, and the clock says "
    assert f"{both}{one['measured']}" in prose(CORNER)
    alone = table["(4, n), mass only"]
    needs = [alone[each] for each in ("DRAM", "L2", "block launch")]
    assert f"would take {min(needs)} to {max(needs)} ms each" in prose(CORNER) and max(needs) < 0.9 * alone["measured"]
    packed = table["packed, all fields"]
    assert longest(packed) == "L2" and packed["L2"] > 2 * packed["L1"] and packed["measured"] > 1.5 * packed["L2"]


def test_packed_records_take_16_stores_in_place_of_4_as_lesson_3b_says() -> None:
    fields = [(name, np.float32) for name in ("x", "y", "z", "mass")]
    aligned, packed = np.dtype(fields, align=True), np.dtype(fields)
    for each in (aligned, packed):
        assert each.fields is not None and [each.fields[name][1] for name, _ in fields] == [0, 4, 8, 12]
    with simulate():
        from autograder.course.lesson03.kernels import halve_structures

        stores = [
            profile(halve_structures)[1, 32](np.ones(32, each)).counters.global_store_requests for each in (packed, aligned)
        ]
    assert stores == [16, 4]
    assert "a warp sends L2 16 store requests in place of 4" in prose(CORNER)
    assert "both put the fields at bytes 0, 4, 8, 12" in prose(CORNER)


def test_the_next_seven_warps_of_the_transpose_store_into_the_same_sectors_as_lesson_3a_says() -> None:
    with simulate():
        from autograder.course.lesson03.kernels import transpose

        x = np.zeros((64, 64), np.float32)
        p = profile(transpose, trace=True, trace_limit=1000)[(2, 2), (32, 32)](x, np.zeros_like(x))
    stores = [each for each in p.trace("") if each.kind == "store" and each.block == (0, 0, 0)]
    touched = {each.warp: {int(where) // 32 for where in each.addresses} for each in stores}
    assert [warp for warp, sectors in sorted(touched.items()) if sectors == touched[0]] == list(range(8))
    assert "the next seven warps of the block store into the very same sectors" in prose(COALESCING)


def test_measuring_again_replaces_only_what_was_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with simulate():
        from autograder.course.lesson03 import measurements
    monkeypatch.setattr(measurements, "by_reading", lambda: None)
    for name in ("blocks", "loops"):
        monkeypatch.setitem(measurements.PARTS, name, (f"new {name}", lambda flush: {"one": 1.23456}))
    target = tmp_path / "times.json"
    target.write_text(json.dumps(H200), encoding="utf-8")
    measurements.additions(target)
    new = {name: {"what": f"new {name}", "milliseconds": {"one": 1.2346}} for name in ("blocks", "loops")}
    assert json.loads(target.read_text(encoding="utf-8")) == H200 | new


def limits(part: str) -> dict[str, dict[str, float]]:
    """The table of a part's cell `move-limits`: for each kernel milliseconds by resource, and as they were measured."""
    head, *rows = printed(part, "move-limits").splitlines()
    names = re.split(r" {3,}", head)[1:]
    return {row[:26].strip(): dict(zip(names, map(float, row[26:].split()), strict=True)) for row in rows}


def longest(row: dict[str, float]) -> str:
    """The resource that would take longest."""
    return max(set(row) - {"measured"}, key=lambda name: row[name])


def test_the_transpose_is_held_up_by_l2_as_lesson_3a_says() -> None:
    copied, turned = limits(COALESCING)["copy"], limits(COALESCING)["transpose"]
    assert longest(turned) == "L2" and turned["L2"] == pytest.approx(turned["measured"], rel=0.05)
    assert copied[longest(copied)] < 0.75 * copied["measured"], "the copy has no row that explains its time"
    assert f"{turned['L2']:.2f} ms by the estimate, and the clock says {turned['measured']:.2f}" in prose(COALESCING)
    assert (
        f"had {copied['L2']:.2f} ms for L2 and {copied['issue']:.2f} for issue, and the clock says {copied['measured']:.2f}"
        in prose(CORNER)
    )


def test_what_padding_mends_is_as_lesson_3b_says() -> None:
    table = limits(CORNER)
    one, padded = table["tile of 32 x 32, four each"], table["tile of 32 x 33, four each"]
    assert longest(one) == "shared memory" and 0.8 * one["measured"] < one["shared memory"] <= one["measured"]
    three = sorted((padded["L2"], padded["DRAM"], padded["issue"]))
    assert longest(padded) in ("L2", "issue") and three[-1] < 1.2 * three[0], "none is ahead by much"
    assert 0.8 * padded["measured"] < padded["issue"] < padded["measured"]
    loads_first = MOVES["copy, four each, loads first"]
    assert round(loads_first, 2) == padded["L2"] < 1.1 * padded["DRAM"], "what L2 needs alone"
    by_columns = table["transpose_by_columns"]
    assert longest(by_columns) == "L1"
    for width in (32, 33):
        row = table[f"tile of 32 x {width}"]
        assert row[longest(row)] < 0.75 * row["measured"], "no row comes near the clock"
    for sentence in (
        f"held up by shared memory**: {one['shared memory']:.2f} ms of the {one['measured']:.2f}",
        f"Padding cuts that to {padded['shared memory']:.2f}",
        f"L1's passes are the longest, {by_columns['L1']:.2f} ms of {by_columns['measured']:.2f}",
        f"DRAM and L2, {padded['DRAM']:.2f} and {padded['L2']:.2f}, and the instructions that do it, {padded['issue']:.2f}; "
        f"the clock says {padded['measured']:.2f}",
        f"with two thirds of the instructions, takes {loads_first:.2f} ms: what L2 needs alone",
    ):
        assert sentence in prose(CORNER)


def test_the_copy_with_its_loads_first_has_two_thirds_of_the_padded_tile_s_instructions() -> None:
    with simulate():
        from autograder.course.lesson03.kernels import copy_four_loads_first, four_each

        x = np.zeros((64, 64), np.float32)
        tile, copy = (
            profile(kernel)[(2, 2), (32, 8)](x, np.zeros_like(x)) for kernel in (four_each(33), copy_four_loads_first)
        )
    assert tile.counters.global_load_sectors == copy.counters.global_load_sectors
    assert tile.counters.global_store_sectors == copy.counters.global_store_sectors
    share = copy.compiled.issued_warp_instructions / tile.compiled.issued_warp_instructions
    assert share == pytest.approx(2 / 3, rel=0.05)


@pytest.mark.parametrize("part", PARTS)
def test_no_line_of_code_runs_out_of_the_page(part: str) -> None:
    lines = [line for cell in PARTS[part] if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    assert not [line for line in lines if len(line) > 88]
