"""Where in its arrays a warp's loads land, side by side, for the front of the room: sectors moved and bytes used."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, INK, ORANGE, PALER_BLUE, PAPER, QUIET
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

_GAP = 80.0


def fetches(accesses: Sequence[Access], *, window: int, title: str = "") -> Figure:
    """Draws one warp's accesses to 2-D arrays, an array a panel: each touched sector in its place, used bytes in blue.

    Only the first `window` rows and columns are drawn; the words below count everything.
    Raises ValueError for arrays that are not 2-D, or nothing to draw.
    """
    if not accesses or any(len(access.shape) != 2 for access in accesses):
        raise ValueError("fetches draws one or more accesses to 2-D arrays")
    canvas = Canvas()
    width = min(400.0, (WIDTH - _GAP * (len(accesses) - 1)) / len(accesses))
    left = (WIDTH - len(accesses) * width - _GAP * (len(accesses) - 1)) / 2
    words = []
    for number, access in enumerate(accesses):
        words.append(_panel(canvas, access, left + number * (width + _GAP), width, window))
    canvas.text(40, 200, title, size=34, bold=True)
    _key(canvas, left)
    return canvas.figure(WIDTH, HEIGHT, " ".join([f"{title}."] * bool(title) + words))


def _panel(canvas: Canvas, access: Access, left: float, width: float, window: int) -> str:
    """One array with its touched sectors; returns what it shows in words."""
    rows, columns = access.shape
    touched = sectors_of(access)
    down, across = min(rows, window), min(columns, window)
    cell, top, in_sector = width / max(down, across), 34, SECTOR_BYTES // access.itemsize
    canvas.text(left, top - 10, f"{access.array}, {rows} x {columns}: its first corner", size=LEAST, fill=QUIET)
    canvas.rectangle(left, top, across * cell, down * cell, PALER_BLUE, INK, 1)
    for row in range(1, down):
        canvas.line(left, top + row * cell, left + across * cell, top + row * cell, PAPER, 1)
    for column in range(in_sector, across, in_sector):
        canvas.line(left + column * cell, top, left + column * cell, top + down * cell, PAPER, 2)
    for sector, elements in touched.items():
        for element in range(in_sector):
            row, column = divmod(sector * in_sector + element, columns)
            if row < down and column < across:
                fill = BLUE if element in elements else ORANGE
                canvas.rectangle(left + column * cell, top + row * cell, cell, cell, fill, PAPER, 0.5)
    used = access.itemsize * sum(len(elements) for elements in touched.values())
    moved = SECTOR_BYTES * len(touched)
    lanes = sum(int(address) >= 0 for address in access.addresses)
    bottom = top + down * cell
    words = f"{plural(lanes, 'lane')}, {plural(len(touched), 'sector')}"
    canvas.text(left, bottom + 38, words, size=LARGE, bold=True)
    canvas.text(left, bottom + 70, f"{moved:,} bytes moved, {used:,} used", size=22)
    return f"{access.array}: {words}, {moved:,} bytes moved, {used:,} of them used."


def _key(canvas: Canvas, left: float) -> None:
    for number, (fill, words) in enumerate(((BLUE, "used by a lane"), (ORANGE, "moved, not used by this load"))):
        x = left + 240 * number
        canvas.rectangle(x, HEIGHT - 24, 18, 18, fill)
        canvas.text(x + 28, HEIGHT - 8, words, size=LEAST)
