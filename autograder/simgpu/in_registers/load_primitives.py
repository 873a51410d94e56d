"""What a warp's loads move, for compiled loops: see loads.py, which writes the calls.

A warp mostly loads in one round what it loads in the next, or what the next warp does, at another place. What that moves
goes by the lanes' distances from each other and by the place within a line: it is kept for each such place.
"""

from __future__ import annotations

import numpy as np

from autograder.simgpu.counting.counting_primitives import (
    BANKS,
    LINE_MASK,
    LINE_SHIFT,
    SECTOR_SHIFT,
    SET,
    is_new,
    lowest_and_highest,
    wavefronts_of,
)
from autograder.simgpu.primitives import WARP, Integer, Truth, compiled

ELEMENTS, SECTORS, LINES, PASSES, PLACE = range(5)  # columns of what is kept: what it moves, and where in a line, plus 1
DISTANCES, TOUCHED, COLUMNS = 5, 5 + WARP, 5 + 2 * WARP  # from which on: each lane's distance from the first, and sectors
PLACES = 32  # that are kept of each load
NOBODY = -(1 << 62)  # the distance of a lane that loads nothing
NEAR = 4096  # elements within this distance have a place each, and no search
OF_NEAR, OF_KEYS, OF_TAGS = 1, 1 + 3 * NEAR, 1 + 3 * NEAR + 3 * SET  # where each begins in the room for counting
OF_WORDS = OF_TAGS + 3 * SET
OF_DEPTH, OF_ROWS, ROOM = OF_WORDS + 4 * WARP, OF_WORDS + 4 * WARP + BANKS, OF_WORDS + 4 * WARP + 2 * BANKS


@compiled("void(int64[::1], int64, int64, int64, int64[::1], int64[::1])", boundscheck=False)
def _count_anew(
    at: np.ndarray, first: Integer, address: Integer, shift: Integer, row: np.ndarray, room: np.ndarray
) -> None:
    """`count_load`, lane by lane."""
    lanes = np.empty(WARP, np.bool_)
    is_rising = True
    previous = np.int64(-1)
    for k in range(WARP):
        e = at[k]
        lanes[k] = e >= 0
        if e >= 0:
            is_rising &= e >= previous
            previous = e
    start = (address + (at[first] << shift)) >> SECTOR_SHIFT
    room[0] += 1
    tag = room[0]
    near, keys = room[OF_NEAR:OF_KEYS].reshape(3, NEAR), room[OF_KEYS:OF_TAGS].reshape(3, SET)
    tags = room[OF_TAGS:OF_WORDS].reshape(3, SET)
    elements = sectors = lines = 0
    element = sector = line = np.int64(-1)
    lowest, highest = lowest_and_highest(lanes, at, 0)
    is_near = highest - lowest < NEAR
    low_sector = (address + (lowest << shift)) >> SECTOR_SHIFT
    for k in range(WARP):
        e = at[k]
        if e < 0:
            continue
        s = (address + (e << shift)) >> SECTOR_SHIFT
        if is_rising:
            elements += e != element
            is_another = s != sector
            lines += s >> LINE_SHIFT != line
            element, sector, line = e, s, s >> LINE_SHIFT
        elif is_near:
            i, j = np.uint64(e - lowest), np.uint64(s - low_sector)
            n = np.uint64((s >> LINE_SHIFT) - (low_sector >> LINE_SHIFT))
            elements += near[0, i] != tag
            is_another = near[1, j] != tag
            lines += near[2, n] != tag
            near[0, i] = near[1, j] = near[2, n] = tag
        else:
            elements += is_new(e, tag, keys[0], tags[0])
            is_another = is_new(s, tag, keys[1], tags[1])
            lines += is_new(s >> LINE_SHIFT, tag, keys[2], tags[2])
        if is_another:
            row[TOUCHED + sectors] = s - start
            sectors += 1
    row[ELEMENTS], row[SECTORS], row[LINES], row[PASSES] = elements, sectors, lines, 1
    if lines > 1 or shift > 2:  # within one line, words lie in different banks
        row[PASSES] = wavefronts_of(
            lanes, at, address, np.int64(1) << shift, room[OF_WORDS:OF_DEPTH], room[OF_DEPTH:OF_ROWS],
            room[OF_ROWS:].view(np.uint64),
        )[1]  # fmt: skip


