"""Which halves of integers machine code computes. Numba's integers have 64 bits, and a register has 32.

A low half follows from the low halves of the operands in sums, products, `&`, `|`, `^` and `<<`. So the high half is not
computed where nobody asks for it: of what is stored in 32 bits or masked, and of all that it is made of, round a loop as
well. Nor is it where it is known: a value that fits into 32 bits, as what is loaded from an int32 array does, is its low
half and a sign. A product of two such values is one instruction, the sum of a product and something likewise.

Seen in machine code (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0); tests/test_simgpu_halves.py holds
these rules to it.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Set

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.integers import Integers
from autograder.simgpu.facts.known import Known, KnownName, KnownNumber
from autograder.simgpu.operations.expressions import Local, NamedExpression, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Selection, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Element,
    Name,
    Return,
    Target,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block

REGISTER, WHOLE = 32, 64  # bits
RETURNED = "returned"  # what a function gives, among its variables; of a tuple, each part with its place
FROM_LOW_HALVES = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift)
# Of what the hardware says of a thread's place, with the sign; blocks may be as many as 31 bits say.
OF_THREADS = {
    "numba.cuda.threadIdx.": 11, "numba.cuda.blockDim.": 12, "numba.cuda.laneid": 6, "numba.cuda.warpsize": 7,
}  # fmt: skip
MOST_ROUNDS = 4  # of names for names: what a variable is made of is looked up so often


class Halves:
    """The integers of one kernel and of the device functions that it calls."""

    def __init__(self, found: Found, forms: Forms, integers: Integers, body: Block) -> None:
        self.found = found
        self.forms = forms
        self.integers = integers
        self._known_rounds = 0  # variables of unrolled loops whose values are known
        everything = list(everything_called(body))
        rolled = (each for each in everything if isinstance(each, (For, While)) and not integers.written_out.includes(each))
        self._going_round = frozenset(op for loop in rolled for op in everything_in(loop))
        self._statements = [op for op in everything if not isinstance(op, (FunctionCall, NamedExpression))]
        self._assigning = everything
        self._bits_of_variables = self._variables()
        self._bits: dict[Operation, int] = {}
        self._asked: set[Hashable] = set()  # variables whose high half somebody uses
        self._wide: set[Operation] = set()  # operations whose high half somebody uses
        known = -1
        while len(self._asked) != known:
            known = len(self._asked)
            for op in self._statements:
                self._ask_of_statement(op)

    def bits(self, op: Operation) -> int:
        """How many bits hold an integer and its sign, as far as is known: 64 of all others."""
        if self._known_rounds != len(self.integers.rounds):
            self._known_rounds = len(self.integers.rounds)
            self._bits = {}
        if op not in self._bits:
            self._bits[op] = self._bits_of(op)
        return self._bits[op]

    def fits(self, *ops: Operation) -> bool:
        """Whether each of these is its low half and a sign."""
        return all(self.bits(each) <= REGISTER for each in ops)

    def is_low(self, op: Operation) -> bool:
        """Whether machine code computes the low half of a value alone: nobody asks for the other, or it is known."""
        return op not in self._wide or self.fits(op) or self._is_masked(op)

    def _is_masked(self, op: Operation) -> bool:
        """Whether a value's high half is zero: it was masked."""
        if not isinstance(op, Binary) or op.kind is not ast.BitAnd:
            return False
        masks = [self._constant(each) for each in (op.left, op.right)]
        return any(each is not None and 0 <= each < 1 << REGISTER for each in masks)

    def is_natural(self, op: Operation) -> bool:
        """Whether a value is never negative, by the types that it is made from, and is held by the low half.

        A quotient or a remainder of it is then that of an unsigned integer.
        """
        known = self.found.values.get(op)
        if isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in "ub":
            return self.bits(op) <= REGISTER + 1  # by its type, whatever it is made from
        if isinstance(known, KnownNumber) and self.forms.is_made_of(known.form, "round"):
            return False  # the compiler does not look through rounds of a loop
        return self.bits(op) <= REGISTER + 1 and self._is_natural(op, frozenset())

    def _is_natural(self, op: Operation | Hashable, within: frozenset[Hashable]) -> bool:
        """`within`: the variables whose values are looked at, which are taken to be so."""
        if not isinstance(op, Operation) or isinstance(op, Local) and _key(op) in self._given:
            key = _key(op) if isinstance(op, Local) else op
            given = self._given.get(key, ())
            return key in within or bool(given) and all(self._is_natural(each, within | {key}) for each in given)
        constant = self._constant(op)
        if constant is not None:
            return constant >= 0
        if isinstance(op, (Binary, UpdateName)):
            left, right = (op.left, op.right) if isinstance(op, Binary) else (op.read, op.operand)
            return self._is_natural_result(op.kind, left, right, within)
        if isinstance(op, Selection):
            return self._is_natural(op.yes, within) and self._is_natural(op.no, within)
        if isinstance(op, FunctionCall) and not op.bodies and op.arguments:
            each = any if self._path(op) == "builtins.max" else all
            if self._path(op) in ("builtins.min", "builtins.max") or self._converts_to_few(op):
                return each(self._is_natural(argument, within) for argument in op.arguments)
        known = self.found.values.get(op)
        return isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in "ub"

    def _is_natural_result(
        self, kind: type[ast.operator], left: Operation, right: Operation, within: frozenset[Hashable]
    ) -> bool:
        one, other = self._is_natural(left, within), self._is_natural(right, within)
        if kind is ast.Sub:
            constant = self._constant(left)
            return other and constant is not None and constant >= (1 << self.bits(right) - 1) - 1
        if kind is ast.BitAnd:
            return one or other
        if kind in (ast.Mod, ast.RShift):
            return other if kind is ast.Mod else one
        return one and other and kind in (ast.Add, ast.Mult, ast.FloorDiv, ast.BitOr, ast.BitXor, ast.LShift)

    # ---- how many bits there are ----------------------------------------------------------------

    def _variables(self) -> dict[Hashable, int]:
        """The bits of each variable that is assigned nothing but integers of known size, by what all assignments give."""
        given: dict[Hashable, list[Operation | Hashable]] = {}
        unknown: set[Hashable] = set()
        for op in self._assigning:
            for key, value in _assigned(op):
                if value is None:
                    unknown.add(key)
                else:
                    given.setdefault(key, []).append(value)
        self._given = {key: values for key, values in given.items() if key not in unknown}
        # A variable that a loop makes of itself has all bits; in an unrolled loop, those that its rounds give it.
        straight = {key for key, values in self._given.items() if not self._going_round.intersection(values)}
        while grown := self._grown_bits(straight):
            straight -= grown
        return self._bits_of_variables

    def _grown_bits(self, straight: Set[Hashable]) -> Set[Hashable]:
        """Works out the bits of variables, of some from below; gives those of them that more rounds would give more."""
        self._bits_of_variables = dict.fromkeys(straight, 1)
        grown: set[Hashable] = set()
        for _ in range(MOST_ROUNDS):
            self._bits = {}
            before, self._bits_of_variables = (
                self._bits_of_variables,
                {key: max(map(self._bits_given, values)) for key, values in self._given.items()},
            )
            grown = {key for key in straight if self._bits_of_variables[key] > before[key]}
            if before == self._bits_of_variables:
                break
        return grown

    def _bits_given(self, value: Operation | Hashable) -> int:
        return self.bits(value) if isinstance(value, Operation) else self._bits_of_variables.get(value, WHOLE)

    def _bits_of(self, op: Operation) -> int:
        known = self.found.values.get(op)
        if isinstance(known, KnownNumber) and known.constant is not None:
            return known.constant.bit_length() + 1
        if isinstance(known, KnownNumber) and (numbers := self.integers.numbers_in_rounds(known.form)) is not None:
            return 1 + max(each.bit_length() for each in numbers)
        if isinstance(op, Local):
            return self._bits_of_variables.get(_key(op), self._by_type(op))
        if isinstance(op, (Binary, UpdateName)):
            left = op.left if isinstance(op, Binary) else op.read
            return min(WHOLE, self._bits_of_result(op.kind, left, op.right if isinstance(op, Binary) else op.operand))
        if isinstance(op, Unary):
            return 2 if op.kind is ast.Not else min(WHOLE, self.bits(op.operand) + (op.kind is ast.USub))
        if isinstance(op, Selection):
            return max(self.bits(op.yes), self.bits(op.no))
        if isinstance(op, NamedExpression):
            return self.bits(op.operand)
        if isinstance(op, FunctionCall) and op.bodies:
            given = [self._bits_of_variables.get((RETURNED, each), WHOLE) for each in op.bodies]
            return min(self._by_type(op), max(given))
        if isinstance(op, FunctionCall) and self._path(op) in ("builtins.min", "builtins.max") and op.arguments:
            return max(map(self.bits, op.arguments))
        if isinstance(op, FunctionCall) and self._converts_to_few(op) and self._is_natural(op.arguments[0], frozenset()):
            return min(self._by_type(op), self.bits(op.arguments[0]))
        return self._of_thread(known) or self._by_type(op)

    def _of_thread(self, known: Known | None) -> int:
        """The bits of `cuda.threadIdx.x` and its like; 0 of others."""
        path = self.place_of_thread(known)
        return next((bits for name, bits in OF_THREADS.items() if path.startswith(name)), 0)

    def place_of_thread(self, known: Known | None) -> str:
        """The path of the library's name of a thread's place that a value is, such as `numba.cuda.threadIdx.x`; else ""."""
        if not isinstance(known, KnownNumber) or known.form[0] or len(known.form[1]) != 1:
            return ""
        ((number, factor),) = known.form[1]
        key = self.forms.key_of(number)
        if factor != 1 or not isinstance(key, tuple) or key[0] != "name":
            return ""
        return str(key[1])

    def _bits_of_result(self, kind: type[ast.operator], left: Operation, right: Operation) -> int:
        one, other = self.bits(left), self.bits(right)
        constant = self._constant(right)
        if kind in (ast.Add, ast.Sub):
            return max(one, other) + 1
        if kind is ast.Mult:
            return one + other
        if kind is ast.BitAnd:
            masks = [each for each in (constant, self._constant(left)) if each is not None and each >= 0]
            return min((each.bit_length() + 1 for each in masks), default=max(one, other))
        if kind in (ast.BitOr, ast.BitXor):
            return max(one, other)
        if kind is ast.LShift:
            most = self._most(right)
            return WHOLE if most is None else one + max(most, 0)
        if kind is ast.RShift and constant is not None and 0 <= constant < WHOLE:
            return max(1, one - constant)
        if kind in (ast.RShift, ast.FloorDiv):
            return one
        if kind is ast.Mod:
            return other if one > 1 else 1
        return WHOLE

    def _most(self, op: Operation) -> int | None:
        """The largest number that a value is in rounds of unrolled loops, or its constant."""
        known = self.found.values.get(op)
        numbers = self.integers.numbers_in_rounds(known.form) if isinstance(known, KnownNumber) else None
        return self._constant(op) if numbers is None else numbers[1]

    def _constant(self, op: Operation) -> int | None:
        known = self.found.values.get(op)
        return known.constant if isinstance(known, KnownNumber) else None

    def _by_type(self, op: Operation) -> int:
        known = self.found.values.get(op)
        if not isinstance(known, KnownNumber) or known.dtype is None or known.dtype.kind not in "iub":
            return WHOLE
        return min(WHOLE, 8 * known.dtype.itemsize + (known.dtype.kind == "u"))

    # ---- for how many somebody asks -------------------------------------------------------------

    def _ask_of_statement(self, op: Operation) -> None:
        if isinstance(op, Assign):
            for target in op.targets:
                self._ask_of_target(target, op.operand)
        elif isinstance(op, UpdateName):
            is_whole = (op.function, op.name) in self._asked or self._keeps_whole(op, op.kind, op.operand)
            self._ask_of_operator(op, op.kind, op.read, op.operand, is_whole)
        elif isinstance(op, Return):
            is_whole = (RETURNED, op.function) in self._asked
            for place, item in enumerate(op.result.items if isinstance(op.result, TupleOf) else ()):
                self._ask(item, is_whole or (RETURNED, op.function, place) in self._asked)
            if op.result is not None and not isinstance(op.result, TupleOf):
                self._ask(op.result, is_whole)
        elif isinstance(op, UpdateElement):
            self._ask_of_operator(op, op.kind, op.reached, op.operand, not self._is_stored_low(op.reached))
        else:
            for each in op.parts():
                if not isinstance(each, Block):
                    self._ask(each, True)

    def _ask_of_target(self, target: Operation, operand: Operation) -> None:
        if isinstance(target, Name):
            is_whole = (target.function, target.name) in self._asked
            if isinstance(operand, Binary):
                for side, added in ((operand.left, operand.right), (operand.right, operand.left)):
                    is_sum = isinstance(side, Local) and side.name == target.name
                    is_whole |= is_sum and self._keeps_whole(operand, operand.kind, added)
            self._ask(operand, is_whole)
        elif isinstance(target, TupleTarget) and isinstance(operand, TupleOf):
            if len(target.targets) == len(operand.items) and not any(each.is_unpacked for each in operand.items):
                for one, its_value in zip(target.targets, operand.items, strict=True):
                    self._ask_of_target(one, its_value)
                return
            self._ask(operand, True)
        elif isinstance(target, TupleTarget) and isinstance(operand, FunctionCall) and operand.bodies:
            self._ask(operand, False)
            for place, part in enumerate(target.targets):
                if not isinstance(part, Name) or (part.function, part.name) in self._asked:
                    self._asked.update((RETURNED, function, place) for function in operand.bodies)
                if isinstance(part, Element):
                    self._ask_of_parts(part.reached)
        else:
            self._ask(operand, not (isinstance(target, Element) and self._is_stored_low(target.reached)))
            if isinstance(target, Element):
                self._ask_of_parts(target.reached)

    def _keeps_whole(self, op: Operation, kind: type[ast.operator], added: Operation) -> bool:
        """Whether a loop that goes round adds products of 64 bits to a variable: one instruction multiplies low halves and
        adds to both halves of the sum, of which it then needs both."""
        if kind is not ast.Add or op not in self._going_round:
            return False
        if not isinstance(added, Binary) or added.kind is not ast.Mult or self.fits(added.left, added.right):
            return False
        return all(self._constant(each) is None for each in (added.left, added.right))

    def _is_stored_low(self, element: Operation) -> bool:
        """Whether an element is an integer of at most 32 bits."""
        known = self.found.values.get(element)
        if isinstance(known, KnownNumber) and known.dtype is not None:
            return known.dtype.kind in "iub" and known.dtype.itemsize * 8 <= REGISTER
        reached = self.found.reached.get(element) or self.found.stores.get(element)
        dtype = None if reached is None else reached.array.dtype
        return dtype is not None and dtype.kind in "iub" and dtype.itemsize * 8 <= REGISTER

    def _ask(self, op: Operation, is_whole: bool) -> None:
        """Notes for which half of a value somebody asks, and what follows for what it is made of."""
        is_whole = is_whole and self.bits(op) > REGISTER and not self._is_extended_by_zeros(op)
        if isinstance(op, Local):
            if is_whole:
                self._asked.add(_key(op))
        elif isinstance(op, Binary):
            self._ask_of_operator(op, op.kind, op.left, op.right, is_whole)
        elif isinstance(op, Unary) and op.kind is not ast.Not:
            self._note(op, is_whole)
            self._ask(op.operand, is_whole)
        elif isinstance(op, Selection):
            self._note(op, is_whole)
            self._ask(op.condition, True)
            self._ask(op.yes, is_whole)
            self._ask(op.no, is_whole)
        elif isinstance(op, NamedExpression):
            self._ask(op.operand, is_whole or (op.function, op.name) in self._asked)
        elif isinstance(op, FunctionCall):
            self._ask_of_call(op, is_whole)
        else:
            self._ask_of_parts(op)

    def _is_extended_by_zeros(self, op: Operation) -> bool:
        """Whether `&`, `|` or `^` gives what 32 bits hold without a sign, as of two uint32.

        The compiler does not look through rounds of a loop for that.
        """
        if not isinstance(op, Binary) or op.kind not in (ast.BitAnd, ast.BitOr, ast.BitXor):
            return False
        if self.bits(op) != REGISTER + 1 or not self.is_natural(op):
            return False
        known = self.found.values.get(op)
        return isinstance(known, KnownNumber) and not self.forms.is_made_of(known.form, "round")

    def _ask_of_call(self, op: FunctionCall, is_whole: bool) -> None:
        self._ask(op.callee, True)
        if is_whole:
            self._asked.update((RETURNED, each) for each in op.bodies)
        asked = {value: key in self._asked for key, value in _given_to_functions(op) if value is not None}
        is_low = self._converts_to_few(op)
        for each in (*op.arguments, *op.keywords.values()):
            self._ask(each, asked.get(each, not is_low))

    def _ask_of_parts(self, op: Operation) -> None:
        for each in op.parts():
            if not isinstance(each, Block):
                self._ask(each, True)

    def _ask_of_operator(
        self, op: Operation, kind: type[ast.operator], left: Operation, right: Operation, is_whole: bool
    ) -> None:
        self._note(op, is_whole)
        if kind not in FROM_LOW_HALVES:
            self._ask(left, True)
            self._ask(right, kind is not ast.RShift)
            return
        if self._is_masked(op):
            is_whole = False
        self._ask(left, is_whole)
        self._ask(right, is_whole and kind is not ast.LShift)

    def _note(self, op: Operation, is_whole: bool) -> None:
        if is_whole:
            self._wide.add(op)

    def _converts_to_few(self, op: FunctionCall) -> bool:
        """Whether a call makes an integer of at most 32 bits of its argument."""
        callee = self.found.values.get(op.callee)
        value = callee.value if isinstance(callee, KnownName) else None
        return isinstance(value, TypeReference) and value.dtype.kind in "iu" and value.dtype.itemsize * 8 <= REGISTER

    def _path(self, op: FunctionCall) -> str:
        return self.found.callees.get(op, "")


