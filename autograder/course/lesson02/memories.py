"""The five memories that a kernel can use: who sees each, how long it lives, and how often one launch went there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograder.figures.palette import BLUE, GREEN, INK, LINE, ORANGE, PALER_BLUE, PAPER, PURPLE, QUIET, VERMILLION, mix
from autograder.figures.svg import MARGIN, NORMAL, SMALL, TITLE, Canvas, Figure, plural
from autograder.records.counters import Counters, LineProfile

_WIDTH, _BLOCK_WIDTH = 760, 340
_TONE = 0.35  # how much of a memory's colour its box takes, so that black text reads on it


def requests(counters: Counters) -> dict[str, int]:
    """What one line or one launch asked of each memory, loads and stores together: what `memories` draws."""
    return {
        "global": counters.global_load_requests + counters.global_store_requests,
        "shared": counters.shared_load_requests + counters.shared_store_requests,
        "local": counters.local_load_requests + counters.local_store_requests,
        "constant": counters.constant_load_requests,
    }


def requests_by_line(lines: Iterable[LineProfile]) -> str:
    """A profile's lines of source, with what each asked of the four memories in front of it; nothing where it is 0."""
    counted = [(requests(each.counters).values(), each.text) for each in lines]
    rows = ["".join(f"{count or '':>6} " for count in counts) + f" {text}" for counts, text in counted]
    return "\n".join(["global shared  local  const.", *(row.rstrip() for row in rows)])


def memories(requests: Mapping[str, int], *, blocks: int, title: str) -> Figure:
    """Draws the memories around the blocks and threads that see them, each with the requests that were counted there.

    `requests` counts "global", "shared", "local" and "constant", loads and stores together; KeyError if one is missing.
    """
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    top = 46
    canvas.rectangle(MARGIN, top, _WIDTH, 330, PAPER, INK, 1.5)
    words = f"the grid: {plural(blocks, 'block')}, two of them drawn"
    canvas.text(MARGIN + 12, top + 20, words, size=SMALL)
    words = f"requests in all blocks: shared memory {requests['shared']:,}, local {requests['local']:,}, registers none"
    canvas.text(MARGIN + _WIDTH - 20, top + 20, words, size=SMALL, anchor="end")
    for number in range(2):
        _draw_block(canvas, number, MARGIN + 20 + number * (_BLOCK_WIDTH + 40), top + 34)
    below = top + 246
    _box(canvas, MARGIN + 20, below, 440, 64, BLUE, "global memory", _requests_text(requests["global"]))
    canvas.text(MARGIN + 32, below + 56, "all threads, every launch, until it is freed", size=SMALL)
    _box(canvas, MARGIN + 480, below, 260, 64, ORANGE, "constant memory", _requests_text(requests["constant"]))
    canvas.text(MARGIN + 492, below + 56, "all threads, read only", size=SMALL)
    words = "; ".join(f"{name} memory {_requests_text(each)}" for name, each in requests.items())
    alt = f"{title}. A thread has registers and local memory of its own, a block has shared memory, the grid has "
    return canvas.figure(_WIDTH + 2 * MARGIN, top + 346, f"{alt}global and constant memory. Counted requests: {words}.")


def _requests_text(requests: int) -> str:
    return plural(requests, "request")


def _box(canvas: Canvas, x: float, y: float, width: float, height: float, colour: str, name: str, words: str) -> None:
    canvas.rectangle(x, y, width, height, mix(PAPER, colour, _TONE), INK, 1)
    canvas.text(x + 12, y + 20, name, size=NORMAL, bold=True)
    canvas.text(x + 12, y + 38, words, size=SMALL)


def _draw_block(canvas: Canvas, number: int, x: float, y: float) -> None:
    """One block: its threads, each with registers and local memory, and the shared memory below them."""
    canvas.rectangle(x, y, _BLOCK_WIDTH, 196, PALER_BLUE, INK, 1.5)
    canvas.text(x + 12, y + 18, f"block {number}", bold=True)
    canvas.text(
        x + _BLOCK_WIDTH - 12, y + 18, "its threads and memory die with it", size=SMALL, anchor="end", fill=QUIET
    )
    for thread in range(3):
        left = x + 12 + thread * 108
        canvas.rectangle(left, y + 28, 100, 90, PAPER, LINE)
        canvas.text(left + 8, y + 44, f"thread {thread}" if thread < 2 else "thread ...", size=SMALL)
        for at, (name, colour) in enumerate((("registers", GREEN), ("local", PURPLE))):
            canvas.rectangle(left + 8, y + 52 + at * 32, 84, 27, mix(PAPER, colour, _TONE), INK, 0.8)
            canvas.text(left + 50, y + 70 + at * 32, name, size=SMALL, anchor="middle")
    canvas.rectangle(x + 12, y + 126, 316, 60, mix(PAPER, VERMILLION, _TONE), INK, 1)
    canvas.text(x + 24, y + 146, "shared memory", bold=True)
    canvas.text(x + 24, y + 170, "all threads of this block", size=SMALL)
