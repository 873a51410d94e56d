"""Files with a line of JSON for each case, and which of the unseen cases a command works on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.simgpu.measurements.sizing import SizedCase
from autograder.simgpu.measurements.unseen_cases import CASES, CASES_OF_SETS


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that `chosen` reads."""
    parser.add_argument("--only", default="", help="cases whose name contains this; several, with commas between")
    parser.add_argument("--half", choices=("learned", "held", *CASES_OF_SETS), help="cases of this half, or of this set")
    parser.add_argument("--part", default="1/1", help="2/3: every third case, from the second on")


def chosen(given: argparse.Namespace) -> list[SizedCase]:
    """The cases that these options choose, in their order."""
    part, parts = (int(each) for each in given.part.split("/"))
    texts = given.only.split(",")
    asked = CASES_OF_SETS.get(given.half, CASES)
    found = [case for case in asked if given.half in (None, case.half) and any(text in case.name for text in texts)]
    return found[part - 1 :: parts]


def lines_of(file: Path) -> dict[str, dict[str, Any]]:
    """The file's lines by the name of their case, several of one case as one.

    An unfinished last line, of a run that was cut off, is left out.
    """
    rows: dict[str, dict[str, Any]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "case" in row:
            rows.setdefault(row["case"], {}).update(row)
    return rows


def append_line(file: Path, row: Mapping[str, Any]) -> None:
    """Adds a line at once, so that a run that is cut off leaves what it had."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")
