"""The simulated GPU as the grader uses it: carries out requests, whole or by a sample of blocks, and estimates times."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.errors import GraderFault, KitError, NotCarriedOut, SubmissionError, TooSlow, WorkLimit
from autograder.language.program import Program, reachable
from autograder.language.validate import validate_kernel
from autograder.perfmodel.host_time import call_ns, floor_ns
from autograder.records.counters import Counters
from autograder.records.runs import Comparison, Launch, Run, RunRequest, Source, Uninitialised, Zeros
from autograder.sampling.beginnings import Beginnings, Kinds
from autograder.sampling.follower import Follower
from autograder.sampling.left_out import MOST_ROUNDS, Plan
from autograder.simgpu.counting.tracing import Trace
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.giving_up import GivingUp
from autograder.simgpu.host.launch import DEFAULT_WORK_LIMIT
from autograder.simgpu.host.launch_record import LaunchRecord, estimate_launch, merged_hazards, merged_lines
from autograder.simgpu.machine.launch_state import silent
from autograder.simgpu.primitives import compile_all
from autograder.simgpu.values.arrays import DeviceArray, buffer_of, contents


@dataclass(frozen=True)
class CarriedOut:
    """A request after its function has returned, or after `fault` ended it: where, on which arrays, and with what result."""

    session: Session
    follower: Follower
    handles: dict[str, Any]
    returned: Any
    fault: KitError | None


class SimulatedDevice:
    """The simulated GPU, estimated as one model of GPU; see `autograder.device.Device`."""

    source: Source = "simulated"

    def __init__(self, model: str = "H200") -> None:
        self.model = model
        self.name = f"simulated GPU (times estimated for an NVIDIA {model})"
        self._timed_baseline: Program | None = None
        self._baseline_times: dict[bytes, float] = {}  # of that baseline, by the request's digest

    def prepare(self) -> None:
        """Makes now what runs would make when they first need it: afterwards nothing is compiled into a cache on disk."""
        compile_all()

    def run(
        self,
        program: Program,
        request: RunRequest,
        *,
        checks_order: bool = True,
        giving_up: GivingUp | None = None,
    ) -> Run:
        """Carries out one request on fresh memory; the submission's own faults come back in `Run.fault`.

        Without `checks_order` nobody looks for races and uninitialised reads: a comparison asks for results and work.
        Where reads are followed it is known who wrote what in any case.
        """
        sample: CarriedOut | None = None
        is_followed = request.sample_blocks is not None and request.follows_reads
        kinds = self._kinds_left_out(program, request) if is_followed and request.looks_for_kinds else None
        for plan in (Plan(kinds=kinds), Plan(keeps_to_rules=True, kinds=kinds)):
            for _ in range(MOST_ROUNDS if is_followed else 0):
                carried_out = self._carry_out(program, request, True, plan, giving_up)
                sample = sample or carried_out
                partials, work = list(carried_out.follower.partials.values()), carried_out.session.work
                is_settled = isinstance(carried_out.fault, TooSlow) or self._is_cut_short(carried_out, plan)
                if is_settled or not plan.grow(partials, work):
                    return self._gather(request, carried_out, plan)
                if plan.is_too_much:
                    break
            if not (plan.is_too_much and plan.goes_beyond_rules):
                break
        if plan.is_too_much:  # a right answer may have many steps: its counts stand, its results are not known
            assert sample is not None
            return _without_results(self._gather(request, sample, Plan()))
        plan.is_whole = is_followed
        checks_order |= is_followed
        return self._gather(request, self._carry_out(program, request, checks_order, plan, giving_up), plan)

    def _kinds_left_out(self, program: Program, request: RunRequest) -> Kinds:
        """Of each launch the kinds of blocks that its sample has none of; none where the function does not get that far."""
        assert request.sample_blocks is not None
        beginnings = Beginnings(request.sample_blocks, request.sample_seed)
        session = Session(
            chooser=beginnings, checks_order=False, work_limit=request.work_limit or DEFAULT_WORK_LIMIT, output=silent
        )
        with suppress(KitError):  # what is wrong is told by the run itself
            handles = {name: self._to_device(session, value) for name, value in request.arguments.items()}
            self._call(program, request, session, handles)
        return beginnings.kinds

    @staticmethod
    def _call(program: Program, request: RunRequest, session: Session, handles: dict[str, Any]) -> Any:
        """Calls the request's function, or launches it where it is a kernel; what it returned."""
        from autograder.language.host import call

        function = program.function(request.function)
        if function.kind == "kernel":
            for each in reachable(function):
                validate_kernel(each)
            session.launch(function, request.grid, request.block, tuple(handles.values()))
            return None
        return call(program, function, tuple(handles.values()), session, wants_returned=request.wants_returned)

    def _carry_out(
        self, program: Program, request: RunRequest, checks_order: bool, plan: Plan, giving_up: GivingUp | None
    ) -> CarriedOut:
        """Calls the function in a session of its own, with the blocks of a plan beside those that are sampled."""
        follower = Follower(request.sample_blocks, request.sample_seed, plan, follows_reads=request.follows_reads)
        session = _Session(
            leaves_out=request.leaves_out,
            chooser=follower,
            checks_order=checks_order,
            work_limit=request.work_limit or DEFAULT_WORK_LIMIT,
            trace=Trace(only=request.traced_line) if request.traced_line else None,
            output=silent,
            giving_up=None if giving_up is None else replace(giving_up),
        )
        handles = {name: self._to_device(session, value) for name, value in request.arguments.items()}
        if request.sample_blocks is not None:
            asked_for = (name for name in request.arguments if name not in request.scratch)
            new = [name for name in asked_for if isinstance(request.arguments[name], Uninitialised)]
            given = [
                name for name, value in request.arguments.items()
                if isinstance(value, Zeros) or isinstance(value, np.ndarray) and value.ndim
            ]  # fmt: skip
            follower.watch({name: handles[name] for name in new}, {name: handles[name] for name in given})
        returned, fault = None, None
        try:
            returned = self._call(program, request, session, handles)
        except SubmissionError as error:
            fault = error.with_traceback(None)  # whose frames hold this one, and its arrays
        follower.finish(is_the_end=fault is None)
        return CarriedOut(session, follower, handles, returned, fault)

    @staticmethod
    def _is_cut_short(carried_out: CarriedOut, plan: Plan) -> bool:
        """Whether a sampled run ended at its work limit because of the blocks beside its sample."""
        return isinstance(carried_out.fault, WorkLimit) and bool(plan.blocks)

    def compare(
        self, baseline: Program, submission: Program, requests: Sequence[RunRequest], threshold: float | None = None
    ) -> Comparison:
        """Estimates both on the first request: the same every time. The interval is where a clock's ratio is expected; of
        a GPU that nobody has measured it is the ratio itself."""
        from autograder.perfmodel import SPECIFICATIONS, limiting
        from autograder.perfmodel.sureness import interval_of_ratio, known

        baseline_ns, library = self._reference_ns(baseline, requests[0]), requests[0].library
        sampled = requests[0].sample_blocks is not None
        giving_up = None
        if requests[0].least_ratio is not None:
            whose = "the lab's baseline" if library is None else library.name
            giving_up = GivingUp(self.model, baseline_ns / requests[0].least_ratio, whose, baseline_ns)
        # Of a sample, what was written is known by its checks.
        run = self.run(submission, requests[0], checks_order=sampled, giving_up=giving_up)
        fault, outputs = run.fault, run.outputs
        submission_ns = self._call_ns(run)
        ratio = baseline_ns / submission_ns if fault is None else 0.0
        inputs = [each.nbytes for each in requests[0].arguments.values() if isinstance(each, np.ndarray)]
        estimates = [each.estimate for each in run.launches if each.estimate is not None]
        gpu = SPECIFICATIONS[self.model].name
        interval = interval_of_ratio(ratio, limiting(estimates), gpu) if fault is None else None
        low, high = interval or (ratio, ratio)
        is_too_fast = fault is None and submission_ns < floor_ns(sum(inputs), SPECIFICATIONS[self.model])
        return Comparison(
            ratio=ratio,
            low=low,
            high=high,
            source="simulated",
            baseline_ns=baseline_ns,
            submission_ns=submission_ns,
            outputs=() if sampled or fault is not None else (outputs,),
            request_of_output=() if sampled or fault is not None else (0,),
            sampled=replace(run, outputs=_of_kernels(run)) if sampled and fault is None else None,
            fault=fault,
            flags=("faster than the roofline floor",) if is_too_fast else (),
            launches=len(run.launches),
            transfers=run.transfers,
            notes={"model": self.model, "launches": len(run.launches)}
            | ({"sampled_blocks": requests[0].sample_blocks} if sampled else {})
            | ({"host_requests": len(run.transfers)} if run.transfers else {})
            | ({"library": f"{library.name} by what it and the baseline took on an H200"} if library else {})
            | ({"interval_held_percent": known().held_ratio(limiting(estimates))} if high > low else {})
            | (_slowest_kernel(run) if fault is None else {}),
        )

    def _reference_ns(self, baseline: Program, request: RunRequest) -> float:
        """What the submission's time is compared with: the baseline's estimate, or that of a library's function.

        The library is as many times as fast as the baseline's estimate as it was beside the baseline on an H200: what both
        estimates have wrong alike, in the submission's as well, cancels.
        """
        if request.library is not None:
            return self._baseline_ns(baseline, request) / request.library.times_the_baseline
        return request.baseline_estimated_ns or self._baseline_ns(baseline, request)

    def _baseline_ns(self, baseline: Program, request: RunRequest) -> float:
        """The baseline's estimated time, worked out once: a class asks for the same of every submission."""
        if self._timed_baseline is not baseline:
            self._timed_baseline, self._baseline_times = baseline, {}
        key = _digest(replace(request, least_ratio=None))
        if key not in self._baseline_times:
            run = self.run(baseline, request, checks_order=False)
            if run.fault is not None:
                raise GraderFault(f"The lab's baseline fails: {run.fault}")
            self._baseline_times[key] = self._call_ns(run)
        return self._baseline_times[key]

    def _call_ns(self, run: Run) -> float:
        """What a call takes with all that its host code asks for; NaN where it launches nothing."""
        from autograder.perfmodel import SPECIFICATIONS

        launches = [launch.estimated_ns for launch in run.launches if launch.estimated_ns is not None]
        return call_ns(launches, run.transfers, SPECIFICATIONS[self.model]) if launches else float("nan")

    def _to_device(self, session: Session, value: Any) -> Any:
        if isinstance(value, Uninitialised):
            return session.device_array(value.shape, value.dtype)
        if isinstance(value, Zeros):
            return session.zeros(value.shape, value.dtype)
        if isinstance(value, np.ndarray) and value.ndim:
            return session.to_device(value)
        return value

    def _gather(self, request: RunRequest, carried_out: CarriedOut, plan: Plan) -> Run:
        from autograder.perfmodel import SPECIFICATIONS, in_a_row

        session, follower, handles = carried_out.session, carried_out.follower, carried_out.handles
        returned, fault = carried_out.returned, carried_out.fault
        if self._is_cut_short(carried_out, plan):
            fault = _too_much_to_predict(session)
        arrays_by_name = {name: handle for name, handle in handles.items() if isinstance(handle, DeviceArray)}
        launches = tuple(self._launch_of(record, arrays_by_name) for record in session.records)
        estimates = [launch.estimated_ns for launch in launches if launch.estimated_ns is not None]
        if isinstance(returned, DeviceArray):
            returned = returned.copy_to_host()
        asked_for = {name: value for name, value in request.arguments.items() if name not in request.scratch}
        is_sampled = request.sample_blocks is not None
        written = {
            name: follower.written(name, arrays_by_name[name], by_kernels=is_sampled)
            for name, value in asked_for.items()
            if isinstance(value, Uninitialised)
        }
        if is_sampled and request.follows_reads:
            given = [name for name, value in asked_for.items() if isinstance(value, np.ndarray) and name in arrays_by_name]
            known = {name: follower.known(arrays_by_name[name]) for name in given}
            written |= {name: flags for name, flags in known.items() if flags is not None}
        return Run(
            outputs={name: contents(array) for name, array in arrays_by_name.items() if name in asked_for},
            # no copies: the session ends here, and nobody else has its memory
            returned=returned,
            written=written,
            launches=launches,
            counted=sum((record.counters for record in session.records), Counters()),
            covered=follower.covered,
            covered_at_most=follower.at_most,
            has_idle_blocks=follower.has_idle_blocks,
            loaded=follower.loaded,
            lines=merged_lines(session.records),
            hazards=merged_hazards(session.records),
            accesses=tuple(session.trace.accesses.get(request.traced_line, ())) if session.trace else (),
            transfers=tuple(session.transfers),
            fault=fault,
            source="simulated",
            estimated_ns=in_a_row(estimates, SPECIFICATIONS[self.model]) if estimates else None,
        )

    def _launch_of(self, record: LaunchRecord, arrays: Mapping[str, DeviceArray]) -> Launch:
        estimate = None if record.fault is not None else estimate_launch(record, self.model)
        return Launch(
            record.kernel,
            record.grid,
            record.block,
            record.shared_bytes,
            record.counters,
            record.compiled,
            estimated_ns=None if estimate is None else estimate.ns,
            array_bytes=record.array_bytes,
            arrays=tuple(name for name, each in arrays.items() if id(buffer_of(each).owner) in record.allocations),
            lines=tuple(each.line for each in record.lines),
            estimate=estimate,
        )


