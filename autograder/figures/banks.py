"""Shared memory bank by bank: where a warp's elements lie, and how long the queue at each bank gets."""

from __future__ import annotations

from autograder.figures.palette import BLUE, IDLE, INK, LINE, PALE_BLUE, PALER_BLUE, PAPER, QUIET, VERMILLION, mix
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Access

BANKS, WORD_BYTES = 32, 4
_LEFT, _TOP, _TALL = 110.0, 88.0, 300.0


def words_by_bank(access: Access) -> dict[int, dict[int, int]]:
    """The distinct words that a warp wants, by bank: {bank: {word: first lane}}; words are counted from the start."""
    found: dict[int, dict[int, int]] = {}
    for lane, address in enumerate(int(each) for each in access.addresses):
        if address >= 0:
            word = address // WORD_BYTES
            found.setdefault(word % BANKS, {}).setdefault(word, lane)
    return found


def wavefronts(access: Access) -> int:
    """Passes through shared memory that one access of 4-byte elements takes: the longest queue at a bank."""
    return max((len(words) for words in words_by_bank(access).values()), default=0)


def bank_map(access: Access) -> Figure:
    """A 2-D shared array as the banks hold it, a column a bank, with the words of one access and the queues below.

    Raises ValueError unless the array has two dimensions and elements of 4 bytes.
    """
    if len(access.shape) != 2 or access.itemsize != WORD_BYTES:
        raise ValueError("bank_map draws a 2-D shared array of 4-byte elements")
    rows, columns = access.shape
    words = rows * columns
    lines = (words + BANKS - 1) // BANKS
    across, down = (WIDTH - _LEFT - 40) / BANKS, _TALL / lines
    canvas = Canvas()
    title = f"{access.array}: {rows} rows of {columns} elements"
    canvas.text(_LEFT, 40, title, size=LARGE, bold=True)
    canvas.text(_LEFT - 14, 80, "bank", size=LEAST, anchor="end")
    queues = words_by_bank(access)
    longest = wavefronts(access)
    lanes = {word: lane for each in queues.values() for word, lane in each.items()}
    for word in range(words):
        line, bank = divmod(word, BANKS)
        padding = columns > BANKS and word % columns >= BANKS
        fill = IDLE if padding else PALER_BLUE if word // columns % 2 else PAPER
        if word in lanes:
            fill = VERMILLION if longest > 1 else mix(PALE_BLUE, BLUE, 0.3 + 0.7 * lanes[word] / 31)
        canvas.rectangle(_LEFT + bank * across, _TOP + line * down, across, down, fill, LINE, 0.5)
    canvas.rectangle(_LEFT, _TOP, BANKS * across, _TALL, "none", INK, 1.5)
    _draw_queues(canvas, queues, across, longest)
    asked = sum(int(each) >= 0 for each in access.addresses)
    said = f"{plural(asked, 'lane')}, {plural(len(queues), 'bank')}: {plural(longest, 'wavefront')}"
    canvas.text(_LEFT, 516, said, size=LARGE, bold=True, fill=VERMILLION if longest > 1 else INK)
    if columns > BANKS:
        canvas.rectangle(WIDTH - 330, 496, 22, 22, IDLE, INK, 1)
        canvas.text(WIDTH - 298, 515, "padding, never used", size=LEAST)
    return canvas.figure(WIDTH, HEIGHT, f"{title}, as the banks hold them. {said}.")


def _draw_queues(canvas: Canvas, queues: dict[int, dict[int, int]], across: float, longest: int) -> None:
    """The number of each fourth bank above, and below each bank how many words the warp wants of it."""
    bottom = _TOP + _TALL + 18
    canvas.text(_LEFT - 14, bottom + 27, "wanted", size=LEAST, anchor="end")
    for bank in range(BANKS):
        middle = _LEFT + (bank + 0.5) * across
        if bank % 4 == 0:
            canvas.text(middle, 80, f"{bank}", size=LEAST, anchor="middle", fill=QUIET)
        wanted = len(queues.get(bank, {}))
        worst = wanted == longest > 1
        fill = VERMILLION if worst else PALE_BLUE if wanted else PAPER
        canvas.rectangle(_LEFT + bank * across, bottom, across, 38, fill, LINE, 1)
        if wanted:
            canvas.text(
                middle, bottom + 27, f"{wanted}", size=LEAST, anchor="middle", bold=worst, fill=PAPER if worst else INK
            )
