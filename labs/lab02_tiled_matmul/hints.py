"""Lab 2's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in; it returns whether the evidence fits. They stand in the order of the checks they go with. Where
one run cannot tell two of them apart, another one does: `seen.elsewhere(m, k, n)`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, witness
from autograder.grading.evidence import ProductEvidence, recogniser
from autograder.grading.products import product
from autograder.records.hazards import Hazard
from autograder.records.runs import RunRequest

TILES = (4, 8, 16, 32, 64)  # sides that students choose
MULTIPROCESSORS = 132  # of an H200
TRIED = (37, 53, 29)  # m, k, n in the notebook's cell that tries the functions, after whole tiles
SQUARES = (41, 35)  # sides: much, and little, is left for the last tiles
JUST_LARGER = (38, 54, 30)  # covered by as many blocks of 4, 8, 16 or 32 threads along each axis
Matrix = np.ndarray


class TiledEvidence(ProductEvidence):
    """What the last run showed of tiles in shared memory."""

    @property
    def shared_bytes(self) -> int:
        """Of the launch whose blocks have most: others may come before it."""
        return max((each.shared_bytes for each in self.simulated.launches), default=0)

    def on_tiles(self, kind: str) -> tuple[Hazard, ...]:
        """Hazards of this kind on shared arrays."""
        return tuple(each for each in self.found(kind) if each.space == "shared")

    @property
    def loads_a_use(self) -> float:
        """Global load requests for each number that a warp multiplies: 1 without tiles."""
        return self.simulated.counters.global_load_requests / (2 * self.m * self.k * self.n / 32)

    @property
    def used_once(self) -> float:
        """Global load requests whose numbers no tile takes, for each multiply-add of a warp."""
        counters = self.simulated.counters
        past_tiles = counters.global_load_requests - counters.shared_store_requests
        return past_tiles / (self.m * self.k * self.n / 32)

    @property
    def each_reads_its_own(self) -> bool:
        """Whether each thread loads from shared memory what it stored there itself, and no other: an experiment."""
        stored: dict[int, tuple[int, int]] = {}  # in the first block: an address, and who stored there last
        for each in self.accesses("store", "shared"):
            if each.block == (0, 0, 0):
                stored.update({int(at): (each.warp, lane) for lane, at in enumerate(each.addresses) if at >= 0})
        loads = [each for each in self.accesses("load", "shared") if each.block == (0, 0, 0)]
        readers = [(int(at), (each.warp, lane)) for each in loads for lane, at in enumerate(each.addresses) if at >= 0]
        known = [stored[at] == who for at, who in readers if at in stored]
        return bool(known) and all(known)

    @property
    def rows_of_shared_apart(self) -> bool:
        """Whether neighbouring lanes want elements of a tile that lie above one another: an experiment."""
        steps = [*self.lane_steps("load", "shared"), *self.lane_steps("store", "shared")]
        return any(abs(each.elements) == each.shape[-1] for each in steps)

    @property
    def loads_above_one_another(self) -> list[bool]:
        """Of each line that loads from A and B: whether neighbouring lanes load from different rows: an experiment."""
        return [abs(each.elements) == each.shape[-1] for each in self.lane_steps("load") if each.elements]

    @property
    def stores_collide(self) -> bool:
        """Whether threads store into one element of a tile from one source line."""
        return any(each.line == each.other_line for each in self.on_tiles("race") if each.severity == "error")

    @property
    def loses_fractions(self) -> bool:
        """Whether the product of numbers between -1 and 1, none of them whole, comes out as zeros."""
        attempt, trials = self.attempt, list(self.trials)
        run = attempt.simulate(product(attempt, self.request.function, 64, 64, 64, real=True), may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return run.fault is None and bool(run.written["c"].all()) and not run.outputs["c"].any()

    def gave_with_loads_guarded_by_c(self, tile: int, rows: bool, columns: bool) -> bool:
        """Whether the last blocks lack the terms whose loads fell to threads without a row, or a column, of C."""
        terms = np.arange(self.k) % tile
        last_rows = (np.arange(self.m) >= self.m // tile * tile)[:, np.newaxis]
        last_columns = np.arange(self.n) >= self.n // tile * tile

        def lacking(a: Matrix, b: Matrix) -> Matrix:
            found = np.zeros((self.m, self.n))
            for below in (False, True):
                for right in (False, True):
                    kept = np.ones(self.k, bool)
                    if rows and below:
                        kept &= terms < self.m % tile
                    if columns and right:
                        kept &= terms < self.n % tile
                    here = (last_rows == below) & (last_columns == right)
                    found += np.where(here, a[:, kept] @ b[kept], 0)
            return found

        return self.gave(lacking)

    @property
    def indexed_like_the_matrix(self) -> bool:
        """Whether a tile was indexed beyond its end with a thread's number in the whole grid, along x or y."""
        for each in self.on_tiles("out_of_bounds"):
            if each.index and each.block and each.thread:
                numbers = {each.block[axis] * self.block[axis] + each.thread[axis] for axis in (0, 1) if each.block[axis]}
                if numbers & set(each.index):
                    return True
        return False

    @property
    def more_threads_than_places(self) -> bool:
        """Whether a block has more threads than there are places in one of two tiles, and one was at its own place."""
        for each in self.on_tiles("out_of_bounds"):
            launch = next((one for one in self.simulated.launches if one.kernel == each.kernel), None)
            if each.index and each.thread and launch is not None and max(each.index) in each.thread[:2]:
                return int(np.prod(launch.block)) > launch.shared_bytes // 8
        return False

    @property
    def leaves_gaps(self) -> bool:
        """Whether each thread of the first block stores one element into a tile that has many more: an experiment."""
        threads = self.block[0] * self.block[1]
        places: dict[str, dict[int, set[tuple[int, int]]]] = {}  # by array: what was stored where, by whom
        shapes: dict[str, tuple[int, ...]] = {}
        for each in self.accesses("store", "shared"):
            if each.block == (0, 0, 0):
                shapes[each.array] = each.shape
                for lane in np.flatnonzero(each.addresses >= 0):
                    who = places.setdefault(each.array, {}).setdefault(int(each.addresses[lane]), set())
                    who.add((each.warp, int(lane)))
        unset = {each.array for each in self.on_tiles("uninitialised_read")}
        return any(
            len(places[name]) == threads == len(set().union(*places[name].values()))
            and 2 * threads <= int(np.prod(shapes[name]))
            for name in unset & set(places)
        )

    @property
    def fills_less_at_the_edge(self) -> bool:
        """Whether threads that fill a tile where C is whole fill nothing in a block that C ends in: an experiment."""
        whole, edge = self.elsewhere(32, 64, 32).fillers, self.elsewhere(5, 64, 5).fillers
        return not whole <= edge

    @property
    def fillers(self) -> set[tuple[int, int]]:
        """Warp and lane of each thread of the first block that stores into shared memory: an experiment."""
        stored = [each for each in self.accesses("store", "shared") if each.block == (0, 0, 0)]
        return {(each.warp, int(lane)) for each in stored for lane in np.flatnonzero(each.addresses >= 0)}

    @property
    def has_small_tiles(self) -> bool:
        """Whether the kernel has two tiles, and they are not as large as 16 x 16."""
        launch = self.simulated_launch
        return launch is not None and 0 < launch.shared_bytes < 2 * 4 * 16 * 16

    @property
    def whole_rows(self) -> bool:
        """Whether a tile is left only where sums are long, and further the longer they are: an experiment."""
        short, longer = self.elsewhere(self.m, 4, self.n), self.elsewhere(self.m, 2 * self.k, self.n)
        strays = sum(each.occurrences for each in longer.on_tiles("out_of_bounds"))
        more = strays > sum(each.occurrences for each in self.on_tiles("out_of_bounds")) > 0
        return more and not short.on_tiles("out_of_bounds")

    @property
    def loads_unguarded(self) -> bool:
        """Whether a load was beyond the rows of A or the columns of B, and no slip with sizes explains it."""
        beyond = self.outside("a", 0, self.m) or self.outside("b", 1, self.n)
        return beyond and not self.goes_well_when_square and not self.right_for_one_size_only

    @property
    def counts_threads_for_blocks(self) -> bool:
        """Whether the grid has a block where it should have a thread: many times more of them than C takes."""
        return self.across >= 4 * max(self.n, 64) and self.down >= 4 * max(self.m, 64)

    @property
    def counts_every_term(self) -> bool:
        """Whether there is a round of a loop, or a condition, for nearly every multiply-add of a warp."""
        return self.rounds > 0.9 * self.m * self.k * self.n / 32

    @property
    def rounds(self) -> int:
        """Rounds of loops that are not written out, and conditions: `range` counts the first, `while` the second."""
        counters = self.simulated.counters
        return counters.loop_rounds + counters.branches

    @property
    def inner_loop_is_constant(self) -> bool:
        """Whether a last tile of which one term is left takes as many rounds as a full one: an experiment."""
        tries = ((self.elsewhere(64, 2 * tile + 1, 64), self.elsewhere(64, 3 * tile, 64)) for tile in TILES)
        return any(ragged.rounds == whole.rounds for ragged, whole in tries)

    @property
    def lets_one_more_in(self) -> bool:
        """Whether a guard is wrong by one index: what strays then grows with the matrices, where without a guard it
        shrinks as they fill their last tiles."""
        fewest, few, more = (self.elsewhere(side, side, side).strays for side in (61, 62, 63))
        step = more - few
        return 0 < step == few - fewest and abs(more - 63 * step) <= 2 * step

    @property
    def right_for_one_size_only(self) -> bool:
        """Whether 64 x 64 matrices, which are tried first, go well, and larger ones of whole tiles do not."""
        return self.elsewhere(64, 64, 64).is_right and not self.elsewhere(128, 128, 128).is_right

    @property
    def goes_well_when_square(self) -> bool:
        squares = [self.elsewhere(side, side, side) for side in SQUARES]
        astray = any(each.found("out_of_bounds") or each.found("negative_index") for each in squares)
        return not astray and all(each.is_right for each in squares)


