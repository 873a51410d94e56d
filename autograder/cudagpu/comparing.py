"""Times a submission against the baseline: ABBA rounds, fresh arrays, a cold L2, and every output kept for checking.

The protocol: compile and warm up outside the clock; in every timed call new arrays at shifted addresses and a request
drawn at random, and what host code asked for in its last call ready before the clock starts, as in a pool of memory; L2
filled by others' data before it; CUDA events around the call, cross-checked with the wall clock and with a device-wide
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


@dataclass
class TimedCall:
    """One timed call: its time, what the host's clock said, and its outputs."""

    ns: float
    events_ns: float
    wall_ns: float
    outputs: dict[str, np.ndarray]
    request: int
    guards_intact: bool


@dataclass(eq=False)
class Contest:
    """One comparison under way."""

    gpu: str  # its name
    compilers: tuple[Compiler, Compiler]  # of the baseline and of the submission
    baseline: Program
    submission: Program
    requests: Sequence[RunRequest]
    rng: np.random.Generator
    rounds: list[timing.Round] = field(default_factory=list)
    calls: list[TimedCall] = field(default_factory=list)
    disagreements: int = 0
    transfers: tuple[Transfer, ...] = ()  # of the submission's last call
    asked: dict[int, list[Asked]] = field(default_factory=dict)  # by program: the new arrays of its last call

    def decide(self, threshold: float | None) -> Comparison:
        """Measures until it is settled; the submission's fault ends it, the baseline's is ours."""
        self.compiler_of = dict(zip((id(self.baseline), id(self.submission)), self.compilers, strict=True))
        self.flush, self.clocks = Flush(), Clocks()
        self.lead_in_ns = {id(self.baseline): 0.0, id(self.submission): 0.0}
        try:
            for program in (self.baseline, self.submission):
                for _ in range(WARM_UP_CALLS):
                    self._call(program)
        except SubmissionError as problem:
            return self._failed(program, problem)
        interval, began = None, time.monotonic()
        while interval is None or not timing.is_settled(interval, len(self.rounds), threshold):
            if interval is not None and time.monotonic() - began > MOST_SECONDS:
                break
            try:
                self._round()
            except SubmissionError as problem:
                return self._failed(self.submission, problem)
            interval = timing.bootstrap_interval([each.ratio for each in self.rounds], np.random.default_rng(1))
        return self._comparison(interval, threshold)

    def _round(self) -> None:
        """Baseline, submission, submission, baseline."""
        first = self._call(self.baseline)
        second, third = self._call(self.submission), self._call(self.submission)
        last = self._call(self.baseline)
        self.clocks.read()
        for call in (second, third):
            call.outputs = self._share_equal_outputs(call.outputs, call.request)
            self.calls.append(call)
        self.rounds.append(timing.Round((first.ns, last.ns), (second.ns, third.ns)))

    def _call(self, program: Program) -> TimedCall:
        """One call on fresh arrays with a cold L2, timed from the moment that the flush is through."""
        from numba import cuda

        which = int(self.rng.integers(len(self.requests)))
        request = self.requests[which]
        shift = ALIGNMENT_BYTES * int(self.rng.integers(SHIFTS))
        session = GpuSession(self.compiler_of[id(program)], self.rng, shift_bytes=shift, timed=False)
        handles = place_arguments(session, request)
        session.prepare(self.asked.get(id(program), ()))
        begin, start, end, settled = (cuda.event() for _ in range(4))
        cuda.synchronize()
        wall = time.perf_counter_ns()
        begin.record()
        self.flush.delay(self.lead_in_ns[id(program)])  # launches queue up meanwhile, so that Python is not timed
        self.flush()
        start.record()
        issued = time.perf_counter_ns()
        carry_out(session, program, request, handles)
        session.checked(end.record)
        self.asked[id(program)] = session.asked
        self.lead_in_ns[id(program)] = 1.5 * (time.perf_counter_ns() - issued)
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
            return TimedCall(ns, events_ns, wall_ns, {}, which, True)
        outputs, _, hazards = gather(session, request, handles)
        self.transfers = tuple(session.transfers)
        return TimedCall(ns, events_ns, wall_ns, outputs, which, not hazards)

    def _share_equal_outputs(self, outputs: dict[str, np.ndarray], request: int) -> dict[str, np.ndarray]:
        """These outputs, or those of an earlier call that left the same bytes: they need not be sent and checked again."""
        same = (each.outputs for each in self.calls if each.request == request and _same_bytes(each.outputs, outputs))
        return next(same, outputs)

    def _comparison(self, interval: timing.Interval, threshold: float | None) -> Comparison:
        baseline_ns = float(np.median([each for one in self.rounds for each in one.baseline_ns]))
        submission_ns = float(np.median([each for one in self.rounds for each in one.submission_ns]))
        fastest = min(each.ns for each in self.calls)
        arrays = [each for each in self.requests[0].arguments.values() if isinstance(each, np.ndarray)]
        floor_ns = timing.floor_ns(sum(array.nbytes for array in arrays), dram_gb_per_s())
        found = timing.flags(interval, threshold, fastest, floor_ns, self.disagreements, self.clocks.throttled)
        if not all(call.guards_intact for call in self.calls):
            found += ("wrote outside its arrays",)
        distinct = {id(call.outputs): call for call in self.calls}.values()
        return Comparison(
            ratio=interval.ratio,
            low=interval.low,
            high=interval.high,
            source="measured",
            baseline_ns=baseline_ns,
            submission_ns=submission_ns,
            outputs=tuple(call.outputs for call in distinct),
            request_of_output=tuple(call.request for call in distinct),
            flags=found,
            transfers=self.transfers,
            rounds=tuple(each.ratio for each in self.rounds),
            notes={"rounds": len(self.rounds), "floor_ns": floor_ns, "gpu": self.gpu} | self.clocks.notes(),
        )

    def _failed(self, program: Program, problem: SubmissionError) -> Comparison:
        if program is self.baseline:
            raise GraderFault(f"The lab's baseline failed on the GPU: {problem}")
        nan = float("nan")
        return Comparison(0.0, 0.0, 0.0, "measured", nan, nan, fault=problem)


def _same_bytes(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    """Whether two calls left the same in every array, to the last bit: NaNs and signs of zeros included."""
    return all(np.array_equal(_bytes(one[name]), _bytes(other[name])) for name in one)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
