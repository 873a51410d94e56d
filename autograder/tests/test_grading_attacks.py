"""The corpus in attacks/: what hostile and broken submissions get, and that nothing else happens.

A file's first line says what it tries, which checks must fail (`everything`: no points at all), and words of the one line
that its author must read. Files are text, not .py, so that nothing imports, lints or runs them; attacks/made.py makes
those that cannot be kept as text. Controls are honest work close to some attack: they keep full marks.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.grading.class_grading import grade_class
from autograder.grading.grade import check_submission
from autograder.grading.jobs import Limits
from autograder.grading.labs import load_lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.tests.attacks.made import HONEST, MADE
from autograder.tests.attacks.tricks import marks_by_name
from autograder.tests.finding import found
from autograder.tests.known_answers import without_close_calls

pytestmark = pytest.mark.long(45)

FOLDER = Path(__file__).parent / "attacks"
LAB = load_lab("lab01")
HEADER = re.compile(r"(?:# )?(attack|control): (?P<what>.+?); fails: (?P<fails>[\w, ]+)(?:; says: (?P<says>.+))?")
FILES = {each.stem: each for each in sorted(FOLDER.glob("*.txt"))}
CONTROLS = {each.stem: each for each in sorted((FOLDER / "controls").glob("*.txt"))}
LONGEST_LINE = 500  # message and remedy
LINUX = sys.platform.startswith("linux")
NEEDS_A_MEMORY_LIMIT = ("GiB of memory allowed",)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for the whole corpus: whatever an attack leaves behind would meet the next."""
    with Worker("simulated", Limits(memory_bytes=1 << 30)) as running:
        yield running


def promise(line: str) -> tuple[set[str], str]:
    """The checks that must fail and the words that must be said."""
    found = HEADER.fullmatch(line)
    assert found, f"a first line must read '# attack: ...; fails: ...; says: ...', not {line!r}"
    fails = found["fails"]
    named = set() if fails in ("nothing", "everything") else set(fails.split(", "))
    assert named <= {each.name for each in LAB.checks}
    return ({"everything"} if fails == "everything" else named), found["says"] or ""


def lines_of(result: Result) -> list[str]:
    """Every line that the author of a submission reads."""
    messages = [each.message for each in result.checks if each.message and each.outcome == "failed"]
    return [result.error] if result.error else messages


def report(result: Result) -> str:
    return "\n".join([result.error, *result.flags, *(f"{c.name}: {c.outcome} {c.message}" for c in result.checks)])


def hold_against(line: str, content: bytes, name: str, worker: Worker, folder: Path) -> None:
    """Grades what is handed in as `name`, and holds the result against the promise in `line`."""
    fails, says = promise(line)
    environment, here = dict(os.environ), os.getcwd()
    handed_in = folder / name
    handed_in.write_bytes(content)
    result = check_submission(LAB, handed_in, worker=worker)

    assert not without_close_calls(result.flags, fails) and not any(each.fault for each in result.checks), report(result)
    failed = {each.name for each in result.checks if each.outcome == "failed" and not each.bonus}
    if fails == {"everything"}:
        assert result.points == 0 and result.outcome == "failed", report(result)
    else:
        assert not result.error and failed == fails, report(result)
        assert (result.points == LAB.points) == (not fails), report(result)
    lines = lines_of(result)
    assert any(says in each for each in lines) or not says, report(result)
    for each in lines:
        assert len(each) <= LONGEST_LINE and each.isprintable() and "Traceback" not in each, report(result)

    assert sorted(each.name for each in folder.iterdir()) == [name], "something was written"
    assert dict(os.environ) == environment and os.getcwd() == here


