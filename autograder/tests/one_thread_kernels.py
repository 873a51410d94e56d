"""Random kernels of one thread that goes round loops, and all that a launch of one tells."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.single_launch import kernel_function
from autograder.tests.random_kernels import BodyWriter, define

N = 24
INPUTS = {
    "x8": np.int8, "x16": np.int16, "x32": np.int32, "x64": np.int64, "u8": np.uint8, "u32": np.uint32, "u64": np.uint64,
    "f32": np.float32, "f64": np.float64, "flags": np.bool_,
}  # fmt: skip
OUTPUTS = {"o8": np.int8, "o32": np.int32, "o64": np.int64, "ou64": np.uint64, "of32": np.float32, "of64": np.float64}
WHOLE = ("x8", "x16", "x32", "x64", "u8", "u32", "u64", "o32", "o64", "fresh")
FLOATS = ("f32", "f64", "of32", "of64")
PARAMETERS = ", ".join((*INPUTS, *OUTPUTS, "fresh", "table", "grid2", "n", "scale"))
WORK = 3_000_000
FUNCTIONS = """
@cuda.jit(device=True)
def twist(x, y):
    return x - y if x > y else y

@cuda.jit(device=True)
def bits(x):
    found = 0
    for place in range(8):
        found += x >> place & 1
    if found > 3:
        return found * 2
    return found

@cuda.jit(device=True)
def nearest(array, x):
    low = array[x & 7]
    if low > x:
        return twist(low + 0, x) + 0
    return x + 0