def _key(op: Local) -> Hashable:
    return op.function, op.name


def _assigned(op: Operation) -> Iterator[tuple[Hashable, Operation | Hashable | None]]:
    """The variables that an operation assigns, each with its value, or another variable that has it, or None where that is
    not known."""
    if isinstance(op, UpdateName):
        yield (op.function, op.name), op
    elif isinstance(op, NamedExpression):
        yield (op.function, op.name), op.operand
    elif isinstance(op, FunctionCall):
        yield from _given_to_functions(op)
    elif isinstance(op, Return) and isinstance(op.result, TupleOf):
        for place, each in enumerate(op.result.items):
            yield (RETURNED, op.function, place), each
    elif isinstance(op, Return) and op.result is not None:
        yield (RETURNED, op.function), op.result
    elif isinstance(op, For):
        yield from _of_target(op.target, None)
    elif isinstance(op, Assign):
        for target in op.targets:
            yield from _of_target(target, op.operand)


def _given_to_functions(op: FunctionCall) -> Iterator[tuple[Hashable, Operation | None]]:
    """The parameters of the device functions that are called, each with its argument, or None where that is not known."""
    for function in op.bodies:
        names = function.parameters
        is_known = not any(each.is_unpacked for each in op.arguments) and len(op.arguments) + len(op.keywords) == len(names)
        given = dict(zip(names, op.arguments, strict=False)) | op.keywords if is_known else {}
        for name in names:
            yield (function, name), given.get(name)


