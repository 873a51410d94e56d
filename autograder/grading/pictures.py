"""Pictures of a failed check: where the wrong elements lie, and what a request of the offending source line moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from autograder.figures.banks import WORD_BYTES, wavefronts
from autograder.figures.requests import request_banks, request_sectors
from autograder.figures.sector_map import SECTOR_BYTES, sectors_of
from autograder.figures.svg import Figure
from autograder.figures.wrong_elements import wrong_elements
from autograder.grading.attempt import Attempt
from autograder.records.accesses import Access
from autograder.records.counters import Counters, LineProfile
from autograder.records.results import Picture
from autograder.records.runs import RunRequest

MOST_REQUESTS = 2  # drawn of one source line, of different arrays
KINDS = ("load", "store", "atomic")


def failure_pictures(attempt: Attempt) -> tuple[Picture, ...]:
    """The pictures that add something to the failed check's message; none where the message says it all."""
    figures = [*_wrong_output(attempt), *_costly_requests(attempt)]
    return tuple(Picture(each.svg, each.alt) for each in figures)


def _wrong_output(attempt: Attempt) -> Iterator[Figure]:
    """A map of the output that was found wrong, unless every element of it is wrong in the same way."""
    name, wrong, unwritten = "", np.zeros(0, bool), attempt.unwritten
    if attempt.wrong is not None and not attempt.wrong.problem:
        name, wrong, unwritten = attempt.wrong.name, attempt.wrong.wrong, attempt.wrong.unwritten
    elif unwritten is not None:
        name, wrong = attempt.unwritten_name, unwritten
    is_partial = attempt.compared is not None and attempt.comparison.sampled is not None
    if is_partial or wrong.ndim not in (1, 2) or wrong.size < 2:
        return
    missing = np.zeros_like(wrong) if unwritten is None else unwritten & wrong
    if wrong.all() and (missing.all() or not missing.any()):
        return
    yield wrong_elements(name, wrong, missing)


@dataclass(frozen=True)
class Waste:
    """What a failed check counted: sectors or bank conflicts, and of which kinds of access."""

    of_banks: bool
    kinds: tuple[str, ...]

    def of(self, counters: Counters) -> int:
        """How much is wasted: bytes moved and not used, or bank conflicts. Of atomics all sectors count."""
        if self.of_banks:
            return counters.shared_load_bank_conflicts + counters.shared_store_bank_conflicts
        wasted = {
            "load": SECTOR_BYTES * counters.global_load_sectors - counters.global_load_useful_bytes,
            "store": SECTOR_BYTES * counters.global_store_sectors - counters.global_store_useful_bytes,
            "atomic": SECTOR_BYTES * counters.global_atomic_sectors,
        }
        return sum(wasted[kind] for kind in self.kinds)

    def shows(self, access: Access) -> bool:
        if self.of_banks:
            return access.space == "shared" and access.kind != "atomic" and access.itemsize <= WORD_BYTES
        return access.space == "global" and access.kind in self.kinds and access.itemsize <= SECTOR_BYTES

    def cost(self, access: Access) -> int:
        return wavefronts(access) if self.of_banks else len(sectors_of(access))

    def draw(self, access: Access, source: str) -> Figure:
        return (request_banks if self.of_banks else request_sectors)(access, source)


def _wasted(attempt: Attempt) -> Waste | None:
    """What the check counted, by the names of the numbers that it recorded ("sectors_per_load_request")."""
    names = [name for name in attempt.measured if attempt.compared is None]
    if any("conflict" in name for name in names):
        return Waste(True, KINDS)
    names = [name for name in names if "sector" in name or "bytes" in name]
    kinds = tuple(kind for kind in KINDS if any(kind in name for name in names))
    return Waste(False, kinds or ("load", "store")) if names else None


def _costly_requests(attempt: Attempt) -> Iterator[Figure]:
    """The costliest of the offending line's first requests, for each array. The run is simulated again to trace them."""
    waste = _wasted(attempt)
    found = _offending_line(attempt, waste) if waste is not None else None
    if waste is None or found is None:
        return
    request, line = found
    run = attempt.trace(replace(request, traced_line=line.line))
    costliest: dict[tuple[str, str], Access] = {}
    for access in filter(waste.shows, run.accesses):
        known = costliest.get((access.array, access.kind))
        if known is None or waste.cost(access) > waste.cost(known):
            costliest[access.array, access.kind] = access
    drawn = sorted(costliest.values(), key=waste.cost, reverse=True)[:MOST_REQUESTS]
    for access in drawn:
        if access is drawn[0] or 2 * waste.cost(access) > waste.cost(drawn[0]):
            yield waste.draw(access, line.text)


def _offending_line(attempt: Attempt, waste: Waste) -> tuple[RunRequest, LineProfile] | None:
    """The line that the failure is about, or the most wasteful one of all runs; None where nothing is wasted."""
    lines = [(trial.request, line) for trial in attempt.trials for line in trial.run.lines]
    lines = [(request, line) for request, line in lines if waste.of(line.counters) > 0]
    at_fault = attempt.failure.line if attempt.failure else None
    named = [(request, line) for request, line in lines if line.line == at_fault]
    return max(named or lines, key=lambda each: waste.of(each[1].counters), default=None)
