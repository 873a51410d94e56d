"""Exercises of notebooks 09a_the_map and 09b_three_patients; the answers that students see stand there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from autograder.course.answers import Inputs, not_of, nothing_right, written_alone
from autograder.course.lesson09.pairs import (
    BALANCE,
    BINS,
    BOTTLENECKS,
    CONTENTION,
    EFFICIENCY,
    MEMORY,
    PAIRS,
    REGULARITY,
)
from autograder.course.replies import Reply, not_yet, right, unanswered
from autograder.errors import SubmissionError

LANES = 32
# Warp instructions of one launch: five times what the slowest answer does that comes to its end, so that a loop without an
# end is told in seconds, and not in half a minute.
MOST_WORK = 50_000_000


def _with_faults_as_replies(exercise: Callable[[Any], Reply]) -> Callable[[Any], Reply]:
    """Says what stopped a kernel (a loop without an end, a word that none may use) as a reply, not as an exception."""

    @wraps(exercise)
    def replying(answer: Any) -> Reply:
        try:
            return exercise(answer)
        except SubmissionError as fault:
            return not_yet(str(fault))

    return replying


# ---- 9a: the map -----------------------------------------------------------------------------------------------------

STREETS = ((200, 128, 1), (64, 300, 3))  # houses, places, blocks of 128: the last of them is not full


@_with_faults_as_replies
def distances(kernel: Any) -> Reply:
    """A kernel of (houses, places, far): a thread for each place adds up the distances to all houses; no atomics."""
    if (wrong := not_of(kernel, ("houses", "places", "far"))) is not None:
        return wrong
    from autograder.profiling import profile  # the simulated GPU is only loaded for the exercises that need it

    for count, others, blocks in STREETS:
        rng = np.random.default_rng(count)
        houses, places = (rng.integers(0, 100, each).astype(np.float32) for each in (count, others))
        far = np.zeros(others, np.float32)
        launched = f"{count} houses, {others} places, {blocks} x 128 threads."
        inputs = Inputs(houses=houses, places=places)
        p = profile(kernel, work_limit=MOST_WORK)[blocks, 128](houses, places, far)
        if (wrong := nothing_right(p, not far.any(), "far", launched, inputs=inputs)) is not None:
            return wrong
        if words := _other_distances(houses, places, far):
            return not_yet(f"{launched} {words}")
        if p.counters.global_atomic_requests:
            return not_yet(f"{launched} All is right, but atomics made it. Who else writes to the place of this thread?")
    given = (houses, places, np.zeros(others, np.float32))
    if (wrong := written_alone(kernel, blocks, 128, given, launched)) is not None:
        return wrong
    c = p.counters
    if c.global_store_requests > 2 * c.warps:
        words = f"All is right, with {c.global_store_requests:,} requests to store. Add up in a variable, and store it once."
        return not_yet(f"{launched} {words}")
    return right("The loops have changed places, nobody else writes to a thread's place, and no atomic is left.")


def _other_distances(houses: np.ndarray, places: np.ndarray, far: np.ndarray) -> str:
    """What is wrong with sums of distances, by the mistake where it is known; nothing where all is right."""
    signed = houses[:, None] - places[None, :]
    apart = np.abs(signed)
    known = (
        (apart.sum(axis=0), ""),
        (signed.sum(axis=0), "Some distances count negative here. A distance has no sign: abs()."),
        (-signed.sum(axis=0), "Some distances count negative here. A distance has no sign: abs()."),
        (apart[0], "Only the first house was added. Go on to houses.size."),
        (apart[-1], "Only the last house is left: each round begins anew. Add to what you have."),
    )
    for numbers, words in known:
        if np.array_equal(far, numbers):
            return words
    at = int(np.flatnonzero(far != apart.sum(axis=0))[0])
    return (
        f"far[{at}] should be {apart[:, at].sum():g} and is {far[at]:g}: the distances from places[{at}] to all "
        f"{houses.size} houses."
    )


PLACES = ((900, 40), (2048, 128))  # places, and the length of the line


@_with_faults_as_replies
def near_in_bins(kernel: Any) -> Reply:
    """A kernel of (places, starts, near): asks only the places in its own bin and in those beside it."""
    if (wrong := not_of(kernel, ("places", "starts", "near"))) is not None:
        return wrong
    from autograder.profiling import profile

    for size, length in PLACES:
        places = np.sort((np.random.default_rng(size).random(size) * length).astype(np.int32)).astype(np.float32)
        places += np.random.default_rng(length).random(size).astype(np.float32) * np.float32(0.99)
        places[::9] = np.floor(places[::9]) + np.float32(0.25)  # many are exactly 1 apart
        starts = np.searchsorted(places.astype(np.int32), np.arange(length + 1)).astype(np.int32)
        near = np.full(size, -1, np.int32)
        launched = f"{size:,} places in {length} bins."
        inputs = Inputs(places=places, starts=starts)
        p = profile(kernel, work_limit=MOST_WORK)[-(-size // 128), 128](places, starts, near)
        if (wrong := nothing_right(p, bool((near == -1).all()), "near", launched, inputs=inputs)) is not None:
            return wrong
        expected = (np.abs(places[:, None] - places[None, :]) <= np.float32(1)).sum(axis=1)
        if not np.array_equal(near, expected):
            return not_yet(f"{launched} {_other_neighbours(places, near, expected)}")
    asked, most = LANES * p.counters.global_load_requests / size, 4 * 16 * size / (16 * 128)
    if most < asked <= size / 2:  # in some requests few lanes are left: count these alone
        launch = profile(kernel, trace=True, trace_limit=size * size // 32, work_limit=MOST_WORK)
        p = launch[-(-size // 128), 128](places, starts, near)
        asked = sum(int((each.addresses >= 0).sum()) for each in p.trace("") if each.kind == "load") / size
    if asked > size / 2:
        words = f"near is right, and each thread still loads {asked:,.0f} numbers. "
        words += "Its own bin and the two beside it will do."
        return Reply("your turn", f"{launched} {words}")
    if asked > most:
        words = f"near is right, and each thread loads {asked:,.0f} numbers. Three bins hold about {3 * size // 128}."
        return not_yet(f"{launched} {words}")
    return right(f"{launched} Each thread loads {asked:.0f} numbers on average, in place of {size:,}.")


def _other_neighbours(places: np.ndarray, near: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong with counts of near places, where it is known."""
    bins = places.astype(np.int32)
    for words, reach in (
        ("its own bin", (0, 0)),
        ("its own bin and the one before", (-1, 0)),
        ("its own bin and the one behind", (0, 1)),
    ):
        among = (bins[None, :] - bins[:, None] >= reach[0]) & (bins[None, :] - bins[:, None] <= reach[1])
        counted = ((np.abs(places[:, None] - places[None, :]) <= np.float32(1)) & among).sum(axis=1)
        if np.array_equal(near, counted):
            return f"Only {words} was asked. A place at most 1 away lies there, or in a bin beside it."
    three = np.abs(bins[None, :] - bins[:, None]) <= 1
    if np.array_equal(near, three.sum(axis=1)):
        return "All places of three bins were counted. Only those at most 1 away count."
    if np.array_equal(near, expected - 1):
        return "All are one too small: a place is 0 away from itself, and counts as well."
    nearer = (np.abs(places[:, None] - places[None, :]) < np.float32(1)).sum(axis=1)
    if np.array_equal(near, nearer):
        return "At most 1 away is asked for: those exactly 1 away count as well."
    wrong = np.flatnonzero(near != expected)
    ends = "" if 0 < bins[wrong].min() and bins[wrong].max() < bins.max() else _AT_THE_ENDS
    at = int(wrong[0])
    return f"{wrong.size:,} counts differ; the first: near[{at}] should be {expected[at]} and is {near[at]}.{ends}"


