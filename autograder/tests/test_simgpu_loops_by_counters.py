"""Loops of constant length and quotients that come again, against the instructions that machine code has for them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator import loops_by_counters as measured
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions

COUNTED: dict[str, int] = json.loads(measured.RESULT.read_text(encoding="utf-8"))
MOST, USUAL = 0.15, 0.03


def test_the_table_has_every_kernel() -> None:
    assert list(COUNTED) == list(measured.KERNELS)


def is_large(name: str) -> bool:
    """Whether it takes longer than others of its kind, which say nearly the same."""
    return name.startswith("160 ") or name.endswith((", 12", ", 24"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=pytest.mark.rest if is_large(each) else ())
        for each in COUNTED
        if each not in measured.OFF
    ],
)
def test_a_kernel_has_the_instructions_of_machine_code(name: str) -> None:
    assert measured.simulated(name) == pytest.approx(COUNTED[name], rel=MOST)


def test_most_are_nearer() -> None:
    errors = [abs(measured.simulated(name) / counted - 1) for name, counted in COUNTED.items() if not is_large(name)]
    assert np.median(errors) < USUAL


@pytest.mark.parametrize("name", measured.OFF)
def test_what_is_told_to_be_off_is_off(name: str) -> None:
    assert abs(measured.simulated(name) / COUNTED[name] - 1) > MOST


def test_a_long_body_that_squares_its_sum_is_prepared_at_once() -> None:
    """Its value, written out, would double with each statement."""
    rounds, statements = 8, 60
    source = "def kernel(a, out):\n    r = cuda.local.array(8, float32)\n    s = a[0]\n"
    source += "    for k in range(8):\n        r[k] = s\n    for k in range(8):\n        s += r[k]\n"
    source += "        s = s * s + float32(0.125)\n" * statements + "    out[0] = s\n"
    kernel = quotients_and_functions.function_of(source, {})
    out = np.zeros(1, np.float32)
    launch_once(kernel, 1, 1, np.full(1, 0.25, np.float32), out)
    expected = 0.25
    for _ in range(rounds):
        expected += 0.25
        for _ in range(statements):
            expected = expected * expected + 0.125
    assert out[0] == pytest.approx(expected, rel=1e-5)
