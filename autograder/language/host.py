"""Interprets host functions: the Python that picks a grid, moves arrays and launches kernels, from a closed vocabulary.

START HERE: `call(program, function, arguments, backend)` walks the function's syntax tree: host_statements.py and
host_expressions.py have a method for each kind of node, host_state.py what all of them share, host_names.py what may be
called, host_limits.py how much.
Numbers, tuples and lists are ordinary Python values of ours; arrays are the backend's handles; kernels are launched through
the backend, which any device provides. Nothing of the submission is ever executed as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.errors import SubmissionError, as_broken
from autograder.language.host_limits import fixed, handed_back
from autograder.language.host_state import Backend
from autograder.language.host_statements import HostStatements, LoopEnds, LoopGoesOn, Returned
from autograder.language.program import Function, Program

MOST_CALLS = 40  # host functions calling each other, deepest


def call(
    program: Program, function: Function, arguments: Sequence[Any], backend: Backend, *, wants_returned: bool = False
) -> Any:
    """Interprets a host function; raises `SubmissionError` (with the line) for whatever goes wrong in it.

    Returns what it returned where that is wanted, and an array of numbers, a number, text or a tuple of such; else None.
    """
    interpreter = HostInterpreter(backend)
    with interpreter.surprises_told():
        returned = interpreter.call(function, list(arguments), {}, None)
        if not wants_returned:
            return None
        interpreter.frames.append((function, {}))
        return interpreter.guarded(function.node, handed_back, function.name, returned)


def evaluate_constant(node: ast.expr, file: str, names: Mapping[str, object]) -> Any:
    """The value of a module-level assignment, by the same closed vocabulary, without a device; nothing can change it."""
    module = ast.FunctionDef(
        name="the module", args=ast.arguments([], [], None, [], [], None, []), body=[], decorator_list=[], lineno=1
    )
    frame = Function("the module", "host", module, file, "", names)
    interpreter = HostInterpreter(None)
    interpreter.frames.append((frame, {}))
    with interpreter.surprises_told():
        return interpreter.guarded(node, fixed, interpreter.evaluate(node))


class HostInterpreter(HostStatements):
    """Walks host code statement by statement; one instance for each outermost call."""

    def call(self, function: Function, arguments: list[Any], keywords: dict[str, Any], node: ast.AST | None) -> Any:
        if function.kind != "host":
            raise self.fault(
                node, f"`{function.name}` is a kernel: it must be launched, not called.",
                f"Write {function.name}[grid, block](...).",
            )  # fmt: skip
        if len(self.frames) >= MOST_CALLS:
            raise self.fault(node, f"`{function.name}` calls itself more than {MOST_CALLS} deep.", "Use a loop.")
        self.frames.append((function, self.bind(function, arguments, keywords, node)))
        try:
            self.body(function.node.body)
        except Returned as returned:
            return returned.value
        except (LoopEnds, LoopGoesOn):
            raise self.fault(function.node, "`break` or `continue` outside a loop.") from None
        except SubmissionError as problem:
            raise as_broken(function.name, problem) from None
        finally:
            self.frames.pop()
        return None

    def bind(
        self, function: Function, arguments: list[Any], keywords: dict[str, Any], node: ast.AST | None
    ) -> dict[str, Any]:
        spec = function.node.args
        if spec.vararg or spec.kwarg:
            problem = f"`{function.name}` must take plain parameters, without *args and **kwargs."
            raise SubmissionError(problem, line=function.line(function.node))
        names = list(function.parameters)
        values = dict(zip(names, arguments, strict=False)) | keywords
        for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
            if name not in values:
                values[name] = evaluate_constant(default, function.file, function.names)
        for parameter, own in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):  # those behind a `*`
            if parameter.arg not in values and own is not None:
                values[parameter.arg] = evaluate_constant(own, function.file, function.names)
        by_name = [parameter.arg for parameter in spec.kwonlyargs]
        missing = [name for name in (*names, *by_name) if name not in values]
        if missing or len(arguments) > len(names) or set(values) - {*names, *by_name}:
            raise SubmissionError(
                f"`{function.name}` takes {len(names) + len(by_name)} arguments ({', '.join((*names, *by_name))}), "
                f"but it is called with {len(arguments) + len(keywords)}.",
                line=function.line(function.node),
            )
        return values
