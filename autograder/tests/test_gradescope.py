"""The zip for Gradescope, unpacked and run as Gradescope's documentation says; nothing here has seen the platform itself.

https://gradescope-autograders.readthedocs.io/en/latest/: specs/ (where what lies, and results.json), submission_metadata/,
troubleshooting/ (what becomes of a missing results.json), leaderboards/; a container of one's own: manual_docker/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder import cli
from autograder.errors import GraderFault
from autograder.gradescope import building, hand_in
from autograder.grading.grade import check_submission
from autograder.tests.lending import lend_compiled
from autograder.tests.test_grading_bad_input import GOOD
from autograder.tests.test_layout_repository import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="Gradescope's containers run Linux"),
]

LAB = "lab01_naive_matmul"
SOLUTION = ROOT / "solutions" / LAB / "lab.ipynb"
# The form of .../submission_metadata/, with two users as for a group.
METADATA = {
    "id": 123456,
    "created_at": "2018-07-01T14:22:32.365935-07:00",
    "assignment": {
        "due_date": "2018-07-31T23:00:00.000000-07:00",
        "group_size": 4,
        "group_submission": True,
        "id": 25828,
        "course_id": 1234,
        "late_due_date": None,
        "release_date": "2018-07-02T00:00:00.000000-07:00",
        "title": "Programming Assignment 1",
        "total_points": "15.0",
    },
    "submission_method": "upload",
    "users": [
        {"email": "ada@example.com", "id": 1234, "name": "Ada Lovelace"},
        {"email": "alan@example.com", "id": 1235, "name": "Alan Turing"},
    ],
    "previous_submissions": [{"submission_time": "2017-04-06T14:24:48.087023-07:00", "score": 0.0, "results": {}}],
}
# Stands for a system's Python: makes environments of itself, and has pip look but not install; what pip is asked is kept.
PYTHON = """#!/bin/bash
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
elif [ "$1 $2 $3" = "-m pip install" ]; then printf '%s\\n' "$@" > "$ASKED" && exec {real} "$@" --dry-run --no-index
else exec {real} "$@"; fi
"""
HIDDEN = """from autograder.grading import Attempt, check
from .shapes_beside import SHAPE
from autograder.grading.labs import spec_of


@check(points=2)
def one_tall_matrix(attempt: Attempt) -> None:
    \"\"\"A tall and narrow matrix is multiplied right.\"\"\"
    spec_of("lab01").expect_right_products(attempt, SHAPE)
"""


def command(*words: str | Path) -> int:
    return cli.main([str(word) for word in words])


def unpack(archive: Path, root: Path) -> Path:
    """As Gradescope does: into `source`, with `run_autograder` beside it."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(root / "source")
        for entry in opened.infolist():
            (root / "source" / entry.filename).chmod(entry.external_attr >> 16)
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    (root / "results").mkdir()
    (root / "submission_metadata.json").write_text(json.dumps(METADATA), encoding="utf-8")
    return root


