"""The class as one CSV file: a row a student, a column a check, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from autograder.records.files import report_name, write_atomically
from autograder.records.results import CheckResult, Result
from autograder.reports.attention import reasons_text
from autograder.reports.by_hand import by_hand_sentences
from autograder.reports.speed import speed_of
from autograder.reports.wording import neutral


def write(results: Iterable[Result], path: str | os.PathLike[str]) -> None:
    """Writes the gradebook of `results` to `path`, whole or not at all: UTF-8, the same bytes for the same grades.

    A byte order mark comes first: without one Excel takes the file for the local code page. Points are plain numbers.
    Where the grader could not run a check, its cell and the total stay empty: never a zero.
    """
    write_atomically(path, "\ufeff" + text(results))


def text(results: Iterable[Result]) -> str:
    """The gradebook as text; rows by student, check columns in the order of the lab."""
    ordered = sorted(results, key=lambda result: (result.display_name, result.student, result.submission, result.lab))
    names = list(dict.fromkeys(check.name for result in ordered for check in result.checks))
    head = ["student", "lab", "submission", "points", "bonus_points", "max_points", "outcome", "final_points"]
    tail = ["speedup", "device", "source", "needs_a_look", "handed_in", "by_hand", "error", "ids", "note", "key", "report"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([*head, *(neutral(f"check_{name}") for name in names), *tail])
    for result in ordered:
        writer.writerow(_row(result, names))
    return buffer.getvalue()


def _row(result: Result, names: Sequence[str]) -> list[Any]:
    checks = {check.name: check for check in result.checks}
    speeds = [speed.ratio for check in result.checks if (speed := speed_of(check))]
    return [
        neutral(result.display_name),
        neutral(result.lab),
        neutral(result.submission),
        "" if any(check.fault for check in result.checks) else _number(result.points),
        "" if any(check.fault for check in result.checks) else _number(result.bonus_points),
        _number(result.max_points),
        result.outcome,
        "" if result.final_points is None else _number(result.final_points),
        *(_check_cell(checks.get(name)) for name in names),
        _number(round(speeds[0], 4)) if speeds else "",
        neutral(result.device),
        result.source,
        neutral(reasons_text(result)),
        neutral(result.handed_in),
        neutral(" ".join(by_hand_sentences(result))),
        neutral(result.error),
        neutral("; ".join(f"{kind} {value}" for kind, value in sorted(result.ids.items()))),
        neutral(result.note),
        neutral(result.key),
        neutral(f"reports/{report_name(result.student)}.html"),
    ]


def _check_cell(check: CheckResult | None) -> int | float | str:
    return "" if check is None or check.fault else _number(check.points)


def _number(value: float) -> int | float | str:
    """A plain number without thousands separators or a needless `.0`; empty where there is none."""
    if not math.isfinite(value):
        return ""
    value = round(float(value), 6)
    return int(value) if value.is_integer() else value
