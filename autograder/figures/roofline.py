"""The roofline: how fast a kernel may run at its arithmetic intensity, drawn on two logarithmic axes.

Source of the model: Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.palette import INK, LINE, PALER_BLUE, QUIET, SERIES
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure
from autograder.perfmodel.specification import Roofline, Specification
from autograder.perfmodel.specification import roofline as data_sheet_roofline

LEFT, TOP, WIDTH, HEIGHT = 84, 52, 620, 330  # the plot's frame, in pixels; slides draw it lower


@dataclass(frozen=True)
class Point:
    """One kernel on the plot; `gflop_per_s` None puts it on the roof."""

    name: str
    flop_per_byte: float
    gflop_per_s: float | None = None


@dataclass(frozen=True)
class _RooflineAxes:
    """Where a value lies on the logarithmic axes; all four bounds are powers of ten or two."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    height: float

    @property
    def bottom(self) -> float:
        return TOP + self.height

    def x(self, value: float) -> float:
        return LEFT + WIDTH * math.log(value / self.x_low) / math.log(self.x_high / self.x_low)

    def y(self, value: float) -> float:
        return TOP + self.height * (1 - math.log(value / self.y_low) / math.log(self.y_high / self.y_low))


def roofline(
    device: Specification | Roofline, points: Sequence[Point] = (), title: str = "", *, height: float = HEIGHT
) -> Figure:
    """Draws the roof of a device and each kernel where it is, with its share of the peak.

    Raises ValueError for an intensity or rate that is not positive (a logarithmic axis has no place for it).
    """
    roof = data_sheet_roofline(device) if isinstance(device, Specification) else device
    placed = [(each, each.gflop_per_s or roof.attainable_gflop_per_s(each.flop_per_byte)) for each in points]
    if any(each.flop_per_byte <= 0 or rate <= 0 for each, rate in placed):
        raise ValueError("a point on a roofline needs a positive intensity and a positive rate")
    title = title or f"Roofline of {device.name if isinstance(device, Specification) else 'a GPU'}"
    axes = _fit(roof, placed, height)
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    _draw_axes(canvas, axes)
    _draw_roof(canvas, axes, roof, placed)
    for at, (each, rate) in enumerate(placed):
        _draw_point(canvas, axes, each, rate, at)
    _draw_legend(canvas, axes, placed, roof)
    return canvas.figure(LEFT + WIDTH + MARGIN + 10, axes.bottom + 64 + 22 * len(placed), _alt(title, roof, placed))


def _fit(roof: Roofline, placed: list[tuple[Point, float]], height: float) -> _RooflineAxes:
    """Bounds that hold the ridge and every point, with room around them."""
    intensities = [roof.ridge_flop_per_byte, 0.25, *(each.flop_per_byte for each, _ in placed)]
    x_low = 2.0 ** (math.floor(math.log2(min(intensities))) - 1)
    x_high = 2.0 ** (math.ceil(math.log2(max(intensities))) + 2)
    rates = [roof.peak_gflop_per_s, roof.bandwidth_gb_per_s * x_low, *(rate for _, rate in placed)]
    y_low = 10.0 ** math.floor(math.log10(min(rates)))
    y_high = 10.0 ** math.ceil(math.log10(max(rates) * 1.3))
    return _RooflineAxes(x_low, x_high, y_low, y_high, height)


def _draw_axes(canvas: Canvas, axes: _RooflineAxes) -> None:
    for power in range(round(math.log2(axes.x_low)), round(math.log2(axes.x_high)) + 1):
        x = axes.x(2.0**power)
        canvas.line(x, TOP, x, axes.bottom, LINE, 0.6)
        words = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        canvas.text(x, axes.bottom + 18, words, size=SMALL, anchor="middle")
    for power in range(round(math.log10(axes.y_low)), round(math.log10(axes.y_high)) + 1):
        y = axes.y(10.0**power)
        canvas.line(LEFT, y, LEFT + WIDTH, y, LINE, 0.6)
        canvas.text(LEFT - 8, y + 4, f"{10**power:,}" if power >= 0 else f"{10.0**power}", size=SMALL, anchor="end")
    canvas.rectangle(LEFT, TOP, WIDTH, axes.height, "none", INK, 1)
    below = axes.bottom + 38
    canvas.text(LEFT + WIDTH / 2, below, "arithmetic intensity (FLOP per byte)", size=SMALL, anchor="middle")
    canvas.text(MARGIN + 8, TOP + axes.height / 2, "GFLOP/s", size=SMALL, anchor="middle", turn=-90)


