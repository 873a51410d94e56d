"""What Numba's compiler makes of loops, as far as the source shows; and which loops can never end.

Seen in machine code for compute capability 9.0 (numba-cuda 0.30): `for i in range(n)` keeps Numba's 64-bit iterator,
whose sign the compiler cannot know, so every index made of `i` is wrapped and multiplied anew (36 instructions a round
in a naive matrix multiply). `while i < n: ... i += 1` is an ordinary counter: addresses advance by one addition
(8 instructions a round). Short loops of constant length are written out whole: see `unrolling`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from autograder.language.program import Function
from autograder.simgpu.unrolling import constant_of, is_written_out


@lru_cache(maxsize=256)
def cheap_loops(function: Function) -> frozenset[int]:
    """ids of the `for` nodes whose rounds cost next to nothing beside their bodies: written out, or counting unseen."""
    loops = [node for node in ast.walk(function.node) if isinstance(node, ast.For)]
    local = _assigned(function.node) | set(function.parameters)
    return frozenset(id(loop) for loop in loops if is_written_out(loop, function, local) or not _uses_target(loop))


@lru_cache(maxsize=256)
def cheap_addresses(function: Function) -> frozenset[int]:
    """ids of the subscripts in loops whose address the compiler keeps, or advances by one addition."""
    cheap: list[int] = []
    unrolled = cheap_loops(function)

    def visit(node: ast.AST, varying: set[str] | None) -> None:
        """`varying`: names that the innermost loop gives new values other than by steps; None outside loops."""
        if isinstance(node, ast.While) or (isinstance(node, ast.For) and id(node) not in unrolled):
            varying = _assigned(node)
        elif isinstance(node, ast.Subscript) and varying is not None and not _is_computed(node.slice, varying):
            cheap.append(id(node))
        for child in ast.iter_child_nodes(node):
            visit(child, varying)

    visit(function.node, None)
    return frozenset(cheap)


@lru_cache(maxsize=256)
def folded_arithmetic(function: Function) -> frozenset[int]:
    """ids of the operators in indices of shared arrays that a loop written out whole does not execute.

    Of `tile[y * 16 + i]` with `i` counting, `y * 16` is worked out before the loop, and `i` is a constant that the load
    carries along: machine code has loads and multiply-adds between the barriers of a tiled multiply and no integer
    arithmetic, whether its tiles are two-dimensional or flat (numba-cuda 0.30, compute capability 9.0).
    """
    local = _assigned(function.node) | set(function.parameters)
    loops = [node for node in ast.walk(function.node) if isinstance(node, ast.For)]
    shared, folded = _shared_arrays(function.node), set[int]()
    for loop in loops:
        if is_written_out(loop, function, local):
            known = {name for each in ast.walk(loop) if isinstance(each, ast.For) for name in _names(each.target)}
            varying = {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and _is_stored(each)} - known
            for node in ast.walk(loop):
                if isinstance(node, ast.Subscript) and _name(node.value) in shared:
                    for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
                        if _is_sum_of_constants(index, known, varying, function, local):
                            folded |= {id(part) for part in ast.walk(index) if isinstance(part, ast.BinOp)}
    return frozenset(folded)


@lru_cache(maxsize=256)
def held_in_registers(function: Function) -> dict[int, frozenset[int]]:
    """Loop -> ids of the subscripts in it whose element the compiler loads before the loop and stores after it.

    Of loops written out whole: the only element of an array argument that the loop touches, at an index that stays the
    same, is kept in a register, as nothing else there can change it. An H200's counters show it for
    `c[row, col] += tile_a[y, i] * tile_b[i, x]`: a load and a store of `c` for each tile, not for each product.
    """
    local = _assigned(function.node) | set(function.parameters)
    shared, found = _shared_arrays(function.node), {}
    for loop in (node for node in ast.walk(function.node) if isinstance(node, ast.For)):
        inside = [node for statement in loop.body for node in ast.walk(statement)]
        if any(isinstance(node, (ast.Call, ast.For, ast.While)) for node in inside):
            continue
        accesses = [node for node in inside if isinstance(node, ast.Subscript) and not _is_shape(node.value)]
        subscripts = [node for node in accesses if _name(node.value) not in shared]
        elements = {ast.unparse(node) for node in subscripts}
        varying = {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and _is_stored(each)}
        conditions = [node.test for node in inside if isinstance(node, (ast.If, ast.IfExp))]
        if (
            len(elements) == 1
            and not any(_names(each) & varying for each in (subscripts[0], *conditions))
            and is_written_out(loop, function, local)
        ):
            found[id(loop)] = frozenset(id(node) for node in subscripts)
    return found


def _is_shape(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


@lru_cache(maxsize=256)
def arrays_in_local_memory(function: Function) -> frozenset[str]:
    """Names of the local arrays that no registers can hold, since an index of theirs is known only at run time."""
    local = _assigned(function.node) | set(function.parameters)
    arrays = set(_arrays_made(function.node, "local.array"))
    in_memory: set[str] = set()

    def visit(node: ast.AST, known: frozenset[str]) -> None:
        """`known`: loop variables around the node that are constants where the loop is written out."""
        if isinstance(node, ast.For) and is_written_out(node, function, local):
            known |= _names(node.target)
        elif isinstance(node, ast.Subscript) and _name(node.value) in arrays:
            if any(_is_only_at_run_time(name, known, function) for name in _names(node.slice)):
                in_memory.add(_name(node.value))
        for child in ast.iter_child_nodes(node):
            visit(child, known)

    visit(function.node, frozenset())
    return frozenset(in_memory)


def _is_only_at_run_time(name: str, known: frozenset[str], function: Function) -> bool:
    return name not in known and type(function.names.get(name)) is not int


@lru_cache(maxsize=256)
def calls_of_arrays_in_local_memory(function: Function) -> frozenset[int]:
    """ids of the `cuda.local.array` calls that make them."""
    in_memory = arrays_in_local_memory(function)
    made = _arrays_made(function.node, "local.array")
    return frozenset(id(call) for name, call in made.items() if name in in_memory)


def _is_sum_of_constants(
    index: ast.expr, known: set[str], varying: set[str], function: Function, local: set[str]
) -> bool:
    """Whether an index is something that stays the same in the loop plus constant multiples of the names `known`."""
    if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        return all(_is_sum_of_constants(side, known, varying, function, local) for side in (index.left, index.right))
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult) and _names(index) & known:
        constant = any(constant_of(side, function, local) is not None for side in (index.left, index.right))
        return constant and all(
            _is_sum_of_constants(side, known, varying, function, local) for side in (index.left, index.right)
        )
    if isinstance(index, ast.Name):
        return index.id not in varying
    parts = list(ast.walk(index))
    return not _names(index) & (known | varying) and not any(
        isinstance(part, (ast.Subscript, ast.Call)) for part in parts
    )


def _shared_arrays(tree: ast.AST) -> set[str]:
    """Names that a function gives to shared arrays, and to slices of these."""
    found = set(_arrays_made(tree, "shared.array"))
    for name, value in _given(tree):
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) and _name(value.value) in found:
            found.add(name)
    return found


def _arrays_made(tree: ast.AST, call: str) -> dict[str, ast.Call]:
    """Name -> the call ("shared.array" or "local.array") that makes its array."""
    return {
        name: value
        for name, value in _given(tree)
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith(call)
    }


def _given(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """(name, value) of each assignment to one name, in order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and (name := _name(node.targets[0])):
            yield name, node.value


