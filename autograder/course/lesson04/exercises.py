"""Exercises of notebooks/04_warps_and_divergence.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES
from autograder.course.replies import Reply, judge_array, judge_tuple, no_kernel, not_yet, right

BLOCKS, THREADS, LANES = 8, 256, 32
LANES_AS_GIVEN, LOADS_AS_GIVEN = 24, 824  # exercise 5 before any change: lanes at work an instruction, requests to load


def in_which_warp(answer: Any) -> Reply:
    """Thread (3, 2) of a block of 20 x 4 threads: (its warp, its lane, the block's warps, lanes of the last one)"""
    return judge_tuple(
        answer,
        (1, 11, 3, 16),
        "Its number is 3 + 2 * 20 = 43 = 1 * 32 + 11, and 80 threads are two full warps and a half.",
        {
            (
                0,
                14,
                3,
                16,
            ): "3 * 4 + 2 = 14 counts y first. x comes first: a step in y skips a whole row of 20 threads.",
            (1, 11, 2.5, 16): "The first two are right. Half a warp takes a whole one's place.",
            (1, 11, 2, 16): "The first two are right. 2 * 32 = 64: the last 16 threads need a warp, too.",
            (1, 11, 4, 20): "The first two are right. A warp is no row of the block: it is cut after every 32 threads.",
            (2, 3, 4, 20): "A warp is no row of the block: it is cut after every 32 threads.",
            (1, 11, 3, 32): "80 threads, and 2 * 32 of them are in the first two warps.",
            (1, 43, 3, 16): "43 is its number in the block. Lanes count from 0 anew in each warp.",
        },
        hint="First the thread's number in the block, x + 20 * y. The 80 numbers are then cut after every 32.",
    )


def how_many_diverge(answer: Any) -> Reply:
    """How many of the 4 warps of a block of 128 diverge at t % 2 == 0, t < 64, t < 50, t // 32 == 1?"""
    return judge_tuple(
        answer,
        (4, 0, 1, 0),
        "Only where 32 neighbours disagree: at every other thread in all warps, at 50 in the warp of 32 to 63.",
        {
            (4, 4, 4, 4): "A warp diverges only if its own 32 lanes disagree. Who are the lanes of warp 0 at t < 64?",
            (4, 2, 2, 1): "That is who says yes somewhere. Who disagrees within the same 32?",
            (4, 2, 1, 1): "64 and 32 lie between two warps: on each side all 32 agree.",
            (4, 1, 1, 0): "64 lies between two warps: threads 32 to 63 say yes, 64 to 95 say no, nobody disagrees.",
            (4, 0, 1, 1): "At t // 32 == 1 a whole warp says yes, and the others say no. Who disagrees within one?",
            (4, 0, 2, 0): "50 lies within one warp: threads 32 to 63. The warp of 0 to 31 agrees.",
            (2, 0, 1, 0): "At t % 2 == 0, is there a warp whose 32 lanes agree?",
        },
        hint="Warp 0 has t = 0 to 31, warp 1 has 32 to 63, and so on. Count the warps in which some say yes and some no.",
    )


def picture_in_rows(answer: Any) -> Reply:
    """62 rows of 76 pixels under blocks of 32 x 8 threads: (warps that diverge, warps in all)"""
    return judge_tuple(
        answer,
        (62, 192),
        "One for each row of pixels. A warp is 32 pixels wide now, so each row has its own at the edge.",
        {
            (31, 160): "That is the launch with blocks of 16 x 16. How many blocks of 32 x 8 are needed?",
            (31, 192): "192 is right. A warp is now one row of 32 threads, not two of 16.",
            (64, 192): "192 is right. Rows 62 and 63 do not exist: all lanes of their warps agree.",
            (62, 24): "62 is right. 24 is the number of blocks; each has 8 warps.",
            (62, 160): "62 is right. ceil(76 / 32) * ceil(62 / 8) blocks, 8 warps in each.",
            (8, 192): "192 is right. Each block at the right edge has 8 warps.",
        },
        hint="A warp is one row of 32 threads now. How many blocks cover 76 columns, how many 62 rows?",
    )


def slowest_lane(answer: Any) -> Reply:
    """Lane k makes k + 1 rounds: (rounds that the warp makes, lanes at work on average)"""
    return judge_tuple(
        answer,
        (32, 16.5),
        "The longest decides, and (1 + 2 + ... + 32) / 32 = 16.5: nearly half of the warp's time is lost.",
        {
            (528, 16.5): "16.5 is right. The lanes make their rounds together, not one after the other.",
            (16.5, 16.5): "The second is right. Nobody can go on before the slowest lane is done.",
            (32, 32): "32 rounds is right. Only in the first of them all lanes have something to do.",
            (32, 16): "Nearly: in round r there are 33 - r lanes at work. Take the mean of 32, 31, ..., 1.",
            (31, 16.5): "Lane 31 makes 31 + 1 rounds.",
            (31, 15.5): "Lane k makes k + 1 rounds, so lane 0 makes one.",
        },
        hint="The warp goes on until its longest lane is done. All lanes' rounds, shared out over those of the warp?",
    )


def first_threads_add(kernel: Any) -> Reply:
    """Change the reduction so that whole warps have work or none, and neighbours read neighbours."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    values = np.random.default_rng(4).random(BLOCKS * THREADS, dtype=np.float32)
    sums = np.zeros(BLOCKS, np.float32)
    p = profile(kernel)[BLOCKS, THREADS](values, sums)
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken:
        return not_yet(f"{broken[0]}")
    counted = judge_array(sums, values.reshape(BLOCKS, THREADS).sum(axis=1, dtype=np.float64), "", "sums")
    if counted.outcome != "right":
        return counted
    c = p.counters
    diverging, conflicts, lanes = c.divergent_branches, c.shared_load_bank_conflicts, c.threads_per_instruction
    loads = c.shared_load_requests + c.global_load_requests
    if c.global_atomic_requests + c.shared_atomic_requests:
        return not_yet(
            "The sums are right, and they are made by an atomic, at which threads queue up to add one after another. "
            "Here threads are to add pairs at the same time, without atomics."
        )
    if diverging > 2 * 6 * BLOCKS:
        words = f"The sums are right, as before: {diverging} divergent branches. Which threads should add?"
        return Reply("your turn", words)
    if conflicts:
        words = (
            f"Whole warps rest now: {diverging} divergent branches. But neighbours read elements far from each other, "
        )
        return not_yet(words + f"which makes {conflicts} bank conflicts (explained below). Let them read neighbours.")
    if lanes < LANES_AS_GIVEN:
        words = f"The sums are right, but few threads add while others wait: on average {lanes:.3g} of 32 lanes work. "
        return not_yet(words + "In the first step threads 0 to 127 are to add, in the next 0 to 63, and so on.")
    if loads > LOADS_AS_GIVEN:
        words = f"The sums are right, but threads load the same elements again: {loads:,} requests to load, "
        return not_yet(
            words + f"{LOADS_AS_GIVEN} in the kernel as given. In each step half as many threads are to add."
        )
    return right(f"The same sums, {diverging} divergent branches instead of 384, and no bank conflict.")


def largest_of_warp(kernel: Any) -> Reply:
    """Each warp finds its largest value with shuffles, and lane 0 stores it: no shared memory, no barrier."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile

    values = np.random.default_rng(6).random(THREADS, dtype=np.float32) - np.float32(2)  # all below zero
    best = np.full(THREADS // LANES, np.nan, np.float32)
    p = profile(kernel)[THREADS // 64, 64](values, best)
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken:
        return not_yet(f"{broken[0]}")
    c = p.counters
    if c.shared_load_requests + c.shared_store_requests + c.barriers:
        return not_yet(
            "It takes neither shared memory nor a barrier: cuda.shfl_down_sync hands a value from lane to lane."
        )
    warps = values.reshape(-1, LANES)
    if np.array_equal(best, warps[:, 0]):
        if c.shuffles:
            return not_yet(
                "Lane 0 still has what it began with: no value of another lane reaches it. "
                "shfl_down_sync hands values down to it, and what it returns must be kept."
            )
        return Reply("your turn", "Each warp stores what its lane 0 began with. Let the lanes compare, five times.")
    if np.allclose(best, warps.sum(axis=1), rtol=1e-4):
        return not_yet("These are the sums. Keep the larger of the two values instead of adding them.")
    if np.array_equal(best, np.maximum(warps.max(axis=1), 0)):
        return not_yet("All values are below zero here, and the kernel says 0. Begin with the lane's own value.")
    if np.array_equal(best, warps.min(axis=1)):
        return not_yet("These are the smallest values.")
    if np.array_equal(best, warps.max(axis=1)) and not c.shuffles:
        return not_yet(
            f"The values are right, with {c.global_load_requests // c.warps} loads for each warp. One is enough: "
            "each lane has a value in a register. Let them hand these on, in five shuffles."
        )
    praise = f"Shuffles of each warp: {c.shuffles // c.warps}, and no barrier. Products and minima go the same way."
    return judge_array(best, warps.max(axis=1), praise, "best")
