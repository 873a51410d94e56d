"""What was counted and measured of the launches that the map shows, as committed beside the notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from autograder.course.data import DATA
from autograder.course.lesson09.counting import ComparedPair, Figures

COUNTED, MEASURED = DATA / "map_counted.json", DATA / "map_h200.json"


@cache
def _read(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def counted() -> Mapping[str, ComparedPair]:
    """The launches that were timed, as the simulated GPU counts them, by technique."""
    found = {}
    for technique, each in _read(COUNTED.name)["pairs"].items():
        without, with_it = each["without"], each["with"]
        names = (without["kernel"], with_it["kernel"])
        if names[0] == names[1]:
            names = ("many blocks", "few blocks")
        found[technique] = ComparedPair(technique, names, Figures(**without["figures"]), Figures(**with_it["figures"]))
    return found


def predicted() -> dict[str, float]:
    """How many times as fast the model says that an H200 is with each technique."""
    pairs = _read(COUNTED.name)["pairs"]
    return {name: each["without"]["estimated_ns"] / each["with"]["estimated_ns"] for name, each in pairs.items()}


def measured() -> dict[str, float]:
    """How many times as fast the H200 was with each technique."""
    pairs = _read(MEASURED.name)["pairs"]
    return {name: each["without_milliseconds"] / each["with_milliseconds"] for name, each in pairs.items()}


def patients_ms() -> dict[str, dict[str, float]]:
    """Milliseconds on the H200, by patient and by what was done to it."""
    return {name: each["milliseconds"] for name, each in _read(MEASURED.name)["patients"].items()}


def beforehand_ms() -> dict[str, float]:
    """Milliseconds on the H200 of what a technique needs first."""
    found: dict[str, float] = _read(MEASURED.name)["beforehand_milliseconds"]
    return found


def pair_ms(technique: str) -> tuple[float, float]:
    """Milliseconds on the H200 without the technique and with it."""
    each = _read(MEASURED.name)["pairs"][technique]
    return each["without_milliseconds"], each["with_milliseconds"]


def needs_us(patient: str, stage: str) -> dict[str, float]:
    """Microseconds that each resource needs of an H200 by the model, the longest first."""
    found: dict[str, float] = _read(COUNTED.name)["patients"][patient][stage]["needs_us"]
    return found
