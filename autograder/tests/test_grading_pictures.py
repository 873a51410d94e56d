"""Checks carry pictures: of an estimate, of the elements that came out wrong, of the requests that cost too much."""

from __future__ import annotations

import re

import numpy as np

from autograder.errors import Line
from autograder.grading import CheckFailed, check, pictures
from autograder.grading.attempt import Attempt
from autograder.grading.grade import check_submission
from autograder.grading.labs import labs_root, load_lab
from autograder.grading.trials import Trial
from autograder.records.counters import Counters, LineProfile
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.reports import html, terminal
from autograder.reports.withheld import for_students
from autograder.tests.grading_fakes import FakeWorker, lab_with

SOLUTIONS = labs_root().parent / "solutions"


def graded(worker, lab_name, file, **options):
    lab = load_lab(lab_name)
    return check_submission(lab, SOLUTIONS / lab.name / file, worker=worker, **options)


def check_called(result, name):
    return next(each for each in result.checks if each.name == name)


def test_an_estimated_speed_is_shown_as_bars_and_on_the_roofline(simulated):
    result = graded(simulated, "lab01", "lab.ipynb")
    speeds = [each for each in result.checks if each.source == "simulated"]
    assert [each.name for each in speeds] == ["faster_than_the_baseline", "faster_at_other_sizes_too"]
    for speed in speeds:
        bars, roof = speed.pictures
        assert "each resource" in bars.alt and re.search(r"\d (ms|us)", bars.alt)
        assert "matmul_kernel" in roof.alt and "FLOP" in roof.alt
        assert all(picture.svg.startswith("<svg") for picture in speed.pictures)


# ---- wrong elements ----------------------------------------------------------------------------------


@check(points=1)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform((40, 6)), out=Uninitialised((40, 6), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])


@check(points=1)
def writes_all(attempt):
    """It writes everything."""
    run = attempt.run("double", a=attempt.uniform((40, 6)), out=Uninitialised((40, 6), np.float32))
    attempt.expect_every_element_written(run, "out")


def leaves_the_last_rows(a, out):
    out[:32] = 2 * a[:32]
    out[:32, 5] = 0


def test_the_wrong_elements_of_an_output_are_mapped():
    result = check_submission(lab_with(doubles, writes_all), "ann.py", worker=FakeWorker(leaves_the_last_rows))
    wrong, unwritten = (each.pictures for each in result.checks)
    assert [each.alt for each in wrong] == ["out, 40 x 6 elements: 32 wrong, 48 never written, 160 right."]
    assert [each.alt for each in unwritten] == [
        "out, 40 x 6 elements: 48 never written, 192 right. All that is not right lies in rows 32 to 39 and columns 0 to 5."
    ]
    assert wrong[0].alt in html.render(result) and wrong[0].alt in html.fragment(result)
    assert "32 wrong, 48 never written" in " ".join(terminal.render(result).split())


def test_no_map_is_drawn_where_every_element_is_wrong():
    def copies(a, out):
        out[:] = a

    result = check_submission(lab_with(doubles), "ann.py", worker=FakeWorker(copies))
    assert result.checks[0].outcome == "failed" and not result.checks[0].pictures


def test_what_goes_wrong_with_a_picture_is_flagged_and_touches_no_verdict(monkeypatch):
    def broken(attempt):
        raise ZeroDivisionError("no ink")

    monkeypatch.setattr(pictures, "failure_pictures", broken)
    result = check_submission(lab_with(doubles), "ann.py", worker=FakeWorker(leaves_the_last_rows))
    assert result.checks[0].outcome == "failed" and result.checks[0].mismatches
    assert "pictures of doubles: ZeroDivisionError: no ink" in result.flags[0]


def test_under_a_secret_seed_a_student_sees_no_picture_of_the_data():
    worker = FakeWorker(leaves_the_last_rows)
    result = check_submission(lab_with(doubles), "ann.py", worker=worker, seed="eight characters")
    assert result.checks[0].pictures
    page = html.render(for_students(result))
    assert "<figure>" in html.render(result) and "<figure>" not in page and "never written" not in page


# ---- requests ----------------------------------------------------------------------------------------


def test_the_sectors_of_the_offending_line_are_drawn(simulated):
    result = graded(simulated, "lab01", "wrong/column_by_column.py")
    failed = check_called(result, "walks_along_the_rows_of_b")
    (picture,) = failed.pictures  # the load from b is no worse than it has to be
    assert "loads from a: 32 sectors for 32 lanes" in picture.alt
    assert picture.alt.endswith("Source line: total += a[row, i] * b[i, col]")
    assert not result.flags


def test_the_line_that_a_failure_is_about_is_drawn_although_another_wastes_more():
    little, much = (
        LineProfile(Line("lab.py", number), "", Counters(global_load_sectors=8 * number), Counters()) for number in (1, 2)
    )
    attempt = Attempt("any", FakeWorker(leaves_the_last_rows), np.random.default_rng(0))
    attempt.measured["sectors_per_load_request"] = 9.0
    waste = pictures._wasted(attempt)
    assert waste is not None
    for said, drawn in ((None, much), (little.line, little), (Line("lab.py", 3), much)):
        attempt.failure = CheckFailed(f"{little.line}: and {much.line}: are named.", line=said)
        attempt.trials[:] = [Trial(RunRequest("double", {}), Run(lines=(little, much)))]
        found = pictures._offending_line(attempt, waste)
        assert found is not None and found[1] is drawn


def test_the_bank_conflicts_of_the_offending_line_are_drawn(simulated):
    result = graded(simulated, "lab02", "wrong/tile_b_transposed.py")
    (picture,) = check_called(result, "meets_no_bank_conflicts").pictures
    assert "reads tile_b: 8 wavefronts" in picture.alt and "tile_b[x, i]" in picture.alt


def test_stores_are_drawn_where_the_check_is_about_stores(simulated):
    result = graded(simulated, "lab03", "wrong/no_tile.py")
    (picture,) = check_called(result, "stores_whole_sectors").pictures
    assert "stores to b: 32 sectors for 32 lanes" in picture.alt
