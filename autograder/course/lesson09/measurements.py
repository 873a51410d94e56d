"""Times lesson 9's pairs and patients on the GPU at hand, and writes map_h200.json.

python -m autograder.course.lesson09.measurements                # needs a GPU and numba-cuda; about two minutes
python -m autograder.course.lesson09.measurements tiling B       # these alone; the file's other times stay
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numba import cuda

from autograder.course.lesson09 import kernels
from autograder.course.lesson09.pairs import PAIRS, THREADS, Job, KernelLaunch, TechniquePair
from autograder.course.lesson09.patients import PATIENTS, Patient
from autograder.course.lesson09.recorded import MEASURED
from autograder.kernels import read

REPEATS = 11
PLACES = 33  # of a small result, one for each launch
SMALL_BYTES = 2**21  # a result up to this size is small
FLUSH_BYTES = 2**30


class LaunchClock:
    """Times launches on the GPU's own clock, each after a read of 1 GiB that leaves nothing of its arrays in L2."""

    def __init__(self) -> None:
        self._other = cuda.to_device(np.zeros(FLUSH_BYTES // 4, np.int32))
        self._sink = cuda.device_array(1, np.int32)
        self._places: dict[tuple[tuple[int, ...], np.dtype[Any]], list[Any]] = {}
        self._between: list[Any] = []

    def milliseconds(
        self, calls: Sequence[Callable[[], Any]], prepare: Callable[[], Any], repeats: int = REPEATS
    ) -> list[float]:
        """The times of all calls together, after a round that compiles; `prepare` goes ahead and is not timed."""
        times = []
        for _ in range(repeats + 1):
            prepare()
            read[1056, 256](self._other, self._sink)
            start, end = cuda.event(), cuda.event()
            start.record()
            for call in calls:
                call()
            end.record()
            end.synchronize()
            times.append(float(cuda.event_elapsed_time(start, end)))
        return times[1:]

    def of_launch(self, launch: KernelLaunch, expected: np.ndarray, what: str) -> LaunchTimes:
        """The times of one launch, whose result is cleared before each and compared with what it must be.

        A small result lies in another place for each launch: how fast atomics are depends on which parts of L2 hold it.
        """
        on_device = [cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in launch.arguments]
        at = next(number for number, each in enumerate(launch.arguments) if each is launch.result)
        before = cuda.to_device(launch.result)
        places = self._places_for(launch.result) if launch.result.nbytes <= SMALL_BYTES else [on_device[at]]
        turn = 0

        def prepare() -> None:
            nonlocal turn
            turn += 1
            on_device[at] = places[turn % len(places)]
            on_device[at].copy_to_device(before)

        call = [lambda: launch.kernel[launch.grid, launch.block](*on_device)]
        found = self.milliseconds(call, prepare, max(REPEATS, len(places)))
        for each in places:
            assert np.allclose(each.copy_to_host(), expected, rtol=1e-4, atol=0), what
        return LaunchTimes(found, len(places))

    def _places_for(self, result: np.ndarray) -> list[Any]:
        """Where a small result of this kind lies in turn: the same places for all launches that leave one."""
        kind = (result.shape, result.dtype)
        if kind not in self._places:
            self._places[kind] = []
            for number in range(PLACES):
                self._between.append(cuda.device_array(977 * (number + 1), np.int32))  # so that no two begin alike
                self._places[kind].append(cuda.device_array_like(result))
        return self._places[kind]


@dataclass(frozen=True)
class LaunchTimes:
    """Milliseconds of a launch, again and again, with its result in so many places of memory."""

    times: Sequence[float]
    places: int

    def typical(self) -> float:
        """With four digits: the mean where each time has a place of its own, for half of the places may be twice as slow as
        the others, and then a median is one or the other by chance; else the median."""
        return digits(float(np.mean(self.times) if self.places > 1 else np.median(self.times)))

    def spread(self) -> list[float]:
        """The least and the most."""
        return [digits(min(self.times)), digits(max(self.times))]


def digits(milliseconds: float) -> float:
    """Four of them."""
    return float(f"{milliseconds:.4g}")


def times_of_pair(clock: LaunchClock, pair: TechniquePair, size: int) -> dict[str, Any]:
    """Milliseconds of a pair's two launches, with the least and most."""
    job = pair.job(size)
    found: dict[str, Any] = {"size": size, "unit": pair.unit}
    for name, launch, expected in zip(("without", "with"), (job.without, job.with_it), job.expected, strict=True):
        times = clock.of_launch(launch, expected, f"{pair.technique}, {name}")
        found |= {f"{name}_milliseconds": times.typical(), f"{name}_least_and_most": times.spread()}
    return found


def times_of_patient(clock: LaunchClock, patient: Patient, size: int) -> dict[str, Any]:
    """Milliseconds of a patient at each stage, with the least and most."""
    case = patient.case(size)
    times = {
        name: clock.of_launch(launch, case.expected[name], f"patient {patient.name}, {name}")
        for name, launch in case.launches.items()
    }
    return {
        "size": size,
        "milliseconds": {name: each.typical() for name, each in times.items()},
        "least_and_most": {name: each.spread() for name, each in times.items()},
    }


def times_beforehand(clock: LaunchClock, sizes: dict[str, int]) -> dict[str, float]:
    """Milliseconds of what two techniques need first: bins of places, and a list of the living."""
    jobs = {pair.technique: pair.job(sizes[pair.technique]) for pair in PAIRS if pair.technique in sizes}
    return {
        "input binning": _binning(clock, jobs["input binning"]),
        "compaction": _compacting(clock, jobs["compaction"]),
    }


def _binning(clock: LaunchClock, job: Job) -> float:
    host, (in_bins, starts, _) = job.without.arguments[0], job.with_it.arguments
    places, bins, blocks = cuda.to_device(host), starts.size - 1, host.size // THREADS
    zeros = cuda.to_device(np.zeros(bins, np.int32))
    counts, begins, cursors = (cuda.device_array(bins + extra, np.int32) for extra in (0, 1, 0))
    found = cuda.device_array_like(host)
    calls = [
        lambda: kernels.count_in_bins[blocks, THREADS](places, counts),
        lambda: kernels.begins_of_bins[1, 1024](counts, begins, cursors),
        lambda: kernels.put_in_bins[blocks, THREADS](places, cursors, found),
    ]
    taken = clock.milliseconds(calls, lambda: counts.copy_to_device(zeros))
    assert np.array_equal(begins.copy_to_host(), starts)
    in_order = found.copy_to_host()
    assert np.array_equal(np.sort(in_order), np.sort(in_bins))
    assert np.array_equal(in_order.astype(np.int32), in_bins.astype(np.int32)), "each in its bin"
    return digits(float(np.median(taken)))


def _compacting(clock: LaunchClock, job: Job) -> float:
    host, alive = job.without.result, job.with_it.result
    x, kept = cuda.to_device(host), cuda.device_array_like(alive)
    zero, found = cuda.to_device(np.zeros(1, np.int32)), cuda.device_array(1, np.int32)
    calls = [lambda: kernels.keep_the_living[host.size // THREADS, THREADS](x, found, kept)]
    taken = clock.milliseconds(calls, lambda: found.copy_to_device(zero))
    assert found.copy_to_host()[0] == alive.size
    assert np.array_equal(np.sort(kept.copy_to_host()), np.sort(alive))
    return digits(float(np.median(taken)))


def measure(known: Mapping[str, Any], only: Sequence[str]) -> dict[str, Any]:
    """All times, with what they are times of; what was not asked for stays as it is."""
    name = cuda.get_current_device().name
    gpu = name.decode() if isinstance(name, bytes) else str(name)
    clock = LaunchClock()
    pairs, patients = dict(known.get("pairs", {})), dict(known.get("patients", {}))
    pairs |= {each.technique: times_of_pair(clock, each, each.large) for each in PAIRS if not only or each.technique in only}
    patients |= {each.name: times_of_patient(clock, each, each.large) for each in PATIENTS if not only or each.name in only}
    beforehand = known.get("beforehand_milliseconds") if only else None
    return {
        "what": f"Pairs and patients of lesson 9, numba.cuda on one {gpu}, {time.strftime('%Y-%m')}",
        "software": ", ".join(f"{name} {version(name)}" for name in ("numba", "numba-cuda", "numpy")),
        "how_times": f"CUDA events, median of {REPEATS} launches; 1 GiB read before each, so that L2 holds nothing of "
        f"the kernel's arrays; a result up to {SMALL_BYTES >> 20} MiB lies in {PLACES} places, one for each launch, the "
        "same for all launches that leave such a one, and its time is the mean; each result compared with NumPy's",
        "pairs": pairs,
        "what_beforehand": "milliseconds of what a technique needs first: three launches that put the places into "
        "bins, one that lists the living",
        "beforehand_milliseconds": beforehand or times_beforehand(clock, {each.technique: each.large for each in PAIRS}),
        "patients": patients,
    }


if __name__ == "__main__":
    before = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    MEASURED.write_text(json.dumps(measure(before, sys.argv[1:]), indent=2) + "\n", encoding="utf-8")
    print(f"written: {MEASURED}")
