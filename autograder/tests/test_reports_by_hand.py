"""Points by hand: they go where grades go, stay over runs, and whatever cannot be followed is said in one line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from autograder import cli
from autograder.errors import UsageError
from autograder.grading.class_folder import Told, overrides_of, prepared, read_class, renewed_class, write_reports
from autograder.grading.labs import load_lab
from autograder.records.json_form import from_text, to_text, write_result
from autograder.records.results import CheckResult, Result
from autograder.reports import gradebook, gradescope, html, terminal
from autograder.reports.by_hand import applied, read_overrides
from autograder.reports.handing_back import Wanted, hand_back
from autograder.reports.withheld import for_students


def result(student, number, **fields):
    checks = (
        CheckResult("small", "Small ones are right.", "passed", 4, 4),
        CheckResult("fast", "It is fast.", "failed", 1.5, 6, **fields),
    )
    ids = {"canvas": number} if number else {}
    return Result("lab01", "Lab 1", student, f"{student}.py", checks, "d", "simulated", ids=ids)


def a_class():
    return [result("ada", "7"), result("alan", "8"), result("emmy", "9")]


@pytest.fixture
def rows(tmp_path):
    def read(text, encoding="utf-8"):
        path = tmp_path / "hand.csv"
        path.write_text(text, encoding=encoding)
        return read_overrides(path)

    return read


def test_a_check_or_the_whole_gets_other_points_and_the_graded_ones_stay(rows):
    text = 'Student;Check;Points;Comment\nada;fast;5,5;"Right idea; late clock."\n8;total;3;Seen in class.\n'
    (ada, alan, emmy), lines = applied(rows(text, "utf-8-sig"), a_class())
    assert lines == [] and emmy.by_hand == ()
    assert [(each.points, each.final_points) for each in (ada, alan, emmy)] == [(5.5, 9.5), (5.5, 3), (5.5, 5.5)]
    table = list(csv.DictReader(io.StringIO(gradebook.text([ada, alan, emmy]))))
    assert [(row["points"], row["final_points"]) for row in table] == [("5.5", "9.5"), ("5.5", "3"), ("5.5", "5.5")]
    assert table[0]["by_hand"] == "“It is fast.”: 5.5 points by hand, 1.5 as graded. Right idea; late clock."
    assert table[2]["by_hand"] == ""


def test_students_read_it_on_their_page_and_platforms_get_the_final_points(rows, tmp_path):
    (ada, alan, emmy), _ = applied(
        rows("student,points,comment\nada,9,<b>Well argued.\nalan,,Come and see me.\n"), a_class()
    )
    page = html.render(ada)
    assert "9 points by hand, 5.5 as graded. &lt;b&gt;Well argued." in page and "9 points in the end." in page
    assert "Come and see me." in html.render(alan) and "by hand" not in html.render(emmy)
    assert (
        json.loads(gradescope.text(ada))["score"] == 9 and "Well argued" in json.loads(gradescope.text(ada))["output"]
    )
    sheet = tmp_path / "canvas.csv"
    sheet.write_text("Student,ID,Lab 1 (5)\nA,7,\nB,8,\nC,9,\n")
    out = tmp_path / "out"
    out.mkdir()
    hand_back([ada, alan, emmy], out, Wanted(canvas=sheet))
    worksheet = tmp_path / "moodle.csv"
    worksheet.write_text("Identifier,ID number,Grade,Maximum grade,Feedback comments\nParticipant 5,7,,10,\n")
    hand_back([replace(ada, ids={"sid": "7"})], out, Wanted(moodle=worksheet))
    assert '7,9,10,"9 points by hand, 5.5 as graded. &lt;b&gt;Well argued.' in (out / "moodle.csv").read_text()
    assert (out / "canvas.csv").read_text().splitlines()[1:] == ["A,7,9", "B,8,5.5", "C,9,5.5"]


@pytest.mark.parametrize(
    ("policy", "late", "off", "words"),
    [
        ("10% a day, at most 50%", "2 days", 1.9, "1.9 points off (20 %): 2 days"),
        ("10% a day, at most 50%", "36 h", 1.9, "1.9 points off (20 %): 36 h"),  # a day that has begun is a day
        ("10 % per day, at most 50 %", "9d", 4.75, "4.75 points off (50 %): 9d"),
        ("2,5% an hour", "3 hours", 0.7125, "0.71 points off (7.5 %): 3 hours"),
        ("10% a day", "30 days", 9.5, "9.5 points off (100 %): 30 days"),
        ("10% a day", "0 days", 0, "0 points off."),
        ("", "25%", 2.375, "2.38 points off (25 %): 25%"),
        ("", "-3", 3, "3 points off."),
        ("", "20", 9.5, "9.5 points off."),  # no more than there are
    ],
)
def test_lateness_takes_off_what_the_policy_says_of_all_that_was_earned(rows, policy, late, off, words):
    of_class = f',late,"{policy}",\n' if policy else ""
    text = f"student,check,points,comment\nada,fast,5.5,\nada,late,{late},\n{of_class}"
    (ada, alan, _), lines = applied(rows(text), a_class())
    assert lines == [] and alan.by_hand == () and alan.final_points == 5.5
    assert ada.points == 5.5 and ada.final_points == pytest.approx(9.5 - off)
    assert f"Handed in late: {words}" in gradebook.text([ada]) and words in html.render(ada)


def test_points_for_the_whole_are_final_and_a_comment_says_why_somebody_was_late(rows):
    text = "student,check,points,comment\nada,late,50%,Lost the train.\nada,total,8,\nalan,late,50%,Lost the train.\n"
    (ada, alan, _), _ = applied(rows(text), a_class())
    assert (ada.final_points, alan.final_points) == (8, 2.75)
    assert "2.75 points off (50 %): Lost the train." in html.render(alan)


def test_points_by_hand_stand_in_where_the_grader_failed(rows):
    broken = result("ada", "7", fault=True)
    assert broken.final_points is None and gradebook.text([broken]).count('"not run"') == 0
    for text in ("student,points\nada,8\n", "student,check,points\nada,fast,4\n"):
        ((ada,), lines) = applied(rows(text), [broken])
        assert lines == [] and ada.final_points == 8 and json.loads(gradescope.text(ada))["score"] == 8
    with pytest.raises(UsageError, match="no score"):
        gradescope.text(broken)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("kurt,fast,3,", "hand.csv, line 2: kurt is nobody who handed in, by name, file or ID. This row changes nothing."),
        ("twin,fast,3,", "hand.csv, line 2: twin fits more than one student: use an ID. This row changes nothing."),
        ("ada,slow,3,", "hand.csv, line 2: ada: the lab has no check `slow`. This row changes nothing."),
        ("ada,fast,many,", "hand.csv, line 2: ada: `many` is no number of points. This row changes nothing."),
        ("ada,fast,nan,", "hand.csv, line 2: ada: `nan` is no number of points. This row changes nothing."),
        ("ada,fast,-1,", "hand.csv, line 2: ada: `-1` is no number of points. This row changes nothing."),
        (
            "ada,late,2 days,",
            "hand.csv, line 2: ada: `2 days` costs nothing yet: no row without a student says what lateness costs, as "
            "`,late,10% a day` does. This row changes nothing.",
        ),
        (
            "ada,late,soon,",
            "hand.csv, line 2: ada: `soon` is neither days, hours, a share nor points. This row changes nothing.",
        ),
        ("ada,late,101%,", "hand.csv, line 2: ada: `101%` is more than all. This row changes nothing."),
        (
            ",late,a lot,",
            "hand.csv, line 2: `a lot` is no late policy, as `10% a day, at most 50%` is. This row changes nothing.",
        ),
        ("ada,fast,,", "hand.csv, line 2: ada: the row has neither points nor a comment. This row changes nothing."),
    ],
)
def test_what_cannot_be_followed_is_said_in_a_line_and_the_rest_is(rows, row, said):
    twins = [result("twin a", "10"), result("twin b", "11")]
    twins = [Result(**{**vars(each), "name": "twin"}) for each in twins]
    (ada, alan, *_), lines = applied(
        rows(f"student,check,points,comment\n{row}\nalan,total,2,\n"), [*a_class(), *twins]
    )
    assert lines == [said] and ada.by_hand == () and alan.final_points == 2


def test_more_than_can_be_earned_and_a_second_row_are_followed_and_said(rows):
    text = "student,check,points\nada,fast,3\nada,fast,8\n"
    (ada, *_), lines = applied(rows(text), a_class())
    assert ada.final_points == 12
    assert lines == [
        "hand.csv, line 3: ada has a row about `fast` already: this one counts.",
        "hand.csv, line 3: ada gets 8 points of 6, more than can be earned: given all the same.",
    ]


@pytest.mark.parametrize(
    ("student", "copied"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),  # as the gradebook has it
        ("=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"),
        ("Line\nBreak", "Line Break"),
        ("Jose\u0301", "Jos\u00e9"),  # macOS takes accents apart in names of files
        ("a\u202eb", "a\\u202eb"),
        ("Ada Lovelace (7)", "Ada Lovelace"),  # the only one
    ],
)
def test_a_name_that_was_copied_from_the_gradebook_is_that_student(rows, student, copied):
    found = Result(**{**vars(result("x", "7")), "student": student, "submission": "lab.py", "ids": {"sid": "7"}})
    (one,), lines = applied(rows(f'student,points\n"{copied}",3\n'), [found])
    assert lines == [] and one.final_points == 3
    both = [found, Result(**{**vars(found), "ids": {"sid": "8"}, "student": student.replace("(7)", "(8)")})]
    assert "fits more than one student" in applied(rows(f'student,points\n"{copied}",3\n'), both)[1][0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_a_spreadsheet_s_file_is_read_or_refused_with_what_to_do(tmp_path, encoding):
    path = tmp_path / "hand.csv"
    path.write_bytes("student;points;comment\nJosé;2,5;gut\n".encode(encoding))
    if encoding == "cp1252":
        with pytest.raises(UsageError, match="not UTF-8 text. In a spreadsheet, save it as “CSV UTF-8”"):
            read_overrides(path)
    else:
        assert [(each.student, each.points) for each in read_overrides(path)] == [("José", "2,5")]


def test_the_terminal_says_where_points_in_the_end_are_others_than_its_table_s(rows):
    assert "in the end" not in terminal.render_class(a_class())
    late, _ = applied(rows("student,check,points\nada,late,2\nalan,total,9\n"), a_class())
    said = terminal.render_class(late).splitlines()[-1]
    assert said == (
        "Other points than these in the end: 1 student late, 2 points off in all; 2 rows of gradebook.csv, final_points"
    )


@pytest.mark.parametrize("text", ["", "name,points\nada,3\n", "student,mark\nada,3\n"])
def test_a_file_without_its_columns_is_refused(rows, text):
    with pytest.raises(UsageError, match="has no column") as refused:
        rows(text)
    assert "student,check,points,comment" in str(refused.value)


def test_a_file_that_is_not_there_is_refused_before_anything_is_graded(tmp_path, capsys):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.py").write_text("x = 1\n")
    given = ["grade", "lab01", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    assert cli.main([*given, "--overrides", str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv cannot be read" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_it_holds_in_the_next_run_until_another_file_is_given(rows, tmp_path):
    out, graded = tmp_path / "out", a_class()
    given = rows("student,check,points,comment\nada,total,9,Seen.\nkurt,total,1,\n")
    with prepared(out):
        for each in graded:
            write_result(each, out / "results" / f"{each.student}.json")
        decided, _ = applied(given, graded)
        write_reports(decided, load_lab("lab01"), out, [each.student for each in graded], given)
    assert overrides_of(out) == given and read_class(out) == graded  # what was graded is as it was
    assert "9 in the end" in (out / "index.html").read_text(encoding="utf-8")
    again, lines = renewed_class(read_class(out), Told(), out)
    assert again[0].final_points == 9 and len(lines) == 1 and overrides_of(out) == given
    none, lines = renewed_class(read_class(out), Told([]), out)
    assert none == graded and lines == [] and overrides_of(out) == []
    assert "by hand" not in (out / "reports" / "ada.html").read_text(encoding="utf-8")
    assert from_text(to_text(decided[0])) == decided[0]


def test_a_hidden_checks_name_stays_hidden(rows):
    secret = result("ada", "7", secret="check")
    ((ada,), _) = applied(rows("student,check,points,comment\nada,fast,6,Granted.\n"), [secret])
    shown = for_students(ada)
    assert ada.final_points == shown.final_points == 10
    assert "fast" not in html.render(shown) and "Granted." in html.render(shown)
