"""Shuffles, votes and matches, by which the lanes of one warp read each other's registers; and the warp's barrier.

Lanes wait for each other at all of them, but only `syncwarp` puts their accesses to memory in order. Source: CUDA C++
Programming Guide, on vote, match and shuffle functions: "These intrinsics do not imply a memory barrier. They do not
guarantee any memory ordering."
"""

from __future__ import annotations

import numpy as np

from autograder.records.hazards import BarrierKind
from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Cut, Real
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.memory import poison
from autograder.simgpu.values.values import Arithmetic

BIT = np.left_shift(np.uint32(1), np.arange(WARP, dtype=np.uint32))
EVERY_LANE = np.uint32(0xFFFFFFFF)


def _meet(call: Call, named: Arithmetic, missed: str, barrier: BarrierKind) -> None:
    """Checks that every lane takes part that is named and lives, and no other."""
    wanted = call.on_lanes(named).astype(np.int64).astype(np.uint32)
    missing = wanted & _ballot(call.live & ~call.mask.lanes) & -call.mask.lanes.astype(np.uint32)
    if missing.any():
        lane = int(np.flatnonzero(missing)[0])
        absent = np.flatnonzero(BIT & missing[lane])
        call.report(
            "divergent_barrier",
            lane=lane,
            barrier=barrier,
            absent=len(absent),
            other_thread=call.batch.who(lane // WARP * WARP + int(absent[0]))[1],
            occurrences=int(np.count_nonzero(missing)),
            message=missed,
            remedy="Let every lane of the warp reach it, or pass a mask of just the lanes that do.",
        )
    unnamed = call.mask.lanes & ~_named_lanes(call, named)
    if unnamed.any():
        call.report(
            "divergent_barrier",
            lane=int(np.flatnonzero(unnamed)[0]),
            barrier=barrier,
            occurrences=int(np.count_nonzero(unnamed)),
            message="This thread is not named in the mask of its own warp instruction: the result is undefined.",
            remedy="Name every lane that executes it: 0xFFFFFFFF where the whole warp does.",
        )


@intrinsic(f"{CUDA}.syncwarp")
def syncwarp(call: Call, mask: Cut = EVERY_LANE, /) -> None:
    """The barrier of the lanes that `mask` names."""
    call.count()
    missed = "This thread waits at cuda.syncwarp() for lanes of its warp that do not reach it here: the warp may hang."
    _meet(call, mask, missed, "warp")
    call.warp_barrier()


def _begin(call: Call, named: Arithmetic) -> None:
    call.count_warps("shuffles")
    missed = "This warp instruction names lanes that do not execute it here: the result is undefined."
    _meet(call, named, missed, "exchange")
    call.exchange()


def _exchange(call: Call, value: Arithmetic, source: np.ndarray) -> np.ndarray:
    """Each lane's value of the lane numbered `source` within its warp; no number of a lane that does not take part."""
    source = source + WARP * np.repeat(np.arange(call.batch.warps), WARP)
    taken: np.ndarray = call.on_lanes(value)[source]
    absent = call.mask.lanes & ~call.mask.lanes[source]
    if not absent.any():
        return taken
    if taken.dtype.kind in "fciu":
        undefined = np.empty(1, taken.dtype)
        poison(undefined)
        taken[absent] = undefined
    gone = absent & ~call.live[source]
    if gone.any():  # of lanes that are there and elsewhere `_meet` has told
        lane = int(np.flatnonzero(gone)[0])
        ends = not call.batch.everyone.lanes[source[lane]]
        call.report(
            "uninitialised_read",
            lane=lane,
            severity="warning",  # whoever looks at the lane's number first may never use it
            occurrences=int(np.count_nonzero(gone)),
            message=f"Takes a value from lane {source[lane] % WARP} of its warp, "
            + ("which has no thread: the block ends before it." if ends else "whose thread has returned."),
            remedy="Nobody knows what comes of it: use it only where that lane is there, or launch whole warps.",
        )
    return taken


def _vote(call: Call, mask: Arithmetic, predicate: Arithmetic) -> tuple[np.ndarray, np.ndarray]:
    """Begins a vote: which lanes its mask names, and each lane's answer to the condition."""
    _begin(call, mask)
    return _named_lanes(call, mask), call.on_lanes(call.truth(predicate))


@intrinsic(f"{CUDA}.shfl_sync")
def shuffle(call: Call, mask: Cut, value: Real, src_lane: Cut) -> np.ndarray:
    """The value of the lane `src_lane`."""
    _begin(call, mask)
    return _exchange(call, value, call.on_lanes(src_lane).astype(np.int64) & (WARP - 1))


def _shifted(call: Call, mask: Arithmetic, value: Arithmetic, amount: Arithmetic, direction: str) -> np.ndarray:
    _begin(call, mask)
    lane = call.lane_numbers()
    amount = call.on_lanes(amount).astype(np.int64) & (WARP - 1)
    source = {"up": lane - amount, "down": lane + amount, "xor": lane ^ amount}[direction]
    source = np.where((source < 0) | (source >= WARP), lane, source)  # off the end: a lane keeps its own value
    return _exchange(call, value, source)


@intrinsic(f"{CUDA}.shfl_up_sync")
def shuffle_up(call: Call, mask: Cut, value: Real, delta: Cut) -> np.ndarray:
    """The value of the lane that is `delta` below."""
    return _shifted(call, mask, value, delta, "up")


@intrinsic(f"{CUDA}.shfl_down_sync")
def shuffle_down(call: Call, mask: Cut, value: Real, delta: Cut) -> np.ndarray:
    """The value of the lane that is `delta` above."""
    return _shifted(call, mask, value, delta, "down")


@intrinsic(f"{CUDA}.shfl_xor_sync")
def shuffle_xor(call: Call, mask: Cut, value: Real, lane_mask: Cut) -> np.ndarray:
    """The value of the lane whose number differs in the bits of `lane_mask`."""
    return _shifted(call, mask, value, lane_mask, "xor")


def _named_lanes(call: Call, named: Arithmetic) -> np.ndarray:
    wanted = call.on_lanes(named).astype(np.int64).astype(np.uint32)
    bits = np.tile(BIT, call.batch.warps)
    return np.asarray((wanted & bits != 0) & call.mask.lanes)


def _ballot(lanes: np.ndarray) -> np.ndarray:
    return np.repeat((lanes.reshape(-1, WARP) * BIT).sum(axis=1).astype(np.uint32), WARP)


@intrinsic(f"{CUDA}.ballot_sync")
def ballot(call: Call, mask: Cut, predicate: Real) -> np.ndarray:
    """A bit for every named lane where the condition holds, in an int32: lane 31 is its sign."""
    named, answers = _vote(call, mask, predicate)
    return _ballot(answers & named).view(np.int32)


@intrinsic(f"{CUDA}.all_sync")
def vote_all(call: Call, mask: Cut, predicate: Real) -> np.ndarray:
    """Whether the condition holds in all named lanes."""
    named, answers = _vote(call, mask, predicate)
    return np.repeat((answers | ~named).reshape(-1, WARP).all(axis=1), WARP)


@intrinsic(f"{CUDA}.any_sync")
def vote_any(call: Call, mask: Cut, predicate: Real) -> np.ndarray:
    """Whether the condition holds in a named lane."""
    named, answers = _vote(call, mask, predicate)
    return np.repeat((answers & named).reshape(-1, WARP).any(axis=1), WARP)


@intrinsic(f"{CUDA}.eq_sync")
def vote_equal(call: Call, mask: Cut, predicate: Real) -> np.ndarray:
    """Whether the condition holds in all named lanes, or in none."""
    named, answers = _vote(call, mask, predicate)
    every = (answers | ~named).reshape(-1, WARP).all(axis=1)
    none = ~(answers & named).reshape(-1, WARP).any(axis=1)
    return np.repeat(every | none, WARP)


def _matches(call: Call, value: Arithmetic, named: np.ndarray) -> np.ndarray:
    """For each lane the ballot of named lanes that hold the same value."""
    vector = call.on_lanes(value).reshape(-1, WARP)
    same = (vector[:, :, None] == vector[:, None, :]) & named.reshape(-1, WARP)[:, None, :]
    return np.asarray((same * BIT).sum(axis=2).astype(np.uint32).reshape(-1))


@intrinsic(f"{CUDA}.match_any_sync")
def match_any(call: Call, mask: Cut, value: Real, /) -> np.ndarray:
    """The named lanes that hold the same value, as in a ballot."""
    _begin(call, mask)
    return _matches(call, value, _named_lanes(call, mask)).view(np.int32)


@intrinsic(f"{CUDA}.match_all_sync")
def match_all(call: Call, mask: Cut, value: Real, /) -> tuple[np.ndarray, np.ndarray]:
    """The named lanes where all hold the same value, else 0; and whether they do."""
    _begin(call, mask)
    named = _named_lanes(call, mask)
    everyone = _ballot(named)
    agree = _matches(call, value, named) == everyone
    return np.where(agree, everyone, np.uint32(0)).view(np.int32), agree


@intrinsic(f"{CUDA}.activemask")
def active_mask(call: Call) -> np.ndarray:
    """The lanes that are here."""
    call.count()
    return _ballot(call.mask.lanes)


@intrinsic(f"{CUDA}.lanemask_lt")
def lanes_below(call: Call) -> np.ndarray:
    """The lanes with a lower number."""
    call.count()
    return (np.left_shift(np.uint32(1), call.lane_numbers().astype(np.uint32)) - np.uint32(1)).astype(np.uint32)
