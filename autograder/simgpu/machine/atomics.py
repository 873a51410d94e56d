"""Atomic updates of many lanes at once, with the result that some serial order of the lanes would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from autograder.simgpu.primitives import compiled_when_called

# operations whose result does not depend on the order: NumPy's unbuffered `ufunc.at` carries them out
UNORDERED: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,  # a NaN in memory stays; one as operand changes nothing (see `_without_nan`)
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _without_nan(operation: str, operand: np.ndarray) -> np.ndarray:
    """The operands with NaN replaced by what leaves every number as it is."""
    return np.where(np.isnan(operand), -np.inf if operation == "max" else np.inf, operand).astype(operand.dtype)


def _increment(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _decrement(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


def _compare_and_swap(old: np.ndarray, expected: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == expected, new, old)


ORDERED: dict[str, Callable[..., np.ndarray]] = {
    **UNORDERED,
    "inc": _increment,
    "dec": _decrement,
    "exch": lambda old, new: new,
    "cas": _compare_and_swap,
}


def _exchange(
    data: np.ndarray, linear: np.ndarray, expected: np.ndarray, new: np.ndarray, always: bool, old: np.ndarray
) -> None:
    """Lane after lane: many of them may want one lock, and then one after the other is all that there is to do."""
    for i in range(linear.shape[0]):
        old[i] = data[linear[i]]
        if always or old[i] == expected[i]:
            data[linear[i]] = new[i]


_EXCHANGES: dict[np.dtype, Callable[..., None]] = {
    np.dtype(name): compiled_when_called(
        f"void({name}[:], int64[:], {name}[:], {name}[:], boolean, {name}[::1])",
    )(_exchange)
    for name in ("int32", "int64", "uint32", "uint64")
}


def _takes_the_place(order: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Whether each number takes an old one's place: Numba's loop for a float's maximum or minimum looks first."""
    takes: np.ndarray = np.less(old, new) if order.endswith("max") else np.greater(old, new)
    if order.startswith("nan"):
        takes |= np.isnan(old) & ~np.isnan(new)
    return takes


def tries_of_order(
    order: str, old: np.ndarray, new: np.ndarray, linear: np.ndarray, warps: np.ndarray
) -> Iterator[np.ndarray]:
    """By round of Numba's loop for a float's maximum or minimum: which lanes try to store (their places in `new`, int64).

    All look at the same time, at `old`. Of a warp's lanes at one element the first one's compare-and-swap succeeds; the
    others find its number there, and go round again if theirs takes its place.
    """
    left = np.flatnonzero(_takes_the_place(order, old, new))
    span = int(linear.max(initial=0)) + 1
    while left.size:
        yield left
        _, first, mine = np.unique(warps[left] * span + linear[left], return_index=True, return_inverse=True)
        found = new[left][first][mine.reshape(-1)]
        left = left[_takes_the_place(order, found, new[left])]


def apply_atomic(
    operation: str, data: np.ndarray, linear: np.ndarray, operands: list[np.ndarray], want_old: bool
) -> np.ndarray | None:
    """Updates `data[linear]` in lane order; returns each lane's old value where `want_old`."""
    if operation in ("max", "min") and data.dtype.kind == "f":
        operands = [_without_nan(operation, operands[0])]
    if not want_old and operation in UNORDERED:
        UNORDERED[operation].at(data, linear, operands[0])
        return None
    if operation in ("cas", "exch") and data.dtype in _EXCHANGES and data.flags.aligned:
        old, new = np.empty(len(linear), data.dtype), operands[-1]
        _EXCHANGES[data.dtype](data, linear, operands[0], new, operation == "exch", old)
        return old
    order = np.argsort(linear, kind="stable")
    addresses = linear[order]
    starts = np.flatnonzero(np.r_[True, addresses[1:] != addresses[:-1]])
    rank = np.arange(len(addresses)) - np.repeat(starts, np.diff(np.r_[starts, len(addresses)]))
    old = np.empty(len(linear), data.dtype)
    if operation in ("add", "sub") and data.dtype.kind in "iu":
        step = operands[0][order] if operation == "add" else -operands[0][order]
        running = np.cumsum(step, dtype=data.dtype) - step
        old[order] = data[addresses] + (running - np.repeat(running[starts], np.diff(np.r_[starts, len(addresses)])))
        UNORDERED[operation].at(data, linear, operands[0])
        return old
    # lanes that share an address take turns: the first of each address, then the second, ...
    turns = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[turns], np.arange(rank.max() + 2))
    for turn in range(len(bounds) - 1):
        lanes = order[turns[bounds[turn] : bounds[turn + 1]]]
        where = linear[lanes]
        before = data[where]
        old[lanes] = before
        data[where] = ORDERED[operation](before, *(operand[lanes] for operand in operands))
    return old
