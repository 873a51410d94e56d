"""From the source's operations to the machine's instructions: what one array access costs beside the access itself."""

from __future__ import annotations

from autograder.simgpu.counters import Counters

# Numba computes indices in 64 bits and adds the array's length to a negative one: address arithmetic per access.
# Counted in the machine code of ptxas for compute capability 9.0; see measurements/instruction_costs.json.
PER_GLOBAL_ACCESS = 13.0
PER_SHARED_ACCESS = 4.0
PER_SOURCE_OPERATION = 1.0
PER_THREAD_START = 20.0  # special registers, argument loads, the grid's index: once a warp


def warp_instructions(counters: Counters) -> float:
    """Machine instructions that the warps issue, from the counted source operations."""
    return (
        PER_SOURCE_OPERATION * counters.warp_instructions
        + PER_GLOBAL_ACCESS * global_requests(counters)
        + PER_SHARED_ACCESS * shared_requests(counters)
        + PER_THREAD_START * counters.warps
    )


def global_requests(counters: Counters) -> int:
    """Loads, stores and atomics to global memory, once per warp."""
    return counters.global_load_requests + counters.global_store_requests + counters.global_atomic_requests


def shared_requests(counters: Counters) -> int:
    """Loads, stores and atomics to shared memory, once per warp."""
    return counters.shared_load_requests + counters.shared_store_requests + counters.shared_atomic_requests
