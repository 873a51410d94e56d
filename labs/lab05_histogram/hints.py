"""Lab 5's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in; it returns whether the evidence fits. They stand in the order of the checks they go with. Where
one run cannot tell two of them apart, another one does: `seen.elsewhere(items, bins)`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograder.errors import Line
from autograder.grading import Attempt, witness
from autograder.grading.evidence import recogniser
from autograder.records.runs import RunRequest

from .histograms import BINS_A_SECTOR, counting
from .histograms import HistogramEvidence as Evidence

MULTIPROCESSORS = 132  # of an H200
ITEMS_AT_SPEED = 2**20
WHOLE = 2**15  # items that whole blocks share evenly
FAR = 70_000  # beyond all bins and copies


def many_items(attempt: Attempt) -> RunRequest:
    """As many items as are timed; one block shows the launch."""
    items = attempt.integers(0, 256, ITEMS_AT_SPEED)
    return replace(counting(items, 256), sample_blocks=1)


misconception = recogniser(Evidence, many_items)


# ---- part 1: counts_every_item ---------------------------------------------------------------------------------------


@misconception("counts_every_item", shows=witness.NO_LAUNCH)
def never_launched(seen: Evidence) -> bool:
    """No kernel was launched: histogram_kernel[grid, block] starts when it is called with its arguments, (items,
    bins)."""
    return seen.never_launched


@misconception(shows=witness.FAULT)
def endless_loop(seen: Evidence) -> bool:
    """A loop never ends. In a kernel: does its body move on to the thread's next item? On the host: does it change what
    its condition looks at?"""
    return seen.runs_on


@misconception("counts_every_item", shows=witness.FAULT)
def shape_not_constant(seen: Evidence) -> bool:
    """What stands for the shape of a shared array is nothing that Numba knows when it compiles the kernel; bins.size is
    known only when it runs. (The shape comes first, and then the type.) Take a constant that is large enough for every
    size asked for, and use as much of it as there are bins."""
    return seen.ended_by == "shape_not_constant"


@misconception("counts_every_item", shows=witness.FAULT)
def too_much_shared_memory(seen: Evidence) -> bool:
    """The private copy is larger than a block's share of the memory on the chip. It needs one int32 for each bin of the
    result, 4 KiB for 1,024 of them, and not one for each item."""
    return seen.no_shared_memory_left


@misconception("counts_every_item", shows=witness.CHANGED)
def arguments_swapped(seen: Evidence) -> bool:
    """`items` has changed, and its kernel was to write to `bins`: hand both over in the order in which they are asked
    for, (items, bins)."""
    return seen.items_changed


@misconception("counts_every_item", shows=witness.counted("local_store_requests"))
def copy_of_each_thread(seen: Evidence) -> bool:
    """Each thread has a copy of its own, as cuda.local.array makes it, and no thread sees another's. The copy of a
    block is a cuda.shared.array: one array for all its threads."""
    return seen.keeps_to_itself


@misconception("counts_every_item", shows=witness.outside())
def counts_by_the_place(seen: Evidence) -> bool:
    """A thread updates bin {seen.stray_update:,}, where there are {seen.bins:,} and every item is the number of one.
    Which one it is, the item says, items[i], and not the place i where it lies."""
    return seen.stray_update is not None


@misconception("counts_every_item", shows=witness.RESULT)
def adds_the_item(seen: Evidence) -> bool:
    """The bins add up to {seen.total:,}, which is the sum of all items: what is added is the item, and it should be 1.
    In cuda.atomic.add(own, item, 1) the item is the place, and behind it stands what is added."""
    return seen.adds_items


@misconception("counts_every_item", shows=witness.RESULT)
def nothing_counted(seen: Evidence) -> bool:
    """Kernels are launched, and no thread comes to an update of a bin. Where a thread keeps a run of equal items in a
    variable, the run is to be added after the loop, too: behind the last one comes no other item."""
    return seen.counts_nothing


@misconception("counts_every_item", shows=witness.HOST)
def array_of_its_own(seen: Evidence) -> bool:
    """Items are counted into an array that the host made, and `bins`, where they are looked for, stays as it was. What
    histogram returns is not looked at: count into the array that it is given."""
    return seen.updates_elsewhere and bool(seen.simulated.transfers)


@misconception("counts_every_item", shows=witness.RESULT)
def cleared_at_the_end(seen: Evidence) -> bool:
    """All that was counted is cleared away, by the launch behind the one that counts. Clear first."""
    return seen.updates_elsewhere and not seen.simulated.transfers and not seen.items_changed


@misconception("counts_every_item", shows=witness.RESULT)
def bin_zero_left_out(seen: Evidence) -> bool:
    """Bin 0 is empty, and all others are right: 0 is the number of a bin like any other. The guard is 0 <= item."""
    return seen.without_bin_zero


@misconception("counts_every_item", shows=witness.launched(lambda seen: seen.counting) & witness.RESULT)
def every_block_takes_the_same(seen: Evidence) -> bool:
    """All counts are multiples of {seen.blocks:,}, the number of blocks: every block counts the same items. A thread
    begins with the item that has its number in the whole grid, cuda.grid(1)."""
    return seen.all_blocks_count_the_same


@misconception("counts_every_item", shows=witness.race())
def lost_updates(seen: Evidence) -> bool:
    """Counts are lost: a bin is read, increased and written back while other threads do the same, and the last one to
    write wins. That is so for items and for merging copies. cuda.atomic.add makes the three steps one."""
    return seen.updates_collide


@misconception("counts_every_item", shows=witness.race("global"))
def copies_overwrite_each_other(seen: Evidence) -> bool:
    """Every block stores its copy over the one that another block stored before, so one copy is left in the end. The
    result is the sum of all copies: add to it, atomically."""
    return seen.assigned


@misconception("counts_every_item", shows=witness.unset("shared"))
def private_copy_not_cleared(seen: Evidence) -> bool:
    """Some bins of the private copy are counted up from whatever shared memory held before. All of them start at zero,
    in every block, and with more bins than threads a thread has several to clear."""
    unset = (seen.at(each.line) for each in seen.found("uninitialised_read") if each.space == "shared")
    counted = any(each.shared_atomic_requests or each.shared_store_requests for each in unset)
    return counted and seen.stray_update is None


@misconception("counts_every_item", shows=witness.counted("shared_atomic_requests"))
def no_copy_merged(seen: Evidence) -> bool:
    """Items are counted in shared memory and the result never hears of it: a block's copy is gone when the block ends.
    Add it to the result before that."""
    counted = seen.counters.shared_atomic_requests > 0 and not seen.updates_elsewhere
    return seen.run.fault is None and seen.total == 0 and counted and not seen.items_changed


@misconception("counts_every_item", shows=witness.launched(lambda seen: seen.counting) & witness.RESULT)
def one_copy_merged(seen: Evidence) -> bool:
    """The result holds {seen.total:,} of {seen.n:,} items, what one block of {seen.blocks} counted. Each block has a
    copy of its own, and nobody else can read it: each has to add its own to the result."""
    some = seen.got > 0
    whole_bins = bool((seen.got[some] == seen.expected[some]).all())  # then it is bins that are missing, and no items
    alone = seen.lost and _one_copy(seen) and not seen.races("global") and not whole_bins
    return alone and not seen.keeps_to_itself and seen.stray_update is None and not seen.all_blocks_count_the_same


def _one_copy(seen: Evidence) -> bool:
    """Whether the result holds about as many items as one block of several counts."""
    return seen.blocks > 1 and 0.5 * seen.items_a_block <= seen.total <= 1.5 * seen.items_a_block and seen.total > 0


@misconception("counts_every_item", shows=witness.RESULT)
def counted_more_than_once(seen: Evidence) -> bool:
    """The bins add up to {seen.total:,} where there are {seen.n:,} items: something is counted, added or launched more
    than once, or begins above zero. Ask of each item which threads take it, and how often (a thread goes on by the
    number of threads in the whole grid), and of each bin of a copy which thread adds it to the result."""
    more = seen.run.fault is None and seen.total > seen.n and not seen.reads_unset_copy
    return more and not seen.adds_items and not seen.all_blocks_count_the_same


@misconception("counts_every_item", shows=witness.RESULT)
def bins_left_out(seen: Evidence) -> bool:
    """Some bins are right and the others empty. A copy has {seen.bins:,} bins: share them out among the threads of the
    block until all have been added to the result."""
    some = seen.got > 0
    all_right = bool((seen.got[some] == seen.expected[some]).all())
    left_out = seen.lost and 0 < some.sum() < (seen.expected > 0).sum() and all_right
    return left_out and not seen.without_bin_zero


@misconception(
    "counts_every_item", "right_on_many_items",
    shows=witness.launched(lambda seen: seen.counting) & witness.RESULT,
)
def items_left_out(seen: Evidence) -> bool:
    """{seen.total:,} of {seen.inside:,} items are counted: the {seen.blocks:,} blocks of {seen.threads_a_block} threads
    end before the items do. Where the number of blocks is bounded, a thread goes on, a grid's width at a time, until it
    is past the last item."""
    return _grid_ends(seen)


def _grid_ends(seen: Evidence) -> bool:
    """Whether the grid has fewer threads than there are items, and exactly the first items are counted, however
    many."""
    if seen.request.sample_blocks is not None:  # the other blocks' items are left out by nobody's mistake
        return False
    some = seen.got > 0
    all_right = bool((seen.got[some] == seen.expected[some]).all())
    some_left = seen.lost and seen.total > 0 and not all_right and seen.blocks * seen.threads_a_block < seen.n
    some_left = some_left and not seen.updates_collide and not _one_copy(seen) and not seen.keeps_to_itself
    return some_left and _is_prefix(seen) and not _goes_on(seen)


def _goes_on(seen: Evidence) -> bool:
    """Whether as many items more are all counted, by the same grid or by a larger one: an experiment."""
    twice = seen.elsewhere(np.concatenate([seen.items, seen.items]), seen.bins)
    return twice.total >= seen.total + seen.inside


@misconception("counts_every_item", shows=witness.RESULT)
def ends_left_out(seen: Evidence) -> bool:
    """{seen.total:,} of {seen.inside:,} items are counted: {seen.ends_missing}. Items are numbered from 0 to items.size
    - 1. A range begins with its first argument, and ends before its second."""
    other = seen.updates_collide or seen.keeps_to_itself or _one_copy(seen)
    return seen.lost and seen.total > 0 and not other and bool(seen.ends_missing) and not _grid_ends(seen)


@misconception("counts_every_item", shows=witness.RESULT)
def copies_not_added(seen: Evidence) -> bool:
    """Each bin of the result holds what one block counted, and what the other blocks counted is lost: {seen.total:,} of
    {seen.n:,} items are left. The result is the sum of all copies, and cuda.atomic.add adds."""
    ordered = seen.lost and not seen.races("global") and not seen.races("shared")
    several = ordered and seen.counters.shared_atomic_requests > 0 and not _one_copy(seen)
    # With items of one value there is one bin, and in it one block's share.
    return several and _one_copy(seen.elsewhere(np.full(seen.n, seen.items[0]), seen.bins))


# ---- part 1: the other checks ----------------------------------------------------------------------------------------


@misconception("loses_no_update", shows=witness.race("global"))
def cleared_while_others_count(seen: Evidence) -> bool:
    """The result is cleared by the kernel that counts: one block may set a bin to zero after another has counted into
    it, for blocks run in any order and cannot wait for each other. One launch waits for the launch before it: clear
    first, in a kernel of its own."""
    return _clearing_collides(seen, "global")


def _lets_through(seen: Evidence, item: int) -> bool:
    """Whether items of this value lead outside an array: an experiment."""
    return seen.elsewhere(np.full(WHOLE, item, np.int32), seen.bins).strays_from("bins", "copy")


@misconception("ignores_items_outside", shows=witness.outside() | witness.BELOW_ZERO)
def a_thread_a_bin(seen: Evidence) -> bool:
    """Threads and bins are not as many: {seen.threads_a_block} threads clear or merge an element each where there are
    {seen.bins:,} bins, and those beyond have none. Let each thread ask whether there is a bin with its number."""
    return _lets_through(seen, 0) and _beyond_the_bins(seen.elsewhere(np.zeros(WHOLE, np.int32), seen.bins))


def _beyond_the_bins(seen: Evidence) -> bool:
    """Whether a thread that leads outside an array is one whose own number, in its block or in the grid, is no
    bin's."""
    launches = {each.kernel: each for each in seen.simulated.launches}
    for each in seen.found("out_of_bounds"):
        launch = launches.get(each.kernel)
        if launch is not None and each.block and each.thread:
            (wide, high, _), (x, y, z) = launch.block, each.thread
            in_block = x + wide * (y + high * z)
            if max(in_block, each.block[0] * int(np.prod(launch.block)) + in_block) >= seen.bins:
                return True
    return False


