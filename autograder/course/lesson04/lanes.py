"""What lanes hand each other in a shuffle, and in which order warps come by; as in `steps.py`."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, GREEN, INK, PALE_BLUE, PAPER, QUIET, VERMILLION, ink_on, mix
from autograder.figures.steps import EDGE, LARGE, LEAST, WARP_LANES, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

LEFT = 118
LANE = (WIDTH - LEFT - 30) / WARP_LANES


def shuffle_tree(totals: Sequence[Sequence[int]], offsets: Sequence[int]) -> list[Figure]:
    """The total of each lane before and after every `shfl_down` of `offsets`, as recorded: a frame for each row.

    An arrow is drawn where the sum still needs the lane. Raises ValueError unless there is a row more than offsets.
    """
    if len(totals) != len(offsets) + 1 or any(len(row) != WARP_LANES for row in totals):
        raise ValueError(f"{len(offsets)} shuffles take {len(offsets) + 1} rows of {WARP_LANES} totals")
    return [_shuffle_tree(totals, offsets, shown) for shown in range(len(totals))]


def _shuffle_tree(totals: Sequence[Sequence[int]], offsets: Sequence[int], shown: int) -> Figure:
    canvas = Canvas()
    row, top = 84, 50
    for lane in range(0, WARP_LANES, 4):
        canvas.text(LEFT + (lane + 0.5) * LANE, top - 14, f"{lane}", size=LEAST, anchor="middle", fill=QUIET)
    canvas.text(LEFT - 14, top - 14, "lane", size=LEAST, anchor="end", fill=QUIET)
    for step, each in enumerate(totals[: shown + 1]):
        y = top + step * row
        needed = WARP_LANES if not step else offsets[step - 1]
        for lane, total in enumerate(each):
            fill = (BLUE if step == shown else PALE_BLUE) if lane < needed else PAPER
            canvas.rectangle(LEFT + lane * LANE, y, LANE, 34, fill, EDGE, 0.8)
            ink = ink_on(fill) if lane < needed else "#767676"
            canvas.text(LEFT + (lane + 0.5) * LANE, y + 25, f"{total}", size=LEAST, anchor="middle", fill=ink)
        if step:
            canvas.text(LEFT - 14, y + 25, f"down {offsets[step - 1]}", size=LEAST, anchor="end")
            for lane in range(needed):
                x, came = LEFT + (lane + 0.5) * LANE, LEFT + (lane + needed + 0.5) * LANE
                canvas.line(came, y - row + 36, x, y - 4, VERMILLION if step == shown else EDGE, 1.6)
    done = offsets[:shown]
    said = f"{plural(shown, 'shuffle')}: lane 0 holds the sum of {plural(2**shown if done else 1, 'lane')}"
    bottom = top + len(totals) * row
    canvas.text(LEFT, bottom + 6, said, size=LARGE, bold=True)
    return canvas.figure(
        WIDTH, bottom + 34, f"A warp adds up its 32 lanes by shuffles. {said}; it is {totals[shown][0]}."
    )


def arrivals(orders: Sequence[Sequence[int]], names: Sequence[str], title: str) -> Figure:
    """The order in which 32 warps came by, a row for each of `names`: warp numbers from first to last, pale to dark.

    Raises ValueError for a row that is not an order of 32 warps.
    """
    if len(orders) != len(names) or any(sorted(each) != list(range(WARP_LANES)) for each in orders):
        raise ValueError("every row must hold each of 32 warps once")
    canvas = Canvas()
    left, row, top = 190, 46, 112
    cell = (WIDTH - left - 30) / WARP_LANES
    canvas.text(40, 42, title, size=LARGE, bold=True)
    canvas.text(left, top - 18, "first", size=LEAST, fill=QUIET)
    canvas.text(WIDTH - 30, top - 18, "last", size=LEAST, fill=QUIET, anchor="end")
    for at, (name, order) in enumerate(zip(names, orders, strict=True)):
        y = top + at * row
        canvas.text(left - 14, y + 27, name, size=LEAST, anchor="end")
        for place, warp in enumerate(order):
            fill = mix(PAPER, GREEN, warp / (WARP_LANES - 1))
            canvas.rectangle(left + place * cell, y, cell, row - 8, fill, INK, 0.6)
            x = left + (place + 0.5) * cell
            canvas.text(x, y + 27, f"{warp}", size=LEAST, anchor="middle", fill=ink_on(fill))
    canvas.text(left, top + len(orders) * row + 30, "in a cell: the number of the warp", size=LEAST, fill=QUIET)
    in_order = sum(list(each) == list(range(WARP_LANES)) for each in orders)
    alt = f"{title}: in {in_order} of {len(orders)} rows the warps came in the order of their numbers."
    return canvas.figure(WIDTH, top + len(orders) * row + 52, alt)
