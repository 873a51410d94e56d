"""Numbers that stand in the source, and what is computed from them alone: the compiler computes it."""

from __future__ import annotations

import ast
import math

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import KnownName
from autograder.simgpu.operations.expressions import Captured, Constant
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Attribute
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Unary


def is_literal(op: Operation, found: Found) -> bool:
    """Whether a value is a number of the source, or computed from nothing else: `math.sqrt(2.0) / 9`."""
    if isinstance(op, Constant):
        return isinstance(op.constant, (int, float, complex)) or hasattr(op.constant, "dtype")
    if isinstance(op, Captured):
        return isinstance(op.found, (int, float, complex))
    if isinstance(op, (Binary, Unary)):
        return all(is_literal(each, found) for each in op.parts())
    if isinstance(op, FunctionCall):
        callee = found.values.get(op.callee)
        is_type = isinstance(callee, KnownName) and isinstance(callee.value, TypeReference)
        is_pure = is_type or found.callees.get(op, "").startswith("math.")
        return is_pure and not op.keywords and all(is_literal(each, found) for each in op.arguments)
    return isinstance(op, Attribute) and _is_of_math(op, found)


def literal_value(op: Operation, found: Found) -> float | None:
    """The value of a number that stands in the source, also in another type: `float32(0.5)`; None of anything else."""
    callee = found.values.get(op.callee) if isinstance(op, FunctionCall) and len(op.arguments) == 1 else None
    if isinstance(op, FunctionCall) and isinstance(callee, KnownName) and isinstance(callee.value, TypeReference):
        return literal_value(op.arguments[0], found)
    if isinstance(op, Attribute) and _is_of_math(op, found):
        return float(getattr(math, op.name))
    if isinstance(op, Unary) and op.kind is ast.USub:
        negated = literal_value(op.operand, found)
        return None if negated is None else -negated
    value = op.constant if isinstance(op, Constant) else op.found if isinstance(op, Captured) else None
    return float(value) if isinstance(value, (int, float, np.number)) else None


def _is_of_math(op: Attribute, found: Found) -> bool:
    """Whether an attribute is a number of the module `math`, such as `math.pi`."""
    owner = found.values.get(op.owner)
    path = getattr(getattr(owner, "value", None), "path", "")
    return path == "math" and op.name in ("pi", "e", "tau")
