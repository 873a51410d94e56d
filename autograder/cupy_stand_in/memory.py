"""What the stand-in needs of the device whose memory its arrays lie in, and what it says of that which it lacks."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from autograder.errors import KitError

README = "autograder/cupy_stand_in/README.md"


class ArrayMemory(Protocol):
    """The simulated GPU as the stand-in sees it. Device arrays go in and come out, and nobody here looks into them."""

    @property
    def device_name(self) -> str: ...

    @property
    def compute_capability(self) -> tuple[int, int]: ...

    @property
    def total_bytes(self) -> int: ...

    def copied(self, host: np.ndarray) -> Any:
        """A device array with the elements of a host array, in the order that they have there."""
        ...

    def uninitialised(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """A device array that nobody has written; a kernel that reads it is told."""
        ...

    def described(self, interface: dict[str, Any]) -> Any:
        """The device array that a `__cuda_array_interface__` describes."""
        ...

    def elements(self, array: Any) -> np.ndarray:
        """The elements where they are: no copy."""
        ...

    def part(self, array: Any, view: np.ndarray) -> Any:
        """The device array of a view of `elements(array)`."""
        ...

    def wrote(self, array: Any, key: Any) -> None:
        """The host has written `elements(array)[key]`."""
        ...

    def address(self, array: Any) -> int:
        """Where its first element lies on the device."""
        ...

    def clock_ns(self) -> float:
        """The device's clock, which only kernels move."""
        ...

    def attributes(self) -> dict[str, int]:
        """What a program may ask of the device, by CUDA's names: MaxThreadsPerBlock and so on."""
        ...


class NotInStandIn(KitError, AttributeError):
    """Something of CuPy's that the stand-in does not have."""

    exit_code = 1


class NotForStandIn(KitError, TypeError):
    """An argument that CuPy would not take either."""

    exit_code = 1


class NoSuchModule(KitError, ModuleNotFoundError):
    """A submodule of CuPy's that the stand-in does not have."""

    exit_code = 1


CPLUSPLUS = "It compiles C++, which the simulated GPU does not run: write the kernel with numba.cuda."
# Of a name, what to do instead; for all others, what is said of them together.
REMEDIES = {
    **dict.fromkeys(("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel"), CPLUSPLUS),
    "vectorize": "Use numba.vectorize(target='cuda').",
    "sparse": "Use SciPy's on the host.",
    "scipy": "Use SciPy's on the host.",
    "jit": "Write the kernel with numba.cuda.",
}


_in_use: list[ArrayMemory] = []


def use(memory: ArrayMemory) -> None:
    """From here on `cupy` stands for this memory's device."""
    _in_use[:] = [memory]


def in_use() -> ArrayMemory:
    """The memory of the device that `cupy` stands for now."""
    if not _in_use:
        raise NotForStandIn("The stand-in for CuPy is not in use.", remedy="Call autograder.simulate() first.")
    return _in_use[0]


def lacks(path: str) -> NotInStandIn:
    """The error for a name that the stand-in lacks: `path` as a program has it, cupy.linalg.eig."""
    return NotInStandIn(f"The simulated GPU's stand-in for CuPy has no `{path}`.", remedy=remedy_for(path))


def remedy_for(path: str) -> str:
    """What to do where a name is missing."""
    last = path.split(".")[-1]
    return REMEDIES.get(last, f"Use NumPy on the host, or CuPy on a GPU; {README} has what there is.")
