"""Whether the lanes of a warp load neighbours: the check of several labs."""

from __future__ import annotations

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.records.counters import Counters
from autograder.records.runs import Run


def sectors_a_request(run: Run, needed: int) -> float:
    """Sectors for each global load request, of no more than it takes to load `needed` numbers, one a thread at work.

    Who asks more often (for another number that all lanes have in common, say, which moves next to nothing) moves no less.
    What the source names twice and the compiler loads once is one load.
    """
    counters = sum((each.compiled or each.counters for each in run.launches), Counters())
    requests = min(counters.global_load_requests, needed / max(1.0, counters.threads_per_instruction))
    return counters.global_load_sectors / max(1.0, requests)


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
