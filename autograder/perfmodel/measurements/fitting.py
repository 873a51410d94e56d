"""Fits the numbers of the model that no microbenchmark gives alone: to the sets that are learned from, and development's.

    python -m autograder.perfmodel.measurements.fitting     # prints each number as it is and as it fits best; a minute

One number after another is moved while that lowers the loss: Huber's, of the logarithm of predicted over measured, so that a
case that is off by ten times counts little more than one that is off by two. The held half is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograder.perfmodel import SPECIFICATIONS, estimate, prediction
from autograder.perfmodel.measurements.predicting import HERE
from autograder.perfmodel.measurements.unseen import LEARNED_FROM, timed_ns
from autograder.records.counters import Counters

FITTED = ("ISSUE_SHARE", "CYCLES_ALONE", "OVERLAP", "IDLE", "COLD_START_NS")
OF_DEVELOPMENT = 0.4  # what a case of development weighs beside another
STRAIGHT = 0.3  # from which distance on the loss grows evenly
STEPS = (1.1, 1.03, 1.01)

Case = tuple[list[dict[str, Any]], int, float]
"""Launches as they were counted, registers a thread, measured nanoseconds."""


@contextmanager
def set_to(numbers: dict[str, float]) -> Iterator[None]:
    """The model with other numbers, for a while."""
    before = {name: getattr(prediction, name) for name in numbers}
    try:
        for name, number in numbers.items():
            setattr(prediction, name, number)
        yield
    finally:
        for name, number in before.items():
            setattr(prediction, name, number)


def cases() -> tuple[list[Case], list[Case]]:
    """Those that were learned from, and those of development."""
    learned = []
    for half, counted_file, measured_file in LEARNED_FROM:
        counted = {row["case"]: row["launches"] for row in json.loads(counted_file.read_text(encoding="utf-8"))}
        learned += [
            (counted[row["case"]], max(row["times"]["registers"]), row["times"]["ns"])
            for row in json.loads(measured_file.read_text(encoding="utf-8"))["cases"]
            if row["half"] == half and row["case"] in counted
        ]
    timed = json.loads((HERE / "validation.json").read_text(encoding="utf-8"))["cases"]
    known = {(row["case"], row["size"]): row for row in timed}
    development = []
    for row in json.loads((HERE / "counted.json").read_text(encoding="utf-8")):
        clock = known[row["case"], row["size"]]
        development.append(([row | {"times": 1}], clock["registers_per_thread"], clock["measured_ns"]))
    return learned, development


def predicted_ns(launches: list[dict[str, Any]], registers: int) -> float:
    h200 = SPECIFICATIONS["H200"]
    each_ns: list[float] = []
    for row in launches:
        found = estimate(
            Counters(**row["counters"]),
            h200,
            threads_per_block=row["threads_per_block"],
            shared_bytes_per_block=row["shared_bytes_per_block"],
            registers_per_thread=registers,
            array_bytes=row["array_bytes"],
        )
        each_ns += [found.ns] * row["times"]
    return timed_ns(each_ns)


def loss(found: list[Case]) -> float:
    """The mean over cases, 0 where all times are right."""
    off = np.abs([np.log(predicted_ns(launches, registers) / ns) for launches, registers, ns in found])
    return float(np.where(off < STRAIGHT, off * off / 2, STRAIGHT * (off - STRAIGHT / 2)).mean())


def fitted(of_all: Callable[[], float]) -> dict[str, float]:
    """The numbers as they fit best, from where they stand."""
    numbers = {name: float(getattr(prediction, name)) for name in FITTED}
    with set_to(numbers):
        best = of_all()
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for name in FITTED:
                for factor in (step, 1 / step):
                    tried = numbers | {name: numbers[name] * factor}
                    with set_to(tried):
                        now = of_all()
                    if now < best - 1e-6:
                        numbers, best, improved = tried, now, True
    return numbers


def main() -> None:
    learned, development = cases()
    found = fitted(lambda: loss(learned) + OF_DEVELOPMENT * loss(development))
    for name, number in found.items():
        print(f"{name}: {getattr(prediction, name):g}, best {number:.4g}")


if __name__ == "__main__":
    main()
