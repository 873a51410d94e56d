"""The 32-byte sectors that one warp's memory instruction touches: which lanes use which bytes, what is moved unused."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import BLUE, IDLE, INK, LINE, PALE_ORANGE, PAPER, QUIET, VERMILLION, ink_on
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

SECTOR_BYTES = 32
CELL, STRIP = 27, 24  # pixels: width of one element of a strip of 8, and distance from one strip to the next
STRIPS_A_COLUMN = 16
MAP_SIDE = 104
Touched = dict[int, dict[int, list[int]]]  # {sector: {element within the sector: [lanes]}}


def sectors_of(access: Access) -> Touched:
    """The lanes on each element of each touched sector: {sector: {element within the sector: [lanes]}}, in order."""
    touched: Touched = {}
    for lane, address in enumerate(int(each) for each in access.addresses):
        if address >= 0:
            element = address % SECTOR_BYTES // access.itemsize
            touched.setdefault(address // SECTOR_BYTES, {}).setdefault(element, []).append(lane)
    return {sector: dict(sorted(touched[sector].items())) for sector in sorted(touched)}


def sector_map(accesses: Access | Sequence[Access], title: str = "") -> Figure:
    """Draws each access: where its sectors lie in the array, and every sector with the lanes that use it.

    Elements must be no larger than a sector; raises ValueError where there is nothing to draw.
    """
    panels = list(accesses) if isinstance(accesses, Sequence) else [accesses]
    if not panels:
        raise ValueError("no access to draw: record some with profile(kernel, trace=True)")
    canvas = Canvas()
    y, width, alts = 12.0, 620.0, []
    if title:
        canvas.text(MARGIN, 28, title, size=TITLE, bold=True)
        y, width = 40.0, max(width, text_width(title, TITLE) + MARGIN)
    for access in panels:
        right, y = _draw_access(canvas, access, y)
        width = max(width, right)
        alts.append(_alt_of(access))
    canvas.key(MARGIN, y + 14, [(BLUE, "used; the number is the lane"), (PALE_ORANGE, "moved, not used")])
    return canvas.figure(width + MARGIN, y + 30, " ".join(([f"{title}."] if title else []) + alts))


def _draw_access(canvas: Canvas, access: Access, top: float) -> tuple[float, float]:
    """One panel; returns its right and bottom edges."""
    touched = sectors_of(access)
    headline, cost = describe(access, touched)
    canvas.text(MARGIN, top + 18, headline, size=TITLE - 1, bold=True)
    canvas.text(MARGIN, top + 36, cost, size=SMALL, fill=QUIET)
    top += 48
    bottom = top
    left = float(MARGIN)
    if len(access.shape) == 2:
        bottom = _draw_place(canvas, access, touched, left, top)
        left += MAP_SIDE + 30
    label_width = max((text_width(elements_of(access, sector), SMALL) for sector in touched), default=0) + 8
    column_width = label_width + SECTOR_BYTES // access.itemsize * CELL + 26
    columns = (len(touched) + STRIPS_A_COLUMN - 1) // STRIPS_A_COLUMN
    for at, (sector, elements) in enumerate(touched.items()):
        x = left + at // STRIPS_A_COLUMN * column_width
        y = top + at % STRIPS_A_COLUMN * STRIP
        canvas.text(x + label_width - 8, y + 15, elements_of(access, sector), size=SMALL, anchor="end", mono=True)
        draw_strip(canvas, access, elements, x + label_width, y)
        bottom = max(bottom, y + STRIP)
    return left + max(columns, 1) * column_width, bottom + 10


def draw_strip(canvas: Canvas, access: Access, elements: dict[int, list[int]], x: float, y: float) -> None:
    """One sector: a cell for each element, blue where a lane uses it."""
    for element in range(SECTOR_BYTES // access.itemsize):
        lanes = elements.get(element)
        fill = BLUE if lanes else PALE_ORANGE
        canvas.rectangle(x + element * CELL, y, CELL, STRIP - 5, fill, PAPER, 1)
        if lanes:
            words = f"{lanes[0]}" if len(lanes) == 1 else f"×{len(lanes)}"
            canvas.text(x + (element + 0.5) * CELL, y + 14, words, size=SMALL, anchor="middle", fill=ink_on(fill))
    canvas.rectangle(x, y, SECTOR_BYTES // access.itemsize * CELL, STRIP - 5, "none", INK, 1)


def _draw_place(canvas: Canvas, access: Access, touched: Touched, left: float, top: float) -> float:
    """The whole 2-D array in small, with the touched sectors marked; returns the bottom edge."""
    rows, columns = access.shape
    scale = MAP_SIDE / max(rows, columns)
    canvas.rectangle(left, top, columns * scale, rows * scale, IDLE, LINE)
    for sector in touched:
        first = sector * SECTOR_BYTES // access.itemsize
        for element in range(first, min(first + SECTOR_BYTES // access.itemsize, rows * columns)):
            row, column = divmod(element, columns)
            if element == first or column == 0:  # a sector may run over the end of a row
                length = min(first + SECTOR_BYTES // access.itemsize - element, columns - column)
                x, y = left + column * scale, top + row * scale
                canvas.rectangle(x, y, max(2.0, length * scale), max(2.0, scale), VERMILLION)
    words = f"{access.array}: {rows} x {columns}"
    canvas.text(left, top + rows * scale + 16, words, size=SMALL, fill=QUIET)
    return top + rows * scale + 20


def elements_of(access: Access, sector: int) -> str:
    """The elements of a sector as they are written in the kernel: `b[3, 8:16]`."""
    first, count = sector * SECTOR_BYTES // access.itemsize, SECTOR_BYTES // access.itemsize
    if len(access.shape) == 2 and access.shape[1] >= count:
        row, column = divmod(first, access.shape[1])
        return f"{access.array}[{row}, {column}:{column + count}]"
    return f"{access.array}[{first}:{first + count}]"


def describe(access: Access, touched: Touched) -> tuple[str, str]:
    """What one request does, and what of the bytes that it moves is used."""
    lanes = sum(int(address) >= 0 for address in access.addresses)
    used = access.itemsize * sum(len(elements) for elements in touched.values())
    moved = SECTOR_BYTES * len(touched)
    doing = {"load": "loads from", "store": "stores to"}.get(access.kind, "updates")
    asked = f"{plural(len(touched), 'sector')} for {plural(lanes, 'lane')}"
    headline = f"Warp {access.warp} {doing} {access.array}: {asked}"
    share = f" ({100 * used / moved:.3g} %)" if moved else ""
    return headline, f"{moved:,} bytes moved, {used:,} of them used{share}"


def _alt_of(access: Access) -> str:
    headline, cost = describe(access, sectors_of(access))
    return f"{headline}; {cost}."
