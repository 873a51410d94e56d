"""What the model knows of a GPU: one frozen record. Every figure has a source, and its unit at the end of its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Specification:
    """One GPU. Rates "per cycle" are per multiprocessor and clock cycle unless the name says `gpu`.

    `sources` names where every figure comes from: a publication, a measurement of ours, or "assumed" and why.
    """

    name: str
    compute_capability: tuple[int, int]
    # the chip
    multiprocessors: int
    clock_ghz: float  # the clock a busy chip runs at
    warp_instructions_per_cycle: float
    float32_lanes_per_cycle: float  # a fused multiply-add is one
    float64_lanes_per_cycle: float
    float16_lanes_per_cycle: float
    special_lanes_per_cycle: float
    conversion_lanes_per_cycle: float
    # what fits on a multiprocessor
    max_threads: int
    max_blocks: int
    registers: int
    shared_bytes: int
    shared_reserved_bytes_per_block: int
    # memory
    dram_gb_per_s: float  # the data sheet's
    dram_achievable_gb_per_s: float  # reading and writing, as a copy does
    l2_bytes: int  # 0: no cache between the multiprocessors and DRAM
    dram_scattered_gsectors_per_s: float  # single 32-byte sectors at random addresses, read
    dram_scattered_store_gsectors_per_s: float  # the same, stored to
    l2_load_gb_per_s: float  # single sectors
    l2_store_gb_per_s: float  # the same, and as much again for the address of a line
    load_store_requests_per_cycle: float
    l1_wavefronts_per_cycle: float  # passes through the data array that L1 and shared memory have in common
    # latencies
    l1_latency_cycles: float
    l2_latency_cycles: float
    dram_latency_cycles: float
    shared_latency_cycles: float
    barrier_cycles: float
    float64_more_cycles: float  # until a result of float64 can be used, beside one of float32
    # atomics
    gpu_atomic_sectors_per_cycle: float  # spread over many addresses, whole GPU
    gpu_used_atomic_sectors_per_cycle: float  # likewise, where threads use what was there before
    gpu_atomic_sectors_per_cycle_and_sector: (
        float  # for each distinct sector that the atomics go to, while they are few
    )
    gpu_atomic_least_sectors_per_cycle: float  # all at one address
    gpu_float_atomic_least_sectors_per_cycle: float  # likewise, of those that add floats
    gpu_stores_to_one_sector_per_cycle: float  # by warps whose other accesses are of neighbours
    gpu_stores_to_one_sector_among_others_per_cycle: float  # beside gathers and scatters, whose sectors wait for them
    shared_atomic_lanes_per_cycle: float
    shared_atomic_try_cycles: float  # of an atomic that is a loop, beside one cycle for each lane that it waits for
    # launches
    launch_overhead_ns: float
    further_launch_ns: float  # what a launch takes beside its work if it waits behind another
    gpu_blocks_per_cycle: float  # blocks that the whole GPU can start
    sources: Mapping[str, str] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        missing = [each.name for each in fields(self) if each.name not in self.sources and each.name not in _UNSOURCED]
        if missing:
            raise ValueError(f"{self.name}: no source given for {', '.join(missing)}")

    @property
    def cycles_per_ns(self) -> float:
        """Clock cycles in a nanosecond; the same number as the clock in GHz."""
        return self.clock_ghz


_UNSOURCED = ("name", "sources")


@dataclass(frozen=True)
class Roofline:
    """The two ceilings of a GPU and where they meet."""

    peak_gflop_per_s: float  # float32, a fused multiply-add counted as two
    bandwidth_gb_per_s: float

    @property
    def ridge_flop_per_byte(self) -> float:
        """The arithmetic intensity below which memory is the ceiling."""
        return self.peak_gflop_per_s / self.bandwidth_gb_per_s

    def attainable_gflop_per_s(self, intensity_flop_per_byte: float) -> float:
        """The lower of the two ceilings at this arithmetic intensity."""
        return min(self.peak_gflop_per_s, intensity_flop_per_byte * self.bandwidth_gb_per_s)

    def floor_ns(self, flop: float, dram_bytes: float) -> float:
        """The least time that this much arithmetic and memory traffic can take."""
        return max(flop / self.peak_gflop_per_s, dram_bytes / self.bandwidth_gb_per_s)


def roofline(specification: Specification) -> Roofline:
    """The data sheet's roofline: peak float32 rate and peak DRAM bandwidth."""
    peak = 2 * specification.multiprocessors * specification.float32_lanes_per_cycle * specification.clock_ghz
    return Roofline(peak_gflop_per_s=peak, bandwidth_gb_per_s=specification.dram_gb_per_s)
