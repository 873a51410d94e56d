"""Points, comments and dates that an instructor gives by hand, and what lateness costs: a CSV in, results that say so out.
What was graded stays as it is.

START HERE: `applied`. The rows are kept with the class, so that they hold after `--regrade` and in `export`.
"""

from __future__ import annotations

import csv
import functools
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from autograder.errors import UsageError
from autograder.records.results import LATE, ByHand, Result
from autograder.reports import late
from autograder.reports.late import Deadlines, Policy, Standing
from autograder.reports.wording import as_copied, one_line, points_text

COLUMNS = ("student", "check", "points", "comment")
WHOLE = ("", "total")  # in the column check: the lab as a whole
DUE, HANDED_IN = "due", "handed in"  # in the column check: the class's date or a student's own, and when it came in
SAID = {"--due": DUE, "--late": LATE}  # options of the command line, each a row about the whole class
TAKEN_BACK = "none"  # in place of such an option's words
REMEDY = f"Its first line is to be: {','.join(COLUMNS)}."
SHOWN_NAMES = 6
UNKNOWN = "late, says the platform, and nobody says how late: nothing was taken off"


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
    text = _text_of(path)
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


def _text_of(path: Path) -> str:
    """A file's text: UTF-8, or UTF-16 that begins with its mark, as spreadsheets save "Unicode text"."""
    try:
        data = path.read_bytes()
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror}.") from None
    except UnicodeDecodeError:
        remedy = "In a spreadsheet, save it as “CSV UTF-8”."
        raise UsageError(f"{path} cannot be read: it is not UTF-8 text.", remedy=remedy) from None


def said(option: str, words: str) -> Override:
    """The row that an option stands for; raises `UsageError` where its words are no date or no policy."""
    row = Override("", SAID[option], words.strip(), "", option)
    if row.points != TAKEN_BACK:
        try:
            late.moment(row.points) if row.check == DUE else late.policy_of(row.points)
        except ValueError as problem:
            raise UsageError(f"{option}: `{one_line(words, 60)}` {problem}.") from None
    return row


def together(
    before: Sequence[Override], given: Sequence[Override] | None, options: Sequence[Override]
) -> list[Override]:
    """The rows that hold now: those of the run before, but for what a file (None: there is none) and options say anew."""
    of_options = {each.where: each for each in (*before, *options) if each.where in SAID}
    rows = given if given is not None else [each for each in before if each.where not in SAID]
    return [*(each for each in of_options.values() if each.points != TAKEN_BACK), *rows]


def applied(overrides: Iterable[Override], results: Sequence[Result]) -> tuple[list[Result], list[str]]:
    """The results with what was decided by hand and what lateness costs, and a line for each row that was not followed or
    looks odd, and for what nothing is known of.

    A student is named as in the gradebook, by file or by ID. Of two rows about the same points the later one counts.
    """
    of_class: list[Override] = []
    of_students: list[Override] = []
    for each in overrides:
        (of_class if _is_of_class(each) else of_students).append(each)
    decisions = _Decisions(of_class, results)
    for each in of_students:
        decisions.follow(each)
    decisions.take_off_for_lateness()
    changed = []
    for at, result in enumerate(results):
        rows = decisions.rows[at]
        flags = (UNKNOWN,) if result.marked_late and of_class and LATE not in rows else ()
        changed.append(replace(result, by_hand=tuple(rows.values()), flags=tuple(dict.fromkeys((*result.flags, *flags)))))
    return changed, decisions.lines


class _Decisions:
    """What rows decide about each result, by its place in the class; `lines` grows with what is to be said of them."""

    def __init__(self, of_class: Sequence[Override], results: Sequence[Result]) -> None:
        self.results = results
        self.asked = bool(of_class)  # for a date or a policy
        self.lines: list[str] = []
        self.policy = _last(of_class, LATE, late.policy_of, self.lines)
        self.deadlines = Deadlines(_last(of_class, DUE, late.moment, self.lines))
        self.rows: dict[int, dict[str, ByHand]] = {at: {} for at in range(len(results))}
        self.comments: dict[int, str] = {}  # on dates of a student's own
        self.places: dict[str, list[int]] = defaultdict(list)
        for at, result in enumerate(results):
            for name in _names(result):
                self.places[name].append(at)

    def follow(self, row: Override) -> None:
        """Takes a row about one student in."""
        fitting = self.places.get(as_copied(row.student), [])
        if len(fitting) != 1:
            who = one_line(row.student, 80) or "nobody"
            what = "fits more than one student: use an ID" if fitting else "is nobody who handed in, by name, file or ID"
            self.lines.append(f"{row.where}: {who} {what}. This row changes nothing.")
            return
        who = one_line(self.results[fitting[0]].display_name, 80)
        try:
            if row.check.lower() in (DUE, HANDED_IN):
                self._note_date(row, fitting[0])
            else:
                self._note_points(row, fitting[0], who)
        except ValueError as problem:
            self.lines.append(f"{row.where}: {who}: {problem}. This row changes nothing.")

    def _note_date(self, row: Override, at: int) -> None:
        zone = self.deadlines.of_class.tzinfo if self.deadlines.of_class else None
        is_due = row.check.lower() == DUE
        dates = self.deadlines.own if is_due else self.deadlines.handed_in
        dates[at] = _read(row, functools.partial(late.moment, zone=zone))
        if is_due:
            self.comments[at] = row.comment

    def _note_points(self, row: Override, at: int, who: str) -> None:
        decided = _decision(row, self.results[at], self.policy)
        if decided.check in self.rows[at]:
            self.lines.append(f"{row.where}: {who} has a row about `{decided.check or WHOLE[1]}` already: this one counts.")
        most = math.inf if decided.check == LATE else _maxima(self.results[at])[decided.check]
        if decided.points is not None and decided.points > most:
            above = f"{points_text(decided.points)} points of {points_text(most)}"
            self.lines.append(f"{row.where}: {who} gets {above}, more than can be earned: given all the same.")
        self.rows[at][decided.check] = decided

    def take_off_for_lateness(self) -> None:
        """By the dates of all rows, so after the last of them."""
        unknown, free = [], []
        for at, result in enumerate(self.results):
            rows, standing = self.rows[at], self.deadlines.of(at, result)
            comment = self.comments.get(at, "")
            if standing is not None and (standing.extension or comment):
                rows[DUE] = ByHand(DUE, None, " ".join(filter(None, (standing.extension, comment))))
            if standing is not None and standing.late and LATE not in rows:
                share = self.policy.of(standing.late.total_seconds() / 3600) if self.policy else 0.0
                rows[LATE] = ByHand(LATE, None if share else 0.0, standing.words, share)
                free += [] if self.policy else [result]
            if LATE not in rows:
                unknown.append((result, standing))
        self.lines += _unknown(unknown, free, self.asked)


