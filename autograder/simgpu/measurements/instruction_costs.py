"""How many machine instructions the compiler makes of each operation: of what a kernel has more than another.

    python -m autograder.simgpu.measurements.instruction_costs     # needs numba-cuda and NVIDIA's compiler, no GPU; minutes

Compiles pairs of kernels for compute capability 9.0 that differ by one operation, and counts the instructions of each.
Operations on floats are carried out on the emulator (machine_code_emulator/, which needs a C compiler), by a warp whose
lanes have numbers between 0 and 1, 1 and 2 for acosh: so the arms of a branch count that some lane takes, and a loop by its
rounds. All others, and what the emulator refuses, are counted on their usual way: what is jumped over unless a number is
out of the ordinary is left out. Writes facts/instruction_costs.json, which facts/instruction_costs.py reads.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from autograder.simgpu.measurements.spellings import tool

COSTS = Path(__file__).parents[1] / "facts" / "instruction_costs.json"  # the engine reads it
FLOATS = ("float32", "float64")
OF_FLOAT64 = ("DADD", "DMUL", "DFMA", "DSETP")  # what Nsight Compute counts as the pipe of float64
WARP = 32

KERNEL = """
def kernel(a, b, c, d, out, second, flags, numbers, wide, n):
    part = cuda.shared.array((8, 8, 8), float32)
    row = cuda.shared.array(512, float32)
    i = cuda.threadIdx.x & 1023
    x = a[i]
    y = b[i]
    p = c[i]
    q = d[i]
    row[i] = x
    part[i & 7, i & 7, i & 7] = x
    cuda.syncthreads()
{body}
    second[i] = y
    numbers[i] = p
    wide[i] = q
"""
"""x, y: floats of one type; p, q: int64; i is known not to be negative, p and q are not."""

BASE = "out[i] = x"
OF_INTEGERS = {
    "sum": "p + q", "product": "p * q", "product with a constant": "p * 7", "product with a power of two": "p * 8",
    "and": "p & q", "shift": "p << 3", "quotient": "p // q", "remainder": "p % q", "quotient by a constant": "p // 7",
    "remainder by a constant": "p % 7", "quotient by a power of two": "p // 8", "remainder by a power of two": "p % 8",
    "remainder by a power of two, not negative": "(i + 5) % 8", "negation": "-p", "minimum": "min(p, q)",
    "power": "p ** q",
}  # fmt: skip
OF_FLOATS = {
    "sum": "x + y", "product": "x * y", "quotient": "x / y", "remainder": "x % y", "floor quotient": "x // y",
    "power": "x ** y", "minimum": "min(x, y)", "negation": "-x", "reciprocal": "float32(1) / x",
}  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    """One instruction of a listing: its name, whether a predicate decides about it, and where it jumps (a label)."""

    name: str
    is_predicated: bool
    target: str


def usual_way(listing: str) -> list[Instruction]:
    """What a warp carries out of a kernel whose numbers are ordinary, and that enters no loop twice: calls followed."""
    code, labels = parsed(listing)
    way: list[Instruction] = []
    back: list[int] = []
    at = 0
    while at < len(code):
        each = code[at]
        way.append(each)
        if each.name == "EXIT" and not each.is_predicated:
            break
        goal = labels.get(each.target, -1)
        if each.name == "CALL" and goal >= 0:
            back.append(at + 1)
            at = goal
        elif each.name == "RET" and back and not each.is_predicated:
            at = back.pop()
        elif each.name == "BRA" and goal > at and (not each.is_predicated or _is_passed_over(code, labels, at, goal)):
            at = goal
        else:
            at += 1
    return way


def parsed(listing: str) -> tuple[list[Instruction], dict[str, int]]:
    """Instructions of nvdisasm's listing, and which of them each label stands before."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in listing.splitlines():
        if label := re.match(r"([.$\w]+):$", line):
            labels[label[1]] = len(code)
        elif found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z]\w*)[\w.]*(.*?);", line):
            target = re.search(r"`\(([.$\w]+)\)", found[3])
            code.append(Instruction(found[2], bool(found[1]), target[1] if target else ""))
    return code, labels


def _is_passed_over(code: list[Instruction], labels: Mapping[str, int], at: int, goal: int) -> bool:
    """Whether ordinary numbers take a jump: over what is slow, or, of two arms, over the one that is shorter."""
    if _is_slow(code, labels, at, goal):
        return True
    last = code[goal - 1]
    end = labels.get(last.target, -1)
    if last.name != "BRA" or last.is_predicated or end <= goal:
        return False
    return end - goal > goal - 1 - at and not _is_slow(code, labels, goal - 1, end)


