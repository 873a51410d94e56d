"""Powers whose exponent is a whole number that is known only when the kernel runs: Numba has a loop over its bits.

Seen in machine code (numba-cuda 0.30.4, compute capability 9.0; machine_code_emulator/quotients_and_functions.json): what
comes before the loop, and each bit of the exponent but for zeros above the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64, INT64, UINT64
from autograder.simgpu.values.values import Number


@dataclass(frozen=True)
class Power:
    """The machine instructions of a power."""

    once: int
    by_bit: int


POWERS: Mapping[np.dtype, Power] = {
    FLOAT32: Power(10, 11), FLOAT64: Power(13, 13), INT64: Power(19, 20), UINT64: Power(19, 20),
}  # fmt: skip


def may_have_rounds(dtype: np.dtype, exponent: np.dtype | None) -> bool:
    """Whether a power of this type, by an exponent of that type, is such a loop."""
    return dtype in POWERS and exponent is not None and exponent.kind in "iu"


def count_rounds(machine: Machine, op: Operation, dtype: np.dtype, exponent: Number, mask: Mask) -> None:
    """Counts the rounds of the loop: each lane goes round as often as its exponent has bits."""
    if not machine.books.slots(op):  # the value is in a register
        return
    left = np.broadcast_to(np.abs(exponent).astype(np.uint64), mask.lanes.shape)  # of the lowest int64, too
    while True:
        going = mask.only(left != 0)
        if not going.active:
            return
        machine.books.has_parted = True
        machine.books.issued(op, going, POWERS[dtype].by_bit)
        left = left >> np.uint64(1)
