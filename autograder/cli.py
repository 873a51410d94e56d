"""The command line: each command is one function from its arguments to an exit code.

0: done, and all passed · 1: a submission failed a check · 2: bad usage or input, a platform's file among it into which not
one grade could be filled · 3: the grader or the machine failed, for one submission at least, whatever became of the others.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import upkeep
from autograder.arguments import parser_of
from autograder.command_output import (
    FAILED,
    FAULT,
    PASSED,
    USAGE,
    check_writable,
    existing_file,
    write_html,
    write_json,
    write_json_list,
)
from autograder.errors import KitError, UsageError
from autograder.fault_report import unexpected, write_fault_report

if TYPE_CHECKING:
    from autograder.grading.class_folder import Told
    from autograder.grading.spec import Lab
    from autograder.records.results import Result
    from autograder.reports.handing_back import Wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out one command line and returns its exit code; no traceback ever reaches the user."""
    parser = build_parser()
    given = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a console that cannot show a character shows a substitute
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        if getattr(given, "no_confinement", False):
            without_confinement()
        if getattr(given, "json", None):
            check_writable(given.json)
        return int(given.command(given))
    except KitError as problem:
        print(f"autograder: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        resumes = given.command in (grade, demo)
        kept = "; what was graded is kept, and the same command goes on from there" if resumes else ""
        print(f"autograder: interrupted{kept}.", file=sys.stderr)
        return FAULT
    except BrokenPipeError:  # the reader of our output has gone (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PASSED
    except ModuleNotFoundError as problem:
        from autograder.doctor import INSTALL

        print(f"autograder: The package {problem.name} is not installed. {INSTALL}", file=sys.stderr)
        return FAULT
    except Exception as problem:
        print(f"autograder: {unexpected(problem)}", file=sys.stderr)
        return FAULT


def without_confinement() -> None:
    """Lets all workers of this process, and of those that it starts, open files and start processes."""
    from autograder.grading.isolation import ENVIRONMENT

    os.environ[ENVIRONMENT] = "off"


# ---- commands: labs, check, grade, export, gradescope, archive, demo ------------------------------------


def labs(given: argparse.Namespace) -> int:
    """Lists the labs with their points."""
    from autograder.grading.labs import lab_names, load_lab

    found = [load_lab(name) for name in lab_names()]
    width = max(len(lab.name) for lab in found)
    for lab in found:
        print(f"{lab.name:{width}}  {lab.points:5g} points  {len(lab.checks):2} checks  {lab.hours:3g} h  {lab.title}")
    write_json(given, [{key: getattr(lab, key) for key in ("name", "title", "points", "hours")} for lab in found])
    return PASSED


def check(given: argparse.Namespace) -> int:
    """Checks one submission and prints the student's view."""
    from autograder.grading.fence import showable
    from autograder.grading.grade import check_submission
    from autograder.grading.labs import load_lab
    from autograder.grading.worker import Worker
    from autograder.records import json_form
    from autograder.reports import terminal

    with Worker(given.device) as worker:
        worker.start()  # it comes up while the lab is loaded
        lab = load_lab(given.lab)
        path = existing_file(given.submission or lab.notebook)
        result = check_submission(lab, path, worker=worker)
        result, why = showable(result, lab)
        details = why or worker.last_details
        if details and any(each.fault for each in result.checks):
            report = write_fault_report(details)
            print(f"autograder: a report of the grader's own fault is in {report}", file=sys.stderr)
    print(terminal.render(result, colour=sys.stdout.isatty()), end="")
    if given.html:
        write_html(given.html, result)
    write_json(given, json_form.to_dict(result))
    return exit_code([result])


def grade(given: argparse.Namespace) -> int:
    """Grades a class and prints its table."""
    with_few_threads()
    from autograder.grading.labs import load_lab, read_seed, with_hidden_checks

    lab = load_lab(given.lab)
    lab = with_hidden_checks(lab, given.hidden) if given.hidden else lab
    options: dict[str, Any] = {"regrade": given.regrade, "only": given.only, "dask": given.dask}
    if given.seed_file:
        options |= {"seed": read_seed(given.seed_file), "seed_file": given.seed_file}
    wanted = wanted_forms(given, lab.name, lab.title)  # what is wrong with them is found out before the class is graded
    options["told"] = told_of_class(given, wanted)
    options["tell"] = lambda line: print(f"autograder: {line}", file=sys.stderr)
    results = graded_class(given, lab, given.submissions, given.out, **options)
    handed_back = hand_back(results, given.out, wanted)
    return exit_code(results) if exit_code(results) == FAULT else handed_back or exit_code(results)


def with_few_threads() -> None:
    """Leaves cores to the workers: NumPy's BLAS would take all of them for each expected result, and spin on them.

    It reads this when NumPy is first imported.
    """
    few = str(max(1, min(4, (os.cpu_count() or 1) // 8)))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, few)


def export(given: argparse.Namespace) -> int:
    """Makes what a learning platform takes from a class that has been graded: nothing is graded again."""
    from autograder.grading.class_folder import read_class, renewed_class
    from autograder.records import json_form
    from autograder.records.stored import rows_of

    results = read_class(given.out)
    wanted = wanted_forms(given, *{name for result in rows_of(results) for name in (result.lab, result.lab_title)})
    results, lines = renewed_class(results, told_of_class(given, wanted), given.out)
    for line in lines:
        print(f"autograder: {line}", file=sys.stderr)
    handed_back = hand_back(results, given.out, wanted)
    write_json_list(given, map(json_form.to_dict, results))
    return handed_back


def gradescope(given: argparse.Namespace) -> int:
    """Makes the zip with which Gradescope grades a lab as soon as a student hands it in."""
    from autograder.gradescope.building import build

    written = build(given.lab, given.out, seed_file=given.seed_file, hidden=given.hidden, wheels=given.wheels)
    print(f"Written: {written}, {written.stat().st_size / 2**20:.1f} MiB; upload it as it is.")
    write_json(given, {"written": str(written)})
    return PASSED


def archive(given: argparse.Namespace) -> int:
    """Puts graded classes into one file, with all that it takes to grade them again years later."""
    from autograder.archive import archive as make_archive

    classes = make_archive(given.graded, given.to, tell=lambda line: print(f"autograder: {line}", file=sys.stderr))
    for each in classes:
        print(f"{each.name}: {each.lab.title}, {len(each.results)} students")
    size = given.to.stat().st_size / 2**20
    print(f"Written: {given.to}, {size:.1f} MiB. It holds names, grades and seeds: keep it to yourself.")
    write_json(given, [each.to_dict() for each in classes])
    return PASSED


def demo(given: argparse.Namespace) -> int:
    """Grades the shipped example class into build/demo; only a fault of the grader makes it fail."""
    from autograder.course_folder import folder
    from autograder.grading.labs import load_lab

    lab = load_lab("lab01")
    results = graded_class(given, lab, folder("labs") / lab.name / "example_class", Path("build/demo"))
    return FAULT if exit_code(results) == FAULT else PASSED


def told_of_class(given: argparse.Namespace, wanted: Wanted) -> Told:
    """What a command line says of a class beside its submissions: names, dates, points by hand. Raises `UsageError`."""
    from autograder.grading.class_folder import Told
    from autograder.reports import by_hand, handing_back

    overrides = by_hand.read_overrides(given.overrides) if given.overrides else None
    options = [by_hand.said(f"--{name}", words) for name in ("due", "late") if (words := getattr(given, name))]
    dates_of = functools.partial(handing_back.dates, wanted)
    return Told(overrides, options, handing_back.real_names(wanted).of, dates_of)


def wanted_forms(given: argparse.Namespace, *lab_names: str) -> Wanted:
    """The forms that a command line asks for; raises `UsageError` where a file of the instructor's will not do."""
    from autograder.reports.handing_back import Wanted, look_at

    for path in (given.canvas, given.moodle):
        if path is not None:
            existing_file(path)
    wanted = Wanted(**{each.name: getattr(given, each.name) for each in fields(Wanted)})
    look_at(wanted, lab_names)
    return wanted


def hand_back(results: Sequence[Result], out: Path, wanted: Wanted) -> int:
    """Writes the forms; returns the exit code that they come to: not 0 where one of them holds no grade at all."""
    from autograder.records.stored import rows_of
    from autograder.reports import handing_back

    told = handing_back.hand_back(results, out, wanted)
    for line in told.lines:
        print(line)
    for sentence in told.empty:
        print(f"autograder: {sentence}", file=sys.stderr)
    if not told.empty:
        return PASSED
    return FAULT if all(any(check.fault for check in result.checks) for result in rows_of(results)) else USAGE


def graded_class(
    given: argparse.Namespace, lab: Lab, submissions: Path, out: Path, **options: Any
) -> Sequence[Result]:
    from autograder.grading.class_grading import grade_class
    from autograder.records import json_form
    from autograder.records.stored import rows_of
    from autograder.reports import terminal

    progress = sys.stderr.isatty() or given.progress
    results = grade_class(lab, submissions, out, device=given.device, jobs=given.jobs, progress=progress, **options)
    print(terminal.render_class(rows_of(results)), end="")
    print(f"Written to {out}: gradebook.csv, misconceptions.csv, index.html, alike.html, reports/, results/")
    write_json_list(given, map(json_form.to_dict, results))
    return results


def exit_code(results: Sequence[Result]) -> int:
    """3 where a fault of ours kept a check from running, else 1 where a submission failed one, else 0.

    A fault comes first: while there is one, the points of a class are not what they should be.
    """
    from autograder.records.stored import rows_of

    results = rows_of(results)
    if any(check.fault for result in results for check in result.checks):
        return FAULT
    if any(result.outcome == "failed" for result in results):
        return FAILED
    return PASSED if all(result.outcome == "passed" for result in results) else FAULT


# ---- commands: profile, run ------------------------------------------------------------------------


def profile(given: argparse.Namespace) -> int:
    """Runs a script on the simulated GPU and prints the counted work of every launch of one kernel, by source line."""
    path, _, kernel = given.target.rpartition(":")
    if not path or not kernel.isidentifier():
        raise UsageError(
            "profile takes FILE.py:KERNEL.", remedy="For example: autograder profile matmul.py:matmul_kernel"
        )
    script = existing_file(Path(path))
    from autograder.simgpu.loading import for_good

    with for_good():
        from autograder.profiling import profile_script

    profiles = profile_script(script, kernel)
    print("\n\n".join(each.terminal_text() for each in profiles))
    write_json(given, [each.to_dict() for each in profiles])
    return PASSED


def run(given: argparse.Namespace) -> int:
    """Runs an unmodified script on the simulated GPU; with --strict it fails where its kernels have faults."""
    script = existing_file(given.script)
    from autograder.simgpu.loading import for_good

    with for_good():
        from autograder.simgpu.host import cuda_module  # noqa: F401  which `run_script` asks for
        from autograder.simgpu.host.dispatch import device
        from autograder.simgpu.host.findings import gathered, written_down
        from autograder.simgpu.host.script import run_script
        from autograder.simgpu.values.memory import SHADOW

    ended: BaseException | None = None
    with written_down() as folder, environment(SHADOW, "off" if given.no_shadow else None):
        try:
            run_script(script, given.arguments)
        except BaseException as problem:  # raised again below, once what was found is written
            ended = None if isinstance(problem, SystemExit) and not problem.code else problem
        found = gathered(folder)
    device.tell_counts()
    told = {
        "script": str(given.script),
        "arguments": given.arguments,
        "error": None if ended is None else str(ended) or type(ended).__name__,
        "hazards": [each.as_data() for each in found],
    }
    write_json(given, told)
    if ended is not None:
        raise ended
    errors = [each for each in found if each.hazard.severity == "error"]
    if given.strict and errors:
        launches = sum(each.launches for each in errors)
        print(f"autograder: --strict: faults: {len(errors)}, launches with one: {launches:,}.", file=sys.stderr)
        return FAILED
    return PASSED


@contextmanager
def environment(name: str, value: str | None) -> Iterator[None]:
    """Sets a variable of the environment, where there is a value, for the block and the processes that it starts."""
    before = os.environ.get(name)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        if value is not None:
            os.environ.pop(name)
            os.environ.update({} if before is None else {name: before})


COMMANDS = (
    upkeep.doctor, upkeep.course, upkeep.release, labs, check, grade, export, gradescope, archive, demo, profile, run,
    upkeep.lab, upkeep.starters, upkeep.calibrate, upkeep.new_lab, upkeep.fuzz, upkeep.bench,
)  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """All commands; each leaves its function in `command`."""
    return parser_of(COMMANDS)
