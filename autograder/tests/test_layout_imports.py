"""No circle among the modules of the package.

Late imports and imports for type checkers count too: two modules that name each other are one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.tests.modules_read import module
from autograder.tests.test_layout_repository import PACKAGE

pytestmark = pytest.mark.quick

# It only names types, for type checkers alone, of modules that name their own values by it.
NAMES_OF_TYPES = "autograder.simgpu.values.values"


def name_of(path: Path) -> str:
    """A module's dotted name."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py") if "tests" not in path.relative_to(PACKAGE).parts}


def imported(text: str) -> Iterator[str]:
    """The modules of the package that a module of this text imports anywhere in it."""
    for node in module(text).statements:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)
        else:
            assert node.level == 0, "imports are by the whole name"
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield from [name for name in (whole, node.module) if name in MODULES][:1]


def text_of(name: str) -> str:
    return MODULES[name].read_text(encoding="utf-8")


def graph() -> dict[str, set[str]]:
    """Each module -> those that it imports."""
    return {name: set(imported(text_of(name))) - {name, NAMES_OF_TYPES} for name in MODULES}


def reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    """What a module leads to, over one import or more."""
    found: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting.extend(edges[name])
    return found


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that lead to each other (strongly connected components of more than one)."""
    left = {name: set(there) for name, there in edges.items()}
    while ends := {name for name, there in left.items() if not there & left.keys()}:
        for name in ends:  # it leads to nothing but such as lie in no circle, and lies in none
            del left[name]
    within = {name: there & left.keys() for name, there in left.items()}
    leads_to = {name: reachable(name, within) for name in within}
    groups = {frozenset(each for each in leads_to[name] if name in leads_to[each]) for name in within}
    return sorted(sorted(group) for group in groups if group)


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    late = ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import autograder.errors\n"
            "def late():\n    from autograder.language import program\n")  # fmt: skip
    assert set(imported(late)) == {"autograder.errors", "autograder.language.program"}


def test_no_module_leads_back_to_itself() -> None:
    found = graph()
    assert len(found) > 200
    assert circles(found) == []


def test_the_module_that_names_types_names_them_for_type_checkers_alone() -> None:
    tree = ast.parse(text_of(NAMES_OF_TYPES))
    assert list(imported("\n".join(ast.unparse(each) for each in tree.body if not isinstance(each, ast.If)))) == []


def test_imports_stand_at_the_top() -> None:
    """Or in a function or a condition, where they are late; never behind what they would need first."""
    for name in MODULES:
        assert not module(text_of(name)).has_imports_behind, f"{name} imports something behind what it defines"
