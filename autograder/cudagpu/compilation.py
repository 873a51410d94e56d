"""A validated `Function` -> a numba-cuda kernel: its syntax tree is compiled, and no line of it ever runs as Python.

The tree is stripped of all that Python would execute when a function is defined (decorators, defaults, annotations).
The code object is taken out of the compiled module without executing the module.
"""

from __future__ import annotations

import ast
import copy
import math
import re
import types
from typing import Any

import numpy as np

from autograder.errors import KernelFault, Line
from autograder.language.program import Function, Reference

ROOTS = ("numba", "math", "numpy")


class Compiler:
    """Turns functions into dispatchers and keeps them; device functions are compiled with their callers."""

    def __init__(self) -> None:
        self._dispatchers: dict[Function, Any] = {}
        self._in_progress: list[Function] = []

    def dispatcher(self, function: Function) -> Any:
        """The numba-cuda dispatcher of a kernel or device function; raises KernelFault for endless recursion."""
        if function not in self._dispatchers:
            if function in self._in_progress:
                raise KernelFault(f"`{function.name}` calls itself, which the real GPU's compiler does not allow.")
            self._in_progress.append(function)
            try:
                self._dispatchers[function] = self._compile(function)
            finally:
                self._in_progress.pop()
        return self._dispatchers[function]

    def _compile(self, function: Function) -> Any:
        from numba import cuda

        used = {each.id for each in ast.walk(function.node) if isinstance(each, ast.Name)} - function.local_names
        namespace = {name: self._meaning(function.names[name]) for name in used if name in function.names}
        plain = types.FunctionType(code_of(function), namespace, function.name)
        if function.kind == "device":
            return cuda.jit(plain, device=True, fastmath=function.options.fastmath)
        limit = {"max_registers": function.options.max_registers} if function.options.max_registers else {}
        return cuda.jit(plain, fastmath=function.options.fastmath, **limit)

    def _meaning(self, value: object) -> Any:
        if isinstance(value, Function):
            return self.dispatcher(value)
        return resolve(value.path) if isinstance(value, Reference) else value


def code_of(function: Function) -> types.CodeType:
    """The code object of a function's stripped definition, with the line numbers of its file."""
    module = ast.Module([stripped(function.node)], type_ignores=[])
    compiled = compile(ast.fix_missing_locations(module), f"<{function.file}>", "exec", dont_inherit=True)
    return next(each for each in compiled.co_consts if isinstance(each, types.CodeType))


def stripped(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition without decorators, default values and annotations."""
    bare = copy.deepcopy(node)
    bare.decorator_list, bare.returns, bare.type_comment = [], None, None
    names = [ast.arg(argument.arg, lineno=node.lineno, col_offset=0) for argument in node.args.args]
    bare.args = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    bare.body = [_Plain().visit(statement) for statement in bare.body]
    if hasattr(bare, "type_params"):  # Python 3.12: def f[T: expression]()
        bare.type_params = []
    return bare


class _Plain(ast.NodeTransformer):
    """Turns annotated assignments into plain ones."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        plain = ast.Pass() if node.value is None else ast.Assign(targets=[node.target], value=node.value)
        return ast.copy_location(plain, node)


def resolve(path: str) -> Any:
    """The object behind a canonical path such as `numba.cuda.shared`; raises KernelFault for any other root."""
    from numba import cuda

    root, *rest = path.split(".")
    if root not in ROOTS or any(part.startswith("_") for part in rest):
        raise KernelFault(f"`{path}` cannot be used in a kernel.")
    if root == "numba" and rest[:1] == ["cuda"]:
        found, rest = cuda, rest[1:]
    else:
        found = {"math": math, "numpy": np, "numba": _numba()}[root]
    for part in rest:
        found = getattr(found, part, None)
        if found is None:
            raise KernelFault(f"`{path}` does not exist.")
    return found


def _numba() -> types.ModuleType:
    import numba

    return numba


OPERATIONS = {
    "setitem": "storing an element", "getitem": "reading an element", "static_getitem": "reading an item",
    "iadd": "`+=`", "isub": "`-=`", "imul": "`*=`", "add": "`+`", "sub": "`-`", "mul": "`*`", "truediv": "`/`",
    "floordiv": "`//`", "mod": "`%`", "pow": "`**`", "lt": "`<`", "le": "`<=`", "gt": "`>`", "ge": "`>=`", "eq": "`==`",
    "ne": "`!=`",
}  # fmt: skip
NO_VERSION = re.compile(
    r"No implementation of function Function\(<(?:built-in |intrinsic )?(?:function )?([\w.]+)(?: at 0x[0-9a-f]+)?>\) "
    r"found for signature:\s*>>> \w+\((.*)\)\s*$",
    re.MULTILINE,
)
PLAINER = (
    (r"Literal\[str\]\((.*?)\)", r"the string '\1'"),
    (r"Literal\[\w+\]\((.*?)\)", r"\1"),
    (r"Function\(<class '(\w+)'>\)", r"Python's `\1`"),
    (r"class\((\w+)\)", r"\1"),
    (r"array\((\w+), (\d)d, \w+\)", r"a \2-d array of \1"),
    (r"unicode_type", "a string"),
)


def compile_fault(function: Function, problem: Exception) -> KernelFault:
    """Numba's report of a kernel that it cannot compile, in one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(problem))
    found = re.findall(r'File "[^"]*", line (\d+)', text)
    line = Line(function.file, int(found[-1])) if found else function.line(function.node)
    if no_version := NO_VERSION.search(text):
        name, types_given = no_version[1], no_version[2]
        for pattern, words in PLAINER:
            types_given = re.sub(pattern, words, types_given)
        calls = [each for each in ast.walk(function.node) if isinstance(each, ast.Call)]
        of_it = [each for each in calls if ast.unparse(each.func).endswith(f".{name}")]
        if not found and len(of_it) == 1:  # Numba gives no line here
            line = function.line(of_it[0])
        message = f"{OPERATIONS.get(name, f'`{name}`')} does not go with {types_given}"
    else:
        told = [part.strip() for part in text.splitlines() if part.strip()]
        skip = ("Failed in", "During:", "File ", "-", "<source", "def ", "This error", "This is not usually")
        useful = [part for part in told if not part.startswith(skip)]
        message = "; ".join(useful[:2]) or type(problem).__name__
    return KernelFault(f"The GPU's compiler does not accept `{function.name}`: {message[:300]}", line=line)
