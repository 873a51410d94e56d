"""Lesson exercises: the right answer is praised, a known mistake gets its own words, an empty cell is no failure."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from autograder.course import lesson00, lesson01, lesson02, lesson03
from autograder.course.replies import Reply, judge_array, judge_number, judge_tuple

pytestmark = pytest.mark.long

RIGHT = [
    (lesson00.how_many_blocks, (3907, 192)),
    (lesson00.time_of_133, 2),
    (lesson00.copies, (60, 3)),
    (lesson01.which_thread, (2, 3, 5, 2)),
    (lesson01.which_grid, (7, 13)),
    (lesson01.sectors_per_request, (2, 8.5)),
    (lesson01.what_limits, ("issue", "L1")),
    (lesson01.what_limits, ["Instructions", " l1"]),
    (lesson02.wanted_by, (32, 8)),
    (lesson02.blocks_that_fit, (5, 62.5)),
    (lesson02.blocks_that_fit, (5, 62)),
    (lesson02.blocks_that_fit, (5, 63)),
    (lesson02.what_limits, ("shared memory", "slower")),
    (lesson02.what_limits, ["Shared Memory", " Slower"]),
    (lesson02.what_limits, ("shared", "slower")),
]
WRONG = [
    (lesson00.how_many_blocks, (3906, 64), "round up"),
    (lesson00.how_many_blocks, (3907, 64), "how many are too many"),
    (lesson00.time_of_133, 1, "For 132 blocks that is right"),
    (lesson00.time_of_133, 133 / 132, "not shared out"),
    (lesson00.copies, (30, 3), "all three also travel back"),
    (lesson00.copies, (60, 6), "not at all"),
    (lesson01.which_thread, (3, 2, 2, 5), "swapped"),
    (lesson01.what_limits, ("L1", "issue"), "Swapped"),
    (lesson01.what_limits, ("L1", "L1"), "The second is right"),
    (lesson01.what_limits, ("issue", "issue"), "33 passes"),
    (lesson01.what_limits, ("DRAM", "L1"), "Which of the two takes longer"),
    (lesson01.what_limits, ("issue", "speed"), "two of the names"),
    (lesson01.what_limits, ("issue", 5), "two of the names"),
    (lesson01.which_thread, (2, 3, 5, 3), "The fourth of"),
    (lesson01.which_thread, (2, 3, 2, 5), "The blocks are right. x comes first in threadIdx"),
    (lesson01.which_thread, (3, 2, 5, 2), "The threads are right. x comes first in blockIdx"),
    (lesson01.which_thread, (2, 3, 6, 3), "The blocks are right. Counting starts at 0"),
    (lesson01.which_grid, (6.25, 12.5), "round up"),
    (lesson01.sectors_per_request, (2, 16.5), "A warp now reads 16 rows of a"),
    (lesson01.what_limits, ("latency", "L1"), "The second is right. Its instructions"),
    (lesson01.what_limits, ("issue", "DRAM"), "The first is right. Its instructions"),
    (lesson01.which_thread, 5, "takes 4 numbers"),
    (lesson01.which_grid, (6, 12), "Round up"),
    (lesson01.which_grid, (9, 14), "first and second"),
    (lesson00.time_of_133, "2", "takes one number"),
    (lesson00.time_of_133, True, "takes one number"),
    (lesson00.time_of_133, 50, "too large"),
    (lesson00.time_of_133, 132, "When does the last one begin?"),
    (lesson01.sectors_per_request, (4, 17), "mean of the two"),
    (lesson02.wanted_by, (8, 32), "Swapped"),
    (lesson02.wanted_by, (256, 256), "whole block"),
    (lesson02.blocks_that_fit, (5, 61), "The second of"),
    (lesson02.blocks_that_fit, (5.4, 62.5), "The first of"),
    (lesson02.what_limits, ("shared memory", "faster"), "The first is right"),
    (lesson02.what_limits, ("issue", "slower"), "What has grown"),
    (lesson02.what_limits, ("L2", "faster"), "What has grown"),
    (lesson02.what_limits, ("issue", "as fast"), "one of the names"),
    (lesson02.what_limits, ("issue", 2), "one of the names"),
    (lesson02.what_limits, "issue", "one of the names"),
    (lesson02.blocks_that_fit, (8, 100), "Shared memory runs out"),
    (lesson02.blocks_that_fit, (6, 75), "Rounded up"),
    (lesson00.copies, (20, 6), "which arrays travel in one launch"),
    (lesson01.which_thread, (9, 9, 9, 9), "x counts columns"),
    (lesson01.which_thread, (2, 3, 37, 50), "The blocks are right"),
    (lesson01.which_grid, (200, 100), "The grid counts blocks"),
    (lesson01.sectors_per_request, (2, 17), "take the mean"),
    (lesson02.wanted_by, (3, 3), "Which threads of the block have the same row"),
    (lesson02.blocks_that_fit, (4, 50), "housekeeping"),
    (lesson00.time_of_133, 3 + 2j, "is a complex"),
    (lesson00.time_of_133, 775.5, "775.5 is too large"),
    (lesson00.time_of_133, float("nan"), "no number that could be right"),
    (lesson00.time_of_133, Fraction(9, 2), "4.5 is too"),
    (lesson00.time_of_133, 10**400, "no number that could be right"),
    (lesson01.which_grid, ("7", "13"), "'7' is a str"),
    (lesson01.which_grid, (True, 13), "True is a bool"),
]


@pytest.mark.parametrize("exercise, answer", RIGHT)
def test_the_right_answer_is_praised(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"


@pytest.mark.parametrize("exercise, answer, words", WRONG)
def test_a_wrong_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == "not yet"
    assert words in reply.words


@pytest.mark.parametrize("exercise, _", RIGHT)
@pytest.mark.parametrize("empty", [..., None])
def test_an_empty_cell_is_an_invitation(exercise, _, empty) -> None:
    assert exercise(empty).outcome == "your turn"


def test_a_tuple_with_a_gap_is_unanswered() -> None:
    assert judge_tuple((1, ...), (1, 2), "yes").outcome == "your turn"
    assert judge_tuple([..., 2], (1, 2), "yes").outcome == "your turn"
    assert judge_tuple((1, None), (1, 2), "yes").outcome == "your turn"


def test_numpy_s_numbers_and_arrays_are_taken_for_what_they_hold() -> None:
    assert judge_tuple(np.array([1, 2]), (1, 2), "yes").outcome == "right"
    assert judge_tuple((np.int64(1), np.float32(2)), (1, 2), "yes").outcome == "right"
    assert judge_number(np.array(5), 5, "yes").outcome == "right"


@pytest.mark.parametrize(
    "exercise",
    [
        lesson00.backwards,
        lesson00.first_kernel,
        lesson01.flat_matmul,
        lesson01.outer_product,
        lesson01.squared_distances,
        lesson01.scale_rows,
        lesson01.vector_times_matrix,
        lesson02.two_barriers,
        lesson02.ragged_tiles,
        lesson02.count_smaller,
        lesson02.vector_times_matrix,
        lesson02.two_a_thread,
        lesson03.row_sums,
    ],
)
def test_what_is_no_kernel_gets_a_reply_and_no_error(exercise) -> None:
    def kernel(x, y, out):
        pass

    assert exercise(None).outcome == exercise(...).outcome == "your turn"
    assert "Put @cuda.jit above it" in exercise(kernel).words
    assert "takes a kernel" in exercise(5).words
    assert "takes a kernel" in exercise("kernel").words
    assert "takes a kernel" in exercise(print).words


def test_a_reply_reads_as_text_and_as_html_without_executing_what_was_typed() -> None:
    reply = judge_number("<script>", 1.0, "yes")
    assert str(reply).startswith("✗ Not yet. This takes one number")
    assert "<script>" not in reply._repr_html_()


def test_a_wrong_array_is_reported_by_its_first_wrong_element() -> None:
    expected = np.ones((2, 3))
    answer = expected.copy()
    answer[1, 2] = 5
    assert judge_array(answer, expected, "yes").words == (
        "1 of 6 elements differ; the first: c[1, 2] should be 1.0000 and is 5.0000."
    )
    assert judge_array(expected, expected, "yes") == Reply("right", "yes")


@pytest.mark.parametrize(
    "indices, outcome, words",
    [
        ("a[row * k + i] * b[i * n + column]", "right", "Row-major"),
        ("a[i] * b[i]", "your turn", "Both indices are still i"),
        ("a[row * n + i] * b[i * n + column]", "not yet", "outside its shape (35,)"),
        ("a[row * n + i] * b[i * n + column]", "not yet", "How long is a row of a?"),
        ("a[row * k + i] * b[i * k + column]", "not yet", "elements differ; the first: c["),
        ("a[row * k + i] * b[i * k + column]", "not yet", "How long is a row of b?"),
        ("a[i * k + row] * b[column * n + i]", "not yet", "outside its shape"),
        ("a[row * k + i] * b[i + column * n]", "not yet", "How long is a row of b?"),
        ("a[row * k + i] + b[i * n + column]", "not yet", "leave the other lines as they were"),
    ],
)
def test_a_kernel_is_run_and_judged_by_what_it_wrote(indices: str, outcome: str, words: str) -> None:
    source = f"""
