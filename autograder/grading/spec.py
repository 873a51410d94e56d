"""A lab's specification: START HERE to write one. `labs/labNN_topic/spec.py` holds a `LAB`, its checks and its hints
(the hints may stand in a hints.py beside it).

A check is one function whose docstring is the sentence that the student reads; it takes an `Attempt` (attempt.py) and
raises `CheckFailed`. Checks run in the order in which they stand in the file, in the grader's own process: the
submission itself only ever runs in a worker, behind `attempt.run`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.grading.attempt import Attempt, Judgement
from autograder.language.requirements import Required
from autograder.records.results import Hint

if TYPE_CHECKING:
    import numpy as np

    from autograder.records.runs import RunRequest

Judge = Callable[[Attempt], "str | None"]
HintJudge = Callable[[Attempt], "Hint | None"]


@dataclass(frozen=True)
class Check:
    """One check of a lab: `judge` decides, `title` is its docstring; the checks named in `after` must have passed."""

    name: str
    title: str
    points: float
    after: tuple[str, ...]
    judge: Judge
    bonus: bool = False  # its points come on top of full marks, after every other check, and failing it fails nothing
    hidden: bool = False  # from an instructor's second spec: students see its verdict and nothing else


@dataclass(frozen=True)
class HintRule:
    """A misconception that a lab knows: `recognise` looks at a failed attempt and returns the hint, with what it is seen by,
    or None.

    `checks`: the failed checks that it looks at; empty means every one. `shows`: the kind of its witness.
    """

    name: str
    checks: tuple[str, ...]
    recognise: HintJudge
    shows: str


@dataclass(frozen=True)
class Lab:
    """What a lab asks for. A spec.py gives the first fields; `load_lab` fills in those from `name` on."""

    title: str
    lesson: str  # the notebook that it belongs to, without its ending: "01_naive_matmul"
    required: tuple[Required, ...]
    leaderboard: bool = False  # whether the class page ranks who chose a LEADERBOARD_NAME, by the first check of speed
    hours: float = 2  # what a student may need
    # By function: what its results are held to wherever it is counted or timed; no required host function may lack it.
    results: Mapping[str, Judgement] = field(default_factory=dict)
    baseline: str = ""  # file in the lab's folder that speed is compared with
    profile: Callable[[np.random.Generator], RunRequest] | None = None  # the case shown by source line in reports
    seconds_per_run: float = 20  # limit of one run or comparison: processor time where simulated, by the clock on a GPU
    name: str = ""  # the folder's: "lab01_naive_matmul"
    folder: Path = Path()
    checks: tuple[Check, ...] = field(default=(), repr=False)
    hints: tuple[HintRule, ...] = field(default=(), repr=False)
    hidden_spec: Path | None = None  # the file that the hidden checks come from

    @property
    def points(self) -> float:
        """What full marks are; a bonus comes on top."""
        return sum(each.points for each in self.checks if not each.bonus)

    @property
    def notebook(self) -> Path:
        """What the student edits and hands in."""
        return self.folder / "lab.ipynb"

    @property
    def baseline_path(self) -> Path | None:
        return self.folder / self.baseline if self.baseline else None


def check(*, points: float, after: Sequence[str] = (), bonus: bool = False) -> Callable[[Judge], Judge]:
    """Marks a function of a spec as a check worth `points`; "not run" where a check named in `after` did not pass.

    A `bonus` is for who wants to go on: its points come on top of full marks, so that it runs where every other check
    passed, and the lab is passed without it.

    The function may return a line to show when it passed ("2.8 times the baseline").
    """

    def mark(judge: Judge) -> Judge:
        title = " ".join((inspect.getdoc(judge) or "").split("\n\n")[0].split())
        vars(judge)["as_check"] = Check(judge.__name__, title, points, _names(after), judge, bonus)
        return judge

    return mark


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """Names of checks as a tuple; one without its comma would be taken for its letters."""
    if isinstance(given, str):
        raise TypeError(f'names of checks stand in a tuple: ("{given}",) instead of "{given}"')
    return tuple(given)


def hint(name: str, *, checks: Sequence[str] = (), shows: str) -> Callable[[HintJudge], HintJudge]:
    """Marks a function of a spec as the recogniser of a misconception; see `HintRule`."""
    if not shows:
        raise TypeError(f"the hint {name} names no witness: shows= says what it is seen by")

    def mark(recognise: HintJudge) -> HintJudge:
        vars(recognise)["as_hint"] = HintRule(name, _names(checks), recognise, shows)
        return recognise

    return mark


def marked(namespace: dict[str, Any], attribute: str) -> tuple[Any, ...]:
    """What the decorators left on the functions of a spec, in file order."""
    return tuple(getattr(value, attribute) for value in namespace.values() if hasattr(value, attribute))
