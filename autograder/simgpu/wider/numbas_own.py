"""Numba's own modules below `numba.cuda`, beside the simulated one: those that say of which types things are, and what the
compiler makes of them. None of them asks for a driver when it is imported.

Programs that extend Numba register there (`numba.cuda.cudadecl.registry`), and the simulated GPU asks there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE = "numba.cuda"
# What programs import of the compiler; with or without the package numba-cuda, which has more of them.
OF_THE_COMPILER = (
    "cgutils cudadecl cudaimpl cudamath mathimpl libdevicedecl libdeviceimpl libdevicefuncs models target descriptor "
    "nvvmutils stubs typing datamodel core errors"
).split()

_own: dict[str, ModuleType] = {}  # modules of the other `numba.cuda`, while the simulated one stands in its place


def module(name: str) -> ModuleType:
    """Numba's own `numba.cuda.name`; raises ImportError where this Numba has none."""
    with in_place():
        return importlib.import_module(f"{PACKAGE}.{name}")


def of_the_compiler(name: str) -> ModuleType:
    """A module of the compiler: numba-cuda has its own `numba.cuda.core`, the Numba without it `numba.core` for all."""
    try:
        return module(f"core.{name}")
    except ImportError:
        return importlib.import_module(f"numba.core.{name}")


def imported(name: str) -> ModuleType | None:
    """Numba's own `numba.cuda.name`, where it has been imported already."""
    return (_own if _is_simulated() else sys.modules).get(f"{PACKAGE}.{name}")


@contextmanager
def in_place() -> Iterator[None]:
    """Numba's own modules in the place of the simulated ones: its compiler imports some of them as it goes."""
    import numba

    if not _is_simulated():
        yield
        return
    simulated = _taken_out()
    attribute = numba.__dict__.pop("cuda", None)
    sys.modules.update(_own)
    if PACKAGE in _own:
        numba.__dict__["cuda"] = _own[PACKAGE]
    try:
        yield
    finally:
        _own.update(_taken_out())
        sys.modules.update(simulated)
        numba.__dict__["cuda"] = attribute


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]
    return {name: sys.modules.pop(name) for name in names}


class _Finder(MetaPathFinder, Loader):
    """Finds modules of the compiler below the simulated `numba.cuda`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        below = fullname.removeprefix(f"{PACKAGE}.")
        if below == fullname or below.split(".")[0] not in OF_THE_COMPILER or not _is_simulated():
            return None
        try:
            found = module(below)
        except ImportError:
            return None
        return ModuleSpec(fullname, self, is_package=hasattr(found, "__path__"))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module with the same names: Numba's own keeps its place among Numba's."""
        made = ModuleType(spec.name, "Numba's own, beside the simulated GPU.")
        made.__dict__.update({k: v for k, v in vars(module(spec.name.removeprefix(f"{PACKAGE}."))).items() if k[:2] != "__"})
        return made

    def exec_module(self, module: ModuleType) -> None:
        """It is there already."""


def _is_simulated() -> bool:
    return bool(getattr(sys.modules.get(PACKAGE), "simulated", False))


_finder = _Finder()


def install(before: dict[str, ModuleType]) -> None:
    """Lets programs import these modules; `before`: what of them was imported before the simulated GPU was installed."""
    _own.update(before)
    sys.meta_path.insert(0, _finder)


def uninstall() -> dict[str, ModuleType]:
    """Ends that; gives all of Numba's own modules that are imported by now."""
    sys.meta_path.remove(_finder)
    own = dict(_own)
    _own.clear()
    return own
