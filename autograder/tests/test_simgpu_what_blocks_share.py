"""What blocks come back to: tables that L1 keeps, gathers from what all share, and atomics where a block has been before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.perfmodel import SPECIFICATIONS, estimate
from autograder.records.counters import Counters
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator.quotients_and_functions import function_of

BLOCKS, THREADS = 64, 256
N = BLOCKS * THREADS
SECTORS = N * 4 // 32
H200 = SPECIFICATIONS["H200"]
RNG = np.random.default_rng(4)


def counted(body: str, *arrays: np.ndarray) -> Counters:
    names = ", ".join("xyz"[: len(arrays)])
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    kernel = function_of(f"def kernel({names}):\n    i = cuda.grid(1)\n{lines}", {})
    return launch_once(kernel, BLOCKS, THREADS, *arrays).compiled


@pytest.mark.parametrize(
    ("body", "new"),
    [
        ("cuda.atomic.add(x, i, 1)", SECTORS),
        ("cuda.atomic.add(x, i, 1)\ncuda.atomic.add(x, i, 2)", SECTORS),
        ("if x[i] == 0:\n    cuda.atomic.add(x, i, 1)", 0),  # it has been loaded
        ("cuda.atomic.add(x, cuda.threadIdx.x, 1)", SECTORS),  # each block goes to the same ones
        ("cuda.atomic.add(x, 0, x[i])", BLOCKS - 1),  # the first block has loaded it
    ],
)
def test_atomics_are_new_to_a_block_that_neither_loaded_nor_added_there(body: str, new: int) -> None:
    got = counted(body, np.zeros(N, np.int32)).block_atomic_sectors
    assert abs(got - new) <= (BLOCKS if "x[i])" in body else 0)


def test_a_small_array_that_all_blocks_read_is_a_table() -> None:
    got = counted("y[i] = x[i % 64]", RNG.random(64).astype(np.float32), np.zeros(N, np.float32))
    assert (got.table_load_sectors, got.block_table_sectors) == (8, 8 * BLOCKS)
    alone = counted("y[i] = x[i]", RNG.random(N).astype(np.float32), np.zeros(N, np.float32))
    assert (alone.table_load_sectors, alone.block_table_sectors, alone.far_load_sectors) == (0, 0, 0)


def test_gathers_at_random_are_far_apart_and_those_of_neighbours_are_not() -> None:
    size = 1 << 15
    values, places = RNG.random(size).astype(np.float32), RNG.integers(0, size, (16, N)).astype(np.int32)
    body = "s = x[0]\nfor k in range(16):\n    s += x[y[k, i]]\nz[i] = s"
    results = np.zeros(N, np.float32)
    scattered = counted(body, values, places, results)
    assert scattered.common_load_sectors == size // 8
    page_by_page = size // 1024  # fewer than what a block loads there
    assert 0 < scattered.far_load_sectors <= BLOCKS * page_by_page
    near = ((np.arange(N) + np.arange(16)[:, None]) % size).astype(np.int32)
    assert counted(body, values, near, results).far_load_sectors == 0


def test_l1_keeps_a_table_for_all_blocks_of_a_multiprocessor() -> None:
    reads = Counters(
        launches=1, blocks=20_000, warps=160_000, threads=5_120_000, global_load_requests=10**7,
        global_load_sectors=3 * 10**7, global_load_lines=10**7, block_load_sectors=21 * 10**6,
        unique_load_sectors=10**6 + 1000,
    )  # fmt: skip
    table = replace(reads, table_load_sectors=1000, block_table_sectors=2 * 10**7)
    of_blocks, of_l1 = (estimate(each, H200, threads_per_block=256).breakdown["L2"] for each in (reads, table))
    assert of_l1 == pytest.approx(of_blocks * (10**6 + H200.multiprocessors * 1000) / (21 * 10**6), rel=1e-6)
    crowded = estimate(table, H200, threads_per_block=256, shared_bytes_per_block=28 * 1024).breakdown["L2"]
    assert of_l1 < crowded <= of_blocks, "shared memory leaves L1 no room"


def test_what_blocks_gather_comes_from_dram_where_they_share_more_than_l2_keeps() -> None:
    few = Counters(
        launches=1, blocks=20_000, warps=160_000, threads=5_120_000, global_load_requests=10**7,
        global_load_sectors=32 * 10**7, global_load_lines=32 * 10**7, block_load_sectors=32 * 10**7,
        unique_load_sectors=10**7, far_load_sectors=3 * 10**8,
    )  # fmt: skip
    small, large = (replace(few, common_load_sectors=sectors) for sectors in (10**5, 10**7))
    dram = [estimate(each, H200, threads_per_block=256).breakdown["DRAM"] for each in (small, large)]
    assert dram[1] > 5 * dram[0]


def test_atomics_find_in_l2_what_their_block_has_loaded() -> None:
    many = Counters(
        launches=1, blocks=20_000, warps=160_000, threads=5_120_000, global_atomic_requests=10**7,
        global_atomic_sectors=10**8, unique_atomic_sectors=10**7,
    )  # fmt: skip
    new, again = (replace(many, block_atomic_sectors=sectors) for sectors in (10**8, 10**7))
    dram = [estimate(each, H200, threads_per_block=256).breakdown["DRAM"] for each in (new, again)]
    assert dram[0] > 5 * dram[1]
