"""The simulated GPU as a device: holds the arrays, carries out launches one after another, and estimates their time."""

from __future__ import annotations

import enum
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.device import Comparison, Launch, Run, RunRequest, Source, Uninitialised
from autograder.errors import KernelFault, KitError, SubmissionError
from autograder.language.live import member_value
from autograder.language.program import Function, Program, reachable
from autograder.language.transfers import Transfer
from autograder.language.validate import validate_kernel
from autograder.simgpu import arrays
from autograder.simgpu.arrays import DeviceArray
from autograder.simgpu.counters import Counters, LineProfile
from autograder.simgpu.exceptions import Debug
from autograder.simgpu.hazards import Hazard
from autograder.simgpu.launch import DEFAULT_WORK_LIMIT, LaunchRecord, silent
from autograder.simgpu.launch import Launch as RunningLaunch
from autograder.simgpu.memory import WRITTEN_BY_HOST, AddressSpace, Buffer, View
from autograder.simgpu.numba_types import scalar
from autograder.simgpu.tracing import Trace
from autograder.simgpu.variables import Named

MOST_OF_AN_ARRAY = 0.75  # written by all blocks of a launch, from which it counts as one that writes the whole array
LITTLE_WORK = 1 << 20  # warp instructions: a fraction of a second


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
        self.passes: dict[str, list[np.ndarray]] = {}  # what each launch wrote of a watched array that writes most of it
        self.whole: frozenset[int] = frozenset()  # numbers of launches that are not sampled although others are
        self.trace = trace
        self.output = output
        self.keep_records = keep_records
        self.checks_order = checks_order
        self.records: list[LaunchRecord] = []
        self.transfers: list[Transfer] = []

    def to_device(self, host: np.ndarray) -> DeviceArray:
        return arrays.to_device(self.addresses, host)

    def device_array(self, shape: Any, dtype: Any) -> DeviceArray:
        return arrays.device_array(self.addresses, shape, dtype)

    def copy_to_host(self, array: DeviceArray) -> np.ndarray:
        return array.copy_to_host()

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence, dynamic_shared_bytes: int = 0,
        debug: Debug | None = None,
    ) -> LaunchRecord:  # fmt: skip
        """Runs one kernel to its end; raises `KernelFault` where it cannot go on, after keeping the record."""
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
            sample_blocks=None if self.launched in self.whole else self.sample_blocks,
            sample_seed=self.sample_seed,
            trace=self.trace,
            output=self.output,
            checks_order=self.checks_order,
        )
        before = {name: _set_elements(buffer) for name, buffer in self.watched.items()}
        record = running.run(values)
        for name, buffer in self.watched.items():
            share = (_set_elements(buffer) - before[name]) / max(1, len(buffer.data))
            whole = record.counters.blocks / max(1, record.counters.simulated_blocks)
            self.covered[name] = self.covered.get(name, 0.0) + share * whole
            wrote = _written_since(buffer, Session.clock)
            if np.count_nonzero(wrote) * whole >= MOST_OF_AN_ARRAY * len(wrote) > 0:
                self.passes.setdefault(name, []).append(wrote)
        Session.clock = running.clock + 1
        self.work += running.work
        self.launched += 1
        if self.keep_records:
            self.records.append(record)
        for host, device in copied_back:
            _copy_back(host, device)
        if record.fault is not None:
            raise record.fault
        return record

    def _argument(self, value: Any, kernel: Function, copied_back: list) -> Any:
        if isinstance(value, DeviceArray):
            return value._view()
        if isinstance(value, View) or value is None:
            return value
        if isinstance(value, tuple):
            items = [self._argument(each, kernel, copied_back) for each in value]
            return Named(items, value._fields) if hasattr(value, "_fields") else tuple(items)
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


def _set_elements(buffer: Buffer) -> int:
    """How many elements of a buffer kernels have written; what the host put there before is no work of theirs."""
    return 0 if buffer.shadow is None else int(np.count_nonzero(buffer.shadow.written_at > WRITTEN_BY_HOST))


def _written_since(buffer: Buffer, clock: int) -> np.ndarray:
    """Which elements of a buffer kernels have written from this stamp on."""
    return np.zeros(0, bool) if buffer.shadow is None else buffer.shadow.written_at >= clock


