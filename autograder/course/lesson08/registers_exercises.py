"""Exercises of notebook 08a; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import Inputs, not_of, nothing_right
from autograder.course.lesson08.wrong_sums import what_is_there
from autograder.course.replies import Reply, judge_array, judge_tuple, not_yet, right, unanswered
from autograder.figures.svg import plural

UNTOUCHED = np.float32(-1)  # below every sum of products of numbers above 0
PASSES_OF_ONE = 1.5
"""Passes that a warp's loads from the tiles take for each multiply-add, an element a thread: four of a_tile at once."""
OF_A_SQUARE = " sums[i, j] takes row y + i of the tile of A and column x + j of that of B."
KINDS = ("signed", "unsigned", "signed", "unsigned")


def numbers_fetched(answer: Any) -> Reply:
    """Numbers from shared memory for each multiply-add: with four sums in a column, and with 4 x 4 sums."""
    return judge_tuple(
        answer,
        (1.25, 0.5),
        "5 numbers for 4 multiply-adds, and 8 for 16. A longer column ends at 1, for each of its sums needs a number of A "
        "of its own. A square has no such end: twice as wide is half as much.",
        {
            (5, 8): "That is for one step of a thread. How many multiply-adds does it do with them?",
            (0.8, 2): "Upside down: that is multiply-adds for each number.",
            (1.25, 1.25): "The first is right. A square of 4 x 4 needs four numbers of A and four of B.",
            (1.25, 0.3125): "The first is right. 4 x 4 sums lie in four columns: they need four numbers of B, not one.",
            (1, 0.5): "The second is right. The column needs its number of B, too, if only once.",
            (1, 1): "The column needs its one number of B, too. And the square needs 4 + 4 numbers for 16.",
            (0.25, 0.5): "The second is right. The four sums share their number of B, but each needs its own of A.",
            (2, 2): "That is with one sum a thread: nothing is used twice.",
        },
        hint="Count for one k: the different numbers of A and of B that the thread needs, over its multiply-adds.",
        within=(1e-6, 1e-6),
    )


