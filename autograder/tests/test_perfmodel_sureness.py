"""How sure a prediction is: the table of intervals is what the data say, holds what it promises, and is told in words."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from autograder import perfmodel
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.perfmodel import SPECIFICATIONS, estimate, sureness
from autograder.perfmodel.measurements import intervals, verdicts
from autograder.perfmodel.measurements.intervals import LEAST, ClockedPrediction, classes, factor
from autograder.perfmodel.prediction import how_sure
from autograder.perfmodel.sureness import ANY
from autograder.records.counters import Counters
from autograder.records.runs import Comparison, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

PAGES = [
    (Path(perfmodel.__file__).parent / name).read_text(encoding="utf-8") for name in ("README.md", "MISSES.md", "TABLES.md")
]
README, TABLES = "".join(PAGES[:2]), PAGES[2]
H200 = SPECIFICATIONS["H200"].name


def test_the_table_of_intervals_is_what_the_closed_set_and_the_labs_say() -> None:
    assert json.loads(sureness.TABLE.read_text(encoding="utf-8")) == intervals.table()


def test_the_readme_and_the_tables_say_how_many_the_intervals_hold() -> None:
    assert intervals.coverage_table() in README
    assert intervals.close_calls() in TABLES


def test_the_share_that_is_told_is_that_of_cases_that_had_no_part_in_the_intervals() -> None:
    known = sureness.known()
    held = [(each.binding, each.is_within(known.times)) for each in intervals.times("held")]
    assert known.held_times[ANY] == int(100 * np.mean([is_within for _, is_within in held])) < 100
    by_l2 = [is_within for binding, is_within in held if binding == "L2"]
    assert known.held_time("L2") == 100 * sum(by_l2) // len(by_l2)
    assert known.held_by_learned < known.held_times[ANY], "rules fit best what they were made on"
    few = ("launch overhead", "float64")  # a few cases tell nothing
    assert not known.held_times.keys() & few and all(known.held_time(each) == known.held_times[ANY] for each in few)
    small = estimate(Counters(launches=1, blocks=1, warps=1, threads=32), SPECIFICATIONS["H200"], threads_per_block=32)
    share = known.held_time("launch overhead")
    assert how_sure(small).endswith(f" in {share} % of unseen kernels that launch overhead limits")
    assert any("waits for the host" in each for each in small.assumptions)


def test_a_share_is_told_of_ten_cases_and_downwards() -> None:
    found = [(each, at % 9 < 7) for at, each in enumerate([*cases("issue", 9, 0.1), *cases("L2", 10, 0.1)])]
    assert intervals.shares(found) == {ANY: 100 * sum(is_within for _, is_within in found) // 19, "L2": 80}


def test_kernels_and_labs_that_had_no_part_in_an_interval_lie_within_it_nearly_nine_times_of_ten() -> None:
    """Of both, all of a kernel or of a lab is left out together; the held half is only ever told as totals."""
    for cases, least in ((intervals.times("learned"), 0.85), (intervals.judged_answers(), 0.8)):  # six labs: few groups
        assert len(cases) > 100
        within = [is_within for _, is_within in intervals.without_its_group(cases)]
        assert np.mean(within) >= least


def test_of_a_kernel_the_size_that_is_furthest_off_counts_and_who_waits_for_others_not_at_all() -> None:
    sizes = [replace(each, unit=f"kernel {at // 2}") for at, each in enumerate(cases("issue", 40, log(1.1)))]
    sizes[::2] = [replace(each, off=log(1.3)) for each in sizes[::2]]
    lock = ClockedPrediction("a lock", "", "issue", log(12), waits=True)
    found = classes([*sizes, *[lock] * 10])
    assert found["issue"].cases == 20 and found["issue"].factor == pytest.approx(1.3, abs=2e-3)
    assert lock.is_within(found) and not replace(lock, off=-lock.off).is_within(found)


@pytest.mark.parametrize(("count", "place"), [(9, 9), (10, 10), (19, 18), (29, 27), (99, 90)])
def test_the_factor_is_the_case_at_nine_tenths_of_all_and_one_more(count: int, place: int) -> None:
    sizes = [log(1 + each) for each in range(1, count + 1)]
    assert factor(sizes[::-1]) == pytest.approx(1 + place)


def test_of_fewer_than_nine_cases_no_interval_can_hold_nine_tenths() -> None:
    with pytest.raises(ValueError, match="8 cases are too few"):
        factor([0.1] * 8)


def test_intervals_hold_nine_tenths_of_new_cases_whatever_their_distribution() -> None:
    rng = np.random.default_rng(3)
    held = []
    for _ in range(400):
        known, new = np.split(np.abs(rng.standard_t(2, 60)), 2)
        held.append(np.mean(new <= log(factor(list(known)))))
    assert 0.89 < np.mean(held) < 0.93


def cases(binding: str, count: int, off: float) -> list[ClockedPrediction]:
    return [ClockedPrediction(f"{binding} {each}", "", binding, off * (-1) ** each) for each in range(count)]


def test_a_resource_with_enough_cases_has_a_factor_of_its_own_and_others_have_that_of_all() -> None:
    found = classes([*cases("issue", LEAST, log(1.2)), *cases("L2", LEAST - 1, log(2))])
    assert set(found) == {ANY, "issue"} and found[ANY].cases == 2 * LEAST - 1
    assert found["issue"].factor == pytest.approx(1.2, abs=2e-3) and found[ANY].factor == pytest.approx(2, abs=2e-3)
    assert ClockedPrediction("", "", "L2", log(1.9)).is_within(found)
    assert not ClockedPrediction("", "", "issue", log(1.9)).is_within(found)


def test_one_case_far_off_does_not_set_the_factor_of_a_resource() -> None:
    found = classes([*cases("issue", LEAST - 1, log(1.2)), ClockedPrediction("a lock", "", "issue", log(12))])
    assert found["issue"].factor < 1.3


def test_an_estimate_s_interval_is_that_of_its_limiting_resource() -> None:
    work = Counters(launches=1, blocks=10**5, warps=8 * 10**5, threads=256 * 10**5, warp_instructions=10**9)
    found = estimate(work, SPECIFICATIONS["H200"], threads_per_block=256)
    expected = sureness.known().times.get(found.binding, sureness.known().times[ANY]).factor
    assert found.interval_ns == pytest.approx((found.ns / expected, found.ns * expected))


def test_a_gpu_that_nobody_measured_has_no_interval() -> None:
    found = estimate(Counters(launches=1, blocks=1, warps=1, threads=32), SPECIFICATIONS["T4"], threads_per_block=32)
    assert found.interval_ns is None
    assert "how far off is not known, for nobody has measured this GPU" in found.headline
    assert sureness.interval_of_ratio(2.0, "issue", SPECIFICATIONS["A100"].name) is None


def test_who_does_the_baseline_s_work_takes_its_time() -> None:
    assert sureness.interval_of_ratio(1.004, "issue", H200) == (1.004, 1.004)
    low, high = sureness.interval_of_ratio(1.05, "issue", H200) or (0.0, 0.0)
    assert low < 1.05 < high
    same = [
        each
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.judged(lab, check)
        if abs(each.predicted - 1) <= sureness.SAME_WORK
    ]
    assert len(same) > 5 and all(each.measured == pytest.approx(1, abs=0.03) for each in same)


COPIES = """
from numba import cuda