@misconception("ignores_items_outside", shows=witness.outside())
def one_bin_too_many(seen: Evidence) -> bool:
    """An item equal to the number of bins gets through: {seen.bins:,} bins are numbered 0 to {seen.bins:,} - 1."""
    return _lets_through(seen, seen.bins) and not _lets_through(seen, FAR) and not _lets_through(seen, -1)


@misconception("ignores_items_outside", shows=witness.outside() | witness.BELOW_ZERO)
def negative_items(seen: Evidence) -> bool:
    """Items below zero get through: an index below zero counts from the array's end, on the GPU as in NumPy, or leads
    outside it. The guard has two sides."""
    return _lets_through(seen, -1) and not _lets_through(seen, FAR)


@misconception("ignores_items_outside", shows=witness.outside() | witness.BELOW_ZERO)
def items_not_guarded(seen: Evidence) -> bool:
    """Items are used as indices as they come, and some of them are no bin's number. Count an item only if it is one: at
    least zero, and less than the number of bins."""
    return _lets_through(seen, FAR) and not _lets_through(seen, 0)


@misconception("ignores_items_outside", shows=witness.RESULT)
def counted_at_the_ends(seen: Evidence) -> bool:
    """Items outside the range are counted in the first and the last bin. They belong in none: leave them out instead of
    moving them to the edge."""
    moved = np.clip(seen.items, 0, seen.bins - 1)
    return seen.run.fault is None and bool((seen.got == np.bincount(moved, minlength=seen.bins)).all())


