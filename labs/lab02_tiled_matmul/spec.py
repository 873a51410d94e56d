"""Lab 2, tiles in shared memory: START HERE to see what is asked for. Thresholds first, then the checks by part.

Whatever depends on the order of threads is judged on the simulated GPU, also where there is a real one: a missing
barrier gives right results there on one day and wrong ones on the next. No check that needs a real GPU comes before.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check, products
from autograder.grading.attempt import Place, Trial
from autograder.grading.conflicts import bank_conflicts, shared_requests
from autograder.grading.trials import errors_in
from autograder.records.counters import Counters
from autograder.records.runs import Run, RunRequest, Uninitialised

# One thread an element loads two numbers for each multiply-add. A block that computes side x side elements of C from
# tiles needs 2 / side of them, so the loads shrink by `side`: 16 for tiles of 16 (an H200's counters at N = 256: 65,536
# requests in place of 1,048,576). Asked for: three quarters of that, which rectangles of 1 : 4 still reach, as if no
# tile were larger than 16; and no tile may be smaller than 8.
SHARE_OF_THE_POSSIBLE = 0.75
LARGEST_SIDE_ASKED_FOR = 16
SMALLEST_SIDE = 8

# A warp that fills tiles row by row moves 128 bytes in 4 sectors, whether the tile is 8, 16 or 32 wide. Down the columns
# of one matrix it is 10 on average with tiles of 16, of both 16; with tiles of 8, 6 and 8.
SECTORS_PER_LOAD_REQUEST = 5.0
SECTORS_OF_WHOLE_ROWS = 4.0

# Bank conflicts (wavefronts beyond the least needed) per shared request. Rows of tiles meet none. A tile read down its
# columns meets 3.5 and more; a pad that shifts half of a warp's stores onto the other half meets one per store, which
# is a sixteenth of all requests.
CONFLICTS_PER_SHARED_REQUEST = 0.75

# The baseline is lab 1's answer with a `while`: on an H200 it waits for what it loads, and L1 comes next (lesson 2b),
# which is what tiles save. A `for` over a range in its place is a third as fast: its price is no part of what tiles
# gain. On an H200 tiles of 16 and 32 were 1.6 to 1.9 times as fast however their loops were spelled, 1.42 where a
# needless pad keeps the compiler from reading four numbers at once (padded_tiles). An inner loop of no constant
# length gave 1.26 at most (inner_loop_is_a_while), tiles of 8 gave 1.17. By prediction: 1.43 (padded_tiles) against
# 1.10 (tiles_of_8). All ratios and verdicts: solutions/lab02_tiled_matmul/calibration/verdicts.md. The sides are
# multiples of 32, one of them a power of two. Between 1,000 and 1,048, at sides that 16 does not divide, padded_tiles
# had 1.40 and inner_loop_is_a_while 1.26, but predictions are less sure there (padded_tiles 1.31).
SPEEDUP = 1.32
NO_POINTS_AT = 1.0
SPEED_SIDES = (992, 1056, 32)  # rows and columns of the matrices whose products are timed, as the seed draws them
BEST_KNOWN = 2.85  # the ratio of the best known answer
SPEED_BLOCKS_SIMULATED = 32

# A thread that keeps several sums in registers uses each number from shared memory for several of them: two numbers
# a multiply-add with one output a thread, 1.25 with four in a column (2.9 times the baseline on that H200), 0.5 with 4 x 4
# (1.9 times, at a side that gives its large tiles too few blocks).
LOADS_WITHOUT_BONUS = 2.0
BONUS_SHARED_LOADS = 1.5
LOADS_OF_FULL_BONUS = 0.6
LOADS_FOR_TILES = 2 / (SHARE_OF_THE_POSSIBLE * SMALLEST_SIDE)  # from global memory, as many as part 3 allows at most

# Units of simulated work in one run, several times what a right answer needs: what a loop without end gets.
WORK_LIMIT = 60_000_000
SPEED_WORK_LIMIT = 400_000_000
MOST_THREADS_AN_ELEMENT = 16  # in a large product: a real GPU carries them all out, and the simulated one does not

WHOLE = (64, 64, 64)  # m, k, n: whole tiles of 8, 16, 32 and 64
PHASES = (32, 96, 32)  # several phases of every tile up to 32
SHORT = (37, 5, 41)  # one phase, whose tiles stick out on all sides
RAGGED = ((47, 53, 37), (41, 43, 67))  # primes: no tile divides them; one tall, one wide
LONG = (24, 600, 20)  # no block has room in shared memory for rows that long
TINY = ((1, 1, 1), (1, 9, 1), (7, 1, 2))
JUST_OVER = (35, 34, 37)  # few rows and columns in the last tiles: a thread's further elements lie outside
REAL = (70, 90, 110)
LARGE = (1040, 8, 260)  # more than 1,024 rows
COUNTED = (64, 96, 32)  # rows and columns, as the seed draws them
COUNTED_IN_LARGE_TILES = (128, (96, 160, 32), 128)  # whole blocks also where a block computes 128 x 128 elements
OUTSIDE = ("out_of_bounds", "negative_index")


def product(attempt: Attempt, m: int, k: int, n: int, *, real: bool = False) -> RunRequest:
    """A call of the submission's `matmul_tiled` on an (m, k) and a (k, n) matrix of whole or real numbers."""
    return products.product(attempt, "matmul_tiled", m, k, n, real=real, work_limit=WORK_LIMIT)


