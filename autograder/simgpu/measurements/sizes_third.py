"""Sizes for a third set of kernels: the ordinary ones that are counted on the emulator, with work enough for a GPU.

They were timed after the model stood, and made its intervals until there were other sets; since then rules and figures are
made from them. Results are held against the simulated GPU's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.cases import Case
from autograder.simgpu.measurements.machine_code_emulator.ordinary_numerics import NUMERICS
from autograder.simgpu.measurements.machine_code_emulator.ordinary_structures import ACCOUNT, STRUCTURES
from autograder.simgpu.measurements.sizing import (
    Arguments,
    Make,
    Over,
    Random,
    Sized,
    elements,
    everything,
    grid_for,
    one_launch,
    square,
    striding,
    zeros,
)

F32, I32, I64, U8, U32 = np.float32, np.int32, np.int64, np.uint8, np.uint32
KERNELS: Mapping[str, Case] = {case.name: case for case in (*NUMERICS, *STRUCTURES)}
MIB = 1 << 20


def entry(name: str, over: Over, make: Make, middle: int, large: int, small: int = 1000, seen: Any = None) -> Sized:
    """A kernel of those; `over` tells how many threads a size takes along each axis."""
    case = KERNELS[name]

    def simulated(*arguments: Any) -> None:
        grid = grid_for(over(small, arguments), case.block)
        launch_once(case.kernel, grid, case.block, *arguments)

    launches = one_launch(case.kernel, over, case.block)
    return Sized(name, make, launches, small, middle, large, simulated, seen or everything)


def floats(count: int, *scalars: Any, room: Any = F32) -> Make:
    """So many vectors of reals, an empty one, then scalars."""
    return lambda r, n: (*(r.reals(n) for _ in range(count)), zeros(n, dtype=room), *scalars)


def pictures(*scalars: Any, room: Any = F32) -> Make:
    return lambda r, n: (r.reals((n, n)), zeros(n, n, dtype=room), *scalars)


def rows(columns: int, high: int, dtype: Any, *, room: Any = I32, wide: bool = False) -> Make:
    """A table of whole numbers and a result for each row, or for each of its elements."""
    return lambda r, n: (r.wholes(high, (n, columns), dtype), zeros(*((n, columns) if wide else (n,)), dtype=room))


def text(r: Random, n: int) -> Arguments:
    return r.wholes(128, n, U8), zeros(n, dtype=U8)


def equations(r: Random, n: int) -> Arguments:
    return (*(3 * r.reals(n) + F32(0.1) for _ in range(3)), *(zeros(n, dtype=each) for each in (F32, F32, I32)))


def balls(r: Random, n: int) -> Arguments:
    return r.reals(n), r.reals(n), zeros(n, dtype=I32), F32(0.05), 100


def spins(r: Random, n: int) -> Arguments:
    cold = np.array([1000, 0, 0, 0, 300, 0, 0, 0, 50], U32)
    return r.wholes(2, (n, n)) * 2 - 1, r.wholes(2**31, (n, n), U32, low=1), 0, cold


def tridiagonal(r: Random, n: int) -> Arguments:
    low, middle, high, right = (r.reals((n, 16)) for _ in range(4))
    return low, middle + F32(3), high, right, zeros(n, 16)


def matrices(r: Random, n: int) -> Arguments:
    return (r.wholes(3, (n, 2, 2)) - 1).astype(F32), zeros(n, 2, 2), zeros(n, dtype=I32)


def two_of_doubles(r: Random, n: int) -> Arguments:
    return r.reals((n, n), np.float64), r.reals((n, n), np.float64), zeros(n, n, dtype=np.float64)


def sorted_values(r: Random, n: int) -> Arguments:
    return np.sort(r.wholes(10**6, n, I64)), r.indices(10**6, n, I64), zeros(n, dtype=I32)


def values_and_keys(r: Random, n: int) -> Arguments:
    return r.wholes(2 * n, 512), r.wholes(1024, n), zeros(n, dtype=I32)


def table(r: Random, n: int) -> Arguments:
    """Half full; half of the keys are in it. Slots that are taken stand in a row."""
    size = 1 << n.bit_length()
    keys = r.order(10 * n, I64)[: size // 2]
    slots = np.full(size, -1, I64)
    wanted, left = keys * 2654435761 % size, keys
    while left.size:
        first = np.unique(wanted, return_index=True)[1]
        free = first[slots[wanted[first]] == -1]
        slots[wanted[free]] = left[free]
        others = np.ones(left.size, bool)
        others[free] = False
        wanted, left = (wanted[others] + 1) % size, left[others]
    there, absent = r.indices(keys.size, n // 2), r.indices(10 * n, n - n // 2, I64) + 10 * n
    return slots, np.concatenate([keys[there], absent]), zeros(n, dtype=I64)


def words(r: Random, n: int) -> Arguments:
    found = r.wholes(2, (n, 12), U8)
    found[::3] = np.minimum(found[::3], found[::3, ::-1])
    return found, np.full(n, 12, I32), zeros(n, dtype=I32)


def numbers(r: Random, n: int) -> Arguments:
    found, signs, digits = r.wholes(10, (n, 8), U8) + U8(48), r.reals(n) < 0.5, r.wholes(7, n, low=1)
    found[signs, 0] = 45
    found[np.arange(8) > digits[:, None]] = 0
    return found, zeros(n, dtype=I64)


def signals(r: Random, n: int) -> Arguments:
    return r.reals((n, 40)) - F32(0.3), zeros(n, dtype=I32)


def blocks_of_128(r: Random, n: int) -> Arguments:
    return r.reals(n), zeros(-(-n // 128))


def split(r: Random, n: int) -> Arguments:
    return r.wholes(256, n), 3, zeros(-(-n // 128) * 128, dtype=I32), zeros(-(-n // 128), dtype=I32)


def compacted(r: Random, n: int) -> Arguments:
    return r.wholes(100, n), zeros(-(-n // 128) * 128, dtype=I32), zeros(-(-n // 128) * 4, dtype=I32)


def edges(r: Random, n: int) -> Arguments:
    return r.indices(n // 2, n), r.indices(n // 2, n), np.arange(n // 2, dtype=I32), zeros(1, dtype=I32)


def parents(r: Random, n: int) -> Arguments:
    return (r.reals(n, np.float64) * (np.arange(n) + 1)).astype(I32), zeros(n, dtype=I32)


def graph(r: Random, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts, and the neighbours of each node in ascending order: 0 to 11 of them."""
    degrees = r.wholes(12, n)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(I32)
    owner = np.repeat(np.arange(n, dtype=I64), degrees)
    return starts, (np.sort(owner * n + r.indices(n, owner.size, I64)) % n).astype(I32)


