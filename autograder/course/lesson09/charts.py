"""Lesson 9's charts of what was measured: gains by technique, patients before and after, and one warp's links."""

from __future__ import annotations

import numpy as np

from autograder.course.costs import warp_walk
from autograder.course.lesson09 import recorded
from autograder.course.lesson09.counting import NO_DIFFERENCE, WIDE, ComparedPair, gain_in_words
from autograder.course.lesson09.pairs import table_of_rows
from autograder.course.lesson09.patients import AS_IT_CAME, MENDED, SUSPECT_CURED
from autograder.course.lesson09.the_map import the_map
from autograder.figures.bars import bars
from autograder.figures.marks import Row, marks
from autograder.figures.palette import BLUE, LINE, QUIET, VERMILLION
from autograder.figures.steps import LARGE, LEAST
from autograder.figures.svg import Canvas, Figure

MOST_BARS = 4
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
    needs = dict(list(recorded.needs_us(patient, stage).items())[:MOST_BARS])
    largest = max(needs, key=needs.__getitem__)
    colours = {name: VERMILLION if name == largest else BLUE for name in needs}
    title = f"Patient {patient}, {stage}: what each resource needs of an H200"
    return bars(needs, title=title, unit="us", places=0, colours=colours)


def map_growing(title: str) -> list[Figure]:
    """The map as drawn in 2014, then with the numbers of one technique more in each frame; for a slide."""
    counted, measured = recorded.counted(), recorded.measured()
    names = list(counted)
    shown = [names[:rows] for rows in range(len(names) + 1)]
    return [
        the_map({each: counted[each] for each in known}, {each: measured[each] for each in known}, title=title, large=True)
        for known in shown
    ]


def compared_drawn(compared: ComparedPair) -> Figure:
    """A pair's figures without the technique and with it, and what is gained; for a slide."""
    canvas, left, column, top = Canvas(), 330, 164, 64
    rows = list(zip(compared.names, (compared.without, compared.with_it), strict=True))
    for at, word in enumerate(WIDE.values()):
        canvas.text(left + (at + 1) * column, top - 16, word, size=LEAST, anchor="end", fill=QUIET)
    for line, (name, figures) in enumerate(rows):
        y = top + 30 + 46 * line
        canvas.text(16, y, name, size=LEAST, mono=True)
        for at, number in enumerate(figures.told().split()):
            canvas.text(left + (at + 1) * column, y, number, size=LEAST, anchor="end")
    y = top + 30 + 46 * len(rows) + 10
    canvas.line(16, y - 40, left + 5 * column, y - 40, LINE, 1.5)
    canvas.text(16, y, "gain", size=LEAST, bold=True)
    for at, gain in enumerate(compared.gains().values()):
        words = gain_in_words(gain)
        lost = gain < 1 / NO_DIFFERENCE
        fill = VERMILLION if lost else QUIET if words == "-" else BLUE
        canvas.text(left + (at + 1) * column, y, words, size=LARGE, anchor="end", bold=words != "-", fill=fill)
    told = [
        f"{bottleneck} {gain_in_words(gain)}" for bottleneck, gain in compared.gains().items() if gain_in_words(gain) != "-"
    ]
    alt = f"{compared.technique}, {rows[0][0]} against {rows[1][0]}: {', '.join(told)}."
    return canvas.figure(left + 5 * column + 16, y + 24, alt)
