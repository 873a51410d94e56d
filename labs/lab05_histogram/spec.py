"""Lab 5, a histogram that skew cannot slow down: START HERE to see what is asked for. Thresholds first, then the checks
by part.

Whatever depends on the order of threads is judged on the simulated GPU, also where there is a real one: a missing
barrier gives right results there on one day and wrong ones on the next. No check that needs a real GPU comes before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check
from autograder.grading.coalescing import expect_coalesced, expect_loads
from autograder.grading.verified import expect_kernels_read, expect_no_transfers
from autograder.records.counters import Counters
from autograder.records.runs import Run, RunRequest, Zeros

from .histograms import (
    KINDS,
    SKEW,
    counting,
    counting_launch,
    expect_counts,
    expect_histogram,
    expect_none,
    expect_share,
    items_of,
)

BINS = 256  # of most cases
MOST_BINS = 1024  # of all cases but the bonus: a copy of them takes 4 KiB
MANY_BINS = 40_000  # 156 KiB, where a block of a kernel compiled by Numba has 48

# Sectors that atomic updates touch in global memory, for each item. One update an item: 0.7 with uniform items (items that
# share a sector go together), 1 with one value. A block that merges its copy of 256 bins touches 32 sectors: 0.125 an
# item in blocks of 256 threads with an item each, half of that in blocks of 512.
SECTORS_WITH_A_PRIVATE_COPY = 0.4
# How many exactly is up to the seed, here and wherever work counts; whole blocks, since ends have a check of their own.
ITEMS_IN_SMALL_BLOCKS = (2**16, 2**17, 2**13)

# The same where there are many items: 2,112 blocks (16 for each multiprocessor of an H200) touch 0.016 sectors an item,
# and so does a block for every 2,048 items. One item a thread touches 0.03 in the largest blocks that there are.
SECTORS_COARSENED = 1 / 40  # with 256 bins; a copy of four times as many has four times the sectors
ITEMS_COUNTED = (2**22, 2**22 + 2**20)
MOST_COUNTED = 2**22 + 2**20 + 77  # carried out whole: who leaves out some of many items does so here, too
MORE_BINS = (600, MOST_BINS + 1)  # how many exactly is up to the seed
BLOCKS_COUNTED = 16  # simulated of those that are launched

# Neighbouring lanes that load neighbouring int32 items need 4 sectors a request; a stretch for each thread, 32.
SECTORS_PER_LOAD_REQUEST = 5.0
SECTORS_OF_WHOLE_ROWS = 4.0

# The baseline updates global memory once an item. On one H200 a million uniform items took it 0.14 ms (twice that where the
# bins lie badly in memory), zipf 0.39 and one value 0.78; with private copies 0.010 to 0.020, whatever the data, in 66 to
# 2,112 blocks (predicted: 0.28, 0.29 and 0.81 against 0.008 to 0.032). Eight blocks leave most of the GPU idle: 0.096.
# They are 2.6 times as fast as the baseline there and 3.7 by prediction; the slowest that is to pass, 8.1 and 8.6.
# Times and verdicts, measured and predicted: h200.json and verdicts.md in solutions/lab05_histogram/calibration.
SPEED_ITEMS = (2**20 - 2**16, 2**20 + 2**16)
BEST_KNOWN = {"uniform": 29.7, "one value": 101.0, "zipf": 31.2}  # the ratio of the best known answer
SPEEDUP = {"uniform": 4.5, "one value": 14.0, "zipf": 5.5}
NO_POINTS_AT = 0.5  # of the speedup asked for

# Bonus, sectors of atomics in global memory for each item, with bins that no block has room for.
SECTORS_WITHOUT_BONUS = 0.5
BONUS_SECTORS = 0.25
SECTORS_OF_FULL_BONUS = 0.125
ITEMS_INTO_MANY_BINS = (2**19, 2**19 + 2**17)

WHOLE_WORK_LIMIT = 500_000_000  # of all the items that are counted
SPEED_WORK_LIMIT = 100_000_000  # units of simulated work in a run on as many items; others have WORK_LIMIT

WHOLE = 2**15
RAGGED = (1000, 10_007, 257, 31, 2, 1)
NUMBERS_OF_BINS = (100, 1000, MOST_BINS, 7, 1)
UNEVEN_BINS = (7, 1000)  # some threads of a block have one to clear or to merge less than others, or none
WARP_AND_ONE = 33  # items: one block
MANY = 600_011  # more than the threads of any grid that is bounded for the sake of few copies
SIXTEEN_BITS_AND_MORE = 70_000  # items of one value for a block: more than a counter of 16 bits can hold
MOST_ITEMS = 2**28  # 1 GiB, of which only what sampled blocks load takes room
OUTSIDE = ("out_of_bounds", "negative_index")
EXTREMES = (-(2**31), -70_000, -257, -256, -1, 256, 257, 1023, 1024, 65_536, 2**31 - 1)


def profiled_histogram(rng: np.random.Generator) -> RunRequest:
    """The case whose counted work the report shows by source line."""
    return counting(((rng.zipf(SKEW, WHOLE) - 1) % BINS).astype(np.int32), BINS)


LAB = Lab(
    title="A histogram that skew cannot slow down",
    lesson="05b_privatized_histogram",
    hours=4,
    required=(
        Required("histogram_kernel", "kernel"),
        Required("histogram", "host", ("items", "bins")),
    ),
    results={"histogram": expect_counts},
    baseline="baseline.py",
    profile=profiled_histogram,
)


# ---- part 1: right counts --------------------------------------------------------------------------------------------


@check(points=2)
def counts_every_item(attempt: Attempt) -> None:
    """Right counts: every item is counted in its bin, once, where many blocks count at a time."""
    for kind in KINDS:
        request = counting(items_of(attempt, kind, WHOLE, BINS), BINS)
        expect_histogram(attempt, request, attempt.simulate(request))


@check(points=1, after=("counts_every_item",))
def loses_no_update(attempt: Attempt) -> None:
    """Right counts: no thread changes a bin of the result while another is changing or clearing it."""
    for kind in KINDS:
        run = attempt.simulate(counting(items_of(attempt, kind, WHOLE, BINS), BINS), may_fault=True)
        expect_none(run, ("race",), "global")


@check(points=2, after=("counts_every_item",))
def ignores_items_outside(attempt: Attempt) -> None:
    """Right counts: items below zero, or beyond the last bin, are in no bin and lead nobody outside an array."""
    recipe = f"np.resize(np.array({EXTREMES}, np.int32), {WHOLE})"
    extremes = attempt.remember(np.resize(np.array(EXTREMES, np.int32), WHOLE), recipe)
    for items in (attempt.integers(-2 * BINS, 3 * BINS, WHOLE), extremes):
        request = counting(items, BINS)
        run = attempt.simulate(request, may_fault=True)
        expect_none(run, OUTSIDE)
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_histogram(attempt, request, run)


@check(points=2, after=("ignores_items_outside",))
def right_at_every_size(attempt: Attempt) -> None:
    """Right counts: any number of items, down to one, and any number of bins from one to 1,024."""
    for n, bins in (*((n, BINS) for n in RAGGED), *((4099, bins) for bins in NUMBERS_OF_BINS)):
        request = counting(items_of(attempt, "uniform", n, bins + 9), bins)  # a few items have no bin
        run = attempt.simulate(request, may_fault=True)
        expect_none(run, OUTSIDE)
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_histogram(attempt, request, run)


@check(points=1, after=("right_at_every_size",))
def clears_the_result(attempt: Attempt) -> None:
    """Right counts: it does not matter what the result's memory held before."""
    for n, bins in ((10_007, BINS), (10_007, 1000), (WARP_AND_ONE, MOST_BINS)):  # at last more bins than items
        request = counting(items_of(attempt, "uniform", n, bins), attempt.integers(1, 100, bins))
        expect_histogram(attempt, request, attempt.simulate(request))


