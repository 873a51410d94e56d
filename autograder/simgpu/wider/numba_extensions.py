"""What a program has told Numba of types and functions of its own, asked for as Numba's compiler asks.

Numba's typing says what a call or an attribute gives, Numba's target context builds the LLVM code of it, and that code is
carried out by lanes (llvm_lanes.py). Nothing is imported of the compiler before something of the kind is met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from autograder.language.live import from_python
from autograder.language.program import Function
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.structures import Bound, Foreign, Structure
from autograder.simgpu.values.values import NUMBERS, Number, Value
from autograder.simgpu.values.variables import NamedItems
from autograder.simgpu.wider import llvm_calls, numbas_own
from autograder.simgpu.wider.llvm_lanes import CannotBeCarriedOut, CodeWalk, Part, told


@dataclass
class Built:
    """A function in LLVM code: what it takes and gives in Numba's types, and what it calls that is written in Python."""

    code: Any  # llvmlite.ir.Function
    takes: tuple[Any, ...]
    gives: Any
    of_python: dict[str, tuple[Function, Any]] = field(default_factory=dict)


class NumbasCompiler:
    """Numba's two contexts for the GPU: typing, and building code."""

    def __init__(self) -> None:
        descriptor = numbas_own.module("descriptor").cuda_target
        self.typing = descriptor.typing_context
        plain = descriptor.target_context
        model = numbas_own.of_the_compiler("callconv").NumpyErrorModel(None)  # where nothing is raised, nothing is asked
        self.target = plain.subtarget(error_model=model)

    def refresh(self) -> None:
        """Takes in what has been registered since."""
        self.typing.refresh()
        self.target.refresh()


@cache
def compiler() -> NumbasCompiler:
    """The one of this process."""
    made = NumbasCompiler()
    made.refresh()
    return made


# -- which types ----------------------------------------------------------------------------------------------------


def _asked(ask: Callable[[NumbasCompiler], Any]) -> Any:
    """What Numba's typing answers; None where it has no answer."""
    from numba.core import errors
    from numba.core.target_extension import target_override

    with numbas_own.in_place(), target_override("cuda"):
        asked = compiler()
        asked.refresh()
        try:
            return ask(asked)
        except (errors.NumbaError, ValueError, TypeError):
            return None


def foreign(value: object) -> Foreign | None:
    """A class or function of the program's own that Numba was told how to call; None where it was told nothing."""
    if not callable(value):
        return None
    numba_type = _asked(lambda numba: numba.typing.resolve_value_type(value))
    return Foreign(value, numba_type) if _is_callable(numba_type) else None


def _is_callable(numba_type: Any) -> bool:
    from numba.core import types

    return isinstance(numba_type, types.Callable)


def constant(value: object, machine: Machine, op: Operation) -> Structure | None:
    """A global object of a type of the program's own; None where Numba knows no type for it."""
    numba_type = _asked(lambda numba: numba.typing.resolve_value_type(value))
    if numba_type is None or _is_callable(numba_type) or not _has_parts(numba_type):
        return None

    def build(target: Any, builder: Any, arguments: Sequence[Any]) -> Any:
        return target.get_constant_generic(builder, numba_type, value)

    name = type(value).__name__
    built = _built(op, name, (), (), numba_type, build)
    result = _carried_out(machine, op, machine.batch.everyone, name, built, [])
    return result if isinstance(result, Structure) else None


def _has_parts(numba_type: Any) -> bool:
    try:
        return hasattr(compiler().target.data_model_manager[numba_type], "get_member_fe_type")
    except KeyError:
        return False


# -- calls, attributes, operators -----------------------------------------------------------------------------------


def call(
    machine: Machine, op: Operation, mask: Mask, callee: Foreign, arguments: Sequence[Value], types: Sequence[Any],
    names: Sequence[str] = (),
) -> Value:  # fmt: skip
    """A call of a function of the program's own; the last arguments have these names."""
    key = (callee.function, tuple(types), tuple(names))
    built = _kept(op, key, lambda: _call_built(op, callee, types, names))
    if built is None:
        shown = ", ".join(map(str, types))
        raise op.fault(f"`{callee.name}` has no version for ({shown}): Numba knows none for these types.")
    return _carried_out(machine, op, mask, callee.name, built, arguments)


