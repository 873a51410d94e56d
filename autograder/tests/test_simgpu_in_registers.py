"""Loops over variables and loads go compiled: they compute, count and find what steps do, and take the same work.

REGISTER_KERNELS=1000 in the environment tries so many random kernels.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.errors import WorkLimit
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.in_registers import loops
from autograder.simgpu.in_registers.going import RoundsOfLanes
from autograder.simgpu.wider.random_numbers import initial_states
from autograder.tests import register_kernels
from autograder.tests.part import first_of

pytestmark = pytest.mark.long

cuda = cuda_module.build_module()
uniform32, uniform64 = cuda.random.xoroshiro128p_uniform_float32, cuda.random.xoroshiro128p_uniform_float64
N, GRID, BLOCK = 200, 3, 72
SEEDS = range(int(os.environ.get("REGISTER_KERNELS", "5")))


def on_device(array: np.ndarray) -> Any:
    """An array in global memory that kernels find by its name."""
    return cuda.to_device(array)


VALUES = np.random.default_rng(4)
SPREAD, LONG = on_device(VALUES.random(N)), on_device(VALUES.random(216 * 50).astype(np.float32))
SMALL, BYTES = on_device(VALUES.integers(-9, 9, N).astype(np.int32)), on_device(VALUES.integers(-9, 9, N).astype(np.int8))
NEXT, GRID_OF = on_device(VALUES.permutation(N)), on_device(np.asfortranarray(VALUES.random((10, 20)).astype(np.float32)))


@cuda.jit(device=True)
def escape(x, y, most):
    real = imaginary = 0.0
    for i in range(most):
        real, imaginary = real * real - imaginary * imaginary + x, 2 * real * imaginary + y
        if real * real + imaginary * imaginary >= 4.0:
            return i
    return most


@cuda.jit
def mandelbrot(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        out[i] = escape(i % 20 / 8 - 2, i // 20 / 5 - 1, 150)


@cuda.jit(device=True)
def escape_of_complex(c, most):
    z = 0j
    for i in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return most


@cuda.jit
def mandelbrot_of_complex(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        out[i] = escape_of_complex(complex(i % 20 / 8 - 2, i // 20 / 5 - 1), 150)
        z = np.complex64(complex(floats[i], 0.25))
        for _ in range(100):
            z = np.complex64(z**2 - np.complex64(0.5 + 0.1j))
        floats[i] = z.imag


@cuda.jit
def pi(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        inside = 0
        for _ in range(500):
            x, y = uniform32(states, i), uniform32(states, i)
            if x**2 + y**2 <= 1:
                inside += 1
        out[i] = inside


@cuda.jit
def rejection(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        tries, x = 1, uniform64(states, i)
        while x > 0.02:
            tries += 1
            x = uniform64(states, i)
            if tries % 5 == 0:
                x = min(x, uniform64(states, i))
        out[i] = tries


@cuda.jit
def collatz(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        n, steps = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[i] = steps


@cuda.jit
def is_prime(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        n, least = 10_000 + i, 1
        for d in range(2, int(math.sqrt(n)) + 1):
            if n % d == 0:
                least = d
                break
        else:
            out[i] = 3
        out[i] += least


@cuda.jit
def stores_and_leaves(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        n, last = 5_000 + i, 0
        for d in range(2, n):
            if n % d == 0:
                out[i] = d
                floats[i] += floats[i - 1] + d  # what others write in other rounds
                if d > 40:
                    return
                break
            last = d
            if d * d > n:
                out[i] = -last
                return
        out[i] += last


@cuda.jit
def divisors(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        found = 0
        for d in range(1, 3 * i + 1):
            if i % d == 0:
                found += 1
        out[i] = found


@cuda.jit
def newton(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        x = np.float32(i + 1)
        for _ in range(40):
            x = (x + (i + 1) / x) * np.float32(0.5)
        floats[i] = x


@cuda.jit
def quotients_out_of_the_ordinary(out, floats, states):
    """Lanes work these out apart: a zero in some rounds of each, then quotients too small for the usual way."""
    i = cuda.grid(1)
    if i < N:
        narrow, wide = np.float32(1), 1.0
        for k in range(200):
            narrow = np.float32((k + i) % 5) / (narrow + np.float32(1))
            wide = (wide * ((k + i) % 7) + i % 3) / (k + 1e-300 * (i % 2))
        floats[i] = narrow + wide


@cuda.jit
def logistic(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        x = np.float32(0.3)
        for _ in range(300):
            x = x * 3.7 * (1 - x)  # float64 by accident
        floats[i] = x


@cuda.jit
def shares_a_large_number(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total, large = 0, np.uint64(0)
        for k in range(80):
            total += 1 if large > np.uint64(1) << 63 else i
            large = np.uint64(-5 - k)
        out[i] = total


@cuda.jit
def divides_by_zero_at_last(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total, k = 0, 250
        while k > -20:
            k -= 1
            total += (i << 40) // k
        out[i] = total


@cuda.jit
def hands_its_range_back(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0
        for k in range(150 + i):
            total += i // (k - 130)  # a round that steps go, in the middle
        for k in range(i % 50):
            out[k * 4 + i % 4] = k  # a number by lane as an index
        out[i] = total


@cuda.jit
def forces(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        force, mine = 0.0, SPREAD[i]
        for j in range(N):
            if j != i:
                distance = SPREAD[j] - mine
                force += distance / (distance * distance + 0.25) ** 2 + math.sqrt(SPREAD[j] + 1) * GRID_OF[j % 10, i % 20]
        floats[i] = force


@cuda.jit
def strides(out, floats, states):
    at, total = cuda.grid(1), 0.0
    while at < LONG.size:
        total += LONG[at] * SPREAD[at % N]
        at += cuda.gridsize(1)
    if cuda.grid(1) < N:
        floats[cuda.grid(1)] = total


@cuda.jit
def window(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0
        for k in range(41):
            at = i + k - 20
            if 0 <= at < SMALL.size and 3 < k < SMALL[(k + 5) % N] + 20:  # in the first rounds nobody asks for the last one
                total += SMALL[at] * SMALL[k] + BYTES[at]
        out[i] = total


@cuda.jit
def gathers(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        at, steps = i, 0
        while steps < 100:
            at = NEXT[at]
            if at == 7:
                break
            steps += 1 if LONG[at * 3] > 0.5 else 2
        out[i] = steps * 1000 + at


@cuda.jit
def rows(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0.0
        for k in range(200):
            total += GRID_OF[i % 10][k % 20] * GRID_OF[k % 10][i % 20] + GRID_OF[k % 10][k % 20]
        floats[i] = total


@cuda.jit
def leaves_the_array(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0
        for k in range(600):
            total += int(LONG[i + 20 * k - 40] * 9)  # before its first element at first, behind its last one in the end
        out[i] = total


@cuda.jit
def reads_what_it_writes(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0.0
        for k in range(60):
            total += floats[(i + k) % N] + NEXT[k]
        floats[i] = total


@cuda.jit
def one_state_for_two(out, floats, states):
    i = cuda.grid(1)
    if i < N:
        total = 0.0
        for _ in range(100):
            total += uniform64(states, i // 2)
        floats[i] = total


KERNELS: tuple[Any, ...] = (
    quotients_out_of_the_ordinary, mandelbrot, mandelbrot_of_complex, pi, rejection, collatz, is_prime,
    stores_and_leaves, divisors, newton, logistic, divides_by_zero_at_last, hands_its_range_back,
    shares_a_large_number,
)  # fmt: skip
OF_LOADS: tuple[Any, ...] = (forces, leaves_the_array, strides, window, gathers, rows)


def name_of(kernel: Any) -> str:
    name: str = kernel.__name__
    return name


def told(kernel: Any) -> tuple[list[Any], int, list[bytes]]:
    """All that two launches tell: records, the work that they took, and what was written."""
    session = Session()
    arrays = [session.to_device(each) for each in (np.zeros(N, np.int64), np.zeros(N, np.float32), initial_states(N, 1))]
    records = [session.launch(kernel.__autograder_function__, GRID, BLOCK, arrays) for _ in range(2)]
    return records, session.work, [each.copy_to_host().tobytes() for each in arrays]


@pytest.fixture
def by_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Has every loop be compiled as early as can be; or none, where it is called with True."""
    monkeypatch.setattr(loops, "LEAST", 1)

    def switch(is_so: bool) -> None:
        monkeypatch.setattr(loops, "WORTH", 10**18 if is_so else 0)

    return switch


