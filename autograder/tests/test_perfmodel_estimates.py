"""Specifications, occupancy and what an estimate consists of."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from autograder import perfmodel
from autograder.perfmodel import SPECIFICATIONS, Estimate, Specification, estimate, occupancy, roofline
from autograder.perfmodel.gpus import MEASURED_ON_H200
from autograder.records.counters import Counters

MEASURED = json.loads((Path(perfmodel.__file__).parent / "measurements" / "microbenchmarks.json").read_text())
H200 = SPECIFICATIONS["H200"]


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_every_figure_of_a_gpu_has_a_source(name: str) -> None:
    specification = SPECIFICATIONS[name]
    for each in fields(specification):
        if each.name not in ("name", "sources"):
            assert len(specification.sources[each.name]) > 10, each.name
            assert getattr(specification, each.name) is not None


def test_a_figure_without_a_source_is_refused() -> None:
    sources = {name: text for name, text in H200.sources.items() if name != "clock_ghz"}
    with pytest.raises(ValueError, match="clock_ghz"):
        replace(H200, sources=sources)


@pytest.mark.parametrize(
    ("name", "tflop_per_s", "gb_per_s", "ridge"),
    [
        ("H200", 66.9, 4800, 13.9),
        ("A100", 19.5, 1555, 12.5),  # the seeds' 12.5 operations a byte
        ("T4", 8.1, 320, 25.4),
        ("RTX 4090", 82.6, 1008, 81.9),
        ("Quadro RTX 6000", 16.3, 672, 24.3),
        ("K40", 4.29, 288, 14.9),
        ("GTX 280", 0.622, 141.7, 4.4),  # 933 counts a third operation a cycle that few programs use
    ],
)
def test_data_sheet_peaks_come_out(name: str, tflop_per_s: float, gb_per_s: float, ridge: float) -> None:
    ceilings = roofline(SPECIFICATIONS[name])
    assert ceilings.peak_gflop_per_s == pytest.approx(1000 * tflop_per_s, rel=0.01)
    assert ceilings.bandwidth_gb_per_s == gb_per_s
    assert ceilings.ridge_flop_per_byte == pytest.approx(ridge, rel=0.01)


def mean_of(*rates: float) -> float:
    return len(rates) / sum(1 / rate for rate in rates)


@pytest.mark.parametrize(
    ("figure", "measured"),
    [
        ("clock_ghz", MEASURED["clock_ghz"]),
        ("multiprocessors", MEASURED["multiprocessors"]),
        ("l2_bytes", MEASURED["l2_bytes"]),
        ("dram_achievable_gb_per_s", MEASURED["memory"]["DRAM copy, four elements a thread, GB/s"]),
        ("dram_scattered_gsectors_per_s", MEASURED["memory"]["gather from 1 GiB, G sectors/s"]),
        ("l2_load_gb_per_s", MEASURED["memory"]["L2, whole lines of 16 MiB, GB/s"]),
        ("l2_store_gb_per_s", 32 * MEASURED["memory"]["scatter to 16 MiB, G sectors/s"]),
        ("l1_latency_cycles", MEASURED["latency in cycles"]["L1 load"]),
        ("l2_latency_cycles", MEASURED["latency in cycles"]["L2 load"]),
        ("dram_latency_cycles", MEASURED["latency in cycles"]["DRAM load"]),
        ("shared_latency_cycles", MEASURED["latency in cycles"]["shared load"]),
        ("barrier_cycles", MEASURED["cycles per request"]["barrier, 1 blocks of 256"]),
        ("gpu_atomic_sectors_per_cycle", MEASURED["atomics"]["global, 1048576 places, lanes/ns"] / 1.98),
        ("gpu_atomic_least_sectors_per_cycle", MEASURED["atomics"]["global, 1 places, lanes/ns"] / 1.98),
        (
            "shared_atomic_lanes_per_cycle",
            MEASURED["atomics"]["shared, each adding one, 256 places, 1 lanes together, lanes/cycle"],
        ),
        ("launch_overhead_ns", MEASURED["launch in ns"]["between events"]),
        (
            "gpu_blocks_per_cycle",
            132 / MEASURED["launch in ns"]["one more block of 256 on each multiprocessor"] / 1.98,
        ),
        (
            "special_lanes_per_cycle",
            mean_of(
                *(
                    MEASURED["operations per multiprocessor and cycle"][f"float32 {name}"]
                    for name in ("square root", "division", "exponential")
                )
            ),
        ),
        (
            "conversion_lanes_per_cycle",
            MEASURED["operations per multiprocessor and cycle"]["conversion float32 to int32 and back"],
        ),
        ("integer_lanes_per_cycle", MEASURED["operations per multiprocessor and cycle"]["int64 xor and add"]),
    ],
)
def test_the_h200_s_figures_are_the_measured_ones(figure: str, measured: float) -> None:
    assert getattr(H200, figure) == pytest.approx(measured, rel=0.02)


def test_every_figure_that_claims_a_measurement_is_held_against_it() -> None:
    (table,) = vars(test_the_h200_s_figures_are_the_measured_ones)["pytestmark"]
    held = {argument for argument, _ in table.args[1]}
    claimed = {name for name, source in H200.sources.items() if "microbenchmarks.json" in source}
    per_pass = {"load_store_requests_per_cycle", "l1_wavefronts_per_cycle"}  # tested below, by pattern
    assert claimed - held - per_pass == {"gpu_atomic_sectors_per_cycle_and_sector"}  # a slope between several figures
    assert set(MEASURED_ON_H200) <= claimed


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [
        ("groups of 1 lanes 1 words apart", 1),
        ("groups of 1 lanes 2 words apart", 2),
        ("groups of 1 lanes 16 words apart", 16),
        ("groups of 1 lanes 32 words apart", 32),  # one bank
        ("groups of 1 lanes 33 words apart", 8),  # a bank each, but 32 lines, of which four are looked up at once
        ("groups of 16 lanes 1024 words apart", 2),
        ("groups of 8 lanes 40 words apart", 1),
    ],
)
def test_l1_takes_a_cycle_a_pass(pattern: str, passes: int) -> None:
    assert MEASURED["cycles per request"][f"L1 load, {pattern}"] == pytest.approx(passes, rel=0.05)


@pytest.mark.parametrize(
    ("gpu", "threads", "shared", "registers", "blocks", "limit"),
    [
        ("H200", 256, 0, 32, 8, "threads"),
        ("H200", 1024, 0, 32, 2, "threads"),
        ("H200", 256, 0, 64, 4, "registers"),
        ("H200", 32, 0, 32, 32, "blocks"),
        ("H200", 64, 48 * 1024, 32, 4, "shared memory"),
        ("T4", 256, 0, 32, 4, "threads"),
        ("T4", 128, 16 * 1024, 32, 4, "shared memory"),
        ("RTX 4090", 1024, 0, 32, 1, "threads"),
        ("H200", 256, 232 * 1024, 32, 0, "shared memory"),
    ],
)
def test_occupancy_counts_whole_blocks(
    gpu: str, threads: int, shared: int, registers: int, blocks: int, limit: str
) -> None:
    fit = occupancy(SPECIFICATIONS[gpu], threads, shared, registers)
    assert (fit.blocks, fit.limit) == (blocks, limit)


def work(**counts: int) -> Counters:
    """A large launch of 256-thread blocks that does next to nothing but `counts`."""
    blocks = 132 * 64
    return Counters(
        launches=1, blocks=blocks, simulated_blocks=blocks, warps=8 * blocks, threads=256 * blocks, **counts
    )


MILLION = 10**6


@pytest.mark.parametrize(
    ("counters", "binding"),
    [
        (work(warp_instructions=5000 * MILLION), "issue"),
        (work(global_load_requests=20 * MILLION, global_load_wavefronts=640 * MILLION), "L1"),
        (work(shared_load_requests=20 * MILLION, shared_load_wavefronts=640 * MILLION), "shared memory"),
        (work(float64_operations=200_000 * MILLION), "float64"),
        (work(float32_operations=200_000 * MILLION), "float32"),
        (work(special_operations=20_000 * MILLION), "special"),
        (work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_store_sectors=1), "atomics"),
        (
            work(
                global_load_requests=20 * MILLION,
                global_load_sectors=80 * MILLION,
                global_load_lines=20 * MILLION,
                unique_load_sectors=80 * MILLION,
                block_load_sectors=80 * MILLION,
            ),
            "DRAM",
        ),
        (work(global_store_requests=20 * MILLION, global_store_sectors=160 * MILLION, unique_store_sectors=1), "L2"),
        (work(), "block launch"),
        (Counters(launches=1, blocks=1, warps=1, threads=32), "launch overhead"),
        (work(barriers=2000 * MILLION), "latency"),
    ],
)
def test_what_there_is_most_of_binds(counters: Counters, binding: str) -> None:
    found = estimate(counters, H200, threads_per_block=256)
    assert found.binding == binding
    assert found.advice and found.breakdown[binding] == max(found.breakdown.values())


def test_the_time_is_the_slowest_resource_and_the_launch() -> None:
    found = estimate(work(warp_instructions=5000 * MILLION), H200, threads_per_block=256)
    assert found.ns == pytest.approx(found.breakdown["issue"] + found.breakdown["launch overhead"])


def test_atomics_that_spread_out_go_faster_up_to_a_limit() -> None:
    times = [
        estimate(
            work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_store_sectors=places),
            H200,
            threads_per_block=256,
        ).breakdown["atomics"]
        for places in (1, 32, 512, 10**5, 10**6)
    ]
    assert times[0] > times[1] > times[2] > times[3] == times[4]


def test_one_hot_sector_among_many_is_served_at_the_rate_of_one() -> None:
    counters = work(global_atomic_requests=MILLION, global_atomic_sectors=8 * MILLION, unique_store_sectors=10**6)
    even, skewed, alone = (
        estimate(each, H200, threads_per_block=256).breakdown["atomics"]
        for each in (
            counters,
            replace(counters, hottest_atomic_sectors=4 * MILLION),
            replace(counters, global_atomic_sectors=4 * MILLION, unique_store_sectors=1),
        )
    )
    assert even < skewed == pytest.approx(alone)


def test_an_estimate_says_when_its_warps_are_not_alike() -> None:
    def said(slowest: int) -> list[str]:
        counters = replace(work(warp_instructions=132 * 64 * 8 * 100), slowest_warp_instructions=slowest)
        return [each for each in estimate(counters, H200, threads_per_block=256).assumptions if "warps alike" in each]

    assert said(0) == said(150) == []
    assert "3.5 times the average" in said(350)[0]


def test_local_arrays_cost_what_does_not_fit_into_the_caches() -> None:
    """Of 64 bytes a thread L1 keeps all, of 256 L2 the rest; of 4,096 most is in DRAM."""

    def found(bytes_a_thread: int) -> Estimate:
        threads = 132 * 2048
        words = bytes_a_thread // 4 * threads // 32
        work = Counters(
            launches=1, blocks=threads // 256, threads=threads, warps=threads // 32, warp_instructions=words,
            local_load_requests=words, local_load_sectors=4 * words, local_wavefronts=words,
            local_bytes=bytes_a_thread * threads,
        )  # fmt: skip
        return estimate(work, SPECIFICATIONS["H200"], threads_per_block=256)

    small, medium, large = map(found, (64, 256, 4096))
    assert small.breakdown["L2"] == small.breakdown["DRAM"] == 0
    assert medium.breakdown["L2"] > 0 and medium.dram_bytes < 32 * 4 * 256 // 4 * 132 * 2048 // 32
    assert large.breakdown["DRAM"] > 0.9 * large.dram_bytes / 4165.7
    assert large.dram_bytes > 0.9 * 4096 * 132 * 2048


def test_few_blocks_leave_multiprocessors_idle() -> None:
    one = Counters(launches=1, blocks=66, warps=66 * 8, threads=66 * 256, warp_instructions=66 * 10**6)
    same_work_spread = replace(one, blocks=132, warps=132 * 8)
    slow, fast = (estimate(each, H200, threads_per_block=256).breakdown["issue"] for each in (one, same_work_spread))
    assert slow == pytest.approx(2 * fast, rel=0.02)


def test_arrays_that_fit_into_l2_are_read_from_dram_once() -> None:
    counters = work(
        global_load_requests=MILLION,
        global_load_sectors=4 * MILLION,
        global_load_lines=MILLION,
        block_load_sectors=4 * MILLION,
        unique_load_sectors=MILLION // 10,
    )
    small, large = (
        estimate(counters, H200, threads_per_block=256, array_bytes=size).breakdown["DRAM"] for size in (2**20, 2**30)
    )
    assert large > 10 * small


def test_a_sampled_launch_says_so() -> None:
    found = estimate(replace(work(), simulated_blocks=4), H200, threads_per_block=256)
    assert any("4 of 8448 blocks" in each for each in found.assumptions)


def test_a_block_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="shared memory"):
        estimate(work(), H200, threads_per_block=256, shared_bytes_per_block=300_000)


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_every_gpu_gives_an_estimate(name: str) -> None:
    specification: Specification = SPECIFICATIONS[name]
    found = estimate(work(warp_instructions=MILLION), specification, threads_per_block=256)
    assert found.ns > 0 and 0 < found.occupancy <= 1 and found.specification == specification.name
