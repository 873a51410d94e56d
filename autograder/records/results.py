"""The outcome of grading one submission, as frozen data: what reports are pure functions of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from autograder.errors import Line
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import Source

Outcome = Literal["passed", "failed", "not run"]
BLOCKED_BY = "First to pass: {}"  # the message of a check that is not run, with the title of the one before
Secret = Literal["", "data", "check"]  # nothing; inputs drawn from a secret seed; the check itself


@dataclass(frozen=True)
class Hint:
    """A misconception recognised in a submission: `name` is its identifier, `text` what the student reads.

    `witness`: what it was seen by, in a few words: a line and a thread, a launch, a wrong element. It may quote inputs.
    """

    name: str
    text: str
    witness: str = ""


@dataclass(frozen=True)
class Mismatch:
    """One wrong element of an output."""

    array: str
    index: tuple[int, ...]
    expected: complex  # nearly always a float: a check may ask for complex numbers, and a submission may return them
    got: complex


@dataclass(frozen=True)
class Picture:
    """An SVG drawing that belongs to a check, with the words that replace it for who cannot see it."""

    svg: str
    alt: str


@dataclass(frozen=True)
class FunctionText:
    """One function as its author wrote it: `line` is where it begins, `is_kernel` whether a GPU runs it."""

    name: str
    is_kernel: bool
    line: Line
    text: str


@dataclass(frozen=True)
class CanonicalStatement:
    """One statement without its names, layout and sizes, as a hash; `line` is where it stands."""

    digest: str
    line: int


@dataclass(frozen=True)
class FunctionFingerprint:
    """What a function of a submission is compared with others by: two with the same digest differ in names, layout, sizes
    and the order of independent statements at most. `line` is where it begins."""

    name: str
    is_kernel: bool
    line: Line
    text: str
    digest: str
    statements: tuple[CanonicalStatement, ...]


@dataclass(frozen=True)
class CheckResult:
    """One check: `title` is the sentence the student reads; `outcome` "not run" always says why in `message`."""

    name: str
    title: str
    outcome: Outcome
    points: float  # earned
    max_points: float
    message: str = ""  # one line: what went wrong, or what was found
    hints: tuple[Hint, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    reproduce: str = ""  # code that can be pasted into a notebook to see the failure
    measured: Mapping[str, Any] = field(default_factory=dict)  # numbers behind the verdict: ratio, threshold, sectors
    source: Source | None = None  # for speed: measured or simulated
    pictures: tuple[Picture, ...] = ()
    fault: bool = False  # "not run" because the grader or the machine failed, not the student
    bonus: bool = False  # its points come on top of full marks, and the lab is passed without it
    secret: Secret = ""  # what of it students must not see: withheld.py takes that out of what they get
    tried: bool = True  # False where it failed because a function that it came to is still to be written
    came_to: tuple[str, ...] = ()  # the submission's functions that it came to, where it failed


LATE = "late"  # in place of a check's name: what is taken off for handing in late


@dataclass(frozen=True)
class ByHand:
    """What an instructor decided about one check's points, or about the whole (`check` is empty); None: a comment only.

    Where `check` is `LATE`, `points` are taken off, or a `share` of all that was earned.
    """

    check: str
    points: float | None
    comment: str = ""
    share: float = 0.0


@dataclass(frozen=True)
class Result:
    """One graded submission. `error` is set where nothing of it can be graded: every check is then "not run"."""

    lab: str
    lab_title: str
    student: str
    submission: str  # the file as people know it
    checks: tuple[CheckResult, ...]
    device: str
    source: Source
    error: str = ""
    isolation: tuple[str, ...] = ()  # limits in force: "process", "memory 2 GiB", "time 60 s", "no network"
    flags: tuple[str, ...] = ()  # what an instructor should look at
    lines: tuple[LineProfile, ...] = ()  # counted work of the lab's profile case
    counters: Counters | None = None
    key: str = ""  # hash of submission, spec, seed, grader version and device
    graded_at: str = ""  # ISO 8601, UTC
    seconds: float = 0.0
    ids: Mapping[str, str] = field(default_factory=dict)  # the student's, by kind: canvas, moodle, sid, email, ...
    note: str = ""  # about what was handed in: which of several files counts, and the like
    functions: tuple[FunctionText, ...] = ()  # those that failed checks came to, for the class page's examples
    fingerprints: tuple[FunctionFingerprint, ...] = ()  # what programs of a class are compared by
    name: str = ""  # the student's real one, where a platform's gradebook gave it; files are called after `student`
    chosen_name: str = ""  # what the student wants to be called on a leaderboard; empty: not on it
    digest: str = ""  # hash of the submission alone
    handed_in: str = ""  # when, says the platform: ISO 8601 in UTC, or without a zone as Moodle shows it
    due: str = ""  # the platform's own date for this student, where it gives one; in the same form
    marked_late: bool = False  # by a platform that does not say how late

    by_hand: tuple[ByHand, ...] = ()  # the instructor's, kept beside the results: in these files there is none

    @property
    def display_name(self) -> str:
        """What people read of whose it is."""
        return self.name or self.student

    @property
    def points(self) -> float:
        """All that was earned, for gradebooks; people are shown what of it is bonus: that is never full marks."""
        return sum(check.points for check in self.checks)

    @property
    def final_points(self) -> float | None:
        """The points that go to gradebooks: as graded, but for what was decided by hand. None: there are none yet, since
        the grader could not run every check. Nothing is taken off for lateness where the whole was decided."""
        decided = {each.check: each.points for each in self.by_hand if each.points is not None}
        if "" in decided:
            return decided[""]
        if any(check.fault and check.name not in decided for check in self.checks):
            return None
        return self._in_time - self.taken_off

    @property
    def _in_time(self) -> float:
        decided = {each.check: each.points for each in self.by_hand if each.points is not None}
        return sum(decided.get(check.name, check.points) for check in self.checks)

    @property
    def taken_off(self) -> float:
        """Points that handing in late costs, no more than there are."""
        late = [each for each in self.by_hand if each.check == LATE]
        return min(self._in_time, sum((each.points or 0) + each.share * self._in_time for each in late))

    @property
    def bonus_points(self) -> float:
        """What the bonus checks earned, of `points`."""
        return sum(check.points for check in self.checks if check.bonus)

    @property
    def max_points(self) -> float:
        """Full marks; what a bonus earns comes on top."""
        return sum(check.max_points for check in self.checks if not check.bonus)

    @property
    def outcome(self) -> Outcome:
        """failed if any check failed; "not run" if none failed but some could not be run; else passed (bonus aside)."""
        outcomes = {check.outcome for check in self.checks if not check.bonus or check.fault}
        if "failed" in outcomes or self.error:
            return "failed"
        return "not run" if "not run" in outcomes else "passed"
