"""The names of cuda, math, numpy and Python that a kernel may use: functions to call, and names that stand for a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autograder.simgpu.operations.kinds import Caller
from autograder.simgpu.operations.signatures import Signature
from autograder.simgpu.values.lanes import Batch
from autograder.simgpu.values.values import Value

Handler = Callable[..., Value]


class Intrinsic:
    """A function that kernels may call: what it is called, what it takes, and what it does to all lanes at once."""

    __slots__ = ("path", "handler", "signature")

    def __init__(self, path: str, handler: Handler, signature: Signature | None = None) -> None:
        self.path, self.handler = path, handler
        self.signature = signature or Signature.of(spoken(path), handler)

    def call(self, call: Caller, arguments: Sequence[Value], keywords: dict[str, Value]) -> Value:
        """What it gives for these arguments; raises a KernelFault where it does not take them."""
        call.name = self.signature.name
        value = self.handler(call, *self.signature.bind(call, arguments, keywords))
        return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


_SPOKEN = (("numba.cuda.", "cuda."), ("builtins.", ""), ("numpy.", "np."))


def spoken(path: str) -> str:
    """A function's path as programs write it: "cuda.popc", "np.sqrt", "abs"."""
    return next((short + path.removeprefix(whole) for whole, short in _SPOKEN if path.startswith(whole)), path)


CALLS: dict[str, Intrinsic] = {}
"""Functions, by canonical dotted path: `numba.cuda.syncthreads`."""
VALUES: dict[str, Callable[[Batch], Value]] = {}
"""Names that stand for a value in a batch of blocks: `numba.cuda.threadIdx.x`, `math.pi`."""
METHODS: dict[str, Intrinsic] = {}
"""Methods of arrays and numbers, by name."""
OF_FLOATS: dict[Handler, np.ufunc] = {}
"""Functions of floats alone: what computes them, once their arguments are floats of the type that they have in common."""
COUNT_BY_VALUE: set[Handler] = set()
"""Those of them that count by what they are given, where that is float64."""
