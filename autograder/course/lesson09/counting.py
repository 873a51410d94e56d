"""What a technique changes: five figures, one for each bottleneck, counted on the simulated GPU without it and with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.course.lesson09.pairs import (
    BALANCE,
    CONTENTION,
    EFFICIENCY,
    MEMORY,
    PAIRS,
    REGULARITY,
    KernelLaunch,
    TechniquePair,
)
from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.profiling import Profile

LANES = 32
NO_DIFFERENCE = 1.05  # times as many or as few: nothing was gained or lost
ALIKE = 1.3  # a remainder of a grid, or a guard of a few instructions, is no imbalance
WIDE = {MEMORY: "sectors", CONTENTION: "atomic passes", BALANCE: "slowest/mean", REGULARITY: "lanes", EFFICIENCY: "steps"}


@dataclass(frozen=True)
class Figures:
    """A launch by its bottlenecks; of all but `lanes` less is better."""

    sectors: int  # that loads and stores of global memory ask for, before any cache
    passes: int  # of atomics in global memory: one for each sector and for each lane that has to wait for another
    slowest: float  # instructions of the warp that has most, over those of the average one
    lanes: float  # at work in an instruction, of 32
    steps: int  # instructions that multiprocessors issue, and passes of loads beyond the first of each

    @classmethod
    def of(cls, profiled: Profile) -> Figures:
        """From one launch on the simulated GPU."""
        source, machine = profiled.counters, profiled.compiled
        slowest = source.slowest_warp_instructions * source.warps / source.warp_instructions
        again = machine.global_load_wavefronts - machine.global_load_requests
        again += machine.shared_load_wavefronts - machine.shared_load_requests
        return cls(
            source.global_load_sectors + source.global_store_sectors,
            source.global_atomic_sectors,
            slowest if slowest >= ALIKE else 1.0,
            source.threads_per_instruction,
            machine.issued_warp_instructions + max(0, again),
        )

    def costs(self) -> dict[str, float]:
        """By bottleneck, so that less is better in each."""
        numbers = (self.sectors, self.passes, self.slowest, LANES / self.lanes, self.steps)
        return dict(zip(WIDE, map(float, numbers), strict=True))

    def table_row(self) -> str:
        """A row of a table whose columns are `HEAD`'s."""
        cells = (f"{self.sectors:,}", f"{self.passes:,}", f"{self.slowest:.1f}", f"{self.lanes:.1f}", f"{self.steps:,}")
        return "".join(f"{cell:>15}" for cell in cells)


NAME_WIDTH = 24
HEAD = " " * NAME_WIDTH + "".join(f"{word:>15}" for word in WIDE.values())


@dataclass(frozen=True)
class ComparedPair:
    """A pair as counted: its figures without the technique and with it."""

    technique: str
    names: tuple[str, str]
    without: Figures
    with_it: Figures

    def gains(self) -> dict[str, float]:
        """How many times less of each bottleneck's cost is left: above 1 a gain, below 1 a loss, infinite where none is."""
        return {
            bottleneck: _ratio(before, after)
            for (bottleneck, before), after in zip(
                self.without.costs().items(), self.with_it.costs().values(), strict=True
            )
        }

    def __str__(self) -> str:
        figures = zip(self.names, (self.without, self.with_it), strict=True)
        rows = [f"{name:<{NAME_WIDTH}}{each.table_row()}" for name, each in figures]
        told = "".join(f"{gain_in_words(each):>15}" for each in self.gains().values())
        return "\n".join([HEAD, *rows, f"{'gain':<{NAME_WIDTH}}{told}"])

    __repr__ = __str__


def _ratio(before: float, after: float) -> float:
    if before == after:
        return 1.0
    return before / after if after else float("inf")


def gain_in_words(gain: float) -> str:
    """x 4.0, all of it, new trouble; nothing where there is no difference."""
    if gain == float("inf"):
        return "all of it"
    if gain == 0:
        return "new"
    if 1 / NO_DIFFERENCE < gain < NO_DIFFERENCE:
        return "-"
    return f"x {_short(gain)}" if gain > 1 else f"/ {_short(1 / gain)}"


def _short(number: float) -> str:
    """Three digits at most where it is no large number: 1.26, 15.7, 513."""
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.3g}" if number >= 9.95 else f"{number:.2g}"


def pair_of(technique: str) -> TechniquePair:
    """A pair by the name of its technique; raises UsageError for another name."""
    for pair in PAIRS:
        if pair.technique == technique:
            return pair
    raise UsageError(
        f"No technique is called {technique!r}.", remedy=f"Known: {', '.join(each.technique for each in PAIRS)}."
    )


def compare(technique: str, without: Any, with_it: Any) -> ComparedPair:
    """Counts a reader's two kernels on the technique's task; raises UsageError where one comes to another result."""
    pair = pair_of(technique)
    job = pair.job(pair.small)
    names, found = [], []
    for given, launch, expected in zip((without, with_it), (job.without, job.with_it), job.expected, strict=True):
        profiled = profiled_launch(given, launch)
        name = profiled.record.kernel
        if not np.allclose(launch.result, expected, rtol=1e-4, atol=0):
            raise UsageError(f"{name} does not do {pair.technique}'s task: its result is another.", remedy="Is it as given?")
        found.append(Figures.of(profiled))
        names.append(name)
    if names[0] == names[1]:
        names = [f"{name}, {_blocks(each)}" for name, each in zip(names, (job.without, job.with_it), strict=True)]
    return ComparedPair(technique, (names[0], names[1]), found[0], found[1])


def _blocks(launch: KernelLaunch) -> str:
    return f"{launch.grid:,} blocks"


def profiled_launch(kernel: Any, launch: KernelLaunch, sample_blocks: int | None = None) -> Profile:
    """A kernel in place of the launch's own, on the simulated GPU; of a sample of blocks if that is asked for."""
    from autograder.profiling import profile  # the simulated GPU is only loaded where something is counted

    return profile(kernel, sample_blocks=sample_blocks)[launch.grid, launch.block](*launch.arguments)
