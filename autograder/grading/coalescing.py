"""Whether the lanes of a warp load neighbours: the check of several labs."""

from __future__ import annotations

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.records.counters import Counters
from autograder.records.runs import Run

SECTOR_BYTES = 32
NUMBER_BYTES = 4  # of a float32 or an int32, which all labs load
SPARE = 1.25  # times the requests that whole warps need: some warps are not whole
LEAST_LOADED = 0.8  # of the numbers that there are, also where sampled blocks stand for all


def left_by_the_compiler(run: Run) -> Counters:
    """What all launches do together: what the source names twice and the compiler loads once is one load."""
    return sum((each.compiled or each.counters for each in run.launches), Counters())


def sectors_a_request(run: Run, needed: int) -> float:
    """Sectors for each global load request, of not many more than it takes warps with all their lanes to load `needed`
    numbers.

    Who asks more often (for another number that all lanes have in common, say, which moves next to nothing, or with few
    lanes of a warp) moves no less.
    """
    counters = left_by_the_compiler(run)
    requests = min(counters.global_load_requests, SPARE * needed / lanes_of_a_warp(run))
    return counters.global_load_sectors / max(1.0, requests)


def lanes_of_a_warp(run: Run) -> float:
    """That it was launched with, on average, in the launch that loads most: blocks may be narrower than a warp."""
    launch = max(run.launches, key=lambda each: each.counters.global_load_sectors)
    return launch.counters.threads / max(1, launch.counters.warps)


def expect_loads(run: Run, numbers: int) -> None:
    """Fails the check where loads fetch clearly less than the numbers that there are, or atomic updates as much."""
    counters = left_by_the_compiler(run)
    loaded = counters.global_load_useful_bytes / NUMBER_BYTES
    if loaded < LEAST_LOADED * numbers:
        raise CheckFailed(f"Loads fetch {loaded:,.0f} of {numbers:,} numbers: all are to come by loads.")
    updated = counters.unique_atomic_sectors * SECTOR_BYTES / NUMBER_BYTES
    if updated > numbers / 2:
        raise CheckFailed(
            f"Atomic updates go to about {updated:,.0f} places for {numbers:,} numbers: these are to be loaded, and only "
            "sums updated."
        )


def expect_coalesced(attempt: Attempt, run: Run, needed: int, limit: float, need: str) -> str:
    """Fails the check where a load request moves more sectors than `limit`; the words of a check that passed else.

    `needed` as in `sectors_a_request`; `need` says how many sectors it takes, and who takes them: "neighbours need 4".
    """
    sectors = sectors_a_request(run, needed)
    attempt.record(sectors_per_load_request=sectors, limit=limit)
    if sectors > limit:
        worst = max(run.lines, key=lambda each: each.counters.global_load_sectors)
        most = f"Most of them come from {worst.line}: `{worst.text.strip()}`"
        raise CheckFailed(f"A load request moves {sectors:.3g} sectors; {need}. {most}", line=worst.line)
    return f"{sectors:.3g} sectors a load request; at most {limit:g} asked for."
