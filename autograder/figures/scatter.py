"""Predicted against measured times, one mark a case, on two logarithmic axes; a plainer prediction in grey beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.labels import Box, Labels
from autograder.figures.palette import BLUE, INK, LINE, PALER_BLUE, QUIET, VERMILLION
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure

LEFT, TOP, SIDE = 92, 84, 560  # the square frame, in pixels
UNITS = ((1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"))
NEAR = 0.3  # an error up to which a prediction counts as near


@dataclass(frozen=True)
class Pair:
    """One case: its measured time, the predicted one, and what a plainer model (a roofline) would say."""

    name: str
    measured_ns: float
    predicted_ns: float
    plain_ns: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_ns / self.measured_ns - 1


@dataclass(frozen=True)
class _DiagonalAxes:
    """The same powers of ten on both axes, so that a right prediction lies on the diagonal."""

    low: int
    high: int

    def x(self, ns: float) -> float:
        return LEFT + SIDE * (math.log10(ns) - self.low) / (self.high - self.low)

    def y(self, ns: float) -> float:
        return TOP + SIDE - (self.x(ns) - LEFT)


def scatter(pairs: Sequence[Pair], *, title: str) -> Figure:
    """Draws every pair: on the diagonal where right, blue within `NEAR`, a numbered orange triangle beyond it.

    Raises ValueError for no pairs, or a time that is not positive.
    """
    times = [ns for each in pairs for ns in (each.measured_ns, each.predicted_ns, each.plain_ns)]
    if not times or min(times) <= 0:
        raise ValueError("a scatter plot needs pairs of positive times")
    axes = _DiagonalAxes(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))
    misses = sorted((each for each in pairs if abs(each.error) > NEAR), key=lambda each: -abs(each.error))
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    _draw_frame(canvas, axes)
    for each in pairs:
        _draw_square(canvas, axes.x(each.measured_ns), axes.y(each.plain_ns))
    for each in pairs:
        if abs(each.error) <= NEAR:
            canvas.circle(axes.x(each.measured_ns), axes.y(each.predicted_ns), 4.5, BLUE, INK)
    _draw_misses(canvas, axes, misses, _marks(axes, pairs))
    _draw_key(canvas, len(pairs), len(misses))
    bottom = _list_misses(canvas, misses)
    return canvas.figure(LEFT + SIDE + 40, bottom + 16, _alt(title, pairs, misses))


def _draw_frame(canvas: Canvas, axes: _DiagonalAxes) -> None:
    start, end = 10.0**axes.low, 10.0**axes.high
    right, bottom = LEFT + SIDE, TOP + SIDE
    above, below = 1 + NEAR, 1 - NEAR
    inside = [(LEFT, axes.y(start * above)), (axes.x(end / above), TOP), (right, TOP)]
    inside += [(right, axes.y(end * below)), (axes.x(start / below), bottom), (LEFT, bottom)]
    canvas.polygon(inside, PALER_BLUE)
    for power in range(axes.low, axes.high + 1):
        at_x, at_y = axes.x(10.0**power), axes.y(10.0**power)
        canvas.line(at_x, TOP, at_x, bottom, LINE, 0.6)
        canvas.line(LEFT, at_y, right, at_y, LINE, 0.6)
        canvas.text(at_x, bottom + 18, _ticked(power), size=SMALL, anchor="middle")
        canvas.text(LEFT - 8, at_y + 4, _ticked(power), size=SMALL, anchor="end")
    canvas.line(LEFT, bottom, right, TOP, INK, 1.5)
    canvas.rectangle(LEFT, TOP, SIDE, SIDE, "none", INK, 1)
    canvas.text(LEFT + SIDE / 2, bottom + 40, "measured", size=SMALL + 1, anchor="middle")
    canvas.text(MARGIN + 8, TOP + SIDE / 2, "predicted", size=SMALL + 1, anchor="middle", turn=-90)


def _ticked(power: int) -> str:
    """A power of ten nanoseconds in the unit that people would choose: `100 us`."""
    size, unit = UNITS[max(0, min(power // 3, len(UNITS) - 1))]
    return f"{10.0**power / size:g} {unit}"


def _draw_square(canvas: Canvas, x: float, y: float) -> None:
    canvas.rectangle(x - 3.5, y - 3.5, 7, 7, "none", QUIET, 1.2)


def _draw_triangle(canvas: Canvas, x: float, y: float) -> None:
    canvas.polygon([(x, y - 7), (x + 6.5, y + 5), (x - 6.5, y + 5)], VERMILLION, INK)


def _marks(axes: _DiagonalAxes, pairs: Sequence[Pair]) -> list[tuple[float, float]]:
    """Where squares, circles and triangles lie."""
    return [(axes.x(each.measured_ns), axes.y(ns)) for each in pairs for ns in (each.plain_ns, each.predicted_ns)]


def _draw_misses(
    canvas: Canvas, axes: _DiagonalAxes, misses: Sequence[Pair], marks: Sequence[tuple[float, float]]
) -> None:
    """Triangles with their numbers, one label for those that lie upon each other."""
    groups: list[tuple[float, float, list[str]]] = []
    for at, each in enumerate(misses):
        x, y = axes.x(each.measured_ns), axes.y(each.predicted_ns)
        _draw_triangle(canvas, x, y)
        near = [group for group in groups if math.hypot(group[0] - x, group[1] - y) < 16]
        if near:
            near[0][2].append(f"{at + 1}")
        else:
            groups.append((x, y, [f"{at + 1}"]))
    labels = Labels(marks, Box(LEFT, TOP, LEFT + SIDE, TOP + SIDE))
    for x, y, numbers in groups:
        words = ", ".join(numbers)
        canvas.text(*labels.place((x, y), words), words, size=SMALL, bold=True)


def _draw_key(canvas: Canvas, total: int, misses: int) -> None:
    percent = f"{100 * NEAR:.0f} %"
    canvas.circle(MARGIN + 6, 54, 4.5, BLUE, INK)
    canvas.text(MARGIN + 18, 58, f"within {percent} ({total - misses} of {total})", size=SMALL)
    _draw_triangle(canvas, 232, 54)
    canvas.text(245, 58, f"further off ({misses})", size=SMALL)
    _draw_square(canvas, 388, 54)
    canvas.text(400, 58, "the roofline alone, same cases", size=SMALL)


def _list_misses(canvas: Canvas, misses: Sequence[Pair]) -> float:
    """The numbered cases in words, in two columns; returns the bottom edge."""
    top, rows = TOP + SIDE + 70, (len(misses) + 1) // 2
    for at, each in enumerate(misses):
        x, y = MARGIN + at // max(1, rows) * 340, top + at % max(1, rows) * 19
        canvas.text(x, y, f"{at + 1}  {each.name}: {each.error:+.0%}".replace("%", " %"), size=SMALL)
    return top + rows * 19 - (0 if misses else 20)


def _alt(title: str, pairs: Sequence[Pair], misses: Sequence[Pair]) -> str:
    def far(values: list[float]) -> str:
        return f"{sum(abs(value - 1) > NEAR for value in values)}"

    plainly = far([each.plain_ns / each.measured_ns for each in pairs])
    words = f"{title}: {len(pairs)} cases from {min(each.measured_ns for each in pairs) / 1e3:.3g} us to "
    words += f"{max(each.measured_ns for each in pairs) / 1e6:.3g} ms; {len(misses)} predictions are more than "
    words += f"{100 * NEAR:.0f} % off, of the roofline's {plainly}."
    worst = "; ".join(f"{each.name} {each.error:+.0%}".replace("%", " %") for each in misses[:3])
    return words + (f" The furthest: {worst}." if misses else "")
