"""Lab 1's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the `MatmulEvidence` filled in; it returns whether the evidence fits. They stand in the order of the checks they go with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.grading import witness
from autograder.grading.evidence import Matrix, ProductEvidence, recogniser
from autograder.grading.products import product

POORLY_COALESCED = 4.0  # sectors a load request beyond which the mapping is to blame
TRIED = (37, 53, 29)  # m, k, n in the notebook's cell that tries the functions
LIKE_THE_BONUS = 1000  # m, k and n: rows begin in four of the 32 banks
MANY_INSTRUCTIONS = 15.0  # a multiply-add: `while` takes 7.6, a `for` over a range of unsigned numbers 19, over others 35
JUST_LARGER = (38, 54, 30)  # covered by as many blocks of 2, 4, 8, 16 or 32 threads along each axis
MANY = 8  # elements a thread


class MatmulEvidence(ProductEvidence):
    """What the last run showed, and the guard that it breaks."""

    @property
    def lacks_a_border(self) -> bool:
        """Whether exactly the last row of C was not written, or the last column, or both."""
        return self.corner in ((self.m - 1, self.n - 1), (self.m - 1, self.n), (self.m, self.n - 1))

    @property
    def broken_guard(self) -> str:
        """The guard that explains how many threads stored outside C; "" where none did."""
        stray = sum(each.occurrences for each in self.found("out_of_bounds", "c"))
        m, n = self.m, self.n
        for across, down in ((self.across, self.down), (self.down, self.across)):
            beyond = across * down - min(across, n) * min(down, m)
            guards = {
                "missing_guard": beyond,
                "guard_with_or": beyond - max(across - n, 0) * max(down - m, 0),
                "swapped_guard": min(across, m) * min(down, n) - min(across, m, n) * min(down, n, m),
            }
            for side in (m, self.k, n):
                of_this_side = min(across, side) * min(down, side) - min(across, side, n) * min(down, side, m)
                guards.setdefault(f"square_only, {side}", of_this_side)
            for name, count in guards.items():
                if stray and stray == count:
                    return name.split(",")[0]
            if 0 < stray < beyond:
                return "guard_too_wide"
        return "missing_guard" if stray else ""

    @property
    def times_over(self) -> float:
        """How often the operations that the product takes were done."""
        counters = self.simulated.counters
        return counters.operations / (2 * self.m * self.k * self.n) if counters else 0.0

    @property
    def right_where_tried(self) -> bool:
        """Whether the sizes that the notebook tries go well, though others do not."""
        return self.elsewhere(*TRIED).is_right

    @property
    def is_fixed_launch(self) -> bool:
        """Whether the number of blocks has nothing to do with the sizes."""
        launches = [self.in_question(trial.run) for trial in self.trials]
        return {each.grid for each in launches if each} | {self.elsewhere(200, 4, 260).grid} == {self.grid}

    @property
    def grid_along_wrong_axes_anywhere(self) -> bool:
        """Whether the launch covers the transpose of C, also where m, k and n are far apart."""
        return self.grid_along_wrong_axes and self.elsewhere(20, 70, 130).grid_along_wrong_axes

    @property
    def grid_grows_with_k(self) -> bool:
        """Whether there are more blocks where only the sums are longer."""
        return bool(np.prod(self.elsewhere(self.m, self.k + 64, self.n).grid) > np.prod(self.grid))

    @property
    def grid_taken_for_both(self) -> bool:
        """Whether the number of blocks goes with one size of C, and the number of threads in each with the other."""
        if (
            self.grid[1:] != (1, 1)
            or self.block[1:] != (1, 1)
            or max(self.grid[0], self.block[0]) >= min(self.m, self.n)
        ):
            return False
        wide, high = self.elsewhere(self.m, 4, 4 * self.n), self.elsewhere(4 * self.m, 4, self.n)
        along_x, along_y = (each.grid[0] > self.grid[0] for each in (wide, high))
        threads_x, threads_y = (each.block[0] > self.block[0] for each in (wide, high))
        return along_x == threads_y != along_y == threads_x

    def reached(self, apart_x: int, apart_y: int) -> Matrix:
        """The elements that are written where blocks begin so many threads apart along x and along y."""
        rows, columns = (
            (apart * np.arange(blocks)[:, np.newaxis] + np.arange(threads)).ravel()
            for apart, blocks, threads in zip((apart_y, apart_x), self.grid[1::-1], self.block[1::-1], strict=True)
        )
        return np.outer(np.isin(np.arange(self.m), rows), np.isin(np.arange(self.n), columns))

    @property
    def only_the_first_block(self) -> bool:
        """Whether what was written is one block's, and several blocks wrote it."""
        one = self.corner in (self.block[:2], self.block[1::-1])
        return one and int(np.prod(self.grid)) > 1 and bool(self.found("race", "c"))

    @property
    def blocks_apart_by_the_other_axis(self) -> bool:
        """Whether blocks begin as far apart along an axis as a block is long along the other."""
        written, (x, y) = self.run.written.get("c"), self.block[:2]
        if written is None or written.all() or not written.any() or self.only_the_first_block:
            return False
        if np.array_equal(written, self.reached(x, y)):
            return False
        return any(np.array_equal(written, self.reached(*apart)) for apart in ((y, y), (x, x), (y, x)))

    @property
    def c_untouched(self) -> bool:
        """Whether kernels ran to their end and left all of C, and A and B, as they were."""
        if self.launch is None or self.run.fault is not None or self.run.written["c"].any():
            return False
        return all(np.array_equal(self.run.outputs.get(name, before), before) for name, before in self.inputs)

    @property
    def inputs(self) -> tuple[tuple[str, np.ndarray], ...]:
        return tuple((name, self.request.arguments[name]) for name in "ab")

    @property
    def lanes_lie_along_rows(self) -> bool:
        """Whether neighbouring threads store elements of C that lie above one another: an experiment."""
        other = self.elsewhere(32, 8, 64)  # no array but C has this shape
        return any((each.shape, each.elements) == ((32, 64), 64) for each in other.lane_steps("store"))

    @property
    def stores(self) -> int:
        """Requests to store into global memory, whatever array it was."""
        return self.simulated.counters.global_store_requests if self.simulated.counted else 0

    @property
    def stores_an_element(self) -> float:
        """How often each element of C is stored, if every lane stores one."""
        return 32 * self.stores / (self.m * self.n)

    @property
    def instructions(self) -> float:
        """Of a warp, for each further multiply-add, as the compiler leaves them: of a sum that is 64 terms longer."""
        longer = self.elsewhere(self.m, self.k + 64, self.n)
        return (longer.issued - self.issued) / (64 * self.m * self.n / 32)

    @property
    def issued(self) -> int:
        """Instructions that warps execute, as the compiler leaves them."""
        compiled = (each.compiled for each in self.simulated.launches)
        return sum(each.issued_warp_instructions for each in compiled if each is not None)

    @property
    def rounds(self) -> int:
        """Of loops over a range that are not written out, by all warps."""
        return self.simulated.counters.loop_rounds if self.simulated.counted else 0

    @property
    def limited_by(self) -> str:
        """What limits the longest launch at a size that the bonus asks for, by the estimate: an experiment."""
        attempt, trials = self.attempt, list(self.trials)
        side = LIKE_THE_BONUS
        run = attempt.simulate(
            replace(product(attempt, self.request.function, side, side, side, real=True), sample_blocks=2), may_fault=True
        )
        attempt.trials[:] = trials  # the attempt is still about what failed
        found = [each.estimate for each in run.launches if each.estimate is not None]
        return max(found, key=lambda each: each.ns).binding if found else ""


