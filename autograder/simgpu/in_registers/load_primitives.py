"""What a warp's load moves, for compiled loops: see load_sites.py, which writes the calls.

A warp mostly loads in one round what it loads in the next, or what the next warp does, at another place. What that moves
goes by the lanes' distances from each other and by the place within a line: it is kept for each such place.
"""

from __future__ import annotations

import numpy as np

from autograder.simgpu.counting.counting_primitives import (
    LINE_MASK,
    LINE_SHIFT,
    SECTOR_SHIFT,
    SET,
    is_new,
    wavefronts_of,
)
from autograder.simgpu.primitives import WARP, Integer, compiled

SLOTS = 32  # results that are kept of a load
PLACE, ELEMENTS, SECTORS, LINES, PASSES = range(5)  # columns of one: where in a line it begins, plus 1; and what it moves
DISTANCES, TOUCHED = 5, 5 + WARP  # columns from which on: each lane's distance from the first, and the sectors
COLUMNS = 5 + 2 * WARP
NOBODY = -(1 << 62)  # the distance of a lane that loads nothing


@compiled(boundscheck=False)
def count_load(
    at: np.ndarray, address: Integer, shift: Integer, first_sector: Integer, touched: np.ndarray, kept: np.ndarray,
    distances: np.ndarray,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Distinct elements, sectors and lines that a warp loads, and its passes through L1; marks the sectors.

    `at`: of each lane the element, of 2**`shift` bytes, none of which lies in two sectors; negative where it loads none.
    """
    first = 0
    while first < WARP and at[first] < 0:
        first += 1
    if first == WARP:
        return 0, 0, 0, 0
    base = at[first]
    begin = address + (base << shift)
    place = begin & LINE_MASK
    row = kept[np.uint64((place >> shift) & (SLOTS - 1))]
    differs = np.int64(row[PLACE] != place + 1)
    for k in range(WARP):
        distance = at[k] - base if at[k] >= 0 else np.int64(NOBODY)
        distances[k] = distance
        differs |= distance ^ row[DISTANCES + k]
    if differs != 0:
        row[PLACE] = place + 1
        for k in range(WARP):
            row[DISTANCES + k] = distances[k]
        _count_anew(at, address, shift, row)
    start = (begin >> SECTOR_SHIFT) - first_sector
    for i in range(row[SECTORS]):
        touched[np.uint64(start + row[TOUCHED + i])] |= np.uint8(1)
    return row[ELEMENTS], row[SECTORS], row[LINES], row[PASSES]


@compiled(boundscheck=False)
def _count_anew(at: np.ndarray, address: Integer, shift: Integer, row: np.ndarray) -> None:
    """`count_load`, lane by lane, into a row of what is kept."""
    is_rising = True
    previous = np.int64(-1)
    for k in range(WARP):
        if at[k] >= 0:
            is_rising &= at[k] >= previous
            previous = at[k]
    keys, tags = np.empty((3, SET), np.int64), np.zeros((3, SET), np.int64)
    elements = sectors = lines = 0
    start = np.int64(-1)
    element = sector = line = np.int64(-1)
    lanes = np.empty(WARP, np.bool_)
    for k in range(WARP):
        e = at[k]
        lanes[k] = e >= 0
        if e < 0:
            continue
        s = (address + (e << shift)) >> SECTOR_SHIFT
        if start < 0:
            start = s
        if is_rising:
            elements += e != element
            is_another = s != sector
            lines += s >> LINE_SHIFT != line
            element, sector, line = e, s, s >> LINE_SHIFT
        else:
            elements += is_new(e, 1, keys[0], tags[0])
            is_another = is_new(s, 1, keys[1], tags[1])
            lines += is_new(s >> LINE_SHIFT, 1, keys[2], tags[2])
        if is_another:
            row[TOUCHED + sectors] = s - start
            sectors += 1
    row[ELEMENTS], row[SECTORS], row[LINES], row[PASSES] = elements, sectors, lines, 1
    if lines > 1 or shift > 2:  # within one line, words lie in different banks
        row[PASSES] = wavefronts_of(lanes, at, address, np.int64(1) << shift)[1]


@compiled(boundscheck=False)
def note_first(
    at: np.ndarray, address: Integer, shift: Integer, first_sector: Integer, stamps: np.ndarray, stamp: Integer,
    number: Integer, noted: np.ndarray, ends: np.ndarray, array: Integer,
) -> None:  # fmt: skip
    """Takes note of the sectors that the first block of the batch had not loaded, and of the first load that does.

    `number` counts the loads in the order in which all warps together make them, which is not that of the calls. Until
    `settle_first`, a sector has what is less than every stamp: the least such number, as `-2 - number`.
    """
    before = np.int64(-1)
    for k in range(WARP):
        if at[k] >= 0:
            s = ((address + (at[k] << shift)) >> SECTOR_SHIFT) - first_sector
            if s != before:
                before = s
                note_sector(s, stamps, stamp, number, noted, ends, array)


@compiled(boundscheck=False)
def note_sector(
    sector: Integer, stamps: np.ndarray, stamp: Integer, number: Integer, noted: np.ndarray, ends: np.ndarray, array: Integer
) -> None:
    """`note_first` for one sector."""
    found = stamps[np.uint64(sector)]
    if found == stamp or found < 0 and found >= -2 - number:
        return
    if found >= 0:
        noted[np.uint64(array), np.uint64(ends[array])] = sector
        ends[array] += 1
    stamps[np.uint64(sector)] = -2 - number


@compiled(boundscheck=False)
def settle_first(
    stamps: np.ndarray, stamp: Integer, noted: np.ndarray, end: Integer, new: np.ndarray, *, is_gone: bool
) -> None:
    """Counts the sectors that were noted at the load that was first; or forgets them, where the rounds are not gone."""
    for i in range(end):
        sector = np.uint64(noted[i])
        if is_gone:
            new[(-2 - stamps[sector]) % new.shape[0]] += 1
        stamps[sector] = stamp if is_gone else 0


@compiled(boundscheck=False)
def passes_of(lines: np.ndarray, banked: np.ndarray) -> int:
    """Passes through L1 of one load, round by round: those for its banks, and those in which it looks up its lines."""
    passes = 0
    for r in range(lines.shape[0]):
        passes += max(banked[r], (lines[r] + 3) >> 2)
    return passes