class _Session(Session):
    """A session in which one launch of a kernel may be asked for and left out: (its name, which one, from 0)."""

    def __init__(self, *, leaves_out: tuple[str, int] | None, **how: Any) -> None:
        super().__init__(**how)
        self.leaves_out = leaves_out
        self.asked_for = 0  # launches of that kernel

    def launch(self, kernel: Any, grid: Any, block: Any, *arguments: Any, **how: Any) -> LaunchRecord:
        if self.leaves_out is not None and kernel.name == self.leaves_out[0]:
            self.asked_for += 1
            if self.asked_for - 1 == self.leaves_out[1]:
                return LaunchRecord(kernel.name, grid, block, 0, Counters(), Counters(), (), (), 0)
        return super().launch(kernel, grid, block, *arguments, **how)


def _slowest_kernel(run: Run) -> dict[str, str]:
    """The launch that takes longest, with how sure that time is, and what limits it: for reports."""
    from autograder.perfmodel.prediction import how_sure

    launch = max(run.launches, key=lambda each: each.estimated_ns or 0.0, default=None)
    if launch is None or launch.estimate is None:
        return {}
    return {"slowest_kernel": f"{launch.kernel}, {how_sure(launch.estimate)}", "by_prediction": launch.estimate.limits}


def _digest(request: RunRequest) -> bytes:
    """Of all that a request holds, its arrays as they lie in memory."""
    arrays: list[pickle.PickleBuffer] = []
    digest = hashlib.blake2b(pickle.dumps(request, protocol=5, buffer_callback=arrays.append))
    for each in arrays:
        digest.update(each.raw())
    return digest.digest()


def _without_results(run: Run) -> Run:
    """The sample of a run whose launches read what others left out: its counts stand, and nothing that it wrote does."""
    return replace(run, written={name: np.zeros_like(mask) for name, mask in run.written.items()}, is_unverified=True)


def _too_much_to_predict(session: Session) -> NotCarriedOut:
    """What is said of a run that builds on itself, and of which nothing can be left out within its work limit."""
    kernel = session.records[-1].kernel if session.records else ""
    return NotCarriedOut(
        "The time that this takes cannot be predicted: what a launch has written is read before the last launch, so that "
        f"no block can be left out of it, and `{kernel}` went beyond the {session.work_limit:,} units of work there are.",
        remedy="A GPU would time it. Launches that do not build on one another can be predicted.",
    )


def _of_kernels(run: Run) -> dict[str, np.ndarray]:
    """The outputs that kernels wrote: the grader has the others."""
    return {name: output for name, output in run.outputs.items() if name in run.written}