@misconception("ignores_items_outside", shows=witness.RESULT)
def counted_by_the_remainder(seen: Evidence) -> bool:
    """Items outside the range are folded back into it, as by a remainder, and counted in bins that are not theirs.
    Leave them out."""
    folded = seen.items.astype(np.int64) % seen.bins
    return seen.run.fault is None and bool((seen.got == np.bincount(folded, minlength=seen.bins)).all())


@misconception("right_at_every_size", shows=witness.outside())
def no_end_of_items(seen: Evidence) -> bool:
    """Threads beyond the last item load one all the same. Each thread asks first whether there is an item for it."""
    return seen.strays_from("items")


@misconception("right_at_every_size", shows=witness.RESULT)
def last_items_left_out(seen: Evidence) -> bool:
    """{seen.total:,} of {seen.inside:,} items are counted, and it is the last ones that are missing: a division rounds
    down where the number of items is no multiple. Round up, and let threads that find no item do nothing."""
    return seen.lost and not seen.found("divergent_barrier") and _is_prefix(seen)


def _is_prefix(seen: Evidence) -> bool:
    """Whether exactly the items up to some place are counted."""
    inside = (seen.items >= 0) & (seen.items < seen.bins)
    places = np.flatnonzero(inside)[: max(0, seen.total)]
    return bool((np.bincount(seen.items[places], minlength=seen.bins) == seen.got).all())


