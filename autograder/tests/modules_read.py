"""What tests of the layout ask of the package's modules: each is parsed once, and its tree is not kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
BY_CALLS = ("import_module", "__import__")


@dataclass(frozen=True)
class Module:
    """What a module imports and defines."""

    imported: tuple[str, ...]  # dotted names, anywhere in it, also by a call
    at_top: tuple[str, ...]  # of these, those of its own body
    statements: tuple[ast.Import | ast.ImportFrom, ...]  # anywhere in it
    has_imports_behind: bool  # in its own body, behind what it defines there
    functions: frozenset[str]
    classes: tuple[str, ...]


@cache
def module(text: str) -> Module:
    """That of this text."""
    tree = ast.parse(text)
    nodes = [each for each in ast.walk(tree) if isinstance(each, (*IMPORTS, *DEFINITIONS, ast.Call))]
    kinds = [isinstance(each, IMPORTS) for each in tree.body]
    defined = next((i for i, each in enumerate(tree.body) if isinstance(each, DEFINITIONS)), len(tree.body))
    return Module(
        imported=tuple(name for each in nodes for name in names_imported(each)),
        at_top=tuple(name for each in tree.body for name in names_imported(each)),
        statements=tuple(each for each in nodes if isinstance(each, IMPORTS)),
        has_imports_behind=any(kinds[defined:]),
        functions=frozenset(each.name for each in nodes if isinstance(each, ast.FunctionDef)),
        classes=tuple(each.name for each in nodes if isinstance(each, ast.ClassDef)),
    )


def names_imported(node: ast.AST) -> Iterator[str]:
    """The dotted names that a statement or a call imports at run time."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called.endswith(BY_CALLS):
            yield from (str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant))


def module_at(path: Path) -> Module:
    return module(path.read_text(encoding="utf-8"))
