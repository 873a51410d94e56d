"""What a Python process does before its program, where that is to run on the simulated GPU (child_processes.py).

Only the standard library is imported up here: most processes use no GPU.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
import types
from collections.abc import Sequence

from autograder import run_texts
from autograder.simgpu.host.child_processes import is_asked

OURS = ("autograder.language", "autograder.simgpu.primitives")  # that come to import Numba


def begin() -> None:
    """The simulated GPU takes numba.cuda's place once Numba is imported."""
    if not is_asked() or any(isinstance(each, AfterNumba) for each in sys.meta_path) or "numba" in sys.modules:
        return
    run_texts.remember()
    if sys.argv[:1] in ([""], ["-"]) and not sys.flags.interactive and sys.stdin is not None and not sys.stdin.isatty():
        _keep_standard_input()
    sys.meta_path.insert(0, AfterNumba())


def _keep_standard_input() -> None:
    """Keeps the text of a program that Python is about to read from standard input, where it is then found again."""
    text = sys.stdin.buffer.read()
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    run_texts.keep(text.decode("utf-8", errors="replace"))


class AfterNumba(importlib.abc.MetaPathFinder):
    """Finds Numba as it is found without it, and installs the simulated GPU once Numba has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "numba":
            return None
        sys.meta_path.remove(self)
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is not None and found.loader is not None:
            found.loader = ThenSimulate(found.loader)
        return found


class ThenSimulate(importlib.abc.Loader):
    """A module's own loader, and the simulated GPU installed after it."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self.loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        if set(sys.modules).isdisjoint(OURS):  # else it is the simulated GPU that imports Numba, for whoever asked for it
            from autograder.simgpu.loading import for_good

            with for_good():
                from autograder.simgpu.host import cuda_module

            cuda_module.install()
