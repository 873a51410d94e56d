"""A statement, operation by operation: what it was lowered to, what is known of that, and what it adds to the counts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from autograder.errors import Line, UsageError
from autograder.records.counters import Counters, LineProfile
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host.single_launch import kernel_function, launch_once
from autograder.simgpu.operations.function_calls import everything_of, inner_of
from autograder.simgpu.operations.loops import For, Loop, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.steps import Block, Statement

WIDTH = 110  # characters
# What an operation is made of is no fact; the last two: see the issued instructions.
NO_FACTS = {"node", "function", "line", "_made_of", "_everything", "slots", "once"}
FACTS_OF_LOOPS = {Loop: ("held_loads", "held_stores"), For: ("is_cheap", "is_watched"), While: ("is_hopeless", "waits")}


def listing(kernel: Any, grid: Any, block: Any, *arguments: Any, statement: str) -> str:
    """Launches a kernel once and tells of the first statement that begins so, and of everything in it:

    class, source, facts, and the counters that each operation adds to, with the compiler's number in brackets where it is
    another. `float32_operations 100` next to `warp_instructions 4`: its mask had 100 lanes of 4 warps.
    """
    function = replace(kernel_function(kernel))  # with operations of its own: their lines are changed below
    launch_once(function, grid, block, *arguments)
    (ready,) = function.notes[Prepared].values()
    return "\n".join(_describe(_of(ready, statement), _profiles_of(ready, function, grid, block, arguments), 0))


def _of(ready: Prepared, beginning: str) -> Operation:
    for op in everything_of(ready.kernel.body):
        if isinstance(op, Statement) and op.text.startswith(beginning):
            return op
    raise UsageError(f"No statement begins with {beginning!r}.", remedy="Give the beginning of one, as it is written.")


def _profiles_of(ready: Prepared, function: Any, grid: Any, block: Any, arguments: Any) -> dict[Operation, LineProfile]:
    """The same launch once more, with a line of its own for each operation: counts are kept by line."""
    operations = list(everything_of(ready.kernel.body))
    for number, op in enumerate(operations):
        op.line = Line("operation", number)
    record = launch_once(function, grid, block, *arguments)
    return {operations[each.line.number]: each for each in record.lines if each.line.file == "operation"}


def _describe(op: Operation, counted: dict[Operation, LineProfile], depth: int) -> Iterator[str]:
    margin = "  " * depth
    source = "" if isinstance(op, Block) else f" `{op.text.splitlines()[0]}`"  # a block has its statements' source
    yield f"{margin}{type(op).__name__}{source}"
    facts = ", ".join(_facts(op))
    if facts:
        yield f"{margin}      known: {facts}"
    if op in counted:
        yield from textwrap.wrap(
            _counts(counted[op]), WIDTH, initial_indent=f"{margin}      ", subsequent_indent=f"{margin}      "
        )
    for each in inner_of(op):
        if not isinstance(each, Block) or each:
            yield from _describe(each, counted, depth + 1)


def _facts(op: Operation) -> Iterator[str]:
    names = [name for name in Operation.__slots__ if name not in NO_FACTS]
    names += [name for kind, more in FACTS_OF_LOOPS.items() if isinstance(op, kind) for name in more]
    yield from (name for name in names if getattr(op, name))


def _counts(counted: LineProfile) -> str:
    told = []
    for each in fields(Counters):
        source, compiled = getattr(counted.counters, each.name), getattr(counted.compiled, each.name)
        if source or compiled:
            told.append(f"{each.name} {source:,}" + (f" ({compiled:,})" if source != compiled else ""))
    return ", ".join(told)
