"""What threads compute under one mask, as lines of arithmetic, and the functions that carry such lines out.

A line is one thread's. Lines are compiled, and go over one thread after the other; functions that not every processor
rounds alike (exp, sin, pow) are NumPy's, as they are by steps, on some thousand threads at once. `goes_alike` has tried that
NumPy gives a number's result wherever it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import njit

MOST_LINES = 400  # of what is computed under one mask
AT_ONCE = 4096  # threads: a few dozen vectors of them fit a CPU's L2 cache
TRIED = 517  # numbers, so that no vector length divides them


class NotTheSame(Exception):  # noqa: N818 (it says that launches are stepped through, and is no error)
    """A kernel that may go another way when it finds other values, or that has something in it that is not written."""


@dataclass(frozen=True, eq=False)
class OfNumPy:
    """A line that calls a function of NumPy's: names or other operands, and the name of what it gives."""

    function: np.ufunc
    operands: tuple[str, ...]
    result: str


@dataclass(eq=False)
class Straight:
    """What is computed under one mask, thread by thread: lines, and the numbers that they need."""

    mask: Any
    lines: list[str] = field(default_factory=list)
    calls: dict[int, OfNumPy] = field(default_factory=dict)  # by their lines
    dtypes: dict[str, np.dtype] = field(default_factory=dict)  # of what has a name
    arrays: dict[int, np.dtype] = field(default_factory=dict)  # that it accesses, by their place among the buffers
    indices: list[np.ndarray] = field(default_factory=list)  # elements by thread
    shifts: list[int] = field(default_factory=list)
    vectors: list[np.ndarray] = field(default_factory=list)  # other numbers by thread
    scalars: list[np.generic] = field(default_factory=list)

    def element(self, elements: np.ndarray) -> str:
        """How one of these elements is written: those of an array before it may lie at one distance."""
        for number, known in enumerate(self.indices):
            if known is elements:
                return f"i{number}"
            shift = int(elements[0]) - int(known[0])
            if not shift and np.array_equal(known, elements):
                return f"i{number}"
            is_inside = int(known.min()) >= 0 and int(elements.min()) >= 0
            if shift and is_inside and np.array_equal(elements - known, np.full(len(known), shift)):
                self.shifts.append(shift)
                return f"i{number} + h{len(self.shifts) - 1}"
        self.indices.append(elements)
        return f"i{len(self.indices) - 1}"

    def known(self, elements: np.ndarray) -> np.ndarray | None:
        """These elements, where they have been written before."""
        return next((each for each in self.indices if np.array_equal(each, elements)), None)

    def write(self, line: str) -> None:
        if len(self.lines) >= MOST_LINES:
            raise NotTheSame("too long")
        self.lines.append(line)

    def keep(self, code: str, dtype: np.dtype) -> str:
        """The name of a number that is computed by this code."""
        name = f"t{len(self.lines)}"
        self.dtypes[name] = dtype
        self.write(f"{name} = {code}")
        return name

    def call(self, function: np.ufunc, operands: tuple[str, ...], dtype: np.dtype) -> str:
        """The name of what a function of NumPy's gives for operands of this type."""
        if not goes_alike(function, dtype):
            raise NotTheSame("a function whose results depend on where numbers stand")
        place = len(self.lines)
        name = self.keep(f"np.{function.__name__}({', '.join(operands)})", dtype)
        self.calls[place] = OfNumPy(function, operands, name)
        return name

    def form(self) -> tuple[object, ...]:
        """What one function can compute together: the same lines, with the same numbers that all threads share."""
        return (
            "\n".join(self.lines), tuple(self.arrays), tuple(self.shifts),
            tuple((each.dtype, each.tobytes()) for each in self.scalars),
            tuple(each.dtype for each in self.vectors), len(self.indices),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Made:
    """A number that follows from what is in memory: what it is called, under which mask, and its type."""

    code: str
    dtype: np.dtype
    where: Straight


def converted(code: str, dtype: np.dtype, wanted: np.dtype) -> str:
    return code if dtype == wanted else f"np.{wanted.name}({code})"


@cache
def goes_alike(function: np.ufunc, dtype: np.dtype) -> bool:
    """Whether NumPy gives the same for a number of this type wherever it stands in an array, and by itself."""
    rng = np.random.default_rng(0)
    spread = rng.normal(0, 1, (2, TRIED)) * 10.0 ** rng.uniform(-12, 12, (2, TRIED))
    one, other = np.where(rng.random((2, TRIED)) < 0.5, rng.normal(0, 2, (2, TRIED)), spread).astype(dtype)
    one[[5, 100, 300, 301]] = np.nan, np.inf, -np.inf, 0
    two = function.nin == 2
    with np.errstate(all="ignore"):
        whole = function(one, other) if two else function(one)
        if not isinstance(whole, np.ndarray) or whole.dtype != dtype:
            return False
        twice = np.repeat(one, 2)[::2], np.repeat(other, 2)[::2]
        parts = [slice(3, None), slice(0, 100), slice(1, 32), *(slice(i, i + 1) for i in range(64))]
        for a, b, wanted in [(one[i], other[i], whole[i]) for i in parts] + [(*twice, whole)]:
            if (function(a, b) if two else function(a)).tobytes() != np.ascontiguousarray(wanted).tobytes():
                return False
        for other_one in map(dtype.type, (1.7, 2, 0.5, -1, 3)) if two else ():
            by_scalar = function(one, other_one)
            if any(function(one[i], other_one).tobytes() != by_scalar[i].tobytes() for i in parts):
                return False
        return two or all(function(one[i]).tobytes() == whole[i].tobytes() for i in range(64))


def compiled_for(*straights: Straight) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """What computes what threads do by the same lines, and what it takes behind the arrays.

    Elements of which each thread has the one behind that of the thread before it are told by the first one's.
    """
    first = straights[0]
    indices = [_one_by_one([each.indices[i] for each in straights]) for i in range(len(first.indices))]
    vectors = [np.concatenate([each.vectors[i] for each in straights]) for i in range(len(first.vectors))]
    elements = [f"i{i} = e{i}[k]" if isinstance(each, np.ndarray) else f"i{i} = e{i} + k" for i, each in enumerate(indices)]
    parameters = [
        *(f"x{place}" for place in first.arrays), "n", *(f"e{i}" for i in range(len(indices))),
        *(f"h{i}" for i in range(len(first.shifts))), *(f"w{i}" for i in range(len(vectors))),
        *(f"s{i}" for i in range(len(first.scalars))),
    ]  # fmt: skip
    size = sum(each.mask.active for each in straights)
    numbers = size, *indices, *map(np.int64, first.shifts), *vectors, *first.scalars
    if not first.calls:
        return _function(", ".join(parameters), (*elements, *first.lines)), numbers
    return WithCalls(first, elements, parameters), numbers


def _one_by_one(parts: Sequence[np.ndarray]) -> np.ndarray | np.int64:
    """Elements by thread (int32); the first of them, where each thread's is the one behind that before it."""
    begin = int(parts[0][0])
    at = begin
    for each in parts:
        if int(each[0]) != at or int(each[-1]) != at + len(each) - 1 or not np.all(np.diff(each) == 1):
            return np.concatenate(parts).astype(np.int32)
        at += len(each)
    return np.int64(begin)


class WithCalls:
    """Computes lines of which some call functions of NumPy's: some thousand threads, piece by piece, then the next ones."""

    def __init__(self, straight: Straight, elements: Sequence[str], parameters: Sequence[str]) -> None:
        """`elements`: lines that name a thread's own elements, for the pieces that access them."""
        self.parameters, self.dtypes = parameters, straight.dtypes
        self.calls = [call for _, call in sorted(straight.calls.items())]
        ends = [*sorted(straight.calls), len(straight.lines)]
        begins = [0, *(each + 1 for each in ends[:-1])]
        pieces = [straight.lines[a:b] for a, b in zip(begins, ends, strict=True)]
        names = [_names(piece) for piece in pieces]
        made = [stored & self.dtypes.keys() for stored, _ in names]
        asked = [loaded & self.dtypes.keys() for _, loaded in names]
        pieces = [
            [line for line in elements if _names([line])[0] & loaded] + piece
            for piece, (_, loaded) in zip(pieces, names, strict=True)
        ]
        of_calls = {name for call in self.calls for name in (call.result, *call.operands) if name in self.dtypes}
        #: what is kept by thread between pieces
        self.kept = sorted(
            of_calls.union(*(one & other for i, one in enumerate(made) for j, other in enumerate(asked) if j != i)),
            key=lambda name: int(name[1:]),
        )
        self.pieces = [
            _piece(
                ", ".join(parameters), tuple(piece), tuple(each for each in self.kept if each in needed - own),
                tuple(each for each in self.kept if each in own),
            ) if piece else None
            for piece, own, needed in zip(pieces, made, asked, strict=True)
        ]  # fmt: skip

    def __call__(self, *arguments: Any) -> None:
        named = dict(zip(self.parameters, arguments, strict=True))
        size = named["n"]
        rows = {name: np.empty(min(size, AT_ONCE), self.dtypes[name]) for name in self.kept}
        with np.errstate(all="ignore"):
            for begin in range(0, size, AT_ONCE):
                end = min(size, begin + AT_ONCE)
                for number, piece in enumerate(self.pieces):
                    if piece is not None:
                        function, takes, gives = piece
                        function(begin, end, *arguments, *(rows[each] for each in takes), *(rows[each] for each in gives))
                    if number < len(self.calls):
                        call = self.calls[number]
                        operands = [self._operand(each, rows, named, begin, end) for each in call.operands]
                        call.function(*operands, out=rows[call.result][: end - begin])

    def _operand(self, code: str, rows: dict[str, np.ndarray], named: dict[str, Any], begin: int, end: int) -> Any:
        if code in rows:
            return rows[code][: end - begin]
        return named[code.removesuffix("[k]")][begin:end] if code.endswith("[k]") else named[code]


def _names(lines: Sequence[str]) -> tuple[set[str], set[str]]:
    """The names that these lines give to numbers, and those that they ask for."""
    found = [each for each in ast.walk(ast.parse("\n".join(lines))) if isinstance(each, ast.Name)]
    stored = {each.id for each in found if isinstance(each.ctx, ast.Store)}
    return stored, {each.id for each in found if isinstance(each.ctx, ast.Load)}


@lru_cache(maxsize=64)
def _function(parameters: str, lines: tuple[str, ...]) -> Callable[..., None]:
    """What threads compute, one after the other; compiled when it is first called with arrays of some types."""
    return _compiled([f"def compute({parameters}):", "    for k in range(n):", *(f"        {line}" for line in lines)])


@lru_cache(maxsize=64)
def _piece(
    parameters: str, lines: tuple[str, ...], takes: tuple[str, ...], gives: tuple[str, ...]
) -> tuple[Callable[..., None], tuple[str, ...], tuple[str, ...]]:
    """Some of the lines, for the threads from `begin` on: what they take from rows, and what they leave there."""
    rows = [f"v_{each}" for each in (*takes, *gives)]
    body = [f"{each} = v_{each}[k - begin]" for each in takes]
    body += [*lines, *(f"v_{each}[k - begin] = {each}" for each in gives)]
    text = [f"def compute(begin, end, {', '.join([parameters, *rows])}):", "    for k in range(begin, end):"]
    return _compiled(text + [f"        {line}" for line in body]), takes, gives


def _compiled(text: Sequence[str]) -> Callable[..., None]:
    names: dict[str, Any] = {"np": np}
    exec("\n".join(text), names)  # noqa: S102 (written here, of operations)
    made: Callable[..., None] = njit(error_model="numpy", nogil=True, boundscheck=False)(names["compute"])
    return made
