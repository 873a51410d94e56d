"""Launches of other people's programs and of labs' known answers, kept so that the emulator can carry them out again.

public_programs/recording.py runs them. Its folder gets a file NAME.py for the first launch of each kernel with arguments of
each kind: the kernel and what it calls, as Python writes their syntax trees, and NAME.pickle with its grid, block,
arguments and constants. `sampled.py` reads them. Large launches are cut to `MOST_THREADS`: the kernel and its arguments stay
as they are. None of this is anything of ours to keep: the folder lies outside the repository.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.language.program import Function, Reference, reachable
from autograder.simgpu.host.device import Session

MOST_BYTES = 48 * 1024**2  # of a launch's arrays
MOST_THREADS = 16384
HEAD = "import cmath, math, operator\nimport numba, numpy\nimport numba.cuda\nfrom numba import cuda\n\n"


class Unwritable(Exception):
    """A kernel that cannot be written as a file of its own, or arguments that cannot be kept."""


class LaunchRecorder:
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
