"""Which multiprocessor runs which block, and when: the same launch on chips of different size, on one time scale.

A chip that is done almost at once is drawn a second time beside it, with its time stretched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.figures.palette import BLUE, IDLE, INK, LINE, ORANGE, QUIET, mix
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width

_WIDTH, _TALLEST = 700, 216  # pixels: the longest schedule, and the height of the chip with most multiprocessors
_NARROW = 24  # pixels: a schedule no wider is drawn a second time
_WIDEST_STRETCHED, _STRETCHED_AT = 500, 60  # pixels: its width at most, and how far from the first it begins


@dataclass(frozen=True)
class Slot:
    """One block on one multiprocessor, from `start` to `end` in any unit of time."""

    block: int
    multiprocessor: int
    start: float
    end: float


def schedule(chips: Mapping[int, Sequence[Slot]], *, title: str, unit: str = "") -> Figure:
    """Draws, for each number of multiprocessors, its schedule: a row each, time to the right, blocks from pale to dark.

    All chips share the time scale. Raises ValueError where there is no block to draw.
    """
    if not chips or not all(chips.values()):
        raise ValueError("schedule needs at least one chip, and blocks on each")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    ends = {count: max(slot.end for slot in slots) for count, slots in chips.items()}
    scale = _WIDTH / max(ends.values())
    blocks = max(slot.block for slots in chips.values() for slot in slots) + 1
    y, words = 44.0, []
    for count, slots in chips.items():
        idle = count - len({slot.multiprocessor for slot in slots})
        said = f"{plural(count, 'multiprocessor')}: {ends[count]:,.1f}{f' {unit}' if unit else ''}"
        said += f", {plural(idle, 'multiprocessor')} without a block" if idle else ""
        words.append(said)
        canvas.text(MARGIN, y + 14, said, bold=True)
        y += 22
        row = min(22.0, _TALLEST / count)
        _rows(canvas, slots, count, (MARGIN, y), (scale, row), blocks)
        if ends[count] * scale < _NARROW:
            words[-1] += f" (shown once more with time stretched {_stretch(ends[count] * scale)} times)"
            _stretched(canvas, slots, count, y, (scale, row), blocks)
        y += row * count + 18
    canvas.line(MARGIN, y, MARGIN + _WIDTH, y, LINE)
    canvas.text(MARGIN, y + 16, "time runs to the right, one row a multiprocessor", size=SMALL, fill=QUIET)
    entries = [(ORANGE, "block 0"), (BLUE, f"block {blocks - 1:,}"), (IDLE, "idle")]
    canvas.key(MARGIN + 330, y + 16, entries)
    width = max(_WIDTH + MARGIN, text_width(title, TITLE) + MARGIN) + MARGIN
    return canvas.figure(width, y + 34, f"{title}. {'; '.join(words)}.")


def _rows(
    canvas: Canvas,
    slots: Sequence[Slot],
    count: int,
    corner: tuple[float, float],
    unit: tuple[float, float],
    blocks: int,
) -> None:
    """One chip's schedule: a row for each multiprocessor; `unit` is the width of a unit of time and the height of a row."""
    (x, y), (scale, row) = corner, unit
    canvas.rectangle(x, y, max(2.0, max(slot.end for slot in slots) * scale), row * count, IDLE)
    for slot in slots:
        fill = mix(ORANGE, BLUE, slot.block / max(1, blocks - 1))
        width = (slot.end - slot.start) * scale
        outline = INK if width > 24 and row > 12 else ""
        at = (x + slot.start * scale, y + slot.multiprocessor * row)
        canvas.rectangle(*at, max(0.5, width), max(0.5, row - (row > 3)), fill, outline, 0.5)


def _stretched(
    canvas: Canvas, slots: Sequence[Slot], count: int, y: float, unit: tuple[float, float], blocks: int
) -> None:
    """The same schedule beside the narrow one, and lines from corner to corner."""
    (scale, row), end = unit, max(slot.end for slot in slots)
    times, x = _stretch(end * scale), MARGIN + _STRETCHED_AT
    _rows(canvas, slots, count, (x, y), (scale * times, row), blocks)
    for edge in (y, y + row * count):
        canvas.line(MARGIN + end * scale, edge, x, edge, LINE)
    canvas.text(x + end * scale * times + 8, y + 12, f"the same, time x {times}", size=SMALL, fill=QUIET)


def _stretch(width: float) -> int:
    """How many times as wide a schedule of this width is drawn: 1, 2 or 5 times a power of ten."""
    steps = [each * size for size in (1, 10, 100, 1_000, 10_000, 100_000) for each in (1, 2, 5)]
    return max(each for each in steps if each == 1 or each * width <= _WIDEST_STRETCHED)
