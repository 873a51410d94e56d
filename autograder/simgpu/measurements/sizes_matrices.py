"""Sizes for the unseen dense matrices, transposes, factorizations and small batched algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.simgpu.measurements.sizing import (
    Arguments,
    Random,
    Sized,
    blocks_of,
    elements,
    repeated,
    sized,
    square,
    zeros,
)

F32, F64, I32 = np.float32, np.float64, np.int32
COLUMNS = 256  # of matrices that are multiplied by a vector


def products(r: Random, n: int, dtype: Any = F32) -> Arguments:
    return r.reals((n, n), dtype), r.reals((n, n), dtype), zeros(n, n, dtype=dtype)


def rows_and_vector(r: Random, n: int) -> Arguments:
    return r.reals((n, COLUMNS)), r.reals(COLUMNS), zeros(n)


def one_square(r: Random, n: int) -> Arguments:
    return (r.reals((n, n)),)


def whole_squares(r: Random, n: int) -> Arguments:
    return r.wholes(100, (n, n)), r.wholes(100, (n, n)), zeros(n, n, dtype=I32)


def dominant(r: Random, n: int) -> Arguments:
    a = r.reals((n, n))
    a[np.arange(n), np.arange(n)] += n
    return a, np.int64(7)


def positive_definite(r: Random, n: int) -> Arguments:
    half = r.reals((256, 16, 16))
    return (repeated(half @ half.transpose(0, 2, 1) + 8 * np.eye(16, dtype=F32), (n, 16, 16)),)


def lower_and_right(r: Random, n: int) -> Arguments:
    return r.reals((8, 8)) + 4 * np.eye(8, dtype=F32), r.reals((8, n))


def tiles_of_16(n: int, arguments: Arguments) -> tuple[int, int]:
    """A block of 16 x 16 for each of n, side by side."""
    return 16 * n, 16


def batches(side: int) -> Any:
    return lambda r, n: (r.reals((n, side, side)), r.reals((n, side, side)), zeros(n, side, side))


MATRICES: tuple[Sized, ...] = (
    sized("multiply_tiles_8", square, products, 64, 512, 1536),
    sized("multiply_tiles_padded", square, products, 64, 512, 2048),
    sized("multiply_tiles_turned", square, products, 64, 384, 1536),
    sized("multiply_tiles_double", square, lambda r, n: products(r, n, F64), 64, 512, 1920),
    sized("multiply_tiles_whole", square, whole_squares, 64, 512, 2048),
    sized("multiply_tiles_flat", square, products, 64, 512, 1600),
    sized("multiply_four_rows", lambda n, a: (n, n // 4), products, 64, 768, 2048),
    sized("multiply_two_by_two", lambda n, a: (n // 2, n // 2), products, 64, 768, 2304),
    sized("multiply_double_buffered", square, products, 64, 512, 1792),
    sized("multiply_guarded_zero", square,
          lambda r, n: (r.reals((n, n - 10)), r.reals((n - 10, n - 5)), zeros(n, n - 5)), 60, 500, 1900),
    sized("multiply_by_blockdim", square, products, 64, 512, 1536),
    sized("multiply_a_shared", square, lambda r, n: (r.reals((n, 64)), r.reals((64, n)), zeros(n, n)), 64, 1024, 8192),
    sized("syrk", square, lambda r, n: (r.reals((n, 2 * n // 3)), zeros(n, n)), 60, 384, 1100),
    sized("matrix_vector_rows", elements, rows_and_vector, 256, 1 << 15, 1 << 19),
    sized("matrix_vector_in_place", elements, rows_and_vector, 256, 1 << 14, 1 << 18),
    sized("matrix_vector_warp", blocks_of(32), rows_and_vector, 256, 1 << 15, 1 << 19),
    sized("matrix_vector_shared", elements, rows_and_vector, 256, 1 << 15, 1 << 19),
    sized("transposed_vector", elements, lambda r, n: (r.reals((COLUMNS, n)), r.reals(COLUMNS), zeros(n)),
          120, 50_000, 500_000),
    sized("outer_product", square, lambda r, n: (r.reals(n), r.reals(n), zeros(n, n)), 50, 3000, 12000),
    sized("transpose_tile_16", square, lambda r, n: (r.wholes(100, (n, n)), zeros(n, n, dtype=I32)), 64, 2048, 8192),
    sized("transpose_swizzled", lambda n, a: (n, n // 4), lambda r, n: (r.reals((n, n)), zeros(n, n)), 64, 3072, 10240),
    sized("transpose_padded_double", square, lambda r, n: (r.reals((n, n), F64), zeros(n, n, dtype=F64)),
          50, 2000, 7000),
    sized("transpose_in_place", square, one_square, 60, 3000, 12000),
    sized("scale_and_add", square, lambda r, n: (r.reals((n, n)), r.reals((n, n)), F32(3), zeros(n, n)),
          60, 2000, 8000),
    sized("eliminate_below", square, dominant, 50, 2000, 10000),
    sized("cholesky_block", blocks_of(16), positive_definite, 8, 1 << 13, 1 << 17),
    sized("solve_lower", elements, lower_and_right, 500, 1 << 20, 1 << 24),
    sized("solve_lower_in_global", elements, lower_and_right, 500, 1 << 19, 1 << 22),
    sized("multiply_batch_3x3", elements, batches(3), 500, 1 << 19, 1 << 22),
    sized("multiply_batch_local", elements, batches(4), 512, 1 << 18, 1 << 22),
    sized("determinant_3x3", elements, lambda r, n: (r.reals((n, 3, 3)), zeros(n)), 500, 1 << 20, 1 << 24),
    sized("floyd_warshall_step", square, lambda r, n: (r.wholes(100, (n, n)), np.int64(5)), 60, 2000, 10000),
    sized("floyd_warshall_tile", tiles_of_16, lambda r, n: (r.wholes(100, (n, 16, 16)),), 8, 1 << 12, 1 << 17),
    sized("row_norms", elements, lambda r, n: (r.reals((n, 64)), zeros(n)), 200, 1 << 17, 1 << 21),
    sized("symmetrize", square, one_square, 60, 3000, 12000),
    sized("covariance", square, lambda r, n: (r.reals((n // 2 + 20, n)), r.reals(n), zeros(n, n)), 30, 256, 1024),
)  # fmt: skip
