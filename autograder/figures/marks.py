"""Several answers to each of a few questions on one logarithmic axis: a mark an answer, and a band between two bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.figures.palette import BLUE, GREEN, INK, LINE, PALE_BLUE, PURPLE, VERMILLION
from autograder.figures.svg import MARGIN, NORMAL, SMALL, TITLE, Canvas, Figure, text_width

WIDTH, STEP, TOP = 430, 34, 84  # pixels: the axis, from one row to the next, where the rows begin
COLOURS = (VERMILLION, BLUE, GREEN, PURPLE)


@dataclass(frozen=True)
class Row:
    """One question: its answers by name, and optionally the two bounds of a band behind them."""

    name: str
    values: Mapping[str, float]
    band: tuple[float, float] | None = field(default=None)


def marks(rows: Sequence[Row], *, title: str, axis: str, band: str = "", begin: float | None = None) -> Figure:
    """Draws one row a question; the same answer has the same shape and colour in every row.

    `axis` says what the numbers are, `band` what the band is; the axis begins at `begin`, or at a 1, 2 or 5 below all.
    Raises ValueError for no rows, a number not above zero, or one below `begin`.
    """
    numbers = [value for row in rows for value in (*row.values.values(), *(row.band or ()))]
    if not numbers or min(numbers) <= 0:
        raise ValueError("marks on a logarithmic axis need numbers above zero")
    if begin is not None and not 0 < begin <= min(numbers):
        raise ValueError(f"an axis that begins at {begin:g} has no place for {min(numbers):g}")
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    low, high = _ends(min(numbers), max(numbers))
    low = begin or low
    left = MARGIN + max(text_width(row.name) for row in rows) + 14
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    _draw_key(canvas, names, band)
    bottom = TOP + STEP * len(rows)

    def x(value: float) -> float:
        return left + WIDTH * math.log(value / low) / math.log(high / low)

    for tick in _ticks(low, high):
        canvas.line(x(tick), TOP - 8, x(tick), bottom, LINE, 0.6)
        canvas.text(x(tick), bottom + 16, f"{tick:,g}", size=SMALL, anchor="middle")
    canvas.text(left + WIDTH / 2, bottom + 36, axis, size=SMALL, anchor="middle")
    for at, row in enumerate(rows):
        y = TOP + STEP * (at + 0.5) - 4
        canvas.text(left - 12, y + 5, row.name, size=NORMAL, anchor="end")
        canvas.line(left, y, left + WIDTH, y, LINE, 0.6)
        if row.band:
            canvas.rectangle(x(row.band[0]), y - 9, x(row.band[1]) - x(row.band[0]), 18, PALE_BLUE, INK, 0.6)
        for name, value in row.values.items():
            _draw_mark(canvas, x(value), y, names.index(name))
    width = max(left + WIDTH + 28, text_width(title, TITLE) + 2 * MARGIN)
    return canvas.figure(width, bottom + 50, _alt(title, rows, band))


def _ends(least: float, most: float) -> tuple[float, float]:
    """The axis begins and ends at a 1, 2 or 5 with room around the marks."""
    steps = [digit * 10.0**power for power in range(-12, 16) for digit in (1, 2, 5)]
    return max(each for each in steps if each < 0.95 * least), min(each for each in steps if each > 1.05 * most)


def _ticks(low: float, high: float) -> list[float]:
    digits = (1, 2, 5) if high / low < 500 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [digit * 10.0**power for power in powers for digit in digits]
    return [each for each in every if 0.999 * low <= each <= 1.001 * high]


def _draw_key(canvas: Canvas, names: Sequence[str], band: str) -> None:
    x = float(MARGIN)
    for at, name in enumerate(names):
        _draw_mark(canvas, x + 7, 54, at)
        canvas.text(x + 20, 58, name, size=SMALL)
        x += 20 + text_width(name, SMALL) + 24
    if band:
        canvas.rectangle(x, 46, 26, 15, PALE_BLUE, INK, 0.6)
        canvas.text(x + 34, 58, band, size=SMALL)


def _draw_mark(canvas: Canvas, x: float, y: float, at: int) -> None:
    """Answers differ in shape as well as in colour."""
    colour = COLOURS[at % len(COLOURS)]
    shapes = (
        [(x, y - 8), (x + 8, y), (x, y + 8), (x - 8, y)],
        [(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)],
        None,
        [(x, y - 8), (x + 8, y + 6), (x - 8, y + 6)],
    )
    corners = shapes[at % len(shapes)]
    if corners is None:
        canvas.circle(x, y, 6, colour, INK)
    else:
        canvas.polygon(corners, colour, INK)


def _alt(title: str, rows: Sequence[Row], band: str) -> str:
    told = []
    for row in rows:
        words = ", ".join(f"{name} {value:,.3g}" for name, value in row.values.items())
        bounds = f", {band} {row.band[0]:,.3g} to {row.band[1]:,.3g}" if row.band else ""
        told.append(f"{row.name}: {words}{bounds}")
    return f"{title}{'' if title.endswith('?') else '.'} " + "; ".join(told) + "."
