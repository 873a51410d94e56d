"""Brings a repository at one commit: from GitHub, or from a folder of mirrors where one is given."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from autograder.errors import UsageError

SECONDS = 600  # for a repository
LAYOUTS = ("{owner}+{name}/repo/.git", "{owner}+{name}/repo", "{owner}/{name}.git", "{owner}/{name}/.git", "{owner}/{name}")


def bring(repository: str, commit: str, into: Path, mirrors: Path | None = None) -> Path:
    """The folder with the files of a commit, fresh. What was brought before is used again.

    Raises `UsageError` where the repository or the commit cannot be had.
    """
    folder = into / f"{repository.replace('/', '+')}@{commit[:12]}"
    done = folder / ".git" / "brought"
    if not done.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _git(folder, "init", "-q")
        said = f"{repository} at {commit} cannot be brought"
        if mirrors is None:
            _git(folder, "fetch", "-q", "--depth", "1", f"https://github.com/{repository}.git", commit, said=said)
        else:  # no copy of what may be large, or not all there
            objects = _mirror(repository, mirrors) / "objects"
            (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
            _git(folder, "cat-file", "-e", f"{commit}^{{tree}}", said=said)
        done.write_text("", encoding="utf-8")
    restore(folder, commit)
    return folder


def restore(folder: Path, commit: str) -> None:
    """The files as they were published: what programs wrote beside them goes. A file that a mirror lacks is left out."""
    _git(folder, "read-tree", commit)
    _git(folder, "checkout-index", "-q", "-a", "-f", may_fail=True)
    _git(folder, "clean", "-q", "-d", "-f", "-f", "-x")


def _mirror(repository: str, mirrors: Path) -> Path:
    """The git directory of a repository's clone."""
    owner, name = repository.split("/")
    for layout in LAYOUTS:
        place = mirrors / layout.format(owner=owner, name=name)
        if (place / "HEAD").is_file():
            return place.resolve()
    raise UsageError(f"{mirrors} has no mirror of {repository}.", remedy=f"Put a clone of it at {owner}/{name}.")


def _git(folder: Path, *words: str, said: str = "", may_fail: bool = False) -> None:
    settings = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "filter.lfs.smudge=",
                "-c", "filter.lfs.required=false", "-c", "core.symlinks=false", "-c", "safe.directory=*"]  # fmt: skip
    try:
        done = subprocess.run(
            ["git", *settings, *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        raise UsageError("git is not installed.") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]} took more than {SECONDS} s.") from None
    if done.returncode and not may_fail:
        told = done.stderr.strip().splitlines()
        raise UsageError(f"{said or 'git ' + words[0]}: {told[-1] if told else 'git failed'}")
