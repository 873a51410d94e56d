"""Pictures of the machine and its sums, for the front of the room; builds return their frames, as in `steps.py`."""

from __future__ import annotations

from autograder.figures.palette import (
    BLUE,
    GREEN,
    IDLE,
    INK,
    LINE,
    PALE_BLUE,
    PALE_ORANGE,
    PALER_BLUE,
    PAPER,
    QUIET,
    SKY,
    VERMILLION,
)
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.figures.thread_map import Cover

Call = tuple[str, str, str]  # what is written, the array that it concerns, and "down", "up", "run" or ""
PRODUCT: tuple[Call, ...] = (
    ("d_a = cuda.to_device(a)", "a", "down"),
    ("d_b = cuda.to_device(b)", "b", "down"),
    ("d_c = cuda.device_array((m, n), np.float32)", "c", ""),
    ("matmul_kernel[grid, block](d_a, d_b, d_c)", "", "run"),
    ("c = d_c.copy_to_host()", "c", "up"),
)


def host_and_device(calls: tuple[Call, ...] = PRODUCT) -> list[Figure]:
    """The life of a launch, a call a frame: two copies to the device, room for the result, the kernel, a copy back.

    `calls` concern three arrays in the order of their first mention; the last of these is the result.
    """
    return [_host_and_device(calls, step) for step in range(1, len(calls) + 1)]


def _host_and_device(calls: tuple[Call, ...], step: int) -> Figure:
    canvas = Canvas()
    left, width, host_top, device_top = 40, 520, 40, 320
    for top, name, fill in ((host_top, "host memory", PAPER), (device_top, "device memory (DRAM)", PALER_BLUE)):
        canvas.rectangle(left, top, width, 170, fill, INK, 2)
        canvas.text(left + 16, top + 152, name, size=LEAST, fill=QUIET)
    names = list(dict.fromkeys(name for _, name, _ in calls if name))
    places = {name: left + 40 + 165 * at for at, name in enumerate(names)}
    launched = next(at for at, (_, _, kind) in enumerate(calls, start=1) if kind == "run")
    for name, x in places.items():
        shown = name != names[-1] or step == len(calls)
        _array(canvas, x, host_top + 24, name if shown else "", BLUE if name != names[-1] else GREEN)
    for number, (_, name, direction) in enumerate(calls[:step], start=1):
        now = number == step
        if direction in ("down", "") and name:
            filled = direction == "down" or step >= launched
            _array(canvas, places[name], device_top + 24, name, BLUE if name != names[-1] else GREEN, filled)
        if now and direction in ("down", "up"):
            _arrow(canvas, places[name] + 55, host_top + 176, device_top - 6, direction == "up")
        if direction == "run" and now:
            canvas.rectangle(left - 8, device_top - 8, width + 16, 186, "none", VERMILLION, 5)
    for number, (call, _, _) in enumerate(calls[:step], start=1):
        y = 90 + 84 * (number - 1)
        canvas.text(600, y, call, size=LEAST, mono=True, bold=number == step, fill=INK if number == step else QUIET)
    return canvas.figure(WIDTH, HEIGHT, f"Host and device memory after: {calls[step - 1][0]}")


def _array(canvas: Canvas, x: float, y: float, name: str, colour: str, filled: bool = True) -> None:
    if name:
        canvas.rectangle(x, y, 110, 92, colour if filled else PAPER, INK, 1.5)
        canvas.text(x + 55, y + 56, name, size=LARGE, bold=True, anchor="middle", fill=PAPER if filled else INK)


def _arrow(canvas: Canvas, x: float, top: float, bottom: float, up: bool) -> None:
    canvas.line(x, top + 14 * up, x, bottom - 14 * (not up), VERMILLION, 6)
    tip, base = (top, top + 22) if up else (bottom, bottom - 22)
    canvas.polygon([(x, tip), (x - 14, base), (x + 14, base)], VERMILLION)


def intensity(loads: int, operations: int, itemsize: int = 4) -> list[Figure]:
    """What one turn of an inner loop moves and computes: the loads, the operations, their ratio in FLOP per byte."""
    return [_intensity(loads, operations, itemsize, step) for step in range(3)]


