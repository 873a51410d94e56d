"""What is known after the place where two paths through a kernel meet."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import Conflicting, Known, KnownNumber, KnownTuple, Unknown, arrays_in, conflict
from autograder.simgpu.facts.scope import Element, InRegister, Scope
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.statements import If
from autograder.simgpu.values import numba_types as nt


class Merging:
    """Merges what is known on two paths of one kernel.

    `apart`: different threads may have come by different paths. `may_be_dropped`: the compiler may drop one of the paths.
    """

    def __init__(self, here: Here) -> None:
        self.here = here

    def of_scopes(
        self, op: Operation, one: Scope, other: Scope, apart: bool, *, may_be_dropped: bool = False
    ) -> Scope:
        """What is known after a condition or a loop."""
        joined: dict[str, Known] = {}
        for name in {**one.variables, **other.variables}:
            a, b = one.variables.get(name), other.variables.get(name)
            if a is None or b is None:
                known = a or b
                assert known is not None
                joined[name] = _varying(known) if apart else known
            else:
                joined[name] = a if a == b else self.of_values((op, name), a, b, apart, may_be_dropped=may_be_dropped)
        both = {
            key: held if other.elements[key] == held else self._of_elements(op, key, held, other.elements[key])
            for key, held in one.elements.items()
            if key in other.elements
        }
        made = Scope(joined, both)
        made.killed = one.killed | other.killed
        made.fresh = {key: place for key, place in one.fresh.items() if other.fresh.get(key) == place}
        if isinstance(op, If):
            for ours, theirs in ((one, other), (other, one)):
                made.ahead |= {
                    key: place
                    for key, place in ours.first.items()
                    if key in ours.elements and key not in both and key not in theirs.elements
                }
        return made

    def _of_elements(self, op: Operation, key: Element, one: InRegister, other: InRegister) -> InRegister:
        """An element that is in a register on both paths, with a value from each."""
        number, another = one.known, other.known
        form = number.form
        if form != another.form:
            form = self.here.forms.atom(
                ("either", (op, key), self.here.rounds), self.here.around, (form, another.form)
            )
        return InRegister(KnownNumber(number.dtype, form, True), one.space)

    def of_values(self, key: Hashable, a: Known, b: Known, apart: bool, *, may_be_dropped: bool = False) -> Known:
        """A value that is either `a` or `b`."""
        if isinstance(a, KnownNumber) and isinstance(b, KnownNumber):
            dtype = None
            if a.dtype is not None and b.dtype is not None and a.dtype.kind in "biufc" and b.dtype.kind in "biufc":
                dtype = nt.unify(a.dtype, b.dtype)
            form = a.form
            if a.form != b.form:
                form = self.here.forms.atom(("either", key, self.here.rounds), self.here.around, (a.form, b.form))
            return KnownNumber(dtype, form, a.varies or b.varies or apart)
        if isinstance(a, KnownTuple) and isinstance(b, KnownTuple) and len(a.items) == len(b.items):
            items = (
                self.of_values((key, i), x, y, apart, may_be_dropped=may_be_dropped)
                for i, (x, y) in enumerate(zip(a.items, b.items, strict=True))
            )
            return KnownTuple(tuple(items))
        return a if a == b else of_different_kinds(a, b, may_be_dropped=may_be_dropped)


def of_different_kinds(a: Known, b: Known, *, may_be_dropped: bool = False) -> Unknown:
    """A value that is either of two things of different kinds."""
    in_conflict = conflict(a, b) or isinstance(a, Conflicting) or isinstance(b, Conflicting)
    return (Conflicting if in_conflict and not may_be_dropped else Unknown)(arrays_in(a) | arrays_in(b))


def _varying(known: Known) -> Known:
    """The same value, now taken to differ from thread to thread."""
    if isinstance(known, KnownNumber):
        return replace(known, varies=True)
    return KnownTuple(tuple(map(_varying, known.items))) if isinstance(known, KnownTuple) else known
