"""Sizes for the unseen particles, Monte Carlo, fractals, transforms, local arrays and elementwise arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.simgpu.measurements.sizing import (
    Arguments,
    Make,
    Random,
    Shape,
    Sized,
    elements,
    halves,
    sized,
    square,
    striding,
    zeros,
)

F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64


def vectors(count: int, *scalars: Any, dtype: Any = F32) -> Make:
    """So many random vectors, then scalars."""
    return lambda r, n: (*(r.reals(n, dtype) for _ in range(count)), *scalars)


def vectors_and_room(count: int, *scalars: Any, dtype: Any = F32) -> Make:
    """So many random vectors, an empty one, then scalars."""
    return lambda r, n: (*(r.reals(n, dtype) for _ in range(count)), zeros(n, dtype=dtype), *scalars)


def rows(columns: int, *scalars: Any, room: int | None = None) -> Make:
    return lambda r, n: (r.reals((n, columns)), zeros(n, room or columns), *scalars)


def masses(r: Random, n: int) -> Arguments:
    return *(r.reals(n) for _ in range(4)), *(zeros(n) for _ in range(3))


def spheres(r: Random, n: int) -> Arguments:
    directions = r.reals((n, 3)) - F32(0.5)
    directions /= np.sqrt((directions * directions).sum(1, keepdims=True))
    centers = (4 * r.rng.normal(size=(10, 3))).astype(F32)
    return directions, centers, r.rng.uniform(0.5, 2, 10).astype(F32), zeros(n, dtype=I32)


def options(r: Random, n: int) -> Arguments:
    spot, strike, years = 5 + 25 * r.reals(n, F64), 5 + 25 * r.reals(n, F64), 0.2 + 4.8 * r.reals(n, F64)
    return spot, strike, years, F64(0.02), F64(0.3), zeros(n, dtype=F64)


def complexes(r: Random, n: int) -> Arguments:
    return np.complex64(2 - 1j), *(r.reals(2 * n).view(np.complex64) for _ in range(2))


def seeds(r: Random, shape: Shape, dtype: Any) -> np.ndarray:
    return r.wholes(2**31 - 1, shape, dtype, low=1)


NUMERICS: tuple[Sized, ...] = (
    sized("gravity", elements, masses, 128, 1536, 12_288, sample=64),
    sized("gravity_tiles", elements, masses, 128, 4096, 32_768, sample=32),
    sized("gravity_tile_rows", elements, lambda r, n: (r.reals((n, 4)), zeros(n, 3)), 128, 4096, 32_768,
          sample=64),
    sized("count_in_circle", elements, lambda r, n: (seeds(r, n, np.uint32), I64(30), zeros(n, dtype=I32)),
          500, 1 << 18, 1 << 22),
    sized("random_walks", elements, lambda r, n: (seeds(r, n, I64), I64(40), zeros(n, dtype=I64)),
          500, 1 << 19, 1 << 23),
    sized("julia", square, lambda r, n: (zeros(n, n, dtype=I32), F64(-0.8), F64(0.156), I64(60)), 60, 800, 4000),
    sized("julia_complex", square, lambda r, n: (zeros(n, n, dtype=I32), np.complex128(-0.4 + 0.6j), I64(60)),
          60, 500, 3000),
    sized("first_sphere", elements, spheres, 300, 1 << 18, 1 << 23),
    sized("option_price", elements, options, 500, 1 << 18, 1 << 22),
    sized("polynomial", elements, lambda r, n: (r.reals(9), r.reals(n), zeros(n)), 1000, 1 << 22, 1 << 26),
    sized("complex_axpy", elements, complexes, 1000, 1 << 21, 1 << 25),
    sized("fft_step", halves, vectors(2, I64(16)), 1024, 1 << 20, 1 << 25),
    sized("fft_64", halves, vectors(2), 512, 1 << 18, 1 << 22),
    sized("slow_transform", elements, lambda r, n: (r.reals(n, F64), zeros(n, dtype=F64), zeros(n, dtype=F64)),
          50, 100, 2000),
    sized("mix_64", elements, lambda r, n: (r.wholes(2**62, n, I64), zeros(n, dtype=I64)), 1000, 1 << 21, 1 << 25),
    sized("add_saturated", elements, lambda r, n: (*(r.wholes(128, n, np.int8, low=-128) for _ in range(2)),
          zeros(n, dtype=np.int8)), 1000, 1 << 23, 1 << 27),
    sized("half_axpy", elements, lambda r, n: (F32(2), r.reals(n, np.float16), r.reals(n)), 1000, 1 << 22, 1 << 26),
    sized("double_in_place", elements, vectors(1), 1000, 1 << 23, 1 << 27),
    sized("square_plus", striding(64, 2112), vectors_and_room(2), 1000, 1 << 22, 1 << 26),
    sized("adam_step", elements, vectors(4, F32(0.01)), 1000, 1 << 21, 1 << 25),
    sized("unit_vectors", elements, lambda r, n: (r.reals((n, 3)),), 500, 1 << 20, 1 << 25),
    sized("rotate_quaternion", elements, lambda r, n: (r.reals((n, 4)), r.reals((n, 3)), zeros(n, 3)),
          500, 1 << 20, 1 << 24),
    sized("cross_products", elements, lambda r, n: (r.reals((n, 3)), r.reals((n, 3)), zeros(n, 3)),
          500, 1 << 20, 1 << 24),
    sized("spring_chain", elements, vectors_and_room(2, F32(2), F32(0.1)), 1000, 1 << 22, 1 << 26),
    sized("lorenz", elements, vectors(3, I64(10), F64(0.01), dtype=F64), 200, 1 << 18, 1 << 22),
    sized("runge_kutta", elements, vectors(1, I64(10), F64(0.1), dtype=F64), 200, 1 << 19, 1 << 24),
    sized("median_of_5", elements, lambda r, n: (r.reals(n + 4), zeros(n)), 500, 1 << 21, 1 << 25),
    sized("insertion_sort_rows", elements, lambda r, n: (r.wholes(100, (n, 8)),), 200, 1 << 18, 1 << 22),
    sized("digit_frequencies", elements, lambda r, n: (r.wholes(10**9, n, I64), zeros(n, dtype=I64)),
          500, 1 << 18, 1 << 22),
    sized("multiply_polynomials", elements, lambda r, n: (r.reals((n, 4)), r.reals((n, 4)), zeros(n, 7)),
          200, 1 << 19, 1 << 23),
    sized("moving_average_ring", elements, rows(40), 100, 1 << 16, 1 << 20),
    sized("local_histogram_rows", elements, lambda r, n: (r.wholes(16, (n, 40)), zeros(n, 16, dtype=I32)),
          100, 1 << 16, 1 << 20),
    sized("window_in_registers", elements, rows(40), 100, 1 << 17, 1 << 21),
    sized("stack_walk", elements, lambda r, n: (r.wholes(8, n), zeros(n, dtype=I32)), 100, 1 << 17, 1 << 21),
    sized("local_weights", elements, lambda r, n: (r.reals(n + 3, F64), zeros(n, dtype=F64)), 512, 1 << 21, 1 << 25),
    sized("recursive_filter", elements, rows(30, F32(0.7)), 100, 1 << 16, 1 << 21),
    sized("trapezoids", elements, lambda r, n: (r.reals(n, F64), 1 + r.reals(n, F64), I64(20), zeros(n, dtype=F64)),
          100, 1 << 17, 1 << 21),
    sized("greatest_divisor", elements, lambda r, n: (r.wholes(10**6, n, I64), r.wholes(10**6, n, I64),
          zeros(n, dtype=I64)), 500, 1 << 18, 1 << 22),
    sized("newton_roots", elements, lambda r, n: (0.1 + 1000 * r.reals(n, F64), zeros(n, dtype=F64)),
          500, 1 << 18, 1 << 22),
    sized("activation", elements, lambda r, n: (6 * r.reals(n) - F32(3), r.wholes(4, n), zeros(n)),
          1000, 1 << 21, 1 << 26),
    sized("clamp_twice", elements, vectors(1, F32(0.2), F32(0.7)), 1000, 1 << 23, 1 << 27),
    sized("swap_halves", halves, vectors(1), 1000, 1 << 23, 1 << 27),
)  # fmt: skip
