"""Lesson exercises: the right answer is praised, a known mistake gets its own words, an empty cell is no failure."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from autograder.exercises import lesson01
from autograder.exercises.replies import Reply, judge_array, judge_number, judge_tuple

RIGHT = [
    (lesson01.which_thread, (2, 3, 5, 2)),
    (lesson01.which_grid, (7, 13)),
    (lesson01.share_of_peak, 9.375),
    (lesson01.share_of_peak, 9.3),
    (lesson01.sectors_per_request, (2, 8.5)),
]
WRONG = [
    (lesson01.which_thread, (3, 2, 2, 5), "swapped"),
    (lesson01.which_thread, (2, 3, 5, 3), "The fourth of"),
    (lesson01.which_thread, 5, "takes 4 numbers"),
    (lesson01.which_grid, (6, 12), "Round up"),
    (lesson01.which_grid, (9, 14), "first and second"),
    (lesson01.share_of_peak, 150, "percentage"),
    (lesson01.share_of_peak, 50, "too large"),
    (lesson01.share_of_peak, "9.3", "takes one number"),
    (lesson01.share_of_peak, True, "takes one number"),
    (lesson01.sectors_per_request, (4, 17), "mean of the two"),
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
        ("a[row * k + i] * b[i * k + column]", "not yet", "elements differ; the first: c["),
        ("a[i * k + row] * b[column * n + i]", "not yet", "outside its shape"),
    ],
)
def test_a_kernel_is_run_and_judged_by_what_it_wrote(indices: str, outcome: str, words: str) -> None:
    from autograder import simulate

    with simulate() as cuda:
        source = f"""
def flat_matmul(a, b, c, m, k, n):
    column, row = cuda.grid(2)
    if row < m and column < n:
        total = np.float32(0)
        for i in range(k):
            total += {indices}
        c[row * n + column] = total
"""
        file = f"exercise with {indices}"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        scope = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        reply = lesson01.flat_matmul(cuda.jit(scope["flat_matmul"]))
    assert reply.outcome == outcome
    assert words in reply.words
