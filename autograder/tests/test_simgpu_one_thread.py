"""Loops of one thread go round in functions of their own: these compute, count, find and print what steps do.

ONE_THREAD_KERNELS=1000 in the environment tries so many random kernels.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.errors import KernelFault, WorkLimit
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.one_thread import loops, side_by_side
from autograder.tests import one_thread_kernels as random_kernels

pytestmark = pytest.mark.long

cuda = cuda_module.build_module()
N = 300
SEEDS = range(int(os.environ.get("ONE_THREAD_KERNELS", "12")))
LIMIT = 40


@cuda.jit(device=True)
def clamped(x, low, high):
    if x < low:
        return low
    return high if x > high else x


@cuda.jit(device=True)
def element(array, i):
    return array[i] * array[i]


@cuda.jit
def sums(a, whole, out, counts):
    total = np.float32(0)
    wide = 0.0
    for i in range(a.size):
        total += a[i]
        wide += a[i]
    out[0], out[1] = total, wide


@cuda.jit
def sum_in_memory(a, whole, out, counts):
    for i in range(a.size):
        out[3] += a[i]
        out[4] = out[3] + out[4]


@cuda.jit
def collatz(a, whole, out, counts):
    for k in range(1, 30):
        n, steps = k, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        counts[k] = steps


@cuda.jit
def histogram(a, whole, out, counts):
    for i in range(whole.size):
        counts[whole[i] % 64] += 1
        cuda.atomic.add(counts, whole[i] & 7, 2)


@cuda.jit
def insertion_sort(a, whole, out, counts):
    for i in range(1, 60):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@cuda.jit
def overflows(a, whole, out, counts):
    product, narrow, shrinking = 3, np.float32(2), np.uint64(1)
    for i in range(a.size):
        product = product * 31 + i
        narrow = narrow * narrow + np.float32(1)
        shrinking -= np.uint64(3)
        counts[i] = product
    out[0], out[1] = narrow, shrinking % np.uint64(1000)


@cuda.jit
def leaves_its_array(a, whole, out, counts):
    for i in range(a.size + 5):
        out[i] = a[i - 3]
    for i in range(40):
        counts[i] = whole[i] // (i % 7)


@cuda.jit
def one_of_many(a, whole, out, counts):
    i = cuda.grid(1)
    tile = cuda.shared.array(64, np.float32)
    tile[cuda.threadIdx.x] = a[cuda.threadIdx.x]
    cuda.syncthreads()
    if i == 70:
        best, at = tile[0], 0
        for j in range(1, cuda.blockDim.x):
            if tile[j] > best:
                best, at = tile[j], j
        counts[3] = at
    elif i == 3:
        for j in range(30):
            tile[j] = 1.0


@cuda.jit
def races(a, whole, out, counts):
    i = cuda.grid(1)
    if i == 7:
        for j in range(50):
            out[j] += 1
    if i == 90:
        for j in range(50):
            out[j] = out[j] + a[j]


@cuda.jit
def calls(a, whole, out, counts):
    for i in range(a.size):
        out[i] = clamped(a[i], a[0], a[1]) + element(a, i)
        counts[i] = clamped(whole[i], whole[1], whole[2])


@cuda.jit
def own_memory(a, whole, out, counts):
    window, fixed = cuda.local.array(4, np.float32), cuda.local.array(2, np.int64)
    for i in range(4):
        window[i] = 0
    fixed[0] = 1
    for i in range(a.size):
        window[i % 4] = a[i]
        fixed[0] += 1
        out[i] = window[0] + window[1] + window[2] * fixed[0] + window[-1]


@cuda.jit
def leaves_early(a, whole, out, counts):
    for i in range(a.size):
        if whole[i] % 50 == 49:
            break
        if whole[i] % 3 == 0:
            continue
        counts[i] = i
        for j in range(i, a.size):
            if whole[j] > 990:
                out[i] = j
                break
            if i > 100 and whole[j] > 900:
                return
    counts[0] = -1


@cuda.jit
def raises(a, whole, out, counts):
    for i in range(a.size):
        if i == 200:
            raise ValueError("enough")
        counts[i] = i


@cuda.jit
def types_that_change(a, whole, out, counts):
    for i in range(60):
        total = 0
        for j in range(10):
            total += a[j]
            if j > 4 and whole[i] & 1:
                total = total * 2.0
        out[i] = total


@cuda.jit
def rows(a, whole, out, counts):
    square = a.reshape(15, 20)
    for i in range(15):
        for j in range(20):
            out[20 * i + j] = square[i][j] * square[i - 1, j]


@cuda.jit
def prints(a, whole, out, counts):
    for i in range(N):
        if i % 64 == 0:
            print("at", i, whole[i])
        out[i] = math.sqrt(abs(a[i])) + math.hypot(a[i], 2.0) + max(i, whole[i]) + LIMIT


@cuda.jit
def straight_rounds(a, whole, out, counts):
    for i in range(1, a.size - 1):
        out[i] = a[i - 1] * np.float32(0.25) + a[i] + math.atan(a[i + 1])
    for i in range(a.size - 1, -1, -1):
        out[i] = out[i] * 2 + whole[i]
    for i in range(3, 250, 3):
        counts[i] = i
        counts[i - 1] = whole[i]
        counts[i - 2] += counts[i - 2] * i
    for i in range(40):
        out[7 * i] += a[whole[i] % 300] * np.float32(2)


@cuda.jit
def rounds_that_need_others(a, whole, out, counts):
    for i in range(1, 200):
        out[i] = out[i - 1] + a[i]
    for i in range(200):
        counts[i & 7] = i
    for i in range(100):
        counts[i + 40] = i
        counts[i + 39] = counts[i + 40] + counts[i + 38]
    for i in range(100):
        counts[i + 100] = i * 123456789
    before = 0
    for i in range(100):
        counts[i] = before
        before = whole[i]


@cuda.jit
def totals(a, whole, out, counts):
    narrow, wide, lower, whole_total, product, last = np.float32(0), 0.0, 10.0, 0, 1, 0
    for i in range(a.size):
        narrow += a[i]
        wide += a[i] * 2.0
        lower -= a[i]
        whole_total += whole[i]
        product *= 2 * i + 1
        last = i - 1
        counts[i] = last
    out[0], out[1], out[2], out[3], out[4], out[5] = narrow, wide, lower, whole_total, product % 1000, last


@cuda.jit
def quotients_out_of_the_ordinary(a, whole, out, counts):
    """The thread works some of these out apart: zeros, and quotients too small for the usual way."""
    narrow, wide = np.float32(1), 1.0
    for i in range(a.size):
        narrow += np.float32(whole[i] % 5) / (a[i] + np.float32(3))
        wide += (whole[i] % 7) / (i + 1e-300)
        counts[i] = i
    out[0], out[1] = narrow, wide


@cuda.jit
def straight_rounds_of_several(a, whole, out, counts):
    i = cuda.grid(1)
    tile = cuda.shared.array(64, np.float32)
    own = cuda.local.array(40, np.float32)
    if i == 5 or i == 70:
        for j in range(40):
            own[j] = a[j + i]
            tile[j] = own[j]
        for j in range(30):
            out[j] = tile[j] + own[39 - j]
    cuda.syncthreads()
    if i == 7:
        for j in range(64):
            out[j + 100] = tile[j]


KERNELS: tuple[Any, ...] = (
    quotients_out_of_the_ordinary, straight_rounds, rounds_that_need_others, totals, straight_rounds_of_several,
    sums, sum_in_memory, collatz, histogram, insertion_sort, overflows, leaves_its_array, one_of_many, races, calls,
    own_memory, leaves_early, raises, types_that_change, rows, prints,
)  # fmt: skip


def told(kernel: Any, grid: int, block: int) -> tuple[list[Any], list[str], list[bytes]]:
    """All that two launches tell: records, what was printed, what was written."""
    rng = np.random.default_rng(1)
    printed: list[str] = []
    session = Session(output=printed.append)
    given = (rng.normal(0, 1, N).astype(np.float32), rng.integers(0, 1000, N).astype(np.int32))
    arrays = [session.to_device(each) for each in (*given, np.zeros(N, np.float32), np.zeros(N, np.int32))]
    records = [session.launch(kernel.__autograder_function__, grid, block, arrays) for _ in range(2)]
    return records, printed, [each.copy_to_host().tobytes() for each in arrays]


def written(kernel: Any) -> int:
    """How many functions a kernel's loops have become."""
    forms: dict[Any, Prepared] = kernel.__autograder_function__.notes[Prepared]
    return sum(len(each.versions) for form in forms.values() for each in form.written_loops.known.values())


