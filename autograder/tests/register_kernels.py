"""Random kernels whose loops compute with variables and load from arrays, and all that launches of one tell."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.wider.random_numbers import initial_states
from autograder.tests.random_kernels import BodyWriter, define

BLOCKS, THREADS, N = 3, 72, 200  # the last warp of each block is not whole, and not every thread has an element
INPUTS = {
    "x8": np.int8, "x32": np.int32, "x64": np.int64, "u8": np.uint8, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
OUTPUTS = {"o64": np.int64, "ou64": np.uint64, "of32": np.float32, "of64": np.float64, "counts": np.int64}
MATRICES = {"grid": (np.float32, "C"), "whole": (np.int64, "F")}
PARAMETERS = ", ".join((*INPUTS, *OUTPUTS, *MATRICES, "unset", "states", "n", "scale"))
WORK = 40_000_000
FUNCTIONS = """
@cuda.jit(device=True)
def twist(x, y):
    if x > y:
        return x - y
    if x & 1:
        y += 3
    return y + 0

@cuda.jit(device=True)
def nearer(p, q):
    return q if p != p else (p + q) / 2

@cuda.jit(device=True)
def drawn(states, place):
    if cuda.random.xoroshiro128p_uniform_float32(states, place) < 0.25:
        return cuda.random.xoroshiro128p_uniform_float64(states, place)
    return 0.5

@cuda.jit(device=True)
def escape(x, most):
    steps = 0
    while steps < most:
        x = x * x - 0.75
        if x > 2.0 or x < -0.5 and steps > 5:
            return steps
        steps += 1
    return -1

@cuda.jit(device=True)
def least_divisor(x):
    for d in range(2, 40):
        if x % d == 0:
            return d
    return x

