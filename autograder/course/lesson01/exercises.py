"""Exercises of notebooks/01a_naive_matmul.ipynb and 01b_what_holds_it_up.ipynb, but for kernels written from scratch.

The answers that students see stand there, under "Answer".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES, Inputs, Owners, parameters, resource_named, threads_that_store
from autograder.course.replies import (
    Reply,
    judge_array,
    judge_tuple,
    no_kernel,
    not_yet,
    right,
    unanswered,
)


def which_thread(answer: Any) -> Reply:
    """Who computes c[50, 37] in blocks of (16, 16)? (blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y)"""
    return judge_tuple(
        answer,
        (2, 3, 5, 2),
        "Column 37 is 2 x 16 + 5 and row 50 is 3 x 16 + 2.",
        {
            (3, 2, 2, 5): "x and y are swapped: x counts columns, and 37 is the column.",
            (2, 5, 3, 2): "The right numbers in another order: both block numbers first, then both thread numbers.",
            (37, 50, 5, 2): "There are not that many blocks: which block of 16 is column 37 in?",
            (2, 3, 37, 50): "The blocks are right. threadIdx counts inside the block, from 0 to 15.",
            (3, 4, 5, 2): "The threads are right. Counting starts at 0: block 0 has columns 0 to 15.",
            (2, 3, 2, 5): "The blocks are right. x comes first in threadIdx, too, and counts columns.",
            (3, 2, 5, 2): "The threads are right. x comes first in blockIdx, too, and counts columns.",
            (2, 3, 6, 3): "The blocks are right. Counting starts at 0: thread 0 of block 2 has column 32.",
        },
        hint="c[50, 37] is row 50, column 37, and x counts columns. How many whole blocks of 16 come before each?",
    )


def which_grid(answer: Any) -> Reply:
    """How many blocks of (32, 8) threads cover a matrix of 100 rows and 200 columns? (x, y)"""
    return judge_tuple(
        answer,
        (7, 13),
        "7 x 32 = 224 threads cover 200 columns, and 13 x 8 = 104 cover 100 rows.",
        {
            (13, 7): "Swapped: x comes first and runs along the columns.",
            (4, 25): "x runs along the columns, of which there are 200; y along the 100 rows.",
            (6.25, 12.5): "A part of a block cannot be launched: round up.",
            (6, 12): "Rounded down: 6 x 32 = 192 threads leave 8 columns without one. Round up.",
            (6, 13): "The second is right. 6 x 32 = 192 threads leave 8 columns without one.",
            (7, 12): "The first is right. 12 x 8 = 96 threads leave 4 rows without one.",
            (8, 13): "The second is right; the first covers 256 columns and 7 blocks would do.",
            (200, 100): "Those are threads. The grid counts blocks, and a block brings 32 x 8 of them.",
            (32, 8): "That is the block. The grid says how many of them there are, along x and along y.",
        },
        hint="Along x: how many blocks of 32 for 200 columns? Along y: how many of 8 for 100 rows?",
    )


def flat_matmul(kernel: Any) -> Reply:
    """Finish the kernel that sees a (m, k), b (k, n) and c (m, n) as one-dimensional arrays."""
    wrong = no_kernel(kernel)
    if wrong:
        return wrong
    m, k, n = 5, 7, 11  # all different, so that no two strides can be mistaken for each other
    rng = np.random.default_rng(5)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    inputs = Inputs(a=a, b=b)
    c, broken = _launched(kernel, a, b)
    if not broken and np.allclose(c, a.ravel()[:k] @ b.ravel()[:k]):
        return Reply("your turn", "Both indices are still i, for every thread. Change them and run this cell again.")
    expected = a.astype(np.float64) @ b
    reply = judge_array(c, expected, "Row-major order by hand: NumPy does the same sum for a[row, i].")
    sizes = f"a is {m} x {k}, b is {k} x {n}."
    outside = [each for each in broken if each.kind in OUTSIDE]
    if outside:
        owners = Owners(LAUNCH[1], (m, n))
        ask = _ask({each.array for each in outside}) if owners.has_element(outside[0]) else _GUARD
        return not_yet(f"{sizes} {outside[0].line}: {outside[0].message} {ask}")
    if broken:
        return not_yet(f"{sizes} {broken[0]}")
    if (changed := inputs.changed(sizes)) is not None:
        return changed
    if reply.outcome == "right":
        flat = (a.ravel(), b.ravel(), np.zeros(m * n, np.float32), m, k, n)
        busy = threads_that_store(kernel, *LAUNCH, flat, parameters(kernel)[2])
        if busy < m * n / 2:
            return not_yet(
                f"{sizes} c is right, but {busy} of the threads wrote it alone. Let each compute one element."
            )
        return reply
    if not c.all() and np.allclose(c[c != 0], expected[c != 0], rtol=1e-4):
        return not_yet(f"{sizes} {reply.words} {_FIRST_LINE}")
    if np.allclose(c.ravel(), expected.T.ravel(), rtol=1e-4):
        return not_yet(f"{sizes} {reply.words} c holds the product column by column. {_ask({'c'})}")
    if np.allclose(c, a[:, :-1] @ b[:-1], rtol=1e-4):
        return not_yet(f"{sizes} {reply.words} The last product is missing in each sum: leave the loop as it was.")
    return not_yet(f"{sizes} {reply.words} {_ask(_wrong_in(kernel, a, b))}")


LAUNCH = ((3, 2), (4, 4))
OUTSIDE = ("out_of_bounds", "negative_index")
_GUARD = "The thread that did so has no element of c, and must not get to this line: look at the guard."
_FIRST_LINE = (
    "Where c was written it is right, and no thread got to the elements that are still 0. Look at the first two lines: "
    "which row and column has a thread (x comes first and counts columns, y counts rows), and whom does the guard let pass?"
)


def _launched(kernel: Any, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """What the kernel makes of a and b, given flat, and the rules that it broke."""
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    (m, k), n = a.shape, b.shape[1]
    c = np.zeros(m * n, np.float32)
    grid, block = LAUNCH
    hazards = profile(kernel)[grid, block](a.ravel(), b.ravel(), c, m, k, n).hazards
    return c.reshape(m, n), [each for each in hazards if each.kind in RULES]


def _wrong_in(kernel: Any, a: np.ndarray, b: np.ndarray) -> set[str]:
    """Whose index is wrong: with ones for the other matrix, c must hold the sums of the rows or of the columns."""
    ones = np.ones_like
    good_a = np.allclose(_launched(kernel, a, ones(b))[0], a.sum(axis=1, keepdims=True), rtol=1e-4)
    good_b = np.allclose(_launched(kernel, ones(a), b)[0], b.sum(axis=0), rtol=1e-4)
    return {name for name, good in (("a", good_a), ("b", good_b)) if not good}


def _ask(wrong_in: set[str]) -> str:
    """A question about the matrix whose index is wrong."""
    if wrong_in == {"b"}:
        return "Look at b: before b[i, column] lie i whole rows of b, then `column` elements. How long is a row of b?"
    if wrong_in == {"c"}:
        return "Leave the guard, and the line that writes c, as they were."
    words = "Look at a: before a[row, i] lie `row` whole rows of a, then i elements. How long is a row of a?"
    return f"{words} (And leave the other lines as they were.)" if wrong_in == {"a", "b"} else words


def sectors_per_request(answer: Any) -> Reply:
    """Sectors per load request with blocks of (16, 16): (x along columns, x along rows)"""
    return judge_tuple(
        answer,
        (2, 8.5),
        "(2 + 2) / 2 along columns, (16 + 1) / 2 along rows.",
        {
            (5, 33): "Those are both loads of the 32 x 32 block together. Here a warp is two rows of 16: take the mean.",
            (4, 17): "Those are the sectors of both loads together. A request is one load: take the mean of the two.",
            (2.5, 16.5): "That was the 32 x 32 block. Here a warp is two rows of 16 threads.",
            (8.5, 2): "Swapped: x along columns comes first.",
            (1.5, 8.5): "The second is right. Two rows of threads read two different rows of a: two sectors.",
            (2, 16.5): "The first is right; the second was the 32 x 32 block. A warp now reads 16 rows of a.",
            (2, 9): "The first is right. Two neighbouring columns of b lie in one sector.",
            (4, 8.5): "The second is right. Those are the sectors of both loads together: take the mean of the two.",
            (2, 17): "The first is right. Those are the sectors of both loads together: take the mean of the two.",
            (2.5, 8.5): "The second is right; the first was the 32 x 32 block. A warp now reads two rows of a.",
        },
        hint="Lanes 0 to 15 have y = 0, lanes 16 to 31 have y = 1. Count the sectors of a, then those of b, then the mean.",
    )


LIMITS = ("DRAM", "L2", "L1", "issue", "latency")


def what_limits(answer: Any) -> Reply:
    """What limits x_along_rows written with range: (at 1,100, at 1,024), by the names of the breakdown."""
    waiting = unanswered(answer)
    if waiting:
        return waiting
    first, second = (
        (resource_named(each, LIMITS) for each in answer)
        if isinstance(answer, (tuple, list)) and len(answer) == 2
        else (None, None)
    )
    if first is None or second is None:
        return not_yet(f"This takes two of the names {', '.join(LIMITS)}, like ('L2', 'DRAM').")
    if (first, second) == ("issue", "L1"):
        return right("At 1,100 its instructions would take 2.1 ms and L1 1.6; at 1,024 they would take 1.5 and L1 4.4.")
    if (first, second) == ("L1", "issue"):
        return not_yet("Swapped: 1,100 comes first.")
    if first == second == "L1":
        return not_yet("The second is right. At 1,100 compare L1's time with that of the instructions that range takes.")
    if first == second == "issue":
        return not_yet("The first is right. At 1,024 compare the instructions' time with what L1 needs for 33 passes.")
    good = "The first is right. " if first == "issue" else "The second is right. " if second == "L1" else ""
    return not_yet(
        f"{good}Its instructions are those of with_range, its passes through L1 those of x_along_rows. Which of the two "
        "takes longer, at each size?"
    )