@pytest.fixture
def by_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Has every loop be written out as early as can be; or none, where it is called with True."""
    monkeypatch.setattr(loops, "WORTH", 0)
    monkeypatch.setattr(loops, "LEAST", 1)
    monkeypatch.setattr(loops, "AT_ONCE", 7)
    monkeypatch.setattr(side_by_side, "AT_ONCE", 11)
    monkeypatch.setattr(side_by_side, "LEAST_AT_ONCE", 2)
    may_go = loops.LoopsOfOneThread.may_go

    def switch(is_so: bool) -> None:
        monkeypatch.setattr(loops.LoopsOfOneThread, "may_go", (lambda *_: False) if is_so else may_go)

    return switch


@pytest.mark.parametrize("kernel", KERNELS, ids=[each.__name__ for each in KERNELS])
def test_a_loop_in_a_function_of_its_own_tells_what_steps_tell(
    kernel: Any, by_steps: Callable[[bool], None]
) -> None:
    shape = (2, 64) if kernel in (one_of_many, races, straight_rounds_of_several) else (1, 1)
    by_steps(True)
    expected = told(kernel, *shape)
    assert not written(kernel)
    by_steps(False)
    assert told(kernel, *shape) == expected
    assert written(kernel)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels_tell_the_same_either_way(seed: int, by_steps: Callable[[bool], None]) -> None:
    choose = random.Random(7000 + seed)
    text, arguments = random_kernels.kernel_text(choose), random_kernels.inputs(choose)

    def run(steps: bool) -> str:
        by_steps(steps)
        return re.sub(r"<random kernel \d+>", "", repr(random_kernels.told(text, arguments, cuda)))

    expected = run(True)
    if "was stopped" not in expected:  # at the limit of work, the last few statements may not be the same ones
        assert run(False) == expected, text


@cuda.jit
def goes_on(out, n):
    i = 0
    while i < n:
        out[i % 7] = i
        i += 1


@cuda.jit
def stands_still(out, n):
    i = 0
    while i < n:
        found = out[3]
        if found > 7:
            i += 1


@cuda.jit
def nothing_changes(out, n):
    for k in range(3):
        i = k
        j = 0
        while i < n:
            j = 1 - j
        out[0] = j


@pytest.mark.parametrize("kernel", [stands_still, nothing_changes], ids=["stands still", "nothing changes"])
def test_a_loop_that_never_ends_is_told_as_by_steps(kernel: Any, by_steps: Callable[[bool], None]) -> None:
    faults = []
    for steps in (True, False):
        by_steps(steps)
        session = Session(work_limit=20_000_000)
        with pytest.raises(KernelFault) as found:
            session.launch(kernel.__autograder_function__, 1, 1, (session.to_device(np.zeros(8)), 100))
        faults.append((str(found.value), session.last and session.last.counters))
    assert faults[0] == faults[1]


def test_the_limit_of_work_holds_to_the_statement_in_a_loop_that_is_by_itself(by_steps: Callable[[bool], None]) -> None:
    stopped = []
    for steps in (True, False):
        by_steps(steps)
        session = Session(work_limit=1_000_000)
        out = session.to_device(np.zeros(8))
        with pytest.raises(WorkLimit) as found:
            session.launch(goes_on.__autograder_function__, 1, 1, (out, 10**9))
        assert session.last is not None
        stopped.append((found.value.line, session.last.counters, out.copy_to_host().tobytes()))
    assert stopped[0] == stopped[1]


@cuda.jit
def running_total(a, out):
    total = np.float32(0)
    for i in range(a.size):
        total += a[i]
        out[i] = total


@cuda.jit
def running_total_of_a_row(rows, totals):
    a, out = rows[cuda.threadIdx.x], totals[cuda.threadIdx.x]  # parts that begin elsewhere for each lane
    total = np.float32(0)
    for i in range(a.size):
        total += a[i]
        out[i] = total


@pytest.mark.parametrize("kernel, shape", [(running_total, 4000), (running_total_of_a_row, (1, 4000))], ids=["array", "row"])
def test_a_round_of_one_thread_asks_nobody(kernel: Any, shape: int | tuple[int, int]) -> None:
    """It is quick because nothing of the machine is called: that can be counted, and time on a busy computer cannot."""
    session = Session()
    arrays = [session.to_device(np.ones(shape, np.float32)) for _ in range(2)]
    calls = 0

    def note(*_: object) -> None:
        nonlocal calls
        calls += 1

    kernel.__autograder_function__  # noqa: B018 (read before it is watched)
    session.launch(kernel.__autograder_function__, 1, 1, arrays)
    sys.setprofile(note)
    try:
        session.launch(kernel.__autograder_function__, 1, 1, arrays)
    finally:
        sys.setprofile(None)
    assert calls < 4000 * 2
    assert arrays[1].copy_to_host().ravel()[-1] == 4000


@pytest.mark.parametrize("kernel, parts", [(straight_rounds, 4), (totals, 1), (rounds_that_need_others, 0)])
def test_rounds_that_need_no_others_go_at_once(
    kernel: Any, parts: int, monkeypatch: pytest.MonkeyPatch, by_steps: Callable[[bool], None]
) -> None:
    gone: set[object] = set()
    carry_out = side_by_side.PartOfRange.carry_out

    def noted(self: side_by_side.PartOfRange) -> None:
        carry_out(self)
        gone.add(self.loop)

    monkeypatch.setattr(side_by_side.PartOfRange, "carry_out", noted)
    told(kernel, 1, 1)
    assert len(gone) == parts


def test_what_is_not_written_out_says_why() -> None:
    @cuda.jit
    def over_an_array(a, out):
        for each in a:
            for k in range(600):
                row = out[k:]
                row[0] = each

    session = Session()
    session.launch(
        over_an_array.__autograder_function__, 1, 1, [session.to_device(np.ones(2)), session.to_device(np.ones(601))]
    )
    (form,) = over_an_array.__autograder_function__.notes[Prepared].values()
    assert form.written_loops.reasons
