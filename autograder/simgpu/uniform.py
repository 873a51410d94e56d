"""Which atomics the compiler lets one lane carry out for its whole warp: those at an index that all threads have in common.

A loop in which every thread adds its own number to `bins[b]`, `b` counting, needs no 32 additions at one address: the
compiler sees that `b` is the same in all lanes, has the warp add the numbers up, and sends one atomic. An H200 took 43
additions a nanosecond so, and 1.4 where all lanes only happened to meet (int32; of float32 every lane's goes its own way).
"""

from __future__ import annotations

import ast
from collections.abc import Set
from functools import lru_cache

from autograder.language.program import Function

UNIFORM_ATTRIBUTES = {"blockIdx", "blockDim", "gridDim"}
LEAVES_EARLY = (ast.Break, ast.Continue)
ADDED_UP = ("int32", "uint32")  # what a warp adds up in one instruction


@lru_cache(maxsize=256)
def added_up_by_the_warp(function: Function) -> frozenset[int]:
    """ids of the calls of `cuda.atomic.add` whose index is the same in all threads, and whose result nobody uses."""
    found: set[int] = set()

    def visit(node: ast.AST, varying: frozenset[str]) -> None:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            same = not _varies(node.iter, varying) and node.target.id not in _assigned(node.body)
            varying = varying - {node.target.id} if same else varying | {node.target.id}
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("atomic.add") and len(call.args) == 3:
            if not _varies(call.args[1], varying):
                found.add(id(call))
        for child in ast.iter_child_nodes(node):
            visit(child, varying)

    visit(function.node, names_that_vary(function))
    return frozenset(found)


def _assigned(statements: list[ast.stmt]) -> set[str]:
    names = (part for statement in statements for part in ast.walk(statement) if isinstance(part, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


@lru_cache(maxsize=256)
def names_that_vary(function: Function) -> frozenset[str]:
    """Names that may have different values in the threads of one block."""
    varying: set[str] = set() if function.kind == "kernel" else set(function.parameters)
    for node in ast.walk(function.node):
        if isinstance(node, ast.NamedExpr):
            varying.add(node.target.id)
        elif isinstance(node, (ast.For, ast.While)) and any(isinstance(each, LEAVES_EARLY) for each in ast.walk(node)):
            varying |= _assigned([node])  # threads may leave it, or a round, at different times
    while True:
        before = len(varying)
        _spread(function.node.body, varying, False)
        if len(varying) == before:
            return frozenset(varying)


def _spread(statements: list[ast.stmt], varying: set[str], apart: bool) -> None:
    """Adds names assigned from what varies, or where threads take different ways (`apart`)."""
    for node in statements:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            if apart or (node.value is not None and _varies(node.value, varying)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                varying |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        elif isinstance(node, (ast.If, ast.While)):
            inside = apart or _varies(node.test, varying)
            _spread(node.body, varying, inside)
            _spread(node.orelse, varying, inside)
        elif isinstance(node, ast.For):
            inside = apart or _varies(node.iter, varying)
            if inside:
                varying |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
            _spread(node.body, varying, inside)
            _spread(node.orelse, varying, inside)


def _varies(node: ast.AST, varying: Set[str]) -> bool:
    """Whether an expression may differ from thread to thread: sums of constants, arguments and block numbers do not."""
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in ("range", "len", "min", "max", "int")
        return not known or any(_varies(each, varying) for each in node.args)
    if isinstance(node, ast.Subscript):
        is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return not is_shape or _varies(node.slice, varying)
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Attribute):
            return node.value.attr not in UNIFORM_ATTRIBUTES
        return node.attr not in ("size", "shape", "ndim")
    if isinstance(node, ast.Name):
        return node.id in varying
    return any(_varies(child, varying) for child in ast.iter_child_nodes(node))
