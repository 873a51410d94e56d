"""The lists that lesson 7 walks: cut into sublists at random places, as in the talk of 2009."""

from __future__ import annotations

import math

import numpy as np


def random_list(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A list of n nodes (3 or more) in random order, cut into n / log2 n sublists: (following, heads), int32.

    `heads` holds the first node of each sublist. following[i] is the node after node i, and -1 at the end of a sublist.
    """
    order = rng.permutation(n).astype(np.int32)
    cuts = np.append(0, np.sort(rng.choice(n - 1, int(n / math.log2(n)) - 1, replace=False) + 1))
    following = np.full(n, -1, np.int32)
    following[order[:-1]] = order[1:]
    following[order[cuts[1:] - 1]] = -1
    return following, order[cuts]


def owners_and_ranks(following: np.ndarray, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each node: the number of its sublist, and how many nodes lie before it there; both int64."""
    owner, rank = np.zeros(following.size, np.int64), np.zeros(following.size, np.int64)
    for index, place in enumerate(heads.tolist()):
        walked = 0
        while place >= 0:
            owner[place], rank[place] = index, walked
            walked += 1
            place = int(following[place])
    return owner, rank


def rounds_of_warps(heads: np.ndarray, owner: np.ndarray, threads_per_warp: int = 32) -> np.ndarray:
    """How many rounds each warp's walk takes: the longest sublist of its lanes."""
    lengths = np.bincount(owner, minlength=heads.size)
    return np.array([lengths[at : at + threads_per_warp].max() for at in range(0, lengths.size, threads_per_warp)])
