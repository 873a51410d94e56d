"""What the compiler makes of loops and accesses: one small rule each, whose outcome is a fact on the operation.

Seen in machine code for compute capability 9.0 (numba-cuda 0.30): `for i in range(n)` keeps Numba's 64-bit iterator,
whose sign the compiler cannot know. So every index that depends on `i` is wrapped and multiplied again each time
(36 instructions a round in a naive matrix multiply). `while i < n: ... i += 1` is an ordinary counter, and addresses
advance by one addition (8 instructions a round). Short loops of constant length are unrolled: see written_out.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.simgpu.facts.arms import Arms
from autograder.simgpu.facts.behind_loops import made_behind
from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Atom, Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownArray, KnownNumber, Unknown, varies
from autograder.simgpu.facts.local_arrays import LocalArrays
from autograder.simgpu.facts.registers import Registers
from autograder.simgpu.facts.waiting import Waiting
from autograder.simgpu.facts.wide_accesses import WideAccesses
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.function_calls import FunctionCall, everything_of
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Selection
from autograder.simgpu.operations.statements import Break, If, Return
from autograder.simgpu.operations.steps import Block

REDUCED = ("add", "sub", "max", "min", "and_", "or_", "xor")  # of 32 bits, by one instruction for a warp


class Rules:
    """Applies the rules to the operations of one kernel."""

    def __init__(self, found: Found, forms: Forms, written_out: WrittenOut, expanded: Expanded) -> None:
        self.found = found
        self.forms = forms
        self.written_out = written_out
        self.expanded = expanded
        self.registers = Registers(found, forms, written_out, expanded)
        self.arms = Arms(found, forms, expanded)
        self.local_arrays = LocalArrays(found, forms, written_out, expanded)
        self.last: frozenset[Operation] = frozenset()  # branches after which the kernel ends
        self.last_loops: frozenset[Operation] = frozenset()  # loops after which it ends
        self.ends_of_arms: set[Operation] = set()  # branches that end an arm of another one

    def of_kernel(self, body: Operation) -> None:
        """Notes the facts on all operations of a kernel."""
        ends = list(_last_in(body))
        self.last = frozenset(each for each in ends if isinstance(each, If))
        self.last_loops = frozenset(each for each in ends if isinstance(each, (For, While)))
        self.local_arrays.of_kernel(body)
        self.conclude(body)
        WideAccesses(self.expanded).conclude(body)

    def conclude(self, part: Operation, loops: Sequence[Operation] = ()) -> None:
        """Notes the facts on an operation and on everything in it; `loops`: those around it, outermost first."""
        part.is_under_atomic = part in self.found.under_atomic
        if isinstance(part, If):
            self.ends_of_arms |= {arm.statements[-1] for arm in (part.body, part.orelse) if arm.statements}
        if isinstance(part, (For, While)):
            self._loop(part)
            loops = (*loops, part)
        if part in self.found.reached:
            self.registers.note(part)
            self._access(part, self.found.reached[part], loops)
        elif part in self.expanded.found.at_one_of:
            part.is_of_local_memory = bool(self.expanded.found.at_one_of[part] & self.local_arrays.in_memory)
        if isinstance(part, FunctionCall):
            self._call(part, loops)
            for body in part.bodies.values():
                self.conclude(body.body, loops)
        for each in part.parts():
            self.conclude(each, loops)
        if isinstance(part, (For, While)):
            self.registers.note_loop(part)
        if isinstance(part, (If, Selection)):
            counted = [each for each in loops if not self.written_out.includes(each)]
            self.arms.note(part, counted, part in self.last, part in self.ends_of_arms)

    # -- loops ----------------------------------------------------------------------------------------------------

    def _loop(self, loop: For | While) -> None:
        loop.behind = made_behind(loop, self.found, self.written_out, loop in self.last_loops)
        if isinstance(loop, While):
            loop.is_hopeless = self._is_hopeless(loop)
            loop.waits = Waiting(self.found, self.forms).is_in(loop, list(everything_of(loop.body)))
            return
        loop.is_written_out = self.written_out.includes(loop)
        loop.is_cheap = loop.is_written_out or not self._uses_counter(loop)
        loop.is_four_at_once = not loop.is_written_out and self._is_four_at_once(loop)

    def _is_four_at_once(self, loop: For) -> bool:
        """Whether the compiler does four rounds of a loop at once: a short one in which no loop is left, without exits."""
        if not self.written_out.is_for_four(loop):
            return False
        for each in everything_of(loop.body):
            if isinstance(each, (While, Break)) or isinstance(each, For) and not self.written_out.includes(each):
                return False
            if isinstance(each, Return) and each.function is loop.function:
                return False
        return True

    def _uses_counter(self, loop: For) -> bool:
        """Whether anything in a loop depends on its counter."""
        counter = self.forms.atom(("counter", loop))
        number = self.forms.number_of(counter)
        for each in everything_of(loop.body):
            known = self.found.values.get(each)
            if isinstance(known, KnownNumber) and self.forms.contains(known.form, number):
                return True
        return isinstance(self.found.values.get(loop.source, Unknown()), Unknown)

    def _is_hopeless(self, loop: While) -> bool:
        """Whether a loop that is entered never ends: nothing in its body can change the condition or leave the loop."""
        known = self.found.values.get(loop.condition)
        if not isinstance(known, KnownNumber) or loop in self.forms.loops_of(known.form):
            return False
        tested = everything_in(loop.condition)
        if any(isinstance(each, (Subscript, FunctionCall)) and not self._is_fixed(each) for each in tested):
            return False  # memory, which other threads change
        return not any(isinstance(each, (Break, Return)) for each in everything_in(loop))

    def _is_fixed(self, part: Subscript | FunctionCall) -> bool:
        """Whether an operation reads no memory: an item of a tuple, such as a shape."""
        return isinstance(part, Subscript) and part not in self.found.reached

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, call: FunctionCall, loops: Sequence[Operation]) -> None:
        known = self.found.values.get(call)
        if isinstance(known, KnownArray) and known.space == "local":
            call.is_of_local_memory = known.identity in self.local_arrays.in_memory
            call.leaves_no_store = known.identity in self.local_arrays.cleared_in_vain
        reached = self.found.reached.get(call)
        if reached is not None and not reached.varies and not self._varies_behind(call, reached, loops):
            call.is_added_up_by_the_warp = self._is_joined(call, reached.array.dtype)

    def _varies_behind(self, call: FunctionCall, reached: Reached, loops: Sequence[Operation]) -> bool:
        """Whether lanes that have left a loop in different rounds make an atomic behind it, each where its round says."""
        behind = [each for each in loops if isinstance(each, (For, While)) and call in each.behind]
        return any(
            index is None or loop in self.forms.loops_of(index) for loop in behind for index in reached.indices
        )

    def _is_joined(self, call: FunctionCall, dtype: np.dtype) -> bool:
        """Whether one lane carries out an atomic for the whole warp, all of whose lanes go to one element; integers only.

        Machine code (numba-cuda 0.30.4, compute capability 9.0): if all lanes add or subtract the same amount, a vote counts
        them, and a lane that uses the old value computes its own from the first lane's. If nothing uses the old value, one
        instruction (REDUX) combines the lanes' 32-bit amounts: sums, minima, maxima and bits.
        """
        name = self.found.callees.get(call, "").removeprefix("numba.cuda.atomic.")
        if dtype.kind not in "iu" or dtype.itemsize not in (4, 8) or len(call.arguments) < 3:
            return False
        if dtype.itemsize == 4 and call.is_ignored:
            return name in REDUCED
        amount = self.found.values.get(call.arguments[2])
        return name in ("add", "sub") and isinstance(amount, KnownNumber) and not varies(amount)

    # -- accesses -------------------------------------------------------------------------------------------------

    def _access(self, part: Operation, reached: Reached, loops: Sequence[Operation]) -> None:
        counting = next((each for each in reversed(loops) if not self._costs_nothing(each)), None)
        part.has_cheap_address = counting is not None and all(
            index is not None and self._is_kept(index, counting) for index in reached.indices
        )
        if reached.array.space == "local":
            part.is_of_local_memory = reached.array.identity in self.local_arrays.in_memory
            part.chosen_of = self.local_arrays.chosen_of(part)
        if reached.array.space == "shared" and isinstance(part, Subscript):
            outermost = next((each for each in loops if self.written_out.includes(each)), None)
            if outermost is not None and self._is_worked_out_before(reached, outermost):
                for each in reached.made_by:
                    each.is_folded = True

    def _costs_nothing(self, loop: Operation) -> bool:
        return isinstance(loop, For) and loop.is_cheap

    def _is_kept(self, index: Form, loop: Operation) -> bool:
        """Whether a loop does not change an index, or advances it by a fixed step each round."""
        return all(
            loop not in atom.loops or number in self.found.steps and _is_of_loop(atom, loop)
            for number, atom in self.forms.atoms_of(index)
        )

    def _is_worked_out_before(self, reached: Reached, loop: Operation) -> bool:
        """Whether all indices are multiples of the counters of unrolled loops, plus what `loop` does not change.

        In `tile[y * 16 + i]` with counter `i`, `y * 16` is computed before the loop, and `i` is a constant in the load
        instruction. The machine code of a tiled multiply has loads and multiply-adds between its barriers and no integer
        arithmetic, whether its tiles are two-dimensional or flat (numba-cuda 0.30, compute capability 9.0).
        """
        for index in reached.indices:
            if index is None:
                return False
            for _, atom in self.forms.atoms_of(index):
                is_counter = type(atom.key) is tuple and atom.key[0] == "counter" and self.written_out.includes(atom.key[1])
                if loop in atom.loops and not is_counter:
                    return False
        return True


def _last_in(block: Operation) -> Iterator[Operation]:
    """The branches and the loops after which a kernel ends."""
    if not isinstance(block, Block) or not block.statements:
        return
    last = block.statements[-1]
    if isinstance(last, (For, While)) and not last.orelse.statements:
        yield last
    if isinstance(last, If):
        yield last
        yield from _last_in(last.body)
        yield from _last_in(last.orelse)


def _is_of_loop(atom: Atom, loop: Operation) -> bool:
    """Whether an atom is a variable that this loop changes, not one inside it."""
    return type(atom.key) is tuple and atom.key[0] == "round" and atom.key[1] is loop
