"""Lesson 6's kernels as they are measured, and those that a notebook launches without showing them again."""

from __future__ import annotations

from numba import cuda, njit


@njit
def rank_by_walking(successor, head, rank):
    """The walk along the whole list, on one CPU core."""
    node = head
    for links_left in range(successor.size - 1, -1, -1):
        rank[node] = links_left
        node = successor[node]


@cuda.jit
def jump_in_place(successor, rank):
    node = cuda.grid(1)
    if node < rank.size:
        after = successor[node]
        rank[node] += rank[after]
        successor[node] = successor[after]


@cuda.jit
def walk(successor, splitters, sublist, steps, following, links):
    index = cuda.grid(1)
    if index < splitters.size:
        node = splitters[index]
        count = 0
        after = successor[node]
        while after != node and sublist[after] < 0:
            count += 1
            sublist[after] = index
            steps[after] = count
            node = after
            after = successor[node]
        following[index] = sublist[after]
        links[index] = count + (after != node)


@cuda.jit
def walk_links(successor, links, splitters, sublist, steps, following, lengths):
    """The walk along a list in which the link from node i counts links[i], and that of the tail 0."""
    index = cuda.grid(1)
    if index < splitters.size:
        node = splitters[index]
        count = 0
        after = successor[node]
        while after != node and sublist[after] < 0:
            count += links[node]
            sublist[after] = index
            steps[after] = count
            node = after
            after = successor[node]
        following[index] = sublist[after]
        lengths[index] = count + links[node]


@cuda.jit
def walk_in_place(successor, firsts, steps, following, links):
    """The walk of the slides of 2009: a node's link is overwritten by its mark, -1 - index for walk number index.

    Splitters are marked so beforehand; `firsts` holds the links that stood there.
    """
    index = cuda.grid(1)
    if index < firsts.size:
        node = firsts[index]
        count = 1
        after = successor[node]
        while after >= 0:
            successor[node] = -1 - index
            steps[node] = count
            count += 1
            node = after
            after = successor[node]
        following[index] = -1 - after
        links[index] = count if -1 - after != index else 0  # the tail's first link leads to the tail


@cuda.jit
def read_all(numbers, out):
    total = 0
    for at in range(cuda.grid(1), numbers.size, cuda.gridsize(1)):
        total += numbers[at]
    if total == 12345:
        out[0] = total
