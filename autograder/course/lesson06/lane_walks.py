"""How long each lane of a warp works and waits, a bar a lane, in the size of a page (for slides: `costs.warp_walk`)."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.figures.palette import GREEN, IDLE, INK, LINE, QUIET, VERMILLION
from autograder.figures.svg import MARGIN, SMALL, TITLE, Canvas, Figure

LANE, TALL, TOP = 20, 150, 77  # pixels: a lane's share of the width, the longest bar, where bars begin
WARP_LANES = 32


def lane_walks(lengths: Sequence[int], *, title: str) -> Figure:
    """Draws how many nodes each lane of one warp walks, and how long it then waits for the longest walk.

    Raises ValueError unless there are 1 to 32 lengths, one of them above zero.
    """
    walked = [int(each) for each in lengths]
    if not 1 <= len(walked) <= WARP_LANES or not any(walked):
        raise ValueError(f"a warp has 1 to {WARP_LANES} lanes, one of them with something to do")
    canvas, longest = Canvas(), max(walked)
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    said = f"average {sum(walked) / len(walked):.1f} nodes, longest {longest}; "
    said += f"{sum(walked) / longest:.1f} of {len(walked)} lanes at work on average"
    canvas.text(MARGIN, 52, said, size=SMALL)
    bottom = TOP + TALL
    for lane, length in enumerate(walked):
        x, height = MARGIN + 4 + lane * LANE, TALL * length / longest
        canvas.rectangle(x, TOP, LANE - 4, TALL - height, IDLE, LINE, 0.5)
        canvas.rectangle(x, bottom - height, LANE - 4, height, VERMILLION if length == longest else GREEN, INK, 0.6)
        if length == longest:
            canvas.text(x + LANE / 2 - 2, TOP - 4, f"{length}", size=SMALL, anchor="middle")
        if lane % 4 == 0:
            canvas.text(x + LANE / 2 - 2, bottom + 16, f"{lane}", size=SMALL, anchor="middle", fill=QUIET)
    entries = [(GREEN, "walks"), (VERMILLION, "the longest walk"), (IDLE, "waits for it")]
    right = canvas.key(MARGIN + 4, bottom + 42, entries)
    canvas.text(right, bottom + 42, "one bar a lane", size=SMALL, fill=QUIET)
    return canvas.figure(2 * MARGIN + WARP_LANES * LANE, bottom + 58, f"{title}: {said}.")
