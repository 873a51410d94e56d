"""Faults that runs have shown and no check has asked about.

Each check looks at the kinds of hazards that it is there for, so that a slip costs the points of one check and not of all.
What nobody asks about would go unseen: a merge that reads counters which nobody has cleared gives right results where
that memory happens to hold zeros. So what every run of a check shows is kept, and where all checks were tried and none of
those that failed has seen such a fault, the first check whose run shows it fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.records.hazards import HAZARDS, Hazard, HazardKind


def always_wrong(hazards: Iterable[Hazard]) -> list[Hazard]:
    """Those that no kernel may have, whatever it computes."""
    return [each for each in hazards if each.severity == "error" and HAZARDS[each.kind].is_always_wrong]


@dataclass
class UnnoticedFaults:
    """What the runs of one submission's checks have shown, by check, in the order in which they were tried."""

    passed: dict[str, tuple[Attempt, list[Hazard]]] = field(default_factory=dict)
    told: set[HazardKind] = field(default_factory=set)  # seen by a check that failed

    def take(self, attempt: Attempt) -> None:
        """What a check's runs have shown, once it has ended."""
        faults = always_wrong(attempt.shown)
        if attempt.failure is not None:
            self.told |= {each.kind for each in (*faults, *attempt.failure.hazards)}
        elif faults:
            self.passed[attempt.check] = attempt, faults

    def first(self) -> Attempt | None:
        """The first check that passed although its runs show a fault that no failed check has seen; it has failed now."""
        for attempt, faults in self.passed.values():
            unseen = [each for each in faults if each.kind not in self.told]
            if unseen:
                attempt.failure = CheckFailed(str(unseen[0]), hazards=unseen, earned=0)
                attempt.measured.clear()
                return attempt
        return None