def kernel(a, b, c, m, k, n):
    column, row = cuda.grid(2)
    if row < m and column < n:
        total = np.float32(0)
        for i in range(k):
            total += {indices}
        c[row * n + column] = total
"""
    reply = reply_to(lesson01.flat_matmul, source)
    assert reply.outcome == outcome
    assert words in reply.words


OUTER = """
def kernel(x, y, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = x[row] * y[column]
"""
ON_BLOCKS_OF_16 = "16 * cuda.blockIdx.x + cuda.threadIdx.x, 16 * cuda.blockIdx.y + cuda.threadIdx.y"
ALONE = """
def kernel(x, y, c):
    column, row = cuda.grid(2)
    if row == 0 and column == 0:
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] = x[i] * y[j]
"""
DOWN_THE_COLUMNS = """
def kernel(x, y, c):
    first = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    i = first * 128 + cuda.threadIdx.y * 16 + cuda.threadIdx.x
    column, row = i // c.shape[0], i % c.shape[0]
    if column < c.shape[1]:
        c[row, column] = x[row] * y[column]
"""


@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (OUTER, "right", "4 sectors"),
        (OUTER.replace("    if row < c.shape[0] and column < c.shape[1]:\n    ", ""), "not yet", "outside its shape"),
        (OUTER.replace("column, row =", "row, column ="), "not yet", "x comes first and counts columns"),
        (OUTER.replace("cuda.grid(2)", ON_BLOCKS_OF_16), "not yet", "which row and column has a thread"),
        (OUTER.replace("c.shape[1]:", "c.shape[1] - 1:"), "not yet", "whom does the guard let pass"),
        (OUTER.replace("x[row] * y[column]", "x[column] * y[row]"), "not yet", "outside its shape"),
        (OUTER.replace(" * y[column]", " + y[column]"), "not yet", "multiply"),
        (OUTER.replace(" * y[column]", " * y[row]"), "not yet", "one number of x, by its row"),
        (OUTER.replace(" = x[row]", " += x[row]"), "not yet", "before anything was written there"),
        (OUTER.replace("c[row, column] = x[row] * y[column]", "pass"), "your turn", "Nothing was written"),
        (OUTER.replace("c[row, column] =", "c ="), "not yet", "gives the name c to something else"),
        (OUTER.replace("(x, y, c)", "(x, y, c, n)"), "not yet", "takes x, y and c; yours takes 4"),
        (ALONE, "not yet", "1 of the threads wrote it alone"),
        (DOWN_THE_COLUMNS, "not yet", "let neighbours along x write neighbours"),
    ],
)
def test_an_outer_product_is_judged_by_what_it_wrote_and_how(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson01.outer_product, source)
    assert reply.outcome == outcome and words in reply.words, reply


FLAT = """
def kernel(a, b, c, m, k, n):
    column, row = cuda.grid(2)
    if row < m and column < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row * k + i] * b[i * n + column]
        c[row * n + column] = total
