"""The machine instructions of a call: of an atomic, of a function of `math`, of `min` and `max`, of a type that converts.

Read off machine code of small kernels (numba-cuda 0.30.4, compute capability 9.0). A device function's own instructions are
those of its body.
"""

from __future__ import annotations

import ast
import itertools

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.addresses import Addresses
from autograder.simgpu.facts.arithmetic import Arithmetic
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.instruction_costs import constants_of_function, of_function, of_integers
from autograder.simgpu.facts.integers import Way
from autograder.simgpu.facts.known import KnownName, KnownNumber
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For

GRID = 5  # by dimension
BRANCHES = 10  # instructions of a function from which on it has branches of its own, and stays behind a condition
COUNTED_UP = 3  # an atomic in shared memory that adds one constant for every lane: the array's address
ADDED_UP, ADDED_UP_AND_USED = 6, 10  # an atomic that one lane carries out for its warp: which lane, for how many lanes


class Calls:
    """The calls of one kernel."""

    def __init__(self, found: Found, arithmetic: Arithmetic, addresses: Addresses, placing: Placing) -> None:
        self.found = found
        self.arithmetic = arithmetic
        self.addresses = addresses
        self.placing = placing

    def of(self, op: FunctionCall, way: Way) -> None:
        """Notes the instructions of a call of what is not a function of the source."""
        path = self.found.callees.get(op, "")
        if op in self.found.reached:
            self.addresses.of_access(op, self.found.reached[op], way)
            if op.is_added_up_by_the_warp and self.found.reached[op].array.space == "global":
                op.slots += ADDED_UP if op.is_ignored else ADDED_UP_AND_USED
            elif op.is_added_up_by_the_warp:
                op.slots += COUNTED_UP if self.arithmetic.is_constant(op.arguments[-1]) else 8
            return
        name = path.rpartition(".")[2]
        known = self.found.values.get(op)
        if path == "numba.cuda.grid":
            given = self.found.values.get(op.arguments[0]) if op.arguments else None
            dimensions = given.constant or 1 if isinstance(given, KnownNumber) else 1
            self.placing.worth_once(op, GRID * dimensions, ("grid",), way)
            for place, axis in itertools.product(("threadIdx", "blockIdx", "blockDim"), "xyz"[:dimensions]):
                way.done.add(self.placing.read_of(("name", f"numba.cuda.{place}.{axis}")))
        elif path == "builtins.divmod" and len(op.arguments) == 2:
            left, right = op.arguments
            both = (self.arithmetic.of(op, kind, left, right, way) for kind in (ast.FloorDiv, ast.Mod))
            self.placing.worth_once(op, sum(both), ("divmod", op), way)
        elif path.startswith("math."):
            argument = self.found.values.get(op.arguments[0]) if op.arguments else None
            is_double = not (isinstance(argument, KnownNumber) and argument.dtype == np.float32)
            self._of_math(op, name, is_double, way)
        elif path in ("builtins.min", "builtins.max"):
            is_small = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.itemsize <= 4
            is_small |= self.arithmetic.halves.fits(*op.arguments)
            each = 1 if is_small else of_integers("minimum")
            self.placing.worth(op, each * max(1, len(op.arguments) - 1), way)
        elif self._keeps_the_bits(op):
            op.slots = op.once = 0
        else:
            op.slots = 1

    def _of_math(self, op: FunctionCall, name: str, is_double: bool, way: Way) -> None:
        """Of a function of `math`. Its constants are in registers for all calls behind it; those of 64 bits no longer than a
        round, or two where a loop does some at a time."""
        constants = constants_of_function(name, is_double)
        slots = of_function(name, is_double) - constants
        self.placing.worth(op, slots, way, is_moved=slots < BRANCHES or not self.placing.conditions)
        around = self.placing.loops[-1] if self.placing.loops else None
        key = "constants", name, is_double, around if is_double else None
        if not op.slots and not op.once or key in way.done:
            return
        way.done.add(key)
        if is_double and op.slots:
            are_two_at_once = isinstance(around, For) or around in self.placing.fours
            op.slots += constants // 2 if are_two_at_once else constants
        else:
            self.placing.place(op, constants, [])

    def _keeps_the_bits(self, op: FunctionCall) -> bool:
        """Whether a call converts a number to its own type, or an integer to an integer, whose register is read with fewer
        bits, or with zeros before it."""
        callee, known = self.found.values.get(op.callee), self.found.values.get(op)
        is_type = isinstance(callee, KnownName) and isinstance(callee.value, TypeReference)
        given = [self.found.values.get(each) for each in op.arguments]
        if is_type and len(given) == 1 and isinstance(known, KnownNumber) and isinstance(given[0], KnownNumber):
            if known.dtype is not None and known.dtype == given[0].dtype:
                return True
        return is_type and all(
            isinstance(each, KnownNumber) and each.dtype is not None and each.dtype.kind in "iub" for each in (known, *given)
        )
