"""`profile(kernel)[grid, block](...)`: one launch on the simulated GPU, with everything that was counted and found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.cudagpu.registers import stand_in
from autograder.errors import Line, UsageError
from autograder.language.program import Function, reachable
from autograder.language.validate import validate_kernel
from autograder.records.accesses import Access, Branch
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard, name_of
from autograder.sampling.sampler import Sampler
from autograder.simgpu.counting.tracing import TRACE_LIMIT, Trace
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.dispatch import device
from autograder.simgpu.host.launch import DEFAULT_WORK_LIMIT
from autograder.simgpu.host.launch_record import LaunchRecord, estimate_launch
from autograder.simgpu.host.script import launches_in_script
from autograder.simgpu.host.single_launch import kernel_function as kernel_function
from autograder.simgpu.values.arrays import DeviceArray

if TYPE_CHECKING:
    from autograder.figures.estimates import PicturedEstimate


class Profile:
    """One launch: `counters`, `lines`, `hazards`, `estimate(model)`, and with trace=True `trace(line)`, `divergence()`."""

    def __init__(
        self, record: LaunchRecord, functions: list[Function], trace: Trace | None, arguments: tuple[Any, ...] = ()
    ) -> None:
        self.record = record
        self._functions = functions
        self._trace = trace
        self._arguments = arguments  # stand-ins of the launch's arguments, for the compiler

    @property
    def counters(self) -> Counters:
        return self.record.counters

    @property
    def compiled(self) -> Counters:
        """What the compiler leaves of the counted work: what hardware counts, and what takes time."""
        return self.record.compiled

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        return self.record.hazards

    @property
    def lines(self) -> tuple[LineProfile, ...]:
        """The counted work of each source line of the kernel and its device functions, idle lines included."""
        counted = {each.line: each for each in self.record.lines}
        for function in self._functions:
            for number in range(function.node.lineno, (function.node.end_lineno or function.node.lineno) + 1):
                line = Line(function.file, number)
                counted.setdefault(line, LineProfile(line, function.line_text(number), Counters(), Counters()))
        return tuple(counted[line] for line in sorted(counted))

    def estimate(self, model: str = "H200", times: int = 1) -> PicturedEstimate:
        """The performance model's estimate for a GPU by name ("H200", "T4", ...); see `autograder.perfmodel`.

        With `times`, that of a launch of so many times as many blocks, which do the same, on arrays that much larger; the
        estimate says so. Raises `UsageError` for a GPU that nobody knows, and where `times` is not a whole number from 1 on.

        Registers are the compiler's where numba-cuda and ptxas are installed, and an assumption that says so elsewhere.
        """
        from autograder.cudagpu.registers import registers_per_thread
        from autograder.perfmodel import SPECIFICATIONS

        if model not in SPECIFICATIONS:
            raise UsageError(f"No GPU is called {model!r}.", remedy=f"Known: {', '.join(SPECIFICATIONS)}.")
        if not isinstance(times, int) or times < 1:
            raise UsageError(f"A launch cannot be {times!r} times as large.", remedy="Give a whole number from 1 on.")
        capability = SPECIFICATIONS[model].compute_capability
        return self._estimate(model, registers_per_thread(self._functions[0], self._arguments, capability), times)

    def _estimate(self, model: str, registers: int | None = None, times: int = 1) -> PicturedEstimate:
        from autograder.figures.estimates import PicturedEstimate

        kept = registers or self.record.registers_per_thread
        work, array_bytes = self.record.compiled.times(times), times * self.record.array_bytes
        larger = replace(self.record, registers_per_thread=kept, compiled=work, array_bytes=array_bytes)
        found = estimate_launch(larger, model)
        assumed = [f"{registers} registers a thread, from ptxas"] if registers else []
        assumed += [f"{times} times as many blocks as were launched, which do the same"] if times > 1 else []
        found = replace(found, assumptions=(*found.assumptions, *assumed))
        return PicturedEstimate.of(found, self.record.kernel)

    def trace(self, line: int | str | Line) -> list[Access]:
        """The accesses kept for a source line, given as its number, a piece of its text, or a `Line`."""
        kept = self._need_trace().accesses
        return [access for each in kept if self._is(each, line) for access in kept[each]]

    def divergence(self, line: int | str | Line | None = None) -> list[Branch]:
        """The branches kept, of one source line or of all."""
        kept = self._need_trace().branches
        return [branch for each in kept if line is None or self._is(each, line) for branch in kept[each]]

    def _is(self, candidate: Line, wanted: int | str | Line) -> bool:
        if isinstance(wanted, Line):
            return candidate == wanted
        if isinstance(wanted, str):
            return any(
                function.file == candidate.file and wanted in function.line_text(candidate.number)
                for function in self._functions
            )
        return candidate.number == wanted

    def _need_trace(self) -> Trace:
        if self._trace is None:
            raise UsageError("This profile kept no accesses.", remedy="Profile with profile(kernel, trace=True).")
        return self._trace

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: launch, totals, lines, hazards and the estimate."""
        return {
            "kernel": self.record.kernel,
            "grid": list(self.record.grid),
            "block": list(self.record.block),
            "shared_bytes": self.record.shared_bytes,
            "counters": asdict(self.counters),
            "compiled": asdict(self.compiled),
            "lines": [
                {
                    "file": each.line.file,
                    "line": each.line.number,
                    "text": each.text,
                    "counters": asdict(each.counters),
                    "compiled": asdict(each.compiled),
                    "why": list(each.why),
                }
                for each in self.lines
            ],
            "hazards": [asdict(hazard) for hazard in self.hazards],
            "estimate": self._estimate_as_data(),
        }

    def _estimate_as_data(self) -> dict[str, Any] | None:
        """The estimate for the default GPU; None where not one block fits on it."""
        found = self._known_estimate()
        if found is None:
            return None
        return {
            "gpu": found.specification,
            "ns": found.ns,
            "interval_ns": found.interval_ns and [None if each == inf else each for each in found.interval_ns],
            "binding": found.binding,
            "limits": found.limits,
            "breakdown_ns": dict(found.largest(0.0)),
            "assumptions": list(found.assumptions),
        }

    def _known_estimate(self) -> PicturedEstimate | None:
        try:
            return self._estimate("H200")
        except ValueError:  # not one block fits on a multiprocessor
            return None

    def terminal_text(self) -> str:
        """For a terminal: the counted source, then the estimate for the default GPU."""
        found = self._known_estimate()
        return str(self) if found is None else f"{self}\n{found}"

    def __str__(self) -> str:
        from autograder.reports.source_text import counted_source

        c = self.counters
        sampled = f" (sampled: {c.simulated_blocks} of {c.blocks} blocks)" if c.is_sampled else ""
        head = f"{self.record.kernel}: grid {self.record.grid}, block {self.record.block} on the simulated GPU{sampled}"
        found = [f"  {name_of(hazard.kind)}: {hazard}" for hazard in self.hazards]
        return "\n".join([head, *counted_source(self.lines), *found])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        from autograder.reports.source_heat import annotated

        sampled = (
            f", sampled: {self.counters.simulated_blocks:,} of {self.counters.blocks:,} blocks"
            * self.counters.is_sampled
        )
        caption = f"{self.record.kernel}: grid {self.record.grid}, block {self.record.block}, simulated GPU{sampled}"
        found = "".join(f"<li>{escape(name_of(hazard.kind))}: {escape(str(hazard))}</li>" for hazard in self.hazards)
        return annotated(self.lines, caption=caption) + (f"<ul>{found}</ul>" if found else "") + self._estimated()

    def _estimated(self) -> str:
        """The estimate for the default GPU, folded away under its first line; the same on every machine."""
        from html import escape

        found = self._known_estimate()
        if found is None:
            return ""
        return f"<details><summary>{escape(found.headline)}</summary>{found._repr_html_()}</details>"


