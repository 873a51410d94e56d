"""What in an argument is no constant to the compiler, as the shapes of shared and local arrays have to be."""

from __future__ import annotations

import ast

from autograder.simgpu.machine.machine import Frame

_NOT_FOLDED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def varying_in(frame: Frame, shape: ast.AST) -> str:
    """What in a shape is no constant to the compiler: a parameter, a variable assigned anew, the launch, a sum of names.

    A device function is compiled into its caller, so its parameters are as constant as what it is given. Python works
    out `16 + 1` and Numba would have to work out `TILE + 1`, which it does not.
    """
    if isinstance(shape, ast.Constant):
        return ""
    for node in ast.walk(shape):
        if isinstance(node, ast.Call):
            return "" if node is shape and _is_length(node) else ast.unparse(node)
        if isinstance(node, ast.BinOp) and any(isinstance(each, _NOT_FOLDED) for each in ast.walk(node)):
            return ast.unparse(node)
        if isinstance(node, ast.Attribute) and getattr(node.value, "attr", "") in ("blockDim", "gridDim"):
            return ast.unparse(node)
    function = frame.function
    for name in (n.id for n in ast.walk(shape) if isinstance(n, ast.Name) and n.id in frame.variables):
        if name in function.parameters:
            if frame.depth == 0:
                return name
            continue
        stores = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name and _is_store(n)]
        assigned = [n for n in ast.walk(function.node) if isinstance(n, ast.Assign) and stores[0] in n.targets]
        if len(stores) != 1 or not assigned or varying_in(frame, assigned[0].value):
            return name
    return ""


def _is_length(node: ast.Call) -> bool:
    """Whether a call is len() of a variable: of a tuple it is part of its type."""
    named = all(isinstance(each, ast.Name) for each in node.args)
    return named and isinstance(node.func, ast.Name) and node.func.id == "len"


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
