"""A few quantities side by side as horizontal bars, each with its number written out."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.figures.palette import BLUE, INK, LINE, QUIET, SERIES
from autograder.figures.svg import MARGIN, NORMAL, SMALL, TITLE, Canvas, Figure, text_width

BAR, STEP, LENGTH = 22, 34, 380  # pixels: a bar's height, from one to the next, the longest


def bars(
    values: Mapping[str, float],
    *,
    title: str,
    unit: str = "",
    places: int = 0,
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Draws one bar for each name, longest value full width; `places` decimals, zero based, never cut off.

    Raises ValueError for no values or a negative one.
    """
    if not values or min(values.values()) < 0:
        raise ValueError("bars need at least one value and none below zero")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    left = MARGIN + max(text_width(name) for name in values) + 10
    largest = max(values.values()) or 1.0
    suffix = f" {unit}" if unit else ""
    widest_number = max(text_width(f"{value:,.{places}f}{suffix}") for value in values.values())
    top = 48
    for at, (name, value) in enumerate(values.items()):
        y = top + at * STEP
        colour = (colours or {}).get(name, SERIES[at % len(SERIES)] if len(values) <= len(SERIES) else BLUE)
        canvas.text(left - 10, y + BAR / 2 + 5, name, size=NORMAL, anchor="end")
        canvas.rectangle(left, y, max(1.0, LENGTH * value / largest), BAR, colour, INK, 0.6)
        canvas.text(left + max(1.0, LENGTH * value / largest) + 8, y + BAR / 2 + 5, f"{value:,.{places}f}{suffix}")
    bottom = top + len(values) * STEP
    canvas.line(left, top - 6, left, bottom - 6, LINE, 1)
    canvas.text(left, bottom + 10, "bars start at zero", size=SMALL, fill=QUIET)
    width = max(left + LENGTH + widest_number + 16, text_width(title, TITLE) + 2 * MARGIN)
    alt = f"{title}: " + "; ".join(f"{name} {value:,.{places}f}{suffix}" for name, value in values.items()) + "."
    return canvas.figure(width + MARGIN, bottom + 24, alt)
