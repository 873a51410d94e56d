"""Sizes for the unseen reductions, scans, sorts, histograms, compaction, votes and atomics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simgpu.measurements.sizing import (
    Arguments,
    Random,
    Sized,
    blocks_of,
    elements,
    halves,
    sized,
    striding,
    zeros,
)

F32, F64, I32 = np.float32, np.float64, np.int32


def sums(a_block: int, dtype: Any = F32) -> Callable[[Random, int], Arguments]:
    """A vector, and room for the sum of each block's elements."""
    return lambda r, n: (r.reals(n, dtype), zeros(n // a_block, dtype=dtype))


def numbers(high: int = 100, room: int | None = None, *scalars: Any) -> Callable[[Random, int], Arguments]:
    """Whole numbers, an empty vector of n (or `room`), and scalars."""
    return lambda r, n: (r.wholes(high, n), zeros(room or n, dtype=I32), *scalars)


def rows(columns: int) -> Callable[[Random, int], Arguments]:
    return lambda r, n: (r.reals((n, columns)), zeros(n, columns))


def groups(r: Random, n: int) -> Arguments:
    limits = np.full(50, 10**6, I32), np.full(50, -1, I32)
    return r.wholes(1000, n), r.indices(50, n), *limits


def segments(r: Random, n: int) -> Arguments:
    first = np.concatenate([zeros(1, dtype=I32), np.cumsum(r.indices(30, n), dtype=I32)])
    return r.wholes(100, int(first[-1])), first, zeros(n, dtype=np.int64)


COLLECTIVES: tuple[Sized, ...] = (
    sized("sum_first_add", halves, sums(256), 2048, 1 << 23, 1 << 27),
    sized("sum_written_out", halves, sums(256), 2048, 1 << 23, 1 << 27),
    sized("sum_by_atomics", elements, sums(256, F64), 2048, 1 << 18, 1 << 22),
    sized("sum_xor_shuffle", elements, sums(256), 2048, 1 << 23, 1 << 27),
    sized("sum_one_thread", lambda n, a: n // 4, sums(256), 2048, 1 << 22, 1 << 26),
    sized("dot_product", striding(128), lambda r, n: (r.reals(n), r.reals(n), zeros(1)), 2000, 1 << 22, 1 << 26),
    sized("index_of_greatest", elements, lambda r, n: (r.reals(n), zeros(n // 128), zeros(n // 128, dtype=I32)),
          1024, 1 << 21, 1 << 26),
    sized("range_of_values", elements, lambda r, n: (r.wholes(10**6, n), np.full(1, 10**7, I32), np.full(1, -1, I32)),
          2048, 1 << 22, 1 << 26),
    sized("softmax_rows", blocks_of(64), rows(64), 16, 1 << 14, 1 << 20),
    sized("softmax_by_thread", elements, rows(20), 100, 1 << 17, 1 << 21),
    sized("layer_norm", blocks_of(32), lambda r, n: (r.reals((n, 96)), r.reals(96), r.reals(96), zeros(n, 96)),
          16, 1 << 14, 1 << 19),
    sized("scan_two_buffers", elements, numbers(), 1024, 1 << 21, 1 << 25),
    sized("scan_in_place", elements, numbers(), 1024, 1 << 21, 1 << 25),
    sized("scan_warp_shuffle", elements, numbers(), 1024, 1 << 21, 1 << 26),
    sized("scan_tree_padded", halves, lambda r, n: (r.wholes(9, n).astype(F32), zeros(n)), 1024, 1 << 21, 1 << 25),
    sized("prefix_max", elements, lambda r, n: (r.reals(n), zeros(n)), 512, 1 << 21, 1 << 25),
    sized("rank_of_flags", elements, numbers(2), 1024, 1 << 22, 1 << 26),
    sized("keep_positive", elements,
          lambda r, n: (r.wholes(100, n), zeros(n, dtype=I32), zeros(n // 128, dtype=I32)), 1024, 1 << 20, 1 << 24),
    sized("bitonic_block", elements, lambda r, n: (r.reals(n),), 1024, 1 << 19, 1 << 24),
    sized("bitonic_global_step", elements, lambda r, n: (r.wholes(10**6, n), np.int64(1024), np.int64(256)),
          2048, 1 << 22, 1 << 26),
    sized("odd_even_block", halves, lambda r, n: (r.wholes(100, n),), 512, 1 << 19, 1 << 23),
    sized("digit_counts", elements, lambda r, n: (r.wholes(65536, n), np.int64(4), zeros(n // 128, 16, dtype=I32)),
          1024, 1 << 22, 1 << 26),
    sized("histogram_warp_copies", striding(128), numbers(64, 64), 8000, 1 << 22, 1 << 26),
    sized("histogram_warp_copies one value", striding(128), lambda r, n: (np.full(n, 7, I32), zeros(64, dtype=I32)),
          8000, 1 << 22, 1 << 26),
    sized("histogram_thread_rows", striding(32, 132 * 26), numbers(64, 64), 8000, 1 << 21, 1 << 25),
    sized("histogram_by_bin", elements, lambda r, n: (r.wholes(64, 1000 + n // 32), zeros(n, dtype=I32)),
          64, 1 << 14, 1 << 17),
    sized("histogram_2d", elements, lambda r, n: (r.reals(n), r.reals(n), zeros(16, 16, dtype=I32)),
          1000, 1 << 18, 1 << 22),
    sized("bounds_by_atomics", elements, groups, 1000, 1 << 17, 1 << 21),
    sized("set_bits", elements, lambda r, n: (r.indices(n // 16 * 32, n, np.int64), zeros(n // 16, dtype=np.int64)),
          512, 1 << 21, 1 << 25),
    sized("count_by_class", elements, numbers(100, 4), 1000, 1 << 19, 1 << 23),
    sized("run_starts", elements, numbers(3), 1000, 1 << 22, 1 << 26),
    sized("segment_sums", elements, segments, 200, 1 << 18, 1 << 22),
    sized("merge_by_rank", elements,
          lambda r, n: (r.ascending(n, 1, F32), r.ascending(n, 1, F32), zeros(2 * n)), 500, 1 << 19, 1 << 23),
    sized("any_and_all", elements, numbers(), 1024, 1 << 22, 1 << 26),
)  # fmt: skip
