"""Launches every case once under Nsight Compute and writes h200_counters.json: what the simulated GPU is held against.

    python -m autograder.simgpu.measurements.read_counters [--out FILE] [--keep FOLDER]     # needs a GPU and ncu
    python -m autograder.simgpu.measurements.read_counters --only "matmul" ...              # those cases, kept with the rest

Needs numba-cuda. The profiler saves and restores device memory between its passes, so each kernel is launched exactly
once, and no other kernel runs: the profiler's n-th kernel is the n-th case. Clocks are left as they are: counts do not
depend on them. `--keep` leaves the raw page there, and a page with the count of each machine instruction.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autograder.simgpu.measurements.cases import CASES, Case

RESULT = Path(__file__).with_name("h200_counters.json")
PACKAGES = ("numba", "numba-cuda", "numpy")

# Name in the result -> the profiler's metric. RED is an atomic whose result nobody uses, ATOM one whose result is used.
METRICS = {
    **{
        f"{space}_{name}_{what}": f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum"
        for space, names in (("global", ("load", "store", "red", "atom")), ("local", ("load", "store")))
        for name, op in zip(names, ("ld", "st", "red", "atom"), strict=False)
        for what in ("requests", "sectors")
    },
    **{
        f"shared_{name}_{what}": f"l1tex__data_{metric}_mem_shared_op_{op}.sum"
        for name, op in (("load", "ld"), ("store", "st"))
        for what, metric in (("wavefronts", "pipe_lsu_wavefronts"), ("bank_conflicts", "bank_conflicts_pipe_lsu"))
    },
    "warp_instructions": "smsp__inst_executed.sum",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "threads_on_per_instruction": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
}
# Read too, where this version of the profiler knows them
EXTRA_METRICS = {
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "registers_per_thread": "launch__registers_per_thread",
    "opcodes": "sass__inst_executed_per_opcode_with_modifier_all",
}


class ProfilerFailed(Exception):
    """The profiler is not there, or did not do what it was asked."""


def chosen(only: str) -> list[Case]:
    """The cases whose name contains `only`; an empty one chooses all."""
    return [case for case in CASES if only in case.name]


def launch(cases: list[Case]) -> None:
    """Launches each case once; what the profiler watches."""
    from numba import cuda

    for case in cases:
        arguments = [cuda.to_device(each) if getattr(each, "ndim", 0) else each for each in case.make_arguments()]
        case.kernel[case.grid, case.block](*arguments)
        cuda.synchronize()


def profile_all(folder: Path, only: str) -> Path:
    """Runs `launch` under ncu; writes raw.csv and, where it can, source.csv to `folder` and returns the first."""
    child = [sys.executable, "-m", "autograder.simgpu.measurements.read_counters", "--launch", "--only", only]
    report = folder / "report.ncu-rep"
    attempts = ([*METRICS.values(), *EXTRA_METRICS.values()], list(METRICS.values()))
    for metrics in attempts:
        sections = ["--section", "SourceCounters"] if metrics is attempts[0] else []
        ncu = ["ncu", "--clock-control", "none", "--force-overwrite", "-o", str(report), "--metrics", ",".join(metrics)]
        done = subprocess.run([*ncu, *sections, *child], capture_output=True, text=True)
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        if done.returncode == 0 and report.exists():
            break
    else:
        raise ProfilerFailed("ncu failed; its last words are above.")
    show = ["ncu", "--import", str(report), "--csv", "--print-units", "base", "--page"]
    raw = folder / "raw.csv"
    raw.write_text(_output_of([*show, "raw", "--print-metric-instances", "details"], [*show, "raw"]), encoding="utf-8")
    source = _output_of([*show, "source", "--print-source", "sass"], [*show, "source"])
    (folder / "source.csv").write_text(source, encoding="utf-8")
    return raw


def _output_of(*commands: list[str]) -> str:
    """What the first of the commands that works prints (older profilers lack some options)."""
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout
    raise ProfilerFailed(f"{' '.join(commands[-1][:6])} ...: {done.stdout[-300:]} {done.stderr[-300:]}")


def read_raw_page(lines: Iterable[str], cases: list[Case]) -> dict[str, dict[str, Any]]:
    """The raw page's rows as {case: {counter: value}}; raises `ProfilerFailed` where they are not the cases in order."""
    result: dict[str, dict[str, Any]] = {}
    for case, row in zip(cases, launches_in(lines, [case.kernel for case in cases]), strict=True):
        result[case.name] = {name: number(row[metric]) for name, metric in METRICS.items()} | {
            name: instances(row[metric]) if name == "opcodes" else number(row[metric])
            for name, metric in EXTRA_METRICS.items()
            if row.get(metric, "n/a") not in ("", "n/a")
        }
    return result


def launches_in(lines: Iterable[str], kernels: list[Any]) -> list[dict[str, str]]:
    """The raw page's rows by column name; raises `ProfilerFailed` unless they are launches of `kernels`, in order."""
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if not rows or "Kernel Name" not in rows[0]:
        raise ProfilerFailed("The raw page has no header row.")
    launches = [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]  # the second row holds units
    if len(launches) != len(kernels):
        raise ProfilerFailed(f"The profiler saw {len(launches)} kernels; {len(kernels)} were launched.")
    for kernel, row in zip(kernels, launches, strict=True):
        if kernel.py_func.__name__ not in row["Kernel Name"]:
            raise ProfilerFailed(f"Where {kernel.py_func.__name__} was launched, the profiler saw {row['Kernel Name']}.")
    return launches


def number(text: str) -> int | float:
    """A value of the raw page: "1,024" is 1024, "31.5" is 31.5; instances in brackets after it are dropped."""
    value = float(text.split("(")[0].replace(",", "").strip())
    return int(value) if value == int(value) else round(value, 4)


def instances(text: str) -> dict[str, int]:
    """A value with instances, "7 (LDG.E: 4; STG.E: 3)", as {"LDG.E": 4, "STG.E": 3}."""
    if "(" not in text:
        return {}
    parts = text[text.index("(") + 1 : text.rindex(")")].split(";")
    pairs = (part.rsplit(":", 1) for part in parts if ":" in part)
    return {name.strip(): int(number(count)) for name, count in pairs}


def description() -> dict[str, Any]:
    """The GPU, its driver and the versions that compiled the kernels."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = (part.strip() for part in _output_of(asked).splitlines()[0].split(","))
    profiler = _output_of(["ncu", "--version"]).strip().splitlines()[-1].split()[1]
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "gpu": name,
        "driver": driver,
        "profiler": f"Nsight Compute {profiler}",
        "versions": versions,
        "date": time.strftime("%Y-%m-%d"),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launch", action="store_true", help="only launch the cases (the profiler's child)")
    parser.add_argument("--only", default="", help="only cases whose name contains this; others keep what was read before")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--keep", type=Path, help="folder in which the profiler's pages are left")
    given = parser.parse_args(arguments)
    if given.launch:
        launch(chosen(given.only))
        return 0
    before = json.loads(given.out.read_text(encoding="utf-8"))["cases"] if given.only and given.out.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        try:
            head, raw = description(), profile_all(given.keep or Path(temporary), given.only)
            read = read_raw_page(raw.read_text(encoding="utf-8").splitlines(keepends=True), chosen(given.only))
        except (ProfilerFailed, OSError) as error:
            print(error, file=sys.stderr)
            return 3
    cases = {case.name: (before | read)[case.name] for case in CASES if case.name in before | read}
    result = {**head, "metrics": {**METRICS, **EXTRA_METRICS}, "cases": cases}
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{given.out.name}: {len(read)} kernels read, {len(cases)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
