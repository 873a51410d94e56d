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


@dataclass(frozen=True)
class Item:
    """An element or a row of an array that a loop goes over, before its round has come."""

    view: View
    index: int


class Iteration:
    """The loops' share of expressions; part of `Interpreter`."""

    def iterate(self: Interpreter, node: ast.For, mask: Mask) -> Iterator[tuple[Any, np.ndarray | None]]:
        """What the loop variable is, round by round, before it is `fetched`; and who has a round left (None: all)."""
        if isinstance(node.iter, ast.Call):
            target = self.evaluate(node.iter.func, mask)
            if isinstance(target, Reference) and target.path == "builtins.range":
                bounds = [self.evaluate(argument, mask) for argument in node.iter.args]
                yield from self.rounds(node, bounds, mask)
                return
            if isinstance(target, Reference) and target.path in ("builtins.enumerate", "builtins.zip"):
                yield from ((each, None) for each in self.sequence(node, node.iter, mask))
                return
        kept = self.evaluate(node.iter, mask)
        if isinstance(kept, Range):
            yield from self.rounds(node, list(kept.bounds), mask)
            return
        if isinstance(kept, View) and kept.lengths is not None:
            for index in range(kept.shape[0]):
                yield Item(kept, index), self.lanes_within(kept, (index,), mask).lanes
            return
        yield from ((each, None) for each in self.items(node, kept))

    def fetched(self: Interpreter, value: Any, running: Mask, node: ast.AST) -> Any:
        """A loop variable's value in its round: elements are loaded, by the lanes that are still in the loop."""
        if isinstance(value, list):  # of zip or enumerate
            return tuple(self.fetched(each, running, node) for each in value)
        if not isinstance(value, Item):
            return value
        load = self.memory.load if value.view.ndim == 1 else self.part_of
        return load(value.view, (np.int64(value.index),), running, node)

    def sequence(self: Interpreter, node: ast.For, source: ast.expr, mask: Mask) -> list:
        """What zip, enumerate or an array gives item by item."""
        if isinstance(source, ast.Call) and ast.unparse(source.func) in ("zip", "enumerate"):
            several = [self.sequence(node, argument, mask) for argument in source.args]
            if ast.unparse(source.func) == "enumerate":
                several = [[np.int64(i) for i in range(len(several[0]))], several[0]]
            return [list(items) for items in zip(*several, strict=False)]
        value = self.evaluate(source, mask)
        if isinstance(value, Range) and not any(isinstance(bound, np.ndarray) for bound in value.bounds):
            return [np.int64(i) for i in range(*(int(bound) for bound in value.bounds))]
        return self.items(node, value)

    def items(self: Interpreter, node: ast.For, value: Any) -> list:
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, View):
            self.check_one_length(value, node)
            return [Item(value, index) for index in range(value.shape[0])]
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
        stands_still = step == 0
        if isinstance(stands_still, np.ndarray):
            stands_still = np.any(stands_still & mask.lanes)
        if stands_still and mask.active:
            raise self.fault(node, "range() with a step of 0 never ends.")
        if not any([isinstance(bound, np.ndarray) for bound in (start, stop, step)]):
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
