"""Pictures of notebook 08a: who holds what while a thread keeps many sums, and what each rung fetches for a multiply-add.

Both are drawn from what the kernels do: a launch of one block whose tiles are filled once is recorded access by access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.course.lesson08.limit_figures import shares
from autograder.figures.palette import BLUE, GREEN, INK, LINE, PALE_BLUE, PAPER, QUIET, VERMILLION, mix
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

PALE_RED, PALE_GREEN = mix(PAPER, VERMILLION, 0.35), mix(PAPER, GREEN, 0.35)
ZERO = (0, 0, 0)


@dataclass(frozen=True)
class Share:
    """What one thread of a block reads from shared memory and writes to c: (array, row, column), and (row, column)."""

    fetched: frozenset[tuple[str, int, int]]
    written: frozenset[tuple[int, int]]
    tile: tuple[int, int]  # rows and columns of c that the block computes
    depth: int

    @property
    def multiply_adds(self) -> int:
        """That the thread does with one filling of the tiles."""
        return len(self.written) * self.depth

    @property
    def numbers_a_multiply_add(self) -> float:
        """Different numbers that it fetches from shared memory, for each of its multiply-adds."""
        return len(self.fetched) / self.multiply_adds


def share_of(kernel: Any, tile: tuple[int, int], block: int | tuple[int, int], depth: int, thread: int = 0) -> Share:
    """The share of thread number `thread` where one block computes c of shape `tile` = a (rows, depth) b (depth, columns).

    `depth` is what the kernel's tiles hold, so that they are filled once. Raises ValueError for a thread without a share.
    """
    from autograder import profile  # the simulated GPU is only loaded for the pictures that need it

    a, b = np.ones((tile[0], depth), np.float32), np.ones((depth, tile[1]), np.float32)
    accesses = 64 * tile[0] * tile[1]
    p = profile(kernel, trace=True, trace_limit=accesses)[(1, 1), block](a, b, np.zeros(tile, np.float32))
    warp, lane = divmod(thread, 32)
    fetched, written = set(), set()
    for each in p.trace(""):
        if each.warp != warp or each.block != ZERO or each.addresses[lane] < 0:
            continue
        place = int(each.addresses[lane]) // each.itemsize
        if each.kind == "load" and each.space == "shared":
            row, column = divmod(place, each.shape[-1])
            fetched.add((each.array, row, column))
        elif each.kind == "store" and each.space == "global":
            row, column = divmod(place, tile[1])
            written.add((row, column))
    if not fetched or not written:
        raise ValueError(f"thread {thread} reads nothing from shared memory, or writes nothing to c")
    return Share(frozenset(fetched), frozenset(written), tile, depth)


def who_holds_what(kernel: Any, *, thread: int, tile: tuple[int, int] = (128, 128), depth: int = 8) -> Figure:
    """Draws where a thread's numbers lie: the tiles that its block shares, and its own registers in one step of k.

    For kernels in blocks of 256 threads that call their tiles `a_tile` (transposed) and `b_tile`, with a rectangle of
    sums for each thread. The elements are those that the kernel's own indices reached.
    """
    share = share_of(kernel, tile, 256, depth, thread)
    k = depth // 2
    rows = sorted(column for array, row, column in share.fetched if array == "a_tile" and row == k)
    columns = sorted(column for array, row, column in share.fetched if array == "b_tile" and row == k)
    canvas = Canvas()
    cell, wide = 340 / max(tile), 9.0  # pixels: an element of c; a step of k, drawn wider
    left, top = 60.0, 66.0
    c_left, c_top = left + depth * wide + 18, top + depth * wide + 18
    canvas.rectangle(left, c_top, depth * wide, tile[0] * cell, PALE_BLUE, INK, 1.5)
    canvas.rectangle(c_left, top, tile[1] * cell, depth * wide, PALE_RED, INK, 1.5)
    canvas.rectangle(c_left, c_top, tile[1] * cell, tile[0] * cell, PAPER, INK, 1.5)
    for row in rows:
        canvas.rectangle(left + k * wide, c_top + row * cell, wide, cell, BLUE)
    for column in columns:
        canvas.rectangle(c_left + column * cell, top + k * wide, cell, wide, VERMILLION)
    canvas.boxes([(c_left + column * cell, c_top + row * cell, cell, cell) for row, column in share.written], GREEN)
    middle = c_left + tile[1] * cell / 2
    canvas.text(middle, top - 14, f"b_tile, {depth} x {tile[1]}", size=LEAST, anchor="middle", mono=True)
    beside = c_top + tile[0] * cell / 2
    canvas.text(left - 12, beside, f"a_tile, {tile[0]} x {depth}", size=LEAST, mono=True, turn=-90, anchor="middle")
    canvas.text(middle, c_top + 36, "c: one block", size=LEAST, anchor="middle", fill=QUIET)
    _registers(canvas, 640.0, thread, rows, columns, k)
    fetched, adds = len(rows) + len(columns), len(rows) * len(columns)
    canvas.text(640, 516, f"{fetched} numbers, {adds} multiply-adds", size=LARGE, bold=True)
    alt = f"Thread {thread} in step {k} of {depth}: it takes {plural(len(rows), 'number')} out of a_tile and "
    alt += f"{len(columns)} out of b_tile, shared by the block, and adds to {adds} sums in its registers, rows "
    return canvas.figure(WIDTH, HEIGHT, f"{alt}{rows[0]} to {rows[-1]} and columns {columns[0]} to {columns[-1]} of c.")


def _registers(canvas: Canvas, x: float, thread: int, rows: Sequence[int], columns: Sequence[int], k: int) -> None:
    """The thread's own numbers, large: its rows of A down, its columns of B across, its sums between them."""
    canvas.text(x, 42, f"registers of thread {thread}, k = {k}", size=LEAST, bold=True)
    side = min(38.0, 304 / max(len(rows), len(columns)))
    left, top = x + 118, 138.0
    for at, row in enumerate(rows):
        y = top + at * side
        canvas.rectangle(left - side - 8, y, side, side, BLUE, INK, 1)
        canvas.text(left - side - 18, y + side / 2 + 7, f"{row}", size=LEAST, anchor="end", fill=QUIET)
    for at, column in enumerate(columns):
        canvas.rectangle(left + at * side, top - side - 8, side, side, VERMILLION, INK, 1)
        if at % 2 == 0:
            canvas.text(left + (at + 0.5) * side, top - side - 16, f"{column}", size=LEAST, anchor="middle", fill=QUIET)
    for at in range(len(rows)):
        canvas.boxes([(left + each * side, top + at * side, side, side) for each in range(len(columns))], PALE_GREEN, INK)
    canvas.text(left, top + len(rows) * side + 30, f"{len(rows)} x {len(columns)} sums", size=LEAST, fill=QUIET)


