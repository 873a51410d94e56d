"""A student's result as HTML: `render` is a whole page that works offline, `fragment` the same inside a notebook."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from markupsafe import Markup

from autograder.records.results import CheckResult, Picture, Result
from autograder.reports.attention import GRADER_FAILED
from autograder.reports.by_hand import by_hand_sentences
from autograder.reports.charts import SpeedBar, speed_bar
from autograder.reports.source_heat import annotated
from autograder.reports.speed import NAMES, NextStep, Speed, message_of, next_steps, speed_of
from autograder.reports.templating import asset, policy, render_template
from autograder.reports.wording import measured_text

PAGE_BYTES = 300_000  # no student's page is larger, whatever was handed in


@dataclass(frozen=True)
class PageLimits:
    """How much of each part a page shows: counts of items, characters of text, bytes of drawings."""

    mismatches: int = 10
    hazards: int = 6
    text: int = 2_000
    code: int = 20_000
    lines: int = 200
    pictures: int = 120_000


# A submission made to bloat its page gets the next, smaller form.
_FORMS = (PageLimits(), PageLimits(5, 3, 600, 4_000, 80, 60_000), PageLimits(3, 1, 200, 0, 0, 0))


@dataclass(frozen=True)
class CheckView:
    """One check with all that its template needs, computed."""

    check: CheckResult
    message: str
    speed: Speed | None
    bar: SpeedBar | None
    numbers: tuple[tuple[str, str], ...]
    pictures: tuple[tuple[Picture, Markup | None], ...]  # the drawing as a data URI, None where it is too large


def render(result: Result) -> str:
    """One self-contained page of at most 300,000 bytes for the student who handed `result` in."""
    script = asset("copy.js")
    return _fitting(result, "student_page.html.j2", script=script, policy=policy(script), by_hand=by_hand_sentences(result))


def fragment(result: Result) -> str:
    """`result` for a notebook's output cell: styles scoped to itself, no script, light and dark theme."""
    return _fitting(result, "fragment.html.j2")


def _fitting(result: Result, template: str, **values: object) -> str:
    text = ""
    for limits in _FORMS:
        text = render_template(
            template,
            result=result,
            views=_views(result, limits),
            limits=limits,
            steps=[(step.text, _place(step, result)) for step in next_steps(result)],
            grader_failed=GRADER_FAILED if any(check.fault for check in result.checks) else "",
            heat=Markup(annotated(result.lines, most_lines=limits.lines, styled=False)) if result.lines else "",
            **values,
        )
        if len(text.encode("utf-8")) <= PAGE_BYTES:
            break
    return text


def _views(result: Result, limits: PageLimits) -> list[CheckView]:
    views, room = [], limits.pictures
    for check in result.checks:
        speed = speed_of(check)
        pictures = []
        for picture in check.pictures:
            uri = data_uri(picture.svg)
            pictures.append((picture, uri if len(uri) <= room else None))
            room -= len(uri) if len(uri) <= room else 0
        numbers = [measured_text(name, value) for name, value in check.measured.items()]
        if speed is not None:
            numbers = [measured_text(name, value) for name, value in check.measured.items() if name not in NAMES]
        message, bar = message_of(check, bool(result.error)), speed_bar(speed) if speed else None
        views.append(CheckView(check, message, speed, bar, tuple(numbers), tuple(pictures)))
    return views


def _place(step: NextStep, result: Result) -> int:
    """Which of the result's checks a step is about, counted from 1; 0 for none."""
    return next((at for at, check in enumerate(result.checks, start=1) if check is step.check), 0)


def data_uri(svg: str) -> Markup:
    """`svg` as an image of its own: its ids and styles cannot clash with the page's, and no script in it runs."""
    return Markup("data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii"))
