"""The launches that were measured: each is a kernel, its grid and block, and how to make its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import complex64, complex128, float32, float64, int8, int16, int32

from autograder import kernels
from autograder.simgpu.measurements import cooperation_kernels as together
from autograder.simgpu.measurements import divergence_kernels as warps
from autograder.simgpu.measurements import lesson_kernels as lesson
from autograder.simgpu.measurements import probe_kernels as probe
from autograder.simgpu.measurements.arguments import (
    index_and_totals,
    items_and_bins,
    list_to_jump,
    list_to_walk,
    matrices,
    moved,
    particles,
    picture_and_room,
    ranks_to_finish,
    transposed_matrices,
    updates,
    vector_and_room,
)

SEED = 2026


@dataclass(frozen=True)
class Case:
    """One launch; `arguments` takes a seeded generator, so that it makes the same ones each time, on every machine."""

    name: str
    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]

    def make_arguments(self) -> tuple[Any, ...]:
        return self.arguments(np.random.default_rng(SEED))


def _lesson_cases() -> list[Case]:
    cases = []
    for kernel in (kernels.matmul_columns, kernels.matmul_rows):
        name = kernel.__name__
        cases += [
            Case(f"{name} 16x16", kernel, (4, 4), (16, 16), matrices(64, 64, 64)),
            Case(f"{name} 32x32", kernel, (2, 2), (32, 32), matrices(64, 64, 64)),
            Case(f"{name} 16x16 ragged", kernel, (5, 5), (16, 16), matrices(70, 50, 67)),
        ]
    square, items = matrices(64, 64, 64), 65_536
    return cases + [
        Case("matmul_columns 16x16 of 256", kernels.matmul_columns, (16, 16), (16, 16), matrices(256, 256, 256)),
        Case("matmul_columns 16x16, 37 deep", kernels.matmul_columns, (4, 4), (16, 16), matrices(64, 37, 64)),
        Case("matmul_float64_total 16x16", kernels.matmul_float64_total, (4, 4), (16, 16), square),
        Case("matmul_total_in_global 16x16", lesson.matmul_total_in_global, (4, 4), (16, 16), square),
        Case("matmul_tiles_16", lesson.matmul_tiles_16, (4, 4), (16, 16), square),
        Case("matmul_tiles_32", lesson.matmul_tiles_32, (2, 2), (32, 32), square),
        Case("matmul_tiles_16_guarded", lesson.matmul_tiles_16_guarded, (4, 4), (16, 16), square),
        Case("matmul_tiles_16_guarded ragged", lesson.matmul_tiles_16_guarded, (5, 5), (16, 16), matrices(70, 50, 67)),
        Case("matmul_register_tile", lesson.matmul_register_tile, (4, 1), 64, transposed_matrices(64, 64, 64)),
        Case("copy_rows 32x8", lesson.copy_rows, (4, 16), (32, 8), picture_and_room(128, 128)),
        Case("transpose_naive 32x8", kernels.transpose_naive, (4, 16), (32, 8), picture_and_room(128, 128)),
        Case("transpose_naive 16x16", kernels.transpose_naive, (8, 8), (16, 16), picture_and_room(128, 128)),
        Case("transpose_naive ragged", kernels.transpose_naive, (4, 13), (32, 8), picture_and_room(100, 117, True)),
        Case("transpose_32_columns", lesson.transpose_32_columns, (4, 4), (32, 8), picture_and_room(128, 128)),
        Case("transpose_33_columns", lesson.transpose_33_columns, (4, 4), (32, 8), picture_and_room(128, 128)),
        Case("stencil_1d", lesson.stencil_1d, 8, 128, vector_and_room(1000)),
        Case("stencil_1d_shared", lesson.stencil_1d_shared, 8, 128, vector_and_room(1000)),
        Case("stencil_2d 16x16", lesson.stencil_2d, (5, 4), (16, 16), picture_and_room(62, 76)),
        Case("stencil_2d 32x8", lesson.stencil_2d, (3, 8), (32, 8), picture_and_room(62, 76)),
        Case("histogram_global uniform", lesson.histogram_global, 64, 256, items_and_bins(items)),
        Case("histogram_global one value", lesson.histogram_global, 64, 256, items_and_bins(items, True)),
        Case("histogram_private uniform", lesson.histogram_private, 64, 256, items_and_bins(items)),
        Case("histogram_private one value", lesson.histogram_private, 64, 256, items_and_bins(items, True)),
        Case("reduce_divergent", kernels.reduce_divergent, 8, 256, vector_and_room(2048, room=8)),
        Case("reduce_strided", kernels.reduce_strided, 8, 256, vector_and_room(2048, room=8)),
        Case("reduce_convergent", kernels.reduce_convergent, 8, 256, vector_and_room(2048, room=8)),
        Case("reduce_shuffle", together.reduce_shuffle, 8, 256, vector_and_room(2048, room=8)),
        Case("scan_doubling", together.scan_doubling, 8, 256, vector_and_room(2048, np.int32)),
        Case("scan_exclusive_tree", together.scan_exclusive_tree, 4, 256, vector_and_room(2048, np.int32)),
        Case("pointer_jump", kernels.pointer_jump, 16, 256, list_to_jump(4096)),
        Case("walk_sublists", together.walk_sublists, 4, 64, list_to_walk(4096, 256)),
        Case("finish_ranks", together.finish_ranks, 16, 256, ranks_to_finish(4096, 64)),
    ]


def _access_cases() -> list[Case]:
    n, cases = 1024, []
    for dtype in (np.int8, np.int16, np.int32, np.float32, np.float64, np.complex64, np.complex128):
        cases.append(Case(f"copy {np.dtype(dtype)}", probe.copy, 8, 128, vector_and_room(n, dtype)))
    for stride in (2, 3, 4, 8, 16, 32, 33):
        strided = vector_and_room(n * stride, np.float32, n, np.int64(stride))
        cases.append(Case(f"load_strided {stride}", probe.load_strided, 8, 128, strided))
    for stride in (2, 8, 33):
        strided = vector_and_room(n, np.float32, n * stride, np.int64(stride))
        cases.append(Case(f"store_strided {stride}", probe.store_strided, 8, 128, strided))
    for offset in (1, 7, 8, 31):
        shifted = vector_and_room(n + 32, np.float32, n, np.int64(offset))
        cases.append(Case(f"load_offset {offset}", probe.load_offset, 8, 128, shifted))
    for offset in (1, 8):
        shifted = vector_and_room(n, np.float32, n + 32, np.int64(offset))
        cases.append(Case(f"store_offset {offset}", probe.store_offset, 8, 128, shifted))
    cases.append(
        Case("load_strided 2 of float64", probe.load_strided, 8, 128,
             vector_and_room(2 * n, np.float64, n, np.int64(2))),
    )  # fmt: skip
    for block in ((8, 4), (32, 4), (4, 8), (16, 16), (64, 2)):
        grid = (64 // block[0], 64 // block[1])
        for kernel, shape in ((kernels.copy_2d, grid), (probe.copy_2d_swapped, (64 // block[0], 64 // block[1]))):
            name = f"{kernel.__name__} {block[0]}x{block[1]}"
            cases.append(Case(name, kernel, shape, block, picture_and_room(64, 64)))
    rows = lambda rng: (rng.random((n, 4), np.float32), np.zeros(n, np.float32))  # noqa: E731
    columns = lambda rng: (rng.random((4, n), np.float32), np.zeros(n, np.float32))  # noqa: E731
    return cases + [
        Case("copy_guarded ragged", kernels.copy, 8, 128, vector_and_room(1000)),
        Case("copy_grid_stride", probe.copy_grid_stride, 4, 128, vector_and_room(4000)),
        Case("axpy", probe.axpy, 8, 128, lambda rng: (np.float32(2), *vector_and_room(n)(rng))),
        Case("kinetic_energy_structures packed", probe.kinetic_energy_structures, 8, 128, particles(probe.PACKED)),
        Case("kinetic_energy_structures aligned", probe.kinetic_energy_structures, 8, 128, particles(probe.ALIGNED)),
        Case("one_field_of_structures packed", probe.one_field_of_structures, 8, 128, particles(probe.PACKED)),
        Case("one_field_of_structures aligned", probe.one_field_of_structures, 8, 128, particles(probe.ALIGNED)),
        Case("set_field_of_structures packed", probe.set_field_of_structures, 8, 128, particles(probe.PACKED, True)),
        Case("set_field_of_structures aligned", probe.set_field_of_structures, 8, 128, particles(probe.ALIGNED, True)),
        Case("one_column_of_rows", probe.one_column_of_rows, 8, 128, rows),
        Case("one_row_of_columns", probe.one_row_of_columns, 8, 128, columns),
        Case("gather random", probe.gather, 16, 256, moved(4096)),
        Case("gather from 64", probe.gather, 16, 256, moved(4096, 64)),
        Case("gather one value", probe.gather, 16, 256, moved(4096, 1)),
        Case("gather int64 indices", probe.gather, 16, 256, moved(4096, dtype=np.int64)),
        Case("scatter random", probe.scatter, 16, 256, moved(4096)),
    ]


def _shared_cases() -> list[Case]:
    cases, threads = [], 64
    for dtype, name, strides in (
        (float32, "float32", (0, 1, 2, 3, 4, 8, 16, 32, 33)),
        (float64, "float64", (0, 1, 2, 3, 4, 16, 32, 33)),
        (int8, "int8", (1, 4, 32, 128)),
        (int16, "int16", (1, 2, 3, 64)),
        (int32, "int32", (2, 5)),
        (complex64, "complex64", (0, 1, 2, 16)),
        (complex128, "complex128", (0, 1, 2, 3, 4, 8)),
    ):
        size = 32 * 65 if np.dtype(name).itemsize > 2 else 64 * 128
        for stride in strides:
            read = probe.read_banks(dtype, size)
            room = lambda rng, s=stride, d=name: (np.zeros(4 * threads, d), np.int64(s))  # noqa: E731
            cases.append(Case(f"read_shared_strided {stride} of {name}", read, 4, threads, room))
    for dtype, name in ((float32, "float32"), (float64, "float64")):
        picked = lambda rng, d=name: (rng.integers(0, 2048, 4096).astype(np.int32), np.zeros(4096, d))  # noqa: E731
        read = probe.read_anywhere(dtype, 2048)
        cases.append(Case(f"read_shared_gather of {name}", read, 16, 256, picked))
    for rows, columns in ((16, 16), (16, 17), (32, 32), (32, 33)):
        squares = lambda rng, n=rows: (rng.random((4, n, n), np.float32), np.zeros((4, n, n), np.float32))  # noqa: E731
        kernel = probe.transpose_block(rows, columns)
        cases.append(Case(f"transpose_tile {rows}x{columns}", kernel, 4, (rows, rows), squares))
    for dtype in (float32, float64, int32):
        kernel, vectors = probe.sum_neighbours(dtype), vector_and_room(1024, np.dtype(dtype.name))
        cases.append(Case(f"sum_shared_neighbours of {dtype}", kernel, 8, 128, vectors))
    lane = np.arange(64)
    for name, index in (("by pairs", lane // 2 * 16), ("by alternate pairs", (lane & ~2) * 16), ("by fours", lane // 4),
                        ("by half warps", lane % 16), ("in eight", lane % 8 * 5), ("reversed", 63 - lane)):  # fmt: skip
        picks = lambda rng, i=index: (np.tile(i, 4).astype(np.int32), np.zeros(256, np.float64))  # noqa: E731
        cases.append(Case(f"read_shared_gather of float64 {name}", probe.read_anywhere(float64, 2048), 4, 64, picks))
    cases.append(Case("reverse_complex", probe.reverse_complex, 8, 128, vector_and_room(1024, np.complex64)))
    for kernel, stored in ((probe.write_shared_strided, np.float32), (probe.write_shared_strided_64, np.float64)):
        for stride in (1, 2, 32, 33):
            room = lambda rng, s=stride, d=stored: (np.zeros(128, d), np.int64(s))  # noqa: E731
            cases.append(Case(f"{kernel.__name__} {stride}", kernel, 4, 32, room))
    return cases


def _warp_cases() -> list[Case]:
    def values(rng: np.random.Generator) -> tuple[Any, ...]:
        return (rng.random(1024, np.float32),)

    def values_and_rounds(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.random(1024, np.float32), np.int64(64)

    def into_shared(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.random(4096, np.float32), rng.integers(0, 64, 4096).astype(np.int32), np.zeros((16, 64), np.float32)

    def table_to_search(rng: np.random.Generator) -> tuple[Any, ...]:
        return np.sort(rng.random(1000, np.float32)), rng.random(1000, np.float32), np.zeros(1000, np.int32)

    def sparse_matrix(rng: np.random.Generator) -> tuple[Any, ...]:
        lengths = rng.integers(0, 40, 1000)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        columns = rng.integers(0, 1000, starts[-1]).astype(np.int32)
        values = rng.random(starts[-1], np.float32)
        return starts, columns, values, rng.random(1000, np.float32), np.zeros(1000, np.float32)

    def local_values(rng: np.random.Generator) -> tuple[Any, ...]:
        order = rng.integers(0, 64, 1024).astype(np.int32)
        return rng.random((64, 1024), np.float32), order, np.zeros(1024, np.float32)

    whole = lambda rng: (rng.integers(-9, 9, 1024).astype(np.int32), np.zeros(1024, np.int32))  # noqa: E731

    def starts(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.integers(1, 10_000, 1024), np.zeros(1024, np.int64)

    return [
        Case("odd_lanes_work", warps.odd_lanes_work, 8, 128, values_and_rounds),
        Case("odd_and_even_lanes_work", warps.odd_and_even_lanes_work, 8, 128, values_and_rounds),
        Case("odd_warps_work", warps.odd_warps_work, 8, 128, values_and_rounds),
        Case("rounds_by_lane", warps.rounds_by_lane, 8, 128, values),
        Case("collatz", warps.collatz, 8, 128, starts),
        Case("mandelbrot", warps.mandelbrot, (6, 12), (16, 8), lambda rng: (np.zeros((90, 90), np.int32), np.int64(100))),
        Case("early_return", warps.early_return, 8, 128, values_and_rounds),
        Case("nested_branches", warps.nested_branches, 8, 128, vector_and_room(1024)),
        Case("binary_search", warps.binary_search, 8, 128, table_to_search),
        Case("smallest_factor", warps.smallest_factor, 8, 128, lambda rng: (starts(rng)[0], np.zeros(1024, np.int64))),
        Case("sparse_rows", warps.sparse_rows, 8, 128, sparse_matrix),
        Case("bits_set", warps.bits_set, 8, 128, starts),
        Case("local_array_by_index", warps.local_array_by_index, 8, 128, local_values),
        Case("picture 62x76", warps.picture, (5, 4), (16, 16), lambda rng: (np.zeros((62, 76), np.int32),)),
        Case("shuffles", warps.shuffles, 8, 128, values),
        Case("votes", warps.votes, 8, 128, whole),
        Case("atomic_add_unused to 1024", probe.atomic_add_unused, 16, 256, index_and_totals(1024)),
        Case("atomic_add_unused to 8", probe.atomic_add_unused, 16, 256, index_and_totals(8)),
        Case("atomic_add_unused to 1", probe.atomic_add_unused, 16, 256, index_and_totals(1)),
        Case("atomic_add_used to 1024", probe.atomic_add_used, 16, 256, index_and_totals(1024, True)),
        Case("atomic_add_used to 8", probe.atomic_add_used, 16, 256, index_and_totals(8, True)),
        Case("atomic_add_used to 1", probe.atomic_add_used, 16, 256, index_and_totals(1, True)),
        Case("atomic_add_float float32", probe.atomic_add_float, 16, 256, updates(256, np.float32)),
        Case("atomic_add_float float64", probe.atomic_add_float, 16, 256, updates(256, np.float64)),
        Case("atomic_max_int", probe.atomic_max_int, 16, 256, updates(256, np.int32)),
        Case("atomic_add_shared_float", probe.atomic_add_shared_float, 16, 256, into_shared),
        Case("atomic_exchange", probe.atomic_exchange, 16, 256, index_and_totals(1024, True)),
        Case("block_counter", probe.block_counter, 8, 128,
             lambda rng: (np.zeros(1024, np.int32), np.zeros(1, np.int32))),
    ]  # fmt: skip


CASES: tuple[Case, ...] = (*_lesson_cases(), *_access_cases(), *_shared_cases(), *_warp_cases())
