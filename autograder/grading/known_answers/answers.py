"""The known answers of a lab, by name, and what the first lines of their files promise."""

from __future__ import annotations

import hashlib
import re
import runpy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from autograder.grading.spec import Lab
from autograder.language.source import Submission, submission_from_cells

Kind = Literal["baseline", "solution", "right", "wrong", "variant"]
PROMISE = re.compile(r"# fails: (?P<checks>\w+(?:, \w+)*); hint: (?P<hint>\w+)")
NO_HINT = "none"
NOT_TIMED = "# not timed:"


@dataclass(frozen=True)
class KnownAnswer:
    """One answer: a file, or a variant that the calibration makes up."""

    name: str  # as tables have it: solution, wrong/NAME
    kind: Kind
    submission: Path | Submission

    @property
    def is_graded(self) -> bool:
        """Whether it has a verdict: the baseline and the variants are only timed."""
        return self.kind not in ("baseline", "variant")

    @property
    def is_timed(self) -> bool:
        """Whether it is timed: its second line may say that it is not, and why."""
        return not any(line.startswith(NOT_TIMED) for line in self._lines[1:2])

    @cached_property
    def promise(self) -> tuple[frozenset[str], str]:
        """The checks that a wrong answer must fail, and the hint that its author must get; raises ValueError without.

        The hint is empty where the line says `none`: nothing is known then of how it came about, and nothing is to be said.
        """
        if self.kind != "wrong":
            return frozenset(), ""
        first_line = self._lines[0] if self._lines else ""
        found = PROMISE.fullmatch(first_line)
        if found is None:
            raise ValueError(
                f"{self.name} must begin with '# fails: check[, check]; hint: name', not {first_line!r}"
            )
        return frozenset(found["checks"].split(", ")), "" if found["hint"] == NO_HINT else found["hint"]

    def must_fail(self, speed_check: str) -> bool:
        """Whether it is too slow for a check that compares speed; the baseline always is."""
        return self.kind == "baseline" or speed_check in self.promise[0]

    @property
    def fingerprint(self) -> str:
        """Of its text; empty for a notebook, most of whose text is not the answer."""
        return fingerprint("\n".join(self._lines)) if self._lines else ""

    @cached_property
    def _lines(self) -> list[str]:
        if isinstance(self.submission, Path) and self.submission.suffix == ".py":
            return self.submission.read_text(encoding="utf-8").splitlines()
        return []


def fingerprint(text: str) -> str:
    """What stands for an answer's text beside its verdict: a verdict is of one text. How its lines end is no part of it."""
    return hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()[:12]


def known_answers(lab: Lab) -> dict[str, KnownAnswer]:
    """The baseline, the solution, right and wrong answers, and the calibration's own variants, by name."""
    solution = solution_of(lab)
    found = [KnownAnswer("solution", "solution", solution / "lab.ipynb")]
    if lab.baseline_path is not None:
        found.insert(0, KnownAnswer("baseline", "baseline", lab.baseline_path))
    kinds: tuple[Kind, ...] = ("right", "wrong")
    for kind in kinds:
        found += [KnownAnswer(f"{kind}/{path.stem}", kind, path) for path in sorted((solution / kind).glob("*.py"))]
    if (own := solution / "calibration" / "variants.py").is_file():
        for name, text in runpy.run_path(str(own))["variants"]():
            found.append(KnownAnswer(name, "variant", submission_from_cells(name, [(name, text)], is_notebook=False)))
    return {each.name: each for each in found}


def solution_of(lab: Lab) -> Path:
    """The folder of a lab's answers."""
    return lab.folder.parent.parent / "solutions" / lab.name


def calibration_file(lab: Lab, device: str) -> Path:
    """`NVIDIA H200` -> solutions/LAB/calibration/h200.json."""
    return solution_of(lab) / "calibration" / f"{device.split()[-1].lower()}.json"
