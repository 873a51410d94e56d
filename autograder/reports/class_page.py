"""The instructor's page about a class: who needs a look, points, checks, speeds, and a sortable row for everyone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from autograder.records.files import report_name
from autograder.records.results import CheckResult, Result
from autograder.reports.attention import KINDS, Reason, reasons
from autograder.reports.charts import DotPlot, dot_plot, histogram, speed_summary
from autograder.reports.speed import Speed, speed_of
from autograder.reports.templating import asset, policy, render_template
from autograder.reports.wording import points_text


@dataclass(frozen=True)
class ClassPageRow:
    """One student's row: the result, the way to its report, its speed and why it needs a look."""

    result: Result
    link: str
    speed: Speed | None
    reasons: tuple[Reason, ...]

    def check_names(self, outcome: str) -> list[str]:
        """The names of its checks with that outcome."""
        return [check.name for check in self.result.checks if check.outcome == outcome]


@dataclass(frozen=True)
class CheckTally:
    """How a class did on one check."""

    name: str
    title: str
    passed: int
    failed: int
    not_run: int
    hidden: bool = False  # from the instructor's second spec

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.not_run


@dataclass(frozen=True)
class SpeedPlot:
    """The speeds of a class on one check, drawn and in words."""

    title: str
    plot: DotPlot
    summary: str
    sources: str


def render(results: Iterable[Result], lab_title: str, unmatched: Mapping[str, Sequence[str]] | None = None) -> str:
    """One self-contained page with a sortable row a student, each linked to `reports/NAME.html` beside it.

    `unmatched`: by the name of a filled-in file, a line for every row or submission that it left out.
    """
    ordered = sorted(results, key=lambda result: (result.student.casefold(), result.student))
    entries = [_entry(result) for result in ordered]
    script = asset("sort.js")
    return render_template(
        "class_page.html.j2",
        lab_title=lab_title,
        entries=entries,
        looks=_looks(entries),
        unmatched={file: lines for file, lines in (unmatched or {}).items() if lines},
        points=_points(ordered),
        tallies=_tallies(ordered),
        speeds=_speed_plots(ordered),
        devices=sorted({(result.device, result.source) for result in ordered}),
        script=script,
        policy=policy(script),
    )


def _entry(result: Result) -> ClassPageRow:
    speeds = [speed for check in result.checks if (speed := speed_of(check))]
    link = f"reports/{quote(report_name(result.student))}.html"
    return ClassPageRow(result, link, speeds[0] if speeds else None, reasons(result))


def _looks(entries: Sequence[ClassPageRow]) -> list[tuple[str, list[tuple[ClassPageRow, str]]]]:
    """Under each kind's heading the students it concerns, with what was seen; kinds that concern nobody left out."""
    groups = []
    for kind, heading in KINDS.items():
        concerned = []
        for entry in entries:
            texts = [reason.text for reason in entry.reasons if reason.kind == kind]
            if texts:
                concerned.append((entry, "; ".join(texts)))
        if concerned:
            groups.append((heading, concerned))
    return groups


def _points(results: Sequence[Result]) -> dict[str, object]:
    """The distribution of points without their bonus, drawn and in words: so that full marks are who failed nothing."""
    points = [round(result.points - result.bonus_points, 6) for result in results]
    aside = ", bonus aside" if any(result.bonus_points for result in results) else ""
    most = max((result.max_points for result in results), default=0.0)
    if not points:
        return {"histogram": None, "summary": "No submissions yet.", "median": "", "most": "0", "aside": ""}
    median = statistics.median(points)
    spread = f"from {points_text(min(points))} to {points_text(max(points))}"
    summary = f"{len(points)} submissions, {spread} of {points_text(most)} points, median {points_text(median)}{aside}."
    drawn = histogram(points, most)
    words = {"median": points_text(median), "most": points_text(most), "aside": aside}
    return {"histogram": drawn, "summary": summary, **words}


def _tallies(results: Sequence[Result]) -> list[CheckTally]:
    """Every check of the class, the one that fails most first."""
    by_name: dict[str, list[CheckResult]] = {}
    for result in results:
        for check in result.checks:
            by_name.setdefault(check.name, []).append(check)
    tallies = []
    for name, checks in by_name.items():
        outcomes = [check.outcome for check in checks]
        passed, failed, not_run = (outcomes.count(each) for each in ("passed", "failed", "not run"))
        tallies.append(CheckTally(name, checks[0].title, passed, failed, not_run, checks[0].secret == "check"))
    return sorted(tallies, key=lambda tally: -tally.failed)


def _speed_plots(results: Sequence[Result]) -> list[SpeedPlot]:
    """One plot for each speed check that anyone got as far as, in the lab's order."""
    by_title: dict[str, list[tuple[str, Speed]]] = {}
    for result in results:
        for check in result.checks:
            if speed := speed_of(check):
                by_title.setdefault(check.title, []).append((result.student, speed))
    plots = []
    for title, speeds in by_title.items():
        sources = " and ".join(sorted({speed.source for _, speed in speeds}))
        plots.append(SpeedPlot(title, dot_plot(speeds), speed_summary(speeds), sources))
    return plots
