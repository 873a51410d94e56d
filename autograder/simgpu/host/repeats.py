"""Launches that do again what one before them did: the same kernel, on memory with the same contents.

A launch follows from its kernel, its grid, its arguments and the contents of memory: nothing is left to chance. Where all of
these are as they were, what was written and found then is what would be written and found now, and it is put there
without stepping through the kernel. Programs that time a kernel launch it a hundred times on the same numbers.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import psutil

from autograder.language.program import Function
from autograder.simgpu.counting.tracing import Trace
from autograder.simgpu.exceptions import Debug, Raised
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host.same_way import TOLD, SameWay
from autograder.simgpu.ordering.tickets import Words
from autograder.simgpu.values.lanes import Batch, Geometry
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.values import Value
from autograder.simgpu.values.variables import NamedItems

MOST_KEPT_BYTES = 1024**3  # of contents, in all
MOST_KEPT = 32  # launches
BYTES_PER_SECOND = 8e9  # of contents: a launch that takes less than that on its memory is quicker carried out again
LONGEST_WAIT = 1024  # launches
WORTH_SECONDS = 1.0  # of launches that may go the same way: to find that out and to compile it takes about as long
MOST_TRIES = 3  # to find out
Record = TypeVar("Record")  # of a launch
CHUNK_BYTES = 512 * 1024  # compared at once: two of them and their differences fit a CPU's L2 cache


class LiveLaunch(Protocol):
    """A launch that is about to be carried out, or has been: `host/launch.py`."""

    kernel: Function
    geometry: Geometry
    dynamic_shared_bytes: int
    debug: Debug | None
    checks_order: bool
    wants_lines: bool
    buffers: list[Buffer]  # that the kernel is given or captures
    work: int
    raised: Raised | None
    interrupted: BaseException | None
    has_printed: bool
    constants: list[np.ndarray]
    captured: list[View]
    words: Words | None
    trace: Trace | None
    prepared: Prepared

    def batches(self) -> list[Batch]:
        """Its blocks, as they were carried out."""

    def is_written(self, buffer: Buffer) -> bool:
        """Whether it may write to a buffer."""


class Repeats:
    """What is known of the launches of a session, for those that come again."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, _Seen] = {}

    def record_of(self, launch: LiveLaunch, bound: Mapping[str, Value], carry_out: Callable[[], Record]) -> Record:
        """The record of a launch: of an earlier one that it repeats, with its writes, or of `carry_out`."""
        key = _key(launch, bound)
        if key is None:
            return carry_out()
        seen = self._seen.pop(key, None) or _Seen(launch.kernel)
        self._seen[key] = seen  # the latest stands last
        while len(self._seen) > MOST_KEPT:
            del self._seen[next(iter(self._seen))]
        if seen.known is not None:
            if seen.known.holds_for(launch):
                seen.known.write_to(launch)
                record: Record = seen.known.record
                return record
            seen.forget()
        if seen.on_its_way is not None:
            if seen.on_its_way.holds_for(launch):
                seen.on_its_way.carry_out(launch)
                again: Record = seen.on_its_way.record
                return again
            seen.on_its_way = None
        before = self._kept(launch, seen)
        marks = _Marks.of(launch) if seen.may_go_the_same_way() else None
        begun = time.perf_counter()
        record = carry_out()
        seen.seconds = time.perf_counter() - begun
        seen.seconds_in_all += seen.seconds
        if marks is not None and _tells_all(launch, record) and marks.are_left_by(launch):
            seen.on_its_way = _OnItsWay.of(launch, bound, record, marks)
            seen.ways_tried += 1
        if before is not None and _tells_all(launch, record):
            with contextlib.suppress(MemoryError):
                seen.known = _Known(launch, record, before)
        return record

    def _kept(self, launch: LiveLaunch, seen: _Seen) -> list[_Contents] | None:
        """The contents of a launch's memory, where it may come again and keeping them takes less time than it does."""
        size = sum(each.data.nbytes * (2 if launch.is_written(each) else 1) for each in launch.buffers)
        if not seen.is_expected() or seen.seconds < size / BYTES_PER_SECOND or size > MOST_KEPT_BYTES:
            return None
        others = [each for each in self._seen.values() if each is not seen and each.known is not None]
        while others and size + sum(each.known.nbytes for each in others if each.known) > MOST_KEPT_BYTES:
            others.pop(0).known = None
        if psutil.virtual_memory().available < 4 * size:
            return None
        try:
            return [_Contents.of(each) for each in launch.buffers]
        except MemoryError:
            return None


