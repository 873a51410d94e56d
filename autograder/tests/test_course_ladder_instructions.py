"""What is counted of lesson 8's ladder, against the machine code that the compiler makes of it, and predicted times."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from autograder.course.lesson08 import instructions
from autograder.course.lesson08.instructions import RUNGS, arguments, depth_of
from autograder.course.lesson08.launching import Rung
from autograder.records.counters import Counters
from autograder.simgpu.host.single_launch import launch_once
from autograder.tests.part import first_of

COMPILED: dict[str, dict[str, Any]] = json.loads(instructions.COMPILED.read_text(encoding="utf-8"))["rungs"]
INSTRUCTIONS_OFF = 0.10
FURTHER_OFF = {"small tiles": 0.15}  # rows of B's places are worked out before the loop over tiles, and here in it


@cache
def counted(rung: Rung, tiles: int) -> tuple[Counters, int]:
    """What one block does in so many tiles, and its warps; its result is right. Several tests ask for it."""
    given = arguments(rung, tiles)
    record = launch_once(rung.kernel, 1, rung.block, *given)
    assert (given[2] == tiles * depth_of(rung)).all() and not record.hazards
    return record.compiled, record.compiled.warps


@pytest.mark.parametrize("rung", first_of(RUNGS, tried=3, name=lambda rung: rung.name))
def test_a_tile_takes_what_its_machine_code_has(rung: Rung) -> None:
    (few, warps), (many, _) = counted(rung, 2), counted(rung, 4)
    tile, once = COMPILED[rung.name]["tile"], COMPILED[rung.name]["once"]

    def of_a_tile(name: str) -> float:
        return (getattr(many, name) - getattr(few, name)) / 2 / warps

    for name, opcodes in {
        "global_load_requests": ("LDG",), "shared_load_requests": ("LDS", "LDS.64", "LDS.128"),
        "shared_store_requests": ("STS", "STS.64", "STS.128"), "local_load_requests": ("LDL",), "barriers": ("BAR",),
        "local_store_requests": ("STL",),
    }.items():  # fmt: skip
        assert of_a_tile(name) == sum(tile.get(each, 0) for each in opcodes), name
    assert of_a_tile("issued_warp_instructions") == pytest.approx(
        tile["instructions"], rel=FURTHER_OFF.get(rung.name, INSTRUCTIONS_OFF)
    )
    assert many.global_store_requests == warps * once["STG"]
    assert many.float32_operations == 2 * many.threads * tile["FFMA"] * 4


def test_the_sums_lie_in_registers_and_so_says_the_compiler() -> None:
    assert all(each["spilled_bytes"] == 0 for each in COMPILED.values())
    assert all("LDL" not in each["tile"] and "STL" not in each["once"] for each in COMPILED.values())


@pytest.mark.parametrize("name", ["ahead", "flat", "deep"])
def test_loads_of_the_next_tile_are_ahead(name: str) -> None:
    rung = next(each for each in RUNGS if each.name == name)
    (few, _), (many, _) = counted(rung, 2), counted(rung, 4)
    assert many.global_loads_ahead - few.global_loads_ahead == many.global_load_requests - few.global_load_requests
    assert few.global_loads_ahead < few.global_load_requests, "those of the first tile are waited for"


@pytest.mark.parametrize("name", ["strips", "unsigned", "spread"])
def test_loads_that_are_stored_at_once_are_not_ahead(name: str) -> None:
    rung = next(each for each in RUNGS if each.name == name)
    assert counted(rung, 2)[0].global_loads_ahead == 0
