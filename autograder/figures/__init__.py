"""Pictures drawn from counted work: launches, recorded accesses, estimates go in, a `Figure` (SVG, alt text) comes out.

Every function here is pure and its bytes never change for the same input, so a notebook's outputs can be compared.
START HERE: `svg.py` holds `Figure` and the drawing board; each picture is one module of its own.
"""

from autograder.figures.bars import bars
from autograder.figures.estimates import kernel_on_roofline, resource_bars
from autograder.figures.heat import heat_colour, heat_map
from autograder.figures.journey import Step, journey
from autograder.figures.marks import Row, marks
from autograder.figures.memories import memories
from autograder.figures.operands import operands
from autograder.figures.roofline import Point, roofline
from autograder.figures.scatter import Pair, scatter
from autograder.figures.schedule import Slot, schedule
from autograder.figures.sector_map import sector_map
from autograder.figures.svg import Figure
from autograder.figures.thread_map import thread_map

__all__ = [
    "Figure",
    "Pair",
    "Point",
    "Slot",
    "Step",
    "Row",
    "bars",
    "heat_colour",
    "heat_map",
    "journey",
    "kernel_on_roofline",
    "marks",
    "memories",
    "operands",
    "resource_bars",
    "roofline",
    "scatter",
    "schedule",
    "sector_map",
    "thread_map",
]
