"""Lab 7, as fast as you can: START HERE to see what is asked for. Thresholds first, then the checks by part.

Speed is a share of what NVIDIA's library does with the same matrices. On a GPU cuBLAS is timed beside the submission
where CuPy or PyTorch is installed. Elsewhere the submission is compared with the baseline, and the baseline with cuBLAS by
what both took on an H200, timed in the same way (cublas.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check, products
from autograder.grading.attempt import Place
from autograder.grading.trials import Trial
from autograder.records.counters import Counters
from autograder.records.runs import Library, Run, RunRequest, Uninitialised

from .cublas import NANOSECONDS

# Matrices whose speed counts: as many tiles of 128 x 128 elements as an H200's 132 multiprocessors take two at a time,
# but for a few, so that no kernel loses its last wave to where the seed puts the edge. Sides are multiples of 128.
SIDES = ((11, 23), (12, 21), (13, 20), (14, 18), (16, 16), (18, 14))
DEPTHS = (256, 320, 32)  # columns of A, as the seed draws them
# The same with edges: what lies over a multiple of 128, or is missing to it, of rows, depth and columns.
RAGGED_SIDES = ((1663, 261, 2557), (1791, 283, 2301), (2045, 271, 2043), (2303, 307, 1789))
SAMPLED_BLOCKS = 8  # carried out together they take half as long again as one: sums of 8 x 8 are many statements

# Shares of cuBLAS's speed. One element of C a thread from tiles, lab 2's answer, earns a little; it takes several sums a
# thread in registers to pass, and the ladder's last rungs for all points. The slowest answer that is to pass has 0.40 by
# prediction and 0.47 on an H200 (squares_of_four), the fastest that is not 0.33 and 0.36 (calibration/verdicts.md).
PASSED_AT, FULL_POINTS_AT, NO_POINTS_AT = 0.38, 0.58, 0.12
RAGGED_PASSED_AT, RAGGED_FULL_POINTS_AT, RAGGED_NO_POINTS_AT = 0.38, 0.58, 0.12
BONUS_AT, FULL_BONUS_AT, NO_BONUS_AT = 0.6, 0.73, 0.58
BEST_KNOWN = 0.766
BEST_KNOWN_RAGGED = 0.724

# Counted as the compiler leaves them, for each multiply-add of a warp. Fetches: one element a thread takes 1.25
# (four numbers of one tile at a time, one of the other), squares of 4 x 4 take 0.125. Instructions: 4.9 with one
# element a thread, 3.7 in the paper's strips, 3.0 with 4 x 4 sums by signed indices, 2.3 by unsigned ones, 1.2 in
# the model solution. Conflicts: 0.18 and less in right answers, 0.43 in lesson 8's `squares`. Loads: 2 / 16 with
# tiles of 16 x 16.
FETCHES = 0.5
LEAST_FETCHES = 0.02  # four numbers at a time for squares of 16 x 16, which no thread has the registers for, take 0.03
INSTRUCTIONS = 2.6
GLOBAL_LOADS = 0.1
CONFLICTS = 0.3

SHARED = ("shared_load_requests", "shared_atomic_requests", "shuffles")  # how lanes come by what others have fetched

WORK_LIMIT = 100_000_000
SPEED_WORK_LIMIT = 800_000_000

WHOLE = (256, 32, 128)  # m, k, n: whole tiles up to 256 x 128, several phases of each
RAGGED = ((131, 19, 67), (61, 37, 141))  # primes, and one that three tiles of 47 divide: one tall, one wide
TINY = ((1, 1, 1), (1, 9, 2), (5, 1, 1))
OVER_A_BYTE = ((261, 2, 3), (3, 2, 261))  # rows, or columns, that eight bits cannot count
# Tiles divide two of the three sides, or the depth alone: who has a kernel of its own for what they divide must ask for all.
EDGES = ((61, 32, 128), (128, 32, 67), (128, 19, 128), (61, 32, 67))
REAL = (70, 90, 110)
LONG = (24, 150, 20)
COUNTED = (128, 192, 64)  # depths
UNSOUND = ("out_of_bounds", "negative_index", "uninitialised_read")
ORDER = ("race", "divergent_barrier")


def product(attempt: Attempt, m: int, k: int, n: int, *, real: bool = False) -> RunRequest:
    """A call of the submission's `matmul_fast` on an (m, k) and a (k, n) matrix of whole or real numbers."""
    return products.product(attempt, "matmul_fast", m, k, n, real=real, work_limit=WORK_LIMIT)


def multiplied(
    attempt: Attempt, shape: tuple[int, int, int], *, on: Place = "simulated", may_fault: bool = False
) -> Trial:
    """A product of this shape, run once for all checks that look at it: of whole numbers, two of real ones."""
    real = shape in (REAL, LONG)
    return attempt.once(f"product {shape}", lambda each: product(each, *shape, real=real), on=on, may_fault=may_fault)


