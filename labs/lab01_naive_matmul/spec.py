"""Lab 1, one thread an element: START HERE to see what is asked for. Thresholds first, then the checks, then the hints.

The checks that look for slips with indices use small whole numbers above zero, whose products and sums are exact in
float32: every missing or surplus term shows, and a wrong element can be worked out on paper. Rounding is judged once,
in `right_on_a_larger_product`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check, products, verified
from autograder.grading.attempt import Place, Trial
from autograder.grading.coalescing import expect_coalesced
from autograder.records.runs import Run, RunRequest, Sample, Uninitialised

# A warp that reads 32 neighbouring float32 moves 128 bytes: 4 sectors a request. The right mapping needs 2 to 2.5 with
# blocks 8 to 32 threads wide (one of A's sectors a row, the rest of B's); x mapped to rows needs 4.5, 8.5 or 16.5 with
# blocks of 8x8, 16x16 or 32x32 (the last two equal to an H200's hardware counters at N = 256).
SECTORS_PER_LOAD_REQUEST = 4.0
SECTORS_OF_THE_RIGHT_MAPPING = 2.5

# Speed is asked for twice. The baseline maps x to rows in blocks of 32x32, with a `while`, so that L1's passes hold
# it up and no instructions do (lesson 1b). What its passes cost depends on the length of A's rows.
#
# First where that length is a multiple of 32: rows begin in one bank, a load of A takes 32 passes, and the mapping
# decides. On an H200 x mapped to rows was 1.0 (a warp 32 rows high) and 1.8 to 1.95 times as fast (16 rows high); the
# slowest right answers 2.4 and 2.5 (grid_stride_loop, flat_launch_with_divmod), whose `for` over a range holds them
# up, and a `while` 6.5 to 9.7. At 8 rows high x mapped to rows costs sectors and no time: walks_along_the_rows_of_b
# finds it. By prediction: 1.9 at most against 2.7 (grid_stride_loop).
SPEEDUP = 2.1
NO_POINTS_AT = 1.5
SPEED_SIDES = (992, 1056, 32)  # rows and columns of the matrices whose products are timed, as the seed draws them
BEST_KNOWN = 14.3  # the ratio of the best known answer

# Then, for a bonus, where rows begin in four banks and a load of A takes 8 passes. There a `for` over a range takes
# as long with either mapping: 31 to 40 instructions a multiply-add, where a `while` has 7.5, and nothing of the right
# mapping is to be seen. On the H200 the slowest `while` was 2.24 times as fast as the baseline (while_over_the_grid),
# the fastest `for` 1.39 (range_of_unsigned_length), x mapped to rows 16 rows high with a `while` 1.62. By prediction,
# whose time for the baseline is a third too short here: 2.35 (while_loop) against 1.22
# (range_of_unsigned_length) and 1.72. A bonus, since a right mapping with a `for` is what this lab asks for: it earns
# full marks, and is told of its instructions.
OTHER_SPEEDUP = 2.0
OTHER_NO_POINTS_AT = 1.4
OTHER_SIDES = (1000, 1048, 16)  # 8 or 24 more than a multiple of 32
OTHER_BEST_KNOWN = 5.2
SPEED_BLOCKS_SIMULATED = 16
SURPLUS_THREADS = 1.25  # threads an element beyond which the sampled blocks are chosen, and not only drawn
DRAWS = 24  # of such a sample, until one is CLOSE_ENOUGH; else the best of them counts
CLOSE_ENOUGH = 0.03  # what its blocks write, scaled up to the whole grid, against all of C

# One element a thread loads two numbers for each multiply-add. Two elements of one row or column need 1.5, four in a row
# 1.25, two by two 1.
BONUS_LOADS = 1.5

# Units of simulated work in one run, several times what a right answer needs: what a loop without end gets.
WORK_LIMIT = 20_000_000
SPEED_WORK_LIMIT = 120_000_000
MOST_ELEMENTS_A_THREAD = 32
MOST_THREADS_AN_ELEMENT = 16  # where speed is judged: few sampled blocks do not show how many others are idle
MOST_EXTRA_WORK = 10.0  # operations counted over the 2 m k n that the product takes; a tile's edge may be wasted
LEAST_WORK = 0.02  # of those operations: below, there is nothing to see of how the work is done

# m, k, n: whole blocks of 8, 16 or 32 threads; rows start at sectors, so that counts are those of the pattern alone.
SQUARE = (32, 32, 32)
COUNTED_SIDE = (96, 128, 32)  # six blocks of 16 and more: columns dealt out over them lie far apart
SMALL = (32, 8, 32)
LONG = (16, 72, 16)  # more terms than two tiles of 32
RAGGED = ((47, 53, 37), (41, 43, 67))  # primes: no block size divides them; one tall, one wide
TINY = ((1, 1, 1), (1, 5, 1), (7, 1, 1), (1, 1, 9))
REAL = (70, 90, 110)
LARGE = (1040, 8, 260)  # more rows than the 1,008 threads of 63 blocks of 16; more than 1,024 blocks of 16x16
# No launch of fixed size reaches both ends with fewer than 25 million threads, which are too many where speed is judged.
LONG_SIDES = ((8, 1, 5000), (5000, 1, 8))
SHARED_OUT = (48, 8, 48)  # with one thread a row, each has more than MOST_ELEMENTS_A_THREAD
OUTSIDE_HAZARDS = ("out_of_bounds", "negative_index")
ORDER_HAZARDS = ("race", "uninitialised_read", "divergent_barrier")
WIDE = (128, 32, 128)  # whole blocks also where a thread has several elements


def product(attempt: Attempt, m: int, k: int, n: int, *, real: bool = False, function: str = "matmul") -> RunRequest:
    """A call of the submission's `matmul` on an (m, k) and a (k, n) matrix of whole or real numbers."""
    return products.product(attempt, function, m, k, n, real=real, work_limit=WORK_LIMIT)


