"""Predicting time from counted work: GPU figures, occupancy, the modern model and the one of HiPC 2009."""

from autograder.perfmodel.gpus import SPECIFICATIONS
from autograder.perfmodel.occupancy import Occupancy, occupancy
from autograder.perfmodel.prediction import Estimate, estimate, in_a_row, limiting
from autograder.perfmodel.specification import Roofline, Specification, roofline

__all__ = [
    "SPECIFICATIONS",
    "Estimate",
    "Occupancy",
    "Roofline",
    "Specification",
    "estimate",
    "in_a_row",
    "limiting",
    "occupancy",
    "roofline",
]
