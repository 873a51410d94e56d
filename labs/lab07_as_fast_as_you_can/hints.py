"""Lab 7's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in. Where work or speed is judged, a kernel may lack many things at once: told is the first of `CAUSES`,
in the order in which mending them pays on lesson 8's ladder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from autograder.grading import Attempt, witness
from autograder.grading.evidence import ProductEvidence, recogniser, threads_of
from autograder.grading.failures import WorkLeftOut
from autograder.grading.products import product
from autograder.records.counters import SIGNS, Counters, LineProfile
from autograder.records.runs import Launch, RunRequest

MULTIPROCESSORS = 132  # of an H200
BYTES = 4  # of a float32
LEAST_TOLD_APART = 1000  # elements: a wrong sum is among its row's right ones about every other time
SHOWN_WORK = 10_000_000  # for a look at a launch: a second
SQUARES = (2, 4, 8, 16)  # sides of a thread's square of sums
SQUARE_OF_SEVERAL_TILES = 256  # as many rows as the product that failed has
LESS_THAN_A_TILE = (5, 19, 7)  # m, k, n
WHOLE_TILES = (256, 32, 128)
SMALL = (64, 64, 64)
INSTRUCTIONS = "spends_its_instructions_on_multiplying"
IN_A_BLOCK = ("keeps_operands_in_registers", "meets_few_bank_conflicts", INSTRUCTIONS)
WORK = ("asks_global_memory_seldom", *IN_A_BLOCK)
OF_NO_INSTRUCTIONS = ("bank_conflicts", "too_few_blocks_for_the_gpu", "scattered_loads")  # causes that take only time
SPEED = ("as_fast_as_it_gets", "as_fast_with_edges")
Matrix = np.ndarray


class FastEvidence(ProductEvidence):
    """What the last run showed of a product whose kernels may be anything."""

    @cached_property
    def left(self) -> Counters:
        """What the compiler leaves of all launches."""
        return sum((each.compiled for each in self.simulated.launches if each.compiled is not None), Counters())

    @property
    def multiply_adds(self) -> float:
        """Those of a warp that the product takes."""
        return self.m * self.k * self.n / 32

    @cached_property
    def multiplying(self) -> Launch | None:
        """The launch that multiplies most: others clear, copy, pad or transpose."""

        def arithmetic(launch: Launch) -> int:
            return launch.counters.float32_operations + launch.counters.float64_operations

        return max(self.simulated.launches, key=arithmetic, default=None)

    @property
    def lines(self) -> list[LineProfile]:
        """The source lines of that launch."""
        own = set(self.multiplying.lines) if self.multiplying is not None else set()
        return [each for each in self.simulated.lines if each.line in own]

    @cached_property
    def sums_a_thread(self) -> float:
        """Sums that a thread of the launch which multiplies most leaves in memory, on average: elements of C, or parts of
        such that are added up later. Other launches (that clear, pad or transpose) have threads of their own."""
        launch = self.multiplying
        if launch is None:
            return 0.0
        if self.simulated.fault is not None:
            return float("inf")  # stopped before all was stored: nobody knows, and nothing is concluded from few
        left = launch.counters.global_store_useful_bytes / BYTES + 32 * launch.counters.global_atomic_requests
        if not left:
            return float("inf")  # of the blocks that were looked at none has an element
        return max(float(left / threads_of(launch)), self.stores_of_a_lane)

    @cached_property
    def stores_of_a_lane(self) -> float:
        """At least as many elements as a thread stores that has some, by the same kernel in a small product: an experiment.

        Of how many threads have none an average tells nothing, and what single lanes are seen to store does.
        """
        small = self.elsewhere(*SMALL)
        if self.multiplying is None or small.multiplying is None or small.multiplying.kernel != self.multiplying.kernel:
            return 0
        stored: Counter[tuple[object, ...]] = Counter()
        for each in small.accesses("store"):
            for lane in np.flatnonzero(each.addresses >= 0).tolist():
                stored[each.block, each.warp, lane] += 1
        on_average = small.multiplying.counters.global_store_useful_bytes / BYTES / threads_of(small.multiplying)
        return max(on_average, *stored.values(), 0)

    @cached_property
    def is_mostly_idle(self) -> bool:
        """Whether so few elements are stored that a quarter of the threads would do, each with as many as one has."""
        launch = self.multiplying
        if launch is None or launch is not self.simulated.launches[0] or self.simulated.fault is not None:
            return False
        if launch.counters.is_sampled:
            return self.elsewhere(*WHOLE_TILES).is_mostly_idle
        left = launch.counters.global_store_useful_bytes / BYTES
        return bool(0 < left <= threads_of(launch) * self.stores_of_a_lane / 4)

    @property
    def launch_count(self) -> int:
        return len(self.at_work)

    @cached_property
    def launches_grow_with_depth(self) -> bool:
        """Whether sums of twice as many terms take more launches: an experiment."""
        deeper = one_block_of(product(self.attempt, self.request.function, self.m, 2 * self.k, self.n))
        return len(self.attempt.trace(deeper).launches) >= 1.5 * self.launch_count

    @property
    def blocks(self) -> int:
        return int(np.prod(self.multiplying.grid)) if self.multiplying is not None else 0

    @cached_property
    def weights(self) -> Matrix | None:
        """How often each term stands in the wrong sums, if it is as often in all of them; None where it is not.

        The wrong C is a sum of outer products, a column of A by a row of B, each so many times: what fits it best is looked
        for in a sample of its elements, and held to all of them.
        """
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem or not np.isfinite(wrong.got).all():
            return None
        got = np.asarray(wrong.got, np.float64)
        elements = np.random.default_rng(7).choice(got.size, min(got.size, 8 * self.k), replace=False)
        rows, columns = np.divmod(elements, self.n)
        terms = self.a[rows] * self.b[:, columns].T
        if np.linalg.matrix_rank(terms) < self.k:
            return None
        found: Matrix = np.asarray(np.linalg.lstsq(terms, got[rows, columns], rcond=None)[0]).round()
        return found if np.array_equal((self.a * found) @ self.b, got) else None

    @property
    def missing_terms(self) -> str:
        """Those that stand in no sum, as in "48 to 63"."""
        assert self.weights is not None
        missing = np.flatnonzero(self.weights == 0)
        ends = np.flatnonzero(np.diff(missing) > 1)
        first = np.r_[missing[0], missing[ends + 1]]
        last = np.r_[missing[ends], missing[-1]]
        runs = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(first, last, strict=True)]
        return ", ".join(runs[:4]) + (", ..." if len(runs) > 4 else "")

    @property
    def fetches_all_there_is(self) -> bool:
        """Whether no element of A or B is left out that a block needs, and only what does not exist: an experiment.

        Its C is smaller than any tile, with sums longer than many, so that threads beyond its edges have elements to fetch.
        """
        m, k, n = LESS_THAN_A_TILE
        counters = self.elsewhere(m, k, n).simulated.counted or Counters()
        return counters.global_load_useful_bytes >= BYTES * (m * k + k * n)

    @property
    def wrote_rows(self) -> int:
        return 0 if self.corner is None else self.corner[0]

    @property
    def wrote_columns(self) -> int:
        return 0 if self.corner is None else self.corner[1]

    @property
    def is_covered_once(self) -> bool:
        """Whether the corner that was written was written once, and not by few of many threads."""
        launch = self.multiplying
        if launch is None or self.simulated.counted is None:
            return False
        once = self.simulated.counted.global_store_useful_bytes == BYTES * self.wrote_rows * self.wrote_columns
        return once and threads_of(launch) * self.stores_of_a_lane < 2 * self.wrote_rows * self.wrote_columns

    @property
    def is_right_where_written(self) -> bool:
        """Whether only elements that nobody wrote are wrong."""
        wrong = self.attempt.wrong
        return wrong is not None and not wrong.problem and not (wrong.wrong & self.run.written["c"]).any()

    @property
    def counts_threads_for_blocks(self) -> bool:
        """Whether far more threads were launched than C has elements, and nearly none of them stored or added anything."""
        counters = self.simulated.counted or Counters()
        writes = 32 * (counters.global_store_requests + counters.global_atomic_requests)
        return self.threads >= max(4 * self.m * self.n, 1 << 16) and 4 * writes <= self.threads

    @property
    def is_wrong_at_speed(self) -> bool:
        """Whether a check of speed failed over something else: by what was left out, or wrong, or in no order."""
        failure = self.attempt.failure
        other = isinstance(failure, WorkLeftOut) or failure is not None and bool(failure.hazards)
        return self.attempt.check in SPEED and (other or self.attempt.wrong is not None)

    @property
    def has_too_many_blocks(self) -> bool:
        return self.counts_threads_for_blocks or self.attempt.wrong is None and self.is_mostly_idle

    @cached_property
    def cause(self) -> str:
        """What to mend first: the first of `CAUSES` that this run shows. Where most threads have nothing to do, that is it,
        and how the others do their work is not to be told from averages."""
        if self.has_too_many_blocks or self.is_wrong_at_speed:
            return ""
        of_no_instructions = OF_NO_INSTRUCTIONS if self.attempt.check == INSTRUCTIONS else ()
        return next((name for name, shows in CAUSES.items() if name not in of_no_instructions and shows(self)), "")

    @cached_property
    def is_slow_at_the_edges_only(self) -> bool:
        """Whether odd sizes go to a kernel with far fewer sums a thread than whole tiles: an experiment."""
        launches = self.attempt.trace(one_block_of(product(self.attempt, self.request.function, 2048, 32, 2048))).launches
        if self.multiplying is None or self.multiplying.kernel in {each.kernel for each in launches}:
            return False
        threads = sum(int(np.prod(each.grid) * np.prod(each.block)) for each in launches)  # each may compute a part of C
        return threads > 0 and self.sums_a_thread <= 2048 * 2048 / threads / 4


def of_the_size_that_is_timed(attempt: Attempt) -> RunRequest:
    """A product of as many rows and columns as the one that was timed, with short sums; one block shows the
    launch."""
    odd = attempt.check == "as_fast_with_edges"
    return one_block_of(product(attempt, "matmul_fast", 2045 if odd else 2048, 63 if odd else 64, 2043 if odd else 2048))


def one_block_of(request: RunRequest) -> RunRequest:
    """The request as far as its launches show it: one block of each, and no more work than a second's."""
    return replace(request, sample_blocks=1, work_limit=SHOWN_WORK)


