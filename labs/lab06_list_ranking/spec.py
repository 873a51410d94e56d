"""Lab 6, list ranking: START HERE to see what is asked for. Thresholds first, then the checks by part.

The three stages are asked for by name and judged alone, each on inputs of the grader's, so that one wrong stage costs
its own points only. They are judged on the simulated GPU, also where there is a real one: a walk that never ends would
hang that, and a jump in place gives right ranks there on one day and wrong ones on the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import GraderFault
from autograder.grading import Attempt, CheckFailed, Lab, Required, check
from autograder.grading.attempt import Trial
from autograder.grading.kept import KEPT
from autograder.grading.verified import expect_kernels_read, expect_no_transfers
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch, Run, RunRequest, Uninitialised

from .lists import (
    Array,
    by_remainders,
    in_bit_reversed_order,
    laid_out,
    list_from_zero,
    lists_along,
    random_lists,
    random_reduced_lists,
    ranks_along,
    ranks_follow,
    ranks_of_sublists,
    walked,
)

Recipe = tuple[str, Array]  # of an order of nodes: what NumPy makes it again by, and the order

SCRATCH_ROWS = 8  # of n int32 each, lent to `rank_list`
STEPS_OF_NOBODY = 1_000_000  # where no walk came by: with -1 the node ahead of a splitter may get its rank by chance
LONG = 300  # nodes that are walked along by one thread, where all that is looked at is whether it comes to the end
BLOCK = 32  # of the launches that grade a kernel alone: small, so that several blocks take part

# Numbers that all threads together load from global memory, per node. Pointer jumping on all n nodes loads four a node
# in every round, 52 in 13 rounds; with a splitter every 16 nodes walking, ranking the splitters and adding up take 9,
# with one every 8 nodes 12. Asked for: less than half of what 13 rounds take.
LOADS_A_NODE = 24.0

# Loads that a warp makes one after the other, on average over a launch: with a splitter every 16 nodes 130, every 64
# nodes 300; a thread that walks alone makes two a node. And lanes of a warp at work: 7 to 9 of 32 where splitters have
# consecutive threads, 2.1 where every node has a thread and every sixteenth of them walks, 1.0 where one walks alone.
LOADS_OF_A_WARP = 700
LOADS_OF_THE_SLOWEST_WARP = 2_000  # right answers: 120 to 590
LANES_AT_WORK = 4.0
COUNTED_NODES = 1 << 13
MATTERS = 0.3  # a launch is looked at if it makes this share of the loads of the one that makes most

# Orders in which splitters at even distances are ruined: lists that visit their nodes by reversed bits, for distances that
# are even, and by the remainders of an odd prime number, for every other distance up to where walks get too long; once
# from remainder 0 on and once from the middle one. In one of them all splitters come near the beginning or near the end, and
# most of the list is one thread's: a warp makes 1.2 to 4 loads for each node of the list. With splitters at places that look
# like chance it was 0.6 at most, with the simplest of hashes. All of them lie in one array, so that no distance goes by the
# order: who takes another one for other sizes has one for all of these. Those with the larger numbers begin with remainder 0
# only: if splitters come half way, the nodes ahead of them have half the list to go, and so has the last walk.
MODULI = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
LARGER_MODULI = (59, 61, 67, 71, 73, 79, 83)
REVERSED_BITS = 11  # of a node's number: lists of 2,048 nodes, whose first one is up to the seed
NODES_TO_TELL = 512  # are enough to tell which of the lists it is
LOADS_A_NODE_OF_THE_SLOWEST = 1.0
SEVERAL = "reversed bits or remainders, one of many in an array"  # which of them, nobody can tell

# The baseline is Wyllie's pointer jumping on all nodes. On an H200, with a million nodes, a splitter every 16 nodes was 2.0
# times as fast, every 32 nodes 1.57 (predicted: 2.1 and 1.45), every 100 nodes 0.80 (0.67); with more nodes each gains more.
# How much that is hangs on the longest sublist, which the seed decides: with every 32 nodes 1.20 to 1.55 are predicted over
# 17 seeds; on an H200 seven of these are 1.50 to 1.59. All that is not to pass has at most 1.07 by the clock, 0.97 by
# prediction. See calibration/verdicts.md.
SPEEDUP = 1.12
NO_POINTS_AT = 1.03  # the baseline again comes within 3 % of itself by the clock, and earns nothing
SPEED_NODES = 1 << 20
FEWER_NODES = 1 << 16  # up to so many fewer than that: how many is up to the seed
BEST_KNOWN = 2.47  # the ratio of the best known answer
# The baseline's 22 launches take the simulated GPU seconds, and all lists of one size give the same: so much, and so much
# for each node. A test runs them.
BASELINE_ESTIMATED_NS = (28_790, 0.3425)

# Units of simulated work in one run, several times what a right answer needs: what a loop without end gets.
STAGE_WORK_LIMIT = 300_000
PROFILE_WORK_LIMIT = 4_000_000
WORK_LIMIT = 100_000_000  # one thread that walks alone is told so, and not that its loop never ends
SPEED_WORK_LIMIT = 40_000_000

ORDERS = {
    "np.arange(1000)": np.arange(1000),
    "np.arange(1000)[::-1]": np.arange(1000)[::-1],
    "np.roll(np.arange(1000), 500)": np.roll(np.arange(1000), 500),
}  # the same twice: for reports, and for us
OUTSIDE = ("out_of_bounds", "negative_index")
UNWRITTEN = ("uninitialised_read",)
STORES = ("to_device", "copy_to_device", "an assignment", "a NumPy array as an argument")  # of host code
BARRIERS = ("divergent_barrier",)  # whether a block waits there for ever is up to the GPU


def profiled_ranking(rng: np.random.Generator) -> RunRequest:
    """The list whose counted work the report shows by source line."""
    return replace(ranking_request(laid_out(rng.permutation(2048))[0]), work_limit=PROFILE_WORK_LIMIT)


def right_ranks(attempt: Attempt, request: RunRequest, outputs: Mapping[str, Array]) -> None:
    """What ranks are held to where they are counted or timed."""
    successor = request.arguments["successor"]
    if not ranks_follow(successor, outputs["rank"]):  # slower, and says which is wrong
        attempt.expect_close(outputs["rank"], KEPT.of(ranks_along, successor), "rank")


def right_ranks_of_splitters(attempt: Attempt, request: RunRequest, outputs: Mapping[str, Array]) -> None:
    """The ranks are in one of two arrays, whichever is returned: `expect_ranks_of_splitters` looks there."""
    raise GraderFault("rank_splitters alone is neither counted nor timed.")


LAB = Lab(
    title="List ranking: walk sublists, rank their splitters, add up",
    lesson="06b_list_ranking",
    hours=5,
    required=(
        Required("walk_sublists", "kernel", ("successor", "splitters", "sublist", "steps", "following", "links")),
        Required("rank_splitters", "host", ("following", "links", "spare_following", "spare_links")),
        Required("add_up", "kernel", ("successor", "sublist", "steps", "splitter_rank", "rank")),
        Required("rank_list", "host", ("successor", "rank", "scratch")),
    ),
    results={"rank_list": right_ranks, "rank_splitters": right_ranks_of_splitters},
    baseline="baseline.py",
    profile=profiled_ranking,
    seconds_per_run=60,  # a million nodes are simulated whole: seconds on a slow machine
)


# ---- requests --------------------------------------------------------------------------------------------------------


def kernel_request(function: str, threads: int, arguments: dict[str, Any], block: int = BLOCK) -> RunRequest:
    """A launch of one kernel with at least this many threads."""
    return RunRequest(function, arguments, grid=-(-threads // block), block=block, work_limit=STAGE_WORK_LIMIT)


def walk_request(successor: Array, splitter: Array, block: int = BLOCK) -> RunRequest:
    """`walk_sublists` alone: each splitter carries its number in `sublist`, all other nodes -1."""
    m, n = len(splitter), len(successor)
    sublist = np.full(n, -1, np.int32)
    sublist[splitter] = np.arange(m)
    unwritten = {name: Uninitialised((m,), np.int32) for name in ("following", "links")}
    arrays = {"successor": successor, "splitters": splitter, "sublist": sublist, "steps": Uninitialised((n,), np.int32)}
    return kernel_request("walk_sublists", m, arrays | unwritten, block)


def jump_request(following: Array, links: Array) -> RunRequest:
    """`rank_splitters` alone, on a reduced list and two unwritten arrays of its size."""
    spare = {name: Uninitialised(links.shape, np.int32) for name in ("spare_following", "spare_links")}
    arrays = {"following": following, "links": links} | spare
    return RunRequest("rank_splitters", arrays, work_limit=STAGE_WORK_LIMIT, wants_returned=True)


def add_request(successor: Array, splitter: Array) -> RunRequest:
    """`add_up` alone, after right walks and ranks; the steps of nodes that no walk came by make no rank right."""
    sublist, steps, following, links = KEPT.of(walked, successor, splitter)
    steps = np.where(sublist < 0, STEPS_OF_NOBODY, steps).astype(np.int32)
    splitter_rank = KEPT.of(ranks_of_sublists, following, links)
    arrays = {"successor": successor, "sublist": sublist, "steps": steps, "splitter_rank": splitter_rank}
    return kernel_request("add_up", len(successor), arrays | {"rank": Uninitialised(successor.shape, np.int32)})


def ranking_request(successor: Array) -> RunRequest:
    """`rank_list` on a whole list."""
    n = len(successor)
    arrays = {"successor": successor, "rank": Uninitialised((n,), np.int32)}
    arrays["scratch"] = Uninitialised((SCRATCH_ROWS, n), np.int32)
    return RunRequest("rank_list", arrays, work_limit=WORK_LIMIT, scratch=("scratch",))


def every(successor: Array, distance: int, *more: int) -> Array:
    """Splitters this many nodes apart in memory, and at these nodes."""
    return KEPT.of(_every, len(successor), distance, *more)


def _every(nodes: int, distance: int, *more: int) -> Array:
    return np.unique([*range(0, nodes, distance), *more]).astype(np.int32)


# ---- expectations ----------------------------------------------------------------------------------------------------


def expect_none(hazards: Sequence[Hazard]) -> None:
    """Fails the check over any of these hazards."""
    if hazards:
        raise CheckFailed(str(hazards[0]), hazards=hazards)


def work_limit(successor: Array) -> int:
    """Of a stage: so many units for whoever walks along the whole of a long list."""
    return PROFILE_WORK_LIMIT if successor.size == LONG else STAGE_WORK_LIMIT


def expect_walks(attempt: Attempt, successor: Array, splitter: Array, block: int = BLOCK) -> None:
    """Fails the check unless `walk_sublists` finds what there is; nobody looks at `steps` where no walk comes by."""
    run = attempt.simulate(replace(walk_request(successor, splitter, block), work_limit=work_limit(successor)))
    sublist, steps, following, links = KEPT.of(walked, successor, splitter)
    attempt.expect_close(run.outputs["sublist"], sublist)
    found = run.outputs["steps"]
    if not (run.written["steps"] | (sublist < 0)).all():
        attempt.expect_close(found, steps)
    attempt.expect_close(np.where(sublist < 0, steps, found), steps, "steps")
    attempt.expect_close(run.outputs["links"], links)
    attempt.expect_close(run.outputs["following"], following)
    attempt.expect_inputs_unchanged(run, ["successor", "splitters"])


def expect_ranks_of_splitters(attempt: Attempt, lengths: Sequence[int]) -> None:
    """Fails the check unless `rank_splitters` returns an array with the rank of each splitter, whatever blocks it has."""
    following, links = random_reduced_lists(attempt, lengths)
    run = attempt.simulate(jump_request(following, links))
    expect_none([h for h in run.hazards if h.kind in BARRIERS])  # 96 splitters may fill whole blocks
    if not isinstance(run.returned, np.ndarray):
        raise CheckFailed("rank_splitters returns no array; it is to return the array that holds the ranks.")
    in_place = any(np.array_equal(run.returned, each) for each in run.outputs.values())
    if not in_place or any(each.what in STORES for each in run.transfers):  # from the host
        expect_kernels_read(run, attempt.trials[-1].request)
    attempt.expect_close(run.returned, KEPT.of(ranks_of_sublists, following, links), "ranks")


def expect_ranks(attempt: Attempt, successor: Array, rank: Array, *, simulate: bool = False) -> Run:
    """Fails the check unless `rank_list` ranks every node and leaves `successor` as it was."""
    run = attempt.run(ranking_request(successor), on="simulated" if simulate else "device")
    attempt.expect_close(run.outputs["rank"], rank)
    attempt.expect_inputs_unchanged(run)
    return run


@contextmanager
def naming_negative_indices(run: Run) -> Iterator[None]:
    """Where numbers are wrong, adds the first index below zero to what is said: by itself it may be meant."""
    try:
        yield
    except CheckFailed as wrong:
        found = [h for h in run.hazards if h.kind == "negative_index"]
        if not found:
            raise
        hazards = (*wrong.hazards, *found)
        raise CheckFailed(f"{wrong} {found[0]}", mismatches=wrong.mismatches, hazards=hazards) from wrong


def counted(attempt: Attempt) -> Run:
    """The run whose work is counted, of a list whose length the seed draws; work counts where the ranks are right."""
    trial = attempt.once("counted", lambda by: ranking_request(list_from_zero(by, nodes_counted(by))[0]))
    return attempt.counted(trial) if trial.run.launches else trial.run  # where there is none, that is what is said


def nodes_counted(attempt: Attempt) -> int:
    """About as many nodes as `COUNTED_NODES`."""
    return attempt.drawn(COUNTED_NODES, COUNTED_NODES + COUNTED_NODES // 8)


def expect_shared_walks(attempt: Attempt, run: Run) -> float:
    """Fails the check where few threads, or few lanes of a warp, make most of the loads; the most loads of a warp."""
    slowest, fewest = slowest_on_average(run), min(busy_launches(run.launches), key=lanes_at_work)
    loads, lanes = loads_of_a_warp(slowest), lanes_at_work(fewest)
    longest = max(run.launches, key=loads_of_the_slowest_warp)  # others may load far more: the list still waits for it
    most = loads_of_the_slowest_warp(longest)
    attempt.record(loads_of_a_warp=loads, limit=LOADS_OF_A_WARP, lanes_at_work=lanes, loads_of_the_slowest_warp=most)
    expect_loads_of_a_warp(slowest)
    if most > LOADS_OF_THE_SLOWEST_WARP:  # however many others have less to do, or nothing
        raise CheckFailed(
            f"The busiest warp of `{longest.kernel}` makes {most:,.0f} loads one after the other; "
            f"at most {LOADS_OF_THE_SLOWEST_WARP:,} asked for."
        )
    if lanes < LANES_AT_WORK:
        raise CheckFailed(
            f"Of the 32 lanes of a warp {lanes:.3g} are at work in `{fewest.kernel}`, on average: some thread walks "
            f"alone. At least {LANES_AT_WORK:g} asked for."
        )
    return loads


def expect_loads_of_a_warp(launch: Launch, where: str = "") -> None:
    """Fails the check where the launch's warps make too many loads one after the other, on average."""
    loads, warps = loads_of_a_warp(launch), launch.counters.warps
    if loads > LOADS_OF_A_WARP:
        average = f", on average of its {warps:,} warps" if warps > 1 else ""
        raise CheckFailed(
            f"{where}A warp of `{launch.kernel}` makes {loads:,.0f} loads one after the other{average}; "
            f"at most {LOADS_OF_A_WARP:,} asked for."
        )


