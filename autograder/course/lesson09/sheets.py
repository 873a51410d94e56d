"""A kernel's sheet: five figures that a reader can judge without knowing a better kernel, one for each bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autograder.course.lesson09.counting import Figures, pair_of, profiled_launch
from autograder.course.lesson09.pairs import BALANCE, CONTENTION, EFFICIENCY, MEMORY, REGULARITY, KernelLaunch
from autograder.course.lesson09.patients import AS_IT_CAME, PATIENTS, Patient
from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.profiling import Profile

ASKED = {  # bottleneck -> what its line says, and what a kernel without this trouble has
    MEMORY: ("sectors for each request to load", "4 where neighbours read neighbours"),
    CONTENTION: ("additions by atomics for each element", "far below 1"),
    BALANCE: ("slowest warp / average warp", "near 1"),
    REGULARITY: ("lanes at work, of 32", "near 32"),
    EFFICIENCY: ("steps of a warp for 32 elements", "what the task needs: think"),
}
WIDTH = 40
NARROW = 8  # a column beside others: a line of the page has room for all of them


@dataclass(frozen=True)
class KernelSheet:
    """What a launch does for each element of its input: the figures of `ASKED`, in their order."""

    kernel: str
    figures: tuple[float, ...]

    @classmethod
    def of(cls, profiled: Profile, elements: int) -> KernelSheet:
        """From a profile of a launch that is given so many elements."""
        found, source = Figures.of(profiled), profiled.counters
        numbers = (
            source.global_load_sectors_per_request,
            32 * source.global_atomic_requests / elements,
            found.slowest,
            found.lanes,
            32 * found.steps / elements,
        )
        return cls(profiled.record.kernel, tuple(round(each, 3) for each in numbers))


@dataclass(frozen=True)
class KernelSheets:
    """Several kernels' sheets side by side, under names that may tell nothing."""

    sheets: dict[str, KernelSheet]

    def __str__(self) -> str:
        head = " " * WIDTH + "".join(f"{name:>{NARROW}}" for name in self.sheets) + "   healthy"
        rows = []
        for at, (words, healthy) in enumerate(ASKED.values()):
            numbers = "".join(f"{_number_text(each.figures[at]):>{NARROW}}" for each in self.sheets.values())
            rows.append(f"{words:<{WIDTH}}{numbers}   {healthy}")
        return "\n".join([head, *rows])

    __repr__ = __str__


def _number_text(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 0.05 or not number else f"{number:.3f}"


UNNAMED = {"W": "coarsening", "X": "data layout", "Y": "regularization", "Z": "input binning"}
"""Kernels without a technique, whose sheets are shown under these letters."""


def unnamed() -> KernelSheets:
    """The sheets of four kernels that the lesson has shown."""
    found = {}
    for letter, technique in UNNAMED.items():
        pair = pair_of(technique)
        launch = pair.job(pair.small).without
        found[letter] = KernelSheet.of(profiled_launch(launch.kernel, launch), elements_of(technique, launch))
    return KernelSheets(found)


def elements_of(technique: str, launch: KernelLaunch) -> int:
    """Of a launch's input: values of its rows, else what its first array has (particles, not their fields)."""
    first = launch.arguments[1 if technique == "regularization" else 0]
    return int(first.shape[0] if technique == "data layout" else first.size)


def patient_of(name: str) -> Patient:
    """A patient by its letter; raises UsageError for another."""
    for patient in PATIENTS:
        if patient.name == name:
            return patient
    raise UsageError(f"No patient is called {name!r}.", remedy=f"Known: {', '.join(each.name for each in PATIENTS)}.")


@dataclass(frozen=True)
class Examined:
    """A patient's sheet, and where the model sees an H200's time go."""

    sheet: KernelSheet
    needs_us: dict[str, float]  # the longest first
    together_us: float
    task: str  # how much of what

    def __str__(self) -> str:
        rows = [f"{words:<{WIDTH}}{_number_text(number):>11}   {healthy}" for number, (words, healthy) in self._lines()]
        needs = ", ".join(f"{name} {us:,.0f}" for name, us in self.needs_us.items())
        head = f"{f'{self.sheet.kernel}, {self.task}':<{WIDTH + 11}}   healthy"
        return "\n".join([head, *rows, f"An H200 would need, in us: {needs}; together {self.together_us:,.0f}"])

    __repr__ = __str__

    def _lines(self) -> Sequence[tuple[float, tuple[str, str]]]:
        return list(zip(self.sheet.figures, ASKED.values(), strict=True))


def examined(name: str, kernel: Any) -> Examined:
    """A reader's kernel in place of the patient as it came, on a task of middling size; the result is not judged."""
    patient = patient_of(name)
    launch = patient.case(patient.shown).launches[AS_IT_CAME]
    profiled = profiled_launch(kernel, launch, patient.sample)
    estimate = profiled.to_dict()["estimate"]
    needs = list(estimate["breakdown_ns"].items())[:4]
    elements = elements_examined(launch)
    needs_us = {name: ns / 1e3 for name, ns in needs}
    task = f"{elements:,} {patient.elements}"
    return Examined(KernelSheet.of(profiled, elements), needs_us, estimate["ns"] / 1e3, task)


def elements_examined(launch: KernelLaunch) -> int:
    """Pixels, links or numbers: the larger of a launch's first two arrays."""
    return int(max(each.size for each in launch.arguments[:2]))
