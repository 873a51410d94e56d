"""What a thread of an in-place pointer jump may read: both numbers old, both new, or one of each, worked out."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.course.lesson06.links import Chain, rise
from autograder.figures.palette import GREEN, LINE, PALE_BLUE, QUIET, VERMILLION
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import MARGIN, NORMAL, TITLE, Canvas, Figure, plural

NAMES = "abcd"  # a list of four nodes; a and b jump, and a reads what b holds


@dataclass(frozen=True)
class Reading:
    """What node a reads of node b, before or after b's own jump, and what a makes of it."""

    rank_is_new: bool
    successor_is_new: bool

    @property
    def rank_of_b(self) -> int:
        return 2 if self.rank_is_new else 1

    @property
    def successor_of_b(self) -> int:
        """A place in the list."""
        return 3 if self.successor_is_new else 2

    @property
    def link_count(self) -> int:
        """The links that a counts: one to b, and what b says."""
        return 1 + self.rank_of_b

    @property
    def is_right(self) -> bool:
        return self.link_count == self.successor_of_b

    @property
    def when(self) -> str:
        if self.rank_is_new == self.successor_is_new:
            return "a reads both after b has jumped" if self.rank_is_new else "a reads both before b jumps"
        if self.successor_is_new:
            return "a reads the rank, b jumps, a reads the successor"
        return "b writes its rank, a reads both, b writes its successor"


READINGS = (Reading(False, False), Reading(True, True), Reading(False, True), Reading(True, False))


def jump_race(*, title: str) -> Figure:
    """Draws what node a may find in node b, a row each, and whether a's count agrees with its link."""
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    for at, reading in enumerate(READINGS):
        _draw_reading(canvas, reading, Chain(MARGIN + 14, 100 + 92 * at, pitch=62), MARGIN + 300, NORMAL)
    said = "; ".join(_description(each) for each in READINGS)
    return canvas.figure(760, 100 + 92 * (len(READINGS) - 1) + 40, f"{title}. {said}.")


def jump_race_frames() -> list[Figure]:
    """The same for the front of the room: one row more with each frame."""
    frames = []
    for shown in range(1, len(READINGS) + 1):
        canvas = Canvas()
        for at, reading in enumerate(READINGS[:shown]):
            chain = Chain(40, 92 + 132 * at, pitch=104, radius=25, size=LARGE)
            _draw_reading(canvas, reading, chain, 470, LEAST)
        frames.append(canvas.figure(WIDTH, HEIGHT, f"{'; '.join(_description(each) for each in READINGS[:shown])}."))
    return frames


def _draw_reading(canvas: Canvas, reading: Reading, chain: Chain, x: float, size: int) -> None:
    for here in range(3):
        chain.link(canvas, here, here + 1, LINE)
    if reading.successor_is_new:
        chain.link(canvas, 1, 3, LINE, 1.5)
    colour = GREEN if reading.is_right else VERMILLION
    chain.link(canvas, 0, reading.successor_of_b, colour, 3)
    chain.nodes(canvas, list(NAMES), [colour, PALE_BLUE, PALE_BLUE, PALE_BLUE])
    top = chain.y - rise(3, chain.pitch) * 0.4 - 0.3 * size
    lines = (
        (reading.when, True, "#1A1A1A"),
        (f"rank[b] = {reading.rank_of_b}, successor[b] = {NAMES[reading.successor_of_b]}", False, QUIET),
        (_verdict(reading), False, "#1A1A1A"),
    )
    for at, (words, bold, fill) in enumerate(lines):
        canvas.text(x, top + at * 1.55 * size, words, size=size, bold=bold, fill=fill)


def _verdict(reading: Reading) -> str:
    counted = f"a counts 1 + {reading.rank_of_b} = {reading.link_count}, points to {NAMES[reading.successor_of_b]}"
    off = plural(reading.successor_of_b, "link")
    return f"{counted}: right" if reading.is_right else f"{counted}, {off} away: wrong"


def _description(reading: Reading) -> str:
    return f"{reading.when}: {_verdict(reading)}"
