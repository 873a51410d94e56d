"""How an expression becomes one value per lane: a NumPy array with an element per lane, or a scalar that all share.

Operators compute in Numba's types (numba_types.py), not NumPy's. A value is never changed in place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.live import EnumNames
from autograder.language.program import Function, Reference
from autograder.simgpu import numba_types as nt
from autograder.simgpu.intrinsics import CALLS, VALUES, TypeReference, type_of
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import Buffer, View, contiguous_strides
from autograder.simgpu.tally import SLOT, THREAD_INSTRUCTIONS, WARP_INSTRUCTIONS
from autograder.simgpu.variables import Named, Unmergeable, merge

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

BUILTINS = frozenset(
    "range len min max abs int float bool complex round pow divmod enumerate zip print isinstance tuple".split()
)

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
SPECIAL = (ast.Div, ast.Pow)  # computed by the special-function units or in software
OPERATION_SLOT = {2: SLOT["float16_operations"], 4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}
INTEGER_SLOT = SLOT["integer_operations"]
SPECIAL_SLOT = SLOT["special_operations"]


@dataclass(frozen=True)
class Closure:
    """A function defined inside a kernel, with the frame whose variables it sees."""

    function: Function
    frame: Any


@dataclass(frozen=True)
class Method:
    """An array's method, before it is called."""

    view: View
    name: str


@dataclass(frozen=True)
class Range:
    """A range() that is kept before it is looped over."""

    bounds: tuple