def busy_launches(launches: Sequence[Launch]) -> list[Launch]:
    most = max(each.counters.global_load_requests for each in launches)
    return [each for each in launches if each.counters.global_load_requests >= MATTERS * most]


def slowest_on_average(run: Run) -> Launch:
    """Of the launches that make many loads, the one whose warps make most, on average."""
    return max(busy_launches(run.launches), key=loads_of_a_warp)


def loads_of_the_slowest_warp(launch: Launch) -> float:
    """Loads of the warp that makes most, whatever all others do; an atomic update gives what was there as well."""
    return launch.counters.slowest_warp_loads


def loads_of_a_warp(launch: Launch) -> float:
    return launch.counters.global_load_requests / launch.counters.warps


def lanes_at_work(launch: Launch) -> float:
    """Of a warp on average: lanes that execute, or the numbers that a load gives where those are fewer."""
    counters = launch.counters
    loaded = counters.global_load_useful_bytes / 4 / max(1, counters.global_load_requests)
    return min(counters.threads_per_instruction, loaded)


def loads_a_node(run: Run) -> float:
    """Numbers loaded for each node, from whatever memory; an atomic update gives one for each sector at least."""
    counters = run.counters
    loads = counters.global_load_useful_bytes / 4 + counters.global_atomic_sectors + 32 * counters.shared_load_requests
    return loads / run.outputs["rank"].size


