"""What one launch keeps while it runs, and what its batches of blocks ask of it: hazards, sites, constants, limits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np

from autograder.errors import KernelFault, Line, WorkLimit
from autograder.language.program import Function
from autograder.records.hazards import Hazard
from autograder.simgpu.counting.tally import Tally
from autograder.simgpu.counting.tracing import Trace
from autograder.simgpu.exceptions import Debug, Raised
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.tickets import Words
from autograder.simgpu.values.lanes import Dim3, Geometry
from autograder.simgpu.values.memory import MOST_SITES, Buffer, View, contiguous_strides

# Arrays of constant shape and what the launch adds, together. CUDA gives more to a kernel that asks for it in advance, which
# Numba's kernels do not: numba-cuda 0.30.4 on an H200 launches with 49,152 bytes and not with 52,000 (invalid value).
MOST_SHARED_BYTES = 48 * 1024


def silent(line: str) -> None:
    """The output of a launch whose prints go nowhere: a graded one's."""


class LaunchState:
    """One launch while it runs, as its batches of blocks see it."""

    def __init__(
        self,
        kernel: Function,
        geometry: Geometry,
        *,
        dynamic_shared_bytes: int,
        debug: Debug | None,
        start_clock: int,
        work_limit: int,
        earlier_launches: int,
        earlier_work: int,
        trace: Trace | None,
        output: Callable[[str], None] | None,
        checks_order: bool,
    ) -> None:
        if dynamic_shared_bytes > MOST_SHARED_BYTES:
            raise KernelFault(
                f"The launch asks for {dynamic_shared_bytes:,} bytes of dynamic shared memory; "
                f"a block of Numba's kernels can have at most {MOST_SHARED_BYTES:,} (48 KiB).",
                kind="too_much_shared_memory",
            )
        self.kernel = kernel
        self.geometry = geometry
        self.dynamic_shared_bytes = int(dynamic_shared_bytes)
        self.debug = debug
        self.started = start_clock  # the stamp of its first writes
        self.clock = start_clock
        self.grid_sync = start_clock
        self.work = 0
        self.work_limit = work_limit  # what earlier launches of the same run left
        self.next_look = work_limit // 2  # the work from which somebody looks how far it has come
        self.begun = 0  # blocks, so far
        self.within_while = 0  # loops without a last round that are under way, one in another
        self._halfway: tuple[int, int] | None = None  # what `progress` was at half of the limit
        self.earlier_launches, self.earlier_work = earlier_launches, earlier_work
        self.trace = trace
        self.output = output
        self.checks_order = checks_order
        self.tally = Tally()
        self.shared_bytes = self.dynamic_shared_bytes
        self.written: set[int] = set()  # ids of the allocations that the kernel may write
        self.words: Words | None = None  # that somebody looks at atomically, where fences give that a meaning
        self.raised: Raised | None = None  # the first exception that a kernel raised
        self.found = 0  # hazards so far, the same ones again among them
        self.carried_out = np.zeros(0, np.int64)  # linear numbers of the blocks, in the order of their lanes
        self._sites: dict[Line, int] = {}
        self._lines: list[Line] = []
        self._hazards: dict[Hashable, Hazard] = {}
        self.has_printed = False
        self.constants: list[np.ndarray] = []  # of the host, that the kernel has asked for
        self.captured: list[View] = []  # of the device, likewise
        self._constants: dict[int, View] = {}

    @property
    def by_place(self) -> dict[Hashable, Hazard]:
        """What was found, by its kind, line and array."""
        return self._hazards

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        return tuple(self._hazards.values())

    def is_written(self, buffer: Buffer) -> bool:
        """Whether this launch may write to the buffer at all."""
        return id(buffer.owner) in self.written

    def site(self, line: Line) -> int:
        """The number by which a shadow remembers a source line; the last one is of all lines for which none is left."""
        number = self._sites.get(line)
        if number is None:
            number = self._sites[line] = min(len(self._lines), MOST_SITES - 1)
            self._lines.append(line)
        return number

    def line_of_site(self, site: int) -> Line | None:
        return self._lines[site] if 0 <= site < min(len(self._lines), MOST_SITES - 1) else None

    def who(self, thread: int) -> tuple[Dim3, Dim3]:
        """(blockIdx, threadIdx) of a thread by its number within the launch."""
        position, in_block = divmod(thread, self.geometry.padded)
        return self.geometry.block_index(int(self.carried_out[position])), self.geometry.thread_index(in_block)

    def add_hazard(self, hazard: Hazard) -> None:
        """Keeps one hazard for each kind, line and array; later ones only raise its count."""
        key = (hazard.kind, hazard.line, hazard.array, hazard.severity)
        self.found += 1
        known = self._hazards.get(key)
        self._hazards[key] = (
            hazard if known is None else replace(known, occurrences=known.occurrences + hazard.occurrences)
        )

    def is_known(self, hazard: Hazard) -> bool:
        """Whether one of this kind was found at its line and array before."""
        return (hazard.kind, hazard.line, hazard.array, hazard.severity) in self._hazards

    def repeat_hazard(self, hazard: Hazard, times: int) -> None:
        """Adds a hazard so many times more; negative: takes it back, where it has been told by itself."""
        key = (hazard.kind, hazard.line, hazard.array, hazard.severity)
        self.found += times
        known = self._hazards.get(key)
        occurrences = times * hazard.occurrences + (0 if known is None else known.occurrences)
        self._hazards[key] = replace(known or hazard, occurrences=occurrences)

    def begin_rehearsal(self) -> None:
        """Forgets what was found: of a copy, on which somebody tries what operations do."""
        self._hazards, self.found = {}, 0

    def note_shared(self, static_bytes: int, op: Operation) -> None:
        """Keeps the shared memory that a block takes, and refuses more than a GPU has."""
        in_all = static_bytes + self.dynamic_shared_bytes
        self.shared_bytes = max(self.shared_bytes, in_all)
        if in_all > MOST_SHARED_BYTES:
            raise op.fault(
                f"The shared arrays of a block take {in_all:,} bytes; "
                f"a GPU allows Numba's kernels {MOST_SHARED_BYTES:,} (48 KiB).",
                "Use smaller tiles, or a narrower dtype.",
                "too_much_shared_memory",
            )

    def constant_array(self, value: np.ndarray, name: str) -> View:
        """A module-level NumPy array as Numba sees it: a constant copied at compile time."""
        if id(value) not in self._constants:
            self.constants.append(value)
            data = np.ascontiguousarray(value)
            buffer = Buffer(data.reshape(-1).copy(), 0, "constant", name)
            view = View(buffer, 0, data.shape, contiguous_strides(data.shape), data.dtype, name, read_only=True)
            self._constants[id(value)] = view
        return self._constants[id(value)]

    def captured_array(self, value: View, name: str) -> View:
        """A device array from around the kernel, by the name it has there; the same view each time."""
        if id(value) not in self._constants:
            self.captured.append(value)
            self._constants[id(value)] = value.called(name)
        return self._constants[id(value)]

    def look(self, op: Operation) -> None:
        """Takes note of how far the launch has come, and raises what ends one that has done all the work it may."""
        if self.work > self.work_limit:
            raise self.over_limit(op, may_never_end=self.within_while > 0)
        if self._halfway is None and self.work > self.work_limit // 2:
            self._halfway = self.progress()
        self.next_look = self.work_limit

    def progress(self) -> tuple[int, int]:
        """How many blocks have been begun, and how many elements of arrays written at least once."""
        return self.begun, 0

    def over_limit(self, op: Operation, *, may_never_end: bool = True) -> KernelFault:
        """What ends a launch that has done all the work it may. It says that a loop may never end only where one without
        a last round was under way, and nothing showed that it got on, in all the second half of that work."""
        if self.earlier_work > self.work_limit:
            return WorkLimit(
                f"`{self.kernel.name}` was stopped: the {self.earlier_launches:,} launches before it used up "
                f"{self.earlier_work:,} of {self.earlier_work + self.work_limit:,} units of work.",
                line=op.line,
                remedy="Check that the loop around the launch ends, and that each launch is needed.",
            )
        blocks, threads = self.geometry.blocks, self.geometry.threads_per_block
        what = f"`{self.kernel.name}` was stopped: it used up its {self.work_limit:,} units of work"
        if self._halfway == self.progress() and may_never_end:
            return WorkLimit(
                f"{what} (an endless loop?): in the second half of it no block came to its end, and no element was written "
                "that had not been before.",
                line=op.line,
                remedy="Check that every loop ends.",
            )
        going = ""
        if self._halfway is not None and self._halfway != self.progress():
            going = ", and was still getting on"
        elif not may_never_end:
            going = ", in loops that do end, but later"
        return WorkLimit(
            f"{what} on {self.begun:,} of {blocks:,} blocks of {threads:,} threads{going}.",
            line=op.line,
            remedy="Check that the grid fits the problem, and that no thread does far more than its share.",
            kind="still_going",
        )

    @property
    def is_silent(self) -> bool:
        """Whether nobody reads what the kernel prints."""
        return self.output is silent

    def print_line(self, text: str) -> None:
        self.has_printed = True
        (self.output or (lambda line: print(line, file=sys.stdout)))(text)
