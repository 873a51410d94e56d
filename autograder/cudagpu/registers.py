"""Registers of a kernel's thread, from the compiler itself: numba-cuda makes PTX without a driver, ptxas counts.

Needs no GPU. Where numba-cuda or ptxas is missing, or will not compile for a GPU, the answer is None.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.cudagpu.compilation import Compiler
from autograder.language.program import Function

ASSEMBLER_SECONDS = 60
_USED = re.compile(r"Used (\d+) registers")


def registers_per_thread(
    function: Function, arguments: Sequence[object], compute_capability: tuple[int, int]
) -> int | None:
    """Registers that a kernel takes with arguments of these types; None where no compiler says.

    `arguments` may be stand-ins (see `stand_in`): only their types are looked at.
    """
    if not assemblers():
        return None
    ptx = _ptx(function, arguments, compute_capability)
    if ptx is None:
        return None
    limit = [f"-maxrregcount={function.options.max_registers}"] if function.options.max_registers else []
    for assembler in assemblers():  # one that is older than the PTX refuses it
        used = _assembled(assembler, ptx, compute_capability, limit)
        if used is not None:
            return used
    return None


def stand_in(value: object) -> object:
    """A tiny value of the same type: enough for the compiler, and nothing large is kept alive."""
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(stand_in(each) for each in value)
    shape, strides, dtype = (getattr(value, name, None) for name in ("shape", "strides", "dtype"))
    if not isinstance(dtype, np.dtype) or not shape or strides is None:
        return value
    if _is_dense(shape, strides, dtype.itemsize, range(len(shape))[::-1]):
        return np.zeros((2,) * len(shape), dtype)
    if _is_dense(shape, strides, dtype.itemsize, range(len(shape))):
        return np.zeros((2,) * len(shape), dtype, order="F")
    return np.zeros((4,) * len(shape), dtype)[(slice(None, None, 2),) * len(shape)]


def _is_dense(shape: Sequence[int], strides: Sequence[int], itemsize: int, axes: Sequence[int]) -> bool:
    """Whether the elements follow each other with the first of `axes` running fastest."""
    step = itemsize
    for axis in axes:
        if shape[axis] > 1 and strides[axis] != step:
            return False
        step *= shape[axis]
    return True


@cache
def assemblers() -> tuple[str, ...]:
    """Every ptxas found: beside NVIDIA's Python packages, in $CUDA_HOME, on the PATH."""
    name = "ptxas.exe" if sys.platform == "win32" else "ptxas"
    found = [shutil.which(name)]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            found.insert(0, shutil.which(name, path=str(Path(os.environ[variable]) / "bin")))
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages.submodule_search_locations or ()) if packages else ():
        found[:0] = [str(each) for each in sorted(Path(folder).glob(f"*/bin/{name}"), reverse=True)]
    return tuple(dict.fromkeys(each for each in found if each))


def _ptx(function: Function, arguments: Sequence[object], compute_capability: tuple[int, int]) -> str | None:
    """The kernel as PTX; None where numba-cuda is not installed or refuses it (a real launch says why)."""
    with _the_real_numba_cuda(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import numba
            from numba import cuda

            types = tuple(numba.typeof(each) for each in arguments)
            plain = Compiler().dispatcher(function).py_func
            fastmath = function.options.fastmath
            ptx: str = cuda.compile_ptx(plain, types, device=False, cc=compute_capability, fastmath=fastmath)[0]
            return ptx
        except Exception:  # no libNVVM, an architecture that it no longer knows, a kernel that does not compile
            return None


@contextmanager
def _the_real_numba_cuda() -> Iterator[None]:
    """Numba's own `cuda` while the simulated one stands in its place; the very same simulated one afterwards."""
    simulated = sys.modules.get("numba.cuda")
    if not getattr(simulated, "simulated", False):
        yield
        return
    import numba

    from autograder.simgpu.host import cuda_module

    kept = {name: module for name, module in sys.modules.items() if name.startswith("numba.cuda")}
    cuda_module.uninstall()
    try:
        yield
    finally:
        cuda_module.install()
        sys.modules.update(kept)
        numba.cuda = simulated


def _assembled(assembler: str, ptx: str, compute_capability: tuple[int, int], options: Sequence[str]) -> int | None:
    major, minor = compute_capability
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx, encoding="utf-8")
        command = [assembler, "-v", f"-arch=sm_{major}{minor}", *options, str(source), "-o", str(source) + ".cubin"]
        try:
            done: Any = subprocess.run(command, capture_output=True, text=True, timeout=ASSEMBLER_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return None
    used = [int(each) for each in _USED.findall(done.stdout + done.stderr)]
    return max(used) if used and not done.returncode else None
