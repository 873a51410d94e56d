"""One use of the real GPU: its guarded arrays, its launches, and what the driver's errors mean for the author."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from autograder.cudagpu.compilation import Compiler, compile_fault
from autograder.cudagpu.handles import GpuArray
from autograder.cudagpu.memory import GuardedArray, guarded, lent, poisoned
from autograder.errors import GraderFault, KernelFault, KitError
from autograder.language.program import Function
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch
from autograder.records.transfers import Transfer
from autograder.simgpu.values.geometry import check_geometry

T = TypeVar("T")

# CUDA driver API, enum CUresult: a launch reports an error by its name, other calls by its number
DRIVER_ERRORS = {
    ("CUDA_ERROR_INVALID_VALUE", 1): "the launch was given something that the GPU cannot take",
    ("CUDA_ERROR_OUT_OF_MEMORY", 2): "the GPU's memory is exhausted",
    ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 701): (
        "the launch needs more registers or shared memory than a multiprocessor has"
    ),
    ("CUDA_ERROR_LAUNCH_TIMEOUT", 702): "the kernel ran longer than this machine's display driver allows",
    ("CUDA_ERROR_ILLEGAL_ADDRESS", 700): (
        "it read or wrote an address that belongs to no array: some index is far outside"
    ),
    ("CUDA_ERROR_HARDWARE_STACK_ERROR", 714): "it used a wrong memory address or an instruction in a wrong place",
    ("CUDA_ERROR_ILLEGAL_INSTRUCTION", 715): "it executed an instruction that this GPU does not have",
    ("CUDA_ERROR_MISALIGNED_ADDRESS", 716): (
        "it accessed memory at an address that is not a multiple of the element's size"
    ),
    ("CUDA_ERROR_INVALID_ADDRESS_SPACE", 717): (
        "it used an address of shared or local memory that lies outside that memory"
    ),
    ("CUDA_ERROR_INVALID_PC", 718): "it jumped to an address where there is no code",
    ("CUDA_ERROR_LAUNCH_FAILED", 719): (
        "it crashed the GPU: some index is far outside its array, or threads wait for each other for ever"
    ),
    ("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", 720): (
        "a cooperative launch has more blocks than the GPU can hold at once"
    ),
}


Asked = tuple[tuple[int, ...], np.dtype]  # shape and dtype of a new array


@dataclass(eq=False)
class GpuSession:
    """The backend that the host interpreter calls; arrays that it makes are guarded, new ones are poisoned too."""

    compiler: Compiler
    rng: np.random.Generator
    poison_variant: int = 0
    shift_bytes: int = 0
    arrays: list[GuardedArray] = field(default_factory=list)
    launches: list[tuple[Launch, Any, Any]] = field(default_factory=list)  # with its two events
    timed: bool = True
    transfers: list[Transfer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)  # new arrays that were asked for, since `prepare`
    prepared: dict[Asked, list[GpuArray]] = field(default_factory=dict)
    waits: int = 0  # how often the host has waited for the GPU, or may have

    @property
    def launched(self) -> int:
        return len(self.launches)

    def to_device(self, host: np.ndarray, name: str = "") -> GpuArray:
        """Copies a host array to guarded device memory."""
        array = self.waiting(lambda: guarded(np.asarray(host), name, self.rng, self.shift_bytes))
        self.arrays.append(array)
        return GpuArray(array, array.view, self.checked, self.waiting)

    def device_array(self, shape: Any, dtype: Any = np.float64, name: str = "") -> GpuArray:
        """A new array whose memory is poisoned."""
        sizes = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
        self.asked.append((sizes, np.dtype(dtype)))
        if ready := self.prepared.get(self.asked[-1]):
            return ready.pop()
        return self.to_device(poisoned(sizes, dtype, self.poison_variant), name)

    def prepare(self, asked: Sequence[Asked]) -> None:
        """Makes new arrays ready, to be handed out when the same are asked for.

        What host code asked for in an earlier call is there before the clock of the next one starts: poison and guards are
        the grader's doing, and libraries that care for speed take temporary memory from a pool.
        """
        self.asked = []
        for shape, dtype in asked:
            self.prepared.setdefault((shape, dtype), []).append(self.to_device(poisoned(shape, dtype)))

    def lent_array(self, shape: tuple[int, ...], dtype: Any, name: str) -> GpuArray:
        """A new array to work in: poisoned as others, and never read back."""
        if np.dtype(dtype).itemsize != 4 or not np.prod(shape):
            return self.device_array(shape, dtype, name)
        array = self.waiting(lambda: lent(shape, dtype, self.rng, name, self.shift_bytes))
        self.arrays.append(array)
        return GpuArray(array, array.view, self.checked, self.waiting)

    def copy_to_host(self, array: GpuArray) -> np.ndarray:
        """The array's data now; waits for the kernels before."""
        return array.copy_to_host()

    def read(self, array: GuardedArray) -> tuple[np.ndarray, int, int]:
        """An array's data and how many bytes of its two guard zones changed."""
        return self.checked(array.read)

    def read_guards(self, array: GuardedArray) -> tuple[int, int]:
        """How many bytes of an array's two guard zones changed."""
        return self.checked(array.read_guards)

    def overwrite(self) -> None:
        """Fills all its arrays with poison, on the device: whoever gets their memory next finds nothing of use there.

        A device that a kernel has broken keeps them: nobody gets anything from it any more.
        """
        with suppress(KitError):
            for array in self.arrays:
                self.checked(array.overwrite)

    def launch(
        self, function: Function, grid: Any, block: Any, arguments: Sequence[Any], dynamic_shared_bytes: int = 0
    ) -> None:
        """Compiles if need be, and launches; raises KernelFault where compiler or driver refuse."""
        from numba import cuda

        geometry = check_geometry(grid, block)
        dispatcher = self.compiler.dispatcher(function)
        values = [each.view if isinstance(each, GpuArray) else each for each in arguments]
        configured = dispatcher[geometry.grid, geometry.block, 0, dynamic_shared_bytes]
        start, end = (cuda.event(), cuda.event()) if self.timed else (None, None)
        if start is not None:
            self.checked(start.record)
        self.checked(lambda: configured(*values), function)
        if end is not None:
            self.checked(end.record)
        given = dict.fromkeys(each.owner.name for each in arguments if isinstance(each, GpuArray) and each.owner.name)
        launch = Launch(function.name, geometry.grid, geometry.block, dynamic_shared_bytes, arrays=tuple(given))
        self.launches.append((launch, start, end))

    def synchronise(self) -> None:
        """Waits for everything on the device; raises KernelFault where a kernel went wrong."""
        from numba import cuda

        self.waiting(cuda.synchronize)

    def finished_launches(self) -> tuple[Launch, ...]:
        """The launches with their times; call after `synchronise`."""
        from numba import cuda

        return tuple(
            launch if start is None else _timed(launch, cuda.event_elapsed_time(start, end) * 1e6)
            for launch, start, end in self.launches
        )

    def waiting(self, action: Callable[[], T], function: Function | None = None) -> T:
        """`checked`, of a driver call that may wait for the GPU."""
        self.waits += 1
        return self.checked(action, function)

    def checked(self, action: Callable[[], T], function: Function | None = None) -> T:
        """Carries out a driver call; its errors come out as KernelFault (the submission's) or GraderFault (ours)."""
        from numba.core.errors import NumbaError
        from numba.cuda.cudadrv.driver import LinkerError
        from numba.cuda.cudadrv.error import NvvmError

        try:
            return action()
        except (NumbaError, LinkerError, NvvmError) as problem:
            if function is None:
                raise GraderFault(f"The GPU's compiler failed: {problem}") from None
            raise compile_fault(function, problem) from None
        except Exception as problem:
            told = driver_error(problem)
            if told is None:
                raise
            raise driver_fault(told, [launch for launch, _, _ in self.launches]) from None


