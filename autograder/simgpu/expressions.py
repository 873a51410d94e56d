"""How an expression becomes one value per lane: a NumPy array with an element per lane, or a scalar that all share.

START HERE for expressions; operators.py computes, indexing.py reaches into arrays, iteration.py feeds the loops. A value is
never changed in place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.live import EnumNames
from autograder.language.numeric_types import TypeReference
from autograder.language.overloads import Overloaded
from autograder.language.program import Function, Namespace, Reference
from autograder.language.validate import validate_kernel
from autograder.simgpu import numba_types as nt
from autograder.simgpu.extending import type_of_value
from autograder.simgpu.indexing import METHODS, Indexing, Method
from autograder.simgpu.intrinsics import CALLS, Handler, advice_instead_of
from autograder.simgpu.iteration import Iteration
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.operators import Operators, Plan

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

BUILTINS = frozenset(
    "range len min max abs int float bool complex round pow divmod enumerate zip print isinstance tuple".split()
)


@dataclass(frozen=True)
class Closure:
    """A function defined inside a kernel, with the frame whose variables it sees."""

    function: Function
    frame: Any


def _is_about_arguments(problem: Exception, arguments: list) -> bool:
    """Whether a function of the library failed on what it was given: at once, or for something that is no number."""
    frames, here = 0, problem.__traceback__  # ours, the function's, and those that it shares with its kind
    while here is not None:
        frames, here = frames + 1, here.tb_next
    all_numbers = all(isinstance(each, (np.ndarray, np.generic, View)) for each in arguments)
    return frames <= 4 or not all_numbers or isinstance(problem, (AttributeError, StopIteration))


class Expressions(Operators, Indexing, Iteration):
    """The expression half of the interpreter; `Interpreter` adds statements, memory and bookkeeping."""

    def __init__(self) -> None:
        # by node: the last operands and result of integer arithmetic; results stay alive there, so their ids stay theirs
        self._integers: dict[tuple[ast.AST, type], tuple] = {}  # divmod does two operations at one node
        self._origins: dict[int, tuple[np.ndarray, int]] = {}
        self._constants: dict[ast.AST, np.generic] = {}
        self._plans: dict[ast.AST, Plan] = {}
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
        kind = type(node)
        if kind is ast.Name:
            variable = self.frame.variables.get(node.id)
            value = None if variable is None else variable.seen_by(mask)
            if value is not None:
                return value
        method = self._expressions.get(kind)
        if method is None:
            raise self.fault(node, f"A kernel cannot contain this kind of expression ({type(node).__name__}).")
        if discard and isinstance(node, ast.Call):
            return self.call(node, mask, discard=True)
        return method(node, mask)

    # -- names and constants --------------------------------------------------------------------------------------

    def constant(self: Interpreter, node: ast.Constant, mask: Mask) -> Any:
        known = self._constants.get(node)
        if known is not None:
            return known
        if node.value is None or isinstance(node.value, (str, bytes)):
            return node.value
        try:
            value = self._constants[node] = nt.scalar(node.value)
            return value
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
        if isinstance(value, View):
            return self.launch.captured_array(value, getattr(node, "id", "captured"))
        if isinstance(value, (Reference, Function, Overloaded, EnumNames, Namespace, str, bytes)) or value is None:
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

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self: Interpreter, node: ast.Call, mask: Mask, discard: bool = False) -> Any:
        function = self.evaluate(node.func, mask)
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.extend(self.unpacked_argument(argument, mask))
            else:
                arguments.append(self.evaluate(argument, mask))
        keywords = {k.arg: self.evaluate(k.value, mask) for k in node.keywords}
        if isinstance(function, Overloaded):
            function = self.implementation(node, function, arguments, keywords)
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
            self.check_one_length(function.view, node)
            return self.of_library(METHODS[function.name], node, mask, [function.view, *arguments], keywords)
        if isinstance(function, TypeReference):
            arguments = [arguments[0] if arguments else np.int64(0), function]
            return self.of_library(CALLS["builtins.convert"], node, mask, arguments, {})
        if isinstance(function, Reference):
            handler = CALLS.get(function.path)
            if handler is None:
                raise self.fault(
                    node, f"`{ast.unparse(node.func)}` cannot be used in a kernel on this device.",
                    advice_instead_of(function.path)
                    or "Kernels can use arithmetic, math.*, np scalar types, and the cuda functions of the course.",
                )  # fmt: skip
            if discard:
                keywords["_discard"] = True
            value = self.of_library(handler, node, mask, arguments, keywords)
            return value[()] if isinstance(value, np.ndarray) and not value.ndim else value
        raise self.fault(node, f"`{ast.unparse(node.func)}` is not a function.")

    def of_library(
        self: Interpreter, handler: Handler, node: ast.Call, mask: Mask, arguments: list, keywords: dict[str, Any]
    ) -> Any:
        """What a function of the library gives; arguments that it cannot take are its caller's mistake, not ours."""
        try:
            return handler(self, node, mask, arguments, keywords)
        except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as problem:
            if not _is_about_arguments(problem, arguments):
                raise
            raise self.fault(
                node, f"`{ast.unparse(node.func)}` cannot be called like this: `{ast.unparse(node)}`.",
                "Look at how many arguments it takes, and of which kind.",
            ) from None  # fmt: skip

    def implementation(
        self: Interpreter, node: ast.Call, function: Overloaded, arguments: list, keywords: dict[str, Any]
    ) -> Function:
        """What `@overload` gives for arguments of these types."""
        given = [type_of_value(value) for value in (*arguments, *keywords.values())]
        chosen = function.for_types(given, tuple(keywords))
        if chosen is None:
            shown = ", ".join(map(str, given))
            raise self.fault(node, f"`{function.name}` has no overload for ({shown}).")
        validate_kernel(chosen)
        return chosen

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


from autograder.simgpu import array_methods  # noqa: E402, F401  (fills METHODS)
