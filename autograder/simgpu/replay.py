"""Loops over registers and shared tiles that do the same round after round of what is around them: stepped through once.

    for phase in range(phases):
        ...
        for term in range(16):                          # the same addresses and the same counts in every phase
            for j in range(4):
                sums[j] += rows[y, term] * columns[term, x + 16 * j]

Such a loop has bounds and indices that stay, no branches and no global memory. Its first run is an ordinary one that is
written down: what it counted, and each access in order. From then on only the arithmetic, the moves and the checks for
races are carried out, as a straight list of steps on the arrays themselves. Whatever a later run finds different (a mask,
a variable that is used, what is left of the work limit) makes it an ordinary one again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.program import Function, Reference
from autograder.simgpu import numba_types as nt
from autograder.simgpu import primitives as prim
from autograder.simgpu.addressing import Place
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View
from autograder.simgpu.operators import NUMBERS, OPERATORS, SIMPLE

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

MOST_LANES = 8192  # with more, stepping through a loop costs little beside the arithmetic
MOST_ACCESSES = 8192  # of a run that is written down: a step takes some hundred bytes
MOST_BYTES = 2**25  # of the indices of those that are no pattern yet
MOST_RECORDS = 3  # of one loop: one that is different each time is left alone
Step = Callable[[], object]


@dataclass(frozen=True)
class Access:
    """One access of the run that was written down."""

    kind: int
    node: ast.AST
    view: View
    place: Place | None  # None where no pattern was known yet
    indices: tuple


@dataclass(frozen=True)
class Plain:
    """A loop that may repeat itself, by its text: names that its statements assign, loops' own counters not among them."""

    assigned: frozenset[str]
    used: frozenset[str]  # read in it and never assigned


class Unsuited(Exception):
    """A run that cannot be made a list of steps."""


# ---- by the text -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def plain_loops(function: Function) -> dict[int, Plain]:
    """The `for` nodes that may repeat themselves, by id: those inside another loop, none of them inside another such."""
    found: dict[int, Plain] = {}

    def visit(node: ast.AST, in_loop: bool, counters: frozenset[str]) -> None:
        """`counters`: of the loops around this node."""
        if isinstance(node, ast.For) and in_loop:
            plain = _plain(node)
            if plain is not None and not plain.used & counters:
                found[id(node)] = plain
                return
        if isinstance(node, ast.For):
            counters |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        in_loop = in_loop or isinstance(node, (ast.For, ast.While))
        for child in ast.iter_child_nodes(node):
            visit(child, in_loop, counters)

    visit(function.node, False, frozenset())
    return found


def _plain(loop: ast.For) -> Plain | None:
    loops = [node for node in ast.walk(loop) if isinstance(node, ast.For)]
    if not all(isinstance(each.target, ast.Name) for each in loops):
        return None
    counters = {each.target.id for each in loops}
    assigned = {name for statement in loop.body for name in _assigned(statement)}
    if assigned & counters or _strays(loop, frozenset(counters)) or not _is_plain_loop(loop, assigned):
        return None
    names = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
    return Plain(frozenset(assigned), frozenset(names - assigned - counters))


def _strays(node: ast.AST, counters: frozenset[str]) -> bool:
    """Whether a counter is read outside the loop that counts it, where it may still hold what an earlier run left."""
    if isinstance(node, ast.For):
        inside = counters - {node.target.id}
        return _strays(node.iter, counters) or any(_strays(statement, inside) for statement in node.body)
    if isinstance(node, ast.Name):
        return node.id in counters
    return any(_strays(child, counters) for child in ast.iter_child_nodes(node))


