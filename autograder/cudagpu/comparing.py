"""Times a submission against the baseline: ABBA rounds, each call on inputs of its own, a cold L2, every output checked.

The protocol: compile and warm up outside the clock, on inputs of their own. Each timed call of the submission has a
request that no call had before: its arrays come to the GPU, at a shifted address, right before that call, what the call
left is handed to the grader, and then its arrays are overwritten there. So no call can read what would spare it work:
nothing of its inputs, nor of what belongs to them, was on the GPU before. Shared memory is overwritten before each call
as well, all but half a percent. The grader verifies both outputs of a round and draws the inputs of the next one, so
that each process of the host holds those of a round and two more, and the GPU those of one call. The baseline's calls
are on requests that the submission has had.

L2 is filled by others' data before each call, and what host code asked for in its last call is ready before the clock
starts, as in a pool of memory. CUDA events around the call, cross-checked with the wall clock and with a device-wide
synchronisation; the ratio of each round, with a bootstrap interval over rounds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autograder.cudagpu import timing
from autograder.cudagpu.compilation import Compiler
from autograder.cudagpu.conditions import Clocks, Flush, dram_gb_per_s
from autograder.cudagpu.memory import ALIGNMENT_BYTES
from autograder.cudagpu.requests import carry_out, gather, place_arguments
from autograder.cudagpu.session import Asked, GpuSession
from autograder.errors import GraderFault, SubmissionError
from autograder.language.program import Program
from autograder.records.runs import Comparison, RunRequest
from autograder.records.transfers import Transfer

WARM_UP_CALLS = 2
MOST_SECONDS = 20.0
STRAGGLER_NS = 200_000  # work that a device-wide synchronisation still finds after the end event
SHIFTS = 16
LEAD_IN = 1.5  # times what the host takes to ask for a call's launches: so long the GPU finds something else to do before


@dataclass
class TimedCall:
    """One timed call: its time, what the host's clock said, and its outputs."""

    ns: float
    events_ns: float
    wall_ns: float
    outputs: dict[str, np.ndarray]
    guards_intact: bool


