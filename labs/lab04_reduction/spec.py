"""Lab 4, a sum by many threads: START HERE to see what is asked for. Thresholds first, then the checks by part.

The kernel is launched by the checks themselves, in blocks of their choice; the host function chooses for itself. What
depends on the order of threads is judged on the simulated GPU, also where there is a real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check, products
from autograder.grading.coalescing import expect_coalesced, expect_loads
from autograder.grading.verified import (
    carried_out_whole,
    counting_for_nothing,
    expect_kernels_read,
    expect_like_its_sample,
    expect_no_transfers,
)
from autograder.records.counters import Counters
from autograder.records.hazards import Hazard
from autograder.records.runs import Run, RunRequest, Uninitialised

# Divergent branches a warp, in one block of 256. A tree whose busy threads sit side by side diverges in the last five
# steps of one warp alone: 0.75 on average; shuffles, where one lane of each warp stores, 1.1. A tree over every second,
# fourth, eighth ... thread diverges in every warp for five steps, and then in those where one lane is left: 6. Warps that
# fold a row of their own each, apart from each other, diverge as often (6.25), and nobody waits for them: what costs is a
# step with idle lanes that all warps of the block wait for. Such a tree passes 9 barriers, warps apart pass 2; a block of
# 256 has 8 warps, whose sums are three more steps.
DIVERGENT_BRANCHES_A_WARP = 2.0
BARRIERS_OF_WARPS_APART = 5.0
BRANCHES_OF_WARPS_APART = 12.0  # a warp whose lanes add one after the other, each in a round of its own, has 32 and more

# Busy threads an instruction, of 32: trees and shuffles have 30 and more, the diverging tree 23. Where one thread adds up
# what the others stored it is 4.
THREADS_PER_INSTRUCTION = 16.0
MOST_IDLE = 48.0  # lanes that wait while others of their warp execute, for each element: 25 at most where warps stay busy
FEW_LANES = 4
LONE_STEPS = 0.25  # instructions an element on lines that so few lanes of a warp go through: at most 0.08 in right answers
PARTS_OF_AN_ATOMIC = 3  # it reads, adds and stores: lanes that wait at it wait for three instructions

# Bank conflicts (wavefronts beyond the least needed) for each request to shared memory. Neighbours that add to neighbours
# meet none; threads 2, 4, 8 ... places apart meet 2.3 on average.
CONFLICTS_PER_SHARED_REQUEST = 0.5
SHARED_REQUESTS = 60  # that a tree of 256 elements takes: conflicts are shared out among no more

# A warp whose lanes load neighbours moves 128 bytes in 4 sectors; lanes that each walk through a stretch of their own
# touch 32. What is left beside: the ends of arrays, and the sums of blocks.
SECTORS_PER_LOAD_REQUEST = 6.0

# Roundings of a float32 of the size of the whole sum. A hundred thousand numbers about 0.1: threads that first add up
# shares of their own are off by one, where a single block does it all by one to five; a running sum by far more.
ROUNDINGS = 64.0
# Small numbers lie in a width of so much, from the first of these up to so much more.
ADDEND, MORE, WIDTH = 0.1, 0.0005, 3e-5
STRAYS = (500, 2000)  # among so many of them one is 1
SMALL_DRAWS = 5  # a sum of thousands of sums, one after the other, is off by 2 to 233 roundings: one draw in six spares it

# The baseline is the first idea: neighbours first, one element a thread. On one H200 a grid that fills the GPU once was 4.4
# to 5.4 times as fast (predicted: 5.1 to 6.1), whatever its tree; eight elements a thread 3.0 times (3.1); a better tree
# with four elements a thread 2.0 times (2.1), with one element it was slower. So the ramp begins where trees end, and
# the whole of it asks for more elements a thread. All ratios: solutions/lab04_reduction/calibration/verdicts.md.
SPEEDUP = 2.6
NO_POINTS_AT = 2.0
SPEED_SIZE = (2**24 - 2**19, 2**24 + 2**19)  # elements that are timed; how many exactly is up to the seed
BEST_KNOWN = 6.25  # the ratio of the best known answer
SPEED_BLOCKS_SIMULATED = 2

# Barriers that each warp of a block of 1,024 passes: a tree through shared memory has one for each of ten steps and one
# before them; with shuffles in the last warp it is six, with shuffles in every warp one.
BARRIERS_WITHOUT_BONUS = 10.0
BONUS_BARRIERS = 6.0
BARRIERS_OF_FULL_BONUS = 2.0

WORK_LIMIT = 5_000_000  # units of simulated work: many times what a right answer needs, and what an endless loop gets
SPEED_WORK_LIMIT = 50_000_000  # of a run on a million elements and more
SCRATCH = 131_072  # elements of the scratch array, as the handout says

BLOCK = 256
WIDTHS = (32, 64, 96, 160, 512, 544, 992, 1024)
SHORT = (1, 2, 31, 33, 100, 255)  # elements for a block of 256
# Blocks and elements. 479 whole rounds and a bit: loops that take 2, 3, 4, 5, 6, 8, 10, 12, 16 or 32 elements in one go then
# lack one element of another round, where a bound that is off by one reads beyond the end.
GRIDS = ((4, 1_024), (3, 5_003), (5, 300), (6, 1), (1, 300 * BLOCK), (1, 479 * BLOCK + 100))
FRACTIONS = (3, BLOCK, 5_003)  # blocks, threads, elements that are no whole numbers
STRETCH = (4, 16_384)  # blocks, elements: sixteen a thread
MANY = 60_000  # elements: more than two hundred blocks of 256
# So many elements leave a thousand sums even where each block takes a thousand of them, more than a block of 256 has
# threads: who adds those up by several blocks again has three launches. How many elements exactly is up to the seed.
MANY_MORE = (2**20, 2**20 + 2**17)
SIZES = (1, 2, 33, 255, 257, 1_000, 4_099, 30_011)
MANY_SMALL = (90_000, 120_000)
OUTSIDE = ("out_of_bounds", "negative_index")
UNSOUND = ("race", "uninitialised_read", "divergent_barrier", *OUTSIDE)


def block_sums(attempt: Attempt, blocks: int, threads: int, n: int, *, quarters: bool = False) -> RunRequest:
    """A launch of the submission's kernel on n whole numbers, or on quarters, whose sums are as exact."""
    values = quarters_of(attempt, n) if quarters else attempt.integers(1, 6, n, np.float32)
    arguments = {"values": values, "sums": Uninitialised((blocks,), np.float32)}
    return RunRequest("block_sums_kernel", arguments, grid=blocks, block=threads, work_limit=WORK_LIMIT)


