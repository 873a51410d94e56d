"""Exercises of notebooks 06a_pointer_jumping and 06b_list_ranking; the answers stand there, under "Answer"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.course.answers import Owners, not_of, nothing_right, parameters, written_alone
from autograder.course.lesson06.lists import ends_of, list_along, one_link_each
from autograder.course.replies import Reply, judge_number, judge_tuple, no_kernel, not_yet, right, unanswered
from autograder.records.hazards import Hazard

EULER = 0.5772156649  # Euler's constant: 1 + 1/2 + ... + 1/n is about ln n + EULER
BLOCK = 64  # threads, of the launches that judge a kernel
LENGTHS = (100, 700, 2, 1)  # of the lists; no block divides them
EMPTY = 12_345  # what stands in arrays that a kernel is to fill
LOADS_OF_A_SEARCH = 8  # requests to load that a warp sends: a few where each node looks at its own, n in a search


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


def turn_around(kernel: Any) -> Reply:
    """A kernel of (successor, predecessor): predecessor[i] is the node that points to i, and the head for the head."""
    if (wrong := not_of(kernel, ("successor", "predecessor"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    for n in LENGTHS:
        order = np.random.default_rng(n).permutation(n)
        successor, found, blocks = list_along(order), np.arange(n, dtype=np.int32), -(-n // BLOCK)
        expected = found.copy()
        expected[order[1:]] = order[:-1]
        launched, given = f"{_blocks(blocks)}; a list of {n} nodes.", successor.copy()
        p = profile(kernel)[blocks, BLOCK](successor, found)
        is_untouched = n > 1 and np.array_equal(found, np.arange(n))
        if (wrong := _input_changed(launched, successor=(successor, given))) is not None:
            return wrong
        if (wrong := nothing_right(p, is_untouched, "predecessor", launched, _at_the_tail(p, order))) is not None:
            return wrong
        if n > 1 and np.array_equal(found, successor):
            words = "predecessor is successor once more. Wanted is who points to a node, not to whom it points."
            return not_yet(f"{launched} {words}")
        if wrong_words := _first_wrong(predecessor=(found, expected)):
            return not_yet(f"{launched} {wrong_words}")
        if n == LENGTHS[0]:
            arguments = successor, np.arange(n, dtype=np.int32)
            if (wrong := _written_alone(kernel, p, blocks, arguments, launched)) is not None:
                return wrong
        loads = p.counters.global_load_requests / p.counters.warps
        if loads > LOADS_OF_A_SEARCH:
            return not_yet(
                f"{launched} It is right. But a warp sends {loads:.0f} requests to load, for a node a lane: that is a "
                "search. Nobody has to search: each node knows whom it points to."
            )
    return right(
        "The whole list, in one step, limited by one scattered store a node. To whom it points a node knows by itself. How "
        "far it is to the tail, it does not."
    )


def _at_the_tail(p: Any, order: np.ndarray) -> str:
    """What to say beside a race at the tail, which points to itself and so writes where its predecessor does."""
    tail = int(order[-1])
    meet_there = any(each.kind == "race" and each.index == (tail,) for each in p.hazards)
    return f" Node {tail} is the tail: what does its own thread write, and where?" if meet_there else ""


def double_buffers(kernel: Any) -> Reply:
    """A round of pointer jumping that reads the old arrays and writes the new ones, for lists of any length."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    reply = _judged_by_rounds(kernel, one_link_each, np.add, "rank")
    if reply is not None:
        return reply
    return right(
        "Four lists, no race. Who reads the old arrays finds them as they were, however the threads are ordered."
    )


def largest_ahead(kernel: Any) -> Reply:
    """A round of pointer jumping from an empty cell that finds the largest value from each node to the tail."""
    if (wrong := not_of(kernel, ("successor", "largest", "new_successor", "new_largest"))) is not None:
        return wrong
    reply = _judged_by_rounds(kernel, _values_of, np.maximum, "largest")
    if reply is not None:
        return reply
    return right(
        "Ten rounds, and every node knows the largest value ahead of it. What can be joined piece by piece can be found "
        "by jumping (the largest, the first that is negative; sums, too, if the tail counts 0)."
    )


def _values_of(successor: np.ndarray) -> np.ndarray:
    """Values below zero, all different."""
    drawn = np.random.default_rng(successor.size + 1).permutation(successor.size)
    below: np.ndarray = (drawn - 2 * EMPTY).astype(np.int32)
    return below