"""
GUARD = "if row < m and column < n"
EVERYTHING = """
def kernel(a, b, c, m, k, n):
    x, y = cuda.grid(2)
    if {guard}:
        for row in range(m):
            for column in range(n):
                total = np.float32(0)
                for i in range(k):
                    total += a[row * k + i] * b[i * n + column]
                c[row * n + column] = total
"""


@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (FLAT, "right", "Row-major"),
        (FLAT.replace(GUARD, "if True"), "not yet", "look at the guard"),
        (FLAT.replace(GUARD, "if row < m"), "not yet", "look at the guard"),
        (FLAT.replace(GUARD, "if row < n and column < m"), "not yet", "has no element of c, and must not get to this line"),
        (FLAT.replace("i * n +", "i * 12 +"), "not yet", "How long is a row of b?"),
        (FLAT.replace("row < m", "row < m - 1"), "not yet", "whom does the guard let pass"),
        (FLAT.replace(GUARD, "if True").replace("row * k", "row * n"), "not yet", "How long is a row of a?"),
        (FLAT.replace("column, row =", "row, column ="), "not yet", "x comes first and counts columns"),
        (FLAT.replace("= total", "= total\n        cuda.syncthreads()"), "not yet", "at a barrier"),
        (FLAT.replace("c[row * n + column]", "c[column * m + row]"), "not yet", "c holds the product column by column"),
        (FLAT.replace("range(k)", "range(k - 1)"), "not yet", "leave the loop as it was"),
        (EVERYTHING.format(guard="True"), "not yet", "Race on `c["),
        (EVERYTHING.format(guard="x == 0 and y == 0"), "not yet", "1 of the threads wrote it alone"),
    ],
)
def test_a_flat_kernel_s_other_lines_are_judged_too(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson01.flat_matmul, source)
    assert reply.outcome == outcome
    assert words in reply.words


@pytest.mark.parametrize(
    "body, outcome, words",
    [
        ("if i < out.size:\n        out[i] = 3 * x[i] + y[i]", "right", "second kernel"),
        ("pass", "your turn", "Nothing was written"),
        ("if i < out.size:\n        out = 3 * x[i] + y[i]", "not yet", "gives the name out to something else"),
        ("i += 1000\n    if i < out.size:\n        out[i] = 3 * x[i] + y[i]", "not yet", "no thread got to the line"),
        ("if i < out.size:\n        x[i] = 3 * x[i] + y[i]", "not yet", "what do the stores write, and where?"),
        ("out = x[::-1]", "not yet", "An element is written with its index: `out[...] = ...`"),
        ("out[i] = 3 * x[i] + y[i]", "not yet", "outside its shape"),
        ("if i < out.size:\n        out[i] = x[i] + 3 * y[i]", "not yet", "elements differ"),
        ("if i < 1000:\n        out[i] = 3 * x[i] + y[i]", "not yet", "Launched with 1 x 64 threads for 33 elements"),
        ("i = cuda.threadIdx.x\n    out[i] = 3 * x[i] + y[i]", "not yet", "Launched with 4 x 256 threads"),
        (
            "i = cuda.blockIdx.x * 256 + cuda.threadIdx.x\n    if i < out.size:\n        out[i] = 3 * x[i] + y[i]",
            "not yet",
            "which number of that launch does it count on?",
        ),
        ("if i < out.size:\n        out[i] = 3 * x[i] + y[i]\n        cuda.syncthreads()", "not yet", "at a barrier"),
        (
            "if i == 0:\n        for j in range(out.size):\n            out[j] = 3 * x[j] + y[j]",
            "not yet",
            "1 of the",
        ),
        ("for j in range(out.size):\n        out[j] = 3 * x[j] + y[j]", "not yet", "Race on `out["),
        ("for j in range(i, out.size, cuda.gridsize(1)):\n        out[j] = 3 * x[j] + y[j]", "right", "second kernel"),
        ("for j in range(2 * i, min(2 * i + 2, out.size)):\n        out[j] = 3 * x[j] + y[j]", "right", "second kernel"),
        ("if i < out.size:\n        out[i] += 3 * x[i] + y[i]", "not yet", "you added to what was there"),
    ],
)
def test_a_first_kernel_is_tried_with_several_launches(body: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson00.first_kernel, f"\ndef kernel(x, y, out):\n    i = cuda.grid(1)\n    {body}\n")
    assert reply.outcome == outcome
    assert words in reply.words


@pytest.mark.parametrize(
    "body, outcome, words",
    [
        ("if i < x.size:\n        out[i] = x[x.size - 1 - i]", "right", "The last element comes first"),
        ("n = out.shape[0]\n    if i < n:\n        out[n - i - 1] = x[i]", "right", "each thread moved one"),
        ("for j in range(i, x.size, cuda.gridsize(1)):\n        out[x.size - 1 - j] = x[j]", "right", "moved one"),
        ("if i < x.size:\n        out[i] = x[-i - 1]", "not yet", "write it out, as in size - 1 - i"),
        ("if i < x.size:\n        out[i] = x[x.size - i]", "not yet", "so no guard is missing"),
        ("out[i] = x[x.size - 1 - i]", "not yet", "has no element, and should not get here"),
        ("if i < x.size:\n        out[i] = x[i]", "not yet", "That is x as it was"),
        ("if 0 < i < x.size:\n        out[i] = x[x.size - 1 - i]", "not yet", "out[0] should be"),
        ("if i < x.size // 2:\n        out[i] = x[x.size - 1 - i]", "not yet", "500 elements were never written"),
        (
            "i = cuda.blockIdx.x * 256 + cuda.threadIdx.x\n    if i < x.size:\n        out[i] = x[x.size - 1 - i]",
            "not yet",
            "64 elements were never written. out[32] belongs to thread 0 of block 1: what is i there",
        ),
        (
            "if i < x.size // 2:\n        j = x.size - 1 - i\n        out[i], out[j] = x[j], x[i]",
            "not yet",
            "out[16] belongs to thread 16 of block 0",
        ),
        (
            "j = cuda.blockIdx.x * cuda.blockDim.x + cuda.blockDim.x - 1 - cuda.threadIdx.x\n"
            "    if i < x.size and j < x.size:\n        out[i] = x[j]",
            "not yet",
            "for which i the thread",
        ),
        (
            "if i < x.size:\n        j = x.size - 1 - i\n        x[i], x[j] = x[j], x[i]",
            "not yet",
            "x itself has changed. Only out is to be written.",
        ),
        ("if i < x.size:\n        out[i] = x[(2 * x.size - 2 - i) % x.size]", "not yet", "for which i the thread"),
        ("if i < x.size:\n        x[i] = 2.0", "not yet", "x itself has changed"),
        ("if i == 0:\n        for j in range(x.size):\n            out[j] = x[x.size - 1 - j]", "not yet", "1 of the"),
    ],
)
def test_an_array_turned_round_is_tried_with_several_launches(body: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson00.backwards, f"\ndef kernel(x, out):\n    i = cuda.grid(1)\n    {body}\n")
    assert reply.outcome == outcome, reply
    assert words in reply.words


@pytest.mark.parametrize(
    "before, after, outcome, words",
    [
        ("cuda.syncthreads()", "cuda.syncthreads()", "right", "One between writing and reading"),
        ("", "", "your turn", "No barrier yet"),
        ("cuda.syncthreads()", "", "not yet", "Race on `piece["),
        ("", "cuda.syncthreads()", "not yet", "Race on `piece["),
        ("cuda.syncwarp()", "cuda.syncthreads()", "not yet", "Race on `piece["),
        ("cuda.syncwarp()", "cuda.syncwarp()", "not yet", "the block has two warps"),
        ("cuda.syncthreads", "cuda.syncthreads", "not yet", "without parentheses"),
        ("cuda.syncthreads(); cuda.syncthreads()", "cuda.syncthreads()", "not yet", "two barriers a round are enough"),
    ],
)
def test_missing_barriers_are_seen_although_the_result_is_right(before, after, outcome: str, words: str) -> None:
    source = f"""
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        piece[t] = x[start + t]
        {before}
        out[start + t] = piece[63 - t]
        {after}