def _draw_roof(canvas: Canvas, axes: _RooflineAxes, roof: Roofline, placed: list[tuple[Point, float]]) -> None:
    ridge, peak = roof.ridge_flop_per_byte, roof.peak_gflop_per_s
    start = max(axes.x_low, axes.y_low / roof.bandwidth_gb_per_s)
    slope = [(axes.x(start), axes.y(roof.bandwidth_gb_per_s * start)), (axes.x(ridge), axes.y(peak))]
    end = (axes.x(axes.x_high), axes.y(peak))
    floor = [(axes.x(axes.x_high), axes.y(axes.y_low)), (axes.x(start), axes.y(axes.y_low))]
    canvas.polygon([*slope, end, *floor], PALER_BLUE)
    canvas.line(*slope[0], *slope[1], INK, 2.5)
    canvas.line(*slope[1], *end, INK, 2.5)
    canvas.line(slope[1][0], slope[1][1], slope[1][0], axes.bottom, QUIET, 1, "4 4")
    angle = math.degrees(math.atan2(slope[1][1] - slope[0][1], slope[1][0] - slope[0][0]))
    middle_x, middle_y = slope[0][0] * 0.45 + slope[1][0] * 0.55, slope[0][1] * 0.45 + slope[1][1] * 0.55
    memory = f"{roof.bandwidth_gb_per_s:,.0f} GB/s"
    canvas.text(middle_x - 6, middle_y - 9, memory, size=SMALL, anchor="middle", turn=round(angle))
    above = end[1] - 8 if end[1] - TOP > 24 else end[1] + 20  # under the ceiling where the frame is too near
    words, right = f"peak {peak:,.0f} GFLOP/s", end[0] - 8
    wide = 0.6 * SMALL * len(words)
    near = [axes.x(each.flop_per_byte) for each, rate in placed if abs(axes.y(rate) - above) < 2 * SMALL]
    if any(right - wide - SMALL < x for x in near):  # a kernel lies where its end of the ceiling is
        right = slope[1][0] + 8 + wide
    canvas.text(right, above, words, size=SMALL, anchor="end")
    canvas.text(slope[1][0] + 6, axes.bottom - 8, f"ridge {ridge:.3g} FLOP/byte", size=SMALL, fill=QUIET)


def _draw_point(canvas: Canvas, axes: _RooflineAxes, point: Point, rate: float, at: int) -> None:
    x, y, colour = axes.x(point.flop_per_byte), axes.y(rate), SERIES[at % len(SERIES)]
    _draw_marker(canvas, x, y, at, colour)
    label = chr(ord("A") + at)
    if at % 2:  # left and right in turn, so that two kernels close together keep their letters
        canvas.text(x - 11, y - 2, label, size=SMALL + 1, bold=True, anchor="end")
    else:
        canvas.text(x + 11, y + 10, label, size=SMALL + 1, bold=True)


def _draw_marker(canvas: Canvas, x: float, y: float, at: int, colour: str) -> None:
    """Points differ in shape as well as in colour."""
    shapes = (
        None,
        [(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)],
        [(x, y - 8), (x + 8, y + 6), (x - 8, y + 6)],
        [(x, y - 8), (x + 8, y), (x, y + 8), (x - 8, y)],
    )
    corners = shapes[at % len(shapes)]
    if corners is None:
        canvas.circle(x, y, 7, colour, INK)
    else:
        canvas.polygon(corners, colour, INK)


def _draw_legend(canvas: Canvas, axes: _RooflineAxes, placed: list[tuple[Point, float]], roof: Roofline) -> None:
    for at, (point, rate) in enumerate(placed):
        y = axes.bottom + 64 + 22 * at
        _draw_marker(canvas, MARGIN + 12, y, at, SERIES[at % len(SERIES)])
        canvas.text(MARGIN + 28, y + 5, f"{chr(ord('A') + at)}  {_label_of(point, rate, roof)}", size=SMALL + 1)


def _label_of(point: Point, rate: float, roof: Roofline) -> str:
    percent = 100 * rate / roof.peak_gflop_per_s
    return f"{point.name}: {point.flop_per_byte:.3g} FLOP/byte, {rate:,.1f} GFLOP/s, {percent:.3g} % of the peak"


def _alt(title: str, roof: Roofline, placed: list[tuple[Point, float]]) -> str:
    words = f"{title}: memory limit {roof.bandwidth_gb_per_s:,.0f} GB/s, peak {roof.peak_gflop_per_s:,.0f} GFLOP/s,"
    words += f" meeting at {roof.ridge_flop_per_byte:.3g} FLOP per byte."
    return " ".join([words, *(f"{_label_of(point, rate, roof)}." for point, rate in placed)])
