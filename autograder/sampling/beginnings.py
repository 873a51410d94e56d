"""How the blocks of a launch begin: many of them are begun at once and soon stopped, to see which do other things.

A few sampled blocks stand for all. Where every second block leaves its loop out, one that was sampled by chance does not
show that. So blocks are told apart by the instructions that their warps execute at first, and of each kind that many blocks
are of one is carried out and looked at: beside the sample, where the sample has none.

This is a run of its own, whose results nobody reads: launches find what the launches before them left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from autograder.sampling.sampler import NO_BLOCKS, spread
from autograder.simgpu.host.launch import Chooser, Part, RunningLaunch, Work
from autograder.simgpu.machine.machine import Machine

BEGINNING = 1_000_000  # units of work of all blocks together: a tenth of a second, some two hundred statements
MANY = 1 / 12  # of the blocks: kinds with fewer, such as those at an edge, are mostly left to the sample
SURE = 3.0  # standard deviations
FEWEST = 128  # blocks of a launch that are begun
MOST_KINDS = 8  # of a launch: where blocks are of more, each goes its own way, and none stands for others


@dataclass(frozen=True)
class KindOfBlocks:
    """A kind of blocks that the sample of a launch has none of: one of them, and what share of all are surely like it."""

    block: int
    share: float


@dataclass
class Beginnings(Chooser):
    """Begins many blocks of each launch, the sampled ones among them, and tells of which kinds the sample has none."""

    sample_blocks: int
    sample_seed: int | None
    kinds: dict[int, list[KindOfBlocks]] = field(default_factory=dict)  # by the number of the launch
    _looked_at: np.ndarray = field(default_factory=lambda: NO_BLOCKS)  # of the launch that runs, by chance
    _sampled: np.ndarray = field(default_factory=lambda: NO_BLOCKS)

    def choose(self, launch: RunningLaunch) -> Part | None:
        geometry = launch.geometry
        self._sampled = spread(self.sample_blocks, geometry.grid, self.sample_seed)
        room = self.blocks_at_once(launch) - len(self._sampled)
        if len(self._sampled) >= geometry.blocks or room < 1:
            self._looked_at = NO_BLOCKS
            return Part(self._sampled[:1], NO_BLOCKS)
        chance = np.random.default_rng([self.sample_seed or 0, 1]).permutation(geometry.blocks)[:room]
        self._looked_at = np.sort(chance)
        return Part(np.union1d(self._sampled, self._looked_at), NO_BLOCKS)

    def blocks_at_once(self, launch: RunningLaunch) -> int:
        return max(FEWEST, super().blocks_at_once(launch))

    def stops_after(self, launch: RunningLaunch) -> int | None:
        return BEGINNING

    def done(self, launch: RunningLaunch, work: Work) -> Work:
        return work

    def stopped(self, launch: RunningLaunch, machine: Machine) -> None:
        blocks = machine.batch.blocks
        executed = machine.books.warp_work.by_warp().reshape(len(blocks), -1)
        by_chance = np.isin(blocks, self._looked_at)
        if len(blocks) != len(launch.counted) or not by_chance.any():
            return
        _, kind = np.unique(executed, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        if kind.max() >= MOST_KINDS:
            return
        seen = set(kind[np.isin(blocks, self._sampled)].tolist())
        found = []
        for each in set(kind.tolist()) - seen:
            like_it, seen_by_chance = np.flatnonzero((kind == each) & by_chance), int(np.count_nonzero(by_chance))
            share = len(like_it) / seen_by_chance
            if share >= MANY:
                found.append(KindOfBlocks(int(blocks[like_it[0]]), surely(share, seen_by_chance, launch.geometry.blocks)))
        if found:
            self.kinds[launch.earlier_launches] = sorted(found, key=lambda kind: kind.block)


Kinds = Mapping[int, list[KindOfBlocks]]


def surely(share: float, seen: int, of: int) -> float:
    """The least share of all that goes with a share of those that were seen by chance."""
    if seen >= of:
        return share
    return max(0.0, share - SURE * float(np.sqrt(share * (1 - share) / seen)))
