"""What an estimate shows: words, the roofline with the kernel, bars; and registers where a compiler is installed."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.cudagpu import registers
from autograder.errors import UsageError
from autograder.figures import Pair, kernel_on_roofline, resource_bars, scatter
from autograder.figures.estimates import PicturedEstimate
from autograder.perfmodel import SPECIFICATIONS, Estimate, estimate, limiting
from autograder.perfmodel.prediction import duration
from autograder.profiling import kernel_function
from autograder.records.counters import Counters


@pytest.fixture
def small_product():
    from autograder.kernels import matmul_columns

    a = np.ones((32, 32), np.float32)
    return profile(matmul_columns)[(2, 2), (16, 16)](a, a, np.zeros_like(a))


def test_a_profile_s_estimate_reads_as_text(small_product) -> None:
    found = small_product.estimate("T4")
    assert isinstance(found, Estimate)
    text = str(found)
    assert text.startswith(f"NVIDIA T4: about {duration(found.ns)}; how far off is not known")
    assert found.interval_ns is None
    assert found.limits in text and found.advice in text and "assumed: " in text
    measured = small_product.estimate("H200")
    low, high = measured.interval_ns
    assert low < measured.ns < high
    assert f"about {duration(measured.ns)}; {duration(low)} to {duration(high)} in " in measured.headline
    assert str(measured).startswith(measured.headline)
    assert measured.headline.endswith(f"% of unseen kernels that {measured.binding} limits.")


def test_a_profile_s_estimate_shows_the_roofline_and_the_bars(small_product) -> None:
    page = small_product.estimate("A100")._repr_html_()
    assert page.count("<img alt=") == 2
    assert "matmul_columns" in page and "1,555 GB/s" in page


def test_a_profile_shows_its_source_and_folds_the_estimate_away(small_product) -> None:
    page = small_product._repr_html_()
    assert "total += a[row, k]" in page and page.count("<img alt=") == 2
    assert "<details><summary>NVIDIA H200: about" in page


def test_a_profile_in_a_terminal_and_as_data_says_how_sure_its_time_is(small_product) -> None:
    text = small_product.terminal_text()
    assert text.startswith(str(small_product)) and "of unseen kernels" in text
    told = small_product.to_dict()["estimate"]
    assert told["gpu"] == "NVIDIA H200" and told["interval_ns"][0] < told["ns"] < told["interval_ns"][1]
    assert told["limits"].startswith(told["binding"]) and told["breakdown_ns"][told["binding"]] > 0


def test_a_kernel_without_floating_point_has_no_place_on_the_roofline() -> None:
    found = estimate(Counters(launches=1, blocks=1, warps=1, threads=32), SPECIFICATIONS["T4"], threads_per_block=32)
    assert kernel_on_roofline(found) is None
    assert PicturedEstimate.of(found, "count")._repr_html_().count("<img alt=") == 1
    assert "launch overhead" in resource_bars(found).alt


def test_without_the_slowest_resource_the_next_one_sets_the_time() -> None:
    found = Estimate(ns=130.0, breakdown={"L1": 100.0, "issue": 20.0, "launch overhead": 30.0}, binding="L1",
                     occupancy=1.0, advice="")  # fmt: skip
    assert found.next_binding == "launch overhead"
    assert found.most_to_gain == pytest.approx(130 / 50)


@pytest.mark.parametrize(
    ("L1", "words"),
    [
        (110.0, "L1 and issue limit it alike: 110 ns and 100 ns on their own; without L1 at most 1.31 times faster."),
        (160.0, "L1 limits it: 160 ns on its own, 1.6 times issue; without L1 at most 1.69 times faster."),
        (99e3, "L1 limits it: 99.0 us on its own, over 99 times issue; without L1 over 99 times faster."),
    ],
)
def test_what_limits_a_kernel_is_told_with_what_comes_next(L1: float, words: str) -> None:
    breakdown = {"L1": L1, "issue": 100.0, "launch overhead": 30.0}
    found = Estimate(ns=L1 + 60, breakdown=breakdown, binding="L1", occupancy=1.0, advice="Touch fewer lines.")
    assert found.limits == f"{words} Touch fewer lines."


def test_what_limits_several_launches_is_what_binds_most_of_their_time() -> None:
    short, long = (Estimate(ns, {"L2": ns}, binding, 1.0, "") for ns, binding in ((10.0, "issue"), (25.0, "L2")))
    assert limiting([short, short, long]) == "L2" and limiting([short] * 3 + [long]) == "issue"
    assert limiting([]) == ""


@pytest.mark.parametrize(
    ("ns", "words"), [(3.2, "3.20 ns"), (51.4, "51.4 ns"), (3854, "3.85 us"), (110e6, "110 ms"), (2.5e9, "2.50 s")]
)
def test_times_are_told_in_three_digits(ns: float, words: str) -> None:
    assert duration(ns) == words


def test_a_scatter_plot_names_its_misses() -> None:
    figure = scatter([Pair("right", 1e3, 1.1e3, 1e2), Pair("wrong", 1e4, 2e4, 1e3)], title="Two")
    assert "2 cases" in figure.alt and "The furthest: wrong +100 %." in figure.alt
    assert "1  wrong: +100 %" in figure.svg and "within 30 % (1 of 2)" in figure.svg
    with pytest.raises(ValueError, match="positive"):
        scatter([Pair("none", 0.0, 1.0, 1.0)], title="")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((5, 7), np.float32),
        np.zeros((5, 7), np.float64, order="F"),
        np.zeros((6, 8), np.int32)[::2, ::2],
        np.zeros(9, np.int64),
        np.zeros((1, 1), np.float32),
    ],
)
def test_a_stand_in_has_the_type_of_what_it_stands_for(array: np.ndarray) -> None:
    import numba

    assert numba.typeof(registers.stand_in(array)) == numba.typeof(array)
    both = registers.stand_in((array, 3))
    assert isinstance(both, tuple) and both[1] == 3


def test_without_a_compiler_registers_are_a_guess_that_says_so(small_product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "assemblers", tuple)
    assert any("32 registers a thread: a guess" in each for each in small_product.estimate("H200").assumptions)


COMPILERS = pytest.mark.skipif(not registers.assemblers(), reason="no ptxas: NVIDIA's compiler is not installed")


@COMPILERS
@pytest.mark.parametrize(("capability", "used"), [((9, 0), 28), ((1, 3), None)])
def test_the_compiler_s_registers_are_those_that_an_h200_s_driver_told(capability, used) -> None:
    from autograder.kernels import matmul_columns

    function, a = kernel_function(matmul_columns), np.ones((2, 2), np.float32)
    with simulate() as cuda:
        found = registers.registers_per_thread(function, (a, a, a), capability)
        import sys

        assert sys.modules["numba.cuda"] is cuda
    if used and found is None:
        pytest.skip("numba-cuda makes no PTX here")
    assert found == used


def test_an_assembler_that_fails_gives_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "ptxas fatal: Used 99 registers, and then some")

    monkeypatch.setattr(subprocess, "run", refused)
    assert registers._assembled("ptxas", "", (9, 0), []) is None


def test_a_profile_without_a_launch_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match=r"needs a grid and a block. Write profile\(kernel\)\[grid, block\]"):
        profile(lambda x: None)(1)
