"""Which thread of a 2-D launch computes which element of a matrix, with the threads that find nothing to do shaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autograder.figures.palette import IDLE, INK, LINE, PALE_BLUE, PALER_BLUE, QUIET, SKY, VERMILLION
from autograder.figures.svg import MARGIN, NORMAL, SMALL, TITLE, Canvas, Figure, plural, text_width

DRAWN_THREADS = 64  # a side longer than this is drawn block by block
LABELLED_CELL = 34  # pixels: cells from this size on show their threadIdx
Extent = tuple[int, int]


@dataclass(frozen=True)
class Cover:
    """How a launch lies over a (rows, columns) matrix; `across` runs along columns, `down` along rows."""

    blocks_across: int
    blocks_down: int
    block_across: int
    block_down: int
    rows: int
    columns: int

    @property
    def threads_across(self) -> int:
        return self.blocks_across * self.block_across

    @property
    def threads_down(self) -> int:
        return self.blocks_down * self.block_down

    @property
    def threads(self) -> int:
        return self.threads_across * self.threads_down

    @property
    def working(self) -> int:
        return min(self.threads_across, self.columns) * min(self.threads_down, self.rows)

    @property
    def idle(self) -> int:
        return self.threads - self.working

    @property
    def uncovered(self) -> int:
        return self.rows * self.columns - self.working


def thread_map(
    grid: Extent | int,
    block: Extent | int,
    shape: Extent | int,
    *,
    x_along: Literal["columns", "rows"] = "columns",
) -> Figure:
    """Draws a launch of `grid` blocks of `block` threads, both (x, y), over a matrix of `shape` (rows, columns).

    A number alone is a launch, or an array, of one dimension. Up to 64 x 64 threads each thread is a cell; larger
    launches are drawn block by block with the last corner enlarged.
    Raises ValueError for extents that are not two positive integers.
    """
    grid, block = ((each, 1) if isinstance(each, int) else each for each in (grid, block))
    shape = (1, shape) if isinstance(shape, int) else shape
    for name, extent in (("grid", grid), ("block", block), ("shape", shape)):
        if len(extent) != 2 or min(extent) < 1:
            raise ValueError(f"{name} must be two positive integers, not {extent!r}")
    if x_along == "rows":
        cover = Cover(grid[1], grid[0], block[1], block[0], *shape)
    else:
        cover = Cover(grid[0], grid[1], block[0], block[1], *shape)
    canvas = Canvas()
    launch = f"{grid[0]} x {grid[1]} blocks of {block[0]} x {block[1]} threads"
    title = f"{launch} over {shape[0]:,} x {shape[1]:,} elements"
    canvas.text(MARGIN, 28, title, size=TITLE, bold=True)
    small = max(cover.threads_across, cover.columns, cover.threads_down, cover.rows) <= DRAWN_THREADS
    right, bottom = _draw_threads(canvas, cover, x_along) if small else _draw_blocks(canvas, cover)
    bottom = _draw_key(canvas, cover, bottom + 28, small)
    width = max(right, text_width(title, TITLE) + MARGIN, 560) + MARGIN
    return canvas.figure(width, bottom + 14, _alt(title, cover))


def _draw_threads(canvas: Canvas, cover: Cover, x_along: str) -> tuple[float, float]:
    """One cell a thread, block outlines, and the block numbers along both sides; returns the right and bottom edges."""
    across, down = max(cover.threads_across, cover.columns), max(cover.threads_down, cover.rows)
    cell = max(8, min(44, 640 // across, 440 // down))
    left, top = MARGIN + 22, 84
    along, other = ("x", "y") if x_along == "columns" else ("y", "x")
    words = f"columns to the right ({along}), rows down ({other})"
    words += "; in a cell: threadIdx.x, threadIdx.y" if cell >= LABELLED_CELL else ""
    canvas.text(MARGIN, 50, words, size=SMALL, fill=QUIET)
    for row in range(down):
        for column in range(across):
            x, y = left + column * cell, top + row * cell
            _draw_thread(canvas, cover, row, column, x, y, cell, x_along)
    for number in range(cover.blocks_across):
        middle = left + (number + 0.5) * cover.block_across * cell
        words = _block_label(number, along, cover.block_across * cell)
        canvas.text(middle, top - 8, words, size=SMALL, anchor="middle")
    for number in range(cover.blocks_down):
        middle = top + (number + 0.5) * cover.block_down * cell
        words = _block_label(number, other, cover.block_down * cell)
        canvas.text(left - 8, middle, words, size=SMALL, anchor="middle", turn=-90)
    for down_block in range(cover.blocks_down):
        for across_block in range(cover.blocks_across):
            x, y = left + across_block * cover.block_across * cell, top + down_block * cover.block_down * cell
            canvas.rectangle(x, y, cover.block_across * cell, cover.block_down * cell, "none", INK, 1.5)
    return left + across * cell, top + down * cell


def _block_label(number: int, axis: str, width: float) -> str:
    words = f"blockIdx.{axis} = {number}"
    return words if text_width(words, SMALL) < width else f"{number}"


def _draw_thread(
    canvas: Canvas, cover: Cover, row: int, column: int, x: float, y: float, cell: float, x_along: str
) -> None:
    """The cell of one thread, or of an element that no thread computes."""
    has_thread = row < cover.threads_down and column < cover.threads_across
    has_element = row < cover.rows and column < cover.columns
    if not has_thread and not has_element:
        return
    if has_thread and has_element:
        odd = (row // cover.block_down + column // cover.block_across) % 2
        fill = PALE_BLUE if odd else PALER_BLUE
    else:
        fill = IDLE if has_thread else VERMILLION
    canvas.rectangle(x, y, cell, cell, fill, LINE if cell < 12 else "#9A9A9A", 0.6)
    if has_thread and not has_element:
        canvas.line(x + 2, y + cell - 2, x + cell - 2, y + 2, "#8A8A8A", 1)
    elif has_thread and cell >= LABELLED_CELL:
        across, down = column % cover.block_across, row % cover.block_down
        words = f"{across},{down}" if x_along == "columns" else f"{down},{across}"
        canvas.text(x + cell / 2, y + cell / 2 + 4, words, size=SMALL, anchor="middle")


def _draw_blocks(canvas: Canvas, cover: Cover) -> tuple[float, float]:
    """One square a block, and the last corner block enlarged thread by thread; returns the right and bottom edges."""
    cell = max(2.0, min(6.0, 378 / cover.blocks_across, 378 / cover.blocks_down))
    left, top = MARGIN + 4, 68
    canvas.text(left, 54, "every block; the corner is enlarged at the right", size=SMALL, fill=QUIET)
    canvas.rectangle(left, top, cover.blocks_across * cell, cover.blocks_down * cell, IDLE)
    for down in range(cover.blocks_down):
        rows = _overlap(down, cover.block_down, cover.rows)
        for across in range(cover.blocks_across):
            columns = _overlap(across, cover.block_across, cover.columns)
            x, y = left + across * cell, top + down * cell
            full = rows == cover.block_down and columns == cover.block_across
            if rows and columns:
                fill = (PALE_BLUE if (down + across) % 2 else PALER_BLUE) if full else SKY
                canvas.rectangle(x, y, cell, cell, fill)
    right, bottom = left + cover.blocks_across * cell, top + cover.blocks_down * cell
    canvas.rectangle(left, top, right - left, bottom - top, "none", INK, 1)
    canvas.rectangle(right - cell - 1, bottom - cell - 1, cell + 2, cell + 2, "none", VERMILLION, 2)
    inset_right, inset_bottom = _draw_corner(canvas, cover, right + 44, top + 30)
    canvas.line(right + 2, bottom - cell / 2, right + 40, top + 140, VERMILLION, 1.5, "4 3")
    return inset_right, max(bottom, inset_bottom)


def _draw_corner(canvas: Canvas, cover: Cover, left: float, top: float) -> tuple[float, float]:
    """The block with the highest numbers, one cell a thread."""
    cell = max(6.0, min(18.0, 288 / cover.block_across, 288 / cover.block_down))
    first_row = (cover.blocks_down - 1) * cover.block_down
    first_column = (cover.blocks_across - 1) * cover.block_across
    canvas.text(left, top - 22, "The last block of the last row of blocks:", size=NORMAL)
    canvas.text(left, top - 6, _corner_words(cover, first_row, first_column), size=SMALL, fill=QUIET)
    for down in range(cover.block_down):
        for across in range(cover.block_across):
            works = first_row + down < cover.rows and first_column + across < cover.columns
            x, y = left + across * cell, top + down * cell
            canvas.rectangle(x, y, cell, cell, PALE_BLUE if works else IDLE, "#9A9A9A", 0.6)
            if not works:
                canvas.line(x + 2, y + cell - 2, x + cell - 2, y + 2, "#8A8A8A", 1)
    width, height = cover.block_across * cell, cover.block_down * cell
    canvas.rectangle(left, top, width, height, "none", VERMILLION, 2)
    return left + max(width, 290), top + height


def _corner_words(cover: Cover, first_row: int, first_column: int) -> str:
    last_row, last_column = first_row + cover.block_down - 1, first_column + cover.block_across - 1
    return f"rows {first_row:,} to {last_row:,}, columns {first_column:,} to {last_column:,}"


def _overlap(number: int, extent: int, length: int) -> int:
    return max(0, min(extent, length - number * extent))


def _draw_key(canvas: Canvas, cover: Cover, y: float, small: bool) -> float:
    entries = [(PALE_BLUE, f"{plural(cover.working, 'thread')} compute one element each")]
    if not small and (cover.threads_across > cover.columns or cover.threads_down > cover.rows):
        entries.append((SKY, "blocks with idle threads"))
    if cover.idle:
        entries.append((IDLE, f"{plural(cover.idle, 'thread')} idle"))
    if cover.uncovered:
        entries.append((VERMILLION, f"{plural(cover.uncovered, 'element')} without a thread"))
    canvas.key(MARGIN, y, entries)
    return y


def _alt(title: str, cover: Cover) -> str:
    words = f"{title}: {plural(cover.threads, 'thread')}, of which {cover.working:,} compute one element each"
    share = f"{100 * cover.idle / cover.threads:.3g} %"
    words += f" and {cover.idle:,} ({share}) are idle because they lie outside the matrix."
    if cover.uncovered:
        words += f" {plural(cover.uncovered, 'element')} have no thread."
    return words