"""


@dataclass
class RegisterWriter(BodyWriter):
    """Writes the body of a kernel; within a loop it computes with variables alone."""

    in_loop: bool = False
    draws: bool = False
    loads: bool = False

    def element(self, kind: str) -> str:
        """An element of an array of integers ("x") or of floats ("f")."""
        array = self.pick("x8", "x32", "x64") if kind == "x" else self.pick("f32", "f64")
        counter = self.pick("i", *self.counters)
        index = self.pick(
            "i", counter, counter, f"i + {counter}", f"i - {counter}", f"{counter} * 7 % {N}", f"3 * i % {N} - 1",
            f"(a ^ {counter}) % {N}", f"np.uint8({counter})", f"np.uint64(c & 127) + {self.pick('i', '3')} % 64", "-1",
            f"(x64[{counter} % {N}] + i) % {N}", "s % 190",
        )  # fmt: skip
        if self.choose.random() < 0.15:
            comma = self.pick(", ", "][")
            last = self.pick("i % 20", "b % 20", "7", counter)
            return f"grid[{counter} % 10{comma}{last}]" if kind == "f" else f"whole[{self.pick('c', 'i')} % 10{comma}i % 10]"
        if self.choose.random() < 0.1:
            return "counts[i]" if kind == "x" else "unset[i % 50]"
        if self.choose.random() < 0.5:
            return f"{array}[{index}]"
        return f"{array}[({index}) % {N}]"

    def whole(self, depth: int = 2) -> str:
        if self.loads and self.choose.random() < 0.2:
            return self.element("x")
        if depth <= 0 or self.choose.random() < 0.25:
            return self.pick(
                "a", "b", "c", "e", "s", "t", "i", "n", *self.counters, str(self.choose.randint(-9, 9)), "x64.size", "LIMIT",
                "cuda.threadIdx.x", "cuda.blockDim.x", "cuda.grid(1)",
                self.pick("2147483647", "65537", "np.int64(1 << 40)", "np.uint64(7)", "np.int32(-5)", "np.uint8(200)"),
            )  # fmt: skip
        less, kind = depth - 1, self.choose.randint(0, 12)
        if kind <= 4:
            return f"({self.whole(less)} {self.pick('+', '-', '*', '&', '|', '^')} {self.whole(less)})"
        if kind == 5:
            divisor = self.pick(f"(({self.whole(less)}) & 15) + 2", "3", "7", f"({self.whole(less)})", "-1", "2", "a")
            return f"({self.whole(less)} {self.pick('//', '%')} ({divisor}))"
        if kind == 6:
            return f"({self.whole(less)} {self.pick('<<', '>>')} {self.pick('3', '(' + self.whole(less) + ' & 63)', 'c')})"
        if kind == 7:
            return f"{self.pick('-', '~')}({self.whole(less)} + 0)"
        if kind == 8:
            return f"({self.whole(less)} + 0 if {self.condition(less)} else {self.whole(less)} + 0)"
        if kind == 9:
            return f"{self.pick('min', 'max')}({self.whole(less)} + 0, {self.whole(less)} + 0)"
        if kind == 10:
            types = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
            return f"np.{self.pick(*types)}({self.pick(self.whole(less), self.floating(less))})"
        if kind == 11:
            return f"int({self.floating(less)})"
        return f"twist({self.whole(less)} + 0, {self.whole(less)} + 0)"

    def floating(self, depth: int = 2) -> str:
        if self.loads and self.choose.random() < 0.3:
            return self.element("f")
        if depth <= 0 or self.choose.random() < 0.25:
            return self.pick(
                "p", "q", "r", "z.real", "z.imag", "0.5", "-2.25", "np.float32(1.5)", "scale",
                f"float({self.pick('a', 'i')})",
            )  # fmt: skip
        less, kind = depth - 1, self.choose.randint(0, 8)
        if kind <= 3:
            return f"({self.floating(less)} {self.pick('+', '-', '*', '/')} {self.floating(less)})"
        if kind == 4:
            return f"math.{self.pick('sqrt', 'fabs')}({self.floating(less)})"
        if kind == 5:
            return f"np.{self.pick('float32', 'float64')}({self.pick(self.floating(less), self.whole(less))})"
        if kind == 6:
            return f"({self.floating(less)} * 1.0 if {self.condition(less)} else {self.floating(less)} * 1.0)"
        if kind == 7:
            return self.pick(f"nearer({self.floating(less)}, {self.floating(less)})", f"{self.floating(less)} ** 2")
        if self.draws:
            name = self.pick("uniform_float32", "uniform_float64")
            return self.pick(f"cuda.random.xoroshiro128p_{name}(states, i)", "drawn(states, i)")
        return f"({self.whole(less)} {self.pick('+', '*')} {self.floating(less)})"

    def condition(self, depth: int = 2) -> str:
        less, kind = depth - 1, self.choose.randint(0, 8)
        order = self.pick("<", "<=", ">", ">=", "==", "!=")
        if depth <= 0 or kind >= 6:
            return f"{self.whole(0)} {order} {self.whole(0)}"
        if kind == 0:
            last = self.pick("b", "i", "x64.size", self.whole(1))
            return f"{self.whole(less)} {order} {self.pick('a', 'n', '7')} {self.pick('<', '<=')} {last}"
        if kind in (1, 2):
            return f"({self.condition(less)}) {self.pick('and', 'or')} ({self.condition(less)})"
        if kind == 3:
            return f"not ({self.condition(less)})"
        if kind == 4:
            return f"{self.floating(less)} {self.pick('<', '>=')} {self.floating(less)}"
        return self.pick("a % 2 == 0", "b", "i & 1", "done")

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        kind = self.choose.randint(0, 15 if depth > 0 else 10)
        if kind <= 2:
            self.line(f"{self.pick('a', 'b', 'c')} = {self.pick('np.int64', 'np.int64', 'int')}({self.whole()} + 0)")
        elif kind <= 4:
            self.line(f"{self.pick('a', 'b')} {self.pick('+', '-', '*', '^')}= {self.pick('3', 'c', 'i', 's')}")
        elif kind == 5:
            value = self.whole(1)
            self.line(self.pick(f"a, b = b, np.int64({value})", f"s, t = t, np.int64({value})", "s += 1", "t = 7"))
        elif kind <= 7:
            self.line(f"{self.pick('p', 'q')} = np.float64({self.floating()})")
        elif kind == 8:
            self.line(f"r = np.float32({self.floating()})")
        elif kind == 9 and self.choose.random() < 0.6:
            value = self.pick("z", "z", "complex(p, q)", "scale", "s", "z ** 2", "-z", "np.complex64(z)", "1j")
            self.line(f"z = np.complex128(z {self.pick('*', '*', '+', '-')} {value})")
        elif kind == 9:
            self.line(self.pick(f"e = np.uint64({self.whole()})", f"done = {self.condition(1)}", "done = not done", "pass"))
        elif kind == 10 and self.in_loop:
            self.line(f"if {self.condition(1)}:")
            self.indent += 1
            if self.choose.random() < 0.3 and not self.draws:
                self.line(self.pick("counts[i] += a", "o64[i + 1] = 5", "of64[i] = f64[i] * p", "counts[i - 1] = counts[i]"))
                self.line(self.pick("break", "return"))
            else:
                self.line(self.pick("break", "continue", "continue", "break", "return"))
            self.indent -= 1
        else:
            self.branches(depth)

    def loop(self) -> None:
        counter = f"j{next(self.names)}"
        self.draws, self.loads = self.choose.random() < 0.3, self.choose.random() < 0.6
        kind = self.choose.randint(0, 5)
        if kind <= 1:
            bounds = self.pick(
                "n", "1, n", "n, 0, -1", "0, 3 * n, 2", "30", "150", "i % 7, n", "x8[i] % 90 + 20", "i, 0, -3"
            )  # fmt: skip
            self.line(f"for {counter} in range({bounds}):")
        elif kind <= 3:
            self.line(f"{counter} = {self.pick('140', 'n', 'i % 90 + 3', '(c & 63)')}")
            self.line(f"while {counter} > 0 {self.pick('', f'and ({self.condition(1)})', '')}:")
            self.indent += 1
            self.line(f"{counter} -= {self.pick('1', '1', '2')}")
            self.indent -= 1
        else:
            call = self.pick("escape(p, 100)", "escape(nearer(p, q), n)", "least_divisor(x32[i] & 4095)", "least_divisor(i)")
            self.line(f"counts[i] += {call}")
            return
        self.counters.append(counter)
        self.in_loop = True
        self.indent += 1
        for _ in range(self.choose.randint(1, 4)):
            self.statement(2)
        self.indent -= 1
        self.in_loop = self.draws = self.loads = False
        if self.choose.random() < 0.15:
            self.line("else:")
            self.indent += 1
            self.statement(0)
            self.indent -= 1
        self.counters.pop()

    def body(self) -> str:
        self.line("i = cuda.grid(1)")
        self.line(f"if i >= {N}:")
        self.line("    return")
        self.line("a, b, c, e = x64[i] + 0, i * 7 - 50, x64[i] % 11, u64[i] + u8[i]")
        self.line(f"s, t, done = {self.pick('0, 1', 'n, 3')}, {self.pick('False', 'i == 3')}")
        self.line(f"z = {self.pick('0j', 'complex(i, 0.5)', 'complex(0.25, f64[i])')}")
        self.line("p, q, r = f64[i] * 1.0, i / 3, f32[i]")
        for _ in range(self.choose.randint(1, 3)):
            depth = self.indent
            if self.choose.random() < 0.3:
                self.line(f"if {self.condition(1)}:")
                self.indent += 1
            self.loop()
            self.indent = depth
            if self.choose.random() < 0.5:
                self.statement(1)
        self.line("o64[i] = a ^ (b << 1) ^ c ^ s")
        self.line("ou64[i] = e")
        self.line("of64[i] = p - q + z.real * 2 - z.imag")
        self.line("of32[i] = r")
        self.line("counts[i] += t + (7 if done else 0)")
        return "\n".join(self.lines)


def kernel_text(choose: random.Random) -> str:
    return f"{FUNCTIONS}@cuda.jit\ndef kernel({PARAMETERS}):\n{RegisterWriter(choose).body()}\n"


def inputs(choose: random.Random) -> dict[str, Any]:
    values = np.random.default_rng(choose.getrandbits(32))
    made: dict[str, Any] = {}
    for name, dtype in INPUTS.items():
        kind: Any = np.dtype(dtype)
        if kind.kind == "f":
            made[name] = values.normal(0, 2, N).astype(kind)
        else:
            limits = np.iinfo(kind)
            wide = values.integers(limits.min, limits.max, N, dtype=kind, endpoint=True)
            made[name] = np.where(values.random(N) < 0.1, wide, values.integers(max(limits.min, -20), 20, N).astype(kind))
    made |= {name: np.zeros(N, dtype) for name, dtype in OUTPUTS.items()}
    for name, (dtype, order) in MATRICES.items():
        matrix = values.integers(-9, 9, (10, 20)).astype(dtype)
        made[name] = np.asfortranarray(matrix) if order == "F" else matrix
    return made


def told(text: str, arguments: dict[str, Any], cuda: Any) -> dict[str, Any]:
    """All that two launches of a kernel tell: what it wrote, counted and found, and the work that it took."""
    names = define(text, {"cuda": cuda, "np": np, "math": math, "LIMIT": 12})
    session = Session(work_limit=WORK)
    arrays = {name: session.to_device(value) for name, value in arguments.items()}
    unset = session.device_array(60, np.float64)  # but for some elements
    unset[:40] = 1.5
    states = session.to_device(initial_states(N, 5))
    records: list[Any] = []
    for _ in range(2):
        try:
            arguments_given = *arrays.values(), unset, states, 60, np.float32(0.25)
            session.launch(kernel_function(names["kernel"]), BLOCKS, THREADS, arguments_given)
        except KernelFault as fault:
            records.append((type(fault), str(fault)))
        last: Any = session.last
        if last is not None:
            records.append((last.counters, last.compiled, last.lines, last.hazards, str(last.fault), str(last.raised)))
    outputs = {name: numbers(array.copy_to_host()) for name, array in (*arrays.items(), ("states", states))}
    return {"records": records, "work": session.work, "outputs": outputs}


def numbers(array: np.ndarray) -> bytes:
    """An array's bytes, where each NaN is as good as another: processors differ in their signs."""
    return (np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array).tobytes()
