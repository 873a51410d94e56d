"""A result as plain text: what `check` prints, and the table that `grade` ends with."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from autograder.records.hazards import Hazard
from autograder.records.results import CheckResult, Outcome, Result
from autograder.reports.attention import GRADER_FAILED, reasons_text
from autograder.reports.speed import NAMES, message_of, next_step, speed_of
from autograder.reports.wording import (
    LINE_LIMIT,
    MESSAGE_LIMIT,
    clipped,
    display_width,
    earned_text,
    index_text,
    measured_text,
    one_line,
    pair_text,
    points_text,
    ratio_text,
    shortened,
    visible,
)

WIDTH = 100  # columns
MISMATCHES = 5  # shown of each check
HAZARDS = 5
CODE_LINES, CODE_CHARACTERS = 40, 4_000  # of a case to paste, which is shown whole or not at all
_MARGIN = " " * 4
_COLOURS: dict[Outcome, str] = {"passed": "32", "failed": "1;31", "not run": "33"}


def render(result: Result, colour: bool = False) -> str:
    """The student's view: every check in order with what helps to mend it, then the points and the next step."""
    lines = [one_line(result.lab_title, WIDTH), f"{one_line(result.display_name, 60)}: {one_line(result.submission, 80)}"]
    lines += [f"{one_line(result.device, 80)}; speed is {result.source}", ""]
    if result.error:
        lines += [*_wrapped(f"This submission could not be read: {result.error}", ""), ""]
    for check in result.checks:
        lines += _check(check, colour, bool(result.error))
    lines += [] if lines[-1] == "" else [""]
    lines += [f"{earned_text(result.points, result.bonus_points)} of {points_text(result.max_points)} points"]
    if step := next_step(result):
        lines += _wrapped(step, "")
    if any(check.fault for check in result.checks):
        lines += _wrapped(GRADER_FAILED, "")
    return "\n".join(lines) + "\n"


def render_class(results: Iterable[Result]) -> str:
    """The instructor's table, a row a student in the order given: points, outcome, speedup, what needs a look."""
    results = list(results)
    rows = [("student", "points", "outcome", "speedup", "needs a look")]
    for result in results:
        speeds = [speed.ratio for check in result.checks if (speed := speed_of(check))]
        points = f"{earned_text(result.points, result.bonus_points)} of {points_text(result.max_points)}"
        speedup = f"{ratio_text(speeds[0])} x" if speeds else ""
        rows.append((one_line(result.display_name), points, result.outcome, speedup, reasons_text(result)))
    passed = sum(result.outcome == "passed" for result in results)
    looks = sum(bool(row[-1]) for row in rows[1:])
    summary = f"{_plural(len(results), 'submission')}: {passed} passed everything, {looks} to look at"
    return _table(rows, limits=(28, 24, 8, 10, 60), right=(1, 3)) + f"\n{summary}\n" + _decided(results)


def _decided(results: Sequence[Result]) -> str:
    """A line where points in the end are not those that were graded, which the table shows; else nothing."""
    changed = [each for each in results if each.final_points is not None and round(each.final_points - each.points, 6)]
    if not changed:
        return ""
    late = [each for each in changed if each.taken_off]
    off = points_text(sum(each.taken_off for each in late))
    why = f": {_plural(len(late), 'student')} late, {off} points off in all" if late else ""
    return f"Other points than these in the end{why}; {_plural(len(changed), 'row')} of gradebook.csv, final_points\n"


def _check(check: CheckResult, colour: bool, unreadable: bool) -> list[str]:
    word = f"{check.outcome:<8}"
    if colour:
        word = f"\x1b[{_COLOURS[check.outcome]}m{word}\x1b[0m"
    earned = "-" if check.fault else points_text(check.points)
    points = f"{earned}/{points_text(check.max_points)}"
    title = textwrap.wrap(one_line(check.title), WIDTH - 19) or [one_line(check.name)]
    lines = [f"{word}  {points:>7}  {title[0]}", *(" " * 19 + rest for rest in title[1:])]
    speed = speed_of(check)
    if speed is not None:
        lines += _wrapped(speed.labelled, _MARGIN)
    lines += _wrapped(message_of(check, unreadable), _MARGIN)
    if check.outcome != "passed":
        lines += _evidence(check)
    return lines