def expect_few_loads(run: Run) -> None:
    """Fails the check where a node costs as many loads as with pointer jumping on all nodes."""
    loads, nodes = loads_a_node(run), run.outputs["rank"].size
    if loads > LOADS_A_NODE:
        raise CheckFailed(f"{loads:.3g} numbers loaded for each of {nodes:,} nodes; at most {LOADS_A_NODE:g} asked for.")


# ---- part 1: walk the sublists ---------------------------------------------------------------------------------------


@check(points=2)
def walks_its_sublists(attempt: Attempt) -> None:
    """Walks: in one list, each node learns its sublist and its steps, each sublist its links and what follows."""
    successor, rank = random_lists(attempt, (24,))
    order = np.argsort(-rank)  # the nodes along the list
    expect_walks(attempt, successor, order[[0, 5, 6, 15]].astype(np.int32), block=4)  # a thread for each splitter


@check(points=1, after=("walks_its_sublists",))
def walks_inside_its_arrays(attempt: Attempt) -> None:
    """Walks: threads without a splitter touch nothing, and no two threads meet at one node."""
    successor, rank = random_lists(attempt, (26, 10))
    run = attempt.simulate(walk_request(successor, every(successor, 2)), may_fault=True)
    expect_none([h for h in run.hazards if h.severity == "error" or h.kind in OUTSIDE])