def _names(tree: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}


@lru_cache(maxsize=256)
def hopeless_loops(function: Function) -> frozenset[int]:
    """ids of the `while` nodes that never end once begun: nothing in the body can change the condition or leave."""
    return frozenset(id(node) for node in ast.walk(function.node) if isinstance(node, ast.While) and _is_hopeless(node))


def _is_hopeless(loop: ast.While) -> bool:
    tested = list(ast.walk(loop.test))
    if any(_may_change_by_itself(part) for part in tested):
        return False
    body = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(node, (ast.Break, ast.Return)) for node in body):
        return False
    bound = {node.id for node in body if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return not bound & {_name(part) for part in tested}


def _may_change_by_itself(part: ast.AST) -> bool:
    """Whether a part of a condition looks at memory, which other threads change, or calls something; shapes are fixed."""
    if isinstance(part, ast.Subscript):
        return not (isinstance(part.value, ast.Attribute) and part.value.attr == "shape")
    return isinstance(part, (ast.Call, ast.NamedExpr))


def _is_computed(index: ast.expr, varying: set[str]) -> bool:
    parts = list(ast.walk(index))
    return any(isinstance(part, (ast.Subscript, ast.Call)) or _name(part) in varying for part in parts)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(tree: ast.AST) -> set[str]:
    """Names that a loop or function assigns by `=` or as a loop variable; `+=` and `-=` are steps."""
    return {name for node in ast.walk(tree) for name in _targets(node)}


def _targets(node: ast.AST) -> Iterator[str]:
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.For, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.AugAssign) and not isinstance(node.op, (ast.Add, ast.Sub)):
        targets = [node.target]
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name) and _is_stored(part))


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _uses_target(loop: ast.For) -> bool:
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return any(_name(part) in names for statement in loop.body for part in ast.walk(statement))
