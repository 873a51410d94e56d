"""Where the marks of a report's small charts go: positions in percent of the width, so that a phone keeps its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.reports.speed import Speed
from autograder.reports.wording import points_text, ratio_text

COLUMNS = 48  # of dots that are stacked


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float  # percent
    label: str


@dataclass(frozen=True)
class SpeedBar:
    """One submission's speed on an axis that begins at 0; every position in percent."""

    ratio: float
    low: float
    high: float
    threshold: float
    baseline: float
    full: float | None
    ticks: tuple[Tick, ...]


def speed_bar(speed: Speed) -> SpeedBar:
    """The interval of `speed` against its threshold, on a linear axis that takes in all of them."""
    top = max(1.0, 1.12 * max(speed.ratio, speed.high, speed.threshold), 1.25 * (speed.full_points_at or 0.0))
    step = _round_step(top / 5)
    ticks = tuple(Tick(100 * step * i / top, f"{step * i:g}") for i in range(int(top / step) + 1))
    return SpeedBar(
        ratio=100 * max(speed.ratio, 0.0) / top,
        low=100 * max(speed.low, 0.0) / top,
        high=100 * max(speed.high, 0.0) / top,
        threshold=100 * speed.threshold / top,
        baseline=100 / top,
        full=None if speed.full_points_at is None else 100 * speed.full_points_at / top,
        ticks=ticks,
    )


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999)


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram: `left`, `width` and `height` in percent."""

    left: float
    width: float
    height: float
    count: int
    label: str  # "7 points", "10 to 15 points"


@dataclass(frozen=True)
class Histogram:
    """How many students have how many points."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]


def histogram(points: Sequence[float], most: float) -> Histogram:
    """The distribution of `points` from 0 to `most`: a bar a point where that fits, else twenty equal bars."""
    most = max(most, 1.0)
    by_point = most <= 24 and float(most).is_integer()
    bins = int(most) + 1 if by_point else 20
    counts = [0] * bins
    for each in points:
        place = each if by_point else each / most * bins
        counts[min(max(int(place), 0), bins - 1)] += 1
    tallest, width = max(max(counts), 1), 100 / bins
    bars = tuple(
        Bar(width * i, width, 100 * count / tallest, count, _bin_label(i, bins, most, by_point))
        for i, count in enumerate(counts)
    )
    every = next(step for step in (1, 2, 5) if bins <= 7 * step)
    if by_point:
        ticks = tuple(Tick(width * (i + 0.5), str(i)) for i in range(0, bins, every))
    else:
        ticks = tuple(Tick(25.0 * i, points_text(most * i / 4)) for i in range(5))
    return Histogram(bars, ticks)


def _bin_label(i: int, bins: int, most: float, by_point: bool) -> str:
    if by_point:
        return f"{i} {'point' if i == 1 else 'points'}"
    return f"{points_text(most * i / bins)} to {points_text(most * (i + 1) / bins)} points"


@dataclass(frozen=True)
class Dot:
    """One student on a speed plot: `at` in percent, `level` counted from the axis upwards."""

    at: float
    level: int
    student: str
    speed: Speed


@dataclass(frozen=True)
class DotPlot:
    """A class's speeds on a logarithmic axis, stacked where they are close."""

    dots: tuple[Dot, ...]
    threshold: float
    full: float | None
    baseline: float
    ticks: tuple[Tick, ...]
    levels: int


def dot_plot(speeds: Sequence[tuple[str, Speed]]) -> DotPlot:
    """`speeds` as (student, speed), at least one; the thresholds are those of the first."""
    first = speeds[0][1]
    marks = [1.0, first.threshold, first.full_points_at or first.threshold]
    marks += [speed.ratio for _, speed in speeds if speed.ratio > 0]
    low, high = math.log2(max(min(marks), 2**-7)) - 0.3, math.log2(max(marks)) + 0.4

    def place(ratio: float) -> float:
        return 100 * (min(max(math.log2(max(ratio, 2**-7)), low), high) - low) / (high - low)

    stacked: dict[int, int] = {}
    dots = []
    for student, speed in sorted(speeds, key=lambda each: (each[1].ratio, each[0])):
        column = min(int(place(speed.ratio) / 100 * COLUMNS), COLUMNS - 1)
        level = stacked.get(column, 0)
        stacked[column] = level + 1
        dots.append(Dot(100 * (column + 0.5) / COLUMNS, level, student, speed))
    powers = range(math.ceil(low), math.floor(high) + 1, max(1, math.ceil((high - low) / 7)))
    return DotPlot(
        dots=tuple(dots),
        threshold=place(first.threshold),
        full=None if first.full_points_at is None else place(first.full_points_at),
        baseline=place(1.0),
        ticks=tuple(Tick(place(2.0**power), f"{2.0**power:g}") for power in powers),
        levels=max(stacked.values()),
    )


def speed_summary(speeds: Sequence[tuple[str, Speed]]) -> str:
    """The dot plot in a sentence, for who cannot see it."""
    ratios = sorted(speed.ratio for _, speed in speeds)
    reached = sum(speed.ratio >= speed.threshold for _, speed in speeds)
    return (
        f"{len(ratios)} submissions with a speed, from {ratio_text(ratios[0])} to {ratio_text(ratios[-1])} times "
        f"{speeds[0][1].compared_with}, median {ratio_text(ratios[len(ratios) // 2])}; {reached} reach the threshold of "
        f"{ratio_text(speeds[0][1].threshold)}."
    )