# ---- part 2: private copies ------------------------------------------------------------------------------------------


def atomic_sectors_an_item(attempt: Attempt, kind: str, n: int, bins: int = BINS, blocks: int | None = None) -> float:
    """Sectors that atomic updates touch in global memory, for each of `n` items of one kind; goes into the report."""
    return atomic_sectors(attempt, counted(attempt, kind, n, bins, blocks).counters, kind, n)


def atomic_sectors(attempt: Attempt, counters: Counters, kind: str, n: int) -> float:
    """The same of a run that has been counted."""
    sectors, which = counters.global_atomic_sectors / n, kind.replace(" ", "_")
    attempt.record(**{
        f"atomic_sectors_an_item_{which}": sectors,
        f"most_lanes_on_one_bin_{which}": counters.global_atomic_worst_multiplicity,
    })  # fmt: skip
    return sectors


def counted(attempt: Attempt, kind: str, n: int, bins: int, blocks: int | None) -> Run:
    """A run whose work is looked at: its counts are right, or what sampled blocks added is their share."""
    request = replace(counting(items_of(attempt, kind, n, bins), bins), sample_blocks=blocks)
    if blocks is not None:
        request = replace(request, sample_seed=int(attempt.rng.integers(2**31)))
    return attempt.counted(request, expect=lambda run: expect_share(request, run))