def operation(
    machine: Machine, op: Operation, mask: Mask, function: Callable[..., Any], operands: Sequence[Value],
    types: Sequence[Any],
) -> tuple[Value] | None:
    """What an operator (of the module `operator`), or a function of the library, gives where the program told Numba so;
    None where it told nothing."""
    key = (function, tuple(types))
    built = _kept(op, key, lambda: _call_built(op, Foreign(function, None), types, ()))
    if built is None:
        return None
    return (_carried_out(machine, op, mask, getattr(function, "__name__", "this"), built, operands),)


def attribute(machine: Machine, op: Operation, mask: Mask, owner: Value, name: str, numba_type: Any) -> tuple[Value] | None:
    """An attribute or a method of a value, as the program told Numba; None where it told nothing."""
    key = (name, numba_type)
    gives = _kept(op, (*key, "type"), lambda: _asked(lambda numba: numba.typing.resolve_getattr(numba_type, name)))
    if gives is None:
        return None
    if _is_callable(gives):
        return (Bound(owner, name, gives),)

    def build(target: Any, builder: Any, arguments: Sequence[Any]) -> Any:
        return target.get_getattr(numba_type, name)(target, builder, numba_type, arguments[0], name)

    built = _kept(op, key, lambda: _built(op, name, (numba_type,), (numba_type,), gives, build))
    return (_carried_out(machine, op, mask, name, built, [owner]),)


def _kept(op: Operation, key: object, build: Callable[[], Any]) -> Any:
    """What was asked for or built once for a kernel."""
    known: dict[object, Any] = op.function.notes.setdefault(Built, {})
    if key not in known:
        known[key] = build()
    return known[key]


def _call_built(op: Operation, callee: Foreign, types: Sequence[Any], names: Sequence[str]) -> Built | None:
    by_position = tuple(types[: len(types) - len(names)])
    by_name = dict(zip(names, types[len(by_position) :], strict=True))

    def ask(numba: NumbasCompiler) -> Any:
        known = callee.type or numba.typing.resolve_value_type(callee.function)
        signature = numba.typing.resolve_function_type(known, by_position, by_name)
        return None if signature is None else (known, signature)

    found = _asked(ask)
    if found is None:
        return None
    known, signature = found
    if signature.recvr is not None:
        signature = signature.as_method() if not signature.args else signature

    def build(target: Any, builder: Any, arguments: Sequence[Any]) -> Any:
        return target.get_function(known, signature)(builder, arguments)

    wanted = tuple(signature.as_function().args)
    return _built(op, callee.name, tuple(types), wanted, signature.return_type, build)


def _built(
    op: Operation, name: str, given: Sequence[Any], wanted: Sequence[Any], gives: Any,
    build: Callable[[Any, Any, Sequence[Any]], Any],
) -> Built:  # fmt: skip
    """LLVM code that converts what is `given` to what is `wanted`, and does what `build` tells the builder."""
    from llvmlite import ir
    from numba.core import errors, types
    from numba.core.target_extension import target_override

    made = Built(None, tuple(given), gives)
    target = compiler().target.subtarget()
    target.compile_internal = _stepping(made, target)
    with numbas_own.in_place(), target_override("cuda"), target.push_code_library(_Library()):
        try:
            kind = ir.FunctionType(target.get_value_type(gives), [target.get_value_type(each) for each in given])
            made.code = ir.Function(ir.Module(name), kind, "code")
            builder = ir.IRBuilder(made.code.append_basic_block("entry"))
            arguments = [
                target.cast(builder, value, one, other)
                for value, one, other in zip(made.code.args, given, wanted, strict=True)
            ]
            result = build(target, builder, arguments)
            if isinstance(gives, types.NoneType):
                builder.ret_void()
            elif result is None:
                raise TypeError("a function that is not void returns None")
            else:
                builder.ret(result)
        except (errors.NumbaError, NotImplementedError, TypeError, ValueError, AttributeError, LookupError) as problem:
            lines = str(problem).strip().splitlines() or [type(problem).__name__]
            raise op.fault(
                f"`{name}` cannot be built for ({', '.join(map(str, given))}): {lines[0].rstrip('.')}.",
                "Look at the function that builds its LLVM code.",
            ) from problem
    return made


