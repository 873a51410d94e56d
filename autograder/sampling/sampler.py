"""Samples the blocks of each launch, and scales what they count up to all blocks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from autograder.simgpu.counting.tally import MAXIMA, Tally
from autograder.simgpu.host.launch import Chooser, Part, RunningLaunch, Touched, Work

NO_BLOCKS = np.zeros(0, np.int64)


class Sampler(Chooser):
    """Has at most so many blocks of each launch carried out, for records that stand for all of them.

    `blocks`: None for all. `seed`: where in the grid they are; None: evenly spread.
    """

    def __init__(self, blocks: int | None, seed: int | None = None) -> None:
        self.blocks, self.seed = blocks, seed

    def choose(self, launch: RunningLaunch) -> Part | None:
        total = launch.geometry.blocks
        if self.blocks is None or self.blocks >= total:
            return None
        return Part(spread(self.blocks, launch.geometry.grid, self.seed), NO_BLOCKS)

    def in_all(self, launch: RunningLaunch, work: Work) -> Work:
        return scaled(work, launch.geometry.blocks / max(1, len(launch.counted)))

    def done(self, launch: RunningLaunch, work: Work) -> Work:
        return self.in_all(launch, work)


def spread(count: int, grid: tuple[int, ...], seed: int | None = None) -> np.ndarray:
    """So many of a grid's blocks, as ascending linear numbers: one from each of as many equal parts of it, the middle or by
    chance.

    By chance they also lie evenly along each axis that fits into a part: where every second column of blocks has no work,
    half of the sampled blocks have none. `grid`: blocks along x, y, z.
    """
    count, total = max(1, count), math.prod(grid)
    if seed is None:
        return np.unique(((np.arange(count) + 0.5) * total / count).astype(np.int64))
    rng = np.random.default_rng(seed)
    blocks = ((np.arange(count) + rng.random(count)) * total / count).astype(np.int64)
    step = 1  # from one block to the next along the axis
    for extent in grid:
        if 1 < extent and step * extent * count <= total:
            evenly = ((rng.permutation(count) + rng.random(count)) * extent / count).astype(np.int64)
            blocks += (evenly - blocks // step % extent) * step
        step *= extent
    return np.unique(blocks)


def scaled(work: Work, scale: float) -> Work:
    """The work of so many times as many blocks: in proportion, of each array no more sectors than it has."""
    if scale == 1.0:
        return work
    return replace(
        work,
        tally=_scaled_tally(work.tally, scale),
        warps=replace(work.warps, diverged=round(work.warps.diverged * scale)),
        hottest_atomics=round(work.hottest_atomics * scale),
        hottest_stores=round(work.hottest_stores * scale),
        touched=tuple(_scaled_sectors(each, scale) for each in work.touched),
    )


def _scaled_tally(tally: Tally, scale: float) -> Tally:
    made = Tally()
    for ours, theirs in (
        (made.rows, tally.rows),
        (made.source_rows, tally.source_rows),
        (made.compiled_rows, tally.compiled_rows),
    ):
        for line, counts in theirs.items():
            ours[line] = [n if slot in MAXIMA else round(n * scale) for slot, n in enumerate(counts)]
    return made


def _scaled_sectors(touched: Touched, scale: float) -> Touched:
    return replace(
        touched,
        loaded=min(round(touched.loaded * scale), touched.of_all),
        stored=min(round(touched.stored * scale), touched.of_all),
        by_atomics=min(round(touched.by_atomics * scale), touched.of_all),
        by_blocks=round(touched.by_blocks * scale),
        pages=round(touched.pages * scale),
    )