"""
    reply = reply_to(lesson02.two_barriers, source)
    assert reply.outcome == outcome
    assert words in reply.words


TWO_PIECES = """
def kernel(x, out):
    pieces = cuda.shared.array((2, 64), np.float32)
    t, turn = cuda.threadIdx.x, 0
    for start in range(0, x.size, 64):
        pieces[turn, t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = pieces[turn, 63 - t]
        turn = 1 - turn
"""
ALL_PIECES = """
def kernel(x, out):
    pieces = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, 256, 64):
        pieces[start + t] = x[start + t]
    cuda.syncthreads()
    for start in range(0, 256, 64):
        out[start + t] = pieces[start + 63 - t]
"""
NO_PIECE = """
def kernel(x, out):
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        out[start + t] = x[start + 63 - t]
"""
OWN_PLACE = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        piece[t] = x[start + 63 - t]
        out[start + t] = piece[t]
"""


@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (TWO_PIECES, "right", "With one barrier a round: while one piece is read, the other one is filled."),
        (ALL_PIECES, "right", "1 barrier in all"),
        (NO_PIECE, "not yet", "out is right, but `piece` is gone"),
        (NO_PIECE.replace("63 - t", "t"), "not yet", "elements differ"),
        (OWN_PLACE, "not yet", "each thread reads what it stored itself"),
        (TWO_PIECES.replace("1 - turn", "0"), "not yet", "Race on `pieces["),
    ],
)
def test_pieces_reversed_in_other_ways_hear_what_their_barriers_do(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson02.two_barriers, source)
    assert reply.outcome == outcome and words in reply.words, reply


