"""Machine code of lesson 8's ladder: the instructions of a tile, those outside the loop over tiles, and the registers.

    python -m autograder.course.lesson08.instructions     # needs numba-cuda, ptxas and nvdisasm; no GPU; a minute

The packages are those of autograder/simgpu/measurements/spellings.py, and nvidia-cuda-nvdisasm. `main` compiles each rung
for compute capability 9.0 and writes instructions.json. A loop inside the loop over tiles goes round as often as a tile's
multiply-adds ask for. Instructions under a predicate count, and so do those behind a jump that is there for sizes that no
tile divides.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.course.lesson08.kernels import ANY_SIZE, LADDER, SMALL, SMALL_ANY_SIZE
from autograder.course.lesson08.launching import Rung
from autograder.simgpu.measurements.spellings import tool

COMPILED = Path(__file__).with_suffix(".json")
KEPT = ("FFMA", "LDG", "STG", "LDS", "LDS.64", "LDS.128", "STS", "STS.64", "STS.128", "LDL", "STL", "BAR")


RUNGS = (*LADDER[3:], SMALL, ANY_SIZE, SMALL_ANY_SIZE)
"""Those whose threads keep several sums in registers."""
DEEP = ("deep", "small tiles", "any size", "small tiles, any size")


def depth_of(rung: Rung) -> int:
    """The columns of A and rows of B in a tile."""
    return 16 if rung.name in DEEP else 8


def arguments(rung: Rung, tiles: int) -> tuple[Any, ...]:
    """A launch of one block that goes through so many tiles; all elements are 1, so that C holds the depth."""
    (rows, columns), depth = rung.tile, tiles * depth_of(rung)
    a, b = np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32)
    c = np.zeros((rows, columns), np.float32)
    if not rung.is_flat:
        return a, b, c
    sizes = (np.uint32(each) for each in (rows, depth, columns))
    return a.reshape(-1), b.reshape(-1), c.reshape(-1), *sizes


def machine_code(rung: Rung) -> dict[str, Any]:
    """Registers, bytes of shared memory, and instructions of a warp: for a tile, and in all that it does but once."""
    listing, said = compiled(rung, "nvdisasm", "-c")
    names, loops = _read(listing)
    once: Counter[str] = Counter(names)
    tile: Counter[str] = Counter()
    threads = rung.block if isinstance(rung.block, int) else math.prod(rung.block)
    wanted = depth_of(rung) * math.prod(rung.tile) // threads  # multiply-adds of a thread
    main = max(loops, key=lambda each: each[1] - each[0])
    for begin, end in loops:
        body = Counter(names[begin : end + 1])
        if (begin, end) == main:
            once -= body
            tile += body
        elif body["FFMA"]:
            more = {name: count * (wanted // body["FFMA"] - 1) for name, count in body.items()}
            (tile if main[0] <= begin <= main[1] else once).update(more)
    if tile["FFMA"] != wanted:
        raise ValueError(f"{rung.name}: a tile takes {tile['FFMA']} multiply-adds, not {wanted}: look at its loops.")
    return {
        "registers": number_said(said, r"Used (\d+) registers"),
        "shared_bytes": number_said(said, r"(\d+) bytes smem"),
        "spilled_bytes": number_said(said, r"(\d+) bytes spill stores"),
        "tile": {"instructions": tile.total()} | {name: tile[name] for name in KEPT if tile[name]},
        "once": {"instructions": once.total()} | {name: once[name] for name in KEPT if once[name]},
    }


def number_said(said: str, pattern: str) -> int:
    """The number of which the assembler says so."""
    found = re.search(pattern, said)
    assert found is not None, said
    return int(found[1])


def compiled(rung: Rung, *disassembler: str) -> tuple[str, str]:
    """The listing of a rung's machine code by a tool with its options, and what the assembler says of it."""
    from numba import cuda, typeof

    ptx, _ = cuda.compile_ptx(rung.kernel.py_func, tuple(map(typeof, arguments(rung, 1))), cc=(9, 0))
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        command = [tool("ptxas"), "-v", "-arch=sm_90", str(made), "-o", str(cubin)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        name, *options = disassembler
        listing = subprocess.run([tool(name), *options, str(cubin)], check=True, capture_output=True, text=True)
    return listing.stdout, said.stdout + said.stderr


def _read(listing: str) -> tuple[Sequence[str], Sequence[tuple[int, int]]]:
    """The names of the instructions, and where each loop begins and ends among them."""
    names: list[str] = []
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L_x_\w+):", line):
            labels[label[1]] = len(names)
        elif found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9.]*\w)(.*)", line):
            parts = found[1].split(".")
            wide = next((f".{each}" for each in parts if each in ("64", "128") and parts[0] in ("LDS", "STS")), "")
            target = re.search(r"`\((\.L_x_\w+)\)", found[2]) if parts[0] == "BRA" else None
            begin = labels.get(target[1]) if target else None
            if begin is not None and begin < len(names):  # not the jump to itself that fills the end
                loops.append((begin, len(names)))
            names.append(parts[0] + wide)
    while names and names[-1] in ("NOP", "BRA"):
        names.pop()
    return names, loops


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    kept = {"versions": versions, "rungs": {each.name: machine_code(each) for each in RUNGS}}
    COMPILED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
