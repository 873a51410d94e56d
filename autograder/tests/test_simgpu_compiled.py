"""What the compiler leaves of kernels, against an H200's counters of kernels that no rule was made for, and machine code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.records.counters import Counters
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements import differences, registers, spellings, unseen_kernels

UNSEEN = json.loads(Path(differences.__file__).with_name("unseen_counters.json").read_text(encoding="utf-8"))["cases"]
LEFT = json.loads(registers.COMPILED.read_text(encoding="utf-8"))["instructions"]
GROUPS = {
    "global": differences.GLOBAL + differences.ATOMIC,
    "shared": differences.SHARED,
    "ratio": (differences.RATIO,),
    "local": differences.LOCAL,
}
# The shares that agree. Rules were made with the first half in view; of the second only the shares were looked at.
FLOORS = {
    "learned": {"global": 0.97, "shared": 0.98, "ratio": 0.96, "local": 1.0},
    "held": {"global": 0.95, "shared": 0.95, "ratio": 0.87, "local": 0.37},
}


def _measured(name: str) -> dict[str, Any]:
    found: dict[str, Any] = dict(UNSEEN[name])
    for what in ("requests", "sectors"):
        found[f"global_atomic_{what}"] = found[f"global_red_{what}"] + found[f"global_atom_{what}"]
    return found


def _compared(half: str) -> dict[str, list[bool]]:
    """Of each group of counters, which agree."""
    agree: dict[str, list[bool]] = {group: [] for group in GROUPS}
    for case in unseen_kernels.CASES:
        if unseen_kernels.is_held(case.name) != (half == "held"):
            continue
        measured = _measured(case.name)
        ours = launch_once(case.kernel, case.grid, case.block, *case.make_arguments()).compiled
        has_shared = ours.shared_load_requests or ours.shared_store_requests or measured["shared_load_wavefronts"]
        for group, names in GROUPS.items():
            if group == "shared" and (ours.shared_atomic_requests or not has_shared):
                continue  # an H200 counts shared atomics among both
            for name in names:
                pair = getattr(ours, name), measured[name]
                if any(pair):
                    agree[group].append(differences.agree(name, *pair))
    return agree


@pytest.mark.covering
@pytest.mark.parametrize("half", ["learned", "held"])
def test_as_many_counters_of_unseen_kernels_agree_as_ever(half: str) -> None:
    agree = _compared(half)
    shares = {group: sum(found) / len(found) for group, found in agree.items()}
    print(half, {group: f"{sum(found)} of {len(found)}" for group, found in agree.items()})
    assert all(shares[group] >= floor for group, floor in FLOORS[half].items()), shares


def _launched(name: str) -> Counters:
    kernel = spellings.defined(registers.text(name), cuda_module.build_module())
    return launch_once(kernel, 1, 32, *registers.arguments()).compiled


@pytest.mark.parametrize("name", list(registers.PIECES))
def test_a_warp_sends_as_many_requests_as_machine_code_has_instructions(name: str) -> None:
    ours = _launched(name)
    counted = {
        "LDG": ours.global_load_requests, "STG": ours.global_store_requests, "LDS": ours.shared_load_requests,
        "STS": ours.shared_store_requests, "LDL": ours.local_load_requests, "STL": ours.local_store_requests,
    }  # fmt: skip
    assert {opcode: n for opcode, n in counted.items() if n} == LEFT[name]


def test_lanes_with_more_rounds_than_others_meet_at_the_end_of_theirs() -> None:
    text = spellings.HEAD + (
        "@cuda.jit\ndef kernel(a, lengths, c):\n    t = cuda.threadIdx.x\n    total = float32(0)\n"
        "    for j in range(lengths[t]):\n        total += a[32 * j + t]\n    c[t] = total\n"
    )
    kernel = spellings.defined(text, cuda_module.build_module())
    a, _, c, _, _ = registers.arguments()
    lengths = np.where(np.arange(32) < 16, 5, 3).astype(np.int32)
    record = launch_once(kernel, 1, 32, a, lengths, c)
    # the source: five rounds. The compiler: four at once for half of the lanes, then one and three that are left over.
    assert record.counters.global_load_requests == 1 + 5
    assert record.compiled.global_load_requests == 1 + 4 + 3
