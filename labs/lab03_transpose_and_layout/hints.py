"""Lab 3's known misconceptions, recognised by what the kernels did and never by how their source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in; it returns whether the evidence fits. They stand in the order of the checks they go with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, witness
from autograder.grading.evidence import Evidence, recogniser
from autograder.records.accesses import AccessKind
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch, RunRequest

from . import spec

TILES = (4, 8, 16, 32, 64)  # sides that students choose
BLOCK_ROWS = (2, 4, 8, 16)  # heights of a block that is lower than its tile
MULTIPROCESSORS = 132  # of an H200
FULL_BY_BLOCKS = 64  # threads: 32 such blocks, and no more may be there at a time, are the 2,048 that a multiprocessor holds
TRIED = ((64, 96), (75, 41))  # rows, columns in the notebook's cell that tries the transpose
Matrix = np.ndarray


class TransposeEvidence(Evidence):
    """What the last run showed of b = a.T, with a (rows, columns)."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self.a = self.request.arguments["a"]
        self.rows, self.columns = self.a.shape

    def elsewhere(self, rows: int, columns: int) -> TransposeEvidence:
        """What another transpose shows on the simulated GPU: an experiment, to tell two misconceptions apart."""
        attempt, trials = self.attempt, list(self.trials)
        attempt.simulate(spec.transposing(attempt, rows, columns), may_fault=True)
        other = type(self)(attempt)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return other

    @property
    def is_right(self) -> bool:
        """Whether the run ended and B is the transpose."""
        return self.run.fault is None and bool(np.array_equal(self.run.outputs["b"], self.a.T))

    @property
    def keeps_fractions(self) -> bool:
        """Whether numbers between -1 and 1 arrive as they are: an experiment."""
        attempt, trials = self.attempt, list(self.trials)
        request = spec.transposing(attempt, 64, 64)
        a = attempt.uniform((64, 64))
        run = attempt.simulate(replace(request, arguments={**request.arguments, "a": a}), may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return run.fault is None and bool(np.array_equal(run.outputs["b"], a.T))

    @property
    def lets_one_more_in(self) -> bool:
        """Whether a guard is wrong by one index: what strays then grows with the matrix, where without a guard it
        shrinks as the matrix fills its last tiles."""
        fewest, few, more = (self.elsewhere(side, side).strays for side in (61, 62, 63))
        step = more - few
        return 0 < step == few - fewest and abs(more - 63 * step) <= 2 * step

    @property
    def goes_well_when_square(self) -> bool:
        squares = [self.elsewhere(side, side) for side in (41, 35)]
        astray = any(each.found("out_of_bounds") or each.found("negative_index") for each in squares)
        return not astray and all(each.run.fault is None for each in squares)

    def gave(self, formula: Callable[..., Matrix]) -> bool:
        """Whether the wrong output is exactly this formula of A; what it is made for in a loop has a default."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem:
            return False
        with np.errstate(over="ignore"):
            guess = formula(self.a)
        return guess.shape == wrong.got.shape and bool(np.array_equal(guess, wrong.got))

    @property
    def shared_bytes(self) -> int:
        """Of the launch whose blocks have most: others may come before it."""
        return max((each.shared_bytes for each in self.simulated.launches), default=0)

    def on_tiles(self, kind: str) -> tuple[Hazard, ...]:
        """Hazards of this kind on shared arrays."""
        return tuple(each for each in self.found(kind) if each.space == "shared")

    @property
    def loads_outside(self) -> bool:
        """Whether something was loaded from outside A, whatever the kernel calls it."""
        return any(not each.writes for each in self.found("out_of_bounds") if each.space == "global")

    @property
    def stores_outside(self) -> bool:
        return any(each.writes for each in self.found("out_of_bounds") if each.space == "global")

    @property
    def has_a_row_too_many(self) -> bool:
        """Whether the tile is one or two rows or columns larger than a square."""
        return self.shared_bytes // 4 in {tile * (tile + extra) for tile in TILES for extra in (1, 2)}

    @property
    def rows_too_long_by_two(self) -> bool:
        """Whether the tile is two rows or columns larger than a square, and a request finds each bank twice."""
        longer = self.shared_bytes // 4 in {tile * (tile + 2) for tile in TILES}
        return longer and spec.worst_conflicts(self.simulated) == 1

    @property
    def leaves_gaps(self) -> bool:
        """Whether each thread of the first block stores one element into a tile that has many more: an experiment."""
        threads = self.block[0] * self.block[1]
        stored = [each for each in self.accesses("store", "shared") if each.block == (0, 0, 0)]
        who = {(each.warp, int(lane)) for each in stored for lane in np.flatnonzero(each.addresses >= 0)}
        places = {int(at) for each in stored for at in each.addresses if at >= 0}
        return len(places) == threads == len(who) and 2 * threads <= self.shared_bytes // 4

    @property
    def rows_of_the_tile_apart(self) -> bool:
        """Whether neighbouring lanes want elements of the tile that lie above one another: an experiment."""
        steps = [*self.lane_steps("load", "shared"), *self.lane_steps("store", "shared")]
        return any(abs(each.elements) == each.shape[-1] for each in steps)

    def above_one_another(self, kind: AccessKind) -> bool:
        """Whether neighbouring lanes load from different rows of A, or store into different rows of B: an
        experiment."""
        return any(abs(each.elements) == each.shape[-1] for each in self.lane_steps(kind))

    @property
    def stores_collide(self) -> bool:
        """Whether threads store into one element of a tile from one source line."""
        return any(each.line == each.other_line for each in self.on_tiles("race") if each.severity == "error")

    @property
    def stored(self) -> Matrix:
        """Which elements of b were written; where a fault of the GPU left nothing to look at, on the simulated one."""
        return (self.run if "b" in self.run.written else self.simulated).written["b"]

    @property
    def grid_along_wrong_axes(self) -> bool:
        """Whether long matrices come out in part, tall ones and wide ones, where a square one comes out whole."""
        tall, wide, square = (self.elsewhere(*shape) for shape in ((128, 32), (32, 128), (128, 128)))
        return not tall.stored.all() and not wide.stored.all() and bool(square.stored.all())

    @property
    def store_sectors(self) -> float:
        """Sectors per global store request."""
        return self.simulated.counters.global_store_sectors_per_request

    @property
    def lanes(self) -> float:
        """Useful float32 in each global load request."""
        counters = self.simulated.counters
        return counters.global_load_useful_bytes / 4 / max(1, counters.global_load_requests)


class FallEvidence(Evidence):
    """What the last run showed of points that fall."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        arguments = self.request.arguments
        self.points: Matrix = arguments["points"]
        self.dt: float = arguments["dt"]
        self.steps: int = arguments["steps"]
        self.launches = [each.kernel for each in self.run.launches]

    @property
    def only_steps(self) -> bool:
        """Whether no other kernel does anything."""
        return {each.kernel for each in self.at_work} == {"fall_kernel"}

    @property
    def step(self) -> Launch | None:
        """The first launch that takes a step."""
        return next((each for each in self.run.launches if each.kernel == "fall_kernel"), None)

    def elsewhere(self, points: int) -> FallEvidence:
        """What the fall of so many points shows on the simulated GPU: an experiment, to tell two misconceptions
        apart."""
        attempt, trials = self.attempt, list(self.trials)
        attempt.simulate(spec.falling(attempt, points, self.steps), may_fault=True)
        other = type(self)(attempt)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return other

    @property
    def is_sampled(self) -> bool:
        """Whether few blocks were carried out, which is what leaves most elements unwritten."""
        return self.request.sample_blocks is not None

    @property
    def points_fell(self) -> int | None:
        """How many points have changed, where these are the first ones, and the others lie where they were."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem:
            return None
        missed = np.atleast_1d(wrong.wrong.any(axis=1))
        first = int(missed.argmax())
        stayed = bool(missed[first:].all()) and np.array_equal(wrong.got[first:], self.points[first:])
        return first if first > 0 and stayed else None

    @property
    def step_shape(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Grid and block of the first step."""
        steps = [(each.grid, each.block) for each in self.run.launches if each.kernel == "fall_kernel"]
        return steps[0] if steps else None

    @property
    def point_count(self) -> int:
        return len(self.points)

    @property
    def step_threads(self) -> int:
        return int(np.prod(self.step_shape)) if self.step_shape else 0

    @property
    def step_blocks(self) -> int:
        return int(np.prod(self.step_shape[0])) if self.step_shape else 0

    @property
    def step_block_threads(self) -> int:
        return int(np.prod(self.step_shape[1])) if self.step_shape else 0

    @property
    def grid_has_one_size(self) -> bool:
        """Whether a step has the same grid for another number of points, which would take other blocks."""
        other = 300 if len(self.points) != 300 else 5000
        return self.step_shape is not None and self.elsewhere(other).step_shape == self.step_shape

    @property
    def few_points_go_well(self) -> bool:
        few = self.elsewhere(300)
        moved, magnitude = spec.fallen(few.request)
        if len(self.points) <= 300 or few.run.fault is not None or few.found("uninitialised_read"):
            return False
        return bool(np.all(np.abs(few.run.outputs["points"] - moved) <= 1e-4 * (magnitude + 1)))

    @property
    def layout_leaves_points_out(self) -> bool:
        """Whether the changes of layout store less for each point than they do where few points fall.

        After a fault nothing is known of those that were still to come.
        """
        if self.run.fault is not None:
            return False
        few = spec.layout_stores_a_point(self.elsewhere(300).run, 300)
        return spec.layout_stores_a_point(self.simulated, len(self.points)) < spec.LEAST_DONE * few

    @property
    def takes_points_for_fields(self) -> bool:
        """Whether a step's access was outside along the axis of the eight fields, with an index that is some
        point's."""
        steps = (each for each in self.found("out_of_bounds") if each.kernel == "fall_kernel")
        outside = (each.index for each in steps if each.index)
        return any(spec.FIELDS <= max(index) < len(self.points) for index in outside)

    @property
    def works_on_no_point(self) -> bool:
        """Whether it was a thread whose own number is no point's that went outside an array."""
        grids = {each.kernel: each.block[0] for each in self.simulated.launches}
        strays = (each for each in self.found("out_of_bounds") if each.block and each.thread and each.kernel in grids)
        numbers = (each.block[0] * grids[each.kernel] + each.thread[0] for each in strays if each.block and each.thread)
        return any(number >= len(self.points) for number in numbers)

    @property
    def all_right(self) -> bool:
        """Whether the points came to where they should be."""
        moved, magnitude = spec.fallen(self.request)
        got = self.run.outputs.get("points")
        ended = self.run.fault is None and got is not None
        return ended and bool(np.all(np.abs(got - moved) <= 1e-4 * (magnitude + 1)))

    @property
    def copies(self) -> bool:
        """Whether host code moved numbers."""
        return any(each.what in spec.COPIES for each in self.run.transfers)

    @property
    def steps_do_nothing(self) -> bool:
        """Whether no step stores anything, or all goes well where `dt` is a whole number."""
        steps = [each.counters for each in self.simulated.launches if each.kernel == "fall_kernel"]
        if steps and not any(each.global_store_requests for each in steps):
            return True
        attempt, request = self.attempt, replace(self.request, arguments={**self.request.arguments, "dt": 1.0})
        trials = list(self.trials)
        run = attempt.simulate(request, may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        moved, magnitude = spec.fallen(request)
        return run.fault is None and bool(np.all(np.abs(run.outputs["points"] - moved) <= 1e-4 * (magnitude + 1)))

    def came_to(self, moved: Matrix) -> bool:
        """Whether the points are where this float64 array has them, as far as float32 tells."""
        wrong = self.attempt.wrong
        return wrong is not None and not wrong.problem and bool(np.allclose(wrong.got, moved, rtol=1e-4, atol=1e-4))

    def fallen(
        self, steps: int | None = None, height: int = spec.HEIGHT, speed: int = spec.SPEED, sign: int = 1
    ) -> Matrix:
        """The points after so many steps, if these were the fields, and gravity had this sign."""
        steps, moved = self.steps if steps is None else steps, self.points.astype(np.float64)
        moved[:, speed] -= sign * steps * spec.GRAVITY * self.dt
        moved[:, height] += steps * self.points[:, speed] * self.dt
        moved[:, height] -= sign * spec.GRAVITY * self.dt**2 * steps * (steps + 1) / 2
        return moved


def large_transpose(attempt: Attempt) -> RunRequest:
    """A transpose as large as the one that is timed; one block shows the launch."""
    return replace(spec.transposing(attempt, spec.SPEED_SIDES[1], spec.SPEED_SIDES[1]), sample_blocks=1)


def many_points(attempt: Attempt) -> RunRequest:
    """As many points as those whose fall is timed, for one step."""
    return replace(spec.falling(attempt, spec.FALL_POINTS[1], 1), sample_blocks=1)


endless = recogniser(Evidence)
FLOAT64 = (
    witness.counted("float64_operations")
    | witness.WIDE
    | witness.hazard("accidental_float64")
    | witness.counted("conversions")
)
misconception = recogniser(TransposeEvidence, large_transpose)
slip = recogniser(FallEvidence, many_points)


# ---- part 1: right_on_whole_tiles, waits_for_its_tile ----------------------------------------------------------------


@endless(shows=witness.FAULT)
def endless_loop(seen: Evidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at?"""
    return seen.runs_on


@misconception("right_on_whole_tiles", shows=witness.NO_LAUNCH)
def never_launched(seen: TransposeEvidence) -> bool:
    """No kernel was launched: transpose_kernel[grid, block] starts when it is called with its arguments, (a, b)."""
    return seen.never_launched and not seen.is_right


@misconception("right_on_whole_tiles", "right_on_any_size", shows=witness.HOST | witness.NO_LAUNCH | witness.LAUNCHES)
def moved_by_the_host(seen: TransposeEvidence) -> bool:
    """`transpose` moves the numbers itself, by an assignment such as b[:] = a.T or by copies. That a kernel does it,
    and how, is what this lab is about: launch transpose_kernel for every size."""
    return seen.is_right and seen.attempt.wrong is None


@misconception("right_on_whole_tiles", shows=witness.RESULT | witness.LEFT_OUT | witness.FAULT | witness.outside())
def sizes_of_the_notebook(seen: TransposeEvidence) -> bool:
    """A matrix as large as the one in the cell that tries the transpose goes well, and others do not: a size comes from
    that cell's variables (rows, columns, grid). Take every size from a.shape or b.shape."""
    return not seen.is_right and any(seen.elsewhere(*shape).is_right for shape in TRIED)


@misconception("right_on_whole_tiles", shows=witness.LEFT_OUT)
def nothing_stored(seen: TransposeEvidence) -> bool:
    """The kernel ran and stored nothing into B: b[...] = ... puts a number there. Of a function that is defined twice
    the last definition counts."""
    ran = seen.launch is not None and seen.run.fault is None
    left = ran and np.array_equal(seen.run.outputs["a"], seen.a)  # else it was A that it stored into
    return left and not seen.stored.any() and not seen.found("out_of_bounds", "b")


@misconception("right_on_whole_tiles", shows=witness.LAUNCH & witness.LEFT_OUT)
def one_number_of_two(seen: TransposeEvidence) -> bool:
    """Threads are launched along x and y, and the kernel asks for x alone: cuda.grid(1) is the same for all threads
    above one another. cuda.grid(2) gives both."""
    reached = np.arange(seen.a.size).reshape(seen.a.shape).T < seen.across
    flat = seen.down > 1 and not seen.stored.all() and np.array_equal(seen.stored, reached)
    return flat and (seen.block[1] == 1 or seen.same_along_y)


@misconception("right_on_whole_tiles", shows=witness.outside(space="shared"))
def beyond_the_tile(seen: TransposeEvidence) -> bool:
    """Some threads use places beyond the end of the tile. Within it a thread's place is threadIdx, plus what a loop
    over the tile's rows adds: that goes up by the block's height, range(0, TILE, 8), and ends before TILE."""
    return bool(seen.on_tiles("out_of_bounds"))


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def block_too_large(seen: TransposeEvidence) -> bool:
    """A block has at most 1,024 threads: with one thread an element of a tile, that is a tile of 32 x 32. A larger tile
    needs threads that take several elements each."""
    return seen.ended_by == "too_many_threads"


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def too_much_shared_memory(seen: TransposeEvidence) -> bool:
    """The tile is larger than a block's share of the memory on the chip. Take a smaller one: a warp's 32 lanes fill whole
    sectors from 8 elements a row on."""
    return seen.ended_by == "too_much_shared_memory"


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def shape_not_constant(seen: TransposeEvidence) -> bool:
    """What stands for the shape of a shared array is nothing that Numba knows when it compiles the kernel: it takes
    numbers and names of numbers there, and no sums of names. The shape comes first, and then the type. Work a sum out
    in a line of its own, outside the kernel."""
    return seen.ended_by == "shape_not_constant"


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def dtype_of_python(seen: TransposeEvidence) -> bool:
    """The compiler makes no shared array of Python's float: its dtype is one of NumPy's or Numba's. For numbers of four
    bytes, as the matrix has them, write np.float32."""
    return seen.ended_by == "not_an_element_type"


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def copied_not_transposed(seen: TransposeEvidence) -> bool:
    """B is A as it was. Both the tile's place and the place within the tile have to turn over: row becomes column."""
    return seen.gave(lambda a: a)


def _in_tiles(a: Matrix, side: int) -> Matrix:
    """The matrix as [tile row, row, tile column, column]."""
    return a.reshape(a.shape[0] // side, side, a.shape[1] // side, side)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def tiles_stay_in_place(seen: TransposeEvidence) -> bool:
    """Each tile is turned over, and lies where it was in A. The tile of block (x, y) belongs to the place of block (y,
    x): for the store, blockIdx.x gives the row and blockIdx.y the column."""
    return any(seen.gave(lambda a, t=t: _in_tiles(a, t).transpose(0, 3, 2, 1).reshape(a.shape)) for t in TILES[:-1])


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def tiles_not_turned(seen: TransposeEvidence) -> bool:
    """Each tile has come to its place in B, and its elements lie in it as they did in A. What one thread stores,
    another one has loaded: read the tile with x and y exchanged."""
    return any(seen.gave(lambda a, t=t: _in_tiles(a, t).transpose(2, 1, 0, 3).reshape(a.shape)) for t in TILES[:-1])


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def low_precision(seen: TransposeEvidence) -> bool:
    """The elements arrive rounded to about three digits: a tile of float16 has 11 bits for them. Keep it in float32."""
    return seen.gave(lambda a: a.T.astype(np.float16).astype(np.float32))


@misconception("right_on_whole_tiles", shows=witness.LAUNCH & (witness.LEFT_OUT | witness.unset("shared", in_launch=True)))
def block_is_not_the_tile(seen: TransposeEvidence) -> bool:
    """Some elements of each tile are left out: {seen.block[0]} x {seen.block[1]} threads that move one element each do
    not cover the tile. Make the block as large as the tile, or let each thread move several."""
    along_tiles = np.zeros_like(seen.stored)
    for tile, height in ((t, h) for t in TILES for h in BLOCK_ROWS if h < t):
        along_tiles[:] = (np.arange(len(along_tiles)) % tile < height)[:, np.newaxis]
        if np.array_equal(along_tiles, seen.stored):
            return True
    return bool(seen.on_tiles("uninitialised_read")) and not seen.on_tiles("out_of_bounds") and seen.leaves_gaps


@misconception("waits_for_its_tile", shows=witness.race("shared"))
def tile_filled_many_times(seen: TransposeEvidence) -> bool:
    """Several threads store into the same element of the tile. Share the loading out, so that each element is loaded
    and stored once."""
    return seen.stores_collide


@misconception("waits_for_its_tile", shows=witness.race("shared"))
def barrier_missing(seen: TransposeEvidence) -> bool:
    """Threads read of the tile what others may still be loading. cuda.syncthreads() belongs between the two: it waits
    for all warps of the block, where cuda.syncwarp() waits for one."""
    return not seen.stores_collide and bool(seen.overtaken("shared", "reads"))


@misconception("waits_for_its_tile", shows=witness.race("shared"))
def second_barrier_missing(seen: TransposeEvidence) -> bool:
    """Fast threads load the next tile while slow ones still read this one. A block that takes several tiles in turn
    needs a barrier after each as well as within."""
    return bool(seen.overtaken("shared", "writes")) and not seen.overtaken("shared", "reads")


# ---- part 2: any size ------------------------------------------------------------------------------------------------


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def square_only(seen: TransposeEvidence) -> bool:
    """One size is used for rows and columns alike: a matrix of 41 x 41 goes well, and one of {seen.rows} x
    {seen.columns} does not. Take both from a.shape, in the kernel and on the host."""
    return seen.loads_outside and seen.goes_well_when_square


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=True))
def guards_b_with_the_sizes_of_a(seen: TransposeEvidence) -> bool:
    """The store asks whether its row is one of A's, and it writes to B, which has as many rows as A has columns. Each
    guard takes the sizes of the array that it guards."""
    return seen.stores_outside and not seen.loads_outside and seen.goes_well_when_square


@misconception("stays_inside_its_arrays", shows=witness.outside())
def guard_one_too_far(seen: TransposeEvidence) -> bool:
    """A guard lets one row or one column too many through: indices begin at 0 and end at the size less one. Below the
    size, and not equal."""
    return seen.lets_one_more_in


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def loads_without_guard(seen: TransposeEvidence) -> bool:
    """The last tiles stick out over the edge of A, and what is not there is loaded all the same. Load only what has a
    row and a column in A."""
    return seen.loads_outside and not seen.goes_well_when_square and not seen.lets_one_more_in


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=True))
def stores_without_guard(seen: TransposeEvidence) -> bool:
    """Threads write beyond the edge of B. What a thread stores is not what it loaded: the store needs a guard of its
    own, for its own row and column."""
    alone = seen.stores_outside and not seen.loads_outside
    return alone and not seen.goes_well_when_square and not seen.lets_one_more_in


