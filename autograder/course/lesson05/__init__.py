"""Lesson 5, the privatized histogram: what its notebook and its deck import."""

from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson05.contention import queues
from autograder.course.lesson05.exercises import (
    bins_that_fit,
    coarse_launch,
    cost_of_a_request,
    private_digits,
    runs_kept,
    two_additions_each,
)
from autograder.course.lesson05.partition import partition
from autograder.course.lesson05.privatization import private_copies, runs
from autograder.course.lesson05.updates import interleaving, interleaving_steps
from autograder.figures.bars import bars
from autograder.figures.curves import Curve, curves
from autograder.figures.marks import Row, marks

__all__ = [
    "HARDWARE_COUNTERS",
    "Curve",
    "Row",
    "bars",
    "bins_that_fit",
    "coarse_launch",
    "cost_of_a_request",
    "curves",
    "interleaving",
    "interleaving_steps",
    "marks",
    "partition",
    "private_copies",
    "private_digits",
    "queues",
    "runs",
    "runs_kept",
    "two_additions_each",
]
