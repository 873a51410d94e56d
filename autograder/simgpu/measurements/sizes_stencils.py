"""Sizes for the unseen stencils, filters, images and cellular automata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simgpu.measurements.sizing import (
    Arguments,
    Random,
    Sized,
    blocks_of,
    cube,
    elements,
    sized,
    square,
    striding,
    zeros,
)

BYTE, F32, F64 = np.uint8, np.float32, np.float64


def lines(more: int = 0, *scalars: Any) -> Callable[[Random, int], Arguments]:
    """A vector with `more` elements beside n, an empty one of n, and scalars."""
    return lambda r, n: (r.reals(n + more), zeros(n), *scalars)


def planes(more: int = 0, room: int = 0, dtype: Any = F32) -> Callable[[Random, int], Arguments]:
    """A square with `more` rows and columns beside n, and an empty one with `room`."""
    return lambda r, n: (r.reals((n + more, n + more), dtype), zeros(n + room, n + room, dtype=dtype))


def volumes(more: int) -> Callable[[Random, int], Arguments]:
    return lambda r, n: (r.reals((n + more,) * 3), zeros(*(n + more,) * 3), F32(0.1))


STENCILS: tuple[Sized, ...] = (
    sized("heat_1d", elements, lines(0, F32(0.1)), 1000, 1 << 22, 1 << 26),
    sized("heat_1d_halo", elements, lines(0, F32(0.1)), 1000, 1 << 22, 1 << 26),
    sized("blur_radius_3", elements, lines(6), 1024, 1 << 22, 1 << 26),
    sized("smooth_binomial", elements, lines(6), 1000, 1 << 22, 1 << 26),
    sized("laplace_tile", square, planes(2, 2), 64, 3072, 10240),
    sized("jacobi_step", square, lambda r, n: (r.reals((n, n)), r.reals((n, n)), zeros(n, n)), 66, 2048, 8192),
    sized("red_black_half", square, lambda r, n: (r.reals((n, n)), np.int64(1), F32(1.5)), 66, 4096, 12000),
    sized("mean_3x3", square, planes(), 66, 3000, 10000),
    sized("sobel", square, planes(), 66, 3000, 10000),
    sized("sobel_tile", square, planes(2, 2), 64, 3072, 10240),
    sized("box_rows", blocks_of(64), lambda r, n: (r.reals((n, 72)), zeros(n, 64)), 48, 1 << 16, 1 << 20),
    sized("box_columns", square, lambda r, n: (r.reals((n + 8, n)), zeros(n, n)), 64, 3072, 10240),
    sized("median_of_3", elements, lines(), 1000, 1 << 22, 1 << 26),
    sized("life_wrapped", square, lambda r, n: (r.wholes(2, (n, n), BYTE), zeros(n, n, dtype=BYTE)), 60, 1000, 5000),
    sized("life_tile", square, lambda r, n: (r.wholes(2, (n + 2, n + 2), BYTE), zeros(n + 2, n + 2, dtype=BYTE)),
          64, 2048, 8192),
    sized("heat_3d", cube, volumes(0), 18, 160, 450),
    sized("heat_3d_tile", cube, volumes(2), 16, 160, 448),
    sized("heat_3d_columns", square, lambda r, n: (r.reals((32, n, n)), zeros(32, n, n), F32(0.1)), 18, 512, 1536),
    sized("wave_step", square, lambda r, n: (r.reals((n, n)), r.reals((n, n)), F32(0.2)), 66, 3000, 10000),
    sized("gray_from_rgb", square, lambda r, n: (r.wholes(256, (n, n, 3), BYTE), zeros(n, n, dtype=BYTE)),
          60, 3000, 12000),
    sized("threshold", square, lambda r, n: (r.wholes(256, (n, n), BYTE), zeros(n, n, dtype=BYTE), np.int64(99)),
          60, 4000, 16000),
    sized("resize_bilinear", square, lambda r, n: (r.reals((2 * n // 3, 2 * n // 3)), zeros(n, n)), 60, 1500, 8000),
    sized("rule_110", elements, lambda r, n: (r.wholes(2, n), np.int64(20)), 1024, 1 << 19, 1 << 24),
    sized("sharpen_double", square, planes(2, 0, F64), 48, 1536, 6144),
    sized("erode_tile", square, lambda r, n: (r.wholes(100, (n + 2, n + 2)), zeros(n, n, dtype=np.int32)),
          64, 2048, 8192),
    sized("blend", elements, lambda r, n: (*(r.wholes(256, n, BYTE) for _ in range(3)), zeros(n, dtype=BYTE)),
          1000, 1 << 22, 1 << 26),
    sized("tone_table", striding(256), lambda r, n: (r.wholes(256, n, BYTE), r.wholes(256, 256, BYTE),
          zeros(n, dtype=BYTE)), 3000, 1 << 23, 1 << 28),
    sized("convolve_5x5", square, planes(4), 48, 2048, 8192),
    sized("gradient_while", striding(64, 2112), lines(2), 1000, 1 << 22, 1 << 26),
    sized("diffuse_in_block", elements, lambda r, n: (r.reals(n, F64), np.int64(10)), 512, 1 << 21, 1 << 25),
    sized("downsample_2x2", square, lambda r, n: (r.reals((2 * n, 2 * n)), zeros(n, n)), 30, 2000, 6000),
    sized("flip_rows", lambda n, a: (n // 2, n), lambda r, n: (r.reals((n, n)),), 60, 4000, 12000),
)  # fmt: skip
