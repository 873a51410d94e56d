"""Lesson 4, warps and divergence: what its notebook and its deck import."""

from autograder.course.costs import bank_queues, warp_walk
from autograder.course.lesson04.exercises import (
    first_threads_add,
    how_many_diverge,
    in_which_warp,
    largest_of_warp,
    picture_in_rows,
    slowest_lane,
)
from autograder.course.lesson04.lanes import arrivals, shuffle_tree
from autograder.course.lesson04.masks import lockstep, tree_steps, who_works
from autograder.course.lesson04.warps import into_warps, picture_warps
from autograder.figures.bars import bars
from autograder.figures.steps import warps_of

__all__ = [
    "arrivals",
    "bank_queues",
    "bars",
    "first_threads_add",
    "how_many_diverge",
    "in_which_warp",
    "into_warps",
    "largest_of_warp",
    "lockstep",
    "picture_in_rows",
    "picture_warps",
    "shuffle_tree",
    "slowest_lane",
    "tree_steps",
    "warp_walk",
    "warps_of",
    "who_works",
]
