"""More to time in lab 2: the baseline's loop as a `while`, which compiles to fewer instructions; what stands in
`long_loops/`, tiles of 32 whose inner loop is too long to be written out; and in `dynamic/`, tiles in a dynamic array."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE.parents[2] / "labs" / HERE.parent.name / "baseline.py"
FOR = "        for i in range(a.shape[1]):\n            total += a[row, i] * b[i, col]\n"
WHILE = "        i = 0\n        while i < a.shape[1]:\n            total += a[row, i] * b[i, col]\n            i += 1\n"


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source."""
    yield "naive loops/while", BASELINE.read_text(encoding="utf-8").replace(FOR, WHILE)
    for path in sorted(HERE.glob("*/*.py")):
        yield f"{path.parent.name}/{path.stem}", path.read_text(encoding="utf-8")
