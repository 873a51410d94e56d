"""Lab 6's known misconceptions, recognised by what kernels and host code did and never by how their source reads.

Each is one function whose name is the misconception's and whose docstring is what the student reads, with numbers from
the evidence filled in; it returns whether the evidence fits. They stand in the order of the checks they go with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from autograder.errors import Line
from autograder.grading import Attempt, witness
from autograder.grading.evidence import Evidence, recogniser
from autograder.grading.failures import NothingCounted
from autograder.grading.kept import KEPT
from autograder.records.hazards import Hazard
from autograder.records.runs import Launch, Run, RunRequest

from . import spec
from .lists import Array, laid_out, list_from_zero, ranks_along, ranks_of_sublists, walked

WALKS = ("walks_its_sublists", "walks_any_lists")
BARRIERS_SEEN = (
    "walks_inside_its_arrays", "jumps_between_two_buffers", "ranks_the_splitters", "ranks_nodes_before_the_first_splitter",
    "ranks_one_list",
)  # fmt: skip
WARP = 32
SOME = 777  # nodes: no multiple of any distance between splitters or of any block, so that some threads have none
WHOLE = 4096  # nodes: a multiple of every distance between splitters that is a power of two


class ListEvidence(Evidence):
    """What the last run showed, in terms of lists, walks and rounds."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt)
        self.given: dict[str, Array] = {k: v for k, v in self.request.arguments.items() if isinstance(v, np.ndarray)}
        self.outputs = self.run.outputs
        self.launches = self.at_work
        if self.request.function == "walk_sublists":
            names = ("sublist", "steps", "following", "links")
            found = KEPT.of(walked, self.given["successor"], self.given["splitters"])
            self.expected = dict(zip(names, found, strict=True))
            self.reached = self.expected["sublist"] >= 0
            self.tails = self.given["successor"] == np.arange(self.given["successor"].size)

    # ---- walks -----------------------------------------------------------------------------------

    def right(self, *names: str) -> bool:
        """Whether these outputs of a walk are what they should be, `steps` where walks come by."""
        for name in names:
            same = self.outputs[name] == self.expected[name]
            if not (same[self.reached] if name == "steps" else same).all():
                return False
        return True

    def differs(self, name: str, by: int, where: Array) -> bool:
        """Whether an output is off by this much at these places, of which there are some, and right elsewhere."""
        off = (self.outputs[name].astype(np.int64) - self.expected[name])[self.reached if name == "steps" else ...]
        where = where[self.reached] if name == "steps" else where
        return bool(where.any() and (off[where] == by).all() and not off[~where].any())

    @property
    def overwritten(self) -> bool:
        """Whether some splitter no longer carries its own number."""
        splitters = self.given["splitters"]
        return bool((self.outputs["sublist"][splitters] != np.arange(splitters.size)).any())

    @cached_property
    def reads_splitters(self) -> bool:
        """Whether some thread loads from an array as long as `splitters`, as no other input of a walk is: an
        experiment."""
        lines = [each.line for each in self.simulated.lines if each.counters.global_load_requests]
        runs = [self.attempt.trace(replace(self.request, traced_line=line)) for line in lines]
        return any(each.kind == "load" and each.shape == (self.m,) for run in runs for each in run.accesses)

    @property
    def steps_beyond_splitters(self) -> bool:
        """Whether a walk left its steps at a node that is no splitter."""
        written = np.flatnonzero(self.run.written["steps"])
        return not np.isin(written, self.given["splitters"]).all()

    # ---- rounds ----------------------------------------------------------------------------------

    @property
    def needed(self) -> int:
        """Rounds that are enough for as many splitters as these."""
        return int(np.ceil(np.log2(max(1, self.given["links"].size))))

    @property
    def all_rounds_in_one(self) -> bool:
        """Whether a single launch loads as often as it takes for all rounds, twice in each."""
        return len(self.launches) == 1 and spec.loads_of_a_warp(self.launches[0]) >= 2 * self.needed

    def after(self, rounds: int, *, one_following: bool = False, one_links: bool = False) -> Array:
        """Links after some rounds; with one array of either kind every round begins with that as it was given."""
        following, links = self.given["following"], self.given["links"]
        first_following, first_links = following, links
        for _ in range(rounds):
            source_following = first_following if one_following else following
            source_links = first_links if one_links else links
            goes_on = source_following >= 0
            links = np.where(goes_on, source_links + source_links[source_following], source_links)
            following = np.where(goes_on, source_following[source_following], -1)
        return links

    def returned(self, array: Array) -> bool:
        return isinstance(self.run.returned, np.ndarray) and bool(np.array_equal(self.run.returned, array))

    # ---- ranks -----------------------------------------------------------------------------------

    @property
    def at_a_splitter(self) -> tuple[Array, Array, Array]:
        """Where a sublist is known; and there, what was found and the splitter's rank."""
        known = self.given["sublist"] >= 0
        splitter_rank = self.given["splitter_rank"][self.given["sublist"][known]]
        return known, self.outputs["rank"][known].astype(np.int64), splitter_rank.astype(np.int64)

    @property
    def steps_known(self) -> Array:
        return self.given["steps"][self.given["sublist"] >= 0]

    def off_by_the_way_on_foot(self, times: int) -> bool:
        """Whether ranks ahead of a first splitter are off by this many times the links up to it, and all others
        right."""
        off = self.outputs["rank"].astype(np.int64) - KEPT.of(ranks_along, self.given["successor"])
        on_foot = np.array([self._on_foot(node) for node in range(self.n)])
        return self.run.fault is None and bool(on_foot.any() and (off == times * on_foot).all())

    def _on_foot(self, node: int) -> int:
        """Links from a node to the first splitter of its list, where it lies ahead of that; 0 elsewhere."""
        successor, sublist, links = self.given["successor"], self.given["sublist"], 0
        while sublist[node] < 0:
            if successor[node] == node:
                return 0
            node, links = successor[node], links + 1
        return links

    @property
    def n(self) -> int:
        return int(self.given["successor"].size)

    @property
    def m(self) -> int:
        """Splitters."""
        return int(self.given["splitters" if "splitters" in self.given else "links"].size)

    @property
    def rounds(self) -> int:
        return len(self.launches)

    def tried(self, nodes: int) -> tuple[Run, Array]:
        """An experiment: what comes of a list of so many nodes, and its ranks."""
        attempt, trials = self.attempt, list(self.trials)
        successor, rank = laid_out(np.random.default_rng(0).permutation(nodes))
        run = attempt.simulate(spec.ranking_request(successor), may_fault=True)
        attempt.trials[:] = trials  # the attempt is still about what failed
        return run, rank

    def elsewhere(self, nodes: int) -> tuple[bool, int]:
        """An experiment: whether a list of so many nodes is ranked right, and in how many rounds."""
        run, rank = self.tried(nodes)
        if run.fault is not None:  # there may be no launch to ask about
            return False, 0
        kernels = [each.kernel for each in run.launches]
        rounds = max(map(kernels.count, kernels), default=0)
        return bool((run.outputs["rank"] == rank).all()), rounds

    @cached_property
    def too_long(self) -> Hazard | None:
        """A read beyond the splitters, of an array that is as long as the list where m elements were meant."""
        if not self.found("uninitialised_read"):
            return None
        # In a short list two elements may be all that there are; in this one, all threads behind the last splitter read.
        run, _ = self.tried(SOME)
        for each in run.hazards:
            if each.kind == "uninitialised_read" and each.kernel != "add_up" and self.at_own_number(each, run.launches):
                threads = threads_of(each.kernel, run.launches)
                if each.index and 0 < each.index[0] and each.index[0] + each.occurrences >= min(SOME, threads):
                    return each
        return None

    def at_own_number(self, hazard: Hazard, launches: Sequence[Launch]) -> bool:
        """Whether a thread looked at the element with its own number, or at one that is a grid further on."""
        launch = next((each for each in launches if each.kernel == hazard.kernel), None)
        if launch is None or not hazard.index or hazard.block is None or hazard.thread is None:
            return False
        thread = hazard.block[0] * launch.block[0] + hazard.thread[0]
        return hazard.index[0] % threads_of(hazard.kernel, launches) == thread

    @property
    def threads_that_add(self) -> int:
        """Threads of the launch that adds up; 0 where there is none."""
        return threads_of("add_up", self.simulated.launches)

    @property
    def adding(self) -> Launch | None:
        """The launch that adds up."""
        return next((each for each in self.simulated.launches if each.kernel == "add_up"), None)

    @cached_property
    def uncleared(self) -> str:
        """The kernel that looked at what nobody wrote, at some node that a walk came to; empty where none did. In a list of
        a node or two only the last stage may: walks of a longer one tell whether it is sublist that nobody wrote."""
        longer, _ = self.tried(SOME) if self.found("uninitialised_read") else (self.simulated, None)
        for run in (self.simulated, longer):
            for each in run.hazards:
                if each.kind == "uninitialised_read" and each.kernel == "walk_sublists":
                    if not self.at_own_number(each, run.launches):
                        return next(h.kernel for h in self.found("uninitialised_read"))
        return ""

    @cached_property
    def walks_meet(self) -> bool:
        """Whether two walks are at one node, in a list that is long enough for two: an experiment."""
        if self.found("uninitialised_read") or self.found("out_of_bounds"):
            return False
        run, _ = self.tried(SOME)
        request = spec.ranking_request(laid_out(np.random.default_rng(0).permutation(SOME))[0])

        def arrays_at(line: Line | None) -> set[str]:
            return {each.array for each in self.attempt.trace(replace(request, traced_line=line)).accesses}

        races = [each for each in run.hazards if (each.kind, each.kernel) == ("race", "walk_sublists")]
        # Two arrays in one place of memory are another matter: here both lines are at the same one.
        return any(arrays_at(each.line) == arrays_at(each.other_line) == {each.array} for each in races)

    def races_in(self, kernels: Sequence[str]) -> tuple[Hazard, ...]:
        return tuple(each for each in self.found("race") if each.kernel in kernels)

    @property
    def before_the_walk(self) -> list[str]:
        """Kernels launched before the first walk: those that choose and mark splitters."""
        kernels = [each.kernel for each in self.launches]
        return kernels[: kernels.index("walk_sublists")] if "walk_sublists" in kernels else kernels

    @property
    def between_walk_and_adding(self) -> list[str]:
        """Kernels launched after the last walk and before ranks are added up: those that rank the splitters."""
        kernels = [each.kernel for each in self.launches]
        end = kernels.index("add_up") if "add_up" in kernels else len(kernels)
        walks = [place for place, each in enumerate(kernels) if each == "walk_sublists"]
        return kernels[walks[-1] + 1 : end] if walks else []

    @property
    def goes_well_elsewhere(self) -> bool:
        """Whether a list of a round number of nodes is ranked right."""
        return self.elsewhere(WHOLE)[0]

    @property
    def one_splitter_short(self) -> bool:
        """Whether an array is left just behind its end, as by the splitter of a rest that nobody counted; where it has no
        element at all, no array of the splitters may have one."""
        for each in self.found("out_of_bounds"):
            if each.index and len(each.index) == 1 and each.index == each.shape and each.occurrences == 1:
                return each.shape != (0,) or each.array == "splitters" or each.kernel != "walk_sublists"
        return False

    @property
    def right_after_even_rounds(self) -> bool:
        """Whether a list is ranked right exactly where its rounds are even; each list takes a round less than the last."""
        if self.run.fault is not None or self.simulated.hazards:
            return False
        tried = [self.elsewhere(nodes) for nodes in (WHOLE, WHOLE // 2, WHOLE // 4, WHOLE // 8)]
        return len({right for right, _ in tried}) == 2 and all(right == (rounds % 2 == 0) for right, rounds in tried)

    # ---- counted work ----------------------------------------------------------------------------

    @property
    def launched(self) -> Sequence[Launch]:
        """The launches; raises `NothingCounted` where there is none: then there is nothing to recognise."""
        if not self.launches:
            raise NothingCounted("Nothing was launched.")
        return self.launches

    @property
    def slowest(self) -> Launch:
        """The launch whose warps make most loads, on average."""
        return max(self.launched, key=spec.loads_of_a_warp)

    @property
    def idlest(self) -> Launch:
        """Of the launches that make many loads, the one with the fewest lanes at work."""
        return min(spec.busy_launches(self.launched), key=spec.lanes_at_work)

    @property
    def idlest_block(self) -> int:
        """Threads of a block of that launch."""
        return int(np.prod(self.idlest.block))

    @property
    def walks_alone(self) -> bool:
        """Whether one lane of one warp makes most of the loads."""
        return spec.lanes_at_work(self.slowest) < 1.3 and spec.loads_of_a_warp(self.slowest) > spec.LOADS_OF_A_WARP

    def rounds_of(self, threads: float) -> int:
        """Launches of the kernel that is launched most, with at least this many threads."""
        kernels = [each.kernel for each in self.launches if each.counters.threads >= threads]
        return max((kernels.count(each) for each in kernels), default=0)

    def asked_for(self, *what: str) -> bool:
        return any(each.what in what for each in self.simulated.transfers)


def threads_of(kernel: str, launches: Sequence[Launch]) -> int:
    """The most threads that a kernel was launched with."""
    return max((int(np.prod(each.grid) * np.prod(each.block)) for each in launches if each.kernel == kernel), default=0)


def counted_list(attempt: Attempt) -> RunRequest:
    """A list as long as that whose work is counted: it shows how the kernels were launched."""
    return spec.ranking_request(list_from_zero(attempt, spec.COUNTED_NODES)[0])


misconception = recogniser(ListEvidence, counted_list)


# ---- part 1: walk ----------------------------------------------------------------------------------------------------


@misconception(*WALKS, "ranks_one_list", shows=witness.FAULT)
def endless_loop(seen: ListEvidence) -> bool:
    """A walk never ends. Does every round of the loop go on to another node, and does it stop at the tail, which points
    to itself?"""
    return seen.runs_on


@misconception(*BARRIERS_SEEN, shows=witness.BARRIER)
def barrier_not_for_all(seen: ListEvidence) -> bool:
    """A barrier stands where only some threads of a block come by: in a branch, or in a loop that ends earlier for
    some. The others never come, and on a GPU the block may wait for ever. Move it to where all threads of the block
    pass, or leave it out: a launch waits for the launch before it without one."""
    # Of a warp's barriers the report has a remedy of its own.
    return any(each.barrier == "block" for each in seen.found("divergent_barrier"))


@misconception(*WALKS, shows=witness.RESULT)
def steps_from_one(seen: ListEvidence) -> bool:
    """All steps are one too many: they count links from the splitter, and to the splitter itself there are none."""
    return seen.differs("steps", 1, np.ones(seen.reached.size, bool))


@misconception(*WALKS, shows=witness.RESULT)
def link_counted_late(seen: ListEvidence) -> bool:
    """All steps but the splitters' own are one too few: the node behind a splitter is one link away from it. Count the
    link before you write the steps of the node that it leads to."""
    return seen.differs("steps", -1, ~np.isin(np.arange(seen.reached.size), seen.given["splitters"]))


@misconception(*WALKS, shows=witness.RESULT | witness.unset() | witness.LEFT_OUT)
def splitter_without_steps(seen: ListEvidence) -> bool:
    """The walk begins behind the splitter: nobody writes the splitter's own steps, which are 0."""
    missing = np.flatnonzero(seen.reached & ~seen.run.written["steps"])
    begun = seen.run.written["links"][seen.expected["sublist"][missing]]  # a walk that nobody began is another matter
    return missing.size > 0 and bool(np.isin(missing, seen.given["splitters"]).all() and begun.all())


@misconception(*WALKS, shows=witness.RESULT)
def links_one_short(seen: ListEvidence) -> bool:
    """The last link of each walk is missing: links[s] counts up to the next splitter, and that link leads there."""
    return seen.right("sublist", "following") and seen.differs("links", -1, seen.expected["following"] >= 0)


@misconception(*WALKS, shows=witness.RESULT)
def links_one_too_many(seen: ListEvidence) -> bool:
    """Where a walk ends at the tail it has one link too many: behind the tail there is none. A sublist of one node that
    is a tail has no links at all."""
    return seen.right("sublist", "following") and seen.differs("links", 1, seen.expected["following"] < 0)


@misconception(*WALKS, shows=witness.RESULT)
def walks_past_the_next_splitter(seen: ListEvidence) -> bool:
    """A walk goes over the next splitter, and gives it a number that is not its own. Look at sublist of the next node
    before you step on it: if it has one, the walk ends here."""
    return seen.overwritten and seen.reads_splitters


@misconception(*WALKS, shows=witness.RESULT)
def splitters_never_read(seen: ListEvidence) -> bool:
    """No thread reads `splitters`, and so no walk can begin where it should: thread s is not at node s, but begins at
    splitters[s]."""
    walks = bool(seen.run.written["steps"].any()) and not seen.found("out_of_bounds")
    return walks and not seen.reads_splitters


@misconception(*WALKS, shows=witness.RESULT)
def follows_itself_at_the_tail(seen: ListEvidence) -> bool:
    """A sublist that ends at the tail says that it follows itself: at the tail the next node is the same node again,
    and by then it carries this thread's number. Ask whether after == node before you ask whose node it is."""
    last = seen.expected["following"] < 0
    itself = seen.outputs["following"] == np.arange(last.size)
    return bool(itself[last].all()) and seen.right("sublist") and not seen.tails[seen.given["splitters"][itself]].any()


@misconception(*WALKS, shows=witness.RESULT)
def tail_left_out(seen: ListEvidence) -> bool:
    """The walk stops one node ahead of the tail, which then belongs to no sublist. A tail is a node like any other:
    step on it, and stop because there is nowhere to go from it."""
    missing = np.flatnonzero(seen.reached & (seen.outputs["sublist"] < 0))
    return 0 < missing.size and bool(seen.tails[missing].all())


@misconception(*WALKS, shows=witness.RESULT)
def node_for_number(seen: ListEvidence) -> bool:
    """A node's number stands where a sublist's belongs. Sublists are counted from 0 to the number of splitters, less
    one; splitters[s] is a node, s is its sublist."""
    splitters, outputs, expected = seen.given["splitters"], seen.outputs, seen.expected

    def nodes_stand(name: str, where: Array) -> bool:
        nodes = splitters[expected[name]]  # some differ, else a right number is a node's as well
        return bool((outputs[name] == nodes)[where].all() and (nodes != expected[name])[where].any())

    follows = expected["following"] >= 0
    others = seen.reached & ~np.isin(np.arange(seen.reached.size), splitters)
    if not follows.any():
        return False
    if (outputs["sublist"] >= splitters.size).any():
        return True
    return nodes_stand("following", follows) or nodes_stand("sublist", others)


@misconception(*WALKS, shows=witness.RESULT)
def nodes_without_number(seen: ListEvidence) -> bool:
    """The nodes between splitters keep their -1: a walk also writes its number s into sublist, at each node."""
    unchanged = np.array_equal(seen.outputs["sublist"], seen.given["sublist"])
    return unchanged and not seen.right("sublist") and seen.steps_beyond_splitters


@misconception(*WALKS, shows=witness.RESULT)
def one_step_only(seen: ListEvidence) -> bool:
    """Walks end after one step, though their lists go on. Is there a loop, and does what it looks at move on with the
    walk? node = after, and then after = successor[node]: a node that was stepped on has a number by then, its own."""
    steps, written = seen.outputs["steps"], seen.run.written["steps"]
    return bool(written.any() and steps[written].max() == 1 < seen.expected["steps"].max())


@misconception(*WALKS, shows=witness.RESULT)
def walks_nowhere(seen: ListEvidence) -> bool:
    """No walk goes beyond its splitter. Look at the condition of the loop: it is to hold where the next node is another
    one, and that has no sublist yet. (`&` binds more tightly than `!=` and `<`: write `and`.)"""
    unchanged = np.array_equal(seen.outputs["sublist"], seen.given["sublist"])
    some = bool(seen.run.written["steps"].any() or seen.run.written["links"].any())
    return unchanged and not seen.right("sublist") and some and not seen.steps_beyond_splitters


@misconception(*WALKS, shows=witness.CHANGED)
def writes_the_list(seen: ListEvidence) -> bool:
    """The walk leaves marks in successor itself. The list belongs to whoever called, and later stages read it, too:
    leave it as it is, and mark nodes in sublist."""
    return not np.array_equal(seen.outputs["successor"], seen.given["successor"])


@misconception("walks_inside_its_arrays", shows=witness.LAUNCH & witness.outside(in_launch=True))
def missing_guard(seen: ListEvidence) -> bool:
    """Threads without a splitter walk as well. There are {seen.threads} threads for {seen.m} splitters: compare the
    thread's number with splitters.size."""
    return bool(seen.found("out_of_bounds"))


@misconception("walks_inside_its_arrays", shows=witness.race("global"))
def marks_again(seen: ListEvidence) -> bool:
    """A thread marks its own splitter in sublist once more, while another walk may be looking at that mark. It writes
    what stands there already, so leave it out: then nobody writes what somebody else reads."""
    return bool(seen.found("race")) and not seen.found("out_of_bounds") and seen.right("sublist", "following", "links")


@misconception("walks_any_lists", shows=witness.RESULT)
def splitter_at_the_tail(seen: ListEvidence) -> bool:
    """A splitter that is a tail itself takes a step although there is none to take: no links, and nothing follows. Look
    before the first step, as before every other."""
    wrong = [seen.outputs[name] != seen.expected[name] for name in ("following", "links")]
    sublists = np.flatnonzero(wrong[0] | wrong[1])
    found = bool(seen.run.written["links"][sublists].all())  # a walk that nobody began took no step
    return sublists.size > 0 and found and bool(seen.tails[seen.given["splitters"][sublists]].all())


# ---- part 2: rank the splitters --------------------------------------------------------------------------------------


@misconception("jumps_between_two_buffers", shows=witness.race("global"))
def rounds_without_the_host(seen: ListEvidence) -> bool:
    """All rounds happen in one launch. A barrier waits for the threads of its block only, and a pointer may lead to any
    block: only the end of a launch is the end of a round for everybody. Launch once for each round: read from two
    arrays, write to the two others, and swap them in between."""
    return seen.all_rounds_in_one and bool(seen.found("race"))


@misconception("jumps_between_two_buffers", "ranks_one_list", shows=witness.race("global"))
def jumps_in_place(seen: ListEvidence) -> bool:
    """A round writes to an array that it also reads: whether a thread finds the old or the new links of the one it
    points to is up to chance. Read from two arrays, write to the two others, and swap them for the next round. Whoever
    calls rank_splitters hands over four arrays, none of them twice."""
    if seen.request.function == "rank_splitters":
        return not seen.all_rounds_in_one and bool(seen.found("race"))
    return bool(seen.races_in(seen.between_walk_and_adding))


@misconception("jumps_between_two_buffers", shows=witness.unset("global"))
def finished_splitters_left_out(seen: ListEvidence) -> bool:
    """A round writes nothing for splitters that nothing follows any more. The next round reads the other two arrays, and
    there nobody has written what they had: in every round each splitter writes both of its numbers, also where they stay
    as they are."""
    finished = np.flatnonzero(seen.given["following"] < 0)
    unset = seen.found("uninitialised_read")
    return bool(unset) and all(e.index and e.index[0] in finished for e in unset) and not seen.found("race")


@misconception("jumps_between_two_buffers", shows=witness.FAULT)
def rounds_without_end(seen: ListEvidence) -> bool:
    """Rounds are launched without end, and {seen.needed} are enough for {seen.m} splitters. Something in the loop has
    to change what its condition looks at: a span that doubles from 1 on, or a number of rounds."""
    return seen.never_ended and seen.rounds > seen.needed


@misconception("ranks_the_splitters", shows=witness.RETURNED)
def returns_nothing(seen: ListEvidence) -> bool:
    """The ranks are in one of two arrays, depending on how many rounds there were, and only rank_splitters knows in
    which: let it end with a return."""
    return seen.run.returned is None and seen.run.fault is None and bool(seen.launches)


@misconception("ranks_the_splitters", shows=witness.RESULT | witness.RETURNED)
def returns_the_other_buffer(seen: ListEvidence) -> bool:
    """The ranks are right, in the array that is not returned: with each round they move to the other one. After the
    swap the name of what the last round wrote is the name of what the next would read."""
    ranks = KEPT.of(ranks_of_sublists, seen.given["following"], seen.given["links"])
    elsewhere = [name for name in ("links", "spare_links") if np.array_equal(seen.outputs[name], ranks)]
    return isinstance(seen.run.returned, np.ndarray) and bool(elsewhere)


@misconception("ranks_the_splitters", shows=witness.RESULT | witness.RETURNED)
def buffers_not_swapped(seen: ListEvidence) -> bool:
    """Every round begins with what stood in the arrays at first. What one round wrote, the next has to read: swap both
    pairs, following with the spare one and links with the spare one."""
    rounds = len(seen.launches)
    guesses = [
        seen.after(rounds, one_following=f, one_links=k) for f, k in ((True, True), (True, False), (False, True))
    ]
    return rounds > 1 and not seen.returned(seen.after(rounds)) and any(map(seen.returned, guesses))


@misconception("ranks_the_splitters", shows=witness.LAUNCHES)
def too_few_rounds(seen: ListEvidence) -> bool:
    """{seen.rounds} rounds are not enough for {seen.m} splitters: after r rounds a pointer spans 2^r sublists, and it
    has to span all of them. Round the logarithm up, or double a span until it is long enough."""
    return 0 < len(seen.launches) < seen.needed and seen.returned(seen.after(len(seen.launches)))


@misconception("ranks_the_splitters", shows=witness.LAUNCH)
def too_few_blocks(seen: ListEvidence) -> bool:
    """The last splitters have no thread: {seen.threads} threads for {seen.m} splitters. Divide by the size of a block
    and round up."""
    return bool(seen.launches) and seen.threads < seen.m and len(seen.launches) >= seen.needed


@misconception("ranks_the_splitters", shows=witness.LAUNCHES)
def a_round_for_each_splitter(seen: ListEvidence) -> bool:
    """There are about as many rounds as splitters. Each round doubles how far a pointer reaches, so that {seen.m}
    splitters need {seen.needed} rounds."""
    return len(seen.launches) > 4 * max(4, seen.needed)


# ---- part 3: add up --------------------------------------------------------------------------------------------------


@misconception("adds_up", shows=witness.RESULT)
def adds_the_steps(seen: ListEvidence) -> bool:
    """Steps are added where they are to be taken away: each step leads nearer to the tail, and a rank is what is left
    to go."""
    known, found, splitter_rank = seen.at_a_splitter
    return np.array_equal(found, splitter_rank + seen.steps_known)


@misconception("adds_up", shows=witness.RESULT)
def forgets_the_steps(seen: ListEvidence) -> bool:
    """All nodes of a sublist get the rank of their splitter. Take the steps away that lie between."""
    known, found, splitter_rank = seen.at_a_splitter
    return np.array_equal(found, splitter_rank)


@misconception("adds_up", shows=witness.RESULT)
def forgets_the_offset(seen: ListEvidence) -> bool:
    """The ranks are the steps from the splitter, as if each sublist were a list of its own. Begin with the splitter's
    rank, and take the steps away from that."""
    return np.array_equal(seen.at_a_splitter[1], seen.steps_known)


@misconception("adds_up", shows=witness.RESULT)
def rank_from_one(seen: ListEvidence) -> bool:
    """All ranks are one too many. A rank counts links, not nodes: a tail's is 0."""
    known, found, splitter_rank = seen.at_a_splitter
    return np.array_equal(found, splitter_rank - seen.steps_known + 1)


@misconception("adds_up", shows=witness.RESULT)
def wrong_sublist(seen: ListEvidence) -> bool:
    """Steps are taken away from the rank of another sublist's splitter. Which sublist a node is in has nothing to do
    with where the node lies in memory: sublist[i] says it."""
    known, found, splitter_rank = seen.at_a_splitter
    from_some = np.isin(found + seen.steps_known, seen.given["splitter_rank"]).all()
    return bool(from_some) and not np.array_equal(found, splitter_rank)


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.BELOW_ZERO)
def no_sublist_taken_for_one(seen: ListEvidence) -> bool:
    """Some nodes are in no sublist, since no walk came by, and -1 is used as if it were one (as an index it means the
    last element). These nodes lie ahead of the first splitter of their list, as heads do that are no splitters. Let
    each go on foot: count the links up to the first node that has a sublist, which is a splitter, and add them to its
    rank. In a list without a splitter, count the links up to the tail."""
    return bool(seen.found("negative_index"))


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.LEFT_OUT | witness.RESULT)
def nodes_left_out(seen: ListEvidence) -> bool:
    """Nodes that no walk came by get no rank. Each can go on foot: count the links up to the first node that has a
    sublist, which is a splitter, and add them to its rank. In a list without a splitter, count the links up to the
    tail."""
    unwritten = ~seen.run.written["rank"]
    return bool(unwritten.any()) and bool((seen.given["sublist"][unwritten] < 0).all()) and not seen.never_ended


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.RESULT)
def way_on_foot_forgotten(seen: ListEvidence) -> bool:
    """A node ahead of the first splitter gets the splitter's rank. The links between the two come on top."""
    lost = seen.given["sublist"] < 0
    found = seen.outputs["rank"][lost]
    written = seen.run.written["rank"].all()
    forgotten = bool(written and np.isin(found, seen.given["splitter_rank"]).all()) and not seen.found("negative_index")
    return forgotten and not seen.off_by_the_way_on_foot(-2)  # which may be some other splitter's rank by chance


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.RESULT)
def way_on_foot_taken_away(seen: ListEvidence) -> bool:
    """Nodes ahead of the first splitter get the splitter's rank less the links between the two. They are further from
    the tail than the splitter: add those links."""
    return seen.off_by_the_way_on_foot(-2)


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.RESULT)
def steps_where_no_walk_came(seen: ListEvidence) -> bool:
    """Nodes ahead of the first splitter get something else than the links up to it and the splitter's rank. No walk
    came by there, so that steps[i] is no number of links, and nothing is to be taken away."""
    lost = seen.given["sublist"] < 0
    off = seen.outputs["rank"].astype(np.int64) - KEPT.of(ranks_along, seen.given["successor"])
    return bool(seen.run.fault is None and not off[~lost].any() and (off[lost] == -seen.given["steps"][lost]).all())