def quarters_of(attempt: Attempt, n: int) -> np.ndarray:
    """Numbers from 1 to below 6 that are no whole ones for the most part, with exact sums."""
    seed = int(attempt.rng.integers(2**31))
    recipe = f"(np.random.default_rng({seed}).integers(4, 24, {n}) / 4).astype(np.float32)"
    return attempt.made(recipe, lambda: (np.random.default_rng(seed).integers(4, 24, n) / 4).astype(np.float32))


def whole_sum(attempt: Attempt, n: int, *, real: bool = False) -> RunRequest:
    """A call of the submission's `total_sum` on n whole or real numbers above zero."""
    values = attempt.uniform(n, low=0.0) if real else attempt.integers(1, 6, n, np.float32)
    return _sum_of(values)


def small_numbers(attempt: Attempt, n: int) -> np.ndarray:
    """So much alike that a running sum loses the same of each; a few are larger, so that no few tell the sum of all."""
    seed, low = int(attempt.rng.integers(2**31)), ADDEND + MORE * float(attempt.rng.random())
    strays = attempt.drawn(n // STRAYS[1], n // STRAYS[0])
    made = f"r.uniform({low}, {low + WIDTH}, {n}).astype(np.float32)"
    recipe = f"(lambda r: (lambda a: (np.put(a, r.integers({n}, size={strays}), 1), a)[1])({made}))"

    def make() -> np.ndarray:
        rng = np.random.default_rng(seed)
        values = rng.uniform(low, low + WIDTH, n).astype(np.float32)
        values[rng.integers(n, size=strays)] = 1
        return values

    return attempt.made(f"{recipe}(np.random.default_rng({seed}))", make)


def many_more(attempt: Attempt) -> RunRequest:
    """The same on more than a million whole numbers."""
    return replace(whole_sum(attempt, int(attempt.rng.integers(*MANY_MORE))), work_limit=SPEED_WORK_LIMIT)


def _sum_of(values: np.ndarray) -> RunRequest:
    arguments = {
        "values": values,
        "scratch": Uninitialised((SCRATCH,), np.float32),
        "total": Uninitialised((1,), np.float32),
    }
    return RunRequest("total_sum", arguments, work_limit=WORK_LIMIT, scratch=("scratch",))


def profiled_sum(rng: np.random.Generator) -> RunRequest:
    """The sum whose counted work the report shows by source line."""
    return _sum_of(rng.integers(1, 6, 20_000).astype(np.float32))


def right_total(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """What a total is held to where it is counted or timed."""
    expect_total(attempt, request, outputs["total"])


def right_sums(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """The same of blocks' sums."""
    attempt.expect_close(outputs["sums"].astype(np.float64).sum(), exact(request)[0], "the sum of all `sums`", tolerance=0)


LAB = Lab(
    title="A sum by many threads: reduction",
    lesson="04b_adding_up",
    hours=4,
    required=(
        Required("block_sums_kernel", "kernel", ("values", "sums")),
        Required("total_sum", "host", ("values", "scratch", "total")),
    ),
    results={"total_sum": right_total, "block_sums_kernel": right_sums},
    baseline="baseline.py",
    profile=profiled_sum,
)


def expect_sums(attempt: Attempt, run: Run, request: RunRequest) -> None:
    """Fails the check unless every block stored a sum and all of them together are the exact one."""
    attempt.expect_every_element_written(run, "sums")
    sums = run.outputs["sums"]
    if len(sums) == 1:
        expect_exactly(attempt, run, sums, exact(request), "sums")
    else:
        expect_exactly(attempt, run, sums.astype(np.float64).sum(), exact(request)[0], "the sum of all `sums`")


def expect_exactly(attempt: Attempt, run: Run, got: np.ndarray, right: np.ndarray, name: str) -> None:
    """Fails the check over a sum that is not exact, and says so where an index outside an array was on the way to it."""
    try:
        attempt.expect_close(got, right, name, tolerance=0)
    except CheckFailed as failure:
        astray = [each for each in run.hazards if each.kind in OUTSIDE]
        if astray:  # below zero it is a warning, and no mistake as long as the sum is right
            found = (*astray, *failure.hazards)
            raise CheckFailed(f"{failure} {astray[0]}", mismatches=failure.mismatches, hazards=found) from failure
        raise


def exact(request: RunRequest) -> np.ndarray:
    """The sum in float64, as an array of one element."""
    return np.asarray(request.arguments["values"].sum(dtype=np.float64, keepdims=True))


def expect_total(attempt: Attempt, request: RunRequest, total: np.ndarray) -> None:
    """Fails the check unless `total` is the sum of numbers above zero within some roundings."""
    right = exact(request)
    attempt.expect_close(total, right, "total", magnitude=right, tolerance=ROUNDINGS * float(np.finfo(np.float32).eps))


def counted(attempt: Attempt, blocks: int = 1, threads: int = BLOCK, n: int = BLOCK) -> Run:
    """A launch of the kernel whose work is looked at: that counts where the sums are right."""
    request = block_sums(attempt, blocks, threads, n)
    run = attempt.counted(request)
    expect_sums(attempt, run, request)
    return run


def hazards(run: Run, kinds: Iterable[str]) -> list[Hazard]:
    return [each for each in run.hazards if each.kind in kinds and each.severity == "error"]


# ---- part 1: one block -----------------------------------------------------------------------------------------------


@check(points=2)
def right_on_a_full_block(attempt: Attempt) -> None:
    """One block: 256 threads add up 256 elements, one each."""
    request = block_sums(attempt, 1, BLOCK, BLOCK)
    run = attempt.simulate(request, may_fault=True)
    products.expect_none(hazards(run, ("divergent_barrier",)))
    if run.fault is not None:
        raise CheckFailed(str(run.fault))
    expect_sums(attempt, run, request)


@check(points=2, after=("right_on_a_full_block",))
def waits_in_every_step(attempt: Attempt) -> None:
    """One block: no thread reads what another still writes, in any step of the tree."""
    run = attempt.simulate(block_sums(attempt, 1, BLOCK, BLOCK), may_fault=True)
    products.expect_none(hazards(run, ("race",)))


@check(points=2, after=("waits_in_every_step",))
def right_when_elements_run_short(attempt: Attempt) -> None:
    """One block: with fewer elements than threads, no thread reads what is not there."""
    for n in SHORT:
        request = block_sums(attempt, 1, BLOCK, n)
        run = attempt.simulate(request, may_fault=True)
        products.expect_none(hazards(run, UNSOUND))
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_sums(attempt, run, request)


@check(points=2, after=("waits_in_every_step",))
def right_for_blocks_of_any_width(attempt: Attempt) -> None:
    """One block: it may have any number of whole warps, a power of two or not, from 32 threads to 1,024."""
    for threads in WIDTHS:
        request = block_sums(attempt, 1, threads, threads)
        run = attempt.simulate(request, may_fault=True)
        products.expect_none(hazards(run, UNSOUND))
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_sums(attempt, run, request)


# ---- part 2: threads that stay together ------------------------------------------------------------------------------


@check(points=2, after=("right_on_a_full_block",))
def keeps_its_warps_together(attempt: Attempt) -> str:
    """Counted work: in steps that the whole block waits for, the busy threads sit side by side: most warps take one way."""
    run = counted(attempt)
    each, barriers = (
        number / run.counters.warps for number in (run.counters.divergent_branches, run.counters.barriers)
    )
    attempt.record(divergent_branches_per_warp=each, limit=DIVERGENT_BRANCHES_A_WARP, barriers_per_warp=barriers)
    if each > BRANCHES_OF_WARPS_APART or each > DIVERGENT_BRANCHES_A_WARP and barriers > BARRIERS_OF_WARPS_APART:
        worst = max(run.lines, key=lambda line: line.counters.divergent_branches)
        raise CheckFailed(
            f"{each:.3g} divergent branches a warp, and {barriers:.3g} barriers at which all warps wait for each other; at "
            f"most {DIVERGENT_BRANCHES_A_WARP:g} such branches asked for, {BRANCHES_OF_WARPS_APART:g} of warps "
            f"apart. Most of them: {worst.line}: `{worst.text.strip()}`",
            line=worst.line,
        )
    if each > DIVERGENT_BRANCHES_A_WARP:
        return f"{each:.3g} divergent branches a warp, of warps apart: {barriers:.3g} barriers of the block."
    return f"{each:.3g} divergent branches a warp; at most {DIVERGENT_BRANCHES_A_WARP:g} asked for."


@check(points=1, after=("right_on_a_full_block",))
def shares_the_adding_out(attempt: Attempt) -> str:
    """Counted work: all threads of a warp have something to do for most of the time."""
    threads = expect_busy_lanes(attempt, counted(attempt), BLOCK)
    return f"{threads:.3g} threads an instruction; at least {THREADS_PER_INSTRUCTION:g} asked for."


def expect_busy_lanes(attempt: Attempt, run: Run, elements: int) -> float:
    """Fails the check where few lanes of a warp are at work, or many wait for each element; threads an instruction."""
    counters = run.counters
    threads = counters.threads_per_instruction
    idle = (_idle(counters) + _idle_at_atomics(run)) / elements  # whatever others do meanwhile
    alone = [each for each in run.lines if _is_for_few(each.counters)]
    lone = sum(each.counters.warp_instructions for each in alone) / elements
    attempt.record(
        threads_per_instruction=threads, limit=THREADS_PER_INSTRUCTION, idle_lanes_an_element=idle,
        steps_of_few_lanes_an_element=lone,
    )  # fmt: skip
    if threads < THREADS_PER_INSTRUCTION or idle > MOST_IDLE:
        worst = max(run.lines, key=lambda line: _idle(line.counters))
        raise CheckFailed(
            f"{threads:.3g} threads of 32 take part in an instruction on average, at least {THREADS_PER_INSTRUCTION:g} "
            f"asked for, and {idle:.3g} lanes wait for each element, of {MOST_IDLE:g} at most. Most idle: {worst.line}: "
            f"`{worst.text.strip()}`",
            line=worst.line,
        )
    if lone > LONE_STEPS:
        worst = max(alone, key=lambda line: line.counters.warp_instructions)
        raise CheckFailed(
            f"{lone * elements:,.0f} instructions of warps are on lines that fewer than {FEW_LANES} of their lanes go "
            f"through, for {elements:,} elements; {LONE_STEPS * elements:,.0f} at most. Most of them: {worst.line}: "
            f"`{worst.text.strip()}`",
            line=worst.line,
        )
    return threads


def _is_for_few(counters: Counters) -> bool:
    return counters.thread_instructions < FEW_LANES * counters.warp_instructions


def _idle(counters: Counters) -> int:
    """The lanes that wait while others of their warp execute, summed over instructions."""
    return 32 * counters.warp_instructions - counters.thread_instructions


def _idle_at_atomics(run: Run) -> int:
    """Those that wait for the other parts of an atomic update, which is counted as one instruction."""
    at_lines = (
        min(_idle(each.counters), 31 * (each.counters.shared_atomic_requests + each.counters.global_atomic_requests))
        for each in run.lines
    )
    return (PARTS_OF_AN_ATOMIC - 1) * sum(at_lines)


@check(points=1, after=("right_on_a_full_block",))
def meets_no_queues(attempt: Attempt) -> str:
    """Counted work: no lane of a warp waits for another at a bank or an element of shared memory."""
    run = counted(attempt)
    counters = run.counters
    # Nothing counts banks of atomic updates. One a warp adds the sums up; more of them read and store, a lane at a time.
    updates = max(0, counters.shared_atomic_requests - counters.warps)
    conflicts = counters.shared_load_bank_conflicts + counters.shared_store_bank_conflicts + updates
    requests = counters.shared_load_requests + counters.shared_store_requests + updates
    each = conflicts / max(1, min(requests, SHARED_REQUESTS))
    queue = max(counters.shared_atomic_worst_multiplicity, counters.global_atomic_worst_multiplicity)
    attempt.record(conflicts_per_shared_request=each, limit=CONFLICTS_PER_SHARED_REQUEST, longest_queue=queue)
    if each > CONFLICTS_PER_SHARED_REQUEST:
        worst = max(run.lines, key=lambda line: _waits_for_banks(line.counters))
        updated = f", {updates:,} atomic updates taken for one each" if updates else ""
        raise CheckFailed(
            f"{each:.3g} bank conflicts a shared request{updated}, at most {CONFLICTS_PER_SHARED_REQUEST:g} asked for. Most "
            f"of them: {worst.line}: `{worst.text.strip()}`",
            line=worst.line,
        )
    if queue > 1:
        raise CheckFailed(f"{queue} lanes of one warp add to one element at the same time, and take turns.")
    return f"{each:.3g} bank conflicts a shared request."


def _waits_for_banks(counters: Counters) -> int:
    return counters.shared_load_bank_conflicts + counters.shared_store_bank_conflicts + counters.shared_atomic_requests


@check(points=1, after=("right_on_a_full_block",))
def computes_in_float32(attempt: Attempt) -> None:
    """Counted work: sums are float32, and nothing is worked out in float64."""
    run = counted(attempt)
    doubles = run.counters.float64_operations
    attempt.record(float64_operations=doubles)
    if doubles:
        worst = max(run.lines, key=lambda each: each.counters.float64_operations)
        raise CheckFailed(
            f"{doubles:,} operations in float64, most of them here: {worst.line}: `{worst.text.strip()}`",
            hazards=[h for h in run.hazards if h.kind == "accidental_float64"],
            line=worst.line,
        )


# ---- part 3: many blocks ---------------------------------------------------------------------------------------------


@check(points=2, after=("right_when_elements_run_short",))
def right_with_many_blocks(attempt: Attempt) -> None:
    """Many blocks: each element is added once by some block, be there more threads than elements or far fewer."""
    for blocks, n in GRIDS:
        request = block_sums(attempt, blocks, BLOCK, n)
        run = attempt.simulate(request, may_fault=True)
        products.expect_none(hazards(run, UNSOUND))
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_sums(attempt, run, request)
        attempt.expect_inputs_unchanged(run)


@check(points=1, after=("right_with_many_blocks",))
def loads_whole_lines(attempt: Attempt) -> str:
    """Many blocks: consecutive threads load consecutive elements, also when each has several to load."""
    run = counted(attempt, STRETCH[0], BLOCK, STRETCH[1])
    expect_loads(run, STRETCH[1])
    return expect_coalesced(attempt, run, STRETCH[1], SECTORS_PER_LOAD_REQUEST, "neighbours need 4")


@check(points=2, after=("right_with_many_blocks",))
def combines_every_block(attempt: Attempt) -> None:
    """Many blocks: the GPU makes one total of the blocks' sums; no update is lost, and no leftover value is used."""
    for name, make in (("many", lambda by: whole_sum(by, MANY)), ("many more", many_more)):
        trial = attempt.once(name, make, may_fault=True)
        products.expect_none(hazards(trial.run, UNSOUND))
        if trial.run.fault is not None:
            raise CheckFailed(str(trial.run.fault))
        expect_exactly(attempt, trial.run, trial.run.outputs["total"], exact(trial.request), "total")


@check(points=1, after=("combines_every_block",))
def leaves_the_host_out(attempt: Attempt) -> None:
    """Many blocks: the host launches kernels and nothing else: it copies no number, and makes no array of its own."""
    for name, make in (("many", lambda by: whole_sum(by, MANY)), ("many more", many_more)):
        expect_no_transfers(attempt.once(name, make).run)


@check(points=2, after=("combines_every_block",))
def right_for_every_size(attempt: Attempt) -> None:
    """Many blocks: any number of elements is added up right, down to one; the elements are only read."""
    for n in SIZES:
        request = whole_sum(attempt, n)
        run = attempt.run(request)
        expect_exactly(attempt, run, run.outputs["total"], exact(request), "total")
        expect_kernels_read(run, request)
        attempt.expect_inputs_unchanged(run)
        products.expect_none(hazards(run, OUTSIDE))


@check(points=1, after=("right_for_every_size",))
def loses_no_small_numbers(attempt: Attempt) -> None:
    """Many blocks: a hundred thousand small numbers are not lost on a sum that has grown large."""
    for _ in range(SMALL_DRAWS):
        request = _sum_of(small_numbers(attempt, attempt.drawn(*MANY_SMALL)))
        run = attempt.run(request)
        expect_total(attempt, request, run.outputs["total"])
        expect_kernels_read(run, request)
    if "block_sums_kernel" not in attempt.unusable:  # whose own checks say so, and have its points
        alone = block_sums(attempt, *FRACTIONS, quarters=True)  # another kernel may have made the total
        expect_sums(attempt, attempt.run(alone), alone)


# ---- part 4: speed ---------------------------------------------------------------------------------------------------


BEFORE_SPEED = (
    "loses_no_small_numbers", "leaves_the_host_out", "loads_whole_lines", "meets_no_queues", "computes_in_float32",
)  # fmt: skip


def expect_right_when_timed(attempt: Attempt) -> None:
    """Carries out whole what was timed by two sampled blocks: speed counts where the sum is right and all blocks work alike.

    For answers that run on a real GPU, too, this is where something shows that depends on the order of blocks.
    """
    assert attempt.compared is not None  # by `speedup`, just before
    with counting_for_nothing(attempt):
        run, request = carried_out_whole(attempt, attempt.compared.requests[0], unchanged=("values",))
        products.expect_none(hazards(run, UNSOUND))
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        expect_total(attempt, request, run.outputs["total"])
        expect_no_transfers(run)
        expect_like_its_sample(run, attempt.comparison.sampled)


@check(points=3, after=BEFORE_SPEED)
def faster_than_the_first_idea(attempt: Attempt) -> str:
    """Speed: it is clearly faster than a tree of one element a thread."""
    sample = attempt.sample(SPEED_BLOCKS_SIMULATED)
    n = attempt.drawn(*SPEED_SIZE)
    try:
        line = attempt.speedup(
            lambda: replace(whole_sum(attempt, n, real=True), work_limit=SPEED_WORK_LIMIT, **sample),
            threshold=SPEEDUP, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN, launches_only=True,
        )  # fmt: skip
    except CheckFailed:
        if attempt.fraction:
            expect_right_when_timed(attempt)
        raise
    expect_right_when_timed(attempt)
    return line


# ---- bonus: shuffles -------------------------------------------------------------------------------------------------


@check(points=3, after=("faster_than_the_first_idea",), bonus=True)
def waits_less_often(attempt: Attempt) -> str:
    """Bonus: the lanes of a warp exchange their sums without a barrier for the whole block."""
    run = counted(attempt, 1, 1024, 1024)
    try:  # who waits at no barrier because one thread does it all exchanges nothing
        expect_busy_lanes(attempt, counted(attempt), BLOCK)
        expect_busy_lanes(attempt, run, 1024)
    except CheckFailed as failure:
        failure.earned = 0
        raise
    barriers = run.counters.barriers / run.counters.warps
    attempt.record(barriers_per_warp=barriers, limit=BONUS_BARRIERS)
    attempt.award((BARRIERS_WITHOUT_BONUS - barriers) / (BARRIERS_WITHOUT_BONUS - BARRIERS_OF_FULL_BONUS))
    line = f"Barriers in a block of 1,024: {barriers:.3g}; at most {BONUS_BARRIERS:g} asked for"
    if barriers > BONUS_BARRIERS:
        raise CheckFailed(f"{line}.", earned=0)
    return f"{line}, and {BARRIERS_OF_FULL_BONUS:g} for all points."
