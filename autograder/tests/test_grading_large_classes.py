"""A class of any size: in memory is of each result what tables say, and pages come out the same however they are made."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import replace

import pytest

from autograder.errors import UsageError
from autograder.grading import class_pages
from autograder.grading.class_folder import prepared, read_class, write_reports
from autograder.grading.class_pages import stored
from autograder.grading.labs import load_lab
from autograder.records.files import report_name
from autograder.records.json_form import from_text, to_text, write_result
from autograder.records.stored import StoredResults, row_of, rows_of
from autograder.reports import class_page, gradebook, junit, misconceptions, terminal
from autograder.reports.misconceptions import examples_in
from autograder.tests import sample_results as samples


def a_class(out, size=9):
    """Results of every kind, on disk, as their rows and whole."""
    made = [make() for make in samples.KINDS]
    kinds = [each for each in made if from_text(to_text(each)) == each]  # a NaN is equal to nothing
    whole = [replace(kinds[at % len(kinds)], student=f"student {at}", lab_title="Lab 1", key=f"{at}") for at in range(size)]
    (out / "results").mkdir(parents=True, exist_ok=True)
    for each in whole:
        write_result(each, out / "results" / f"{report_name(each.student)}.json")
    shared: dict[object, object] = {}
    return whole, stored(out, [row_of(each, shared) for each in whole])


def test_tables_and_pages_of_rows_are_those_of_whole_results(tmp_path):
    whole, held = a_class(tmp_path, 2 * len(samples.KINDS))
    assert list(held) == whole and held == whole and held[1:3] == whole[1:3]
    for make in (gradebook.text, misconceptions.text, junit.text, terminal.render_class):
        assert make(held.rows) == make(whole)
    assert class_page.render(held.rows, "Lab 1", None, examples_in(held)) == class_page.render(whole, "Lab 1")
    assert "".join(class_page.pieces(whole, "Lab 1")) == class_page.render(whole, "Lab 1")
    told = replace(held.rows[0], name="Ada Lovelace", flags=("look",))
    assert held.whole(told) == replace(whole[0], name="Ada Lovelace", flags=("look",))


def test_a_folder_comes_out_the_same_from_memory_from_disk_and_from_several_processes(tmp_path, monkeypatch):
    found = []
    for name, in_memory, worth, jobs in (("memory", True, 10**6, 1), ("disk", False, 10**6, 1), ("processes", False, 2, 2)):
        out = tmp_path / name
        whole, held = a_class(out)
        monkeypatch.setattr(class_pages, "WORTH_A_PROCESS", worth)
        monkeypatch.setattr(class_pages, "AT_ONCE", 4)
        with prepared(out):
            students = [each.student for each in whole]
            write_reports(whole if in_memory else held, load_lab("lab01"), out, students, jobs=jobs)
        files = sorted(each for each in out.rglob("*") if each.is_file() and each.name != ".lock")
        found.append({each.relative_to(out).as_posix(): each.read_bytes() for each in files})
        assert read_class(out) == whole
    assert len(found[0]) == 9 + 9 + 6 and found[0] == found[1] == found[2]


def test_a_row_takes_a_third_of_its_result_or_less(tmp_path):
    _, held = a_class(tmp_path, 2 * len(samples.KINDS))

    def each_takes(kept):
        tracemalloc.start()
        made = [kept(each) for _ in range(10) for each in held]
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size / len(made)

    shared: dict[object, object] = {}
    assert each_takes(lambda each: row_of(each, shared)) < each_takes(lambda each: each) / 3


def test_a_result_that_has_gone_from_disk_is_one_line(tmp_path):
    _, held = a_class(tmp_path)
    (tmp_path / "results" / f"{report_name('student 3')}.json").unlink()
    with pytest.raises(UsageError, match="Student 3|student 3") as gone:
        held[3]
    assert "Grade the class again" in str(gone.value) and held[4].student == "student 4"


def test_results_in_memory_are_their_own_rows():
    results = [samples.race(), samples.all_passed()]
    assert rows_of(results) == results == StoredResults(results) and StoredResults.of(results)[0] is results[0]
    assert (StoredResults(results) == results[:1], StoredResults(results) == 3) == (False, False)


def test_the_command_line_leaves_cores_to_the_workers_before_numpy_counts_them():
    """BLAS reads its number of threads when NumPy is imported."""
    look = (
        "import os, sys; from autograder import cli; assert 'numpy' not in sys.modules; cli.with_few_threads(); "
        "print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert 1 <= int(done.stdout) <= 4
