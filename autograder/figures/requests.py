"""One warp's request, small enough for a phone: the sectors that a global access moves, the banks that a shared one asks."""

from __future__ import annotations

from autograder.figures.banks import BANKS, WORD_BYTES, words_by_bank
from autograder.figures.palette import BLUE, IDLE, LINE, PALE_ORANGE, PAPER, QUIET, VERMILLION
from autograder.figures.sector_map import (
    CELL,
    SECTOR_BYTES,
    STRIP,
    describe,
    draw_strip,
    elements_of,
    sectors_of,
)
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

MOST_SECTORS = 8  # drawn of one request: the others look like them
MOST_CHARACTERS = 46  # of a source line
BANK_CELL = 11  # pixels
MONO_ADVANCE = 0.61  # of a monospaced letter's size


def request_sectors(access: Access, source: str = "") -> Figure:
    """The first sectors of one request to global memory, with the lanes that use them, under its source line.

    Raises ValueError where no lane is active.
    """
    touched = sectors_of(access)
    if not touched:
        raise ValueError("no lane of this access is active")
    headline, cost = describe(access, touched)
    canvas = Canvas()
    y = _head(canvas, headline, cost, source)
    shown = list(touched.items())[:MOST_SECTORS]
    left = MARGIN + max(len(elements_of(access, sector)) for sector, _ in shown) * SMALL * MONO_ADVANCE + 10
    for sector, elements in shown:
        canvas.text(left - 10, y + 15, elements_of(access, sector), size=SMALL, anchor="end", mono=True)
        draw_strip(canvas, access, elements, left, y)
        y += STRIP
    if len(touched) > len(shown):
        y += 18
        canvas.text(left, y - 4, f"and {plural(len(touched) - len(shown), 'sector')} more", size=SMALL, fill=QUIET)
    y += 20
    canvas.key(MARGIN, y, [(BLUE, "used; the number is the lane")])
    canvas.key(MARGIN, y + 20, [(PALE_ORANGE, "moved, not used")])
    strip_end = left + SECTOR_BYTES // access.itemsize * CELL
    return canvas.figure(
        max(strip_end, _width(headline, cost, source)) + MARGIN, y + 38, f"{headline}; {cost}.{_line(source)}"
    )


def request_banks(access: Access, source: str = "") -> Figure:
    """One request to shared memory, a column a bank and a row a wavefront: whatever lies below the first row is conflict.

    Banks are counted from the array's first element. Raises ValueError for elements of more than 4 bytes, which go by
    halves of a warp, and where no lane is active.
    """
    queues = words_by_bank(access)
    if access.itemsize > WORD_BYTES or not queues:
        raise ValueError("a request is drawn for active lanes and elements of at most 4 bytes")
    longest = max(len(words) for words in queues.values())
    lanes = sum(int(address) >= 0 for address in access.addresses)
    doing = {"load": "reads", "store": "writes"}.get(access.kind, "updates")
    headline = f"Warp {access.warp} {doing} {access.array}: {plural(longest, 'wavefront')}"
    cost = f"{plural(lanes, 'lane')}, {plural(len(queues), 'bank')}; a bank serves one word a wavefront"
    canvas = Canvas()
    y = _head(canvas, headline, cost, source) + 14
    left = MARGIN + text_width("00", SMALL) + 8
    for bank in (*range(0, BANKS, 8), BANKS - 1):
        canvas.text(left + (bank + 0.5) * BANK_CELL, y - 5, f"{bank}", size=SMALL, anchor="middle", fill=QUIET)
    cells: dict[str, list[tuple[float, float, float, float]]] = {}  # by colour: 32 wavefronts have a thousand cells
    for bank in range(BANKS):
        wanted = len(queues.get(bank, {}))
        for wavefront in range(longest):
            fill = (VERMILLION if wavefront else BLUE) if wavefront < wanted else IDLE if not wavefront else PAPER
            place = (left + bank * BANK_CELL, y + wavefront * BANK_CELL, BANK_CELL, BANK_CELL)
            cells.setdefault(fill, []).append(place)
    for fill, boxes in cells.items():
        canvas.boxes(boxes, fill, LINE, 0.5)
    canvas.text(left - 6, y + 10, "1", size=SMALL, anchor="end", fill=QUIET)
    if longest > 2:
        canvas.text(left - 6, y + longest * BANK_CELL - 1, f"{longest}", size=SMALL, anchor="end", fill=QUIET)
    y += longest * BANK_CELL + 20
    canvas.text(MARGIN, y, "banks across, wavefronts down", size=SMALL, fill=QUIET)
    held = _busiest(access, queues)
    canvas.text(MARGIN, y + 20, held, size=SMALL)
    canvas.key(MARGIN, y + 42, [(BLUE, "first wavefront"), (VERMILLION, "bank conflicts")])
    width = max(left + BANKS * BANK_CELL, _width(headline, cost, source), MARGIN + text_width(held, SMALL))
    return canvas.figure(width + MARGIN, y + 60, f"{headline}. {cost}. {held}.{_line(source)}")


def _head(canvas: Canvas, headline: str, cost: str, source: str) -> float:
    """Source line, headline and cost; returns where the drawing begins."""
    y = 28.0
    if source:
        canvas.text(MARGIN, y, _drawable(source), size=SMALL, mono=True, fill=QUIET)
        y += 24
    canvas.text(MARGIN, y, headline, size=TITLE - 1, bold=True)
    canvas.text(MARGIN, y + 20, cost, size=SMALL, fill=QUIET)
    return y + 34


def _drawable(source: str) -> str:
    """A source line as it can be drawn: what cannot be printed as blanks, and its beginning where it is long."""
    text = " ".join("".join(each if each.isprintable() else " " for each in source).split())
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _line(source: str) -> str:
    return f" Source line: {_drawable(source)}" if source else ""


def _width(headline: str, cost: str, source: str) -> float:
    code = len(_drawable(source)) * SMALL * MONO_ADVANCE
    return MARGIN + max(text_width(headline, TITLE - 1), text_width(cost, SMALL), code)


def _busiest(access: Access, queues: dict[int, dict[int, int]]) -> str:
    """The first elements that are wanted of the bank with the longest queue: `Bank 0 holds tile[0, 0], tile[1, 0], ...`."""
    bank = max(queues, key=lambda each: len(queues[each]))
    words = list(queues[bank].items())
    names = []
    for _, lane in words[:2]:
        element = int(access.addresses[lane]) // access.itemsize
        index: list[str] = []
        for length in reversed(access.shape):
            element, at = divmod(element, length)
            index.insert(0, str(at))
        names.append(f"{access.array}[{', '.join(index)}]")
    more = f" and {len(words) - len(names)} more" if len(words) > len(names) else ""
    return f"Bank {bank} holds {', '.join(names)}{more}"
