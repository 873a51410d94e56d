"""Lesson 3, coalescing: what its two notebooks (03a, 03b) and its deck import."""

from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson03.bursts import bus_timelines, busy_share, core_array
from autograder.course.lesson03.corner import corner_turning, through_the_tile
from autograder.course.lesson03.exercises import (
    around_the_corner,
    few_threads,
    queues_at_a_bank,
    row_sums,
    sectors_by_hand,
    table_of_bytes,
    transposed_a,
    turned_upright,
)
from autograder.course.lesson03.layouts import first_load, layout_limits, layouts, layouts_measured
from autograder.course.lesson03.lines import memory_lines
from autograder.course.lesson03.rates import gb_per_s, measured_gb_per_s, move_limits, sum_limits, sums_measured
from autograder.course.lesson03.strides import (
    first_loads,
    moved_in_pieces,
    offsets_counted,
    profile_knobs,
    relative_sectors,
    relative_times,
    strides_counted,
)
from autograder.course.lesson03.sweep import sweep
from autograder.course.lesson03.toy_memory import toy_memory, toy_memory_at_once
from autograder.course.lesson03.walks import recorded_walks, walks
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
    "few_threads",
    "first_load",
    "first_loads",
    "gb_per_s",
    "layout_limits",
    "layouts",
    "layouts_measured",
    "measured_gb_per_s",
    "memory_lines",
    "move_limits",
    "moved_in_pieces",
    "offsets_counted",
    "profile_knobs",
    "queues_at_a_bank",
    "recorded_walks",
    "relative_sectors",
    "relative_times",
    "row_sums",
    "sectors_by_hand",
    "strides_counted",
    "sum_limits",
    "sums_measured",
    "sweep",
    "table_of_bytes",
    "through_the_tile",
    "toy_memory",
    "toy_memory_at_once",
    "transposed_a",
    "turned_upright",
    "walks",
]
