"""How long a notebook takes: the rule behind "Allow N minutes", for whoever reads all, runs each cell, does each exercise.

The rates are set so that for five lessons of an earlier edition, which fresh readers found to take 62, 90, 115, 125 and 90
minutes, the sum comes out near theirs (458 against 482). Prose is taken as text that one studies: R. P. Carver ("Effort
rate: theory, research, and practical implications", Journal of Effort 36(2), 1992) has 200 words a minute for learning and
138 for remembering; ours are full of numbers and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

WORDS_A_MINUTE = 120
SECONDS_A_LINE = 5  # of code that is shown
MINUTES_A_PREDICTION = 1
MINUTES_AN_EXERCISE = 4
MINUTES_A_KERNEL = 6  # an exercise in which one is written
MOST = 60  # a lesson that takes longer holds two ideas
STEP = 5  # minutes are told in steps of

PROGRAM = re.compile(r"```.*?```", re.S)
NOT_READ = re.compile(r"</?[a-z][^>]*>|\]\([^)]*\)|^## Sources.*", re.S | re.M)  # tags, targets of links, the references
ASKED = re.compile(r"^lesson\d\d\.\w+\(\w+\)$", re.M)


@dataclass(frozen=True)
class Effort:
    """What there is to do in a notebook: words of prose, lines of code, predictions, exercises, and those with a kernel."""

    words: int
    lines: int
    predictions: int
    exercises: int
    kernels: int

    @property
    def minutes(self) -> float:
        """By the rule."""
        exercises = MINUTES_AN_EXERCISE * (self.exercises - self.kernels) + MINUTES_A_KERNEL * self.kernels
        reading = self.words / WORDS_A_MINUTE + SECONDS_A_LINE * self.lines / 60
        return reading + MINUTES_A_PREDICTION * self.predictions + exercises

    @property
    def minutes_to_allow(self) -> int:
        """As the notebook tells it: to the nearest step."""
        return STEP * round(self.minutes / STEP)


def reading(cells: Iterable[Mapping[str, Any]]) -> Effort:
    """What the cells of a notebook (as nbformat 4 has them) ask of their reader. Imports of the first cell are not read."""
    words = lines = predictions = exercises = kernels = 0
    setup = True
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += sum(_written_lines(program) - 2 for program in PROGRAM.findall(text))  # without its fences
            words += len(NOT_READ.sub(" ", PROGRAM.sub(" ", text)).split())
            predictions += text.count("**Predict")
        elif setup:
            setup = False
        elif ASKED.search(text):
            exercises += 1
            kernels += writes_a_kernel(text)
        else:
            lines += _written_lines(text)
    return Effort(words, lines, predictions, exercises, kernels)


def writes_a_kernel(cell: str) -> bool:
    """Whether an exercise's cell is one in which a kernel is written or mended."""
    return bool(ASKED.search(cell)) and "@cuda.jit" in cell


def from_an_empty_cell(cell: str) -> bool:
    """Whether it is a kernel of which only the first line is given."""
    return writes_a_kernel(cell) and bool(re.search(r"@cuda\.jit\ndef [^\n]*:\n    (?:pass|\.\.\.)\n", cell))


def _written_lines(program: str) -> int:
    return sum(bool(line.strip()) for line in program.splitlines())
