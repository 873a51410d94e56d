"""The simulated GPU as a device: holds the arrays, carries out launches one after another, and estimates their time."""

from __future__ import annotations

import enum
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.errors import GraderFault, KernelFault, KitError, NotCarriedOut, SubmissionError
from autograder.language.live import member_value
from autograder.language.program import Function, Program, reachable
from autograder.language.validate import validate_kernel
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import Comparison, Launch, Run, RunRequest, Source, Uninitialised
from autograder.records.transfers import Transfer
from autograder.simgpu.counting.tracing import Trace
from autograder.simgpu.exceptions import Debug
from autograder.simgpu.facts.prepared import reach_of
from autograder.simgpu.host.host_time import floor_ns, host_ns
from autograder.simgpu.host.launch import DEFAULT_WORK_LIMIT, LaunchRecord, RunningLaunch
from autograder.simgpu.host.sampling import ALL, MOST_ROUNDS, Footprint, Partial, Plan, Producer, footprint_of
from autograder.simgpu.machine.launch_state import WorkLimit, silent
from autograder.simgpu.primitives import compile_all
from autograder.simgpu.values import arrays
from autograder.simgpu.values.arrays import DeviceArray
from autograder.simgpu.values.memory import WRITTEN_BY_HOST, AddressSpace, Buffer, View
from autograder.simgpu.values.numba_types import scalar
from autograder.simgpu.values.variables import NamedItems

MOST_OF_AN_ARRAY = 0.75  # written by all blocks of a launch, from which it counts as one that writes the whole array


