"""Grades and times every known answer of lab 2 on this machine, and sets the verdicts of two devices side by side.

    python solutions/lab02_tiled_matmul/calibration/measure.py OUT.json             # all, on a GPU where there is one
    python solutions/lab02_tiled_matmul/calibration/measure.py OUT.json NAME ...    # these only, into the same file
    python solutions/lab02_tiled_matmul/calibration/measure.py --table  # h200.json and simulated.json -> verdicts.md

Times are those of grading: baseline and answer in turn, fresh inputs, a cold L2 (autograder/cudagpu/comparing.py); on
the simulated GPU they are estimates. `naive loops` are one thread an element, written in two ways; what stands in
`differs/` is right and not as fast as the simulation says.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder.device import RunRequest, Uninitialised
from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker

HERE = Path(__file__).resolve().parent
LAB = load_lab(HERE.parent.name)
SPEC = runpy.run_path(str(LAB.folder / "spec.py"))
SIDE = SPEC["SPEED_SIDE"]
SPEED_CHECK = "faster_than_one_thread_an_element"
WHILE_LOOP = (
    ("        for i in range(a.shape[1]):\n            total += a[row, i] * b[i, col]\n"),
    ("        i = 0\n        while i < a.shape[1]:\n            total += a[row, i] * b[i, col]\n            i += 1\n"),
)


def answers() -> Iterator[tuple[str, Path]]:
    yield "solution", HERE.parent / "lab.ipynb"
    for folder in ("right", "wrong", "calibration/differs"):
        for path in sorted((HERE.parent / folder).glob("*.py")):
            yield f"{path.parent.name}/{path.stem}", path


def verdict(worker: Worker, path: Path) -> dict[str, Any]:
    """What grading says: failed checks, hints, bonus checks passed, and what an instructor is to look at."""
    result = check_submission(LAB, path, worker=worker)
    return {
        "failed": [check.name for check in result.checks if check.outcome == "failed" and not check.bonus],
        "hints": [hint.name for check in result.checks for hint in check.hints if not check.bonus],
        "bonus": [check.name for check in result.checks if check.outcome == "passed" and check.bonus],
        "flags": list(result.flags),
    }


def ratio(worker: Worker, path: Path) -> dict[str, float]:
    """How many times the baseline's speed an answer has: median with its interval, and its own time."""
    rng = np.random.default_rng(0)
    requests = []
    for _ in range(2):
        a, b = (rng.uniform(-1, 1, (SIDE, SIDE)).astype(np.float32) for _ in range(2))
        request = RunRequest("matmul_tiled", {"a": a, "b": b, "c": Uninitialised((SIDE, SIDE), np.float32)})
        requests.append(replace(request, sample_blocks=4, work_limit=SPEC["SPEED_WORK_LIMIT"]))
    worker.read(path, LAB.baseline_path, [each.name for each in LAB.required], LAB.seconds_per_run)
    found = worker.compare(requests, SPEC["SPEEDUP"])
    figures = {"ratio": found.ratio, "least": found.low, "most": found.high, "milliseconds": found.submission_ns / 1e6}
    return {name: round(float(value), 4) for name, value in figures.items()} if found.fault is None else {}


def naive_loops(folder: Path) -> Iterator[tuple[str, Path]]:
    """The baseline, and the same with a `while`."""
    assert LAB.baseline_path is not None
    text = LAB.baseline_path.read_text(encoding="utf-8")
    for name, code in (("for", text), ("while", text.replace(*WHILE_LOOP))):
        path = folder / f"{name}.py"
        path.write_text(code, encoding="utf-8")
        yield f"naive loops/{name}", path


def measure(out: Path, only: Sequence[str] = ()) -> None:
    """Grades and times every answer, or those named; what was found so far is in the file at any moment."""
    what = "times the baseline's speed, square float32 matrices by side; verdicts of every known answer"
    with Worker("auto") as worker, tempfile.TemporaryDirectory() as folder:
        form = {"what": what, "device": worker.greeting.device, "source": worker.greeting.source}
        known = json.loads(out.read_text(encoding="utf-8")) if only else {"ratios": {}, "verdicts": {}}
        cases = {**dict(naive_loops(Path(folder))), **dict(answers())}
        ratios, verdicts = known["ratios"].get(str(SIDE), {}), known["verdicts"]
        for name, path in cases.items():
            if only and name not in only:
                continue
            if name.startswith(("solution", "right", "wrong")):
                verdicts[name] = verdict(worker, path)
            if set(verdicts.get(name, {}).get("failed", ())) <= {*SPEC["COUNTED_LOADS"], SPEED_CHECK}:
                ratios[name] = ratio(worker, path)
            print(name, verdicts.get(name), ratios.get(name), flush=True)
            form["ratios"] = {str(SIDE): {each: ratios[each] for each in cases if each in ratios}}
            form["verdicts"] = {each: verdicts[each] for each in cases if each in verdicts}
            out.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


def read(name: str) -> dict[str, Any]:
    """A calibration with its verdicts at the threshold that the spec has now, which the measured ratios decide."""
    form = json.loads((HERE / name).read_text(encoding="utf-8"))
    for answer, found in form["verdicts"].items():
        speed = form["ratios"][str(SIDE)].get(answer)
        if speed and set(found["failed"]) <= {SPEED_CHECK}:
            found["failed"] = [SPEED_CHECK] if speed["most"] < SPEC["SPEEDUP"] else []
            found["hints"] = found["hints"] if found["failed"] else []
    return form


def table() -> str:
    """The verdicts on both devices as Markdown, and where they differ."""
    both = [read(name) for name in ("h200.json", "simulated.json")]
    ratios = [each["ratios"][str(SIDE)] for each in both]
    lines = [
        f"Verdicts on lab 2's known answers: {both[0]['device']} (measured) and the simulated GPU (predicted). Ratios are",
        f"to the baseline at N = {SIDE}; those of answers that fail before the speed check were taken for comparison.",
        "What stands in `differs` is right and not as fast as predicted: the simulation takes it that the compiler unrolls",
        "every loop of constant length, which it does not where the loop is long or its addresses are awkward.",
        "",
        "| answer | fails | hint | measured | predicted | same verdict |",
        "|---|---|---|---|---|---|",
    ]
    for name in [*both[0]["verdicts"], *(each for each in ratios[0] if each not in both[0]["verdicts"])]:
        one, other = (each["verdicts"].get(name) for each in both)
        words = ["", "", ""]
        if one and other:
            same = all(one[key] == other[key] for key in ("failed", "hints", "bonus"))
            words = [", ".join(one["failed"]) or "nothing", ", ".join(one["hints"]), "yes" if same else "**no**"]
        speeds = [f"{each[name]['ratio']:.2f}" if each.get(name) else "" for each in ratios]
        lines.append("| " + " | ".join([name, *words[:2], *speeds, words[2]]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        (HERE / "verdicts.md").write_text(table(), encoding="utf-8")
    else:
        measure(Path(sys.argv[1]), sys.argv[2:])
