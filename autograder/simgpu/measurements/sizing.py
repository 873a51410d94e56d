"""What the files of sized kernels share: a kernel at any size, its launches, and quick makers of large arguments.

A size is one number, whose meaning is the kernel's own (elements, rows, the side of a square). Of each kernel three are
named: a small one, at which results are held against NumPy; a middle one, at which a GPU is busy for some ten
microseconds; and a large one, of some hundred to some thousand microseconds, most of them larger than its L2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from autograder.simgpu.measurements.cases import SEED
from autograder.simgpu.measurements.unseen_entries import Unseen
from autograder.simgpu.measurements.unseen_kernels import UNSEEN, is_held

Shape: TypeAlias = "int | tuple[int, ...]"
REPEATED = (1 << 22) - 3  # elements drawn; longer arrays repeat them (an odd number, so that no two rows are alike)
SAMPLE = 256  # blocks
STRIDING = 132 * 8  # blocks whose threads stride through an array: eight for each multiprocessor of an H200


@dataclass(frozen=True)
class SizedLaunch:
    """One launch of a kernel with its arguments."""

    kernel: Any
    grid: Shape
    block: Shape
    arguments: tuple[Any, ...]
    shared_bytes: int = 0  # dynamic ones


class Random:
    """Makes arrays of random values quickly."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def reals(self, shape: Shape, dtype: Any = np.float32) -> np.ndarray:
        """Numbers in [0, 1)."""
        drawn = self.rng.random(min(int(np.prod(shape)), REPEATED), np.float64 if dtype == np.float64 else np.float32)
        return repeated(drawn.astype(dtype, copy=False), shape)

    def wholes(self, high: int, shape: Shape, dtype: Any = np.int32, low: int = 0) -> np.ndarray:
        """Whole numbers in [low, high), for data: a long array repeats itself."""
        count = min(int(np.prod(shape)), REPEATED)
        return repeated(self.rng.integers(low, high, count, dtype=dtype), shape)

    def indices(self, high: int, shape: Shape, dtype: Any = np.int32) -> np.ndarray:
        """Places in [0, high), each drawn: for gathers and scatters."""
        return self.rng.integers(0, high, shape, dtype=dtype)

    def order(self, size: int, dtype: Any = np.int32) -> np.ndarray:
        """A permutation."""
        order = np.arange(size, dtype=dtype)
        self.rng.shuffle(order)
        return order

    def ascending(self, size: int, top: float, dtype: Any) -> np.ndarray:
        """Numbers below `top` in ascending order."""
        steps = np.cumsum(self.reals(size, np.float64))
        scaled: np.ndarray = steps * (top / (steps[-1] + 1))
        return scaled.astype(dtype)


def repeated(drawn: np.ndarray, shape: Shape) -> np.ndarray:
    """As many elements as the shape has, from those drawn, over and over."""
    found: np.ndarray = np.resize(drawn, shape)
    return found


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


Arguments: TypeAlias = "tuple[Any, ...]"
Make: TypeAlias = "Callable[[Random, int], Arguments]"
Over: TypeAlias = "Callable[[int, Arguments], Shape]"


def everything(*arguments: Any) -> Arguments:
    return arguments


@dataclass(frozen=True)
class Sized:
    """A kernel, or a chain of them, at any size."""

    name: str
    make: Make
    launches: Callable[[int, Arguments], Iterable[SizedLaunch]]
    small: int
    middle: int
    large: int
    reference: Callable[..., None]  # leaves in a copy of the arguments what the launches must leave in them
    seen: Callable[..., Arguments] = everything  # what of them does not depend on chance
    sample: int | None = SAMPLE  # blocks of a launch that are simulated; None: all, as each depends on others
    apart: str = ""  # the name of its set, where it is in neither half

    @property
    def half(self) -> str:
        """learned, or held, which is only ever predicted; or a set apart."""
        return self.apart or ("held" if is_held(self.name) else "learned")

    def case(self, size: int) -> SizedCase:
        return SizedCase(self, size)


@dataclass(frozen=True)
class SizedCase:
    """A kernel at one size."""

    of: Sized
    size: int

    @property
    def name(self) -> str:
        return f"{self.of.name}@{self.size}"

    @property
    def half(self) -> str:
        return self.of.half

    def make_arguments(self) -> Arguments:
        """The same at each call, on every machine."""
        return self.of.make(Random(np.random.default_rng(SEED)), self.size)

    def launches(self, arguments: Arguments) -> list[SizedLaunch]:
        """What is launched, in order; `arguments` are those of `make_arguments`, on a device or not."""
        return list(self.of.launches(self.size, arguments))


def elements(n: int, arguments: Arguments) -> int:
    """A thread for each of n."""
    return n


def square(n: int, arguments: Arguments) -> tuple[int, int]:
    """A thread for each of n times n."""
    return n, n


def cube(n: int, arguments: Arguments) -> tuple[int, int, int]:
    return n, n, n


def halves(n: int, arguments: Arguments) -> int:
    """A thread for every two of n."""
    return n // 2


def blocks_of(threads: int) -> Over:
    """A block of so many threads for each of n."""
    return lambda n, arguments: n * threads


def striding(threads: int, blocks: int = STRIDING) -> Over:
    """A thread for each of n, but no more than so many blocks."""
    return lambda n, arguments: min(n, threads * blocks)


def grid_for(threads: Shape, block: Shape) -> Shape:
    """As many blocks as these threads need along each axis."""
    if isinstance(threads, int) and isinstance(block, int):
        return math.ceil(threads / block)
    assert isinstance(threads, tuple) and isinstance(block, tuple), "grid and block have as many axes"
    return tuple(math.ceil(n / size) for n, size in zip(threads, block, strict=True))


@functools.cache
def _known() -> Mapping[str, Unseen]:
    return {each.case.name: each for each in UNSEEN}


def sized(
    name: str, over: Over, make: Make, small: int, middle: int, large: int,
    *, seen: Callable[..., Arguments] = lambda *arguments: arguments, sample: int = SAMPLE,
) -> Sized:  # fmt: skip
    """An entry for one of UNSEEN; `over` tells how many threads a size takes along each axis."""
    entry = _known()[name]
    launches = one_launch(entry.case.kernel, over, entry.case.block)
    return Sized(name, make, launches, small, middle, large, entry.reference, seen, sample)


def one_launch(
    kernel: Any, over: Over, block: Shape, shared_bytes: int = 0
) -> Callable[[int, Arguments], Sequence[SizedLaunch]]:
    """The launch of one kernel with all the arguments."""

    def launches(n: int, arguments: Arguments) -> Sequence[SizedLaunch]:
        return (SizedLaunch(kernel, grid_for(over(n, arguments), block), block, arguments, shared_bytes),)

    return launches