"""


@dataclass
class LoopWriter(BodyWriter):
    """Writes the body of a kernel that goes round loops."""

    loops: int = 0

    def index(self) -> str:
        counter = self.pick(*self.counters, "k")
        return self.pick(
            counter, counter, f"{counter} + 1", f"{counter} - 2", f"({self.whole(1)}) % {N}", f"({self.whole(1)}) & 15", "3",
            f"{N} - 1 - {counter}",
        )  # fmt: skip

    def element(self, arrays: tuple[str, ...]) -> str:
        name = self.pick(*arrays)
        return f"{name}[{self.index()}]"

    def whole(self, depth: int = 2) -> str:
        if depth <= 0 or self.choose.random() < 0.25:
            counter = self.pick(*self.counters, "k")
            return self.pick(
                "a", "b", "c", counter, counter, "n", str(self.choose.randint(-9, 9)), "x64.size",
                "x32.shape[0]", "len(f32)",
                self.pick("2147483647", "65537", "np.int64(1 << 40)", "np.uint64(7)", "np.int32(-5)"),
                self.pick(*(f"{name}[{counter}]" for name in WHOLE)), self.pick(*(f"{name}[{counter}]" for name in WHOLE)),
                f"own[{counter} & 3]", "mine[2]", f"int(tile[{counter} & 7])",
                f"table[{counter} % 4, {self.pick('1', counter + ' % 6')}]", "LIMIT", "constants[k % 5]",
                f"row[{counter} % 6]", f"row[{counter} - 3]",
            )  # fmt: skip
        less, kind = depth - 1, self.choose.randint(0, 13)
        if kind <= 4:
            return f"({self.whole(less)} {self.pick('+', '-', '*', '&', '|', '^')} {self.whole(less)})"
        if kind == 5:
            divisor = self.pick(f"(({self.whole(less)}) & 15) + 2", "-3", "7", f"({self.whole(less)})", "-1")
            return f"({self.whole(less)} {self.pick('//', '%')} ({divisor}))"
        if kind == 6:
            return f"({self.whole(less)} {self.pick('<<', '>>')} (({self.whole(less)}) & 63))"
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
            return f"int({self.pick(self.floating(less), self.condition(less))})"
        if kind == 12:
            return self.pick(
                f"twist({self.whole(less)} + 0, {self.whole(less)} + 0)", f"bits({self.whole(less)} + 0)",
                f"nearest({self.pick('x32', 'o64')}, {self.whole(less)} + 0)",
            )  # fmt: skip
        return f"abs({self.whole(less)} + 0)"

    def floating(self, depth: int = 2) -> str:
        if depth <= 0 or self.choose.random() < 0.25:
            return self.pick(
                "p", "q", "r", "0.5", "-2.25", "np.float32(1.5)", "scale", f"float({self.pick(*self.counters, 'k')})",
                self.element(FLOATS), self.element(FLOATS), "grid2[k % 3][1]", "math.pi",
            )  # fmt: skip
        less, kind = depth - 1, self.choose.randint(0, 9)
        if kind <= 3:
            return f"({self.floating(less)} {self.pick('+', '-', '*', '/')} {self.floating(less)})"
        if kind == 4:
            return f"({self.whole(less)} / {self.whole(less)})"
        if kind == 5:
            return f"math.{self.pick('sqrt', 'exp', 'sin', 'fabs', 'log')}({self.floating(less)})"
        if kind == 6:
            return f"np.{self.pick('float32', 'float64')}({self.pick(self.floating(less), self.whole(less))})"
        if kind == 7:
            return f"({self.floating(less)} * 1.0 if {self.condition(less)} else {self.floating(less)} * 1.0)"
        if kind == 8:
            return f"{self.pick('min', 'max', 'math.hypot', 'math.pow')}({self.floating(less)}, {self.floating(less)})"
        return f"({self.whole(less)} {self.pick('+', '*')} {self.floating(less)})"

    def condition(self, depth: int = 2) -> str:
        less, kind = depth - 1, self.choose.randint(0, 8)
        order = self.pick("<", "<=", ">", ">=", "==", "!=")
        if depth <= 0 or kind >= 6:
            return f"{self.whole(0)} {order} {self.whole(0)}"
        if kind == 0:
            return f"{self.whole(less)} {order} {self.whole(less)} {self.pick('<', '<=')} {self.whole(less)}"
        if kind in (1, 2):
            return f"({self.condition(less)}) {self.pick('and', 'or')} ({self.condition(less)})"
        if kind == 3:
            return f"not ({self.condition(less)})"
        if kind == 4:
            return f"{self.floating(less)} {self.pick('<', '>=')} {self.floating(less)}"
        return self.pick("flags[k % 5]", "a % 2 == 0", "b", "k & 1")

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        kind = self.choose.randint(0, 19 if depth > 0 else 12)
        if kind <= 1:
            self.line(f"{self.pick('a', 'b', 'c')} = {self.whole()} + 0")
        elif kind <= 3:
            self.line(f"{self.pick('a', 'b', 'c')} {self.pick('+', '-', '*', '^', '%', '//')}= {self.whole()} + 0")
        elif kind == 4:
            self.line(self.pick(f"a, b = b, {self.whole()} + 0", f"b, o64[{self.index()}] = a, c + 0"))
        elif kind == 5:
            self.line(f"{self.pick('p', 'q')} = {self.floating()} * 1.0")
        elif kind == 6:
            self.line(f"r {self.pick('+', '*', '-')}= np.float32({self.floating()})")
        elif kind == 7:
            self.line(f"{self.element(('of32', 'of64', 'o32'))} {self.pick('', '+', '*')}= {self.floating()}")
        elif kind <= 10:
            stored = self.element(("o8", "o32", "o64", "ou64", "of32", "of64"))
            self.line(f"{stored} {self.pick('', '', '+', '-')}= {self.whole()}")
        elif kind == 11:
            self.line(
                self.pick(
                    f"cuda.atomic.add(o32, ({self.whole(1)}) & 7, {self.whole(1)} + 0)",
                    f"cuda.atomic.{self.pick('max', 'min')}(o64, {self.index()}, {self.whole(1)} + 0)",
                    f"print('at', k, a, {self.whole(1)})", "grid2[k % 3][1] = p", "cuda.threadfence_block()",
                    f"fresh[{self.index()}] = {self.whole(1)}", f"table[{self.index()}, 1] += 1", "d = a + 0",
                    f"row[{self.pick(*self.counters, 'k')} % 6] {self.pick('', '+')}= {self.whole(1)}",
                    f"old = cuda.atomic.add(o32, k % {N}, 1)",
                    f"own[{self.pick('k & 3', '2', 'k % 5')}] = {self.whole(1)}",
                    f"tile[{self.pick('k & 7', 'k')}] += {self.floating(1)}",
                    "mine[2] = k",
                )
            )  # fmt: skip
        elif kind == 12 and self.loops:
            self.line(f"if {self.condition(1)}:")
            self.indent += 1
            self.line(self.pick("break", "continue", "continue", "break", "return"))
            self.indent -= 1
        elif kind <= 15:
            self.branches(depth)
        else:
            self.loop(depth)

    def loop(self, depth: int) -> None:
        self.loops += 1
        counter = f"j{next(self.names)}"
        if self.choose.random() < 0.6:
            bounds = self.pick(
                "n", f"{self.choose.randint(2, 9)}", "1, n", "k, n", "k % 4 + 2", "n - 1, -1, -1", f"0, {N}, 3",
                "len(x8)", "(a & 7)", "u8[k % 6] % 5", f"({self.whole(1)}) & 7, {N}",
            )  # fmt: skip
            self.line(f"for {counter} in range({bounds}):")
        else:
            self.line(f"{counter} = {self.pick('5', '(c & 7)', 'k % 4', 'n')}")
            self.line(f"while {counter} > 0 {self.pick('', f'and ({self.condition(1)})', '')}:")
            self.indent += 1
            self.line(f"{counter} -= {self.pick('1', '1', '2')}")
            self.indent -= 1
        self.counters.append(counter)
        self.block(depth)
        self.counters.pop()
        self.loops -= 1

    def body(self) -> str:
        self.line(f"a, b, c = x64[0] + 0, {self.pick('7', 'n', 'x32[1] + 0')}, x64[3] % 11")
        self.line("p, q, r = f64[0] * 1.0, 3 / n, f32[2]")
        self.line("k = 0")
        self.line("row = table[(cuda.threadIdx.x + 2) % 4]")  # begins elsewhere for each lane
        self.line("own, mine = cuda.local.array(4, np.int32), cuda.local.array(4, np.int64)")
        self.line("tile = cuda.shared.array(8, np.float32)")
        for place in range(4):
            self.line(f"own[{place}], mine[{place}], tile[{2 * place}] = {place}, a, p")
        for _ in range(self.choose.randint(1, 3)):
            self.loops += 1
            self.line(f"for k in range({self.pick(f'{N}', f'0, {2 * N}, 2', f'{N} - 1, -1, -1')}):")
            self.block(self.choose.randint(1, 3))
            self.loops -= 1
            if self.choose.random() < 0.5:
                self.statement(1)
        self.line("o64[0] = a ^ (b << 1) ^ c")
        self.line("of64[1] = p - q + r")
        return "\n".join(self.lines)


def kernel_text(choose: random.Random) -> str:
    """A kernel's text; the thread that does it all may be one of several."""
    body = LoopWriter(choose).body()
    head = f"{FUNCTIONS}@cuda.jit\ndef kernel({PARAMETERS}):\n"
    if choose.random() < 0.3:
        body = "    t = cuda.grid(1)\n    if t == 37:\n" + "\n".join("    " + line for line in body.splitlines())
    return head + body + "\n"


