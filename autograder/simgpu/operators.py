"""Arithmetic, comparisons and conditions on lane vectors, in Numba's types (numba_types.py), not NumPy's."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu import numba_types as nt
from autograder.simgpu.exceptions import DivisionByZero
from autograder.simgpu.intrinsics import CALLS, advice_instead_of
from autograder.simgpu.lanes import Mask
from autograder.simgpu.loops import folded_arithmetic
from autograder.simgpu.memory import View
from autograder.simgpu.records import Record
from autograder.simgpu.tally import SLOT, THREAD_INSTRUCTIONS, WARP_INSTRUCTIONS
from autograder.simgpu.variables import Unmergeable, merge

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

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
MOST_ITEMS = 1000  # of a tuple, which Numba keeps in registers
NUMBERS = (np.ndarray, np.generic)
SIMPLE = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}  # on two scalars
TEXTS = "SU"  # kinds of dtype: elements of an array of texts
DATES = "mM"  # kinds of dtype: timedelta64 and datetime64
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
SPECIAL = (ast.Div, ast.Pow)  # computed by the special-function units or in software
OPERATION_SLOT = {2: SLOT["float16_operations"], 4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}
INTEGER_SLOT = SLOT["integer_operations"]
SPECIAL_SLOT = SLOT["special_operations"]


class Plan:
    """What `binary` has found out about one of + - * on operands of two types: integers, or floats that stay as wide."""

    __slots__ = ("kind", "left", "right", "dtype", "function", "is_folded", "is_fused", "is_integer", "slot", "compute")

    def __init__(
        self, kind: type[ast.operator], left: np.dtype, right: np.dtype, dtype: np.dtype, function: Function,
        is_folded: bool, multiplies: bool,
    ) -> None:  # fmt: skip
        self.kind, self.left, self.right, self.dtype, self.function = kind, left, right, dtype, function
        self.is_folded = is_folded
        self.is_integer = dtype.kind in "iu"
        self.is_fused = multiplies and not self.is_integer and kind is not ast.Mult  # one instruction with that
        self.slot = INTEGER_SLOT if self.is_integer else OPERATION_SLOT[dtype.itemsize]
        self.compute = OPERATORS[kind]

    def fits(self, kind: type[ast.operator], left: np.dtype, right: np.dtype, function: Function) -> bool:
        return self.left is left and self.right is right and self.kind is kind and self.function is function


class Operators:
    """The operators of expressions; part of `Interpreter`."""

    def binary_operation(self: Interpreter, node: ast.BinOp, mask: Mask) -> Any:
        left = self.evaluate(node.left, mask)
        right = self.evaluate(node.right, mask)
        return self.binary(node, node.op, left, right, mask)

    def binary(self: Interpreter, node: ast.AST, op: ast.operator, left: Any, right: Any, mask: Mask) -> Any:
        """`left op right` in Numba's types, counted as arithmetic of its type."""
        kind = type(op)
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
            plan = self._plans.get(node)
            if plan is not None and plan.fits(kind, left.dtype, right.dtype, self.frame.function):
                return self.as_planned(plan, node, left, right, mask)
        elif isinstance(left, tuple) and isinstance(right, tuple) and kind is ast.Add:
            if len(left) + len(right) > MOST_ITEMS:
                raise self.fault(node, f"A tuple in a kernel has at most {MOST_ITEMS:,} items.")
            return left + right
        left, right = self.number(left, node), self.number(right, node)
        if left.dtype.kind in DATES or right.dtype.kind in DATES:
            return self.date_arithmetic(node, kind, left, right, mask)
        try:
            compute, result = nt.operator_types(kind, left.dtype, right.dtype)
        except (TypeError, KeyError):
            raise self.fault(
                node, f"Numba has no `{SYMBOLS[kind]}` for {left.dtype} and {right.dtype} in a kernel."
            ) from None
        if kind in DIVISIONS:
            self.raise_in_debug(node, right == 0, mask, DivisionByZero, "division by zero")
        is_folded = id(node) in folded_arithmetic(self.frame.function)
        is_widened = left.dtype != compute or right.dtype != compute
        if kind in SIMPLE and (compute.kind in "iu" or compute.kind == "f" and not is_widened):
            plan = Plan(kind, left.dtype, right.dtype, compute, self.frame.function, is_folded, _multiplies(node))
            self._plans[node] = plan
            return self.as_planned(plan, node, left, right, mask)
        if not is_folded:
            self.count_arithmetic(self.count_instruction(node, mask), node, kind, compute, mask)
        if compute.kind == "f" and compute.itemsize == 8:
            self.notice_float64(node, left, right, mask)
        if compute.kind in "iu":
            if kind in (ast.FloorDiv, ast.Mod) and not np.all(right):
                self.notice_division(node, right, mask)
            if kind is not ast.Pow and (isinstance(left, np.ndarray) or isinstance(right, np.ndarray)):
                return self.integer_vector(node, kind, compute, left, right)
        if left.dtype != compute:
            left = left.astype(compute)
        if right.dtype != compute:
            right = right.astype(compute)
        if compute.kind in "iu" and kind is ast.Pow:
            return _integer_power(left, right)
        value = OPERATORS[kind](left, right)
        return value if value.dtype == result else value.astype(result)

    def as_planned(self: Interpreter, plan: Plan, node: ast.AST, left: Any, right: Any, mask: Mask) -> Any:
        if not plan.is_folded:
            row = self.count_instruction(node, mask)
            row[plan.slot] += mask.active
            if plan.is_fused:
                row[WARP_INSTRUCTIONS] -= mask.warps
                row[THREAD_INSTRUCTIONS] -= mask.active
        if not plan.is_integer:
            return plan.compute(left, right)
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return self.integer_vector(node, plan.kind, plan.dtype, left, right)
        return SIMPLE[plan.kind](left.astype(plan.dtype), right.astype(plan.dtype))

    def integer_vector(self: Interpreter, node: ast.AST, kind: type, dtype: np.dtype, left: Any, right: Any) -> Any:
        """Integer arithmetic on lane vectors, which is mostly the making of indices, and in loops the same ones again.

        Operands that are the very objects of the last time give the very result of the last time. Where only a scalar
        is added, `origin_of` remembers the vector it was added to: memory can then see an access that moves along.
        """
        known = self._integers.get((node, kind))
        if known is not None and _same_operand(known[0], left) and _same_operand(known[1], right):
            return known[2]
        result = OPERATORS[kind](left.astype(dtype, copy=False), right.astype(dtype, copy=False))
        if known is not None:
            self._origins.pop(id(known[2]), None)
        self._integers[node, kind] = (left, right, result)
        if kind in (ast.Add, ast.Sub) and dtype.kind == "i":
            if isinstance(right, np.generic):
                vector, shift = self.origin_of(left)
                self._origins[id(result)] = (vector, shift + int(right) * (1 if kind is ast.Add else -1))
            elif isinstance(left, np.generic) and kind is ast.Add:
                vector, shift = self.origin_of(right)
                self._origins[id(result)] = (vector, shift + int(left))
        return result

    def origin_of(self: Interpreter, index: np.ndarray) -> tuple[np.ndarray, int]:
        """(vector, scalar) that an index is the sum of; itself and 0 where it was not made by adding a scalar."""
        return self._origins.get(id(index), (index, 0))

    def count_arithmetic(
        self: Interpreter, row: list[int], node: ast.AST, kind: type, dtype: np.dtype, mask: Mask
    ) -> None:
        if dtype.kind == "f":
            row[OPERATION_SLOT[dtype.itemsize]] += mask.active
            if kind in SPECIAL:
                row[SPECIAL_SLOT] += mask.active
            elif kind in (ast.Add, ast.Sub) and _multiplies(node):
                row[WARP_INSTRUCTIONS] -= mask.warps  # the compiler fuses multiply and add into one instruction
                row[THREAD_INSTRUCTIONS] -= mask.active
        elif dtype.kind == "c":
            row[OPERATION_SLOT[dtype.itemsize // 2]] += mask.active * (6 if kind is ast.Mult else 2)
        else:
            row[INTEGER_SLOT] += mask.active

    def notice_float64(self: Interpreter, node: ast.AST, left: Any, right: Any, mask: Mask) -> None:
        """Reports float32 data drawn into float64 arithmetic, with the literal that did it where there is one."""
        narrow = {2, 4}
        kinds = [(v.dtype.kind, v.dtype.itemsize) for v in (left, right)]
        if not any(kind == "f" and size in narrow for kind, size in kinds):
            return
        literal = next((n for n in ast.iter_child_nodes(node) if _is_float_literal(n)), None)
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
        self.report(
            "accidental_float64", node, lane=int(mask.where[0]) if mask.active else 0, severity="warning",
            message=f"float32 values are computed in float64 here: {why}.",
            remedy=remedy + " (float64 runs at 1/2 to 1/64 of the float32 rate, depending on the GPU.)",
        )  # fmt: skip

    def notice_division(self: Interpreter, node: ast.AST, right: Any, mask: Mask) -> None:
        zero = np.flatnonzero(mask.lanes & np.broadcast_to(right == 0, mask.lanes.shape))
        if len(zero):
            self.report(
                "launch", node, lane=int(zero[0]), severity="warning", occurrences=len(zero),
                message="Divides an integer by zero: on the GPU the result is undefined, and nothing stops.",
                remedy="Make sure that the divisor is not zero.",
            )  # fmt: skip

    def unary_operation(self: Interpreter, node: ast.UnaryOp, mask: Mask) -> Any:
        literal = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(node.op, ast.USub) and isinstance(literal, (int, float, complex)):
            return self.number(-literal, node)  # a negative literal is a literal
        value = self.evaluate(node.operand, mask)
        if isinstance(node.op, ast.Not):
            self.count_instruction(node, mask)
            truth = self.truth(value, node)
            return np.logical_not(truth)
        value = self.number(value, node)
        row = self.count_instruction(node, mask)
        if value.dtype == nt.BOOL:
            value = value.astype(nt.INT64)
        self.count_arithmetic(row, node, ast.UnaryOp, value.dtype, mask)
        if isinstance(node.op, ast.USub):
            value = np.negative(value)
        elif isinstance(node.op, ast.Invert):
            if value.dtype.kind not in "iu":
                raise self.fault(node, f"`~` needs an integer, not {value.dtype}.")
            value = np.invert(value)
        if value.dtype.kind in "iu":  # Numba widens the result, not the operand: -uint8(9) is 247
            value = value.astype(nt.UINT64 if value.dtype.kind == "u" else nt.INT64)
        return value

    def compare(self: Interpreter, node: ast.Compare, mask: Mask) -> Any:
        """A comparison, chained ones included: `0 <= i < a[i]` evaluates `a[i]` only where `0 <= i`."""
        left = self.evaluate(node.left, mask)
        result: Any = None
        asking = mask
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if result is not None and not isinstance(right_node, (ast.Constant, ast.Name)):
                asking = asking.only(np.broadcast_to(result, mask.lanes.shape))
                if not asking.active:
                    return result
            right = self.evaluate(right_node, asking)
            one = self.compare_once(node, op, left, right, mask)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result

    def compare_once(self: Interpreter, node: ast.AST, op: ast.cmpop, left: Any, right: Any, mask: Mask) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = left is right
            if getattr(left, "enumeration", None) is not getattr(right, "enumeration", None):
                same = False
            elif all(isinstance(each, (np.ndarray, np.generic, tuple)) for each in (left, right)):
                same = self.compare_once(node, ast.Eq(), left, right, mask)  # values have no identity in a kernel
                return same if isinstance(op, ast.Is) else np.logical_not(same)
            return np.bool_(same if isinstance(op, ast.Is) else not same)
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, (ast.Eq, ast.NotEq)):
            equal = np.bool_(len(left) == len(right))
            for a, b in zip(left, right, strict=False):
                equal = np.logical_and(equal, self.compare_once(node, ast.Eq(), a, b, mask))
            return equal if isinstance(op, ast.Eq) else np.logical_not(equal)
        if type(op) not in COMPARISONS:
            raise self.fault(node, "`in` cannot be used in a kernel.", "Compare with each value instead.")
        if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
            return self.compare_texts(node, op, left, right, mask)
        if any(isinstance(each, NUMBERS) and each.dtype.kind in TEXTS for each in (left, right)):
            return self.compare_texts(node, op, left, right, mask)
        left, right = self.number(left, node), self.number(right, node)
        if left.dtype.kind in DATES or right.dtype.kind in DATES:
            return self.date_arithmetic(node, type(op), left, right, mask)
        row = self.count_instruction(node, mask)
        if left.dtype != right.dtype:
            if left.dtype.kind in "iub" and right.dtype.kind in "iub":
                # signed and unsigned compare by value, as Numba compares them
                pass
            else:
                wide = nt.common(left.dtype, right.dtype)
                left, right = left.astype(wide), right.astype(wide)
        row[INTEGER_SLOT if left.dtype.kind in "iub" else OPERATION_SLOT.get(left.dtype.itemsize, INTEGER_SLOT)] += (
            mask.active
        )
        return COMPARISONS[type(op)](left, right)

    def compare_texts(self: Interpreter, node: ast.AST, op: ast.cmpop, left: Any, right: Any, mask: Mask) -> Any:
        """Texts are equal or not, with each other and with elements of an array of texts."""
        texts = [each for each in (left, right) if isinstance(each, (str, bytes, np.ndarray, np.generic))]
        kinds = {np.asarray(each).dtype.kind for each in texts}
        if not isinstance(op, (ast.Eq, ast.NotEq)) or len(texts) < 2 or kinds not in ({"U"}, {"S"}):
            raise self.fault(node, "A text can only be compared with a text, by == or !=.")
        self.count_instruction(node, mask)
        return COMPARISONS[type(op)](*(np.asarray(each)[()] for each in texts))

    def date_arithmetic(self: Interpreter, node: ast.AST, op: type, left: Any, right: Any, mask: Mask) -> Any:
        """Dates and times, which are 64-bit integers with a unit: NumPy knows what may be added to what."""
        self.count_instruction(node, mask)[INTEGER_SLOT] += mask.active
        try:
            return {**OPERATORS, **COMPARISONS}[op](left, right)
        except TypeError:
            raise self.fault(node, f"Numba has no such operation for {left.dtype} and {right.dtype}.") from None

    def boolean_operation(self: Interpreter, node: ast.BoolOp, mask: Mask) -> Any:
        """`and` / `or`: the right-hand side is evaluated only by the lanes that still need it."""
        is_and = isinstance(node.op, ast.And)
        value = self.evaluate(node.values[0], mask)
        asking = mask
        for each in node.values[1:]:
            truth = self.truth(value, node)
            if not isinstance(truth, np.ndarray):
                if bool(truth) != is_and:
                    return value
                value = self.evaluate(each, asking)
                continue
            lanes = truth if is_and else ~truth
            asking = asking.only(lanes)
            if not asking.active:
                return value
            right = self.evaluate(each, asking)
            value = self.merged(node, asking.lanes, right, value)
        return value

    def conditional(self: Interpreter, node: ast.IfExp, mask: Mask) -> Any:
        condition = self.truth(self.evaluate(node.test, mask), node)
        self.count_instruction(node, mask)
        if not isinstance(condition, np.ndarray):
            return self.evaluate(node.body if condition else node.orelse, mask)
        yes, no = mask.only(condition), mask.only(~condition)
        if not no.active:
            return self.evaluate(node.body, yes)
        if not yes.active:
            return self.evaluate(node.orelse, no)
        return self.merged(node, yes.lanes, self.evaluate(node.body, yes), self.evaluate(node.orelse, no))

    def merged(self: Interpreter, node: ast.AST, choose: np.ndarray, new: Any, old: Any) -> Any:
        try:
            return merge(choose, new, old)
        except Unmergeable:
            raise self.fault(node, "The two sides are different kinds of thing.", "Numba needs one type.") from None

    def number(self: Interpreter, value: Any, node: ast.AST) -> np.ndarray | np.generic:
        """The value as a number; arrays, tuples and library names are none."""
        if isinstance(value, NUMBERS):
            if value.dtype.kind in TEXTS:
                raise self.fault(node, "A text is not a number.")
            return value
        if isinstance(value, View):
            raise self.fault(
                node, f"`{value.name}` is a whole array of shape {value.shape}; arithmetic needs one element.",
                "Index it, for example with the thread's position.",
            )  # fmt: skip
        if value is None:
            raise self.fault(node, "This has no value (None), so nothing can be computed with it.")
        if isinstance(value, TypeReference):
            raise self.fault(node, f"{value.path} is a type; call it on a value to convert.")
        if isinstance(value, Reference):
            meant = "" if value.path in CALLS else advice_instead_of(value.path)
            raise self.fault(node, f"`{value.path}` is not a number.", meant or "Did you mean to call it?")
        if isinstance(value, (tuple, Function, str, bytes)):
            kind = "text" if isinstance(value, (str, bytes)) else type(value).__name__.lower()
            raise self.fault(node, f"A {kind} is not a number.")
        try:
            return nt.scalar(value)
        except OverflowError:
            raise self.fault(node, f"Numba has no type for the constant {value!r:.40}.") from None
        except TypeError:
            pass
        if isinstance(value, Record):
            fields = ", ".join(value.view.dtype.fields or ())
            raise self.fault(node, f"A record with fields ({fields}) is not a number.", "Name one of its fields.")
        raise self.fault(node, f"`{ast.unparse(node):.60}` is not a number.", "Compute with numbers, one at a time.")

    def truth(self: Interpreter, value: Any, node: ast.AST) -> Any:
        """The value as a condition: one bool for all, or a bool per lane."""
        if isinstance(value, tuple):
            return np.bool_(len(value) > 0)
        if value is None:
            return np.bool_(False)
        value = self.number(value, node)
        return value if value.dtype == nt.BOOL else value != 0


def _same_operand(one: Any, other: Any) -> bool:
    if one is other:
        return True
    return isinstance(one, np.generic) and isinstance(other, np.generic) and one.dtype == other.dtype and one == other


def _multiplies(node: ast.AST) -> bool:
    children = (node.left, node.right) if isinstance(node, ast.BinOp) else (getattr(node, "value", None),)
    return any(isinstance(child, ast.BinOp) and isinstance(child.op, ast.Mult) for child in children)


def _is_float_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _integer_power(base: Any, exponent: Any) -> Any:
    """`base ** exponent` in integers; a negative power is 1 over the positive one, cut to an integer."""
    negative = exponent < 0
    if not np.any(negative):
        return np.power(base, exponent)
    power = np.power(base, np.abs(exponent))
    inverse = np.where(np.abs(base) == 1, power, 0)
    inverse = np.where(base == 0, np.iinfo(np.int64).min, inverse)  # as Numba has it on GPUs, where nothing is raised
    return np.where(negative, inverse, power)[()]
