"""Lesson 1, the naive matrix multiply: what its two notebooks and its deck import."""

from autograder.course.costs import bank_queues
from autograder.course.lesson01.exercises import (
    flat_matmul,
    sectors_per_request,
    what_limits,
    which_grid,
    which_thread,
)
from autograder.course.lesson01.fetches import fetches
from autograder.course.lesson01.launches import measured_ms, sampled
from autograder.course.lesson01.strays import strays
from autograder.course.lesson01.written import outer_product, scale_rows, squared_distances, vector_times_matrix
from autograder.course.scenes import guarded, intensity
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.roofline import Point, roofline
from autograder.figures.sector_map import sector_map
from autograder.figures.steps import covering, global_index, inner_product, row_major, warps_of
from autograder.figures.thread_map import thread_map

__all__ = [
    "Point",
    "bank_queues",
    "bars",
    "covering",
    "fetches",
    "flat_matmul",
    "global_index",
    "guarded",
    "inner_product",
    "intensity",
    "measured_ms",
    "outer_product",
    "resource_bars",
    "roofline",
    "row_major",
    "sampled",
    "scale_rows",
    "sector_map",
    "sectors_per_request",
    "squared_distances",
    "strays",
    "thread_map",
    "vector_times_matrix",
    "warps_of",
    "what_limits",
    "which_grid",
    "which_thread",
]