def set_up(root: Path, bin_folder: Path) -> list[str]:
    """Runs setup.sh, which tries the grader out; returns what pip was asked for."""
    bin_folder.mkdir()
    (bin_folder / "python3.13").write_text(PYTHON.format(real=sys.executable), encoding="utf-8")
    (bin_folder / "python3.13").chmod(0o755)
    asked = bin_folder / "asked"
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "ASKED": str(asked)}
    done = subprocess.run(
        ["bash", str(root / "source" / "setup.sh")], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and f"The grader works: {LAB}'s baseline has " in done.stdout, done.stdout + done.stderr
    return asked.read_text(encoding="utf-8").splitlines()


def handed_in(root: Path, files: dict[str, str]) -> None:
    """Puts these files where Gradescope puts a submission's."""
    shutil.rmtree(root / "submission", ignore_errors=True)
    (root / "submission").mkdir()
    for name, text in files.items():
        (root / "submission" / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zip") / "lab01.zip"
    assert command("gradescope", "lab01", "--out", path) == 0
    return path


@pytest.fixture(scope="module")
def container(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What /autograder is in Gradescope's image."""
    root = unpack(archive, tmp_path_factory.mktemp("autograder"))
    lend_compiled(root / "source" / "autograder")
    asked = set_up(root, tmp_path_factory.mktemp("image") / "bin")
    assert asked[-2:] == ["-r", str(root / "source" / "requirements.txt")] and "--find-links" not in asked
    return root


@pytest.fixture(scope="module")
def graded(container: Path) -> Callable[[dict[str, str]], tuple[dict[str, Any], str]]:
    """Hands files in and runs the script; returns results.json and what was printed."""

    def run(files: dict[str, str]) -> tuple[dict[str, Any], str]:
        handed_in(container, files)
        environment = {"PATH": "/usr/bin:/bin", "AUTOGRADER_ROOT": str(container)}
        done = subprocess.run(
            [str(container / "run_autograder")], cwd=container, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        text = (container / "results" / "results.json").read_text(encoding="utf-8")
        assert "Traceback" not in text and "\\u001b" not in text
        return json.loads(text), done.stdout

    return run


@pytest.fixture
def root(archive: Path, tmp_path: Path) -> Path:
    """The same, for `hand_in` to be called in this process."""
    (tmp_path / "autograder").mkdir()
    return unpack(archive, tmp_path / "autograder")


def results(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    return found


# ---- the zip ---------------------------------------------------------------------------------------


def test_the_zip_holds_both_scripts_at_its_top_and_only_what_grading_needs(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        can_be_run = {entry.filename for entry in opened.infolist() if entry.external_attr >> 16 & 0o111}
    assert can_be_run == {"setup.sh", "run_autograder"}
    top = {name for name in names if "/" not in name}
    assert top == {"setup.sh", "run_autograder", "requirements.txt", "assignment.json", "README.md", "Containerfile"}
    of_labs = {name for name in names if name.startswith("labs/")}
    assert of_labs == {f"labs/{LAB}/{each}.py" for each in ("baseline", "hints", "spec")}
    folders = {name.split("/")[1] for name in names if name.startswith("autograder/") and name.count("/") > 1}
    assert "simgpu" in folders and not folders & {"tests", "course", "decks", "packed", "__pycache__"}
    assert not [name for name in names if name.endswith((".ipynb", ".jsonl", ".nbc", ".pyc"))]


def test_the_same_lab_makes_the_same_zip(archive: Path, tmp_path: Path) -> None:
    assert command("gradescope", "lab01", "--out", tmp_path / "again.zip") == 0
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_packages_are_pinned_as_in_the_requirements_and_no_others_are_installed() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = building.pinned()
    assert all(re.search(rf"^{re.escape(pin)}\s+#", text, re.MULTILINE) for pin in pins)
    names = {pin.partition("==")[0] for pin in pins}
    assert {"numba", "numpy", "nbformat", "psutil"} <= names and not names & {"jupyterlab", "pytest", "nbclient", "mypy"}


def test_with_wheels_nothing_is_fetched(tmp_path: Path) -> None:
    wheels = tmp_path / "WHEELS"
    wheels.mkdir()
    for pin in building.pinned():
        name, version = pin.split(" ")[0].split("==")
        (wheels / f"{name}-{version}-py3-none-any.whl").write_bytes(b"")
    assert command("gradescope", "lab01", "--out", tmp_path / "lab.zip", "--wheels", wheels) == 0
    (tmp_path / "autograder").mkdir()
    root = unpack(tmp_path / "lab.zip", tmp_path / "autograder")
    lend_compiled(root / "source" / "autograder")
    asked = set_up(root, tmp_path / "bin")
    assert asked[asked.index("--no-index") :][1:3] == ["--find-links", str(root / "source" / "wheels")]
    assert len(list((root / "source" / "wheels").iterdir())) == len(list(wheels.iterdir())) > 8


def test_setting_up_where_there_is_no_python_ends_with_what_to_do(root: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "rm"):
        os.symlink(str(shutil.which(name)), tmp_path / "bin" / name)
    (tmp_path / "bin" / "apt-get").write_text('#!/bin/bash\necho "$@" >> "$ASKED"\n', encoding="utf-8")
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    environment = {"PATH": str(tmp_path / "bin"), "ASKED": str(tmp_path / "asked")}
    words = [str(shutil.which("bash")), str(root / "source" / "setup.sh")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("setup.sh: Python 3.10 to 3.13 is needed")
    assert "install -y python3 python3-venv" in (tmp_path / "asked").read_text(encoding="utf-8")


def test_the_container_is_made_of_what_the_zip_holds(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names, recipe = opened.namelist(), opened.read("Containerfile").decode()
    used = re.findall(r"/autograder/source/(\S+)", recipe)
    assert sorted(set(used)) == ["run_autograder", "setup.sh"] and set(used) <= set(names)
    assert 'CMD ["/autograder/run_autograder"]' in recipe


# ---- a submission, by the scripts ------------------------------------------------------------------


def test_a_right_answer_gets_full_marks_and_a_place_on_the_leaderboard(graded: Any) -> None:
    form, printed = graded({"lab.ipynb": SOLUTION.read_text(encoding="utf-8")})
    full = sum(test["max_score"] for test in form["tests"])
    assert form["score"] == full > 20 and {test["status"] for test in form["tests"]} == {"passed"}
    assert [entry["name"] for entry in form["leaderboard"]] == [
        "Faster than the baseline",
        "Faster at other sizes too",
    ]
    assert form["leaderboard"][0]["value"] > 1 and form["stdout_visibility"] == "hidden"
    assert "simulated" in form["output"]
    assert "Ada Lovelace, Alan Turing" in printed  # for the instructor, as is that the points differ:
    assert "This assignment has 15 points on Gradescope, and the lab 20: change it there." in printed


def test_a_wrong_answer_is_told_what_is_wrong(graded: Any) -> None:
    form, _ = graded({"my lab.py": GOOD.replace("total = 0.0", "total = 1.0"), "notes.txt": "."})
    failed = [test for test in form["tests"] if test.get("status") == "failed"]
    assert 0 <= form["score"] < 20 and failed and "expected" in failed[0]["output"]
    assert form["leaderboard"] == []


def test_an_empty_hand_in_gets_no_points_and_is_told_what_to_hand_in(graded: Any) -> None:
    form, _ = graded({})
    assert form["score"] == 0 and len(form["tests"]) > 5
    assert "it holds none. Hand in your notebook, lab.ipynb, and no other." in form["output"]


# ---- what else may lie there -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.ipynb": "{}", "b.ipynb": "{}"}, "it holds 2 (a.ipynb, b.ipynb) and none is called lab.ipynb"),
        ({"lab.py": GOOD, "lab.ipynb": "{}"}, "it holds 2 (lab.ipynb, lab.py) that are called lab: keep one"),
        ({"report.pdf": "%PDF"}, "it holds none"),
        ({"lab.ipynb": ""}, "lab.ipynb is empty"),
        ({"lab.ipynb": "PK\x03\x04"}, "lab.ipynb"),
    ],
    ids=["two", "two that are called lab", "junk", "empty", "no notebook"],
)
def test_what_cannot_be_graded_says_so_in_one_line(files: dict[str, str], said: str, root: Path) -> None:
    handed_in(root, files)
    assert hand_in.main(root) == 0
    form = results(root)
    told = [line for line in form["output"].splitlines() if said in line]
    assert form["score"] == 0 and len(told) == 1 and "Error" not in told[0], form["output"]


@pytest.mark.parametrize("text", [None, "", "[]", '{"users": [{}]}', '{"users": null, "assignment": {}}'])
def test_metadata_of_another_form_cost_nobody_a_grade(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "submission_metadata.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert hand_in.read_metadata(path) == hand_in.Metadata()


@pytest.mark.parametrize(
    ("text", "students", "points"),
    [
        ('{"users": [{"name": null, "email": "a@x.edu"}, {"name": null}], "assignment": null}', "a@x.edu", None),
        ('{"users": [{"name": "Ada\\nL\\u202eB"}], "assignment": {"total_points": null}}', "Ada L B", None),
        ('{"users": null, "assignment": {"total_points": "20.0"}}', "", 20.0),
    ],
)
def test_fields_of_the_metadata_that_are_null_cost_no_others(text, students, points, tmp_path: Path) -> None:
    path = tmp_path / "submission_metadata.json"
    path.write_text(text, encoding="utf-8")
    assert hand_in.read_metadata(path) == hand_in.Metadata(students, points)


def with_hidden(folder: Path, spec: str) -> Path:
    """An unpacked zip with a secret seed and hidden checks."""
    (folder / "mine").mkdir()
    (folder / "mine" / "HIDDEN.py").write_text(spec, encoding="utf-8")
    (folder / "mine" / "shapes_beside.py").write_text("SHAPE = (211, 3, 2)\n", encoding="utf-8")
    (folder / "mine" / "notes.py").write_text("ANSWER = 1\n", encoding="utf-8")
    (folder / "SEED").write_text("nobody guesses this", encoding="utf-8")
    secret = ("--seed-file", folder / "SEED", "--hidden", folder / "mine" / "HIDDEN.py")
    assert command("gradescope", "lab01", "--out", folder / "lab.zip", *secret) == 0
    (folder / "autograder").mkdir()
    return unpack(folder / "lab.zip", folder / "autograder")


def test_hidden_checks_and_a_secret_seed_decide_and_stay_hidden(tmp_path: Path) -> None:
    root = with_hidden(tmp_path, HIDDEN)
    hidden = {path.name for path in (root / "source" / "hidden").iterdir()}
    assert hidden == {"HIDDEN.py", "shapes_beside.py"}  # with what they import, and nothing else that lies there
    handed_in(root, {"lab.py": GOOD.replace("row < c.shape[0]", "row < 200")})
    assert hand_in.main(root) == 0
    text = (root / "results" / "results.json").read_text(encoding="utf-8")
    last = results(root)["tests"][-1]
    assert last["name"] == "Hidden check 1: a case of your instructor's own." and last["status"] == "failed"
    assert last["score"] == 0 and "tall" not in text and "nobody guesses this" not in text and "211" not in text


# ---- faults of the grader --------------------------------------------------------------------------


def test_a_fault_of_the_grader_leaves_no_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing results.json is told by Gradescope as the autograder's failure (.../troubleshooting/)."""
    root = with_hidden(tmp_path, HIDDEN.replace("SHAPE)", "SHAPE[3])"))
    handed_in(root, {"lab.py": GOOD.replace("total = 0.0", "total = 1.0")})
    (root / "results" / "results.json").write_text("of an earlier run", encoding="utf-8")
    assert hand_in.main(root) == 3
    assert not (root / "results" / "results.json").exists()
    assert hand_in.try_out(root / "source") == 3  # and was to be seen when the image was built
    printed = capsys.readouterr().out
    assert "The grader does not work in this image: A check could not be run." in printed
    assert "The grader failed, not the student, who gets no score" in printed and "IndexError" in printed


def test_a_second_try_may_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fresh worker: the first was killed, say, while memory was short."""
    workers: list[object] = []
    check = check_submission

    def first_fails(lab: Any, path: Path, *, worker: Any, **options: Any) -> Any:
        workers.append(worker)
        if len(workers) == 1:
            monkeypatch.setattr(worker, "read", killed)
        return check(lab, path, worker=worker, **options)

    def killed(*_: object) -> None:
        raise GraderFault("The worker ended.")

    monkeypatch.setattr(hand_in, "check_submission", first_fails)
    handed_in(root, {"lab.py": GOOD.replace("total = 0.0", "total = 1.0")})
    assert hand_in.main(root) == 0 and len(set(workers)) == 2
    assert 0 <= results(root)["score"] < 20


def test_what_gradescope_has_not_put_there_is_no_student_s_zero(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hand_in.main(root) == 3
    assert "There is no folder" in capsys.readouterr().out and not (root / "results" / "results.json").exists()


# ---- bad input of the instructor -------------------------------------------------------------------


def test_what_no_zip_can_be_made_of_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "numba-0.68.1-cp310-cp310-manylinux_2_28_x86_64.whl").write_bytes(b"")
    (tmp_path / "short").write_text("123", encoding="utf-8")
    out = ("--out", tmp_path / "lab.zip")
    refused = {
        ("lab99", *out): "There is no lab called `lab99`",
        ("lab01", "--out", tmp_path): "is a folder, not a file",
        ("lab01", "--out", tmp_path / "nowhere" / "lab.zip"): "There is no folder",
        ("lab01", *out, "--seed-file", tmp_path / "short"): "too short to be a secret",
        ("lab01", *out, "--hidden", tmp_path / "none.py"): "There is no file",
        ("lab01", *out, "--wheels", tmp_path / "none"): "is not a folder",
        ("lab01", *out, "--wheels", tmp_path / "few"): "has no wheel of filelock 4.",
    }
    for words, said in refused.items():
        assert command("gradescope", *words) == 2, words
        line = capsys.readouterr().err
        assert line.startswith("autograder: ") and line.count("\n") == 1 and said in line, line
    assert not (tmp_path / "lab.zip").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "theirs").mkdir(mode=0o500)
    assert command("gradescope", "lab01", "--out", tmp_path / "theirs" / "lab.zip") == 2
    assert "Permission denied" in capsys.readouterr().err
