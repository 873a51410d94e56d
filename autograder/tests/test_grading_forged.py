"""What comes back from a worker is data: of the types that were asked for, or the grader's fault in one student's row."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import errors
from autograder.errors import (
    BrokenDefinition,
    GraderFault,
    KernelFault,
    KitError,
    Line,
    MachineFault,
    NotCarriedOut,
    SubmissionError,
    Unforeseen,
)
from autograder.grading import check
from autograder.grading.class_grading import grade_class
from autograder.grading.jobs import (
    Begin,
    CompareJob,
    File,
    FunctionSummary,
    Greeting,
    Limits,
    Read,
    RunJob,
    Summary,
    WorkerReply,
    receive_reply,
    send_reply,
)
from autograder.grading.wire import JSON_BYTES, Malformed, TooMuch, coder_of, read_frame, write_frame
from autograder.grading.worker import Worker
from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.accesses import Access
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import Comparison, Launch, Run, RunRequest, Uninitialised
from autograder.records.transfers import Transfer
from autograder.simulated_device import SimulatedDevice
from autograder.tests.grading_fakes import FORGERIES, FORGERY, Malicious, framed, lab_with

SOURCE = """
from numba import cuda


@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = 2 * a[i]


def double(a, out):
    kernel[1, 32](a, out)
"""
LINE = Line("lab.py", 7)
PROGRAM = parse_program(submission_from_cells("lab.py", [("lab.py", SOURCE)], is_notebook=False))
A = np.arange(20, dtype=np.float32)
REQUEST = RunRequest("double", {"a": A, "out": Uninitialised((20,), np.float32)}, traced_line=Line("lab.py", 9))
JOB = RunJob(REQUEST, "device")
ROOM = 1 << 26


def passed_on(kind: Any, value: Any) -> Any:
    """A value as it is at the other end."""
    stream = io.BytesIO()
    write_frame(stream, kind, value, ROOM)
    stream.seek(0)
    back = read_frame(stream, kind, ROOM)
    assert not stream.read()
    return back


def equal(one: Any, other: Any) -> bool:
    """Equality through arrays, errors and records; NaN is itself."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, KitError):
        return type(one) is type(other) and str(one) == str(other) and vars(one) == vars(other)
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(equal(getattr(one, each.name), getattr(other, each.name))
                                                for each in dataclasses.fields(one))  # fmt: skip
    if isinstance(one, dict):
        return list(one) == list(other) and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and (one == other or one != one and other != other)


# ---- there and back ------------------------------------------------------------------------------------


def test_a_run_of_the_simulated_gpu_is_the_same_at_the_other_end() -> None:
    run = SimulatedDevice().run(PROGRAM, REQUEST)
    assert run.launches[0].estimate is not None and run.lines and run.accesses and run.written
    assert equal(run, passed_on(Run, run))
    compared = SimulatedDevice().compare(PROGRAM, PROGRAM, [REQUEST])
    assert compared.outputs and equal(compared, passed_on(Comparison, compared))


TELLING = [
    Hazard("race", "m", "r", LINE, block=(1, 2, 3), thread=(0, 0, 1), index=(3,), other_line=LINE, occurrences=7,
           access="load", shape=(9,), other_writes=True),
    Hazard("divergent_barrier", "m", "r", LINE, barrier="exchange", absent=3),
    Run(fault=KernelFault("m", line=LINE, remedy="r", kind="empty_launch")),
    Transfer("an element", 4, None), LineProfile(LINE, "text\ud800\u2028", Counters(1, 2), Counters(), ("why",)),
    Launch("k", (3, 1, 1), (32, 1, 1), measured_ns=2.5, counted=Counters(5)),
    Access("load", "global", "a", 4, (2, 3), (0, 0, 0), 1, np.arange(32), 5),
    Greeting("d", "measured", ("a", "b")),
    Summary("l", {"f": FunctionSummary("host", ("a",), LINE, "s", True, ("g",))},
            {"g": BrokenDefinition("m", name="g", line=LINE)}),
    Comparison(float("nan"), float("-inf"), 1, "simulated", 1e300, 5e-324, notes={"n": 3, "s": "t", "f": 2.5, "b": True},
               rounds=(1.0,), sampled=Run(fault=NotCarriedOut("m", line=LINE, remedy="r"))),
]  # fmt: skip


@pytest.mark.parametrize("value", TELLING, ids=lambda value: type(value).__name__)
def test_every_record_of_an_answer_is_the_same_at_the_other_end(value: Any) -> None:
    back = passed_on(type(value), value)
    assert equal(value, back)


