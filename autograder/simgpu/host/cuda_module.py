"""The `cuda` module of the simulated GPU: what `from numba import cuda` gives once it is installed.

Unmodified host code runs on it: `@cuda.jit` and launches (dispatch.py), device arrays, streams and events
(host_side.py), `vectorize` (wider/vectorized.py). Names that only mean something inside a kernel (`cuda.threadIdx`,
`cuda.syncthreads`) say so when a host program uses them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from autograder import run_texts
from autograder.errors import KernelFault
from autograder.simgpu.functions.intrinsics import CUDA
from autograder.simgpu.functions.known_functions import CALLS, VALUES
from autograder.simgpu.host import child_processes, driver_side, host_side
from autograder.simgpu.host.dispatch import Kernel, device, jit
from autograder.simgpu.host.freed_memory import keep_freed_memory
from autograder.simgpu.values import numba_names
from autograder.simgpu.values.arrays import DeviceArray
from autograder.simgpu.values.numba_types import scalar
from autograder.simgpu.wider import extending, numbas_own, random_numbers, vector_types, vectorized

# -- the module ---------------------------------------------------------------------------------------------------


class KernelName:
    """A name that only means something inside a kernel; using it on the host says so."""

    def __init__(self, path: str) -> None:
        self.__autograder_path__ = path

    def _complain(self) -> KernelFault:
        name = self.__autograder_path__.removeprefix("numba.")
        return KernelFault(f"`{name}` can only be used inside a kernel.", remedy="Put it in a @cuda.jit function.")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._complain()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__autograder_path__}.{name}"
        if path in CALLS or path in VALUES or any(known.startswith(path + ".") for known in CALLS):
            return KernelName(path)
        raise AttributeError(f"{self.__autograder_path__.removeprefix('numba.')} has no attribute {name}")

    def __repr__(self) -> str:
        return f"<{self.__autograder_path__.removeprefix('numba.')}, for use in kernels>"


NEEDS_A_COMPILER = (
    "compile compile_ptx compile_for_current_device compile_ptx_for_current_device compile_all declare_device "
    "open_ipc_array"
).split()


LINKABLE = "CUSource PTXSource Cubin Fatbin Object Archive LTOIR".split()


class LinkableCode:
    """Code in C++ or PTX: it can be named here, but a kernel that is linked with it needs a real GPU."""

    def __init__(self, *source: Any, **more: Any) -> None:
        self.source = source


class CudaModule(ModuleType):
    """What stands for the module `numba.cuda`; the names that are declared here are put there one by one."""

    simulated: bool
    jit: Callable[..., Any]
    vectorize: Callable[..., Any]
    guvectorize: Callable[..., Any]
    devicearray: SimpleNamespace
    cudadrv: ModuleType
    runtime: driver_side.Runtime
    CudaSupportError: type[Exception]
    below: dict[str, ModuleType]  # the modules of the package, by name
    extending: ModuleType
    types: ModuleType
    random: ModuleType


    def __getattr__(self, name: str) -> Any:
        if name in numbas_own.OF_THE_COMPILER:
            return importlib.import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def build_module() -> CudaModule:
    """A fresh `numba.cuda` module backed by the simulated GPU."""
    module = CudaModule("numba.cuda", "numba.cuda on the simulated GPU")
    module.__path__ = []  # a package: `from numba.cuda import random` works
    module.__dict__.update(
        host_side.names(),
    )
    module.jit, module.simulated = jit, True
    module.vectorize, module.guvectorize = vectorized.vectorize, vectorized.guvectorize
    module.__dict__.update({name: _unsupported(name) for name in NEEDS_A_COMPILER})
    for name in LINKABLE:
        setattr(module, name, type(name, (LinkableCode,), {}))
    module.devicearray = SimpleNamespace(
        DeviceNDArray=DeviceArray, auto_device=host_side.auto_device, is_cuda_ndarray=host_side.is_cuda_array
    )
    module.below = driver_side.modules(module)
    for name, each in module.below.items():
        if "." not in name:
            setattr(module, name, each)
    module.CudaSupportError = driver_side.CudaSupportError
    module.runtime = module.below["cudadrv.runtime"].runtime
    module.extending = extending.build_module()
    module.types = numba_names.types_module("numba.cuda.types")
    for name in numba_names.TYPE_NAMES:
        setattr(module, name, getattr(module.types, name))
    for path in {*CALLS, *VALUES}:
        if path.startswith(CUDA + "."):
            first = path[len(CUDA) + 1 :].split(".")[0]
            module.__dict__.setdefault(first, KernelName(f"{CUDA}.{first}"))
    libdevice = ModuleType("numba.cuda.libdevice", "NVIDIA's mathematical functions, for use in kernels")
    prefix = f"{CUDA}.libdevice."
    libdevice.__dict__.update({path[len(prefix) :]: KernelName(path) for path in CALLS if path.startswith(prefix)})
    module.below["libdevice"] = libdevice
    for alias, name in vector_types.SAME.items():
        module.__dict__[alias] = module.__dict__[name]
    return module


def _unsupported(name: str) -> Callable[..., Any]:
    def complain(*_: Any, **__: Any) -> Any:
        raise KernelFault(f"cuda.{name} is not available on the simulated GPU.", remedy="It needs a real GPU.")

    return complain


_replaced: dict[str, Any] = {}


def install() -> ModuleType:
    """Puts the simulated module in place of `numba.cuda`; `uninstall` brings the other one back."""
    import numba

    from autograder.simgpu.host import cupy_memory

    if getattr(sys.modules.get("numba.cuda"), "simulated", False):
        return sys.modules["numba.cuda"]
    module = build_module()
    module.random = random_numbers.build_random_module(module)
    for name in [name for name in sys.modules if name == "numba.cuda" or name.startswith("numba.cuda.")]:
        _replaced[name] = sys.modules.pop(name)
    _replaced.setdefault("attribute", getattr(numba, "cuda", None))
    numbas_own.install({name: each for name, each in _replaced.items() if name != "attribute"})
    sys.modules["numba.cuda"] = module
    sys.modules["numba.cuda.random"] = module.random
    sys.modules["numba.cuda.types"] = module.types
    sys.modules["numba.cuda.extending"] = module.extending
    sys.modules.update({f"numba.cuda.{name}": each for name, each in module.below.items()})
    numba.__dict__["cuda"] = module
    cupy_memory.install()
    vectorized.install()
    extending.install()
    run_texts.remember()
    keep_freed_memory()
    if child_processes.is_asked():
        child_processes.ask()
    return module


def uninstall() -> None:
    """Brings back whatever `numba.cuda` was before `install`."""
    import numba

    from autograder.simgpu.host import cupy_memory

    if not getattr(sys.modules.get("numba.cuda"), "simulated", False):
        return
    for name in [name for name in sys.modules if name == "numba.cuda" or name.startswith("numba.cuda.")]:
        del sys.modules[name]
    cupy_memory.uninstall()
    vectorized.uninstall()
    extending.uninstall()
    run_texts.forget()
    own = numbas_own.uninstall()
    attribute = _replaced.pop("attribute", None) or own.get("numba.cuda")
    sys.modules.update(own)
    _replaced.clear()
    if attribute is None:
        numba.__dict__.pop("cuda", None)
    else:
        numba.__dict__["cuda"] = attribute


__all__ = ["Kernel", "build_module", "device", "install", "scalar", "uninstall"]
