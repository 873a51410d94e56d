"""Work earns points only where it was right: the results of every counted or timed run are checked, all of them.

Where a few sampled blocks stand for all, `carried_out_whole` makes the same run with every block: results and hazards are
those of that run, and work counts only if the sample was like the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.grading.trials import as_it_was
from autograder.records.runs import Run, RunRequest

READS = ("copy_to_host", "an element")
LITTLE = 256  # bytes, which the host may read: results of a small case are no fewer than its inputs
MORE_THAN_SAMPLED = 1.1  # a right answer's sampled blocks tell its estimated time to a hundredth


@contextmanager
def counting_for_nothing(attempt: Attempt) -> Iterator[None]:
    """If something in this block fails the check, what was counted or timed before earns nothing and is not shown."""
    try:
        yield
    except CheckFailed as failure:
        failure.earned = 0
        attempt.measured.clear()
        raise


def carried_out_whole(
    attempt: Attempt, sampled: RunRequest, *, unchanged: Sequence[str] = ()
) -> tuple[Run, RunRequest]:
    """The run of a sampled request with all of its blocks, on the simulated GPU, and the request that it was.

    `unchanged`: large inputs that nobody wants back. Raises `CheckFailed` where the run ends in a fault of the student's.
    """
    request = replace(sampled, sample_blocks=None, sample_seed=None, scratch=(*sampled.scratch, *unchanged))
    return attempt.simulate(request, may_fault=True), request


def expect_like_its_sample(whole: Run, sampled: Run | None) -> None:
    """Fails the check if all blocks together take clearly longer than the sampled ones promised."""
    whole = as_it_was(whole)  # which fails the check or does nothing: no points come of its time
    if sampled is None or whole.estimated_ns is None or sampled.estimated_ns is None:
        return
    if whole.estimated_ns > MORE_THAN_SAMPLED * sampled.estimated_ns:
        raise CheckFailed(
            f"All blocks together take {whole.estimated_ns / 1e6:.3g} ms (estimated), and those that were looked at first "
            f"had promised {sampled.estimated_ns / 1e6:.3g}: speed counts where every block does its share."
        )


def expect_no_busier_warp(run: Run, loads: int, why: str) -> None:
    """Fails the check where one warp makes more loads of global memory than these, however many others make none."""
    counters = as_it_was(run).counted  # which fails the check or does nothing: no points come of it
    if counters is not None and counters.slowest_warp_loads > loads:
        made = counters.slowest_warp_loads
        raise CheckFailed(f"The busiest warp makes {made:,} loads one after the other: share the work out. {why}")


def expect_kernels_read(run: Run, request: RunRequest) -> None:
    """Fails the check where the host reads half of the numbers or more that it was given: it may have done the work."""
    given = sum(each.nbytes for each in request.arguments.values() if isinstance(each, np.ndarray))
    read = sum(each.size_bytes for each in run.transfers if each.what in READS)
    if read > max(LITTLE, given / 2):
        raise CheckFailed(f"The host reads {read:,} bytes from the device, of {given:,}: the work is the kernels'.")


def expect_no_transfers(run: Run) -> None:
    """Fails the check if the host asked the device for anything beside launches, and names the first of it."""
    for each in run.transfers:
        size = f" ({each.size_bytes:,} bytes)" if each.size_bytes else ""
        raise CheckFailed(f"{each.line}: beside launching, the host asks for {each.what}{size}.")