def forms(kernel: Any) -> list[Prepared]:
    return list(kernel.__autograder_function__.notes[Prepared].values())


@pytest.mark.parametrize(
    "kernel", [given for some, tried in ((KERNELS, 4), (OF_LOADS, 2)) for given in first_of(some, tried, name_of)]
)
def test_a_compiled_loop_tells_what_steps_tell(
    kernel: Any, by_steps: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[int] = []
    go = RoundsOfLanes.go

    def noted(self: RoundsOfLanes, numbers: range | None) -> None:
        before = self.rounds
        go(self, numbers)
        gone.append(self.rounds - before)

    monkeypatch.setattr(RoundsOfLanes, "go", noted)
    by_steps(True)
    expected = told(kernel)
    assert not gone
    by_steps(False)
    assert told(kernel) == expected
    assert sum(gone) > 30


@pytest.mark.parametrize("seed", first_of(SEEDS, tried=2))
def test_random_kernels_tell_the_same_either_way(seed: int, by_steps: Callable[[bool], None]) -> None:
    choose = random.Random(9000 + seed)
    text, arguments = register_kernels.kernel_text(choose), register_kernels.inputs(choose)

    def run(steps: bool) -> str:
        by_steps(steps)
        return re.sub(r"<random kernel \d+>", "", repr(register_kernels.told(text, arguments, cuda)))

    assert run(False) == run(True), text


@pytest.mark.parametrize("kernel", [reads_what_it_writes])
def test_loads_that_have_an_order_go_by_steps(kernel: Any, by_steps: Callable[[bool], None]) -> None:
    by_steps(False)
    told(kernel)
    (reason,) = {each for form in forms(kernel) for each in form.in_registers.reasons.values()}
    assert reason == "an element of an array that the launch may write to"


def test_random_numbers_from_one_state_for_two_threads_go_by_steps(by_steps: Callable[[bool], None]) -> None:
    by_steps(False)
    records, *_ = told(one_state_for_two)
    assert {each.kind for each in records[0].hazards} == {"race"}


@cuda.jit
def goes_on(out, n):
    i = cuda.grid(1)
    x, k = i, 0
    while k < n:
        x = x * 3 + 1
        k += 1
    out[i] = x


@cuda.jit
def stands_still(out, n):
    i = cuda.grid(1)
    x, k = i, 0
    while k < n or i == 3:
        x = x * 2
        k = min(k + 1, n)
    out[i] = x


@pytest.mark.parametrize("kernel", [goes_on, stands_still])
def test_a_loop_ends_where_it_would_by_steps(kernel: Any, by_steps: Callable[[bool], None]) -> None:
    stopped = []
    for steps in (True, False):
        by_steps(steps)
        session = Session(work_limit=20_000_000)
        with pytest.raises(WorkLimit) as found:
            n = 10**9 if kernel is goes_on else 5000
            session.launch(kernel.__autograder_function__, 2, 64, (session.to_device(np.zeros(128, np.int64)), n))
        assert session.last is not None
        stopped.append((str(found.value), found.value.line, session.last.counters, session.work))
    assert stopped[0] == stopped[1]


def test_only_a_loop_that_is_expensive_is_compiled() -> None:
    told(collatz)
    for form in forms(collatz):
        form.in_registers.known.clear()
    told(collatz)
    assert not any(known.versions for form in forms(collatz) for known in form.in_registers.known.values())


@cuda.jit
def looks_things_up(out, n):
    i = cuda.grid(1)
    for k in range(n):
        out[i] += k


def test_what_is_not_compiled_says_why(by_steps: Callable[[bool], None]) -> None:
    by_steps(False)
    session = Session()
    session.launch(looks_things_up.__autograder_function__, 1, 64, (session.to_device(np.zeros(64)), 100))
    (form,) = forms(looks_things_up)
    assert list(form.in_registers.reasons.values()) == ["UpdateElement"]
