"""The GPU performance model of 2009: a kernel's cycles from its computation and its memory accesses, by MAX and by SUM.

K. Kothapalli, R. Mukherjee, S. Rehman, S. Patidar, P. J. Narayanan, K. Srinathan: A performance prediction model for the
CUDA GPGPU platform, HiPC 2009, as the slides among the seeds state it. A program is a sum of kernels (BSP's supersteps);
within a kernel each thread's cycles of computation and of memory access are added up, memory uncoalesced at 400 to 600
cycles an access (a non-uniform PRAM) and shared memory by queueing (QRQW); then

    C(K) = N_B * N_w * N_t * C_T / (D * N_C)        T(K) = C(K) / clock rate

with N_B blocks on a multiprocessor, N_w warps of a block, N_t threads of a warp, C_T cycles of a thread, D stages of the
pipeline and N_C cores of a multiprocessor. (One slide calls N_t the threads of a block; the worked example on another
one puts in 32, a warp's.) C_T is the larger of computation and memory where the hardware hides one
behind the other (MAX), their sum where it does not (SUM): a lower and an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from autograder.records.counters import Counters

COALESCED_CYCLES = 20.0  # slides, "PRAM model for global memory accesses", after the vendor's manual
UNCOALESCED_CYCLES = 500.0  # the same: 400 to 600; their list ranking takes 1500 for three accesses
COMPUTE_CYCLES = 4.0  # slides, "Measuring computation in a kernel": an addition or a multiplication
MODULO_CYCLES = 40.0  # the same: an integer remainder
SHARED_CYCLES = 4.0  # an access without conflicts costs as much as an addition, an n-way conflict n times that
SECTORS_OF_COALESCED = 4.0  # 32 lanes of 4 bytes side by side


@dataclass(frozen=True)
class Gpu2009:
    """What the model knows of a GPU; the defaults are the GTX 280's (NVIDIA GeForce GTX 200 technical brief, 2008).

    The slides' formula for list ranking names 30 multiprocessors, 8 cores and a pipeline of 4 stages; its clock is
    not on the slides and is the technical brief's shader clock.
    """

    multiprocessors: int = 30
    cores: int = 8
    pipeline_stages: int = 4
    clock_ghz: float = 1.296
    warp_threads: int = 32


GTX_280 = Gpu2009()


@dataclass(frozen=True)
class Kernel2009:
    """One kernel: the shape of its launch and the cycles of one of its threads."""

    blocks: float
    warps_per_block: float
    compute_cycles: float
    memory_cycles: float

    def thread_cycles(self, *, hidden: bool) -> float:
        """C_T: by MAX where latency is hidden, by SUM where it is not."""
        if hidden:
            return max(self.compute_cycles, self.memory_cycles)
        return self.compute_cycles + self.memory_cycles

    def cycles(self, gpu: Gpu2009 = GTX_280, *, hidden: bool, whole_blocks: bool = True) -> float:
        """C(K) on one multiprocessor; `whole_blocks` rounds its share of the blocks up, as no block can be split."""
        blocks = self.blocks / gpu.multiprocessors
        share = ceil(blocks) if whole_blocks else blocks
        threads = share * self.warps_per_block * gpu.warp_threads
        return threads * self.thread_cycles(hidden=hidden) / (gpu.pipeline_stages * gpu.cores)

    def milliseconds(self, gpu: Gpu2009 = GTX_280, *, hidden: bool, whole_blocks: bool = True) -> float:
        """T(K)."""
        return self.cycles(gpu, hidden=hidden, whole_blocks=whole_blocks) / (gpu.clock_ghz * 1e6)


def local_ranking(n: int) -> Kernel2009:
    """The slides' local ranking kernel on a list of n nodes, in blocks of 512 threads.

    N / log2 N splitters, a thread each; a thread walks 4 log2 N nodes with high probability, and for each computes for
    4 cycles and makes three uncoalesced accesses (1500 cycles).
    """
    nodes = 4 * log2(n)
    return Kernel2009(
        blocks=n / log2(n) / 512,
        warps_per_block=512 / 32,
        compute_cycles=COMPUTE_CYCLES * nodes,
        memory_cycles=3 * UNCOALESCED_CYCLES * nodes,
    )


def bounds_milliseconds(counters: Counters) -> tuple[float, float]:
    """T(K) of any kernel from its counted work: by MAX, the lower bound, and by SUM, the upper one."""
    kernel = from_counters(counters)
    return kernel.milliseconds(hidden=True), kernel.milliseconds(hidden=False)


def from_counters(counters: Counters) -> Kernel2009:
    """The model's cycles of computation and of memory for an average thread of any kernel, from its counted work.

    Requests of one kind count as coalesced if they move at most four sectors on average. Sums over warps, divided by the
    number of warps, are cycles of a thread.
    """
    warps = max(1, counters.warps)
    uncoalesced = 0.0
    requests = counters.global_load_requests + counters.global_store_requests + counters.global_atomic_requests
    for each, sectors in (
        (counters.global_load_requests, counters.global_load_sectors),
        (counters.global_store_requests, counters.global_store_sectors),
        (counters.global_atomic_requests, counters.global_atomic_sectors),
    ):
        if each and sectors / each > SECTORS_OF_COALESCED:
            uncoalesced += each
    memory = COALESCED_CYCLES * (requests - uncoalesced) + UNCOALESCED_CYCLES * uncoalesced
    shared = counters.shared_load_wavefronts + counters.shared_store_wavefronts + counters.shared_atomic_requests
    accesses = requests + shared
    compute = COMPUTE_CYCLES * max(0, counters.warp_instructions - accesses)
    return Kernel2009(
        blocks=max(1, counters.blocks),
        warps_per_block=warps / max(1, counters.blocks),
        compute_cycles=compute / warps,
        memory_cycles=(memory + SHARED_CYCLES * shared) / warps,
    )
