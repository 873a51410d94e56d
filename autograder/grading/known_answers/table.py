"""The verdicts of both devices on a lab's known answers, side by side: verdicts.md."""

from __future__ import annotations

import json
from typing import Any

from autograder.grading.known_answers.answers import calibration_file, known_answers
from autograder.grading.spec import Lab


def decided(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict without its flags: they ask a person to look, and only a clock shows what is faster than memory."""
    return {name: each for name, each in verdict.items() if name != "flags"}


def table(lab: Lab, device: str = "h200") -> str:
    """The verdicts on both devices as Markdown, and where they differ; ratios of every check that compares speed."""
    both = [json.loads(calibration_file(lab, name).read_text(encoding="utf-8")) for name in (device, "simulated")]
    checks = list(both[0]["ratios"])
    names = [
        name
        for name in known_answers(lab)
        if any(name in each for each in (*both[0]["ratios"].values(), both[0]["verdicts"]))
    ]
    lines = [
        f"Verdicts on the known answers of {lab.name}: {both[0]['device']} (measured) and the simulated GPU (predicted).",
        "Ratios are to the baseline; those of answers that fail before the speed check were taken for comparison, and an",
        "answer that does not run to its end has none.",
        "",
        "| answer | fails | hint | same verdict |" + "".join(f" {check}: measured | predicted |" for check in checks),
        "|---|---|---|---|" + "---|---|" * len(checks),
    ]
    for name in names:
        one, other = (each["verdicts"].get(name) for each in both)
        words = [", ".join(one["failed"]) or "nothing", ", ".join(one["hints"])] if one else ["", ""]
        same = "" if not (one and other) else "yes" if decided(one) == decided(other) else "**no**"
        speeds = [
            f"{each['ratios'][c][name]['ratio']:.2f}" if name in each["ratios"][c] else ""
            for c in checks
            for each in both
        ]
        lines.append("| " + " | ".join([name, *words, same, *speeds]) + " |")
    waiting = [name for name in both[1]["verdicts"] if name not in both[0]["verdicts"]]
    if waiting:
        of = f"{len(waiting)} of {len(both[1]['verdicts'])}"
        lines += ["", f"Graded on the simulated GPU only, so far ({of}): {', '.join(waiting)}."]
    return "\n".join(lines) + "\n"
