"""Launches in one dimension for the front of the room: which thread has which element, which block runs when; builds."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.course.lesson00.schedule import Slot
from autograder.figures.palette import (
    BLUE,
    IDLE,
    INK,
    LINE,
    ORANGE,
    PALE_BLUE,
    PALER_BLUE,
    PAPER,
    QUIET,
    VERMILLION,
    ink_on,
    mix,
)
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

_LEFT = 50


def numbering(blocks: int, threads: int, length: int, at: tuple[int, int]) -> list[Figure]:
    """A launch of `blocks` blocks of `threads` over `length` elements: blocks, threads, thread `at` (block, thread), idle.

    Raises ValueError where there is no such thread.
    """
    if not (0 <= at[0] < blocks and 0 <= at[1] < threads):
        raise ValueError(f"no thread {at[1]} of block {at[0]} in {blocks} blocks of {threads} threads")
    return [_numbering(blocks, threads, length, at, step) for step in range(4)]


def _numbering(blocks: int, threads: int, length: int, at: tuple[int, int], step: int) -> Figure:
    canvas = Canvas()
    cell = (WIDTH - 2 * _LEFT) / (blocks * threads)
    top, below = 110, 260
    canvas.text(_LEFT, 40, f"kernel[{blocks:,}, {threads:,}]", size=LARGE, mono=True, bold=True)
    for block in range(blocks):
        for thread in range(threads):
            i = block * threads + thread
            x = _LEFT + i * cell
            mine = step > 1 and (block, thread) == at
            idle = step > 2 and i >= length
            fill = BLUE if mine else IDLE if idle else PALE_BLUE if block % 2 else PALER_BLUE
            canvas.rectangle(x, top, cell, 60, fill, EDGE if cell > 8 else "", 0.8)
            if step > 0 and cell > 30:
                middle = x + cell / 2
                canvas.text(middle, top + 38, f"{thread}", size=LEAST, anchor="middle", fill=ink_on(fill))
            if i < length:
                fill = BLUE if mine else PAPER
                canvas.rectangle(x, below, cell, 60, fill, EDGE if cell > 8 else "", 0.8)
                if step > 0 and cell > 30:
                    canvas.text(x + cell / 2, below + 38, f"{i}", size=LEAST, anchor="middle", fill=ink_on(fill))
        x = _LEFT + block * threads * cell
        canvas.rectangle(x, top, threads * cell, 60, "none", INK, 2.5)
        name = f"block {block}"
        canvas.text(
            x + threads * cell / 2, top - 14, name, size=LEAST, anchor="middle", bold=step > 1 and block == at[0]
        )
    canvas.rectangle(_LEFT, below, length * cell, 60, "none", INK, 2)
    canvas.text(_LEFT, below + 90, f"the array: {length:,} elements", size=LEAST, fill=QUIET)
    i = at[0] * threads + at[1]
    if step > 1:
        x = _LEFT + (i + 0.5) * cell
        canvas.line(x, top + 60, x, below, VERMILLION, 4)
    said = (
        f"{plural(blocks, 'block')} of {plural(threads, 'thread')}: {blocks * threads:,} threads",
        f"threadIdx.x counts from 0 to {threads - 1} in every block",
        f"i = blockIdx.x * blockDim.x + threadIdx.x = {at[0]} * {threads} + {at[1]} = {i}",
        f"{plural(max(0, blocks * threads - length), 'thread')} without an element: the guard sends them home",
    )[step]
    canvas.text(_LEFT, 450, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"A launch of {blocks} blocks of {threads} threads, {length} elements. {said}.")


def dispatch(slots: Sequence[Slot], multiprocessors: int, span: float = 0) -> list[Figure]:
    """Blocks that wait are handed to multiprocessors as these become free: a frame each time that blocks start.

    The picture is `span` wide, or as wide as the slots need. Raises ValueError for no blocks.
    """
    if not slots:
        raise ValueError("dispatch needs at least one block")
    begins = sorted({slot.start for slot in slots})
    return [_dispatch(slots, multiprocessors, now, span) for now in begins]


def _dispatch(slots: Sequence[Slot], multiprocessors: int, now: float, span: float) -> Figure:
    canvas = Canvas()
    end = max(slot.end for slot in slots)
    count = len(slots)
    if any(slot.start > now for slot in slots):
        canvas.text(_LEFT, 40, "waiting", size=LEAST, fill=QUIET)
    for slot in slots:
        if slot.start > now:
            _block(canvas, _LEFT + 110 + slot.block * 62, 14, 54, 40, slot.block, count)
    top, left, row = 96, 240, min(84.0, 330 / multiprocessors)
    unit = (WIDTH - left - 40) / max(end, span)
    for number in range(multiprocessors):
        y = top + number * row
        canvas.text(_LEFT, y + row / 2 + 4, f"multiprocessor {number}", size=LEAST)
        canvas.rectangle(left, y, end * unit, row - 10, "none", LINE, 1)
    for slot in slots:
        if slot.start <= now:
            y = top + slot.multiprocessor * row
            _block(canvas, left + slot.start * unit, y, (slot.end - slot.start) * unit, row - 10, slot.block, count)
    last = now == max(slot.start for slot in slots)
    x = left + (end if last else now) * unit
    canvas.line(x, top - 12, x, top + multiprocessors * row, VERMILLION, 4)
    said = f"{plural(count, 'block')} on {plural(multiprocessors, 'multiprocessor')}: "
    said += f"done after {end:.1f} ms" if last else f"{now:.1f} ms"
    canvas.text(left, top + multiprocessors * row + 50, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"Each block goes to the multiprocessor that is free first. {said}.")


def _block(canvas: Canvas, x: float, y: float, width: float, height: float, number: int, count: int) -> None:
    fill = mix(ORANGE, BLUE, number / max(1, count - 1))
    canvas.rectangle(x, y, width, height, fill, INK, 1.5)
    words = f"{number}"
    canvas.text(x + width / 2, y + height / 2 + 8, words, size=LEAST, anchor="middle", bold=True, fill=ink_on(fill))
