"""Exercises of notebooks/06_list_ranking.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.course.answers import RULES
from autograder.course.replies import Reply, judge_number, judge_tuple, no_kernel, not_yet, right, unanswered

EULER = 0.5772156649  # Euler's constant: 1 + 1/2 + ... + 1/n is about ln n + EULER


def ranks_by_hand(answer: Any) -> Reply:
    """The ranks of nodes 0, 1, 2 and 3, where successor = [3, 6, 1, 7, 4, 2, 4, 5]"""
    return judge_tuple(
        answer,
        (7, 2, 3, 6),
        "The list is 0, 3, 7, 5, 2, 1, 6, 4. To see a rank you had to walk: it stands nowhere in the array.",
        {
            (8, 3, 4, 7): "One too many each: a rank counts links, and the tail's rank is 0.",
            (0, 5, 4, 1): "These are the links from the head. A rank is the number of links to the tail.",
            (7, 6, 5, 4): "These are the ranks in the order of the list. Asked are nodes 0, 1, 2 and 3.",
            (3, 6, 1, 7): "These are the successors themselves.",
        },
        hint="Find the node that points to itself: its rank is 0. Who points to it has rank 1, and so on.",
    )


def rounds_needed(answer: Any) -> Reply:
    """The rounds of pointer jumping for a list of 1,000,000 nodes"""
    return judge_number(
        answer,
        20,
        "After 20 rounds a node points 1,048,576 links ahead, or to the tail. After 19 it would be 524,288.",
        {
            999_999: "That many steps one thread takes. How far does a node point after 1, 2, 3 rounds?",
            1_000_000: "That many steps one thread takes. How far does a node point after 1, 2, 3 rounds?",
            500_000: "A node does not point 2 links further in each round, but twice as far.",
            19: "After 19 rounds a node points 2 to the 19th = 524,288 links ahead. The head is 999,999 from the tail.",
            21: "One too many: 2 to the 20th is 1,048,576, and the head is 999,999 links from the tail.",
            math.log(999_999): "A node points twice as far in each round: that is a logarithm to the base of 2.",
            math.log2(999_999): "Yes, and there are only whole rounds: round up.",
        },
        hint="How many links ahead does a node point after 1, 2, 3 rounds, and after r?",
    )


def double_buffers(kernel: Any) -> Reply:
    """A round of pointer jumping that reads the old arrays and writes the new ones, for lists of any length."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    for n in (100, 700, 2, 1):
        order = np.random.default_rng(n).permutation(n)
        successor, expected = _list_of(order), np.empty(n, np.int32)
        expected[order] = np.arange(n)[::-1]
        rank = (successor != np.arange(n)).astype(np.int32)
        for number in range(1, 11):
            before = successor.copy(), rank.copy()
            new_successor, new_rank = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
            launch = profile(kernel)[-(-n // 64), 64]
            hazards = launch(successor, rank, new_successor, new_rank).hazards
            broken = [each for each in hazards if each.kind in RULES]
            if broken:
                return not_yet(f"A list of {n} nodes: {broken[0]}")
            if (new_rank == -1).all() and (new_successor == -1).all():
                if np.array_equal(before[0], successor) and np.array_equal(before[1], rank):
                    return Reply("your turn", "Nothing is written to the new arrays yet.")
                return not_yet("The new arrays are still empty: the kernel writes to the arrays that it reads.")
            wrong = _first_wrong(*before, new_successor, new_rank)
            if wrong:
                return not_yet(f"A list of {n} nodes, round {number}: {wrong}")
            successor, rank = new_successor, new_rank
        if not np.array_equal(rank, expected):
            return not_yet(f"A list of {n} nodes: after 10 rounds not all ranks are right.")
    return right(
        "Four lists, no race. Who reads the old arrays finds them as they were, however the threads are ordered."
    )


def _first_wrong(successor: np.ndarray, rank: np.ndarray, new_successor: np.ndarray, new_rank: np.ndarray) -> str:
    """The first element of a round's two results that is not what the old arrays say, in words."""
    for name, found, wanted in (
        ("new_successor", new_successor, successor[successor]),
        ("new_rank", new_rank, rank + rank[successor]),
    ):
        wrong = np.flatnonzero(found != wanted)
        if wrong.size:
            at = int(wrong[0])
            return f"{name}[{at}] should be {wanted[at]} and is {found[at]} ({wrong.size} of {found.size} are wrong)."
    return ""


def add_up(answer: Any) -> Reply:
    """Walks of 5, 3 and 4 nodes, then the tail: ranks of the three splitters, and of a node 2 links after the second"""
    return judge_tuple(
        answer,
        (12, 7, 4, 5),
        "From the tail backwards: 0, 0 + 4, 4 + 3, 7 + 5; and 7 - 2 = 5. Nobody had to know the middle of another walk.",
        {
            (11, 6, 3, 4): "One too few: the walk of 4 nodes ends 4 links after its splitter, at the tail.",
            (13, 8, 5, 6): "One too many: the tail's rank is 0.",
            (12, 7, 4, 9): "The splitters are right. Two links on, one is nearer to the tail, not further from it.",
            (0, 5, 8, 7): "These count from the head. Begin at the tail, whose rank is 0.",
            (5, 3, 4, 2): "These are the lengths. The rank of a splitter is all that lies between it and the tail.",
        },
        hint="Begin at the end: the tail has rank 0, and the third splitter is 4 links before it.",
    )


def longest_walk(answer: Any) -> Reply:
    """How long the longest sublist will be, N = 2^24 with N / 64 random splitters, by theory"""
    expected = 64 * (math.log(2**18) + EULER)
    return judge_number(
        answer,
        expected,
        "64 x (ln 262,144 + 0.58): 13 times the average. "
        "In two lists that an H200 walked the longest had 751 and 1,128 nodes.",
        {
            64: "That is the average. The longest of 262,144 walks is longer.",
            64 * (math.log(32) + EULER): "That is the longest of 32, what an average warp pays. Here are 262,144.",
            4 * 64: "That is the longest of 32, what an average warp pays. Here are 262,144.",
            64 * math.log(2**18): "Nearly: the sum 1 + 1/2 + ... + 1/s is ln s + 0.58.",
            64 * 18: "That takes log2 where the sum grows with the natural logarithm: math.log.",
            64 * (math.log(2**24) + EULER): "Not all nodes begin a walk: how many walks are there?",
            24 * (math.log(2**24 / 24) + EULER): "That is for N / log2 N splitters. Here they are N / 64.",
        },
        hint="1 / p is 64 here. How many walks are there, and what is 1 / p x (ln s + 0.58)?",
        tolerance=0.01,
    )


def ruinous_order(order_for: Callable[[int, int], Any]) -> Reply:
    """A function of n and `every` that gives an order of the nodes in which splitters at regular places fail."""
    if unanswered(order_for):
        return Reply("your turn", "Write the function in this cell and run it again.")
    if not callable(order_for):
        return not_yet("This takes the function itself, without calling it.")
    for n, every in ((1024, 64), (600, 10)):
        try:
            order = np.asarray(order_for(n, every))
        except Exception as problem:
            return not_yet(f"my_order({n}, {every}) raised {type(problem).__name__}: {problem}")
        if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
            return not_yet(f"my_order({n}, {every}) should name each of the {n} nodes once.")
        cut = np.flatnonzero(order % every == 0)
        longest = int(np.diff(np.unique(np.concatenate([[0], cut, [n - 1]]))).max())
        if longest == every and np.array_equal(order, np.arange(n)):
            return Reply(
                "your turn", f"Here every walk has {every} nodes, as even as can be. Make one of them very long."
            )
        if longest < 0.9 * (n - n // every):
            return not_yet(f"With {n} nodes, every {every}th a splitter, the longest walk has {longest} nodes. Go on.")
    return right(f"One walk of {longest} of {n} nodes. Splitters at random places cannot be ruined by any list.")


def _list_of(order: np.ndarray) -> np.ndarray:
    """The successors of a list through these nodes; the tail points to itself."""
    successor = np.empty(order.size, np.int32)
    successor[order[:-1]] = order[1:]
    successor[order[-1]] = order[-1]
    return successor
