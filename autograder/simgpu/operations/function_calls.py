"""Calls in expressions: of the library's functions, of device functions, of types."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.language.overloads import Overloaded
from autograder.language.program import Function, Reference, wrong_number
from autograder.simgpu.machine.machine import Frame, Machine, Runnable
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.callables import Closure, Method
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.conversions import conversion
from autograder.simgpu.operations.expressions import Constant
from autograder.simgpu.operations.number_values import advice_instead_of
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS, METHODS, Intrinsic
from autograder.simgpu.operations.shared_numbers import ComputedExpression
from autograder.simgpu.operations.steps import Expression, Lowered
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.structures import Bound, Foreign
from autograder.simgpu.values.values import Value


class Unpacked(Expression):
    """`*items` among the arguments of a call, or in a tuple."""

    __slots__ = ("operand",)
    is_unpacked = True

    def __init__(self, node: ast.AST, function: Function, operand: Expression) -> None:
        super().__init__(node, function)
        self.operand = operand

    def value(self, machine: Machine, mask: Mask) -> Value:
        value = self.operand.value(machine, mask)
        if not isinstance(value, tuple):
            raise self.fault("Only a tuple can be unpacked with `*` in a kernel.")
        return value


class FunctionCall(ComputedExpression):
    """`function(arguments)`."""

    __slots__ = ("callee", "arguments", "keywords", "discards", "bodies", "converts")

    def __init__(
        self, node: ast.AST, function: Function, callee: Expression, arguments: Sequence[Expression],
        keywords: dict[str, Expression],
    ) -> None:  # fmt: skip
        super().__init__(node, function)
        self.callee, self.arguments, self.keywords = callee, arguments, keywords
        self.discards = False  # whether nobody uses what it gives
        self.converts: tuple[TypeReference, Intrinsic] | None = None  # a type, and what a call of it does
        self.bodies: dict[Function, Lowered] = {}  # device functions that it calls, in operations of their own

    def shared_names(self) -> frozenset[str] | None:
        return None if self._integer_type() is None else self.arguments[0].shared_names()

    def written_number(self) -> int | None:
        dtype, number = self._integer_type(), self.arguments[0].written_number() if len(self.arguments) == 1 else None
        return None if dtype is None or number is None else int(np.int64(number).astype(dtype))

    def _integer_type(self) -> np.dtype | None:
        """The type of whole numbers that its one argument is converted to: `np.uint32(x)`."""
        called = self.callee.constant if isinstance(self.callee, Constant) else None
        if not isinstance(called, TypeReference) or called.dtype.kind not in "iu":
            return None
        return called.dtype if len(self.arguments) == 1 and not self.keywords else None

    def work_out(self, machine: Machine, mask: Mask) -> Value:
        callee = self.callee.value(machine, mask)
        arguments: list[Value] = []
        for each in self.arguments:
            value = each.value(machine, mask)
            if isinstance(each, Unpacked) and isinstance(value, tuple):
                arguments.extend(value)
            else:
                arguments.append(value)
        keywords: dict[str, Value] = {}
        if self.keywords:
            keywords = {name: each.value(machine, mask) for name, each in self.keywords.items()}
        if isinstance(callee, Reference) and (overloads.OF_LIBRARY or structured.has_structure(arguments)):
            own = self._of_program(machine, callee.path, arguments, keywords, mask)
            if own is not None:
                return own[0]
        if type(callee) is Reference and callee.path in CALLS:
            return CALLS[callee.path].call(Call(machine, self, mask, self.discards), arguments, keywords)
        if isinstance(callee, Overloaded):
            callee = self._implementation(callee, arguments, keywords)
        if isinstance(callee, Bound) and isinstance(callee.method, Overloaded):
            arguments.insert(0, callee.owner)
            callee = self._implementation(callee.method, arguments, keywords)
        if isinstance(callee, (Foreign, Bound)):
            given = [*arguments, *keywords.values()]
            return structured.called(machine, self, callee, given, self._written(given), tuple(keywords), mask)
        if isinstance(callee, Function):
            if callee.kind == "host":
                raise self.fault(
                    f"`{callee.name}` is an ordinary Python function; a kernel can only call device functions.",
                    "Decorate it with @cuda.jit(device=True).",
                )
            return self._of_device(machine, callee, arguments, keywords, mask, None)
        if isinstance(callee, Closure):
            return self._of_device(machine, callee.function, arguments, keywords, mask, callee.frame)
        if isinstance(callee, Method):
            arguments.insert(0, callee.owner)
        return self._of_library(callee).call(Call(machine, self, mask, self.discards), arguments, keywords)

    def _of_library(self, callee: Value) -> Intrinsic:
        """The function of the library that is called."""
        if isinstance(callee, Method):
            return METHODS[callee.name]
        if isinstance(callee, TypeReference):
            if self.converts is None or self.converts[0] is not callee:
                self.converts = callee, conversion(callee)
            return self.converts[1]
        if isinstance(callee, Reference) and callee.path in CALLS:
            return CALLS[callee.path]
        if isinstance(callee, Reference):
            raise self.fault(
                f"`{self.callee.text}` cannot be used in a kernel on this device.",
                advice_instead_of(callee.path)
                or "Kernels can use arithmetic, math.*, np scalar types, and the cuda functions of the course.",
            )
        raise self.fault(f"`{self.callee.text}` is not a function.")

    def _of_device(
        self, machine: Machine, function: Function, arguments: list[Value], keywords: dict[str, Value], mask: Mask,
        around: Frame | None,
    ) -> Value:  # fmt: skip
        lowered = self.bodies.get(function) or machine.lower(function)
        ordered = in_order(machine, self, lowered, arguments, keywords, mask)
        return machine.call_function(lowered, ordered, mask, self, around)

    def _of_program(
        self, machine: Machine, path: str, arguments: list[Value], keywords: dict[str, Value], mask: Mask
    ) -> tuple[Value] | None:
        """What the program has told Numba of a function of the library, for arguments of these types."""
        overloaded = overloads.of_library(path)
        if overloaded is not None:
            given = [*arguments, *keywords.values()]
            chosen = structured.implementation(overloaded, given, tuple(keywords), self._written(given))
            if chosen is not None:
                return (self._of_device(machine, chosen, arguments, keywords, mask, None),)
        if keywords or not structured.has_structure(arguments):
            return None
        return structured.of_library(machine, self, structured.function_of(path), arguments, mask)

    def _written(self, given: Sequence[Value]) -> list[int | None]:
        """The whole numbers that stand written among the last of what is given (before them may be a method's owner)."""
        written = [each.written_number() for each in (*self.arguments, *self.keywords.values())]
        if len(written) > len(given) or any(each.is_unpacked for each in self.arguments):
            return [None] * len(given)
        return [None] * (len(given) - len(written)) + written

    def _implementation(self, callee: Overloaded, arguments: list[Value], keywords: dict[str, Value]) -> Function:
        """What `@overload` gives for arguments of these types."""
        given = [*arguments, *keywords.values()]
        chosen = structured.implementation(callee, given, tuple(keywords), self._written(given))
        if chosen is None:
            types = ", ".join(str(structured.type_of_value(each)) for each in given)
            raise self.fault(f"`{callee.name}` has no overload for ({types}).")
        return chosen


def in_order(
    machine: Machine, op: Operation, lowered: Runnable, arguments: list[Value], keywords: dict[str, Value], mask: Mask
) -> list[Value]:
    """Arguments in the order of the parameters: by position, then by name, then the defaults."""
    function = lowered.function
    if keywords:
        check_names(op, function, len(arguments), keywords)
    ordered = list(arguments)
    for parameter in function.parameters[len(arguments) :]:
        if parameter in keywords:
            ordered.append(keywords[parameter])
        elif parameter in lowered.defaults:
            ordered.append(lowered.defaults[parameter].value(machine, mask))
        else:
            raise op.fault(wrong_number(function, len(arguments) + len(keywords)))
    return ordered


def check_names(op: Operation, function: Function, given: int, keywords: Iterable[str]) -> None:
    """Refuses names that a device function's parameters do not have, and a value that is given twice."""
    only_by_position = {each.arg for each in function.node.args.posonlyargs}
    takes = f"It takes ({', '.join(function.parameters)})."
    for name in keywords:
        if name not in function.parameters or name in only_by_position:
            raise op.fault(f"`{function.name}` has no parameter `{name}` to give by name.", takes)
        if name in function.parameters[:given]:
            raise op.fault(f"`{function.name}` is given `{name}` twice: by its position, and by its name.", takes)


def everything_of(body: Operation) -> Iterator[Operation]:
    """All operations in the order of the source, with those of the device functions that are called."""
    waiting = [body]
    while waiting:
        op = waiting.pop()
        yield op
        waiting.extend(reversed(inner_of(op)))


def inner_of(op: Operation) -> list[Operation]:
    """The operations that one is made of, and the bodies of the device functions that it calls."""
    called = [lowered.body for lowered in op.bodies.values()] if isinstance(op, FunctionCall) else []
    return [*op.parts(), *called]
