"""One public program in a process of its own: confined, on the simulated GPU, with a report of how it went.

    python -m autograder.public_programs.one_program FILE REPORT.json OWN_FOLDER [ARGUMENTS ...]

FILE runs in its folder, a notebook cell by cell. It may write beneath that folder and OWN_FOLDER, and reaches no network.
The report is written while it runs, so that a program that is stopped has one too.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from autograder.grading.confinement import landlock, reach
from autograder.simgpu.host.notebook import code_cells, errors_of_cells, started_shell

MEMORY_BYTES = 12 * 1024**3  # that a program may use: what a laptop with 16 GiB has to spare
RESERVED_BYTES = 4 * MEMORY_BYTES  # that it may ask for: shadows lie in memory of which little is ever used
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
RUN = landlock.READ | landlock.EXECUTE
PROGRAMS = ("/bin", "/usr/bin", "/usr/local/bin", "/etc")  # what a program may start or look up
TERMINALS = ("/dev/ptmx", "/dev/pts", "/dev/tty")  # with which IPython starts `!command`
PACKAGE = Path(__file__).resolve().parents[1]


class ProgramReport:
    """What is known of the program so far, on disk at most every half second and at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._saved = 0.0
        self._hazards: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._counted: set[tuple[Any, ...]] = set()
        self.cell: int | None = None  # that runs now
        self.is_stopped = False  # by who watches it: what is told from then on is no doing of the program's
        self.facts: dict[str, Any] = {"ended": False, "launches": 0, "walls": [], "errors": [], "cells": 0, "hazards": []}

    def launched(self, record: Any, function: Any, arguments: Any) -> None:
        """One launch has ended (a listener of the live device)."""
        self.facts["launches"] += 1
        for hazard in record.hazards:
            self._note(hazard)
            self._counted.add(_key(hazard))
        self.save(now=False)

    def note_told(self, hazards: Any) -> None:
        """What was told, also of a launch that did not end."""
        for hazard in hazards:
            if _key(hazard) not in self._counted:
                self._note(hazard)
        self.save(now=False)

    def _note(self, hazard: Any) -> None:
        known = self._hazards.setdefault(_key(hazard), {
            "kind": hazard.kind, "severity": hazard.severity, "line": str(hazard.line or ""), "array": hazard.array,
            "kernel": hazard.kernel, "message": hazard.message, "occurrences": 0, "cell": self.cell,
        })  # fmt: skip
        known["occurrences"] += hazard.occurrences

    def stop(self, *_: object) -> None:
        """Ends the program as Ctrl-C does, so that a launch that is under way tells what it has found."""
        self.is_stopped = True
        raise KeyboardInterrupt

    def failed(self, error: BaseException) -> None:
        """The program, or the cell that runs now, has stopped with this error."""
        if self.is_stopped:
            return
        self.facts["errors"].append(described(error, self.cell))
        self.save()

    def save(self, now: bool = True) -> None:
        if not now and time.monotonic() - self._saved < 0.5:
            return
        self._saved = time.monotonic()
        self.facts["hazards"] = list(self._hazards.values())
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(self.facts), encoding="utf-8")
        beside.replace(self._path)


def _key(hazard: Any) -> tuple[Any, ...]:
    return hazard.kind, str(hazard.line), hazard.array, hazard.severity


def described(error: BaseException, cell: int | None) -> dict[str, Any]:
    """An error for the report: its class and message, whether it is one of ours for people, and where it arose."""
    from autograder.errors import KitError, WorkLimit, one_line

    steps = traceback.extract_tb(error.__traceback__)
    last = Path(steps[-1].filename).resolve() if steps else Path()
    return {
        "cell": cell, "kind": type(error).__name__, "message": one_line(str(error)),
        "is_refusal": isinstance(error, KitError),
        "is_size": isinstance(error, (WorkLimit, MemoryError)) or "the simulated GPU allows" in str(error),
        "is_ours": PACKAGE in last.parents and not isinstance(error, KitError) and "cupy_stand_in" not in last.parts,
        "is_of_cupy": any(each.__module__ == "autograder.cupy_stand_in.memory" for each in type(error).__mro__),
        "where": _own_line(error.__traceback__),
    }  # fmt: skip


def _own_line(step: TracebackType | None) -> str:
    """The last line of an error's traceback that is neither ours nor of a library."""
    found = ""
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if PACKAGE not in Path(name).resolve().parents and "site-packages" not in name and "<frozen" not in name \
                and not name.startswith(sys.base_prefix):  # fmt: skip
            found = f"{Path(name).name}, line {step.tb_lineno}"
        step = step.tb_next
    return found


def confine(kept: list[Path]) -> list[str]:
    """From here on no network, and files only beneath `kept`, but for what Python reads. Returns what is in force."""
    walls = []
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
            walls.append("no network")
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (RESERVED_BYTES, RESERVED_BYTES))
        walls.append("memory")
    rules = [(path, rights | (RUN if rights == landlock.READ else 0)) for path, rights in reach.reach(kept[0], False)]
    rules += [(Path(each), RUN) for each in PROGRAMS]
    rules += [(Path(each), landlock.USE) for each in TERMINALS]
    rules += [(each, landlock.KEEP) for each in [*kept, Path("/dev/shm")]]
    if landlock.restrict(rules):
        walls.append("files")
    return walls


def run_script(path: Path, arguments: list[str], report: ProgramReport) -> None:
    """As `python script.py arguments` would."""
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            report.failed(ended)
    except BaseException as error:
        report.failed(error)


def run_notebook(path: Path, shell: Any, report: ProgramReport) -> None:
    """Cell after cell, also after one that stops with an error, as a person would go on."""
    cells = code_cells(path)
    sys.argv = ["ipython"]
    sys.path.insert(0, str(path.parent))
    report.facts["cells"] = len(cells)
    for number, source in enumerate(cells, 1):
        if report.is_stopped:
            return
        report.cell = number
        for _, error in errors_of_cells(shell, [source]):
            if not (isinstance(error, SystemExit) and error.code in (None, 0)):
                report.failed(error)


def end_with_parent() -> None:
    """Linux ends this process when the one that watches it ends, however that comes about."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def used_seconds() -> float:
    """The seconds of a processor that this process and those that it started have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def shell_with_simulated_gpu() -> Any:
    """IPython, with the simulated GPU as a notebook gets it."""
    shell = started_shell()
    shell.run_line_magic("load_ext", "autograder")
    return shell


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("own", type=Path)
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    end_with_parent()
    path = given.file.resolve()
    report = ProgramReport(given.report.resolve())
    shell = shell_with_simulated_gpu() if path.suffix == ".ipynb" else None
    from autograder import simulate
    from autograder.simgpu.host.dispatch import device
    from autograder.simgpu.primitives import compile_all

    simulate()
    compile_all()
    device.listeners.append(report.launched)
    device.tell = report.note_told
    os.chdir(path.parent)
    report.facts["walls"] = confine([path.parent, given.own.resolve(), report._path.parent])
    report.save()
    signal.signal(signal.SIGINT, report.stop)
    before = used_seconds()
    if shell is None:
        run_script(path, given.arguments, report)
    else:
        run_notebook(path, shell, report)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    report.facts["ended"] = not report.is_stopped
    report.facts["used"] = used_seconds() - before
    report.save()
    sys.stdout.flush()
    os._exit(0)  # threads and windows that the program left behind do not hold it up


if __name__ == "__main__":
    main()
