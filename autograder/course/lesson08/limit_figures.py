"""Pictures and tables of notebook 08b: banks under a fetch of four numbers, loads and their uses, the ladder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.course.data import DATA
from autograder.figures.bars import bars
from autograder.figures.palette import BLUE, IDLE, INK, LINE, QUIET, SERIES, VERMILLION, ink_on
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, text_width

CELL, ROW = 20, 22  # pixels: a bank's width, a row of banks
BAR, NARROW = 4, 4  # a load's height; an instruction's width


def recorded() -> dict[str, Any]:
    """What was measured on an H200: ladder_h200.json."""
    return dict(json.loads((DATA / "ladder_h200.json").read_text(encoding="utf-8")))


def machine_code() -> dict[str, Any]:
    """What the compiler made of each rung: the rungs of ladder_machine_code.json."""
    return dict(json.loads((DATA / "ladder_machine_code.json").read_text(encoding="utf-8"))["rungs"])


def shares(side: int, names: Sequence[str] | None = None) -> dict[str, float]:
    """Percent of cuBLAS's speed that each rung reaches on an H200 at side x side."""
    times = recorded()["products"]["milliseconds"][str(side)]
    library = times["cuBLAS"]
    rungs = [name for name in times if not name.startswith("cuBLAS")] if names is None else names
    return {name: 100 * library / times[name] for name in rungs}


def ladder(side: int = 4096, names: Sequence[str] | None = None) -> Figure:
    """The shares as bars, cuBLAS last."""
    reached = {**shares(side, names), "cuBLAS": 100.0}
    colours = {name: VERMILLION if name == "cuBLAS" else BLUE for name in reached}
    title = f"Share of cuBLAS's speed on an H200, {side:,} x {side:,}, float32"
    return bars(reached, title=title, unit="%", places=0, colours=colours)


def instructions_table(names: Sequence[str]) -> str:
    """For rungs: instructions a multiply-add, registers, shared passes a multiply-add, as the H200's profiler counted."""
    read = recorded()["counters"]["rungs"]
    lines = [f"{'':<16}{'instructions':>14}{'shared passes':>15}{'registers':>11}{'issue slots used':>18}"]
    for name in names:
        each = read[name]
        adds = each["multiply_adds"] / 32
        passes = (each["shared_load_wavefronts"] + each["shared_store_wavefronts"]) / adds
        lines.append(
            f"{name:<16}{each['warp_instructions'] / adds:>14.2f}{passes:>15.2f}{each['registers_per_thread']:>11.0f}"
            f"{each['issue_slots_used_percent']:>16.0f} %"
        )
    return "\n".join([*lines, f"(for each multiply-add of a warp, at {recorded()['counters']['side']:,})"])


def banks_of(place: Callable[[int], int], *, title: str) -> Figure:
    """Which of the 32 banks a fetch of four numbers touches: `place(lane)` is where a lane's first number lies.

    Drawn for eight lanes, which is how many a fetch of 16 bytes is served for at a time. A row holds the 32 numbers that
    one pass can bring; lanes that fetch the same place share a box.
    """
    lanes: dict[int, list[int]] = {}
    for lane in range(8):
        lanes.setdefault(place(lane), []).append(lane)
    rows = sorted({at // 32 for at in lanes})
    passes = len(rows)
    canvas = Canvas()
    canvas.text(MARGIN, 28, title, size=TITLE, bold=True)
    left, top = MARGIN + 4, 66
    for bank in range(0, 32, 4):
        canvas.text(left + bank * CELL + CELL / 2, top - 8, f"{bank}", size=SMALL, anchor="middle", fill=QUIET)
    canvas.text(left + 32 * CELL + 10, top - 8, "bank", size=SMALL, fill=QUIET)
    for at, row in enumerate(rows):
        y = top + at * (ROW + 6)
        canvas.boxes([(float(left + bank * CELL), y, CELL, ROW) for bank in range(32)], IDLE, LINE, 0.6)
        for start, of in lanes.items():
            if start // 32 == row:
                colour = SERIES[of[0] // 4]
                canvas.rectangle(left + start % 32 * CELL, y, 4 * CELL, ROW, colour, INK, 0.8)
                words = ", ".join(map(str, of))
                canvas.text(
                    left + start % 32 * CELL + 2 * CELL, y + 16, words, size=SMALL, anchor="middle", fill=ink_on(colour)
                )
        canvas.text(left + 32 * CELL + 10, y + 16, f"pass {at + 1}", size=SMALL, fill=QUIET)
    bottom = top + passes * (ROW + 6) + 14
    words = "the lanes (of the first eight) that fetch these four numbers; grey: banks that bring nothing"
    canvas.text(left, bottom, words, size=SMALL, fill=QUIET)
    used = 100 * len(lanes) * 4 / (32 * passes)
    counted = "1 pass" if passes == 1 else f"{passes} passes"
    alt = f"{title}: {counted} for eight lanes, {used:.0f} percent of the banks' places used."
    return canvas.figure(left + 32 * CELL + 70, bottom + 16, alt)


def until_use(rungs: Mapping[str, Sequence[int]], *, enough: int, title: str, first: int = 64) -> Figure:
    """For each rung, its loop's `first` loads in their order: a bar as long as there are instructions until the use."""
    canvas = Canvas()
    canvas.text(MARGIN, 28, title, size=TITLE, bold=True)
    widest = max(text_width(name) for name in rungs)
    left, top = MARGIN + widest + 14, 50
    longest = min(60, max(max(each) for each in rungs.values()))
    y = top
    alt = []
    for name, distances in rungs.items():
        shown = distances[:first]
        height = len(shown) * (BAR + 2)
        canvas.text(left - 10, y + height / 2 + 4, name, anchor="end")
        drawn = [(left, y + at * (BAR + 2), NARROW * min(each, longest), BAR) for at, each in enumerate(shown)]
        canvas.boxes([box for box, each in zip(drawn, shown, strict=True) if each >= enough], BLUE)
        canvas.boxes([box for box, each in zip(drawn, shown, strict=True) if each < enough], VERMILLION)
        y += height + 14
        alt.append(f"{name}: {sum(each < enough for each in distances)} of {len(distances)} loads are used too soon")
    x = left + NARROW * enough
    canvas.line(x, top - 4, x, y - 10, INK, 1.2, "4 3")
    for mark in range(0, longest + 1, 10):
        canvas.text(left + NARROW * mark, y + 6, f"{mark}", size=SMALL, anchor="middle", fill=QUIET)
    counts = [len(each) for each in rungs.values()]
    loads = f"{' and '.join(map(str, counts))} loads"
    loads = loads if max(counts) <= first else f"the first {first} of {loads}"
    words = f"instructions between a load and its first use (dashed: {enough}); {loads}"
    canvas.text(MARGIN, y + 26, words, size=SMALL, fill=QUIET)
    width = max(left + NARROW * longest + 40, MARGIN * 2 + text_width(words, SMALL), text_width(title, TITLE) + 2 * MARGIN)
    return canvas.figure(width, y + 42, f"{title}. " + "; ".join(alt) + ".")
