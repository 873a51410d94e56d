"""Functions in canonical form, to compare programs by: what is left where nobody looks at names, layout and sizes.

Two functions have the same form where they differ in names, comments, layout, whole numbers of `LEAST_SIZE` and more (sizes
of blocks and tiles), the order of statements that do not depend on each other, and the sides of a sum, a product or a
comparison. START HERE: `fingerprints`.

Names are told apart by what is done with them (colour refinement: https://en.wikipedia.org/wiki/Colour_refinement_algorithm).
These colours say which of several independent statements, or operands, comes first; names are then numbered in that order.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from autograder.language.names import ModuleConstant, ModuleNames
from autograder.language.program import Function, Program, Reference
from autograder.language.quoting import lines_of
from autograder.records.results import CanonicalStatement, FunctionFingerprint

LEAST_SIZE = 4  # whole numbers from here on are sizes: which one is a choice that a copy changes first
ROUNDS = 2  # of telling names apart; what is alike after that differs in nothing nearby
MOST_NODES = 20_000  # of one program's functions: nobody compares a generated one, and a hostile one takes no time
MOST_STATEMENTS = 300  # in one block: their order takes the square of it
MOST_CHARACTERS = 20_000  # of one function's text
MOST_RENDERED = 200_000  # expressions of one function: module constants within module constants multiply
MOST_INLINED = 4  # module constants within module constants
MOST_OF_A_CONSTANT = 200  # characters

_TURNED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_EITHER_WAY = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_LEFT_OUT = {"ctx", "type_comment", "annotation", "returns", "kind", "decorator_list", "type_params", "simple"}
# Calls that change nothing: others are done in the order in which they stand.
_CHANGE_NOTHING = (
    "math.", "numpy.", "numba.types.", "numba.cuda.grid", "numba.cuda.to_device", "numba.cuda.device_array",
    "numba.cuda.shared.array", "numba.cuda.local.array", "numba.cuda.threadIdx", "numba.cuda.blockIdx",
)  # fmt: skip

GAP = "\0"  # stands in no source text

Naming = Callable[[str], str]


def fingerprints(program: Program, names: Iterable[str] = ()) -> tuple[FunctionFingerprint, ...]:
    """What a program's functions are compared by, in the order of the text: those called `names`, and those that they call.

    No names: all functions. Nothing for a program that is too large or too deep to be compared: it is graded all the same.
    """
    waiting, reached = list(names) or list(program.functions), set[str]()
    while waiting:
        if (name := waiting.pop()) in program.functions and name not in reached:
            reached.add(name)
            waiting += program.functions[name].free_names
    chosen = [each for name, each in program.functions.items() if name in reached]
    try:
        if sum(1 for each in chosen for _ in ast.walk(each.node)) > MOST_NODES:
            return ()
        return tuple(_fingerprint(each) for each in chosen)
    except (RecursionError, TooLong):
        return ()


class TooLong(Exception):
    """A function that would take too long to be compared."""


def _fingerprint(function: Function) -> FunctionFingerprint:
    form = _CanonicalFunction(function)
    node = function.node
    text = "\n".join(lines_of(function.text)[node.lineno - 1 : node.end_lineno])[node.col_offset :]
    if len(text) > MOST_CHARACTERS:
        raise TooLong
    digest = _digest(f"{function.kind} {len(function.parameters)} {form.text}")
    return FunctionFingerprint(
        function.name, function.kind != "host", function.line(node), text, digest, tuple(form.statements())
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class _Text:
    """Code as text with a gap for each of the function's own names, and which name is in which gap."""

    text: str
    names: tuple[str, ...] = ()

    def filled(self, naming: Naming) -> str:
        parts = self.text.split(GAP)
        names = [*map(naming, self.names), ""]
        return "".join(part + name for part, name in zip(parts, names, strict=True))


def _joined(first: str, parts: Iterable[_Text], last: str = "") -> _Text:
    parts = list(parts)
    text = " ".join([first, *(each.text for each in parts)])
    return _Text(text + last, tuple(name for each in parts for name in each.names))


@dataclass(eq=False)
class _Statement:
    """One statement: its first line, the blocks under it, and what it does with names.

    An array's elements are written `name[]`, apart from the array itself.
    """

    trees: tuple[ast.AST | str, ...]
    line: int
    blocks: tuple[list[_Statement], ...] = ()
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    acts: bool = False  # does something that nobody sees from the names: a barrier, a launch
    jumps: bool = False
    head: _Text = _Text("")  # its first line, as the colours of names put it
    colour: str = ""

    def must_follow(self, before: _Statement) -> bool:
        """Whether it must stay behind another one that stands before it."""
        if self.jumps or before.jumps:
            return True
        if before.writes & (self.reads | self.writes) or before.reads & self.writes:
            return True
        return (self.acts and before.touches) or (before.acts and self.touches)

    @property
    def touches(self) -> bool:
        return self.acts or any(name.endswith("]") for name in self.reads | self.writes)


