"""The wheel, in an empty environment and an empty folder: a student has the course and its grader, and no answer."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from autograder.course_folder import TO_INSTALL, lay_course
from autograder.gradescope.building import build
from autograder.tests.lending import lend_compiled
from autograder.tests.test_layout_repository import ROOT
from autograder.tests.test_layout_student_copy import answers_in

pytestmark = pytest.mark.long

LEAST_SETUPTOOLS = (70, 1)  # which makes wheels by itself
NOT_PACKED = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "shared")
ASKS = "from numba import cuda; print(getattr(cuda, 'simulated', False))"
SCRIPT = """
import numpy as np
from numba import cuda


@cuda.jit
def fill(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2


x = np.zeros(100, np.float32)
fill[1, 128](x)
print("sum:", x.sum())
"""


def setuptools_version() -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in importlib.metadata.version("setuptools").split(".")[:2])
    except importlib.metadata.PackageNotFoundError:
        return (0, 0)


def completed(*words: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    needed = {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP", "TMP") if name in os.environ}  # by Windows
    environment = needed | {"PATH": str(Path(sys.executable).parent), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    command = [str(each) for each in words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing of an earlier build gets into it, and by what is installed here: no network."""
    if setuptools_version() < LEAST_SETUPTOOLS:
        pytest.skip("this environment's setuptools makes no wheels: install requirements.txt again")
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_PACKED)
    offline = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    built = completed(sys.executable, "-m", "pip", "wheel", *offline, "-w", folder, ".", cwd=folder / "source")
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def autograder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment that has the wheel; what it needs is read from the one that runs this test."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=sys.platform != "win32")
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    needed = [each for each in sys.path if Path(each).name == "site-packages"]
    (site / "needed.pth").write_text("".join(f"{each}\n" for each in needed), encoding="utf-8")
    offline = ("--no-deps", "--no-index", "--disable-pip-version-check", "--ignore-installed")
    done = completed(scripts / "python", "-m", "pip", "install", *offline, wheel, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lend_compiled(site / "autograder")
    return scripts / "autograder"


@pytest.fixture(scope="module")
def laid(autograder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder that the command laid down."""
    folder = tmp_path_factory.mktemp("student") / "gpu course"
    done = completed(autograder, "course", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_holds_lessons_and_labs_and_no_solution(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    packed = [name for name in names if name.startswith("autograder/packed/")]
    assert {name.split("/")[2] for name in packed} == {"labs", "notebooks", "solutions", *TO_INSTALL}
    assert not [name for name in packed if "/solutions/" in name and not name.endswith(("counted.json", "h200.json"))]
    assert not [name for name in names if name.startswith("autograder/tests/")]
    shutil.rmtree(tmp_path / "autograder" / "packed" / "labs" / "lab01_naive_matmul" / "example_class")
    assert answers_in(tmp_path) == {}


def test_the_course_s_folder_holds_every_lesson_and_lab_and_no_answer(laid: Path) -> None:
    for name, pattern in (("notebooks", "*.ipynb"), ("notebooks", "data/*"), ("labs", "*/lab.ipynb"), ("labs", "*/spec.py")):
        expected = {path.relative_to(ROOT) for path in (ROOT / name).glob(pattern)}
        assert expected and {path.relative_to(laid) for path in (laid / name).glob(pattern)} == expected
    assert answers_in(laid) == {}
    assert not list(laid.rglob("example_class"))
    assert not [path for path in laid.rglob("*.ipynb") if "](../autograder" in path.read_text(encoding="utf-8")]


def test_what_a_clone_releases_is_released_by_the_wheel(autograder: Path, tmp_path: Path) -> None:
    """But for the notes for maintainers, which lie in the package of a clone."""
    lay = "import sys; from pathlib import Path; from autograder.course_folder import lay_course\n"
    lay += "lay_course(Path(sys.argv[1]), with_package=True)"
    done = completed(autograder.with_name("python"), "-c", lay, tmp_path / "by the wheel", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    laid = {path.relative_to(tmp_path / "by the wheel") for path in (tmp_path / "by the wheel").rglob("*") if path.is_file()}
    by_a_clone = set(lay_course(tmp_path / "by a clone", with_package=True))
    assert laid <= by_a_clone and {path.suffix for path in by_a_clone - laid} <= {".md", ".svg"}
    assert {Path("requirements.txt"), Path("autograder/cli.py"), Path("labs/lab06_list_ranking/lists.py")} <= laid


def test_the_wheel_makes_the_zip_for_gradescope_that_a_clone_makes(autograder: Path, tmp_path: Path) -> None:
    """The notes for maintainers aside, as above."""
    done = completed(autograder, "gradescope", "lab05", "--out", "wheel.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(build("lab05", tmp_path / "clone.zip")) as ours, zipfile.ZipFile(tmp_path / "wheel.zip") as theirs:
        missing = set(ours.namelist()) - set(theirs.namelist())
        assert {Path(name).suffix for name in missing} <= {".md", ".svg"} and "README.md" not in missing
        assert all(ours.read(name) == theirs.read(name) for name in theirs.namelist())
        assert "labs/lab05_histogram/histograms.py" in theirs.namelist()


def test_a_folder_with_something_in_it_is_left_alone(autograder: Path, laid: Path) -> None:
    again = completed(autograder, "course", laid, cwd=laid.parent)
    assert again.returncode == 2 and "not empty" in again.stderr


def test_a_starter_is_checked_in_the_course_s_folder(autograder: Path, laid: Path) -> None:
    done = completed(autograder, "check", "lab01", "--device", "simulated", cwd=laid)
    assert done.returncode == 1 and "0 of " in done.stdout, done.stdout + done.stderr
    solution = ROOT / "solutions" / "lab01_naive_matmul" / "lab.ipynb"
    solved = completed(autograder, "check", "lab01", solution, "--device", "simulated", cwd=laid)
    assert solved.returncode == 0, solved.stdout + solved.stderr


def test_a_script_is_run_and_profiled_anywhere(autograder: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    run = completed(autograder, "run", "script.py", cwd=tmp_path)
    assert run.returncode == 0 and "sum: 200.0" in run.stdout, run.stdout + run.stderr
    profiled = completed(autograder, "profile", "script.py:fill", cwd=tmp_path)
    assert profiled.returncode == 0 and "x[i] = 2" in profiled.stdout, profiled.stdout + profiled.stderr


@pytest.mark.parametrize(("wish", "expected"), [("1", "True"), ("0", "False")])
def test_one_variable_puts_any_program_on_the_simulated_gpu(autograder: Path, tmp_path: Path, wish, expected) -> None:
    done = completed(autograder.with_name("python"), "-c", ASKS, cwd=tmp_path, AUTOGRADER_SIMULATE=wish)
    assert done.stdout.strip() == expected and not done.stderr, done.stderr


def test_the_example_class_is_graded_anywhere(autograder: Path, tmp_path: Path) -> None:
    done = completed(autograder, "demo", "--device", "simulated", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0 and "18 submissions" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "build" / "demo" / "index.html").is_file()
