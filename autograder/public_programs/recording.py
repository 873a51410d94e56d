"""Keeps the launches of public programs, or of the labs' known answers, for the emulator of machine code.

    python -m autograder.public_programs.recording FOLDER --labs
    python -m autograder.public_programs.recording FOLDER --mirrors MIRRORS   # the programs of the manifest

simgpu/measurements/machine_code_emulator/recording.py says what FOLDER gets, and sampled.py beside it reads that.
"""

from __future__ import annotations

import argparse
import itertools
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.public_programs import checkout, manifest, one_program, run_programs
from autograder.records.runs import Uninitialised
from autograder.simgpu.host.device import Session
from autograder.simgpu.measurements.machine_code_emulator.recording import LaunchRecorder

CASES_OF_A_LAB = 2


def of_labs(folder: Path) -> None:
    """The launches of all known answers, right and wrong, in the first cases of each lab's judge."""
    from autograder.language import parse_program
    from autograder.language.host import call
    from autograder.language.source import submission_from_cells

    for lab in sorted(Path("solutions").glob("lab*")):
        cases = runpy.run_path(str(lab / "judge.py"))["cases"]
        for path in sorted((*lab.glob("right/*.py"), *lab.glob("wrong/*.py"))):
            recorder = LaunchRecorder(folder, f"{lab.name[:5]}_{path.stem}")
            recorder.install()
            try:
                text = path.read_text(encoding="utf-8")
                program = parse_program(submission_from_cells("answer.py", [("answer.py", text)], False))
                for case in itertools.islice(cases(np.random.default_rng(1)), CASES_OF_A_LAB):
                    session = Session(output=lambda line: None, work_limit=2_000_000)
                    handles = [_handle(session, value) for value in case.request.arguments.values()]
                    function = program.function(case.request.function)
                    if function.kind == "kernel":
                        session.launch(function, case.request.grid, case.request.block, tuple(handles))
                    else:
                        call(program, function, tuple(handles), session)
            except KitError as error:
                print(path, str(error)[:100], file=sys.stderr)
            finally:
                setattr(Session, "launch", recorder.launch)  # noqa: B010
            print(path, flush=True)


def _handle(session: Session, value: Any) -> Any:
    if isinstance(value, Uninitialised):
        return session.device_array(value.shape, value.dtype)
    return session.to_device(value) if isinstance(value, np.ndarray) and value.ndim else value


def of_public_programs(folder: Path, mirrors: Path | None, only: list[str]) -> None:
    """The launches of the manifest's programs, each in a process of its own, confined as run_programs.py has it."""
    programs = manifest.selected(manifest.read(manifest.MANIFEST), only)
    for program in programs:
        try:
            files = checkout.bring(program.repository, program.commit, run_programs.BUILD, mirrors)
        except KitError as error:
            print(program.key, error)
            continue
        found = run_programs.run_one(program, files, module=__spec__.name, kept=folder)
        print(program.key, found.outcome, found.seconds, len(list(folder.glob("*.py"))), flush=True)


def main() -> None:
    if Path(sys.argv[1]).is_file():  # one program, in the process that run_one began
        file = Path(sys.argv[1]).resolve()
        LaunchRecorder(Path(sys.argv[3]), f"{file.parents[0].name}_{file.stem}").install()
        one_program.main()
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labs", action="store_true")
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--only", action="append", default=[])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.labs:
        of_labs(given.folder.resolve())
    else:
        of_public_programs(given.folder.resolve(), given.mirrors, given.only)


if __name__ == "__main__":
    main()