@dataclass(eq=False)
class Contest:
    """One comparison under way: `begin` once, then a round at a time until it `goes_on` no more."""

    gpu: str  # its name
    compilers: tuple[Compiler, Compiler]  # of the baseline and of the submission
    baseline: Program
    submission: Program
    threshold: float | None
    rng: np.random.Generator
    rounds: list[timing.Round] = field(default_factory=list)
    fastest_ns: float = float("inf")  # of the submission's timed calls
    guards_intact: bool = True
    disagreements: int = 0
    transfers: tuple[Transfer, ...] = ()  # of the submission's timed call that asked for most
    asked: dict[int, list[Asked]] = field(default_factory=dict)  # by program: the new arrays of its last call
    goes_on: bool = True

    def begin(self, request: RunRequest) -> Comparison | None:
        """Warms both up on a request that is used for nothing else; their comparison where one of them fails.

        The submission's fault ends it, the baseline's is ours.
        """
        self.compiler_of = dict(zip((id(self.baseline), id(self.submission)), self.compilers, strict=True))
        self.flush, self.clocks, self.began = Flush(), Clocks(), time.monotonic()
        self.issued_ns: dict[int, float] = {}  # by program: how long the host takes to ask for all that a call launches
        self.last_request = request
        arrays = [each for each in request.arguments.values() if isinstance(each, np.ndarray)]
        self.floor_ns = timing.floor_ns(sum(array.nbytes for array in arrays), dram_gb_per_s())
        for program in (self.baseline, self.submission):
            try:
                for _ in range(WARM_UP_CALLS):
                    self.issued_ns.pop(id(program), None)  # the first call compiles
                    self._call(program, request)
            except SubmissionError as problem:
                return self._failed(program, problem)
        self.transfers, self.disagreements = (), 0
        return None

    def round(self, requests: Sequence[RunRequest]) -> Comparison:
        """Baseline, submission, submission, baseline; the submission on requests that nobody has had yet."""
        mine, also_mine = requests
        try:
            first = self._call(self.baseline, self.last_request)
            second, third = self._call(self.submission, mine), self._call(self.submission, also_mine)
        except SubmissionError as problem:
            return self._failed(self.submission, problem)
        last = self._call(self.baseline, also_mine)
        self.last_request = also_mine
        self.clocks.read()
        for call in (second, third):
            self.fastest_ns = min(self.fastest_ns, call.ns)
            self.guards_intact &= call.guards_intact
        self.rounds.append(timing.Round((first.ns, last.ns), (second.ns, third.ns)))
        interval = timing.bootstrap_interval([each.ratio for each in self.rounds], np.random.default_rng(1))
        is_late = time.monotonic() - self.began > MOST_SECONDS
        self.goes_on = not is_late and not timing.is_settled(interval, len(self.rounds), self.threshold)
        return self._comparison(interval, (second.outputs, third.outputs))

    def _call(self, program: Program, request: RunRequest) -> TimedCall:
        """One call on fresh arrays with a cold L2, timed from when the flush is through; nothing is left of them."""
        shift = ALIGNMENT_BYTES * int(self.rng.integers(SHIFTS))
        session = GpuSession(self.compiler_of[id(program)], self.rng, shift_bytes=shift, timed=False)
        try:
            return self._timed(session, program, request)
        finally:
            session.overwrite()

    def _timed(self, session: GpuSession, program: Program, request: RunRequest) -> TimedCall:
        from numba import cuda

        handles = place_arguments(session, request)
        session.prepare(self.asked.get(id(program), ()))
        begin, start, end, settled = (cuda.event() for _ in range(4))
        cuda.synchronize()
        wall = time.perf_counter_ns()
        begin.record()
        shortest_ns = self.issued_ns.get(id(program), 0.0)
        self.flush.delay(LEAD_IN * shortest_ns)  # launches queue up meanwhile, so that Python is not timed
        self.flush()
        start.record()
        issued = time.perf_counter_ns()
        carry_out(session, program, request, handles)
        session.checked(end.record)
        self.asked[id(program)] = session.asked
        issued_ns = time.perf_counter_ns() - issued  # with the delay in it, where host code waits for the GPU
        self.issued_ns[id(program)] = min(issued_ns, shortest_ns or issued_ns)
        session.synchronise()
        session.checked(settled.record)
        session.checked(settled.synchronize)
        wall_ns = time.perf_counter_ns() - wall
        ns, events_ns = (cuda.event_elapsed_time(a, b) * 1e6 for a, b in ((start, end), (begin, settled)))
        straggling_ns = cuda.event_elapsed_time(end, settled) * 1e6
        if straggling_ns > STRAGGLER_NS + timing.CLOCKS_AGREE * ns:
            ns += straggling_ns  # something ran on after the end event: it counts
        self.disagreements += timing.clocks_disagree(events_ns, wall_ns)
        if program is self.baseline:  # ours: nobody needs to look at what it wrote
            return TimedCall(ns, events_ns, wall_ns, {}, True)
        outputs, _, hazards = gather(session, request, handles)
        self.transfers = max(self.transfers, tuple(session.transfers), key=len)
        return TimedCall(ns, events_ns, wall_ns, outputs, not hazards)

    def _comparison(
        self, interval: timing.Interval, outputs: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
    ) -> Comparison:
        """What is known after this round, whose outputs these are."""
        baseline_ns = float(np.median([each for one in self.rounds for each in one.baseline_ns]))
        submission_ns = float(np.median([each for one in self.rounds for each in one.submission_ns]))
        asked = None if self.goes_on else self.threshold  # the interval may still come to lie on one side of it
        found = timing.flags(
            interval, asked, self.fastest_ns, self.floor_ns, self.disagreements, self.clocks.throttled
        )
        if not self.guards_intact:
            found += ("wrote outside its arrays",)
        return Comparison(
            ratio=interval.ratio,
            low=interval.low,
            high=interval.high,
            source="measured",
            baseline_ns=baseline_ns,
            submission_ns=submission_ns,
            outputs=outputs,
            request_of_output=(0, 1),
            flags=found,
            transfers=self.transfers,
            rounds=tuple(each.ratio for each in self.rounds),
            notes={"rounds": len(self.rounds), "floor_ns": self.floor_ns, "gpu": self.gpu} | self.clocks.notes(),
            goes_on=self.goes_on,
        )

    def _failed(self, program: Program, problem: SubmissionError) -> Comparison:
        if program is self.baseline:
            raise GraderFault(f"The lab's baseline failed on the GPU: {problem}")
        self.goes_on = False
        nan = float("nan")
        return Comparison(0.0, 0.0, 0.0, "measured", nan, nan, fault=problem)
