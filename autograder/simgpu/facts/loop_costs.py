"""The machine instructions of a loop beside its body: those that count its rounds, and those before the first one.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.facts.known import KnownNumber, KnownRange
from autograder.simgpu.facts.liveness import Liveness
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.facts.written_out import is_left_at_the_end
from autograder.simgpu.operations.expressions import Constant, Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import Counted, For, InFours, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare
from autograder.simgpu.operations.statements import Assign, Break, If, Name, Return, UpdateName
from autograder.simgpu.operations.steps import Block, Expression


@dataclass(frozen=True)
class Beside:
    """What a `for` loop takes beside its body, by what it goes over."""

    each: int  # each round
    alone: int  # likewise, where rounds are not done four at a time
    arriving: int  # whoever comes to the loop
    before: int  # the first round, before it
    first: int = 0  # the first four, before them
    left: int = 0  # rounds left over from fours, before them
    single: int = 0  # each of these, in addition


WRITTEN_OUT = Beside(0, 0, 0, 0)
UNSEEN = Beside(5, 5, 13, 5, 0, 4, 5)  # the counter is not used
UNSEEN_COUNTS = Beside(1, 1, 10, 5, 0, 4, 5)  # likewise, where a branch counts something in four rounds done at once
UNSEEN_NARROW = Beside(3, 5, 6, 4, 0, 1, 4)  # likewise, of 32-bit integers
KNOWN_LENGTH = Beside(10, 12, 0, 4)  # but too long to be unrolled: Numba's iterator has two numbers of 64 bits
LEFT_IN_BETWEEN = Beside(10, 10, 0, 4)  # likewise, with a `break`
BY_STEPS = Beside(11, 13, 27, 45, 0, 9, 7)  # that are not constant: the length is a quotient
NARROW = Beside(5, 8, 12, 5, 2, 4, 5)  # of 32-bit integers
FROM_CONSTANT = Beside(11, 12, 11, 9, 8, 2, 6)  # a range whose first number is a constant, such as 0
FROM_ELSEWHERE = Beside(10, 12, 17, 9, 0, 7, 7)
BY_A_NUMBER = Beside(10, 12, 13, 9, 0, 7, 5)  # likewise, by steps of a constant above 1
FOUR_AT_ONCE, WITHIN = 15, 4  # before the first round, if four are done at once; in a loop, which knows how many already
INSIDE = 8  # less before it, of a `for` loop that is done so inside another one, which changes the number of its rounds
COUNTED = 6  # whoever comes to a `while` loop that is done so
FOUR_COUNTED, COUNTED_WITHIN = 13, 8  # before its first round; in a loop
DIVIDED, OUTSIDE = 41, 20  # in addition, by steps of the launch; of it, what a loop around does once for all its rounds
FIRST_COUNTED, LEFT_COUNTED = 9, 4  # before its first four; before rounds left over
ONLY_COUNTED = InFours(2, 5, 2, 5)  # a `while` loop whose variable counts its rounds and is read nowhere else
ONLY_COUNTED_WITHIN = InFours(2, 5, 3, 0, 3, 3)  # likewise in a loop that leaves their number alone
ONLY_COUNTED_BEFORE = 10  # before the first round of it
IN_SIXTEENS = 17  # before the first, where ptxas does four of its fours at a time
NO_MEMORY, WITH_MEMORY = 4, 14  # instructions of a round, at the most, that it does so with; with loads or stores in it
BRANCH = 1
# More in each round of a loop that ends with `if ...: break`, for its counter has a branch of its own; of a range whose
# counter nobody reads; of a `while` loop whose variable nobody reads.
LEFT_AT_THE_END, UNSEEN_LEFT_AT_THE_END, UNREAD_LEFT_AT_THE_END = 1, 3, -1
PAST = {ast.Lt: 0, ast.LtE: 1, ast.Gt: 0, ast.GtE: -1, ast.NotEq: 0}  # where a loop stops, after what it compares with
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.NotEq: ast.NotEq,
}  # fmt: skip
APART = ("numba.cuda.atomic.", "numba.cuda.sync", "numba.cuda.threadfence", "numba.cuda.shfl", "numba.cuda.cg.")
OF_MEMORY = ("numba.cuda.atomic.", "numba.cuda.sync")
WAITS = ("numba.cuda.threadfence", "numba.cuda.cg.")


class LoopCosts:
    """The loops of one kernel."""

    def __init__(self, found: Found, integers: Integers, placing: Placing, liveness: Liveness) -> None:
        self.found = found
        self.integers = integers
        self.placing = placing
        self.liveness = liveness

    def amount_a_round(self, loop: While) -> Form | None:
        """The amount by which a loop's variable grows each round, if the compiler does four rounds at a time.

        For that it computes the number of rounds beforehand. It does so if the condition compares a variable with a value
        that the loop does not change, if the variable grows by the same amount each round, and if nothing in the loop waits
        for other threads or leaves the loop. An amount known only at run time, such as the threads of the grid, takes a
        division; it does not divide where a thread's place goes on by the size of a block or of the grid, both of 32 bits.
        """
        condition = loop.condition
        if loop in self.integers.lengths or not isinstance(condition, Compare) or len(condition.kinds) != 1:
            return None
        sides = [self.found.values.get(each) for each in (condition.left, *condition.others)]
        advancing = [self.integers.goes_on_by(loop, each.form) for each in sides if isinstance(each, KnownNumber)]
        amounts = [each for each in advancing if each is not None]
        if len(amounts) != 1 or not self._goes_through(loop.body):
            return None
        if amounts[0][1] and (self._has_atomics(loop.body) or self._goes_from_place_to_place(loop, amounts[0])):
            return None
        return amounts[0]

    def _goes_from_place_to_place(self, loop: While, amount: Form) -> bool:
        """Whether a loop's variable is a place as `cuda.threadIdx.x` is, and `cuda.blockDim.x` is added to it."""
        condition = loop.condition
        assert isinstance(condition, Compare)
        moving = [self.found.values.get(each) for each in (condition.left, *condition.others)]
        goes_on = [isinstance(each, KnownNumber) and self.integers.goes_on_by(loop, each.form) == amount for each in moving]
        begins = (form for form, moves in zip(self._bounds(loop), goes_on, strict=True) if moves)
        return self._is_a_place(amount) and any(form is not None and self._is_a_place(form) for form in begins)

    def _is_a_place(self, form: Form) -> bool:
        return not form[0] and len(form[1]) == 1 and form[1][0][1] == 1 and self.placing.is_place(form[1][0][0])

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

    def of_for(self, op: For) -> None:
        """Notes what a `for` loop takes beside its body, but for rounds left over from fours: `left_over`."""
        beside = self._beside(op)
        op.slots = beside.each if op.is_four_at_once else beside.alone
        if is_left_at_the_end(op.body) and not op.is_four_at_once and beside is not WRITTEN_OUT:
            op.slots += UNSEEN_LEFT_AT_THE_END if beside is UNSEEN else LEFT_AT_THE_END
        op.arriving, op.before = beside.arriving, beside.before
        is_within = self._is_within(op)
        if op.is_four_at_once and beside.left:
            op.before += WITHIN if is_within else FOUR_AT_ONCE - self._less_inside(op, beside)
        if is_within and beside is BY_STEPS:
            op.before -= OUTSIDE

    def of_while(self, op: While, amount: Form | None) -> None:
        """Likewise of a `while` loop; `amount`: by which its variable grows, if four rounds are done at a time."""
        is_written_out = op in self.integers.lengths
        op.slots = 0 if is_written_out else BRANCH
        if op in self.integers.left_early:
            op.slots = BRANCH + self._told_behind(op)
        if not is_written_out and is_left_at_the_end(op.body):
            op.slots += LEFT_AT_THE_END if self._reads_its_variable(op) else UNREAD_LEFT_AT_THE_END
        if amount is None:
            op.arriving = op.before = 0
            return
        if self.placing.in_common(op.slots + op.condition.slots):
            op.slots = op.condition.slots = 0
        op.arriving = COUNTED
        is_within = self._is_within(op)
        op.before = COUNTED_WITHIN if is_within else FOUR_COUNTED
        if self._is_only_counted(op):
            op.before = ONLY_COUNTED_BEFORE
        if amount[1]:
            op.before += DIVIDED - (OUTSIDE if is_within else 0)

    def _told_behind(self, op: While) -> int:
        """The variables of an unrolled loop that are a number in each round, and asked for behind it: each is moved."""
        behind = self.liveness.behind.get(op, frozenset())
        keys = {number: self.integers.forms.key_of(number) for number in self.found.ends.get(op, {})}
        return sum(
            isinstance(key, tuple) and key[2] in behind and self.integers.constants_of(number) is not None
            for number, key in keys.items()
        )

    def left_over(self, op: For | While, shared: int, amount: Form | None) -> InFours | None:
        """What the rounds take that are done four at a time, `shared` in all, and those left over; None: there are none.

        Inside a loop that leaves their number alone, those left over are written out one after another, and share their
        addresses: of machine code of some twenty loops, one takes two thirds of a round (of `while`, three quarters), and
        two and three alike take two and a half (two).
        """
        if isinstance(op, For):
            beside = self._beside(op)
            if not op.is_four_at_once or not beside.left:
                return None
            if not self._is_within(op):
                return InFours(beside.first, 0, beside.left, beside.single)
            in_all = op.slots + _size(op.body)
            return InFours(beside.first, 0, -(in_all // 3), 0, in_all // 2, -(in_all // 2))
        if amount is None:
            return None
        if self._is_only_counted(op):
            return self._of_only_counted(op)
        first = 0 if amount[1] else FIRST_COUNTED
        if not self._is_within(op):
            return InFours(first, shared, LEFT_COUNTED, shared - 1)
        size = _size(op.body)
        return InFours(first, shared, shared - (shared + size) // 4, 0, 0, -size)

    def _is_only_counted(self, loop: While) -> bool:
        """Whether a loop that does four rounds at a time reads its variable nowhere but to count them."""
        counted = self.counted(loop)
        return counted is not None and isinstance(counted.step, Constant) and not self._reads_its_variable(loop)

    def _reads_its_variable(self, loop: While) -> bool:
        """Whether a loop's variable is read elsewhere than in its condition and where it is advanced."""
        counted = self.counted(loop) if isinstance(loop.condition, Compare) else None
        variable = counted and (counted.condition.left if counted.is_left else counted.condition.others[0])
        if not isinstance(variable, Local):
            return True
        reads = [each for each in everything_in(loop.body) if isinstance(each, Local) and each.name == variable.name]
        return len(reads) != 1 or variable.name in self.liveness.behind.get(loop, ())

    def _of_only_counted(self, loop: While) -> InFours:
        """Such a loop's rounds; ptxas does four fours of short ones at a time, and of longer ones that wait for memory."""
        size, waits = self._size_in_fours(loop.body, loop.held_loads)
        counted = ONLY_COUNTED_WITHIN if self._is_within(loop) else ONLY_COUNTED
        if not 0 < size <= (WITH_MEMORY if waits else NO_MEMORY):
            return counted
        return replace(counted, first=counted.first + IN_SIXTEENS, shared=1)

    def _size_in_fours(self, body: Block, held: frozenset[Operation]) -> tuple[int, bool]:
        """The instructions of a round, 0 where it has branches, and whether some of them go to memory."""
        found, waits = 0, False
        branches = [each for each in everything_in(body) if isinstance(each, (If, For, While))]
        if any(isinstance(each, (For, While)) or not each.short_arms for each in branches):
            return 0, False
        in_arms = {part for each in branches for arm in (each.body, each.orelse) for part in everything_in(arm)}
        for each in everything_in(body):
            if each in held:
                continue
            found += each.short_arms if isinstance(each, If) else 0 if each in in_arms else each.slots
            waits = waits or each in self.found.reached and not each.leaves_no_load
            waits = waits or isinstance(each, FunctionCall) and self.found.callees.get(each, "").startswith(OF_MEMORY)
        return found, waits

    def _less_inside(self, loop: For, beside: Beside) -> int:
        """The instructions before a loop that four rounds at a time take less where another one goes round it.

        None where that one's rounds are known and this one begins with a constant: `for k in range(9): for j in range(k)`.
        """
        around = [each for each in self.placing.loops if each is not loop and not self.integers.is_written_out(each)]
        if not around:
            return 0
        is_known = isinstance(around[-1], For) and self.integers.values_of(around[-1]) is not None
        return 0 if is_known and beside is FROM_CONSTANT else INSIDE

    def _is_within(self, loop: For | While) -> bool:
        """Whether a loop stands in another one that is not written out and leaves the number of its rounds alone."""
        around = [each for each in self.placing.loops if each is not loop and not self.integers.is_written_out(each)]
        if isinstance(loop, For) and self._is_of_each_thread(loop):
            return False
        return bool(around) and self.placing.stays(self._bounds(loop), around[-1])

    def _is_of_each_thread(self, loop: For) -> bool:
        """Whether the number of rounds is a quotient that threads have each for itself: `range(i, n, step)`.

        No loop around has it computed before it, as it stands behind a branch.
        """
        source = self.found.values.get(loop.source)
        if not isinstance(source, KnownRange) or source.step.constant is not None or not source.start.varies:
            return False
        distance = self.integers.forms.add(source.stop.form, source.start.form, -1)
        return not {number for number, _ in source.start.form[1]}.isdisjoint(number for number, _ in distance[1])

    def _bounds(self, loop: For | While) -> list[Form | None]:
        """What the number of a loop's rounds follows from."""
        if isinstance(loop, For):
            known = self.found.values.get(loop.source)
            return [each.form for each in (known.start, known.stop)] if isinstance(known, KnownRange) else [None]
        found: list[Form | None] = []
        begins, condition = self.found.begins.get(loop, {}), loop.condition
        for each in (condition.left, *condition.others) if isinstance(condition, Compare) else ():
            known = self.found.values.get(each)
            form = known.form if isinstance(known, KnownNumber) else None
            for number, _ in form[1] if form is not None else ():
                key = self.integers.forms.key_of(number)
                if number in self.found.steps and isinstance(key, tuple) and len(key) > 2:
                    begin = begins.get(key[2])
                    form = begin.form if isinstance(begin, KnownNumber) else None
            found.append(form)
        return found

    def _beside(self, op: For) -> Beside:
        if op.is_written_out:
            return WRITTEN_OUT
        if op.is_cheap:
            if op.is_four_at_once and self._begins_with_a_number(op):
                return UNSEEN_COUNTS
            return UNSEEN_NARROW if self._is_narrow(op.source) else UNSEEN
        if self.integers.values_of(op) is not None:
            return LEFT_IN_BETWEEN if any(isinstance(each, Break) for each in own_statements(op.body)) else KNOWN_LENGTH
        if self._is_strided(op.source):
            return BY_STEPS
        if self._is_narrow(op.source):
            return NARROW
        known = self.found.values.get(op.source)
        if not isinstance(known, KnownRange) or known.start.constant is not None:
            return FROM_CONSTANT
        return BY_A_NUMBER if (known.step.constant or 0) > 1 else FROM_ELSEWHERE

    def _begins_with_a_number(self, loop: For) -> bool:
        """Whether an integer variable that a loop changes is a constant before it."""
        begins = self.found.begins.get(loop, {})
        for number in self.found.ends.get(loop, {}):
            key = self.integers.forms.key_of(number)
            begin = begins.get(key[2]) if isinstance(key, tuple) and len(key) > 2 else None
            if isinstance(begin, KnownNumber) and begin.constant is not None:
                return True
        return False

    def _is_strided(self, source: Operation) -> bool:
        """Whether a range has a step that is known at run time only: its length is then a quotient."""
        known = self.found.values.get(source)
        return isinstance(known, KnownRange) and known.step.constant is None and not self._is_narrow(source)


def _size(body: Block) -> int:
    """The instructions of a body without branches; 0 of others."""
    found = 0
    for each in everything_in(body):
        if isinstance(each, (If, For, While)):
            return 0
        found += each.slots
    return found


def own_statements(block: Block) -> Iterator[Operation]:
    """The statements of a loop, without those of loops within it."""
    for each in block.statements:
        yield each
        if isinstance(each, If):
            yield from own_statements(each.body)
            yield from own_statements(each.orelse)


def may_differ(condition: Operation, found: Found) -> bool:
    """Whether a condition may hold for some threads and not for others."""
    known = found.values.get(condition)
    return not isinstance(known, KnownNumber) or known.varies
