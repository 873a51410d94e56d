"""Where the course's files are, and a folder of them for students: `autograder course DIR`.

In a clone they are the repository's own, beside the package; in a package that was installed from a wheel, the copies that
`packing.py` put into it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import UsageError

PACKAGE = Path(__file__).resolve().parent
PACKED = PACKAGE / "packed"
NOT_FOR_STUDENTS = ("example_class", "__pycache__", ".ipynb_checkpoints")
LESSONS = ("*.ipynb", "README.md", "data/*")
LABS = ("lab*/*.py", "lab*/lab.ipynb")
LINK_OUT = re.compile(r"\[([^\]]+)\]\(\.\./(?!labs/|notebooks/)[^)]*\)")
README = """# Mind the Bandwidth

`autograder lab` opens the lessons in JupyterLab (`pip install jupyterlab` first); begin with
[notebooks/00_start_here.ipynb](notebooks/00_start_here.ipynb). After a lesson comes its lab, in `labs/`.

    autograder doctor          # what this machine has and lacks
    autograder check lab01     # the verdict on labs/lab01_naive_matmul/lab.ipynb that your instructor's grader gives

Give these commands in this folder.
"""


def is_packed() -> bool:
    """Whether the course came in the wheel."""
    return PACKED.is_dir()


def folder(name: str) -> Path:
    """`notebooks`, `labs` or `solutions` as they came with the package."""
    return (PACKED if is_packed() else PACKAGE.parent) / name


def lay_course(target: Path) -> list[Path]:
    """Writes lessons and labs into an empty or new folder, without solutions; returns what was written, from there.

    Raises `UsageError` where something is in it already: it may be somebody's work.
    """
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise UsageError(f"{target} is there already, and not empty.", remedy="Name a folder that is new.")
    written = [Path("README.md")]
    try:
        for name, patterns in (("notebooks", LESSONS), ("labs", LABS)):
            for path in _files(folder(name), patterns):
                own = Path(name) / path.relative_to(folder(name))
                (target / own).parent.mkdir(parents=True, exist_ok=True)
                _copy(path, target / own)
                written.append(own)
        (target / "README.md").write_text(README, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror}.") from None
    return written


def _files(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and not set(path.parts) & set(NOT_FOR_STUDENTS):
                yield path


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
