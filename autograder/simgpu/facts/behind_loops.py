"""Accesses that stand before a `break` and are made behind the loop, by all lanes that have left it there.

What no round comes back from is no part of a loop in machine code. Lanes that leave in different rounds wait for each other
in front of it, where the compiler unrolls the loop, or where one test ends each round and decides between another one and
the end (`is_left_at_the_end`). Elsewhere, and before a `return` from a loop with more behind it, each lane goes on as it
comes. Emulated machine code of twelve small kernels shows it (numba-cuda 0.30.4, compute capability 9.0):
measurements/machine_code_emulator/loop_exits.json.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.written_out import WrittenOut, is_left_at_the_end
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Break, If, Return
from autograder.simgpu.operations.steps import Block


def made_behind(loop: For, found: Found, written_out: WrittenOut, is_last: bool) -> frozenset[Operation]:
    """The loads and stores before a `break` of this loop that are made once, behind it; notes that on them.

    `is_last`: the kernel ends behind the loop, so that a `return` is a `break`.
    """
    ends = (Break, Return) if is_last else (Break,)
    if written_out.includes(loop):
        arms = list(_arms_that_break(loop.body, ends))
    elif is_left_at_the_end(loop.body):
        arms = list(_arms_that_break(loop.body, ends, is_last_only=True))
    else:
        return frozenset()
    behind = set()
    for arm in arms:
        inside = list(everything_in(arm))
        if any(isinstance(each, (For, While)) for each in inside):
            continue  # there a lane may come to an access more than once
        for each in inside:
            if each in found.reached and not isinstance(each, FunctionCall) and each.joined is None:
                each.joined = each.store_joined = each
                behind.add(each)
    return frozenset(behind)


def _arms_that_break(
    block: Block, ends: tuple[type[Operation], ...], is_last_only: bool = False
) -> Iterator[Block]:
    """The arms that end with a `break` of the loop whose body this is, or with what else leaves it."""
    for each in block.statements[-1:] if is_last_only else block.statements:
        if isinstance(each, If):
            for arm in (each.body, each.orelse):
                if arm.statements and isinstance(arm.statements[-1], ends):
                    yield arm
                elif not is_last_only:
                    yield from _arms_that_break(arm, ends)
