"""What the simulated GPU does in a quicker way where it can: it must count, find and compute what the long way does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault, SubmissionError
from autograder.simgpu.counting import counting
from autograder.simgpu.counting import counting_primitives as count_prim
from autograder.simgpu.host import cuda_module
from autograder.simgpu.machine import access
from autograder.simgpu.machine.addressing import Addressing
from autograder.simgpu.ordering import order_primitives as order_prim
from autograder.simgpu.primitives import ATOMIC, READ, WARP, WRITE, locate
from autograder.simgpu.values.memory import Accesses

cuda = cuda_module.build_module()
N = 40
LOADED = "requests", "sectors", "lines", "useful_bytes", "wavefronts"
SHIFTS = 34  # elements: some more than a line of four bytes each


@cuda.jit
def lengths(x, y, out):
    for i in range(cuda.grid(1), N, cuda.gridsize(1)):
        out[i] = math.hypot(x[i], y[i])


@cuda.jit
def running_sum(x, y, out):
    for i in range(1, N):
        x[i] += x[i - 1]
        y[i] = x[i] * y[N - 1 - i]
    out[0] = y[3]


@cuda.jit
def in_two_dimensions(x, y, out):
    square = out.reshape(5, 8)
    for row in range(5):
        for column in range(8):
            square[row, column] = x[8 * row + column]


@cuda.jit
def beyond_the_end(x, y, out):
    for i in range(N + 3):
        out[i] = x[i]


@cuda.jit
def from_the_end(x, y, out):
    for i in range(-N, N):
        out[i] += x[i]


@cuda.jit
def one_block_after_the_other(x, y, out):
    if cuda.blockIdx.x == 0:
        for i in range(N):
            out[i] = x[i]
    else:
        for i in range(N):
            y[i] = out[i]


@cuda.jit
def one_warp_after_the_other(x, y, out):
    t = cuda.threadIdx.x
    if t == 32:
        for i in range(N):
            out[i] = x[i]
    cuda.syncthreads()
    if t == 0:
        for i in range(N):
            out[i] += y[i]


@cuda.jit
def other_types(x, y, out):
    for i in range(N):
        out[i] = i
        x[i] = y[i] > 0.5


@cuda.jit
def until_one_leaves(x, y, out):
    for i in range(N):
        out[i] = x[i]
        if i == 20:
            return


defined_later: float  # a name that a test gives a value


def everything(kernel, configuration):
    """All that a launch on new arrays leaves: results, counts in total and by line, hazards, the fault."""
    rng = np.random.default_rng(1)
    x, y = cuda.to_device(rng.random(N)), cuda.to_device(rng.random(N))
    out = cuda.device_array(N)
    try:
        found = profile(kernel)[configuration](x, y, out)
        fault = ""
    except KernelFault as problem:
        return str(problem)
    return (
        [each.copy_to_host().tobytes() for each in (x, y, out)],
        found.counters, found.lines, [(h.kind, h.line, h.array, h.message, h.occurrences) for h in found.hazards], fault,
    )  # fmt: skip


KERNELS = {
    lengths: (1, 1), running_sum: (1, 1), in_two_dimensions: (1, 1), beyond_the_end: (1, 1), from_the_end: (1, 1),
    one_block_after_the_other: (2, 1), one_warp_after_the_other: (1, 64), other_types: (1, 1), until_one_leaves: (1, 1),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_a_thread_alone_leaves_the_same_by_the_short_way_and_by_the_long_one(monkeypatch, kernel):
    ways = []
    made = vars(access)["LoneAccess"]
    monkeypatch.setattr(access, "LoneAccess", lambda *arguments: ways.append(arguments) or made(*arguments))
    short = everything(kernel, KERNELS[kernel])
    assert ways
    monkeypatch.setattr(access, "may_be_alone", lambda *arguments: False)
    assert short == everything(kernel, KERNELS[kernel])


@cuda.jit
def each_shift(source, target, stride, begin, end):
    i = cuda.grid(1)
    for shift in range(begin, end):
        target[i] += source[i * stride + shift]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("stride", [1, 2, 3, 8, 16, 32, 40])
def test_a_repeated_access_moves_what_each_of_its_rounds_moves_alone(dtype, stride):
    source, target = cuda.to_device(np.ones(64 * stride + SHIFTS, dtype)), cuda.to_device(np.zeros(64, dtype))

    def counted(begin, end):
        counters = profile(each_shift)[2, 32](source, target, stride, begin, end).counters
        return [getattr(counters, f"global_load_{what}") for what in LOADED]

    one_by_one = np.sum([counted(shift, shift + 1) for shift in range(SHIFTS)], axis=0)
    assert counted(0, SHIFTS) == one_by_one.tolist()


@cuda.jit
def ahead_unsigned(source, target, rounds):
    """In the last rounds the last lanes are past the end."""
    i = np.uint32(cuda.grid(1))
    for step in range(rounds):
        target[i] += source[i + np.uint32(step)]


@cuda.jit
def back_unsigned(source, target, rounds):
    """Below 0 an unsigned number is a large one: in the second round the first lane is outside, then more and more."""
    i = np.uint32(cuda.grid(1))
    for step in range(rounds):
        target[i] += source[i - np.uint32(step)]


@cuda.jit
def round_and_back_unsigned(source, target, rounds):
    """A sum that passed below 0 and came back is inside again."""
    i = np.uint32(cuda.grid(1))
    for step in range(rounds):
        below = i - np.uint32(40)
        target[i] += source[below + np.uint32(40 + step)]


@pytest.mark.parametrize("kernel", [ahead_unsigned, back_unsigned, round_and_back_unsigned], ids=lambda k: k.__name__)
@pytest.mark.parametrize("rounds", [3, 70])
def test_unsigned_indices_that_move_along_leave_what_each_access_by_itself_does(monkeypatch, kernel, rounds):
    size = 100

    def everything_of():
        source, target = cuda.to_device(np.arange(size, dtype=np.float32)), cuda.to_device(np.zeros(64, np.float32))
        found = profile(kernel)[2, 32](source, target, rounds)
        hazards = [(h.kind, h.line, h.message, h.occurrences) for h in found.hazards]
        return target.copy_to_host().tobytes(), found.counters, found.compiled, found.lines, hazards

    moved: list[bool] = []
    look = Addressing._moved

    def watched(self, pattern, indices):
        base = look(self, pattern, indices)
        moved.append(base is not None and self.sums.of(indices[0])[1] != 0)
        return base

    monkeypatch.setattr(Addressing, "_moved", watched)
    short = everything_of()
    assert any(moved) == (kernel is not back_unsigned)  # whose first lane is outside from the second round on
    monkeypatch.setattr(Addressing, "_moved", lambda *arguments: None)
    assert everything_of() == short

    lanes = np.arange(64)
    wanted = lanes[:, None] + np.arange(rounds) * (-1 if kernel is back_unsigned else 1)
    inside = (wanted >= 0) & (wanted < size)
    occurrences = sum(h[3] for h in short[4] if h[0] == "out_of_bounds")
    assert occurrences == np.count_nonzero(~inside)
    held = inside.all(1)
    assert np.array_equal(np.frombuffer(short[0], np.float32)[held], wanted.sum(1)[held])


def test_a_name_that_a_kernel_lacked_is_found_once_it_is_there():
    @cuda.jit
    def uses_it(out):
        out[0] = defined_later  # noqa: F821

    out = np.zeros(1)
    with pytest.raises(SubmissionError, match="defined_later"):
        uses_it[1, 1](out)
    globals()["defined_later"] = 7
    uses_it[1, 1](out)
    assert out[0] == 7


def test_elements_of_twelve_bytes_stay_within_their_warp():
    texts = cuda.to_device(np.array(["abc"] * 64, "U3"))
    first, other = cuda.to_device(np.zeros(64, "U3")), cuda.to_device(np.zeros(64, "U3"))

    @cuda.jit
    def copied(source, target):
        i = cuda.grid(1)
        target[i] = source[i]

    one_warp = profile(copied)[1, 32](texts, first).counters.global_load_wavefronts
    two_warps = profile(copied)[1, 64](texts, other).counters.global_load_wavefronts
    assert two_warps == 2 * one_warp


# -- primitives: many lanes at once, and each warp or lane alone -----------------------------------------------------------

WARPS = 12


def masks(rng: np.random.Generator) -> list[np.ndarray]:
    """All lanes, some at random, the first ones of each warp, half warps, and none of some warps."""
    size = WARPS * WARP
    first, halves, whole = (np.zeros(shape, np.bool_) for shape in ((WARPS, WARP), (2 * WARPS, WARP // 2), (WARPS, WARP)))
    first[:, : rng.integers(1, WARP)] = True
    halves[rng.random(2 * WARPS) < 0.7] = True
    whole[rng.random(WARPS) < 0.7] = True
    return [np.ones(size, np.bool_), rng.random(size) < 0.8, first.ravel(), halves.ravel(), whole.ravel()]


def patterns(rng: np.random.Generator, elements: int) -> list[np.ndarray]:
    """Elements by lane: in a row, tiles and their columns, strides, backwards, at random, each by several lanes."""
    lane = np.arange(WARPS * WARP)
    wanted = [
        lane,
        lane % 16 + lane // 16 * int(rng.integers(16, 40)),
        lane % 16 * 17 + lane // 16,
        lane % WARP * int(rng.integers(0, 9)) + lane // WARP * int(rng.integers(0, 70)),
        lane % 16 * 37 + lane // 16 % 8 * int(rng.integers(1, 9)) + lane // 128 * 128,  # blocks of four warps, lines apart
        lane[::-1],
        rng.integers(0, elements, len(lane)),
        np.repeat(rng.integers(0, elements, len(lane) // 8), 8),
    ]
    return [np.ascontiguousarray(each % elements, dtype=np.int64) for each in wanted]


@pytest.mark.parametrize("itemsize", [1, 4, 8, 12, 16])
def test_warps_that_do_what_the_last_one_did_move_what_each_of_them_moves_alone(itemsize):
    rng, elements = np.random.default_rng(itemsize), 700
    for lanes in masks(rng):
        for linear in patterns(rng, elements):
            for address in (256, 292):
                results = []
                for step, period in ((WARPS * WARP, 1), (WARPS * WARP, 4), (WARPS * WARP, WARPS), (WARP, 1)):
                    touched = np.zeros(elements * itemsize // count_prim.SECTOR_BYTES + 2, np.uint8)
                    totals, banked = np.zeros(4, np.int64), np.zeros(3, np.int64)
                    for first in range(0, len(lanes), step):
                        part = lanes[first : first + step], linear[first : first + step], address, itemsize
                        totals += count_prim.count_sectors(*part, period, touched, np.uint8(1))
                        banked += count_prim.count_wavefronts(*part)
                    results.append([*touched, *totals, *banked])
                assert results[0] == results[1] == results[2] == results[3]


@cuda.jit
def moved_on(a, b):
    i = cuda.grid(1)
    for j in range(6):
        b[i + 2 * j] = a[3 * i + j]


def test_what_an_access_costs_that_moves_on_does_not_grow_with_the_array(monkeypatch):
    sizes = []

    class Noted:  # NumPy, as counting.py sees it
        def __getattr__(self, name):
            def make(shape, *others):
                sizes.append(int(np.prod(shape)))
                return getattr(np, name)(shape, *others)

            return make if name in ("zeros", "empty", "full") else getattr(np, name)

    monkeypatch.setattr(counting, "np", Noted())
    moved_on[2, 64](np.zeros(1_000_000, np.float32), np.zeros(1_000_000, np.float32))
    assert sizes and max(sizes) <= 2 * 128


def test_runs_of_threads_are_in_order_as_their_threads_are_one_by_one():
    check_order: Any = order_prim.check_order  # a shadow comes as several arguments
    rng, elements, padded = np.random.default_rng(7), 700, 4 * WARP
    blocks = WARPS * WARP // padded
    lanes_of, patterns_of = masks(rng), patterns(rng, elements)
    nobody = np.zeros((2, WARPS * WARP), np.int32)
    released = np.zeros((0, order_prim.RELEASE_COLUMNS), np.int64), np.zeros((3, 0), np.int64), np.zeros((3, 0), np.int32)
    for _ in range(30):
        one, other = ([row for _ in range(3) for row in Accesses.none(elements)] for _ in range(2))
        now = grid_sync = 2
        was_read = 0
        block_sync, warp_sync = np.full(blocks, now, np.int32), np.full(WARPS, now, np.int32)
        for site in range(12):
            here = rng.random(blocks) < 0.8
            what = int(rng.integers(0, 5))
            now += what > 1
            if what > 2:
                block_sync[here] = now
            if what > 1:
                warp_sync.reshape(blocks, -1)[here] = now
            grid_sync = now if what == 4 and here.all() else grid_sync
            lanes, linear = lanes_of[rng.integers(0, 5)], patterns_of[rng.integers(0, 8)]
            kind, must_be_set = int(rng.choice([READ, WRITE, ATOMIC])), bool(rng.integers(0, 2))
            was_read = now if kind == READ else was_read
            found = []
            for shadow, looked in ((one, 0), (other, 1)):  # where words may have been looked at, each lane goes alone
                findings = np.zeros(order_prim.FINDINGS, np.int64)
                seen = np.full((looked * WARPS * WARP, 1, order_prim.SEEN_COLUMNS), -1, np.int64)
                of_groups = np.full((looked * (blocks + WARPS), 1, order_prim.SEEN_COLUMNS), -1, np.int64)
                check_order(
                    lanes, linear, kind, 0, padded, now, must_be_set, site, grid_sync, looked or was_read >= grid_sync,
                    block_sync, warp_sync, *shadow, -1,
                    nobody, seen, of_groups, *released, findings,
                )  # fmt: skip
                found.append(findings)
            assert found[0].tolist() == found[1].tolist()
            for ours, theirs in zip(one, other, strict=True):
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("lowest, highest", [(0, 9), (-3, 9), (0, 12), (-14, 14)])
def test_lanes_are_found_together_as_they_are_one_by_one(lowest, highest):
    rng, (rows, columns) = np.random.default_rng(3), (10, 11)
    for lanes in masks(rng):
        size = len(lanes)
        row, column = (np.asarray(rng.integers(lowest, highest, size), dtype=np.int64) for _ in range(2))
        origin = np.asarray(rng.integers(0, 9, size), dtype=np.int64)
        linear, inside, totals = np.empty(size, np.int64), np.empty(size, np.bool_), np.zeros(4, np.int64)
        locate(lanes, row, rows, columns, True, column, columns, 1, 5, origin, linear, inside, totals)
        i, j = np.where(row < 0, row + rows, row), np.where(column < 0, column + columns, column)
        fits = lanes & (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
        assert (inside == fits).all() and totals[2] == np.count_nonzero(lanes & ~fits)
        assert (linear == np.where(fits, 5 + i * columns + j + origin, 0)).all()
