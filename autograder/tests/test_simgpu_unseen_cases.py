"""The cases that nobody tuned the model on: they are what they say, at every size, and can be counted and measured."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.perfmodel import SPECIFICATIONS, estimate
from autograder.perfmodel.measurements import unseen
from autograder.records.counters import Counters
from autograder.sampling.measurements.unseen_counts import counted
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.measurements import measure_unseen
from autograder.simgpu.measurements.measured_lines import append_line, chosen, lines_of
from autograder.simgpu.measurements.sizing import SAMPLE, Random, Sized, SizedLaunch
from autograder.simgpu.measurements.unseen_cases import CASES, HELD, LEARNED, SETS, SIZED
from autograder.simgpu.measurements.unseen_kernels import UNSEEN, is_held

MOST_BLOCKS = 2**31 - 1, 65_535, 65_535
BY_NAME = {each.name: each for each in SIZED}
APART = [(name, each) for name, entries in SETS.items() for each in entries]
APART_MEASURED = {
    name: json.loads(measured.read_text(encoding="utf-8"))["cases"] for name, (_, measured) in unseen.FILES.items()
}


def kind(value: Any) -> Any:
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)


def axes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def test_every_unseen_kernel_has_two_sizes_in_one_half() -> None:
    assert len(BY_NAME) == len(SIZED) >= len(UNSEEN) + 20
    assert {each.case.name for each in UNSEEN} <= BY_NAME.keys()
    assert len({case.name for case in CASES}) == 2 * len(SIZED) == len(LEARNED) + len(HELD)
    assert {case.of.name for case in HELD} == {name for name in BY_NAME if is_held(name)}
    assert 0.4 < len(HELD) / len(CASES) < 0.6


@pytest.mark.parametrize("entry", UNSEEN, ids=lambda each: each.case.name)
def test_large_arguments_are_of_the_types_of_the_small_ones(entry: Any) -> None:
    ours = BY_NAME[entry.case.name]
    made = ours.case(ours.small).make_arguments()
    assert [kind(each) for each in made] == [kind(each) for each in entry.case.make_arguments()]


@pytest.mark.parametrize("entry", SIZED, ids=lambda each: each.name)
def test_at_its_small_size_a_kernel_leaves_what_numpy_says(entry: Sized) -> None:
    case = entry.case(entry.small)
    made = case.make_arguments()
    wanted = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in made)
    entry.reference(*wanted)
    session = Session(output=lambda line: None)
    arguments = tuple(session.to_device(each) if isinstance(each, np.ndarray) else each for each in made)
    for each in case.launches(arguments):
        session.launch(kernel_function(each.kernel), each.grid, each.block, each.arguments, each.shared_bytes)
    found = tuple(session.copy_to_host(each) if isinstance(one, np.ndarray) else each
                  for each, one in zip(arguments, made, strict=True))  # fmt: skip
    for one, other in zip(entry.seen(*found), entry.seen(*wanted), strict=True):
        assert not isinstance(one, np.ndarray) or measure_unseen.is_close(one, other)


@pytest.mark.parametrize("entry", SIZED, ids=lambda each: each.name)
def test_its_grids_grow_with_its_size_and_a_gpu_can_launch_them(entry: Sized) -> None:
    assert entry.small <= entry.middle < entry.large
    small = entry.case(entry.small).make_arguments()  # grids that follow from the arguments follow from these
    threads = []
    for size in (entry.small, entry.middle, entry.large):
        launches = entry.case(size).launches(small)
        for each in launches:
            assert math.prod(axes(each.block)) <= 1024
            assert all(1 <= n <= most for n, most in zip(axes(each.grid), MOST_BLOCKS, strict=False))
        threads.append(sum(math.prod(axes(each.grid)) * math.prod(axes(each.block)) for each in launches))
    assert threads[0] <= threads[1] <= threads[2]


@pytest.mark.parametrize("entry", SIZED, ids=lambda each: each.name)
def test_a_time_is_predicted_from_some_of_its_blocks(entry: Sized) -> None:
    few = dataclasses.replace(entry, sample=entry.sample and 2)
    row = counted(few.case(entry.small))
    assert row["half"] == ("held" if is_held(entry.name) else "learned")
    for each in row["launches"]:
        predicted = estimate(
            Counters(**each["counters"]), SPECIFICATIONS["H200"], threads_per_block=each["threads_per_block"],
            shared_bytes_per_block=each["shared_bytes_per_block"], array_bytes=each["array_bytes"],
        )  # fmt: skip
        assert 1e3 < predicted.ns < 1e9


def test_long_arrays_are_made_quickly_and_the_same_each_time() -> None:
    one, other = (Random(np.random.default_rng(1)).reals((3000, 3000)) for _ in range(2))
    assert one.dtype == np.float32 and np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])
    order = Random(np.random.default_rng(1)).order(1000)
    assert np.array_equal(np.sort(order), np.arange(1000))
    rising = Random(np.random.default_rng(1)).ascending(1000, 50, np.float32)
    assert np.all(np.diff(rising) >= 0) and rising[-1] < 50
    assert SAMPLE == 256


def given(**options: Any) -> Namespace:
    return Namespace(
        **{"only": "", "half": None, "part": "1/1", "again": False, "processes": 1, "limit": 1e9} | options
    )


def test_parts_and_halves_make_up_the_whole() -> None:
    parts = [case.name for part in ("1/3", "2/3", "3/3") for case in chosen(given(part=part))]
    assert sorted(parts) == sorted(case.name for case in CASES)
    assert len(chosen(given(half="held"))) == len(HELD)
    assert {case.of.name for case in chosen(given(only="heat_1d@,sobel@"))} == {"heat_1d", "sobel"}


SHORT = {name: measure_unseen.METRICS[name] for name in ("ns", "instructions", "l1_hit_rate", "registers")}
PAGE = """==PROF== Connected
"ID","Kernel Name",METRICS
"","","ns","inst","%","register/thread"
"0","heat_1d_abc","1,000","40","50","20"
"1","jump_two[abi]","1000","10","n/a","16"
"2","jump_two[abi]","3000","30","n/a","16"
==PROF== Disconnected
""".replace("METRICS", ",".join(f'"{metric}"' for metric in SHORT.values()))


def test_the_profiler_s_rows_go_to_their_cases() -> None:
    launched: list[dict[str, Any]] = [
        {"case": "one", "kernels": ["heat_1d"]},
        {"case": "failed", "counters": {"error": "why"}},
        {"case": "two", "kernels": ["jump_two", "jump_two"]},
        {"case": "late", "kernels": ["jump_two"]},
    ]
    rows = measure_unseen.by_case(PAGE.splitlines(), launched, SHORT)
    assert rows == [
        {
            "case": "one",
            "counters": {"launches": 1, "ns": 1000, "instructions": 40, "l1_hit_rate": 50, "registers": 20},
        },
        {"case": "failed", "counters": {"error": "why"}},
        {"case": "two", "counters": {"launches": 2, "ns": 4000, "instructions": 40, "registers": 16}},
        {"case": "late", "counters": {"error": "the profiler saw 0 of its launches"}},
    ]


def test_rates_of_several_launches_are_means_over_time() -> None:
    both = measure_unseen.together([{"ns": 1.0, "l1_hit_rate": 0.0}, {"ns": 3.0, "l1_hit_rate": 100.0}])
    assert both["l1_hit_rate"] == 75


def test_what_was_measured_is_left_and_what_failed_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A child that dies over a case costs that case alone, and the next run takes up what is left."""
    asked: list[list[str]] = []

    def child(kind: str, names: list[str], folder: Path, metrics: Any) -> list[dict[str, Any]]:
        asked.append(names)
        if names[0].startswith("sobel@10000"):
            return []
        return [{"case": names[0], kind: {"ns": 5, "right": True}}]

    monkeypatch.setattr(measure_unseen, "in_a_child", child)
    lines = tmp_path / "lines"
    append_line(lines, {"case": "sobel@3000", "times": {"ns": 4}})
    with lines.open("a") as cut_off:
        cut_off.write('{"case": "sobel@1\n')
    options = given(only="sobel", lines=lines)
    assert measure_unseen.run_all("times", options) == 1
    assert [names[0] for names in asked] == ["sobel@10000", "sobel_tile@3072", "sobel_tile@10240"]
    rows = lines_of(lines)
    assert rows["sobel@3000"]["times"] == {"ns": 4} and "error" in rows["sobel@10000"]["times"]
    asked.clear()
    assert measure_unseen.run_all("times", options) == 0 and not asked
    assert measure_unseen.run_all("times", given(only="sobel", lines=lines, again=True)) == 1
    assert [names[0] for names in asked] == ["sobel@10000"]
    capsys.readouterr()