def large_product(attempt: Attempt) -> RunRequest:
    """As many rows and columns as the product that is timed, with short sums; one block shows the launch."""
    return replace(product(attempt, "matmul_tiled", 1024, 64, 1024), sample_blocks=1)


FLOAT64 = witness.counted("float64_operations") | witness.hazard("accidental_float64") | witness.counted("conversions")
misconception = recogniser(TiledEvidence, large_product)


# ---- part 1: right_on_whole_tiles, waits_at_both_barriers ------------------------------------------------------------


@misconception("right_on_whole_tiles", shows=witness.NO_LAUNCH)
def never_launched(seen: TiledEvidence) -> bool:
    """No kernel was launched: matmul_tiled_kernel[grid, block] starts when it is called with its arguments, (a, b,
    c)."""
    return seen.never_launched


@misconception("right_on_whole_tiles", shows=witness.not_counted("global_store_requests"))
def nothing_stored(seen: TiledEvidence) -> bool:
    """The kernel ran and stored nothing into C. A thread's sum gets there by c[row, col] = total. Of a function that is
    defined twice the last definition counts, also one in the bonus's cell which is not finished: give that one another
    name."""
    if seen.launch is None or seen.run.fault is not None or seen.run.written["c"].any():
        return False
    return seen.simulated.counters.global_store_requests == 0


