"""How many machine instructions the compiler makes of each operation: what `threads_per_instruction` weighs it by.

Read off machine code of small kernels (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0):

- Numba's integers have 64 bits and take two instructions; an index whose sign is not known is wrapped round first.
- A value or an address that was worked out before, on the way here, costs nothing again; one that a loop leaves alone is
  worked out once, before it (`once`, and `hoisted` of the loop). The counter of a loop written out is a constant.
- Divisions, and functions of the library, are many instructions.
- A condition of several comparisons without loads is worked out whole, by all lanes.
"""

from __future__ import annotations

import ast

import numpy as np

from autograder.simgpu.facts.addresses import Addresses
from autograder.simgpu.facts.analysis import Found
from autograder.simgpu.facts.arithmetic import Arithmetic
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.instruction_costs import of_function, of_integers
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.known import KnownNumber, KnownRange, Unknown
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.facts.rules import Rules
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.statements import (
    Break,
    Continue,
    If,
    Nothing,
    Raise,
    Return,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block

BRANCH = 1
MEETING = 1  # before a branch behind which lanes meet again; each of its sides waits there by another instruction
LOOP = 12  # a round over a range of unknown length that uses its counter: Numba's iterator
COUNT = 3  # a round over a range of known length
FIRST_ROUND, FOUR_AT_ONCE = 12, 20  # before such a loop; where four rounds are done at once
GRID = 5  # by dimension
SHORT_CONDITION = 8  # instructions, at the most, of a sum in an `and` that all lanes work out
SHORT_ARM = 8  # instructions, at the most, of an arm that no lane jumps over
APART = ("numba.cuda.atomic.", "numba.cuda.sync", "numba.cuda.threadfence", "numba.cuda.shfl", "numba.cuda.cg.")
PREDICATES = 7  # registers for conditions


class MachineCode:
    """Decides it for the operations of one kernel."""

    def __init__(self, found: Found, forms: Forms, rules: Rules, written_out: WrittenOut) -> None:
        self.found = found
        self.forms = forms
        self.last = rules.last
        self.integers = Integers(found, forms, written_out)
        self.placing = Placing(found, forms, self.integers)
        self.arithmetic = Arithmetic(found, self.integers)
        self.addresses = Addresses(found, self.integers, self.placing)
        self.of_all: dict[Operation, Way] = {}  # of conditions with `and`: what is known where all of them hold
        self.asked_by: dict[Junction, If] = {}  # by such a condition, the branch
        self.chained: set[Operation] = set()  # what alone is behind an `else`: an `elif`

    def of_kernel(self, body: Block) -> None:
        self.block(body, Way())

    def block(self, block: Block, way: Way) -> None:
        block.slots = 0
        for statement in block.statements:
            self.go_through(statement, way)

    def go_through(self, op: Operation, way: Way) -> None:
        """Notes what an operation costs, and all that it is made of, in the order in which they are carried out."""
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
            if isinstance(op, UpdateElement):
                op.slots = op.once = 0
                self.addresses.updates[op.reached] = op
            for each in op.parts():
                if not isinstance(each, Block):
                    self.go_through(each, way)
            self._one(op, way)

    def _branch(self, op: If, way: Way) -> None:
        if isinstance(op.condition, Junction):
            self.asked_by[op.condition] = op
        self.go_through(op.condition, way)
        varies = self._varies(op.condition)
        leaves = _leaves(op.body) or _leaves(op.orelse)
        has_else = not _is_empty(op.orelse)
        is_guard = op in self.last and not has_else
        op.slots, op.is_met_behind = BRANCH, varies and not leaves and op not in self.last
        op.jumps_over = has_else and not leaves and op not in self.last
        if op.is_met_behind:
            op.slots += MEETING
        if self.integers.is_settled(op.condition):
            op.slots, op.is_met_behind, op.jumps_over = 0, False, False
        one, other = way.copy(), way.copy()
        self.integers.note_bounds(op.condition, True, one)
        self.integers.note_bounds(op.condition, False, other)
        if len(op.orelse.statements) == 1:
            self.chained.add(op.orelse.statements[0])
        if op.condition in self.of_all:
            one.done |= self.of_all[op.condition].done
        self.block(op.body, one)
        self.block(op.orelse, other)
        op.short_arms, op.is_short_for_else = 0, False
        is_open = not (leaves or is_guard or self._is_asked_in_parts(op) or self._has_no_predicate(op.condition))
        if is_open and self._is_short(op.orelse, op.body):
            if self._is_short(op.body, op.orelse) and not (op in self.chained and not has_else):
                op.slots, op.is_met_behind, op.jumps_over = 0, False, False
                op.short_arms = max(1, self._size(op.body) + self._size(op.orelse))
            if op in self.last and has_else:
                op.slots, op.is_short_for_else, op.is_met_behind, op.jumps_over = BRANCH, True, False, False
                op.short_arms = max(1, self._size(op.orelse))
        if _leaves(op.body):
            way.done, way.least = other.done, other.least
        elif _leaves(op.orelse):
            way.done, way.least = one.done, one.least
        else:
            way.done |= one.done & other.done

    def _is_asked_in_parts(self, op: If) -> bool:
        """Whether lanes branch within the condition, for an operand that they do not all work out."""
        return isinstance(op.condition, Junction) and op.condition.plain < len(op.condition.operands) - 1

    def _has_no_predicate(self, condition: Operation) -> bool:
        """Whether a loop written out asks so often for something known before it that predicates do not suffice."""
        known = self.found.values.get(condition)
        loops = self.placing.loops
        if not isinstance(known, KnownNumber) or not loops or loops[-1] not in self.forms.loops_of(known.form):
            return False
        loop = self.placing.loops[-1]
        if not self._stays_but_for(known.form, loop):
            return False
        if isinstance(loop, While):
            return self.integers.lengths.get(loop, 0) >= PREDICATES
        return loop.is_written_out and len(self.integers.values_of(loop) or ()) >= PREDICATES

    def _stays_but_for(self, form: Form, loop: For | While) -> bool:
        """Whether nothing but the counter of a loop written out makes a value another one in each round."""
        return all(
            loop not in atom.loops
            or self.integers.constants_of(number) is not None
            or bool(atom.inside) and all(self._is_counted(part, loop) for part in (number, *self.forms.inside(number)))
            for number, atom in self.forms.atoms_of(form)
        )

    def _is_counted(self, number: int, loop: For | While) -> bool:
        """Whether the loop leaves a value alone, or makes it of its counter."""
        if loop not in self.forms.loops_of((0, ((number, 1),))) or self.integers.constants_of(number) is not None:
            return True
        key = self.forms.key_of(number)
        return isinstance(key, tuple) and key[0] not in ("load", "round", "counter", "stored", "either", "atomic", "vote")

    def _size(self, part: Operation) -> int:
        """The instructions of a part, as long as no loop has worked them out before."""
        size, waiting = 0, [part]
        while waiting:
            each = waiting.pop()
            if each.joined is None:
                size += each.slots
                if not any(each in loop.hoisted for loop in self.placing.loops):
                    size += each.once
            if isinstance(each, If) and each.short_arms:
                size += each.short_arms
                waiting.append(each.condition)
                continue
            waiting.extend(each.parts())
            if isinstance(each, FunctionCall):
                waiting.extend(body.body for body in each.bodies.values())
        return size

    def _is_short(self, arm: Block, other: Block) -> bool:
        """Whether all lanes go through an arm, each instruction of it carried out by those that the condition chose.

        The address of one load from global memory does not count.
        """
        size, chain = self._size(arm), 0
        waiting: list[Operation] = [arm]
        while waiting:
            each = waiting.pop()
            if isinstance(each, (If, For, While, Return, Break, Continue, Raise)):
                return False
            if isinstance(each, FunctionCall) and not self._is_straight(each):
                return False
            if isinstance(each, Selection) and not each.joins and self._looks_at_memory(each):
                return False
            if each in self.found.reached and each.joined is None:
                own = each.slots + (0 if any(each in loop.hoisted for loop in self.placing.loops) else each.once)
                if self.found.reached[each].array.space == "global" and each not in self.found.stores:
                    chain = max(chain, own)
            waiting.extend(each.parts())
            if isinstance(each, FunctionCall):
                waiting.extend(body.body for body in each.bodies.values())
        both = not _is_empty(arm) and not _is_empty(other)
        return size - chain + both <= SHORT_ARM

    def _looks_at_memory(self, op: Selection) -> bool:
        return any(
            each in self.found.reached and not each.leaves_no_load
            for side in (op.yes, op.no)
            for each in everything_in(side)
        )

    def _is_straight(self, call: FunctionCall) -> bool:
        """Whether a call is no more than a few instructions without a branch, on the lane alone."""
        path = self.found.callees.get(call, "")
        return bool(call.bodies) or not path.startswith(APART)

    def _selection(self, op: Selection, way: Way) -> None:
        self.go_through(op.condition, way)
        known = self.found.values.get(op)
        op.slots = 0 if self.integers.is_settled(op.condition) else self.arithmetic.width(known)
        self.go_through(op.yes, way.copy())
        self.go_through(op.no, way.copy())

    def _junction(self, op: Junction, way: Way) -> None:
        """Of conditions one after the other, those that do nothing but compute are worked out at once."""
        inner = way
        plain: list[int] = []
        for place, each in enumerate(op.operands):
            if place:
                inner = inner.copy()
            self.go_through(each, inner)
            if place and len(plain) == place - 1 and self._is_plain(each) and not self._is_used_behind(each, op):
                plain.append(self._size(each))
                way.done |= inner.done
            if op.is_and:
                self.integers.note_bounds(each, True, inner)
        if op.is_and:
            self.of_all[op] = inner
        op.slots = 0
        op.plain, op.plain_slots = len(plain), sum(plain)

    def _is_plain(self, part: Operation) -> bool:
        """Whether all lanes may as well work it out: no look at memory, and no more than a few sums."""
        size = 0
        for each in everything_in(part):
            if each in self.found.reached and not each.leaves_no_load or isinstance(each, (Selection, Junction)):
                return False
            if isinstance(each, FunctionCall) and each.slots + each.once > 4:
                return False
            if not isinstance(each, Compare):
                size += each.slots + each.once
        return size <= SHORT_CONDITION

    def _is_used_behind(self, part: Operation, condition: Junction) -> bool:
        """Whether the arm of a branch uses what is worked out here first: a branch of its own then asks for this."""
        branch = self.asked_by.get(condition)
        made = {self.integers.bare(each) for each in map(self._sum_of, everything_in(part)) if each is not None}
        if branch is None or not made:
            return False
        return any(self.integers.bare(self._sum_of(each)) in made for each in everything_in(branch.body))

    def _sum_of(self, op: Operation) -> Form | None:
        """The form of integer arithmetic that nothing before has worked out."""
        known = self.found.values.get(op)
        if not isinstance(op, Binary) or not isinstance(known, KnownNumber) or not known.form[1]:
            return None
        return known.form

    def _loop(self, op: For | While, way: Way) -> None:
        if isinstance(op, For):
            self.go_through(op.source, way)
        inner = way.copy()
        self.placing.loops.append(op)
        op.hoisted = set()
        before = self.integers.states
        self.integers.enter(op)
        if isinstance(op, While):
            self.go_through(op.condition, inner)
            self.integers.note_bounds(op.condition, True, inner)
            op.slots = 0 if op in self.integers.lengths else BRANCH if not self._varies(op.condition) else 2
        else:
            op.slots = self._of_a_round(op)
            op.before = self._before(op)
        self.block(op.body, inner)
        self.integers.states = before
        self.placing.loops.pop()
        self.block(op.orelse, way)

    def _of_a_round(self, op: For) -> int:
        if op.is_written_out:
            return 0
        source = self.found.values.get(op.source)
        if isinstance(source, KnownRange) and all(each.constant is not None for each in (source.start, source.stop)):
            return COUNT
        return COUNT if op.is_cheap else LOOP

    def _before(self, op: For) -> int:
        if op.slots != LOOP:
            return 0
        return FIRST_ROUND + (FOUR_AT_ONCE if op.is_four_at_once else 0)

    def _one(self, op: Operation, way: Way) -> None:
        if op in self.found.reached and isinstance(op, (Subscript, Attribute)):
            self.addresses.of_access(op, self.found.reached[op], way)
        elif isinstance(op, Binary):
            self.placing.worth(op, self.arithmetic.of(op, op.kind, op.left, op.right, way), way)
        elif isinstance(op, UpdateName):
            self.placing.worth(op, self.arithmetic.of(op, op.kind, op.read, op.operand, way), way)
        elif isinstance(op, UpdateElement):  # beside the address
            op.slots += self.arithmetic.of(op, op.kind, op.reached, op.operand, way)
        elif isinstance(op, Unary):
            width = self.arithmetic.width(self.found.values.get(op.operand))
            self.placing.worth(op, 0 if op.kind is ast.Not else width, way)
        elif isinstance(op, Compare):
            sides = [self.found.values.get(each) for each in (op.left, *op.others)]
            self.placing.worth(op, max(map(self.arithmetic.width, sides)), way)
        elif isinstance(op, FunctionCall):
            self._call(op, way)
        elif not isinstance(op, (Subscript, Attribute)) or not isinstance(self.found.values.get(op.owner), Unknown):
            op.slots = 0  # a name, a constant, an assignment

    def _call(self, op: FunctionCall, way: Way) -> None:
        if op.bodies:
            op.slots = 0
            for body in op.bodies.values():
                self.block(body.body, way)
            return
        path = self.found.callees.get(op, "")
        if op in self.found.reached:
            self.addresses.of_access(op, self.found.reached[op], way)
            if op.is_added_up_by_the_warp:
                op.slots += 8
            return
        name = path.rpartition(".")[2]
        known = self.found.values.get(op)
        if path == "numba.cuda.grid":
            given = self.found.values.get(op.arguments[0]) if op.arguments else None
            dimensions = given.constant or 1 if isinstance(given, KnownNumber) else 1
            self.placing.worth_once(op, GRID * dimensions, ("grid",), way)
        elif path.startswith("math."):
            argument = self.found.values.get(op.arguments[0]) if op.arguments else None
            is_double = not (isinstance(argument, KnownNumber) and argument.dtype == np.float32)
            self.placing.worth(op, of_function(name, is_double), way)
        elif path in ("builtins.min", "builtins.max"):
            is_small = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.itemsize <= 4
            each = 1 if is_small else of_integers("minimum")
            self.placing.worth(op, each * max(1, len(op.arguments) - 1), way)
        else:
            op.slots = 1

    def _varies(self, condition: Operation) -> bool:
        known = self.found.values.get(condition)
        return not isinstance(known, KnownNumber) or known.varies


def _leaves(block: Block) -> bool:
    """Whether lanes that go in there do not come out behind it."""
    return bool(block.statements) and isinstance(block.statements[-1], (Return, Break, Continue, Raise))


def _is_empty(block: Block) -> bool:
    """Whether nothing is done there."""
    return all(isinstance(each, Nothing) for each in block.statements)
