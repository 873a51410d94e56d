"""What limits a kernel, by the profiler's counters: the rule, and how often the model says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import perfmodel
from autograder.perfmodel.measurements import profiled_limits, unseen
from autograder.perfmodel.measurements.profiled_limits import LimitedBy, agreement, by_counters
from autograder.perfmodel.prediction import ALIKE

FOUND = profiled_limits.limits()
LEARNED = [each for each in FOUND if each.half == "learned"]
IDLE: dict[str, float] = {
    "issue_busy": 20, "pipe_alu_busy": 10, "pipe_fma_busy": 10, "pipe_fmaheavy_busy": 0, "pipe_uniform_busy": 0,
    "pipe_fp64_busy": 0, "pipe_xu_busy": 0, "pipe_lsu_busy": 5, "l1_throughput": 10, "l2_throughput": 20,
    "dram_throughput": 10, "shared_wavefronts": 0, "l1_wavefronts": 1000, "l2_red_sectors": 0, "l2_atom_sectors": 0,
    "l2_read_sectors": 1000, "l2_write_sectors": 1000, "ns": 1e6,
}  # fmt: skip


@pytest.mark.parametrize(
    ("counters", "blocks", "clock_ns", "expected"),
    [
        ({}, 100, 1.1e6, "latency"),
        ({"issue_busy": 61}, 100, 1.1e6, "issue"),
        ({"issue_busy": 59}, 100, 1.1e6, "latency"),
        ({"issue_busy": 65, "pipe_uniform_busy": 90, "pipe_fp64_busy": 70}, 100, 1.1e6, "issue"),
        ({"issue_busy": 65, "pipe_fp64_busy": 70}, 100, 1.1e6, "float64"),
        ({"l1_throughput": 90}, 100, 1.1e6, "L1"),
        ({"l1_throughput": 90, "shared_wavefronts": 600}, 100, 1.1e6, "shared memory"),
        ({"l2_throughput": 80, "dram_throughput": 79}, 100, 1.1e6, "L2"),
        ({"l2_throughput": 80, "dram_throughput": 81}, 100, 1.1e6, "DRAM"),
        ({"l2_throughput": 80, "l2_red_sectors": 3000}, 100, 1.1e6, "atomics"),
        ({"l2_atom_sectors": 200}, 100, 1.1e6, "atomics"),
        ({"l2_atom_sectors": 50}, 100, 1.1e6, "latency"),
        ({"issue_busy": 61}, 1_400_000, 1.1e6, "block launch"),
        ({"issue_busy": 61}, 100, 2.1e6, "launch overhead"),
    ],
)
def test_the_rule_names_the_busiest_unit_or_what_warps_wait_for(
    counters: dict[str, float], blocks: int, clock_ns: float, expected: str
) -> None:
    assert by_counters(IDLE | counters, blocks, clock_ns) == expected


def test_the_readme_and_the_tables_are_what_the_data_say() -> None:
    readme, tables = (
        (Path(perfmodel.__file__).parent / name).read_text(encoding="utf-8") for name in ("README.md", "TABLES.md")
    )
    assert profiled_limits.halves(FOUND) in readme
    assert f"{profiled_limits.table(FOUND)}\n\n{profiled_limits.by_distance(FOUND)}" in tables


def test_every_unseen_case_has_a_limit_by_both() -> None:
    assert len(FOUND) == len(unseen.predictions())
    assert all(each.by_counters and each.by_model and each.second != each.by_model for each in FOUND)
    # launch overhead is named first only where it is half of the time, as by the rule for counters
    assert all(each.ahead >= 1 or each.second == "launch overhead" and each.ahead > 0.5 for each in FOUND)


def test_where_two_are_named_alike_the_counters_cannot_tell_either_and_beyond_that_they_point_to_the_first() -> None:
    alike, apart = ([each for each in LEARNED if (each.ahead < ALIKE) == near] for near in (True, False))
    assert agreement(alike)[0] < 0.6 and agreement(apart)[0] > 0.8


def test_agreement_counts_the_second_only_where_the_sentence_names_it() -> None:
    near, far = (LimitedBy("", "learned", "L1", "issue", "L1", ahead) for ahead in (1.1, 1.5))
    right = LimitedBy("", "learned", "L1", "L1", "issue", 3.0)
    assert agreement([near, far, right, right]) == (0.5, 0.75)
