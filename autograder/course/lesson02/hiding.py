"""How warps hide each other's waiting: one scheduler of a multiprocessor, cycle by cycle, for the front of the room.

What a warp does is the performance model's: so many instructions a round, so many cycles until the next if nobody is in its
way. Whose turn it is when several warps could go on is ours, the lowest number: NVIDIA says nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.palette import BLUE, IDLE, INK, LINE, PALE_ORANGE, QUIET
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.perfmodel import SPECIFICATIONS, Estimate
from autograder.perfmodel.prediction import CYCLES_ALONE, WARP

_LEFT, _RIGHT, _TOP = 150, 40, 66
_TALL, _ROW, _STRIP = 140, 13, 24  # pixels: of all warps together and of one at most, and of the scheduler
_ROUNDS_DRAWN, _ROUNDS_COUNTED = 2.2, 40


@dataclass(frozen=True)
class Round:
    """What a warp does again and again: `instructions`, and the `cycles` from one round to the next of a lone warp."""

    instructions: int
    cycles: float


def a_round(estimate: Estimate, instructions: float, n: int) -> Round:
    """A round of a kernel that multiplies n x n matrices on an H200, one thread an element: n rounds for each warp.

    `instructions` are those of a round, counted; the cycles come from the estimate's *latency*, which is the life of a warp
    times the turns that warps take in their places.
    """
    gpu = SPECIFICATIONS["H200"]
    places = gpu.multiprocessors * gpu.max_threads * estimate.occupancy / WARP
    turns = max(1.0, n * n / WARP / places)
    return Round(round(instructions), estimate.breakdown["latency"] * gpu.cycles_per_ns / turns / n)


def slots(warps: int, of: Round, cycles: int) -> list[int | None]:
    """Which of `warps` warps a scheduler serves in each cycle; None where none of them can go on.

    A warp's next instruction can start some cycles after its last, and a round's first when what it waits for has come.
    Raises ValueError for no instructions, and for a round too short for those that it has.
    """
    wait = of.cycles - (of.instructions - 1) * CYCLES_ALONE
    if of.instructions < 1 or wait < CYCLES_ALONE:
        raise ValueError(f"{of.instructions} instructions do not fit in a round of {of.cycles:g} cycles")
    ready, issued = [0.0] * warps, [0] * warps
    served: list[int | None] = []
    for cycle in range(cycles):
        warp = next((each for each in range(warps) if ready[each] <= cycle), None)
        served.append(warp)
        if warp is not None:
            issued[warp] += 1
            ready[warp] = cycle + (CYCLES_ALONE if issued[warp] % of.instructions else wait)
    return served


def busy(warps: int, of: Round) -> float:
    """The share of cycles in which a scheduler with so many warps starts an instruction, over many rounds."""
    served = slots(warps, of, round(_ROUNDS_COUNTED * of.cycles))[round(of.cycles) :]
    return sum(each is not None for each in served) / len(served)


def scheduler(words: str, of: Round, warps: Sequence[int] = (1, 4, 16)) -> list[Figure]:
    """One scheduler with the first number of warps, then with the next one below it, and so on: a frame for each.

    A row for each warp, and below them what the scheduler does: blue where an instruction starts.
    """
    return [_scheduler(words, of, warps, shown) for shown in range(1, len(warps) + 1)]


def _scheduler(words: str, of: Round, warps: Sequence[int], shown: int) -> Figure:
    canvas = Canvas()
    cycles = round(_ROUNDS_DRAWN * of.cycles)
    unit = (WIDTH - _LEFT - _RIGHT) / cycles
    head = f"{words}: {plural(of.instructions, 'instruction')} a round, {of.cycles:.0f} cycles to the next"
    canvas.text(_LEFT, 36, head, size=LARGE, bold=True)
    y, said = float(_TOP), []
    for count in warps[:shown]:
        share = f"busy in {busy(count, of):.0%} of the cycles"
        said.append(f"{plural(count, 'warp')}, {share}")
        canvas.text(_LEFT, y + 20, plural(count, "warp"), size=LEAST, bold=True)
        canvas.text(WIDTH - _RIGHT, y + 20, share, size=LEAST, bold=True, anchor="end")
        y = _rows(canvas, slots(count, of, cycles), count, y + 28, unit)
    y, right = HEIGHT - 18, WIDTH - _RIGHT
    entries = ((BLUE, "an instruction starts"), (PALE_ORANGE, "the warp waits"), (IDLE, "nobody can go on"))
    for at, (fill, meaning) in enumerate(entries):
        canvas.rectangle(_LEFT + 270 * at, y - 18, 22, 22, fill, LINE)
        canvas.text(_LEFT + 270 * at + 32, y, meaning, size=LEAST)
    canvas.text(right, y, "time", size=LEAST, anchor="end", fill=QUIET)
    return canvas.figure(WIDTH, HEIGHT, f"One scheduler of a multiprocessor. {head}. {'; '.join(said)}.")


def _rows(canvas: Canvas, served: Sequence[int | None], count: int, y: float, unit: float) -> float:
    """Draws the warps and the scheduler from `y` downwards; returns where the next may begin."""
    row = min(float(_ROW), _TALL / count)
    for warp in range(count):
        canvas.rectangle(_LEFT, y, len(served) * unit, row - 1, PALE_ORANGE)
        starts = [at for at, each in enumerate(served) if each == warp]
        canvas.boxes([(_LEFT + at * unit, y, unit, row - 1) for at in starts], BLUE)
        y += row
    y += 3
    canvas.text(_LEFT - 12, y + 18, "scheduler", size=LEAST, anchor="end")
    canvas.rectangle(_LEFT, y, len(served) * unit, _STRIP, IDLE)
    starts = [at for at, each in enumerate(served) if each is not None]
    canvas.boxes([(_LEFT + at * unit, y, unit, _STRIP) for at in starts], BLUE)
    canvas.rectangle(_LEFT, y, len(served) * unit, _STRIP, "none", INK, 1.5)
    return y + _STRIP + 16
