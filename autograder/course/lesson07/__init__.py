"""Lesson 7, predicting performance: what its two notebooks and its deck import."""

from autograder.course.costs import clock_against, two_bounds, warp_walk
from autograder.course.data import HARDWARE_COUNTERS, MICROBENCHMARKS
from autograder.course.lesson07.exercises import (
    at_one_address,
    least_sure,
    list_ranking_ms,
    most_apart,
    on_chip_bytes,
    owner_and_rank,
    sum_of_eight,
    sum_of_squares,
    two_thirds_of_the_time,
)
from autograder.course.lesson07.lists import random_list
from autograder.course.lesson07.measuring import measured_ms
from autograder.course.lesson07.questions import (
    RANGE,
    ROWS,
    TILES,
    WHILE,
    bounds_on_h200,
    bounds_table,
    large_histograms,
    ms_of_2009,
    questions_table,
    ridges_table,
    seven_questions,
    sureness_table,
    times_slower,
    walks_table,
)
from autograder.course.lesson07.validation import validation, verdicts_of_labs
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.marks import Row, marks
from autograder.figures.scatter import Pair

__all__ = [
    "HARDWARE_COUNTERS",
    "MICROBENCHMARKS",
    "RANGE",
    "ROWS",
    "TILES",
    "WHILE",
    "Pair",
    "Row",
    "at_one_address",
    "bars",
    "bounds_on_h200",
    "bounds_table",
    "clock_against",
    "large_histograms",
    "least_sure",
    "list_ranking_ms",
    "marks",
    "measured_ms",
    "most_apart",
    "ms_of_2009",
    "on_chip_bytes",
    "owner_and_rank",
    "questions_table",
    "random_list",
    "resource_bars",
    "ridges_table",
    "seven_questions",
    "sum_of_eight",
    "sum_of_squares",
    "sureness_table",
    "times_slower",
    "two_bounds",
    "two_thirds_of_the_time",
    "validation",
    "verdicts_of_labs",
    "walks_table",
    "warp_walk",
]
