"""One kernel launch on the simulated GPU: checks the launch, steps through its blocks batch by batch, gathers the record.

All blocks are carried out and counted, unless a session is given a `Chooser` of somebody's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.errors import KernelFault, Line
from autograder.language.program import Function, reachable, wrong_number
from autograder.records.counters import Counters, LineProfile
from autograder.simgpu.counting.tally import SLOT, Tally
from autograder.simgpu.counting.tracing import Trace
from autograder.simgpu.exceptions import Debug, Stopped
from autograder.simgpu.facts.prepared import arrays_by_identity, captured_by, prepared, reach_of
from autograder.simgpu.functions import known_functions  # noqa: F401  (fills the tables of what a kernel may call)
from autograder.simgpu.host.freed_memory import keep_freed_memory
from autograder.simgpu.host.giving_up import GivingUp
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.repeats import Repeats
from autograder.simgpu.host.steady_rounds import SteadyLoops
from autograder.simgpu.host.stores import Stores, stores_since
from autograder.simgpu.machine.launch_state import LaunchState
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.ordering.tickets import Words
from autograder.simgpu.tapes.playing import Player
from autograder.simgpu.values.geometry import check_geometry
from autograder.simgpu.values.lanes import Batch
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.values import Value
from autograder.simgpu.values.variables import NamedItems, packed

LANES_PER_BATCH = 32768  # a lane vector of int64 is then 256 KiB: several fit the CPU's L2 cache
FAR_APART = 4  # lines that a warp's load takes: more are of lanes far from each other
TABLE = 6144  # sectors: 192 KiB, which the L1 of large GPUs may keep for all blocks of a multiprocessor
SEVERAL = 1.5  # times that a sector is loaded on average, by different blocks
DEFAULT_WORK_LIMIT = 400_000_000  # about half a minute on one core of a laptop


@dataclass(frozen=True, eq=False)
class Part:
    """Which blocks of a launch are carried out, by their linear numbers (int64, ascending)."""

    counted: np.ndarray
    uncounted: np.ndarray  # carried out after those, for what they write


@dataclass(frozen=True)
class Touched:
    """The distinct sectors of one array that the counted blocks of a launch went to."""

    loaded: int
    stored: int
    by_atomics: int
    of_all: int  # that the array has
    by_blocks: int = 0  # distinct ones that each block loads, summed over blocks; of large arrays where lanes are far apart
    pages: int = 0  # of 4 KiB that these lie in, likewise

    @property
    def is_shared(self) -> bool:
        """Whether several blocks load what it has."""
        return self.by_blocks > SEVERAL * self.loaded

    @property
    def is_table(self) -> bool:
        """Whether it is small, and several blocks load what it has."""
        return self.of_all <= TABLE and self.is_shared

    @property
    def far(self) -> int:
        """The loads of sectors that other blocks have loaded, with nothing else of their own near them."""
        return round((self.by_blocks - self.loaded) * self.pages / self.by_blocks) if self.is_shared else 0


@dataclass(frozen=True)
class Warps:
    """What is known of the warps of the counted blocks."""

    diverged: int = 0  # how many
    slowest: int = 0  # instructions of the one that executes most
    most_loads: int = 0  # from global memory, of the one that makes most; atomics are among them


@dataclass(frozen=True)
class Work:
    """What the counted blocks of a launch did together."""

    tally: Tally
    warps: Warps
    hottest_atomics: int  # at the sector that has most of them
    hottest_stores: int  # likewise, of warps to one element
    touched: tuple[Touched, ...]  # by array


class Chooser:
    """Says which blocks of each launch are carried out, and is told what they did. This one takes all of them.

    A session asks and tells it in the order of these methods. It is not to keep the launch, which holds all its arrays.
    """

    def choose(self, launch: RunningLaunch) -> Part | None:
        """The blocks of a launch that is about to begin; None: all of them, counted."""
        return None

    def blocks_at_once(self, launch: RunningLaunch) -> int:
        """How many blocks make a batch."""
        return max(1, LANES_PER_BATCH // launch.geometry.padded)

    def stops_after(self, launch: RunningLaunch) -> int | None:
        """The work after which a batch of blocks is stopped, whether it has ended or not; None: it is carried out."""
        return None

    def stopped(self, launch: RunningLaunch, machine: Machine) -> None:
        """A batch has come to its end, or to where it was stopped."""

    def in_all(self, launch: RunningLaunch, work: Work) -> Work:
        """What the counted blocks have done stands for so much work of the launch."""
        return work

    def done(self, launch: RunningLaunch, work: Work) -> Work:
        """What the record is to say of the counted blocks, which have just been carried out, and no others.

        `Buffer.loaded_sectors` of the launch's `buffers` and their shadows show what they did where.
        """
        return work

    def end(self, launch: RunningLaunch, record: LaunchRecord) -> None:
        """All blocks have been carried out; `RunningLaunch.stores_in` tells who wrote what."""


class RunningLaunch(LaunchState):
    """A launch while it runs; `run` carries it out and returns its record."""

    def __init__(
        self,
        kernel: Function,
        grid: Any,
        block: Any,
        *,
        dynamic_shared_bytes: int = 0,
        debug: Debug | None = None,
        start_clock: int = 2,
        work_limit: int = DEFAULT_WORK_LIMIT,
        earlier_launches: int = 0,
        earlier_work: int = 0,
        trace: Trace | None = None,
        output: Callable[[str], None] | None = None,
        checks_order: bool = True,
        chooser: Chooser | None = None,
        wants_lines: bool = True,
        repeats: Repeats | None = None,
        giving_up: GivingUp | None = None,
        earlier: list[LaunchRecord] | None = None,
    ) -> None:
        super().__init__(
            kernel,
            check_geometry(grid, block),
            dynamic_shared_bytes=dynamic_shared_bytes,
            debug=debug,
            start_clock=start_clock,
            work_limit=work_limit,
            earlier_launches=earlier_launches,
            earlier_work=earlier_work,
            trace=trace,
            output=output,
            checks_order=checks_order,
        )
        self.functions = reachable(kernel)
        self.chooser = chooser or Chooser()
        self.wants_lines = wants_lines
        self.repeats = repeats
        self.steady = None if repeats is None else SteadyLoops()
        self.giving_up, self.earlier = giving_up, earlier or []
        self.warps = Warps()  # of the batches so far
        self.machine: Machine | None = None  # of the batch that is carried out
        self.stops_at: int | None = None  # the work at which the batch is stopped
        self._set_next_look()
        self.interrupted: BaseException | None = None  # what ended it from outside, before its time: Ctrl-C for one
        self.counted = np.zeros(0, np.int64)  # the blocks that count
        self.local_bytes_per_thread = 0  # of arrays that lie in memory

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, arguments: tuple[Any, ...]) -> LaunchRecord:
        """Carries out every block, or those that are chosen; a fault of the kernel's ends it and is recorded.

        What ends it from outside is kept in `interrupted`, for the caller to raise again.
        """
        bound = packed(self.kernel, arguments)
        if bound is None:
            raise KernelFault(wrong_number(self.kernel, len(arguments)), line=self.kernel.line(self.kernel.node))
        bound = {name: _with_name(value, name) for name, value in bound.items()}
        self.prepared = prepared(self.kernel, bound)
        self.arrays = arrays_by_identity(bound) | captured_by(self.functions)
        self.buffers = list({id(each.buffer): each.buffer for each in self.arrays.values()}.values())
        self.written = self.prepared.written_allocations(self.arrays)
        self.words = Words() if self.checks_order and self.prepared.has_fences else None
        for buffer in self.buffers:
            buffer.forget_touched()
            if self.is_written(buffer):
                buffer.own()
        if self.repeats is None:
            return self.carry_out_chosen(bound)
        return self.repeats.record_of(self, bound, lambda: self.carry_out_chosen(bound))

    def carry_out_chosen(self, bound: dict[str, Value]) -> LaunchRecord:
        """Carries out the blocks that the chooser takes."""
        record = self.carry_out(self.chooser.choose(self) or self.all_blocks(), bound)
        for buffer in self.buffers:
            if self.is_written(buffer):
                buffer.owner.version += 1
                buffer.owner.marks += 1
        self.chooser.end(self, record)
        if self.repeats is not None:  # a program's own launch: nobody asks later which of its threads wrote what
            for buffer in self.buffers:
                buffer.let_large_shadow_go()
        return record

    def batches(self) -> list[Batch]:
        """The blocks that were carried out, as they were."""
        per_batch = self.blocks_per_batch(len(self.carried_out))
        return [
            Batch(self.geometry, self.carried_out[position : position + per_batch], position)
            for position in range(0, len(self.carried_out), per_batch)
        ]

    def carry_out(self, part: Part, bound: dict[str, Value]) -> LaunchRecord:
        """Steps through the blocks that count, and then through those that do not."""
        self.counted = self.carried_out = part.counted
        warps, fault = self.step_through(0, bound)
        record = self.record(self.chooser.done(self, self.work_done(warps)), fault)
        if fault is not None or not len(part.uncounted):
            return record
        self.carried_out = np.concatenate([part.counted, part.uncounted])
        self.tally = Tally()
        _, fault = self.step_through(len(part.counted), bound)
        return replace(record, fault=fault, hazards=self.hazards, raised=self.raised)

    def step_through(self, begin: int, bound: dict[str, Value]) -> tuple[Warps, KernelFault | None]:
        """Steps through the blocks from this position on: what is known of their warps, and the fault."""
        blocks = self.carried_out
        self.warps, fault = Warps(), None
        lowered, lower = self.prepared.kernel, self.prepared.lowering.of
        keep_freed_memory()
        per_batch = self.blocks_per_batch(len(blocks))
        with np.errstate(all="ignore"):
            for position in range(begin, len(blocks), per_batch):
                batch = Batch(self.geometry, blocks[position : position + per_batch], position)
                self.begun = position + len(batch.blocks)
                stops_after = self.chooser.stops_after(self)
                self.stops_at = None if stops_after is None else self.work + stops_after
                self._set_next_look()
                machine = self.machine = Machine(self, batch, lower, self.prepared.written_loops)
                machine.steady, machine.registers = self.steady, self.prepared.in_registers
                machine.tapes = Player(machine, self.prepared.tapes, self.prepared.rounds)
                try:
                    machine.run(lowered, bound)
                except KernelFault as error:
                    fault = error
                except Stopped:
                    pass
                except RecursionError:
                    fault = KernelFault(f"`{self.kernel.name}` is nested too deeply to be carried out.")
                except BaseException as problem:
                    self.interrupted = problem
                self.warps = self.warps_so_far(machine)
                self.note_first_block(batch)
                self.chooser.stopped(self, machine)
                self.local_bytes_per_thread = max(self.local_bytes_per_thread, machine.local_bytes)
                machine.tapes = None  # which know the machine: its vectors are free for the next one without a search
                if fault is not None or self.interrupted is not None or self.debug is not None and self.raised is not None:
                    break
        self.machine = None
        return self.warps, fault

    def note_first_block(self, batch: Batch) -> None:
        """Notes where the first block of a batch has loaded: in tables, and, if lanes are far apart, in all arrays."""
        rows = self.tally.rows.values()
        requests, lines = (sum(row[SLOT[f"global_load_{each}"]] for row in rows) for each in ("requests", "lines"))
        for each in self.buffers:
            if lines > FAR_APART * requests or each.sectors <= TABLE:
                each.note_first_block(batch.first_thread + 1, len(batch.blocks))

    def warps_so_far(self, machine: Machine) -> Warps:
        """What is known of the warps of the batches before and of the one that a machine is at."""
        return Warps(
            self.warps.diverged + int(np.count_nonzero(machine.batch.diverged)),
            max(self.warps.slowest, machine.books.warp_work.slowest()),
            max(self.warps.most_loads, machine.books.warp_loads.slowest()),
        )

    # -- how far it has come --------------------------------------------------------------------------------------

    def look(self, op: Operation) -> None:
        super().look(op)
        if self.stops_at is not None and self.work >= self.stops_at:
            raise Stopped
        giving_up, machine = self.giving_up, self.machine
        if giving_up is not None and machine is not None and self.carried_out is self.counted:
            work = self.earlier_work + self.work
            if work > giving_up.next_look:
                so_far = self.chooser.in_all(self, self.work_done(self.warps_so_far(machine)))
                giving_up.look(op, work, self.earlier, self.record(so_far, None), self.begun)
        self._set_next_look()

    def _set_next_look(self) -> None:
        """At half of the limit, at the limit, and before that whenever it is time to look whether to give it up."""
        half = self.work_limit // 2
        looks = [half if self.work <= half else self.work_limit]
        if self.giving_up is not None:
            looks.append(int(self.giving_up.next_look) - self.earlier_work)
        if self.stops_at is not None:
            looks.append(self.stops_at)
        self.next_look = max(self.work, min(looks))

    def progress(self) -> tuple[int, int]:
        written = sum(int(np.count_nonzero(each.written_since(self.started))) for each in self.buffers)
        return self.begun, written

    def all_blocks(self) -> Part:
        total = self.geometry.blocks
        self.check_size(total)
        return Part(np.arange(total, dtype=np.int64), np.zeros(0, np.int64))

    def check_size(self, blocks: int) -> None:
        """Refuses grids whose first statement alone would exceed the work limit."""
        warps = blocks * self.geometry.warps_per_block
        if warps > self.work_limit:
            raise KernelFault(
                f"The grid has {blocks * self.geometry.threads_per_block:,} threads; stepping them through a single "
                f"statement is more than this run may do ({self.work_limit:,} warp instructions).",
                remedy="Launch about one thread for each element, or use a smaller input.",
            )

    def blocks_per_batch(self, blocks: int) -> int:
        if self.prepared.is_cooperative:
            return max(1, blocks)  # every block must be there at the same time
        return self.chooser.blocks_at_once(self)

    def work_done(self, warps: Warps) -> Work:
        """What the blocks carried out so far did together."""
        touched = (
            (*each.touched_sectors(), each.atomic_sectors, each.sectors, each.loaded_by_blocks, each.pages_of_blocks)
            for each in self.buffers
        )
        return Work(
            self.tally,
            warps=warps,
            hottest_atomics=max((each.hottest_atomics for each in self.buffers), default=0),
            hottest_stores=max((each.hottest_stores for each in self.buffers), default=0),
            touched=tuple(Touched(*each) for each in touched),
        )

    def record(self, work: Work, fault: KernelFault | None) -> LaunchRecord:
        blocks, threads = self.geometry.blocks, self.geometry.blocks * self.geometry.threads_per_block
        in_all = {
            "launches": 1,
            "blocks": blocks,
            "threads": threads,
            "warps": blocks * self.geometry.warps_per_block,
            "warps_with_divergence": work.warps.diverged,
            "slowest_warp_instructions": work.warps.slowest,
            "slowest_warp_loads": work.warps.most_loads,
            "local_bytes": self.local_bytes_per_thread * threads,
            "simulated_blocks": len(self.counted),
            "hottest_atomic_sectors": work.hottest_atomics,
            "hottest_store_sectors": work.hottest_stores,
            "unique_atomic_sectors": sum(each.by_atomics for each in work.touched),
            "unique_load_sectors": sum(each.loaded for each in work.touched),
            "unique_store_sectors": sum(each.stored for each in work.touched),
            "common_load_sectors": sum(each.loaded for each in work.touched if each.is_shared),
            "table_load_sectors": sum(each.loaded for each in work.touched if each.is_table),
            "block_table_sectors": sum(each.by_blocks for each in work.touched if each.is_table),
            "far_load_sectors": sum(each.far for each in work.touched),
        }
        counters, compiled = work.tally.totals(**in_all)
        counts = work.tally.lines() if self.wants_lines else {}
        lines = tuple(self.profile_of(line, *both) for line, both in counts.items())
        return LaunchRecord(
            kernel=self.kernel.name,
            grid=self.geometry.grid,
            block=self.geometry.block,
            shared_bytes=self.shared_bytes,
            counters=counters,
            compiled=compiled,
            lines=lines,
            hazards=self.hazards,
            array_bytes=sum(buffer.data.nbytes for buffer in self.buffers),
            allocations=frozenset(id(buffer.owner) for buffer in self.buffers),
            registers_per_thread=self.kernel.options.max_registers,
            fault=fault,
            raised=self.raised,
        )

    # -- what it touched ------------------------------------------------------------------------------------------

    def stores_in(self, buffer: Buffer) -> Stores:
        """What the blocks carried out left in an array."""
        return stores_since(buffer, self.started, self.geometry, self.carried_out)

    def reach_of(self, buffer: Buffer) -> np.ndarray | None:
        """A flag for each element of an array that the kernel can write, as far as its text tells; None: any."""
        return reach_of(self.prepared.found, self.arrays, buffer)

    def parts_of(self, buffer: Buffer) -> tuple[object, ...]:
        """Where the arrays lie in an allocation that the kernel was given of it, to know such launches by."""
        views = [view for view in self.arrays.values() if view.buffer.owner is buffer]
        return tuple((str(view.offset), view.shape, view.strides) for view in views)

    # -- the record's lines ---------------------------------------------------------------------------------------

    def profile_of(self, line: Line, source: Counters, compiled: Counters) -> LineProfile:
        """A source line's counts, with the reasons where the two differ."""
        why = () if source is compiled else self.prepared.reasons.get(line, ())
        return LineProfile(line, self.text_of(line), source, compiled, why)

    def text_of(self, line: Line) -> str:
        """A source line's text."""
        for function in self.functions:
            if function.file == line.file:
                return function.line_text(line.number)
        return ""


def _with_name(value: Value, name: str) -> Value:
    if isinstance(value, View):
        return value.called(name)
    if isinstance(value, tuple):
        items = [_with_name(each, f"{name}[{i}]") for i, each in enumerate(value)]
        return NamedItems(items, value.names) if isinstance(value, NamedItems) else tuple(items)
    return value
