"""The key of a result: a hash of all that a verdict depends on, so that an unchanged submission is not graded twice."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import autograder
from autograder.grading.labs import lab_digest
from autograder.grading.spec import Lab
from autograder.language.source import MOST_BYTES


def result_key(lab: Lab, submission: Path, seed: str, device: str, flags: Iterable[str] = ()) -> str:
    """A hash of all that a verdict depends on: submission, spec, seed, grader version, device, and what is flagged about the
    file itself, which another file may change."""
    parts = (_digest(submission), lab_digest(lab), seed, grader_version(), device, *flags)
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def submission_digest(submission: Path) -> str:
    """A hash of what was handed in alone; empty where it cannot be read."""
    try:
        return _digest(submission)
    except OSError:
        return ""


def _digest(submission: Path) -> str:
    digest = hashlib.sha256()
    with open(submission, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(file.read(MOST_BYTES + 1))  # a larger one is refused unread, and may be a terabyte of nothing
        digest.update(size.to_bytes(8, "little"))
    return digest.hexdigest()


_grader_version = ""


def grader_version() -> str:
    """A hash of the package's own source and tables: any change of the grader makes its older results stale."""
    global _grader_version
    if not _grader_version:
        root = Path(autograder.__file__).parent
        digest = hashlib.sha256()
        within = (each.relative_to(root) for each in root.rglob("*") if each.suffix in (".py", ".json"))
        files = (each for each in within if "tests" not in each.parts)  # wherever the package itself lies
        for path in sorted(each for each in files if each.suffix == ".py" or "measurements" not in each.parts):
            digest.update(path.as_posix().encode() + b"\0" + (root / path).read_bytes())
        _grader_version = digest.hexdigest()[:16]
    return _grader_version