@misconception("ranks_nodes_before_the_first_splitter", shows=witness.FAULT)
def list_without_a_splitter(seen: ListEvidence) -> bool:
    """A thread walks and never meets a splitter: in a short list there may be none. It has to stop at the tail as well,
    where its steps are its rank already."""
    return seen.never_ended and bool((seen.given["sublist"][seen.given["successor"] == np.arange(seen.n)] < 0).any())


# ---- part 3: the whole list ------------------------------------------------------------------------------------------


@misconception("ranks_one_list", shows=witness.LEFT_OUT | witness.RESULT)
def ranks_never_written(seen: ListEvidence) -> bool:
    """Nothing was written to rank. rank_list has to launch add_up at the end, with rank as its last argument."""
    return not seen.run.written["rank"].any() and seen.run.fault is None


@misconception("ranks_one_list", "ranks_any_lists", shows=witness.launched(lambda seen: seen.adding))
def nodes_without_a_thread(seen: ListEvidence) -> bool:
    """No node from {seen.threads_that_add:,} on gets a rank: add_up was launched with {seen.threads_that_add:,} threads
    for {seen.n:,} nodes. It needs a thread for each node, and not for each splitter."""
    threads, written = seen.threads_that_add, seen.run.written.get("rank")  # a run that a GPU ended wrote nothing
    if written is None or not 0 < threads < seen.n:
        return False
    missing = bool(written[:threads].all()) and not written[threads:].any()
    return missing and any(each.counters.threads >= seen.n for each in seen.launches)


