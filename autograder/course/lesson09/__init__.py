"""Lesson 9, the map: what its two notebooks and its deck import."""

from autograder.course.costs import warp_walk
from autograder.course.lesson09 import kernels
from autograder.course.lesson09.charts import gains, links_of_a_warp, needs_drawn, patients_drawn
from autograder.course.lesson09.counting import compare
from autograder.course.lesson09.exercises import (
    diagnosis_a,
    diagnosis_b,
    diagnosis_c,
    distances,
    mended_a,
    mended_b,
    mended_c,
    near_in_bins,
    which_bottleneck,
)
from autograder.course.lesson09.on_this_gpu import measured_here, patients_here
from autograder.course.lesson09.recorded import beforehand_ms, counted, measured, pair_ms, patients_ms, predicted
from autograder.course.lesson09.sheets import examined, unnamed
from autograder.course.lesson09.the_map import the_map
from autograder.figures.bars import bars
from autograder.figures.estimates import resource_bars
from autograder.figures.marks import Row, marks

__all__ = [
    "Row",
    "bars",
    "beforehand_ms",
    "compare",
    "counted",
    "diagnosis_a",
    "diagnosis_b",
    "diagnosis_c",
    "distances",
    "examined",
    "gains",
    "kernels",
    "links_of_a_warp",
    "marks",
    "measured",
    "measured_here",
    "mended_a",
    "mended_b",
    "mended_c",
    "near_in_bins",
    "needs_drawn",
    "pair_ms",
    "patients_drawn",
    "patients_here",
    "patients_ms",
    "predicted",
    "resource_bars",
    "the_map",
    "unnamed",
    "warp_walk",
    "which_bottleneck",
]
