"""How sure a prediction is: an interval made for nine kernels of ten, by what limits the kernel, and how many it has held.

Comes out of intervals.json, which `measurements/intervals.py` makes from kernels that were predicted and timed.
A GPU that nobody measured has no interval: how far off its predictions are is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("intervals.json")
SAME_WORK = 0.005  # predicted times closer than this come from the same work: what the answers differ in is not timed
ANY = "any"  # the class of whatever has too few cases of its own

Interval = tuple[float, float]


@dataclass(frozen=True)
class Class:
    """What is known of predictions of one kind: the factor by which nine in ten are off at most, and from how many cases."""

    factor: float
    cases: int


@dataclass(frozen=True)
class Sureness:
    """The factors by limiting resource: of times, and of ratios between two answers to one lab."""

    gpu: str  # the one that was measured
    times: Mapping[str, Class]
    ratios: Mapping[str, Class]
    held_times: Mapping[str, int]  # per cent within their intervals of kernels that had no part in them, nor in the model
    held_ratios: Mapping[str, int]  # per cent of answers within their intervals that were made without their lab
    of_learned: Class  # the factor of all kernels on which the model's rules were made, and how many: it is too small
    held_by_learned: int  # per cent within intervals of that factor

    def held_time(self, binding: str) -> int:
        """Per cent of the unseen kernels that this resource limits, or of all where these are too few to tell."""
        return self.held_times.get(binding, self.held_times[ANY])

    def held_ratio(self, binding: str) -> int:
        """The same of answers to labs."""
        return self.held_ratios.get(binding, self.held_ratios[ANY])


@cache
def known() -> Sureness:
    """What intervals.json says."""
    form: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    times, ratios = ({name: Class(**each) for name, each in form[kind].items()} for kind in ("times", "ratios"))
    learned, held = form["learned half"]["times"], form["learned half"]["held times"]
    return Sureness(form["gpu"], times, ratios, form["held times"], form["held ratios"], Class(**learned), held)


def interval_of_time(ns: float, binding: str, gpu: str, *, waits: bool = False) -> Interval | None:
    """Where the clock's time is expected, by the resource that limits the kernel; None for a GPU that nobody measured.

    It has no upper end where the kernel waits for other threads in a loop: for how long no counter says.
    """
    if gpu != known().gpu:
        return None
    low, high = _around(ns, known().times, binding)
    return low, inf if waits else high


def interval_of_ratio(ratio: float, binding: str, gpu: str) -> Interval | None:
    """Where the clock's ratio to a lab's baseline is expected; `binding`: what limits the answer.

    Who does the baseline's work takes the baseline's time: such a ratio is not in doubt.
    """
    if gpu != known().gpu:
        return None
    return (ratio, ratio) if abs(ratio - 1) <= SAME_WORK else _around(ratio, known().ratios, binding)


def _around(value: float, classes: Mapping[str, Class], binding: str) -> Interval:
    factor = classes.get(binding, classes[ANY]).factor
    return value / factor, value * factor
