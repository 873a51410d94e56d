"""A class whose grading is killed goes on where it stopped, and comes out the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from autograder.grading.labs import labs_root
from autograder.tests.test_grading_bad_input import GOOD

pytestmark = pytest.mark.long(50)  # most of which it waits

ROOT = labs_root().parent
SIZE = 6


def command(folder, out):
    grade = ["grade", "lab01", str(folder), "--out", str(out), "--device", "simulated", "--jobs", "1"]
    return [sys.executable, "-m", "autograder", *grade]


def gradebook(out):
    """Its rows without the last column, the key, which changes whenever the grader's own source does."""
    lines = (out / "gradebook.csv").read_text(encoding="utf-8-sig").splitlines()
    return [line.rpartition(",")[0] for line in lines]


def heeds_interrupts() -> None:
    """For a process that is to be interrupted: a job in a shell's background begins with Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A class of `SIZE`, every second one wrong, and its gradebook where nothing comes between."""
    folder, out = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("graded") / "out"
    for number in range(SIZE):
        (folder / f"s{number:02}.py").write_text(GOOD.replace("total = 0.0", f"total = {float(number % 2)}"))
    subprocess.run(command(folder, out), env=ENVIRONMENT, capture_output=True, timeout=120)
    return folder, gradebook(out)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_killed_run_goes_on_and_the_gradebook_is_the_same(tmp_path, uninterrupted, how):
    (folder, whole), out = uninterrupted, tmp_path / "out"
    process = subprocess.Popen(
        command(folder, out),
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeds_interrupts,
    )
    deadline = time.monotonic() + 60
    while len(list((out / "results").glob("*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(getattr(signal, how))
    message = process.communicate(timeout=60)[1]
    done = {path.name: path.read_bytes() for path in (out / "results").glob("*.json")}
    assert 3 <= len(done) < SIZE and not (out / "gradebook.csv").exists()
    for text in done.values():
        json.loads(text)
    if how == "SIGINT":
        assert process.returncode == 3 and "goes on from there" in message and "Traceback" not in message
    finished = subprocess.run(command(folder, out), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert finished.returncode == 1, finished.stderr  # the odd ones are wrong
    assert all((out / "results" / name).read_bytes() == text for name, text in done.items())  # taken over as they were
    assert gradebook(out) == whole and len(whole) == SIZE + 1
