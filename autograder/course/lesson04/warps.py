"""How a block is cut into warps, and which warps of a launch over a picture disagree at its guard; as in `steps.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.figures.palette import INK, LINE, PALE_BLUE, PAPER, QUIET, SERIES, VERMILLION, mix
from autograder.figures.steps import EDGE, HEIGHT, LARGE, LEAST, WARP_LANES, WIDTH
from autograder.figures.svg import Canvas, Figure, plural, text_width
from autograder.records.accesses import Branch

LEFT = 60


def into_warps(warps: np.ndarray) -> list[Figure]:
    """A block's threads, numbered x first, in one line, and cut: `warps[z, y, x]` is each thread's recorded warp.

    Raises ValueError unless `warps` has three axes and at most 128 threads.
    """
    if warps.ndim != 3 or not 0 < warps.size <= 128:
        raise ValueError(f"into_warps takes a (z, y, x) array of 1 to 128 threads, not {warps.shape}")
    return [_into_warps(warps, step) for step in range(4)]


def _into_warps(warps: np.ndarray, step: int) -> Figure:
    canvas = Canvas()
    deep, down, across = warps.shape
    cell = min(44.0, (WIDTH - 2 * LEFT - 40 * (deep - 1)) / (deep * across), 270 / down)
    for z in range(deep):
        left = LEFT + z * (across * cell + 40)
        canvas.text(left, 46, f"threadIdx.z = {z}" if across * cell > 170 else f"z = {z}", size=LEAST, fill=QUIET)
        for y in range(down):
            for x in range(across):
                number = x + y * across + z * across * down
                _thread(
                    canvas, left + x * cell, 62 + y * cell, cell, number if step else -1, _fill(warps[z, y, x], step)
                )
    below = 62 + down * cell
    canvas.text(LEFT, below + 30, f"x to the right: 0 to {across - 1}; y down: 0 to {down - 1}", size=LEAST, fill=QUIET)
    if step > 0:
        words = f"number = x + y * {across}" + (f" + z * {across * down}" if deep > 1 else "")
        canvas.text(LEFT, below + 70, words, size=LARGE, mono=True, bold=True)
    if step > 1:
        _strip(canvas, warps, below + 130, step)
    said = ("a block of threads", "numbered, x first", "in one line", "cut after every 32")[step]
    shape = f"{across} x {down} x {deep}" if deep > 1 else f"{across} x {down}"
    words = f"A block of {shape} threads: {said}"
    return canvas.figure(
        WIDTH, below + 232, words + (f", {plural(int(warps.max()) + 1, 'warp')}." if step == 3 else ".")
    )


def _fill(warp: int, step: int) -> str:
    return mix(PAPER, SERIES[int(warp) % len(SERIES)], 0.5) if step == 3 else PAPER


def _thread(canvas: Canvas, x: float, y: float, cell: float, number: int, fill: str) -> None:
    canvas.rectangle(x, y, cell, cell, fill, EDGE, 1)
    if number >= 0 and text_width(f"{number}", LEAST) < cell:
        canvas.text(x + cell / 2, y + cell / 2 + 8, f"{number}", size=LEAST, anchor="middle")


def _strip(canvas: Canvas, warps: np.ndarray, top: float, step: int) -> None:
    """All threads in the order of their numbers; cut into warps in the last step."""
    order = warps.ravel()  # z slowest, x fastest: the order of the numbers
    cell = (WIDTH - 2 * LEFT) / order.size
    for number, warp in enumerate(order):
        canvas.rectangle(LEFT + number * cell, top, cell, 40, _fill(warp, step), EDGE, 0.8)
        if number % 8 == 0:
            canvas.text(LEFT + number * cell, top - 8, f"{number}", size=LEAST, fill=QUIET)
    for warp in range(int(order.max()) + 1) if step == 3 else ():
        lanes = int((order == warp).sum())
        x = LEFT + int(np.argmax(order == warp)) * cell
        canvas.rectangle(x, top, lanes * cell, 40, "none", INK, 3)
        words = f"warp {warp}" + (f": {lanes} lanes" if lanes < WARP_LANES else "")
        canvas.text(x + 6, top + 72, words, size=24, bold=True)


def picture_warps(branches: Sequence[Branch], block: tuple[int, int], shape: tuple[int, int]) -> list[Figure]:
    """Every warp of a launch over a picture of `shape` (rows, columns), coloured by what it did at the guard.

    Frames: the blocks; their warps; those that diverge; those that have nothing to do. `branches` holds each warp once.
    Raises ValueError unless a warp of a `block` (x, y) is a rectangle and the guard of every warp is there.
    """
    if WARP_LANES % block[0] and block[0] % WARP_LANES:
        raise ValueError(f"a warp of a {block[0]} x {block[1]} block is no rectangle, so this picture cannot draw it")
    if not branches:
        raise ValueError("no branch was kept: do the words given to divergence() stand in a line of the kernel?")
    needed = (-(-shape[1] // block[0]), -(-shape[0] // block[1]))
    across, down = (max(needed[axis], *(each.block[axis] + 1 for each in branches)) for axis in (0, 1))
    warps = across * down * (block[0] * block[1] // WARP_LANES)
    if len(branches) < warps:
        raise ValueError(f"{len(branches)} of {warps} warps were kept: profile with trace_limit={warps} or more")
    return [_picture_warps(branches, block, shape, step) for step in range(4)]


def _picture_warps(branches: Sequence[Branch], block: tuple[int, int], shape: tuple[int, int], step: int) -> Figure:
    canvas = Canvas()
    blocks_x, blocks_y = (max(each.block[axis] for each in branches) + 1 for axis in (0, 1))
    cell = min(7.4, 640 / (blocks_x * block[0]), 470 / (blocks_y * block[1]))
    left, top, wide = LEFT, 40, min(block[0], WARP_LANES)
    tall = WARP_LANES // wide
    counted = {"all": 0, "some": 0, "none": 0}
    fills = {
        "all": PALE_BLUE,
        "some": VERMILLION if step > 1 else PALE_BLUE,
        "none": "#8A8A8A" if step > 2 else PALE_BLUE,
    }
    for each in branches:
        kind = "all" if each.taken.sum() == each.active.sum() else "some" if each.taken.any() else "none"
        counted[kind] += 1
        first = each.warp * WARP_LANES
        x = each.block[0] * block[0] + first % block[0]
        y = each.block[1] * block[1] + first // block[0]
        canvas.rectangle(
            left + x * cell, top + y * cell, wide * cell, tall * cell, fills[kind], EDGE if step else PALE_BLUE, 0.8
        )
    for number in range(blocks_x * blocks_y):
        across, down = number % blocks_x * block[0] * cell, number // blocks_x * block[1] * cell
        canvas.rectangle(left + across, top + down, block[0] * cell, block[1] * cell, "none", INK, 2)
    canvas.rectangle(left, top, shape[1] * cell, shape[0] * cell, "none", INK, 5)
    said = _said_of_picture(counted, blocks_x * blocks_y, block, shape)[: step + 2]
    beside = left + blocks_x * block[0] * cell + 50
    for at, (fill, words) in enumerate(said):
        if fill:
            canvas.rectangle(beside, 52 + 56 * at, 24, 24, fill, LINE)
        bold = at == len(said) - 1
        canvas.text(beside + (38 if fill else 0), 72 + 56 * at, words, size=LARGE if bold else 24, bold=bold)
    return canvas.figure(WIDTH, HEIGHT - 20, "; ".join(words for _, words in said) + ".")


def _said_of_picture(
    counted: dict[str, int], blocks: int, block: tuple[int, int], shape: tuple[int, int]
) -> list[tuple[str, str]]:
    return [
        ("", f"{shape[0]} rows, {shape[1]} columns"),
        ("", f"{blocks} blocks of {block[0]} x {block[1]}"),
        ("", f"{sum(counted.values())} warps"),
        (VERMILLION, f"{counted['some']} diverge"),
        ("#8A8A8A", f"{counted['none']} are outside as a whole"),
    ]
