"""Cases of any size for a sum, by one launch and in whole, for `autograder fuzz`: nothing comes from the lab's checks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.grading.fuzzing.judging import JudgedCall, size
from autograder.records.runs import RunRequest, Uninitialised

SCRATCH = 131_072
FLOAT32 = float(np.finfo(np.float32).eps)


def cases(rng: np.random.Generator) -> Iterator[JudgedCall]:
    """Blocks of every width that the handout names, grids with more and with fewer threads than elements, whole sums."""
    yield launched(rng, 1, 256, 256)
    for widest in (9, 33, 33):
        threads = 32 * int(rng.integers(1, widest))
        yield launched(rng, 1, threads, size(rng, 1, 3 * threads))
    for _ in range(3):
        threads, blocks = 32 * int(rng.integers(1, 33)), int(rng.integers(2, 12))
        yield launched(rng, blocks, threads, size(rng, 1, 4 * blocks * threads))
    threads, blocks = 2 ** int(rng.integers(5, 11)), int(rng.integers(2, 6))
    yield launched(rng, blocks, threads, blocks * threads * int(rng.integers(1, 4)))
    for low, high in ((1, 40), (200, 2000), (2000, 50_000), (100_000, 700_000)):
        yield whole(rng, size(rng, low, high))
    yield whole(rng, 2 ** int(rng.integers(10, 19)))


def launched(rng: np.random.Generator, blocks: int, threads: int, n: int) -> JudgedCall:
    """Small whole numbers: sums of any order are exact."""
    values = rng.integers(-20, 21, n).astype(np.float32)
    right = float(values.sum(dtype=np.float64))

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        sums = outputs["sums"].astype(np.float64)
        if not np.array_equal(outputs["values"], values):
            return "values has changed"
        return "" if float(sums.sum()) == right else f"all sums together are {sums.sum()}, not {right}"

    arguments = {"values": values, "sums": Uninitialised((blocks,), np.float32)}
    request = RunRequest("block_sums_kernel", arguments, grid=blocks, block=threads)
    return JudgedCall(request, wrong, f"{blocks} blocks of {threads} for {n} elements")


def whole(rng: np.random.Generator, n: int) -> JudgedCall:
    """Real numbers above zero, so that a tree's rounding is small beside the sum."""
    values = rng.uniform(0.1, 3.0, n).astype(np.float32)
    right = float(values.sum(dtype=np.float64))

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        got = float(outputs["total"][0])
        if not np.array_equal(outputs["values"], values):
            return "values has changed"
        return "" if abs(got - right) <= 64 * FLOAT32 * right else f"total is {got}, not {right}"

    scratch, total = Uninitialised((SCRATCH,), np.float32), Uninitialised((1,), np.float32)
    arguments = {"values": values, "scratch": scratch, "total": total}
    return JudgedCall(RunRequest("total_sum", arguments, scratch=("scratch",)), wrong, f"the sum of {n}")
