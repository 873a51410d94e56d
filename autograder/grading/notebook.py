"""`check` inside a notebook. It grades what the student has run so far, or the notebook as saved, and executes neither.

Cells are taken as text from the session's history, so that a notebook that is not saved yet is checked as well.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import UsageError
from autograder.grading.ahead import Ahead
from autograder.grading.grade import check_submission
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.live import run_cells
from autograder.records.results import Result

_workers: dict[str, Worker] = {}
_ahead: dict[str, Ahead] = {}


@dataclass(frozen=True)
class Report:
    """A result that shows itself: rich in JupyterLab, as text elsewhere."""

    result: Result

    def __repr__(self) -> str:
        from autograder.reports import terminal

        return terminal.render(self.result).rstrip("\n")

    def _repr_html_(self) -> str:
        from autograder.reports import html

        return html.fragment(self.result)


@dataclass(frozen=True)
class RunCell:
    """One run cell: `label` as shown to its author ("lab.ipynb, code cell 3" or "In [7]")."""

    label: str
    text: str


def check(lab: str | None = None, submission: str | os.PathLike[str] | None = None, *, device: str = "auto") -> Report:
    """Grades `submission` (a notebook or .py file), or what has been run in this notebook so far.

    `lab`: its name or the beginning of it; default: the lab whose folder the notebook is in. Raises `UsageError` where
    there is no such lab or file, and `GraderFault` where the grader cannot work.
    """
    worker = warm_worker(device)
    notebook = open_notebook()
    loaded = load_lab(lab or _lab_of(notebook))
    given = Path(submission) if submission is not None else _live_submission(loaded, notebook)
    ahead = _ahead.get(device)  # from the second check on: the first one has enough to start
    report = Report(check_submission(loaded, given or notebook or loaded.notebook, worker=worker, ahead=ahead))
    if worker.source == "simulated" and (os.cpu_count() or 1) > 1:
        _second_worker(device)
    return report


def warm_worker(device: str = "auto") -> Worker:
    """The worker that this session keeps from one check to the next; started if it is not up yet."""
    if device not in _workers:
        worker = _workers[device] = Worker(device)
        atexit.register(worker.close)
    _workers[device].start()
    return _workers[device]


def _second_worker(device: str) -> None:
    """Starts a second worker ahead of time, because somebody will wait for the next check."""
    if device not in _ahead:
        _ahead[device] = Ahead(Worker(device))
        atexit.register(_ahead[device].worker.close)
    if _ahead[device].is_idle:
        _ahead[device].worker.start()


def _lab_of(notebook: Path | None) -> str:
    names = lab_names()
    for part in reversed((notebook or Path.cwd() / "x").parent.parts):
        if part in names:
            return part
    raise UsageError("Which lab?", remedy=f'Name it: check("{names[0][:5]}"). Labs: {", ".join(names)}.')


def open_notebook() -> Path | None:
    """The notebook that this session belongs to, where its server says so (JupyterLab, VS Code) and it is on disk."""
    names = [os.environ.get("JPY_SESSION_NAME"), getattr(sys.modules.get("__main__"), "__vsc_ipynb_file__", None)]
    for name in names:
        if name and name.endswith(".ipynb"):
            for path in (Path(name), Path.cwd() / Path(name).name):  # the server's root may be another folder
                if path.is_file():
                    return path.resolve()
    return None


# ---- live cells ------------------------------------------------------------------------------------


def _live_submission(lab: Lab, notebook: Path | None) -> Any:
    """What was run in this session as a `Submission`; None outside IPython, or where the saved notebook tells more."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return None
    texts = shell.history_manager.input_hist_raw[1:] or run_cells
    history = [(f"In [{number}]", text) for number, text in enumerate(texts, start=1)]
    transform = shell.input_transformer_manager.transform_cell
    cells, defined = defining_cells(history, transform)
    required = {each.name for each in lab.required}
    cells = as_saved(cells, history, required, _saved_cells(notebook) if notebook else (), transform)
    if missing := required - defined:
        unread, tried = begun(history, missing)
        if not tried and missing == required or notebook and tried < missing:
            return None  # this session is not about the lab, or the notebook as saved says more
        cells += unread
    from autograder.language import submission_from_cells

    name = notebook.name if notebook else "notebook"
    return submission_from_cells(name, [(cell.label, cell.text) for cell in _with_saved_numbers(cells, notebook)])


def defining_cells(history: Sequence[tuple[str, str]], transform: Any) -> tuple[list[RunCell], set[str]]:
    """The run cells that still matter, in the notebook's likely order, and the names that they define.

    A cell matters where no later one defines all its names again. A cell run again keeps the place where its names
    first appeared, as it keeps its place in the notebook.
    """
    last: dict[str, int] = {}
    first: dict[str, int] = {}
    for number, (_, text) in enumerate(history):
        for name in _bound_names(text, transform):
            last[name] = number
            first.setdefault(name, number)
    place = {number: min(first[name] for name in last if last[name] == number) for number in set(last.values())}
    kept = sorted(place, key=lambda number: (place[number], number))
    return [RunCell(*history[number]) for number in kept], set(last)


def as_saved(
    cells: Sequence[RunCell],
    history: Sequence[tuple[str, str]],
    required: Collection[str],
    saved: Collection[str],
    transform: Any,
) -> list[RunCell]:
    """The cells, with those of the saved notebook in place of cells that were edited into what Python cannot read.

    The session still has the old function, but the file that will be handed in does not. `saved`: the notebook's cells.
    """
    kept = list(cells)
    for label, text in history:
        names = [name for name in required if f"def {name}(" in text]
        if not names or text not in saved or _tree(text, transform) is not None:
            continue
        old = [each for each in kept if each.text not in saved and any(f"def {name}(" in each.text for name in names)]
        if old:
            kept = [*(each for each in kept if each not in old), RunCell(label, text)]
    return kept


def begun(history: Sequence[tuple[str, str]], missing: set[str]) -> tuple[list[RunCell], set[str]]:
    """The latest run cells that set out to define missing functions and that Python could not read; and these functions."""
    latest = {name: RunCell(*each) for each in history for name in missing if f"def {name}(" in each[1]}
    return list(dict.fromkeys(latest.values())), set(latest)


def _bound_names(text: str, transform: Any) -> set[str]:
    """Names that a cell binds at its top level; none where it is not Python (it failed, or is another language)."""
    if text.lstrip().startswith("%%"):
        return set()
    tree = _tree(text, transform)
    return set() if tree is None else set(_bindings(tree))


def _tree(text: str, transform: Any) -> ast.Module | None:
    """The cell as Python reads it; None where it cannot."""
    try:
        plain: str = transform(text)
        return ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _bindings(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in child.names)
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif not isinstance(child, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from _bindings(child)


def _with_saved_numbers(cells: Sequence[RunCell], notebook: Path | None) -> list[RunCell]:
    """The same cells. Those that stand unchanged in the saved notebook are labelled with their number there."""
    numbers = _saved_cells(notebook) if notebook else {}
    return [
        RunCell(f"{notebook.name}, code cell {numbers[cell.text]}", cell.text)
        if notebook and cell.text in numbers
        else cell
        for cell in cells
    ]


def _saved_cells(notebook: Path) -> dict[str, int]:
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    texts = (source if isinstance(source, str) else "".join(source) for source in code)
    return {text: number for number, text in enumerate(texts, start=1)}
