"""What host code asks of the device beside launches is kept account of, and lent memory is nobody's business."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice

PROGRAM = """
import numpy as np
from numba import cuda

@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2

def launches_only(a, spare):
    part = a[:3].reshape(3)
    double[1, part.size](part)
    spare.copy_to_device(a)

def waits(a, spare):
    cuda.synchronize()

def waits_for_a_stream(a, spare):
    cuda.default_stream().synchronize()

def copies_back(a, spare):
    a.copy_to_host()

def copies_in(a, spare):
    cuda.to_device(np.zeros(4, np.float64))

def fills(a, spare):
    a.copy_to_device(np.zeros(8, np.int32))

def hands_over_what_is_there_already(a, spare):
    double[1, 8](cuda.to_device(a))

def fills_with_to_device(a, spare):
    cuda.to_device(np.zeros(8, np.int32), to=a)

def sets_aside(a, spare):
    cuda.device_array(100, np.int16)

def sets_aside_the_same(a, spare):
    cuda.device_array_like(a)

def reads(a, spare):
    if a[2] > 0:
        pass

def loops_over_rows(a, spare):
    for row in a.reshape(2, 4):
        double[1, 4](row)

def unpacks_rows(a, spare):
    first, (second, third) = a.reshape(2, 4)[0], a[:4].reshape(2, 2)
    double[1, 4](first)
    double[1, 2](third)

def unpacks_elements(a, spare):
    first, second = a[:2]
    for each in a[2:5]:
        assert each > second

def unpacks_what_the_host_has(a, spare):
    first, second = np.array([3, 4])
    double[1, first + second](a)

def assigns(a, spare):
    a[1:3] = 7

def assigns_on_the_device(a, spare):
    spare[:] = a

def passes_an_array(a, spare):
    double[1, 8](np.zeros(8, np.int32))
"""
ASKED = {
    "launches_only": [],
    "waits": [("synchronize", 0)],
    "waits_for_a_stream": [("synchronize", 0)],
    "copies_back": [("copy_to_host", 32)],
    "copies_in": [("to_device", 32)],
    "fills": [("copy_to_device", 32)],
    "hands_over_what_is_there_already": [],
    "fills_with_to_device": [("to_device", 32)],
    "sets_aside": [("device_array", 200)],
    "sets_aside_the_same": [("device_array_like", 32)],
    "reads": [("an element", 4)],
    "loops_over_rows": [],
    "unpacks_rows": [],
    "unpacks_elements": 5 * [("an element", 4)],
    "unpacks_what_the_host_has": [],
    "assigns": [("an assignment", 4)],
    "assigns_on_the_device": [("an assignment on the device", 32)],
    "passes_an_array": [("a NumPy array as an argument", 64)],
}
ARGUMENTS: dict[str, Any] = {"a": np.arange(8, dtype=np.int32), "spare": Uninitialised((8,), np.int32)}


def run(function: str, **options: Any) -> Run:
    program = parse_program(submission_from_cells("host.py", [("host.py", PROGRAM)], is_notebook=False))
    found = SimulatedDevice().run(program, RunRequest(function, ARGUMENTS, **options))
    assert found.fault is None, found.fault
    return found


@pytest.mark.parametrize("function", ASKED)
def test_each_request_is_kept_with_its_size_and_line(function: str) -> None:
    transfers = run(function).transfers
    assert [(each.what, each.size_bytes) for each in transfers] == ASKED[function]
    begins = PROGRAM.splitlines().index(f"def {function}(a, spare):") + 1
    assert all(begins < each.line.number <= begins + 2 for each in transfers)


def test_rows_of_a_device_array_are_parts_of_it() -> None:
    assert (run("loops_over_rows").outputs["a"] == 2 * ARGUMENTS["a"]).all()
    assert run("unpacks_rows").outputs["a"].tolist() == [0, 2, 8, 12, 4, 5, 6, 7]


def test_to_device_makes_no_copy_of_what_is_there_already_and_fills_what_it_is_given() -> None:
    assert (run("hands_over_what_is_there_already").outputs["a"] == 2 * ARGUMENTS["a"]).all()
    assert not run("fills_with_to_device").outputs["a"].any()


def test_lent_memory_does_not_come_back() -> None:
    found = run("launches_only", scratch=("spare",))
    assert set(found.outputs) == {"a"} and not found.written
    assert set(run("launches_only").outputs) == {"a", "spare"}


def test_how_much_is_written_of_lent_memory_is_not_asked() -> None:
    assert set(run("launches_only", sample_blocks=1).covered) == {"spare"}
    assert not run("launches_only", sample_blocks=1, scratch=("spare",)).covered


def test_a_known_baseline_is_not_run_again() -> None:
    program = parse_program(submission_from_cells("host.py", [("host.py", PROGRAM)], is_notebook=False))
    device = SimulatedDevice()
    told = device.compare(program, program, [RunRequest("launches_only", ARGUMENTS, baseline_estimated_ns=1e9)])
    assert told.baseline_ns == 1e9 and told.ratio == 1e9 / told.submission_ns
    assert device.compare(program, program, [RunRequest("launches_only", ARGUMENTS)]).ratio == 1


def test_without_checks_of_order_results_and_counts_are_the_same_and_no_race_is_told() -> None:
    text = PROGRAM + """
@cuda.jit
def races(a, spare):
    tile = cuda.shared.array(8, np.int32)
    tile[cuda.threadIdx.x] = a[cuda.threadIdx.x]
    spare[cuda.threadIdx.x] = tile[7 - cuda.threadIdx.x]

def run_it(a, spare):
    races[1, 8](a, spare)
"""
    program = parse_program(submission_from_cells("host.py", [("host.py", text)], is_notebook=False))
    request = RunRequest("run_it", ARGUMENTS)
    with_them, without = (SimulatedDevice().run(program, request, checks_order=each) for each in (True, False))
    assert [each.kind for each in with_them.hazards] == ["race"] and without.hazards == ()
    assert without.counters == with_them.counters and without.estimated_ns == with_them.estimated_ns
    assert (without.outputs["spare"] == with_them.outputs["spare"]).all() and without.fault is None