@check(points=2, after=("walks_inside_its_arrays",))
def walks_any_lists(attempt: Attempt) -> None:
    """Walks: several lists are walked right, lists of one node, splitters at heads, at tails and side by side."""
    for lengths, distance in (((1,), 1), ((2,), 1), ((5, 1, 1, 20, 2), 4), ((14, 3, 19), 8), ((36,), 1)):
        successor, rank = random_lists(attempt, lengths)
        tails = np.flatnonzero(rank == 0)[:2]
        expect_walks(attempt, successor, every(successor, distance, *tails))
    successor, rank = random_lists(attempt, (LONG,))  # a walk is as long as its list where nobody else walks
    expect_walks(attempt, successor, np.argmax(rank, keepdims=True).astype(np.int32))


# ---- part 2: rank the splitters --------------------------------------------------------------------------------------


@check(points=2)
def jumps_between_two_buffers(attempt: Attempt) -> None:
    """Splitters: no round of jumping reads what the same round writes, or what nobody wrote."""
    run = attempt.simulate(jump_request(*random_reduced_lists(attempt, (96,))), may_fault=True)
    if run.fault is None and not run.launches:
        raise CheckFailed("rank_splitters launches nothing.")
    expect_none([h for h in run.hazards if h.kind == "race" and h.severity == "error"])
    expect_none([h for h in run.hazards if h.kind in (*BARRIERS, *UNWRITTEN)])
    if run.fault is not None:
        raise CheckFailed(str(run.fault), hazards=run.hazards)