def ragged(attempt: Attempt, shape: tuple[int, int, int], *, on: Place = "simulated", may_fault: bool = False) -> Trial:
    """A product of this shape, run once for all checks that look at it."""
    return attempt.once(f"product {shape}", lambda each: product(each, *shape), on=on, may_fault=may_fault)


def counted_product(attempt: Attempt) -> Run:
    """The product whose loads are counted: square and of whole blocks, so that no other mistake is in the way."""
    side = attempt.drawn(*COUNTED_SIDE)
    return attempt.counted(product(attempt, side, side, side))


def expect_right_products(attempt: Attempt, *shapes: tuple[int, int, int], real: bool = False) -> None:
    for shape in shapes:
        request = product(attempt, *shape, real=real)
        products.expect_product(attempt, request, attempt.run(request).outputs["c"])


def expect_work(attempt: Attempt, run: Run, m: int, k: int, n: int) -> None:
    """Fails the check where the kernels left most of the product out, so that no slip could show."""
    needed = 2 * m * k * n
    attempt.expect_some_work(run, LEAST_WORK * needed, f"a product of {m}x{k} and {k}x{n} needs {needed:,}")


def typical_sample(attempt: Attempt, shape: tuple[int, int], drawn: Sample, surplus: float) -> Sample:
    """A sample of blocks among which as large a share has elements as in the whole grid, `surplus` times what it takes.

    Where many blocks are idle, a few drawn by chance say more of the draw than of the kernel. What they write shows how
    many of them work, and takes no time to find out where each sum has one term.
    """
    request = product(attempt, shape[0], 1, shape[1])
    counts = range(2 * drawn["sample_blocks"], drawn["sample_blocks"] - 1, -1)
    count = min(counts, key=lambda each: abs(round(each / surplus) * surplus / each - 1))  # a whole number works
    found: list[tuple[float, int]] = []
    for seed in range(drawn["sample_seed"], drawn["sample_seed"] + DRAWS):
        run = attempt.simulate(replace(request, sample_blocks=count, sample_seed=seed), may_fault=True)
        found.append((abs(1 - run.covered.get("c", 0.0)), seed))
        if found[-1][0] < CLOSE_ENOUGH:
            break
    return {"sample_blocks": count, "sample_seed": min(found)[1]}


