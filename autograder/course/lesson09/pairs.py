"""Eight pairs of kernels, one for each of Hwu's techniques: what they run on, and what each must have written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.course.lesson09 import kernels
from autograder.kernels import histogram_few_threads, histogram_privatized, weigh_columns, weigh_rows

BOTTLENECKS = ("memory bandwidth", "update contention", "load balance", "regularity", "efficiency")
FEW_BLOCKS, THREADS, BINS = 1056, 256, 256  # every place for a thread on an H200, once
PIECE = 32  # elements of a row, at most
STEPS = 256


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel with its grid, its block and its arguments; the last array among these is the result."""

    kernel: Any
    grid: Any
    block: Any
    arguments: tuple[Any, ...]

    @property
    def result(self) -> np.ndarray:
        """What the kernel writes: on the simulated GPU it holds the answer after the launch."""
        found: np.ndarray = next(each for each in reversed(self.arguments) if isinstance(each, np.ndarray))
        return found


@dataclass(frozen=True)
class Job:
    """One task without a technique and with it, and what each launch must have written."""

    without: KernelLaunch
    with_it: KernelLaunch
    expected: tuple[np.ndarray, np.ndarray]

    def is_right(self) -> bool:
        """Whether both results are as expected: whole numbers to the last, others to four digits."""
        found = (self.without.result, self.with_it.result)
        return all(np.allclose(one, other, rtol=1e-4, atol=0) for one, other in zip(found, self.expected, strict=True))


@dataclass(frozen=True)
class TechniquePair:
    """A technique, and the smallest task that shows it; `job` makes that task for a size, counted in `unit`."""

    technique: str
    crosses: tuple[str, ...]  # of BOTTLENECKS: this row of the article's figure 6
    level: int  # of the article's five, 1 the hardest; which of them this task's trouble is, is our choice
    job: Callable[[int], Job]
    small: int  # what is counted
    large: int  # what is timed
    unit: str


