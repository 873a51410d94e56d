"""One kernel launch on the simulated GPU: checks the launch, steps through the grid batch by batch, gathers the record."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.errors import KernelFault, Line
from autograder.language.program import Function, reachable, wrong_number
from autograder.simgpu.counters import Counters, LineProfile
from autograder.simgpu.exceptions import Debug, Raised, Stopped
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.interpreter import Interpreter, WorkLimit
from autograder.simgpu.lanes import Batch, Dim3, Geometry
from autograder.simgpu.memory import Buffer, View, contiguous_strides
from autograder.simgpu.tally import Tally
from autograder.simgpu.tickets import Words, has_fences
from autograder.simgpu.variables import Named, packed
from autograder.simgpu.written_arrays import buffers_of, captured, written_buffers

LANES_PER_BATCH = 32768  # a lane vector of int64 is then 256 KiB: several fit the CPU's L2 cache

# Limits of every compute capability from 5.0 to 9.0: CUDA C++ Programming Guide, table "Technical Specifications"
MOST_THREADS_PER_BLOCK = 1024
MOST_BLOCK = (1024, 1024, 64)
MOST_GRID = (2**31 - 1, 65535, 65535)
# Arrays of constant shape and what the launch adds, together. CUDA gives more to a kernel that asks for it in advance, which
# Numba's kernels do not: numba-cuda 0.30.4 on an H200 launches with 49,152 bytes and not with 52,000 (invalid value).
MOST_SHARED_BYTES = 48 * 1024

DEFAULT_WORK_LIMIT = 400_000_000  # about half a minute on one core of a laptop


def silent(line: str) -> None:
    """The output of a launch whose prints go nowhere: a graded one's."""


@dataclass(frozen=True)
class LaunchRecord:
    """What one launch did: counted work in total and by line, hazards, and the sizes needed to estimate its time."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    counters: Counters
    lines: tuple[LineProfile, ...]
    hazards: tuple[Hazard, ...]
    array_bytes: int
    registers_per_thread: int | None = None
    fault: KernelFault | None = None
    raised: Raised | None = None  # the first exception that a kernel raised


class WrongSize(KernelFault, ValueError):
    """A grid or block of no or too many dimensions."""


class NotIntegers(KernelFault, TypeError):
    """A grid or block that is not made of integers."""


def normalise(what: str, value: Any) -> Dim3:
    """A grid or block as three ints; raises `KernelFault` with what is wrong and what to do."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3:
        raise WrongSize(
            f"The {what} must have one to three dimensions, not {len(parts)}: "
            f"{what}dim must be a sequence of 1, 2 or 3 integers, got {list(parts)}."
        )
    for part in parts:
        if isinstance(part, (float, np.floating)):
            raise NotIntegers(
                f"The {what} must be made of integers; {part!r} is a float: "
                f"{what}dim must be a sequence of integers, got {list(parts)}.",
                remedy="Round up when you compute it: math.ceil(n / block), or (n + block - 1) // block.",
            )
        if isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer)):
            raise NotIntegers(f"The {what} must be made of integers; {part!r:.40} is a {type(part).__name__}.")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    return x, y, z


def check_geometry(grid: Any, block: Any) -> Geometry:
    """The launch's shape, if a GPU would accept it."""
    geometry = Geometry(normalise("grid", grid), normalise("block", block))
    for what, sizes, limits in (("grid", geometry.grid, MOST_GRID), ("block", geometry.block, MOST_BLOCK)):
        for axis, size, most in zip("xyz", sizes, limits, strict=True):
            if size < 1:
                raise KernelFault(
                    f"The {what} {sizes} has {size} in {axis}; a launch needs at least 1.",
                    remedy="Round up when you divide: (n + block - 1) // block.",
                )
            if size > most:
                raise KernelFault(f"The {what} {sizes} has {size:,} in {axis}; a GPU takes at most {most:,}.")
    if geometry.threads_per_block > MOST_THREADS_PER_BLOCK:
        raise KernelFault(
            f"A block of {geometry.block} has {geometry.threads_per_block:,} threads; "
            f"a GPU takes at most {MOST_THREADS_PER_BLOCK:,}.",
            remedy="Use smaller blocks and more of them (grid and block may also be in the wrong order).",
        )
    return geometry


