"""The instructor's page about a class: what it misunderstands, who needs a look, points, speeds, and a row for everyone."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from autograder.records.files import report_name
from autograder.records.results import Result
from autograder.reports.attention import KINDS, Reason, reasons
from autograder.reports.by_hand import by_hand_sentences
from autograder.reports.charts import DotPlot, dot_plot, histogram, speed_summary
from autograder.reports.html import data_uri
from autograder.reports.leaderboard import places
from autograder.reports.misconceptions import CheckStep, ExampleOf, HintTally, steps
from autograder.reports.speed import Speed, speed_of
from autograder.reports.templating import asset, policy, template_pieces
from autograder.reports.wording import points_text

DRAWINGS = 400_000  # bytes of all examples' pictures together

@dataclass(frozen=True)
class ClassPageRow:
    """One student's row: the result, the way to its report, its speed and why it needs a look."""

    result: Result
    link: str
    speed: Speed | None
    reasons: tuple[Reason, ...]

    @property
    def words(self) -> dict[str, str]:
        """What became of its checks, by name: older results may lack some that others have."""
        return {check.name: check.outcome if check.tried else "not tried" for check in self.result.checks}

    def told(self, steps: Sequence[StepView]) -> str:
        """The same for who hears it, by the checks' numbers: `1 to 5 passed, 6 failed, 7 to 9 not run`."""
        words = self.words
        there = [(view.step.number, words[view.step.name]) for view in steps if view.step.name in words]
        parts = []
        for word, found in itertools.groupby(there, key=lambda each: each[1]):
            numbers = [number for number, _ in found]
            parts.append(f"{numbers[0]} to {numbers[-1]} {word}" if numbers[1:] else f"{numbers[0]} {word}")
        return ", ".join(parts)

    @property
    def notes(self) -> list[str]:
        """What was handed in, and what was decided by hand."""
        return [each for each in (self.result.note, *by_hand_sentences(self.result)) if each]

    @property
    def kinds(self) -> list[str]:
        """The kinds of its reasons, each once."""
        return list(dict.fromkeys(reason.kind for reason in self.reasons))


@dataclass(frozen=True)
class HintView:
    """One hint of a check as the page shows it; `drawing` is the example's picture, None where there is none or no room."""

    tally: HintTally
    drawing: Markup | None


@dataclass(frozen=True)
class StepView:
    """One check as the page shows it."""

    step: CheckStep
    hints: tuple[HintView, ...]

    def share(self, results: Sequence[Result]) -> str:
        """A part of the class as a width."""
        return f"{100 * len(results) / max(self.step.total, 1):.1f}%"


@dataclass(frozen=True)
class SpeedPlot:
    """The speeds of a class on one check, drawn and in words."""

    title: str
    plot: DotPlot
    summary: str
    sources: str
    compared_with: str


def render(
    results: Iterable[Result],
    lab_title: str,
    unmatched: Mapping[str, Sequence[str]] | None = None,
    example_of: ExampleOf | None = None,
) -> str:
    """One self-contained page with a sortable row a student, each linked to `reports/NAME.html` beside it."""
    return "".join(pieces(results, lab_title, unmatched, example_of))


def pieces(
    results: Iterable[Result],
    lab_title: str,
    unmatched: Mapping[str, Sequence[str]] | None = None,
    example_of: ExampleOf | None = None,
) -> Iterator[str]:
    """The same page piece by piece: it has some 1,500 characters a student.

    `unmatched`: by the name of a filled-in file, a line for every row or submission that it left out. `example_of`: chooses
    the examples of misconceptions where `results` are rows.
    """
    ordered = sorted(results, key=lambda result: (result.display_name.casefold(), result.student))
    entries = [_entry(result) for result in ordered]
    views = _step_views(ordered, example_of)
    script = asset("sort.js")
    return template_pieces(
        "class_page.html.j2",
        lab_title=lab_title,
        entries=entries,
        looks=_looks(entries),
        kinds=KINDS,
        unmatched={file: lines for file, lines in (unmatched or {}).items() if lines},
        points=_points(ordered),
        steps=views,
        frequent=_frequent(views),
        unread=sum(bool(result.error) for result in ordered),
        link=report_link,
        speeds=_speed_plots(ordered),
        leaderboard=places(ordered),
        devices=sorted({(result.device, result.source) for result in ordered}),
        script=script,
        policy=policy(script),
    )


def report_link(result: Result) -> str:
    """Where the student's report lies, seen from the class page."""
    return f"reports/{quote(report_name(result.student))}.html"


def _entry(result: Result) -> ClassPageRow:
    speeds = [speed for check in result.checks if (speed := speed_of(check))]
    return ClassPageRow(result, report_link(result), speeds[0] if speeds else None, reasons(result))


def _looks(entries: Sequence[ClassPageRow]) -> list[tuple[str, list[tuple[ClassPageRow, str]]]]:
    """For each kind the students it concerns, with what was seen; kinds that concern nobody left out."""
    groups = []
    for kind in KINDS:
        concerned = []
        for entry in entries:
            texts = [reason.text for reason in entry.reasons if reason.kind == kind]
            if texts:
                concerned.append((entry, "; ".join(texts)))
        if concerned:
            groups.append((kind, concerned))
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


def _step_views(results: Sequence[Result], example_of: ExampleOf | None) -> list[StepView]:
    """Every check in the lab's order, with as many of its hints' drawings as the page has room for."""
    views, room = [], DRAWINGS
    for step in steps(results, example_of):
        hints = []
        for tally in step.hints:
            drawing = data_uri(tally.example.picture.svg) if tally.example and tally.example.picture else None
            if drawing is not None and len(drawing) > room:
                drawing = None
            room -= len(drawing or "")
            hints.append(HintView(tally, drawing))
        views.append(StepView(step, tuple(hints)))
    return views


def _frequent(views: Sequence[StepView]) -> list[tuple[CheckStep, HintTally]]:
    """The hints that most students got, of those that several got."""
    given = [(view.step, hint.tally) for view in views for hint in view.hints if len(hint.tally.results) > 1]
    return sorted(given, key=lambda each: -len(each[1].results))[:5]


def _speed_plots(results: Sequence[Result]) -> list[SpeedPlot]:
    """One plot for each speed check that anyone got as far as, in the lab's order."""
    by_title: dict[str, list[tuple[str, Speed]]] = {}
    for result in results:
        for check in result.checks:
            if speed := speed_of(check):
                by_title.setdefault(check.title, []).append((result.display_name, speed))
    plots = []
    for title, speeds in by_title.items():
        sources = " and ".join(sorted({speed.source for _, speed in speeds}))
        compared_with = " or ".join(sorted({speed.compared_with for _, speed in speeds}))
        plots.append(SpeedPlot(title, dot_plot(speeds), speed_summary(speeds), sources, compared_with))
    return plots
