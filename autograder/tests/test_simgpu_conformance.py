"""Numba's own tests on the simulated GPU: the table is what the results say, and a few of the tests run here."""

from __future__ import annotations

import importlib.util
import json

import pytest

from autograder.simgpu.conformance import run_numba_tests, table

RESULTS = json.loads(run_numba_tests.RESULTS.read_text(encoding="utf-8"))
OURS = RESULTS["numba-cuda 0.30.4 on simulated_gpu"]
THEIRS = RESULTS["numba-cuda 0.30.4 on numba_simulator"]


def passed(results: dict, suite: str) -> int:
    rows = [row for module, found in results.items() if module.startswith(suite) for row in found]
    return sum(row["outcome"] == "passed" for row in rows)


def test_the_table_is_what_the_results_say():
    public = (run_numba_tests.HERE / "public_programs.md").read_text(encoding="utf-8")
    written = run_numba_tests.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert written == table.markdown(RESULTS, public)


def test_more_of_cudapy_passes_than_under_numbas_simulator():
    assert passed(OURS, "cudapy") > passed(THEIRS, "cudapy")


def test_what_passes_in_cudapy_under_numbas_simulator_passes_here_but_tests_of_that_simulator():
    ours = {(m, row["test"]): row["outcome"] for m, rows in OURS.items() for row in rows}
    theirs = [(m, row["test"]) for m, rows in THEIRS.items() for row in rows if row["outcome"] == "passed"]
    behind = {test for test in theirs if test[0].startswith("cudapy") and ours.get(test) != "passed"}
    assert {name.split(".")[-1] for _, name in behind} == {
        "test_array_like_2d_view_transpose_simulator",
        "test_local_unsupported",
        "test_shared_unsupported",
        "test_external_stream_simulator_unavailable",
    }
    assert {ours[test] for test in behind} == {"skipped"}


def test_every_documented_example_passes_but_those_that_need_cpp():
    failed = {
        f"{module}: {row['test'].split('.')[-1]}"
        for module, rows in OURS.items()
        if module.startswith("doc_examples")
        for row in rows
        if row["outcome"] != "passed"
    }
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
