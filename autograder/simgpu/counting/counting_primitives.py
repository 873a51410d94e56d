"""The inner loops that count what an access moves, as the hardware does; compiled and cached like those in primitives.py.

Each goes through the lanes of the batch 32 at a time, since every warp is an instruction of its own.
"""

from __future__ import annotations

import numpy as np

from autograder.simgpu.primitives import WARP, WARP_SHIFT, Integer, compiled, compiled_when_called, is_any_active

SECTOR_BYTES = 32  # CUDA C++ Programming Guide: global memory is accessed in 32-byte sectors
LINE_SECTORS = 4  # and cached in 128-byte lines
BANKS = 32  # shared memory has 32 banks of 4-byte words
SECTOR_SHIFT, LINE_SHIFT = 5, 2  # the first two as shifts: Numba's // checks signs and is several times slower
LINE_MASK = SECTOR_BYTES * LINE_SECTORS - 1
BANK_SHIFT = 5
ROWS = 64  # rows of banks: one bit of a 64-bit word for each

SET = 128  # slots of a warp's hash sets: 32 lanes with elements of up to 64 bytes touch at most 96 sectors
SET_MASK = SET - 1
LATELY = 1024  # slots for sectors that were listed, a power of 2
NEAR = 4096  # elements and sectors within this distance have a slot each


@compiled("boolean(int64, int64, int64[::1], int64[::1])")
def is_new(key: Integer, tag: Integer, keys: np.ndarray, tags: np.ndarray) -> bool:
    """Adds `key` to a small hash set; a slot belongs to the set only while its tag is `tag`, so nothing is cleared."""
    slot = (key * -7046029254386353131) >> 57 & SET_MASK  # Fibonacci hashing: 2^64 divided by the golden ratio
    while tags[slot] == tag:
        if keys[slot] == key:
            return False
        slot = (slot + 1) & SET_MASK
    tags[slot] = tag
    keys[slot] = key
    return True


@compiled("int64(boolean[::1], int64)", boundscheck=False)
def first_active(lanes: np.ndarray, first: Integer) -> int:
    """The first active lane of the warp that begins at `first`; the end of the warp if there is none."""
    if is_any_active(lanes, first):
        for lane in range(first, first + WARP):
            if lanes[lane]:
                return lane
    return first + WARP


@compiled("boolean(boolean[::1], int64[::1], int64, int64, int64)", boundscheck=False)
def is_moved(lanes: np.ndarray, linear: np.ndarray, first: Integer, other: Integer, shift: Integer) -> bool:
    """Whether each lane of the warp at `first` wants the element `shift` after that of its lane in the warp at `other`.

    Most warps of a launch do what the warp before them does, at another place; the cost is then known already.
    """
    ours, theirs = lanes[first : first + WARP], lanes[other : other + WARP]
    at, there = linear[first : first + WARP], linear[other : other + WARP]
    differs = False
    for lane in range(WARP):
        differs |= (ours[lane] != theirs[lane]) | (ours[lane] & (at[lane] - there[lane] != shift))
    return not differs


