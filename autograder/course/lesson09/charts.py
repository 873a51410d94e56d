"""Lesson 9's charts of what was measured: gains by technique, patients before and after, and one warp's links."""

from __future__ import annotations

import numpy as np

from autograder.course.costs import warp_walk
from autograder.course.lesson09 import recorded
from autograder.course.lesson09.pairs import table_of_rows
from autograder.course.lesson09.patients import AS_IT_CAME, MENDED, SUSPECT_CURED
from autograder.figures.bars import bars
from autograder.figures.marks import Row, marks
from autograder.figures.palette import BLUE, VERMILLION
from autograder.figures.svg import Figure

PAGE = 760  # pixels: as wide as a notebook's page


def gains(title: str) -> Figure:
    """How many times as fast an H200 is with each technique: predicted, and by its clock."""
    predicted, measured = recorded.predicted(), recorded.measured()
    rows = [Row(name, {"predicted": predicted[name], "measured": measured[name]}) for name in measured]
    return marks(rows, title=title, axis="times as fast (logarithmic)", begin=1)


def patients_drawn(title: str) -> Figure:
    """Each patient's time on an H200 as it came, with the suspect cured, and mended."""
    rows = [
        Row(f"patient {name}", {each: times[each] for each in (AS_IT_CAME, SUSPECT_CURED, MENDED)})
        for name, times in recorded.patients_ms().items()
    ]
    return marks(rows, title=title, axis="milliseconds (logarithmic)")


def links_of_a_warp(nodes: int, slide: bool = False) -> list[Figure]:
    """How many links the nodes of one warp have: the one with the longest row."""
    lengths = np.diff(table_of_rows(nodes)[0])
    warp = int(lengths.argmax()) // 32
    frames = warp_walk([int(each) for each in lengths[32 * warp : 32 * warp + 32]], "links")
    return frames if slide else [each.at_width(PAGE) for each in frames]


def needs_drawn(patient: str, stage: str) -> Figure:
    """The time that each resource needs of an H200 for a patient at this stage, at the size that was timed."""
    needs = recorded.needs_us(patient, stage)
    largest = max(needs, key=needs.__getitem__)
    colours = {name: VERMILLION if name == largest else BLUE for name in needs}
    title = f"Patient {patient}, {stage}: what each resource needs of an H200"
    return bars(needs, title=title, unit="us", places=0, colours=colours)
