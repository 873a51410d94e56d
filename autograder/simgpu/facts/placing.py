"""Where the instructions of a value or an address stand: at its operation, before a loop, or nowhere if it is known already.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0): a value computed earlier on the same path is in a
register, and what a loop does not change is computed before it. In an unrolled loop, what depends on the counter is
computed in each round.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from autograder.simgpu.facts.forms import Form, Forms, is_behind_a_branch, is_given
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation

READ = 1  # of a register that holds a thread's place, or a parameter: an address, a length, a number
PLACES = tuple(f"numba.cuda.{each}." for each in ("threadIdx", "blockIdx", "blockDim", "gridDim"))
PREDICATES = 7  # registers for conditions
MADE_ANEW = 4  # instructions: what takes more is kept for each round of an unrolled loop, if a loop around leaves it alone


class Asked(NamedTuple):
    """A comparison that decides with others whether lanes go into an arm."""

    form: Form
    tests: int
    is_here: bool  # computed where it is asked


def _joins(asked: Sequence[Asked], beside: int = 0) -> int:
    """The instructions that make one predicate of these, and of those beside them."""
    here = sum(each.tests for each in asked if each.is_here)
    return max(0, sum(each.tests for each in asked) + beside - here - max(1, here))


class Placing:
    """Places the instructions of one kernel; `loops`: those around the present place, outermost first."""

    def __init__(self, found: Found, forms: Forms, integers: Integers) -> None:
        self.found = found
        self.forms = forms
        self.integers = integers
        self.loops: list[For | While] = []
        self.arms = 0  # of branches around the present place, inside the innermost loop
        self.conditions = 0  # inside the innermost loop, on which it depends whether a round comes to the present place
        self.is_of_round = False  # what is placed is an address that the counter of an unrolled loop is part of
        self._hoisted: dict[Operation, Sequence[For | While]] = {}  # by operation: the loops before which it is computed
        self.fours: dict[Operation, int] = {}  # by loop done four rounds at a time: instructions that the four share

    def worth(
        self, op: Operation, slots: int, way: Way, *, is_moved: bool = True, is_condition: bool = False,
        is_kept: bool = False,
    ) -> None:
        """Notes what a value costs, unless it is in a register already, and before which loops it is computed.

        `is_moved`: whether it is computed before a loop that leaves it alone; `is_condition`: it goes into a predicate;
        `is_kept`: each round of an unrolled loop has a register for it, in whatever loop that stands.
        """
        op.slots = op.once = 0
        known = self.found.values.get(op)
        if not isinstance(known, KnownNumber):
            op.slots = slots
            return
        key = "value", known.dtype, self.integers.without_counters(known.form)
        if not key[2][1] or key in way.done:
            return
        way.done.add(key)
        if not is_moved:
            op.slots += slots
        elif (slots > MADE_ANEW or is_kept) and self.is_unrolled([known.form]):
            self.needed(op, slots, (*key, "kept"), [known.form], way)
        else:
            self.place(op, slots, [known.form], is_condition=is_condition)

    def is_unrolled(self, made_of: Sequence[Form | None]) -> bool:
        """Whether the innermost loop is unrolled and changes these values, otherwise than by adding constants."""
        if not self.loops or not self.integers.is_written_out(self.loops[-1]):
            return False
        bare = [None if each is None else self.integers.without_counters(each) for each in made_of]
        return self._moves(self.loops[-1], bare)

    def place(
        self, op: Operation, slots: int, made_of: Sequence[Form | None], *, is_condition: bool = False,
        is_of_all: bool = False,
    ) -> None:
        """Adds instructions to an operation: each time, or once if the innermost loop does not change their operands.

        In an arm of a branch, the address of each round of an unrolled loop is computed anew.
        """
        is_anew = self.is_of_round and not is_of_all and self.arms > 0 and self.integers.is_written_out(self.loops[-1])
        if not self.loops or is_anew or not self.stays(made_of, self.loops[-1]):
            values = self._values_in_rounds(made_of, in_arms=is_of_all)
            if values and not (is_condition and values > PREDICATES):
                self.before_rounds(values * slots)
            else:
                op.slots += slots
            return
        alone = itertools.takewhile(lambda each: self.stays(made_of, each), reversed(self.loops))
        self._hoist(op, slots, list(alone))

    def _hoist(self, op: Operation, slots: int, loops: Sequence[For | While]) -> None:
        """Places a part of an operation before these loops, the innermost first.

        Another part of it may stand before fewer of them: the row of `a[c, j]`, and where `a` lies. Then what stands
        further out is counted with the loop before which it stands. In a loop that goes round itself, both are counted as
        the first of them: what that leaves out, and what loop_costs.py counts too much before such loops, make up for each
        other.
        """
        before = self._hoisted.get(op, ()) if op.once else loops
        is_apart = self.integers.is_written_out(self.loops[-1])
        if is_apart and len(loops) > len(before):
            loops[-1].before += slots
            return
        if is_apart and len(loops) < len(before):
            before[-1].before += op.once
            op.once = 0
            for each in before:
                each.hoisted.discard(op)
        op.once += slots
        self._hoisted[op] = loops
        for each in loops:
            each.hoisted.add(op)

    def joined(self, asked: Sequence[Asked]) -> int:
        """The instructions that make one predicate of comparisons in each round of an unrolled loop.

        A comparison takes in a predicate that is there; of two that were both computed before, an instruction makes one.
        What the innermost loop leaves alone is one before it, and what comes back in other rounds is there then.
        """
        if not self.loops or not self.integers.is_written_out(self.loops[-1]):
            return 0
        moved = [each for each in asked if not self.stays([each.form], self.loops[-1])]
        others = [each for each in asked if each not in moved]
        if others and moved:
            self._before_a_loop([each.form for each in others]).before += _joins(others)
        slots = _joins(moved or others, bool(others and moved))
        made_of = [each.form for each in asked]
        if not moved:
            self._before_a_loop(made_of).before += slots
            return 0
        values = self._values_in_rounds(made_of)
        if not 0 < values <= PREDICATES:
            return slots
        self.before_rounds(values * slots)
        return 0

    def is_in_rounds(self) -> bool:
        """Whether each round of an unrolled loop comes to the present place."""
        return bool(self.loops) and not self.arms and self.integers.is_written_out(self.loops[-1])

    def before_rounds(self, slots: int) -> None:
        """Adds instructions before the unrolled loops around the present place."""
        self._first_written_out().before += slots

    def _first_written_out(self) -> For | While:
        """The outermost of the innermost loops that are unrolled."""
        found = self.loops[-1]
        for loop in reversed(self.loops):
            if not self.integers.is_written_out(loop):
                break
            found = loop
        return found

    def _values_in_rounds(self, made_of: Sequence[Form | None], *, in_arms: bool = False) -> int:
        """How many values something has in the rounds of nested unrolled loops, if it comes back to some; else 0.

        Each is computed once, and not again in later rounds: `t ^ step` in a bitonic sort, whose 36 rounds have 8 steps.
        What stands behind a branch of its own is: `(x + dx) % columns` for each `dy`.
        """
        states, numbers = self.integers.states, set[int]()  # no state: a loop over nothing, such as over no arguments
        if not states or not self.loops or self.arms and not in_arms or not self.integers.is_written_out(self.loops[-1]):
            return 0
        if self._is_behind_a_branch(made_of):
            return 0
        for form in made_of:
            for number, _ in self.forms.atoms_of(form) if form is not None else ():
                for part in (number, *self.forms.inside(number)):
                    if part in states[0]:
                        numbers.add(part)
                    elif is_given(self.forms.key_of(part)) and self.forms.loops_of((0, ((part, 1),))):
                        return 0
        if not numbers or None in made_of:
            return 0
        found = {tuple(state.get(each) for each in sorted(numbers)) for state in states}
        return len(found) if len(found) < len(states) else 0

    def stays(self, made_of: Sequence[Form | None], loop: For | While) -> bool:
        """Whether a loop does not change these values; the counters of unrolled loops are constants."""
        for form in made_of:
            if form is None or loop in self.forms.loops_of(self.integers.without_counters(form)):
                return False
        return True

    def worth_once(self, op: Operation, slots: int, key: Hashable, way: Way) -> None:
        """`worth` for what has no form: `key` identifies it."""
        op.slots = op.once = 0
        if (key, slots) not in way.done:
            way.done.add((key, slots))
            self.place(op, slots, [])

    def read(self, op: Operation, form: Form | None, way: Way, *, is_size: bool = False) -> None:
        """Adds the reads of what a sum consists of, as far as nobody has read it before.

        `is_size`: it is the number of all elements, which a kernel is given beside the lengths of an array.
        """
        for number, atom in self.forms.atoms_of(form) if form is not None else ():
            kind = atom.key[0] if isinstance(atom.key, tuple) else None
            if kind in ("extent", "argument") or self.is_place(number):
                self.needed(op, READ, self.read_of(("size", atom.key) if is_size else atom.key), [], way)

    def is_place(self, number: int) -> bool:
        """Whether an atom is a thread's place, such as `cuda.threadIdx.x`."""
        key = self.forms.key_of(number)
        return isinstance(key, tuple) and key[0] == "name" and str(key[1]).startswith(PLACES)

    @staticmethod
    def read_of(key: Hashable) -> Hashable:
        """By which it is known that something has been read."""
        return "read", key

    def in_common(self, slots: int) -> bool:
        """Adds instructions to those that four rounds of the innermost loop share; False if it is not done so."""
        if not self.loops or self.loops[-1] not in self.fours:
            return False
        self.fours[self.loops[-1]] += slots
        return True

    def is_counted_on(self, reached: Reached) -> bool:
        """Whether an address changes in the innermost loop."""
        return bool(self.loops) and not self.stays(reached.indices, self.loops[-1])

    def needed(
        self, op: Operation, slots: int, key: Hashable, made_of: Sequence[Form | None], way: Way, *, is_of_all: bool = False
    ) -> None:
        """Adds the instructions of a part of an address, unless it is in a register already; `key` identifies it.

        `is_of_all`: it is one register for all rounds of an unrolled loop, in arms of branches too. Other parts are
        computed anew in each arm, but for those that only loops further out change.
        """
        if key in way.done or self.loops and self.integers.round_by_round(key) in way.done:
            return
        way.done.add(key)
        if self._changes_further_out(made_of):
            self._before_a_loop(made_of).before += slots
            return
        written_out = 0  # innermost loops that are unrolled, with a value for each round
        for loop in reversed(self.loops):
            if not self.integers.is_written_out(loop) or not self._moves(loop, made_of):
                break
            written_out += 1
        if not written_out or is_of_all and self._values_in_rounds(made_of, in_arms=True):
            self.place(op, slots, made_of, is_of_all=is_of_all)
            return
        outside = self.loops[: len(self.loops) - written_out]
        stays_there = self.arms > 0 and not is_of_all or self._is_behind_a_branch(made_of)
        is_anew = not outside or stays_there and self.integers.is_written_out(outside[-1])
        if is_anew or not self._leaves_alone(outside[-1], made_of):
            op.slots += slots
            return
        # before the loops around: the value of each round has a register
        alone = itertools.takewhile(lambda each: self._leaves_alone(each, made_of), reversed(outside))
        self._hoist(op, slots, list(alone))

    def _is_behind_a_branch(self, made_of: Iterable[Form | None]) -> bool:
        """Whether a quotient by a variable is part of these values."""
        atoms = {number for form in made_of if form is not None for number, _ in form[1]}
        parts = atoms.union(*map(self.forms.inside, atoms))
        return any(is_behind_a_branch(self.forms.key_of(part)) for part in parts)

    def _leaves_alone(self, loop: Operation, made_of: Iterable[Form | None]) -> bool:
        """Whether a loop around unrolled ones changes nothing that these values are made of, but numbers of their rounds."""
        return all(
            form is not None and not any(self._comes_from(loop, number) for number, _ in form[1]) for form in made_of
        )

    def _comes_from(self, loop: Operation, number: int) -> bool:
        """Whether an atom changes in a loop, otherwise than by numbers that are known."""
        if loop not in self.forms.loops_of((0, ((number, 1),))) or self.integers.constants_of(number) is not None:
            return False
        inside = self.forms.inside(number)
        if not inside or is_given(self.forms.key_of(number)):
            return True
        return any(self._comes_from(loop, each) for each in inside)

    def _changes_further_out(self, made_of: Sequence[Form | None]) -> bool:
        """Whether the innermost loop leaves these values alone, and an unrolled one around it changes them."""
        if not self.loops or self._moves(self.loops[-1], made_of):
            return False
        return any(self.integers.is_written_out(each) and self._moves(each, made_of) for each in self.loops)

    def _before_a_loop(self, made_of: Sequence[Form | None]) -> For | While:
        """The outermost of the innermost loops that leave these values alone."""
        found = self.loops[-1]
        for loop in reversed(self.loops):
            if self._moves(loop, made_of):
                break
            found = loop
        return found

    def _moves(self, loop: Operation, made_of: Iterable[Form | None]) -> bool:
        """Whether an unrolled loop changes these values."""
        return any(each is None or loop in self.forms.loops_of(each) for each in made_of)