misconception = recogniser(MatmulEvidence, lambda attempt: product(attempt, "matmul", 64, 64, 64))


# ---- the product itself: right_on_square_matrices --------------------------------------------------------------------


@misconception("right_on_square_matrices", shows=witness.NO_LAUNCH)
def never_launched(seen: MatmulEvidence) -> bool:
    """No kernel was launched: matmul_kernel[grid, block] starts when it is called with its arguments, (a, b, c)."""
    return seen.never_launched


@misconception("right_on_square_matrices", shows=witness.not_counted("global_store_requests"))
def nothing_stored(seen: MatmulEvidence) -> bool:
    """The kernel ran and stored nothing into C. A thread's sum gets there by c[row, col] = total; == would compare. Of
    a function that is defined twice the last definition counts."""
    return seen.c_untouched and seen.stores == 0


@misconception("right_on_square_matrices", shows=witness.counted("global_store_requests"))
def stored_elsewhere(seen: MatmulEvidence) -> bool:
    """The kernel stores into an array that `matmul` has made itself. Its caller looks at the c that it handed over:
    give the kernel that one. What `matmul` returns is not looked at."""
    return seen.c_untouched and seen.stores > 0


@misconception("right_on_square_matrices", "writes_every_element", shows=witness.LAUNCH & witness.LEFT_OUT)
def block_dim_of_the_other_axis(seen: MatmulEvidence) -> bool:
    """Along x or y, blocks of {seen.block[0]} x {seen.block[1]} threads begin as far apart as they are long along the
    other axis: they overlap or leave gaps. The column is blockIdx.x * blockDim.x + threadIdx.x, the row the same with
    y."""
    return seen.launch is not None and seen.blocks_apart_by_the_other_axis


