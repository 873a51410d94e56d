"""Three kernels of unknown trouble: as they came, with the most obvious suspect cured, and mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autograder.course.lesson09 import kernels
from autograder.course.lesson09.pairs import BINS, FEW_BLOCKS, THREADS, KernelLaunch, table_of_rows

EDGES = 1024


@dataclass(frozen=True)
class PatientTask:
    """A patient's task in three launches, by name; all but `bins` of an image are one result for each thread's element."""

    launches: dict[str, KernelLaunch]
    expected: dict[str, np.ndarray]


@dataclass(frozen=True)
class Patient:
    """What is wrong with a kernel, what looks wrong, and the task on which this shows."""

    name: str
    suspect: str  # of BOTTLENECKS: what meets the eye
    bottleneck: str  # what it is
    technique: str
    case: Callable[[int], PatientTask]
    shown: int  # what a sheet is of
    large: int  # what is timed
    elements: str  # what a sheet counts for each of
    sample: int | None = None  # blocks that stand for all, where they are alike


AS_IT_CAME, SUSPECT_CURED, MENDED = "as it came", "suspect cured", "mended"
BY_ATOMICS = "shared, atomics"  # of patient B: 32 lanes add to a sum


def image_levels(side: int) -> PatientTask:
    """A square image of 256 grey levels, int32; as it came, the 256 threads of a block read a column."""
    image = np.random.default_rng(11).integers(0, BINS, (side, side)).astype(np.int32)
    bins = np.bincount(image.ravel(), minlength=BINS).astype(np.int32)
    few = min(FEW_BLOCKS, side // 8)
    grids = {AS_IT_CAME: (side, side // THREADS), SUSPECT_CURED: (side, side // THREADS), MENDED: few}
    versions = (kernels.grey_levels, kernels.grey_levels_along_rows, kernels.grey_levels_mended)
    launches = {
        name: KernelLaunch(kernel, grid, THREADS, (image, np.zeros(BINS, np.int32)))
        for (name, grid), kernel in zip(grids.items(), versions, strict=True)
    }
    return PatientTask(launches, dict.fromkeys(launches, bins))


def links(nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each node's links begin, the nodes that they name, at random, and a weight of each node (whole numbers)."""
    starts, values = table_of_rows(nodes)
    rng = np.random.default_rng(12)
    return starts, rng.integers(0, nodes, values.size).astype(np.int32), rng.integers(0, 5, nodes).astype(np.float32)


def sums_of_links(nodes: int) -> PatientTask:
    """What nodes receive from those that link to them; the suspect's cure is to have the weights lie in order."""
    starts, named, weights = links(nodes)
    gathered = weights[named]
    sums = np.add.reduceat(gathered, starts[:-1], dtype=np.float64).astype(np.float32)
    blocks = nodes // THREADS

    def results() -> np.ndarray:
        return np.zeros(nodes, np.float32)

    launches = {
        AS_IT_CAME: KernelLaunch(kernels.received, blocks, THREADS, (starts, named, weights, results())),
        SUSPECT_CURED: KernelLaunch(kernels.whole_rows, blocks, THREADS, (starts, gathered, results())),
        BY_ATOMICS: KernelLaunch(kernels.received_by_atomics, 32 * blocks, THREADS, (starts, named, weights, results())),
        MENDED: KernelLaunch(kernels.received_mended, 32 * blocks, THREADS, (starts, named, weights, results())),
    }
    return PatientTask(launches, dict.fromkeys(launches, sums))


def classes_of(size: int) -> PatientTask:
    """The class of each number among EDGES sorted edges; the suspect's cure is to have the numbers sorted as well."""
    rng = np.random.default_rng(13)
    edges, x = np.sort(rng.random(EDGES, dtype=np.float32)), rng.random(size, dtype=np.float32)
    in_order = np.sort(x)
    given = {
        AS_IT_CAME: (kernels.classes, x),
        SUSPECT_CURED: (kernels.classes, in_order),
        MENDED: (kernels.classes_mended, x),
    }
    launches = {
        name: KernelLaunch(kernel, size // THREADS, THREADS, (edges, numbers, np.zeros(size, np.int32)))
        for name, (kernel, numbers) in given.items()
    }
    expected = {
        name: np.searchsorted(edges, numbers, side="right").astype(np.int32) for name, (_, numbers) in given.items()
    }
    return PatientTask(launches, expected)


PATIENTS = (
    Patient("A", "memory bandwidth", "update contention", "coarsening", image_levels, 2**11, 2**13, "pixels", 16),
    Patient("B", "memory bandwidth", "load balance", "regularization", sums_of_links, 2**14, 2**18, "links"),
    Patient("C", "regularity", "efficiency", "input binning", classes_of, 2**18, 2**22, "numbers", 16),
)
