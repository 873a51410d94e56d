"""Arithmetic on lane vectors, counted, in Numba's types (numba_types.py) and not NumPy's."""

from __future__ import annotations

import ast
import operator

import numpy as np

from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.exceptions import DivisionByZero
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.long_quotients import count_complex_quotient, count_long_quotients, may_be_long
from autograder.simgpu.operations.number_values import number
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.powers import count_rounds, may_have_rounds
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.values import NUMBERS, Lanes, Number, Value

OPERATORS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
}
SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
SHORT_DIVISION = 18  # machine instructions, see `_count_parts`
MOST_ITEMS = 1000  # of a tuple, which Numba keeps in registers
SIMPLE = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}  # on two scalars
BY_A_SCALAR = {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}  # where that is positive
DATES = "mM"  # kinds of dtype: timedelta64 and datetime64
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
SPECIAL = (ast.Div, ast.Pow)  # computed by the special-function units or in software
OPERATION_SLOT = {2: SLOT["float16_operations"], 4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}
INTEGER_SLOT = SLOT["integer_operations"]
SPECIAL_SLOT = SLOT["special_operations"]


class Rule:
    """What has been found out about one of + - * on operands of two types: integers, or floats that stay as wide.

    And about // and % of integers, whose right operand then is a positive scalar.
    """

    __slots__ = (
        "kind", "left", "right", "dtype", "is_folded", "is_fused", "is_integer", "slot", "compute", "compute_scalars",
        "divides", "left_class", "right_class", "as_left", "as_right",
    )  # fmt: skip

    def __init__(
        self, kind: type[ast.operator], left: np.dtype, right: np.dtype, dtype: np.dtype, is_folded: bool,
        multiplies: bool,
    ) -> None:  # fmt: skip
        self.kind, self.left, self.right, self.dtype = kind, left, right, dtype
        self.is_folded = is_folded
        self.is_integer = dtype.kind in "iu"
        self.is_fused = multiplies and not self.is_integer and kind is not ast.Mult  # one instruction with that
        self.slot = INTEGER_SLOT if self.is_integer else OPERATION_SLOT[dtype.itemsize]
        self.compute = OPERATORS[kind]
        self.compute_scalars = SIMPLE.get(kind) or BY_A_SCALAR[kind]
        self.divides = kind in BY_A_SCALAR
        self.left_class, self.right_class = left.type, right.type  # of scalars
        self.as_left, self.as_right = (None if each is dtype else dtype.type for each in (left, right))  # makes them wider

    def apply(self, machine: Machine, op: Operation, left: Number, right: Number, mask: Mask) -> Number:
        """The result for operands of these types, counted."""
        books = machine.books
        row = books.left_out(op, mask) if self.is_folded else books.instruction(op, mask)
        row[self.slot] += mask.active
        if self.is_fused:
            books.fused(row, mask)
        if left.__class__ is self.left_class and right.__class__ is self.right_class:
            if self.as_left is not None:
                left = self.as_left(left)
            if self.as_right is not None:
                right = self.as_right(right)
            simple: Number = self.compute_scalars(left, right)
            return simple
        if self.is_integer:
            return integer_vector(machine, op, self.kind, self.dtype, left, right)
        result: Number = self.compute(left, right)
        return result


def is_divisor(right: Number) -> bool:
    """Whether nothing can go wrong where integers are divided by this: a positive scalar."""
    return isinstance(right, np.integer) and bool(right > 0)


def by_rule(
    machine: Machine, op: Operation, kind: type[ast.operator], rule: Rule | None, left: Value, right: Value, mask: Mask
) -> Value:
    """What `binary` gives, where it may be known already what to do with operands of these types."""
    if rule is not None:
        if isinstance(left, rule.left_class) or isinstance(left, np.ndarray) and left.dtype is rule.left:
            if isinstance(right, rule.right_class) or isinstance(right, np.ndarray) and right.dtype is rule.right:
                if not rule.divides or is_divisor(right):
                    return rule.apply(machine, op, left, right, mask)
    return binary(machine, op, kind, left, right, mask)


