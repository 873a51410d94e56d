"""Where the course's files are, and a folder of them for students: `autograder course DIR`, `autograder release DIR`.

In a clone they are the repository's own, beside the package; in a package that was installed from a wheel, the copies that
`packing.py` put into it.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import autograder
from autograder.errors import UsageError

PACKAGE = Path(__file__).resolve().parent
PACKED = PACKAGE / "packed"
DISTRIBUTION = "mind-the-bandwidth"
PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # where a requirement begins
NOT_FOR_STUDENTS = ("example_class", "__pycache__", ".ipynb_checkpoints")
FIRST_LESSON = "notebooks/00_start_here.ipynb"
LESSONS = ("*.ipynb", "README.md", "data/*")
ANSWERS_TIMES = ("lab*/calibration/counted.json", "lab*/calibration/h200.json")  # figures that lesson 7 shows, no answers
OF_A_LAB = ("spec.py", "hints.py")
LEFT_OF_THE_PACKAGE = ("packed", "tests")
TO_INSTALL = ("requirements.txt", "pyproject.toml", "Makefile")
LINK_OUT = re.compile(r"\[([^\]]+)\]\(\.\./(?!labs/|notebooks/)[^)]*\)")
README = """# Mind the Bandwidth

`autograder lab` opens the lessons in JupyterLab (`pip install jupyterlab` first); begin with
[notebooks/00_start_here.ipynb](notebooks/00_start_here.ipynb). After a lesson comes its lab, in `labs/`.

    autograder doctor          # what this machine has and lacks
    autograder check lab01     # the verdict on labs/lab01_naive_matmul/lab.ipynb that your instructor's grader gives

Give these commands in this folder.
"""
README_WITH_PACKAGE = """# Mind the Bandwidth

Python 3.10 to 3.13 is needed, and no GPU. On Linux, `make lab` in this folder sets everything up and opens the lessons in
JupyterLab; begin with [notebooks/00_start_here.ipynb](notebooks/00_start_here.ipynb). After a lesson comes its lab, in
`labs/`. Without make, once:

    python3 -m venv .venv                             # Windows: py -3.12 -m venv .venv
    .venv/bin/pip install -r requirements.txt -e .    # Windows: .venv\\Scripts\\pip

and then, in this folder, with `.venv\\Scripts` for `.venv/bin` on Windows:

    .venv/bin/python -m autograder lab             # the lessons, in JupyterLab
    .venv/bin/python -m autograder doctor          # what this machine has and lacks
    .venv/bin/python -m autograder check lab01     # the verdict that your instructor's grader gives
"""


def course_root() -> Path:
    """The folder that holds the lessons and the labs: the package's own, else the current one or one above it."""
    here = Path.cwd()
    for folder in (Path(autograder.__file__).resolve().parents[1], here, *here.parents):
        if (folder / FIRST_LESSON).is_file():
            return folder
    raise UsageError(
        f"The course's folder was not found: it holds {FIRST_LESSON}.",
        remedy="Run this in it; `autograder course DIR` makes one.",
    )


def is_packed() -> bool:
    """Whether the course came in the wheel."""
    return PACKED.is_dir()


def root() -> Path:
    """The folder that holds what came with the package: the clone, or what the wheel packed."""
    return PACKED if is_packed() else PACKAGE.parent


def folder(name: str) -> Path:
    """`notebooks`, `labs` or `solutions` as they came with the package."""
    return root() / name


def lab_modules(lab: Path, first: Iterable[str] = OF_A_LAB) -> list[Path]:
    """The Python files that the checks of the lab in this folder need: spec, hints, baseline, and what they import from it.

    `first`: where these begin, for checks of another kind. Nothing else leaves an instructor's machine: hidden checks and
    notes may lie in the same folder.
    """
    waiting, found = [lab / name for name in first], set[Path]()
    while waiting:
        if (path := waiting.pop()).is_file() and path not in found:
            found.add(path)
            waiting += (lab / f"{name}.py" for name in _beside(path))
    return sorted(found)


