"""The modules that `import cupy` and `import cupyx` find while the stand-in is in use."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from autograder.cupy_stand_in import devices, functions
from autograder.cupy_stand_in import memory as device
from autograder.cupy_stand_in.arrays import Arrays, CupyArray, use
from autograder.cupy_stand_in.memory import ArrayMemory, NoSuchModule, lacks, remedy_for

VERSION = "0+simulated.gpu"  # none of CuPy's, so that nobody takes it for CuPy


class StandInModule(ModuleType):
    """A module of the stand-in: what it lacks it says in one line."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise lacks(f"{self.__name__}.{name}")


def contents(memory: ArrayMemory) -> dict[str, Mapping[str, Any]]:
    """Dotted name of each module -> the names in it."""
    arrays = Arrays(memory)
    use(arrays)
    device.use(memory)
    pool = devices.CupyMemoryPool(lambda: arrays.bytes_in_use)
    return {
        "cupy": functions.functions(arrays)
        | {
            "ndarray": CupyArray, "__version__": VERSION, "is_available": lambda: True, "fuse": _fuse,
            "get_default_memory_pool": lambda: pool, "get_default_pinned_memory_pool": lambda: pool,
            "get_array_module": functions.array_module(), "RandomState": functions.random(arrays)["RandomState"],
        },
        "cupy.linalg": functions.linalg(arrays),
        "cupy.fft": functions.fft(arrays),
        "cupy.random": functions.random(arrays),
        "cupy.testing": _testing(),
        "cupy.cuda": devices.cuda() | {"MemoryPool": lambda *_: pool},
        "cupy.cuda.runtime": devices.runtime(),
        "cupy.cuda.nvtx": devices.nvtx(),
        "cupy.cuda.profiler": {"start": devices.do_nothing, "stop": devices.do_nothing},
        "cupyx": {},
        "cupyx.profiler": devices.profiler(),
    }  # fmt: skip


def _fuse(*given: Any, **options: Any) -> Any:
    """`@cupy.fuse`: the function as it is."""
    return given[0] if given and callable(given[0]) else lambda function: function


def _testing() -> dict[str, Any]:
    """NumPy's assertions, which take arrays of both kinds."""

    def on_host(value: Any) -> Any:
        return value.get() if isinstance(value, CupyArray) else value

    def asserting(function: Callable[..., Any]) -> Callable[..., None]:
        def call(*given: Any, **options: Any) -> None:
            function(*map(on_host, given), **options)

        return call

    names = "assert_allclose assert_array_almost_equal assert_array_equal assert_array_less".split()
    return {name: asserting(getattr(np.testing, name)) for name in names}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-in's modules before any CuPy that is installed."""

    def __init__(self, memory: ArrayMemory) -> None:
        self._memory = memory
        self._contents: dict[str, Mapping[str, Any]] | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of one of our modules; None for those of others."""
        if name.split(".")[0] not in ("cupy", "cupyx"):
            return None
        if self._contents is None:
            self._contents = contents(self._memory)
        if name not in self._contents:
            raise NoSuchModule(f"The simulated GPU's stand-in for CuPy has no `{name}`.", remedy=remedy_for(name))
        # A package, so that `from cupy import x` asks here for an x that there is not, and is told so.
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Fills a module, and the modules beneath it, which CuPy imports at once too."""
        assert self._contents is not None
        module.__dict__.update(self._contents[module.__name__])
        for name in self._contents:
            above, _, last = name.rpartition(".")
            if above == module.__name__ and above != "cupyx":
                setattr(module, last, importlib.import_module(name))


def is_installed() -> bool:
    """Whether CuPy itself is installed here, or imported already."""
    known = sys.modules.get("cupy")
    if known is not None:
        return not isinstance(known, StandInModule)
    return any(finder.find_spec("cupy", None) for finder in sys.meta_path if _finds_files(finder))


def _finds_files(finder: Any) -> bool:
    return finder is importlib.machinery.PathFinder or getattr(finder, "__name__", "") == "PathFinder"


_finders: list[Finder] = []


def install(memory: ArrayMemory) -> None:
    """From here on `import cupy` gives the stand-in."""
    if not _finders:
        finder = Finder(memory)
        _finders.append(finder)
        sys.meta_path.insert(0, finder)


def uninstall() -> None:
    """`import cupy` gives again what it gave before; arrays that were made live on."""
    while _finders:
        sys.meta_path.remove(_finders.pop())
        for name in [name for name, module in sys.modules.items() if isinstance(module, StandInModule)]:
            del sys.modules[name]
