"""Which arrays a launch may write, read from the kernel's text: of the others no past accesses need to be kept.

An array counts as read only where every use of its name is one that cannot change it: an element in a calculation, a shape,
a sum. When in doubt it counts as written: that costs time, never a missed race.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from autograder.language.program import Function, Reference
from autograder.simgpu.memory import Buffer, View

PROPERTIES = frozenset("shape size ndim itemsize nbytes strides dtype".split())
REDUCTIONS = frozenset("sum prod min max mean var std all any argmin argmax count_nonzero item".split())
NUMBERS = (ast.BinOp, ast.UnaryOp, ast.Compare)  # what they are given is a number, or refused


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
    """The buffers that a function may write; `own` are its arguments and the arrays that it captures."""
    parents = _parents(function)
    written: set[int] = set()
    for node in parents:
        if isinstance(node, ast.Name) and node.id in own and not _only_reads(node, own[node.id], function, parents):
            written |= {id(buffer.owner) for buffer in buffers_of((own[node.id],))}
    return written


def reach_of(functions: dict[Function, dict[str, Any]], buffer: Buffer) -> np.ndarray | None:
    """A flag for each element of an array that these functions can write, as far as their text tells; None: any.

    `functions`: with the arguments and captured arrays of each. What tells is an index that is one number for all threads:
    `fields[2, i] = ...` writes row 2.
    """
    stores: list[tuple[View, tuple[int | None, ...]]] = []
    for function, own in functions.items():
        parents = _parents(function)
        for node in parents:
            if not isinstance(node, ast.Name) or node.id not in own:
                continue
            array = own[node.id]
            if all(each.owner is not buffer for each in buffers_of((array,))) or _only_reads(
                node, array, function, parents
            ):
                continue
            indices = _of_the_element_stored(node, array, parents)
            if indices is None or array.buffer is not buffer:
                return None
            stores.append((array, tuple(_same_for_all(each, function) for each in indices)))
    if any(all(each is None for each in indices) for _, indices in stores):
        return None
    reach = np.zeros(len(buffer.data), bool)
    for array, indices in stores:
        if any(each is not None and not 0 <= each < size for each, size in zip(indices, array.shape, strict=True)):
            return None
        part = np.lib.stride_tricks.as_strided(reach[array.offset :], array.shape, array.strides)  # a flag is a byte
        part[tuple(slice(None) if each is None else each for each in indices)] = True
    return reach


def _of_the_element_stored(name: ast.Name, array: Any, parents: dict[ast.AST, ast.AST]) -> list[ast.expr] | None:
    """The indices in `name[i, j] = ...`; None where the name is used in any other way."""
    around = parents[name]
    if not isinstance(around, ast.Subscript) or around.value is not name or not isinstance(around.ctx, ast.Store):
        return None
    indices = list(around.slice.elts) if isinstance(around.slice, ast.Tuple) else [around.slice]
    known = _are_of_an_element(indices, array) and len(indices) == array.ndim and array.field is None
    return indices if known and isinstance(array.offset, int) else None


def _same_for_all(index: ast.expr, function: Function) -> int | None:
    """The number that an index is for every thread, where it is written down as one; else None."""
    value = index.value if isinstance(index, ast.Constant) else None
    if isinstance(index, ast.Name) and index.id not in function.local_names:
        value = function.names.get(index.id)
    return int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


@lru_cache(maxsize=256)
def _parents(function: Function) -> dict[ast.AST, ast.AST]:
    """The node around each node of a function."""
    return {child: node for node in ast.walk(function.node) for child in ast.iter_child_nodes(node)}


def _only_reads(name: ast.Name, array: Any, function: Function, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether this use of an array cannot change it, nor make another name for it or a part of it."""
    node: ast.AST = name
    indices: list[ast.expr] = []
    while isinstance(parents[node], ast.Subscript) and parents[node].value is node:
        node = parents[node]
        indices += node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    around = parents[node]
    if not isinstance(node.ctx, ast.Load):
        return False
    if _are_of_an_element(indices, array):
        return True
    if isinstance(around, ast.Attribute):
        return around.attr in PROPERTIES | REDUCTIONS or _is_number(around, array)
    if isinstance(around, ast.Call):
        called = function.names.get(around.func.id) if isinstance(around.func, ast.Name) else None
        if ast.unparse(around.func) == "len" and not isinstance(called, Function):
            return True
        if isinstance(around.func, ast.Attribute) and around.func.attr in REDUCTIONS:
            library = function.names.get(getattr(around.func.value, "id", ""))
            return isinstance(library, Reference)
    return isinstance(around, NUMBERS) or isinstance(around, ast.AugAssign) and around.value is node


def _are_of_an_element(indices: list[ast.expr], array: Any) -> bool:
    """Whether these indices leave nothing of an array but a number; a tuple among them may stand for several more."""
    if not isinstance(array, View) or array.dtype.fields or len(indices) < array.ndim:
        return False
    return not any(isinstance(each, ast.Slice) or _is_ellipsis(each) for each in indices)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _is_number(field: ast.Attribute, array: Any) -> bool:
    """Whether `particles[i].mass` is loaded, and not assigned to: a field that is neither an array nor a record."""
    fields = array.dtype.fields if isinstance(array, View) else None
    if not isinstance(field.ctx, ast.Load) or fields is None or field.attr not in fields:
        return False
    dtype = fields[field.attr][0]
    return dtype.fields is None and dtype.subdtype is None and isinstance(field.value, ast.Subscript)
