"""LLVM code that a program builds itself (`@intrinsic`, `lower_builtin`, `lower_attr`), carried out by all lanes at once.

What Numba's builder was told is a function of llvmlite's own objects; this steps through it as the machine steps through a
kernel: a value for each lane, a mask for each block of instructions. Lanes that part at a branch meet where their ways do.
It has arithmetic, comparisons, conversions, parts of structures, variables of a thread's own (`alloca`), and calls of
functions that the simulated GPU knows (llvm_calls.py). Addresses of arrays and PTX it does not have, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from autograder.errors import KernelFault
from autograder.simgpu.counting.tally import SLOT
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import STATEMENT_COST
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask

Part: TypeAlias = Any
"""A value of the code: a number for each lane or for all (signed, as wide as its type; i1 is a bool), a tuple of such
where it is a structure or an array, a `Pointer`, or a value of the machine that is only handed on."""

_INTEGERS: dict[int, np.dtype] = {8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: nt.INT32, 64: nt.INT64}
_OPERATIONS = {4: SLOT["float32_operations"], 8: SLOT["float64_operations"]}


class CannotBeCarriedOut(Exception):
    """The code has something that the simulated GPU does not; the message says what."""


class LaneVariable:
    """A variable of each thread's own."""

    def __init__(self, content: Part) -> None:
        self.content = content


class Pointer:
    """The address of a variable of each thread's own, or of a part of one."""

    def __init__(self, slot: LaneVariable, path: tuple[int, ...] = ()) -> None:
        self.slot, self.path = slot, path

    def read(self) -> Part:
        content = self.slot.content
        for each in self.path:
            content = content[each]
        return content

    def write(self, value: Part, lanes: np.ndarray) -> None:
        self.slot.content = _with(self.slot.content, self.path, chosen(lanes, value, self.read()))


def _with(content: Part, path: Sequence[int], value: Part) -> Part:
    """A structure with one of its parts, at the end of `path`, replaced."""
    if not path:
        return value
    inner = _with(content[path[0]], path[1:], value)
    return (*content[: path[0]], inner, *content[path[0] + 1 :])


def chosen(lanes: np.ndarray, new: Part, old: Part) -> Part:
    """`new` in the lanes, `old` elsewhere."""
    if new is old or old is None:
        return new
    if isinstance(new, tuple):
        return tuple(chosen(lanes, a, b) for a, b in zip(new, old, strict=True))
    if isinstance(new, (np.ndarray, np.generic)):
        return np.where(lanes, new, old)
    if isinstance(new, Pointer) and isinstance(old, Pointer) and (new.slot, new.path) == (old.slot, old.path):
        return old
    raise CannotBeCarriedOut("it has one of several addresses or objects, by which way a thread went")


def zero_of(kind: ir.Type) -> Part:
    """What a variable that nobody has set holds."""
    if isinstance(kind, ir.IntType):
        return np.bool_(False) if kind.width == 1 else dtype_of(kind).type(0)
    if isinstance(kind, (ir.FloatType, ir.DoubleType)):
        return dtype_of(kind).type(0)
    if isinstance(kind, ir.ArrayType):
        return (zero_of(kind.element),) * kind.count
    if isinstance(kind, (ir.LiteralStructType, ir.IdentifiedStructType)):
        return tuple(zero_of(each) for each in kind.elements)
    return None


def dtype_of(kind: ir.Type) -> np.dtype:
    """The dtype of a number's type."""
    if isinstance(kind, ir.IntType) and kind.width in _INTEGERS:
        return _INTEGERS[kind.width]
    if isinstance(kind, ir.IntType) and kind.width == 1:
        return nt.BOOL
    if isinstance(kind, (ir.FloatType, ir.DoubleType)):
        return nt.FLOAT32 if isinstance(kind, ir.FloatType) else nt.FLOAT64
    raise CannotBeCarriedOut(f"it computes with the type {kind}")


