"""Heat: one colour scale for source lines and for maps of a matrix, pale for nothing and dark for the most."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import IDLE, INK, PAPER, QUIET, VERMILLION, mix
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width


def heat_colour(share: float) -> str:
    """The background of a line or cell that holds `share` (0 to 1) of the whole; black text reads on all of it."""
    return mix(PAPER, VERMILLION, 0.75 * min(1.0, max(0.0, share)))


def heat_map(values: Sequence[Sequence[float]], *, title: str, low: str = "none", high: str = "most") -> Figure:
    """Draws a matrix of numbers as cells (at most 128 a side), scaled to its largest; `low` and `high` name the ends.

    Raises ValueError for an empty or larger matrix.
    """
    rows, columns = len(values), len(values[0]) if len(values) else 0
    if not 0 < rows <= 128 or not 0 < columns <= 128:
        raise ValueError(f"a heat map takes 1 to 128 rows and columns, not {rows} x {columns}")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    cell = max(4, min(28, 560 // columns, 420 // rows))
    largest = max(float(value) for row in values for value in row) or 1.0
    top = 64
    extents = f"rows 0 to {rows - 1} down, columns 0 to {columns - 1} across"
    canvas.text(MARGIN, top - 12, extents, size=SMALL, fill=QUIET)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            x, y = MARGIN + column * cell, top + row * cell
            canvas.rectangle(x, y, cell, cell, heat_colour(float(value) / largest), IDLE, 0.5)
    canvas.rectangle(MARGIN, top, columns * cell, rows * cell, "none", INK, 1)
    bottom = top + rows * cell + 26
    canvas.key(MARGIN, bottom, [(heat_colour(0), low), (heat_colour(1), high)])
    filled = sum(float(value) > 0 for row in values for value in row)
    width = max(columns * cell, text_width(title, TITLE), 260) + 2 * MARGIN
    alt = f"{title}: {rows} x {columns} cells, {filled:,} of them above zero ({high})."
    return canvas.figure(width, bottom + 16, alt)
