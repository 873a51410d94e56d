"""Which loops are counted as written out, against what the compiler wrote out (measurements/unrolling.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.simgpu import measurements
from autograder.simgpu.facts.prepared import Prepared, prepared
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements import unrolling
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in

cuda = cuda_module.build_module()
HEAD = "import math\nimport numpy as np\nfrom numba import cuda, float32\n\n@cuda.jit"
COMPILED = json.loads((Path(measurements.__file__).parent / "unrolling.json").read_text(encoding="utf-8"))


def prepared_for(source: str) -> Prepared:
    """A kernel in operations, for two-dimensional arrays a, b and c, vectors g and h, and a number n."""
    program = parse_program(submission_from_cells("k.py", [("k.py", source)], is_notebook=False))
    kernel, session = program.function("kernel"), Session()
    matrix, vector = (session.to_device(np.zeros(shape, np.float32))._view() for shape in ((64, 64), 64))
    given: dict[str, Any] = {"a": matrix, "b": matrix, "c": matrix, "g": vector, "h": vector, "n": np.int64(64)}
    return prepared(kernel, {name: given[name] for name in kernel.parameters})


def operations(source: str) -> list[Operation]:
    return list(everything_in(prepared_for(source).kernel.body))


def taken_as_written_out(source: str) -> bool:
    """Of loops in each other, all: the compiler leaves none."""
    loops = [each for each in operations(HEAD + source) if isinstance(each, For)]
    last = max(loops, key=lambda each: each.line.number)
    nest = [each for each in loops if last in everything_in(each.body)] if "for phase" not in source else []
    return all(each.is_written_out for each in (*nest, last))


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.rest)])
def test_nineteen_loops_in_twenty_are_taken_as_the_compiler_takes_them(step: int) -> None:
    wrong, total = [], 0
    for name, rounds, source in list(unrolling.sources())[::step]:
        total += 1
        if taken_as_written_out(source) != COMPILED[name][str(rounds)]:
            wrong.append(f"{name}, {rounds} rounds: written out is {COMPILED[name][str(rounds)]}")
    assert total > 400 // step
    assert len(wrong) <= total / 20, wrong


def test_a_loop_around_an_unrolled_one_is_taken_as_the_compiler_takes_it() -> None:
    """Of 144, 40 were not before each element that the inner one reaches had a size of its own."""
    nests = [(name, rounds, source) for name, rounds, source in unrolling.sources() if name.endswith(" inside")]
    wrong = [name for name, rounds, source in nests if taken_as_written_out(source) != COMPILED[name][str(rounds)]]
    assert len(nests) == len(unrolling.NESTS) * len(unrolling.INSIDE) * len(unrolling.OUTER_ROUNDS)
    assert len(wrong) <= len(nests) / 20, wrong


def test_a_loop_whose_length_is_not_constant_is_a_loop() -> None:
    kernel = "\ndef kernel(a, n):\n    for i in range(n):\n        g[i] = 0\n"
    assert not taken_as_written_out(kernel)


def test_constants_may_be_worked_out_from_others() -> None:
    kernel = "\ndef kernel(g):\n    for i in range(0, 2 * {0} // 4, 33 - 32):\n        g[i] = 0\n"
    assert taken_as_written_out(kernel.format(32)) and not taken_as_written_out(kernel.format(1032))


@pytest.mark.parametrize(
    ("index", "folded"),
    [
        ("y * 16 + i", {"y * 16 + i", "y * 16"}),
        ("AREA + i * WIDTH + y", {"AREA + i * WIDTH + y", "AREA + i * WIDTH", "i * WIDTH"}),
        ("2 * (i + y)", {"2 * (i + y)", "i + y"}),
        ("y + 8 * i, y // 2 + i", {"y + 8 * i", "8 * i", "y // 2 + i", "y // 2"}),
        ("i * n + y", set()),  # n is only known at run time
        ("i * y", set()),
        ("i + walk", set()),  # changes in the loop
        ("(i + y) % 16", set()),
        ("i // 2", set()),
        ("i + int(g[y])", set()),
    ],
)
def test_index_arithmetic_that_the_compiler_folds_into_a_shared_access(index: str, folded: set[str]) -> None:
    shape, half = ("(32, 16)", 16) if "," in index else ("512", 256)
    kernel = f"""
def kernel(g, n):
    tile = cuda.shared.array({shape}, float32)
    flat = tile[{half}:]
    y = cuda.threadIdx.x
    walk = 0
    for i in range(16):
        walk += 1
        g[0] += flat[{index}]
    for i in range(n):
        g[0] += tile[{index}]
    for i in range(16):
        g[y * 16 + i] = 0
"""
    assert what_is_folded(kernel.replace("flat[", "tile[")) == folded
    assert what_is_folded(kernel) == folded  # a slice of a shared array is shared


def what_is_folded(source: str) -> set[str]:
    source = HEAD.replace("\n@", "\nWIDTH = 16\nAREA = 256\n\n@") + source
    return {each.text for each in operations(source) if each.is_folded}


def test_flat_tiles_take_the_instructions_of_two_dimensional_ones() -> None:
    @cuda.jit
    def two_dimensional(out):
        tile = cuda.shared.array((32, 16), np.float32)
        y = cuda.threadIdx.x
        for i in range(16):
            tile[y, i] = y
        out[y] = tile[y, 3]

    @cuda.jit
    def flat(out):
        tile = cuda.shared.array(512, np.float32)
        y = cuda.threadIdx.x
        for i in range(16):
            tile[y * 16 + i] = y
        out[y] = tile[y * 16 + 3]

    one, other = (profile(kernel)[1, 32](np.zeros(32, np.float32)).compiled for kernel in (two_dimensional, flat))
    # Outside the loop, one access has its index worked out; and it is a load, since of two indices with a sum in them the
    # compiler does not know that they differ, where of two columns with other numbers it does.
    assert other.warp_instructions == one.warp_instructions + 3
    assert other.integer_operations == one.integer_operations + 2 * 32
