"""Lesson 1, the naive matrix multiply: what its notebook and its deck import."""

from autograder.course.costs import bank_queues
from autograder.course.lesson01.exercises import (
    flat_matmul,
    outer_product,
    sectors_per_request,
    share_of_peak,
    what_limits,
    which_grid,
    which_thread,
)
from autograder.course.lesson01.fetches import fetches
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
    "outer_product",
    "resource_bars",
    "roofline",
    "row_major",
    "sector_map",
    "sectors_per_request",
    "share_of_peak",
    "thread_map",
    "what_limits",
    "warps_of",
    "which_grid",
    "which_thread",
]
