"""From a live Python function (decorated in a notebook or script) to a `Function`: its source, parsed, and its names."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import linecache
import os
import re
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder import run_texts
from autograder.errors import KernelFault
from autograder.language import overloads
from autograder.language.program import PLAIN, Casts, Function, Kind, Namespace, Options, Reference

_CELL = re.compile(r"<ipython-input-(\d+)-|ipykernel_\d+[/\\]\d+\.py$|^<.*>$")

RANDOM = "numba.cuda.random"  # its functions are Python in Numba, and one operation each here
LIBRARIES = ("numba", "numpy", "math", "cmath", "operator", "builtins")  # modules whose names the device knows itself

_sources: dict[types.CodeType, tuple[ast.FunctionDef, str, str]] = {}  # each live function's source is parsed once


class Unset:
    """What a name of the function around stands for that has no value yet: Numba minds only where the kernel comes by it."""


class LiveNames(Mapping[str, object]):
    """What a live function's free names stand for: closure first, then globals. Each is fixed when it is first asked for.

    Numba does the same: a kernel's globals are constants from its first launch on.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self._globals = function.__globals__
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._closure = dict(cells)
        self._known: dict[str, object] = {}

    def __getitem__(self, name: str) -> object:
        if name not in self._known:
            self._known[name] = as_constant(self._look_up(name))
        return self._known[name]

    def _look_up(self, name: str) -> object:
        if name in self._closure:
            try:
                return self._closure[name].cell_contents
            except ValueError:
                return Unset()
        if name in self._globals:
            return self._globals[name]
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
    if isinstance(value, Unset):
        return value
    if isinstance(value, enum.Enum):
        return member_value(value)
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return value.copy()  # a constant from here on
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(as_constant(each) for each in value)
    function = getattr(value, "__autograder_function__", None)
    if isinstance(function, Function):
        return function
    if isinstance(value, Reference):
        return value
    path = getattr(value, "__autograder_path__", None)
    if isinstance(path, str):
        return Reference(path)
    view = getattr(value, "_view", None)
    if view is not None and hasattr(value, "copy_to_host"):  # a device array of the simulated GPU: by reference
        return view()
    if isinstance(value, types.ModuleType):
        if value.__name__.lstrip("_").split(".")[0] in LIBRARIES:
            return Reference(_module_path(value.__name__))
        return Namespace(value.__name__, lambda name: as_constant(getattr(value, name)))
    found = _as_type(value)
    if found is not None:
        return found
    if isinstance(value, np.ufunc):
        return Reference(f"numpy.{value.__name__}")
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("math", "cmath", "builtins", "_operator"):
        return Reference(f"{value.__module__.lstrip('_')}.{value.__name__}")
    if isinstance(value, type) and value.__module__ == "builtins" and hasattr(builtins, value.__name__):
        return Reference(f"builtins.{value.__name__}")
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return EnumNames(value)
    if isinstance(value, type) and value.__module__ in ("numba.cuda.stubs", "numba.cuda.vector_types"):
        return Reference(f"numba.cuda.{value.__name__}")  # a vector type's stand-in
    if isinstance(value, types.FunctionType):
        module = value.__module__ or ""
        if module.startswith("numba.cuda") and ".tests." not in module:
            return Reference(f"numba.cuda.{value.__name__}")
        if module.startswith("numpy"):
            return Reference(f"numpy.{value.__name__}")
        overloaded = overloads.as_overloaded(value)
        if overloaded is None and overloads.is_typed(value):
            return value
        return overloaded or from_python(value, "host")
    py_func = getattr(value, "py_func", None)
    if isinstance(py_func, types.FunctionType) and py_func.__module__ == RANDOM:
        return Reference(f"{RANDOM}.{py_func.__name__}")
    if isinstance(py_func, types.FunctionType):  # numba.jit or a real numba.cuda dispatcher
        return from_python(py_func, "device")
    return value


def _module_path(name: str) -> str:
    if name in ("numba.cuda.types", "numba.core.types"):
        return "numba.types"
    if name == "numba.cuda.libdevice":
        return name
    return "numba.cuda" if name.startswith("numba.cuda") else name.lstrip("_")


