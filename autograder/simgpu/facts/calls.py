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
from autograder.simgpu.facts.instruction_costs import of_floats, of_function, of_integers
from autograder.simgpu.facts.integers import Way
from autograder.simgpu.facts.known import KnownName, KnownNumber
from autograder.simgpu.facts.placing import Placing
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary

GRID = 5  # by dimension
OF_SEVERAL = {2: 2, 4: 2, 8: 3}  # each step of the least or greatest of more than two floats, by their size
IN_COMMON = {"sin": "cos", "cos": "sin"}  # of one angle: what brings it into the first quadrant
REDUCED = {False: 7, True: 3}  # instructions that the second of them has less, of float32 and of float64
OF_A_STATE = 2  # loads of a random generator's state, or stores
EXCHANGES = "numba.cuda.shfl"  # an instruction for each register that lanes exchange
BRANCHES = 10  # instructions of a function from which on it has branches of its own, and stays behind a condition
WITH_SUBROUTINES = ("sqrt", "sin", "cos", "tan")  # of float64: for some numbers they call one
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
        if op in self.found.draws:
            self._of_a_draw(op, self.found.draws[op].instructions, way)
            return
        if op in self.found.reached:
            self.addresses.of_access(op, self.found.reached[op], way)
            if op.is_added_up_by_the_warp and self.found.reached[op].array.space == "global":
                op.slots += ADDED_UP if op.is_ignored else ADDED_UP_AND_USED
            elif op.is_added_up_by_the_warp:
                op.slots += COUNTED_UP if self.arithmetic.is_constant(op.arguments[-1]) else 8
            return
        if path == "numba.cuda.grid":
            given = self.found.values.get(op.arguments[0]) if op.arguments else None
            dimensions = given.constant or 1 if isinstance(given, KnownNumber) else 1
            self.placing.worth_once(op, GRID * dimensions, ("grid",), way)
            for place, axis in itertools.product(("threadIdx", "blockIdx", "blockDim"), "xyz"[:dimensions]):
                way.done.add(self.placing.read_of(("name", f"numba.cuda.{place}.{axis}")))
        elif path == "builtins.divmod" and len(op.arguments) == 2:
            left, right = op.arguments
            kinds = (ast.FloorDiv,) if any(map(self.arithmetic.is_real, op.arguments)) else (ast.FloorDiv, ast.Mod)
            both = sum(self.arithmetic.of(op, kind, left, right, way) for kind in kinds)
            self.placing.worth_once(op, both // 2, ("divmod", op), way)  # it is carried out in two steps
        elif path in ("builtins.min", "builtins.max"):
            self.placing.worth(op, self._of_least(op), way, is_kept=True)
        elif self._keeps_the_bits(op) or op.arguments and op.arguments[0] in self.arithmetic.narrowed:
            op.slots = op.once = 0
        else:
            self._of_function(op, path, way)

    def _of_a_draw(self, op: FunctionCall, drawn: int, way: Way) -> None:
        """Of a random number: it loads a state and stores the next one, unless they are in registers."""
        self.addresses.of_access(op, self.found.reached[op], way)
        loops = self.placing.loops
        loads = not op.leaves_no_load and not any(op in each.held_loads for each in loops)
        stores = not op.leaves_no_store and not any(op in each.held_stores for each in loops)
        op.slots += drawn - 1 + OF_A_STATE * (loads + stores)
        op.has_own_accesses = True

    def _of_least(self, op: FunctionCall) -> int:
        """Each step of `min` or `max`. Numba asks of two floats of 64 bits whether one is no number, of more not."""
        known = self.found.values.get(op)
        dtype = known.dtype if isinstance(known, KnownNumber) else None
        if dtype is not None and dtype.kind == "f" and len(op.arguments) > 2:
            return OF_SEVERAL[dtype.itemsize]
        if dtype is not None and dtype.itemsize <= 4 or self.arithmetic.halves.fits(*op.arguments):
            return 1
        if dtype == np.float64 and all(map(self.arithmetic.is_real, op.arguments)):
            return of_floats("minimum", dtype)
        return of_integers("minimum")

    def _of_function(self, op: FunctionCall, path: str, way: Way) -> None:
        """Of a function of the library. Its constants are in registers for all calls behind it; those of 64 bits no longer
        than to the next subroutine, or than a round, or two where a loop does some at a time and nothing else in it has
        branches of its own."""
        given = [self.arithmetic.dtype_of(each) for each in op.arguments]
        are_numbers = bool(given) and all(isinstance(self.found.values.get(each), KnownNumber) for each in op.arguments)
        counted = of_function(path, given, is_fast=self.arithmetic.is_fast) if are_numbers else None
        if counted is None:
            op.slots = 2 if path.startswith(EXCHANGES) and self._is_of_two_registers(op) else 1
            return
        is_double = np.dtype(np.float32) not in given
        constants = counted.constants
        slots = counted.slots - constants - self._in_common(op, path, is_double, way)
        self.placing.worth(op, slots, way, is_moved=slots < BRANCHES or not self.placing.conditions)
        around = self.placing.loops[-1] if self.placing.loops else None
        has_subroutine = path.rpartition(".")[2] in WITH_SUBROUTINES
        place = around, 0 if has_subroutine else self.arithmetic.subroutines
        key = "constants", path, place if is_double else None
        self.arithmetic.subroutines += is_double and has_subroutine
        if not op.slots and not op.once or key in way.done:
            return
        way.done.add(key)
        if is_double and op.slots:
            are_two_at_once = isinstance(around, For) or around in self.placing.fours
            are_two_at_once = are_two_at_once and around is not None and self._is_alone(op, around)
            op.slots += constants // 2 if are_two_at_once else constants
        else:
            self.placing.place(op, constants, [])

    def _is_of_two_registers(self, op: Operation) -> bool:
        dtype = self.arithmetic.dtype_of(op)
        return dtype is not None and dtype.itemsize > 4 and not self.arithmetic.halves.is_low(op)

    def _is_alone(self, op: FunctionCall, around: Operation) -> bool:
        """Whether a loop has no other function with branches of its own, and no quotient of floats."""
        for each in everything_in(around):
            if isinstance(each, Binary) and each.kind is ast.Div and self.arithmetic.has_a_slow_way(each):
                return False
            if isinstance(each, FunctionCall) and self.found.values.get(each) != self.found.values.get(op):
                given = [self.arithmetic.dtype_of(argument) for argument in each.arguments]
                counted = of_function(self.found.callees.get(each, ""), given) if given else None
                if counted is not None and counted.slots >= BRANCHES:
                    return False
        return True

    def _in_common(self, op: FunctionCall, path: str, is_double: bool, way: Way) -> int:
        """What sine and cosine of the same angle have in common, for the second of them."""
        name = path.rpartition(".")[2]
        angle = self.found.values.get(op.arguments[0])
        if name not in IN_COMMON or self.arithmetic.is_fast or not isinstance(angle, KnownNumber) or not angle.form[1]:
            return 0
        way.done.add(("angle", name, angle.dtype, angle.form))
        return REDUCED[is_double] if ("angle", IN_COMMON[name], angle.dtype, angle.form) in way.done else 0

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
