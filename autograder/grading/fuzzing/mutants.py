"""Small changes to a right answer, of the kinds that slips and misconceptions are made of.

START HERE to add a kind: a function of `KINDS`, from what stands at a place to what may stand there instead.
Changes are made to the syntax tree; what comes out is text, as a student would hand it in.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from autograder.grading.fuzzing.programs import fingerprint

Step = tuple[str, int | None]  # a field, and the place in it where it is a list
Change = tuple[str, list[ast.AST]]  # what the change is, in a few words, and what stands there instead
Node = TypeVar("Node", bound=ast.AST)
TWO_CHANGES = 0.15  # of the mutants; more where single changes have run out
TRIES = 60  # for a mutant that is not there yet, before the rest is given up
BARRIERS = ("syncthreads", "syncwarp", "threadfence", "threadfence_block", "sync")

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mult, ast.Mod, ast.Div),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.LShift: (ast.RShift, ast.Mult),
    ast.RShift: (ast.LShift, ast.FloorDiv),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.Pow: (ast.Mult,),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Gt, ast.Eq),
    ast.Gt: (ast.GtE, ast.Lt, ast.NotEq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Eq),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
}
ATTRIBUTES = {
    "x": ("y", "z"),
    "y": ("x",),
    "z": ("x",),
    "threadIdx": ("blockIdx",),
    "blockIdx": ("threadIdx",),
    "blockDim": ("gridDim",),
    "gridDim": ("blockDim",),
    "shape": ("strides",),
    "size": ("ndim",),
    "shared": ("local",),
    "local": ("shared",),
    "syncthreads": ("syncwarp",),
    "syncwarp": ("syncthreads",),
    "float32": ("float64", "float16", "int32"),
    "int32": ("int64", "int16", "float32", "uint32"),
    "uint32": ("int32",),
    "shfl_down_sync": ("shfl_up_sync", "shfl_xor_sync"),
    "add": ("max", "sub"),
    "ceil": ("floor",),
    "laneid": ("warpsize",),
}


@dataclass(frozen=True)
class Edit:
    """One change to one place of a tree."""

    kind: str
    place: tuple[Step, ...]  # from the module down
    said: str
    new: tuple[ast.AST, ...]  # what stands there instead: one expression, or any number of statements

    def apply(self, tree: ast.Module) -> ast.Module:
        """The tree with the change; the tree itself stays as it is. Raises LookupError where the place has gone.

        What lies beside the way to the place is shared by both trees, and nothing is to change it.
        """
        changed: ast.Module = copy.copy(tree)
        parent: ast.AST = changed
        for field, index in self.place[:-1]:
            child = copy.copy(_child(parent, (field, index)))
            if index is None:
                setattr(parent, field, child)
            else:
                setattr(parent, field, _with(getattr(parent, field), index, child))
            parent = child
        field, index = self.place[-1]
        _child(parent, self.place[-1])
        if index is None:
            setattr(parent, field, self.new[0])
        else:
            whole = list(getattr(parent, field))
            whole[index : index + 1] = self.new
            if not whole and field == "body":
                whole = [ast.Pass()]
            setattr(parent, field, whole)
        return changed


def _child(node: ast.AST, step: Step) -> ast.AST:
    field, index = step
    value = getattr(node, field, None)
    if value is None:
        raise LookupError(field)
    found: ast.AST = value if index is None else value[index]
    return found


@dataclass(frozen=True)
class Mutant:
    """A right answer with a change or two."""

    number: int
    base: str  # the right answer's name
    kinds: tuple[str, ...]
    said: str
    text: str

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.text)


# ---- what may stand at a place instead -------------------------------------------------------------------------------


def operators(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Another operator, or one side alone."""
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS.get(type(node.op), ()):
            yield "another operator", [ast.BinOp(node.left, operator(), node.right)]
        yield "left side alone", [node.left]
        yield "right side alone", [node.right]
    elif isinstance(node, ast.AugAssign):
        for operator in OPERATORS.get(type(node.op), ()):
            yield "another operator", [ast.AugAssign(node.target, operator(), node.value)]
        yield "replaced instead", [ast.Assign([node.target], node.value)]
    elif isinstance(node, ast.UnaryOp):
        yield "no sign", [node.operand]


