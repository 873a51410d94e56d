"""What became of each program, and the table of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from autograder.public_programs.manifest import PublicProgram

Outcome = Literal["runs", "cells", "size", "refused", "gap", "other"]
MEANING: dict[Outcome, str] = {
    "runs": "runs to its end as published",
    "cells": "a notebook that runs, but for cells that stop for reasons of their own",
    "size": "stopped by its time (60 s of a processor for a script, 180 s for a notebook) or by memory",
    "refused": "refused, rightly: Numba does not compile it either",
    "gap": "meets a gap of the simulated GPU",
    "other": "stops for reasons of its own, or never: a missing file or package, Python 2, a removed name, CuPy's own "
    "kernels, a window that somebody is to close",
}
WORST_FIRST: tuple[Outcome, ...] = ("gap", "size", "refused", "cells", "other", "runs")


@dataclass(frozen=True)
class ProgramResult:
    """What became of one program. `told`: the error that decided it. `hazards`: as in one_program.py's report, errors and
    warnings, each once by line and array with how often it was seen."""

    repository: str
    commit: str
    file: str
    outcome: Outcome
    seconds: float
    launches: int
    told: str
    hazards: tuple[dict[str, Any], ...]
    walls: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.repository}:{self.file}"

    @classmethod
    def of(cls, program: PublicProgram, facts: dict[str, Any], seconds: float, last_words: str) -> ProgramResult:
        """Decides what became of a program from its report (`facts`), its seconds and the end of its output."""
        outcome, told = judged(program, facts, last_words)
        hazards = sorted(facts.get("hazards", ()), key=lambda each: (each["severity"], each["line"], each["kind"]))
        return cls(
            program.repository, program.commit, program.file, outcome, round(seconds, 1), facts.get("launches", 0), told,
            tuple(hazards), tuple(facts.get("walls", ())),
        )  # fmt: skip


def judged(program: PublicProgram, facts: dict[str, Any], last_words: str) -> tuple[Outcome, str]:
    """(what became of a program, the error that says so)."""
    if "not_brought" in facts:
        return "other", str(facts["not_brought"])
    if facts.get("missing"):
        return "other", "the repository has no such file at this commit"
    found = [(_of_error(each, program), each) for each in facts.get("errors", ())]
    if not facts.get("ended"):
        if "stopped_by" in facts and program.until and facts.get("launches"):
            found.append(("other", {"message": f"runs until {program.until}: {facts['stopped_by']}"}))
        elif "stopped_by" in facts:
            found.append(("size", {"message": facts["stopped_by"]}))
        else:
            said = last_words.strip().splitlines()
            found.append(("gap", {"message": f"the process ended by itself: {said[-1] if said else 'without a word'}"}))
    if not found:
        return "runs", ""
    worst = min((each for each, _ in found), key=WORST_FIRST.index)
    told = next(error for each, error in found if each == worst)
    return worst, _error_text(told)


def _of_error(error: dict[str, Any], program: PublicProgram) -> Outcome:
    if error["is_size"]:
        return "size"
    if (error["is_refusal"] or error["is_ours"]) and not error["is_of_cupy"]:
        return "refused" if program.is_judged(error["message"]) else "gap"
    return "cells" if error["cell"] is not None else "other"


def _error_text(error: dict[str, Any]) -> str:
    cell = f"cell {error['cell']}: " if error.get("cell") is not None else ""
    kind = f"{error['kind']}: " if error.get("kind") and not error.get("is_refusal") else ""
    return cell + kind + without_places(error["message"])


def without_places(message: str) -> str:
    """A message without where something is installed on this machine: "cannot import name 'x' from 'numba' (/usr/...)"."""
    return re.sub(r" \((?:/|[A-Za-z]:\\)[^()]*\)", "", message)


def save(path: Path, results: Iterable[ProgramResult]) -> None:
    """Writes results, one a line."""
    lines = ",\n".join(json.dumps(asdict(each), ensure_ascii=False, sort_keys=True) for each in results)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read(path: Path) -> list[ProgramResult]:
    """Results that were saved."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [ProgramResult(**{**row, "hazards": tuple(row["hazards"]), "walls": tuple(row["walls"])}) for row in rows]


def markdown(results: Sequence[ProgramResult], programs: int) -> str:
    """The table that people read; `programs`: how many the manifest names."""
    left = programs - len(results)
    still_to_run = f" {left} more are in the manifest and have not been run." if left else ""
    counts = Counter(each.outcome for each in results)
    lines = [
        "# Public programs on the simulated GPU",
        "",
        "Written by `python -m autograder.public_programs.run_programs`; [README.md](README.md) says how.",
        "",
        f"{len(results)} programs of {len({each.repository for each in results})} repositories, "
        f"{sum(each.launches for each in results):,} launches.{still_to_run}",
        "",
        "| outcome | programs | |",
        "|---|---|---|",
        *(f"| {each} | {counts[each]} | {MEANING[each]} |" for each in MEANING),
        "",
        "Seconds are a processor's, of one run. A hazard is counted once by line and array; errors first, "
        "then (in brackets) warnings.",
        "",
        "| program | commit | outcome | s | launches | hazards | what was told |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in results:
        cells = (
            f"{each.repository} {each.file}", each.commit[:7], each.outcome, f"{each.seconds:.1f}", f"{each.launches:,}",
            _hazards(each), _short(each.told),
        )  # fmt: skip
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _hazards(result: ProgramResult) -> str:
    from autograder.records.hazards import HAZARDS

    def counted(severity: str) -> str:
        kinds = Counter(each["kind"] for each in result.hazards if each["severity"] == severity)
        return ", ".join(f"{count} {HAZARDS[kind].name}" for kind, count in sorted(kinds.items()))

    errors, warnings = counted("error"), counted("warning")
    return errors + (" " if errors and warnings else "") + (f"({warnings})" if warnings else "")


def _short(text: str, most: int = 160) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 4] + " ..."
