"""A class: nothing handed in is passed over, one bad submission harms no other, and an interrupted run goes on."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from autograder.errors import GraderFault, UsageError
from autograder.grading import batch as batch_module
from autograder.grading import check, class_folder, class_pages
from autograder.grading.batch import ClassBatch
from autograder.grading.class_folder import prepared, read_class
from autograder.grading.class_grading import grade_class
from autograder.grading.identity import result_key
from autograder.grading.submissions import find_submissions
from autograder.language.source import MOST_BYTES
from autograder.records.files import former_report_names, report_name
from autograder.records.json_form import from_text
from autograder.records.runs import Uninitialised
from autograder.reports import class_page, gradebook, handing_back
from autograder.reports.handing_back import Wanted, hand_back
from autograder.tests.grading_fakes import FakeWorker, lab_with


@check(points=2)
def doubles(attempt):
    """It doubles."""
    run = attempt.run("double", a=attempt.uniform(4), out=Uninitialised((4,), np.float32))
    attempt.expect_close(run.outputs["out"], 2.0 * run.outputs["a"])


class ClassWorker(FakeWorker):
    """Doubles where the submission's text says "right"; counts what it read."""

    reads: list[str] = []
    broken = False

    def __init__(self, device="auto", limits=None):
        super().__init__(lambda a, out: None)

    def start(self):
        pass

    def close(self):
        pass

    retire = close

    def read(self, submission, *_):
        text = submission.read_text()
        self.reads.append(text)
        factor = 2 if "right" in text else 3
        self.function = lambda a, out: np.multiply(a, factor, out=out)
        if "fault" in text and not ClassWorker.broken:
            raise GraderFault("The worker ended.")
        return self.summary


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_module, "Worker", ClassWorker)
    monkeypatch.setattr(ClassWorker, "reads", [])
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    return lab_with(doubles, folder=tmp_path / "lab")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("ann", "bob", "cem"):
        (folder / f"{name}.py").write_text(f"right {name}")
    return folder


# ---- finding ---------------------------------------------------------------------------------------


def entries(folder):
    return {entry.student: (entry.shown_as, entry.problem) for entry in find_submissions(folder)}


def test_a_folder_of_files_and_folders_gives_one_entry_a_student(folder):
    for name in ("dan", "eve"):
        (folder / name).mkdir()
    (folder / "dan" / "Homework 1.ipynb").write_text("{}")
    (folder / "eve" / "lab.ipynb").write_text("{}")
    (folder / "eve" / "old.py").write_text("x")
    for junk in (".DS_Store", "Thumbs.db"):
        (folder / junk).write_text("x")
    (folder / ".ipynb_checkpoints").mkdir()
    assert entries(folder) == {
        "ann": ("ann.py", ""),
        "bob": ("bob.py", ""),
        "cem": ("cem.py", ""),
        "dan": ("dan/Homework 1.ipynb", ""),
        "eve": ("eve/lab.ipynb", ""),
    }


def test_one_file_under_two_names_is_graded_and_flagged_for_the_instructor(lab, folder, tmp_path):
    if not hasattr(os, "link"):
        pytest.skip("no hard links here")
    os.link(folder / "ann.py", folder / "mallory.py")
    os.link(folder / "cem.py", tmp_path / "a backup of cem's")  # nobody's in this class
    results = {each.student: each for each in grade_class(lab, folder, tmp_path / "out")}
    assert {name for name, each in results.items() if each.flags} == {"ann", "mallory"}
    assert results["mallory"].flags == ("mallory.py is the very same file as that of ann (a hard link).",)
    assert {each.outcome for each in results.values()} == {"passed"}
    again = grade_class(lab, folder, tmp_path / "out")
    assert again == list(results.values())  # taken over, flags and all
    (folder / "mallory.py").unlink()
    left = {each.student: each for each in grade_class(lab, folder, tmp_path / "out")}
    assert "mallory" not in left and not left["ann"].flags  # nobody has her file any more


