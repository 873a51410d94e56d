"""Report files: written whole or not at all, under names that every file system takes."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from autograder.errors import MachineFault

_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")  # reserved by Windows, whatever their ending
_HASH_DIGITS, _FORMER_HASH_DIGITS = 16, 8  # hexadecimal; eight are so few that two names are easily made to share them
_HASHED = re.compile(rf".*-(?:[0-9a-f]{{{_FORMER_HASH_DIGITS}}}|[0-9a-f]{{{_HASH_DIGITS}}})")


def report_name(student: str) -> str:
    """The file stem of a student's reports: the name itself where it is plain, else made plain with a hash behind it.

    It follows from the name alone, so that it stays the same whoever else is in the class, and differs even on a file
    system that ignores case: only a name that is already lower-case letters, digits, `.`, `_` and `-` goes without the
    hash, and none that looks as if it had one. A class is looked through for doubles all the same (collecting.apart).
    """
    return _name_with_hash(student, _HASH_DIGITS)


def former_report_name(student: str) -> str:
    """What `report_name` gave before its hashes grew: files in older folders of results are still called so."""
    return _name_with_hash(student, _FORMER_HASH_DIGITS)


def _name_with_hash(student: str, digits: int) -> str:
    plain = re.sub(r"[^a-z0-9._-]+", "-", student.lower()).strip(".-")[:60]
    if plain == student and plain and not _DEVICES.fullmatch(plain) and not _HASHED.fullmatch(plain):
        return plain
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    return f"{plain or 'student'}-{digest}"


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Writes UTF-8 `text` to `path` so that a reader, or a kill at any moment, finds the old file or the new one."""
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes `data` to `path` whole or not at all; raises `MachineFault` where the disk or its owner does not let us."""
    target = Path(path)
    try:
        _replace(target, data)
    except OSError as problem:
        remedy = "Mend that and give the same command again: what has been graded is kept."
        raise MachineFault(f"{target} cannot be written: {problem.strerror or problem}.", remedy=remedy) from None


def _replace(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes it private; a report is there to be read
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
