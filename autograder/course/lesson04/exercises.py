"""Exercises of notebooks 04a_warps_and_divergence and 04b_adding_up; the answers that students see stand there."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from autograder.course.answers import RULES, Inputs, Owners, not_of, nothing_right, parameters, written_alone
from autograder.course.replies import Reply, judge_array, judge_tuple, no_kernel, not_yet, right

BLOCKS, THREADS, LANES = 8, 256, 32
LANES_AS_GIVEN, LOADS_AS_GIVEN = 24, 824  # halving's exercise before any change: lanes at work, requests to load

# ---- 4a --------------------------------------------------------------------------------------------------------------

SHAPES = ((5, 7, 9), (20, 4, 1), (40, 3, 1))  # blocks (x, y, z): rows and layers that end within a warp


def find_warp(kernel: Any) -> Reply:
    """A kernel of (warps, lanes) in which each thread of one block writes its warp and its lane, at [z, y, x]."""
    if (wrong := not_of(kernel, ("warps", "lanes"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    for shape in SHAPES:
        across, down, deep = shape
        warps, lanes = (np.full((deep, down, across), -1, np.int32) for _ in range(2))
        p = profile(kernel)[1, shape](warps, lanes)
        launched = f"One block of {across} x {down} x {deep} threads."
        untouched = bool((warps == -1).all() and (lanes == -1).all())
        owners = Owners(warps.size, warps.shape)  # one block: each of its threads has an element
        if (wrong := nothing_right(p, untouched, "warps", launched, owners=owners)) is not None:
            return wrong
        number = np.arange(warps.size).reshape(warps.shape)  # x first, as the last axis
        if not np.array_equal(warps, number // LANES):
            words = _counted_how(warps) or _first_wrong("warp", warps, number // LANES)
            return not_yet(f"{launched} {words}{_BEFORE if shape != SHAPES[0] else ''}")
        if not np.array_equal(lanes, number % LANES):
            return not_yet(f"{launched} The warps are right. {_first_wrong('lane', lanes, number % LANES)}")
    if (wrong := written_alone(kernel, 1, shape, (warps, lanes), launched)) is not None:
        return wrong
    return right("x first, then y, then z, and cut after every 32: whatever the shape of the block.")


_BEFORE = f" In a block of {' x '.join(map(str, SHAPES[0]))} it was right: which of its lengths do you count on?"


def _first_wrong(name: str, given: np.ndarray, expected: np.ndarray) -> str:
    """How many threads name the wrong warp or lane (`name`), and the first of them by its place."""
    wrong = given != expected
    at = tuple(int(each) for each in np.argwhere(wrong)[0])
    place = ", ".join(map(str, at))
    return (
        f"{int(wrong.sum()):,} of {wrong.size:,} threads name the wrong {name}; the first: {name}s[{place}] should be "
        f"{expected[at]} and is {given[at]}."
    )


def _counted_how(warps: np.ndarray) -> str:
    """What is known of how these numbers of warps came about; nothing where it is not."""
    deep, down, across = warps.shape
    z, y, x = np.indices(warps.shape)
    number = x + across * (y + down * z)
    known = (
        (number * 0 - 1, "warps was not written."),
        (number, "Those are the threads' numbers in the block. A new warp begins after every 32."),
        (number % LANES, "Those are lanes, places in a warp. Which warp is it?"),
        (number // LANES + 1, "Counting starts at 0: threads 0 to 31 are warp 0."),
        (number * 0, "Everybody says warp 0. How many threads come before the first with y = 1, and with z = 1?"),
        (y, "A warp is no row of the block: it is cut after every 32 threads."),
        (y + down * z, "A warp is no row of the block: it is cut after every 32 threads."),
        (z, "A warp is no layer of the block: it is cut after every 32 threads."),
        ((x + across * y) // LANES, "Layers share their numbers. A step in z skips a whole layer of threads."),
        ((x + across * (y + z)) // LANES, "A step in z counts like one in y. How many threads has a whole layer z?"),
        ((y + down * (x + across * z)) // LANES, "This counts y first. Neighbours along x have neighbouring numbers."),
        ((z + deep * (y + down * x)) // LANES, "This counts z first. Neighbours along x have neighbouring numbers."),
    )
    return next((words for counted, words in known if np.array_equal(warps, counted)), "")


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


# Rows of the table, numbers in `order`, blocks, threads: more threads than numbers, and not all rows wanted.
TABLES = ((40, 30, 1, 64), (300, 211, 4, 96))


def rows_in_order(kernel: Any) -> Reply:
    """A kernel of (order, starts, values, sums): thread i adds up row order[i] into that row's place of sums."""
    if (wrong := not_of(kernel, ("order", "starts", "values", "sums"))) is not None:
        return wrong
    from autograder import profile

    rng, lanes, sectors = np.random.default_rng(11), [], []
    for rows, wanted, blocks, threads in TABLES:
        lengths = rng.geometric(1 / 12, rows) - 1  # some rows have no element
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        values = rng.random(starts[-1], dtype=np.float32) + 1
        drawn = rng.permutation(rows)[:wanted].astype(np.int32)
        by_length = drawn[np.argsort(lengths[drawn], kind="stable")]
        expected = np.array([values[start:end].sum(dtype=np.float64) for start, end in pairwise(starts)])
        launched = f"{rows} rows, {wanted} of them in order, {blocks} x {threads} threads."
        for order in (drawn, by_length):
            sums = np.full(rows, -1, np.float32)
            inputs = Inputs(order=order, starts=starts, values=values)
            p = profile(kernel)[blocks, threads](order, starts, values, sums)
            at = next((each.array for each in p.hazards if each.kind in RULES), "")
            more = f" {_WHERE_ROWS_LIE}." if at == parameters(kernel)[2] else ""
            owners = Owners(threads, order.shape)
            is_untouched = bool((sums == -1).all())
            if (wrong := nothing_right(p, is_untouched, "sums", launched, more, owners, inputs=inputs)) is not None:
                return wrong
            asked = np.isin(np.arange(rows), order)
            if not np.allclose(sums, np.where(asked, expected, -1), rtol=1e-4):
                return not_yet(f"{launched} {_row_sums_wrong(sums, expected, asked, order)}")
            lanes.append(p.counters.threads_per_instruction)
            sectors.append(p.counters.global_load_sectors / max(1, p.counters.global_load_requests))
    if (wrong := written_alone(kernel, blocks, threads, (order, starts, values, sums), launched)) is not None:
        return wrong
    as_drawn, sorted_by_length = lanes[-2:]
    if sorted_by_length < 1.2 * as_drawn:
        return right(
            f"The sums are right, and the order makes little difference to your warps: {as_drawn:.1f} and "
            f"{sorted_by_length:.1f} of 32 lanes at work."
        )
    return right(
        f"In the order as drawn {as_drawn:.1f} of 32 lanes are at work on average, sorted by length "
        f"{sorted_by_length:.1f}. Lanes are half of the story: look at the sectors, too. A request to load asks for "
        f"{sectors[-2]:.1f} as drawn and {sectors[-1]:.1f} sorted."
    )


