"""The archive of a term: what was handed in, seeds, labs, the kit itself, and what came of it.

It is a tar file, which keeps what a zip does not: links, files with two names, times, and names in any encoding, on which
rows of a gradebook may depend. Nothing goes in that would not come out the same: each result's key is held against the
submission, the lab, the seed and the kit of today.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import platform
import tarfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import autograder
from autograder.course_folder import PACKAGE, lab_modules, needed_packages
from autograder.errors import UsageError
from autograder.grading.class_folder import GradedFrom, graded_from, read_class
from autograder.grading.exports import opened_class
from autograder.grading.grade import PUBLIC_SEED
from autograder.grading.identity import grader_version, result_key
from autograder.grading.labs import load_lab, read_seed, with_hidden_checks
from autograder.grading.spec import Lab
from autograder.grading.submissions import first_names
from autograder.records.files import look_at_target, replacement
from autograder.records.results import Result

ENDINGS = (".tar.gz", ".tgz")
LEFT_OUT = {"tests", "__pycache__", ".ipynb_checkpoints"}
README = """# Graded classes

Graded with Mind the Bandwidth {kit} (grader {grader}), Python {python}, on {machine}; archived {made}.

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/python again.py

grades each class again, with what lies here and nothing else, into the folder `again`, and says whether its gradebook is the
same, byte for byte. Windows: `.venv\\Scripts`.

{classes}

