"""Random kernels in the style of ordinary ones, kept as recording.py keeps launches: sampled.py counts and compares them.

    python -m autograder.simgpu.measurements.machine_code_emulator.random_kernels FOLDER [FIRST PAST_LAST]   # seeds

A kernel is a guard or a stride of the grid, and in it loops, branches, early ends, selections, sums, neighbours, a tile in
shared memory now and then. Every index is one that exists, by what stands around it.
"""

from __future__ import annotations

import pickle
import random
import re
import sys
from pathlib import Path

import numpy as np

from autograder.simgpu.measurements.machine_code_emulator.recording import HEAD

LENGTH, WIDTH, FEW = 300, 13, 11  # of `a`, `b`, `out`, `places` and rows of `m`; of a row; of `w`
PARAMETERS = "a, b, places, w, m, out, n, s"


class RandomKernelWriter:
    """One random kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.floats = ["x"]
        self.integers = ["i"]
        self.counters: list[str] = []  # below FEW
        self.lines: list[str] = []
        self.names = 0
        self.in_loop = 0
        self.can_return = True
        self.is_branch = False
        self.budget = self.random.randint(3, 9)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    # -- expressions ----------------------------------------------------------------------------------------------

    def place(self) -> str:
        """An index into arrays of LENGTH."""
        found = ["i", "i", "i", "n - 1 - i", f"(i + {self.random.randint(1, 40)}) % n", "places[i]", "min(i + 1, n - 1)"]
        found += ["max(i - 1, 0)", "i // 2"]
        found += [f"(i + {each}) % n" for each in self.counters] + [f"min(i + {each}, n - 1)" for each in self.counters]
        return self.random.choice(found)

    def load(self) -> str:
        found = [f"a[{self.place()}]", f"b[{self.place()}]"]
        for each in self.counters:
            found += [f"w[{each}]", f"w[{each}]", f"m[i, {each}]", f"m[i, {each}]", f"m[{self.place()}, {each}]"]
        found += [f"m[i, {self.random.randrange(WIDTH)}]", f"w[{self.random.randrange(FEW)}]"]
        return self.random.choice(found)

    def value(self, depth: int = 0) -> str:
        kind = self.random.random()
        if depth > 1 or kind < 0.25:
            return self.random.choice(self.floats)
        if kind < 0.5:
            return self.load()
        if kind < 0.58:
            return self.pick("s", "0.5", "2", "1", "np.float32(0.25)", "3.0")
        if kind < 0.62:
            return f"{self.pick('min', 'max')}({self.value(depth + 1)}, {self.value(depth + 1)})"
        if kind < 0.66:
            return f"abs({self.value(depth + 1)})"
        if kind < 0.69:
            return f"math.{self.pick('sqrt', 'floor', 'exp', 'fabs', 'sin')}(abs({self.value(depth + 1)}))"
        if kind < 0.74:
            return f"({self.value(depth + 1)} if {self.condition()} else {self.value(depth + 1)})"
        if kind < 0.78:
            return f"{self.value(depth + 1)} / {self.pick('2', '3.0', '(1 + abs(s))', 'n')}"
        return f"({self.value(depth + 1)} {self.pick('+', '-', '*', '+', '*')} {self.value(depth + 1)})"

    def whole(self) -> str:
        found = [*self.integers, *self.counters, "cuda.threadIdx.x", f"places[{self.place()}]"]
        one, sign = self.random.choice(found), self.pick("+", "*", "-", "%", "//", "&", ">>")
        return one if self.chance(0.5) else f"{one} {sign} {self.random.randint(1, 7)}"

    def condition(self) -> str:
        kind = self.random.random()
        if kind < 0.4:
            found = f"{self.load()} {self.pick('>', '<', '>=')} {self.pick('s', '0', '0.5', *self.floats)}"
        elif kind < 0.6:
            found = f"{self.random.choice(self.floats)} {self.pick('>', '<')} {self.pick('s', '0', '1', self.load())}"
        elif kind < 0.85:
            found = f"{self.whole()} {self.pick('==', '<', '>', '!=')} {self.random.randint(0, 20)}"
        else:
            found = self.pick("i > 0", "i < n - 1", "0 < i < n - 1", "i % 2 == 0", "cuda.threadIdx.x < 16")
        return found if self.chance(0.8) else f"{found} {self.pick('and', 'or')} {self.condition()}"

    # -- statements -----------------------------------------------------------------------------------------------

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, most: int = 3) -> None:
        kept = list(self.floats), list(self.integers)
        begun = len(self.lines)
        for _ in range(self.random.randint(1, most)):
            self.statement(depth)
        self.use(depth, begun)
        self.floats, self.integers = kept

    def use(self, depth: int, begun: int) -> None:
        """Adds up what was assigned from a line on and is not used."""
        text = "\n".join(self.lines[begun:])
        for name in re.findall(r"^ *([tj]\d+) =", text, re.M):
            if len(re.findall(rf"\b{name}\b", text)) == 1:
                self.add(depth, f"x += {name}")

    def statement(self, depth: int) -> None:
        self.budget -= 1
        kind = self.random.random()
        deep = depth > 4 or self.budget < 0
        if kind < 0.2 or deep and kind < 0.5:
            name = self.name("t")
            self.add(depth, f"{name} = {self.value()}")
            self.floats.append(name)
        elif kind < 0.38 or deep and kind < 0.9:
            self.add(depth, f"x {self.pick('+=', '+=', '+=', '+=', '+=', '*=', '-=')} {self.value()}")
        elif kind < 0.42 and self.is_branch:
            self.add(depth, f"x = {self.value()}")
        elif deep:
            self.add(depth, f"out[i] += {self.value()}")
        elif kind < 0.45:
            self.add(depth, f"out[i] {self.pick('=', '+=', '+=')} {self.value()}")
        elif kind < 0.5:
            name = self.name("j")
            self.add(depth, f"{name} = {self.whole()}")
            self.integers.append(name)
        elif kind < 0.68:
            self.branch(depth)
        elif kind < 0.92:
            self.loop(depth)
        elif kind < 0.95:
            self.add(depth, f"cuda.atomic.{self.pick('add', 'max')}(out, {self.place()}, {self.value()})")
        elif self.in_loop and len(self.lines) > 4:
            self.add(depth, f"if {self.condition()}:")
            self.add(depth + 1, self.pick("break", "continue") if self.in_loop > 0 else "break")
        elif self.can_return and depth == 1 and not self.in_loop:
            self.add(depth, f"if {self.condition()}:")
            if self.chance(0.5):
                self.add(depth + 1, f"out[i] = {self.value()}")
            self.add(depth + 1, "return")
        else:
            self.add(depth, f"x += {self.value()}")

    def branch(self, depth: int) -> None:
        before, self.is_branch = self.is_branch, True
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, 2)
        if self.chance(0.25):
            self.add(depth, f"elif {self.condition()}:")
            self.block(depth + 1, 2)
        if self.chance(0.4):
            self.add(depth, "else:")
            self.block(depth + 1, 2)
        self.is_branch = before

    def loop(self, depth: int) -> None:
        counter = self.name("k")
        kind = self.random.random()
        before, was_branch = self.in_loop, self.is_branch
        self.is_branch = False
        if kind < 0.55:
            stop = self.pick("w.size", "m.shape[1] - 2", "4", "3", "8", str(FEW), f"i % {FEW}", "places[i] % 5")
            start = self.pick("", "", "", "1, ")
            self.add(depth, f"for {counter} in range({start}{stop}):")
            self.in_loop = 1
        else:
            self.add(depth, f"{counter} = 0")
            more = self.pick("", "", "", f" and {self.condition()}")
            self.add(depth, f"while {counter} < {self.pick('w.size', str(FEW), '4', f'i % {FEW}')}{more}:")
            self.in_loop = -1
        self.counters.append(counter)
        self.block(depth + 1, 3)
        self.counters.pop()
        if self.in_loop < 0:
            self.add(depth + 1, f"{counter} += 1")
        self.in_loop, self.is_branch = before, was_branch

    def kernel(self) -> str:
        self.add(0, "@cuda.jit")
        self.add(0, f"def kernel({PARAMETERS}):")
        beginning = self.pick("guard", "guard", "return", "return", "stride", "tile")
        if beginning == "tile":
            self.add(1, "tile = cuda.shared.array(66, numba.float32)")
        index = self.pick("cuda.grid(1)", "cuda.grid(1)", "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x")
        if beginning == "stride":
            self.can_return = False
            self.add(1, f"for i in range({index}, n, cuda.gridsize(1)):")
            depth = 2
        else:
            self.add(1, f"i = {index}")
            depth = 1
        if beginning == "tile":
            self.can_return = False
            self.add(1, "t = cuda.threadIdx.x")
            self.add(1, "tile[t + 1] = a[i] if i < n else 0")
            if self.chance(0.5):
                self.add(1, "if t == 0:")
                self.add(2, "tile[0] = a[i - 1] if 0 < i <= n else 0")
                self.add(1, "if t == cuda.blockDim.x - 1:")
                self.add(2, "tile[t + 2] = a[i + 1] if i + 1 < n else 0")
            else:
                self.add(1, "if t < 1:")
                self.add(2, "tile[0] = 0")
                self.add(2, "tile[65] = 1")
            self.add(1, "cuda.syncthreads()")
            self.floats += ["tile[t + 1]", "tile[t]", "tile[t + 2]"]
        if beginning in ("guard", "tile"):
            self.add(1, "if i < n:")
            depth = 2
        if beginning == "return":
            self.add(1, f"if i >= {self.pick('n', 'out.size', 'a.shape[0]')}:")
            self.add(2, "return")
        self.add(depth, f"x = {self.pick('0.0', 'np.float32(0)', 'a[i]', 'b[i] * s', '1.0')}")
        self.block(depth, 4)
        update = "+=" if any("out[" in line for line in self.lines) else "="
        self.add(depth, f"out[i] {update} {self.pick('x', 'x', f'x + {self.value()}')}")
        return HEAD + "import numpy as np\n\n" + "\n".join(self.lines) + "\n"


def arguments(seed: int) -> list[object]:
    numbers, chosen = np.random.default_rng(seed), random.Random(seed)
    kind = chosen.choice([np.float32, np.float32, np.float64])
    a, b, out = (numbers.standard_normal(LENGTH).astype(kind) for _ in range(3))
    m, w = (numbers.standard_normal(shape).astype(kind) for shape in ((LENGTH, WIDTH), FEW))
    places = numbers.integers(0, LENGTH, LENGTH).astype(chosen.choice([np.int32, np.int64]))
    return [a, b, places, w, m, out, LENGTH, chosen.choice([kind(0.75), 0.75])]


def write(folder: Path, seed: int) -> None:
    text = RandomKernelWriter(seed).kernel()
    launch = {"kernel": "kernel", "grid": (5,), "block": 64, "arguments": arguments(seed), "constants": {}}
    place = folder / f"random_{seed}"
    place.with_suffix(".py").write_text(text, encoding="utf-8")
    place.with_suffix(".pickle").write_bytes(pickle.dumps(launch))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(*map(int, sys.argv[2:])) if len(sys.argv) > 2 else range(200):
        write(folder, seed)


if __name__ == "__main__":
    main()
