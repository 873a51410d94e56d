"""The errors that a person may see: one sentence of what, where and what to do; never a traceback of ours.

Every error raised on purpose inside the kit derives from `KitError`; the command line and the notebook extension
print it and turn its class into an exit code (0 passed, 1 a submission failed, 2 bad usage, 3 our own fault).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

MOST_CHARACTERS = 240  # of a message that may quote a submission
MOST_FILE_CHARACTERS = 100
# What ended a run, where somebody has to tell it from other faults: a hint does so by this, and never by the words.
FaultKind = Literal[
    "",  # any other
    "empty_launch",  # a grid or a block that is 0 along an axis, or less
    "too_many_threads",  # more than a block may have
    "too_much_shared_memory",
    "shape_not_constant",  # of a shared or local array
    "not_an_element_type",  # what is given as the type of an array's elements
    "division_by_zero",  # in host code
    "still_going",  # beyond a limit, and getting on: no loop without an end was seen
    "out_of_time",  # of a processor: what had been done by then nobody knows
]


@dataclass(frozen=True, order=True)
class Line:
    """One line of somebody's source: `file` as shown to people ("lab.ipynb, code cell 3"), `number` from 1 within it."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


class KitError(Exception):
    """An error for people: `message` says what is wrong, `line` where, `remedy` what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, line: Line | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.line}: " if self.line else ""
        what_to_do = f" {self.remedy}" if self.remedy else ""
        return f"{where}{self.message}{what_to_do}"

    @property
    def first_sentence(self) -> str:
        """The message's first sentence, without its full stop: to show where there is no room for more."""
        return self.message.split(". ")[0].rstrip(".")

    def details(self) -> dict[str, Any]:
        """All that it is made of beside its message, by name."""
        return {"line": self.line, "remedy": self.remedy}

    def __reduce__(self) -> tuple[Any, ...]:  # keyword-only arguments do not survive the default pickling
        return _rebuild, (type(self), self.message, self.details())


def _rebuild(made_as: type[KitError], message: str, details: dict[str, Any]) -> KitError:
    return made_as(message, **details)


def one_line(text: str, most: int = MOST_CHARACTERS) -> str:
    """Text as one line that can be shown anywhere: no line breaks, no control characters, not too long."""
    plain = "".join(each if each.isprintable() else " " for each in text[: 4 * most])
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else plain[: most - 4] + " ..."


class UsageError(KitError):
    """The command or call cannot be carried out as given (no such lab, no such file): exit code 2."""


class SubmissionError(KitError):
    """The submitted text cannot be graded as it stands (syntax, a missing function, a forbidden import): exit code 1."""

    exit_code = 1

    def __init__(self, message: str, *, line: Line | None = None, remedy: str = "") -> None:
        if line is not None:
            line = Line(one_line(line.file, MOST_FILE_CHARACTERS), line.number)
        super().__init__(one_line(message), line=line, remedy=one_line(remedy))  # names and quoted text are a student's


class BrokenDefinition(SubmissionError):
    """A function that a check needs and that is missing, of another kind or refused, whatever the inputs: exit code 1.

    `name`: the function's, or that of a constant which it needs. What does not need it is graded all the same.
    """

    def __init__(self, message: str, *, name: str, line: Line | None = None, remedy: str = "") -> None:
        super().__init__(message, line=line, remedy=remedy)
        self.name = one_line(name, MOST_FILE_CHARACTERS)

    def details(self) -> dict[str, Any]:
        return {**super().details(), "name": self.name}


def as_broken(name: str, problem: SubmissionError) -> SubmissionError:
    """What is wrong with the text of `name`, as a broken definition; what went wrong while it ran stays as it is."""
    if isinstance(problem, (BrokenDefinition, KernelFault)):
        return problem
    return BrokenDefinition(problem.message, name=name, line=problem.line, remedy=problem.remedy)


class KernelFault(SubmissionError):
    """A kernel or host function went wrong while it ran, in the words that its author needs: exit code 1.

    `kind`: which fault it is, for whoever has to tell it from others.
    """

    def __init__(self, message: str, *, line: Line | None = None, remedy: str = "", kind: FaultKind = "") -> None:
        super().__init__(message, line=line, remedy=remedy)
        self.kind = kind

    def details(self) -> dict[str, Any]:
        return {**super().details(), "kind": self.kind}

    def told_at(self, line: Line | None, message: str) -> KernelFault:
        """The same fault at a line of the submission, in words that say nothing of our insides."""
        return KernelFault(message, line=line, remedy=self.remedy, kind=self.kind)


class WorkLimit(KernelFault):
    """A run did more work, or took more time, than it was allowed."""


class TooSlow(KernelFault):
    """A timed run that was given up: what it had done by then takes far longer than anything that earns points."""


class NotCarriedOut(KernelFault):
    """A kernel that the simulated GPU has no way to carry out: its author's failure, or ours, so somebody has to look."""


class GraderFault(KitError):
    """The grader or the machine failed; never the student's failure: exit code 3."""

    exit_code = 3


class NotCounted(GraderFault):
    """The grader asks what a run counted that nobody counted: a real GPU's, or one of which nothing came back."""


class Unforeseen(GraderFault):
    """A fault of ours that nobody had foreseen: its words are Python's, for the instructor and for us."""


class MachineFault(GraderFault):
    """The machine does not let us go on, whoever is graded: a full disk, a folder that may not be written to."""
