"""Linked lists: as they lie in memory, as a chain, and how pointer jumping and sublists rank them, from real arrays.

A list is its `successor` array; the tail points to itself. Every picture works out the chain from that array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.figures.palette import (
    BLUE,
    GREEN,
    INK,
    LINE,
    ORANGE,
    PALE_BLUE,
    PALER_BLUE,
    PURPLE,
    QUIET,
    SKY,
    VERMILLION,
    YELLOW,
    ink_on,
)
from autograder.figures.svg import MARGIN, NORMAL, SMALL, TITLE, Canvas, Figure, plural, text_width

SUBLIST_COLOURS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILLION, BLUE)
PITCH, RADIUS = 44, 16  # pixels: from one node of a chain to the next, and its radius
MOST_NODES = 24
Round = tuple[Sequence[int], Sequence[int]]


def order_of(successor: Sequence[int]) -> list[int]:
    """The nodes from the head to the tail; raises ValueError unless all of them form one list."""
    pointed_to = {int(after) for node, after in enumerate(successor) if int(after) != node}
    heads = [node for node in range(len(successor)) if node not in pointed_to]
    if len(heads) != 1:
        raise ValueError(f"one list has one head, this has {len(heads)}")
    order = heads
    while int(successor[order[-1]]) != order[-1] and len(order) <= len(successor):
        order.append(int(successor[order[-1]]))
    if len(order) != len(successor):
        raise ValueError("the nodes do not form one list that ends in a node that points to itself")
    return order


@dataclass(frozen=True)
class Chain:
    """A row of circles, one a node, from the left end `left` on the height `y`; sizes in pixels."""

    left: float
    y: float
    pitch: float = PITCH
    radius: float = RADIUS
    size: int = NORMAL

    def x(self, place: int) -> float:
        return self.left + place * self.pitch + self.radius

    def nodes(self, canvas: Canvas, words: Sequence[str], fills: Sequence[str]) -> None:
        for place, (each, fill) in enumerate(zip(words, fills, strict=True)):
            canvas.circle(self.x(place), self.y, self.radius, fill, INK)
            canvas.text(
                self.x(place),
                self.y + 0.36 * self.size,
                each,
                size=self.size,
                anchor="middle",
                fill=ink_on(fill),
            )

    def link(self, canvas: Canvas, here: int, there: int, stroke: str = INK, thickness: float = 1.3) -> None:
        """An arrow from a node to a later one: straight to the next, an arc over what it passes; none to itself."""
        head = 0.5 * self.radius
        if there == here + 1:
            ends = (self.x(here) + self.radius, self.y), (self.x(there) - self.radius, self.y)
            canvas.curve(*ends, 0, stroke, thickness, head)
        elif there > here:
            ends = (self.x(here) + 3, self.y - self.radius), (self.x(there) - 3, self.y - self.radius)
            canvas.curve(*ends, rise(there - here, self.pitch), stroke, thickness, head)


def rise(distance: int, pitch: float) -> float:
    """How high an arc over `distance` nodes rises, in pixels: higher the further, but less and less."""
    return pitch * 0.3 * math.pow(distance, 0.6)


def linked_list(successor: Sequence[int], rank: Sequence[int] | None = None, *, title: str) -> Figure:
    """Draws a list twice, as it lies in memory with an arc for each link, and as a chain with each node's rank below.

    Raises ValueError for more than 24 nodes or for an array that is not one list.
    """
    order, n = order_of(successor), len(successor)
    if n > MOST_NODES:
        raise ValueError(f"the picture of a list takes up to {MOST_NODES} nodes, not {n}")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    left, cell = MARGIN + 86, PITCH
    tallest = max(rise(abs(int(after) - node), cell) for node, after in enumerate(successor))
    top = 62 + tallest
    fills = {order[0]: GREEN, order[-1]: VERMILLION}
    for node, after in enumerate(int(each) for each in successor):
        x = left + node * cell
        fill = fills.get(node, PALER_BLUE)
        canvas.rectangle(x, top, cell, 30, fill, INK, 0.8)
        canvas.text(x + cell / 2, top + 20, f"{after}", anchor="middle", fill=ink_on(fill))
        canvas.text(x + cell / 2, top + 46, f"{node}", size=SMALL, anchor="middle", fill=QUIET)
        if after != node:
            stroke = BLUE if after > node else VERMILLION
            ends = (x + cell / 2, top), (left + after * cell + cell / 2, top - 1)
            canvas.curve(*ends, rise(abs(after - node), cell), stroke, 1.2, 7)
    canvas.text(left - 10, top + 20, "successor", anchor="end", mono=True)
    canvas.text(left - 10, top + 46, "node", size=SMALL, anchor="end", fill=QUIET)
    y = top + 92
    chain = Chain(left + cell / 2 - RADIUS, y, cell)
    for place in range(n - 1):
        chain.link(canvas, place, place + 1)
    chain.nodes(canvas, [f"{node}" for node in order], [fills.get(node, PALER_BLUE) for node in order])
    canvas.text(left - 10, y + 5, "the list", anchor="end")
    if rank is not None:
        canvas.text(left - 10, y + 42, "rank", anchor="end", bold=True)
        for place, node in enumerate(order):
            canvas.text(chain.x(place), y + 42, f"{int(rank[node])}", anchor="middle", bold=True)
        y += 26
    entries = [(GREEN, "head: nobody points to it"), (VERMILLION, "tail: points to itself")]
    canvas.key(left, y + 50, entries)
    canvas.text(left + 400, y + 50, "arcs: blue to the right, orange to the left", size=SMALL, fill=QUIET)
    alt = f"{title}: {n} nodes, in the order of the list {', '.join(map(str, order))}"
    alt += f", with ranks {', '.join(str(int(rank[node])) for node in order)}." if rank is not None else "."
    return canvas.figure(left + n * cell + MARGIN, y + 66, alt)


def pointer_jumping(rounds: Sequence[Round], *, title: str) -> Figure:
    """Draws each round of pointer jumping as a row, from recorded (successor, rank) pairs; the first is the start.

    The number in a node is its rank so far: the links up to the node that it points to. Green nodes point to the tail.
    """
    order = order_of(rounds[0][0])
    if len(order) > MOST_NODES:
        raise ValueError(f"the picture of pointer jumping takes up to {MOST_NODES} nodes, not {len(order)}")
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    left, y, words = MARGIN + 92.0, 30.0, []
    for number, (successor, rank) in enumerate(rounds):
        longest = _longest_link(successor, order)
        y += 34 + RADIUS + (rise(longest, PITCH) if longest > 1 else 0)
        chain = Chain(left, y)
        done = draw_round(canvas, chain, successor, rank, order)
        canvas.text(left - 14, y + 5, f"round {number}" if number else "at first", anchor="end", bold=True)
        words.append(f"{'round ' + str(number) if number else 'at first'} {plural(done, 'node')} done")
        y += RADIUS
    canvas.key(left, y + 34, [(GREEN, "points to the tail: its number is its rank"), (PALE_BLUE, "not yet")])
    width = max(left + len(order) * PITCH, text_width(title, TITLE) + MARGIN) + MARGIN
    return canvas.figure(width, y + 50, f"{title}: {len(order)} nodes; {'; '.join(words)}.")


def draw_round(
    canvas: Canvas, chain: Chain, successor: Sequence[int], rank: Sequence[int], order: Sequence[int]
) -> int:
    """One row: links that may still grow in blue, those that end at the tail in grey; returns the nodes that are done."""
    place = {node: at for at, node in enumerate(order)}
    done = [int(successor[node]) == order[-1] for node in order]
    for finished in (True, False):
        for at, node in enumerate(order):
            if done[at] == finished:
                stroke, thickness = (LINE, 1.0) if finished else (BLUE, 1.6)
                chain.link(canvas, at, place[int(successor[node])], stroke, thickness)
    fills = [GREEN if each else PALE_BLUE for each in done]
    chain.nodes(canvas, [f"{int(rank[node])}" for node in order], fills)
    return sum(done)


def _longest_link(successor: Sequence[int], order: Sequence[int]) -> int:
    place = {node: at for at, node in enumerate(order)}
    return max(place[int(successor[node])] - at for at, node in enumerate(order))


def three_phases(
    successor: Sequence[int],
    sublist: Sequence[int],
    steps: Sequence[int],
    splitter_rank: Sequence[int],
    *,
    title: str,
) -> Figure:
    """Draws how sublists rank a list: the walks with each node's steps, the splitters' own list, and the ranks.

    `sublist` and `steps` are by node, `splitter_rank` by sublist. Raises ValueError for more than 24 nodes.
    """
    order = order_of(successor)
    if len(order) > MOST_NODES:
        raise ValueError(f"the picture of sublists takes up to {MOST_NODES} nodes, not {len(order)}")
    colour = {int(each): SUBLIST_COLOURS[at % len(SUBLIST_COLOURS)] for at, each in enumerate(_as_met(sublist, order))}
    fills = [colour[int(sublist[node])] for node in order]
    canvas = Canvas()
    canvas.text(MARGIN, 30, title, size=TITLE, bold=True)
    left = MARGIN + 8.0
    splitters = [at for at, node in enumerate(order) if int(steps[node]) == 0]
    rows = (
        (90, "1  walk: each thread numbers its sublist from its splitter on, until it meets another splitter"),
        (196, "2  rank the splitters: a short list, whose links count as many as were walked"),
        (302, "3  add up: a node's rank is its splitter's rank minus its steps"),
    )
    for y, words in rows:
        canvas.text(left, y - 32, words, bold=True)
    first, second, third = (Chain(left, y) for y, _ in rows)
    for at in range(len(order) - 1):
        within = fills[at] == fills[at + 1] and at + 1 not in splitters
        first.link(canvas, at, at + 1, INK if within else LINE)
        third.link(canvas, at, at + 1, LINE)
    first.nodes(canvas, [f"{int(steps[node])}" for node in order], fills)
    for at in splitters:
        canvas.circle(first.x(at), first.y, RADIUS + 4, "none", INK)
    for here, there in zip(splitters, splitters[1:], strict=False):
        ends = (second.x(here) + RADIUS, second.y), (second.x(there) - RADIUS, second.y)
        canvas.curve(*ends, 0, INK, 1.3, 8)
        if there - here > 1:
            middle = (second.x(here) + second.x(there)) / 2
            canvas.text(middle, second.y - 6, plural(there - here, "link"), size=SMALL, anchor="middle", fill=QUIET)
    for at in splitters:
        canvas.circle(second.x(at), second.y, RADIUS, fills[at], INK)
        words = f"{int(splitter_rank[int(sublist[order[at]])])}"
        canvas.text(second.x(at), second.y + 5, words, anchor="middle", fill=ink_on(fills[at]), bold=True)
    ranks = [int(splitter_rank[int(sublist[node])]) - int(steps[node]) for node in order]
    third.nodes(canvas, [f"{each}" for each in ranks], fills)
    canvas.text(left, 346, "a ring marks a splitter; each colour is one thread's sublist", size=SMALL, fill=QUIET)
    lengths = [there - here for here, there in zip(splitters, [*splitters[1:], len(order)], strict=True)]
    alt = f"{title}: {plural(len(order), 'node')} in sublists of {', '.join(map(str, lengths))} nodes; "
    alt += f"ranks of the splitters {', '.join(str(ranks[at]) for at in splitters)}."
    return canvas.figure(left + len(order) * PITCH + MARGIN, 362, alt)


def _as_met(sublist: Sequence[int], order: Sequence[int]) -> list[int]:
    """The sublists in the order in which the list meets them."""
    return list(dict.fromkeys(int(sublist[node]) for node in order))
