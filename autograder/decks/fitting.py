"""How large a slide's code may be: it grows where the slide has room, so that the last row reads it.

Estimates, on the safe side: the tests look at every slide in a browser.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LEAST_TEXT = 20  # pixels on a slide of 1280 x 720
_LEAST_CODE = 22
_MOST_CODE = 32  # on a slide of nothing but code; beside text, code is never larger than the text
_TEXT, _QUESTION = 28, 32

_PAPER = (1168.0, 540.0)  # what a slide leaves below its heading of one line
_GUTTER = 44.0
_ACROSS, _AROUND, _BELOW = 44.0, 32.0, 18.0  # a frame's edges left and right, above and below, and the gap below it

# Of the text's size: how wide a letter is (in prose, on average) and how high a line.
_CODE, _OUTPUT, _PROSE = (0.61, 1.32), (0.61, 1.4), (0.5, 1.35)
_HEADING = (23.0, 46.0)  # in pixels


class Sizes(NamedTuple):
    """Text sizes of a slide's code and of what the code printed, in pixels."""

    code: int = _LEAST_CODE
    output: int = LEAST_TEXT


@dataclass
class Stack:
    """What stands in one column: listings, printed outputs and texts, each as its lines; `drawn` where figures do too."""

    code: list[list[str]] = field(default_factory=list)
    output: list[list[str]] = field(default_factory=list)
    text: list[list[str]] = field(default_factory=list)
    drawn: bool = False


def room_of(columns: int) -> tuple[float, float]:
    """Width and height that each of so many columns has."""
    return (_PAPER[0] - _GUTTER * (columns - 1)) / columns, _PAPER[1]


def code_sizes(heading: str, stacks: Sequence[Stack], is_question: bool = False) -> Sizes:
    """The largest sizes at which every column stays on the slide, no line of code cut and no table broken."""
    width, height = room_of(len(stacks))
    height -= _HEADING[1] * (_rows([heading], _HEADING[0], _PAPER[0]) - 1)
    prose = _QUESTION if is_question else _TEXT
    most = _TEXT if any(stack.text for stack in stacks) else _MOST_CODE
    for code in range(most, _LEAST_CODE, -2):
        for output in range(code - 2, max(LEAST_TEXT, code - 6) - 1, -2):
            if all(_fits(stack, Sizes(code, output), prose, width, height) for stack in stacks):
                return Sizes(code, output)
    return Sizes()


def _fits(stack: Stack, sizes: Sizes, prose: float, width: float, height: float) -> bool:
    if not stack.code and not stack.output:
        return True
    if stack.drawn:
        return False
    inside = width - _ACROSS
    code = [line for lines in stack.code for line in lines]
    output = [line for lines in stack.output for line in lines]
    whole = [line for lines in stack.output if _is_table(lines, inside) for line in lines]
    if _rows(code, sizes.code * _CODE[0], inside) > len(code):
        return False
    if _rows(whole, sizes.output * _OUTPUT[0], inside) > len(whole):
        return False
    down = len(code) * sizes.code * _CODE[1]
    down += _rows(output, sizes.output * _OUTPUT[0], inside) * sizes.output * _OUTPUT[1]
    down += (len(stack.code) + len(stack.output)) * (_AROUND + _BELOW)
    for line in (line for lines in stack.text for line in lines):
        down += _rows([line], prose * _PROSE[0], width) * prose * _PROSE[1] + _BELOW
    return down <= height


def _is_table(lines: Sequence[str], width: float) -> bool:
    """Whether no line of an output breaks at the smallest size: then none may, since columns may stand below each other.

    What breaks anyway is prose, such as a report of a race, which may break elsewhere in larger letters.
    """
    return all(_rows([line], LEAST_TEXT * _OUTPUT[0], width) == 1 for line in lines)


def _rows(lines: Sequence[str], letter: float, width: float) -> int:
    """How many rows the lines take where each letter is so wide."""
    return sum(max(1, math.ceil(len(line) * letter / width)) for line in lines)