def driver_fault(told: str | int, launches: Sequence[Launch]) -> KernelFault | GraderFault:
    """What a CUDA error, by name or number, means after these launches."""
    names = ", ".join(dict.fromkeys(f"`{launch.kernel}`" for launch in launches)) or "the launch"
    for error, words in DRIVER_ERRORS.items():
        if told in error:
            return KernelFault(f"{names} failed on the GPU: {words} (CUDA error {error[1]}).")
    return GraderFault(f"The CUDA driver reports {told}.")


def driver_error(problem: Exception) -> str | int | None:
    """The CUDA error that an exception stands for, by name or number; None where it is no such error.

    Numba's own calls of the driver raise its CudaAPIError, with a `code`; its launches go through cuda.core, whose CUDAError
    begins with the error's name, and which need not be there.
    """
    from numba.cuda.cudadrv.driver import CudaAPIError

    if isinstance(problem, CudaAPIError):
        return int(problem.code)
    if type(problem).__name__ == "CUDAError":
        return str(problem).partition(":")[0]
    return None


def _timed(launch: Launch, measured_ns: float) -> Launch:
    return replace(launch, measured_ns=measured_ns)


def guard_hazards(array: GuardedArray, before: int, after: int, kernels: Sequence[str]) -> list[Hazard]:
    """A hazard for each guard zone that a kernel wrote into."""
    kernel = kernels[0] if len(kernels) == 1 else ""
    where = (("before its first element", before), ("behind its last element", after))
    return [
        Hazard(
            kind="out_of_bounds",
            message=f"Memory {place} of `{array.name or 'an array'}` {array.shape} was overwritten ({changed} bytes).",
            remedy="Compare each index with the array's shape before you store.",
            line=None,
            kernel=kernel,
            array=array.name,
            access="store",
            shape=array.shape,
            occurrences=changed,
        )
        for place, changed in where
        if changed
    ]
