"""Lesson 7, predicting performance: what its notebook and its deck import."""

from autograder.course.costs import clock_against, two_bounds, warp_walk
from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson07.exercises import (
    at_one_address,
    list_ranking_ms,
    most_apart,
    on_chip_bytes,
    two_thirds_of_the_time,
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
    "bars",
    "clock_against",
    "list_ranking_ms",
    "marks",
    "most_apart",
    "on_chip_bytes",
    "resource_bars",
    "two_bounds",
    "two_thirds_of_the_time",
    "validation",
    "verdicts_of_labs",
    "warp_walk",
]
