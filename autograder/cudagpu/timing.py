"""From paired times to a ratio with an interval, and when to stop measuring: pure functions, no GPU needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
LEAST_ROUNDS = 8
MOST_ROUNDS = 40
NARROW = 0.02  # an interval this wide, relative to the ratio, needs no more rounds
CLOCKS_AGREE = 0.10  # wall clock and events may differ by this share ...
CLOCKS_AGREE_NS = 2e6  # ... and this much for Python's own part in a call


@dataclass(frozen=True)
class Round:
    """One ABBA round: two timed calls of the baseline around two of the submission."""

    baseline_ns: tuple[float, float]
    submission_ns: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Baseline time over submission time; drift during the round cancels."""
        return sum(self.baseline_ns) / sum(self.submission_ns)


@dataclass(frozen=True)
class Interval:
    """The median ratio of the rounds and its bootstrap interval."""

    ratio: float
    low: float
    high: float

    @property
    def relative_width(self) -> float:
        return (self.high - self.low) / self.ratio

    def clears(self, threshold: float) -> bool:
        """Whether the whole interval lies on one side of the threshold."""
        return self.low >= threshold or self.high < threshold


def bootstrap_interval(ratios: Sequence[float], rng: np.random.Generator) -> Interval:
    """The median of the ratios with its percentile bootstrap interval (Efron 1979), at 95 %.

    Raises ValueError without ratios, or where one is not a positive number.
    """
    values = np.asarray(ratios, np.float64)
    if not values.size or not np.all(np.isfinite(values)) or np.any(values <= 0):
        raise ValueError("Ratios of times are positive numbers, at least one.")
    draws = np.median(rng.choice(values, (RESAMPLES, values.size)), axis=1)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(draws, (tail, 100 - tail))
    return Interval(float(np.median(values)), float(low), float(high))


def is_settled(interval: Interval, rounds: int, threshold: float | None) -> bool:
    """Whether more rounds would change nothing: enough of them, and the interval narrow or clear of the threshold."""
    if rounds >= MOST_ROUNDS:
        return True
    if rounds < LEAST_ROUNDS:
        return False
    if threshold is not None:
        return interval.clears(threshold)
    return interval.relative_width <= NARROW


def clocks_disagree(events_ns: float, wall_ns: float) -> bool:
    """Whether the GPU's events and the host's clock tell different stories about one call."""
    return abs(wall_ns - events_ns) > CLOCKS_AGREE_NS + CLOCKS_AGREE * wall_ns


def flags(
    interval: Interval, threshold: float | None, fastest_ns: float, floor_ns: float, disagreements: int, throttled: bool
) -> tuple[str, ...]:
    """What somebody should look at before trusting the ratio."""
    found = []
    if threshold is not None and not interval.clears(threshold):
        found.append("ambiguous")
    if fastest_ns < floor_ns:
        found.append("faster than the roofline floor")
    if disagreements:
        found.append("clocks disagree")
    if throttled:
        found.append("throttled")
    return tuple(found)


def floor_ns(input_bytes: float, bandwidth_gb_per_s: float) -> float:
    """The least time in which inputs can be read from DRAM once; 0 where the bandwidth is unknown."""
    return input_bytes / bandwidth_gb_per_s if bandwidth_gb_per_s > 0 else 0.0
