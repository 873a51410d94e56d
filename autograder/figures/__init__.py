"""Pictures drawn from counted work: launches, recorded accesses, estimates go in, a `Figure` (SVG, alt text) comes out.

Every function here is pure and its bytes never change for the same input, so a notebook's outputs can be compared.
Here is what reports and several lessons draw; a picture of one lesson lies in its room in `autograder.course`.
START HERE: `svg.py` holds `Figure` and the drawing board; each picture is one module of its own.
"""

from autograder.figures.bars import bars
from autograder.figures.curves import Curve, curves
from autograder.figures.estimates import kernel_on_roofline, resource_bars
from autograder.figures.marks import Row, marks
from autograder.figures.roofline import Point, roofline
from autograder.figures.scatter import Pair, scatter
from autograder.figures.sector_map import sector_map
from autograder.figures.svg import Figure
from autograder.figures.thread_map import thread_map

__all__ = [
    "Curve",
    "Figure",
    "Pair",
    "Point",
    "Row",
    "bars",
    "curves",
    "kernel_on_roofline",
    "marks",
    "resource_bars",
    "roofline",
    "scatter",
    "sector_map",
    "thread_map",
]
