"""More to time in lab 5, for `python -m autograder.grading.known_answers lab05_histogram`: other bounds of the grid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

RIGHT = Path(__file__).resolve().parents[1] / "right" / "grid_stride_loop.py"
BOUND = "MOST_BLOCKS = 528"
BOUNDS = (66, 132, 264, 1056, 2112)


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source."""
    text = RIGHT.read_text(encoding="utf-8")
    assert BOUND in text
    for blocks in BOUNDS:
        yield f"at most/{blocks} blocks", text.replace(BOUND, f"MOST_BLOCKS = {blocks}")