@misconception("brings_every_thread_to_its_barrier", shows=witness.BARRIER)
def barrier_in_a_branch(seen: TransposeEvidence) -> bool:
    """The barrier stands where only some threads of a block come by, and those wait for the others in vain. Keep the
    branch, or the loop, around loading alone."""
    return bool(seen.found("divergent_barrier"))


@misconception("right_on_any_size", shows=witness.LEFT_OUT)
def leaves_with_something_to_store(seen: TransposeEvidence) -> bool:
    """In tiles at the edge, threads that had nothing to load store nothing, though some of them have something to
    store: at the edge a tile is not square. Let every thread come to the store, and guard that by the row and the
    column that it stores to."""

    def both_inside(tile: int) -> Matrix:
        row, col = np.indices(seen.stored.shape)
        in_tile_row, in_tile_col = row % tile, col % tile
        loads_col, loads_row = row - in_tile_row + in_tile_col, col - in_tile_col + in_tile_row
        inside: Matrix = (loads_col < seen.columns) & (loads_row < seen.rows)
        return inside

    return not seen.stored.all() and any(np.array_equal(both_inside(tile), seen.stored) for tile in TILES)


@misconception("right_on_any_size", shows=witness.LAUNCH & witness.LEFT_OUT)
def swapped_grid_axes(seen: TransposeEvidence) -> bool:
    """There are enough blocks, but along the wrong axes: the first number of a grid belongs to x, and in the kernel x
    goes along a row of A. So it takes A's columns, the second number of a.shape."""
    return seen.grid_along_wrong_axes


