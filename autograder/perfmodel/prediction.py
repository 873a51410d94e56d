"""Counted work and a GPU's figures -> the time of its slowest resource, which one that is, and what would change it.

START HERE: `estimate` below. Each resource is one small function from counted work to nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from autograder.perfmodel.instructions import global_requests, warp_instructions
from autograder.perfmodel.occupancy import Occupancy, occupancy
from autograder.perfmodel.specification import Specification
from autograder.simgpu.counters import Counters

SECTOR_BYTES = 32
WARP = 32
ASSUMED_REGISTERS = 32
LOADS_IN_FLIGHT = 2.0  # independent loads that one warp keeps outstanding: two operands of one expression

ADVICE = {
    "DRAM": "Move fewer bytes through DRAM: reuse what was read, and use every byte of each sector.",
    "L2": "Send fewer sectors to L2: keep reused data in shared memory or registers, and coalesce.",
    "L1": "Let the lanes of a warp touch fewer lines per access: neighbours should read neighbours.",
    "shared memory": "Take fewer passes through shared memory: avoid bank conflicts, and keep values in registers.",
    "issue": "Execute fewer instructions for each result: hoist index arithmetic, reuse what was loaded.",
    "float32": "The float32 units are busy all the time: only fewer operations, or a lower precision, would help.",
    "float64": "Use float32 where it is accurate enough: float64 runs at a fraction of its rate.",
    "integer": "Do less index arithmetic: and move out of the loop what does not change in it.",
    "special": "Divide, take roots and call functions less often: those units are few.",
    "atomics": "Let fewer atomics meet at one address: give each block its own copy and merge at the end.",
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
        assumptions.append(f"{ASSUMED_REGISTERS} registers a thread")
    fit = occupancy(specification, threads_per_block, shared_bytes_per_block, registers_per_thread)
    if not fit.blocks:
        raise ValueError(f"not one block fits on a multiprocessor of the {specification.name}: too much {fit.limit}")
    if counters.is_sampled:
        assumptions.append(f"work scaled up from {counters.simulated_blocks} of {counters.blocks} blocks")
    traffic = Traffic.of(counters, specification, array_bytes)
    assumptions.append(traffic.assumption)
    breakdown = _multiprocessor_times(counters, specification)
    breakdown |= _memory_times(counters, specification, traffic)
    breakdown["latency"] = _latency_ns(counters, specification, fit, traffic)
    breakdown["launch overhead"] = max(1, counters.launches) * specification.launch_overhead_ns
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
    )


@dataclass(frozen=True)
class Traffic:
    """Bytes below L1 and where loads are served from, as far as counts without addresses can tell."""

    l2_bytes: float
    dram_bytes: float
    l1_share: float  # of load sectors served by L1
    dram_share: float  # of load sectors served by DRAM
    assumption: str

    @classmethod
    def of(cls, counters: Counters, specification: Specification, array_bytes: int | None) -> Traffic:
        loads = counters.global_load_sectors
        unique = min(loads, counters.unique_load_sectors) if counters.unique_load_sectors else loads
        stores = counters.global_store_sectors
        unique_stores = min(stores, counters.unique_store_sectors) if counters.unique_store_sectors else stores
        cached = specification.l2_bytes > 0
        fetched = unique if cached else loads
        dram = (fetched + (unique_stores if cached else stores)) * SECTOR_BYTES
        return cls(
            l2_bytes=float((fetched + stores + counters.global_atomic_sectors) * SECTOR_BYTES),
            dram_bytes=float(dram),
            l1_share=1.0 - fetched / loads if loads else 0.0,
            dram_share=fetched / loads if loads else 0.0,
            assumption="every sector is fetched once and then served by L1" if cached else "no cache",
        )


def _multiprocessor_times(counters: Counters, specification: Specification) -> dict[str, float]:
    """Resources that every multiprocessor has for itself; the fullest multiprocessor sets the time."""
    lines = counters.global_load_lines + counters.global_store_lines + counters.global_atomic_sectors
    wavefronts = counters.shared_load_wavefronts + counters.shared_store_wavefronts
    cycles = {
        "issue": warp_instructions(counters) / specification.warp_instructions_per_cycle,
        "L1": max(
            global_requests(counters) / specification.load_store_requests_per_cycle,
            lines / specification.l1_lines_per_cycle,
        ),
        "shared memory": wavefronts / specification.shared_wavefronts_per_cycle
        + WARP * counters.shared_atomic_requests / specification.shared_atomic_lanes_per_cycle,
        "float32": counters.float32_operations / 2 / specification.float32_lanes_per_cycle,
        "float64": counters.float64_operations / 2 / specification.float64_lanes_per_cycle,
        "integer": counters.integer_operations / specification.integer_lanes_per_cycle,
        "special": counters.special_operations / specification.special_lanes_per_cycle
        + counters.conversions / specification.conversion_lanes_per_cycle,
    }
    scale = _imbalance(counters, specification) / specification.multiprocessors / specification.cycles_per_ns
    return {name: value * scale for name, value in cycles.items()}


def _imbalance(counters: Counters, specification: Specification) -> float:
    """How much more than its even share the fullest multiprocessor gets: whole blocks only."""
    blocks = counters.blocks / max(1, counters.launches)
    even = blocks / specification.multiprocessors
    return ceil(even) / even if even > 0 else 1.0


def _memory_times(counters: Counters, specification: Specification, traffic: Traffic) -> dict[str, float]:
    """Resources that all multiprocessors share."""
    store_cycles = counters.global_store_sectors / specification.l2_store_sectors_per_cycle
    atomic_cycles = counters.global_atomic_sectors / specification.gpu_atomic_sectors_per_cycle
    return {
        "DRAM": traffic.dram_bytes / specification.dram_achievable_gb_per_s,
        "L2": max(
            traffic.l2_bytes / specification.l2_gb_per_s,
            store_cycles / specification.multiprocessors / specification.cycles_per_ns,
        ),
        "atomics": atomic_cycles / specification.cycles_per_ns,
    }


def _latency_ns(counters: Counters, specification: Specification, fit: Occupancy, traffic: Traffic) -> float:
    """Time that the resident warps spend waiting, all others of the multiprocessor waiting at the same time."""
    l2_share = max(0.0, 1.0 - traffic.l1_share - traffic.dram_share)
    load = (
        traffic.l1_share * specification.l1_latency_cycles
        + l2_share * specification.l2_latency_cycles
        + traffic.dram_share * specification.dram_latency_cycles
    )
    waits = counters.global_load_requests * load / LOADS_IN_FLIGHT
    waits += counters.shared_load_requests * specification.shared_latency_cycles / LOADS_IN_FLIGHT
    waits += counters.barriers * specification.barrier_cycles
    warps = counters.warps / max(1, counters.launches)
    resident = min(fit.warps, max(1.0, warps / specification.multiprocessors)) * specification.multiprocessors
    return waits / min(resident, max(warps, 1.0)) / specification.cycles_per_ns
