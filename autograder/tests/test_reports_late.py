"""Late by the platforms' own dates: read as they write them, held against the class's date, said wherever points are.

Moodle's columns and times: public/mod/assign/gradingtable.php (col_timesubmitted, col_duedate, col_status) writes them by
userdate() in strftimedaydatetime, which is `%A, %d %B %Y, %I:%M %p` in lang/en/langconfig.php and
`%A, %B %d, %Y, %I:%M %p` in lang/en_us/langconfig.php, days and hours without their zero; the status has
`Extension granted until: ...` (userextensiondate; as mod/assign/tests/behat has it). https://github.com/moodle/moodle
Gradescope's times: a real submission_metadata.yml, https://github.com/sjinang/temp0 (commit e00c0ec).
Canvas's zip says LATE and no time: add_attachment_to_zip in lib/content_zipper.rb of instructure/canvas-lms.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from autograder import cli
from autograder.errors import UsageError
from autograder.grading.class_folder import CLASS_LIST, Told, prepared, read_class, renewed_class, write_reports
from autograder.grading.exports import opened_class
from autograder.grading.exports.gradescope_metadata import Handed
from autograder.grading.labs import labs_root, load_lab
from autograder.records.json_form import write_result
from autograder.records.results import CheckResult, Result
from autograder.reports import class_page, gradebook, html, late, moodle
from autograder.reports.attention import reasons_text
from autograder.reports.by_hand import UNKNOWN, Override, applied, read_overrides, said, together
from autograder.reports.late import Dates
from autograder.tests.test_grading_bad_input import GOOD

BERLIN = "2026-10-01 23:59 Europe/Berlin"
POLICY = "10% a day, at most 50%"


def result(student, handed_in="", **fields):
    checks = (CheckResult("small", "Small ones are right.", "passed", 10, 10),)
    return Result(
        "lab01", "Lab 1", student, f"{student}.py", checks, "d", "simulated",
        handed_in=handed_in, digest=f"of {student}", **fields,
    )  # fmt: skip


def options(due=BERLIN, policy=POLICY):
    return [said(name, words) for name, words in (("--due", due), ("--late", policy)) if words]


def row(student, check, points, comment=""):
    return Override(student, check, points, comment, "hand.csv, line 2")


# ---- times and dates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-01 23:59 Europe/Berlin", "2026-10-01T21:59:00+00:00"),
        ("2026-12-01T23:59 Europe/Berlin", "2026-12-01T22:59:00+00:00"),
        ("2026-10-01 23:59:30 +02:00", "2026-10-01T21:59:30+00:00"),
        ("2026-10-01 23:59-0700", "2026-10-02T06:59:00+00:00"),
        ("2026-10-01 23:59 UTC", "2026-10-01T23:59:00+00:00"),
        ("2018-07-01T14:22:32.365935-07:00", "2018-07-01T21:22:32+00:00"),  # as Gradescope's documentation has it
    ],
)
def test_a_date_is_read_with_its_zone(text, expected):
    assert late.iso(late.moment(text)) == expected


@pytest.mark.parametrize(
    ("text", "said_of_it"),
    [
        ("2026-10-01 23:59", "has no time zone: write `2026-10-01 23:59 Europe/Berlin`"),
        ("2026-10-01", "is no date and time"),
        ("tomorrow", "is no date and time"),
        ("10/01/2026 23:59 UTC", "is no date and time"),
        ("2026-13-01 23:59 UTC", "is on no calendar or clock"),
        ("2026-10-01 24:59 UTC", "is on no calendar or clock"),
        ("2026-10-01 23:59 Europe/Nowhere", "names the time zone `Europe/Nowhere`, which is not known here"),
        ("2026-10-01 23:59 +25:00", "has a time zone that is none"),
        ("2026-03-29 02:30 Europe/Berlin", "is on no clock of that day: it is put forward over that hour"),
        ("2026-10-25 02:30 Europe/Berlin", "comes twice on that day, since clocks are put back: write `+02:00` or `+01:00`"),
    ],
)
def test_any_other_date_is_refused_in_a_line_before_a_class_is_graded(text, said_of_it, tmp_path, capsys):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.py").write_text(GOOD)
    code = cli.main(["grade", "lab01", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--due", text])
    told = capsys.readouterr().err
    assert code == 2 and told.startswith(f"autograder: --due: `{text}` {said_of_it}") and told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_policy_that_is_none_is_refused_in_a_line():
    with pytest.raises(UsageError, match="--late: `a lot` is no late policy, as `10% a day, at most 50%` is"):
        said("--late", "a lot")


@pytest.mark.parametrize("words", ["150% a day", "10% a day, at most 120%"])
def test_a_policy_that_takes_more_than_all_is_refused_in_a_line(words):
    with pytest.raises(UsageError, match="takes more than all"):
        said("--late", words)


def test_a_platform_s_time_without_a_zone_that_comes_twice_is_the_better_one_for_the_student():
    """Moodle's 2:30 on the day on which clocks in Berlin are put back is 0:30 or 1:30 UTC."""
    deadlines = late.Deadlines(late.moment("2026-10-25 00:45 UTC").astimezone(ZoneInfo("Europe/Berlin")))
    assert deadlines.of(0, result("ada", "2026-10-25T02:30:00")).late == timedelta(0)
    ada = replace(result("ada", "2026-10-25T01:30:00+00:00"), due="2026-10-25T02:30:00")
    assert deadlines.of(0, ada).late == timedelta(0)


