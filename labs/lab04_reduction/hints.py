"""Lab 4's known misconceptions, recognised by what a kernel did and never by how its source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in; it returns whether the evidence fits. They stand in the order of the checks they go with. Where
one run cannot tell two of them apart, another one does: `seen.block_of(threads, elements)`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from autograder.errors import Line
from autograder.grading import Attempt, witness
from autograder.grading import evidence as observed
from autograder.grading.evidence import recogniser
from autograder.records.hazards import Hazard
from autograder.records.runs import RunRequest, Uninitialised

WARP = 32
ENOUGH_BLOCKS = 132  # one for each multiprocessor of an H200
FEW_NUMBERS = 1_000  # whose running sum a float32 holds to four digits and more
FEW_ELEMENTS = 6  # a thread: below that, starting blocks takes longer than adding
SHOWN = 2**24  # elements, as many as are timed
SHOWN_WORK = 300_000  # is enough to see them
SCRATCH = 131_072  # elements, as in spec.py


class SumsEvidence(observed.Evidence):
    """What the last run showed of a sum: of one launch of the kernel, or of the whole."""

    looks_at = "values"

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self.n = int(self.request.arguments["values"].size)
        self.is_kernel = self.request.function == "block_sums_kernel"

    @cached_property
    def values(self) -> np.ndarray:
        """The elements as float64: where millions of them are timed, only for a rule that asks."""
        return np.asarray(self.request.arguments["values"], np.float64)

    @property
    def steps(self) -> int:
        """Steps of a tree over the elements."""
        return int(np.ceil(np.log2(self.n)))

    @property
    def first_block(self) -> float:
        """The sum of the elements that the threads of one block can take."""
        return float(self.values[: self.block[0]].sum())

    @property
    def got(self) -> float | None:
        """The wrong sum, where a finite one was stored."""
        wrong = self.attempt.wrong
        if wrong is None or wrong.problem or not np.all(np.isfinite(wrong.got)):
            return None
        return float(np.sum(wrong.got))

    def is_sum_of(self, values: np.ndarray) -> bool:
        """Whether the wrong sum is exactly that of these values (whole numbers: nothing is rounded)."""
        return self.got is not None and self.got == float(values.sum())

    def lying(self, space: str, *kinds: str) -> tuple[Hazard, ...]:
        """Hazards of these kinds on arrays in this memory."""
        found = (each for kind in kinds for each in self.found(kind) if each.severity == "error")
        return tuple(each for each in found if each.space == space)

    @cached_property
    def races(self) -> tuple[Hazard, ...]:
        """Races on arrays that all blocks see."""
        return self.lying("global", "race")

    @cached_property
    def shared_races(self) -> tuple[Hazard, ...]:
        """Races on the block's own arrays."""
        return self.lying("shared", "race")

    @property
    def unset(self) -> set[tuple[int, ...] | None]:
        """Places in global memory that were read and never written."""
        return {each.index for each in self.lying("global", "uninitialised_read")}

    @property
    def races_within_warps(self) -> bool:
        """Whether every race is between two threads of one warp."""
        return bool(self.shared_races) and all(
            each.thread and each.other_thread and each.thread[0] // WARP == each.other_thread[0] // WARP
            for each in self.shared_races
        )

    @property
    def races_in_one_line(self) -> bool:
        """Whether a line races with itself: one step of the tree with another, or with the same step."""
        return any(each.line == each.other_line for each in self.shared_races)

    @property
    def filling(self) -> set[Line]:
        """Lines that store in shared memory and load nothing from it."""
        lines = (each for each in self.simulated.lines if each.counters.shared_store_requests)
        return {each.line for each in lines if not each.counters.shared_load_requests}

    @property
    def races_with_filling(self) -> bool:
        """Whether a shared array is read while it is still filled."""
        return any({each.line, each.other_line} & self.filling for each in self.shared_races)

    @property
    def races_of_one_line(self) -> bool:
        """Whether blocks' threads race in one line, as where they load, add and store."""
        return any(each.line == each.other_line for each in self.races)

    @property
    def races_with_atomics(self) -> bool:
        """Whether an atomic comes upon what another access left, and races with it."""
        return any(each.access == "atomic" for each in self.races)

    @property
    def writes_over_its_input(self) -> bool:
        """Whether blocks race in a launch whose arrays overlap: one of the required kernel, which does not race where
        they lie apart (an earlier check), or one that was given a single array."""
        racing = {each.kernel for each in self.races}
        one_array = any(
            each.kernel in racing and each.array_bytes in (4 * self.n, 4 * SCRATCH) for each in self.simulated.launches
        )
        return "block_sums_kernel" in racing or one_array

    @property
    def reads_its_result(self) -> bool:
        """Whether an array that holds nothing yet was read from its first element on, and the elements were written to
        or, by the host function's launches, everything but the total."""
        before, after = self.request.arguments["values"], self.run.outputs.get("values")
        changed = after is not None and before.tobytes() != np.ascontiguousarray(after).tobytes()
        unwritten = not self.is_kernel and not self.run.written["total"].any()
        return (0,) in self.unset and not self.races and (changed or unwritten)

    @property
    def barriers(self) -> float:
        """Barriers that a warp passes."""
        counters = self.simulated.counters
        return counters.barriers / max(1, counters.warps) if counters else 0.0

    @property
    def by_shuffles(self) -> bool:
        """Whether lanes read each other's variables."""
        return bool(self.simulated.counters and self.simulated.counters.shuffles)

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.block[0] // WARP)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return max((each.shared_bytes for each in self.simulated.launches), default=0)

    @property
    def shared_loads(self) -> int:
        """Requests to load from shared memory."""
        return self.simulated.counters.shared_load_requests if self.simulated.counted else 0

    @property
    def tile_without_room(self) -> bool:
        """Whether something outside a shared array was asked for, and the block had no shared memory at all."""
        return bool(self.lying("shared", "out_of_bounds")) and self.shared_bytes == 0

    @property
    def is_an_element(self) -> bool:
        """Whether the wrong sum is one of the elements."""
        return self.got is not None and self.got in self.values

    @property
    def waits_in_vain(self) -> bool:
        """Whether some thread waits at a barrier, of the block or of its warp, that others do not come to."""
        return any(each.absent and each.barrier != "exchange" for each in self.found("divergent_barrier"))

    @property
    def written(self) -> np.ndarray:
        """Which of the blocks' sums were stored."""
        return self.run.written["sums"]

    def block_of(self, threads: int, elements: int) -> SumsEvidence:
        """What one block of the kernel makes of small whole numbers, on the simulated GPU: an experiment."""
        attempt, trials = self.attempt, list(self.trials)
        values = attempt.rng.integers(1, 6, elements).astype(np.float32)
        arguments = {"values": values, "sums": Uninitialised((1,), np.float32)}
        request = RunRequest("block_sums_kernel", arguments, grid=1, block=threads, work_limit=self.request.work_limit)
        attempt.simulate(request, may_fault=True)
        other = type(self)(attempt)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return other

    @property
    def is_right(self) -> bool:
        """Whether one block stored exactly the sum, and nothing was found wrong on the way."""
        errors = [each for each in self.simulated.hazards if each.severity == "error"]
        return self.run.fault is None and not errors and self.run.outputs["sums"][0] == self.values.sum()

    @property
    def few_are_right(self) -> bool:
        """Whether the first few numbers are added up right to four digits: an experiment."""
        attempt, trials = self.attempt, list(self.trials)
        few = self.request.arguments["values"][:FEW_NUMBERS]
        request = replace(self.request, arguments={**self.request.arguments, "values": few})
        run = attempt.simulate(request, may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return run.fault is None and abs(float(run.outputs["total"][0]) / float(few.sum(dtype=np.float64)) - 1) < 1e-4

    @cached_property
    def halves_powers_of_two_alone(self) -> bool:
        """Whether blocks whose width is a power of two are added up right, and this one is not."""
        powers_of_two = all(self.block_of(threads, threads).is_right for threads in (64, 128, 512))
        return powers_of_two and not self.block_of(96, 96).is_right

    @cached_property
    def lanes_apart(self) -> bool:
        """Whether lanes of a warp that go to shared memory together have idle lanes in between: an experiment."""
        lines = [each.line for each in self.simulated.lines if each.counters.shared_load_requests]
        runs = [self.attempt.trace(replace(self.request, traced_line=line)) for line in lines]
        busy = [np.flatnonzero(each.addresses >= 0) for run in runs for each in run.accesses if each.space == "shared"]
        return any(lanes.size > 1 and np.diff(lanes).max() > 1 for lanes in busy)

    @cached_property
    def spins(self) -> bool:
        """Whether a loop that never ends loads one number over and over that is none of the elements, in one of several
        blocks: an experiment."""
        several = any(np.prod(each.grid) > 1 for each in self.simulated.launches[-1:])
        line = self.simulated.fault.line if self.simulated.fault is not None else None
        if not (self.never_ended and several and line is not None):
            return False
        seen = self.attempt.trace(replace(self.request, traced_line=line)).accesses
        loads = [each for each in seen if each.kind != "store" and each.space == "global" and each.shape != (self.n,)]
        places = {int(place) for each in loads for place in each.addresses if place >= 0}
        return len(loads) > 1 and len(places) == 1

    @property
    def asked_of_the_device(self) -> set[str]:
        """What the host asked for beside launches."""
        return {each.what for each in self.simulated.transfers}

    @property
    def copies_to_the_host(self) -> bool:
        return bool({"copy_to_host", "an element"} & self.asked_of_the_device)

    @property
    def one_block_takes_all(self) -> bool:
        """Whether a launch of a single block is given as much as all elements take."""
        return any(np.prod(each.grid) == 1 and (each.array_bytes or 0) >= 4 * self.n for each in self.run.launches)

    @property
    def adds_alone(self) -> bool:
        """Whether the line with most loads from shared memory is carried out by a single thread: an experiment."""
        lines = [each for each in self.simulated.lines if each.counters.shared_load_requests]
        busiest = max(lines, key=lambda each: each.counters.shared_load_requests, default=None)
        if busiest is None:
            return False
        seen = self.attempt.trace(replace(self.request, traced_line=busiest.line)).accesses
        loads = (each for each in seen if (each.kind, each.space) == ("load", "shared"))
        return len({(each.warp, int(lane)) for each in loads for lane in np.flatnonzero(each.addresses >= 0)}) == 1

    @property
    def sums_in_float64(self) -> bool:
        """Whether elements, or their sums, are worked out or kept in float64, and not only a number of threads or steps."""
        moved = ("global_load_requests", "shared_load_requests", "shared_store_requests", "shuffles")
        lines = [each.counters for each in self.simulated.lines]
        wide = any(each.itemsize > 4 for each in self.accesses("store", "shared"))
        doubles = [each for each in lines if each.float64_operations or each.conversions]
        return wide or any(getattr(each, name) for each in doubles for name in moved)

    @property
    def places_apart(self) -> bool:
        """Whether neighbouring lanes want elements of a shared array that are 2, 4, 8 ... places apart: an
        experiment."""
        steps = [*self.lane_steps("load", "shared"), *self.lane_steps("store", "shared")]
        return any(abs(each.elements) > 1 and abs(each.elements) & (abs(each.elements) - 1) == 0 for each in steps)

    def reads_places_from(self, first: int) -> bool:
        """Whether a shared array of one axis was read from this place on, where nobody stored or where it has ended."""
        found = self.lying("shared", "uninitialised_read", "out_of_bounds")
        beyond = any(each.index and len(each.index) == 1 and each.index[0] >= first for each in found)
        return beyond and not self.found("negative_index")

    @property
    def places_stored(self) -> int:
        """How many places of shared memory the first block stores something in: an experiment."""
        stored = [each for each in self.accesses("store", "shared") if each.block == (0, 0, 0)]
        return len({(each.array, int(at)) for each in stored for at in each.addresses if at >= 0})

    @property
    def places_go_by_the_grid(self) -> bool:
        """Whether the second block fills its shared array behind the places of as many threads: an experiment."""
        runs = (self.attempt.trace(replace(self.request, traced_line=line)) for line in self.filling)
        stores = [each for run in runs for each in run.accesses if each.block == (1, 0, 0) and each.space == "shared"]
        places = [int(place) // each.itemsize for each in stores for place in each.addresses[each.addresses >= 0]]
        return bool(places) and min(places) >= self.block[0]

    @property
    def warps_share_a_place(self) -> bool:
        """Whether warps store their sums in one place of a shared array, where another is read that nobody wrote."""
        stored: dict[int, set[int]] = {}
        for each in self.accesses("store", "shared"):
            for at in each.addresses[each.addresses >= 0]:
                stored.setdefault(int(at), set()).add(each.warp)
        shared = any(len(warps) > 1 for warps in stored.values())
        return shared and bool(self.lying("shared", "uninitialised_read"))

    @property
    def loads_of_values(self) -> dict[int, list[tuple[int, int, int]]]:
        """Of the first loads of `values`: which threads (block, warp, lane) load each element: an experiment."""
        threads: dict[int, list[tuple[int, int, int]]] = {}
        for each in self.accesses("load"):
            if each.shape == (self.n,):
                for lane in np.flatnonzero(each.addresses >= 0):
                    threads.setdefault(int(each.addresses[lane]), []).append((each.block[0], each.warp, int(lane)))
        return threads

    @property
    def walks_in_stretches(self) -> bool:
        """Whether threads load elements of `values` that lie next to each other."""
        places: dict[tuple[int, int, int], list[int]] = {}
        for place, threads in sorted(self.loads_of_values.items()):
            for thread in threads:
                places.setdefault(thread, []).append(place)
        steps = np.concatenate([np.diff(each) for each in places.values()]) if places else np.empty(0)
        itemsize = self.request.arguments["values"].itemsize
        return steps.size > 0 and bool(2 * np.count_nonzero(steps == itemsize) >= steps.size)

    @property
    def loads_are_shared(self) -> bool:
        """Whether several threads load the same element of `values`."""
        return any(len(set(threads)) > 1 for threads in self.loads_of_values.values())

    @property
    def loads_each_once(self) -> bool:
        """Whether elements of `values` are loaded once each, all of them."""
        counters = self.simulated.counters
        once = counters is not None and counters.global_load_useful_bytes == 4 * self.n
        return once and all(len(threads) == 1 for threads in self.loads_of_values.values())

    @property
    def keeps_another(self) -> bool:
        """Whether one block leaves an element of all, and not the first thread's own: an experiment."""
        attempt, trials = self.attempt, list(self.trials)
        threads = self.block[0]
        arguments = {"values": np.arange(1, threads + 1, dtype=np.float32), "sums": Uninitialised((1,), np.float32)}
        request = RunRequest("block_sums_kernel", arguments, grid=1, block=threads, work_limit=self.request.work_limit)
        run = attempt.simulate(request, may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return run.fault is None and 1 < float(run.outputs["sums"][0]) <= threads

    @property
    def adds_where_unset(self) -> bool:
        """Whether a line that reads what nobody wrote stores there as well, or adds by an atomic."""
        lines = {each.line for each in self.lying("global", "uninitialised_read")}
        counted = [each.counters for each in self.simulated.lines if each.line in lines]
        return any(each.global_store_requests or each.global_atomic_requests for each in counted)

    @property
    def takes_all_of_scratch(self) -> bool:
        """Whether a launch of one block is given all of `scratch`."""
        return any(np.prod(e.grid) == 1 and (e.array_bytes or 0) >= 4 * SCRATCH for e in self.simulated.launches)

    @property
    def blocks(self) -> int:
        return int(np.prod(self.grid))

    @property
    def rounds(self) -> int:
        """How many elements each thread has added, where the sum is that of the first ones; 0 for any other sum."""
        ends = np.cumsum(self.values)[self.threads - 1 : -1 : self.threads] if self.threads else np.empty(0)
        found = np.flatnonzero(ends == self.got) if self.got is not None else np.empty(0)
        return int(found[0]) + 1 if found.size else 0

    @property
    def elements_a_thread(self) -> float:
        """Elements for each thread of the largest launch."""
        return self.n / max(1, self.threads)


def shown_sum(attempt: Attempt) -> RunRequest:
    """A sum of many ones, of which a block is carried out as far as it gets: it shows how the kernels were launched."""
    scratch, total = Uninitialised((SCRATCH,), np.float32), Uninitialised((1,), np.float32)
    arguments = {"values": np.ones(SHOWN, np.float32), "scratch": scratch, "total": total}
    return RunRequest("total_sum", arguments, sample_blocks=1, work_limit=SHOWN_WORK, scratch=("scratch", "values"))


FLOAT64 = (
    witness.counted("float64_operations")
    | witness.WIDE
    | witness.hazard("accidental_float64")
    | witness.counted("conversions")
)
misconception = recogniser(SumsEvidence, shown_sum)


@misconception(
    "right_on_a_full_block", "right_when_elements_run_short", "right_for_blocks_of_any_width", "right_with_many_blocks",
    "combines_every_block", "right_for_every_size", shows=witness.BELOW_ZERO,
)  # fmt: skip
def index_below_zero(seen: SumsEvidence) -> bool:
    """An index is below zero. It counts from the end of the array, so that an element is taken that belongs to another
    thread. (An index of a narrow type gets there by itself: an np.int16 holds no more than 32,767, and goes on below
    zero.) Compare the index with zero, or keep it as cuda.grid(1) gives it."""
    return bool(seen.found("negative_index"))


# ---- part 1: one block -----------------------------------------------------------------------------------------------


@misconception(shows=witness.FAULT)
def endless_loop(seen: SumsEvidence) -> bool:
    """A loop never ends: does anything in its body change what its condition looks at? A stride that is halved ends at
    zero and stays there: go on while it is above zero. One that is doubled must begin with one."""
    ended = seen.attempt.compared is not None or seen.spins
    return seen.runs_on and seen.threads > 1 and not ended


@misconception(shows=witness.FAULT)
def shape_not_constant(seen: SumsEvidence) -> bool:
    """What stands for the shape of a shared array is nothing that Numba knows when it compiles the kernel, before
    anybody says how wide a block is. (The shape comes first, and then the type.) Make it as long as the widest block
    needs it, 1,024 elements, and use as many of them as there are threads."""
    return seen.ended_by == "shape_not_constant"


@misconception("right_on_a_full_block", "right_when_elements_run_short", shows=witness.BARRIER)
def barrier_in_a_branch(seen: SumsEvidence) -> bool:
    """A barrier stands where only some threads of a block come by, and those wait for the others in vain. Keep the
    branch around the addition alone: every thread goes through every step and comes to every barrier."""
    return seen.waits_in_vain


@misconception("right_on_a_full_block", "right_for_blocks_of_any_width", shows=witness.BARRIER)
def lanes_that_are_not_there(seen: SumsEvidence) -> bool:
    """A shuffle names lanes that do not come to it: a mask of all ones promises that the whole warp takes part. Let the
    whole warp do so, and give lanes that have nothing to add a zero."""
    return seen.names_absent_lanes


@misconception("right_on_a_full_block", shows=witness.LEFT_OUT)
def sum_never_stored(seen: SumsEvidence) -> bool:
    """The block's sum is worked out and stays in the block: one of its threads has to store it in
    sums[cuda.blockIdx.x]."""
    works = seen.run.fault is None and seen.simulated.counters.global_load_requests > 0
    return works and not seen.written.any() and not seen.simulated.hazards


@misconception("right_on_a_full_block", shows=witness.counted("local_store_requests"))
def array_for_each_thread(seen: SumsEvidence) -> bool:
    """Each thread has an array of its own, as cuda.local.array makes it, and no thread sees another's. What the threads
    of a block are to add up for each other stands in cuda.shared.array: one array for all of them."""
    counters = seen.simulated.counters
    return bool(counters and counters.local_store_requests > 0 and seen.shared_bytes == 0)


@misconception("right_on_a_full_block", shows=witness.outside(space="shared"))
def no_room_in_the_launch(seen: SumsEvidence) -> bool:
    """The shared array has shape 0, which leaves its size to the launch, and the checks launch the kernel with a grid
    and a block alone: there is no room at all. Make it as long as the widest block needs it, 1,024 elements."""
    return seen.tile_without_room


@misconception("right_on_a_full_block", shows=witness.RESULT)
def nothing_added_yet(seen: SumsEvidence) -> bool:
    """What one thread stored is taken for the sum of the block. The elements stand in the shared array, and nobody has
    added them up: now comes the tree, in which half of the threads add first, and then half of those."""
    return seen.is_an_element and seen.shared_loads <= seen.warps and not seen.by_shuffles


@misconception("right_on_a_full_block", "right_with_many_blocks", shows=witness.RESULT)
def elements_added_again(seen: SumsEvidence) -> bool:
    """The sum is larger than that of all elements: several threads add the same ones. A thread that has added its
    element goes on by the number of threads in the whole grid, cuda.gridsize(1), and ends where the array does:
    {seen.n} elements are here for {seen.threads} threads."""
    more = seen.got is not None and seen.got > 1.01 * seen.values.sum() and not seen.simulated.hazards
    other = seen.by_shuffles or _all_read_the_same(seen) or _strides_overlap(seen)
    return more and seen.loads_are_shared and not other


@misconception("right_on_a_full_block", shows=witness.RESULT)
def shuffled_to_the_wrong_lane(seen: SumsEvidence) -> bool:
    """The lanes of the warps exchange their sums, and the result is not the sum of the block. In each step a lane adds
    to its own what the lane 16 places further has (then 8, 4, 2 and 1): own += cuda.shfl_down_sync(...). At the end the
    first lane of the warp holds the sum, and no other lane does."""
    if seen.got is None or seen.simulated.hazards:
        return False
    return seen.by_shuffles and seen.got >= 0 and seen.loads_each_once


@misconception("right_on_a_full_block", shows=witness.unset("shared") | witness.outside(space="shared"))
def beyond_the_warps(seen: SumsEvidence) -> bool:
    """The first lane of each warp has a sum to store, in a place of its own: {seen.warps} places, t // 32, in a block
    of {seen.n} threads. Whoever adds those up takes as many and no more; the other lanes take a zero."""
    beyond = seen.reads_places_from(seen.warps) and seen.places_stored <= seen.warps
    return seen.by_shuffles and (beyond or seen.warps_share_a_place)


@misconception("right_on_a_full_block", "combines_every_block", shows=witness.unset("global"))
def arguments_swapped(seen: SumsEvidence) -> bool:
    """What is to be written was read, before it held anything, and something else was written: the kernel's arguments
    are handed over in the order (values, sums). The first is the array that is added up, the second takes the blocks'
    sums."""
    return seen.reads_its_result


@misconception("right_on_a_full_block", shows=witness.unset("global"))
def adds_to_what_was_there(seen: SumsEvidence) -> bool:
    """The block adds its sum to sums[cuda.blockIdx.x], which holds whatever was in that memory before. Store the sum:
    no other block uses that place."""
    return bool(seen.unset) and not seen.reads_its_result


@misconception("right_on_a_full_block", shows=witness.unset("shared") | witness.outside(space="shared"))
def beyond_the_threads(seen: SumsEvidence) -> bool:
    """Threads add elements of the shared array that no thread has stored: a stride reaches beyond the last thread. With
    {seen.n} threads the first stride is half of that."""
    return seen.reads_places_from(seen.block[0]) and not seen.tile_without_room and not seen.by_shuffles


@misconception("right_on_a_full_block", shows=witness.RESULT)
def one_step_short(seen: SumsEvidence) -> bool:
    """The sum is that of one half of the elements: the tree leaves out a step, its first or its last. Write down the
    strides that your loop takes for {seen.n} threads: there must be {seen.steps} of them, and 1 among them."""
    halves = (seen.values[::2], seen.values[: seen.n // 2])  # what the first thread of a tree ends with
    return any(seen.is_sum_of(half) for half in halves)


@misconception("right_on_a_full_block", shows=witness.RESULT)
def overwrites_its_sum(seen: SumsEvidence) -> bool:
    """A single element is left of all: each step puts the other thread's value in place of the sum so far. Add to what
    the thread has: tile[t] += tile[t + stride]."""
    return seen.is_an_element and seen.shared_loads > seen.warps and seen.keeps_another


@misconception("waits_in_every_step", shows=witness.race("shared"))
def relies_on_lock_step(seen: SumsEvidence) -> bool:
    """Lanes of one warp meet at an element, one to write it and one to read it, and nothing says which comes first:
    lanes need not move in step. Let cuda.syncwarp() stand between the write and the read, and in a step of stride s let
    only s lanes add: what others read in a step is nobody's to change in it. Or use shuffles, which need no memory."""
    return seen.races_within_warps


@misconception("waits_in_every_step", shows=witness.race("shared"))
def every_thread_adds(seen: SumsEvidence) -> bool:
    """There is a barrier in every step, but too many threads take part: some change elements that others are reading in
    the same step. In a step of stride s only s threads add, and the elements that they read are nobody's to change."""
    return seen.races_in_one_line and not seen.races_within_warps and seen.barriers > 3


@misconception("waits_in_every_step", shows=witness.race("shared"))
def barrier_missing_in_the_loop(seen: SumsEvidence) -> bool:
    """Fast warps begin the next step while slow ones are still in this one. cuda.syncthreads() belongs before the
    first step and at the end of every one: it waits for all warps of the block, where cuda.syncwarp() waits for one."""
    return bool(seen.shared_races) and not seen.races_within_warps and seen.barriers <= 3 and not seen.by_shuffles


@misconception("waits_in_every_step", shows=witness.race("shared"))
def barrier_missing_before_the_tree(seen: SumsEvidence) -> bool:
    """Threads begin to add while others have not yet stored what is to be added. cuda.syncthreads() belongs between
    filling the shared array and reading from it."""
    goes_on = seen.barriers > 3 or seen.by_shuffles
    return seen.races_with_filling and not seen.races_within_warps and not seen.races_in_one_line and goes_on


@misconception("right_when_elements_run_short", shows=witness.outside(space="global"))
def reads_past_the_end(seen: SumsEvidence) -> bool:
    """A thread without an element loads one all the same, from behind the end of `values`. Compare the index with
    values.size first; the thread still has a place in the shared array, which takes a zero."""
    return bool(seen.lying("global", "out_of_bounds"))


@misconception("right_when_elements_run_short", shows=witness.unset())
def leaves_early(seen: SumsEvidence) -> bool:
    """Threads without an element leave, and their places in the shared array stay unwritten. They must stay to store a
    zero, and for all steps: the tree counts on every thread."""
    unwritten = bool(seen.found("uninitialised_read")) and not seen.waits_in_vain
    return unwritten and seen.barriers < seen.block_of(256, 256).barriers


@misconception("right_when_elements_run_short", shows=witness.unset())
def gaps_in_the_tile(seen: SumsEvidence) -> bool:
    """Threads without an element store nothing, and the tree adds whatever their places in the shared array held. Let
    them store a zero."""
    unwritten = bool(seen.found("uninitialised_read")) and not seen.waits_in_vain
    return unwritten and seen.barriers >= seen.block_of(256, 256).barriers


@misconception("right_for_blocks_of_any_width", shows=witness.outside(space="shared"))
def tile_too_short(seen: SumsEvidence) -> bool:
    """The shared array is shorter than a wide block: one of {seen.block[0]} threads stores beyond its end. Make it as
    long as the widest block needs it, 1,024 elements; a narrow block then uses a part."""
    return bool(seen.lying("shared", "out_of_bounds")) and seen.block_of(256, 256).is_right


@misconception(
    "right_for_blocks_of_any_width",
    shows=witness.LAUNCH & (witness.RESULT | witness.unset() | witness.outside(space="shared") | witness.FAULT),
)
def width_is_a_constant(seen: SumsEvidence) -> bool:
    """The tree counts on 256 threads, and this block has {seen.block[0]}. How wide the block is stands in
    cuda.blockDim.x: begin with that."""
    return not any(seen.block_of(threads, threads).is_right for threads in (128, 512))


@misconception("right_for_blocks_of_any_width", shows=witness.RESULT)
def odd_one_lost(seen: SumsEvidence) -> bool:
    """With {seen.block[0]} threads something is left over where a step halves an odd number, and nobody adds it: 96,
    48, 24, 12, 6, 3, and then? Round half of the width up and let only those add who have a partner, or begin with a
    power of two and ask as well whether there is a partner."""
    return seen.halves_powers_of_two_alone and seen.got is not None and seen.got < seen.values.sum()


@misconception("right_for_blocks_of_any_width", shows=witness.RESULT)
def odd_one_added_twice(seen: SumsEvidence) -> bool:
    """With {seen.block[0]} threads the sum is too large: where a step halves an odd number, something is added a second
    time. Of three elements the first thread adds the third to its own; whoever adds beside it finds no partner there,
    but what an earlier step has added already. Let only those add who have a partner: if t + half < width."""
    return seen.halves_powers_of_two_alone and seen.got is not None and seen.got > seen.values.sum()


@misconception("right_for_blocks_of_any_width", shows=witness.unset("shared") | witness.outside(space="shared"))
def stride_beyond_the_block(seen: SumsEvidence) -> bool:
    """With {seen.block[0]} threads, which is no power of two, a stride reaches beyond the last thread, and what is
    added there nobody has stored. Ask as well whether there is a partner: if t < stride and t + stride <
    cuda.blockDim.x."""
    beyond = bool(seen.lying("shared", "uninitialised_read", "out_of_bounds"))
    return beyond and seen.halves_powers_of_two_alone


@misconception("right_for_blocks_of_any_width", "right_with_many_blocks", shows=witness.RESULT)
def low_precision(seen: SumsEvidence) -> bool:
    """The sum is right to about three digits: the shared array or a variable is float16, which has 11 bits. Keep all of
    it in float32, which has 24."""
    total = float(seen.values.sum())
    nearly = seen.got is not None and 0 < abs(seen.got - total) < 2e-3 * total and not seen.found("race")
    return nearly and seen.block_of(seen.block[0], seen.block[0]).is_right


# ---- part 2: threads that stay together ------------------------------------------------------------------------------


@misconception("keeps_its_warps_together", shows=witness.counted("divergent_branches"))
def every_other_thread(seen: SumsEvidence) -> bool:
    """In every step the busy threads are spread over all warps: every second one, every fourth, every eighth. A warp
    takes as long with one busy lane as with all of them. Let the first threads add what the last ones hold, so that in
    each step whole warps are busy and whole warps are done."""
    return seen.lanes_apart


@misconception("keeps_its_warps_together", shows=witness.counted("divergent_branches"))
def every_warp_in_every_step(seen: SumsEvidence) -> bool:
    """In every step some lanes of each warp add and the others do not, and at its end all warps wait for each other. A
    warp takes as long with one busy lane as with all of them. Let the first threads of the block add what the last ones
    hold, so that whole warps are done early; or let each warp go through its steps alone: cuda.syncwarp() waits for its
    own lanes."""
    return not seen.lanes_apart


@misconception("shares_the_adding_out", shows=witness.counted("shared_load_requests"))
def one_thread_at_work(seen: SumsEvidence) -> bool:
    """One thread adds up what others have stored, one number after the other, and they wait. In a tree half of the
    threads add in the first step, a quarter in the second, and {seen.steps} steps are enough."""
    return seen.adds_alone


@misconception("meets_no_queues", shows=witness.counted("shared_load_bank_conflicts", "shared_store_bank_conflicts"))
def strides_of_two(seen: SumsEvidence) -> bool:
    """Busy threads sit side by side, and the elements that they add lie 2, 4, 8 ... places apart, which is in few
    banks: they take turns. Let neighbours add neighbours: thread t the elements t and t + stride, with strides that
    shrink."""
    counters = seen.simulated.counters
    no_queue = counters.shared_load_bank_conflicts > 0 and counters.shared_atomic_worst_multiplicity < 2
    return no_queue and seen.places_apart


@misconception("meets_no_queues", shows=witness.counted("shared_atomic_requests", "global_atomic_requests"))
def queue_at_one_place(seen: SumsEvidence) -> bool:
    """All threads add to one element by an atomic, one after another: {seen.n} additions in a row, in an order that
    nobody knows. In a tree threads add pairs at the same time, each into an element of its own."""
    counters = seen.simulated.counters
    return max(counters.shared_atomic_worst_multiplicity, counters.global_atomic_worst_multiplicity) > 1


@misconception("computes_in_float32", shows=FLOAT64)
def float64_by_accident(seen: SumsEvidence) -> bool:
    """Elements or sums are worked out or kept in float64. To Numba 0.0 is a float64, and with an integer, a 0 as well, a
    float32 gives float64. Write float32(0) for a sum or for what it is compared with, float32(...) around a whole number
    that it is divided by, and float32 for a shared array."""
    return seen.sums_in_float64


# ---- part 3: many blocks ---------------------------------------------------------------------------------------------


@misconception("right_with_many_blocks", shows=witness.LAUNCH & witness.RESULT)
def every_block_reads_the_same(seen: SumsEvidence) -> bool:
    """Every block adds up the same elements: the index knows the thread and not the block. cuda.grid(1) gives each
    thread of the grid a number of its own, and a thread that goes on does so by cuda.gridsize(1)."""
    return _all_read_the_same(seen)


def _all_read_the_same(seen: SumsEvidence) -> bool:
    several = seen.grid[0] > 1 and seen.got is not None
    return several and seen.got in (seen.grid[0] * seen.values.sum(), seen.grid[0] * seen.first_block)


@misconception("right_with_many_blocks", shows=witness.outside(space="global"))
def one_beyond_the_end(seen: SumsEvidence) -> bool:
    """A thread loads values[{seen.n:,}], one element behind the last: they are numbered from 0 to values.size - 1.
    Where a thread takes several elements in one go, it is the last of them that has to be below values.size."""
    return any(each.index == (seen.n,) for each in seen.lying("global", "out_of_bounds"))


@misconception("right_with_many_blocks", shows=witness.unset("shared") | witness.outside(space="shared"))
def place_by_the_grid(seen: SumsEvidence) -> bool:
    """The threads of the second block store beyond what its tree reads: their places in the shared array go by their
    number in the grid. Each block has a shared array of its own, and a thread's place in it is cuda.threadIdx.x."""
    return bool(seen.lying("shared", "uninitialised_read", "out_of_bounds")) and seen.places_go_by_the_grid


@misconception("right_with_many_blocks", shows=witness.RESULT)
def last_element_alone(seen: SumsEvidence) -> bool:
    """Of its elements a thread keeps the last one: each takes the place of the one before. Begin with float32(0) and
    add every element to it: own += values[i]."""
    return seen.threads < seen.n and seen.is_sum_of(seen.values[-seen.threads :])


@misconception("right_with_many_blocks", shows=witness.LAUNCH & witness.RESULT)
def elements_beyond_the_grid(seen: SumsEvidence) -> bool:
    """There are {seen.n} elements and {seen.threads} threads, and each thread takes one: the rest is left out. Let a
    thread go on, by as many elements as the grid has threads, until the array ends."""
    return seen.threads < seen.n and seen.is_sum_of(seen.values[: seen.threads])


@misconception("right_with_many_blocks", shows=witness.RESULT)
def stops_too_soon(seen: SumsEvidence) -> bool:
    """Each thread takes {seen.rounds} elements and stops, and what comes behind those is left out: {seen.n:,} elements
    are here for {seen.threads:,} threads. How often a thread goes on must follow from the array: while i <
    values.size."""
    return seen.rounds > 1


@misconception("right_with_many_blocks", shows=witness.RESULT)
def strides_overlap(seen: SumsEvidence) -> bool:
    """Some elements are added by several blocks: a thread goes on by the width of its block, and that is where the next
    block works. Go on by the number of threads in the grid, cuda.gridsize(1)."""
    return _strides_overlap(seen)


def _strides_overlap(seen: SumsEvidence) -> bool:
    if seen.grid[0] < 2:
        return False
    often = np.minimum(np.arange(seen.n) // seen.block[0] + 1, seen.grid[0])
    return seen.is_sum_of(seen.values * often)


@misconception("right_with_many_blocks", shows=witness.race("global"))
def one_place_for_all_blocks(seen: SumsEvidence) -> bool:
    """Several blocks store into one element of `sums`, and one of them is left. Each has a place of its own:
    sums[cuda.blockIdx.x]."""
    return bool(seen.races)


@misconception("right_with_many_blocks", shows=witness.LEFT_OUT)
def empty_blocks_store_nothing(seen: SumsEvidence) -> bool:
    """Blocks for which no elements are left store nothing, and whoever adds up the sums finds there what was in memory
    before. The sum of nothing is zero: let them store that."""
    first_empty = -(-seen.n // seen.block[0])
    those = bool(seen.written[:first_empty].all()) and not seen.written[first_empty:].any()
    return not seen.races and those and not seen.written.all()


@misconception("loads_whole_lines", shows=witness.lanes("load"))
def chunks(seen: SumsEvidence) -> bool:
    """Each thread walks through a stretch of its own, so that the 32 lanes of a warp load from 32 places at a time. Let
    consecutive threads load consecutive elements, and then go on together by as many as the grid has threads."""
    return seen.walks_in_stretches


@misconception("combines_every_block", shows=witness.NO_LAUNCH)
def never_launched(seen: SumsEvidence) -> bool:
    """No kernel was launched: block_sums_kernel[grid, block] starts when it is called with its arguments,
    (values, sums)."""
    return seen.never_launched


@misconception("combines_every_block", shows=witness.LEFT_OUT)
def total_never_stored(seen: SumsEvidence) -> bool:
    """Kernels were launched, and none of them stored anything in `total`: that is where the sum is looked for, and what
    total_sum returns is not looked at. Hand `total` to the last launch as its `sums`."""
    untouched = seen.run.fault is None and not seen.run.written["total"].any()
    return untouched and bool(seen.run.launches) and not seen.simulated.hazards


@misconception("combines_every_block", shows=witness.LAUNCH)
def one_thread_for_everything(seen: SumsEvidence) -> bool:
    """One thread adds up all elements, one after another. Launch enough blocks to keep the GPU busy, let each leave a
    sum, and add up those."""
    return seen.never_ended and seen.threads == 1


@misconception("combines_every_block", "faster_than_the_first_idea", shows=witness.race("global"))
def written_over_its_input(seen: SumsEvidence) -> bool:
    """A launch writes into the array that it reads: a block stores its sum where another block has yet to load, and
    blocks run in any order. Let each launch write where it does not read: the elements stay as they are, and while the
    first part of `scratch` is added up, the next part is free, scratch[blocks:]."""
    return seen.writes_over_its_input


@misconception("combines_every_block", shows=witness.race("global"))
def blocks_do_not_wait(seen: SumsEvidence) -> bool:
    """One block adds up what the others have stored, in the same launch, and nothing makes it wait for them:
    cuda.syncthreads() is for the threads of one block. The end of a launch is what all blocks wait for: launch once
    more."""
    ticket = seen.simulated.counters.global_atomic_requests > 0  # by which the last block knows that it is the last
    alone = not seen.races_of_one_line and not seen.races_with_atomics and not ticket
    return bool(seen.races) and alone and not seen.writes_over_its_input and not seen.spins


@misconception("combines_every_block", shows=witness.FAULT)
def waits_for_other_blocks(seen: SumsEvidence) -> bool:
    """A thread loads one number again and again until another block has changed it. Blocks run in any order, and not
    all at the same time: the one that it waits for may begin when this one has ended, and so never. The end of a launch
    is what all blocks wait for: launch once more."""
    return seen.spins


@misconception("combines_every_block", shows=witness.race("global"))
def lost_update(seen: SumsEvidence) -> bool:
    """Many threads do total[0] += ..., which is a load, an addition and a store: what another thread adds in between is
    lost. Use cuda.atomic.add(total, 0, ...), or let one block add up the sums in a second launch."""
    return seen.races_of_one_line and not seen.writes_over_its_input


@misconception("combines_every_block", shows=witness.race("global"))
def cleared_while_others_add(seen: SumsEvidence) -> bool:
    """One thread sets the total to zero while threads of other blocks already add to it, and no barrier holds those
    back. Clear it in a launch of its own, before."""
    return seen.races_with_atomics and not seen.races_of_one_line and not seen.writes_over_its_input


@misconception("combines_every_block", shows=witness.unset("global"))
def total_not_cleared(seen: SumsEvidence) -> bool:
    """The sums are added to whatever `total` held before. Set it to zero first, in a launch of its own; or store the
    total instead of adding to it."""
    return seen.unset == {(0,)} and not seen.reads_its_result and seen.adds_where_unset


@misconception("combines_every_block", shows=witness.outside(writes=True))
def more_sums_than_places(seen: SumsEvidence) -> bool:
    """The last launch has several blocks, and each stores a sum: `total` has room for one. Whatever is left is to be
    added up by a single block."""
    launches = seen.simulated.launches
    if not launches or int(np.prod(launches[-1].grid)) == 1:
        return False
    stray = (each for each in seen.found("out_of_bounds") if each.writes and each.kernel == launches[-1].kernel)
    return any(each.block and each.index == each.block[:1] for each in stray)


@misconception("combines_every_block", shows=witness.unset("global"))
def whole_scratch(seen: SumsEvidence) -> bool:
    """The last launch adds up more of `scratch` than the first part, which holds sums of blocks; the rest is whatever
    was there before. Hand it as many elements as there were blocks: scratch[:blocks]."""
    return bool(seen.unset - {(0,)}) and not seen.races and seen.takes_all_of_scratch


@misconception("combines_every_block", shows=witness.LAUNCH & witness.RESULT)
def blocks_never_combined(seen: SumsEvidence) -> bool:
    """The total is too small: the sums of some blocks are missing from it. Add up as many sums as blocks were launched,
    {seen.blocks} here, also where that is more than the last block has threads."""
    loaded = seen.simulated.counted is not None and seen.simulated.counted.global_load_useful_bytes >= 4 * seen.n
    return loaded and seen.got is not None and not seen.simulated.hazards and 0 < seen.got < seen.values.sum()


@misconception("leaves_the_host_out", shows=witness.HOST)
def finished_on_the_host(seen: SumsEvidence) -> bool:
    """The sums are copied to the host and added up there. The CPU then waits for the GPU, and copies for longer than a
    launch takes. A last launch of one block adds them up where they are, and leaves the total where the next kernel
    can use it."""
    return seen.copies_to_the_host and bool({"an assignment", "copy_to_device"} & seen.asked_of_the_device)


@misconception("leaves_the_host_out", shows=witness.HOST)
def cleared_by_the_host(seen: SumsEvidence) -> bool:
    """The host sets the total to zero, and the GPU waits for these four bytes: on an H200 ten times as long as it takes
    to add up sixteen million numbers, and more. Let a kernel do it, or store the total instead of adding to it."""
    return bool({"an assignment", "copy_to_device"} & seen.asked_of_the_device) and not seen.copies_to_the_host


@misconception("leaves_the_host_out", shows=witness.HOST)
def array_of_its_own(seen: SumsEvidence) -> bool:
    """The host sets memory aside for the blocks' sums in every call, which takes longer than to add them up. `scratch`
    is there for them."""
    arrays = {"device_array", "device_array_like", "to_device"}
    return bool(arrays & seen.asked_of_the_device) and not seen.copies_to_the_host


@misconception("leaves_the_host_out", shows=witness.HOST)
def waits_for_the_device(seen: SumsEvidence) -> bool:
    """The host waits until the GPU is done. It need not: launches follow each other by themselves, and the second
    begins when the first has ended."""
    return "synchronize" in seen.asked_of_the_device and not seen.copies_to_the_host


@misconception("right_for_every_size", shows=witness.FAULT)
def no_block_for_few_elements(seen: SumsEvidence) -> bool:
    """With {seen.n} elements no block at all is launched. Round up where you divide by the number of threads."""
    return seen.ended_by == "empty_launch"


@misconception("loses_no_small_numbers", shows=witness.RESULT)
def one_running_sum(seen: SumsEvidence) -> bool:
    """Too many numbers, or sums of few of them, are added to one sum, one after another. The larger it grows, the coarser
    a float32 is, and the more of every further number is rounded away. Sums of few numbers that are then added to each
    other lose much less, which is what a tree does. (They are also ready sooner.)"""
    return seen.got is not None and abs(seen.got / seen.values.sum() - 1) < 1e-2 and seen.few_are_right


@misconception("loses_no_small_numbers", shows=witness.RESULT)
def integers_on_the_way(seen: SumsEvidence) -> bool:
    """Whole numbers are added up right, and of {seen.n:,} times 0.1 nearly nothing is left: what stands behind the
    point is lost. The shared array, or a sum, is of an integer type. Keep all of it in float32."""
    total = float(seen.values.sum())
    return seen.got is not None and seen.got == int(seen.got) and abs(seen.got / total - 1) >= 1e-2


# ---- part 4: speed ---------------------------------------------------------------------------------------------------


@misconception("faster_than_the_first_idea", shows=witness.RESULT)
def not_the_sum_when_timed(seen: SumsEvidence) -> bool:
    """Speed counts where the sum is right. Fewer elements were added up right, and of {seen.n:,} the total is another:
    what does total_sum do for many elements that it does not do for few?"""
    return seen.attempt.wrong is not None


@misconception("faster_than_the_first_idea", shows=witness.LAUNCH)
def few_blocks(seen: SumsEvidence) -> bool:
    """The launch has so few blocks that most of the GPU has nothing to do: an H200 has 132 multiprocessors, and each
    holds up to 2,048 threads at a time. Launch several blocks for each."""
    return 0 < seen.blocks < ENOUGH_BLOCKS


@misconception("faster_than_the_first_idea", shows=witness.LAUNCHES)
def added_up_again(seen: SumsEvidence) -> bool:
    """The last launch adds up all of `values` again, in one block. Its sum is right, and the blocks' sums are never
    used. Hand it those: scratch[:blocks]."""
    return seen.blocks >= ENOUGH_BLOCKS and seen.one_block_takes_all


@misconception("faster_than_the_first_idea", shows=witness.LAUNCH)
def many_small_blocks(seen: SumsEvidence) -> bool:
    """A thread has {seen.elements_a_thread:.2g} elements, and a block's whole tree is climbed for a few of them. Start
    no more blocks than the GPU holds at a time, and let each thread add up many elements before the tree begins."""
    return seen.blocks >= ENOUGH_BLOCKS and seen.elements_a_thread < FEW_ELEMENTS
