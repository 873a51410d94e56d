"""The predicted time of a call of a host function: its launches, what host code asks for beside them, and how one waits for
the other; and the least time that any call can take.

Launches alone stand in line: the host is ahead of the GPU. Whatever brings data across makes the host wait for all that was
launched before. Then nothing is queued, and the GPU waits for the host at each launch, until there is more to do again than
the host takes. New device arrays cost nothing, as from a pool of memory, and a wait alone costs nothing: both as where a
GPU is timed, which has arrays ready and does not carry waits out. What Python does between launches is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.perfmodel.prediction import COLD_START_NS
from autograder.perfmodel.specification import Specification
from autograder.records.transfers import Transfer

# Nanoseconds, and GB/s of what is moved, as a timed call on the H200 has them: measurements/host_times.json. What is made
# on the device or stored from the host has guard zones there, and NumPy's memory is not pinned.
PRICES: Mapping[str, tuple[float, float]] = {
    "copy_to_host": (32_000, 14.1),
    "to_device": (440_000, 5.1),
    "copy_to_device": (97_000, 14.5),
    "an element": (53_000, 14.1),
    "an assignment": (280_000, 14.1),
    "an assignment on the device": (180_000, float("inf")),
    "a NumPy array as an argument": (140_000, 7.1),
}
ANY_OTHER = PRICES["copy_to_host"]
LAUNCH_NS = 58_000.0  # that the GPU waits for the host at a launch, where nothing is queued
CHAIN_LAUNCH_NS = 29_000.0  # of the host for each of many launches: chains of measurements/unseen_measured.json
HOST_GB_PER_S = 20.0  # one core that streams through its memory
FREE = ("device_array", "device_array_like", "synchronize")


def call_ns(launches_ns: Sequence[float], transfers: Sequence[Transfer], specification: Specification) -> float:
    """Nanoseconds of a call: of launches, from what each would take alone, and of transfers between them.

    Without transfers it is `in_a_row` of the launches.
    """
    saved = specification.launch_overhead_ns + COLD_START_NS - specification.further_launch_ns
    asked: dict[int, list[Transfer]] = {}
    for each in transfers:
        asked.setdefault(min(each.launches_before, len(launches_ns)), []).append(each)
    gpu, host, is_ahead = 0.0, 0.0, True  # when each of them has done what it was asked for so far
    for number in range(len(launches_ns) + 1):
        for each in asked.get(number, ()):
            if each.is_host_work:
                taken = each.size_bytes / HOST_GB_PER_S
                gpu, host = (gpu + taken, host) if is_ahead else (gpu, host + taken)
            elif each.what not in FREE:
                price_ns, rate = PRICES.get(each.what, ANY_OTHER)
                gpu = host = max(gpu, host) + price_ns + each.size_bytes / rate
                is_ahead = False
        if number == len(launches_ns):
            break
        host += 0.0 if is_ahead else LAUNCH_NS
        stands_in_line = number > 0 and host <= gpu
        gpu = max(gpu, host) + launches_ns[number] - (saved if stands_in_line else 0.0)
    return max(gpu, host)


def chain_ns(launches_ns: Sequence[float], specification: Specification, *, head_start_ns: float) -> float:
    """Nanoseconds between events around launches as a Python program makes them, from what each would take alone.

    `head_start_ns`: what the GPU has to do before the first one, in which the host launches others. Of kernels that are
    shorter than a launch takes the host, all that come after it wait for the host.
    """
    saved = specification.launch_overhead_ns + COLD_START_NS - specification.further_launch_ns
    gpu, host = 0.0, -head_start_ns  # when each of them has done what it was asked for so far, since the first event
    for number, own in enumerate(launches_ns):
        host += CHAIN_LAUNCH_NS
        stands_in_line = number > 0 and host <= gpu
        gpu = max(gpu, host) + own - (saved if stands_in_line else 0.0)
    return gpu


def floor_ns(input_bytes: float, specification: Specification) -> float:
    """The least time in which inputs can be read from DRAM once."""
    return input_bytes / specification.dram_gb_per_s
