"""What the simulated GPU does in a quicker way where it can: it must count, find and compute what the long way does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault, SubmissionError
from autograder.simgpu.host import cuda_module
from autograder.simgpu.machine import access

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
    made = access.LoneAccess
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
