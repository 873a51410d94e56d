"""The forms that a result has had as JSON, and the way from each to today's: the one place where that is decided.

START HERE to change what a result holds: a test compares the records with the form that is noted beside it
(tests/older/form.json). What has a value where it is missing needs no more than a new number here and a step that changes
nothing; for anything else the step makes today's form of what an older version wrote. An example of each older form lies
beside that file and has to stay readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograder.errors import UsageError

VERSION = 9
Form = dict[str, Any]


def upgraded(form: Mapping[str, Any]) -> Form:
    """Today's form of what this or an older version wrote; raises `UsageError`, in a line, for any other."""
    version = form.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise UsageError(f"this is no result: its version is {version!r}.", remedy="Grade the submission again.")
    if version > VERSION:
        what = f"this is of form {version}, written by a newer version of the kit: this one reads forms up to {VERSION}."
        raise UsageError(what, remedy="Use that version, or grade the submission again.")
    found = dict(form)
    for step in range(version, VERSION):
        found = _STEPS[step](found)
    return {**found, "version": VERSION}


def _from_1(form: Form) -> Form:
    """0.1.0: a line had one count. What the compiler leaves of it stands beside it today, and is not known of these."""
    return {**form, "lines": []}


def _as_it_is(form: Form) -> Form:
    """0.2.0 in the making: what came since has a value where it is missing."""
    return form


# 3: loads asked for ahead; 4: the name on a leaderboard; 5: tries of shared atomics, and waiting warps;
# 6: stores to one element, and atomics that add floats; 8: instructions of the float64
# pipe, and what blocks come back to; 9: atomics that look first, lines of local memory.
_STEPS: Mapping[int, Callable[[Form], Form]] = {1: _from_1, **dict.fromkeys(range(2, VERSION), _as_it_is)}
