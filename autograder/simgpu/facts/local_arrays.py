"""Which local arrays lie in registers, and what an access costs there whose index is known only at run time.

Seen in machine code (numba-cuda 0.30.4, NVVM and ptxas 13.0, compute capability 9.0) of the kernels in
`measurements/machine_code_emulator/local_arrays.py`, and in an H200's counters of the sets of `measurements/`:

- Arrays whose indices are all known when a kernel is compiled are registers, as many as there are elements.
- So are very small arrays of four-byte numbers where some index is not known: each such access compares the index with
  the places of all elements, and chooses. Arrays of eight bytes or of one byte never are.
- How many elements that may be depends on how many accesses machine code has, and on what else goes on beside them: short
  kernels choose among up to 32, but of arrays of five and more the sets' kernels have nearly all in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import cached_property
from math import prod

from autograder.simgpu.facts.expanded import Expanded
from autograder.simgpu.facts.forms import Form, Forms
from autograder.simgpu.facts.found import Found, Reached
from autograder.simgpu.facts.known import KnownArray
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.operations.function_calls import FunctionCall, everything_of
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Junction
from autograder.simgpu.operations.statements import Break, Continue, If, Return, UpdateElement
from autograder.simgpu.operations.steps import Block

WORD = 4  # bytes of an element that may be chosen among registers
MOST_ELEMENTS = 8
MOST_CHOSEN = 120  # elements times accesses in machine code; half of what short kernels have
COPIES_OF_FOUR_ROUNDS = 5  # of an innermost loop: four rounds at once, and those that are left one by one
COPIES_IN_WHILE = 12  # of a `while` inside another loop


class LocalArrays:
    """The local arrays of one kernel."""

    def __init__(self, found: Found, forms: Forms, written_out: WrittenOut, expanded: Expanded) -> None:
        self.found = found
        self.forms = forms
        self.written_out = written_out
        self.expanded = expanded
        self._copies = defaultdict[Operation, int](int)  # how often machine code has an operation
        self.cleared_in_vain: set[Hashable] = set()  # arrays all of whose elements are stored to before anything branches

    def of_kernel(self, body: Operation) -> None:
        """Looks at all accesses of a kernel and of the functions that it calls."""
        if isinstance(body, Block):
            self._note_stored_to(body)
        self._go_through(body, ())

    @cached_property
    def in_memory(self) -> frozenset[Hashable]:
        """Those that no registers hold: by their indices, or because an access goes to one of several."""
        met = (each for arrays in self.expanded.found.at_one_of.values() for each in arrays)
        unknown: set[Hashable] = {each for each in met if isinstance(each, tuple) and each[0] == "local"}
        at_run_time = {each for each, accesses in self._at_run_time.items() if not self._are_chosen(accesses)}
        return frozenset(unknown | at_run_time)

    def chosen_of(self, op: Operation) -> int:
        """Of an access to an array in registers at an index known only at run time: how many elements that has; else 0."""
        reached = self.found.reached.get(op)
        if reached is None or reached.array.space != "local" or reached.array.identity in self.in_memory:
            return 0
        return 0 if self._is_known_early(reached) else _elements(reached.array)

    @cached_property
    def _at_run_time(self) -> dict[Hashable, list[Operation]]:
        """By array: the accesses whose index is known only at run time."""
        found = defaultdict(list)
        for op, reached in self.found.reached.items():
            if reached.array.space == "local" and not self._is_known_early(reached):
                found[reached.array.identity].append(op)
        return found

    def _are_chosen(self, accesses: Sequence[Operation]) -> bool:
        arrays = [self.found.reached[each].array for each in accesses]
        if any(each.dtype.itemsize != WORD or each.dtype.fields or not each.is_whole for each in arrays):
            return False
        if any(isinstance(each, FunctionCall) for each in accesses):
            return False  # atomics
        elements = max(map(_elements, arrays))
        choices = elements * sum(self._copies[each] for each in accesses)
        return 0 < elements <= MOST_ELEMENTS and choices <= MOST_CHOSEN

    def _go_through(self, part: Operation, loops: tuple[Operation, ...]) -> None:
        times = max(1, len(self.expanded.pieces.rounds.get(part, ()))) * self._copies_in(loops)
        self._copies[part] += times
        if isinstance(part, UpdateElement):  # it loads and stores
            self._copies[part.reached] += times
        if isinstance(part, (For, While)):
            loops = (*loops, part)
        if isinstance(part, FunctionCall):
            for body in part.bodies.values():
                self._go_through(body.body, loops)
        for each in part.parts():
            self._go_through(each, loops)

    def _note_stored_to(self, body: Block) -> None:
        """Notes arrays all of whose elements a kernel stores to before anything branches: Numba clears them in vain.

        It clears them where the kernel begins, so that a guard before the first store is a branch.
        """
        rounds, stored, loaded = self.expanded.pieces.rounds, defaultdict[Hashable, int](int), set[Hashable]()
        for statement in body.statements:
            inside = everything_in(statement)
            if any(map(self._may_branch, inside)):
                break
            updated = {each.reached for each in inside if isinstance(each, UpdateElement)}
            for each in inside:
                reached = self.found.reached.get(each)
                if reached is None or reached.array.space != "local":
                    continue
                array = reached.array
                if each in updated or each not in self.found.stores or not self._is_known_early(reached):
                    loaded.add(array.identity)
                elif array.identity not in loaded:
                    stored[array.identity] += len(rounds.get(each, ()))
                    if stored[array.identity] >= _elements(array):
                        self.cleared_in_vain.add(array.identity)

    def _may_branch(self, part: Operation) -> bool:
        if isinstance(part, For):
            return not self.written_out.includes(part)
        has_body = isinstance(part, FunctionCall) and bool(part.bodies)
        return has_body or isinstance(part, (If, While, Junction, Return, Break, Continue))

    def _copies_in(self, loops: Sequence[Operation]) -> int:
        """How often machine code has what stands in these loops, outermost first, beside the rounds of written-out ones."""
        innermost = next((each for each in reversed(loops) if not self.written_out.includes(each)), None)
        if isinstance(innermost, For):
            inside = (each for each in everything_of(innermost.body) if isinstance(each, (For, While)))
            return 1 if any(not self.written_out.includes(each) for each in inside) else COPIES_OF_FOUR_ROUNDS
        return COPIES_IN_WHILE if innermost is not None and loops[0] is not innermost else 1

    def _is_known_early(self, reached: Reached) -> bool:
        return all(map(self._is_constant, reached.indices))

    def _is_constant(self, index: Form | None) -> bool:
        """Whether an index is made of constants and of counters of loops that are written out."""
        return index is not None and all(self._is_fixed(atom.key) for _, atom in self.forms.atoms_of(index))

    def _is_fixed(self, key: Hashable) -> bool:
        """Of an atom: a quotient of what is known early is known as well, and so is an element of an array of constants."""
        match key:
            case ("counter", Operation() as loop):
                return self.written_out.includes(loop)
            case ("load", ("constant", _), None, tuple() as indices, _):
                return all(map(self._is_constant, indices))
            case (type(), *operands):
                return all(isinstance(each, tuple) and self._is_constant(each) for each in operands)
        return False


def _elements(array: KnownArray) -> int:
    """How many elements an array has; 0 if that is not known."""
    return prod(each or 0 for each in array.extents)
