"""From a live Python function (decorated in a notebook or script) to a `Function`: its source, parsed, and its names."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import os
import re
import textwrap
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.program import Function, Kind, Reference

_CELL = re.compile(r"<ipython-input-(\d+)-|ipykernel_\d+[/\\]\d+\.py$|^<.*>$")


class LiveNames(Mapping[str, object]):
    """What a live function's free names stand for at the moment they are asked for: closure first, then globals."""

    def __init__(self, function: types.FunctionType) -> None:
        self._globals = function.__globals__
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._closure = dict(cells)

    def __getitem__(self, name: str) -> object:
        if name in self._closure:
            try:
                return as_constant(self._closure[name].cell_contents)
            except ValueError:
                raise KeyError(name) from None
        if name in self._globals:
            return as_constant(self._globals[name])
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._closure or name in self._globals

    def __iter__(self) -> Iterator[str]:
        yield from self._closure
        yield from self._globals

    def __len__(self) -> int:
        return len(self._closure) + len(self._globals)


def as_constant(value: Any) -> object:
    """A live object as the kernel language knows it: a `Reference` for library names, a `Function` for kernels."""
    function = getattr(value, "__autograder_function__", None)
    if isinstance(function, Function):
        return function
    if isinstance(value, Reference):
        return value
    path = getattr(value, "__autograder_path__", None)
    if isinstance(path, str):
        return Reference(path)
    if isinstance(value, types.ModuleType):
        return Reference("numba.cuda" if value.__name__.startswith("numba.cuda") else value.__name__)
    if isinstance(value, type) and value.__module__ == "numpy":
        from autograder.simgpu.intrinsics import type_of

        return type_of(f"numpy.{value.__name__}") or Reference(f"numpy.{value.__name__}")
    if isinstance(value, np.ufunc):
        return Reference(f"numpy.{value.__name__}")
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("math", "builtins"):
        return Reference(f"{value.__module__}.{value.__name__}")
    if isinstance(value, type) and value.__module__ == "builtins" and hasattr(builtins, value.__name__):
        return Reference(f"builtins.{value.__name__}")
    if type(value).__module__.startswith("numba.core.types"):
        from autograder.simgpu.intrinsics import type_of

        return type_of(f"numba.{value}") or Reference(f"numba.{value}")
    if isinstance(value, types.FunctionType):
        module = value.__module__ or ""
        if module.startswith("numba.cuda"):
            return Reference(f"numba.cuda.{value.__name__}")
        return from_python(value, "host")
    py_func = getattr(value, "py_func", None)
    if isinstance(py_func, types.FunctionType):  # numba.jit or a real numba.cuda dispatcher
        return from_python(py_func, "device")
    return value


_parsed: dict[types.CodeType, tuple[ast.FunctionDef, str, str]] = {}


def from_python(function: types.FunctionType, kind: Kind, max_registers: int | None = None) -> Function:
    """The `Function` of a live Python function; raises `KernelFault` where its source cannot be had."""
    code = function.__code__
    if code not in _parsed:
        _parsed[code] = _parse(function)
    node, file, text = _parsed[code]
    return Function(function.__name__, kind, node, file, text, LiveNames(function), max_registers)


def _parse(function: types.FunctionType) -> tuple[ast.FunctionDef, str, str]:
    """(syntax tree with the line numbers of its file or cell, that file as people know it, its whole text)."""
    filename = function.__code__.co_filename
    first = function.__code__.co_firstlineno
    lines = linecache.getlines(filename)
    try:
        source_lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise KernelFault(
            f"The source of `{function.__name__}` cannot be found, and the simulated GPU works from source.",
            remedy="Define the kernel in a file or a notebook cell.",
        ) from None
    text = textwrap.dedent("".join(source_lines))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise KernelFault(
            f"The source of `{function.__name__}` cannot be read on its own.",
            remedy="Define it with `def` at the start of a line.",
        ) from None
    node = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function.__name__), None)
    if node is None:
        raise KernelFault(
            f"`{function.__name__}` is not defined with `def`.", remedy="Kernels must be functions defined with `def`."
        )
    ast.increment_lineno(tree, first - 1)
    whole = "".join(lines) or "\n" * (first - 1) + text
    return node, display_name(filename), whole


def display_name(filename: str) -> str:
    """A file as people know it: its base name, or "cell" for code typed into a notebook."""
    if _CELL.search(filename):
        return "this cell" if "ipython" not in filename and filename.startswith("<") else "notebook cell"
    return os.path.basename(filename)
