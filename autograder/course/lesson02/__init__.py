"""Lesson 2, tiling: what its notebook and its deck import."""

from autograder.course.lesson02.exercises import (
    blocks_that_fit,
    count_smaller,
    ragged_tiles,
    two_a_thread,
    two_barriers,
    vector_times_matrix,
    wanted_by,
    what_limits,
)
from autograder.course.lesson02.heat import heat_map
from autograder.course.lesson02.hiding import a_round, busy, scheduler
from autograder.course.lesson02.memories import memories, requests, requests_by_line
from autograder.course.lesson02.operands import loads_of_block, operands
from autograder.course.lesson02.resources import breakdown_table, passes_table
from autograder.course.lesson02.tiling import fetched_once, overhanging, own_share, phases, places_written
from autograder.course.lesson02.waiting import barriers, multiprocessor
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.roofline import Point, roofline

__all__ = [
    "Point",
    "a_round",
    "barriers",
    "bars",
    "blocks_that_fit",
    "breakdown_table",
    "busy",
    "count_smaller",
    "fetched_once",
    "heat_map",
    "loads_of_block",
    "memories",
    "multiprocessor",
    "operands",
    "overhanging",
    "own_share",
    "passes_table",
    "phases",
    "places_written",
    "ragged_tiles",
    "requests",
    "requests_by_line",
    "resource_bars",
    "roofline",
    "scheduler",
    "two_a_thread",
    "two_barriers",
    "vector_times_matrix",
    "wanted_by",
    "what_limits",
]