def test_everything_that_cannot_be_graded_is_an_entry_with_its_reason(folder, tmp_path):
    if sys.platform == "win32":
        pytest.skip("links and pipes of POSIX")
    outside = tmp_path / "secret.py"
    outside.write_text("x")
    (folder / "link.py").symlink_to(outside)
    (folder / "link_within.py").symlink_to(folder / "ann.py")
    (folder / "broken_link.py").symlink_to(tmp_path / "nowhere")
    (folder / "loop.py").symlink_to(folder / "loop.py")
    (folder / "linked_folder").symlink_to(tmp_path)
    (folder / "folder.ipynb").mkdir()
    (folder / "empty.py").write_text("")
    (folder / "essay.pdf").write_text("x")
    (folder / "nothing").mkdir()
    (folder / "many").mkdir()
    for name in ("a.py", "b.py"):
        (folder / "many" / name).write_text("x")
    (folder / "ann.ipynb").write_text("{}")
    os.mkfifo(folder / "pipe.py")
    found = entries(folder)
    link = "is a link, not a file: hand in the file itself."
    assert {name: problem for name, (_, problem) in found.items() if problem} == {
        "link": f"link.py {link}",
        "link_within": f"link_within.py {link}",
        "broken_link": f"broken_link.py {link}",
        "loop": f"loop.py {link}",
        "linked_folder": f"linked_folder {link}",
        "folder": "folder.ipynb is a folder, not a file.",
        "empty": "empty.py is empty.",
        "essay.pdf": "essay.pdf is neither a notebook (.ipynb) nor a Python file (.py).",
        "nothing": "One notebook or .py file is expected in the folder nothing; it holds none.",
        "many": "One notebook or .py file is expected in the folder many; "
        "it holds 2 (a.py, b.py) and none is called lab.ipynb.",
        "ann": "Handed in more than once (ann.ipynb, ann.py): keep one.",
        "pipe": "pipe.py is not an ordinary file.",
    }
    assert len(found) == 14  # and bob, cem


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_an_entry(folder):
    (folder / "ann.py").chmod(0)
    assert "ann.py cannot be read: Permission denied." in entries(folder)["ann"][1]


def test_a_folder_that_is_none_or_empty_is_bad_usage(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "no", "no folder"),
        (folder / "ann.py", "is not a folder"),
        (tmp_path / "empty", "no sub"),
    ):
        with pytest.raises(UsageError, match=message):
            find_submissions(path)


