"""Grades and times every known answer of a lab on this machine, and sets the verdicts of both devices side by side.

    python -m autograder.grading.known_answers LAB [NAME ...]   # all answers, or those named (wrong/no_barrier), here
    python -m autograder.grading.known_answers LAB --missing    # only those whose verdict or time nobody has taken yet
    python -m autograder.grading.known_answers LAB --simulated  # on the simulated GPU, where there is a real one too
    python -m autograder.grading.known_answers LAB --counted    # counts the work of every speed check's launches
    python -m autograder.grading.known_answers LAB --table      # from these files, the table of verdicts

In `solutions/LAB/calibration` are written h200.json (whatever the GPU is called, without its maker) or simulated.json,
counted.json and verdicts.md. `variants.py` there, where there is one, has a function `variants()` that yields further
(name, source) to time: other shapes of block, other ways to write the baseline's loop.

Every answer is timed that runs at all, by each check that compares speed, also where grading stops before that check: what a
wrong answer costs is a prediction to test like any other. One whose second line begins with `# not timed:` is not, for the
reason given there. Times are those of grading (autograder/cudagpu/comparing.py).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import queue
import runpy
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError, SubmissionError
from autograder.grading.grade import PUBLIC_SEED, Grading, check_submission, judge
from autograder.grading.labs import load_lab
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.language.source import Submission, submission_from_cells
from autograder.records.runs import Comparison, RunRequest

SECONDS_TO_RUN = 20  # for an answer that is timed although grading would have stopped before


Timed = tuple[Sequence[RunRequest], Comparison]


@dataclass
class Measuring:
    """A lab's comparisons with its baseline, one after the other, each with the requests it was made on."""

    lab: Lab
    worker: Worker
    made: list[Timed] = field(default_factory=list)

    def __post_init__(self) -> None:
        compare = self.worker.compare

        def recorded(requests: Sequence[RunRequest], threshold: float) -> Comparison:
            self.made.append((requests, compare(requests, threshold)))
            return self.made[-1][1]

        self.worker.compare = recorded  # type: ignore[method-assign]

    def graded(self, answer: Path | Submission) -> tuple[dict[str, Any], dict[str, Timed]]:
        """What grading says, and what it compared: failed checks, hints, bonus checks passed, an instructor's flags."""
        self.made.clear()
        result = check_submission(self.lab, answer, worker=self.worker)
        if result.error:
            return {"failed": [], "hints": [], "bonus": [], "flags": [result.error]}, {}
        ratios = {check.measured["ratio"]: check.name for check in result.checks if "ratio" in check.measured}
        verdict = {
            "failed": [check.name for check in result.checks if check.outcome == "failed" and not check.bonus],
            "hints": [hint.name for check in result.checks for hint in check.hints if not check.bonus],
            "bonus": [check.name for check in result.checks if check.outcome == "passed" and check.bonus],
            "flags": list(result.flags),
        }
        return verdict, {
            ratios[found.ratio]: (requests, found) for requests, found in self.made if found.ratio in ratios
        }

    def compared(self, answer: Path | Submission, check: str) -> tuple[Sequence[RunRequest], Comparison, float] | None:
        """One speed check on one answer, whatever else is wrong with it: requests, comparison and threshold.

        None where the check ends before it compares, or the answer launches nothing or does not run to its end.
        """
        seconds = min(self.lab.seconds_per_run, SECONDS_TO_RUN)
        try:
            summary = self.worker.read(answer, self.lab.baseline_path, self.lab.required, seconds)
        except SubmissionError:
            return None
        self.made.clear()
        found = judge(
            Grading(self.lab, self.worker, PUBLIC_SEED, summary), next(c for c in self.lab.checks if c.name == check)
        )
        if not self.made:
            return None
        return *self.made[0], float(found.measured.get("threshold", np.nan))

    def speed_checks(self, solution: Path) -> list[str]:
        """The checks that compare speed, as grading the solution shows."""
        result = check_submission(self.lab, solution, worker=self.worker)
        return [check.name for check in result.checks if "ratio" in check.measured]


def answers(lab: Lab) -> dict[str, Path | Submission]:
    """Name -> the baseline, the solution, right and wrong answers, and the calibration's own variants."""
    solution = solution_of(lab)
    assert lab.baseline_path is not None
    found: dict[str, Path | Submission] = {"baseline": lab.baseline_path, "solution": solution / "lab.ipynb"}
    for kind in ("right", "wrong"):
        found |= {f"{kind}/{path.stem}": path for path in sorted((solution / kind).glob("*.py"))}
    if (own := solution / "calibration" / "variants.py").is_file():
        for name, text in runpy.run_path(str(own))["variants"]():
            found[name] = submission_from_cells(name, [(name, text)], is_notebook=False)
    return found