def _judged_by_rounds(
    kernel: Any, start: Callable[[np.ndarray], np.ndarray], join: Callable[..., np.ndarray], name: str
) -> Reply | None:
    """The reply to a kernel whose rounds go wrong, on lists of several lengths; None for one that is right in all.

    `start` gives the values before the first round, `join` what a round makes of a node's value and that of its
    successor; `name` is what they are called.
    """
    from autograder import profile

    for n in LENGTHS:
        successor, blocks = list_along(np.random.default_rng(n).permutation(n)), -(-n // BLOCK)
        values = start(successor)
        for number in range(1, 11):
            before = successor.copy(), values.copy()
            new_successor, new_values = np.full(n, EMPTY, np.int32), np.full(n, EMPTY, np.int32)
            launched = f"{_blocks(blocks)}; a list of {n} nodes, round {number}."
            p = profile(kernel)[blocks, BLOCK](successor, values, new_successor, new_values)
            is_untouched = bool((new_values == EMPTY).all() and (new_successor == EMPTY).all())
            inputs = {"successor": (successor, before[0]), name: (values, before[1])}
            changed = _input_changed(launched, **inputs)
            if (raced := _raced(p, kernel)) is not None:
                return not_yet(f"{launched} {raced}")
            wrong = nothing_right(p, is_untouched and changed is None, "the new arrays", launched) or changed
            if wrong is not None:
                return wrong
            wanted = join(before[1], before[1][before[0]])
            tail = np.flatnonzero(before[0] == np.arange(n))
            if number == 1 and n > LENGTHS[-2] and (new_successor == tail).all():
                return not_yet(f"{launched} All nodes point to the tail. A round looks one node ahead, no further.")
            if known := _known(new_values, before[0], before[1], wanted, name):
                return not_yet(f"{launched} {known}")
            pairs = {f"new_{name}": (new_values, wanted), "new_successor": (new_successor, before[0][before[0]])}
            if words := _first_wrong(**pairs):
                return not_yet(f"{launched} {words}")
            if number == 1 and n == LENGTHS[0]:
                arguments = (*before, np.full(n, EMPTY, np.int32), np.full(n, EMPTY, np.int32))
                if (alone := _written_alone(kernel, p, blocks, arguments, launched)) is not None:
                    return alone
            successor, values = new_successor, new_values
    return None


def _raced(p: Any, kernel: Any) -> Hazard | None:
    """The first race that double buffers would spare, with a remedy: old arrays are only read, new ones only written."""
    names = parameters(kernel)
    hazards: tuple[Hazard, ...] = p.hazards
    for each in hazards:
        if each.kind == "race" and each.array in names[:2]:
            return replace(each, remedy=f"Leave `{each.array}` as it is, and write `{names[2 + names.index(each.array)]}`.")
        if each.kind == "race" and each.array in names[2:] and not (each.writes and each.other_writes):
            old = names[names.index(each.array) - 2]
            return replace(each, remedy=f"`{each.array}` is for the next round: read `{old}`.")
    return None


def _known(found: np.ndarray, successor: np.ndarray, values: np.ndarray, wanted: np.ndarray, name: str) -> str:
    """A mistake that the new values of a round give away, in words; none where they are right."""
    theirs = values[successor]
    mistakes = {
        f"new_{name} is {name} as it was: each node keeps its own. It has to ask the node that it points to.": values,
        f"new_{name} is the {name} of the node pointed to alone. What becomes of the node's own?": theirs,
        f"+= reads new_{name}, in which nothing stands yet.": EMPTY + theirs,
        "These are sums. Of the two values the larger one stays.": values + theirs,
        "These are the smaller of two values.": np.minimum(values, theirs),
        "The numbers of nodes are compared here. Compare what stands in largest.": np.maximum(values, successor),
    }
    if np.array_equal(found, wanted):
        return ""
    return next((words for words, each in mistakes.items() if np.array_equal(found, each)), "")


def _first_wrong(**arrays: tuple[np.ndarray, np.ndarray]) -> str:
    """The first element, of these (found, wanted) by name, that is not as it should be, in words."""
    for name, (found, wanted) in arrays.items():
        wrong = np.flatnonzero(found != wanted)
        if wrong.size:
            at = int(wrong[0])
            is_now = "is still what stood there before the launch" if found[at] == EMPTY else f"is {found[at]}"
            return f"{name}[{at}] should be {wanted[at]} and {is_now} ({wrong.size} of {found.size} are wrong)."
    return ""


def _input_changed(launched: str, **arrays: tuple[np.ndarray, np.ndarray]) -> Reply | None:
    """The reply to a launch after which one of these arrays (now, before; by name) is not as it was; None otherwise."""
    for name, (now, before) in arrays.items():
        if not np.array_equal(now, before):
            return not_yet(f"{launched} The kernel writes to {name}, which it reads. Leave that as it is.")
    return None


def _written_alone(kernel: Any, p: Any, blocks: int, arguments: tuple[Any, ...], launched: str) -> Reply | None:
    """The reply to a launch p of which few threads write the last array; None where most do, or do so atomically."""
    if p.counters.global_atomic_requests:
        return None
    return written_alone(kernel, blocks, BLOCK, arguments, launched)


def _blocks(count: int) -> str:
    return f"{count} block{'s' if count > 1 else ''} of {BLOCK} threads"


def _cut_lists() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lists as (order, splitters): some nodes at random, and head and tail."""
    for n in LENGTHS:
        order = np.random.default_rng(n).permutation(n)
        drawn = np.random.default_rng(n + 1).choice(n, -(-n // 8), replace=False)
        yield order, np.random.default_rng(n + 2).permutation(np.union1d(drawn, ends_of(list_along(order))))


def _walked(order: np.ndarray, splitters: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, ...]:
    """What walks leave: sublist and steps by node, following and lengths by splitter; links[i] counts i's own link."""
    sublist, steps = np.zeros(order.size, np.int32), np.zeros(order.size, np.int32)
    following, lengths = np.zeros(splitters.size, np.int32), np.zeros(splitters.size, np.int32)
    number = {int(node): index for index, node in enumerate(splitters)}
    index = count = 0
    for node in (int(each) for each in order):
        if node in number:
            following[index], lengths[index] = number[node], count
            index, count = number[node], 0
        sublist[node], steps[node] = index, count
        count += int(links[node])
    following[index], lengths[index] = index, 0  # the tail
    return sublist, steps, following, lengths


def ranks_from_splitters(kernel: Any) -> Reply:
    """A kernel of (sublist, steps, splitter_rank, rank), from an empty cell, that puts each node's rank together."""
    if (wrong := not_of(kernel, ("sublist", "steps", "splitter_rank", "rank"))) is not None:
        return wrong
    from autograder import profile

    for order, splitters in _cut_lists():
        n, blocks = order.size, -(-order.size // BLOCK)
        expected = np.zeros(n, np.int32)
        expected[order] = np.arange(n)[::-1]
        sublist, steps, *_ = _walked(order, splitters, np.ones(n, np.int32))
        splitter_rank, rank = expected[splitters], np.full(n, EMPTY, np.int32)
        given = sublist.copy(), steps.copy(), splitter_rank.copy()
        launched = f"{_blocks(blocks)}; {n} nodes, {splitters.size} splitters."
        p = profile(kernel)[blocks, BLOCK](sublist, steps, splitter_rank, rank)
        is_untouched, which = bool((rank == EMPTY).all()), _which_splitter(kernel, p)
        if (wrong := nothing_right(p, is_untouched, "rank", launched, which, Owners(BLOCK, rank.shape))) is not None:
            return wrong
        names = "sublist", "steps", "splitter_rank"
        pairs = zip((sublist, steps, splitter_rank), given, strict=True)
        if (wrong := _input_changed(launched, **dict(zip(names, pairs, strict=True)))) is not None:
            return wrong
        own = splitter_rank[sublist]
        mistakes = {
            "The steps are added. A node behind its splitter is nearer to the tail, not further from it.": own + steps,
            "These are the ranks of the splitters. How far behind its splitter is the node?": own,
            "These are the steps alone. How far is it from there to the tail?": steps,
            "Here the rank is taken away from the steps: a rank is never below zero.": steps - own,
        }
        if not np.array_equal(rank, expected):
            known = next((words for words, each in mistakes.items() if np.array_equal(rank, each)), "")
            return not_yet(f"{launched} {known or _first_wrong(rank=(rank, expected))}")
        arguments = sublist, steps, splitter_rank, np.full(n, EMPTY, np.int32)
        if (wrong := _written_alone(kernel, p, blocks, arguments, launched)) is not None:
            return wrong
    return right(
        "Every node works out its own rank, and waits for nobody: two numbers of its own, and one look-up. In a long list "
        "sublist, steps and rank are read and written in order, 4 sectors a request; most of what is moved is the look-up "
        "in splitter_rank."
    )


def _which_splitter(kernel: Any, p: Any) -> str:
    """What to say beside a place outside splitter_rank that a thread with a node of its own looks up."""
    is_there = any(each.kind == "out_of_bounds" and each.array == parameters(kernel)[2] for each in p.hazards)
    return " splitter_rank has one number a splitter. Which splitter is node's? sublist[node]." if is_there else ""


def walk_links(kernel: Any) -> Reply:
    """The walk, changed so that the link from node i counts links[i]: what walks along a list of splitters needs."""
    names = ("successor", "links", "splitters", "sublist", "steps", "following", "lengths")  # the first three are read
    if (wrong := not_of(kernel, names)) is not None:
        return wrong
    from autograder import profile

    for order, splitters in _cut_lists():
        n, m = order.size, splitters.size
        successor, blocks = list_along(order), -(-m // BLOCK)
        links = np.random.default_rng(n + 3).integers(2, 50, n).astype(np.int32)
        links[order[-1]] = 0
        sublist, steps = np.full(n, -1, np.int32), np.zeros(n, np.int32)
        sublist[splitters] = np.arange(m)
        following, lengths = np.full(m, EMPTY, np.int32), np.full(m, EMPTY, np.int32)
        launched = f"{_blocks(blocks)}; a list of {n} nodes, {m} of them splitters."
        given = successor, links, splitters.astype(np.int32)
        before = [each.copy() for each in given]
        wanted_sublist, wanted_steps, wanted_following, wanted_lengths = _walked(order, splitters, links)
        _, ones, _, ones_lengths = _walked(order, splitters, one_link_each(successor))
        p = profile(kernel)[blocks, BLOCK](*given, sublist, steps, following, lengths)
        is_untouched = bool((following == EMPTY).all() and (lengths == EMPTY).all())
        if (wrong := nothing_right(p, is_untouched, "following and lengths", launched)) is not None:
            return wrong
        pairs = zip(given, before, strict=True)
        if (wrong := _input_changed(launched, **dict(zip(names[:3], pairs, strict=True)))) is not None:
            return wrong
        if words := _first_wrong(sublist=(sublist, wanted_sublist), following=(following, wanted_following)):
            return not_yet(f"{launched} The way itself has changed: {words}")
        if n > 2 and np.array_equal(steps, ones) and np.array_equal(lengths, ones_lengths):
            return Reply("your turn", "Every link still counts one. The link from a node counts links[node].")
        behind = links - links[splitters][wanted_sublist]
        if np.array_equal(steps, wanted_steps + behind) and (behind != 0).any():
            return not_yet(
                f"{launched} steps are one link off: the link to a node is that of the node that points to it."
            )
        before_node = np.arange(n)
        before_node[order[1:]] = order[:-1]
        if words := _first_wrong(steps=(steps, wanted_steps)):
            late = np.where(ones > 0, wanted_steps - links[before_node], 0)
            first = np.where(ones > 0, wanted_steps - links[splitters][wanted_sublist], 0)
            twice = np.where(ones > 0, wanted_steps + links[splitters][wanted_sublist], 0)
            of_index = ones * links[wanted_sublist]
            mistakes = {
                "In the loop every link still counts one.": ones,
                "steps[after] is stored before the link to it is counted.": late,
                "The first link of each walk, the one from its splitter, is not counted.": first,
                "The first link of each walk, the one from its splitter, is counted twice.": twice,
                "links[index] is the link of node number index. The walk stands at another: `node`.": of_index,
            }
            known = next((each for each, found in mistakes.items() if np.array_equal(steps, found)), "")
            return not_yet(f"{launched} {words} {known}".rstrip())
        if not np.array_equal(lengths, wanted_lengths):
            ends = splitters[wanted_following]
            of_after = wanted_lengths - links[before_node[ends]] + links[ends]
            of_after[wanted_following == np.arange(m)] = 0
            is_of_after = np.array_equal(lengths, of_after)
            known = " The last link is that of `node`." if is_of_after else ""
            return not_yet(f"{launched} {_of_the_last_link(lengths, wanted_lengths, following)}{known}")
    return right("A list whose links count what they like. With links of one each it is the walk that you know.")


def _of_the_last_link(lengths: np.ndarray, wanted: np.ndarray, following: np.ndarray) -> str:
    """What is wrong with lengths where all steps are right: something about the link to the next splitter."""
    off = lengths - wanted
    inner = following != np.arange(following.size)
    words = "The steps are right, the lengths are not: "
    if (off[inner] < 0).all() and (off[~inner] == 0).all():
        return words + "the last link of each walk, the one to the next splitter, counts too little. Whose link is it?"
    if np.array_equal(off[~inner], np.ones((~inner).sum())):
        return words + "from the tail no link leads on, and links has a 0 for it."
    return words + _first_wrong(lengths=(lengths, wanted))


def longest_walk(answer: Any) -> Reply:
    """How long the longest sublist will be, N = 2^24 with N / 64 random splitters, by theory"""
    most_likely = 64 * math.log(2**18)
    expected = most_likely + 64 * EULER
    reply = judge_number(
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
        hint=(hint := "1 / p is 64 here. How many walks are there, and what is 1 / p x (ln s + 0.58)?"),
        tolerance=0.01,
    )
    if reply.outcome == "not yet" and reply.words.endswith(hint):
        least, most = (most_likely - 64 * math.log(-math.log(each)) for each in (0.001, 0.999))
        if least < float(answer) < most:  # all but two lists in a thousand lie there
            size = "more" if answer > expected else "less"
            return not_yet(f"{answer:,} is {size} than the *average* of the longest; one list may well have it. {hint}")
    return reply


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
    praise = "Splitters at random places cannot be ruined by any list made without knowing them."
    return right(f"One walk of {longest} of {n} nodes. {praise}")
