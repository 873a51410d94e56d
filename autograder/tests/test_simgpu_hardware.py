"""The simulated GPU against an H200's counters, kernel by kernel; differences are listed with their causes, or it fails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autograder.simgpu.counting import counting_primitives as count_prim
from autograder.simgpu.measurements import differences, read_counters
from autograder.simgpu.measurements.cases import CASES, Case
from autograder.simgpu.measurements.differences import (
    ATOMIC,
    CAUSES,
    DIFFERENCES,
    GLOBAL,
    LOCAL,
    RATIO,
    SHARED,
    agree,
    measured,
    simulated,
)  # fmt: skip

SIMGPU = Path(differences.__file__).parents[1]
LISTED = {(each.case, each.counter) for each in DIFFERENCES}
PATTERNS = json.loads((SIMGPU / "measurements" / "h200_patterns.json").read_text(encoding="utf-8"))["patterns"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_equal_the_h200s_unless_the_difference_is_listed(case: Case) -> None:
    ours, theirs = simulated(case), measured()[case.name]
    for counter in (*GLOBAL, *SHARED, *ATOMIC, *LOCAL, RATIO):
        same = agree(counter, getattr(ours, counter), theirs[counter])
        listed = (case.name, counter) in LISTED
        said = f"{counter} of {case.name}: {getattr(ours, counter)} simulated, {theirs[counter]} on an H200"
        assert same != listed, f"{said}; {'no longer a difference' if listed else 'not listed in differences.py'}"


def test_every_case_was_measured_and_every_difference_has_a_known_cause() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) >= 48
    assert set(names) == set(measured())
    assert {each.case for each in DIFFERENCES} <= set(names)
    assert {each.cause for each in DIFFERENCES} == set(CAUSES)


@pytest.mark.parametrize("counters", [GLOBAL, SHARED, (RATIO,)], ids=["global", "shared", "threads"])
def test_at_least_nine_kernels_in_ten_have_no_difference(counters: tuple[str, ...]) -> None:
    same, used = equal_and_used(counters)
    assert same >= 0.9 * used, f"{same} of {used}"


def equal_and_used(counters: tuple[str, ...]) -> tuple[int, int]:
    """How many cases agree on all of `counters`, of those that count anything there; for shared memory without atomics."""
    used = [case.name for case in CASES if any(measured()[case.name][counter] for counter in counters)]
    if counters is SHARED:
        used = [name for name in used if not does_atomics(name)]
    return sum(not any((name, counter) in LISTED for counter in counters) for name in used), len(used)


def does_atomics(name: str) -> bool:
    ours = simulated(next(case for case in CASES if case.name == name))
    return ours.global_atomic_requests + ours.shared_atomic_requests > 0


def test_atomics_send_at_least_the_counted_sectors_and_at_most_three_in_a_hundred_more() -> None:
    for case in CASES:
        theirs, ours = measured()[case.name]["global_atomic_sectors"], simulated(case).global_atomic_sectors
        assert ours <= theirs <= 1.03 * ours, case.name


def test_every_measured_pattern_of_8_byte_reads_takes_the_wavefronts_that_the_rule_says() -> None:
    shared = [each for each in PATTERNS if each["kind"] == "shared"]
    assert len(shared) == 81
    for each in shared:
        index = np.array(each["index"], np.int64)
        _, wavefronts, conflicts = count_prim.count_wavefronts(index >= 0, index.clip(0), 0, 8)
        for reading in each["readings"]:
            assert reading == {"wavefronts": wavefronts, "bank_conflicts": conflicts}, each["name"]


def atomic_patterns() -> list[tuple[str, int, list[int]]]:
    """(name, sectors by the rule, sectors read) of each pattern of atomics."""
    found = []
    for each in PATTERNS:
        if each["kind"] != "shared":
            index, size = np.array(each["index"], np.int64), np.dtype(each["dtype"]).itemsize
            scratch = np.zeros(2048, np.uint8), np.zeros(2048, np.int64)
            counted = count_prim.count_atomics(np.ones(32, np.bool_), index, 0, size, *scratch)
            found.append((each["name"], counted[1], [reading["sectors"] for reading in each["readings"]]))
    return found


def test_atomics_of_one_warp_send_the_sectors_that_the_rule_says_or_a_few_more() -> None:
    equal = readings = 0
    for name, rule, sectors in atomic_patterns():
        assert all(rule <= each <= rule + 3 for each in sectors), name
        if "random" not in name and not name.startswith("half warps in a line,"):
            assert set(sectors) == {rule}, name
        equal += sum(each == rule for each in sectors)
        readings += len(sectors)
    assert equal >= 0.7 * readings
    changing = sum(len(set(sectors)) > 1 for _, _, sectors in atomic_patterns())
    assert f"{changing} of {len(atomic_patterns())} patterns" in section("Where it differs from an H200")


def section(title: str) -> str:
    text = (SIMGPU / "README.md").read_text(encoding="utf-8")
    assert f"\n## {title}\n" in text
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_readmes_table_of_differences_is_the_one_that_is_counted_and_measured() -> None:
    shown = [line for line in section("Where it differs from an H200").splitlines() if line.startswith("| `")]
    assert shown == differences.table()
    for cause, words in CAUSES.items():
        assert f"**{cause}**: {words}" in section("Where it differs from an H200")


def test_the_readmes_numbers_are_those_of_the_measurements() -> None:
    text = section("What it counts, and how well")
    for counters, words in (
        (GLOBAL, "global loads and stores: equal on {} of {} kernels"),
        (SHARED, "shared memory: equal on {} of {} kernels"),
        ((RATIO,), "within 5 % on {} of {} kernels"),
    ):
        assert words.format(*equal_and_used(counters)) in text
    about = json.loads(differences.MEASURED.read_text(encoding="utf-8"))
    for word in (about["gpu"], about["driver"], about["date"], about["versions"]["numba-cuda"]):
        assert word in text


RAW_PAGE = """==PROF== Connected
"ID","Kernel Name","smsp__inst_executed.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
"","","inst","sector"
"0","copy[abi:v1](Array<float, (int)1>)","1,024","4,096.50"
"""


def test_a_raw_page_is_read_by_column_and_held_to_the_launches() -> None:
    from autograder.simgpu.measurements import probe_kernels as probe

    row = read_counters.launches_in(RAW_PAGE.splitlines(), [probe.copy])[0]
    assert read_counters.number(row["smsp__inst_executed.sum"]) == 1024
    assert read_counters.number(row["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]) == 4096.5
    assert read_counters.instances("7 (LDG.E: 4; STG.E: 3)") == {"LDG.E": 4, "STG.E": 3}
    for page, kernels in ((RAW_PAGE, [probe.axpy]), (RAW_PAGE, [probe.copy] * 2), ("", [probe.copy])):
        with pytest.raises(read_counters.ProfilerFailed):
            read_counters.launches_in(page.splitlines(), kernels)
