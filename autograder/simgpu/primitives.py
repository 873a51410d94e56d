"""The few inner loops that NumPy alone is too slow for, compiled once by Numba and cached on disk.

All take plain arrays of one fixed type, so that each compiles exactly once: masks are bool, indices int64. A lane
vector always holds whole warps of 32 lanes; inactive lanes are masked. Nothing here knows of Python objects.
"""

from __future__ import annotations

import numpy as np
from numba import njit

WARP = 32
SECTOR_BYTES = 32  # CUDA C++ Programming Guide: global memory is accessed in 32-byte sectors
LINE_SECTORS = 4  # and cached in 128-byte lines
BANKS = 32  # shared memory has 32 banks of 4-byte words
SECTOR_SHIFT, LINE_SHIFT, WARP_SHIFT = (
    5,
    2,
    5,
)  # the same as shifts: Numba's // checks signs and is several times slower

SET = 128  # slots of a warp's hash sets: 32 lanes with elements of up to 64 bytes touch at most 96 sectors
SET_MASK = SET - 1

# slots of the `totals` vector that the counting primitives add to
REQUESTS, SECTORS, LINES, ELEMENTS, BAD_LANE, WRAPPED_LANE, BAD_COUNT, WRAPPED_COUNT, TOTALS = range(9)

_cached = njit(cache=True, nogil=True, boundscheck=False)


@njit("UniTuple(int64, 2)(boolean[::1])", cache=True, nogil=True)
def count_mask(lanes):
    """Active lanes, and warps with at least one."""
    active = 0
    warps = 0
    for first in range(0, lanes.shape[0], WARP):
        here = 0
        for lane in range(first, first + WARP):
            if lanes[lane]:
                here += 1
        active += here
        if here:
            warps += 1
    return active, warps