_AT_THE_ENDS = " What lies before the first bin, and behind the last?"


def which_bottleneck(answer: Any) -> Reply:
    """The bottleneck of each of the kernels W, X, Y and Z, by their sheets."""
    expected = (CONTENTION, MEMORY, BALANCE, EFFICIENCY)
    if (waiting := unanswered(answer)) is not None:
        return waiting
    if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
        return not_yet("This takes four names of bottlenecks in parentheses.")
    given = [_named(each, BOTTLENECKS) for each in answer]
    if None in given:
        return not_yet(f"{answer[given.index(None)]!r} is none of: {', '.join(BOTTLENECKS)}.")
    for letter, each, wanted in zip("WXYZ", given, expected, strict=True):
        if each != wanted and not (letter == "Y" and each == REGULARITY):
            return not_yet(f"{letter}: {_WHY_NOT[letter]}")
    if given[2] == REGULARITY:
        return not_yet(
            "Y: 4.1 of 32 lanes at work, that is true. But with all 32 at work it would still wait for its slowest warp: "
            "look one line up."
        )
    return right(
        "W is the histogram with an item a thread, X the particle's field in rows, Y the whole rows, and Z, whose other "
        "lines are all healthy, asks all places."
    )


_WHY_NOT = {
    "W": "Loads, warps and lanes are as they should be. One line is not far below what it should be far below.",
    "X": "Which line is four times what it would be if neighbours read neighbours?",
    "Y": "Its loads are few because few lanes load. Which two lines are not healthy, and which one must be waited for?",
    "Z": "The first four lines are healthy. What does that leave?",
}


