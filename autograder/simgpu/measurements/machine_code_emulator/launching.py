"""Carries a launch out on the emulator: arguments to the places where a kernel finds them, and counts back."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import subprocess
import sysconfig
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.simgpu.measurements.machine_code_emulator.compiling import Compiled, compiled
from autograder.simgpu.measurements.machine_code_emulator.decoding import Unsupported
from autograder.simgpu.measurements.machine_code_emulator.operations import COUNTS, FAULTS, header

HERE = Path(__file__).resolve().parent
SOURCES = ("machine.h", "values.c", "memory.c", "stepping.c")
BASE = 0x7F00_0000_0000
APART = 512  # arrays begin at multiples of so many bytes, as from an allocator
SHARED_BEGINS = 1024  # the first bytes of a block's shared memory are the system's
LIMIT = 200_000_000


class Faulted(Exception):
    """The machine code did what no GPU goes on after, or what the emulator cannot follow."""


class _Launch(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("instructions", "warps_of_block", "threads_of_block", "shared_end")),
        ("grid", ctypes.c_int32 * 3),
        ("block", ctypes.c_int32 * 3),
        ("memory", ctypes.c_void_p),
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("constant", ctypes.c_void_p * 8),
        ("constant_size", ctypes.c_int64 * 8),
        ("counts", ctypes.c_void_p),
        ("limit", ctypes.c_uint64),
        ("fault", ctypes.c_int32),
        ("fault_at", ctypes.c_int32),
    ]


@functools.cache
def library() -> ctypes.CDLL:
    """The C files, compiled once for as long as they are as they are."""
    text = "#include <stdlib.h>\n" + header() + "".join((HERE / name).read_text(encoding="utf-8") for name in SOURCES)
    made = Path(tempfile.gettempdir(), f"machine_code_{hashlib.sha256(text.encode()).hexdigest()[:16]}.so")
    if not made.exists():
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        partial = made.with_suffix(f".{id(text)}")
        options = ["-O2", "-march=native", "-ffp-contract=off", "-frounding-math", "-shared", "-fPIC", "-x", "c", "-"]
        subprocess.run([compiler, *options, "-o", str(partial), "-lm"], input=text, text=True, check=True)
        partial.replace(made)
    return ctypes.CDLL(str(made))


@dataclass
class Carried:
    """What a launch did: the counts of each instruction (a column for each of `COUNTS`), and the arrays it left."""

    code: Compiled
    counts: np.ndarray
    arguments: tuple[Any, ...]

    def total(self, what: str, *opcodes: str) -> int:
        """A count over all instructions, or those whose name begins with one of these."""
        column = self.counts[:, COUNTS.index(what)]
        if not opcodes:
            return int(column.sum())
        return sum(int(n) for at, n in enumerate(column) if n and self.code.code.opcode(at).startswith(opcodes))

    def opcodes(self) -> Counter[str]:
        """Warp instructions by name with modifiers."""
        found: Counter[str] = Counter()
        for at, n in enumerate(self.counts[:, 0]):
            if n:
                found[self.code.code.opcode(at)] += int(n)
        return found

    def summary(self) -> dict[str, float]:
        """The counters as the profiler names them (read_counters.py)."""
        warps, threads = self.total("warps"), self.total("threads")
        found: dict[str, float] = {"warp_instructions": warps, "thread_instructions": threads}
        found["threads_per_instruction"] = round(threads / warps, 4)
        for name, opcode in (("load", "LDG"), ("store", "STG"), ("red", "REDG"), ("atom", "ATOMG")):
            found[f"global_{name}_requests"] = self.total("requests", opcode)
            if name in ("load", "store"):  # what an atomic moves is another question
                found[f"global_{name}_sectors"] = self.total("sectors", opcode)
        for name, opcode in (("load", "LDL"), ("store", "STL")):
            found[f"local_{name}_requests"] = self.total("requests", opcode)
        for name, opcode in (("load", "LDS"), ("store", "STS")):
            found[f"shared_{name}_requests"] = self.total("warps", opcode)  # as the profiler, also where no lane does
            found[f"shared_{name}_wavefronts"] = self.total("wavefronts", opcode)
            found[f"shared_{name}_bank_conflicts"] = self.total("conflicts", opcode)
        return found


def sizes(shape: Any) -> tuple[int, int, int]:
    axes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    x, y, z, *_ = *map(int, axes), 1, 1, 1
    return x, y, z


class Arguments:
    """Global memory with a launch's arrays, and the parameters that a kernel is handed, one value for each."""

    def __init__(self, arguments: tuple[Any, ...], variables: bytes) -> None:
        self.places: list[tuple[int, np.ndarray]] = [(0, np.frombuffer(variables, np.uint8))]
        self.values: list[bytes] = []
        self.end = -(-len(variables) // APART) * APART
        for each in arguments:
            self.add(each)
        self.memory = np.zeros(self.end + APART, np.uint8)
        for at, array in self.places:
            self.memory[at : at + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def room(self, array: np.ndarray) -> int:
        at = self.end
        self.places.append((at, array))
        self.end = -(-(at + max(array.nbytes, 1)) // APART) * APART
        return BASE + at

    def add(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise Unsupported("an array that is not contiguous")
            self.words(0, 0, value.size, value.itemsize, self.room(value), *value.shape, *value.strides)
        elif isinstance(value, tuple):
            for each in value:
                self.add(each)
        elif isinstance(value, (bool, np.bool_)):
            self.values.append(bytes([bool(value)]))
        elif isinstance(value, int):
            self.values.append(np.int64(value).tobytes() if value < 2**63 else np.uint64(value).tobytes())
        elif isinstance(value, float):
            self.values.append(np.float64(value).tobytes())
        elif isinstance(value, complex):
            self.values += [np.float64(value.real).tobytes(), np.float64(value.imag).tobytes()]
        elif isinstance(value, np.complexfloating):
            self.values += [value.real.tobytes(), value.imag.tobytes()]
        elif isinstance(value, np.generic):
            self.values.append(value.tobytes())
        else:
            raise Unsupported(f"an argument of {type(value).__name__}")

    def words(self, *words: int) -> None:
        self.values += [np.int64(each).tobytes() for each in words]

    def left(self, array: np.ndarray) -> np.ndarray:
        """What an array holds after the launch."""
        at = next(at for at, each in self.places if each is array)
        return self.memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)


def carried_out(
    kernel: Any, grid: Any, block: Any, arguments: tuple[Any, ...], shared_bytes: int = 0, limit: int = LIMIT
) -> Carried:
    """Compiles a kernel and carries a launch of it out; the arrays handed in stay as they are.

    Raises `Unsupported` where the emulator lacks something, `Faulted` where the code goes where no GPU goes on.
    """
    code = compiled(kernel, arguments)
    laid = Arguments(arguments, code.variables)
    for offset, at in code.variables_at:
        code.constants[4][offset : offset + 8] = np.uint64(BASE + at).tobytes()
    bank = code.constants[0]
    for offset, value in zip((0, 12, 40), (sizes(block), sizes(grid), (60 * 1024,)), strict=True):
        bank[offset : offset + 4 * len(value)] = np.array(value, np.int32).tobytes()
    if [len(each) for each in laid.values] != [size for _, size in code.parameters]:
        raise Unsupported("parameters that are not as expected")
    for (offset, size), each in zip(code.parameters, laid.values, strict=True):
        bank[code.parameters_at + offset : code.parameters_at + offset + size] = each
    launch = _Launch(instructions=len(code.code.rows), base=BASE, size=len(laid.memory), limit=limit)
    launch.threads_of_block = math.prod(sizes(block))
    launch.warps_of_block = -(-launch.threads_of_block // 32)
    launch.shared_end = SHARED_BEGINS + -(-code.shared_bytes // 16) * 16 + shared_bytes
    launch.grid[:], launch.block[:] = sizes(grid), sizes(block)
    launch.code, launch.memory = code.code.rows.ctypes.data, laid.memory.ctypes.data
    banks = {number: np.frombuffer(data, np.uint8) for number, data in code.constants.items() if number < 8 and data}
    for number, data in banks.items():
        launch.constant[number], launch.constant_size[number] = data.ctypes.data, len(data)
    counts = np.zeros((len(code.code.rows), len(COUNTS)), np.uint64)
    launch.counts = counts.ctypes.data
    fault = library().run_launch(ctypes.byref(launch))
    if fault:
        at = launch.fault_at
        raise Faulted(f"{FAULTS[fault]} at {16 * at:#06x}, line {code.lines[at]}: {code.code.texts[at]}")
    after = tuple(laid.left(each).copy() if isinstance(each, np.ndarray) else each for each in arguments)
    return Carried(code, counts, after)
