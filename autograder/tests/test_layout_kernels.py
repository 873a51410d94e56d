"""A kernel that lessons, benchmarks and measurements share stands in one place, autograder/kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.tests.test_layout_repository import PACKAGE

# By somebody who knew none of the others, so that they show what nobody had in mind.
WRITTEN_APART = "unseen_"


class Spelling(ast.NodeTransformer):
    """A kernel without what it is called, what it calls its arguments and variables, and its docstring."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        body = node.body[1:] if ast.get_docstring(node) else node.body
        bound = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        for name in [each.arg for each in node.args.args] + sorted(bound, key=first_places(node).__getitem__):
            self.names.setdefault(name, f"name{len(self.names)}")
        arguments = [ast.arg(self.names[each.arg]) for each in node.args.args]
        signature = ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.FunctionDef("kernel", signature, [self.visit(each) for each in body], [])

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "np":  # np.float32 is Numba's float32
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


def first_places(node: ast.AST) -> dict[str, tuple[int, int]]:
    """Where each name first stands."""
    found: dict[str, tuple[int, int]] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            place = (each.lineno, each.col_offset)
            found[each.id] = min(place, found.get(each.id, place))
    return found


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(each) for each in node.decorator_list)


def kernels() -> Iterator[tuple[str, str]]:
    """Each kernel of the package: where it is, and how it is spelled."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "tests" not in path.relative_to(PACKAGE).parts and not path.name.startswith(WRITTEN_APART):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "jit" in text else ():
                if is_kernel(node):
                    assert isinstance(node, ast.FunctionDef)
                    spelled = ast.unparse(ast.fix_missing_locations(Spelling().visit(node)))
                    yield f"{path.relative_to(PACKAGE).as_posix()}: {node.name}", spelled


def test_no_kernel_stands_twice() -> None:
    places: dict[str, list[str]] = {}
    for place, spelled in kernels():
        places.setdefault(spelled, []).append(place)
    assert len(places) > 150
    assert [each for each in places.values() if len(each) > 1] == []
