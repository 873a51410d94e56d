"""What the compiler knows of integers: which are constant in each round of an unrolled loop, and which are not negative.

An index that may be negative is wrapped (Numba adds the length), unless a condition before the access rules that out. Seen
in machine code (numba-cuda 0.30.4, compute capability 9.0) after `if i > 0`, `if 0 <= i < n`, and in loops.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Form, Forms, Terms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownNumber, KnownRange, KnownTuple
from autograder.simgpu.facts.rounds import CONDITIONS, MOST_STATES, State, rounds_of, rounds_of_for, value_of
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Compare, Junction, Unary
from autograder.simgpu.operations.statements import Break, Return

MOST_LOOKED_AT = 64  # rounds in which the values of an element are looked up
ARITHMETIC = ("*", ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Pow)


@dataclass
class Way:
    """What is known along one path through a kernel."""

    done: set[Hashable] = field(default_factory=set)  # values and addresses that are in registers
    least: dict[Terms, int] = field(default_factory=dict)  # lower bounds, by sum without its constant

    in_rounds: dict[Terms, int] = field(default_factory=dict)  # likewise, by conditions of `while` loops around

    def copy(self) -> Way:
        return Way(set(self.done), dict(self.least), dict(self.in_rounds))

    @property
    def of_rounds(self) -> Way:
        """This way with the bounds that conditions of `while` loops give: the compiler knows of them where it divides, but
        wraps indices in spite of them."""
        return Way(self.done, self.in_rounds, self.in_rounds)


class Integers:
    """The integers of one kernel; what holds only on one path through it is in a `Way`."""

    def __init__(self, found: Found, forms: Forms, written_out: WrittenOut) -> None:
        self.found = found
        self.forms = forms
        self.written_out = written_out
        self.rounds: dict[int, Sequence[int]] = {}  # by atom: a variable's values in an unrolled loop, but for counters
        self.lengths: dict[Operation, int] = {}  # by unrolled `while`: the number of its rounds
        self.left_early: set[Operation] = set()  # of them, those that something not known may end before their last round
        self.behind: dict[Operation, Sequence[State]] = {}  # by unrolled loop around this place: the states behind it
        self._numbers_of: dict[int, Hashable] = {}
        self._same: dict[Hashable, int] = {}  # what atoms are in whichever loop, by number
        self.states: Sequence[State] = [{}]  # a state for each round of the unrolled loops around

    def enter(self, op: For | While) -> None:
        """Enters a loop; if it is unrolled, notes its variables round by round."""
        if isinstance(op, While):
            rounds = rounds_of(op, self.states, self.found, self.forms)
            known = rounds.states
            if known and self.written_out.fits(op, len(known) // len(self.states)):
                self.lengths[op] = len(known) // len(self.states)
                in_all = frozenset.intersection(*map(frozenset, known))
                if not rounds.behind:
                    self.left_early.add(op)
                self.rounds |= {number: [state[number] for state in known] for number in in_all}
                self.states = known
                if rounds.behind and not any(isinstance(each, (Break, Return)) for each in everything_in(op.body)):
                    self.behind[op] = rounds.behind
            return
        values = self.values_of(op) if self.written_out.includes(op) else None
        if values is not None and len(values) * len(self.states) <= MOST_STATES:
            found = rounds_of_for(op, self.states, self.found, self.forms, self._counted)
            own = set(self.found.ends.get(op, ())).intersection(*found.states)
            self.rounds |= {number: [state[number] for state in found.states] for number in own}
            self.states = found.states
            if own and not any(isinstance(each, (Break, Return)) for each in everything_in(op.body)):
                self.behind[op] = found.behind

    def _counted(self, op: For) -> Sequence[int]:
        """The values of the counter of an unrolled loop."""
        return self.values_of(op) or () if self.written_out.includes(op) else ()

    def leave(self, op: For | While, before: Sequence[State]) -> None:
        """Leaves a loop; behind an unrolled `while`, its variables are what they were when its condition failed."""
        self.states = self.behind.pop(op, before)

    def constant(self, known: object) -> int | None:
        """A number known at compile time; in an unrolled loop, its value in one of the rounds."""
        if not isinstance(known, KnownNumber):
            return None
        value = known.form[0]
        for number, factor in known.form[1]:
            values = self.constants_of(number)
            if not values:
                return None
            value += factor * values[0]
        return value

    def is_written_out(self, loop: Operation) -> bool:
        """Whether a loop is unrolled, so that machine code has no loop."""
        return loop in self.lengths or self.written_out.includes(loop)

    def without_counters(self, form: Form) -> Form:
        """A sum without the counters of unrolled loops, which are constants."""
        return form[0], tuple(
            (number, factor) for number, factor in form[1] if self.constants_of(number) is None
        )

    def adds_in_each_round(self, form: Form) -> bool:
        """Whether the counters of unrolled `for` loops add something else than 0 to a sum in each of their rounds."""
        moved = form[0], tuple(each for each in form[1] if each[0] not in self.rounds and self.constants_of(each[0]))
        return bool(moved[1]) and all(value_of(moved, state, self.forms) for state in self.states)

    def without_constant(self, form: Form) -> Form:
        """A sum without its constants."""
        return 0, self.without_counters(form)[1]

    def beginning(self, form: Form) -> Form:
        """A sum without what is added to a multiple of a power of two and is less than that: `4 * i` for `4 * i + 3`.

        It has the sign of the multiple, and the compiler computes both as one. What is computed from the counter of a
        `for` loop, as in `i + (c & 1)`, counts as less, too: it comes back to few values, whose signs serve all rounds.
        """
        least, most, rest = self._bounds_and_rest(form)
        is_made = any(self._is_made_of_counters(number) for number, _ in form[1])
        multiple = min((factor & -factor for _, factor in rest), default=0)
        return (0, rest) if 0 <= least <= most and (most < multiple or is_made) else form

    def _bounds_and_rest(self, form: Form) -> tuple[int, int, Terms]:
        """The least and the most that constants and counters of unrolled loops add to a sum, and what else is in it."""
        least = most = form[0]
        for number, factor in form[1]:
            if values := self._numbers_in_rounds(number):
                least += min(factor * each for each in values)
                most += max(factor * each for each in values)
        return least, most, self.without_counters(form)[1]

    def _is_made_of_counters(self, number: int) -> bool:
        """Whether an atom is computed from counters of unrolled `for` loops, and comes back to some of its values."""
        inside = self.forms.inside(number)
        if not inside or self.constants_of(number) is None or any(each in self.rounds for each in inside):
            return False
        return len(self._in_states(number)) < len(self.states)

    def _numbers_in_rounds(self, number: int) -> Sequence[int] | None:
        """`constants_of`; of what is computed from counters, what that comes to in the rounds of the loops around."""
        values = self.constants_of(number)
        return self._in_states(number) if values and self.forms.inside(number) else values

    def numbers_in_rounds(self, form: Form) -> tuple[int, int] | None:
        """The least and the most of a value that is another number in each round of unrolled loops; None if it is not so."""
        least, most, rest = self._bounds_and_rest(form)
        return (least, most) if form[1] and not rest else None

    def changes_in(self, loop: Operation, key: Hashable) -> bool:
        """Whether a loop changes any of the values by which `key` identifies something."""
        if not isinstance(key, tuple):
            return False
        if len(key) == 2 and isinstance(key[0], int) and isinstance(key[1], tuple):  # a form
            return loop in self.forms.loops_of((key[0], key[1]))
        return any(self.changes_in(loop, each) for each in key)

    def round_by_round(self, key: Hashable) -> Hashable:
        """What identifies values of all rounds of unrolled loops, in whichever loop over these numbers they are needed."""
        if not isinstance(key, tuple):
            return key
        if len(key) == 2 and isinstance(key[0], int) and isinstance(key[1], tuple):  # a form
            return "sum", key[0], tuple((self._over(number), factor) for number, factor in key[1])
        return tuple(map(self.round_by_round, key))

    def _over(self, number: int) -> Hashable:
        """An atom, with the numbers that they go over in the place of counters of unrolled loops."""
        known = self._numbers_of.get(number)
        if known is None:
            key = self.forms.key_of(number)
            known = number
            loops = [each for each in self.forms.loops_of((0, ((number, 1),))) if isinstance(each, For)]
            is_counter = isinstance(key, tuple) and key[0] == "counter"
            if any(map(self.is_written_out, loops)):
                values = self.values_of(loops[0]) if is_counter and len(loops) == 1 else None
                found = ("over", tuple(values)) if values else number if is_counter else self.round_by_round(key)
                known = "same", self._same.setdefault(found, len(self._same))  # a tuple in tuples is hashed whole each time
            self._numbers_of[number] = known
        return known

    def bare(self, form: Form | None) -> Hashable:
        """`without_constant` of a form that may not be known."""
        return None if form is None else self.without_constant(form)

    def without_strides(self, form: Form) -> Form:
        """A sum without the products of something and a number that is constant in each round of the unrolled loops."""
        return form[0], tuple((number, factor) for number, factor in form[1] if not self._is_stride(number))

    def _is_stride(self, number: int) -> bool:
        key = self.forms.key_of(number)
        if not isinstance(key, tuple) or key[0] != "*" or self.constants_of(number) is not None:
            return False
        return any(form[1] and not self.without_counters(form)[1] for form in key[1:])

    def constants_of(self, number: int) -> Sequence[int] | None:
        """The values of an atom in the rounds of an unrolled loop, if it is constant in each of them; else None."""
        key = self.forms.key_of(number)
        if not isinstance(key, tuple) or len(key) < 2:
            return None
        if number in self.rounds:
            return self.rounds[number]
        if key[0] == "counter" and isinstance(key[1], For) and self.written_out.includes(key[1]):
            return self.values_of(key[1]) or range(1)
        is_made = isinstance(key[0], tuple) and key[0][0] in CONDITIONS
        if key[0] in ARITHMETIC or is_made:
            inner = [form for form in (key[1] if is_made else key[1:]) if isinstance(form, tuple)]
            if inner and not any(self.without_counters(form)[1] for form in inner):
                return range(1)
        if key[0] == "load" and key[1] in self.forms.tables:  # a number of the source, if its place is one
            return None if any(self.without_counters(index)[1] for index in key[3]) else self._in_states(number)
        return None

    def _in_states(self, number: int) -> Sequence[int]:
        """The values of an atom in the rounds of the unrolled loops around, as far as they can be told."""
        atom: Form = (0, ((number, 1),))
        values = {value_of(atom, state, self.forms) for state in self.states[:MOST_LOOKED_AT]}
        return sorted(each for each in values if each is not None) or range(1)

    def values_of(self, loop: For) -> Sequence[int] | None:
        """The values of a loop's counter, if they are known before it begins."""
        source = self.found.values.get(loop.source)
        if isinstance(source, KnownTuple):
            constants = [each.constant if isinstance(each, KnownNumber) else None for each in source.items]
            return [each for each in constants if each is not None] if None not in constants else None
        return self._range_of(loop)

    def _range_of(self, loop: For) -> range | None:
        source = self.found.values.get(loop.source)
        if not isinstance(source, KnownRange):
            return None
        bounds = [each.constant for each in (source.start, source.stop, source.step)]
        if bounds[0] is None or bounds[1] is None or not bounds[2]:
            return None
        return range(bounds[0], bounds[1], bounds[2])

    def is_positive(self, form: Form, way: Way, *, is_folded: bool = False) -> bool:
        """Whether a value is known not to be negative.

        `is_folded`: what a condition says of each round of an unrolled loop comes too late for it. An index of shared
        memory is such a value: its sign has become part of a sum of 32 bits by the time that rounds are told apart.
        """
        lowest, _, rest = self._bounds_and_rest(form)
        if not rest:
            return lowest >= 0
        for least, terms in ((lowest, rest),) if is_folded else (form, (lowest, rest)):
            if terms in way.least and least + way.least[terms] >= 0:
                return True
        return lowest >= 0 and all(factor > 0 and self._atom_is_positive(number, way) for number, factor in rest)

    def is_natural(self, form: Form) -> bool:
        """Whether a value is a multiple of an unsigned number of 32 bits that was loaded, and a constant of 0 or more."""
        return form[0] >= 0 and len(form[1]) == 1 and form[1][0][1] > 0 and form[1][0][0] in self.found.natural

    def is_above_zero(self, form: Form, way: Way) -> bool:
        """Whether a value is known to be at least 1, as the counter of a `while` loop is that begins at 2."""
        lowest, _, rest = self._bounds_and_rest(form)
        if not rest or not all(factor > 0 and self._atom_is_positive(number, way) for number, factor in rest):
            return lowest > 0 and not rest
        return lowest + sum(factor * self._begins_at(number) for number, factor in rest) > 0

    def cannot_overflow(self, form: Form) -> bool:
        """Whether a sum cannot overflow where a condition says that it is not negative: nothing is added to its atoms."""
        return form[0] <= 0 or self.is_positive(form, Way())

    def _atom_is_positive(self, number: int, way: Way) -> bool:
        if way.least.get(((number, 1),), -1) >= 0:
            return True
        key = self.forms.key_of(number)
        if not isinstance(key, tuple):
            return False
        if key[0] == "round" and isinstance(key[1], While):
            return self._counts_up(key[1], key[2], number, way)
        if key[0] is ast.BitAnd:
            return any(not form[1] and form[0] >= 0 for form in key[1:3])
        if key[0] == "load":
            return number in self.found.natural
        return key[0] == "name" and key[1] in ("numba.cuda.laneid", "numba.cuda.warpsize")

    def _counts_up(self, loop: While, name: Hashable, number: int, way: Way) -> bool:
        """Whether a variable begins at 0 or above, and a loop adds only constants of 0 or above to it."""
        begin = self.found.begins.get(loop, {}).get(name)
        end = self.found.ends.get(loop, {}).get(number)
        if not isinstance(begin, KnownNumber) or end is None:
            return False
        amount = self.forms.add(end, (0, ((number, 1),)), -1)
        return not amount[1] and amount[0] >= 0 and self.is_positive(begin.form, way)

    def _begins_at(self, number: int) -> int:
        """The least of an atom that is not negative, as far as is known: of a `while` loop's counter, where it begins."""
        key = self.forms.key_of(number)
        if not isinstance(key, tuple) or key[0] != "round" or not isinstance(key[1], While):
            return 0
        begin = self.found.begins.get(key[1], {}).get(key[2])
        return begin.form[0] if isinstance(begin, KnownNumber) and not begin.form[1] else 0

    def goes_on_by(self, loop: Operation, form: Form) -> Form | None:
        """The amount that a loop adds in each round to a value's variable, if that is always the same."""
        for number, _ in form[1]:
            end = self.found.ends.get(loop, {}).get(number)
            if number in self.found.steps and end is not None:
                return self.forms.add(end, (0, ((number, 1),)), -1)
        return None

    def note_bounds(self, condition: Operation, holds: bool, way: Way) -> None:
        """Notes the lower bounds that follow if a condition holds, or if it does not.

        The signs of the two values that `and` begins with, among other tests, become one, of their bits together; the
        compiler then does not know that of each round of an unrolled loop.
        """
        if isinstance(condition, Junction):
            if condition.is_and == holds:
                signs: list[Terms] = []
                for place, each in enumerate(condition.operands):
                    before = dict(way.least)
                    self.note_bounds(each, holds, way)
                    news = [terms for terms in way.least if terms not in before]
                    if place == 0 or signs:
                        signs += [terms for terms in news if self.without_counters((0, terms))[1] != terms]
                tests = sum(len(each.kinds) for each in condition.operands if isinstance(each, Compare))
                if len(signs) > 1 and tests > 2:
                    for terms in signs[:2]:
                        del way.least[terms]
            return
        if isinstance(condition, Unary) and condition.kind is ast.Not:
            self.note_bounds(condition.operand, not holds, way)
            return
        if not isinstance(condition, Compare) or not holds and len(condition.kinds) > 1:
            return
        sides = [self.found.values.get(each) for each in (condition.left, *condition.others)]
        for kind, left, right in zip(condition.kinds, sides, sides[1:], strict=False):
            if not isinstance(left, KnownNumber) or not isinstance(right, KnownNumber):
                continue
            if kind in (ast.Lt, ast.LtE):
                kind, left, right = (ast.Gt if kind is ast.Lt else ast.GtE), right, left
            if kind not in (ast.Gt, ast.GtE, ast.Eq) or kind is ast.Eq and not holds:
                continue
            if not holds:
                kind, left, right = (ast.GtE if kind is ast.Gt else ast.Gt), right, left
            if left.dtype is None or left.dtype.kind not in "iu":
                continue
            if not right.form[1]:
                bound = right.form[0] - left.form[0] + (kind is ast.Gt)
                way.least[left.form[1]] = max(bound, way.least.get(left.form[1], bound))
                continue
            if self.is_positive(right.form, way):
                bound = -left.form[0] + (kind is ast.Gt)
                way.least[left.form[1]] = max(bound, way.least.get(left.form[1], bound))
            if not self.without_counters(right.form)[1]:
                apart = self.forms.add(left.form, right.form, -1)
                bound = -apart[0] + (kind is ast.Gt)
                way.least[apart[1]] = max(bound, way.least.get(apart[1], bound))

    def is_settled(self, condition: Operation) -> bool:
        """Whether a condition is known at compile time, in each round of unrolled loops."""
        known = self.found.values.get(condition)
        return isinstance(known, KnownNumber) and not self.without_counters(known.form)[1]
