"""Counted work, held against an H200's hardware counters and against counts worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault
from autograder.kernels import matmul_columns, matmul_rows
from autograder.simgpu.host import cuda_module

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()
TILE = 16


@cuda.jit
def tiled(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for phase in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[row, phase * TILE + tx]
        tile_b[ty, tx] = b[phase * TILE + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row, column] = total


# Nsight Compute on an H200, N = 256, 16 x 16 blocks: load requests, load sectors, store requests, store sectors
MATMULS = {
    "naive_x_to_rows": (matmul_rows, (1_048_576, 8_912_896, 2_048, 32_768)),
    "naive_x_to_columns": (matmul_columns, (1_048_576, 2_097_152, 2_048, 8_192)),
    "tiled": (tiled, (65_536, 262_144, 2_048, 8_192)),
}


@pytest.mark.parametrize("name", MATMULS)
def test_matmul_requests_and_sectors_equal_what_an_h200_counted(name):
    kernel, measured = MATMULS[name]
    rng = np.random.default_rng(1)
    a, b = (rng.random((256, 256), dtype=np.float32) for _ in range(2))
    c = np.zeros((256, 256), np.float32)
    p = profile(kernel)[(16, 16), (16, 16)](a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-5)
    k = p.counters
    counted = k.global_load_requests, k.global_load_sectors, k.global_store_requests, k.global_store_sectors
    assert counted == measured
    assert not [h for h in p.hazards if h.severity == "error"]


def transpose_with_columns(columns):
    @cuda.jit
    def transpose(source, target):
        tile = cuda.shared.array((32, columns), np.float32)
        x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
        y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
        for j in range(0, 32, 8):
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = source[y + j, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * 32 + cuda.threadIdx.x
        y = cuda.blockIdx.x * 32 + cuda.threadIdx.y
        for j in range(0, 32, 8):
            target[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]

    return transpose


@pytest.mark.parametrize("columns, wavefronts, conflicts", [(33, 2_048, 0), (32, 65_536, 63_488)])
def test_transpose_wavefronts_equal_what_an_h200_counted(columns, wavefronts, conflicts):
    source = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    target = np.zeros_like(source)
    p = profile(transpose_with_columns(columns))[(8, 8), (32, 8)](source, target)
    assert (target == source.T).all()
    assert (p.counters.shared_load_wavefronts, p.counters.shared_load_bank_conflicts) == (wavefronts, conflicts)


@cuda.jit
def histogram(items, bins):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    for j in range(i, items.size, step):
        cuda.atomic.add(bins, items[j], 1)


def test_atomic_requests_and_sectors_follow_the_rule_seen_on_the_h200():
    items = np.random.default_rng(3).integers(0, 256, 65_536).astype(np.int32)
    bins = np.zeros(256, np.int32)
    p = profile(histogram)[64, 256](items, bins)
    assert (bins == np.bincount(items, minlength=256)).all()
    assert p.counters.global_atomic_requests == 2_048
    # by hand: over each sector of 8 bins that a warp touches, the most lanes on one bin
    expected = 0
    for step in range(4):
        for warp in items.reshape(4, 512, 32)[step]:
            counts = np.bincount(warp, minlength=256).reshape(32, 8)
            expected += int(counts.max(axis=1).sum())
    assert p.counters.global_atomic_sectors == expected


@cuda.jit
def copy_with_stride(source, target, stride, offset):
    i = cuda.grid(1)
    target[i] = source[i * stride + offset]


# (dtype, stride, offset): sectors of one warp's 32 loads, worked out by hand
STRIDES = {
    ("float32", 1, 0): 4, ("float32", 2, 0): 8, ("float32", 8, 0): 32, ("float32", 33, 0): 32, ("float32", 1, 1): 5,
    ("float32", 0, 7): 1, ("float64", 1, 0): 8, ("float64", 2, 0): 16, ("int8", 1, 0): 1, ("int8", 1, 31): 2,
    ("int16", 1, 0): 2, ("complex128", 1, 0): 32,
}  # fmt: skip


@pytest.mark.parametrize("dtype, stride, offset", STRIDES)
def test_sectors_of_strides_offsets_and_element_sizes(dtype, stride, offset):
    source = np.ones(32 * max(1, stride) + offset + 1, dtype)
    p = profile(copy_with_stride)[1, 32](source, np.zeros(32, dtype), np.int64(stride), np.int64(offset))
    assert p.counters.global_load_requests == (2 if source.dtype.kind == "c" else 1)  # real and imaginary one by one
    assert p.counters.global_load_sectors == STRIDES[dtype, stride, offset]
    assert p.counters.global_load_useful_bytes == source.itemsize * (32 if stride else 1)


@cuda.jit
def read_shared_with_stride(target, stride):
    data = cuda.shared.array(2048, np.float32)
    t = cuda.threadIdx.x
    for j in range(t, 2048, 32):
        data[j] = j
    cuda.syncthreads()
    target[t] = data[(t * stride) % 2048]


@pytest.mark.parametrize(
    "stride, wavefronts", [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)]
)
def test_bank_conflicts_by_stride(stride, wavefronts):
    p = profile(read_shared_with_stride)[1, 32](np.zeros(32, np.float32), np.int64(stride))
    line = next(each.counters for each in p.lines if "target[t]" in each.text)
    assert (line.shared_load_wavefronts, line.shared_load_bank_conflicts) == (wavefronts, wavefronts - 1)


@cuda.jit
def odd_lanes_work(out):
    i = cuda.grid(1)
    if i % 2 == 1:
        out[i] = i


@cuda.jit
def later_warps_work(out):
    i = cuda.grid(1)
    if i >= 64:
        out[i] = i


def test_divergence_is_counted_by_warp():
    k = profile(odd_lanes_work)[2, 128](np.zeros(256, np.int32)).counters
    assert (k.divergent_branches, k.warps_with_divergence, k.warps) == (8, 8, 8)
    k = profile(later_warps_work)[1, 128](np.zeros(128, np.int32)).counters
    assert (k.divergent_branches, k.warps_with_divergence) == (0, 0)


def test_lanes_that_have_left_a_loop_over_an_array_load_no_more_of_it():
    @cuda.jit
    def leaves_in_its_own_round(a, out):
        t = cuda.threadIdx.x
        n = 0
        for _ in a:  # the first warp is through after 32 rounds, the second goes on to the end
            if n == t:
                break
            n += 1
        out[t] = n

    p = profile(leaves_in_its_own_round)[1, 64](np.zeros(40), np.zeros(64))
    assert p.counters.global_load_requests == 32 + 40


def test_the_62_by_76_picture_under_16_by_16_blocks():
    @cuda.jit
    def picture(out):
        x, y = cuda.grid(2)
        if x < out.shape[1] and y < out.shape[0]:
            out[y, x] = 1

    # 76 wide: 5 blocks, the last covers 12 of its 16 columns; 62 high: 4 blocks, the last covers 14 of its 16 rows.
    # A warp is two rows of 16. Right-hand blocks diverge in every warp that has rows in the picture: 3 x 8 + 7 = 31.
    # Elsewhere the bottom blocks' last warp is wholly outside, so it does not diverge.
    k = profile(picture)[(5, 4), (16, 16)](np.zeros((62, 76), np.int32)).counters
    assert k.warps_with_divergence == 31


def test_a_sample_of_blocks_is_labelled_and_scaled():
    a = np.ones((256, 256), np.float32)
    whole = profile(matmul_columns)[(16, 16), (16, 16)](a, a, np.zeros_like(a)).counters
    part = profile(matmul_columns, sample_blocks=16)[(16, 16), (16, 16)](a, a, np.zeros_like(a))
    assert part.counters.is_sampled and part.counters.simulated_blocks == 16
    assert "sampled" in str(part)
    assert part.counters.global_load_sectors == whole.global_load_sectors


@cuda.jit
def counts_up_to(rounds, out):
    i = cuda.grid(1)
    n = 0
    while n < rounds[i]:
        n += 1
    out[i] = n


def instructions_of(rounds, grid, block):
    return profile(counts_up_to)[grid, block](rounds, np.zeros(len(rounds), np.int64)).compiled


def test_the_slowest_warp_is_the_one_whose_longest_lane_walks_longest():
    even = np.zeros(4 * 64, np.int64)
    uneven = even.copy()
    uneven[[5, 70, 75, 200]] = 7, 40, 30, 100  # in warps 0, 2, 2 and 6: in blocks 0, 1 and 3
    alone = instructions_of(even[:32], 1, 32).warp_instructions
    a_round = instructions_of(even[:32] + 1, 1, 32).warp_instructions - alone

    assert instructions_of(even, 4, 64).slowest_warp_instructions == alone
    found = instructions_of(uneven, 4, 64)
    assert found.slowest_warp_instructions == alone + 100 * a_round
    assert found.warp_instructions == 8 * alone + (7 + 40 + 100) * a_round


@cuda.jit
def looks_up_to(rounds, out):
    i = cuda.grid(1)
    n = 0
    for k in range(rounds[i]):
        n += rounds[k]
    out[i] = n


@cuda.jit
def looks_up_to_by_atomics(rounds, out):
    i = cuda.grid(1)
    n = 0
    for k in range(rounds[i]):
        n += cuda.atomic.add(rounds, k, 0)
    out[i] = n


@pytest.mark.parametrize("kernel", [looks_up_to, looks_up_to_by_atomics])
def test_the_loads_of_the_warp_that_makes_most_are_counted_whatever_others_do(kernel):
    rounds = np.zeros(4 * 64, np.int64)
    rounds[[5, 70, 75, 200]] = 7, 40, 30, 100
    found = profile(kernel)[4, 64](rounds, np.zeros(len(rounds), np.int64)).counters
    assert found.slowest_warp_loads == 1 + 100


@cuda.jit
def sums_of_products(items, out):
    i = cuda.grid(1)
    total = 0.5
    for k in range(items.size):
        total += items[k] * items[k]
    out[i] = total


def test_warps_that_are_alike_execute_what_the_average_warp_does():
    """A multiplication and the addition to it are one instruction, of one warp as of all."""
    found = profile(sums_of_products)[4, 64](np.ones(50), np.zeros(4 * 64)).compiled
    assert found.slowest_warp_instructions * found.warps == found.warp_instructions
    assert found.slowest_warp_loads * found.warps == found.global_load_requests


@cuda.jit
def adds_up_in_memory(items, out):
    i = cuda.grid(1)
    out[i] = 0
    for k in range(items.size):
        out[i] += items[k]


def test_the_compiler_takes_loads_off_one_warp_as_off_all():
    p = profile(adds_up_in_memory)[4, 64](np.ones(50), np.zeros(4 * 64))
    assert p.compiled.global_load_requests < p.counters.global_load_requests
    for found in (p.counters, p.compiled):
        assert found.slowest_warp_loads * found.warps == found.global_load_requests


@cuda.jit
def one_thread_looks(items, out):
    total = 0
    for k in range(items.size):
        total += items[k]
    out[0] = total


def test_the_loads_of_a_thread_alone_are_counted():
    found = profile(one_thread_looks)[1, 1](np.ones(500, np.int64), np.zeros(1, np.int64)).counters
    assert found.slowest_warp_loads == found.global_load_requests == 500


def test_the_hottest_sector_of_atomics():
    @cuda.jit
    def add_up(keys, bins):
        i = cuda.grid(1)
        cuda.atomic.add(bins, keys[i], 1)

    def hottest(keys):
        bins = np.zeros(64, np.int32)
        return profile(add_up)[len(keys) // 32, 32](np.array(keys), bins).counters.hottest_atomic_sectors

    assert hottest([5] * 64) == 64
    assert hottest([0, 1, 2, 3, 4, 5, 6, 7] * 8) == 2 * 4  # eight bins lie in one sector: 4 lanes meet at each
    assert hottest([8 * (i % 4) for i in range(64)]) == 2 * 8  # four sectors
    assert hottest([8] * 3 + [16] * 29 + [8] * 32) == 3 + 32


def test_stores_of_warps_to_one_element_are_those_of_a_flag():
    @cuda.jit
    def look(x, flag, out):
        i = cuda.grid(1)
        if x[i] > 0:
            flag[0] = 1
        out[i] = x[i]

    def hottest(x):
        counters = profile(look)[len(x) // 64, 64](np.array(x), np.zeros(1), np.zeros(len(x))).counters
        return counters.hottest_store_sectors

    assert hottest([1.0] * 256) == 8  # a store for each of eight warps
    assert hottest([1.0] * 32 + [-1.0] * 192 + [1.0] * 32) == 2
    assert hottest([-1.0] * 256) == 0


def test_atomics_that_add_floats_and_those_whose_old_value_is_used():
    @cuda.jit
    def add_up(x, total, count, places):
        i = cuda.grid(1)
        cuda.atomic.add(total, i % 4, x[i])
        places[i] = cuda.atomic.add(count, i % 4, 1)

    arguments = np.ones(64, np.float32), np.zeros(4, np.float32), np.zeros(4, np.int32), np.zeros(64, np.int32)
    found = profile(add_up)[1, 64](*arguments).counters
    assert found.float_atomic_sectors == found.used_atomic_sectors == found.global_atomic_sectors // 2 == 2 * 8


def test_a_maximum_of_floats_looks_and_only_what_is_larger_tries():
    """Numba's loop: of the lanes at one place that found less the first one swaps, and what is larger than that goes on."""

    @cuda.jit
    def greatest(x, place, most):
        i = cuda.grid(1)
        cuda.atomic.max(most, place[i], x[i])

    def counted(values, places=1, held=0.0):
        x = np.array(values, np.float32)
        most = np.full(8 * places, held, np.float32)
        found = profile(greatest)[x.size // 32, 32](x, np.arange(x.size, dtype=np.int32) % places * 8, most)
        assert found.counters.global_atomic_requests == x.size // 32, "in the source all lanes make one"
        return found.compiled, most

    ours, most = counted(np.zeros(32))
    assert (ours.global_atomic_requests, ours.global_atomic_sectors, ours.ordered_atomic_sectors) == (0, 0, 0)
    assert (ours.looked_atomic_sectors, ours.look_lines, ours.unique_atomic_sectors) == (32, 1, 1) and most[0] == 0
    falling, most = counted(32.0 - np.arange(32))
    assert (falling.global_atomic_requests, falling.ordered_atomic_sectors) == (1, 32) and most[0] == 32
    rising, most = counted(1.0 + np.arange(32))
    assert (rising.global_atomic_requests, rising.ordered_atomic_sectors) == (32, 32 * 33 // 2) and most[0] == 32
    assert rising.issued_warp_instructions - ours.issued_warp_instructions == 4 * 32 + 1  # as its machine code
    apart, most = counted(1.0 + np.arange(32), places=4)
    assert (apart.global_atomic_requests, apart.look_lines) == (8, 1) and set(most[::8]) == {29, 30, 31, 32}
    of_nan, at_nan = counted([np.nan] * 32)[0], counted(np.ones(32), held=np.nan)[0]
    assert of_nan.global_atomic_requests == at_nan.global_atomic_requests == 0


def test_the_sectors_that_each_block_stores_to():
    @cuda.jit
    def scatter(places, out):
        i = cuda.grid(1)
        out[places[i]] = i

    def stored(places):
        found = profile(scatter)[2, 32](np.array(places), np.zeros(512, np.int32)).counters
        return found.block_store_sectors, found.unique_store_sectors

    assert stored(range(64)) == (8, 8)  # each block its own four
    assert stored([8 * (i % 32) + i // 32 for i in range(64)]) == (64, 32)  # both blocks all of 32


def test_only_what_is_stored_at_once_goes_out_with_the_store_before():
    @cuda.jit
    def computed_before(x, out):
        i = cuda.grid(1)
        a = x[i] * 2
        b = x[i] * 3
        out[i, 0] = a
        out[i, 1] = b

    @cuda.jit
    def loaded_between(x, out):
        i = cuda.grid(1)
        out[i, 0] = x[i]
        out[i, 1] = x[i + 1]

    @cuda.jit
    def divided_between(x, out):
        i = cuda.grid(1)
        a = x[i]
        b = x[i + 1]
        out[i, 0] = a / b
        out[i, 1] = b / a

    @cuda.jit
    def in_rounds(x, out):
        i = cuda.grid(1)
        a = x[i]
        for k in range(4):
            out[i, k] = a

    @cuda.jit
    def fields_moved(x, out):
        i = cuda.grid(1)
        out[i, 0] += 1
        out[i, 1] += 2

    def again(kernel):
        found = profile(kernel)[1, 32](np.ones(64, np.float32), np.zeros((32, 8), np.float32)).counters
        return found.global_store_sectors_again / found.global_store_sectors

    assert again(computed_before) == again(fields_moved) == 0.5 and again(in_rounds) == 0.75
    assert again(loaded_between) == again(divided_between) == 0


def test_a_local_array_indexed_at_run_time_lies_in_memory_and_one_with_known_indices_in_registers():
    @cuda.jit
    def kept(a, out):
        mine = cuda.local.array(4, np.float32)
        i = cuda.grid(1)
        for k in range(4):
            mine[k] = a[i] * k
        out[i] = mine[0] + mine[3]

    @cuda.jit
    def looked_up(a, out):
        mine = cuda.local.array(64, np.float32)
        i = cuda.grid(1)
        mine[i // 32] = a[i]  # a row for all lanes of a warp
        mine[i % 8] = a[i]  # eight rows, with lanes 0, 8, 16 and 24 in one: in four sectors of it
        out[i] = mine[i // 32]

    a = np.ones(128, np.float32)
    found = profile(kept)[1, 128](a, np.zeros_like(a)).counters
    assert (found.local_load_sectors, found.local_store_sectors, found.local_bytes) == (0, 0, 0)
    found = profile(looked_up)[1, 128](a, np.zeros_like(a)).counters
    assert found.local_bytes == 128 * 64 * 4
    assert found.local_load_sectors == 4 * 4
    cleared = 4 * 64  # by Numba, a store for each word: an H200 showed it (8,671,872 in an answer to lab 4)
    assert found.local_store_requests == cleared + 4 * 2
    assert found.local_store_sectors == 4 * cleared + 4 * (4 + 32)
    assert found.local_wavefronts == cleared + 4 * (1 + 2 + 1)


def test_a_sum_in_global_memory_is_loaded_and_stored_once_for_each_loop_that_is_written_out():
    @cuda.jit
    def summed_in_c(a, c, rounds):
        tile = cuda.shared.array(32, np.float32)
        x = cuda.threadIdx.x
        for _ in range(rounds):
            tile[x] = a[x]
            cuda.syncthreads()
            for k in range(16):
                if x < c.shape[0]:
                    c[x] += tile[k]
            cuda.syncthreads()

    @cuda.jit
    def summed_beside_a_load(a, c, rounds):
        x = cuda.threadIdx.x
        for _ in range(rounds):
            for k in range(16):
                c[x] += a[k]  # may be the same memory, for all that the compiler knows

    a = np.arange(32, dtype=np.float32)
    c = np.zeros_like(a)
    found = profile(summed_in_c)[1, 32](a, c, 5).compiled
    assert (found.global_load_requests, found.global_store_requests) == (5 + 5, 5)
    assert (c == 5 * a[:16].sum()).all()
    found = profile(summed_beside_a_load)[1, 32](a, c, 5).compiled
    assert (found.global_load_requests, found.global_store_requests) == (1 + 5 * 16, 5 * 16)  # c is stored each time


def test_atomics_at_an_index_that_all_threads_have_in_common_are_one_a_warp():
    @cuda.jit
    def everybody_adds(own, bins):
        for b in range(bins.size):
            cuda.atomic.add(bins, b, own[b])

    @cuda.jit
    def adds_what_it_finds(keys, bins):
        cuda.atomic.add(bins, keys[cuda.grid(1)], 1)

    @cuda.jit
    def leaves_when_it_likes(keys, bins):
        b = 0
        while b < bins.size:
            if keys[cuda.threadIdx.x] == b:
                break
            b += 1
        cuda.atomic.add(bins, b, 1)

    @cuda.jit
    def names_it_on_the_way(keys, bins):
        if (b := keys[cuda.threadIdx.x]) < bins.size:
            cuda.atomic.add(bins, b, 1)

    def sectors(kernel, dtype):
        bins = np.zeros(4, dtype)
        found = profile(kernel)[1, 64](np.zeros(64, dtype), bins).compiled
        return found.global_atomic_sectors, found.global_atomic_worst_multiplicity

    assert sectors(everybody_adds, np.int32) == (2 * 4, 32)
    assert sectors(everybody_adds, np.float32) == (32 * 2 * 4, 32)  # floats are not added up in one instruction
    for kernel in (adds_what_it_finds, leaves_when_it_likes, names_it_on_the_way):
        assert sectors(kernel, np.int32) == (32 * 2, 32), kernel


@pytest.mark.parametrize(
    ("dtype", "places", "tries"),
    [
        (np.float32, np.zeros(64, int), 64),  # each of two warps: 32 lanes on one place
        (np.float32, np.arange(64) % 32, 2),
        (np.float32, np.arange(64) % 32 // 2, 4),
        (np.float64, np.arange(64) % 32 // 2, 4),
        (np.int64, np.arange(64) % 32 // 2, 4),
        (np.int32, np.zeros(64, int), 0),  # by itself: no loop
        (np.uint32, np.zeros(64, int), 0),
    ],
)
def test_atomics_in_shared_memory_that_are_loops_try_once_for_each_lane_on_a_place(dtype, places, tries):
    @cuda.jit
    def add_up(places, out):
        sums = cuda.shared.array(32, dtype)
        i = cuda.threadIdx.x
        if i < 32:
            sums[i] = 0
        cuda.syncthreads()
        cuda.atomic.add(sums, places[i], dtype(1))
        cuda.syncthreads()
        if i < 32:
            out[i] = sums[i]

    found = profile(add_up)[1, 64](places, np.zeros(32, dtype)).counters
    assert (found.shared_atomic_tries, found.shared_atomic_requests) == (tries, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_minimum_in_shared_memory_that_is_a_loop_tries_once_for_all_lanes(dtype):
    """Whoever finds a lower number there has no more to do; an addition always has."""

    @cuda.jit
    def least(values, out):
        low = cuda.shared.array(1, dtype)
        i = cuda.threadIdx.x
        if i == 0:
            low[0] = values[0]
        cuda.syncthreads()
        cuda.atomic.min(low, 0, values[i])
        cuda.syncthreads()
        if i == 0:
            out[0] = low[0]

    found = profile(least)[1, 64](np.arange(64).astype(dtype), np.zeros(1, dtype)).counters
    assert (found.shared_atomic_tries, found.shared_atomic_requests) == (2, 2)


@cuda.jit
def takes_a_lock(lock, total):
    finished = False
    while not finished:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            finished = True


@cuda.jit
def takes_a_lock_and_leaves(lock, total):
    while True:
        if cuda.atomic.exch(lock, 0, 1) == 0:
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            break


@cuda.jit
def keeps_the_largest(top, x):
    i = cuda.grid(1)
    seen = top[0]
    while x[i] > seen:
        seen = cuda.atomic.cas(top, 0, seen, x[i])


@cuda.jit
def looks_for_a_place(table, keys):
    i = cuda.grid(1)
    at = keys[i]
    while True:
        before = cuda.atomic.cas(table, at, 0, keys[i])
        if before == 0 or before == keys[i]:
            break
        at = (at + 1) % table.size


@cuda.jit
def takes_what_is_next(count, x):
    while True:
        i = cuda.atomic.add(count, 0, 1)
        if i >= x.size:
            break
        x[i] += 1


@cuda.jit
def claims_four_times(claimed, x):
    i = cuda.grid(1)
    k = 0
    while k < 4:
        if cuda.atomic.cas(claimed, i % 8, 0, 1) == 0:
            x[i] += 1
        k += 1


@pytest.mark.parametrize(
    ("kernel", "block", "waiting"),
    [
        (takes_a_lock, 1, 2),
        (takes_a_lock_and_leaves, 1, 2),
        (keeps_the_largest, 32, 2),
        (looks_for_a_place, 32, 0),  # the data say how far
        (takes_what_is_next, 32, 0),  # each round has work
        (claims_four_times, 32, 0),  # always four rounds
    ],
)
def test_warps_that_wait_for_other_threads_are_counted(kernel, block, waiting):
    found = profile(kernel)[2, block](np.zeros(256, np.int32), np.arange(64, dtype=np.int32))
    assert found.counters.waiting_warps == waiting
    assert (found.estimate("H200").interval_ns[1] == np.inf) == (waiting > 0)
    assert ("or more, for its threads wait for each other" in found.estimate("H200").headline) == (waiting > 0)
    assert (found.to_dict()["estimate"]["interval_ns"][1] is None) == (waiting > 0)


def test_local_arrays_lie_in_memory_where_which_of_them_is_meant_is_known_only_at_run_time():
    """Machine code of these (ptxas 13.0, compute capability 9.0): local memory in the first three, none in the last."""

    @cuda.jit
    def one_of_a_tuple(a, out, n):
        one, other = cuda.local.array(8, np.float32), cuda.local.array(8, np.float32)
        i = cuda.grid(1)
        for k in range(8):
            one[k] = other[k] = a[i]
        both = (one, other)
        out[i] = both[n % 2][3]

    @cuda.jit
    def chosen(a, out, n):
        one, other = cuda.local.array(8, np.float32), cuda.local.array(8, np.float32)
        i = cuda.grid(1)
        for k in range(8):
            one[k] = other[k] = a[i]
        now = one if n > 3 else other
        out[i] = now[3]

    @cuda.jit
    def swapped(a, out, n):
        now, then = cuda.local.array(8, np.float32), cuda.local.array(8, np.float32)
        i = cuda.grid(1)
        for k in range(8):
            now[k] = then[k] = a[i]
        for _ in range(n):
            now[3] = then[2] + a[i]
            now, then = then, now
        out[i] = now[3]

    @cuda.jit
    def swapped_four_times(a, out, n):
        now, then = cuda.local.array(8, np.float32), cuda.local.array(8, np.float32)
        i = cuda.grid(1)
        for k in range(8):
            now[k] = then[k] = a[i]
        for _ in range(4):
            now[3] = then[2] + a[i]
            now, then = then, now
        out[i] = now[3]

    a = np.ones(64, np.float32)
    for kernel in (one_of_a_tuple, chosen, swapped):
        assert profile(kernel)[1, 64](a, np.zeros_like(a), 8).counters.local_bytes == 64 * 2 * 8 * 4, kernel
    assert profile(swapped_four_times)[1, 64](a, np.zeros_like(a), 8).counters.local_bytes == 0


def test_an_array_chosen_thread_by_thread_is_what_the_simulated_gpu_cannot_do():
    @cuda.jit
    def chosen(a, b, out):
        i = cuda.grid(1)
        now = a if i % 2 else b
        out[i] = now[i]

    a = np.ones(64, np.float32)
    with pytest.raises(KernelFault, match="A GPU can do that; the simulated GPU cannot"):
        profile(chosen)[1, 64](a, 2 * a, np.zeros_like(a))