class _Seen:
    """A launch that has been made before, and what is known of it."""

    def __init__(self, kernel: object) -> None:
        self.kernel = kernel  # so that its id is nobody else's
        self.known: _Known | None = None
        self.seconds = 0.0  # that it took
        self.seconds_in_all = 0.0
        self.on_its_way: _OnItsWay | None = None
        self.ways_tried = 0
        self.others = 0  # how often its memory was looked at and held other numbers
        self._launches = 0
        self._wait = 1  # launches until its memory is looked at: longer after each time that it was not the same again

    def is_expected(self) -> bool:
        """Whether it has been made often enough, since its memory was last looked at, to look again."""
        self._launches += 1
        return self._launches > self._wait

    def may_go_the_same_way(self) -> bool:
        """Whether it finds other numbers each time, and has taken long enough to find out whether its way is one."""
        if not self.others or self.ways_tried >= MOST_TRIES:
            return False
        return self.seconds_in_all > WORTH_SECONDS * (1 + self.ways_tried)

    def forget(self) -> None:
        self.known = None
        self.others += 1
        self._launches, self._wait = 0, min(2 * self._wait, LONGEST_WAIT)


@dataclass(frozen=True, eq=False)
class _Contents:
    """What a buffer holds: its elements (None: nobody has written any), and which are written (None: all)."""

    data: np.ndarray | None
    written: np.ndarray | None

    @classmethod
    def of(cls, buffer: Buffer) -> _Contents:
        written = _written(buffer)
        if written is not None and not written.any():
            return cls(None, written)
        return cls(buffer.data.copy(), written)

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.data, self.written) if each is not None)

    def are_in(self, buffer: Buffer) -> bool:
        """Whether a buffer of this length and dtype holds just that."""
        written = _written(buffer)
        if (written is None) != (self.written is None):
            return False
        if written is not None and self.written is not None and not np.array_equal(written, self.written):
            return False
        return self.data is None or _have_same_bytes(self.data, buffer.data)


def _written(buffer: Buffer) -> np.ndarray | None:
    """A flag for each element that anybody has written; None: all of them."""
    if buffer.all_set or buffer.shadow is None:
        return None
    written: np.ndarray = buffer.shadow.written_at > 0
    if written.all():
        buffer.all_set = True
        return None
    return written


