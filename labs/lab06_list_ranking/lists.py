"""What labs about linked lists ask of a submission: random lists as arrays of successors, and right walks and ranks.

A list of n nodes is an int32 array: `successor[i]` is the node after node i, and a tail points to itself. The rank of a
node is the number of links from it to the tail of its list. One array may hold several lists.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.grading.attempt import Attempt
from autograder.grading.kept import KEPT

Array = np.ndarray


def random_lists(attempt: Attempt, lengths: Sequence[int]) -> tuple[Array, Array]:
    """Successors and ranks of lists of these lengths, their nodes strewn over one array (int32, as long as all)."""
    seed, size = int(attempt.rng.integers(2**31)), sum(lengths)
    recipe = f"np.random.default_rng({seed}).permutation({size})"
    order = KEPT.drawn(recipe, lambda: np.random.default_rng(seed).permutation(size))
    return lists_along(attempt, order, lengths, recipe)


def list_from_zero(attempt: Attempt, size: int) -> tuple[Array, Array]:
    """Successors and ranks of one random list whose head is node 0: ahead of evenly spaced splitters there is nobody."""
    seed = int(attempt.rng.integers(2**31))
    recipe = f"(lambda p: np.roll(p, -p.argmin()))(np.random.default_rng({seed}).permutation({size}))"

    def make() -> Array:
        order = np.random.default_rng(seed).permutation(size)
        return np.roll(order, -order.argmin())

    return lists_along(attempt, KEPT.drawn(recipe, make), (size,), recipe)


def lists_along(attempt: Attempt, order: Array, lengths: Sequence[int], recipe: str) -> tuple[Array, Array]:
    """Successors and ranks of lists along an order of the nodes, which NumPy makes again by the recipe."""
    successor, rank = KEPT.of(laid_out, order, tuple(lengths))
    return attempt.remember(successor, _recipe(recipe, lengths)), rank


def random_reduced_lists(attempt: Attempt, lengths: Sequence[int]) -> tuple[Array, Array]:
    """What follows each sublist (-1: nothing) and its links, in random lists of so many sublists (int32)."""
    seed, size = int(attempt.rng.integers(2**31)), sum(lengths)
    successor, rank = laid_out(np.random.default_rng(seed).permutation(size), lengths)
    following = np.where(rank == 0, -1, successor).astype(np.int32)
    of_successor = _recipe(f"np.random.default_rng({seed}).permutation({size})", lengths)
    recipe = f"(lambda s: np.where(s == np.arange(s.size), -1, s).astype(np.int32))({of_successor})"
    return attempt.remember(following, recipe), attempt.integers(1, 40, size)


def _recipe(order: str, lengths: Sequence[int]) -> str:
    """Successors along an order of the nodes, all as one expression of NumPy."""
    tails = (np.cumsum(lengths) - 1).tolist()
    chained = f"np.where(np.isin(np.arange(o.size), {tails}), o, np.roll(o, -1))[np.argsort(o)].astype(np.int32)"
    return f"(lambda o: {chained})({order})"


def laid_out(order: Array, lengths: Sequence[int] = ()) -> tuple[Array, Array]:
    """Successors and ranks (int32, n) of lists of these lengths, one after the other along a permutation of all nodes."""
    order = np.asarray(order, np.int32)
    ends = np.cumsum(lengths if len(lengths) else [len(order)])
    successor, rank = np.empty_like(order), np.empty_like(order)
    successor[order] = np.roll(order, -1)
    successor[order[ends - 1]] = order[ends - 1]
    rank[order] = np.repeat(ends, np.diff(ends, prepend=0)) - 1 - np.arange(len(order))
    return successor, rank


def walked(successor: Array, splitter: Array) -> tuple[Array, Array, Array, Array]:
    """What walks from these splitters find (int32): sublist and steps of each node, following and links of each sublist.

    -1 stands for a node that no walk comes by, and for a sublist that nothing follows.
    """
    sublist, steps = (np.full(len(successor), -1, np.int32) for _ in range(2))
    following, links = (np.full(len(splitter), -1, np.int32) for _ in range(2))
    number = {int(node): s for s, node in enumerate(splitter)}
    for node, s in number.items():
        count = 0
        while True:
            sublist[node], steps[node] = s, count
            after = int(successor[node])
            if after == node or after in number:
                break
            node, count = after, count + 1
        following[s] = -1 if after == node else number[after]
        links[s] = count + (after != node)
    return sublist, steps, following, links


def ranks_of_sublists(following: Array, links: Array) -> Array:
    """Links from the beginning of each sublist to its list's tail (int32)."""
    rank = np.full(len(following), -1, np.int32)
    for s in range(len(following)):
        chain = []
        while s >= 0 and rank[s] < 0:
            chain.append(s)
            s = following[s]
        total = rank[s] if s >= 0 else 0
        for each in reversed(chain):
            total += links[each]
            rank[each] = total
    return rank


def ranks_along(successor: Array) -> Array:
    """Links from each node to its tail (int64)."""
    following, rank = successor.astype(np.int64), (successor != np.arange(successor.size)).astype(np.int64)
    span = 1
    while span < successor.size:
        rank, following, span = rank + rank[following], following[following], 2 * span
    found: Array = rank
    return found


def ranks_follow(successor: Array, rank: Array) -> bool:
    """Whether these are the ranks: 0 at a tail, and elsewhere one more than behind. Lists that end have no others.

    It takes one look at each node, where `ranks_along` goes through all of them for every doubling of the lists.
    """
    return np.array_equal(rank, np.where(successor == np.arange(successor.size), 0, rank[successor] + 1))


def by_remainders(size: int, modulus: int, first: int, seed: int) -> Array:
    """The numbers below `size` by their remainders: those with the first one, then those with the next, and round.

    Those with one remainder are in random order, so that no formula knows where a number stands.
    """
    return np.lexsort((np.random.default_rng(seed).random(size), (np.arange(size) - first) % modulus))


def in_bit_reversed_order(bits: int, seed: int) -> Array:
    """The numbers below 2**bits by their reversed bits: multiples of any power of two come before all others.

    Which half of those others comes first, is up to chance, and of each half again, so that no formula knows where a
    number stands.
    """
    numbers, halves = np.arange(1 << bits), np.random.default_rng(seed).integers(2, size=1 << bits)
    halves[1 << np.arange(bits)] = 0
    bits_of = ((((numbers >> k) & 1) ^ halves[(1 << k) + numbers % (1 << k)]) << (bits - 1 - k) for k in range(bits))
    return np.argsort(sum(bits_of))