@misconception("ranks_one_list", shows=witness.unset())
def array_of_splitters_too_long(seen: ListEvidence) -> bool:
    """In `{seen.too_long.kernel}`, `{seen.too_long.array}` has more elements than there are splitters, and threads that
    have no splitter use what nobody wrote there. A row of scratch is as long as the list. Hand over its beginning, as
    in scratch[2][:m]: the kernel takes the number of splitters from the array's size."""
    return seen.too_long is not None


@misconception("ranks_one_list", shows=witness.unset())
def sublist_not_cleared(seen: ListEvidence) -> bool:
    """In `{seen.uncleared}` sublist is read of nodes for which nobody wrote it: memory that is lent still holds what was
    there before. Set all of sublist to -1 first, in a launch of its own, and then mark the splitters."""
    return bool(seen.uncleared) and not seen.too_long and bool(seen.run.written["rank"].any())


@misconception("ranks_one_list", shows=witness.race("global"))
def clears_and_marks_at_once(seen: ListEvidence) -> bool:
    """In one launch two threads write to the same element of an array, each by a line of its own, as where one marks a
    node as a splitter and another sets it to -1: which comes last is up to chance. Clear in a launch of its own, or let
    the thread that clears a node decide whether it is a splitter."""
    found = seen.races_in(seen.before_the_walk)
    return any(each.line != each.other_line and each.access == "store" and each.other_writes for each in found)


