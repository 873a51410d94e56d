"""Runs the manifest's programs on the simulated GPU, and writes what became of each.

    python -m autograder.public_programs.run_programs                       # all of them, from GitHub
    python -m autograder.public_programs.run_programs --mirrors FOLDER      # from clones in a folder: FOLDER/owner/name
    python -m autograder.public_programs.run_programs --only numba-examples # a few of them; other results stay
    python -m autograder.public_programs.run_programs --missing             # what a run that was stopped has left
    python -m autograder.public_programs.run_programs --table               # only write results.md again

Each program runs in a process of its own, in its repository as it was published (in build/public_programs), on Linux without
a network and with no files but those and Python's. Run it before a release, on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import psutil

from autograder.errors import KitError, UsageError
from autograder.public_programs import checkout, manifest, one_program, table
from autograder.public_programs.manifest import PublicProgram
from autograder.public_programs.one_program import MEMORY_BYTES
from autograder.public_programs.table import ProgramResult

RESULTS = manifest.HERE / "results.json"
BUILD = manifest.HERE.parents[1] / "build" / "public_programs"
SCRIPT_SECONDS, NOTEBOOK_SECONDS = 60, 180
SECONDS_TO_END = 20  # for a program that was interrupted


def run_one(
    program: PublicProgram, folder: Path, seconds: float | None = None, module: str = one_program.__name__,
    kept: Path | None = None,
) -> ProgramResult:  # fmt: skip
    """Runs one program in a checkout of its repository; `module` runs it, and may write beneath `kept`.

    It is stopped, with all that it started, once it has used so many seconds of a processor, or ten times as many have
    passed, or it takes more memory than `MEMORY_BYTES`.
    """
    if not (folder / program.file).is_file():
        return ProgramResult.of(program, {"missing": True}, 0.0, "")
    limit = seconds or (NOTEBOOK_SECONDS if program.is_notebook else SCRIPT_SECONDS)
    with tempfile.TemporaryDirectory(prefix="public_program_") as own:
        report, output = Path(own) / "report.json", Path(own) / "output.txt"
        command = [sys.executable, "-m", module, str(folder / program.file)]
        command += [str(report), str(kept or own), "--", *program.arguments.split()]
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=own, env=_environment(own),
                start_new_session=True,
            )  # fmt: skip
            used, stopped_by = _wait(process, report, limit)
        facts = _read(report)
        took = facts.get("used", used)
        last = output.read_bytes()[-4000:].decode(errors="replace")
    if stopped_by:
        facts["stopped_by"] = stopped_by
    return ProgramResult.of(program, facts, min(took, limit), last)


def _wait(process: subprocess.Popen[bytes], report: Path, limit: float) -> tuple[float, str]:
    """(seconds of a processor that the program used once it was up, what it was stopped by); ends all its processes."""
    begun = time.monotonic()
    before = used = 0.0
    is_up = False
    try:
        while process.poll() is None:
            if not is_up and report.is_file():
                is_up, begun, before = True, time.monotonic(), _used(process.pid)[0]
            so_far, memory_bytes = _used(process.pid)
            used = max(used, so_far - before) if is_up else 0.0
            if memory_bytes > MEMORY_BYTES:
                return _interrupted(process, used, f"not at its end with {MEMORY_BYTES / 1024**3:g} GiB of memory")
            if used > limit or time.monotonic() - begun > 10 * (limit if is_up else SCRIPT_SECONDS):
                return _interrupted(process, used, f"not at its end after {limit:g} s")
            time.sleep(0.1)
        return used, ""
    finally:
        if os.name == "posix":
            try:
                os.killpg(process.pid, signal.SIGKILL)  # the session that it began, whose number is its own
            except ProcessLookupError:
                pass
        else:
            process.kill()
        process.wait()


def _interrupted(process: subprocess.Popen[bytes], used: float, why: str) -> tuple[float, str]:
    """Lets a program that took too much write down what it has found; who does not end then is ended."""
    if os.name == "posix":
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    return used, why


def _used(number: int) -> tuple[float, int]:
    """What a process and those that it started have used of a processor, in seconds, and use of memory, in bytes."""
    try:
        first = psutil.Process(number)
        processes = [first, *first.children(recursive=True)]
        times = [each.cpu_times() for each in processes]
        memory_bytes = sum(each.memory_info().rss for each in processes)
    except psutil.Error:
        return 0.0, 0
    ended = sum(getattr(times[0], name, 0.0) for name in ("children_user", "children_system"))
    return float(sum(each.user + each.system for each in times) + ended), memory_bytes


def _environment(own: str) -> dict[str, str]:
    """What a program sees of ours: no display, no threads beside its own, its own folder for all that libraries write."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    ours = os.pathsep.join(filter(None, [str(manifest.HERE.parents[1]), os.environ.get("PYTHONPATH", "")]))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return kept | threads | {
        "PYTHONPATH": ours, "HOME": own, "TMPDIR": own, "IPYTHONDIR": own, "MPLCONFIGDIR": own, "MPLBACKEND": "Agg",
        "AUTOGRADER_DEVICE": "simulated", "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8",
    }  # fmt: skip