@misconception("right_at_every_size", shows=witness.outside() | witness.RESULT)
def always_256_bins(seen: Evidence) -> bool:
    """The kernel counts into 256 bins where the result has {seen.bins:,}. bins.size says how many there are: clear,
    guard and merge that many, in a copy that is large enough for all sizes asked for."""
    stray = seen.bins < 256 and seen.strays_from("bins") and _stops_at_256(seen)
    left_out = seen.bins > 256 and seen.lost and not seen.strays_from("copy") and not _counts_a_high_item(seen)
    return stray or (left_out and _stops_at_256(seen))


@misconception("right_at_every_size", shows=witness.launched(lambda seen: seen.counting) & witness.RESULT)
def bins_beyond_the_block(seen: Evidence) -> bool:
    """The first {seen.threads_a_block} bins are right and others are not: a block of {seen.threads_a_block} threads
    clears or merges one bin a thread, and there are {seen.bins:,}. Let each thread go on with bin + block size, as long
    as there is one."""
    first, right = seen.threads_a_block, seen.got == seen.expected
    some = 0 < first < seen.bins and bool(right[:first].all()) and not right[first:][seen.expected[first:] > 0].any()
    return some and seen.run.fault is None and _counts_a_high_item(seen)


def _stops_at_256(seen: Evidence) -> bool:
    """Whether of 300 bins the 256th is counted and the last one is not: an experiment."""
    last, inside = (seen.elsewhere(np.full(64, item, np.int32), 300) for item in (299, 255))
    return bool(last.got[299] == 0 and inside.got[255] == 64)


