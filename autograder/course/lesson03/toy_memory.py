"""The smallest memory that shows what coalescing is: 16 bytes that come in bursts of four, and four threads."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, IDLE, INK, LINE, PALE_BLUE, PALE_ORANGE, PAPER, VERMILLION
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

BYTES, BURST_BYTES = 16, 4
_LEFT, _TOP, _CELL = 88.0, 290.0, 62.0


def toy_memory(loads: Sequence[Sequence[int]]) -> list[Figure]:
    """A frame for each of several loads: the byte that each thread wants, and the bursts that must come for it.

    Raises ValueError for a byte that the memory does not have.
    """
    if any(not 0 <= byte < BYTES for each in loads for byte in each):
        raise ValueError(f"the memory has bytes 0 to {BYTES - 1}")
    return [_frame(list(each)) for each in loads]


def _frame(wanted: list[int]) -> Figure:
    canvas = Canvas()
    bursts = sorted({byte // BURST_BYTES for byte in wanted})
    spread = BYTES * _CELL / len(wanted)
    for thread, byte in enumerate(wanted):
        x, to = _LEFT + (thread + 0.5) * spread, _LEFT + (byte + 0.5) * _CELL
        canvas.line(x, 130, to, _TOP - 10, INK, 3)
        canvas.polygon([(to, _TOP - 2), (to - 9, _TOP - 20), (to + 9, _TOP - 20)], INK)
        canvas.circle(x, 100, 34, PALE_BLUE, INK)
        canvas.text(x, 108, f"T{thread}", size=LEAST + 1, anchor="middle", bold=True)
    for byte in range(BYTES):
        moved = byte // BURST_BYTES in bursts
        fill = BLUE if byte in wanted else PALE_ORANGE if moved else IDLE
        canvas.rectangle(_LEFT + byte * _CELL, _TOP, _CELL, 62, fill, LINE, 1)
        ink = PAPER if byte in wanted else INK
        canvas.text(_LEFT + (byte + 0.5) * _CELL, _TOP + 40, f"{byte}", size=LEAST + 1, anchor="middle", fill=ink)
    for burst in range(BYTES // BURST_BYTES):
        edge, thick = (VERMILLION, 5) if burst in bursts else (INK, 1.5)
        x = _LEFT + burst * BURST_BYTES * _CELL
        canvas.rectangle(x + 2, _TOP, BURST_BYTES * _CELL - 4, 62, "none", edge, thick)
        canvas.text(x + BURST_BYTES * _CELL / 2, _TOP + 98, f"burst {burst}", size=LEAST, anchor="middle")
    useful = len(set(wanted))
    said = f"{plural(len(bursts), 'burst')}: {BURST_BYTES * len(bursts)} bytes moved, {useful} used"
    canvas.text(_LEFT, 470, said, size=LARGE, bold=True)
    where = ", ".join(map(str, wanted))
    return canvas.figure(WIDTH, HEIGHT, f"Four threads want bytes {where} of a memory of {BYTES} bytes. {said}.")
