"""Counts the work of the launches that a lab's speed checks compare, sampled as by the grader: writes counted.json."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError, WorkLimit
from autograder.grading.known_answers.answers import KnownAnswer, calibration_file, known_answers
from autograder.grading.known_answers.recording import Recorder
from autograder.grading.spec import Lab
from autograder.grading.trials import Compared
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.language.program import Program
from autograder.records.runs import RunRequest


def count(lab: Lab, only: Sequence[str] = ()) -> Path:
    """Counts each speed check's launches for every answer or those named."""
    out = calibration_file(lab, "counted")
    cases, lines = known_answers(lab), []
    known = json.loads(out.read_text(encoding="utf-8")) if only else {}
    with Worker("simulated") as worker:
        for check, compared in compared_by_the_solution(lab, worker).items():
            rows = []
            for name, answer in cases.items():
                if only and name not in only:
                    launches = known.get(check, {}).get("launches", {}).get(name)
                    rows += [] if launches is None else [f"  {json.dumps(name)}: {json.dumps(launches)}"]
                    continue
                if answer.is_timed and (launches := counted_launches(answer, compared.requests[0])) is not None:
                    rows.append(f"  {json.dumps(name)}: {json.dumps(launches)}")
                print(check, name, flush=True)
            head = f' {json.dumps(check)}: {{"threshold": {compared.threshold:g}, "launches": {{\n'
            lines.append(head + ",\n".join(rows) + "\n }}")
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return out


def compared_by_the_solution(lab: Lab, worker: Worker) -> dict[str, Compared]:
    """What each speed check asks for and compares, by its name, as grading the solution shows."""
    recorder = Recorder(lab, worker)
    recorder.graded(known_answers(lab)["solution"].submission)
    timed = recorder.timed()
    return {each.name: timed[each.name] for each in lab.checks if each.name in timed}


def counted_launches(answer: KnownAnswer, request: RunRequest) -> list[dict[str, Any]] | None:
    """The launches of one request: shape, counters (zeros left out), and how many `times` there was such a launch.

    `host_requests`, in the first row, are the copies and the like that host code asks for between launches, where it does.
    An empty list where the run is stopped for taking too much work; None where the answer cannot be read or runs into a
    fault of another kind.
    """
    from autograder.simulated_device import SimulatedDevice

    try:
        program = program_of(answer)
        run = SimulatedDevice().run(program, request)
    except KitError:
        return None
    if isinstance(run.fault, WorkLimit):  # too slow to simulate, and so too slow to pass
        return []
    if run.fault is not None or not run.launches:
        return None
    rows: dict[str, dict[str, Any]] = {}
    for launch in run.launches:
        assert launch.compiled is not None  # the simulated GPU counts every launch
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


def program_of(answer: KnownAnswer) -> Program:
    """The answer, parsed; raises `SubmissionError` where it cannot be."""
    given = answer.submission
    return parse_program(read_submission(given) if isinstance(given, Path) else given)