Of each class there are: `submissions`, as they were given; `grades`, with `gradebook.csv`, reports and results; `labs`,
the specs that were used; and where there were any, `hidden` checks and the secret seed (`seed.txt`). `kit` is the grader.
All of it is the instructor's: names, grades and seeds are in it.
"""


@dataclass(frozen=True)
class ArchivedClass:
    """One class as it is archived."""

    name: str
    out: Path
    results: Sequence[Result]
    graded: GradedFrom
    lab: Lab
    seed: str

    @property
    def submissions(self) -> Path:
        return Path(self.graded.submissions)

    @property
    def device(self) -> str:
        return "gpu" if any(each.source == "measured" for each in self.results) else "simulated"

    def to_dict(self) -> dict[str, Any]:
        """What again.py has to know of it."""
        return {
            "name": self.name,
            "lab": self.lab.name,
            "submissions": self.submissions.name,
            "has_seed": self.seed != PUBLIC_SEED,
            "hidden": self.lab.hidden_spec.name if self.lab.hidden_spec else "",
            "device": self.device,
            "students": len(self.results),
            "gradebook_sha256": hashlib.sha256((self.out / "gradebook.csv").read_bytes()).hexdigest(),
        }


def archive(outs: Iterable[Path], to: Path, tell: Callable[[str], object] = lambda line: None) -> list[ArchivedClass]:
    """Writes the archive of these classes, each the folder that `grade` wrote, whole or not at all.

    `tell` gets a line for each class whose gradebook may not come out the same. Raises `UsageError` where one cannot be
    graded again from what is there now.
    """
    if not to.name.lower().endswith(ENDINGS):
        raise UsageError(f"{to} is to end in {' or '.join(ENDINGS)}.", remedy="For example: --to TERM.tar.gz")
    look_at_target(to)
    classes: list[ArchivedClass] = []
    for out in outs:
        names = {each.name for each in classes}
        found = _class_of(out, next(name for name in _names(out) if name not in names))
        for line in _may_differ(found):
            tell(f"{out}: {line}")
        classes.append(found)
    try:
        with replacement(to, 0o600) as file:  # it holds grades and seeds
            try:
                with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
                    _write(tar, to.name.split(".")[0], classes)
            except OSError as problem:
                what = f"{problem.filename} cannot be read" if problem.filename else f"{to} cannot be written"
                raise UsageError(f"{what}: {problem.strerror or problem}.") from None
    except OSError as problem:
        raise UsageError(f"{to} cannot be written: {problem.strerror or problem}.") from None
    return classes


def _names(out: Path) -> Iterable[str]:
    """What a class may be called in the archive: as its folder is, and with a number where that is taken."""
    own = out.resolve().name
    yield own
    number = 2
    while True:
        yield f"{own}-{number}"
        number += 1


def _class_of(out: Path, name: str) -> ArchivedClass:
    """A class that can be graded again; raises `UsageError` where it cannot."""
    results, graded = read_class(out), graded_from(out)
    once_more = "Give its `grade` command once more: what is the same is not graded again."
    if graded is None:
        raise UsageError(f"{out} does not say what it was graded from: an older version wrote it.", remedy=once_more)
    if not Path(graded.submissions).exists():
        what = f"{graded.submissions}, from which {out} was graded, is not there any more."
        raise UsageError(what, remedy=f"Bring it back, or grade from where it lies now. {once_more}")
    if graded.grader != grader_version():
        what = f"{out} was graded with another version of the kit ({graded.kit}) than this one ({autograder.__version__})."
        raise UsageError(what, remedy=f"Archive it with that version. Or, to have today's verdicts: {once_more}")
    lab = load_lab(graded.labs)
    lab = with_hidden_checks(lab, Path(graded.hidden)) if graded.hidden else lab
    seed = read_seed(Path(graded.seed_file)) if graded.seed_file else PUBLIC_SEED
    if changed := _changed(results, graded, lab, seed, out):
        who = f"{len(changed)} of {out} ({first_names(changed)})"
        raise UsageError(f"The submission, the lab or the seed has changed since: {who}.", remedy=once_more)
    return ArchivedClass(name, out, results, graded, lab, seed)


def _changed(results: Sequence[Result], graded: GradedFrom, lab: Lab, seed: str, out: Path) -> list[str]:
    """The students whose result is of something else than what is there now; those that we failed to grade aside."""
    keys = {each.student: each for each in results}
    changed = []
    with opened_class(Path(graded.submissions), out) as entries:
        for entry in entries:
            result = keys.pop(entry.student, None)
            if result is None or bool(entry.problem) != (not result.digest):
                changed.append(entry.student)
            elif not entry.problem and not any(check.fault for check in result.checks):
                key = result_key(lab, entry.path, seed, result.device, entry.flags)
                changed += [entry.student] if key != result.key else []
    return [*changed, *keys]


def _may_differ(found: ArchivedClass) -> list[str]:
    """What of a class need not come out the same again."""
    faults = [each.student for each in found.results if any(check.fault for check in each.checks)]
    lines = [f"{first_names(faults)}: the grader could not run every check, and may another time."] if faults else []
    if found.device == "gpu":
        lines.append("speeds were measured on a GPU, and are measured anew where it is graded again.")
    return lines


# ---- what goes in ----------------------------------------------------------------------------------


def packages() -> dict[str, str]:
    """The installed versions of what the package itself needs, by name."""
    found = {}
    for name in sorted(needed_packages()):
        with suppress(importlib.metadata.PackageNotFoundError):  # not for this Python or system
            found[name] = importlib.metadata.version(name)
    return found


def _write(tar: tarfile.TarFile, top: str, classes: Sequence[ArchivedClass]) -> None:
    versions = {
        "kit": autograder.__version__,
        "grader": grader_version(),
        "python": platform.python_version(),
        "machine": platform.platform(),
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    listed = {**versions, "packages": packages(), "classes": [each.to_dict() for each in classes]}
    lines = "\n".join(f"- `{each.name}`: {each.lab.title}, {len(each.results)} students" for each in classes)
    _add_text(tar, f"{top}/README.md", README.format(**versions, classes=lines))
    _add_text(tar, f"{top}/archive.json", json.dumps(listed, indent=1) + "\n")
    _add_text(tar, f"{top}/requirements.txt", "".join(f"{name}=={version}\n" for name, version in packages().items()))
    tar.add(Path(__file__).with_name("again.py"), f"{top}/again.py", filter=_without_owner)
    for path in sorted(PACKAGE.rglob("*")):
        within = path.relative_to(PACKAGE)
        if path.is_file() and not LEFT_OUT & set(within.parts):
            tar.add(path, f"{top}/kit/autograder/{within.as_posix()}", filter=_without_owner)
    for each in classes:
        _write_class(tar, f"{top}/classes/{each.name}", each)


def _write_class(tar: tarfile.TarFile, folder: str, each: ArchivedClass) -> None:
    out, place = each.out.resolve(), f"{folder}/submissions/{each.submissions.name}"

    def handed_in(item: tarfile.TarInfo) -> tarfile.TarInfo | None:
        within = item.name.removeprefix(place).strip("/")
        return None if each.submissions.resolve() / within == out else _without_owner(item)

    tar.add(each.submissions, place, filter=handed_in)
    for path in sorted(out.rglob("*")):
        within = path.relative_to(out)
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in within.parts):
            tar.add(path, f"{folder}/grades/{within.as_posix()}", filter=_without_owner)
    for path in (*sorted(each.lab.folder.glob("*.py")), each.lab.notebook):
        tar.add(path, f"{folder}/labs/{each.lab.name}/{path.name}", filter=_without_owner)
    if (hidden := each.lab.hidden_spec) is not None:
        for path in lab_modules(hidden.parent, (hidden.name,)):
            tar.add(path, f"{folder}/hidden/{path.name}", filter=_without_owner)
    if each.seed != PUBLIC_SEED:
        _add_text(tar, f"{folder}/seed.txt", each.seed + "\n")


def _without_owner(item: tarfile.TarInfo) -> tarfile.TarInfo:
    """The item without whose file it is on this machine."""
    item.uid = item.gid = 0
    item.uname = item.gname = ""
    return item


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    item = tarfile.TarInfo(name)
    item.size, item.mtime = len(data), int(datetime.now(timezone.utc).timestamp())
    tar.addfile(item, io.BytesIO(data))
