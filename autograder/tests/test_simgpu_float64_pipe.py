"""Instructions of the pipe of float64, against those that machine code has and those that an H200 carried out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.perfmodel import SPECIFICATIONS, estimate
from autograder.perfmodel.measurements import unseen
from autograder.records.counters import Counters
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator import float64_pipe as measured
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions as others

COUNTED: dict[str, tuple[int, int]] = json.loads(measured.RESULT.read_text(encoding="utf-8"))
MOST, USUAL = 0.1, 0.03
NOTABLE = 0.02  # the share of a kernel's instructions from which on the pipe of float64 may be held against the profiler's


def test_the_table_has_every_kernel() -> None:
    assert list(COUNTED) == list(measured.KERNELS)


@pytest.mark.parametrize("name", COUNTED)
def test_a_kernel_has_the_instructions_of_machine_code(name: str) -> None:
    instructions, of_float64 = measured.simulated(name)
    assert of_float64 == COUNTED[name][1]
    assert instructions == pytest.approx(COUNTED[name][0], rel=MOST)


def test_most_are_nearer() -> None:
    errors = [abs(measured.simulated(name)[0] / counted - 1) for name, (counted, _) in COUNTED.items()]
    assert np.median(errors) < USUAL


def pairs() -> list[tuple[float, float]]:
    """Counted on the simulated GPU and by the profiler, of all cases that may be looked into and have some."""
    found = []
    for half, counted_file, measured_file in unseen.LEARNED_FROM:
        profiled = json.loads(measured_file.read_text(encoding="utf-8"))
        names = list(profiled["metrics"])
        counted = {row["case"]: row for row in json.loads(counted_file.read_text(encoding="utf-8"))}
        for row in profiled["cases"]:
            if row["half"] != half or row["case"] not in counted or not isinstance(row["counters"], list):
                continue
            seen = dict(zip(names, row["counters"], strict=True))
            launches = counted[row["case"]]["launches"]
            ours = sum(each["times"] * Counters(**each["counters"]).issued_float64_instructions for each in launches)
            if max(ours, seen["pipe_fp64"] or 0) > NOTABLE * seen["instructions"]:
                found.append((ours, seen["pipe_fp64"] or 0.0))
    return found


def test_most_unseen_kernels_have_as_many_as_the_h200_counts() -> None:
    found = pairs()
    assert len(found) > 200
    near = [abs(ours - theirs) <= 0.25 * theirs for ours, theirs in found]
    assert np.mean(near) > 0.8


def test_the_same_kernel_in_float64_takes_a_t4_many_times_as_long() -> None:
    """A T4 has a lane of float64 for 32 of float32: a number without its type, as `0.1`, may cost that much."""
    times = {}
    for number in ("0.1", "float32(0.1)"):
        text = "def kernel(a, o):\n    i = cuda.grid(1)\n    s = a[i]\n    for k in range(40):\n"
        kernel = others.function_of(f"{text}        s = s * s + {number}\n    o[i] = s\n", {})
        arrays = np.full(1 << 14, 0.5, np.float32), np.zeros(1 << 14, np.float32)
        counted = launch_once(kernel, 64, 256, *arrays).compiled.times(256)
        found = estimate(counted, SPECIFICATIONS["T4"], threads_per_block=256)
        times[number] = found.ns
        assert (found.binding == "float64") == (number == "0.1")
    assert times["0.1"] > 8 * times["float32(0.1)"]