@misconception(
    "right_on_square_matrices", "writes_every_element",
    shows=witness.RESULT | witness.LEFT_OUT | witness.FAULT | witness.outside(),
)
def sizes_of_the_notebook(seen: MatmulEvidence) -> bool:
    """Matrices as large as those of the cell that tries them go well, and others do not: a size is that cell's (m, k,
    n), and not the matrices' own. Take every size from a.shape, b.shape or c.shape, in the kernel and on the host."""
    if not seen.right_where_tried or seen.elsewhere(seen.m, seen.k, seen.n).is_right:  # what a GPU refused may be right
        return False
    return not seen.elsewhere(*JUST_LARGER).is_right  # else nothing was taken from there: more blocks go wrong


@misconception("right_on_square_matrices", shows=witness.RESULT)
def swapped_indices(seen: MatmulEvidence) -> bool:
    """The result is a product of transposed matrices: row and column have changed places somewhere. c[row, col] sums
    a[row, i] * b[i, col]: the row comes first in A and in C, the column second in B and in C."""
    forms = (lambda a, b: (a @ b).T, lambda a, b: a.T @ b, lambda a, b: a @ b.T, lambda a, b: a.T @ b.T)
    return any(seen.gave(form) for form in forms)


@misconception("right_on_square_matrices", shows=witness.RESULT)
def swapped_operands(seen: MatmulEvidence) -> bool:
    """The result is B @ A, which is another matrix: look at the order of the arguments in the launch."""
    return seen.gave(lambda a, b: b @ a)


@misconception("right_on_square_matrices", shows=witness.RESULT)
def elementwise_product(seen: MatmulEvidence) -> bool:
    """Each element is a[row, col] * b[row, col]. A matrix product sums a[row, i] * b[i, col] over every i."""
    return seen.gave(lambda a, b: a * b)


@misconception("right_on_square_matrices", shows=witness.RESULT)
def keeps_only_the_last_product(seen: MatmulEvidence) -> bool:
    """Only the loop's last product is left in each element: add to a running total instead of replacing it."""
    return seen.gave(lambda a, b: np.outer(a[:, -1], b[-1]))


@misconception("right_on_square_matrices", shows=witness.outside() | witness.RESULT)
def off_by_one_loop(seen: MatmulEvidence) -> bool:
    """The loop takes one step too many or too few. With k = {seen.k} the indices of a sum are 0 to k - 1, which is what
    range(k) gives."""
    first_missing, last_missing = lambda a, b: a[:, 1:] @ b[1:], lambda a, b: a[:, :-1] @ b[:-1]
    return seen.gave(first_missing) or seen.gave(last_missing) or (seen.past_both and not seen.right_where_tried)


