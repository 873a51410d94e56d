"""How many of an operation's machine instructions the pipe of float64 carries out: DADD, DMUL, DFMA and DSETP.

A multiprocessor has few such lanes (an H200 half as many as of float32, a T4 one for each 32), so these instructions may
limit a kernel long before it has used up its issue slots. The numbers are those of instruction_costs.json and
function_costs.json, counted in machine code, and tests hold unseen kernels to what an H200's profiler counts
(`smsp__inst_executed_pipe_fp64`). Conversions are not among them: they go elsewhere.
"""

from __future__ import annotations

import ast

from autograder.simgpu.facts.arithmetic import NAMES, Arithmetic
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.instruction_costs import of_float64_pipe, of_function
from autograder.simgpu.facts.known import KnownNumber
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Compare, Unary
from autograder.simgpu.operations.statements import UpdateElement, UpdateName
from autograder.simgpu.values.numba_types import FLOAT64

OF_PARTS = {ast.Mult: 4, ast.Add: 2, ast.Sub: 2}  # on real and imaginary parts


class Float64Pipe:
    """The operations on float64 of one kernel."""

    def __init__(self, found: Found, arithmetic: Arithmetic) -> None:
        self.found = found
        self.arithmetic = arithmetic

    def of(self, op: Operation) -> int:
        """The instructions of that pipe where an operation is carried out; fewer of its own if the rest is known already."""
        if isinstance(op, Compare):
            return len(op.others) if self.arithmetic.compares_doubles(op.left, *op.others) else 0
        if isinstance(op, FunctionCall):
            return self._of_call(op)
        if op in self.arithmetic.narrowed:
            return 0
        if isinstance(op, Unary):
            return of_float64_pipe("negation") if op.kind is ast.USub and self._is_double(op) else 0
        if isinstance(op, Binary):
            return self._of_two(op, op.kind, op.left, op.right)
        if isinstance(op, UpdateName):
            return self._of_two(op, op.kind, op.read, op.operand)
        if isinstance(op, UpdateElement):
            return self._of_two(op, op.kind, op.reached, op.operand)
        return 0

    def _is_double(self, op: Operation) -> bool:
        dtype = self.arithmetic.dtype_of(op)
        return dtype is not None and dtype == FLOAT64

    def _of_two(
        self, op: Binary | UpdateName | UpdateElement, kind: type[ast.operator], left: Operation, right: Operation
    ) -> int:
        dtypes = [each.name for each in map(self.arithmetic.dtype_of, (op, left, right)) if each is not None]
        if "complex128" in dtypes:
            return OF_PARTS.get(kind, 0)  # a quotient's are counted where it is worked out
        if "float64" not in dtypes:
            return 0
        if kind in (ast.Add, ast.Sub) and self.arithmetic.is_fused(op, FLOAT64):
            return int(self.arithmetic.is_a_sum_alone(op))
        if kind is ast.Pow:
            return self._of_a_power(right)
        if kind is ast.Div and self.arithmetic.is_by_a_power_of_two(right):
            kind = ast.Mult
        if kind is ast.Div and self.arithmetic.is_a_reciprocal(left):
            return of_float64_pipe("reciprocal")
        return of_float64_pipe("floor quotient" if kind is ast.FloorDiv else NAMES.get(kind, "sum"))

    def _of_a_power(self, exponent: Operation) -> int:
        """Numba writes a constant whole exponent out as products; by any other integer it goes round a loop."""
        known = self.found.values.get(exponent)
        constant = known.constant if isinstance(known, KnownNumber) else None
        if isinstance(constant, int):
            products = self.arithmetic.products_of_a_power(constant)
            return products + (of_float64_pipe("reciprocal") if constant < 0 else 0)
        dtype = self.arithmetic.dtype_of(exponent)
        return 0 if dtype is not None and dtype.kind in "iu" else of_float64_pipe("power")

    def _of_call(self, op: FunctionCall) -> int:
        if op in self.found.reached or op.bodies:
            return 0
        path = self.found.callees.get(op, "")
        given = [self.arithmetic.dtype_of(each) for each in op.arguments]
        if path in ("builtins.min", "builtins.max"):
            is_real = all(map(self.arithmetic.is_real, op.arguments))
            return of_float64_pipe("minimum") if is_real and self._is_double(op) else 0
        if not given or any(each is None for each in given):
            return 0
        if path == "builtins.divmod":
            both = of_float64_pipe("floor quotient") if self._is_double(op.arguments[0]) else 0
            return both // 2  # it is carried out in two steps
        counted = of_function(path, given, is_fast=self.arithmetic.is_fast)
        return 0 if counted is None else counted.of_float64
