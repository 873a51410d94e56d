"""Pictures that grow a key at a time, for the front of the room: each function returns the frames of one build.

All frames of a build have one size, so that nothing jumps, and no text is smaller than LEAST, for the last row.
"""

from __future__ import annotations

from autograder.figures.palette import (
    BLUE,
    IDLE,
    INK,
    LINE,
    PALE_BLUE,
    PALE_ORANGE,
    PALER_BLUE,
    PAPER,
    QUIET,
    SERIES,
    VERMILLION,
    ink_on,
    mix,
)
from autograder.figures.svg import Canvas, Figure, plural
from autograder.figures.thread_map import Cover

WIDTH, HEIGHT = 1168, 540  # pixels: what a slide of 1280 x 720 leaves below its heading
LEAST, LARGE = 21, 26
WARP_LANES = 32
EDGE = "#8A8A8A"


def inner_product(row: int, column: int, m: int, k: int, n: int) -> list[Figure]:
    """One thread computes c[row, column] from a (m, k) and b (k, n): a frame before, k steps, a frame after.

    Raises ValueError unless the element lies in c.
    """
    if not (0 <= row < m and 0 <= column < n):
        raise ValueError(f"c[{row}, {column}] does not lie in a {m} x {n} matrix")
    return [_inner_product(row, column, m, k, n, step) for step in range(-1, k + 1)]


