"""A session carries out the blocks that its `Chooser` names, counts those that count, and says what they did where."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from autograder.records.counters import Counters
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.launch import Chooser, Part, RunningLaunch, Work
from autograder.simgpu.host.launch_record import LaunchRecord
from autograder.simgpu.host.single_launch import kernel_function
from autograder.simgpu.host.stores import Stores, stores_since
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.values.arrays import DeviceArray, buffer_of
from autograder.simgpu.values.lanes import Geometry
from autograder.simgpu.values.memory import Buffer

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()
BLOCKS, THREADS = 6, 64
NONE = np.zeros(0, np.int64)


@cuda.jit
def copy(given, out):
    i = cuda.grid(1)
    out[i] = given[i]


@cuda.jit
def add_up(given, out):
    cuda.atomic.add(out, 0, given[cuda.grid(1)])


@cuda.jit
def first_alone(given, out):
    if cuda.threadIdx.x == 0:
        for i in range(4):
            out[i] = given[i]


@cuda.jit
def stops_at_block_two(given, out):
    i = cuda.grid(1)
    out[i] = given[i + 1000 * (cuda.blockIdx.x == 2)]


class Some(Chooser):
    """Names some blocks, and keeps what it is told of the arrays."""

    def __init__(self, counted: list[int] | None, uncounted: list[int]) -> None:
        self.counted, self.uncounted = counted, np.array(uncounted, np.int64)
        self.asked: list[tuple[str, int, int]] = []
        self.loaded: list[np.ndarray] = []
        self.written: list[np.ndarray] = []
        self.left: dict[int, Stores] = {}
        self.reaches: list[np.ndarray | None] = []

    def choose(self, launch: RunningLaunch) -> Part | None:
        self.asked.append((launch.kernel.name, launch.geometry.blocks, launch.earlier_launches))
        return None if self.counted is None else Part(np.array(self.counted, np.int64), self.uncounted)

    def done(self, launch: RunningLaunch, work: Work) -> Work:
        self.loaded = [buffer.loaded_sectors() for buffer in launch.buffers]
        self.written = [buffer.written_since(launch.started) for buffer in launch.buffers]
        return work

    def end(self, launch: RunningLaunch, record: LaunchRecord) -> None:
        self.left = {i: launch.stores_in(each) for i, each in enumerate(launch.buffers) if launch.is_written(each)}
        self.reaches = [launch.reach_of(buffer) for buffer in launch.buffers]


def launched(kernel: Any, chooser: Chooser | None, *, size: int = BLOCKS * THREADS) -> tuple[LaunchRecord, np.ndarray]:
    """A launch of six blocks that copy 0, 1, 2, ...; its record and what it left."""
    session = Session(chooser=chooser)
    given = session.to_device(np.arange(size, dtype=np.float32))
    out = session.to_device(np.full(size, -1, np.float32))
    record = session.launch(kernel_function(kernel), BLOCKS, THREADS, (given, out))
    return record, out.copy_to_host().reshape(-1, THREADS)


def test_a_session_without_a_chooser_carries_all_blocks_out() -> None:
    whole, out = launched(copy, None)
    told, _ = launched(copy, Some(None, []))
    assert np.array_equal(out.ravel(), np.arange(BLOCKS * THREADS))
    assert whole == told and whole.counters.simulated_blocks == whole.counters.blocks == BLOCKS


def test_blocks_are_carried_out_that_are_chosen_and_those_count_that_are_to() -> None:
    chooser = Some([1, 4], [0, 3])
    record, out = launched(copy, chooser)
    assert chooser.asked == [("copy", BLOCKS, 0)]
    assert [int(row[0]) for row in out] == [0, 64, -1, 192, 256, -1], "of four blocks, and whole ones"
    counters = record.counters
    assert (counters.simulated_blocks, counters.blocks, counters.is_sampled) == (2, BLOCKS, True)
    assert counters.global_load_requests == counters.global_store_requests == 2 * THREADS // 32
    assert counters.unique_load_sectors == counters.unique_store_sectors == 2 * THREADS * 4 // 32, "nobody scales them"
    assert sum((line.counters for line in record.lines), Counters()).global_load_requests == counters.global_load_requests


def test_what_the_counted_blocks_loaded_and_all_of_them_left_is_told() -> None:
    chooser = Some([1, 4], [0, 3])
    launched(copy, chooser)
    of_a_block = np.repeat([False, True, False, False, True, False], THREADS)
    assert np.array_equal(chooser.loaded[0], of_a_block[::8]) and not chooser.loaded[1].any()
    assert np.array_equal(chooser.written[1], of_a_block) and not chooser.written[0].any()
    (which, stores), = chooser.left.items()
    assert which == 1 and not stores.has_atomics
    assert np.array_equal(stores.elements, np.flatnonzero(np.repeat([1, 1, 0, 1, 1, 0], THREADS)))
    assert np.array_equal(stores.blocks, stores.elements // THREADS)


def test_a_sum_by_atomics_is_told_to_have_come_from_several_blocks() -> None:
    chooser = Some([2], [5])
    _, out = launched(add_up, chooser)
    assert chooser.left[1].has_atomics and chooser.left[1].elements.tolist() == [0]
    assert out[0, 0] == sum(range(128, 192)) + sum(range(320, 384)) - 1


def test_what_a_kernel_can_reach_by_its_text_is_told() -> None:
    chooser = Some([0], [])
    launched(add_up, chooser)
    assert chooser.reaches[1] is not None and np.flatnonzero(chooser.reaches[1]).tolist() == [0]
    launched(copy, chooser)
    assert chooser.reaches[1] is None, "any element"


def test_a_fault_of_a_block_that_does_not_count_ends_the_launch_all_the_same() -> None:
    record, _ = launched(stops_at_block_two, Some([0, 1], [3]))
    assert not record.hazards
    record, _ = launched(stops_at_block_two, Some([0, 1], [2, 3]))
    assert [each.kind for each in record.hazards] == ["out_of_bounds"]
    assert record.hazards[0].block == (2, 0, 0) and record.counters.simulated_blocks == 2


class Reads:
    """Keeps what is read of an array."""

    def __init__(self, array: DeviceArray) -> None:
        self.by_kernels: set[int] = set()
        self.by_host: set[int] = set()
        self.all_elements = np.arange(array.size)
        buffer: Buffer = buffer_of(array)
        buffer.watcher = self

    def read(self, elements: np.ndarray | slice) -> None:
        self.by_kernels.update(self.all_elements[elements].tolist())

    def read_by_host(self, elements: np.ndarray | slice) -> None:
        self.by_host.update(self.all_elements[elements].tolist())


@pytest.mark.parametrize(("kernel", "expected"), [(copy, range(64, 128)), (first_alone, range(4))])
def test_who_watches_an_array_is_told_what_is_read_of_it(kernel: Any, expected: range) -> None:
    session = Session(chooser=Some([1], []))
    given, out = (session.to_device(np.zeros(BLOCKS * THREADS, np.float32)) for _ in range(2))
    of_given, of_out = Reads(given), Reads(out)
    session.launch(kernel_function(kernel), BLOCKS, THREADS, (given, out))
    assert of_given.by_kernels == {*expected} and not of_out.by_kernels, "what is written is not read"
    assert not of_given.by_host
    out[7:9].copy_to_host()
    assert of_out.by_host == {7, 8} and not of_given.by_host


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 12, 16, 48])
def test_stores_are_listed_as_sector_by_sector_in_numpy(itemsize: int) -> None:
    """Elements that lie in two sectors come once, those of earlier launches and beyond the array not at all."""
    rng, elements, padded, since = np.random.default_rng(itemsize), 500, 64, 7
    buffer = Buffer(np.zeros(elements, f"V{itemsize}"), 0, "global", initialised=False)
    assert buffer.shadow is not None
    carried_out = rng.permutation(40)[:20]
    for share in (0.0, 0.1, 0.9):
        buffer.touched[:] = np.where(rng.random(buffer.sectors) < share, 2, 1)
        buffer.shadow.writes.stamps[:] = rng.integers(since - 2, since + 2, elements)
        buffer.shadow.writes.threads[:] = rng.integers(-5, 20 * padded, elements)
        found = stores_since(buffer, since, Geometry((40, 1, 1), (padded, 1, 1)), carried_out)
        begins = np.arange(elements) * itemsize
        sectors = [set(range(at // 32, (at + itemsize - 1) // 32 + 1)) for at in begins]
        written = set(np.flatnonzero(buffer.touched == 2))
        wanted = [e for e in range(elements) if sectors[e] & written and buffer.shadow.writes.stamps[e] >= since]
        threads = buffer.shadow.writes.threads[wanted]
        assert found.elements.tolist() == wanted
        assert found.blocks.tolist() == [int(carried_out[max(0, thread) // padded]) for thread in threads]
        assert found.has_atomics == bool((threads < 0).any())


def test_a_batch_of_blocks_goes_when_it_has_been_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lane vectors are memory for the next batch at once: nobody waits for a search for garbage."""
    machines: list[weakref.ref[Machine]] = []
    run = Machine.run

    def noted(self: Machine, kernel: Any, arguments: Any) -> None:
        machines.append(weakref.ref(self))
        run(self, kernel, arguments)

    monkeypatch.setattr(Machine, "run", noted)
    session = Session(chooser=Chooser())
    given, out = (session.to_device(np.zeros(BLOCKS * THREADS, np.float32)) for _ in range(2))
    gc.disable()
    try:
        session.launch(kernel_function(copy), BLOCKS, THREADS, (given, out))
        assert [each() for each in machines] == [None]
    finally:
        gc.enable()
