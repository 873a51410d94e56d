"""A stranger's zip, unpacked without trusting a word of it: every member becomes a file of ours or a reason why not.

Nothing is written under a name from the zip, only what could be a submission is unpacked, and reading stops at a limit
whatever sizes the zip declares. (Zip bombs: https://www.bamsoftware.com/hacks/zipbomb/; names that lead out of the
folder: https://security.snyk.io/research/zip-slip-vulnerability.)
"""

from __future__ import annotations

import re
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.errors import MachineFault, UsageError, one_line
from autograder.grading.exports.decompressing import pieces
from autograder.grading.exports.names import GRADESCOPE_METADATA
from autograder.grading.submissions import ENDINGS, ending, left_by_a_system

MOST_MEMBERS = 100_000
MOST_BYTES_A_FILE = 16 << 20  # a notebook with its pictures; what may be graded is smaller still
MOST_BYTES_OF_METADATA = 512 << 20  # Gradescope's holds all earlier results
MOST_BYTES = 4 << 30  # all that is unpacked, whether it is kept or not
NESTED = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".bz2", ".xz")


@dataclass(frozen=True)
class ArchivedFile:
    """One file that was handed in: where it lay, and where it can be read. If it cannot be read, `problem` says why.

    An empty folder counts as a file with an empty last part, because it belongs to somebody.
    """

    parts: tuple[str, ...]
    path: Path
    problem: str = ""
    when: tuple[int, ...] = ()  # the time that the archive gives it, with its place in the archive
    is_astray: bool = False  # its name leads out of the archive, so that it is in nobody's folder
    times: int = 1  # that an archive holds a file of this name

    @property
    def shown_as(self) -> str:
        return "/".join(self.parts)

    @property
    def last(self) -> str:
        """The name of the file, or of the empty folder with a stroke behind it."""
        return self.parts[-1] or f"{self.parts[-2]}/"

    @property
    def is_left(self) -> bool:
        """Whether a system, Jupyter or Python left it: it says whose the folder is, and is nobody's answer."""
        return any(map(left_by_a_system, self.parts))


def unpacked(archive: Path, into: Path) -> list[ArchivedFile]:
    """Every file and every empty folder of a zip, in its order. What could be a submission is unpacked to `into`.

    Nothing is passed over here: whose a file is follows from all the names, also of those that nobody wants.
    Raises `UsageError` for no zip.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            if len(members) > MOST_MEMBERS:
                raise UsageError(f"{archive} holds {len(members):,} files, at most {MOST_MEMBERS:,} are allowed.")
            room, items = MOST_BYTES, []
            for place, member in enumerate(members):
                if parts := _parts(_name(member)):
                    item, used = _unpacked(opened, member, parts, into / f"{place:06}", place, room)
                    room -= used
                    items.append(item)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as problem:
        raise UsageError(f"{archive} is not a zip that can be read: {problem}.") from None
    except OSError as problem:
        raise UsageError(f"{archive} cannot be read: {problem.strerror or problem}.") from None
    return _without_full_folders(items)


def _unpacked(
    opened: zipfile.ZipFile, member: zipfile.ZipInfo, parts: tuple[str, ...], folder: Path, place: int, room: int
) -> tuple[ArchivedFile, int]:
    """One member, and the bytes that were unpacked for it, kept or not."""
    when = (*member.date_time, place)
    shown = "/".join(parts)
    kind = ending(PurePosixPath(parts[-1]))
    if _leads_out(member):
        problem = f"{shown} has a name that leads out of the zip: it was not unpacked."
        return ArchivedFile(parts, folder, problem, when, is_astray=True), 0
    if parts[-1] == "":
        return ArchivedFile(parts, folder, f"The folder {shown.rstrip('/')} is empty.", when), 0
    problem = _refusal(member, shown)
    is_wanted = (kind in ENDINGS or parts[-1] == GRADESCOPE_METADATA) and not any(map(left_by_a_system, parts))
    if problem or not is_wanted:
        return ArchivedFile(parts, folder, problem or _not_a_submission(shown), when), 0
    path = folder / f"lab{kind}"
    limit = MOST_BYTES_OF_METADATA if parts[-1] == GRADESCOPE_METADATA else MOST_BYTES_A_FILE
    too_large = f"{shown} unpacks to more than {_size(limit)}: no submission is that large."
    if room < limit:
        limit = room
        too_large = f"{shown} was not unpacked: the zip unpacks to more than {_size(MOST_BYTES)}."
    if limit <= 0 or member.file_size > limit:  # what it says of itself is believed only where it counts against it
        return ArchivedFile(parts, path, too_large, when), 0
    problem, used = _write(opened, member, path, limit, shown, too_large)
    return ArchivedFile(parts, path, problem, when), used


def _write(
    opened: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, limit: int, shown: str, too_large: str
) -> tuple[str, int]:
    """Copies one member piece by piece; returns (what went wrong, bytes unpacked). After an error no file is left.

    Raises `MachineFault` where it is this machine that cannot take it.
    """
    written, problem = 0, ""
    try:
        with _made(path) as target:
            for piece in pieces(opened, member):
                written += len(piece)
                if written > limit:
                    problem = too_large
                    break
                _put(target, piece)
    except MachineFault:
        raise
    except Exception as reason:  # whatever a decompressor has to say of a stranger's bytes costs this row and no other
        what = one_line(str(reason)).rstrip(".") or type(reason).__name__
        problem = f"{shown} is damaged in the zip and cannot be unpacked: {what}."
    if problem:
        path.unlink(missing_ok=True)
        return problem, written
    return "" if written else f"{shown} is empty.", written


def _made(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True)
        return open(path, "wb")
    except OSError as problem:
        raise _not_written(path, problem) from None


def _put(target: BinaryIO, piece: bytes) -> None:
    try:
        target.write(piece)
        target.flush()  # so that closing it has nothing left to fail
    except OSError as problem:
        raise _not_written(Path(target.name), problem) from None


def _not_written(path: Path, problem: OSError) -> MachineFault:
    remedy = "Make room there, or let TMPDIR name another folder, and give the same command again."
    return MachineFault(f"The class cannot be unpacked to {path.parents[1]}: {problem.strerror}.", remedy=remedy)


def _without_full_folders(items: list[ArchivedFile]) -> list[ArchivedFile]:
    """The same items without the folders that hold something, and each empty folder once."""
    shown = sorted({each.shown_as for each in items})
    full = {one for one, other in zip(shown, shown[1:], strict=False) if one.endswith("/") and other.startswith(one)}
    kept: dict[str, ArchivedFile] = {}
    for place, item in enumerate(items):
        if item.parts[-1]:
            kept[f"{place}:{item.shown_as}"] = item
        elif item.shown_as not in full:
            kept[item.shown_as] = item
    return list(kept.values())


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
    """The folders and the file that a member's name says, `.` and empty ones left out; a folder's last part is empty.

    None at all for the folder around everything.
    """
    each = name.replace("\\", "/").split("/")
    parts = tuple(part for part in each if part not in ("", "."))
    if each[-1] in ("", ".") and name:
        return (*parts, "") if parts else ()
    return parts or ("?",)


def _size(size: int) -> str:
    return f"{size >> 20:,} MiB" if size < 1 << 30 else f"{size >> 30:,} GiB"
