"""What an instructor chose when the zip was made, and what the grader in it reads: `assignment.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.grading.grade import PUBLIC_SEED
from autograder.grading.labs import load_lab, with_hidden_checks
from autograder.grading.spec import Lab

FILE = "assignment.json"
LABS, HIDDEN, WHEELS = "labs", "hidden", "wheels"  # folders beside it


@dataclass(frozen=True)
class Assignment:
    """One lab as it is graded at the hand-in."""

    lab: str
    seed: str = PUBLIC_SEED
    hidden: str = ""  # the spec in HIDDEN, where there are hidden checks

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    def load(self, source: Path) -> Lab:
        """The lab with all its checks, from the folder that the zip was unpacked into."""
        lab = load_lab(str(source / LABS / self.lab))
        return with_hidden_checks(lab, source / HIDDEN / self.hidden) if self.hidden else lab


def read_assignment(source: Path) -> Assignment:
    return Assignment(**json.loads((source / FILE).read_text(encoding="utf-8")))