def constant(value: Any) -> Part:
    """A constant that stands in the code."""
    if value.constant is None or value.constant is ir.Undefined:
        return zero_of(value.type)
    if isinstance(value.constant, (list, tuple)):
        return tuple(constant(each) for each in value.constant)
    if isinstance(value.type, (ir.IntType, ir.FloatType, ir.DoubleType)):
        dtype = dtype_of(value.type)
        return np.array(value.constant).astype(dtype)[()] if dtype.kind == "f" else _wrapped(int(value.constant), dtype)
    raise CannotBeCarriedOut(f"it has a constant of the type {value.type}")


def _wrapped(number: int, dtype: np.dtype) -> Part:
    if dtype == nt.BOOL:
        return np.bool_(number & 1)
    bits = dtype.itemsize * 8
    number &= 2**bits - 1
    return dtype.type(number - 2**bits if number >> (bits - 1) else number)


def _unsigned(value: Part) -> Part:
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def _divided(left: Part, right: Part) -> tuple[Part, Part]:
    """Quotient, cut towards zero, and remainder; a division by zero gives what nobody should use."""
    safe = np.where(right == 0, right.dtype.type(1), right)
    quotient = np.floor_divide(left, safe)
    quotient = quotient + ((np.remainder(left, safe) != 0) & ((left < 0) != (safe < 0)))
    quotient = quotient.astype(left.dtype)
    return quotient, (left - quotient * safe).astype(left.dtype)


_BINARY: dict[str, Callable[[Part, Part], Part]] = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.true_divide, "frem": np.fmod,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "shl": np.left_shift, "ashr": np.right_shift,
    "lshr": lambda a, b: np.right_shift(_unsigned(a), _unsigned(b)).view(a.dtype),
    "udiv": lambda a, b: np.floor_divide(_unsigned(a), np.maximum(_unsigned(b), 1)).view(a.dtype),
    "urem": lambda a, b: np.remainder(_unsigned(a), np.maximum(_unsigned(b), 1)).view(a.dtype),
    "sdiv": lambda a, b: _divided(a, b)[0], "srem": lambda a, b: _divided(a, b)[1],
}  # fmt: skip
_ORDERS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
_SIGNED, _UNSIGNED = "s", "u"
_CASTS = "trunc zext sext fptosi fptoui sitofp uitofp fptrunc fpext bitcast".split()


def _compared_integers(how: str, left: Part, right: Part) -> Part:
    if how[0] == _UNSIGNED:
        left, right = _unsigned(left), _unsigned(right)
    return _ORDERS[how if how in _ORDERS else how[1:]](left, right)


def _compared_floats(how: str, left: Part, right: Part) -> Part:
    unordered = np.isnan(left) | np.isnan(right)
    if how in ("ord", "uno"):
        return unordered if how == "uno" else ~unordered
    holds = _ORDERS[how[1:]](left, right)
    return holds & ~unordered if how[0] == "o" else holds | unordered


def _cast(how: str, value: Part, to: np.dtype) -> Part:
    if how == "bitcast":
        return value if value.dtype == to else value.view(to)
    if how == "trunc" and to == nt.BOOL:
        return (value & 1).astype(nt.BOOL)
    if how in ("zext", "uitofp"):
        value = _unsigned(value)
        return value.astype(f"u{to.itemsize}").view(to) if to.kind == "i" else value.astype(to)
    if how == "sext" and value.dtype == nt.BOOL:
        return np.negative(value.astype(to))
    if how == "fptoui":
        return nt.to_dtype(value, np.dtype(f"u{to.itemsize}")).view(to)
    return nt.to_dtype(value, to)


def _selected(lanes: Part, yes: Part, no: Part) -> Part:
    if isinstance(lanes, np.ndarray):
        return chosen(lanes, yes, no)
    return yes if lanes else no


