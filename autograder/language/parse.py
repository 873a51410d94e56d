"""Parses a submission into a `Program`: the last definition of each function, and what module-level names stand for."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator
from itertools import islice

from autograder.errors import BrokenDefinition, Line, SubmissionError, as_broken
from autograder.language.modules import ALLOWED_MODULES, imported
from autograder.language.names import ModuleConstant, ModuleNames
from autograder.language.program import Function, Kind, Program
from autograder.language.source import Cell, Submission
from autograder.language.validate import decorated_kind


def parse_program(submission: Submission) -> Program:
    """The program in a submission; raises `SubmissionError` with file and line where a file is not valid Python.

    The last definition of a name counts. A notebook's cell that is not valid Python loses what no other cell defines, as in
    Jupyter: whoever asks for one of those names is told what is wrong with the cell.
    """
    from autograder.language.host import evaluate_constant  # here, for NumPy takes a while to load

    names = ModuleNames(evaluate_constant)
    functions: dict[str, Function] = {}
    for cell in submission.cells:
        try:
            tree = _parse(cell, submission.is_notebook)
        except SubmissionError as error:
            if not submission.is_notebook:
                raise
            for name in islice(dict.fromkeys(_begun_in(cell.text)), MOST_BEGUN):
                if name not in names:
                    names.spoil(name, _in_a_broken_cell(name, error))
            continue
        for statement in tree.body:
            _define(statement, cell, names, functions)
    return Program(submission.label, functions, names)


MOST_BEGUN = 1_000  # names of one broken cell
# What the first words of a line set out to define; a cell that Python cannot read has no syntax tree to ask.
_FUNCTION = re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)")
_ASSIGNMENT = re.compile(r"([^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ \t]*(?::[^=\n]*)?=(?!=)")
_IMPORT = re.compile(r"(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+([\w., \t]+)")


def _begun_in(text: str) -> Iterator[str]:
    """The names that a text means to define, guessed from its lines, without Python's own names."""
    for line in text.splitlines():
        if found := _FUNCTION.match(line) or _ASSIGNMENT.match(line):
            names = [each.strip() for each in found[1].split(",")]
        elif found := _IMPORT.match(line):
            names = [each.split()[-1].split(".")[0] for each in found[1].split(",") if each.split()]
        else:
            continue
        yield from (name for name in names if not hasattr(builtins, name))


def _in_a_broken_cell(name: str, error: SubmissionError) -> BrokenDefinition:
    remedy = f"`{name}` stands in this cell and is missing: run the cell and mend what Python reports."
    return BrokenDefinition(error.message, name=name, line=error.line, remedy=remedy)


def _parse(cell: Cell, a_cell_of_many: bool) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a submission's own odd escapes are not our warnings
            return ast.parse(cell.text)
    except SyntaxError as error:
        shown = (error.text or "").strip()[:80]
        quoted = f": `{shown}`" if shown else ""
        raise SubmissionError(
            f"Python cannot read this ({error.msg}){quoted}.",
            line=Line(cell.file, error.lineno or 1),
            remedy=f"Run the {'cell' if a_cell_of_many else 'file'} and mend what Python reports.",
        ) from None
    except (RecursionError, MemoryError):
        raise SubmissionError(f"{cell.file} is nested too deeply to be read.") from None
    except ValueError as error:
        raise SubmissionError(f"{cell.file} cannot be read: {error}.") from None


def _define(statement: ast.stmt, cell: Cell, names: ModuleNames, functions: dict[str, Function]) -> None:
    """Notes what one top-level statement defines. Statements that define nothing are ignored."""
    if isinstance(statement, ast.FunctionDef):
        kind: Kind
        kind, options, problem = decorated_kind(statement, names, cell.file)
        function = Function(statement.name, kind, statement, cell.file, cell.text, names, options)
        names.definitions[statement.name] = function if problem is None else as_broken(statement.name, problem)
        names._values.pop(statement.name, None)
        if problem is None:
            functions[statement.name] = function
        else:
            functions.pop(statement.name, None)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for name, meaning in imported(statement, cell.file):
            names.definitions[name] = meaning
            names._values.pop(name, None)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            _bind(target, statement.value, cell, names, functions)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _bind(statement.target, statement.value, cell, names, functions)
    elif isinstance(statement, (ast.ClassDef, ast.AsyncFunctionDef)):
        names.definitions[statement.name] = BrokenDefinition(
            f"`{statement.name}` is a class or an async function, which a submission cannot use.",
            name=statement.name,
            line=Line(cell.file, statement.lineno),
        )
        functions.pop(statement.name, None)
    elif isinstance(statement, (ast.If, ast.Try, ast.With)) and not _is_main_guard(statement):
        for inner in ast.iter_child_nodes(statement):
            if isinstance(inner, ast.stmt):
                _define(inner, cell, names, functions)


def _bind(target: ast.expr, value: ast.expr, cell: Cell, names: ModuleNames, functions: dict[str, Function]) -> None:
    if isinstance(target, ast.Name):
        names.definitions[target.id] = ModuleConstant(value, cell.file)
        names._values.pop(target.id, None)
        functions.pop(target.id, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, each in enumerate(target.elts):
            if isinstance(each, ast.Name):
                names.definitions[each.id] = ModuleConstant(value, cell.file, position)
                names._values.pop(each.id, None)


def _is_main_guard(statement: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":` or the like."""
    if not isinstance(statement, ast.If):
        return False
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(statement.test))


__all__ = ["ALLOWED_MODULES", "ModuleNames", "parse_program"]
