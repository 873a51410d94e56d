"""What a program's launches were found to do wrong: each fault told once, then counted; and handed on among processes.

A fault is one kind of hazard on one line of one kernel, at one array. Where the environment variable `FOLDER` names a
folder, each process of a program writes there what it finds, as it finds it: so that nothing is lost where one is ended.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from autograder.errors import Line
from autograder.records.hazards import Hazard, name_of

FOLDER = "AUTOGRADER_FINDINGS"
Fault: TypeAlias = tuple[Any, ...]


@dataclass
class CountedFault:
    """A fault: as it was first seen, in how many launches, how often in all, and in which processes."""

    hazard: Hazard
    launches: int = 1
    occurrences: int = 1
    processes: set[int] = field(default_factory=set)
    number: int = 0  # in its process's file

    def as_data(self) -> dict[str, Any]:
        """For JSON: the hazard's own fields, with the occurrences of all launches."""
        return {
            **asdict(self.hazard),
            "occurrences": self.occurrences,
            "launches": self.launches,
            "processes": sorted(self.processes),
        }

    def counted(self) -> str:
        """The sentence that stands for all times it was not told."""
        hazard = self.hazard
        where = ", ".join(str(each) for each in (hazard.line, f"`{hazard.array}`" if hazard.array else "") if each)
        times = f", {self.occurrences:,} times" if self.occurrences > self.launches else ""
        told = f"told once, found in {self.launches:,} launches{times}."
        return f"{name_of(hazard.kind)}: {where} in `{hazard.kernel}`: {told}"


def fault_of(hazard: Hazard) -> Fault:
    return hazard.kernel, hazard.kind, hazard.line, hazard.array, hazard.severity


class Findings:
    """The faults of this process, in the order in which they were found."""

    def __init__(self) -> None:
        self.found: dict[Fault, CountedFault] = {}
        self.written = 0  # to this process's file
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)  # a child process tells its own

    def begin(self) -> None:
        """Nothing is known, and this process has written nothing."""
        self.found.clear()
        self.written = 0

    def clear(self) -> None:
        """What was told may be told again."""
        self.found.clear()

    def add(self, hazards: Sequence[Hazard]) -> list[Hazard]:
        """Takes in what a launch was found to do; those that have not been told yet."""
        new = []
        for hazard in hazards:
            known = self.found.get(fault_of(hazard))
            if known is None:
                self.found[fault_of(hazard)] = CountedFault(hazard, 1, hazard.occurrences, number=self.written)
                new.append(hazard)
                self.write({"hazard": asdict(hazard)})
                self.written += 1
            else:
                known.launches += 1
                known.occurrences += hazard.occurrences
                self.write({"again": known.number, "occurrences": hazard.occurrences})
        return new

    def write(self, data: dict[str, Any]) -> None:
        """Adds a line to this process's file, where one is wanted."""
        folder = os.environ.get(FOLDER)
        if folder:
            with Path(folder, f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(data, default=int) + "\n")

    def repeated(self) -> Iterator[str]:
        """A sentence for each error that more than one launch had."""
        for each in self.found.values():
            if each.launches > 1 and each.hazard.severity == "error":
                yield each.counted()


@contextmanager
def written_down() -> Iterator[Path]:
    """A folder in which this process and those that it starts leave what they find, while the block runs."""
    outer = os.environ.get(FOLDER)
    with tempfile.TemporaryDirectory(prefix="autograder-findings-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.pop(FOLDER)
            if outer is not None:  # for whoever started this one
                os.environ[FOLDER] = outer
                for path in Path(folder).glob("*.jsonl"):
                    shutil.copy(path, outer)


def gathered(folder: Path) -> list[CountedFault]:
    """What all processes of a program have written into a folder, each fault once."""
    merged: dict[Fault, CountedFault] = {}
    for path in sorted(folder.glob("*.jsonl"), key=lambda each: each.stat().st_ctime_ns):
        here: list[CountedFault] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            data = json.loads(line)
            if "hazard" in data:
                hazard = _hazard(data["hazard"])
                here.append(merged.setdefault(fault_of(hazard), CountedFault(hazard, 0, 0)))
                here[-1].processes.add(int(path.stem))
            times = data["hazard"]["occurrences"] if "hazard" in data else data["occurrences"]
            finding = here[-1 if "hazard" in data else data["again"]]
            finding.launches += 1
            finding.occurrences += times
    return list(merged.values())


def _hazard(data: dict[str, Any]) -> Hazard:
    """A hazard as JSON has it, with its lines and tuples again."""
    again: dict[str, Any] = {name: Line(**data[name]) for name in ("line", "other_line") if data[name] is not None}
    again |= {name: tuple(each) for name, each in data.items() if isinstance(each, list)}
    return Hazard(**{**data, **again})
