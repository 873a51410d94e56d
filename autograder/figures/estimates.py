"""An estimate as people see it: the roofline with the kernel on it, and the time each resource needs as bars."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape

from autograder.figures.bars import bars
from autograder.figures.palette import BLUE, VERMILLION
from autograder.figures.roofline import Point, roofline
from autograder.figures.svg import Figure
from autograder.perfmodel import SPECIFICATIONS, Estimate, Specification

HEIGHT = 260  # of the roofline's frame, in pixels
LEAST_SHARE = 0.01  # of the largest bar; shorter ones are not drawn


def resource_bars(estimate: Estimate, title: str = "") -> Figure:
    """Each resource's own time, the longest first: the one that binds stands out."""
    unit, size = next(((unit, size) for unit, size in (("ms", 1e6), ("us", 1e3)) if estimate.ns >= size), ("ns", 1.0))
    values = {name: ns / size for name, ns in estimate.largest(LEAST_SHARE)}
    largest = max(values.values())
    return bars(
        values,
        title=title or f"Time that each resource needs, {estimate.specification}",
        unit=unit,
        places=0 if largest >= 100 else 1 if largest >= 10 else 2,
        colours={name: VERMILLION if name == estimate.binding else BLUE for name in values},
    )


def kernel_on_roofline(estimate: Estimate, name: str = "this kernel") -> Figure | None:
    """The kernel's rate under its GPU's roof; None where it computes nothing in floating point, or moves nothing."""
    specification = _specification(estimate)
    if specification is None or not estimate.operations or not estimate.dram_bytes:
        return None
    point = Point(name, estimate.operations / estimate.dram_bytes, estimate.operations / estimate.ns)
    return roofline(specification, [point], f"Roofline of the {specification.name}", height=HEIGHT)


def _specification(estimate: Estimate) -> Specification | None:
    return next((each for each in SPECIFICATIONS.values() if each.name == estimate.specification), None)


@dataclass(frozen=True)
class PicturedEstimate(Estimate):
    """An `Estimate` that a notebook shows in words and pictures, and a terminal as text."""

    kernel: str = "this kernel"

    @classmethod
    def of(cls, estimate: Estimate, kernel: str) -> PicturedEstimate:
        """The same estimate, for the kernel of this name."""
        return cls(**{each.name: getattr(estimate, each.name) for each in fields(Estimate)}, kernel=kernel)

    __repr__ = __str__ = Estimate.__str__

    def _repr_html_(self) -> str:
        lines = str(self).splitlines()
        pictures = [kernel_on_roofline(self, self.kernel), resource_bars(self)]
        words = f"<b>{escape(lines[0])}</b> {escape(lines[1].strip())} {escape(lines[2].strip())}"
        assumed = "; ".join(escape(each) for each in self.assumptions)
        drawn = "".join(f"<div>{each.img}</div>" for each in pictures if each is not None)
        return f"<div><p>{words}</p>{drawn}<p><small>Assumed: {assumed}.</small></p></div>"
