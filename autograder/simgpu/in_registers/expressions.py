"""Writes expressions of a compiled loop: numbers, conditions, calls.

START HERE: `LaneExpressions.meaning` goes by the kind of operation.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function
from autograder.simgpu.facts.library import DRAWN
from autograder.simgpu.in_registers import figures
from autograder.simgpu.in_registers.desk import DrawSite, Meaning, PlacedCall
from autograder.simgpu.in_registers.figures import KEPT, LaneNumber, Sharing, Wording, together
from autograder.simgpu.in_registers.load_sites import LaneLoads
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.desk import Fixed
from autograder.simgpu.one_thread.expressions import function_of
from autograder.simgpu.one_thread.rehearsal import Stage
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.arithmetic import SHORT_DIVISION, binary, long_division
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.comparisons import compare
from autograder.simgpu.operations.expressions import Captured, Constant, Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.long_quotients import ORDINARY, count_apart, may_be_long
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.registry import OF_FLOATS, Intrinsic
from autograder.simgpu.operations.statements import Return
from autograder.simgpu.operations.steps import Block, Expression
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import BOOL, FLOAT32, FLOAT64, UINT64, unify
from autograder.simgpu.values.values import NUMBERS, Number, Value
from autograder.simgpu.wider.random_numbers import STATE

MOST_SCOPES = 4  # functions that call each other, written in place of their calls
NEXT_STATE = (  # see `_next` in wider/random_numbers.py
    "{0} = s0 + s1",
    "s1 = s1 ^ s0",
    "s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))",
    "s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))",
)


def known_value(machine: Machine, mask: Mask, op: Expression) -> Value:
    """A value that is the same in all rounds; the books do not have it once more."""
    return op.value(Stage(machine, tells=False).as_machine() if isinstance(op, FunctionCall) else machine, mask)


def key_of(op: Expression) -> object:
    """What an array is known by: the variable that holds it, or the operation that gives it."""
    return op.name if isinstance(op, Local) else op


class LaneExpressions(LaneLoads, ABC):
    """Writes expressions; statements, of which functions have some, are for whoever builds on it."""

    @abstractmethod
    def block(self, block: Block, flag: str) -> bool:
        """Statement after statement; whether a lane may come to the end."""

    def number(self, op: Expression) -> LaneNumber:
        """An expression that gives a number."""
        found = self.meaning(op)
        if not isinstance(found, LaneNumber):
            raise NotWritten(f"no number: {type(op).__name__}")
        return found

    def meaning(self, op: Expression) -> Meaning:
        """Any expression."""
        if self.is_fixed(op):
            return self.fixed(op)
        match op:
            case Local():
                if op.name not in self.variables:
                    raise NotWritten("a variable without a value on some paths")
                return self.variables[op.name]
            case Binary():
                left = self.apart(self.number(op.left))
                assert isinstance(left, LaneNumber)
                return self.binary(op, op.kind, left, self.number(op.right))
            case Unary():
                return self.unary(op)
            case Compare():
                return self.compared(op)
            case Junction():
                return self.junction(op, self.number)
            case Selection():
                return self.selection(op)
            case TupleOf() if not any(each.is_unpacked for each in op.items):
                return tuple(self.apart(self.meaning(each)) for each in op.items)
            case FunctionCall():
                return self.call(op)
            case Attribute() if op.name in ("real", "imag"):
                return self.part(op)
            case Subscript() if op.field is None:
                return self.loaded(op)
        raise NotWritten(type(op).__name__)

    def part(self, op: Attribute) -> LaneNumber:
        """`z.real`, `z.imag`."""
        owner = self.number(op.owner)
        if owner.dtype.kind != "c" or overloads.has_member(op.name):
            raise NotWritten("a part of a number that is not complex")
        return self.kept(f"{owner.code}.{op.name}", figures.half_of(owner.dtype), owner.sharing)

    def condition(self, op: Expression) -> LaneNumber:
        """An expression as a condition."""
        if isinstance(op, Junction) and not self.is_fixed(op):
            return self.junction(op, self.condition)
        number = self.number(op)
        return number if number.dtype == BOOL else LaneNumber(figures.converted(number, BOOL), BOOL, number.sharing)

    # -- what is the same in all rounds -------------------------------------------------------------------------------

    def is_fixed(self, op: Expression) -> bool:
        """Whether a value is the same in all rounds, and costs nothing: constants, arrays, their extents, the library."""
        match op:
            case Constant() | Captured():
                return True
            case Local():
                return op.name in self.others
            case _ if self.scopes and any(isinstance(each, Local) for each in everything_in(op)):
                return False
            case Attribute():
                return self.is_fixed(op.owner)
            case Subscript():
                return op.field is None and self.is_fixed(op.owner) and isinstance(self.value(op.owner), tuple) and all(
                    isinstance(each, Constant) for each in op.indices
                )  # fmt: skip
        return False

    def value(self, op: Expression) -> Value:
        """What a fixed expression stands for at present."""
        if self.scopes and isinstance(op, Local):
            op = self.scopes[-1].given[op.name]
        return known_value(self.machine, self.mask, op)

    def fixed(self, op: Expression) -> Meaning:
        value = self.value(op)
        if not isinstance(value, NUMBERS):
            return Fixed(self.scopes[-1].given[op.name] if self.scopes and isinstance(op, Local) else op, value)
        is_written = isinstance(op, Constant)
        return figures.constant(value) if isinstance(value, np.generic) and is_written else self.once(op, value)

    def once(self, op: Expression, value: Value) -> LaneNumber:
        """A number that is worked out before the first round."""
        known = self.given.get(op)
        if known is None:
            if not isinstance(value, NUMBERS) or value.dtype not in KEPT or np.ndim(value) > 1:
                raise NotWritten("a value that is no number")
            sharing = Sharing.BY_LANE if isinstance(value, np.ndarray) else Sharing.SHARED
            known = self.given[op] = LaneNumber(f"k{len(self.given)}", value.dtype, sharing, origin=op)
        return known

    # -- operators ------------------------------------------------------------------------------------------------

    def binary(self, op: Operation, kind: type[ast.operator], left: LaneNumber, right: LaneNumber) -> LaneNumber:
        if kind is ast.Pow and op.divides_in_parts:
            raise NotWritten("a power that is a loop of its own")
        one, other = self.sample(left), self.sample(right)
        result, share = self.tried(lambda machine, mask: binary(machine, op, kind, one, other, mask))
        spelling, _ = figures.arithmetic(kind, left, right)
        figure = self.spelled(spelling, result, together(left, right), share)
        if may_be_long(op, kind, figure.dtype):
            self.count_long_quotient(op, left, right, figure)
        elif op.divides_in_parts and kind in (ast.FloorDiv, ast.Mod):
            self.count_parts(op, figure.dtype, left, right)
        return figure

    def count_parts(self, op: Operation, dtype: np.dtype, left: LaneNumber, right: LaneNumber) -> None:
        """Lanes whose numbers have more than 32 bits call a subroutine: see `_count_parts` in operations/arithmetic.py."""
        source = self.source
        self.issued(op, -SHORT_DIVISION)
        run = source.here
        for head, times in (
            (f"if ((np.int64({left.code}) | np.int64({right.code})) >> 32) != 0:", long_division(dtype)),
            ("else:", SHORT_DIVISION),
        ):
            source.here = None
            with source.inside(head):
                self.issued(op, times)
        source.here = run

    def count_long_quotient(self, op: Operation, left: LaneNumber, right: LaneNumber, quotient: LaneNumber) -> None:
        """Lanes whose numbers are out of the ordinary call a subroutine: see operations/long_quotients.py."""
        usual, source = ORDINARY[quotient.dtype], self.source
        a, b = (figures.converted(each, quotient.dtype) for each in (left, right))
        run, source.here = source.run(), None
        with source.inside(f"if not ({usual.holds(a, b, quotient.code)}):"):
            self.count(lambda machine, mask: count_apart(machine, op, usual, mask))
        source.here = run

    def unary(self, op: Unary) -> LaneNumber:
        operand = self.condition(op.operand) if op.kind is ast.Not else self.number(op.operand)
        sample = self.sample(operand)
        result, share = self.tried(lambda machine, mask: op.of(machine, sample, mask))
        if op.kind is ast.Not:
            written = replace(operand, code=f"not {operand.code}")
        elif op.kind is ast.USub:
            written = figures.opposite(operand)
        elif op.kind is ast.Invert:
            written = figures.inverted(operand)
        else:
            wide = result.dtype if isinstance(result, NUMBERS) else operand.dtype
            written = replace(operand, code=figures.converted(operand, wide))
        figure = self.spelled(Wording(written.code), result, operand.sharing, share)
        return replace(figure, literal=written.literal if op.kind is ast.USub else None)

    def compared(self, op: Compare) -> LaneNumber:
        """A comparison, or a chain of them: lanes for which it holds so far work out what is no name and no constant."""
        left, name, kinds = self.apart(self.number(op.left)), self.source.name(), []
        for place, (kind, each) in enumerate(zip(op.kinds, op.others, strict=True)):
            right = self.asked(name, each) if place and not op.are_plain[place] else self.number(each)
            assert isinstance(left, LaneNumber)
            samples_of = self.sample(left), self.sample(right)
            self.one_comparison(op, kind, *samples_of)
            code = figures.comparison(kind, left, right)
            self.source.write(f"{name} = {name} and {code}" if place else f"{name} = {code}")
            kinds += [left, right]
            left = right
        return LaneNumber(name, BOOL, together(*kinds))

    def asked(self, condition: str, op: Expression) -> LaneNumber:
        """An expression that only lanes work out for which a condition holds.

        By steps what comes behind it depends on whether there is any such lane in the batch: see `Compare.value`.
        """
        source, name = self.source, self.source.name()
        run = source.run()
        source.here = None
        with source.inside(f"if {condition}:"):
            self.asked_by.append((run.number, source.run().number))
            value = self.number(op)
            source.write(f"{name} = {value.code}")
        if value.dtype.kind == "c":
            raise NotWritten("a chain of comparisons of complex numbers")
        with source.inside("else:"):
            source.write(f"{name} = np.{'bool_' if value.dtype.kind == 'b' else value.dtype.name}(0)")
        source.here = run
        return LaneNumber(name, value.dtype, value.sharing)

    def one_comparison(self, op: Compare, kind: type[ast.cmpop], one: Number, other: Number) -> None:
        self.count(lambda machine, mask: compare(machine, op, kind, one, other, mask))

    def junction(self, op: Junction, written: Callable[[Expression], LaneNumber]) -> LaneNumber:
        """`and`, `or`; of operands that are `written` as numbers, or as conditions where only that is asked."""
        source = self.source
        value = written(op.operands[0])
        self.issued(op, op.plain_slots)
        run, indent = source.run(), source.indent
        name = source.name()
        source.write(f"{name} = {value.code}")
        sharing = value.sharing
        for place, each in enumerate(op.operands[1:]):
            is_apart = place >= op.plain and (op.is_met_behind or op.part_slots > 0)
            if is_apart and sharing == Sharing.MAYBE:
                raise NotWritten("a condition that lanes share at times")
            is_apart = is_apart and sharing == Sharing.BY_LANE
            if is_apart and op.is_met_behind:
                source.here = None
                with source.inside(f"if {'not ' if op.is_and else ''}{name}:"):
                    self.issued(op, 1)
            source.write(f"if {'' if op.is_and else 'not '}{name}:")
            source.indent += 1
            source.here = None
            if is_apart:
                self.issued(op, op.part_slots)
            with self.in_short_arms(place < op.plain):
                following = written(each)
            if following.dtype != value.dtype:
                raise NotWritten("and, or of different types")
            sharing = figures.either(following.sharing, sharing, is_divided=sharing != Sharing.SHARED)
            source.write(f"{name} = {following.code}")
        source.indent, source.here = indent, run
        return LaneNumber(name, value.dtype, sharing)

    def selection(self, op: Selection) -> LaneNumber:
        """`yes if condition else no`."""
        if op.joins:
            raise NotWritten("accesses that both sides share")
        source = self.source
        condition = self.condition(op.condition)
        self.count(lambda machine, mask: machine.books.instruction(op, mask))
        self.issued(op, op.short_arms)
        run, name = source.run(), source.name()
        sides = []
        for side, head in ((op.yes, f"if {condition.code}:"), (op.no, "else:")):
            source.here = None
            with source.inside(head), self.in_short_arms(bool(op.short_arms)):
                sides.append(self.number(side))
                source.write(f"{name} = {sides[-1].code}")
        source.here = run
        yes, no = sides
        if yes.dtype != no.dtype:
            raise NotWritten("a choice of two types")
        return LaneNumber(
            name, yes.dtype, figures.either(yes.sharing, no.sharing, is_divided=condition.sharing != Sharing.SHARED)
        )

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, op: FunctionCall) -> LaneNumber:
        """A function of numbers: one that asks for nothing but the books. Or a random number."""
        callee = self.meaning(op.callee)
        if op.keywords or any(isinstance(each, Unpacked) for each in op.arguments) or not isinstance(callee, Fixed):
            raise NotWritten("a call")
        if any(isinstance(each, Local) for each in everything_in(op.callee)):
            raise NotWritten("a function in a variable")
        if isinstance(callee.value, Function):
            return self.in_place(op, callee.value)
        intrinsic = function_of(callee.value)
        arguments = [self.apart(self.meaning(each)) for each in op.arguments]
        if intrinsic.path in DRAWN and DRAWN[intrinsic.path].draws == 1:
            return self.draw(op, intrinsic, arguments)
        given = [each.value if isinstance(each, Fixed) else self._sample_of(each) for each in arguments]
        pairs = zip(arguments, op.arguments, strict=True)
        if all(isinstance(each, Fixed) or isinstance(of, Constant) for each, of in pairs):
            return self.of_what_is_known(op, intrinsic, given)
        result, share = self.tried(lambda machine, mask: intrinsic.call(Call(machine, op, mask, op.discards), given, {}))
        operands = [each for each in arguments if isinstance(each, LaneNumber)]
        if len(operands) < len(arguments):
            raise NotWritten("a call with more than numbers")
        spelling = self.spelling_of(callee.value, intrinsic, operands, result)
        return self.spelled(spelling, result, together(*operands), share)

    def _sample_of(self, meaning: Meaning) -> Value:
        if isinstance(meaning, LaneNumber):
            return self.sample(meaning)
        raise NotWritten("a tuple as an argument")

    def of_what_is_known(self, op: FunctionCall, intrinsic: Intrinsic, given: Sequence[Value]) -> LaneNumber:
        """A call that gives the same in all rounds: `cuda.grid(1)`, `np.float32(0.5)`."""
        _, share = self.tried(
            lambda machine, mask: intrinsic.call(Call(machine, op, mask, op.discards), list(given), {})
        )
        if share.hazards or self.scopes and any(isinstance(each, Local) for each in everything_in(op)):
            raise NotWritten("a call of what is known before")
        self.source.count(share)
        value = known_value(self.machine, self.mask, op)
        if isinstance(value, np.generic) and all(isinstance(each, Constant) for each in op.arguments):
            if intrinsic.path.startswith(("numpy.", "builtins.", "math.")):
                return figures.constant(value)
        return self.once(op, value)

    def spelling_of(
        self, callee: Value, intrinsic: Intrinsic, operands: Sequence[LaneNumber], result: Value | object
    ) -> Wording:
        """How a function is written."""
        if not isinstance(result, NUMBERS) or not operands:
            raise NotWritten("a value that is no number")
        x = operands[0]
        if isinstance(callee, TypeReference) or intrinsic.path in ("builtins.int", "builtins.float", "builtins.bool"):
            if result.dtype not in KEPT or len(operands) != 1:
                raise NotWritten("a conversion")
            return figures.cast(x, result.dtype)
        if intrinsic.path == "builtins.complex" and len(operands) == 2 and result.dtype.kind == "c":
            half = figures.half_of(result.dtype)
            return Wording(f"complex({', '.join(figures.converted(each, half) for each in operands)})")
        if intrinsic.path in ("builtins.min", "builtins.max") and len(operands) == 2:
            dtype = unify(x.dtype, operands[1].dtype)
            if dtype not in KEPT or dtype == BOOL or result.dtype != dtype:
                raise NotWritten("the least of different types")
            a, b = (self.kept(figures.converted(each, dtype), dtype, each.sharing).code for each in operands)
            return Wording(f"{b} if {b} {'>' if intrinsic.path.endswith('max') else '<'} {a} else {a}")
        if intrinsic.path == "builtins.abs" and x.dtype.kind == "f" and result.dtype == x.dtype:
            return Wording(f"abs({x.code})")
        written = figures.EXACT.get(OF_FLOATS.get(intrinsic.handler, np.add))
        if written is None or result.dtype not in (FLOAT32, FLOAT64) or len(operands) != 1:
            raise NotWritten(f"{intrinsic.path} is not rounded alike by every library")
        return Wording(written.format(figures.converted(x, result.dtype)))

    def draw(self, op: FunctionCall, intrinsic: Intrinsic, arguments: Sequence[Meaning]) -> LaneNumber:
        """A random number, from a state that stays in registers."""
        if len(arguments) != 2 or self.is_regrouped:
            raise NotWritten("a random number of other arguments")
        states, index = arguments
        if not isinstance(states, Fixed) or not isinstance(states.value, View) or states.value.dtype != STATE:
            raise NotWritten("random numbers from something else than states")
        if not isinstance(index, LaneNumber) or index.origin is None or index.dtype.kind not in "iu":
            raise NotWritten("random numbers from a state that is not always the same")
        if self.draws and (self.draws[0].states_key != key_of(states.op) or self.draws[0].index != index.origin):
            raise NotWritten("random numbers from several states")
        self.states = states.op
        source, run = self.source, self.source.run()
        if not run.draws:
            source.write(f"q{run.number} |= np.int64(1) << k")
        run.draws.append(len(self.draws))
        self.draws.append(
            DrawSite(op, intrinsic, self.around, self.at, run.number, key_of(states.op), index.origin)
        )
        bits = source.name()
        for line in NEXT_STATE:
            source.write(line.format(bits))
        dtype = DRAWN[intrinsic.path].dtype
        if dtype == UINT64:
            return LaneNumber(bits, dtype, Sharing.BY_LANE)
        code = f"np.float64(np.int64({bits} >> np.uint64(11))) * np.float64({1.0 / (1 << 53)!r})"
        return self.kept(code if dtype == FLOAT64 else f"np.float32({code})", dtype, Sharing.BY_LANE)

    # -- device functions -------------------------------------------------------------------------------------------

    def in_place(self, op: FunctionCall, function: Function) -> LaneNumber:
        """A device function, written in place of its call: what it returns."""
        source = self.source
        lowered = op.bodies.get(function) or self.machine.lower(function)
        if function.kind == "host" or function.casts is not None or function.star or len(self.scopes) >= MOST_SCOPES:
            raise NotWritten("a function that is not written in place of its call")
        if len(op.arguments) != len(function.parameters) or not isinstance(lowered.body, Block):
            raise NotWritten("arguments that a function gives itself")
        arguments = [self.apart(self.meaning(each)) for each in op.arguments]
        run, at, before, others, gone = source.run(), self.at, self.variables, self.others, self.gone
        scope = PlacedCall(source.name("w") + "_", source.name(), source.name("g"))
        self.scopes.append(scope)
        given: dict[str, Value] = {}
        for name, value in zip(function.parameters, arguments, strict=True):
            if isinstance(value, Fixed):
                scope.given[name], given[name] = value.op, value.value
            elif isinstance(value, tuple):
                raise NotWritten("a tuple as an argument")
        self.variables, self.others = {}, given
        source.write(f"{scope.flag} = 0")
        for name, value in zip(function.parameters, arguments, strict=True):
            if isinstance(value, LaneNumber):
                self.set(name, value)
        if assigned_in(lowered.body) & given.keys() or self.block(lowered.body, scope.flag):
            raise NotWritten("a function that may return nothing")
        self.scopes.pop()
        self.variables, self.others, self.at, self.gone = before, others, at, gone
        source.here = run
        if len({each.dtype for each in scope.results}) != 1:
            raise NotWritten("a function that returns two types")
        kinds = {each.sharing for each in scope.results}
        sharing = kinds.pop() if len(kinds) == 1 else Sharing.MAYBE
        if len(scope.results) > 1 and sharing == Sharing.SHARED:
            sharing = Sharing.MAYBE
        return LaneNumber(scope.result, scope.results[0].dtype, sharing)

    def give(self, op: Return, flag: str) -> None:
        """Returns from a function that is written in place of its call."""
        if op.result is None:
            raise NotWritten("a return of nothing")
        scope = self.scopes[-1]
        value = self.number(op.result)
        scope.results.append(value)
        self.source.write(f"{scope.result} = {value.code}")
        self.leaving(op)
        self.go(flag, 1)


