"""Which loops are counted as written out, against what the compiler wrote out (measurements/unrolling.json)."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.simgpu import measurements
from autograder.simgpu.measurements import unrolling
from autograder.simgpu.unrolling import is_written_out

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
