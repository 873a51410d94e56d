"""Pictures of lists: the chain is worked out from the successors, the numbers are those of the algorithm, by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from autograder.course.lesson06.footprints import footprints
from autograder.course.lesson06.jump_race import READINGS, jump_race, jump_race_frames
from autograder.course.lesson06.lane_walks import lane_walks
from autograder.course.lesson06.links import linked_list, order_of, pointer_jumping, three_phases
from autograder.course.lesson06.list_builds import (
    following,
    jumping,
    one_chain_or_many,
    phases_of_sublists,
    sublist_walks,
)
from autograder.figures import Figure
from autograder.figures.curves import Curve, curves
from autograder.figures.steps import LEAST
from autograder.figures.svg import SMALL
from autograder.records.accesses import Access
from autograder.tests.finding import found

SUCCESSOR = [3, 6, 1, 7, 4, 2, 4, 5]  # 0, 3, 7, 5, 2, 1, 6, 4
ORDER = [0, 3, 7, 5, 2, 1, 6, 4]
RANK = [7, 2, 3, 6, 0, 4, 1, 5]
# Splitters 0, 5, 4 (sublists 0, 1, 2): 0 3 7 | 5 2 1 6 | 4
SUBLIST, STEPS, SPLITTER_RANK = [0, 1, 1, 0, 2, 1, 1, 0], [0, 2, 1, 1, 0, 0, 3, 2], [7, 4, 0]


def rounds() -> list[Any]:
    doubled = [(np.array(SUCCESSOR), np.where(np.arange(8) == 4, 0, 1))]
    for _ in range(3):
        successor, rank = doubled[-1]
        doubled.append((successor[successor], rank + rank[successor]))
    return doubled


def words(figure: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)


def sizes(figure: Figure) -> list[int]:
    return [int(size) for size in re.findall(r'font-size="(\d+)"', figure.svg)]


def access(*elements: int) -> Access:
    """One warp's loads of these elements of an array of 64 int32 numbers."""
    where = [4 * each if each >= 0 else -1 for each in elements]
    return Access("load", "global", "successor", 4, (64,), (0, 0, 0), 0, np.array(where), 0)


LINES = [Curve("measured", [(1, 2), (10, 20)], [(1, 3), (10, 40)]), Curve("law", [(1, 2), (10, 20)], theory=True)]
AXES: dict[str, Any] = {"x_axis": "nodes", "y_axis": "ms", "x_ticks": {1.0: "1", 10.0: "10"}}
AXES["y_ticks"] = {1.0: "1", 100.0: "100"}
PICTURES = {
    "linked_list": linked_list(SUCCESSOR, RANK, title="A list"),
    "pointer_jumping": pointer_jumping(rounds(), title="Rounds"),
    "three_phases": three_phases(SUCCESSOR, SUBLIST, STEPS, SPLITTER_RANK, title="Phases"),
    "jump_race": jump_race(title="Race"),
    "curves": curves(LINES, title="Growth", **AXES),
    "lane_walks": lane_walks([3, 12, 1], title="A warp"),
    "footprints": footprints({"random": [access(3, 40), access(60, -1)]}, title="Reads"),
}
BUILDS = {
    "following": (following(SUCCESSOR), 9),
    "jumping": (jumping(rounds()), 4),
    "walks": (sublist_walks(SUCCESSOR, [0, 5, 4]), 4),
    "phases_of_sublists": (phases_of_sublists(SUCCESSOR, SUBLIST, STEPS, SPLITTER_RANK), 3),
    "jump_race_frames": (jump_race_frames(), 4),
    "one_chain_or_many": (one_chain_or_many(16), 2),
}


@pytest.mark.parametrize("figure", PICTURES.values(), ids=list(PICTURES))
def test_a_picture_has_alt_text_and_no_tiny_letters(figure: Figure) -> None:
    assert len(figure.alt) > 30
    assert min(sizes(figure)) >= SMALL


@pytest.mark.parametrize("frames, count", BUILDS.values(), ids=list(BUILDS))
def test_a_build_has_frames_of_one_size_that_can_be_read_from_the_last_row(frames: list[Figure], count: int) -> None:
    assert len(frames) == count
    assert len({found(r'viewBox="([^"]+)"', each.svg)[1] for each in frames}) == 1
    assert min(size for each in frames for size in sizes(each)) >= LEAST
    assert len({each.svg for each in frames}) == count


def test_the_chain_is_worked_out_from_the_successors() -> None:
    assert order_of(SUCCESSOR) == ORDER
    assert order_of([0]) == [0]


