"""What pictures are drawn from: the first accesses of a line, warp by warp and round by round."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autograder.profiling import profile
from autograder.simgpu.host.cuda_module import build_module

cuda = build_module()
ROUNDS, WARPS, ENOUGH = 7, 4, 10_000


@cuda.jit
def adds_up(x, y, out):
    i = cuda.grid(1)
    for j in range(ROUNDS):
        out[i] += x[(i + j) % x.size] * y[i] + x[j]


def traced(limit):
    n = 32 * WARPS
    p = profile(adds_up, trace=True, trace_limit=limit)[WARPS // 2, 64](np.ones(n), np.ones(n), np.zeros(n))
    return p.trace("out[i] +=")


@pytest.mark.parametrize("limit", [1, 5, 2 * ROUNDS, ENOUGH])
def test_of_each_array_and_kind_the_first_accesses_are_kept_and_no_more(limit):
    everything, kept = traced(ENOUGH), traced(limit)
    seen: Counter[tuple[str, str]] = Counter()
    first = []
    for each in everything:
        seen[each.array, each.kind] += 1
        if seen[each.array, each.kind] <= limit:
            first.append(each)
    assert seen == {("x", "load"): 2 * ROUNDS * WARPS} | {
        (array, kind): ROUNDS * WARPS for array, kind in (("y", "load"), ("out", "load"), ("out", "store"))
    }
    assert [(each.array, each.kind, each.block, each.warp, each.step) for each in kept] == [
        (each.array, each.kind, each.block, each.warp, each.step) for each in first
    ]
    assert all(np.array_equal(one.addresses, other.addresses) for one, other in zip(kept, first, strict=True))


def test_a_step_counts_a_warp_s_own_accesses():
    for array, kind, rounds in (("x", "load", 2 * ROUNDS), ("out", "store", ROUNDS)):
        of_one_warp = [
            each.step for each in traced(ENOUGH) if (each.array, each.kind, each.block[0], each.warp) == (array, kind, 1, 0)
        ]
        assert of_one_warp == list(range(rounds))