class Session:
    """The memory of one use of the simulated GPU, and the records of its launches.

    The clock of barriers is shared by all sessions, since an array may be handed from one to another.
    """

    clock = 2  # a shadow's stamp is 0 for "never written" and 1 for "written by the host"

    def __init__(
        self,
        *,
        work_limit: int = DEFAULT_WORK_LIMIT,
        sample_blocks: int | None = None,
        sample_seed: int | None = None,
        trace: Any = None,
        output: Callable[[str], None] | None = None,
        keep_records: bool = True,
        checks_order: bool = True,
    ) -> None:
        self.addresses = AddressSpace()
        self.work_limit = work_limit
        self.work = self.launched = 0
        self.sample_blocks, self.sample_seed = sample_blocks, sample_seed
        self.watched: dict[str, Buffer] = {}  # arrays of which it is to be known how much all blocks would write
        self.covered: dict[str, float] = {}
        self.inputs: dict[str, Buffer] = {}  # arrays of which it is to be known what the sampled blocks load
        self.loaded: dict[str, np.ndarray] = {}  # a flag for each sector of those
        self.passes: dict[
            str, list[np.ndarray]
        ] = {}  # what each launch wrote of a watched array that writes most of it
        self.follows_reads = False  # where blocks are sampled: see `autograder.records.runs.RunRequest`
        self.plan = Plan()  # what is carried out beside the sample
        self.partials: dict[int, Partial] = {}  # arrays that sampled launches may have written, by address
        self._footprints: dict[Any, Footprint] = {}  # the last one of each kernel and array
        self._reaches: dict[Any, np.ndarray | None] = {}
        self.trace = trace
        self.output = output
        self.keep_records = keep_records
        self.checks_order = checks_order
        self.records: list[LaunchRecord] = []
        self.last: LaunchRecord | None = None  # of the launch before, also if it ended early
        self.transfers: list[Transfer] = []

    def to_device(self, host: np.ndarray) -> DeviceArray:
        return arrays.to_device(self.addresses, host)

    def device_array(self, shape: Any, dtype: Any) -> DeviceArray:
        return arrays.device_array(self.addresses, shape, dtype)

    def copy_to_host(self, array: DeviceArray) -> np.ndarray:
        return array.copy_to_host()

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence[Any], dynamic_shared_bytes: int = 0,
        debug: Debug | None = None,
    ) -> LaunchRecord:  # fmt: skip
        """Runs one kernel to its end; raises `KernelFault` where it cannot go on, after keeping the record.

        What interrupts it is raised again after that, too.
        """
        self.last = None
        self.settle_reads()
        copied_back: list[tuple[np.ndarray, DeviceArray]] = []
        values = tuple(self._argument(value, kernel, copied_back) for value in arguments)
        running = RunningLaunch(
            kernel,
            grid,
            block,
            dynamic_shared_bytes=dynamic_shared_bytes,
            debug=debug,
            start_clock=Session.clock,
            work_limit=max(1, self.work_limit - self.work),
            earlier_launches=self.launched,
            earlier_work=self.work,
            sample_blocks=None if (beside := self.plan.beside_the_sample(self.launched)) is ALL else self.sample_blocks,
            sample_seed=self.sample_seed,
            beside_the_sample=beside,
            after_the_sample=lambda: self._note_covered(running, before, counted),
            trace=self.trace,
            output=self.output,
            checks_order=self.checks_order,
        )
        before = {name: _set_elements(buffer) for name, buffer in self.watched.items()}
        counted: set[str] = set()  # watched arrays that all its blocks write for the greater part
        started = Session.clock
        try:
            record = self.last = running.run(values)
        finally:
            Session.clock = running.clock + 1
            running.after_the_sample = _nothing  # which holds the launch, and that all its arrays: nobody would let them go
        for name in counted:
            self.passes.setdefault(name, []).append(_written_since(self.watched[name], started))
        if record.counters.is_sampled and self.follows_reads:
            self._note_left_out(running, record, started)
        self.work += running.work
        self.launched += 1
        if self.keep_records:
            self.records.append(record)
        if running.interrupted is not None:
            raise running.interrupted
        for host, device in copied_back:
            _copy_back(host, device)
        if record.fault is not None:
            raise record.fault
        return record

    def settle_reads(self, is_the_end: bool = False) -> None:
        """What the host has read of sampled launches has come to matter, for a launch or for how it ended."""
        for partial in self.partials.values():
            partial.settle(is_the_end)

    def _note_covered(self, running: RunningLaunch, before: dict[str, int], most_of: set[str]) -> None:
        """Judges by the sampled blocks how much of each watched array all blocks write, and notes what they loaded."""
        given = {id(each.owner) for each in running.buffers}
        for name, buffer in self.inputs.items():
            if id(buffer) not in given:  # of an earlier launch that is known
                continue
            loads = buffer.loaded_sectors()
            self.loaded[name] = self.loaded[name] | loads if name in self.loaded else loads
        for name, buffer in self.watched.items():
            share = (_set_elements(buffer) - before[name]) / max(1, len(buffer.data))
            scale = running.geometry.blocks / max(1, len(running.sampled))
            self.covered[name] = self.covered.get(name, 0.0) + share * scale
            wrote = np.count_nonzero(_written_since(buffer, Session.clock))
            if wrote * scale >= MOST_OF_AN_ARRAY * len(buffer.data) > 0:
                most_of.add(name)

    def _note_left_out(self, running: RunningLaunch, record: LaunchRecord, started: int) -> None:
        """Remembers of each array that a sampled launch may have written what it wrote there, and what it can have."""
        for buffer in {id(each.owner): each.owner for each in running.buffers}.values():
            if id(buffer) not in running.written:
                continue
            footprint = footprint_of(buffer, started, running.geometry, running.carried_out)
            last = self._footprints.get(key := (running.kernel, running.geometry, buffer.address))
            if last is not None and footprint.is_like(last):
                footprint = last  # a step like the one before
            self._footprints[key] = footprint
            if key not in self._reaches:
                self._reaches[key] = reach_of(running.prepared.found, running.arrays, buffer)
            partial = self.partials.setdefault(buffer.address, Partial(buffer))
            buffer.partial = partial
            work = record.counters.warp_instructions
            partial.add(Producer(self.launched, started, self._reaches[key], footprint, work))

    def _argument(self, value: Any, kernel: Function, copied_back: list[tuple[Any, DeviceArray]]) -> Any:
        if isinstance(value, DeviceArray):
            return value._view()
        if isinstance(value, View) or value is None:
            return value
        if isinstance(value, tuple):
            items = [self._argument(each, kernel, copied_back) for each in value]
            return NamedItems(items, value._fields) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, (np.void, np.ndarray)) and value.dtype.fields and not value.shape:  # one record
            device = self.to_device(np.asarray(value))
            copied_back.append((value, device))
            return device._view()
        if isinstance(value, enum.Enum):
            return self._argument(member_value(value), kernel, copied_back)
        if isinstance(value, np.ndarray):  # Numba copies host arrays to the device and back
            device = self.to_device(value)
            if value.flags.writeable:
                copied_back.append((value, device))
            return device._view()
        try:
            return scalar(value[()] if isinstance(value, np.ndarray) else value)
        except (TypeError, OverflowError):
            raise KernelFault(
                f"`{kernel.name}` is given a {type(value).__name__}, which a kernel cannot take.",
                remedy="Pass device arrays, NumPy arrays or numbers.",
            ) from None


