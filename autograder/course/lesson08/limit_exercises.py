"""Exercises of notebook 08b; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES, Inputs, not_of, nothing_right
from autograder.course.replies import Reply, judge_array, judge_number, judge_tuple, not_yet, right
from autograder.figures.svg import plural

PIECE, PIECES = 64, 17
SLICES, SLICE_OF = 8, 40


def waits_hidden(answer: Any) -> Reply:
    """How many instructions must lie between a load and its use, with 4 warps a scheduler and 28 cycles?"""
    return judge_number(
        answer,
        7,
        "Four warps, seven instructions each: 28 cycles are full, and the number is there.",
        {
            28: "That would do for one warp. A scheduler has four, and they take turns.",
            112: "28 x 4 is what all four could do in four times the time. How many of the 28 cycles are each warp's?",
            4: "Four is how many warps there are. How many instructions of each fill 28 cycles?",
            3.5: "Eight warps? 16 warps on a multiprocessor, and it has four schedulers.",
            1.75: "16 warps are on the multiprocessor; a scheduler has a quarter of them.",
        },
        hint="In 28 cycles a scheduler issues 28 instructions, of its four warps in turn. How many of each?",
    )


def blocks_for(answer: Any) -> Reply:
    """At 1,024 x 1,024: how many blocks of 128 x 128, how many of 64 x 64, and how many multiprocessors idle with each?"""
    return judge_tuple(
        answer,
        (64, 68, 256, 0),
        "Half of the GPU has nothing to do with the large tiles. The small ones ask for twice as many numbers of "
        "global memory, and are faster all the same: a resource that is idle is dearer than one that is used twice.",
        {
            (64, 132, 256, 0): "64 blocks keep 64 multiprocessors busy. How many of 132 have none?",
            (8, 124, 16, 116): "8 tiles along one side: how many in the square?",
            (64, 68, 128, 4): "64 x 64 is half as wide and half as high: four of them make a tile of 128 x 128.",
        },
        hint="1,024 / 128 tiles along each side. Each block is on one multiprocessor, and an H200 has 132.",
    )


def one_barrier(kernel: Any) -> Reply:
    """A kernel of (x, out): in one block of 64 threads, out[i] = x[i] + the x of its mirror image in its piece of 64."""
    if (wrong := not_of(kernel, ("x", "out"))) is not None:
        return wrong
    from autograder import profile

    for pieces in (PIECES, 3, 1):
        x = np.random.default_rng(pieces).integers(1, 100, PIECE * pieces).astype(np.float32)
        out, inputs = np.full_like(x, -1), Inputs(x=x)
        launched = f"x has {plural(pieces, 'piece')} of 64; one block of 64 threads."
        p = profile(kernel)[1, PIECE](x, out)
        if (wrong := nothing_right(p, bool((out == -1).all()), "out", launched, inputs=inputs)) is not None:
            return wrong
        expected = x + x.reshape(pieces, PIECE)[:, ::-1].ravel()
        reply = judge_array(out, expected, "", "out")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}")
        if not p.counters.shared_load_requests:
            return not_yet(
                f"{launched} out is right, but nothing was read from shared memory: here each number of x is to be "
                "loaded once, by one thread, and its mirror image to come out of shared memory."
            )
        if p.counters.global_load_requests > 2 * pieces:  # two warps
            return not_yet(
                f"{launched} out is right, but x is loaded {p.counters.global_load_requests * 32:,} times where "
                f"{x.size:,} numbers are there."
            )
        waits = p.counters.barriers // 2
        if waits > pieces + 1:  # one more at the end does no harm
            return not_yet(
                f"{launched} out is right, with {plural(waits, 'barrier')} for each thread. With two places for pieces "
                "in shared memory one barrier a piece is enough: while some threads still read one, others fill the other."
            )
        if pieces > 1 and _fetches_late(kernel, pieces):
            return not_yet(
                f"{launched} out is right, with one barrier a piece. But piece 1 is asked for after piece 0 was used. Load "
                "it into a variable first, and put that down in the next round."
            )
    return right(
        "One barrier a piece, and each piece was asked for before the one ahead of it was worked on. The wait "
        "for memory and the work go on at the same time where nothing needs the new piece until the work is done."
    )


def _fetches_late(kernel: Any, pieces: int) -> bool:
    """Whether a piece of x is loaded only after the one ahead of it was used.

    Told by a launch in which out lies one piece behind x in the same array: what is written for one piece takes the place
    of the next one in x, so that a thread that has not yet loaded that finds something else.
    """
    from autograder import profile, simulate

    numbers = np.random.default_rng(64).integers(1, 100, PIECE * (pieces + 1)).astype(np.float32)
    x = numbers[:-PIECE]
    with simulate() as cuda:
        on_device = cuda.to_device(numbers)
        profile(kernel)[1, PIECE](on_device[:-PIECE], on_device[PIECE:])
        out = on_device[PIECE:].copy_to_host()
    return not np.array_equal(out, x + x.reshape(pieces, PIECE)[:, ::-1].ravel())


def in_slices(kernel: Any) -> Reply:
    """A kernel of (a, b, c): c = a @ b for 16 x 16 results, by blocks that each take a slice of the columns of a."""
    if (wrong := not_of(kernel, ("a", "b", "c"))) is not None:
        return wrong
    from autograder import profile

    for blocks, depth in ((SLICES, SLICES * SLICE_OF), (5, 203), (1, 16)):
        rng = np.random.default_rng(depth)
        a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((16, depth), (depth, 16)))
        c, inputs = np.zeros((16, 16), np.float32), Inputs(a=a, b=b)
        launched = f"a is 16 x {depth}, b is {depth} x 16, c is all 0; {plural(blocks, 'block')} of (16, 16) threads."
        p = profile(kernel)[blocks, (16, 16)](a, b, c)
        broken = [each for each in p.hazards if each.kind in RULES]
        if broken:
            races = broken[0].kind == "race" and blocks > 1 and not p.counters.global_atomic_requests
            more = " Blocks add to the same elements: which operation lets no sum get lost?" if races else ""
            return not_yet(f"{launched} {broken[0]}{more}")
        if (wrong := nothing_right(p, bool((c == 0).all()), "c", launched, inputs=inputs)) is not None:
            return wrong
        reply = judge_array(c, (a.astype(np.float64) @ b).astype(np.float32), "", "c")
        if reply.outcome != "right":
            times = blocks > 1 and np.array_equal(c, blocks * (a @ b))
            more = " Each block adds all of the columns. Which are block s's?" if times else ""
            return not_yet(f"{launched} {reply.words}{more}")
        once = 2 * 8 * depth  # requests: two operands, eight warps, each product by one block
        if p.counters.global_load_requests > 1.5 * once + 8 * blocks:
            return not_yet(
                f"{launched} c is right, with {p.counters.global_load_requests:,} requests for {once:,}: the blocks do the "
                "same work several times over."
            )
        if p.counters.global_atomic_requests < 8 * blocks and blocks > 1:
            return not_yet(
                f"{launched} c is right, but {p.counters.global_atomic_requests} warps of {8 * blocks} add to it: give each "
                "block a slice."
            )
        if blocks > 1 and p.counters.global_atomic_requests > 8 * blocks:
            return not_yet(
                f"{launched} c is right. But {p.counters.global_atomic_requests:,} atomic requests are more than the "
                f"{8 * blocks} that one for each thread makes: add up in a register first."
            )
    return right(
        "Each block has its own slice, and adds to c once for each element. cuBLAS does so too where C is small and A wide: "
        "it is called split-k."
    )