def timed(
    attempt: Attempt, sides: tuple[int, int, int], *, threshold: float, no_points_at: float, best_known: float
) -> str:
    """Fails the check unless `matmul` is `threshold` times as fast as the baseline, on matrices with `sides` for `drawn`."""
    m, k, n = (attempt.drawn(*sides) for _ in range(3))
    one_block = replace(product(attempt, m, k, n, real=True), work_limit=SPEED_WORK_LIMIT, sample_blocks=1)
    sample = attempt.sample(SPEED_BLOCKS_SIMULATED)
    launches = attempt.simulate(one_block, may_fault=True).launches  # host code may read what one block cannot write
    threads = sum(int(np.prod(each.grid) * np.prod(each.block)) for each in launches)
    if threads > MOST_THREADS_AN_ELEMENT * m * n:
        raise CheckFailed(f"{threads:,} threads are launched for {m * n:,} elements: nearly all have none.")
    if attempt.source == "simulated" and threads > SURPLUS_THREADS * m * n:
        sample = typical_sample(attempt, (m, n), sample, threads / (m * n))
    attempt.forget_runs()  # hints look at a smaller product
    return attempt.speedup(
        lambda: replace(product(attempt, m, k, n, real=True), work_limit=SPEED_WORK_LIMIT, **sample),
        threshold=threshold, no_points_at=no_points_at, best_known=best_known, element_by_element=True,
    )  # fmt: skip


def profiled_product(rng: np.random.Generator) -> RunRequest:
    """The product whose counted work the report shows by source line."""
    m, k, n = SQUARE
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    return RunRequest("matmul", {"a": a, "b": b, "c": Uninitialised((m, n), np.float32)}, work_limit=WORK_LIMIT)


LAB = Lab(
    title="One thread, one element: the naive matrix product",
    lesson="01b_what_holds_it_up",
    hours=2,
    required=(Required("matmul_kernel", "kernel"), Required("matmul", "host", ("a", "b", "c"))),
    results={"matmul": products.verify, "matmul_several": products.verify},
    baseline="baseline.py",
    profile=profiled_product,
)


@check(points=2)
def right_on_square_matrices(attempt: Attempt) -> None:
    """Square matrices of whole blocks are multiplied right."""
    expect_right_products(attempt, SQUARE)


@check(points=1, after=("right_on_square_matrices",))
def works_in_any_order(attempt: Attempt) -> None:
    """The result depends neither on which thread comes first nor on what memory held before."""
    for shape in (SMALL, LONG):
        run = attempt.simulate(product(attempt, *shape), may_fault=True)
        products.expect_none(h for h in run.hazards if h.kind in ORDER_HAZARDS and h.severity == "error")
    expect_work(attempt, run, *LONG)
    for shape in RAGGED:  # only here does every block shape have threads without an element, which may miss a barrier
        run = ragged(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind == "divergent_barrier")


@check(points=1, after=("right_on_square_matrices",))
def shares_out_the_work(attempt: Attempt) -> None:
    """Each element is computed once, and many threads share in them."""
    m, k, n = SHARED_OUT
    run = ragged(attempt, SHARED_OUT).run  # its result is judged with those of other sizes
    expect_work(attempt, run, m, k, n)
    threads = sum(int(np.prod(each.grid) * np.prod(each.block)) for each in run.launches)
    attempt.record(elements_a_thread=m * n / threads)
    if m * n / threads > MOST_ELEMENTS_A_THREAD:
        few = "1 thread shares" if threads == 1 else f"{threads} threads share"
        raise CheckFailed(f"Only {few} in {m * n:,} elements; a GPU has thousands.")
    share = 2 * k * MOST_ELEMENTS_A_THREAD
    verified.expect_no_busier_warp(run, share, f"{MOST_ELEMENTS_A_THREAD} elements a thread take {share:,}.")
    attempt.expect_no_more_work(run, MOST_EXTRA_WORK, 2 * m * k * n, "the product needs")


@check(points=3, after=("works_in_any_order", "shares_out_the_work"))
def stays_inside_its_arrays(attempt: Attempt) -> None:
    """No thread reads or writes outside its arrays, whatever their sizes."""
    for shape in RAGGED:
        run = ragged(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind in OUTSIDE_HAZARDS)
        expect_work(attempt, run, *shape)


@check(points=2, after=("stays_inside_its_arrays",))
def writes_every_element(attempt: Attempt) -> None:
    """Every element of C is written, to the last row and column, and each by one thread."""
    for shape in RAGGED:
        attempt.expect_every_element_written(ragged(attempt, shape, on="device").run, "c")
    for shape in RAGGED:  # only here does every block shape have threads to spare, which may do what others do
        run = ragged(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind == "race" and h.array == "c" and h.severity == "error")


