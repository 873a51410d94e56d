"""Exercises of notebooks/00_start_here.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import Inputs, Owners, not_of, nothing_right, written_alone
from autograder.course.replies import Reply, judge_array, judge_number, judge_tuple, not_yet, right
from autograder.figures.svg import plural


def how_many_blocks(answer: Any) -> Reply:
    """How many blocks of 256 threads for a million elements, and how many threads stay idle? (blocks, idle)"""
    return judge_tuple(
        answer,
        (3907, 192),
        "3,906 blocks would leave 64 elements without a thread, so one more block comes, and 192 of its threads are idle.",
        {
            (
                3906,
                64,
            ): "Rounded down: the last 64 elements would have no thread. Half a block cannot be launched: round up.",
            (3907, 64): "The blocks are right. 3,907 x 256 threads for 1,000,000 elements: how many are too many?",
            (3906, 0): "3,906 x 256 = 999,936 threads: 64 elements have none.",
            (3906.25, 0): "There is no quarter of a block: round up.",
            (3908, 448): "Enough, but one block too many.",
            (3907, 0): "The blocks are right. 3,907 x 256 threads for 1,000,000 elements: how many are too many?",
        },
        hint="1,000,000 / 256 is no whole number, and there are only whole blocks. How many threads do they bring?",
    )


BACKWARDS = ((1000, 4, 256), (33, 1, 64), (96, 3, 32))  # elements, blocks, threads: two with idle threads, one without


def backwards(kernel: Any) -> Reply:
    """A kernel of (x, out) that sets every out[i] to the element of x as far from the end as i is from the start."""
    if (wrong := not_of(kernel, ("x", "out"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(3)
    for size, grid, block in BACKWARDS:
        x, out = rng.random(size, dtype=np.float32) + 1, np.zeros(size, np.float32)
        given = x.copy()
        launched = f"Launched with {grid} x {block} threads for {size} elements."
        p = profile(kernel)[grid, block](x, out)
        if not np.array_equal(x, given):  # before the report, whose remedy is for one array that all may change
            return not_yet(f"{launched} x itself has changed. Only out is to be written.")
        owners = Owners(block, out.shape)
        if (wrong := nothing_right(p, not out.any(), "out", launched, owners=owners, kernel=kernel)) is not None:
            return wrong
        reply = judge_array(out, given[::-1], "", "out")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words} {_backwards_asks(out, given, block)}")
        if (wrong := written_alone(kernel, grid, block, (given, np.zeros_like(out)), launched)) is not None:
            return wrong
    return right("The last element comes first, in every launch that was tried, and each thread moved one.")


def _backwards_asks(out: np.ndarray, x: np.ndarray, block: int) -> str:
    if np.array_equal(out, x):
        return "That is x as it was."
    if np.array_equal(out[1:], x[:0:-1]):
        return "All but out[0] are right: what is the index of the last element of x?"
    if not out.all() and np.array_equal(out[out != 0], x[::-1][out != 0]):
        never = int(np.count_nonzero(out == 0))
        first = int(np.flatnonzero(out == 0)[0])
        told = f"{plural(never, 'element')} {'was' if never == 1 else 'were'} never written"
        whose = f"out[{first}] belongs to thread {first % block} of block {first // block}"
        return f"{told}. {whose}: what is i there, and does the guard let it through?"
    return "Write down for which i the thread reads x[0], and for which the last element."


def time_of_133(answer: Any) -> Reply:
    """133 blocks of 1 ms each on 132 multiprocessors that run one block at a time: how many ms?"""
    return judge_number(
        answer,
        2,
        "One block is left over after the first millisecond, and 131 multiprocessors watch it.",
        {
            1: "For 132 blocks that is right. Who runs the last one, and when?",
            133 / 132: "A block stays on one multiprocessor; it is not shared out. What does the last block wait for?",
            133: "That is a chip with one multiprocessor. Here 132 blocks run at the same time.",
        },
        tolerance=1e-4,
        hint="132 of the blocks begin at once. When does the last one begin?",
    )


def copies(answer: Any) -> Reply:
    """Ten launches of add(x, y, out): array copies with NumPy arrays, and the fewest with device arrays."""
    return judge_tuple(
        answer,
        (60, 3),
        "Ten times three there and three back; or x and y there once, and the result back once.",
        {
            (
                30,
                3,
            ): "The second is right. Numba cannot know which arrays a kernel changes: all three also travel back.",
            (
                40,
                3,
            ): "The second is right. Numba cannot know which arrays a kernel changes: all three also travel back.",
            (60, 4): "The first is right. device_array makes room for the result without a copy.",
            (60, 6): "The first is right. Which of the six are needed only once, and which not at all?",
            (60, 2): "The first is right. x and y have to get there, and the result has to come back.",
            (6, 3): "The second is right; the first is for one launch, and there are ten.",
            (60, 0): "The first is right. x and y have to get there once, and the result has to come back.",
            (60, 30): "The first is right. x and y do not change: must they travel again for every launch?",
            (60, 12): "The first is right. Only the last result is wanted.",
        },
        hint="For the first: which arrays travel in one launch, there and back? For the second: what must travel at all?",
    )


def first_kernel(kernel: Any) -> Reply:
    """Write a kernel that sets out[i] = 3 * x[i] + y[i] for every i, in any launch with enough threads."""
    if (wrong := not_of(kernel, ("x", "y", "out"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(0)
    for size, grid, block in ((1000, 4, 256), (1000, 10, 128), (33, 1, 64)):
        x, y = rng.random(size, dtype=np.float32), rng.random(size, dtype=np.float32)
        expected = 3 * x.astype(np.float64) + y
        out = np.full(size, -1, np.float32)
        launched = f"Launched with {grid} x {block} threads for {size} elements."
        inputs = Inputs(x=x, y=y)
        p = profile(kernel)[grid, block](x, y, out)
        untouched, owners = bool((out == -1).all()), Owners(block, out.shape)
        if (wrong := nothing_right(p, untouched, "out", launched, owners=owners, kernel=kernel, inputs=inputs)) is not None:
            return wrong
        reply = judge_array(out, expected, "Your second kernel, right for every launch that was tried.", "out")
        if reply.outcome != "right":
            more = ""
            if np.allclose(out, expected - 1, rtol=1e-4):
                more = " Before the launch out was full of -1: you added to what was there."
            elif grid != 4:
                more = " With 4 x 256 threads it was right: which number of that launch does it count on?"
            return not_yet(f"{launched} {reply.words}{more}")
        if (wrong := written_alone(kernel, grid, block, (x, y, np.zeros_like(out)), launched)) is not None:
            return wrong
    return reply