def solution_of(lab: Lab) -> Path:
    """The folder of a lab's answers."""
    return lab.folder.parent.parent / "solutions" / lab.name


def is_graded(name: str) -> bool:
    """Whether a known answer has a verdict: the baseline and the variants are only timed."""
    return name == "solution" or name.startswith(("right/", "wrong/"))


def is_timed(answer: Path | Submission) -> bool:
    """Whether an answer is timed where grading stops before: its second line may say that it is not, and why."""
    lines = answer.read_text(encoding="utf-8").splitlines() if isinstance(answer, Path) else []
    return len(lines) < 2 or not lines[1].startswith("# not timed:")


def measure(lab: Lab, device: str, only: Sequence[str] = (), jobs: int = 1, missing: bool = False) -> Path:
    """Grades and times every answer, those named or those `missing`; what was found so far is in the file at any moment."""
    cases, lock, free = answers(lab), threading.Lock(), queue.SimpleQueue[Measuring]()
    with contextlib.ExitStack() as stack:
        for _ in range(jobs):
            free.put(Measuring(lab, stack.enter_context(Worker(device))))
        first = free.get()
        greeting, checks = first.worker.greeting, first.speed_checks(solution_of(lab) / "lab.ipynb")
        free.put(first)
        out = calibration_file(lab, greeting.device if greeting.source == "measured" else "simulated")
        out.parent.mkdir(exist_ok=True)
        known, counts = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
            for path in (out, calibration_file(lab, "counted"))
        )
        verdicts = known.get("verdicts", {})
        ratios, not_timed = (
            {check: known.get(of, {}).get(check, {}) for check in checks} for of in ("ratios", "not timed")
        )

        def one(name: str) -> None:
            measuring = free.get()
            try:
                verdict, found = measuring.graded(cases[name]) if is_graded(name) else (None, {})
                for check in set(checks) - set(found) if is_timed(cases[name]) else ():
                    if alone := measuring.compared(cases[name], check):
                        found[check] = alone[:2]
                faults = {check: why for check, (_, each) in found.items() if (why := not_timed_because(each))}
                rows = {
                    check: figures(each) for check, (_, each) in found.items() if check not in faults
                }
            finally:
                free.put(measuring)
            with lock:
                if verdict is not None:
                    verdicts[name] = verdict
                for check in checks:
                    ratios[check].pop(name, None)
                    not_timed[check].pop(name, None)
                    if check in faults:
                        not_timed[check][name] = faults[check]
                    elif check in rows:
                        ratios[check][name] = rows[check]
                print(name, verdict, [ratios[check].get(name) for check in checks], flush=True)
                form = {
                    "what": "verdicts of grading; times the baseline's speed by each check that compares speed",
                    "device": greeting.device,
                    "source": greeting.source,
                    "ratios": {check: {n: ratios[check][n] for n in cases if n in ratios[check]} for check in checks},
                    "not timed": {
                        check: {n: not_timed[check][n] for n in cases if n in not_timed[check]} for check in checks
                    },
                    "verdicts": {each: verdicts[each] for each in cases if each in verdicts},
                }
                out.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")

        with ThreadPoolExecutor(jobs) as pool:
            wanted = [name for name in cases if not only or name in only]
            list(pool.map(one, [name for name in wanted if not missing or is_missing(name, known, counts)]))
    return out


def is_missing(name: str, known: dict[str, Any], counted: dict[str, Any]) -> bool:
    """Whether a file of verdicts lacks an answer's verdict, or its time in a check in which it was counted and ran."""
    if is_graded(name) and name not in known.get("verdicts", {}):
        return True
    for check, of in counted.items():
        taken = any(name in known.get(kind, {}).get(check, {}) for kind in ("ratios", "not timed"))
        if of["launches"].get(name) and not taken:
            return True
    return False


def figures(found: Comparison) -> dict[str, float]:
    """The median ratio of times with its interval, and the answer's own time."""
    row = {"ratio": found.ratio, "least": found.low, "most": found.high, "milliseconds": found.submission_ns / 1e6}
    return {name: float(f"{value:.5g}") for name, value in row.items()}


def not_timed_because(found: Comparison) -> str:
    """Why a comparison says nothing about speed; empty where it does."""
    if found.fault is not None:
        return str(found.fault)
    return "" if np.isfinite(found.ratio) else "It launches nothing."


