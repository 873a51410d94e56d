"""Who is active, line by line and step by step, drawn from recorded masks: one cell a lane; as in `steps.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.errors import Line
from autograder.figures.palette import BLUE, GREEN, IDLE, INK, LINE, PAPER, QUIET, SKY, VERMILLION
from autograder.figures.steps import EDGE, LARGE, LEAST, WARP_LANES, WIDTH
from autograder.figures.svg import Canvas, Figure, plural
from autograder.records.accesses import Branch

LEFT, LANE = 40, 18  # pixels: the margin, and the width of a lane
NOWHERE = Line("", 0)  # of a branch that no kernel took: it is made to be drawn


def lockstep(profile: Any, warp: int = 0) -> list[Figure]:
    """The lines of a kernel that one warp of block (0, 0, 0) went through, in order, and its active lanes on each.

    `profile` was made with trace=True. A line shows where it branches or touches memory. A frame for each line.
    Raises ValueError when nothing was recorded of this warp.
    """
    rows = _lines(profile, warp)
    walked = [at for at, (_, mask) in enumerate(rows) if mask is not None]
    if not walked:
        raise ValueError(f"nothing was recorded of warp {warp}")
    return [_lockstep(rows, walked[: shown + 1], warp) for shown in range(len(walked))]


def _lines(profile: Any, warp: int) -> list[tuple[str, np.ndarray | None]]:
    """The text of each line that is drawn, with its mask; `else:` has none."""
    found: list[tuple[str, np.ndarray | None]] = []
    for each in profile.lines:
        at = [one for one in profile.divergence(each.line) if one.warp == warp and one.block == (0, 0, 0)]
        touched = [one for one in profile.trace(each.line) if one.warp == warp and one.block == (0, 0, 0)]
        if at:
            found.append((each.text, np.asarray(at[0].active)))
        elif touched:
            found.append((each.text, np.asarray(touched[0].addresses) >= 0))
        elif each.text.strip() == "else:":
            found.append((each.text, None))
    return found


def _lockstep(rows: Sequence[tuple[str, np.ndarray | None]], walked: Sequence[int], warp: int) -> Figure:
    canvas = Canvas()
    row, top, first = 46, 74, WIDTH - 150 - WARP_LANES * LANE
    for lane in range(0, WARP_LANES, 8):
        canvas.text(first + (lane + 0.5) * LANE, top - 14, f"{lane}", size=LEAST, anchor="middle", fill=QUIET)
    canvas.text(first - 14, top - 14, "lane", size=LEAST, anchor="end", fill=QUIET)
    margin = min(len(text) - len(text.lstrip()) for text, _ in rows)
    for at, (text, mask) in enumerate(rows):
        y, now = top + at * row, at == walked[-1]
        if now:
            canvas.rectangle(LEFT - 14, y, WIDTH - 2 * LEFT + 28, row, "#F3F3F3")
        indent = len(text) - len(text.lstrip()) - margin
        canvas.text(LEFT + indent * 0.6 * LEAST, y + 31, text.strip(), size=LEAST, mono=True, bold=now)
        for lane, active in enumerate(() if mask is None else mask):
            fill = (BLUE if now else SKY) if active else IDLE
            canvas.rectangle(first + lane * LANE, y + 8, LANE, row - 16, fill if at in walked else PAPER, EDGE, 0.8)
        if at in walked:
            canvas.text(first + WARP_LANES * LANE + 16, y + 31, f"{_active(mask)} of 32", size=LEAST, bold=now)
    lanes = [(rows[at][0].strip(), _active(rows[at][1])) for at in walked]
    mean = sum(active for _, active in lanes) / len(lanes)
    said = f"warp {warp}: {plural(len(walked), 'line')} walked, {mean:.1f} lanes active on average"
    canvas.text(LEFT, top + len(rows) * row + 44, said, size=LARGE, bold=True)
    words = "; ".join(f"{text} {active} of 32 lanes" for text, active in lanes)
    return canvas.figure(WIDTH, top + len(rows) * row + 72, f"{said}. {words}.")


def _active(mask: np.ndarray | None) -> int:
    return 0 if mask is None else int(mask.sum())


def lanes_by_line(profile: Any) -> str:
    """A table of a kernel's lines: instructions, lanes active on average, and branches at which warps disagreed."""
    rows = ["instructions  active lanes  divergent branches"]
    for each in profile.lines:
        c = each.counters
        active = f"{c.threads_per_instruction:.1f}" if c.warp_instructions else ""
        rows.append(f"{c.warp_instructions or '':>12}  {active:>12}  {c.divergent_branches or '':>18}  {each.text}")
    return "\n".join(rows)


def at_work(profile: Any, line: str, warps: int = 8) -> np.ndarray:
    """Which of the first threads of block (0, 0, 0) stored at the line with these words: a bool for each.

    `profile` was made with trace=True. Raises ValueError when nothing was recorded there.
    """
    stores = [each for each in profile.trace(line) if each.kind == "store" and each.block == (0, 0, 0)]
    if not stores:
        raise ValueError(f"no store was recorded at {line!r}")
    working = np.zeros((warps, WARP_LANES), bool)
    for each in stores:
        if each.warp < warps:
            working[each.warp] |= np.asarray(each.addresses) >= 0
    return working.ravel()