def multiplied(
    attempt: Attempt, shape: tuple[int, int, int], *, on: Place = "simulated", may_fault: bool = False
) -> Trial:
    """A product of this shape, run once for all checks that look at it: of whole numbers, long sums of real ones."""
    real = shape in (REAL, LARGE, LONG)
    return attempt.once(f"product {shape}", lambda each: product(each, *shape, real=real), on=on, may_fault=may_fault)


def expect_threads_with_elements(run: Run, shape: tuple[int, int, int]) -> None:
    """Fails the check where nearly all threads that were launched have nothing to compute, or where the run was ended."""
    threads = sum(math.prod(each.grid) * math.prod(each.block) for each in run.launches)
    if threads > MOST_THREADS_AN_ELEMENT * shape[0] * shape[2]:
        raise CheckFailed(
            f"{threads:,} threads are launched for {shape[0]:,} x {shape[2]:,} elements: nearly all have none."
        )
    if run.fault is not None:
        raise CheckFailed(str(run.fault), hazards=errors_in(run))


def counted(attempt: Attempt) -> Run:
    """The product whose work is looked at, of a size that the seed draws."""

    def make(by: Attempt) -> RunRequest:
        side = by.drawn(*COUNTED)
        return product(by, side, side, side)

    return attempt.counted(attempt.once("counted product", make))


def multiply_adds(run: Run) -> int:
    """That its product takes."""
    (m, k), n = run.outputs["a"].shape, run.outputs["b"].shape[1]
    return int(m * k * n)


def asking(counters: Counters) -> int:
    """How often warps ask global memory for numbers: an atomic update gives what was there, as a load does."""
    return counters.global_load_requests + counters.global_atomic_requests


def profiled_product(rng: np.random.Generator) -> RunRequest:
    """The product whose counted work the report shows by source line."""
    a, b = (rng.uniform(-1, 1, (64, 64)).astype(np.float32) for _ in range(2))
    arguments = {"a": a, "b": b, "c": Uninitialised((64, 64), np.float32)}
    return RunRequest("matmul_tiled", arguments, work_limit=WORK_LIMIT)


LAB = Lab(
    title="Tiles in shared memory: the matrix product again",
    lesson="02b_what_a_tile_saves",
    hours=4,
    required=(
        Required("matmul_tiled_kernel", "kernel"),
        Required("matmul_tiled", "host", ("a", "b", "c")),
    ),
    results={"matmul_tiled": products.verify},
    baseline="baseline.py",
    profile=profiled_product,
    seconds_per_run=60,  # many sums a thread are many statements: seconds of simulation
)


# ---- part 1: whole tiles ---------------------------------------------------------------------------------------------


@check(points=2)
def right_on_whole_tiles(attempt: Attempt) -> None:
    """Whole tiles: square matrices that the tiles divide are multiplied right."""
    trial = multiplied(attempt, WHOLE)
    products.expect_product(attempt, trial.request, trial.run.outputs["c"])


@check(points=3, after=("right_on_whole_tiles",))
def waits_at_both_barriers(attempt: Attempt) -> None:
    """Whole tiles: no thread reads a tile that others are still filling, or fills one that others still read."""
    for shape in (WHOLE, PHASES):
        run = multiplied(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind == "race" and h.severity == "error")


# ---- part 2: ragged edges --------------------------------------------------------------------------------------------


@check(points=2, after=("waits_at_both_barriers",))
def stays_inside_its_arrays(attempt: Attempt) -> None:
    """Ragged edges: no thread reads or writes outside an array, in global or in shared memory."""
    for shape in (*RAGGED, LONG, JUST_OVER, *TINY):  # a thread's further elements begin outside in one or the other
        run = multiplied(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind in OUTSIDE)


@check(points=1, after=("waits_at_both_barriers",))
def brings_every_thread_to_its_barriers(attempt: Attempt) -> None:
    """Ragged edges: where one thread of a block waits at a barrier, all that have not returned come there too."""
    for shape in (SHORT, *RAGGED):
        run = multiplied(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind == "divergent_barrier")