def test_no_hour_is_lost_or_won_where_the_clock_is_put_back():
    """In Berlin the clock went from 3:00 back to 2:00 on 25 October 2026: from 23:00 to 23:00 it is 25 hours."""
    berlin = ZoneInfo("Europe/Berlin")
    deadlines = late.Deadlines(datetime(2026, 10, 24, 23, 0, tzinfo=berlin))
    standing = deadlines.of(0, result("ada", "2026-10-25T23:00:00"))
    assert standing is not None and standing.late == timedelta(hours=25)


@pytest.mark.parametrize(
    ("minutes", "words"), [(1, "1 min"), (60, "1 h"), (1440, "1 day"), (2 * 1440 + 61, "2 days 1 h 1 min"), (0, "0 min")]
)
def test_how_late_in_words(minutes, words):
    assert late.span(timedelta(minutes=minutes)) == words


# ---- what lateness costs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handed_in", "final"),
    [
        ("2026-10-01T21:59:00+00:00", 10),  # on the minute
        ("2026-10-01T21:59:01+00:00", 9),
        ("2026-10-02T21:59:00+00:00", 9),
        ("2026-10-02T21:59:01+00:00", 8),  # a day that has begun
        ("2026-10-20T12:00:00+00:00", 5),  # at most half
        ("2026-10-01T23:59:00", 10),  # without a zone: that of the class's date
        ("2026-10-02T00:00:00", 9),
    ],
)
def test_a_policy_is_applied_to_what_came_in_after_the_date(handed_in, final):
    (ada,), lines = applied(options(), [result("ada", handed_in)])
    assert lines == [] and ada.points == 10 and ada.final_points == pytest.approx(final)


def test_lateness_stands_in_gradebook_report_and_class_page():
    (ada, alan), _ = applied(options(), [result("ada", "2026-10-03T01:14:00+00:00"), result("alan", "2026-10-01T09:00:00")])
    words = (
        "Handed in late: 2 points off (20 %): 1 day 3 h 15 min late, handed in 2026-10-03 03:14 CEST, "
        "due 2026-10-01 23:59 CEST."
    )
    (first, second) = csv.DictReader(io.StringIO(gradebook.text([ada, alan])))
    assert (first["points"], first["final_points"], first["by_hand"]) == ("10", "8", words)
    assert (first["handed_in"], second["handed_in"]) == ("2026-10-03T01:14:00+00:00", "2026-10-01T09:00:00")
    assert (second["final_points"], second["by_hand"]) == ("10", "")
    assert words in html.render(ada) and "8 points in the end." in html.render(ada)
    assert words in class_page.render([ada, alan], "Lab 1") and "8 in the end" in class_page.render([ada, alan], "Lab 1")


