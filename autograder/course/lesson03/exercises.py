"""Exercises of notebooks/03_coalescing.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES
from autograder.course.replies import Reply, judge_array, judge_tuple, no_kernel, not_yet


def sectors_by_hand(answer: Any) -> Reply:
    """Sectors for the 32 lanes of a warp at x[i + 5] and x[3 * i] of float32, and at x[i] of float64."""
    return judge_tuple(
        answer,
        (5, 12, 8),
        "Bytes 20 to 147, bytes 0 to 375 with gaps too small to skip a sector, and bytes 0 to 255.",
        {
            (4, 12, 8): "The second and third are right. The first is as long as x[i], but where does it begin?",
            (9, 12, 8): "The second and third are right. Moving by 5 elements does not add 5 sectors.",
            (5, 3, 8): "The first and third are right. 32 lanes, 12 bytes apart: how far from the first to the last?",
            (5, 32, 8): "The first and third are right. Some lanes do share a sector: 12 bytes are less than 32.",
            (5, 11, 8): "The first and third are right. Lane 31 is at byte 372: which sector is that, counting from 0?",
            (5, 12, 4): "The first two are right. A float64 takes 8 bytes.",
            (5, 12, 16): "The first two are right. 32 lanes of 8 bytes are 256 bytes.",
            (2, 3, 2): "Those are lines of 128 bytes. A sector has 32.",
        },
        hint="Which bytes do lanes 0 and 31 load? Divide their numbers by 32, and see whether a gap skips a sector.",
    )


def transposed_a(answer: Any) -> Reply:
    """Sectors of the loads a[k, row] and b[k, column] in a warp with x along the rows: (a, b)"""
    return judge_tuple(
        answer,
        (4, 1),
        "threadIdx.x now stands in the last index of a, with nothing multiplied to it, and not at all in b.",
        {
            (32, 1): "That is a[row, k]. Here row is the last index: are the lanes' elements still a row apart?",
            (1, 4): "That is x along the columns. Here neighbours in x have neighbouring rows of C.",
            (4, 4): "The first is right. All lanes have the same column, so which elements of b do they load?",
            (4, 32): "The first is right. All lanes have the same column, so which elements of b do they load?",
            (1, 1): "The second is right. The 32 lanes have 32 different rows.",
        },
        hint="Lanes 0 and 1 differ in row, and in nothing else. Which elements of a and of b do they load?",
    )


def around_the_corner(answer: Any) -> Reply:
    """What thread (3, 5) of block (2, 1) moves, tiles of 32: (row of x, column of x, row of out, column of out)"""
    return judge_tuple(
        answer,
        (37, 67, 69, 35),
        "The blocks change places, the threads do not: ty is the row and tx the column on both sides.",
        {
            (37, 67, 67, 37): "The load is right. The store would be right without the tile: this thread's own element,"
            " turned over. But then neighbours in x would store a column.",
            (67, 37, 69, 35): "The store is right. x counts columns: block (2, 1) begins at row 32 and column 64.",
            (67, 37, 37, 67): "x counts columns: block (2, 1) begins at row 32 and column 64.",
            (37, 67, 37, 67): "The load is right. The store goes to the block on the other side of the diagonal.",
            (37, 67, 35, 69): "The load is right. In the store, first_column belongs to the row.",
            (5, 3, 69, 35): "The store is right. Which element of the whole matrix is it that the thread loads?",
        },
        hint="Write down tx, ty, first_row and first_column, and put them into the two lines of the kernel.",
    )


def queues_at_a_bank(answer: Any) -> Reply:
    """Wavefronts to read a column of 32 elements from a tile with rows of 31, 34 and 48 elements."""
    return judge_tuple(
        answer,
        (1, 2, 16),
        "What counts is the greatest common divisor of the row's length and 32: an odd length never queues.",
        {
            (32, 2, 16): "The second and third are right. Bank 0, 31, 30, 29, ...: does one come twice?",
            (2, 2, 16): "The second and third are right. Bank 0, 31, 30, 29, ...: does one come twice?",
            (1, 1, 16): "The first and third are right. Steps of 34 are steps of 2 around the 32 banks.",
            (1, 16, 16): "The first and third are right. Steps of 2 around the 32 banks visit how many of them?",
            (1, 16, 2): "The number of banks that are visited is 16 and 2. How many lanes queue at each?",
            (1, 2, 2): "The first two are right. Steps of 48 are steps of 16: how many banks does that visit?",
            (32, 16, 2): "Those are the banks that are visited. How many lanes queue at each?",
            (1, 2, 1): "The first two are right. Steps of 48 are steps of 16 around the 32 banks.",
        },
        hint="Row r of the column lies in bank (r x length) % 32. How many of the 32 rows come to the same bank?",
    )


def row_sums(kernel: Any) -> Reply:
    """Make a kernel that sums rows through a tile load rows of x, 4 sectors a request, and queue at no bank."""
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    wrong = no_kernel(kernel)
    if wrong:
        return wrong
    x = np.random.default_rng(3).random((64, 96), dtype=np.float32)
    out = np.zeros(64, np.float32)
    p = profile(kernel)[2, 32](x, out)
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken:
        return not_yet(str(broken[0]))
    counted = p.counters
    loads = counted.global_load_sectors_per_request
    queued = counted.shared_load_bank_conflicts + counted.shared_store_bank_conflicts
    reply = judge_array(
        out, x.sum(axis=1, dtype=np.float64), "4 sectors a request, no bank conflict, right sums.", "out"
    )
    if reply.outcome != "right" and counted.shared_store_requests and _cuts_off_fractions(kernel, x):
        return not_yet(f"{reply.words} The tile holds integers: what comes after the point is lost.")
    if reply.outcome != "right" and loads <= 4 and counted.shared_store_requests:
        return not_yet(f"{reply.words} Each number has to be in the tile where the line with total looks for it.")
    if reply.outcome != "right":
        return reply
    if not counted.shared_load_requests:
        return not_yet("The sums are right, but they do not go through the tile any more.")
    told = f"The sums are right. Sectors a load request: {loads:g}; bank conflicts: {queued:,}."
    if loads > 4 and queued:
        return Reply("your turn", f"{told} Make it 4 and 0.")
    if loads > 4:
        return not_yet(f"{told} The tile is fine. Which lanes should load neighbours from x?")
    if queued:
        return not_yet(f"{told} The loads are coalesced. Now the lanes read the tile down a column: give it room.")
    return reply


def _cuts_off_fractions(kernel: Any, x: np.ndarray) -> bool:
    """Whether numbers of several digits before the point are summed without those after it."""
    from autograder import profile

    large, out = x * np.float32(100), np.zeros(len(x), np.float32)
    profile(kernel)[2, 32](large, out)
    return bool(np.array_equal(out, np.trunc(large).sum(axis=1)))


def one_field_of_six(answer: Any) -> Reply:
    """Sectors to read one float32 field of 32 particles: records of six fields, and one array a field."""
    return judge_tuple(
        answer,
        (24, 4),
        "32 x 24 bytes are 24 sectors, and a sixth of what they hold is used.",
        {
            (32, 4): "The second is right. Records of 24 bytes are smaller than a sector, so some lanes share one.",
            (6, 4): "The second is right. 32 records of 24 bytes: how many bytes is that from the first to the last?",
            (16, 4): "The second is right. 16 was for records of four fields.",
            (24, 24): "The first is right. In an array of its own a field has nothing between its elements.",
            (24, 1): "The first is right. 32 elements of 4 bytes are 128 bytes.",
            (4, 24): "Swapped.",
        },
        hint="How many bytes is it from the first record to the end of the last, and does a gap skip a sector?",
    )
