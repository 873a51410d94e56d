"""Specifications, occupancy and what an estimate consists of."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

from autograder import perfmodel, profile
from autograder.errors import UsageError
from autograder.perfmodel import SPECIFICATIONS, Estimate, Specification, estimate, in_a_row, occupancy, roofline
from autograder.perfmodel.gpus import MEASURED_ON_H200
from autograder.perfmodel.prediction import (
    COLD_START_NS,
    IDLE,
    MERGED_STORES,
    OF_A_SWAP,
    Resident,
    Traffic,
    lost_by_l2,
)
from autograder.records.counters import Counters

MEASUREMENTS = Path(perfmodel.__file__).parent / "measurements"
MEASURED = json.loads((MEASUREMENTS / "microbenchmarks.json").read_text(encoding="utf-8"))
LIMITS = json.loads((MEASUREMENTS / "limits.json").read_text(encoding="utf-8"))
DEPENDENT = LIMITS["cycles of dependent multiply-adds"]
ROWS = LIMITS["microseconds of launches in a row"]
H200 = SPECIFICATIONS["H200"]
WARPS_WITH_A_FLAG = 1 << 18  # of limits.py's stores to one element


def flags_per_cycle(*pairs: tuple[str, str]) -> float:
    """How many stores to one element a GPU takes each cycle: by what they add to other work, or to a launch alone."""
    found = LIMITS["microseconds of stores to one element"]
    added_us = [found[one] - (found[other] if other else H200.launch_overhead_ns / 1e3) for one, other in pairs]
    return WARPS_WITH_A_FLAG / (1e3 * sum(added_us) / len(added_us)) / 1.98


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


@pytest.mark.parametrize(
    ("figure", "measured"),
    [
        ("clock_ghz", MEASURED["clock_ghz"]),
        ("multiprocessors", MEASURED["multiprocessors"]),
        ("l2_bytes", MEASURED["l2_bytes"]),
        ("dram_achievable_gb_per_s", MEASURED["memory"]["DRAM copy, four elements a thread, GB/s"]),
        ("dram_scattered_gsectors_per_s", MEASURED["memory"]["gather from 1 GiB, G sectors/s"]),
        ("dram_scattered_store_gsectors_per_s", MEASURED["memory"]["scatter to 1 GiB, G sectors/s"]),
        ("l2_store_gb_per_s", 64 * LIMITS["G sectors/s down columns"]["8192 rows, blocks of 32x8"]),
        ("l2_load_gb_per_s", 32 * MEASURED["memory"]["gather from 16 MiB, G sectors/s"]),
        ("l1_latency_cycles", MEASURED["latency in cycles"]["L1 load"]),
        ("l2_latency_cycles", MEASURED["latency in cycles"]["L2 load"]),
        ("dram_latency_cycles", MEASURED["latency in cycles"]["DRAM load"]),
        ("shared_latency_cycles", MEASURED["latency in cycles"]["shared load"]),
        ("barrier_cycles", MEASURED["cycles per request"]["barrier, 1 blocks of 256"]),
        ("float64_more_cycles", DEPENDENT["float64"] - DEPENDENT["float32"]),
        ("gpu_atomic_sectors_per_cycle", MEASURED["atomics"]["global, 1048576 places, lanes/ns"] / 1.98),
        ("gpu_atomic_least_sectors_per_cycle", MEASURED["atomics"]["global, 1 places, lanes/ns"] / 1.98),
        ("gpu_used_atomic_sectors_per_cycle", LIMITS["lanes/ns of atomics, old value"]["used"] / 1.98),
        ("gpu_float_atomic_least_sectors_per_cycle", LIMITS["atomics"]["global, float32, one place"] / 1.98),
        ("gpu_stores_to_one_sector_per_cycle", flags_per_cycle(("raise a flag", ""))),
        (
            "gpu_stores_to_one_sector_among_others_per_cycle",
            flags_per_cycle(("gather and raise a flag", "gather"), ("lower and raise a flag", "lower")),
        ),
        (
            "shared_atomic_lanes_per_cycle",
            MEASURED["atomics"]["shared, each adding one, 256 places, 1 lanes together, lanes/cycle"],
        ),
        ("launch_overhead_ns", MEASURED["launch in ns"]["between events"]),
        ("further_launch_ns", (ROWS["100 empty launches"] - ROWS["1 empty launches"]) / 99 * 1e3),
        (
            "gpu_blocks_per_cycle",
            132 / MEASURED["launch in ns"]["one more block of 256 on each multiprocessor"] / 1.98,
        ),
    ],
)
def test_the_h200_s_figures_are_the_measured_ones(figure: str, measured: float) -> None:
    assert getattr(H200, figure) == pytest.approx(measured, rel=0.02)


def test_every_figure_that_claims_a_measurement_is_held_against_it() -> None:
    (table,) = vars(test_the_h200_s_figures_are_the_measured_ones)["pytestmark"]
    held = {argument for argument, _ in table.args[1]}
    claimed = {name for name, source in H200.sources.items() if "measurements/" in source}
    below = {"load_store_requests_per_cycle", "l1_wavefronts_per_cycle", "shared_atomic_try_cycles"}  # tested by pattern
    assert claimed - held - below == {"gpu_atomic_sectors_per_cycle_and_sector"}  # a slope between several figures
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
        (work(issued_float64_instructions=3_125 * MILLION), "float64"),
        (work(float32_operations=200_000 * MILLION), "float32"),
        (work(special_operations=20_000 * MILLION), "special"),
        (work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_atomic_sectors=1), "atomics"),
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


@pytest.mark.parametrize(
    ("lanes", "words"),
    [(32, "Execute fewer instructions"), (17, "Execute fewer instructions"), (1, "On average 1 of a warp's 32 lanes")],
)
def test_where_most_lanes_are_off_they_are_to_be_put_to_work_first(lanes: int, words: str) -> None:
    counters = work(warp_instructions=5000 * MILLION, thread_instructions=lanes * 5000 * MILLION)
    found = estimate(counters, H200, threads_per_block=256)
    assert (found.binding, found.advice[: len(words)]) == ("issue", words)


@pytest.mark.parametrize(
    ("threads", "stores", "words"),
    [
        (768, 1000, "Keep more warps in flight, or give each thread independent loads: the warps wait for memory."),
        (1024, 1000, "Give each thread independent loads: the warps wait for memory."),
        (768, 1, "Keep more warps in flight, or load fewer numbers for each result"),
        (1024, 1, "Load fewer numbers for each result"),
    ],
)
def test_what_would_relieve_latency_is_only_what_is_not_yet_so(threads: int, stores: int, words: str) -> None:
    """Blocks of 1,024 fill every place of a multiprocessor, of 768 not all; loads without stores between are in flight."""
    warps = 132 * threads // 32
    counters = Counters(
        launches=1, blocks=132, simulated_blocks=132, warps=warps, threads=132 * threads,
        global_load_requests=1000 * warps, global_load_sectors=1000 * warps, global_load_lines=1000 * warps,
        unique_load_sectors=1000 * threads // 32, block_load_sectors=1000 * warps, global_store_requests=stores * warps,
    )  # fmt: skip
    found = estimate(counters, H200, threads_per_block=threads)
    assert (found.binding, found.occupancy == 1) == ("latency", threads == 1024)
    assert found.advice.startswith(words) and found.advice.endswith("wait for memory.")
    assert ("more warps" in found.advice) == (threads == 768)


def test_the_time_is_the_slowest_resource_and_the_launch() -> None:
    """A resource alone takes its time; two that are wanted alike hide each other but for a sixth; their sum is the most."""
    few = Counters(launches=1, blocks=132 * 64, warps=132 * 512, threads=132 * 512 * 32)
    alone = estimate(replace(few, issued_float64_instructions=3_125 * MILLION), H200, threads_per_block=256)
    assert alone.ns == pytest.approx(alone.breakdown["float64"] + alone.breakdown["launch overhead"], rel=1e-3)
    both = estimate(
        replace(few, issued_float64_instructions=3_125 * MILLION, float32_operations=400_000 * MILLION), H200,
        threads_per_block=256,
    )  # fmt: skip
    assert both.breakdown["float32"] == pytest.approx(both.breakdown["float64"])
    assert 1.1 * alone.ns < both.ns < 1.2 * alone.ns
    assert both.most_to_gain == pytest.approx(both.ns / alone.ns, rel=1e-3)


def test_launches_in_a_row_pay_for_the_start_of_the_first_only() -> None:
    one = estimate(work(), H200, threads_per_block=256).ns
    assert in_a_row([one], H200) == one
    assert in_a_row([one, one, one], H200) == pytest.approx(
        3 * one - 2 * (H200.launch_overhead_ns + COLD_START_NS - H200.further_launch_ns)
    )
    assert in_a_row([], H200) == 0


def test_atomics_that_spread_out_go_faster_up_to_a_limit() -> None:
    times = [
        estimate(
            work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_atomic_sectors=places),
            H200,
            threads_per_block=256,
        ).breakdown["atomics"]
        for places in (1, 32, 512, 10**5, 10**6)
    ]
    assert times[0] > times[1] > times[2] > times[3] > times[4] > 0.98 * times[3]


def test_one_hot_sector_among_many_is_served_at_the_rate_of_one() -> None:
    counters = work(global_atomic_requests=MILLION, global_atomic_sectors=8 * MILLION, unique_atomic_sectors=10**6)
    even, skewed, alone = (
        estimate(each, H200, threads_per_block=256).breakdown["atomics"]
        for each in (
            counters,
            replace(counters, hottest_atomic_sectors=4 * MILLION),
            replace(counters, global_atomic_sectors=4 * MILLION, unique_atomic_sectors=1),
        )
    )
    assert even < skewed == pytest.approx(alone, rel=0.02)


def test_an_estimate_says_when_its_warps_are_not_alike() -> None:
    warps = 132 * 64 * 8

    def said(slowest: int, loads: int = 0) -> list[str]:
        counters = replace(
            work(warp_instructions=warps * 100, global_load_requests=warps * 10),
            slowest_warp_instructions=slowest,
            slowest_warp_loads=loads,
        )
        return [each for each in estimate(counters, H200, threads_per_block=256).assumptions if "slowest warp" in each]

    assert said(0) == said(150) == said(150, 15) == []
    assert "executes 3.5 times the average and makes 1.0 times the loads" in said(350)[0]
    assert "executes 1.5 times the average and makes 4.0 times the loads" in said(150, 40)[0]


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


def rows_walked(lines_a_request: int) -> Counters:
    """Each lane reads a row of its own, four bytes at a time: eight loads find their sector, one after the other."""
    requests = 64 * 132 * 64
    return work(
        warp_instructions=4 * requests, global_load_requests=requests, global_load_sectors=32 * requests,
        global_load_lines=lines_a_request * requests, global_load_wavefronts=lines_a_request * requests,
        block_load_sectors=4 * requests, unique_load_sectors=4 * requests,
    )  # fmt: skip


def test_lines_that_l1_has_no_room_for_are_fetched_again() -> None:
    near, far = (estimate(rows_walked(lines), H200, threads_per_block=256, array_bytes=2**24) for lines in (1, 32))
    assert far.breakdown["L2"] > 1.5 * near.breakdown["L2"]
    assert far.breakdown["DRAM"] == near.breakdown["DRAM"]  # L2 has them


def test_what_l1_loses_comes_from_dram_where_l2_cannot_hold_it() -> None:
    small, large = (estimate(rows_walked(32), H200, threads_per_block=256, array_bytes=size) for size in (2**24, 2**30))
    assert large.breakdown["DRAM"] > 1.05 * small.breakdown["DRAM"]


def test_what_lanes_store_to_again_goes_to_dram_sector_by_sector_where_l2_has_lost_it() -> None:
    walked = rows_walked(32)
    stored = replace(
        walked, global_store_requests=walked.global_load_requests, global_store_sectors=walked.global_load_sectors,
        global_store_lines=walked.global_load_lines, unique_store_sectors=walked.unique_load_sectors,
    )  # fmt: skip
    apart = estimate(stored, H200, threads_per_block=256, array_bytes=2**30).breakdown["DRAM"]
    again = stored.global_store_sectors - stored.unique_store_sectors
    assert 0.3 < apart * H200.dram_scattered_store_gsectors_per_s / again < 1.2


def test_blocks_whose_warps_share_their_lines_keep_them_in_l2() -> None:
    """A transpose: each lane stores to a line of its own, but eight warps of the block to the same.

    When it ends, L2 keeps 32 MiB of the 128, a quarter of what was stored among them.
    """
    requests = 8 * 132 * 64
    turned = work(
        warp_instructions=40 * requests, global_load_requests=requests, global_load_sectors=4 * requests,
        global_load_lines=requests, block_load_sectors=4 * requests, unique_load_sectors=4 * requests,
        global_store_requests=requests, global_store_sectors=32 * requests, global_store_lines=32 * requests,
        unique_store_sectors=4 * requests,
    )  # fmt: skip
    found = estimate(turned, H200, threads_per_block=256, array_bytes=2**27).breakdown["DRAM"]
    assert found == pytest.approx(32 * (4 + 0.75 * 4) * requests / H200.dram_achievable_gb_per_s)


def test_sectors_stored_to_again_at_once_are_sent_to_l2_once() -> None:
    stores = work(global_store_requests=MILLION, global_store_sectors=8 * MILLION, unique_store_sectors=2 * MILLION)
    apart, together = (
        estimate(each, H200, threads_per_block=256).breakdown["L2"]
        for each in (stores, replace(stores, global_store_sectors_again=6 * MILLION))
    )
    assert together == pytest.approx((1 - 0.75 * MERGED_STORES) * apart)


def test_a_store_takes_l2_a_packet_for_each_sector_and_one_for_its_line() -> None:
    """Single sectors go at less than half the rate of loads, as measured down columns; whole lines faster."""
    single = work(global_store_requests=MILLION, global_store_sectors=32 * MILLION, global_store_lines=32 * MILLION)
    whole = replace(single, global_store_lines=8 * MILLION)
    ns, ns_of_lines = (estimate(each, H200, threads_per_block=256).breakdown["L2"] for each in (single, whole))
    assert 32 * MILLION / ns == pytest.approx(LIMITS["G sectors/s down columns"]["8192 rows, blocks of 32x8"], rel=0.02)
    assert ns_of_lines == pytest.approx(5 / 8 * ns)


@pytest.mark.parametrize(("rows", "least"), [(2048, 0.8), (4096, 0.9), (8192, 0.97)])
def test_stores_down_columns_take_what_was_measured_but_for_a_start_and_an_end(rows: int, least: float) -> None:
    """A short launch takes longer than its packets, by a time that more rows do not change: see limits.json."""
    requests = rows * rows // 32
    stored = work(global_store_requests=requests, global_store_sectors=rows * rows, global_store_lines=rows * rows)
    found = estimate(stored, H200, threads_per_block=256).breakdown["L2"]
    measured_ns = rows * rows / LIMITS["G sectors/s down columns"][f"{rows} rows, blocks of 32x8"]
    assert least < found / measured_ns < 1.02


@pytest.mark.parametrize(("mebibytes", "share"), [(16, 0), (32, 0), (64, 1 / 2), (128, 3 / 4)])
def test_of_what_is_stored_l2_keeps_32_mebibytes_when_a_launch_ends(mebibytes: int, share: float) -> None:
    sectors = mebibytes * 2**20 // 32
    stored = work(
        global_store_requests=sectors // 4, global_store_sectors=sectors, global_store_lines=sectors // 4,
        unique_store_sectors=sectors,
    )  # fmt: skip
    found = estimate(stored, H200, threads_per_block=256, array_bytes=32 * sectors).breakdown["DRAM"]
    assert found == pytest.approx(share * 32 * sectors / H200.dram_achievable_gb_per_s)


def test_l2_adds_up_for_atomics_and_hands_out_sectors_one_after_the_other() -> None:
    loads = {"global_load_requests": MILLION, "global_load_sectors": 32 * MILLION, "block_load_sectors": 32 * MILLION}
    adds = {"global_atomic_requests": MILLION, "global_atomic_sectors": 8 * MILLION, "unique_atomic_sectors": MILLION}

    def beyond_the_start(counters: Counters) -> float:
        found = estimate(replace(counters, unique_load_sectors=300_000), H200, threads_per_block=256)
        return found.ns - found.breakdown["launch overhead"]

    moved, added, both = map(beyond_the_start, (work(**loads), work(**adds), work(**loads, **adds)))
    assert both == pytest.approx(moved + added, rel=0.03) and both > 1.3 * max(moved, added)


def test_what_all_warps_share_is_idle_for_a_quarter_of_what_a_warp_waits() -> None:
    busy = work(warp_instructions=5000 * MILLION)
    at_barriers = replace(busy, barriers=20 * busy.warps)
    busy_ns, waiting_ns = (estimate(each, H200, threads_per_block=256).ns for each in (busy, at_barriers))
    assert waiting_ns - busy_ns == pytest.approx(IDLE * 20 * H200.barrier_cycles / H200.cycles_per_ns, rel=0.1)


@cuda.jit
def double(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    y[i] = x[i] + x[i]


def test_a_launch_of_more_blocks_is_estimated_from_one_of_fewer() -> None:
    few, many = (
        profile(double, sample_blocks=4)[blocks, 256](np.ones(256 * blocks, np.float32), np.ones(256 * blocks, np.float32))
        for blocks in (4096, 65536)
    )
    taken, counted = few.estimate("H200", times=16), many.estimate("H200")
    assert taken.breakdown == pytest.approx(counted.breakdown) and taken.ns == pytest.approx(counted.ns)
    assert any(each.startswith("16 times as many blocks") for each in taken.assumptions)
    assert 16 * few.estimate("H200").breakdown["DRAM"] < 0.6 * taken.breakdown["DRAM"], "L2 keeps what the small one stores"


@pytest.mark.parametrize("times", [0, -1, 1.5, "2"])
def test_a_launch_is_a_whole_number_of_times_as_large(times: Any) -> None:
    with pytest.raises(UsageError, match=re.escape(f"cannot be {times!r} times as large")):
        profile(double)[1, 32](np.ones(32, np.float32), np.ones(32, np.float32)).estimate("H200", times=times)


@pytest.mark.parametrize("places", [1024, 2048, 4096, 8192, 16384, 65536, 1048576])
def test_atomics_take_what_was_measured_of_few_places_and_of_many(places: int) -> None:
    measured = MEASURED["atomics"][f"global, {places} places, lanes/ns"]
    counters = work(
        global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_atomic_sectors=places // 8
    )
    found = estimate(counters, H200, threads_per_block=256).breakdown["atomics"]
    assert 32 * MILLION / found == pytest.approx(measured, rel=0.2)


def test_atomics_that_add_floats_take_longer_on_one_place_and_used_old_values_on_many() -> None:
    one = work(global_atomic_requests=MILLION, global_atomic_sectors=MILLION, unique_atomic_sectors=1)
    one = replace(one, hottest_atomic_sectors=MILLION)
    many = work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_atomic_sectors=MILLION)

    def ns(counters: Counters) -> float:
        return estimate(counters, H200, threads_per_block=256).breakdown["atomics"]

    assert ns(replace(one, float_atomic_sectors=MILLION)) / ns(one) == pytest.approx(2.4, rel=0.05)
    assert ns(replace(many, float_atomic_sectors=32 * MILLION)) == ns(many)
    assert ns(replace(many, used_atomic_sectors=32 * MILLION)) / ns(many) == pytest.approx(1.38, rel=0.05)


@pytest.mark.parametrize("places", [64, 256, 1024])
def test_maxima_that_find_their_place_in_order_take_what_was_measured(places: int) -> None:
    """Lanes at random places look at lines; by where an array begins, the rate is one or twice that."""
    lanes = np.random.default_rng(0).integers(0, places, (4096, 32))
    lines = sum(len(np.unique(each // 32)) for each in lanes)
    passes = sum(int(np.unique(each).size) for each in lanes)
    looked = work(looked_atomic_sectors=passes, look_lines=lines, unique_atomic_sectors=places // 8)
    many = replace(looked, blocks=MILLION, simulated_blocks=MILLION)  # so that the first turn is next to nothing
    found = estimate(many, H200, threads_per_block=256).breakdown["atomics"]
    rates = LIMITS["lanes/ns of atomics that swap or look"]
    most, least = (rates[f"maxima, float32, {places} places, {which} take less"] for which in ("a tenth", "nine tenths"))
    assert 0.75 * least < lanes.size / found < 1.1 * most


@pytest.mark.parametrize("places", [8, 32, 64, 256])
def test_a_swap_takes_half_as_long_again_as_an_addition(places: int) -> None:
    rates = LIMITS["lanes/ns of atomics that swap or look"]
    added, swapped = (rates[f"{each}, int32, {places} places, nine tenths take less"] for each in ("additions", "swaps"))
    assert OF_A_SWAP == pytest.approx(added / swapped, rel=0.1)


def test_of_maxima_all_blocks_of_the_first_turn_try_and_of_others_those_that_find_less() -> None:
    """A million lanes in blocks of 256, 2,112 of them at once; none of the sampled ones says how many more there are."""
    whole = work(
        global_atomic_requests=50, global_atomic_sectors=50, ordered_atomic_sectors=50, looked_atomic_sectors=MILLION,
        look_lines=MILLION, unique_atomic_sectors=1000, hottest_atomic_sectors=1000,
    )  # fmt: skip

    def ns(**counts: int) -> float:
        return estimate(replace(whole, **counts), H200, threads_per_block=256).breakdown["atomics"]

    blocks = MILLION // 256
    once, often = (ns(blocks=each, simulated_blocks=each) for each in (132, 100 * blocks))
    assert once > 2 * often
    all_try = {"global_atomic_sectors": MILLION, "ordered_atomic_sectors": MILLION}
    assert ns(blocks=100 * blocks, simulated_blocks=100 * blocks, **all_try) > 3 * often
    assert ns(blocks=100 * blocks, simulated_blocks=100, **all_try) == pytest.approx(often, rel=0.05)


@pytest.mark.parametrize(("sectors", "words"), [(4, "raise a flag"), (32, "gather and raise a flag")])
def test_a_flag_of_all_warps_takes_what_was_measured(sectors: int, words: str) -> None:
    warps, found = WARPS_WITH_A_FLAG, LIMITS["microseconds of stores to one element"]
    counters = work(global_load_requests=warps, global_load_sectors=sectors * warps, unique_load_sectors=4 * warps)
    counters = replace(counters, blocks=warps // 4, warps=warps, threads=32 * warps, global_load_lines=sectors * warps)
    told, silent = (
        estimate(replace(counters, hottest_store_sectors=each), H200, threads_per_block=128) for each in (warps, 0)
    )
    assert silent.ns < told.ns and told.ns / 1e3 == pytest.approx(found[words], rel=0.25)
    assert told.binding == "L2" and "store to the same element" in told.advice, "coalescing would not help"
    assert "store to the same element" not in silent.advice


def test_what_blocks_gather_or_scatter_again_comes_from_dram_where_l2_cannot_keep_it() -> None:
    def scattered(of: int, far: int) -> float:
        loads = dict(
            global_load_requests=of, global_load_sectors=32 * of, global_load_lines=32 * of, block_load_sectors=32 * of,
            common_load_sectors=4 * of, far_load_sectors=far * of,
        )  # fmt: skip
        counters = work(unique_load_sectors=4 * of, **loads)
        traffic = Traffic.of(counters, H200, None, Resident(2048, 2.0**17))
        return traffic.dram_scattered_loads / of

    assert 20 < scattered(1 << 20, 28) < 28 and scattered(1 << 20, 0) == 0  # 134 MB far apart, and by neighbours
    assert scattered(1 << 16, 28) == 0  # 8 MB


def test_atomics_beyond_l2_are_served_by_dram_one_by_one() -> None:
    few, many = (
        work(global_atomic_requests=MILLION, global_atomic_sectors=32 * MILLION, unique_atomic_sectors=places)
        for places in (MILLION, 16 * MILLION)
    )
    found = [estimate(each, H200, threads_per_block=256).breakdown["DRAM"] for each in (few, many)]
    assert found[0] == 0 and found[1] > 0


@pytest.mark.parametrize("places", [1, 8, 32, 64, 256, 1024, 4096])
def test_additions_of_floats_in_shared_memory_take_what_was_measured(places: int) -> None:
    """Lanes at random places, as limits.py has them: within a quarter, over two powers of ten."""
    lanes = np.random.default_rng(0).integers(0, places, (4096, 32))
    tries = sum(int(np.bincount(each).max()) for each in lanes)
    counters = work(shared_atomic_requests=len(lanes), shared_atomic_tries=tries)
    found = estimate(counters, H200, threads_per_block=256).breakdown["shared atomics"]
    lanes_a_cycle = lanes.size / 132 / found / H200.clock_ghz
    assert lanes_a_cycle == pytest.approx(LIMITS["atomics"][f"shared, float32, {places} places"], rel=0.35)


@pytest.mark.parametrize("mib", [64, 128, 256])
@pytest.mark.parametrize("kind", ["loads", "stores"])
def test_l2_loses_of_random_places_what_was_measured(kind: str, mib: int) -> None:
    """Where DRAM serves what L2 lost, one sector after another, its rate on 1 GiB says how much that is."""
    alone = {"loads": H200.dram_scattered_gsectors_per_s, "stores": H200.dram_scattered_store_gsectors_per_s}[kind]
    lost = alone / LIMITS["G sectors/s at random places"][f"{kind}, {mib} MiB"]
    assert lost_by_l2(H200, mib * 2**20) == pytest.approx(lost, abs=0.1)


def latency_ns(counters: Counters) -> float:
    return estimate(counters, H200, threads_per_block=256).breakdown["latency"]


def test_the_slowest_warp_bounds_the_time_from_below() -> None:
    alike = replace(work(warp_instructions=132 * 64 * 8 * 100), slowest_warp_instructions=100)
    one_alone = replace(alike, slowest_warp_instructions=100_000)
    assert latency_ns(one_alone) > 50 * latency_ns(alike)


def walk(blocks: int, idle_warps: int = 0) -> Counters:
    """A warp of each block makes 1,000 loads, one after the other; idle ones go home after ten instructions."""
    warps, walking = 8 * blocks, blocks - idle_warps // 8
    loads = 1000 * walking
    return Counters(
        launches=1, blocks=blocks, threads=32 * warps, warps=warps, simulated_blocks=blocks,
        warp_instructions=10 * warps + 4 * loads, slowest_warp_instructions=4010, slowest_warp_loads=1000,
        global_load_requests=loads, global_load_sectors=loads, global_load_wavefronts=loads, global_load_lines=loads,
        global_store_requests=loads, global_store_sectors=loads, global_store_lines=loads, unique_store_sectors=loads // 8,
        block_load_sectors=loads, unique_load_sectors=loads // 8,
    )  # fmt: skip


def test_idle_warps_take_nothing_off_the_walk_of_another() -> None:
    """Each of the loads is waited for, however few the average warp makes."""
    least = 1000 * H200.l2_latency_cycles / H200.cycles_per_ns
    assert latency_ns(walk(40)) > least
    assert latency_ns(walk(4000, idle_warps=8 * 3960)) > least


def test_a_warp_that_is_left_alone_waits_less_for_a_load_than_all_of_them_do() -> None:
    """What others have read by then need not come from DRAM."""
    alike = replace(walk(40), slowest_warp_loads=125, slowest_warp_instructions=510)
    longer = replace(alike, slowest_warp_loads=250, slowest_warp_instructions=1020)
    assert latency_ns(alike) < latency_ns(longer) < 2 * latency_ns(alike)


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
