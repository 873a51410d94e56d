"""What is known of the variables that a loop changes, in one round that stands for all.

Such a variable is an atom. Of its type, and of whether all threads have the same value, only that much is known which holds
both before the loop and at the end of each round.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Known, KnownArray, KnownNumber, KnownRange, KnownTuple, Unknown, arrays_in
from autograder.simgpu.facts.known_memory import KnownMemory
from autograder.simgpu.facts.merging import Merging, of_different_kinds
from autograder.simgpu.facts.scope import Scope
from autograder.simgpu.operations.expressions import NamedExpression
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.statements import Continue, Definition, Name, UpdateName
from autograder.simgpu.values import numba_types as nt


class LoopVariables:
    """The variables of the loops of one kernel."""

    def __init__(self, here: Here, memory: KnownMemory, merging: Merging) -> None:
        self.here = here
        self.memory = memory
        self.merging = merging

    # -- at the beginning of a round ------------------------------------------------------------------------------

    def at_a_round(self, op: Operation, scope: Scope, changed: frozenset[str]) -> dict[str, Known]:
        """The variables at the beginning of a round; `scope`: what is known before the loop."""
        made = dict(scope.variables)
        for name in changed & made.keys():
            made[name] = self._of_a_round(op, name, made[name])
        return made

    def _of_a_round(self, op: Operation, name: Hashable, known: Known) -> Known:
        """The value that a variable has in a round, if the loop changes it."""
        if isinstance(known, KnownNumber):
            form = self.here.forms.atom(("round", op, name, self.here.rounds), frozenset([op]) | self.here.around)
            return KnownNumber(known.dtype, form, known.varies)
        if isinstance(known, KnownTuple):
            return KnownTuple(tuple(self._of_a_round(op, (name, i), each) for i, each in enumerate(known.items)))
        return known

    def counter(self, op: For, source: Known | None) -> Known:
        """The value that a `for` loop assigns to its target in a round."""
        rounds = self.here.rounds
        key = ("counter", op, rounds) if rounds else ("counter", op)
        around = frozenset() if _is_fixed(source) else self.here.around
        form = self.here.forms.atom(key, frozenset([op]) | around)
        match source:
            case KnownRange(start, stop, step, dtype):
                return KnownNumber(dtype, form, start.varies or stop.varies or step.varies)
            case KnownTuple(items) if items and all(isinstance(each, KnownNumber) for each in items):
                merged = items[0]
                for each in items[1:]:
                    merged = self.merging.of_values(("item", op), merged, each, False)
                return replace(merged, form=form) if isinstance(merged, KnownNumber) else merged
            case KnownArray():
                if source.ndim == 1:
                    return self.memory.loaded(source, (*source.prefix, form), False)
                return replace(source, ndim=source.ndim - 1, prefix=(*source.prefix, form))
        return Unknown(arrays_in(source) if source is not None else frozenset())

    # -- at its end -----------------------------------------------------------------------------------------------

    def widened(
        self, op: Operation, entry: Scope, header: Scope, end: Scope | None, changed: frozenset[str], is_apart: bool
    ) -> dict[str, Known] | None:
        """Variables for another try at a round; None if all that was taken for known still holds at its end.

        `entry`: what is known before the loop; `header`: what was taken for known; `end`: what holds at the end of it.
        """
        if end is None:
            return None
        made, is_wider = dict(header.variables), False
        for name in changed:
            known, then = header.variables.get(name), end.variables.get(name)
            if known is None or then is None:
                if known is None and then is not None and name not in entry.variables:
                    made[name] = self._of_a_round(op, name, then)
                    is_wider = True
                continue
            wide = _wide(known, then, is_apart)
            if wide != known:
                made[name], is_wider = wide, True
        return made if is_wider else None

    def note_steps(self, op: Operation, header: Scope, end: Scope | None, changed: frozenset[str]) -> None:
        """Records variables after a round, and those that grow by an amount that the loop does not change."""
        if end is None:
            return
        forms, found = self.here.forms, self.here.found
        for name in changed:
            known, then = header.variables.get(name), end.variables.get(name)
            if isinstance(known, KnownNumber) and isinstance(then, KnownNumber) and len(known.form[1]) == 1:
                amount = forms.add(then.form, known.form, -1)
                ((number, _),) = known.form[1]
                if op not in forms.loops_of(amount):
                    found.steps.add(number)
                if self._is_of_a_round(op, number):
                    found.ends.setdefault(op, {})[number] = then.form

    def note_carried(self, op: For | While, end: Scope | None) -> None:
        """Records loads whose element is in a register in every round but the first, from the round before."""
        carried: set[Operation] = set()
        self.here.found.carried[op] = carried
        if end is None or any(isinstance(each, Continue) for each in everything_in(op)):
            return
        for key, (load, _) in end.fresh.items():
            if key in end.elements and not any(op in self.here.forms.loops_of(index) for index in key[2]):
                carried.add(load)

    def _is_of_a_round(self, op: Operation, number: int) -> bool:
        """Whether an atom stands for a variable that this loop changes."""
        key = self.here.forms.key_of(number)
        return isinstance(key, tuple) and key[:2] == ("round", op)


def assigned_in(op: For | While) -> frozenset[str]:
    """The variables that a loop assigns to."""
    names: set[str] = set()
    for each in everything_in(op):
        if isinstance(each, (Name, UpdateName, NamedExpression)):
            names.add(each.name)
        elif isinstance(each, Definition):
            names.add(each.inner.name)
    return frozenset(names)


def goes_apart(source: Known) -> bool:
    """Whether threads may take different numbers of rounds in a loop over this."""
    if isinstance(source, KnownRange):
        return source.start.varies or source.stop.varies or source.step.varies
    return not isinstance(source, (KnownTuple, KnownArray))


def _is_fixed(source: Known | None) -> bool:
    """Whether a loop over this has the same rounds each time that it is entered."""
    if isinstance(source, KnownRange):
        return all(each.constant is not None for each in (source.start, source.stop, source.step))
    return False


def _wide(known: Known, then: Known, is_apart: bool) -> Known:
    """What holds of a variable both at the beginning of a round (`known`) and at its end (`then`)."""
    if isinstance(known, KnownNumber) and isinstance(then, KnownNumber):
        dtype = known.dtype
        if dtype is not None and then.dtype != dtype:
            fits = then.dtype is not None and then.dtype.kind in "biufc" and dtype.kind in "biufc"
            dtype = nt.unify(dtype, then.dtype) if fits and then.dtype is not None else None
        return KnownNumber(dtype, known.form, known.varies or then.varies or is_apart)
    if isinstance(known, KnownTuple) and isinstance(then, KnownTuple) and len(known.items) == len(then.items):
        return KnownTuple(tuple(_wide(a, b, is_apart) for a, b in zip(known.items, then.items, strict=True)))
    return known if known == then else of_different_kinds(known, then)