class _Library:
    """Where Numba notes what the code is linked with: nothing is linked here."""

    def add_linking_library(self, _: Any) -> None:
        """Not needed: what the code calls is carried out by its name."""


def _stepping(made: Built, target: Any) -> Callable[..., Any]:
    """In place of Numba's `compile_internal`: a call of the Python function, which is stepped through when it is met."""
    from llvmlite import ir

    def compile_internal(builder: Any, function: Any, signature: Any, arguments: Sequence[Any], **_: Any) -> Any:
        name = f"python.{len(made.of_python)}"
        made.of_python[name] = from_python(function, "device"), signature
        kind = ir.FunctionType(target.get_value_type(signature.return_type), [each.type for each in arguments])
        return builder.call(ir.Function(builder.module, kind, name), arguments)

    return compile_internal


# -- carrying it out ------------------------------------------------------------------------------------------------


def _carried_out(
    machine: Machine, op: Operation, mask: Mask, name: str, built: Built, arguments: Sequence[Value]
) -> Value:
    def step_into(function: Function, signature: Any) -> llvm_calls.StepInto:
        def step(parts: list[Part], lanes: Mask) -> Part:
            given = [as_value(each, part) for each, part in zip(signature.args, parts, strict=True)]
            result = machine.call_function(machine.lower(function), given, lanes, op)
            return as_part(signature.return_type, result)

        return step

    of_python = {each: step_into(*found) for each, found in built.of_python.items()}
    try:
        parts = [as_part(each, value) for each, value in zip(built.takes, arguments, strict=True)]
        walk = CodeWalk(machine, op, mask, llvm_calls.caller(of_python))
        return as_value(built.gives, walk.result(built.code, parts))
    except CannotBeCarriedOut as problem:
        raise told(op, name, problem) from problem


def as_part(numba_type: Any, value: Value) -> Part:
    """A value of a kernel as the code has it: numbers signed, structures in parts, arrays as they are."""
    if isinstance(value, Structure):
        kinds = _members(value.type)
        return tuple(as_part(each, part) for each, part in zip(kinds, value.parts, strict=True))
    if isinstance(value, tuple):
        return tuple(as_part(each, item) for each, item in zip(tuple(numba_type), value, strict=True))
    if isinstance(value, NUMBERS):
        if value.dtype.kind == "c":
            return np.real(value), np.imag(value)
        if value.dtype.kind not in "biuf" or value.dtype == nt.FLOAT16:
            raise CannotBeCarriedOut(f"it is given a {value.dtype}")
        return value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "u" else value
    return value if isinstance(value, View) else None


def as_value(numba_type: Any, part: Part) -> Value:
    """What the code gives, as a value of a kernel."""
    from numba.core import types
    from numba.np.numpy_support import as_dtype

    if isinstance(numba_type, types.NoneType):
        return None
    is_tuple = isinstance(numba_type, types.BaseTuple)
    if is_tuple:
        items = [as_value(each, item) for each, item in zip(numba_type, part, strict=True)]
        names = getattr(numba_type, "fields", None)
        return tuple(items) if names is None else NamedItems(items, tuple(names))
    if isinstance(numba_type, types.Complex):
        return nt.complex_of(part[0], part[1], np.dtype(as_dtype(numba_type)))
    if isinstance(numba_type, (types.Number, types.Boolean)):
        dtype = np.dtype(as_dtype(types.unliteral(numba_type)))
        number: Number = part.view(dtype) if dtype.kind == "u" else part if part.dtype == dtype else part.astype(dtype)
        return number
    if isinstance(part, tuple) and _has_parts(numba_type):
        kinds = _members(numba_type)
        return Structure(numba_type, tuple(as_value(each, one) for each, one in zip(kinds, part, strict=True)))
    if isinstance(part, View):
        return part
    raise CannotBeCarriedOut(f"it gives a value of the type {numba_type}")


def _members(numba_type: Any) -> Sequence[Any]:
    """The types of a structure's parts."""
    return tuple(each.fe_type for each in compiler().target.data_model_manager[numba_type].inner_models())