@check(points=3, after=("jumps_between_two_buffers",))
def ranks_the_splitters(attempt: Attempt) -> None:
    """Splitters: after enough rounds each has its rank, in the array that is returned; in one list or in several."""
    for lengths in ((8,), (7,), (1,), (2,), (3,), (65,), (9, 1, 2, 30), (400,), (1500,)):
        expect_ranks_of_splitters(attempt, lengths)


# ---- part 3: add up, and the whole list ------------------------------------------------------------------------------


@check(points=2)
def adds_up(attempt: Attempt) -> None:
    """Ranks: each node of a sublist gets its splitter's rank less its own steps."""
    successor, rank = random_lists(attempt, (36,))
    head = int(np.argmax(rank))
    run = attempt.simulate(add_request(successor, every(successor, 6, head)))
    attempt.expect_close(run.outputs["rank"], rank)


@check(points=2, after=("adds_up",))
def ranks_nodes_before_the_first_splitter(attempt: Attempt) -> None:
    """Ranks: nodes ahead of the first splitter of their list get a rank, too, also where a list has no splitter."""
    for lengths in ((36,), (3, 1, 20, 2, 10), (LONG,)):
        successor, rank = random_lists(attempt, lengths)
        heads = np.flatnonzero(~np.isin(np.arange(len(successor)), successor[rank > 0]))
        splitter = np.setdiff1d(every(successor, 8), heads).astype(np.int32)
        if lengths == (LONG,):
            splitter = np.flatnonzero(rank == 0).astype(np.int32)  # everybody has the whole way to go
        request = replace(add_request(successor, splitter), work_limit=work_limit(successor))
        run = attempt.simulate(request, may_fault=True)
        expect_none([h for h in run.hazards if h.kind in OUTSIDE])
        expect_none([h for h in run.hazards if h.kind in BARRIERS])
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        attempt.expect_close(run.outputs["rank"], rank)


