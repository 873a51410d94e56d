"""What the simulated GPU counts, in total and by source line; the names follow the profiler's metrics."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, fields

from autograder.errors import Line


@dataclass(frozen=True)
class Counters:
    """Whole-launch totals of the work that a GPU's hardware counters would count (ints; `*_ratio` and properties aside).

    A warp's memory instruction sends one request; a sector is an aligned 32-byte chunk; a wavefront is one pass
    through shared memory; a bank conflict is a wavefront beyond the least needed.
    """

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_lines: int = 0  # distinct 128-byte lines, summed over requests
    global_load_useful_bytes: int = 0  # distinct bytes that the lanes asked for, summed over requests
    global_loads_ahead: int = 0  # requests whose value is used only after much other work: no warp waits for it
    global_load_wavefronts: int = 0  # passes through L1: each serves a bank one word, and four lines at most
    block_load_sectors: int = 0  # distinct sectors that each block loads, summed over blocks: what L1 asks of L2
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_sectors_again: int = 0  # of these, those that the warp has stored to just before
    global_store_lines: int = 0
    block_store_sectors: int = 0  # distinct sectors that each block stores to, summed over blocks
    hottest_store_sectors: int = 0  # stores of warps to one element: those to the sector with most; summed over launches
    global_store_useful_bytes: int = 0
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    float_atomic_sectors: int = 0  # of these, those that add floats
    used_atomic_sectors: int = 0  # of these, those whose old value is used
    ordered_atomic_sectors: int = 0  # of these, those of loops that look first (floats' max, min) and go on
    looked_atomic_sectors: int = 0  # what these would be if all went on
    look_lines: int = 0  # of global_load_lines, those that such loops look at, past L1
    block_atomic_sectors: int = 0  # distinct sectors that each block's atomics go to and it has not loaded; over blocks
    unique_atomic_sectors: int = 0  # distinct sectors that atomics go to over the whole launch
    hottest_atomic_sectors: int = 0  # those, or looks, that went to the sector with most of them; summed over launches
    global_atomic_worst_multiplicity: int = 0  # most lanes of one warp on one address (a maximum, not a sum)
    global_addresses: int = 0  # global accesses whose address is worked out anew, once per warp
    global_index_terms: int = 0  # their indices: two for a[i, j]
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_bank_conflicts: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_bank_conflicts: int = 0
    shared_atomic_requests: int = 0
    shared_atomic_tries: int = 0  # of those that are loops (floats, 8 bytes): each request as often as lanes meet on a place
    shared_atomic_worst_multiplicity: int = 0
    waiting_warps: int = 0  # that come to a loop which goes on until an exchange finds what another thread has left
    local_load_requests: int = 0
    local_store_requests: int = 0
    local_load_sectors: int = 0  # of local arrays that no registers can hold: their indices are known only at run time
    local_store_sectors: int = 0
    local_store_lines: int = 0  # local memory has a word of each lane in a line
    local_wavefronts: int = 0  # passes of both through L1
    constant_load_requests: int = 0
    unique_load_sectors: int = 0  # distinct sectors read over the whole launch: the least DRAM could move
    unique_store_sectors: int = 0
    common_load_sectors: int = 0  # of unique_load_sectors, those of arrays whose sectors several blocks load, far apart
    table_load_sectors: int = 0  # of unique_load_sectors, those of arrays of 192 KiB at the most that several blocks load
    block_table_sectors: int = 0  # block_load_sectors of such arrays
    far_load_sectors: int = 0  # block_load_sectors that other blocks have loaded, with nothing else near them in their own
    warp_instructions: int = 0  # source-level operations, once per warp with an active lane
    thread_instructions: int = 0  # the same, once per active lane
    issued_warp_instructions: int = 0  # those that machine code has, of short arms for all lanes: 0 of what the source says
    issued_thread_instructions: int = 0
    issued_float64_instructions: int = 0  # of issued_warp_instructions, those that the pipe of float64 carries out
    branches: int = 0  # conditions evaluated, once per warp
    loop_rounds: int = 0  # rounds of range() loops that are not unrolled and use their variable, once per warp
    divergent_branches: int = 0  # those whose active lanes disagree
    barriers: int = 0  # once per warp
    shuffles: int = 0  # warp shuffle, vote and match instructions, once per warp
    float32_operations: int = 0  # per active lane; a fused multiply-add is two
    float64_operations: int = 0
    float16_operations: int = 0
    integer_operations: int = 0
    special_operations: int = 0  # sqrt, exp, sin, division and the like
    conversions: int = 0
    # launch-wide, zero on a single line
    launches: int = 0
    blocks: int = 0
    threads: int = 0
    warps: int = 0
    warps_with_divergence: int = 0
    # of the warp that executes most, summed over launches: a clock waits for it, not for the average one
    slowest_warp_instructions: int = 0
    # of the warp that asks global memory most often, atomics included; summed over launches. What the compiler leaves of
    # them is the share that it leaves of all: a warp's own are counted as the source has them
    slowest_warp_loads: int = 0
    local_bytes: int = 0  # of all threads' local arrays that lie in memory
    simulated_blocks: int = 0  # fewer than `blocks` where the launch was sampled; the totals are scaled up

    @classmethod
    def of(cls, counts: Iterable[int]) -> Counters:
        """The same as `Counters(*counts)` for a count of each field, several times as fast."""
        made = object.__new__(cls)
        made.__dict__.update(zip(_NAMES, counts, strict=True))
        return made

    @property
    def threads_per_instruction(self) -> float:
        """Active lanes per warp instruction, 0 to 32 (smsp__thread_inst_executed_per_inst_executed.ratio)."""
        if self.issued_warp_instructions:
            return self.issued_thread_instructions / self.issued_warp_instructions
        return self.thread_instructions / self.warp_instructions if self.warp_instructions else 0.0

    @property
    def global_load_sectors_per_request(self) -> float:
        return self.global_load_sectors / self.global_load_requests if self.global_load_requests else 0.0

    @property
    def global_store_sectors_per_request(self) -> float:
        return self.global_store_sectors / self.global_store_requests if self.global_store_requests else 0.0

    @property
    def operations(self) -> int:
        """Floating-point operations of every width."""
        return self.float16_operations + self.float32_operations + self.float64_operations

    @property
    def requested_bytes(self) -> int:
        """Bytes that global loads and stores asked for, before any cache: 32 per sector."""
        return 32 * (self.global_load_sectors + self.global_store_sectors)

    @property
    def is_sampled(self) -> bool:
        return self.simulated_blocks < self.blocks

    def __add__(self, other: Counters) -> Counters:
        """Totals of two launches or lines (maxima stay maxima)."""
        counts = map(operator.add, self.__dict__.values(), other.__dict__.values())
        merged = Counters.of(counts)
        for name in _MAXIMA:
            merged.__dict__[name] = max(getattr(self, name), getattr(other, name))
        return merged

    def times(self, number: int) -> Counters:
        """Those of a launch of `number` times as many blocks, each of which does what these do."""
        counts = zip(_NAMES, self.__dict__.values(), strict=True)
        return Counters.of(n if name in _OF_ANY_SIZE else number * n for name, n in counts)


_NAMES = tuple(each.name for each in fields(Counters))
_MAXIMA = tuple(name for name in _NAMES if name.endswith("worst_multiplicity"))
_OF_ANY_SIZE = (*_MAXIMA, "launches", "slowest_warp_instructions", "slowest_warp_loads", "simulated_blocks")


SIGNS = "for an index that may be negative, a comparison decides whether the length is added"  # one of `LineProfile.why`


@dataclass(frozen=True)
class LineProfile:
    """One source line's share of the counted work: what it says itself, and what the compiler leaves of it."""

    line: Line
    text: str
    counters: Counters
    compiled: Counters
    why: tuple[str, ...] = ()  # the two differ, as far as the compiler's rules tell

    def __add__(self, other: LineProfile) -> LineProfile:
        """The line in two launches together."""
        why = tuple(dict.fromkeys((*self.why, *other.why)))
        return LineProfile(self.line, self.text, self.counters + other.counters, self.compiled + other.compiled, why)
