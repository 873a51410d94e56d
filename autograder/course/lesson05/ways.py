"""Ways to count into more and more bins, by their measured times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.figures.curves import Curve, curves
from autograder.figures.svg import Figure

BINS_NAMED: Mapping[float, str] = {2**8: "256", 2**12: "4,096", 2**16: "65,536", 2**20: "1,048,576"}
MILLISECONDS_NAMED: Mapping[float, str] = {0.1: "0.1", 1: "1", 10: "10", 100: "100"}


def by_bins(measured: Mapping[str, Any], kind: str) -> Figure:
    """Draws a curve for each way; `measured` is histogram_h200.json's content, `kind` uniform or zipf."""
    ways = measured["milliseconds_by_bins"][kind]
    return curves(
        [Curve(way, [(int(bins), ms) for bins, ms in times.items()]) for way, times in ways.items()],
        title=f"2^26 items, {kind}",
        x_axis="bins",
        y_axis="milliseconds on an H200",
        x_ticks=BINS_NAMED,
        y_ticks=MILLISECONDS_NAMED,
    )
