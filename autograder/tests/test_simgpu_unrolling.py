"""Which loops are counted as written out, against what the compiler wrote out (measurements/unrolling.json)."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from autograder import profile
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.simgpu import cuda_module, measurements
from autograder.simgpu.loops import folded_arithmetic
from autograder.simgpu.measurements import unrolling
from autograder.simgpu.unrolling import is_written_out

cuda = cuda_module.build_module()
HEAD = "import math\nimport numpy as np\nfrom numba import cuda, float32\n\n@cuda.jit"
COMPILED = json.loads((Path(measurements.__file__).parent / "unrolling.json").read_text(encoding="utf-8"))


def taken_as_written_out(source: str) -> bool:
    program = parse_program(submission_from_cells("k.py", [("k.py", HEAD + source)], is_notebook=False))
    kernel = program.function("kernel")
    loop = [node for node in ast.walk(kernel.node) if isinstance(node, ast.For)][-1]
    return is_written_out(loop, kernel, set(kernel.parameters))


def test_nineteen_loops_in_twenty_are_taken_as_the_compiler_takes_them() -> None:
    wrong, total = [], 0
    for name, rounds, source in unrolling.sources():
        total += 1
        if taken_as_written_out(source) != COMPILED[name][str(rounds)]:
            wrong.append(f"{name}, {rounds} rounds: written out is {COMPILED[name][str(rounds)]}")
    assert total > 400
    assert len(wrong) <= total / 20, wrong


def test_a_loop_whose_length_is_not_constant_is_a_loop() -> None:
    kernel = "\ndef kernel(a, n):\n    for i in range(n):\n        a[i] = 0\n"
    assert not taken_as_written_out(kernel)


def test_constants_may_be_worked_out_from_others() -> None:
    kernel = "\ndef kernel(a):\n    for i in range(0, 2 * {0} // 4, 33 - 32):\n        a[i] = 0\n"
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
        ("i + a[y]", set()),
    ],
)
def test_index_arithmetic_that_the_compiler_folds_into_a_shared_access(index: str, folded: set[str]) -> None:
    kernel = f"""
def kernel(a, n):
    tile = cuda.shared.array(512, float32)
    flat = tile[256:]
    y = cuda.threadIdx.x
    walk = 0
    for i in range(16):
        walk += 1
        a[0] += flat[{index}]
    for i in range(n):
        a[0] += tile[{index}]
    for i in range(16):
        a[y * 16 + i] = 0
"""
    assert what_is_folded(kernel.replace("flat[", "tile[")) == folded
    assert what_is_folded(kernel) == folded  # a slice of a shared array is shared


def what_is_folded(source: str) -> set[str]:
    source = HEAD.replace("\n@", "\nWIDTH = 16\nAREA = 256\n\n@") + source
    function = parse_program(submission_from_cells("k.py", [("k.py", source)], is_notebook=False)).function("kernel")
    found = folded_arithmetic(function)
    return {ast.unparse(node) for node in ast.walk(function.node) if id(node) in found}


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

    one, other = (profile(kernel)[1, 32](np.zeros(32, np.float32)).counters for kernel in (two_dimensional, flat))
    # outside the loop, one access has its index worked out
    assert other.warp_instructions == one.warp_instructions + 2
    assert other.integer_operations == one.integer_operations + 2 * 32
