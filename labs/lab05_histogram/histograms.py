"""What a lab about a histogram asks of a submission and sees of it: items of three kinds, right counts, and evidence.

A submission's `histogram(items, bins)` counts how many items are equal to 0, 1, ... bins.size - 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from autograder.errors import Line
from autograder.grading.attempt import Attempt
from autograder.grading.evidence import Evidence
from autograder.grading.failures import CheckFailed
from autograder.grading.kept import KEPT
from autograder.records.counters import Counters
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch, Run, RunRequest, Zeros

KINDS = ("uniform", "one value", "zipf")
SKEW = 1.5  # exponent of the zipf distribution: bin 0 gets 38 % of the items, bin 1 14 %, bin 2 7 %
BINS_A_SECTOR = 8
SECTOR_ITEMS = 8  # int32 of 32 bytes
LEAST_COUNTED = 0.8  # of what blocks have to count on average, by those that are sampled
STRAYS = 8192  # of so many items that have one value one is another, so that nobody can take all for the first

# Units of simulated work in one run, several times what a right answer needs: what a loop without end gets.
WORK_LIMIT = 30_000_000


def items_of(attempt: Attempt, kind: str, n: int, bins: int) -> np.ndarray:
    """`n` int32 items in [0, bins): all equally likely, all the same, or few values most of the time (zipf)."""
    if kind == "uniform":
        return attempt.integers(0, bins, n)
    if kind == "one value":
        return nearly_one_value(attempt, n, bins)
    seed = int(attempt.rng.integers(2**31))
    recipe = f"((np.random.default_rng({seed}).zipf({SKEW}, {n}) - 1) % {bins}).astype(np.int32)"
    return attempt.made(recipe, lambda: ((np.random.default_rng(seed).zipf(SKEW, n) - 1) % bins).astype(np.int32))


def nearly_one_value(attempt: Attempt, n: int, bins: int) -> np.ndarray:
    """`n` int32 items of one value in [0, bins), but for one among `STRAYS`, and no fewer than two."""
    value, seed, strays = int(attempt.rng.integers(bins)), int(attempt.rng.integers(2**31)), 2 + n // STRAYS
    recipe = f"(lambda r, a: (np.put(a, r.integers({n}, size={strays}), r.integers({bins}, size={strays})), a)[1])"

    def make() -> np.ndarray:
        rng, items = np.random.default_rng(seed), np.full(n, value, np.int32)
        items[rng.integers(n, size=strays)] = rng.integers(bins, size=strays)
        return items

    return attempt.made(f"{recipe}(np.random.default_rng({seed}), np.full({n}, {value}, np.int32))", make)


def counting(items: np.ndarray | Zeros, bins: int | np.ndarray, work_limit: int = WORK_LIMIT) -> RunRequest:
    """A call of the submission's `histogram`; `bins` is what the result holds before, or how many zeros."""
    before = np.zeros(bins, np.int32) if isinstance(bins, int) else bins
    return RunRequest("histogram", {"items": items, "bins": before}, work_limit=work_limit)


def counts_of(items: np.ndarray | Zeros, bins: int) -> np.ndarray:
    """What is right for items that the next submission gets too, or for zeros."""
    if isinstance(items, np.ndarray):
        counts: np.ndarray = KEPT.of(histogram_of, items, bins)
        return counts
    return np.array([items.size, *[0] * (bins - 1)], np.int32)


def histogram_of(items: np.ndarray, bins: int) -> np.ndarray:
    """How many items of each value there are, those outside [0, bins) left out."""
    return np.bincount(items[(items >= 0) & (items < bins)], minlength=bins).astype(np.int32)


def expect_histogram(attempt: Attempt, request: RunRequest, run: Run) -> None:
    """Fails the check unless every bin holds its count, and the items are what they were."""
    expect_counts(attempt, request, run.outputs)
    attempt.expect_inputs_unchanged(run, ("items",))