@njit(
    "UniTuple(int64, 5)(boolean[::1], boolean[::1], boolean[::1], boolean[::1], boolean[::1])",
    cache=True,
    nogil=True,
)
def split(lanes, condition, taken, other, diverged):
    """Splits a mask by a condition into `taken` and `other`; marks warps whose active lanes disagree.

    Returns lanes taken, warps taken, lanes other, warps other, warps that diverged.
    """
    lanes_taken = warps_taken = lanes_other = warps_other = divergent = 0
    for warp in range(lanes.shape[0] // WARP):
        yes = 0
        no = 0
        for lane in range(warp * WARP, warp * WARP + WARP):
            a = lanes[lane] and condition[lane]
            b = lanes[lane] and not condition[lane]
            taken[lane] = a
            other[lane] = b
            yes += a
            no += b
        lanes_taken += yes
        lanes_other += no
        warps_taken += yes > 0
        warps_other += no > 0
        if yes > 0 and no > 0:
            divergent += 1
            diverged[warp] = True
    return lanes_taken, warps_taken, lanes_other, warps_other, divergent


@njit(
    "void(boolean[::1], int64[::1], int64, int64, boolean, int64[::1], int64, int64, int64, int64[::1],"
    " boolean[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def locate(lanes, index0, size0, stride0, two, index1, size1, stride1, base, linear, inside, totals):
    """Turns one or two index vectors into element offsets: `linear`, with 0 and `inside` False where there is no access.

    Negative indices wrap once, as Numba compiles them; what stays outside is reported through `totals`.
    """
    bad = totals[BAD_COUNT]
    wrapped = totals[WRAPPED_COUNT]
    for lane in range(lanes.shape[0]):
        linear[lane] = 0
        if not lanes[lane]:
            inside[lane] = False
            continue
        i = index0[lane]
        fits = True
        if i < 0:
            i += size0
            if wrapped == 0:
                totals[WRAPPED_LANE] = lane
            wrapped += 1
        if i < 0 or i >= size0:
            fits = False
        where = base + i * stride0
        if two:
            j = index1[lane]
            if j < 0:
                j += size1
                if wrapped == 0:
                    totals[WRAPPED_LANE] = lane
                wrapped += 1
            if j < 0 or j >= size1:
                fits = False
            where += j * stride1
        inside[lane] = fits
        if fits:
            linear[lane] = where
        else:
            if bad == 0:
                totals[BAD_LANE] = lane
            bad += 1
    totals[BAD_COUNT] = bad
    totals[WRAPPED_COUNT] = wrapped


@njit("boolean(int64, int64, int64[::1], int64[::1])", cache=True, nogil=True)
def is_new(key, tag, keys, tags):
    """Adds `key` to a small hash set; a slot belongs to the set only while its tag is `tag`, so nothing is cleared."""
    slot = (key * -7046029254386353131) >> 57 & SET_MASK  # Fibonacci hashing: 2^64 divided by the golden ratio
    while tags[slot] == tag:
        if keys[slot] == key:
            return False
        slot = (slot + 1) & SET_MASK
    tags[slot] = tag
    keys[slot] = key
    return True


@njit("void(boolean[::1], int64[::1], int64, int64, uint8[::1], uint8, int64[::1])", cache=True, nogil=True)
def count_sectors(lanes, linear, address, itemsize, touched, mark, totals):
    """Counts what one warp instruction moves: requests, distinct sectors, distinct lines and distinct elements.

    `address` is the byte address of element 0; `touched` has a byte per sector of the buffer and gets `mark` or-ed in.
    """
    element_keys, sector_keys, line_keys = np.empty(SET, np.int64), np.empty(SET, np.int64), np.empty(SET, np.int64)
    element_tags, sector_tags, line_tags = np.zeros(SET, np.int64), np.zeros(SET, np.int64), np.zeros(SET, np.int64)
    requests = sectors = lines = elements = 0
    first_sector = address >> SECTOR_SHIFT
    for first in range(0, lanes.shape[0], WARP):
        new_elements = new_sectors = new_lines = 0
        previous = np.int64(-1)
        sector = np.int64(-1)
        rising = True
        for lane in range(first, first + WARP):  # most warps walk upwards: one look at each lane is enough
            if not lanes[lane]:
                continue
            e = linear[lane]
            if e == previous:
                continue
            if e < previous:
                rising = False
                break
            previous = e
            new_elements += 1
            begin = address + e * itemsize
            low = begin >> SECTOR_SHIFT
            if low > sector:
                new_sectors += 1
                if low >> LINE_SHIFT != sector >> LINE_SHIFT:
                    new_lines += 1
                sector = low
                touched[low - first_sector] |= mark
            high = (begin + itemsize - 1) >> SECTOR_SHIFT
            while sector < high:
                sector += 1
                new_sectors += 1
                if sector & ((1 << LINE_SHIFT) - 1) == 0:
                    new_lines += 1
                touched[sector - first_sector] |= mark
        if not rising:
            new_elements = new_sectors = new_lines = 0
            tag = np.int64(first + 1)
            for lane in range(first, first + WARP):
                if not lanes[lane] or not is_new(linear[lane], tag, element_keys, element_tags):
                    continue
                new_elements += 1
                begin = address + linear[lane] * itemsize
                for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
                    if is_new(s, tag, sector_keys, sector_tags):
                        new_sectors += 1
                        touched[s - first_sector] |= mark
                        new_lines += is_new(s >> LINE_SHIFT, tag, line_keys, line_tags)
        if new_elements:
            requests += 1
            elements += new_elements
            sectors += new_sectors
            lines += new_lines
    totals[REQUESTS] += requests
    totals[SECTORS] += sectors
    totals[LINES] += lines
    totals[ELEMENTS] += elements


@njit("int64(boolean[::1], int64[::1], int64, int64, int64[::1], int64)", cache=True, nogil=True)
def count_new_sectors(lanes, linear, address, itemsize, stamps, stamp):
    """Sectors that these lanes touch and that do not carry this stamp yet; they carry it afterwards."""
    new = 0
    first_sector = address >> SECTOR_SHIFT
    for lane in range(lanes.shape[0]):
        if lanes[lane]:
            begin = address + linear[lane] * itemsize
            for s in range(begin >> SECTOR_SHIFT, ((begin + itemsize - 1) >> SECTOR_SHIFT) + 1):
                if stamps[s - first_sector] != stamp:
                    stamps[s - first_sector] = stamp
                    new += 1
    return new


@njit("boolean(boolean[::1], int64[::1], int64)", cache=True, nogil=True)
def lanes_go_in_pairs(lanes, linear, first):
    """Whether every active lane wants what its neighbour wants, or every one what the lane two away wants.

    (Or that lane is inactive.) Then a wide access to shared memory goes by groups of twice as many lanes: so 81 patterns
    of 8-byte accesses behaved on an H200, see measurements/h200_patterns.json; of 16-byte ones only a broadcast was read.
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


@njit("UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64)", cache=True, nogil=True)
def count_wavefronts(lanes, linear, address, itemsize):
    """Counts shared-memory requests, wavefronts and bank conflicts of one warp instruction.

    A wavefront serves each bank one 4-byte word (every lane that wants that word). 8-byte accesses go by half warps
    and 16-byte ones by quarter warps, so their least number of wavefronts is 2 and 4; but see `lanes_go_in_pairs`.
    """
    usual_group = WARP if itemsize <= 4 else max(1, WARP * 4 // itemsize)
    words_each = max(1, itemsize // 4)
    words = np.empty(WARP * 4, np.int64)
    depth = np.empty(BANKS, np.int64)
    requests = wavefronts = conflicts = 0
    for first in range(0, lanes.shape[0], WARP):
        any_here = False
        group = usual_group * 2 if itemsize >= 8 and lanes_go_in_pairs(lanes, linear, first) else usual_group
        for start in range(first, first + WARP, group):
            lowest = np.int64(1) << 62
            highest = np.int64(-1)
            for lane in range(start, start + group):
                if lanes[lane]:
                    w = (address + linear[lane] * itemsize) >> 2
                    lowest = min(lowest, w)
                    highest = max(highest, w)
            if highest < 0:
                continue
            any_here = True
            if highest + words_each - 1 - lowest < BANKS:  # neighbours: every word has a bank of its own
                wavefronts += 1
                continue
            n = 0
            worst = 0
            depth[:] = 0
            low = np.int64(-1)
            rising = True
            for lane in range(start, start + group):
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
                        bank = word & (BANKS - 1)
                        depth[bank] += 1
                        if depth[bank] > worst:
                            worst = depth[bank]
            wavefronts += worst
            conflicts += worst - 1
        if any_here:
            requests += 1
    return requests, wavefronts, conflicts


@njit("UniTuple(int64, 3)(boolean[::1], int64[::1], int64, int64, uint8[::1])", cache=True, nogil=True)
def count_atomics(lanes, linear, address, itemsize, touched):
    """Counts a warp's atomics as the hardware does: requests, sectors, and the most lanes on one address.

    The sectors of an atomic are not distinct sectors: over each touched sector, the largest number of lanes that
    meet on one address, summed (seen on an H200; see README.md).
    """
    elements = np.empty(WARP, np.int64)
    lanes_on = np.empty(WARP, np.int64)
    requests = sectors = worst = 0
    for first in range(0, lanes.shape[0], WARP):
        n = 0
        for lane in range(first, first + WARP):
            if not lanes[lane]:
                continue
            e = linear[lane]
            at = -1
            for j in range(n):
                if elements[j] == e:
                    at = j
                    break
            if at < 0:
                elements[n] = e
                lanes_on[n] = 1
                n += 1
            else:
                lanes_on[at] += 1
        if n == 0:
            continue
        requests += 1
        for j in range(n):
            if lanes_on[j] > worst:
                worst = lanes_on[j]
            sector = (address + elements[j] * itemsize) // SECTOR_BYTES
            touched[sector - address // SECTOR_BYTES] |= 3
            largest = lanes_on[j]
            counted = False
            for i in range(n):
                if (address + elements[i] * itemsize) // SECTOR_BYTES == sector:
                    if i < j:
                        counted = True
                        break
                    if lanes_on[i] > largest:
                        largest = lanes_on[i]
            if not counted:
                sectors += largest
    return requests, sectors, worst


READ, WRITE, ATOMIC = 0, 1, 2
WITHIN_WARP, WITHIN_BLOCK, BETWEEN_BLOCKS = 1, 2, 3  # how far apart the two threads of a race are
RACE_LANE, RACE_COUNT, RACE_OTHER, RACE_OTHER_WROTE, RACE_OTHER_SITE, RACE_SCOPE = range(6)
UNSET_LANE, UNSET_COUNT, FINDINGS = range(6, 9)


@njit(
    "void(boolean[::1], int64[::1], int64, int64, int64, int64, boolean, int32, int64, int32[::1], int32[::1],"
    " int32[:, ::1], int32[:, ::1], int32[:, ::1], int64[::1])",
    cache=True,
    nogil=True,
)
def check_order(
    lanes, linear, kind, first_thread, threads_padded, now, check_unset, site, grid_sync, block_sync, warp_sync,
    writes, reads, plain_writes, findings,
):  # fmt: skip
    """Holds one access against the shadow of earlier ones, then records it; finds races and uninitialised reads.

    The shadow has three rows per element: stamp, thread (negative: atomic) and site of the last write; stamp, thread
    and site * 4 + breadth of the reads; stamp, thread and site of the last ordinary write, which atomics after it
    would hide. Two accesses are in order when the earlier one's stamp lies before the last barrier that both threads
    passed: of the warp, of the block, or of the grid.
    """
    for first_lane in range(0, lanes.shape[0], WARP):
        slot = first_lane // threads_padded
        block_first = first_thread + slot * threads_padded  # threads of this lane's block: [block_first, block_last]
        block_last = block_first + threads_padded - 1
        warp_base = warp_sync[first_lane >> WARP_SHIFT]
        block_base = block_sync[slot]
        my_warp = (first_thread + first_lane) >> WARP_SHIFT
        for lane in range(first_lane, first_lane + WARP):
            if not lanes[lane]:
                continue
            e = linear[lane]
            me = first_thread + lane
            if (
                kind == READ
                and reads[e, 0] == now
                and (reads[e, 2] & 3) >= 2
                and (block_first <= reads[e, 1] <= block_last)
            ):
                continue  # several threads of this block have read it since the last barrier: one more adds nothing
            wrote_at = writes[e, 0]
            if kind != WRITE and check_unset and wrote_at == 0:
                if findings[UNSET_COUNT] == 0:
                    findings[UNSET_LANE] = lane
                findings[UNSET_COUNT] += 1
            if wrote_at >= grid_sync and wrote_at > 0:
                writer = np.int64(writes[e, 1])
                was_atomic = writer < 0
                other_site = writes[e, 2]
                if was_atomic:
                    writer = -1 - writer
                    if kind == ATOMIC and plain_writes[e, 0] >= grid_sync and plain_writes[e, 0] > 0:
                        was_atomic = False  # atomics are in order among each other, not with the write before them
                        wrote_at = plain_writes[e, 0]
                        writer = np.int64(plain_writes[e, 1])
                        other_site = plain_writes[e, 2]
                elif kind == ATOMIC:
                    plain_writes[e, 0] = wrote_at
                    plain_writes[e, 1] = writer
                    plain_writes[e, 2] = other_site
                if writer != me and not (was_atomic and kind == ATOMIC):
                    base = grid_sync
                    scope = BETWEEN_BLOCKS
                    if writer >> WARP_SHIFT == my_warp:
                        base = warp_base
                        scope = WITHIN_WARP
                    elif block_first <= writer <= block_last:
                        base = block_base
                        scope = WITHIN_BLOCK
                    if wrote_at >= base:
                        if scope > findings[RACE_SCOPE]:  # the widest race tells which barrier it takes
                            findings[RACE_SCOPE] = scope
                            findings[RACE_LANE] = lane
                            findings[RACE_OTHER] = writer
                            findings[RACE_OTHER_WROTE] = 1
                            findings[RACE_OTHER_SITE] = other_site
                        findings[RACE_COUNT] += 1
            read_at = reads[e, 0]
            if kind != READ:
                if read_at >= grid_sync and read_at > 0:
                    reader = np.int64(reads[e, 1])
                    breadth = reads[e, 2] & 3
                    if reader != me or breadth > 0:
                        base = grid_sync
                        scope = BETWEEN_BLOCKS
                        if breadth <= 1 and reader >> WARP_SHIFT == my_warp:
                            base = warp_base
                            scope = WITHIN_WARP
                        elif breadth <= 2 and block_first <= reader <= block_last:
                            base = block_base
                            scope = WITHIN_BLOCK
                        if read_at >= base:
                            if scope > findings[RACE_SCOPE]:
                                findings[RACE_SCOPE] = scope
                                findings[RACE_LANE] = lane
                                findings[RACE_OTHER] = reader
                                findings[RACE_OTHER_WROTE] = 0
                                findings[RACE_OTHER_SITE] = reads[e, 2] >> 2
                            findings[RACE_COUNT] += 1
                writes[e, 0] = now
                writes[e, 1] = -1 - me if kind == ATOMIC else me
                writes[e, 2] = site
            else:
                breadth = 0
                if read_at >= grid_sync and read_at > 0:
                    reader = np.int64(reads[e, 1])
                    old = reads[e, 2] & 3
                    if reader != me or old > 0:
                        if reader >> WARP_SHIFT == my_warp:
                            if read_at >= warp_base:
                                breadth = max(old, 1)
                            elif old > 1 and read_at >= block_base:
                                breadth = old
                        elif block_first <= reader <= block_last:
                            if read_at >= block_base:
                                breadth = max(old, 2)
                        else:
                            breadth = 3
                reads[e, 0] = now
                reads[e, 1] = me
                reads[e, 2] = site << 2 | breadth


@njit(
    "boolean(int64[::1], int64, int64[::1], int32[::1], int64, int64, int64, int32, int32[::1],"
    " int32[:, ::1], int32[:, ::1])",
    cache=True,
    nogil=True,
)
def check_reads_by_element(
    elements, base, lanes, breadths, first_thread, threads_padded, now, site, block_sync, writes, reads
):  # fmt: skip
    """Records reads of shared memory element by element; False as soon as one needs the closer look of `check_order`."""
    for i in range(elements.shape[0]):
        e = elements[i] + base
        lane = lanes[i]
        me = first_thread + lane
        breadth = breadths[i]
        block_base = block_sync[lane // threads_padded]
        wrote_at = writes[e, 0]
        if wrote_at == 0:
            return False
        if wrote_at >= block_base and (breadth > 0 or writes[e, 1] != me):
            return False
        read_at = reads[e, 0]
        if read_at >= block_base:
            reader = np.int64(reads[e, 1])
            if reader != me or (reads[e, 2] & 3) > 0:
                relation = 1 if reader >> WARP_SHIFT == me >> WARP_SHIFT else 2
                breadth = max(breadth, relation, reads[e, 2] & 3)
        reads[e, 0] = now
        reads[e, 1] = me
        reads[e, 2] = site << 2 | breadth
    return True