@misconception("ranks_one_list", shows=witness.race("global") | witness.RESULT)
def walks_meet(seen: ListEvidence) -> bool:
    """Two walks come to the same node. Each of them ends at the first node that has a number in sublist: so when they
    begin some splitter has none there, or one node is a splitter twice. Clear sublist first, and mark the splitters in a
    later launch: what is written last stays."""
    return seen.walks_meet


@misconception("ranks_one_list", shows=witness.FAULT | witness.outside())
def splitters_rounded_down(seen: ListEvidence) -> bool:
    """{seen.n} nodes are too few for the number of splitters that you work out, while a round number goes well. Round
    up, so that the rest of a division has a splitter too: a list of one node needs one."""
    failed = seen.ended_by == "empty_launch" or seen.one_splitter_short
    whole = any(each.index == (seen.n,) for each in seen.found("out_of_bounds"))  # behind an array as long as the list
    return failed and not whole and not seen.never_ended and not seen.too_long and seen.goes_well_elsewhere


@misconception("ranks_one_list", shows=witness.BELOW_ZERO)
def counted_from_the_end(seen: ListEvidence) -> bool:
    """An index is below zero: it counts from the array's end, on the GPU as in NumPy, and nothing stops it. The report
    names the line and a thread. Is that the element which you meant?"""
    return seen.attempt.wrong is not None and bool(seen.found("negative_index"))