@compiled(
    "UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64, int64, uint8[::1], uint8, int64[::1])",
    boundscheck=False, inline=True,
)
def count_rising(
    lanes: np.ndarray, linear: np.ndarray, first: Integer, address: Integer, itemsize: Integer, touched: np.ndarray,
    mark: Integer, marked: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Elements, sectors and lines of the warp at `first`, whose lanes' elements ascend; no elements where they do not.

    Marks the sectors, and writes them down in `marked`, which has room for `SET`.
    """
    elements = sectors = lines = 0
    first_sector = address >> SECTOR_SHIFT
    previous = sector = np.int64(-1)
    for lane in range(first, first + WARP):
        if not lanes[lane]:
            continue
        e = linear[lane]
        if e == previous:
            continue
        if e < previous:
            return 0, 0, 0
        previous = e
        elements += 1
        begin = address + e * itemsize
        low = begin >> SECTOR_SHIFT
        if low > sector:
            if low >> LINE_SHIFT != sector >> LINE_SHIFT:
                lines += 1
            sector = low
            at = np.uint64(low - first_sector)
            touched[at] |= mark
            marked[sectors & SET_MASK] = at
            sectors += 1
        high = (begin + itemsize - 1) >> SECTOR_SHIFT
        while sector < high:
            sector += 1
            if sector & ((1 << LINE_SHIFT) - 1) == 0:
                lines += 1
            at = np.uint64(sector - first_sector)
            touched[at] |= mark
            marked[sectors & SET_MASK] = at
            sectors += 1
    return elements, sectors, lines


@compiled("UniTuple(int64, 2)(boolean[::1], int64[::1], int64)", boundscheck=False, inline=True)
def lowest_and_highest(lanes: np.ndarray, linear: np.ndarray, first: Integer) -> tuple[Integer, Integer]:
    """Of the elements of the warp at `first`, which has an active lane."""
    lowest, highest = np.int64(1) << 62, np.int64(-1)
    for lane in range(first, first + WARP):
        if lanes[lane]:
            lowest = min(lowest, linear[lane])
            highest = max(highest, linear[lane])
    return lowest, highest


@compiled(
    "UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64, int64, int64, uint8[::1], uint8, int64[::1], int64[::1],"
    " int64[::1], int64[::1])",
    boundscheck=False, inline=True,
)
def count_near(
    lanes: np.ndarray, linear: np.ndarray, first: Integer, address: Integer, itemsize: Integer, lowest: Integer,
    touched: np.ndarray, mark: Integer, marked: np.ndarray, near_elements: np.ndarray, near_sectors: np.ndarray,
    near_lines: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """`count_rising` for elements in any order that lie near each other: a slot for each element and sector, no search."""
    elements = sectors = lines = 0
    first_sector = address >> SECTOR_SHIFT
    tag = np.int64(first + 1)
    low_sector = (address + lowest * itemsize) >> SECTOR_SHIFT
    low_line = low_sector >> LINE_SHIFT
    for lane in range(first, first + WARP):
        if not lanes[lane]:
            continue
        e = np.uint64(linear[lane] - lowest)
        if near_elements[e] == tag:
            continue
        near_elements[e] = tag
        elements += 1
        begin = address + linear[lane] * itemsize
        for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
            at = np.uint64(s - low_sector)
            if near_sectors[at] != tag:
                near_sectors[at] = tag
                touched[np.uint64(s - first_sector)] |= mark
                marked[np.uint64(sectors & SET_MASK)] = s - first_sector
                sectors += 1
                line = np.uint64((s >> LINE_SHIFT) - low_line)
                if near_lines[line] != tag:
                    near_lines[line] = tag
                    lines += 1
    return elements, sectors, lines


@compiled(
    "UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64, int64, uint8[::1], uint8, int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])",
    boundscheck=False, inline=True,
)
def count_far(
    lanes: np.ndarray, linear: np.ndarray, first: Integer, address: Integer, itemsize: Integer, touched: np.ndarray,
    mark: Integer, marked: np.ndarray, element_keys: np.ndarray, element_tags: np.ndarray, sector_keys: np.ndarray,
    sector_tags: np.ndarray, line_keys: np.ndarray, line_tags: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """`count_rising` for elements in any order, wherever they lie."""
    elements = sectors = lines = 0
    first_sector = address >> SECTOR_SHIFT
    tag = np.int64(first + 1)
    for lane in range(first, first + WARP):
        if not lanes[lane] or not is_new(linear[lane], tag, element_keys, element_tags):
            continue
        elements += 1
        begin = address + linear[lane] * itemsize
        for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
            if is_new(s, tag, sector_keys, sector_tags):
                touched[np.uint64(s - first_sector)] |= mark
                marked[np.uint64(sectors & SET_MASK)] = s - first_sector
                sectors += 1
                lines += is_new(s >> LINE_SHIFT, tag, line_keys, line_tags)
    return elements, sectors, lines


@compiled("UniTuple(int64, 4)(boolean[::1], int64[::1], int64, int64, int64, uint8[::1], uint8)")
def count_sectors(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer, period: Integer, touched: np.ndarray,
    mark: Integer,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Counts what one warp instruction moves: requests, distinct sectors, distinct lines and distinct elements.

    `address` is the byte address of element 0; `touched` has a byte per sector of the buffer and gets `mark` or-ed in. A
    warp that does what another one did, whole lines away, costs what that cost: the warp counted last, or the same warp
    of the block before (`period`: the warps of a block).
    """
    element_keys, sector_keys, line_keys = np.empty(SET, np.int64), np.empty(SET, np.int64), np.empty(SET, np.int64)
    element_tags, sector_tags, line_tags = np.zeros(SET, np.int64), np.zeros(SET, np.int64), np.zeros(SET, np.int64)
    near_elements = near_sectors = near_lines = np.empty(0, np.int64)  # made when needed: most never are
    requests = sectors = lines = elements = 0
    kept = min(2 * period, lanes.shape[0] >> WARP_SHIFT)  # results that are kept
    marks = np.empty((kept, SET), np.int64)  # by result: the sectors of its warp
    counts = np.zeros((kept, 4), np.int64)  # by result: elements, sectors, lines, and its number
    made = 0  # results so far
    before = np.full((period, 4), -1, np.int64)  # by warp of a block: first active lane, result, its number, sectors from it
    last: Integer = np.int64(-1)  # the last warp that was counted lane by lane
    last_active: Integer = np.int64(0)
    here, slot = -1, -1  # the warp within its block; the result that was made last
    for first in range(0, lanes.shape[0], WARP):
        here = here + 1 if here + 1 < period else 0
        active = first_active(lanes, first)
        if active == first + WARP:
            before[here, 1] = -1
            continue
        requests += 1
        same: Integer = np.int64(-1)  # a result that serves, and the sectors from its warp's to this one's
        moved: Integer = np.int64(0)
        if last >= 0:
            shift = linear[active] - linear[last_active]
            if (shift * itemsize) & LINE_MASK == 0 and is_moved(lanes, linear, first, last, shift):
                same, moved = np.int64(slot), (shift * itemsize) >> SECTOR_SHIFT
        is_like_last = same >= 0
        if same < 0 and before[here, 1] >= 0 and counts[before[here, 1], 3] == before[here, 2]:
            shift = linear[active] - linear[before[here, 0]]
            if (shift * itemsize) & LINE_MASK == 0 and is_moved(lanes, linear, first, first - WARP * period, shift):
                same, moved = before[here, 1], before[here, 3] + ((shift * itemsize) >> SECTOR_SHIFT)
        if same < 0:
            last, last_active = first, active
            slot = slot + 1 if slot + 1 < kept else 0
            same = np.int64(slot)
            made += 1
            marked = marks[same]
            new_elements, new_sectors, new_lines = count_rising(
                lanes, linear, first, address, itemsize, touched, mark, marked
            )
            if new_elements == 0:
                lowest, highest = lowest_and_highest(lanes, linear, first)
                low_sector = (address + lowest * itemsize) >> SECTOR_SHIFT
                high_sector = (address + highest * itemsize + itemsize - 1) >> SECTOR_SHIFT
                is_near = highest - lowest < NEAR and high_sector - low_sector < NEAR
                if is_near:
                    if near_elements.shape[0] == 0:
                        near_elements, near_sectors = np.zeros(NEAR, np.int64), np.zeros(NEAR, np.int64)
                        near_lines = np.zeros(NEAR, np.int64)
                    new_elements, new_sectors, new_lines = count_near(
                        lanes, linear, first, address, itemsize, lowest, touched, mark, marked, near_elements, near_sectors,
                        near_lines,
                    )  # fmt: skip
                else:
                    new_elements, new_sectors, new_lines = count_far(
                        lanes, linear, first, address, itemsize, touched, mark, marked, element_keys, element_tags,
                        sector_keys, sector_tags, line_keys, line_tags,
                    )  # fmt: skip
            counts[same, 0], counts[same, 1], counts[same, 2], counts[same, 3] = new_elements, new_sectors, new_lines, made
            if new_sectors > SET:  # more than were kept
                last = np.int64(-1)
                counts[same, 3] = -1
        else:
            for i in range(counts[same, 1]):
                touched[marks[same, i] + moved] |= mark
        elements += counts[same, 0]
        sectors += counts[same, 1]
        lines += counts[same, 2]
        if counts[same, 3] < 0 or is_like_last:
            before[here, 1] = -1
        else:
            before[here, 0], before[here, 1], before[here, 2], before[here, 3] = active, same, counts[same, 3], moved
    return requests, sectors, lines, elements


@compiled_when_called("int64(boolean[::1], int64[::1], int64, int64, int64[::1], int64[::1], int64)")
def count_new_sectors(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer, stamps: np.ndarray, others: np.ndarray,
    stamp: Integer,
) -> int:  # fmt: skip
    """Stamps the sectors that these lanes touch, and counts those without this stamp so far, here and among `others`."""
    new = 0
    first_sector = address >> SECTOR_SHIFT
    for lane in range(lanes.shape[0]):
        if lanes[lane]:
            begin = address + linear[lane] * itemsize
            for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
                if stamps[s - first_sector] != stamp:
                    new += others[s - first_sector] != stamp
                    stamps[s - first_sector] = stamp
    return new


@compiled_when_called("int64(boolean[::1], int64[::1], int64, int64, int64, int64[::1])")
def list_sectors(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer, start: Integer, listed: np.ndarray
) -> int:
    """Writes the sectors that these lanes touch, counted from `start`, few of them more than once; returns how many.

    `listed` has room for all sectors of each lane's element.
    """
    n = 0
    before: Integer = np.int64(-1)  # that of the lane before: neighbours mostly share one
    lately = np.full(LATELY, -1, np.int64)  # and rows of a block, or blocks side by side
    for lane in range(lanes.shape[0]):
        if lanes[lane]:
            begin = address + linear[lane] * itemsize
            for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
                if s != before:
                    before = s
                    if lately[s & (LATELY - 1)] != s:
                        lately[s & (LATELY - 1)] = s
                        listed[n] = s - start
                        n += 1
    return n


@compiled_when_called("int64(int64[::1], int64[::1], int64, uint8, uint8[::1], int64[::1], int64)")
def mark_sectors(
    sectors: np.ndarray, of_first_block: np.ndarray, start: Integer, mark: Integer, touched: np.ndarray,
    stamps: np.ndarray, stamp: Integer,
) -> int:  # fmt: skip
    """Marks sectors, counted from `start`, as touched; gives how many of the first block's did not carry this stamp yet."""
    for i in range(sectors.shape[0]):
        touched[start + sectors[i]] |= mark
    new = 0
    for i in range(of_first_block.shape[0]):
        s = start + of_first_block[i]
        if stamps[s] != stamp:
            stamps[s] = stamp
            new += 1
    return new


@compiled(boundscheck=False)
def lanes_go_in_pairs(lanes: np.ndarray, linear: np.ndarray, first: Integer) -> bool:
    """Whether every active lane wants the element of its neighbour, or every one that of the lane two away (if active).

    A wide access to shared memory then goes by groups of twice as many lanes. So behaved 81 patterns of 8-byte accesses on
    an H200, see measurements/h200_patterns.json; of 16-byte accesses only a broadcast was measured.
    """
    for distance in (1, 2):
        agree = True
        for lane in range(WARP):
            one, other = first + lane, first + (lane ^ distance)
            if lanes[one] and lanes[other] and linear[one] != linear[other]:
                agree = False
                break
        if agree:
            return True
    return False


@compiled_when_called("UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64)")
def count_wavefronts(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer
) -> tuple[int, int, int]:
    """`wavefronts_of`, for Python."""
    words, depth, rows = np.empty(WARP * 4, np.int64), np.empty(BANKS, np.int64), np.empty(BANKS, np.uint64)
    return wavefronts_of(lanes, linear, address, itemsize, words, depth, rows)


@compiled(boundscheck=False)
def wavefronts_of(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer, words: np.ndarray, depth: np.ndarray,
    rows: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Counts shared-memory requests, wavefronts and bank conflicts of one warp instruction.

    A wavefront serves each bank one 4-byte word (every lane that wants that word). 8-byte accesses go by half warps
    and 16-byte ones by quarter warps, so their least number of wavefronts is 2 and 4; but see `lanes_go_in_pairs`.

    `words`, `depth` and `rows` are room for 128 words, and for each bank how many are wanted of it and, a bit for each, of
    which rows of banks.
    """
    usual_group = WARP if itemsize <= 4 else max(1, WARP * 4 // itemsize)
    words_each = max(1, itemsize // 4)
    requests = wavefronts = conflicts = 0
    last: Integer = np.int64(-1)  # the last warp counted, and what it took
    last_active: Integer = np.int64(0)
    last_wavefronts = last_conflicts = 0
    for first in range(0, lanes.shape[0], WARP):
        active = first_active(lanes, first)
        if active == first + WARP:
            continue
        requests += 1
        if last >= 0:
            shift = linear[active] - linear[last_active]
            if (shift * itemsize) & 3 == 0 and is_moved(lanes, linear, first, last, shift):
                wavefronts += last_wavefronts
                conflicts += last_conflicts
                continue
        last, last_active = first, active
        wavefronts_before, conflicts_before = wavefronts, conflicts
        group = usual_group * 2 if itemsize >= 8 and lanes_go_in_pairs(lanes, linear, first) else usual_group
        for start in range(first, first + WARP, group):
            end = min(start + group, first + WARP)
            lowest = np.int64(1) << 62
            highest = np.int64(-1)
            for lane in range(start, end):
                if lanes[lane]:
                    w = (address + linear[lane] * itemsize) >> 2
                    lowest = min(lowest, w)
                    highest = max(highest, w)
            if highest < 0:
                continue
            if highest + words_each - 1 - lowest < BANKS:  # words side by side: each has a bank of its own
                wavefronts += 1
                continue
            if words_each == 1:
                before = np.int64(-1)
                banks = again = np.uint64(0)  # a bit for each bank: a word of it is wanted; perhaps two are
                for lane in range(start, end):
                    w = (address + linear[lane] * itemsize) >> 2
                    if lanes[lane] and w != before:
                        bit = np.uint64(1) << np.uint64(w & (BANKS - 1))
                        again |= banks & bit
                        banks |= bit
                        before = w
                if again == 0:
                    wavefronts += 1
                    continue
            n = 0
            worst = 0
            depth[:] = 0
            first_row = lowest >> BANK_SHIFT
            if (highest + words_each - 1 >> BANK_SHIFT) - first_row < ROWS:
                rows[:] = 0
                for lane in range(start, end):
                    if not lanes[lane]:
                        continue
                    w = (address + linear[lane] * itemsize) >> 2
                    for word in range(w, w + words_each):
                        bank = np.uint64(word & (BANKS - 1))
                        bit = np.uint64(1) << np.uint64((word >> BANK_SHIFT) - first_row)
                        if rows[bank] & bit == 0:
                            rows[bank] |= bit
                            depth[bank] += 1
                            if depth[bank] > worst:
                                worst = depth[bank]
                wavefronts += worst
                conflicts += worst - 1
                continue
            low: Integer = np.int64(-1)
            rising = True
            for lane in range(start, end):
                if not lanes[lane]:
                    continue
                w = (address + linear[lane] * itemsize) >> 2
                for word in range(w, w + words_each):
                    if rising and word > low:
                        low = word
                        seen = False
                    elif rising and word == low:
                        seen = True
                    else:
                        rising = False
                        seen = False
                        for j in range(n):
                            if words[j] == word:
                                seen = True
                                break
                    if not seen:
                        words[n] = word
                        n += 1
                        bank = np.uint64(word & (BANKS - 1))
                        depth[bank] += 1
                        if depth[bank] > worst:
                            worst = depth[bank]
            wavefronts += worst
            conflicts += worst - 1
        last_wavefronts, last_conflicts = wavefronts - wavefronts_before, conflicts - conflicts_before
    return requests, wavefronts, conflicts


@compiled_when_called("UniTuple(int64, 5)(boolean[::1], int64[::1], int64, int64, uint8[::1], int64[::1])")
def count_atomics(
    lanes: np.ndarray, linear: np.ndarray, address: Integer, itemsize: Integer, touched: np.ndarray,
    by_sector: np.ndarray,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """Counts warps' atomics as the hardware does: requests, sectors, and the most lanes on one address, of all requests and
    summed over them; and how often lanes try, where of those on one address one at a time succeeds.

    The sectors of an atomic are not distinct sectors. Each touched sector counts as often as lanes meet on one of its
    addresses, the largest number of them (seen on an H200; see README.md). `by_sector` adds these up for each sector; in
    shared memory, where `touched` is empty, there are none.
    """
    keys, tags, lanes_on = np.empty(SET, np.int64), np.zeros(SET, np.int64), np.empty(SET, np.int64)
    sector_keys, sector_tags, largest = np.empty(SET, np.int64), np.zeros(SET, np.int64), np.empty(SET, np.int64)
    slots, sector_slots = np.empty(WARP, np.int64), np.empty(WARP, np.int64)
    first_sector = address >> SECTOR_SHIFT
    requests = sectors = worst = summed = tries = 0
    for first in range(0, lanes.shape[0], WARP):
        if not is_any_active(lanes, first):
            continue
        tag = np.int64(first + 1)
        n = 0
        for lane in range(first, first + WARP):
            if not lanes[lane]:
                continue
            e = linear[lane]
            slot = e & SET_MASK
            while tags[slot] == tag and keys[slot] != e:
                slot = (slot + 1) & SET_MASK
            if tags[slot] == tag:
                lanes_on[slot] += 1
            else:
                tags[slot] = tag
                keys[slot] = e
                lanes_on[slot] = 1
                slots[n] = slot
                n += 1
        if n == 0:
            continue
        requests += 1
        different = most = 0
        for i in range(n):
            here = lanes_on[slots[i]]
            most = max(most, here)
            tries += here * (here + 1) // 2
            if touched.shape[0] == 0:
                continue
            sector = ((address + keys[slots[i]] * itemsize) >> SECTOR_SHIFT) - first_sector
            slot = sector & SET_MASK
            while sector_tags[slot] == tag and sector_keys[slot] != sector:
                slot = (slot + 1) & SET_MASK
            if sector_tags[slot] == tag:
                largest[slot] = max(largest[slot], here)
            else:
                sector_tags[slot] = tag
                sector_keys[slot] = sector
                largest[slot] = here
                sector_slots[different] = slot
                different += 1
        for i in range(different):
            sector = sector_keys[sector_slots[i]]
            touched[sector] |= 3
            sectors += largest[sector_slots[i]]
            by_sector[sector] += largest[sector_slots[i]]
        worst = max(worst, most)
        summed += most
    return requests, sectors, worst, summed, tries