def test_an_extension_decides_and_is_said_whether_it_was_kept_or_not():
    rows = [row("ada", "due", "2026-10-04 23:59", "Ill."), row("alan", "due", "2026-10-02 23:59")]
    given = [result(name, "2026-10-03T09:00:00") for name in ("ada", "alan", "emmy")]
    (ada, alan, emmy), lines = applied([*options(), *rows], given)
    assert lines == [] and [each.final_points for each in (ada, alan, emmy)] == [10, 9, 8]
    assert "Due 2026-10-04 23:59 CEST, 3 days after the others. Ill." in html.render(ada)
    assert "Due 2026-10-02 23:59 CEST, 1 day after the others." in gradebook.text([alan])
    assert "9 h 1 min late" in gradebook.text([alan]) and "after the others" not in gradebook.text([emmy])


def test_a_row_of_the_instructor_s_comes_before_what_is_reckoned():
    rows = [row("ada", "late", "5%"), row("alan", "late", "0 h"), row("emmy", "handed in", "2026-10-01 10:00 UTC")]
    given = [result(name, "2026-10-03T09:00:00") for name in ("ada", "alan", "emmy")]
    (ada, alan, emmy), lines = applied([*options(), *rows], given)
    assert lines == [] and [each.final_points for each in (ada, alan, emmy)] == [9.5, 10, 10]


def test_what_nobody_knows_is_said_and_costs_nothing():
    marked, dateless = result("ada", marked_late=True), result("alan")
    (ada, alan), lines = applied(options(), [marked, dateless])
    assert (ada.final_points, alan.final_points) == (10, 10) and UNKNOWN in reasons_text(ada)
    assert lines == [
        f"1 of the class (ada): {UNKNOWN}. Rows `late` or `handed in` say it.",
        "1 of the class (alan): nothing says when the work came in, so it counts as in time. Moodle's worksheet or rows "
        "`handed in` say it.",
    ]
    (ada, alan), lines = applied([], [marked, dateless])  # nobody asked for dates
    assert lines == [] and reasons_text(ada) == ""


def test_without_a_policy_lateness_is_said_and_costs_nothing():
    (ada,), lines = applied(options(policy=""), [result("ada", "2026-10-03T09:00:00")])
    assert lines == ["1 of the class (ada): late, and no policy says what that costs, as --late '10% a day' does."]
    assert ada.final_points == 10 and "Handed in late: 0 points off: 1 day 9 h 1 min late" in gradebook.text([ada])


def test_of_two_dates_for_the_class_the_file_s_counts_and_it_is_said():
    rows = [*options(), Override("", "due", "2026-10-05 23:59 UTC", "", "hand.csv, line 4")]
    (ada,), lines = applied(rows, [result("ada", "2026-10-03T09:00:00")])
    assert ada.final_points == 10 and lines == ["--due: hand.csv, line 4 says what is due, too, and counts."]


def test_options_hold_until_they_are_given_anew_or_taken_back():
    file_rows = [row("ada", "total", "3")]
    before = together([], file_rows, options())
    assert together(before, None, []) == before
    assert together(before, [], []) == options()
    later = said("--due", "2026-10-08 23:59 UTC")
    assert together(before, None, [later]) == [later, options()[1], *file_rows]
    assert together(before, None, [said("--due", "none"), said("--late", "none")]) == file_rows


