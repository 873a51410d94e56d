"""Reads a kernel, and each function that it calls, once into operations.

What a name means, which function a call may reach and what an assignment goes to is decided here; operations know nothing of
scopes. Source: the grammar in Python's `ast` module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import EllipsisType

from autograder.language.live import EnumNames, Unset
from autograder.language.overloads import Overloaded
from autograder.language.program import Function, Namespace, Reference
from autograder.simgpu.exceptions import named_in
from autograder.simgpu.operations.expressions import (
    BUILTINS,
    Captured,
    Constant,
    Impossible,
    Local,
    NamedExpression,
    TupleOf,
)
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked
from autograder.simgpu.operations.indexing import Attribute, Slice, Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    Definition,
    Element,
    Evaluate,
    If,
    Name,
    Nameless,
    Nothing,
    Raise,
    Refused,
    Return,
    Target,
    TupleTarget,
    Untargetable,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block, Expression, Lowered, Statement
from autograder.simgpu.values import numba_types as nt


class Lowering:
    """Functions of one kernel, each lowered when it is first wanted."""

    def __init__(self) -> None:
        self._known: dict[Function, Lowered] = {}
        self._around: dict[Function, frozenset[str]] = {}  # of functions inside others: names of those around them

    def of(self, function: Function) -> Lowered:
        known = self._known.get(function)
        if known is None:
            reader = Reader(function, self._around.get(function, frozenset()), self._note_inner)
            known = self._known[function] = reader.read()
        return known

    def anew(self, function: Function) -> Lowered:
        """The function in operations of its own, as a call in whose place it stands."""
        return Reader(function, self._around.get(function, frozenset()), self._note_inner).read()

    def _note_inner(self, inner: Function, around: frozenset[str]) -> None:
        self._around[inner] = around


class Reader:
    """Reads one function."""

    def __init__(
        self, function: Function, around: frozenset[str], note_inner: Callable[[Function, frozenset[str]], None]
    ) -> None:
        """`around`: variables of the functions that this one is defined in."""
        self.function = function
        self.variables = function.local_names | around
        self.note_inner = note_inner
        self.returns: list[Operation] = []

    def read(self) -> Lowered:
        function = self.function
        body = self.block(function.node, function.node.body)
        arguments = function.node.args
        with_default = function.parameters[len(function.parameters) - len(arguments.defaults) :]
        defaults = dict(zip(with_default, map(self.expression, arguments.defaults), strict=True))
        first = min(self.returns, key=lambda each: each.line.number, default=Operation(function.node, function))
        return Lowered(function, body, defaults, first)

    # -- statements -----------------------------------------------------------------------------------------------

    def block(self, node: ast.AST, statements: list[ast.stmt]) -> Block:
        return Block(node, self.function, [self.statement(each) for each in statements])

    def statement(self, node: ast.stmt) -> Statement:
        function = self.function
        match node:
            case ast.Assign():
                targets = [self.target(each) for each in node.targets]
                return Assign(node, function, targets, self.expression(node.value))
            case ast.AnnAssign():
                if node.value is None:
                    return Nothing(node, function)
                return Assign(node, function, [self.target(node.target)], self.expression(node.value))
            case ast.AugAssign():
                return self.update(node)
            case ast.If():
                condition = self.expression(node.test)
                return If(node, function, condition, self.block(node, node.body), self.block(node, node.orelse))
            case ast.While():
                condition = self.expression(node.test)
                return While(node, function, condition, self.block(node, node.body), self.block(node, node.orelse))
            case ast.For():
                target, source = self.target(node.target), self.sequence(node.iter)
                return For(node, function, target, source, self.block(node, node.body), self.block(node, node.orelse))
            case ast.Return():
                made = Return(node, function, None if node.value is None else self.expression(node.value))
                if node.value is not None:
                    self.returns.append(made)
                return made
            case ast.Break():
                return Break(node, function)
            case ast.Continue():
                return Continue(node, function)
            case ast.Raise():
                return Raise(node, function, *named_in(function, node))
            case ast.Expr():
                return self.evaluation(node)
            case ast.FunctionDef():
                return self.definition(node)
            case ast.Pass() | ast.Assert():
                return Nothing(node, function)
        return Refused(node, function)

    def update(self, node: ast.AugAssign) -> Statement:
        operand, kind = self.expression(node.value), type(node.op)
        if isinstance(node.target, ast.Name):
            read = Local(node.target, self.function, node.target.id)
            return UpdateName(node, self.function, node.target.id, kind, read, operand)
        if isinstance(node.target, ast.Subscript):
            return UpdateElement(node, self.function, self.subscript(node.target), kind, operand)
        return UpdateElement(node, self.function, self.attribute(node.target), kind, operand)

    def evaluation(self, node: ast.Expr) -> Statement:
        if isinstance(node.value, ast.Constant):  # a docstring costs nothing
            return Nothing(node, self.function)
        operand = self.expression(node.value)
        if isinstance(operand, FunctionCall):
            operand.discards = operand.is_ignored = True
        return Evaluate(node, self.function, operand)

    def definition(self, node: ast.FunctionDef) -> Statement:
        return Definition(node, self.function, self.inner(node))

    def inner(self, node: ast.FunctionDef) -> Function:
        """A function that is defined in this one."""
        around = self.function
        inner = Function(node.name, "device", node, around.file, around.text, around.names)
        self.note_inner(inner, self.variables)
        return inner

    # -- targets --------------------------------------------------------------------------------------------------

    def target(self, node: ast.expr) -> Target:
        function = self.function
        match node:
            case ast.Name():
                return Name(node, function, node.id)
            case ast.Subscript():
                return Element(node, function, self.subscript(node))
            case ast.Attribute():
                return Element(node, function, self.attribute(node))
            case ast.Tuple() | ast.List():
                return TupleTarget(node, function, [self.target(each) for each in node.elts])
        return Untargetable(node, function)

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Expression:
        function = self.function
        match node:
            case ast.Name():
                return self.name(node)
            case ast.Constant():
                return self.constant(node, node.value)
            case ast.BinOp():
                return Binary(node, function, type(node.op), self.expression(node.left), self.expression(node.right))
            case ast.UnaryOp():
                if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
                    literal = node.operand.value
                    if isinstance(literal, (int, float, complex)):
                        return self.constant(node, -literal)  # a negative literal is a literal
                return Unary(node, function, type(node.op), self.expression(node.operand))
            case ast.Compare():
                others = [self.sequence(each) for each in node.comparators]
                are_plain = [isinstance(each, (ast.Constant, ast.Name)) for each in node.comparators]
                kinds = [type(each) for each in node.ops]
                return Compare(node, function, self.expression(node.left), kinds, others, are_plain)
            case ast.BoolOp():
                operands = [self.expression(each) for each in node.values]
                return Junction(node, function, isinstance(node.op, ast.And), operands)
            case ast.IfExp():
                condition, yes, no = (self.expression(each) for each in (node.test, node.body, node.orelse))
                return Selection(node, function, condition, yes, no)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                arguments = [self.argument(each) for each in node.args]
                keywords = {each.arg: self.expression(each.value) for each in node.keywords if each.arg}
                return FunctionCall(node, function, self.expression(node.func), arguments, keywords)
            case ast.Tuple():
                return self.items(node)
            case ast.Lambda():
                return Nameless(node, function, self.inner(_as_definition(node)))
            case ast.NamedExpr():
                return NamedExpression(node, function, node.target.id, self.expression(node.value))
            case ast.Slice():
                bounds = [None if each is None else self.expression(each) for each in (node.lower, node.upper, node.step)]
                return Slice(node, function, bounds)
        return Impossible(node, function, f"A kernel cannot contain this kind of expression ({type(node).__name__}).")

    def sequence(self, node: ast.expr) -> Expression:
        """What is looped over or looked through, where a list that is written out is a tuple."""
        return self.items(node) if isinstance(node, ast.List) else self.expression(node)

    def items(self, node: ast.Tuple | ast.List) -> Expression:
        return TupleOf(node, self.function, [self.argument(each) for each in node.elts])

    def argument(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Starred):
            return Unpacked(node, self.function, self.expression(node.value))
        return self.expression(node)

    def subscript(self, node: ast.Subscript) -> Subscript:
        owner = self.expression(node.value)
        literal = node.slice.value if isinstance(node.slice, ast.Constant) else None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Subscript(
            node, self.function, owner, [self.expression(each) for each in parts], isinstance(node.slice, ast.Tuple),
            literal if isinstance(literal, str) else None,
        )  # fmt: skip

    def attribute(self, node: ast.Attribute) -> Attribute:
        return Attribute(node, self.function, self.expression(node.value), node.attr)

    def constant(self, node: ast.expr, literal: object) -> Expression:
        if literal is None or isinstance(literal, (str, bytes, EllipsisType)):
            return Constant(node, self.function, literal)
        try:
            return Constant(node, self.function, nt.scalar(literal))
        except (OverflowError, TypeError):
            return Impossible(node, self.function, f"Numba has no type for the constant {literal!r:.40}.")

    def name(self, node: ast.Name) -> Expression:
        function = self.function
        if node.id in self.variables:
            return Local(node, function, node.id)
        if node.id in function.names:
            return self.free(node, function.names[node.id])
        if node.id in BUILTINS:
            return Constant(node, function, Reference(f"builtins.{node.id}"))
        return Impossible(
            node, function, f"`{node.id}` is not defined here.",
            "Assign it before this line, or check how it is spelled.",
        )  # fmt: skip

    def free(self, node: ast.Name, found: object) -> Expression:
        """A module-level name: what it stands for is as constant as a literal, except arrays, known at launch."""
        if isinstance(found, Unset):
            return Impossible(
                node, self.function, f"`{node.id}` has no value here: the function around this one has not assigned it.",
                "Assign it before the kernel is launched, or leave out what uses it.",
            )  # fmt: skip
        if found is None or isinstance(found, (Reference, Function, Overloaded, EnumNames, Namespace, str, bytes)):
            return Constant(node, self.function, found)
        try:
            return Constant(node, self.function, nt.scalar(found))
        except (TypeError, OverflowError):
            return Captured(node, self.function, found)


def _as_definition(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda as the function that it is."""
    result = ast.copy_location(ast.Return(node.body), node)
    made = ast.FunctionDef("lambda", node.args, [result], [], None)
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12 and later
        setattr(made, "type_params", [])  # noqa: B010 (a field that older Pythons lack)
    return ast.copy_location(made, node)
