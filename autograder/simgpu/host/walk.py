"""A kernel's way for one batch of blocks, written as straight lines of arithmetic that each thread goes through by itself.

Who takes which branch, and who accesses which element, is worked out as ever; what follows from memory is not computed but
written down. What may not be written (a branch or an index that follows from memory) raises `NotTheSame`. Launches
(same_way.py) and rounds of a loop (steady_rounds.py) are computed from it.

START HERE: `Walk.statement`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host.straight import Made, NotTheSame, Straight, converted
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.machine import Frame, Machine, Runnable
from autograder.simgpu.one_thread.rehearsal import Stage
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.conversions import conversion
from autograder.simgpu.operations.expressions import Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.number_values import truth
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Unary
from autograder.simgpu.operations.ranges import plain_numbers
from autograder.simgpu.operations.registry import CALLS, COUNT_BY_VALUE, OF_FLOATS
from autograder.simgpu.operations.statements import (
    Assign,
    Element,
    If,
    Name,
    Nothing,
    Return,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block, Expression, Statement
from autograder.simgpu.values.lanes import Batch, Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, common, operator_types, to_dtype
from autograder.simgpu.values.values import NUMBERS, Value
from autograder.simgpu.values.values import Number as Boxed

MOST_BYTES = 128 * 1024**2  # of indices and other numbers by thread
MOST_CALLS = 8  # of device functions, one within the other
SYMBOLS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
EXACT: dict[np.ufunc, str] = {np.sqrt: "np.sqrt", np.abs: "abs"}  # functions of floats that all processors round alike
ELEMENTS = frozenset(np.dtype(each) for each in "b h i q B H I Q f d".split())  # dtypes of what is loaded and stored


class CarriedLaunch(Protocol):
    """A launch that was carried out, or is about to be: `host/launch.py`."""

    prepared: Prepared
    buffers: list[Buffer]
    work: int

    def batches(self) -> list[Batch]:
        """Its blocks, as they are carried out."""


Meaning: TypeAlias = "Value | Made | tuple[Meaning, ...]"


@dataclass(eq=False)
class WalkedCall:
    """A call of a device function that is gone through: for the threads of a mask, and what it returns to them."""

    mask: Mask
    value: Meaning = None


class Walk:
    """Goes through a kernel for one batch of blocks, and writes what its threads compute."""

    takes_calls = True  # whether functions of NumPy's may be called between the lines

    def __init__(self, launch: CarriedLaunch, batch: Batch, bound: Mapping[str, Value], nbytes: int = 0) -> None:
        """`nbytes`: what walks through other batches have kept."""
        prepared = launch.prepared
        machine = Machine(cast(LaunchState, launch), batch, prepared.lowering.of, prepared.written_loops)
        self.stage = Stage(machine, tells=False)
        self.machine = self.stage.as_machine()
        self.stage.frame = self.stage.current = self.frame = Frame(prepared.kernel.function)
        for name, value in bound.items():
            self.frame.write(name, value, batch.everyone)
        self.places = {id(each): place for place, each in enumerate(launch.buffers)}
        self.lower: Callable[[Function], Runnable] = prepared.lowering.of
        self.results: list[WalkedCall] = []  # of the device functions that are gone through
        self.made: dict[str, Made] = {}
        self.straights: list[Straight] = []
        self.loads: list[tuple[int, Straight, np.ndarray]] = []
        self.stores: list[tuple[int, Straight, np.ndarray]] = []
        self.nbytes = nbytes
        self.block(prepared.kernel.body, batch.everyone)
        del self.stage, self.machine, self.frame  # and with them all lane vectors of the batch

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, block: Block, mask: Mask) -> Mask | None:
        left: Mask | None = mask
        for statement in block.statements:
            if left is None:
                break
            left = self.statement(statement, left)
        return left

    def statement(self, op: Statement, mask: Mask) -> Mask | None:
        """One statement; who goes on behind it."""
        match op:
            case Nothing():
                return mask
            case Return() if op.result is None and not self.results:
                return None
            case Return() if op.result is not None and self.results and self.results[-1].mask is mask:
                self.results[-1].value = self.value(op.result, mask)
                return None
            case Assign():
                self.assign(op, mask)
            case UpdateName():
                if not self.follows(op, mask):
                    op.carry_out(self.machine, mask)
                else:
                    self.set(op.name, self.binary(op.kind, *self.two(op.read, op.operand, mask), mask), mask)
            case UpdateElement() if isinstance(op.reached, Subscript):
                view, elements = self.place(op.reached, mask)
                old, value = self.load(view, elements, mask), self.value(op.operand, mask)
                self.store(view, elements, self.binary(op.kind, old, value, mask), mask)
            case If():
                return self.branch(op, mask)
            case For():
                self.loop(op, mask)
            case _:
                raise NotTheSame(type(op).__name__)
        return mask

    def assign(self, op: Assign, mask: Mask) -> None:
        value = self.value(op.operand, mask)
        for target in op.targets:
            if isinstance(target, Name):
                self.set(target.name, value, mask)
            elif isinstance(target, Element) and isinstance(target.reached, Subscript):
                view, elements = self.place(target.reached, mask)
                self.store(view, elements, value, mask)
            elif isinstance(target, TupleTarget) and isinstance(value, tuple) and len(value) == len(target.targets):
                for each, part in zip(target.targets, value, strict=True):
                    if not isinstance(each, Name):
                        raise NotTheSame("an assignment")
                    self.set(each.name, part, mask)
            else:
                raise NotTheSame("an assignment")

    def branch(self, op: If, mask: Mask) -> Mask | None:
        condition = truth(self.known(op.condition, mask), op.condition)
        if not isinstance(condition, np.ndarray):
            return self.block(op.body if condition else op.orelse, mask)
        taken, other = mask.only(condition), mask.only(~condition)
        after = [
            self.block(block, each) if each.active else None for block, each in ((op.body, taken), (op.orelse, other))
        ]
        lanes = [each.lanes for each in after if each is not None]
        return mask.only(np.logical_or.reduce(lanes)) if lanes else None

    def loop(self, op: For, mask: Mask) -> None:
        numbers = plain_numbers(self.known(op.source, mask))
        if numbers is None or op.orelse.statements or not isinstance(op.target, Name):
            raise NotTheSame("a loop over something else than a range")
        for number in numbers:
            self.set(op.target.name, np.int64(number), mask)
            if self.block(op.body, mask) is not mask:
                raise NotTheSame("a loop that some leave early")

    def set(self, name: str, value: Meaning, mask: Mask) -> None:
        if isinstance(value, Made):
            self.made[name] = value
            return
        if _has_made(value):
            raise NotTheSame("a tuple of what follows from memory")
        if name in self.made and self.made.pop(name).where.mask is not mask:
            raise NotTheSame("a variable that only some have computed")
        self.frame.write(name, cast(Value, value), mask)

    # -- expressions ----------------------------------------------------------------------------------------------

    def follows(self, op: Operation, mask: Mask) -> bool:
        """Whether a value follows from what is in memory."""
        return any(
            isinstance(each, Local)
            and each.name in self.made
            or isinstance(each, Subscript)
            and (self.follows(each.owner, mask) or isinstance(each.owner.value(self.machine, mask), View))
            or isinstance(each, FunctionCall)
            and isinstance(each.callee.value(self.machine, mask), Function)
            for each in everything_in(op)
        )

    def known(self, op: Expression, mask: Mask) -> Value:
        """A value that does not follow from what is in memory."""
        if self.follows(op, mask):
            raise NotTheSame("a way that depends on values")
        return op.value(self.machine, mask)

    def value(self, op: Expression, mask: Mask) -> Meaning:
        if not self.follows(op, mask):
            return op.value(self.machine, mask)
        match op:
            case Local():
                return self.made[op.name]
            case Binary():
                return self.binary(op.kind, *self.two(op.left, op.right, mask), mask)
            case Unary() if op.kind in (ast.USub, ast.UAdd):
                code, dtype = self.operand(self.value(op.operand, mask), mask)
                if dtype.kind != "f":
                    raise NotTheSame("an operator")
                return self.keep(f"-{code}" if op.kind is ast.USub else code, dtype, mask)
            case Subscript():
                view, elements = self.place(op, mask)
                return self.load(view, elements, mask)
            case FunctionCall() if not op.keywords:
                return self.call(op, mask)
            case TupleOf() if not any(each.is_unpacked for each in op.items):
                return tuple(self.value(each, mask) for each in op.items)
        raise NotTheSame(type(op).__name__)

    def two(self, left: Expression, right: Expression, mask: Mask) -> tuple[Meaning, Meaning]:
        return self.value(left, mask), self.value(right, mask)

    def binary(self, kind: type[ast.operator], left: Meaning, right: Meaning, mask: Mask) -> Made:
        (a, one), (b, other) = self.operand(left, mask), self.operand(right, mask)
        if kind not in SYMBOLS and kind is not ast.Pow:
            raise NotTheSame("an operator")
        try:
            compute, result = operator_types(kind, one, other)
        except (TypeError, KeyError):
            raise NotTheSame("an operator") from None
        if compute not in ELEMENTS or result not in ELEMENTS:
            raise NotTheSame("an operator")
        if kind is ast.Pow:
            if compute.kind != "f" or compute != result:
                raise NotTheSame("an operator")
            return self.called(np.power, (left, right), compute, mask)
        code = f"{converted(a, one, compute)} {SYMBOLS[kind]} {converted(b, other, compute)}"
        return self.keep(f"np.{result.name}({code})", result, mask)

    def call(self, op: FunctionCall, mask: Mask) -> Meaning:
        callee = self.known(op.callee, mask)
        if isinstance(callee, Function):
            return self.in_place(op, callee, mask)
        values = [self.value(each, mask) for each in op.arguments]
        arguments = [self.operand(each, mask) for each in values]
        if isinstance(callee, TypeReference) and len(arguments) == 1:
            ((code, dtype),) = arguments
            given = conversion(callee).call(Call(self.machine, op, mask), [dtype.type(1)], {})
            if not isinstance(given, np.generic) or given.dtype not in (FLOAT32, FLOAT64):
                raise NotTheSame("a conversion")
            return self.keep(converted(code, dtype, given.dtype), given.dtype, mask)
        path = getattr(callee, "path", "")
        handler = CALLS[path].handler if path in CALLS else None
        compute = np.abs if path == "builtins.abs" else None if handler is None else OF_FLOATS.get(handler)
        if compute is None or overloads.OF_LIBRARY or compute.nin != len(arguments):
            raise NotTheSame("a call")
        if path == "builtins.abs" and arguments[0][1].kind != "f":
            raise NotTheSame("a call")
        dtypes = [each if each.kind == "f" else FLOAT64 for _, each in arguments]
        dtype = dtypes[0] if len(dtypes) == 1 else common(*dtypes)
        if dtype == FLOAT64 and handler in COUNT_BY_VALUE:
            raise NotTheSame("a function that counts by what it is given")
        if compute in EXACT:
            ((code, given_dtype),) = arguments
            return self.keep(f"{EXACT[compute]}({converted(code, given_dtype, dtype)})", dtype, mask)
        return self.called(compute, values, dtype, mask)

    def called(self, function: np.ufunc, values: Sequence[Meaning], dtype: np.dtype, mask: Mask) -> Made:
        """What a function of NumPy's gives for operands that become floats of one type."""
        if not self.takes_calls:
            raise NotTheSame("a function that not every processor rounds alike")
        straight, operands = self.straight(mask), []
        for value in values:
            if isinstance(value, NUMBERS):
                value = value.astype(dtype)  # a scalar stays one: NumPy squares where a power is two
            code, given = self.operand(value, mask)
            operands.append(code if given == dtype else straight.keep(converted(code, given, dtype), dtype))
        return Made(straight.call(function, tuple(operands), dtype), dtype, straight)

    def in_place(self, op: FunctionCall, function: Function, mask: Mask) -> Meaning:
        """A call of a device function: its statements are gone through here."""
        body = (op.bodies.get(function) or self.lower(function)).body
        if function.kind == "host" or not isinstance(body, Block) or len(self.results) >= MOST_CALLS:
            raise NotTheSame("a call")
        if len(op.arguments) != len(function.parameters):
            raise NotTheSame("a call")
        arguments = [self.value(each, mask) for each in op.arguments]
        if function.casts is not None:
            dtypes = [*function.casts.arguments, *[None] * len(arguments)]
            arguments = [self.cast(*each, mask) for each in zip(arguments, dtypes, strict=False)]
        frame, made = self.frame, self.made
        self.stage.frame = self.stage.current = self.frame = Frame(function, depth=frame.depth + 1)
        self.made = {}
        for name, value in zip(function.parameters, arguments, strict=True):
            self.set(name, value, mask)
        self.results.append(WalkedCall(mask))
        goes_on = self.block(body, mask)
        result = self.results.pop().value
        self.stage.frame = self.stage.current = self.frame = frame
        self.made = made
        if goes_on is not None or result is None:
            raise NotTheSame("a function that not all return a value from together")
        return result if function.casts is None else self.cast(result, function.casts.result, mask)

    def cast(self, value: Meaning, dtype: np.dtype | None, mask: Mask) -> Meaning:
        """What the signature of a device function makes of a number."""
        if isinstance(value, Made):
            if dtype is None or value.dtype == dtype:
                return value
            if dtype.kind != "f":
                raise NotTheSame("a conversion")
            return self.keep(converted(value.code, value.dtype, dtype), dtype, mask)
        return to_dtype(value, dtype) if dtype is not None and isinstance(value, NUMBERS) else value

    def keep(self, code: str, dtype: np.dtype, mask: Mask) -> Made:
        straight = self.straight(mask)
        return Made(straight.keep(code, dtype), dtype, straight)

    def operand(self, value: Meaning, mask: Mask) -> tuple[str, np.dtype]:
        """How a number is written, and its type."""
        straight = self.straight(mask)
        if isinstance(value, Made):
            if value.where is not straight:
                raise NotTheSame("a number of other threads, too")
            return value.code, value.dtype
        if not isinstance(value, NUMBERS) or value.dtype not in ELEMENTS:
            raise NotTheSame("no number")
        if isinstance(value, np.ndarray):
            straight.vectors.append(self.noted(value[mask.where]))
            return f"w{len(straight.vectors) - 1}[k]", value.dtype
        straight.scalars.append(value)
        return f"s{len(straight.scalars) - 1}", value.dtype

    def noted(self, by_thread: np.ndarray) -> np.ndarray:
        """Numbers by thread that are kept; raises `NotTheSame` where they become too many."""
        self.nbytes += by_thread.nbytes
        if self.nbytes > MOST_BYTES:
            raise NotTheSame("too many numbers")
        return by_thread

    def straight(self, mask: Mask) -> Straight:
        """Where what is computed under a mask is written."""
        if not self.straights or self.straights[-1].mask is not mask:
            self.straights.append(Straight(mask))
        return self.straights[-1]

    # -- memory ---------------------------------------------------------------------------------------------------

    def meant(self, op: Subscript, mask: Mask) -> tuple[View, list[Boxed]]:
        """The array and the indices that are meant, one for each dimension."""
        view = self.known(op.owner, mask)
        if not isinstance(view, View) or view.buffer.space != "global" or id(view.buffer) not in self.places:
            raise NotTheSame("other memory")
        if view.field is not None or view.lengths is not None or view.outside is not None or view.dtype not in ELEMENTS:
            raise NotTheSame("other memory")
        if op.field is not None or not isinstance(view.offset, int):
            raise NotTheSame("other memory")
        indices = [self.known(each, mask) for each in op.indices]
        if len(indices) == 1 and isinstance(indices[0], tuple):
            indices = list(indices[0])
        numbers = [each for each in indices if isinstance(each, NUMBERS) and each.dtype.kind in "iu"]
        if len(indices) != view.ndim or len(numbers) != view.ndim:
            raise NotTheSame("a part of an array, or an index that is no integer")
        return view, numbers

    def place(self, op: Subscript, mask: Mask) -> tuple[View, np.ndarray]:
        """The array and the elements that are meant, by thread."""
        view, indices = self.meant(op, mask)
        where = mask.where
        elements = np.full(len(where), view.offset, np.int64)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            one = index[where] if isinstance(index, np.ndarray) else index
            if not (np.all(np.greater_equal(one, 0)) and np.all(np.less(one, extent))):
                raise NotTheSame("an index outside")
            elements += one.astype(np.int64) * stride
        return view, elements

    def load(self, view: View, elements: np.ndarray, mask: Mask) -> Made:
        straight, place = self.straight(mask), self.places[id(view.buffer)]
        straight.arrays[place] = view.dtype
        elements = self.noted_elements(straight, elements)
        self.loads.append((place, straight, elements))
        return self.keep(self.loading(f"x{place}", straight.element(elements), elements, view.dtype), view.dtype, mask)

    def store(self, view: View, elements: np.ndarray, value: Meaning, mask: Mask) -> None:
        straight, place = self.straight(mask), self.places[id(view.buffer)]
        code, dtype = self.operand(value, mask)
        if dtype != view.dtype and not (dtype.kind == view.dtype.kind == "f"):
            raise NotTheSame("a number that may not fit")
        straight.arrays[place] = view.dtype
        elements = self.noted_elements(straight, elements)
        self.stores.append((place, straight, elements))
        straight.write(
            self.storing(f"x{place}", straight.element(elements), elements, converted(code, dtype, view.dtype))
        )

    def noted_elements(self, straight: Straight, elements: np.ndarray) -> np.ndarray:
        """Elements by thread that are kept: those of one access serve for all that go to the same."""
        known = straight.known(elements)
        return self.noted(elements) if known is None else known

    def loading(self, array: str, at: str, elements: np.ndarray, dtype: np.dtype) -> str:
        """How the load of these elements is written, `at` being how a thread's own is."""
        return f"{array}[{at}]"

    def storing(self, array: str, at: str, elements: np.ndarray, code: str) -> str:
        """How a store to these elements is written."""
        return f"{array}[{at}] = {code}"


def _has_made(value: Meaning) -> bool:
    return isinstance(value, Made) or isinstance(value, tuple) and any(map(_has_made, value))
