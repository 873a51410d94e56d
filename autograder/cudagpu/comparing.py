"""Times a submission against the baseline: ABBA rounds, each call on inputs of its own, a cold L2, every output checked.

The protocol: compile and warm up outside the clock, on inputs of their own. Each timed call of the submission has a
request that no call had before: its arrays come to the GPU, at a shifted address, right before that call, what the call
left is handed to the grader, and then its arrays are overwritten there. So no call can read what would spare it work:
nothing of its inputs, nor of what belongs to them, was on the GPU before. Shared memory is overwritten before each call
as well, all but half a percent. The grader verifies both outputs of a round and draws the inputs of the next one, so
that each process of the host holds those of a round and two more, and the GPU those of one call. The baseline's calls
are on requests that the submission has had. Where a request names a library's function, that is timed in the baseline's
place; where it is not installed, the baseline is, and its recorded speed beside the library's makes a share of it.

L2 is filled by others' data before each call, and what host code asked for in its last call is ready before the clock
starts, as in a pool of memory. The GPU has something else to do until all launches of a call have been asked for. Where it
was through with that before, as on a host that is too busy, it may have waited for the host: such a round does not count,
and the next one gives the host longer. CUDA events around the call, cross-checked with the wall clock and with a device-wide
synchronisation; the ratio of each round, with a bootstrap interval over rounds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.cudagpu import timing
from autograder.cudagpu.compilation import Compiler
from autograder.cudagpu.conditions import Clocks, Flush, dram_gb_per_s
from autograder.cudagpu.handles import GpuArray
from autograder.cudagpu.libraries import Carried, installed
from autograder.cudagpu.memory import ALIGNMENT_BYTES
from autograder.cudagpu.requests import carry_out, gather, place_arguments
from autograder.cudagpu.session import Asked, GpuSession
from autograder.errors import GraderFault, SubmissionError, one_line
from autograder.language.program import Program
from autograder.records.runs import Comparison, Library, RunRequest
from autograder.records.transfers import Transfer

WARM_UP_CALLS = 2
MOST_SECONDS = 20.0
STRAGGLER_NS = 200_000  # work that a device-wide synchronisation still finds after the end event
SHIFTS = 16
LEAD_IN = 1.5  # times what the host takes to ask for a call's launches: so long the GPU finds something else to do before
LEAST_LEAD_NS, MOST_LEAD_NS = 1e6, 50e6  # of a call whose host came late: twice as long each time, within these
LEAST_IN_TIME = 3  # rounds: with fewer, after all the time that there is, nothing was measured


@dataclass
class TimedCall:
    """One timed call: its time, what the host's clock said, and its outputs."""

    ns: float
    events_ns: float
    wall_ns: float
    outputs: dict[str, np.ndarray]
    guards_intact: bool
    is_late: bool  # the GPU may have waited for the host, which never waited for it


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
    library: Carried | None = None  # what is timed in the baseline's place
    times_the_baseline: float = 1.0  # how fast what speed is compared with would be, where the baseline is timed for it
    notes: dict[str, str] = field(default_factory=dict)
    late: list[timing.Round] = field(default_factory=list)  # rounds that do not count: the host came late
    lead_ns: dict[int, float] = field(default_factory=dict)  # by program: what its calls get at least, once one was late
    goes_on: bool = True

    def begin(self, request: RunRequest) -> Comparison | None:
        """Warms both up on a request that is used for nothing else; their comparison where one of them fails.

        The submission's fault ends it, the baseline's is ours.
        """
        self.compiler_of = dict(zip((id(self.baseline), id(self.submission)), self.compilers, strict=True))
        self.flush, self.clocks, self.began = Flush(), Clocks(), time.monotonic()
        self.issued_ns: dict[int, float] = {}  # by program: how long the host takes to ask for all that a call launches
        self.last_request = request
        if request.library is not None:
            self._find(request.library)
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
        self.lead_ns.clear()  # the first calls compiled
        return None

    def _find(self, library: Library) -> None:
        found = installed(library.function)
        if found is not None:
            package, self.library = found
            self.notes["library"] = f"{library.name} by {package}"
            return
        self.times_the_baseline = library.times_the_baseline
        self.notes["library"] = f"{library.name} is not installed: by what it and the baseline took on an H200"
        if self.threshold is not None:
            self.threshold *= self.times_the_baseline  # of what is timed

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
        is_late = any(call.is_late for call in (first, second, third, last))
        (self.late if is_late else self.rounds).append(timing.Round((first.ns, last.ns), (second.ns, third.ns)))
        interval = timing.bootstrap_interval([each.ratio for each in self._counted], np.random.default_rng(1))
        time_is_up = time.monotonic() - self.began > MOST_SECONDS
        self.goes_on = not time_is_up and not timing.is_settled(interval, len(self.rounds), self.threshold)
        if time_is_up and self.late and len(self.rounds) < LEAST_IN_TIME:
            rounds = f"in {len(self.late)} of {len(self.late) + len(self.rounds)} rounds the GPU waited for the host"
            remedy = "Grade again with fewer --jobs, or when less else is running."
            raise GraderFault(f"This machine is too busy to time kernels: {rounds}.", remedy=remedy)
        return self._comparison(interval, (second.outputs, third.outputs))

    @property
    def _counted(self) -> list[timing.Round]:
        """The rounds that count; as long as there are none, those that do not, so that there is something to go on from."""
        return self.rounds or self.late

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
        lead_ns = max(LEAD_IN * shortest_ns, self.lead_ns.get(id(program), 0.0))
        self.flush.delay(lead_ns)  # launches queue up meanwhile, so that Python is not timed
        self.flush()
        start.record()
        issued, waits = time.perf_counter_ns(), session.waits + len(session.transfers)
        if program is self.baseline and self.library is not None:
            self._call_library(session, self.library, handles)
        else:
            carry_out(session, program, request, handles)
        session.checked(end.record)
        has_waited = session.waits + len(session.transfers) > waits
        is_late = not has_waited and session.checked(start.query)  # the GPU was there before all had been asked for
        self.asked[id(program)] = session.asked
        issued_ns = time.perf_counter_ns() - issued  # with the delay in it, where host code waits for the GPU
        self.issued_ns[id(program)] = min(issued_ns, shortest_ns or issued_ns)
        if is_late:
            self.lead_ns[id(program)] = min(max(2 * lead_ns, LEAST_LEAD_NS), MOST_LEAD_NS)
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
            return TimedCall(ns, events_ns, wall_ns, {}, True, is_late)
        outputs, _, hazards = gather(session, request, handles)
        self.transfers = max(self.transfers, tuple(session.transfers), key=len)
        return TimedCall(ns, events_ns, wall_ns, outputs, not hazards, is_late)

    def _call_library(self, session: GpuSession, library: Carried, handles: Mapping[str, Any]) -> None:
        arrays = {name: handle.view for name, handle in handles.items() if isinstance(handle, GpuArray)}
        try:
            session.checked(lambda: library(arrays))
        except Exception as problem:  # whatever a library that does not fit this machine makes of itself
            told = f"{self.notes['library']} failed: {one_line(str(problem))}"
            raise GraderFault(told, remedy="Remove or mend that package: the lab needs none.") from None

    def _comparison(
        self, interval: timing.Interval, outputs: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
    ) -> Comparison:
        """What is known after this round, whose outputs these are."""
        baseline_ns = float(np.median([each for one in self._counted for each in one.baseline_ns]))
        submission_ns = float(np.median([each for one in self._counted for each in one.submission_ns]))
        asked = None if self.goes_on else self.threshold  # the interval may still come to lie on one side of it
        found = timing.flags(
            interval, asked, self.fastest_ns, self.floor_ns, self.disagreements, self.clocks.throttled
        )
        if not self.guards_intact:
            found += ("wrote outside its arrays",)
        return Comparison(
            ratio=interval.ratio / self.times_the_baseline,
            low=interval.low / self.times_the_baseline,
            high=interval.high / self.times_the_baseline,
            source="measured",
            baseline_ns=baseline_ns / self.times_the_baseline,
            submission_ns=submission_ns,
            outputs=outputs,
            request_of_output=(0, 1),
            flags=found,
            transfers=self.transfers,
            rounds=tuple(each.ratio / self.times_the_baseline for each in self._counted),
            notes={"rounds": len(self._counted), "floor_ns": self.floor_ns, "gpu": self.gpu}
            | ({"late_rounds": len(self.late)} if self.late else {})
            | self.clocks.notes()
            | self.notes,
            goes_on=self.goes_on,
        )

    def _failed(self, program: Program, problem: SubmissionError) -> Comparison:
        if program is self.baseline:
            raise GraderFault(f"The lab's baseline failed on the GPU: {problem}")
        self.goes_on = False
        nan = float("nan")
        return Comparison(0.0, 0.0, 0.0, "measured", nan, nan, fault=problem)
