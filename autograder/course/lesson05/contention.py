"""The lanes of a warp queue at the addresses that they update: a column an address, grouped by 32-byte sector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.figures.palette import IDLE, INK, LINE, PALE_BLUE, PAPER, VERMILLION, ink_on, mix
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

_WIDTH, _TALLEST = 728, 150  # pixels: all columns of a panel, and the longest queue
_LEAST, _MOST = 13, 30  # pixels: a cell's sides
_COUNTS = mix(PAPER, VERMILLION, 0.75)


def atomic_sectors(access: Access) -> int:
    """The passes that one atomic request costs: over each sector, the most lanes on one address, summed.

    An H200's profiler counts them so, under the name of sectors.
    """
    return sum(max(map(len, elements.values())) for elements in sectors_of(access).values())


def queues(panels: Mapping[str, Access], *, title: str, names: Mapping[int, str] | None = None) -> Figure:
    """Draws one warp's atomic request a panel: a square a lane, above the element that it updates.

    `names` says what an element's index stands for. Raises ValueError for no panel, or an access without active lanes.
    """
    touched = {name: sectors_of(access) for name, access in panels.items()}
    if not touched or not all(touched.values()):
        raise ValueError("queues needs at least one access with active lanes")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    y, alts = 44.0, []
    for name, sectors in touched.items():
        lanes = [len(each) for held in sectors.values() for each in held.values()]
        longest, cost = max(lanes), atomic_sectors(panels[name])
        said = "1 address" if len(lanes) == 1 else f"{len(lanes)} addresses"
        said += f" in {plural(len(sectors), 'sector')}, at most {plural(longest, 'lane')} on one: "
        said += "1 pass" if cost == 1 else f"{cost} passes"
        canvas.text(MARGIN, y + 16, name, bold=True)
        canvas.text(MARGIN + _WIDTH, y + 16, said, anchor="end")
        y = _panel(canvas, y + 30, panels[name], sectors, longest, names or {})
        alts.append(f"{f'{name}: ' if name else ''}{said}.")
    canvas.key(MARGIN, y + 18, [(_COUNTS, "the longest queue of its sector: these count"), (PALE_BLUE, "other lanes")])
    return canvas.figure(_WIDTH + 2 * MARGIN, y + 34, f"{title}. {' '.join(alts)}")


def _panel(
    canvas: Canvas,
    top: float,
    access: Access,
    sectors: Mapping[int, Mapping[int, Sequence[int]]],
    longest: int,
    names: Mapping[int, str],
) -> float:
    """Columns from left to right, a gap between sectors; returns the bottom."""
    columns, gap = sum(map(len, sectors.values())), 10
    wide = min(_MOST, (_WIDTH - gap * (len(sectors) - 1)) / columns)
    high = min(20.0, max(4.0, _TALLEST / longest))
    floor, x = top + longest * high, float(MARGIN)
    each_sector = SECTOR_BYTES // access.itemsize
    for sector, held in sectors.items():
        most, start = max(map(len, held.values())), x
        counted = False  # of several queues of the same length, one is what the sector costs
        for element, lanes in held.items():
            counts = len(lanes) == most and not counted
            counted |= counts
            _queue(canvas, (x, floor), (wide, high), lanes, _COUNTS if counts else PALE_BLUE)
            index = sector * each_sector + element
            canvas.rectangle(x, floor, wide, 22, IDLE, LINE, 0.6)
            words = names.get(index, f"{index}")
            if text_width(words, SMALL) <= wide + 1:
                canvas.text(x + wide / 2, floor + 16, words, size=SMALL, anchor="middle")
            elif wide >= SMALL:  # upright, where it does not fit across
                canvas.text(x + wide / 2 + 4, floor + 11, words, size=SMALL, anchor="middle", turn=-90)
            x += wide
        canvas.line(start, floor + 27, x, floor + 27, INK, 2)
        if x - start >= 12:
            canvas.text((start + x) / 2, floor + 43, f"{most}", size=SMALL, anchor="middle", bold=True)
        x += gap
    return floor + 54


def _queue(
    canvas: Canvas, foot: tuple[float, float], cell: tuple[float, float], lanes: Sequence[int], fill: str
) -> None:
    """One cell a lane, upwards from `foot`; with the lane's number where it fits."""
    (x, floor), (wide, high) = foot, cell
    numbered = min(wide, high) >= _LEAST and wide >= text_width("00", SMALL)
    for place, lane in enumerate(lanes):
        canvas.rectangle(x, floor - (place + 1) * high, wide, high, fill, INK, 0.6)
        if numbered:
            middle = floor - (place + 0.5) * high + 4
            canvas.text(x + wide / 2, middle, f"{lane}", size=SMALL, anchor="middle", fill=ink_on(fill))