def _named(given: Any, names: Sequence[str]) -> str | None:
    """Which of the names an answer means; None for none of them."""
    if not isinstance(given, str):
        return None
    words = given.strip().lower()
    fitting = [each for each in names if words == each or (words and words == each.split()[0])]
    return fitting[0] if len(fitting) == 1 else None


# ---- 9b: three patients ----------------------------------------------------------------------------------------------

TECHNIQUES = tuple(each.technique for each in PAIRS)


def diagnosis_a(answer: Any) -> Reply:
    """The bottleneck of patient A and the technique that relieves it."""
    return _diagnosis(
        answer,
        (CONTENTION, "coarsening"),
        "Each block clears 256 bins and merges 256, for 256 pixels. The bins are private already; the blocks are too many.",
        {
            MEMORY: "The loads look bad, 32 sectors for each request. But read the last line: how long would L2 and L1 "
            "take, through which these sectors go, and how long does what binds?",
            EFFICIENCY: "87 steps for 32 pixels are many, but issuing them is not what binds. What is?",
            BALANCE: "Slowest and average warp do the same.",
            REGULARITY: "All 32 lanes are at work.",
        },
        {
            "privatization": "Right bottleneck. But each block has its own bins already: who merges how often?",
            "scatter to gather": "Right bottleneck. A thread for each bin would have to read all pixels, though. What is "
            "there "
            "too much of here?",
            "data layout": "Right bottleneck. What comes to 256 additions for each 256 pixels, wherever they lie?",
        },
        "Right bottleneck. Which technique has fewer blocks merge?",
    )


def diagnosis_b(answer: Any) -> Reply:
    """The bottleneck of patient B and the technique that relieves it."""
    return _diagnosis(
        answer,
        (BALANCE, "regularization"),
        "Whoever has the longest row keeps everybody waiting, so share it out.",
        {
            MEMORY: "The weights lie anywhere, that is true. But in the last line L1 needs 2 of 162 us, and L2 and DRAM, "
            "which it does not even name, need less. It waits, and not for bandwidth.",
            REGULARITY: "Few lanes are at work, that is true. But idle lanes cost instructions, and issue takes 5 of 162 "
            "us. It waits: for whom? The line above says it.",
            EFFICIENCY: "Issuing its steps takes 5 of 162 us. It waits. For whom?",
            CONTENTION: "There is no atomic in it.",
        },
        {
            "compaction": "Right bottleneck. Compaction leaves out those who have nothing to do. Here all have something, "
            "and a "
            "few have far too much.",
            "input binning": "Right bottleneck. Binning spares a thread inputs that cannot matter. Here all of a row's "
            "matter.",
            "coarsening": "Right bottleneck. To give each thread more rows makes the busiest thread busier.",
        },
        "Right bottleneck. Which technique limits what the busiest thread gets?",
    )