def comparisons(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """A bound that is one off, or turned over."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield "another comparison", [ast.Compare(node.left, [other()], node.comparators)]
    elif isinstance(node, ast.Compare):
        yield "first comparison alone", [ast.Compare(node.left, node.ops[:1], node.comparators[:1])]
        middle = node.comparators[0]
        yield "other comparisons alone", [ast.Compare(middle, node.ops[1:], node.comparators[1:])]


def guards(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """A guard that is gone, weaker, stronger or the other way round."""
    if isinstance(node, ast.If):
        yield "guard dropped", list(node.body)
        yield "guard turned over", [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]
        if node.orelse:
            yield "else dropped", [ast.If(node.test, node.body, [])]
    elif isinstance(node, ast.IfExp):
        yield "guard dropped", [node.body]
        yield "guard turned over", [ast.IfExp(node.test, node.orelse, node.body)]
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and for or", [ast.BoolOp(other, node.values)]
        for place in range(len(node.values)):
            rest = [each for index, each in enumerate(node.values) if index != place]
            yield "a condition dropped", [rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)]


def constants(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Another number."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, (str, bytes, bool, complex)):
        return
    if isinstance(node.value, int):
        others: list[int | float] = [node.value + 1, node.value - 1, 2 * node.value, node.value // 2, 0]
        others += [node.value + 0.5, float(node.value)]
    elif isinstance(node.value, float):
        others = [node.value * 1.5, -node.value, int(node.value)]
    else:
        return
    for each in others:
        if repr(each) != repr(node.value):
            yield "another number", [ast.Constant(each)]


def bounds(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """A loop that begins, ends or steps elsewhere."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        for place, given in enumerate(node.args):
            for operator in (ast.Add, ast.Sub):
                changed = ast.BinOp(given, operator(), ast.Constant(1))
                yield "a loop's bound", [ast.Call(node.func, _with(node.args, place, changed), [])]
        if len(node.args) > 1:
            yield "a loop's bound dropped", [ast.Call(node.func, node.args[:-1], [])]
        if len(node.args) > 2:
            yield "a loop's step dropped", [ast.Call(node.func, node.args[:2], [])]
    elif isinstance(node, ast.While):
        yield "once instead of a loop", [ast.If(node.test, node.body, [])]


def indices(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Indices that have changed places, or are one off."""
    if not isinstance(node, ast.Subscript):
        return
    if isinstance(node.slice, ast.Tuple):
        items = node.slice.elts
        if len(items) > 1:
            yield "indices swapped", [_subscript(node, ast.Tuple([items[1], items[0], *items[2:]], ast.Load()))]
        for place, item in enumerate(items):
            changed = ast.BinOp(item, ast.Add(), ast.Constant(1))
            yield "an index one off", [_subscript(node, ast.Tuple(_with(items, place, changed), ast.Load()))]
    elif isinstance(node.slice, ast.Slice):
        if node.slice.upper is not None:
            yield "a slice without its end", [_subscript(node, ast.Slice(node.slice.lower, None, None))]
        if node.slice.lower is not None:
            yield "a slice from the beginning", [_subscript(node, ast.Slice(None, node.slice.upper, None))]
    else:
        for operator in (ast.Add, ast.Sub):
            yield "an index one off", [_subscript(node, ast.BinOp(node.slice, operator(), ast.Constant(1)))]


def _subscript(node: ast.Subscript, index: ast.expr) -> ast.Subscript:
    return ast.Subscript(node.value, index, node.ctx)


def other_names(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Another variable of the function, or another part of what is named."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for each in names:
            if each != node.id:
                yield "another name", [ast.Name(each, ast.Load())]
    elif isinstance(node, ast.Attribute):
        for other in ATTRIBUTES.get(node.attr, ()):
            yield "another part", [ast.Attribute(node.value, other, node.ctx)]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for other in ATTRIBUTES.get(node.id, ()):
            if node.id in ("float32", "int32"):
                yield "another type", [ast.Name(other, ast.Load())]


def calls(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """Arguments in another order, or a function left out."""
    if not isinstance(node, ast.Call) or _is_barrier(node):
        return
    if len(node.args) > 1 and not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        for place in range(len(node.args) - 1):
            swapped = [*node.args]
            swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
            yield "arguments swapped", [ast.Call(node.func, swapped, node.keywords)]
    if len(node.args) == 1 and not node.keywords:
        yield "a call left out", [node.args[0]]


def launches(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """A grid or a block that is another."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)):
        return
    given = node.func.slice
    if not isinstance(given, ast.Tuple) or len(given.elts) < 2:
        return
    items = given.elts
    yield "grid and block swapped", [_launch(node, [items[1], items[0], *items[2:]])]
    for place in (0, 1):
        wide = items[place]
        if isinstance(wide, ast.Tuple) and len(wide.elts) > 1:
            turned = ast.Tuple([wide.elts[1], wide.elts[0], *wide.elts[2:]], ast.Load())
            yield "axes swapped", [_launch(node, _with(items, place, turned))]
        elif not isinstance(wide, ast.Tuple):
            for operator, other in ((ast.Add, 1), (ast.Sub, 1), (ast.Mult, 2), (ast.FloorDiv, 2)):
                changed = ast.BinOp(wide, operator(), ast.Constant(other))
                yield "another launch", [_launch(node, _with(items, place, changed))]
            yield "another launch", [_launch(node, _with(items, place, ast.Constant(1)))]


def _launch(node: ast.Call, items: list[ast.expr]) -> ast.Call:
    assert isinstance(node.func, ast.Subscript)
    return ast.Call(ast.Subscript(node.func.value, ast.Tuple(items, ast.Load()), ast.Load()), node.args, node.keywords)


def memory(node: ast.AST, names: list[str]) -> Iterator[Change]:
    """An atomic that is none, and the other way round."""
    called = node.value if isinstance(node, ast.Expr) else None
    if isinstance(called, ast.Call) and ast.unparse(called.func).endswith("atomic.add") and len(called.args) == 3:
        array, index, value = called.args
        yield "no atomic", [ast.AugAssign(ast.Subscript(array, index, ast.Store()), ast.Add(), value)]


def _is_barrier(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in BARRIERS
        and isinstance(node.func.value, (ast.Name, ast.Attribute, ast.Call))
    )


def _with(items: list[Node], place: int, changed: Node) -> list[Node]:
    return [changed if index == place else each for index, each in enumerate(items)]


AtPlace = Callable[[ast.AST, list[str]], Iterator[Change]]
KINDS: Mapping[str, AtPlace] = {
    "operator": operators, "comparison": comparisons, "guard": guards, "constant": constants, "bound": bounds,
    "index": indices, "name": other_names, "call": calls, "launch": launches, "memory": memory,
}  # fmt: skip


def statements(body: list[ast.stmt], place: tuple[Step, ...], field: str) -> Iterator[Edit]:
    """Changes to the statements of a block: one that is gone, comes twice or has moved; barriers are a kind apart."""
    for index, node in enumerate(body):
        here = (*place, (field, index))
        kind = "barrier" if _is_barrier(node) else "statement"
        line = f"line {node.lineno}: `{_short(node)}`"
        if not isinstance(node, ast.Return) or node.value is not None or index + 1 < len(body):
            yield Edit(kind, here, f"{line} is gone", ())
        if kind == "statement" and isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
            yield Edit(kind, here, f"{line} comes twice", (node, node))
        after = body[index + 1] if index + 1 < len(body) else None
        if after is None:
            continue
        moved = "barrier" if kind == "barrier" or _is_barrier(after) else "statement"
        both = (*place, (field, index + 1))
        if isinstance(after, (ast.For, ast.While, ast.If)) and kind == "barrier":
            inside = copy.deepcopy(after)
            inside.body = [*inside.body, node]
            yield Edit("barrier", both, f"{line} comes again at the end of the block after it", (inside,))
        yield Edit(moved, both, f"{line} comes again after `{_short(after)}`", (after, node))
        if isinstance(node, (ast.For, ast.While, ast.If)) and _is_barrier(after):
            inside = copy.deepcopy(node)
            inside.body = [*inside.body, after]
            yield Edit(
                "barrier", here, f"the barrier of line {after.lineno} is inside the block before it, too", (inside,)
            )


def edits(tree: ast.Module) -> list[Edit]:
    """Every change that there is, in the order of the text."""
    found: list[Edit] = []
    for index, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef):
            names = sorted({each.arg for each in node.args.args} | _assigned(node))
            found += _edits_below(node, (("body", index),), names, in_function=True)
        elif isinstance(node, ast.Assign):
            found += _edits_below(node, (("body", index),), [], in_function=False)
    return found


def _assigned(function: ast.FunctionDef) -> set[str]:
    return {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _edits_below(node: ast.AST, place: tuple[Step, ...], names: list[str], *, in_function: bool) -> Iterator[Edit]:
    for field, value in ast.iter_fields(node):
        if field in ("decorator_list", "args", "returns", "annotation") and isinstance(node, ast.FunctionDef):
            continue
        children = value if isinstance(value, list) else [value]
        if in_function and field in ("body", "orelse") and isinstance(value, list):
            yield from statements(value, place, field)
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST):
                continue
            here = (*place, (field, index if isinstance(value, list) else None))
            for kind, at_place in KINDS.items():
                for said, new in at_place(child, names):
                    yield Edit(kind, here, _in_words(child, said, new), tuple(new))
            yield from _edits_below(child, here, names, in_function=in_function)


def _in_words(node: ast.AST, said: str, new: list[ast.AST]) -> str:
    becomes = "; ".join(_short(ast.fix_missing_locations(each)) for each in new)
    return f"line {getattr(node, 'lineno', 0)}: {said}, `{_short(node)}` -> `{becomes}`"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node).split("\n")[0]
    return text if len(text) <= 70 else text[:67] + "..."


