"""Values into words: counts, ratios, times and whatever a student typed, ready to be shown to people."""

from __future__ import annotations

import math
import numbers
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

# What a spreadsheet may take for a formula, full-width forms included:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
LINE_LIMIT = 200  # characters of one source line that a report shows
MESSAGE_LIMIT = 2_000  # characters of one message

# Control characters move a terminal's cursor, bidirectional overrides reorder what follows them on the screen
# (CVE-2021-42574), and lone surrogates cannot be encoded: all three are written out instead of obeyed.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""`text` with control characters, text-direction overrides and lone surrogates spelled out (`\x1b`, `\u202e`)."""

    def spelled(match: re.Match[str]) -> str:
        code = ord(match.group())
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

    return _UNPRINTABLE.sub(spelled, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` on one line of at most `limit` characters, safe to print."""
    return shortened(" ".join(visible(text).split()), limit)


def neutral(cell: str, limit: int = MESSAGE_LIMIT) -> str:
    """`cell` on one line of at most `limit` characters, an apostrophe before it where a spreadsheet would read a formula."""
    starts_like_a_formula = cell.startswith(_FORMULA_STARTS) or cell.lstrip().startswith(_FORMULA_STARTS)
    plain = one_line(cell, limit)
    return f"'{plain}" if starts_like_a_formula else plain


def as_copied(name: str) -> str:
    """A name as it can be compared with one that somebody copied from a page or a table, or typed: on one line, without the
    apostrophe of `neutral`, and however accents are put together."""
    shown = unicodedata.normalize("NFC", one_line(name))
    return shown[1:] if shown[:1] == "'" and shown[1:].startswith(_FORMULA_STARTS) else shown


def shortened(text: str, limit: int = LINE_LIMIT) -> str:
    """`text`, or its beginning and how many characters are not shown."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def display_width(text: str) -> int:
    """Columns that `text` takes in a terminal: two a wide East Asian character or emoji, none a combining mark."""
    return sum(_columns(character) for character in text)


def clipped(text: str, width: int) -> str:
    """`text` in at most `width` terminal columns, a cut one ending in `~`."""
    if display_width(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "~"


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def points_text(points: float) -> str:
    """Points as people write them: `3`, `2.5`; at most two decimals."""
    if not math.isfinite(points):
        return "?"
    return f"{points:.2f}".rstrip("0").rstrip(".")


def earned_text(points: float, bonus: float) -> str:
    """Points of which some are bonus, as people read them, `22 + 3 bonus`: no bonus makes up for a failed check."""
    rest = points_text(round(points - bonus, 6))
    return f"{rest} + {points_text(bonus)} bonus" if bonus else rest


def count_text(count: float) -> str:
    """A count with its thousands set apart (`8,912,896`), a ratio with two decimals."""
    if isinstance(count, numbers.Integral):
        return f"{int(count):,}"
    return f"{float(count):,.2f}"


def ratio_text(ratio: float) -> str:
    """A speed ratio: two decimals, fewer where they say nothing."""
    if not math.isfinite(ratio):
        return "unknown"
    return f"{ratio:.2f}" if abs(ratio) < 100 else f"{ratio:,.0f}"


def duration_text(nanoseconds: float) -> str:
    """A time in the unit that keeps it between 1 and 1,000: `1.66 ms`."""
    if not math.isfinite(nanoseconds):
        return "unknown"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {unit}" if abs(nanoseconds) < 1e12 else f"{nanoseconds / size:.0f} s"
    return f"{nanoseconds:.3g} ns"


def element_text(value: Any) -> str:
    """One array element: seven significant digits (float32 has no more to say), `nan` and `inf` by name."""
    if isinstance(value, (bool, str)) or not isinstance(value, numbers.Real):
        return one_line(str(value), 40)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return f"{float(value):.7g}"


def pair_text(expected: Any, got: Any) -> tuple[str, str]:
    """Two elements that differ, with as many digits as it takes to see it; an integer that is NaN was never written."""
    if isinstance(expected, numbers.Integral) and isinstance(got, float) and math.isnan(got):
        return element_text(expected), "nothing"
    short = element_text(expected), element_text(got)
    if short[0] != short[1] or not isinstance(expected, numbers.Real) or not isinstance(got, numbers.Real):
        return short
    return f"{float(expected):.17g}", f"{float(got):.17g}"


def index_text(array: str, index: tuple[int, ...]) -> str:
    """An element as Python names it: `c[3, 4]`; a single number is no element, and has its name alone."""
    name = clipped(one_line(array), 40)
    return f"{name}[{', '.join(str(int(part)) for part in index)}]" if index else name


_UNITS = (("_gb_per_s", "GB/s"), ("_bytes", "bytes"), ("_cycles", "cycles"), ("_percent", "%"))


def measured_text(name: str, value: Any) -> tuple[str, str]:
    """One of a check's numbers in words: its name without underscores or unit, and its value with the unit."""
    if name.endswith("_ns") and isinstance(value, numbers.Real):
        return name[:-3].replace("_", " "), duration_text(float(value))
    for ending, unit in _UNITS:
        if name.endswith(ending):
            return name[: -len(ending)].replace("_", " "), f"{_value_text(value)} {unit}"
    return name.replace("_", " "), _value_text(value)


def _value_text(value: Any) -> str:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    if isinstance(value, numbers.Real):
        return f"{float(value):,.4g}" if not 1e3 <= abs(float(value)) < math.inf else f"{float(value):,.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{one_line(str(key), 60)}: {_value_text(each)}" for key, each in list(value.items())[:12])
    if isinstance(value, (tuple, list)):
        return ", ".join(_value_text(each) for each in value[:12]) + (", ..." if len(value) > 12 else "")
    return one_line(str(value), 300)
