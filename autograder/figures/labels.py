"""Where a label beside a mark hides no other mark, and no other label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autograder.figures.svg import SMALL, text_width

AWAY = (9.0, 16.0, 24.0, 33.0)  # pixels from a mark to the nearest point of its label: the first that is free
DIRECTIONS = 16
MARK = 6.0  # half as wide as a mark, at most

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A label's place, in pixels: its left, top, right and bottom edge."""

    left: float
    top: float
    right: float
    bottom: float

    def covers(self, mark: Point) -> bool:
        """Whether some of the mark lies below it."""
        return self._from_it(mark) < MARK

    def meets(self, other: Box) -> bool:
        """Whether the two share a point."""
        beside = self.right < other.left or other.right < self.left
        return not (beside or self.bottom < other.top or other.bottom < self.top)

    def _from_it(self, point: Point) -> float:
        x, y = point
        return math.hypot(max(self.left - x, 0.0, x - self.right), max(self.top - y, 0.0, y - self.bottom))


@dataclass
class Labels:
    """Places of labels among `marks`; each that was given is kept free from then on."""

    marks: Sequence[Point]
    inside: Box
    size: int = SMALL
    taken: list[Box] = field(default_factory=list)

    def place(self, mark: Point, words: str) -> Point:
        """Left end and baseline of a label for this mark: the nearest place that covers least."""
        box = min(self._places(mark, words), key=self._covered)  # of equal ones the first, which is the nearest
        self.taken.append(box)
        return box.left, box.bottom - 0.2 * self.size

    def _covered(self, box: Box) -> int:
        return sum(map(box.covers, self.marks)) + sum(map(box.meets, self.taken)) * len(self.marks)

    def _places(self, mark: Point, words: str) -> Iterable[Box]:
        half_width, half_height = text_width(words, self.size) / 2, self.size / 2
        for away in AWAY:
            for turn in range(DIRECTIONS):
                angle = 2 * math.pi * (turn + 0.5) / DIRECTIONS
                x = mark[0] + (away + half_width) * math.cos(angle)
                y = mark[1] + (away + half_height) * math.sin(angle)
                box = Box(x - half_width, y - half_height, x + half_width, y + half_height)
                if self._is_inside(box):
                    yield box

    def _is_inside(self, box: Box) -> bool:
        frame = self.inside
        across = frame.left <= box.left and box.right <= frame.right
        return across and frame.top <= box.top and box.bottom <= frame.bottom