def distances(size: int) -> Job:
    """As many places as houses, all at whole numbers of a street of 16, so that small sums of distances are exact."""
    rng = np.random.default_rng(1)
    houses, places = (rng.integers(0, 16, size).astype(np.float32) for _ in range(2))
    apart = np.abs(np.arange(16)[:, None] - houses[None, :].astype(np.int64)).sum(axis=1)
    far = apart[places.astype(np.int64)].astype(np.float32)
    without, with_it = (
        KernelLaunch(each, size // 128, 128, (houses, places, np.zeros(size, np.float32)))
        for each in (kernels.scattered, kernels.gathered)
    )
    return Job(without, with_it, (far, far))


def _histogram(kernel: Any, blocks: int, items: np.ndarray) -> KernelLaunch:
    return KernelLaunch(kernel, blocks, THREADS, (items, np.zeros(BINS, np.int32)))


def _items(size: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Uniform items, their counts, and a few blocks: as many as run at once, or fewer, so that a thread has 64 or more."""
    items = np.random.default_rng(5).integers(0, BINS, size).astype(np.int32)
    return items, np.bincount(items, minlength=BINS).astype(np.int32), min(FEW_BLOCKS, size // THREADS // 64)


def private_bins(size: int) -> Job:
    """A few blocks in both: bins that all share, or each block's own."""
    items, bins, few = _items(size)
    return Job(_histogram(histogram_few_threads, few, items), _histogram(histogram_privatized, few, items), (bins, bins))


def coarsened_bins(size: int) -> Job:
    """Private bins in both: an item a thread, or a few blocks."""
    items, bins, few = _items(size)
    every = _histogram(histogram_privatized, size // THREADS, items)
    return Job(every, _histogram(histogram_privatized, few, items), (bins, bins))


def products(n: int) -> Job:
    """n x n matrices of small whole numbers, so that products are exact."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 4, (n, n)).astype(np.float32) for _ in range(2))
    both = (kernels.untiled, kernels.tiled)
    without, with_it = (
        KernelLaunch(each, (n // 16, n // 16), (16, 16), (a, b, np.zeros((n, n), np.float32))) for each in both
    )
    return Job(without, with_it, (a @ b, a @ b))


def fields(particles: int) -> Job:
    """Particles of four float32 fields, the last of which is halved."""
    rows = np.random.default_rng(3).random((particles, 4), dtype=np.float32)
    expected = rows * np.array([1, 1, 1, 0.5], np.float32)
    without = KernelLaunch(weigh_rows, particles // THREADS, THREADS, (rows,))
    with_it = KernelLaunch(weigh_columns, particles // THREADS, THREADS, (np.ascontiguousarray(rows.T),))
    return Job(without, with_it, (expected, np.ascontiguousarray(expected.T)))


def neighbours(size: int) -> Job:
    """Places on a line, 16 on average from one whole number to the next; bins are made beforehand."""
    places = (np.random.default_rng(6).random(size) * (size // 16)).astype(np.float32)
    in_bins = places[np.argsort(places.astype(np.int32), kind="stable")]
    starts = np.searchsorted(in_bins.astype(np.int32), np.arange(size // 16 + 1)).astype(np.int32)
    without = KernelLaunch(kernels.asks_all, size // THREADS, THREADS, (places, np.zeros(size, np.int32)))
    with_it = KernelLaunch(kernels.asks_bins, size // THREADS, THREADS, (in_bins, starts, np.zeros(size, np.int32)))
    return Job(without, with_it, (_near(places), _near(in_bins)))


def _near(places: np.ndarray) -> np.ndarray:
    """How many places lie at most 1 from each, itself among them, by differences in float32."""
    order = np.argsort(places, kind="stable")
    line = places[order]
    low, high = np.searchsorted(line, line - 1.01), np.searchsorted(line, line + 1.01)
    found = np.empty(places.size, np.int32)
    found[order] = [
        (np.abs(line[low[at] : high[at]] - mine) <= np.float32(1)).sum() for at, mine in enumerate(line)
    ]
    return found


def skewed_rows(rows: int) -> Job:
    """Rows as long as nodes of a scale-free graph have neighbours: most have a few elements, and a few have thousands."""
    starts, values = table_of_rows(rows)
    lengths = np.diff(starts)
    cut = np.concatenate([np.arange(low, high, PIECE) for low, high in zip(starts[:-1], starts[1:], strict=True)])
    begins = np.append(cut, starts[-1]).astype(np.int32)
    owners = np.repeat(np.arange(rows), -(-lengths // PIECE)).astype(np.int32)
    sums = np.add.reduceat(values, starts[:-1], dtype=np.float64).astype(np.float32)
    whole, pieces = (starts, values, np.zeros(rows, np.float32)), (begins, owners, values, np.zeros(rows, np.float32))
    without = KernelLaunch(kernels.whole_rows, rows // THREADS, THREADS, whole)
    with_it = KernelLaunch(kernels.pieces_of_rows, -(-owners.size // THREADS), THREADS, pieces)
    return Job(without, with_it, (sums, sums))


def table_of_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each row begins (int32, one more for the end), and all elements (float32): none is empty, a few are long."""
    rng = np.random.default_rng(7)
    lengths = np.minimum(4 / rng.random(rows) ** 0.8, rows / 16).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return starts, rng.integers(0, 5, starts[-1]).astype(np.float32)


def population(places: int) -> Job:
    """In the middle half every fourth place is alive, at random, elsewhere nobody; the living take STEPS steps."""
    rng = np.random.default_rng(8)
    x = rng.random(places, dtype=np.float32) + np.float32(1)
    quarter = np.arange(places) // (places // 4)
    x[(rng.random(places) >= 0.25) | (quarter == 0) | (quarter == 3)] = 0
    alive, later = x[x > 0], x[x > 0]
    for _ in range(STEPS):
        later = np.float32(0.99) * later
    expected = x.copy()
    expected[x > 0] = later
    without = KernelLaunch(kernels.with_gaps, places // THREADS, THREADS, (x, np.int32(STEPS)))
    with_it = KernelLaunch(kernels.without_gaps, -(-alive.size // THREADS), THREADS, (alive, np.int32(STEPS)))
    return Job(without, with_it, (expected, later))


MEMORY, CONTENTION, BALANCE, REGULARITY, EFFICIENCY = BOTTLENECKS
PAIRS = (
    TechniquePair("scatter to gather", (CONTENTION,), 5, distances, 2**9, 2**13, "houses"),
    TechniquePair("privatization", (CONTENTION,), 5, private_bins, 2**18, 2**26, "items"),
    TechniquePair("tiling", (MEMORY, EFFICIENCY), 5, products, 2**7, 2**12, "rows"),
    TechniquePair("coarsening", (MEMORY, CONTENTION, EFFICIENCY), 5, coarsened_bins, 2**18, 2**26, "items"),
    TechniquePair("data layout", (MEMORY, CONTENTION, EFFICIENCY), 4, fields, 2**15, 2**25, "particles"),
    TechniquePair("input binning", (MEMORY, EFFICIENCY), 1, neighbours, 2**12, 2**17, "places"),
    TechniquePair("regularization", (BALANCE, REGULARITY, EFFICIENCY), 3, skewed_rows, 2**12, 2**18, "rows"),
    TechniquePair("compaction", (MEMORY, BALANCE, REGULARITY, EFFICIENCY), 3, population, 2**16, 2**24, "places"),
)
"""In the article's order."""
