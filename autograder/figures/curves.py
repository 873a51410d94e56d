"""Quantities that grow with another: measured ones as marks joined by lines, theory dashed, each named at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.figures.palette import INK, LINE, QUIET, SERIES
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width

WIDTH, HEIGHT, TOP = 430, 270, 66  # pixels: the frame and where it begins
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """One line: `points` (x, y) from left to right; `spread` are lowest and highest y at each; `theory` is dashed."""

    name: str
    points: Points
    spread: Sequence[tuple[float, float]] = field(default=())
    theory: bool = False
    colour: str = ""


def curves(
    lines: Sequence[Curve],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    x_ticks: Mapping[float, str],
    y_ticks: Mapping[float, str],
    scale: float = 1.0,
    least: int = SMALL,
) -> Figure:
    """Draws the lines over two logarithmic axes that reach from the first to the last tick of each.

    `scale` enlarges the frame and `least` is the smallest text, for slides. Raises ValueError for nothing to draw or a
    number not above zero.
    """
    numbers = [each for line in lines for point in line.points for each in point]
    if not numbers or min(numbers) <= 0 or min(len(x_ticks), len(y_ticks)) < 2:
        raise ValueError("curves need points above zero, and at least two ticks on each axis")
    canvas, names = Canvas(), [line.name for line in lines]
    labels = max(text_width(each, least) for each in y_ticks.values())
    left, top = MARGIN + labels + least + 22, TOP + (least - SMALL) * 2 - (0 if title else 34)
    frame = _Frame(left, top, WIDTH * scale, HEIGHT * scale, tuple(x_ticks), tuple(y_ticks))
    if title:
        canvas.text(MARGIN, 30, title, size=max(TITLE, least), bold=True)
    canvas.text(MARGIN, top - 14, y_axis, size=least, fill=QUIET)
    _draw_frame(canvas, frame, x_ticks, y_ticks, x_axis, least)
    ends: list[tuple[float, str, str]] = []
    for at, line in enumerate(lines):
        colour = line.colour or SERIES[at % len(SERIES)]
        _draw_line(canvas, frame, line, colour, scale)
        ends.append((frame.y(line.points[-1][1]), line.name, colour))
    _name_ends(canvas, ends, left + frame.width + 14, least)
    right = left + frame.width + 14 + max(text_width(name, least) for name in names) + MARGIN + 16
    bottom = top + frame.height + 2.6 * least + 24
    alt = f"{title or y_axis}. {x_axis}; {'; '.join(_description(line, x_ticks) for line in lines)}."
    return canvas.figure(max(right, text_width(title, TITLE) + 2 * MARGIN), bottom, alt)


@dataclass(frozen=True)
class _Frame:
    left: float
    top: float
    width: float
    height: float
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]

    def x(self, value: float) -> float:
        return self.left + self.width * _share(value, self.x_ticks)

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - _share(value, self.y_ticks))


def _share(value: float, ticks: Sequence[float]) -> float:
    return math.log(value / ticks[0]) / math.log(ticks[-1] / ticks[0])


def _draw_frame(
    canvas: Canvas,
    frame: _Frame,
    x_ticks: Mapping[float, str],
    y_ticks: Mapping[float, str],
    x_axis: str,
    least: int,
) -> None:
    bottom = frame.top + frame.height
    for value, words in x_ticks.items():
        canvas.line(frame.x(value), frame.top, frame.x(value), bottom, LINE, 0.6)
        canvas.text(frame.x(value), bottom + least + 5, words, size=least, anchor="middle")
    for value, words in y_ticks.items():
        canvas.line(frame.left, frame.y(value), frame.left + frame.width, frame.y(value), LINE, 0.6)
        canvas.text(frame.left - 8, frame.y(value) + 0.35 * least, words, size=least, anchor="end")
    canvas.rectangle(frame.left, frame.top, frame.width, frame.height, "none", INK, 1)
    middle = frame.left + frame.width / 2
    canvas.text(middle, bottom + 2.4 * least + 10, x_axis, size=least, anchor="middle")


def _draw_line(canvas: Canvas, frame: _Frame, line: Curve, colour: str, scale: float) -> None:
    places = [(frame.x(x), frame.y(y)) for x, y in line.points]
    for (low, high), (x, _) in zip(line.spread, places, strict=False):
        canvas.line(x, frame.y(low), x, frame.y(high), colour, 1.2 * scale)
    for one, other in zip(places, places[1:], strict=False):
        canvas.line(*one, *other, colour, 1.6 * scale, "6 4" if line.theory else "")
    for x, y in () if line.theory else places:
        canvas.circle(x, y, 4 * scale, colour, INK)


def _name_ends(canvas: Canvas, ends: Sequence[tuple[float, str, str]], x: float, least: int) -> None:
    """Each line's name at its end, pushed down where two would lie on each other."""
    lowest = -math.inf
    for y, name, colour in sorted(ends):
        at = max(y, lowest + least + 4)
        canvas.rectangle(x, at - 5, 10, 10, colour, INK, 0.6)
        canvas.text(x + 16, at + 0.36 * least, name, size=least)
        lowest = at


def _description(line: Curve, x_ticks: Mapping[float, str]) -> str:
    (first, low), (last, high) = line.points[0], line.points[-1]
    names = [x_ticks.get(each, f"{each:,g}") for each in (first, last)]
    return f"{line.name} from {low:,.3g} at {names[0]} to {high:,.3g} at {names[1]}"