_WHERE_ROWS_LIE = "Row r goes from starts[r] to before starts[r + 1]"


def _row_sums_wrong(sums: np.ndarray, expected: np.ndarray, asked: np.ndarray, order: np.ndarray) -> str:
    """What is wrong with the sums of rows, where sums began as -1 everywhere."""
    by_thread = np.full_like(sums, -1)
    by_thread[: order.size] = expected[order]
    if np.allclose(sums, by_thread, rtol=1e-4):
        return "The right sums in the wrong places: that of row order[i] belongs into that row's place, not thread i's."
    if np.allclose(sums[asked], expected[asked] - 1, rtol=1e-4):
        return "Every sum is 1 too small. sums held -1 before, and you added to it: begin with a zero of your own."
    untouched = ~asked & (sums != -1)
    if untouched.any():
        row = int(np.flatnonzero(untouched)[0])
        return f"Row {row} is not in order, and sums[{row}] was written. Thread i takes row order[i]."
    reply = judge_array(sums, np.where(asked, expected, -1), "", "sums")
    return f"{reply.words} {_WHERE_ROWS_LIE}, and a row of length 0 has the sum 0."


# ---- 4b --------------------------------------------------------------------------------------------------------------


def first_threads_add(kernel: Any) -> Reply:
    """Change the reduction so that whole warps have work or none; best where neighbours read neighbours as well."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile

    values = np.random.default_rng(4).random(BLOCKS * THREADS, dtype=np.float32)
    sums, inputs = np.zeros(BLOCKS, np.float32), Inputs(values=values)
    p = profile(kernel)[BLOCKS, THREADS](values, sums)
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken:
        return not_yet(f"{broken[0]}")
    if (wrong := inputs.changed()) is not None:
        return wrong
    counted = judge_array(sums, values.reshape(BLOCKS, THREADS).sum(axis=1, dtype=np.float64), "", "sums")
    if counted.outcome != "right":
        return not_yet(f"{counted.words}{_a_step_missing(sums, values.reshape(BLOCKS, THREADS))}")
    c = p.counters
    diverging, conflicts, lanes = c.divergent_branches, c.shared_load_bank_conflicts, c.threads_per_instruction
    loads = c.shared_load_requests + c.global_load_requests
    if (wrong := _by_an_atomic(c)) is not None:
        return wrong
    if diverging > 2 * 6 * BLOCKS:
        words = f"The sums are right, as before: {diverging} divergent branches. Which threads should add?"
        return Reply("your turn", words)
    if lanes < LANES_AS_GIVEN:
        words = f"The sums are right, but few threads add while others wait: on average {lanes:.3g} of 32 lanes work. "
        return not_yet(words + "In the first step threads 0 to 127 are to add, in the next 0 to 63, and so on.")
    if loads > LOADS_AS_GIVEN:
        words = f"The sums are right, but threads load the same elements again: {loads:,} requests to load, "
        return not_yet(
            words + f"{LOADS_AS_GIVEN} in the kernel as given. In each step half as many threads are to add."
        )
    if conflicts:
        return right(
            f"The same sums, and whole warps rest: {diverging} divergent branches instead of 384. But neighbours read "
            f"elements far from each other, which makes {conflicts} bank conflicts. They need not: more on this below."
        )
    return right(f"The same sums, {diverging} divergent branches instead of 384, and no bank conflict.")


def _a_step_missing(sums: np.ndarray, values: np.ndarray) -> str:
    """Whether one step of a tree is missing: then a sum holds every second element of its block, or half of them."""
    halves = {"every second element": values[:, ::2], "the first half": values[:, : THREADS // 2]}
    held = next((words for words, half in halves.items() if np.allclose(sums, half.sum(axis=1), rtol=1e-4)), "")
    return f" Each sum holds {held} of its block: is the last step missing, or the first?" if held else ""


def _by_an_atomic(counters: Any) -> Reply | None:
    """The reply to sums that atomics made; None where there was none."""
    if not counters.global_atomic_requests + counters.shared_atomic_requests:
        return None
    return not_yet(
        "The sums are right, and they are made by an atomic, at which threads queue up to add one after another. "
        "Here threads are to add pairs at the same time, without atomics."
    )


WIDTHS = (64, 96, 160, 544, 1024)  # threads: of 2, 3, 5, 17 and 32 warps
# In a block of 1,024 trees have 23 to 32 lanes at work, one thread that adds up all has 3. A warp of a tree sends 3 to
# 13 requests to load, and 1,024 where everybody adds up all. It diverges 0.2 times; with shuffles 1, with doubling 6.
FEW_LANES, MANY_LOADS, MANY_BRANCHES = 16, 32, 2


def any_width(kernel: Any) -> Reply:
    """A kernel of (values, sums): each block adds up one element a thread, with any number of whole warps."""
    if (wrong := not_of(kernel, ("values", "sums"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(13)
    for threads in WIDTHS:
        values = rng.integers(1, 6, (3, threads)).astype(np.float32)  # sums of few whole numbers are exact
        sums = np.zeros(3, np.float32)
        inputs = Inputs(values=values)
        p = profile(kernel)[3, threads](values.ravel(), sums)
        launched = f"3 blocks of {threads:,} threads."
        behind = any(each.kind == "uninitialised_read" and (each.index or (0,))[0] >= threads for each in p.hazards)
        more = f" A block of {threads:,} threads has as many numbers." if behind else ""
        if (wrong := nothing_right(p, not sums.any(), "sums", launched, more, inputs=inputs)) is not None:
            return wrong
        if np.array_equal(sums, _halved(values)) and not np.array_equal(sums, values.sum(axis=1)):
            words = f"{launched} As before, a part is left behind wherever an odd number of them is halved."
            return Reply("your turn", words)
        reply = judge_array(sums, values.sum(axis=1), "", "sums")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}{_more_or_less(sums, values)}")
        if (wrong := _by_an_atomic(p.counters)) is not None:
            return wrong
    c = p.counters  # of the widest block
    if c.threads_per_instruction < FEW_LANES:
        return not_yet(
            f"{launched} The sums are right, but few threads add while others wait: on average "
            f"{c.threads_per_instruction:.3g} of 32 lanes work."
        )
    loads = (c.shared_load_requests + c.global_load_requests) // c.warps
    diverging = c.divergent_branches / c.warps
    if loads > MANY_LOADS:
        return not_yet(
            f"{launched} The sums are right, but every thread adds up the same elements: {loads:,} requests of each "
            "warp to load. In each step half as many threads are to add."
        )
    widths = f"{', '.join(f'{each:,}' for each in WIDTHS[:-1])} or {WIDTHS[-1]:,}"
    if diverging > MANY_BRANCHES:
        return right(
            f"No part is left behind in blocks of {widths} threads. But each warp diverges {diverging:.1f} times: let "
            "the first threads add, as in exercise 1."
        )
    return right(f"No part is left behind in blocks of {widths} threads. Lab 4 asks for this, too.")


def _halved(values: np.ndarray) -> np.ndarray:
    """What the kernel as given makes of each row: parts without a partner are lost."""
    part = values.astype(np.float64)
    step = part.shape[1] // 2
    while step > 0:
        part[:, :step] += part[:, step : 2 * step]
        step //= 2
    return part[:, 0]


def _more_or_less(sums: np.ndarray, values: np.ndarray) -> str:
    """Whether elements above zero were left out of the sums of rows, or taken again."""
    expected, threads = values.sum(axis=1), values.shape[1]
    where = ", where their number is odd" if threads & (threads - 1) else ""  # a power of two has no odd number of parts
    if bool((sums <= expected).all()):
        return f" Too small: is a part left out{where}?"
    if bool((sums >= expected).all()):
        return f" Too large: is a part added twice{where}?"
    return ""


WARPS_LAUNCHED = ((1, 32), (4, 64), (11, 96))  # blocks, threads: whole warps, more of them than a warp has lanes


def largest_of_warp(kernel: Any) -> Reply:
    """A kernel of (values, best): each warp finds its largest value with shuffles and stores it, one element a warp."""
    if (wrong := not_of(kernel, ("values", "best"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(6)
    for blocks, threads in WARPS_LAUNCHED:
        values = _with_largest_at(rng.random(blocks * threads, dtype=np.float32) - np.float32(2))  # all below zero
        best = np.full(values.size // LANES, np.nan, np.float32)
        inputs = Inputs(values=values)
        p = profile(kernel)[blocks, threads](values, best)
        launched = f"{blocks} x {threads} threads, as many values."
        c = p.counters
        if c.global_atomic_requests:
            return not_yet("It takes no atomic, at which lanes queue up: let them hand on values, in five shuffles.")
        more, at_best = "", [each.kind for each in p.hazards if each.array == parameters(kernel)[1]]
        if best.size == 1 and "race" in at_best:
            more = " One lane of each warp is to store: cuda.laneid tells which lane a thread is."
        elif at_best:
            more = f" {_A_PLACE_A_WARP}"
        owners = Owners(threads, values.shape)
        is_untouched = bool(np.isnan(best).all())
        if (wrong := nothing_right(p, is_untouched, "best", launched, more, owners, inputs=inputs)) is not None:
            return wrong
        if c.shared_load_requests + c.shared_store_requests + c.barriers:
            return not_yet(
                "It takes neither shared memory nor a barrier: cuda.shfl_down_sync hands a value from lane to lane."
            )
        warps = values.reshape(-1, LANES)
        if not np.array_equal(best, warps.max(axis=1)):
            return not_yet(f"{launched} {_no_largest(best, warps, c.shuffles > 0)}")
    if not c.shuffles:
        return not_yet(
            f"The values are right, with {c.global_load_requests // c.warps} loads for each warp. One is enough: "
            "each lane has a value in a register. Let them hand these on, in five shuffles."
        )
    each = c.shuffles // c.warps
    if each > 5:
        return right(
            f"But each warp makes {each} shuffles, and five would do: halve the distance each time, from 16 down to 1."
        )
    return right(f"Shuffles of each warp: {each}, and no barrier. Products and minima go the same way.")


LARGEST_AT = (0, 31, 16, 1, 15, 8, 30, 2)  # lanes


def _with_largest_at(values: np.ndarray) -> np.ndarray:
    """Each warp's values turned so that the largest is where a kernel that leaves a lane out would miss it."""
    warps = values.reshape(-1, LANES)
    lanes = (LARGEST_AT[at % len(LARGEST_AT)] for at in range(len(warps)))
    return np.concatenate([np.roll(each, lane - int(each.argmax())) for each, lane in zip(warps, lanes, strict=True)])


