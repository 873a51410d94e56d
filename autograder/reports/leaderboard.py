"""Who is fastest, by names that students chose: on the class page of a lab that asks for one (`Lab.leaderboard`).

Who chose no name is not on it. On the page itself, which is the instructor's, the chosen name leads to the student's report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.records.results import Result
from autograder.reports.speed import Speed, speed_of


@dataclass(frozen=True)
class LeaderboardPlace:
    """One line of it; who are equally fast share a rank."""

    rank: int
    name: str
    speed: Speed
    result: Result


def places(results: Iterable[Result]) -> list[LeaderboardPlace]:
    """Those with a chosen name and a speed, the fastest first; of several speed checks the first counts."""
    found: list[tuple[float, str, Speed, Result]] = []
    for result in results:
        speeds = [speed for check in result.checks if (speed := speed_of(check)) is not None]
        if result.chosen_name and speeds:
            found.append((-round(speeds[0].ratio, 3), result.chosen_name.casefold(), speeds[0], result))
    found.sort(key=lambda each: each[:2])
    ranks: dict[float, int] = {}
    for at, (ratio, *_) in enumerate(found, start=1):
        ranks.setdefault(ratio, at)
    return [LeaderboardPlace(ranks[ratio], result.chosen_name, speed, result) for ratio, _, speed, result in found]
