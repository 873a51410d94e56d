"""Commands that lay a course down and keep it up; the others, and what leads to all of them, are in cli.py."""

from __future__ import annotations

import argparse
import os
import sys

from autograder.command_output import FAILED, FAULT, PASSED, USAGE, write_json


def course(given: argparse.Namespace) -> int:
    """Lays down a folder for students: lessons and labs, without solutions."""
    from autograder.course_folder import lay_course

    written = lay_course(given.folder)
    print(f"{len(written)} files in {given.folder}; README.md there says how to begin.")
    write_json(given, {"written": [path.as_posix() for path in written]})
    return PASSED


def release(given: argparse.Namespace) -> int:
    """Lays down a folder to hand out: lessons, labs and the grader, without solutions, each lab tried in it."""
    from autograder.release import release as make_release

    written = make_release(given.folder, given.zip, tell=lambda line: print(line, flush=True))
    zipped = f", and in {given.zip}" if given.zip else ""
    print(f"{len(written)} files in {given.folder}{zipped}; README.md there says how to begin.")
    write_json(given, {"written": [path.as_posix() for path in written]})
    return PASSED


def lab(given: argparse.Namespace) -> int:
    """Opens JupyterLab at the course's root with the first lesson: what `make lab` does."""
    from autograder.course_folder import course_root
    from autograder.jupyter import open_course

    write_json(given, {"root": str(course_root())})
    return USAGE if open_course(given.options) else PASSED


def doctor(given: argparse.Namespace) -> int:
    """Says what this machine has, what works, and what to do about the rest."""
    from autograder.doctor import examine

    findings = examine()
    width = max(len(each.what) for each in findings)
    for each in findings:
        print(f"{'ok ' if each.works else ('-- ' if each.optional else 'NO ')} {each.what:{width}}  {each.found}")
        if each.remedy:
            print(f"    {'':{width}}  {each.remedy}")
    write_json(given, [vars(each) for each in findings])
    return PASSED if all(each.works or each.optional for each in findings) else FAULT


def starters(given: argparse.Namespace) -> int:
    """Derives labs/ from solutions/, or with --check says where they have drifted apart."""
    from autograder.grading.labs import labs_root
    from autograder.grading.starters import drifted_starters, solutions_of, write_starters

    root = labs_root()
    total = len(list(solutions_of(root)))
    if given.check:
        drifted = drifted_starters(root)
        print("\n".join(drifted) if drifted else f"All {total} starters are what their solutions give.")
        write_json(given, {"starters": total, "drifted": drifted})
        return FAILED if drifted else PASSED
    changed = [path.relative_to(root.parent).as_posix() for path in write_starters(root)]
    print("\n".join(f"Written: {each}" for each in changed) or f"All {total} starters were up to date.")
    write_json(given, {"starters": total, "written": changed})
    return PASSED


def calibrate(given: argparse.Namespace) -> int:
    """Times a lab's known answers here and recommends thresholds, with how often they would be wrong."""
    from autograder.grading.known_answers import thresholds
    from autograder.grading.labs import load_lab

    shown = given.progress or sys.stderr.isatty()
    tell = (lambda line: print(f"  {line}", file=sys.stderr)) if shown else (lambda line: None)
    found = thresholds.calibrate(load_lab(given.lab), device=given.device, sessions=given.sessions, tell=tell)
    print("\n\n".join(thresholds.calibration_text(each) for each in found))
    write_json(given, [thresholds.to_dict(each) for each in found])
    return PASSED


def new_lab(given: argparse.Namespace) -> int:
    """Makes a lab that grades at once, to be rewritten: spec, baseline, solution, starter and wrong answers."""
    from autograder.grading.new_lab import write_new_lab

    written = write_new_lab(given.name)
    print("\n".join(f"Written: {path}" for path in written))
    print(f"Try it: autograder check {given.name[:5]}")
    write_json(given, {"written": [str(path) for path in written]})
    return PASSED


def fuzz(given: argparse.Namespace) -> int:
    """Grades mutants of a lab's right answers, and holds those with full marks against a judge of its own."""
    from autograder.grading.fuzzing.campaign import campaign
    from autograder.grading.fuzzing.report import as_data, as_text
    from autograder.grading.labs import load_lab

    lab = load_lab(given.lab)
    shown = given.progress or sys.stderr.isatty()
    done = 0

    def tell(verdict: object) -> None:
        nonlocal done
        done += 1
        if shown:
            print(f"\r{done} graded", end="", file=sys.stderr, flush=True)

    jobs = given.jobs or os.cpu_count() or 1
    verdicts = campaign(lab, given.mutants, given.seed, jobs, given.out, tell, marks_only=given.marks_only)
    if shown:
        print(file=sys.stderr)
    print(as_text(lab.name, given.seed, verdicts))
    write_json(given, as_data(lab.name, given.seed, verdicts))
    if any(each.outcome == "a fault of ours" for each in verdicts):
        return FAULT
    return FAILED if any(each.survived for each in verdicts) else PASSED


def bench(given: argparse.Namespace) -> int:
    """Runs the kit's own benchmarks."""
    from autograder.grading.bench import benchmarks

    figures = {}
    for name, found in benchmarks(given.names, given.lab, {"gpu": bench_gpu}):
        figures[name] = found
        for line, value in found.items():
            print(f"{name}: {line}: {value}", flush=True)
    write_json(given, figures)
    return PASSED


def bench_gpu() -> dict[str, str]:
    """Kernels of numba.cuda beside the libraries: ratios of one run on the GPU of this machine, a minute in all."""
    from autograder.cudagpu import find_gpu

    found = find_gpu()
    if not found.usable:
        return {"skipped": f"no GPU can be used here: {found.reason}"}
    from autograder.course.lesson08.measurements import ratios

    return {"GPU": found.name, **ratios()}
