"""The machine instructions of arithmetic, by the types of the operands and by which of them are constants.

The numbers are those of instruction_costs.json. Numba's integers have 64 bits, so a sum takes two instructions.

Unsigned integers are cheaper, as seen in machine code of lesson 8's kernels (numba-cuda 0.30.4, CUDA 13.0, compute
capability 9.0; course/lesson08/instructions.json): a quotient by a power of two is a shift, a remainder a mask, a
product of two numbers of 32 bits one instruction. What only tells a place in shared memory takes 32 bits (`narrow`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.halves import REGISTER, Halves, everything_called
from autograder.simgpu.facts.instruction_costs import of_floats, of_integers
from autograder.simgpu.facts.integers import Integers, Way
from autograder.simgpu.facts.known import Known, KnownName, KnownNumber
from autograder.simgpu.facts.literals import is_literal, literal_value
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.long_quotients import COMPLEX
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare
from autograder.simgpu.operations.powers import POWERS, may_have_rounds
from autograder.simgpu.operations.statements import Assign, Element, UpdateElement, UpdateName
from autograder.simgpu.operations.steps import Block

SHIFT = 2  # of 64 bits
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
SHIFTS = (ast.LShift, ast.RShift)
NARROWED_QUOTIENT = 1  # of a quotient that float32 computes: its number of the source
MOVES = 2  # of a number of 64 bits whose low half is not zero, such as 0.1
NATURAL_QUOTIENT = 2  # by a constant, of what 32 bits hold and is never negative: a product and a shift
SHORT, SHORT_REMAINDER = 17, 8  # bits with the sign, and what a remainder of them takes: the product is cut to 16 bits
UNSIGNED_QUOTIENT = 29  # or remainder, of unsigned integers of 64 bits
LESS_OF_A_WORD = 8  # instructions, where what is divided by a variable has 32 bits and a sign
LESS_IN_A_LOOP = 5  # instructions, in `for`, by what differs from thread to thread
LESS_BY_A_POSITIVE, LESS_OF_A_POSITIVE = 17, 10  # where a divisor is never 0 or below, and what one number for all divides
LESS_OF_WORDS = 25  # instructions, where neither number is negative or has more than 32 bits
LESS_BY_TWO = 1  # instruction, of 64 bits: the sign is added to it as it is
POSITIVE_QUOTIENT = 10  # by a constant, of an integer of 64 bits that a condition keeps from being negative
NAMES: dict[type[ast.operator], str] = {  # as instruction_costs.json has them
    ast.Add: "sum", ast.Sub: "sum", ast.Mult: "product", ast.Div: "quotient", ast.FloorDiv: "quotient", ast.Mod: "remainder",
    ast.Pow: "power", ast.LShift: "shift", ast.RShift: "shift", ast.BitAnd: "and", ast.BitOr: "and", ast.BitXor: "and",
}  # fmt: skip


class Arithmetic:
    """The operators of one kernel."""

    def __init__(self, found: Found, integers: Integers) -> None:
        self.found = found
        self.integers = integers
        self.narrow = _narrow(found)
        self.in_places = _in_places(found)
        self.offsets = self.in_places - _of_small_arrays(found)  # in global memory, an access adds them itself
        self.narrowed: frozenset[Operation] = frozenset()  # what is computed as float32 for its result is stored as that
        self.needed_alone: frozenset[tuple[np.dtype | None, Form, Operation | None]] = frozenset()
        self.loop_of: dict[Operation, Operation] = {}  # the innermost one
        self.further_sums: set[Operation] = set()  # those whose product is one instruction with another sum
        self.is_fast = False  # with fastmath
        self.in_a_loop = False  # that goes round
        self.in_rounds = False  # of an unrolled loop, in each of which it is computed: they share their numbers
        self.before_rounds = 0  # instructions that bring these into registers
        self.of_four_rounds = 0  # likewise, of those that four rounds share
        self.in_four_rounds = False  # the innermost loop does four rounds at a time, which share their numbers
        self.subroutines = 0  # calls of one for some numbers, so far
        self.halves: Halves  # of the kernel that is gone through

    def begin(self, body: Block) -> None:
        """Begins with a kernel."""
        self.is_fast = body.function.options.fastmath
        self.halves = Halves(self.found, self.integers.forms, self.integers, body)
        self.loop_of = {op: loop for loop in _loops(body) for op in everything_in(loop)}
        self.needed_alone = frozenset(self._needed_alone(body))
        self.narrowed = frozenset(each for each in self._stored_as_singles(body) if self._is_narrowed(each))

    def _stored_as_singles(self, body: Block) -> Iterator[Operation]:
        """What is converted to float32, as soon as it is computed."""
        for each in everything_called(body):
            if isinstance(each, Assign) and any(map(self._is_single_element, each.targets)):
                yield each.operand
            elif isinstance(each, UpdateElement) and self.dtype_of(each.reached) == np.float32:
                yield each
            elif isinstance(each, FunctionCall) and len(each.arguments) == 1:
                callee = self.found.values.get(each.callee)
                if isinstance(callee, KnownName) and isinstance(callee.value, TypeReference):
                    if callee.value.dtype == np.float32:
                        yield each.arguments[0]

    def _is_single_element(self, target: Operation) -> bool:
        reached = self.found.reached.get(target.reached) if isinstance(target, Element) else None
        return reached is not None and reached.array.dtype == np.float32

    def _is_narrowed(self, op: Operation) -> bool:
        """Whether float32 computes the same: of two float32, a sum, product or quotient of float64 is rounded to just that.

        LLVM's InstCombine does it (visitFPTrunc). A number of the source has to be one that float32 holds.
        """
        if isinstance(op, Binary):
            left, right = op.left, op.right
        elif isinstance(op, UpdateElement):
            left, right = op.reached, op.operand
        else:
            return False
        if op.kind not in (ast.Add, ast.Sub, ast.Mult, ast.Div):
            return False
        are_double = any(self.dtype_of(each) != np.float32 for each in (left, right))
        return are_double and self._is_single(left) and self._is_single(right)

    def _is_single(self, side: Operation) -> bool:
        if not is_literal(side, self.found):
            return self.dtype_of(side) == np.float32
        value = literal_value(side, self.found)
        return value is not None and float(np.float32(value)) == value

    def of(
        self, op: Operation, kind: type[ast.operator], left: Operation, right: Operation, way: Way
    ) -> int:
        """The instructions of `left kind right`, which is what `op` computes."""
        sides = [self.found.values.get(each) for each in (left, right)]
        known = self.found.values.get(op)
        if op in self.in_places and self._is_offset(kind, sides):
            return 0
        dtypes = [each.dtype for each in sides if isinstance(each, KnownNumber) and each.dtype is not None]
        dtype = known.dtype if isinstance(known, KnownNumber) else None
        if dtype is None and dtypes:
            dtype = max(dtypes, key=lambda each: (each.kind in "fc", each.itemsize))
        if dtype is None:
            return 1
        exponent = sides[1].constant if kind is ast.Pow and isinstance(sides[1], KnownNumber) else None
        op.divides_in_parts = False
        if isinstance(exponent, int) and dtype.kind in "fiu":
            return self._of_a_known_power(exponent, dtype)
        if kind is ast.Pow and may_have_rounds(dtype, self.dtype_of(right)):
            op.divides_in_parts = True
            return POWERS[dtype].once
        if dtype.kind in "fc":
            if op in self.narrowed:
                dtype = np.dtype(np.float32)
            if kind is ast.Div and self.is_by_a_power_of_two(right):
                kind = ast.Mult  # by its reciprocal, which is exact
            return self._of_floats(op, kind, dtype, sides, way)
        if dtype == np.uint64 and kind in (ast.FloorDiv, ast.Mod) and not self._is_known(sides[1]):
            if all(each.kind == "u" and each.itemsize == 8 for each in dtypes):
                op.divides_in_parts = True
                return UNSIGNED_QUOTIENT
        if dtype.kind == "u" and (unsigned := self._of_unsigned(op, kind, sides, dtypes)) is not None:
            return unsigned
        if kind in (ast.FloorDiv, ast.Mod):
            return self._of_division(op, kind, sides, way)
        if kind is ast.Mult:
            return self._of_product(op, left, right, sides)
        if kind in BITWISE and (self.is_merged(op) or self._is_a_half(op, kind, left, right)):
            return 0
        if kind in (ast.Add, ast.Sub) and (added := self._added_to_a_product(op, left, right)) is not None:
            return added
        if kind in SHIFTS and self._is_known(sides[1]) and self._is_masked_shift(left):
            return 0
        if kind in SHIFTS and self.halves.fits(left) and self.integers.constant(sides[1]) is not None:
            return 1
        return 1 if self.halves.is_low(op) else of_integers(NAMES.get(kind, "sum"))

    def _is_offset(self, kind: type[ast.operator], sides: Sequence[Known | None]) -> bool:
        """Whether an access carries this out: a constant is its offset, and a power of two a shift that addresses have."""
        left, right = (None if self._is_of_a_variable(each) else self.integers.constant(each) for each in sides)
        if kind in (ast.Add, ast.Sub):
            return right is not None or left is not None and kind is ast.Add
        if kind is ast.Mult:
            return any(each is not None and _is_power(each) for each in (left, right))
        return kind is ast.LShift and right is not None

    def _is_of_a_variable(self, known: Known | None) -> bool:
        """Whether a value depends on variables of unrolled loops, which are added before the sign is asked for."""
        numbers = [number for number, _ in known.form[1]] if isinstance(known, KnownNumber) else []
        return any(number in self.integers.rounds for number in numbers)

    def _added_to_a_product(self, op: Operation, left: Operation, right: Operation) -> int | None:
        """The instructions of a sum that a product's instruction does as well: of a 64-bit one, those of the other side's
        sign. None where neither side is such a product."""
        for product, other in ((right, left), (left, right)):
            if self._is_one_product(product):
                is_extended = not self.halves.is_low(op) and self.halves.fits(other) and not self.is_constant(other)
                return int(is_extended)
        return None

    def is_merged(self, op: Operation) -> bool:
        """Whether a bitwise operation has one for an operand and is one instruction with it: it takes three numbers."""
        operands = op.parts() if isinstance(op, Binary) else (op.operand,) if isinstance(op, UpdateName) else ()
        return any(
            isinstance(each, Binary) and each.kind in BITWISE and not self.is_constant(each) and not self.is_merged(each)
            for each in map(self._shifted, operands)
        )

    def _shifted(self, op: Operation) -> Operation:
        """What is shifted, if that takes no instruction."""
        is_free = isinstance(op, Binary) and op.kind in SHIFTS and self._is_masked_shift(op.left)
        return op.left if isinstance(op, Binary) and is_free and self._is_known(self.found.values.get(op.right)) else op

    def _is_masked_shift(self, op: Operation) -> bool:
        """Whether a value is bits of a shifted one, `x >> 3 & 1`: to shift these again is to shift `x` by another number."""
        if not isinstance(op, Binary) or op.kind is not ast.BitAnd:
            return False
        for number, mask in ((op.left, op.right), (op.right, op.left)):
            if self.is_constant(mask) and isinstance(number, Binary) and number.kind in SHIFTS:
                return self._is_known(self.found.values.get(number.right))
        return False

    def _is_a_half(self, op: Operation, kind: type[ast.operator], left: Operation, right: Operation) -> bool:
        """Whether the low half of 64 bits is asked for: it has a register of its own."""
        if kind is not ast.BitAnd:
            return False
        for number, other in ((left, right), (right, left)):
            if self.integers.constant(self.found.values.get(number)) == (1 << REGISTER) - 1:
                dtype = self.dtype_of(other)
                return dtype is not None and dtype.itemsize == 8
        return False

    def is_real(self, op: Operation) -> bool:
        known = self.found.values.get(op)
        return isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind == "f"

    def is_constant(self, op: Operation) -> bool:
        known = self.found.values.get(op)
        return isinstance(known, KnownNumber) and known.constant is not None

    def _is_known(self, known: Known | None) -> bool:
        return self.integers.constant(known) is not None

    def _is_one_product(self, op: Operation) -> bool:
        """Whether a value is a product of integers of 32 bits, or its low half alone: one instruction."""
        if not isinstance(op, Binary) or op.kind is not ast.Mult:
            return False
        known = self.found.values.get(op)
        if not isinstance(known, KnownNumber) or known.dtype is None or known.dtype.kind not in "iu":
            return False
        return self.halves.is_low(op) or self.halves.fits(op.left, op.right)

    def _of_unsigned(
        self, op: Operation, kind: type[ast.operator], sides: Sequence[Known | None], dtypes: Sequence[np.dtype]
    ) -> int | None:
        """Of integers that cannot be negative; None for what costs as much as with a sign."""
        divisor = self.integers.constant(sides[1])
        if kind in (ast.FloorDiv, ast.Mod):
            if divisor is None or not _is_power(divisor):
                return None
            return 1 if kind is ast.Mod or op in self.narrow or dtypes[0].itemsize <= 4 else SHIFT
        if kind is ast.RShift and dtypes[0].itemsize == 8 and divisor is not None and divisor >= REGISTER:
            return int(divisor > REGISTER)  # of the high half
        if op in self.narrow and kind in NAMES and kind is not ast.Pow:
            return int(not (kind in BITWISE and self.is_merged(op)))
        if kind is ast.Mult and all(each.itemsize <= 4 for each in dtypes):
            return 1
        return None

    def _of_a_known_power(self, exponent: int, dtype: np.dtype) -> int:
        """Numba writes a constant whole exponent out as products: by squares, and one for each further bit."""
        products = self.products_of_a_power(exponent)
        if dtype.kind != "f":
            return products * of_integers("product")
        return products * of_floats("product", dtype) + (of_floats("reciprocal", dtype) if exponent < 0 else 0)

    @staticmethod
    def products_of_a_power(exponent: int) -> int:
        return max(0, abs(exponent).bit_length() + abs(exponent).bit_count() - 2)

    def _of_product(self, op: Operation, left: Operation, right: Operation, sides: Sequence[Known | None]) -> int:
        if self.halves.is_low(op) or self.halves.fits(left, right):
            return 1
        constants = [each for each in map(self.integers.constant, sides) if each is not None]
        if not constants:
            return of_integers("product")
        return of_integers("product with a power of two" if _is_power(constants[0]) else "product with a constant")

    def _of_floats(
        self, op: Operation, kind: type[ast.operator], dtype: np.dtype, sides: Sequence[Known | None], way: Way
    ) -> int:
        converted = 0
        if op not in self.narrowed:
            converted = of_floats("from an integer", dtype) * sum(self._is_converted(each, dtype, way) for each in sides)
        if dtype == np.float64 and isinstance(op, Binary):
            converted += sum(map(self._moves_of, op.parts()))
        if kind is ast.Div and dtype.kind == "f":
            return converted + self._of_a_quotient(op, dtype)
        if kind in (ast.Add, ast.Sub) and self.is_fused(op, dtype):
            if self._is_a_further_sum(op, way):
                return converted + of_floats("sum", dtype)
            return converted + self._second_number(op, dtype)
        if dtype.kind == "c":
            if kind is ast.Div:  # beside the arm that a lane takes
                return converted + COMPLEX[dtype.itemsize][0]
            return converted + (4 if kind is ast.Mult else 2)  # on the real and imaginary parts
        name = "floor quotient" if kind is ast.FloorDiv else NAMES.get(kind, "sum")
        return of_floats(name, dtype, is_fast=self.is_fast) + converted

    def _of_a_quotient(self, op: Operation, dtype: np.dtype) -> int:
        """Of floats. A reciprocal is not multiplied by what it is of; a number of the source is brought into registers."""
        is_fast = self.is_fast and dtype == np.float32
        op.divides_in_parts = not is_fast
        self.subroutines += not is_fast
        if dtype == np.float64 and isinstance(op, Binary) and self.is_a_reciprocal(op.left):
            return of_floats("reciprocal", dtype)
        return of_floats("quotient", dtype, is_fast=is_fast) + (NARROWED_QUOTIENT if op in self.narrowed else 0)

    def has_a_slow_way(self, op: Binary) -> bool:
        """Whether a quotient is one of floats, and none by a power of two: it has a subroutine for some numbers."""
        return self.is_real(op) and not self.is_by_a_power_of_two(op.right)

    def is_by_a_power_of_two(self, divisor: Operation) -> bool:
        """Whether a quotient's divisor is one that is known: its reciprocal is exact."""
        number = self._number(divisor)
        return bool(number) and number is not None and abs(math.frexp(number)[0]) == 0.5

    def is_a_reciprocal(self, dividend: Operation) -> bool:
        """Whether a quotient is 1 or -1 by something."""
        number = self._number(dividend)
        return number is not None and abs(number) == 1

    def is_fused(self, op: Operation, dtype: np.dtype) -> bool:
        """Whether a sum of this type is one instruction with a product: float64 adds up what float32 multiplied apart.

        A product that anything but sums needs, too, is worked out for itself, and sums add that.
        """
        if not op.multiplies or dtype.kind != "f":
            return False
        products = filter(None, map(self._product, op.parts()))
        of_type = (each for each in products if each.dtype is not None and each.dtype == dtype)
        return any((dtype, each.form, self.loop_of.get(op)) not in self.needed_alone for each in of_type)

    def _is_a_further_sum(self, op: Operation, way: Way) -> bool:
        """Whether another sum has the same product, whose instruction is taken for that one's."""
        products = filter(None, map(self._product, op.parts()))
        keys = {("multiplied and added", each.dtype, each.form) for each in products if each.form[1]}
        is_further = bool(keys) and keys <= way.done
        (self.further_sums.add if is_further else self.further_sums.discard)(op)
        way.done |= keys
        return is_further

    def _product(self, op: Operation) -> KnownNumber | None:
        known = self.found.values.get(op)
        return known if isinstance(known, KnownNumber) and known.is_product else None

    def _needed_alone(self, body: Block) -> Iterator[tuple[np.dtype | None, Form, Operation | None]]:
        """The products of floats that anything else than sums needs, and the loop where it does."""
        for each in (*self.found.values, *everything_called(body)):
            if isinstance(each, (Binary, UpdateName, UpdateElement)) and each.kind in (ast.Add, ast.Sub):
                continue
            if isinstance(each, Assign) and not any(isinstance(target, Element) for target in each.targets):
                continue
            if isinstance(each, (Binary, UpdateName, UpdateElement, Compare, FunctionCall, Assign)):
                for product in filter(None, map(self._product, each.parts())):
                    yield product.dtype, product.form, self.loop_of.get(each)

    def is_a_sum_alone(self, op: Operation) -> bool:
        """Whether a sum that would be one instruction with a product is not: all its products were computed before, or
        are one with other sums."""
        if op in self.further_sums:
            return True
        products = [each for each in op.parts() if isinstance(each, Binary) and each.kind is ast.Mult]
        return bool(products) and all(each.once and not each.slots for each in products)

    def _second_number(self, op: Operation, dtype: np.dtype) -> int:
        """Of `x * 2 - 1`: a multiply-add has room for one number of the source, of 64 bits for none beside another."""
        if self.in_a_loop:  # it is in a register before it
            return 0
        sides = op.parts() if isinstance(op, Binary) else ()
        numbers = [each for each in sides if is_literal(each, self.found) and literal_value(each, self.found)]
        products = [each for each in sides if isinstance(each, Binary) and each.kind is ast.Mult]
        if not numbers or not any(is_literal(each, self.found) for product in products for each in product.parts()):
            return 0
        moves = 1 if dtype.itemsize < 8 else MOVES - max(map(_moves, (literal_value(each, self.found) for each in numbers)))
        if not self.in_rounds:
            return moves
        self.before_rounds += moves
        return 0

    def _moves_of(self, op: Operation) -> int:
        """The instructions that bring a number of the source into registers: an operand has room for 32 bits of it."""
        if not is_literal(op, self.found):
            return 0
        moves = _moves(literal_value(op, self.found))
        if self.in_four_rounds:
            self.of_four_rounds += moves
            return 0
        if not self.in_rounds:
            return moves
        self.before_rounds += moves
        return 0

    def _is_converted(self, given: Known | None, dtype: np.dtype, way: Way) -> bool:
        """Whether an operand is converted here: it is of another type, no constant, and has not been converted before."""
        if not isinstance(given, KnownNumber) or given.dtype is None or given.dtype == dtype:
            return False
        if given.dtype.kind not in "iuf" or given.constant is not None:
            return False
        key = "converted", dtype, given.dtype, given.form
        is_new = key not in way.done
        if given.form[1]:
            way.done.add(key)
        return is_new

    def _of_division(self, op: Operation, kind: type[ast.operator], sides: Sequence[Known | None], way: Way) -> int:
        """// or %. If both have the same operands, most of the second one's work is done by the first."""
        left, right = sides
        divisor = self.integers.constant(right)
        is_power = divisor is not None and _is_power(divisor)
        dividend, by = op, op
        if isinstance(op, (Binary, UpdateName)):
            dividend, by = (op.left, op.right) if isinstance(op, Binary) else (op.read, op.operand)
        if divisor is not None and divisor > 0 and self.halves.is_natural(dividend):
            if is_power or kind is ast.FloorDiv:
                return 1 if is_power else NATURAL_QUOTIENT
            return SHORT_REMAINDER if self._is_short(dividend) else NATURAL_QUOTIENT + 1
        if divisor is None and self.halves.is_natural(dividend) and self.halves.is_natural(by):
            op.divides_in_parts = False
            return of_integers(NAMES[kind]) - LESS_OF_WORDS
        if is_power and isinstance(left, KnownNumber) and self.integers.is_positive(left.form, way):
            if self.integers.cannot_overflow(left.form):
                return of_integers("and")
        op.divides_in_parts = divisor is None
        self.subroutines += divisor is None
        if isinstance(left, KnownNumber) and isinstance(right, KnownNumber):
            key = ("divided", left.form, right.form)
            if key in way.done:
                how = "" if divisor is None else " by a constant"
                return of_integers(f"quotient{how} beside the remainder")
            way.done.add(key)
        if divisor is not None and divisor > 0 and not is_power and isinstance(left, KnownNumber):
            if self.integers.is_positive(left.form, way) or self.integers.is_positive(left.form, way.of_rounds):
                return POSITIVE_QUOTIENT if kind is ast.FloorDiv else POSITIVE_QUOTIENT + 2
        if divisor == 2 and not self.halves.fits(dividend):
            return of_integers(f"{NAMES[kind]} by a power of two") - LESS_BY_TWO
        how = " by a power of two" if is_power else "" if divisor is None or divisor <= 0 else " by a constant"
        return of_integers(NAMES[kind] + how) - (self._less(op, dividend, left, right, way) if divisor is None else 0)

    def _less(
        self, op: Operation, dividend: Operation, left: Known | None, right: Known | None, way: Way
    ) -> int:
        """The instructions that a quotient by a variable takes less than one of which nothing is known."""
        is_wide = isinstance(right, KnownNumber) and (right.dtype is None or right.dtype.itemsize == 8)
        if isinstance(right, KnownNumber) and is_wide and self.integers.is_above_zero(right.form, way):
            return LESS_BY_A_POSITIVE
        less = LESS_OF_A_WORD if self.halves.fits(dividend) else 0
        if self.in_a_loop and isinstance(self.loop_of.get(op), For) and isinstance(right, KnownNumber) and right.varies:
            less += LESS_IN_A_LOOP
        if self.in_a_loop and isinstance(left, KnownNumber) and isinstance(right, KnownNumber) and not right.varies:
            less += LESS_OF_A_POSITIVE if self.integers.is_positive(left.form, way) else 0
        return less

    def _number(self, op: Operation) -> float | None:
        """A number that stands in the source, or is known when the kernel is compiled."""
        known = self.found.values.get(op)
        constant = known.constant if isinstance(known, KnownNumber) else None
        return literal_value(op, self.found) if constant is None else float(constant)

    def is_a_rotation(self, op: Binary) -> bool:
        """Whether this is `v << n | v >> 32 - n` of unsigned numbers, one instruction for each 32 bits of the result.

        Of 64 bits whose high half is zero, the low half is such a result too.
        """
        one, other = op.left, op.right
        if op.kind is not ast.BitOr or not isinstance(one, Binary) or not isinstance(other, Binary):
            return False
        if {one.kind, other.kind} != {ast.LShift, ast.RShift}:
            return False
        given = [self.found.values.get(each.left) for each in (one, other)]
        numbers = [each for each in given if isinstance(each, KnownNumber) and each.dtype is not None]
        if len(numbers) < 2 or numbers[0].form != numbers[1].form:
            return False
        dtype = numbers[0].dtype
        if dtype is None or dtype.kind != "u":
            return False
        amounts = [self.integers.constant(self.found.values.get(each.right)) for each in (one, other)]
        if None in amounts:
            return False
        bits = sum(filter(None, amounts))
        brought_down = (one if one.kind is ast.RShift else other).left
        is_of_a_half = bits == REGISTER and self.halves.is_low(op) and self.halves.is_natural(brought_down)
        return bits == 8 * dtype.itemsize or is_of_a_half

    def _is_short(self, op: Operation) -> bool:
        """Whether 16 bits hold an integer, by its type, a mask or a shift; the compiler does not add up sums for that."""
        is_made = isinstance(op, Binary) and op.kind in (ast.Add, ast.Sub, ast.Mult)
        return not is_made and self.halves.bits(op) <= SHORT

    def width(self, op: Operation) -> int:
        """The instructions that a value of its type takes: two for an integer of 64 bits."""
        return 1 if self.halves.is_low(op) else self._of_type(op)

    def width_compared(self, *sides: Operation) -> int:
        """The instructions of a comparison: it looks at high halves unless all sides fit into low ones."""
        if self.compares_doubles(*sides):
            others = sum(self._number(each) is None and self.dtype_of(each) != np.float64 for each in sides)
            return 1 + others + sum(map(self._moves_of, sides))
        if any(map(self.is_real, sides)):
            return 1
        return 1 if self.halves.fits(*sides) else max(map(self._of_type, sides))

    def compares_doubles(self, *sides: Operation) -> bool:
        """Whether a comparison is one of float64: of a float with an integer, too, unless float32 holds that number."""
        dtypes = [self.dtype_of(each) for each in sides]
        if not any(map(self.is_real, sides)) or any(each is None for each in dtypes):
            return False
        numbers = zip(map(self._number, sides), dtypes, strict=True)
        return any(
            number is None or float(np.float32(number)) != number
            for number, dtype in numbers
            if dtype not in (np.float32, np.float16)
        )

    def dtype_of(self, op: Operation) -> np.dtype | None:
        known = self.found.values.get(op)
        return known.dtype if isinstance(known, KnownNumber) else None

    def _of_type(self, op: Operation) -> int:
        known = self.found.values.get(op)
        if isinstance(known, KnownNumber) and known.dtype is not None and known.constant is None:
            return 2 if known.dtype.itemsize == 8 and known.dtype.kind in "iu" else 1
        return 1


