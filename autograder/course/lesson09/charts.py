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
TABLE_ROW = 46  # pixels, on a slide
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
    """How long each resource of an H200 would need, by the estimate, for a patient at a stage, at the timed size."""
    needs = dict(list(recorded.needs_us(patient, stage).items())[:MOST_BARS])
    largest = max(needs, key=needs.__getitem__)
    colours = {name: VERMILLION if name == largest else BLUE for name in needs}
    title = f"Patient {patient}, {stage}: what each resource needs, estimated"
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
    """What a technique changes, a row a figure that it moves, and in a last line what stays as it was; for a slide."""
    canvas, first, second, gain_at = Canvas(), 620, 950, 1150
    told = zip(compared.without.table_row().split(), compared.with_it.table_row().split(), strict=True)
    table = list(zip(WIDE.items(), told, compared.gains().values(), strict=True))
    moved = [row for row in table if gain_in_words(row[-1]) != "-"]
    kept = [word for (_, word), _, gain in table if gain_in_words(gain) == "-"]
    for x, name in ((first, compared.names[0]), (second, compared.names[1])):
        canvas.text(x, 32, name, size=LEAST, anchor="end", mono=True)
    canvas.text(gain_at, 32, "gain", size=LEAST, anchor="end", fill=QUIET)
    y = 32
    for (_, word), numbers, gain in moved:
        canvas.line(16, y + 14, gain_at, y + 14, LINE, 1.5)
        y += TABLE_ROW
        canvas.text(16, y, word, size=LARGE)
        for x, number in zip((first, second), numbers, strict=True):
            canvas.text(x, y, number, size=LARGE, anchor="end")
        fill = VERMILLION if gain < 1 / NO_DIFFERENCE else BLUE
        canvas.text(gain_at, y, gain_in_words(gain), size=LARGE, anchor="end", bold=True, fill=fill)
    if kept:
        canvas.line(16, y + 14, gain_at, y + 14, LINE, 1.5)
        y += TABLE_ROW
        canvas.text(16, y, f"as before: {', '.join(kept)}", size=LEAST, fill=QUIET)
    changes = ", ".join(f"{bottleneck} {gain_in_words(gain)}" for (bottleneck, _), _, gain in moved)
    alt = f"{compared.technique}, {compared.names[0]} against {compared.names[1]}: {changes}."
    return canvas.figure(gain_at + 16, y + 20, alt)
