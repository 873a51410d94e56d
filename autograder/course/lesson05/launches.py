"""What lesson 5's pictures and tables show of a launch: its recorded requests, its blocks' copies, its additions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from autograder.course.lesson05.items import BINS
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.records.accesses import Access

THREADS = 256  # of a block
LINE_BYTES = 128  # of L2


def first_request(kernel: Any, items: np.ndarray) -> Access:
    """The atomic request of the first warp, of a kernel that takes items and bins, an item a thread."""
    from autograder import profile  # the simulated GPU is only loaded by those who need it

    p = profile(kernel, trace=True)[1, 32](items[:32], np.zeros(BINS, np.int32))
    request: Access = next(each for each in p.trace("cuda.atomic.add") if each.array == "bins")
    return request


def passes_at_lines(kernel: Any, items: np.ndarray) -> list[int]:
    """The passes at each line of 256 bins, of a kernel that takes items and bins, an item a thread."""
    from autograder import profile

    bins = np.zeros(BINS, np.int32)
    p = profile(kernel, trace=True, trace_limit=items.size)[-(-items.size // THREADS), THREADS](items, bins)
    passes: Counter[int] = Counter()
    for each in p.trace("cuda.atomic.add"):
        if (each.kind, each.array) == ("atomic", "bins"):
            for sector, elements in sectors_of(each).items():
                passes[sector * SECTOR_BYTES // LINE_BYTES] += max(map(len, elements.values()))
    return [passes[line] for line in range(bins.nbytes // LINE_BYTES)]


def passes_of_uniform_items(kernel: Any, bins: int, size: int) -> int:
    """The passes in global memory of a kernel that takes items and bins, for `size` items drawn evenly."""
    from autograder import profile

    items = np.random.default_rng(5).integers(0, bins, size).astype(np.int32)
    counters = profile(kernel)[-(-size // THREADS), THREADS](items, np.zeros(bins, np.int32)).counters
    return int(counters.global_atomic_sectors)


def loads_of_items(kernel: Any, threads: int, size: int) -> list[Access]:
    """The loads of `size` items by one block of at most a warp, round by round."""
    from autograder import profile

    p = profile(kernel, trace=True)[1, threads](np.zeros(size, np.int32), np.zeros(BINS, np.int32))
    return [each for each in p.trace("") if (each.kind, each.array) == ("load", "items")]


def counted_apart(items: np.ndarray, blocks: int) -> np.ndarray:
    """What each block has in its private copy before it merges: blocks x 256 counts."""
    from autograder import profile
    from autograder.course.lesson05.kernels import show_copies

    copies = np.zeros((blocks, BINS), np.int32)
    profile(show_copies)[blocks, THREADS](items, copies)
    return copies


def with_runs(items: np.ndarray, blocks: int) -> tuple[int, int]:
    """Additions, and requests of the warps, where each thread adds a run of equal items at once."""
    from autograder import profile
    from autograder.course.lesson05.kernels import runs_without_copies

    p = profile(runs_without_copies, trace=True, trace_limit=items.size)[blocks, THREADS](
        items, np.zeros(BINS, np.int32)
    )
    updates = [each for each in p.trace("cuda.atomic.add") if each.kind == "atomic"]
    return sum(int((each.addresses >= 0).sum()) for each in updates), p.counters.global_atomic_requests