def _is_slow(code: list[Instruction], labels: Mapping[str, int], at: int, goal: int) -> bool:
    """Whether a jump passes over what only numbers out of the ordinary need: a call, or a loop over digits."""
    for place in range(at + 1, goal):
        each = code[place]
        if each.name == "CALL" and not any(other.name == "BRA" for other in code[at + 1 : place]):
            return True
        if each.name == "BRA" and at < labels.get(each.target, place) < place:
            return True
    return False


def in_the_loop(listing: str) -> int:
    """The instructions of the shortest loop, that of one round: from where a jump leads back to, up to that jump."""
    code, labels = parsed(listing)
    back = [(labels[each.target], at) for at, each in enumerate(code) if labels.get(each.target, at) < at]
    return min(end - begin + 1 for begin, end in back if code[end - 1].name != "BRA" and end > begin + 1)


def compiled(source: str, types: Sequence[Any], *, fastmath: bool = False) -> str:
    """The machine code of a kernel, as nvdisasm lists it."""
    from numba import cuda, float32

    names: dict[str, Any] = {"cuda": cuda, "np": np, "numpy": np, "math": math, "float32": float32}
    exec("import cmath, operator", names)
    exec(compile(source, "<kernel>", "exec"), names)
    ptx, _ = cuda.compile_ptx(names["kernel"], tuple(types), cc=(9, 0), fastmath=fastmath)
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        subprocess.run([tool("ptxas"), "-arch=sm_90", str(made), "-o", str(cubin)], check=True)
        run = [tool("nvdisasm"), "-c", str(cubin)]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout


class Costs:
    """Counts the instructions of kernels with one operation more than others."""

    def __init__(self, dtype: str, *, fastmath: bool = False) -> None:
        import numba

        real, whole = getattr(numba, dtype)[::1], numba.int64[::1]
        self.types = [real, real, whole, whole, real, real, numba.boolean[::1], whole, whole, numba.int64]
        self.float32 = numba.float32
        self.fastmath = fastmath
        self._known: dict[str, list[Instruction]] = {}

    def of(self, body: str, base: str = BASE) -> int:
        """The instructions that a body has more than another one."""
        return len(self._way(body)) - len(self._way(base))

    def _way(self, body: str) -> list[Instruction]:
        if body not in self._known:
            self._known[body] = usual_way(compiled(_kernel(body), self.types, fastmath=self.fastmath))
        return self._known[body]

    def of_a_store(self, place: str, base: str) -> int:
        """A store to an element of a matrix of global memory."""
        types = [*self.types, *(self.float32[(slice(None),) * (n - 1) + (slice(None, None, 1),)] for n in (1, 2, 3))]
        head = "wide, n, matrix1, matrix2, matrix3"
        texts = [_kernel(body).replace("wide, n", head, 1) for body in (f"{BASE}\n{place} = 1", base)]
        one, other = (len(usual_way(compiled(text, types))) for text in texts)
        return one - other

    def of_a_round(self, loop: str) -> int:
        """The instructions of one round of a loop."""
        return in_the_loop(compiled(_kernel(f"{loop}\n{BASE}"), self.types))


def _kernel(body: str) -> str:
    return KERNEL.format(body="\n".join(f"    {line}" for line in body.split("\n")))


def of_floats(dtype: str, *, fastmath: bool = False) -> Iterator[tuple[str, int]]:
    costs = Costs(dtype, fastmath=fastmath)
    for name, text in OF_FLOATS.items():
        done = None if fastmath else carried_out_more(f"out[i] = {text}", dtype)
        yield name, costs.of(f"out[i] = {text}") if done is None else done
    yield "from an integer", costs.of("out[i] = p")