def four_in_a_column(kernel: Any) -> Reply:
    """A kernel of (a, b, c) with tiles of 32 x 32, blocks of (32, 8): each thread has four sums of one column of c."""
    if (wrong := not_of(kernel, ("a", "b", "c"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(81)
    for m, depth, n in ((32, 32, 32), (64, 96, 64)):
        a, b = rng.random((m, depth), dtype=np.float32), rng.random((depth, n), dtype=np.float32)
        c, inputs = np.full((m, n), UNTOUCHED), Inputs(a=a, b=b)
        p = profile(kernel)[(n // 32, m // 32), (32, 8)](a, b, c)
        launched = f"a is {m} x {depth}, b is {depth} x {n}; blocks of 32 x 8 threads."
        if (wrong := nothing_right(p, bool((c == UNTOUCHED).all()), "c", launched, inputs=inputs)) is not None:
            return wrong
        expected = a.astype(np.float64) @ b
        if (wrong := _rows_missing(c, expected, launched)) is not None:
            return wrong
        if (reply := judge_array(c, expected, "")).outcome != "right":
            return not_yet(f"{launched} {reply.words}{what_is_there(a, b, c, 32)}")
    asked, of_tiles = p.counters.global_load_requests / p.counters.warps, 8 * depth // 32
    if asked > 2 * of_tiles:
        return not_yet(
            f"c is right. But each warp asks global memory {asked:.0f} times, where tiles of 32 x 32 take {of_tiles}: four "
            "elements of each tile a thread. Let the sums take their numbers from the tiles."
        )
    passes = p.compiled.shared_load_wavefronts / (m * depth * n / 32)
    if passes > PASSES_OF_ONE - 0.1:
        return not_yet(
            f"c is right. But it takes {passes:.2f} passes through shared memory for each multiply-add, as with one sum a "
            "thread. Use a number of b's tile for all four sums in the same round of k."
        )
    return right(
        "In each step of k a thread needs 4 numbers of A and one of B for 4 multiply-adds: 1.25 each, in place of 2."
    )


def _rows_missing(c: np.ndarray, expected: np.ndarray, launched: str) -> Reply | None:
    """The reply where whole rows were never written; None where all were."""
    missing = (c == UNTOUCHED).all(axis=1)
    if not missing.any():
        return None
    rows = plural(int(missing.sum()), "row")
    beside = np.allclose(c[~missing], expected[~missing], rtol=1e-4)
    words = f"{launched} {rows} of c, row {int(np.flatnonzero(missing)[0])} the first, were never written."
    apart = " The others are right. A thread has four rows of the tile, 8 apart: y, y + 8, y + 16 and y + 24."
    return not_yet(words + (apart if beside else ""))


def what_serves(answer: Any) -> Reply:
    """In `strips`: threads that use one number of the shared `strip`; multiply-adds that one `right` of a thread serves."""
    return judge_tuple(
        answer,
        (128, 16),
        "Both are used again and again, each in its way: a number of A by all threads of the block, so it lies where all "
        "can read it; a number of B by one thread, 16 times, so it lies in that thread's register.",
        {
            (16, 128): "Swapped: 128 threads a block, 16 sums a thread.",
            (128, 128): "The first is right. `right` is one thread's own: for how many sums does it serve?",
            (16, 16): "The second is right. Which threads of the block read strip[k, i]? The index does not hold t.",
            (1, 16): "The second is right. The thread that fetches a number is not the only one that reads it.",
            (32, 16): "The second is right. 32 is a warp; shared memory is the whole block's.",
            (128, 1): "The first is right. Look at the loop over i: `right` stays as it is.",
            (128, 8): "The first is right. 8 is how many steps of k there are in a tile; `right` is fetched anew in each.",
        },
        hint="Which threads read strip[k, i]? And how many rounds of i go by before `right` is fetched anew?",
    )


def square_of_sums(kernel: Any) -> Reply:
    """Blocks of 64 threads, tiles of 8 steps, C in 32 x 32: each thread adds the products for its 4 x 4 sums."""
    if (wrong := not_of(kernel, ("a", "b", "c"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(82)
    for m, depth, n in ((32, 8, 32), (64, 24, 64)):
        a, b = rng.random((m, depth), dtype=np.float32), rng.random((depth, n), dtype=np.float32)
        c, inputs = np.full((m, n), UNTOUCHED), Inputs(a=a, b=b)
        p = profile(kernel)[(n // 32, m // 32), 64](a, b, c)
        launched = f"a is {m} x {depth}, b is {depth} x {n}; blocks of 64 threads."
        if not any(c.ravel()):
            return Reply("your turn", "All sums are 0 so far: nothing is added to them between the barriers.")
        if (wrong := nothing_right(p, bool((c == UNTOUCHED).all()), "c", launched, inputs=inputs)) is not None:
            return wrong
        expected = a.astype(np.float64) @ b
        if (reply := judge_array(c, expected, "")).outcome != "right":
            return not_yet(f"{launched} {reply.words}{what_is_there(a, b, c, 8, OF_A_SQUARE)}")
    asked, of_tiles = p.counters.global_load_requests / p.counters.warps, 8 * depth // 8
    if asked > 2 * of_tiles:
        return not_yet(
            f"c is right. But each warp asks global memory {asked:.0f} times, where the tiles take {of_tiles}. Let the sums "
            "take their numbers from the tiles."
        )
    return right("In each step of k a thread needs 4 numbers of A and 4 of B for 16 multiply-adds: half a number each.")


def signed_or_not(answer: Any) -> Reply:
    """Which of t * 8, t * np.uint32(8), t + i, t + np.uint32(i) are signed, t being an np.uint32 and i of range(8)?"""
    if (waiting := unanswered(answer)) is not None:
        return waiting
    given = tuple(each.strip().lower() if isinstance(each, str) else "" for each in answer) if _is_row(answer) else ()
    if len(given) != len(KINDS) or not set(given) <= set(KINDS):
        return not_yet("This takes four words in parentheses, each of them 'signed' or 'unsigned'.")
    if given == KINDS:
        return right(
            "One signed part makes a whole index signed: a plain 8, or the i of a range. It has to be np.uint32 through "
            "and through."
        )
    if given == ("unsigned",) * 4:
        return not_yet("Not all: a plain 8 is an int64 for Numba, and so is the i of a range.")
    if given == tuple({"signed": "unsigned", "unsigned": "signed"}[each] for each in KINDS):
        return not_yet("The other way round: np.uint32 has no sign.")
    if given[0] == "unsigned" or given[2] == "unsigned":
        at = "first" if given[0] == "unsigned" else "third"
        return not_yet(
            f"Look at the {at} again. uint32 with int64 gives int64, which holds all values of both; a plain whole number "
            "and the i of a range are int64."
        )
    return not_yet("Two unsigned numbers give an unsigned one: neither can be below 0.")


def _is_row(answer: Any) -> bool:
    return isinstance(answer, (tuple, list))


def blocks_with_registers(answer: Any) -> Reply:
    """Blocks of 256 threads with 128 registers on a multiprocessor of 65,536: (blocks, percent occupancy)"""
    return judge_tuple(
        answer,
        (2, 25),
        "256 x 128 = 32,768 registers a block, half of what there is. 2 x 8 = 16 warps of 64: four for each scheduler.",
        {
            (8, 100): "That is what the threads allow: 2,048 / 256. The registers run out before.",
            (2, 12.5): "2 is right. How many of 64 warps are two blocks of 8 warps?",
            (2, 50): "2 is right. Two blocks are 512 threads; there is room for 2,048.",
            (2, 0.25): "2 is right; the second as a percentage, please.",
            (2, 100): "2 is right: no register is left. But occupancy counts warps, and there is room for 64.",
            (512, 25): "25 % is right. 65,536 / 128 is how many threads find room; how many blocks are they?",
            (16, 25): "25 % is right. 16 is how many warps find room; how many blocks are they?",
            (4, 50): "How many registers does a block need? 256 threads, 128 each.",
        },
        hint="Work out the registers of a block, how often they go into 65,536, and how many of 2,048 threads that are.",
    )