def _evidence(check: CheckResult) -> list[str]:
    """What helps to mend a check that did not pass, in the order that it is useful."""
    lines = []
    for mismatch in check.mismatches[:MISMATCHES]:
        expected, got = pair_text(mismatch.expected, mismatch.got)
        lines.append(f"{_MARGIN}{index_text(mismatch.array, mismatch.index)}: expected {expected}, got {got}")
    lines += _more(len(check.mismatches) - MISMATCHES, "wrong element")
    for hazard in check.hazards[:HAZARDS]:
        lines += _hazard(hazard)
    lines += _more(len(check.hazards) - HAZARDS, "hazard")
    numbers = [" ".join(measured_text(name, value)) for name, value in check.measured.items() if name not in NAMES]
    lines += _wrapped("; ".join(numbers), _MARGIN)
    for picture in check.pictures:
        lines += _wrapped(f"Picture, in the notebook and the HTML page: {one_line(picture.alt, 400)}", _MARGIN)
    for hint in check.hints:
        seen_by = f" Seen by: {one_line(hint.witness, 200)}." if hint.witness else ""
        lines += _wrapped(f"Hint ({one_line(hint.name, 60)}): {hint.text}{seen_by}", _MARGIN)
    if check.reproduce:
        lines += _code(visible(check.reproduce))
    return [*lines, ""] if lines else lines


def _code(code: str) -> list[str]:
    """A case to paste: no line of it is cut, for Python could not read what is left."""
    code_lines = code.splitlines()
    if len(code_lines) > CODE_LINES or len(code) > CODE_CHARACTERS:
        return _wrapped("The case that fails is too long to show here; with --json FILE, FILE holds it.", _MARGIN)
    return [f"{_MARGIN}To see it, paste:", *(f"{_MARGIN}    {line}".rstrip() for line in code_lines)]


def _hazard(hazard: Hazard) -> list[str]:
    where = f"{one_line(str(hazard.line))}: " if hazard.line else ""
    who = ""
    if hazard.block is not None and hazard.thread is not None:
        who = f" Block {tuple(hazard.block)}, thread {tuple(hazard.thread)}"
        who += f", {hazard.occurrences:,} times in all." if hazard.occurrences > 1 else "."
    lines = _wrapped(f"{where}{hazard.message}{who}", _MARGIN)
    if hazard.text:
        lines.append(f"{_MARGIN}    {shortened(one_line(hazard.text, LINE_LIMIT))}")
    return lines + _wrapped(hazard.remedy, _MARGIN)


def _more(count: int, what: str) -> list[str]:
    return [f"{_MARGIN}and {_plural(count, what)} more"] if count > 0 else []


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _wrapped(text: str, margin: str) -> list[str]:
    """`text` filled to the page's width, its own line breaks kept."""
    paragraphs = shortened(visible(text), MESSAGE_LIMIT).splitlines()
    lines = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph, WIDTH, initial_indent=margin, subsequent_indent=margin)
    return lines


def _table(rows: Sequence[Sequence[str]], limits: Sequence[int], right: Sequence[int]) -> str:
    """`rows` under a ruled first one, in columns as wide as their widest cell up to `limits`."""
    cut = [[clipped(cell, limit) for cell, limit in zip(row, limits, strict=True)] for row in rows]
    widths = [max(display_width(row[column]) for row in cut) for column in range(len(limits))]
    lines = []
    for row in cut:
        cells = []
        for column, cell in enumerate(row):
            space = " " * (widths[column] - display_width(cell))
            cells.append(space + cell if column in right else cell + space)
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"
