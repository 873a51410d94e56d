"""Lab 1's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the `Evidence` filled in; it returns whether the evidence fits. They stand in the order of the checks they go with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property

import numpy as np

from autograder.devices import Launch, Run, Uninitialised
from autograder.grading import Attempt, hint
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.interpreter import WorkLimit

POORLY_COALESCED = 4.0  # sectors a load request beyond which the mapping is to blame
Matrix = np.ndarray


class Evidence:
    """What the last run of a failed check showed, in terms of C = A @ B with A (m, k) and B (k, n)."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.trials = attempt.trials
        self.request, self.run = self.trials[-1].request, self.trials[-1].run
        self.a, self.b = (self.request.arguments[name].astype(np.float64) for name in "ab")
        (self.m, self.k), self.n = self.a.shape, self.b.shape[1]
        self.launch: Launch | None = self.run.launches[0] if self.run.launches else None
        self.grid, self.block = (self.launch.grid, self.launch.block) if self.launch else ((0, 0, 0), (0, 0, 0))
        self.across, self.down = self.grid[0] * self.block[0], self.grid[1] * self.block[1]  # threads along x and y
        self.threads = int(np.prod(self.grid) * np.prod(self.block))

    @cached_property
    def simulated(self) -> Run:
        """The same call on the simulated GPU, for hazards and counts."""
        measured = self.run.source == "measured"
        return self.attempt.run(self.request, on="simulated", may_fault=True) if measured else self.run

    @property
    def sectors(self) -> float:
        return self.simulated.counters.global_load_sectors_per_request if self.simulated.counters else 0.0

    def gave(self, formula: Callable[[Matrix, Matrix], Matrix]) -> bool:
        """Whether the wrong output is exactly this formula of the inputs (whole numbers: nothing is rounded)."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem:
            return False
        try:
            guess = formula(self.a, self.b)
        except ValueError:  # shapes that do not go together
            return False
        return guess.shape == wrong.got.shape and bool(np.array_equal(guess, wrong.got))

    def found(self, kind: str, array: str | None = None) -> tuple[Hazard, ...]:
        """The hazards of this kind, on this array if one is named."""
        return tuple(h for h in self.simulated.hazards if h.kind == kind and array in (None, h.array))

    def outside(self, array: str, axis: int, size: int) -> bool:
        """Whether some access to the array was beyond `size` along this axis."""
        return any(h.index and h.index[axis] >= size for h in self.found("out_of_bounds", array))

    @property
    def past_k(self) -> bool:
        """Whether a sum ran past the end of a row of A or of a column of B."""
        return self.outside("a", 1, self.k) or self.outside("b", 0, self.k)

    @property
    def corner(self) -> tuple[int, int] | None:
        """(rows, columns) where exactly the top left corner of that size was written, and not all of C."""
        written = self.run.written.get("c")
        if written is None or written.all():
            return None
        rows, columns = int(written.any(axis=1).sum()), int(written.any(axis=0).sum())
        return (rows, columns) if written[:rows, :columns].all() and written.sum() == rows * columns else None

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
        return "missing_guard" if stray else ""


def misconception(*checks: str) -> Callable[[Callable[[Evidence], bool]], Callable]:
    """Makes a function like those below a hint of these checks (none named: of all)."""

    def mark(fits: Callable[[Evidence], bool]) -> Callable:
        text = " ".join((inspect.getdoc(fits) or "").split())

        def recognise(attempt: Attempt) -> str | None:
            if attempt.comparison is not None and not attempt.trials:  # a comparison does not show how it launched
                a, b = attempt.uniform((64, 64)), attempt.uniform((64, 64))
                attempt.simulate("matmul", a=a, b=b, c=Uninitialised((64, 64), np.float32), may_fault=True)
            seen = Evidence(attempt) if attempt.trials else None
            return text.format(seen=seen) if seen and fits(seen) else None

        return hint(fits.__name__, checks=checks)(recognise)

    return mark


# ---- the product itself: right_on_square_matrices --------------------------------------------------------------------


@misconception("right_on_square_matrices")
def never_launched(seen: Evidence) -> bool:
    """No kernel was launched: matmul_kernel[grid, block] starts when it is called with its arguments, (a, b, c)."""
    return seen.launch is None and seen.run.fault is None


@misconception("right_on_square_matrices")
def swapped_indices(seen: Evidence) -> bool:
    """The result is a product of transposed matrices: row and column have changed places somewhere. c[row, col] sums
    a[row, i] * b[i, col]: the row comes first in A and in C, the column second in B and in C."""
    forms = (lambda a, b: (a @ b).T, lambda a, b: a.T @ b, lambda a, b: a @ b.T, lambda a, b: a.T @ b.T)
    return any(seen.gave(form) for form in forms)


@misconception("right_on_square_matrices")
def swapped_operands(seen: Evidence) -> bool:
    """The result is B @ A, which is another matrix: look at the order of the arguments in the launch."""
    return seen.gave(lambda a, b: b @ a)


@misconception("right_on_square_matrices")
def elementwise_product(seen: Evidence) -> bool:
    """Each element is a[row, col] * b[row, col]. A matrix product sums a[row, i] * b[i, col] over every i."""
    return seen.gave(lambda a, b: a * b)


@misconception("right_on_square_matrices")
def keeps_only_the_last_product(seen: Evidence) -> bool:
    """Only the loop's last product is left in each element: add to a running total instead of replacing it."""
    return seen.gave(lambda a, b: np.outer(a[:, -1], b[-1]))


