"""Lesson 0, first launches: what its notebook and its deck import."""

from autograder.course.lesson00.clock import measured_ms
from autograder.course.lesson00.exercises import backwards, copies, first_kernel, how_many_blocks, time_of_133
from autograder.course.lesson00.journey import Step, journey, measured_journey
from autograder.course.lesson00.launches import dispatch, numbering
from autograder.course.lesson00.schedule import Slot, schedule
from autograder.course.scenes import host_and_device
from autograder.figures.bars import bars

__all__ = [
    "Slot",
    "Step",
    "backwards",
    "bars",
    "copies",
    "dispatch",
    "first_kernel",
    "host_and_device",
    "how_many_blocks",
    "journey",
    "measured_journey",
    "measured_ms",
    "numbering",
    "schedule",
    "time_of_133",
]