def test_numpys_numbers_become_pythons_where_a_record_says_numbers() -> None:
    def made(number: Any) -> Launch:
        return Launch("k", (number, 1, 1), (32, 1, 1), measured_ns=number, counted=Counters(number))

    assert equal(passed_on(Launch, made(np.int64(3))), made(3)) and type(made(3).grid[0]) is int
    with pytest.raises(TypeError):
        passed_on(Launch, made(2.5))


@pytest.mark.parametrize(
    "returned",
    [None, True, 3, 2**4000, -0.0, 1j, complex("nan+infj"), "x", (), (1, (2.5, "y"), A), A, A[::3], A.reshape(4, 5).T,
     np.zeros((0, 3)), np.array(3), np.float32(1.5), np.longdouble(1) / 3, np.arange(3, dtype=">i2"), np.array([1j, 2])],
    ids=str,
)  # fmt: skip
def test_what_a_function_returned_is_the_same_at_the_other_end(returned: Any) -> None:
    back = passed_on(Run, Run(returned=returned)).returned
    assert equal(returned, back) or isinstance(returned, np.generic) and back == returned and back.dtype == returned.dtype


def test_an_array_that_came_may_be_written_to_and_lies_as_it_lay() -> None:
    outputs = passed_on(Run, Run(outputs={"c": np.asfortranarray(A.reshape(4, 5)), "g": A[::2]})).outputs
    assert outputs["c"].flags.f_contiguous and all(each.flags.writeable for each in outputs.values())


@pytest.mark.parametrize("value", [object(), {1: 2}, np.zeros(2, "U3"), np.zeros(2, "M8[s]"), np.zeros(2, "O"), b"x"])
def test_what_is_no_data_is_not_even_sent(value: Any) -> None:
    stream = io.BytesIO()
    with pytest.raises(Malformed):
        write_frame(stream, Run, Run(returned=value), ROOM)
    assert not stream.getvalue()


def test_whatever_ends_a_submission_travels_as_its_own_class() -> None:
    """Hints and grading ask for the class: a loop without end is told from an index outside its array by nothing else."""
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    kinds: list[Any] = [each for each in classes if issubclass(each, SubmissionError)]
    assert len(kinds) >= 5
    for kind in kinds:
        problem = kind("m", name="f") if kind is BrokenDefinition else kind("m")
        assert type(passed_on(KitError, problem)) is kind


def test_an_error_travels_by_its_kind_and_a_fault_of_the_machine_cannot() -> None:
    refused = KernelFault("m", line=LINE, remedy="r", kind="empty_launch")
    assert equal(refused, passed_on(KitError, refused)) and equal(refused, pickle.loads(pickle.dumps(refused)))
    with pytest.raises(Malformed, match="none of"):
        read_frame(io.BytesIO(framed(b'[[],["KernelFault",null,"m","","of no kind"]]')), KitError, ROOM)
    for problem in (refused, BrokenDefinition("m", name="f"), Unforeseen("x" * 5_000)):
        back = passed_on(KitError, problem)
        assert type(back) is type(problem) and str(problem).startswith(str(back)) and len(str(back)) <= 4_000
    assert type(passed_on(KitError, MachineFault("The disk is full."))) is GraderFault
    with pytest.raises(Malformed, match="no worker raises"):  # where the student's own failure belongs
        read_frame(io.BytesIO(framed(b'[[],["GraderFault",null,"m","",""]]')), SubmissionError, ROOM)


def test_an_honest_answer_that_is_too_large_is_not_sent() -> None:
    stream = io.BytesIO()
    with pytest.raises(TooMuch, match=r"a message of [\d,]+ bytes, at most 100,000 allowed"):
        write_frame(stream, Run, Run(outputs={"a": np.zeros(100_000)}), 100_000)
    with pytest.raises(TooMuch, match="of counters, hazards and text"):
        write_frame(stream, Run, Run(returned="x" * JSON_BYTES), 1 << 30)
    assert not stream.getvalue()


# ---- forged --------------------------------------------------------------------------------------------


def honest_frame() -> bytes:
    stream = io.BytesIO()
    send_reply(stream, JOB, WorkerReply(SimulatedDevice().run(PROGRAM, REQUEST)), Limits())
    return stream.getvalue()


GROWS = "JSON that grows"


@pytest.mark.parametrize("name", sorted(FORGERIES.keys() - {GROWS}))  # of which a test of its own says that, and how large
def test_a_forged_answer_ends_in_one_known_error_and_calls_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((EOFError, Malformed)):
        receive_reply(io.BytesIO(FORGERIES[name](honest_frame())), JOB, Limits())
    assert not list(tmp_path.iterdir())


