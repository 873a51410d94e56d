"""The values that the variables of a `while` loop take round by round, if they are known before it begins.

The compiler then unrolls the loop, and conditions and indices that depend on these variables are constants. Seen in machine
code (numba-cuda 0.30.4, compute capability 9.0) of `half = 128; while half > 0: ...; half //= 2`, however the step is
spelled.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from autograder.simgpu.facts.forms import Form, Forms, wrapped
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.facts.known_results import COMPARED
from autograder.simgpu.operations.loops import While

MOST_ROUNDS = 64
MOST_STATES = 512  # rounds of nested loops together

State: TypeAlias = Mapping[int, int]
"""The values of some atoms in one round."""

COMPUTED: Mapping[Hashable, Callable[[int, int], int]] = {
    "*": operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip

CONDITIONS = ("compare", "and", "or", ast.Not)


@dataclass(frozen=True)
class UnrolledRounds:
    """What is known of a loop's rounds, one after the other, and of its variables behind it; nothing if there are none."""

    states: Sequence[State] = ()  # with those of the loops around
    behind: Sequence[State] = ()  # one for each round of the unrolled loops around


def rounds_of(loop: While, around: Sequence[State], found: Found, forms: Forms) -> UnrolledRounds:
    """The variables in each round, with those of the loops around; none if the compiler cannot know them.

    `around`: the rounds of the unrolled loops around; one empty state if there are none.
    """
    condition = found.values.get(loop.condition)
    if not isinstance(condition, KnownNumber):
        return UnrolledRounds()
    rounds, behind = list[State](), list[State]()
    for outer in around:
        own = _rounds_in(loop, condition.form, outer, found, forms)
        if own is None or len(rounds) + len(own) - 1 > MOST_STATES:
            return UnrolledRounds()
        behind.append(own.pop())
        rounds += own
    return UnrolledRounds(rounds, behind)


def _rounds_in(loop: While, condition: Form, outer: State, found: Found, forms: Forms) -> list[State] | None:
    """The rounds of a loop in one round of those around it, and last what its variables are behind it."""
    begins, ends = found.begins.get(loop, {}), found.ends.get(loop, {})
    around = {number: value for number, value in outer.items() if number not in ends}
    state = dict(around)
    for number in ends:
        key = forms.key_of(number)
        known = begins.get(key[2]) if isinstance(key, tuple) else None
        first = value_of(known.form, outer, forms) if isinstance(known, KnownNumber) else None
        if first is not None:
            state[number] = first
    rounds: list[State] = []
    while len(rounds) <= MOST_ROUNDS + 1:
        holds = value_of(condition, state, forms)
        if holds is None:
            return None
        rounds.append(state)
        if not holds:
            return rounds
        after = {number: value_of(ends[number], state, forms) for number in ends if number in state}
        state = around | {number: value for number, value in after.items() if value is not None}
    return None


def value_of(form: Form, state: State, forms: Forms) -> int | None:
    """A value, given those of some atoms; None if it depends on other atoms too."""
    total = form[0]
    for number, factor in form[1]:
        value = state[number] if number in state else _of_atom(forms.key_of(number), state, forms)
        if value is None:
            return None
        total += factor * value
    return wrapped(total)


def _of_atom(key: Hashable, state: State, forms: Forms) -> int | None:
    if not isinstance(key, tuple):
        return None
    if isinstance(key[0], tuple) and key[0][0] in CONDITIONS:
        return _of_condition(key[0], key[1], state, forms)
    if key[0] == "load" and key[1] in forms.tables:
        return _of_table(forms.tables[key[1]], [value_of(index, state, forms) for index in key[3]])
    compute = COMPUTED.get(key[0])
    if compute is None:
        return None
    left, right = (value_of(each, state, forms) for each in key[1:3])
    if left is None or right is None:
        return None
    if key[0] in (ast.FloorDiv, ast.Mod) and not right or key[0] in (ast.LShift, ast.RShift) and not 0 <= right < 64:
        return None
    return compute(left, right)


def _of_table(table: np.ndarray, indices: Sequence[int | None]) -> int | None:
    """An element of an array that is a constant of the kernel; None if it is no integer, or its place is not known."""
    at = tuple(each for each in indices if each is not None)
    is_one = len(at) == len(indices) == table.ndim and table.dtype.kind in "iu"
    if not is_one or not all(-size <= index < size for index, size in zip(at, table.shape, strict=True)):
        return None
    return wrapped(int(table[at]))


def _of_condition(kind: tuple[object, ...], operands: Sequence[Form], state: State, forms: Forms) -> int | None:
    """A comparison, `not`, `and` or `or`."""
    values = [value_of(each, state, forms) for each in operands]
    known = [each for each in values if each is not None]
    if len(known) < len(values):
        return None
    match kind:
        case ("compare", tuple() as compared) if all(each in COMPARED for each in compared):
            return int(all(COMPARED[each](*pair) for each, *pair in zip(compared, known, known[1:], strict=False)))
        case ("and",):
            return int(all(known))
        case ("or",):
            return int(any(known))
        case (ast.Not,):
            return int(not known[0])
    return None