@pytest.mark.parametrize(
    "guard, otherwise, outcome, words",
    [
        ("start + y < b.shape[0] and column < b.shape[1]", "b_tile[y, x] = 0", "right", "two of them ragged"),
        ("True", "pass", "your turn", "Reads `b[0, 22]`"),
        ("start + y < b.shape[0]", "b_tile[y, x] = 0", "not yet", "Reads `b[0, 22]`"),
        ("column < b.shape[1]", "b_tile[y, x] = 0", "not yet", "Reads `b[21, 0]`"),
        ("column < b.shape[1]", "b_tile[y, x] = 0", "not yet", "Which row of b does this thread load?"),
        ("start + y < b.shape[0] and column < b.shape[1]", "pass", "not yet", "before anything was written there"),
        ("start + x < b.shape[0] and column < b.shape[1]", "b_tile[y, x] = 0", "not yet", "a is 20 x 21"),
        ("start + y < b.shape[0] and column < b.shape[1]", "b_tile[y, x] = 1", "not yet", "elements differ"),
        ("start + y < b.shape[0] and column < b.shape[1]", "return  # pass", "not yet", "no longer fetches its share"),
    ],
)
def test_a_ragged_tile_needs_its_guard_and_its_zeros(guard: str, otherwise: str, outcome: str, words: str) -> None:
    source = f"""
def kernel(a, b, c):
    a_tile = cuda.shared.array((16, 16), np.float32)
    b_tile = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        if row < a.shape[0] and start + x < a.shape[1]:
            a_tile[y, x] = a[row, start + x]
        else:
            a_tile[y, x] = {0 if otherwise == "b_tile[y, x] = 0" or "pass" in otherwise else 1}
        if {guard}:
            b_tile[y, x] = b[start + y, column]
        else:
            {otherwise}
        cuda.syncthreads()
        for k in range(16):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
"""
    reply = reply_to(lesson02.ragged_tiles, source)
    assert reply.outcome == outcome
    assert words in reply.words


