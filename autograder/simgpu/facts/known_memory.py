"""What is known of memory at one place: which elements are in registers, and which memory may have changed since.

A store, an atomic or a barrier may change a kind of memory: `ALL`, `GLOBAL`, or one shared or local array. Its elements are
then no longer in registers, and a further load may give another value.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from autograder.simgpu.facts.atomic_results import AtomicResults
from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.found import ALL, GLOBAL, Reached, kinds_of_memory
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import (
    Known,
    KnownArray,
    KnownName,
    KnownNumber,
    KnownRecord,
    KnownTuple,
    Unknown,
    arrays_in,
)
from autograder.simgpu.facts.known_results import ANYTHING
from autograder.simgpu.facts.observer import Observer
from autograder.simgpu.facts.scope import Element, InRegister, Scope
from autograder.simgpu.operations.indexing import Attribute, Slice, Subscript
from autograder.simgpu.operations.operation import Operation


class KnownMemory:
    """Loads, stores and other changes of memory in one kernel."""

    def __init__(self, here: Here, atomics: AtomicResults, observer: Observer) -> None:
        self.here = here
        self.atomics = atomics
        self.observer = observer
        self.unused: set[Operation] = set()  # operations whose value ends in a variable that nothing reads
        self.epochs: dict[Hashable, int] = {}  # by kind of memory: a number that is new whenever it may have changed
        self.epoch = 0  # the last of those numbers

    # -- loads ----------------------------------------------------------------------------------------------------

    def load(self, op: Subscript | Attribute, scope: Scope, owner: Known | None = None) -> Known:
        """What is known of an element, a part or a field that is loaded."""
        found = self.here.found
        reached = found.reached.get(op)
        if reached is None:
            return Unknown(arrays_in(owner if owner is not None else found.values.get(op.owner, ANYTHING)))
        array, indices = reached.array, reached.indices
        is_part = isinstance(op, Subscript) and op.field is None
        given = [(each, found.values.get(each)) for each in op.indices] if is_part and isinstance(op, Subscript) else []
        if any(_may_be_unknown(value) and not isinstance(each, Slice) for each, value in given):
            return Unknown(frozenset([array.identity]))
        new_axes = sum(value == KnownName(None) for _, value in given)
        whole = len(array.prefix) + array.ndim
        known = tuple(each for each in indices if each is not None)
        if array.dtype.fields and len(known) == len(indices) == whole and not new_axes:
            kept = frozenset([array.identity])
            return KnownRecord(kept, array=array, indices=known, varies=reached.varies, unsigned=reached.unsigned)
        if len(known) < len(indices) or array.dtype.fields:
            return self._part(op, array, max(0, whole + new_axes - len(known)))
        if len(indices) < whole:
            if not array.is_whole:
                return self._part(op, array, whole - len(known))
            return replace(array, ndim=whole - len(known), prefix=known, unsigned_prefix=reached.unsigned)
        element = self._element(op, array, known, reached.varies, scope)
        self.observer.loaded(op, array, known)
        return element

    def _part(self, op: Operation, array: KnownArray, ndim: int) -> Known:
        if array.dtype.fields:
            return Unknown(frozenset([array.identity]))
        return replace(array, ndim=max(0, ndim), extents=(None,) * max(0, ndim), prefix=(), part=op, unsigned_prefix=())

    def _element(
        self, op: Operation, array: KnownArray, indices: tuple[Form, ...], apart: bool, scope: Scope
    ) -> KnownNumber:
        """An element that is loaded from memory, or is still in a register since an earlier load or store."""
        key, placed = (array.identity, array.part, indices), (op, self.here.rounds)
        held = scope.elements.get(key)
        again = self.here.found.needless_loads
        if held is not None or op in self.unused:
            again.add(placed)
            return held.known if held is not None else self.loaded(array, indices, apart)
        again.discard(placed)
        if not kinds_of_memory(array) & scope.killed:
            scope.fresh.setdefault(key, placed)
        _read(array, scope)
        known = self.loaded(array, indices, apart)
        if key in scope.ahead:  # loaded once before the branch, for its arm and for this place
            again.add(scope.ahead.pop(key))
        scope.first.setdefault(key, placed)
        scope.elements[key] = InRegister(known, array.space)
        scope.loaded.setdefault(key, (known, op))
        return known

    def loaded(self, array: KnownArray, indices: tuple[Form, ...], apart: bool) -> KnownNumber:
        """The value that a load from memory gives."""
        kinds = kinds_of_memory(array)
        loops = frozenset(each for each in self.here.loops if kinds & self.here.found.kills.get(each, set()))
        epochs = tuple(self.epochs.get(each, 0) for each in sorted(kinds, key=repr))
        form = self.here.forms.atom(("load", array.identity, array.part, indices, epochs), loops, indices)
        if array.dtype is not None and array.dtype.kind == "u" and array.dtype.itemsize <= 4:
            self.here.found.natural.update(number for number, _ in form[1])
        if array.identity in self.atomics.arrays:
            form = self.here.forms.add(form, self.atomics.result(array.identity))
        return KnownNumber(array.dtype, form, apart or array.space != "constant")

    # -- stores ---------------------------------------------------------------------------------------------------

    def store(self, op: Subscript | Attribute, known: Known, scope: Scope) -> None:
        """An element or a part of an array is written."""
        found = self.here.found
        reached = found.reached.get(op)
        owner = reached.array if reached is not None else found.values.get(op.owner, ANYTHING)
        if reached is None:
            found.at_one_of[op] = arrays_in(owner)
            self.write_anywhere(owner, scope)
        else:
            found.stores[op] = reached
            self.change(owner, scope, reached.indices)
            self._keep(op, reached, known, scope)
        self.atomics.stored(owner, known)
        self.observer.stored(op)

    def update(self, op: Operation, reached: Reached, may_be_needless: bool, scope: Scope) -> None:
        """A library function loads an element and stores it; `may_be_needless`: not where a later one stores it again."""
        indices = tuple(each for each in reached.indices if each is not None)
        key = (reached.array.identity, reached.array.part, indices)
        self._element(op, reached.array, indices, reached.varies, scope)
        self.change(reached.array, scope, reached.indices)
        self._note_store(op, key, scope)
        if not may_be_needless:
            del scope.unread[key]
        form = self.here.forms.atom(("stored", op, self.here.rounds), self.here.around)
        scope.elements[key] = InRegister(KnownNumber(None, form, True), reached.array.space)
        self.observer.stored(op)

    def _note_store(self, op: Operation, key: Element, scope: Scope) -> None:
        """Notes a store to an element: one before it that nobody has read was needless."""
        before = scope.unread.get(key)
        placed = op, self.here.rounds
        if before is not None and before != placed:
            self.here.found.needless_stores.add(before)
        self.here.found.needless_stores.discard(placed)
        scope.unread[key] = placed

    def _keep(self, op: Operation, reached: Reached, known: Known, scope: Scope) -> None:
        """Keeps a stored element in a register; its value is known if the store converts nothing."""
        array = reached.array
        indices = tuple(each for each in reached.indices if each is not None)
        if len(indices) != len(array.prefix) + array.ndim or len(indices) < len(reached.indices) or array.dtype.fields:
            return
        key = (array.identity, array.part, indices)
        self._note_store(op, key, scope)
        if isinstance(known, KnownNumber) and known.dtype == array.dtype:
            scope.elements[key] = InRegister(replace(known, made_by=(), is_product=False), array.space)
        else:
            form = self.here.forms.atom(("stored", op, self.here.rounds), self.here.around)
            scope.elements[key] = InRegister(KnownNumber(array.dtype, form, True), array.space)

    # -- changes --------------------------------------------------------------------------------------------------

    def write_anywhere(self, known: Known, scope: Scope) -> None:
        """Arrays are written to at unknown places."""
        self.here.found.untracked |= arrays_in(known)
        self.change(known, scope)

    def change(self, known: Known, scope: Scope, indices: tuple[Form | None, ...] = ()) -> None:
        """Arrays are written to, and elements loaded before may have changed."""
        identities = arrays_in(known)
        self.here.found.written |= identities
        self.here.found.may_write_anything |= not identities and isinstance(known, Unknown)
        if isinstance(known, KnownArray):
            kinds = {known.identity} if known.space in ("shared", "local") else {GLOBAL}
        else:
            kinds = {*identities, GLOBAL}
        for kind in kinds:
            self.kill(kind, scope, known.identity if isinstance(known, KnownArray) else None, indices)

    def kill(
        self, kind: Hashable, scope: Scope | None, identity: Hashable = None, indices: tuple[Form | None, ...] = ()
    ) -> None:
        """A kind of memory may have changed; given an array and indices, not those elements that are provably others."""
        self.epoch += 1
        self.epochs[kind] = self.epoch
        for loop in self.here.loops:
            self.here.found.kills.setdefault(loop, set()).add(kind)
        if scope is not None:
            forget(kind, scope, identity, indices)

    def meet(self, before: Mapping[Hashable, int], one_way: Mapping[Hashable, int]) -> None:
        """Merges two paths: memory may have changed if it may have on either.

        `before`: the epochs where the paths part; `one_way`: those at the end of one path. The present ones end the other.
        """
        for kind in one_way.keys() | self.epochs.keys():
            if not one_way.get(kind) == self.epochs.get(kind) == before.get(kind):
                self.epoch += 1
                self.epochs[kind] = self.epoch


def forget(kind: Hashable, scope: Scope, identity: Hashable = None, indices: tuple[Form | None, ...] = ()) -> None:
    """Drops elements that may have changed from the registers; an element that is provably another one stays."""
    scope.killed.add(kind)
    elements = scope.elements
    if kind in (ALL, GLOBAL):
        spaces = ("shared", "global") if kind == ALL else ("global",)
        hit = [key for key, held in elements.items() if held.space in spaces]
    else:
        hit = [key for key in elements if key[0] == kind]
    for key in hit:
        if not (key[0] == identity and _are_different(key[2], indices)):
            del elements[key]
    scope.ahead.clear()
    if kind == ALL:
        scope.unread.clear()


def _read(array: KnownArray, scope: Scope) -> None:
    """Notes that an array is read, so that earlier stores to it were not needless."""
    for key in [*scope.unread]:
        if key[0] == array.identity or array.space not in ("shared", "local") and _is_of_others(key[0]):
            del scope.unread[key]


def _may_be_unknown(known: Known | None) -> bool:
    """Whether a value, or one of its items, is unknown."""
    return isinstance(known, Unknown) or isinstance(known, KnownTuple) and any(map(_may_be_unknown, known.items))


def _is_of_others(identity: Hashable) -> bool:
    """Whether an array comes from outside the kernel, so that another such array may be the same memory."""
    return not (isinstance(identity, tuple) and identity[0] in ("shared", "local"))


def _are_different(one: tuple[Form, ...], other: tuple[Form | None, ...]) -> bool:
    """Whether two elements of one array are provably different: some index of both is a constant, and not the same one.

    To the compiler `a[i]` and `a[i + 1]` may be the same element, since a negative index counts from the end.
    """
    for a, b in zip(one, other, strict=False):
        if b is not None and a[0] != b[0] and not a[1] and not b[1]:
            return True
    return False
