"""What commands share: exit codes, and the files that are named to them and written by them."""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.records.results import Result

PASSED, FAILED, USAGE, FAULT = 0, 1, 2, 3



def existing_file(path: Path) -> Path:
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file.", remedy="To grade a folder, use `autograder grade`.")
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    return path


def check_writable(path: Path) -> None:
    """Raises `UsageError` where a file cannot be written, before a command has done its work for it."""
    if path.is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder.")
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written: it is not permitted.")


def write_json(given: argparse.Namespace, data: Any) -> None:
    """Writes what a command found to the file given with --json."""
    if given.json:
        write_file(given.json, json.dumps(data, indent=1, allow_nan=False) + "\n")


def write_json_list(given: argparse.Namespace, items: Iterable[Any]) -> None:
    """The same of a list, one item in memory at a time."""
    if given.json:
        texts = (json.dumps(each, indent=1, allow_nan=False).replace("\n", "\n ") for each in items)
        write_file(given.json, itertools.chain(["[\n "], _between(texts, ",\n "), ["\n]\n"]))


def _between(texts: Iterable[str], comma: str) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{comma if number else ''}{text}"


def write_html(path: Path, result: Result) -> None:
    from autograder.reports import html

    write_file(path, html.render(result))


def write_file(path: Path, text: str | Iterable[str]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
    except OSError as problem:
        raise UsageError(f"{path} cannot be written: {problem.strerror}.") from None
