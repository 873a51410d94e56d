"""What a `for` loop goes over, round by round: ranges, arrays, tuples, zip and enumerate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.language.program import Reference
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import View

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter


@dataclass(frozen=True)
class Range:
    """A range() that is kept before it is looped over."""

    bounds: tuple


class Iteration:
    """The loops' share of expressions; part of `Interpreter`."""

    def iterate(self: Interpreter, node: ast.For, mask: Mask) -> Iterator[tuple[Any, np.ndarray | None]]:
        """The loop variable round by round, with the lanes that have a round left (None: all of them)."""
        if isinstance(node.iter, ast.Call):
            target = self.evaluate(node.iter.func, mask)
            if isinstance(target, Reference) and target.path == "builtins.range":
                bounds = [self.evaluate(argument, mask) for argument in node.iter.args]
                yield from self.rounds(node, bounds, mask)
                return
            if isinstance(target, Reference) and target.path in ("builtins.enumerate", "builtins.zip"):
                for each in self.sequence(node, node.iter, mask):
                    yield _fetched(each), None
                return
        kept = self.evaluate(node.iter, mask)
        if isinstance(kept, Range):
            yield from self.rounds(node, list(kept.bounds), mask)
            return
        if isinstance(kept, View) and kept.lengths is not None:
            for index in range(kept.shape[0]):
                here = self.lanes_within(kept, (index,), mask)
                load = self.memory.load if kept.ndim == 1 else self.part_of
                yield load(kept, (np.int64(index),), here, node.iter), here.lanes
            return
        for each in self.items(node, kept, mask):
            yield (each() if callable(each) else each), None

    def sequence(self: Interpreter, node: ast.For, source: ast.expr, mask: Mask) -> list:
        """What zip, enumerate or an array gives item by item; elements are loaded when their turn comes."""
        if isinstance(source, ast.Call) and ast.unparse(source.func) in ("zip", "enumerate"):
            several = [self.sequence(node, argument, mask) for argument in source.args]
            if ast.unparse(source.func) == "enumerate":
                several = [[np.int64(i) for i in range(len(several[0]))], several[0]]
            return [list(items) for items in zip(*several, strict=False)]
        value = self.evaluate(source, mask)
        if isinstance(value, Range) and not any(isinstance(bound, np.ndarray) for bound in value.bounds):
            return [np.int64(i) for i in range(*(int(bound) for bound in value.bounds))]
        return self.items(node, value, mask)

    def items(self: Interpreter, node: ast.For, value: Any, mask: Mask) -> list:
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, View):
            self.check_one_length(value, node)
            if value.ndim == 1:
                return [
                    lambda i=i: self.memory.load(value, (np.int64(i),), mask, node.iter) for i in range(value.shape[0])
                ]
            return [lambda i=i: self.part_of(value, (np.int64(i),), mask, node.iter) for i in range(value.shape[0])]
        raise self.fault(node, f"A kernel cannot loop over `{ast.unparse(node.iter)}`.", "Loop over range(...).")

    def rounds(self: Interpreter, node: ast.For, bounds: list, mask: Mask) -> Iterator[tuple[Any, np.ndarray | None]]:
        """range(): one shared counter where all lanes agree on the bounds, a counter per lane otherwise."""
        for bound in bounds:
            if self.number(bound, node).dtype.kind not in "iub":
                raise self.fault(node, f"range() needs integers, not {bound.dtype}.", "Use // instead of /, or int().")
        if not 1 <= len(bounds) <= 3:
            raise self.fault(node, "range() takes one to three arguments.")
        start, stop = (np.int64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else np.int64(1)
        if np.any(np.broadcast_to(step == 0, mask.lanes.shape) & mask.lanes):
            raise self.fault(node, "range() with a step of 0 never ends.")
        if not any(isinstance(bound, np.ndarray) for bound in (start, stop, step)):
            for value in range(int(start), int(stop), int(step)):
                yield np.int64(value), None
            return
        start, stop, step = (np.asarray(b, dtype=np.int64) for b in (start, stop, step))
        current = np.broadcast_to(start, mask.lanes.shape).copy()
        up = bool(np.all(step > 0))
        while True:
            still = (current < stop) if up else np.where(step > 0, current < stop, current > stop)
            yield current, still
            current = current + step


def _fetched(item: Any) -> Any:
    """An item of a sequence, with whatever it still has to load."""
    if isinstance(item, list):
        return tuple(_fetched(each) for each in item)
    return item() if callable(item) else item