# ---- Gradescope ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2023-12-02 02:52:07.938335000 Z", "2023-12-02T02:52:07+00:00"),  # of the real file
        ("2023-12-02 03:52:07.938335000 +01:00", "2023-12-02T02:52:07+00:00"),  # Psych's form of a time in a zone
        ("2023-12-02 02:52:07 Z", "2023-12-02T02:52:07+00:00"),
        ("2023-13-02 02:52:07 Z", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_gradescope_s_time_is_read(written, expected):
    assert Handed((), written).handed_in == expected


REAL = """---
submission_216975964:
  :submitters:
  - :name: Alice
    :sid: '1'
    :email: a@x.edu
  :created_at: 2023-12-02 02:52:07.938335000 Z
  :score: 0.0
  :history: []
submission_217362225:
  :submitters:
  - :name: Bo
    :sid: '2'
    :email: b@x.edu
  - :name: Vamshi
    :sid: '3'
    :email: v@x.edu
  :created_at: 2023-12-04 05:26:26.899837000 Z
  :history:
  - :submitters: []
    :created_at: 2023-12-04 07:30:05.262325000 Z
    :id: 217383000
"""


def test_a_class_of_gradescope_s_is_graded_with_lateness_and_stays_so(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as export:
        export.writestr("submission_metadata.yml", REAL)
        export.writestr("submission_216975964/lab.py", "def f(:")  # read by nobody: nothing is run
        export.writestr("submission_217362225/lab.py", "def f(:")
    with opened_class(tmp_path / "class.zip") as entries:
        assert [(each.student, each.handed_in) for each in entries] == [
            ("Alice", "2023-12-02T02:52:07+00:00"),
            ("Bo", "2023-12-04T05:26:26+00:00"),  # the submission that counts, not one of its history
            ("Vamshi", "2023-12-04T05:26:26+00:00"),
        ]
    out = tmp_path / "out"
    command = ["grade", "lab01", str(tmp_path / "class.zip"), "--out", str(out), "--jobs", "1", "--device", "simulated"]
    cli.main([*command, "--due", "2023-12-03 23:59 America/Los_Angeles", "--late", "10% a day"])
    table = (out / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert table.count("Handed in late") == 0  # 23:59 there is 7:59 UTC
    cli.main([*command, "--due", "2023-12-03 12:00 America/Los_Angeles"])
    table = (out / "gradebook.csv").read_bytes()
    assert table.count(b"9 h 27 min late, handed in 2023-12-03 21:26 PST, due 2023-12-03 12:00 PST.") == 2
    cli.main([*command, "--regrade"])
    assert (out / "gradebook.csv").read_bytes() == table
    cli.main(["export", str(out), "--gradescope"])
    assert (out / "gradebook.csv").read_bytes() == table
    (page,) = (out / "reports").glob("Bo-*.html")
    assert "Handed in late" in (out / "index.html").read_text() and "9 h 27 min late" in page.read_text()


# ---- Moodle ----------------------------------------------------------------------------------------

HEADER = (
    "Identifier,Full name,Email address,Status,Due date,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)


def worksheet(path, *rows, header=HEADER):
    path.write_text("\ufeff" + header + "\n" + "".join(f"{each}\n" for each in rows), encoding="utf-8")
    return path


def line(number, name, when, status="Submitted for grading", due=""):
    return f'Participant {number},{name},x@x.edu,{status},"{due}",,10.00,Yes,"{when}",-,'


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("Wednesday, 10 June 2026, 2:14 PM", "2026-06-10T14:14:00"),  # en
        ("Wednesday, September 23, 2020, 9:00 PM", "2020-09-23T21:00:00"),  # en_us
        ("Wednesday, 10 June 2026, 14:14", "2026-06-10T14:14:00"),  # a site that shows hours up to 23
        ("Wednesday, 10 June 2026, 12:05 AM", "2026-06-10T00:05:00"),
        ("Wednesday, 10 June 2026, 12:05\u202fPM", "2026-06-10T12:05:00"),
        ("-", ""),  # handed in nothing
        ("", ""),
    ],
)
def test_moodle_s_time_is_read_as_it_writes_it(shown, expected, tmp_path):
    sheet = worksheet(tmp_path / "sheet.csv", line(412, "Ada Lovelace", shown))
    found, lines = moodle.dates(sheet, [result("Ada Lovelace", ids={"moodle": "412"})])
    assert found == ({"Ada Lovelace": Dates(expected)} if expected else {}) and lines == []


def test_a_time_in_another_language_or_another_column_is_told_with_what_to_do(tmp_path):
    ada = result("Ada Lovelace", ids={"moodle": "412"})
    german = worksheet(tmp_path / "german.csv", line(412, "Ada Lovelace", "Mittwoch, 10. Juni 2026, 14:14"))
    found, lines = moodle.dates(german, [ada])
    assert found == {} and lines == [
        f"{german}: Participant 412: `Mittwoch, 10. Juni 2026, 14:14` in `Last modified (submission)` is no time that can "
        "be read. Choose English in Moodle's language menu and download the worksheet again."
    ]
    renamed = worksheet(
        tmp_path / "names.csv",
        line(412, "Ada Lovelace", "-"),
        header=HEADER.replace("Last modified (submission)", "Zuletzt geändert (Abgabe)"),
    )
    found, lines = moodle.dates(renamed, [ada])
    assert found == {} and len(lines) == 1 and "has no column `Last modified (submission)`" in lines[0]


def test_moodle_s_extensions_and_dates_of_single_students_count_but_a_team_s_number_does_not(tmp_path):
    until = "Submitted for grading - 1 day 9 hours late - Extension granted until: Saturday, 3 October 2026, 11:59 PM"
    late_then = "Saturday, 3 October 2026, 9:00 AM"
    sheet = worksheet(
        tmp_path / "sheet.csv",
        line(1, "Ada", late_then, f'"{until}"', "Thursday, 1 October 2026, 11:59 PM"),
        line(2, "Alan", late_then, due="Friday, 2 October 2026, 11:59 PM"),
        line(3, "Emmy", late_then, due="Wednesday, 30 September 2026, 11:59 PM"),  # never before the class's own
        line(4, "Kurt", late_then),
    )
    given = [result(name, ids={"moodle": str(at)}) for at, name in enumerate(("Ada", "Alan", "Emmy", "Team A"), start=1)]
    found, lines = moodle.dates(sheet, given)
    assert lines == [] and set(found) == {"Ada", "Alan", "Emmy"}
    assert found["Ada"] == Dates("2026-10-03T09:00:00", "2026-10-03T23:59:00")
    dated = [replace(each, **vars(found.get(each.student, Dates()))) for each in given]
    (ada, alan, emmy, team), _ = applied(options(), dated)
    assert [each.final_points for each in (ada, alan, emmy, team)] == [10, 9, 8, 10]
    assert "Due 2026-10-03 23:59 CEST, 2 days after the others." in gradebook.text([ada])


def test_dates_of_a_worksheet_stay_for_the_same_submissions_and_are_asked_for_anew_for_others(tmp_path):
    out = tmp_path / "out"
    sheet = worksheet(tmp_path / "sheet.csv", line(1, "Ada", "Saturday, 3 October 2026, 9:00 AM"))
    ada = result("Ada", ids={"moodle": "1"})

    def graded(each, told):
        with prepared(out):
            write_result(each, out / "results" / "ada.json")
            decided, rows, lines = told.of([each], out)
            write_reports(decided, load_lab("lab01"), out, ["ada"], rows)
        return decided[0], lines

    ada = replace(ada, student="ada")
    told = Told(options=options(), dates_of=lambda results: ({"ada": Dates("2026-10-03T09:00:00")}, []))
    assert graded(ada, told)[0].final_points == 8
    again, lines = graded(ada, Told())
    assert again.final_points == 8 and lines == []
    (exported,), lines = renewed_class(read_class(out), Told(), out)
    assert exported.final_points == 8 and lines == []
    anew, lines = graded(replace(ada, digest="of another file"), Told())
    assert anew.final_points == 10
    assert lines[0] == "ada: handed in anew since Moodle's worksheet said when: give it again with --moodle."
    assert json.loads((out / CLASS_LIST).read_text())["dates"] == {}
    assert moodle.dates(sheet, [result("Ada", ids={"moodle": "1"})])[0]["Ada"].handed_in == "2026-10-03T09:00:00"


# ---- Canvas ----------------------------------------------------------------------------------------


def test_canvas_says_late_and_not_when(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as export:
        export.writestr("lovelaceada_101_900_lab.py", "x = 1")
        export.writestr("turingalan_LATE_102_901_lab.py", "x = 1")
    with opened_class(tmp_path / "class.zip") as entries:
        assert [(each.student, each.marked_late, each.handed_in) for each in entries] == [
            ("lovelaceada", False, ""),
            ("turingalan", True, ""),
        ]


def test_utc_is_the_zone_of_what_is_kept():
    assert late.iso(datetime(2026, 10, 1, 12, tzinfo=timezone(timedelta(hours=2)))) == "2026-10-01T10:00:00+00:00"


def test_the_guide_s_rows_are_followed(tmp_path):
    guide = (labs_root() / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"(?:^    .*\n)*^    student,check,points,comment\n(?:^    .*\n)+", guide, re.MULTILINE)
    (tmp_path / "OVERRIDES.csv").write_text(textwrap.dedent(block), encoding="utf-8")
    given = [result("ada", "2026-10-03T09:00:00"), result("alan"), result("emmy", "2026-10-01T09:00:00")]
    decided, lines = applied([*options(policy=""), *read_overrides(tmp_path / "OVERRIDES.csv")], given)
    assert lines == [] and [each.final_points for each in decided] == [10, 9, 9]
    assert "Was ill." in gradebook.text(decided)
