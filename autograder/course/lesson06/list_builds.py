"""Lists for the front of the room: one thread follows, all jump, a few walk; each function returns a build's frames."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.course.lesson06.links import SUBLIST_COLOURS, Chain, Round, draw_round, order_of, rise
from autograder.figures.palette import BLUE, GREEN, IDLE, INK, LINE, PALE_BLUE, PAPER, QUIET, VERMILLION, ink_on
from autograder.figures.steps import HEIGHT, LARGE, LEAST, WIDTH
from autograder.figures.svg import Canvas, Figure, plural

_LEFT = 60.0


def _pitch(nodes: int) -> float:
    return min(112.0, (WIDTH - 2 * _LEFT) / nodes)


def _chain(nodes: int, y: float) -> Chain:
    pitch = _pitch(nodes)
    return Chain(_LEFT, y, pitch, min(27.0, 0.36 * pitch), LEAST)


def _memory(
    canvas: Canvas, y: float, words: Sequence[str], fills: Sequence[str], places: Sequence[int] | None = None
) -> None:
    """The cells of an array with their places below, each as wide as a node's share of the slide."""
    cell = _pitch(len(words))
    for place, (each, fill) in enumerate(zip(words, fills, strict=True)):
        x = _LEFT + place * cell
        canvas.rectangle(x, y, cell, 52, fill, INK, 1.2)
        canvas.text(x + cell / 2, y + 34, each, size=LEAST, anchor="middle", fill=ink_on(fill))
        if places is None or place in places:
            canvas.text(x + cell / 2, y + 80, f"{place}", size=LEAST, anchor="middle", fill=QUIET)


def following(successor: Sequence[int]) -> list[Figure]:
    """One thread follows the links of a list in memory: a frame before the first link, one for each, ranks at last."""
    order = order_of(successor)
    return [_following(successor, order, step) for step in range(len(order) + 1)]


def _following(successor: Sequence[int], order: Sequence[int], step: int) -> Figure:
    canvas, n, y = Canvas(), len(order), 250.0
    cell, done = _pitch(n), step == n
    for at in range(min(step, n - 1)):
        here, there = (_LEFT + (node + 0.5) * cell for node in order[at : at + 2])
        distance = abs(order[at + 1] - order[at])
        now = at == step - 1 and not done
        canvas.curve((here, y), (there, y - 2), rise(distance, cell), BLUE if now else LINE, 3 if now else 1.6, 14)
    fills = [PALE_BLUE if node in order[: step + 1] else PAPER for node in range(n)]
    if not done:
        fills[order[step]] = BLUE
    _memory(canvas, y, [f"{int(after)}" for after in successor], fills)
    canvas.text(_LEFT, 400, "rank", size=LEAST, bold=True, fill=INK if done else PAPER)
    if done:
        for at, node in enumerate(order):
            x = _LEFT + (node + 0.5) * cell
            canvas.text(x, 434, f"{n - 1 - at}", size=LARGE, anchor="middle", bold=True)
    said = f"{plural(n - 1, 'link')} followed: now every rank is known" if done else f"step {step}: node {order[step]}"
    canvas.text(_LEFT, 500, said, size=LARGE, bold=True)
    return canvas.figure(WIDTH, HEIGHT, f"A list of {n} nodes in memory; {said}.")


def jumping(rounds: Sequence[Round]) -> list[Figure]:
    """Pointer jumping, a frame for each recorded (successor, rank), the first of which is the start."""
    order = order_of(rounds[0][0])
    frames = []
    for number, (successor, rank) in enumerate(rounds):
        canvas = Canvas()
        done = draw_round(canvas, _chain(len(order), 290), successor, rank, order)
        head = int(rank[order[0]])
        said = f"round {number}" if number else "at first"
        canvas.text(_LEFT, 60, said, size=34, bold=True)
        words = f"the head counts {plural(head, 'link')}; {done} of {plural(len(order), 'node')} point to the tail"
        canvas.text(_LEFT, 420, words, size=LARGE, bold=True)
        canvas.text(_LEFT, 470, "a node's number: the links up to the node that it points to", size=LEAST, fill=QUIET)
        frames.append(canvas.figure(WIDTH, HEIGHT, f"Pointer jumping, {said}: {words}."))
    return frames


def sublist_walks(successor: Sequence[int], splitters: Sequence[int]) -> list[Figure]:
    """Threads walk from the splitters at the same time: a frame before the first step, then one for each step.

    Nodes ahead of the first splitter stay white: no walk comes by.
    """
    order = order_of(successor)
    starts = sorted(order.index(int(each)) for each in splitters)
    ends = [*starts[1:], len(order)]
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    return [_sublist_walks(order, starts, ends, step) for step in range(longest)]


