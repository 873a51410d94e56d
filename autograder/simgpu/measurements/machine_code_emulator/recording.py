"""Launches of other people's programs and of labs' known answers, kept so that the emulator can carry them out again.

    python -m autograder.simgpu.measurements.machine_code_emulator.recording FOLDER --labs
    python -m autograder.simgpu.measurements.machine_code_emulator.recording FOLDER --mirrors MIRRORS   # public programs

FOLDER gets a file NAME.py for the first launch of each kernel with arguments of each kind: the kernel and what it calls, as
Python writes their syntax trees, and NAME.pickle with its grid, block, arguments and constants. `sampled.py` reads them.
Large launches are cut to `MOST_THREADS`: the kernel and its arguments stay as they are. None of this is anything of ours to
keep: FOLDER lies outside the repository.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import itertools
import pickle
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.language.program import Function, Reference, reachable
from autograder.public_programs import checkout, manifest, one_program, run_programs
from autograder.records.runs import Uninitialised
from autograder.simgpu.host.device import Session

MOST_BYTES = 48 * 1024**2  # of a launch's arrays
MOST_THREADS = 16384
CASES_OF_A_LAB = 2
HEAD = "import cmath, math, operator\nimport numba, numpy\nimport numba.cuda\nfrom numba import cuda\n\n"


class Unwritable(Exception):
    """A kernel that cannot be written as a file of its own, or arguments that cannot be kept."""


class Recorder:
    """Stands in for `Session.launch`, and keeps each new launch in a folder."""

    def __init__(self, folder: Path, origin: str) -> None:
        self.folder = folder
        self.origin = re.sub(r"\W+", "_", origin)
        self.launch = Session.launch
        self.seen = {path.stem.rpartition("_")[2] for path in folder.glob("*.py")}

    def install(self) -> None:
        recorder = self

        def launch(session: Session, kernel: Function, grid: Any, block: Any, arguments: Any, *others: Any) -> Any:
            if not any(others):
                recorder.note(kernel, grid, block, arguments)
            return recorder.launch(session, kernel, grid, block, arguments, *others)

        setattr(Session, "launch", launch)  # noqa: B010  (a method is not assigned to otherwise)

    def note(self, kernel: Function, grid: Any, block: Any, arguments: Any) -> None:
        try:
            text, constants = written(kernel)
            given = [kept(each) for each in arguments]
        except (Unwritable, KitError):
            return
        sizes = [each.nbytes for each in given if isinstance(each, np.ndarray)]
        kinds = [(each.dtype, each.ndim) if isinstance(each, np.ndarray) else type(each) for each in given]
        mark = hashlib.sha256(f"{text} {kinds}".encode()).hexdigest()[:10]
        if sum(sizes) > MOST_BYTES or mark in self.seen:
            return
        self.seen.add(mark)
        place = self.folder / f"{self.origin}_{kernel.name}_{mark}"
        launch = {"kernel": kernel.name, "grid": cut(grid, block), "block": block, "arguments": given}
        launch["constants"] = constants
        place.with_suffix(".pickle").write_bytes(pickle.dumps(launch))
        place.with_suffix(".py").write_text(text, encoding="utf-8")


def cut(grid: Any, block: Any) -> tuple[int, ...]:
    """A grid with no more than `MOST_THREADS`, as far as a block allows."""
    axes = [int(each) for each in (grid if isinstance(grid, (tuple, list)) else (grid,))]
    threads = int(np.prod(block))
    while threads * int(np.prod(axes)) > MOST_THREADS and max(axes) > 1:
        largest = axes.index(max(axes))
        axes[largest] = -(-axes[largest] // 2)
    return tuple(axes)


def kept(value: Any) -> Any:
    """An argument as NumPy has it."""
    if hasattr(value, "copy_to_host"):
        value = value.copy_to_host()
    if isinstance(value, np.ndarray) and value.ndim and value.flags.c_contiguous and not value.dtype.hasobject:
        return value.copy()
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(kept(each) for each in value)
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        return value
    raise Unwritable(f"an argument of {type(value).__name__}")


def written(kernel: Function) -> tuple[str, dict[str, Any]]:
    """A module with a kernel and all that it calls, and the constants that it needs beside that."""
    constants: dict[str, Any] = {}
    lines: dict[str, str] = {}
    definitions: list[str] = []
    functions = reachable(kernel)
    if len({each.name for each in functions}) < len(functions):
        raise Unwritable("two functions of one name")
    for function in reversed(functions):
        for name in function.free_names:
            value = function.names[name]
            if isinstance(value, Function):
                text = "" if value.name == name else f"{name} = {value.name}\n"
                if text:
                    raise Unwritable("a function by another name")
            elif isinstance(value, Reference):
                text = "" if value.path.startswith("builtins.") or value.path == name else f"{name} = {value.path}\n"
            elif isinstance(value, (bool, int, float, complex, tuple, np.ndarray, np.generic)):
                constants[name] = value
                text = f"{name} = CONSTANTS[{name!r}]\n"
            else:
                raise Unwritable(f"{name} is a {type(value).__name__}")
            if lines.setdefault(name, text) != text:
                raise Unwritable(f"{name} means two things")
        node = copy.deepcopy(function.node)
        node.decorator_list = []
        node.returns = None
        head = "@cuda.jit" if function is kernel else "@cuda.jit(device=True)"
        definitions.append(f"{head}\n{ast.unparse(node)}\n")
    return HEAD + "".join(lines.values()) + "\n" + "\n\n".join(definitions), constants


def of_labs(folder: Path) -> None:
    """The launches of all known answers, right and wrong, in the first cases of each lab's judge."""
    from autograder.language import parse_program
    from autograder.language.host import call
    from autograder.language.source import submission_from_cells

    for lab in sorted(Path("solutions").glob("lab*")):
        cases = runpy.run_path(str(lab / "judge.py"))["cases"]
        for path in sorted((*lab.glob("right/*.py"), *lab.glob("wrong/*.py"))):
            recorder = Recorder(folder, f"{lab.name[:5]}_{path.stem}")
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
        Recorder(Path(sys.argv[3]), f"{file.parents[0].name}_{file.stem}").install()
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