Read = TypeVar("Read")


def _is_of_class(row: Override) -> bool:
    return not row.student and row.check.lower() in (LATE, DUE)


def _last(rows: Sequence[Override], check: str, read: Callable[[str], Read], lines: list[str]) -> Read | None:
    """What the last row about the whole class says of a thing; `lines` gets one for each that is not followed."""
    found: tuple[Override, Read] | None = None
    for each in rows:
        if each.check.lower() == check:
            try:
                now = _read(each, read)
            except ValueError as problem:
                lines.append(f"{each.where}: {problem}. This row changes nothing.")
                continue
            if found is not None:
                lines.append(f"{found[0].where}: {each.where} says what is {check}, too, and counts.")
            found = each, now
    return None if found is None else found[1]


def _read(row: Override, read: Callable[[str], Read]) -> Read:
    """What a row's words say; raises `ValueError`, with the words, where they say nothing that `read` understands."""
    try:
        return read(row.points)
    except ValueError as problem:
        raise ValueError(f"`{one_line(row.points, 40)}` {problem}") from None


def _decision(row: Override, result: Result, policy: Policy | None) -> ByHand:
    """What a row decides about points; raises `ValueError`, with a sentence's middle, where it decides nothing."""
    if row.check.lower() == LATE:
        taken = _read(row, lambda words: late.off(words, policy))
        return ByHand(LATE, taken.points, row.comment or (row.points if taken.share else ""), taken.share)
    check = "" if row.check.lower() in WHOLE else row.check
    if check not in _maxima(result):
        raise ValueError(f"the lab has no check `{one_line(check, 80)}`")
    return ByHand(check, _points_of(row), row.comment)


def _maxima(result: Result) -> dict[str, float]:
    return {one.name: one.max_points for one in result.checks} | {"": sum(check.max_points for check in result.checks)}


def _unknown(
    unknown: Iterable[tuple[Result, Standing | None]], free: Sequence[Result], asked: bool
) -> list[str]:
    """A line for each thing about lateness that nobody says: how late those are who are marked, when others' work came in,
    and what it costs those who are late (`free`). `asked`: whether a date or a policy was given at all."""
    unknown = list(unknown)
    marked = [result for result, _ in unknown if result.marked_late and asked]
    dateless = [each for each, stands in unknown if stands and stands.late is None and not each.marked_late]
    lines = []
    if marked:
        lines.append(f"{_people(marked)}: {UNKNOWN}. Rows `late` or `handed in` say it.")
    if dateless:
        what = "nothing says when the work came in, so it counts as in time. Moodle's worksheet or rows `handed in` say it"
        lines.append(f"{_people(dateless)}: {what}.")
    if free:
        lines.append(f"{_people(free)}: late, and no policy says what that costs, as --late '10% a day' does.")
    return lines


def _people(results: Sequence[Result]) -> str:
    """How many students, and the first few of them by name."""
    names = ", ".join(one_line(each.display_name, 80) for each in results[:SHOWN_NAMES])
    more = f" and {len(results) - SHOWN_NAMES} more" if len(results) > SHOWN_NAMES else ""
    return f"{len(results)} of the class ({names}{more})"


def _names(result: Result) -> set[str]:
    """What a row may call a student; a name without its ID fits all who have it."""
    names = {result.student, result.display_name, result.submission, *result.ids.values()}
    behind = [f" ({text})" for kind, value in result.ids.items() for text in (value, f"{kind} {value}")]
    names |= {each.removesuffix(text) for each in (result.student, result.display_name) for text in behind}
    return set(map(as_copied, names)) - {""}


def _points_of(override: Override) -> float | None:
    """A row's points; None for a row that only comments. Raises `ValueError` where it says neither."""
    if not override.points:
        if not override.comment:
            raise ValueError("the row has neither points nor a comment")
        return None
    try:
        points = late.number(override.points)
    except ValueError:
        points = math.nan
    if not math.isfinite(points) or points < 0:
        raise ValueError(f"`{one_line(override.points, 40)}` is no number of points")
    return points


def by_hand_sentences(result: Result) -> list[str]:
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
