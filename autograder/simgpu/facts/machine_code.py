"""How many machine instructions each operation becomes. `threads_per_instruction` and the issue time are weighed by this.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0):

- Numba's integers have 64 bits and take two instructions; an index of unknown sign is wrapped first.
- A value or address computed earlier on the same path costs nothing. One that a loop does not change is computed once,
  before the loop (`once`, and the loop's `hoisted`). The counter of an unrolled loop is a constant.
- Divisions and library functions are many instructions.
- A condition of several comparisons without loads is computed whole, by all lanes.

Addresses are in addresses.py, operators in arithmetic.py, calls in calls.py, loops in loop_costs.py, arms without a jump in
short_arms.py.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.facts.addresses import Addresses
from autograder.simgpu.facts.arithmetic import UNSIGNED_QUOTIENT, Arithmetic
from autograder.simgpu.facts.calls import Calls
from autograder.simgpu.facts.copies import Copies
from autograder.simgpu.facts.float64_pipe import Float64Pipe
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.halves import everything_called
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.known import KnownNumber, KnownRecord, Unknown
from autograder.simgpu.facts.literals import is_literal, literal_value
from autograder.simgpu.facts.liveness import Liveness
from autograder.simgpu.facts.loop_costs import BRANCH, LoopCosts, may_differ
from autograder.simgpu.facts.placing import Asked, Placing
from autograder.simgpu.facts.rules import Rules
from autograder.simgpu.facts.short_arms import ShortArms, is_empty
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.expressions import Constant, Local
from autograder.simgpu.operations.function_calls import FunctionCall, everything_of
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Element,
    If,
    Raise,
    Return,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block

START = 1  # before the first statement
RECIPROCAL, OF_UNSIGNED = 14, 5  # of what divides an integer, and an unsigned one of 64 bits
CONVERTED = 1  # a number of another type than the array's, before it is stored
EXIT = 1
MEETING = 1  # before a branch after which lanes meet again; each side waits there with one more instruction
FOUR_ROUNDS = 3  # of four rounds at a time, beside the counter, its comparison and the addresses
SHORT_CONDITION = 8  # instructions, at the most, of an operand of `and` that all lanes compute
BARRIERS = "numba.cuda.sync"
LEAVING = (Return, Break, Raise)  # statements after which a lane does not come to the next round
COMPUTES = (Binary, Compare, Unary, UpdateName, UpdateElement, FunctionCall)


class MachineCode:
    """The operations of one kernel."""

    def __init__(self, found: Found, forms: Forms, rules: Rules, written_out: WrittenOut) -> None:
        self.found = found
        self.forms = forms
        self.last = rules.last
        self.arms = rules.arms
        self.kernel: Function | None = None
        self.integers = Integers(found, forms, written_out)
        self.placing = Placing(found, forms, self.integers)
        self.arithmetic = Arithmetic(found, self.integers)
        self.float64_pipe = Float64Pipe(found, self.arithmetic)
        self.addresses = Addresses(found, self.integers, self.placing)
        self.calls = Calls(found, self.arithmetic, self.addresses, self.placing)
        self.liveness = Liveness()
        self.loop_costs = LoopCosts(found, self.integers, self.placing, self.liveness)
        self.copies = Copies(found, self.liveness)
        self.short_arms = ShortArms(found, forms, self.integers, self.placing)
        self.in_addresses = frozenset(
            op for each in found.reached.values() if self.addresses.is_strided(each) for op in each.made_by
        )
        self.of_all: dict[Operation, Way] = {}  # by `and` (`or`): what is known where all operands (none) hold
        self.asked_by: dict[Junction, If] = {}  # by `and` or `or`: the branch whose condition it is
        self.operands: set[Operation] = set()  # of arithmetic and of functions: a sign is taken into account there
        self.alone: set[Operation] = set()  # statements that are all of an arm
        self.with_barriers: dict[For | While, bool] = {}

    def of_kernel(self, body: Block) -> None:
        self.kernel = body.function
        self.arithmetic.begin(body)
        self.liveness.of_function(body)
        self.block(body, Way())
        ends = body.statements[-1] if body.statements else None
        body.slots = START + self.addresses.describes
        body.once = 0 if ends in self.last or isinstance(ends, Return) else EXIT  # for the threads that get to the end

    def block(self, block: Block, way: Way) -> None:
        """Notes the instructions of statements. What stands behind `continue` in an arm is the other arm."""
        block.slots = exits = arms = 0
        for statement in block.statements:
            self.go_through(statement, way)
            if not self.placing.loops or not isinstance(statement, If) or not _may_end_early(statement):
                continue
            if self.integers.is_settled(statement.condition):
                continue
            exits += 1
            self.placing.conditions += 1
            is_arm = _leaves(statement.body, (Continue,))
            arms += is_arm
            self.placing.arms += is_arm
        self.placing.conditions -= exits
        self.placing.arms -= arms

    def go_through(self, op: Operation, way: Way) -> None:
        """Notes the instructions of an operation and of its parts, in the order in which they are carried out."""
        if isinstance(op, If):
            self._branch(op, way)
        elif isinstance(op, (For, While)):
            self._loop(op, way)
        elif isinstance(op, Block):
            self.block(op, way)
        elif isinstance(op, Selection):
            self._selection(op, way)
        elif isinstance(op, Junction):
            self._junction(op, way)
        else:
            if isinstance(op, COMPUTES):
                self.operands.update(op.parts())
            if isinstance(op, UpdateElement):
                op.slots = op.once = 0
                self.addresses.updates[op.reached] = op
            for each in op.parts():
                if not isinstance(each, Block):
                    self.go_through(each, way)
            self._one(op, way)
            if isinstance(op, COMPUTES):
                op.double_slots = self.float64_pipe.of(op)
                self._read(op, way)

    def _branch(self, op: If, way: Way) -> None:
        if isinstance(op.condition, Junction):
            self.asked_by[op.condition] = op
        self.go_through(op.condition, way)
        varies = may_differ(op.condition, self.found)
        leaves = _leaves(op.body) or _leaves(op.orelse)
        has_else = not is_empty(op.orelse)
        is_guard = op in self.last and not has_else
        is_met = varies and not (_leaves(op.body, LEAVING) or _leaves(op.orelse, LEAVING)) and op not in self.last
        op.slots, op.behind_body, op.behind_orelse = BRANCH, int(is_met), int(is_met)
        if has_else and not leaves and op not in self.last:
            op.behind_body += 1
        if is_met:
            op.slots += MEETING
        if op in self.last:
            op.behind_body = self._exits(op.body)
            op.behind_orelse = self._exits(op.orelse) if has_else else 0
        for arm in (op.body, op.orelse):
            if len(arm.statements) == 1:
                self.alone.add(arm.statements[0])
        if self.integers.is_settled(op.condition):
            op.slots = op.behind_body = op.behind_orelse = 0
        begun, beside = self._begun_in_both(op), op.slots
        if begun is not None:
            self.addresses.of_element(op, begun, way)
        address, op.slots = op.slots - beside, beside  # lanes compute it even if they do not branch
        one, other = way.copy(), way.copy()
        self.integers.note_bounds(op.condition, True, one)
        self.integers.note_bounds(op.condition, False, other)
        if isinstance(op.condition, Junction) and op.condition in self.of_all:
            of_all = one if op.condition.is_and else other
            of_all.done |= self.of_all[op.condition].done
        is_open_arm = not self.integers.is_settled(op.condition)
        self.placing.arms += is_open_arm
        in_a_loop = is_open_arm and bool(self.placing.loops)
        self.placing.conditions += in_a_loop
        self.block(op.body, one)
        self.block(op.orelse, other)
        self.placing.arms -= is_open_arm
        self.placing.conditions -= in_a_loop
        done_before = op.once = op.double_slots = 0
        for ours, theirs in self.arms.done_before(op):
            done_before += ours.slots
            op.double_slots += ours.double_slots
            op.once += ours.once
            for loop in self.placing.loops if ours.once else ():
                if ours in loop.hoisted:
                    loop.hoisted.add(op)
            ours.slots = ours.once = theirs.slots = theirs.once = 0
        op.short_arms, op.is_short_for_else = 0, False
        is_settled = self.integers.is_settled(op.condition)
        is_open = not (leaves or is_guard or is_settled or self._is_asked_in_parts(op))
        if is_open and self.short_arms.is_short(op.orelse, op.body):
            if self.short_arms.is_short(op.body, op.orelse):
                op.slots = op.behind_body = op.behind_orelse = 0
                size = self.short_arms.size(op.body) + self.short_arms.size(op.orelse)
                op.short_arms = max(1, size + self.short_arms.moved(op.body, op.orelse))
                op.short_arms += self.short_arms.selected(op.body, op.orelse)
                if self.short_arms.is_extreme(op):
                    op.condition.slots = op.condition.once = 0
            if op in self.last and has_else:
                op.slots, op.is_short_for_else, op.behind_body, op.behind_orelse = BRANCH, True, EXIT, 0
                op.short_arms = max(1, self.short_arms.size(op.orelse))
        apart = self.short_arms.numbers_apart(op.body, op.orelse) if is_open else 0
        if apart and op not in self.last:
            op.slots = op.behind_body = op.behind_orelse = 0
            op.short_arms = self.short_arms.size(op.body) + apart
        op.slots += self._compared_with_0(op.condition) + address + done_before
        op.slots += 0 if is_settled else self.found.numbers_kept.get(op, 0)
        if op.short_arms:
            self._move_before(op)
        if _leaves(op.body):
            way.done, way.least = other.done, other.least
        elif _leaves(op.orelse):
            way.done, way.least = one.done, one.least
        else:
            way.done |= one.done & other.done

    def _compared_with_0(self, condition: Operation) -> int:
        """The instructions that ask whether an integer is 0, where one stands for a condition: `while v`, `if v & 1`."""
        while isinstance(condition, Unary) and condition.kind is ast.Not:
            condition = condition.operand
        known = self.found.values.get(condition)
        if not isinstance(known, KnownNumber) or known.dtype is None or known.dtype.kind not in "iu":
            return 0
        if isinstance(condition, (Compare, Junction)) or self.integers.is_settled(condition):
            return 0
        is_masked = isinstance(condition, Binary) and condition.kind is ast.BitAnd and self.arithmetic.halves.fits(condition)
        return 0 if is_masked else self.arithmetic.width_compared(condition)  # what masks 32 bits sets the predicate too

    def _move_before(self, op: If) -> None:
        """Lets a branch without a jump take what its arms need from before the loops that go round."""
        for each in (*everything_in(op.body), *everything_in(op.orelse)):
            loops = [loop for loop in self.placing.loops if each.once and each in loop.hoisted]
            if loops and not all(map(self.integers.is_written_out, loops)):
                op.once += each.once
                for loop in loops:
                    loop.hoisted.add(op)

    def _begun_in_both(self, op: If) -> Reached | None:
        """The element that both arms store to before anything else, if its address is computed before the branch.

        An address of one index goes back into both arms: in a loop, and where one of them stores what it has to compute.
        """
        if self._is_asked_in_parts(op):
            return None
        begun = [each for arm in (op.body, op.orelse) for each in self._begun(arm)]
        if len(begun) < 2 or not _is_same(begun[0][0], begun[1][0]):
            return None
        (element, one), (_, other) = begun
        moves = [each for each in element.indices if each is None or each[1]]
        is_computed = isinstance(one, Binary) or isinstance(other, Binary)
        goes_round = any(not self.integers.is_written_out(each) for each in self.placing.loops)
        return element if len(moves) > 1 or not (is_computed or goes_round) else None

    def _begun(self, arm: Block) -> Iterator[tuple[Reached, Operation]]:
        """The element that an arm stores to before anything else, and the value."""
        first = arm.statements[0] if arm.statements else None
        if isinstance(first, Assign) and len(first.targets) == 1 and self._is_there(first.operand):
            (target,) = first.targets
            if isinstance(target, Element) and target.reached in self.found.reached:
                yield self.found.reached[target.reached], first.operand

    def _is_there(self, part: Operation) -> bool:
        """Whether a value takes one instruction or none: a number, a variable, an element in a register, a sum of reals."""
        if isinstance(part, Binary):
            known = self.found.values.get(part)
            is_real = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind == "f"
            return is_real and all(not isinstance(each, Binary) and self._is_there(each) for each in part.parts())
        return isinstance(part, (Constant, Local)) or isinstance(part, Subscript) and part.leaves_no_load

    def _exits(self, arm: Block) -> int:
        """The instruction that ends an arm after which the kernel ends, unless a branch inside ends it."""
        end = arm.statements[-1] if arm.statements else None
        return 0 if end in self.last or isinstance(end, Return) else EXIT

    def _is_asked_in_parts(self, op: If) -> bool:
        """Whether lanes branch within a condition, since not all of them compute each operand."""
        return isinstance(op.condition, Junction) and op.condition.plain < len(op.condition.operands) - 1

    def _selection(self, op: Selection, way: Way) -> None:
        self.go_through(op.condition, way)
        op.slots = 0 if self.integers.is_settled(op.condition) else self.arithmetic.width(op)
        self.go_through(op.yes, way.copy())
        self.go_through(op.no, way.copy())
        op.short_arms = 0
        if self.integers.is_settled(op.condition):
            return
        if self.short_arms.is_short(op.yes, op.no) and self.short_arms.is_short(op.no, op.yes):
            op.short_arms = self.short_arms.size(op.yes) + self.short_arms.size(op.no)

    def _junction(self, op: Junction, way: Way) -> None:
        """`and` or `or`: all lanes compute the operands that need no memory and are short."""
        inner = way
        plain: list[int] = []
        for place, each in enumerate(op.operands):
            if place:
                inner = inner.copy()
            self.go_through(each, inner)
            if self._decides(each, op):
                break
            if place and len(plain) == place - 1 and self._is_plain(each) and not self._is_used_behind(each, op):
                plain.append(self.short_arms.size(each))
                way.done |= inner.done
            inner = inner if place else inner.copy()  # what it says holds for the operands behind it alone
            self.integers.note_bounds(each, op.is_and, inner)
        self.of_all[op] = inner
        op.slots, op.plain, op.part_slots = 0, len(plain), BRANCH
        op.plain_slots = sum(plain) + self._joined(op)
        branch = self.asked_by.get(op)
        op.is_met_behind = branch is not None and not (op.is_and and is_empty(branch.orelse))

    def _joined(self, op: Junction) -> int:
        """The instructions that make one predicate of those that all lanes ask, in each round of an unrolled loop."""
        asked: list[Asked] = []
        for each in op.operands[: op.plain + 1]:
            known = self.found.values.get(each)
            if isinstance(each, Compare) and isinstance(known, KnownNumber) and not self.integers.is_settled(each):
                asked.append(Asked(known.form, len(each.kinds), each.slots > 0))
        return self.placing.joined(asked)

    def _decides(self, operand: Operation, op: Junction) -> bool:
        """Whether an operand is known at compile time, and nothing behind it is asked for."""
        known = self.found.values.get(operand)
        constant = known.constant if isinstance(known, KnownNumber) else None
        return constant is not None and bool(constant) != op.is_and

    def _is_plain(self, part: Operation) -> bool:
        """Whether all lanes compute an operand: it reads no memory and takes few instructions."""
        size = 0
        for each in everything_of(part):
            if each in self.found.reached and not each.leaves_no_load or isinstance(each, (Selection, If, For, While)):
                return False
            if isinstance(each, Junction) and each.plain < len(each.operands) - 1:
                return False
            if isinstance(each, FunctionCall) and each.slots + each.once > 4:
                return False
            if not isinstance(each, Compare):
                size += each.slots + each.once
        return size <= SHORT_CONDITION

    def _is_used_behind(self, part: Operation, condition: Junction) -> bool:
        """Whether the arm of a branch uses a value that this operand computes first: the operand then has its own branch."""
        branch = self.asked_by.get(condition)
        made = {self.integers.bare(each) for each in map(self._sum_of, everything_in(part)) if each is not None}
        if branch is None or not made:
            return False
        return any(self.integers.bare(self._sum_of(each)) in made for each in everything_in(branch.body))

    def _sum_of(self, op: Operation) -> Form | None:
        """The form of integer arithmetic, if its value is no constant."""
        known = self.found.values.get(op)
        if not isinstance(op, Binary) or not isinstance(known, KnownNumber) or not known.form[1]:
            return None
        return known.form

    def _loop(self, op: For | While, way: Way) -> None:
        if isinstance(op, For):
            self.go_through(op.source, way)
        inner = way.copy()
        self.placing.loops.append(op)
        arms, self.placing.arms = self.placing.arms, 0
        conditions = self.placing.conditions
        op.hoisted = set()
        op.is_met_behind = self.loop_costs.is_left_apart(op)
        before = self.integers.states
        self.integers.enter(op)
        amount = self.loop_costs.amount_a_round(op) if isinstance(op, While) else None
        shared, around = self.arithmetic.in_four_rounds, self.arithmetic.in_a_loop
        if not self.integers.is_written_out(op):
            self.placing.conditions = 0
            self.arithmetic.in_four_rounds = amount is not None or isinstance(op, For) and op.is_four_at_once
            self.arithmetic.in_a_loop = True
        if isinstance(op, While):
            op.counted = None if amount is None else self.loop_costs.counted(op)
            if amount is not None:
                self.placing.fours[op] = FOUR_ROUNDS
            known = set(inner.done)
            self.go_through(op.condition, inner)
            if op not in self.integers.lengths:  # it stands in two places, and neither is known to come before a round
                made = {key for key in inner.done - known if not _is_of_integers(key)}
                inner.done -= {key for key in made if self.integers.changes_in(op, key)}
            self.integers.note_bounds(op.condition, True, inner.of_rounds)
            self.loop_costs.of_while(op, amount)
            op.slots += 0 if op in self.integers.lengths else self._compared_with_0(op.condition)
        else:
            self.loop_costs.of_for(op)
        op.arriving += op.is_met_behind
        self.block(op.body, inner)
        if not self.integers.is_written_out(op) and not self.arithmetic.in_four_rounds:
            copies = self.copies.of_round(op)
            op.slots += copies
            op.before -= copies if isinstance(op, While) else 0  # its condition is asked once more than it goes round
        op.fours = self.loop_costs.left_over(op, self.placing.fours.pop(op, 0), amount)
        self.integers.leave(op, before)
        self.arithmetic.in_four_rounds, self.arithmetic.in_a_loop = shared, around
        self.placing.loops.pop()
        self.placing.arms, self.placing.conditions = arms, conditions
        is_gone_through = isinstance(op, For) and self.integers.is_written_out(op) and bool(self.integers.values_of(op))
        if is_gone_through and not _may_end_early(op.body):
            way.done |= {self.integers.round_by_round(key) for key in inner.done - way.done}
        self.block(op.orelse, way)

    def _one(self, op: Operation, way: Way) -> None:
        """Notes the instructions of an operation whose parts are done with."""
        self.arithmetic.in_rounds = self.placing.is_in_rounds()
        self._by_kind(op, way)
        if self.arithmetic.before_rounds:
            self.placing.before_rounds(self.arithmetic.before_rounds)
            self.arithmetic.before_rounds = 0
        self.placing.in_common(self.arithmetic.of_four_rounds)
        self.arithmetic.of_four_rounds = 0

    def _by_kind(self, op: Operation, way: Way) -> None:
        if isinstance(self.found.values.get(op), KnownRecord):
            op.slots = op.once = 0  # a place; its fields are loaded one by one
        elif is_literal(op, self.found):
            op.slots = op.once = 0
        elif op in self.found.reached and isinstance(op, (Subscript, Attribute)):
            self.addresses.of_access(op, self.found.reached[op], way)
            op.is_selected &= op.wraps or len(self.found.reached[op].indices) > 1  # else the index is, before the arms
        elif isinstance(op, Binary) and op in self.in_addresses and self._has_strides(op):
            op.slots = op.once = 0
        elif isinstance(op, Binary):
            slots = self.arithmetic.of(op, op.kind, op.left, op.right, way)
            if slots or op not in self.arithmetic.offsets:
                self.placing.worth(op, slots, way, is_moved=self._is_moved(op))
            else:
                op.slots = op.once = 0  # an offset of an access, and in no register
            self._reciprocal(op)
            self._sum_alone(op)
            if self.arithmetic.is_a_rotation(op):
                op.left.slots = op.right.slots = 0
                op.slots = min(op.slots, self.arithmetic.width(op))
        elif isinstance(op, UpdateName):
            self.placing.worth(op, self.arithmetic.of(op, op.kind, op.read, op.operand, way), way)
            self._sum_alone(op)
            if self.loop_costs.is_counter_of_four(op) and self.placing.in_common(op.slots):
                op.slots = 0
        elif isinstance(op, UpdateElement):  # beside its address
            op.slots += self.arithmetic.of(op, op.kind, op.reached, op.operand, way)
        elif isinstance(op, Unary):
            is_free = op.kind is ast.Not or op in self.operands and self.arithmetic.is_real(op)
            self.placing.worth(op, 0 if is_free else self.arithmetic.width(op), way)
        elif isinstance(op, Assign):
            op.slots = 0
            self._converted(op)
        elif isinstance(op, Compare):
            self.placing.worth(op, self.arithmetic.width_compared(op.left, *op.others), way, is_condition=True)
        elif isinstance(op, FunctionCall) and op.bodies:
            op.slots = 0
            for body in op.bodies.values():
                self.liveness.of_function(body.body)
                self.block(body.body, way)
        elif isinstance(op, FunctionCall):
            self.calls.of(op, way)
        elif isinstance(op, Break):
            op.slots = int(bool(self.placing.loops) and self.placing.loops[-1].is_met_behind)
        elif isinstance(op, Return):
            op.slots = EXIT if op.function is self.kernel and op not in self.alone else 0
        elif not isinstance(op, (Subscript, Attribute)) or not isinstance(self.found.values.get(op.owner), Unknown):
            op.slots = 0  # a name, a constant, an assignment

    def _is_moved(self, op: Binary) -> bool:
        """Whether a loop that leaves a value alone has it computed before it, as far as the operation goes.

        A quotient by a variable has branches of its own. It stays where it is if a condition decides whether a round comes
        there; of integers, for which Numba asks whether the divisor is 0, in a loop within a loop too, and in one with a
        barrier, of which the compiler makes no second one for that question.
        """
        if op.kind not in (ast.Div, ast.FloorDiv, ast.Mod) or not op.divides_in_parts:
            return True
        if self.placing.conditions or self.arithmetic.is_real(op):
            return not self.placing.conditions
        loops = [each for each in self.placing.loops if not self.integers.is_written_out(each)]
        return not loops or len(loops) < 2 and not self._has_a_barrier(loops[0])

    def _has_a_barrier(self, loop: For | While) -> bool:
        if loop not in self.with_barriers:
            called = (each for each in everything_called(loop.body) if isinstance(each, FunctionCall))
            self.with_barriers[loop] = any(self.found.callees.get(each, "").startswith(BARRIERS) for each in called)
        return self.with_barriers[loop]

    def _read(self, op: Operation, way: Way) -> None:
        """Adds the registers and parameters that an operation is the first to read: places of threads, lengths, numbers."""
        if isinstance(op, FunctionCall) and not op.slots and not op.once:
            return
        for each in op.parts():
            known = self.found.values.get(each)
            is_bare = isinstance(each, (Local, Attribute, Subscript)) or isinstance(each, FunctionCall) and not each.slots
            if isinstance(known, KnownNumber) and is_bare:
                self.placing.read(op, known.form, way, is_size=isinstance(each, Attribute) and each.name == "size")

    def _sum_alone(self, op: Binary | UpdateName) -> None:
        """Counts a sum that would be one instruction with a product, had that not been computed before the loop."""
        if op.multiplies and op.kind in (ast.Add, ast.Sub) and self.placing.loops and op.slots == 0:
            if self.arithmetic.is_a_sum_alone(op):
                op.slots = 1

    def _reciprocal(self, op: Binary) -> None:
        """Moves what an integer's division does with the divisor alone to before the loops that leave that alone."""
        divisor = self.found.values.get(op.right)
        if op.slots <= RECIPROCAL or op.kind not in (ast.FloorDiv, ast.Mod) or not op.divides_in_parts:
            return
        if self.placing.loops and isinstance(divisor, KnownNumber) and divisor.form[1]:
            is_unsigned = op.slots == UNSIGNED_QUOTIENT
            if divisor.varies and isinstance(self.placing.loops[-1], For) and not is_unsigned:
                return
            if self.placing.stays([divisor.form], self.placing.loops[-1]):
                moved = OF_UNSIGNED if is_unsigned else RECIPROCAL
                op.slots -= moved
                self.placing.place(op, moved, [divisor.form])

    def _converted(self, op: Assign) -> None:
        """Adds what converts a number to the type of the elements that it is stored to, or brings it into a register."""
        known = self.found.values.get(op.operand)
        for each in op.targets:
            if not isinstance(each, Element) or not isinstance(known, KnownNumber) or known.dtype is None:
                continue
            reached = self.found.reached.get(each.reached)
            if reached is None or reached.array.space == "local":
                continue
            if is_literal(op.operand, self.found):
                each.reached.slots += literal_value(op.operand, self.found) != 0  # zeros have a register already
            elif op.operand in self.arithmetic.narrowed:
                continue
            elif known.dtype != reached.array.dtype and "f" in (known.dtype.kind, reached.array.dtype.kind):
                each.reached.slots += CONVERTED

    def _has_strides(self, op: Binary) -> bool:
        known = self.found.values.get(op)
        return isinstance(known, KnownNumber) and self.integers.without_strides(known.form) != known.form


def _is_of_integers(key: Hashable) -> bool:
    """Whether a key stands for the result of an operation on integers, such as a sum that grows with a counter."""
    return isinstance(key, tuple) and key[0] == "value" and isinstance(key[1], np.dtype) and key[1].kind in "iub"


def _may_end_early(part: Operation) -> bool:
    """Whether something in it may end a round, the loop, or the kernel."""
    return any(isinstance(each, (Break, Continue, Return, Raise)) for each in everything_in(part))


def _leaves(block: Block, by: tuple[type[Operation], ...] = (*LEAVING, Continue)) -> bool:
    """Whether a block ends with return, break, raise or, unless only those are asked for, continue."""
    return bool(block.statements) and isinstance(block.statements[-1], by)


def _is_same(one: Reached, other: Reached) -> bool:
    return (one.array.identity, one.array.part, one.indices) == (other.array.identity, other.array.part, other.indices)
