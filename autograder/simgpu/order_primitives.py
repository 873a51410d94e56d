"""The inner loops that find races and uninitialised reads, compiled once by Numba and cached as those in primitives.py."""

from __future__ import annotations

import numpy as np
from numba import njit

from autograder.simgpu.primitives import ATOMIC, READ, WARP, WARP_SHIFT, WRITE, compiled_when_called

# how far apart two threads are; the breadth of a row of the shadow: how far apart those are that stand behind it
ALONE, WITHIN_WARP, WITHIN_BLOCK, BETWEEN_BLOCKS = 0, 1, 2, 3
RACE_LANE, RACE_COUNT, RACE_OTHER, RACE_OTHER_WROTE, RACE_OTHER_SITE, RACE_SCOPE = range(6)
UNSET_LANE, UNSET_COUNT, FINDINGS = range(6, 9)


@njit("int64(int64, int64, int64, int64, int64)", cache=True, nogil=True)
def scope_of(other, breadth, my_warp, block_first, block_last):
    """How far this thread is from those behind a row of the shadow: `other`, who was the last, and as far as `breadth`."""
    if breadth <= WITHIN_WARP and other >> WARP_SHIFT == my_warp:
        return WITHIN_WARP
    if breadth <= WITHIN_BLOCK and block_first <= other <= block_last:
        return WITHIN_BLOCK
    return BETWEEN_BLOCKS


@njit("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)", cache=True, nogil=True)
def joined(other, breadth, at, me, my_warp, block_first, block_last, warp_base, block_base):
    """The breadth of a row after this thread has joined those behind it, of whom it forgets the ones before its barriers."""
    if other == me and breadth == ALONE:
        return ALONE
    scope = scope_of(other, breadth, my_warp, block_first, block_last)
    if scope == WITHIN_WARP and at < warp_base or scope == WITHIN_BLOCK and at < block_base:
        return ALONE
    return scope