def carried_out_more(body: str, dtype: str, *opcodes: str) -> int | None:
    """The instructions (of these names, if any) that a warp carries out more than for `BASE`; None if refused."""
    from numba import cuda, float32

    from autograder.simgpu.measurements.machine_code_emulator.decoding import Unsupported
    from autograder.simgpu.measurements.machine_code_emulator.launching import carried_out

    found = []
    for text in (body, BASE):
        names: dict[str, Any] = {"cuda": cuda, "np": np, "math": math, "float32": float32}
        exec(compile(_kernel(text), "<kernel>", "exec"), names)
        rng = np.random.default_rng(5)
        reals = [rng.uniform(0.05, 0.95, WARP).astype(dtype) for _ in range(2)]
        wholes = [rng.integers(1, 1000, WARP) for _ in range(2)]
        room = [np.zeros(WARP + 1, each) for each in (dtype, dtype, np.bool_, np.int64, np.int64)]
        try:
            done = carried_out(cuda.jit(names["kernel"]), 1, WARP, (*reals, *wholes, *room, 5))
        except (Unsupported, ValueError):
            return None
        found.append(done.total("warps", *opcodes))
    return found[0] - found[1]


def of_the_float64_pipe() -> Iterator[tuple[str, int]]:
    """Of the instructions of each operation on float64, those of that pipe."""
    for name, text in OF_FLOATS.items():
        yield name, carried_out_more(f"out[i] = {text}", "float64", *OF_FLOAT64) or 0


def of_integers() -> Iterator[tuple[str, int]]:
    costs = Costs("float32")
    for name, text in OF_INTEGERS.items():
        yield name, costs.of(f"numbers[i + 1] = {text}", "numbers[i + 1] = p")
    for name, divisor in (("quotient", "q"), ("quotient by a constant", "8")):
        pair = f"numbers[i + 1] = p // {divisor}\nnumbers[i + 2] = p % {divisor}"
        both = costs.of(pair, "numbers[i + 1] = p\nnumbers[i + 2] = q")
        one = costs.of(f"numbers[i + 1] = p % {divisor}", "numbers[i + 1] = p")
        yield f"{name} beside the remainder", both - one
    yield "comparison", costs.of("flags[i] = p < q", "flags[i] = True")


def of_addresses() -> Iterator[tuple[str, int]]:
    costs = Costs("float32")
    masked = f"{BASE}\nnumbers[i + 1] = p & 1023\nnumbers[i + 2] = q & 1023\nnumbers[i + 3] = n & 1023"
    for dimensions in (1, 2, 3):
        signed = ", ".join(("p", "q", "n")[:dimensions])
        plain = ", ".join(("p & 1023", "q & 1023", "n & 1023")[:dimensions])
        yield f"global, {dimensions}", costs.of_a_store(f"matrix{dimensions}[{signed}]", BASE) - 1
        with_masks = "numbers[i + 1] = p & 1023\nnumbers[i + 2] = q & 1023\nnumbers[i + 3] = n & 1023\n"
        place = f"{with_masks}matrix{dimensions}[{plain}]"
        yield f"global, {dimensions}, not negative", costs.of_a_store(place, masked) - 1
    for dimensions, array in ((1, "row"), (3, "part")):
        signed = ", ".join(("p", "q", "n")[:dimensions])
        yield f"shared, {dimensions}", costs.of(f"{BASE}\n{array}[{signed}] = y") - 1
        plain = ", ".join(("p & 7", "q & 7", "n & 7")[:dimensions])
        kept = f"{BASE}\nnumbers[i + 1] = p & 7\nnumbers[i + 2] = q & 7\nnumbers[i + 3] = n & 7"
        yield f"shared, {dimensions}, not negative", costs.of(f"{kept}\n{array}[{plain}] = y", kept) - 1


def of_rounds() -> Iterator[tuple[str, int]]:
    costs = Costs("float32")
    body = "    cuda.syncthreads()\n    x += y * 2"  # a barrier and one instruction
    yield "for, its counter unused", costs.of_a_round(f"for k in range(n):\n{body}") - 2
    yield "for, its counter used", costs.of_a_round(f"for k in range(n):\n{body}\n    q ^= k") - 4
    yield "while", costs.of_a_round(f"k = p\nwhile k < n:\n{body}\n    q ^= k\n    k += 1") - 4


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    found: dict[str, Mapping[str, int]] = {
        "int64": dict(of_integers()), **{dtype: dict(of_floats(dtype)) for dtype in FLOATS},
        "float32, fastmath": dict(of_floats("float32", fastmath=True)), "float64 pipe": dict(of_the_float64_pipe()),
        "address": dict(of_addresses()), "round": dict(of_rounds()),
    }  # fmt: skip
    COSTS.write_text(json.dumps({"versions": versions(), "costs": found}, indent=1) + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    """Of the compilers."""
    return {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}


if __name__ == "__main__":
    main()
