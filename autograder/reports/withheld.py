"""What students get to see of a result with secrets: the verdicts, and nothing that gives the hidden cases away.

The instructor's own files (results/*.json, the class page) keep everything. Where inputs came from a secret seed, the
numbers of a failing case are withheld; of a check from a hidden spec, its name and its sentence as well.
"""

from __future__ import annotations

import re
from dataclasses import replace

from autograder.records.results import BLOCKED_BY, CheckResult, Hint, Result
from autograder.reports.speed import NAMES, speed_of

HIDDEN_TITLE = "Hidden check {}: a case of your instructor's own."
FAILED_ON_SECRET_DATA = "Failed for inputs that are not shown. The same check in your notebook shows inputs of its own."
FAILED_HIDDEN_CHECK = "Failed. What it looks at is not shown."
_NUMBER = re.compile(r"\d[\d.,e+-]*\d|\d")


def for_students(result: Result) -> Result:
    """`result` without anything secret; the very same object where there is none."""
    if not any(check.secret for check in result.checks):
        return result
    numbers = {check.name: at for at, check in enumerate((c for c in result.checks if c.secret == "check"), start=1)}
    blocked = {
        BLOCKED_BY.format(check.title): BLOCKED_BY.format(HIDDEN_TITLE.format(numbers[check.name]))
        for check in result.checks
        if check.name in numbers
    }
    checks = tuple(_withheld(check, numbers.get(check.name), blocked) for check in result.checks)
    by_hand = tuple(
        replace(each, check=f"hidden_{numbers[each.check]}") if each.check in numbers else each for each in result.by_hand
    )
    # The key is a hash with the seed in it: a short seed could be found by trying them all.
    return replace(result, checks=checks, flags=(), key="", by_hand=by_hand)


def _withheld(check: CheckResult, number: int | None, blocked: dict[str, str]) -> CheckResult:
    if not check.secret:
        return replace(check, message=blocked.get(check.message, check.message))
    is_hidden = number is not None
    speed = speed_of(check)
    kept = {name: value for name, value in check.measured.items() if speed is not None and name in NAMES}
    return replace(
        check,
        name=f"hidden_{number}" if is_hidden else check.name,
        title=HIDDEN_TITLE.format(number) if is_hidden else check.title,
        message=_message(check, blocked),
        hints=() if is_hidden else _telling_nothing(check),
        mismatches=(),
        hazards=(),
        reproduce="",
        measured={} if is_hidden else kept,
        pictures=(),
    )


def _message(check: CheckResult, blocked: dict[str, str]) -> str:
    if check.fault:
        return "The grader could not run this check."
    if check.outcome == "not run":
        return blocked.get(check.message, check.message)
    if check.outcome == "passed":
        return ""
    return FAILED_HIDDEN_CHECK if check.secret == "check" else FAILED_ON_SECRET_DATA


def _telling_nothing(check: CheckResult) -> tuple[Hint, ...]:
    """The hints that quote none of the numbers withheld beside them, and no witness: it may quote inputs."""
    said = [check.message, check.reproduce]
    said += [f"{each.expected:.9g} {each.got:.9g} {each.index}" for each in check.mismatches]
    said += [f"{each.message} {each.thread} {each.block} {each.index}" for each in check.hazards]
    withheld = set(_NUMBER.findall(" ".join(said)))
    telling_nothing = (each for each in check.hints if not withheld & set(_NUMBER.findall(each.text)))
    return tuple(replace(each, witness="") for each in telling_nothing)