@check(points=1, after=("stays_inside_its_arrays", "brings_every_thread_to_its_barriers"))
def fills_its_tiles_to_the_edge(attempt: Attempt) -> None:
    """Ragged edges: nothing that a sum takes from a tile was left unwritten there."""
    trial = multiplied(attempt, SHORT)
    run = trial.run
    unwritten = [h for h in run.hazards if h.kind == "uninitialised_read"]
    try:
        products.expect_product(attempt, trial.request, run.outputs["c"])
    except CheckFailed as wrong:  # what was read unwritten and not used does no harm
        if unwritten:
            raise CheckFailed(str(unwritten[0]), hazards=unwritten, mismatches=wrong.mismatches) from None


@check(points=2, after=("fills_its_tiles_to_the_edge",))
def right_on_ragged_matrices(attempt: Attempt) -> None:
    """Ragged edges: sizes that no tile divides come out right, down to one element; each is written by one thread."""
    for shape in (*RAGGED, *TINY):
        trial = multiplied(attempt, shape, on="device")
        products.expect_product(attempt, trial.request, trial.run.outputs["c"])
        attempt.expect_inputs_unchanged(trial.run)
    for shape in RAGGED:  # threads to spare may do what others do: the same numbers, stored twice
        run = multiplied(attempt, shape).run
        products.expect_none(h for h in run.hazards if h.kind == "race" and h.array == "c" and h.severity == "error")


@check(points=1, after=("right_on_ragged_matrices",))
def right_on_larger_products(attempt: Attempt) -> None:
    """Ragged edges: real numbers are as exact as float32 sums can be, also with many rows or long sums."""
    for shape in (REAL, LARGE, LONG):
        trial = multiplied(attempt, shape, on="device", may_fault=shape == LARGE)
        if shape == LARGE:
            expect_threads_with_elements(trial.run, shape)
        products.expect_product(attempt, trial.request, trial.run.outputs["c"])


# ---- part 3: counted loads -------------------------------------------------------------------------------------------


@check(points=2, after=("waits_at_both_barriers",))
def loads_each_tile_once(attempt: Attempt) -> str:
    """Counted loads: global memory is asked for each element of a tile once, not once for every use."""
    run = counted(attempt)
    blocks, (m, n) = run.counters.blocks, run.outputs["c"].shape
    fewer, asked = fewer_requests(run)
    attempt.record(fewer_load_requests=fewer, limit=asked, elements_a_block=m * n / max(1, blocks))
    if fewer < asked:
        raise CheckFailed(
            f"{asking(run.counters):,} load requests, where a product without tiles has {without_tiles(run):,}; "
            f"at most {without_tiles(run) / asked:,.0f} asked for."
        )
    return f"{fewer:.3g} times fewer load requests than without tiles; at least {asked:.3g} asked for."


def fewer_requests(run: Run) -> tuple[float, float]:
    """How many times fewer load requests there are than without tiles, and how many are asked for."""
    requests, blocks, (m, n) = asking(run.counters), run.counters.blocks, run.outputs["c"].shape
    side = math.sqrt(m * n / blocks) if blocks else 0.0
    asked = SHARE_OF_THE_POSSIBLE * min(max(side, SMALLEST_SIDE), LARGEST_SIDE_ASKED_FOR)
    return (without_tiles(run) / requests if requests else 0.0), asked


def without_tiles(run: Run) -> int:
    """Load requests of warps whose threads load both factors of each product from global memory."""
    return 2 * multiply_adds(run) // 32


@check(points=1, after=("waits_at_both_barriers",))
def fills_its_tiles_row_by_row(attempt: Attempt) -> str:
    """Counted loads: consecutive threads load consecutive elements of a row, of A as of B."""
    run = counted(attempt)
    counters, (fewer, asked) = run.counters, fewer_requests(run)
    sectors = counters.global_load_sectors_per_request
    if fewer >= asked:  # room for requests that all lanes make for one number, beside those that fill the tiles
        sectors = 128 * counters.global_load_sectors / max(1, counters.global_load_useful_bytes)  # of 32 numbers
    attempt.record(sectors_per_load_request=sectors, limit=SECTORS_PER_LOAD_REQUEST)
    if sectors > SECTORS_PER_LOAD_REQUEST:
        worst = max(run.lines, key=lambda each: each.counters.global_load_sectors_per_request)
        raise CheckFailed(
            f"A load request moves {sectors:.3g} sectors; whole rows need {SECTORS_OF_WHOLE_ROWS:g}. Most scattered: "
            f"{worst.line}: `{worst.text.strip()}`",
            line=worst.line,
        )
    return f"{sectors:.3g} sectors a load request; at most {SECTORS_PER_LOAD_REQUEST:g} asked for."


