"""Exercises of notebooks/02a and 02b; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.course.answers import (
    RULES,
    Inputs,
    Owners,
    not_of,
    nothing_right,
    parameters,
    resource_named,
    written_alone,
)
from autograder.course.replies import (
    Reply,
    judge_array,
    judge_tuple,
    no_kernel,
    not_yet,
    right,
    source_of,
    unanswered,
)
from autograder.figures.svg import plural


def wanted_by(answer: Any) -> Reply:
    """How many threads of a (32, 8) block need the same element of A, and of B?"""
    return judge_tuple(
        answer,
        (32, 8),
        "A row of the block is 32 threads wide, and they share a row of A. A column is 8 high, and shares one of B. "
        "Tiles would save 32-fold on A and 8-fold on B: 12.8 times fewer loads, where 16 x 16 threads save 16.",
        {
            (8, 32): "Swapped. Threads with the same row of C share A, and such a row of threads is as long as x.",
            (32, 32): "The first is right. How many threads of the block have the same column?",
            (8, 8): "The second is right. How many threads of the block have the same row?",
            (256, 256): "That is the whole block. Only threads of one row of C need the same row of A.",
            (32, 256): "The first is right. Only threads of one column of C need the same column of B.",
            (16, 16): "That was the square block. How many threads of this one are in a row, how many in a column?",
            (1, 1): "That is the tiled kernel. In the naive one each thread fetches for itself.",
        },
        hint="Which threads of the block have the same row of C? They all load the same elements of A. And the same column?",
    )


def two_barriers(kernel: Any) -> Reply:
    """Put the two barriers into a kernel in which one block of 64 threads reverses an array piece by piece."""
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    wrong = no_kernel(kernel)
    if wrong:
        return wrong
    source = source_of(kernel)
    if source.count("cuda.syncthreads") > source.count("cuda.syncthreads("):
        return not_yet("cuda.syncthreads without parentheses names the barrier and does not go there. Call it: add ().")
    x = np.random.default_rng(2).random(256, dtype=np.float32)
    out, inputs = np.zeros_like(x), Inputs(x=x)
    p = profile(kernel)[1, 64](x, out)
    barriers = p.counters.barriers
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken and "sync" not in source:
        return Reply("your turn", "No barrier yet. Put in what is missing and run this cell again.")
    if broken and not barriers:
        return not_yet(f"syncwarp holds the 32 threads of one warp together, and the block has two warps: {broken[0]}")
    if broken and broken[0].kind == "divergent_barrier":
        return not_yet(str(broken[0]))
    if broken:
        told = plural(barriers // 2, "barrier")
        return not_yet(f"{told} in four rounds, and the report still says: {broken[0]}")
    if (wrong := inputs.changed()) is not None:
        return wrong
    each_warp = barriers // 2  # in four rounds
    if each_warp > 2 * 4:
        return not_yet("Nothing goes wrong, but two barriers a round are enough, and each one costs time.")
    if each_warp == 2 * 4:
        praise = "One between writing and reading, one between reading and writing anew."
    elif each_warp >= 4:
        praise = "With one barrier a round: while one piece is read, the other one is filled."
    else:
        praise = f"{plural(each_warp, 'barrier')} in all: no piece is filled in a place that others still read."
    reply = judge_array(out, x.reshape(4, 64)[:, ::-1].ravel(), praise, "out")
    if reply.outcome == "right" and not p.counters.shared_store_requests:
        return not_yet("out is right, but `piece` is gone: here the pieces are to go through shared memory.")
    if reply.outcome == "right" and not p.counters.shared_load_requests:
        return not_yet("out is right, but nothing is read from `piece`: here the pieces are to go through shared memory.")
    if reply.outcome == "right" and not barriers:
        return not_yet(
            "out is right, and needs no barrier: each thread reads what it stored itself. Leave the lines as they were, "
            "in which a number goes from one thread to another."
        )
    return reply


def ragged_tiles(kernel: Any) -> Reply:
    """Finish the tiled kernel for matrices of any shape: the tile of b is still filled without a look at the edges."""
    from autograder import profile

    wrong = no_kernel(kernel)
    if wrong:
        return wrong
    leaves = "return" in source_of(kernel)
    rng = np.random.default_rng(6)
    for m, k, n in ((20, 21, 22), (5, 40, 33), (16, 16, 16)):
        a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
        c, inputs = np.zeros((m, n), np.float32), Inputs(a=a, b=b)
        p = profile(kernel)[(-(-n // 16), -(-m // 16)), (16, 16)](a, b, c)
        broken = [each for each in p.hazards if each.kind in RULES]
        if broken:
            missing = sum(at >= k or column >= n for at in range(32) for column in range(32)) * 2  # two rows of blocks
            untouched = (broken[0].array, broken[0].occurrences) == ("b", missing)
            words = f"a is {m} x {k}, b is {k} x {n}. {broken[0]}"
            if untouched:
                return Reply("your turn", words)
            array, index = broken[0].array, broken[0].index
            is_below_b = array == parameters(kernel)[1] and index is not None and index[0] >= k
            return not_yet(f"{words} Which row of b does this thread load?" if is_below_b else words)
        if (wrong := inputs.changed(f"a is {m} x {k}, b is {k} x {n}.")) is not None:
            return wrong
        reply = judge_array(c, a.astype(np.float64) @ b, "Three shapes, two of them ragged, and no thread went astray.")
        if reply.outcome != "right":
            more = " A thread that returns early no longer fetches its share of the tiles." if leaves else ""
            return not_yet(f"a is {m} x {k}, b is {k} x {n}. {reply.words}{more}")
    asked, of_tiles = p.counters.global_load_requests / p.counters.warps, 2 * k // 16  # of the last shape: whole tiles
    if asked > 2 * of_tiles:
        return not_yet(
            f"c is right. But each warp asks global memory {asked:.0f} times where tiles take {of_tiles}. Leave the "
            "tiles, and guard the line that fills the one of b."
        )
    return reply


COUNTED = (64, 200)  # numbers: one whole piece; pieces that end inside a block


def count_smaller(kernel: Any) -> Reply:
    """A kernel of (x, out) that sets every out[i] to how many numbers of x are smaller than x[i], in blocks of 64."""
    if (wrong := not_of(kernel, ("x", "out"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(12)
    leaves = LEAVES if "return" in source_of(kernel) else ""
    sizes = [*COUNTED]
    for size in sizes:
        x, out = (rng.permutation(size) + 1).astype(np.float32), np.full(size, -1, np.int32)
        pieces, left, blocks = -(-size // 64), size % 64, -(-size // 64)
        inputs = Inputs(x=x)
        p = profile(kernel)[blocks, 64](x, out)
        shape = plural(pieces, "piece") + (f", the last one with {left} numbers" if left else "")
        launched = f"{plural(blocks, 'block')} of 64 threads; x has {size:,} numbers: {shape}."
        is_untouched = bool((out == -1).all())
        if (wrong := nothing_right(p, is_untouched, "out", launched, leaves, kernel=kernel, inputs=inputs)) is not None:
            return wrong
        smaller = np.argsort(np.argsort(x))
        reply = judge_array(out, smaller, "", "out")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}{leaves}{_known(out, _miscounted(x, smaller))}")
        if size == COUNTED[-1]:
            if (wrong := written_alone(kernel, blocks, 64, (x, out), launched)) is not None:
                return wrong
            fetched = p.counters.global_load_requests / p.counters.warps
            if fetched > 2 * pieces + 1:  # its share of each piece, and its own number once, or once in each phase
                if p.counters.shared_load_requests and _loads_of_own_number(kernel, x) > pieces + 2:
                    return not_yet(
                        f"out is right, and the pieces are shared. But each warp still sends {fetched:.0f} load requests "
                        f"to global memory, for {pieces} pieces of 64. What else does the loop load? `x[i]` is the same "
                        "in every round: take it into a variable before the loop."
                    )
                return not_yet(
                    f"out is right. But each warp sends {fetched:.0f} load requests to global memory, for {pieces} "
                    "pieces of 64. Have each thread fetch one number of a piece, and all read it from shared memory."
                )
            praise = f"Each warp sends {fetched:.1f} load requests to global memory, and without pieces {size} or more."
            sizes += _longer_than_shared(p, size)
    return right(praise)


def _known(found: np.ndarray, mistakes: Mapping[str, np.ndarray]) -> str:
    """The words for a known wrong result, after a space; nothing for any other."""
    return next((f" {words}" for words, each in mistakes.items() if np.allclose(found, each, rtol=1e-4, atol=1e-4)), "")


def _miscounted(x: np.ndarray, smaller: np.ndarray) -> dict[str, np.ndarray]:
    """What count_smaller's known mistakes make of x, whose numbers are all different and above 0."""
    behind = -x.size % 64
    last = x[(x.size - 1) // 64 * 64 :]
    mistakes = {
        "Each count is one too large: is a number smaller than itself?": smaller + 1,
        "Those are the numbers that are larger.": x.size - 1 - smaller,
    }
    if behind:
        mistakes[
            f"Each count is {behind} too large, and {behind} places of the last piece lie behind the end of x. What is in "
            "them must be smaller than no number, or not be looked at."
        ] = smaller + behind
        mistakes["Only the last piece is counted: does the count begin anew with each?"] = (last < x[:, None]).sum(axis=1)
    return mistakes


def _loads_of_own_number(kernel: Any, x: np.ndarray) -> float:
    """How often a warp of count_smaller loads x[i] for its own threads i, on the average; 2 are needed at most."""
    from autograder import profile

    blocks = -(-x.size // 64)
    traced = profile(kernel, trace=True, trace_limit=16 * x.size)[blocks, 64](x, np.zeros(x.size, np.int32))
    own = 0
    for access in traced.trace(""):
        if access.kind == "load" and access.array == parameters(kernel)[0]:
            lanes = np.flatnonzero(access.addresses >= 0)
            threads = 64 * access.block[0] + 32 * access.warp + lanes
            own += bool((access.addresses[lanes] == threads * x.itemsize).all())
    return own / int(traced.counters.warps)


LEAVES = " A thread that returns early no longer fetches its share."


def _longer_than_shared(profiled: Any, size: int) -> list[int]:
    """A size to try as well, where a block's shared arrays took in all `size` numbers at once: one that they can't."""
    room = profiled.record.shared_bytes // 4
    return [room + 40] if room >= size else []


VECTORS = ((64, 64), (200, 70), (600, 128))  # numbers of v and columns of a: one piece; ragged; many pieces, to count
UNTOUCHED = np.float32(-1)  # below every sum of products of numbers above 0


def vector_times_matrix(kernel: Any) -> Reply:
    """A kernel of (v, a, out) that sets out to v @ a, in blocks of 64, and shares v, which all threads need."""
    if (wrong := not_of(kernel, ("v", "a", "out"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(7)
    leaves = LEAVES if "return" in source_of(kernel) else ""
    shapes = [*VECTORS]
    for length, columns in shapes:
        v, a = rng.random(length, dtype=np.float32), rng.random((length, columns), dtype=np.float32)
        out, blocks, inputs = np.full(columns, UNTOUCHED), -(-columns // 64), Inputs(v=v, a=a)
        p = profile(kernel, trace=True, trace_limit=4 * a.size)[blocks, 64](v, a, out)
        launched = f"{plural(blocks, 'block')} of 64 threads; v has {length:,} numbers, a is {length:,} x {columns}."
        is_untouched = bool((out == UNTOUCHED).all())
        if (wrong := nothing_right(p, is_untouched, "out", launched, leaves, kernel=kernel, inputs=inputs)) is not None:
            return wrong
        reply = judge_array(out, v.astype(np.float64) @ a, "", "out")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}{leaves}{_known(out, _wrong_sums(v, a))}")
        if blocks == 1 and (wrong := written_alone(kernel, blocks, 64, (v, a, out), launched)) is not None:
            return wrong  # where a thread that works alone is done soon
        if (length, columns) == VECTORS[-1]:
            if (reply := _what_was_shared(kernel, p, length)).outcome != "right":
                return reply
            praise = reply
            shapes += [(longer, 64) for longer in _longer_than_shared(p, length)]
    return praise


def _wrong_sums(v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """What vector_times_matrix's known mistakes make of v and a."""
    k = np.arange(v.size)
    last = slice((v.size - 1) // 64 * 64, None)
    mistakes = {
        "Before the launch out was full of -1: you added to what was there.": v @ a + UNTOUCHED,
        "Those are sums of columns of a: multiply each number by its v[k].": a.sum(axis=0),
    }
    if v.size > 64:
        mistakes |= {
            "Only the last piece is in it: does the sum begin anew with each?": v[last] @ a[last],
            "Only the first piece is in it: does the loop over the pieces go on?": v[:64] @ a[:64],
            "The second piece of v meets the first rows of a again: its first number is v[64], and belongs to row 64.": v
            @ a[k % 64],
            "Each piece holds the first numbers of v again: where does the second piece begin?": v[k % 64] @ a,
        }
    if v.size == a.shape[1]:
        mistakes["Those are sums along the rows of a: k counts its rows, and comes first."] = a @ v
    return mistakes


def _what_was_shared(kernel: Any, profiled: Any, length: int) -> Reply:
    """The reply to a right v @ a, by how often its warps asked for each array, and what they put into shared memory."""
    loads = Counter(each.array for each in profiled.trace("") if each.kind == "load")
    of_v, of_a = (loads[name] / profiled.counters.warps for name in parameters(kernel)[:2])
    into_shared = profiled.counters.shared_store_requests / profiled.counters.warps
    pieces = -(-length // 64)
    if of_v > 2 * pieces + 1:  # as if each warp fetched for itself alone; all at once would be half of it
        return not_yet(
            f"out is right. But each warp asks global memory {of_v:,.0f} times for numbers of v, which has {length:,}. "
            "All threads of the block need them: fetch v in pieces, one number a thread, and share them."
        )
    if of_a > length + 1:
        return not_yet(f"out is right. But each warp asks {of_a:,.0f} times for rows of a, and a has {length:,}.")
    if into_shared > 2 * pieces + 1:
        return not_yet(
            f"out is right. But each warp stores {into_shared:,.0f} times into shared memory, and the pieces of v are "
            f"{pieces}. An element of a is needed by one thread alone: to put it there saves nothing."
        )
    return right(
        f"Each warp asks {of_v:,.0f} times for v in place of {length:,}, and {of_a:,.0f} times for a, of which no "
        "thread needs what another one needs. So sharing saves half of the requests here, and no more."
    )


def two_a_thread(kernel: Any) -> Reply:
    """Tiles of 16 with half as many threads: each works out c[row, column] and the element eight rows below."""
    if (wrong := not_of(kernel, ("a", "b", "c"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(8)
    for m, k, n in ((16, 16, 16), (32, 48, 64)):
        a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
        c, inputs = np.full((m, n), UNTOUCHED), Inputs(a=a, b=b)
        p = profile(kernel)[(n // 16, m // 16), (16, 8)](a, b, c)
        launched = f"a is {m} x {k}, b is {k} x {n}; blocks of 16 x 8 threads."
        if (wrong := _raced_by_warps(kernel, (n // 16, m // 16), (16, 8), (a, b, c), p.hazards, launched)) is not None:
            return wrong
        owners = Owners((16, 8), (m, n))  # half as many threads as elements: each has its own
        is_untouched = bool((c == UNTOUCHED).all())
        if (wrong := nothing_right(p, is_untouched, "c", launched, owners=owners, kernel=kernel, inputs=inputs)) is not None:
            return wrong
        expected = a.astype(np.float64) @ b
        below = np.arange(m) % 16 >= 8
        if (c[below] == UNTOUCHED).all() and np.allclose(c[~below], expected[~below], rtol=1e-4):
            words = "Each thread works out one element so far: the lower half of every tile is missing."
            return Reply("your turn", words)
        if missing := int((c == UNTOUCHED).sum()):
            return not_yet(f"{launched} {missing:,} of {c.size:,} elements were never written.")
        if (reply := judge_array(c, expected, "")).outcome != "right":
            return not_yet(f"{launched} {reply.words}{_known(c, _wrong_halves(expected, below))}")
    asked, of_tiles = p.counters.global_load_requests / p.counters.warps, 4 * k // 16  # four elements a phase
    if asked > 2 * of_tiles:
        return not_yet(
            f"c is right. But each warp asks global memory {asked:.0f} times, where tiles take {of_tiles}. Let both "
            "sums take their numbers from the tiles."
        )
    passes = p.compiled.shared_load_wavefronts / (m * k * n / 32)
    if passes > PASSES_OF_ONE - 0.1:
        return not_yet(
            f"c is right. But it takes {passes:.2f} passes through shared memory for each multiply-add, as if a thread "
            "had one element. Use a number of b_tile for both sums in the same round."
        )
    return right(
        f"{passes:.2f} passes through shared memory for each multiply-add of a warp; with one element a thread it is "
        f"{PASSES_OF_ONE}."
    )


def _wrong_halves(expected: np.ndarray, below: np.ndarray) -> dict[str, np.ndarray]:
    """What two_a_thread's known mistakes make of a right product; the rows `below` are the lower halves of its tiles."""
    repeated, alone, twice = (expected.copy() for _ in range(3))
    repeated[below] = expected[~below]
    alone[~below] += expected[below]
    alone[below] = 0
    twice[~below] = twice[below] = alone[~below]
    return {
        "The lower half of each tile repeats the upper one: which sum is stored, and from which row of a_tile?": repeated,
        "Both products went into one sum, and none into the other: each element needs its own.": alone,
        "Both products went into one sum, which is stored twice: each element needs its own.": twice,
    }


def _raced_by_warps(
    kernel: Any, grid: tuple[int, int], block: tuple[int, int], arguments: tuple[Any, ...], hazards: Any, launched: str
) -> Reply | None:
    """The reply to a race of two threads of a warp where other warps use the same shared array: None for all else.

    The report names syncwarp too, which orders these two threads; the next report would be of a race between warps.
    """
    from autograder import profile

    broken = next((each for each in hazards if each.kind in RULES), None)
    if broken is None or broken.kind != "race" or broken.space != "shared" or broken.line == broken.other_line:
        return None
    warps = {(each[1] * block[0] + each[0]) // 32 for each in (broken.thread, broken.other_thread) if each is not None}
    if len(warps) > 1:
        return None  # the report names syncthreads alone
    traced = profile(kernel, trace=True)[grid, block](*arguments)
    if len({each.warp for each in traced.trace("") if each.array == broken.array and each.block == broken.block}) < 2:
        return None
    remedy = f"Put cuda.syncthreads() between the two accesses: the other warps of the block use {broken.array} as well."
    return not_yet(f"{launched} {replace(broken, remedy=remedy)}")


PASSES_OF_ONE = 1.5
"""Passes that a warp's loads from the tiles take for each multiply-add, an element a thread: four of a_tile at once."""
LIMITS = ("DRAM", "L2", "L1", "issue", "shared memory", "latency")


def what_limits(answer: Any) -> Reply:
    """What limits tiles of 16 with the tile of b turned, at 1,024, and is that faster or slower than naive?"""
    waiting = unanswered(answer)
    if waiting:
        return waiting
    given = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (None, None)
    limit = resource_named(given[0], LIMITS)
    speed = given[1].strip().lower() if isinstance(given[1], str) else ""
    if limit is None or speed not in ("faster", "slower"):
        return not_yet(
            f"This takes one of the names {', '.join(LIMITS)}, and 'faster' or 'slower', like ('L2', 'faster')."
        )
    if limit != "shared memory":
        return not_yet(
            f"Not {limit}: its instructions and its loads from a and b are about the tiled kernel's. What has grown?"
        )
    if speed == "faster":
        return not_yet(
            "The first is right. How long do so many passes take, if each of the 132 multiprocessors does 1,980 "
            "million in a second? Compare with naive's whole time."
        )
    return right("The passes alone take 0.65 ms, longer than all of naive. What the tile saves, it pays for in banks.")


def blocks_that_fit(answer: Any) -> Reply:
    """Blocks of 256 threads with 40 KiB of shared memory on an H200's multiprocessor: (blocks, percent occupancy)"""
    return judge_tuple(
        answer,
        (5, 62.5),
        "233,472 / (40,960 + 1,024) = 5.56, so 5 blocks, and 5 x 256 = 1,280 of 2,048 threads.",
        {
            (8, 100): "That is what the threads allow. Shared memory runs out before.",
            (5, 31.25): "5 is right. Occupancy is threads there over threads that could be there: 5 x 256 of 2,048.",
            (5.56, 69.5): "Half a block cannot run: round down.",
            (6, 75): "Rounded up: the sixth block does not fit.",
            (5, 0.625): "5 is right; the second as a percentage, please.",
            (5, 100): "5 is right. How many threads are 5 blocks, and how many could be there?",
            (5.7, 71.25): "Half a block cannot run: round down. And each block takes 1,024 bytes more.",
        },
        hint="Divide the shared memory by what one block takes, its housekeeping included; then count threads.",
        within=(0, 0.5),  # the lesson prints whole percent
    )