@misconception(
    "right_on_whole_tiles", "stays_inside_its_arrays", "right_on_ragged_matrices",
    shows=witness.RESULT | witness.LEFT_OUT | witness.FAULT | witness.outside(),
)
def sizes_of_the_notebook(seen: TiledEvidence) -> bool:
    """Matrices as large as those of the cell that tries them go well, and others do not: a size comes from that cell's
    variables (m, k, n, grid). Take every size from a.shape, b.shape or c.shape, in the kernel and on the host."""
    if seen.attempt.check == "right_on_whole_tiles":
        return seen.elsewhere(*TRIED).is_right and not seen.elsewhere(*JUST_LARGER).is_right
    return seen.right_for_one_size_only


@misconception("right_on_whole_tiles", shows=witness.unset("global"))
def accumulates_into_uninitialised_c(seen: TiledEvidence) -> bool:
    """C is added to before it was set. Device memory starts with whatever was there: keep the sum in a variable of the
    thread that begins at zero, and store it once, after the last phase."""
    # What is read and not added does no harm to a sum.
    return seen.attempt.wrong is not None and bool(seen.found("uninitialised_read", "c"))


@misconception("right_on_whole_tiles", shows=witness.counted("local_store_requests"))
def tiles_are_private(seen: TiledEvidence) -> bool:
    """The tiles are local arrays: each thread has one of its own, in which it finds only what it stored itself. What
    the threads of a block share is a cuda.shared.array."""
    return seen.shared_bytes == 0 and seen.simulated.counters.local_store_requests > 0


