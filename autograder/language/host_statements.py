"""The statements of host functions, each carried out by a method of its name: `do_assign`, `do_for`, ..."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.errors import SubmissionError
from autograder.language.host_expressions import HostExpressions, is_array, is_on_device
from autograder.language.host_limits import ITERABLE, check_key, weigh
from autograder.language.quoting import quoted

_END = object()  # what the last of some items is followed by


class Returned(Exception):  # noqa: N818 (control flow, not an error)
    def __init__(self, value: Any) -> None:
        self.value = value


class LoopEnds(Exception):  # noqa: N818
    pass


class LoopGoesOn(Exception):  # noqa: N818
    pass


class HostStatements(HostExpressions):
    """The statement half of `HostInterpreter`."""

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.step(statement)
            method = getattr(self, f"do_{type(statement).__name__.lower()}", None)
            if isinstance(statement, ast.FunctionDef):
                raise self.refusal(
                    statement, f"`{statement.name}` is defined inside a function, which a submission cannot do.",
                    "Define it outside of all functions, and sizes that it needs as constants beside it.",
                )  # fmt: skip
            if method is None:
                what = type(statement).__name__.lower()
                raise self.refusal(
                    statement, f"Host code in a submission cannot contain `{what}`.",
                    "Use assignments, if, for, while, arithmetic and launches.",
                )  # fmt: skip
            method(statement)

    def do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def do_pass(self, node: ast.Pass) -> None:
        pass

    def do_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def do_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        else:
            old = self.evaluate(node.target)
        self.assign(node.target, self.operate(node, node.op, old, self.evaluate(node.value)))

    def do_return(self, node: ast.Return) -> None:
        raise Returned(self.evaluate(node.value) if node.value is not None else None)

    def do_break(self, node: ast.Break) -> None:
        raise LoopEnds

    def do_continue(self, node: ast.Continue) -> None:
        raise LoopGoesOn

    def do_if(self, node: ast.If) -> None:
        self.body(node.body if self.truth(node.test) else node.orelse)

    def do_while(self, node: ast.While) -> None:
        while self.truth(node.test):
            self.step(node)
            try:
                self.body(node.body)
            except LoopEnds:
                return
            except LoopGoesOn:
                continue
        self.body(node.orelse)

    def do_for(self, node: ast.For) -> None:
        items = self.evaluate(node.iter)
        for item in self.over(node.iter, items):
            self.step(node)
            self.assign(node.target, item)
            try:
                self.body(node.body)
            except LoopEnds:
                return
            except LoopGoesOn:
                continue
        self.body(node.orelse)

    def over(self, node: ast.expr, items: Any) -> Iterator[Any]:
        """The items that a loop comes to, one by one; some iterators complain only on the way."""
        if is_on_device(items) and items.ndim:
            yield from (self.item_of(node, items, place) for place in range(items.shape[0]))
            return
        self.check_iterable(node, items)
        iterator = iter(items)
        while (item := self.guarded(node, next, iterator, _END)) is not _END:
            yield item

    def check_iterable(self, node: ast.AST, items: Any) -> None:
        if not isinstance(items, ITERABLE) or (isinstance(items, np.ndarray) and not items.ndim):
            raise self.fault(node, f"Host code cannot loop over a {type(items).__name__}.", "Loop over range(...).")

    def do_assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            raise self.fault(node, f"The assertion `{quoted(node.test)}` does not hold.")

    def do_raise(self, node: ast.Raise) -> None:
        raise self.fault(node, f"The submission itself raises {quoted(node.exc) or 'an error'}.")

    def do_import(self, node: ast.Import | ast.ImportFrom) -> None:
        from autograder.language.modules import imported

        for name, meaning in imported(node, self.frames[-1][0].file):
            if isinstance(meaning, SubmissionError):
                raise meaning
            self.frames[-1][1][name] = meaning

    do_importfrom = do_import

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.frames[-1][1][target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            is_array_of_parts = is_array(value) and value.ndim > 0
            unpacks = is_array_of_parts or isinstance(value, (tuple, list, range))
            if not unpacks or self.guarded(target, len, value) != len(target.elts):
                raise self.fault(target, f"This cannot be unpacked into {len(target.elts)} variables.")
            for each, part in zip(target.elts, self.over(target, value), strict=True):
                self.assign(each, part)
        elif isinstance(target, ast.Subscript):
            owner, key = self.evaluate(target.value), self.evaluate(target.slice)
            if is_array(owner) and not (is_on_device(owner) and is_on_device(value)):
                self.weigh(target, value)
                value = self.on_the_host(target, value)
            self.guarded(target, _set_item, owner, key, value)
            if is_on_device(owner):
                what = "an assignment on the device" if is_on_device(value) else "an assignment"
                there = value if is_on_device(value) else self.guarded(target, np.asarray, value, owner.dtype)
                self.note(target, what, there.nbytes)
            elif isinstance(owner, np.ndarray):
                self.note_host_work(target, "an assignment", self.guarded(target, operator.getitem, owner, key))
        else:
            raise self.fault(target, "This cannot be assigned to in a submission.")


def _set_item(owner: Any, key: Any, value: Any) -> None:
    if isinstance(owner, np.ndarray) or hasattr(type(owner), "copy_to_host"):
        check_key(key)
        weigh(value)
    owner[key] = value