@cuda.jit
def copies(a, b):
    i = cuda.grid(1)
    if i < b.size:
        b[i] = a[{index}]

def call(a, b):
    copies[(a.size + 255) // 256, 256](a, b)
"""


def compared(index: str, model: str = "H200") -> Comparison:
    """A copy that reads from there, against one that reads in order."""
    baseline, submission = (
        parse_program(submission_from_cells("lab.py", [("lab.py", COPIES.format(index=each))], is_notebook=False))
        for each in ("i", index)
    )
    arguments = {"a": np.ones(1 << 20, np.float32), "b": Uninitialised((1 << 20,), np.float32)}
    request = RunRequest("call", arguments, sample_blocks=4)
    return SimulatedDevice(model).compare(baseline, submission, [request])


def test_a_comparison_on_the_simulated_gpu_says_where_a_gpu_s_ratio_lies_and_what_limits_the_slowest_kernel() -> None:
    found = compared("(i * 997) % a.size")
    assert found.ratio < 0.9 and (found.low, found.high) == pytest.approx(
        sureness.interval_of_ratio(found.ratio, found.notes["by_prediction"].split(" ")[0], H200)
    )
    assert found.notes["slowest_kernel"].startswith("copies, ") and "of unseen kernels" in found.notes["slowest_kernel"]
    assert found.notes["interval_held_percent"] == sureness.known().held_ratio(found.notes["by_prediction"].split(" ")[0])


def test_the_same_work_and_a_gpu_that_nobody_measured_have_no_interval_of_their_ratio() -> None:
    for found in (compared("i"), compared("(i * 997) % a.size", "T4")):
        assert found.low == found.ratio == found.high


def test_a_time_is_told_with_its_interval() -> None:
    work = Counters(launches=1, blocks=1, warps=1, threads=32)
    found = replace(estimate(work, SPECIFICATIONS["H200"], threads_per_block=32), ns=1.2e6, interval_ns=(0.9e6, 1.8e6))
    assert how_sure(found).startswith("1.20 ms; 900 us to 1.80 ms in ")


def test_a_program_against_itself_has_the_ratio_1_whatever_its_host_code_copies() -> None:
    program = parse_program(submission_from_cells("lab.py", [("lab.py", COPIES.format(index="i").replace(
        "def call(a, b):", "def call(a, b):\n    first = a[0]"))], is_notebook=False))  # fmt: skip
    arguments = {"a": np.ones(1 << 20, np.float32), "b": Uninitialised((1 << 20,), np.float32)}
    found = SimulatedDevice().compare(program, program, [RunRequest("call", arguments)])
    assert found.transfers and (found.low, found.ratio, found.high) == (1, 1, 1)


def test_no_right_answer_that_fails_is_close_and_the_benefit_would_pass_only_what_the_clock_fails() -> None:
    """Why a prediction too close to call gives no benefit of the doubt, as a measurement does."""
    close = [
        each
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.judged(lab, check)
        if each.is_close and each.predicted < each.threshold
    ]
    assert close and all(each.measured < each.threshold for each in close)


def test_rounding_widens_an_interval_and_never_narrows_it() -> None:
    assert intervals.round_up(exp(0.1)) >= exp(0.1) and intervals.round_up(1.25) == 1.25