def _counts_a_high_item(seen: Evidence) -> bool:
    """Whether the last bin's items are counted anywhere: an experiment."""
    other = seen.elsewhere(np.full(64, seen.bins - 1, np.int32), seen.bins)
    return other.counters.shared_atomic_requests > 0


@misconception("right_at_every_size", shows=witness.RESULT | witness.BARRIER | witness.unset("shared"))
def leaves_early(seen: Evidence) -> bool:
    """Threads that have no item return at once, and their share of clearing and merging stays undone. That is work for
    all threads, whoever finds an item. Let them skip the counting and nothing else."""
    whole = seen.elsewhere(np.resize(seen.items, WHOLE), seen.bins)
    stays = bool((whole.got == whole.expected).all())
    return seen.run.fault is None and stays and not _is_prefix(seen) and not seen.found("out_of_bounds")


@misconception("right_at_every_size", shows=witness.outside(space="shared"))
def copy_too_small(seen: Evidence) -> bool:
    """The private copy has fewer elements than the result has bins ({seen.bins:,}). Its shape is a constant: take one
    that is large enough for all sizes asked for."""
    return seen.copy_is_shorter_than_the_bins


@misconception("right_at_every_size", "brings_every_thread_to_its_barriers", shows=witness.BARRIER)
def barrier_not_for_all(seen: Evidence) -> bool:
    """A barrier stands where only some threads of a block come by: in a loop that ends earlier for some of them, in a
    branch, or behind a return. Those that come wait in vain, or the others' share of clearing and merging stays undone.
    Let branches and loops hold clearing, counting and merging alone, with the barriers in between, where all threads
    pass."""
    return any(each.barrier == "block" for each in seen.found("divergent_barrier"))


@misconception("right_at_every_size", "brings_every_thread_to_its_barriers", shows=witness.BARRIER)
def lanes_that_are_not_there(seen: Evidence) -> bool:
    """A warp instruction, as match or a shuffle is, names lanes that do not come to it: a mask of all ones promises
    that the whole warp takes part, and where the items end some lanes have none. Let whole warps go through every
    round, and give lanes without an item a number that is in no bin."""
    return seen.names_absent_lanes


@misconception("clears_the_result", shows=witness.RESULT)
def result_not_cleared(seen: Evidence) -> bool:
    """Counts are added to what the result's memory held before. Clear it first, in a launch before the one that
    counts."""
    return bool((seen.got == seen.expected + seen.before).all())


@misconception("clears_the_result", shows=witness.RESULT)
def result_partly_cleared(seen: Evidence) -> bool:
    """Some of the {seen.bins:,} bins are cleared and the others are not: launch as many threads as there are bins, in
    as many blocks as that takes."""
    stale = seen.got == seen.expected + seen.before
    return bool(stale.any() and not stale.all() and (stale | (seen.got == seen.expected)).all())


