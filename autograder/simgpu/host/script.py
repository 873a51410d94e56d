"""Runs an unmodified script on the simulated GPU, and profiles the launches of one of its kernels."""

from __future__ import annotations

import runpy
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.errors import KitError, UsageError
from autograder.language.program import Function
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.notebook import run_notebook
from autograder.simgpu.host.tracebacks import told_traceback


def run_script(path: Path, arguments: Sequence[str] = ()) -> None:
    """Runs a script as `python script.py` would, with `numba.cuda` simulated; a notebook cell by cell.

    An error in it is a `UsageError`; where it comes from further down than the script's own lines, its traceback goes to
    standard error first, without our frames.
    """
    from autograder.simgpu.host import cuda_module

    if Path(path).suffix == ".ipynb":
        run_notebook(path, arguments)
        return
    cuda_module.install()
    before, path_before = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except (KitError, SystemExit, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        place = f", line {error.lineno}" if error.lineno else ""
        raise UsageError(f"{path}{place}: Python cannot read this ({error.msg}).") from None
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            raise  # the script's output went to `| head`, which has enough
        print(told_traceback(error, path), end="", file=sys.stderr)
        raise UsageError(f"{_where(error, path)}: the script stopped with {type(error).__name__}: {error}") from None
    finally:
        sys.argv, sys.path[:] = before, path_before
        cuda_module.uninstall()


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose other end is closed."""
    try:
        polled = select.poll()
        polled.register(sys.stdout.fileno(), 0)
        return bool(polled.poll(0))  # with no event asked for, only an error is told
    except (AttributeError, OSError, ValueError):  # Windows has no poll; standard output may be no file
        return False


def launches_in_script(path: Path, kernel: str) -> list[tuple[LaunchRecord, Function]]:
    """Every launch of the kernel called `kernel` while the script runs, with the function that was launched."""
    from autograder.simgpu.host import cuda_module

    found: list[tuple[LaunchRecord, Function]] = []
    launched: set[str] = set()

    def listen(record: LaunchRecord, function: Function, arguments: tuple[Any, ...]) -> None:
        launched.add(record.kernel)
        if record.kernel == kernel:
            found.append((record, function))

    cuda_module.device.listeners.append(listen)
    try:
        run_script(path)
    finally:
        cuda_module.device.listeners.remove(listen)
    if not found:
        names = ", ".join(sorted(launched)) or "none"
        raise UsageError(f"{path} never launches a kernel called `{kernel}` (launched: {names}).")
    return found


def _where(error: BaseException, path: Path) -> str:
    """The last line of the script itself in an error's traceback."""
    line, step = 0, error.__traceback__
    while step is not None:
        if Path(step.tb_frame.f_code.co_filename).name == Path(path).name:
            line = step.tb_lineno
        step = step.tb_next
    return f"{path}, line {line}" if line else str(path)