def diagnosis_c(answer: Any) -> Reply:
    """The bottleneck of patient C and the technique that relieves it."""
    return _diagnosis(
        answer,
        (EFFICIENCY, "input binning"),
        "Nothing is wrong with how it runs. It does too much: sorted edges rule out half of what is left at each question.",
        {
            REGULARITY: "16.8 of 32 lanes are at work. With all 32 it could be 32 / 16.8 = 1.9 times as fast, not more. "
            "Is that "
            "what you would settle for, with 9,000 steps for 32 numbers?",
            MEMORY: "2.4 sectors for each request, and L1, L2 and DRAM do not bind.",
            BALANCE: "Slowest and average warp do nearly the same.",
            CONTENTION: "There is no atomic in it.",
        },
        {
            "compaction": "Right bottleneck. Nothing here is empty: which edges need not be looked at, and why?",
            "tiling": "Right bottleneck. A tile would make each look at an edge cheaper. Must there be so many?",
            "coarsening": "Right bottleneck. Two numbers a thread would share loads, and look at as many edges for each.",
            "regularization": "Right bottleneck. That helps where a few have too much. Here all have.",
        },
        "Right bottleneck. Which technique rules out inputs that cannot matter, without looking at them?",
    )


def _diagnosis(
    answer: Any,
    expected: tuple[str, str],
    praise: str,
    other_bottlenecks: dict[str, str],
    other_techniques: dict[str, str],
    hint: str,
) -> Reply:
    """Judges (bottleneck, technique), the bottleneck first."""
    if (waiting := unanswered(answer)) is not None:
        return waiting
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return not_yet("This takes two names in parentheses: (bottleneck, technique).")
    bottleneck, technique = _named(answer[0], BOTTLENECKS), _named(answer[1], TECHNIQUES)
    if bottleneck is None:
        return not_yet(f"{answer[0]!r} is no bottleneck. There are: {', '.join(BOTTLENECKS)}.")
    if technique is None:
        return not_yet(f"{answer[1]!r} is no technique. There are: {', '.join(TECHNIQUES)}.")
    if bottleneck != expected[0]:
        return not_yet(other_bottlenecks[bottleneck])
    if technique != expected[1]:
        return not_yet(other_techniques.get(technique, hint))
    return right(praise)


IMAGES = ((70, 300, 3), (64, 512, 8))  # rows, columns, blocks