def tree_steps(branches: Sequence[Branch], title: str) -> list[Figure]:
    """Which threads of one block add in each step of a reduction: a row a step, a cell a thread, a frame for each row.

    `branches` are those of block (0, 0, 0) at the line that asks "is it my turn?", as recorded. Raises ValueError for none.
    """
    asked: dict[int, list[Branch]] = {}
    for each in branches:
        if each.block == (0, 0, 0):
            asked.setdefault(each.warp, []).append(each)
    if not asked:
        raise ValueError("no branch of block (0, 0, 0) was recorded")
    steps = [[asked[warp][at] for warp in sorted(asked)] for at in range(min(map(len, asked.values())))]
    return [_tree_steps(steps, shown + 1, title) for shown in range(len(steps))]


def _tree_steps(steps: Sequence[Sequence[Branch]], shown: int, title: str) -> Figure:
    canvas = Canvas()
    row, top, left, right = 44, 100, 110, 200
    pitch = (WIDTH - left - right) / len(steps[0])
    canvas.text(LEFT, 40, title, size=LARGE, bold=True)
    for warp in range(len(steps[0])):
        x = left + warp * pitch
        canvas.text(x + 4, top - 12, f"warp {warp}", size=LEAST, fill=QUIET)
    total = 0
    for at, step in enumerate(steps):
        y = top + at * row
        canvas.text(left - 14, y + 27, f"step {at + 1}", size=LEAST, anchor="end", fill=INK if at < shown else QUIET)
        for warp, branch in enumerate(step):
            _warp_in_step(canvas, branch, left + warp * pitch, y, (pitch - 7) / WARP_LANES, row - 12, at < shown)
        diverging = sum(_diverges(branch) for branch in step)
        if at < shown:
            total += diverging
            words = plural(diverging, "warp") + (" diverge" if diverging != 1 else " diverges")
            ink = VERMILLION if diverging else QUIET
            canvas.text(WIDTH - right + 16, y + 27, words, size=LEAST, fill=ink, bold=bool(diverging))
    bottom = top + len(steps) * row
    said = f"{plural(total, 'divergent branch')}".replace("branchs", "branches")
    said += f" in {plural(shown, 'step')} of {plural(len(steps[0]), 'warp')}"
    canvas.text(left, bottom + 34, said, size=LARGE, bold=True)
    x = _key(canvas, left + 560, bottom + 34, [(GREEN, "adds"), (IDLE, "waits, its warp works"), (PAPER, "at rest")])
    return canvas.figure(max(WIDTH, x), bottom + 60, f"{title}: {said}.")


def who_works(rows: Sequence[tuple[str, Sequence[bool]]], title: str) -> list[Figure]:
    """Which of the same threads work, a row for each (name, mask) and a frame for each row; whole warps only.

    Raises ValueError for masks of different lengths, or of a length that 32 does not divide.
    """
    lengths = {len(mask) for _, mask in rows}
    if len(lengths) != 1 or min(lengths) % WARP_LANES or not min(lengths):
        raise ValueError(f"who_works takes masks of one length, a multiple of {WARP_LANES}, not {sorted(lengths)}")
    masks = [(name, np.asarray(mask, bool).reshape(-1, WARP_LANES)) for name, mask in rows]
    return [_who_works(masks, shown + 1, title) for shown in range(len(masks))]


def _who_works(rows: Sequence[tuple[str, np.ndarray]], shown: int, title: str) -> Figure:
    canvas = Canvas()
    row, top, left, right = 92, 112, 40, 40
    pitch = (WIDTH - left - right) / len(rows[0][1])
    canvas.text(left, 40, title, size=LARGE, bold=True)
    said = []
    for at, (name, warps) in enumerate(rows[:shown]):
        y = top + at * row
        awake, diverging = int(warps.any(axis=1).sum()), int((warps.any(axis=1) & ~warps.all(axis=1)).sum())
        count = f"{int(warps.sum())} threads in {plural(awake, 'warp')}; {diverging} of {len(warps)} warps diverge"
        said.append(f"{name}: {count}")
        canvas.text(left, y - 12, name, size=LEAST, mono=True, bold=True)
        canvas.text(WIDTH - right, y - 12, count, size=LEAST, anchor="end", fill=VERMILLION if diverging else INK)
        for warp, lanes in enumerate(warps):
            one = Branch(NOWHERE, (0, 0, 0), warp, np.ones(WARP_LANES, bool), lanes)
            _warp_in_step(canvas, one, left + warp * pitch, y, (pitch - 7) / WARP_LANES, 36, True)
    bottom = top + len(rows) * row
    _key(canvas, left, bottom, [(GREEN, "works"), (IDLE, "waits, its warp works"), (PAPER, "at rest")])
    return canvas.figure(WIDTH, bottom + 30, f"{title}. {'; '.join(said)}.")


def _warp_in_step(canvas: Canvas, branch: Branch, x: float, y: float, lane: float, height: float, done: bool) -> None:
    for number in range(WARP_LANES if done and np.any(branch.taken) else 0):
        fill = GREEN if branch.taken[number] else IDLE
        canvas.rectangle(x + number * lane, y, lane, height, fill)
    diverges = done and _diverges(branch)
    canvas.rectangle(x, y, WARP_LANES * lane, height, "none", VERMILLION if diverges else LINE, 3 if diverges else 1)


def _diverges(branch: Branch) -> bool:
    active, taken = np.asarray(branch.active), np.asarray(branch.taken)
    return bool(taken.any() and (active & ~taken).any())


def _key(canvas: Canvas, x: float, y: float, entries: Sequence[tuple[str, str]]) -> float:
    """A key in the size of slides; returns the x where it ends."""
    for fill, words in entries:
        canvas.rectangle(x, y - 18, 20, 20, fill, EDGE)
        canvas.text(x + 28, y, words, size=LEAST)
        x += 28 + len(words) * LEAST * 0.5 + 24
    return x
