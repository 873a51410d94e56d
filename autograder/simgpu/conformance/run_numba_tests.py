"""Runs the CUDA tests that ship with numba-cuda (or with Numba) on the simulated GPU, and tabulates what became of each.

    python -m autograder.simgpu.conformance.run_numba_tests                      # on the simulated GPU
    python -m autograder.simgpu.conformance.run_numba_tests --device numba_simulator   # on Numba's, to compare
    python -m autograder.simgpu.conformance.run_numba_tests --table              # only write results.md again

The tests stay in the wheel: `pip install numba==0.68.1 numba-cuda==0.30.4 filecheck psutil cffi ml_dtypes pytest` in an
environment of its own. What results.md shows of the
results goes to results.json beside this file: counts, and the tests that fail with the cause.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autograder.simgpu.conformance import table
from autograder.simgpu.conformance.one_module import DEVICES

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SUITES = ("doc_examples", "cudapy", "cudadrv")
SECONDS_PER_TEST = 300  # the example of 453 million random numbers takes two to three minutes
SECONDS_PER_MODULE = 1200


def origin() -> str:
    """Whose tests are installed here: "numba-cuda 0.30.4", or "numba 0.68.1" without numba-cuda."""
    for package in ("numba-cuda", "numba"):
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit("Numba is not installed here.")


def test_modules() -> list[str]:
    """The test modules of the installed wheel, as dotted names."""
    package = "numba_cuda" if importlib.util.find_spec("numba_cuda") else "numba"
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    folder = root / "numba" / "cuda" / "tests" if package == "numba_cuda" else root / "cuda" / "tests"
    return [
        f"numba.cuda.tests.{suite}.{file.stem}"
        for suite in SUITES
        for file in sorted((folder / suite).glob("test_*.py"))
    ]


def run_module(module: str, device: str, seconds: int, only: str = "") -> list[dict[str, Any]]:
    """What became of each test of a module: rows with test, outcome, seconds and, unless it passed, a message."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")]))
    if device == "numba_simulator":
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.jsonl"
        after = ""
        while True:
            command = [sys.executable, "-m", "autograder.simgpu.conformance.one_module", module, device, str(out)]
            command += ["--seconds", str(seconds), "--after", after, "--only", only]
            quiet = None if os.environ.get("CONFORMANCE_TRACEBACK") else subprocess.DEVNULL
            try:
                subprocess.run(
                    command, env=environment, timeout=SECONDS_PER_MODULE, stdout=quiet, stderr=quiet, cwd=folder,
                    check=False,
                )  # fmt: skip
                ending = "the process ended"
            except subprocess.TimeoutExpired:
                ending = "stopped: took too long"
            rows = list(_rows(out))
            if not rows or rows[-1]["outcome"] != "started":
                return _final(rows)
            with out.open("a", encoding="utf-8") as more:  # it died inside a test: note that, and go on after it
                more.write(json.dumps({**rows[-1], "outcome": "failed", "message": ending}) + "\n")
            after = rows[-1]["test"]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def _final(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last word on each test: failed where any of its parts failed."""
    last: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["outcome"] == "started" or last.get(row["test"], {}).get("outcome") == "failed":
            continue
        last[row["test"]] = row
    return [_without_paths(row) for row in last.values()]


def _without_paths(row: dict[str, Any]) -> dict[str, Any]:
    """The row without folders of the machine it ran on, and without the reasons of tests that skip themselves."""
    if row["outcome"] == "skipped":
        return {key: value for key, value in row.items() if key != "message"}
    return {
        key: re.sub(r"(?<![\w.])/[^\s'\"]*/", "", value) if key == "message" else value for key, value in row.items()
    }


def in_short(row: dict[str, Any], module: str) -> dict[str, Any]:
    """The row with the test's name as it is within its module."""
    return {**row, "test": row["test"].removeprefix(module + ".")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=DEVICES, default=DEVICES[0])
    parser.add_argument("--modules", default="", help="only modules whose name contains this; results.json is kept")
    parser.add_argument("--only", default="", help="only tests whose name contains this; results.json is kept")
    parser.add_argument("--seconds", type=int, default=SECONDS_PER_TEST, help="for one test")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time, each in a process of its own")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="only write the table from results.json")
    given = parser.parse_args()
    known = table.read(given.out)
    if not given.table:
        key = f"{origin()} on {given.device}"
        found = known.get(key, {}) if given.modules else {}
        chosen = [module for module in test_modules() if given.modules in module]
        pool = ThreadPoolExecutor(given.jobs)
        every = pool.map(lambda module: run_module(module, given.device, given.seconds, given.only), chosen)
        for module, rows in zip(chosen, every, strict=True):
            outcomes = [row["outcome"] for row in rows]
            counts = " ".join(f"{outcomes.count(each)} {each}" for each in ("passed", "failed", "skipped"))
            print(f"{module.removeprefix('numba.cuda.tests.'):45} {counts}", flush=True)
            short = module.removeprefix("numba.cuda.tests.")
            found[short] = table.reduced(short, [in_short(row, module) for row in rows], given.device)
            if given.only:
                print("\n".join(f"  {row['test']}: {row['outcome']} {row.get('message', '')}" for row in rows))
        if given.only:
            return
        known[key] = found
        table.save(given.out, known)
    table.write(given.out, given.out.with_suffix(".md"))


if __name__ == "__main__":
    main()
