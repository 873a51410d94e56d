"""Labels beside marks: near their own, on no other, not on each other, inside the frame."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.figures.labels import AWAY, MARK, Box, Labels
from autograder.figures.svg import SMALL, text_width

FRAME = Box(0, 0, 400, 400)


def box_of(labels: Labels, mark: tuple[float, float], words: str) -> Box:
    """The place that was given, as an area."""
    x, baseline = labels.place(mark, words)
    assert labels.taken[-1].left == x and labels.taken[-1].right == pytest.approx(x + text_width(words, SMALL))
    assert labels.taken[-1].top < baseline < labels.taken[-1].bottom
    return labels.taken[-1]


def test_a_lone_mark_has_its_label_right_beside_it() -> None:
    box = box_of(Labels([(200, 200)], FRAME), (200, 200), "1")
    assert not box.covers((200, 200))
    assert math.hypot((box.left + box.right) / 2 - 200, (box.top + box.bottom) / 2 - 200) < AWAY[0] + SMALL


def test_among_many_marks_no_label_lies_on_one_where_there_is_a_place() -> None:
    rng = np.random.default_rng(5)
    marks = [(float(x), float(y)) for x, y in rng.uniform(20, 380, (80, 2))]
    labels = Labels(marks, FRAME)
    boxes = [box_of(labels, mark, f"{at + 1}") for at, mark in enumerate(marks[:12])]
    assert not [(at, mark) for at, box in enumerate(boxes) for mark in marks if box.covers(mark)]
    assert not [(a, b) for at, a in enumerate(boxes) for b in boxes[:at] if a.meets(b)]


def test_a_label_of_a_mark_in_the_corner_stays_inside() -> None:
    box = box_of(Labels([(2, 2)], FRAME), (2, 2), "1, 2, 3")
    assert box.left >= 0 and box.top >= 0 and not box.covers((2, 2))


def test_where_all_is_full_the_place_that_covers_least_is_taken() -> None:
    grid = [(float(x), float(y)) for x in range(0, 400, 10) for y in range(0, 400, 10) if (x, y) != (230, 200)]
    labels = Labels(grid, FRAME)
    least = sum(map(box_of(labels, (200.0, 200.0), "1").covers, grid))
    assert 0 < least <= math.ceil((text_width("1", SMALL) + 2 * MARK) / 10) * math.ceil((SMALL + 2 * MARK) / 10)
