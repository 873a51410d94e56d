"""The inner loops that find races and uninitialised reads, compiled once by Numba and cached as those in primitives.py."""

from __future__ import annotations

import numpy as np

from autograder.simgpu.primitives import (
    ATOMIC,
    READ,
    WARP,
    WARP_SHIFT,
    WRITE,
    Integer,
    Truth,
    compiled,
    compiled_when_called,
    is_any_active,
)

# how far apart two threads are; the breadth of a row of the shadow: how far apart those are that stand behind it
ALONE, WITHIN_WARP, WITHIN_BLOCK, BETWEEN_BLOCKS = 0, 1, 2, 3
RACE_LANE, RACE_COUNT, RACE_OTHER, RACE_OTHER_WROTE, RACE_OTHER_SITE, RACE_OTHER_AT, RACE_SCOPE = range(7)
UNSET_LANE, UNSET_COUNT, FINDINGS = range(7, 10)

# Releases (tickets.py): a row each, for one thread, its warp and its block (a column for each of these scopes). `UP_TO`:
# the stamp before which their accesses are released: to all threads (wide), or to those of the same block (narrow, never
# less). `LIMIT`: no row of theirs before this one reaches further. `BACK`: the number of the release before it. `FENCES`:
# whether the block's threads are also released up to fences of their own before its last barrier; those stand in
# `earlier_fences`, by thread: the stamps (wide, narrow), and that of the barrier.
RELEASE_NUMBER, RELEASE_WORD, RELEASE_TURN, RELEASE_FENCES = range(4)
RELEASE_LIMIT, RELEASE_UP_TO_WIDE, RELEASE_UP_TO_NARROW, RELEASE_BACK = 4, 7, 10, 13
RELEASE_COLUMNS = 16
MOST_RELEASES = 2**20  # the last ones that are kept: 128 bytes each
WIDE, NARROW, BARRIER = 0, 1, 2  # rows of the stamps of fences
SEEN_WORD, SEEN_TURN, SEEN_AT, SEEN_BY, SEEN_COLUMNS = range(5)  # what a lane, its warp or its block found a word in
RUN = 16  # threads side by side whose accesses are looked at together: a row of the usual tiles
UNTOLD, TOLD, FRESH = 0, 1, 2  # a later access is not ordered by what was seen; is; is, and no older copy can be met


@compiled("int64(int64, int64, int64, int64, int64)")
def scope_of(other: Integer, breadth: Integer, my_warp: Integer, block_first: Integer, block_last: Integer) -> int:
    """How far this thread is from those behind a row of the shadow: `other`, who was the last, and as far as `breadth`."""
    if breadth <= WITHIN_WARP and other >> WARP_SHIFT == my_warp:
        return WITHIN_WARP
    if breadth <= WITHIN_BLOCK and block_first <= other <= block_last:
        return WITHIN_BLOCK
    return BETWEEN_BLOCKS


@compiled("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def joined(
    other: Integer, breadth: Integer, at: Integer, me: Integer, my_warp: Integer, block_first: Integer,
    block_last: Integer, warp_base: Integer, block_base: Integer,
) -> int:  # fmt: skip
    """The breadth of a row after this thread has joined those behind it, of whom it forgets the ones before its barriers."""
    if other == me and breadth == ALONE:
        return ALONE
    scope = scope_of(other, breadth, my_warp, block_first, block_last)
    if scope == WITHIN_WARP and at < warp_base or scope == WITHIN_BLOCK and at < block_base:
        return ALONE
    return scope


@compiled("boolean(int64, int64, int64, int64, int64, int64, int64, int64[:, ::1], int64[:, ::1], int32[:, ::1])")
def is_released(
    other: Integer, breadth: Integer, at: Integer, word: Integer, turn: Integer, narrow: Truth,
    threads_padded: Integer, releases: np.ndarray, newest: np.ndarray, earlier_fences: np.ndarray,
) -> bool:  # fmt: skip
    """Whether those behind a row of the shadow had released what they did at `at`, by this word, before that turn."""
    for scope in range(breadth, BETWEEN_BLOCKS):
        unit = other if scope == 0 else other >> WARP_SHIFT if scope == 1 else other // threads_padded
        if unit >= newest.shape[1]:
            continue
        number = newest[scope, unit]
        while number >= 0:
            row = number % releases.shape[0]
            if releases[row, RELEASE_NUMBER] != number or releases[row, RELEASE_LIMIT + scope] <= at:
                break  # overwritten by now, or of what was done before
            if releases[row, RELEASE_WORD] == word and releases[row, RELEASE_TURN] < turn:
                if releases[row, (RELEASE_UP_TO_NARROW if narrow else RELEASE_UP_TO_WIDE) + scope] > at:
                    return True
                if scope == WITHIN_BLOCK and breadth == ALONE and releases[row, RELEASE_FENCES]:
                    if earlier_fences[BARRIER, other] == releases[row, RELEASE_LIMIT + scope]:
                        if earlier_fences[NARROW if narrow else WIDE, other] > at:
                            return True
            number = releases[row, RELEASE_BACK + scope]
    return False