# ---- part 2: private copies ------------------------------------------------------------------------------------------


@misconception(
    "counts_in_shared_memory", "merges_seldom", "loads_neighbours_together",
    shows=witness.RESULT | witness.LAUNCHES | witness.NO_LAUNCH,
)
def not_counted_here(seen: Evidence) -> bool:
    """Work counts where it is done. Other items are all counted, and of these {seen.n:,} the result holds
    {seen.total:,}: what does histogram do for so many items that it does not do for others?"""
    return seen.attempt.wrong is not None or seen.counting is None


@misconception("counts_in_shared_memory", shows=witness.counted("global_atomic_requests"))
def no_private_copy(seen: Evidence) -> bool:
    """Every item is an update in global memory, where all threads of the GPU meet. Let each block count in an array of
    its own in shared memory, and add that array to the result when all its threads have counted."""
    counts = seen.counters.global_atomic_requests > 0
    return counts and seen.shared_bytes == 0 and seen.counters.local_store_requests == 0


@misconception("counts_in_shared_memory", shows=witness.counted("local_store_requests"))
def a_copy_a_thread(seen: Evidence) -> bool:
    """Every thread has a copy of its own: that needs no atomics to count, and more of them to merge than there are
    items. A copy that all threads of a block share is merged once for all of them."""
    return seen.shared_bytes == 0 and seen.counters.local_store_requests > 0


@misconception("counts_in_shared_memory", shows=witness.launched(lambda seen: seen.counting))
def small_blocks(seen: Evidence) -> bool:
    """Blocks of {seen.threads_a_block} threads count {seen.items_a_block} items each, and then update {seen.bins:,}
    bins of the result. Let more threads share a copy: 256 or more."""
    return seen.shared_bytes > 0 and seen.threads_a_block < 128 and seen.sectors_a_block <= 1.1


@misconception("counts_in_shared_memory", shows=witness.counted("global_atomic_requests"))
def one_thread_merges(seen: Evidence) -> bool:
    """The result is updated bin by bin, one lane at a time. Neighbouring lanes that update neighbouring bins share
    sectors, eight bins in each: let all threads of the block take part in merging."""
    return seen.shared_bytes > 0 and not _grows(seen) and _lanes_an_atomic(seen) < 2


@misconception("counts_in_shared_memory", shows=witness.counted("global_atomic_requests"))
def counts_in_both(seen: Evidence) -> bool:
    """There is a private copy, and yet many items are updates in global memory as well, before a block merges. While a
    block counts it needs nothing but its copy."""
    items = seen.worst_lanes > 1  # lanes that merge have a bin each
    return items and seen.shared_bytes > 0 and seen.threads_a_block >= 128 and _lanes_an_atomic(seen) >= 2


def _lanes_an_atomic(seen: Evidence) -> float:
    """Active lanes of an atomic in global memory: instructions on its line tell."""
    lines = [each.counters for each in seen.simulated.lines if each.counters.global_atomic_requests]
    lanes = sum(each.thread_instructions for each in lines)
    return lanes / max(1, sum(each.warp_instructions for each in lines))


def _grows(seen: Evidence) -> bool:
    """Whether twice the items touch clearly more sectors of the result with the same number of blocks."""
    twice = seen.elsewhere(np.concatenate([seen.items, seen.items]), seen.bins)
    return (
        twice.blocks == seen.blocks and twice.counters.global_atomic_sectors > 1.2 * seen.counters.global_atomic_sectors
    )


@misconception("waits_around_counting", shows=witness.race("shared"))
def no_barrier_after_clearing(seen: Evidence) -> bool:
    """Threads begin to count while others are still clearing the copy, and what they counted is cleared away.
    cuda.syncthreads() belongs between the two: it waits for all warps of the block, where cuda.syncwarp() waits for
    one."""
    return _clearing_collides(seen, "shared")