class _CanonicalFunction:
    """A function's statements in canonical order; `text` is all of it with names numbered."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._names = function.names
        self._local = function.local_names
        self._inlined = 0
        self._rendered = 0
        parameters = [*function.parameters, *filter(None, [function.star])]
        self._parameters = {name: f"p{place}" for place, name in enumerate(parameters)}
        self._colours = {name: self._parameters.get(name, "v") for name in self._local}
        self._block = self._statements_of(function.node.body)
        self._tell_names_apart()
        self._block = self._ordered(self._block)
        numbers = dict(self._parameters)
        self.text = "\n".join(self._lines(self._block, lambda name: numbers.setdefault(name, f"n{len(numbers)}")))

    def statements(self) -> Iterator[CanonicalStatement]:
        """Each statement by itself, its names numbered from the beginning, whatever it stands in."""
        for statement in _all(self._block):
            own = dict.fromkeys(name for name in statement.head.names if name not in self._parameters)
            numbers = self._parameters | {name: f"n{place}" for place, name in enumerate(own)}
            yield CanonicalStatement(_digest(statement.head.filled(numbers.__getitem__)), statement.line)

    # ---- statements ----------------------------------------------------------------------------------

    def _statements_of(self, body: Iterable[ast.stmt]) -> list[_Statement]:
        found = [each for statement in body for each in self._simple(statement)]
        if len(found) > MOST_STATEMENTS:
            raise TooLong
        return found

    def _simple(self, node: ast.stmt) -> Iterator[_Statement]:
        """A statement as those that it consists of; none for one that does nothing."""
        if isinstance(node, ast.Pass) or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.AugAssign):
            new = ast.BinOp(left=node.target, op=node.op, right=node.value)
            yield self._made(node, ("=", node.target, new))
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield self._made(node, ("=", node.target, node.value))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for one, value in _pairs(target, node.value):
                    yield self._made(node, ("=", one, value))
        else:
            blocks = [value for _, value in ast.iter_fields(node) if _is_block(value)]
            heads = [each for name, value in ast.iter_fields(node) if name not in _LEFT_OUT and not _is_block(value)
                     for each in (value if isinstance(value, list) else [value])
                     if isinstance(each, ast.AST)]  # fmt: skip
            yield self._made(node, (type(node).__name__, *heads), blocks)

    def _made(
        self, node: ast.stmt, head: tuple[ast.AST | str, ...], blocks: Iterable[list[ast.stmt]] = ()
    ) -> _Statement:
        within = tuple(self._statements_of(block) for block in blocks)
        made = _Statement(head, node.lineno, within)
        for tree in head:
            if isinstance(tree, ast.AST):
                self._note_effects(tree, made)
        made.acts |= isinstance(node, ast.Expr)
        made.jumps = isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise))
        for each in (inner for block in within for inner in block):
            made.reads |= each.reads
            made.writes |= each.writes
            made.acts |= each.acts
            made.jumps |= each.jumps
        return made

    def _note_effects(self, tree: ast.AST, made: _Statement) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self._local:
                (made.writes if isinstance(node.ctx, ast.Store) else made.reads).add(node.id)
            elif isinstance(node, (ast.Subscript, ast.Attribute)):
                root: ast.AST = node
                while isinstance(root, (ast.Subscript, ast.Attribute)):
                    root = root.value
                if isinstance(root, ast.Name) and root.id in self._local and isinstance(node, ast.Subscript):
                    (made.writes if isinstance(node.ctx, ast.Store) else made.reads).add(f"{root.id}[]")
            elif isinstance(node, ast.Call):
                made.acts |= not self._changes_nothing(node.func)

    def _changes_nothing(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name) and called.id not in self._local and called.id not in self._names:
            return True  # Python's own
        return self._expression(called).text.startswith(_CHANGE_NOTHING)

    # ---- order ---------------------------------------------------------------------------------------

    def _tell_names_apart(self) -> None:
        """Gives each name a colour by what is done with it, and with the names beside it, and so on."""
        statements = list(_all(self._block))
        for _ in range(ROUNDS):
            found: dict[str, list[str]] = defaultdict(list)
            for statement in statements:
                head = self._head(statement)
                text = head.filled(self._colour)
                for place, name in enumerate(head.names):
                    found[name].append(f"{place} {text}")
            self._colours = {
                name: _digest("\n".join([colour, *sorted(found[name])])) for name, colour in self._colours.items()
            }
        for statement in reversed(statements):  # those within come behind what they stand in
            statement.head = self._head(statement)
            within = sorted(each.colour for block in statement.blocks for each in block)
            statement.colour = _digest("\n".join([statement.head.filled(self._colour), *within]))

    def _colour(self, name: str) -> str:
        return self._colours[name]

    def _ordered(self, block: list[_Statement]) -> list[_Statement]:
        """The statements, those first that need not wait for another one; of several the one with the least colour."""
        for each in block:
            each.blocks = tuple(self._ordered(one) for one in each.blocks)
        waits = {
            each: {before for before in block[:place] if each.must_follow(before)} for place, each in enumerate(block)
        }
        ordered = []
        while waits:
            first = min((each for each, others in waits.items() if not others), key=lambda each: each.colour)
            del waits[first]
            for others in waits.values():
                others.discard(first)
            ordered.append(first)
        return ordered

    def _lines(self, block: list[_Statement], naming: Naming, depth: int = 0) -> Iterator[str]:
        for each in block:
            yield f"{depth} {each.head.filled(naming)}"
            for inner in each.blocks:
                yield from self._lines(inner, naming, depth + 1)
                yield f"{depth} end"

    # ---- text ----------------------------------------------------------------------------------------

    def _head(self, statement: _Statement) -> _Text:
        return _joined(
            "", (_Text(each) if isinstance(each, str) else self._expression(each) for each in statement.trees)
        )

    def _expression(self, node: ast.AST) -> _Text:
        """An expression as text; of operands that can stand in any order, the one with the least colour comes first."""
        self._rendered += 1
        if self._rendered > MOST_RENDERED:
            raise TooLong
        if isinstance(node, ast.Name):
            return _Text(GAP, (node.id,)) if node.id in self._local else self._meaning(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._expression(node.value)
            return _Text(f"{owner.text}.{node.attr}", owner.names)
        if isinstance(node, ast.Constant):
            is_size = isinstance(node.value, int) and abs(node.value) >= LEAST_SIZE
            return _Text("#" if is_size else repr(node.value)[:MOST_OF_A_CONSTANT])
        if isinstance(node, ast.BinOp) and isinstance(node.op, _EITHER_WAY):
            return self._sorted(type(node.op).__name__, _operands(node, type(node.op)))
        if isinstance(node, ast.BoolOp):
            return self._sorted(type(node.op).__name__, node.values)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            operation, sides = type(node.ops[0]), [node.left, *node.comparators]
            if operation in (ast.Eq, ast.NotEq):
                return self._sorted(operation.__name__, sides)
            if operation in _TURNED:
                operation, sides = _TURNED[operation], sides[::-1]
            return _joined(f"({operation.__name__}", map(self._expression, sides), ")")
        parts = []
        for name, value in ast.iter_fields(node):
            for each in () if name in _LEFT_OUT else value if isinstance(value, list) else [value]:
                is_tree = isinstance(each, ast.AST)
                parts.append(self._expression(each) if is_tree else _Text(repr(each)[:MOST_OF_A_CONSTANT]))
        return _joined(f"({type(node).__name__}", parts, ")")

    def _sorted(self, what: str, operands: Iterable[ast.expr]) -> _Text:
        written = [self._expression(each) for each in operands]
        return _joined(f"({what}", sorted(written, key=lambda each: each.filled(self._colour)), ")")

    def _meaning(self, name: str) -> _Text:
        """What a name from outside the function stands for: a constant is as good as its value."""
        found = self._names.definitions.get(name) if isinstance(self._names, ModuleNames) else self._names.get(name)
        if isinstance(found, Reference):
            return _Text(found.path)
        if isinstance(found, Function):
            return _Text(f"<{found.kind}>")
        if not isinstance(found, ModuleConstant) or self._inlined == MOST_INLINED:
            return _Text(name)
        node: ast.expr = found.node
        if found.position is not None and isinstance(node, (ast.Tuple, ast.List)) and found.position < len(node.elts):
            node = node.elts[found.position]
        self._inlined += 1
        local, self._local = self._local, frozenset()
        try:
            return self._expression(node)
        finally:
            self._local = local
            self._inlined -= 1


def _all(block: Iterable[_Statement]) -> Iterator[_Statement]:
    for each in block:
        yield each
        for inner in each.blocks:
            yield from _all(inner)


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _operands(node: ast.expr, operation: type[ast.operator]) -> list[ast.expr]:
    """The operands of a sum of sums, or a product of products, written one way or another."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, operation):
        return [*_operands(node.left, operation), *_operands(node.right, operation)]
    return [node]


def _pairs(target: ast.expr, value: ast.expr) -> Iterable[tuple[ast.expr, ast.expr]]:
    """An assignment of several names at once as one of each, where that comes to the same."""
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (ast.Tuple, ast.List)):
        return [(target, value)]
    given = {each.id for each in target.elts if isinstance(each, ast.Name)}
    used = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    if len(given) != len(target.elts) or len(target.elts) != len(value.elts) or given & used:
        return [(target, value)]
    return list(zip(target.elts, value.elts, strict=True))
