"""What a test looks for in a text, which must be there."""

from __future__ import annotations

import re


def found(pattern: str | re.Pattern[str], text: str, flags: int = 0) -> re.Match[str]:
    """The first place that fits; fails the test, with the pattern, where there is none."""
    match = re.search(pattern, text, flags)
    assert match is not None, f"nothing fits {pattern!r} in {text[:200]!r}"
    return match
