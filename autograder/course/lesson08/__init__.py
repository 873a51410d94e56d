"""Lesson 8, from tiles to the limit: what its notebooks and its deck import."""

from autograder.course.lesson08.limit_exercises import blocks_for, in_slices, one_barrier, waits_hidden
from autograder.course.lesson08.limit_figures import (
    banks_of,
    instructions_table,
    ladder,
    machine_code,
    recorded,
    shares,
    until_use,
)
from autograder.course.lesson08.own_best import against_the_library
from autograder.figures.bars import bars

__all__ = [
    "against_the_library",
    "banks_of",
    "bars",
    "blocks_for",
    "in_slices",
    "instructions_table",
    "ladder",
    "machine_code",
    "one_barrier",
    "recorded",
    "shares",
    "until_use",
    "waits_hidden",
]
