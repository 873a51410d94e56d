"""What a campaign came to: a table for people, and the same as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from autograder.grading.fuzzing.campaign import Verdict

OUTCOMES = ("unreadable", "failed", "passed in part", "full marks", "a fault of ours")


def as_text(lab: str, seed: int, verdicts: Sequence[Verdict]) -> str:
    """Outcomes by kind of change, hints, and each survivor with what the judge found."""
    kinds = sorted({kind for each in verdicts for kind in each.kinds})
    rows = [["change", "mutants", *OUTCOMES, "survived"]]
    for kind in [*kinds, ""]:
        those = [each for each in verdicts if not kind or kind in each.kinds]
        counts = [sum(each.outcome == outcome for each in those) for outcome in OUTCOMES]
        numbers = [len(those), *counts, sum(each.survived for each in those)]
        rows.append([kind or "all", *map(str, numbers)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"{lab}, {len(verdicts)} mutants, seed {seed}", ""]
    for row in rows:
        cells = [cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    hints = Counter(name for each in verdicts for _, name, _ in each.hints)
    told = sum(bool(each.hints) for each in verdicts)
    lines += ["", f"hints: {told} mutants got one, {len(hints)} hints in all"]
    lines += [f"  {count:4}  {name}" for name, count in hints.most_common()]
    for each in verdicts:
        if each.survived or each.outcome == "a fault of ours":
            lines += ["", f"{each.number}: {each.base}, {each.said}", *(f"  {found}" for found in each.found)]
            lines += [f"  {each.message}"] if each.outcome == "a fault of ours" else []
    return "\n".join(lines)


def as_data(lab: str, seed: int, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The same, for JSON: every mutant's verdict, and the whole text of the survivors."""
    return {
        "lab": lab,
        "seed": seed,
        "mutants": len(verdicts),
        "outcomes": dict(Counter(each.outcome for each in verdicts)),
        "survived": sum(each.survived for each in verdicts),
        "verdicts": [asdict(each) for each in verdicts],
    }
