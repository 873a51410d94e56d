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
from autograder.course.lesson08.registers_exercises import (
    blocks_with_registers,
    four_in_a_column,
    numbers_fetched,
    signed_or_not,
    square_of_sums,
    what_serves,
)
from autograder.course.lesson08.registers_figures import code_table, fetched_and_reached, share_of, who_holds_what
from autograder.figures.bars import bars

__all__ = [
    "against_the_library",
    "banks_of",
    "bars",
    "blocks_for",
    "blocks_with_registers",
    "code_table",
    "fetched_and_reached",
    "four_in_a_column",
    "in_slices",
    "instructions_table",
    "ladder",
    "machine_code",
    "numbers_fetched",
    "one_barrier",
    "recorded",
    "share_of",
    "shares",
    "signed_or_not",
    "square_of_sums",
    "until_use",
    "waits_hidden",
    "what_serves",
    "who_holds_what",
]