def timed(attempt: Attempt, m: int, k: int, n: int) -> RunRequest:
    """A product whose time counts, with what cuBLAS took for one of its sizes."""
    cublas, baseline = NANOSECONDS[f"{m} x {k} x {n}"]
    beside = Library("cuBLAS", "matmul", recorded_ns=cublas, baseline_recorded_ns=baseline)
    request = products.product(attempt, "matmul_fast", m, k, n, real=True, work_limit=SPEED_WORK_LIMIT)
    return replace(request, library=beside, **attempt.sample(SAMPLED_BLOCKS))


def sizes() -> list[tuple[int, int, int]]:
    """m, k and n of every product that may be timed: cublas.py has them all."""
    first, last, step = DEPTHS
    whole = [(128 * down, k, 128 * across) for down, across in SIDES for k in range(first, last + 1, step)]
    return [*whole, *RAGGED_SIDES]


def whole_sizes(attempt: Attempt) -> tuple[int, int, int]:
    """m, k and n of the product that is timed, as the seed draws them: m and n multiples of 128, k of 32."""
    down, across = SIDES[attempt.drawn(0, len(SIDES) - 1)]
    return 128 * down, attempt.drawn(*DEPTHS), 128 * across


def profiled_product(rng: np.random.Generator) -> RunRequest:
    """The product whose counted work the report shows by source line."""
    a, b = (rng.uniform(-1, 1, (128, 128)).astype(np.float32) for _ in range(2))
    return RunRequest("matmul_fast", {"a": a, "b": b, "c": Uninitialised((128, 128), np.float32)}, work_limit=WORK_LIMIT)


LAB = Lab(
    title="As fast as you can: the matrix product against the library",
    lesson="08b_to_the_limit",
    hours=8,
    leaderboard=True,
    required=(
        Required("matmul_fast_kernel", "kernel"),
        Required("matmul_fast", "host", ("a", "b", "c")),
    ),
    results={"matmul_fast": products.verify},
    baseline="baseline.py",
    profile=profiled_product,
    seconds_per_run=120,  # many sums a thread are many statements: seconds of simulation
)


# ---- part 1: right at any size ---------------------------------------------------------------------------------------


@check(points=2)
def right_on_whole_tiles(attempt: Attempt) -> None:
    """Right: matrices whose sides are multiples of 32 are multiplied right."""
    trial = multiplied(attempt, WHOLE)
    products.expect_product(attempt, trial.request, trial.run.outputs["c"])


@check(points=2, after=("right_on_whole_tiles",))
def keeps_its_threads_in_order(attempt: Attempt) -> None:
    """Right: no thread reads what another is still writing, and all threads of a block come to its barriers."""
    for shape in (WHOLE, *RAGGED):
        run = multiplied(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind in ORDER and h.severity == "error")


@check(points=2, after=("keeps_its_threads_in_order",))
def stays_inside_what_it_has(attempt: Attempt) -> None:
    """Right: at sizes that no tile divides, no thread touches what is outside an array, or uses what nobody has written."""
    for shape in (*RAGGED, LONG):
        run = multiplied(attempt, shape, may_fault=True).run
        products.expect_none(h for h in run.hazards if h.kind in UNSOUND and h.severity == "error")


@check(points=2, after=("stays_inside_what_it_has",))
def right_at_any_size(attempt: Attempt) -> None:
    """Right: every element comes out right at any size, down to one element, as exact as float32 sums can be."""
    for shape in (*RAGGED, *EDGES, *TINY, *OVER_A_BYTE, REAL, LONG):
        trial = multiplied(attempt, shape, on="device")
        products.expect_product(attempt, trial.request, trial.run.outputs["c"])
        attempt.expect_inputs_unchanged(trial.run)


# ---- part 2: counted work --------------------------------------------------------------------------------------------


def counted(attempt: Attempt) -> Run:
    """The product whose work is looked at, of a depth that the seed draws."""

    def make(by: Attempt) -> RunRequest:
        return product(by, 256, by.drawn(*COUNTED), 128)

    return attempt.counted(attempt.once("counted product", make))


def compiled(run: Run) -> Counters:
    """What the compiler leaves of all launches."""
    return sum((each.compiled for each in run.launches if each.compiled is not None), Counters())


def multiply_adds(run: Run) -> float:
    """Those of a warp that the product takes."""
    (m, k), n = run.outputs["a"].shape, run.outputs["b"].shape[1]
    return float(m * k * n / 32)


def most_of(run: Run, *names: str) -> str:
    """The line that counts most of these, all together, as the compiler leaves them."""
    worst = max(run.lines, key=lambda each: sum(getattr(each.compiled, name) for name in names))
    return f"Most of them: {worst.line}: `{worst.text.strip()}`"