@misconception("ranks_one_list", shows=witness.RESULT)
def returned_ranks_not_used(seen: ListEvidence) -> bool:
    """Ranks are right after an even number of rounds, and wrong after an odd one: the two arrays hold them by turns.
    Take what rank_splitters returns, and hand that to add_up."""
    return seen.right_after_even_rounds


@misconception("ranks_any_lists", shows=witness.LAUNCHES)
def launch_too_small(seen: ListEvidence) -> bool:
    """Some nodes have no thread: no launch has as many threads as there are nodes, {seen.n}. Work the grid out from
    successor.size, or let each thread take several nodes."""
    # What nobody wrote is poison on a GPU, and used as an index it ends that run: what the launches are is simulated.
    ended = seen.simulated.fault is None
    return ended and all(np.prod(each.grid) * np.prod(each.block) < seen.n for each in seen.launches)


@misconception("ranks_any_lists", shows=witness.unset())
def splitters_without_a_thread(seen: ListEvidence) -> bool:
    """In longer lists some splitters have no thread: what should stand there is read, and nobody wrote it. Which launch
    has the same grid for every list? Work it out from the threads that its kernel needs, one for each splitter."""
    return bool(seen.found("uninitialised_read")) and any(e.counters.threads >= seen.n for e in seen.launches)


