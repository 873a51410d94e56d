"""Points and comments that an instructor gives by hand, and what lateness costs: a CSV in, results that say so out. What
was graded stays as it is.

START HERE: `applied`. The rows are kept with the class, so that they hold after `--regrade` and in `export`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.errors import UsageError
from autograder.records.results import LATE, ByHand, Result
from autograder.reports.wording import one_line, points_text

COLUMNS = ("student", "check", "points", "comment")
WHOLE = ("", "total")  # in the column check: the lab as a whole
NUMBER = r"(\d+(?:[.,]\d+)?)"
# 10% a day, at most 50%
POLICY = re.compile(rf"{NUMBER}\s*%\s*(?:a|per|an)\s+(day|hour)(?:\s*,?\s*at most\s+{NUMBER}\s*%)?", re.I)
OFF = re.compile(rf"-?{NUMBER}\s*(%|d|days?|h|hours?)?", re.I)  # what one student is late, or loses for it
HOURS = {"d": 24.0, "h": 1.0}
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
    overrides = list(overrides)
    decided: dict[int, dict[str, ByHand]] = {}
    policy, lines = _policy(overrides)
    for each in overrides:
        if _is_policy(each):
            continue
        fitting = [at for at, result in enumerate(results) if each.student in _names(result)]
        is_late = each.check.lower() == LATE
        problem, points, share = _late(each, policy) if is_late else (*_points_of(each), 0.0)
        if len(fitting) != 1:
            who = one_line(each.student, 80) or "nobody"
            what = (
                "fits more than one student: use an ID" if fitting else "is nobody who handed in, by name, file or ID"
            )
            lines.append(f"{each.where}: {who} {what}. This row changes nothing.")
            continue
        result = results[fitting[0]]
        check = "" if each.check.lower() in WHOLE else LATE if is_late else each.check
        most = {one.name: one.max_points for one in result.checks} | {"": _most(result), LATE: math.inf}
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
        decided[fitting[0]][check] = ByHand(check, points, each.comment or (each.points if share else ""), share)
    changed = [
        replace(result, by_hand=tuple(decided[at].values())) if at in decided else replace(result, by_hand=())
        for at, result in enumerate(results)
    ]
    return changed, lines


@dataclass(frozen=True)
class Policy:
    """What each day, or hour, that has begun costs of all that was earned, and what lateness costs at most."""

    share: float
    hours: float
    most: float

    def of(self, hours: float) -> float:
        """The share that is taken off."""
        return min(self.most, self.share * math.ceil(hours / self.hours))


def _is_policy(row: Override) -> bool:
    return not row.student and row.check.lower() == LATE


def _policy(overrides: Sequence[Override]) -> tuple[Policy | None, list[str]]:
    """The policy that a row without a student names, the last one of several; and a line for each that names none."""
    policy, lines = None, []
    for each in filter(_is_policy, overrides):
        if found := POLICY.fullmatch(each.points):
            share, unit, most = found.groups()
            policy = Policy(_number(share) / 100, HOURS[unit[0].lower()], min(1.0, _number(most or "100") / 100))
        else:
            what = f"`{one_line(each.points, 40)}` is no late policy, as `10% a day, at most 50%` is"
            lines.append(f"{each.where}: {what}. This row changes nothing.")
    return policy, lines


def _late(row: Override, policy: Policy | None) -> tuple[str, float | None, float]:
    """What is wrong with a row about lateness; points that it takes off, and a share of all."""
    found = OFF.fullmatch(row.points)
    if found is None:
        return f"`{one_line(row.points, 40)}` is neither days, hours, a share nor points", None, 0.0
    amount, unit = _number(found[1]), (found[2] or "")[:1].lower()
    if unit == "%":
        return ("", None, amount / 100) if amount <= 100 else (f"{amount:g} % is more than all", None, 0.0)
    if not unit:
        return "", amount, 0.0
    if policy is None:
        return "no row without a student says what lateness costs, as `,late,10% a day` does", None, 0.0
    return "", None, policy.of(amount * HOURS[unit])


def _number(text: str) -> float:
    return float(text.replace(",", "."))


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
        if each.check == LATE:
            share = f" ({100 * each.share:.3g} %)" if each.share else ""
            what = f"Handed in late: {points_text(result.taken_off)} points off{share}" + (": " if each.comment else ".")
        elif each.points is not None:
            what += f"{points_text(each.points)} points by hand, {points_text(graded.get(each.check, 0))} as graded"
            what += ". " if each.comment else "."
        sentences.append(what + each.comment)
    return sentences
