"""Attacks on labs, made of answers: points/LAB/*.txt try for points without the work, hostile/LAB/*.txt to break the grader.

A file's first line says what it tries, and which of the lab's answers it begins as (`baseline`, or right/tiles_of_16). More
lines may say words of that answer and what stands there instead. What follows is added to the answer: what is defined
again holds.

A trick's first line also says of which kind it is, and the checks that must give it nothing. Where the answer itself has
a share of the points, it says how much there may be: `denied: check; most: 0.5`. One that takes more than ten seconds of a
processor says `; slow`. Honest work keeps full marks. Where it is otherwise, and nobody has mended that yet, the line
ends with `; known: why`.

A hostile file's first line says which checks fail, and words that its author must read.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from autograder.language.source import Submission, submission_from_cells
from autograder.tests.part import covering

FOLDER = Path(__file__).parent / "points"
HOSTILE = Path(__file__).parent / "hostile"
ROOT = Path(__file__).resolve().parents[3]
FIRST = re.compile(
    r"# (?:trick: (?P<what>[^;]+); kind: (?P<kind>[^;]+); of: (?P<of>[\w/]+); "
    r"denied: (?P<denied>[\w, ]+)(?:; most: (?P<most>[\d.]+))?(?P<slow>; slow)?(?:; known: (?P<known>.+))?"
    r"|honest: (?P<honest>[^;]+); of: (?P<base>[\w/]+)(?:; known: (?P<fault>.+))?)"
)
HOSTILE_FIRST = re.compile(
    r"# attack: (?P<what>[^;]+); of: (?P<of>[\w/]+); fails: (?P<fails>[\w, ]+)(?:; says: (?P<says>.+))?"
)
INSTEAD = re.compile(r"# instead of: (.+); there is: (.+)")
SHARE = 8  # of hostile files `make test` tries one of so many


@dataclass(frozen=True)
class Trick:
    """One submission, and what must not come of it."""

    name: str  # lab05/a_tenth_is_counted
    lab: str
    what: str
    kind: str  # "" for honest work
    denied: tuple[str, ...]  # checks that must give no point
    text: str
    most: float = 0.0  # of the points that they may give all the same
    known: str = ""  # why it is otherwise, where nobody has mended that
    slow: bool = False

    @property
    def submission(self) -> Submission:
        return submission_from_cells("lab.py", [("lab.py", self.text)], is_notebook=False)


@dataclass(frozen=True)
class Hostile:
    """One submission that tries to break something, and what comes of it."""

    name: str
    lab: str
    what: str
    fails: frozenset[str]  # checks; {"everything"}: no points at all
    says: str
    text: str

    @property
    def submission(self) -> Submission:
        return submission_from_cells("lab.py", [("lab.py", self.text)], is_notebook=False)


def marks_of(file: Trick | Hostile) -> list[pytest.MarkDecorator]:
    """What `make test` does not try, and `make test-all` does: of hostile files seven in eight, by their names.

    Of tricks those that are not the first of their kind on their lab, and slow ones; honest work is a kind. What nobody has
    mended yet is tried all the same.
    """
    if isinstance(file, Hostile):
        return marks_by_name(file.name)
    is_tried = bool(file.known) or file.name in _first_of_each()
    return [] if is_tried else [pytest.mark.rest]


def marks_by_name(name: str) -> list[pytest.MarkDecorator]:
    """Those of one of many attacks, of which `make test` tries one in eight."""
    return [] if hashlib.sha256(name.encode()).digest()[0] % SHARE == 0 else [pytest.mark.rest]


@cache
def _first_of_each() -> frozenset[str]:
    return frozenset(covering({each.name: [(each.lab, each.kind)] for each in tricks() if not each.slow}))


@cache
def tricks() -> tuple[Trick, ...]:
    """All of them, by lab and name; raises ValueError where a file's first line does not say what it must."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("lab*/*.txt")))


@cache
def hostile() -> tuple[Hostile, ...]:
    """All hostile files, by lab and name; raises ValueError like `tricks`."""
    return tuple(_read_hostile(path) for path in sorted(HOSTILE.glob("lab*/*.txt")))


def _read(path: Path) -> Trick:
    lab, lines = path.parent.name, path.read_text(encoding="utf-8").split("\n")
    first = FIRST.fullmatch(lines[0])
    if first is None:
        raise ValueError(f"{path}: a first line must read '# trick: ...; kind: ...; of: ...; denied: ...'")
    text = _added(path, _base(lab, first["of"] or first["base"]), lines[1:])
    denied = tuple(first["denied"].split(", ")) if first["denied"] else ()
    what, kind, most = first["what"] or first["honest"], first["kind"] or "", float(first["most"] or 0)
    known, slow = first["known"] or first["fault"] or "", bool(first["slow"])
    return Trick(f"{lab}/{path.stem}", lab, what, kind, denied, text, most, known, slow)


def _read_hostile(path: Path) -> Hostile:
    lab, lines = path.parent.name, path.read_text(encoding="utf-8").split("\n")
    first = HOSTILE_FIRST.fullmatch(lines[0])
    if first is None:
        raise ValueError(f"{path}: a first line must read '# attack: ...; of: ...; fails: ...; says: ...'")
    text = _added(path, _base(lab, first["of"]), lines[1:])
    fails = frozenset() if first["fails"] == "nothing" else frozenset(first["fails"].split(", "))
    return Hostile(f"{lab}/{path.stem}", lab, first["what"], fails, first["says"] or "", text)


def _added(path: Path, text: str, rest: list[str]) -> str:
    """The answer with what a file's other lines say of it: words that others stand for, and what is added."""
    while rest and (instead := INSTEAD.fullmatch(rest[0])):
        if instead[1] not in text:
            raise ValueError(f"{path}: the answer has no `{instead[1]}`")
        text, rest = text.replace(instead[1], instead[2]), rest[1:]
    return text + "\n" + "\n".join(rest) + "\n"


def _base(lab: str, answer: str) -> str:
    folder = next((ROOT / "labs").glob(f"{lab}_*"))
    path = folder / "baseline.py" if answer == "baseline" else ROOT / "solutions" / folder.name / f"{answer}.py"
    return path.read_text(encoding="utf-8")