def _assigned(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
            if isinstance(target, ast.Name) and not isinstance(node, ast.For):
                yield target.id


def _is_plain_loop(loop: ast.For, assigned: set[str]) -> bool:
    call = loop.iter
    return (
        not loop.orelse
        and isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and not call.keywords
        and all(_stays(bound, assigned) for bound in call.args)
        and all(_is_plain(statement, assigned) for statement in loop.body)
    )


def _is_plain(statement: ast.stmt, assigned: set[str]) -> bool:
    if isinstance(statement, ast.For):
        return _is_plain_loop(statement, assigned)
    if isinstance(statement, ast.Assign):
        return len(statement.targets) == 1 and all(
            _is_value(part, assigned) for part in (statement.targets[0], statement.value)
        )
    if isinstance(statement, ast.AugAssign):
        is_simple = type(statement.op) in SIMPLE
        return is_simple and all(_is_value(part, assigned) for part in (statement.target, statement.value))
    return False


def _is_value(node: ast.expr, assigned: set[str]) -> bool:
    """A number that the steps can work out, or the variable or element that it goes to."""
    if isinstance(node, ast.BinOp):
        return type(node.op) in SIMPLE and _is_value(node.left, assigned) and _is_value(node.right, assigned)
    if isinstance(node, ast.Subscript):
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        is_array = isinstance(node.value, ast.Name) and node.value.id not in assigned
        return is_array and all(_stays(part, assigned) for part in index)
    return isinstance(node, (ast.Name, ast.Constant))


def _stays(node: ast.expr, assigned: set[str]) -> bool:
    """A bound or an index that is the same in every run."""
    if isinstance(node, ast.BinOp):
        return _stays(node.left, assigned) and _stays(node.right, assigned)
    return isinstance(node, ast.Constant) or isinstance(node, ast.Name) and node.id not in assigned


# ---- one run, and those after it -----------------------------------------------------------------------------------


class Record:
    """A run of a loop that is written down: its accesses in order, and what it counted."""

    def __init__(self, interpreter: Interpreter, mask: Mask, plain: Plain) -> None:
        self.interpreter, self.mask, self.plain = interpreter, mask, plain
        self.function = interpreter.frame.function
        self.accesses: list[Access] = []
        self.before = self.values(plain.assigned)
        self.after: dict[str, Any] = {}
        self.known: dict[str, Any] = {}
        self.work, self.changes = -interpreter.launch.work, -interpreter.changes
        self.rows: list[tuple[list[int], list[tuple[int, int]]]] = []  # each line's, with what was added in which slot
        self.steps = -interpreter.warp_work.stepped(mask)
        self._rows = {line: list(row) for line, row in interpreter.tally.rows.items()}
        self._found = interpreter.launch.found
        self._room = MOST_BYTES // (8 * mask.lanes.size)

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        variables = self.interpreter.frame.variables
        return {name: variables[name].seen_by(self.mask) for name in names if name in variables}

    def add(self, kind: int, node: ast.AST, view: View, place: Place, indices: tuple) -> None:
        if len(self.accesses) > MOST_ACCESSES or self._room < 0:
            return
        if place.pattern is not None:  # without its list of elements, which can be made again
            self.accesses.append(Access(kind, node, view, Place(None, place.mask, place.pattern, place.base), ()))
        else:
            self.accesses.append(Access(kind, node, view, None, indices))
            self._room -= 1

    def end(self) -> bool:
        """Whether a later run can be expected to do the same."""
        interpreter = self.interpreter
        self.after = self.values(interpreter.frame.variables)
        self.known = self.values(self.plain.used)
        self.work += interpreter.launch.work
        self.changes += interpreter.changes
        for line, row in interpreter.tally.rows.items():
            before = self._rows.get(line) or [0] * len(row)
            added = [(slot, row[slot] - before[slot]) for slot in range(len(row)) if row[slot] != before[slot]]
            if added:
                self.rows.append((row, added))
        self.steps += interpreter.warp_work.stepped(self.mask)
        return (
            interpreter.launch.found == self._found
            and len(self.accesses) <= MOST_ACCESSES
            and self._room >= 0
            and all(value is not None for value in self.known.values())
        )

    def fits(self, mask: Mask) -> bool:
        """Whether the same would happen now."""
        interpreter = self.interpreter
        launch = interpreter.launch
        if mask is not self.mask or interpreter.frame.function is not self.function or interpreter.has_raised:
            return False
        if launch.work + self.work > launch.work_limit:
            return False
        now = self.values(self.known)
        if len(now) < len(self.known) or not all(_is_same(self.known[name], now[name]) for name in now):
            return False
        now = self.values(self.before)
        return len(now) == len(self.before) and all(_may_follow(self.before[name], now[name]) for name in now)

    def count(self) -> None:
        """Adds what a run adds."""
        interpreter = self.interpreter
        for row, added in self.rows:
            for slot, count in added:
                row[slot] += count
        interpreter.warp_work.step(self.mask, self.steps)
        interpreter.launch.work += self.work
        interpreter.changes += self.changes


class Replay:
    """A loop as a list of steps: what it does to memory and variables, and its checks for races."""

    def __init__(self, record: Record, node: ast.For) -> None:
        self.record, self.interpreter = record, record.interpreter
        self.lanes = record.mask.lanes.size
        self.steps: list[Step] = []
        self.inputs: dict[str, np.ndarray] = {}  # variables that are read before they are assigned
        self._shared_by_all: list[np.ndarray] = []  # inputs that were one number for all lanes, and may be so again
        self.results: dict[str, Any] = {}  # what variables hold: numbers, or the arrays in which the steps leave them
        self._buffers: dict[tuple[ast.AST, int], np.ndarray] = {}
        self._accesses = iter(record.accesses)
        self._loop(node)
        if next(self._accesses, None) is not None:
            raise Unsuited
        for name, value in self.results.items():
            after = record.after.get(name)
            if not _is_alike(value, after) or isinstance(after, np.ndarray) != isinstance(value, np.ndarray):
                raise Unsuited

    def run(self) -> None:
        interpreter, mask = self.interpreter, self.record.mask
        for name, value in self.record.values(self.inputs).items():
            self.inputs[name][...] = value
        for step in self.steps:
            step()
        self.record.count()
        for name, value in self.results.items():
            interpreter.write_variable(name, value.copy(), mask)

    # -- making the list ----------------------------------------------------------------------------------------

    def _loop(self, node: ast.For) -> None:
        function = self.interpreter.evaluate(node.iter.func, self.record.mask)
        bounds = [self._number(bound) for bound in node.iter.args]
        if function != Reference("builtins.range") or not all(isinstance(bound, np.integer) for bound in bounds):
            raise Unsuited
        for value in range(*(int(bound) for bound in bounds)):
            self.results[node.target.id] = np.int64(value)
            for statement in node.body:
                if isinstance(statement, ast.For):
                    self._loop(statement)
                elif isinstance(statement, ast.Assign):
                    self._assign(statement.targets[0], self._number(statement.value))
                else:
                    self._update(statement)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if not isinstance(target, ast.Name):
            self._store(target, value)
            return
        if isinstance(value, np.ndarray) and not self._is_ours(value):  # memory, which may change
            kept = self._buffer(target, value.dtype)
            self.steps.append(partial(np.copyto, kept, value))
            value = kept
        self.results[target.id] = value

    def _update(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self._number(node.target)
            self.results[node.target.id] = self._combined(node, old, self._number(node.value))
        else:
            old = self._load(node.target)
            self._store(node.target, self._combined(node, old, self._number(node.value)))

    def _number(self, node: ast.expr) -> Any:
        """A number that is known already, or the array that holds it once the steps so far are done."""
        if isinstance(node, ast.BinOp):
            return self._combined(node, self._number(node.left), self._number(node.right))
        if isinstance(node, ast.Subscript):
            return self._load(node)
        if isinstance(node, ast.Name) and node.id in self.results:
            return self.results[node.id]
        if isinstance(node, ast.Name) and node.id in self.record.plain.assigned:
            return self._input(node.id)
        value = self.interpreter.evaluate(node, self.record.mask)
        if not isinstance(value, NUMBERS):
            raise Unsuited
        return value

    def _input(self, name: str) -> np.ndarray:
        before = self.record.before.get(name)
        if not isinstance(before, NUMBERS):
            raise Unsuited
        made = self.inputs[name] = self.results[name] = np.empty(self.lanes, before.dtype)
        if isinstance(before, np.generic):
            self._shared_by_all.append(made)
        return made

    def _combined(self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any) -> Any:
        kind = type(node.op)
        compute, result = nt.operator_types(kind, left.dtype, right.dtype)
        if compute != result or compute.kind not in "iuf" or kind is ast.Pow:
            raise Unsuited
        left, right = (each.astype(compute) if isinstance(each, np.generic) else each for each in (left, right))
        if isinstance(left, np.generic) and isinstance(right, np.generic):
            return OPERATORS[kind](left, right)
        if not (self._is_vector(left) or self._is_vector(right)):
            raise Unsuited  # one number for all lanes, where the steps would leave a vector
        if left.dtype != compute or right.dtype != compute:
            raise Unsuited
        out = self._buffer(node, compute)
        self.steps.append(partial(OPERATORS[kind], left, right, out))
        return out

    def _buffer(self, node: ast.AST, dtype: np.dtype) -> np.ndarray:
        """Where a node's result goes: the same array each time, but not one that a variable still holds."""
        for number in range(len(self.results) + 1):
            buffer = self._buffers.get((node, number))
            if buffer is None:
                buffer = self._buffers[node, number] = np.empty(self.lanes, dtype)
            if buffer.dtype == dtype and not any(buffer is value for value in self.results.values()):
                return buffer
        raise Unsuited

    def _is_vector(self, value: Any) -> bool:
        """Whether stepping would have a lane vector here too."""
        return isinstance(value, np.ndarray) and not any(value is each for each in self._shared_by_all)

    def _is_ours(self, value: np.ndarray) -> bool:
        return any(value is each for each in (*self.results.values(), *self._buffers.values()))

    def _access(self, kind: int, node: ast.AST) -> tuple[View, Place]:
        """The next access that was written down."""
        access = next(self._accesses, None)
        if access is None or access.node is not node or access.kind != kind:
            raise Unsuited
        view, place, mask = access.view, access.place, self.record.mask
        if view.buffer.space not in ("shared", "local") or view.field is not None:
            raise Unsuited
        if place is None:
            place = self.interpreter.memory.locate(view, access.indices, mask, node, kind)
        if place.mask is not mask or place.is_shared_by_all:
            raise Unsuited
        return view, place

    def _load(self, node: ast.Subscript) -> np.ndarray:
        view, place = self._access(prim.READ, node)
        data, pattern = view.buffer.data, place.pattern
        if view.buffer.space == "shared":
            self.steps.append(partial(self.interpreter.memory.check, view, place, node, prim.READ))
        if pattern is not None and pattern.step:
            return data[pattern.elements(place.base)]
        out = self._buffer(node, data.dtype)
        source, elements = (data, place.linear) if pattern is None else (data[place.base :], pattern.offsets)
        self.steps.append(partial(source.take, elements, None, out, "clip"))
        return out

    def _store(self, node: ast.Subscript, value: Any) -> None:
        view, place = self._access(prim.WRITE, node)
        data, pattern, memory = view.buffer.data, place.pattern, self.interpreter.memory
        if isinstance(value, np.generic):
            value = memory.cast(value, data.dtype, place.mask.where, view, node)
        if value.dtype != data.dtype:
            raise Unsuited
        if view.buffer.space == "shared":
            if isinstance(value, np.ndarray) and not self._is_vector(value):
                raise Unsuited  # a race of one number that all write is told otherwise
            self.steps.append(partial(memory.check, view, place, node, prim.WRITE, value))
        if pattern is not None and pattern.step:
            self.steps.append(partial(np.copyto, data[pattern.elements(place.base)], value))
        else:
            self.steps.append(partial(data.__setitem__, place.linear, value))


def _is_same(one: Any, other: Any) -> bool:
    """The very same, or a number of the same type and bits (0.0 and -0.0 are equal)."""
    is_number = isinstance(one, np.generic) and isinstance(other, np.generic)
    return one is other or is_number and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _is_alike(one: Any, other: Any) -> bool:
    return isinstance(one, NUMBERS) and isinstance(other, NUMBERS) and one.dtype == other.dtype


def _may_follow(before: Any, now: Any) -> bool:
    """Whether a variable may hold this where it held that: what becomes of a vector does not tell what becomes of one
    number that all lanes share, which decides without dividing them."""
    return _is_alike(before, now) and (isinstance(now, np.ndarray) or isinstance(before, np.generic))


class Replays:
    """The loops of one batch that repeat themselves; part of `Interpreter`."""

    def __init__(self) -> None:
        self.recording: Record | None = None
        self._records: dict[ast.AST, Record] = {}
        self._replays: dict[ast.AST, Replay] = {}
        self._times: dict[ast.AST, int] = {}  # that a loop was written down
        super().__init__()

    def plain_loop(self: Interpreter, node: ast.For, mask: Mask) -> Plain | None:
        """What there is to know of a loop that may repeat itself, all lanes together."""
        if not self.frame.loops or self.recording is not None or self.batch.size > MOST_LANES:
            return None
        if mask.active < self.batch.size or self.trace is not None:
            return None
        return plain_loops(self.frame.function).get(id(node))

    def do_plain_for(self: Interpreter, node: ast.For, mask: Mask, plain: Plain) -> Mask | None:
        """Carries it out by the list of an earlier run, or steps through it and writes that down."""
        record = self._records.get(node)
        if record is not None and record.fits(mask):
            if node not in self._replays:
                try:
                    self._replays[node] = Replay(record, node)
                except Unsuited:
                    del self._records[node]
                    self._times[node] = MOST_RECORDS
                    return self.step_through(node, mask)
            self._replays[node].run()
            return mask
        times = self._times[node] = self._times.get(node, 0) + 1
        if times > MOST_RECORDS:
            return self.step_through(node, mask)
        self._records.pop(node, None)
        self._replays.pop(node, None)
        self.recording = record = Record(self, mask, plain)
        try:
            after = self.step_through(node, mask)
        finally:
            self.recording = None
        if after is mask and record.end():
            self._records[node] = record
        return after
