"""Colours that stay apart for colour-blind readers: Okabe and Ito, "Color Universal Design" (2008), and four greys."""

from __future__ import annotations

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)

PAPER = "#FFFFFF"  # every figure carries its own card, so that it reads the same on a dark page
INK = "#1A1A1A"
QUIET = "#595959"  # secondary text: 7 to 1 against PAPER
LINE = "#C4C4C4"
IDLE = "#DDDDDD"

PALE_BLUE = "#CFE4F2"
PALER_BLUE = "#E7F1F8"
PALE_ORANGE = "#FBE3B5"


def mix(one: str, other: str, share: float) -> str:
    """The colour `share` of the way (0 to 1) from `one` to `other`, both "#RRGGBB"."""
    channels = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(low + (high - low) * share):02X}" for low, high in channels)


def ink_on(background: str) -> str:
    """Black or white text, whichever reads better on `background` (WCAG relative luminance)."""
    linear = []
    for at in (1, 3, 5):
        channel = int(background[at : at + 2], 16) / 255
        linear.append(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return BLACK if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else PAPER
