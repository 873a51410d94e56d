"""Kernels of what the other unseen ones lack, at two large sizes; several are chains of launches, as a host makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.simgpu.measurements import further_kernels as further
from autograder.simgpu.measurements import (
    unseen_collectives,
    unseen_irregular,
    unseen_matrices,
    unseen_numerics,
    unseen_stencils,
)
from autograder.simgpu.measurements.sizing import (
    SAMPLE,
    Arguments,
    Make,
    Over,
    Random,
    Shape,
    Sized,
    SizedLaunch,
    blocks_of,
    elements,
    grid_for,
    one_launch,
    striding,
    zeros,
)

F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64
SMALL_BINS, MANY_BINS = 256, 4096
ITEMS = 40  # of the knapsack


def entry(
    kernel: Any, block: Shape, over: Over, make: Make, reference: Callable[..., None], sizes: tuple[int, int, int],
    *, shared_bytes: int = 0, seen: Callable[..., Arguments] = lambda *arguments: arguments, sample: int | None = SAMPLE,
) -> Sized:  # fmt: skip
    """One launch of a kernel with all its arguments."""
    launches = one_launch(kernel, over, block, shared_bytes)
    return Sized(kernel.py_func.__name__, make, launches, *sizes, reference, seen, sample)


def heat_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    """62 steps, from one array to the other and back."""
    u, v, k = a
    for step in range(62):
        arrays = (u, v) if step % 2 == 0 else (v, u)
        yield SizedLaunch(unseen_stencils.heat_1d, grid_for(n, 128), 128, (*arrays, k))


def heat_of_chain(u: Any, v: Any, k: Any) -> None:
    for step in range(62):
        source, target = (u, v) if step % 2 == 0 else (v, u)
        unseen_stencils._heat_1d(source, target, k)


def sum_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    """Sums of 256 each, and of those again, until one is left."""
    for source, target in zip(a[:-1], a[1:], strict=True):
        yield SizedLaunch(unseen_collectives.sum_first_add, target.size, 128, (source, target))


def arrays_of_sums(r: Random, n: int) -> Arguments:
    made = [r.reals(n)]
    while made[-1].size > 1:
        made.append(zeros(made[-1].size // 256))
    return tuple(made)


def sums_of_chain(*a: Any) -> None:
    for source, target in zip(a[:-1], a[1:], strict=True):
        unseen_collectives._sums(source, target)


def sort_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    size = 2
    while size <= n:
        step = size // 2
        while step > 0:
            yield SizedLaunch(unseen_collectives.bitonic_global_step, n // 128, 128, (*a, I64(size), I64(step)))
            step //= 2
        size *= 2


def fft_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    half = 1
    while half < n:
        yield SizedLaunch(unseen_numerics.fft_step, n // 256, 128, (*a, I64(half)))
        half *= 2


def transformed(real: Any, imag: Any) -> None:
    half = 1
    while half < real.size:
        unseen_numerics._fft_step(real, imag, half)
        half *= 2


def paths_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    for k in range(n):
        yield SizedLaunch(unseen_matrices.floyd_warshall_step, grid_for((n, n), (16, 8)), (16, 8), (*a, I64(k)))


def shortest_paths(dist: Any) -> None:
    for k in range(len(dist)):
        unseen_matrices._floyd_warshall_step(dist, k)


def knapsack_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    """An item a launch; their weights and values are a rule, so that the host knows them."""
    old, new = a
    for item in range(ITEMS):
        scalars = I64(17 + 13 * item), I32(5 + 7 * item % 31)
        yield SizedLaunch(further.knapsack_row, grid_for(n, 256), 256, (old, new, *scalars))
        old, new = new, old


def packed(old: Any, new: Any) -> None:
    for item in range(ITEMS):
        weight, value = 17 + 13 * item, 5 + 7 * item % 31
        new[:] = old
        new[weight:] = np.maximum(old[weight:], old[:-weight] + value)
        old, new = new, old


def scan_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    """Scans of blocks, of their sums, and of those; then the sums before each block are added."""
    x, out, sums, scanned, tops, top_scan, last = a
    for source, target, totals in ((x, out, sums), (sums, scanned, tops), (tops, top_scan, last)):
        yield SizedLaunch(further.scan_and_sum, grid_for(source.size, 256), 256, (source, target, totals))
    for target, before in ((scanned, top_scan), (out, scanned)):
        yield SizedLaunch(further.add_of_blocks_before, grid_for(target.size, 256), 256, (target, before))


def arrays_of_scan(r: Random, n: int) -> Arguments:
    rooms = (zeros(size, dtype=I32) for size in (n, n // 256, n // 256, n // 65536, n // 65536, 1))
    return r.wholes(9, n), *rooms


def jump_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    following, rank, new_following, new_rank = a
    for _ in range(n.bit_length()):
        arrays = (following, rank, new_following, new_rank)
        yield SizedLaunch(unseen_irregular.jump_two, grid_for(n, 128), 128, arrays)
        following, rank, new_following, new_rank = new_following, new_rank, following, rank


def list_to_rank(r: Random, n: int) -> Arguments:
    order = r.order(n)
    following = np.empty(n, I32)
    following[order[:-1]] = order[1:]
    following[order[-1]] = order[-1]
    rank = np.ones(n, I32)
    rank[order[-1]] = 0
    return following, rank, zeros(n, dtype=I32), zeros(n, dtype=I32)


def ranked(following: Any, rank: Any, new_following: Any, new_rank: Any) -> None:
    for _ in range(rank.size.bit_length()):
        unseen_irregular._jump_two(following, rank, new_following, new_rank)
        following, rank, new_following, new_rank = new_following, new_rank, following, rank


def search_chain(n: int, a: Arguments) -> Iterator[SizedLaunch]:
    """Eight levels of a search from the far side: each vertex looks whether a neighbour was reached before."""
    starts, edges, level, following = a
    for now in range(8):
        arrays = (starts, edges, level, following, I64(now))
        yield SizedLaunch(unseen_irregular.bfs_pull, grid_for(n, 128), 128, arrays)
        level, following = following, level


def graph_to_search(r: Random, n: int) -> Arguments:
    level = np.full(n, -1, I32)
    level[r.indices(n, max(1, n // 1000))] = 0
    starts = np.arange(n + 1, dtype=I32) * I32(6)
    return starts, r.indices(n, 6 * n), level, zeros(n, dtype=I32)


def searched(starts: Any, edges: Any, level: Any, following: Any) -> None:
    for now in range(8):
        unseen_irregular._bfs_pull(starts, edges, level, following, now)
        level, following = following, level


def table_of(r: Random, n: int) -> Arguments:
    """Keys to look for, about half of which lie in the table, and the table, as `hash_insert` would leave it."""
    kept = r.order(2 * n)[:n]
    table = np.full(2 * n, further.EMPTY, I32)
    slots = (kept.astype(np.uint64) * further.SPREAD & 0xFFFFFFFF) % np.uint64(2 * n)
    waiting, slots = kept, slots.astype(I64)
    while len(waiting):
        free = table[slots] == further.EMPTY
        table[slots[free]] = waiting[free]  # where several meet the last one stays
        left = table[slots] != waiting
        waiting, slots = waiting[left], (slots[left] + 1) % (2 * n)
    return r.order(2 * n)[:n], table, zeros(n, dtype=I32)


def tiles(r: Random, n: int) -> Arguments:
    """Rows of tiles of 4 x 4, one to fifteen a row."""
    starts = np.concatenate([zeros(1, dtype=I32), np.cumsum(r.indices(15, n // 4) + 1, dtype=I32)])
    count = int(starts[-1])
    return starts, r.indices(n // 4, count), r.reals((count, 4, 4)), r.reals(n), zeros(n)


def rows_of_any_length(r: Random, n: int) -> Arguments:
    return r.wholes(100, (n, 512)), r.indices(513, n), zeros(1, dtype=I32), zeros(n, dtype=I32)


def close_ones(r: Random, n: int) -> Arguments:
    """Points, and of each 24 others that lie near in memory."""
    near = np.arange(n, dtype=I32)[:, None] + r.wholes(500, (n, 24), low=-500)
    return r.reals((n, 3)), near % I32(n), zeros(n, 3)


def grouped(groups: Callable[[int], int], values: Callable[[Random, int], np.ndarray], dtype: Any, first: Any) -> Make:
    """Values, the group of each, and a result for each group."""
    return lambda r, n: (values(r, n), r.indices(groups(n), n), np.full(groups(n), first, dtype))


FURTHER: tuple[Sized, ...] = (
    # of the whole grid at once
    entry(further.sum_of_the_grid, 128, striding(128), lambda r, n: (r.reals(n), zeros(1056), zeros(1)),
          further.sum_to_first, (5000, 1 << 22, 1 << 27), seen=lambda x, parts, out: (out,), sample=None),
    entry(further.heat_in_one_launch, 128, striding(128), lambda r, n: (u := r.reals(n), u.copy(), I64(5), F32(0.1)),
          further.heat_steps, (3000, 1 << 20, 1 << 24)),
    # chains of launches
    Sized("heat_chain", lambda r, n: (u := r.reals(n), u.copy(), F32(0.1)), heat_chain, 1000, 1 << 14, 1 << 21,
          heat_of_chain),
    Sized("sum_chain", arrays_of_sums, sum_chain, 1 << 16, 1 << 16, 1 << 24, sums_of_chain),
    Sized("sort_chain", lambda r, n: (r.wholes(10**6, n),), sort_chain, 512, 1 << 12, 1 << 18, lambda x: x.sort()),
    Sized("fft_chain", lambda r, n: (r.reals(n), r.reals(n)), fft_chain, 512, 1 << 14, 1 << 22, transformed),
    Sized("paths_chain", lambda r, n: (r.wholes(1000, (n, n)),), paths_chain, 20, 64, 200, shortest_paths),
    Sized("knapsack_chain", lambda r, n: (zeros(n, dtype=I32), zeros(n, dtype=I32)), knapsack_chain, 1000,
          1 << 14, 1 << 23, packed),
    Sized("scan_chain", arrays_of_scan, scan_chain, 1 << 16, 1 << 20, 1 << 24,
          lambda x, out, *rest: np.cumsum(x, out=out), lambda x, out, *rest: (x, out)),
    Sized("jump_chain", list_to_rank, jump_chain, 1000, 1 << 14, 1 << 20, ranked,
          sample=None),
    Sized("search_chain", graph_to_search, search_chain, 1000, 1 << 16, 1 << 20, searched,
          sample=None),
    # hashing and queues
    entry(further.hash_insert, 128, elements, lambda r, n: (r.indices(n, n), np.full(2 * n, further.EMPTY, I32)),
          further.kept_keys, (1000, 1 << 19, 1 << 23), seen=lambda keys, table: (np.sort(table),),
          sample=None),
    entry(further.hash_lookup, 128, elements, table_of, further.are_in_the_table, (1000, 1 << 19, 1 << 22)),
    entry(further.append_to_queue, 128, elements,
          lambda r, n: (r.wholes(100, n), zeros(n, dtype=I32), zeros(1, dtype=I32)), further.queued,
          (1000, 1 << 21, 1 << 25), seen=lambda x, queue, count: (np.sort(queue), count)),
    entry(further.rows_from_a_queue, 128, striding(128, 528), rows_of_any_length, further.row_sums,
          (700, 1 << 13, 1 << 17), seen=lambda a, lengths, taken, sums: (sums,), sample=None),
    # types, and other kinds of memory
    entry(further.half_fma, 128, elements, lambda r, n: (*(r.reals(n, np.float16) for _ in range(3)),
          zeros(n, dtype=np.float16)), further.halves_multiplied, (1000, 1 << 22, 1 << 26)),
    entry(further.reverse_blocks, 256, elements, lambda r, n: (r.reals(n), zeros(n)), further.reversed_blocks,
          (1024, 1 << 23, 1 << 26), shared_bytes=256 * 4),
    entry(further.histogram_of_many_bins, 256, striding(256, 528), lambda r, n: (r.wholes(MANY_BINS, n),
          zeros(MANY_BINS, dtype=I32)), further.counted_items, (5000, 1 << 22, 1 << 26), shared_bytes=MANY_BINS * 4),
    entry(further.look_up_constants, 128, elements, lambda r, n: (r.wholes(256, n, np.uint8), zeros(n)),
          further.looked_up, (1000, 1 << 21, 1 << 25)),
    entry(further.nearest_by_bits, 128, elements, lambda r, n: (r.wholes(1 << 63, n, np.uint64),
          r.wholes(1 << 63, 16, np.uint64), zeros(n, dtype=I32)), further.nearest_queries, (1000, 1 << 20, 1 << 24)),
    entry(further.multiply_bytes, 128, elements, lambda r, n: (r.wholes(128, (n, 64), np.int8, low=-128),
          r.wholes(128, 64, np.int8, low=-128), zeros(n, dtype=I32)), further.bytes_multiplied,
          (500, 1 << 18, 1 << 22)),
    entry(further.bit_tricks, 128, elements, lambda r, n: (r.wholes(1 << 32, n, np.uint32, low=1),
          zeros(n, dtype=np.uint32)), further.bits_turned, (1000, 1 << 22, 1 << 26)),
    entry(further.fast_waves, 128, elements, lambda r, n: (6 * r.reals(n), zeros(n)), further.waves,
          (1000, 1 << 22, 1 << 26)),
    entry(further.double_waves, 128, elements, lambda r, n: (6 * r.reals(n, F64), zeros(n, dtype=F64)), further.waves,
          (1000, 1 << 19, 1 << 23)),
    # atomics, locks and tickets
    entry(further.exchange_places, 128, elements, lambda r, n: (-r.order(n), r.indices(n, n), zeros(n, dtype=I32)),
          further.exchanged, (1000, 1 << 20, 1 << 24),
          seen=lambda places, index, before: (np.sort(np.concatenate([places, before])),)),
    entry(further.ring_tickets, 128, elements, lambda r, n: (zeros(1, dtype=np.uint32), zeros(n, dtype=np.uint32)),
          further.drawn_tickets, (1500, 1 << 16, 1 << 20), seen=lambda ticket, drawn: (ticket, np.sort(drawn))),
    entry(further.flip_and_clear, 128, elements, lambda r, n: (r.indices(2 * n, n), zeros(n // 16, dtype=I32),
          np.full(n // 16, -1, I32)), further.flipped_and_cleared, (1024, 1 << 20, 1 << 24)),
    entry(further.greatest_of_groups, 128, elements, grouped(lambda n: 1000, lambda r, n: r.reals(n), F32, -1),
          further.group_maxima, (2000, 1 << 18, 1 << 22)),
    entry(further.multiply_by_exchange, 128, elements,
          grouped(lambda n: n // 8, lambda r, n: r.wholes(100, n, low=1), I32, 1), further.group_products,
          (2000, 1 << 18, 1 << 22)),
    entry(further.add_doubles, 128, elements, grouped(lambda n: n // 8, lambda r, n: r.reals(n, F64), F64, 0),
          further.group_sums, (1000, 1 << 20, 1 << 24)),
    entry(further.add_with_rank, 128, elements, lambda r, n: (r.indices(SMALL_BINS, n), zeros(SMALL_BINS, dtype=I32),
          zeros(n, dtype=I32)), further.ranks_in_groups, (2000, 1 << 18, 1 << 22),
          seen=lambda group, counts, rank: (counts, np.sort(rank))),
    entry(further.block_greatest, 256, elements, lambda r, n: (r.wholes(10**6, n), zeros(n // 256, dtype=I32)),
          further.block_maxima, (2048, 1 << 22, 1 << 26)),
    entry(further.histogram_by_match, 128, elements, lambda r, n: (r.wholes(32, n), zeros(32, dtype=I32)),
          further.counted_items, (1024, 1 << 18, 1 << 22)),
    entry(further.sum_by_last_block, 128, elements, lambda r, n: (r.reals(n), zeros(n // 128), zeros(1, dtype=I32),
          zeros(1)), further.sum_of_last_block, (1024, 1 << 21, 1 << 25), seen=lambda x, parts, arrived, out: (out,),
          sample=None),
    entry(further.locked_totals, 32, blocks_of(32), lambda r, n: (r.indices(500, n), zeros(500, dtype=I32),
          zeros(500, dtype=I64)), further.totals_by_turns, (200, 1 << 12, 1 << 16), sample=None),
    # others
    entry(further.block_sparse, 128, elements, tiles, further.blocks_multiplied, (1000, 1 << 18, 1 << 21)),
    entry(further.sort_by_shuffles, 128, elements, lambda r, n: (r.wholes(10**6, n),), further.sorted_warps,
          (1024, 1 << 21, 1 << 25)),
    entry(further.align_pairs, 64, blocks_of(64), lambda r, n: (r.wholes(4, (n, 64), np.uint8),
          r.wholes(4, (n, 64), np.uint8), zeros(n, dtype=I32)), further.aligned, (6, 1 << 12, 1 << 15)),
    entry(further.strided_gather, 128, elements, lambda r, n: (r.reals(n), zeros(n), I64(33)), further.gathered,
          (1000, 1 << 20, 1 << 25)),
    entry(further.forces_of_neighbours, 128, elements, close_ones, further.summed_forces, (1000, 1 << 17, 1 << 21)),
    entry(further.count_steps, 128, elements, lambda r, n: (r.wholes(10**6, n, low=1), I64(100), zeros(n, dtype=I32)),
          further.steps_to_one, (500, 1 << 16, 1 << 20)),
)  # fmt: skip
