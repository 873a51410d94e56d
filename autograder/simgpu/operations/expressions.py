"""Names, constants and tuples: the leaves of expressions.

START HERE for expressions; operators.py computes, indexing.py reaches into arrays, function_calls.py calls. A value is never
changed in place.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from autograder.language.live import EnumNames
from autograder.language.overloads import Overloaded
from autograder.language.program import Function, Namespace, Reference
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations import structured
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.structures import Foreign, Structure
from autograder.simgpu.values.values import Value
from autograder.simgpu.values.variables import Unmergeable

BUILTINS = frozenset(
    "range len min max abs int float bool complex round pow divmod enumerate zip print isinstance tuple slice".split()
)


class Constant(Expression):
    """A value that is the same for all lanes of all launches: a literal, a function, a name of the library."""

    __slots__ = ("constant",)

    def __init__(self, node: ast.AST, function: Function, constant: Value) -> None:
        super().__init__(node, function)
        self.constant = constant

    def value(self, machine: Machine, mask: Mask) -> Value:
        return self.constant

    def shared_names(self) -> frozenset[str] | None:
        return None if self.written_number() is None else frozenset()

    def written_number(self) -> int | None:
        return int(self.constant) if isinstance(self.constant, np.integer) else None


class Captured(Expression):
    """A module-level value that is taken as the launch finds it: an array, or a tuple with arrays in it."""

    __slots__ = ("found",)

    def __init__(self, node: ast.AST, function: Function, found: object) -> None:
        super().__init__(node, function)
        self.found = found

    def value(self, machine: Machine, mask: Mask) -> Value:
        return frozen(machine, self, self.found)


class Impossible(Expression):
    """What no kernel can work out; told when it is reached."""

    __slots__ = ("message", "remedy")

    def __init__(self, node: ast.AST, function: Function, message: str, remedy: str = "") -> None:
        super().__init__(node, function)
        self.message, self.remedy = message, remedy

    def value(self, machine: Machine, mask: Mask) -> Value:
        raise self.fault(self.message, self.remedy)


class Local(Expression):
    """A variable of the function, or of one around it."""

    __slots__ = ("name",)

    def __init__(self, node: ast.AST, function: Function, name: str) -> None:
        super().__init__(node, function)
        self.name = name

    def shared_names(self) -> frozenset[str] | None:
        return frozenset((self.name,))

    def value(self, machine: Machine, mask: Mask) -> Value:
        frame = machine.frame
        assert frame is not None
        variable = frame.variables.get(self.name)
        if variable is None:
            raise self.fault(
                f"`{self.name}` is not defined here.", "Assign it before this line, or check how it is spelled."
            )
        top, value = variable.layers[-1]
        if value is not None and (mask is top or mask.is_within(top)):
            return value
        try:
            value, unset = variable.read(mask)
        except Unmergeable as problem:
            raise self.fault(*problem.said(f"`{self.name}` holds")) from None
        if unset is not None:
            machine.reports.report(
                "unset_variable",
                self,
                lane=int(np.flatnonzero(unset)[0]),
                occurrences=int(np.count_nonzero(unset)),
                message=f"`{self.name}` has no value here for some threads: they took a path that never assigns it.",
                remedy="Assign it before the branch, so that every thread has a value.",
            )
        return value


class TupleOf(Expression):
    """`a, b, c`."""

    __slots__ = ("items",)

    def __init__(self, node: ast.AST, function: Function, items: Sequence[Expression]) -> None:
        super().__init__(node, function)
        self.items = items

    def value(self, machine: Machine, mask: Mask) -> Value:
        items: list[Value] = []
        for each in self.items:
            value = each.value(machine, mask)
            if each.is_unpacked and isinstance(value, tuple):
                items.extend(value)
            else:
                items.append(value)
        return tuple(items)


class NamedExpression(Expression):
    """`name := value`."""

    __slots__ = ("name", "operand")

    def __init__(self, node: ast.AST, function: Function, name: str, operand: Expression) -> None:
        super().__init__(node, function)
        self.name, self.operand = name, operand

    def value(self, machine: Machine, mask: Mask) -> Value:
        value = self.operand.value(machine, mask)
        machine.current.write(self.name, value, mask)
        return value


def frozen(machine: Machine, op: Operation, value: object) -> Value:
    """A module-level value as the kernel sees it: numbers and arrays are constants at compile time."""
    name = getattr(op.node, "id", "")
    if isinstance(value, View):
        return machine.launch.captured_array(value, name or "captured")
    if isinstance(value, (Reference, Function, Overloaded, EnumNames, Namespace, str, bytes)) or value is None:
        return value
    if isinstance(value, (tuple, list)):
        return tuple(frozen(machine, op, each) for each in value)
    if isinstance(value, np.ndarray):
        return machine.launch.constant_array(value, name or "constant")
    try:
        return nt.scalar(value)
    except (TypeError, OverflowError):
        own = value if isinstance(value, (Foreign, Structure)) else structured.foreign(value, machine, op)
        if own is not None:
            return own
        kind = type(value).__name__
        raise op.fault(
            f"`{name or 'this'}` is a {kind}, which a kernel cannot use.", "Pass numbers or arrays as arguments."
        ) from None
