"""Arithmetic, comparisons and conditions on lane vectors, in Numba's types (numba_types.py), not NumPy's."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.exceptions import DivisionByZero
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.callables import Range
from autograder.simgpu.operations.number_values import TEXTS, merged, number, truth
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import Expression
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
COMPARISONS = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
LONG_DIVISION, SHORT_DIVISION = 87, 18  # machine instructions, see `_count_parts`
MOST_ITEMS = 1000  # of a tuple, which Numba keeps in registers
SIMPLE = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}  # on two scalars
DATES = "mM"  # kinds of dtype: timedelta64 and datetime64
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
SPECIAL = (ast.Div, ast.Pow)  # computed by the special-function units or in software
OPERATION_SLOT = {2: SLOT["float16_operations"], 4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}
INTEGER_SLOT = SLOT["integer_operations"]
SPECIAL_SLOT = SLOT["special_operations"]


class Binary(Expression):
    """`left op right`."""

    __slots__ = ("kind", "left", "right", "rule")

    def __init__(
        self, node: ast.AST, function: Function, kind: type[ast.operator], left: Expression, right: Expression
    ) -> None:
        super().__init__(node, function)
        self.kind, self.left, self.right = kind, left, right
        self.rule: Rule | None = None

    def value(self, machine: Machine, mask: Mask) -> Value:
        left = self.left.value(machine, mask)
        return by_rule(machine, self, self.kind, self.rule, left, self.right.value(machine, mask), mask)


class Unary(Expression):
    """`-x`, `+x`, `~x` or `not x`."""

    __slots__ = ("kind", "operand")

    def __init__(self, node: ast.AST, function: Function, kind: type[ast.unaryop], operand: Expression) -> None:
        super().__init__(node, function)
        self.kind, self.operand = kind, operand

    def value(self, machine: Machine, mask: Mask) -> Value:
        operand = self.operand.value(machine, mask)
        if self.kind is ast.Not:
            machine.books.left_out(self, mask)  # the compiler asks for the opposite instead
            return np.logical_not(truth(operand, self))
        value = number(operand, self)
        row = machine.books.instruction(self, mask)
        if value.dtype == nt.BOOL:
            value = value.astype(nt.INT64)
        count_arithmetic(row, value.dtype, mask)
        if self.kind is ast.USub:
            value = np.negative(value)
        elif self.kind is ast.Invert:
            if value.dtype.kind not in "iu":
                raise self.fault(f"`~` needs an integer, not {value.dtype}.")
            value = np.invert(value)
        if value.dtype.kind in "iu":  # Numba widens the result, not the operand: -uint8(9) is 247
            value = value.astype(nt.UINT64 if value.dtype.kind == "u" else nt.INT64)
        return value


class Compare(Expression):
    """A comparison, chained ones included: `0 <= i < a[i]` evaluates `a[i]` only where `0 <= i`."""

    __slots__ = ("kinds", "left", "others", "are_plain")

    def __init__(
        self, node: ast.AST, function: Function, left: Expression, kinds: Sequence[type[ast.cmpop]],
        others: Sequence[Expression], are_plain: Sequence[bool],
    ) -> None:  # fmt: skip
        """`are_plain`: of which of the `others` it makes no difference who works them out: names and constants."""
        super().__init__(node, function)
        self.left, self.kinds, self.others, self.are_plain = left, kinds, others, are_plain

    def value(self, machine: Machine, mask: Mask) -> Value:
        left = self.left.value(machine, mask)
        result: Number | None = None
        asking = mask
        for kind, other, is_plain in zip(self.kinds, self.others, self.are_plain, strict=True):
            if result is not None and not is_plain:
                asking = asking.only(np.broadcast_to(result, mask.lanes.shape))
                if not asking.active:
                    return result
            right = other.value(machine, asking)
            one = compare(machine, self, kind, left, right, mask)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result


class Junction(Expression):
    """`and` / `or`: what stands further right is evaluated only by the lanes that still need it."""

    __slots__ = ("is_and", "operands", "plain", "plain_slots", "part_slots", "is_met_behind")

    def __init__(self, node: ast.AST, function: Function, is_and: bool, operands: Sequence[Expression]) -> None:
        super().__init__(node, function)
        self.is_and, self.operands = is_and, operands
        self.plain = 0  # operands behind the first that all lanes work out, since that is no more than arithmetic
        self.is_met_behind = False  # lanes that need no more operands wait for the others
        self.part_slots = 0  # machine instructions with which the others go on asking
        self.plain_slots = 0  # and the machine instructions that they take

    def value(self, machine: Machine, mask: Mask) -> Value:
        value = self.operands[0].value(machine, mask)
        asking = mask
        if self.plain_slots:
            machine.books.issued(self, mask, self.plain_slots)
        for place, each in enumerate(self.operands[1:]):
            holds = truth(value, self)
            if not isinstance(holds, np.ndarray):
                if bool(holds) != self.is_and:
                    return value
                value = self._next(machine, asking, each, place)
                continue
            asked = asking
            asking = asking.only(holds if self.is_and else ~holds)
            if self.is_met_behind and place >= self.plain and asking is not asked:
                machine.books.issued(self, asked.without(asking.lanes))
            if not asking.active:
                return value
            if place >= self.plain and self.part_slots:
                machine.books.issued(self, asking, self.part_slots)
            value = merged(self, asking.lanes, self._next(machine, asking, each, place), value)
        return value

    def _next(self, machine: Machine, asking: Mask, operand: Expression, place: int) -> Value:
        if place >= self.plain:
            return operand.value(machine, asking)
        machine.books.in_short_arms += 1
        value = operand.value(machine, asking)
        machine.books.in_short_arms -= 1
        return value


class Selection(Expression):
    """`yes if condition else no`."""

    __slots__ = ("condition", "yes", "no", "joins", "short_arms")

    def __init__(
        self, node: ast.AST, function: Function, condition: Expression, yes: Expression, no: Expression
    ) -> None:
        super().__init__(node, function)
        self.condition, self.yes, self.no = condition, yes, no
        self.joins: frozenset[Operation] = frozenset()  # accesses that the compiler has once for both sides
        self.short_arms = 0  # instructions of sides so short that all lanes go through both; 0 where there is a branch

    def value(self, machine: Machine, mask: Mask) -> Value:
        holds = truth(self.condition.value(machine, mask), self)
        machine.books.instruction(self, mask)
        if self.short_arms:
            machine.books.issued(self, mask, self.short_arms)
            machine.books.in_short_arms += 1
        value = self._selected(machine, holds, mask)
        if self.short_arms:
            machine.books.in_short_arms -= 1
        if self.joins:
            machine.counting.end_arms(self.joins)
        return value

    def _selected(self, machine: Machine, holds: Number, mask: Mask) -> Value:
        if not isinstance(holds, np.ndarray):
            return (self.yes if holds else self.no).value(machine, mask)
        yes, no = mask.only(holds), mask.only(~holds)
        if not no.active:
            return self.yes.value(machine, yes)
        if not yes.active:
            return self.no.value(machine, no)
        return merged(self, yes.lanes, self.yes.value(machine, yes), self.no.value(machine, no))


# -- what they share with the functions that do the same -------------------------------------------------------------


class Rule:
    """What has been found out about one of + - * on operands of two types: integers, or floats that stay as wide."""

    __slots__ = ("kind", "left", "right", "dtype", "is_folded", "is_fused", "is_integer", "slot", "compute")

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

    def apply(self, machine: Machine, op: Operation, left: Number, right: Number, mask: Mask) -> Number:
        """The result for operands of these types, counted."""
        books = machine.books
        row = books.left_out(op, mask) if self.is_folded else books.instruction(op, mask)
        row[self.slot] += mask.active
        if self.is_fused:
            books.fused(row, mask)
        if not self.is_integer:
            result: Number = self.compute(left, right)
            return result
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return integer_vector(machine, op, self.kind, self.dtype, left, right)
        simple: Number = SIMPLE[self.kind](left.astype(self.dtype), right.astype(self.dtype))
        return simple


def by_rule(
    machine: Machine, op: Operation, kind: type[ast.operator], rule: Rule | None, left: Value, right: Value, mask: Mask
) -> Value:
    """What `binary` gives, where it may be known already what to do with operands of these types."""
    if rule is not None and isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        if rule.left is left.dtype and rule.right is right.dtype:
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
    left, right = number(left, op), number(right, op)
    if left.dtype.kind in DATES or right.dtype.kind in DATES:
        return date_arithmetic(machine, op, kind, left, right, mask)
    try:
        compute, result = nt.operator_types(kind, left.dtype, right.dtype)
    except (TypeError, KeyError):
        raise op.fault(f"Numba has no `{SYMBOLS[kind]}` for {left.dtype} and {right.dtype} in a kernel.") from None
    if kind in DIVISIONS:
        machine.raise_in_debug(op, right == 0, mask, DivisionByZero, "division by zero")
    is_widened = left.dtype != compute or right.dtype != compute
    if kind in SIMPLE and (compute.kind in "iu" or compute.kind == "f" and not is_widened):
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
            _count_parts(machine, op, left, right, mask)
        if kind is not ast.Pow and (isinstance(left, np.ndarray) or isinstance(right, np.ndarray)):
            return integer_vector(machine, op, kind, compute, left, right)
    left, right = left.astype(compute, copy=False), right.astype(compute, copy=False)
    if compute.kind in "iu" and kind is ast.Pow:
        return _integer_power(left, right)
    value: Number = OPERATORS[kind](left, right)
    return value if value.dtype == result else value.astype(result)


def _count_parts(machine: Machine, op: Operation, left: Number, right: Number, mask: Mask) -> None:
    """Lanes whose numbers are negative or have more than 32 bits call a subroutine, and skip the quick division."""
    wide = np.right_shift(np.bitwise_or(left.astype(np.int64), right.astype(np.int64)), 32) != 0
    apart = mask.only(np.broadcast_to(wide, mask.lanes.shape))
    if apart.active:
        machine.books.issued(op, apart, LONG_DIVISION)
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
    if kind in (ast.Add, ast.Sub) and dtype.kind == "i":
        if isinstance(left, np.ndarray) and isinstance(right, np.generic):
            machine.sums.note(result, left, int(right) if kind is ast.Add else -int(right))
        elif isinstance(right, np.ndarray) and isinstance(left, np.generic) and kind is ast.Add:
            machine.sums.note(result, right, int(left))
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


def compare(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: Value, right: Value, mask: Mask
) -> Number:
    """One comparison of two values, counted."""
    if kind in (ast.Is, ast.IsNot):
        same = left is right
        if getattr(left, "enumeration", None) is not getattr(right, "enumeration", None):
            same = False
        elif all(isinstance(each, (np.ndarray, np.generic, tuple)) for each in (left, right)):
            equal = compare(machine, op, ast.Eq, left, right, mask)  # values have no identity in a kernel
            return equal if kind is ast.Is else np.logical_not(equal)
        return np.bool_(same if kind is ast.Is else not same)
    if isinstance(left, tuple) and isinstance(right, tuple) and kind in (ast.Eq, ast.NotEq):
        equal = np.bool_(len(left) == len(right))
        for a, b in zip(left, right, strict=False):
            equal = np.logical_and(equal, compare(machine, op, ast.Eq, a, b, mask))
        return equal if kind is ast.Eq else np.logical_not(equal)
    if kind not in COMPARISONS:
        found = _is_in(machine, op, left, right, mask)
        return found if kind is ast.In else np.logical_not(found)
    if kind in (ast.Eq, ast.NotEq) and (left is None or right is None):
        return np.bool_((left is right) == (kind is ast.Eq))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _tuples_by_order(machine, op, kind, left, right, mask)
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return _compare_texts(machine, op, kind, left, right, mask)
    if any(isinstance(each, NUMBERS) and each.dtype.kind in TEXTS for each in (left, right)):
        return _compare_texts(machine, op, kind, left, right, mask)
    left, right = number(left, op), number(right, op)
    if left.dtype.kind in DATES or right.dtype.kind in DATES:
        return date_arithmetic(machine, op, kind, left, right, mask)
    row = machine.books.instruction(op, mask)
    are_whole = left.dtype.kind in "iub" and right.dtype.kind in "iub"  # signed and unsigned ones compare by value
    if left.dtype != right.dtype and not are_whole:
        wide = nt.common(left.dtype, right.dtype)
        left, right = left.astype(wide), right.astype(wide)
    is_whole = left.dtype.kind in "iub"
    row[INTEGER_SLOT if is_whole else OPERATION_SLOT.get(left.dtype.itemsize, INTEGER_SLOT)] += mask.active
    result: Number = COMPARISONS[kind](left, right)
    return result


def _is_in(machine: Machine, op: Operation, left: Value, right: Value, mask: Mask) -> Number:
    """Whether a value is equal to an item of a tuple, or to a number of a range."""
    found: Number = np.bool_(False)
    if isinstance(right, tuple):
        for each in right:
            found = np.logical_or(found, compare(machine, op, ast.Eq, left, each, mask))
        return found
    if not isinstance(right, Range):
        raise op.fault("`in` in a kernel looks through a tuple or a range only.", "Write a loop that compares with each.")
    value, bounds = number(left, op), [number(each, op) for each in right.bounds]
    zero, one = np.int64(0), np.int64(1)
    start, stop = (zero, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else one
    machine.books.instruction(op, mask)[INTEGER_SLOT] += mask.active
    up = np.logical_and(np.less_equal(start, value), np.less(value, stop))
    down = np.logical_and(np.less(stop, value), np.less_equal(value, start))
    hits = np.equal(np.remainder(np.subtract(value, start), step), zero)
    return np.logical_and(np.where(np.greater(step, zero), up, down), hits)


def _tuples_by_order(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: tuple[Value, ...], right: tuple[Value, ...], mask: Mask
) -> Number:
    """Tuples compared as Python does: by their first items that differ, else by their lengths."""
    result: Number = COMPARISONS[kind](np.int64(len(left)), np.int64(len(right)))
    strict = ast.Lt if kind in (ast.Lt, ast.LtE) else ast.Gt
    for one, other in reversed(list(zip(left, right, strict=False))):
        equal = compare(machine, op, ast.Eq, one, other, mask)
        result = np.where(equal, result, compare(machine, op, strict, one, other, mask))[()]
    return result


def _compare_texts(
    machine: Machine, op: Operation, kind: type[ast.cmpop], left: Value, right: Value, mask: Mask
) -> Number:
    """Texts are equal or not, with each other and with elements of an array of texts."""
    texts = [each for each in (left, right) if isinstance(each, (str, bytes, np.ndarray, np.generic))]
    kinds = {np.asarray(each).dtype.kind for each in texts}
    if kind not in (ast.Eq, ast.NotEq) or len(texts) < 2 or kinds not in ({"U"}, {"S"}):
        raise op.fault("A text can only be compared with a text, by == or !=.")
    machine.books.instruction(op, mask)
    result: Number = COMPARISONS[kind](*(np.asarray(each)[()] for each in texts))
    return result


_DATE_OPERATORS: dict[type, np.ufunc] = dict([*OPERATORS.items(), *COMPARISONS.items()])


def date_arithmetic(
    machine: Machine, op: Operation, kind: type[ast.operator] | type[ast.cmpop], left: Number, right: Number, mask: Mask
) -> Number:
    """Dates and times, which are 64-bit integers with a unit: NumPy knows what may be added to what."""
    machine.books.instruction(op, mask)[INTEGER_SLOT] += mask.active
    try:
        result: Number = _DATE_OPERATORS[kind](left, right)
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
    if one is other:
        return True
    return isinstance(one, np.generic) and isinstance(other, np.generic) and one.dtype == other.dtype and one == other


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
