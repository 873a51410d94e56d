"""The machine instructions of a loop beside its body: those that count its rounds, and those before the first one.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0).
"""

from __future__ import annotations

import ast

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.facts.known import KnownNumber, KnownRange
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import Counted, For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare
from autograder.simgpu.operations.statements import Assign, Break, If, Name, Return, UpdateName
from autograder.simgpu.operations.steps import Block, Expression

LOOP = 12  # a round over a range of unknown length that uses its counter: Numba's iterator
CONSTANT_LOOP = 10  # of known length, but too long to be unrolled
NARROW_LOOP, UNSEEN_LOOP = 6, 5  # of 32-bit integers; over a range whose counter is not used
UNSEEN_COUNTS, BEFORE_COUNTS = 1, 30  # likewise, where a branch counts something in four rounds that are done at once
STRIDED_LOOP, DIVIDED_BY_STEP = 11, 50  # by steps that are not constant: a round, and beside what stands before any loop
COUNTERS = 4  # before a loop of known length: Numba's iterator has two numbers of 64 bits
FIRST_ROUND, FOUR_AT_ONCE = 12, 20  # before such a loop; in addition, if four rounds are done at once
PAST = {ast.Lt: 0, ast.LtE: 1, ast.Gt: 0, ast.GtE: -1, ast.NotEq: 0}  # where a loop stops, after what it compares with
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.NotEq: ast.NotEq,
}  # fmt: skip
APART = ("numba.cuda.atomic.", "numba.cuda.sync", "numba.cuda.threadfence", "numba.cuda.shfl", "numba.cuda.cg.")
WAITS = ("numba.cuda.syncthreads", "numba.cuda.threadfence", "numba.cuda.shfl", "numba.cuda.cg.")