def _intensity(loads: int, operations: int, itemsize: int, step: int) -> Figure:
    canvas = Canvas()
    left, unit = 60, 60
    canvas.text(left, 60, "one turn of the loop moves", size=24)
    for load in range(loads):
        for byte in range(itemsize):
            x = left + (load * itemsize + byte) * unit + 14 * load
            canvas.rectangle(x, 84, unit, 60, PALE_BLUE if load % 2 else SKY, INK, 1)
    end = left + loads * itemsize * unit + 14 * loads + 16
    canvas.text(end, 124, f"{plural(loads, 'load')} of {itemsize} bytes = {loads * itemsize} B", size=LARGE, bold=True)
    if step > 0:
        canvas.text(left, 220, "and computes", size=24)
        for operation in range(operations):
            x = left + 45 + operation * 120
            canvas.circle(x, 280, 40, PALE_ORANGE, INK)
            canvas.text(x, 294, "×" if operation % 2 == 0 else "+", size=40, anchor="middle")
        canvas.text(left + 30 + operations * 120, 290, f"{operations} FLOP", size=LARGE, bold=True)
    if step > 1:
        ratio = operations / (loads * itemsize)
        words = f"{operations} FLOP / {loads * itemsize} B = {ratio:g} FLOP per byte"
        canvas.text(left, 400, words, size=40, bold=True, fill=VERMILLION)
        canvas.text(left, 452, f"to compute once, fetch {1 / ratio:g} bytes", size=LARGE, fill=QUIET)
    alt = f"One turn of the loop: {plural(loads, 'load')} of {itemsize} bytes, {operations} floating-point operations."
    return canvas.figure(WIDTH, HEIGHT, alt)


def guarded(rows: int, columns: int, block: int) -> list[Figure]:
    """A (rows, columns) matrix under square blocks: all of them, those with idle threads, the corner enlarged."""
    return [_guarded(rows, columns, block, step) for step in range(3)]


def _guarded(rows: int, columns: int, block: int, step: int) -> Figure:
    canvas = Canvas()
    cover = Cover(-(-columns // block), -(-rows // block), block, block, rows, columns)
    cell = min(470 / cover.blocks_across, 470 / cover.blocks_down)
    left, top = 50, 44
    for down in range(cover.blocks_down):
        for across in range(cover.blocks_across):
            idle = (down + 1) * block > rows or (across + 1) * block > columns
            fill = VERMILLION if idle and step else PALE_BLUE if (down + across) % 2 else PALER_BLUE
            canvas.rectangle(left + across * cell, top + down * cell, cell, cell, fill)
    right = left + cover.blocks_across * cell
    canvas.rectangle(left, top, right - left, cover.blocks_down * cell, "none", INK, 1.5)
    canvas.text(left, top - 14, f"{cover.blocks_across} x {cover.blocks_down} blocks of {block} x {block}", size=LEAST)
    x = right + 60
    said = [f"{cover.threads:,} threads for {rows * columns:,} elements"]
    said += [f"{cover.idle:,} idle: {100 * cover.idle / cover.threads:.1f} % of all threads"] if step else []
    for number, words in enumerate(said):
        canvas.text(x, top + 26 + 42 * number, words, size=LARGE, bold=number == len(said) - 1)
    if step == 2:
        _corner(canvas, cover, x, top + 150)
    alt = f"{said[-1]}: {cover.blocks_across} x {cover.blocks_down} blocks over {rows:,} x {columns:,} elements."
    return canvas.figure(WIDTH, HEIGHT, alt)


def _corner(canvas: Canvas, cover: Cover, left: float, top: float) -> None:
    """The last block of all, a cell a thread."""
    cell = min(20.0, 320 / cover.block_across)
    first_row, first_column = (cover.blocks_down - 1) * cover.block_down, (cover.blocks_across - 1) * cover.block_across
    words = f"the corner block: rows and columns {first_row:,} to {first_row + cover.block_down - 1:,}"
    canvas.text(left, top - 14, words, size=LEAST)
    for down in range(cover.block_down):
        for across in range(cover.block_across):
            works = first_row + down < cover.rows and first_column + across < cover.columns
            x, y = left + across * cell, top + down * cell
            canvas.rectangle(x, y, cell, cell, PALE_BLUE if works else IDLE, EDGE, 0.6)
            if not works:
                canvas.line(x + 2, y + cell - 2, x + cell - 2, y + 2, EDGE, 1)
    working = (cover.rows - first_row) * (cover.columns - first_column)
    canvas.rectangle(left, top, cell * cover.block_across, cell * cover.block_down, "none", LINE, 1)
    edge = left + cell * cover.block_across + 24
    canvas.text(edge, top + 40, f"{working} at work", size=24)
    canvas.text(edge, top + 76, f"{cover.block_across * cover.block_down - working} idle", size=24)
