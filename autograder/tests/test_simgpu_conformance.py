"""Numba's own tests on the simulated GPU: the table is what the results say, and a few of the tests run here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from autograder.simgpu.conformance import run_numba_tests, table

RESULTS = table.read(run_numba_tests.RESULTS)
OURS = RESULTS["numba-cuda 0.30.4 on simulated_gpu"]
THEIRS = RESULTS["numba-cuda 0.30.4 on numba_simulator"]


def passed(results: dict[str, table.Module], suite: str) -> int:
    return sum(found.counts[0] for name, found in results.items() if name.startswith(suite))


def test_the_table_is_what_the_results_say():
    written = run_numba_tests.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert written == table.markdown(RESULTS)


def test_results_are_written_as_they_are_read(tmp_path: Path):
    table.save(tmp_path / "again.json", RESULTS)
    assert (tmp_path / "again.json").read_bytes() == run_numba_tests.RESULTS.read_bytes()


def test_of_a_module_s_rows_the_counts_and_what_fails_with_its_cause_are_kept():
    rows = [
        {"test": "T.one", "outcome": "passed", "seconds": 0.1},
        {"test": "T.two", "outcome": "failed", "seconds": 0.1, "message": "KernelFault: libdevice.x | is not there"},
        {"test": "T.three", "outcome": "failed", "seconds": 0.1, "message": "who knows"},
        {"test": "T.four", "outcome": "skipped", "seconds": 0.0},
    ]
    ours = table.reduced("cudapy.test_mine", rows, "simulated_gpu")
    assert (ours.counts, ours.skipped, ours.passed) == ((1, 2, 1), ["T.four"], [])
    assert [*ours.failed.values()] == [["T.two"], ["T.three"]] and ours.first.startswith("two: KernelFault")
    assert "libdevice" in str(ours.cause("T.two")) and ours.cause("T.three") == "other" and ours.cause("T.one") is None
    assert table.reduced("cudapy.test_mine", rows, "numba_simulator").passed == ["T.one"]
    whole = [{"test": "test_mine", "outcome": "failed", "seconds": 0, "message": "import: ImportError: no bfloat16"}]
    assert "bfloat16" in str(table.reduced("cudapy.test_mine", whole, "simulated_gpu").cause("T.any of them"))


def test_what_passes_under_numbas_simulator_and_not_here_is_listed():
    ours = table.Module((1, 1, 1), {"other": ["T.two"]}, skipped=["T.three"])
    theirs = table.Module((3, 0, 0), passed=["T.one", "T.two", "T.three"])
    page = table.markdown({"x on simulated_gpu": {"s.m": ours}, "x on numba_simulator": {"s.m": theirs}})
    assert "| x | s.m: two | other |" in page and "themselves everywhere else: `s.m: three`." in page
    assert "s.m: one" not in page


def test_more_of_cudapy_passes_than_under_numbas_simulator():
    assert passed(OURS, "cudapy") > passed(THEIRS, "cudapy")


def test_what_passes_in_cudapy_under_numbas_simulator_passes_here_but_tests_of_that_simulator():
    cudapy = {name: found.passed for name, found in THEIRS.items() if name.startswith("cudapy")}
    behind = {(name, test) for name, tests in cudapy.items() for test in tests if OURS[name].cause(test) is not None}
    assert behind == set()
    left_out = {test.split(".")[-1] for name, tests in cudapy.items() for test in tests if test in OURS[name].skipped}
    assert left_out == {
        "test_array_like_2d_view_transpose_simulator",
        "test_local_unsupported",
        "test_shared_unsupported",
        "test_external_stream_simulator_unavailable",
    }


def test_every_documented_example_passes_but_those_that_need_cpp():
    examples = {name: found for name, found in OURS.items() if name.startswith("doc_examples")}
    assert not any(found.skipped for found in examples.values())
    failed = {f"{name}: {test.split('.')[-1]}" for name, found in examples.items()
              for tests in found.failed.values() for test in tests}  # fmt: skip
    assert failed == {
        "doc_examples.test_ffi: test_ex_linking_cu",
        "doc_examples.test_ffi: test_ex_from_buffer",
        "doc_examples.test_ffi: test_ex_extra_includes",
    }


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda, for the tests in its wheel"
)
@pytest.mark.parametrize("module", ["doc_examples.test_vecadd", "doc_examples.test_reduction", "cudapy.test_slicing"])
def test_numbas_tests_pass_here_too(module):
    rows = run_numba_tests.run_module(f"numba.cuda.tests.{module}", "simulated_gpu", seconds=60)
    assert rows and {row["outcome"] for row in rows} == {"passed"}
