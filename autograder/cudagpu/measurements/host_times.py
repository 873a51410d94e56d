"""Times what host code asks for beside launches, as a timed call of a submission has it: writes host_times.json.

    python -m autograder.cudagpu.measurements.host_times [FILE]          # needs a GPU

Each case is a host function that is called as the grader calls a submission's (comparing.py): interpreted, its arrays
guarded, the time that of the GPU's events. `times` is how often it does the same thing after it has waited once, so that
nothing is queued and the host sets the pace; what one costs is the slope between few and many. Medians of seven calls.
Beside it stands what plain numba.cuda takes for the same by the host's clock.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

import autograder
from autograder.cudagpu.comparing import Contest
from autograder.cudagpu.compilation import Compiler
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest

RESULT = Path(autograder.__file__).parent / "perfmodel" / "measurements" / "host_times.json"
REPEATS = 7
FEW, MANY = 2, 12
SIZES = (4, 256, 4096, 1 << 16, 1 << 18, 1 << 20, 1 << 22)  # bytes

PROGRAM = """
from numba import cuda
import numpy as np

@cuda.jit
def of_one(a):
    pass

@cuda.jit
def of_two(a, b):
    pass

@cuda.jit
def of_three(a, b, c):
    pass

@cuda.jit
def of_four(a, b, c, d):
    pass

@cuda.jit
def of_six(a, b, c, d, e, f):
    pass

@cuda.jit
def naps(a, rounds):
    for _ in range(rounds):
        cuda.nanosleep(1000)