@misconception("faster_than_pointer_jumping", shows=witness.RESULT)
def ranks_wrap_around(seen: ListEvidence) -> bool:
    """Long lists have ranks that wrap around: they went through a type of 16 bits, which ends at 32,767. Keep them in
    int32."""
    wrong = seen.attempt.wrong
    off = None if wrong is None or wrong.problem else wrong.got.astype(np.int64) - wrong.expected
    return off is not None and off.any() and not (off % 65_536).any()


# ---- part 4: counted work --------------------------------------------------------------------------------------------


@misconception("loads_in_proportion_to_the_list", shows=witness.LAUNCHES)
def jumps_on_all_nodes(seen: ListEvidence) -> bool:
    """All nodes jump, round after round: that is the work which sublists save. Let walks cover the nodes, once, and
    jump on the splitters only."""
    return seen.rounds_of(seen.n) >= 8


@misconception("loads_in_proportion_to_the_list", shows=witness.LAUNCHES)
def too_many_splitters(seen: ListEvidence) -> bool:
    """There are so many splitters that ranking them is most of the work: each takes part in every round. Put them
    further apart."""
    return seen.rounds_of(seen.n) < 8 <= seen.rounds_of(seen.n / 8)


@misconception("loads_in_proportion_to_the_list", shows=witness.counted("global_load_requests"))
def everybody_on_foot(seen: ListEvidence) -> bool:
    """Every node walks to the next splitter by itself, over the same links as its neighbours. One walk for each sublist
    is enough, if it leaves the steps behind."""
    loads = [each.counters.global_load_useful_bytes / 4 for each in seen.launches if each.counters.threads >= seen.n]
    return seen.rounds_of(seen.n / 8) < 8 and max(loads, default=0) > 12 * seen.n