@pytest.mark.parametrize("name", [pytest.param(each, marks=marks_by_name(each), id=each) for each in FILES])
def test_an_attack_gains_nothing_and_gets_one_clear_line(
    name: str, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = FILES[name].read_bytes()
    line = content.split(b"\n")[0].decode()
    if not LINUX and any(words in line for words in NEEDS_A_MEMORY_LIMIT):
        pytest.skip("only Linux bounds the memory of a process")
    hold_against(line, content, "lab.py", worker, tmp_path)


@pytest.mark.parametrize("name", [pytest.param(each, marks=marks_by_name(each), id=each) for each in MADE])
def test_a_file_that_no_editor_would_write_gets_one_clear_line(
    name: str, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line, content = MADE[name]
    hold_against(line, content(), "lab" + Path(name).suffix, worker, tmp_path)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_keeps_full_marks(name: str, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = CONTROLS[name].read_bytes()
    line = content.split(b"\n")[0].decode()
    assert promise(line) == (set(), "")
    hold_against(line, content, "lab.py", worker, tmp_path)


def test_the_corpus_is_large_and_every_file_says_something_else() -> None:
    first_lines = [each.read_text(encoding="utf-8").split("\n")[0] for each in FILES.values()]
    first_lines += [line for line, _ in MADE.values()]
    attacks = [found(HEADER, line)["what"] for line in first_lines]
    assert len(set(attacks)) == len(attacks) >= 200 and len(CONTROLS) >= 5


def test_no_state_is_left_from_one_run_to_the_next() -> None:
    """What a submission makes at module level stays as it was made."""
    from autograder.language import parse_program, submission_from_cells

    text = "import numpy as np\nA = [1, [2]]\nB = zip(A, A)\nC = np.zeros(2)\nD = enumerate(A)\n"
    names: dict[str, Any] = dict(parse_program(submission_from_cells("lab.py", [("lab.py", text)])).names)
    assert names["B"] == ((1, 1), ([2], [2])) and names["D"] == ((0, 1), (1, [2]))
    with pytest.raises(TypeError):
        names["A"][1][0] = 3
    with pytest.raises(ValueError):
        names["C"][0] = 1


def test_an_index_array_never_reaches_memory_beside_a_device_array() -> None:
    from autograder.errors import KernelFault
    from autograder.simgpu.host.device import Session

    array = Session().to_device(np.arange(5.0))
    for key in ([0, 1], np.array([0, 1]), True, (np.array([True] * 5),)):
        with pytest.raises(KernelFault, match="integers and slices"):
            array[key]
    with pytest.raises(KernelFault):
        array[[0, 4]] = 7.0
    assert array[1:4:2].copy_to_host().tolist() == [1.0, 3.0]


def test_a_class_of_strangers_is_graded_to_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of the same name beside submissions, names with control characters, links and pipes."""
    monkeypatch.chdir(tmp_path)
    handed_in, out = tmp_path / "in", tmp_path / "out"
    handed_in.mkdir()
    for name in ("numba.py", "numpy.py", "autograder.py", "sitecustomize.py"):
        (handed_in / name).write_text("open('CANARY', 'w')\n")
    honest = ["ann.py"]
    if sys.platform != "win32":
        honest += ["two\nlines\x1b[2J.py", "=cmd()|'x'.py"]
        (handed_in / "linked.py").symlink_to(handed_in / "ann.py")
        (handed_in / "outside").symlink_to("/")
        os.mkfifo(handed_in / "pipe.py")
    if LINUX:
        honest.append(os.fsdecode(b"caf\xe9.py"))
    for name in honest:
        (handed_in / name).write_text(HONEST)
    idle = HONEST.replace("matmul_kernel[grid", "print((0, 0), 1)\n    unknown[grid")
    (handed_in / "idle.py").write_text(idle)

    results = grade_class(LAB, handed_in, out, device="simulated", jobs=1)

    full = [each for each in results if each.points == LAB.points]
    assert len(results) == len(list(handed_in.iterdir())) and len(full) == len(honest)
    assert not any(check.fault for each in results for check in each.checks)
    assert (out / "gradebook.csv").is_file() and (out / "index.html").is_file()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out"]