# ---- mutants ---------------------------------------------------------------------------------------------------------


def mutants(bases: Mapping[str, ast.Module], seed: int, count: int) -> Iterator[Mutant]:
    """So many different mutants, the same ones for a seed; fewer where there are no more.

    Each kind of change is as likely as any other, however many places there are for it: there are many names, and few
    barriers. None is a right answer that is known, and no two compile to the same code.
    """
    trees = {name: ast.parse(ast.unparse(tree)) for name, tree in bases.items()}  # lines as those of the text
    known = {fingerprint(ast.unparse(tree)) for tree in trees.values()}
    choices: dict[str, dict[str, list[Edit]]] = {}
    for name, tree in trees.items():
        choices[name] = {}
        for edit in edits(tree):
            choices[name].setdefault(edit.kind, []).append(edit)
    rng = np.random.default_rng(seed)
    found = failed = 0
    while found < count and failed < TRIES + found:
        name = str(rng.choice(sorted(trees)))
        wanted = 1 + (rng.random() < max(TWO_CHANGES, min(0.9, failed / (TRIES + found))))
        tree, done = trees[name], []
        for _ in range(wanted):
            kind = str(rng.choice(sorted(choices[name])))
            edit = choices[name][kind][int(rng.integers(len(choices[name][kind])))]
            try:
                tree = edit.apply(tree)
            except (LookupError, AttributeError, TypeError):  # the first change took the second one's place away
                continue
            done.append(edit)
        try:
            text = ast.unparse(tree) + "\n"
            mutant = Mutant(found, name, tuple(e.kind for e in done), "; ".join(e.said for e in done), text)
            mark = mutant.fingerprint
        except (SyntaxError, ValueError, AttributeError, TypeError):  # two changes that do not go together
            failed += 1
            continue
        if mark in known:
            failed += 1
            continue
        known.add(mark)
        found += 1
        yield mutant