@misconception("shares_the_walking", shows=witness.RESULT)
def other_ranks_when_counted(seen: ListEvidence) -> bool:
    """Work counts where the ranks are right. Other lists were ranked right, and this one of {seen.n:,} nodes is not:
    what does rank_list do for it that it does not do for others?"""
    return seen.attempt.wrong is not None


@misconception("shares_the_walking", shows=witness.launched(lambda seen: seen.idlest))
def one_thread_a_block(seen: ListEvidence) -> bool:
    """Blocks have {seen.idlest_block} threads: a warp has 32 lanes, and the others do nothing. Launch blocks of 64
    threads and more: kernel[blocks, threads], in this order."""
    return seen.idlest_block < WARP and seen.idlest.counters.blocks > 32


@misconception("shares_the_walking", shows=witness.launched(lambda seen: seen.slowest))
def one_thread_walks(seen: ListEvidence) -> bool:
    """In `{seen.slowest.kernel}` one thread does the work of all. That is the loop that a CPU runs, and a thread of a
    GPU is far slower at it. What could each splitter's own thread do?"""
    return seen.walks_alone


@misconception("shares_the_walking", shows=witness.launched(lambda seen: seen.idlest))
def too_few_splitters(seen: ListEvidence) -> bool:
    """There are few splitters, so that few threads walk, and all of them far. Put splitters nearer to each other; an
    H200 has room for a quarter of a million threads."""
    several = seen.attempt.wrong is None and seen.idlest_block >= WARP and not seen.walks_alone
    threads = seen.idlest.counters.threads
    return several and 2 ** (seen.rounds_of(0) - 1) <= threads < seen.n  # no fewer than splitters, by their rounds


