"""The few inner loops that NumPy alone is too slow for, compiled once by Numba and cached on disk: masks and indices here,
what accesses move in counting_primitives.py, what orders them in order_primitives.py.

All take plain arrays of one fixed type, so that each compiles exactly once: masks are bool, indices int64. A lane
vector always holds whole warps of 32 lanes; inactive lanes are masked. Nothing here knows of Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from autograder.simgpu.loading import for_good

with for_good():
    from numba import njit
    from numba.extending import intrinsic

WARP = 32
WARP_SHIFT = 5  # the same as a shift: Numba's // checks signs and is several times slower

READ, WRITE, ATOMIC = 0, 1, 2  # kinds of access

# slots of the `totals` vector of `locate`
BAD_LANE, WRAPPED_LANE, BAD_COUNT, WRAPPED_COUNT, TOTALS = range(5)


Integer: TypeAlias = int | np.integer[Any]  # one integer to compiled code, whichever of the two Python has
Truth: TypeAlias = bool | np.bool_

P = ParamSpec("P")
R = TypeVar("R")


def compiled(
    signature: str | None = None, *, boundscheck: bool | None = None, inline: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`njit`, typed as the function below it: compiled at once for a signature and cached on disk, else when it is called.

    What is compiled later is not cached: a worker that is confined by then cannot write there. The annotations of such a
    function are Python's view of it; of what size its integers are says the signature.
    `inline`: written out where it is called; a call hands over seven words for each array.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        is_cached = signature is not None
        make = njit(signature, cache=is_cached, boundscheck=boundscheck, forceinline=inline, nogil=True)
        made: Callable[P, R] = make(function)
        return made

    return decorated


PUT_OFF: list[Callable[[], None]] = []  # what `compiled_when_called` has put off


def compile_all() -> None:
    """Compiles now whatever is put off until it is called, or takes it from the cache: nothing is written there any more."""
    for each in PUT_OFF:
        each()


def compiled_when_called(signature: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`compiled`, put off until the first call: with an empty cache, a first kernel waits for what it uses.

    For functions that are called from Python only; what compiled code calls has to be compiled with it.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        made: list[Callable[P, R]] = []

        def make() -> None:
            if not made:
                made.append(compiled(signature)(function))

        @wraps(function)
        def call(*arguments: P.args, **keywords: P.kwargs) -> R:
            if not made:
                make()
            return made[0](*arguments, **keywords)

        PUT_OFF.append(make)
        return call

    return decorated


@compiled_when_called("void(uint32[::1], uint64[::1], uint64, uint32[::1])")
def take_words(data: np.ndarray, offsets: np.ndarray, base: Integer, taken: np.ndarray) -> None:
    """`taken[i] = data[base + offsets[i]]` for elements of four bytes; unsigned, as no index counts from the end."""
    for i in range(offsets.shape[0]):
        taken[i] = data[base + offsets[i]]


@compiled_when_called("void(boolean[::1], int64[::1], uint32[::1], uint32[::1])")
def put_words(lanes: np.ndarray, linear: np.ndarray, values: np.ndarray, data: np.ndarray) -> None:
    """`data[linear[lane]] = values[lane]` of the active lanes, in their order."""
    for lane in range(lanes.shape[0]):
        if lanes[lane]:
            data[np.uint64(linear[lane])] = values[lane]


@compiled("boolean(boolean[::1], int64)", boundscheck=False, inline=True)
def is_any_active(lanes: np.ndarray, first: Integer) -> bool:
    """Whether the warp that begins at `first` has an active lane; all lanes at once, since many warps have none."""
    is_any = False
    for lane in range(WARP):
        is_any |= lanes[np.uint64(first) + np.uint64(lane)]
    return is_any


@compiled("UniTuple(int64, 2)(boolean[::1])")
def count_mask(lanes: np.ndarray) -> tuple[int, int]:
    """Active lanes, and warps with at least one."""
    active = 0
    warps = 0
    for first in range(0, lanes.shape[0], WARP):
        here = np.uint8(0)  # no branches, and as narrow as lanes are: many are looked at together
        for i in range(WARP):
            here = np.uint8(here + np.uint8(lanes[np.uint64(first) + np.uint64(i)]))
        active += int(here)
        warps += int(here > 0)
    return active, warps


@compiled("void(boolean[::1], int64, int64[::1])")
def add_to_warps(lanes: np.ndarray, amount: Integer, by_warp: np.ndarray) -> None:
    """Adds an amount to every warp with an active lane."""
    for warp in range(by_warp.shape[0]):
        for lane in range(warp * WARP, warp * WARP + WARP):
            if lanes[lane]:
                by_warp[warp] += amount
                break


@compiled("UniTuple(int64, 5)(boolean[::1], boolean[::1], boolean[::1], boolean[::1], boolean[::1])")
def split(
    lanes: np.ndarray, condition: np.ndarray, taken: np.ndarray, other: np.ndarray, diverged: np.ndarray
) -> tuple[int, int, int, int, int]:
    """Splits a mask by a condition into `taken` and `other`; marks warps whose active lanes disagree.

    Returns lanes taken, warps taken, lanes other, warps other, warps that diverged.
    """
    lanes_taken = warps_taken = lanes_other = warps_other = divergent = 0
    for warp in range(lanes.shape[0] // WARP):
        yes = no = np.uint8(0)  # as in `count_mask`
        for i in range(WARP):
            lane = np.uint64(warp * WARP) + np.uint64(i)
            a = lanes[lane] & condition[lane]
            b = lanes[lane] & (not condition[lane])
            taken[lane] = a
            other[lane] = b
            yes = np.uint8(yes + np.uint8(a))
            no = np.uint8(no + np.uint8(b))
        lanes_taken += int(yes)
        lanes_other += int(no)
        warps_taken += int(yes > 0)
        warps_other += int(no > 0)
        if (yes > 0) & (no > 0):
            divergent += 1
            diverged[warp] = True
    return lanes_taken, warps_taken, lanes_other, warps_other, divergent


def _long_quotients(
    lanes: np.ndarray, left: np.ndarray, right: np.ndarray, quotient: np.ndarray, above: float, low: float, high: float,
    apart: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Marks in `apart` the active lanes whose division is out of the ordinary; how many they are, and in how many warps."""
    active = warps = 0
    for warp in range(lanes.shape[0] // WARP):
        here = 0
        for lane in range(warp * WARP, warp * WARP + WARP):
            divisor, size = abs(right[lane]), abs(quotient[lane])
            is_usual = low <= divisor < high and low < size < high and abs(left[lane]) >= above
            apart[lane] = lanes[lane] and not is_usual
            here += apart[lane]
        active += here
        warps += here > 0
    return active, warps


_OF_QUOTIENTS = "UniTuple(int64, 2)(boolean[::1], float{0}[::1], float{0}[::1], float{0}[::1], {1}, boolean[::1])"
_BOUNDS = "float64, float64, float64"
long_quotients_32 = compiled_when_called(_OF_QUOTIENTS.format(32, _BOUNDS))(_long_quotients)
long_quotients_64 = compiled_when_called(_OF_QUOTIENTS.format(64, _BOUNDS))(_long_quotients)


@compiled_when_called("UniTuple(int64, 2)(boolean[::1], int64[::1])")
def extent(lanes: np.ndarray, values: np.ndarray) -> tuple[int, int]:
    """The lowest and the highest value of the active lanes, of which there is one."""
    lowest, highest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for lane in range(lanes.shape[0]):
        if lanes[lane]:
            lowest = min(lowest, values[lane])
            highest = max(highest, values[lane])
    return lowest, highest


@compiled(
    "boolean(boolean[::1], int64[::1], int64, int64, boolean, int64[::1], int64, int64, int64, int64[::1], int64[::1],"
    " boolean[::1], int64[::1])"
)
def locate(
    lanes: np.ndarray, index0: np.ndarray, size0: Integer, stride0: Integer, two: Truth, index1: np.ndarray,
    size1: Integer, stride1: Integer, base: Integer, origin: np.ndarray, linear: np.ndarray, inside: np.ndarray,
    totals: np.ndarray,
) -> bool:  # fmt: skip
    """Turns one or two index vectors into element offsets: `linear`, with 0 and `inside` False where there is no access.

    `origin`: what else to add for each lane, or nothing. Negative indices wrap once, as Numba compiles them; what stays
    outside is reported through `totals`. Returns whether there is nothing of either kind.
    """
    size = lanes.shape[0]
    by_lane = origin.shape[0] > 0
    outside = False  # most accesses have no lane outside, and no index that counts from the end: told without a branch
    for lane in range(size):
        i = index0[lane]
        outside |= lanes[lane] & ((i < 0) | (i >= size0))
        linear[lane] = base + i * stride0
        inside[lane] = lanes[lane]
    if two:
        for lane in range(size):
            j = index1[lane]
            outside |= lanes[lane] & ((j < 0) | (j >= size1))
            linear[lane] += j * stride1
    if not outside:
        if by_lane:
            for lane in range(size):
                linear[lane] += origin[lane]
        for lane in range(size):
            linear[lane] = linear[lane] if lanes[lane] else 0
        return True
    by_lane = origin.shape[0] > 0
    bad = totals[BAD_COUNT]
    wrapped = totals[WRAPPED_COUNT]
    for lane in range(size):
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
        if by_lane:
            where += origin[lane]
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
    return False


def _multiplied_and_added(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, b, c), generate


multiplied_and_added: Any = intrinsic(_multiplied_and_added)  # for compiled code


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i] = multiplied_and_added(a[i], b[i], c[i])


_FUSED = {
    np.dtype(f"f{size}"): compiled_when_called(f"void({', '.join([f'float{8 * size}[::1]'] * 4)})")(_fused)
    for size in (4, 8)
}


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of float32 or float64, all three of one type, rounded once; numbers and vectors as NumPy combines them."""
    one, other, third = (np.ascontiguousarray(each).ravel() for each in np.broadcast_arrays(a, b, c))
    out = np.empty_like(one)
    _FUSED[out.dtype](one, other, third, out)
    return out.reshape(np.broadcast(a, b, c).shape)[()]
