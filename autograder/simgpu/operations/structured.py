"""What a program has given to kernels beyond numbers and arrays: overloads, and values of types of its own.

The rest of the engine asks here where it meets what it does not know itself. An implementation written in Python is stepped
through; LLVM code is built by Numba and carried out by wider/numba_extensions.py, which is imported when it is needed first.
"""

from __future__ import annotations

import ast
import importlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.language.overloads import Overloaded
from autograder.language.program import Function, Reference
from autograder.language.validate import validate_kernel
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View, contiguous_strides
from autograder.simgpu.values.structures import Bound, Foreign, Structure
from autograder.simgpu.values.values import Value

FUNCTIONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.In: operator.contains, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
    ast.Subscript: operator.getitem,
}  # fmt: skip
"""Python's functions that stand for operators."""

_GRID = "numba.cuda.cg.grid_group"


def type_of_value(value: Value) -> Any:
    """The Numba type of a value in a kernel, as `@overload` functions are given it."""
    from numba import from_dtype
    from numba.core import types as numba_types

    if isinstance(value, View):
        order: Literal["C", "A"] = "C" if value.strides == contiguous_strides(value.shape) else "A"
        return numba_types.Array(from_dtype(value.dtype), value.ndim, order, readonly=value.read_only)
    if isinstance(value, Structure):
        return value.type
    if isinstance(value, tuple):
        return numba_types.Tuple.from_types(tuple(map(type_of_value, value)))
    if isinstance(value, TypeReference):
        return numba_types.NumberClass(from_dtype(value.dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        dtype: np.dtype = value.dtype
        return from_dtype(dtype)
    if value is None:
        return numba_types.none
    if isinstance(value, str):
        return numba_types.unicode_type
    if isinstance(value, Foreign):
        return value.type
    if isinstance(value, Reference) and value.path == _GRID:
        return _of_numba("numbas_own").module("types").GridGroup()
    return numba_types.Opaque(f"function {getattr(value, 'name', '')}")


def _of_numba(name: str = "numba_extensions") -> Any:
    """The module that asks Numba's compiler."""
    return importlib.import_module(f"autograder.simgpu.wider.{name}")


def foreign(value: object, machine: Machine, op: Operation) -> Value:
    """A class, a function or an object of the program's own, as a kernel has it; None where Numba was told nothing of it."""
    found: Value = _of_numba().foreign(value) or _of_numba().constant(value, machine, op)
    return found


def types_of(arguments: Sequence[Value], written: Sequence[int | None]) -> list[Any]:
    """The types of a call's arguments; `written`: the whole numbers that stand there, whose types Numba knows with them."""
    from numba.core import types

    known = [each if isinstance(each, str) else n for each, n in zip(arguments, written, strict=True)]
    return [type_of_value(each) if n is None else types.literal(n) for each, n in zip(arguments, known, strict=True)]


# -- overloads, written in Python -------------------------------------------------------------------------------------


def implementation(
    overloaded: Overloaded | None, arguments: Sequence[Value], names: Sequence[str] = (),
    written: Sequence[int | None] | None = None,
) -> Function | None:  # fmt: skip
    """What overloads have for arguments of these types (the last ones by these names); None where they have nothing."""
    if overloaded is None:
        return None
    plain = [type_of_value(each) for each in arguments]
    chosen = overloaded.for_types(plain, names, types_of(arguments, written or [None] * len(arguments)))
    if chosen is not None:
        validate_kernel(chosen)
    return chosen


def _stepped(machine: Machine, op: Operation, function: Function, arguments: Sequence[Value], mask: Mask) -> Value:
    return machine.call_function(machine.lower(function), list(arguments), mask, op)


# -- operators, attributes, functions ---------------------------------------------------------------------------------


def has_structure(values: Sequence[Value]) -> bool:
    """Whether one of these is a value of a type of the program's own."""
    return Structure in map(type, values)


def operated(
    machine: Machine, op: Operation, kind: type[ast.AST], operands: Sequence[Value], mask: Mask
) -> tuple[Value] | None:
    """What an operator gives for operands that are no two numbers, as the program told Numba; None where it did not."""
    function = FUNCTIONS.get(kind)
    if function is None:
        return None
    given = operands[::-1] if kind is ast.In else operands
    name = function.__name__
    chosen = implementation(overloads.of_library(f"operator.{name}"), given)
    if chosen is not None:
        return (_stepped(machine, op, chosen, given, mask),)
    return of_library(machine, op, function, given, mask)


def of_library(
    machine: Machine, op: Operation, function: Callable[..., Any] | None, arguments: Sequence[Value], mask: Mask
) -> tuple[Value] | None:
    """What a function of the library gives for values of the program's own types; None where Numba was told nothing."""
    if function is None or not has_structure(arguments):
        return None
    types = [type_of_value(each) for each in arguments]
    found: tuple[Value] | None = _of_numba().operation(machine, op, mask, function, arguments, types)
    return found


def function_of(path: str) -> Callable[..., Any] | None:
    """Python's function with a canonical path of the library."""
    module, _, name = path.rpartition(".")
    if module not in ("builtins", "math", "cmath", "operator", "numpy"):
        return None
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    return found


def attribute(machine: Machine, op: Operation, owner: Value, name: str, mask: Mask) -> tuple[Value] | None:
    """A value's attribute or method, as the program told Numba; None where it told nothing."""
    if not isinstance(owner, Structure) and not overloads.has_member(name):
        return None
    numba_type = type_of_value(owner)
    own = overloads.member(name, numba_type)
    if own is not None and own[0]:
        return (Bound(owner, name, own[1]),)
    if own is not None:
        chosen = implementation(own[1], [owner])
        if chosen is not None:
            return (_stepped(machine, op, chosen, [owner], mask),)
    if not isinstance(owner, Structure):
        return None
    found: tuple[Value] | None = _of_numba().attribute(machine, op, mask, owner, name, numba_type)
    if found is None:
        raise op.fault(f"`{op.text}`: values of the type {owner.name} have no `{name}` that Numba was told of.")
    return found


def called(
    machine: Machine, op: Operation, callee: Foreign | Bound, arguments: Sequence[Value], written: Sequence[int | None],
    names: Sequence[str], mask: Mask,
) -> Value:  # fmt: skip
    """A call of a function or a method that LLVM code is built for."""
    if isinstance(callee, Bound):
        arguments, written = [callee.owner, *arguments], [None, *written]
        callee = Foreign(callee.name, callee.method)
    types = types_of(arguments, written)
    result: Value = _of_numba().call(machine, op, mask, callee, arguments, types, names)
    return result