@misconception("shares_the_walking", shows=witness.launched(lambda seen: seen.idlest))
def few_lanes_walk(seen: ListEvidence) -> bool:
    """In `{seen.idlest.kernel}` most lanes of a warp wait for the few that walk, since threads with a splitter are far
    apart. Let consecutive threads have consecutive splitters."""
    few = seen.attempt.wrong is None and spec.lanes_at_work(seen.idlest) < spec.LANES_AT_WORK
    return few and seen.idlest_block >= WARP and seen.idlest.counters.threads >= seen.n


@misconception("stays_on_the_device", shows=witness.asked_of_the_host("copy_to_host"))
def copies_to_the_host(seen: ListEvidence) -> bool:
    """An array is copied back to the host in the middle of the work. The GPU waits for that copy, and the copy takes
    longer than a round. How many rounds are enough is known beforehand."""
    return seen.asked_for("copy_to_host")


@misconception("stays_on_the_device", shows=witness.asked_of_the_host("an element"))
def reads_an_element(seen: ListEvidence) -> bool:
    """The host looks at single elements of a device array. For each it waits until the GPU is done with everything
    before, and the GPU then waits for the host. All that the host has to know follows from the sizes of arrays."""
    return seen.asked_for("an element") and not seen.asked_for("copy_to_host")


@misconception("stays_on_the_device", shows=witness.asked_of_the_host("device_array", "device_array_like"))
def makes_arrays(seen: ListEvidence) -> bool:
    """New arrays are made on the device, in every call anew. Setting memory aside takes its time, and so whoever calls
    lends some, once for all calls: take the rows of scratch."""
    return seen.asked_for("device_array", "device_array_like")


@misconception("stays_on_the_device", shows=witness.asked_of_the_host(*spec.STORES))
def copies_to_the_device(seen: ListEvidence) -> bool:
    """Values are sent from the host that a kernel could write by itself, without a copy."""
    return seen.asked_for(*spec.STORES)


@misconception("stays_on_the_device", shows=witness.asked_of_the_host("synchronize"))
def waits_for_the_device(seen: ListEvidence) -> bool:
    """The host waits until the GPU is done, before it goes on. Launches of one stream follow each other anyway: a round
    begins when the one before has ended, and the host can be several launches ahead."""
    return seen.asked_for("synchronize")


# ---- part 5: speed ---------------------------------------------------------------------------------------------------


@misconception("faster_than_pointer_jumping", shows=witness.launched(lambda seen: seen.slowest))
def long_walks(seen: ListEvidence) -> bool:
    """The launch waits for its longest walk, and with splitters this far apart walks are long while most of the GPU has
    nothing left to do. Put splitters nearer to each other."""
    slow = seen.attempt.wrong is None and spec.loads_of_a_warp(seen.slowest) > 200
    return slow