@misconception(shows=witness.FAULT)
def endless_loop(seen: TiledEvidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at?"""
    return seen.runs_on and not seen.counts_threads_for_blocks


@misconception("right_on_larger_products", "loads_each_tile_once", shows=witness.LAUNCH)
def grid_counts_threads(seen: TiledEvidence) -> bool:
    """The launch has {seen.grid[0]} x {seen.grid[1]} blocks for {seen.n} columns x {seen.m} rows, and nearly all of
    them have nothing to compute. A grid counts blocks, not threads: divide each size by the tile's, and round up."""
    return seen.counts_threads_for_blocks


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def block_too_large(seen: TiledEvidence) -> bool:
    """A block has at most 1,024 threads: with one thread an element of a tile, that is a tile of 32 x 32. A larger tile
    needs threads that take several elements each."""
    return seen.ended_by == "too_many_threads"


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def too_much_shared_memory(seen: TiledEvidence) -> bool:
    """The shared arrays are larger than a block's share of the memory on the chip. That memory is small, which is why
    tiles go through it one after another: a tile need not be longer than a block has threads along that side."""
    return seen.ended_by == "too_much_shared_memory"


@misconception("right_on_whole_tiles", shows=witness.FAULT)
def shape_not_constant(seen: TiledEvidence) -> bool:
    """What stands for the shape of a shared array is nothing that Numba knows when it compiles the kernel: it takes
    numbers and names of numbers there, and no sums of names. The shape comes first, and then the type. Work a sum out
    in a line of its own, outside the kernel: WIDTH = TILE + 1."""
    return seen.ended_by == "shape_not_constant"


@misconception("right_on_whole_tiles", shows=witness.outside(space="shared"))
def tile_indexed_like_the_matrix(seen: TiledEvidence) -> bool:
    """A tile is indexed beyond its end, as if it were the whole matrix. Within the tile a thread's place is threadIdx;
    row and col are its place in C."""
    return seen.indexed_like_the_matrix


@misconception("right_on_whole_tiles", shows=witness.LAUNCH & witness.outside(space="shared", in_launch=True))
def block_larger_than_the_tile(seen: TiledEvidence) -> bool:
    """The block of {seen.block[0]} x {seen.block[1]} threads is larger than the tile, and its outer threads use places
    beyond the tile's end. With one element a thread, block and tile have the same size."""
    return seen.more_threads_than_places and not seen.indexed_like_the_matrix


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def only_the_first_phase(seen: TiledEvidence) -> bool:
    """The sums have the terms of the first tile and no others. Around loading and multiplying belongs a loop over the
    phases, which takes both tiles on to the end of A's row and B's column."""
    return any(seen.gave(lambda a, b, t=tile: a[:, :t] @ b[:t]) for tile in TILES if tile < seen.k)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def phases_one_element_apart(seen: TiledEvidence) -> bool:
    """From phase to phase the tiles move on by one element, and overlap. They move on by a whole tile: phase * TILE."""

    def overlapping(tile: int) -> bool:
        starts = range(seen.k // tile)
        return seen.gave(lambda a, b: sum(a[:, s : s + tile] @ b[s : s + tile] for s in starts))

    return any(overlapping(tile) for tile in TILES if tile < seen.k)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def forgets_earlier_phases(seen: TiledEvidence) -> bool:
    """Only the last phase is left in C: the sum starts again at zero in every phase. It belongs to the thread, not to
    the phase: set it to zero once, before the loop over tiles."""
    return any(seen.gave(lambda a, b, t=tile: a[:, -t:] @ b[-t:]) for tile in TILES if tile < seen.k)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def same_tile_every_phase(seen: TiledEvidence) -> bool:
    """Every phase loads the first tile again: move on by a tile's width along the row of A, and by its height down the
    column of B, from phase to phase."""
    return any(seen.gave(lambda a, b, t=tile: (seen.k // t) * (a[:, :t] @ b[:t])) for tile in TILES if tile < seen.k)


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def one_tile_stays(seen: TiledEvidence) -> bool:
    """The tile of one matrix moves on from phase to phase, and that of the other is the first one every time. Both move
    on by a tile in each phase: along the row of A, and down the column of B."""

    def stays(tile: int) -> bool:
        starts = range(0, seen.k // tile * tile, tile)
        b_stays = seen.gave(lambda a, b: sum(a[:, s : s + tile] @ b[:tile] for s in starts))
        return b_stays or seen.gave(lambda a, b: sum(a[:, :tile] @ b[s : s + tile] for s in starts))

    return any(stays(tile) for tile in TILES if tile < seen.k)


def _blockwise(tile: int, one: Matrix, other: Matrix) -> Matrix:
    """The product with every tile of `one` and `other` transposed in its place."""
    rows, terms, columns = one.shape[0] // tile, one.shape[1] // tile, other.shape[1] // tile
    one = one.reshape(rows, tile, terms, tile).transpose(0, 3, 2, 1).reshape(one.shape)
    other = other.reshape(terms, tile, columns, tile).transpose(0, 3, 2, 1).reshape(other.shape)
    product: Matrix = one @ other
    return product


@misconception("right_on_whole_tiles", shows=witness.RESULT)
def swapped_tile_indices(seen: TiledEvidence) -> bool:
    """The tiles are read the other way round than they were filled, each as if it were transposed. What was stored at
    tile[y, x] is used as tile_a[y, i] and as tile_b[i, x]."""
    if any(seen.gave(lambda a, b, t=tile: _blockwise(t, a, b)) for tile in TILES):
        return True
    rows, columns = seen.m, seen.n  # each tile of C is transposed where both tiles are read by the other thread's place

    def turned(tile: int) -> bool:
        if rows % tile or columns % tile:
            return False
        parts = (rows // tile, tile, columns // tile, tile)
        return seen.gave(lambda a, b: (a @ b).reshape(parts).transpose(0, 3, 2, 1).reshape(rows, columns))

    return any(turned(tile) for tile in TILES[:-1])


@misconception("right_on_whole_tiles", shows=witness.LAUNCH & witness.unset("shared", in_launch=True))
def block_is_not_the_tile(seen: TiledEvidence) -> bool:
    """Some elements of a tile are read and were never filled: {seen.block[0]} x {seen.block[1]} threads that store one
    element each do not fill a larger tile. Make the block as large as the tile, or let each thread fill several."""
    return seen.leaves_gaps and not seen.on_tiles("out_of_bounds")


@misconception("waits_at_both_barriers", shows=witness.race("shared"))
def tile_filled_many_times(seen: TiledEvidence) -> bool:
    """Several threads store into the same element of a tile. Share the loading out: as many threads as the tile has
    elements, one load and one store each."""
    return seen.stores_collide


@misconception("waits_at_both_barriers", shows=witness.race("shared"))
def first_barrier_missing(seen: TiledEvidence) -> bool:
    """Threads begin to multiply while others are still filling the tiles. cuda.syncthreads() belongs between filling
    them and reading them: it waits for all warps of the block, where cuda.syncwarp() waits for one."""
    # A single phase has no use for the second barrier.
    return not seen.stores_collide and bool(seen.elsewhere(16, 4, 16).overtaken("shared", "reads"))


@misconception("waits_at_both_barriers", shows=witness.race("shared"))
def second_barrier_missing(seen: TiledEvidence) -> bool:
    """Fast threads fill the next tiles while slow ones still multiply with these. cuda.syncthreads() belongs after the
    multiplication too, at the end of every phase."""
    return bool(seen.overtaken("shared", "writes")) and not seen.elsewhere(16, 4, 16).on_tiles("race")


# ---- part 2: ragged edges --------------------------------------------------------------------------------------------


@misconception("stays_inside_its_arrays", shows=witness.outside(space="shared"))
def whole_rows_in_shared_memory(seen: TiledEvidence) -> bool:
    """A shared array holds rows or columns of the whole length, and k = {seen.k} is longer than that. A phase needs a
    tile of them only: load it, use it, and let the next phase store the next one in its place."""
    return seen.whole_rows


@misconception("stays_inside_its_arrays", shows=witness.outside())
def square_only(seen: TiledEvidence) -> bool:
    """One size is used for all, as if the matrices were square: 41 x 41 times 41 x 41 goes well. There are three sizes:
    C has m rows and n columns, and each sum has k terms."""
    return not seen.on_tiles("out_of_bounds") and seen.goes_well_when_square


@misconception("stays_inside_its_arrays", shows=witness.outside())
def guard_one_too_far(seen: TiledEvidence) -> bool:
    """A guard lets one row or one column too many through: indices begin at 0 and end at the size less one. Below the
    size, and not equal."""
    return seen.lets_one_more_in and not seen.right_for_one_size_only


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def loads_without_guard(seen: TiledEvidence) -> bool:
    """Tiles stick out over the edge of A and B, and what is not there is loaded all the same. A thread whose element of
    a tile lies outside the matrix stores a zero instead, which adds nothing to a sum."""
    return seen.loads_unguarded and not seen.lets_one_more_in


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=False))
def terms_not_guarded(seen: TiledEvidence) -> bool:
    """The last tile of a row ends beyond index {seen.k} - 1. A load needs two comparisons, one with the matrix's rows
    and one with its columns, and one of them moves with the phase."""
    return seen.past_k and not (seen.outside("a", 0, seen.m) or seen.outside("b", 1, seen.n))


@misconception("stays_inside_its_arrays", shows=witness.outside(writes=True))
def stores_without_guard(seen: TiledEvidence) -> bool:
    """Threads beyond the edge of C take part in loading, and then store a result that has no place. Only a thread whose
    row and column exist may write to C."""
    only_c = {each.array for each in seen.found("out_of_bounds")} == {"c"}
    return only_c and not seen.goes_well_when_square and not seen.lets_one_more_in


@misconception("brings_every_thread_to_its_barriers", shows=witness.BARRIER)
def barrier_in_a_branch(seen: TiledEvidence) -> bool:
    """A barrier stands where only some threads of a block come by, and those wait for the others in vain. Keep the
    branch around loading or storing alone: all threads go through all phases, with an element of C or without."""
    return bool(seen.found("divergent_barrier"))


@misconception("fills_its_tiles_to_the_edge", shows=witness.unset("shared") | witness.RESULT | witness.LEFT_OUT)
def leaves_early(seen: TiledEvidence) -> bool:
    """Threads without an element of C leave before the tiles are filled, and nobody loads what was theirs to load. They
    must stay for all phases: loading is shared work, whoever has use for it."""
    return not seen.elsewhere(37, 64, 41).is_right and seen.fills_less_at_the_edge


@misconception("fills_its_tiles_to_the_edge", shows=witness.unset("shared"))
def tile_edge_not_zeroed(seen: TiledEvidence) -> bool:
    """Where a tile sticks out of its matrix nothing is stored, and the sums take whatever shared memory held. Store a
    zero there."""
    return bool(seen.on_tiles("uninitialised_read")) and seen.elsewhere(37, 64, 41).is_right


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def loads_guarded_by_c(seen: TiledEvidence) -> bool:
    """In the last blocks terms are missing: a thread without an element of C of its own stores a zero into a tile, also
    where the element that it is to load exists. A load asks only whether there is such an element in its own matrix."""
    which = ((True, False), (False, True), (True, True))
    return any(seen.gave_with_loads_guarded_by_c(tile, *each) for tile in TILES for each in which)


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def tile_edge_left_over(seen: TiledEvidence) -> bool:
    """Where the last tile sticks out of its matrix it still holds what the phase before left there, and the sums take
    that again. Store a zero there, in every phase."""

    def with_leftovers(tile: int) -> bool:
        rest, k = seen.k % tile, seen.k
        again = slice(k - tile, k - rest)
        return rest > 0 and k > tile and seen.gave(lambda a, b: a @ b + a[:, again] @ b[again])

    return any(with_leftovers(tile) for tile in TILES)


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def phases_rounded_down(seen: TiledEvidence) -> bool:
    """The last {seen.k} mod tile products of each sum are missing: when the tile does not divide k, a phase more is
    needed. Round up: (k + TILE - 1) // TILE."""
    shorter = any(seen.gave(lambda a, b, k=seen.k // t * t: a[:, :k] @ b[:k]) for t in TILES if seen.k % t)
    return shorter and not seen.elsewhere(64, seen.k, 64).is_right


@misconception("right_on_ragged_matrices", shows=witness.RESULT)
def wrong_number_of_phases(seen: TiledEvidence) -> bool:
    """There are as many phases as C has tiles along one side, and it should be as many as A has along a row: the phases
    walk through the k = {seen.k} terms of the sums."""
    sides = {-(-side // tile) * tile for side in (seen.m, seen.n) for tile in TILES}
    shorter = any(seen.gave(lambda a, b, k=side: a[:, :k] @ b[:k]) for side in sides if side < seen.k)
    return shorter and seen.elsewhere(64, seen.k, 64).is_right


@misconception("right_on_ragged_matrices", shows=witness.LAUNCH)
def swapped_grid_axes(seen: TiledEvidence) -> bool:
    """There are enough blocks, but along the wrong axes: x counts columns in the kernel and rows in the launch. The
    first number of grid and of block belongs to x."""
    return seen.grid_along_wrong_axes


@misconception("right_on_ragged_matrices", shows=witness.LAUNCH & witness.LEFT_OUT)
def rows_along_x_in_the_kernel(seen: TiledEvidence) -> bool:
    """The launch covers C, with x along its columns, and the kernel takes x for the rows: what the grid has more of
    along one axis is missing along the other. Columns belong to x and rows to y, in the block's number as in the
    thread's."""
    reached = (min(seen.m, seen.across), min(seen.n, seen.down))
    return seen.across >= seen.n and seen.down >= seen.m and seen.corner == reached


@misconception("right_on_whole_tiles", "right_on_ragged_matrices", shows=witness.LAUNCH & witness.LEFT_OUT)
def too_few_blocks(seen: TiledEvidence) -> bool:
    """The launch has {seen.across} x {seen.down} threads for {seen.n} columns x {seen.m} rows. Divide each size by the
    tile's and round up, not down."""
    whole = seen.attempt.check == "right_on_whole_tiles"
    if not seen.across or whole and (seen.elsewhere(*TRIED).is_right or seen.on_tiles("uninitialised_read")):
        return False
    return seen.corner in ((seen.down, seen.across), (seen.across, seen.down)) and not seen.grid_along_wrong_axes


@misconception("right_on_ragged_matrices", shows=witness.LAUNCH & witness.race("global", in_launch=True))
def idle_threads_work_too(seen: TiledEvidence) -> bool:
    """All is right, and {seen.threads} threads work on {seen.m} x {seen.n} elements: those beyond the matrix take an
    element that another thread has, and several store it. A thread without an element of its own helps to fill the
    tiles, and stores nothing."""
    return seen.is_right and seen.threads > seen.m * seen.n and bool(seen.found("race", "c"))


@misconception("right_on_larger_products", shows=witness.RESULT)
def low_precision(seen: TiledEvidence) -> bool:
    """The elements are right to about three digits: keep tiles and sums in float32, which has 24 bits, not in float16
    with 11."""
    return seen.lost_precision


# ---- part 3: counted loads -------------------------------------------------------------------------------------------


@misconception("loads_each_tile_once", shows=witness.counted("global_load_requests"))
def no_tiles(seen: TiledEvidence) -> bool:
    """No shared array is in use: each thread fetches every number it needs itself, and its neighbours fetch the same
    ones again. Let the threads of a block load a tile together and share it."""
    return seen.shared_bytes == 0


@misconception("loads_each_tile_once", shows=witness.counted("shared_load_requests"))
def no_reuse(seen: TiledEvidence) -> bool:
    """There is a load from global memory for every use: what a thread puts into shared memory, only that thread takes
    out. The gain comes from the others: load a whole tile first, then use each of its numbers many times."""
    many = seen.shared_bytes > 0 and seen.loads_a_use >= 0.75 and not seen.counts_threads_for_blocks
    return many and seen.each_reads_its_own


@misconception("loads_each_tile_once", "faster_than_one_thread_an_element", shows=witness.LAUNCH)
def tile_too_small(seen: TiledEvidence) -> bool:
    """A block of {seen.block[0]} x {seen.block[1]} threads shares little: with a tile of side T one load of T is left
    over. Take tiles of 16 or 32."""
    return seen.has_small_tiles and 0 < seen.block[0] * seen.block[1] <= 64 and seen.loads_a_use < 0.75


@misconception("loads_each_tile_once", shows=witness.counted("global_load_requests"))
def one_matrix_from_global_memory(seen: TiledEvidence) -> bool:
    """One matrix goes through a tile, the other is still fetched from global memory for every multiplication. Both are
    used many times by a block: give each a tile."""
    about_half = seen.shared_bytes > 0 and 0.5 <= seen.loads_a_use < 0.75 and seen.block[0] * seen.block[1] >= 64
    return about_half and seen.used_once >= 0.9


@misconception("fills_its_tiles_row_by_row", shows=witness.lanes("load"))
def rows_along_x(seen: TiledEvidence) -> bool:
    """x counts rows here, so that consecutive threads, which sit in one warp, load from different rows of A and of B
    and read the tiles down their columns. Let x be the column, in C, in both tiles and in the launch."""
    lines = seen.loads_above_one_another
    return seen.sectors > 12 and len(lines) > 1 and all(lines)


@misconception("fills_its_tiles_row_by_row", shows=witness.lanes("load"))
def loads_down_the_columns(seen: TiledEvidence) -> bool:
    """One of the tiles is filled down its columns: consecutive threads load from different rows, a sector each. While
    loading a thread may take any element of the tile, so let x run along the matrix's row for A and for B."""
    lines = seen.loads_above_one_another
    return any(lines) and not (seen.sectors > 12 and all(lines))


@misconception(
    "meets_no_bank_conflicts",
    shows=witness.counted("shared_load_bank_conflicts", "shared_store_bank_conflicts"),
)
def tile_read_down_its_columns(seen: TiledEvidence) -> bool:
    """Lanes of one warp want shared elements that lie a whole row of the tile apart, which are in few banks, and take
    turns. Let x, which counts the lanes, be the last index; or make the rows of the tile one element longer."""
    return seen.sectors <= 5 and seen.rows_of_shared_apart  # else the mapping is to blame, which another hint says


@misconception(
    "right_on_larger_products", "computes_in_float32",
    shows=witness.RESULT | witness.counted("global_store_requests"),
)
def integers_lose_fractions(seen: TiledEvidence) -> bool:
    """Whole numbers are multiplied right, and numbers between -1 and 1 give zeros: a tile, or a sum, holds integers,
    and what comes after the point is lost. Make all of them float32."""
    return seen.loses_fractions


@misconception("computes_in_float32", shows=FLOAT64)
def float64_by_accident(seen: TiledEvidence) -> bool:
    """Something is float64: a shared array of that type, or a sum that starts at 0.0 or at 0. In Numba 0.0 is a
    float64, and an integer and a float32 add up to one. Write float32 for the arrays and np.float32(0) for the sum."""
    return not seen.loses_fractions


# ---- part 4: speed ---------------------------------------------------------------------------------------------------


@misconception("faster_than_one_thread_an_element", shows=witness.LAUNCH)
def few_blocks(seen: TiledEvidence) -> bool:
    """The launch has so few blocks that most of the GPU has nothing to do: an H200 has 132 multiprocessors, and each
    holds several blocks at a time. Give every tile of C a block of its own."""
    return 0 < int(np.prod(seen.grid)) < MULTIPROCESSORS


@misconception("faster_than_one_thread_an_element", shows=witness.counted("loop_rounds", "branches"))
def inner_loop_not_unrolled(seen: TiledEvidence) -> bool:
    """The loop over a tile's terms has no constant length, so the compiler cannot unroll it, and every term pays for
    the loop. Let it run over the whole tile, range(TILE), with zeros where the matrix has ended."""
    return seen.counts_every_term and not seen.inner_loop_is_constant


@misconception("faster_than_one_thread_an_element", shows=witness.counted("loop_rounds", "branches"))
def inner_loop_too_long(seen: TiledEvidence) -> bool:
    """The loop over a tile's terms has a constant length, and is too long for the compiler to write it out: every term
    pays for counting and for its addresses. Take tiles of 16, whose loops are written out."""
    return seen.counts_every_term and seen.inner_loop_is_constant
