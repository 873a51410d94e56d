"""Lesson 7, predicting performance: what its notebook and its deck import."""

from autograder.course.costs import bank_queues, clock_against, two_bounds, warp_walk
from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson07.exercises import (
    at_one_address,
    list_ranking_ms,
    most_apart,
    on_chip_bytes,
    twice_as_fast,
)
from autograder.course.lesson07.validation import validation, verdicts_of_labs
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.marks import Row, marks
from autograder.figures.scatter import Pair

__all__ = [
    "HARDWARE_COUNTERS",
    "Pair",
    "Row",
    "at_one_address",
    "bank_queues",
    "bars",
    "clock_against",
    "list_ranking_ms",
    "marks",
    "most_apart",
    "on_chip_bytes",
    "resource_bars",
    "twice_as_fast",
    "two_bounds",
    "validation",
    "verdicts_of_labs",
    "warp_walk",
]
