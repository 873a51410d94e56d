"""Copies of the package that need not compile the simulated GPU's primitives again: ten seconds of a processor each.

That they compile where nobody has done so is what test_layout_start.py and every new `.venv` show.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

from autograder.course_folder import lay_course
from autograder.tests.test_layout_repository import PACKAGE


def lend_compiled(package: Path) -> int:
    """Gives a copy of the package what Numba has compiled of the same sources here; returns how many functions.

    Numba knows a source by its time and its size, so that the copy's gets the time of ours.
    """
    lent = 0
    for index in PACKAGE.rglob("__pycache__/*.nbi"):
        source = index.parent.parent / f"{index.name.partition('.')[0]}.py"
        copy = package / source.relative_to(PACKAGE)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            continue
        there = source.stat()
        os.utime(copy, ns=(there.st_atime_ns, there.st_mtime_ns))
        (copy.parent / "__pycache__").mkdir(exist_ok=True)
        for file in index.parent.glob(f"{index.name.removesuffix('.nbi')}.*"):
            if file.suffix in (".nbi", ".nbc"):  # and nothing that somebody is writing
                shutil.copy2(file, copy.parent / "__pycache__")
        lent += 1
    return lent


def lend_cache(folder: Path, without: Collection[str] = ()) -> None:
    """Fills a folder for `NUMBA_CACHE_DIR` with what is compiled here, all but these modules, by their last names."""
    for index in PACKAGE.rglob("__pycache__/*.nbi"):
        source = index.parent.parent / f"{index.name.partition('.')[0]}.py"
        if source.stem in without:
            continue
        there = folder / UserProvidedCacheLocator.get_suitable_cache_subpath(str(source))
        there.mkdir(parents=True, exist_ok=True)
        for file in index.parent.glob(f"{index.name.removesuffix('.nbi')}.*"):
            if file.suffix in (".nbi", ".nbc"):  # and nothing that somebody is writing
                shutil.copy2(file, there)


def laid_with_compiled(target: Path, labs: Path | None = None, *, with_package: bool = False) -> list[Path]:
    """`lay_course`, whose copy then need not compile what is compiled here."""
    written = lay_course(target, labs, with_package=with_package)
    lend_compiled(target / "autograder")
    return written
