"""Which arrays a launch may write, read from the kernel's text: of the others no past accesses need to be kept."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from autograder.language.program import Function, Reference
from autograder.simgpu.memory import Buffer, View


def buffers_of(arguments: Iterable) -> list[Buffer]:
    found: dict[int, Buffer] = {}
    for value in arguments:
        if isinstance(value, View):
            found[id(value.buffer)] = value.buffer
        elif isinstance(value, tuple):
            found.update((id(buffer), buffer) for buffer in buffers_of(value))
    return list(found.values())


def captured(function: Function) -> dict[str, Any]:
    """Device arrays that a function takes from around it, by name: they are no constants, as NumPy arrays are."""
    return {name: function.names[name] for name in function.free_names if buffers_of((function.names[name],))}


def written_buffers(function: Function, own: dict[str, Any]) -> set[int]:
    """The buffers that a function may write, from its text: an array that only flows into loads is not one.

    `own` are its arguments and the arrays that it captures. One counts as written when its name, or any variable that
    could be a view of it, is stored to, updated atomically or handed to a function. When in doubt it counts: that
    costs time, never a missed race.
    """
    stored: set[str] = set()
    for node in ast.walk(function.node):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored |= {_root(t) for target in targets for t in _leaves(target) if not isinstance(t, ast.Name)}
            if node.value is not None:
                stored |= _possible_views(node.value, own)
        elif isinstance(node, (ast.For, ast.NamedExpr)):
            stored |= _possible_views(node.iter if isinstance(node, ast.For) else node.value, own)
        elif isinstance(node, ast.Call) and not _only_reads(node, function):
            stored |= {_root(argument) for argument in node.args}
    written: set[int] = set()
    for name in stored & set(own):
        written |= {id(buffer.owner) for buffer in buffers_of((own[name],))}
    return written


def _leaves(target: ast.expr) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [leaf for each in target.elts for leaf in _leaves(each)]
    return [target]


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _possible_views(value: ast.expr, own: dict[str, Any]) -> set[str]:
    """Names that an assigned expression could alias: `row = a[i]` of a matrix, `x = a`, `a.view(...)`."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.IfExp):
        return _possible_views(value.body, own) | _possible_views(value.orelse, own)
    if isinstance(value, ast.Tuple):
        return set().union(*(_possible_views(each, own) for each in value.elts)) if value.elts else set()
    if isinstance(value, ast.Attribute):
        return {_root(value)} if value.attr in ("T", "real", "imag") else set()
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):  # a.view(...), np.ravel(a)
        return {_root(value.func), *(each.id for each in value.args if isinstance(each, ast.Name))}
    if isinstance(value, ast.Subscript):
        array = own.get(_root(value))
        given = len(value.slice.elts) if isinstance(value.slice, ast.Tuple) else 1
        whole = (
            isinstance(array, View)
            and given >= array.ndim
            and not any(isinstance(part, ast.Slice) for part in ast.walk(value.slice))
        )
        return set() if whole else {_root(value)}
    return set()


def _only_reads(call: ast.Call, function: Function) -> bool:
    """Library functions but atomics take values, not arrays; a device function may store to what it is given."""
    if isinstance(call.func, ast.Name):
        name = call.func.id
        is_library = isinstance(function.names.get(name), (Reference, type(None))) and name not in function.local_names
        return is_library and name not in ("enumerate", "zip")
    return "atomic" not in ast.unparse(call.func)