_A_PLACE_A_WARP = "Each warp has its own place in best: warp number i // 32 of the launch."


def _some_lanes(best: np.ndarray, warps: np.ndarray) -> str:
    """Words for the largest of some lanes of each warp alone, where it is that; else nothing."""
    for lane in range(LANES - 1, 0, -1):
        if np.array_equal(best, warps[:, lane:].max(axis=1)):
            whom = f"the largest of lanes {lane} to {LANES - 1}" if lane < LANES - 1 else f"the value of lane {lane}"
            return f"That is {whom} alone. Which lane has heard of all?"
    for few in (16, 8, 4, 2):
        if np.array_equal(best, warps[:, :few].max(axis=1)):
            return f"Only lanes 0 to {few - 1} went into it. How far must the first shuffle reach?"
        if np.array_equal(best, warps[:, :: LANES // few].max(axis=1)):
            lanes = f"lanes 0, {LANES // few}, {2 * LANES // few}, ..."
            return f"Only {lanes} went into it. How near must the last shuffle reach?"
    return ""


def _no_largest(best: np.ndarray, warps: np.ndarray, shuffled: bool) -> str:
    """What is wrong with the largest values of warps, all of them below zero, where best began as NaN."""
    known: Mapping[str, np.ndarray] = {
        "These are the sums. Keep the larger of the two values instead of adding them.": warps.sum(axis=1),
        "All values are below zero here, and the kernel says 0. Begin with the lane's own value.": warps[:, 0] * 0,
        "These are the smallest values.": warps.min(axis=1),
    }
    if np.array_equal(best, warps[:, 0]) and shuffled:
        return (
            "Lane 0 still has what it began with: no value of another lane reaches it. "
            "shfl_down_sync hands values down to it, and what it returns must be kept."
        )
    if np.array_equal(best, warps[:, 0]):
        return "Each warp stores what its lane 0 began with. Let the lanes compare, five times."
    if np.isnan(best).any():
        missing = int(np.flatnonzero(np.isnan(best))[0])
        return f"best[{missing}] was not written. {_A_PLACE_A_WARP}"
    words = next((words for words, values in known.items() if np.allclose(best, values, rtol=1e-4)), "")
    return words or _some_lanes(best, warps) or judge_array(best, warps.max(axis=1), "", "best").words
