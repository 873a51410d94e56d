"""Random small kernels as source text, and two independent ways to say what they must compute.

A kernel's body is written once; on the simulated GPU it runs as a kernel, in the oracles as a plain function of one
thread's number: compiled by Numba for the CPU (its types and wraparound), or run by Python on 64-bit integers.
"""

from __future__ import annotations

import itertools
import linecache
import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BLOCK, THREADS, N = 32, 96, 90
INPUTS = {
    "x8": np.int8, "x16": np.int16, "x32": np.int32, "x64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
OUTPUTS = {
    "o8": np.int8, "o16": np.int16, "o32": np.int32, "o64": np.int64, "ou8": np.uint8, "ou32": np.uint32,
    "ou64": np.uint64, "of32": np.float32, "of64": np.float64, "acc": np.int64,
}  # fmt: skip
PARAMETERS = ", ".join((*INPUTS, *OUTPUTS))
DEVICE_FUNCTIONS = """
def twist(a, b):
    if a > b:
        return a - b
    for k in range(3):
        if b & 1:
            a = a ^ (b << k)
            continue
        b = b // 2 - 1
    return a + b

def mean(p, q):
    if p != p:
        return q
    return (p + q) / 2
"""


@dataclass
class BodyWriter:
    """Writes one random body, statement by statement: what a statement, a condition and a loop are, its kinds say."""

    choose: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    counters: list[str] = field(default_factory=list)  # of the loops around
    names: itertools.count[int] = field(default_factory=itertools.count)

    def pick(self, *options: Any) -> Any:
        return self.choose.choice(options)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def block(self, depth: int) -> None:
        self.indent += 1
        for _ in range(self.choose.randint(1, 3)):
            self.statement(depth - 1)
        self.indent -= 1

    def branches(self, depth: int) -> None:
        """An `if`, by chance with an `elif` and an `else`."""
        self.line(f"if {self.condition()}:")
        self.block(depth)
        if self.choose.random() < 0.3:
            self.line(f"elif {self.condition(1)}:")
            self.block(depth)
        if self.choose.random() < 0.5:
            self.line("else:")
            self.block(depth)

    def statement(self, depth: int) -> None:
        raise NotImplementedError

    def condition(self, depth: int = 2) -> str:
        raise NotImplementedError


@dataclass
class Writer(BodyWriter):
    """Counters are each within -9 .. 9; `simple` keeps to int64 and float64, which the Python oracle knows."""

    simple: bool = False
    in_loop: int = 0

    @property
    def times(self) -> str:
        """LLVM takes it that signed products do not overflow, so where they do Numba is no oracle: Python is."""
        return "*" if self.simple else "+"

    # -- expressions ----------------------------------------------------------------------------------------------

    def integer(self, depth: int = 3) -> str:
        if depth <= 0 or self.choose.random() < 0.2:
            arrays = ("x64",) if self.simple else ("x8", "x16", "x32", "x64", "u8", "u16", "u32")
            counter = self.pick(*self.counters, "4")
            return self.pick(
                "a", "b", "c", "i", str(self.choose.randint(-9, 9)),
                self.pick("2147483647", "65537", "-129", "np.int64(1 << 40)"),  # products of literals are folded
                f"{self.pick(*arrays)}[i]", f"{self.pick(*arrays)}[(i + {self.choose.randint(0, 9)}) % {N}]", "loc[i % 4]",
                counter, f"{self.pick(*arrays)}[{self.pick('fore', 'back', 'around')} + {counter}]",
                f"{self.pick(*arrays)}[{counter} - {self.pick('around', 'fore')}]",
            )  # fmt: skip
        less = depth - 1
        kind = self.choose.randint(0, 14)
        if kind == 14:
            return f"({self.integer(less)} {self.pick('and', 'or')} {self.integer(less)})" if self.simple else "(a + 1)"
        if kind == 0 and not self.simple:
            return f"(({self.integer(less)} & 4095) * ({self.integer(less)} & 1023))"
        if kind <= 4:
            return f"({self.integer(less)} {self.pick('+', '-', self.times, '&', '|', '^')} {self.integer(less)})"
        if kind == 5:
            divisor = self.pick(f"(({self.integer(less)}) & 15) + 2", "-3", "7", f"-((({self.integer(less)}) & 7) + 2)")
            return f"({self.integer(less)} {self.pick('//', '%')} ({divisor}))"
        if kind == 6:
            return f"({self.integer(less)} {self.pick('<<', '>>')} (({self.integer(less)}) & 31))"
        if kind == 7:
            return f"{self.pick('-', '~')}({self.integer(less)} + 0)"
        if kind == 8:
            return f"({self.integer(less)} + 0 if {self.condition(less)} else {self.integer(less)} + 0)"
        if kind == 9:
            return f"{self.pick('min', 'max')}({self.integer(less)} + 0, {self.integer(less)} + 0)"
        if kind == 10:
            return f"twist({self.integer(less)} + 0, {self.integer(less)} + 0)"
        if kind == 11:
            types = ("int64",) if self.simple else ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
            return f"np.{self.pick(*types)}({self.integer(less)})"
        if kind == 12:
            return f"int(min(max({self.floating(less)}, -1000.0), 1000.0))"
        return f"abs({self.integer(less)} + 0)"

    def floating(self, depth: int = 2) -> str:
        if depth <= 0 or self.choose.random() < 0.2:
            arrays = ("f64",) if self.simple else ("f32", "f64")
            return self.pick("p", "q", "0.5", "-2.25", "3.0", f"{self.pick(*arrays)}[i]", "float(i)")
        less = depth - 1
        kind = self.choose.randint(0, 8)
        if kind <= 3:
            return f"({self.floating(less)} {self.pick('+', '-', '*')} {self.floating(less)})"
        if kind == 4:
            return f"({self.floating(less)} / (abs({self.floating(less)}) + 1.5))"
        if kind == 5:
            return f"math.sqrt(abs({self.floating(less)}))"
        if kind == 6:
            return f"mean({self.floating(less)}, {self.floating(less)})"
        if kind == 7:
            return f"({self.floating(less)} * 1.0 if {self.condition(less)} else {self.floating(less)} * 1.0)"
        mixed = f"{self.pick('x64', 'x64') if self.simple else self.pick('x8', 'x32', 'u16')}[i] {self.pick('+', '*')} "
        return f"({mixed}{self.floating(less)})"

    def condition(self, depth: int = 2) -> str:
        less = depth - 1
        order = self.pick("<", "<=", ">", ">=", "==", "!=")
        if depth <= 0:
            return f"{self.integer(0)} {order} {self.integer(0)}"
        kind = self.choose.randint(0, 7)
        if kind == 7:  # the index is only good where the first half holds
            return f"0 <= i - 40 < x64[(i - 40) * (1 + {N} * (i < 40))]"
        if kind == 0:
            return f"{self.integer(less)} {order} {self.integer(less)} {self.pick('<', '<=')} {self.integer(less)}"
        if kind in (1, 2):
            return f"({self.condition(less)}) {self.pick('and', 'or')} ({self.condition(less)})"
        if kind == 3:
            return f"not ({self.condition(less)})"
        if kind == 4:
            return f"{self.floating(less)} {self.pick('<', '>=')} {self.floating(less)}"
        return f"{self.integer(less)} {order} {self.integer(less)}"

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        kind = self.choose.randint(0, 15 if depth > 0 else 8)
        if kind <= 1:
            self.line(f"{self.pick('a', 'b', 'c')} = {self.integer()} + 0")
        elif kind == 2:
            self.line(f"{self.pick('a', 'b', 'c')} {self.pick('+', '-', self.times, '^')}= {self.integer(2)} + 0")
        elif kind == 3:
            self.line(f"a, b = b, {self.integer(2)} + 0")
        elif kind == 4:
            self.line(f"{self.pick('p', 'q')} = {self.floating()} * 1.0")
        elif kind == 5:
            self.store()
        elif kind == 6:
            self.line(f"loc[({self.integer(2)}) % 4] = {self.integer(2)}")
        elif kind == 7:
            self.line(f"ATOMIC(acc, ({self.integer(2)}) % 4, {self.integer(2)} + 0)")
        elif kind == 8:
            self.jump()
        elif kind <= 12:
            self.branches(depth)
        else:
            self.loop(depth)

    def store(self) -> None:
        if self.choose.random() < 0.3:
            floats = ("of64",) if self.simple else ("of32", "of64")
            self.line(f"{self.pick(*floats)}[i] = {self.floating()}")
        else:
            names = ("o8", "o16", "o32", "o64", "ou8", "ou32", "ou64")
            self.line(f"{self.pick(*names)}[i] {self.pick('', '', '+')}= {self.integer()} + 0")

    def jump(self) -> None:
        self.line(f"if {self.condition(1)}:")
        self.indent += 1
        self.line(self.pick("break", "continue", "break", "return") if self.in_loop else "return")
        self.indent -= 1

    def loop(self, depth: int) -> None:
        self.in_loop += 1
        if self.choose.random() < 0.6:
            step = self.pick("", "", ", 2", ", 3")
            start, stop = self.pick("0", "-2", "i % 3"), self.pick("4", "(c & 7)", "i % 5 + 1")
            counter = f"j{next(self.names)}"
            self.line(f"for {counter} in range({start}, {stop}{step}):")
            self.counters.append(counter)
            self.block(depth)
            self.counters.pop()
            if self.choose.random() < 0.15:
                self.line("else:")
                self.in_loop -= 1
                self.block(depth)
                self.in_loop += 1
        else:
            counter = f"w{next(self.names)}"
            self.line(f"{counter} = {self.pick('5', '(c & 7)', 'i % 4')}")
            self.line(f"while {counter} > 0 {self.pick('', f'and ({self.condition(1)})', f'or ({counter} > 2)')}:")
            self.indent += 1
            self.line(f"{counter} -= 1")
            self.indent -= 1
            self.counters.append(counter)
            self.block(depth)
            self.counters.pop()
        self.in_loop -= 1

    def body(self) -> str:
        self.line("a, b, c = x64[i] + 0, i * 7 - 50, x64[i] % 11")
        self.line("p, q = f64[i] * 1.0, i / 3")
        self.line("fore, back, around = i % 13 + 9, 40 - i % 31, i % 5 - 3")  # where moving indices begin
        self.line("loc = LOCAL")
        self.line("for t in range(4):")
        self.line("    loc[t] = t * c")
        for _ in range(self.choose.randint(3, 7)):
            self.statement(3)
        for name, value in (("o64", "a ^ (b << 1) ^ c"), ("o32", "b"), ("of64", "p - q"), ("ou64", "loc[1] + loc[3]")):
            self.line(f"{name}[i] = {value}")
        return "\n".join(self.lines)


def random_body(choose: random.Random, simple: bool) -> str:
    return Writer(choose, simple=simple).body()


def inputs(choose: random.Random) -> dict[str, np.ndarray]:
    """Arrays for one kernel: inputs of each type, outputs that start at zero."""
    random_values = np.random.default_rng(choose.getrandbits(32))
    made: dict[str, np.ndarray] = {}
    for name, dtype in INPUTS.items():
        if np.dtype(dtype).kind == "f":
            made[name] = random_values.normal(0, 50, N).astype(dtype)
        else:
            integers: Any = np.dtype(dtype)
            limits = np.iinfo(integers)
            wide = random_values.integers(limits.min, limits.max, N, dtype=dtype, endpoint=True)
            near = random_values.integers(max(limits.min, -20), 20, N).astype(dtype)
            made[name] = np.where(random_values.random(N) < 0.3, wide, near)
    return made | {name: np.zeros(4 if name == "acc" else N, dtype) for name, dtype in OUTPUTS.items()}


_numbers = itertools.count()


def define(text: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs source text so that its source can be found again, as a notebook does with a cell."""
    file = f"<random kernel {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names


# -- three ways to run a body -------------------------------------------------------------------------------------


def on_gpu(body: str, arrays: dict[str, np.ndarray], cuda: Any) -> dict[str, np.ndarray]:
    local = body.replace("LOCAL", "cuda.local.array(4, np.int32)").replace("ATOMIC", "cuda.atomic.add")
    functions = DEVICE_FUNCTIONS.replace("\ndef ", "\n@cuda.jit(device=True)\ndef ")
    guard = f"    i = cuda.grid(1)\n    if i >= {N}:\n        return\n"
    text = f"{functions}\n@cuda.jit\ndef kernel({PARAMETERS}):\n{guard}{local}\n"
    names = define(text, {"cuda": cuda, "np": np, "math": math})
    outputs = {name: array.copy() for name, array in arrays.items()}
    names["kernel"][THREADS // BLOCK, BLOCK](*outputs.values())
    return outputs


def compiled_by_numba(body: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The body as Numba compiles it for the CPU, thread by thread."""
    import numba

    local = body.replace("LOCAL", "np.zeros(4, np.int32)").replace("ATOMIC", "atomic_add")
    functions = DEVICE_FUNCTIONS + "\ndef atomic_add(array, index, value):\n    array[index] += value\n"
    functions = functions.replace("\ndef ", "\n@njit\ndef ")
    text = f"{functions}\n@njit\ndef thread(i, {PARAMETERS}):\n{local}\n"
    text += f"\n@njit\ndef everyone({PARAMETERS}):\n    for i in range({N}):\n        thread(i, {PARAMETERS})\n"
    njit = numba.njit(error_model="numpy")
    names = define(text, {"njit": njit, "np": np, "math": math})
    outputs = {name: array.copy() for name, array in arrays.items()}
    names["everyone"](*outputs.values())
    return outputs


class Int(int):
    """A 64-bit integer as Python object: every operation wraps around."""


def _wrapped(value: int) -> Int:
    return Int((value + 2**63) % 2**64 - 2**63)


def _wrapping(name: str) -> Any:
    plain = getattr(int, name)

    def operation(self: Int, *other: Any) -> Any:
        result = plain(self, *other)
        return result if result is NotImplemented else _wrapped(result)

    return operation


for _name in "add sub mul floordiv mod and or xor lshift rshift".split():
    setattr(Int, f"__{_name}__", _wrapping(f"__{_name}__"))
    setattr(Int, f"__r{_name}__", _wrapping(f"__r{_name}__"))
for _name in "neg invert abs".split():
    setattr(Int, f"__{_name}__", _wrapping(f"__{_name}__"))


class Cells:
    """An array whose elements come out as Python numbers and are cast on the way in, as a GPU casts them."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getitem__(self, index: int) -> Int | float:
        value = self.array[index].item()
        return value if isinstance(value, float) else Int(value)

    def __setitem__(self, index: int, value: Any) -> None:
        if self.array.dtype.kind == "f":
            self.array[index] = value
        else:
            self.array[index] = np.array(int(value) % 2**64, np.uint64).astype(self.array.dtype)


class _Types:
    """`np` in the Python oracle: just the conversion to int64."""

    @staticmethod
    def int64(value: Any) -> Int:
        return _wrapped(int(value))


def _integer_literals(text: str) -> str:
    """Literals as `Int`, so that arithmetic between two of them wraps too."""
    import ast

    class Wrap(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:  # noqa: N802 (ast's name)
            if type(node.value) is int:
                return ast.copy_location(ast.Call(ast.Name("Int", ast.Load()), [node], []), node)
            return node

    return ast.unparse(ast.fix_missing_locations(Wrap().visit(ast.parse(text))))


def run_by_python(body: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The body run by Python, thread after thread (for bodies of int64 and float64 only)."""
    local = body.replace("LOCAL", "Cells(zeros(4, 'int32'))").replace("ATOMIC", "atomic_add")
    text = _integer_literals(f"{DEVICE_FUNCTIONS}\ndef thread(i, {PARAMETERS}):\n{local}\n")

    def atomic_add(array: Cells, index: int, value: Int) -> None:
        array[index] = array[index] + value

    names = define(
        text,
        {
            "np": _Types, "math": math, "Int": Int, "Cells": Cells, "zeros": np.zeros, "atomic_add": atomic_add,
            "int": lambda value: Int(int(value)), "range": lambda *bounds: map(Int, range(*bounds)),
        },
    )  # fmt: skip
    outputs = {name: array.copy() for name, array in arrays.items()}
    cells = [Cells(array) for array in outputs.values()]
    for i in range(N):
        names["thread"](Int(i), *cells)
    return outputs