def expect_few_sectors(sectors: float, limit: float, kind: str) -> str:
    """The line to show, or `CheckFailed` with it, where atomics touch more sectors an item than `limit`."""
    line = f"Atomic updates touch {sectors:.3g} sectors of global memory an item ({kind})"
    if sectors > limit:
        raise CheckFailed(f"{line}; at most {limit:.3g} asked for.")
    return f"{line}, at most {limit:.3g} asked for."


@check(points=2, after=("loses_no_update",))
def counts_in_shared_memory(attempt: Attempt) -> str:
    """Private copies: a block counts in bins of its own, in shared memory, and adds only those to the result."""
    attempt.record(limit=SECTORS_WITH_A_PRIVATE_COPY)
    for kind in KINDS:
        n = attempt.drawn(*ITEMS_IN_SMALL_BLOCKS)
        counters = counted(attempt, kind, n, BINS, None).counters
        line = expect_few_sectors(atomic_sectors(attempt, counters, kind, n), SECTORS_WITH_A_PRIVATE_COPY, kind)
        # Without atomics it is no better: a thread's own array that indices reach is in the GPU's memory as well.
        stored = (counters.global_store_sectors + counters.local_store_sectors) / n
        if stored > SECTORS_WITH_A_PRIVATE_COPY:
            raise CheckFailed(
                f"Stores touch {stored:.3g} sectors of global or local memory an item ({kind}); at most "
                f"{SECTORS_WITH_A_PRIVATE_COPY:g} asked for, and local arrays are not in shared memory."
            )
    return line


@check(points=2, after=("counts_in_shared_memory",))
def waits_around_counting(attempt: Attempt) -> None:
    """Private copies: nobody counts before the copy is cleared, and nobody merges it before all have counted."""
    for n, bins in ((WHOLE, BINS), (10_007, 1000)):
        for kind in KINDS:
            run = attempt.simulate(counting(items_of(attempt, kind, n, bins), bins), may_fault=True)
            expect_none(run, ("race",), "shared")


@check(points=1, after=("counts_in_shared_memory",))
def brings_every_thread_to_its_barriers(attempt: Attempt) -> None:
    """Private copies: threads that find no item left come to every barrier like the others."""
    for n, bins in (*((n, BINS) for n in RAGGED), *((WARP_AND_ONE, bins) for bins in UNEVEN_BINS)):
        request = counting(items_of(attempt, "uniform", n, bins), bins)
        run = attempt.simulate(request, may_fault=True)
        expect_none(run, ("divergent_barrier",))
        expect_kernels_read(run, request)


# ---- part 3: coarsening ----------------------------------------------------------------------------------------------


@check(points=1, after=("counts_every_item",))
def leaves_the_host_out(attempt: Attempt) -> None:
    """Coarsening: the host launches kernels and nothing else: it copies no array and makes none, not even to clear."""
    expect_no_transfers(attempt.simulate(counting(items_of(attempt, "uniform", WHOLE, BINS), BINS)))
    many = counting(items_of(attempt, "uniform", attempt.drawn(*ITEMS_COUNTED), BINS), BINS)
    expect_no_transfers(attempt.simulate(replace(many, sample_blocks=1)))


SAFE = (
    "loses_no_update", "right_at_every_size", "waits_around_counting", "brings_every_thread_to_its_barriers",
)  # fmt: skip


@check(points=1, after=SAFE)
def right_on_many_items(attempt: Attempt) -> None:
    """Coarsening: more items than the grid has threads are all counted."""
    request = counting(attempt.integers(-5, BINS + 5, MANY), BINS, SPEED_WORK_LIMIT)
    expect_histogram(attempt, request, attempt.run(request))
    request = counting(attempt.integers(-5, MOST_BINS + 5, MANY), MOST_BINS, SPEED_WORK_LIMIT)
    run = attempt.counted(request)
    expect_histogram(attempt, request, run)
    expect_room_in_counters(attempt, run)


def expect_room_in_counters(attempt: Attempt, run: Run) -> None:
    """Fails the check where copies lose counts of one value that is frequent: more than 16 bits hold, in each block.

    All items are zeros, so that there can be as many as that takes for any grid.
    """
    launch = counting_launch(run)
    if launch is None or not launch.shared_bytes:
        return
    n = min(SIXTEEN_BITS_AND_MORE * int(np.prod(launch.grid)), MOST_ITEMS)
    request = counting(Zeros((n,), np.int32), MOST_BINS)
    request = replace(request, sample_blocks=2, sample_seed=int(attempt.rng.integers(2**31)), scratch=("items",))
    attempt.counted(request, expect=lambda run: expect_share(request, run, least=0.5))


