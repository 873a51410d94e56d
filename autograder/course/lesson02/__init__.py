"""Lesson 2, tiling: what its notebook and its deck import."""

from autograder.course.lesson02.exercises import (
    blocks_that_fit,
    fetched_by,
    ragged_tiles,
    smallest_tile,
    two_barriers,
    wanted_by,
)
from autograder.course.lesson02.heat import heat_map
from autograder.course.lesson02.memories import memories
from autograder.course.lesson02.operands import operands
from autograder.course.lesson02.tiling import fetched_once, overhanging, own_share, phases, places_written
from autograder.course.lesson02.waiting import barriers, multiprocessor
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.roofline import Point, roofline

__all__ = [
    "Point",
    "barriers",
    "bars",
    "blocks_that_fit",
    "fetched_by",
    "fetched_once",
    "heat_map",
    "memories",
    "multiprocessor",
    "operands",
    "overhanging",
    "own_share",
    "phases",
    "places_written",
    "ragged_tiles",
    "resource_bars",
    "roofline",
    "smallest_tile",
    "two_barriers",
    "wanted_by",
]
