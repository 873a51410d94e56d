"""What falls short, in figures: the README's are those that were measured, and counted work is what the profiler counts."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import perfmodel
from autograder.grading.known_answers import profiled
from autograder.grading.known_answers.answers import known_answers
from autograder.grading.known_answers.counting import program_of
from autograder.grading.labs import load_lab
from autograder.perfmodel import SPECIFICATIONS, estimate, occupancy
from autograder.perfmodel.measurements import unseen, verdicts
from autograder.perfmodel.prediction import Resident, Traffic
from autograder.records.counters import Counters
from autograder.records.runs import RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

LIMITS = json.loads(Path(verdicts.__file__).with_name("limits.json").read_text(encoding="utf-8"))
HERE = Path(perfmodel.__file__).parent
README = " ".join("".join((HERE / name).read_text(encoding="utf-8") for name in ("README.md", "MISSES.md")).split())
ATOMICS, PLACES = LIMITS["atomics"], LIMITS["G sectors/s at random places"]
UPDATES, ROWS = LIMITS["lanes/ns without atomics"], LIMITS["microseconds of launches in a row"]
HOST = LIMITS["microseconds of the host for a launch"]


def launched_once() -> Iterator[tuple[dict[str, Any], Counters, dict[str, Any], dict[str, float]]]:
    """Of the sets that are learned from: a case as it was timed, the counted launch, and the profiler's counters."""
    for half, counted_file, measured_file in unseen.LEARNED_FROM:
        counted = {row["case"]: row["launches"] for row in json.loads(counted_file.read_text(encoding="utf-8"))}
        measured = json.loads(measured_file.read_text(encoding="utf-8"))
        for row in measured["cases"]:
            launches = counted.get(row["case"], ())
            is_one = row["half"] == half and len(launches) == 1 and launches[0]["times"] == 1
            if is_one and isinstance(row["counters"], list):
                profiled_as = dict(zip(measured["metrics"], row["counters"], strict=True))
                yield row, Counters(**launches[0]["counters"]), launches[0], profiled_as


def test_what_l2_keeps_of_stores_is_missing_from_what_dram_was_sent() -> None:
    """In millions of bytes: how far off what goes to DRAM is, and would be if all that is stored went there."""
    h200, off, off_otherwise = SPECIFICATIONS["H200"], [], []
    for row, counters, launch, seen in launched_once():
        registers, shared = max(row["times"]["registers"]), launch["shared_bytes_per_block"]
        fit = occupancy(h200, launch["threads_per_block"], shared, registers)
        resident = Resident.of(counters, h200, fit, shared)
        traffic = Traffic.of(counters, h200, launch["array_bytes"], resident)
        others = traffic.dram_scattered_stores or counters.local_bytes or counters.global_atomic_requests
        stored = 32 * counters.unique_store_sectors / 1e6
        if not others and stored > 4:
            off.append(abs(32 * traffic.dram_store_sectors - seen["dram_bytes_written"]) / 1e6)
            off_otherwise.append(abs(stored - seen["dram_bytes_written"] / 1e6))
    now, otherwise = np.median(off), np.median(off_otherwise)
    words = f"in {len(off)} launches that is right to {now:.1f} million bytes in the median, not to {otherwise:.0f}."
    assert f"By what DRAM was sent {words}" in README and np.quantile(off, 0.9) < np.quantile(off_otherwise, 0.9) / 2


