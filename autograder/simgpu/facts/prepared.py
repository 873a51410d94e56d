"""A kernel made ready for arguments of some kinds: lowered once, with the facts on its operations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from autograder.errors import Line
from autograder.language.program import Function
from autograder.simgpu.facts.analysis import Analysis
from autograder.simgpu.facts.expanded import expand
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import Known, KnownArray, KnownName, KnownNumber, KnownTuple
from autograder.simgpu.facts.loads_ahead import LoadsAhead
from autograder.simgpu.facts.machine_code import MachineCode
from autograder.simgpu.facts.reasons import reasons_of
from autograder.simgpu.facts.refusals import Refusals
from autograder.simgpu.facts.rules import Rules
from autograder.simgpu.facts.stores_in_a_row import StoresInARow
from autograder.simgpu.facts.sunk_loads import SunkLoads
from autograder.simgpu.facts.written_out import WrittenOut
from autograder.simgpu.in_registers.loops import LoopsInRegisters
from autograder.simgpu.one_thread.loops import LoopsOfOneThread
from autograder.simgpu.operations.lowering import Lowering
from autograder.simgpu.operations.steps import Lowered
from autograder.simgpu.tapes.nests import Tapes
from autograder.simgpu.tapes.rounds import KnownRounds
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.values import Value

MOST_KEPT = 16  # versions of one kernel, for different kinds of arguments


@dataclass(frozen=True)
class Prepared:
    """A kernel lowered for arguments of some kinds, with the facts on its operations."""

    kernel: Lowered
    lowering: Lowering
    found: Found
    written_loops: LoopsOfOneThread = field(default_factory=LoopsOfOneThread)
    in_registers: LoopsInRegisters = field(default_factory=LoopsInRegisters)
    tapes: Tapes = field(default_factory=Tapes)
    rounds: KnownRounds = field(default_factory=KnownRounds)

    @property
    def has_fences(self) -> bool:
        """Whether it may contain a fence; without one, atomics put no other accesses in order."""
        return self._may_call("numba.cuda.threadfence")

    @property
    def is_cooperative(self) -> bool:
        """Whether its blocks may wait for each other, so that all must be resident at the same time."""
        return self._may_call("numba.cuda.cg.this_grid")

    @cached_property
    def reasons(self) -> dict[Line, tuple[str, ...]]:
        """Why the compiler's counts may differ from the source's, by source line."""
        return reasons_of(self.kernel.body, self.found)

    def _may_call(self, path: str) -> bool:
        return any(each.startswith(path) for each in self.found.paths)

    def written_allocations(self, arrays: Mapping[Hashable, View]) -> set[int]:
        """The ids of the allocations that it may write; `arrays`: those that it is given or captures, by identity."""
        written = arrays if self.found.may_write_anything else self.found.written & arrays.keys()
        return {id(arrays[each].buffer.owner) for each in written}


def prepared(kernel: Function, arguments: Mapping[str, Value]) -> Prepared:
    """The kernel made ready for arguments of these kinds; kept for the next launch with the same kinds."""
    forms_of: dict[Hashable, Prepared] = kernel.notes.setdefault(Prepared, {})
    key = tuple(kind_of(value) for value in arguments.values())
    known = forms_of.get(key)
    if known is None:
        if len(forms_of) >= MOST_KEPT:
            forms_of.clear()
        known = forms_of[key] = prepare(kernel, arguments)
    return known


def prepare(kernel: Function, arguments: Mapping[str, Value]) -> Prepared:
    """Makes a kernel ready for arguments of these kinds."""
    lowering = Lowering()
    lowered = lowering.of(kernel)
    analysis = Analysis(lowering.anew)
    given = {name: _argument(analysis.forms, value, ("argument", name)) for name, value in arguments.items()}
    found = analysis.of_kernel(lowered, given)
    Refusals(found, kernel, arrays_by_identity(arguments)).check(lowered.body)
    written_out = WrittenOut(found, analysis.forms)
    expanded = expand(lowering.anew, lowered, given, analysis.forms, written_out)
    rules = Rules(found, analysis.forms, written_out, expanded)
    rules.of_kernel(lowered.body)
    SunkLoads(found).conclude(lowered.body)
    machine_code = MachineCode(found, analysis.forms, rules, written_out)
    machine_code.of_kernel(lowered.body)
    LoadsAhead(found, machine_code.integers).conclude(lowered.body)
    StoresInARow(found).conclude(lowered.body)
    return Prepared(lowered, lowering, found)


def kind_of(value: Value) -> Hashable:
    """The kind of an argument, for which a kernel is made ready: all but its contents."""
    if isinstance(value, View):
        return value.dtype, value.ndim, value.buffer.space, value.read_only
    if isinstance(value, tuple):
        return tuple(map(kind_of, value))
    if isinstance(value, np.generic):
        return value.dtype
    kind: type = type(value)
    return kind


def _argument(forms: Forms, value: Value, identity: Hashable) -> Known:
    if isinstance(value, View):
        return KnownArray(value.dtype, value.ndim, value.buffer.space, identity, (None,) * value.ndim)
    if isinstance(value, tuple):
        return KnownTuple(tuple(_argument(forms, each, (identity, i)) for i, each in enumerate(value)))
    if isinstance(value, np.generic):
        return KnownNumber(value.dtype, forms.atom(identity), False)
    return KnownName(value)


def arrays_by_identity(arguments: Mapping[str, Value]) -> dict[Hashable, View]:
    """The arrays among a launch's arguments."""
    return {
        identity: view for name, value in arguments.items() for identity, view in _arrays_in(value, ("argument", name))
    }


def _arrays_in(value: object, identity: Hashable) -> Iterator[tuple[Hashable, View]]:
    if isinstance(value, View):
        yield identity, value
    elif isinstance(value, tuple):
        for i, each in enumerate(value):
            yield from _arrays_in(each, (identity, i))


def captured_by(functions: Iterable[Function]) -> dict[Hashable, View]:
    """Device arrays that functions capture: unlike captured NumPy arrays, these are no constants."""
    values = (function.names[name] for function in functions for name in function.free_names)
    found = (view for value in values for _, view in _arrays_in(value, ()))
    return {("buffer", id(view.buffer.owner)): view for view in found}


def reach_of(found: Found, arrays: Mapping[Hashable, View], buffer: Buffer) -> np.ndarray | None:
    """A flag for each element of an array that a launch may write; None if it may write any.

    It follows from the parts of it that the kernel is given, as `c[:half]`, and from an index that is the same number for
    all threads: `fields[2, i] = ...` writes row 2 only.
    """
    ours = {identity for identity, view in arrays.items() if view.buffer.owner is buffer}
    stores = [each for each in found.stores.values() if each.array.identity in ours]
    if ours & found.untracked or found.may_write_anything:
        return None
    reach = np.zeros(len(buffer.data), bool)
    for each in stores:
        view = arrays[each.array.identity]
        if view.buffer is not buffer or view.field is not None or not isinstance(view.offset, int):
            return None
        constants = [None if index is None or index[1] else index[0] for index in each.indices]
        if not each.array.is_whole or len(constants) != view.ndim:
            constants = [None] * view.ndim
        if any(n is not None and not 0 <= n < size for n, size in zip(constants, view.shape, strict=True)):
            return None
        if prod(view.shape) == len(reach) and all(n is None for n in constants):
            return None
        if 0 in view.shape:
            continue
        part = np.lib.stride_tricks.as_strided(reach[view.offset :], view.shape, view.strides)  # a flag is a byte
        part[tuple(slice(None) if n is None else n for n in constants)] = True
    return reach
