"""Cases of any size for `histogram`, for `autograder fuzz`: nothing here comes from the lab's checks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.grading.fuzzing.judging import JudgedCall, size
from autograder.records.runs import RunRequest

MOST_BINS = 1024
KINDS = ("uniform", "skewed", "one value", "with strangers")


def cases(rng: np.random.Generator) -> Iterator[JudgedCall]:
    """Uniform, skewed and constant items, with and without those of no bin, for one to 1,024 bins.

    Items of no bin come in a small case, and in the one where each thread has several items: a kernel may hold on to one.
    """
    kinds = iter(("with strangers", *rng.permutation(KINDS)))
    for low, high in ((1, 40), (1, 600), (500, 5000), (3000, 40_000), (30_000, 200_000)):
        yield counted(rng, next(kinds), size(rng, low, high), size(rng, 1, MOST_BINS + 1))
    yield counted(rng, str(rng.choice(KINDS)), int(rng.integers(100, 4000)), int(rng.integers(1, 9)))
    yield counted(rng, "with strangers", int(rng.integers(400_000, 900_000)), int(rng.integers(200, MOST_BINS + 1)))


def counted(rng: np.random.Generator, kind: str, n: int, bins: int) -> JudgedCall:
    if kind == "skewed":
        items = (rng.zipf(1.4, n) - 1) % bins
    elif kind == "one value":
        items = np.full(n, rng.integers(bins))
    else:
        items = rng.integers(0, bins, n)
    if kind == "with strangers":
        strangers = rng.integers(-(2**31), 2**31, n)
        near = rng.integers(-2, bins + 3, n)
        items = np.where(rng.random(n) < 0.3, np.where(rng.random(n) < 0.5, strangers, near), items)
    items = items.astype(np.int32)
    edges = np.searchsorted(
        np.sort(items), np.arange(bins + 1)
    )  # where each bin begins and ends among the sorted items
    right = np.diff(edges).astype(np.int32)
    before = rng.integers(-1000, 1000, bins).astype(np.int32)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        other = outputs["bins"] != right
        if other.any():
            place = int(np.argmax(other))
            return f"bins[{place}] is {outputs['bins'][place]}, not {right[place]}; {other.sum()} are wrong"
        return "" if np.array_equal(outputs["items"], items) else "items has changed"

    return JudgedCall(RunRequest("histogram", {"items": items, "bins": before}), wrong, f"{n} items, {kind}, {bins} bins")
