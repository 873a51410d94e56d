"""Accesses that stand before a `break` and are made behind the loop, by all lanes that have left it there.

What no round comes back from is no part of a loop in machine code. Lanes that leave in different rounds wait for each other
in front of it where the compiler unrolls the loop, and where one test ends each round and decides between another one and
the end (`is_left_at_the_end`). They do so too where the kernel ends behind the loop, if every lane comes by the test in each
of its rounds. Elsewhere, and before a `return` from a loop with more behind it, each lane goes on as it comes. Emulated
machine code of small kernels shows it (numba-cuda 0.30.4, compute capability 9.0):
measurements/machine_code_emulator/loop_exits.json and last_loops.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.written_out import WrittenOut, is_left_at_the_end
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Junction
from autograder.simgpu.operations.statements import Break, Continue, If, Return
from autograder.simgpu.operations.steps import Block


def made_behind(loop: For | While, found: Found, written_out: WrittenOut, is_last: bool) -> frozenset[Operation]:
    """The accesses before a `break` of this loop that are made once, behind it; notes that on them.

    `is_last`: the kernel ends behind the loop, so that a `return` is a `break`.
    """
    ends = (Break, Return) if is_last else (Break,)
    statements = loop.body.statements
    if isinstance(loop, For) and written_out.includes(loop):
        arms = list(_arms_that_break(statements, ends, are_nested=True))
    elif is_last:
        tests = _asked_each_round(statements)
        arms = [each for test in tests for each in _arms_that_break([test], ends) if _is_one_test(test, each, found)]
    elif isinstance(loop, For) and is_left_at_the_end(loop.body):
        arms = list(_arms_that_break(statements[-1:], ends))
    else:
        return frozenset()
    behind = set()
    for arm in arms:
        inside = list(everything_in(arm))
        if any(isinstance(each, (For, While)) for each in inside):
            continue  # there a lane may come to an access more than once
        for each in inside:
            reached = found.reached.get(each)
            if reached is not None and reached.array.space in ("global", "shared") and each.joined is None:
                each.joined = each.store_joined = each
                behind.add(each)
    return frozenset(behind)


def _asked_each_round(statements: Sequence[Operation]) -> Iterator[Operation]:
    """The statements that every lane comes by in each of its rounds, as long as it is in the loop."""
    for each in statements:
        if any(isinstance(part, Continue) for part in everything_in(each)):
            break
        yield each


def _is_one_test(branch: Operation, arm: Block, found: Found) -> bool:
    """Whether lanes that do not get to an arm all go on from one place: not where some need no second operand for that."""
    assert isinstance(branch, If)
    condition = branch.condition
    if not isinstance(condition, Junction) or condition.is_and != (arm is branch.body):
        return True
    later = [part for each in condition.operands[1:] for part in everything_in(each)]
    return not any(each in found.reached or isinstance(each, FunctionCall) for each in later)


def _arms_that_break(
    statements: Sequence[Operation], ends: tuple[type[Operation], ...], are_nested: bool = False
) -> Iterator[Block]:
    """The arms that end with a `break` of the loop in whose body these are, or with what else leaves it."""
    for each in statements:
        if isinstance(each, If):
            for arm in (each.body, each.orelse):
                if arm.statements and isinstance(arm.statements[-1], ends):
                    yield arm
                elif are_nested:
                    yield from _arms_that_break(arm.statements, ends, are_nested=True)