@misconception("right_on_square_matrices")
def off_by_one_loop(seen: Evidence) -> bool:
    """The loop takes one step too many or too few. With k = {seen.k} the indices of a sum are 0 to k - 1, which is what
    range(k) gives."""
    first_missing, last_missing = lambda a, b: a[:, 1:] @ b[1:], lambda a, b: a[:, :-1] @ b[:-1]
    return seen.gave(first_missing) or seen.gave(last_missing) or seen.past_k


@misconception("right_on_square_matrices")
def accumulates_into_uninitialised_c(seen: Evidence) -> bool:
    """C is added to before it was set. Device memory starts with whatever was there: begin each sum at zero."""
    return bool(seen.found("uninitialised_read", "c"))


@misconception()
def writes_its_input(seen: Evidence) -> bool:
    """A or B is stored into, and other threads (or the caller) still need it: keep what a thread works out in a local
    variable, and write to C only."""
    after = [(seen.run.outputs.get(name), seen.request.arguments[name]) for name in "ab"]
    return any(now is not None and not np.array_equal(now, before) for now, before in after)


@misconception()
def endless_loop(seen: Evidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at?"""
    fault = seen.run.fault
    return isinstance(fault, WorkLimit) or (fault is not None and "took longer than" in fault.message)


@misconception("right_on_square_matrices")
def unwritten_border(seen: Evidence) -> bool:
    """The last row or column is never written: `row < m` already stops before m, so it needs no `- 1`."""
    return seen.corner in ((seen.m - 1, seen.n - 1), (seen.m - 1, seen.n), (seen.m, seen.n - 1))


@misconception("right_on_square_matrices")
def forgets_the_block_index(seen: Evidence) -> bool:
    """Every block computes the elements of the first: threadIdx counts within a block only. Add blockIdx * blockDim, or
    use cuda.grid(2)."""
    return np.prod(seen.grid) > 1 and seen.corner in (seen.block[:2], seen.block[1::-1])


@misconception("right_on_square_matrices", "writes_every_element")
def too_few_blocks(seen: Evidence) -> bool:
    """The launch has {seen.across} x {seen.down} threads for {seen.n} columns x {seen.m} rows. Divide each size by the
    block's and round up, not down."""
    covered = seen.corner in ((seen.down, seen.across), (seen.across, seen.down))
    return seen.launch is not None and covered and not _grid_along_wrong_axes(seen)


@misconception("works_in_any_order")
def missing_barrier(seen: Evidence) -> bool:
    """Some threads read a tile that others are still filling, or fill one that others still read. cuda.syncthreads()
    belongs after a tile is filled, and again before it is filled anew."""
    return any(each.array not in "abc" for each in seen.found("race"))


# ---- inside its arrays: stays_inside_its_arrays ----------------------------------------------------------------------


@misconception("stays_inside_its_arrays")
def missing_guard(seen: Evidence) -> bool:
    """The grid has {seen.threads} threads for {seen.m} x {seen.n} elements, and those beyond the edge work too. Let a
    thread do nothing unless its row and its column exist."""
    return seen.broken_guard == "missing_guard"


@misconception("stays_inside_its_arrays")
def guard_with_or(seen: Evidence) -> bool:
    """Only the far corner is kept out. A thread may go on if its row exists and its column exists, not just one."""
    return seen.broken_guard == "guard_with_or"


@misconception("stays_inside_its_arrays")
def swapped_guard(seen: Evidence) -> bool:
    """The guard compares the row with the number of columns, and the column with the number of rows."""
    return seen.broken_guard == "swapped_guard"


@misconception("stays_inside_its_arrays")
def square_only(seen: Evidence) -> bool:
    """One size is used for all, as if the matrices were square. There are three: C has m rows and n columns, and each
    sum has k terms."""
    return seen.broken_guard == "square_only"


@misconception("stays_inside_its_arrays")
def guard_only_around_the_store(seen: Evidence) -> bool:
    """The guard keeps the store inside C, but threads without an element still read A and B: guard the loop as well."""
    return not seen.broken_guard and (seen.outside("a", 0, seen.m) or seen.outside("b", 1, seen.n))


@misconception("stays_inside_its_arrays")
def reads_past_the_end(seen: Evidence) -> bool:
    """Rows of A and columns of B end at index {seen.k} - 1 here: what is read after that belongs to no product."""
    return not seen.broken_guard and seen.past_k


@misconception("stays_inside_its_arrays")
def negative_index(seen: Evidence) -> bool:
    """Index -1 is the last element, in Python as in a kernel, and is seldom meant here: count from 0."""
    return bool(seen.found("negative_index"))


# ---- every element, every size ---------------------------------------------------------------------------------------


def _grid_along_wrong_axes(seen: Evidence) -> bool:
    across, down = seen.block[:2]
    covers_transpose = across and (seen.across, seen.down) == (-(-seen.m // across) * across, -(-seen.n // down) * down)
    return bool(covers_transpose) and (seen.across < seen.n or seen.down < seen.m)


@misconception("writes_every_element")
def swapped_grid_axes(seen: Evidence) -> bool:
    """There are enough blocks, but along the wrong axes: x counts columns in the kernel and rows in the launch. The
    first number of grid and of block belongs to x."""
    return _grid_along_wrong_axes(seen)


@misconception("right_on_ragged_matrices")
def skips_the_remainder(seen: Evidence) -> bool:
    """The last few products of each sum are missing: k = {seen.k} is no multiple of the loop's step, so a remainder is
    left to add."""
    lengths = {seen.k - seen.k % step for step in (2, 4, 8, 16, 32)} - {seen.k}
    return any(seen.gave(lambda a, b, k=length: a[:, :k] @ b[:k]) for length in lengths)


@misconception("right_on_ragged_matrices")
def wrong_loop_length(seen: Evidence) -> bool:
    """The sums have as many terms as C has rows or columns; they need k = {seen.k}, which is a.shape[1]."""
    return any(seen.gave(lambda a, b, k=side: a[:, :k] @ b[:k]) for side in (seen.m, seen.n) if side < seen.k)


@misconception("right_on_tiny_matrices")
def empty_launch(seen: Evidence) -> bool:
    """For the smallest matrices the launch has no thread at all: grid and block are at least 1 along each axis."""
    return bool(seen.run.fault) and min(seen.m, seen.n) == 1


@misconception("right_on_a_larger_product")
def block_and_grid_swapped(seen: Evidence) -> bool:
    """Grid and block have changed places: a launch is kernel[grid, block], first the blocks, then a block's threads."""
    first = seen.trials[0].run.launches
    if not (seen.run.fault and first) or first[0].block == (1, 1, 1):
        return False
    (across, down), (m, n) = first[0].grid[:2], seen.trials[0].request.arguments["c"].shape
    return first[0].block[:2] in ((-(-n // across), -(-m // down)), (-(-m // across), -(-n // down)))


@misconception("right_on_a_larger_product")
def fixed_launch(seen: Evidence) -> bool:
    """Every launch has {seen.grid[0]} x {seen.grid[1]} blocks, whatever the sizes: work the grid out from C's shape."""
    grids = {trial.run.launches[0].grid for trial in seen.trials if trial.run.launches}
    return len(seen.trials) > 1 and len(grids) == 1 and seen.run.fault is None and seen.corner is not None


@misconception("right_on_a_larger_product")
def integer_accumulator(seen: Evidence) -> bool:
    """Every element is a whole number: the sum is kept as an integer, which drops all that follows the point."""
    wrong = seen.attempt.wrong
    return wrong is not None and bool(np.array_equal(wrong.got, np.rint(wrong.got)))


@misconception("right_on_a_larger_product")
def low_precision(seen: Evidence) -> bool:
    """The elements are right to about three digits: add up in float32, which has 24 bits, not in float16 with 11."""
    wrong = seen.attempt.wrong
    if wrong is None or wrong.problem or (wrong.unwritten is not None and wrong.unwritten.any()):
        return False
    return 1e-6 < np.median(np.abs(wrong.got - wrong.expected) / (np.abs(seen.a) @ np.abs(seen.b))) < 1e-2


# ---- speed: walks_along_the_rows_of_b, faster_than_the_baseline ------------------------------------------------------


@misconception()
def one_thread_does_everything(seen: Evidence) -> bool:
    """One thread does all the work. Give each element of C a thread of its own, and launch that many."""
    return seen.threads == 1


@misconception("shares_out_the_work")
def every_thread_does_everything(seen: Evidence) -> bool:
    """All {seen.threads} threads compute all of C. Let each find its own row and column, and compute that element."""
    return seen.threads >= seen.m * seen.n


@misconception("shares_out_the_work", "walks_along_the_rows_of_b")
def one_thread_a_row(seen: Evidence) -> bool:
    """The {seen.threads} threads work through {seen.m} x {seen.n} elements, many each: give every element a thread."""
    return 1 < seen.threads < seen.m * seen.n


@misconception("walks_along_the_rows_of_b", "faster_than_the_baseline")
def one_thread_a_block(seen: Evidence) -> bool:
    """A block of one thread fills one lane of a warp, the other 31 do nothing: take a few hundred threads a block."""
    return seen.threads > 1 and np.prod(seen.block) == 1


@misconception("walks_along_the_rows_of_b", "faster_than_the_baseline")
def transposed_mapping(seen: Evidence) -> bool:
    """Consecutive threads (x counts first) work on consecutive rows, so each reads another row of A. Let x be the
    column: then they read neighbours in one row of B."""
    return seen.threads >= seen.m * seen.n and seen.sectors > POORLY_COALESCED
