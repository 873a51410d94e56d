"""Counted work and a GPU's figures -> the time of its slowest resource, which one that is, and what would change it.

START HERE: `estimate` below. Each resource is one small function from counted work to nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log10

from autograder.perfmodel.instructions import CYCLES_PER_SLOT_ALONE, global_requests, issue_slots
from autograder.perfmodel.occupancy import Occupancy, occupancy
from autograder.perfmodel.specification import Specification
from autograder.records.counters import Counters

SECTOR_BYTES = 32
WARP = 32
ASSUMED_REGISTERS = 32
UNEVEN = 2.0  # times the average warp's instructions from which an estimate says that its warps are not alike
MOST_LOADS_IN_FLIGHT = 4.0  # of one warp: the compiler unrolls loops four times and moves their loads to the front

ADVICE = {
    "DRAM": "Move fewer bytes through DRAM: reuse what was read, and use every byte of each sector.",
    "L2": "Send fewer sectors to L2: keep reused data in shared memory or registers, and coalesce.",
    "L1": "Let the lanes of a warp touch fewer lines per access: neighbours should read neighbours.",
    "shared memory": "Take fewer passes through shared memory: avoid bank conflicts, and keep values in registers.",
    "block launch": "Start fewer, larger blocks: give each thread several elements.",
    "issue": "Execute fewer instructions for each result: hoist index arithmetic, reuse what was loaded.",
    "float32": "The float32 units are busy all the time: only fewer operations, or a lower precision, would help.",
    "float64": "Use float32 where it is accurate enough: float64 runs at a fraction of its rate.",
    "integer": "Do less index arithmetic: and move out of the loop what does not change in it.",
    "special": "Divide, take roots and call functions less often: those units are few.",
    "atomics": "Let fewer atomics meet at one address: give each block its own copy and merge at the end.",
    "shared atomics": "Add to shared memory less often: let each thread gather several items first.",
    "latency": "Keep more warps in flight, or give each thread independent loads: the warps wait for memory.",
    "launch overhead": "The launch costs more than the work: give it more work, or launch less often.",
}


@dataclass(frozen=True)
class Estimate:
    """A predicted time and why: `breakdown` maps each resource to the nanoseconds it would need on its own."""

    ns: float
    breakdown: Mapping[str, float]
    binding: str
    occupancy: float
    advice: str
    assumptions: tuple[str, ...] = ()
    specification: str = ""
    occupancy_limit: str = ""
    operations: int = 0  # in floating point
    dram_bytes: float = 0.0

    @property
    def next_binding(self) -> str:
        """What would bind if the slowest resource cost nothing."""
        return max((name for name in self.breakdown if name != self.binding), key=self.breakdown.__getitem__)

    @property
    def most_to_gain(self) -> float:
        """How many times faster the launch would be at most, if the slowest resource cost nothing."""
        rest = [ns for name, ns in self.breakdown.items() if name not in (self.binding, "launch overhead")]
        overhead = 0.0 if self.binding == "launch overhead" else self.breakdown["launch overhead"]
        return self.ns / max(1e-9, max(rest, default=0.0) + overhead)

    def __str__(self) -> str:
        gain = f"Without {self.binding} {self.next_binding} would bind, at most x {self.most_to_gain:.3g}."
        fit = f"Occupancy {100 * self.occupancy:.0f} %, limited by {self.occupancy_limit}."
        lines = [
            f"{self.specification}: about {duration(self.ns)}; {self.binding} binds.",
            f"  {self.advice}",
            f"  {gain} {fit}",
            *(f"  {name:<15} {duration(ns):>9}" for name, ns in self.largest()),
            *(f"  assumed: {each}" for each in self.assumptions),
        ]
        return "\n".join(lines)

    def largest(self, least_share: float = 0.01) -> list[tuple[str, float]]:
        """The resources in order of their time, those below `least_share` of the largest left out."""
        ordered = sorted(self.breakdown.items(), key=lambda each: -each[1])
        return [(name, ns) for name, ns in ordered if ns >= least_share * ordered[0][1]]


def duration(ns: float) -> str:
    """A time in the unit that people would choose, three digits: `3.85 us`, `1.78 ms`."""
    units = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0))
    unit, size = next((each for each in units if ns >= each[1]), units[-1])
    value = ns / size
    return f"{value:.{max(0, 2 - int(log10(max(value, 1))))}f} {unit}"


def estimate(
    counters: Counters,
    specification: Specification,
    *,
    threads_per_block: int,
    shared_bytes_per_block: int = 0,
    registers_per_thread: int | None = None,
    array_bytes: int | None = None,
) -> Estimate:
    """Time of the counted launches on a GPU: the slowest resource plus the launch overhead.

    `array_bytes` is the size of all arrays touched; it decides whether reads after the first are served by L2.
    Raises ValueError where not even one block fits on a multiprocessor.
    """
    assumptions = []
    if registers_per_thread is None:
        registers_per_thread = ASSUMED_REGISTERS
        assumptions.append(f"{ASSUMED_REGISTERS} registers a thread: a guess, as no compiler said")
    fit = occupancy(specification, threads_per_block, shared_bytes_per_block, registers_per_thread)
    if not fit.blocks:
        raise ValueError(f"not one block fits on a multiprocessor of the {specification.name}: too much {fit.limit}")
    if counters.is_sampled:
        assumptions.append(f"work scaled up from {counters.simulated_blocks} of {counters.blocks} blocks")
    traffic = Traffic.of(counters, specification, array_bytes)
    local = LocalTraffic.of(counters, specification, fit, shared_bytes_per_block)
    assumptions.append(traffic.assumption)
    if (slower := slowest_warp(counters)) >= UNEVEN:
        assumptions.append(f"warps alike: the slowest executes {slower:.1f} times the average, and the clock waits for it")
    breakdown = _multiprocessor_times(counters, specification)
    breakdown |= _memory_times(counters, specification, traffic, local)
    breakdown["latency"] = _latency_ns(counters, specification, fit, traffic)
    breakdown["launch overhead"] = _overhead_ns(counters, specification)
    binding = max(breakdown, key=breakdown.__getitem__)
    work = max(ns for name, ns in breakdown.items() if name != "launch overhead")
    return Estimate(
        ns=work + breakdown["launch overhead"],
        breakdown=breakdown,
        binding=binding,
        occupancy=fit.ratio,
        advice=ADVICE[binding],
        assumptions=tuple(assumptions),
        specification=specification.name,
        occupancy_limit=fit.limit,
        operations=counters.operations,
        dram_bytes=SECTOR_BYTES * (traffic.dram_load_sectors + traffic.dram_store_sectors + local.dram_sectors),
    )


@dataclass(frozen=True)
class Traffic:
    """Sectors below L1, as far as counts without addresses tell."""

    l2_load_sectors: float
    dram_load_sectors: float
    dram_store_sectors: float
    is_scattered: bool  # loads fetch single sectors, not whole lines
    assumption: str

    @classmethod
    def of(cls, counters: Counters, specification: Specification, array_bytes: int | None) -> Traffic:
        """L1 serves what a block has read before; L2 serves the rest as far as the arrays fit into it."""
        loads, stores = counters.global_load_sectors, counters.global_store_sectors
        if not specification.l2_bytes:
            return cls(loads, loads, stores, False, "no cache: every sector comes from DRAM")
        unique = min(loads, counters.unique_load_sectors or loads)
        fetched = max(unique, min(loads, counters.block_load_sectors or unique))
        footprint = array_bytes or SECTOR_BYTES * (unique + counters.unique_store_sectors)
        missing = max(0.0, 1.0 - specification.l2_bytes / footprint) if footprint else 0.0
        scattered = counters.global_load_lines > 0 and loads < 2 * counters.global_load_lines
        return cls(
            l2_load_sectors=float(fetched),
            dram_load_sectors=unique + (fetched - unique) * missing,
            dram_store_sectors=float(min(stores, counters.unique_store_sectors or stores)),
            is_scattered=scattered and fetched > 2 * unique,
            assumption="a block's repeated reads hit L1; other repeated reads hit L2 as far as the arrays fit into it",
        )


@dataclass(frozen=True)
class LocalTraffic:
    """Sectors of local arrays below L1: what does not fit into the caches, of all threads that are there at one time."""

    l2_load_sectors: float = 0.0
    l2_store_sectors: float = 0.0
    dram_sectors: float = 0.0

    @classmethod
    def of(
        cls, counters: Counters, specification: Specification, fit: Occupancy, shared_bytes_per_block: int
    ) -> LocalTraffic:
        if not counters.local_bytes:
            return cls()
        even = counters.threads / max(1, counters.launches) / specification.multiprocessors
        resident = min(even, fit.ratio * specification.max_threads)
        bytes_of_multiprocessor = counters.local_bytes / counters.threads * resident
        l1_bytes = specification.shared_bytes - fit.blocks * shared_bytes_per_block if specification.l2_bytes else 0
        past_l1 = max(0.0, 1.0 - max(0, l1_bytes) / bytes_of_multiprocessor)
        past_l2 = max(0.0, 1.0 - specification.l2_bytes / (bytes_of_multiprocessor * specification.multiprocessors))
        loads, stores = past_l1 * counters.local_load_sectors, past_l1 * counters.local_store_sectors
        return cls(loads, stores, past_l2 * (loads + stores))


def _multiprocessor_times(counters: Counters, specification: Specification) -> dict[str, float]:
    """Resources that every multiprocessor has for itself; the fullest multiprocessor sets the time."""
    loads = counters.global_load_wavefronts or counters.global_load_lines
    passes = loads + counters.global_store_lines + counters.global_atomic_requests + counters.local_wavefronts
    shared = counters.shared_load_wavefronts + counters.shared_store_wavefronts
    cycles = {
        "issue": issue_slots(counters) / specification.warp_instructions_per_cycle,
        "L1": max(
            global_requests(counters) / specification.load_store_requests_per_cycle,
            passes / specification.l1_wavefronts_per_cycle,
        ),
        # L1 and shared memory are one array: what passes through as global data holds up shared data
        "shared memory": (shared + passes) / specification.l1_wavefronts_per_cycle if shared else 0.0,
        "float32": counters.float32_operations / 2 / specification.float32_lanes_per_cycle,
        "float64": counters.float64_operations / 2 / specification.float64_lanes_per_cycle,
        "integer": counters.integer_operations / specification.integer_lanes_per_cycle,
        "special": counters.special_operations / specification.special_lanes_per_cycle
        + counters.conversions / specification.conversion_lanes_per_cycle,
        "shared atomics": WARP * counters.shared_atomic_requests / specification.shared_atomic_lanes_per_cycle,
    }
    scale = _imbalance(counters, specification) / specification.multiprocessors / specification.cycles_per_ns
    return {name: value * scale for name, value in cycles.items()}


def _imbalance(counters: Counters, specification: Specification) -> float:
    """How much more than its even share the fullest multiprocessor gets: whole blocks only."""
    blocks = counters.blocks / max(1, counters.launches)
    even = blocks / specification.multiprocessors
    return ceil(even) / even if even > 0 else 1.0


def _memory_times(
    counters: Counters, specification: Specification, traffic: Traffic, local: LocalTraffic
) -> dict[str, float]:
    """Resources that all multiprocessors share."""
    dram = SECTOR_BYTES / specification.dram_achievable_gb_per_s
    per_load = 1.0 / specification.dram_scattered_gsectors_per_s if traffic.is_scattered else dram
    loads = (traffic.l2_load_sectors + local.l2_load_sectors) * SECTOR_BYTES / specification.l2_load_gb_per_s
    stores = counters.global_store_sectors + local.l2_store_sectors
    return {
        "DRAM": traffic.dram_load_sectors * per_load + (traffic.dram_store_sectors + local.dram_sectors) * dram,
        "L2": loads + stores * SECTOR_BYTES / specification.l2_store_gb_per_s,
        "atomics": _atomics_ns(counters, specification),
        "block launch": counters.blocks / specification.gpu_blocks_per_cycle / specification.cycles_per_ns,
    }


def _atomics_ns(counters: Counters, specification: Specification) -> float:
    """Few distinct sectors lie in few slices of L2, which then work alone; a hot sector is served at the rate of one."""
    spread = specification.gpu_atomic_sectors_per_cycle_and_sector * counters.unique_store_sectors
    least, most = specification.gpu_atomic_least_sectors_per_cycle, specification.gpu_atomic_sectors_per_cycle
    all_of_them = counters.global_atomic_sectors / min(most, max(least, spread))
    return max(all_of_them, counters.hottest_atomic_sectors / least) / specification.cycles_per_ns


def _latency_ns(counters: Counters, specification: Specification, fit: Occupancy, traffic: Traffic) -> float:
    """The life of a warp that never waits for others, times the turns in which the blocks come."""
    warps, blocks = max(1, counters.warps), max(1, counters.blocks)
    loads = counters.global_load_requests / warps
    turns = max(1.0, blocks / max(1, counters.launches) / (fit.blocks * specification.multiprocessors))
    cycles = CYCLES_PER_SLOT_ALONE * issue_slots(counters) / warps + counters.global_load_wavefronts / warps
    cycles += counters.barriers / warps * specification.barrier_cycles
    if counters.global_load_sectors:
        per_request = counters.global_load_sectors / counters.global_load_requests
        misses = min(loads, traffic.l2_load_sectors / blocks / per_request)
        from_dram = traffic.dram_load_sectors / traffic.l2_load_sectors if traffic.l2_load_sectors else 0.0
        # blocks that share data and run at the same time wait for it at the same time: all of the first turn for DRAM
        from_dram = max(from_dram, 1 / turns)
        wait = from_dram * specification.dram_latency_cycles + (1 - from_dram) * specification.l2_latency_cycles
        cycles += misses / _loads_in_flight(counters) * wait
    return cycles * turns * max(1, counters.launches) / specification.cycles_per_ns


def _loads_in_flight(counters: Counters) -> float:
    """Loads that the compiler can send off before it needs the first: those between two stores, atomics or barriers."""
    fences = (
        counters.global_store_requests
        + counters.global_atomic_requests
        + counters.shared_atomic_requests
        + counters.barriers
    )
    return min(MOST_LOADS_IN_FLIGHT, max(1.0, counters.global_load_requests / max(1, fences)))


def slowest_warp(counters: Counters) -> float:
    """How many times the average warp's instructions the slowest one executes; 1.0 where nobody counted."""
    if not counters.slowest_warp_instructions:
        return 1.0
    return counters.slowest_warp_instructions / max(1, counters.launches) * counters.warps / counters.warp_instructions


def _overhead_ns(counters: Counters, specification: Specification) -> float:
    """What a launch costs when it does nothing, and the first load that nobody hides."""
    first_load = specification.dram_latency_cycles / specification.cycles_per_ns if counters.global_load_requests else 0
    return max(1, counters.launches) * (specification.launch_overhead_ns + first_load)
