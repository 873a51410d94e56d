"""What else lab 3 times, to know what makes the difference: the baseline in other shapes, tiles with and without padding
in blocks of several heights, and a copy, which no transpose should beat.

    python -m autograder.grading.known_answers lab03
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

LAB = Path(__file__).resolve().parents[1]
BASELINE = LAB.parents[1] / "labs" / LAB.name / "baseline.py"
STRIPS = LAB / "right" / "two_fields_gathered.py"
STORES_ALONG_ROWS = (
    ("row < a.shape[0] and col < a.shape[1]", "row < b.shape[0] and col < b.shape[1]"),
    ("b[col, row] = a[row, col]", "b[row, col] = a[col, row]"),
    ("rows, columns = a.shape", "rows, columns = b.shape"),
)
COPY = (("b[col, row] = a[row, col]", "b[row, col] = a[row, col]"),)


def replaced(path: Path, *pairs: tuple[str, str]) -> str:
    """A file's text with some of it replaced, each at least once."""
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text, (path.name, old)
        text = text.replace(old, new)
    return text


def variants() -> Iterator[tuple[str, str]]:
    """(name, source): each a whole answer."""
    yield "stores down columns, 16x16", replaced(BASELINE, ("BLOCK = (32, 8)", "BLOCK = (16, 16)"))
    yield "loads down columns, 32x8", replaced(BASELINE, *STORES_ALONG_ROWS)
    yield "copy, 32x8", replaced(BASELINE, *COPY)
    for strip in (4, 8, 16):
        yield f"padded tile, 32x{strip}", replaced(STRIPS, ("STRIP = 8", f"STRIP = {strip}"))
    yield "unpadded tile, 32x8", replaced(STRIPS, ("PADDED = TILE + 1", "PADDED = TILE"))