def _as_type(value: Any) -> object:
    """A NumPy or Numba type, or a dtype, as a `TypeReference`; None for anything else."""
    from autograder.language.numeric_types import TypeReference, type_of

    if isinstance(value, np.dtype):
        return TypeReference(f"numpy.{value.name}", value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return type_of(f"numpy.{value.__name__}") or Reference(f"numpy.{value.__name__}")
    if type(value).__module__.startswith(("numba.core.types", "numba.cuda.types")):
        try:
            return TypeReference(f"numba.{value}", as_dtype(value))
        except Exception:  # Numba raises a class of its own for each kind of type that has no dtype
            return Reference(f"numba.{value}")
    return None


def as_dtype(numba_type: Any) -> np.dtype:
    """The NumPy dtype of a Numba type (numba-cuda has types of its own); raises NotImplementedError where it has none."""
    from numba.np import numpy_support

    if type(numba_type).__module__.startswith("numba.cuda"):
        from numba.core import types as numba_types

        numba_type = getattr(numba_types, str(numba_type), numba_type)
    return np.dtype(numpy_support.as_dtype(numba_type))


class Member(np.int64):
    """The value of an enumeration's member. It still knows its enumeration, because `is` asks for that."""

    enumeration: type[enum.Enum]


def member_value(member: enum.Enum) -> object:
    """What an enumeration's member is to a kernel."""
    if isinstance(member.value, int) and not isinstance(member.value, bool):
        value = Member(member.value)
        value.enumeration = type(member)
        return value
    return as_constant(member.value)


class EnumNames:
    """An enumeration that a kernel reads members of: each stands for its value."""

    def __init__(self, enumeration: type[enum.Enum]) -> None:
        self.members = {name: member_value(each) for name, each in enumeration.__members__.items()}
        self.name = enumeration.__name__


def from_python(
    function: types.FunctionType, kind: Kind, options: Options = PLAIN, casts: Casts | None = None
) -> Function:
    """The `Function` of a live Python function; raises `KernelFault` where its source cannot be had."""
    code = function.__code__
    if code not in _sources:
        _sources[code] = _parse(function)
    node, file, text = _sources[code]
    return Function(function.__name__, kind, node, file, text, LiveNames(function), options, casts)


def _parse(function: types.FunctionType) -> tuple[ast.FunctionDef, str, str]:
    """(syntax tree with the line numbers of its file or cell, that file as people know it, its whole text)."""
    filename = function.__code__.co_filename
    first = function.__code__.co_firstlineno
    lines = linecache.getlines(filename)
    found = _among_run_texts(function.__code__) if filename in run_texts.KNOWN_AS else None
    if found is not None:
        return found
    try:
        source_lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        found = _among_run_texts(function.__code__)
        if found is not None:
            return found
        raise KernelFault(
            f"The source of `{function.__name__}` cannot be found, and the simulated GPU works from source.",
            remedy="Define the kernel in a file or a notebook cell.",
        ) from None
    text = textwrap.dedent("".join(source_lines))
    try:
        tree = _tree_of(text, function.__code__.co_name == "<lambda>")
    except SyntaxError:
        raise KernelFault(
            f"The source of `{function.__name__}` cannot be read on its own.",
            remedy="Define it with `def` at the start of a line.",
        ) from None
    node = _definition(tree, function)
    if node is None:
        raise KernelFault(
            f"`{function.__name__}` is not defined with `def`.", remedy="Kernels must be functions defined with `def`."
        )
    ast.increment_lineno(tree, first - 1)
    whole = "".join(lines) or "\n" * (first - 1) + text
    return node, display_name(filename), whole


def _among_run_texts(code: types.CodeType) -> tuple[ast.FunctionDef, str, str] | None:
    """What `_parse` returns, of a function that was defined in no file: by `exec`, or under a magic such as `%%time`."""
    found = run_texts.find(code)
    if found is None:
        return None
    body = "\n".join(found.text.split("\n")[found.lines_before :])
    node = run_texts.definition(body, code)
    if node is None:
        return None
    ast.increment_lineno(node, found.lines_before)
    return node, found.file, found.text


def _tree_of(text: str, is_lambda: bool) -> ast.Module:
    """The source as a tree. A lambda's lines may be part of a statement: they are cut until Python can read them."""
    try:
        return ast.parse(text)
    except SyntaxError:
        if not is_lambda:
            raise
    text = text[text.index("lambda") :].rstrip()
    for end in range(len(text), 0, -1):
        try:
            return ast.parse(text[:end])
        except SyntaxError:
            continue
    raise SyntaxError("no lambda")


def _definition(tree: ast.Module, function: types.FunctionType) -> ast.FunctionDef | None:
    """The function's `def` in its source; a lambda is written as one."""
    name = function.__code__.co_name  # as it was defined, whatever it is called by now
    if name != "<lambda>":
        return next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and tuple(a.arg for a in n.args.args) == wanted]
    if len(found) != 1:  # several on one line cannot be told apart
        return None
    body = ast.copy_location(ast.Return(found[0].body), found[0].body)
    made = ast.FunctionDef("lambda_", found[0].args, [body], [], None)
    if sys.version_info >= (3, 12):
        made.type_params = []
    return ast.copy_location(made, found[0])


def display_name(filename: str) -> str:
    """A file as people know it: its base name, or "cell" for code typed into a notebook."""
    if _CELL.search(filename):
        return "this cell" if "ipython" not in filename and filename.startswith("<") else "notebook cell"
    return os.path.basename(filename)
