"""Points and comments that an instructor gives by hand: a CSV in, results that say so out. What was graded stays as it is.

START HERE: `applied`. The rows are kept with the class, so that they hold after `--regrade` and in `export`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import UsageError
from autograder.records.results import ByHand, Result
from autograder.reports.wording import one_line, points_text

COLUMNS = ("student", "check", "points", "comment")
WHOLE = ("", "total")  # in the column check: the lab as a whole
REMEDY = f"Its first line is to be: {','.join(COLUMNS)}."


@dataclass(frozen=True)
class Override:
    """One row of the file, as it stands there; `where` says which."""

    student: str
    check: str
    points: str
    comment: str
    where: str


def read_overrides(path: Path) -> list[Override]:
    """The rows of a file; raises `UsageError` where it cannot be read or lacks a column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}.") from None
    first = (text.splitlines() or [""])[0]
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=first.count), restval="")
    names = [(name or "").strip().lower() for name in rows.fieldnames or ()]
    if missing := [each for each in ("student", "points") if each not in names]:
        raise UsageError(f"{path} has no column `{missing[0]}`.", remedy=REMEDY)
    rows.fieldnames = names
    found = []
    try:
        for row in rows:
            student, check, points, comment = ((row.get(name) or "").strip() for name in COLUMNS)
            if student or check or points or comment:
                found.append(Override(student, check, points, comment, f"{path.name}, line {rows.line_num}"))
    except csv.Error as problem:
        raise UsageError(f"{path}, line {rows.line_num}: {problem}.") from None
    return found


def applied(overrides: Iterable[Override], results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """The results with what was decided by hand, and a line for each row that was not followed or looks odd.

    A student is named as in the gradebook, by file or by ID. Of two rows about the same points the later one counts.
    """
    decided: dict[int, dict[str, ByHand]] = {}
    lines = []
    for each in overrides:
        fitting = [at for at, result in enumerate(results) if each.student in _names(result)]
        problem, points = _points_of(each)
        if len(fitting) != 1:
            who = one_line(each.student, 80) or "nobody"
            what = (
                "fits more than one student: use an ID" if fitting else "is nobody who handed in, by name, file or ID"
            )
            lines.append(f"{each.where}: {who} {what}. This row changes nothing.")
            continue
        result = results[fitting[0]]
        check = "" if each.check.lower() in WHOLE else each.check
        most = {one.name: one.max_points for one in result.checks} | {"": _most(result)}
        who = one_line(result.display_name, 80)
        if check not in most:
            problem = f"the lab has no check `{one_line(check, 80)}`"
        if problem:
            lines.append(f"{each.where}: {who}: {problem}. This row changes nothing.")
            continue
        if check in decided.setdefault(fitting[0], {}):
            lines.append(f"{each.where}: {who} has a row about `{check or WHOLE[1]}` already: this one counts.")
        if points is not None and points > most[check]:
            above = f"{points_text(points)} points of {points_text(most[check])}"
            lines.append(f"{each.where}: {who} gets {above}, more than can be earned: given all the same.")
        decided[fitting[0]][check] = ByHand(check, points, each.comment)
    changed = [
        replace(result, by_hand=tuple(decided[at].values())) if at in decided else replace(result, by_hand=())
        for at, result in enumerate(results)
    ]
    return changed, lines


def _names(result: Result) -> set[str]:
    return {result.student, result.display_name, result.submission, *result.ids.values()}


def _most(result: Result) -> float:
    return sum(check.max_points for check in result.checks)


def _points_of(override: Override) -> tuple[str, float | None]:
    """What is wrong with a row's points, and the points; None for a row that only comments."""
    if not override.points:
        return ("" if override.comment else "the row has neither points nor a comment"), None
    try:
        points = float(override.points.replace(",", "."))
    except ValueError:
        points = math.nan
    if not math.isfinite(points) or points < 0:
        return f"`{one_line(override.points, 40)}` is no number of points", None
    return "", points


def told(result: Result) -> list[str]:
    """What was decided by hand about a result, a sentence each."""
    titles = {check.name: check.title for check in result.checks}
    graded = {check.name: check.points for check in result.checks} | {"": result.points}
    sentences = []
    for each in result.by_hand:
        what = f"“{titles[each.check]}”: " if each.check in titles else ""
        if each.points is not None:
            what += f"{points_text(each.points)} points by hand, {points_text(graded.get(each.check, 0))} as graded"
            what += ". " if each.comment else "."
        sentences.append(what + each.comment)
    return sentences
