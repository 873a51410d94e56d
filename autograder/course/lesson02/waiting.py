"""Warps that wait for each other, and blocks that fit beside each other, for the front of the room, as in `steps.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.palette import BLUE, GREEN, IDLE, INK, LINE, PALE_BLUE, PALE_ORANGE, PAPER, QUIET, VERMILLION
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.perfmodel import Specification, occupancy

# An example: how long four warps take to fill and to read their tiles in two phases. Real ones differ from run to run.
FILL = ((2, 5, 3, 2), (2, 3, 2, 4))
READ = ((4, 4, 3, 7), (4, 3, 4, 3))


@dataclass(frozen=True)
class Span:
    """What one warp does from `begin` to `end`, in units of the example: "fill" or "read" the tiles of one phase."""

    warp: int
    phase: int
    kind: str
    begin: int
    end: int


def schedule(first: bool, second: bool) -> list[Span]:
    """When each warp of the example fills and reads, with or without the first and the second barrier of a phase."""
    spans: list[Span] = []
    clocks = [0] * len(FILL[0])
    for phase, (fill, read) in enumerate(zip(FILL, READ, strict=True)):
        for kind, lengths, barrier in (("fill", fill, first), ("read", read, second)):
            for warp, length in enumerate(lengths):
                spans.append(Span(warp, phase, kind, clocks[warp], clocks[warp] + length))
                clocks[warp] += length
            clocks = [max(clocks)] * len(clocks) if barrier else clocks
    return spans


def too_early(spans: Sequence[Span]) -> list[tuple[Span, int]]:
    """The spans that begin before others are done with the same tiles, each with the time when the others are done.

    A warp may read a phase once all have filled it, and fill the next one once all have read.
    """
    early = []
    for span in spans:
        kind, phase = ("fill", span.phase) if span.kind == "read" else ("read", span.phase - 1)
        others = [each.end for each in spans if (each.kind, each.phase) == (kind, phase) and each.warp != span.warp]
        if others and max(others) > span.begin:
            early.append((span, max(others)))
    return early


def barriers(first: bool = True, second: bool = True) -> list[Figure]:
    """Four warps through two phases: step by step with both barriers; without one, the order and then its races."""
    spans = schedule(first, second)
    if not too_early(spans):
        stages = [(phase, kind) for phase in range(len(FILL)) for kind in ("fill", "read")]
        shown = [[each for each in spans if (each.phase, each.kind) in stages[: at + 1]] for at in range(len(stages))]
        return [_timeline(each, first, second, False) for each in shown]
    return [_timeline(spans, first, second, races) for races in (False, True)]


def _timeline(spans: Sequence[Span], first: bool, second: bool, races: bool) -> Figure:
    canvas = Canvas()
    left, top, row, unit = 130, 90, 76, (WIDTH - 170) / 21
    fills = {("fill", 0): PALE_BLUE, ("read", 0): PALE_ORANGE, ("fill", 1): BLUE, ("read", 1): GREEN}
    for warp in range(len(FILL[0])):
        canvas.text(left - 16, top + warp * row + 40, f"warp {warp}", size=LEAST, anchor="end")
        canvas.rectangle(left, top + warp * row + 4, 21 * unit, row - 16, "none", LINE, 1)
    for span in spans:
        x, y, fill = left + span.begin * unit, top + span.warp * row + 4, fills[span.kind, span.phase]
        canvas.rectangle(x, y, (span.end - span.begin) * unit, row - 16, fill, INK, 1.5)
        words = f"{span.kind} {span.phase}"
        ink = PAPER if fill in (BLUE, GREEN) else INK
        canvas.text(x + (span.end - span.begin) * unit / 2, y + 38, words, size=LEAST, anchor="middle", fill=ink)
    for kind, there, name in (("fill", first, "first"), ("read", second, "second")):
        for phase in range(len(FILL)):
            ends = [each.end for each in spans if (each.kind, each.phase) == (kind, phase)]
            if there and ends:
                x = left + max(ends) * unit
                canvas.line(x, top - 22, x, top + 4 * row, INK, 5)
                canvas.text(x, top - 32, name, size=LEAST, anchor="middle", bold=True)
    early = too_early(spans) if races else []
    for span, until in early:
        x, y = left + span.begin * unit, top + span.warp * row + row - 14
        canvas.rectangle(x, y, (min(until, span.end) - span.begin) * unit, 14, VERMILLION, INK, 1)
    said = _summary(spans, early, first, second)
    canvas.text(left, top + 4 * row + 52, said, size=LARGE, bold=True, fill=VERMILLION if early else INK)
    canvas.text(left, top + 4 * row + 96, "time runs to the right; one possible order", size=LEAST, fill=QUIET)
    return canvas.figure(WIDTH, HEIGHT, f"Four warps fill and read the tiles of two phases. {said}.")


def _summary(spans: Sequence[Span], early: Sequence[tuple[Span, int]], first: bool, second: bool) -> str:
    if early:
        reads = sum(span.kind == "read" for span, _ in early)
        if reads:
            return f"{plural(reads, 'read')} begin before the tiles are full"
        return f"{plural(len(early), 'warp')} fill tiles that another still reads"
    if not (first and second):
        return f"without the {'second' if first else 'first'} barrier nobody waits there"
    kind, phase = spans[-1].kind, spans[-1].phase
    return (
        f"all wait until the tiles of phase {phase} are full" if kind == "fill" else "all wait until everyone is done"
    )


def multiprocessor(gpu: Specification, launches: Sequence[tuple[str, int, int, int]]) -> list[Figure]:
    """A frame for each launch (words, threads a block, shared bytes a block, registers a thread): the blocks that fit.

    Two strips are filled block by block, the room for threads and the shared memory; what runs out first stands out.
    """
    return [_multiprocessor(gpu, *launch) for launch in launches]


def _multiprocessor(gpu: Specification, words: str, threads: int, shared_bytes: int, registers: int) -> Figure:
    canvas = Canvas()
    fit = occupancy(gpu, threads, shared_bytes, registers)
    left, length = 60, WIDTH - 120
    canvas.text(left, 50, words, size=LARGE, bold=True)
    taken = shared_bytes + gpu.shared_reserved_bytes_per_block
    strips = (
        ("threads", f"room for {gpu.max_threads:,} threads; a block takes {threads:,}", threads / gpu.max_threads),
        (
            "shared memory",
            f"{gpu.shared_bytes // 1024:,} KiB of shared memory; a block takes {taken / 1024:.1f}",
            taken / gpu.shared_bytes,
        ),
    )
    for at, (name, said, share) in enumerate(strips):
        y = 120 + 160 * at
        canvas.text(left, y - 12, said, size=LEAST, bold=fit.limit == name)
        canvas.rectangle(left, y, length, 76, IDLE, INK, 2)
        for block in range(fit.blocks):
            fill = BLUE if name == "threads" else GREEN
            canvas.rectangle(left + block * share * length, y, share * length, 76, fill, PAPER, 2)
        canvas.rectangle(
            left, y, length, 76, "none", VERMILLION if fit.limit == name else INK, 6 if fit.limit == name else 2
        )
    said = f"{plural(fit.blocks, 'block')}, {fit.warps} of {fit.max_warps} warps: occupancy {fit.ratio:.0%}"
    canvas.text(left, 430, said, size=34, bold=True)
    canvas.text(left, 476, f"{fit.limit}: no room for one more block", size=LARGE, fill=VERMILLION)
    leave = "leaves" if fit.limit == "shared memory" else "leave"
    return canvas.figure(WIDTH, HEIGHT, f"{words}: {said}; {fit.limit} {leave} no room for one more block.")
