"""Results of sampled launches that build on each other: compared is what all of them would have made, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.device import Run, RunRequest, Uninitialised
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.simgpu.device import SimulatedDevice

N = 128
KERNELS = """
from numba import cuda

@cuda.jit
def clear(c):
    i = cuda.grid(1)
    if i < c.shape[0] * c.shape[1]:
        c[i // c.shape[1], i % c.shape[1]] = 0.0

@cuda.jit
def multiply(a, b, c, first, end):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        for k in range(first, end):
            c[row, column] += a[row, k] * b[k, column]

@cuda.jit
def half_of_it(a, b, c, above):
    column, row = cuda.grid(2)
    if column < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[above + row, k] * b[k, column]
        c[above + row, column] = total

def clears_first(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 128)

def clears_and_is_wrong(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 127)

def adds_in_two_launches(a, b, c):
    clear[64, 256](c)
    multiply[(8, 8), (16, 16)](a, b, c, 0, 64)
    multiply[(16, 4), (8, 32)](a, b, c, 64, 128)

def upper_and_lower_half(a, b, c):
    half_of_it[(8, 4), (16, 16)](a, b, c, 0)
    half_of_it[(8, 4), (16, 16)](a, b, c, 64)
"""


def sampled(function: str) -> tuple[Run, np.ndarray]:
    """A run of eight sampled blocks, and which of the elements that count are right."""
    program = parse_program(submission_from_cells("host.py", [("host.py", KERNELS)], is_notebook=False))
    rng = np.random.default_rng(3)
    a, b = (rng.integers(1, 5, (N, N)).astype(np.float32) for _ in range(2))
    arguments = {"a": a, "b": b, "c": Uninitialised((N, N), np.float32)}
    run = SimulatedDevice().run(program, RunRequest(function, arguments, sample_blocks=8, sample_seed=11), checks_order=True)
    assert run.fault is None
    return run, (run.outputs["c"] == a @ b)[run.written["c"]]


@pytest.mark.parametrize("function", ["clears_first", "adds_in_two_launches", "upper_and_lower_half"])
def test_elements_of_which_only_an_earlier_launch_was_sampled_do_not_count(function: str) -> None:
    run, right = sampled(function)
    assert len(right) >= 8 * 256 and right.all()
    assert run.covered["c"] > 0.95


def test_what_the_last_launch_leaves_wrong_is_seen() -> None:
    _, right = sampled("clears_and_is_wrong")
    assert len(right) >= 8 * 256 and not right.any()


def test_the_work_of_a_launch_that_others_build_on_is_counted_whole_and_that_of_others_scaled() -> None:
    run, _ = sampled("clears_first")
    clearing, multiplying = run.launches
    assert clearing.counters is not None and clearing.counters.simulated_blocks == 64
    assert multiplying.counters is not None and multiplying.counters.simulated_blocks == 8
