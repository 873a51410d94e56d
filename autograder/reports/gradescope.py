"""A result in the form of Gradescope's autograders, results.json.

https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format: `score` (overrides the sum of the tests'),
`execution_time` in seconds, `output`, `visibility`, `stdout_visibility`, and `tests` with `score`, `max_score`, `status`
(passed or failed), `name`, `output`, `output_format`, `visibility` each. `leaderboard` ranks what each speed
check found, where the assignment has one: https://gradescope-autograders.readthedocs.io/en/latest/leaderboards/.
"""

from __future__ import annotations

import json
from typing import Any

from autograder.errors import UsageError
from autograder.records.results import CheckResult, Result
from autograder.reports.by_hand import by_hand_sentences
from autograder.reports.speed import Speed, message_of, next_step, speed_of
from autograder.reports.withheld import for_students
from autograder.reports.wording import earned_text, index_text, one_line, pair_text, points_text, visible


def text(result: Result) -> str:
    """results.json as the student may see it; raises `UsageError` where the grader failed: that is no score."""
    if (final := result.final_points) is None:
        raise UsageError(f"{one_line(result.student, 80)}: the grader could not run every check, so there is no score.")
    shown = for_students(result)
    form: dict[str, Any] = {
        "score": round(final, 2),
        "execution_time": round(shown.seconds, 3),
        "output": _summary_text(shown),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(check, bool(shown.error)) for check in shown.checks],
        "leaderboard": [_ranked(check.name, speed) for check in shown.checks if (speed := speed_of(check)) is not None],
    }
    return json.dumps(form, indent=1, allow_nan=False) + "\n"


def _summary_text(result: Result) -> str:
    earned = earned_text(result.points, result.bonus_points)
    total = f"{earned} of {points_text(result.max_points)} points."
    lines = [visible(result.lab_title), f"Speed is {result.source}: {result.device}.", total, *by_hand_sentences(result)]
    return "\n".join(visible(line) for line in [*lines, result.note, result.error, next_step(result)] if line)


def _ranked(name: str, speed: Speed) -> dict[str, Any]:
    """How many times as fast as the baseline, under the check's name: its sentence is too long for a column."""
    return {"name": name.replace("_", " ").capitalize(), "value": round(speed.ratio, 2), "order": "desc"}


def _test(check: CheckResult, unreadable: bool) -> dict[str, Any]:
    form: dict[str, Any] = {
        "score": round(check.points, 2),
        "max_score": round(check.max_points, 2),
        "name": visible(check.title),
        "output": _output(check, unreadable),
        "output_format": "text",
        "visibility": "visible",
    }
    if check.outcome != "not run":
        form["status"] = check.outcome
    return form


def _output(check: CheckResult, unreadable: bool) -> str:
    lines = [message_of(check, unreadable)]
    if (speed := speed_of(check)) is not None:
        lines.append(speed.labelled)
    for mismatch in check.mismatches[:5]:
        expected, got = pair_text(mismatch.expected, mismatch.got)
        lines.append(f"{index_text(mismatch.array, mismatch.index)}: expected {expected}, got {got}")
    lines += [str(hazard) for hazard in check.hazards[:3]]
    lines += [f"Hint: {hint.text}" + (f" Seen by: {hint.witness}." if hint.witness else "") for hint in check.hints]
    if check.reproduce:
        lines += ["To see it, paste this into a cell of your notebook:", check.reproduce]
    return "\n".join(visible(line) for line in lines if line)[:20_000] or check.outcome.capitalize() + "."