class Expressions:
    """The expression half of the interpreter; `Interpreter` adds statements, memory and bookkeeping."""

    def __init__(self) -> None:
        # by node: the last operands and result of integer arithmetic; results stay alive there, so their ids stay theirs
        self._integers: dict[tuple[ast.AST, type], tuple] = {}  # divmod does two operations at one node
        self._origins: dict[int, tuple[np.ndarray, int]] = {}
        self._expressions = {
            ast.Constant: self.constant,
            ast.Name: self.name,
            ast.BinOp: self.binary_operation,
            ast.Compare: self.compare,
            ast.Subscript: self.subscript,
            ast.Attribute: self.attribute,
            ast.Call: self.call,
            ast.UnaryOp: self.unary_operation,
            ast.BoolOp: self.boolean_operation,
            ast.IfExp: self.conditional,
            ast.Tuple: lambda node, mask: tuple(self.evaluate(each, mask) for each in node.elts),
            ast.NamedExpr: self.named,
        }

    def evaluate(self: Interpreter, node: ast.expr, mask: Mask, discard: bool = False) -> Any:
        """The value of an expression for the lanes of `mask`; `discard` says that nobody uses it."""
        method = self._expressions.get(type(node))
        if method is None:
            raise self.fault(node, f"A kernel cannot contain this kind of expression ({type(node).__name__}).")
        if discard and isinstance(node, ast.Call):
            return self.call(node, mask, discard=True)
        return method(node, mask)

    # -- names and constants --------------------------------------------------------------------------------------

    def constant(self: Interpreter, node: ast.Constant, mask: Mask) -> Any:
        if node.value is None or isinstance(node.value, str):
            return node.value
        try:
            return nt.scalar(node.value)
        except (OverflowError, TypeError):
            raise self.fault(node, f"Numba has no type for the constant {node.value!r:.40}.") from None

    def name(self: Interpreter, node: ast.Name, mask: Mask) -> Any:
        if node.id in self.frame.variables:
            return self.read_variable(node, mask)
        function = self.frame.function
        if node.id in function.free_names:
            return self.freeze(function.names[node.id], node)
        if node.id in BUILTINS and node.id not in function.local_names:
            return Reference(f"builtins.{node.id}")
        raise self.fault(
            node, f"`{node.id}` is not defined here.", "Assign it before this line, or check how it is spelled."
        )

    def freeze(self: Interpreter, value: Any, node: ast.AST) -> Any:
        """A module-level value as the kernel sees it: numbers and arrays are constants at compile time."""
        if isinstance(value, (Reference, Function, View, EnumNames)) or value is None or isinstance(value, str):
            return value
        if isinstance(value, (tuple, list)):
            return tuple(self.freeze(each, node) for each in value)
        if isinstance(value, np.ndarray):
            return self.launch.constant_array(value, getattr(node, "id", "constant"))
        try:
            return nt.scalar(value)
        except (TypeError, OverflowError):
            kind = type(value).__name__
            raise self.fault(
                node, f"`{getattr(node, 'id', 'this')}` is a {kind}, which a kernel cannot use.",
                "Pass numbers or arrays as arguments.",
            ) from None  # fmt: skip

    def named(self: Interpreter, node: ast.NamedExpr, mask: Mask) -> Any:
        value = self.evaluate(node.value, mask)
        self.write_variable(node.target.id, value, mask)
        return value

    # -- operators ------------------------------------------------------------------------------------------------

    def binary_operation(self: Interpreter, node: ast.BinOp, mask: Mask) -> Any:
        left = self.evaluate(node.left, mask)
        right = self.evaluate(node.right, mask)
        return self.binary(node, node.op, left, right, mask)

    def binary(self: Interpreter, node: ast.AST, op: ast.operator, left: Any, right: Any, mask: Mask) -> Any:
        """`left op right` in Numba's types, counted as arithmetic of its type."""
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Add):
            if len(left) + len(right) > MOST_ITEMS:
                raise self.fault(node, f"A tuple in a kernel has at most {MOST_ITEMS:,} items.")
            return left + right
        left, right = self.number(left, node), self.number(right, node)
        kind = type(op)
        try:
            compute, result = nt.operator_types(kind, left.dtype, right.dtype)
        except (TypeError, KeyError):
            raise self.fault(
                node, f"Numba has no `{SYMBOLS[kind]}` for {left.dtype} and {right.dtype} in a kernel."
            ) from None
        row = self.count_instruction(node, mask)
        self.count_arithmetic(row, node, kind, compute, mask)
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
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return nt.scalar(-node.operand.value)  # a negative literal is a literal
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
        """A comparison, chained ones included: `0 <= i < n` evaluates `n` only where `0 <= i`."""
        left = self.evaluate(node.left, mask)
        result: Any = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, mask)
            one = self.compare_once(node, op, left, right, mask)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result

    def compare_once(self: Interpreter, node: ast.AST, op: ast.cmpop, left: Any, right: Any, mask: Mask) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = left is right
            if isinstance(left, (np.ndarray, np.generic)) and isinstance(right, (np.ndarray, np.generic)):
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
        left, right = self.number(left, node), self.number(right, node)
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
        if isinstance(value, (np.ndarray, np.generic)):
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
            raise self.fault(node, f"`{value.path}` is not a number.", "Did you mean to call it or take .x of it?")
        if isinstance(value, (tuple, Function, str)):
            raise self.fault(node, f"A {type(value).__name__.lower()} is not a number.")
        return nt.scalar(value)

    def truth(self: Interpreter, value: Any, node: ast.AST) -> Any:
        """The value as a condition: one bool for all, or a bool per lane."""
        if isinstance(value, tuple):
            return np.bool_(len(value) > 0)
        if value is None:
            return np.bool_(False)
        value = self.number(value, node)
        return value if value.dtype == nt.BOOL else value != 0

    # -- arrays ---------------------------------------------------------------------------------------------------

    def subscript(self: Interpreter, node: ast.Subscript, mask: Mask) -> Any:
        value = as_record(self.evaluate(node.value, mask))
        if isinstance(value, tuple):
            return self.tuple_item(node, value, mask)
        if isinstance(value, Record):
            field = value.name_of(self.evaluate(node.slice, mask))
            return self.field_value(value, field, mask, node)
        if isinstance(value, EnumNames):
            return self.freeze(value.members[self.evaluate(node.slice, mask)], node)
        view, indices = self.element_of(node, mask, value)
        if len(indices) == view.ndim and not any(isinstance(i, slice) for i in indices):
            if view.dtype.fields and view.field is None:
                return Record(view, indices)
            return self.memory.load(view, indices, mask, node)
        return self.part_of(view, indices, mask, node)

    def tuple_item(self: Interpreter, node: ast.Subscript, value: tuple, mask: Mask) -> Any:
        if isinstance(node.slice, ast.Slice):
            bounds = [self.evaluate(b, mask) if b else None for b in (node.slice.lower, node.slice.upper)]
            return value[slice(*(int(b) if b is not None else None for b in bounds))]
        index = self.evaluate(node.slice, mask)
        if isinstance(index, np.ndarray):
            if not value:
                raise self.fault(node, "An empty tuple has no items.")
            chosen = value[0]
            for position, each in enumerate(value[1:], 1):
                chosen = self.merged(node, index == position, each, chosen)
            return chosen
        try:
            return value[int(index)]
        except (IndexError, TypeError):
            raise self.fault(node, f"This tuple has {len(value)} items; there is no item {index}.") from None

    def element_of(self: Interpreter, node: ast.Subscript, mask: Mask, value: Any = None) -> tuple[View, tuple]:
        """The array and the indices (lane vectors, scalars or slices) of `array[...]`."""
        if value is None:
            value = self.evaluate(node.value, mask)
        value = as_record(value)
        if isinstance(value, Record):
            return value.field(value.name_of(self.evaluate(node.slice, mask)), self, node)
        if not isinstance(value, View):
            what = ast.unparse(node.value)
            raise self.fault(node, f"`{what}` is not an array, so it cannot be indexed.")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices: list[Any] = []
        for part in parts:
            index = self.index(part, mask)
            indices.extend(index if isinstance(index, tuple) else [index])
        if any(index is Ellipsis for index in indices):
            at = next(i for i, index in enumerate(indices) if index is Ellipsis)
            indices[at : at + 1] = [slice(None)] * (value.ndim - len(indices) + 1)
        if len(indices) > value.ndim:
            dimensions = "1 dimension" if value.ndim == 1 else f"{value.ndim} dimensions"
            raise self.fault(node, f"`{value.name}` has {dimensions}, but {len(indices)} indices are given.")
        return value, tuple(indices)

    def index(self: Interpreter, node: ast.expr, mask: Mask) -> Any:
        if isinstance(node, ast.Slice):
            parts = [self.evaluate(p, mask) if p is not None else None for p in (node.lower, node.upper, node.step)]
            return slice(*parts)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return Ellipsis
        value = self.evaluate(node, mask)
        if isinstance(value, tuple):
            return tuple(self.as_index(v, node) for v in value)
        return self.as_index(value, node)

    def as_index(self: Interpreter, value: Any, node: ast.AST) -> Any:
        value = self.number(value, node)
        if value.dtype.kind not in "iub":
            text = ast.unparse(node)
            raise self.fault(
                node,
                f"The index `{text}` is {value.dtype}; an index must be an integer.",
                "Use // instead of /, or int().",
            )
        return value

    def part_of(self: Interpreter, view: View, indices: tuple, mask: Mask, node: ast.AST) -> View:
        """A row, a slice or any other part of an array, without touching memory."""
        offset, shape, strides = view.offset, [], []
        for axis in range(view.ndim):
            extent, stride = view.shape[axis], view.strides[axis]
            index = indices[axis] if axis < len(indices) else slice(None)
            if isinstance(index, slice):
                bounds = [None if b is None else b for b in (index.start, index.stop, index.step)]
                if any(isinstance(b, np.ndarray) for b in bounds):
                    raise self.fault(node, "The bounds of a slice must be the same for every thread here.")
                start, stop, step = slice(*(None if b is None else int(b) for b in bounds)).indices(extent)
                offset = offset + start * stride
                shape.append(len(range(start, stop, step)))
                strides.append(stride * step)
                continue
            wrapped = np.where(index < 0, index + np.int64(extent), index).astype(np.int64)
            outside = (wrapped < 0) | (wrapped >= extent)
            if np.any(outside & mask.lanes):
                bad = np.flatnonzero(np.broadcast_to(outside, mask.lanes.shape) & mask.lanes)
                full = tuple(i if not isinstance(i, slice) else 0 for i in indices)
                self.memory.report_outside(replace(view, shape=view.shape[: len(full)]), full, mask, bad, node, 0)
                wrapped = np.where(outside, 0, wrapped)
            offset = offset + (wrapped if isinstance(index, np.ndarray) else int(wrapped)) * stride
        if not isinstance(offset, np.ndarray):
            offset = int(offset)
        return replace(view, offset=offset, shape=tuple(shape), strides=tuple(strides))

    def store_into(self: Interpreter, view: View, indices: tuple, value: Any, mask: Mask, node: ast.AST) -> None:
        """Assigns to an element, a record, or element by element to a slice."""
        value = as_record(value)
        whole = len(indices) == view.ndim and not any(isinstance(i, slice) for i in indices)
        if whole and view.dtype.fields and view.field is None:
            self.copy_record(Record(view, indices), value, mask, node)
        elif whole:
            if isinstance(value, (View, tuple)) or value is None:
                raise self.fault(node, f"Only one number can be stored in an element of `{view.name}`.")
            self.memory.store(view, indices, value, mask, node)
        else:
            part = self.part_of(view, indices, mask, node)
            for position in np.ndindex(part.shape):
                where = tuple(np.int64(i) for i in position)
                self.store_into(part, where, self.item_for(part, position, value, mask, node), mask, node)

    def item_for(self: Interpreter, part: View, position: tuple, value: Any, mask: Mask, node: ast.AST) -> Any:
        """What an assignment to a slice puts at one position: the same number everywhere, or an array's element."""
        if isinstance(value, tuple) and part.ndim == 1 and len(value) == part.shape[0]:
            return value[position[0]]
        if not isinstance(value, View):
            return value
        own = position[len(position) - value.ndim :]
        if value.ndim > part.ndim or any(
            have not in (1, want) for have, want in zip(value.shape, part.shape[part.ndim - value.ndim :], strict=True)
        ):
            raise self.fault(node, f"An array of shape {value.shape} cannot be assigned to a part of shape {part.shape}.")
        index = tuple(np.int64(0 if extent == 1 else i) for i, extent in zip(own, value.shape, strict=True))
        if value.dtype.fields and value.field is None:
            return Record(value, index)
        return self.memory.load(value, index, mask, node)

    def copy_record(self: Interpreter, target: Record, value: Any, mask: Mask, node: ast.AST) -> None:
        if not isinstance(value, Record):
            raise self.fault(node, f"Only a record can be stored in an element of `{target.view.name}`.")
        for name in target.view.dtype.fields:
            view, indices = target.field(name, self, node)
            self.store_into(view, indices, self.field_value(value, name, mask, node), mask, node)

    def attribute(self: Interpreter, node: ast.Attribute, mask: Mask) -> Any:
        value = as_record(self.evaluate(node.value, mask))
        name = node.attr
        if isinstance(value, Named) and name in value.names:
            return value[value.names.index(name)]
        if isinstance(value, EnumNames):
            if name not in value.members:
                raise self.fault(node, f"`{value.name}` has no member `{name}`.")
            return self.freeze(value.members[name], node)
        if isinstance(value, Reference):
            path = f"{value.path}.{name}"
            if path in VALUES:
                return VALUES[path](self)
            return type_of(path) or Reference(path)
        if isinstance(value, Record):
            return self.field_value(value, name, mask, node)
        if isinstance(value, View):
            return self.array_attribute(node, value, name)
        if isinstance(value, (np.ndarray, np.generic)) and name in ("real", "imag"):
            return getattr(value, name)
        if isinstance(value, (np.ndarray, np.generic)) and name in ("conjugate", "bit_count"):
            return Method(value, name)
        raise self.fault(node, f"`{ast.unparse(node)}` has no meaning in a kernel.")

    def field_value(self: Interpreter, record: Record, name: str, mask: Mask, node: ast.AST) -> Any:
        """A record's field: a number, or the array or record that lies within it."""
        view, indices = record.field(name, self, node)
        if view.ndim > len(indices) or view.field is None:
            return as_record(self.part_of(view, indices, mask, node))
        return self.memory.load(view, indices, mask, node)

    def array_attribute(self: Interpreter, node: ast.Attribute, view: View, name: str) -> Any:
        if name == "shape":
            return tuple(np.int64(extent) for extent in view.shape)
        if name == "size":
            return np.int64(view.size)
        if name == "ndim":
            return np.int64(view.ndim)
        if name == "itemsize":
            return np.int64(view.dtype.itemsize)
        if name == "nbytes":
            return np.int64(view.size * view.dtype.itemsize)
        if name == "strides":
            return tuple(np.int64(s * view.dtype.itemsize) for s in view.strides)
        if name == "dtype":
            return TypeReference(f"numpy.{view.dtype.name}", view.dtype)
        if name in ("real", "imag") and view.dtype.kind == "c":
            half = view.dtype.type(0).real.dtype
            return replace(
                view, buffer=view.buffer.seen_as(half), offset=view.offset * 2 + (name == "imag"), dtype=half,
                strides=tuple(2 * step for step in view.strides),
            )  # fmt: skip
        if name == "T":
            return replace(view, shape=view.shape[::-1], strides=view.strides[::-1])
        if name in METHODS:
            return Method(view, name)
        raise self.fault(
            node, f"Arrays in a kernel have no `.{name}`.", "Available: shape, size, ndim, dtype, strides, T."
        )

    def field_of(self: Interpreter, node: ast.Attribute, mask: Mask) -> tuple[View, tuple]:
        value = as_record(self.evaluate(node.value, mask))
        if isinstance(value, Record):
            return value.field(node.attr, self, node)
        raise self.fault(node, f"`{ast.unparse(node)}` cannot be assigned to in a kernel.")

    def unpack(self: Interpreter, value: Any, target: ast.Tuple | ast.List, mask: Mask) -> tuple:
        if isinstance(value, View):
            if value.ndim != 1 or value.shape[0] != len(target.elts):
                raise self.fault(target, f"`{value.name}` cannot be unpacked into {len(target.elts)} variables.")
            return tuple(self.memory.load(value, (np.int64(i),), mask, target) for i in range(value.shape[0]))
        if not isinstance(value, tuple):
            raise self.fault(
                target, f"One value cannot be unpacked into {len(target.elts)} variables.",
                "cuda.grid(2) gives two values; cuda.grid(1) gives one.",
            )  # fmt: skip
        if len(value) != len(target.elts):
            raise self.fault(target, f"{len(value)} values cannot be unpacked into {len(target.elts)} variables.")
        return value

    # -- calls and loops ------------------------------------------------------------------------------------------

    def call(self: Interpreter, node: ast.Call, mask: Mask, discard: bool = False) -> Any:
        function = self.evaluate(node.func, mask)
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.extend(self.unpacked_argument(argument, mask))
            else:
                arguments.append(self.evaluate(argument, mask))
        keywords = {k.arg: self.evaluate(k.value, mask) for k in node.keywords}
        if isinstance(function, Function):
            ordered = self.in_order(function, arguments, keywords, mask)
            if function.kind == "host":
                raise self.fault(
                    node, f"`{function.name}` is an ordinary Python function; a kernel can only call device functions.",
                    "Decorate it with @cuda.jit(device=True).",
                )  # fmt: skip
            return self.call_function(function, ordered, mask, node)
        if isinstance(function, Closure):
            ordered = self.in_order(function.function, arguments, keywords, mask)
            return self.call_function(function.function, ordered, mask, node, around=function.frame)
        if isinstance(function, Method):
            return METHODS[function.name](self, node, mask, [function.view, *arguments], keywords)
        if isinstance(function, TypeReference):
            return CALLS["builtins.convert"](
                self, node, mask, [arguments[0] if arguments else np.int64(0), function], {}
            )
        if isinstance(function, Reference):
            handler = CALLS.get(function.path)
            if handler is None:
                raise self.fault(
                    node, f"`{ast.unparse(node.func)}` cannot be used in a kernel on this device.",
                    "Kernels can use arithmetic, math.*, np scalar types, and the cuda functions of the course.",
                )  # fmt: skip
            if discard:
                keywords["_discard"] = True
            value = handler(self, node, mask, arguments, keywords)
            return value[()] if isinstance(value, np.ndarray) and not value.ndim else value
        raise self.fault(node, f"`{ast.unparse(node.func)}` is not a function.")

    def in_order(self: Interpreter, function: Function, arguments: list, keywords: dict, mask: Mask) -> list:
        """Arguments in the order of the parameters: by position, then by name, then the defaults."""
        defaults = function.node.args.defaults
        by_default = dict(zip(function.parameters[len(function.parameters) - len(defaults) :], defaults, strict=True))
        ordered = list(arguments)
        for parameter in function.parameters[len(arguments) :]:
            if parameter in keywords:
                ordered.append(keywords[parameter])
            elif parameter in by_default:
                ordered.append(self.evaluate(by_default[parameter], mask))
        return ordered

    def unpacked_argument(self: Interpreter, node: ast.Starred, mask: Mask) -> tuple:
        value = self.evaluate(node.value, mask)
        if not isinstance(value, tuple):
            raise self.fault(node, "Only a tuple can be unpacked with `*` in a kernel.")
        return value

    def iterate(self: Interpreter, node: ast.For, mask: Mask) -> Iterator[tuple[Any, np.ndarray | None]]:
        """The loop variable round by round, with the lanes that have a round left (None: all of them)."""
        if isinstance(node.iter, ast.Call):
            target = self.evaluate(node.iter.func, mask)
            if isinstance(target, Reference) and target.path == "builtins.range":
                bounds = [self.evaluate(argument, mask) for argument in node.iter.args]
                yield from self.rounds(node, bounds, mask)
                return
            if isinstance(target, Reference) and target.path in ("builtins.enumerate", "builtins.zip"):
                for each in self.sequence(node, node.iter, mask):
                    yield _fetched(each), None
                return
        kept = self.evaluate(node.iter, mask)
        if isinstance(kept, Range):
            yield from self.rounds(node, list(kept.bounds), mask)
            return
        for each in self.items(node, kept, mask):
            yield (each() if callable(each) else each), None

    def sequence(self: Interpreter, node: ast.For, source: ast.expr, mask: Mask) -> list:
        """What zip, enumerate or an array gives item by item; elements are loaded when their turn comes."""
        if isinstance(source, ast.Call) and ast.unparse(source.func) in ("zip", "enumerate"):
            several = [self.sequence(node, argument, mask) for argument in source.args]
            if ast.unparse(source.func) == "enumerate":
                several = [[np.int64(i) for i in range(len(several[0]))], several[0]]
            return [list(items) for items in zip(*several, strict=False)]
        value = self.evaluate(source, mask)
        if isinstance(value, Range) and not any(isinstance(bound, np.ndarray) for bound in value.bounds):
            return [np.int64(i) for i in range(*(int(bound) for bound in value.bounds))]
        return self.items(node, value, mask)

    def items(self: Interpreter, node: ast.For, value: Any, mask: Mask) -> list:
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, View):
            if value.ndim == 1:
                return [
                    lambda i=i: self.memory.load(value, (np.int64(i),), mask, node.iter) for i in range(value.shape[0])
                ]
            return [lambda i=i: self.part_of(value, (np.int64(i),), mask, node.iter) for i in range(value.shape[0])]
        raise self.fault(node, f"A kernel cannot loop over `{ast.unparse(node.iter)}`.", "Loop over range(...).")

    def rounds(self: Interpreter, node: ast.For, bounds: list, mask: Mask) -> Iterator[tuple[Any, np.ndarray | None]]:
        """range(): one shared counter where all lanes agree on the bounds, a counter per lane otherwise."""
        for bound in bounds:
            if self.number(bound, node).dtype.kind not in "iub":
                raise self.fault(node, f"range() needs integers, not {bound.dtype}.", "Use // instead of /, or int().")
        if not 1 <= len(bounds) <= 3:
            raise self.fault(node, "range() takes one to three arguments.")
        start, stop = (np.int64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else np.int64(1)
        if np.any(np.broadcast_to(step == 0, mask.lanes.shape) & mask.lanes):
            raise self.fault(node, "range() with a step of 0 never ends.")
        if not any(isinstance(bound, np.ndarray) for bound in (start, stop, step)):
            for value in range(int(start), int(stop), int(step)):
                yield np.int64(value), None
            return
        start, stop, step = (np.asarray(b, dtype=np.int64) for b in (start, stop, step))
        current = np.broadcast_to(start, mask.lanes.shape).copy()
        up = bool(np.all(step > 0))
        while True:
            still = (current < stop) if up else np.where(step > 0, current < stop, current > stop)
            yield current, still
            current = current + step

    def new_array(
        self: Interpreter, node: ast.AST, space: str, shape: Any, dtype: np.dtype, dynamic_bytes: int | None = None
    ) -> View:
        """The shared or local array that this line declares: made once a launch, the same one each time it is reached."""
        known = self.shared if space == "shared" else self.local
        if node in known:
            return known[node]
        extents = tuple(int(e) for e in (shape if isinstance(shape, tuple) else (shape,)))
        size = int(np.prod(extents, dtype=np.int64))
        if space == "shared":
            unit = max(1, 128 // np.gcd(128, dtype.itemsize))  # blocks stay 128 bytes apart, so that banks line up
            room = max(unit, -(-size // unit) * unit)
            start = -(-self.shared_bytes // 16) * 16
            buffer = Buffer(np.empty(room * len(self.batch.blocks), dtype), start, "shared", initialised=False)
            self.shared_bytes = start + (size * dtype.itemsize if dynamic_bytes is None else 0)
            self.launch.note_shared(self, node)
            offset = self.batch.block_slot() * room
        else:
            buffer = Buffer(np.empty(max(1, size) * self.batch.size, dtype), 0, "local")
            offset = np.arange(self.batch.size, dtype=np.int64) * max(1, size)
        _poison(buffer.data)
        view = View(buffer, offset, extents, contiguous_strides(extents), dtype, "")
        known[node] = view
        return view


METHODS: dict[str, Any] = {}  # methods of arrays; see array_methods.py


class Record:
    """One element of a structured array; its fields are read and written one by one."""

    def __init__(self, view: View, indices: tuple) -> None:
        self.view = view
        self.indices = indices

    def name_of(self, key: Any) -> str:
        """The field that `record[key]` means: by name, or by number."""
        return key if isinstance(key, str) else self.view.dtype.names[int(key)]

    def field(self, name: str, interpreter: Interpreter, node: ast.AST) -> tuple[View, tuple]:
        """Where a field lies: the array of that field over all records, and this record's indices."""
        fields = self.view.dtype.fields
        if name not in fields:
            raise interpreter.fault(node, f"`{self.view.name}` has no field `{name}`; it has {', '.join(fields)}.")
        dtype, start = fields[name][:2]
        if dtype.subdtype is None and dtype.fields is None and self.view.buffer.data.dtype.fields:
            return replace(self.view, field=name, dtype=dtype), self.indices
        return self.within(dtype, start, interpreter, node), self.indices

    def within(self, dtype: np.dtype, start: int, interpreter: Interpreter, node: ast.AST) -> View:
        """The arrays or records that lie inside the records, as a view with more dimensions over the same memory."""
        unit, inner = dtype.subdtype or (dtype, ())
        size, view = self.view.buffer.data.dtype.itemsize, self.view
        if size % unit.itemsize or start % unit.itemsize:
            raise interpreter.fault(
                node, f"A field of {unit} that does not lie at a multiple of its size cannot be simulated.",
                "Use np.dtype(..., align=True).",
            )  # fmt: skip
        step = size // unit.itemsize
        return replace(
            view, buffer=view.buffer.seen_as(unit), offset=view.offset * step + start // unit.itemsize,
            shape=view.shape + inner, strides=tuple(s * step for s in view.strides) + contiguous_strides(inner),
            dtype=unit, field=None,
        )  # fmt: skip


def _fetched(item: Any) -> Any:
    """An item of a sequence, with whatever it still has to load."""
    if isinstance(item, list):
        return tuple(_fetched(each) for each in item)
    return item() if callable(item) else item


def as_record(value: Any) -> Any:
    """A single record that came as an array without dimensions, as a record."""
    if isinstance(value, View) and not value.shape and value.dtype.fields and value.field is None:
        return Record(value, ())
    return value


def _poison(data: np.ndarray) -> None:
    """Fills memory that nobody has written with values that no correct result contains."""
    if data.dtype.kind in "fc":
        data[:] = np.nan
    elif data.dtype.kind in "iu":
        data[:] = np.array(0x5A5A5A5A5A5A5A5A, np.uint64).astype(data.dtype)
    else:
        data.view(np.uint8)[:] = 0x5A


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
    negative = exponent < 0
    if np.any(negative):
        exponent = np.where(negative, 0, exponent)
        return np.where(negative, 0, np.power(base, exponent))
    return np.power(base, exponent)


from autograder.simgpu import array_methods  # noqa: E402, F401  (fills METHODS)