def _sublist_walks(order: Sequence[int], starts: Sequence[int], ends: Sequence[int], step: int) -> Figure:
    canvas, n = Canvas(), len(order)
    chain, words, fills, standing = _chain(n, 130), [""] * n, [PAPER] * n, []
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for at in range(start, min(start + step + 1, end)):
            words[at], fills[at] = f"{at - start}", SUBLIST_COLOURS[index % len(SUBLIST_COLOURS)]
        if start + step < end:
            standing.append(start + step)
    for at in range(n - 1):
        chain.link(canvas, at, at + 1, INK)
    chain.nodes(canvas, words, fills)
    for at in standing:
        canvas.circle(chain.x(at), chain.y, chain.radius + 6, "none", INK)
    canvas.text(_LEFT, 60, "in the order of the list", size=LEAST, fill=QUIET)
    by_node = sorted(range(n), key=lambda at: order[at])
    canvas.text(_LEFT, 244, "in memory", size=LEAST, fill=QUIET)
    _memory(canvas, 262, [words[at] for at in by_node], [fills[at] for at in by_node], [])
    for at in standing:
        x = _LEFT + (order[at] + 0.5) * _pitch(n)
        canvas.polygon([(x, 318), (x - 11, 340), (x + 11, 340)], INK)
    said = f"step {step}: {len(standing)} of {plural(len(starts), 'thread')} at work"
    canvas.text(_LEFT, 420, said, size=34, bold=True)
    canvas.text(_LEFT, 466, "triangles: where the threads are in memory", size=LEAST, fill=QUIET)
    return canvas.figure(WIDTH, HEIGHT, f"Walks from {plural(len(starts), 'splitter')}, {said}.")


def phases_of_sublists(
    successor: Sequence[int], sublist: Sequence[int], steps: Sequence[int], splitter_rank: Sequence[int]
) -> list[Figure]:
    """The three phases: steps of each node, the splitters' short list with its ranks, the ranks of all nodes."""
    order = order_of(successor)
    numbers = list(dict.fromkeys(int(sublist[node]) for node in order))
    fills = [SUBLIST_COLOURS[numbers.index(int(sublist[node])) % len(SUBLIST_COLOURS)] for node in order]
    splitters = [at for at, node in enumerate(order) if int(steps[node]) == 0]
    ranks = [int(splitter_rank[int(sublist[node])]) - int(steps[node]) for node in order]
    frames = []
    for phase in range(1, 4):
        canvas = Canvas()
        first, second, third = (_chain(len(order), y) for y in (100, 280, 460))
        titles = ("1  walk: steps from the splitter", "2  rank the splitters", "3  splitter's rank minus steps")
        for each, words in zip((first, second, third)[:phase], titles, strict=False):
            canvas.text(_LEFT, each.y - 50, words, size=LARGE, bold=True)
        _plain_chain(canvas, first, [f"{int(steps[node])}" for node in order], fills)
        if phase > 1:
            _splitters(canvas, second, splitters, fills, ranks)
        if phase > 2:
            _plain_chain(canvas, third, [f"{each}" for each in ranks], fills)
        alt = (
            f"Phase {phase}: {titles[phase - 1][3:]}. Splitters' ranks {', '.join(str(ranks[at]) for at in splitters)}."
        )
        frames.append(canvas.figure(WIDTH, HEIGHT, alt))
    return frames


def _plain_chain(canvas: Canvas, chain: Chain, words: Sequence[str], fills: Sequence[str]) -> None:
    for at in range(len(words) - 1):
        chain.link(canvas, at, at + 1, INK if fills[at] == fills[at + 1] else LINE)
    chain.nodes(canvas, words, fills)


def _splitters(
    canvas: Canvas, chain: Chain, splitters: Sequence[int], fills: Sequence[str], ranks: Sequence[int]
) -> None:
    for here, there in zip(splitters, splitters[1:], strict=False):
        ends = (chain.x(here) + chain.radius, chain.y), (chain.x(there) - chain.radius, chain.y)
        canvas.curve(*ends, 0, INK, 1.6, 12)
        if there - here > 1:
            middle = (chain.x(here) + chain.x(there)) / 2
            canvas.text(middle, chain.y - 12, f"{there - here}", size=LEAST, anchor="middle", fill=QUIET)
    for at in splitters:
        canvas.circle(chain.x(at), chain.y, chain.radius, fills[at], INK)
        canvas.text(chain.x(at), chain.y + 8, f"{ranks[at]}", size=LEAST, anchor="middle", fill=ink_on(fills[at]))


def one_chain_or_many(loads: int, shown: int = 12) -> list[Figure]:
    """Loads over time: each waits for the one before it, or `loads` chains do so side by side; two frames."""
    frames = []
    for rows in (1, loads):
        canvas, height = Canvas(), 320 / loads
        for row in range(rows):
            for at in range(shown):
                x, y = _LEFT + at * (WIDTH - 2 * _LEFT) / shown, 90 + row * height
                canvas.rectangle(x, y, (WIDTH - 2 * _LEFT) / shown - 6, height - 5, PALE_BLUE, INK, 0.8)
        if rows == 1:
            canvas.rectangle(_LEFT, 90 + height, WIDTH - 2 * _LEFT - 6, 320 - height, IDLE)
        said = f"{plural(rows, 'chain')}: {rows * shown} loads in the time of {shown}"
        canvas.text(
            _LEFT, 56, "each load waits for the one to its left; time runs to the right", size=LEAST, fill=QUIET
        )
        canvas.text(_LEFT, 470, said, size=34, bold=True, fill=VERMILLION if rows == 1 else GREEN)
        frames.append(canvas.figure(WIDTH, HEIGHT, f"{said}. Each load waits for the one before it in its chain."))
    return frames
