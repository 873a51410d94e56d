"""Whole numbers that all lanes share are worked out once for each value, and count each time what they always count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.simgpu.host import cuda_module
from autograder.simgpu.operations.shared_numbers import ComputedExpression

cuda = cuda_module.build_module()
U = np.uint32
WIDE = 5


@cuda.jit(device=True)
def one_term(term, x, sums):
    for i in range(4):
        sums[i] += x[term * U(WIDE) + U(i // 2 * 3 + i % 2)]


@cuda.jit
def as_a_thread_s_square(x, out):
    sums = cuda.local.array(4, np.float32)
    for i in range(4):
        sums[i] = 0
    for term in range(6):
        one_term(U(term), x, sums)
        one_term(U(term), x, sums)
    for i in range(4):
        out[U(cuda.grid(1)) * U(4) + U(i)] = sums[3 - i]


@cuda.jit
def by_some_of_the_lanes(x, out):
    i = cuda.grid(1)
    for k in range(6):
        if i % 3 < k:
            for j in range(2):
                out[i] += x[(k + 1) * 3 - j * 2]
        out[i] += x[k ^ 1] if i > 7 else x[k * 2 + 1]


@cuda.jit
def in_loops_of_unknown_length(x, out):
    i, n = cuda.grid(1), int(x[39])
    for k in range(n):
        for j in range(n):
            out[i] += x[k * n + j]
    k = 0
    while k + 2 < n * 2:
        out[i] += k * 3 + 1
        k += 1


@cuda.jit
def over_more_numbers_than_are_kept(x, out):
    for k in range(700):
        out[cuda.grid(1)] += x[(k * 7 + 3) % 40]


@cuda.jit
def of_changing_types(x, out):
    k = cuda.blockIdx.x
    for j in range(3):
        out[cuda.grid(1)] += x[j * 2 + k * 3]
        out[cuda.grid(1)] += np.uint8(j * 100 + 100) + np.int8(j * 50 - 1) * 2


@cuda.jit
def divided(x, out):
    for j in range(-3, 3):
        out[cuda.grid(1)] += j // 2 * 10 + j % 4 + (j // 3 if j < 0 else j % 3)


KERNELS = [
    as_a_thread_s_square, by_some_of_the_lanes, in_loops_of_unknown_length, over_more_numbers_than_are_kept,
    of_changing_types, divided,
]  # fmt: skip


def launched(kernel: Any, blocks: int) -> tuple[np.ndarray, Any]:
    """What a kernel leaves, and its profile, launched twice."""
    x, out = np.arange(40, dtype=np.float32) % 7, np.zeros(blocks * 64 * 4, np.float32)
    for _ in range(2):
        found = profile(kernel)[blocks, 64](x, out)
    return out, found


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_what_is_kept_counts_and_gives_what_is_worked_out(
    kernel: Any, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, with_it = launched(kernel, blocks)
    kernel_anew = cuda.jit(kernel.py_func)
    monkeypatch.setattr(ComputedExpression, "value", lambda self, machine, mask: self.work_out(machine, mask))
    worked_out, without = launched(kernel_anew, blocks)
    np.testing.assert_array_equal(kept, worked_out)
    assert with_it.counters == without.counters
    assert with_it.compiled == without.compiled
    assert [(each.line, each.counters, each.compiled) for each in with_it.lines] == [
        (each.line, each.counters, each.compiled) for each in without.lines
    ]
    assert with_it.hazards == without.hazards


def test_an_expression_of_the_loop_s_numbers_is_worked_out_for_each_of_them_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for its value, and once more under each mask for what it counts."""
    worked_out: list[ComputedExpression] = []
    counted = ComputedExpression._counted

    def noted(self, *given):
        worked_out.append(self)
        return counted(self, *given)

    monkeypatch.setattr(ComputedExpression, "_counted", noted)
    launched(as_a_thread_s_square, 1)
    assert worked_out and len(worked_out) <= 2 * len(set(worked_out))  # in each of two launches
