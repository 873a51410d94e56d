"""Lesson 6, list ranking: what its notebook and its deck import."""

from autograder.course.costs import warp_walk
from autograder.course.data import MICROBENCHMARKS
from autograder.course.lesson06.exercises import (
    add_up,
    double_buffers,
    longest_walk,
    ranks_by_hand,
    rounds_needed,
    ruinous_order,
)
from autograder.course.lesson06.footprints import footprints
from autograder.course.lesson06.jump_race import jump_race, jump_race_frames
from autograder.course.lesson06.lane_walks import lane_walks
from autograder.course.lesson06.links import linked_list, pointer_jumping, three_phases
from autograder.course.lesson06.list_builds import (
    following,
    jumping,
    one_chain_or_many,
    phases_of_sublists,
    sublist_walks,
)
from autograder.figures.bars import bars
from autograder.figures.curves import Curve, curves
from autograder.figures.sector_map import sectors_of

__all__ = [
    "MICROBENCHMARKS",
    "Curve",
    "add_up",
    "bars",
    "curves",
    "double_buffers",
    "following",
    "footprints",
    "jump_race",
    "jump_race_frames",
    "jumping",
    "lane_walks",
    "linked_list",
    "longest_walk",
    "one_chain_or_many",
    "phases_of_sublists",
    "pointer_jumping",
    "ranks_by_hand",
    "rounds_needed",
    "ruinous_order",
    "sectors_of",
    "sublist_walks",
    "three_phases",
    "warp_walk",
]
