"""From the source's operations to slots of the issue stage: what Numba makes of an array access or a loop.

Numba indexes with signed 64-bit numbers and adds the array's length to a negative one, so an access costs many
instructions, half of them on the slow uniform unit. What that takes was measured, not counted: loops with one and with
three accesses from L1 (kernels.py, `vector_one` and its kin; microbenchmarks.json, "cycles per indexed iteration"),
four slots a cycle. The slope is the cost of an access, the intercept that of a round of the loop.
"""

from __future__ import annotations

from autograder.records.counters import Counters

SLOTS_PER_ADDRESS = 3.75  # 1-D: 10.4 slots with the access itself, 2-D: 16.0 (mean of rows and columns)
SLOTS_PER_INDEX = 5.65
SLOTS_PER_KEPT_ADDRESS = 1.0  # advanced by an addition, or not at all
SLOTS_PER_LOOP_ROUND = 20.4
SLOTS_PER_SHARED_ACCESS = 1.0  # addresses of shared arrays have 32 bits and are hoisted where loops are unrolled
SLOTS_PER_THREAD_START = 20.0  # special registers, arguments, the thread's index: machine code of a guarded copy
CYCLES_PER_SLOT_ALONE = 2.1  # one warp alone on its multiprocessor, the same loops


def issue_slots(counters: Counters) -> float:
    """Slots of the issue stage that the whole launch takes, once per warp.

    Local arrays that lie in memory take none here: their traffic is another limit (prediction.py).
    """
    on_global, on_shared = global_requests(counters), shared_requests(counters)
    on_local = counters.local_load_requests + counters.local_store_requests
    others = max(0, counters.warp_instructions - on_global - on_shared - on_local - counters.loop_rounds)
    return (
        others
        + on_global
        + SLOTS_PER_ADDRESS * counters.global_addresses
        + SLOTS_PER_INDEX * counters.global_index_terms
        + SLOTS_PER_KEPT_ADDRESS * max(0, on_global - counters.global_addresses)
        + SLOTS_PER_SHARED_ACCESS * on_shared
        + SLOTS_PER_LOOP_ROUND * counters.loop_rounds
        + SLOTS_PER_THREAD_START * counters.warps
    )


def global_requests(counters: Counters) -> int:
    """Loads, stores and atomics to global memory, once per warp."""
    return counters.global_load_requests + counters.global_store_requests + counters.global_atomic_requests


def shared_requests(counters: Counters) -> int:
    """Loads, stores and atomics to shared memory, once per warp."""
    return counters.shared_load_requests + counters.shared_store_requests + counters.shared_atomic_requests