@misconception("waits_around_counting", shows=witness.race("shared"))
def no_barrier_before_merging(seen: Evidence) -> bool:
    """Threads that have no items left add the copy to the result while others are still counting into it.
    cuda.syncthreads() belongs before merging; a fence, or a barrier for one warp, does not wait for the others."""
    return _counting_collides(seen, "shared", "load") and not _clearing_collides(seen, "shared")


def _clearing_collides(seen: Evidence, space: str) -> bool:
    """Whether counting races with a line that stores and loads no counter: that is what clearing does."""
    return _counting_collides(seen, space, "store")


COUNTING = {("atomic",), ("atomic", "load"), ("load", "store")}


def _counting_collides(seen: Evidence, space: str, with_a: str) -> bool:
    """Whether a line that counts, by an atomic or by a load and a store, races with one that does this alone."""
    pairs = ({_done_at(seen, line, space) for line in (each.line, each.other_line)} for each in seen.races(space))
    return any((with_a,) in pair and pair & COUNTING for pair in pairs)


def _done_at(seen: Evidence, line: Line | None, space: str) -> tuple[str, ...]:
    """What a line does in this memory."""
    counters = seen.at(line)
    return tuple(kind for kind in ("atomic", "load", "store") if getattr(counters, f"{space}_{kind}_requests"))


# ---- part 3: coarsening ----------------------------------------------------------------------------------------------


@misconception("merges_seldom", shows=witness.LAUNCHES)
def a_launch_for_each_part(seen: Evidence) -> bool:
    """The host goes through the items part by part, in {seen.rounds:,} launches and more, and in each of them every
    block merges its copy. Launch once, and let the threads go through the items: a grid's width at a time."""
    return seen.in_parts


@misconception("merges_seldom", shows=witness.launched(lambda seen: seen.counting))
def too_few_items_a_block(seen: Evidence) -> bool:
    """{seen.blocks:,} blocks count {seen.items_a_block} items each and merge a copy each. Bound the number of blocks, a
    few for each multiprocessor, and let each thread count many items."""
    return seen.sectors_a_block <= 1.1 and seen.attempt.wrong is None


@misconception("merges_seldom", shows=witness.counted("global_atomic_requests"))
def no_copy_of_many_bins(seen: Evidence) -> bool:
    """With {seen.bins:,} bins every item is an update in global memory, where with 256 each block has a copy. A copy of
    1,024 bins takes 4 KiB of the 48 that a block may have: count in a copy whatever the number of bins."""
    return _no_copy(seen) and seen.elsewhere(seen.items[:WHOLE] % 256, 256).shared_bytes > 0


def _no_copy(seen: Evidence) -> bool:
    """Whether items are counted, and no block has an array of its own."""
    return seen.shared_bytes == 0 and seen.counters.global_atomic_requests > 0


@misconception("merges_seldom", shows=witness.counted("global_atomic_requests"))
def some_bins_stay_global(seen: Evidence) -> bool:
    """Some bins are in no block's copy, and their items are updates in global memory: up to {seen.worst_lanes} lanes of
    one warp meet in a bin there. Which bins are rare is up to the data: give all of them a place in the copy."""
    return not seen.in_parts and seen.sectors_a_block > 1.1 and seen.worst_lanes > 1 and not _no_copy(seen)


@misconception("merges_seldom", shows=witness.counted("global_atomic_requests"))
def copies_merged_one_by_one(seen: Evidence) -> bool:
    """A block has several copies and adds each of them to the result: {seen.sectors_a_block:.0f} times the updates that
    one copy needs. Add up the copies within the block first, in a register, and the sum to the result."""
    return not seen.in_parts and seen.sectors_a_block > 1.1 and seen.worst_lanes == 1 and not _grows(seen)


@misconception("merges_seldom", shows=witness.counted("global_atomic_requests"))
def merges_every_round(seen: Evidence) -> bool:
    """A block merges its copy {seen.sectors_a_block:.0f} times, once in every round of its loop over the items. Once is
    enough: after the loop."""
    return not seen.in_parts and seen.sectors_a_block > 1.1 and seen.worst_lanes == 1 and _grows(seen)


