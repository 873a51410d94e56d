"""Where the instructions of a value or an address fall: at its operation, before a loop, or nowhere (it is there already).

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0): what was worked out on the way here is in a register; what
a loop leaves alone is worked out before it. In loops written out, what counters make another in each round is not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation


class Placing:
    """Of one kernel, at one place in it: `loops` are those around that, outermost first."""

    def __init__(self, found: Found, forms: Forms, integers: Integers) -> None:
        self.found = found
        self.forms = forms
        self.integers = integers
        self.loops: list[For | While] = []
        self.fours: dict[Operation, int] = {}  # loops done four rounds at a time: instructions that the four have in common

    def worth(self, op: Operation, slots: int, way: Way) -> None:
        """Notes what a value costs, unless it is there already; and before which loops it is worked out."""
        op.slots = op.once = 0
        known = self.found.values.get(op)
        if not isinstance(known, KnownNumber):
            op.slots = slots
            return
        key = "value", known.dtype, self.integers.without_counters(known.form)
        if not key[2][1] or key in way.done:
            return
        way.done.add(key)
        self.place(op, slots, [known.form])

    def place(self, op: Operation, slots: int, made_of: Sequence[Form | None]) -> None:
        """Adds instructions to an operation: each time, or once where the innermost loop leaves what they are made of."""
        if not self.loops or not self.stays(made_of, self.loops[-1]):
            op.slots += slots
            return
        op.once += slots
        for loop in reversed(self.loops):
            if not self.stays(made_of, loop):
                break
            loop.hoisted.add(op)

    def stays(self, made_of: Sequence[Form | None], loop: For | While) -> bool:
        """Whether a loop leaves values as they are; counters of loops written out are constants."""
        for form in made_of:
            if form is None or loop in self.forms.loops_of(self.integers.without_counters(form)):
                return False
        return True

    def worth_once(self, op: Operation, slots: int, key: Hashable, way: Way) -> None:
        """The same for what is no value of one form: the key says what it is."""
        op.slots = op.once = 0
        if (key, slots) not in way.done:
            way.done.add((key, slots))
            self.place(op, slots, [])

    def in_common(self, slots: int) -> bool:
        """Adds instructions to those that four rounds of the innermost loop have in common, if it is done so."""
        if not self.loops or self.loops[-1] not in self.fours:
            return False
        self.fours[self.loops[-1]] += slots
        return True

    def is_counted_on(self, reached: Reached) -> bool:
        """Whether an address is advanced by an addition in the innermost loop."""
        return bool(self.loops) and not self.stays(reached.indices, self.loops[-1])

    def needed(
        self, op: Operation, slots: int, key: Hashable, made_of: Sequence[Form | None], way: Way
    ) -> None:
        if key in way.done:
            return
        way.done.add(key)
        written_out = 0  # the innermost loops, each round of which has a value of its own
        for loop in reversed(self.loops):
            if not self.integers.is_written_out(loop) or not self._moves(loop, made_of):
                break
            written_out += 1
        if not written_out:
            self.place(op, slots, made_of)
            return
        outside = self.loops[: len(self.loops) - written_out]
        if not outside or not self.stays(made_of, outside[-1]):
            op.slots += slots
            return
        op.once += slots  # before the loops around: each round's value has a register
        for loop in reversed(outside):
            if not self.stays(made_of, loop):
                break
            loop.hoisted.add(op)

    def _moves(self, loop: Operation, made_of: Iterable[Form | None]) -> bool:
        """Whether a loop written out changes what these are."""
        return any(each is None or loop in self.forms.loops_of(each) for each in made_of)
