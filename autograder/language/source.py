"""Reads a submitted file as text: notebooks and Python files, and every way in which they can be broken."""

from __future__ import annotations

import json
import re
import tokenize
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import Line, SubmissionError, UsageError

MOST_BYTES = 5 * 1024 * 1024  # a notebook with its pictures; source alone is a few KiB
MOST_SOURCE_CHARACTERS = 400_000
MOST_CELLS = 2_000

# cell magics that still run the cell's code as Python; any other one hands the cell to something else
_TRANSPARENT = re.compile(r"^%%(time|timeit|capture|prun)\b")
# held against a statement's first line without its indentation; no two parts that repeat can match the same characters
_MAGIC_LINE = re.compile(r"[%!?]|[\w.]+\?{1,2}$|[\w, ]+=\s*[%!]")


@dataclass(frozen=True)
class Cell:
    """One piece of source with line numbers of its own: a notebook's code cell, or a whole file."""

    file: str  # as shown to people: "lab.ipynb, code cell 3"
    text: str


@dataclass(frozen=True)
class Submission:
    """What was handed in, as text. In a notebook (`is_notebook`) a broken cell does no harm if nobody needs it."""

    label: str
    cells: tuple[Cell, ...]
    is_notebook: bool = False


def read_submission(path: str | Path) -> Submission:
    """The text of a .ipynb or .py file.

    Raises `UsageError` where there is no such file, `SubmissionError` where its content cannot be used.
    """
    path = Path(path)
    return submission_from_bytes(path.name, bytes_of(path))


def bytes_of(path: Path) -> bytes:
    """What is in a submitted file; raises `UsageError` where there is none, `SubmissionError` where it is too large."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a submission.", remedy="Name the .ipynb or .py file in it.")
    if not path.exists():
        raise UsageError(f"There is no file {path}.", remedy="Check the name and the folder.")
    if not path.is_file():
        raise UsageError(f"{path} is not an ordinary file.")
    label = path.name
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SubmissionError(
            f"{label} has {size / 1e6:.0f} MB; a submission may have {MOST_BYTES // 1024**2} MiB.",
            remedy="Clear the outputs of the notebook and save it again.",
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}).") from None


def submission_from_bytes(label: str, data: bytes) -> Submission:
    """The submission in a file's bytes. Its name says whether it is a notebook, else its content does."""
    if not data.strip():
        raise SubmissionError(f"{label} is empty.", remedy="Save your work and hand it in again.")
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SubmissionError(f"{label} is not text: it holds NUL bytes.", remedy="Hand in the .ipynb or .py file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SubmissionError(
            f"{label} is not UTF-8 text (byte 0x{data[error.start]:02x} in line {line}).",
            remedy="Save it with UTF-8 encoding.",
        ) from None
    name = label.lower()
    if name.endswith(".ipynb") or text.lstrip().startswith("{") and '"cells"' in text:
        return _notebook(label, text)
    if name.endswith(".py") or "." not in name:
        return submission_from_cells(label, [(label, text)], is_notebook=False)
    raise SubmissionError(f"{label} is neither a notebook (.ipynb) nor a Python file (.py).")


def submission_from_cells(label: str, cells: Iterable[tuple[str, str]], is_notebook: bool = True) -> Submission:
    """A submission made of (name shown to people, source text) pairs."""
    cells = list(cells)
    total = sum(len(text) for _, text in cells)
    if total > MOST_SOURCE_CHARACTERS:
        raise SubmissionError(
            f"{label} holds {total:,} characters of code; a submission may hold {MOST_SOURCE_CHARACTERS:,}."
        )
    if len(cells) > MOST_CELLS:
        raise SubmissionError(f"{label} has {len(cells):,} code cells; a submission may have {MOST_CELLS:,}.")
    kept = tuple(Cell(name, _without_magics(text) if is_notebook else text) for name, text in cells)
    return Submission(label, kept, is_notebook)


def _notebook(label: str, text: str) -> Submission:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        raise SubmissionError(
            f"{label} is not a notebook: its JSON is broken ({error.msg}).",
            line=Line(label, error.lineno),
            remedy="Open it in JupyterLab and save it again.",
        ) from None
    except ValueError as error:  # a number of more digits than Python reads
        raise SubmissionError(f"{label} is not a notebook: {error}.") from None
    except RecursionError:
        raise SubmissionError(f"{label} is not a notebook: its JSON is nested too deeply.") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict) and "worksheets" in notebook:
        remedy = "Open it in JupyterLab and save it again: that renews the format."
        raise SubmissionError(f"{label} is a notebook in a format older than 4.", remedy=remedy)
    if not isinstance(cells, list):
        raise SubmissionError(f"{label} is not a notebook: it has no cells.", remedy="Hand in the .ipynb file itself.")
    sources: list[tuple[str, str]] = []
    for cell in cells:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if isinstance(source, str):
            sources.append((f"{label}, code cell {len(sources) + 1}", source))
    if not sources:
        raise SubmissionError(f"{label} has no code cells.")
    return submission_from_cells(label, sources)


def _without_magics(text: str) -> str:
    """The cell with its magics and shell lines blanked, line numbers kept; nothing where another program runs it.

    As in IPython, only the first line of a statement can be a magic. A line that continues one may begin with % or !.
    """
    lines = _dedented(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not _TRANSPARENT.match(first):
        return ""
    might_be = [number for number, line in enumerate(lines) if _MAGIC_LINE.match(line.strip())]
    number = 0
    while might_be and number <= might_be[-1]:  # most cells have none and cost nothing
        stripped = lines[number].strip()
        if _MAGIC_LINE.match(stripped):
            number = _blank_magic(lines, number)
        elif not stripped or stripped.startswith("#"):
            number += 1
        else:
            number = _after_statement(lines, number)
    return "\n".join(lines)


def _dedented(lines: list[str]) -> list[str]:
    """The lines without the first one's indentation, because IPython runs a cell that is indented as a whole."""
    first = next((line for line in lines if line.strip()), "")
    indentation = first[: len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indentation) for line in lines]


def _blank_magic(lines: list[str], number: int) -> int:
    """Blanks the magic that begins in line `number` (from 0), with what it continues in; returns the line after it.

    An indented one becomes `pass`, because it may be all that an `if` holds.
    """
    last = number
    while lines[last].endswith("\\") and last + 1 < len(lines):
        last += 1
    indentation = lines[number][: len(lines[number]) - len(lines[number].lstrip(" \t"))]
    lines[number : last + 1] = [f"{indentation}pass" if indentation else "", *[""] * (last - number)]
    return last + 1


def _after_statement(lines: list[str], number: int) -> int:
    """The line (from 0) after the statement that begins in line `number`: after its open brackets, strings and the like.

    If Python cannot read the statement, all that the tokenizer read of it is skipped. Otherwise the rest of the cell would
    be read again for each line.
    """
    taken = number

    def next_line() -> str:
        nonlocal taken
        taken += 1
        return lines[taken - 1] + "\n" if taken <= len(lines) else ""

    with suppress(tokenize.TokenError, SyntaxError, ValueError):  # the parser will say what is wrong, and where
        for token in tokenize.generate_tokens(next_line):
            if token.type == tokenize.NEWLINE:
                return number + token.start[0]
    return taken
