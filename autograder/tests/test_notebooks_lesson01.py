"""Lesson 1's newer kernels: the replies to right answers, to other right ones and to typical wrong ones; its picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.course import lesson01
from autograder.course.lesson01 import strays
from autograder.tests.test_notebooks_exercises import reply_to

pytestmark = pytest.mark.long

DISTANCES = """
def kernel(p, q, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        total = np.float32(0)
        for k in range(p.shape[1]):
            d = p[row, k] - q[column, k]
            total += d * d
        out[row, column] = total
"""
IN_OUT_ITSELF = """
def kernel(p, q, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = 0
        for k in range(p.shape[1]):
            out[row, column] += (p[row, k] - q[column, k]) ** 2
"""
A_ROW_EACH = """
def kernel(p, q, out):
    column, row = cuda.grid(2)
    if column == 0 and row < out.shape[0]:
        for j in range(out.shape[1]):
            total = np.float32(0)
            for k in range(p.shape[1]):
                total += (p[row, k] - q[j, k]) ** 2
            out[row, j] = total
"""
WITHOUT_GUARD = DISTANCES.replace("if row < out.shape[0] and column < out.shape[1]", "if True")


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (DISTANCES, "right", "one stayed, as in the matrix multiply"),
        (IN_OUT_ITSELF, "right", "one stayed"),
        (DISTANCES.replace("d * d", "d**2").replace("np.float32(0)", "0.0"), "right", "one stayed"),
        (DISTANCES.replace("out[row, column] = total", "pass"), "your turn", "Nothing was written to out"),
        (IN_OUT_ITSELF.replace("        out[row, column] = 0\n", ""), "not yet", "before anything was written there"),
        (DISTANCES.replace("= total", "= total**0.5"), "not yet", "needs no root"),
        (DISTANCES.replace("+= d * d", "+= d"), "not yet", "Square each of them"),
        (DISTANCES.replace("+= d * d", "= d * d"), "not yet", "Only the last difference"),
        (DISTANCES.replace("p.shape[1]", "1"), "not yet", "Only the first difference"),
        (DISTANCES.replace("p.shape[1]", "3"), "not yet", "Only the first three differences"),
        (DISTANCES.replace("range(p", "range(1, p"), "not yet", "The first difference is missing"),
        (DISTANCES.replace("p.shape[1]", "p.shape[1] - 1"), "not yet", "The last difference is missing"),
        (DISTANCES.replace("+= d * d", "+= p[row, k] * q[column, k]"), "not yet", "Take their difference"),
        (DISTANCES.replace("p[row, k] - q[column, k]", "p[row, k] - q[k, column]"), "not yet", "outside its shape"),
        (DISTANCES.replace("- q[column", "- q[row"), "not yet", "a row of q, by its column"),
        (WITHOUT_GUARD, "not yet", "outside its shape (5, 3)"),
        (DISTANCES.replace("column, row =", "row, column ="), "not yet", "x comes first and counts columns"),
        (A_ROW_EACH, "not yet", "of the threads wrote it alone"),
        (DISTANCES.replace("(p, q, out)", "(p, q, out, n)"), "not yet", "takes p, q and out; yours takes 4"),
        (DISTANCES.replace("p[row, k] - q[column, k]", "(q[column, k] - p[row, k]) ** 0.5"), "not yet", "is nan"),
        (DISTANCES.replace("total += d * d", "while d == d:\n                total += d"), "not yet", "never ends"),
    ],
)
def test_distances_are_judged_by_what_was_written_over_fresh_memory(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson01.squared_distances, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply


SCALE = """
def kernel(a, factor, c):
    i = cuda.grid(1)
    row, column = i // a.shape[1], i % a.shape[1]
    if row < a.shape[0]:
        c[row, column] = factor[row] * a[row, column]
"""
AS_GIVEN = SCALE.replace("i // a.shape[1], i % a.shape[1]", "i % a.shape[0], i // a.shape[0]").replace(
    "row < a.shape[0]", "column < a.shape[1]"
)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (SCALE, "right", "2.5 sectors and a store request 4"),
        (SCALE.replace("if row < a.shape[0]", "if i < a.size"), "right", "2.5 sectors"),
        (SCALE.replace("i // a.shape[1], i % a.shape[1]", "divmod(i, a.shape[1])"), "right", "2.5 sectors"),
        (AS_GIVEN, "your turn", "moves 18 sectors, a store request 32"),
        (SCALE.replace("row < a.shape[0]", "column < a.shape[1]"), "not yet", "Reads `factor[5]`, outside its shape"),
        (SCALE.replace("if row < a.shape[0]", "if True"), "not yet", "outside its shape"),
        (SCALE.replace("row, column =", "column, row ="), "not yet", "outside its shape"),
        (SCALE.replace("i % a.shape[1]", "i % a.shape[0]"), "not yet", "Race on `c["),
        (SCALE.replace("factor[row] *", "factor[column] *"), "not yet", "outside its shape"),
        (SCALE.replace("factor[row] *", "factor[row] +"), "not yet", "Leave the line that writes c"),
        (SCALE.replace("i // a.shape[1]", "i // 128"), "not yet", "Race on `c["),
    ],
)
def test_scaled_rows_are_judged_by_their_sectors(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson01.scale_rows, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply


def test_elements_that_no_thread_got_to_are_told_from_wrong_ones() -> None:
    reply = reply_to(lesson01.scale_rows, SCALE.replace("row < a.shape[0]", "row < a.shape[0] - 1"))
    assert "7 of 35 elements were never written; the first: c[4, 0]" in reply.words
    assert "x comes first" not in reply.words, "its blocks have one dimension"


TIMES = """
def kernel(x, a, y):
    column = cuda.grid(1)
    if column < y.size:
        total = np.float32(0)
        k = 0
        while k < x.size:
            total += x[k] * a[k, column]
            k += 1
        y[column] = total
"""
BY_RANGE = """
def kernel(x, a, y):
    column = cuda.grid(1)
    if column < y.size:
        total = np.float32(0)
        for k in range(x.size):
            total += x[k] * a[k, column]
        y[column] = total
"""
ALL_BY_ONE = """
def kernel(x, a, y):
    if cuda.grid(1) == 0:
        for column in range(y.size):
            total = np.float32(0)
            k = 0
            while k < x.size:
                total += x[k] * a[k, column]
                k += 1
            y[column] = total
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (TIMES, "right", "takes 8 instructions. With range it would be nearly 40."),
        (BY_RANGE, "not yet", "takes 33 instructions. 8 are enough"),
        (TIMES.replace("k < x.size", "k < a.shape[0]"), "right", "8 instructions"),
        (TIMES.replace("np.float32(0)", "0"), "right", "computed in float64"),
        (TIMES.replace("y[column] = total", "pass"), "your turn", "Nothing was written to y"),
        (TIMES.replace("            k += 1\n", ""), "not yet", "This loop never ends"),
        (TIMES.replace("total +=", "total ="), "not yet", "Only the last product"),
        (TIMES.replace("k < x.size", "k < 1"), "not yet", "Only the first product"),
        (TIMES.replace("k < x.size", "k < x.size - 1"), "not yet", "The last product is missing"),
        (TIMES.replace("k = 0", "k = 1"), "not yet", "The first product is missing: where does the loop begin"),
        (TIMES.replace("k < x.size", "k <= x.size"), "not yet", "and how far does the loop count?"),
        (TIMES.replace("x[k] * ", ""), "not yet", "multiply each number by its x[k]"),
        (TIMES.replace("k < x.size", "k < a.shape[1]"), "not yet", "y[column] is the sum of x[k] * a[k, column]"),
        (TIMES.replace("a[k, column]", "a[column, k]"), "not yet", "Reads `a[0, 5]`, outside its shape"),
        (TIMES.replace("if column < y.size", "if True"), "not yet", "outside its shape (7, 5)"),
        (TIMES.replace("cuda.grid(1)", "cuda.threadIdx.x"), "not yet", "Race on `y["),
        (ALL_BY_ONE, "not yet", "1 of the threads wrote it alone"),
    ],
)
def test_a_vector_times_a_matrix_is_judged_by_its_instructions_too(source: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson01.vector_times_matrix, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply


def test_the_picture_of_stray_threads_counts_those_that_the_hazard_report_counts() -> None:
    assert "228 threads of 1,024 write an element of another thread" in strays(20, 20, 32, 32).alt
    assert "row 3, column 20 writes to row 4, column 0" in strays(20, 20, 32, 32).alt
    with pytest.raises(ValueError, match="none goes astray"):
        strays(32, 32, 32, 32)


def test_lesson_1a_says_what_a_zero_without_a_type_costs() -> None:
    root = Path(__file__).parents[2]
    cells = json.loads((root / "notebooks" / "01a_naive_matmul.ipynb").read_text(encoding="utf-8"))["cells"]
    said = {cell["id"]: "".join(cell["source"]) for cell in cells}["a-distances"]
    (shown,) = ("".join(each["outputs"][0]["text"]) for each in cells if each["id"] == "a-run-typed-zero")
    typed, bare = (int(line.split(" us ")[0].split()[-1]) for line in shown.splitlines()[:2])
    assert "a third longer, by the estimate" in said and 1.25 < bare / typed < 1.4
    limits = root / "autograder" / "perfmodel" / "measurements" / "limits.json"
    us = json.loads(limits.read_text(encoding="utf-8"))["microseconds of multiplies, by the type of their sum"]
    longer = [us[f"N = {size}, float64"] / us[f"N = {size}, float32"] for size in (512, 1024)]
    assert "took a tenth longer, by the clock" in said and all(1.05 < each < 1.15 for each in longer)