def inputs(choose: random.Random) -> dict[str, Any]:
    values = np.random.default_rng(choose.getrandbits(32))
    made: dict[str, Any] = {}
    for name, dtype in INPUTS.items():
        kind: Any = np.dtype(dtype)
        if kind.kind == "b":
            made[name] = values.random(N) < 0.5
        elif kind.kind == "f":
            made[name] = values.normal(0, 50, N).astype(kind)
        else:
            limits = np.iinfo(kind)
            wide = values.integers(limits.min, limits.max, N, dtype=kind, endpoint=True)
            made[name] = np.where(values.random(N) < 0.2, wide, values.integers(max(limits.min, -20), 20, N).astype(kind))
    made |= {name: np.zeros(N, dtype) for name, dtype in OUTPUTS.items()}
    return made


def told(text: str, arguments: dict[str, Any], cuda: Any, work_limit: int = WORK, times: int = 2) -> dict[str, Any]:
    """All that launches of a kernel tell: what it wrote, counted and printed, what it did wrong, where it stopped."""
    names = define(text, {"cuda": cuda, "np": np, "math": math, "LIMIT": 12, "constants": np.arange(5) * 3})
    printed: list[str] = []
    session = Session(output=printed.append, work_limit=work_limit)
    arrays = {name: session.to_device(value) for name, value in arguments.items()}
    fresh, table = session.device_array(N, np.int32), session.to_device(np.arange(24, dtype=np.int32).reshape(4, 6))
    grid2 = session.to_device(np.arange(6.0).reshape(3, 2))
    many = "if t == 37" in text
    records: list[Any] = []
    for _ in range(times):
        try:
            session.launch(
                kernel_function(names["kernel"]), 2 if many else 1, 32 if many else 1,
                (*arrays.values(), fresh, table, grid2, 9, np.float32(0.25)),
            )  # fmt: skip
        except KernelFault as fault:
            records.append((type(fault), str(fault)))
        last: Any = session.last
        if last is not None:
            records.append((last.counters, last.compiled, last.lines, last.hazards, str(last.fault), str(last.raised)))
    outputs = {name: array.copy_to_host().tobytes() for name, array in (*arrays.items(), ("fresh", fresh), ("table", table))}
    return {"records": records, "printed": printed, "outputs": outputs}
