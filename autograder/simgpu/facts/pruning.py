"""Conditions that the compiler may decide before it infers types: it then drops the side that is never reached."""

from __future__ import annotations

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import Known, KnownName, KnownNumber, Unknown
from autograder.simgpu.operations.expressions import Constant
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operators import Compare, Junction, Unary
from autograder.simgpu.operations.steps import Expression


def may_be_decided(op: Expression, found: Found) -> bool:
    """Whether the compiler may decide a condition before it infers types.

    Numba does so for literals, names of the module, arguments that are None, and properties of an array's or tuple's type.
    """
    if isinstance(op, Junction):
        return any(may_be_decided(each, found) for each in op.operands)
    if isinstance(op, Unary):
        return may_be_decided(op.operand, found)
    if isinstance(op, FunctionCall):
        return found.callees.get(op) in ("builtins.isinstance", "builtins.hasattr")
    if isinstance(op, Compare):
        return all(_is_settled(found.values.get(each)) for each in (op.left, *op.others)) or any(
            found.values.get(each) == KnownName(None) for each in (op.left, *op.others)
        )
    return isinstance(op, Constant) or _is_settled(found.values.get(op))


def _is_settled(known: Known | None) -> bool:
    if isinstance(known, KnownNumber):
        return known.constant is not None
    return known is None or isinstance(known, (KnownName, Unknown))
