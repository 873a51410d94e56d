"""What each command of the command line takes: data, and the parser made from it.

cli.py and upkeep.py hold what the commands do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import autograder

Argument = tuple[tuple[str, ...], dict[str, Any]]
DEVICES = ("auto", "gpu", "simulated")


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of 1 or more")
    return int(text)


def _file(name: str, words: str, metavar: str = "FILE", **more: Any) -> Argument:
    return (name,), {"type": Path, "metavar": metavar, "help": words, **more}


def _switch(name: str, words: str) -> Argument:
    return (name,), {"action": "store_true", "help": words}


def _value(name: str, metavar: str, words: str, **more: Any) -> Argument:
    return (name,), {"metavar": metavar, "help": words, **more}


LAB: Argument = (("lab",), {"help": "a lab's name, or the beginning of it: lab01"})
DEVICE: Argument = (
    ("--device",),
    {"choices": DEVICES, "default": "auto", "help": "default: the GPU where there is one"},
)
JOBS = _value("--jobs", "N", "workers; default: one a core, or three for a GPU", type=positive)
PROGRESS = _switch("--progress", "show the progress bar even where it is no terminal")
NO_CONFINEMENT = _switch("--no-confinement", "let workers open files and start processes")
SEED_FILE = _file("--seed-file", "a secret seed: other inputs than students have seen")
HIDDEN = _file("--hidden", "a second spec, whose checks students do not see", "SPEC.py")
FORMS = (
    _file("--overrides", "points, comments, dates by hand: a CSV with student, check (total, late, due), points, comment"),
    _value("--due", "DATE", "when work was due, with a time zone: '2026-10-01 23:59 Europe/Berlin'; none: no date any more"),
    _value("--late", "POLICY", "what lateness costs: '10%% a day, at most 50%%'; none: nothing any more"),
    _file("--canvas", "gradebook as exported from Canvas: a copy with the grades goes to OUT"),
    _value("--canvas-column", "TITLE", "its assignment, where the lab's title does not tell"),
    _file("--moodle", "grading worksheet from Moodle: a copy with the grades goes to OUT"),
    _value("--moodle-column", "TITLE", "its column of grades, where that is not called Grade"),
    (
        ("--above-maximum",),
        {
            "choices": ("cap", "keep", "refuse"),
            "default": "cap",
            "help": "a grade above Moodle's maximum, which Moodle passes over: write the maximum, the grade, or nothing",
        },
    ),
    _value("--moodle-comments", "TITLE", "its column of comments, where that is not called Feedback comments"),
    (
        ("--comments",),
        {
            "choices": ("fill", "replace", "leave"),
            "default": "fill",
            "help": "what to do next as Moodle's comments: into empty cells, into all, or into none",
        },
    ),
    _switch("--feedback", "all reports in a zip that Moodle or Canvas takes back, in OUT"),
    _switch("--gradescope", "results.json for each student, in OUT/gradescope"),
    _file("--junit", "write the checks as JUnit XML to FILE"),
)

NEW_FOLDER: Argument = (("folder",), {"type": Path, "help": "a new folder, or an empty one"})

ARGUMENTS: dict[str, tuple[Argument, ...]] = {
    "doctor": (),
    "labs": (),
    "check": (
        LAB,
        (("submission",), {"nargs": "?", "type": Path, "help": "notebook or .py; default: the lab's own lab.ipynb"}),
        DEVICE,
        NO_CONFINEMENT,
        _file("--html", "write the report as a page, too"),
    ),
    "grade": (
        LAB,
        (("submissions",), {"type": Path, "help": "folder of files or of one folder a student, or a platform's zip"}),
        (("--out",), {"type": Path, "required": True, "help": "folder for gradebook, reports and results"}),
        DEVICE,
        NO_CONFINEMENT,
        JOBS,
        PROGRESS,
        _switch("--regrade", "grade again what has been graded already"),
        _value("--only", "STUDENT", "a name, file or ID; repeatable", action="append", default=[]),
        SEED_FILE,
        HIDDEN,
        _value("--dask", "ADDRESS", "grade on a Dask cluster: tcp://HOST:8786", default=""),
        *FORMS,
    ),
    "export": ((("out",), {"type": Path, "help": "the folder that `grade` wrote with --out"}), *FORMS),
    "gradescope": (
        LAB,
        _file("--out", "the zip; default: LAB_gradescope.zip in this folder"),
        SEED_FILE,
        HIDDEN,
        _file("--wheels", "folder of wheels that go into the zip: setting it up then needs no network", "FOLDER"),
    ),
    "archive": (
        (("graded",), {"nargs": "+", "type": Path, "help": "the folders that `grade` wrote with --out"}),
        _file("--to", "the archive: TERM.tar.gz", required=True),
    ),
    "demo": (DEVICE, NO_CONFINEMENT, JOBS, PROGRESS),
    "profile": ((("target",), {"metavar": "FILE.py:KERNEL"}),),
    "run": (
        (("script",), {"type": Path}),
        (("arguments",), {"nargs": "*", "help": "the script's own arguments; after -- where they begin with a dash"}),
        _switch("--no-shadow", "look for no races and no reads of unwritten memory: less memory, more speed"),
        _switch("--strict", "exit with 1 where a kernel has a fault: a race, an index outside, ..."),
    ),
    "course": (NEW_FOLDER,),
    "release": (NEW_FOLDER, _file("--zip", "write the folder's files to FILE as well, to hand out")),
    "lab": ((("options",), {"nargs": "*", "help": "JupyterLab's own, after --: -- --no-browser --port 9000"}),),
    "starters": (_switch("--check", "change nothing; fail where a starter has drifted"),),
    "calibrate": (
        LAB,
        DEVICE,
        NO_CONFINEMENT,
        _value("--sessions", "N", "fresh processes an answer on a GPU; default: 3", type=positive),
        PROGRESS,
    ),
    "new-lab": ((("name",), {"help": "labNN_topic"}),),
    "fuzz": (
        LAB,
        _value("--mutants", "N", "how many; default: 300", type=positive, default=300),
        _value("--seed", "N", "which ones, and the judge's cases; default: 1", type=positive, default=1),
        _value("--jobs", "N", "processes; default: one a core", type=positive),
        _file("--out", "folder in which verdicts are kept: a run that was stopped goes on from there", "FOLDER"),
        _switch("--marks-only", "each up to the first check that it fails, without hints: for thousands of them"),
        PROGRESS,
    ),
    "bench": (
        (("names",), {"nargs": "*", "metavar": "NAME", "help": "which; default: all"}),
        _value("--lab", "LAB", "whose class and check; repeatable, `all`; default: lab01", action="append", default=[]),
    ),
}


def parser_of(functions: Iterable[Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """The parser of these commands; the function of the one that is chosen comes in `command`."""
    parser = argparse.ArgumentParser(
        prog="autograder",
        description="Runs and grades numba.cuda kernels, on a GPU or on a simulated one.",
        epilog="Exit codes: 0 done, all passed; 1 a submission failed a check; 2 bad usage or input; 3 our own fault.",
    )
    parser.add_argument("--version", action="version", version=f"autograder {autograder.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for function in functions:
        name = function.__name__.replace("_", "-")
        summary = (function.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        for names, options in ARGUMENTS[name]:
            command.add_argument(*names, **options)
        command.add_argument("--json", type=Path, metavar="FILE", help="write what was found to FILE as well")
        command.set_defaults(command=function)
    return parser