@_with_faults_as_replies
def mended_a(kernel: Any) -> Reply:
    """Patient A mended: (image, bins) in a few blocks of 256 threads, whatever the size of the image."""
    if (wrong := not_of(kernel, ("image", "bins"))) is not None:
        return wrong
    from autograder.profiling import profile

    for rows, columns, blocks in IMAGES:
        image = np.random.default_rng(rows).integers(0, BINS, (rows, columns)).astype(np.int32)
        bins, expected = np.zeros(BINS, np.int32), np.bincount(image.ravel(), minlength=BINS)
        launched = f"{rows} x {columns} pixels, {blocks} blocks of 256."
        inputs = Inputs(image=image)
        p = profile(kernel, work_limit=MOST_WORK)[blocks, 256](image, bins)
        if (wrong := nothing_right(p, not bins.any(), "bins", launched, inputs=inputs)) is not None:
            return wrong
        if not np.array_equal(bins, expected):
            return _other_bins(launched, int(bins.sum()), image, 256 * blocks)
    c = p.counters
    added, merged = LANES * c.global_atomic_requests, BINS * blocks
    if added > 2 * merged:
        return not_yet(
            f"{launched} The bins are right, with {added:,} additions to global memory; {blocks} blocks need {merged:,}. "
            f"Clear "
            "once, count all that the block has, merge once."
        )
    if not c.shared_atomic_requests:
        return not_yet(f"{launched} The bins are right, but no block counts in bins of its own. Keep the given lines.")
    sectors = c.global_load_sectors_per_request
    if sectors > 8:
        return not_yet(
            f"{launched} The contention is gone: {added:,} additions for {image.size:,} pixels. Now the loads show, with "
            f"{sectors:.3g} sectors for each request. Let neighbours read neighbours in a row."
        )
    return right(
        f"{added:,} additions to global memory for {image.size:,} pixels, and {sectors:.3g} sectors for each request."
    )


def _other_bins(launched: str, counted: int, image: np.ndarray, threads: int) -> Reply:
    """The reply to bins that are wrong."""
    words = f"{launched} {counted:,} of {image.size:,} pixels were counted."
    if counted == threads:
        return Reply("your turn", f"{words} That is one for each thread: let each go on, until nothing is left.")
    if counted > image.size:
        return not_yet(f"{words} Does each thread begin somewhere else, and do blocks share the rows out?")
    if counted == image.size:
        return not_yet(f"{launched} All pixels were counted, but not all in their own bin.")
    return not_yet(f"{words} Which rows and columns does nobody visit?")


NODES = ((96, 500), (203, 2000))  # nodes, and the links of the one that has most


