"""What a check can do with a submission: inputs, runs, expectations, speed, and the failing case as code."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.errors import BrokenDefinition, GraderFault, KernelFault, Line, NotCounted
from autograder.grading import closeness, inputs, products
from autograder.grading.attempt import Attempt, SharedRuns
from autograder.grading.closeness import compare_arrays, default_tolerance, describe
from autograder.grading.failures import CheckFailed, Unverified
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.runs import ROUND_REQUESTS, WARM_UP_REQUESTS, Launch, Run, RunRequest, Uninitialised
from autograder.records.transfers import HOST_WORK, Transfer
from autograder.tests.grading_fakes import FakeWorker, TimingWorker, a_call, run_in_numpy

HAZARD = Hazard("out_of_bounds", "a[9] is outside a, of shape (9,).", "Guard the access.", Line("lab.py", 4))


def attempt_with(function=lambda a, out: np.multiply(a, 2, out=out), **options) -> Attempt:
    return Attempt("a_check", FakeWorker(function, **options), np.random.default_rng(7))


def returning(run: Run) -> Attempt:
    """An attempt whose every run is this one."""
    attempt = attempt_with()
    attempt._runner.run = lambda request, on: run
    return attempt


# ---- closeness -------------------------------------------------------------------------------------

F32 = np.float32
CLOSENESS = [
    # got, expected, right elements
    (np.array([1, 2], F32), [1.0, 2.0], [True, True]),
    (np.array([1, np.nan], F32), [1.0, 2.0], [True, False]),
    (np.array([np.nan], F32), [np.nan], [False]),
    (np.array([np.inf, -np.inf], F32), [np.inf, np.inf], [True, False]),
    (np.array([1 + 1e-6, 1 + 1e-7], F32), [1.0, 1.0], [False, True]),
    (np.array([0.0, 1.0], F32), [1e-9, 1.0], [True, True]),  # tiny beside what was accumulated
    (np.array([3, 4], np.int32), [3, 5], [True, False]),
    (np.array([2**31 - 1], np.int64), [2**31 - 2], [False]),  # whole numbers must be equal
]


@pytest.mark.parametrize(("got", "expected", "right"), CLOSENESS)
def test_elements_are_right_within_the_rounding_of_their_type(got, expected, right):
    difference = compare_arrays("c", got, np.array(expected), default_tolerance(got.dtype))
    assert (~difference.wrong).tolist() == right


def test_a_float16_sum_is_no_float32_sum_and_any_order_of_summation_is():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (40, 333)).astype(F32), rng.uniform(-1, 1, (333, 30)).astype(F32)
    exact, magnitude = a.astype(float) @ b, np.abs(a.astype(float)) @ np.abs(b)
    tolerance = default_tolerance(np.dtype(F32), terms=333)
    forwards, backwards, half = np.zeros((40, 30), F32), np.zeros((40, 30), F32), np.zeros((40, 30), np.float16)
    for i in range(333):
        forwards += np.outer(a[:, i], b[i])
        backwards += np.outer(a[:, -1 - i], b[-1 - i])
        half = (half + np.outer(a[:, i], b[i])).astype(np.float16)
    for right in (forwards, backwards, (a @ b)):
        assert compare_arrays("c", right, exact, tolerance, magnitude).is_close
    assert compare_arrays("c", half.astype(F32), exact, tolerance, magnitude).wrong.mean() > 0.5


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (50,), (7, 9), (2, 3, 4)])
@pytest.mark.parametrize("magnitude", [None, 2.0])
def test_an_array_compared_piece_by_piece_is_compared_as_a_whole(shape, magnitude, monkeypatch):
    rng = np.random.default_rng(3)
    expected = rng.normal(size=shape)
    got = np.asarray(expected * (1 + 1e-6 * rng.integers(0, 2, shape)), F32)
    whole = compare_arrays("c", got, np.asarray(expected), 5e-7, magnitude)
    monkeypatch.setattr(closeness, "COMPARED_AT_ONCE", 5)
    pieces = compare_arrays("c", got, np.asarray(expected), 5e-7, magnitude)
    assert np.array_equal(whole.wrong, pieces.wrong) and whole.wrong.shape == pieces.wrong.shape == shape


@pytest.mark.parametrize("shape", [3, (7, 9), (0, 4), 50])
def test_inputs_are_those_that_the_report_says_how_to_make(shape, monkeypatch):
    monkeypatch.setattr(inputs, "DRAWN_AT_ONCE", 4)
    attempt = attempt_with()
    for array in (attempt.uniform(shape), attempt.integers(-3, 2**40, shape, np.int64), attempt.integers(1, 6, shape)):
        assert np.array_equal(array, eval(attempt._recipes[id(array)][1], {"np": np}))


def test_another_shape_is_said_and_not_compared():
    difference = compare_arrays("c", np.zeros((2, 3), F32), np.zeros((3, 2)), 1.0)
    assert not difference.is_close and describe(difference) == "`c` has shape (2, 3), expected (3, 2)."


def test_the_first_mismatches_carry_index_expected_and_got():
    got = np.zeros((3, 4), F32)
    difference = compare_arrays("c", got, np.where(np.eye(3, 4) > 0, 0.0, 1.5), 1e-6)
    assert [each.index for each in difference.mismatches] == [(0, 1), (0, 2), (0, 3), (1, 0), (1, 2)]
    assert (difference.mismatches[0].expected, difference.mismatches[0].got) == (1.5, 0.0)
    assert describe(difference) == "c[0, 1] is 0, expected 1.5; 9 of 12 elements are wrong."


def test_an_element_that_was_never_written_is_called_so_even_where_its_value_is_right_by_luck():
    written = np.array([True, False, True])
    difference = compare_arrays("c", np.zeros(3, F32), np.zeros(3), 1e-6, written=written)
    message = "c[1] was never written, expected 0; 1 of 3 elements are wrong, 1 of them never written."
    assert describe(difference) == message
    assert np.isnan(difference.mismatches[0].got)


# ---- expectations ----------------------------------------------------------------------------------


def doubled(attempt: Attempt, size: int = 5) -> Run:
    return attempt.run("double", a=attempt.uniform(size), out=Uninitialised((size,), np.float32))


def test_expect_close_passes_a_right_output_and_names_it_by_itself():
    attempt = attempt_with()
    run = doubled(attempt)
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])
    assert attempt.differences[0].name == "out" and attempt.wrong is None


def test_expect_close_fails_on_what_was_not_written():
    attempt = attempt_with(lambda a, out: np.multiply(a[:-1], 2, out=out[:-1]))
    run = doubled(attempt)
    with pytest.raises(CheckFailed, match=r"^out\[4\] was never written, expected "):
        attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])
    assert attempt.wrong is not None and attempt.wrong.unwritten.tolist() == [False] * 4 + [True]
    with pytest.raises(CheckFailed, match=r"out\[4\] was never written; 1 of 5 elements"):
        attempt.expect_every_element_written(run, "out")


def test_a_written_input_is_found_even_where_only_the_bits_of_one_element_changed():
    def spoil(a, out):
        a[3] = np.nextafter(a[3], np.float32(9))

    attempt = attempt_with(spoil)
    run = doubled(attempt)
    with pytest.raises(CheckFailed, match=r"input `a` was written to, first at a\[3\]"):
        attempt.expect_inputs_unchanged(run)


def test_inputs_that_hold_nan_and_were_left_alone_pass():
    attempt = attempt_with()
    run = attempt.run("double", a=np.array([np.nan, 1], np.float32), out=Uninitialised((2,), np.float32))
    attempt.expect_inputs_unchanged(run)


def test_the_submissions_fault_fails_the_check_in_its_own_words():
    attempt = returning(Run(fault=KernelFault("It ran too far.", line=Line("lab.py", 3)), hazards=(HAZARD,)))
    with pytest.raises(CheckFailed) as failure:
        attempt.run("double")
    assert failure.value.message == "lab.py, line 3: It ran too far." and failure.value.hazards == (HAZARD,)
    assert attempt.run("double", may_fault=True).fault is not None and attempt.fault is not None


def test_hazards_fail_by_kind_or_by_severity():
    warning = Hazard("accidental_float64", "2.5 is float64.", "Use float32(2.5).", None, severity="warning")
    attempt = returning(Run(hazards=(warning, HAZARD)))
    run = attempt.run("double")
    attempt.expect_no_hazards(run, kinds=("race",))
    with pytest.raises(CheckFailed, match="outside a") as failure:
        attempt.expect_no_hazards(run)
    assert failure.value.hazards == (HAZARD,)
    with pytest.raises(CheckFailed, match="float64"):
        attempt.expect_no_hazards(run, kinds=("accidental_float64",))


def test_hazards_of_a_measured_run_are_looked_for_on_the_simulated_gpu():
    attempt = attempt_with()
    places = []

    def run(request, on):
        places.append(on)
        return Run(source="measured") if on == "device" else Run(hazards=(HAZARD,))

    attempt._runner.run = run
    with pytest.raises(CheckFailed, match="outside a"):
        attempt.expect_no_hazards(attempt.run("double", a=np.zeros(9, np.float32)))
    assert places == ["device", "simulated"]


def test_a_count_over_its_limit_fails_and_is_recorded_either_way():
    attempt = attempt_with()
    attempt.expect_at_most("sectors per load request", 4.0, 4.0)
    with pytest.raises(CheckFailed, match=r"^8.5 sectors per load request, at most 4 asked for. Walk along rows."):
        attempt.expect_at_most("sectors per load request", 8.5, 4.0, "Walk along rows.")
    assert attempt.measured == {"sectors_per_load_request": 8.5, "limit": 4.0}


# ---- speed -----------------------------------------------------------------------------------------

# ratio (interval 10 % either way), passes, fraction of the points with threshold 2, all at 4, none at 1
RAMP = [(0.5, False, 0), (1.0, False, 0), (1.5, False, 1 / 6), (2.5, True, 0.5), (4.0, True, 1), (9.0, True, 1)]


@pytest.mark.parametrize(("ratio", "passes", "fraction"), RAMP)
def test_points_for_speed_are_a_ramp(ratio, passes, fraction):
    attempt = attempt_with(speed=ratio)
    if passes:
        assert f"{ratio:.2f} times" in attempt.speedup(a_call, threshold=2, full_points_at=4)
    else:
        with pytest.raises(CheckFailed, match="2 times asked for"):
            attempt.speedup(a_call, threshold=2, full_points_at=4)
    assert attempt.fraction == pytest.approx(fraction)
    assert attempt.measured["ratio"] == ratio and attempt.measured["threshold"] == 2 and not attempt.flags


@pytest.mark.parametrize("ratio", [1.95, 2.05])
def test_a_measured_interval_that_holds_the_threshold_passes_and_is_flagged(ratio):
    attempt = attempt_with(speed=ratio, timed="measured")
    attempt.speedup(a_call, threshold=2)
    assert attempt.fraction == 1 and attempt.measured["ambiguous"] and "lies within" in attempt.flags[0]


def test_a_prediction_too_close_to_call_leaves_the_verdict_and_says_so():
    slow, fast = attempt_with(speed=1.95), attempt_with(speed=2.05)
    with pytest.raises(CheckFailed, match="Too close to call by prediction: 1.7. to 2.1. is what"):
        slow.speedup(a_call, threshold=2, full_points_at=4)
    assert "Too close to call by prediction" in fast.speedup(a_call, threshold=2, full_points_at=4)
    assert slow.fraction == pytest.approx(0.95 / 3) and fast.fraction == pytest.approx(1.05 / 3)  # as the ratio says
    assert slow.measured["ambiguous"] and fast.measured["ambiguous"]
    assert "which may see it otherwise" in slow.flags[0] and not fast.flags  # nobody has to look at what passes


def timing_attempt(function: Any = lambda a, out: np.multiply(a, 2, out=out), rounds: int = 5) -> Attempt:
    return Attempt("a_check", TimingWorker(function, rounds), np.random.default_rng(7), results={"double": right_doubles})


def test_each_timed_call_has_inputs_of_its_own_and_its_output_is_verified() -> None:
    attempt, verified = timing_attempt(), []

    def judged(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
        right_doubles(attempt, request, outputs)
        verified.append(request.arguments["a"].tobytes())

    attempt.results = {"double": judged}
    attempt.speedup(lambda: doubling(attempt), threshold=2)
    assert len(verified) == len(set(verified)) == ROUND_REQUESTS * 5
    runner = attempt._runner
    assert isinstance(runner, TimingWorker)
    assert runner.timed_on == verified and runner.warmed_up_on[0] not in verified and len(runner.warmed_up_on) == 1


def test_only_the_inputs_of_one_round_are_held_while_a_gpu_is_timed() -> None:
    attempt, made, alive = timing_attempt(rounds=6), [], []

    def drawn() -> RunRequest:
        request = doubling(attempt)
        made.append(weakref.ref(request.arguments["a"]))
        alive.append(sum(each() is not None for each in made))
        return request

    attempt.speedup(drawn, threshold=2)
    assert len(made) == WARM_UP_REQUESTS + ROUND_REQUESTS * 6
    assert max(alive) == ROUND_REQUESTS + 2  # with the first one, and the last, which no other may be like


@pytest.mark.parametrize("wrong_from", [2, 9])
def test_one_wrong_output_of_a_timed_call_fails_the_check(wrong_from: int) -> None:
    """The second call, or the ninth: what is right at first and skips work once it has seen enough."""
    calls = 0

    def forgets(a: np.ndarray, out: np.ndarray) -> None:
        nonlocal calls
        calls += 1
        np.multiply(a, 2 if calls < wrong_from else 3, out=out)

    attempt = timing_attempt(forgets)
    with pytest.raises(CheckFailed, match="out"):
        attempt.speedup(lambda: doubling(attempt), threshold=2)
    assert calls == wrong_from + wrong_from % 2 and attempt.fraction is None


@pytest.mark.parametrize("copies", [lambda array: array, np.copy])
def test_a_lab_that_times_the_same_inputs_again_is_wrong(copies: Any) -> None:
    attempt = timing_attempt()
    arguments = doubling(attempt).arguments

    def drawn() -> RunRequest:
        return RunRequest("double", {"a": copies(arguments["a"]), "out": arguments["out"]})

    with pytest.raises(GraderFault, match="times `double` on the same inputs again"):
        attempt.speedup(drawn, threshold=2)


def test_a_device_that_leaves_out_an_output_of_what_it_timed_is_not_believed() -> None:
    attempt = timing_attempt()
    honest = attempt._runner.compare
    attempt._runner.compare = lambda *given, **more: replace(
        honest(*given, **more), outputs=({"out": np.ones(50)},), request_of_output=(2,)
    )
    with pytest.raises(GraderFault, match="the output of each call"):
        attempt.speedup(lambda: doubling(attempt), threshold=2)


def test_a_fault_during_timing_fails_the_check():
    attempt = attempt_with()
    comparison = attempt._runner.compare([], 2)
    attempt._runner.compare = lambda *_: type(comparison)(**{**vars(comparison), "fault": KernelFault("It hung.")})
    with pytest.raises(CheckFailed, match="It hung."):
        attempt.speedup(a_call, threshold=2)


def test_what_nobody_counted_or_timed_is_asked_for_with_one_clear_line():
    """Not None, over which a check would stumble somewhere else."""
    launch = Launch("fill", (1, 1, 1), (32, 1, 1))
    assert Run().counted is None and launch.counted is None and attempt_with().compared is None
    with pytest.raises(NotCounted, match="Nobody counted what a run did: it was not simulated"):
        _ = Run(launches=(launch,)).counters
    with pytest.raises(NotCounted, match="Nobody counted what the launch of `fill` did"):
        _ = launch.counters
    with pytest.raises(NotCounted, match="Nothing was timed in .*after `speedup`"):
        _ = attempt_with().comparison
    assert Run(counted=Counters(threads=3)).counters.threads == 3


def test_points_can_be_held_back_until_more_is_known():
    attempt = attempt_with(speed=2.0)
    attempt.speedup(a_call, threshold=2)
    for earned in (attempt.fraction, None):
        attempt.award(0)
        attempt.award(earned)
        assert attempt.fraction == earned


# ---- reproduction ----------------------------------------------------------------------------------


def test_the_failing_case_can_be_pasted_and_gives_the_same_arrays():
    attempt = attempt_with(lambda a, out: None)
    a, small, ones = attempt.uniform((30, 40)), np.array([1, 2, 3], np.int32), np.full(100, 7.5)
    b = attempt.integers(0, 9, 500)
    arguments: dict[str, Any] = {"a": a, "b": b, "small": small, "ones": ones, "n": 3, "s": np.float32(0.5)}
    attempt._runner.run = lambda request, on: Run(outputs={"out": np.zeros((30, 40), np.float32)})
    run = attempt.run("f", **arguments, out=Uninitialised((30, 40), np.float32))
    with pytest.raises(CheckFailed):
        attempt.expect_close(run.outputs["out"], np.full((30, 40), 2.0))
    code = attempt.reproduction()
    assert code.splitlines()[-2:] == ["f(a, b, small, ones, n, s, out)", "out.copy_to_host()[0, 0]  # expected 2"]

    class Cuda:
        to_device = staticmethod(lambda array: array)
        device_array = staticmethod(np.zeros)

    namespace: dict[str, Any] = {"cuda": Cuda, "np": np}
    body = [line for line in code.splitlines() if "import" not in line and not line.startswith(("f(", "out.copy"))]
    exec("\n".join(body), namespace)
    for name, value in arguments.items():
        assert np.array_equal(namespace[name], value) and np.asarray(namespace[name]).dtype == np.asarray(value).dtype
    assert namespace["out"].shape == (30, 40)


def test_what_is_pasted_shows_the_element_that_was_never_written():
    attempt = attempt_with(lambda a, out: None)
    written = np.ones((4, 5), bool)
    written[2, 3] = False
    attempt._runner.run = lambda request, on: Run(outputs={"out": np.zeros((4, 5))}, written={"out": written})
    run = attempt.run("f", a=np.zeros(3), out=Uninitialised((4, 5), np.float64))
    with pytest.raises(CheckFailed) as failed:
        attempt.expect_every_element_written(run, "out")
    attempt.failure = failed.value
    assert attempt.reproduction().splitlines()[-2:] == ["f(a, out)", "out.copy_to_host()[2, 3]  # never written"]


def test_what_is_pasted_says_so_where_no_element_is_wrong():
    attempt = attempt_with(lambda a: None)
    launch = Launch("k", (4, 2, 1), (32, 1, 1))
    attempt._runner.run = lambda request, on: Run(outputs={"a": np.zeros(3)}, launches=(launch,))
    attempt.run("f", a=np.zeros(3))
    attempt.failure = CheckFailed("8.5 sectors a request.")
    last = attempt.reproduction().splitlines()[-1]
    assert last == "# No element is wrong. What was counted: autograder.profile(k)[(4, 2), 32](its arguments)"


@pytest.mark.parametrize("about, shown", [("", ["turn", "step"]), ("step", ["step"]), ("turn", ["turn"])])
def test_what_is_pasted_names_the_launches_whose_work_failed_the_check_and_each_once(about, shown):
    attempt = attempt_with(lambda a: None)
    launches = tuple(Launch(name, (2, 1, 1), (8, 1, 1)) for name in ("turn", "step", "step", "turn"))
    attempt._runner.run = lambda request, on: Run(outputs={"a": np.zeros(3)}, launches=launches)
    attempt.run("f", a=np.zeros(3))
    attempt.failure = CheckFailed("Too many bytes a step.", launch=about)
    named = [each for each in ("turn", "step") for _ in range(attempt.reproduction().count(f"profile({each})[2, 8]"))]
    assert named == shown


def test_what_is_not_defined_cannot_be_pasted():
    attempt = attempt_with(lambda a: None)
    attempt._runner.run = lambda request, on: Run(fault=BrokenDefinition("No `f`.", name="f"))
    with pytest.raises(CheckFailed):
        attempt.run("f", a=np.zeros(3))
    assert attempt.reproduction() == ""


def test_a_kernel_launched_directly_is_reproduced_with_its_launch():
    attempt = attempt_with(lambda a: None)
    attempt.run("k", a=np.zeros(3, np.float32), grid=(2, 2), block=32)
    assert attempt.reproduction().endswith("k[(2, 2), 32](a)")


def test_the_fake_leaves_the_request_alone():
    request = RunRequest("double", {"a": np.ones(3, np.float32)})
    run_in_numpy(lambda a: a.fill(0), request)
    assert request.arguments["a"].sum() == 3


# ---- runs that several checks share ------------------------------------------------------------------


def doubling(attempt):
    return RunRequest("double", {"a": attempt.uniform(50), "out": Uninitialised((50,), np.float32)})


def test_a_shared_run_is_carried_out_once_and_is_a_trial_of_every_check_that_asks_for_it():
    calls = []

    def double(a, out):
        calls.append(a)
        np.multiply(a, 2, out=out)

    shared = SharedRuns(lambda name: np.random.default_rng(len(name)))
    first, second = (
        Attempt(name, FakeWorker(double), np.random.default_rng(seed), shared=shared)
        for seed, name in enumerate(("one", "two"))
    )
    assert first.once("a vector", doubling).run.outputs is second.once("a vector", doubling).run.outputs
    assert len(calls) == 1 and len(first.trials) == len(second.trials) == 1
    assert second.reproduction() == first.reproduction() and "default_rng(" in second.reproduction()
    second.once("another vector", doubling)
    assert len(calls) == 2 and not np.array_equal(*calls)


def test_a_fault_of_a_shared_run_fails_every_check_that_does_not_expect_it():
    attempt = returning(Run(fault=KernelFault("It never ends.")))
    for _ in range(2):
        with pytest.raises(CheckFailed, match="It never ends"):
            attempt.once("a vector", doubling)
    assert attempt.once("a vector", doubling, may_fault=True).run.fault is not None


def right_doubles(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    attempt.expect_close(outputs["out"], 2 * request.arguments["a"].astype(np.float64), "out")


@pytest.mark.parametrize("shared", [False, True])
def test_work_counts_only_where_its_results_are_right(shared):
    attempt = attempt_with()
    attempt.results = {"double": right_doubles}
    run = attempt.counted(attempt.once("a vector", doubling) if shared else doubling(attempt))
    assert run.outputs is attempt.trials[-1].run.outputs and len(attempt.trials) == 1
    attempt = attempt_with(lambda a, out: np.multiply(a[:40], 2, out=out[:40]))
    attempt.results = {"double": right_doubles}
    with pytest.raises(CheckFailed, match=r"out\[40\] was never written.*; 10 of 50"):
        attempt.counted(attempt.once("a vector", doubling) if shared else doubling(attempt))


def test_what_nobody_says_is_right_is_neither_counted_nor_timed() -> None:
    attempt = attempt_with()
    with pytest.raises(GraderFault, match="`double` is counted or timed, and the lab does not say"):
        attempt.counted(doubling(attempt))
    attempt = attempt_with()
    comparison = attempt._runner.compare([], 2)
    timed = {"outputs": ({"out": 1},), "request_of_output": (0,)}
    attempt._runner.compare = lambda *_: type(comparison)(**{**vars(comparison), **timed})
    with pytest.raises(GraderFault, match="does not say"):
        attempt.speedup(a_call, threshold=2)


@pytest.mark.parametrize("shared", [False, True])
def test_the_work_of_a_run_that_was_not_verified_cannot_be_asked_for(shared: bool) -> None:
    """A spec cannot forget to verify what it counts: there is no other way to a number."""
    launch = Launch("k", (1, 1, 1), (32, 1, 1), counted=Counters(float32_operations=3), estimated_ns=1.0)
    line = LineProfile(Line("lab.py", 1), "", Counters(), Counters())
    seen = Run(launches=(launch,), counted=Counters(float32_operations=3), lines=(line,))
    attempt = returning(seen)
    run = attempt.once("a vector", doubling).run if shared else attempt.simulate(doubling(attempt))
    assert attempt.unverified is None
    for name in ("counters", "counted", "lines"):
        with pytest.raises(Unverified, match="Take the run from `attempt.counted"):
            getattr(run, name)
    for name in ("counters", "counted", "estimated_ns"):
        with pytest.raises(Unverified, match="of `double`, whose results were not verified"):
            getattr(run.launches[0], name)
    assert run.launches[0].kernel == "k" and run.launches[0].measured_ns is None and attempt.unverified is not None
    attempt.expect_some_work(run, 3, "three are needed")
    with pytest.raises(CheckFailed, match="only 3 operations.*four are needed"):
        attempt.expect_some_work(run, 4, "four are needed")
    attempt.failure = CheckFailed("it is wrong")  # hints earn nothing, and may look
    assert attempt.simulate(doubling(attempt)).counters == Counters(float32_operations=3)
    assert attempt.trials[0].run is seen


def test_the_time_of_a_run_that_was_not_verified_cannot_be_asked_for() -> None:
    launch = Launch("k", (1, 1, 1), (32, 1, 1), measured_ns=7.0)
    attempt = returning(Run(launches=(launch,), source="measured", measured_ns=7.0))
    run = attempt.run(doubling(attempt))
    assert run.counted is None and run.lines == () and run.launches[0].counted is None
    for measured in (run, run.launches[0]):
        with pytest.raises(NotCounted):
            assert measured.counters
        with pytest.raises(Unverified, match="asks what was measured of `double`"):
            assert measured.measured_ns


def test_a_sample_whose_results_nobody_knows_earns_nothing_and_is_looked_at_by_somebody() -> None:
    def judged(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
        raise AssertionError("nothing of it is known")

    attempt = attempt_with()
    attempt.results = {"double": judged}
    with pytest.raises(CheckFailed, match="those of `double` were not, at this size"):
        attempt._verify_known(RunRequest("double", {}), Run(is_unverified=True))
    assert len(attempt.flags) == 1 and "results of this size were not looked at" in attempt.flags[0]


@pytest.mark.parametrize("is_unverified", [False, True])
def test_a_race_is_told_of_a_sample_only_where_its_results_can_be_judged(is_unverified: bool) -> None:
    """Blocks that go by a flag which no sampled block has set may meet where no GPU has them meet."""
    race = Hazard("race", "Two threads write c[3].", "Give each its own.", Line("lab.py", 4))
    attempt = attempt_with()
    attempt.results = {"double": lambda attempt, request, outputs: None}
    run = Run(hazards=(race,), is_unverified=is_unverified)
    if is_unverified:
        with pytest.raises(CheckFailed, match="Work counts where its results are verified"):
            attempt._verify_sampled(RunRequest("double", {}), run, None)
        assert len(attempt.flags) == 1
    else:
        with pytest.raises(CheckFailed, match="Two threads write"):
            attempt._verify_sampled(RunRequest("double", {}), run, None)


def test_what_is_far_better_than_the_best_known_answer_is_looked_at() -> None:
    attempt = attempt_with(speed=4.0)
    attempt.speedup(a_call, threshold=2, best_known=3.0)
    assert not attempt.flags
    attempt = attempt_with(speed=5.0)
    attempt.speedup(a_call, threshold=2, best_known=3.0)
    assert attempt.fraction == 1 and "where the best known answer has 3" in attempt.flags[0]


@pytest.mark.parametrize(
    ("asks", "options", "fails"),
    [
        ("copy_to_host", {}, False), ("copy_to_host", {"launches_only": True}, True),
        ("device_array", {"forbidden": ("copy_to_host",)}, False), ("copy_to_host", {"forbidden": ("copy_to_host",)}, True),
        ("NumPy's sum", {"forbidden": ("copy_to_host", HOST_WORK)}, True),
    ],
)  # fmt: skip
def test_what_the_host_does_where_it_is_timed_is_looked_at_there(asks: str, options: dict[str, Any], fails: bool) -> None:
    attempt = attempt_with()
    comparison = attempt._runner.compare([], 2)
    asked = (Transfer(asks, 4096, Line("lab.py", 7), is_host_work=asks == "NumPy's sum"),)
    attempt._runner.compare = lambda *_: type(comparison)(**{**vars(comparison), "transfers": asked})
    if fails:
        with pytest.raises(CheckFailed, match=r"lab.py, line 7: where it is timed .* \(4,096 bytes\)") as failure:
            attempt.speedup(a_call, threshold=2, **options)
        assert failure.value.earned == 0 and not attempt.measured
    else:
        attempt.speedup(a_call, threshold=2, **options)


def test_sizes_are_drawn_within_their_bounds_and_the_ends_belong_to_them() -> None:
    attempt = attempt_with()
    assert {attempt.drawn(96, 160, 32) for _ in range(60)} == {96, 128, 160}


@pytest.mark.parametrize("place", [(3, 4), (3, 9), (20, 4), (0, 0)])
def test_a_sampled_product_is_held_to_its_known_elements_and_no_others(place: tuple[int, int]) -> None:
    """A mask with gaps: rows 2 to 5 in columns 3 to 5, and row 20 in column 9; what is worked out is no more."""
    attempt = attempt_with()
    attempt.results = {"matmul": products.verify}
    request = products.product(attempt, "matmul", 24, 17, 12, real=True)
    c = request.arguments["a"] @ request.arguments["b"]
    known: np.ndarray = np.zeros(c.shape, bool)
    known[2:6, 3:6] = known[20, 9] = True
    attempt._verify_known(request, Run(outputs={"c": c}, written={"c": known}))
    c[place] += 1
    if known[place]:
        with pytest.raises(CheckFailed, match=rf"c\[{place[0]}, {place[1]}\]"):
            attempt._verify_known(request, Run(outputs={"c": c}, written={"c": known}))
    else:
        attempt._verify_known(request, Run(outputs={"c": c}, written={"c": known}))
