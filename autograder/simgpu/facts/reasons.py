"""Why the compiler's counts of a line differ from the source's, in words: one reason for each fact on its operations."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.errors import Line
from autograder.records.counters import SIGNS
from autograder.simgpu.facts.found import Found
from autograder.simgpu.operations.function_calls import everything_of
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.operations.operation import ByRound, Operation

NO_LOAD = "an element that is in a register already is not loaded again"
NO_STORE = "of two stores to an element only the last is left"
# By fact, an attribute of `Operation`.
OF_A_FACT = {
    "leaves_no_load": NO_LOAD,
    "leaves_no_store": NO_STORE,
    "is_folded": "index arithmetic is a part of the access, or done before the loop",
    "wraps": SIGNS,
    "is_added_up_by_the_warp": "a warp adds up what it has, and one lane sends it",
}
HELD_LOAD = "an element that the loop leaves alone is loaded once, before it"
HELD_STORE = "a sum stays in a register, and is stored once, behind the loop"
WIDE_LOADS = "neighbouring elements are fetched together"
WIDE_STORES = "neighbouring elements are stored together"
LOCAL = "the local array lies in registers"


def reasons_of(body: Operation, found: Found) -> dict[Line, tuple[str, ...]]:
    """The reasons by source line, each once."""
    by_line: dict[Line, dict[str, None]] = {}
    for op, reason in _reasons(body, found):
        by_line.setdefault(op.line, {})[reason] = None
    return {line: tuple(reasons) for line, reasons in by_line.items()}


def _reasons(body: Operation, found: Found) -> Iterator[tuple[Operation, str]]:
    for op in everything_of(body):
        yield from ((op, words) for fact, words in OF_A_FACT.items() if getattr(op, fact))
        if op.by_round is not None:
            yield from ((op, words) for words in _of_rounds(op.by_round))
        if isinstance(op, Loop):
            yield from ((each, HELD_LOAD) for each in op.held_loads - op.held_stores)
            yield from ((each, HELD_STORE) for each in op.held_stores)
        reached = found.reached.get(op)
        if reached is not None and reached.array.space == "local" and not op.is_of_local_memory:
            yield op, LOCAL


def _of_rounds(by_round: ByRound) -> Iterator[str]:
    """The reasons for an access in unrolled loops of which the compiler leaves different things in different rounds."""
    said = {
        NO_LOAD: by_round.no_load,
        NO_STORE: by_round.no_store,
        WIDE_LOADS: by_round.wide_loads,
        WIDE_STORES: by_round.wide_stores,
    }
    yield from (words for words, rounds in said.items() if rounds)