def _of_target(
    target: Target, value: Operation | Hashable | None
) -> Iterator[tuple[Hashable, Operation | Hashable | None]]:
    if isinstance(target, Name):
        yield (target.function, target.name), value
    elif isinstance(target, TupleTarget) and isinstance(value, FunctionCall) and value.bodies:
        for place, each in enumerate(target.targets):
            for function in value.bodies:
                yield from _of_target(each, (RETURNED, function, place))
    elif isinstance(target, TupleTarget):
        items = value.items if isinstance(value, TupleOf) else ()
        is_known = len(items) == len(target.targets) and not any(each.is_unpacked for each in items)
        for place, each in enumerate(target.targets):
            yield from _of_target(each, items[place] if is_known else None)


def everything_called(block: Block, seen: set[Block] | None = None) -> Iterator[Operation]:
    """The statements of a block and of those within, and of the device functions that are called there, and assignments
    within expressions."""
    seen = set() if seen is None else seen
    if block in seen:
        return
    seen.add(block)
    own, waiting = frozenset(block.statements), list[Operation](block.statements)
    while waiting:
        op = waiting.pop()
        if isinstance(op, Block):
            yield from everything_called(op, seen)
            continue
        if isinstance(op, FunctionCall):
            for each in op.bodies.values():
                yield from everything_called(each.body, seen)
        if op in own or isinstance(op, (NamedExpression, FunctionCall)):
            yield op
        waiting.extend(op.parts())
