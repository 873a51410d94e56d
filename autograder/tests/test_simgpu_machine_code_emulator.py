"""The emulator of machine code: what it decodes and refuses, how it agrees with an H200, what it counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.language.program import Function, Reference
from autograder.simgpu.host.cuda_module import build_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator import (
    agreement,
    compiling,
    decoding,
    divergent_work,
    last_loops,
    loop_exits,
    merged_arms,
    ordinary,
    parts,
    random_kernels,
    recording,
    sampled,
)
from autograder.simgpu.measurements.machine_code_emulator.operations import (
    ATOMICS,
    COMPARISONS,
    FLAGS,
    OPERATIONS,
    header,
)
from autograder.simgpu.measurements.unseen_kernels import is_held

AGREEMENT = json.loads(agreement.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROB R1, R2", "FROB"),
        ("IADD3.SAT R1, R2, R3, RZ", "SAT is not known"),
        ("LDG.E R0, [R2+0x4]", "32 bits"),
        ("BAR.SYNC 0x1, 0x40", "some threads"),
        ("CS2R R2, SR_CLOCKLO", "clock"),
        ("WARPSYNC.COLLECTIVE R2, 0x40", "COLLECTIVE"),
    ],
)
def test_what_is_not_known_is_refused(text: str, said: str) -> None:
    with pytest.raises(parts.Unsupported, match=said):
        decoding.one(text)


def test_an_instruction_is_decoded() -> None:
    row = decoding.one("@!P2 IADD3 R4, P0, R6.reuse, -R8, 0x10")
    assert row["op"] == OPERATIONS["IADD3"] and row["guard"] == 2 and row["flags"] == FLAGS["GUARD_NOT"]
    assert row["to"] == 4 and row["predicate_to"][0] == 0 and row["sources"] == 3
    assert [int(each) for each in row["source"]["number"][:2]] == [6, 8]
    assert [int(each) for each in row["source"]["negative"]] == [0, 1, 0, 0] and row["source"]["value"][2] == 16
    row = decoding.one("ATOMS.POPC.INC.32 RZ, [R4+UR6+0x20]")
    assert row["table"] == ATOMICS.index("POPC") and row["shift"] == 32 and row["to"] == 255
    row = decoding.one("ATOMG.E.CAS.STRONG.GPU PT, R0, [R2], R10, R11")  # an address of 64 bits, of which it says nothing
    assert row["table"] == ATOMICS.index("CAS") and row["source"]["number"][0] == 2
    row = decoding.one("FSET.BF.LEU.AND R7, R0, RZ, !P1")  # `0 if x > 0 else 1`: 1 for what is not a number, too
    assert row["op"] == OPERATIONS["FSET"] and row["flags"] == FLAGS["TO_FLOAT"] and row["to"] == 7
    assert row["source"][0]["unordered"] and row["compare"] == COMPARISONS.index("LE") and row["sources"] == 2
    assert row["predicate"][0] == 1 and row["predicate_not"][0] == 1
    assert parts.immediate("0.5", "float", parts.Parts("", "", [], [], row)) == 0x3F000000
    assert "OP_IADD3" in header()


def test_a_listing_is_read_with_its_places_and_lines() -> None:
    listing = (
        '\t//## File "kernel.py", line 7\n        /*0000*/                   BSSY B0, `(.L_x_0) ;\n.L_x_1:\n'
        '        /*0010*/              @P0 BRA `(.L_x_1) ;\n\t//## File "kernel.py", line 8\n.L_x_0:\n'
        "        /*0020*/                   EXIT ;\n"
    )
    texts, lines = compiling.instructions_of(listing)
    assert texts == ["BSSY B0, 0x20", "@P0 BRA 0x10", "EXIT"] and lines == [7, 7, 8]
    assert decoding.decoded(texts).rows["target"][1] == 1


def test_parameters_lie_where_ptx_says() -> None:
    ptx = ".visible .entry k(\n.param .u64 k_0,\n.param .u8 k_1,\n.param .f32 k_2,\n.param .u64 k_3\n)\n{"
    assert compiling.parameters_of(ptx) == [(0, 8), (8, 1), (12, 4), (16, 8)]


def test_it_counts_what_an_h200_counts() -> None:
    """Instructions of 96 kernels in a hundred, other counters of 98; where one differs, agreement.json has both numbers."""
    equal, kernels = AGREEMENT["equal"], AGREEMENT["equal"]["kernels"]
    assert kernels + len(AGREEMENT["refused"]) == 273 and kernels >= 260
    for counter in agreement.COMPARED:
        assert equal[counter] >= (0.96 if counter == "warp_instructions" else 0.98) * kernels, counter


def test_ordinary_kernels_were_counted_and_fall_into_halves() -> None:
    found = ordinary.stored()
    assert len(found) >= 60 and found.keys() <= {case.name for case in ordinary.ORDINARY}
    assert 0.3 < sum(map(is_held, found)) / len(found) < 0.6


EXITS = json.loads(loop_exits.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kernel", loop_exits.KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_lanes_that_leave_a_loop_go_on_together_where_machine_code_has_them_do_so(kernel: Any) -> None:
    name = kernel.py_func.__name__
    ours = launch_once(kernel, 2, 32, *loop_exits.arguments()).compiled
    asked = [each for each in loop_exits.COUNTERS if "store" in each or name != "unrolled_break"]  # its rounds split warps
    assert {each: getattr(ours, each) for each in asked} == {each: EXITS[name][each] for each in asked}


LAST = json.loads(last_loops.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", last_loops.BODIES)
def test_what_stands_before_the_end_of_a_last_loop_counts_as_in_machine_code(name: str) -> None:
    kernel = last_loops.kernel_of(last_loops.BODIES[name], build_module())
    ours = launch_once(kernel, last_loops.GRID, last_loops.BLOCK, *last_loops.arguments()).compiled
    assert {each: getattr(ours, each) for each in LAST[name]} == LAST[name]


DIVERGENT = json.loads(divergent_work.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", divergent_work.BODIES)
def test_work_of_some_lanes_counts_as_in_machine_code(name: str) -> None:
    dtype, body = divergent_work.BODIES[name]
    kernel = divergent_work.kernel_of(body, build_module())
    ours = launch_once(kernel, divergent_work.GRID, divergent_work.BLOCK, *divergent_work.arguments(dtype)).compiled
    warps, threads = DIVERGENT[name]
    assert ours.issued_warp_instructions == pytest.approx(warps, rel=0.1)
    assert ours.threads_per_instruction == pytest.approx(threads / warps, rel=0.03)


MERGED = json.loads(merged_arms.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MERGED)
def test_accesses_in_both_arms_of_a_branch_are_one_where_machine_code_has_one(name: str) -> None:
    kernel = merged_arms.kernel_of(merged_arms.BODIES[name], build_module())
    ours = launch_once(kernel, merged_arms.GRID, merged_arms.BLOCK, *merged_arms.arguments()).compiled
    assert {each: getattr(ours, each) for each in merged_arms.COUNTERS} == MERGED[name]


CASES = {case.name: case for case in ordinary.ORDINARY}


MADE_FROM = "linear_search longest_in_row longest_common utf8_starts parse_numbers count_words caesar".split()


@pytest.mark.parametrize("name", MADE_FROM)
def test_kernels_that_a_rule_was_made_for_count_as_machine_code_does(name: str) -> None:
    assert not ordinary.differing(ordinary.simulated(CASES[name]), ordinary.stored()[name])


def test_a_random_kernel_is_the_same_each_time_and_is_compared(tmp_path: Path) -> None:
    for _ in range(2):
        random_kernels.write(tmp_path, 3)
        (path,) = tmp_path.glob("*.py")
        assert path.read_text(encoding="utf-8").endswith(random_kernels.RandomKernelWriter(3).kernel()[-200:])
    launch = sampled.launch_in(path)
    counters = launch_once(launch.kernel, launch.grid, launch.block, *launch.given()).compiled
    theirs = {name: getattr(counters, name) for names in sampled.KINDS.values() for name in names}
    theirs["warp_instructions"] = counters.issued_warp_instructions
    found = sampled.compared(path, theirs)
    assert not found["wrong"] and found["instructions"] == 1 and "global" in found["used"]
    found = sampled.compared(path, theirs | {"global_load_requests": 1})
    assert list(found["wrong"]) == ["global"] and next(sampled.totals([found])).startswith("global 0 of 1")


def test_a_launch_is_recorded_with_all_that_its_kernel_needs(tmp_path: Path) -> None:
    text = "def kernel(a):\n    i = cuda.grid(1)\n    if i < a.size:\n        a[i] = twice(a[i]) * WEIGHTS[0]\n"
    names: dict[str, object] = {"cuda": Reference("numba.cuda"), "WEIGHTS": (3.0, 4.0)}
    names["twice"] = Function.from_text("def twice(x):\n    return 2 * x\n", "device.py", {})
    kernel = Function.from_text(text, "kernel.py", names)
    recorder = recording.LaunchRecorder(tmp_path, "a/program.py")
    for _ in range(2):
        recorder.note(kernel, (4, 1000), 128, [np.ones(4, np.float32)])
    recorder.note(kernel, 1, 128, [object()])
    (path,) = tmp_path.glob("*.py")
    assert path.stem.startswith("a_program_py_kernel_")
    launch = sampled.launch_in(path)
    (a,) = launch.given()
    launch_once(launch.kernel, 1, launch.block, a)
    assert a.tolist() == [6] * 4 and launch.arguments[0].tolist() == [1] * 4
    assert np.prod(launch.grid) * 128 <= recording.MOST_THREADS