@misconception("right_on_square_matrices", shows=witness.unset("global"))
def accumulates_into_uninitialised_c(seen: MatmulEvidence) -> bool:
    """C is added to before it was set. Device memory starts with whatever was there: keep the sum in a variable of the
    thread that begins at zero, and store it once."""
    if seen.attempt.wrong is None:  # what is read and not added does no harm to a sum
        return False
    return bool(seen.found("uninitialised_read", "c")) and not seen.c_untouched


@misconception(shows=witness.CHANGED)
def writes_its_input(seen: MatmulEvidence) -> bool:
    """A or B is stored into, and other threads (or the caller) still need it: keep what a thread works out in a local
    variable, and write to C only."""
    after = [(seen.run.outputs.get(name), before) for name, before in seen.inputs]
    return any(now is not None and not np.array_equal(now, before) for now, before in after)


@misconception(shows=witness.FAULT)
def endless_loop(seen: MatmulEvidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at?"""
    return seen.runs_on


@misconception("right_on_square_matrices", shows=witness.LEFT_OUT)
def unwritten_border(seen: MatmulEvidence) -> bool:
    """The last row or column is never written: `row < m` already stops before m, so it needs no `- 1`."""
    return seen.lacks_a_border and seen.elsewhere(seen.m + 3, seen.k, seen.n + 7).lacks_a_border


@misconception("right_on_square_matrices", shows=witness.race("global"))
def forgets_the_block_index(seen: MatmulEvidence) -> bool:
    """Every block computes the elements of the first: threadIdx counts within a block only. Add blockIdx * blockDim, or
    use cuda.grid(2)."""
    return seen.only_the_first_block


@misconception("right_on_square_matrices", shows=witness.LAUNCH & witness.LEFT_OUT)
def grid_dim_for_block_dim(seen: MatmulEvidence) -> bool:
    """The blocks overlap: each begins gridDim threads after the one before, and gridDim is the number of blocks. Add
    blockIdx * blockDim, which is the number of threads in a block."""
    (across, down), (x, y) = seen.grid[:2], seen.block[:2]
    reached = ((down - 1) * down + y, (across - 1) * across + x)
    return across * down > 1 and seen.corner in (reached, reached[::-1]) and reached != (seen.down, seen.across)


@misconception("right_on_square_matrices", shows=witness.LAUNCH)
def block_forgotten(seen: MatmulEvidence) -> bool:
    """The launch has {seen.grid[0]} x 1 blocks of {seen.block[0]} x 1 threads: the two numbers of the grid were taken
    for grid and block. Give it the block as well: matmul_kernel[grid, block](a, b, c), each of them two numbers."""
    return seen.launch is not None and seen.grid_taken_for_both


@misconception("right_on_square_matrices", shows=witness.LAUNCH & witness.LEFT_OUT)
def one_number_of_two(seen: MatmulEvidence) -> bool:
    """Threads are launched along x and y, and the kernel asks for x alone: cuda.grid(1) is the same for all threads
    above one another. cuda.grid(2) gives both."""
    reached = np.arange(seen.m * seen.n) < seen.across
    written = seen.run.written.get("c")
    flat = written is not None and not written.all() and np.array_equal(written.ravel(), reached)
    return seen.down > 1 and flat and (seen.block[1] == 1 or seen.same_along_y)


@misconception("right_on_square_matrices", shows=witness.LAUNCH & witness.LEFT_OUT)
def threads_along_x_only(seen: MatmulEvidence) -> bool:
    """All {seen.threads} threads lie along x, so that y is 0 for each of them, and only one row or column of C is
    computed. For cuda.grid(2) a grid and a block need two numbers each: matmul_kernel[(2, 3), (16, 16)]."""
    return seen.launch is not None and seen.down == 1 and seen.corner in ((1, seen.n), (seen.m, 1))


@misconception("writes_every_element", "right_on_a_larger_product", shows=witness.LAUNCH & witness.LEFT_OUT)
def grid_grows_with_k(seen: MatmulEvidence) -> bool:
    """The grid grows with k, the length of the sums, and leaves elements of C without a thread. x needs as many threads
    as C has columns, c.shape[1], and y as many as it has rows, c.shape[0]."""
    too_few = seen.corner is not None and (seen.across < seen.n or seen.down < seen.m)
    return too_few and seen.grid_grows_with_k


@misconception("right_on_square_matrices", "writes_every_element", shows=witness.LAUNCH & witness.LEFT_OUT)
def too_few_blocks(seen: MatmulEvidence) -> bool:
    """The launch has {seen.across} x {seen.down} threads for {seen.n} columns x {seen.m} rows. Divide each size by the
    block's and round up, not down."""
    covered = seen.corner in ((seen.down, seen.across), (seen.across, seen.down))
    if seen.launch is None or not covered or seen.grid_along_wrong_axes_anywhere or seen.grid_taken_for_both:
        return False
    return seen.attempt.check == "right_on_square_matrices" or not (seen.is_fixed_launch or seen.grid_grows_with_k)


@misconception("works_in_any_order", shows=witness.BARRIER)
def barrier_for_some(seen: MatmulEvidence) -> bool:
    """A cuda.syncthreads() is reached by some threads of a block and not by all, so that those who come may wait for
    ever. Let threads without an element reach it too, or leave it out where threads share nothing."""
    return bool(seen.found("divergent_barrier"))


@misconception("works_in_any_order", shows=witness.race("shared"))
def missing_barrier(seen: MatmulEvidence) -> bool:
    """Some threads read a tile that others are still filling, or fill one that others still read. cuda.syncthreads()
    belongs after a tile is filled, and again before it is filled anew."""
    return bool(seen.overtaken("shared", "reads") or seen.overtaken("shared", "writes"))


# ---- inside its arrays: stays_inside_its_arrays ----------------------------------------------------------------------


@misconception("stays_inside_its_arrays", shows=witness.LAUNCH & witness.outside("c", in_launch=True))
def missing_guard(seen: MatmulEvidence) -> bool:
    """The grid has {seen.threads} threads for {seen.m} x {seen.n} elements, and those beyond the edge work too. Let a
    thread do nothing unless its row and its column exist."""
    return seen.broken_guard == "missing_guard"


@misconception("stays_inside_its_arrays", shows=witness.outside("c"))
def guard_with_or(seen: MatmulEvidence) -> bool:
    """Only the far corner is kept out. A thread may go on if its row exists and its column exists, not just one."""
    return seen.broken_guard == "guard_with_or"


@misconception("stays_inside_its_arrays", shows=witness.outside("c"))
def swapped_guard(seen: MatmulEvidence) -> bool:
    """The guard compares the row with the number of columns, and the column with the number of rows. Rows end at
    c.shape[0], columns at c.shape[1]."""
    return seen.broken_guard == "swapped_guard"


@misconception("stays_inside_its_arrays", shows=witness.outside("c"))
def guard_too_wide(seen: MatmulEvidence) -> bool:
    """A guard keeps out some of the threads beyond the edge and lets others through. A row exists if it is below
    c.shape[0] = {seen.m}, a column if it is below c.shape[1] = {seen.n}: below, and not equal."""
    return seen.broken_guard == "guard_too_wide"


@misconception("stays_inside_its_arrays", shows=witness.outside("c"))
def square_only(seen: MatmulEvidence) -> bool:
    """One size is used for all, as if the matrices were square. There are three: C has m rows and n columns, and each
    sum has k terms."""
    return seen.broken_guard == "square_only"


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def guard_only_around_the_store(seen: MatmulEvidence) -> bool:
    """The guard keeps the store inside C, but threads without an element still read A and B: guard the loop as well."""
    return not seen.broken_guard and (seen.outside("a", 0, seen.m) or seen.outside("b", 1, seen.n))


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def reads_past_the_end(seen: MatmulEvidence) -> bool:
    """Rows of A and columns of B end at index {seen.k} - 1 here, and what lies after that belongs to no product: read it
    only where it exists."""
    return not seen.broken_guard and seen.past_k


@misconception("stays_inside_its_arrays", shows=witness.BELOW_ZERO)
def negative_index(seen: MatmulEvidence) -> bool:
    """Index -1 is the last element, in Python as in a kernel, and is seldom meant here: count from 0."""
    return bool(seen.found("negative_index"))


# ---- every element, every size ---------------------------------------------------------------------------------------


@misconception("writes_every_element", shows=witness.LAUNCH & witness.LEFT_OUT)
def swapped_grid_axes(seen: MatmulEvidence) -> bool:
    """There are enough blocks, but along the wrong axes: x counts columns in the kernel and rows in the launch. The
    first number of grid and of block belongs to x."""
    return seen.grid_along_wrong_axes_anywhere


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def skips_the_remainder(seen: MatmulEvidence) -> bool:
    """The last few products of each sum are missing: k = {seen.k} is no multiple of the loop's step, so a remainder is
    left to add."""
    lengths = {seen.k - seen.k % step for step in (2, 4, 8, 16, 32)} - {seen.k}
    return any(seen.gave(lambda a, b, k=length: a[:, :k] @ b[:k]) for length in lengths)


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def wrong_loop_length(seen: MatmulEvidence) -> bool:
    """The sums have as many terms as C has rows or columns; they need k = {seen.k}, which is a.shape[1]."""
    return any(seen.gave(lambda a, b, k=side: a[:, :k] @ b[:k]) for side in (seen.m, seen.n) if side < seen.k)


@misconception("right_on_tiny_matrices", shows=witness.FAULT)
def empty_launch(seen: MatmulEvidence) -> bool:
    """For the smallest matrices the launch has no thread at all: grid and block are at least 1 along each axis."""
    nothing = seen.ended_by in ("empty_launch", "division_by_zero")  # the second: by the threads of a block without any
    return nothing and min(seen.m, seen.n) == 1


@misconception("right_on_a_larger_product", shows=witness.FAULT)
def block_and_grid_swapped(seen: MatmulEvidence) -> bool:
    """Grid and block have changed places: a launch is kernel[grid, block], first the blocks, then a block's threads."""
    first = seen.in_question(seen.trials[0].run)
    if seen.run.fault is None or first is None or first.block == (1, 1, 1):
        return False
    (across, down), (m, n) = first.grid[:2], seen.trials[0].request.arguments["c"].shape
    return first.block[:2] in ((-(-n // across), -(-m // down)), (-(-m // across), -(-n // down)))


@misconception("writes_every_element", "right_on_a_larger_product", shows=witness.LAUNCH & witness.LEFT_OUT)
def fixed_launch(seen: MatmulEvidence) -> bool:
    """Every launch has {seen.grid[0]} x {seen.grid[1]} blocks, whatever the sizes: work the grid out from C's shape."""
    return seen.run.fault is None and seen.corner is not None and seen.is_fixed_launch


@misconception("writes_every_element", shows=witness.LAUNCH & witness.race("global", in_launch=True))
def idle_threads_work_too(seen: MatmulEvidence) -> bool:
    """All is right, and {seen.threads} threads compute {seen.m} x {seen.n} elements: those beyond the matrix take an
    element that another thread has, and several store it. A thread without an element of its own has nothing to do: let
    it store nothing."""
    return seen.is_right and seen.threads > seen.m * seen.n and bool(seen.found("race", "c"))


@misconception("right_on_a_larger_product", shows=witness.RESULT)
def integer_accumulator(seen: MatmulEvidence) -> bool:
    """Every element is a whole number: the sum, or what is added to it, is an integer, which drops all that follows the
    point. Begin at 0.0, and add the products as they are."""
    wrong = seen.attempt.wrong
    return wrong is not None and bool(np.array_equal(wrong.got, np.rint(wrong.got)))


@misconception("right_on_a_larger_product", shows=witness.RESULT)
def low_precision(seen: MatmulEvidence) -> bool:
    """The elements are right to about three digits: add up in float32, which has 24 bits, not in float16 with 11."""
    return seen.lost_precision


# ---- speed: walks_along_the_rows_of_b, faster_than_the_baseline ------------------------------------------------------


@misconception(shows=witness.LAUNCH)
def one_thread_does_everything(seen: MatmulEvidence) -> bool:
    """One thread does all the work. Give each element of C a thread of its own, and launch that many."""
    return seen.threads == 1 and not seen.grid_taken_for_both


@misconception("shares_out_the_work", shows=witness.LAUNCH)
def every_thread_does_everything(seen: MatmulEvidence) -> bool:
    """All {seen.threads} threads compute all of C. Let each find its own row and column, and compute that element."""
    return seen.threads >= seen.m * seen.n and seen.times_over > seen.threads / 2


@misconception("shares_out_the_work", "walks_along_the_rows_of_b", shows=witness.LAUNCH)
def one_thread_a_row(seen: MatmulEvidence) -> bool:
    """The {seen.threads} threads work through {seen.m} x {seen.n} elements, many each: give every element a thread."""
    return 1 < seen.threads <= seen.m * seen.n / MANY and seen.times_over >= 1


@misconception("faster_than_the_baseline", shows=witness.LAUNCH)
def grid_counts_threads(seen: MatmulEvidence) -> bool:
    """The launch has {seen.grid[0]} x {seen.grid[1]} blocks for {seen.n} columns x {seen.m} rows. A grid counts blocks, not
    threads: divide each size by the block's, and round up."""
    return seen.threads > 16 * seen.m * seen.n and seen.grid[0] >= seen.n and int(np.prod(seen.block)) > 16


@misconception("walks_along_the_rows_of_b", "faster_than_the_baseline", shows=witness.LAUNCH)
def one_thread_a_block(seen: MatmulEvidence) -> bool:
    """A block of one thread fills one lane of a warp, the other 31 do nothing: take a few hundred threads a block and so
    many fewer blocks, and let each thread find its element by cuda.grid(2)."""
    return seen.threads > 1 and np.prod(seen.block) == 1


@misconception(
    "walks_along_the_rows_of_b",
    "faster_than_the_baseline",
    shows=witness.lanes("store", apart=lambda seen: seen.n),
)
def transposed_mapping(seen: MatmulEvidence) -> bool:
    """Consecutive threads (x counts first) work on consecutive rows, so each reads another row of A. Let them work on
    consecutive columns, with x along C's columns in the launch as well: then they read neighbours in one row of B."""
    return seen.threads >= seen.m * seen.n and seen.sectors > POORLY_COALESCED and seen.lanes_lie_along_rows


@misconception("walks_along_the_rows_of_b", "faster_than_the_baseline", shows=witness.lanes("load"))
def loads_far_apart(seen: MatmulEvidence) -> bool:
    """Neighbouring threads (x counts first) load elements that do not lie side by side, and a request moves many more
    sectors than its numbers fill. Let those that sit side by side in a warp load what lies side by side in memory, in
    each array."""
    far = any(abs(each.elements) > 1 for each in seen.lane_steps("load"))
    return seen.sectors > POORLY_COALESCED and int(np.prod(seen.block)) > 1 and far and not seen.lanes_lie_along_rows


# ---- the bonus: faster_at_other_sizes_too ----------------------------------------------------------------------------


@misconception("faster_at_other_sizes_too", shows=witness.compiled("issued_warp_instructions"))
def loop_of_many_instructions(seen: MatmulEvidence) -> bool:
    """A multiply-add takes {seen.instructions:.0f} instructions of a warp, and by the estimate it is these that hold the
    kernel up. Two loads and a multiply-add are what they are for; most others count, and work out both addresses anew. A
    `for` over a range costs that in Numba where its length is known at the launch only. Count by yourself, in a `while`:
    lesson 1b's takes 8."""
    return seen.rounds > 0 and seen.instructions >= MANY_INSTRUCTIONS and seen.limited_by == "issue"


@misconception("faster_at_other_sizes_too", shows=witness.counted("global_store_requests"))
def sums_kept_in_c(seen: MatmulEvidence) -> bool:
    """Each element of C is stored {seen.stores_an_element:.0f} times: the sum lives in C, and every product goes there and
    back. Keep it in a variable of the thread, and store it once."""
    return seen.stores_an_element >= seen.k
