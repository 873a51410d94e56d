"""Pictures drawn from counted work: launches, recorded accesses, estimates go in, a `Figure` (SVG, alt text) comes out.

Every function here is pure and its bytes never change for the same input, so a notebook's outputs can be compared.
START HERE: `svg.py` holds `Figure` and the drawing board; each picture is one module of its own.
"""

from autograder.figures.bars import bars
from autograder.figures.contention import queues
from autograder.figures.costs import warp_walk
from autograder.figures.estimates import kernel_on_roofline, resource_bars
from autograder.figures.heat import heat_colour, heat_map
from autograder.figures.journey import Step, journey
from autograder.figures.lanes import arrivals, shuffle_tree
from autograder.figures.marks import Row, marks
from autograder.figures.masks import lockstep, tree_steps, who_works
from autograder.figures.memories import memories
from autograder.figures.operands import operands
from autograder.figures.partition import partition
from autograder.figures.privatization import private_copies, runs
from autograder.figures.roofline import Point, roofline
from autograder.figures.scatter import Pair, scatter
from autograder.figures.schedule import Slot, schedule
from autograder.figures.sector_map import sector_map
from autograder.figures.svg import Figure
from autograder.figures.thread_map import thread_map
from autograder.figures.updates import interleaving
from autograder.figures.warps import into_warps, picture_warps

__all__ = [
    "Figure",
    "Pair",
    "Point",
    "Slot",
    "Step",
    "Row",
    "arrivals",
    "bars",
    "heat_colour",
    "heat_map",
    "into_warps",
    "interleaving",
    "journey",
    "kernel_on_roofline",
    "lockstep",
    "marks",
    "memories",
    "operands",
    "picture_warps",
    "partition",
    "private_copies",
    "queues",
    "resource_bars",
    "roofline",
    "runs",
    "scatter",
    "schedule",
    "sector_map",
    "shuffle_tree",
    "thread_map",
    "tree_steps",
    "warp_walk",
    "who_works",
]