class CodeWalk:
    """One call of such code by the lanes of a mask."""

    def __init__(
        self, machine: Machine, op: Operation, mask: Mask, call: Callable[[CodeWalk, str, list[Part], Mask], Part]
    ) -> None:
        """`call`: what a call of a declared function gives, by its name."""
        self.machine, self.op, self.mask, self._call = machine, op, mask, call
        self._values: dict[Any, Part] = {}

    def result(self, function: ir.Function, arguments: Sequence[Part]) -> Part:
        """What the function returns, lane by lane."""
        self._values.update(zip(function.args, arguments, strict=True))
        order = {block: place for place, block in enumerate(_in_order(function))}
        waiting: dict[Any, Mask] = {function.blocks[0]: self.mask}
        came_from = np.zeros(self.mask.lanes.shape, np.int64)
        returned: Part = None
        with np.errstate(all="ignore"):
            while waiting:
                block = min(waiting, key=order.__getitem__)  # those further on wait for who is behind
                mask = waiting.pop(block)
                self._look()
                gone, value = self._through(block, mask, order, came_from)
                if value is not None:
                    returned = chosen(mask.lanes, value, returned)
                for target, lanes in gone:
                    if lanes.active:
                        came_from = np.where(lanes.lanes, order[block], came_from)
                        waiting[target] = waiting[target].joined(lanes) if target in waiting else lanes
        return returned

    def _look(self) -> None:
        launch = self.machine.launch
        launch.work += STATEMENT_COST
        if launch.work > launch.next_look:
            launch.look(self.op)

    def _through(
        self, block: Any, mask: Mask, order: Mapping[Any, int], came_from: np.ndarray
    ) -> tuple[list[tuple[Any, Mask]], Part]:
        """(where lanes go on, and which; what they return) after the instructions of a block."""
        phis = [each for each in block.instructions if isinstance(each, ir.PhiInstr)]
        found = {each: self._arriving(each, order, came_from) for each in phis}
        for phi, value in found.items():
            self._set(phi, value, mask)
        for each in block.instructions[len(phis) :]:
            kind = each.opname if isinstance(each, ir.Instruction) else ""
            if kind == "br" and len(each.operands) == 1:
                return [(each.operands[0], mask)], None
            if kind == "br":
                return self._branch(each, mask), None
            if kind == "switch":
                return self._switch(each, mask), None
            if kind == "ret":
                return [], self._of(each.operands[0]) if each.operands else None
            if kind in ("ret void", "unreachable"):
                return [], None
            self._set(each, self._instruction(each, kind, mask), mask)
        raise CannotBeCarriedOut("a block of it has no end")

    def _branch(self, each: Any, mask: Mask) -> list[tuple[Any, Mask]]:
        self._count(mask)
        holds = np.broadcast_to(self._of(each.operands[0]), mask.lanes.shape)
        return [(each.operands[1], mask.only(holds)), (each.operands[2], mask.only(~holds))]

    def _switch(self, each: Any, mask: Mask) -> list[tuple[Any, Mask]]:
        self._count(mask)
        value = np.broadcast_to(self._of(each.value), mask.lanes.shape)
        left, gone = np.ones(mask.lanes.shape, bool), []
        for case, target in each.cases:
            here = value == self._of(case)
            gone.append((target, mask.only(here)))
            left &= ~here
        return [*gone, (each.default, mask.only(left))]

    def _arriving(self, phi: Any, order: Mapping[Any, int], came_from: np.ndarray) -> Part:
        value: Part = None
        for incoming, block in phi.incomings:
            here = came_from == order.get(block, -1)
            if here.any():
                value = chosen(here, self._of(incoming), value)
        return value

    def _set(self, name: Any, value: Part, mask: Mask) -> None:
        known = self._values.get(name) if mask is not self.mask else None
        self._values[name] = value if value is None else chosen(mask.lanes, value, known)

    def _of(self, operand: Any) -> Part:
        if isinstance(operand, ir.Constant):
            return constant(operand)
        try:
            return self._values[operand]
        except KeyError:
            raise CannotBeCarriedOut(f"it reads `{getattr(operand, 'name', operand)}`, which lies outside of it") from None

    def _instruction(self, each: Any, kind: str, mask: Mask) -> Part:
        if kind in ("", ";"):
            return None  # a comment
        if kind == "call":
            return self._called(each, mask)
        if kind == "alloca":
            return Pointer(LaneVariable(zero_of(each.allocated_type)))
        if kind == "getelementptr":
            return self._place(each)
        operands = [self._of(operand) for operand in each.operands]
        if kind in ("load", "store"):
            pointer = operands[-1]
            if not isinstance(pointer, Pointer):
                raise CannotBeCarriedOut("it reaches into an array's memory by an address")
            return pointer.read() if kind == "load" else pointer.write(operands[0], mask.lanes)
        if kind in ("extractvalue", "insertvalue"):
            return self._part(operands, each.indices)
        if kind == "bitcast" and isinstance(operands[0], Pointer):
            return operands[0]
        if not all(isinstance(operand, (np.ndarray, np.generic, tuple)) for operand in operands):
            raise CannotBeCarriedOut("it computes with an address, or with what an array consists of")
        if kind == "select":
            self._count(mask)
            return _selected(*operands)
        if kind in ("icmp", "fcmp"):
            self._count(mask, None if kind == "icmp" else operands[0].dtype)
            return (_compared_integers if kind == "icmp" else _compared_floats)(each.op, *operands)
        if kind in _CASTS:
            if kind != "bitcast":
                self._count(mask, slot=SLOT["conversions"])
            return _cast(kind, operands[0], dtype_of(each.type))
        if kind == "fneg":
            self._count(mask, operands[0].dtype)
            return np.negative(operands[0])
        if kind in _BINARY:
            self._count(mask, operands[0].dtype)
            if operands[0].dtype == nt.BOOL and kind in ("add", "sub"):
                return np.logical_xor(*operands)
            return _BINARY[kind](*operands)
        raise CannotBeCarriedOut(f"it has the instruction `{kind}`")

    def _count(self, mask: Mask, dtype: np.dtype | None = None, slot: int | None = None) -> None:
        row = self.machine.books.instruction(self.op, mask)
        if slot is None:
            is_float = dtype is not None and dtype.kind == "f"
            slot = _OPERATIONS[dtype.itemsize] if dtype is not None and is_float else SLOT["integer_operations"]
        row[slot] += mask.active

    def _place(self, each: Any) -> Part:
        pointer, indices = self._of(each.pointer), each.indices
        numbers = [int(index.constant) for index in indices if isinstance(index, ir.Constant)]
        if not isinstance(pointer, Pointer) or len(numbers) < len(indices) or numbers[0] != 0:
            raise CannotBeCarriedOut("it computes the address of an element")
        return Pointer(pointer.slot, (*pointer.path, *numbers[1:]))

    @staticmethod
    def _part(operands: Sequence[Part], indices: Sequence[int]) -> Part:
        content = operands[0]
        if len(operands) == 2:
            return _with(content, indices, operands[1])
        for index in indices:
            if not isinstance(content, tuple):
                raise CannotBeCarriedOut("it takes apart what an array consists of")
            content = content[index]
        return content

    def _called(self, each: Any, mask: Mask) -> Part:
        arguments = [self._of(operand) for operand in each.args]
        name = each.callee.asm if isinstance(each.callee, ir.InlineAsm) else each.callee.name
        found = self._call(self, name, arguments, mask)
        return None if isinstance(each.type, ir.VoidType) else found


def _in_order(function: ir.Function) -> list[Any]:
    """Blocks so that each stands before those that it leads to, but for the backs of loops."""
    done: list[Any] = []
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(function.blocks[0], False)]
    while stack:
        block, is_left = stack.pop()
        if is_left:
            done.append(block)
        elif block not in seen:
            seen.add(block)
            stack.append((block, True))
            last = block.instructions[-1] if block.instructions else None
            following = [] if last is None else [each for each in last.operands if isinstance(each, ir.Block)]
            if isinstance(last, ir.SwitchInstr):
                following = [last.default, *(target for _, target in last.cases)]
            stack.extend((each, False) for each in following)
    return done[::-1]


def told(op: Operation, name: str, problem: CannotBeCarriedOut) -> KernelFault:
    """What to say of code that cannot be carried out."""
    return op.fault(
        f"`{name}` is built of LLVM code, which the simulated GPU cannot carry out here: {problem}.",
        "Write it in Python with @overload or a device function, or run it on a GPU.",
    )
