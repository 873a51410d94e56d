"""Verdicts by prediction against verdicts by clock: each answer's speed in multiples of what its lab asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.labels import Box, Labels, Point
from autograder.figures.palette import BLUE, INK, LINE, PALER_BLUE, QUIET, VERMILLION
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width

LEFT, TOP, SIDE = 84, 84, 600  # the square frame, in pixels
HALF = SIDE // 2
QUARTERS = {  # what an answer's place says of it, by the left and top edge of the quarter
    "predicted to pass, and fails": (LEFT, TOP),
    "both pass": (LEFT + HALF, TOP),
    "both fail": (LEFT, TOP + HALF),
    "predicted to fail, and passes": (LEFT + HALF, TOP + HALF),
}
APART, STEP = 10, 5  # pixels from a quarter's edges to its name, and between the places that are tried for it
POWERS = (-2, 2)  # of ten, on both axes; what lies beyond stands at the edge


@dataclass(frozen=True)
class JudgedAnswer:
    """One answer to one check: its ratio to the baseline over the threshold, by the clock and by prediction."""

    name: str
    measured: float
    predicted: float
    decides: bool  # speed decides its verdict; otherwise grading stops at an earlier check

    @property
    def agrees(self) -> bool:
        """Whether both pass or both fail, or speed decides nothing."""
        return not self.decides or (self.measured >= 1) == (self.predicted >= 1)


def agreement(answers: Sequence[JudgedAnswer], *, title: str) -> Figure:
    """Draws every answer: in a blue quarter both say the same; a numbered triangle where a verdict differs.

    Raises ValueError for no answers, or a measured ratio that is not positive.
    """
    if not answers or min(each.measured for each in answers) <= 0:
        raise ValueError("a picture of verdicts needs answers with positive ratios")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    _draw_frame(canvas)
    for each in sorted(answers, key=lambda one: one.decides):
        if each.agrees:
            where = _x(each.measured), _y(each.predicted)
            canvas.circle(*where, *((4.5, BLUE, INK) if each.decides else (3, "none", QUIET)))
    differing = [each for each in answers if not each.agrees]
    places = [(_x(each.measured), _y(each.predicted)) for each in answers]
    labels = Labels(places, Box(LEFT, TOP, LEFT + SIDE, TOP + SIDE), taken=_name_quarters(canvas, places))
    for at, each in enumerate(differing):
        x, y = _x(each.measured), _y(each.predicted)
        canvas.polygon([(x, y - 7), (x + 6.5, y + 5), (x - 6.5, y + 5)], VERMILLION, INK)
        canvas.text(*labels.place((x, y), f"{at + 1}"), f"{at + 1}", size=SMALL, bold=True)
    _draw_key(canvas, answers, differing)
    bottom = TOP + SIDE + 66
    for at, each in enumerate(differing):
        words = f"predicted {each.predicted:.2f}, measured {each.measured:.2f} times what is asked for"
        canvas.text(MARGIN, bottom + 19 * at, f"{at + 1}  {each.name}: {words}", size=SMALL)
    return canvas.figure(LEFT + SIDE + 40, bottom + 19 * len(differing), _alt(title, answers, differing))


def _at(ratio: float) -> float:
    """0 to 1 along an axis."""
    power = math.log10(ratio) if ratio > 0 else POWERS[0]
    return (min(max(power, POWERS[0]), POWERS[1]) - POWERS[0]) / (POWERS[1] - POWERS[0])


def _x(ratio: float) -> float:
    return LEFT + SIDE * _at(ratio)


def _y(ratio: float) -> float:
    return TOP + SIDE * (1 - _at(ratio))


def _draw_frame(canvas: Canvas) -> None:
    for words in ("both pass", "both fail"):
        canvas.rectangle(*QUARTERS[words], HALF, HALF, PALER_BLUE, "none", 0)
    for power in range(POWERS[0], POWERS[1] + 1):
        x, y, words = _x(10.0**power), _y(10.0**power), f"{10.0**power:g}"
        canvas.line(x, TOP, x, TOP + SIDE, LINE, 0.6)
        canvas.line(LEFT, y, LEFT + SIDE, y, LINE, 0.6)
        canvas.text(x, TOP + SIDE + 18, words, size=SMALL, anchor="middle")
        canvas.text(LEFT - 8, y + 4, words, size=SMALL, anchor="end")
    canvas.line(LEFT + HALF, TOP, LEFT + HALF, TOP + SIDE, INK, 1.5)
    canvas.line(LEFT, TOP + HALF, LEFT + SIDE, TOP + HALF, INK, 1.5)
    canvas.rectangle(LEFT, TOP, SIDE, SIDE, "none", INK, 1)
    words = "speed over what is asked for (logarithmic)"
    canvas.text(LEFT + SIDE / 2, TOP + SIDE + 40, f"measured {words}", size=SMALL + 1, anchor="middle")
    canvas.text(MARGIN + 8, TOP + SIDE / 2, f"predicted {words}", size=SMALL + 1, anchor="middle", turn=-90)


def _name_quarters(canvas: Canvas, marks: Sequence[Point]) -> list[Box]:
    """Writes into each quarter what an answer's place there says of it, and returns where."""
    places = {words: _place(words, quarter, marks) for words, quarter in QUARTERS.items()}
    for words, box in places.items():
        canvas.text(box.right, box.bottom - 0.2 * SMALL, words, size=SMALL, anchor="end", bold=True)
    return list(places.values())


def _place(words: str, quarter: tuple[int, int], marks: Sequence[Point]) -> Box:
    """The place in the quarter that covers fewest marks; of equal ones the nearest to the frame's upper or lower edge."""
    left, top = quarter
    width = text_width(words, SMALL)
    tried = [
        Box(right - width, bottom - SMALL, right, bottom)
        for bottom in range(top + APART + SMALL, top + HALF - APART + 1, STEP)
        for right in range(left + HALF - APART, left + APART + math.ceil(width), -STEP)
    ]
    if top > TOP:  # the lower quarters are named at their lower edge
        tried.sort(key=lambda box: -box.bottom)
    return min(tried, key=lambda box: sum(map(box.covers, marks)))


def _draw_key(canvas: Canvas, answers: Sequence[JudgedAnswer], differing: Sequence[JudgedAnswer]) -> None:
    deciding = sum(each.decides for each in answers)
    canvas.circle(MARGIN + 6, 54, 4.5, BLUE, INK)
    canvas.text(MARGIN + 18, 58, f"same verdict ({deciding - len(differing)})", size=SMALL)
    canvas.polygon([(196, 47), (202.5, 59), (189.5, 59)], VERMILLION, INK)
    canvas.text(209, 58, f"another verdict ({len(differing)})", size=SMALL)
    canvas.circle(340, 54, 3, "none", QUIET)
    canvas.text(350, 58, f"fails an earlier check: no verdict on speed ({len(answers) - deciding})", size=SMALL)


def _alt(title: str, answers: Sequence[JudgedAnswer], differing: Sequence[JudgedAnswer]) -> str:
    deciding = [each for each in answers if each.decides]
    passing = sum(each.agrees and each.measured >= 1 for each in deciding)
    failing = sum(each.agrees and each.measured < 1 for each in deciding)
    words = f"{title}: of {len(deciding)} verdicts on speed {passing} pass and {failing} fail by the clock and by prediction"
    return words + "".join(f"; {each.name} differs" for each in differing) + "."