STAGES = ("walks_any_lists", "ranks_the_splitters", "ranks_nodes_before_the_first_splitter")


@check(points=2, after=STAGES)
def ranks_one_list(attempt: Attempt) -> None:
    """Ranks: rank_list ranks one list of any length, from one node to many, and reads nothing that nobody wrote."""
    one = [random_lists(attempt, (length,)) for length in (1, 2, 15, 16, 100, 777, 2048)]
    # Whole blocks, and the list begins with what their last threads have: whoever leaves those out begins it twice.
    one.append(lists_along(attempt, np.arange(1024)[::-1], (1024,), "np.arange(1024)[::-1]"))
    for successor, rank in one:
        run = attempt.simulate(ranking_request(successor), may_fault=True)
        kinds = (*OUTSIDE, *UNWRITTEN, *BARRIERS, "race")
        expect_none([h for h in run.hazards if h.kind in kinds and h.severity == "error"])
        if run.fault is not None:
            raise CheckFailed(str(run.fault))
        with naming_negative_indices(run):
            attempt.expect_close(run.outputs["rank"], rank)
        attempt.expect_inputs_unchanged(run)


@check(points=2, after=("ranks_one_list",))
def ranks_any_lists(attempt: Attempt) -> None:
    """Ranks: rank_list ranks several lists in one array, in any order in memory, and longer ones."""
    # 8,193: in blocks of any power of two, and a splitter every power of two, one node and one splitter begin a block alone.
    for lengths in ((5, 1, 1, 300, 2, 40), (1,) * 50, (3000, 1000, 10, 1), (8193,)):
        expect_ranks(attempt, *random_lists(attempt, lengths))
    for recipe, order in ORDERS.items():
        expect_ranks(attempt, *lists_along(attempt, order, (order.size,), recipe))
    # So many nodes that ranking the splitters may go by walks, too, and not by one round number of threads.
    successor, rank = random_lists(attempt, (20_000 + int(attempt.rng.integers(4_000)), 20_000, 500, 1))
    run = expect_ranks(attempt, successor, rank, simulate=True)
    unsound = (*OUTSIDE, *UNWRITTEN, *BARRIERS, "race")
    expect_none([h for h in run.hazards if h.kind in unsound and h.severity == "error"])


