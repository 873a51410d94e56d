"""Quotients, functions of `math`, and arms that differ by a number: what machine code takes, as the emulator counted it."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from autograder.simgpu.measurements.machine_code_emulator.quotients_and_functions import (
    KERNELS,
    RESULT,
    WARPS,
    simulated,
)

COUNTED: dict[str, int] = json.loads(RESULT.read_text(encoding="utf-8"))


@cache
def ours(name: str) -> int:
    return simulated(name)


def test_each_kernel_was_counted() -> None:
    assert COUNTED.keys() == KERNELS.keys()


def test_instructions_are_near_those_of_machine_code() -> None:
    errors = [abs(ours(name) / counted - 1) for name, counted in COUNTED.items()]
    assert np.median(errors) <= 0.03 and np.quantile(errors, 0.9) <= 0.08 and max(errors) <= 0.201


@pytest.mark.parametrize("name", ["bytes by 10", "quotient of bytes", "masked by 5"])
def test_a_quotient_of_few_bits_takes_what_machine_code_takes(name: str) -> None:
    assert abs(ours(name) - COUNTED[name]) <= WARPS


def test_constants_of_64_bits_are_moved_in_each_round_and_once_for_two_calls() -> None:
    once, twice, rounds = ours("exp, float64"), ours("exp, float64, twice"), ours("exp, float64, while")
    assert twice < 1.6 * once and rounds > 16 * once
    assert ours("exp, float32, while") < 16 * ours("exp, float32")


def test_arms_that_differ_by_a_number_are_one_statement() -> None:
    assert ours("arms: one loaded before") - COUNTED["arms: one loaded before"] <= 4 * WARPS