def test_of_few_turns_and_of_many_the_readme_says_how_far_off_predictions_are() -> None:
    h200, off = SPECIFICATIONS["H200"], defaultdict[tuple[str, bool], list[float]](list)
    for row, counters, launch, _ in launched_once():
        registers, shared = max(row["times"]["registers"]), launch["shared_bytes_per_block"]
        found = estimate(
            counters, h200, threads_per_block=launch["threads_per_block"], shared_bytes_per_block=shared,
            registers_per_thread=registers, array_bytes=launch["array_bytes"],
        )  # fmt: skip
        fit = occupancy(h200, launch["threads_per_block"], shared, registers)
        turns = counters.blocks / counters.launches / (fit.blocks * h200.multiprocessors)
        if turns < 0.5 or turns >= 64:
            off[found.binding, turns < 0.5].append(100 * (found.ns / row["times"]["ns"] - 1))
    few, many = ([float(np.median(off[binding, each])) for binding in ("issue", "L2")] for each in (True, False))
    assert f"now it is {-few[0]:.0f} and {-few[1]:.0f} %, {many[0]:.0f} and {many[1]:.0f}." in README


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        ("1.9 a nanosecond over 256 places", [UPDATES["load and store, 256 places"]]),
        ("where stores alone reach 194", [UPDATES["store, 256 places"]]),
        ("(over 4,096 places 2.0 and 13)", [UPDATES["load and store, 4096 places"], UPDATES["store, 4096 places"]]),
        ("0.6 float32 additions a nanosecond, 1.4", [ATOMICS[f"global, {t}, one place"] for t in ("float32", "int32")]),
        ("over 256 places both 3.8", [ATOMICS["global, float32, 256 places"]]),
        (
            "0.02 lanes a cycle on one place, 1.1 on 256, 1.9 on 4,096",
            [ATOMICS[f"shared, float32, {n} places"] for n in (1, 256, 4096)],
        ),
        ("of int32 0.9 to 4.0", [ATOMICS[f"shared, int32, {n} places"] for n in (1, 4096)]),
        ("at 74 G sectors a second, stores to as much at 24", [PLACES["loads, 64 MiB"], PLACES["stores, 64 MiB"]]),
        ("(17 G sectors a second, measured on 256 MiB)", [PLACES["stores, 256 MiB"]]),
        ("A launch keeps the host busy for 20 microseconds", [HOST["2 arrays"]]),
        ("six take 57", [HOST["6 arrays"]]),
        ("cost 1.3 microseconds each", [(ROWS["100 empty launches"] - ROWS["1 empty launches"]) / 99]),
    ],
)
def test_the_readme_s_figures_are_the_measured_ones(words: str, measured: list[float]) -> None:
    assert words in README
    told = words.replace("4,096 places", "").replace("256 places", "").replace("float32", "").replace("int32", "")
    told = told.replace("on 256 MiB", "").replace("on 256", "").replace("on 4,096", "")
    numbers = [each.strip("(),") for each in told.split()]
    numbers = [each for each in numbers if each.replace(".", "").isdigit()]
    for number, figure in zip(numbers, measured, strict=True):
        assert f"{figure:.{len(number.partition('.')[2])}f}" == number


def counted(lab: str, name: str) -> dict[str, int]:
    """The counters of the launch that does most."""
    check = verdicts.speed_checks(lab)[0]
    path = verdicts.SOLUTIONS / lab / "calibration" / "counted.json"
    rows = json.loads(path.read_text(encoding="utf-8"))[check]["launches"][name]
    return max((row["counters"] for row in rows), key=lambda each: each["warp_instructions"])


def profile_of(lab: str, name: str) -> dict[str, float]:
    path = verdicts.SOLUTIONS / lab / "calibration" / "profiled.json"
    return max(json.loads(path.read_text(encoding="utf-8"))[name], key=lambda each: each["warp instructions"])


# What was profiled: the sizes that labs timed then. Those of today come from the seed.
PROFILED: dict[str, RunRequest] = {
    "lab02_tiled_matmul": RunRequest(
        "matmul_tiled",
        {name: np.ones((1024, 1024), np.float32) for name in "ab"} | {"c": Uninitialised((1024, 1024), np.float32)},
        sample_blocks=2,
    ),
    "lab04_reduction": RunRequest(
        "total_sum",
        {
            "values": np.ones(2**24, np.float32),
            "scratch": Uninitialised((131_072,), np.float32),
            "total": Uninitialised((1,), np.float32),
        },
        sample_blocks=2,
    ),
    "lab05_histogram": RunRequest(
        "histogram",
        {"items": np.arange(2**20, dtype=np.int32) % 256, "bins": Uninitialised((256,), np.int32)},
    ),
}


def counted_as_profiled(lab: str, name: str) -> Counters:
    """What the compiler leaves of the launch that does most, at the size that was profiled."""
    run = SimulatedDevice().run(
        program_of(known_answers(load_lab(lab))[name]), replace(PROFILED[lab], work_limit=10**9)
    )
    found = [each.compiled for each in run.launches if each.compiled is not None]
    return max(found, key=lambda each: each.warp_instructions)


