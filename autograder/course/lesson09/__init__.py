"""Lesson 9, the map: what its two notebooks and its deck import."""

from autograder.course.lesson09 import kernels
from autograder.course.lesson09.charts import (
    compared_drawn,
    gains,
    links_of_a_warp,
    map_growing,
    needs_drawn,
    patients_drawn,
)
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
from autograder.course.lesson09.pairs import PAIRS
from autograder.course.lesson09.recorded import beforehand_ms, counted, measured, pair_ms, patients_ms, predicted
from autograder.course.lesson09.sheets import examined, unnamed
from autograder.course.lesson09.the_map import the_map
from autograder.figures.bars import bars

__all__ = [
    "PAIRS",
    "bars",
    "beforehand_ms",
    "compare",
    "compared_drawn",
    "counted",
    "diagnosis_a",
    "diagnosis_b",
    "diagnosis_c",
    "distances",
    "examined",
    "gains",
    "kernels",
    "links_of_a_warp",
    "map_growing",
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
    "the_map",
    "unnamed",
    "which_bottleneck",
]