def _beside(module: Path) -> Iterator[str]:
    """The modules in a lab's folder that one of them names: those that it imports, and the baseline."""
    try:
        tree = ast.parse(module.read_text(encoding="utf-8"))
    except SyntaxError as problem:
        where = f"{module.parent.name}/{module.name}, line {problem.lineno}"
        raise UsageError(f"{where} is no Python: {problem.msg}.", remedy="Mend it first.") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module.split(".")[0]] if node.module else [each.name for each in node.names]
        elif isinstance(node, ast.keyword) and node.arg == "baseline" and isinstance(node.value, ast.Constant):
            yield str(node.value.value).removesuffix(".py")


def package_files(left_out: Iterable[str] = LEFT_OF_THE_PACKAGE) -> list[Path]:
    """The files of the package, sorted, without these of its folders and what Python and Jupyter leave behind."""
    passed_over = {*left_out, *NOT_FOR_STUDENTS}
    found = (path for path in PACKAGE.rglob("*") if path.is_file())
    return sorted(path for path in found if not passed_over & set(path.relative_to(PACKAGE).parts[:-1]))


def needed_packages() -> list[str]:
    """What ours declares that it needs, extras aside: names as declared. Raises `UsageError` where ours is not installed."""
    try:
        declared = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        raise UsageError("The kit is not installed as a package.", remedy="pip install -e . in its folder.") from None
    return [name[0] for each in declared if "extra ==" not in each and (name := PACKAGE_NAME.match(each))]


def lay_course(target: Path, labs: Path | None = None, *, with_package: bool = False) -> list[Path]:
    """Writes lessons and labs into an empty or new folder, without solutions; returns what was written, from there.

    `labs`: their folder, where it is another one than came with the package. `with_package`: the grader as well, so that the
    folder is all that a student needs. Raises `UsageError` where something is in it already: it may be somebody's work.
    """
    readme = README_WITH_PACKAGE if with_package else README
    written = [Path("README.md")]
    try:
        if target.is_file() or (target.is_dir() and any(target.iterdir())):
            raise UsageError(f"{target} is there already, and not empty.", remedy="Name a folder that is new.")
        for path, own in _course_files(labs or folder("labs"), with_package):
            (target / own).parent.mkdir(parents=True, exist_ok=True)
            _copy(path, target / own)
            written.append(own)
        (target / "README.md").write_text(readme, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror}.") from None
    return written


def _course_files(labs: Path, with_package: bool) -> Iterator[tuple[Path, Path]]:
    """The files for students, each with its place in their folder."""
    lessons = folder("notebooks")
    yield from ((path, "notebooks" / path.relative_to(lessons)) for path in _files(lessons, LESSONS))
    for notebook in sorted(labs.glob("lab*/lab.ipynb")):
        lab = notebook.parent
        yield from ((path, Path("labs", lab.name, path.name)) for path in (notebook, *lab_modules(lab)))
    if with_package:
        times = folder("solutions")
        yield from ((path, "solutions" / path.relative_to(times)) for path in _files(times, ANSWERS_TIMES))
        yield from ((path, "autograder" / path.relative_to(PACKAGE)) for path in package_files())
        yield from ((root() / name, Path(name)) for name in TO_INSTALL)


def _files(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in sorted(folder.glob(pattern)) if path.is_file())


def _copy(source: Path, target: Path) -> None:
    """Links that would lead out of the folder become plain words: what they lead to is not in it."""
    if source.suffix not in (".ipynb", ".md"):
        shutil.copyfile(source, target)
        return
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".md":
        target.write_text(LINK_OUT.sub(r"\1", text), encoding="utf-8")
        return
    notebook: dict[str, Any] = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = LINK_OUT.sub(r"\1", "".join(cell["source"])).splitlines(keepends=True)
    target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
