"""Which loops of constant length the compiler unrolls ("writes out"), so that a round costs nothing beside its body.

NVVM unrolls a loop if its rounds times the size of its body stay under a budget. The sizes here are in thousandths of that
budget. They were found by compiling loops of 2 to 256 rounds around some forty bodies for compute capability 9.0
(numba-cuda 0.30, CUDA 13) and looking for a backward branch; `measurements/unrolling.py` does it again.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Container, Hashable, Iterator, Sequence
from typing import Any

from autograder.language.numeric_types import TypeReference
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownArray, KnownName, KnownNumber, KnownRange, KnownTuple
from autograder.simgpu.facts.literals import is_literal
from autograder.simgpu.facts.rounds import COMPUTED, CONDITIONS, MOST_STATES, State, rounds_of, rounds_of_for
from autograder.simgpu.operations.expressions import Constant, Local, TupleOf
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection
from autograder.simgpu.operations.statements import (
    Assign,
    Break,
    Continue,
    If,
    Name,
    Nothing,
    Return,
    TupleTarget,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Block

BUDGET = 1000.0
BUDGET_OF_WHILE = 1800.0  # its counter is an ordinary one: 1,650 are unrolled, and 1,950 are not
BUDGET_FOR_LOCAL = 4000.0  # where the counter reaches a local array, whose elements have registers only then
# A loop inside whose bounds depend on the counter is still a loop when the compiler decides. With local arrays it goes
# further here, if no branch is left inside, and further still with a third loop in the second.
LOOP_INSIDE = 305.0
WHILE_INSIDE = 45.0  # 12 rounds with one are unrolled, and 16 are not; 40 of an insertion sort of a local array
BUDGET_OF_TWO, BUDGET_OF_THREE = 5450.0, 8600.0  # machine_code_emulator/loops_by_counters.json
ROUND = 2.0  # the counter
OPERATION = 2.0
QUOTIENT, REMAINDER = 33.0, 24.0  # of integers, by a divisor that is not constant
COUNTER_DIVIDED = 20.0  # `i // 4` of the counter, although it is a constant in each round: Numba's quotient has branches
LOAD_ALONG = 9.3  # the loop's variable is in the last index: neighbouring elements
LOAD_FURTHER_ALONG = 13.0  # likewise, if a loop around moves the row
ODD = 1.4  # times the size of such a load, in a number of rounds that four does not divide: 22 are unrolled, 23 are not
LOAD_ACROSS = 13.8  # it is in an earlier index
LOAD_ACROSS_ODD = 18.5  # likewise, if the length of a row is no power of two: a multiplication in place of a shift
SAME_ROW, SAME_INDEX = 5.5, 2.0  # what a load saves if its row was computed before, or its index wrapped
STORE_ALONG = 6.3
STORE_ACROSS, STORE_ACROSS_SHARED = 14.0, 11.0
BRANCH = 7.0
BRANCH_ON_COUNTER = 4.0  # each round goes one way: only the variables that it may assign take room
COUNTING, COUNTING_BY_MORE = 1.5, 3.5  # `if ...: total += 1`: the compiler adds what the condition is, 0 or 1; or `+= 2`
BARRIER = 2.0
CALL = 4.0
ATOMIC = 6.5
LONG_FUNCTION = 170.0  # sin, a power, ...: many instructions
FUNCTIONS = {  # of float32, and of float64
    "exp": (28.0, 100.0), "tanh": (43.0, 170.0), "log": (60.0, 170.0), "erf": (60.0, 170.0), "atan": (60.0, 100.0),
    "expm1": (60.0, 100.0), "log1p": (90.0, 170.0),
}  # fmt: skip
FLOAT_QUOTIENT, DOUBLE_QUOTIENT = 9.0, 12.0
# Elements that a loop inside reaches beside each other, as `a[y + j, x + i]`: along a row, of a vector, along a column, at
# places known at compile time, and where they are stored; and what they take together (`unrolling.NESTS`).
NEIGHBOUR, NEIGHBOUR_OF_A_VECTOR, NEIGHBOUR_ACROSS, FIXED, FIXED_SHARED, NEIGHBOUR_STORED = 15.5, 11.0, 18.5, 9.0, 7.5, 16.0
BESIDE = 3.0
REGISTER = 0.5  # an element of a local array with a known index
SHORT_FUNCTIONS = frozenset(f"math.{name}" for name in "sqrt fabs fma floor ceil min max abs".split())
NEVER = float("inf")
LARGEST_OF_FOUR = 160.0  # bodies of `for` loops up to this size are done four rounds at a time
WITH_A_LOOP = frozenset(f"math.{name}" for name in "sin cos tan fmod".split())  # of float32: for large numbers
MOST_ROUNDS = 4096  # of the loops around a loop, together
MOST_COUNTED = 64  # rounds of a loop in which a `while` goes by its counter


class WrittenOut:
    """Decides which loops of one kernel are unrolled."""

    def __init__(self, found: Found, forms: Forms) -> None:
        self.found = found
        self.forms = forms
        self._known: dict[For, bool] = {}

    def includes(self, loop: Operation) -> bool:
        """Whether a loop is unrolled: over a tuple always, over a range of constants if it fits the budget."""
        if not isinstance(loop, For):
            return False
        if loop not in self._known:
            self._known[loop] = False  # while its bounds are examined
            rounds = self.rounds(loop)
            self._known[loop] = rounds == 0 or rounds < NEVER and self._fits_the_budget(loop, rounds)
        return self._known[loop]

    def _fits_the_budget(self, loop: For, rounds: float) -> bool:
        sizes = _Sizes(self, loop)
        size = ROUND + sizes.of(loop.body)
        budget = BUDGET
        if sizes.is_of_local_arrays:
            budget = BUDGET_FOR_LOCAL
            if sizes.depth and not sizes.has_branches:
                budget = BUDGET_OF_TWO if sizes.depth == 1 else BUDGET_OF_THREE
        return rounds * size <= budget and (sizes.is_of_local_tables or not is_left_at_the_end(loop.body))

    def rounds(self, loop: For) -> float:
        """The most rounds of a loop over a range of constants; 0 over a tuple, NEVER if they are not known."""
        source = self.found.values.get(loop.source)
        if isinstance(source, KnownTuple):
            return 0.0
        if not isinstance(source, KnownRange):
            return NEVER
        bounds = [each.form for each in (source.start, source.stop, source.step)]
        lengths = [_length(*each) if each[2] else NEVER for each in self._values_of(bounds)]
        return max(lengths, default=NEVER)

    def counted(self, loop: For) -> Sequence[int]:
        """The values of a loop's counter, if it is a range of constants; else none."""
        source = self.found.values.get(loop.source)
        if not isinstance(source, KnownRange):
            return ()
        bounds = source.start.constant, source.stop.constant, source.step.constant
        known = [each for each in bounds if each is not None]
        if len(known) < len(bounds) or not known[2] or _length(*known) > MOST_COUNTED:
            return ()
        return range(*known)

    def depends_on_others(self, loop: For) -> bool:
        """Whether a loop's bounds depend on anything but constants, such as counters of loops around it."""
        source = self.found.values.get(loop.source)
        return isinstance(source, KnownRange) and bool(source.start.form[1] or source.stop.form[1])

    def _values_of(self, bounds: Sequence[Form]) -> Iterator[tuple[int, ...]]:
        """Start, stop and step of a range, in each round of the loops around on whose counters they depend."""
        numbers = sorted({number for bound in bounds for number, _ in bound[1]})
        counters = [self._counted_by(number) for number in numbers]
        known = [each for each in counters if each is not None]
        if len(known) < len(counters) or math.prod(map(len, known)) > MOST_ROUNDS:
            return
        for at in itertools.product(*known):
            values = dict(zip(numbers, at, strict=True))
            yield tuple(bound[0] + sum(factor * values[number] for number, factor in bound[1]) for bound in bounds)

    def _counted_by(self, number: int) -> range | None:
        """The values of an atom, if it is the counter of an unrolled loop: all that rounds of the loops around give it."""
        key = self.forms.key_of(number)
        loop = key[1] if isinstance(key, tuple) and key[0] == "counter" else None
        if not isinstance(loop, For) or not self.includes(loop):
            return None
        source = self.found.values.get(loop.source)
        assert isinstance(source, KnownRange)
        bounds = list(self._values_of([each.form for each in (source.start, source.stop, source.step)]))
        steps = {step for _, _, step in bounds}
        if len(steps) != 1 or steps == {0}:
            return None
        (step,) = steps
        first, last = (min, max) if step > 0 else (max, min)
        return range(first(start for start, _, _ in bounds), last(stop for _, stop, _ in bounds), step)

    def fits(self, loop: While, rounds: int) -> bool:
        """Whether the compiler unrolls a `while` loop whose rounds are known.

        A loop with another `while` inside is unrolled where that one is: bitonic sorts are, of 36 steps.
        """
        if any(isinstance(each, While) for each in everything_in(loop.body)):
            return True
        return rounds * self._size(loop) <= BUDGET_OF_WHILE

    def is_for_four(self, loop: For) -> bool:
        """Whether the body of a loop is small enough for four rounds to be done at a time, and has no loop left in it.

        Seen in machine code of loops around some forty bodies, a part of which is kept
        (measurements/machine_code_emulator/quotients_and_functions.json).
        """
        return not self._calls_a_loop(loop.body) and self._size(loop) <= LARGEST_OF_FOUR

    def _calls_a_loop(self, part: Operation) -> bool:
        """Whether a function that is called in it goes through a loop, such as the sine of a large float32."""
        for each in everything_in(part):
            if isinstance(each, FunctionCall) and self.found.callees.get(each, "") in WITH_A_LOOP:
                known = self.found.values.get(each)
                if isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.itemsize <= 4:
                    return True
            if isinstance(each, FunctionCall) and any(self._calls_a_loop(body.body) for body in each.bodies.values()):
                return True
        return False

    def _size(self, loop: For | While) -> float:
        """The share of the budget that one round takes."""
        return ROUND + _Sizes(self, loop).of(loop.body)


