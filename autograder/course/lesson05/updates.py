"""Threads that add to one counter: what an order of their reads and writes makes of it, worked out step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.figures.palette import (
    BLUE,
    GREEN,
    INK,
    LINE,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    PAPER,
    VERMILLION,
    mix,
)
from autograder.figures.svg import MARGIN, TITLE, Canvas, Figure, plural, text_width

_PANEL, _BETWEEN, _ROW = 350, 24, 38  # pixels: a panel's width, from one to the next, one step's height
KINDS = ("read", "write", "add")


@dataclass(frozen=True)
class UpdateStep:
    """What happened in one step: who did what, the value that moved, and the counter afterwards."""

    thread: int
    kind: str
    value: int
    counter: int
    lost: bool  # a write that undid what another thread had added meanwhile


def played(order: Sequence[tuple[int, str]]) -> list[UpdateStep]:
    """Plays an order of (thread, kind) on a counter that begins at 0; a thread writes what it last read, plus one.

    An "add" is atomic. Raises ValueError for an unknown kind, or a write without a read before it.
    """
    counter, seen, steps = 0, {}, []
    for thread, kind in order:
        if kind not in KINDS or (kind == "write" and thread not in seen):
            raise ValueError(f"thread {thread} cannot {kind} here")
        lost = False
        if kind == "read":
            value = seen[thread] = counter
        elif kind == "write":
            value = seen.pop(thread) + 1
            lost, counter = value != counter + 1, value
        else:
            value = counter = counter + 1
        steps.append(UpdateStep(thread, kind, value, counter, lost))
    return steps


def interleaving(orders: Mapping[str, Sequence[tuple[int, str]]], *, title: str, shown: int | None = None) -> Figure:
    """Draws each order as a panel: two threads, the counter between them, time downwards; only `shown` steps of it.

    Raises ValueError for no order, or for other threads than 0 and 1.
    """
    if not orders or {thread for order in orders.values() for thread, _ in order} - {0, 1}:
        raise ValueError("interleaving draws orders of the threads 0 and 1")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    longest = max(len(order) for order in orders.values())
    alts = []
    for at, (name, order) in enumerate(orders.items()):
        steps = played(order)
        _panel(canvas, MARGIN + at * (_PANEL + _BETWEEN), name, steps[:shown], len(steps), longest)
        alts.append(_alt_of(name, steps[:shown]))
    width = max(MARGIN + len(orders) * (_PANEL + _BETWEEN) - _BETWEEN, text_width(title, TITLE) + MARGIN)
    return canvas.figure(width + MARGIN, 122 + longest * _ROW + 46, f"{title}. {' '.join(alts)}")


def interleaving_steps(order: Sequence[tuple[int, str]], *, title: str) -> list[Figure]:
    """The same for one order, a frame for each step."""
    return [interleaving({"": order}, title=title, shown=shown) for shown in range(len(order) + 1)]


def _panel(canvas: Canvas, left: float, name: str, steps: Sequence[UpdateStep], all_steps: int, longest: int) -> None:
    columns = (left + 52, left + _PANEL / 2, left + _PANEL - 52)
    top = 112.0
    canvas.text(left, 58, name, bold=True)
    for x, words, fill in zip(
        columns, ("thread 0", "counter", "thread 1"), (PALE_BLUE, PAPER, PALE_ORANGE), strict=True
    ):
        canvas.rectangle(x - 44, 72, 88, 24, fill, LINE)
        canvas.text(x, 89, words, anchor="middle", bold=True)
    canvas.line(columns[1], 96, columns[1], top + longest * _ROW, LINE, 1)
    _value(canvas, columns[1], top, 0, PAPER)
    for at, step in enumerate(steps):
        y = top + (at + 1) * _ROW
        x, colour = (columns[0], BLUE) if step.thread == 0 else (columns[2], ORANGE)
        towards = 1 if step.thread == 0 else -1
        words = {"read": f"reads {step.value}", "write": f"writes {step.value}", "add": f"adds 1: {step.value}"}[
            step.kind
        ]
        canvas.text(x, y + 5, words, anchor="middle", bold=step.lost, fill=VERMILLION if step.lost else INK)
        near, far = x + 46 * towards, columns[1] - 20 * towards
        _arrow(canvas, far, near, y, colour) if step.kind == "read" else _arrow(canvas, near, far, y, colour)
        if step.kind != "read":
            fill = mix(PAPER, VERMILLION, 0.5) if step.lost else mix(PAPER, GREEN, 0.45)
            _value(canvas, columns[1], y, step.counter, fill)
    if len(steps) == all_steps:
        done = sum(step.kind != "read" for step in steps)
        lost = sum(step.lost for step in steps)
        said = f"{plural(done, 'addition')}, the counter says {steps[-1].counter}" + (f": {lost} lost" if lost else "")
        canvas.text(left, top + longest * _ROW + 40, said, bold=True, fill=VERMILLION if lost else INK)


def _value(canvas: Canvas, x: float, y: float, value: int, fill: str) -> None:
    canvas.rectangle(x - 16, y - 13, 32, 26, fill, INK, 1.2)
    canvas.text(x, y + 5, f"{value}", anchor="middle", bold=True)


def _arrow(canvas: Canvas, start: float, end: float, y: float, colour: str) -> None:
    back = -8 if end > start else 8
    canvas.line(start, y, end + back, y, colour, 2.5)
    canvas.polygon([(end, y), (end + back, y - 5), (end + back, y + 5)], colour)


def _alt_of(name: str, steps: Sequence[UpdateStep]) -> str:
    told = "; ".join(f"thread {each.thread} {each.kind}s {each.value}" for each in steps)
    last = f", and the counter is {steps[-1].counter}" if steps else "nothing yet"
    return f"{f'{name}: ' if name else ''}{told}{last}."
