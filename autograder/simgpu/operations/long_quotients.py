"""Quotients that lanes work out apart: of floats a subroutine, for numbers that are out of the ordinary.

`x / y` is a product with a reciprocal, mended twice, where all exponents on the way lie well inside the type's range. Lanes
with others call a subroutine while the rest of the warp waits. A zero above the line is by far the commonest: it takes the
instructions below. Other ways through the subroutine take 24 to 96 (float32) and 51 to 75 (float64). Rounds and launches
that are computed and not carried out (host/steady_rounds.py, host/same_way.py) count as the last that was.

Complex numbers are divided by one of two ways, which half of a warp's lanes mostly take each.
measurements/machine_code_emulator/divergent_work.json has small kernels that hold this to machine code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autograder.simgpu import primitives as prim
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.numba_types import FLOAT32, FLOAT64
from autograder.simgpu.values.values import Number


@dataclass(frozen=True)
class Ordinary:
    """Between which sizes the numbers of a usual division lie, and the instructions of any other."""

    above: float  # the number that is divided has at least this size
    low: float  # the divisor has at least this size, the quotient more
    high: float  # both have less
    instructions: int

    def holds(self, left: str, right: str, quotient: str) -> str:
        """The condition, of expressions, in Python."""
        return (
            f"abs({left}) >= {self.above!r} and {self.low!r} <= abs({right}) < {self.high!r}"
            f" and {self.low!r} < abs({quotient}) < {self.high!r}"
        )


ORDINARY: Mapping[np.dtype, Ordinary] = {
    FLOAT32: Ordinary(2.0**-102, 2.0**-126, 2.0**126, 34),
    FLOAT64: Ordinary(2.0**-969, 2.0**-1022, 2.0**1017, 63),
}
# Where divisor and quotient lie between these, a division of either type is an ordinary one.
SURELY = 1e-15, 1e15


def may_be_long(op: Operation, kind: type[ast.operator], dtype: np.dtype) -> bool:
    """Whether lanes with numbers out of the ordinary work this out apart."""
    return op.divides_in_parts and kind is ast.Div and dtype in ORDINARY


def count_long_quotients(
    machine: Machine, op: Operation, left: Number, right: Number, quotient: Number, mask: Mask
) -> None:
    """Counts the subroutine for the lanes that call it; all three are of one type."""
    usual = ORDINARY[quotient.dtype]
    if not isinstance(quotient, np.ndarray):
        sizes = [abs(float(each)) for each in (left, right, quotient)]
        is_usual = usual.low <= sizes[1] < usual.high and usual.low < sizes[2] < usual.high and sizes[0] >= usual.above
        apart = None if is_usual else mask
    else:
        lanes = np.empty_like(mask.lanes)
        count = prim.long_quotients_32 if quotient.dtype == FLOAT32 else prim.long_quotients_64
        one, other = _by_lane(left, quotient), _by_lane(right, quotient)
        active, warps = count(mask.lanes, one, other, quotient, usual.above, usual.low, usual.high, lanes)
        apart = Mask(lanes, mask, active, warps) if active else None
    if apart is not None:
        machine.books.has_parted = True
        count_apart(machine, op, usual, apart)


def count_apart(machine: Machine, op: Operation, usual: Ordinary, mask: Mask) -> None:
    """Counts the subroutine for lanes that call it, unless the quotient was worked out before."""
    if machine.books.slots(op):
        machine.books.issued(op, mask, usual.instructions)


# Of a quotient of complex numbers, by its size: the instructions of all lanes, and of either arm of Numba's branch.
COMPLEX: Mapping[int, tuple[int, int]] = {8: (7, 38), 16: (9, 58)}
OF_FLOAT64 = 29  # of these 58, the pipe of float64


def count_complex_quotient(machine: Machine, op: Operation, right: Number, mask: Mask) -> None:
    """Counts the two ways on which complex numbers are divided: by which part of the divisor is the larger one."""
    if not machine.books.slots(op):
        return  # it was worked out before
    by_real = np.broadcast_to(np.abs(np.real(right)) >= np.abs(np.imag(right)), mask.lanes.shape)
    for way in (by_real, ~by_real):
        of_float64 = OF_FLOAT64 if right.dtype.itemsize == 16 else 0
        machine.books.issued(op, mask.only(way), COMPLEX[right.dtype.itemsize][1], of_float64)


def _by_lane(number: Number, like: np.ndarray) -> np.ndarray:
    if isinstance(number, np.ndarray) and number.flags.c_contiguous and number.flags.writeable:
        return number
    return np.full(like.shape, number) if not isinstance(number, np.ndarray) else number.copy()