@misconception("loads_neighbours_together", shows=witness.lanes("load"))
def a_stretch_a_thread(seen: Evidence) -> bool:
    """Each thread walks through a stretch of items of its own, so that the lanes of a warp load from 32 places at a
    time. Let neighbouring threads take neighbouring items, and all move on together by the number of threads."""
    return seen.sectors > 8 and not _spreads_blocks(seen)


@misconception("loads_neighbours_together", shows=witness.lanes("load"))
def scattered_items(seen: Evidence) -> bool:
    """Neighbouring items belong to different blocks, so that the lanes of a warp load from 32 places at a time. Number
    the threads of the grid so that threads of one warp come one after the other: blockIdx.x * blockDim.x +
    threadIdx.x."""
    return seen.sectors > 8 and _spreads_blocks(seen)


def _spreads_blocks(seen: Evidence) -> bool:
    """Whether several blocks load the same sectors: their items lie in between one another."""
    return seen.counters.block_load_sectors > 2 * seen.n / BINS_A_SECTOR


@misconception("leaves_the_host_out", shows=witness.HOST)
def more_than_launches(seen: Evidence) -> bool:
    """Beside its launches the host copies an array or sets memory aside, and the GPU waits for it. On an H200, clearing
    the bins by a copy from the host took several times as long as counting a million items. Let a kernel of your own
    clear the bins where they are, and let blocks add their copies to the result."""
    return any(each.what not in ("synchronize", "an element") for each in seen.simulated.transfers)


@misconception("leaves_the_host_out", shows=witness.HOST)
def waits_for_the_device(seen: Evidence) -> bool:
    """The host waits until the GPU is done. It need not: launches follow each other by themselves, and counting begins
    when clearing has ended."""
    asked = {each.what for each in seen.simulated.transfers}
    return asked == {"synchronize"}


@misconception("right_on_many_items", shows=witness.launched(lambda seen: seen.counting))
def counter_too_narrow(seen: Evidence) -> bool:
    """All items have one value here, and {seen.full_counters} times 65,536 of those that were loaded are not counted. A
    counter of 16 bits is full then: it begins at zero again or runs into its neighbour. Count in int32, or add the copy to
    the result before a counter can be full."""
    return seen.full_counters > 0


# ---- part 4: speed ---------------------------------------------------------------------------------------------------

SPEED = ("fast_on_uniform_items", "fast_on_one_value", "fast_on_zipf_items")


@misconception(*SPEED, shows=witness.launched(lambda seen: seen.counting))
def few_blocks(seen: Evidence) -> bool:
    """The launch has {seen.blocks} blocks, so that most of the GPU has nothing to do: an H200 has 132 multiprocessors,
    and each holds several blocks at a time. Bound the grid by a few blocks for each of them."""
    return 0 < seen.blocks < MULTIPROCESSORS


# ---- bonus -----------------------------------------------------------------------------------------------------------


@misconception("counts_into_more_bins", shows=witness.FAULT | witness.outside(space="shared"))
def no_room_for_the_copy(seen: Evidence) -> bool:
    """A block's copy has room for fewer than {seen.bins:,} bins. Share them out: a block counts one range of the bins,
    and another block, or another launch, the next. Or give up copies where there are too many bins for one."""
    return seen.no_shared_memory_left or seen.strays_from("copy")


@misconception("skew_meets_more_bins", shows=witness.counted("global_atomic_requests"))
def merges_empty_bins(seen: Evidence) -> bool:
    """Blocks add their copies to the result bin by bin, also those they never met: of many bins most are zero. Add only
    what has been counted, or let fewer blocks have a copy."""
    return seen.worst_lanes == 1 and seen.shared_bytes > 0


@misconception("skew_meets_more_bins", shows=witness.counted("global_atomic_requests"))
def still_crowded(seen: Evidence) -> bool:
    """With many bins every item is an update in global memory again, and up to {seen.worst_lanes} lanes of a warp meet
    in one bin. Somebody has to add up what they have in common first: the block, in a copy of one range of the bins, or
    the warp itself."""
    return seen.worst_lanes > 1
