"""Elements of arrays and loops over them: what machine code takes for them, held to counts of the emulator."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from autograder.simgpu.measurements.machine_code_emulator.element_addresses import (
    BY_HAND,
    KERNELS,
    LOOPS,
    NEIGHBOURS,
    NESTS,
    RESULT,
    SHAPES,
    shape,
    simulated,
)

COUNTED: dict[str, int] = json.loads(RESULT.read_text(encoding="utf-8"))
# To one instruction: what nearly all kernels are made of.
EXACT = [
    "hand", "hand of shape", "hand guard returns", "hand 2d", "hand const", "copy", "sum of two", "transposed", "copy 3d",
    "record field", "record fields", "record update", "record updates", "record set", "record held", "record in arms",
    "const rows", "const rows twice", "plus one", "plus half", "guarded both", "four of a group", "stores of a pair",
    "double constant", "double two constants", "uint8 mod", "guarded stencil", "five", "five by three", "five two",
]  # fmt: skip


@cache
def ours(name: str) -> int:
    return simulated(name)


def test_each_kernel_was_counted() -> None:
    assert COUNTED.keys() == {*BY_HAND, *KERNELS} and set(SHAPES) == {kind for kind, _ in KERNELS.values()}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_in_nearly_every_kernel_takes_what_machine_code_takes(name: str) -> None:
    grid, block = shape(name)
    warps = int(np.prod(grid)) * int(np.prod(block)) // 32
    assert abs(ours(name) - COUNTED[name]) <= warps


def test_instructions_are_near_those_of_machine_code() -> None:
    """Without neighbourhoods, which are further off and have a bound of their own below."""
    apart = NEIGHBOURS.keys() | NESTS.keys()
    errors = {name: abs(ours(name) / counted - 1) for name, counted in COUNTED.items() if name not in apart}
    straight, loops = ([error for name, error in errors.items() if (name in LOOPS) == of] for of in (False, True))
    assert np.median(straight) <= 0.01 and np.quantile(straight, 0.9) <= 0.07
    assert np.median(loops) <= 0.05 and np.quantile(loops, 0.9) <= 0.14


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_arm_computes_anew_what_the_innermost_of_nested_loops_changes(name: str) -> None:
    """Those inside had 0.6 of machine code's instructions before, and those with signs alone 1.3 times as many."""
    assert abs(ours(name) / COUNTED[name] - 1) < 0.2


@pytest.mark.parametrize("name", NESTS)
def test_a_nest_of_loops_takes_what_machine_code_takes(name: str) -> None:
    assert abs(ours(name) / COUNTED[name] - 1) < 0.2


def test_a_field_is_reached_from_where_its_record_begins() -> None:
    assert ours("record fields") - ours("record field") == COUNTED["record fields"] - COUNTED["record field"]
    assert ours("record held") == ours("record held by name")


def test_what_lies_within_a_multiple_has_its_address() -> None:
    """`a[2 * i + 1]` is next to `a[2 * i]`, whatever the sign of i; `a[3 * i + 1]` is not known to be."""

    def more(of: str, than: str) -> tuple[int, int]:
        return ours(of) - ours(than), COUNTED[of] - COUNTED[than]

    a_load_and_a_sum = 2 * 8  # of eight warps
    assert more("two of a pair", "shifted")[0] <= 2 * a_load_and_a_sum
    assert more("tripled twice", "tripled")[0] > 2 * a_load_and_a_sum < more("tripled twice", "tripled")[1]
