"""Lesson 4, warps, divergence and adding up: what its two notebooks and its deck import."""

from autograder.course.costs import bank_queues, warp_walk
from autograder.course.lesson04.exercises import (
    any_width,
    find_warp,
    first_threads_add,
    how_many_diverge,
    largest_of_warp,
    rows_in_order,
)
from autograder.course.lesson04.lanes import arrivals, shuffle_tree
from autograder.course.lesson04.limits import issue_of_work, sum_needs
from autograder.course.lesson04.masks import at_work, lanes_by_line, lockstep, tree_steps, who_works
from autograder.course.lesson04.warps import into_warps, picture_warps
from autograder.figures.bars import bars
from autograder.figures.steps import warps_of

__all__ = [
    "any_width",
    "arrivals",
    "at_work",
    "bank_queues",
    "bars",
    "find_warp",
    "first_threads_add",
    "how_many_diverge",
    "into_warps",
    "issue_of_work",
    "lanes_by_line",
    "largest_of_warp",
    "lockstep",
    "picture_warps",
    "rows_in_order",
    "shuffle_tree",
    "sum_needs",
    "tree_steps",
    "warp_walk",
    "warps_of",
    "who_works",
]
