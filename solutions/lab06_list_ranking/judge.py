"""Lists of any number and length for each stage and for the whole, for `autograder fuzz`: nothing comes from the checks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.grading.fuzzing.judging import JudgedCall, size
from autograder.records.runs import RunRequest, Uninitialised

ROWS = 8  # of scratch


def cases(rng: np.random.Generator) -> Iterator[JudgedCall]:
    """Walks, rounds and sums alone, on few and on many splitters and lists; then whole rankings."""
    for nodes, lists in ((60, 3), (900, 1), (700, 40)):
        block = 32 * int(rng.integers(1, 9))
        successor, rank = random_lists(rng, size(rng, nodes // 2, nodes), lists)
        splitters = rng.permutation(len(successor))[: int(rng.integers(1, max(2, len(successor) // 4)))].astype(
            np.int32
        )
        yield walks(successor, splitters, block)
        yield adds(successor, rank, splitters, block)
    for count, lists in ((1, 1), (2, 1), (70, 5), (int(rng.integers(100, 400)), 1), (int(rng.integers(300, 900)), 30)):
        yield rounds(rng, count, lists)
    for nodes, lists in ((1, 1), (2, 2), (30, 1), (300, 1), (1500, 60), (6000, 1), (20_000, 7)):
        many = nodes if nodes < 3 else size(rng, nodes // 2, nodes)
        yield ranked(*random_lists(rng, many, min(lists, many)))
    yield ranked(*random_lists(rng, 256 * int(rng.integers(2, 9)), 1))
    yield ranked(*backwards(512 * int(rng.integers(1, 5))))
    yield ranked(*random_lists(rng, 8193, 1))  # every power of two nodes a splitter: the last one begins a block


def random_lists(rng: np.random.Generator, nodes: int, lists: int) -> tuple[np.ndarray, np.ndarray]:
    """Successors and ranks of so many lists, of random lengths, over all nodes."""
    order = rng.permutation(nodes)
    ends = np.sort(rng.choice(np.arange(1, nodes), lists - 1, replace=False)) if lists > 1 else np.zeros(0, int)
    successor, rank = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    for part in np.split(order, ends):
        successor[part[:-1]], successor[part[-1]] = part[1:], part[-1]
        rank[part] = np.arange(len(part))[::-1]
    return successor, rank


def backwards(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """One list from the last node to the first: in whole blocks it begins with the last thread of the last one."""
    before = np.arange(nodes, dtype=np.int32)
    return np.maximum(before - 1, 0), before


def stepwise(successor: np.ndarray, splitters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sublists, steps, following and links, one step at a time."""
    mark = np.full(len(successor), -1, np.int32)
    mark[splitters] = np.arange(len(splitters))
    sublist, steps = mark.copy(), np.zeros(len(successor), np.int32)
    following, links = np.zeros(len(splitters), np.int32), np.zeros(len(splitters), np.int32)
    for number, node in enumerate(splitters):
        done = 0
        while successor[node] != node and mark[successor[node]] < 0:
            node, done = successor[node], done + 1
            sublist[node], steps[node] = number, done
        ends = successor[node] == node
        following[number] = -1 if ends else mark[successor[node]]
        links[number] = done if ends else done + 1
    return sublist, steps, following, links


def differ(name: str, got: np.ndarray, right: np.ndarray) -> str:
    other = np.flatnonzero(got != right)
    return f"{name}[{other[0]}] is {got[other[0]]}, not {right[other[0]]}" if other.size else ""


def walks(successor: np.ndarray, splitters: np.ndarray, block: int) -> JudgedCall:
    sublist, steps, following, links = stepwise(successor, splitters)
    mark = np.full(len(successor), -1, np.int32)
    mark[splitters] = np.arange(len(splitters))

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        reached = sublist >= 0
        return (
            differ("sublist", outputs["sublist"], sublist)
            or differ("steps where walks come by", outputs["steps"][reached], steps[reached])
            or differ("following", outputs["following"], following)
            or differ("links", outputs["links"], links)
            or differ("successor", outputs["successor"], successor)
        )

    count, nodes = len(splitters), len(successor)
    unwritten = {name: Uninitialised((count,), np.int32) for name in ("following", "links")}
    arrays = {
        "successor": successor,
        "splitters": splitters,
        "sublist": mark,
        "steps": Uninitialised((nodes,), np.int32),
    }
    request = RunRequest("walk_sublists", arrays | unwritten, grid=-(-count // block), block=block)
    return JudgedCall(request, wrong, f"{count} walks over {nodes} nodes, blocks of {block}")


def adds(successor: np.ndarray, rank: np.ndarray, splitters: np.ndarray, block: int) -> JudgedCall:
    sublist, steps, _, _ = stepwise(successor, splitters)
    steps = np.where(sublist >= 0, steps, 1_000_000).astype(np.int32)  # nobody is to look there
    arrays = {"successor": successor, "sublist": sublist, "steps": steps, "splitter_rank": rank[splitters].copy()}
    arguments = arrays | {"rank": Uninitialised(rank.shape, np.int32)}
    request = RunRequest("add_up", arguments, grid=-(-len(successor) // block), block=block)
    told = f"add_up for {len(successor)} nodes"
    return JudgedCall(request, lambda outputs, _: differ("rank", outputs["rank"], rank), told)


def rounds(rng: np.random.Generator, count: int, lists: int) -> JudgedCall:
    successor, _ = random_lists(rng, count, lists)
    last = successor == np.arange(count)
    following = np.where(last, -1, successor).astype(np.int32)
    links = rng.integers(0, 90, count).astype(np.int32)
    right = links.copy()
    for _ in range(count):  # one sublist further each time, from the ends
        further = np.where(last, links, links + right[successor])
        if np.array_equal(further, right):
            break
        right = further

    spare = {name: Uninitialised((count,), np.int32) for name in ("spare_following", "spare_links")}
    arguments = {"following": following, "links": links} | spare
    request = RunRequest("rank_splitters", arguments, wants_returned=True)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        if not isinstance(returned, np.ndarray) or returned.shape != right.shape:
            return "rank_splitters does not return the ranks"
        return differ("the returned array", returned, right)

    return JudgedCall(request, wrong, f"{count} splitters in {lists} lists")


def ranked(successor: np.ndarray, rank: np.ndarray) -> JudgedCall:
    nodes = len(successor)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        return differ("rank", outputs["rank"], rank) or differ("successor", outputs["successor"], successor)

    scratch = Uninitialised((ROWS, nodes), np.int32)
    arguments = {"successor": successor, "rank": Uninitialised((nodes,), np.int32), "scratch": scratch}
    return JudgedCall(RunRequest("rank_list", arguments, scratch=("scratch",)), wrong, f"{nodes} nodes in whole")
