"""Plays rounds of a loop that is on tape: what each does to numbers and which sectors it touches."""

from __future__ import annotations

import numpy as np

from autograder.simgpu.primitives import Integer, compiled, compiled_when_called

# Kinds of instructions; each has four columns: the kind, where its result goes, and what it takes. A slot of four or of
# eight bytes holds floats or integers, as the instruction has it.
(
    LOAD_4, LOAD_8, LOAD_1, ADD_F4, SUBTRACT_F4, MULTIPLY_F4, ADD_F8, SUBTRACT_F8, MULTIPLY_F8, F4_TO_F8, F8_TO_F4, ADD_I8,
    SUBTRACT_I8, MULTIPLY_I8, I4_TO_I8, I8_TO_F8, I8_TO_F4, NEGATE_F4, NEGATE_F8, NEGATE_I8, COPY_4, COPY_8,
) = range(22)  # fmt: skip
COLUMNS = 4
MOST_ARRAYS = 6  # of each width
LANES_AT_ONCE = 512  # whose numbers lie in the processor's first cache
RUN, RUN_SHIFT = 8, 3  # lanes side by side whose elements are looked at together
ONE_FOR_ALL, SIDE_BY_SIDE, SCATTERED = range(3)  # how the elements of such lanes lie; else how many runs before are the same

U = np.uint64

_WORDS, _DOUBLES, _BYTES = (f"UniTuple({each}[::1], {MOST_ARRAYS})" for each in ("uint32", "uint64", "uint8"))
_STAMPS = f"UniTuple(int64[::1], {MOST_ARRAYS})"


# Compiled for each kind of number, together with `play_rounds`. Slots are told by where they begin, since to hand over a
# part of an array takes longer than what is done with it.


@compiled(boundscheck=False)
def _load(
    source: np.ndarray, base: Integer, far: np.ndarray, how: np.ndarray, first: Integer, values: np.ndarray, to: Integer,
    size: Integer,
) -> None:  # fmt: skip
    """The element `far` behind `base` of each lane; eight lanes written out become one instruction of a processor."""
    one, two, three, four, five, six, seven = U(1), U(2), U(3), U(4), U(5), U(6), U(7)
    for begin in range(U(0), U(size), U(RUN)):
        lane, put = first + begin, to + begin
        kind, at = how[lane >> U(RUN_SHIFT)], U(base + far[lane])
        if kind == SIDE_BY_SIDE:
            a, b, c, d = source[at], source[at + one], source[at + two], source[at + three]
            e, f, g, h = source[at + four], source[at + five], source[at + six], source[at + seven]
            values[put], values[put + one], values[put + two], values[put + three] = a, b, c, d
            values[put + four], values[put + five], values[put + six], values[put + seven] = e, f, g, h
        elif kind == ONE_FOR_ALL:
            a = source[at]
            values[put], values[put + one], values[put + two], values[put + three] = a, a, a, a
            values[put + four], values[put + five], values[put + six], values[put + seven] = a, a, a, a
        elif kind == SCATTERED:
            for one_lane in range(U(RUN)):
                values[put + one_lane] = source[U(base + far[lane + one_lane])]
        else:
            same = put - U(kind - SCATTERED) * U(RUN)
            i, j, k, m = values[same], values[same + one], values[same + two], values[same + three]
            n, o, p, q = values[same + four], values[same + five], values[same + six], values[same + seven]
            values[put], values[put + one], values[put + two], values[put + three] = i, j, k, m
            values[put + four], values[put + five], values[put + six], values[put + seven] = n, o, p, q


@compiled(boundscheck=False)
def _add(values: np.ndarray, left: Integer, right: Integer, to: Integer, size: Integer) -> None:
    for lane in range(U(size)):
        values[to + lane] = values[left + lane] + values[right + lane]


@compiled(boundscheck=False)
def _subtract(values: np.ndarray, left: Integer, right: Integer, to: Integer, size: Integer) -> None:
    for lane in range(U(size)):
        values[to + lane] = values[left + lane] - values[right + lane]


