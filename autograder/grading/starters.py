"""Derives what students get from what maintainers write: solutions/LAB/lab.ipynb -> labs/LAB/lab.ipynb.

In code cells the text between `### BEGIN SOLUTION` and `### END SOLUTION` gives way to the starter's: the lines inside
that begin with `### STARTER:`, without that mark, or `pass  # your code here` where there are none. Outputs are
cleared; cell ids stay; the same source always gives the same bytes.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import Line, UsageError

BEGIN, END, STARTER = "### BEGIN SOLUTION", "### END SOLUTION", "### STARTER:"
DEFAULT = "pass  # your code here"
SHOWN_DIFFERENCES = 12


def starter_text(text: str, where: str) -> str:
    """One code cell's text as the student gets it; raises `UsageError` where marks do not pair."""
    lines: list[str] = []
    given: list[str] = []
    opened, indent = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = line.strip()
        if mark == BEGIN and not opened:
            opened, indent, given = number, line[: len(line) - len(line.lstrip())], []
        elif mark == END and opened:
            lines += given or [indent + DEFAULT]
            opened = 0
        elif mark in (BEGIN, END):
            raise UsageError(f"{mark} without its partner.", line=Line(where, number))
        elif opened:
            if mark.startswith(STARTER):
                given.append((indent + mark[len(STARTER) :].removeprefix(" ")).rstrip())
        elif mark.startswith(STARTER):
            raise UsageError(f"{STARTER} stands outside a solution.", line=Line(where, number))
        else:
            lines.append(line)
    if opened:
        raise UsageError(f"{BEGIN} without its partner.", line=Line(where, opened))
    return "\n".join(lines)


def derive(solution: Path) -> str:
    """The text of the starter notebook that belongs to a solution notebook."""
    try:
        notebook = json.loads(solution.read_text(encoding="utf-8"))
        texts = [_text(cell) for cell in notebook["cells"]]
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"{solution} is not a notebook: {problem}.") from None
    code_cells = 0
    for cell, text in zip(notebook["cells"], texts, strict=True):
        if cell["cell_type"] == "code":
            code_cells += 1
            text = starter_text(text, f"{solution.parent.name}/{solution.name}, code cell {code_cells}")
            cell["outputs"], cell["execution_count"] = [], None
        cell["source"] = text.splitlines(keepends=True)
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key == "tags"}
    kept = notebook.get("metadata", {})
    notebook["metadata"] = {
        "kernelspec": kept.get("kernelspec", {"display_name": "Python 3", "language": "python", "name": "python3"}),
        "language_info": {"name": "python"},
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _text(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def solutions_of(labs: Path) -> Iterator[tuple[Path, Path]]:
    """(solution notebook, starter notebook) of every lab that has a solution beside the labs folder."""
    for solution in sorted((labs.parent / "solutions").glob("lab*/lab.ipynb")):
        yield solution, labs / solution.parent.name / "lab.ipynb"


def write_starters(labs: Path) -> list[Path]:
    """Derives every starter; returns those that changed."""
    changed = []
    for solution, starter in solutions_of(labs):
        text = derive(solution)
        if not starter.is_file() or starter.read_text(encoding="utf-8") != text:
            starter.parent.mkdir(parents=True, exist_ok=True)
            starter.write_text(text, encoding="utf-8", newline="\n")
            changed.append(starter)
    return changed


def drifted_starters(labs: Path) -> list[str]:
    """One summary for every starter on disk that is not what its solution gives: the first lines that differ."""
    summaries = []
    for solution, starter in solutions_of(labs):
        shown = starter.relative_to(labs.parent).as_posix()
        if not starter.is_file():
            summaries.append(f"{shown} is missing.")
            continue
        on_disk, derived = starter.read_text(encoding="utf-8"), derive(solution)
        if on_disk != derived:
            lines = difflib.unified_diff(
                on_disk.splitlines(), derived.splitlines(), "on disk", "derived", n=0, lineterm=""
            )
            changes = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            more = f"\n  ... {len(changes) - SHOWN_DIFFERENCES} more" if len(changes) > SHOWN_DIFFERENCES else ""
            shown_changes = "\n".join(f"  {line}" for line in changes[:SHOWN_DIFFERENCES])
            summaries.append(
                f"{shown} is not what its solution gives ({len(changes)} lines differ):\n{shown_changes}{more}"
            )
    return summaries