def calibration_file(lab: Lab, device: str) -> Path:
    """`NVIDIA H200` -> solutions/LAB/calibration/h200.json."""
    return solution_of(lab) / "calibration" / f"{device.split()[-1].lower()}.json"


# ---- counted work --------------------------------------------------------------------------------------------------


def count(lab: Lab, only: Sequence[str] = ()) -> Path:
    """Counts each speed check's launches for every answer or those named, sampled as by the grader; writes counted.json."""
    out = calibration_file(lab, "counted")
    cases, lines = answers(lab), []
    known = json.loads(out.read_text(encoding="utf-8")) if only else {}
    with Worker("simulated") as worker:
        measuring = Measuring(lab, worker)
        for check in measuring.speed_checks(solution_of(lab) / "lab.ipynb"):
            found = measuring.compared(cases["solution"], check)
            assert found is not None and found[1].fault is None
            rows = []
            for name, answer in cases.items():
                if only and name not in only:
                    launches = known.get(check, {}).get("launches", {}).get(name)
                    rows += [] if launches is None else [f"  {json.dumps(name)}: {json.dumps(launches)}"]
                    continue
                if is_timed(answer) and (launches := counted_launches(answer, found[0][0])) is not None:
                    rows.append(f"  {json.dumps(name)}: {json.dumps(launches)}")
                print(check, name, flush=True)
            head = f' {json.dumps(check)}: {{"threshold": {found[2]:g}, "launches": {{\n'
            lines.append(head + ",\n".join(rows) + "\n }}")
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return out


def counted_launches(answer: Path | Submission, request: RunRequest) -> list[dict[str, Any]] | None:
    """The launches of one request: shape, counters (zeros left out), and how many `times` there was such a launch.

    `host_requests`, in the first row, are the copies and the like that host code asks for between launches, where it does.
    An empty list where the run is stopped for taking too much work; None where the answer cannot be read or runs into a
    fault of another kind.
    """
    from autograder.simgpu.host.device import SimulatedDevice
    from autograder.simgpu.machine.launch_state import WorkLimit

    try:
        program = parse_program(read_submission(answer) if isinstance(answer, Path) else answer)
        run = SimulatedDevice().run(program, request)
    except KitError:
        return None
    if isinstance(run.fault, WorkLimit):  # too slow to simulate, and so too slow to pass
        return []
    if run.fault is not None or not run.launches:
        return None
    rows: dict[str, dict[str, Any]] = {}
    for launch in run.launches:
        row = {
            "threads_per_block": int(np.prod(launch.block)),
            "shared_bytes_per_block": launch.shared_bytes,
            "array_bytes": launch.array_bytes,
            "counters": {name: value for name, value in dataclasses.asdict(launch.compiled).items() if value},
        }
        kept = rows.setdefault(json.dumps(row), row | {"times": 0})
        kept["times"] += 1
    launches = list(rows.values())
    if run.transfers:
        launches[0]["host_requests"] = len(run.transfers)
    return launches


# ---- the table -----------------------------------------------------------------------------------------------------


def decided(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict without its flags: they ask a person to look, and only a clock shows what is faster than memory."""
    return {name: each for name, each in verdict.items() if name != "flags"}


def table(lab: Lab, device: str = "h200") -> str:
    """The verdicts on both devices as Markdown, and where they differ; ratios of every check that compares speed."""
    both = [json.loads(calibration_file(lab, name).read_text(encoding="utf-8")) for name in (device, "simulated")]
    checks = list(both[0]["ratios"])
    names = [
        name
        for name in answers(lab)
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.known_answers")
    parser.add_argument("lab", help="the lab's name")
    parser.add_argument("names", nargs="*", help="only these answers, as the files name them (wrong/no_barrier)")
    for flag, words in (
        ("--simulated", "on the simulated GPU, also where there is a real one"),
        ("--missing", "only answers whose verdict or time is not in the file yet"),
        ("--counted", "count the work of the launches that are timed"),
        ("--table", "write the table of verdicts"),
    ):
        parser.add_argument(flag, action="store_true", help=words)
    parser.add_argument("--jobs", type=int, default=1, help="workers; a GPU is one's at a time")
    given = parser.parse_intermixed_args()
    lab = load_lab(given.lab)
    if given.table:
        path = solution_of(lab) / "calibration" / "verdicts.md"
        path.write_text(table(lab), encoding="utf-8")
    elif given.counted:
        path = count(lab, given.names)
    else:
        path = measure(lab, "simulated" if given.simulated else "auto", given.names, given.jobs, given.missing)
    print(path.relative_to(solution_of(lab).parent.parent))


if __name__ == "__main__":
    main()