# What is counted here is counted in sampled blocks: of an answer that leaves items out, or keeps copies in arrays of the
# host's, which blocks that are left out do not fill, they say nothing.
SAMPLED = ("right_on_many_items", "leaves_the_host_out")


@check(points=2, after=SAMPLED)
def merges_seldom(attempt: Attempt) -> str:
    """Coarsening: each block counts so many items that merging its copy hardly matters."""
    for bins in (BINS, int(attempt.rng.integers(*MORE_BINS))):
        n = attempt.drawn(*ITEMS_COUNTED)
        sectors = atomic_sectors_an_item(attempt, "uniform", n, bins, blocks=BLOCKS_COUNTED)
        limit = SECTORS_COARSENED * bins / BINS
        attempt.record(limit=limit)
        line = expect_few_sectors(sectors, limit, "uniform" if bins == BINS else f"uniform, {bins:,} bins")
    # Sampled blocks may count a tenth less than others do, and be right: whether any is left out, all of them show.
    whole = counting(attempt.integers(0, BINS, MOST_COUNTED), BINS, WHOLE_WORK_LIMIT)
    expect_histogram(attempt, whole, attempt.run(whole))
    return line


@check(points=1, after=SAMPLED)
def loads_neighbours_together(attempt: Attempt) -> str:
    """Coarsening: the lanes of a warp load neighbouring items, in every round."""
    n = attempt.drawn(*ITEMS_COUNTED) // 2
    run = counted(attempt, "uniform", n, BINS, BLOCKS_COUNTED)
    expect_loads(run, n)
    need = f"neighbouring items need {SECTORS_OF_WHOLE_ROWS:g}"
    return expect_coalesced(attempt, run, n, SECTORS_PER_LOAD_REQUEST, need)


# ---- part 4: speed, whatever the data --------------------------------------------------------------------------------

COARSENED = ("merges_seldom", "loads_neighbours_together", "leaves_the_host_out", "right_on_many_items")


def speed(attempt: Attempt, kind: str) -> str:
    """Compares with one update in global memory for every item, on items of one kind."""
    n, asked = attempt.drawn(*SPEED_ITEMS), SPEEDUP[kind]
    return attempt.speedup(
        lambda: counting(items_of(attempt, kind, n, BINS), BINS, SPEED_WORK_LIMIT),
        threshold=asked, no_points_at=NO_POINTS_AT * asked, best_known=BEST_KNOWN[kind], launches_only=True,
    )  # fmt: skip


@check(points=2, after=COARSENED)
def fast_on_uniform_items(attempt: Attempt) -> str:
    """Speed: clearly faster than one update in global memory for every item, where all values are equally likely."""
    return speed(attempt, "uniform")


@check(points=2, after=COARSENED)
def fast_on_one_value(attempt: Attempt) -> str:
    """Speed: clearly faster where all items have one value, and all updates would meet in one bin."""
    return speed(attempt, "one value")


@check(points=1, after=COARSENED)
def fast_on_zipf_items(attempt: Attempt) -> str:
    """Speed: clearly faster where few values make up most of the items, as in real data."""
    return speed(attempt, "zipf")


# ---- bonus: more bins than shared memory holds -----------------------------------------------------------------------


@check(points=2, after=("right_on_many_items",), bonus=True)
def counts_into_more_bins(attempt: Attempt) -> None:
    """Bonus: bins that no block has room for are counted as well, 40,000 of them."""
    for n in (WHOLE, 1009):
        request = counting(attempt.integers(-9, MANY_BINS + 9, n), attempt.integers(1, 100, MANY_BINS))
        run = attempt.simulate(request, may_fault=True)
        expect_none(run, (*OUTSIDE, "race", "divergent_barrier"))
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_histogram(attempt, request, run)


@check(points=2, after=("counts_into_more_bins",), bonus=True)
def skew_meets_more_bins(attempt: Attempt) -> str:
    """Bonus: the updates of skewed items do not crowd in global memory there either."""
    attempt.record(limit=BONUS_SECTORS)
    worst = 0.0
    for kind in ("one value", "zipf"):
        n = attempt.drawn(*ITEMS_INTO_MANY_BINS)
        sectors = atomic_sectors_an_item(attempt, kind, n, MANY_BINS, 4 * BLOCKS_COUNTED)
        line = expect_few_sectors(sectors, BONUS_SECTORS, kind)
        worst = max(worst, sectors)
    attempt.award((SECTORS_WITHOUT_BONUS - worst) / (SECTORS_WITHOUT_BONUS - SECTORS_OF_FULL_BONUS))
    return f"{line} Full points at {SECTORS_OF_FULL_BONUS:g}."
