"""Tiles in shared memory, for the front of the room: who fetches what, who uses it; builds return their frames."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import (
    BLUE,
    GREEN,
    IDLE,
    INK,
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
from autograder.records.accesses import Access

PALE_GREEN, PALE_RED = mix(PAPER, GREEN, 0.45), mix(PAPER, VERMILLION, 0.45)


def fetched_once(threads: int) -> list[Figure]:
    """One element that `threads` threads need: each fetches it; one fetches it for all; all read it near by."""
    return [_fetched_once(threads, step) for step in range(3)]


def _fetched_once(threads: int, step: int) -> Figure:
    canvas = Canvas()
    left, right, middle = 60, WIDTH - 60, WIDTH / 2
    pitch, far, near, below = (right - left) / threads, 60, 250, 400
    for top, height, fill, name in ((far, 70, PALE_BLUE, "global memory"), (near, 60, PALE_GREEN, "shared memory")):
        if top == far or step:
            canvas.rectangle(left, top, right - left, height, fill, INK, 1.5)
            canvas.text(left + 12, top - 12, name, size=LEAST, fill=QUIET)
    places = [left + (thread + 0.5) * pitch for thread in range(threads)]
    if step == 0:
        for x in places:
            canvas.line(middle, far + 58, x, below, BLUE, 3)
    else:
        canvas.line(places[5], near, middle, far + 58, BLUE, 5)
        canvas.line(places[5], near + 6, places[5], below, BLUE, 5 if step == 1 else 1)
        canvas.circle(places[5], near + 30, 15, BLUE, INK)
    if step == 2:
        for x in places:
            canvas.line(places[5], near + 44, x, below, GREEN, 3)
    canvas.circle(middle, far + 38, 18, BLUE, INK)
    for thread, x in enumerate(places):
        canvas.circle(x, below + 18, 22, PALE_BLUE if step == 0 or thread == 5 else PAPER, INK)
        canvas.text(x, below + 26, f"{thread}", size=LEAST, anchor="middle")
    said = (
        f"naive: {threads} threads of one row, {threads} loads of the same element",
        "tiled: one thread fetches it and puts it where the whole block sees it",
        f"one load from far away, {threads} from near by",
    )[step]
    canvas.text(middle, 496, said, size=LARGE, anchor="middle", bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"One element in memory and {threads} threads. {said}.")


def phases(loads: Sequence[Access], thread: tuple[int, int]) -> list[Figure]:
    """The phases of one block, from its recorded loads of a and b: tiles fetched, tiles used by `thread` (x, y).

    Every load of a phase (its `step`) fills one tile, in the order of its lanes. Raises ValueError for no loads.
    """
    if not loads:
        raise ValueError("phases need the loads of one block")
    steps = sorted({each.step for each in loads})
    return [_phase(loads, thread, steps, at, used) for at in range(len(steps)) for used in (False, True)]


def _elements(loads: Sequence[Access], array: str, step: int) -> list[tuple[int, int]]:
    """Rows and columns of what the lanes loaded from `array` in one phase, in the order of threads."""
    chosen = sorted((each for each in loads if each.array == array and each.step == step), key=lambda each: each.warp)
    columns = chosen[0].shape[1]
    places = [int(where) // each.itemsize for each in chosen for where in each.addresses if int(where) >= 0]
    return [divmod(place, columns) for place in places]


def _phase(loads: Sequence[Access], thread: tuple[int, int], steps: list[int], at: int, used: bool) -> Figure:
    canvas = Canvas()
    shapes = {each.array: each.shape for each in loads}
    (m, k), (_, n) = shapes["a"], shapes["b"]
    side = round(len(_elements(loads, "a", steps[0])) ** 0.5)
    cell = min(24.0, 440 / (k + m + 1))
    corners = {"a": (60.0, 40 + (k + 1) * cell), "b": (60 + (k + 1) * cell, 40.0)}
    corners["c"] = (corners["b"][0], corners["a"][1])
    colours: dict[tuple[str, int, int], str] = {}
    for step in steps[: at + 1]:
        now = step == steps[at]
        for name, strong, pale in (("a", BLUE, PALE_BLUE), ("b", VERMILLION, PALE_RED)):
            colours |= {(name, *each): strong if now else pale for each in _elements(loads, name, step)}
    rows = {row for row, _ in _elements(loads, "a", steps[0])}
    columns = {column for _, column in _elements(loads, "b", steps[0])}
    done = mix(PAPER, GREEN, 0.15 + 0.85 * (at + used) / len(steps))
    colours |= {("c", row, column): done for row in rows for column in columns}
    for name, (down, across) in {"a": (m, k), "b": (k, n), "c": (m, n)}.items():
        x, y = corners[name]
        for row in range(down):
            for column in range(across):
                fill = colours.get((name, row, column), PAPER)
                canvas.rectangle(x + column * cell, y + row * cell, cell, cell, fill, EDGE, 0.7)
        canvas.rectangle(x, y, across * cell, down * cell, "none", INK, 1.5)
        beside = x + across * cell + 16 if name == "c" else x - 16
        canvas.text(
            beside, y + down * cell / 2 + 8, name, size=LARGE, bold=True, anchor="start" if name == "c" else "end"
        )
    canvas.text(620, 66, f"phase {at}: start = {at * side}", size=LARGE, bold=True)
    for name, x in (("a", 620.0), ("b", 890.0)):
        _tile(canvas, x, 150, name, side, _elements(loads, name, steps[at]), thread if used else None)
    fetch = f"{side * side} threads fetch {2 * side * side} elements: 2 each"
    use = f"thread {thread}: products {at * side + 1} to {(at + 1) * side} of {k}"
    canvas.text(620, 444, fetch, size=24, bold=not used, fill=QUIET if used else INK)
    if used:
        canvas.text(620, 488, use, size=24, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"Phase {at} of {len(steps)}. {use if used else fetch}.")


def _tile(
    canvas: Canvas,
    x: float,
    y: float,
    name: str,
    side: int,
    elements: Sequence[tuple[int, int]],
    thread: tuple[int, int] | None,
) -> None:
    """A tile in shared memory with the indices of its elements; of `thread` (x, y) its row of a, its column of b."""
    cell = 248 / side
    strong, pale = (BLUE, PALE_BLUE) if name == "a" else (VERMILLION, PALE_RED)
    canvas.text(x, y - 14, f"{name}_tile", size=LEAST, mono=True)
    for place, (row, column) in enumerate(elements):
        down, across = divmod(place, side)
        mine = thread is not None and (down == thread[1] if name == "a" else across == thread[0])
        fill = strong if mine else pale
        canvas.rectangle(x + across * cell, y + down * cell, cell, cell, fill, INK, 1)
        words, middle = f"{row},{column}", x + (across + 0.5) * cell
        canvas.text(middle, y + (down + 0.5) * cell + 8, words, size=LEAST, anchor="middle", fill=ink_on(fill))


def own_share(tile: int, block: tuple[int, int], thread: tuple[int, int], start: int) -> list[Figure]:
    """What `thread` of `block`, both (x, y), fetches into its place of both tiles, and then what it reads of them."""
    return [_own_share(tile, block, thread, start, step) for step in range(2)]


def _own_share(tile: int, block: tuple[int, int], thread: tuple[int, int], start: int, step: int) -> Figure:
    canvas = Canvas()
    (x, y), cell = thread, 360 / tile
    column, row = block[0] * tile + x, block[1] * tile + y
    fetched = {"a": f"a[{row}, {start + x}]", "b": f"b[{start + y}, {column}]"}
    for name, left, strong, pale in (("a", 100.0, BLUE, PALE_BLUE), ("b", 680.0, VERMILLION, PALE_RED)):
        top = 60.0
        canvas.text(left, top - 14, f"{name}_tile[{y}, {x}] = {fetched[name]}", size=24, mono=True, bold=True)
        for down in range(tile):
            for across in range(tile):
                mine = (down, across) == (y, x)
                wanted = step and (down == y if name == "a" else across == x)
                fill = strong if mine else pale if wanted else PAPER
                canvas.rectangle(left + across * cell, top + down * cell, cell, cell, fill, EDGE, 0.7)
        canvas.rectangle(left, top, tile * cell, tile * cell, "none", INK, 2)
        what = (f"then reads row {y}" if name == "a" else f"then reads column {x}") if step else "its own place"
        canvas.text(left, top + 360 + 40, what, size=LARGE, bold=bool(step))
    said = f"it fetched 1 of the {tile} numbers in each; {tile - 1} were fetched by others" if step else ""
    canvas.text(100, 508, said or f"row = {row}, column = {column}, start = {start}", size=LARGE, fill=QUIET)
    alt = f"Thread {thread} of block {block} fetches {fetched['a']} and {fetched['b']}. {said}"
    return canvas.figure(WIDTH, HEIGHT, alt.strip())


def places_written(stores: Sequence[Access], words: str) -> Figure:
    """A 2-D tile in shared memory with the places that the recorded stores filled; the rest holds leftovers.

    Raises ValueError for no stores, or stores to another array.
    """
    if not stores or len({(each.array, each.shape) for each in stores}) != 1 or len(stores[0].shape) != 2:
        raise ValueError("places_written draws the stores to one 2-D tile")
    canvas = Canvas()
    rows, columns = stores[0].shape
    filled = {int(where) // stores[0].itemsize for each in stores for where in each.addresses if int(where) >= 0}
    cell, left, top = min(30.0, 470 / rows), 60, 40
    for place in range(rows * columns):
        x, y = left + place % columns * cell, top + place // columns * cell
        canvas.rectangle(x, y, cell, cell, BLUE if place in filled else IDLE, PAPER, 1)
        if place not in filled:
            canvas.line(x + 4, y + cell - 4, x + cell - 4, y + 4, EDGE, 1.5)
    canvas.rectangle(left, top, columns * cell, rows * cell, "none", INK, 2)
    x = left + columns * cell + 60
    canvas.text(x, top + 30, f"{stores[0].array}, {words}", size=LARGE, bold=True)
    said = [(BLUE, f"{plural(len(filled), 'place')} filled"), (IDLE, f"{rows * columns - len(filled)} hold leftovers")]
    for at, (fill, each) in enumerate(said):
        canvas.rectangle(x, top + 70 + 50 * at, 26, 26, fill, INK, 1)
        canvas.text(x + 42, top + 92 + 50 * at, each, size=LARGE)
    alt = f"{stores[0].array}, {words}: {said[0][1]}, {said[1][1]}."
    return canvas.figure(WIDTH, HEIGHT, alt)


def overhanging(rows: int, columns: int, tile: int) -> list[Figure]:
    """The last row of tiles over a (rows, columns) matrix, a tile a frame: what lies outside comes in as 0."""
    return [_overhanging(rows, columns, tile, at) for at in range(-(-columns // tile))]


def _overhanging(rows: int, columns: int, tile: int, at: int) -> Figure:
    canvas = Canvas()
    down, across = -(-rows // tile) * tile, -(-columns // tile) * tile
    cell, left, top = min(40.0, 460 / down, 620 / across), 60, 40
    first_row, first_column = down - tile, at * tile
    zeros = 0
    for row in range(down):
        for column in range(across):
            inside = row < rows and column < columns
            fetched = first_row <= row and first_column <= column < first_column + tile
            x, y = left + column * cell, top + row * cell
            if inside or fetched:
                fill = BLUE if inside and fetched else PALER_BLUE if inside else IDLE
                canvas.rectangle(x, y, cell, cell, fill, EDGE, 0.8)
            if fetched and not inside:
                zeros += 1
                canvas.text(x + cell / 2, y + cell / 2 + 8, "0", size=LEAST, anchor="middle", bold=True)
    canvas.rectangle(left, top, columns * cell, rows * cell, "none", INK, 2.5)
    canvas.rectangle(
        left + first_column * cell, top + first_row * cell, tile * cell, tile * cell, "none", VERMILLION, 4
    )
    x = left + across * cell + 60
    canvas.text(x, top + 30, f"a, {rows} x {columns}; tiles of {tile}", size=LARGE, bold=True)
    canvas.text(x, top + 80, f"phase {at}: start = {first_column}", size=LARGE)
    canvas.text(x, top + 130, f"{plural(tile * tile - zeros, 'element')} fetched", size=LARGE)
    canvas.text(x, top + 180, f"{plural(zeros, 'zero')} put in their place", size=LARGE)
    alt = f"Tile {at} over the last rows of a {rows} x {columns} matrix: {tile * tile - zeros} elements, {zeros} zeros."
    return canvas.figure(WIDTH, HEIGHT, alt)