def fetched_and_reached(fetched: Mapping[str, float], side: int = 4096) -> Figure:
    """For rungs: numbers fetched from shared memory for a multiply-add (given), and percent of cuBLAS on an H200."""
    reached = shares(side, list(fetched))
    canvas = Canvas()
    left, right_of, length, bar, step = 200.0, 720.0, 330.0, 40, 62
    canvas.text(left, 44, "numbers from shared memory", size=LEAST, bold=True)
    canvas.text(left, 72, "for a multiply-add", size=LEAST, bold=True)
    canvas.text(right_of, 44, "percent of cuBLAS's speed,", size=LEAST, bold=True)
    canvas.text(right_of, 72, f"H200, {side:,} x {side:,}", size=LEAST, bold=True)
    most = max(fetched.values())
    for at, (name, numbers) in enumerate(fetched.items()):
        y = 100.0 + at * step
        canvas.text(left - 14, y + 28, name, size=LEAST, anchor="end")
        canvas.rectangle(left, y, max(2.0, length * numbers / most), bar, BLUE, INK, 0.8)
        canvas.text(left + length * numbers / most + 12, y + 28, f"{numbers:g}", size=LEAST)
        canvas.rectangle(right_of, y, length * reached[name] / 100, bar, VERMILLION, INK, 0.8)
        canvas.text(right_of + length * reached[name] / 100 + 12, y + 28, f"{reached[name]:.0f}", size=LEAST)
    bottom = 100.0 + len(fetched) * step
    for x in (left, right_of):
        canvas.line(x, 90, x, bottom - 12, LINE, 1.5)
    canvas.line(right_of + length, 90, right_of + length, bottom - 12, QUIET, 1.5, "6 5")
    canvas.text(right_of + length, bottom + 16, "100: cuBLAS", size=LEAST, anchor="middle", fill=QUIET)
    alt = "Numbers fetched from shared memory for a multiply-add, and percent of cuBLAS's speed: "
    alt += "; ".join(f"{name} {numbers:g}, {reached[name]:.0f} %" for name, numbers in fetched.items())
    return canvas.figure(WIDTH, bottom + 36, f"{alt}.")


def code_table(names: Sequence[str]) -> str:
    """For rungs: what the inner loop of the machine code holds for 64 multiply-adds, by the compiler's own listing."""
    from autograder.course.lesson08.limit_figures import machine_code

    lines = [f"{'for 64 multiply-adds':<22}{'single fetches':>16}{'fetches of four':>17}{'all instructions':>18}"]
    code = machine_code()
    for name in names:
        by_name = code[name]["by_name"]
        times = by_name["FFMA"] / 64
        found = [by_name.get("LDS", 0), by_name.get("LDS.128", 0), code[name]["instructions_in_the_loop"]]
        lines.append(f"{name:<22}{found[0] / times:>16.0f}{found[1] / times:>17.0f}{found[2] / times:>18.0f}")
    return "\n".join(lines)
