"""When the timing protocol stops, what interval it gives and what it flags: no GPU needed."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.cudagpu import timing
from autograder.cudagpu.timing import Interval, Round, bootstrap_interval, is_settled


def test_a_round_s_ratio_is_free_of_linear_drift() -> None:
    steady = Round((100.0, 100.0), (50.0, 50.0))
    drifting = Round((100.0, 103.0), (50.5, 51.0))
    assert steady.ratio == 2.0
    assert drifting.ratio == pytest.approx(2.0)


def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        interval = bootstrap_interval((2.5 * np.exp(rng.normal(0, 0.03, 20))).tolist(), rng)
        assert interval.low <= interval.ratio <= interval.high
        held += interval.low <= 2.5 <= interval.high
    assert 175 <= held <= 199  # 95 % of 200 is 190; a percentile bootstrap of 20 medians comes close


def test_equal_ratios_leave_no_width() -> None:
    assert bootstrap_interval([2.0] * 8, np.random.default_rng(0)) == Interval(2.0, 2.0, 2.0)


@pytest.mark.parametrize("ratios", [[], [1.0, 0.0], [1.0, -2.0], [1.0, float("nan")], [float("inf")]])
def test_times_that_cannot_be_are_refused(ratios: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        bootstrap_interval(ratios, np.random.default_rng(0))


NARROW, WIDE = Interval(2.0, 1.99, 2.01), Interval(2.0, 1.7, 2.3)


@pytest.mark.parametrize(
    ("interval", "rounds", "threshold", "settled"),
    [
        (NARROW, 7, None, False),  # too few rounds to trust any interval
        (NARROW, 8, None, True),
        (WIDE, 8, None, False),
        (WIDE, 8, 1.5, True),  # wide, but wholly above
        (WIDE, 8, 2.4, True),  # wholly below
        (WIDE, 39, 2.0, False),  # straddles
        (WIDE, 40, 2.0, True),  # the cap
        (NARROW, 8, 2.0, False),  # narrow, but straddles
        (Interval(2.0, 2.0, 2.1), 8, 2.0, True),  # the lower end just clears it
    ],
)
def test_measuring_stops_when_more_rounds_would_change_nothing(
    interval: Interval, rounds: int, threshold: float | None, settled: bool
) -> None:
    assert is_settled(interval, rounds, threshold) is settled


@pytest.mark.parametrize(
    ("events_ns", "wall_ns", "disagree"),
    [(1e6, 1.5e6, False), (1e6, 9e6, True), (1e9, 1.05e9, False), (1e9, 1.3e9, True), (1e9, 1e6, True)],
)
def test_two_clocks_must_tell_one_story(events_ns: float, wall_ns: float, disagree: bool) -> None:
    assert timing.clocks_disagree(events_ns, wall_ns) is disagree


def test_flags_name_what_to_look_at() -> None:
    clear = timing.flags(NARROW, 1.5, fastest_ns=100.0, floor_ns=50.0, disagreements=0, throttled=False)
    assert clear == ()
    everything = timing.flags(WIDE, 2.0, fastest_ns=10.0, floor_ns=50.0, disagreements=1, throttled=True)
    assert everything == ("ambiguous", "faster than the roofline floor", "clocks disagree", "throttled")


def test_the_floor_is_reading_the_inputs_once() -> None:
    assert timing.floor_ns(4800.0, 4800.0) == 1.0
    assert timing.floor_ns(4800.0, 0.0) == 0.0