def _loops(body: Block) -> list[Operation]:
    """The loops of a kernel and of what it calls, those within others behind them."""
    found = [each for each in everything_called(body) if isinstance(each, (For, While))]
    return sorted(found, key=lambda loop: -len(everything_in(loop)))


def _narrow(found: Found) -> frozenset[Operation]:
    """Unsigned arithmetic that is for nothing but places in shared memory and in registers: 32 bits of it are used."""
    narrow: set[Operation] = set()
    wide: set[Operation] = set()
    for reached in found.reached.values():
        is_small = reached.array.space in ("shared", "local") and reached.are_unsigned
        (narrow if is_small else wide).update(reached.made_by)
    for op, _ in found.values.items():
        if isinstance(op, Compare):
            for each in (op.left, *op.others):
                known = found.values.get(each)
                wide.update(known.made_by if isinstance(known, KnownNumber) else ())
    return frozenset(narrow - wide)


def _in_places(found: Found) -> frozenset[Operation]:
    """Integer arithmetic that is for nothing but indices which lie at fixed distances: of global memory, the last ones."""
    inside: set[Operation] = set()
    outside: set[Operation] = set()
    for reached in found.reached.values():
        if reached.array.space in ("shared", "local"):
            inside.update(reached.made_by)
        else:
            inside.update(reached.last_made_by)
            outside.update(frozenset(reached.made_by).difference(reached.last_made_by))
    for op in found.values:
        if isinstance(op, (Binary, Subscript)):
            continue
        for each in op.parts():
            known = found.values.get(each)
            outside.update(known.made_by if isinstance(known, KnownNumber) else ())
    return frozenset(inside - outside)


def _of_small_arrays(found: Found) -> frozenset[Operation]:
    """The arithmetic that indices of shared and local memory are made by."""
    small = (each for each in found.reached.values() if each.array.space in ("shared", "local"))
    return frozenset(op for each in small for op in each.made_by)


def _is_power(number: int) -> bool:
    return number > 0 and not number & (number - 1)


def _moves(value: float | None) -> int:
    """The instructions that bring a number into registers: an operand has room for the high half of a float64."""
    return MOVES if value is not None and np.float64(value).view(np.uint64) & 0xFFFFFFFF else 0
