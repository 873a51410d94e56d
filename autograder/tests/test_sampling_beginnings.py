"""Kinds of blocks that a sample has none of: seen by how blocks begin, carried out, and held to what they were to write."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

BLOCKS = 64
KERNEL = """
import numpy as np
from numba import cuda

@cuda.jit
def kernel(a, b):
    i, block = cuda.grid(1), cuda.blockIdx.x
    total = np.float32(0)
    for again in range({rounds}):
        total += a[i] * np.float32(0.5)
    {store}

def work(a, b):
    kernel[{blocks}, 32](a, b)
"""
STORED = "b[i] = total"


def sampled(rounds: str = "4", store: str = STORED, blocks: int = BLOCKS) -> Run:
    """A run of which one block, by chance the 40th, is sampled."""
    text = KERNEL.format(rounds=rounds, store=store, blocks=blocks)
    program = parse_program(submission_from_cells("x.py", [("x.py", text)]))
    arguments = {"a": np.ones(32 * BLOCKS, np.float32), "b": Uninitialised((32 * BLOCKS,), np.float32)}
    request = RunRequest(
        "work", arguments, sample_blocks=1, sample_seed=2, follows_reads=True, looks_for_kinds=True
    )  # fmt: skip
    run = SimulatedDevice().run(program, request)
    assert run.fault is None
    return run


def written_by(run: Run) -> list[int]:
    return np.flatnonzero(run.written["b"].reshape(BLOCKS, 32).all(axis=1)).tolist()


def test_where_all_blocks_begin_alike_the_sample_stands_for_them() -> None:
    run = sampled()
    assert len(written_by(run)) == 1 and run.covered_at_most == {"b": 1.0}


@pytest.mark.parametrize("which", ["block % 2 != {} % 2", "block % 8 == ({} + 1) % 8"])
def test_a_kind_that_an_eighth_of_the_blocks_are_of_is_carried_out_and_counts_nothing(which: str) -> None:
    (alike,) = written_by(sampled())
    run = sampled(rounds=f"0 if {which.format(alike)} else 4")
    assert len(written_by(run)) == 2 and alike in written_by(run)
    assert {float(run.outputs["b"][32 * block]) for block in written_by(run)} == {0.0, 2.0}
    assert run.counters.simulated_blocks == 1 and run.covered_at_most == {"b": 1.0}


def test_what_a_kind_does_not_write_is_left_out_of_the_result() -> None:
    alike = written_by(sampled())[0]
    store = f"if block % 4 != {(alike + 1) % 4}:\n        {STORED}"
    run = sampled(rounds=f"0 if block % 4 == {(alike + 1) % 4} else 4", store=store)
    assert run.covered == {"b": 1.0} and abs(run.covered_at_most["b"] - 0.75) < 0.01


def test_where_fewer_blocks_are_launched_the_most_that_they_can_write_is_told() -> None:
    assert sampled(blocks=BLOCKS - 2).covered_at_most == {"b": (BLOCKS - 2) / BLOCKS}


def test_ten_launches_of_a_tenth_each_write_all_of_it() -> None:
    text = KERNEL.format(rounds=4, store=STORED, blocks=BLOCKS)
    text = text.replace(f"kernel[{BLOCKS}, 32](a, b)", "".join(
        f"kernel[{BLOCKS}, 32](a, b[{part * 32 * BLOCKS}:{(part + 1) * 32 * BLOCKS}])\n    " for part in range(10)
    ))  # fmt: skip
    program = parse_program(submission_from_cells("x.py", [("x.py", text)]))
    arguments = {"a": np.ones(32 * BLOCKS, np.float32), "b": Uninitialised((10 * 32 * BLOCKS,), np.float32)}
    run = SimulatedDevice().run(program, RunRequest("work", arguments, sample_blocks=1, sample_seed=2, follows_reads=True))
    assert run.fault is None and run.covered_at_most == {"b": 1.0}


def test_rare_kinds_and_blocks_that_go_ways_of_their_own_are_left_to_the_sample() -> None:
    assert len(written_by(sampled(rounds="0 if block % 16 == 0 else 4"))) == 1
    assert len(written_by(sampled(rounds="block"))) == 1
