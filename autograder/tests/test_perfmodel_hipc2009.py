"""The model of 2009 against its own slides."""

from __future__ import annotations

import pytest

from autograder.perfmodel.hipc2009 import (
    GTX_280,
    Kernel2009,
    bounds_milliseconds,
    from_counters,
    local_ranking,
)
from autograder.records.counters import Counters


def test_list_ranking_of_four_million_nodes_takes_about_21_ms_as_on_the_slide() -> None:
    assert local_ranking(2**22).milliseconds(hidden=True) == pytest.approx(21, abs=0.5)


def test_the_slide_s_formula_is_this_one() -> None:
    n, log_n = 2**22, 22
    slide = (n / (512 * 30 * log_n)) * 16 * (32 / (8 * 4)) * 4 * log_n * 1500
    assert local_ranking(n).cycles(hidden=True, whole_blocks=False) == pytest.approx(slide)


def test_max_is_the_lower_bound_and_sum_the_upper() -> None:
    kernel = Kernel2009(blocks=30, warps_per_block=16, compute_cycles=300, memory_cycles=400)
    assert kernel.thread_cycles(hidden=True) == 400
    assert kernel.thread_cycles(hidden=False) == 700


def test_one_warp_alone_takes_a_thread_s_cycles() -> None:
    # 32 threads over 8 cores with 4 stages: the factor is one
    assert Kernel2009(1, 1, 10, 20).cycles(GTX_280, hidden=False) == 30


def test_counted_work_becomes_the_model_s_two_numbers() -> None:
    counters = Counters(
        blocks=2,
        warps=4,
        warp_instructions=4 * 10,
        global_load_requests=4 * 3,
        global_load_sectors=4 * 3 * 32,
        global_store_requests=4,
        global_store_sectors=4 * 4,
    )
    kernel = from_counters(counters)
    assert kernel.memory_cycles == 3 * 500 + 20
    assert kernel.compute_cycles == 4 * (10 - 4)
    assert (kernel.blocks, kernel.warps_per_block) == (2, 2)


def test_any_kernel_gets_its_two_bounds_and_a_counted_list_ranking_the_slide_s_21_ms() -> None:
    from autograder.perfmodel.measurements.predicting import by_case

    largest, together = bounds_milliseconds(by_case()["list ranking, random sublists", 2**22].source)
    assert largest == pytest.approx(21, abs=0.5)
    assert largest < together < 1.02 * largest
    for case in by_case().values():
        largest, together = bounds_milliseconds(case.source)
        assert 0 < largest <= together <= 2 * largest
