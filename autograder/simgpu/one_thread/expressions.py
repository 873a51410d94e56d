"""Writes expressions: numbers, conditions, elements of arrays, calls.

START HERE: `Expressions.meaning` goes by the kind of operation.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference
from autograder.simgpu.one_thread import numbers
from autograder.simgpu.one_thread.desk import Desk, Fixed, KnownView, Meaning, ViewKind, WrittenCall
from autograder.simgpu.one_thread.numbers import KEPT, LARGEST_EXTENT, Number, Spelling, limits
from autograder.simgpu.one_thread.rehearsal import RunCount, sample
from autograder.simgpu.one_thread.source import LEAVES_LOOP, AccessSite, NotWritten
from autograder.simgpu.one_thread.variables import (
    assigned_in,
)
from autograder.simgpu.operations.arithmetic import binary
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.comparisons import compare
from autograder.simgpu.operations.conversions import conversion
from autograder.simgpu.operations.expressions import Captured, Constant, Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked
from autograder.simgpu.operations.indexing import Attribute, Subscript
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.registry import CALLS, OF_FLOATS, Intrinsic
from autograder.simgpu.operations.statements import (
    Return,
)
from autograder.simgpu.operations.steps import Block, Expression
from autograder.simgpu.primitives import READ, WRITE
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.numba_types import BOOL, FLOAT32, FLOAT64, INT64, unify
from autograder.simgpu.values.values import NUMBERS, Value

MOST_SCOPES = 4  # functions that call each other, written in place of their calls


class Expressions(Desk, ABC):
    """Writes expressions; statements, of which functions have some, are for whoever builds on it."""

    @abstractmethod
    def block(self, block: Block) -> bool:
        """Statement after statement; whether control comes to the end."""

    def number(self, op: Expression) -> Number:
        """An expression that gives a number."""
        found = self.meaning(op)
        if not isinstance(found, Number):
            raise NotWritten(f"no number: {type(op).__name__}")
        return found

    def meaning(self, op: Expression) -> Meaning:
        """Any expression."""
        if self.is_fixed(op):
            return self.fixed(op)
        match op:
            case Local():
                variable = self.variables.get(op.name)
                if not isinstance(variable, Number):
                    raise NotWritten("a variable without a value on some paths")
                return variable
            case Binary():
                left = self.number(op.left)
                return self.binary(op, op.kind, left, self.number(op.right))
            case Unary():
                return self.unary(op)
            case Compare():
                return self.compared(op)
            case Junction():
                return self.junction(op, self.number)
            case Selection():
                return self.selection(op)
            case Subscript():
                view, indices = self.place(op)
                return self.load(op, view, indices)
            case TupleOf() if not any(each.is_unpacked for each in op.items):
                return tuple(self.apart(self.meaning(each)) for each in op.items)
            case FunctionCall():
                return self.call(op)
        raise NotWritten(type(op).__name__)

    def condition(self, op: Expression) -> Number:
        """An expression as a condition."""
        if isinstance(op, Junction) and not self.is_fixed(op):
            return self.junction(op, self.condition)
        number = self.number(op)
        if number.dtype == BOOL:
            return number
        return Number(f"({number.code} != 0)", BOOL, number.by_lane, 0, 1)

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
        return op.value(self.machine, self.mask)

    def fixed(self, op: Expression) -> Meaning:
        value = self.value(op)
        if not isinstance(value, NUMBERS):
            return Fixed(self.scopes[-1].given[op.name] if self.scopes and isinstance(op, Local) else op, value)
        known = numbers.literal(value) if isinstance(op, Constant) and isinstance(value, np.generic) else None
        return known or self.given_number(op, value, is_extent=isinstance(op, (Attribute, Subscript)))

    def given_number(self, op: Expression, value: Value, *, is_extent: bool = False) -> Number:
        """A number that is worked out before the first round."""
        known = self.given.get(op)
        if known is None:
            if not isinstance(value, NUMBERS) or value.dtype not in KEPT or np.ndim(value) > 1:
                raise NotWritten("a value that is no number")
            number = Number.of(f"k{len(self.given)}", value.dtype, isinstance(value, np.ndarray))
            if is_extent and self.is_of_shape(op):
                number = replace(number, low=0, high=LARGEST_EXTENT)
            known = self.given[op] = number.code, number
        return known[1]

    def is_of_shape(self, op: Expression) -> bool:
        """Whether a fixed number is an extent of an array, or a product of them."""
        owner = op.owner if isinstance(op, Subscript) else op
        return (
            isinstance(owner, Attribute) and owner.name in ("shape", "size") and isinstance(self.value(owner.owner), View)
        )  # fmt: skip

    def binary(self, op: Operation, kind: type[ast.operator], left: Number, right: Number) -> Number:
        if kind is ast.Pow and op.divides_in_parts:
            raise NotWritten("a power that is a loop of its own")
        samples = [sample(self.mask, each.dtype, each.by_lane) for each in (left, right)]
        result, count = self.rehearsed(lambda machine: binary(machine, op, kind, samples[0], samples[1], self.mask))
        spelling = numbers.arithmetic(kind, left, right, op.divides_in_parts)
        return self.spelled(op, "operator", spelling, (left, right), result, count)

    def unary(self, op: Unary) -> Number:
        operand = self.condition(op.operand) if op.kind is ast.Not else self.number(op.operand)
        given = sample(self.mask, operand.dtype, operand.by_lane)
        result, count = self.rehearsed(lambda machine: op.of(machine, given, self.mask))
        if not isinstance(result, NUMBERS):
            raise NotWritten("a value that is no number")
        if op.kind is ast.Not:
            self.source.count(count)
            return self.kept(f"not {operand.code}", BOOL, operand.by_lane, 0, 1)
        spelling = None
        if op.kind is ast.USub:
            spelling = numbers.opposite(operand)
        elif op.kind is ast.Invert:
            spelling = numbers.inverted(operand)
        elif not numbers.is_whole(operand.dtype):
            spelling = Spelling(operand.code)
        if spelling is None:
            raise NotWritten("an operator")
        if numbers.is_whole(result.dtype):
            own = operand.dtype if operand.dtype != BOOL else INT64
            code = numbers.converted(Number(spelling.code, own, False, spelling.low, spelling.high), result.dtype)
            assert code is not None
            low, high = limits(result.dtype)
            fits = low <= spelling.low and spelling.high <= high
            spelling = Spelling(code, "", spelling.low if fits else low, spelling.high if fits else high)
        return self.spelled(op, "", spelling, (operand,), result, count)

    def compared(self, op: Compare) -> Number:
        """A comparison, or a chain of them."""
        source = self.source
        left = self.number(op.left)
        name, by_lane, depth, run = source.name(), False, 0, source.here
        for place, (kind, other, is_plain) in enumerate(zip(op.kinds, op.others, op.are_plain, strict=True)):
            if place and not is_plain:
                source.write(f"if {name}:")
                source.indent += 1
                depth += 1
                run, source.here = (source.here if depth == 1 else run), None
            right = self.number(other)
            code = numbers.comparison(kind, left, right)
            if code is None:
                raise NotWritten("a comparison")
            result, count = self.one_comparison(op, kind, left, right)
            source.count(count)
            by_lane = by_lane or isinstance(result, np.ndarray)
            source.write(f"{name} = {code}" if not place or not is_plain else f"{name} = {name} and {code}")
            left = right
        if depth:
            source.indent -= depth
            source.here = run
        return Number(name, BOOL, by_lane, 0, 1)

    def one_comparison(
        self, op: Compare, kind: type[ast.cmpop], left: Number, right: Number
    ) -> tuple[object, RunCount]:
        one, other = (sample(self.mask, each.dtype, each.by_lane) for each in (left, right))
        return self.rehearsed(lambda machine: compare(machine, op, kind, one, other, self.mask))

    def junction(self, op: Junction, written: Callable[[Expression], Number]) -> Number:
        """`and`, `or`; of operands that are `written` as numbers, or as conditions where only that is asked."""
        source = self.source
        value = written(op.operands[0])
        self.issued(op, op.plain_slots)
        run = source.run()
        name, indent = source.name(), source.indent
        source.write(f"{name} = {value.code}")
        for place, each in enumerate(op.operands[1:]):
            is_apart = value.by_lane and place >= op.plain  # the lane goes on asking by itself, or waits for nobody
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
            value = replace(following, by_lane=following.by_lane or value.by_lane)
            source.write(f"{name} = {following.code}")
        source.indent, source.here = indent, run
        return Number.of(name, value.dtype, value.by_lane)

    def selection(self, op: Selection) -> Number:
        """`yes if condition else no`."""
        source = self.source
        condition = self.condition(op.condition)
        self.count(lambda machine: machine.books.instruction(op, self.mask))
        self.issued(op, op.short_arms)
        run, name = source.run(), source.name()
        results = []
        for side, head in ((op.yes, f"if {condition.code}:"), (op.no, "else:")):
            source.here = None
            with source.inside(head), self.in_short_arms(bool(op.short_arms)):
                results.append(self.number(side))
                source.write(f"{name} = {results[-1].code}")
        source.here = run
        if results[0].kind != results[1].kind:
            raise NotWritten("a choice of two types")
        low, high = min(each.low for each in results), max(each.high for each in results)
        return replace(results[0], code=name, low=low, high=high)

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, op: FunctionCall) -> Number:
        """A function of numbers: one that asks for nothing but the books."""
        callee = self.meaning(op.callee)
        if op.keywords or any(isinstance(each, Unpacked) for each in op.arguments) or not isinstance(callee, Fixed):
            raise NotWritten("a call")
        if any(isinstance(each, Local) for each in everything_in(op.callee)):
            raise NotWritten("a function in a variable")
        if isinstance(callee.value, Function):
            return self.in_place(op, callee.value)
        intrinsic = self.intrinsics[op] = function_of(callee.value)
        arguments = [self.meaning(each) for each in op.arguments]
        samples = [_sample_of(self.mask, each) for each in arguments]
        result, count = self.rehearsed(
            lambda machine: intrinsic.call(Call(machine, op, self.mask, op.discards), samples, {})
        )
        operands = tuple(each for each in arguments if isinstance(each, Number))
        given = zip(arguments, op.arguments, strict=True)
        if all(isinstance(each, Fixed) or isinstance(of, Constant) for each, of in given):
            if not isinstance(result, NUMBERS) or count.hazards:
                raise NotWritten("a value that is no number")
            self.source.count(count)
            return self.given_number(op, result)
        if len(operands) < len(arguments):
            raise NotWritten("a call with more than numbers")
        spelling = self.spelling_of(callee.value, intrinsic, operands, result)
        return self.spelled(op, "call", spelling, operands, result, count)

    def in_place(self, op: FunctionCall, function: Function) -> Number:
        """A device function, written in place of its call: what it returns."""
        source = self.source
        lowered = op.bodies.get(function) or self.machine.lower(function)
        if function.kind == "host" or function.casts is not None or function.star or len(self.scopes) >= MOST_SCOPES:
            raise NotWritten("a function that is not written in place of its call")
        if len(op.arguments) != len(function.parameters) or not isinstance(lowered.body, Block):
            raise NotWritten("arguments that a function gives itself")
        arguments = [self.apart(self.meaning(each)) for each in op.arguments]
        source.run()
        run, leaves, at, before, others = source.here, source.leaves, self.at, self.variables, self.others
        scope = WrittenCall(source.name("v") + "_", source.name(), len(self.loops))
        self.variables, self.others = {}, {}
        self.scopes.append(scope)
        with source.inside("while True:"):
            for name, value in zip(function.parameters, arguments, strict=True):
                if isinstance(value, Number):
                    self.set(name, value)
                elif isinstance(value, Fixed):
                    scope.given[name] = value.op
                    self.others[name] = value.value
                else:
                    raise NotWritten("a tuple as an argument")
            if assigned_in(lowered.body) & self.others.keys() or self.block(lowered.body):
                raise NotWritten("a function that may return nothing")
        self.scopes.pop()
        self.variables, self.others, self.at = before, others, at
        source.here, source.leaves = run, leaves
        if len({each.kind for each in scope.results}) != 1:
            raise NotWritten("a function that returns two types")
        low, high = min(each.low for each in scope.results), max(each.high for each in scope.results)
        return replace(scope.results[0], code=scope.result, low=low, high=high)

    def give(self, op: Return) -> None:
        """Returns from a function that is written in place of its call."""
        scope = self.scopes[-1]
        if op.result is None or len(self.loops) > scope.loops:
            raise NotWritten("a return in a loop, or of nothing")
        value = self.number(op.result)
        scope.results.append(value)
        self.source.write(f"{scope.result} = {value.code}")
        self.count(lambda machine: machine.books.issued(op, self.mask, op.slots))
        self.leave("break", LEAVES_LOOP)

    def spelling_of(
        self, callee: Value, intrinsic: Intrinsic, operands: Sequence[Number], result: Value | object
    ) -> Spelling | None:
        """How a function is written where there is a short way."""
        if not isinstance(result, NUMBERS) or not operands:
            return None
        x = operands[0]
        if isinstance(callee, TypeReference) or intrinsic.path in ("builtins.int", "builtins.float"):
            if result.dtype == x.dtype:
                return Spelling(x.code, "", x.low, x.high)
            if result.dtype.kind == "f":
                return numbers.cast_to_float(x, result.dtype)
            return numbers.cast_to_whole(x, result.dtype)
        if intrinsic.path in ("builtins.min", "builtins.max") and len(operands) == 2:
            return self.extreme(intrinsic.path.endswith("max"), *operands)
        compute = OF_FLOATS.get(intrinsic.handler)
        if compute is None or result.dtype not in (FLOAT32, FLOAT64):
            return None
        codes = [numbers.converted(each, result.dtype) for each in operands]
        if compute is np.sqrt and result.dtype == FLOAT64:  # both are rounded correctly, and Python's is quicker
            return Spelling(f"sqrt({codes[0]})", f"{codes[0]} >= 0")
        name = f"f_{intrinsic.path.rpartition('.')[2]}"
        self.functions[name] = compute
        called = f"{name}({', '.join(map(str, codes))})"
        return Spelling(called if result.dtype == FLOAT32 else f"float({called})")

    def extreme(self, is_max: bool, x: Number, y: Number) -> Spelling | None:
        dtype = unify(x.dtype, y.dtype)
        a, b = numbers.converted(x, dtype), numbers.converted(y, dtype)
        if dtype not in KEPT or a is None or b is None or dtype == BOOL:
            return None
        pick = max if is_max else min
        first, second = (self.kept(code, dtype) for code in (a, b))
        code = f"{second.code} if {second.code} {'>' if is_max else '<'} {first.code} else {first.code}"
        return Spelling(code, "", pick(x.low, y.low), pick(x.high, y.high))

    # -- memory ---------------------------------------------------------------------------------------------------

    def place(self, op: Subscript) -> tuple[KnownView, tuple[Number, ...]]:
        """The array and the indices of an element, of which a part that is taken first has some: `a[i][j]`."""
        taken: list[Subscript] = []
        owner: Expression = op
        while isinstance(owner, Subscript) and owner.field is None and not self.is_fixed(owner):
            taken.insert(0, owner)
            owner = owner.owner
        if not taken or not self.is_fixed(owner):
            raise NotWritten("an element of something else than an array")
        view = self.value(owner)
        ndim = sum(len(each.indices) for each in taken)
        if not isinstance(view, View) or view.dtype.fields is not None or view.ndim != ndim:
            raise NotWritten("a part of an array, or no array")
        indices = []
        for each in (each for one in taken for each in one.indices):
            index = self.apart(self.number(each))
            if not isinstance(index, Number) or not numbers.is_whole(index.dtype):
                raise NotWritten("an index that is no integer")
            indices.append(index)
        if self.scopes and isinstance(owner, Local):
            owner = self.scopes[-1].given[owner.name]
        key = owner.name if isinstance(owner, Local) else owner
        known = self.views.get(key)
        if known is None:
            kind = self.kind_of_view(view)
            if kind.dtype not in KEPT:
                raise NotWritten("elements that are no numbers")
            known = self.views[key] = len(self.views), owner, kind
        return (*known, tuple((each, len(each.indices)) for each in taken[:-1])), tuple(indices)

    def access(
        self, op: Operation, known: KnownView, indices: tuple[Number, ...], access: int,
        operands: tuple[Number, ...], result: Number | None,
    ) -> tuple[AccessSite, str]:  # fmt: skip
        """An access's site, and the condition on which nothing needs a closer look; the element is then `e`."""
        view, _, kind, parts = known
        around = self.around
        held = around.held_loads if access == READ else around.held_stores
        if op.by_round is not None:
            raise NotWritten("an access that counts by the round")
        is_left_out = op in held or (op.leaves_no_load if access == READ else op.leaves_no_store)
        count = self.rehearsal.of_access(around, op, kind.dtype, kind.ndim - sum(n for _, n in parts), access, kind.space)
        self.source.count(count)
        site = AccessSite(
            len(self.source.sites), op, around, self.at, operands, count, self.source.run().number, result,
            view=view, kind=access, group=kind.group, is_left_out=is_left_out, parts=parts,
        )  # fmt: skip
        self.source.sites.append(site)
        conditions = [
            f"0 <= {each.code} < z{view}_{axis}" if each.low < 0 else f"{each.code} < z{view}_{axis}"
            for axis, each in enumerate(indices)
        ]
        terms = [f"{each.code} * s{view}_{axis}" for axis, each in enumerate(indices)]
        if kind.is_plain:
            terms[-1] = indices[-1].code
        else:
            terms.append(f"o{view}")
        element = " + ".join(terms)
        if not kind.has_shadow:
            return site, " and ".join(conditions) + f" and (e := {element}) >= 0"
        v = view
        wrote, read = (
            f"({stamp} < gs or {row}t{v}[e] == me and not {row}p{v}[e] & 3"
            f" or {row}s{v}[e] < in_block and {row}p{v}[e] & 3 != 3 and first <= {row}t{v}[e] <= last)"
            for stamp, row in ((f"(q := ws{v}[(e := {element})])", "w"), (f"rs{v}[e]", "r"))
        )  # see `is_settled` in ordering/order_primitives.py
        is_set = [] if access == WRITE or kind.all_set and kind.space == "global" else ["q"]
        return site, " and ".join([*conditions, wrote, read, *is_set])

    def noted(self, site: AccessSite, kind: ViewKind) -> None:
        """Writes down in the shadow, and among the sectors, what an access does."""
        source, v, k = self.source, site.view, site.number
        if kind.has_shadow:
            row = "r" if site.kind == READ else "w"
            source.write(f"{row}s{v}[e] = now; {row}t{v}[e] = me; {row}p{v}[e] = y{k}")
        if kind.space != "global":
            return
        per_sector = 5 - (kind.dtype.itemsize.bit_length() - 1)
        with source.inside(f"if e >> {per_sector} != u{k}:"):
            source.write(f"u{k} = e >> {per_sector}")
            source.write(f"l{v}[u{k}] |= {1 if site.kind == READ else 2}")
            if site.kind == READ:
                with source.inside(f"if is_first and a{v}[u{k}] != stamp:"):
                    source.write(f"a{v}[u{k}] = stamp; w{k} += 1")

    def load(self, op: Operation, known: KnownView, indices: tuple[Number, ...]) -> Number:
        source, (view, _, kind, _) = self.source, known
        name = source.name()
        result = Number.of(name, kind.dtype, kind.by_lane or any(each.by_lane for each in indices))
        site, condition = self.access(op, known, indices, READ, indices, result)
        with source.inside(f"if {condition}:"):
            self.noted(site, kind)
            source.write(f"{name} = {'d' if kind.dtype == FLOAT32 else 'm'}{view}[e]")
        with source.inside("else:"):
            source.write(f"{name} = x.load({site.number}, {', '.join(each.code for each in indices)})")
        return result

    def store(
        self, op: Operation, known: KnownView, indices: tuple[Number, ...], value: Number
    ) -> None:
        source, (view, _, kind, _) = self.source, known
        site, condition = self.access(op, known, indices, WRITE, (*indices, value), None)
        fits, code = _as_element(value, kind.dtype)
        if fits:
            condition = f"{fits} and {condition}"
        size = kind.dtype.itemsize
        arguments = ", ".join(each.code for each in (*indices, value))
        with source.inside(f"if {condition}:"):
            self.noted(site, kind)
            source.write(f"d{view}[e] = {code}")
            if kind.space == "global":
                source.write(f"e *= {size}")
                self.again(site)
        with source.inside("else:"):
            source.write(f"p{site.group} = x.store({site.number}, p{site.group}, {arguments})")

    def again(self, site: AccessSite) -> None:
        """Whether this round has stored to the same sector before: see `Counting.stored_again`."""
        with self.source.inside(f"if -32 < e - p{site.group} < 32:"):
            self.source.write(f"g{site.number} += 1")
        self.source.write(f"p{site.group} = e")