@compiled("int64(int64[:, :, ::1], int64, int64)")
def warps_row(seen_by_group: np.ndarray, lane: Integer, threads_padded: Integer) -> Integer:
    """The row of a lane's warp: in `seen_by_group` the blocks of the batch come first, and then its warps."""
    warps_per_block = threads_padded >> WARP_SHIFT
    first_warp: int = seen_by_group.shape[0] // (1 + warps_per_block)
    return first_warp + (lane >> WARP_SHIFT)


@compiled(
    "int64(int64, int64, int64, int64, int64, int64, int64, int64, int64, int32[:, ::1], int64[:, :, ::1],"
    " int64[:, :, ::1], int64[:, ::1], int64[:, ::1], int32[:, ::1])"
)
def told_by(
    lane: Integer, other: Integer, breadth: Integer, at: Integer, scope: Integer, slot: Integer,
    threads_padded: Integer, block_base: Integer, warp_base: Integer, fenced: np.ndarray, seen: np.ndarray,
    seen_by_group: np.ndarray, releases: np.ndarray, newest: np.ndarray, earlier_fences: np.ndarray,
) -> int:  # fmt: skip
    """Whether what this lane, or its warp or block before a barrier, found in a word says that an earlier access is done."""
    told = UNTOLD
    narrow = scope <= WITHIN_BLOCK
    row = NARROW if narrow else WIDE
    for k in range(seen.shape[1]):
        word, turn, at_word = seen[lane, k, SEEN_WORD], seen[lane, k, SEEN_TURN], seen[lane, k, SEEN_AT]
        if word < 0:
            continue
        if is_released(other, breadth, at, word, turn, narrow, threads_padded, releases, newest, earlier_fences):
            if fenced[row, lane] > at_word:
                return FRESH
            told = TOLD
    for group, barrier in ((warps_row(seen_by_group, lane, threads_padded), warp_base), (slot, block_base)):
        for k in range(seen_by_group.shape[1]):
            word, turn = seen_by_group[group, k, SEEN_WORD], seen_by_group[group, k, SEEN_TURN]
            at_word, by = seen_by_group[group, k, SEEN_AT], seen_by_group[group, k, SEEN_BY]
            if word < 0 or barrier <= at_word:
                continue
            if is_released(other, breadth, at, word, turn, narrow, threads_padded, releases, newest, earlier_fences):
                if fenced[row, lane] > at_word or fenced[row, by] > at_word:
                    return FRESH
                told = TOLD
    return told


@compiled(
    "int64(int64, int64, int64, int64, int64, int64, int64, int64, int32[:, ::1], int64[:, :, ::1], int64[:, :, ::1])"
)
def holds(
    lane: Integer, slot: Integer, word: Integer, first_thread: Integer, last_atomic: Integer, threads_padded: Integer,
    block_base: Integer, warp_base: Integer, fenced: np.ndarray, seen: np.ndarray, seen_by_group: np.ndarray,
) -> int:  # fmt: skip
    """Whether a plain store may follow the atomics on a word: FRESH where it gives the word back behind a fence, TOLD
    where the last atomic on it was the one that this lane (or, before a barrier, its warp or block) goes by."""
    for k in range(seen.shape[1]):
        if word >= 0 and seen[lane, k, SEEN_WORD] == word:
            if fenced[NARROW, lane] > seen[lane, k, SEEN_AT]:
                return FRESH
            if last_atomic == first_thread + lane:
                return TOLD
    for group, barrier in ((warps_row(seen_by_group, lane, threads_padded), warp_base), (slot, block_base)):
        for k in range(seen_by_group.shape[1]):
            at_word, by = seen_by_group[group, k, SEEN_AT], seen_by_group[group, k, SEEN_BY]
            if word >= 0 and seen_by_group[group, k, SEEN_WORD] == word and barrier > at_word:
                if fenced[NARROW, lane] > at_word:
                    return FRESH
                if last_atomic == first_thread + by:
                    return TOLD
    return UNTOLD