@_with_faults_as_replies
def mended_b(kernel: Any) -> Reply:
    """Patient B mended: (starts, links, weights, sums) with 32 threads for each node, in blocks of 256."""
    if (wrong := not_of(kernel, ("starts", "links", "weights", "sums"))) is not None:
        return wrong
    from autograder.profiling import profile

    for nodes, most in NODES:
        rng = np.random.default_rng(nodes)
        lengths = rng.geometric(1 / 8, nodes) - 1  # some nodes have no link
        lengths[nodes // 2] = most
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        links, weights = rng.integers(0, nodes, starts[-1]).astype(np.int32), rng.integers(1, 6, nodes).astype(np.float32)
        sums = np.zeros(nodes, np.float32)
        blocks = -(-nodes * LANES // 256)
        launched = f"{nodes} nodes, one of them with {most:,} links, {blocks} blocks of 256."
        inputs = Inputs(starts=starts, links=links, weights=weights)
        p = profile(kernel, work_limit=MOST_WORK)[blocks, 256](starts, links, weights, sums)
        if (wrong := nothing_right(p, not sums.any(), "sums", launched, inputs=inputs)) is not None:
            return wrong
        if words := _other_links(starts, links, weights, sums):
            return not_yet(f"{launched} {words}")
    c = p.counters
    if c.global_atomic_requests > nodes + 8:  # more than a share of each lane, all of a node in one request
        return not_yet(
            f"{launched} The sums are right, with {c.global_atomic_requests:,} requests to add to them in global memory: "
            "the contention of patient A: add up in a register, and give a node's sum its shares once."
        )
    loads, shared_out = c.slowest_warp_loads, 2 * -(-most // LANES)  # of links and of weights
    told = f"{launched} The busiest warp loads {loads:,} times"
    if loads >= 2 * most:
        words = "One lane still does all of the longest row. There are 32 threads for each node now: share its links out."
        return Reply("your turn", f"The sums are right. {told}. {words}")
    if loads > 2 * shared_out + 8:
        return not_yet(f"The sums are right. {told}; shared out evenly among 32 lanes it would be about {shared_out + 2}.")
    return right(f"{told}, not {2 * most:,}.")


def _other_links(starts: np.ndarray, links: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> str:
    """What is wrong with sums over links, by the mistake where it is known; nothing where all is right."""
    rows = list(zip(starts[:-1], starts[1:], strict=True))
    expected = np.array([weights[links[low:high]].sum() for low, high in rows], np.float32)
    if np.array_equal(sums, expected):
        return ""
    if np.array_equal(sums, LANES * expected):
        return "Each sum is 32 times what it should be: all lanes of a warp added up the whole row."
    if np.array_equal(sums, [weights[links[low:high:LANES]].sum() for low, high in rows]):
        return "Only lane 0's share of each row is there. The shares of all lanes belong into the sum."
    if np.array_equal(sums, np.diff(starts)):
        return "These are the numbers of links. Add up the weights of those whom they name."
    wrong = np.flatnonzero(sums != expected)
    at = int(wrong[0])
    return (
        f"{wrong.size} of {sums.size} sums differ; the first: sums[{at}] should be {expected[at]:g} and is {sums[at]:g}. "
        "Which warp has which node, which lane which of its links, and what is added for a link?"
    )


EDGES_TRIED = (1, 7, 2000)  # eleven halvings leave one of the last


@_with_faults_as_replies
def mended_c(kernel: Any) -> Reply:
    """Patient C mended, from an empty cell: (edges, x, found), how many of the sorted edges are at most x[i]."""
    if (wrong := not_of(kernel, ("edges", "x", "found"))) is not None:
        return wrong
    from autograder.profiling import profile

    for count in EDGES_TRIED:
        rng = np.random.default_rng(count)
        edges = np.sort(rng.permutation(4 * count)[:count]).astype(np.float32)
        x = np.concatenate([edges, edges[:1] - 1, edges[-1:] + 1, rng.random(500, dtype=np.float32) * 4 * count])
        x = rng.permutation(x).astype(np.float32)
        found, expected = np.full(x.size, -1, np.int32), np.searchsorted(edges, x, side="right")
        launched = f"{count:,} edge{'s' * (count > 1)}, {x.size:,} numbers."
        inputs = Inputs(edges=edges, x=x)
        p = profile(kernel, work_limit=MOST_WORK)[-(-x.size // 128), 128](edges, x, found)
        if (wrong := nothing_right(p, bool((found == -1).all()), "found", launched, inputs=inputs)) is not None:
            return wrong
        if not np.array_equal(found, expected):
            return not_yet(f"{launched} {_other_classes(edges, x, found, expected)}")
    if (wrong := written_alone(kernel, -(-x.size // 128), 128, (edges, x, np.full_like(found, -1)), launched)) is not None:
        return wrong
    loads = p.counters.global_load_requests / p.counters.warps
    if loads > 40:
        return not_yet(
            f"{launched} found is right, and a warp loads {loads:,.0f} times. Ask the edge in the middle first: which "
            "half need nobody look at?"
        )
    return right(
        f"{launched} A warp loads {loads:.0f} times, in place of about {count:,}. "
        "Twice as many edges cost one question more."
    )


def _other_classes(edges: np.ndarray, x: np.ndarray, found: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong with classes, where it is known."""
    if np.array_equal(found, np.searchsorted(edges, x, side="left")):
        return "A number that is equal to an edge counts that edge as well: at most, not below."
    if np.array_equal(found, expected - 1):
        return "All are one too small: found is how many edges are at most x, not the place of the last of them."
    if np.array_equal(found, expected + 1):
        return "All are one too large."
    at = int(np.flatnonzero(found != expected)[0])
    below, above = x[at] < edges[0], x[at] >= edges[-1]
    where = " (x below all edges)" if below else " (x at or above all edges)" if above else ""
    return (
        f"{int((found != expected).sum()):,} of {found.size:,} differ; the first: found[{at}] should be {expected[at]} "
        f"and is "
        f"{found[at]}{where}."
    )
