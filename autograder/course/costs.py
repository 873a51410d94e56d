"""What a model charges for, for the front of the room: hidden time, queues at banks, lanes that wait; as in `steps.py`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from autograder.figures.palette import BLUE, GREEN, IDLE, INK, LINE, ORANGE, PALE_BLUE, QUIET, VERMILLION
from autograder.figures.scatter import Pair
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WARP_LANES, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

BANKS = 32  # each holds one 4-byte word at a time
_LEFT = 60


def two_bounds(name: str, compute: float, memory: float) -> list[Figure]:
    """A thread's cycles of computing and of memory: one after the other (SUM), then side by side as well (MAX).

    Raises ValueError for a number that is not above zero.
    """
    if min(compute, memory) <= 0:
        raise ValueError("two_bounds needs cycles above zero")
    return [_two_bounds(name, compute, memory, step) for step in range(2)]


def _two_bounds(name: str, compute: float, memory: float, step: int) -> Figure:
    canvas = Canvas()
    together, longer = compute + memory, max(compute, memory)
    unit = (WIDTH - 2 * _LEFT) / together
    canvas.text(_LEFT, 44, name, size=LARGE, bold=True)
    for x, y, cycles, fill, words in (
        (0.0, 110, compute, ORANGE, "computes"),
        (compute, 110, memory, PALE_BLUE, "waits for memory"),
        (0.0, 290, compute, ORANGE, "computes"),
        (0.0, 360, memory, PALE_BLUE, "waits for memory"),
    ):
        if y > 200 and not step:
            continue
        canvas.rectangle(_LEFT + x * unit, y, cycles * unit, 60, fill, INK, 1.5)
        if cycles * unit > 12 * len(words):
            canvas.text(_LEFT + (x + cycles / 2) * unit, y + 38, words, size=LEAST, anchor="middle")
    canvas.text(
        _LEFT, 94, f"nothing is hidden: SUM = {compute:,.0f} + {memory:,.0f} = {together:,.0f} cycles", size=LEAST
    )
    said = f"{compute:,.0f} cycles of computing, {memory:,.0f} of memory"
    if step:
        canvas.text(_LEFT, 274, f"all is hidden that can be: MAX = {longer:,.0f} cycles", size=LEAST)
        x = _LEFT + longer * unit
        canvas.line(x, 280, x, 430, VERMILLION, 4)
        said = f"SUM is {together / longer:.2f} times MAX"
        canvas.text(_LEFT, 490, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"{name}: {said}.")


def bank_queues(row_elements: int, words: str = "") -> Figure:
    """The banks that a warp's lanes need when each reads a 4-byte word at the start of its own row: one cell a lane.

    `words` say what the rows are: elements that lie as far apart, for example.
    """
    canvas = Canvas()
    queues = Counter(lane * row_elements % BANKS for lane in range(WARP_LANES))
    longest = max(queues.values())
    cell, bottom = (WIDTH - 2 * _LEFT) / BANKS, 450.0
    tall = min(2.4 * cell, 380 / longest)
    for bank in range(BANKS):
        x = _LEFT + bank * cell
        for place in range(queues[bank]):
            fill = VERMILLION if queues[bank] == longest and longest > 1 else BLUE
            canvas.rectangle(x + 2, bottom - (place + 1) * tall, cell - 4, 0.9 * tall, fill, INK, 0.5)
        canvas.rectangle(x, bottom, cell, 30, IDLE, EDGE, 1)
        if bank % 4 == 0:
            canvas.text(x + cell / 2, bottom + 23, f"{bank}", size=LEAST, anchor="middle")
    canvas.text(_LEFT, bottom + 58, "bank of the word that a lane reads", size=LEAST, fill=QUIET)
    said = f"{words or f'rows of {row_elements:,} elements'}: "
    said += f"{plural(len(queues), 'bank')}, {plural(longest, 'lane')} at each"
    canvas.text(_LEFT, 44, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"The banks that the 32 lanes of a warp read; {said}.")


def warp_walk(lengths: Sequence[int], unit: str = "nodes") -> list[Figure]:
    """How far the lanes of one warp have to go, a bar a lane: their lengths in `unit`, then who waits for the longest.

    Raises ValueError unless there are 1 to 32 lengths, one of them above zero.
    """
    if not 1 <= len(lengths) <= WARP_LANES:
        raise ValueError(f"a warp has 1 to {WARP_LANES} lanes, not {len(lengths)}")
    if max(lengths) <= 0:
        raise ValueError("no lane has anything to do: one of the lengths must be above zero")
    return [_warp_walk([int(each) for each in lengths], unit, step) for step in range(2)]


def _warp_walk(lengths: Sequence[int], unit: str, step: int) -> Figure:
    canvas = Canvas()
    longest, total = max(lengths), sum(lengths)
    pitch, bottom, tall = (WIDTH - 2 * _LEFT) / len(lengths), 460.0, 386.0
    for lane, length in enumerate(lengths):
        x, height = _LEFT + lane * pitch, tall * length / longest
        if step:
            canvas.rectangle(x + 3, bottom - tall, pitch - 6, tall - height, IDLE, LINE, 0.5)
        fill = VERMILLION if step and length == longest else GREEN
        canvas.rectangle(x + 3, bottom - height, pitch - 6, height, fill, INK, 0.8)
        if lane % 4 == 0:
            canvas.text(x + pitch / 2, bottom + 26, f"{lane}", size=LEAST, anchor="middle")
    canvas.text(_LEFT, bottom + 58, "lane", size=LEAST, fill=QUIET)
    if step:
        entries = ((150, GREEN, "at work"), (290, VERMILLION, "the slowest lane"), (520, IDLE, "waits for it"))
        for x, fill, words in entries:
            canvas.rectangle(_LEFT + x, bottom + 40, 22, 22, fill, LINE)
            canvas.text(_LEFT + x + 32, bottom + 58, words, size=LEAST)
    said = f"{plural(len(lengths), 'lane')}: {total / len(lengths):.1f} {unit} on average, {longest:,} the most"
    if step:
        said = f"the warp takes {longest:,} rounds; {total / longest:.1f} of {len(lengths)} lanes at work on average"
    canvas.text(_LEFT, 44, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"What each lane of a warp has to walk: {said}.")


def clock_against(pairs: Sequence[Pair], near: float = 0.3, named: int = 5) -> Figure:
    """Predicted against measured times, large: `near` is the error up to which a prediction counts as near.

    The `named` furthest are written out. Raises ValueError for no pairs.
    """
    if not pairs:
        raise ValueError("clock_against needs at least one pair")
    canvas = Canvas()
    low = 10.0 ** math.floor(math.log10(min(min(each.measured_ns, each.predicted_ns) for each in pairs)))
    high = 10.0 ** math.ceil(math.log10(max(max(each.measured_ns, each.predicted_ns) for each in pairs)))
    left, top, side = 150.0, 20.0, 440.0

    def at(ns: float) -> float:
        return side * math.log(ns / low) / math.log(high / low)

    canvas.rectangle(left, top, side, side, "none", INK, 1.5)
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        place, words = at(10.0**power), _time(10.0**power)
        canvas.line(left + place, top, left + place, top + side, LINE, 0.6)
        canvas.line(left, top + side - place, left + side, top + side - place, LINE, 0.6)
        canvas.text(left - 10, top + side - place + 7, words, size=LEAST, anchor="end")
        if power % 2:
            canvas.text(left + place, top + side + 28, words, size=LEAST, anchor="middle")
    canvas.line(left, top + side, left + side, top, INK, 1.5)
    far = [each for each in pairs if abs(each.error) > near]
    for each in pairs:
        fill = VERMILLION if each in far else BLUE
        canvas.circle(left + at(each.measured_ns), top + side - at(each.predicted_ns), 6, fill, INK)
    canvas.text(left + side / 2, top + side + 62, "measured", size=LEAST, anchor="middle")
    canvas.text(34, top + side / 2, "predicted", size=LEAST, anchor="middle", turn=-90)
    said = f"{len(pairs) - len(far)} of {len(pairs)} within {near:.0%}"
    canvas.text(640, 60, said, size=34, bold=True)
    furthest = sorted(far, key=lambda each: -abs(each.error))[:named]
    canvas.text(640, 120, "the furthest off:" if furthest else "", size=LEAST, fill=QUIET)
    for number, each in enumerate(furthest):
        canvas.text(640, 164 + 68 * number, each.name, size=LEAST)
        canvas.text(640, 190 + 68 * number, f"{100 * each.error:+.0f} %", size=LEAST, bold=True, fill=VERMILLION)
    return canvas.figure(WIDTH, HEIGHT, f"Predicted against measured times: {said}.")


def _time(ns: float) -> str:
    unit, size = next(
        ((unit, size) for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if ns >= size), ("ns", 1.0)
    )
    return f"{ns / size:g} {unit}"
