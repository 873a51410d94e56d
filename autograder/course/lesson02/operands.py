"""Which elements of a and b the threads of one block ask memory for, and how often, beside their block of c."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.course.lesson02.heat import heat_colour
from autograder.figures.palette import GREEN, INK, LINE, PALE_BLUE, PAPER, QUIET, ink_on, mix
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

_GAP, _BETWEEN = 16, 64  # pixels: from a to c, and from one panel to the next
_NUMBERED = 16  # pixels: cells from this size on show how often they were asked for
_BLOCK_FILL = mix(PAPER, GREEN, 0.45)


def loads_of_block(kernel: Any, n: int, block: tuple[int, int, int], threads: tuple[int, int] = (4, 4)) -> list[Access]:
    """The loads of a and b by one block of `threads` (x, y), recorded while `kernel` multiplies n x n matrices."""
    from autograder import profile  # the simulated GPU is only loaded for the pictures that need it

    ones = np.ones((n, n), np.float32)
    p = profile(kernel, trace=True)[(n // threads[0], n // threads[1]), threads](ones, ones, np.zeros_like(ones))
    loads = [each for each in p.trace("") if each.kind == "load" and each.block == block]
    return sorted((each for each in loads if each.array in ("a", "b")), key=lambda each: each.step)


def operands(panels: Mapping[str, Sequence[Access]], block: tuple[int, int], *, title: str) -> Figure:
    """Draws, a panel for each name, the loads of a and b by a `block` of c given as (rows, columns) of threads.

    Each panel takes the recorded loads of one block from the 2-D arrays `a` and `b`; a cell is as dark as the number
    of threads that asked for it. What an earlier panel has asked for stays pale. Raises ValueError for no loads.
    """
    if not panels or not all(panels.values()):
        raise ValueError("operands needs at least one panel, and loads in each")
    first = next(iter(panels.values()))
    shapes = {access.array: access.shape for access in first}
    if set(shapes) != {"a", "b"}:
        raise ValueError(f"operands draws loads of a and b, not of {', '.join(sorted(shapes))}")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    asked = {name: _threads_by_element(loads) for name, loads in panels.items()}
    most = max(count for counts in asked.values() for count in counts.values())
    (m, k), (_, n) = shapes["a"], shapes["b"]
    cell = max(7, min(22, (760 - _BETWEEN * len(panels)) // (len(panels) * (k + n + 2))))
    step = (k + n) * cell + _GAP + _BETWEEN
    seen: set[tuple[str, int, int]] = set()
    any_pale = False
    for number, (name, counts) in enumerate(asked.items()):
        left = MARGIN + 20 + number * step
        _panel(canvas, left, cell, (m, k, n), counts, seen, most, _corner(first, block), block)
        canvas.text(left, 60, name, bold=True)
        canvas.text(left, 78, f"{plural(sum(counts.values()), 'load')} of {plural(len(counts), 'element')}", size=SMALL)
        any_pale |= bool(seen - set(counts))
        seen |= set(counts)
    bottom = 92 + (k + m) * cell + _GAP + 28
    entries = [(heat_colour(each / most), f"{each} times") for each in sorted({1, most}) if each > 1]
    entries = [(heat_colour(1 / most), "asked for once"), *entries, (_BLOCK_FILL, "the block's elements of c")]
    if any_pale:
        entries.insert(-1, (PALE_BLUE, "in an earlier phase"))
    end = canvas.key(MARGIN + 20, bottom, entries)
    width = max(end, MARGIN + 40 + step * len(panels) - _BETWEEN, text_width(title, TITLE) + MARGIN)
    return canvas.figure(width + MARGIN, bottom + 16, _alt(title, asked))


def _threads_by_element(loads: Sequence[Access]) -> Counter[tuple[str, int, int]]:
    """How many threads asked for each element: {(array, row, column): threads}."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for access in loads:
        for address in access.addresses:
            if int(address) >= 0:
                row, column = divmod(int(address) // access.itemsize, access.shape[1])
                counts[access.array, row, column] += 1
    return counts


def _corner(loads: Sequence[Access], block: tuple[int, int]) -> tuple[int, int]:
    """The row and column of c where the block that sent these loads begins."""
    x, y = loads[0].block[:2]
    return y * block[0], x * block[1]


def _panel(
    canvas: Canvas,
    left: float,
    cell: float,
    shape: tuple[int, int, int],
    counts: Counter[tuple[str, int, int]],
    seen: set[tuple[str, int, int]],
    most: int,
    corner: tuple[int, int],
    block: tuple[int, int],
) -> None:
    """The matrices b above, a at the left, c where a row of a meets a column of b."""
    m, k, n = shape
    c_left, b_top = left + k * cell + _GAP, 92.0
    c_top = b_top + k * cell + _GAP
    places = {"a": (left, c_top, m, k), "b": (c_left, b_top, k, n), "c": (c_left, c_top, m, n)}
    for name, (x, y, rows, columns) in places.items():
        for row in range(rows):
            for column in range(columns):
                key = (name, row, column)
                fill = heat_colour(counts[key] / most) if counts[key] else PALE_BLUE if key in seen else PAPER
                if name == "c" and 0 <= row - corner[0] < block[0] and 0 <= column - corner[1] < block[1]:
                    fill = _BLOCK_FILL
                canvas.rectangle(x + column * cell, y + row * cell, cell, cell, fill, LINE, 0.6)
                if counts[key] and cell >= _NUMBERED:
                    at = (x + (column + 0.5) * cell, y + (row + 0.5) * cell + 4)
                    canvas.text(*at, f"{counts[key]}", size=SMALL, anchor="middle", fill=ink_on(fill))
        canvas.rectangle(x, y, columns * cell, rows * cell, "none", INK, 1)
    canvas.text(left - 6, c_top + m * cell / 2 + 4, "a", size=TITLE, anchor="end", bold=True)
    canvas.text(c_left - 6, b_top + k * cell / 2 + 4, "b", size=TITLE, anchor="end", bold=True)
    canvas.text(c_left + n * cell + 6, c_top + m * cell / 2 + 4, "c", size=TITLE, bold=True, fill=QUIET)


def _alt(title: str, asked: Mapping[str, Counter[tuple[str, int, int]]]) -> str:
    words = [
        f"{name}: {plural(sum(counts.values()), 'load')} of {plural(len(counts), 'element')}"
        for name, counts in asked.items()
    ]
    return f"{title}. " + "; ".join(words) + "."