PROFILER = """#!{python}
import json, sys
if "--query-metrics" in sys.argv:
    print("Device", "NVIDIA", *(f"a__{{n}}    Counter" for n in range(200)), sep="\\n")
    print("gpu__time_duration  Counter", "smsp__inst_executed  Counter", sep="\\n")
else:
    command = sys.argv[sys.argv.index("--metrics") + 2 :]
    asked, out, names = sys.argv[sys.argv.index("--metrics") + 1], command[4], command[5:]
    assert command[3] == "child_counters"
    print('"ID","Kernel Name",' + ",".join(f'"{{each}}"' for each in asked.split(",")))
    for name in names[:-1]:
        kernel = name.split("@")[0]
        with open(out, "a") as lines:
            print(json.dumps({{"case": name, "kernels": [kernel]}}), file=lines)
        print(f'"0","{{kernel}}",' + ",".join('"7"' for each in asked.split(",")))
    sys.exit(1 if len(names) > 1 else 0)
"""


def test_the_profiler_is_asked_for_what_it_knows_and_again_for_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This profiler leaves out the last case of each run; of a single one it says nothing."""
    ncu = tmp_path / "ncu"
    ncu.write_text(PROFILER.format(python=sys.executable), encoding="utf-8")
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lines = tmp_path / "lines"
    assert measure_unseen.run_all("counters", given(only="sobel", lines=lines)) == 1
    rows = lines_of(lines)
    assert rows["sobel@3000"]["counters"]["ns"] == rows["sobel_tile@3072"]["counters"]["instructions"] == 7
    assert "registers" in rows["sobel@3000"]["counters"] and "dram_bytes_read" not in rows["sobel@3000"]["counters"]
    assert "said nothing" in rows["sobel_tile@10240"]["counters"]["error"]
    assert "not known to the profiler" in capsys.readouterr().err


def test_the_table_has_a_line_for_each_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times, counters, table = tmp_path / "times", tmp_path / "counters", tmp_path / "table.json"
    append_line(times, {"case": "", "described": {"gpu": "a GPU"}})
    append_line(times, {"case": CASES[0].name, "times": {"ns": 5000, "right": True}})
    append_line(counters, {"case": CASES[0].name, "counters": {"launches": 1, "ns": 4000, "instructions": 77}})
    measure_unseen.join([times, counters], table)
    whole = json.loads(table.read_text(encoding="utf-8"))
    assert whole["gpu"] == "a GPU" and len(whole["cases"]) == len(CASES)
    assert len(table.read_text(encoding="utf-8").splitlines()) < len(CASES) + len(measure_unseen.METRICS) + 20
    found = measure_unseen.measured(table)
    assert list(found) == [CASES[0].name]
    assert found[CASES[0].name]["counters"]["instructions"] == 77
    assert found[CASES[0].name]["counters"]["l2_hit_rate"] is None
    assert "1 timed, 1 with counters" in capsys.readouterr().out


ON_THE_SIMULATED_GPU = """
from autograder.simgpu.host import cuda_module
cuda_module.install()
import sys
from pathlib import Path
from autograder.perfmodel.measurements import validation
from autograder.simgpu.measurements import measure_unseen
from autograder.simgpu.measurements.unseen_cases import SIZED
measure_unseen.BY_NAME = {each.name: each.case(each.small) for each in SIZED}
measure_unseen.compile_for = lambda case, arguments: None
measure_unseen.registers_of = lambda launches: [0]
validation.FillL2 = lambda: lambda: None
names = sys.argv[2:]
out = Path(sys.argv[1])
assert measure_unseen.child_times([*names, "no such case"], out) == measure_unseen.FAILED
assert measure_unseen.child_counters(names, out) == 0
"""


def test_the_commands_of_the_device_run_on_the_simulated_one(tmp_path: Path) -> None:
    """Each case is timed from equal arguments: what fills a queue, or sorts, leaves them as they were."""
    names = ["append_to_queue", "jump_chain", "move_bodies", "reverse_blocks"]
    out = tmp_path / "lines"
    command = [sys.executable, "-c", ON_THE_SIMULATED_GPU, str(out), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = lines_of(out)
    assert all(rows[name]["times"]["right"] and rows[name]["times"]["ns"] > 0 for name in names)
    assert rows["jump_chain"]["times"]["launches"] == len(rows["jump_chain"]["kernels"]) == 10
    assert rows["jump_chain"]["times"]["host_ns"] > 0 and "host_ns" not in rows["move_bodies"]["times"]
    assert "error" in rows["no such case"]["times"]


def test_a_chain_launches_the_same_arrays_again() -> None:
    entry = BY_NAME["heat_chain"]
    arguments = entry.case(entry.small).make_arguments()
    launches = entry.case(entry.small).launches(arguments)
    assert len(launches) == 62 and all(isinstance(each, SizedLaunch) for each in launches)
    assert launches[0].arguments[0] is launches[1].arguments[1] is arguments[0]


@pytest.mark.parametrize(("name", "entry"), APART, ids=lambda each: each if isinstance(each, str) else each.name)
def test_a_kernel_of_a_set_apart_is_of_neither_half_and_was_right_on_a_gpu(name: str, entry: Sized) -> None:
    rows = [row for row in APART_MEASURED[name] if row["case"].split("@")[0] == entry.name]
    assert [row["half"] for row in rows] == [name, name] == [entry.half, entry.half]
    assert {row["case"] for row in rows} == {entry.case(size).name for size in (entry.middle, entry.large)}
    assert all(row["times"]["right"] is True and row["times"]["ns"] > 0 for row in rows)
    assert entry.name not in BY_NAME


def test_no_set_has_a_kernel_of_another() -> None:
    names = [each.name for each in (*SIZED, *(each for entries in SETS.values() for each in entries))]
    assert len(set(names)) == len(names) and min(map(len, SETS.values())) > 60
