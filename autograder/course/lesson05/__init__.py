"""Lesson 5, the privatized histogram: what its notebooks and its deck import."""

from autograder.course.data import HARDWARE_COUNTERS
from autograder.course.lesson05.contention import queues
from autograder.course.lesson05.exercises import (
    bins_that_fit,
    cost_of_a_request,
    robot_in_the_log,
    two_additions_each,
)
from autograder.course.lesson05.items import five_kinds, letters
from autograder.course.lesson05.kernel_exercises import (
    follows,
    matches,
    owners_count,
    places_found,
    private_digits,
    runs_kept,
)
from autograder.course.lesson05.launches import (
    counted_apart,
    first_request,
    loads_of_items,
    passes_at_lines,
    passes_of_uniform_items,
    with_runs,
)
from autograder.course.lesson05.partition import partition
from autograder.course.lesson05.privatization import private_copies, runs
from autograder.course.lesson05.updates import interleaving, interleaving_steps
from autograder.course.lesson05.ways import by_bins
from autograder.figures.bars import bars
from autograder.figures.marks import Row, marks

__all__ = [
    "HARDWARE_COUNTERS",
    "Row",
    "bars",
    "bins_that_fit",
    "by_bins",
    "cost_of_a_request",
    "counted_apart",
    "first_request",
    "five_kinds",
    "follows",
    "interleaving",
    "interleaving_steps",
    "letters",
    "loads_of_items",
    "marks",
    "matches",
    "owners_count",
    "partition",
    "passes_at_lines",
    "passes_of_uniform_items",
    "places_found",
    "private_copies",
    "private_digits",
    "queues",
    "robot_in_the_log",
    "runs",
    "runs_kept",
    "two_additions_each",
    "with_runs",
]
