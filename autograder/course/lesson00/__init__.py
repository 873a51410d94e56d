"""Lesson 0, first launches: what its notebook and its deck import."""

from autograder.course.lesson00.exercises import copies, first_kernel, how_many_blocks, time_of_133, which_element
from autograder.course.lesson00.journey import Step, journey
from autograder.course.lesson00.launches import dispatch, numbering
from autograder.course.lesson00.schedule import Slot, schedule
from autograder.course.scenes import host_and_device
from autograder.figures.bars import bars

__all__ = [
    "Slot",
    "Step",
    "bars",
    "copies",
    "dispatch",
    "first_kernel",
    "host_and_device",
    "how_many_blocks",
    "journey",
    "numbering",
    "schedule",
    "time_of_133",
    "which_element",
]