class LoopCosts:
    """The loops of one kernel."""

    def __init__(self, found: Found, integers: Integers, placing: Placing) -> None:
        self.found = found
        self.integers = integers
        self.placing = placing

    def amount_a_round(self, loop: While) -> Form | None:
        """The amount by which a loop's variable grows each round, if the compiler does four rounds at a time.

        For that it computes the number of rounds beforehand. It does so if the condition compares a variable with a value
        that the loop does not change, if the variable grows by the same amount each round, and if nothing in the loop waits
        for other threads or leaves the loop. An amount known only at run time, such as the threads of the grid, takes a
        division.
        """
        condition = loop.condition
        if loop in self.integers.lengths or not isinstance(condition, Compare) or len(condition.kinds) != 1:
            return None
        sides = [self.found.values.get(each) for each in (condition.left, *condition.others)]
        advancing = [self.integers.goes_on_by(loop, each.form) for each in sides if isinstance(each, KnownNumber)]
        amounts = [each for each in advancing if each is not None]
        if len(amounts) != 1 or not self._goes_through(loop.body):
            return None
        return None if amounts[0][1] and self._has_atomics(loop.body) else amounts[0]

    def _has_atomics(self, body: Operation) -> bool:
        """Whether a loop has atomics: then the compiler divides by no step for it."""
        calls = [each for each in everything_in(body) if isinstance(each, FunctionCall)]
        return any(self.found.callees.get(each, "").startswith("numba.cuda.atomic.") for each in calls)

    def counted(self, loop: While) -> Counted | None:
        """How the rounds of a loop that is done four at a time follow from its first condition; None where none can tell.

        Its variable is a name, which one statement of the body advances.
        """
        condition = loop.condition
        assert isinstance(condition, Compare)
        asked = condition.kinds[0]
        for variable, kind in ((condition.left, asked), (condition.others[0], MIRRORED.get(asked))):
            if not isinstance(variable, Local) or kind not in PAST:
                continue
            for each in loop.body.statements:
                way = self._advances(each, variable.name)
                if way is not None:
                    return Counted(condition, variable is condition.left, *way, PAST[kind])
        return None

    def _advances(self, statement: Operation, name: str) -> tuple[Expression, bool] | None:
        """By what a statement advances a variable, and whether that is taken away."""
        if isinstance(statement, UpdateName) and statement.name == name and statement.kind in (ast.Add, ast.Sub):
            return statement.operand, statement.kind is ast.Sub
        if not isinstance(statement, Assign) or not isinstance(statement.operand, Binary):
            return None
        added, (target,) = statement.operand, statement.targets[:1]
        if not isinstance(target, Name) or target.name != name or added.kind not in (ast.Add, ast.Sub):
            return None
        if isinstance(added.left, Local) and added.left.name == name:
            return added.right, added.kind is ast.Sub
        if isinstance(added.right, Local) and added.right.name == name and added.kind is ast.Add:
            return added.left, False
        return None

    def is_counter_of_four(self, op: UpdateName) -> bool:
        """Whether an update adds a constant to the variable of a loop that is done four rounds at a time."""
        known, loop = self.found.values.get(op), self.placing.loops[-1] if self.placing.loops else None
        if loop not in self.placing.fours or not isinstance(known, KnownNumber) or loop is None:
            return False
        amount = self.integers.goes_on_by(loop, known.form)
        return amount is not None and not amount[1]

    def _goes_through(self, body: Operation, *, is_called: bool = False) -> bool:
        """Whether no round waits for other threads or ends the loop; `is_called`: it is a function's, which may return."""
        for each in everything_in(body):
            if isinstance(each, (Break, While)) or isinstance(each, For) and not each.is_written_out:
                return False
            if isinstance(each, Return) and not is_called:
                return False
            if isinstance(each, FunctionCall):
                if self.found.callees.get(each, "").startswith(WAITS):
                    return False
                if not all(self._goes_through(one.body, is_called=True) for one in each.bodies.values()):
                    return False
        return True

    def _is_narrow(self, source: Operation) -> bool:
        """Whether Numba counts through a range with 32 bits, since none of its bounds has more."""
        given = [self.found.values.get(each) for each in source.arguments] if isinstance(source, FunctionCall) else []
        dtypes = [each.dtype if isinstance(each, KnownNumber) else None for each in given]
        return bool(dtypes) and all(dtype is not None and dtype.itemsize <= 4 for dtype in dtypes)

    def is_left_apart(self, loop: For | While) -> bool:
        """Whether lanes may leave a loop in different rounds: they then wait for each other after it."""
        if isinstance(loop, While):
            differs = loop not in self.integers.lengths and may_differ(loop.condition, self.found)
        else:
            source = self.found.values.get(loop.source)
            differs = isinstance(source, KnownRange) and any(
                each.varies for each in (source.start, source.stop, source.step)
            )
        return differs or self._breaks_apart(loop.body)

    def _breaks_apart(self, block: Block) -> bool:
        """Whether some lanes may break out of the loop while others go on."""
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
        """The instructions that a `for` loop takes in each round, beside its body."""
        if op.is_written_out:
            return 0
        if op.is_cheap:
            return UNSEEN_COUNTS if op.is_four_at_once and self._counts(op) else UNSEEN_LOOP
        if self.integers.values_of(op) is not None:
            return CONSTANT_LOOP
        if self._is_strided(op.source):
            return STRIDED_LOOP
        return NARROW_LOOP if self._is_narrow(op.source) else LOOP

    def _counts(self, loop: For) -> bool:
        """Whether a branch in a loop adds a constant to an integer, as what counts hits does."""
        for each in everything_in(loop.body):
            arms = (each.body, each.orelse) if isinstance(each, If) else ()
            for statement in (statement for arm in arms for statement in arm.statements):
                known = self.found.values.get(statement.operand) if isinstance(statement, UpdateName) else None
                if isinstance(known, KnownNumber) and known.constant is not None:
                    return True
        return False

    def _is_strided(self, source: Operation) -> bool:
        """Whether a range has a step that is known at run time only: its length is then a quotient."""
        known = self.found.values.get(source)
        return isinstance(known, KnownRange) and known.step.constant is None and not self._is_narrow(source)

    def before(self, op: For) -> int:
        """The instructions that it takes before its first round."""
        if op.slots == CONSTANT_LOOP:
            return COUNTERS
        if op.slots == UNSEEN_COUNTS:
            return BEFORE_COUNTS
        if op.slots == STRIDED_LOOP:
            return FIRST_ROUND + DIVIDED_BY_STEP + (FOUR_AT_ONCE if op.is_four_at_once else 0)
        if op.slots not in (LOOP, NARROW_LOOP, UNSEEN_LOOP):
            return 0
        return FIRST_ROUND + (FOUR_AT_ONCE if op.is_four_at_once else 0)


def may_differ(condition: Operation, found: Found) -> bool:
    """Whether a condition may hold for some threads and not for others."""
    known = found.values.get(condition)
    return not isinstance(known, KnownNumber) or known.varies
