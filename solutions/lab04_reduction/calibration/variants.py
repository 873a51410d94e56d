"""Lab 4's tree in other shapes of launch, for `python -m autograder.grading.known_answers lab04_reduction`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAUNCHES = ((128, 2112), (256, 264), (256, 528), (256, 2112), (512, 528), (1024, 132))  # threads, blocks at most


def variants() -> Iterator[tuple[str, str]]:
    """A name and its source: the tree by halves in each launch, and the baseline in wider blocks."""
    tree = (HERE.parent / "right" / "halves_of_any_width.py").read_text(encoding="utf-8")
    for threads, blocks in LAUNCHES:
        launch = tree.replace("THREADS = 256", f"THREADS = {threads}").replace("BLOCKS = 1056", f"BLOCKS = {blocks}")
        yield f"halves, {blocks} blocks of {threads}", launch
    baseline = HERE.parents[2] / "labs" / "lab04_reduction" / "baseline.py"
    yield "baseline, blocks of 512", baseline.read_text(encoding="utf-8").replace("THREADS = 256", "THREADS = 512")