@misconception("right_on_any_size", shows=witness.LAUNCH & witness.LEFT_OUT)
def too_few_blocks(seen: TransposeEvidence) -> bool:
    """The last rows or columns are left out: {seen.grid[0]} x {seen.grid[1]} blocks do not cover {seen.rows} x
    {seen.columns} elements. Divide each size by the tile's and round up, not down."""
    rows, columns = (int(self.sum()) for self in (seen.stored.any(axis=1), seen.stored.any(axis=0)))
    corner = 0 < rows * columns < seen.stored.size and bool(seen.stored[:rows, :columns].all())
    return corner and not seen.grid_along_wrong_axes


@misconception("right_on_any_size", shows=witness.unset("shared"))
def only_whole_tiles_loaded(seen: TransposeEvidence) -> bool:
    """Of tiles that stick out over the edge nothing arrives, not even what exists there, as if a tile were loaded whole
    or not at all. Each thread asks for its own element, by its own row and column."""
    if not seen.stored.all() or not seen.on_tiles("uninitialised_read"):
        return False
    wrong = seen.simulated.outputs["b"] != seen.a.T
    row, col = np.indices(wrong.shape)

    def in_a_part_of_a_tile(tile: int) -> Matrix:
        cut: Matrix = (row >= seen.columns // tile * tile) | (col >= seen.rows // tile * tile)
        return cut

    return not wrong.all() and any(np.array_equal(in_a_part_of_a_tile(tile), wrong) for tile in TILES)


# ---- part 3: counted work --------------------------------------------------------------------------------------------

WHOLE_SECTORS = ("loads_whole_sectors", "stores_whole_sectors")


@misconception(*WHOLE_SECTORS, shows=witness.LAUNCH)
def one_thread_a_block(seen: TransposeEvidence) -> bool:
    """A block of {seen.block[0]} x {seen.block[1]} threads is one warp that is mostly empty, and a request that wants
    one number moves a whole sector for it. Give blocks some hundred threads, 32 of them side by side."""
    return seen.lanes <= 2


@misconception("loads_whole_sectors", "stores_whole_sectors", "faster_than_the_first_transpose", shows=witness.LAUNCH)
def tile_too_small(seen: TransposeEvidence) -> bool:
    """Blocks of {seen.block[0]} x {seen.block[1]} threads are small: rows of 4 elements use half a sector, and the
    start of a block costs as much for 64 elements as for 1,024. Take tiles of 32."""
    launch = seen.simulated_launch
    is_small = launch is not None and 0 < launch.shared_bytes < 4 * 16 * 16
    return is_small and 2 < seen.block[0] * seen.block[1] <= 64


@misconception(*WHOLE_SECTORS, shows=witness.lanes("load") | witness.lanes("store"))
def no_tile(seen: TransposeEvidence) -> bool:
    """Without a tile one side goes down the columns, whichever way round: neighbouring threads load neighbours and
    store into different rows, or the other way. In shared memory the corner can be turned between the two."""
    return seen.shared_bytes == 0 and seen.lanes > 2


@misconception("stores_whole_sectors", shows=witness.lanes("store"))
def corner_not_turned(seen: TransposeEvidence) -> bool:
    """The data goes through a tile and is still stored down the columns of B: each thread stores the element that it
    loaded. Let consecutive x store neighbours of B's row, and fetch from the tile what belongs there."""
    return seen.shared_bytes > 0 and seen.store_sectors > 8 and seen.above_one_another("store")


@misconception("loads_whole_sectors", shows=witness.lanes("load"))
def loads_down_the_columns(seen: TransposeEvidence) -> bool:
    """The stores go along rows and the loads down the columns of A. While it loads, a thread may take any element of
    the tile: let x go along A's row, and turn the corner when the tile is read."""
    return seen.shared_bytes > 0 and seen.sectors > 8 and seen.above_one_another("load")


@misconception(
    "meets_no_bank_conflicts",
    shows=witness.counted("shared_load_bank_conflicts", "shared_store_bank_conflicts"),
)
def padded_on_the_wrong_axis(seen: TransposeEvidence) -> bool:
    """The tile has one row more than it needs, and its rows are as long as before: elements above one another still lie
    in the same bank. It is each row that has to be longer, the last number of the shape."""
    return seen.has_a_row_too_many and spec.worst_conflicts(seen.simulated) > 2 and seen.rows_of_the_tile_apart


@misconception(
    "meets_no_bank_conflicts",
    shows=witness.counted("shared_load_bank_conflicts", "shared_store_bank_conflicts"),
)
def rows_too_long_by_two(seen: TransposeEvidence) -> bool:
    """The tile's rows are longer by two elements. Elements above one another then lie two banks further on each time,
    and visit every other bank: each of those is asked for two, one after the other. Make the rows longer by one
    element."""
    return seen.rows_too_long_by_two


@misconception(
    "meets_no_bank_conflicts",
    shows=witness.counted("shared_load_bank_conflicts", "shared_store_bank_conflicts"),
)
def column_in_one_bank(seen: TransposeEvidence) -> bool:
    """Elements above one another in the tile lie a multiple of its row apart, here in the same few of the 32 banks, and
    the lanes take turns. Choose rows whose length takes the next row to other banks, one element longer for
    instance."""
    return not seen.has_a_row_too_many and seen.rows_of_the_tile_apart


@misconception("keeps_to_float32", shows=FLOAT64)
def float64_by_accident(seen: TransposeEvidence) -> bool:
    """Something is float64: a shared array of that type, or a number such as 1.0 in a calculation, which Numba takes
    for a float64. The tile can hold float32, and a transpose needs no arithmetic at all."""
    return seen.keeps_fractions  # integers of 64 bits are as wide


# ---- part 4: speed ---------------------------------------------------------------------------------------------------


@misconception("faster_than_the_first_transpose", shows=witness.LAUNCH)
def few_blocks(seen: TransposeEvidence) -> bool:
    """The launch has so few blocks that most of the GPU has nothing to do: an H200 has 132 multiprocessors, and each
    holds several blocks at a time. Give every tile a block of its own."""
    return 0 < int(np.prod(seen.grid)) < MULTIPROCESSORS


# ---- part 5: layout --------------------------------------------------------------------------------------------------


@slip("lets_every_point_fall", shows=witness.outside())
def fall_without_guard(seen: FallEvidence) -> bool:
    """The last block has more threads than there are points left, and they work on points that do not exist. Compare
    the index with the number of points first."""
    return seen.works_on_no_point and not seen.takes_points_for_fields


@slip("lets_every_point_fall", shows=witness.outside())
def indexed_as_structures(seen: FallEvidence) -> bool:
    """A point's number stands where the kernel's array has its eight fields. When the layout has changed, so has the
    order of the two indices: first the field, then the point."""
    return seen.takes_points_for_fields


@slip("lets_every_point_fall", shows=witness.LAUNCHES | witness.NO_LAUNCH)
def fall_never_launched(seen: FallEvidence) -> bool:
    """fall_kernel was never launched: a step is fall_kernel[grid, block](points, dt), with both pairs of brackets."""
    return seen.run.fault is None and seen.attempt.wrong is not None and "fall_kernel" not in seen.launches


@slip("lets_every_point_fall", shows=witness.unset())
def scratch_still_empty(seen: FallEvidence) -> bool:
    """`scratch` is read before anything was put there. It is memory to work in and holds no points at first: bring them
    there before the first step, in the layout that fall_kernel expects."""
    return bool(seen.found("uninitialised_read")) and not seen.few_points_go_well


@slip("lets_every_point_fall", "faster_over_many_steps", shows=witness.unset() | witness.LAUNCHES)
def layout_of_few_points(seen: FallEvidence) -> bool:
    """With 300 points all goes well, and with many more some never come into the other layout: what changes it does not
    reach them. Where a grid or a loop has a fixed size, it is right for some numbers of points only: it has to follow
    from the array's shape."""
    if seen.is_sampled:
        return seen.attempt.wrong is None and seen.layout_leaves_points_out
    return bool(seen.found("uninitialised_read")) and seen.few_points_go_well


@slip("lets_every_point_fall", shows=witness.RESULT)
def nothing_falls(seen: FallEvidence) -> bool:
    """fall_kernel was launched, and nothing has moved. Does it store both fields? And what is dt when it gets there?
    int(0.01) is 0."""
    return "fall_kernel" in seen.launches and seen.came_to(seen.points) and seen.steps_do_nothing


@slip("lets_every_point_fall", shows=witness.RESULT)
def speed_not_kept(seen: FallEvidence) -> bool:
    """Each step works out a new speed and forgets it: the next one begins with the old speed again. Both fields have to
    be stored."""
    moved = seen.points.astype(np.float64)
    moved[:, spec.HEIGHT] += seen.steps * seen.dt * (moved[:, spec.SPEED] - spec.GRAVITY * seen.dt)
    return seen.came_to(moved)


@slip("lets_every_point_fall", shows=witness.LAUNCHES)
def one_launch_for_all_steps(seen: FallEvidence) -> bool:
    """All is right, and other kernels would see nothing of the steps in between: launch fall_kernel once for each."""
    return seen.all_right and not seen.copies and seen.launches.count("fall_kernel") < seen.steps


@slip("lets_every_point_fall", shows=witness.RESULT)
def never_put_back(seen: FallEvidence) -> bool:
    """The points are as they were: the steps worked on a copy in another layout, which has to go back into `points`
    after the last one."""
    return "fall_kernel" in seen.launches and seen.came_to(seen.points) and not seen.steps_do_nothing


@slip("lets_every_point_fall", shows=witness.RESULT)
def wrong_fields(seen: FallEvidence) -> bool:
    """Other fields have changed than height and speed, which are columns 2 and 5 of `points`, in this order."""
    fields = range(spec.FIELDS)
    return any(
        seen.came_to(seen.fallen(height=height, speed=speed))
        for height in fields
        for speed in fields
        if height != speed and (height, speed) != (spec.HEIGHT, spec.SPEED)
    )


@slip("lets_every_point_fall", shows=witness.RESULT)
def height_before_speed(seen: FallEvidence) -> bool:
    """The height moves with the speed from before the step. The rule asks for the new one: first the speed, then
    the height."""
    moved = seen.fallen()
    moved[:, spec.HEIGHT] += spec.GRAVITY * seen.dt**2 * seen.steps
    return seen.came_to(moved)


@slip("lets_every_point_fall", shows=witness.RESULT)
def upwards(seen: FallEvidence) -> bool:
    """The points fall upwards: heights grow upwards, so gravity takes away from the speed."""
    return seen.came_to(seen.fallen(sign=-1))


@slip("lets_every_point_fall", shows=witness.RESULT)
def wrong_number_of_steps(seen: FallEvidence) -> bool:
    """The points are a step behind or ahead: for {seen.steps} steps, count how often the loop goes round."""
    return any(seen.came_to(seen.fallen(seen.steps + more)) for more in (-1, 1) if seen.steps + more)


@slip("lets_every_point_fall", shows=witness.launched(lambda seen: seen.step) & witness.RESULT)
def last_points_left_out(seen: FallEvidence) -> bool:
    """The first points fall and the last ones do not: {seen.step_threads} threads for {seen.point_count} points. Divide
    the points by the threads of the block that is launched, and round up."""
    if seen.step_shape is None or seen.points_fell != seen.step_threads or seen.grid_has_one_size:
        return False
    return len(seen.points) - seen.step_threads < int(np.prod(seen.step_shape[1]))


@slip("lets_every_point_fall", "faster_over_many_steps", shows=witness.launched(lambda seen: seen.step))
def grid_of_one_size(seen: FallEvidence) -> bool:
    """A step has the same number of threads for few points and for many, and the last points are left out. Its grid has
    to follow from the number of points, and that is not the number of fields: in `points` it is the first number of the
    shape, in the turned array the second."""
    left_out = seen.step_threads < len(seen.points)
    if seen.is_sampled:
        share = spec.steps_taken(seen.simulated, len(seen.points), seen.steps)
        left_out = left_out and abs(share - seen.step_threads / len(seen.points)) < 0.05
    else:
        left_out = left_out and seen.points_fell == seen.step_threads
    return left_out and seen.grid_has_one_size


@slip("lets_every_point_fall", shows=witness.RESULT)
def guard_counts_fields(seen: FallEvidence) -> bool:
    """Only the first eight points fall, though there are threads for all: the guard compares with the number of fields,
    which is eight. The number of points is the other number of the array's shape."""
    return seen.points_fell == spec.FIELDS and seen.step_threads >= len(seen.points) > spec.FIELDS


@slip("lets_every_point_fall", shows=witness.RESULT)
def reshaped_not_transposed(seen: FallEvidence) -> bool:
    """A reshaped array has other sizes and the same order of numbers: its rows are not the fields. To bring a field's
    numbers side by side they have to move, which is what a transpose does."""
    by_field = seen.points.reshape(spec.FIELDS, -1).astype(np.float64)
    moved = by_field.copy()
    moved[spec.SPEED] -= seen.steps * spec.GRAVITY * seen.dt
    moved[spec.HEIGHT] += seen.steps * by_field[spec.SPEED] * seen.dt
    moved[spec.HEIGHT] -= spec.GRAVITY * seen.dt**2 * seen.steps * (seen.steps + 1) / 2
    return seen.came_to(moved.reshape(seen.points.shape))


@slip("lets_every_point_fall", "changes_the_layout_in_whole_sectors", shows=witness.HOST | witness.LAUNCHES)
def layout_changed_by_the_host(seen: FallEvidence) -> bool:
    """The layout is changed by an assignment such as scratch[:] = points.T, or by copies through the host. A kernel
    does it on the device: your transpose of part 1 does just that."""
    return seen.attempt.wrong is None and (seen.copies or seen.only_steps) and not seen.found("uninitialised_read")


@slip("moves_only_what_a_step_needs", shows=witness.lanes("load"))
def structures_kept(seen: FallEvidence) -> bool:
    """The steps work on the structures themselves. Heights lie eight numbers apart there, so that every height brings
    a whole sector along, of which an eighth is used. Put each field's numbers side by side before the first step."""
    return seen.only_steps


@slip("moves_only_what_a_step_needs", shows=witness.LAUNCHES)
def layout_changed_in_every_step(seen: FallEvidence) -> bool:
    """The layout changes in every step, there and back. It stays good for all of them: once before the first step, and
    once after the last."""
    return len(seen.launches) >= 3 * seen.steps


@slip("changes_the_layout_in_whole_sectors", shows=witness.LAUNCHES)
def field_by_field(seen: FallEvidence) -> bool:
    """The structures are taken apart one field at a time, and each time every sector is moved for one number in it. A
    tile brings a sector in once and has all eight: your transpose of part 1 does just that."""
    return len(seen.launches) - seen.steps > 2


@slip("falls_in_float32", shows=FLOAT64)
def float64_in_the_step(seen: FallEvidence) -> bool:
    """A step computes in float64 and rounds what it stores. A Python float such as `dt` is a float64 in a kernel, and
    so is a constant that was never told otherwise: np.float32(dt) on the host, np.float32(9.81) for gravity."""
    steps = (each.counted for each in seen.simulated.launches if each.kernel == "fall_kernel")
    return any(each is not None and each.float64_operations > 0 for each in steps)  # and not a change of layout alone


@slip("faster_over_many_steps", shows=witness.launched(lambda seen: seen.step))
def few_blocks_for_many_points(seen: FallEvidence) -> bool:
    """A step has so few blocks that most of the GPU has nothing to do. Launch one thread for each point: that makes
    thousands of blocks, and the GPU takes them in turn."""
    steps = [each for each in seen.run.launches if each.kernel == "fall_kernel"]
    return any(np.prod(each.grid) < MULTIPROCESSORS for each in steps)


@slip("faster_over_many_steps", shows=witness.launched(lambda seen: seen.step))
def small_blocks_for_many_points(seen: FallEvidence) -> bool:
    """A step is {seen.step_blocks:,} blocks of {seen.step_block_threads} threads. A multiprocessor holds 32 blocks at a
    time and starts them one after the other: with blocks this small most of its places for threads stay empty. Launch
    blocks of 128 or 256 threads."""
    return seen.step_blocks >= MULTIPROCESSORS and seen.step_block_threads < FULL_BY_BLOCKS


# ---- bonus: in place -------------------------------------------------------------------------------------------------


class InPlaceEvidence(Evidence):
    """What the last run showed of a matrix that was to be turned over where it lies."""

    @property
    def races(self) -> bool:
        """Whether one thread reads an element and another one stores there, in the matrix or in a tile."""
        return bool(self.overtaken("", "reads") or self.overtaken("", "writes"))

    @property
    def races_within_a_block(self) -> bool:
        """Whether a matrix of one tile shows a race as well."""
        attempt, trials = self.attempt, list(self.trials)
        a = attempt.integers(1, 60_000, (16, 16), np.float32)
        attempt.simulate(replace(self.request, arguments={"a": a}), may_fault=True)
        alone = InPlaceEvidence(attempt)
        attempt.trials[:] = trials
        return alone.races


in_place = recogniser(InPlaceEvidence)


@in_place("transposes_in_place", shows=witness.race())
def overwritten_before_read(seen: InPlaceEvidence) -> bool:
    """A thread reads what another has yet to store, or stores where another has yet to read. A block has to hold all
    that it will overwrite in shared memory, and to have waited, before it stores anything."""
    return seen.races and seen.races_within_a_block


@in_place("transposes_in_place", shows=witness.race())
def pairs_swapped_twice(seen: InPlaceEvidence) -> bool:
    """Blocks store into elements that other blocks load. A pair of tiles, one above the diagonal and one below it,
    belongs to one block, which moves both; the other has nothing to do."""
    return seen.races and not seen.races_within_a_block