def function_of(callee: Value) -> Intrinsic:
    """The function of the library that a value is."""
    if isinstance(callee, TypeReference):
        return conversion(callee)
    if isinstance(callee, Reference) and callee.path in CALLS:
        return CALLS[callee.path]
    raise NotWritten("a call of something else than the library")


def _sample_of(mask: Mask, meaning: Meaning) -> Value:
    if isinstance(meaning, Number):
        return sample(mask, meaning.dtype, meaning.by_lane)
    if isinstance(meaning, Fixed):
        return meaning.value
    return tuple(_sample_of(mask, each) for each in meaning)


def _as_element(value: Number, dtype: np.dtype) -> tuple[str, str]:
    """(a condition, how a value is written into an array of this dtype): see `Memory.cast`, which does the rest."""
    if value.dtype == dtype:
        return "", value.code
    if numbers.is_whole(dtype) and numbers.is_whole(value.dtype) and BOOL not in (dtype, value.dtype):
        low, high = limits(dtype)
        return ("" if low <= value.low and value.high <= high else f"{low} <= {value.code} <= {high}"), value.code
    if dtype.kind == "f":
        code = numbers.converted(value, dtype)
        return ("", code) if code is not None else ("False", value.code)
    if dtype.kind in "iu" and value.dtype.kind == "f":
        cast = numbers.cast_to_whole(value, dtype)
        if cast is not None:
            return cast.condition, cast.code
    return "False", value.code