@compiled(boundscheck=False)
def _multiply(values: np.ndarray, left: Integer, right: Integer, to: Integer, size: Integer) -> None:
    for lane in range(U(size)):
        values[to + lane] = values[left + lane] * values[right + lane]


@compiled(boundscheck=False)
def _negate(values: np.ndarray, value: Integer, to: Integer, size: Integer) -> None:
    for lane in range(U(size)):
        values[to + lane] = -values[value + lane]


@compiled(boundscheck=False)
def _convert(values: np.ndarray, value: Integer, made: np.ndarray, to: Integer, size: Integer) -> None:
    for lane in range(U(size)):
        made[to + lane] = values[value + lane]


@compiled_when_called(
    f"void(int64[:,:,::1], int64, int64[:,::1], int64[::1], int64[::1], uint8[::1], int64[::1], {_WORDS}, {_DOUBLES},"
    f" {_BYTES}, boolean[::1], uint32[:,::1], uint64[:,::1], int64, int64, uint32[::1], float32[::1], int32[::1],"
    " uint64[::1], float64[::1], int64[::1])"
)
def play_rounds(
    tape: np.ndarray, rounds: Integer, bases: np.ndarray, pattern_of: np.ndarray, offsets: np.ndarray, runs: np.ndarray,
    array_of: np.ndarray, words: tuple[np.ndarray, ...], doubles: tuple[np.ndarray, ...], singles: tuple[np.ndarray, ...],
    lanes: np.ndarray, kept_4: np.ndarray, kept_8: np.ndarray, carried_4: Integer, carried_8: Integer, u4: np.ndarray,
    f4: np.ndarray, i4: np.ndarray, u8: np.ndarray, f8: np.ndarray, i8: np.ndarray,
) -> None:  # fmt: skip
    """Plays so many rounds, some lanes at a time.

    A load goes by the element `bases[load, round]` and the lanes' own distances from it, `offsets` of its pattern, whose
    `runs` say how they lie. `kept_4` and `kept_8` hold the numbers of all lanes: first those that each round hands on to
    the next (`carried_4`, `carried_8`), then those that stay. A round finds the former in one set of slots and leaves them
    in another, and the next round does it the other way round: `tape` has the instructions of either. `f4`, `i4` and `u4`
    are the same slots, and so are those of eight bytes.
    """
    for first in range(0, lanes.shape[0], LANES_AT_ONCE):
        size = min(LANES_AT_ONCE, lanes.shape[0] - first)
        is_idle = True
        for lane in range(first, first + size):
            if lanes[lane]:
                is_idle = False
                break
        if is_idle:
            continue
        for slot in range(kept_4.shape[0]):
            begin = (slot if slot < carried_4 else slot + carried_4) * LANES_AT_ONCE
            u4[begin : begin + size] = kept_4[slot, first : first + size]
        for slot in range(kept_8.shape[0]):
            begin = (slot if slot < carried_8 else slot + carried_8) * LANES_AT_ONCE
            u8[begin : begin + size] = kept_8[slot, first : first + size]
        for number in range(rounds):
            way = number & 1
            for n in range(tape.shape[1]):
                kind, to, a, b = tape[way, n, 0], U(tape[way, n, 1]), U(tape[way, n, 2]), U(tape[way, n, 3])
                if kind <= LOAD_1:
                    base, array = bases[a, number], array_of[a]
                    begins_at = U(pattern_of[a] * lanes.shape[0] + first)
                    if kind == LOAD_4:
                        _load(words[array], base, offsets, runs, begins_at, u4, to, size)
                    elif kind == LOAD_8:
                        _load(doubles[array], base, offsets, runs, begins_at, u8, to, size)
                    else:
                        _load(singles[array], base, offsets, runs, begins_at, u8, to, size)
                elif kind == MULTIPLY_F4:
                    _multiply(f4, a, b, to, size)
                elif kind == ADD_F4:
                    _add(f4, a, b, to, size)
                elif kind == SUBTRACT_F4:
                    _subtract(f4, a, b, to, size)
                elif kind == MULTIPLY_F8:
                    _multiply(f8, a, b, to, size)
                elif kind == ADD_F8:
                    _add(f8, a, b, to, size)
                elif kind == SUBTRACT_F8:
                    _subtract(f8, a, b, to, size)
                elif kind == F4_TO_F8:
                    _convert(f4, a, f8, to, size)
                elif kind == F8_TO_F4:
                    _convert(f8, a, f4, to, size)
                elif kind == MULTIPLY_I8:
                    _multiply(i8, a, b, to, size)
                elif kind == ADD_I8:
                    _add(i8, a, b, to, size)
                elif kind == SUBTRACT_I8:
                    _subtract(i8, a, b, to, size)
                elif kind == I4_TO_I8:
                    _convert(i4, a, i8, to, size)
                elif kind == I8_TO_F8:
                    _convert(i8, a, f8, to, size)
                elif kind == I8_TO_F4:
                    _convert(i8, a, f4, to, size)
                elif kind == NEGATE_F4:
                    _negate(f4, a, to, size)
                elif kind == NEGATE_F8:
                    _negate(f8, a, to, size)
                elif kind == NEGATE_I8:
                    _negate(i8, a, to, size)
                elif kind == COPY_4:
                    _convert(u4, a, u4, to, size)
                else:
                    _convert(u8, a, u8, to, size)
        last = rounds & 1
        for slot in range(carried_4):
            begin = (slot + last * carried_4) * LANES_AT_ONCE
            kept_4[slot, first : first + size] = u4[begin : begin + size]
        for slot in range(carried_8):
            begin = (slot + last * carried_8) * LANES_AT_ONCE
            kept_8[slot, first : first + size] = u8[begin : begin + size]


