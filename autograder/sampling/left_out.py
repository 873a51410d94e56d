"""What a sample of blocks leaves unknown, and which other blocks have to be carried out so that nobody notices.

Of a sampled launch most blocks are left out, and what they would have written is not there. A program that read it, in
a later launch or on the host, would go on with wrong numbers, or could tell that it is sampled. So each read of global
memory is held against what may be missing there (`Partial`), and a run that missed something is made again with the
blocks that write it (`Plan.grow`): all blocks of a launch that costs little, and of others those whose place in the
array follows from the blocks that were seen (`Footprint`). Only where that does not follow it is all of them as well.

START HERE: `Plan.grow`. `autograder.simulated_device.SimulatedDevice.run` repeats a run until its plan stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autograder.sampling.beginnings import Kinds
from autograder.simgpu.host.stores import Stores, first_of_each
from autograder.simgpu.values.lanes import Geometry
from autograder.simgpu.values.memory import Buffer

# Warp instructions, a fraction of a second: launches that take no more together are carried out whole.
LITTLE_WORK = 1 << 20
MOST_WORK = 64 << 20  # of all runs of one request until its plan stays as it is: some three seconds of tiled products
MOST_CANDIDATES = 1 << 24  # places looked at to find the blocks that write some elements
PLACES_AT_ONCE = 1 << 18
MOST_ROUNDS = 6  # runs with a plan that grew; the next one leaves nothing out
ALL = None  # of a launch's blocks


@dataclass(frozen=True, eq=False)
class Footprint:
    """What the blocks of one launch that were carried out wrote of one array, and what that says of the others."""

    geometry: Geometry
    carried_out: np.ndarray  # int64: linear numbers of these blocks
    stores: Stores

    def is_like(self, other: Footprint) -> bool:
        ours, theirs = self.stores, other.stores
        return (
            ours.has_atomics == theirs.has_atomics
            and np.array_equal(self.carried_out, other.carried_out)
            and np.array_equal(ours.elements, theirs.elements)
            and np.array_equal(ours.blocks, theirs.blocks)
        )

    @cached_property
    def rule(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where each block of the grid begins to write, and how far from there it does; None where no rule is seen.

        The first element is one number for a block, and a fixed step further for the next block along each axis. Where all
        blocks that write have one place along an axis, and others elsewhere along it write nothing, they all are taken to
        write nothing there: of such a block it begins at -1.
        """
        if not len(self.stores.elements):
            return None
        order = np.argsort(self.stores.blocks, kind="stable")  # elements stay in order
        writers, elements = self.stores.blocks[order], self.stores.elements[order]
        first = first_of_each(writers)
        seen, starts = writers[first], elements[first]
        writing, tried = self.geometry.block_index(seen), self.geometry.block_index(self.carried_out)
        alone = [axis for axis in range(3) if np.ptp(writing[axis]) == 0 < np.ptp(tried[axis])]
        axes = [axis for axis, extent in enumerate(self.geometry.grid) if extent > 1 and axis not in alone]

        def terms(blocks: np.ndarray) -> np.ndarray:
            places = self.geometry.block_index(blocks)
            return np.stack([np.ones_like(blocks), *(places[axis] for axis in axes)], axis=1)

        known = terms(seen)
        if np.linalg.matrix_rank(known) < known.shape[1]:
            return None
        steps = np.rint(np.linalg.lstsq(known.astype(np.float64), starts.astype(np.float64), rcond=None)[0]).astype(
            np.int64
        )
        if not np.array_equal(known @ steps, starts):
            return None
        pattern = np.unique(elements - np.repeat(starts, np.diff(first, append=len(writers))))
        every = np.arange(self.geometry.blocks, dtype=np.int64)
        begins, places = terms(every) @ steps, self.geometry.block_index(every)
        for axis in alone:
            begins[places[axis] != writing[axis][0]] = -1
        return begins, pattern

    def missing_for(self, wanted: np.ndarray, size: int) -> np.ndarray | None:
        """The blocks that write those of the `wanted` elements that nobody wrote yet; `ALL` where that is not known.

        `size`: elements of the array.
        """
        if self.stores.has_atomics and len(wanted):
            return ALL
        wanted = np.setdiff1d(wanted, self.stores.elements, assume_unique=True)
        if not len(wanted):
            return np.zeros(0, np.int64)
        found = self._left_out_writers(wanted, size)
        return ALL if found is None or not found[0].all() else found[1]

    def left_out_write(self, elements: np.ndarray, size: int) -> np.ndarray:
        """A flag for each of these elements that a block left out writes; none is set where no rule is seen."""
        found = None if self.stores.has_atomics else self._left_out_writers(elements, size)
        return np.zeros(len(elements), bool) if found is None else found[0]

    def _left_out_writers(self, elements: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Which of these elements blocks that were left out write, by the rule, and which blocks; None where no rule is
        seen, or where it is too much to look at.

        Each element is looked up in the blocks that may write it, or each block in the elements, whichever are fewer.
        """
        if self.rule is None:
            return None
        starts, pattern = self.rule
        is_left_out = np.ones(len(starts), bool)
        is_left_out[self.carried_out] = False
        blocks = np.flatnonzero(is_left_out & (starts >= 0) & (starts < size))
        begins = starts[blocks]
        if min(len(elements), len(blocks)) * len(pattern) > MOST_CANDIDATES:
            return None
        if len(elements) <= len(blocks):
            begins_at = np.zeros(size, bool)
            begins_at[begins] = True
            places = elements[:, None] - pattern[None, :]
            of_a_block = begins_at[np.clip(places, 0, size - 1)] & (places >= 0)
            writes = np.zeros(size, bool)
            writes[places[of_a_block]] = True
            return np.asarray(of_a_block.any(axis=1)), blocks[writes[begins]]
        is_wanted, is_written, writes = np.zeros(size, bool), np.zeros(size, bool), np.zeros(len(blocks), bool)
        is_wanted[elements] = True
        at_once = max(1, PLACES_AT_ONCE // len(pattern))
        for first in range(0, len(blocks), at_once):
            places = begins[first : first + at_once, None] + pattern[None, :]
            wanted = is_wanted[np.minimum(places, size - 1)] & (places < size)
            writes[first : first + at_once] = wanted.any(axis=1)
            is_written[places[wanted]] = True
        return is_written[elements], blocks[writes]


@dataclass(frozen=True, eq=False)
class Producer:
    """One sampled launch that may have written an array."""

    launch: int  # its number within the run
    since: int  # its first stamp
    reach: np.ndarray | None  # elements that it can have written, by its text; None: any
    footprint: Footprint
    work: int  # warp instructions of all its blocks

    def work_of(self, blocks: np.ndarray | None) -> float:
        """Warp instructions of some of its blocks, or of `ALL`."""
        return self.work if blocks is ALL else self.work * len(blocks) / self.footprint.geometry.blocks


@dataclass(eq=False)
class Partial:
    """One array of which sampled launches may have left out a part: what is known of it, and what was read all the same."""

    buffer: Buffer
    producers: list[Producer] = field(default_factory=list)
    wanted: np.ndarray | None = None  # a flag for each element: read, although it may be missing
    before: int = 0  # how many of the producers came before such a read
    is_for_the_host_alone: bool = True  # nothing was launched after those reads
    without_a_rule: list[Producer] = field(default_factory=list)  # see `look_for_rules`
    _read_by_host: list[np.ndarray | slice] = field(default_factory=list)  # since the last launch
    _since: dict[int, tuple[np.ndarray | None, int]] = field(default_factory=dict)  # by reach: the last launch with it

    def add(self, producer: Producer) -> None:
        self.producers.append(producer)
        self._since[id(producer.reach)] = (producer.reach, producer.since)

    def read_by_host(self, elements: np.ndarray | slice) -> None:
        """Keeps what the host reads until it comes to matter: see `settle`."""
        self._read_by_host.append(elements)

    def settle(self, is_the_end: bool = False) -> None:
        """Takes in what the host has read, before it goes on to launch something, or at the end."""
        for elements in self._read_by_host:
            self.read(elements, is_the_end)
        self._read_by_host.clear()

    def read(self, elements: np.ndarray | slice, is_the_end: bool = False) -> None:
        """Notes those of these elements that may be missing."""
        if isinstance(elements, slice):
            elements = np.arange(len(self.buffer.data))[elements]
        missing = self.missing(elements)
        if missing.any():
            if self.wanted is None:
                self.wanted = np.zeros(len(self.buffer.data), bool)
            self.wanted[elements[missing]] = True
            self.before = len(self.producers)
            self.is_for_the_host_alone &= is_the_end

    def written_over(self) -> np.ndarray:
        """A flag for each element that one launch wrote and that, by the rule of a later one, a block left out of that
        writes once more."""
        over = np.zeros(len(self.buffer.data), bool)
        for each in self.producers:
            before = np.flatnonzero(self._written_before(each) & ~over)
            if len(before):
                over[before] = each.footprint.left_out_write(before, len(over))
        return over

    def look_for_rules(self) -> None:
        """Notes the launches whose blocks left out may write once more what an earlier launch wrote, and of which too few
        were carried out to tell: of a result, that decides what is looked at."""
        self.without_a_rule = [
            each for each in self.producers if each.footprint.rule is None and self._written_before(each).any()
        ]

    def added_to(self, elements: np.ndarray | slice) -> np.ndarray:
        """Of each of these elements, whether blocks of a sampled launch added to it last: others may have added too."""
        shadow = self.buffer.shadow
        if shadow is None or not self.producers:
            return np.zeros(len(self.buffer.data), bool)[elements]
        return np.asarray(shadow.is_added_to(elements) & (shadow.written_at[elements] >= self.producers[0].since))

    def want_sums(self) -> None:
        """Asks for all blocks that add to this array: of a result, no sum of which parts are missing can be looked at."""
        sums = self.added_to(slice(None))
        if sums.any():
            self.wanted = sums if self.wanted is None else self.wanted | sums
            self.before = len(self.producers)
            self.is_for_the_host_alone = False

    def _written_before(self, producer: Producer) -> np.ndarray:
        """A flag for each element that was written before a launch which can write it too, and not since."""
        shadow = self.buffer.shadow
        if shadow is None:
            return np.zeros(len(self.buffer.data), bool)
        reached = True if producer.reach is None else producer.reach
        return np.asarray((shadow.written_at > 0) & (shadow.written_at < producer.since) & reached)

    def missing(self, elements: np.ndarray | slice) -> np.ndarray:
        """Which of these elements a block that was left out may have written last."""
        shadow = self.buffer.shadow
        stamps = np.zeros(len(self.buffer.data), np.int32)[elements] if shadow is None else shadow.written_at[elements]
        missing = np.zeros(len(stamps), bool)
        for reach, since in self._since.values():
            missing |= (stamps < since) & (True if reach is None else reach[elements])
        missing |= self.added_to(elements)  # where blocks add to one element, each of them is missing
        return missing


class Plan:
    """Which blocks are carried out beside the sample, by the number of the launch."""

    def __init__(self, *, keeps_to_rules: bool = False, kinds: Kinds | None = None) -> None:
        self.kinds = kinds or {}  # of blocks that the sample has none of, one of each of which is carried out
        self.keeps_to_rules = keeps_to_rules  # also of launches that are little work: what these read may be much
        self.goes_beyond_rules = False  # some such launch was taken in whole although it follows a rule
        self.blocks: dict[int, np.ndarray | None] = {}  # `ALL`: the launch is not sampled
        self.is_whole = False  # nothing is sampled at all
        self.is_too_much = False  # more would have to be carried out beside the sample than there is time for
        self._probed: set[int] = set()
        self._work = 0  # warp instructions of the runs so far

    def beside_the_sample(self, launch: int) -> np.ndarray | None:
        if self.is_whole:
            return ALL
        others = np.array([each.block for each in self.kinds.get(launch, ())], np.int64)
        return _together(self.blocks.get(launch, np.zeros(0, np.int64)), others)

    def grow(self, partials: Sequence[Partial], work_of_run: int) -> bool:
        """Takes in the blocks that a run missed; False where it missed none."""
        self._work += work_of_run
        missed: dict[int, np.ndarray | None] = {}
        producers: dict[int, Producer] = {}
        for partial in partials:
            if partial.wanted is None:
                continue
            wanted, size = np.flatnonzero(partial.wanted), len(partial.buffer.data)
            found: dict[tuple[int, int], np.ndarray | None] = {}  # launches that do the same miss the same
            for each in partial.producers[: partial.before]:
                key = (id(each.footprint), id(each.reach))
                if key not in found:
                    reached = wanted if each.reach is None else wanted[each.reach[wanted]]
                    found[key] = each.footprint.missing_for(reached, size)
                missing = found[key]
                is_most = missing is ALL or 2 * len(missing) > each.footprint.geometry.blocks
                if is_most and partial.is_for_the_host_alone and each.work > LITTLE_WORK:
                    continue  # as for a copy that is handed back: what has been launched is judged by what it wrote
                if missing is ALL or len(missing):
                    producers[each.launch] = each
                    missed[each.launch] = _together(missed.get(each.launch, np.zeros(0, np.int64)), missing)
        for partial in partials:
            for each in partial.without_a_rule:
                if each.launch not in self._probed | missed.keys():  # a few more blocks may show the rule
                    self._probed.add(each.launch)
                    producers[each.launch], missed[each.launch] = each, _probes(each.footprint)
        work, beside = 0, 0.0
        for number, blocks in sorted(missed.items(), key=lambda item: producers[item[0]].work):
            work += producers[number].work
            if work <= LITTLE_WORK and (blocks is ALL or not self.keeps_to_rules):
                self.goes_beyond_rules |= blocks is not ALL
                blocks = ALL
            elif blocks is ALL and number not in self._probed:  # a few more may show the rule
                self._probed.add(number)
                blocks = _probes(producers[number].footprint)
            beside += producers[number].work_of(blocks)
            self.blocks[number] = _together(self.blocks.get(number, np.zeros(0, np.int64)), blocks)
        next_run = work_of_run + beside
        self.is_too_much = bool(missed) and self._work + next_run > MOST_WORK
        return bool(missed)


def _together(some: np.ndarray | None, more: np.ndarray | None) -> np.ndarray | None:
    return ALL if some is ALL or more is ALL else np.union1d(some, more)


def _probes(footprint: Footprint) -> np.ndarray:
    """The first block and its neighbour along each axis."""
    (x, y, z), probes = footprint.geometry.grid, [0]
    probes += [1] * (x > 1) + [x] * (y > 1) + [x * y] * (z > 1)
    return np.setdiff1d(np.array(probes, np.int64), footprint.carried_out)
