"""A reply to an answer, and how numbers, tuples and arrays are judged: kindly, and by the mistake where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from numbers import Number
from typing import Any, Literal

import numpy as np

Outcome = Literal["right", "not yet", "your turn"]
_COLOURS: Mapping[str, str] = {"right": "#009E73", "not yet": "#D55E00", "your turn": "#0072B2"}
_MARKS: Mapping[str, str] = {"right": "✓ Right.", "not yet": "✗ Not yet.", "your turn": "→ Your turn."}


@dataclass(frozen=True)
class Reply:
    """What an exercise says to an answer."""

    outcome: Outcome
    words: str

    def __str__(self) -> str:
        return f"{_MARKS[self.outcome]} {self.words}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        style = f"border-left:4px solid {_COLOURS[self.outcome]};padding:6px 12px;background:#FFFFFF;color:#1A1A1A"
        return f'<div style="{style}"><b>{_MARKS[self.outcome]}</b> {escape(self.words, quote=False)}</div>'


def right(words: str) -> Reply:
    """The answer is right; `words` say why it matters."""
    return Reply("right", words)


def not_yet(words: str) -> Reply:
    """The answer is wrong; `words` say what to look at next, never the answer."""
    return Reply("not yet", words)


def unanswered(answer: Any, instead: str = "...") -> Reply | None:
    """The reply to a cell that nobody has filled in yet; None where there is an answer."""
    if answer is not ... and answer is not None and not (isinstance(answer, tuple) and ... in answer):
        return None
    return Reply("your turn", f"Put your answer in place of {instead} and run this cell again.")


def judge_number(
    answer: Any, expected: float, praise: str, mistakes: Mapping[float, str] | None = None, tolerance: float = 1e-3
) -> Reply:
    """Compares with `expected` (relative `tolerance`); a known wrong number gets the words of `mistakes`."""
    waiting = unanswered(answer)
    if waiting:
        return waiting
    if isinstance(answer, bool) or not isinstance(answer, (Number, np.number)):
        return not_yet(f"This takes one number; {answer!r} is {_kind(answer)}.")
    if _close(float(answer), expected, tolerance):
        return right(praise)
    for wrong, words in (mistakes or {}).items():
        if _close(float(answer), wrong, tolerance):
            return not_yet(words)
    size = "large" if float(answer) > expected else "small"
    return not_yet(f"{answer:,} is too {size}.")


def judge_tuple(
    answer: Any,
    expected: tuple[int, ...],
    praise: str,
    mistakes: Mapping[tuple[int, ...], str] | None = None,
    hint: str = "",
) -> Reply:
    """Compares a tuple of whole numbers with `expected`; a known wrong tuple gets `mistakes`' words, others `hint`."""
    waiting = unanswered(answer)
    if waiting:
        return waiting
    if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
        return not_yet(f"This takes {len(expected)} numbers in parentheses, like {tuple(range(1, len(expected) + 1))}.")
    if tuple(answer) == expected:
        return right(praise)
    for mistake, words in (mistakes or {}).items():
        if all(_same(one, other) for one, other in zip(answer, mistake, strict=True)):
            return not_yet(words)
    wrong = [at for at, (one, other) in enumerate(zip(answer, expected, strict=True)) if one != other]
    names = [("first", "second", "third", "fourth")[at] for at in wrong]
    positions = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    words = f"The {positions} of {tuple(answer)} {'is' if len(wrong) == 1 else 'are'} not right."
    return not_yet(f"{words} {hint}".rstrip())


def judge_array(answer: np.ndarray, expected: np.ndarray, praise: str, name: str = "c") -> Reply:
    """Compares two arrays of float32 results, naming the first element that differs."""
    wrong = ~np.isclose(answer, expected, rtol=1e-4, atol=1e-4)
    if not wrong.any():
        return right(praise)
    index = tuple(int(at) for at in np.argwhere(wrong)[0])
    where = ", ".join(map(str, index))
    values = f"{name}[{where}] should be {expected[index]:.4f} and is {answer[index]:.4f}"
    return not_yet(f"{int(wrong.sum()):,} of {wrong.size:,} elements differ; the first: {values}.")


def _close(one: float, other: float, tolerance: float) -> bool:
    return abs(one - other) <= tolerance * abs(other)


def _same(answer: Any, mistake: float) -> bool:
    """Whether this is the known mistake: exactly where that is a whole number, but 5.3333 is the same as 5.33."""
    if isinstance(answer, (Number, np.number)) and mistake % 1:
        return _close(float(answer), mistake, 5e-3)
    return bool(answer == mistake)


def _kind(answer: Any) -> str:
    return f"a {type(answer).__name__}"