# ---- part 4: counted work --------------------------------------------------------------------------------------------


@check(points=1, after=("ranks_any_lists",))
def shares_the_walking(attempt: Attempt) -> str:
    """Counted work: many threads walk at the same time, none of them far."""
    worst = expect_shared_walks(attempt, counted(attempt))
    return f"At most {worst:,.0f} loads of a warp one after the other; {LOADS_OF_A_WARP:,} allowed."


@check(points=2, after=("shares_the_walking",))
def loads_in_proportion_to_the_list(attempt: Attempt) -> str:
    """Counted work: a node costs a few loads, and not a few in each of log n rounds."""
    run = counted(attempt)
    loads = loads_a_node(run)
    attempt.record(loads_a_node=loads, limit=LOADS_A_NODE)
    expect_few_loads(run)
    return f"{loads:.3g} numbers loaded for each node; at most {LOADS_A_NODE:g} asked for."


@check(points=1, after=("ranks_any_lists",))
def stays_on_the_device(attempt: Attempt) -> None:
    """Counted work: rank_list copies nothing, waits for nothing, and works in the memory that it is lent."""
    run = attempt.simulate(ranking_request(random_lists(attempt, (1000,))[0]))
    attempt.record(transfers=len(run.transfers), bytes=sum(each.size_bytes for each in run.transfers))
    if run.transfers:
        first = run.transfers[0]
        raise CheckFailed(
            f"{first.line}: {first.what}, {first.size_bytes:,} bytes. In one call rank_list asks {len(run.transfers)} times "
            f"for copies, elements, new arrays or to wait; none is needed."
        )


# ---- part 5: speed ---------------------------------------------------------------------------------------------------

COUNTED_WORK = ("loads_in_proportion_to_the_list", "shares_the_walking", "stays_on_the_device")


def baseline_ns(nodes: int) -> float:
    """What the simulated GPU estimates for the baseline, in lists of about as many nodes as are timed there."""
    launches, node = BASELINE_ESTIMATED_NS
    return launches + node * nodes


@check(points=3, after=COUNTED_WORK)
def faster_than_pointer_jumping(attempt: Attempt) -> str:
    """Speed: a list of about a million nodes is ranked clearly faster than by pointer jumping on all of them."""
    nodes = attempt.drawn(SPEED_NODES - FEWER_NODES, SPEED_NODES)
    expected = baseline_ns(nodes)

    def drawn() -> RunRequest:
        request = ranking_request(list_from_zero(attempt, nodes)[0])
        return replace(request, work_limit=SPEED_WORK_LIMIT, baseline_estimated_ns=expected)

    return attempt.speedup(
        drawn, threshold=SPEEDUP, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN, launches_only=True
    )


# ---- bonus: any order ------------------------------------------------------------------------------------------------


def slowest_launch(run: Run) -> tuple[float, str]:
    """The most loads of a warp one after the other, and the kernel whose warp it is."""
    return max((loads_of_the_slowest_warp(each), each.kernel) for each in run.launches)


