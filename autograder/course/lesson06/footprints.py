"""Where one warp reads in an array, step by step: places to the right, time downwards, from recorded accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.figures.palette import BLUE, INK, PALER_BLUE, QUIET
from autograder.figures.sector_map import sectors_of
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure, plural, text_width
from autograder.records.accesses import Access

WIDTH, ROW = 700, 8  # pixels: the whole array, and one step


def footprints(panels: Mapping[str, Sequence[Access]], *, title: str, scale: float = 1.0, least: int = SMALL) -> Figure:
    """Draws, for each panel, a row for each access of one warp to a 1-D array, with a mark where a lane reads.

    A panel's headline has the numbers that all steps together read, and the sectors in which these lie, each once.
    `scale` enlarges it and `least` is the smallest text, for slides. Raises ValueError where there is nothing to draw.
    """
    if not panels or not all(panels.values()):
        raise ValueError("footprints needs at least one panel, and accesses in each")
    canvas, width, row, told = Canvas(), WIDTH * scale, ROW * scale, []
    y = float(MARGIN)
    if title:
        y += 24
        canvas.text(MARGIN, y - 8, title, size=max(TITLE, least), bold=True)
    for name, accesses in panels.items():
        read = sum(int((access.addresses >= 0).sum()) for access in accesses)
        fetched: set[int] = set().union(*map(sectors_of, accesses))
        said = f"{name}: {read:,} numbers read, from {len(fetched):,} sectors"
        told.append(f"{said}, in {plural(len(accesses), 'step')}")
        y += least + 10
        canvas.text(MARGIN, y, said, size=least, bold=True)
        y += 8
        canvas.rectangle(MARGIN, y, width, row * len(accesses), PALER_BLUE, INK, 0.6)
        for step, access in enumerate(accesses):
            _draw_step(canvas, access, MARGIN, y + step * row, width, row)
        y += row * len(accesses)
    y += least + 10
    words = f"from the first to the last element of {accesses[0].array}; time runs downwards, a row a step"
    canvas.text(MARGIN, y, words, size=least, fill=QUIET)
    full = max(width, text_width(title, max(TITLE, least))) + 2 * MARGIN
    return canvas.figure(full, y + 14, f"{title}. {'; '.join(told)}.")


def _draw_step(canvas: Canvas, access: Access, left: float, y: float, width: float, row: float) -> None:
    """One mark a lane; marks are wider than what they stand for, or nobody would see them."""
    size = access.itemsize * access.shape[0]
    wide = max(2.5, width * access.itemsize / size)
    for address in (int(each) for each in access.addresses):
        if address >= 0:
            canvas.rectangle(left + (width - wide) * address / size, y + 0.15 * row, wide, 0.7 * row, BLUE)