def test_a_submission_is_found_further_down_and_whatever_the_case_of_its_ending(folder):
    for path in ("dan/lab01/LAB.IPYNB", "dan/__MACOSX/._lab.ipynb", "eve/a/b/answer.Py"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("{}")
    (folder / "FAY.PY").write_text("x")
    (folder / "gus").mkdir()
    for number in range(9):
        (folder / "gus" / f"s{number}").mkdir()
        (folder / "gus" / f"s{number}" / "x.py").write_text("x")
    (folder / "gus" / "to_all").symlink_to(folder)
    found = entries(folder)
    assert found["dan"] == ("dan/lab01/LAB.IPYNB", "") and found["eve"] == ("eve/a/b/answer.Py", "")
    assert found["FAY"] == ("FAY.PY", "")
    assert "it holds 9 (x.py, x.py, x.py, x.py, x.py, x.py and 3 more)" in found["gus"][1]


def test_of_several_files_called_lab_somebody_is_asked_to_keep_one(folder):
    for path in (
        "dan/lab.py",
        "dan/lab (1).py",
        "eve/lab.ipynb",
        "eve/Lab.py",
        "fay/lab-2.py",
        "fay/old.py",
        "gus/lab (1).py",
    ):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("x")
    found = {each.student: each for each in find_submissions(folder)}
    asked = "One notebook or .py file is expected in the folder {}; it holds 2 ({}) that are called lab: keep one."
    assert found["dan"].problem == asked.format("dan", "lab (1).py, lab.py")
    assert found["eve"].problem == asked.format("eve", "Lab.py, lab.ipynb")
    assert (found["fay"].shown_as, found["fay"].note) == ("fay/lab-2.py", "Passed over: old.py.")
    assert (found["gus"].shown_as, found["gus"].note, found["gus"].problem) == ("gus/lab (1).py", "", "")


# ---- grading ---------------------------------------------------------------------------------------


def test_a_class_becomes_results_reports_gradebook_and_index(lab, folder, tmp_path):
    (folder / "bob.py").write_text("wrong")
    (folder / "empty.py").write_text("")
    results = grade_class(lab, folder, tmp_path / "out", jobs=2)
    assert [(each.student, each.points) for each in results] == [("ann", 2), ("bob", 0), ("cem", 2), ("empty", 0)]
    assert results[3].error == "empty.py is empty." and results[3].outcome == "failed"
    out = tmp_path / "out"
    assert sorted(path.name for path in (out / "results").iterdir()) == [
        "ann.json",
        "bob.json",
        "cem.json",
        "empty.json",
    ]
    assert sorted(path.name for path in (out / "reports").iterdir()) == [
        "ann.html",
        "bob.html",
        "cem.html",
        "empty.html",
    ]
    rows = (out / "gradebook.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(rows) == 5 and "ann" in rows[1] and (out / "index.html").stat().st_size > 0
    assert from_text((out / "results" / "ann.json").read_text()) == results[0]


def files_in(out):
    return sorted(
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file() and path.name != ".lock"
    )


def test_nothing_is_left_to_hand_back_of_who_is_gone_and_nothing_of_others_is_touched(lab, folder, tmp_path):
    out = tmp_path / "out"
    hand_back(grade_class(lab, folder, out), out, Wanted(gradescope=True))
    fresh = files_in(out)
    assert "gradescope/cem/results.json" in fresh
    (folder / "dan.py").write_text("right")
    (folder / "submission_12").mkdir()
    (folder / "submission_12" / "lab.py").write_text("right")
    hand_back(grade_class(lab, folder, out), out, Wanted(gradescope=True))
    assert len(files_in(out)) == len(fresh) + 6
    (out / "results" / "eve.json").write_text((out / "results" / "dan.json").read_text().replace('"dan"', '"eve"'))
    others = (
        "reports/mine.html",
        "results/mine.json",
        "gradescope/mine/results.json",
        "gradescope/dan/mine.txt",
        "dan.txt",
    )
    for name in others:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("{}")
    (folder / "dan.py").unlink()
    shutil.rmtree(folder / "submission_12")
    hand_back(grade_class(lab, folder, out), out, Wanted(gradescope=True))
    assert files_in(out) == sorted([*fresh, *others])
    assert not (out / "gradescope" / "submission_12").exists()


def test_a_submission_of_gradescope_that_another_one_replaced_is_not_handed_back(lab, tmp_path):
    out, export = tmp_path / "out", tmp_path / "export"
    for number in (11, 12):
        shutil.rmtree(export, ignore_errors=True)
        (export / f"submission_{number}").mkdir(parents=True)
        (export / f"submission_{number}" / "lab.py").write_text("right")
        metadata = f"---\nsubmission_{number}:\n  :submitters:\n  - :name: Ann\n    :sid: '7'\n"
        (export / "submission_metadata.yml").write_text(metadata)
        hand_back(grade_class(lab, export, out), out, Wanted(gradescope=True))
    assert [path.name for path in (out / "gradescope").iterdir()] == ["submission_12"]


def test_only_takes_away_nothing_of_the_rest_of_the_class(lab, folder, tmp_path):
    out = tmp_path / "out"
    grade_class(lab, folder, out)
    (out / "results" / "cem.json").write_text("damaged")
    before = files_in(out)
    (folder / "bob.py").write_text("wrong")
    grade_class(lab, folder, out, only=["ann"])
    assert files_in(out) == before and (out / "results" / "cem.json").read_text() == "damaged"


def test_a_second_run_takes_over_what_has_not_changed(lab, folder, tmp_path):
    first = grade_class(lab, folder, tmp_path / "out")
    gradebook = (tmp_path / "out" / "gradebook.csv").read_bytes()
    ClassWorker.reads.clear()
    second = grade_class(lab, folder, tmp_path / "out")
    assert second == first and ClassWorker.reads == []
    assert (tmp_path / "out" / "gradebook.csv").read_bytes() == gradebook
    (folder / "bob.py").write_text("right, and changed")
    grade_class(lab, folder, tmp_path / "out")
    assert ClassWorker.reads == ["right, and changed"]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 99}', "\0\0"])
def test_a_damaged_result_is_graded_again(lab, folder, tmp_path, damage):
    first = grade_class(lab, folder, tmp_path / "out")
    (tmp_path / "out" / "results" / "bob.json").write_text(damage)
    ClassWorker.reads.clear()
    second = grade_class(lab, folder, tmp_path / "out")
    assert ClassWorker.reads == ["right bob"] and [each.points for each in second] == [each.points for each in first]


def test_another_seed_spec_or_device_grades_again(lab, folder, tmp_path):
    grade_class(lab, folder, tmp_path / "out")
    ClassWorker.reads.clear()
    grade_class(lab, folder, tmp_path / "out", seed="secret")
    assert len(ClassWorker.reads) == 3
    (lab.folder / "spec.py").write_text("changed")
    grade_class(lab, folder, tmp_path / "out", seed="secret")
    assert len(ClassWorker.reads) == 6


def test_a_fault_of_ours_costs_one_row_and_is_tried_again(lab, folder, tmp_path, monkeypatch):
    (folder / "bob.py").write_text("right, but a fault")
    results = grade_class(lab, folder, tmp_path / "out")
    assert [each.outcome for each in results] == ["passed", "not run", "passed"]
    assert results[1].checks[0].fault and "The worker ended." in results[1].flags[0]
    monkeypatch.setattr(ClassWorker, "broken", True)  # mended
    ClassWorker.reads.clear()
    assert [each.outcome for each in grade_class(lab, folder, tmp_path / "out")] == ["passed"] * 3
    assert ClassWorker.reads == ["right, but a fault"]


def test_an_interrupted_run_goes_on_where_it_stopped(lab, folder, tmp_path, monkeypatch):
    for number in range(20):
        (folder / f"student{number:02}.py").write_text(f"right {number}")
    read, count = ClassWorker.read, threading.Semaphore(7)

    def interrupted(self, submission, *rest):
        if not count.acquire(blocking=False):
            raise KeyboardInterrupt
        return read(self, submission, *rest)

    monkeypatch.setattr(ClassWorker, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grade_class(lab, folder, tmp_path / "out", jobs=2)
    kept = {path.stem for path in (tmp_path / "out" / "results").glob("*.json")}
    assert len(kept) >= 5 and not list((tmp_path / "out" / "results").glob("*.tmp"))
    monkeypatch.setattr(ClassWorker, "read", read)
    ClassWorker.reads.clear()
    results = grade_class(lab, folder, tmp_path / "out", jobs=2)
    assert len(results) == 23 and {each.outcome for each in results} == {"passed"}
    assert len(ClassWorker.reads) == 23 - len(kept)


def test_what_a_kill_left_half_written_is_removed_and_nobody_else_s_file_is(lab, folder, tmp_path):
    out = tmp_path / "out"
    left = [out / each / ".k2_x9qab.tmp" for each in (".", "results", "reports", "gradescope/ann")]
    for path in (*left, out / "notes.tmp", out / "reports" / ".Mine.tmp"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    grade_class(lab, folder, out, jobs=1)
    assert not any(each.exists() for each in left)
    assert (out / "notes.tmp").exists() and (out / "reports" / ".Mine.tmp").exists()


def test_a_file_of_a_terabyte_costs_its_own_row_and_no_time(tmp_path):
    (tmp_path / "lab").mkdir()
    lab, huge = lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "huge.py"
    keys = set()
    for size in (1 << 40, (1 << 40) + 1, MOST_BYTES + 2):
        with open(huge, "wb") as file:
            file.truncate(size)
        keys.add(result_key(lab, huge, "public", "device"))
    assert len(keys) == 3


def test_two_runs_never_grade_into_one_folder(lab, folder, tmp_path):
    with prepared(tmp_path / "out"), pytest.raises(UsageError, match="Another run is grading into .*Wait for it"):
        grade_class(lab, folder, tmp_path / "out")
    assert len(grade_class(lab, folder, tmp_path / "out")) == 3


@pytest.mark.parametrize("place", ["file", "file/out", "file/out/deeper"])
def test_a_file_where_the_reports_are_to_go_is_bad_usage(lab, folder, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="file is a file, not a folder. Name another one with --out."):
        grade_class(lab, folder, tmp_path / place)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("files", [("ann.py",), ("ann_1_101_lab.py",), ("folder/ann_1_101_lab.py",), ("ann/lab.py",)])
def test_results_in_the_class_s_own_folder_are_nobody_s_submission(lab, tmp_path, files):
    for name in files:
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_text("right")
    students = [
        [each.student for each in grade_class(lab, tmp_path / "in", tmp_path / "in" / "GRADES")] for _ in range(2)
    ]
    assert students[0] == students[1] and len(students[0]) == 1


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("class", "class is the class's own folder. Name another one with --out."),
        ("class/../class", "is the class's own folder"),
        ("class/dan", "dan holds what was handed in: deep/lab.py. Name another folder with --out."),
    ],
)
def test_results_never_go_where_submissions_lie(lab, folder, tmp_path, out, message):
    (folder / "dan" / "deep").mkdir(parents=True)
    (folder / "dan" / "deep" / "lab.py").write_text("right")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as problem:
        grade_class(lab, folder, tmp_path / out)
    assert message in str(problem.value) and sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("file", ["results/bob.json", "reports/bob.html", "gradebook.csv", "index.html"])
def test_a_full_disk_is_one_line_and_what_was_graded_stays(lab, folder, tmp_path, monkeypatch, file):
    replace = os.replace

    def full(source, target):
        if os.fspath(target).endswith(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GraderFault, match=f"{file} cannot be written: No space left on device. Mend that"):
        grade_class(lab, folder, tmp_path / "out", jobs=1)
    assert (tmp_path / "out" / "results" / "ann.json").is_file() and not list(tmp_path.rglob(".*.tmp"))
    monkeypatch.setattr(os, "replace", replace)
    ClassWorker.reads.clear()
    assert len(grade_class(lab, folder, tmp_path / "out", jobs=1)) == 3 and "right ann" not in ClassWorker.reads


def test_a_student_of_any_name_gets_files_of_their_own(lab, folder, tmp_path):
    names = ["Ann", "ANN", "con", "größe", "a b", "x" * 120]
    for name in names:
        (folder / f"{name}.py").write_text(f"right {name}")
    results = grade_class(lab, folder, tmp_path / "out")
    assert len(list((tmp_path / "out" / "results").glob("*.json"))) == len(results) == 9


TWINS = ("Ann%);(B", "Ann[=++B")  # an older version called both ann-b-4e37af4d


def test_two_students_never_share_a_result_file_whatever_their_names(lab, folder, tmp_path):
    for name, text in zip(TWINS, ("right", "wrong"), strict=True):
        (folder / f"{name}.py").write_text(text)
    out = tmp_path / "out"
    results = list(grade_class(lab, folder, out))  # all of them: files go
    assert {each.student: each.points for each in results if each.student in TWINS} == dict(
        zip(TWINS, (2, 0), strict=True)
    )
    assert read_class(out) == results and len(list((out / "reports").iterdir())) == 5
    for gone in (TWINS[0], "bob"):  # with other students in the class everybody keeps the files of before
        (folder / f"{gone}.py").unlink()
    ClassWorker.reads.clear()
    assert grade_class(lab, folder, out) == [each for each in results if each.student not in (TWINS[0], "bob")]
    assert ClassWorker.reads == [] and len(list((out / "results").iterdir())) == 3


@pytest.fixture(params=[0, 1], ids=["hashes of 16", "hashes of 8"])
def older_run(lab, folder, tmp_path, monkeypatch, request):
    """A class with its results under the names that an older version gave, and the names of today."""

    def as_before(name):
        return name if re.fullmatch("[a-z]+", name) else former_report_names(name)[request.param]

    (folder / "Émile Borel.py").write_text("right Émile")
    (folder / "Ann%);(B.py").write_text("wrong")
    out = tmp_path / "out"
    with monkeypatch.context() as then:
        for module in (batch_module, class_folder, class_pages, class_page, gradebook, handing_back):
            then.setattr(module, "report_name", as_before)
        then.setattr("autograder.grading.class_folder._rename_former", lambda out: None)
        hand_back(grade_class(lab, folder, out), out, Wanted(gradescope=True))
    ann, emile = (out / "results" / "ann-b-4e37af4d.json"), f"mile-borel-0b136d6d{'c08d73ef' * (request.param == 0)}"
    assert request.param == 0 or ann.exists()
    assert emile in (out / "index.html").read_text() and emile in (out / "class.json").read_text()
    assert (out / "reports" / f"{emile}.html").exists()
    ClassWorker.reads.clear()
    return out


def of_today(out):
    """Whether results have the names of today, and nothing at all those of before."""
    students = ("Émile Borel", "Ann%);(B")
    stems = {report_name(name) for name in students} | {"ann", "bob", "cem"}
    before = {each for name in students for each in former_report_names(name)}
    former = [each for each in out.rglob("*") if each.stem in before]
    return stems == {path.stem for path in (out / "results").iterdir()} and not former


def test_what_an_older_version_wrote_is_renamed_and_taken_over(lab, folder, tmp_path, older_run):
    (older_run / "gradescope" / "mine").mkdir()
    again = grade_class(lab, folder, older_run)
    assert ClassWorker.reads == [] and of_today(older_run) and read_class(older_run) == again and len(again) == 5
    assert len(list((older_run / "reports").iterdir())) == 5 and len(list((older_run / "gradescope").iterdir())) == 6


def test_only_one_graded_anew_leaves_all_of_an_older_run_in_the_gradebook(lab, folder, tmp_path, older_run):
    assert len(grade_class(lab, folder, older_run, only=["bob"], regrade=True)) == 5
    assert ClassWorker.reads == ["right bob"] and of_today(older_run)
    assert "Émile Borel" in (older_run / "gradebook.csv").read_text(encoding="utf-8-sig")


def test_a_folder_of_an_older_version_is_exported_from_as_it_is(lab, folder, tmp_path, older_run):
    assert {each.student for each in read_class(older_run)} == {"ann", "bob", "cem", "Émile Borel", "Ann%);(B"}
    assert of_today(older_run)
    page = (older_run / "index.html").read_text()
    links = set(re.findall(r'href="(reports/[^"]+)"', page))
    assert links == {f"reports/{quote(path.name)}" for path in (older_run / "reports").iterdir()} and len(links) == 5
    assert "reports/%C3%89mile%20Borel.html" in links


def test_an_older_folder_that_was_left_half_renamed_is_gone_on_with(lab, folder, tmp_path, older_run, monkeypatch):
    rename, count = Path.rename, iter(range(3))

    def killed(self, target):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        grade_class(lab, folder, older_run)
    monkeypatch.setattr(Path, "rename", rename)
    assert len(read_class(older_run)) == 5 and of_today(older_run)


def test_a_worker_that_cannot_start_stops_the_run_before_it_begins(lab, folder, tmp_path, monkeypatch):
    def no_driver(self, *rest):
        raise GraderFault("There is no driver.")

    monkeypatch.setattr(ClassWorker, "__init__", no_driver)
    with pytest.raises(GraderFault, match="no driver"):
        grade_class(lab, folder, tmp_path / "out")


def test_workers_are_renewed_now_and_then(lab, folder, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(batch_module, "SUBMISSIONS_A_WORKER", 2)
    monkeypatch.setattr(ClassWorker, "close", lambda self: closed.append(self))
    with ClassBatch(lab, tmp_path / "out", jobs=1) as batch:
        batch.grade(find_submissions(folder))
        assert len(closed) == 1
