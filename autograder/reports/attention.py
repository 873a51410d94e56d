"""Who needs a person's look, and why: what the class page, the class table and the gradebook agree on."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.records.results import CheckResult, Result
from autograder.reports.wording import one_line

KINDS = {
    "unreadable": "Could not be read",
    "not run": "Could not be graded",
    "ambiguous": "Speed too close to call",
    "flagged": "Flagged",
    "first check": "Stuck at the first check",
}

GRADER_FAILED = "The grader could not run every check. That is its fault, not yours, and costs you nothing: try again."


@dataclass(frozen=True)
class Reason:
    """One reason to look: `kind` is a key of `KINDS`, `text` says what was seen."""

    kind: str
    text: str


def reasons(result: Result) -> tuple[Reason, ...]:
    """Every reason to look at `result`, most pressing kind first; none for an ordinary pass or failure.

    A check that was not run because an earlier one failed is ordinary; one that the grader could not run is not. Nor is it
    ordinary to fail the very first check: who does has nothing to go on from.
    """
    found = []
    if result.error:
        found.append(Reason("unreadable", one_line(result.error, 300)))
    faults = [check for check in result.checks if check.fault]
    if faults:  # the first says why; those behind it mostly waited for it
        others = f" (and {len(faults) - 1} more not run)" if len(faults) > 1 else ""
        found.append(Reason("not run", one_line(f"{faults[0].name}: {faults[0].message}", 240) + others))
    if result.outcome == "not run" and not faults and not result.error:
        found.append(Reason("not run", "no check failed, yet some were not run"))
    found += _flagged(result)
    first = next((check for check in result.checks if not check.bonus), None)
    if first is not None and first.outcome == "failed" and not result.error:
        what = "failed the first check" if first.tried else "has not begun the first check"
        found.append(Reason("first check", one_line(f"{what}: {first.title}", 300)))
    return tuple(sorted(found, key=lambda reason: list(KINDS).index(reason.kind)))


def _flagged(result: Result) -> list[Reason]:
    """What the flags say, but for those that repeat a fault; a speed too close to call is a kind of its own."""
    faults = [check.message for check in result.checks if check.fault and check.message]
    close = [check.name for check in result.checks if _is_close(check)]
    found = []
    for flag in dict.fromkeys(result.flags):
        if any(message in flag for message in faults):
            continue
        is_close = "ambiguous" in flag.lower() or (flag.startswith(tuple(f"{name}:" for name in close)))
        found.append(Reason("ambiguous" if is_close else "flagged", one_line(flag, 300)))
    if close and not any(reason.kind == "ambiguous" for reason in found):
        found += [Reason("ambiguous", f"{name}: the interval contains the threshold") for name in close]
    return found


def _is_close(check: CheckResult) -> bool:
    """Whether its speed is too close to call and somebody is to look: not at what was predicted to be fast enough."""
    is_owed_nothing = check.source == "simulated" and check.outcome == "passed"
    return bool(check.measured.get("ambiguous")) and not is_owed_nothing


def reasons_text(result: Result) -> str:
    """All reasons on one line, empty where there is none."""
    return "; ".join(reason.text for reason in reasons(result))
