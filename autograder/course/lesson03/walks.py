"""Threads that walk through a matrix side by side, step by step: where they stand in the matrix, and where in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.figures.palette import BLUE, IDLE, INK, PALE_BLUE, PALE_ORANGE, PAPER, QUIET, VERMILLION
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

_LEFT, _PANEL, _CELL, _TOP = 40, 520, 38, 84


def recorded_walks(*kernels: Any, side: int = 8) -> dict[str, list[Access]]:
    """The loads of kernels of (x, out) that sum up a small square matrix, a thread for each sum, by the kernel's name."""
    from autograder import profile  # the simulated GPU is only loaded where it is needed

    small, panels = np.ones((side, side), np.float32), {}
    for kernel in kernels:
        trace = profile(kernel, trace=True)[1, side](small, np.zeros(side, np.float32)).trace("")
        panels[kernel.__name__] = [each for each in trace if each.kind == "load"]
    return panels


def walks(panels: Mapping[str, Sequence[Access]], steps: int) -> list[Figure]:
    """A frame for each of `steps` steps; a panel for each name, given one warp's loads of a small matrix in order.

    Rows of the matrix should be one sector long, so that both pictures agree. Raises ValueError for too few loads.
    """
    if not panels or any(len(loads) < steps for loads in panels.values()):
        raise ValueError(f"walks needs at least {steps} loads in each panel")
    return [_walks(panels, step) for step in range(steps)]


def _walks(panels: Mapping[str, Sequence[Access]], step: int) -> Figure:
    canvas = Canvas()
    words = []
    for number, (name, loads) in enumerate(panels.items()):
        words.append(_panel(canvas, _LEFT + number * (_PANEL + 48), name, loads, step))
    return canvas.figure(WIDTH, HEIGHT, f"Step {step} of the loop. " + " ".join(words))


def _panel(canvas: Canvas, left: float, name: str, loads: Sequence[Access], step: int) -> str:
    """The matrix with its threads above, memory as one row below; returns what is shown in words."""
    access = loads[step]
    rows, columns = access.shape
    lanes = _lanes(access)
    before = {place for earlier in loads[:step] for place in _lanes(earlier)}
    canvas.text(left, 44, name, size=LARGE, bold=True)
    corner = left + (_PANEL - columns * _CELL) / 2
    for row in range(rows):
        for column in range(columns):
            place = row * columns + column
            x, y = corner + column * _CELL, _TOP + row * _CELL
            fill = BLUE if place in lanes else PALE_BLUE if place in before else PAPER
            canvas.rectangle(x, y, _CELL, _CELL, fill, EDGE, 1)
            if place in lanes:
                canvas.text(x + _CELL / 2, y + 27, f"{lanes[place]}", size=LEAST, anchor="middle", fill=PAPER)
    touched = sectors_of(access)
    strip, y = _PANEL / (rows * columns), _TOP + rows * _CELL + 52
    canvas.text(left, y - 12, "the same in memory, row after row", size=LEAST, fill=QUIET)
    for place in range(rows * columns):
        moved = place * access.itemsize // SECTOR_BYTES in touched
        fill = BLUE if place in lanes else PALE_ORANGE if moved else IDLE
        canvas.rectangle(left + place * strip, y, strip, 38, fill, PAPER, 0.5)
    a_sector = SECTOR_BYTES // access.itemsize
    for sector in range(rows * columns // a_sector):
        edge = VERMILLION if sector in touched else INK
        thick = 3 if sector in touched else 1
        canvas.rectangle(left + sector * a_sector * strip, y, a_sector * strip, 38, "none", edge, thick)
    said = f"step {step}: {plural(len(lanes), 'thread')}, {plural(len(touched), 'sector')}"
    canvas.text(left, y + 78, said, size=LARGE, bold=True, fill=INK if len(touched) == 1 else VERMILLION)
    return f"{name}: {said}."


def _lanes(access: Access) -> dict[int, int]:
    """The lane on each element, by its place in memory."""
    return {int(where) // access.itemsize: lane for lane, where in enumerate(access.addresses) if int(where) >= 0}
