"""Random numbers: what their generators' states move, and their instructions, as the emulator counted them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.simgpu.measurements.machine_code_emulator.draws import COUNTERS, KERNELS, RESULT, simulated

COUNTED: dict[str, dict[str, int]] = json.loads(RESULT.read_text(encoding="utf-8"))


def test_each_kernel_was_counted() -> None:
    assert COUNTED.keys() == KERNELS.keys()


@pytest.mark.parametrize("name", KERNELS)
def test_a_state_is_loaded_once_and_stored_once_where_the_compiler_keeps_it(name: str) -> None:
    ours = simulated(name)
    has_table = name.endswith("normal_float64")  # it loads cosines
    for each in COUNTERS[2:] if has_table else COUNTERS:
        assert ours[each] == COUNTED[name][each], each
    assert abs(ours["instructions"] / COUNTED[name]["instructions"] - 1) < 0.15


def test_instructions_are_near_those_of_machine_code() -> None:
    errors = [abs(simulated(name)["instructions"] / COUNTED[name]["instructions"] - 1) for name in KERNELS]
    assert np.median(errors) < 0.05
