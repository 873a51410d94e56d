"""The drawing board: `Canvas` collects SVG shapes, `Figure` is the picture that notebooks, reports and slides show."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from autograder.figures.palette import INK, LINE, PAPER

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
SMALL, NORMAL, TITLE = 12, 13, 15  # text sizes in pixels; nothing is ever smaller than SMALL
MARGIN = 16
Anchor = Literal["start", "middle", "end"]
_SHRINKS = "max-width:100%;height:auto"


@dataclass(frozen=True)
class Figure:
    """A finished picture: SVG text, and alt text that says in words what the picture shows."""

    svg: str
    alt: str

    def at_width(self, width: float) -> Figure:
        """The same picture, shown `width` pixels wide: a slide's on a page, its text smaller by as much."""
        was = re.search(r'width="([\d.]+)" height="([\d.]+)"', self.svg)
        assert was is not None  # each picture says how large it is
        size = f'width="{number(width)}" height="{number(float(was[2]) * width / float(was[1]))}"'
        return Figure(re.sub(r'width="[\d.]+" height="[\d.]+"', size, self.svg, count=1), self.alt)

    @property
    def img(self) -> str:
        """The picture as an HTML image, never wider than its page: it needs no trust, and its alt text is read out."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.alt)}" style="{_SHRINKS}" src="data:image/svg+xml;base64,{data}">'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """HTML alone: JupyterLab draws no image/svg+xml in a notebook that was not run here, and gives it no alt."""
        return {"text/html": self.img, "text/plain": self.alt}

    def __str__(self) -> str:
        return self.alt


def number(value: float) -> str:
    """A coordinate with at most two decimals and no trailing zeros, so that bytes agree on every platform."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


class Canvas:
    """Shapes in drawing order, in pixels from the top left corner; `figure` puts them on a light card of its own."""

    def __init__(self) -> None:
        self._shapes: list[str] = []

    def rectangle(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        stroke: str = "",
        thickness: float = 1,
    ) -> None:
        outline = f' stroke="{stroke}" stroke-width="{number(thickness)}"' if stroke else ""
        size = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self._shapes.append(f'<rect {size} fill="{fill}"{outline}/>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = INK, thickness: float = 1, dashes: str = ""
    ) -> None:
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._shapes.append(f'<line {ends} stroke="{stroke}" stroke-width="{number(thickness)}"{dashed}/>')

    def curve(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        rise: float,
        stroke: str = INK,
        thickness: float = 1,
        arrow: float = 0,
    ) -> None:
        """An arc whose middle lies `rise` pixels above its ends' middle; `arrow` is the size of the head at its end."""
        (x1, y1), (x2, y2) = start, end
        bend = ((x1 + x2) / 2, (y1 + y2) / 2 - 2 * rise)
        path = f"M{number(x1)} {number(y1)}Q{number(bend[0])} {number(bend[1])} {number(x2)} {number(y2)}"
        self._shapes.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{number(thickness)}"/>')
        if arrow:
            length = math.hypot(x2 - bend[0], y2 - bend[1]) or 1.0
            along, up = (x2 - bend[0]) / length * arrow, (y2 - bend[1]) / length * arrow
            wings = [(x2 - along - side * up / 2, y2 - up + side * along / 2) for side in (1, -1)]
            self.polygon([(x2, y2), *wings], stroke)

    def boxes(
        self, boxes: list[tuple[float, float, float, float]], fill: str, stroke: str = "", thickness: float = 1
    ) -> None:
        """Many rectangles (x, y, width, height) of one colour as one shape, which takes a fifth of their bytes."""
        corners = (f"M{number(x)} {number(y)}h{number(w)}v{number(h)}h{number(-w)}z" for x, y, w, h in boxes)
        outline = f' stroke="{stroke}" stroke-width="{number(thickness)}"' if stroke else ""
        self._shapes.append(f'<path d="{"".join(corners)}" fill="{fill}"{outline}/>')

    def polygon(self, points: list[tuple[float, float]], fill: str, stroke: str = "none") -> None:
        corners = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._shapes.append(f'<polygon points="{corners}" fill="{fill}" stroke="{stroke}"/>')

    def circle(self, x: float, y: float, radius: float, fill: str, stroke: str = "none") -> None:
        place = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
        self._shapes.append(f'<circle {place} fill="{fill}" stroke="{stroke}"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = NORMAL,
        anchor: Anchor = "start",
        fill: str = INK,
        bold: bool = False,
        turn: int = 0,
        mono: bool = False,
    ) -> None:
        """One line of text; `y` is its baseline and `turn` its rotation in degrees."""
        style = f'font-size="{max(size, SMALL)}" text-anchor="{anchor}" fill="{fill}"'
        style += ' font-weight="bold"' if bold else ""
        style += " font-family=\"Menlo, Consolas, 'DejaVu Sans Mono', monospace\"" if mono else ""
        style += f' transform="rotate({turn} {number(x)} {number(y)})"' if turn else ""
        self._shapes.append(f'<text x="{number(x)}" y="{number(y)}" {style}>{escape(words, quote=False)}</text>')

    def key(self, x: float, y: float, entries: list[tuple[str, str]]) -> float:
        """A row of colour squares with their meaning, left to right; returns the x where the row ends."""
        for fill, words in entries:
            self.rectangle(x, y - 11, 13, 13, fill, LINE)
            self.text(x + 19, y, words, size=SMALL)
            x += 19 + text_width(words, SMALL) + 22
        return x

    def figure(self, width: float, height: float, alt: str) -> Figure:
        """The card, the shapes, and the alt text; the picture shrinks with a narrow page and never grows."""
        w, h = number(width), number(height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" '
            f'aria-label="{escape(alt)}" font-family="{FONT}" style="{_SHRINKS}">'
        )
        card = f'<rect x="0.5" y="0.5" width="{number(width - 1)}" height="{number(height - 1)}" rx="8" '
        card += f'fill="{PAPER}" stroke="{LINE}"/>'
        title = f"<title>{escape(alt, quote=False)}</title>"
        text = "\n".join([head, title, card, *self._shapes, "</svg>"])
        return Figure(text.encode("ascii", "xmlcharrefreplace").decode(), alt)  # safe in a page of any encoding


def text_width(words: str, size: int = NORMAL) -> float:
    """Roughly how wide `words` will be, in pixels (Helvetica's average advance; errs on the wide side)."""
    return len(words) * size * 0.56


def plural(count: int, noun: str) -> str:
    """`1 block`, `6 blocks`, `1,016,064 threads`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
