"""Lesson 3, coalescing: what its notebook and its deck import."""

from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson03.bursts import bus_timelines, busy_share, core_array
from autograder.course.lesson03.corner import corner_turning
from autograder.course.lesson03.exercises import (
    around_the_corner,
    one_field_of_six,
    queues_at_a_bank,
    row_sums,
    sectors_by_hand,
    transposed_a,
)
from autograder.course.lesson03.layouts import layouts
from autograder.course.lesson03.lines import memory_lines
from autograder.course.lesson03.sweep import sweep
from autograder.course.lesson03.toy_memory import toy_memory
from autograder.course.lesson03.walks import walks
from autograder.figures.banks import bank_map
from autograder.figures.bars import bars

__all__ = [
    "HARDWARE_COUNTERS",
    "around_the_corner",
    "bank_map",
    "bars",
    "bus_timelines",
    "busy_share",
    "core_array",
    "corner_turning",
    "layouts",
    "memory_lines",
    "one_field_of_six",
    "queues_at_a_bank",
    "row_sums",
    "sectors_by_hand",
    "sweep",
    "toy_memory",
    "transposed_a",
    "walks",
]
