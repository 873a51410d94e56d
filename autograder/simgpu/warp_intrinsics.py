"""Shuffles, votes and matches, by which the lanes of one warp read each other's registers; and the warp's barrier.

Lanes wait for each other at all of them, but only `syncwarp` puts their accesses to memory in order. Source: CUDA C++
Programming Guide, on vote, match and shuffle functions: "These intrinsics do not imply a memory barrier. They do not
guarantee any memory ordering."
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.simgpu.intrinsics import CUDA, intrinsic, on_lanes
from autograder.simgpu.lanes import Mask
from autograder.simgpu.memory import poison
from autograder.simgpu.primitives import WARP
from autograder.simgpu.tally import SLOT

if TYPE_CHECKING:
    from autograder.simgpu.interpreter import Interpreter

BIT = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))
EVERY_LANE = np.uint32(0xFFFFFFFF)


def _meet(interpreter: Interpreter, node: ast.AST, mask: Mask, named: Any, missed: str) -> None:
    """Checks that every lane takes part that is named and lives, and no other."""
    wanted = on_lanes(interpreter, interpreter.number(named, node)).astype(np.int64).astype(np.uint32)
    live = interpreter.batch.everyone.lanes & ~interpreter.exited
    missing = wanted & _ballot(interpreter, live & ~mask.lanes) & -mask.lanes.astype(np.uint32)
    if missing.any():
        interpreter.report(
            "divergent_barrier",
            node,
            lane=int(np.flatnonzero(missing)[0]),
            occurrences=int(np.count_nonzero(missing)),
            message=missed,
            remedy="Let every lane of the warp reach it, or pass a mask of just the lanes that do.",
        )
    unnamed = mask.lanes & ~_named_lanes(interpreter, node, mask, named)
    if unnamed.any():
        interpreter.report(
            "divergent_barrier",
            node,
            lane=int(np.flatnonzero(unnamed)[0]),
            occurrences=int(np.count_nonzero(unnamed)),
            message="This thread is not named in the mask of its own warp instruction: the result is undefined.",
            remedy="Name every lane that executes it: 0xFFFFFFFF where the whole warp does.",
        )


@intrinsic(f"{CUDA}.syncwarp")
def syncwarp(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> None:
    interpreter.count_instruction(node, mask)
    named = arguments[0] if arguments else keywords.get("mask", EVERY_LANE)
    missed = "This thread waits at cuda.syncwarp() for lanes of its warp that do not reach it here: the warp may hang."
    _meet(interpreter, node, mask, named, missed)
    interpreter.warp_barrier(mask)


def _begin(interpreter: Interpreter, node: ast.AST, mask: Mask, named: Any) -> None:
    interpreter.count_instruction(node, mask)[SLOT["shuffles"]] += mask.warps
    missed = "This warp instruction names lanes that do not execute it here: the result is undefined."
    _meet(interpreter, node, mask, named, missed)
    interpreter.exchange(mask)


def _exchange(interpreter: Interpreter, node: ast.AST, value: Any, source: np.ndarray, mask: Mask) -> np.ndarray:
    """Each lane's value of the lane numbered `source` within its warp; no number of a lane that does not take part."""
    source = source + WARP * np.repeat(np.arange(interpreter.batch.warps), WARP)
    taken = on_lanes(interpreter, value)[source]
    absent = mask.lanes & ~mask.lanes[source]
    if not absent.any():
        return taken
    if taken.dtype.kind in "fciu":
        undefined = np.empty(1, taken.dtype)
        poison(undefined)
        taken[absent] = undefined
    gone = absent & ~(interpreter.batch.everyone.lanes & ~interpreter.exited)[source]
    if gone.any():  # of lanes that are there and elsewhere `_meet` has told
        lane = int(np.flatnonzero(gone)[0])
        ends = not interpreter.batch.everyone.lanes[source[lane]]
        interpreter.report(
            "uninitialised_read",
            node,
            lane=lane,
            severity="warning",  # whoever looks at the lane's number first may never use it
            occurrences=int(np.count_nonzero(gone)),
            message=f"Takes a value from lane {source[lane] % WARP} of its warp, "
            + ("which has no thread: the block ends before it." if ends else "whose thread has returned."),
            remedy="Nobody knows what comes of it: use it only where that lane is there, or launch whole warps.",
        )
    return taken


def _lane_numbers(interpreter: Interpreter) -> np.ndarray:
    return np.arange(interpreter.batch.size, dtype=np.int64) & (WARP - 1)


def _three(interpreter: Interpreter, node: ast.AST, arguments: list, third: str) -> list:
    if len(arguments) != 3:
        raise interpreter.fault(node, f"A shuffle takes three arguments: a mask of lanes, the value, and {third}.")
    return arguments


def _two(interpreter: Interpreter, node: ast.AST, arguments: list, what: str, second: str) -> list:
    if len(arguments) != 2:
        raise interpreter.fault(node, f"A {what} takes two arguments: a mask of lanes, and {second}.")
    return arguments


