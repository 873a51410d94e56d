"""Which programs: a repository on GitHub, a commit of it, a file, and what somebody who looked at it knows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.errors import UsageError

HERE = Path(__file__).parent
MANIFEST = HERE / "manifest.csv"
COLUMNS = ("repository", "commit", "file", "arguments", "judged", "until")


@dataclass(frozen=True)
class PublicProgram:
    """One file.

    `arguments`: its command line, with spaces between. `judged`: some words of each refusal of ours that somebody has looked
    at and found right, because Numba refuses that too; with " / " between them. `until`: what ends a program that ends by
    nothing of its own, found in its source: somebody closes its window.
    """

    repository: str  # owner/name
    commit: str
    file: str
    arguments: str = ""
    judged: str = ""
    until: str = ""

    @property
    def key(self) -> str:
        """What it is called in results."""
        return f"{self.repository}:{self.file}"

    def is_judged(self, message: str) -> bool:
        """Whether somebody has found right what we refuse with this message."""
        return any(words in message for words in self.judged.split(" / ") if words)

    @property
    def is_notebook(self) -> bool:
        return self.file.endswith(".ipynb")


def read(path: Path = MANIFEST) -> list[PublicProgram]:
    """The programs of a manifest, in its order; raises `UsageError` for a line that names none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: the manifest cannot be read ({error}).") from None
    programs = []
    for number, row in enumerate(rows, 2):
        if set(row) != set(COLUMNS) or None in row.values():
            raise UsageError(f"{path}, line {number}: a line has the columns {', '.join(COLUMNS)}.")
        program = PublicProgram(**row)
        problem = _problem(program)
        if problem:
            raise UsageError(f"{path}, line {number}: {problem}")
        programs.append(program)
    doubled = {each.key for each in programs if sum(each.key == other.key for other in programs) > 1}
    if doubled:
        raise UsageError(f"{path}: named twice: {', '.join(sorted(doubled))}.")
    return programs


def _problem(program: PublicProgram) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", program.repository) or ".." in program.repository:
        return f"{program.repository!r} is no repository: write owner/name."
    if not re.fullmatch(r"[0-9a-f]{40}", program.commit):
        return f"{program.commit!r} is no commit: write all 40 digits."
    path = PurePosixPath(program.file)
    if path.is_absolute() or ".." in path.parts or path.suffix not in (".py", ".ipynb"):
        return f"{program.file!r} is no script (.py) or notebook (.ipynb) of the repository."
    return ""


def selected(programs: Sequence[PublicProgram], wanted: Sequence[str]) -> list[PublicProgram]:
    """Those whose key holds one of the texts; all for none."""
    found = [each for each in programs if not wanted or any(text in each.key for text in wanted)]
    if not found:
        raise UsageError(f"No program of the manifest is called {' or '.join(wanted)}.")
    return found