def expect_counts(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """What bins are held to where they are counted or timed: for `Lab.results`."""
    got = outputs["bins"]
    attempt.expect_close(got, counts_of(request.arguments["items"], got.size), "bins")


def counting_launch(run: Run) -> Launch | None:
    """The launch that counts, not the one that clears: the one with the most atomic updates."""
    return max(run.launches, key=lambda each: _atomics(each.counted), default=None)


def expect_share(request: RunRequest, run: Run, least: float = LEAST_COUNTED) -> None:
    """Fails the check unless the blocks that were sampled counted something like their share, and only what they loaded.

    Bins that are as all blocks leave them, where others were carried out beside the sample, were verified as they are: they
    stand for what the sampled blocks loaded of them.
    """
    bins, items, launch = run.outputs["bins"].astype(np.int64), request.arguments["items"], counting_launch(run)
    if launch is None or launch.counted is None:
        raise CheckFailed(f"For {items.size:,} items no kernel is launched.")
    sampled, blocks = launch.counters.simulated_blocks, launch.counters.blocks
    share = items.size * sampled // max(1, blocks)
    loaded, right = loaded_of(items, run, bins.size)
    bins = np.where(run.written.get("bins", False), right, bins)
    if bins.sum() < least * share or (bins > right).any():
        raise CheckFailed(
            f"{items.size:,} items, {bins.size:,} bins: {sampled:,} of {blocks:,} blocks have about {share:,} to count, "
            f"load {loaded:,}, and add {bins.sum():,} to the result, or more to a bin than they loaded."
        )


def loaded_of(items: np.ndarray | Zeros, run: Run, bins: int) -> tuple[int, np.ndarray]:
    """How many items the sampled blocks of a run loaded, and the histogram of those."""
    if isinstance(items, Zeros):
        count = min(items.size, SECTOR_ITEMS * int(np.count_nonzero(run.loaded["items"])))
        return count, counts_of(Zeros((count,), items.dtype), bins)
    loaded = items[np.repeat(run.loaded["items"], SECTOR_ITEMS)[: items.size]]
    return loaded.size, histogram_of(loaded, bins)


def expect_none(run: Run, kinds: tuple[str, ...], space: str = "") -> None:
    """Fails the check over an error of these kinds, in this memory if one is named; other faults are for other checks."""
    found = [each for each in run.hazards if each.kind in kinds and space in ("", each.space)]
    found = [each for each in found if each.severity == "error" or each.kind == "negative_index"]
    if found:
        raise CheckFailed(str(found[0]), hazards=found)


class HistogramEvidence(Evidence):
    """What the last run showed, in terms of items, bins and private copies."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        items, self.before = (self.request.arguments[name] for name in ("items", "bins"))
        self.items: np.ndarray = np.zeros(items.shape, items.dtype) if isinstance(items, Zeros) else items
        self.n, self.bins = int(self.items.size), int(self.before.size)
        self.expected = counts_of(items, self.bins).astype(np.int64)
        self.inside = int(self.expected.sum())

    @property
    def got(self) -> np.ndarray:
        """The result, without what it held before where that was zero."""
        return np.asarray(self.run.outputs.get("bins", self.before).astype(np.int64))

    @property
    def total(self) -> int:
        return int(self.got.sum())

    @cached_property
    def counting(self) -> Launch | None:
        """The launch that counts."""
        return counting_launch(self.simulated)

    @property
    def counters(self) -> Counters:
        return self.simulated.counted or Counters()

    @property
    def blocks(self) -> int:
        return int(np.prod(self.counting.grid)) if self.counting else 0

    @property
    def threads_a_block(self) -> int:
        return int(np.prod(self.counting.block)) if self.counting else 0

    @property
    def rounds(self) -> int:
        """How often the kernel that counts was launched."""
        return sum(each.kernel == self.counting.kernel for each in self.simulated.launches) if self.counting else 0

    @property
    def items_a_block(self) -> int:
        return self.n // max(1, self.blocks)

    @property
    def shared_bytes(self) -> int:
        return max((each.shared_bytes for each in self.simulated.launches), default=0)

    @property
    def sectors_a_block(self) -> float:
        """Sectors that the atomics of a block touch in global memory, for each that its bins lie in."""
        return self.counters.global_atomic_sectors / max(1, self.blocks) / (self.bins / BINS_A_SECTOR)

    @property
    def worst_lanes(self) -> int:
        """The most lanes of one warp that updated one bin of the result at a time."""
        return self.counters.global_atomic_worst_multiplicity

    def races(self, space: str) -> tuple[Hazard, ...]:
        """The races that are errors, in `shared` or in `global` memory."""
        return tuple(each for each in self.found("race") if each.severity == "error" and each.space == space)

    @property
    def no_shared_memory_left(self) -> bool:
        """Whether the run ended because a block was to have more shared memory than there is."""
        return self.ended_by == "too_much_shared_memory"

    @property
    def reads_unset_copy(self) -> bool:
        """Whether something is read from shared memory that nobody wrote."""
        return any(each.space == "shared" for each in self.found("uninitialised_read"))

    def strays_from(self, *arrays: str) -> bool:
        """Whether some access was outside one of these arrays: items, bins, or the copy in shared memory."""
        found = (*self.found("out_of_bounds"), *self.found("negative_index"))
        return any(self._which(each) in arrays for each in found)

    @property
    def copy_is_shorter_than_the_bins(self) -> bool:
        """Whether an access went beyond the end of a copy in shared memory that has fewer places than there are bins."""
        ends = ((i, n) for each in self.found("out_of_bounds") if self._which(each) == "copy"
                for i, n in zip(each.index or (), each.shape or (), strict=True))  # fmt: skip
        return any(n <= i and n < self.bins for i, n in ends)

    def _which(self, hazard: Hazard) -> str:
        """What an array is, whatever a kernel calls it: the items are the global array of that length."""
        if hazard.space != "global":
            return "copy"
        return "items" if hazard.shape == (self.n,) and self.n != self.bins else "bins"

    def at(self, line: Line | None) -> Counters:
        """What was counted at a source line."""
        return next((each.counters for each in self.simulated.lines if each.line == line), Counters())

    @property
    def full_counters(self) -> int:
        """How many times 65,536 of one value are lost, where that is what is missing: what a counter of 16 bits loses each
        time that it is full, but for what it carries over into its neighbour."""
        items = self.request.arguments["items"]
        if not isinstance(items, Zeros) or "items" not in self.run.loaded or self.shared_bytes == 0:
            return 0
        missing = loaded_of(items, self.run, self.bins)[0] - self.total
        times = -(-missing // 2**16)
        return times if 0 < times and times * 2**16 - missing <= times else 0

    def elsewhere(self, items: np.ndarray, bins: int) -> HistogramEvidence:
        """What other items show on the simulated GPU: an experiment, to tell two misconceptions apart."""
        attempt, trials = self.attempt, list(self.trials)
        request = replace(self.request, arguments={"items": items, "bins": np.zeros(bins, np.int32)})
        attempt.simulate(request, may_fault=True)
        other = type(self)(attempt)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return other

    @property
    def lost(self) -> bool:
        """Whether there are fewer counts than items, and no bin has too many."""
        astray = self.found("out_of_bounds") or self.reads_unset_copy  # what is counted then is up to chance
        fewer = self.run.fault is None and self.total < self.inside and bool((self.got <= self.expected).all())
        return fewer and not astray

    @cached_property
    def ends_missing(self) -> str:
        """Which items are left out, in words, where those are exactly the first or the last ones; empty where not."""
        missing = self.inside - self.total
        if not 0 < missing < self.n or self.bins < 3:
            return ""
        first, last = missing - self._counted(missing, 0), missing - self._counted(0, missing)
        if missing in (first, last):
            which = "first" if first == missing else "last"
            return f"the {which} one is missing" if missing == 1 else f"the {which} {missing:,} are missing"
        both = first + last == missing and not self._counted(first, last)
        return f"{first:,} at the beginning and {last:,} at the end are missing" if both else ""

    def _counted(self, first: int, last: int) -> int:
        """How many of the first and of the last items are counted: an experiment, in which they have a bin to themselves."""
        place = np.arange(self.n)
        marked = np.where((place < first) | (place >= self.n - last), 2, 1).astype(np.int32)
        return int(self.elsewhere(marked, self.bins).got[2])

    @property
    def items_changed(self) -> bool:
        """Whether the items are not what they were."""
        return not np.array_equal(self.run.outputs.get("items", self.items), self.items)

    @property
    def keeps_to_itself(self) -> bool:
        """Whether threads store in arrays of their own, and a block has none."""
        return self.shared_bytes == 0 and self.counters.local_store_requests > 0

    @property
    def updates_elsewhere(self) -> bool:
        """Whether items are counted, and copies added up, and the result holds nothing."""
        counted = self.counters.shared_atomic_requests > 0 or self.shared_bytes == 0
        return self.total == 0 and counted and self.counters.global_atomic_requests > 0

    @property
    def counts_nothing(self) -> bool:
        """Whether kernels ran, and no thread ever updated a bin of a copy, or of the result where there are no copies."""
        c = self.counters
        updates = c.shared_atomic_requests or c.local_store_requests
        updates = updates or (c.global_atomic_requests and not self.shared_bytes)
        quiet = self.run.fault is None and self.launch is not None and not self.simulated.hazards
        return quiet and self.total == 0 and not updates and not self.items_changed

    @property
    def adds_items(self) -> bool:
        """Whether the counts add up to the sum of the items, and not to their number."""
        inside = self.items[(self.items >= 0) & (self.items < self.bins)]
        return self.run.fault is None and self.inside < self.total == int(inside.sum(dtype=np.int64))

    @property
    def stray_update(self) -> int | None:
        """The bin beyond all others that an atomic update was to go to, although every item is the number of one."""
        for each in self.found("out_of_bounds") if self.inside == self.n and not self.items_changed else ():
            at = self.at(each.line)
            if each.index and each.index[0] >= self.bins and (at.shared_atomic_requests or at.global_atomic_requests):
                return each.index[0]
        return None

    @property
    def without_bin_zero(self) -> bool:
        """Whether bin 0 is empty and should not be, and all others are right."""
        others = np.array_equal(self.got[1:], self.expected[1:])
        return self.run.fault is None and bool(self.got[0] == 0 < self.expected[0]) and others

    @property
    def all_blocks_count_the_same(self) -> bool:
        """Whether all counts are what so many blocks make of the same items."""
        several = self.run.fault is None and self.blocks > 1 and self.total > 0
        times = self.total // max(1, self.inside)  # every item, if all blocks count all of them
        whole = np.array_equal(self.got, times * self.expected)
        return several and not (self.got % self.blocks).any() and (times == self.blocks if whole else True)

    @property
    def in_parts(self) -> bool:
        """Whether the kernel that counts is launched again and again."""
        return self.rounds > 4

    @property
    def assigned(self) -> bool:
        """Whether copies were stored into the result over one another: a race at a line that reads no bin."""
        return any(not self.at(h.line).global_load_requests and h.line == h.other_line for h in self.races("global"))

    @property
    def updates_collide(self) -> bool:
        """Whether a line reads a bin and writes it back, and other threads do so at the same time."""
        at_one_line = [h for where in ("global", "shared") for h in self.races(where) if h.line == h.other_line]
        return bool(at_one_line) and not self.assigned


def _atomics(counters: Counters | None) -> int:
    return 0 if counters is None else counters.global_atomic_requests + counters.shared_atomic_requests
