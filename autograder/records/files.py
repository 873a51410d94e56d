"""Report files: written whole or not at all, under names that every file system takes."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
import unicodedata
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from autograder.errors import MachineFault, UsageError

# What Windows forbids, and what begins or ends a name there or hides it elsewhere; other systems forbid less.
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_AT_THE_ENDS = " .-"
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\..*)?")  # reserved by Windows, whatever their ending
_HASH_DIGITS = 16  # hexadecimal
_HASHED = re.compile(r".*-(?:[0-9a-f]{8}|[0-9a-f]{16})", re.DOTALL)  # eight in an older version
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every file in a zip, so that the same files make the same zip
_PLAIN, _EXECUTABLE = 0o100644, 0o100755  # ordinary files, as Unix has their rights
_UNIX = 3
UNFINISHED = ".[0-9a-z_]*.tmp"  # names of files that are being written, as tempfile makes them
_MOST_CHARACTERS, _MOST_BYTES = 60, 120  # of a name, without its hash and ending


def report_name(student: str) -> str:
    """The file stem of a student's reports: the name itself where it is plain, else what of it can be kept and a hash.

    It follows from the name alone, so that it stays the same whoever else is in the class, and letters of any script stay.
    Two names must differ even where a file system ignores case and how accents are put together. So of all names that
    such a system takes for one, a single spelling goes without the hash: small letters where there is no blank (`ada`), a
    capital to each word where there is (`Ada Lovelace`). Nor does any that looks as if it had a hash.
    """
    kept = _kept(student)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", student).casefold())
    spelling = folded.title() if " " in folded else folded
    is_plain = kept == student == spelling and kept and not _DEVICES.fullmatch(folded) and not _HASHED.fullmatch(folded)
    return kept if is_plain else f"{kept or 'student'}-{_hash(student, _HASH_DIGITS)}"


def former_report_names(student: str) -> tuple[str, ...]:
    """What `report_name` gave in older versions, whose folders of results are still found: ASCII alone, with a hash."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", student.lower()).strip(".-")[:60] or "student"
    return tuple(f"{plain}-{_hash(student, digits)}" for digits in (16, 8))


def _kept(name: str) -> str:
    """A name without what some file system forbids, and no longer than all of them take."""
    shown = (_allowed(character) for character in unicodedata.normalize("NFC", name))
    short = "".join(shown)[:_MOST_CHARACTERS]
    return short.encode("utf-8")[:_MOST_BYTES].decode("utf-8", "ignore").strip(_AT_THE_ENDS)


def _allowed(character: str) -> str:
    """The character, a blank for any other kind of space, or a stroke for what has no place in a name."""
    category = unicodedata.category(character)
    if category[0] == "Z":
        return " "
    return "-" if category[0] == "C" or _FORBIDDEN.match(character) else character


def _hash(name: str, digits: int) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def write_atomically(path: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Writes UTF-8 `text`, or pieces of it, to `path` so that a reader, or a kill at any moment, finds the old file or the
    new one. Raises what `write_bytes_atomically` raises, and what comes of the pieces."""
    if isinstance(text, str):
        write_bytes_atomically(path, text.encode("utf-8"))
    else:
        _written(Path(path), (piece.encode("utf-8") for piece in text))


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes `data` to `path` whole or not at all, and leaves a file alone that holds just that.

    Waiting for the disk is most of what a class's pages cost where nothing has changed. Raises `MachineFault` where the disk
    or its owner does not let us.
    """
    target = Path(path)
    with suppress(OSError):  # it is not there, or will not be read: it is written
        if target.stat().st_size == len(data) and target.read_bytes() == data:
            return
    _written(target, [data])


def _written(target: Path, pieces: Iterable[bytes]) -> None:
    try:
        _replace(target, pieces)
    except OSError as problem:
        remedy = "Mend that and give the same command again: what has been graded is kept."
        raise MachineFault(f"{target} cannot be written: {problem.strerror or problem}.", remedy=remedy) from None


def remove_file(path: Path) -> None:
    """Removes a file, if it is there; raises `MachineFault` where the disk or its owner does not let us."""
    try:
        if path.is_file():
            path.unlink(missing_ok=True)
    except OSError as problem:
        raise MachineFault(f"{path} cannot be removed: {problem.strerror}.", remedy="Remove it, and try again.") from None


def look_at_target(path: Path) -> None:
    """Raises `UsageError` where no file can come to lie there: before the work that it takes, not after."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file.", remedy="Name the file that is to be written.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} for {path.name}.", remedy="Make it first.")


def write_zip(path: Path, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
    """Writes a zip of these files by name, whole or not at all; those named in `executable` can be run. Raises `OSError`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.create_system, entry.compress_type = _UNIX, zipfile.ZIP_DEFLATED
            entry.external_attr = (_EXECUTABLE if name in executable else _PLAIN) << 16
            opened.writestr(entry, data)
    _replace(path, [buffer.getvalue()])


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacement(target, 0o644) as file:  # a report is there to be read
        file.writelines(pieces)


@contextmanager
def replacement(target: Path, mode: int) -> Iterator[BinaryIO]:
    """A file to write to, which comes to lie at `target` when the block ends, and never if it raises; `mode`: its rights."""
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=target.absolute().parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