def _inner_product(row: int, column: int, m: int, k: int, n: int, step: int) -> Figure:
    canvas = Canvas()
    cell = min(58, 470 // (m + k + 1))
    left, top = 60, 40
    c_left, c_top = left + (k + 1.4) * cell, top + (k + 0.9) * cell
    done = step == k
    for y in range(m):
        for x in range(k):
            now = y == row and x == step
            passed = y == row and (x < step or done)
            _cell(canvas, left + x * cell, c_top + y * cell, cell, BLUE if now else PALE_BLUE if passed else PAPER)
    for y in range(k):
        for x in range(n):
            now = x == column and y == step
            passed = x == column and (y < step or done)
            _cell(
                canvas, c_left + x * cell, top + y * cell, cell, VERMILLION if now else PALE_ORANGE if passed else PAPER
            )
    for y in range(m):
        for x in range(n):
            mine = y == row and x == column
            _cell(canvas, c_left + x * cell, c_top + y * cell, cell, (INK if done else SERIES[2]) if mine else PAPER)
    canvas.text(left - 14, c_top + m * cell / 2 + 8, "a", size=LARGE, bold=True, anchor="end")
    canvas.text(c_left + n * cell / 2, top - 12, "b", size=LARGE, bold=True, anchor="middle")
    canvas.text(c_left + n * cell + 14, c_top + m * cell / 2 + 8, "c", size=LARGE, bold=True)
    _inner_product_words(canvas, c_left + n * cell + 90, row, column, k, step)
    what = "all products are added up" if done else f"step {step + 1} of {k}" if step >= 0 else "before the loop"
    return canvas.figure(WIDTH, HEIGHT, f"Row {row} of a times column {column} of b gives c[{row}, {column}]: {what}.")


def _inner_product_words(canvas: Canvas, x: float, row: int, column: int, k: int, step: int) -> None:
    """The thread's own view: what it loads in this step and what it has so far."""
    canvas.text(x, 76, f"row = {row}", size=LARGE, mono=True)
    canvas.text(x, 114, f"column = {column}", size=LARGE, mono=True)
    canvas.text(x, 152, "total = 0", size=LARGE, mono=True, fill=INK if step < 0 else QUIET)
    for each in range(k):
        words = f"total += a[{row}, {each}] * b[{each}, {column}]"
        if each <= step:
            canvas.text(x, 206 + 38 * each, words, size=22, mono=True, bold=each == step, fill=INK)
    if step == k:
        canvas.text(x, 206 + 38 * k + 16, f"c[{row}, {column}] = total", size=22, mono=True, bold=True)


def _cell(canvas: Canvas, x: float, y: float, cell: float, fill: str) -> None:
    canvas.rectangle(x, y, cell, cell, fill, EDGE, 1)


def global_index(
    grid: tuple[int, int], block: tuple[int, int], at: tuple[int, int], thread: tuple[int, int]
) -> list[Figure]:
    """Where thread `thread` of block `at`, both (x, y), stands in its launch: grid, block, thread, sum."""
    if not all(0 <= one < all_of for one, all_of in zip((*at, *thread), (*grid, *block), strict=True)):
        raise ValueError(f"no thread {thread} in block {at} of a {grid} grid of {block} blocks")
    return [_global_index(grid, block, at, thread, step) for step in range(4)]


def _global_index(
    grid: tuple[int, int], block: tuple[int, int], at: tuple[int, int], thread: tuple[int, int], step: int
) -> Figure:
    canvas = Canvas()
    cell = min(46, 640 // (grid[0] * block[0]), 440 // (grid[1] * block[1]))
    left, top = 44, 60
    for by in range(grid[1]):
        for bx in range(grid[0]):
            for ty in range(block[1]):
                for tx in range(block[0]):
                    chosen = step > 0 and (bx, by) == at
                    mine = step > 1 and chosen and (tx, ty) == thread
                    fill = BLUE if mine else PALE_BLUE if chosen else PALER_BLUE if step < 1 else PAPER
                    x, y = left + (bx * block[0] + tx) * cell, top + (by * block[1] + ty) * cell
                    canvas.rectangle(x, y, cell, cell, fill, LINE, 1 if cell > 12 else 0.3)
    for by in range(grid[1]):
        for bx in range(grid[0]):
            x, y = left + bx * block[0] * cell, top + by * block[1] * cell
            canvas.rectangle(x, y, block[0] * cell, block[1] * cell, "none", INK, 2.5)
    for bx in range(grid[0]):
        canvas.text(left + (bx + 0.5) * block[0] * cell, top - 14, f"{bx}", size=LEAST, anchor="middle")
    for by in range(grid[1]):
        canvas.text(left - 16, top + (by + 0.5) * block[1] * cell + 8, f"{by}", size=LEAST, anchor="middle")
    column, row = at[0] * block[0] + thread[0], at[1] * block[1] + thread[1]
    if step > 1 and cell < 20:  # too small to be seen from the last row
        middle, height = left + (column + 0.5) * cell, top + (row + 0.5) * cell
        canvas.rectangle(middle - 16, height - 16, 32, 32, "none", VERMILLION, 4)
    x = left + grid[0] * block[0] * cell + 60
    said = [
        (0, "blockDim", f"({block[0]}, {block[1]})"),
        (1, "blockIdx", f"({at[0]}, {at[1]})"),
        (2, "threadIdx", f"({thread[0]}, {thread[1]})"),
    ]
    for number, name, value in said:
        if number <= step:
            words = f"{name} = {value}"
            canvas.text(x, top + 30 + 46 * number, words, size=LARGE, mono=True, bold=number == step)
    if step == 3:
        canvas.text(
            x, top + 200, f"column = {at[0]} * {block[0]} + {thread[0]} = {column}", size=LARGE, mono=True, bold=True
        )
        canvas.text(x, top + 246, f"row = {at[1]} * {block[1]} + {thread[1]} = {row}", size=LARGE, mono=True, bold=True)
        canvas.text(x, top + 310, f"c[{row}, {column}] is this thread's element", size=24)
    alt = f"Block {at} of a {grid[0]} x {grid[1]} grid, thread {thread}: column {column}, row {row}."
    return canvas.figure(WIDTH, HEIGHT, alt)


def row_major(rows: int, columns: int, row: int, column: int) -> list[Figure]:
    """A (rows, columns) matrix laid out in memory, a row a frame, then the place of element [row, column]."""
    if not (0 <= row < rows and 0 <= column < columns):
        raise ValueError(f"[{row}, {column}] does not lie in a {rows} x {columns} matrix")
    return [_row_major(rows, columns, row, column, step) for step in range(rows + 2)]


def _row_major(rows: int, columns: int, row: int, column: int, step: int) -> Figure:
    canvas = Canvas()
    cell, left, top = 52, 60, 30
    strip, strip_top = (WIDTH - 2 * left) / (rows * columns), 330
    for y in range(rows):
        colour = mix(PAPER, SERIES[y % len(SERIES)], 0.45)
        for x in range(columns):
            mine = step > rows and (y, x) == (row, column)
            fill = INK if mine else colour
            canvas.rectangle(left + x * cell, top + y * cell, cell, cell, fill, INK, 1)
            words = f"{y},{x}"
            canvas.text(
                left + (x + 0.5) * cell, top + (y + 0.62) * cell, words, size=LEAST, anchor="middle", fill=ink_on(fill)
            )
            place = left + (y * columns + x) * strip
            canvas.rectangle(place, strip_top, strip, 52, fill if y < step else PAPER, INK if y < step else LINE, 1)
    canvas.text(left, strip_top - 18, "memory", size=LEAST, fill=QUIET)
    for start in range(0, rows * columns, columns):
        canvas.text(left + (start + 0.5) * strip, strip_top + 82, f"{start}", size=LEAST, anchor="middle", fill=QUIET)
    if step > rows:
        offset = row * columns + column
        place = left + (offset + 0.5) * strip
        canvas.line(place, strip_top + 56, place, strip_top + 108, VERMILLION, 3)
        words = f"element [{row}, {column}]: {plural(row, 'row')} of {columns}, then {column} more: "
        words += f"{row} * {columns} + {column} = {offset}"
        canvas.text(WIDTH / 2, strip_top + 146, words, size=LARGE, anchor="middle", bold=True)
        canvas.text(
            WIDTH / 2, strip_top + 184, f"{offset} * 4 bytes from the start", size=24, anchor="middle", fill=QUIET
        )
    shown = min(step, rows)
    alt = f"The first {plural(shown, 'row')} of a {rows} x {columns} matrix laid end to end in memory."
    return canvas.figure(WIDTH, HEIGHT, alt)


def covering(length: int, block: int) -> list[Figure]:
    """How many blocks of `block` threads cover `length` columns: one block too few, then enough, then who is idle."""
    return [_covering(length, block, step) for step in range(3)]


def _covering(length: int, block: int, step: int) -> Figure:
    canvas = Canvas()
    needed = -(-length // block)
    cover = Cover(needed, 1, block, 1, 1, length)
    left, top, tail = 60, 60, min(4, needed)
    first = (needed - tail) * block
    cell = (WIDTH - 2 * left) / (tail * block)
    canvas.text(left, top - 16, f"the last columns of {length:,}", size=LEAST, fill=QUIET)
    for column in range(first, length):
        canvas.rectangle(left + (column - first) * cell, top, cell, 52, PALE_BLUE, EDGE, 0.6)
    end = left + (length - first) * cell
    canvas.text(end, top - 16, f"{length - 1:,}", size=LEAST, anchor="end")
    for number in range(needed - tail, needed - (step == 0)):
        x, y = left + (number * block - first) * cell, top + 110
        for thread in range(block):
            works = number * block + thread < length
            fill = PALER_BLUE if works else IDLE if step == 2 else PALER_BLUE
            canvas.rectangle(x + thread * cell, y, cell, 52, fill, EDGE, 0.6)
            if step == 2 and not works:
                canvas.line(x + thread * cell + 2, y + 50, x + (thread + 1) * cell - 2, y + 2, EDGE, 1)
        canvas.rectangle(x, y, block * cell, 52, "none", INK, 2.5)
        canvas.text(x + block * cell / 2, y + 84, f"block {number}", size=LEAST, anchor="middle")
    said = [
        f"{length:,} // {block} = {length // block} blocks: {length // block * block:,} threads, "
        f"{length % block} columns have nobody",
        f"({length:,} + {block - 1}) // {block} = {needed} blocks: {cover.threads_across:,} threads",
        f"{plural(cover.threads_across - length, 'thread')} of the last block must do nothing: that is the guard",
    ]
    for number in range(step + 1):
        fill = INK if number == step else QUIET
        canvas.text(left, 330 + 54 * number, said[number], size=LARGE, fill=fill, bold=number == step)
    return canvas.figure(WIDTH, HEIGHT, said[step] + ".")


def warps_of(block: tuple[int, int], shown: int | None = None) -> list[Figure]:
    """How a block of (x, y) threads is cut into warps: the numbered threads, then a warp a frame (`shown` of them)."""
    warps = -(-block[0] * block[1] // WARP_LANES)
    return [_warps_of(block, step) for step in range(1 + min(warps, shown or warps))]


def _warps_of(block: tuple[int, int], step: int) -> Figure:
    canvas = Canvas()
    across, down = block
    left, top = 60, 50
    cell_x, cell_y = min(46, 740 / across), min(30, 470 / down)
    for y in range(down):
        for x in range(across):
            number = y * across + x
            warp = number // WARP_LANES
            fill = mix(PAPER, SERIES[warp % len(SERIES)], 0.75 if warp == step - 1 else 0.35) if warp < step else PAPER
            canvas.rectangle(left + x * cell_x, top + y * cell_y, cell_x, cell_y, fill, EDGE, 0.8)
            if cell_x >= 44:
                middle = left + (x + 0.5) * cell_x
                canvas.text(middle, top + (y + 0.76) * cell_y, f"{number}", size=LEAST, anchor="middle")
    canvas.text(left, top - 14, f"threadIdx.x = 0 to {across - 1}", size=LEAST, fill=QUIET)
    canvas.text(
        left - 16,
        top + down * cell_y / 2,
        f"threadIdx.y = 0 to {down - 1}",
        size=LEAST,
        fill=QUIET,
        anchor="middle",
        turn=-90,
    )
    beside = left + across * cell_x + 46
    canvas.text(beside, top + 26, "number in the block", size=24)
    canvas.text(beside, top + 62, "= threadIdx.x", size=24, mono=True)
    canvas.text(beside, top + 96, f"+ threadIdx.y * {across}", size=24, mono=True)
    if step:
        rows = sorted({number // across for number in range((step - 1) * WARP_LANES, step * WARP_LANES)})
        canvas.text(beside, top + 170, f"warp {step - 1}", size=30, bold=True, fill=INK)
        canvas.text(beside, top + 210, f"{(step - 1) * WARP_LANES} to {step * WARP_LANES - 1}", size=24)
        canvas.text(beside, top + 246, f"threadIdx.y = {' and '.join(map(str, rows))}", size=24)
    what = (
        f"warp {step - 1} is threads {(step - 1) * WARP_LANES} to {step * WARP_LANES - 1}"
        if step
        else "threads numbered"
    )
    return canvas.figure(WIDTH, HEIGHT, f"A block of {across} x {down} threads, x first: {what}.")
