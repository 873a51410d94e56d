"""What the compiler makes of loops and accesses, as facts on operations: one small rule each.

Seen in machine code for compute capability 9.0 (numba-cuda 0.30): `for i in range(n)` keeps Numba's 64-bit iterator,
whose sign the compiler cannot know, so every index made of `i` is wrapped and multiplied anew (36 instructions a round
in a naive matrix multiply). `while i < n: ... i += 1` is an ordinary counter: addresses advance by one addition
(8 instructions a round). Short loops of constant length are written out whole: see written_out.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from autograder.simgpu.facts.arms import Arms
from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Atom, Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownArray, KnownNumber, Unknown, varies
from autograder.simgpu.facts.library import SYNCHRONISES
from autograder.simgpu.facts.registers import Registers
from autograder.simgpu.facts.wide_accesses import WideAccesses
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Selection
from autograder.simgpu.operations.statements import Break, If, Return
from autograder.simgpu.operations.steps import Block

REDUCED = ("add", "sub", "max", "min", "and_", "or_", "xor")  # of 32 bits, by one instruction for a warp


class Rules:
    """Concludes from what is known of a kernel's operations what the compiler makes of them."""

    def __init__(self, found: Found, forms: Forms, written_out: WrittenOut, expanded: Expanded) -> None:
        self.found = found
        self.forms = forms
        self.written_out = written_out
        self.expanded = expanded
        self.registers = Registers(found, forms, written_out, expanded)
        self.arms = Arms(found, forms, expanded)
        self.last: frozenset[Operation] = frozenset()  # statements behind which the kernel ends

    def of_kernel(self, body: Operation) -> None:
        """Notes the facts on all operations of a kernel."""
        self.last = frozenset(_last_in(body))
        self.conclude(body)
        WideAccesses(self.expanded).conclude(body)

    def conclude(self, part: Operation, loops: Sequence[Operation] = ()) -> None:
        """Notes the facts on an operation and on everything in it; `loops` are those around it, outermost first."""
        part.is_told = part in self.found.told
        if isinstance(part, (For, While)):
            self._loop(part)
            loops = (*loops, part)
        if part in self.found.reached:
            self.registers.note(part)
            self._access(part, self.found.reached[part], loops)
        if isinstance(part, FunctionCall):
            self._call(part)
            for body in part.bodies.values():
                self.conclude(body.body, loops)
        for each in part.parts():
            self.conclude(each, loops)
        if isinstance(part, (For, While)):
            self.registers.note_loop(part)
        if isinstance(part, (If, Selection)):
            counted = [each for each in loops if not self.written_out.includes(each)]
            self.arms.note(part, counted, part in self.last)

    # -- loops ----------------------------------------------------------------------------------------------------

    def _loop(self, loop: For | While) -> None:
        if isinstance(loop, While):
            loop.is_hopeless = self._is_hopeless(loop)
            return
        loop.is_written_out = self.written_out.includes(loop)
        loop.is_cheap = loop.is_written_out or not self._uses_counter(loop)
        loop.is_four_at_once = not loop.is_written_out and self._is_four_at_once(loop)

    def _is_four_at_once(self, loop: For) -> bool:
        """Whether the compiler does several rounds of this loop of unknown length at once: innermost, without barriers."""
        for each in self._inside(loop):
            if isinstance(each, (For, While, Break)):
                return False
            if isinstance(each, Return) and each.function is loop.function:
                return False
            path = self.found.callees.get(each, "") if isinstance(each, FunctionCall) else ""
            if path.startswith((*SYNCHRONISES, "numba.cuda.shfl")):
                return False
        return True

    def _uses_counter(self, loop: For) -> bool:
        """Whether anything in a loop depends on its counter."""
        counter = self.forms.atom(("counter", loop))
        number = self.forms.number_of(counter)
        for each in self._inside(loop):
            known = self.found.values.get(each)
            if isinstance(known, KnownNumber) and self.forms.contains(known.form, number):
                return True
        return isinstance(self.found.values.get(loop.source, Unknown()), Unknown)

    def _is_hopeless(self, loop: While) -> bool:
        """Whether a loop never ends once begun: nothing in the body can change the condition or leave."""
        known = self.found.values.get(loop.condition)
        if not isinstance(known, KnownNumber) or loop in self.forms.loops_of(known.form):
            return False
        tested = everything_in(loop.condition)
        if any(isinstance(each, (Subscript, FunctionCall)) and not self._is_fixed(each) for each in tested):
            return False  # memory, which other threads change
        return not any(isinstance(each, (Break, Return)) for each in everything_in(loop))

    def _is_fixed(self, part: Subscript | FunctionCall) -> bool:
        """Whether it is no look at memory: an item of a tuple, such as a shape."""
        return isinstance(part, Subscript) and part not in self.found.reached

    def _inside(self, loop: For | While) -> list[Operation]:
        """Everything in a loop's body, in the functions that it calls too."""
        found: list[Operation] = []
        waiting: list[Operation] = [loop.body]
        while waiting:
            for each in everything_in(waiting.pop()):
                found.append(each)
                if isinstance(each, FunctionCall):
                    waiting.extend(body.body for body in each.bodies.values())
        return found

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, call: FunctionCall) -> None:
        known = self.found.values.get(call)
        if isinstance(known, KnownArray) and known.space == "local":
            call.is_of_local_memory = known.identity in self.arrays_in_memory
        reached = self.found.reached.get(call)
        if reached is not None and not reached.varies:
            call.is_added_up_by_the_warp = self._is_joined(call, reached.array.dtype)

    def _is_joined(self, call: FunctionCall, dtype: np.dtype) -> bool:
        """Whether the compiler has one lane carry out an atomic of all lanes on one element: on whole numbers only.

        Machine code (numba-cuda 0.30.4, compute capability 9.0): where all lanes add or take away the same amount, a vote
        says how many they are, and who uses the old value works out his own from it. Of 32 bits, one instruction puts
        together what the lanes have (REDUX), for sums, bounds and bits, where nobody uses the old value.
        """
        name = self.found.callees.get(call, "").removeprefix("numba.cuda.atomic.")
        if dtype.kind not in "iu" or dtype.itemsize not in (4, 8) or len(call.arguments) < 3:
            return False
        if dtype.itemsize == 4 and call.discards:
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
            part.is_of_local_memory = reached.array.identity in self.arrays_in_memory
        if reached.array.space == "shared" and isinstance(part, Subscript):
            outermost = next((each for each in loops if self.written_out.includes(each)), None)
            if outermost is not None and self._is_worked_out_before(reached, outermost):
                for each in reached.made_by:
                    each.is_folded = True

    def _costs_nothing(self, loop: Operation) -> bool:
        return isinstance(loop, For) and loop.is_cheap

    def _is_kept(self, index: Form, loop: Operation) -> bool:
        """Whether a loop leaves an index as it is, or advances it by a fixed step each round."""
        return all(
            loop not in atom.loops or number in self.found.steps and _is_of_loop(atom, loop)
            for number, atom in self.forms.atoms_of(index)
        )

    def _is_worked_out_before(self, reached: Reached, loop: Operation) -> bool:
        """Whether all indices are constant multiples of the counters of loops written out, plus what stays the same.

        Of `tile[y * 16 + i]` with `i` counting, `y * 16` is worked out before the loop, and `i` is a constant that the
        load carries along: machine code has loads and multiply-adds between the barriers of a tiled multiply and no integer
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

    @cached_property
    def arrays_in_memory(self) -> frozenset[object]:
        """Local arrays that no registers can hold, since an index of theirs is known only at run time."""
        found: set[object] = set()
        for reached in self.found.reached.values():
            if reached.array.space == "local" and not all(map(self._is_known_early, reached.indices)):
                found.add(reached.array.identity)
        return frozenset(found)

    def _is_known_early(self, index: Form | None) -> bool:
        if index is None:
            return False
        for _, atom in self.forms.atoms_of(index):
            if type(atom.key) is not tuple or atom.key[0] != "counter" or not self.written_out.includes(atom.key[1]):
                return False
        return True


def _last_in(block: Operation) -> Iterator[Operation]:
    """The branches behind which a kernel ends."""
    if not isinstance(block, Block) or not block.statements:
        return
    last = block.statements[-1]
    if isinstance(last, If):
        yield last
        yield from _last_in(last.body)
        yield from _last_in(last.orelse)


def _is_of_loop(atom: Atom, loop: Operation) -> bool:
    """Whether it is a variable that this very loop changes, and none inside it."""
    return type(atom.key) is tuple and atom.key[0] == "round" and atom.key[1] is loop
