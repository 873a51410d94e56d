"""A stranger's zip, unpacked without trusting a word of it: every member becomes a file of ours or a reason why not.

Nothing is written under a name from the zip, only what could be a submission is unpacked, and reading stops at a limit
whatever sizes the zip declares. (Zip bombs: https://www.bamsoftware.com/hacks/zipbomb/; names that lead out of the
folder: https://security.snyk.io/research/zip-slip-vulnerability.)
"""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.errors import UsageError
from autograder.grading.exports.names import GRADESCOPE_METADATA
from autograder.grading.submissions import ENDINGS, LEFT_BY_SYSTEMS, ending

MOST_MEMBERS = 100_000
MOST_BYTES_A_FILE = 16 << 20  # a notebook with its pictures; what may be graded is smaller still
MOST_BYTES_OF_METADATA = 512 << 20  # Gradescope's holds all earlier results
MOST_BYTES = 4 << 30  # all that is unpacked
NESTED = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".bz2", ".xz")
_PIECE = 1 << 20


@dataclass(frozen=True)
class Item:
    """One file that was handed in: where it lay, and where it can be read or the `problem` that it cannot."""

    parts: tuple[str, ...]
    path: Path
    problem: str = ""
    when: tuple[int, ...] = ()  # the time that the archive gives it, with its place in the archive
    is_astray: bool = False  # its name leads out of the archive, so that it is in nobody's folder

    @property
    def shown(self) -> str:
        return "/".join(self.parts)


def unpacked(archive: Path, into: Path) -> list[Item]:
    """Every file of a zip, in its order, unpacked to `into` under names of our own; raises `UsageError` for no zip."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            if len(members) > MOST_MEMBERS:
                raise UsageError(f"{archive} holds {len(members):,} files, at most {MOST_MEMBERS:,} are allowed.")
            room, items = MOST_BYTES, []
            for place, member in enumerate(members):
                if not member.is_dir() and not _left_by_a_system(parts := _parts(_name(member))):
                    item = _unpacked(opened, member, parts, into / f"{place:06}", place, room)
                    room -= item.path.stat().st_size if item.path.is_file() else 0
                    items.append(item)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as problem:
        raise UsageError(f"{archive} is not a zip that can be read: {problem}.") from None
    except OSError as problem:
        raise UsageError(f"{archive} cannot be read: {problem.strerror or problem}.") from None
    return items


def _unpacked(
    opened: zipfile.ZipFile, member: zipfile.ZipInfo, parts: tuple[str, ...], folder: Path, place: int, room: int
) -> Item:
    when = (*member.date_time, place)
    shown = "/".join(parts)
    kind = ending(PurePosixPath(parts[-1]))
    if _leads_out(member):
        return Item(parts, folder, f"{shown} has a name that leads out of the zip: it was not unpacked.", when, True)
    problem = _refusal(member, shown)
    if problem or (kind not in ENDINGS and parts[-1] != GRADESCOPE_METADATA):
        return Item(parts, folder, problem or _not_a_submission(shown), when)
    path = folder / f"lab{kind}"
    limit = MOST_BYTES_OF_METADATA if parts[-1] == GRADESCOPE_METADATA else MOST_BYTES_A_FILE
    if room <= 0:
        return Item(parts, path, f"{shown} was not unpacked: the zip unpacks to more than {_size(MOST_BYTES)}.", when)
    folder.mkdir(parents=True)
    return Item(parts, path, _write(opened, member, path, min(limit, room), shown), when)


def _write(opened: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, limit: int, shown: str) -> str:
    """Copies one member piece by piece; returns what went wrong, and then leaves no file."""
    written = 0
    try:
        with opened.open(member) as source, open(path, "wb") as target:
            while piece := source.read(_PIECE):
                written += len(piece)
                if written > limit:
                    break
                target.write(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as problem:
        path.unlink(missing_ok=True)
        return f"{shown} is damaged in the zip and cannot be unpacked: {problem}."
    if written > limit:
        path.unlink()
        return f"{shown} unpacks to more than {_size(limit)}: no submission is that large."
    return "" if written else f"{shown} is empty."


def _leads_out(member: zipfile.ZipInfo) -> bool:
    name = _name(member).replace("\\", "/")
    return name.startswith("/") or re.match(r"[A-Za-z]:", name) is not None or ".." in name.split("/")


def _refusal(member: zipfile.ZipInfo, shown: str) -> str:
    """Why a member is not even opened; empty where it may be."""
    mode = member.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        what = "a link" if stat.S_ISLNK(mode) else "not an ordinary file"
        return f"{shown} is {what}: hand in the file itself."
    return f"{shown} is protected by a password." if member.flag_bits & 0x1 else ""


def _not_a_submission(shown: str) -> str:
    if shown.lower().endswith(NESTED):
        return f"{shown} is an archive within the zip: hand in the notebook itself."
    return f"{shown} is neither a notebook (.ipynb) nor a Python file (.py)."


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; old tools write UTF-8 without saying so, which zipfile then reads as code page 437."""
    if member.flag_bits & 0x800:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.filename


def _parts(name: str) -> tuple[str, ...]:
    """The folders and the file that a member's name says, `.` and empty ones left out."""
    return tuple(each for each in name.replace("\\", "/").split("/") if each not in ("", ".")) or (name or "?",)


def _left_by_a_system(parts: tuple[str, ...]) -> bool:
    return any(each in LEFT_BY_SYSTEMS or each.startswith("._") for each in parts)


def _size(size: int) -> str:
    return f"{size >> 20:,} MiB" if size < 1 << 30 else f"{size >> 30:,} GiB"
