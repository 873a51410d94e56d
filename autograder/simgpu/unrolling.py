"""Which loops of constant length the compiler writes out whole, so that a round costs nothing beside its body.

NVVM writes a loop out when its rounds times the size of its body stay under a budget. The sizes here are in thousandths of
that budget. They were found by compiling loops of 2 to 256 rounds around some forty bodies for compute capability 9.0
(numba-cuda 0.30, CUDA 13) and looking for a backward branch; `measurements/unrolling.py` does it again.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from autograder.language.program import Function

BUDGET = 1000.0
ROUND = 2.0  # the counter
OPERATION = 2.0
LOAD_ALONG = 9.3  # the loop's variable in the last index: neighbouring elements
LOAD_ACROSS = 13.8  # in an earlier one
LOAD_ACROSS_ODD = 18.5  # likewise, where a row is no power of two long: a multiplication in place of a shift
STORE_ALONG = 6.3
STORE_ACROSS = 14.0
BRANCH = 7.0
BARRIER = 2.0
CALL = 4.0
ATOMIC = 6.5
LONG_FUNCTION = 150.0  # sin, exp, ...: many instructions
REGISTER = 0.5  # an element of a local array whose index is known lies in a register
SHORT_FUNCTIONS = {"sqrt", "fabs", "fma", "floor", "ceil", "min", "max", "abs"}
NEVER = float("inf")


def is_written_out(loop: ast.For, function: Function, local: set[str]) -> bool:
    """Whether the compiler repeats the body instead of counting; `local`: names that the function assigns.

    A loop over a tuple always is; one over a range if its bounds are constants and its rounds fit the budget.
    """
    return _rounds(loop, function, local) * _size(loop, function, local) <= BUDGET


def _rounds(loop: ast.For, function: Function, local: set[str]) -> float:
    call = loop.iter
    if not isinstance(call, ast.Call):
        return 0.0
    bounds = [constant_of(each, function, local) for each in call.args]
    if None in bounds or not 1 <= len(bounds) <= 3 or 0 in bounds[2:]:
        return NEVER
    return len(range(*[bound for bound in bounds if bound is not None]))


def constant_of(node: ast.expr, function: Function, local: set[str] | frozenset[str]) -> int | None:
    """The integer that an expression of literals and module constants stands for."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id not in local and type(function.names.get(node.id)) is int:
        return function.names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant_of(node.operand, function, local)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = (constant_of(side, function, local) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and right != 0:
            return left // right if isinstance(node.op, ast.FloorDiv) else left % right
        by = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
        return by.get(type(node.op))
    return None


def _size(loop: ast.For, function: Function, local: set[str]) -> float:
    """What one round takes of the budget."""
    variables = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    rows = _row_lengths(function, frozenset(local))
    size, seen = ROUND, set()

    def visit(node: ast.AST) -> None:
        nonlocal size
        if isinstance(node, ast.While):
            size = NEVER
        elif isinstance(node, ast.For):
            size += _rounds(node, function, local) * _size(node, function, local)
            return
        elif isinstance(node, ast.Subscript):
            text = ast.dump(node)
            if text in seen:  # the compiler keeps what it has loaded, and the address that it has worked out
                return
            seen.add(text)
            size += _access(node, variables, rows)
        elif isinstance(node, (ast.If, ast.IfExp)):
            size += BRANCH
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            text = ast.dump(node)
            if text not in seen or isinstance(node, ast.AugAssign):
                size += OPERATION
            seen.add(text)
        elif isinstance(node, ast.Call):
            size += _call(node)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in loop.body:
        visit(statement)
    return size


def _access(node: ast.Subscript, variables: set[str], rows: dict[str, int | None]) -> float:
    """An element's size: by where in its index the loop's variable stands."""
    array = node.value.id if isinstance(node.value, ast.Name) else ""
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    moving = [any(isinstance(p, ast.Name) and p.id in variables for p in ast.walk(part)) for part in index]
    if not any(moving):
        return 0.0  # the same element every round
    if array in rows and rows[array] is None:
        return REGISTER
    across = any(moving[:-1])
    if isinstance(node.ctx, ast.Store):
        return STORE_ACROSS if across else STORE_ALONG
    row = rows.get(array) or 1
    return (LOAD_ACROSS_ODD if row & (row - 1) else LOAD_ACROSS) if across else LOAD_ALONG


def _call(node: ast.Call) -> float:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    module = (
        node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
    )
    if module == "math":
        return CALL if name in SHORT_FUNCTIONS else LONG_FUNCTION
    if name in ("syncthreads", "syncwarp"):
        return BARRIER
    return ATOMIC if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "cuda.atomic" else CALL


@lru_cache(maxsize=256)
def _row_lengths(function: Function, local: frozenset[str]) -> dict[str, int | None]:
    """Length of a row of each shared array of constant shape (1-D: 1); None for local arrays."""
    found: dict[str, int | None] = {}
    for node in ast.walk(function.node):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or not node.value.args:
            continue
        made = ast.unparse(node.value.func)
        if not made.endswith(("shared.array", "local.array")) or not isinstance(node.targets[0], ast.Name):
            continue
        shape = node.value.args[0]
        last = constant_of(shape.elts[-1], function, local) if isinstance(shape, ast.Tuple) and shape.elts else 1
        found[node.targets[0].id] = None if made.endswith("local.array") else last or 1
    return found
