"""How well the emulator agrees with an H200: its counts of the kernels that were measured there, beside the counters.

    python -m autograder.simgpu.measurements.machine_code_emulator.agreement     # compiler wheels and cc; no GPU; 20 minutes

The packages are those of ../spellings.py. The kernels are the 177 of ../cases.py and the learned half of
../unseen_kernels.py. Writes agreement.json: of how many kernels each counter is equal, and every counter that is not. The
held half is left alone, since whoever looks at one of its differences has looked at the kernel.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from autograder.simgpu.measurements.cases import CASES
from autograder.simgpu.measurements.machine_code_emulator.decoding import Unsupported
from autograder.simgpu.measurements.machine_code_emulator.launching import Faulted, carried_out
from autograder.simgpu.measurements.unseen_kernels import LEARNED

MEASUREMENTS = Path(__file__).resolve().parent.parent
RESULT = Path(__file__).with_name("agreement.json")
COMPARED = (
    "warp_instructions", "threads_per_instruction", "global_load_requests", "global_load_sectors", "global_store_requests",
    "global_store_sectors", "global_red_requests", "global_atom_requests", "local_load_requests", "local_store_requests",
    "shared_load_wavefronts", "shared_load_bank_conflicts", "shared_store_wavefronts", "shared_store_bank_conflicts",
)  # fmt: skip
ROUNDED = 0.0051  # the profiler gives a ratio with two digits


def measured() -> dict[str, dict[str, Any]]:
    """The H200's counters of all kernels that were measured, by name."""
    files = (MEASUREMENTS / f"{name}.json" for name in ("h200_counters", "unseen_counters"))
    return {name: row for file in files for name, row in json.loads(file.read_text(encoding="utf-8"))["cases"].items()}


def equal(counter: str, ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= (ROUNDED if counter == "threads_per_instruction" else 0)


def main() -> None:
    hardware = measured()
    agreeing: Counter[str] = Counter()
    differences: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    for case in (*CASES, *LEARNED):
        try:
            done = carried_out(case.kernel, case.grid, case.block, case.make_arguments())
        except (Unsupported, Faulted) as error:
            refused[case.name] = str(error)
            continue
        counted, wanted = done.summary(), hardware[case.name]
        opcodes = {name: n for name, n in wanted["opcodes"].items() if n}
        agreeing["kernels"] += 1
        agreeing["each opcode"] += done.opcodes() == opcodes
        for counter in COMPARED:
            if equal(counter, counted[counter], wanted[counter]):
                agreeing[counter] += 1
            else:
                differences.setdefault(case.name, {})[counter] = [counted[counter], wanted[counter]]
        print(case.name, differences.get(case.name, ""), file=sys.stderr, flush=True)
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    kept = {"versions": versions, "equal": dict(agreeing), "emulated and measured": differences, "refused": refused}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
