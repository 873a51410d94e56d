"""Memory as lines of 128 bytes: which elements one or two warps want, and which sectors have to be moved for that."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, GREEN, IDLE, INK, LINE, ORANGE, PALE_ORANGE, QUIET, VERMILLION, ink_on
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

LINE_BYTES, LINES = 128, 8
_LEFT, _TOP, _STEP, _TALL = 92.0, 70.0, 46.0, 34.0
_WARP_COLOURS = (BLUE, GREEN)


def memory_lines(accesses: Sequence[Access], title: str, lines: int = LINES) -> Figure:
    """Draws the first `lines` lines of a 1-D array of 4-byte elements, with the lanes of one or two warps on it.

    Raises ValueError for no access, more than two, or other elements, and for less than one line.
    """
    if lines < 1:
        raise ValueError("memory_lines draws at least one line")
    if not 1 <= len(accesses) <= 2 or any(access.itemsize != 4 for access in accesses):
        raise ValueError("memory_lines draws one or two accesses to elements of 4 bytes")
    canvas = Canvas()
    canvas.text(_LEFT, 36, title, size=LARGE, bold=True)
    touched = [sectors_of(access) for access in accesses]
    across = (WIDTH - _LEFT - 40) / (LINE_BYTES // 4)
    for line in range(lines):
        y = _TOP + line * _STEP
        canvas.text(_LEFT - 12, y + 25, f"{line * LINE_BYTES // 4}", size=LEAST, anchor="end", fill=QUIET)
        for place in range(LINE_BYTES // 4):
            _element(canvas, touched, line * (LINE_BYTES // 4) + place, _LEFT + place * across, y, across)
        for part in range(LINE_BYTES // SECTOR_BYTES):
            wanted = sum(line * (LINE_BYTES // SECTOR_BYTES) + part in each for each in touched)
            edge, thick = ((INK, 1), (VERMILLION, 3), (ORANGE, 6))[wanted]
            canvas.rectangle(_LEFT + part * 8 * across, y, 8 * across, _TALL, "none", edge, thick)
    said = _alt_of(accesses, touched)
    shorter = (LINES - lines) * _STEP
    canvas.text(_LEFT, 480 - shorter, said, size=LEAST + 1, bold=True)
    shared = sum(sector in touched[-1] for sector in touched[0]) if len(touched) == 2 else 0
    if shared:
        canvas.text(_LEFT, 514 - shorter, f"wanted by both: {plural(shared, 'sector')}", size=LEAST, fill=QUIET)
    return canvas.figure(WIDTH, HEIGHT - shorter, f"{title}. {said}.")


def _element(
    canvas: Canvas, touched: Sequence[dict[int, dict[int, list[int]]]], element: int, x: float, y: float, across: float
) -> None:
    """One element: with its lane where one wants it, pale where its sector comes along, grey elsewhere."""
    sector, place = divmod(element, SECTOR_BYTES // 4)
    fill, words = IDLE, ""
    for number, each in enumerate(touched):
        if place in each.get(sector, {}):
            fill, words = _WARP_COLOURS[number], f"{each[sector][place][0]}"
        elif sector in each and fill == IDLE:
            fill = PALE_ORANGE
    canvas.rectangle(x, y, across, _TALL, fill, LINE, 0.6)
    if words:
        canvas.text(x + across / 2, y + 25, words, size=LEAST, anchor="middle", fill=ink_on(fill))


def _alt_of(accesses: Sequence[Access], touched: Sequence[dict[int, dict[int, list[int]]]]) -> str:
    parts = []
    for access, sectors in zip(accesses, touched, strict=True):
        used = access.itemsize * sum(len(each) for each in sectors.values())
        moved = f"{plural(len(sectors), 'sector')}, {SECTOR_BYTES * len(sectors):,} bytes moved, {used} used"
        parts.append(f"warp {access.warp}: {moved}")
    return "; ".join(parts)