def _cheap(records: Sequence[LaunchRecord]) -> frozenset[int]:
    """The launches with least work, by their number: as many as are little work together, all blocks of each."""
    work = np.array([each.counters.warp_instructions for each in records], np.int64)
    order = np.argsort(work, kind="stable")
    return frozenset(order[np.cumsum(work[order]) <= LITTLE_WORK].tolist())


def _copy_back(host: Any, device: DeviceArray) -> None:
    if isinstance(host, np.void):
        for name in host.dtype.names:
            host[name] = device.copy_to_host()[name]
    else:
        device.copy_to_host(host)


def estimate_launch(record: LaunchRecord, model: str) -> Any:
    """The performance model's estimate for one launch on a device model."""
    from autograder.perfmodel import SPECIFICATIONS, estimate

    x, y, z = record.block
    return estimate(
        record.counters,
        SPECIFICATIONS[model],
        threads_per_block=x * y * z,
        shared_bytes_per_block=record.shared_bytes,
        registers_per_thread=record.registers_per_thread,
        array_bytes=record.array_bytes,
    )


class SimulatedDevice:
    """The simulated GPU, estimated as one model of GPU; see `autograder.device.Device`."""

    source: Source = "simulated"

    def __init__(self, model: str = "H200") -> None:
        self.model = model
        self.name = f"simulated GPU (times estimated for an NVIDIA {model})"
        self._timed_baseline: Program | None = None
        self._baseline_times: dict[bytes, float] = {}  # of that baseline, by the request's digest

    def run(self, program: Program, request: RunRequest, *, checks_order: bool = True) -> Run:
        """Carries out one request on fresh memory; the submission's own faults come back in `Run.fault`.

        Without `checks_order` nobody looks for races and uninitialised reads: a comparison asks for results and work.
        """
        run, session = self._run(program, request, checks_order)
        several = [name for name, passes in session.passes.items() if len(passes) > 1]
        if run.fault is not None or not several or not (cheap := _cheap(session.records)):
            return run
        # What one launch left, as zeros do, the next one builds on: then blocks of both have to be there. The work is
        # that of the first run, for which the same blocks were sampled as for everybody else.
        second, _ = self._run(program, request, checks_order, cheap)
        return run if second.fault is not None else replace(run, outputs=second.outputs, written=second.written)

    def _run(
        self, program: Program, request: RunRequest, checks_order: bool, whole: frozenset[int] = frozenset()
    ) -> tuple[Run, Session]:
        """The same with all blocks of the launches numbered in `whole`; and the session that it took place in."""
        from autograder.language.host import call

        session = Session(
            checks_order=checks_order,
            work_limit=request.work_limit or DEFAULT_WORK_LIMIT,
            sample_blocks=request.sample_blocks,
            sample_seed=request.sample_seed,
            trace=Trace(only=request.traced_line) if request.traced_line else None,
            output=silent,
        )
        session.whole = whole
        handles = {name: self._to_device(session, value) for name, value in request.arguments.items()}
        if request.sample_blocks is not None:
            asked_for = (name for name in request.arguments if name not in request.scratch)
            new = [name for name in asked_for if isinstance(request.arguments[name], Uninitialised)]
            session.watched = {name: handles[name]._buffer for name in new}
        returned, fault = None, None
        try:
            function = program.function(request.function)
            if function.kind == "kernel":
                for each in reachable(function):
                    validate_kernel(each)
                session.launch(function, request.grid, request.block, tuple(handles.values()))
            else:
                returned = call(program, function, tuple(handles.values()), session)
        except SubmissionError as error:
            fault = error
        return self._gather(session, request, handles, returned, fault), session

    def compare(
        self, baseline: Program, submission: Program, requests: Sequence[RunRequest], threshold: float | None = None
    ) -> Comparison:
        """Estimates both on the first request: deterministic, so there is no interval and no threshold to clear."""
        baseline_ns = requests[0].baseline_estimated_ns or self._baseline_ns(baseline, requests[0])
        sampled = requests[0].sample_blocks is not None
        run = self.run(submission, requests[0], checks_order=sampled)  # of a sample, what was written is known by its checks
        fault, outputs = run.fault, run.outputs
        submission_ns = run.estimated_ns or float("nan")
        ratio = baseline_ns / submission_ns if fault is None else 0.0
        return Comparison(
            ratio=ratio,
            low=ratio,
            high=ratio,
            source="simulated",
            baseline_ns=baseline_ns,
            submission_ns=submission_ns,
            outputs=() if sampled or fault is not None else (outputs,),
            request_of_output=() if sampled or fault is not None else (0,),
            sampled=replace(run, outputs=_of_uninitialised(run)) if sampled and fault is None else None,
            fault=fault,
            notes={"model": self.model, "launches": len(run.launches)}
            | ({"sampled_blocks": requests[0].sample_blocks} if sampled else {})
            | ({"host_requests": len(run.transfers)} if run.transfers else {}),
        )

    def _baseline_ns(self, baseline: Program, request: RunRequest) -> float:
        """The baseline's estimated time, worked out once: a class asks for the same of every submission."""
        if self._timed_baseline is not baseline:
            self._timed_baseline, self._baseline_times = baseline, {}
        key = hashlib.blake2b(pickle.dumps(request, protocol=5)).digest()
        if key not in self._baseline_times:
            run = self.run(baseline, request, checks_order=False)
            if run.fault is not None:
                raise run.fault
            self._baseline_times[key] = run.estimated_ns or float("nan")
        return self._baseline_times[key]

    def _to_device(self, session: Session, value: Any) -> Any:
        if isinstance(value, Uninitialised):
            return session.device_array(value.shape, value.dtype)
        if isinstance(value, np.ndarray) and value.ndim:
            return session.to_device(value)
        return value

    def _gather(
        self, session: Session, request: RunRequest, handles: dict[str, Any], returned: Any, fault: KitError | None
    ) -> Run:
        arrays_by_name = {name: handle for name, handle in handles.items() if isinstance(handle, DeviceArray)}
        launches = tuple(self._launch_of(record) for record in session.records)
        estimates = [launch.estimated_ns for launch in launches if launch.estimated_ns is not None]
        if isinstance(returned, DeviceArray):
            returned = returned.copy_to_host()
        return Run(
            outputs={
                name: handle.copy_to_host() for name, handle in arrays_by_name.items() if name not in request.scratch
            },
            returned=returned,
            written={
                name: _written(session, name, arrays_by_name[name], by_kernels=request.sample_blocks is not None)
                for name, value in request.arguments.items()
                if isinstance(value, Uninitialised) and name not in request.scratch
            },
            launches=launches,
            counters=sum((record.counters for record in session.records), Counters()),
            covered=session.covered,
            lines=merged_lines(session.records),
            hazards=merged_hazards(session.records),
            accesses=tuple(session.trace.accesses.get(request.traced_line, ())) if session.trace else (),
            transfers=tuple(session.transfers),
            fault=fault,
            source="simulated",
            estimated_ns=sum(estimates) if estimates else None,
        )

    def _launch_of(self, record: LaunchRecord) -> Launch:
        estimate = None if record.fault is not None else estimate_launch(record, self.model)
        return Launch(
            record.kernel,
            record.grid,
            record.block,
            record.shared_bytes,
            record.counters,
            estimated_ns=None if estimate is None else estimate.ns,
            array_bytes=record.array_bytes,
            estimate=estimate,
        )


def _written(session: Session, name: str, array: DeviceArray, by_kernels: bool) -> np.ndarray:
    """Which elements were written; where several launches wrote all of a sampled array, those of which each was sampled."""
    passes = session.passes.get(name, [])
    if len(passes) < 2:
        return array._written(by_kernels)
    common = np.logical_and.reduce(passes)
    return array._elements_where(common if common.any() else passes[-1])


def _of_uninitialised(run: Run) -> dict[str, np.ndarray]:
    """The outputs that the submission was to fill: the grader has the others."""
    return {name: output for name, output in run.outputs.items() if name in run.written}


def merged_lines(records: Sequence[LaunchRecord]) -> tuple[LineProfile, ...]:
    """The lines of several launches, each line once."""
    merged: dict[Any, LineProfile] = {}
    for record in records:
        for line in record.lines:
            known = merged.get(line.line)
            merged[line.line] = line if known is None else replace(known, counters=known.counters + line.counters)
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