SMALLER = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    mine = np.float32(0)
    if i < x.size:
        mine = x[i]
    smaller = 0
    for start in range(0, x.size, 64):
        if start + t < x.size:
            piece[t] = x[start + t]
        else:
            piece[t] = np.inf
        cuda.syncthreads()
        for k in range(64):
            if piece[k] < mine:
                smaller += 1
        cuda.syncthreads()
    if i < x.size:
        out[i] = smaller
"""
EACH_FOR_ITSELF = """
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        smaller = 0
        for k in range(x.size):
            if x[k] < x[i]:
                smaller += 1
        out[i] = smaller
"""
ONE_FOR_ALL = EACH_FOR_ITSELF.replace("if i < x.size:", "if i > 0:\n        return\n    for i in range(x.size):")
ONE_PIECE = SMALLER.replace("in range(0, x.size, 64)", "in range(0, 64, 64)")
ALL_AT_ONCE = """
def kernel(x, out):
    everything = cuda.shared.array(256, np.float32)
    i = cuda.grid(1)
    for at in range(cuda.threadIdx.x, x.size, 64):
        everything[at] = x[at]
    cuda.syncthreads()
    if i < x.size:
        smaller, mine = 0, x[i]
        for k in range(x.size):
            if everything[k] < mine:
                smaller += 1
        out[i] = smaller
