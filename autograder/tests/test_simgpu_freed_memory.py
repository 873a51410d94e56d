"""Memory that is freed is there for the next arrays, and shadows take none until somebody goes there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import psutil
import pytest

from autograder.simgpu.values.memory import FROM_SYSTEM_BYTES, untouched_zeros

FAULTS = """
import resource
import numpy as np
from autograder.simgpu.host.freed_memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        arrays = [np.full(3_000_000, i, np.int64) for i in range(3)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
keep_freed_memory()
faults()
print(before, faults())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other C libraries do as they do")
def test_arrays_get_the_memory_of_those_that_were_freed() -> None:
    told = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True).stdout
    before, after = map(int, told.split())
    assert after < before / 10


def test_large_zeros_take_memory_where_somebody_goes() -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    zeros = untouched_zeros(50_000_000, np.dtype(np.int32))
    assert process.memory_info().rss - before < 20e6
    zeros[-1] = 7
    assert zeros[-1] == 7 and not zeros[:1000].any() and zeros.flags.writeable and zeros.dtype == np.int32
    few = untouched_zeros(FROM_SYSTEM_BYTES // 8, np.dtype(np.int16))
    assert not few.any() and len(few) == FROM_SYSTEM_BYTES // 8
