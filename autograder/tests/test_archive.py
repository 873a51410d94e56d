"""A term's archive: unpacked elsewhere, its classes come to the same gradebooks, with what lies in it and nothing else."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from autograder import cli
from autograder.archive import again
from autograder.grading import identity
from autograder.grading.class_folder import CLASS_LIST
from autograder.tests.lending import lend_compiled
from autograder.tests.test_grading_bad_input import GOOD

LABS = Path(__file__).resolve().parents[2] / "labs"
LAB = "lab01_naive_matmul"
HIDDEN = '''
from autograder.grading import Attempt, check
from autograder.grading.labs import spec_of

lab01 = spec_of("lab01")


@check(points=2, after=("right_on_ragged_matrices",))
def one_tall_matrix(attempt: Attempt) -> None:
    """A tall and narrow matrix is multiplied right."""
    lab01.expect_right_products(attempt, (211, 3, 2))
'''


def graded(arguments):
    return cli.main(["grade", "lab01", *map(str, arguments), "--device", "simulated", "--jobs", "2"])


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """Two classes as they lie on an instructor's disk: a folder with a secret seed, hidden checks and odd files; a zip."""
    root = tmp_path_factory.mktemp("term")
    (root / "labs").mkdir()
    shutil.copytree(LABS / LAB, root / "labs" / LAB, ignore=shutil.ignore_patterns("example_class"))
    section = root / "Section A"
    section.mkdir()
    (section / "ada.py").write_text(GOOD)
    (section / "alan.py").write_text(GOOD.replace("total = 0.0", "total = 1.0"))
    (section / "kurt.py").write_text("")
    (section / "emmy").mkdir()
    os.link(section / "ada.py", section / "twin.py")
    os.symlink("/etc/hostname", section / "link.py")
    (root / "SEED").write_text("nobody guesses this")
    (root / "HIDDEN.py").write_text(HIDDEN)
    (root / "hand.csv").write_text("student,check,points,comment\nalan,total,3,Seen.\nada,handed in,2026-10-02 10:00 UTC,\n")
    (root / "canvas.csv").write_text(f"Student,ID,{LAB} (5012)\n\"Lovelace, Ada\",101,\n")
    with zipfile.ZipFile(root / "submissions.zip", "w") as export:
        export.writestr("lovelaceada_LATE_101_900_lab.py", GOOD.replace("total = 0.0", "total = 2.0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOGRADER_LABS", str(root / "labs"))
        patch.chdir(root)
        graded([section, "--out", "A", "--seed-file", "SEED", "--hidden", "HIDDEN.py", "--overrides", "hand.csv",
                "--due", "2026-10-01 23:59 UTC", "--late", "10% a day"])  # fmt: skip
        graded(["submissions.zip", "--out", "term/lab01", "--canvas", "canvas.csv"])
        yield root


@pytest.mark.long
def test_a_term_is_graded_again_from_its_archive_to_the_same_gradebooks_byte_for_byte(term, tmp_path, capsys):
    assert cli.main(["archive", "A", "term/lab01", "--to", "TERM.tar.gz"]) == 0
    told = capsys.readouterr()
    assert told.err == "" and "A: " in told.out and "6 students" in told.out and "keep it to yourself" in told.out
    tables = [(term / place / "gradebook.csv").read_bytes() for place in ("A", "term/lab01")]
    assert b"Handed in late" in tables[0] and b"hard link" in tables[0] and b"is a link" in tables[0]
    assert b"Lovelace, Ada" in tables[1]
    place = tmp_path / "tests"  # as no clone lies: the version of the kit must not hang on where it is
    place.mkdir()
    subprocess.run(["tar", "-xzf", str(term / "TERM.tar.gz"), "-C", str(place)], check=True)
    (unpacked,) = place.iterdir()
    assert lend_compiled(unpacked / "kit" / "autograder")
    assert unpacked.name == "TERM" and "`A`: One thread, one element" in (unpacked / "README.md").read_text()
    listed = json.loads((unpacked / "archive.json").read_text())
    assert [each["name"] for each in listed["classes"]] == ["A", "lab01"]
    elsewhere = {name: value for name, value in os.environ.items() if name not in ("AUTOGRADER_LABS", "PYTHONPATH")}
    command = [sys.executable, str(unpacked / "again.py")]
    term.rename(term.with_name("away"))  # nothing outside of the archive is read
    try:
        done = subprocess.run(command, env=elsewhere, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    finally:
        term.with_name("away").rename(term)
    assert done.stdout == "A: the same gradebook, byte for byte.\nlab01: the same gradebook, byte for byte.\n", done.stderr
    assert done.returncode == 0
    assert [(unpacked / "again" / name / "gradebook.csv").read_bytes() for name in ("A", "lab01")] == tables
    (unpacked / "classes" / "lab01" / "grades" / "gradebook.csv").write_bytes(tables[1].replace(b"Lovelace", b"Somebody"))
    done = subprocess.run([*command, "lab01"], env=elsewhere, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 1 and "lab01: 1 rows of the gradebook came out otherwise" in done.stdout
    done = subprocess.run([*command, "lab09"], env=elsewhere, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 2 and done.stderr == "There is no class lab09 here. There are: A, lab01.\n"


def test_the_archive_holds_what_a_class_was_graded_with_and_says_nothing_of_whose_machine(term, tmp_path):
    assert cli.main(["archive", "A", "A", "--to", str(tmp_path / "TERM.tgz")]) == 0
    with tarfile.open(tmp_path / "TERM.tgz") as tar:
        items = {item.name: item for item in tar.getmembers()}
    assert {item.uid for item in items.values()} == {0} and {item.uname for item in items.values()} == {""}
    for name in (
        "kit/autograder/cli.py", "requirements.txt", "again.py", "README.md", "classes/A/seed.txt",
        "classes/A/hidden/HIDDEN.py", f"classes/A/labs/{LAB}/spec.py", "classes/A/submissions/Section A/ada.py",
        "classes/A/grades/gradebook.csv", "classes/A/grades/class.json", "classes/A-2/grades/results/ada.json",
    ):  # fmt: skip
        assert f"TERM/{name}" in items, name
    assert items["TERM/classes/A/submissions/Section A/link.py"].issym()  # not what it leads to
    assert not any("/tests/" in name or "__pycache__" in name for name in items)
    assert (tmp_path / "TERM.tgz").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("to", "said"),
    [("TERM.zip", "TERM.zip is to end in .tar.gz or .tgz."), ("no/such/TERM.tgz", "There is no folder no/such")],
)
def test_an_archive_that_cannot_be_written_is_refused_in_a_line(term, capsys, to, said):
    assert cli.main(["archive", "A", "--to", to]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"autograder: {said}") and told.count("\n") == 1


def test_a_folder_that_takes_no_archive_is_one_line_and_no_fault_of_the_grader(term, monkeypatch, capsys):
    def read_only(**options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("autograder.records.files.tempfile.mkstemp", read_only)
    assert cli.main(["archive", "A", "--to", "TERM.tgz"]) == 2
    assert capsys.readouterr().err == "autograder: TERM.tgz cannot be written: Read-only file system.\n"


def _another_submission(root, listed):
    (root / "Section A" / "alan.py").write_text(GOOD)
    return "The submission, the lab or the seed has changed since: 1 of A (alan)."


def _one_more(root, listed):
    (root / "Section A" / "zoe.py").write_text(GOOD)
    return "The submission, the lab or the seed has changed since: 1 of A (zoe)."


def _another_spec(root, listed):
    path = root / "labs" / LAB / "spec.py"
    path.write_text(path.read_text() + "\n")
    return "The submission, the lab or the seed has changed since: 3 of A (ada, alan, twin)."


def _another_seed(root, listed):
    (root / "SEED").write_text("somebody guessed it")
    return "The submission, the lab or the seed has changed since: 3 of A (ada, alan, twin)."


def _another_kit(root, listed):
    listed["graded"] |= {"grader": "0" * 16, "kit": "0.1.0"}
    return "A was graded with another version of the kit (0.1.0) than this one ("


def _an_older_run(root, listed):
    del listed["graded"]
    return "A does not say what it was graded from: an older version wrote it."


def _no_seed(root, listed):
    (root / "SEED").unlink()
    return f"The seed file {root / 'SEED'} cannot be read"


def _gone(root, listed):
    (root / "Section A").rename(root / "elsewhere")
    return f"{root / 'Section A'}, from which A was graded, is not there any more."


@pytest.mark.parametrize(
    "change", [_another_submission, _one_more, _another_spec, _another_seed, _another_kit, _an_older_run, _no_seed, _gone]
)
def test_what_would_not_come_out_the_same_is_not_archived(term, tmp_path, monkeypatch, capsys, change):
    root = tmp_path / "copy"
    shutil.copytree(term, root, symlinks=True, ignore=shutil.ignore_patterns("*.tar.gz"))
    (root / "Section A" / "twin.py").unlink()
    os.link(root / "Section A" / "ada.py", root / "Section A" / "twin.py")  # a copy has two files
    monkeypatch.setenv("AUTOGRADER_LABS", str(root / "labs"))
    monkeypatch.chdir(root)
    listed = json.loads((root / "A" / CLASS_LIST).read_text())
    places = {"submissions": root / "Section A", "labs": root / "labs" / LAB}
    places |= {"hidden": root / "HIDDEN.py", "seed_file": root / "SEED"}
    listed["graded"] |= {name: str(path) for name, path in places.items()}
    said = change(root, listed)
    (root / "A" / CLASS_LIST).write_text(json.dumps(listed))
    assert cli.main(["archive", "A", "--to", "TERM.tar.gz"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"autograder: {said}") and told.count("\n") == 1
    assert not list(root.glob("*TERM*")) and not list(root.glob(".*.tmp"))


def test_other_versions_of_packages_are_said(tmp_path):
    listed = {"python": "2.7.18", "packages": {"numpy": "0.1", "nosuchpackage": "1.0"}}
    lines = again.differences(listed)
    assert len(lines) == 3 and lines[0].startswith("Python: 2.7.18 then, 3.")
    assert lines[1].startswith("numpy: 0.1 then, ") and lines[2] == "nosuchpackage: 1.0 then, missing here"


def test_the_kit_s_version_does_not_hang_on_where_it_lies(tmp_path, monkeypatch):
    versions = set()
    for place in ("kit", "tests", "measurements"):
        package = tmp_path / place / "autograder"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("# the same everywhere")
        (package / "table.json").write_text("{}")
        monkeypatch.setattr(identity, "_grader_version", "")
        monkeypatch.setattr("autograder.__file__", str(package / "__init__.py"))
        versions.add(identity.grader_version())
    monkeypatch.setattr(identity, "_grader_version", "")
    (package / "table.json").write_text("{} ")
    assert len(versions) == 1 and identity.grader_version() not in versions