FLOAT64 = witness.counted("float64_operations") | witness.hazard("accidental_float64")
misconception = recogniser(FastEvidence, of_the_size_that_is_timed)


# ---- right at any size -----------------------------------------------------------------------------------------------


@misconception("right_on_whole_tiles", shows=witness.NO_LAUNCH)
def never_launched(seen: FastEvidence) -> bool:
    """No kernel was launched: matmul_fast_kernel[grid, block] starts when it is called with its arguments."""
    return seen.never_launched


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def endless_loop(seen: FastEvidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at?"""
    return seen.runs_on and not seen.counts_threads_for_blocks


@misconception("right_on_whole_tiles", *WORK, *SPEED, shows=witness.LAUNCH)
def grid_counts_threads(seen: FastEvidence) -> bool:
    """The launch has {seen.grid[0]} x {seen.grid[1]} blocks of {seen.block[0]} threads for {seen.n} columns x
    {seen.m} rows: most of them have nothing to compute. A grid counts blocks: divide each size by the rows, or the
    columns, that a block computes, and round up."""
    return seen.has_too_many_blocks


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def too_much_shared_memory(seen: FastEvidence) -> bool:
    """The shared arrays are larger than what a block may have. Fewer columns of A, and rows of B, at a time take
    less, and cost no further fetches: only how many rows and columns of C a block computes decides about these."""
    return seen.ended_by == "too_much_shared_memory"


@misconception("right_on_whole_tiles", shows=witness.LEFT_OUT)
def swapped_grid_axes(seen: FastEvidence) -> bool:
    """C was written to {seen.wrote_rows} x {seen.wrote_columns} elements only, and a square C comes out whole: the
    grid's first number goes along x, over columns."""
    return seen.corner is not None and seen.elsewhere(128, 16, 128).is_right


@misconception("right_on_whole_tiles", shows=witness.LEFT_OUT)
def too_few_blocks(seen: FastEvidence) -> bool:
    """The blocks reach over {seen.wrote_rows} x {seen.wrote_columns} elements of C, and it has {seen.m} x {seen.n}.
    Does the host divide by the rows and columns that a block of the kernel computes?"""
    reached = seen.wrote_rows > 0 and seen.is_right_where_written and seen.is_covered_once
    return reached and not seen.elsewhere(128, 16, 128).is_right


@misconception("right_at_any_size", shows=witness.LEFT_OUT)
def only_whole_tiles(seen: FastEvidence) -> bool:
    """C was written to {seen.wrote_rows} x {seen.wrote_columns} elements, and it has {seen.m} x {seen.n}: the blocks
    at the edges are missing. Round the grid up, and guard what lies beyond."""
    return seen.corner is not None


@misconception("right_on_whole_tiles", shows=witness.unset("global"))
def adds_to_c(seen: FastEvidence) -> bool:
    """C is added to before it was set. Device memory starts with whatever was there: keep the sums in the thread's
    own registers, set to zero, and store each once."""
    return bool(seen.found("uninitialised_read", "c"))


@misconception("right_on_whole_tiles", shows=witness.outside(space="shared"))
def outside_the_tile(seen: FastEvidence) -> bool:
    """A shared array is indexed beyond its end. What it is indexed with counts within the tile; places in the
    matrices begin at the block's first row and column."""
    return any(each.space == "shared" for each in seen.found("out_of_bounds"))


@misconception("right_on_whole_tiles", shows=witness.unset("shared", in_launch=True))
def tile_not_filled(seen: FastEvidence) -> bool:
    """Places of a tile are read that no thread has filled. {seen.block[0]} x {seen.block[1]} threads: does each of
    them fill as many places as the tile has for each thread, and is the block as large as the kernel counts on?"""
    unset = any(each.space == "shared" for each in seen.found("uninitialised_read"))
    return unset and not any(each.space == "shared" for each in seen.found("out_of_bounds"))


@misconception("right_on_whole_tiles", "right_at_any_size", shows=witness.RESULT)
def terms_left_out(seen: FastEvidence) -> bool:
    """In every sum the same terms are missing, those of columns {seen.missing_terms} of A, and all others are there
    once. When do tiles come that are never multiplied, or steps that no round takes?"""
    weights = seen.weights
    return weights is not None and set(np.unique(weights)) == {0.0, 1.0}


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def first_tile_in_every_round(seen: FastEvidence) -> bool:
    """The first terms stand in every sum several times, and those of columns {seen.missing_terms} of A in none: from
    round to round the tiles have to move on, along the rows of A and down the columns of B."""
    weights = seen.weights
    return weights is not None and bool(weights[0] > 1) and bool((weights == 0).any())


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def square_transposed(seen: FastEvidence) -> bool:
    """Each small square of C is transposed in its place: rows and columns of a thread's sums are exchanged where they
    are stored, or where they are added up."""

    def transposed(side: int) -> bool:
        rows, columns = seen.m // side, seen.n // side
        return seen.gave(
            lambda a, b: (a @ b).reshape(rows, side, columns, side).transpose(0, 3, 2, 1).reshape(seen.m, seen.n)
        )

    return any(transposed(side) for side in SQUARES)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def stored_elsewhere(seen: FastEvidence) -> bool:
    """Every number that was stored is the right one for another column of its row. A thread's columns have to be the
    same where it reads B's tile and where it stores into C."""
    wrong = seen.attempt.wrong
    if wrong is None or wrong.problem or seen.corner is not None:
        return False
    if seen.run.written["c"].sum() < LEAST_TOLD_APART:  # few numbers are among those of their rows by chance
        return False
    if not (wrong.wrong & seen.run.written["c"]).any():  # what was stored is right where it stands
        return False
    rows = zip(wrong.got, wrong.expected, seen.run.written["c"], strict=True)
    return all(bool(np.isin(got[here], expected).all()) for got, expected, here in rows)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def square_only(seen: FastEvidence) -> bool:
    """Square matrices go well, and others do not: A is {seen.m} x {seen.k} and B {seen.k} x {seen.n} here. Which of
    the three sizes bounds what?"""
    sides = (64, 128, SQUARE_OF_SEVERAL_TILES)  # a block may compute one tile, or several one after the other
    return seen.corner is None and all(seen.elsewhere(side, side, side).is_right for side in sides)


@misconception("right_at_any_size", shows=witness.RESULT)
def low_precision(seen: FastEvidence) -> bool:
    """The elements are right to a few digits only: somewhere a number is kept with fewer than float32 has."""
    return seen.lost_precision


# ---- order -----------------------------------------------------------------------------------------------------------


@misconception("keeps_its_threads_in_order", shows=witness.hazard("divergent_barrier"))
def barrier_in_a_branch(seen: FastEvidence) -> bool:
    """Some threads of a block wait at a barrier to which others do not come. A thread without an element of C helps
    to fill the tiles all the same: guard what it stores, and not its way to the barrier."""
    return bool(seen.found("divergent_barrier")) and not seen.names_absent_lanes


@misconception("keeps_its_threads_in_order", shows=witness.race("shared"))
def tile_overwritten(seen: FastEvidence) -> bool:
    """A tile is filled anew while other threads still read it. Either a barrier belongs before that, or the next tile
    needs a place of its own, so that two tiles take turns."""
    return bool(seen.overtaken("shared", "writes")) and not seen.overtaken("shared", "reads")


@misconception("keeps_its_threads_in_order", shows=witness.race("shared"))
def read_before_it_was_filled(seen: FastEvidence) -> bool:
    """A thread reads places of a tile that another one is still filling. Between filling a tile and reading it all
    threads of the block have to meet: cuda.syncthreads(); a warp's barrier is not enough."""
    return bool(seen.overtaken("shared", "reads"))


# ---- edges -----------------------------------------------------------------------------------------------------------


def _reads_beyond_terms(seen: FastEvidence) -> bool:
    return seen.outside("a", 1, seen.k) or seen.outside("b", 0, seen.k)


@misconception("stays_inside_what_it_has", shows=witness.outside("c", writes=True))
def stores_unguarded(seen: FastEvidence) -> bool:
    """A thread stores an element that C does not have. Each of a thread's elements has a row and a column of its own:
    each needs its own guard."""
    return bool(seen.found("out_of_bounds", "c"))


@misconception("stays_inside_what_it_has", shows=witness.outside("a") | witness.outside("b"))
def loads_unguarded(seen: FastEvidence) -> bool:
    """A load lies beyond the rows of A, or the columns of B. The blocks at the edge fill their tiles as all others
    do: what does not exist has to be left, or replaced by something that does."""
    beyond = seen.outside("a", 0, seen.m) or seen.outside("b", 1, seen.n)
    return beyond and not seen.found("out_of_bounds", "c") and not _reads_beyond_terms(seen)


@misconception("stays_inside_what_it_has", shows=witness.outside("a") | witness.outside("b"))
def terms_unguarded(seen: FastEvidence) -> bool:
    """A load lies beyond the last column of A, or the last row of B: the last tile reaches further than the sums do.
    What is missing there has to count as zero, or not at all."""
    return _reads_beyond_terms(seen) and not seen.found("out_of_bounds", "c")


@misconception("stays_inside_what_it_has", shows=witness.unset("shared"))
def tile_edge_not_zeroed(seen: FastEvidence) -> bool:
    """At the edges, places of a tile are multiplied that nothing was stored in: in the last round they hold an
    earlier tile, or whatever was there. Where there is no element, store a zero."""
    return any(each.space == "shared" for each in seen.found("uninitialised_read")) and seen.fetches_all_there_is


# ---- work and speed: the first cause ---------------------------------------------------------------------------------


@misconception(*WORK, *SPEED, shows=witness.not_counted("shared_load_requests"))
def no_tiles(seen: FastEvidence) -> bool:
    """Nothing comes from shared memory: every thread fetches its operands from global memory for itself. Begin with
    lab 2's kernel, whose blocks fetch tiles together."""
    return seen.cause == "no_tiles"


@misconception(*WORK, *SPEED, shows=witness.LAUNCH)
def a_launch_for_each_tile(seen: FastEvidence) -> bool:
    """One product takes {seen.launch_count} launches, and between them the sums go to memory and come back. A
    kernel's loop over the tiles keeps them in registers."""
    return seen.cause == "a_launch_for_each_tile"


@misconception(*WORK, *SPEED, shows=FLOAT64)
def float64(seen: FastEvidence) -> bool:
    """Something is worked out in float64, at half of float32's rate on this GPU and a 64th of it on others. Which
    numbers of this line are not float32?"""
    return seen.cause == "float64"


@misconception(*WORK, *SPEED, shows=witness.LAUNCH)
def one_sum_a_thread(seen: FastEvidence) -> bool:
    """A thread computes one element of C, and takes two numbers out of shared memory for each multiply-add. If it
    computed a square of 8 x 8 elements, 16 numbers would do for 64 multiply-adds."""
    return seen.cause == "one_sum_a_thread"


@misconception(*WORK, *SPEED, shows=witness.compiled("local_load_requests"))
def sums_in_memory(seen: FastEvidence) -> bool:
    """Not every index into a local array is known before the kernel runs. Such an array lies in memory; one of very
    few elements may stay in registers, and each access then chooses among them all, which is as slow. Loops over a local
    array need constant lengths, and no index may depend on what is only known while the kernel runs."""
    return seen.cause == "sums_in_memory"


@misconception(
    *WORK, *SPEED, shows=witness.compiled("shared_load_bank_conflicts", "shared_store_bank_conflicts")
)
def bank_conflicts(seen: FastEvidence) -> bool:
    """The lanes of a warp ask for places of a tile that lie in the same banks, and are served one after the other.
    Which places do neighbouring lanes ask for at this line? Another layout of the tile, a pad, or other lanes beside
    each other may help."""
    return seen.cause == "bank_conflicts"


@misconception(*IN_A_BLOCK, *SPEED, shows=witness.reason(SIGNS, lambda seen: seen.lines))
def signed_indices(seen: FastEvidence) -> bool:
    """Many instructions only see to it that an index could be negative, and then counts from the end. An index of an
    unsigned type (np.uint32) never is; then neighbouring elements can be fetched together, too."""
    return seen.cause == "signed_indices"


@misconception(*WORK, *SPEED, shows=witness.LAUNCH)
def few_sums(seen: FastEvidence) -> bool:
    """A thread computes {seen.sums_a_thread:.2g} elements of C. The more it computes, in a square, the fewer numbers
    it fetches for each multiply-add: 8 x 8 sums fit into its registers."""
    return seen.cause == "few_sums"


@misconception(*SPEED, shows=witness.LAUNCH)
def too_few_blocks_for_the_gpu(seen: FastEvidence) -> bool:
    """The launch has {seen.blocks} blocks, and an H200 has 132 multiprocessors: some have nothing to do, or all have
    one block whose warps wait at the same time. Let a block compute less of C."""
    return seen.cause == "too_few_blocks_for_the_gpu"


@misconception(*SPEED, shows=witness.lanes("load"))
def scattered_loads(seen: FastEvidence) -> bool:
    """Neighbouring lanes load elements that are far apart: a request moves {seen.sectors:.3g} sectors where 4 would
    do. Let the lanes of a warp go along a row when they fill a tile, also of A; where in the tile they put it is
    another matter."""
    return seen.cause == "scattered_loads"


@misconception("as_fast_with_edges", shows=witness.LAUNCH)
def slow_at_the_edges(seen: FastEvidence) -> bool:
    """At odd sizes another kernel is launched, with one element of C a thread where whole tiles have many. The same
    kernel can do it: fetch something that exists in place of what does not, or zeros, and guard each store."""
    return seen.cause == "slow_at_the_edges"


Shows = Callable[[FastEvidence], bool]
CAUSES: dict[str, Shows] = {
    "no_tiles": lambda seen: not seen.left.shared_load_requests and seen.left.global_load_requests > seen.multiply_adds,
    "a_launch_for_each_tile": lambda seen: seen.launch_count > 3 and seen.launches_grow_with_depth,
    "float64": lambda seen: seen.left.float64_operations > seen.multiply_adds,
    "slow_at_the_edges": lambda seen: seen.attempt.check == "as_fast_with_edges" and seen.is_slow_at_the_edges_only,
    "one_sum_a_thread": lambda seen: seen.sums_a_thread <= 1.5,
    "sums_in_memory": lambda seen: seen.left.local_load_requests > 0.1 * seen.multiply_adds,
    "bank_conflicts": lambda seen: (
        seen.left.shared_load_bank_conflicts + seen.left.shared_store_bank_conflicts > 0.3 * seen.multiply_adds
    ),
    "signed_indices": lambda seen: _share_of_signs(seen) > 0.15,
    "few_sums": lambda seen: 1.5 < seen.sums_a_thread <= 8,
    "too_few_blocks_for_the_gpu": lambda seen: seen.blocks < MULTIPROCESSORS and seen.m * seen.n > 1 << 21,
    "scattered_loads": lambda seen: seen.sectors > 8,
}


def _share_of_signs(seen: FastEvidence) -> float:
    """The share of the multiplying kernel's instructions that lines have whose indices may be negative."""
    everything = sum(each.compiled.issued_warp_instructions for each in seen.lines)
    signs = sum(each.compiled.issued_warp_instructions for each in seen.lines if SIGNS in each.why)
    return signs / everything if everything else 0.0
