"""Quotients, functions of `math`, rotations, arms and rounds: what machine code takes, as the emulator counted it."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from autograder.simgpu.measurements.machine_code_emulator.quotients_and_functions import (
    KERNELS,
    RESULT,
    ROTATIONS,
    ROUNDS,
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
    others = COUNTED.keys() - ROTATIONS.keys() - ROUNDS.keys()
    errors = [abs(ours(name) / COUNTED[name] - 1) for name in others]
    assert np.median(errors) <= 0.03 and np.quantile(errors, 0.9) <= 0.08 and max(errors) <= 0.201


def test_a_rotation_is_one_instruction_and_so_only_by_amounts_that_make_up_the_width() -> None:
    assert all(abs(ours(name) / COUNTED[name] - 1) < 0.065 for name in ROTATIONS)
    turned, not_turned = "rotation", "no rotation"
    assert ours(not_turned) - ours(turned) == COUNTED[not_turned] - COUNTED[turned] == 2 * WARPS


def test_rounds_in_arms_and_of_local_arrays_are_near_those_of_machine_code() -> None:
    assert all(abs(ours(name) / COUNTED[name] - 1) < 0.19 for name in ROUNDS)


@pytest.mark.parametrize("name", ["bytes by 10", "quotient of bytes", "masked by 5"])
def test_a_quotient_of_few_bits_takes_what_machine_code_takes(name: str) -> None:
    assert abs(ours(name) - COUNTED[name]) <= WARPS


def test_constants_of_64_bits_are_moved_in_each_round_and_once_for_two_calls() -> None:
    once, twice, rounds = ours("exp, float64"), ours("exp, float64, twice"), ours("exp, float64, while")
    assert twice < 1.6 * once and rounds > 16 * once
    assert ours("exp, float32, while") < 16 * ours("exp, float32")


def test_arms_that_differ_by_a_number_are_one_statement() -> None:
    assert ours("arms: one loaded before") - COUNTED["arms: one loaded before"] <= 4 * WARPS
