"""Small random kernels, valid and not, and whether Numba compiles them: which programs there are at all.

    python -m autograder.simgpu.measurements.generated_kernels     # needs numba, no GPU and no CUDA; two minutes
    python autograder/simgpu/measurements/generated_kernels.py     # the same with numba-cuda, in an environment that has it

Each seed makes one kernel of 3 to 12 lines by generated_kernels_grammar.json: one feature (a call, an index, a loop, a
variable of two types ...) on operands and arguments of random types, between lines that are always valid. `main` writes
generated_kernels.json: by seed "" where Numba types and lowers the kernel, else its class of error and the first line of it.
Run after that with numba-cuda, it adds on which kernels that one says otherwise.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import types as python_types
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

VERDICTS = Path(__file__).with_name("generated_kernels.json")
SEEDS = range(4000)
GRID, BLOCK = 2, 4
PARAMETERS = ("out", "a", "m", "c", "x", "y", "n", "t")
MOST_CHARACTERS = 160  # of an error's first line

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
USUAL = (*INTEGERS, *FLOATS, "float32", "float64", "int32", "int64")
SELDOM = ("float16", "bool", "complex64", "complex128")
TUPLES = ("int64 int64", "int64 int64 int64", "float64 float64", "int64 float64", "int32 float32 int64", "int64")

# Device functions that kernels may call, and constants of the module that they may name
PRELUDE = """N = 4
PAIR = (2, 3)
RATIO = 0.5
NOTHING = None
WORD = "word"
TABLE = np.arange(4)

@cuda.jit(device=True)
def twice(v):
    return v + v

@cuda.jit(device=True)
def scaled(v, factor=2, shift=0):
    return v * factor + shift

@cuda.jit(device=True)
def both(v, w):
    return v + w, v - w

@cuda.jit(device=True)
def first_of(array, index):
    return array[index]

@cuda.jit(device=True)
def count_all(*values):
    return len(values)

@cuda.jit(device=True)
def one_or_half(v):
    if v > 2:
        return 1
    return 0.5

@cuda.jit(device=True)
def number_or_pair(v):
    if v > 2:
        return 1
    return 1, 2

@cuda.jit(device=True)
def maybe(v):
    if v > 2:
        return 1

@cuda.jit(device=True)
def stores(array, index):
    array[index] = 1

@cuda.jit(device=True)
def falls(v):
    if v < 1:
        return 0
    return falls(v - 1)

@cuda.jit(device=True)
def applied(function, v):
    return function(v)

def plain(v):
    return v + 1

@cuda.jit
def another_kernel(array):
    array[0] = 1
"""

# By name the alternatives that may stand for <name>: operands, types and words, then a list for each feature
GRAMMAR: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("generated_kernels_grammar.json").read_text(encoding="utf-8")
)
FEATURES = (
    "operator", "comparison", "boolean", "conditional", "augmented", "builtin", "math", "numpy", "conversion", "position",
    "barrier", "bitwise", "warp", "atomic", "tuple", "index", "slice", "attribute", "for", "while", "two types", "unset",
    "unpack", "array maker", "function", "nested", "none", "text", "membership", "failing", "return", "statement", "mixed",
)  # fmt: skip
VALID = (  # lines that are always valid, around the feature
    "s = 0.0\nfor q in range(3):\n    s += q\nout[i] = s",
    "if i < 4:\n    out[i] += 1\nelse:\n    out[i] = 2",
    "out[j] = i + 1",
    "cuda.syncthreads()",
    "r = twice(i)\nout[i] = r",
    "r = a.size\nwhile r > 4:\n    r //= 2\nout[i] = r",
)
HOLE = re.compile(r"<([a-z][a-z ]*)>")


@dataclass(frozen=True)
class Generated:
    """One kernel: its source, the types of its arguments by parameter ("int32[2]" has two dimensions), what it tries."""

    seed: int
    feature: str
    template: str  # the alternative of the feature, before its holes were filled
    source: str
    types: dict[str, str]

    def arguments(self) -> tuple[Any, ...]:
        """Fresh arguments of these types: small positive numbers, arrays of 8, (4, 4) and (2, 4, 4) elements."""
        return tuple(argument(self.types[name]) for name in PARAMETERS)


def argument(kind: str) -> Any:
    if kind.endswith("]"):
        dtype, dimensions = kind[:-1].split("[")
        shape = {1: (8,), 2: (4, 4), 3: (2, 4, 4)}[int(dimensions)]
        return (np.arange(math.prod(shape)) % 5 + 1).reshape(shape).astype(np.dtype(dtype))
    parts = kind.split(" ")
    if kind.startswith("("):
        return tuple(np.dtype(each).type(number + 1) for number, each in enumerate(kind[1:-1].split(" ")))
    return np.dtype(parts[0]).type(2)


def generated(seed: int) -> Generated:
    """The kernel of a seed, the same on every machine."""
    choose = random.Random(seed)
    feature = FEATURES[seed % len(FEATURES)]
    template = choose.choice(GRAMMAR[feature])
    piece = filled(template, choose)
    if choose.random() < 0.2:
        piece = f"if {choose.choice(('i < 4', 'j > 0', 'n > 1'))}:\n{indented(piece)}"
    pieces = [piece]
    if choose.random() < 0.3:
        pieces.insert(choose.randint(0, 1), choose.choice(VALID))
    body = indented("\n".join(["i = cuda.grid(1)", "j = cuda.threadIdx.x", *pieces]))
    source = f"{PRELUDE}\n@cuda.jit\ndef kernel({', '.join(PARAMETERS)}):\n{body}\n"
    return Generated(seed, feature, template, source, chosen_types(choose))


def filled(template: str, choose: random.Random) -> str:
    """A template with every hole filled by an alternative of its name."""
    while HOLE.search(template):
        template = HOLE.sub(lambda hole: choose.choice(GRAMMAR[hole[1]]), template)
    return template


def indented(lines: str) -> str:
    return "\n".join(f"    {line}" for line in lines.split("\n"))


def chosen_types(choose: random.Random) -> dict[str, str]:
    def dtype() -> str:
        return choose.choice(SELDOM if choose.random() < 0.12 else USUAL)

    return {
        "out": choose.choice(("float64[1]", "float64[1]", "float32[1]", "int64[1]")),
        "a": f"{dtype()}[1]",
        "m": f"{dtype()}[2]",
        "c": f"{dtype()}[3]",
        "x": dtype(),
        "y": dtype(),
        "n": "int64",
        "t": f"({choose.choice(TUPLES)})",
    }


def namespace(cuda: Any) -> dict[str, Any]:
    """The names that a generated kernel's module has, with this `numba.cuda`."""
    from numba import float32, int32

    return {"cuda": cuda, "np": np, "math": math, "float32": float32, "int32": int32, "__name__": "generated"}