def for_each_multiply_add(attempt: Attempt, run: Run, names: Sequence[str], what: str, limit: float) -> str:
    """The line to show for so many of these, all together; fails the check where there are more than `limit`."""
    left = compiled(run)
    counted = sum(getattr(left, name) for name in names) / multiply_adds(run)
    attempt.expect_at_most(f"{what} for each multiply-add", counted, limit, most_of(run, *names))
    return f"{counted:.3g} {what} for each multiply-add, at most {limit:g} asked for."


def expect_shared_operands(attempt: Attempt, run: Run) -> None:
    """Fails the check where operands come from global memory alone: care with what is shared is for who shares it."""
    fetches = sum(getattr(compiled(run), name) for name in SHARED) / multiply_adds(run)
    if fetches < LEAST_FETCHES:
        attempt.record(shared_fetches_for_each_multiply_add=fetches, least=LEAST_FETCHES)
        raise CheckFailed(
            f"{fetches:.3g} fetches from shared memory or other lanes for each multiply-add: what is multiplied does not "
            f"come from there, and this check looks at how it does. {most_of(run, 'global_load_requests')}"
        )


@check(points=1, after=("keeps_its_threads_in_order",))
def asks_global_memory_seldom(attempt: Attempt) -> str:
    """Counted work: what comes from global memory is used for many multiply-adds."""
    names = ("global_load_requests", "global_atomic_requests")
    return for_each_multiply_add(attempt, counted(attempt), names, "loads and atomics of global memory", GLOBAL_LOADS)


@check(points=2, after=("keeps_its_threads_in_order",))
def keeps_operands_in_registers(attempt: Attempt) -> str:
    """Counted work: what comes from shared memory is used for several multiply-adds; local arrays stay in registers."""
    run = counted(attempt)
    expect_shared_operands(attempt, run)
    what = "fetches from shared or local memory or other lanes"
    return for_each_multiply_add(attempt, run, (*SHARED, "local_load_requests"), what, FETCHES)


@check(points=1, after=("keeps_its_threads_in_order",))
def meets_few_bank_conflicts(attempt: Attempt) -> str:
    """Counted work: the lanes of a warp find their shared elements in different banks."""
    run = counted(attempt)
    expect_shared_operands(attempt, run)
    names = ("shared_load_bank_conflicts", "shared_store_bank_conflicts")
    return for_each_multiply_add(attempt, run, names, "bank conflicts", CONFLICTS)


@check(points=2, after=("keeps_its_threads_in_order",))
def spends_its_instructions_on_multiplying(attempt: Attempt) -> str:
    """Counted work: there are few instructions beside the multiply-adds, and none in float64."""
    run = counted(attempt)
    doubles = compiled(run).float64_operations
    if doubles:
        raise CheckFailed(
            f"{doubles:,} operations in float64. {most_of(run, 'float64_operations')}",
            hazards=[h for h in run.hazards if h.kind == "accidental_float64"],
        )
    return for_each_multiply_add(attempt, run, ("issued_warp_instructions",), "instructions", INSTRUCTIONS)


# ---- part 3: speed ---------------------------------------------------------------------------------------------------

RIGHT = ("right_at_any_size",)


@check(points=10, after=RIGHT)
def as_fast_as_it_gets(attempt: Attempt) -> str:
    """Speed: the share of cuBLAS's speed on matrices that common tiles divide. Points go by the share."""
    m, k, n = whole_sizes(attempt)
    return attempt.speedup(
        lambda: timed(attempt, m, k, n),
        threshold=PASSED_AT, full_points_at=FULL_POINTS_AT, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN,
        element_by_element=True, once="whole tiles",
    )  # fmt: skip


@check(points=3, after=RIGHT)
def as_fast_with_edges(attempt: Attempt) -> str:
    """Speed: the share of cuBLAS's speed on matrices of odd sizes. Points go by the share."""
    m, k, n = RAGGED_SIDES[attempt.drawn(0, len(RAGGED_SIDES) - 1)]
    return attempt.speedup(
        lambda: timed(attempt, m, k, n),
        threshold=RAGGED_PASSED_AT, full_points_at=RAGGED_FULL_POINTS_AT, no_points_at=RAGGED_NO_POINTS_AT,
        best_known=BEST_KNOWN_RAGGED, element_by_element=True,
    )  # fmt: skip


@check(points=3, after=("as_fast_as_it_gets", "as_fast_with_edges"), bonus=True)
def nearly_the_library(attempt: Attempt) -> str:
    """Bonus: little is left between this kernel and cuBLAS."""
    m, k, n = whole_sizes(attempt)
    return attempt.speedup(
        lambda: timed(attempt, m, k, n),
        threshold=BONUS_AT, full_points_at=FULL_BONUS_AT, no_points_at=NO_BONUS_AT, best_known=BEST_KNOWN,
        element_by_element=True, once="whole tiles",
    )  # fmt: skip