def _nothing() -> None:
    pass


def _set_elements(buffer: Buffer) -> int:
    """How many elements of a buffer kernels have written; what the host put there before is no work of theirs."""
    return 0 if buffer.shadow is None else int(np.count_nonzero(buffer.shadow.written_at > WRITTEN_BY_HOST))


def _written_since(buffer: Buffer, clock: int) -> np.ndarray:
    """Which elements of a buffer kernels have written from this stamp on."""
    return np.zeros(0, bool) if buffer.shadow is None else buffer.shadow.written_at >= clock


def _copy_back(host: Any, device: DeviceArray) -> None:
    if isinstance(host, np.void):
        for name in host.dtype.names or ():
            host[name] = device.copy_to_host()[name]
    else:
        device.copy_to_host(host)


def estimate_launch(record: LaunchRecord, model: str) -> Any:
    """The performance model's estimate for one launch on a device model."""
    from autograder.perfmodel import SPECIFICATIONS, estimate

    x, y, z = record.block

    return estimate(
        record.compiled,
        SPECIFICATIONS[model],
        threads_per_block=x * y * z,
        shared_bytes_per_block=record.shared_bytes,
        registers_per_thread=record.registers_per_thread,
        array_bytes=record.array_bytes,
    )


@dataclass(frozen=True)
class CarriedOut:
    """A request after its function has returned, or after `fault` ended it: where, on which arrays, and with what result."""

    session: Session
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

    def run(self, program: Program, request: RunRequest, *, checks_order: bool = True) -> Run:
        """Carries out one request on fresh memory; the submission's own faults come back in `Run.fault`.

        Without `checks_order` nobody looks for races and uninitialised reads: a comparison asks for results and work.
        Where reads are followed it is known who wrote what in any case.
        """
        plan, sample = Plan(), None
        is_followed = request.sample_blocks is not None and request.follows_reads
        for _ in range(MOST_ROUNDS if is_followed else 0):
            carried_out = self._carry_out(program, request, True, plan)
            sample = sample or carried_out
            partials, work = list(carried_out.session.partials.values()), carried_out.session.work
            if self._is_cut_short(carried_out, plan) or not plan.grow(partials, work):
                return self._gather(request, carried_out, plan)
            if plan.is_too_much:  # a right answer may have many steps: its counts stand, its results are not known
                return _without_results(self._gather(request, sample, Plan()))
        plan.is_whole = is_followed
        checks_order |= is_followed
        return self._gather(request, self._carry_out(program, request, checks_order, plan), plan)

    def _carry_out(self, program: Program, request: RunRequest, checks_order: bool, plan: Plan) -> CarriedOut:
        """Calls the function in a session of its own, with the blocks of a plan beside those that are sampled."""
        from autograder.language.host import call

        session = Session(
            checks_order=checks_order,
            work_limit=request.work_limit or DEFAULT_WORK_LIMIT,
            sample_blocks=request.sample_blocks,
            sample_seed=request.sample_seed,
            trace=Trace(only=request.traced_line) if request.traced_line else None,
            output=silent,
        )
        session.plan, session.follows_reads = plan, request.follows_reads
        handles = {name: self._to_device(session, value) for name, value in request.arguments.items()}
        if request.sample_blocks is not None:
            asked_for = (name for name in request.arguments if name not in request.scratch)
            new = [name for name in asked_for if isinstance(request.arguments[name], Uninitialised)]
            session.watched = {name: handles[name]._buffer for name in new}
            given = [name for name, value in request.arguments.items() if isinstance(value, np.ndarray) and value.ndim]
            session.inputs = {name: handles[name]._buffer for name in given}
        returned, fault = None, None
        try:
            function = program.function(request.function)
            if function.kind == "kernel":
                for each in reachable(function):
                    validate_kernel(each)
                session.launch(function, request.grid, request.block, tuple(handles.values()))
            else:
                wants = request.wants_returned
                returned = call(program, function, tuple(handles.values()), session, wants_returned=wants)
        except SubmissionError as error:
            fault = error.with_traceback(None)  # whose frames hold this one, and its arrays
        session.settle_reads(is_the_end=fault is None)
        for partial in session.partials.values():
            partial.is_followed = False  # from here on it is the grader who reads
        return CarriedOut(session, handles, returned, fault)

    @staticmethod
    def _is_cut_short(carried_out: CarriedOut, plan: Plan) -> bool:
        """Whether a sampled run ended at its work limit because of the blocks beside its sample."""
        return isinstance(carried_out.fault, WorkLimit) and bool(plan.blocks)

    def compare(
        self, baseline: Program, submission: Program, requests: Sequence[RunRequest], threshold: float | None = None
    ) -> Comparison:
        """Estimates both on the first request: deterministic, so there is no interval and no threshold to clear."""
        from autograder.perfmodel import SPECIFICATIONS

        baseline_ns = requests[0].baseline_estimated_ns or self._baseline_ns(baseline, requests[0])
        sampled = requests[0].sample_blocks is not None
        run = self.run(
            submission, requests[0], checks_order=sampled
        )  # of a sample, what was written is known by its checks
        fault, outputs = run.fault, run.outputs
        submission_ns = (run.estimated_ns or float("nan")) + host_ns(run.transfers)
        ratio = baseline_ns / submission_ns if fault is None else 0.0
        inputs = [each.nbytes for each in requests[0].arguments.values() if isinstance(each, np.ndarray)]
        is_too_fast = fault is None and submission_ns < floor_ns(sum(inputs), SPECIFICATIONS[self.model])
        return Comparison(
            ratio=ratio,
            low=ratio,
            high=ratio,
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
            | ({"host_requests": len(run.transfers)} if run.transfers else {}),
        )

    def _baseline_ns(self, baseline: Program, request: RunRequest) -> float:
        """The baseline's estimated time, worked out once: a class asks for the same of every submission."""
        if self._timed_baseline is not baseline:
            self._timed_baseline, self._baseline_times = baseline, {}
        key = _digest(request)
        if key not in self._baseline_times:
            run = self.run(baseline, request, checks_order=False)
            if run.fault is not None:
                raise GraderFault(f"The lab's baseline fails: {run.fault}")
            self._baseline_times[key] = run.estimated_ns or float("nan")
        return self._baseline_times[key]

    def _to_device(self, session: Session, value: Any) -> Any:
        if isinstance(value, Uninitialised):
            return session.device_array(value.shape, value.dtype)
        if isinstance(value, np.ndarray) and value.ndim:
            return session.to_device(value)
        return value

    def _gather(self, request: RunRequest, carried_out: CarriedOut, plan: Plan) -> Run:
        from autograder.perfmodel import SPECIFICATIONS, in_a_row

        session, handles = carried_out.session, carried_out.handles
        returned, fault = carried_out.returned, carried_out.fault
        if self._is_cut_short(carried_out, plan):
            fault = _too_much_to_predict(session)
        arrays_by_name = {name: handle for name, handle in handles.items() if isinstance(handle, DeviceArray)}
        launches = tuple(self._launch_of(record) for record in session.records)
        estimates = [launch.estimated_ns for launch in launches if launch.estimated_ns is not None]
        if isinstance(returned, DeviceArray):
            returned = returned.copy_to_host()
        return Run(
            outputs={
                name: handle._host_view() for name, handle in arrays_by_name.items() if name not in request.scratch
            },  # no copies: the session ends here, and nobody else has its memory
            returned=returned,
            written={
                name: _written_elements(session, name, arrays_by_name[name], by_kernels=request.sample_blocks is not None)
                for name, value in request.arguments.items()
                if isinstance(value, Uninitialised) and name not in request.scratch
            }
            | {
                name: _known_elements(session, arrays_by_name[name])
                for name, value in request.arguments.items()
                if isinstance(value, np.ndarray)
                and name not in request.scratch
                and _by_kernels(arrays_by_name.get(name))
                if request.sample_blocks is not None and request.follows_reads
            },
            launches=launches,
            counted=sum((record.counters for record in session.records), Counters()),
            covered=session.covered,
            loaded=session.loaded,
            lines=merged_lines(session.records),
            hazards=merged_hazards(session.records),
            accesses=tuple(session.trace.accesses.get(request.traced_line, ())) if session.trace else (),
            transfers=tuple(session.transfers),
            fault=fault,
            source="simulated",
            estimated_ns=in_a_row(estimates, SPECIFICATIONS[self.model]) if estimates else None,
        )

    def _launch_of(self, record: LaunchRecord) -> Launch:
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
            estimate=estimate,
        )


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