@check(points=1, after=("waits_at_both_barriers",))
def meets_no_bank_conflicts(attempt: Attempt) -> str:
    """Counted loads: the lanes of a warp find their shared elements in different banks."""
    run = counted(attempt)
    counters = run.counters
    requests = min(shared_requests(counters), 2 * multiply_adds(run) // 32)  # who asks more often waits no less
    each = bank_conflicts(counters) / max(1, requests)
    attempt.record(conflicts_per_shared_request=each, limit=CONFLICTS_PER_SHARED_REQUEST)
    if each > CONFLICTS_PER_SHARED_REQUEST:
        worst = max(run.lines, key=lambda line: line.counters.shared_load_bank_conflicts)
        raise CheckFailed(
            f"{each:.3g} bank conflicts a shared request, at most {CONFLICTS_PER_SHARED_REQUEST:g} asked for. Most of "
            f"them: {worst.line}: `{worst.text.strip()}`",
            line=worst.line,
        )
    return f"{each:.3g} bank conflicts a shared request."


@check(points=1, after=("waits_at_both_barriers",))
def computes_in_float32(attempt: Attempt) -> None:
    """Counted loads: tiles and sums hold float32, and nothing is worked out in float64."""
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


# ---- part 4: speed ---------------------------------------------------------------------------------------------------

COUNTED_LOADS = (
    "loads_each_tile_once", "fills_its_tiles_row_by_row", "meets_no_bank_conflicts", "computes_in_float32",
)  # fmt: skip


@check(points=3, after=("right_on_larger_products", *COUNTED_LOADS))
def faster_than_one_thread_an_element(attempt: Attempt) -> str:
    """Speed: it is clearly faster than lab 1's kernel, which has no tiles and a loop of few instructions."""
    m, k, n = (attempt.drawn(*SPEED_SIDES) for _ in range(3))
    sample = attempt.sample(SPEED_BLOCKS_SIMULATED)
    return attempt.speedup(
        lambda: replace(product(attempt, m, k, n, real=True), work_limit=SPEED_WORK_LIMIT, **sample),
        threshold=SPEEDUP, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN, element_by_element=True,
    )  # fmt: skip


# ---- bonus: several outputs a thread ---------------------------------------------------------------------------------


def float32s_loaded(attempt: Attempt, request: RunRequest, run: Run) -> float:
    """Loads from shared memory, each of them as often as a float32 fits into its element: who packs two numbers into one
    loads half as often, and uses each of the numbers once all the same. One block shows which arrays a line looks at."""
    loads = 0.0
    for each in run.lines:
        if each.counters.shared_load_requests:
            shown = attempt.trace(replace(request, traced_line=each.line, sample_blocks=1)).accesses
            sizes = [access.itemsize for access in shown if (access.kind, access.space) == ("load", "shared")]
            loads += each.counters.shared_load_requests * max(1.0, sum(sizes) / (4 * max(1, len(sizes))))
    return loads


@check(points=4, after=("faster_than_one_thread_an_element",), bonus=True)
def uses_shared_numbers_more_than_once(attempt: Attempt) -> str:
    """Bonus: a thread keeps several sums, and uses what it reads from shared memory for several of them."""
    m, k, n = COUNTED_IN_LARGE_TILES
    request = product(attempt, m, attempt.drawn(*k), n)
    run = attempt.counted(request)
    counters = run.counters
    fetched = counters.shared_atomic_requests + counters.shuffles  # each for one use
    loaded = float32s_loaded(attempt, request, run)
    loads = 32 * (fetched + loaded) / multiply_adds(run)
    # What is fetched from global memory for each use, and not once for a tile, is no better than from shared memory.
    loads += max(0.0, 32 * asking(counters) / multiply_adds(run) - LOADS_FOR_TILES)
    attempt.record(shared_loads_per_multiply_add=loads, limit=BONUS_SHARED_LOADS)
    attempt.award((LOADS_WITHOUT_BONUS - loads) / (LOADS_WITHOUT_BONUS - LOADS_OF_FULL_BONUS))
    wide = ", counting one of an element of 8 bytes as two" if loaded > counters.shared_load_requests else ""
    line = f"{loads:.3g} shared loads for each multiply-add{wide}; at most {BONUS_SHARED_LOADS:g} asked for"
    if loads > BONUS_SHARED_LOADS:
        raise CheckFailed(f"{line}.", earned=0)
    return f"{line}, and {LOADS_OF_FULL_BONUS:g} for all points."