def _have_same_bytes(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two contiguous arrays of one size have the same bytes: NaN is the same as NaN, and 0 is not -0."""
    if one.nbytes != two.nbytes:
        return False
    a, b = one.view(np.uint8), two.view(np.uint8)
    whole = len(a) // 8 * 8
    if not np.array_equal(a[whole:], b[whole:]):
        return False
    words, others = a[:whole].view(np.int64), b[:whole].view(np.int64)
    step = CHUNK_BYTES // 8
    return all(np.array_equal(words[i : i + step], others[i : i + step]) for i in range(0, len(words), step))


class _Known:
    """What a launch found and left, on memory with these contents."""

    def __init__(self, launch: LiveLaunch, record: Any, before: Sequence[_Contents]) -> None:
        self.record = record
        self._work = launch.work
        self._before = before
        self._after = {
            i: _Contents.of(buffer)
            for i, buffer in enumerate(launch.buffers)
            if launch.is_written(buffer) and not before[i].are_in(buffer)
        }
        self._constants = [(value, value.copy()) for value in launch.constants]
        # the memory that was last found to hold what is in `before`, as it was then
        self._last = [(weakref.ref(each.owner), -1) for each in launch.buffers]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in (*self._before, *self._after.values()))

    def holds_for(self, launch: LiveLaunch) -> bool:
        """Whether a launch finds the memory as this one did."""
        for value, then in self._constants:
            if value.shape != then.shape or value.tobytes() != then.tobytes():
                return False
        for i, buffer in enumerate(launch.buffers):
            where, version = self._last[i]
            if where() is buffer.owner and version == buffer.owner.version and not buffer.owner.is_seen_by_host:
                continue
            if not self._before[i].are_in(buffer):
                return False
            self._last[i] = weakref.ref(buffer.owner), buffer.owner.version
        return True

    def write_to(self, launch: LiveLaunch) -> None:
        """Leaves what that launch left."""
        launch.work = self._work
        for i, contents in self._after.items():
            buffer = launch.buffers[i]
            if contents.data is not None:
                np.copyto(buffer.data, contents.data)
            if not buffer.all_set:
                buffer.set_by_host(slice(None) if contents.written is None else contents.written)
            buffer.owner.version += 1


Marked: TypeAlias = "tuple[weakref.ref[Buffer], int] | None"


@dataclass(frozen=True, eq=False)
class _Marks:
    """Which elements of a launch's memory had been written: all, none, or so many of one and the same buffer."""

    written: tuple[Marked, ...]  # None: all
    is_new: tuple[bool, ...]  # nobody had written any: so it is in other memory, too
    seen: list[int]  # the buffer's `marks` when that was last found to be so
    left: dict[int, np.ndarray | None]  # which the launch has written of new memory; None: all

    @classmethod
    def of(cls, launch: LiveLaunch) -> _Marks:
        is_new = tuple(map(_is_new, launch.buffers))
        flags = [None if new else _written(each) for each, new in zip(launch.buffers, is_new, strict=True)]
        return cls(
            tuple(
                None if written is None else (weakref.ref(each.owner), int(np.count_nonzero(written)))
                for each, written in zip(launch.buffers, flags, strict=True)
            ),
            is_new,
            [each.owner.marks for each in launch.buffers],
            {},
        )

    def are_left_by(self, launch: LiveLaunch) -> bool:
        """Whether a launch that found them so has written no others, but in new memory; which there is kept."""
        self.left.update(
            {i: _written(each) for i, (each, new) in enumerate(zip(launch.buffers, self.is_new, strict=True)) if new}
        )
        return self._hold_for(launch, self.left)

    def hold_for(self, launch: LiveLaunch) -> bool:
        """Whether the same elements have been written now: none is ever forgotten."""
        return self._hold_for(launch, ())

    def _hold_for(self, launch: LiveLaunch, others: Container[int]) -> bool:
        """Whether that is so of memory but for those arrays."""
        for i, (buffer, known, new) in enumerate(zip(launch.buffers, self.written, self.is_new, strict=True)):
            if i in others:
                continue
            if new or _is_new(buffer):
                if new and _is_new(buffer):
                    continue
                return False
            if known is not None and known[0]() is buffer.owner and self.seen[i] == buffer.owner.marks:
                continue
            written = _written(buffer)
            if (written is None) != (known is None):
                return False
            if written is not None and known is not None:
                if known[0]() is not buffer.owner or int(np.count_nonzero(written)) != known[1]:
                    return False
                self.seen[i] = buffer.owner.marks
        return True

    def leave(self, launch: LiveLaunch) -> None:
        """Marks in new memory what the launch writes there."""
        for i, written in self.left.items():
            launch.buffers[i].set_by_host(slice(None) if written is None else written)


def _is_new(buffer: Buffer) -> bool:
    """Whether nobody has written any element."""
    return buffer.owner is buffer and not buffer.all_set and buffer.shadow is not None and buffer.marks == 0


@dataclass(frozen=True, eq=False)
class _OnItsWay:
    """What a launch told that goes the same way whatever numbers it finds, and that way."""

    record: Any
    work: int
    marks: _Marks
    way: SameWay

    @classmethod
    def of(cls, launch: LiveLaunch, bound: Mapping[str, Value], record: Any, marks: _Marks) -> _OnItsWay | None:
        """None where it may go another way, or where what it told follows from more than its way."""
        if launch.words is not None or launch.debug is not None or launch.trace is not None or launch.constants:
            return None
        if launch.captured or any(each.kind not in TOLD for each in record.hazards):
            return None
        way = SameWay.of(launch, bound)
        return None if way is None else cls(record, launch.work, marks, way)

    def holds_for(self, launch: LiveLaunch) -> bool:
        return self.marks.hold_for(launch)

    def carry_out(self, launch: LiveLaunch) -> None:
        """Leaves what the launch would leave."""
        self.way.carry_out(launch)
        self.marks.leave(launch)
        launch.work = self.work
        for each in launch.buffers:
            if launch.is_written(each):
                each.owner.version += 1


def _tells_all(launch: LiveLaunch, record: Any) -> bool:
    """Whether a launch ended by itself, left nothing but its writes, and read nothing but what is looked at again."""
    known = {id(each) for each in launch.buffers}
    return (
        record.fault is None
        and launch.raised is None
        and launch.interrupted is None
        and not launch.has_printed
        and all(id(each.buffer) in known for each in launch.captured)
    )


def _key(launch: LiveLaunch, bound: Mapping[str, Value]) -> Hashable | None:
    """All that a launch follows from but the contents of its memory; None where that is not known."""
    buffers = launch.buffers
    if len({id(each.owner) for each in buffers}) < len(buffers) or any(each.owner.watcher for each in buffers):
        return None
    places = {id(each): i for i, each in enumerate(buffers)}
    try:
        arguments = tuple((name, _argument(value, places)) for name, value in bound.items())
    except _NoKey:
        return None
    memory = tuple((each.data.dtype, len(each.data), each.address % 256, each.name) for each in buffers)
    return (
        id(launch.kernel), launch.geometry, launch.dynamic_shared_bytes, launch.debug, launch.checks_order,
        launch.wants_lines, arguments, memory,
    )  # fmt: skip


class _NoKey(Exception):  # noqa: N818 (it says that a launch is not looked at, and is no error)
    """An argument that may be another one though it looks the same."""


def _argument(value: Value, places: Mapping[int, int]) -> Hashable:
    if isinstance(value, View):
        if value.lengths is not None or value.origin is not None or value.outside is not None:
            raise _NoKey
        if not isinstance(value.offset, int):
            raise _NoKey
        return (
            places[id(value.buffer)], value.offset, value.shape, value.strides, value.dtype, value.name, value.field,
            value.read_only,
        )  # fmt: skip
    if isinstance(value, tuple):
        names = value.names if isinstance(value, NamedItems) else None
        return names, tuple(_argument(each, places) for each in value)
    if isinstance(value, np.generic):
        return value.dtype, value.tobytes()
    if value is None or isinstance(value, (bool, int, str)):
        return type(value), value
    raise _NoKey
