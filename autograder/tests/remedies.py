"""Remedies carried out: solutions/LAB/remedies.jsonl has a line for each known wrong answer and the hint that it gets.

    {"answer": "guard_with_or", "hint": "guard_with_or", "replace": [[" or ", " and "]]}

`replace`: the hint's words carried out, in the smallest edit of somebody who follows them: old texts and new ones, in turn.
An old text occurs once, or as often as a third element says.
`also`: edits of the same form for further mistakes of this answer, which the hint does not name, and `why` they are needed.
`says`: "no remedy", where the hint states a fact and leaves open what to do about it, and `why` it does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.grading.known_answers.answers import KnownAnswer
from autograder.language.source import Submission, submission_from_cells

ROOT = Path(__file__).resolve().parents[2]
NO_REMEDY = "no remedy"
FIELDS = {"answer", "hint", "replace", "also", "says", "why"}


@dataclass(frozen=True)
class Remedy:
    """One line of a lab's remedies.jsonl."""

    lab: str
    answer: str  # the name of a file in wrong/
    hint: str
    edits: tuple[tuple[str, str, int], ...]  # old, new, how often the old text occurs
    is_none: bool  # the hint names no remedy

    @property
    def promise(self) -> tuple[frozenset[str], str]:
        """The checks that the answer fails, and the hint that it gets, as its first line says."""
        return KnownAnswer(f"wrong/{self.answer}", "wrong", self._path).promise

    @property
    def mended(self) -> Submission:
        """The answer after its edits; raises ValueError for one that does not fit."""
        text = self._path.read_text(encoding="utf-8")
        for old, new, times in self.edits:
            if text.count(old) != times or old == new:
                raise ValueError(f"{self.answer}: {old!r} occurs {text.count(old)} times and not {times}, or stays")
            text = text.replace(old, new)
        name = f"{self.answer}, mended"
        return submission_from_cells(name, [(name, text)], is_notebook=False)

    @property
    def _path(self) -> Path:
        return ROOT / "solutions" / self.lab / "wrong" / f"{self.answer}.py"


def remedies(lab: str) -> list[Remedy]:
    """A lab's remedies; raises ValueError for a line of another form."""
    path = ROOT / "solutions" / lab / "remedies.jsonl"
    return [_remedy(lab, json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _remedy(lab: str, line: dict[str, Any]) -> Remedy:
    is_none = line.get("says") == NO_REMEDY
    needs_why = is_none or "also" in line
    if not line.keys() <= FIELDS or is_none == ("replace" in line) or needs_why != bool(line.get("why")):
        raise ValueError(f"{lab}: no line of a remedies.jsonl: {line}")
    edits = (*line.get("replace", ()), *line.get("also", ()))
    return Remedy(
        lab, line["answer"], line["hint"], tuple((old, new, *(times or [1])) for old, new, *times in edits), is_none
    )


def promised_hints(lab: str) -> frozenset[tuple[str, str]]:
    """Each known wrong answer that gets a hint, with that hint."""
    paths = (ROOT / "solutions" / lab / "wrong").glob("*.py")
    found = {path.stem: KnownAnswer(f"wrong/{path.stem}", "wrong", path).promise[1] for path in paths}
    return frozenset((answer, hint) for answer, hint in found.items() if hint)