def _read(report: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def run_all(
    programs: Sequence[PublicProgram], mirrors: Path | None, jobs: int, build: Path | None = None,
    seconds: float | None = None,
) -> Iterable[ProgramResult]:  # fmt: skip
    """Runs programs, those of one repository after another; each result as it is there."""
    ordered = sorted(programs, key=lambda each: (each.repository, each.commit))
    groups = [list(group) for _, group in itertools.groupby(ordered, key=lambda each: (each.repository, each.commit))]
    with ThreadPoolExecutor(jobs) as workers:
        waiting = [workers.submit(_run_group, group, mirrors, build or BUILD, seconds) for group in groups]
        for future in as_completed(waiting):
            yield from future.result()


def _run_group(
    group: Sequence[PublicProgram], mirrors: Path | None, build: Path, seconds: float | None
) -> list[ProgramResult]:
    results = []
    for program in group:
        try:
            folder = checkout.bring(program.repository, program.commit, build, mirrors)
            result = run_one(program, folder, seconds)
        except UsageError as error:
            result = ProgramResult.of(program, {"not_brought": str(error)}, 0.0, "")
        print(f"{result.outcome:10} {result.seconds:6.1f} s  {program.key}  {result.told[:100]}", flush=True)
        results.append(result)
    return results


def _save(programs: Sequence[PublicProgram], known: Mapping[str, ProgramResult]) -> None:
    """Writes what is known of the manifest's programs, and the table of it."""
    results = [known[each.key] for each in programs if each.key in known]
    table.save(RESULTS, results)
    RESULTS.with_suffix(".md").write_text(table.markdown(results, len(programs)), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, default=manifest.MANIFEST)
    parser.add_argument("--mirrors", type=Path, help="a folder of clones, in place of GitHub")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="programs whose name holds this")
    parser.add_argument("--missing", action="store_true", help="only programs without a result: goes on after a stop")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of a processor, in place of 60 for a script and 180 for a notebook")
    parser.add_argument("--table", action="store_true", help="only write results.md again")
    given = parser.parse_args()
    try:
        programs = manifest.read(given.manifest)
        known = {each.key: each for each in table.read(RESULTS)} if RESULTS.is_file() else {}
        if not given.table:
            wanted = manifest.selected(programs, given.only)
            if given.missing:
                wanted = [each for each in wanted if each.key not in known or known[each.key].commit != each.commit]
            for result in run_all(wanted, given.mirrors, max(1, given.jobs), seconds=given.seconds):
                known[result.key] = result
                _save(programs, known)  # what is stopped has its results so far
        _save(programs, known)
    except KitError as error:
        print(f"public programs: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
