"""How a check says that a submission failed it."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.errors import GraderFault, Line, one_line
from autograder.records.hazards import Hazard
from autograder.records.results import Mismatch

MOST_OF_A_MESSAGE = 1_000  # characters of what a check says, whatever it quotes


class CheckFailed(Exception):
    """A check's verdict "failed": `message` is one line for the student; `earned` points may be given all the same.

    `mismatches` and `hazards` are what the report shows beside the message. `line`: the source line whose counted work is
    at fault, which a picture is drawn of. `launch`: name of the kernel whose work is, where a run has launches of several.
    """

    def __init__(
        self,
        message: str,
        *,
        earned: float | None = None,
        mismatches: Sequence[Mismatch] = (),
        hazards: Sequence[Hazard] = (),
        line: Line | None = None,
        launch: str = "",
    ) -> None:
        message = one_line(message, MOST_OF_A_MESSAGE)  # it may quote a line, or a name, as long as a submission may be
        super().__init__(message)
        self.message = message
        self.earned = earned
        self.mismatches = tuple(mismatches)
        self.hazards = tuple(hazards)
        self.line = line
        self.launch = launch


class WorkLeftOut(CheckFailed):
    """What fails a check of speed where the sampled blocks cannot have been all the work."""


class Unverified(GraderFault):
    """A check asks what a run counted, or how long it took, and the results of that run were not verified: the spec's
    mistake, and no submission's."""


class NothingCounted(CheckFailed):
    """What fails a check that asks what a run counted, or how long it took, where nothing was launched."""
