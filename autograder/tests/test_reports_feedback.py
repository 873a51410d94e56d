"""Reports go back under names that Moodle and Canvas take back: read here by the rules of their own importers."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from autograder import cli
from autograder.grading.exports import names
from autograder.records.files import report_name
from autograder.records.results import CheckResult, Hint, Result
from autograder.reports import feedback, handing_back, moodle
from autograder.reports.handing_back import Wanted

LAB = "lab01_naive_matmul"


def result(student, submission, fault=False, **ids):
    checks = (
        CheckResult("right", 'It is "right" & <fast>.', "failed", 1, 2, fault=fault, hints=(Hint("h", "Look."),)),
        CheckResult("late", "Last.", "not run", 0, 2, "First to pass: it."),
    )
    return Result(LAB, "Lab 1", student, submission, checks, "d", "simulated", ids=ids)


def with_reports(folder: Path, *results: Result) -> Path:
    folder.mkdir()
    for each in results:
        (folder / f"{report_name(each.student)}.html").write_text(f"report of {each.student}", encoding="utf-8")
    return folder


def held(made):
    with zipfile.ZipFile(io.BytesIO(made.data)) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


def read_by_moodle(path):
    """(number, plugin, file) of a zip's member, or None: mod/assign/feedback/file/importziplib.php of Moodle 5.1.

    A member whose own name begins with a point or a tilde is passed over. Of each part of the path between strokes, split
    into at most five by underscores, the second is to be a number; the first part of the path that fits counts.
    """
    parts = path.split("/")
    if parts[-1].startswith((".", "~")):
        return None
    while parts:
        pieces = parts.pop(0).split("_", 4)
        if len(pieces) >= 4 and pieces[1].isdecimal():
            return int(pieces[1]), (pieces[2], pieces[3]), "/".join([*(pieces[4:] or [""]), *parts])
    return None


def read_by_moodle_before_3_1(path):
    """The same by its first version (2012): members in folders are not looked at, and a name has five parts or more."""
    return None if "/" in path or path.count("_") < 4 else read_by_moodle(path)


def read_by_canvas(name):
    """(user, attachment), or None: infer_comment_context_from_filename in app/models/abstract_assignment.rb of Canvas."""
    pieces = [each for each in name.split("_") if each != "LATE"]
    if pieces[0] == "anon":
        user, attachment = pieces[1], pieces[2]
    else:
        numbers = [each for each in pieces if each.isdecimal() and each.isascii()][:2]
        user, attachment = (*numbers, "", "")[:2]
    return None if pieces[-1].startswith("link") or name.startswith("._") else (user, attachment)


MOODLE = [
    ("Ada Lovelace", "412"),
    ("Ada Lovelace (412)", "412"),
    ("Zoë O'Hara_Smith", "7"),
    ("李 小龙", "8"),
    (".hidden ~", "9"),
    ("~~", "10"),
    ('a/b\\c:*?"<>|\x00', "11"),
    ("Ada 99 88", "12"),
    ("x" * 400, "13"),
]


@pytest.mark.parametrize(("student", "number"), MOODLE)
def test_moodle_reads_a_report_s_name_as_that_student_s_feedback_in_every_version(student, number):
    name = feedback.moodle_name(result(student, f"{student}_{number}_assignsubmission_file/lab.ipynb", moodle=number))
    for read in (read_by_moodle, read_by_moodle_before_3_1):
        assert read(name) == (int(number), ("assignfeedback", "file"), f"{LAB}.html")
    assert len(name.encode()) < 255


@pytest.mark.parametrize("form", ["{}_file/lab.ipynb", "{}_file_/lab.ipynb", "{}_file_lab.ipynb"])
def test_what_moodle_exports_in_any_form_finds_its_way_back(form):
    exported = form.format("Ada Lovelace_412_assignsubmission")
    named = names.moodle(exported.partition("/")[0])
    assert named is not None
    back = feedback.moodle_name(result(named.owner.name, exported, **named.owner.ids))
    assert back == f"Ada Lovelace_412_assignfeedback_file_{LAB}.html"


CANVAS = [  # exported (lib/content_zipper.rb: get_filename, add_upload_submission), given back, user, attachment
    ("lovelaceada_1234_5678_lab.ipynb", "lovelaceada_1234_5678_report.html", "1234", "5678"),
    ("lovelaceada_LATE_1234_5678_lab-1.ipynb", "lovelaceada_1234_5678_report.html", "1234", "5678"),
    ("李小龙_1234_5678_my_lab_9_9.py", "李小龙_1234_5678_report.html", "1234", "5678"),
    ("lovelaceada_1234_5678_link.ipynb", "lovelaceada_1234_5678_report.html", "1234", "5678"),
    ("anon_aB3dE_5678_lab.ipynb", "anon_aB3dE_5678_report.html", "aB3dE", "5678"),
    ("LATE_anon_aB3dE_5678_lab.ipynb", "anon_aB3dE_5678_report.html", "aB3dE", "5678"),
    ("anon_12345_5678_lab.ipynb", "anon_12345_5678_report.html", "12345", "5678"),
]


@pytest.mark.parametrize(("exported", "expected", "user", "attachment"), CANVAS)
def test_canvas_reads_a_report_s_name_as_an_answer_to_that_student_s_file(exported, expected, user, attachment):
    named = names.canvas(exported)
    assert named is not None
    back = feedback.canvas_name(result(named.owner.name, f"submissions/{exported}", **named.owner.ids))
    assert back == expected and read_by_canvas(back) == (user, attachment) == read_by_canvas(
        exported.replace("link", "l")
    )


@pytest.mark.parametrize(
    ("submission", "user"),
    [
        ("lovelaceada_1234_text.html", "1234"),  # typed, or a link: there is no file to answer
        ("lovelaceada_LATE_1234_link.html", "1234"),
        ("anon_aB3dE_text.html", "anon_aB3dE"),
        ("lab.ipynb", "1234"),
        ("", "1234"),
        ("7_1234_5678_lab.py", "1234"),  # Canvas would take 7 for the user
        ("lovelaceada_1234_5678_lab.py", "9"),
    ],
)
def test_no_report_goes_where_canvas_would_not_find_its_student(submission, user):
    assert feedback.canvas_name(result("ada", submission, canvas=user)) == ""


def test_a_zip_holds_the_reports_as_they_lie_there_and_names_everybody_left_out(tmp_path):
    ada = result("Ada_L", "Ada L_11_assignsubmission_file/lab.py", moodle="11")
    team = result("Default group", "Default group_assignsubmission_file/lab.py", moodle="none")
    faulty = result("Bob", "Bob_12_assignsubmission_file/lab.py", fault=True, moodle="12")
    lost = result("Eve", "Eve_13_assignsubmission_file/lab.py", moodle="13")
    other = result("Kim", "kim_1_2_lab.py", canvas="1")
    reports = with_reports(tmp_path / "reports", ada, team, faulty, other)
    made = feedback.zipped([ada, team, faulty, lost, other], reports, "moodle")
    assert held(made) == {f"Ada L_11_assignfeedback_file_{LAB}.html": "report of Ada_L"} and made.written == 1
    assert [line.split(";")[0] for line in made.lines] == [
        "No report: Default group",
        "No report: Bob",
        "No report: Eve",
    ]
    assert "could not run" in made.lines[1] and "is missing" in made.lines[2]
    assert feedback.zipped([ada], reports, "moodle").data == feedback.zipped([ada], reports, "moodle").data
    assert held(feedback.zipped([ada, other], reports, "canvas")) == {"kim_1_2_report.html": "report of Kim"}


def test_handing_back_writes_one_zip_a_platform_and_none_without_reports(tmp_path):
    ada = result("Ada", "Ada_11_assignsubmission_file/lab.py", moodle="11")
    with_reports(tmp_path / "reports", ada)
    told = handing_back.hand_back([ada], tmp_path, Wanted(feedback=True))
    assert told.lines == [f"Written: {tmp_path / 'feedback_moodle.zip'}, 1 report"] and not told.empty
    assert not (tmp_path / "feedback_canvas.zip").exists()
    plain = result("Ada", "Ada.py")
    told = handing_back.hand_back([plain], tmp_path, Wanted(feedback=True))
    assert "No report could be put into a zip" in told.empty[0] and not (tmp_path / "feedback_moodle.zip").exists()


# ---- Moodle's comments -----------------------------------------------------------------------------

WORKSHEET = (
    'Identifier,"Full name",Grade,"Maximum grade","Grade can be changed","Last modified (grade)","Feedback comments"\n'
    'Participant 11,Ada,,20,Yes,-,""\n'
    "Participant 12,Bob,,20,Yes,-,Well done\n"
    "Participant 13,Eve,,20,No,-,\n"
    "Participant 14,Kim,,20,Yes,-,\n"
)
NEXT = '"Next: It is &#34;right&#34; &amp; &lt;fast&gt; (1 point)."'


def commented(tmp_path, text=WORKSHEET, **options):
    path = tmp_path / "m.csv"
    path.write_text(text)
    students = {"Ada": "11", "Bob": "12", "Eve": "13"}
    data, outcome = moodle.filled(
        path, [result(name, "x", moodle=number) for name, number in students.items()], **options
    )
    return data.decode().splitlines(), outcome.lines


def test_what_to_do_next_becomes_the_comment_where_there_is_none(tmp_path):
    (_, ada, bob, eve, kim), told = commented(tmp_path)
    assert ada == f"Participant 11,Ada,1,20,Yes,-,{NEXT}"
    assert bob == "Participant 12,Bob,1,20,Yes,-,Well done"
    assert "Comment kept: Participant 12 Bob; it has a comment already." in told
    assert [eve, kim] == WORKSHEET.splitlines()[3:]  # locked, and nothing handed in: every byte as it was


def test_comments_are_replaced_or_left_where_that_is_asked_for(tmp_path):
    lines, told = commented(tmp_path, comments="replace")
    assert lines[1].endswith(NEXT) and lines[2].endswith(NEXT) and not any("Comment" in each for each in told)
    lines, told = commented(tmp_path, comments="leave")
    assert lines[1].endswith('-,""') and lines[2].endswith("Well done") and not any("Comment" in each for each in told)


def test_a_worksheet_filled_in_twice_is_the_same_and_says_nothing_of_its_own_comments(tmp_path):
    once, _ = commented(tmp_path)
    again, told = commented(tmp_path, "\n".join(once) + "\n")
    assert again == once and sum(line.startswith("Comment kept") for line in told) == 1


def test_comments_are_found_by_their_column_s_name_in_another_language(tmp_path):
    text = WORKSHEET.replace("Feedback comments", "Feedback als Kommentar")
    assert commented(tmp_path, text)[0][1].endswith('-,""')
    assert commented(tmp_path, text, comments_column="Feedback als Kommentar")[0][1].endswith(NEXT)
    with pytest.raises(Exception, match="has no column `Kommentar`.*--moodle-comments.*Feedback als Kommentar"):
        commented(tmp_path, text, comments_column="Kommentar")


def test_a_hidden_check_s_name_is_in_no_comment(tmp_path):
    hidden = CheckResult("secret_31415", "Sizes around 31415 work.", "failed", 0, 3, secret="check")
    (tmp_path / "m.csv").write_text(WORKSHEET)
    handed_in = Result(LAB, "Lab 1", "Ada", "x", (hidden,), "d", "simulated", ids={"moodle": "11"})
    data, _ = moodle.filled(tmp_path / "m.csv", [handed_in])
    assert b"31415" not in data and b"Next: Hidden check 1" in data


def test_the_command_line_knows_the_forms(tmp_path, capsys):
    given = cli.build_parser().parse_args(
        ["export", "out", "--feedback", "--comments", "replace", "--moodle-comments", "K"]
    )
    wanted = cli.wanted_forms(given, LAB)
    assert wanted.feedback and wanted.comments == "replace" and wanted.moodle_comments == "K"