@compiled()  # compiled with note_atomics, when that is called
def _release(
    number: Integer, thread: Integer, word: Integer, turn: Integer, wide: Integer, narrow: Integer,
    warp_base: Integer, block_base: Integer, fences: Truth, threads_padded: Integer, releases: np.ndarray,
    newest: np.ndarray,
) -> None:  # fmt: skip
    """Writes down a release of one thread, and of its warp and block up to a barrier that the fence came after."""
    row = number % releases.shape[0]
    releases[row, RELEASE_NUMBER] = number
    releases[row, RELEASE_WORD] = word
    releases[row, RELEASE_TURN] = turn
    releases[row, RELEASE_FENCES] = fences
    for scope in range(BETWEEN_BLOCKS):
        unit = thread if scope == 0 else thread >> WARP_SHIFT if scope == 1 else thread // threads_padded
        limit = narrow if scope == 0 else warp_base if scope == 1 else block_base
        releases[row, RELEASE_LIMIT + scope] = limit
        releases[row, RELEASE_UP_TO_NARROW + scope] = limit if scope == 0 or narrow > limit else 0
        releases[row, RELEASE_UP_TO_WIDE + scope] = wide if scope == 0 else limit if wide > limit else 0
        releases[row, RELEASE_BACK + scope] = newest[scope, unit]
        newest[scope, unit] = number


@compiled()
def _note_seen(seen: np.ndarray, row: Integer, word: Integer, turn: Integer, now: Integer, lane: Integer) -> None:
    """Keeps that a word was looked at, in place of what was known of it, or of the one looked at longest ago."""
    chosen = 0
    for k in range(seen.shape[1]):
        if seen[row, k, SEEN_WORD] == word:
            chosen = k
            break
        if seen[row, k, SEEN_AT] < seen[row, chosen, SEEN_AT]:
            chosen = k
    seen[row, chosen, SEEN_WORD] = word
    seen[row, chosen, SEEN_TURN] = turn
    seen[row, chosen, SEEN_AT] = now
    seen[row, chosen, SEEN_BY] = lane


