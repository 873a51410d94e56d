"""Lesson 6, list ranking: what its two notebooks and its deck import."""

from autograder.course.costs import warp_walk
from autograder.course.data import HARDWARE_COUNTERS, MICROBENCHMARKS
from autograder.course.lesson06.charts import (
    line_rows,
    longest_walk_curves,
    longest_walks,
    ns_a_node_curves,
    recursion_rows,
    spacing_curves,
    spacing_rows,
)
from autograder.course.lesson06.clock import milliseconds, walk_milliseconds
from autograder.course.lesson06.exercises import (
    double_buffers,
    largest_ahead,
    longest_walk,
    ranks_by_hand,
    ranks_from_splitters,
    rounds_needed,
    ruinous_order,
    turn_around,
    walk_links,
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
from autograder.course.lesson06.lists import (
    all_rounds,
    jumping_rounds,
    one_link_each,
    random_list,
    random_splitters,
    sectors,
    walk_from,
    walk_in_place_from,
    with_ends,
)
from autograder.figures.bars import bars
from autograder.figures.curves import Curve, curves
from autograder.figures.sector_map import sectors_of

__all__ = [
    "HARDWARE_COUNTERS",
    "MICROBENCHMARKS",
    "Curve",
    "all_rounds",
    "bars",
    "curves",
    "double_buffers",
    "following",
    "footprints",
    "jump_race",
    "jump_race_frames",
    "jumping",
    "jumping_rounds",
    "lane_walks",
    "largest_ahead",
    "linked_list",
    "longest_walk",
    "longest_walk_curves",
    "longest_walks",
    "milliseconds",
    "ns_a_node_curves",
    "one_chain_or_many",
    "one_link_each",
    "phases_of_sublists",
    "pointer_jumping",
    "random_list",
    "random_splitters",
    "ranks_by_hand",
    "ranks_from_splitters",
    "rounds_needed",
    "ruinous_order",
    "sectors",
    "sectors_of",
    "line_rows",
    "recursion_rows",
    "spacing_curves",
    "spacing_rows",
    "sublist_walks",
    "three_phases",
    "turn_around",
    "walk_from",
    "walk_in_place_from",
    "walk_links",
    "walk_milliseconds",
    "warp_walk",
    "with_ends",
]
