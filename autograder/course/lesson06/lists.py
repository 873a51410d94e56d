"""The lists that lesson 6 ranks, splitters for them, and launches one after the other, of the notebook's kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray
THREADS = 128


def list_along(order: Array) -> Array:
    """The successors of the list that visits the nodes in this order; its tail points to itself."""
    successor = np.empty(order.size, np.int32)
    successor[order[:-1]] = order[1:]
    successor[order[-1]] = order[-1]
    return successor


def random_list(n: int, seed: int) -> tuple[Array, Array]:
    """A list through n nodes in random order: its successors, and the nodes from head to tail (both int32)."""
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    return list_along(order), order


def ends_of(successor: Array) -> Array:
    """The head, to which nobody points, and the tail, which points to itself."""
    nodes = np.arange(successor.size)
    pointed_to = np.bincount(successor, minlength=successor.size)
    found: Array = nodes[(successor == nodes) | (pointed_to == 0)]
    return found


def with_ends(splitters: Array, successor: Array, seed: int) -> Array:
    """These splitters together with head and tail, each once, in random order (int32)."""
    together = np.union1d(splitters, ends_of(successor))
    return np.random.default_rng(seed).permutation(together).astype(np.int32)


def random_splitters(successor: Array, count: int, seed: int) -> Array:
    """So many random nodes, and head and tail, each once, in random order (int32)."""
    drawn = np.random.default_rng(seed).choice(successor.size, count, replace=False)
    return with_ends(drawn, successor, seed + 1)


def one_link_each(successor: Array) -> Array:
    """How many links lead from each node to its successor: one, and none from the tail (int32)."""
    links: Array = (successor != np.arange(successor.size)).astype(np.int32)
    return links


def jumping_rounds(successor: Array) -> list[tuple[Array, Array]]:
    """The (successor, rank) pairs of pointer jumping: at first, and after each round until all point to the tail."""
    rounds = [(successor, one_link_each(successor))]
    while (rounds[-1][0][rounds[-1][0]] != rounds[-1][0]).any():
        now, rank = rounds[-1]
        rounds.append((now[now], rank + rank[now]))
    return rounds


def all_rounds(kernel: Any, successor: Array, rank: Array) -> tuple[Array, list[Any]]:
    """Pointer jumping with double buffers, a launch for each round: the ranks, and the profile of each launch."""
    from autograder import profile  # the simulated GPU is only loaded where something is launched

    now, then = (successor.copy(), rank.copy()), (np.empty_like(successor), np.empty_like(rank))
    profiles = []
    for _ in range(math.ceil(math.log2(rank.size))):
        profiles.append(profile(kernel)[math.ceil(rank.size / 256), 256](*now, *then))
        now, then = then, now
    return now[1], profiles


def walk_from(
    kernel: Any, splitters: Array, successor: Array, *links: Array, blocks: int | None = None, threads: int = THREADS
) -> tuple[Any, Array, Array, Array, Array]:
    """One launch of a kernel that walks: its profile, then sublist and steps by node, following and links by splitter.

    `sublist` is marked beforehand: a splitter's own number at the splitter, -1 at all other nodes.
    """
    from autograder import profile

    sublist, steps = np.full(successor.size, -1, np.int32), np.zeros_like(successor)
    sublist[splitters] = np.arange(splitters.size)
    following, lengths = (np.zeros(splitters.size, np.int32) for _ in range(2))
    launch = profile(kernel, trace=True)[blocks or math.ceil(splitters.size / threads), threads]
    p = launch(successor, *links, splitters, sublist, steps, following, lengths)
    return p, sublist, steps, following, lengths


def walk_in_place_from(splitters: Array, successor: Array) -> tuple[Any, Array, Array, Array, Array]:
    """The same as `walk_from`, by the kernel that marks the nodes in the list itself, of which it takes a copy."""
    from autograder import profile
    from autograder.course.lesson06.kernels import walk_in_place

    marked, steps, firsts = successor.copy(), np.zeros_like(successor), successor[splitters]
    marked[splitters] = -1 - np.arange(splitters.size)
    following, lengths = (np.zeros(splitters.size, np.int32) for _ in range(2))
    launch = profile(walk_in_place)[math.ceil(splitters.size / THREADS), THREADS]
    p = launch(marked, firsts, steps, following, lengths)
    return p, -1 - marked, steps, following, lengths


def sectors(*profiles: Any) -> int:
    """The sectors that these launches load and store, together."""
    return sum(each.counters.global_load_sectors + each.counters.global_store_sectors for each in profiles)


def walk_lengths(n: int, count: int, rng: np.random.Generator) -> Array:
    """The lengths of `count` walks in a list of n nodes that is cut at random, in random order."""
    cuts = np.sort(rng.choice(n - 1, count - 1, replace=False) + 1)
    return rng.permutation(np.diff(np.concatenate([[0], cuts, [n]])))
