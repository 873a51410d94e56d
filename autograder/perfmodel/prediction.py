"""Counted work and a GPU's figures -> the time of its slowest resource, which one that is, and what would change it.

START HERE: `estimate` below. Each resource is one small function from counted work to nanoseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, log10

from autograder.perfmodel.occupancy import Occupancy, occupancy
from autograder.perfmodel.specification import Specification
from autograder.perfmodel.sureness import Interval, interval_of_time, known
from autograder.records.counters import Counters

SECTOR_BYTES = 32
LINE_BYTES = 128
WARP = 32
ASSUMED_REGISTERS = 32
ALIKE = 1.2  # times the next one's time: below it counters point to either (measurements/profiled_limits.py)
MOST_TO_TELL = 99  # times, of one resource over another: beyond it nothing follows from the number
UNEVEN = 2.0  # times the average warp's instructions or loads from which an estimate says that its warps are not alike
L2_KEEPS = 8 / 15  # of its size, for what comes back after other memory: 32 MiB of 60 (measurements/limits.json)
LINES_OF_NEIGHBOURS = 8  # of a warp's load or store, at the most: more are of lanes far from each other
SECTORS_OF_NEIGHBOURS = 8  # of a warp that reads 8 bytes for each lane; more are of lanes far from each other
MOST_LOADS_IN_FLIGHT = 4.0  # of one warp: the compiler unrolls loops four times and moves their loads to the front

OF_A_SWAP = 1.5  # times an addition: a compare-and-swap where L2 queues them (limits.json)
OF_A_LOOK = 0.45  # times an addition: a load of a line past L1 from there

OVERHEAD = "launch overhead"
OF_EACH_WARP = ("latency", "block launch")  # resources that are not shared by warps which are there at the same time
MERGED_STORES = 0.95  # of the sectors that a warp stores to again at once, those that L2 does not see, by its counters

# Fitted to the sets that are learned from and to the cases of development (measurements/fitting.py), each one number:
ISSUE_SHARE = 0.75  # of the slots of the issue stage that a busy kernel uses: its pipes are never all wanted alike
CYCLES_ALONE = 3.7  # from one instruction of a warp to its next, while nobody else delays it
OVERLAP = 4.5  # how far resources hide each other: 1 would be the sum of their times, infinity the longest of them
IDLE = 0.25  # of what a warp waits in its turn: so long all that warps share is idle, while a launch begins and ends
COLD_START_NS = 1250.0  # what a launch takes beside its overhead: page tables, parameters and code that no cache holds

ADVICE = {
    "DRAM": "Move fewer bytes through DRAM: reuse what was read, and use every byte of each sector.",
    "L2": "Send fewer sectors to L2: keep reused data in shared memory or registers, and coalesce.",
    "L1": "Let the lanes of a warp touch fewer lines per access (neighbours should read neighbours), "
    "or make fewer requests: keep operands in registers or shared memory.",
    "shared memory": "Take fewer passes through shared memory: avoid bank conflicts, and keep values in registers.",
    "block launch": "Start fewer, larger blocks: give each thread several elements.",
    "issue": "Execute fewer instructions for each result: less index arithmetic, nothing worked out twice, fewer functions.",
    "float32": "The float32 units are busy all the time: only fewer operations, or a lower precision, would help.",
    "float64": "Use float32 where it is accurate enough: float64 runs at a fraction of its rate.",
    "special": "Divide, take roots and call functions less often: those units are few.",
    "atomics": "Let fewer atomics meet at one address: give each block its own copy and merge at the end.",
    "shared atomics": "Add to shared memory less often: let each thread gather several items first.",
    "launch overhead": "The launch costs more than the work: give it more work, or launch less often.",
}
FEW_LANES = 16  # of 32: half of the work at most that these instructions could do
IDLE_LANES = (
    "On average {:.2g} of a warp's 32 lanes take part in an instruction: give the others work, with blocks of whole warps "
    "and lanes that go the same way at a branch."
)
ONE_ELEMENT = (
    "Let fewer threads store to the same element, such as a flag: one of each block, or only those that find it not yet set."
)
MORE_WARPS = "keep more warps in flight"
INDEPENDENT_LOADS = "give each thread independent loads"
FEWER_LOADS = "load fewer numbers for each result (share them in a block, or let a thread make several results)"


@dataclass(frozen=True)
class Estimate:
    """A predicted time and why: `breakdown` maps each resource to the nanoseconds it would need on its own.

    `interval_ns`: where the clock's time is expected, by the resource that binds; None for a GPU that nobody measured. Its
    upper end is infinite where threads wait for each other in a loop.
    """

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
    interval_ns: Interval | None = None
    idle_ns: float = 0.0  # what its resources wait for the first warps and the last ones

    @property
    def next_binding(self) -> str:
        """What would bind if the slowest resource cost nothing."""
        return max((name for name in self.breakdown if name != self.binding), key=self.breakdown.__getitem__)

    @property
    def most_to_gain(self) -> float:
        """How many times faster the launch would be at most, if the slowest resource cost nothing."""
        rest = {name: 0.0 if name == self.binding else ns for name, ns in self.breakdown.items()}
        return self.ns / max(1e-9, _together(rest, self.idle_ns))

    @property
    def ahead(self) -> float:
        """The slowest resource's time over that of the next one."""
        return self.breakdown[self.binding] / max(1e-9, self.breakdown[self.next_binding])

    @property
    def limits(self) -> str:
        """What limits the kernel, what comes next and how far behind, and what would change it."""
        own, following = (duration(self.breakdown[name]) for name in (self.binding, self.next_binding))
        most = f"at most {self.most_to_gain:.3g}" if self.most_to_gain < MOST_TO_TELL else f"over {MOST_TO_TELL}"
        gain = f"without {self.binding} {most} times faster"
        if self.ahead < ALIKE:
            both = f"{self.binding} and {self.next_binding} limit it alike"
            return f"{both}: {own} and {following} on their own; {gain}. {self.advice}"
        behind = f"{self.ahead:.2g} times" if self.ahead < MOST_TO_TELL else f"over {MOST_TO_TELL} times"
        return f"{self.binding} limits it: {own} on its own, {behind} {self.next_binding}; {gain}. {self.advice}"

    @property
    def headline(self) -> str:
        """The time and how sure it is, in one line."""
        return f"{self.specification}: about {how_sure(self)}."

    def __str__(self) -> str:
        fit = f"Occupancy {100 * self.occupancy:.0f} %, limited by {self.occupancy_limit}."
        lines = [
            self.headline,
            f"  {self.limits}",
            f"  {fit}",
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


def how_sure(found: Estimate) -> str:
    """A predicted time with its interval in words, and with the share of unseen kernels that such intervals have held."""
    if found.interval_ns is None:
        return f"{duration(found.ns)}; how far off is not known, for nobody has measured this GPU"
    if found.interval_ns[1] == inf:
        least, ns = (duration(each) for each in (found.interval_ns[0], found.ns))
        return f"{ns} if no thread had to wait; {least} or more, for its threads wait for each other in a loop"
    low, high = map(duration, found.interval_ns)
    share = known().held_time(found.binding)
    return f"{duration(found.ns)}; {low} to {high} in {share} % of unseen kernels that {found.binding} limits"


def estimate(
    counters: Counters,
    specification: Specification,
    *,
    threads_per_block: int,
    shared_bytes_per_block: int = 0,
    registers_per_thread: int | None = None,
    array_bytes: int | None = None,
) -> Estimate:
    """Time of the counted launches on a GPU: its resources, which hide each other but for a rest, and the launch overhead.

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
    resident = Resident.of(counters, specification, fit, shared_bytes_per_block)
    traffic = Traffic.of(counters, specification, array_bytes, resident)
    local = LocalTraffic.of(counters, specification, resident)
    assumptions.append(traffic.assumption)
    slower, loading = slowest_warp(counters), slowest_loads(counters)
    if max(slower, loading) >= UNEVEN:
        assumptions.append(
            f"the slowest warp, which executes {slower:.1f} times the average and makes {loading:.1f} times the loads, is "
            "alone with what it has beyond others"
        )
    life = Life.of(counters, specification, fit, traffic)
    breakdown = _multiprocessor_times(counters, specification)
    breakdown |= _memory_times(counters, specification, traffic, local)
    breakdown["atomics"] = _atomics_ns(counters, specification, _turns(counters, specification, fit))
    breakdown["latency"] = life.ns
    breakdown[OVERHEAD] = _overhead_ns(counters, specification)
    if counters.waiting_warps:
        assumptions.append(
            f"{counters.waiting_warps:,} warps wait for other threads in a loop: how often it goes round cannot be predicted"
        )
    idle_ns = IDLE * life.waits_ns
    ns = _together(breakdown, idle_ns)
    binding = max((name for name in breakdown if name != OVERHEAD), key=breakdown.__getitem__)
    if 2 * breakdown[OVERHEAD] > ns:
        binding = OVERHEAD
        assumptions.append("nothing waits for the host, which takes 19 us and more for each launch")
    is_a_flag = binding == "L2" and 2 * _stores_to_one_sector_ns(counters, specification) > breakdown["L2"]
    return Estimate(
        ns=ns,
        breakdown=breakdown,
        binding=binding,
        occupancy=fit.ratio,
        advice=ONE_ELEMENT if is_a_flag else _advice(binding, counters, fit),
        assumptions=tuple(assumptions),
        specification=specification.name,
        occupancy_limit=fit.limit,
        operations=counters.operations,
        dram_bytes=SECTOR_BYTES * (traffic.dram_sectors + local.dram_sectors),
        interval_ns=interval_of_time(ns, binding, specification.name, waits=counters.waiting_warps > 0),
        idle_ns=idle_ns,
    )


def _advice(binding: str, counters: Counters, fit: Occupancy) -> str:
    """What would relieve a resource. Of latency: only what would change this launch's prediction.

    An instruction takes the same slot for one lane as for 32: where most lanes are off, these are to be put to work first.
    Where every place for a warp is taken there is no room for more; where each warp has as many loads in flight as it can
    have, that they are independent helps no further, and only fewer loads do.
    """
    if binding == "issue" and 0 < counters.threads_per_instruction <= FEW_LANES:
        return IDLE_LANES.format(counters.threads_per_instruction)
    if binding != "latency":
        return ADVICE[binding]
    loads = FEWER_LOADS if _loads_in_flight(counters) >= MOST_LOADS_IN_FLIGHT else INDEPENDENT_LOADS
    ways = [loads] if fit.ratio >= 1 else [MORE_WARPS, loads]
    words = ", or ".join(ways)
    return f"{words[0].upper()}{words[1:]}: the warps wait for memory."


def _together(breakdown: Mapping[str, float], idle_ns: float) -> float:
    """The time of resources that work side by side: a little more than that of the slowest, plus the launch overhead.

    Those that all warps share take longer by what the busiest of them stands idle, `idle_ns`, while the first warps wait for
    data and the last ones are few. Atomics are added up where L2 keeps its sectors, which it cannot hand out meanwhile.
    """
    queues = dict(_queues(breakdown))
    busiest = max((ns for name, ns in queues.items() if name not in OF_EACH_WARP), default=0.0)
    stretched = 1 + idle_ns / busiest if busiest else 1.0
    work = [ns if name in OF_EACH_WARP else stretched * ns for name, ns in queues.items()]
    longest = max(work, default=0.0)
    overlapped = longest * sum((ns / longest) ** OVERLAP for ns in work) ** (1 / OVERLAP) if longest else 0.0
    return overlapped + breakdown[OVERHEAD]


def _queues(breakdown: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """What waits in a queue of its own: each resource, but L2 and its atomics together."""
    for name, ns in breakdown.items():
        if name not in (OVERHEAD, "atomics"):
            yield name, ns + (breakdown["atomics"] if name == "L2" else 0.0)


def in_a_row(launches_ns: Sequence[float], specification: Specification) -> float:
    """The time of launches that follow each other, from what each would take alone (in nanoseconds).

    All but the first stand in line while another works. The host is taken to be ahead of the GPU: with Numba a launch keeps
    it busy for 19 to 57 microseconds (limits.json), and kernels shorter than that wait for it where nothing else is queued.
    """
    saved = specification.launch_overhead_ns + COLD_START_NS - specification.further_launch_ns
    return sum(launches_ns) - saved * max(0, len(launches_ns) - 1)


def limiting(launches: Iterable[Estimate]) -> str:
    """What limits several launches: the resource that binds for most of their time; none where there is none."""
    bound: defaultdict[str, float] = defaultdict(float)
    for each in launches:
        bound[each.binding] += each.ns
    return max(bound, key=bound.__getitem__, default="")


@dataclass(frozen=True)
class Resident:
    """What a multiprocessor holds at one time: threads, and the bytes of L1 that shared memory leaves them."""

    threads: float
    l1_bytes: float

    @classmethod
    def of(
        cls, counters: Counters, specification: Specification, fit: Occupancy, shared_bytes_per_block: int
    ) -> Resident:
        even = counters.threads / max(1, counters.launches) / specification.multiprocessors
        blocks = min(fit.blocks, ceil(counters.blocks / max(1, counters.launches) / specification.multiprocessors))
        left = specification.shared_bytes - blocks * shared_bytes_per_block if specification.l2_bytes else 0
        return cls(min(even, fit.ratio * specification.max_threads), float(max(0, left)))


@dataclass(frozen=True)
class Traffic:
    """The sectors that L2 and DRAM move, as far as counts without addresses show it."""

    l2_load_sectors: float
    l2_store_packets: float  # one for each sector and one for the address of each line
    dram_load_sectors: float
    dram_store_sectors: float
    dram_scattered_loads: float  # one by one: what L2 lost of the lines that lanes walk along
    dram_scattered_stores: float  # the same, and atomics on more than L2 keeps
    assumption: str

    @property
    def dram_sectors(self) -> float:
        """All that DRAM moves."""
        return (
            self.dram_load_sectors + self.dram_store_sectors + self.dram_scattered_loads + self.dram_scattered_stores
        )

    @classmethod
    def of(
        cls, counters: Counters, specification: Specification, array_bytes: int | None, resident: Resident
    ) -> Traffic:
        """L1 serves what a block reads again, while it has room; L2 serves what other blocks read again."""
        loads, stores = counters.global_load_sectors, counters.global_store_sectors
        if not specification.l2_bytes:
            return cls(loads, stores, loads, stores, 0.0, 0.0, "no cache: every sector comes from DRAM")
        unique = min(loads, counters.unique_load_sectors or loads)
        written = float(min(stores, counters.unique_store_sectors or stores))
        # where the block that stands for others loads nothing, nothing is known to be loaded again
        fetched: float = max(unique, min(loads, counters.block_load_sectors or loads))
        live = _live_bytes(counters, resident)
        table = counters.table_load_sectors
        kept = 1 - _beyond(resident.l1_bytes, live + SECTOR_BYTES * table)  # of what L1 has for one block after another
        fetched -= kept * max(0, counters.block_table_sectors - specification.multiprocessors * table)
        # one L1 serves all of its blocks
        fetched = max(float(unique), min(fetched, specification.multiprocessors * unique))
        lost = (loads - fetched) * _beyond(resident.l1_bytes, live)
        in_all = array_bytes or SECTOR_BYTES * (unique + counters.unique_store_sectors)
        # Warps of a block may walk along the same lines: all together touch no more than their blocks ever do.
        ever = LINE_BYTES * (fetched + written) * resident.threads / max(1, counters.threads)
        past_l2 = lost_by_l2(specification, min(in_all, specification.multiprocessors * min(live, ever)))
        atomics = counters.unique_atomic_sectors
        updated = counters.global_atomic_sectors  # what a block's atomics go to once more is in L2 yet, where that is known
        updated = min(updated, counters.block_atomic_sectors or updated)
        gathered = counters.far_load_sectors * lost_by_l2(specification, SECTOR_BYTES * counters.common_load_sectors)
        across = past_l2  # the share that is lost of what other blocks store to again
        if _is_far_apart(counters.global_store_lines, counters.global_store_requests):
            across = max(past_l2, lost_by_l2(specification, SECTOR_BYTES * written))
        stored_by_others = max(0.0, min(stores, counters.block_store_sectors) - written)
        return cls(
            l2_load_sectors=fetched + lost,
            l2_store_packets=(stores + counters.global_store_lines)
            * (1 - MERGED_STORES * counters.global_store_sectors_again / max(1, stores)),
            dram_load_sectors=unique,
            dram_store_sectors=written * _beyond(L2_KEEPS * specification.l2_bytes, max(in_all, SECTOR_BYTES * written)),
            dram_scattered_loads=past_l2 * lost + gathered,
            dram_scattered_stores=across * stored_by_others
            + past_l2 * (stores - written - stored_by_others)
            + max(0, updated - atomics) * lost_by_l2(specification, SECTOR_BYTES * atomics),
            assumption="L1 serves what a block reads again, while it has room for it, and L2 what other blocks read again",
        )


def _is_far_apart(lines: int, requests: int) -> bool:
    """Whether the lanes of a warp are far apart, so that other blocks come back to their sectors at any time."""
    return lines > LINES_OF_NEIGHBOURS * requests


def _live_bytes(counters: Counters, resident: Resident) -> float:
    """The bytes in L1 if each resident warp has one load, and the stores between two loads, under way."""
    lines = counters.global_load_lines + min(
        counters.global_store_lines,
        counters.global_store_lines * counters.global_load_requests / max(1, counters.global_store_requests),
    )
    return resident.threads / WARP * LINE_BYTES * lines / max(1, counters.global_load_requests)


def lost_by_l2(specification: Specification, bytes_between: float) -> float:
    """The share of what comes back to L2 that it has lost, where so many bytes were touched in between.

    As random places on 64 to 256 MiB have it (limits.json): twice what it keeps leaves it a third, not half.
    """
    kept = L2_KEEPS * specification.l2_bytes
    return max(0.0, 1.0 - (kept / bytes_between) ** 1.5) if bytes_between else 0.0


def _beyond(capacity_bytes: float, bytes_wanted: float) -> float:
    """The share of `bytes_wanted` that does not fit."""
    return max(0.0, 1.0 - capacity_bytes / bytes_wanted) if bytes_wanted else 0.0


@dataclass(frozen=True)
class LocalTraffic:
    """The sectors of local arrays that L2 and DRAM move: every store, and the loads for which L1 has no room."""

    l2_load_sectors: float = 0.0
    l2_store_packets: float = 0.0
    dram_sectors: float = 0.0

    @classmethod
    def of(cls, counters: Counters, specification: Specification, resident: Resident) -> LocalTraffic:
        if not counters.local_bytes:
            return cls()
        bytes_there = counters.local_bytes / counters.threads * resident.threads
        past_l1 = _beyond(resident.l1_bytes, bytes_there)
        past_l2 = _beyond(specification.l2_bytes, bytes_there * specification.multiprocessors)
        loads, stores = past_l1 * counters.local_load_sectors, float(counters.local_store_sectors)
        return cls(loads, stores + counters.local_store_lines, past_l2 * (loads + past_l1 * stores))


def _multiprocessor_times(counters: Counters, specification: Specification) -> dict[str, float]:
    """The times of resources that each multiprocessor has of its own; the fullest multiprocessor sets the time."""
    loads = counters.global_load_wavefronts or counters.global_load_lines
    passes = loads + counters.global_store_lines + counters.global_atomic_requests + counters.local_wavefronts
    requests = counters.global_load_requests + counters.global_store_requests + counters.global_atomic_requests
    shared = counters.shared_load_wavefronts + counters.shared_store_wavefronts
    cycles = {
        "issue": _instructions(counters) / (ISSUE_SHARE * specification.warp_instructions_per_cycle),
        "L1": max(
            requests / specification.load_store_requests_per_cycle, passes / specification.l1_wavefronts_per_cycle
        ),
        # L1 and shared memory are one array: what passes through as global data holds up shared data
        "shared memory": (shared + passes) / specification.l1_wavefronts_per_cycle if shared else 0.0,
        "float32": counters.float32_operations / 2 / specification.float32_lanes_per_cycle,
        "float64": WARP * counters.issued_float64_instructions / specification.float64_lanes_per_cycle,
        "special": counters.special_operations / specification.special_lanes_per_cycle
        + counters.conversions / specification.conversion_lanes_per_cycle,
        "shared atomics": _shared_atomic_cycles(counters, specification),
    }
    scale = _imbalance(counters, specification) / specification.multiprocessors / specification.cycles_per_ns
    return {name: value * scale for name, value in cycles.items()}


def _shared_atomic_cycles(counters: Counters, specification: Specification) -> float:
    """All at once for words; what is a loop tries once for each lane on the same place, and waits for those before it."""
    requests, tries = counters.shared_atomic_requests, counters.shared_atomic_tries
    at_once = WARP * requests / specification.shared_atomic_lanes_per_cycle
    return max(at_once, tries * (specification.shared_atomic_try_cycles + tries / max(1, requests)))


def _instructions(counters: Counters) -> int:
    """Machine instructions of warps, as the compiler leaves them; those of the source if they were not weighed."""
    return counters.issued_warp_instructions or counters.warp_instructions


def _imbalance(counters: Counters, specification: Specification) -> float:
    """How much more than its even share the fullest multiprocessor gets: whole blocks only."""
    blocks = counters.blocks / max(1, counters.launches)
    even = blocks / specification.multiprocessors
    return ceil(even) / even if even > 0 else 1.0


def _memory_times(
    counters: Counters, specification: Specification, traffic: Traffic, local: LocalTraffic
) -> dict[str, float]:
    """The times of resources that all multiprocessors share."""
    dram = SECTOR_BYTES / specification.dram_achievable_gb_per_s
    streamed = traffic.dram_load_sectors + traffic.dram_store_sectors + local.dram_sectors
    scattered = (
        traffic.dram_scattered_loads / specification.dram_scattered_gsectors_per_s
        + traffic.dram_scattered_stores / specification.dram_scattered_store_gsectors_per_s
    )
    loads = (traffic.l2_load_sectors + local.l2_load_sectors) / specification.l2_load_gb_per_s
    stores = (traffic.l2_store_packets + local.l2_store_packets) / specification.l2_store_gb_per_s
    return {
        "DRAM": streamed * dram + scattered,
        "L2": SECTOR_BYTES * (loads + stores) + _stores_to_one_sector_ns(counters, specification),
        "block launch": counters.blocks / specification.gpu_blocks_per_cycle / specification.cycles_per_ns,
    }


def _stores_to_one_sector_ns(counters: Counters, specification: Specification) -> float:
    """Stores of all warps to one element, such as a flag, queue in its slice of L2, and what else goes there behind them."""
    requests = counters.global_load_requests + counters.global_atomic_requests
    sectors = counters.global_load_sectors + counters.global_atomic_sectors
    rate = (
        specification.gpu_stores_to_one_sector_among_others_per_cycle
        if sectors > SECTORS_OF_NEIGHBOURS * requests
        else specification.gpu_stores_to_one_sector_per_cycle
    )
    return counters.hottest_store_sectors / rate / specification.cycles_per_ns


def _atomics_ns(counters: Counters, specification: Specification, turns: float) -> float:
    """Few distinct sectors lie in few slices of L2, where atomics queue before they take their turn among all others.

    A hot sector has the rate of one address, which is less for sums of floats. What looks first, such as the maximum of
    floats, tries in the first turn of blocks whatever others have found: they look at the same time.
    """
    spread = specification.gpu_atomic_sectors_per_cycle_and_sector * counters.unique_atomic_sectors
    least, in_all = specification.gpu_atomic_least_sectors_per_cycle, max(1, counters.global_atomic_sectors)
    used, most = counters.used_atomic_sectors / in_all, specification.gpu_atomic_sectors_per_cycle
    spread_out = used / specification.gpu_used_atomic_sectors_per_cycle + (1 - used) / most
    queued = _with_looks(counters, turns)
    all_of_them = queued * (spread_out + 1 / max(least, spread))
    floats = counters.float_atomic_sectors / in_all
    at_one = floats / specification.gpu_float_atomic_least_sectors_per_cycle + (1 - floats) / least
    everywhere = in_all - counters.ordered_atomic_sectors + counters.looked_atomic_sectors
    hottest = counters.hottest_atomic_sectors / max(1, everywhere) * queued
    return max(all_of_them, hottest * at_one) / specification.cycles_per_ns


def _with_looks(counters: Counters, turns: float) -> float:
    """Sectors of atomics, with what loops that look first come to on a GPU, where all blocks of a turn look at once.

    A place is in order after a few blocks, however many there are: those of a sample stand for no others.
    """
    tried = counters.ordered_atomic_sectors
    others = counters.global_atomic_sectors - tried
    if counters.is_sampled:
        tried = tried * counters.simulated_blocks // max(1, counters.blocks)
    first_turn = counters.looked_atomic_sectors / turns
    return others + OF_A_SWAP * max(tried, first_turn) + OF_A_LOOK * counters.look_lines


@dataclass(frozen=True)
class Life:
    """What warps need from their first instruction to their last, in nanoseconds of all launches."""

    ns: float  # of all turns that blocks take, or of the slowest warp
    waits_ns: float  # what the warp that loads most waits in its turn

    @classmethod
    def of(cls, counters: Counters, specification: Specification, fit: Occupancy, traffic: Traffic) -> Life:
        """The life of an average warp that never waits for others, times the turns that blocks take; or the slowest warp's.

        While others live, the slowest fares as they do. What it has beyond them it does when they are gone: nobody stands
        in line with it, few of its lanes are left, and what is in L2 need not come from DRAM again. What a warp waits is
        that of the one that loads most: beside blocks without work an average warp waits for next to nothing.
        """
        warps, launches = max(1, counters.warps), max(1, counters.launches)
        loads = counters.global_load_requests / warps
        turns = _turns(counters, specification, fit)
        more = specification.float64_more_cycles * counters.issued_float64_instructions
        instructions = (CYCLES_ALONE * _instructions(counters) + more) / warps
        waits = (counters.global_load_wavefronts + counters.barriers * specification.barrier_cycles) / warps
        alone = (slowest_warp(counters) - 1) * instructions
        if counters.global_load_sectors:
            read = traffic.dram_load_sectors + traffic.dram_scattered_loads
            from_dram = read / traffic.l2_load_sectors if traffic.l2_load_sectors else 0.0
            # blocks that share data and run at the same time wait for it at the same time: all of the first turn for DRAM
            together = min(1.0, max(from_dram, slowest_loads(counters) / turns))  # warps that load nothing take no turn
            beyond = (slowest_loads(counters) - 1) * loads
            waits += loads * _wait_for_a_load(counters, specification, traffic, together)
            alone += beyond * _wait_for_a_load(counters, specification, traffic, min(1.0, from_dram))
        cycles, each = instructions + waits, launches / specification.cycles_per_ns
        return cls(max(turns * cycles, cycles + alone) * each, slowest_loads(counters) * waits * each)


def _turns(counters: Counters, specification: Specification, fit: Occupancy) -> float:
    """How often all places for blocks are taken anew in a launch."""
    return max(1.0, max(1, counters.blocks) / max(1, counters.launches) / (fit.blocks * specification.multiprocessors))


def _wait_for_a_load(counters: Counters, specification: Specification, traffic: Traffic, from_dram: float) -> float:
    """The cycles that a warp waits for one of its loads, on average; `from_dram`: of what misses L1, what misses L2."""
    loads, blocks = counters.global_load_requests / max(1, counters.warps), max(1, counters.blocks)
    per_request = counters.global_load_sectors / counters.global_load_requests
    missed = min(1.0, traffic.l2_load_sectors / blocks / per_request / loads)
    miss = from_dram * specification.dram_latency_cycles + (1 - from_dram) * specification.l2_latency_cycles
    wait = missed * miss + (1 - missed) * specification.l1_latency_cycles
    return (1 - _share_ahead(counters)) * wait / _loads_in_flight(counters)


def _share_ahead(counters: Counters) -> float:
    """The share of loads for which no warp waits, for it has much to do before it uses the value."""
    return counters.global_loads_ahead / max(1, counters.global_load_requests)


def _loads_in_flight(counters: Counters) -> float:
    """The loads of a warp that can be in flight at once: those between two stores to or atomics on global memory, or two
    barriers."""
    fences = counters.global_store_requests + counters.global_atomic_requests + counters.barriers
    return min(MOST_LOADS_IN_FLIGHT, max(1.0, counters.global_load_requests / max(1, fences)))


def slowest_warp(counters: Counters) -> float:
    """The instructions of the slowest warp, in multiples of the average warp's; 1.0 if they were not counted."""
    return _of_average(counters, counters.slowest_warp_instructions, counters.warp_instructions)


def slowest_loads(counters: Counters) -> float:
    """The loads of the warp that makes most, in multiples of the average warp's, atomics among both."""
    return _of_average(
        counters, counters.slowest_warp_loads, counters.global_load_requests + counters.global_atomic_requests
    )


def _of_average(counters: Counters, most: int, of_all: int) -> float:
    """What one warp has, summed over launches, in multiples of what the average warp has."""
    return max(1.0, most / max(1, counters.launches) * counters.warps / of_all) if most and of_all else 1.0


def _overhead_ns(counters: Counters, specification: Specification) -> float:
    """What a launch costs if it does nothing, plus its first load, which nothing hides."""
    first_load = specification.dram_latency_cycles / specification.cycles_per_ns if counters.global_load_requests else 0
    return max(1, counters.launches) * (specification.launch_overhead_ns + COLD_START_NS + first_load)
