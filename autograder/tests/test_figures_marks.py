"""Marks on a logarithmic axis: where the axis begins."""

from __future__ import annotations

import re

import pytest

from autograder.figures.marks import WIDTH, Row, marks

ROWS = [Row("one", {"measured": 1.0}, (1.0, 1.9)), Row("other", {"measured": 1.15}, (1.0, 1.5))]


def bands(svg: str) -> list[float]:
    """The left edges of the wide pale rectangles behind the rows."""
    return [float(x) for x in re.findall(r'<rect x="([\d.]+)"[^>]*height="18"', svg)]


def test_an_axis_that_begins_just_below_the_marks_gives_them_its_width() -> None:
    usual, close = (marks(ROWS, title="t", axis="a", band="b", begin=begin) for begin in (None, 0.95))
    (far, _), (near, _) = bands(usual.svg), bands(close.svg)
    assert far - near > WIDTH / 3


@pytest.mark.parametrize("begin", [1.2, 0.0, -1.0])
def test_an_axis_cannot_begin_above_a_mark_or_at_nothing(begin: float) -> None:
    with pytest.raises(ValueError, match="has no place for 1"):
        marks(ROWS, title="t", axis="a", begin=begin)
