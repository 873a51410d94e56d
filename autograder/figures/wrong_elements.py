"""Where the wrong elements of an output lie: a map by index, in which rows, tiles and edges show as what they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.figures.palette import INK, LINE, PALE_BLUE, PAPER, QUIET, VERMILLION, mix
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width

MOST_CELLS = 64  # a side; larger arrays are binned by powers of two, as tiles are
MAP_PIXELS = 340  # the map's width at most: the picture is to be read on a phone
FOLDED = 32  # least elements in a row of a one-dimensional array: a warp's

RIGHT, SOME_WRONG, WRONG, SOME_UNWRITTEN, UNWRITTEN = range(5)
COLOURS = {
    RIGHT: PALE_BLUE,
    SOME_WRONG: mix(PAPER, VERMILLION, 0.5),
    WRONG: VERMILLION,
    SOME_UNWRITTEN: mix(PAPER, INK, 0.5),
    UNWRITTEN: INK,
}
MEANINGS = {
    RIGHT: "right",
    SOME_WRONG: "partly wrong",
    WRONG: "wrong",
    SOME_UNWRITTEN: "partly never written",
    UNWRITTEN: "never written",
}


def wrong_elements(name: str, wrong: np.ndarray, unwritten: np.ndarray | None = None) -> Figure:
    """Draws which elements of the array `name` are wrong; `unwritten` says of which nothing was stored at all.

    Both are bool and of the array's shape; a one-dimensional array is folded into rows. Raises ValueError for other
    dimensions and for an empty array.
    """
    if wrong.ndim not in (1, 2) or not wrong.size:
        raise ValueError(f"a map of wrong elements takes one or two dimensions, not the shape {wrong.shape}")
    empty = np.zeros_like(wrong) if unwritten is None else unwritten
    states = np.where(wrong & empty, UNWRITTEN, np.where(wrong, WRONG, RIGHT))
    rows = _folded(states) if wrong.ndim == 1 else states
    steps = [_step(length) for length in rows.shape]
    cells = _binned(rows, steps)
    size = max(5, min(22, MAP_PIXELS // cells.shape[1]))
    labels = [f"{at * steps[0] * (rows.shape[1] if wrong.ndim == 1 else 1):,}" for at in range(cells.shape[0])]
    left = MARGIN + max(text_width(label, SMALL) for label in labels) + 8
    head, counted = _headline(name, states)
    canvas = Canvas()
    canvas.text(MARGIN, 30, head, size=TITLE, bold=True)
    canvas.text(MARGIN, 50, counted, size=SMALL, fill=QUIET)
    canvas.text(MARGIN, 70, _axes(wrong.ndim, steps), size=SMALL, fill=QUIET)
    top = 100.0
    _draw_cells(canvas, cells, left, top, size)
    _draw_ticks(canvas, labels, [f"{at * steps[1]:,}" for at in range(cells.shape[1])], left, top, size)
    bottom = top + size * cells.shape[0] + 28
    width = max(left + size * cells.shape[1], *(text_width(each, TITLE) + MARGIN for each in (head,)))
    width = max(width, *(text_width(each, SMALL) + MARGIN for each in (counted, _axes(wrong.ndim, steps))))
    for state in sorted(set(cells[cells >= 0].tolist())):
        canvas.key(MARGIN, bottom, [(COLOURS[state], MEANINGS[state])])
        bottom += 20
    return canvas.figure(width + MARGIN, bottom, f"{head}: {counted}.{_where(states)}")


def _folded(states: np.ndarray) -> np.ndarray:
    """A one-dimensional array in rows of a power of two, about as many as there are columns; -1 after its end."""
    columns = FOLDED
    while columns * columns < states.size and columns < MOST_CELLS * 16:
        columns *= 2
    rows = np.full(-(-states.size // columns) * columns, -1)
    rows[: states.size] = states
    return rows.reshape(-1, columns)


def _step(length: int) -> int:
    """How many indices one cell stands for."""
    step = 1
    while length > MOST_CELLS * step:
        step *= 2
    return step


def _binned(states: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """The state of each cell: of all its elements, or the commoner fault of those that have one."""
    if list(steps) == [1, 1]:
        return states
    shape = [-(-length // step) for length, step in zip(states.shape, steps, strict=True)]
    padded = np.full([cells * step for cells, step in zip(shape, steps, strict=True)], -1)
    padded[: states.shape[0], : states.shape[1]] = states
    groups = padded.reshape(shape[0], steps[0], shape[1], steps[1])
    count = {state: (groups == state).sum(axis=(1, 3)) for state in (-1, RIGHT, WRONG, UNWRITTEN)}
    whole = steps[0] * steps[1] - count[-1] == count[WRONG] + count[UNWRITTEN]
    cells = np.where(
        count[UNWRITTEN] > count[WRONG],
        np.where(whole, UNWRITTEN, SOME_UNWRITTEN),
        np.where(whole, WRONG, SOME_WRONG),
    )
    cells[count[WRONG] + count[UNWRITTEN] == 0] = RIGHT
    cells[count[-1] == steps[0] * steps[1]] = -1
    return cells


def _draw_cells(canvas: Canvas, cells: np.ndarray, left: float, top: float, size: int) -> None:
    """One shape a colour, with neighbours along a row joined: a map of thousands of cells stays small."""
    for state, colour in COLOURS.items():
        boxes = []
        for row, line in enumerate(cells == state):
            edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]])))
            boxes += [(start, row, end - start) for start, end in edges.reshape(-1, 2).tolist()]
        if boxes:
            canvas.boxes([(left + x * size, top + y * size, n * size, size) for x, y, n in boxes], colour)
    height, width = cells.shape
    if size >= 8:
        for at in range(1, width):
            canvas.line(left + at * size, top, left + at * size, top + height * size, PAPER, 1)
        for at in range(1, height):
            canvas.line(left, top + at * size, left + width * size, top + at * size, PAPER, 1)
    canvas.rectangle(left, top, width * size, height * size, "none", LINE, 1)


def _draw_ticks(canvas: Canvas, rows: list[str], columns: list[str], left: float, top: float, size: int) -> None:
    """Indices along both axes, as many as have room."""
    every = _spacing(size, max(text_width(each, SMALL) for each in columns) + 10)
    for at in range(0, len(columns), every):
        canvas.line(left + (at + 0.5) * size, top - 5, left + (at + 0.5) * size, top - 1, QUIET)
        canvas.text(left + (at + 0.5) * size, top - 9, columns[at], size=SMALL, anchor="middle", fill=QUIET)
    for at in range(0, len(rows), _spacing(size, 20)):
        canvas.text(left - 6, top + (at + 0.5) * size + 4, rows[at], size=SMALL, anchor="end", fill=QUIET)


def _spacing(size: int, pixels: float) -> int:
    every = 1
    while every * size < pixels:
        every *= 2
    return every


def _headline(name: str, states: np.ndarray) -> tuple[str, str]:
    shape = " x ".join(f"{length:,}" for length in states.shape)
    counts = [(int((states == state).sum()), MEANINGS[state]) for state in (WRONG, UNWRITTEN, RIGHT)]
    return f"{name}, {shape} elements", ", ".join(f"{count:,} {word}" for count, word in counts if count)


def _axes(dimensions: int, steps: Sequence[int]) -> str:
    if dimensions == 1:
        axes = "index: the number at the left plus that above"
        return axes + (f"; a cell is {steps[0] * steps[1]} elements" if max(steps) > 1 else "")
    axes = "rows down, columns across"
    return axes + (f"; a cell is {steps[0]} x {steps[1]} elements" if max(steps) > 1 else "")


def _where(states: np.ndarray) -> str:
    """In words, the box of indices within which everything wrong lies, where that is not the whole array."""
    wrong = np.argwhere(states != RIGHT)
    if not len(wrong):
        return ""
    low, high = wrong.min(axis=0).tolist(), wrong.max(axis=0).tolist()
    if all(a == 0 and b == n - 1 for a, b, n in zip(low, high, states.shape, strict=True)):
        return ""
    names = ("rows", "columns") if states.ndim == 2 else ("indices",)
    spans = [f"{name} {a} to {b}" for name, a, b in zip(names, low, high, strict=True)]
    return f" All that is not right lies in {' and '.join(spans)}."