class Profiler:
    """`profile(kernel)`: index it with grid and block, then call it with the kernel's arguments."""

    def __init__(self, kernel: Any, sample_blocks: int | None, trace: bool, trace_limit: int, work_limit: int) -> None:
        self.function = kernel_function(kernel)
        self.sample_blocks, self.work_limit = sample_blocks, work_limit
        self.tracing, self.trace_limit = trace, trace_limit

    def __getitem__(self, configuration: Any) -> Callable[..., Profile]:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise UsageError("A profile needs a grid and a block.", remedy="Write profile(kernel)[grid, block](...).")
        return lambda *arguments: self.launch(configuration, arguments)

    def __call__(self, *arguments: Any) -> Profile:
        raise UsageError("A profile needs a grid and a block.", remedy="Write profile(kernel)[grid, block](...).")

    def launch(self, configuration: tuple[Any, ...], arguments: tuple[Any, ...]) -> Profile:
        functions = [each for each in reachable(self.function) if each.kind != "host"]
        for function in functions:
            validate_kernel(function)
        trace = Trace(self.trace_limit) if self.tracing else None
        session = Session(
            chooser=Sampler(self.sample_blocks), trace=trace, output=lambda line: None, work_limit=self.work_limit
        )
        given, copied_back = [], []
        for value in arguments:
            if hasattr(type(value), "copy_to_host") and not isinstance(value, DeviceArray):  # of a real GPU
                host = value.copy_to_host()
                copied_back.append((value, host))
                value = host
            given.append(value)
        shared = int(configuration[3]) if len(configuration) > 3 else 0
        try:
            record = session.launch(self.function, configuration[0], configuration[1], tuple(given), shared)
        except KeyboardInterrupt:  # no profile comes of it, but what it had found by then is worth knowing
            device.tell_of(session.last)
            raise
        for real, host in copied_back:
            real.copy_to_device(host)
        return Profile(record, functions, trace, tuple(stand_in(value) for value in given))


def profile(
    kernel: Any,
    *,
    sample_blocks: int | None = None,
    trace: bool = False,
    trace_limit: int = TRACE_LIMIT,
    work_limit: int = DEFAULT_WORK_LIMIT,
) -> Profiler:
    """Profiles one launch on the simulated GPU: `profile(kernel)[grid, block](a, b, c)` runs it and returns a `Profile`.

    `sample_blocks` simulates only so many blocks, spread over the grid, and scales the counts (outputs are then partial).
    `trace=True` keeps the first `trace_limit` accesses of each line to each array, and its branches, for pictures.
    A kernel that does more than `work_limit` warp instructions is stopped as one without an end: `WorkLimit` is raised.
    """
    return Profiler(kernel, sample_blocks, trace, trace_limit, work_limit)


def profile_script(path: Path, kernel: str) -> list[Profile]:
    """The profile of every launch of the kernel called `kernel` while a script runs on the simulated GPU."""
    launches = launches_in_script(path, kernel)
    return [
        Profile(record, [f for f in reachable(function) if f.kind != "host"], None) for record, function in launches
    ]
