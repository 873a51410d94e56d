"""The map: techniques against bottlenecks, as the article has it, with what our pairs gain in each place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autograder.course.lesson09.counting import NO_DIFFERENCE, ComparedPair, gain_in_words
from autograder.course.lesson09.pairs import BOTTLENECKS, PAIRS, TechniquePair
from autograder.figures.palette import BLUE, IDLE, INK, PAPER, QUIET, VERMILLION, ink_on, mix
from autograder.figures.svg import MARGIN, Canvas, Figure

MOST = 100.0  # a gain from which a cell is as dark as it gets
CLOCK = "H200's clock"


def the_map(
    counted: Mapping[str, ComparedPair] | None = None,
    measured: Mapping[str, float] | None = None,
    *,
    title: str,
    large: bool = False,
) -> Figure:
    """A row a technique, a column a bottleneck; the article's crosses are framed.

    `counted`, by technique: in these rows each cell shows how many times less of the bottleneck's cost is left.
    `measured`: how many times as fast the H200 is with the technique; a column of its own, empty where nothing is said of a
    row. `large` is for a slide.
    """
    sizes = _MapSizes(22, 21, 48, 318, 136, 110) if large else _MapSizes(13, 12, 46, 190, 104, 92)
    return _Drawing(sizes, counted or {}, measured, title).figure()


class _MapSizes:
    """Pixels: of text, of rows and columns."""

    def __init__(self, text: int, little: int, row: int, names: int, column: int, head: int) -> None:
        self.text, self.little, self.row, self.names, self.column, self.head = text, little, row, names, column, head


class _Drawing:
    def __init__(
        self, sizes: _MapSizes, counted: Mapping[str, ComparedPair], measured: Mapping[str, float] | None, title: str
    ) -> None:
        self.sizes, self.counted, self.title = sizes, counted, title
        self.has_clock, self.measured = measured is not None, measured or {}
        self.canvas = Canvas()
        self.left, self.top = MARGIN + sizes.names, sizes.head

    def figure(self) -> Figure:
        size = self.sizes
        self.canvas.text(MARGIN, 30, self.title, size=size.text + 2, bold=True)
        for at, name in enumerate(BOTTLENECKS):
            self._head(at, name.split(" "))
        if self.has_clock:
            self._head(len(BOTTLENECKS), CLOCK.split(" "), bold=True)
        for at, pair in enumerate(PAIRS):
            self._row(self.top + at * size.row, pair)
        bottom = self.top + len(PAIRS) * size.row
        columns = len(BOTTLENECKS) + self.has_clock
        width = self.left + columns * size.column + (MARGIN + 12 if self.has_clock else MARGIN)
        self._key(bottom + size.little + 14)
        return self.canvas.figure(width, bottom + size.little + 30, self._alt())

    def _head(self, at: int, words: Sequence[str], bold: bool = False) -> None:
        middle = self._middle(at)
        for line, word in enumerate(reversed(words)):
            y = self.top - 12 - line * (self.sizes.text + 4)
            self.canvas.text(middle, y, word, size=self.sizes.text, anchor="middle", bold=bold)

    def _middle(self, at: int) -> float:
        gap = 12 if at == len(BOTTLENECKS) else 0
        return self.left + gap + (at + 0.5) * self.sizes.column

    def _row(self, y: float, pair: TechniquePair) -> None:
        size = self.sizes
        base = y + size.row / 2 + size.text * 0.36
        self.canvas.text(MARGIN, base, pair.technique, size=size.text, bold=True)
        self.canvas.text(self.left - 14, base, f"level {pair.level}", size=size.little, anchor="end", fill=QUIET)
        compared = self.counted.get(pair.technique)
        gains = compared.gains() if compared else {}
        for at, bottleneck in enumerate(BOTTLENECKS):
            self._cell(self._middle(at), y, bottleneck in pair.crosses, gains.get(bottleneck))
        if pair.technique in self.measured:
            words = gain_in_words(self.measured[pair.technique])
            self.canvas.text(
                self._middle(len(BOTTLENECKS)), base, words, size=size.text + 2, anchor="middle", bold=True
            )

    def _cell(self, middle: float, y: float, has_cross: bool, gain: float | None) -> None:
        size = self.sizes
        x, width, height = middle - size.column / 2 + 3, size.column - 6, size.row - 6
        helps, harms = gain is not None and gain >= NO_DIFFERENCE, gain is not None and gain <= 1 / NO_DIFFERENCE
        fill = PAPER
        if helps and has_cross:
            assert gain is not None
            fill = mix(PAPER, BLUE, 0.25 + 0.75 * min(1.0, math.log(gain) / math.log(MOST)))
        self.canvas.rectangle(x, y + 3, width, height, fill, INK if has_cross else IDLE, 2 if has_cross else 1)
        words = "×" if has_cross and gain is None else "–" if has_cross and not (helps or harms) else ""
        if gain is not None and (helps or harms):
            words = gain_in_words(gain)
        ink = VERMILLION if harms else ink_on(fill) if has_cross else QUIET
        self.canvas.text(
            middle, y + size.row / 2 + size.text * 0.36, words, size=size.text, anchor="middle", fill=ink, bold=has_cross
        )

    def _key(self, y: float) -> None:
        entries = "framed: the article's crosses"
        if self.counted:
            entries += "; x 4: a quarter is left; – : our pair gains nothing here; / 2 and new: what it costs"
        self.canvas.text(MARGIN, y, entries, size=self.sizes.little, fill=QUIET)

    def _alt(self) -> str:
        rows = []
        for pair in PAIRS:
            compared = self.counted.get(pair.technique)
            gains = compared.gains() if compared else {}
            told = [
                f"{each}{' (a cross)' if each in pair.crosses else ''} {_gain_spelled_out(gains[each])}" if gains else each
                for each in BOTTLENECKS
                if each in pair.crosses or (gains and gain_in_words(gains[each]) != "-")
            ]
            clock = f"; {CLOCK} {gain_in_words(self.measured[pair.technique])}" if pair.technique in self.measured else ""
            rows.append(f"{pair.technique}: {', '.join(told)}{clock}")
        return f"{self.title}. {'. '.join(rows)}."


def _gain_spelled_out(gain: float) -> str:
    words = gain_in_words(gain)
    return "no gain" if words == "-" else words


