"""The values that the variables of a loop take round by round, if they are known before it begins.

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
from autograder.simgpu.operations.function_calls import everything_of
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation

MOST_ROUNDS = 64
MOST_ASKED = 256  # likewise, where each round asks for something that is not known
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
    behind: Sequence[State] = ()  # one for each round of the unrolled loops around; none where it may end earlier


def rounds_of(loop: While, around: Sequence[State], found: Found, forms: Forms) -> UnrolledRounds:
    """The variables in each round, with those of the loops around; none if the compiler cannot know them.

    `around`: the rounds of the unrolled loops around; one empty state if there are none.
    """
    condition = found.values.get(loop.condition)
    if not isinstance(condition, KnownNumber):
        return UnrolledRounds()
    rounds, behind, is_sure = list[State](), list[State](), True
    is_asked_at_once = not any(_is_of_memory(each, found) for each in everything_of(loop.condition))
    for outer in around:
        own, are_all = _rounds_in(loop, condition.form, outer, found, forms, is_asked_at_once)
        if not own or len(rounds) + len(own) - 1 > MOST_STATES:
            return UnrolledRounds()
        behind.append(own.pop())
        rounds += own
        is_sure = is_sure and are_all
    return UnrolledRounds(rounds, behind if is_sure else ())


def rounds_of_for(
    loop: For, around: Sequence[State], found: Found, forms: Forms, counted: Callable[[For], Sequence[int]]
) -> UnrolledRounds:
    """The counter of an unrolled `for` loop in each round, and the variables that follow from it: `n += 1` beside it.

    `counted`: the values of a loop's counter, of those inside this one too; none if it is not unrolled.
    """
    rounds, behind = list[State](), list[State]()
    ends = found.ends.get(loop, {})
    inside = [each for each in loop.body.statements if isinstance(each, For) and counted(each)]
    counter = forms.number_of(forms.atom(("counter", loop)))
    for outer in around:
        state = _begun(loop, outer, found, forms)
        for value in counted(loop):
            state = {**state, counter: value}
            rounds.append(state)
            for each in inside if ends else ():
                (state,) = rounds_of_for(each, [state], found, forms, counted).behind
            state = _after(state, ends, outer, forms)
        behind.append(state)
    return UnrolledRounds(rounds, behind)


def _begun(loop: For | While, outer: State, found: Found, forms: Forms) -> State:
    """What is known in the first round of a loop; `outer`: what was known before it."""
    ends, begins = found.ends.get(loop, {}), found.begins.get(loop, {})
    state = {number: value for number, value in outer.items() if number not in ends}
    for number in ends:
        key = forms.key_of(number)
        known = begins.get(key[2]) if isinstance(key, tuple) else None
        first = value_of(known.form, outer, forms) if isinstance(known, KnownNumber) else None
        if first is not None:
            state[number] = first
    return state


def _after(state: State, ends: Mapping[int, Form], outer: State, forms: Forms) -> State:
    """What is known behind a round."""
    after = {number: value_of(ends[number], state, forms) for number in ends if number in state}
    around = {number: value for number, value in outer.items() if number not in ends}
    return around | {number: value for number, value in after.items() if value is not None}


def _is_of_memory(op: Operation, found: Found) -> bool:
    """Whether an operand of `and` loads what only those threads may load for which those before it hold."""
    return op in found.reached and found.reached[op].array.space != "local"


def _rounds_in(
    loop: While, condition: Form, outer: State, found: Found, forms: Forms, is_asked_at_once: bool
) -> tuple[list[State], bool]:
    """The rounds of a loop in one round of those around it, and last what its variables are behind it; none if unknown.

    And whether it goes through all of them: a part of its condition that is not known may end it before. The compiler
    unrolls such a loop only if it asks the whole condition at once, and if what it knows of it grows by a constant, or, with
    a local array in it, falls.
    """
    ends = found.ends.get(loop, {})
    is_of_local = any(each in found.reached and found.reached[each].array.space == "local" for each in everything_of(loop))
    state = _begun(loop, outer, found, forms)
    rounds, are_all = list[State](), True
    while len(rounds) <= 1 + (MOST_ROUNDS if are_all else MOST_ASKED):
        holds = value_of(condition, state, forms)
        if holds is None and is_asked_at_once:
            counted = {each: state[each] for each in state if each not in ends or _goes_on(each, ends, is_of_local)}
            holds, are_all = _may_hold(condition, counted, forms), False
        if holds is None:
            break
        rounds.append(state)
        if not holds:
            return rounds, are_all
        state = _after(state, ends, outer, forms)
    return [], False


def _goes_on(number: int, ends: Mapping[int, Form], is_of_local: bool) -> bool:
    """Whether each round adds a constant to a variable, or takes one off where a local array is reached."""
    return number in ends and ends[number][1] == ((number, 1),) and (ends[number][0] > 0 or is_of_local)


def _may_hold(condition: Form, state: State, forms: Forms) -> int | None:
    """Whether a condition of several parts may hold, of which some are known: the compiler unrolls as many rounds."""
    if condition[0] or len(condition[1]) != 1 or condition[1][0][1] != 1:
        return None
    key = forms.key_of(condition[1][0][0])
    if not isinstance(key, tuple) or key[0] != ("and",):
        return None
    known = [each for each in (value_of(each, state, forms) for each in key[1]) if each is not None]
    return int(all(known)) if known else None


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
