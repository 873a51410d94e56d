"""Which thread takes which item, round by round, and how many sectors a round loads: drawn from recorded loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.figures.palette import INK, LINE, PAPER, QUIET, SERIES, ink_on, mix
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

_WIDTH, _ROWS = 728, 2  # pixels; the items of a panel are drawn in this many rows
_HIGH = 26


def partition(panels: Mapping[str, Sequence[Access]], *, title: str, round_shown: int = 0) -> Figure:
    """Draws the items of each panel, a colour and number a lane; strong where the lane loads in round `round_shown`.

    Each panel takes the recorded loads of one warp from one array, in order. Raises ValueError for no such round.
    """
    if not panels or not all(len(loads) > round_shown for loads in panels.values()):
        raise ValueError(f"partition needs loads of at least {round_shown + 1} rounds in each panel")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    y, alts = 44.0, []
    for name, loads in panels.items():
        now = loads[round_shown]
        lanes = sum(int(address) >= 0 for address in now.addresses)
        said = f"round {round_shown}: {plural(lanes, 'lane')} load {plural(len(sectors_of(now)), 'sector')}"
        canvas.text(MARGIN, y + 16, name, bold=True)
        canvas.text(MARGIN + _WIDTH, y + 16, said, anchor="end", bold=True)
        y = _items(canvas, y + 26, loads, round_shown) + 20
        alts.append(f"{name}, {said}.")
    words = "number: the thread that takes the item; black line: a sector that this round loads"
    canvas.text(MARGIN, y + 6, words, size=SMALL, fill=QUIET)
    return canvas.figure(_WIDTH + 2 * MARGIN, y + 24, f"{title}. {' '.join(alts)}")


def _colour(lane: int) -> str:
    """A lane's colour: those of the series, then the same ones darker, so that no two of a dozen are alike."""
    again = lane // len(SERIES) % 2
    return mix(SERIES[lane % len(SERIES)], INK, 0.5) if again else SERIES[lane % len(SERIES)]


def _items(canvas: Canvas, top: float, loads: Sequence[Access], shown: int) -> float:
    """The items in two rows; returns the bottom."""
    owner = {
        int(address) // loads[0].itemsize: (lane, at)
        for at, access in enumerate(loads)
        for lane, address in enumerate(access.addresses)
        if int(address) >= 0
    }
    a_row = -(-len(owner) // _ROWS)
    cell, sector = _WIDTH / a_row, SECTOR_BYTES // loads[0].itemsize
    for item, (lane, at) in sorted(owner.items()):
        x, y = MARGIN + item % a_row * cell, top + item // a_row * (_HIGH + 16)
        colour = _colour(lane)
        fill = colour if at == shown else mix(PAPER, colour, 0.3 if at < shown else 0.12)
        canvas.rectangle(x, y, cell, _HIGH, fill, INK if at == shown else LINE, 1 if at == shown else 0.6)
        if cell >= text_width("0", SMALL) + 2:
            canvas.text(x + cell / 2, y + 18, f"{lane}", size=SMALL, anchor="middle", fill=ink_on(fill))
    for touched in sectors_of(loads[shown]):
        first = touched * sector
        x, y = MARGIN + first % a_row * cell, top + first // a_row * (_HIGH + 16)
        canvas.line(x + 1, y + _HIGH + 5, x + sector * cell - 1, y + _HIGH + 5, INK, 4)
    return top + _ROWS * (_HIGH + 16)
