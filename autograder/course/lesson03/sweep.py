"""One number turned like a knob, and what is counted or measured at each setting: linear axes, for the last row too."""

from __future__ import annotations

import math
from collections.abc import Mapping

from autograder.figures.palette import INK, LINE, QUIET, SERIES
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, text_width

_LEFT, _TOP, _BOTTOM = 130.0, 76.0, 450.0


def sweep(
    series: Mapping[str, Mapping[int, float]], *, title: str, along: str, unit: str, ticks: tuple[int, ...]
) -> Figure:
    """Draws a line for each name through its {x: y} points; `along` names x, `unit` names y, `ticks` are marked on x.

    Both axes are linear and y begins at zero. Raises ValueError for no points or a negative one.
    """
    values = [value for points in series.values() for value in points.values()]
    if not values or min(values) < 0:
        raise ValueError("a sweep needs at least one point and none below zero")
    canvas = Canvas()
    canvas.text(40, 38, title, size=LARGE, bold=True)
    right = WIDTH - 60 - max(text_width(name, LEAST) for name in series)
    steps = [x for points in series.values() for x in points]
    low, high, top = min(steps), max(steps), _ceiling(max(values))

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (right - _LEFT) * (x - low) / max(1, high - low), _BOTTOM - (_BOTTOM - _TOP) * y / top

    for part in range(5):
        y = place(low, top * part / 4)[1]
        canvas.line(_LEFT, y, right, y, LINE, 1)
        canvas.text(_LEFT - 12, y + 8, f"{top * part / 4:,.4g}", size=LEAST, anchor="end")
    for tick in ticks:
        x = place(tick, 0)[0]
        canvas.line(x, _BOTTOM, x, _BOTTOM + 8, INK, 1.5)
        canvas.text(x, _BOTTOM + 32, f"{tick}", size=LEAST, anchor="middle")
    canvas.line(_LEFT, _BOTTOM, right, _BOTTOM, INK, 1.5)
    canvas.text((_LEFT + right) / 2, _BOTTOM + 70, along, size=LEAST, anchor="middle", fill=QUIET)
    canvas.text(36, (_TOP + _BOTTOM) / 2, unit, size=LEAST, anchor="middle", fill=QUIET, turn=-90)
    ends: list[float] = []
    for number, (name, points) in enumerate(series.items()):
        where = [place(x, points[x]) for x in sorted(points)]
        _line(canvas, where, SERIES[number % len(SERIES)])
        label = where[-1][1] + 8
        while any(abs(label - each) < LEAST + 4 for each in ends):
            label -= LEAST + 4
        ends.append(label)
        canvas.text(right + 18, label, name, size=LEAST, bold=True, fill=SERIES[number % len(SERIES)])
    return canvas.figure(WIDTH, HEIGHT, _alt(title, series, along, unit))


def _line(canvas: Canvas, where: list[tuple[float, float]], colour: str) -> None:
    """The marks of one line, joined."""
    for one, other in zip(where, where[1:], strict=False):
        canvas.line(*one, *other, colour, 3)
    for x, y in where:
        canvas.circle(x, y, 6, colour, INK)


def _ceiling(value: float) -> float:
    """The next round number above which four steps lead up to."""
    size = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(each * size for each in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10) if each * size >= value)


def _alt(title: str, series: Mapping[str, Mapping[int, float]], along: str, unit: str) -> str:
    lines = []
    for name, points in series.items():
        said = ", ".join(f"{x}: {y:,.4g}" for x, y in sorted(points.items()))
        lines.append(f"{name} ({unit}) at {along} {said}")
    return f"{title}. " + "; ".join(lines) + "."