@pytest.mark.parametrize(
    ("lab", "name", "counter", "metric"),
    [
        ("lab02_tiled_matmul", "wrong/local_tiles", "local_load_requests", "local load requests"),
        ("lab02_tiled_matmul", "wrong/local_tiles", "local_store_requests", "local store requests"),
        ("lab04_reduction", "wrong/array_of_each_thread", "local_store_requests", "local store requests"),
        ("lab05_histogram", "wrong/a_copy_a_thread", "local_store_requests", "local store requests"),
        ("lab02_tiled_matmul", "wrong/sums_in_c_from_the_start", "global_load_requests", "global load requests"),
        ("lab02_tiled_matmul", "wrong/sums_in_c_from_the_start", "global_store_requests", "global store requests"),
    ],
)
def test_local_arrays_and_sums_in_registers_are_counted_as_by_the_profiler(
    lab: str, name: str, counter: str, metric: str
) -> None:
    assert getattr(counted_as_profiled(lab, name), counter) == profile_of(lab, name)[metric] > 0


def test_atomics_at_a_common_index_are_as_few_as_the_profiler_sees() -> None:
    """The profiler splits some sectors in two; 32 lanes each would be 35 million."""
    lab, name = "lab05_histogram", "wrong/every_thread_merges_every_bin"
    ratio = profile_of(lab, name)["atomic sectors in L2"] / counted(lab, name)["global_atomic_sectors"]
    assert 1 <= ratio <= 2


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (
            "72 million wavefronts",
            lambda p: round(p("dynamic/one_array_for_both_tiles")["shared wavefronts"] / 1e6) == 72,
        ),
        ("56 million", lambda p: round(p("right/flat_tiles")["shared wavefronts"] / 1e6) == 56),
        ("with 48 registers", lambda p: p("dynamic/one_array_for_both_tiles")["registers a thread"] == 48),
        (
            "16,100 instructions a warp",
            lambda p: p("right/registers_a_column_each")["warp instructions"] // 8192 == 16069,
        ),
    ],
)
def test_the_readme_s_words_on_lab_2_are_the_profiler_s(words: str, holds: Callable[..., Any]) -> None:
    assert words in README
    assert holds(lambda name: profile_of("lab02_tiled_matmul", name))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Of `one_element_a_thread` the profiler saw 332 instructions a warp, counted are 340", "one_element_a_thread"),
        ("of `no_grid_stride`, which has no loop over the elements, 263 and 270", "no_grid_stride"),
    ],
)
def test_the_readme_s_instructions_of_lab_4_are_the_profiler_s_and_the_counted_ones(words: str, name: str) -> None:
    counters = counted_as_profiled("lab04_reduction", f"wrong/{name}")
    profile = profile_of("lab04_reduction", f"wrong/{name}")
    seen = profile["warp instructions"] / profile["global load requests"]  # a load a warp
    assert words in README
    assert [f"{seen:.0f}", f"{counters.issued_warp_instructions / counters.warps:.0f}"] == re.findall(
        r"\b\d{3}\b", words
    )


def page(*kernels: str) -> list[str]:
    """A page of the profiler's, with what else it prints."""
    quoted = ",".join(f'"{metric}"' for metric in profiled.METRICS.values())
    rows = [
        f'"{at}","{kernel}[abi:v1](Array<float>)",' + ",".join(['"2,000"'] * len(profiled.METRICS))
        for at, kernel in enumerate(kernels)
    ]
    return [
        "==PROF== Connected",
        f'"ID","Kernel Name",{quoted}',
        '"","",' + ",".join(['"ns"'] * len(profiled.METRICS)),
        *rows,
    ]


def test_the_profiler_s_rows_go_to_the_answers_that_launched_them() -> None:
    found = profiled.by_answer(
        page("fill", "clear", "count", "fill", "count"), {"one": ["clear", "count"], "two": ["count"]}
    )
    assert {name: [each["kernel"] for each in rows] for name, rows in found.items()} == {
        "one": ["clear", "count"], "two": ["count"],
    }  # fmt: skip
    assert found["two"][0]["microseconds"] == 2.0 and found["two"][0]["cycles"] == 2000.0
    with pytest.raises(ValueError, match="no `count` of two"):
        profiled.by_answer(page("clear", "count"), {"one": ["clear", "count"], "two": ["count"]})