def test_a_canary_sings_where_a_pickle_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above would see it."""
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Malicious()))
    assert [each.name for each in tmp_path.iterdir()] == ["CANARY"]


RUN = json.loads(honest_frame()[16 : 16 + int.from_bytes(honest_frame()[8:16], "little")])[1][0]
FIELDS = [each.name for each in dataclasses.fields(Run)]
ODD: list[Any] = [7, -1, 2.5, "x", True, None, [], {}, [[]], {"a": 1}, {"a": "x"}, ["array", 0], 10**400]


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_a_run_can_hold_what_it_should_not(field: str) -> None:
    """Whatever stands there, what comes out is of the declared type, or nothing comes out."""
    place = FIELDS.index(field)
    refused = 0
    for odd in ODD:
        form = [*RUN[:place], odd, *RUN[place + 1 :]]
        data = json.dumps([[["<f4", [2], "C"]], [form, None, "", False, False]]).encode()
        try:
            reply = receive_reply(io.BytesIO(framed(data, bytes(8))), JOB, Limits())
        except Malformed:
            refused += 1
            continue
        coder_of(Run).write(reply.value, [])  # raises for what is of no declared type
    assert refused >= (4 if field == "returned" else 7)


@pytest.mark.parametrize("number", range(40))
def test_a_damaged_answer_is_a_run_or_an_error_that_the_grader_knows(number: int) -> None:
    whole = honest_frame()
    rng = np.random.default_rng(number)
    for _ in range(20):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[at] ^= int(rng.integers(1, 256))
        if rng.random() < 0.2:
            del damaged[int(rng.integers(len(damaged))) :]
        try:
            reply = receive_reply(io.BytesIO(damaged), JOB, Limits())
        except (EOFError, Malformed):
            continue
        coder_of(Run).write(reply.value, [])


@pytest.mark.parametrize("name", ["a huge length", "a huge length of JSON"])
def test_no_length_is_believed_before_it_fits(name: str) -> None:
    forged = FORGERIES[name](honest_frame())
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            receive_reply(io.BytesIO(forged), JOB, Limits())
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_json_can_grow_to_is_bounded() -> None:
    """Five million empty lists, the worst that the bound lets in."""
    forged = FORGERIES[GROWS](b"")
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            receive_reply(io.BytesIO(forged), JOB, Limits())
        assert tracemalloc.get_traced_memory()[1] < 1 << 29
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("job", [Begin("", Limits(), Path()), Read(File("a", b""), None), CompareJob([], 1.0)])
def test_the_answer_to_one_job_is_none_to_another(job: object) -> None:
    with pytest.raises(Malformed):
        receive_reply(io.BytesIO(honest_frame()), job, Limits())


# ---- in a class ----------------------------------------------------------------------------------------


@check(points=2)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["garbage", "half of a frame", "nothing", "a pickle", "another record", "a fault of the machine"]
)
def test_a_forged_answer_is_one_row_harms_nobody_and_is_tried_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    lab = lab_with(doubles, folder=tmp_path / "lab", baseline="")
    handed_in, out = tmp_path / "in", tmp_path / "out"
    handed_in.mkdir()
    for student in ("ann", "mallory", "zoe"):
        more = "\n\ndef forge(a):\n    return a\n" if student == "mallory" else ""
        (handed_in / f"{student}.py").write_text(SOURCE + more)
    monkeypatch.chdir(tmp_path)
    grade = partial(grade_class, lab, handed_in, out, device="autograder.tests.grading_fakes:ForgingDevice", jobs=1)
    with monkeypatch.context() as forging:
        forging.setenv(FORGERY, name)
        ann, mallory, zoe = grade()
    assert [each.outcome for each in (ann, mallory, zoe)] == ["passed", "not run", "passed"]
    assert mallory.checks[0].fault and "worker" in mallory.flags[0]
    assert not any(each.name == "CANARY" for each in tmp_path.rglob("*"))
    assert "mallory" in (out / "grader_faults.txt").read_text()
    again = grade()
    assert [each.outcome for each in again] == ["passed"] * 3
    assert [replace(again[0], seconds=0), replace(again[2], seconds=0)] == [replace(ann, seconds=0), replace(zoe, seconds=0)]


@pytest.mark.long
def test_a_worker_that_takes_no_job_any_more_is_ended(tmp_path: Path) -> None:
    """A job larger than the pipe holds: the grader does not wait for ever to be rid of it."""
    (tmp_path / "lab.py").write_text(SOURCE)
    large = RunRequest("double", {"a": np.zeros(1 << 22, np.float32), "out": Uninitialised((4,), np.float32)})
    with Worker("autograder.tests.grading_fakes:DeafDevice", Limits(run_seconds=1)) as worker:
        worker.read(tmp_path / "lab.py")
        worker.run(REQUEST, "device")
        with pytest.raises(GraderFault, match="too busy"):
            worker.run(large, "device")
        assert worker.read(tmp_path / "lab.py").functions  # a fresh one
