"""How DRAM answers: a slow array that is read a whole row at a time, a fast bus, and banks that take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.palette import BLUE, IDLE, INK, LINE, ORANGE, PALE_BLUE, PALE_ORANGE, PAPER, QUIET, VERMILLION
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

ROWS, COLUMNS, BURST = 8, 16, 4  # of the drawn core array: a real one has thousands of each
CORE_TICKS, BURST_TICKS = 12, 4  # how long the array takes, and how long a burst keeps the bus
_SHOWN_TICKS = 64


@dataclass(frozen=True)
class Burst:
    """One request to DRAM, in ticks of the bus: its bank reads from `begin`, its burst goes out from `sent` to `end`."""

    bank: int
    begin: int
    sent: int
    end: int


def answers(banks: int, ticks: int, core: int = CORE_TICKS, burst: int = BURST_TICKS) -> list[Burst]:
    """All answers that begin within `ticks` when requests never run out and go to the banks in turn.

    A bank reads one row at a time, and one burst at a time is on the bus. Raises ValueError for less than one bank.
    """
    if banks < 1:
        raise ValueError("DRAM needs at least one bank")
    free, bus, found = [0] * banks, 0, []
    while min(free) < ticks:
        bank = min(range(banks), key=lambda each: free[each])
        begin = free[bank]
        sent = max(begin + core, bus)
        bus = free[bank] = sent + burst
        found.append(Burst(bank, begin, sent, bus))
    return found


def busy_share(banks: int, core: int = CORE_TICKS, burst: int = BURST_TICKS) -> float:
    """The share of its time that the bus carries data, once the first answer is under way."""
    return min(1.0, banks * burst / (core + burst))


def core_array(row: int = 5, column: int = 9) -> list[Figure]:
    """One element is wanted: the element, the whole row in the row buffer, and the burst that goes out."""
    if not (0 <= row < ROWS and 0 <= column < COLUMNS):
        raise ValueError(f"the drawn array has {ROWS} rows and {COLUMNS} columns")
    return [_core_array(row, column, step) for step in range(3)]


def _core_array(row: int, column: int, step: int) -> Figure:
    canvas = Canvas()
    cell, left, top = 34, 60, 50
    first = column // BURST * BURST
    canvas.text(left, top - 16, "core array: a tiny capacitor for each bit", size=LEAST, fill=QUIET)
    for down in range(ROWS):
        for across in range(COLUMNS):
            wanted = (down, across) == (row, column)
            fill = BLUE if wanted else PALE_BLUE if step and down == row else PAPER
            canvas.rectangle(left + across * cell, top + down * cell, cell, cell, fill, EDGE, 1)
    buffer = top + (ROWS + 1) * cell + 10
    canvas.text(left + COLUMNS * cell + 16, buffer + 24, "row buffer", size=LEAST, fill=QUIET)
    for across in range(COLUMNS):
        full = step > 0
        fill = BLUE if full and across == column else PALE_BLUE if full else IDLE
        if step == 2 and first <= across < first + BURST and across != column:
            fill = ORANGE
        canvas.rectangle(left + across * cell, buffer, cell, cell, fill, EDGE, 1)
    if step:
        middle: float = left + (COLUMNS // 2) * cell
        canvas.line(middle, top + ROWS * cell + 4, middle, buffer - 14, VERMILLION, 6)
        canvas.polygon([(middle, buffer - 2), (middle - 14, buffer - 18), (middle + 14, buffer - 18)], VERMILLION)
    if step == 2:
        middle = left + (first + BURST / 2) * cell
        canvas.line(middle, buffer + cell + 6, middle, 452, INK, 4)
        canvas.polygon([(middle, 468), (middle - 11, 451), (middle + 11, 451)], INK)
        for beat in range(BURST):
            fill = BLUE if first + beat == column else ORANGE
            canvas.rectangle(left + (first + beat) * cell, 472, cell, cell, fill, INK, 1.5)
        canvas.text(left, 496, "bus", size=LEAST, fill=QUIET)
    x = 760
    said = (
        ("One element is wanted.", "Its capacitors hold so little", "that reading takes long."),
        ("So the array reads a whole", "row of them at once, into", "the row buffer."),
        ("A burst goes out: the wanted", "element and its neighbours,", "one after the other. Fast."),
    )
    for number, lines in enumerate(said[: step + 1]):
        for at, words in enumerate(lines):
            fill = INK if number == step else QUIET
            canvas.text(x, 80 + 112 * number + 30 * at, words, size=24, bold=number == step, fill=fill)
    return canvas.figure(WIDTH, HEIGHT, "DRAM: " + " ".join(said[step]))


def bus_timelines(banks: Sequence[int]) -> list[Figure]:
    """A frame for each number of banks: when each bank reads its array, and when the bus carries a burst."""
    return [_bus_timeline(each) for each in banks]


def _bus_timeline(banks: int) -> Figure:
    canvas = Canvas()
    left, top, row = 150.0, 70.0, 76.0
    unit = (WIDTH - left - 40) / _SHOWN_TICKS
    found = answers(banks, _SHOWN_TICKS)
    canvas.text(left, 40, "requests come without a pause", size=LEAST, fill=QUIET)
    for bank in range(banks):
        canvas.text(left - 16, top + bank * row + 34, f"bank {bank}", size=LEAST, anchor="end")
        canvas.rectangle(left, top + bank * row, _SHOWN_TICKS * unit, row - 22, "none", LINE, 1)
    bus = top + 4 * row + 24
    canvas.text(left - 16, bus + 34, "bus", size=LEAST, anchor="end", bold=True)
    canvas.rectangle(left, bus, _SHOWN_TICKS * unit, row - 22, IDLE, INK, 1.5)
    for each in found:
        y = top + each.bank * row
        _span(canvas, left, unit, y, row - 22, (each.begin, each.begin + CORE_TICKS), PALE_ORANGE)
        for where in (y, bus):
            _span(canvas, left, unit, where, row - 22, (each.sent, each.end), BLUE)
    end = left
    for fill, words in (
        (PALE_ORANGE, "the array reads a row"),
        (BLUE, "a burst on the bus"),
        (IDLE, "the bus is idle"),
    ):
        canvas.rectangle(end, 464, 22, 22, fill, INK, 1)
        canvas.text(end + 32, 483, words, size=LEAST)
        end += 330
    share = busy_share(banks)
    busy = f"{share:.0%} of the time" if share < 1 else "always, after the first row"
    said = f"{plural(banks, 'bank')}: the bus is busy {busy}"
    canvas.text(left, 524, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"DRAM with {said}.")


def _span(canvas: Canvas, left: float, unit: float, y: float, height: float, ticks: tuple[int, int], fill: str) -> None:
    """One bar from tick to tick, cut off where the picture ends."""
    begin, end = ticks[0], min(ticks[1], _SHOWN_TICKS)
    if begin < end:
        canvas.rectangle(left + begin * unit, y, (end - begin) * unit, height, fill, INK, 1)