@compiled_when_called(
    "UniTuple(int64, 2)(int64, int64, int64[::1], int64[::1], boolean[::1], boolean, int64, int64, int64, int64, int32[::1],"
    " int32[::1], int32[:, ::1], int32[:, ::1], int64[:, :, ::1], int64[:, :, ::1], int64[:, ::1], int64[:, ::1])"
)
def note_atomics(
    start: int, number: int, lanes: np.ndarray, words: np.ndarray, wrote: np.ndarray, looks: Truth, turn: Integer,
    now: Integer, first_thread: Integer, threads_padded: Integer, block_sync: np.ndarray, warp_sync: np.ndarray,
    fenced: np.ndarray, earlier_fences: np.ndarray, seen: np.ndarray, seen_by_group: np.ndarray, releases: np.ndarray,
    newest: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Writes down what atomics release, and who looked at what they found, in their order.

    Returns how many of the lanes it has dealt with, fewer where `releases` has to grow, and the next release's number.
    """
    for i in range(start, lanes.shape[0]):
        if number >= releases.shape[0] and releases.shape[0] < MOST_RELEASES:
            return i, number
        lane, word = lanes[i], words[i]
        slot = lane // threads_padded
        own, block_base = np.int64(fenced[NARROW, lane]), np.int64(block_sync[slot])
        has_earlier = own <= block_base and earlier_fences[BARRIER, first_thread + lane] == block_base
        if wrote[i] and (own > 0 or has_earlier):
            _release(
                number, first_thread + lane, word, turn + i, np.int64(fenced[WIDE, lane]), own,
                np.int64(warp_sync[lane >> WARP_SHIFT]), block_base, has_earlier, threads_padded, releases, newest,
            )  # fmt: skip
            number += 1
        if looks:
            _note_seen(seen, lane, word, turn + i, now, lane)
            _note_seen(seen_by_group, slot, word, turn + i, now, lane)
            _note_seen(seen_by_group, warps_row(seen_by_group, lane, threads_padded), word, turn + i, now, lane)
    return lanes.shape[0], number


@compiled("boolean(int64, int64, int64, int64, int64, int64, int64, int64)")
def is_settled(
    at: Integer, who: Integer, place: Integer, me: Integer, grid_sync: Integer, in_block: Integer,
    block_first: Integer, block_last: Integer,
) -> bool:  # fmt: skip
    """Whether what a row of the shadow tells of is in order with this thread, by what can be seen at once."""
    if at < grid_sync or at == 0:
        return True
    breadth = place & 3
    if who == me and breadth == ALONE:
        return True
    return bool(at < in_block and breadth <= WITHIN_BLOCK and block_first <= who <= block_last)


@compiled("boolean(boolean[::1], int64[::1], int64)", boundscheck=False)
def is_run(lanes: np.ndarray, linear: np.ndarray, first: Integer) -> bool:
    """Whether so many lanes, from this one on, are all active and want elements that lie side by side."""
    start = np.uint64(first)
    begin = linear[start]
    differs = False
    for i in range(RUN):
        lane = start + np.uint64(i)
        differs |= not (lanes[lane] & (linear[lane] == begin + i))
    return not differs


@compiled(
    "boolean(int32[::1], int32[::1], int16[::1], uint64, int32, int32, int32, int32, int32, boolean)",
    boundscheck=False,
)
def are_settled(
    stamps: np.ndarray, threads: np.ndarray, places: np.ndarray, begin: Integer, me: Integer, grid_sync: Integer,
    in_block: Integer, block_first: Integer, block_last: Integer, must_be_set: Truth,
) -> bool:  # fmt: skip
    """`is_settled` for a run of elements and threads, all at once: without branches, that several are looked at together."""
    is_open = False
    for i in range(RUN):
        e = begin + np.uint64(i)
        at, who, breadth = stamps[e], threads[e], places[e] & 3
        is_over = (at < in_block) & (breadth <= WITHIN_BLOCK) & (block_first <= who) & (who <= block_last)
        is_open |= not ((at < grid_sync) | (at == 0) | ((who == me + i) & (breadth == ALONE)) | is_over)
        is_open |= must_be_set & (at == 0)
    return not is_open


@compiled("void(int32[::1], int32[::1], int16[::1], uint64, int32, int32, int16)", boundscheck=False)
def record_run(
    stamps: np.ndarray, threads: np.ndarray, places: np.ndarray, begin: Integer, now: Integer, me: Integer, place: Integer
) -> None:
    """Records accesses of a run of threads at elements side by side, each alone at its own."""
    for i in range(RUN):
        e = begin + np.uint64(i)
        stamps[e] = now
        threads[e] = me + i
        places[e] = place


@compiled(
    "boolean(boolean[::1], int64[::1], int64, int64, int64, int64, boolean, int32, int64, boolean, int32[::1], int32[::1],"
    " int32[::1], int32[::1], int16[::1], int32[::1], int32[::1], int16[::1], int32[::1], int32[::1], int16[::1], int64,"
    " int32[:, ::1], int64[:, :, ::1], int64[:, :, ::1], int64[:, ::1], int64[:, ::1], int32[:, ::1], int64[::1])"
)
def check_order(
    lanes: np.ndarray, linear: np.ndarray, kind: Integer, first_thread: Integer, threads_padded: Integer,
    now: Integer, check_unset: Truth, site: Integer, grid_sync: Integer, has_reads: Truth, block_sync: np.ndarray,
    warp_sync: np.ndarray, write_stamps: np.ndarray, writers: np.ndarray, write_places: np.ndarray,
    read_stamps: np.ndarray, readers: np.ndarray, read_places: np.ndarray, plain_stamps: np.ndarray,
    plain_writers: np.ndarray, plain_places: np.ndarray, first_word: Integer, fenced: np.ndarray,
    seen: np.ndarray, seen_by_group: np.ndarray, releases: np.ndarray, newest: np.ndarray,
    earlier_fences: np.ndarray, findings: np.ndarray,
) -> bool:  # fmt: skip
    """Holds one access against the shadow of earlier ones, then records it; whether there are races or uninitialised reads.

    The shadow has three rows of each of these, by element: stamp, thread (negative: atomic) and site * 4 + breadth of the
    last write; stamp, thread and site * 4 + breadth of the reads; stamp, thread and site * 4 of the last ordinary write,
    which atomics after it would hide. Several threads stand behind a row of reads or of atomics: those do not race among
    each other. Two accesses are in order when the earlier one's stamp lies before the last barrier that both threads passed:
    of the warp, of the block, or of the grid; or when the lane has `seen` in some word that the other thread had
    released it (tickets.py; none of those arrays has a row where nobody looked). `first_word`: the number of the
    buffer's element 0 as a word, or -1. `has_reads`: whether any element was read since the last barrier of the grid.
    """
    knows = seen.shape[0] > 0
    for first_lane in range(0, lanes.shape[0], WARP):
        if not is_any_active(lanes, first_lane):
            continue
        slot = first_lane // threads_padded
        block_first = first_thread + slot * threads_padded  # threads of this lane's block: [block_first, block_last]
        block_last = block_first + threads_padded - 1
        warp_base = np.int64(warp_sync[first_lane >> WARP_SHIFT])
        block_base = np.int64(block_sync[slot])
        my_warp = (first_thread + first_lane) >> WARP_SHIFT
        in_block = min(warp_base, block_base)  # what any thread of the block did before is over
        first_left = first_lane  # of the warp's lanes that are looked at one by one
        while first_left < first_lane + WARP and kind != ATOMIC and not knows and is_run(lanes, linear, first_left):
            begin, me = np.uint64(linear[first_left]), first_thread + first_left
            is_fine = are_settled(
                write_stamps, writers, write_places, begin, me, grid_sync, in_block, block_first, block_last, check_unset
            ) and (
                kind == WRITE and not has_reads
                or are_settled(
                    read_stamps, readers, read_places, begin, me, grid_sync, in_block, block_first, block_last, False
                )
            )  # fmt: skip
            if not is_fine:
                break
            if kind == WRITE:
                record_run(write_stamps, writers, write_places, begin, now, me, site << 2)
            else:
                record_run(read_stamps, readers, read_places, begin, now, me, site << 2)
            first_left += RUN
        for lane in range(first_left, first_lane + WARP):
            if not lanes[lane]:
                continue
            e = linear[lane]
            me = first_thread + lane
            if kind == ATOMIC and not knows:  # likewise: none before it but atomics
                at = np.uint64(e)
                last_write = np.int64(write_stamps[at])
                last_read = np.int64(read_stamps[at]) if has_reads else np.int64(0)
                if (last_read < grid_sync or last_read == 0) and (last_write > 0 or not check_unset):
                    is_first: Truth = last_write < grid_sync or last_write == 0
                    if is_first or writers[at] < 0 and (plain_stamps[at] < grid_sync or plain_stamps[at] == 0):
                        together: Integer = ALONE
                        if not is_first:
                            together = joined(
                                -1 - np.int64(writers[at]), write_places[at] & 3, last_write, me, my_warp, block_first,
                                block_last, warp_base, block_base,
                            )  # fmt: skip
                        write_stamps[at] = now
                        writers[at] = -1 - me
                        write_places[at] = site << 2 | together
                        continue
            if kind != ATOMIC and not knows:  # most accesses: nothing before them that a barrier had not put in order
                at = np.uint64(e)
                last_write = np.int64(write_stamps[at])
                if is_settled(last_write, writers[at], write_places[at], me, grid_sync, in_block, block_first, block_last):
                    last_read = np.int64(read_stamps[at]) if has_reads or kind == READ else np.int64(0)
                    if kind == WRITE:
                        if is_settled(
                            last_read, readers[at], read_places[at], me, grid_sync, in_block, block_first, block_last
                        ):
                            write_stamps[at] = now
                            writers[at] = me
                            write_places[at] = site << 2
                            continue
                    elif last_write > 0 or not check_unset:
                        reader = np.int64(readers[at])
                        breadth: Integer = np.int64(read_places[at] & 3)
                        if last_read == now and breadth >= WITHIN_BLOCK and block_first <= reader <= block_last:
                            continue  # as below
                        if last_read < grid_sync or last_read == 0:
                            breadth = ALONE
                        else:
                            breadth = joined(
                                reader, breadth, last_read, me, my_warp, block_first, block_last, warp_base, block_base
                            )
                        read_stamps[at] = now
                        readers[at] = me
                        read_places[at] = site << 2 | breadth
                        continue
            if (
                kind == READ
                and read_stamps[e] == now
                and (read_places[e] & 3) >= WITHIN_BLOCK
                and (block_first <= readers[e] <= block_last)
            ):
                continue  # several threads of this block have read it since the last barrier: one more adds nothing
            atomics = ALONE  # how far apart the threads are whose atomics came last, this one among them
            held = (
                UNTOLD  # FRESH: a plain store that ends what an atomic on the same word began is as good as an atomic
            )
            read_at = np.int64(read_stamps[e])
            was_read: Truth = read_at >= grid_sync and read_at > 0
            wrote_at = write_stamps[e]
            if kind != WRITE and check_unset and wrote_at == 0:
                if findings[UNSET_COUNT] == 0:
                    findings[UNSET_LANE] = lane
                findings[UNSET_COUNT] += 1
            if knows and first_word >= 0 and kind != ATOMIC and writers[e] < 0:
                held = holds(
                    lane, slot, first_word + e, first_thread, -1 - np.int64(writers[e]), threads_padded, block_base,
                    warp_base, fenced, seen, seen_by_group,
                )  # fmt: skip
            if wrote_at >= grid_sync and wrote_at > 0:
                writer = np.int64(writers[e])
                was_atomic: Truth = writer < 0
                place = write_places[e]
                if was_atomic:
                    writer = -1 - writer
                    if kind == ATOMIC:
                        atomics = joined(
                            writer, place & 3, wrote_at, me, my_warp, block_first, block_last, warp_base, block_base
                        )
                        if plain_stamps[e] >= grid_sync and plain_stamps[e] > 0:
                            was_atomic = False  # atomics are in order among each other, not with the write before them
                            wrote_at = plain_stamps[e]
                            writer = np.int64(plain_writers[e])
                            place = plain_places[e]
                elif kind == ATOMIC:
                    plain_stamps[e] = wrote_at
                    plain_writers[e] = writer
                    plain_places[e] = place
                if (writer != me or place & 3 > ALONE) and not (was_atomic and kind == ATOMIC):
                    scope = scope_of(writer, place & 3, my_warp, block_first, block_last)
                    base = warp_base if scope == WITHIN_WARP else block_base if scope == WITHIN_BLOCK else grid_sync
                    told = held
                    if knows and wrote_at >= base and told == UNTOLD:
                        told = told_by(
                            lane, writer, place & 3, wrote_at, scope, slot, threads_padded, block_base, warp_base, fenced,
                            seen, seen_by_group, releases, newest, earlier_fences,
                        )  # fmt: skip
                        if told == TOLD and kind == READ and was_read and read_at <= wrote_at:
                            told = UNTOLD  # a copy from before the write may be met, for want of a fence since
                    if wrote_at >= base and told == UNTOLD:
                        if scope > findings[RACE_SCOPE]:  # the widest race tells which barrier it takes
                            findings[RACE_SCOPE] = scope
                            findings[RACE_LANE] = lane
                            findings[RACE_OTHER] = writer
                            findings[RACE_OTHER_WROTE] = 1
                            findings[RACE_OTHER_SITE] = place >> 2
                            findings[RACE_OTHER_AT] = wrote_at
                        findings[RACE_COUNT] += 1
            reader = np.int64(readers[e])
            breadth = np.int64(read_places[e] & 3)
            if kind != READ:
                if was_read and (reader != me or breadth > ALONE):
                    scope = scope_of(reader, breadth, my_warp, block_first, block_last)
                    base = warp_base if scope == WITHIN_WARP else block_base if scope == WITHIN_BLOCK else grid_sync
                    told = UNTOLD
                    if knows and read_at >= base:
                        told = told_by(
                            lane, reader, breadth, read_at, scope, slot, threads_padded, block_base, warp_base, fenced, seen,
                            seen_by_group, releases, newest, earlier_fences,
                        )  # fmt: skip
                    if read_at >= base and told == UNTOLD:
                        if scope > findings[RACE_SCOPE]:
                            findings[RACE_SCOPE] = scope
                            findings[RACE_LANE] = lane
                            findings[RACE_OTHER] = reader
                            findings[RACE_OTHER_WROTE] = 0
                            findings[RACE_OTHER_SITE] = read_places[e] >> 2
                            findings[RACE_OTHER_AT] = read_at
                        findings[RACE_COUNT] += 1
                write_stamps[e] = now
                writers[e] = -1 - me if kind == ATOMIC or held == FRESH else me
                write_places[e] = site << 2 | atomics
            else:
                if was_read and knows and (reader != me or breadth > ALONE):
                    scope = scope_of(reader, breadth, my_warp, block_first, block_last)
                    was_read = UNTOLD == told_by(
                        lane, reader, breadth, read_at, scope, slot, threads_padded, block_base, warp_base, fenced, seen,
                        seen_by_group, releases, newest, earlier_fences,
                    )  # fmt: skip
                if was_read:
                    breadth = joined(
                        reader, breadth, read_at, me, my_warp, block_first, block_last, warp_base, block_base
                    )
                else:
                    breadth = ALONE
                read_stamps[e] = now
                readers[e] = me
                read_places[e] = site << 2 | breadth
    return bool(findings[RACE_COUNT] > 0 or findings[UNSET_COUNT] > 0)


@compiled_when_called("boolean(boolean[::1], int64[::1], int32[::1])")
def are_all_set(lanes: np.ndarray, linear: np.ndarray, written_at: np.ndarray) -> bool:
    """Whether the elements of all active lanes were written at some time; no branches: most are."""
    is_unset = False
    for lane in range(lanes.shape[0]):
        is_unset |= lanes[lane] & (written_at[np.uint64(linear[lane])] == 0)
    return not is_unset


@compiled(inline=True)
def reads_by_element(
    elements: np.ndarray, base: Integer, lanes: np.ndarray, ends: np.ndarray, breadths: np.ndarray,
    first_thread: Integer, threads_padded: Integer, now: Integer, site: Integer, block_sync: np.ndarray,
    warp_sync: np.ndarray, write_stamps: np.ndarray, writers: np.ndarray, read_stamps: np.ndarray, readers: np.ndarray,
    read_places: np.ndarray,
) -> bool:  # fmt: skip
    """Records reads of shared memory element by element; False as soon as one needs the closer look of `check_order`.

    The rows are those that `check_order` leaves, so that a race is told the same either way.
    """
    for i in range(elements.shape[0]):
        e = elements[i] + base
        if read_stamps[e] == now and (read_places[e] & 3) >= WITHIN_BLOCK:
            continue
        lane = lanes[i]
        me = first_thread + lane
        breadth = np.int64(breadths[i])
        slot = lane // threads_padded
        block_base = np.int64(block_sync[slot])
        wrote_at = write_stamps[e]
        if wrote_at == 0:
            return False
        if wrote_at >= block_base and (breadth > 0 or writers[e] != me):
            return False
        before: Integer = ALONE  # the breadth once the first lane has joined those who read it earlier
        if read_stamps[e] > 0:
            block_first = first_thread + slot * threads_padded
            before = joined(
                np.int64(readers[e]), np.int64(read_places[e] & 3), np.int64(read_stamps[e]), me, me >> WARP_SHIFT,
                block_first, block_first + threads_padded - 1, np.int64(warp_sync[lane >> WARP_SHIFT]), block_base,
            )  # fmt: skip
        if before < WITHIN_BLOCK and breadth > ALONE:
            me, before = first_thread + ends[i], breadth
        read_stamps[e] = now
        readers[e] = me
        read_places[e] = site << 2 | before
    return True


@compiled_when_called(
    "boolean(int64[::1], int64, int64[::1], int64[::1], int32[::1], int64, int64, int64, int32, int32[::1], int32[::1],"
    " int32[::1], int32[::1], int32[::1], int32[::1], int16[::1])",
)
def check_reads_by_element(
    elements: np.ndarray, base: Integer, lanes: np.ndarray, ends: np.ndarray, breadths: np.ndarray,
    first_thread: Integer, threads_padded: Integer, now: Integer, site: Integer, block_sync: np.ndarray,
    warp_sync: np.ndarray, write_stamps: np.ndarray, writers: np.ndarray, read_stamps: np.ndarray, readers: np.ndarray,
    read_places: np.ndarray,
) -> bool:  # fmt: skip
    """`reads_by_element` of one access."""
    return reads_by_element(
        elements, base, lanes, ends, breadths, first_thread, threads_padded, now, site, block_sync, warp_sync, write_stamps,
        writers, read_stamps, readers, read_places,
    )  # fmt: skip
