"""The few inner loops that NumPy alone is too slow for, compiled once by Numba and cached on disk: masks and indices here,
what accesses move in counting_primitives.py, what orders them in order_primitives.py.

All take plain arrays of one fixed type, so that each compiles exactly once: masks are bool, indices int64. A lane
vector always holds whole warps of 32 lanes; inactive lanes are masked. Nothing here knows of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit

WARP = 32
WARP_SHIFT = 5  # the same as a shift: Numba's // checks signs and is several times slower

READ, WRITE, ATOMIC = 0, 1, 2  # kinds of access

# slots of the `totals` vector of `locate`
BAD_LANE, WRAPPED_LANE, BAD_COUNT, WRAPPED_COUNT, TOTALS = range(5)


def compiled_when_called(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`njit` with a signature, put off until the first call: with an empty cache, a first kernel waits for what it uses.

    For functions that are called from Python only; what compiled code calls has to be compiled with it.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled: list[Callable[..., Any]] = []

        @wraps(function)
        def call(*arguments: Any) -> Any:
            if not compiled:
                compiled.append(njit(signature, cache=True, nogil=True)(function))
            return compiled[0](*arguments)

        return call

    return decorated


@njit("UniTuple(int64, 2)(boolean[::1])", cache=True, nogil=True)
def count_mask(lanes):
    """Active lanes, and warps with at least one."""
    active = 0
    warps = 0
    for first in range(0, lanes.shape[0], WARP):
        here = 0
        for lane in range(first, first + WARP):
            if lanes[lane]:
                here += 1
        active += here
        if here:
            warps += 1
    return active, warps


@njit("void(boolean[::1], int64, int64[::1])", cache=True, nogil=True)
def add_to_warps(lanes, amount, by_warp):
    """Adds an amount to every warp with an active lane."""
    for warp in range(by_warp.shape[0]):
        for lane in range(warp * WARP, warp * WARP + WARP):
            if lanes[lane]:
                by_warp[warp] += amount
                break


@njit(
    "UniTuple(int64, 5)(boolean[::1], boolean[::1], boolean[::1], boolean[::1], boolean[::1])",
    cache=True,
    nogil=True,
)
def split(lanes, condition, taken, other, diverged):
    """Splits a mask by a condition into `taken` and `other`; marks warps whose active lanes disagree.

    Returns lanes taken, warps taken, lanes other, warps other, warps that diverged.
    """
    lanes_taken = warps_taken = lanes_other = warps_other = divergent = 0
    for warp in range(lanes.shape[0] // WARP):
        yes = 0
        no = 0
        for lane in range(warp * WARP, warp * WARP + WARP):
            a = lanes[lane] and condition[lane]
            b = lanes[lane] and not condition[lane]
            taken[lane] = a
            other[lane] = b
            yes += a
            no += b
        lanes_taken += yes
        lanes_other += no
        warps_taken += yes > 0
        warps_other += no > 0
        if yes > 0 and no > 0:
            divergent += 1
            diverged[warp] = True
    return lanes_taken, warps_taken, lanes_other, warps_other, divergent


@njit(
    "void(boolean[::1], int64[::1], int64, int64, boolean, int64[::1], int64, int64, int64, int64[::1],"
    " boolean[::1], int64[::1])",
    cache=True,
    nogil=True,
)
def locate(lanes, index0, size0, stride0, two, index1, size1, stride1, base, linear, inside, totals):
    """Turns one or two index vectors into element offsets: `linear`, with 0 and `inside` False where there is no access.

    Negative indices wrap once, as Numba compiles them; what stays outside is reported through `totals`.
    """
    bad = totals[BAD_COUNT]
    wrapped = totals[WRAPPED_COUNT]
    for lane in range(lanes.shape[0]):
        linear[lane] = 0
        if not lanes[lane]:
            inside[lane] = False
            continue
        i = index0[lane]
        fits = True
        if i < 0:
            i += size0
            if wrapped == 0:
                totals[WRAPPED_LANE] = lane
            wrapped += 1
        if i < 0 or i >= size0:
            fits = False
        where = base + i * stride0
        if two:
            j = index1[lane]
            if j < 0:
                j += size1
                if wrapped == 0:
                    totals[WRAPPED_LANE] = lane
                wrapped += 1
            if j < 0 or j >= size1:
                fits = False
            where += j * stride1
        inside[lane] = fits
        if fits:
            linear[lane] = where
        else:
            if bad == 0:
                totals[BAD_LANE] = lane
            bad += 1
    totals[BAD_COUNT] = bad
    totals[WRAPPED_COUNT] = wrapped
