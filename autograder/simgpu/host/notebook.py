"""Runs an unmodified notebook on the simulated GPU, cell after cell, without a window and without writing it."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autograder import run_texts
from autograder.errors import KitError, Line, UsageError
from autograder.language.live import display_name
from autograder.simgpu.host.tracebacks import told_traceback


def run_notebook(path: Path, arguments: Sequence[str] = ()) -> None:
    """Runs the code cells of a notebook with IPython, `numba.cuda` simulated, up to the first that stops with an error.

    An error is a `UsageError` that names the cell, after its traceback on standard error; of ours it is raised as it is.
    """
    from autograder.simgpu.host import cuda_module

    cells = code_cells(path)
    shell = started_shell()
    cuda_module.install()
    before, path_before = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        for number, error in errors_of_cells(shell, cells):
            if isinstance(error, SystemExit) and not error.code:
                return
            if isinstance(error, KitError):
                raise in_cell(error, f"{path}, cell {number}")
            if not isinstance(error, Exception):
                raise error
            if isinstance(error, SyntaxError):
                place = f"{path}, cell {number}" + (f", line {error.lineno}" if error.lineno else "")
                raise UsageError(f"{place}: Python cannot read this ({error.msg}).")
            print(told_traceback(error, path), end="", file=sys.stderr)
            raise UsageError(f"{path}, cell {number}: it stopped with {type(error).__name__}: {error}")
    finally:
        sys.argv, sys.path[:] = before, path_before
        cuda_module.uninstall()


def in_cell(error: KitError, cell: str) -> KitError:
    """An error of ours that says in which cell of which notebook it arose."""
    if error.line is None:
        error.message = f"{cell}: {error.message}"
    elif error.line.file == display_name("<ipython-input-1-0>"):
        error.line = Line(cell, error.line.number)
    return error


def code_cells(path: Path) -> list[str]:
    """The sources of a notebook's code cells; raises `UsageError` where the file is no notebook."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        return [
            each["source"] if isinstance(each["source"], str) else "".join(each["source"])
            for each in data["cells"]
            if each["cell_type"] == "code"
        ]
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {error.lineno}: this is no notebook, its JSON is broken ({error.msg}).") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no notebook: it is not in UTF-8.") from None
    except (KeyError, TypeError):
        raise UsageError(f"{path} is no notebook of Jupyter's form 4: it has no list of cells.") from None


def errors_of_cells(shell: Any, cells: Sequence[str]) -> Iterator[tuple[int, BaseException]]:
    """Runs cells one after another; (the number of a cell from 1, its error) for each that stops with one."""
    for number, source in enumerate(cells, 1):
        run_texts.remember_cell(source)
        result = shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            yield number, error


def started_shell() -> Any:
    """IPython without a window, a history or tracebacks of its own: `%matplotlib inline` is taken, and shows nothing."""
    try:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config
    except ModuleNotFoundError:
        raise UsageError(
            "A notebook is run by IPython, which is not installed here.", remedy="pip install ipython"
        ) from None

    class Shell(InteractiveShell):
        """Nobody looks."""

        def enable_gui(self, gui: Any = None) -> None:
            """There is no window."""

        def showtraceback(self, *given: Any, **more: Any) -> None:
            """Whoever runs the cells tells of their errors."""

        def showsyntaxerror(self, *given: Any, **more: Any) -> None:
            """Likewise."""

    warnings.filterwarnings("ignore", message="To exit: use")
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    return Shell.instance(config=settings)