def _length(start: int, stop: int, step: int) -> int:
    """How many numbers a range has; Python's own len() ends at 63 bits."""
    return max(0, -((start - stop) // step))


def is_left_at_the_end(body: Block) -> bool:
    """Whether each round of a `for` loop ends with one test that leaves the loop or goes back to its beginning.

    The compiler leaves such a loop as it stands: it neither unrolls it nor moves its first test to the end, and so moves no
    load to before it. `for i in range(8): ...; if found: break` stays a loop, however few its rounds. Not so where there
    are several ways back: after `if a and b: break`, with anything in the other arm, or after a `continue`; nor where the
    counter reaches a local array of two dimensions. Behind the test may stand what takes no instruction: `y = t`.
    """
    statements = list(body.statements)
    while statements and _is_renaming(statements[-1]):
        statements.pop()
    last = statements[-1] if statements else None
    if isinstance(last, (Break, Return)):
        return True
    if not isinstance(last, If) or goes_on_early(body):
        return False
    condition = last.condition
    if _ends_the_loop(last.body) and _is_empty(last.orelse):
        return not (isinstance(condition, Junction) and condition.is_and)
    if _ends_the_loop(last.orelse) and _is_empty(last.body):
        return not (isinstance(condition, Junction) and not condition.is_and)
    return False


def _is_renaming(statement: Operation) -> bool:
    """Whether a statement gives names to values that are there."""
    if isinstance(statement, Nothing):
        return True
    if not isinstance(statement, Assign) or not all(isinstance(each, (Name, TupleTarget)) for each in statement.targets):
        return False
    given = statement.operand.items if isinstance(statement.operand, TupleOf) else [statement.operand]
    return all(isinstance(each, (Local, Constant)) for each in given)


def _ends_the_loop(arm: Block) -> bool:
    return bool(arm.statements) and isinstance(arm.statements[-1], (Break, Return))


def _is_empty(arm: Block) -> bool:
    return all(isinstance(each, Nothing) for each in arm.statements)


def goes_on_early(body: Block) -> bool:
    """Whether threads may go on to the next round before the end of this one: by a `continue` of the loop with this body."""
    waiting: list[Operation] = [body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Continue):
            return True
        if not isinstance(each, (For, While)):
            waiting.extend(each.parts())
    return False


class _Sizes:
    """Adds up the sizes of the operations in one loop; a value that the compiler has computed before costs nothing.

    Loops inside are unrolled first. What stands in them counts for each of their rounds that gives another value, and not
    at all if it is the same in all rounds of the loop that is decided about: it is then computed before that loop.
    """

    def __init__(self, loops: WrittenOut, loop: For | While, around: Sequence[Operation] = ()) -> None:
        self.loops = loops
        self.found = loops.found
        self.loop = loop
        self.is_odd = isinstance(loop, For) and not loops.depends_on_others(loop) and loops.rounds(loop) % 4 != 0
        self.around = around  # loops that would be unrolled with it
        self.depth = 0  # of loops in loops whose bounds depend on its counter
        self.has_branches = False  # that no counter decides
        self.is_of_local_arrays = False  # reached by what a loop changes
        self.is_of_local_tables = False  # likewise, of two or more dimensions
        self.seen: set[Hashable] = set()
        self.inside: dict[Operation, float] = {}  # loops around the present place, inside this one: their rounds

    def of(self, part: Operation) -> float:
        if isinstance(part, While):
            return self._inner_while(part)
        if isinstance(part, For):
            return self._inner(part)
        if isinstance(part, (If, Selection)) and (holds := self._holds(part.condition)) is not None:
            arms = (part.body, part.orelse) if isinstance(part, If) else (part.yes, part.no)
            return self.of(arms[0] if holds else arms[1])
        if is_literal(part, self.found):
            return 0.0
        size = 0.0
        if isinstance(part, UpdateElement):
            size += OPERATION * self._times()
        elif isinstance(part, Subscript):
            size += self._access(part)
        elif isinstance(part, (If, Selection)):
            size += self._branch(part) * self._times()
        elif isinstance(part, Binary) and self._divides_a_counter(part) and not self._is_seen(part):
            size += COUNTER_DIVIDED * self._times(self._form_of(part))
        elif isinstance(part, Binary) and not self._stays(part) and not self._is_seen(part):
            size += (self._division(part) or OPERATION) * self._times(self._form_of(part))
        elif isinstance(part, UpdateName):
            size += OPERATION * self._times()
        elif isinstance(part, FunctionCall):
            size += self._call(part)
        return size + sum(map(self.of, part.parts()))

    def _branch(self, op: If | Selection) -> float:
        """What a branch takes beside its condition and its arms: less where it is but a constant more or less."""
        asked = self.found.values.get(op.condition)
        if isinstance(asked, KnownNumber) and self._is_constant(asked.form):
            return BRANCH_ON_COUNTER
        self.has_branches |= not (isinstance(asked, KnownNumber) and self._is_decided(asked.form))
        if not isinstance(op, If) or not isinstance(op.condition, Compare) or not _is_empty(op.orelse):
            return BRANCH
        statement, *others = op.body.statements or (None,)
        if others or not isinstance(statement, UpdateName) or statement.kind not in (ast.Add, ast.Sub):
            return BRANCH
        known = self.found.values.get(statement.operand)
        constant = known.constant if isinstance(known, KnownNumber) else None
        return BRANCH if constant is None else COUNTING if abs(constant) == 1 else COUNTING_BY_MORE

    def _holds(self, condition: Operation) -> bool | None:
        """Whether a condition is true or false for good; None if that is open."""
        if isinstance(condition, Junction):
            sides = [self._holds(each) for each in condition.operands]
            decisive = not condition.is_and
            return decisive if decisive in sides else None if None in sides else not decisive
        known = self.found.values.get(condition)
        constant = known.constant if isinstance(known, KnownNumber) else None
        return None if constant is None else bool(constant)

    def _inner(self, part: For) -> float:
        """A loop inside this one."""
        if self.loops.depends_on_others(part):  # the compiler decides on it when the loops around are unrolled
            return self._decided_later(part, LOOP_INSIDE)
        rounds = self.loops.rounds(part)
        if rounds and not self.loops.includes(part):
            return NEVER
        self.inside[part] = rounds
        size = self.of(part.body)
        del self.inside[part]
        return size

    def _inner_while(self, part: While) -> float:
        """A `while` loop inside this one: no hindrance if the rounds of those around it say how often it goes round."""
        begins = self.found.begins.get(part, {}).values()
        given = [each.form for each in begins if isinstance(each, KnownNumber)]
        loops = {each for form in given for each in self.loops.forms.loops_of(form) if isinstance(each, For)}
        states: Sequence[State] = [{}]
        inside = {each: set(everything_in(each)) for each in loops}
        for each in sorted((each for each in loops if part in inside[each]), key=lambda each: -len(inside[each])):
            states = rounds_of_for(each, states, self.found, self.loops.forms, self.loops.counted).states
            if len(states) > MOST_STATES:
                return NEVER
        if not states or not rounds_of(part, states, self.found, self.loops.forms).states:
            return NEVER
        return self._decided_later(part, WHILE_INSIDE)

    def _decided_later(self, part: For | While, beside: float) -> float:
        """A loop inside that is unrolled when this one is; `beside`: what it takes beside its body."""
        inner = _Sizes(self.loops, part, (*self.around, self.loop, *self.inside))
        size = beside + ROUND + inner.of(part.body)
        self.depth = max(self.depth, 1 + inner.depth)
        self.has_branches |= inner.has_branches
        self.is_of_local_arrays |= inner.is_of_local_arrays
        self.is_of_local_tables |= inner.is_of_local_tables
        return size * self._times()

    def _times(self, form: Form | None = None) -> float:
        """How many values a round has of this, in the loops inside; without a form: one for each of their rounds."""
        if form is None:
            return math.prod(self.inside.values())
        of_form = self.loops.forms.loops_of(form)
        return math.prod(rounds for loop, rounds in self.inside.items() if loop in of_form)

    def _form_of(self, part: Operation) -> Form | None:
        """The form of integer arithmetic; floats have one for each round."""
        known = self.found.values.get(part)
        is_whole = isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in "iu"
        return known.form if is_whole and isinstance(known, KnownNumber) else None

    def _stays(self, part: Binary) -> bool:
        """Whether it is computed before the loop, an integer that no round changes, or is a constant in each round."""
        form = self._form_of(part)
        return form is not None and (not self._moves(form) or self._is_constant(form))

    def _divides_a_counter(self, part: Binary) -> bool:
        """Whether it is the quotient of this loop's counter by a constant; those inside have been unrolled before."""
        form = self._form_of(part) if part.kind is ast.FloorDiv else None
        return form is not None and self.loop in self.loops.forms.loops_of(form) and self._is_constant(form)

    def _is_constant(self, form: Form) -> bool:
        """Whether an integer is computed from nothing but the counters of this loop and of those inside."""
        return all(key[0] in COMPUTED or self._is_counter(key, {self.loop, *self.inside}) for key in self._keys(form))

    def _is_decided(self, form: Form) -> bool:
        """Whether a condition is computed from nothing but counters of loops that would be unrolled together."""
        together = {self.loop, *self.inside, *self.around}
        return all(
            key[0] in COMPUTED or self._is_counter(key, together, or_unrolled=True)
            or isinstance(key[0], tuple) and key[0][0] in CONDITIONS
            for key in self._keys(form)
        )  # fmt: skip

    def _keys(self, form: Form) -> list[tuple[Any, ...]]:
        """What the atoms of a value are, and of what it is computed from; one that no tuple tells is left without a name."""
        forms = self.loops.forms
        keys = [forms.key_of(each) for number, _ in form[1] for each in (number, *forms.inside(number))]
        return [key if isinstance(key, tuple) else ("",) for key in keys]

    def _is_counter(self, key: tuple[Any, ...], loops: Container[Operation], or_unrolled: bool = False) -> bool:
        """Whether an atom is the counter of one of these loops, or of one that is unrolled."""
        return key[0] == "counter" and (key[1] in loops or or_unrolled and self.loops.includes(key[1]))

    def _is_seen(self, part: Binary) -> bool:
        known = self.found.values.get(part)
        key = ("operation", known.form) if isinstance(known, KnownNumber) else part
        if key in self.seen:
            return True
        self.seen.add(key)
        return False

    def _division(self, part: Binary) -> float:
        """The size of // and % of integers by a divisor that is not constant, and of / of floats; 0 for anything else."""
        known, divisor = self.found.values.get(part), self.found.values.get(part.right)
        if isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind == "f" and part.kind is ast.Div:
            return FLOAT_QUOTIENT if known.dtype.itemsize < 8 else DOUBLE_QUOTIENT
        if not isinstance(known, KnownNumber) or known.dtype is None or known.dtype.kind not in "iu":
            return 0.0
        if isinstance(divisor, KnownNumber) and divisor.constant is not None:
            return 0.0
        return {ast.FloorDiv: QUOTIENT, ast.Mod: REMAINDER}.get(part.kind, 0.0)

    def _access(self, part: Subscript) -> float:
        """The size of an access, by where in its index the loop's variable stands."""
        reached = self.found.reached.get(part)
        if reached is None:
            return 0.0
        is_store = part in self.found.stores
        key = (reached.array.identity, reached.indices, is_store)
        if key in self.seen:
            return 0.0
        self.seen.add(key)
        moving = [index is None or self._moves(index) for index in reached.indices]
        if not any(moving):
            return 0.0  # the same element every round
        times = self._times_of(reached.indices)
        if reached.array.space == "local":
            self.is_of_local_arrays = True
            self.is_of_local_tables |= len(reached.indices) > 1
            return REGISTER * times
        if reached.array.space == "constant":
            return (LOAD_ACROSS if any(moving[:-1]) else LOAD_ALONG) * times
        across = any(moving[:-1])
        if is_store:
            own = (STORE_ACROSS_SHARED if reached.array.space == "shared" else STORE_ACROSS) if across else STORE_ALONG
        else:
            own = self._load(reached, across) - self._has_in_common(reached, moving)
        apart = self._times_of([self._ours_in(index) for index in reached.indices])
        if apart < times:
            return BESIDE + self._neighbour(reached, is_store) * times
        return own * apart

    def _neighbour(self, reached: Reached, is_store: bool) -> float:
        """The size of one of the elements that loops inside this one reach beside each other."""
        if is_store:
            return NEIGHBOUR_STORED
        if all(index is not None and self._is_constant(index) for index in reached.indices):
            return FIXED_SHARED if reached.array.space == "shared" else FIXED
        rows = reached.indices[:-1]
        if any(index is None or not self.inside.keys().isdisjoint(self.loops.forms.loops_of(index)) for index in rows):
            return NEIGHBOUR_ACROSS
        return NEIGHBOUR if rows else NEIGHBOUR_OF_A_VECTOR

    def _ours_in(self, index: Form | None) -> Form | None:
        """The terms of an index that this loop changes."""
        if index is None:
            return None
        terms = self.loops.forms.atoms_of(index)
        factors = dict(index[1])
        return 0, tuple((number, factors[number]) for number, atom in terms if self.loop in atom.loops)

    def _times_of(self, indices: Sequence[Form | None]) -> float:
        """How many elements a round reaches by these indices, in the loops inside."""
        return math.prod(
            rounds
            for loop, rounds in self.inside.items()
            if any(index is None or loop in self.loops.forms.loops_of(index) for index in indices)
        )

    def _has_in_common(self, reached: Reached, moving: Sequence[bool]) -> float:
        """What the round saves because it has computed the row, or wrapped the index, for another load before."""
        array, common = reached.array, 0.0
        row = ("row", array.identity, reached.indices[:-1])
        if any(moving[:-1]) and row in self.seen:
            common = SAME_ROW
        for index, extent, moves in zip(reached.indices, array.extents, moving, strict=False):
            if moves and extent is not None and index is not None:
                wrapped = ("wrapped", index, extent)
                common = max(common, SAME_INDEX if wrapped in self.seen else 0.0)
                self.seen.add(wrapped)
        self.seen.add(row)
        return common

    def _load(self, reached: Reached, across: bool) -> float:
        if not across:
            rows = [row for row in reached.indices[:-1] if row is not None]
            is_moved = any(isinstance(loop, For) for row in rows for loop in self.loops.forms.loops_of(row))
            return (LOAD_FURTHER_ALONG if is_moved else LOAD_ALONG) * (ODD if self.is_odd else 1)
        array: KnownArray = reached.array
        row = (array.extents[-1] if array.extents and array.space == "shared" else None) or 1
        return LOAD_ACROSS_ODD if row & (row - 1) else LOAD_ACROSS

    def _moves(self, index: Form) -> bool:
        return self.loop in self.loops.forms.loops_of(index)

    def _keeps_the_bits(self, part: FunctionCall) -> bool:
        """Whether a call converts an integer to an integer, or a number to the type that it has."""
        callee = self.found.values.get(part.callee)
        if not isinstance(callee, KnownName) or not isinstance(callee.value, TypeReference):
            return False
        numbers = [self.found.values.get(each) for each in (part, *part.arguments)]
        if len({each.dtype for each in numbers if isinstance(each, KnownNumber)}) == 1 and len(numbers) == 2:
            return True
        return all(self._form_of(each) is not None for each in (part, *part.arguments))

    def _function(self, path: str, part: FunctionCall) -> float:
        """The size of a function of the module `math`."""
        if path in SHORT_FUNCTIONS:
            return CALL
        known = self.found.values.get(part)
        is_double = not isinstance(known, KnownNumber) or known.dtype is None or known.dtype.itemsize == 8
        return FUNCTIONS.get(path.removeprefix("math."), (LONG_FUNCTION, LONG_FUNCTION))[is_double]

    def _call(self, part: FunctionCall) -> float:
        if part.bodies:
            return sum(self.of(body.body) for body in part.bodies.values())
        path = self.found.callees.get(part, "")
        if self._keeps_the_bits(part):
            return 0.0
        if path.startswith("math."):
            return self._function(path, part) * self._times()
        if path in ("numba.cuda.syncthreads", "numba.cuda.syncwarp"):
            return BARRIER * self._times()
        return (ATOMIC if path.startswith("numba.cuda.atomic.") else CALL) * self._times()