@compiled(
    "int64(int64[:, ::1], int64, int64, int64, int64, uint8[::1], int64[:, :, ::1], int64[:, ::1], int64[::1])",
    boundscheck=False,
)
def count_load(
    at: np.ndarray, s: Integer, address: Integer, shift: Integer, first_sector: Integer, touched: np.ndarray,
    kept: np.ndarray, latest: np.ndarray, room: np.ndarray,
) -> int:  # fmt: skip
    """Which row of what is kept of load `s` says what a warp moves by it; marks the sectors. Negative: nobody loads.

    `at`: of each load and lane the element, none of which lies in two sectors; negative where it loads none, as all are
    in the end. `latest`: of each load the row of the last time, and its first sector.
    """
    first = 0
    while at[s, first] < 0:
        first += 1
        if first == WARP:
            return -1
    base = at[s, first]
    begin = address + (base << shift)
    in_line = begin & LINE_MASK
    place = (in_line >> shift) & (PLACES - 1)
    differs = kept[s, place, PLACE] ^ (in_line + 1)
    for k in range(WARP):
        distance = at[s, k] - base if at[s, k] >= 0 else np.int64(NOBODY)
        differs |= distance ^ kept[s, place, DISTANCES + k]
    start = (begin >> SECTOR_SHIFT) - first_sector
    if differs != 0:
        kept[s, place, PLACE] = in_line + 1
        for k in range(WARP):
            kept[s, place, DISTANCES + k] = at[s, k] - base if at[s, k] >= 0 else np.int64(NOBODY)
        _count_anew(at[s], first, address, shift, kept[s, place], room)
    if differs != 0 or latest[s, 0] != place or latest[s, 1] != start:
        latest[s, 0], latest[s, 1] = place, start
        for i in range(kept[s, place, SECTORS]):
            touched[np.uint64(start + kept[s, place, TOUCHED + i])] |= np.uint8(1)
    for k in range(WARP):
        at[s, k] = -1
    return int(place)


@compiled("void(int64, int64[::1], int64, int64, int64[:, ::1], int64[::1], int64)", boundscheck=False)
def note_sector(
    sector: Integer, stamps: np.ndarray, stamp: Integer, number: Integer, noted: np.ndarray, ends: np.ndarray, array: Integer
) -> None:
    """Takes note of a sector that the first block of the batch had not loaded, and of the first load that does.

    `number` counts the loads in the order in which all warps together make them, which is not that of the calls. Until
    `settle_first`, a sector has what is less than every stamp: the least such number, as `-2 - number`.
    """
    found = stamps[np.uint64(sector)]
    if found == stamp or found < 0 and found >= -2 - number:
        return
    if found >= 0:
        noted[np.uint64(array), np.uint64(ends[array])] = sector
        ends[array] += 1
    stamps[np.uint64(sector)] = -2 - number


@compiled(
    "void(int64[:, :, ::1], int64, int64, int64, int64[::1], int64, int64, int64[:, ::1], int64[::1], int64)",
    boundscheck=False,
)
def note_first(
    kept: np.ndarray, s: Integer, place: Integer, start: Integer, stamps: np.ndarray, stamp: Integer, number: Integer,
    noted: np.ndarray, ends: np.ndarray, array: Integer,
) -> None:  # fmt: skip
    """`note_sector` for those of load `s`."""
    for i in range(kept[s, place, SECTORS]):
        note_sector(start + kept[s, place, TOUCHED + i], stamps, stamp, number, noted, ends, array)


@compiled("void(boolean, int64[::1], int64, int64, int64[:, ::1], int64[::1], int64[:, ::1])", boundscheck=False)
def settle_first(
    is_gone: Truth, stamps: np.ndarray, stamp: Integer, array: Integer, noted: np.ndarray, ends: np.ndarray,
    moved: np.ndarray,
) -> None:  # fmt: skip
    """Counts the sectors that were noted at the load that was first; or forgets them, where the rounds are not gone."""
    for i in range(ends[array]):
        sector = np.uint64(noted[array, i])
        if is_gone:
            moved[(-2 - stamps[sector]) % moved.shape[0], 4] += 1
        stamps[sector] = stamp if is_gone else 0
    ends[array] = 0


@compiled("void(boolean, int64[:, ::1], int64[:, ::1], int64[:, :, ::1], int64[:, ::1])", boundscheck=False)
def finish_rounds(is_gone: Truth, at: np.ndarray, moves: np.ndarray, passes: np.ndarray, moved: np.ndarray) -> None:
    """Adds up what rounds of all warps move, or forgets it, where they are not gone."""
    for s in range(at.shape[0]):
        if is_gone:
            moved[s, 0] += moves[s, 0]
            moved[s, 1] += moves[s, 1]
            for r in range(passes.shape[2]):
                moved[s, 2] += passes[0, s, r]
                moved[s, 3] += max(passes[1, s, r], (passes[0, s, r] + 3) >> 2)
        moves[s, 0] = moves[s, 1] = 0
        for r in range(passes.shape[2]):
            passes[0, s, r] = passes[1, s, r] = 0
        for k in range(WARP):
            at[s, k] = -1
