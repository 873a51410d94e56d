"""What a launch left in an array, by element and block: read from the shadow of past accesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES
from autograder.simgpu.values.lanes import Geometry
from autograder.simgpu.values.memory import Buffer


@dataclass(frozen=True, eq=False)
class Stores:
    """The elements of one array that a launch wrote."""

    elements: np.ndarray  # int64, ascending
    blocks: np.ndarray  # int64, for each: the linear number of the block that wrote it last
    has_atomics: bool  # so that several blocks may have added to one element


def stores_since(buffer: Buffer, since: int, geometry: Geometry, carried_out: np.ndarray) -> Stores:
    """What was written from a stamp on; `carried_out`: the launch's blocks in the order of their threads."""
    sectors = buffer.written_sectors()
    first = sectors * SECTOR_BYTES // buffer.itemsize
    last = (sectors * SECTOR_BYTES + SECTOR_BYTES - 1) // buffer.itemsize
    elements = first[:, None] + np.arange(SECTOR_BYTES // buffer.itemsize + 2)
    elements = elements[(elements <= last[:, None]) & (elements < len(buffer.data))]
    elements = elements[first_of_each(elements)]  # an element may lie in two sectors, one after the other
    if buffer.shadow is None:
        elements = elements[:0]
        return Stores(elements, elements, False)
    elements = elements[buffer.shadow.written_at[elements] >= since]
    threads = buffer.shadow.writes.threads[elements].astype(np.int64)
    blocks = carried_out[np.where(threads < 0, 0, threads) // geometry.padded]
    return Stores(elements, blocks, bool(np.any(threads < 0)))


def first_of_each(ascending: np.ndarray) -> np.ndarray:
    """Where each number comes first."""
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(ascending)), np.bool_), ascending[1:] != ascending[:-1]]))