def _vote(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list) -> tuple[np.ndarray, np.ndarray]:
    """Begins a vote: which lanes its mask names, and each lane's answer to the condition."""
    mask_of_lanes, condition = _two(interpreter, node, arguments, "vote", "the condition")
    _begin(interpreter, node, mask, mask_of_lanes)
    named = _named_lanes(interpreter, node, mask, mask_of_lanes)
    return named, on_lanes(interpreter, interpreter.truth(condition, node))


@intrinsic(f"{CUDA}.shfl_sync")
def shuffle(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    named, value, source = _three(interpreter, node, arguments, "the lane to read from")
    _begin(interpreter, node, mask, named)
    source = on_lanes(interpreter, interpreter.number(source, node)).astype(np.int64) & (WARP - 1)
    return _exchange(interpreter, node, interpreter.number(value, node), source, mask)


def _shifted(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, direction: str) -> Any:
    named, value, amount = _three(interpreter, node, arguments, "how many lanes away to read")
    _begin(interpreter, node, mask, named)
    lane = _lane_numbers(interpreter)
    amount = on_lanes(interpreter, interpreter.number(amount, node)).astype(np.int64) & (WARP - 1)
    source = {"up": lane - amount, "down": lane + amount, "xor": lane ^ amount}[direction]
    source = np.where((source < 0) | (source >= WARP), lane, source)  # off the end: a lane keeps its own value
    return _exchange(interpreter, node, interpreter.number(value, node), source, mask)


@intrinsic(f"{CUDA}.shfl_up_sync")
def shuffle_up(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return _shifted(interpreter, node, mask, arguments, "up")


@intrinsic(f"{CUDA}.shfl_down_sync")
def shuffle_down(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return _shifted(interpreter, node, mask, arguments, "down")


@intrinsic(f"{CUDA}.shfl_xor_sync")
def shuffle_xor(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    return _shifted(interpreter, node, mask, arguments, "xor")


def _named_lanes(interpreter: Interpreter, node: ast.AST, mask: Mask, named: Any) -> np.ndarray:
    wanted = on_lanes(interpreter, interpreter.number(named, node)).astype(np.int64).astype(np.uint32)
    bits = np.tile(BIT, interpreter.batch.warps)
    return (wanted & bits != 0) & mask.lanes


def _ballot(interpreter: Interpreter, lanes: np.ndarray) -> np.ndarray:
    return np.repeat((lanes.reshape(-1, WARP) * BIT).sum(axis=1).astype(np.uint32), WARP)


@intrinsic(f"{CUDA}.ballot_sync")
def ballot(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    named, predicate = _vote(interpreter, node, mask, arguments)
    return _ballot(interpreter, predicate & named)


@intrinsic(f"{CUDA}.all_sync")
def vote_all(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    named, predicate = _vote(interpreter, node, mask, arguments)
    return np.repeat((predicate | ~named).reshape(-1, WARP).all(axis=1), WARP)


@intrinsic(f"{CUDA}.any_sync")
def vote_any(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    named, predicate = _vote(interpreter, node, mask, arguments)
    return np.repeat((predicate & named).reshape(-1, WARP).any(axis=1), WARP)


@intrinsic(f"{CUDA}.eq_sync")
def vote_equal(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    named, predicate = _vote(interpreter, node, mask, arguments)
    every = (predicate | ~named).reshape(-1, WARP).all(axis=1)
    none = ~(predicate & named).reshape(-1, WARP).any(axis=1)
    return np.repeat(every | none, WARP)


def _matches(interpreter: Interpreter, value: Any, named: np.ndarray) -> np.ndarray:
    """For each lane the ballot of named lanes that hold the same value."""
    vector = on_lanes(interpreter, value).reshape(-1, WARP)
    same = (vector[:, :, None] == vector[:, None, :]) & named.reshape(-1, WARP)[:, None, :]
    return (same * BIT).sum(axis=2).astype(np.uint32).reshape(-1)


@intrinsic(f"{CUDA}.match_any_sync")
def match_any(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    mask_of_lanes, value = _two(interpreter, node, arguments, "match", "the value")
    _begin(interpreter, node, mask, mask_of_lanes)
    named = _named_lanes(interpreter, node, mask, mask_of_lanes)
    return _matches(interpreter, interpreter.number(value, node), named)


@intrinsic(f"{CUDA}.match_all_sync")
def match_all(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> tuple:
    mask_of_lanes, value = _two(interpreter, node, arguments, "match", "the value")
    _begin(interpreter, node, mask, mask_of_lanes)
    named = _named_lanes(interpreter, node, mask, mask_of_lanes)
    everyone = _ballot(interpreter, named)
    agree = _matches(interpreter, interpreter.number(value, node), named) == everyone
    return np.where(agree, everyone, np.uint32(0)), agree


@intrinsic(f"{CUDA}.activemask")
def active_mask(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    interpreter.count_instruction(node, mask)
    return _ballot(interpreter, mask.lanes)


@intrinsic(f"{CUDA}.lanemask_lt")
def lanes_below(interpreter: Interpreter, node: ast.AST, mask: Mask, arguments: list, keywords: dict) -> Any:
    interpreter.count_instruction(node, mask)
    return (np.left_shift(np.uint32(1), _lane_numbers(interpreter).astype(np.uint32)) - np.uint32(1)).astype(np.uint32)