class Launch:
    """The state of a launch while it runs; `run` carries it out and returns its record."""

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
        sample_blocks: int | None = None,
        sample_seed: int | None = None,
        trace: Any = None,
        output: Callable[[str], None] | None = None,
        checks_order: bool = True,
        beside_the_sample: np.ndarray | None = None,
        after_the_sample: Callable[[], None] = lambda: None,
    ) -> None:
        self.kernel = kernel
        self.functions = reachable(kernel)
        self.geometry = check_geometry(grid, block)
        if dynamic_shared_bytes > MOST_SHARED_BYTES:
            raise KernelFault(
                f"The launch asks for {dynamic_shared_bytes:,} bytes of dynamic shared memory; "
                f"a block of Numba's kernels can have at most {MOST_SHARED_BYTES:,} (48 KiB)."
            )
        self.dynamic_shared_bytes = int(dynamic_shared_bytes)
        self.debug = debug
        self.clock = start_clock
        self.grid_sync = start_clock
        self.work = 0
        self.work_limit = work_limit  # what earlier launches of the same run left
        self.earlier_launches, self.earlier_work = earlier_launches, earlier_work
        self.sample_blocks, self.sample_seed = sample_blocks, sample_seed
        self.beside_the_sample = beside_the_sample  # blocks that are carried out for what they write, and not counted
        self.after_the_sample = after_the_sample  # called when the blocks that count have been carried out
        self.trace = trace
        self.output = output
        self.checks_order = checks_order
        self.shared_bytes = self.dynamic_shared_bytes
        self.written: set[int] = set()
        self.words = Words() if checks_order and has_fences(self.functions) else None
        self.raised: Raised | None = None  # the first exception that a kernel raised
        self.interrupted: BaseException | None = None  # what ended it from outside, before its time: Ctrl-C for one
        self._sites: dict[Line, int] = {}
        self._lines: list[Line] = []
        self._hazards: dict[tuple, Hazard] = {}
        self.found = 0  # hazards so far, the same ones again among them
        self._constants: dict[int, View] = {}
        self.sampled = self.carried_out = np.zeros(0, np.int64)  # the blocks that count; all that are carried out
        self.local_bytes_per_thread = 0  # of arrays that lie in memory

    # -- running --------------------------------------------------------------------------------------------------

    def run(self, arguments: tuple) -> LaunchRecord:
        """Carries out every block (or a sample of them); a fault of the kernel's ends it and is recorded.

        What ends it from outside is kept in `interrupted`, for the caller to raise again.
        """
        bound = packed(self.kernel, arguments)
        if bound is None:
            raise KernelFault(wrong_number(self.kernel, len(arguments)), line=self.kernel.line(self.kernel.node))
        bound = {name: _named(value, name) for name, value in bound.items()}
        own = {function: captured(function) for function in self.functions}
        own[self.kernel] |= bound
        buffers = buffers_of(value for names in own.values() for value in names.values())
        self.own, self.buffers = own, buffers
        self.written = set().union(*(written_buffers(function, names) for function, names in own.items()))
        for buffer in buffers:
            buffer.forget_touched()
        blocks = self.choose_blocks()
        self.sampled = self.carried_out = blocks
        tally, diverged, slowest, fault = self.step_through(0, bound)
        self.after_the_sample()
        record = self.record(tally, diverged, slowest, buffers, fault)
        if fault is not None or self.beside_the_sample is None or len(blocks) == self.geometry.blocks:
            return record
        self.carried_out = np.concatenate([blocks, np.setdiff1d(self.beside_the_sample, blocks)])
        fault = self.step_through(len(blocks), bound)[-1]
        return replace(record, fault=fault, hazards=tuple(self._hazards.values()), raised=self.raised)

    def step_through(self, begin: int, bound: dict[str, Any]) -> tuple[Tally, int, int, KernelFault | None]:
        """Steps through the blocks from this position on; their work, warps that diverged, the slowest warp's, the fault."""
        blocks = self.carried_out
        tally, diverged, fault = Tally(), 0, None
        slowest = 0  # instructions of the warp that executes most
        per_batch = self.blocks_per_batch(len(blocks))
        with np.errstate(all="ignore"):
            for position in range(begin, len(blocks), per_batch):
                batch = Batch(self.geometry, blocks[position : position + per_batch], position)
                interpreter = Interpreter(self, batch)
                try:
                    interpreter.run(self.kernel, bound)
                except KernelFault as error:
                    fault = error
                except Stopped:
                    pass
                except RecursionError:
                    fault = KernelFault(f"`{self.kernel.name}` is nested too deeply to be carried out.")
                except BaseException as problem:
                    self.interrupted = problem
                tally.add(interpreter.tally)
                diverged += int(np.count_nonzero(interpreter.diverged))
                slowest = max(slowest, interpreter.warp_work.slowest())
                self.local_bytes_per_thread = max(self.local_bytes_per_thread, interpreter.local_bytes)
                if fault is not None or self.interrupted is not None or self.debug is not None and self.raised is not None:
                    break
        return tally, diverged, slowest, fault

    def choose_blocks(self) -> np.ndarray:
        """All blocks, or as many as the sample allows: one from each of as many equal parts of the grid."""
        total = self.geometry.blocks
        if self.sample_blocks is None or self.sample_blocks >= total:
            self.check_size(total)
            return np.arange(total, dtype=np.int64)
        count = max(1, self.sample_blocks)
        within = 0.5 if self.sample_seed is None else np.random.default_rng(self.sample_seed).random(count)
        return np.unique(((np.arange(count) + within) * total / count).astype(np.int64))

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
        if any("this_grid" in function.text for function in self.functions):
            return max(1, blocks)  # every block must be there at the same time
        return max(1, LANES_PER_BATCH // self.geometry.padded)

    def record(
        self, tally: Tally, diverged: int, slowest: int, buffers: list[Buffer], fault: KernelFault | None
    ) -> LaunchRecord:
        simulated, total = len(self.sampled), self.geometry.blocks
        scale = total / simulated if simulated else 1.0
        scaled = Tally()
        scaled.add(tally, scale)
        touched = [buffer.touched_sectors() for buffer in buffers]
        counters = replace(
            scaled.total(),
            launches=1,
            blocks=total,
            threads=total * self.geometry.threads_per_block,
            warps=total * self.geometry.warps_per_block,
            warps_with_divergence=round(diverged * scale),
            slowest_warp_instructions=slowest,
            local_bytes=self.local_bytes_per_thread * total * self.geometry.threads_per_block,
            simulated_blocks=simulated,
            hottest_atomic_sectors=round(max((each.hottest_atomics for each in buffers), default=0) * scale),
            unique_load_sectors=_scaled_sectors(buffers, [read for read, _ in touched], scale),
            unique_store_sectors=_scaled_sectors(buffers, [wrote for _, wrote in touched], scale),
        )
        lines = tuple(LineProfile(line, self.text_of(line), counts) for line, counts in scaled.lines().items())
        return LaunchRecord(
            kernel=self.kernel.name,
            grid=self.geometry.grid,
            block=self.geometry.block,
            shared_bytes=self.shared_bytes,
            counters=counters,
            lines=lines,
            hazards=tuple(self._hazards.values()),
            array_bytes=sum(buffer.data.nbytes for buffer in buffers),
            registers_per_thread=self.kernel.max_registers,
            fault=fault,
            raised=self.raised,
        )

    # -- what the interpreter asks for ----------------------------------------------------------------------------

    def site(self, line: Line) -> int:
        if line not in self._sites:
            self._sites[line] = len(self._lines)
            self._lines.append(line)
        return self._sites[line]

    def line_of_site(self, site: int) -> Line | None:
        return self._lines[site] if 0 <= site < len(self._lines) else None

    def who(self, thread: int) -> tuple[Dim3, Dim3]:
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

    def note_shared(self, interpreter: Interpreter, node: ast.AST) -> None:
        """Keeps the shared memory that a block takes, and refuses more than a GPU has."""
        self.shared_bytes = max(self.shared_bytes, interpreter.shared_bytes + self.dynamic_shared_bytes)
        in_all = interpreter.shared_bytes + self.dynamic_shared_bytes
        if in_all > MOST_SHARED_BYTES:
            raise KernelFault(
                f"The shared arrays of a block take {in_all:,} bytes; "
                f"a GPU allows Numba's kernels {MOST_SHARED_BYTES:,} (48 KiB).",
                line=interpreter.line(node),
                remedy="Use smaller tiles, or a narrower dtype.",
            )

    def constant_array(self, value: np.ndarray, name: str) -> View:
        """A module-level NumPy array as Numba sees it: a constant copied at compile time."""
        if id(value) not in self._constants:
            data = np.ascontiguousarray(value)
            buffer = Buffer(data.reshape(-1).copy(), 0, "constant", name)
            view = View(buffer, 0, data.shape, contiguous_strides(data.shape), data.dtype, name, read_only=True)
            self._constants[id(value)] = view
        return self._constants[id(value)]

    def captured_array(self, value: View, name: str) -> View:
        """A device array from around the kernel, by the name it has there; the same view each time."""
        if id(value) not in self._constants:
            self._constants[id(value)] = _named(value, name)
        return self._constants[id(value)]

    def over_limit(self, interpreter: Interpreter, node: ast.AST) -> KernelFault:
        if self.earlier_work > self.work_limit:
            return WorkLimit(
                f"`{self.kernel.name}` was stopped: the {self.earlier_launches:,} launches before it used up "
                f"{self.earlier_work:,} of {self.earlier_work + self.work_limit:,} units of work.",
                line=interpreter.line(node),
                remedy="Check that the loop around the launch ends, and that each launch is needed.",
            )
        return WorkLimit(
            f"`{self.kernel.name}` was stopped: it used up its {self.work_limit:,} units of work "
            f"(an endless loop, or far too many threads).",
            line=interpreter.line(node),
            remedy="Check that every loop ends, and that the grid fits the problem.",
        )

    @property
    def is_silent(self) -> bool:
        """Whether nobody reads what the kernel prints."""
        return self.output is silent

    def print_line(self, text: str) -> None:
        (self.output or (lambda line: print(line, file=sys.stdout)))(text)

    def text_of(self, line: Line) -> str:
        for function in self.functions:
            if function.file == line.file:
                return function.line_text(line.number)
        return ""


def _scaled_sectors(buffers: list[Buffer], touched: list[int], scale: float) -> int:
    """Distinct sectors of all blocks, from those that the sample touched: at most what the arrays have."""
    return sum(min(round(n * scale), len(buffer.touched)) for buffer, n in zip(buffers, touched, strict=True))


def _named(value: Any, name: str) -> Any:
    if isinstance(value, View):
        if not value.buffer.name:
            value.buffer.name = name
        return value.renamed(name)
    if isinstance(value, tuple):
        items = [_named(each, f"{name}[{i}]") for i, each in enumerate(value)]
        return Named(items, value.names) if isinstance(value, Named) else tuple(items)
    return value