def _written_elements(session: Session, name: str, array: DeviceArray, by_kernels: bool) -> np.ndarray:
    """Which elements were written; where several launches wrote all of a sampled array, those of which each was sampled."""
    passes = session.passes.get(name, [])
    if len(passes) < 2:
        return array._written_elements(by_kernels)
    common = np.logical_and.reduce(passes)
    return array._elements_where(common if common.any() else passes[-1])


def _by_kernels(array: DeviceArray | None) -> bool:
    """Whether kernels have written to an array of the request's, as far as anybody follows."""
    return array is not None and bool(_set_elements(array._buffer) or array._buffer.partial)


def _known_elements(session: Session, array: DeviceArray) -> np.ndarray:
    """Which elements of an array that held something before are as all blocks would have left them, though some were not
    carried out."""
    partial = array._buffer.partial
    if partial is None:
        return np.ones(array.shape, bool)
    return array._elements_where(~partial.missing(slice(None)))


def _of_kernels(run: Run) -> dict[str, np.ndarray]:
    """The outputs that kernels wrote: the grader has the others."""
    return {name: output for name, output in run.outputs.items() if name in run.written}


def merged_lines(records: Sequence[LaunchRecord]) -> tuple[LineProfile, ...]:
    """The lines of several launches, each line once."""
    merged: dict[Any, LineProfile] = {}
    for record in records:
        for line in record.lines:
            known = merged.get(line.line)
            merged[line.line] = line if known is None else known + line
    return tuple(merged[line] for line in sorted(merged))


def merged_hazards(records: Sequence[LaunchRecord]) -> tuple[Hazard, ...]:
    """The hazards of several launches, each kind at each line and array once."""
    merged: dict[Any, Hazard] = {}
    for record in records:
        for hazard in record.hazards:
            key = (hazard.kind, hazard.line, hazard.array, hazard.severity)
            known = merged.get(key)
            merged[key] = (
                hazard if known is None else replace(known, occurrences=known.occurrences + hazard.occurrences)
            )
    return tuple(merged.values())