@check(points=1, after=("right_on_square_matrices",))
def leaves_its_inputs_alone(attempt: Attempt) -> None:
    """A and B are the same afterwards as before."""
    run = attempt.run(product(attempt, *SMALL))
    attempt.expect_inputs_unchanged(run)


@check(points=2, after=("writes_every_element",))
def right_on_ragged_matrices(attempt: Attempt) -> None:
    """Matrices that are not square, and that no block size divides, are multiplied right."""
    for shape in (*RAGGED, SHARED_OUT):
        trial = ragged(attempt, shape, on="device")
        products.expect_product(attempt, trial.request, trial.run.outputs["c"])


@check(points=1, after=("writes_every_element",))
def right_on_tiny_matrices(attempt: Attempt) -> None:
    """Matrices down to one row, one column and one element are multiplied right."""
    expect_right_products(attempt, *TINY)


@check(points=2, after=("right_on_ragged_matrices",))
def right_on_a_larger_product(attempt: Attempt) -> None:
    """Real numbers come out as exact as float32 sums can be, also in a matrix with more than a thousand rows."""
    expect_right_products(attempt, REAL, LARGE, *LONG_SIDES, real=True)


@check(points=2, after=("shares_out_the_work",))
def walks_along_the_rows_of_b(attempt: Attempt) -> str:
    """Consecutive threads walk along a row of B, so that a load request moves few sectors."""
    run = counted_product(attempt)
    (m, k), n = run.outputs["a"].shape, run.outputs["b"].shape[1]
    expect_work(attempt, run, m, k, n)
    need = f"threads that walk along the rows of B need {SECTORS_OF_THE_RIGHT_MAPPING:.3g}"
    return expect_coalesced(attempt, run, 2 * m * k * n, SECTORS_PER_LOAD_REQUEST, need)


@check(points=3, after=("right_on_a_larger_product",))
def faster_than_the_baseline(attempt: Attempt) -> str:
    """It is clearly faster than the lab's baseline, whose consecutive threads read down a column of A."""
    return timed(attempt, SPEED_SIDES, threshold=SPEEDUP, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN)


@check(points=1, after=("faster_than_the_baseline", "walks_along_the_rows_of_b"), bonus=True)
def faster_at_other_sizes_too(attempt: Attempt) -> str:
    """Bonus: it is clearly faster also where rows lie in different banks, and the instructions of its loop decide."""
    return timed(
        attempt, OTHER_SIDES, threshold=OTHER_SPEEDUP, no_points_at=OTHER_NO_POINTS_AT, best_known=OTHER_BEST_KNOWN
    )


@check(points=2, after=("faster_than_the_baseline", "walks_along_the_rows_of_b"), bonus=True)
def loads_a_number_for_several_sums(attempt: Attempt) -> str:
    """Bonus: `matmul_several(a, b, c)` uses what a thread loads for several elements, and walks along rows as before."""
    for shape in (*RAGGED, *TINY, WIDE):
        request = product(attempt, *shape, function="matmul_several")
        run = attempt.simulate(request)
        products.expect_none(h for h in run.hazards if h.kind in OUTSIDE_HAZARDS)
        products.expect_product(attempt, request, run.outputs["c"])
        attempt.expect_inputs_unchanged(run)
    m, k, n = WIDE
    run = attempt.counted(Trial(request, run))
    asked = run.counters.global_load_requests + run.counters.global_atomic_requests  # which give what was there, too
    loads, sectors = 32 * asked / (m * k * n), run.counters.global_load_sectors_per_request
    attempt.record(loads_per_multiply_add=loads, limit=BONUS_LOADS, sectors_per_load_request=sectors)
    line = f"{loads:.3g} loads for each multiply-add, {sectors:.3g} sectors a load request"
    if loads > BONUS_LOADS or sectors > SECTORS_PER_LOAD_REQUEST:
        raise CheckFailed(f"{line}; at most {BONUS_LOADS:g} and {SECTORS_PER_LOAD_REQUEST:g} asked for.")
    return f"{line}."
