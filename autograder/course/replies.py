"""A reply to an answer, and how numbers, tuples and arrays are judged: kindly, and by the mistake where it is known."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from numbers import Real
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
    given = answer if isinstance(answer, (tuple, list)) else (answer,)
    if not any(each is ... or each is None for each in given):
        return None
    return Reply("your turn", f"Put your answer in place of {instead} and run this cell again.")


def no_kernel(answer: Any) -> Reply | None:
    """The reply to something that cannot be launched; None for a kernel."""
    if unanswered(answer):
        return Reply("your turn", "Write the kernel in this cell and run it again.")
    if inspect.isfunction(answer):
        return not_yet(f"{answer.__name__} is a plain Python function. Put @cuda.jit above it: that makes it a kernel.")
    if not callable(answer) or not hasattr(type(answer), "__getitem__"):  # a kernel takes a grid and a block
        return not_yet(f"This takes a kernel, the name of a @cuda.jit function; {reprlib.repr(answer)} is none.")
    return None


def source_of(kernel: Any) -> str:
    """What stands in a kernel, without its comments."""
    import ast

    from autograder.profiling import kernel_function

    return ast.unparse(kernel_function(kernel).node)


def judge_number(
    answer: Any,
    expected: float,
    praise: str,
    mistakes: Mapping[float, str] | None = None,
    tolerance: float = 1e-3,
    hint: str = "",
) -> Reply:
    """Compares with `expected` (relative `tolerance`); a known wrong number gets `mistakes`' words, others `hint`."""
    waiting = unanswered(answer)
    if waiting:
        return waiting
    answer = _as_list(answer)
    if not _is_number(answer):
        return not_yet(f"This takes one number; {reprlib.repr(answer)} is {_kind(answer)}.")
    if _close(float(answer), expected, tolerance):
        return right(praise)
    for wrong, words in (mistakes or {}).items():
        if _close(float(answer), wrong, tolerance):
            return not_yet(words)
    size = "large" if float(answer) > expected else "small"
    shown = answer if isinstance(answer, int) else float(answer)  # a fraction has no thousands before Python 3.12
    return not_yet(f"{shown:,} is too {size}. {hint}".rstrip())


def judge_tuple(
    answer: Any,
    expected: tuple[float, ...],
    praise: str,
    mistakes: Mapping[tuple[float, ...], str] | None = None,
    hint: str = "",
    within: tuple[float, ...] | None = None,
) -> Reply:
    """Compares a tuple of numbers with `expected`; a known wrong tuple gets `mistakes`' words, others `hint`.

    `within` says how far off each number may be, where a lesson prints it rounded; without it, not at all.
    """
    waiting = unanswered(answer)
    if waiting:
        return waiting
    answer = _as_list(answer)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(expected):
        return not_yet(f"This takes {len(expected)} numbers in parentheses, like {tuple(range(1, len(expected) + 1))}.")
    for each in answer:
        if not _is_number(each):
            return not_yet(f"This takes {len(expected)} numbers; {reprlib.repr(each)} is {_kind(each)}.")
    allowed = within or (0,) * len(expected)
    good = [abs(one - other) <= off for one, other, off in zip(answer, expected, allowed, strict=True)]
    if all(good):
        return right(praise)
    for mistake, words in (mistakes or {}).items():
        if all(_same(one, other) for one, other in zip(answer, mistake, strict=True)):
            return not_yet(words)
    wrong = [at for at, each in enumerate(good) if not each]
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
    if isinstance(answer, Real) and mistake % 1:
        return _close(float(answer), mistake, 5e-3)
    return bool(answer == mistake)


def _as_list(answer: Any) -> Any:
    """A NumPy array as a list of numbers, or as the one number that it holds."""
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def _is_number(answer: Any) -> bool:
    """Whether it can be compared with a right answer: real, and not so large that no float holds it."""
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return False
    try:
        return not math.isnan(float(answer))
    except OverflowError:
        return False


def _kind(answer: Any) -> str:
    if isinstance(answer, Real) and not isinstance(answer, bool):
        return "no number that could be right"
    name = type(answer).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