# -- Numba's verdict ----------------------------------------------------------------------------------------------


def with_no_device() -> None:
    """Lets Numba compile device functions for compute capability 9.0 where there is no GPU to ask."""
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: python_types.SimpleNamespace(compute_capability=(9, 0))


def numbas_verdict(kernel: Any, types: tuple[Any, ...]) -> str:
    """Nothing where Numba types and lowers a Python function as a kernel for these types, else its error and words."""
    from numba.cuda.compiler import compile_cuda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            returned = compile_cuda(kernel, None, types, nvvm_options={}, cc=(9, 0)).signature.return_type
        except (
            Exception
        ) as error:  # whatever class Numba's compiler ends with: many of its refusals have none of their own
            return f"{type(error).__name__}: {first_line(str(error))}"
    return "" if str(returned) == "none" else "TypeError: CUDA kernel must have void return type."


def first_line(message: str) -> str:
    """The first line of an error that says something, without addresses, and without where a module is installed."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Failed in ", "- Resolution failure", "Overload"))] or [""]
    text = lines[0] + (f" {lines[1]}" if lines[0].endswith(":") and len(lines) > 1 else "")
    text = re.sub(r"\x1b\[[0-9;]*m|0x[0-9a-f]+|<stdin>|\$?[\w.]*\.\d+\b", "..", text)
    return re.sub(r"(<module '[\w.]+') from '[^']*'>", r"\1>", text)[:MOST_CHARACTERS]


def verdict_on(seed: int) -> str:
    from numba import cuda, typeof

    made = generated(seed)
    names = namespace(cuda)
    exec(compile(made.source, f"<kernel {seed}>", "exec"), names)
    return numbas_verdict(names["kernel"].py_func, tuple(map(typeof, made.arguments())))


def read_verdicts() -> dict[str, dict[str, Any]]:
    """By package what each seed's kernel gets: all of numba, and of numba-cuda where the two disagree."""
    verdicts: dict[str, dict[str, Any]] = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return verdicts


def main() -> None:
    with Pool(2, with_no_device) as pool:
        found = dict(zip(map(str, SEEDS), pool.map(verdict_on, SEEDS, chunksize=50), strict=True))
    versions = {name: version(name) for name in (compiler(), "numba", "numpy")} | {"python": sys.version.split()[0]}
    kept = read_verdicts() if VERDICTS.exists() else {}
    if compiler() == "numba-cuda":
        found = {seed: said for seed, said in found.items() if bool(said) != bool(kept["numba"]["verdicts"][seed])}
    kept[compiler()] = {"versions": versions, "verdicts": found}
    VERDICTS.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


def compiler() -> str:
    """Which of the two packages `numba.cuda` is: numba's own, or NVIDIA's numba-cuda, where that is installed."""
    from numba import cuda

    return "numba-cuda" if "numba_cuda" in (cuda.__file__ or "") else "numba"


if __name__ == "__main__":
    main()
