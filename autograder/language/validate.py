"""The closed kernel language: what a kernel's syntax tree may contain, checked before anything runs or is compiled."""

from __future__ import annotations

import ast
import builtins
import weakref
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace

from autograder.errors import BrokenDefinition, Line, SubmissionError, as_broken
from autograder.language.program import PLAIN, Function, Kind, Namespace, Options, Reference
from autograder.language.quoting import quoted

ALLOWED_NODES = (
    ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While,
    ast.If, ast.Expr, ast.Pass, ast.Break, ast.Raise, ast.Continue, ast.Assert, ast.BoolOp, ast.NamedExpr, ast.BinOp,
    ast.UnaryOp,
    ast.IfExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List,
    ast.Tuple, ast.Slice, ast.Lambda, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_ADVICE = {
    ast.Import: "Import at the top of the notebook, not inside a kernel.",
    ast.ImportFrom: "Import at the top of the notebook, not inside a kernel.",
    ast.Try: "Kernels cannot catch exceptions.",
    ast.With: "Kernels have no `with`.",
    ast.ListComp: "Kernels have no lists; use cuda.local.array and a loop.",
    ast.GeneratorExp: "Write a loop that adds up, with `for` and `+=`.",
    ast.Dict: "Kernels have no dictionaries; use arrays.",
    ast.Global: "Kernels cannot change global variables; use an array argument.",
    ast.JoinedStr: "Kernels have no f-strings.",
}
_OF_CUDA_C = ("__syncthreads", "__syncwarp", "__threadfence", "__popc", "__clz", "__ffs")
_JIT_PATHS = ("numba.cuda.jit", "numba.cuda.decorators.jit")
_JIT_OPTIONS = {
    "device", "inline", "fastmath", "max_registers", "opt", "lineinfo", "debug", "link", "cache", "boundscheck",
    "func_or_sig", "argtypes", "lto", "extensions", "launch_bounds", "forceinline",
}  # fmt: skip
MOST_NODES = 20_000
MOST_DEPTH = 200
MOST_REGISTERS = 255  # of a thread (CUDA C++ Programming Guide, technical specifications)
MOST_BITS = 128  # of an integer constant; Numba's own types end at 64


def decorated_kind(
    node: ast.FunctionDef, names: Mapping[str, object], file: str
) -> tuple[Kind, Options, SubmissionError | None]:
    """What a function's decorators make of it: (kind, what the compiler is told, what is wrong with them)."""
    if not node.decorator_list:
        return "host", PLAIN, None
    line = Line(file, node.lineno)
    if len(node.decorator_list) > 1:
        problem = SubmissionError(f"`{node.name}` has several decorators; only @cuda.jit is allowed.", line=line)
        return "host", PLAIN, problem
    decorator = node.decorator_list[0]
    call = decorator if isinstance(decorator, ast.Call) else None
    path = dotted(call.func if call else decorator, names)
    if path not in _JIT_PATHS:
        if (missing := _missing_root(decorator, names)) is not None:
            return "host", PLAIN, missing
        written = quoted(decorator, 60)
        if written.startswith("cuda.jit") and "cuda" not in names:
            return "host", PLAIN, SubmissionError(
                f"`{node.name}` is under @cuda.jit, and `cuda` is imported nowhere.", line=line,
                remedy="Above it belongs: from numba import cuda.",
            )  # fmt: skip
        return "host", PLAIN, SubmissionError(
            f"`{node.name}` has the decorator @{written}, which a submission cannot use.", line=line,
            remedy="Use @cuda.jit for kernels and @cuda.jit(device=True) for device functions.",
        )  # fmt: skip
    kind: Kind = "kernel"
    options = PLAIN
    for keyword in call.keywords if call else []:
        if keyword.arg not in _JIT_OPTIONS:
            return kind, PLAIN, SubmissionError(f"@cuda.jit has no option `{keyword.arg}` here.", line=line)
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg == "device" and value is True:
            kind = "device"
        if keyword.arg == "max_registers" and isinstance(value, int):
            if not 1 <= value <= MOST_REGISTERS:
                problem = SubmissionError(f"max_registers is at least 1 and at most {MOST_REGISTERS}.", line=line)
                return kind, PLAIN, problem
            options = replace(options, max_registers=value)
        if keyword.arg == "fastmath" and value is True:
            options = replace(options, fastmath=True)
    return kind, options, None


def _missing_root(decorator: ast.expr, names: Mapping[str, object]) -> BrokenDefinition | None:
    """What is wrong with the name that a decorator begins with, where its definition is broken."""
    root = next((each.id for each in ast.walk(decorator) if isinstance(each, ast.Name)), "")
    try:
        names[root]  # noqa: B018
    except BrokenDefinition as problem:
        return problem
    except (KeyError, SubmissionError):
        pass
    return None


def dotted(node: ast.expr, names: Mapping[str, object]) -> str:
    """The canonical path of a name or attribute chain: `cuda.jit` -> "numba.cuda.jit"; "" where it is none."""
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    if isinstance(node, ast.Name) and node.id in names:
        try:
            found = names[node.id]
        except SubmissionError:
            return ""
        return found.path if isinstance(found, Reference) else ""
    return ""


_valid: weakref.WeakSet[Function] = weakref.WeakSet()


def validate_kernel(function: Function) -> None:
    """Holds a kernel or device function to the closed language; raises `SubmissionError` at the offending line."""
    if function not in _valid:
        try:
            _validate(function)
        except SubmissionError as problem:
            raise as_broken(function.name, problem) from None
        _valid.add(function)


def _validate(function: Function) -> None:
    node = function.node
    arguments = node.args
    if arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise SubmissionError(
            f"`{function.name}` must take plain parameters, without **kwargs, `*` or `/`.", line=function.line(node)
        )
    if getattr(node, "type_params", None):  # Python 3.12 and later can parse these
        raise SubmissionError(f"`{function.name}` must not have type parameters.", line=function.line(node))
    _check_size(node, function)
    local = function.local_names | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    for inner in _body_nodes(node):
        if isinstance(inner, ast.FunctionDef) and inner.decorator_list:
            raise SubmissionError(
                f"`{inner.name}` is decorated inside the kernel `{function.name}`.", line=function.line(inner),
                remedy="A function inside a kernel takes no decorator.",
            )  # fmt: skip
        if not isinstance(inner, ALLOWED_NODES):
            advice = next((text for kind, text in _ADVICE.items() if isinstance(inner, kind)), "")
            raise SubmissionError(
                f"A kernel cannot contain this ({type(inner).__name__}).", line=function.line(inner), remedy=advice
            )
        if isinstance(inner, ast.Expr) and dotted(inner.value, function.names).startswith("numba.cuda.sync"):
            named = quoted(inner.value)
            raise SubmissionError(
                f"`{named}` is named here and not called, so that no thread waits.", line=function.line(inner),
                remedy=f"Write {named}().",
            )  # fmt: skip
        if isinstance(inner, ast.Constant) and isinstance(inner.value, int) and inner.value.bit_length() > MOST_BITS:
            raise SubmissionError("A number in a kernel has at most 64 bits.", line=function.line(inner))
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("_") and not _is_of_a_module(inner, function):
            raise SubmissionError(f"`.{inner.attr}` cannot be used in a kernel.", line=function.line(inner))
        if isinstance(inner, ast.Name) and inner.id.startswith("__") and not _is_ones_own(inner.id, local, function):
            advice = f"In Numba it is cuda.{inner.id.strip('_')}()." if inner.id in _OF_CUDA_C else ""
            raise SubmissionError(f"`{inner.id}` cannot be used in a kernel.", line=function.line(inner), remedy=advice)
        if isinstance(inner, ast.Name) and inner.id not in local:
            if inner.id in function.names:
                function.names[inner.id]  # raises where the name stands for something forbidden
            elif not hasattr(builtins, inner.id):
                raise SubmissionError(
                    f"`{inner.id}` is not defined here.", line=function.line(inner),
                    remedy="Assign it before this line, or check how it is spelled.",
                )  # fmt: skip


def _is_ones_own(name: str, local: Set[str], function: Function) -> bool:
    """Whether a name with two underscores is a variable or a function of somebody's own, as Numba takes them."""
    return name in local or name in function.names and isinstance(function.names[name], Function)


def _is_of_a_module(node: ast.Attribute, function: Function) -> bool:
    """Whether it is a name of a module of somebody's own, which only live code has: `core._helper`."""
    return not node.attr.startswith("__") and isinstance(_module(node.value, function), Namespace)


def _module(node: ast.expr, function: Function) -> object:
    """What a name, or a name in a module of somebody's own, stands for; None for anything else."""
    if isinstance(node, ast.Name) and node.id not in function.local_names and node.id in function.names:
        return function.names[node.id]
    if isinstance(node, ast.Attribute) and isinstance(around := _module(node.value, function), Namespace):
        with suppress(AttributeError):  # told where it is used
            return around.member(node.attr)
    return None


def _body_nodes(node: ast.FunctionDef) -> Iterator[ast.AST]:
    for statement in node.body:
        yield from ast.walk(statement)


def _check_size(node: ast.FunctionDef, function: Function) -> None:
    count = 0
    stack: list[tuple[ast.AST, int]] = [(node, 0)]
    while stack:
        current, depth = stack.pop()
        count += 1
        if depth > MOST_DEPTH or count > MOST_NODES:
            raise SubmissionError(
                f"`{function.name}` is too {'deeply nested' if depth > MOST_DEPTH else 'long'} to be run.",
                line=function.line(node),
            )
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(current))
