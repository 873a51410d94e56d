"""Who is behind each submission of a Gradescope export, from its submission_metadata.yml.

The file maps submission_NUMBER to `:submitters:` (each `:name:`, `:sid:`, `:email:`), `:created_at:` and a great deal
more, all earlier results included; it is written by Ruby's Psych, keys in a fixed indentation. Only the few lines that
are needed are read, so that its size and whatever students printed do not matter.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone

from autograder.grading.exports.names import Owner

_SUBMISSION = re.compile(r"['\"]?(submission_\d+)['\"]?:\s*")
_KEY = re.compile(r"  (?P<dash>- )?(?P<inner>  )?:(?P<key>\w+):(?:[ \t]+(?P<value>\S.*?))?[ \t]*")
_TIME = re.compile(r"(?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? (?P<zone>Z|[+-]\d\d:\d\d)")
_FIELDS = ("name", "sid", "email")
_ON_FURTHER_LINES = re.compile(r"[|>][-+]?\d?")  # in place of a text that follows on the next lines


@dataclass(frozen=True)
class Handed:
    """One submission's students, and when it was made: as written, which sorts the later one of an export last."""

    owners: tuple[Owner, ...]
    created_at: str = ""

    @property
    def handed_in(self) -> str:
        """When it was made, as ISO 8601 in UTC; empty where it does not say so as Psych writes a time:
        `2023-12-02 02:52:07.938335000 Z`, or `+01:00` for the Z."""
        found = _TIME.fullmatch(self.created_at)
        if found is None:
            return ""
        try:
            when = datetime.fromisoformat(f"{found['when']}{'+00:00' if found['zone'] == 'Z' else found['zone']}")
        except ValueError:
            return ""
        return when.astimezone(timezone.utc).isoformat()


def read_metadata(text: str) -> dict[str, Handed]:
    """submission_NUMBER -> who made it; what is not understood is left out, never guessed at."""
    found: dict[str, Handed] = {}
    people: list[dict[str, str]] = []
    current, created, within = "", "", ""
    for line in [*text.splitlines(), "submission_0:"]:  # the last line closes the last record
        if heading := _SUBMISSION.fullmatch(line):
            if current:
                found[current] = Handed(tuple(_owner(each, current) for each in people if each), created)
            current, people, created, within = heading[1], [], "", ""
        elif current and (key := _KEY.fullmatch(line)):
            if not key["dash"] and not key["inner"]:
                within = key["key"]
                created = _scalar(key["value"]) if within == "created_at" else created
            elif within == "submitters":
                if key["dash"]:
                    people.append({})
                if people and key["key"] in _FIELDS:
                    people[-1][key["key"]] = _scalar(key["value"])
    return found


def _owner(fields: dict[str, str], submission: str) -> Owner:
    ids = {"gradescope": submission.removeprefix("submission_")}
    ids |= {key: fields[key] for key in ("sid", "email") if fields.get(key)}
    return Owner(fields.get("name") or fields.get("email") or submission, ids)


def _scalar(value: str | None) -> str:
    """A YAML scalar on one line as text: plain, or in either kind of quotes; empty where it does not end on this line."""
    if value is None or value in ("null", "~", "''", '""') or _ON_FURTHER_LINES.fullmatch(value):
        return ""
    if value[0] in "'\"" and (len(value) == 1 or value[-1] != value[0]):
        return ""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", value)))
        except ValueError:
            return value[1:-1]
    return value
