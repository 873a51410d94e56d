"""The last block to finish: what a fence and a ticket put in order between blocks that no barrier holds together.

    sums[block] = total                                   # each block leaves its result,
    cuda.threadfence()                                    # makes it visible to all others,
    if cuda.atomic.add(taken, 0, 1) == blocks - 1:        # and takes a ticket: who gets the last one comes after all
        ...                                               # reads every block's result

Three things together order an earlier access before one of whoever took the last ticket so far: a fence of the earlier
thread after it (or a barrier of its block, and then a fence), an atomic on the one counter after that fence, and a condition
on what the atomic found around the later access. Without one of them the accesses are told as a race.
Source: CUDA C++ Programming Guide, "Memory Fence Functions", whose example is this pattern.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from autograder.language.program import Function
from autograder.simgpu.memory import Buffer

if TYPE_CHECKING:
    from autograder.simgpu.barriers import Order
    from autograder.simgpu.lanes import Batch

NOBODY = np.zeros(0, np.bool_)


class Tickets:
    """The fences and tickets of a launch."""

    def __init__(self) -> None:
        self.released = np.zeros(0, np.int32)  # by thread: what it did before this stamp, later tickets come after
        self.counter: tuple[Buffer, int] | None = None  # the element that tickets are taken from
        self.holder = -1  # the thread that took the last ticket so far
        self.taken_at = 0  # when it did

    def take(self, batch: Batch, order: Order, buffer: Buffer, linear: np.ndarray, lanes: np.ndarray) -> None:
        """Lanes of a batch in which there were fences take tickets, in this order, if they all updated one element."""
        counter = buffer, int(linear[0])
        if np.any(linear != linear[0]) or self.counter not in (None, counter):
            return
        self.counter = counter
        last = batch.first_thread + batch.size
        if len(self.released) < last:
            self.released = np.concatenate([self.released, np.zeros(last - len(self.released), np.int32)])
        released = self.released[batch.first_thread : last].reshape(len(batch.blocks), -1)
        fenced = order.fenced.reshape(released.shape)
        slots, threads = np.divmod(lanes, released.shape[1])
        barrier = order.block_sync[slots]
        own = fenced[slots, threads]
        released[slots, threads] = own
        by_barrier_and_fence = np.where(own > barrier, barrier, 0)[:, None]
        by_fences_and_barrier = np.where(fenced[slots] < barrier[:, None], fenced[slots], 0)
        np.maximum.at(released, slots, np.maximum(by_barrier_and_fence, by_fences_and_barrier))
        self.holder, self.taken_at = batch.first_thread + int(lanes[-1]), order.now
        order.now += 1

    def knowing(self, batch: Batch, order: Order) -> np.ndarray:
        """The lanes that come after all tickets: the holder of the last, and its block once a barrier has told it."""
        lane = self.holder - batch.first_thread
        if self.holder < 0 or not 0 <= lane < batch.size:
            return NOBODY
        lanes = np.zeros((len(batch.blocks), batch.geometry.padded), np.bool_)
        slot, thread = divmod(lane, batch.geometry.padded)
        lanes[slot, slice(None) if order.block_sync[slot] > self.taken_at else thread] = True
        return lanes.reshape(-1)


@lru_cache(maxsize=256)
def told_by_ticket(function: Function) -> frozenset[int]:
    """ids of the nodes that are reached only where a condition on what an atomic found said so."""
    tested = _tests(function)
    told: set[int] = set()

    def visit(body: list[ast.stmt]) -> None:
        for place, statement in enumerate(body):
            if id(statement) in tested:
                _add(statement.body + statement.orelse)
                if isinstance(statement.body[-1], ast.Return):
                    _add(body[place + 1 :])
            for inner in ("body", "orelse"):
                visit(getattr(statement, inner, []))

    def _add(statements: list[ast.stmt]) -> None:
        told.update(id(node) for statement in statements for node in ast.walk(statement))

    visit(function.node.body)
    return frozenset(told)


def _tests(function: Function) -> set[int]:
    """ids of the `if` statements whose condition depends on what an atomic found, by whatever variables it went."""
    found: set[str] = set()

    def depends(node: ast.AST | None) -> bool:
        parts = [] if node is None else list(ast.walk(node))
        return any(isinstance(part, ast.Name) and part.id in found or _is_atomic(part, function) for part in parts)

    nodes = list(ast.walk(function.node))
    while True:
        known = len(found)
        for node in nodes:
            if isinstance(node, ast.If) and depends(node.test):
                found |= {name for statement in node.body + node.orelse for name in _assigned(statement)}
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and depends(node.value):
                found |= _assigned(node)
        if len(found) == known:
            return {id(node) for node in nodes if isinstance(node, ast.If) and depends(node.test)}


def _is_atomic(node: ast.AST, function: Function) -> bool:
    """A call of an atomic, or of a device function that has one."""
    if not isinstance(node, ast.Call):
        return False
    called = function.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
    looked_at = called.node if isinstance(called, Function) else node.func
    words = (getattr(each, "attr", None) or getattr(each, "id", None) or "" for each in ast.walk(looked_at))
    return any("atomic" in word for word in words)


def _assigned(tree: ast.AST) -> set[str]:
    """Names of the variables and arrays that a statement stores to."""
    stores = [node for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names = set()
    for node in stores:
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        names |= {node.id} if isinstance(node, ast.Name) else set()
    return names
