"""Private copies of a histogram and their merge, and the runs that one thread counts before it updates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from autograder.figures.palette import BLUE, GREEN, INK, LINE, ORANGE, PAPER, QUIET, SERIES, VERMILLION, ink_on, mix
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width

_WIDTH = 728  # pixels
_COPY, _TOTAL = 84, 120  # pixels: the tallest bar of a copy, and of the total


def private_copies(copies: Sequence[Sequence[int]], names: Sequence[str], *, title: str, merged: bool = True) -> Figure:
    """Draws each block's private histogram, and below what their sum is; `merged=False` leaves the sum out.

    `names` says what each bin counts. Raises ValueError for no copies, or copies of another length than `names`.
    """
    if not len(copies) or any(len(copy) != len(names) for copy in copies):
        raise ValueError("private_copies needs copies with one count for each name")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    total = [sum(int(copy[at]) for copy in copies) for at in range(len(names))]
    most = max(int(count) for copy in copies for count in copy) or 1
    pitch = (_WIDTH + 20) / len(copies)
    floor, base = 62.0 + _COPY + 18, 62.0 + _COPY + 18 + 74 + _TOTAL
    for block, copy in enumerate(copies):
        left, colour = MARGIN + block * pitch, SERIES[block % len(SERIES)]
        canvas.text(left, 56, f"block {block}", bold=True)
        canvas.text(left + 62, 56, f"{sum(map(int, copy)):,} counted", size=SMALL, fill=QUIET)
        _bars(canvas, left, floor, pitch - 20, [_COPY * int(count) / most for count in copy], colour)
        if merged:
            middle = left + (pitch - 20) / 2
            canvas.line(middle, floor + 6, middle, floor + 30, colour, 4)
            canvas.polygon([(middle, floor + 40), (middle - 8, floor + 28), (middle + 8, floor + 28)], colour)
    if merged:
        _total(canvas, base, copies, total, names)
    counted = "1 private copy" if len(copies) == 1 else f"{len(copies)} private copies"
    alt = f"{title}. {counted} of {len(names)} bins"
    alt += f", added up to {sum(total):,} items; most often {names[total.index(max(total))]!r}." if merged else "."
    return canvas.figure(_WIDTH + 2 * MARGIN, base + 40, alt)


def _total(
    canvas: Canvas, base: float, copies: Sequence[Sequence[int]], total: Sequence[int], names: Sequence[str]
) -> None:
    """The sum as stacked bars, a colour a block, with the name of each bin."""
    wide, most = _WIDTH / len(names), max(total) or 1
    for at, name in enumerate(names):
        x, y = MARGIN + at * wide, base
        for block, copy in enumerate(copies):
            high = _TOTAL * int(copy[at]) / most
            y -= high
            if high:
                canvas.rectangle(x + 1.5, y, wide - 3, high, SERIES[block % len(SERIES)], INK, 0.4)
        if text_width(name, SMALL) <= wide + 2:
            canvas.text(x + wide / 2, base + 16, name, size=SMALL, anchor="middle")
    canvas.line(MARGIN, base, MARGIN + _WIDTH, base, INK, 1)
    canvas.text(MARGIN + _WIDTH, base - _TOTAL + 6, "bins in global memory: the sum", anchor="end", bold=True)
    canvas.text(MARGIN + _WIDTH, base - _TOTAL + 24, f"{sum(total):,} counted", size=SMALL, anchor="end", fill=QUIET)


def _bars(canvas: Canvas, left: float, floor: float, width: float, heights: Sequence[float], colour: str) -> None:
    wide = width / len(heights)
    for at, high in enumerate(heights):
        if high:
            canvas.rectangle(left + at * wide, floor - high, max(1.0, wide - 0.8), high, colour)
    canvas.line(left, floor, left + width, floor, INK, 1)


def runs(items: Sequence[int], *, title: str, names: Sequence[str] | None = None) -> Figure:
    """Draws the items that one thread meets, and below the updates that it sends when it keeps a count of the run.

    `names` says what a value stands for. Raises ValueError for no items, or more than 40.
    """
    if not 0 < len(items) <= 40:
        raise ValueError("runs draws 1 to 40 items")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    cell = min(30.0, _WIDTH / len(items))
    groups = [(int(value), len(list(same))) for value, same in groupby(items)]
    values = sorted({value for value, _ in groups})
    placed: list[tuple[int, float, float, float]] = []  # row, begin, end and leader of each label, from the right
    right, top = MARGIN + cell * len(items), 50.0
    for value, length in reversed(groups):
        left, words = right - length * cell, names[value] if names else f"{value}"
        fill = mix(PAPER, (BLUE, GREEN, ORANGE, VERMILLION)[values.index(value) % 4], 0.5 if value else 0.25)
        for x in (left + each * cell for each in range(length)):
            canvas.rectangle(x, top, cell, 30, fill, INK, 0.8)
            canvas.text(x + cell / 2, top + 20, words, size=SMALL, anchor="middle", fill=ink_on(fill))
        said, middle = f"bin {words} += {length}", (left + right) / 2
        begin = min(middle - 4, MARGIN + _WIDTH - text_width(said, SMALL))
        end = begin + text_width(said, SMALL)
        beside = [other for other, start, _, leader in placed if end > start or begin < leader < end]
        row = max(beside, default=-1) + 1  # below all that it would cross
        placed.append((row, begin, end, middle))
        canvas.line(left + 2, top + 36, right - 2, top + 36, INK, 2)
        canvas.line(middle, top + 36, middle, top + 54 + 20 * row, LINE, 1)
        canvas.text(begin, top + 66 + 20 * row, said, size=SMALL)
        right = left
    bottom = top + 66 + 20 * (1 + max(row for row, *_ in placed))
    said = f"{plural(len(items), 'item')}, {plural(len(groups), 'update')}"
    canvas.text(MARGIN, bottom + 10, said, bold=True)
    told = "; ".join(f"bin {names[value] if names else value} += {length}" for value, length in groups)
    return canvas.figure(_WIDTH + 2 * MARGIN, bottom + 28, f"{title}. {said}: {told}.")
