"""The smallest memory that shows what coalescing is: 16 bytes that come in bursts of four, and four threads."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, IDLE, INK, LINE, PALE_BLUE, PALE_ORANGE, PAPER, VERMILLION
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

BYTES, BURST_BYTES = 16, 4
_LEFT, _CELL, _ROW = 88.0, 62.0, 62.0
_TALL, _FLAT = 190.0, 82.0  # from the middle of a thread down to the edge of the memory: on a slide, on a page


def toy_memory(loads: Sequence[Sequence[int]]) -> list[Figure]:
    """A frame for each of several loads: the byte that each thread wants, and the bursts that must come for it.

    Raises ValueError for a byte that the memory does not have.
    """
    _inside(loads)
    return [_frame(list(each)) for each in loads]


def toy_memory_at_once(loads: Sequence[Sequence[int]]) -> Figure:
    """The same loads in one picture, below each other, for a page. Raises ValueError as `toy_memory` does."""
    _inside(loads)
    canvas = Canvas()
    pitch = 282.0
    for number, wanted in enumerate(loads):
        top = 34 + pitch * number
        canvas.text(_LEFT, top + 6, f"bytes {', '.join(map(str, wanted))}: {_cost(wanted)}", size=LARGE, bold=True)
        _memory(canvas, wanted, top + 52, _FLAT)
    said = " ".join(f"Bytes {', '.join(map(str, each))}: {_cost(each)}." for each in loads)
    return canvas.figure(WIDTH, pitch * len(loads), f"Four threads and a memory of {BYTES} bytes. {said}")


def _inside(loads: Sequence[Sequence[int]]) -> None:
    if any(not 0 <= byte < BYTES for each in loads for byte in each):
        raise ValueError(f"the memory has bytes 0 to {BYTES - 1}")


def _frame(wanted: list[int]) -> Figure:
    canvas = Canvas()
    _memory(canvas, wanted, 100, _TALL)
    said = _cost(wanted)
    canvas.text(_LEFT, 470, said, size=LARGE, bold=True)
    where = ", ".join(map(str, wanted))
    return canvas.figure(WIDTH, HEIGHT, f"Four threads want bytes {where} of a memory of {BYTES} bytes. {said}.")


def _bursts(wanted: Sequence[int]) -> list[int]:
    """The numbers of the bursts that hold these bytes."""
    return sorted({byte // BURST_BYTES for byte in wanted})


def _cost(wanted: Sequence[int]) -> str:
    """What a load moves: `2 bursts: 8 bytes moved, 4 used`."""
    bursts = _bursts(wanted)
    return f"{plural(len(bursts), 'burst')}: {BURST_BYTES * len(bursts)} bytes moved, {len(set(wanted))} used"


def _memory(canvas: Canvas, wanted: Sequence[int], middle: float, down: float) -> None:
    """Threads with their middle at the height `middle`, and the memory's upper edge so many pixels below that."""
    bursts, top = _bursts(wanted), middle + down
    spread, radius = BYTES * _CELL / len(wanted), 34 if down > 100 else 26
    for thread, byte in enumerate(wanted):
        x, to = _LEFT + (thread + 0.5) * spread, _LEFT + (byte + 0.5) * _CELL
        canvas.line(x, middle + radius - 4, to, top - 10, INK, 3)
        canvas.polygon([(to, top - 2), (to - 9, top - 20), (to + 9, top - 20)], INK)
        canvas.circle(x, middle, radius, PALE_BLUE, INK)
        canvas.text(x, middle + 8, f"T{thread}", size=LEAST + 1, anchor="middle", bold=True)
    for byte in range(BYTES):
        moved = byte // BURST_BYTES in bursts
        fill = BLUE if byte in wanted else PALE_ORANGE if moved else IDLE
        canvas.rectangle(_LEFT + byte * _CELL, top, _CELL, _ROW, fill, LINE, 1)
        ink = PAPER if byte in wanted else INK
        canvas.text(_LEFT + (byte + 0.5) * _CELL, top + 40, f"{byte}", size=LEAST + 1, anchor="middle", fill=ink)
    for burst in range(BYTES // BURST_BYTES):
        edge, thick = (VERMILLION, 5) if burst in bursts else (INK, 1.5)
        x = _LEFT + burst * BURST_BYTES * _CELL
        canvas.rectangle(x + 2, top, BURST_BYTES * _CELL - 4, _ROW, "none", edge, thick)
        canvas.text(x + BURST_BYTES * _CELL / 2, top + 98, f"burst {burst}", size=LEAST, anchor="middle")
