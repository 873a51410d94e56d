"""Tricks for points without the work, in every lab, and honest work that lies close to one of them: points/LAB/*.txt.

A file's first line says what it tries, of which kind that is, which of the lab's answers it begins as (`baseline`, or
right/tiles_of_16), and the checks that must give it nothing. More lines may say words of that answer and what stands there
instead. What follows is added to the answer: what is defined again holds. Honest work keeps full marks. Where the answer
itself has a share of the points, the first line says how much there may be: `denied: check; most: 0.5`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.language.source import Submission, submission_from_cells

FOLDER = Path(__file__).parent / "points"
ROOT = Path(__file__).resolve().parents[3]
FIRST = re.compile(
    r"# (?:trick: (?P<what>[^;]+); kind: (?P<kind>[^;]+); of: (?P<of>[\w/]+); "
    r"denied: (?P<denied>[\w, ]+)(?:; most: (?P<most>[\d.]+))?"
    r"|honest: (?P<honest>[^;]+); of: (?P<base>[\w/]+))"
)
INSTEAD = re.compile(r"# instead of: (.+); there is: (.+)")
IMPORT = "from numba import cuda\n"


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

    @property
    def submission(self) -> Submission:
        return submission_from_cells("lab.py", [("lab.py", self.text)], is_notebook=False)


@cache
def tricks() -> tuple[Trick, ...]:
    """All of them, by lab and name; raises ValueError where a file's first line does not say what it must."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("lab*/*.txt")))


def _read(path: Path) -> Trick:
    lab, lines = path.parent.name, path.read_text(encoding="utf-8").splitlines()
    first = FIRST.fullmatch(lines[0])
    if first is None:
        raise ValueError(f"{path}: a first line must read '# trick: ...; kind: ...; of: ...; denied: ...'")
    text = _base(lab, first["of"] or first["base"])
    rest = lines[1:]
    while rest and (instead := INSTEAD.fullmatch(rest[0])):
        if instead[1] not in text:
            raise ValueError(f"{path}: the answer has no `{instead[1]}`")
        text, rest = text.replace(instead[1], instead[2]), rest[1:]
    text += "\n" + "\n".join(rest) + "\n"
    denied = tuple(first["denied"].split(", ")) if first["denied"] else ()
    what, kind, most = first["what"] or first["honest"], first["kind"] or "", float(first["most"] or 0)
    return Trick(f"{lab}/{path.stem}", lab, what, kind, denied, text, most)


def _base(lab: str, answer: str) -> str:
    folder = next((ROOT / "labs").glob(f"{lab}_*"))
    path = folder / "baseline.py" if answer == "baseline" else ROOT / "solutions" / folder.name / f"{answer}.py"
    return path.read_text(encoding="utf-8")