def colored(r: Random, n: int) -> Arguments:
    starts, neighbours = graph(r, n)
    return starts[:-1].copy(), starts[1:].copy(), neighbours, r.wholes(10, n) - I32(1), zeros(n, dtype=I32)


def pairs_of_nodes(r: Random, n: int) -> Arguments:
    return *graph(r, n), r.indices(n, (n, 2)), zeros(n, dtype=I32)


def diagonals(r: Random, n: int) -> Arguments:
    return r.reals((5, n)), np.array([-20, -1, 0, 1, 20], I32), r.reals(n), zeros(n)


def accounts(r: Random, n: int) -> Arguments:
    found = np.zeros(n, ACCOUNT)
    found["kind"], found["balance"], found["limit"] = r.wholes(3, n), r.reals(n), r.reals(n)
    return found, F32(1.02), F32(0.01)


def grids(r: Random, n: int) -> Arguments:
    kinds = np.array([0] * 14 + [1] * 5 + [2], I32)
    return kinds[r.wholes(20, (n, n))], zeros(n, n, dtype=I32), 6


def flags(r: Random, n: int) -> Arguments:
    return r.wholes(2, 8 * n, U8), zeros(n, dtype=U8)


THIRD: tuple[Sized, ...] = (
    entry("clamp_to_range", elements, lambda r, n: (r.reals(n), F32(0.2), F32(0.7), zeros(n)), 8 * MIB, 128 * MIB),
    entry("leaky_relu", elements, lambda r, n: (r.reals(n) - F32(0.5), F32(0.1), zeros(n)), 6 * MIB, 96 * MIB),
    entry("huber_loss", elements, lambda r, n: (r.reals(n), r.reals(n), F32(0.3), zeros(n)), 5_000_000, 80_000_000),
    entry("quadratic_roots", elements, equations, 3_000_000, 48_000_000),
    entry("steps_of_euclid", elements,
          lambda r, n: (r.wholes(10**6, n, low=1), r.wholes(10**6, n, low=1), *(zeros(n, dtype=I32) for _ in "ab")),
          1_000_000, 16_000_000),
    entry("power_by_squares", elements,
          lambda r, n: (r.wholes(1000, n, I64, low=1), r.wholes(500, n, I64, low=1), zeros(n, dtype=I64), 10007),
          400_000, 8_000_000),
    entry("integer_roots", elements, lambda r, n: (r.wholes(2**28, n), zeros(n, dtype=I32)), 4_000_000, 64_000_000),
    entry("is_prime", elements, lambda r, n: (r.wholes(30_000, n), zeros(n, dtype=I32)), 400_000, 8_000_000),
    entry("burning_ship", square, lambda r, n: (zeros(n, n, dtype=I32), 60), 600, 3000, 100),
    entry("bisect_cube_roots", elements, lambda r, n: (9 * r.reals(n), zeros(n), 30), 3_000_000, 48_000_000),
    entry("simpson", elements,
          lambda r, n: (r.reals(n, np.float64), r.reals(n, np.float64) + 1, zeros(n, dtype=np.float64), 10),
          200_000, 4_000_000),
    entry("bounce_balls", elements, balls, 2_000_000, 30_000_000),
    entry("predator_and_prey", elements,
          lambda r, n: (r.reals(n), r.reals(n), *map(F32, (1, 0.5, 0.4, 1, 0.01)), 60), 2_000_000, 30_000_000),
    entry("dice_until_six", elements, lambda r, n: (r.wholes(2**32, n, U32), zeros(n, dtype=I32)), 4_000_000, 64_000_000),
    entry("ising_half", square, spins, 1500, 8000, 100, lambda *arguments: arguments[1:2]),  # neighbours move meanwhile
    entry("forest_fire", square, lambda r, n: (r.wholes(3, (n, n)), zeros(n, n, dtype=I32)), 2000, 10_000, 100),
    entry("dilate_3x3", square, pictures(), 2000, 10_000, 100),
    entry("blur_clamped", square, pictures(), 1200, 6000, 100),
    entry("prewitt_edges", square, lambda r, n: (r.reals((n, n)), zeros(n, n, dtype=U8), F32(1)), 2000, 10_000, 100),
    entry("hue_of_rgb", elements, lambda r, n: (r.reals((n, 3)), zeros(n)), 3_000_000, 40_000_000),
    entry("dither_ordered", square,
          lambda r, n: (r.reals((n, n)), r.reals((4, 4)), zeros(n, n, dtype=U8)), 2500, 12_000, 100),
    entry("rotate_picture", square, pictures(F32(0.8), F32(0.6)), 2000, 8000, 100),
    entry("mean_tile_halo", square, pictures(), 2000, 10_000, 100),
    entry("advect_upwind", elements,
          lambda r, n: (r.reals(n), r.reals(n) - F32(0.5), zeros(n), F32(0.1)), 4_000_000, 64_000_000),
    entry("tridiagonal_rows", elements, tridiagonal, 200_000, 2_000_000),
    entry("inverse_2x2", elements, matrices, 2_000_000, 24_000_000),
    entry("upper_triangle", square, pictures(), 3000, 14_000, 100),
    entry("banded_product", elements, lambda r, n: (r.reals((n, n)), r.reals(n), zeros(n), I64(40)), 4000, 16_000),
    entry("multiply_tile_of_doubles", square, two_of_doubles, 512, 1536, 64),
    entry("black_body", elements,
          lambda r, n: (r.reals(n, np.float64) + 1, r.reals(12, np.float64) + 1, zeros(n, dtype=np.float64)),
          100_000, 2_000_000),
    entry("haversine", elements,
          lambda r, n: (r.reals(n, np.float64), r.reals(n, np.float64), 0.3, 0.4, zeros(n, dtype=np.float64)),
          1_000_000, 16_000_000),
    entry("upper_bound", elements, sorted_values, 500_000, 8_000_000),
    entry("linear_search", elements, values_and_keys, 200_000, 3_000_000),
    entry("probe_table", elements, table, 500_000, 8_000_000),
    entry("count_words", elements,
          lambda r, n: (np.where(r.reals(n) < 0.2, 32, 97).astype(U8), zeros(1, dtype=I32)), 300_000, 5_000_000),
    entry("to_upper", elements, text, 10_000_000, 200_000_000),
    entry("caesar", elements, lambda r, n: (r.wholes(128, n, U8), 3, zeros(n, dtype=U8)), 10_000_000, 150_000_000),
    entry("palindromes", elements, words, 2_000_000, 24_000_000),
    entry("parse_numbers", elements, numbers, 2_000_000, 24_000_000),
    entry("hamming", elements,
          lambda r, n: (r.wholes(4, (n, 10), U8), r.wholes(4, (n, 10), U8), zeros(n, dtype=I32)), 1_000_000, 12_000_000),
    entry("crc_of_rows", elements,
          lambda r, n: (r.wholes(256, (n, 8), U8), r.wholes(2**32, 256, I64), zeros(n, dtype=I64)), 1_000_000, 16_000_000),
    entry("run_lengths", elements, lambda r, n: (r.wholes(2, n), zeros(n, dtype=I32)), 4_000_000, 64_000_000),
    entry("longest_in_row", elements, signals, 300_000, 4_000_000),
    entry("bubble_rows", elements, lambda r, n: (r.reals((n, 6)),), 1_000_000, 16_000_000),
    entry("rank_sort", elements, lambda r, n: (r.wholes(n // 2, n), zeros(n, dtype=I32)), 6000, 50_000),
    entry("sort_three", elements, lambda r, n: (r.reals((n, 3)), zeros(n, 3)), 2_000_000, 24_000_000),
    entry("max_by_tree", elements, blocks_of_128, 5_000_000, 80_000_000),
    entry("sum_strided_tree", elements, blocks_of_128, 3_000_000, 48_000_000),
    entry("sum_two_stages", elements, lambda r, n: (r.reals(n), zeros(1)), 8_000_000, 100_000_000),
    entry("scan_blelloch", lambda n, arguments: n // 2,
          lambda r, n: (r.wholes(100, n), zeros(n, dtype=I32)), 2 * MIB, 32 * MIB, 1024),
    entry("split_by_bit", elements, split, 2_000_000, 32_000_000),
    entry("histogram_shared_bins", striding(128),
          lambda r, n: (r.wholes(1000, n), zeros(64, dtype=I32)), 8_000_000, 100_000_000),
    entry("count_greater", elements,
          lambda r, n: (r.reals(n), F32(0.4), zeros(-(-n // 128), dtype=I32)), 6_000_000, 90_000_000),
    entry("ballot_compact", elements, compacted, 4_000_000, 64_000_000),
    entry("neighbours_by_shuffle", elements, floats(1), 8_000_000, 100_000_000),
    entry("components_hook", elements, edges, 400_000, 8_000_000, seen=lambda *arguments: arguments[:2]),  # who is first?
    entry("find_roots", elements, parents, 1_000_000, 16_000_000),
    entry("greedy_color", elements, colored, 400_000, 6_000_000),
    entry("common_neighbours", elements, pairs_of_nodes, 400_000, 6_000_000),
    entry("matrix_dia", elements, diagonals, 2_000_000, 30_000_000),
    entry("add_interest", elements, accounts, 3_000_000, 48_000_000),
    entry("bin_by_edges", elements,
          lambda r, n: (r.reals(n), np.linspace(0, 1, 9, dtype=F32) ** 2, zeros(8, dtype=I32)), 400_000, 6_000_000),
    entry("longest_common", elements,
          lambda r, n: (r.wholes(4, (n, 12), U8), r.wholes(4, 16, U8), zeros(n, dtype=I32)), 300_000, 4_000_000),
    entry("flood_tile", square, grids, 1024, 6144, 128),
    entry("utf8_starts", elements, lambda r, n: (r.wholes(256, n, U8), zeros(n, dtype=I32)), 8_000_000, 120_000_000),
    entry("delta_decode_rows", elements, rows(10, 9, I32, wide=True), 800_000, 10_000_000),
    entry("pack_bits", elements, flags, 1_000_000, 16_000_000),
)  # fmt: skip
