"""What a worker answers becomes what checks may rely on, and takes no more of the grader's memory than was asked for."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.errors import GraderFault, KernelFault, SubmissionError
from autograder.grading import answers
from autograder.grading.answers import as_expected, as_sent, bytes_of_run, comparison_as_sent, comparison_taken
from autograder.grading.closeness import compare_arrays, describe
from autograder.grading.jobs import Limits, RunJob, WorkerReply, send_reply
from autograder.grading.worker import Worker
from autograder.language import parse_program
from autograder.language.program import Program
from autograder.language.source import submission_from_cells
from autograder.records.json_form import from_dict, to_dict
from autograder.records.results import Mismatch
from autograder.records.runs import Comparison, Run, RunRequest, Uninitialised
from autograder.simulated_device import SimulatedDevice
from autograder.tests.sample_results import all_passed

A = np.arange(6, dtype=np.float32)
REQUEST = RunRequest("f", {"a": A, "c": Uninitialised((2, 3), np.int32), "n": 3}, wants_returned=True)
C = np.ones((2, 3), np.int32)


def test_an_input_that_nobody_wrote_to_does_not_travel_and_is_there_again() -> None:
    run = Run(outputs={"a": A.copy(), "c": C}, written={"c": C > 0})
    sent = as_sent(run, REQUEST)
    assert list(sent.outputs) == ["c"]
    back = as_expected(sent, REQUEST)
    assert list(back.outputs) == ["a", "c"] and back.outputs["a"] is A and back.outputs["c"] is C


def test_an_input_that_was_written_to_travels_whatever_was_written() -> None:
    for changed in (A + 1, np.where(A > 2, np.nan, A), -A):
        changed = changed.astype(np.float32)
        if np.array_equal(changed.view(np.uint8), A.view(np.uint8)):
            continue
        back = as_expected(as_sent(Run(outputs={"a": changed, "c": C}), REQUEST), REQUEST)
        assert back.outputs["a"] is changed
    zeros = np.zeros(3, np.float32)
    request = replace(REQUEST, arguments={"a": zeros})
    assert "a" in as_sent(Run(outputs={"a": -zeros}), request).outputs  # the sign of a zero is a change


def test_a_run_that_a_fault_ended_keeps_what_came_back_and_no_more() -> None:
    run = Run(outputs={"a": A.copy()}, fault=KernelFault("It ended."))
    assert list(as_expected(as_sent(run, REQUEST), REQUEST).outputs) == ["a"]
    assert not as_expected(Run(fault=KernelFault("It ended.")), REQUEST).outputs


def test_what_was_lent_to_work_in_does_not_come_back() -> None:
    request = RunRequest("f", {"a": A, "s": np.zeros(3)}, scratch=("s",))
    assert list(as_expected(Run(), request).outputs) == ["a"]


def test_every_output_of_a_comparison_is_whole_again() -> None:
    comparison = Comparison(
        2.0, 2.0, 2.0, "measured", 2.0, 1.0, ({"a": A.copy(), "c": C}, {"a": A + 1, "c": C}), (1, 0)
    )
    requests = [replace(REQUEST, arguments={**REQUEST.arguments, "a": A}) for _ in range(2)]
    sent = comparison_as_sent(comparison, requests)
    assert [list(each) for each in sent.outputs] == [["c"], ["a", "c"]]
    back = comparison_taken(sent, requests)
    assert back.outputs[0]["a"] is A and np.array_equal(back.outputs[1]["a"], A + 1)


@pytest.mark.parametrize(
    "outputs",
    [
        {"c": C.astype(np.int64)}, {"c": C.T}, {"c": C.astype("M8[s]")}, {"c": [1, 2]}, {"a": A.astype(complex)},
        {"c": C.astype(object)}, {"x": np.zeros(2, "M8[s]")}, {"x": np.zeros(2, "O")}, {"x": np.zeros(2, "f4,f4")},
    ],
)  # fmt: skip
def test_an_output_of_another_type_than_was_asked_for_is_no_answer(outputs: dict[str, Any]) -> None:
    with pytest.raises(GraderFault, match="The grader's worker answered with"):
        as_expected(Run(outputs=outputs), REQUEST)
    with pytest.raises(GraderFault, match="The grader's worker answered with"):
        comparison_taken(Comparison(1, 1, 1, "simulated", 1, 1, (outputs,), (0,)), [REQUEST])


@pytest.mark.parametrize("answer", [None, 3, {}, Comparison(1, 1, 1, "simulated", 1, 1)])
def test_anything_but_a_run_is_no_answer(answer: object) -> None:
    with pytest.raises(GraderFault, match="in place of a run"):
        as_expected(answer, REQUEST)


NO_NUMBERS = [
    np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]"), np.zeros(2, "U3"), np.zeros(2, "S3"), np.zeros(2, "V4"),
    np.zeros(2, "f4,i4"), np.zeros(2, "O"), np.datetime64(1, "s"), np.timedelta64(1, "s"), np.zeros(1, "f4,i4")[0], object(),
    (1, np.zeros(2, "U3")),
]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: str(getattr(value, "dtype", type(value).__name__)))
def test_what_no_check_could_look_at_is_the_authors_mistake_in_one_line(value: object) -> None:
    with pytest.raises(SubmissionError, match="`f` returns "):
        as_expected(Run(returned=value), REQUEST)
    assert as_expected(Run(returned=value), replace(REQUEST, wants_returned=False)).returned is None


NUMBERS = {
    "numbers": (3, 2.5, True, 1j, "text", None), "scalar": np.float32(2), "wide": np.zeros(2, "g"),
    "widest": np.zeros(2, "G"),
    "swapped": np.arange(3, dtype=">i4"), "half": np.zeros(2, "f2"), "complex": np.array([1j]), "truth": np.zeros(2, bool),
    "tuple": (np.arange(2), 3), "long text": "x" * 100_000, "scalar wide": np.longdouble(1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_come_back_as_pythons_own_and_numpys_ordinary_ones(name: str) -> None:
    found = as_expected(Run(returned=NUMBERS[name]), REQUEST).returned
    for each in found if isinstance(found, tuple) else (found,):
        if isinstance(each, np.ndarray):
            assert each.dtype.isnative and each.dtype.itemsize <= 16 and each.dtype.kind in "biufc"
        else:
            assert type(each) in (int, float, complex, bool, str, type(None))
            assert not isinstance(each, str) or len(each) <= answers.MOST_TEXT


# ---- complex numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("got", [1j, complex("nan+infj"), complex(-0.0, 2)])
def test_a_complex_element_is_told_kept_and_read_again(got: complex) -> None:
    difference = compare_arrays("ranks", np.array([got, 4]), np.array([3, 4]), 0.0)
    line = describe(difference)
    assert line.startswith("ranks[0] is ") and line.endswith(", expected 3; 1 of 2 elements are wrong."), line
    result = all_passed()
    check = replace(result.checks[0], mismatches=difference.mismatches, measured={"x": got})
    result = replace(result, checks=(check, *result.checks[1:]))
    assert str(from_dict(to_dict(result)).checks[0].mismatches[0].got) == str(got)
    assert from_dict(to_dict(result)).checks[0].mismatches[0] == difference.mismatches[0] or got != got
    assert isinstance(from_dict(to_dict(result)).checks[0].measured["x"], complex)
    assert difference.mismatches[0] == Mismatch("ranks", (0,), 3, got) or got != got


# ---- memory --------------------------------------------------------------------------------------------

HOST = (
    "import numpy as np\nfrom numba import cuda\n\n\n@cuda.jit\ndef k(a):\n    a[0] = 1\n\n\ndef f(a, c, n):\n    {}\n"
)
LARGE = "return " + ", ".join(["np.zeros(2 ** 24)"] * 10)  # 128 MiB each


def of(body: str) -> Program:
    return parse_program(submission_from_cells("lab.py", [("lab.py", HOST.format(body))], is_notebook=False))


@pytest.mark.parametrize(
    "body", ["return np.zeros(2 ** 22)", "return cuda.to_device(np.zeros(2 ** 22))", "return a, a[0]"]
)
def test_what_a_function_returns_stays_in_the_worker_where_nobody_asks_for_it(body: str) -> None:
    run = SimulatedDevice().run(of(body), replace(REQUEST, wants_returned=False))
    assert run.fault is None and run.returned is None
    stream = io.BytesIO()
    send_reply(stream, RunJob(REQUEST, "device"), WorkerReply(as_sent(run, REQUEST)), Limits())
    assert len(stream.getvalue()) < 10_000


@pytest.mark.parametrize(
    "body",
    ["return np.zeros(2 ** 22)", "return cuda.to_device(np.zeros(2 ** 22))", "return " + "np.zeros(2 ** 17), " * 8],
)
def test_more_than_a_check_would_look_at_is_the_authors_mistake_in_one_line(body: str) -> None:
    fault = SimulatedDevice().run(of(body), REQUEST).fault
    assert str(fault).startswith("lab.py, line 10: `f` returns ") and "MiB of arrays; at most 4 are looked at." in str(
        fault
    )


@pytest.mark.parametrize("kind", ["'M8[s]'", "'m8[s]'", "'U3'", "'S3'", "'V4'", "'f4,i4'"])
@pytest.mark.parametrize("made", ["np.zeros(3, {})", "cuda.device_array(3, {})"])
def test_an_array_of_no_numbers_is_the_authors_mistake_in_one_line(kind: str, made: str) -> None:
    fault = SimulatedDevice().run(of("return " + made.format(kind)), REQUEST).fault
    assert str(fault).startswith("lab.py, line 10: `f` returns an array of "), fault


def test_the_bound_of_an_answer_is_what_its_arrays_take() -> None:
    large = RunRequest("f", {"a": np.zeros(10**6, np.float32), "c": Uninitialised((10**6,), np.float64), "n": 3})
    assert bytes_of_run(large) == answers.OTHER_BYTES + 5 * 10**6 + 9 * 10**6
    assert bytes_of_run(replace(large, wants_returned=True)) == bytes_of_run(large) + (4 << 20)


def test_ten_large_arrays_take_nothing_of_the_graders_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size of what comes over the pipe, which is all that the grader takes in."""
    from autograder.grading import wire

    sizes = []
    fill = wire.fill
    monkeypatch.setattr(wire, "fill", lambda stream, view: sizes.append(view.nbytes) or fill(stream, view))
    (tmp_path / "lab.py").write_text(HOST.format(LARGE))
    with Worker("simulated") as worker:
        worker.read(tmp_path / "lab.py")
        assert worker.run(replace(REQUEST, wants_returned=False), "device").fault is None
        told = str(worker.run(REQUEST, "device").fault)
    assert "`f` returns 1,280 MiB of arrays; at most 4 are looked at." in told
    assert 0 < sum(sizes) < 20_000
