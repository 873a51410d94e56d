"""Threads that stand beside a matrix, and where in it they write if a guard asks only for the place in memory."""

from __future__ import annotations

from autograder.figures.palette import IDLE, INK, PALE_BLUE, PAPER, QUIET, VERMILLION
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural

_GAP = 110.0  # pixels between the threads and the matrix
_TOP = 70.0


def strays(rows: int, columns: int, across: int, down: int, shown_row: int = 3, largest: float = 16.0) -> Figure:
    """Draws `across` x `down` threads, and the row-major (rows, columns) matrix that they write to.

    A thread of row r and column c writes to place r * columns + c, if that lies inside. Those with a column beyond the
    last hit an element of another thread: both are marked, and an arrow leads from those of `shown_row` to their prey.
    A thread is drawn at most `largest` pixels wide.
    Raises ValueError where no thread goes astray.
    """
    astray = [(row, column) for row in range(down) for column in range(columns, across)]
    astray = [each for each in astray if each[0] * columns + each[1] < rows * columns]
    if not astray:
        raise ValueError(f"{across} x {down} threads over {rows} x {columns} elements: none goes astray")
    hit = {divmod(row * columns + column, columns) for row, column in astray}
    canvas = Canvas()
    cell = max(6.0, min(largest, 720 / (across + columns)))
    right = MARGIN + across * cell + _GAP
    title = f"{across} x {down} threads over a matrix of {rows} x {columns}; the guard asks for the place in memory"
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    canvas.text(MARGIN, _TOP - 12, "the threads, by their row and column")
    canvas.text(right, _TOP - 12, "the elements that they write")
    marked = set(astray)
    for row in range(down):
        for column in range(across):
            own = row < rows and column < columns
            fill = PALE_BLUE if own else VERMILLION if (row, column) in marked else IDLE
            canvas.rectangle(MARGIN + column * cell, _TOP + row * cell, cell, cell, fill, PAPER, 1)
    for row in range(rows):
        for column in range(columns):
            fill = VERMILLION if (row, column) in hit else PALE_BLUE
            canvas.rectangle(right + column * cell, _TOP + row * cell, cell, cell, fill, PAPER, 1)
    _arrow(canvas, cell, right, columns, across, shown_row)
    bottom = _TOP + max(rows, down) * cell + 28
    entries = [(PALE_BLUE, "has an element of its own"), (VERMILLION, "writes another's"), (IDLE, "stopped by the guard")]
    end = canvas.key(MARGIN, bottom, entries)
    said = f"{plural(len(astray), 'thread')} of {across * down:,} write an element of another thread"
    canvas.text(right, _TOP + rows * cell + 24, said, size=SMALL, fill=QUIET)
    width = max(end, right + columns * cell, right + 380)
    words = f"row {shown_row}, column {columns} writes to row {shown_row + 1}, column 0"
    return canvas.figure(width + MARGIN, bottom + 18, f"{title}. {said}: {words}, for example.")


def _arrow(canvas: Canvas, cell: float, right: float, columns: int, across: int, row: int) -> None:
    """From the threads of a row that stand beside the matrix to the elements that they write, a row further down."""
    x, y = MARGIN + across * cell, _TOP + (row + 0.5) * cell
    to_x, to_y = right, _TOP + (row + 1.5) * cell
    canvas.rectangle(MARGIN + columns * cell, y - cell / 2, (across - columns) * cell, cell, "none", INK, 2)
    canvas.rectangle(right, to_y - cell / 2, (across - columns) * cell, cell, "none", INK, 2)
    canvas.line(x, y, to_x - 10, to_y, INK, 2)
    canvas.polygon([(to_x, to_y), (to_x - 12, to_y - 6), (to_x - 12, to_y + 5)], INK)