def binary(
    machine: Machine, op: Operation, kind: type[ast.operator], left: Value, right: Value, mask: Mask
) -> Value:
    """`left op right` in Numba's types, counted as arithmetic of its type."""
    if isinstance(left, tuple) and isinstance(right, tuple) and kind is ast.Add:
        if len(left) + len(right) > MOST_ITEMS:
            raise op.fault(f"A tuple in a kernel has at most {MOST_ITEMS:,} items.")
        return left + right
    if not isinstance(left, NUMBERS) or not isinstance(right, NUMBERS):
        own = structured.operated(machine, op, kind, (left, right), mask)
        if own is not None:
            return own[0]
    left, right = number(left, op), number(right, op)
    if left.dtype.kind in DATES or right.dtype.kind in DATES:
        return date_arithmetic(machine, op, OPERATORS[kind], left, right, mask)
    try:
        compute, result = nt.operator_types(kind, left.dtype, right.dtype)
    except (TypeError, KeyError):
        raise op.fault(f"Numba has no `{SYMBOLS[kind]}` for {left.dtype} and {right.dtype} in a kernel.") from None
    if kind in DIVISIONS:
        machine.raise_in_debug(op, right == 0, mask, DivisionByZero, "division by zero")
    is_widened = left.dtype != compute or right.dtype != compute
    if (kind in SIMPLE and (compute.kind in "iu" or compute.kind == "f" and not is_widened)) or (
        kind in BY_A_SCALAR and compute.kind in "iu" and is_divisor(right) and not op.divides_in_parts
    ):
        rule = Rule(kind, left.dtype, right.dtype, compute, op.is_folded, op.multiplies)
        if hasattr(op, "rule"):
            op.rule = rule
        return rule.apply(machine, op, left, right, mask)
    row = machine.books.left_out(op, mask) if op.is_folded else machine.books.instruction(op, mask)
    count_arithmetic(row, compute, mask, is_special=kind in SPECIAL, is_product=kind is ast.Mult)
    if compute.kind == "f" and kind in (ast.Add, ast.Sub) and op.multiplies:
        machine.books.fused(row, mask)
    if compute.kind == "f" and compute.itemsize == 8:
        _notice_float64(machine, op, left, right, mask)
    if compute.kind in "iu":
        if kind in (ast.FloorDiv, ast.Mod) and not np.all(right):
            _notice_division(machine, op, right, mask)
        if op.divides_in_parts:
            _count_parts(machine, op, compute, left, right, mask)
        if kind is not ast.Pow and (isinstance(left, np.ndarray) or isinstance(right, np.ndarray)):
            return integer_vector(machine, op, kind, compute, left, right)
    if kind is ast.Pow and op.divides_in_parts and may_have_rounds(compute, right.dtype):
        count_rounds(machine, op, compute, right, mask)
    left, right = left.astype(compute, copy=False), right.astype(compute, copy=False)
    if compute.kind in "iu" and kind is ast.Pow:
        return _integer_power(left, right)
    value: Number = OPERATORS[kind](left, right)
    if kind is ast.Div and compute.kind == "c":
        count_complex_quotient(machine, op, right, mask)
    elif may_be_long(op, kind, compute):
        count_long_quotients(machine, op, left, right, value, mask)
    return value if value.dtype == result else value.astype(result)


def long_division(dtype: np.dtype) -> int:
    """The machine instructions of the subroutine that divides integers of a type of 64 bits."""
    return 66 if dtype.kind == "u" else 87


def _count_parts(
    machine: Machine, op: Operation, dtype: np.dtype, left: Number, right: Number, mask: Mask
) -> None:
    """Lanes whose numbers are negative or have more than 32 bits call a subroutine, and skip the quick division."""
    wide = np.right_shift(np.bitwise_or(left.astype(np.int64), right.astype(np.int64)), 32) != 0
    apart = mask.only(np.broadcast_to(wide, mask.lanes.shape))
    if apart.active:
        machine.books.has_parted = True
        machine.books.issued(op, apart, long_division(dtype))
        machine.books.issued(op, mask, -SHORT_DIVISION)
        machine.books.issued(op, mask.only(~apart.lanes), SHORT_DIVISION)