def launches_of_one(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_one[1, 32](a)

def launches_of_two(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_two[1, 32](a, a)

def launches_of_three(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_three[1, 32](a, a, a)

def launches_of_four(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_four[1, 32](a, a, a, a)

def launches_of_six(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_six[1, 32](a, a, a, a, a, a)

def launches_in_a_queue(a, h, times):
    for _ in range(times):
        of_two[1, 32](a, a)

def waits(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        cuda.synchronize()

def launches_and_waits(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_two[1, 32](a, a)
        cuda.synchronize()

def launches_and_copies_back(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        of_two[1, 32](a, a)
        a.copy_to_host()

def long_launches_and_copies_back(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        naps[1, 32](a, 100)
        a.copy_to_host()

def long_launches(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        naps[1, 32](a, 100)

def copies_to_host(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        a.copy_to_host()

def copies_to_new_arrays(a, h, times):
    n = np.zeros(a.size, np.float32)
    cuda.synchronize()
    for _ in range(times):
        cuda.to_device(n)

def copies_from_host(a, h, times):
    n = np.zeros(a.size, np.float32)
    cuda.synchronize()
    for _ in range(times):
        a.copy_to_device(n)

def copies_on_the_device(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        a.copy_to_device(h)

def elements_read(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        a[0]

def elements_written(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        a[0] = 1

def assignments(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        a[:] = h

def new_arrays(a, h, times):
    cuda.synchronize()
    for _ in range(times):
        cuda.device_array(a.size, np.float32)

def arrays_as_arguments(a, h, times):
    n = np.zeros(a.size, np.float32)
    cuda.synchronize()
    for _ in range(times):
        of_one[1, 32](n)

def steps(a, h, times):
    cuda.synchronize()
    for _ in range(50 * times):
        pass

def sums(a, h, times):
    cuda.synchronize()
    k = 0
    for i in range(50 * times):
        k = k + i * 2

def elements_of_lists(a, h, times):
    rows = np.zeros(64, np.int32)
    cuda.synchronize()
    k = 0
    for i in range(50 * times):
        if rows[i % 64] == 0:
            rows[i % 64] = i
"""
OF_EACH_SIZE = ("copies_to_host", "copies_to_new_arrays", "copies_from_host", "copies_on_the_device",
                "launches_and_copies_back", "assignments", "arrays_as_arguments", "new_arrays")  # fmt: skip
OF_ONE_SIZE = ("launches_of_one", "launches_of_two", "launches_of_three", "launches_of_four", "launches_of_six",
               "launches_in_a_queue", "waits", "launches_and_waits", "long_launches", "long_launches_and_copies_back",
               "elements_read", "elements_written", "steps", "sums", "elements_of_lists")  # fmt: skip


def through_the_grader() -> dict[str, dict[str, float]]:
    """Microseconds of each thing that host code asks for, by case and bytes; a case that cannot run has none."""
    program = parse_program(submission_from_cells("host_times.py", [("host_times.py", PROGRAM)], is_notebook=False))
    compiler, rng = Compiler(), np.random.default_rng(0)
    name = cuda.get_current_device().name
    found: dict[str, dict[str, float]] = {}
    for case in (*OF_EACH_SIZE, *OF_ONE_SIZE):
        for size_bytes in SIZES if case in OF_EACH_SIZE else (4096,):
            contest = Contest(str(name), (compiler, compiler), program, program, None, rng)
            medians = {}
            for times in (FEW, MANY):
                arrays = {each: np.ones(max(1, size_bytes // 4), np.float32) for each in "ah"}
                request = RunRequest(case, arrays | {"times": times})
                if (failed := contest.begin(request)) is not None:
                    print(case, failed.fault, file=sys.stderr)
                    break
                medians[times] = float(np.median([contest._call(program, request).ns for _ in range(REPEATS)]))
            if len(medians) == 2:
                one = (medians[MANY] - medians[FEW]) / (MANY - FEW) / 1e3
                first = medians[FEW] / 1e3 - FEW * one
                found.setdefault(case, {})[str(size_bytes)] = round(one, 3)
                found.setdefault(f"{case}, all else", {})[str(size_bytes)] = round(first, 3)
                print(case, size_bytes, f"{one:.2f} us each, {first:.2f} us beside", flush=True)
    return found


def by_the_clock(action: Callable[[], object], times: int = 50) -> float:
    """Median microseconds of an action by the host's clock, the GPU idle before and after."""
    taken = []
    for _ in range(REPEATS):
        cuda.synchronize()
        began = time.perf_counter_ns()
        for _ in range(times):
            action()
        cuda.synchronize()
        taken.append((time.perf_counter_ns() - began) / times / 1e3)
    return round(float(np.median(taken)), 3)


def numba_alone() -> Mapping[str, float]:
    """The same by numba.cuda alone."""
    small, large = (cuda.to_device(np.ones(n, np.float32)) for n in (1, 1 << 18))
    on_host = {1: np.ones(1, np.float32), 1 << 18: np.ones(1 << 18, np.float32)}

    def of_two(a: Any, b: Any) -> None:
        pass

    kernel = cuda.jit(of_two)
    launch = kernel[1, 32]
    launch(small, small)
    actions: dict[str, Callable[[], object]] = {
        "a launch of two arrays": lambda: launch(small, small),
        "a launch of two arrays, configured": lambda: kernel[1, 32](small, small),
        "a wait": cuda.synchronize,
        "copy_to_host, 4 bytes": small.copy_to_host,
        "copy_to_host, 1 MiB": large.copy_to_host,
        "to_device, 4 bytes": lambda: cuda.to_device(on_host[1]),
        "to_device, 1 MiB": lambda: cuda.to_device(on_host[1 << 18]),
        "copy_to_device, 4 bytes": lambda: small.copy_to_device(on_host[1]),
        "copy_to_device, 1 MiB": lambda: large.copy_to_device(on_host[1 << 18]),
        "a launch and copy_to_host, 4 bytes": lambda: (launch(small, small), small.copy_to_host()),
        "an element": lambda: small[0],
        "an assignment to an element": lambda: small.__setitem__(0, 1),
        "device_array, 1 MiB": lambda: cuda.device_array(1 << 18, np.float32),
    }
    return {words: by_the_clock(action) for words, action in actions.items()}


def measure() -> dict[str, Any]:
    """Everything, as plain data."""
    name = cuda.get_current_device().name
    return {
        "gpu": name.decode() if isinstance(name, bytes) else name,
        "unit": "microseconds each; by bytes of an array where that matters",
        "through the grader": through_the_grader(),
        "numba.cuda alone": numba_alone(),
    }


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else RESULT).write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
