"""The machine instructions of a loop beside its body: what counts its rounds, and what comes before the first one.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0).
"""

from __future__ import annotations

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.facts.known import KnownNumber, KnownRange
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Compare
from autograder.simgpu.operations.statements import Break, If, Return, UpdateName
from autograder.simgpu.operations.steps import Block

LOOP = 12  # a round over a range of unknown length that uses its counter: Numba's iterator
CONSTANT_LOOP = 10  # of known length, where it is too long to be written out
NARROW_LOOP, UNSEEN_LOOP = 6, 5  # of 32-bit integers; of a range whose counter nobody uses
FIRST_ROUND, FOUR_AT_ONCE = 12, 20  # before such a loop; where four rounds are done at once
APART = ("numba.cuda.atomic.", "numba.cuda.sync", "numba.cuda.threadfence", "numba.cuda.shfl", "numba.cuda.cg.")


class LoopCosts:
    """Decides it for the loops of one kernel."""

    def __init__(self, found: Found, integers: Integers, placing: Placing) -> None:
        self.found = found
        self.integers = integers
        self.placing = placing

    def amount_a_round(self, loop: While) -> Form | None:
        """By how much a loop goes on each round, where the compiler counts its rounds beforehand, to do four at a time.

        So it does where a variable is compared with what the loop leaves alone, and goes on by an amount that is the same in
        each round, if nothing in the loop waits for other threads or leaves it. An amount that is known only at run time,
        such as the threads of the grid, takes a division.
        """
        condition = loop.condition
        if loop in self.integers.lengths or not isinstance(condition, Compare) or len(condition.kinds) != 1:
            return None
        sides = [self.found.values.get(each) for each in (condition.left, *condition.others)]
        advancing = [self.integers.goes_on_by(loop, each.form) for each in sides if isinstance(each, KnownNumber)]
        amounts = [each for each in advancing if each is not None]
        return amounts[0] if len(amounts) == 1 and self._goes_through(loop.body) else None

    def is_counter_of_four(self, op: UpdateName) -> bool:
        """Whether it advances the variable that a loop counts by, by a constant."""
        known, loop = self.found.values.get(op), self.placing.loops[-1] if self.placing.loops else None
        if loop not in self.placing.fours or not isinstance(known, KnownNumber) or loop is None:
            return False
        amount = self.integers.goes_on_by(loop, known.form)
        return amount is not None and not amount[1]

    def _goes_through(self, body: Operation) -> bool:
        """Whether a loop's rounds wait for no other thread, and none of them ends it."""
        for each in everything_in(body):
            if isinstance(each, (Break, Return, While)):
                return False
            if isinstance(each, FunctionCall):
                if self.found.callees.get(each, "").startswith(APART):
                    return False
                if not all(self._goes_through(one.body) for one in each.bodies.values()):
                    return False
        return True

    def _is_narrow(self, source: Operation) -> bool:
        """Whether Numba counts through a range with 32 bits: none of its bounds has more."""
        given = [self.found.values.get(each) for each in source.arguments] if isinstance(source, FunctionCall) else []
        dtypes = [each.dtype if isinstance(each, KnownNumber) else None for each in given]
        return bool(dtypes) and all(dtype is not None and dtype.itemsize <= 4 for dtype in dtypes)

    def is_left_apart(self, loop: For | While) -> bool:
        """Whether lanes may leave a loop in different rounds: they wait behind it then."""
        if isinstance(loop, While):
            differs = loop not in self.integers.lengths and may_differ(loop.condition, self.found)
        else:
            source = self.found.values.get(loop.source)
            differs = isinstance(source, KnownRange) and any(
                each.varies for each in (source.start, source.stop, source.step)
            )
        return differs or self._breaks_apart(loop.body)

    def _breaks_apart(self, block: Block) -> bool:
        """Whether some lanes may break out of the loop around, and others not."""
        for each in block.statements:
            if isinstance(each, If):
                arms = each.body, each.orelse
                ends = [end for arm in arms for end in arm.statements]
                if may_differ(each.condition, self.found) and any(isinstance(end, Break) for end in ends):
                    return True
                if any(map(self._breaks_apart, arms)):
                    return True
        return False

    def of_a_round(self, op: For) -> int:
        """The instructions of a `for` loop in each round, beside its body."""
        if op.is_written_out:
            return 0
        if op.is_cheap:
            return UNSEEN_LOOP
        if self.integers.values_of(op) is not None:
            return CONSTANT_LOOP
        return NARROW_LOOP if self._is_narrow(op.source) else LOOP

    def before(self, op: For) -> int:
        """Those before its first round."""
        if op.slots not in (LOOP, NARROW_LOOP, UNSEEN_LOOP):
            return 0
        return FIRST_ROUND + (FOUR_AT_ONCE if op.is_four_at_once else 0)


def may_differ(condition: Operation, found: Found) -> bool:
    """Whether a condition may hold for some threads and not for others."""
    known = found.values.get(condition)
    return not isinstance(known, KnownNumber) or known.varies
