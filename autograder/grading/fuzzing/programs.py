"""A lab's right answers as syntax trees of what is graded: imports, constants and functions, and nothing else."""

from __future__ import annotations

import ast
import types
from pathlib import Path

from autograder.errors import UsageError
from autograder.grading.known_answers.answers import known_answers
from autograder.grading.spec import Lab
from autograder.language.source import read_submission


def right_answers(lab: Lab) -> dict[str, ast.Module]:
    """The solution and every other right answer of a lab, by name; raises `UsageError` where there is none."""
    answers = [each for each in known_answers(lab).values() if each.kind in ("solution", "right")]
    found = {}
    for each in answers:
        if isinstance(each.submission, Path) and each.submission.is_file():
            cells = read_submission(each.submission).cells
            found[each.name] = graded_part([ast.parse(cell.text) for cell in cells])
    if not found:
        raise UsageError(
            f"{lab.name} has no right answers here: mutants are made of those in solutions/{lab.name}.",
            remedy="Run this in a clone of the repository.",
        )
    return found


def graded_part(cells: list[ast.Module]) -> ast.Module:
    """Imports, functions and constants, whose names are capitals; of a function that is defined twice the last."""
    nodes = [node for cell in cells for node in cell.body if _is_graded(node)]
    last = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    kept = [node for node in nodes if not isinstance(node, ast.FunctionDef) or last[node.name] is node]
    for node in last.values():
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.Module(kept, type_ignores=[])


def _is_graded(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] != "autograder"
    if isinstance(node, ast.Assign):
        names = [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        return bool(names) and all(name.isupper() for name in names)
    return isinstance(node, (ast.Import, ast.FunctionDef))


def fingerprint(text: str) -> str:
    """What two texts share that compile to the same code: spellings that Python itself takes for one are one program.

    Raises SyntaxError for what is no Python.
    """
    return repr(_of_code(compile(text, "mutant", "exec", dont_inherit=True)))


def _of_code(code: types.CodeType) -> tuple[object, ...]:
    inner = tuple(_of_code(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts)
    return code.co_name, code.co_code, code.co_names, code.co_varnames, inner