@compiled_when_called("void(int64[::1], uint8[::1])")
def how_they_lie(offsets: np.ndarray, runs: np.ndarray) -> None:
    """Of each run of lanes, how their elements lie to each other; scattered ones may be those of a run before."""
    for run in range(runs.shape[0]):
        begin = run * RUN
        is_one, are_side_by_side = True, True
        for i in range(1, RUN):
            far = offsets[begin + i] - offsets[begin]
            is_one &= far == 0
            are_side_by_side &= far == i
        runs[run] = ONE_FOR_ALL if is_one else SIDE_BY_SIDE if are_side_by_side else SCATTERED
        if is_one or are_side_by_side:
            continue
        for back in range(1, run % (LANES_AT_ONCE // RUN) + 1):
            other = begin - back * RUN
            is_same = True
            for i in range(RUN):
                if offsets[other + i] != offsets[begin + i]:
                    is_same = False
                    break
            if is_same:
                runs[run] = SCATTERED + back
                break


@compiled_when_called(
    f"void(int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], {_BYTES}, {_STAMPS},"
    " uint8, int64, int64[::1])"
)
def mark_rounds(
    found: np.ndarray, starts: np.ndarray, array_of: np.ndarray, begins: np.ndarray, sectors: np.ndarray,
    begins_of_first: np.ndarray, of_first: np.ndarray, touched: tuple[np.ndarray, ...], stamps: tuple[np.ndarray, ...],
    mark: Integer, stamp: Integer, new: np.ndarray,
) -> None:  # fmt: skip
    """Marks the sectors that loads touch, round by round and load by load, and adds up how many the first block of the
    batch had not loaded before.

    `found[load, round]` is the number of a list of sectors: those from `begins` on in `sectors`, and of the first block
    those from `begins_of_first` on in `of_first`, both counted from the sector `starts[load, round]`.
    """
    for number in range(found.shape[1]):
        for load in range(found.shape[0]):
            which, start = found[load, number], starts[load, number]
            if number and found[load, number - 1] == which and starts[load, number - 1] == start:
                continue
            flags, stamped = touched[array_of[load]], stamps[array_of[load]]
            for i in range(begins[which], begins[which + 1]):
                flags[np.uint64(start + sectors[i])] |= mark
            for i in range(begins_of_first[which], begins_of_first[which + 1]):
                at = np.uint64(start + of_first[i])
                if stamped[at] != stamp:
                    stamped[at] = stamp
                    new[load] += 1
