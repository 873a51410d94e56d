"""The zip that an instructor uploads to Gradescope: scripts, the grader, one lab, and nothing that grading does not need.

Both scripts have to lie at the zip's top: https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import autograder
from autograder.course_folder import (
    LEFT_OF_THE_PACKAGE,
    PACKAGE,
    PACKAGE_NAME,
    lab_modules,
    needed_packages,
    package_files,
    root,
)
from autograder.errors import UsageError
from autograder.gradescope.assignment import FILE, HIDDEN, LABS, WHEELS, Assignment
from autograder.grading.grade import PUBLIC_SEED
from autograder.grading.labs import load_lab, read_seed, with_hidden_checks
from autograder.records.files import look_at_target, write_zip

FILES = Path(__file__).resolve().parent / "files"
SCRIPTS = ("setup.sh", "run_autograder")
LEFT_OUT = (*LEFT_OF_THE_PACKAGE, "course", "decks")  # lessons and slides
REQUIREMENTS = "requirements.txt"
_PIN = re.compile(rf"(?P<name>{PACKAGE_NAME.pattern})==(?P<version>[^\s;]+)")


def build(
    name: str, out: Path | None = None, *,
    seed_file: Path | None = None, hidden: Path | None = None, wheels: Path | None = None,
) -> Path:  # fmt: skip
    """Writes the zip for the lab called `name`; returns where. `UsageError`: it cannot be made of what was given.

    `wheels`: a folder with all that is to be installed, so that setting up needs no network.
    """
    lab = load_lab(name)
    if hidden is not None:
        with_hidden_checks(lab, hidden)  # raises where they are broken
    out = out or Path(f"{lab.name}_gradescope.zip")
    look_at_target(out)
    seed = PUBLIC_SEED if seed_file is None else read_seed(seed_file)
    assignment = Assignment(lab.name, seed, hidden.name if hidden else "")
    pins = pinned()
    files = {path.name: path.read_bytes() for path in FILES.iterdir() if path.is_file()}
    files[REQUIREMENTS] = "".join(f"{line}\n" for line in pins).encode()
    files[FILE] = assignment.text().encode()
    heading = f"# {lab.title}, graded by Mind the Bandwidth {autograder.__version__}\n\n"
    files["README.md"] = heading.encode() + files["README.md"]
    files |= {f"autograder/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes() for path in package_files(LEFT_OUT)}
    files |= {f"{LABS}/{lab.name}/{path.name}": path.read_bytes() for path in lab_modules(lab.folder)}
    if hidden is not None:
        beside = lab_modules(hidden.absolute().parent, (hidden.name,))
        files |= {f"{HIDDEN}/{path.name}": path.read_bytes() for path in beside}
    if wheels is not None:
        files |= {f"{WHEELS}/{path.name}": path.read_bytes() for path in wheels_of(wheels, pins)}
    try:
        write_zip(out, files, SCRIPTS)
    except OSError as problem:
        raise UsageError(f"{out} cannot be written: {problem.strerror}.") from None
    return out


def pinned() -> list[str]:
    """The lines of requirements.txt that the package itself needs, without their reasons: no notebooks, slides or tests."""
    needed = {_one_spelling(name) for name in needed_packages()}
    text = (root() / REQUIREMENTS).read_text(encoding="utf-8")
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    kept = [line for line in lines if (pin := _PIN.match(line)) and _one_spelling(pin["name"]) in needed]
    if missing := needed - set(_versions(kept)):
        raise UsageError(f"{REQUIREMENTS} pins no version of {', '.join(sorted(missing))}.", remedy="Pin one there.")
    return kept


def wheels_of(folder: Path, pins: list[str]) -> list[Path]:
    """The wheels in a folder, which has to have one of each pinned package: of any of its versions, by Python's own."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder.", remedy="--wheels names a folder of wheels (.whl).")
    wheels = sorted(folder.glob("*.whl"))
    there = {tuple(each) for each in _names_of(wheels)}
    missing = [
        f"{name} {' or '.join(sorted(versions))}"
        for name, versions in sorted(_versions(pins).items())
        if not any((name, version) in there for version in versions)
    ]
    if missing:
        remedy = "`pip download` puts them there, with the zip's requirements.txt: the instructor's guide says how."
        raise UsageError(f"{folder} has no wheel of {', '.join(missing)}.", remedy=remedy)
    return wheels


def _versions(pins: list[str]) -> dict[str, set[str]]:
    """Package -> its pinned versions."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in pins:
        if pin := _PIN.match(line):
            found[_one_spelling(pin["name"])].add(pin["version"])
    return found


def _names_of(wheels: list[Path]) -> Iterator[tuple[str, str]]:
    """Name and version, as a wheel's file name has them first."""
    for wheel in wheels:
        name, _, rest = wheel.name.partition("-")
        yield _one_spelling(name), rest.partition("-")[0]


def _one_spelling(name: str) -> str:
    """A package's name in the one spelling that all others come to."""
    return re.sub(r"[-_.]+", "-", name).lower()