def integer_vector(
    machine: Machine, op: Operation, kind: type[ast.operator], dtype: np.dtype, left: Number, right: Number
) -> Lanes:
    """Integer arithmetic on lane vectors, which is mostly the making of indices, and in loops the same ones again.

    Operands that are the very objects of the last time give the very result of the last time. Where only a scalar is
    added it is noted to which vector: memory can then see an access that moves along.
    """
    known = machine.integers.get((op, kind))
    if known is not None and _same_operand(known[0], left) and _same_operand(known[1], right):
        return known[2]
    result: Lanes = OPERATORS[kind](left.astype(dtype, copy=False), right.astype(dtype, copy=False))
    if known is not None:
        machine.sums.forget(known[2])
    machine.integers[op, kind] = (left, right, result)
    if kind in (ast.Add, ast.Sub):
        if isinstance(left, np.ndarray) and isinstance(right, np.generic):
            machine.sums.note(result, left, right, kind is ast.Sub)
        elif isinstance(right, np.ndarray) and isinstance(left, np.generic) and kind is ast.Add:
            machine.sums.note(result, right, left)
    return result


def count_arithmetic(
    row: list[int], dtype: np.dtype, mask: Mask, *, is_special: bool = False, is_product: bool = False
) -> None:
    """Adds an operation of this type per active lane to a row; one on complex numbers is several on their parts."""
    if dtype.kind == "f":
        row[OPERATION_SLOT[dtype.itemsize]] += mask.active
        if is_special:
            row[SPECIAL_SLOT] += mask.active
    elif dtype.kind == "c":
        row[OPERATION_SLOT[dtype.itemsize // 2]] += mask.active * (6 if is_product else 2)
    else:
        row[INTEGER_SLOT] += mask.active


def date_arithmetic(
    machine: Machine, op: Operation, compute: np.ufunc, left: Number, right: Number, mask: Mask
) -> Number:
    """Dates and times, which are 64-bit integers with a unit: NumPy knows what may be added to what."""
    machine.books.instruction(op, mask)[INTEGER_SLOT] += mask.active
    try:
        result: Number = compute(left, right)
        return result
    except TypeError:
        raise op.fault(f"Numba has no such operation for {left.dtype} and {right.dtype}.") from None


def _notice_float64(machine: Machine, op: Operation, left: Number, right: Number, mask: Mask) -> None:
    """Reports float32 data drawn into float64 arithmetic, with the literal that did it where there is one."""
    narrow = {2, 4}
    if not any(v.dtype.kind == "f" and v.dtype.itemsize in narrow for v in (left, right)):
        return
    literal = next((n for n in ast.iter_child_nodes(op.node) if _is_float_literal(n)), None)
    other = next((v for v in (left, right) if not (v.dtype.kind == "f" and v.dtype.itemsize in narrow)), None)
    if other is None:
        return
    if literal is not None:
        why = f"the literal {ast.unparse(literal)} is float64"
        remedy = f"Write np.float32({ast.unparse(literal)}) to stay in float32."
    elif other.dtype.kind in "iu":
        why = f"Numba computes float32 with {other.dtype} in float64"
        remedy = "Convert the integer with np.float32(...) first."
    else:
        why = "the other operand is float64"
        remedy = "Start it as np.float32(...), for example `total = np.float32(0)`."
    machine.reports.report(
        "accidental_float64", op, lane=int(mask.where[0]) if mask.active else 0, severity="warning",
        message=f"float32 values are computed in float64 here: {why}.",
        remedy=remedy + " (float64 runs at 1/2 to 1/64 of the float32 rate, depending on the GPU.)",
    )  # fmt: skip


def _notice_division(machine: Machine, op: Operation, right: Number, mask: Mask) -> None:
    zero = np.flatnonzero(mask.lanes & np.broadcast_to(right == 0, mask.lanes.shape))
    if len(zero):
        machine.reports.report(
            "launch", op, lane=int(zero[0]), severity="warning", occurrences=len(zero),
            message="Divides an integer by zero: on the GPU the result is undefined, and nothing stops.",
            remedy="Make sure that the divisor is not zero.",
        )  # fmt: skip


def _same_operand(one: Number, other: Number) -> bool:
    return one is other or one.__class__ is other.__class__ is not np.ndarray and bool(one == other)


def _is_float_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _integer_power(base: Number, exponent: Number) -> Number:
    """`base ** exponent` in integers; a negative power is 1 over the positive one, cut to an integer."""
    negative = np.less(exponent, 0)
    if not np.any(negative):
        return np.power(base, exponent)
    power = np.power(base, np.abs(exponent))
    inverse = np.where(np.abs(base) == 1, power, 0)
    inverse = np.where(base == 0, np.iinfo(np.int64).min, inverse)  # as Numba has it on GPUs, where nothing is raised
    return np.where(negative, inverse, power)[()]
