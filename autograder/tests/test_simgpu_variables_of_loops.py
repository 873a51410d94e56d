"""Variables of loops, against the instructions that machine code has for them."""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions
from autograder.simgpu.measurements.machine_code_emulator import variables_of_loops as measured

COUNTED: dict[str, int] = json.loads(measured.RESULT.read_text(encoding="utf-8"))
MOST, USUAL, NINE_OF_TEN, USUAL_OF_WHOLE = 0.125, 0.015, 0.115, 0.04


@cache
def errors() -> dict[str, float]:
    return {name: abs(measured.simulated(name) / counted - 1) for name, counted in COUNTED.items()}


def test_the_table_has_every_kernel() -> None:
    assert list(COUNTED) == list(measured.KERNELS)


def test_all_but_those_named_have_the_instructions_of_machine_code() -> None:
    assert {name for name, error in errors().items() if error > MOST} == set(measured.OFF)


def test_most_are_nearer() -> None:
    found = [error for name, error in errors().items() if not name.startswith("whole")]
    assert np.median(found) < USUAL
    assert np.quantile(found, 0.9) < NINE_OF_TEN


def test_most_whole_kernels_are_near() -> None:
    found = [error for name, error in errors().items() if name.startswith("whole")]
    assert np.median(found) < USUAL_OF_WHOLE


def instructions(body: str, result: str = "a - b") -> int:
    """Those of a loop with two conditions, for a warp."""
    source = measured.BEGIN + "    j = 0\n    while j < n and a < 100000:\n"
    source += "".join(f"        {each}\n" for each in body.split("; ")) + f"        j += 1\n    o[i] = {result}\n"
    kernel = quotients_and_functions.function_of(source, {})
    record = launch_once(kernel, 1, 32, *measured.arguments("two conditions, f8"))
    return record.compiled.issued_warp_instructions


def test_an_exchange_takes_the_same_however_it_is_written() -> None:
    expected = instructions("a, b = b, a + b")
    assert instructions("t = a; a = b; b = t + b") == expected
    assert instructions("t = a + b; a = b; b = t") == expected


def test_what_nobody_reads_is_not_copied() -> None:
    kept = instructions("c = a; a = a * b + x[7]", "a - c")
    assert instructions("c = a; a = a * b + x[7]", "a - b") < kept


def test_a_copy_of_eight_bytes_takes_two_instructions() -> None:
    """The old value is asked for once the new one is there, which then waits in other registers."""
    waits, is_there = "t = a * b + x[7]; c = t - a; a = t", "t = a * b + x[7]; c = t - b; a = t"
    assert instructions(waits) - instructions(is_there) == 2 * measured.ROUNDS
