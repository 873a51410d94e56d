"""What is known of a result, given what is known of the operands: constants, arithmetic, conversions, shapes, ranges.

Nothing here reads memory or follows a path through the kernel.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts import library
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import (
    Known,
    KnownArray,
    KnownName,
    KnownNumber,
    KnownRange,
    KnownTuple,
    Unknown,
    varies,
)
from autograder.simgpu.operations.arithmetic import MOST_ITEMS
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Compare, Unary
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View

ANYTHING = Unknown()
COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
BITWISE: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
MOST_MAKERS = 32  # operations that a number remembers having come from, the last ones


class KnownResults:
    """Results of the operations of one kernel."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.forms = here.forms

    def of_pure(
        self, key: Hashable, operands: Sequence[Known], dtype: np.dtype | None, *, differs: bool = False
    ) -> KnownNumber:
        """The result of an operation without side effects: the same for the same operands."""
        numbers = [each for each in operands if isinstance(each, KnownNumber)]
        around = self.here.around
        if len(numbers) < len(operands):
            key = (key, object())
        else:
            around = frozenset()
        forms = tuple(each.form for each in numbers)
        form = self.forms.atom((key, forms), around, forms)
        return KnownNumber(dtype, form, differs or any(map(varies, operands)))

    # -- constants ------------------------------------------------------------------------------------------------

    def constant(self, value: object) -> Known:
        if isinstance(value, np.generic) and value.dtype.kind in "iub":
            return KnownNumber(value.dtype, self.forms.constant(int(value)), False)
        if isinstance(value, np.generic):
            return KnownNumber(value.dtype, self.forms.atom(("literal", value.dtype, value.tobytes())), False)
        return KnownName(value)

    def captured(self, value: object) -> Known:
        """A value from outside the kernel: a device array stands for itself, anything else is a constant."""
        if isinstance(value, View):
            return KnownArray(value.dtype, value.ndim, value.buffer.space, ("buffer", id(value.buffer.owner)), value.shape)
        if isinstance(value, np.ndarray):
            self.forms.tables["constant", id(value)] = value
            return KnownArray(value.dtype, value.ndim, "constant", ("constant", id(value)), value.shape)
        if isinstance(value, (tuple, list)):
            return KnownTuple(tuple(self.captured(each) for each in value))
        try:
            return self.constant(nt.scalar(value))
        except (TypeError, OverflowError):
            return KnownName(value)

    def captured_member(self, value: object) -> Known:
        """An attribute of a captured module or class."""
        if isinstance(value, (np.ndarray, View, tuple, list, int, float, complex, np.generic)):
            return self.captured(value)
        return KnownName(value)

    def builtin(self, path: str) -> KnownNumber:
        """A library name that stands for a value, such as `cuda.threadIdx.x`."""
        rule = library.BUILTIN_VALUES.get(path)
        if rule is None:
            return KnownNumber(nt.FLOAT64, self.forms.atom(("name", path)), False)
        return KnownNumber(rule.dtype, self.forms.atom(("name", path)), rule.varies)

    # -- operators ------------------------------------------------------------------------------------------------

    def binary(self, op: Operation, kind: type[ast.operator], left: Known, right: Known) -> Known:
        if isinstance(left, KnownTuple) and isinstance(right, KnownTuple) and kind is ast.Add:
            too_many = len(left.items) + len(right.items) > MOST_ITEMS  # refused when it is reached
            return ANYTHING if too_many else KnownTuple(left.items + right.items)
        if not isinstance(left, KnownNumber) or not isinstance(right, KnownNumber):
            return self.of_pure((kind, op), [left, right], None)
        dtype = None
        if left.dtype is not None and right.dtype is not None:
            if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
                return ANYTHING
            try:
                dtype = nt.operator_types(kind, left.dtype, right.dtype)[1]
            except (TypeError, KeyError):
                return ANYTHING
        if dtype is not None and dtype.kind in "iu":
            made_by = (*left.made_by, *right.made_by, op)[-MOST_MAKERS:]
            if kind is ast.Mod and left.dtype is not None and left.dtype.kind == "u" and not right.form[1]:
                left = replace(left, form=_low_bits(left.form, right.form[0]))
            form = self._of_integers(op, kind, left.form, right.form)
            return KnownNumber(dtype, form, left.varies or right.varies, made_by)
        op.multiplies = left.is_product or right.is_product
        operands = sorted([left, right], key=lambda n: n.form) if kind in (ast.Add, ast.Mult) else [left, right]
        made = self.of_pure((kind, dtype), operands, dtype)
        is_product = kind is ast.Mult or kind is ast.Pow and (right.constant or 0) > 1  # which is written out as products
        if not is_product or dtype is None or dtype.kind != "f":
            return made
        return KnownNumber(made.dtype, made.form, made.varies, is_product=True)

    def _of_integers(self, op: Operation, kind: type[ast.operator], left: Form, right: Form) -> Form:
        """The form of a result.

        A quotient or a remainder by a variable is like no other: Numba computes it behind a branch, as the divisor may be 0,
        and the compiler does not see that another branch gives the same (machine_code_emulator/loops_by_counters.json).
        """
        if kind in (ast.Add, ast.Sub):
            return self.forms.add(left, right, 1 if kind is ast.Add else -1)
        if kind is ast.Mult:
            return self.forms.multiply(left, right)
        if not left[1] and not right[1]:
            a, b = left[0], right[0]
            if kind in (ast.FloorDiv, ast.Mod) and b:
                return self.forms.constant(a // b if kind is ast.FloorDiv else a % b)
            if kind in (ast.LShift, ast.RShift) and 0 <= b < 64:
                return self.forms.constant(a << b if kind is ast.LShift else a >> b)
            if kind is ast.Pow and 0 <= b < 64 and abs(a) < 2**16:
                return self.forms.constant(a**b)
            if kind in BITWISE:
                return self.forms.constant(BITWISE[kind](a, b))
        if kind is ast.LShift and not right[1] and 0 <= right[0] < 63:
            return self.forms.multiply(left, self.forms.constant(1 << right[0]))
        own = (op,) if kind in (ast.FloorDiv, ast.Mod) and right[1] else ()
        return self.forms.atom((kind, left, right, *own), made_of=(left, right))

    def unary(self, op: Unary, operand: Known) -> Known:
        if not isinstance(operand, KnownNumber):
            return self.of_pure((op.kind, op), [operand], nt.BOOL if op.kind is ast.Not else None)
        if op.kind is ast.Not:
            if operand.constant is not None:
                return KnownNumber(nt.BOOL, self.forms.constant(int(not operand.constant)), False)
            return self.of_pure((ast.Not,), [operand], nt.BOOL)
        dtype = operand.dtype
        if dtype is not None and dtype.kind in "iub" and op.kind in (ast.USub, ast.UAdd):
            form = self.forms.add(self.forms.constant(0), operand.form, -1 if op.kind is ast.USub else 1)
            wide = nt.UINT64 if dtype.kind == "u" else nt.INT64
            return KnownNumber(wide, form, operand.varies, (*operand.made_by, op)[-MOST_MAKERS:])
        return self.of_pure((op.kind,), [operand], dtype)

    def compared(self, op: Compare, sides: Sequence[Known]) -> Known:
        """A comparison; of constants, its outcome."""
        constants = [each.constant if isinstance(each, KnownNumber) else None for each in sides]
        known = [each for each in constants if each is not None]
        if len(known) == len(constants) and all(kind in COMPARED for kind in op.kinds):
            pairs = zip(op.kinds, known, known[1:], strict=False)
            holds = all(COMPARED[kind](left, right) for kind, left, right in pairs)
            return KnownNumber(nt.BOOL, self.forms.constant(int(holds)), False)
        return self.of_pure(("compare", tuple(op.kinds)), sides, nt.BOOL)

    def junction(self, is_and: bool, sides: Sequence[Known]) -> Known:
        """`and` or `or` of operands, none of which decides the outcome alone."""
        if len(sides) == 1:
            return sides[0]
        same = {each.dtype for each in sides if isinstance(each, KnownNumber)}
        return self.of_pure(("and" if is_and else "or",), sides, same.pop() if len(same) == 1 else None)

    # -- conversions ----------------------------------------------------------------------------------------------

    def converted(self, dtype: np.dtype, arguments: Sequence[Known]) -> Known:
        """`np.int32(x)`: an integer keeps its form."""
        if len(arguments) != 1 or not isinstance(arguments[0], KnownNumber):
            return self.of_pure(("convert", dtype), arguments, dtype)
        given = arguments[0]
        if given.dtype == dtype:
            return given
        if dtype.kind in "iu" and given.dtype is not None and given.dtype.kind in "iub":
            return KnownNumber(dtype, given.form, given.varies, given.made_by, given.is_product)
        return self.of_pure(("convert", dtype), arguments, dtype)

    def cast(self, dtype: np.dtype | None, known: Known) -> Known:
        """An argument or result, converted to the type in a signature."""
        return self.converted(dtype, [known]) if dtype is not None and isinstance(known, KnownNumber) else known

    def to_python(self, path: str, given: Known) -> Known:
        """`int(x)`, `float(x)` and `bool(x)`."""
        if isinstance(given, KnownNumber) and given.dtype is not None:
            if path == "builtins.int":
                return given if given.dtype.kind in "iu" else self.converted(nt.INT64, [given])
            if path == "builtins.float" and given.dtype.kind == "f":
                return given
        made = {"builtins.int": nt.INT64, "builtins.float": nt.FLOAT64}
        return self.of_pure(("call", path), [given], made.get(path, nt.BOOL))

    # -- shapes and grids -----------------------------------------------------------------------------------------

    def array_attribute(self, owner: KnownArray, name: str) -> Known:
        if name == "shape":
            return KnownTuple(tuple(self.extent(owner, axis) for axis in range(owner.ndim)))
        if name in ("size", "nbytes"):
            extents = [self.extent(owner, axis) for axis in range(owner.ndim)]
            form = self.forms.constant(1 if name == "size" else owner.dtype.itemsize)
            for each in extents:
                form = self.forms.multiply(form, each.form)
            return KnownNumber(nt.INT64, form, any(each.varies for each in extents))
        if name in ("ndim", "itemsize"):
            return KnownNumber(nt.INT64, self.forms.constant(owner.ndim if name == "ndim" else owner.dtype.itemsize), False)
        if name == "dtype":
            return KnownName(TypeReference(f"numpy.{owner.dtype.name}", owner.dtype))
        if name == "T":
            turned = ("T", owner.part, owner.prefix)
            return replace(owner, extents=owner.extents[::-1], prefix=(), unsigned_prefix=(), part=turned)
        if (field := owner.field(name)) is not None:
            return field
        if owner.dtype.fields or name in ("real", "imag"):
            return Unknown(frozenset([owner.identity]))
        return KnownName(library.OfArray(owner, name))

    def extent(self, array: KnownArray, axis: int) -> KnownNumber:
        """The size of a dimension."""
        whole = len(array.prefix) + axis
        if whole < len(array.extents) and array.extents[whole] is not None and array.space != "global":
            return KnownNumber(nt.INT64, self.forms.constant(array.extents[whole] or 0), False)
        form = self.forms.atom(("extent", array.identity, array.base, len(array.prefix) + axis))
        return KnownNumber(nt.INT64, form, not array.is_whole)

    def of_range(self, arguments: Sequence[Known]) -> Known:
        numbers = [each for each in arguments if isinstance(each, KnownNumber)]
        if len(numbers) != len(arguments) or not 1 <= len(numbers) <= 3:
            return ANYTHING
        zero, one = (KnownNumber(nt.INT64, self.forms.constant(n), False) for n in (0, 1))
        dtype = nt.of_range(each.dtype for each in numbers)
        if len(numbers) == 1:
            return KnownRange(zero, numbers[0], one, dtype)
        return KnownRange(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else one, dtype)

    def grid(self, arguments: Sequence[Known]) -> Known:
        """`cuda.grid(n)`: threadIdx plus blockIdx times blockDim."""
        return self._by_axis(arguments, self._grid_of_axis)

    def grid_size(self, arguments: Sequence[Known]) -> Known:
        """`cuda.gridsize(n)`: one number for all threads, or one for each axis."""
        return self._by_axis(
            arguments,
            lambda axis: KnownNumber(nt.INT64, self.forms.atom(("name", f"numba.cuda.gridsize.{axis}")), False),
        )

    def _grid_of_axis(self, axis: str) -> KnownNumber:
        thread, block, size = (
            self.forms.atom(("name", f"numba.cuda.{name}.{axis}")) for name in ("threadIdx", "blockIdx", "blockDim")
        )
        return KnownNumber(nt.INT64, self.forms.add(thread, self.forms.multiply(block, size)), True)

    def _by_axis(self, arguments: Sequence[Known], of_axis: Callable[[str], KnownNumber]) -> Known:
        """One number for an argument of 1; a tuple of two or three for 2 or 3."""
        wanted = arguments[0].constant if arguments and isinstance(arguments[0], KnownNumber) else None
        if wanted not in (1, 2, 3):
            return ANYTHING
        found = [of_axis(axis) for axis in "xyz"[:wanted]]
        return found[0] if wanted == 1 else KnownTuple(tuple(found))


def _low_bits(form: Form, modulus: int) -> Form:
    """A sum without the terms that a remainder by a power of two does not see; other sums as they are."""
    if modulus <= 0 or modulus & (modulus - 1):
        return form
    return form[0] % modulus, tuple((number, factor) for number, factor in form[1] if factor % modulus)