"""
AFRESH_EACH_ROUND = SMALLER.replace("piece[k] < mine", "i < x.size and piece[k] < x[i]")
AFRESH_BY_PIECES = """
def kernel(x, out):
    piece = cuda.shared.array(64, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    smaller = 0
    for start in range(0, x.size, 64):
        if start + t < x.size:
            piece[t] = x[start + t]
        cuda.syncthreads()
        if i < x.size:
            k = 0
            while k < 64 and start + k < x.size:
                if piece[k] < x[i]:
                    smaller += 1
                k += 1
        cuda.syncthreads()
    if i < x.size:
        out[i] = smaller
"""
ONE_FETCHES = SMALLER.replace(
    """        if start + t < x.size:
            piece[t] = x[start + t]
        else:
            piece[t] = np.inf
""",
    """        if t == 0:
            for k in range(64):
                piece[k] = x[start + k] if start + k < x.size else np.float32(np.inf)
""",
)


@pytest.mark.parametrize(
    "source, outcome, words",
    [
        (SMALLER, "right", "sends"),
        (SMALLER.replace("out[i] = smaller", "pass"), "your turn", "Nothing was written"),
        (SMALLER.replace("(x, out)", "(x, out, n)"), "not yet", "takes x and out; yours takes 3"),
        (SMALLER.replace("        cuda.syncthreads()\n", "", 1), "not yet", "Race on `piece["),
        (SMALLER.replace("        cuda.syncthreads()\n    if", "    if"), "not yet", "Race on `piece["),
        (SMALLER.replace("piece[t] = np.inf", "piece[t] = 0"), "not yet", "elements differ"),
        (SMALLER.replace("piece[t] = np.inf", "pass"), "not yet", "4 pieces, the last one with 8 numbers"),
        (
            SMALLER.replace("        mine = x[i]", "        mine = x[i]\n    else:\n        return"),
            "not yet",
            "returns early",
        ),
        (
            SMALLER.replace("    if i < x.size:\n        out", "    if True:\n        out"),
            "not yet",
            "outside its shape",
        ),
        (ONE_PIECE, "not yet", "elements differ"),
        (EACH_FOR_ITSELF, "not yet", "all read it from shared memory"),
        (AFRESH_EACH_ROUND, "not yet", "`x[i]` is the same in every round: take it into a variable"),
        (AFRESH_BY_PIECES, "not yet", "`x[i]` is the same in every round: take it into a variable"),
        (ONE_FETCHES, "not yet", "Have each thread fetch one number of a piece"),
        (ALL_AT_ONCE, "not yet", "outside its shape (256,)"),
        (ONE_FOR_ALL, "not yet", "1 of the threads wrote it alone"),
    ],
)
def test_a_count_of_smaller_numbers_is_judged_by_what_it_wrote_and_loaded(
    source: str, outcome: str, words: str
) -> None:
    reply = reply_to(lesson02.count_smaller, source)
    assert reply.outcome == outcome and words in reply.words, reply


def reply_to(exercise: Callable[[Any], Reply], source: str) -> Reply:
    """What an exercise says to a kernel given as text, which stays readable as it is in a notebook."""
    from autograder import simulate

    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return exercise(cuda.jit(scope["kernel"]))
