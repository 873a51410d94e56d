"""What a launch left in an array, by element and block: read from the shadow of past accesses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.simgpu.counting.counting_primitives import SECTOR_BYTES
from autograder.simgpu.primitives import compiled_when_called
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
    if buffer.shadow is None or not len(sectors):
        nothing = np.zeros(0, np.int64)
        return Stores(nothing, nothing, False)
    elements = np.empty(min(len(buffer.data), len(sectors) * (SECTOR_BYTES // buffer.itemsize + 2)), np.int64)
    places = np.empty_like(elements)
    writes = buffer.shadow.writes
    found, has_atomics = list_written(
        sectors, buffer.itemsize, writes.stamps, writes.threads, since, geometry.padded, elements, places
    )
    return Stores(elements[:found].copy(), carried_out[places[:found]], has_atomics)


@compiled_when_called(
    "Tuple((int64, boolean))(int64[::1], int64, int32[::1], int32[::1], int64, int64, int64[::1], int64[::1])"
)
def list_written(
    sectors: np.ndarray, itemsize: int, stamps: np.ndarray, threads: np.ndarray, since: int, threads_padded: int,
    elements: np.ndarray, places: np.ndarray,
) -> tuple[int, bool]:  # fmt: skip
    """Lists the elements in these sectors that were written from a stamp on, and which block of those carried out did it.

    Returns how many there are, and whether any of it was an atomic, whose block is taken to be the first.
    """
    found = 0
    has_atomics = False
    following = 0  # an element may lie in two sectors, one after the other
    for i in range(sectors.shape[0]):
        begin = sectors[i] * SECTOR_BYTES
        end = min((begin + SECTOR_BYTES - 1) // itemsize + 1, stamps.shape[0])
        for e in range(max(begin // itemsize, following), end):
            if stamps[e] >= since:
                elements[found] = e
                places[found] = max(threads[e], 0) // threads_padded
                has_atomics |= threads[e] < 0
                found += 1
        following = end
    return found, has_atomics


def first_of_each(ascending: np.ndarray) -> np.ndarray:
    """Where each number comes first."""
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(ascending)), np.bool_), ascending[1:] != ascending[:-1]]))
