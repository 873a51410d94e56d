"""The instructor's page of submissions that are alike, side by side. No student's report says anything of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.records.results import FunctionFingerprint, Result
from autograder.records.stored import StoredResults
from autograder.reports.alike import KINDS, MOST_STUDENTS, SAME_FILE, SAME_TEXT, Alike, compared
from autograder.reports.class_page import report_link
from autograder.reports.templating import policy, render_template

MOST_GROUPS = 150  # on the page; alike.csv has all
MOST_COLUMNS = 4  # of a group
MOST_LINES = 150  # of one program
MOST_CHARACTERS = 3_000_000  # of all programs on the page


@dataclass(frozen=True)
class SourceLine:
    """A line of a program; `is_shared` where a statement stands that both have, and few others."""

    text: str
    is_shared: bool = False


@dataclass(frozen=True)
class Side:
    """One submission of a group: the way to its report and its functions, in the order of the first one's."""

    result: Result
    link: str
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True)
class GroupView:
    """One group as the page shows it."""

    group: Alike
    columns: tuple[Side, ...]
    others: tuple[tuple[Result, str], ...]  # those beyond the columns, with the way to their reports


def render(groups: Sequence[Alike], results: Sequence[Result], lab_title: str, read: int | None = None) -> str:
    """One self-contained page: `groups` of `results`, by kind. Of results on disk only those in columns are read; `read`:
    how many of them can be compared."""
    held = StoredResults.of(results)
    views, room = [], MOST_CHARACTERS
    for group in groups[:MOST_GROUPS]:
        columns = _columns(group, held.whole) if room > 0 else ()
        room -= sum(len(line.text) for column in columns for line in column.lines)
        others = tuple((each, report_link(each)) for each in group.results[len(columns) :])
        views.append(GroupView(group, columns, others))
    return render_template(
        "alike_page.html.j2",
        lab_title=lab_title,
        kinds=[(title, [each for each in views if each.group.kind == kind]) for kind, title in KINDS.items()],
        exact=(SAME_FILE, SAME_TEXT),
        left_out=len(groups) - len(views),
        compared=len(compared(results)) if read is None else read,
        total=len(results),
        most_students=MOST_STUDENTS,
        policy=policy(""),
    )


def _columns(group: Alike, whole: Callable[[Result], Result]) -> tuple[Side, ...]:
    shown = [whole(each) for each in group.results[:MOST_COLUMNS]]
    first = shown[0].fingerprints
    return tuple(
        Side(row, report_link(row), _lines(_in_order_of(first, each.fingerprints), group.shared))
        for row, each in zip(group.results, shown, strict=False)
    )


def _in_order_of(
    first: Sequence[FunctionFingerprint], functions: Sequence[FunctionFingerprint]
) -> list[FunctionFingerprint]:
    """The functions so that those that are the same, or else called the same, stand beside each other."""
    digests = [each.digest for each in first]
    names = [each.name for each in first]

    def place(each: FunctionFingerprint) -> int:
        if each.digest in digests:
            return digests.index(each.digest)
        return names.index(each.name) if each.name in names else len(names)

    return sorted(functions, key=place)


def _lines(functions: Sequence[FunctionFingerprint], shared: frozenset[str]) -> tuple[SourceLine, ...]:
    lines: list[SourceLine] = []
    for each in functions:
        marked = {statement.line - each.line.number for statement in each.statements if statement.digest in shared}
        lines += [SourceLine("")] if lines else []
        lines += [SourceLine(text, at in marked) for at, text in enumerate(each.text.split("\n"))]
    cut = [SourceLine(f"({len(lines) - MOST_LINES} more lines)")] if len(lines) > MOST_LINES else []
    return (*lines[:MOST_LINES], *cut)
