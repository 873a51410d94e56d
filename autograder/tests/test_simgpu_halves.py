"""Integers of 32 and of 64 bits: what machine code leaves of their arithmetic, held to counts of the emulator."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from autograder.simgpu.measurements.machine_code_emulator.integer_halves import (
    BLOCK,
    BODIES,
    GRID,
    OUTCOMES,
    RESULT,
    simulated,
)

COUNTED: dict[str, dict[str, int]] = json.loads(RESULT.read_text(encoding="utf-8"))
WARPS = GRID * BLOCK // 32
IN_LOOPS = [name for name, body in BODIES.items() if "for " in body or "while " in body]
WRITTEN_OUT = {"64 rounds that count", "56 rounds that count by two"}
# `a * b + d * a` is one product of a sum to the compiler; of places it makes 64 bits before it multiplies; of shifts to
# either side it knows which bits are left.
REARRANGED = {"two products", "threads", "row of a table", "two of a device function", "shifts"}


@cache
def ours(name: str, outcome: str) -> int:
    return simulated(name, outcome)


def test_each_kernel_was_counted() -> None:
    assert COUNTED.keys() == BODIES.keys() and {tuple(each) for each in COUNTED.values()} == {OUTCOMES}


def test_instructions_are_near_those_of_machine_code() -> None:
    off = {name: [abs(ours(name, each) / counts[each] - 1) for each in counts] for name, counts in COUNTED.items()}
    errors = [each for of_one in off.values() for each in of_one]
    assert np.median(errors) <= 0.06 and np.quantile(errors, 0.9) <= 0.11
    # Of the loops that are written out whole, whose rounds add under a condition, too few instructions are counted.
    assert max(each for name in off.keys() - WRITTEN_OUT for each in off[name]) < 0.22
    assert max(each for name in WRITTEN_OUT for each in off[name]) < 0.32


@pytest.mark.parametrize("name", sorted(BODIES.keys() - set(IN_LOOPS) - REARRANGED))
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_expression_takes_what_it_takes_beside_a_copy(name: str, outcome: str) -> None:
    """To two instructions; its loads are among them."""
    theirs = (COUNTED[name][outcome] - COUNTED["copy"][outcome]) / WARPS
    assert abs((ours(name, outcome) - ours("copy", outcome)) / WARPS - theirs) <= 2


@pytest.mark.parametrize(
    "name", ["factors", "hash", "hash by while", "total by while", "Horner", "sum of three", "product of three"]
)
def test_the_high_half_of_what_is_stored_in_32_bits_is_not_computed(name: str) -> None:
    assert ours(name, "int32") < ours(name, "int64") and COUNTED[name]["int32"] < COUNTED[name]["int64"]


@pytest.mark.parametrize(
    "name",
    ["dot product", "dot product by while", "weights", "product", "masked hash", "masked hash of 32 bits", "greatest"],
)
def test_of_products_of_32_bits_and_of_what_is_masked_both_take_the_same(name: str) -> None:
    assert ours(name, "int32") == ours(name, "int64")
    assert COUNTED[name]["int64"] - COUNTED[name]["int32"] <= 2 * WARPS


def test_a_loop_that_counts_is_written_out_where_the_compiler_does_so() -> None:
    few, many = "64 rounds that count", "72 rounds that count"
    for counted in (ours, lambda name, outcome: COUNTED[name][outcome]):
        assert counted(few, "int32") < 64 * 8 * WARPS < 2 * 64 * 8 * WARPS < counted(many, "int32")
        assert counted("56 rounds that count by two", "int32") < 56 * 8 * WARPS


def test_one_instruction_multiplies_and_adds() -> None:
    """Each round of a dot product has one more load, with its address, and no more arithmetic than a sum of 64 bits."""
    rounds = 256 * WARPS
    by_while = {name: ours(f"{name} by while", "int64") / rounds for name in ("total", "dot product")}
    theirs = {name: COUNTED[f"{name} by while"]["int64"] / rounds for name in by_while}
    for counts in (by_while, theirs):
        assert counts["dot product"] - counts["total"] < 1


def test_a_device_function_takes_what_its_text_takes_in_its_place() -> None:
    for outcome in OUTCOMES:
        assert ours("in a device function", outcome) == ours("hash under a mask", outcome)
        assert COUNTED["in a device function"][outcome] == COUNTED["hash under a mask"][outcome]