@pytest.mark.parametrize(
    "broken, said",
    [([1, 0], "has 0"), ([0, 1], "has 2"), ([1, 2, 1, 3], "has 2"), ([1, 2, 1], "do not form one list")],
    ids=["a ring", "two lists", "a node alone", "no tail"],
)
def test_what_is_not_one_list_is_refused(broken: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        order_of(broken)


def test_long_lists_are_refused_where_they_could_not_be_read() -> None:
    long: Any = np.append(np.arange(1, 30), 29)
    with pytest.raises(ValueError, match="up to 24 nodes"):
        linked_list(long, title="long")
    with pytest.raises(ValueError, match="up to 24 nodes"):
        pointer_jumping([(long, long)], title="long")
    with pytest.raises(ValueError, match="up to 24 nodes"):
        three_phases(long, long, long, long, title="long")


def test_a_list_shows_its_cells_its_order_and_its_ranks() -> None:
    shown = [int(each) for each in words(PICTURES["linked_list"]) if each.isdigit()]
    assert shown[0:16:2] == SUCCESSOR and shown[1:16:2] == list(range(8))
    assert shown[16:24] == ORDER
    assert shown[24:] == [7, 6, 5, 4, 3, 2, 1, 0]


def test_each_round_says_how_many_nodes_are_done() -> None:
    assert PICTURES["pointer_jumping"].alt.endswith(
        "at first 2 nodes done; round 1 3 nodes done; round 2 5 nodes done; round 3 8 nodes done."
    )


def test_the_third_phase_shows_the_ranks_in_the_order_of_the_list() -> None:
    shown = [int(each) for each in words(PICTURES["three_phases"]) if each.isdigit()]
    assert shown[:8] == [0, 1, 2, 0, 1, 2, 3, 0], "steps"
    assert shown[-8:] == [7, 6, 5, 4, 3, 2, 1, 0], "ranks"
    assert [each for each in words(PICTURES["three_phases"]) if each.endswith("links")] == ["3 links", "4 links"]


def test_of_four_readings_the_two_that_mix_old_and_new_are_wrong() -> None:
    assert [each.is_right for each in READINGS] == [True, True, False, False]
    assert [(each.link_count, each.successor_of_b) for each in READINGS] == [(2, 2), (3, 3), (2, 3), (3, 2)]


def test_walks_end_before_the_next_splitter() -> None:
    frames = BUILDS["walks"][0]
    assert [found(r"(\d) of 3 threads", each.alt)[1] for each in frames] == ["3", "2", "2", "1"]


def test_no_walk_comes_by_the_nodes_ahead_of_the_first_splitter() -> None:
    last = sublist_walks(SUCCESSOR, [5, 4])[-1]
    assert [each for each in words(last) if each.isdigit() or not each][:8] == ["", "", "", "0", "1", "2", "3", "0"]


def test_a_curve_lies_where_its_logarithms_say() -> None:
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', PICTURES["curves"].svg)
    frame = found(r'<rect x="([\d.]+)" y="([\d.]+)" width="430" height="270" fill="none"', PICTURES["curves"].svg)
    left, top = float(frame[1]), float(frame[2])
    assert [float(x) for x, _ in circles] == pytest.approx([left, left + 430]), "theory has no marks"
    assert float(circles[0][1]) == pytest.approx(top + 270 * (1 - np.log10(2) / 2), abs=0.01)
    with pytest.raises(ValueError, match="above zero"):
        curves([Curve("none", [(0, 1)])], title="", **AXES)


def test_footprints_count_each_sector_once() -> None:
    assert "random: 3 numbers read, from 3 sectors, in 2 steps" in PICTURES["footprints"].alt
    again = footprints({"along": [access(0, 8), access(1, 9), access(2, -1)]}, title="Reads")
    assert "along: 5 numbers read, from 2 sectors, in 3 steps" in again.alt
    with pytest.raises(ValueError, match="at least one panel"):
        footprints({}, title="nothing")


def test_lanes_wait_for_the_longest_walk() -> None:
    assert "average 5.3 nodes, longest 12; 1.3 of 3 lanes at work on average" in PICTURES["lane_walks"].alt
    assert ">12</text>" in PICTURES["lane_walks"].svg, "the longest bar gives the scale"
    for lengths in ([], [0, 0], [1] * 33):
        with pytest.raises(ValueError, match="a warp has 1 to 32 lanes"):
            lane_walks(lengths, title="")
