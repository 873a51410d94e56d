"""Times lesson 9's pairs and patients on the reader's own GPU, where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.course.lesson09.pairs import PAIRS
from autograder.course.lesson09.patients import PATIENTS

SMALLER = 4  # times: a reader's GPU may have a small memory


def measured_here() -> Iterator[str]:
    """A line for each technique: milliseconds without it and with it, at a quarter of the size that the H200 had.

    Needs a CUDA GPU. Results are compared with NumPy's.
    """
    from autograder.course.lesson09.measurements import LaunchClock, times_of_pair

    clock = LaunchClock()
    for pair in PAIRS:
        found = times_of_pair(clock, pair, pair.large // SMALLER)
        without, with_it = found["without_milliseconds"], found["with_milliseconds"]
        yield f"{pair.technique:<18} {without:>9.3f} ms {with_it:>9.3f} ms   x {without / with_it:.1f}"


def patients_here() -> Iterator[str]:
    """A line for each patient: milliseconds at each stage, at the size of its sheet. Needs a CUDA GPU."""
    from autograder.course.lesson09.measurements import LaunchClock, times_of_patient

    clock = LaunchClock()
    for patient in PATIENTS:
        times = times_of_patient(clock, patient, patient.shown)["milliseconds"]
        yield f"patient {patient.name}   " + ", ".join(f"{stage} {each:.3f} ms" for stage, each in times.items())
