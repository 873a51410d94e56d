"""Plays a tape: what its instructions do to numbers and shadows, lane by lane."""

from __future__ import annotations

import numpy as np

from autograder.simgpu.ordering.order_primitives import reads_by_element
from autograder.simgpu.primitives import Integer, Truth, compiled_when_called

LOAD, GET, PUT, ADD, SUBTRACT, MULTIPLY = range(6)  # kinds of instructions
COLUMNS = 5  # kind, and what it goes by: see `recording.Tape`
MOST_ARRAYS = 4  # of registers, and as many of shared memory
PLAYED = -1

_FLOATS = f"UniTuple(float32[::1], {MOST_ARRAYS})"
_ROWS = f"UniTuple(float32[:,::1], {MOST_ARRAYS})"
_STAMPS, _PLACES = f"UniTuple(int32[::1], {MOST_ARRAYS})", f"UniTuple(int16[::1], {MOST_ARRAYS})"


@compiled_when_called(
    f"int64(int64[:,::1], int64, boolean, float32[:,::1], boolean[::1], boolean, {_ROWS}, {_FLOATS}, int64[::1],"
    " int64[::1], int64[:,::1], boolean[::1], int64[::1], int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64,"
    f" int64, int64, int32[::1], int32[::1], {_STAMPS}, {_STAMPS}, {_STAMPS}, {_STAMPS}, {_PLACES})"
)
def play(
    tape: np.ndarray, begin: Integer, is_checked: Truth, numbers: np.ndarray, lanes: np.ndarray, all_lanes: Truth,
    registers: tuple[np.ndarray, ...], shared: tuple[np.ndarray, ...], array_of: np.ndarray, bases: np.ndarray,
    offsets: np.ndarray, by_element: np.ndarray, starts: np.ndarray, elements: np.ndarray, readers: np.ndarray,
    ends: np.ndarray, breadths: np.ndarray, sites: np.ndarray, first_thread: Integer, padded: Integer, now: Integer,
    block_sync: np.ndarray, warp_sync: np.ndarray, write_stamps: tuple[np.ndarray, ...], writers: tuple[np.ndarray, ...],
    read_stamps: tuple[np.ndarray, ...], last_readers: tuple[np.ndarray, ...], read_places: tuple[np.ndarray, ...],
) -> int:  # fmt: skip
    """Plays from the instruction `begin` on; gives the load whose order needs a closer look, or `PLAYED`.

    `is_checked`: of the first one that has been done. `array_of`, `bases` and `offsets` are those of each pattern of access:
    its shared array, the lowest element, and the lanes' own distances from that. `by_element`, `starts` and so on are its
    `Readers`; where it has none each load takes the closer look. `sites` are of the lines of loads; none where nobody
    looks for races.
    """
    size = lanes.shape[0]
    for n in range(begin, tape.shape[0]):
        kind = tape[n, 0]
        a = tape[n, 1]
        b = tape[n, 2]
        c = tape[n, 3]
        if kind == LOAD:
            array = array_of[b]
            base = bases[b] + c
            if sites.shape[0] > 0 and not is_checked:
                if not by_element[b]:
                    return n
                first, last = starts[b], starts[b + 1]
                are_in_order = reads_by_element(
                    elements[first:last], base, readers[first:last], ends[first:last], breadths[first:last], first_thread,
                    padded, now, np.int64(sites[tape[n, 4]]), block_sync, warp_sync, write_stamps[array], writers[array],
                    read_stamps[array], last_readers[array], read_places[array],
                )  # fmt: skip
                if not are_in_order:
                    return n
            is_checked = False
            if a >= 0:
                source, far, to = shared[array], offsets[b], numbers[a]
                for lane in range(size):
                    to[lane] = source[np.uint64(base + far[lane])]
        elif kind == GET:
            rows, to = registers[b], numbers[a]
            for lane in range(size):
                to[lane] = rows[lane, c]
        elif kind == PUT:
            rows, value = registers[b], numbers[a]
            if all_lanes:
                for lane in range(size):
                    rows[lane, c] = value[lane]
            else:
                for lane in range(size):
                    if lanes[lane]:
                        rows[lane, c] = value[lane]
        else:
            left, right, to = numbers[b], numbers[c], numbers[a]
            if kind == ADD:
                for lane in range(size):
                    to[lane] = left[lane] + right[lane]
            elif kind == SUBTRACT:
                for lane in range(size):
                    to[lane] = left[lane] - right[lane]
            else:
                for lane in range(size):
                    to[lane] = left[lane] * right[lane]
    return PLAYED
