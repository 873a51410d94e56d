"""python -m autograder.grading.known_answers: everything about a lab's known answers, in one command."""

from __future__ import annotations

import argparse

from autograder.grading.known_answers import counting, measuring, profiled, table, thresholds
from autograder.grading.known_answers.answers import solution_of
from autograder.grading.labs import load_lab

NOTES = """Without --count, --profile, --calibrate or --table, answers are graded and timed here.
Written to solutions/LAB/calibration: h200.json (whatever the GPU is called) or simulated.json, counted.json, profiled.json
and verdicts.md. variants.py there, where there is one, has a function variants() that yields further (name, source)."""


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    found = argparse.ArgumentParser(prog="python -m autograder.grading.known_answers", epilog=NOTES)
    found.add_argument("lab", help="the lab's name, or its beginning")
    found.add_argument("names", nargs="*", help="only these answers, as tables name them (wrong/NAME)")
    work = found.add_mutually_exclusive_group()
    for flag, words in (
        ("--grade", "only grade: times that are known stay"),
        ("--time", "only time: verdicts that are known stay"),
        ("--count", "count the work of the launches that are timed"),
        ("--profile", "have Nsight Compute count it; needs a GPU and ncu"),
        ("--calibrate", "recommend thresholds, as `autograder calibrate` does"),
        ("--table", "write the table of verdicts"),
    ):
        work.add_argument(flag, action="store_true", help=words)
    found.add_argument("--simulated", action="store_true", help="on the simulated GPU, also where there is a real one")
    found.add_argument("--missing", action="store_true", help="only what is not in the file yet")
    found.add_argument("--jobs", type=int, default=1, help="workers; a GPU is one's at a time")
    return found


def main() -> None:
    given = parser().parse_intermixed_args()
    lab, device = load_lab(given.lab), "simulated" if given.simulated else "auto"
    if given.calibrate:
        print("\n\n".join(thresholds.calibration_text(each) for each in thresholds.calibrate(lab, device=device)))
        return
    if given.table:
        path = solution_of(lab) / "calibration" / "verdicts.md"
        path.write_text(table.table(lab), encoding="utf-8")
    elif given.count:
        path = counting.count(lab, given.names)
    elif given.profile:
        path = profiled.profile(lab, given.names)
    else:
        path = measuring.measure(
            lab, device, given.names, jobs=given.jobs, missing=given.missing, grades=not given.time, times=not given.grade
        )
    print(path.relative_to(solution_of(lab).parent.parent))


if __name__ == "__main__":
    main()
