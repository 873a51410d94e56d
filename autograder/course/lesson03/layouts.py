"""Structures in memory, field by field: which bytes one warp wants, and which come along, in each layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.figures.palette import GREEN, INK, LINE, ORANGE, PAPER, PURPLE, SKY, VERMILLION, mix
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

LINE_BYTES = 128
PARTICLES, PART = 1 << 25, 8  # that were measured; one in so many is counted, which needs less memory here
RESOURCES = ("DRAM", "L2", "L1", "block launch", "latency")
_FIELDS = [(name, np.float32) for name in ("x", "y", "z", "mass")]
_LEFT, _TALL = 60.0, 34.0
_FIELD_COLOURS = (SKY, GREEN, ORANGE, PURPLE)


def first_load(kernel: Any, array: np.ndarray) -> Access:
    """The first load of the array in a launch of one warp."""
    from autograder import profile

    accesses: list[Access] = profile(kernel, trace=True)[1, 32](array).trace("")
    return next(each for each in accesses if each.kind == "load")


def layouts_measured(milliseconds: Mapping[str, float]) -> str:
    """A row for each layout of particles with four float32 fields: what a warp's mass takes, and measured times.

    `milliseconds` are those of measurements.layouts, by "LAYOUT, one field" and "LAYOUT, all fields".
    """
    from autograder import profile
    from autograder.course.lesson03.kernels import weigh_structures
    from autograder.kernels import weigh_columns, weigh_rows

    cases = {
        "record array, align=True": (weigh_structures, np.ones(32, np.dtype(_FIELDS, align=True))),
        "record array, packed": (weigh_structures, np.ones(32, np.dtype(_FIELDS))),
        "(n, 4)": (weigh_rows, np.ones((32, 4), np.float32)),
        "(4, n)": (weigh_columns, np.ones((4, 32), np.float32)),
    }
    rows = [
        "                           a warp's 32 masses    on an H200, milliseconds",
        "                           requests   sectors    mass only   all four fields",
    ]
    for name, (kernel, particles) in cases.items():
        c = profile(kernel)[1, 32](particles).counters
        one, everything = (milliseconds[f"{name}, {words}"] for words in ("one field", "all fields"))
        counted = f"{c.global_load_requests:>8} {c.global_load_sectors:>9}"
        rows.append(f"{name:<26} {counted} {one:>12.3f} {everything:>17.3f}")
    return "\n".join(rows)


def layout_limits(milliseconds: Mapping[str, float]) -> str:
    """What each resource of an H200 would take to halve a field of 2^25 particles, or all four, by their layout.

    A table in milliseconds; beside the estimates stand the measured times, of `milliseconds` as in layouts_measured.
    """
    from autograder import profile
    from autograder.course.lesson03.kernels import halve_columns, halve_structures, weigh_structures
    from autograder.kernels import weigh_columns, weigh_rows

    few = PARTICLES // PART
    cases = {
        "(n, 4), one field": (weigh_rows, np.ones((few, 4), np.float32)),
        "(4, n), one field": (weigh_columns, np.ones((4, few), np.float32)),
        "(4, n), all fields": (halve_columns, np.ones((4, few), np.float32)),
        "record array, packed, one field": (weigh_structures, np.ones(few, np.dtype(_FIELDS))),
        "record array, packed, all fields": (halve_structures, np.ones(few, np.dtype(_FIELDS))),
    }
    heads = (*RESOURCES, "measured")
    rows = [f"{'milliseconds':<22}" + "".join(f"{head:>{max(4, len(head)) + 3}}" for head in heads)]
    for name, (kernel, particles) in cases.items():
        breakdown = profile(kernel, sample_blocks=4)[few // 256, 256](particles).estimate("H200", PART).breakdown
        times = [breakdown[each] / 1e6 for each in RESOURCES] + [milliseconds[name]]
        words = name.removeprefix("record array, ").replace("one field", "mass only")
        rows.append(f"{words:<22}" + "".join(f"{ms:>{max(4, len(h)) + 3}.2f}" for ms, h in zip(times, heads, strict=True)))
    return "\n".join(rows)


def layouts(panels: Mapping[str, Access], fields: str) -> Figure:
    """Draws the first bytes of each 2-D array, a line of 128 bytes a row, and one warp's access to it.

    `fields` has a letter for each field; an array is (n, fields) or (fields, n). Raises ValueError for another shape.
    """
    if any(len(fields) not in access.shape or len(access.shape) != 2 for access in panels.values()):
        raise ValueError(f"layouts draws arrays with {len(fields)} rows or columns, a field each")
    canvas = Canvas()
    said = []
    for number, (name, access) in enumerate(panels.items()):
        said.append(_panel(canvas, 16 + number * 264, name, access, fields))
    return canvas.figure(WIDTH, HEIGHT, " ".join(said))


def _panel(canvas: Canvas, top: float, name: str, access: Access, fields: str) -> str:
    rows, columns = access.shape
    in_line, in_sector = LINE_BYTES // access.itemsize, SECTOR_BYTES // access.itemsize
    cell = (WIDTH - 2 * _LEFT) / in_line
    touched = sectors_of(access)
    canvas.text(_LEFT, top + 30, name, size=LARGE, bold=True)
    for element in range(min(rows * columns, 4 * in_line)):
        field = element % columns if columns == len(fields) else element // columns
        line, place = divmod(element, in_line)
        x, y = _LEFT + place * cell, top + 48 + line * (_TALL + 6)
        wanted = element % in_sector in touched.get(element // in_sector, {})
        moved = element // in_sector in touched
        share = 1.0 if wanted else 0.35 if moved else 0.1
        canvas.rectangle(x, y, cell, _TALL, mix(PAPER, _FIELD_COLOURS[field % 4], share), LINE, 0.7)
        if moved:
            canvas.text(x + cell / 2, y + 25, fields[field], size=LEAST, anchor="middle", bold=wanted)
    for sector in range(min(rows * columns // in_sector, 4 * in_line // in_sector)):
        line, place = divmod(sector, in_line // in_sector)
        x, y = _LEFT + place * in_sector * cell, top + 48 + line * (_TALL + 6)
        edge, thick = (VERMILLION, 3) if sector in touched else (INK, 1)
        canvas.rectangle(x, y, in_sector * cell, _TALL, "none", edge, thick)
    used = access.itemsize * sum(len(elements) for elements in touched.values())
    moved_bytes = SECTOR_BYTES * len(touched)
    words = f"{plural(len(touched), 'sector')}: {moved_bytes:,} bytes moved, {used:,} used"
    canvas.text(_LEFT, top + 48 + 4 * (_TALL + 6) + 26, words, size=LEAST + 1, bold=True)
    return f"{name}: {words}."