def ranked_by_remainders(attempt: Attempt, moduli: Sequence[int], nodes: int, before: Sequence[Recipe] = ()) -> Run:
    """`rank_list` on lists that go by their nodes' remainders, behind lists along other orders of as many nodes.

    There are two for each of the moduli, from 0 and from the middle, and one for the larger ones.
    """
    starts = [(each, first) for each in moduli for first in (0, each // 2)[: 1 + (each in MODULI)]]
    seed, there = int(attempt.rng.integers(2**31)), len(before)
    one = f"np.lexsort((np.random.default_rng({seed} + i).random({nodes}), (np.arange({nodes}) - first) % q))"
    recipes = [each for each, _ in before]
    recipes.append(f"np.concatenate([(i + {there}) * {nodes} + {one} for i, (q, first) in enumerate({starts})])")

    def make() -> Array:
        orders = [order for _, order in before]
        orders += [by_remainders(nodes, *each, seed + i) for i, each in enumerate(starts)]
        return np.concatenate([i * nodes + order for i, order in enumerate(orders)])

    recipe = f"np.concatenate([{', '.join(recipes)}])"
    return ranked(attempt, KEPT.drawn(recipe, make), (nodes,) * (there + len(starts)), recipe)


def ranked(attempt: Attempt, order: Array, lengths: Sequence[int], recipe: str) -> Run:
    """`rank_list` on lists along an order of their nodes; fails the check unless the ranks are right."""
    successor, rank = lists_along(attempt, order, lengths, recipe)
    request = ranking_request(successor)
    run = attempt.simulate(request)
    attempt.expect_close(run.outputs["rank"], rank)
    expect_no_transfers(run)
    return attempt.counted(Trial(request, run))


def expect_short_walks(attempt: Attempt, run: Run, nodes: int, how: str) -> float:
    """Fails the check where a warp makes nearly as many loads as its list has nodes, or all make many; the most loads."""
    loads, kernel = slowest_launch(run)
    limit = LOADS_A_NODE_OF_THE_SLOWEST * nodes
    attempt.record(loads_of_the_slowest_warp=loads, limit=limit)
    if loads > limit:
        raise CheckFailed(
            f"In a list of {nodes:,} nodes that visits them by their {how}, a warp of `{kernel}` makes {loads:,.0f} loads "
            f"one after the other; at most {limit:,.0f} allowed."
        )
    expect_few_loads(run)  # jumps on all nodes are short ways as well, and many of them
    return loads


@check(points=3, after=("faster_than_pointer_jumping",), bonus=True)
def no_order_makes_a_long_walk(attempt: Attempt) -> str:
    """Bonus: walks stay short in lists that visit their nodes by reversed bits, or by the remainders of some number."""
    seed, nodes = int(attempt.rng.integers(2**31)), 1 << REVERSED_BITS
    drawn = f"np.random.default_rng({seed}).integers(2, size={nodes})"
    flips = f"np.where(np.isin(np.arange({nodes}), 2 ** np.arange({REVERSED_BITS})), 0, {drawn})"
    key = f"(((i >> k) & 1) ^ h[2**k + i % 2**k]) << ({REVERSED_BITS} - 1 - k)"
    recipe = f"(lambda i, h: np.argsort(sum({key} for k in range({REVERSED_BITS}))))(np.arange({nodes}), {flips})"
    order = KEPT.drawn(recipe, lambda: in_bit_reversed_order(REVERSED_BITS, seed))
    expect_short_walks(attempt, ranked(attempt, order, (nodes,), recipe), nodes, "reversed bits")
    moduli = (*MODULI, *LARGER_MODULI)
    run, which = ranked_by_remainders(attempt, moduli, nodes, [(recipe, order)]), SEVERAL
    if slowest_launch(run)[0] > LOADS_A_NODE_OF_THE_SLOWEST * nodes:
        told = {each: slowest_launch(ranked_by_remainders(attempt, (each,), NODES_TO_TELL))[0] for each in moduli}
        worst = max(told, key=told.__getitem__)
        alone = ranked_by_remainders(attempt, (worst,), nodes)
        if slowest_launch(alone)[0] > LOADS_A_NODE_OF_THE_SLOWEST * nodes:  # splitters may lie otherwise in a shorter array
            run, which = alone, f"remainders of {worst}"
    loads = expect_short_walks(attempt, run, nodes, which)
    # Of these lists' walks most end early. Splitters so far apart that no modulus is that large are seen in a long one.
    as_many = run.outputs["rank"].size
    long_one = attempt.counted(ranking_request(list_from_zero(attempt, as_many)[0]))
    expect_loads_of_a_warp(slowest_on_average(long_one), f"In one list of {as_many:,} nodes: ")
    return f"At most {loads:,.0f} loads of a warp one after the other, in lists by the remainders of {len(moduli)} numbers."
