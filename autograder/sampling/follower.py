"""Follows a sampled run that is graded: how much all blocks would write, what was loaded, and what is read and missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.sampling.left_out import ALL, Footprint, Partial, Plan, Producer
from autograder.sampling.sampler import Sampler
from autograder.simgpu.host.launch import Part, RunningLaunch, Work
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.values.arrays import DeviceArray, buffer_of, elements_where, written_elements
from autograder.simgpu.values.memory import Buffer

MOST_OF_AN_ARRAY = 0.75  # written by all blocks of a launch, from which it counts as one that writes the whole array
MOST_REACHES = 64  # kept of a run, each as large as an array: launches on further parts may write any element


class Follower(Sampler):
    """Samples the blocks of one run, has those of a plan carried out beside them, and keeps what the grader asks of it."""

    def __init__(self, blocks: int | None, seed: int | None, plan: Plan, *, follows_reads: bool) -> None:
        super().__init__(blocks, seed)
        self.plan = plan  # what is carried out beside the sample
        self.follows_reads = follows_reads  # see `autograder.records.runs.RunRequest`
        self.covered: dict[str, float] = {}  # share of each result that all blocks write, judged by those sampled
        # Elements of each result, if all blocks of a launch wrote as much as the one that wrote most: shares, added up for
        # launch after launch, would come out a little below 1 where all is written.
        self._most_in_all: dict[str, float] = {}
        self.loaded: dict[str, np.ndarray] = {}  # of each input a flag for each sector that sampled blocks loaded
        self.partials: dict[int, Partial] = {}  # arrays that sampled launches may have written, by address
        self.has_idle_blocks = False  # of a kind that writes nothing of a result
        self._most_of_launch: dict[str, int] = {}  # the same of one launch
        self._results: dict[str, Buffer] = {}
        self._inputs: dict[str, Buffer] = {}
        self._passes: dict[str, list[np.ndarray]] = {}  # what each launch wrote of a result that writes most of it
        self._before: dict[str, int] = {}  # elements of each result that had been written when the launch began
        self._written_for_the_most_part: list[str] = []  # results, by all blocks of the launch
        self._footprints: dict[Any, Footprint] = {}  # the last one of each kernel and array
        self._reaches: dict[Any, np.ndarray | None] = {}

    def watch(self, results: Mapping[str, DeviceArray], inputs: Mapping[str, DeviceArray]) -> None:
        """Names the arrays of which it is to be known how much all blocks would write, and what sampled blocks load."""
        self._results = {name: buffer_of(array) for name, array in results.items()}
        self._inputs = {name: buffer_of(array) for name, array in inputs.items()}

    # ---- launch by launch ------------------------------------------------------------------------

    def choose(self, launch: RunningLaunch) -> Part | None:
        self._settle()
        self._before = {name: buffer.written_by_kernels() for name, buffer in self._results.items()}
        beside = self.plan.beside_the_sample(launch.earlier_launches)
        part = None if beside is ALL else super().choose(launch)
        if part is None or beside is ALL:
            return None
        return replace(part, uncounted=np.setdiff1d(beside, part.counted))

    def done(self, launch: RunningLaunch, work: Work) -> Work:
        given = {id(each.owner) for each in launch.buffers}
        for name, buffer in self._inputs.items():
            if id(buffer) not in given:  # of an earlier launch that is known
                continue
            loads = buffer.loaded_sectors()
            self.loaded[name] = self.loaded[name] | loads if name in self.loaded else loads
        self._written_for_the_most_part = []
        for name, buffer in self._results.items():
            written = buffer.written_by_kernels() - self._before[name]
            scale = launch.geometry.blocks / max(1, len(launch.counted))
            self.covered[name] = self.covered.get(name, 0.0) + written * scale / max(1, len(buffer.data))
            self._most_of_launch[name] = self._most_of(buffer, launch, written)
            self._most_in_all[name] = self._most_in_all.get(name, 0) + self._most_of_launch[name]
            wrote = np.count_nonzero(buffer.written_since(launch.started))
            if wrote * scale >= MOST_OF_AN_ARRAY * len(buffer.data) > 0:
                self._written_for_the_most_part.append(name)
        return super().done(launch, work)

    @staticmethod
    def _most_of(buffer: Buffer, launch: RunningLaunch, written: int) -> int:
        """The elements of a result that a launch can have written: each block as many as the sampled one that wrote most."""
        if len(launch.counted) == launch.geometry.blocks or not written:
            return written
        by_block = np.bincount(launch.stores_in(buffer).blocks)
        return int(by_block.max(initial=0)) * launch.geometry.blocks

    @property
    def at_most(self) -> dict[str, float]:
        """The share of each result that can have been written."""
        return {name: most / max(1, len(self._results[name].data)) for name, most in self._most_in_all.items()}

    def _take_off_what_others_leave_out(self, launch: RunningLaunch) -> None:
        """A kind of blocks, one of which was carried out and wrote nothing of a result, writes nothing of it."""
        for kind in self.plan.kinds.get(launch.earlier_launches, ()):
            for name, most in self._most_of_launch.items():
                if most and kind.block not in launch.stores_in(self._results[name]).blocks:
                    self._most_in_all[name] -= most * kind.share
                    self.has_idle_blocks = True

    def end(self, launch: RunningLaunch, record: LaunchRecord) -> None:
        self._take_off_what_others_leave_out(launch)
        for name in self._written_for_the_most_part:
            self._passes.setdefault(name, []).append(self._results[name].written_since(launch.started))
        if record.counters.is_sampled and self.follows_reads:
            self._note_left_out(launch, record)

    def _note_left_out(self, launch: RunningLaunch, record: LaunchRecord) -> None:
        """Remembers of each array that a sampled launch may have written what it wrote there, and what it can have."""
        for buffer in {id(each.owner): each.owner for each in launch.buffers}.values():
            if not launch.is_written(buffer):
                continue
            footprint = Footprint(launch.geometry, launch.carried_out, launch.stores_in(buffer))
            last = self._footprints.get(key := (launch.kernel, launch.geometry, buffer.address))
            if last is not None and footprint.is_like(last):
                footprint = last  # a step like the one before
            self._footprints[key] = footprint
            parts = (launch.kernel, buffer.address, launch.parts_of(buffer))
            if parts not in self._reaches:
                self._reaches[parts] = launch.reach_of(buffer) if len(self._reaches) < MOST_REACHES else None
            partial = self.partials.setdefault(buffer.address, Partial(buffer))
            buffer.watcher = partial
            work = record.counters.warp_instructions
            partial.add(Producer(launch.earlier_launches, launch.started, self._reaches[parts], footprint, work))

    def _settle(self, is_the_end: bool = False) -> None:
        """What the host has read of sampled launches has come to matter, for a launch or for how the run ended."""
        for partial in self.partials.values():
            partial.settle(is_the_end)

    def finish(self, is_the_end: bool) -> None:
        """The run is over, at the function's end or before it: from here on it is the grader who reads."""
        self._settle(is_the_end)
        for name, buffer in self._results.items():
            if buffer.address in self.partials:
                self.partials[buffer.address].want_sums()
            if buffer.address in self.partials and len(self._passes.get(name, [])) < 2:  # see `written`
                self.partials[buffer.address].look_for_rules()
        for partial in self.partials.values():
            partial.buffer.watcher = None

    # ---- what came of it -------------------------------------------------------------------------

    def written(self, name: str, array: DeviceArray, by_kernels: bool) -> np.ndarray:
        """Which elements of a result were written; where several launches wrote all of it, those that each of them wrote.

        Not those of a launch that another, of which blocks were left out, writes once more.
        """
        passes = self._passes.get(name, [])
        if len(passes) < 2:
            written = written_elements(array, by_kernels)
            partial = self.partials.get(buffer_of(array).address)
            return written if partial is None else written & ~elements_where(array, partial.written_over())
        common = np.logical_and.reduce(passes)
        return elements_where(array, common if common.any() else passes[-1])

    def known(self, array: DeviceArray) -> np.ndarray | None:
        """Which elements of an array that held something before are as all blocks would have left them; None where no
        kernel has written to it, as far as anybody follows."""
        buffer = buffer_of(array)
        partial = self.partials.get(buffer.address)
        if partial is not None:
            return elements_where(array, ~partial.missing(slice(None)))
        return np.ones(array.shape, bool) if buffer.written_by_kernels() else None
