"""What host code adds to a predicted time, and warps that have nothing to do and do not make others quick."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.program import Program
from autograder.language.source import submission_from_cells
from autograder.perfmodel import SPECIFICATIONS, host_time, in_a_row
from autograder.perfmodel.host_time import (
    CHAIN_LAUNCH_NS,
    HOST_GB_PER_S,
    LAUNCH_NS,
    PRICES,
    call_ns,
    chain_ns,
    floor_ns,
)
from autograder.perfmodel.measurements import unseen
from autograder.records.runs import RunRequest, Uninitialised
from autograder.records.transfers import Transfer
from autograder.simulated_device import SimulatedDevice

N = 1 << 20
H200 = SPECIFICATIONS["H200"]
MEASURED = Path(host_time.__file__).parent / "measurements" / "host_times.json"


def program(body: str) -> Program:
    text = f"""
from numba import cuda
import numpy as np

@cuda.jit
def copies(a, b):
    i = cuda.grid(1)
    if i < b.size:
        b[i] = a[i]

def call(a, b):
    {body}
    copies[(a.size + 255) // 256, 256](a, b)
"""
    return parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))


def compared(body: str) -> float:
    """The predicted nanoseconds of a call, as a comparison has them."""
    arguments = {"a": np.arange(N, dtype=np.float32), "b": Uninitialised((N,), np.float32)}
    request = RunRequest("call", arguments, sample_blocks=4)
    return SimulatedDevice().compare(program("pass"), program(body), [request]).submission_ns


def price(what: str, size_bytes: float) -> float:
    latency_ns, rate = PRICES[what]
    return latency_ns + size_bytes / rate


@pytest.mark.parametrize(
    ("body", "costs_ns"),
    [
        ("h = a.copy_to_host()", price("copy_to_host", 4 * N) + LAUNCH_NS),
        ("h = cuda.to_device(np.zeros(a.size, np.float32))", price("to_device", 4 * N) + LAUNCH_NS),
        ("h = np.zeros(a.size, np.float32).sum()", 4 * N / HOST_GB_PER_S),
        ("h = np.array([np.zeros(a.size), np.zeros(a.size)])", 16 * N / HOST_GB_PER_S),
        ("h = np.zeros(8, np.float32).sum()", 0),
        ("h = cuda.device_array(a.size, np.float32)", 0),
        ("cuda.synchronize()", 0),
    ],
)
def test_what_the_host_does_takes_time_in_a_comparison(body: str, costs_ns: float) -> None:
    assert compared(body) - compared("pass") == pytest.approx(costs_ns, rel=1e-6, abs=1e-3)


def test_where_launches_wait_for_nobody_a_call_takes_what_they_take_in_a_row() -> None:
    launches = [12_000.0, 5_000.0, 900_000.0]
    assert call_ns(launches, (), H200) == pytest.approx(in_a_row(launches, H200))
    made = Transfer("device_array", 10**9, None, launches_before=1)
    assert call_ns(launches, (made,), H200) == pytest.approx(in_a_row(launches, H200))


def test_a_chain_of_small_launches_takes_the_host_s_time_but_for_its_head_start() -> None:
    short, long = [5_000.0] * 50, [5 * CHAIN_LAUNCH_NS] * 50
    assert chain_ns([7_000.0], H200, head_start_ns=1e6) == 7_000
    assert chain_ns(short, H200, head_start_ns=0.0) == 50 * CHAIN_LAUNCH_NS + 5_000
    assert chain_ns(short, H200, head_start_ns=4e5) == 50 * CHAIN_LAUNCH_NS - 4e5 + 5_000
    assert chain_ns(short, H200, head_start_ns=1e9) == pytest.approx(in_a_row(short, H200))
    assert chain_ns(long, H200, head_start_ns=4e5) == pytest.approx(in_a_row(long, H200))


def test_the_host_s_time_for_a_launch_of_a_chain_is_what_was_measured() -> None:
    """By the host's clock, of learned chains of ten launches and more in which the GPU waits: the median."""
    rows = json.loads(unseen.MEASURED.read_text(encoding="utf-8"))["cases"]
    chains = [row["times"] for row in rows if row["half"] == "learned" and row["times"]["launches"] >= 10]
    waiting = [each["host_ns"] / each["launches"] for each in chains if each["ns"] < 0.8 * each["host_ns"]]
    assert len(waiting) == 5 and np.median(waiting) == pytest.approx(CHAIN_LAUNCH_NS, rel=0.02)


def test_a_copy_waits_for_the_launches_before_it_and_the_next_launch_for_the_host() -> None:
    long, short = 200_000.0, 5_000.0
    back = Transfer("copy_to_host", 4, None, launches_before=1)
    apart = call_ns([long, short], (back,), H200)
    assert apart == pytest.approx(long + price("copy_to_host", 4) + LAUNCH_NS + short)
    twice = (back, Transfer("copy_to_host", 4, None, launches_before=2))
    assert call_ns([long, short], twice, H200) == pytest.approx(apart + price("copy_to_host", 4))


def test_launches_after_a_copy_are_hidden_again_where_each_takes_longer_than_the_host() -> None:
    back = (Transfer("copy_to_host", 4, None),)
    short, long = [2_000.0] * 20, [5 * LAUNCH_NS] * 20
    first = price("copy_to_host", 4) + LAUNCH_NS
    assert call_ns(short, back, H200) == pytest.approx(first + 19 * LAUNCH_NS + 2_000)
    assert call_ns(long, back, H200) == pytest.approx(first + in_a_row(long, H200))


def test_what_is_not_known_has_the_price_of_a_copy_back() -> None:
    assert call_ns([], (Transfer("something new", 0, None),), H200) == price("copy_to_host", 0)


def test_prices_are_those_of_a_timed_call_on_the_h200() -> None:
    """Latencies from arrays of up to 4 KiB, rates from 4 MiB."""
    cases = {
        "copy_to_host": "copies_to_host", "to_device": "copies_to_new_arrays", "copy_to_device": "copies_from_host",
        "an element": "elements_read", "an assignment": "elements_written",
        "an assignment on the device": "assignments", "a NumPy array as an argument": "arrays_as_arguments",
    }  # fmt: skip
    assert set(cases) == set(PRICES)
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["through the grader"]
    for what, case in cases.items():
        (latency_ns, rate), by_bytes = PRICES[what], {int(size): 1e3 * us for size, us in measured[case].items()}
        small = np.median([ns for size, ns in by_bytes.items() if size <= 4096])
        assert latency_ns == pytest.approx(small, rel=0.06), what
        if 1 << 22 in by_bytes and what != "an assignment on the device":
            moved = (2 if what.startswith("a NumPy") else 1) << 22
            assert rate == pytest.approx(moved / (by_bytes[1 << 22] - small), rel=0.02), what
    for free in ("new_arrays", "waits"):
        assert max(measured[free].values()) < 0.1
    # A launch after a copy, with a kernel that takes longer than what else it waits for.
    together, kernel = (measured[case]["4096"] for case in ("long_launches_and_copies_back", "long_launches"))
    assert LAUNCH_NS == pytest.approx(1e3 * (together - kernel - measured["copies_to_host"]["4"]), rel=0.05)


def test_what_is_faster_than_its_inputs_can_be_read_is_looked_at() -> None:
    arguments = {"a": np.arange(1 << 24, dtype=np.float32), "b": Uninitialised((1,), np.float32)}
    request = RunRequest("call", arguments, sample_blocks=4)
    text = """
from numba import cuda

@cuda.jit
def first(a, b):
    b[0] = a[0]

def call(a, b):
    first[1, 1](a, b)
"""
    quick = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    found = SimulatedDevice().compare(program("pass"), quick, [request])
    assert found.flags == ("faster than the roofline floor",)
    assert found.submission_ns < floor_ns(1 << 26, SPECIFICATIONS["H200"])
