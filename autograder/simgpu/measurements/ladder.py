"""Machine code of lesson 8's ladder: the instructions of a tile, those outside the loop over tiles, and the registers.

    python -m autograder.simgpu.measurements.ladder     # needs numba-cuda, ptxas and nvdisasm; no GPU; a minute

The packages are those of spellings.py and nvidia-cuda-nvdisasm. `main` compiles each rung for compute capability 9.0 and
writes ladder.json. A loop inside the loop over tiles goes round as often as a tile's multiply-adds ask for. Instructions
under a predicate count, and so do those behind a jump that is there for sizes that no tile divides.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import tool

COMPILED = Path(__file__).with_name("ladder.json")
KEPT = ("FFMA", "LDG", "STG", "LDS", "LDS.64", "LDS.128", "STS", "STS.64", "STS.128", "LDL", "STL", "BAR")
SMALL = {"rows": 64, "columns": 64, "depth": 16, "own_columns": 4}


@dataclass(frozen=True)
class Rung:
    """One kernel: what makes it, the tile of C that a block of `threads` computes, and the depth of the tiles of A and B."""

    name: str
    kernel: str  # in autograder.course.lesson08.kernels, or `written_out`
    rows: int = 128
    columns: int = 128
    threads: int = 256
    depth: int = 8
    is_flat: bool = False  # takes vectors and sizes
    is_any_size: bool = False

    @property
    def sums(self) -> int:
        """The elements of C that a thread computes."""
        return self.rows * self.columns // self.threads

    def make(self) -> Any:
        """The kernel, of whatever `cuda` is installed."""
        from autograder.course.lesson08 import kernels

        if self.kernel != "written_out":
            return getattr(kernels, self.kernel)
        own = SMALL if self.rows == 64 else {"depth": self.depth}
        return kernels.written_out(**own, any_size=self.is_any_size)

    def arguments(self, tiles: int) -> tuple[Any, ...]:
        """A launch of one block that goes through so many tiles."""
        depth = tiles * self.depth
        a, b = np.ones((self.rows, depth), np.float32), np.ones((depth, self.columns), np.float32)
        c = np.zeros((self.rows, self.columns), np.float32)
        if not self.is_flat:
            return a, b, c
        sizes = (np.uint32(each) for each in (self.rows, depth, self.columns))
        return a.reshape(-1), b.reshape(-1), c.reshape(-1), *sizes


RUNGS = (
    Rung("strips", "strips", rows=16, threads=128),
    Rung("squares", "squares"),
    Rung("unsigned", "unsigned"),
    Rung("spread", "spread"),
    Rung("ahead", "ahead"),
    Rung("flat", "flat", is_flat=True),
    Rung("written out", "written_out", is_flat=True),
    Rung("written out, depth 16", "written_out", depth=16, is_flat=True),
    Rung("written out, depth 16, any size", "written_out", depth=16, is_flat=True, is_any_size=True),
    Rung("written out, 64 x 64", "written_out", 64, 64, 128, 16, is_flat=True),
    Rung("written out, 64 x 64, any size", "written_out", 64, 64, 128, 16, is_flat=True, is_any_size=True),
)


def machine_code(rung: Rung) -> dict[str, Any]:
    """Registers, bytes of shared memory, and instructions of a warp: for a tile, and in all that it does but once."""
    listing, said = _compiled(rung)
    names, loops = _read(listing)
    once: Counter[str] = Counter(names)
    tile: Counter[str] = Counter()
    wanted = rung.depth * rung.sums
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
    registers, shared = (int(re.search(pattern, said)[1]) for pattern in (r"Used (\d+) registers", r"(\d+) bytes smem"))  # type: ignore[index]
    spilled = int(re.search(r"(\d+) bytes spill stores", said)[1])  # type: ignore[index]
    return {
        "registers": registers,
        "shared_bytes": shared,
        "spilled_bytes": spilled,
        "tile": {"instructions": tile.total()} | {name: tile[name] for name in KEPT if tile[name]},
        "once": {"instructions": once.total()} | {name: once[name] for name in KEPT if once[name]},
    }


def _compiled(rung: Rung) -> tuple[str, str]:
    """The listing of a rung's machine code, and what the assembler says of it."""
    from numba import cuda, typeof

    ptx, _ = cuda.compile_ptx(rung.make().py_func, tuple(map(typeof, rung.arguments(1))), cc=(9, 0))
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        command = [tool("ptxas"), "-v", "-arch=sm_90", str(made), "-o", str(cubin)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        listing = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], check=True, capture_output=True, text=True)
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
