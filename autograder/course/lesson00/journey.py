"""What a program does on the host and on the device, step by step, and how long each step takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from autograder.figures.palette import BLUE, INK, LINE, PALE_BLUE, PALE_ORANGE, PAPER, QUIET, VERMILLION
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width

_CALLS, _HOST, _DEVICE, _TIMES, _BARS = 320, 380, 530, 596, 664  # pixels: where each column begins or has its middle
_STEP, _LONGEST = 40, 180


@dataclass(frozen=True)
class Step:
    """One call: it copies to the device or back to the host, or works on one of them; with its time if it is known."""

    call: str
    kind: Literal["to device", "to host", "on device", "on host"]
    milliseconds: float | None = None


def journey(steps: Sequence[Step], *, title: str) -> Figure:
    """Draws the calls from top to bottom: arrows where arrays travel, boxes where work is done, bars for the times.

    Raises ValueError where there is no step.
    """
    if not steps:
        raise ValueError("journey needs at least one step")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    top, bottom = 76, 76 + _STEP * len(steps)
    for x, name, fill in ((_HOST, "host", PALE_ORANGE), (_DEVICE, "device", PALE_BLUE)):
        canvas.rectangle(x - 38, 44, 76, bottom - 40, fill, LINE)
        canvas.text(x, 62, name, anchor="middle", bold=True)
    longest = max((step.milliseconds or 0.0) for step in steps) or 1.0
    for number, step in enumerate(steps):
        y = top + (number + 0.5) * _STEP
        canvas.text(_CALLS, y + 5, step.call, size=SMALL, anchor="end", mono=True)
        _draw(canvas, step, y)
        if step.milliseconds is not None:
            canvas.text(_TIMES, y + 5, f"{step.milliseconds:,.2f} ms")
            fill = BLUE if step.kind.startswith("on") else VERMILLION
            canvas.rectangle(_BARS, y - 9, max(1.5, _LONGEST * step.milliseconds / longest), 18, fill)
    timed = any(step.milliseconds is not None for step in steps)
    if timed:
        canvas.text(_TIMES, 62, "measured", size=SMALL, fill=QUIET)
    words = "; ".join(
        f"{step.call} ({step.kind}{f', {step.milliseconds:,.2f} ms' if step.milliseconds is not None else ''})"
        for step in steps
    )
    width = max(_BARS + _LONGEST if timed else _TIMES, text_width(title, TITLE) + MARGIN)
    return canvas.figure(width + MARGIN, bottom + 18, f"{title}. In order: {words}.")


def measured_journey(milliseconds: Mapping[str, float]) -> list[Step]:
    """The four steps of adding two arrays that begin and end on the host, with the times of data/start_h200.json."""
    return [
        Step("device_x.copy_to_device(x)", "to device", milliseconds["copy x to the device"]),
        Step("device_y.copy_to_device(y)", "to device", milliseconds["copy y to the device"]),
        Step("add[...](device_x, device_y, device_out)", "on device", milliseconds["kernel"]),
        Step("device_out.copy_to_host(out)", "to host", milliseconds["copy out to the host"]),
    ]


def _draw(canvas: Canvas, step: Step, y: float) -> None:
    if step.kind in ("on device", "on host"):
        x = _DEVICE if step.kind == "on device" else _HOST
        canvas.rectangle(x - 28, y - 11, 56, 22, BLUE, INK)
        canvas.text(x, y + 4, "work", size=SMALL, anchor="middle", fill=PAPER)
        return
    left, right = _HOST + 26, _DEVICE - 26
    canvas.line(left, y, right, y, VERMILLION, 4)
    tip, base = (right + 12, right - 4) if step.kind == "to device" else (left - 12, left + 4)
    canvas.polygon([(tip, y), (base, y - 9), (base, y + 9)], VERMILLION)