@njit(
    "void(boolean[::1], int64[::1], int64, int64, int64, int64, boolean, int32, int64, int32[::1], int32[::1],"
    " int32[:, ::1], int32[:, ::1], int32[:, ::1], boolean[::1], int32[::1], int64, int64[::1])",
    cache=True,
    nogil=True,
)
def check_order(
    lanes, linear, kind, first_thread, threads_padded, now, check_unset, site, grid_sync, block_sync, warp_sync,
    writes, reads, plain_writes, knowing, released, counter, findings,
):  # fmt: skip
    """Holds one access against the shadow of earlier ones, then records it; finds races and uninitialised reads.

    The shadow has three rows per element: stamp, thread (negative: atomic) and site * 4 + breadth of the last write;
    stamp, thread and site * 4 + breadth of the reads; stamp, thread and site * 4 of the last ordinary write, which
    atomics after it would hide. Several threads stand behind a row of reads or of atomics: those do not race among each
    other. Two accesses are in order when the earlier one's stamp lies before the last barrier that both threads passed:
    of the warp, of the block, or of the grid. Lanes that are `knowing` come after all tickets (tickets.py): what each
    thread did before its stamp in `released`, and the atomics on the element `counter`, are in order before them.
    """
    for first_lane in range(0, lanes.shape[0], WARP):
        slot = first_lane // threads_padded
        block_first = first_thread + slot * threads_padded  # threads of this lane's block: [block_first, block_last]
        block_last = block_first + threads_padded - 1
        warp_base = np.int64(warp_sync[first_lane >> WARP_SHIFT])
        block_base = np.int64(block_sync[slot])
        my_warp = (first_thread + first_lane) >> WARP_SHIFT
        for lane in range(first_lane, first_lane + WARP):
            if not lanes[lane]:
                continue
            e = linear[lane]
            me = first_thread + lane
            knows = knowing.shape[0] > 0 and knowing[lane]
            if (
                kind == READ
                and reads[e, 0] == now
                and (reads[e, 2] & 3) >= WITHIN_BLOCK
                and (block_first <= reads[e, 1] <= block_last)
            ):
                continue  # several threads of this block have read it since the last barrier: one more adds nothing
            atomics = ALONE  # how far apart the threads are whose atomics came last, this one among them
            wrote_at = writes[e, 0]
            if kind != WRITE and check_unset and wrote_at == 0:
                if findings[UNSET_COUNT] == 0:
                    findings[UNSET_LANE] = lane
                findings[UNSET_COUNT] += 1
            if wrote_at >= grid_sync and wrote_at > 0:
                writer = np.int64(writes[e, 1])
                was_atomic = writer < 0
                place = writes[e, 2]
                if was_atomic:
                    writer = -1 - writer
                    if kind == ATOMIC:
                        atomics = joined(
                            writer, place & 3, wrote_at, me, my_warp, block_first, block_last, warp_base, block_base
                        )
                        if plain_writes[e, 0] >= grid_sync and plain_writes[e, 0] > 0:
                            was_atomic = False  # atomics are in order among each other, not with the write before them
                            wrote_at = plain_writes[e, 0]
                            writer = np.int64(plain_writes[e, 1])
                            place = plain_writes[e, 2]
                elif kind == ATOMIC:
                    plain_writes[e, 0] = wrote_at
                    plain_writes[e, 1] = writer
                    plain_writes[e, 2] = place
                if (writer != me or place & 3 > ALONE) and not (was_atomic and kind == ATOMIC):
                    scope = scope_of(writer, place & 3, my_warp, block_first, block_last)
                    base = warp_base if scope == WITHIN_WARP else block_base if scope == WITHIN_BLOCK else grid_sync
                    told = knows and (was_atomic and e == counter or place & 3 == ALONE and wrote_at < released[writer])
                    if wrote_at >= base and not told:
                        if scope > findings[RACE_SCOPE]:  # the widest race tells which barrier it takes
                            findings[RACE_SCOPE] = scope
                            findings[RACE_LANE] = lane
                            findings[RACE_OTHER] = writer
                            findings[RACE_OTHER_WROTE] = 1
                            findings[RACE_OTHER_SITE] = place >> 2
                        findings[RACE_COUNT] += 1
            read_at = reads[e, 0]
            reader = np.int64(reads[e, 1])
            breadth = np.int64(reads[e, 2] & 3)
            was_read = read_at >= grid_sync and read_at > 0
            if kind != READ:
                if was_read and (reader != me or breadth > ALONE):
                    scope = scope_of(reader, breadth, my_warp, block_first, block_last)
                    base = warp_base if scope == WITHIN_WARP else block_base if scope == WITHIN_BLOCK else grid_sync
                    told = knows and breadth == ALONE and read_at < released[reader]
                    if read_at >= base and not told:
                        if scope > findings[RACE_SCOPE]:
                            findings[RACE_SCOPE] = scope
                            findings[RACE_LANE] = lane
                            findings[RACE_OTHER] = reader
                            findings[RACE_OTHER_WROTE] = 0
                            findings[RACE_OTHER_SITE] = reads[e, 2] >> 2
                        findings[RACE_COUNT] += 1
                writes[e, 0] = now
                writes[e, 1] = -1 - me if kind == ATOMIC else me
                writes[e, 2] = site << 2 | atomics
            else:
                if was_read:
                    breadth = joined(
                        reader, breadth, read_at, me, my_warp, block_first, block_last, warp_base, block_base
                    )
                else:
                    breadth = ALONE
                reads[e, 0] = now
                reads[e, 1] = me
                reads[e, 2] = site << 2 | breadth


@compiled_when_called(
    "boolean(int64[::1], int64, int64[::1], int64[::1], int32[::1], int64, int64, int64, int32, int32[::1], int32[::1],"
    " int32[:, ::1], int32[:, ::1])",
)
def check_reads_by_element(
    elements, base, lanes, ends, breadths, first_thread, threads_padded, now, site, block_sync, warp_sync, writes, reads
):  # fmt: skip
    """Records reads of shared memory element by element; False as soon as one needs the closer look of `check_order`.

    The rows are those that `check_order` leaves, so that a race is told the same either way.
    """
    for i in range(elements.shape[0]):
        e = elements[i] + base
        if reads[e, 0] == now and (reads[e, 2] & 3) >= WITHIN_BLOCK:
            continue
        lane = lanes[i]
        me = first_thread + lane
        breadth = np.int64(breadths[i])
        slot = lane // threads_padded
        block_base = np.int64(block_sync[slot])
        wrote_at = writes[e, 0]
        if wrote_at == 0:
            return False
        if wrote_at >= block_base and (breadth > 0 or writes[e, 1] != me):
            return False
        before = ALONE  # the breadth once the first lane has joined those who read it earlier
        if reads[e, 0] > 0:
            block_first = first_thread + slot * threads_padded
            before = joined(
                np.int64(reads[e, 1]), np.int64(reads[e, 2] & 3), np.int64(reads[e, 0]), me, me >> WARP_SHIFT,
                block_first, block_first + threads_padded - 1, np.int64(warp_sync[lane >> WARP_SHIFT]), block_base,
            )  # fmt: skip
        if before < WITHIN_BLOCK and breadth > ALONE:
            me, before = first_thread + ends[i], breadth
        reads[e, 0] = now
        reads[e, 1] = me
        reads[e, 2] = site << 2 | before
    return True
