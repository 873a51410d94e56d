"""Corner turning: one warp carries a row of its tile through shared memory, and comes out along a row again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.figures.banks import wavefronts
from autograder.figures.palette import BLUE, GREEN, IDLE, INK, PALE_BLUE, PALER_BLUE, PAPER, QUIET, VERMILLION, mix
from autograder.figures.sector_map import sectors_of
from autograder.figures.steps import HEIGHT, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

_CELL, _TOP, _LEFT, _STEP = 10.0, 76.0, 40.0, 384.0
PALE_GREEN = mix(PAPER, GREEN, 0.35)


def through_the_tile(kernel: Any, warp: int = 5, block: tuple[int, int, int] = (2, 1, 0)) -> list[Access]:
    """What one warp does in a transpose of (x, out) through an array `tile`, 128 x 128 with 32 x 32 threads a block.

    In order: its load from x, its store to and its load from the tile, its store to out.
    """
    from autograder import profile

    square = np.ones((128, 128), np.float32)
    p = profile(kernel, trace=True, trace_limit=1000)[(4, 4), (32, 32)](square, np.zeros_like(square))
    mine = {(each.array, each.kind): each for each in p.trace("") if (each.warp, each.block) == (warp, block)}
    return [mine[key] for key in (("x", "load"), ("tile", "store"), ("tile", "load"), ("out", "store"))]


def corner_turning(accesses: Sequence[Access]) -> list[Figure]:
    """Four frames from four accesses: the load from x, the store to and the load from the tile, the store to out.

    The first, third and fourth belong to one warp of a block with tiles of 32 rows. Raises ValueError for others.
    """
    if len(accesses) != 4 or [each.kind for each in accesses] != ["load", "store", "load", "store"]:
        raise ValueError("corner_turning draws a load, a store, a load and a store")
    return [_frame(accesses, step) for step in range(4)]


def _frame(accesses: Sequence[Access], step: int) -> Figure:
    canvas = Canvas()
    panels = (
        ("x: where the tile comes from", 0, 0, 0),
        ("tile: shared by the block", 1, 1, 2),
        ("out: where the tile goes", 2, 3, 3),
    )
    for name, at, first, last in panels:
        shown = min(max(step, first), last)
        _panel(canvas, _LEFT + at * _STEP, name, accesses[shown], first <= step <= last, step >= first)
    if step >= 2:
        _stored(canvas, _LEFT + _STEP, accesses[1])
    for at, done in ((0, step >= 1), (1, step >= 3)):
        x, y = _LEFT + at * _STEP + 32 * _CELL + 22, _TOP + 16 * _CELL
        colour = VERMILLION if done else IDLE
        canvas.line(x, y, x + 22, y, colour, 6)
        canvas.polygon([(x + 40, y), (x + 20, y - 13), (x + 20, y + 13)], colour)
    for number in range(step + 1):
        fill = INK if number == step else QUIET
        x, y = _LEFT + 548 * (number % 2), 452 + 44 * (number // 2)
        canvas.text(x, y, f"{number + 1}. {_alt_of(accesses[number])}", size=LEAST + 1, bold=number == step, fill=fill)
    return canvas.figure(WIDTH, HEIGHT, f"Warp {accesses[0].warp}: {_alt_of(accesses[step])}.")


def _panel(canvas: Canvas, left: float, name: str, access: Access, now: bool, filled: bool) -> None:
    """A window of 32 rows of an array (all of a tile), with the warp's elements in it, pale to dark by lane."""
    columns = access.shape[1]
    across = columns if access.array == "tile" else 32
    places = [divmod(int(where) // access.itemsize, columns) for where in access.addresses]
    top_row, first_column = (min(each[at] for each in places) // 32 * 32 for at in (0, 1))
    if access.array == "tile":
        top_row = first_column = 0
    canvas.text(left, _TOP - 18, name, size=LEAST, bold=now, fill=INK if now else QUIET)
    paper = (PALE_GREEN if access.array == "tile" else PALER_BLUE) if filled else PAPER
    canvas.rectangle(left, _TOP, 32 * _CELL, 32 * _CELL, paper, INK, 1.5)
    if across > 32:
        canvas.rectangle(left + 32 * _CELL, _TOP, (across - 32) * _CELL, 32 * _CELL, IDLE, INK, 1.5)
    if filled:
        for lane, (row, column) in enumerate(places):
            x, y = left + (column - first_column) * _CELL, _TOP + (row - top_row) * _CELL
            canvas.rectangle(x, y, _CELL, _CELL, mix(PALE_BLUE, BLUE, lane / 31), PAPER, 0.5)
    if now:
        canvas.rectangle(left - 5, _TOP - 5, across * _CELL + 10, 32 * _CELL + 10, "none", VERMILLION, 3)


def _stored(canvas: Canvas, left: float, store: Access) -> None:
    """A frame around the row of the tile into which the warp stored, so that it is not taken for the column it loads."""
    row = int(store.addresses[0]) // store.itemsize // store.shape[1]
    y = _TOP + row * _CELL
    canvas.rectangle(left, y, 32 * _CELL, _CELL, "none", INK, 2)
    canvas.text(left + 32 * _CELL - 6, y + 30 if row < 28 else y - 10, "stored here", size=LEAST, anchor="end")


def _alt_of(access: Access) -> str:
    """What the access is and costs: `loads a row of x: 4 sectors`."""
    rows = {int(where) // access.itemsize // access.shape[1] for where in access.addresses}
    way = "a row" if len(rows) == 1 else "a column"
    verb = {"load": "loads", "store": "stores"}[access.kind]
    cost = (
        plural(wavefronts(access), "wavefront") if access.array == "tile" else plural(len(sectors_of(access)), "sector")
    )
    place = {"load": f"{way} of {access.array}", "store": f"into {way} of {access.array}"}[access.kind]
    return f"{verb} {place}: {cost}"
