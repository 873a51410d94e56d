"""Grades go back into the platforms' own files byte for byte, and nothing secret goes to a student."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder import cli
from autograder.errors import KitError, UsageError
from autograder.grading import batch as batch_module
from autograder.grading import check
from autograder.grading.class_folder import OUT_OF_DATE, Told, read_class, with_names
from autograder.grading.class_grading import grade_class
from autograder.grading.labs import read_seed, with_hidden_checks
from autograder.records.results import CheckResult, Hint, Mismatch, Result
from autograder.reports import canvas, gradescope, html, junit, moodle
from autograder.reports.filled_csv import number_text, read_sheet
from autograder.reports.withheld import for_students
from autograder.tests.grading_fakes import FakeWorker, lab_with
from autograder.tests.sample_results import KINDS, hostile

CLASS = [*(make() for make in KINDS), hostile()]


def result(student="ada", points=12.5, ids=None, fault=False, most=20.0):
    checks = (CheckResult("c", "It is right.", "passed", points, most, fault=fault),)
    return Result("lab01_x", "Lab 1", student, f"{student}.py", checks, "d", "simulated", ids=ids or {})


# ---- Canvas ----------------------------------------------------------------------------------------

HEADER = "Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (501),Lab 2 (502),Current Score"
CANVAS = "\r\n".join(
    [
        HEADER,
        ",,,,,Manual Posting,,",
        "    Points Possible,,,,,20.00,10.00,(read only)",
        '"Lovelace, Ada",101,S1,ada,"Section ""A""",,7,"1,234.5"',
        '"=Turing, Alan",102,S2,alan,A,3.00,,=1+1',
        '"Hopper, Grace",103,S3,grace,A,EX,,',
        '"Noether, Emmy",104,S4,emmy,"two\r\nlines",N/A,,',
        '"Student, Test",999,,test,A,,,',
    ]
)


def canvas_file(tmp_path, text=CANVAS, encoding="utf-8"):
    path = tmp_path / "export.csv"
    path.write_bytes(text.encode(encoding))
    return path


def canvas_results(**more):
    return [result(str(number), 12.5, {"canvas": str(number)}) for number in (101, 102, 103, 104)]


def test_a_canvas_gradebook_is_filled_in_and_otherwise_the_same_bytes(tmp_path):
    path = canvas_file(tmp_path)
    data, outcome = canvas.filled(path, canvas_results())
    expected = CANVAS.replace('"Section ""A""",,7', '"Section ""A""",12.5,7').replace("A,3.00,", "A,12.5,")
    assert data.decode() == expected and outcome.filled == 2
    assert path.read_bytes() == CANVAS.encode()  # the instructor's own file is not touched
    assert outcome.lines == [
        "Left as it is: Hopper, Grace 103; the student is excused.",
        "Left as it is: Noether, Emmy 104; the assignment is not given to this student.",
        "No submission: Student, Test 999; its grade was left as it is.",
    ]


def test_byte_order_mark_line_ends_and_separators_stay(tmp_path):
    for newline in ("\n", "\r\n", "\r"):
        for separator in (",", ";", "\t"):
            for end in ("", newline):
                text = newline.join([HEADER, "x,102,S,=é,\u00ff,, ,", "y,101,,,,,,"]).replace(",", separator) + end
                data = b"\xef\xbb\xbf" + text.encode()
                path = tmp_path / "odd.csv"
                path.write_bytes(data)
                assert read_sheet(path).to_bytes() == data
                got, outcome = canvas.filled(path, [result(points=0, ids={"canvas": "102"})])
                before, after = (separator.join(["\u00ff", cell, " "]).encode() for cell in ("", "0"))
                assert got == data.replace(before, after) and outcome.filled == 1


@pytest.mark.parametrize("platform", [canvas, moodle])
def test_what_a_spreadsheet_saved_in_its_own_code_page_is_refused(tmp_path, platform):
    """Canvas would not read it, and no name in it would fit."""
    path = tmp_path / "odd.csv"
    path.write_bytes(f"{HEADER}\nZoë,102,S,z,A,,,\n".encode("cp1252"))
    with pytest.raises(UsageError, match="is not UTF-8 text. Give the file as the platform exported it"):
        platform.filled(path, [])


def test_nobody_is_matched_by_name_or_by_half_an_id(tmp_path):
    strangers = [
        result("Lovelace, Ada", ids={"canvas": "10"}),
        result("Turing, Alan"),  # of a plain folder: only a name, and it is nobody's ID
        result("ghost", ids={"moodle": "101"}),
        result("emmy"),  # of a plain folder whose files are called by login
    ]
    data, outcome = canvas.filled(canvas_file(tmp_path), strangers)
    assert outcome.filled == 0 and data.decode() == CANVAS
    assert [line for line in outcome.lines if line.startswith("No row")] == [
        "No row: Lovelace, Ada (canvas 10) handed in, but no row has that ID.",
        "No row: Turing, Alan (named Turing, Alan) handed in, but no row has that ID.",
        "No row: ghost (moodle 101) handed in, but no row has that ID.",
    ]
    assert "Left as it is: Noether, Emmy 104; the assignment is not given to this student." in outcome.lines


def test_ids_that_fit_twice_fill_nothing_in(tmp_path):
    both = [result("one", ids={"canvas": "101"}), result("two", ids={"sid": "S1"})]
    torn = [result("torn", ids={"sid": "S1", "email": "alan"})]
    for results, words in ((both, "More than one submission: Lovelace"), (torn, "More than one row: torn")):
        data, outcome = canvas.filled(canvas_file(tmp_path), results)
        assert outcome.filled == 0 and data.decode() == CANVAS and any(words in line for line in outcome.lines)


def test_a_grade_that_we_failed_to_find_is_left_as_it_is(tmp_path):
    data, outcome = canvas.filled(canvas_file(tmp_path), [result(ids={"canvas": "102"}, fault=True)])
    assert outcome.filled == 0 and data.decode() == CANVAS
    assert any(line.startswith("Not graded: =Turing, Alan 102") for line in outcome.lines)


def test_the_assignment_is_the_lab_s_or_named_and_never_guessed(tmp_path):
    path = canvas_file(tmp_path, CANVAS.replace("Lab 1 (501)", "Homework (501)"))
    with pytest.raises(UsageError, match="2 assignments that fit.*--canvas-column.*Homework \\(501\\); Lab 2"):
        canvas.filled(path, canvas_results())
    for column in ("Homework", "501", "Homework (501)"):
        assert canvas.filled(path, canvas_results(), column)[1].filled == 2
    with pytest.raises(UsageError, match="no assignment `Hom`"):
        canvas.filled(path, canvas_results(), "Hom")


def test_points_possible_of_another_size_are_mentioned(tmp_path):
    lines = canvas.filled(canvas_file(tmp_path), canvas_results(), "Lab 2")[1].lines
    assert lines[0] == "Points Possible in Canvas is 10.00, the lab has 20: check which."


NO_CANVAS = ["", "a,b\n1,2\n", HEADER + '\n"never closed,1\n', "PK\x03\x04", "Student;ID\n"]


@pytest.mark.parametrize("text", NO_CANVAS)
def test_what_is_no_gradebook_is_one_line(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        canvas.filled(canvas_file(tmp_path, text), canvas_results())
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="UTF-16"):
        canvas.filled(canvas_file(tmp_path, HEADER, "utf-16"), canvas_results())


@pytest.mark.parametrize(
    ("points", "text"), [(0, "0"), (12.5, "12.5"), (1234567, "1234567"), (3.14159, "3.14"), (20.0, "20")]
)
def test_grades_are_plain_numbers(points, text):
    assert number_text(points) == text
    assert re.fullmatch(r"\d+(\.\d+)?", text)


@pytest.mark.parametrize("points", [float("nan"), float("inf"), -1])
def test_what_is_no_grade_is_refused(points):
    with pytest.raises(ValueError, match="no grade"):
        number_text(points)


MASHED = {  # as content_zipper.rb of Canvas makes them of names in a gradebook
    "Lovelace, Ada": "lovelaceada", "O'Neill, Séan": "oneillséan", "李, 小龙": "李小龙",
    "Åkerblom, Sven-Erik": "åkerblomsvenerik",
}  # fmt: skip


@pytest.mark.parametrize(("real", "mashed"), MASHED.items())
def test_a_real_name_is_found_by_the_id_and_only_where_it_is_that_student_s(tmp_path, real, mashed):
    names = canvas.real_names(canvas_file(tmp_path, CANVAS.replace("Lovelace, Ada", real)))
    assert names.of(mashed, {"canvas": "101"}) == names.of(f"{mashed} (101)", {"canvas": "101"}) == real
    for student, ids in ((mashed, {"canvas": "102"}), ("group1", {"canvas": "101"}), (mashed, {}), (mashed, {"sid": "101"})):
        assert names.of(student, ids) == ""  # of a group, Canvas gives a member's ID


def test_what_canvas_puts_around_a_name_like_a_formula_is_no_part_of_it(tmp_path):
    path = canvas_file(tmp_path, f'{HEADER}\n"=""=cmd|\'x\'!A0""",102,S2,x,A,,,\n')
    assert canvas.real_names(path).of("cmdxa0", {"canvas": "102"}) == "=cmd|'x'!A0"


def test_two_students_of_one_real_name_have_their_ids_behind_it(tmp_path):
    class_of = [result(f"lovelaceada ({each})", ids={"canvas": each}) for each in ("101", "102")]
    class_of.append(result("turingalan", ids={"canvas": "103"}))
    real = {"101": "Lovelace, Ada", "102": "Lovelace, Ada", "103": "Turing, Alan"}
    named = with_names(class_of, lambda student, ids: real[ids["canvas"]], tmp_path)
    assert [each.name for each in named] == ["Lovelace, Ada (101)", "Lovelace, Ada (102)", "Turing, Alan"]


def test_a_gradebook_with_first_and_last_names_apart_has_real_names_too(tmp_path):
    text = "LastName,FirstName,ID,Lab 1 (501)\nLovelace,Ada,101,\n,Points Possible,,20\n"
    assert canvas.real_names(canvas_file(tmp_path, text)).by_id == {"101": "Lovelace, Ada"}


# ---- Moodle ----------------------------------------------------------------------------------------

MOODLE_HEADER = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (grade)","Feedback comments"\n'
)
MOODLE = (
    MOODLE_HEADER
    + 'Participant 11,"Ada Lovelace",ada@x.edu,"Submitted for grading",,20.00,Yes,-,""\n'
    + 'Participant 111,"Alan Turing",alan@x.edu,"Submitted for grading","5.00",20.00,Yes,-,"=HYPERLINK(""x"")"\n'
    + 'Participant 12,"Grace Hopper",grace@x.edu,"Submitted for grading",9,20.00,No,-,\n'
)


def test_a_moodle_worksheet_is_filled_in_and_otherwise_the_same_bytes(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xef\xbb\xbf" + MOODLE.encode())
    students = {"Ada Lovelace": "11", "Alan Turing": "111", "Grace Hopper": "12", "Emmy Noether": "1"}
    results = [result(name, 17.25, {"moodle": number}) for name, number in students.items()]
    data, outcome = moodle.filled(path, results, comments="leave")
    expected = MOODLE.replace('grading",,20', 'grading",17.25,20').replace('"5.00"', '"17.25"')
    assert data == b"\xef\xbb\xbf" + expected.encode() and outcome.filled == 2
    assert outcome.lines == [
        "No row: Emmy Noether (moodle 1) handed in, but no row has that ID.",
        "Left as it is: Participant 12 Grace Hopper; Moodle says that this grade cannot be changed.",
    ]


def test_a_worksheet_in_another_language_needs_the_name_of_its_grades(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(MOODLE.replace("Grade,", "Bewertung,", 1).replace("Participant ", "Teilnehmer/in"))
    results = [result("Ada Lovelace", ids={"moodle": "11"})]
    with pytest.raises(UsageError, match="has no column `Grade`.*--moodle-column.*Bewertung"):
        moodle.filled(path, results)
    assert moodle.filled(path, results, "Bewertung")[1].filled == 1
    path.write_text(CANVAS)
    with pytest.raises(UsageError, match="is not a grading worksheet"):
        moodle.filled(path, results)


TEAMS = (  # as a worksheet of Moodle 4.1 and later has it for a team assignment: gradingtable.php, col_team
    'Identifier,"Full name","Email address",Status,Group,Grade,"Maximum grade"\n'
    'Participant 413,"Alan Turing",alan@x.edu,Submitted,"Group B",,23.00\n'
    'Participant 414,"Ada Lovelace",ada@x.edu,Submitted,"Group A",,23.00\n'
)


def moodle_filled(tmp_path, text, students, points=17.0, **options):
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    results = [result(name, points, {"moodle": number}) for name, number in students.items()]
    return moodle.filled(path, results, **options)


@pytest.mark.parametrize("header", ["Full name", "Vollständiger Name"])
@pytest.mark.parametrize(
    "students", [{"Group A": "413"}, {"Group A": "413", "Ada Lovelace": "414"}, {"Group B": "413"}]
)
def test_a_team_s_number_never_gives_a_mark_to_the_participant_who_has_it(tmp_path, header, students):
    data, outcome = moodle_filled(tmp_path, TEAMS.replace("Full name", header), students)
    assert ",17," not in data.decode().splitlines()[1] and outcome.filled == len(students) - 1
    said = next(line for line in outcome.lines if line.startswith("Another's number: Group"))
    assert "Participant 413 is " in said and "a team's number" in said and said.endswith("Nothing was filled in.")
    assert any(line.startswith("No submission: Participant 413 Alan Turing") for line in outcome.lines)


def test_those_in_no_team_have_no_number_and_get_nobody_s_row(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(TEAMS)
    data, outcome = moodle.filled(path, [result("Default group")])
    assert data.decode() == TEAMS and any(each.startswith("No row: Default group") for each in outcome.lines)


NAMES = [  # in the worksheet, and in the export: Moodle takes signs out of names of files, and file systems decompose
    ("Zoë O'Hara", "Zoë OHara"),
    ("Zoë O'Hara", "Zoe\u0308 OHara"),
    ("Ada King_Byron", "Ada King Byron"),
    ('Smith & Söhne <x>: ""a""', "Smith  Söhne x a"),
    ("  Ada   Lovelace ", "ada lovelace"),
    ("李 小龙", "李 小龙"),
    ("Weiß", "WEISS"),
    ("What? *", "What_ _"),  # unpacked on Windows
    ("Ada Lovelace", "Ada Lovelace (11)"),
    ("Ada Lovelace (11)", "Ada Lovelace (11) (moodle 11)"),
    ("Ada Lovelace", "Team A-Ada Lovelace"),  # before 4.1 the team's name, and the participant's own number
]


@pytest.mark.parametrize(("name", "exported"), NAMES)
def test_a_name_is_the_same_whatever_moodle_and_file_systems_do_to_it(tmp_path, name, exported):
    text = f'Identifier,"Full name",Grade\nParticipant 11,"{name}",\nParticipant 12,"Ada",\n'
    assert moodle_filled(tmp_path, text, {exported: "11"})[1].filled == 1
    assert moodle_filled(tmp_path, text, {exported: "12"})[1].filled == 0


@pytest.mark.parametrize(
    ("word", "exported"),
    [("Participant ", "Participant"), ("Teilnehmer/in", "Teilnehmerin"), ("Participant ", "Person")],
)
def test_an_anonymous_worksheet_works_by_number_alone(tmp_path, word, exported):
    text = f"Identifier,Status,Grade\n{word}11,Submitted,\n{word}412,Submitted,\n"
    students = [result(f"{exported} ({number})", ids={"moodle": number}) for number in ("11", "412")]
    path = tmp_path / "m.csv"
    path.write_text(text)
    data, outcome = moodle.filled(path, students)
    assert outcome.filled == 2 and data.decode().count("12.5") == 2
    named = text.replace("Status", "Full name").replace("Submitted", "Ada Lovelace")  # revealed since
    assert moodle_filled(tmp_path, named, {exported: "412"})[1].filled == (exported != "Person")


def test_a_team_in_an_anonymous_worksheet_gives_nobody_a_mark(tmp_path):
    text = "Identifier,Status,Group,Grade\nParticipant 413,Submitted,Group B,\nParticipant 414,Submitted,Group A,\n"
    data, outcome = moodle_filled(tmp_path, text, {"Group A": "413", "Group B": "414"})
    assert data.decode() == text and outcome.filled == 0
    assert outcome.lines[0].endswith(
        "that is a team's number: Participant 413 is somebody else. Nothing was filled in."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Identifier;Full name;Grade;Maximum grade\nParticipant 11;Ada;;20,00\n", "separated by `;`"),
        ("Identifier,Full name,Grade,Scale\nParticipant 11,Ada,,A\n", "not marked by points"),
        ("Identifier,Full name,Grade,Maximum grade\nParticipant 11,Ada,,-\n", "not marked by points"),
        ("Identifier,Full name,Grade,Maximum grade\nParticipant 11,Ada,,20.00\n", ""),
    ],
)
def test_what_moodle_would_make_of_the_file_is_said(tmp_path, text, said):
    outcome = moodle_filled(tmp_path, text, {"Ada": "11"})[1]
    assert outcome.filled == 1 and (said in outcome.lines[0] if said else outcome.lines == [])


WRITTEN = {
    "cap": ("23", "which was written"),
    "keep": ("27", "will pass over this row"),
    "refuse": ("5", "left as it is"),
}


@pytest.mark.parametrize("header", ["Grade,Maximum grade", "Grade,Maximum Grade", "Bewertung,Bestnote"])
@pytest.mark.parametrize("how", WRITTEN)
def test_a_grade_above_moodle_s_maximum_is_named_and_never_lost_in_silence(tmp_path, how, header):
    text = f'Identifier,"Full name",{header}\nParticipant 11,Ada,5,"23,00"\nParticipant 12,Bob,,"23,00"\n'
    path = tmp_path / "m.csv"
    path.write_text(text)
    results = [result("Ada", 27.0, {"moodle": "11"}, most=23.0), result("Bob", 23.004, {"moodle": "12"}, most=23.0)]
    data, outcome = moodle.filled(path, results, header.split(",")[0], above_maximum=how)
    points, words = WRITTEN[how]
    assert data.decode() == text.replace("Ada,5", f"Ada,{points}").replace("Bob,", "Bob,23")
    assert outcome.filled == (1 if how == "refuse" else 2) and len(outcome.lines) == 1
    assert outcome.lines[0].startswith(
        "Above the maximum: Participant 11 Ada; 27 points are more than Moodle's maximum of 23"
    )
    assert words in outcome.lines[0]


@pytest.mark.parametrize("column", ["Grade", "Bewertung"])
@pytest.mark.parametrize("cell", ["", "-", "A B C", "0.00", "nan", "inf"])
def test_where_moodle_has_no_maximum_every_grade_is_written(tmp_path, column, cell):
    text = f"Identifier,Full name,{column},Scale,Feedback\nParticipant 11,Ada,,{cell},\n"
    data, outcome = moodle_filled(tmp_path, text, {"Ada": "11"}, points=27.0, column=column)
    assert data.decode() == text.replace("Ada,,", "Ada,27,")
    assert all("not marked by points" in each for each in outcome.lines) and len(outcome.lines) == 1


# ---- Gradescope, JUnit -----------------------------------------------------------------------------


def test_results_json_has_the_fields_of_gradescope_s_specification():
    allowed = {"score", "execution_time", "output", "output_format", "visibility", "stdout_visibility"}
    allowed |= {"tests", "leaderboard"}
    of_a_test = {"score", "max_score", "status", "name", "output", "output_format", "visibility"}
    for each in CLASS:
        if any(check.fault for check in each.checks):
            with pytest.raises(UsageError, match="could not run every check"):
                gradescope.text(each)
            continue
        form = json.loads(gradescope.text(each))
        assert set(form) <= allowed and form["stdout_visibility"] == "hidden"
        assert form["score"] == pytest.approx(each.points, abs=0.01)
        assert [test["max_score"] for test in form["tests"]] == [check.max_points for check in each.checks]
        for test, checked in zip(form["tests"], each.checks, strict=True):
            assert set(test) <= of_a_test and test["output"] and test.get("status") in (None, "passed", "failed")
            assert (test.get("status") or "not run") == checked.outcome


def test_gradescope_s_leaderboard_has_what_each_speed_check_found():
    """As https://gradescope-autograders.readthedocs.io/en/latest/leaderboards/ has it; the more, the better."""
    gradable = [each for each in CLASS[:-1] if not any(check.fault for check in each.checks)]  # of plain numbers
    timed = [each for each in gradable if any("ratio" in check.measured for check in each.checks)]
    assert timed and len(timed) < len(gradable)
    for each in gradable:
        ratios = [round(check.measured["ratio"], 2) for check in each.checks if "ratio" in check.measured]
        board = json.loads(gradescope.text(each))["leaderboard"]
        assert board == [{"name": "Beats the baseline", "value": ratio, "order": "desc"} for ratio in ratios]


def test_junit_counts_what_it_holds_and_survives_any_text():
    nasty = replace(result("\x00<&\ud800\uffff"), error="no\x1bway")
    root = ElementTree.fromstring(junit.text([*CLASS, nasty]).encode())
    assert len(root.findall("testsuite")) == len(CLASS) + 1
    for suite in [root, *root]:
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(name)) == len(list(suite.iter(tag)))
    faults = sum(check.fault for each in CLASS for check in each.checks)
    assert int(root.attrib["errors"]) == faults > 0 and int(root.attrib["failures"]) > 0


# ---- secrets ---------------------------------------------------------------------------------------

SEED = "correct-horse-battery"


@check(points=2)
def doubles(attempt):
    """Every element is doubled."""
    a = attempt.uniform((8,))
    run = attempt.run("double", a=a, out=np.full(8, 7.0, np.float32))
    attempt.expect_close(run.outputs["out"], 2 * a.astype(np.float64), "out")


HIDDEN = '''
from autograder.grading import CheckFailed, check

@check(points=3, after=("doubles",))
def survives_the_31415_case(attempt):
    """Sizes around 31415 work."""
    raise CheckFailed("failed at 31415", mismatches=())

@check(points=1, after=("survives_the_31415_case",))
def waits(attempt):
    """The 27182 case."""
'''


class ClassWorker(FakeWorker):
    def __init__(self, *_):
        super().__init__(lambda a, out: None)

    def start(self):
        pass

    retire = close = start

    def read(self, submission, *_):
        right = "right" in Path(submission).read_text()
        self.function = (lambda a, out: np.multiply(a, 2, out=out)) if right else (lambda a, out: None)
        return self.summary


@pytest.fixture
def secret_class(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_module, "Worker", ClassWorker)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    (tmp_path / "hidden.py").write_text(HIDDEN)
    (tmp_path / "class").mkdir()
    for name in ("right", "wrong"):
        (tmp_path / "class" / f"{name}.py").write_text(name)
    lab = with_hidden_checks(lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "hidden.py")
    results = grade_class(lab, tmp_path / "class", tmp_path / "out", seed=SEED)
    return results, tmp_path / "out"


def secrets_of(results):
    """Every text that would give something away: the seed, what was drawn from it, and the hidden checks."""
    found = {SEED, "survives_the_31415_case", "31415", "27182", "default_rng", "waits"}
    for each in results:
        found.add(each.key)
        for checked in each.checks:
            found |= set(re.findall(r"default_rng\((\d+)\)", checked.reproduce))
            found |= {f"{value:.6g}" for m in checked.mismatches for value in (m.expected,)}
            found |= {line for line in checked.reproduce.splitlines() if "rng" in line}
    return {each for each in found if each}


def test_nothing_secret_is_in_anything_that_a_student_gets(secret_class):
    results, out = secret_class
    wrong = next(each for each in results if each.student == "wrong")
    assert wrong.checks[0].reproduce and wrong.checks[0].mismatches  # the instructor's result has it all
    assert wrong.checks[0].secret == "data" and wrong.checks[1].secret == "check"
    secrets = secrets_of(results)
    assert len(secrets) > 12
    pages = [path.read_text() for path in (out / "reports").glob("*.html")]
    forms = [gradescope.text(each) for each in results] + [junit.text(results)]
    forms += [html.fragment(for_students(each)) for each in results]
    assert len(pages) == 2
    for text in pages + forms:
        assert not [each for each in secrets if each in text]
        assert "Hidden check 1" in text or "hidden_1" in text
    assert all(secret not in (out / "class.json").read_text() for secret in secrets)


def test_without_secrets_reports_are_what_they_were():
    for each in CLASS:
        assert for_students(each) is each


def test_verdicts_and_points_are_the_same_for_students():
    checks = (
        CheckResult("a", "A.", "failed", 1, 2, "c[3] is 4.25", (Hint("h", "Look at 4.25."), Hint("g", "Mind the end.")),
                    (Mismatch("c", (3,), 5.5, 4.25),), secret="data"),
        CheckResult("b", "B.", "passed", 2, 2, measured={"ratio": 2.0, "threshold": 1.5, "x": 3}, secret="data"),
        CheckResult("d", "D.", "not run", 0, 2, "First to pass: A.", secret="check"),
        CheckResult("e", "E.", "not run", 0, 2, "First to pass: D."),
    )  # fmt: skip
    full = Result("lab", "Lab", "ann", "ann.py", checks, "d", "simulated", flags=("a: 4.25",), key="k")
    shown = for_students(full)
    assert (shown.points, shown.max_points, shown.outcome) == (full.points, full.max_points, full.outcome)
    assert [hint.name for hint in shown.checks[0].hints] == ["g"]
    assert dict(shown.checks[1].measured) == {"ratio": 2.0, "threshold": 1.5}
    assert shown.checks[3].message == "First to pass: Hidden check 1: a case of your instructor's own."
    assert shown.flags == () and shown.key == "" and "4.25" not in repr(shown)


def test_no_part_of_a_hidden_sentence_is_left_where_another_one_begins_like_it():
    checks = (
        CheckResult("a", "Works", "failed", 0, 1, "No.", secret="check"),
        CheckResult("b", "Works for tall matrices.", "not run", 0, 1, "First to pass: Works", secret="check"),
        CheckResult("c", "Third.", "not run", 0, 1, "First to pass: Works for tall matrices.", secret="check"),
        CheckResult("d", "Works in public.", "failed", 0, 1, "c[0] is 1, expected 2"),
        CheckResult("e", "Last.", "not run", 0, 1, "First to pass: Works in public."),
    )
    shown = for_students(Result("lab", "Lab", "ann", "ann.py", checks, "d", "simulated"))
    assert "tall" not in repr(shown) and "Third" not in repr(shown)
    assert shown.checks[2].message == "First to pass: Hidden check 2: a case of your instructor's own."
    assert shown.checks[4].message == "First to pass: Works in public."


def test_a_seed_that_could_be_guessed_or_read_by_nobody_is_bad_usage(tmp_path):
    seed = tmp_path / "seed"
    for text in (b"", b"  \n", b"1234567", b"\xff\xfe\xff\xfe"):
        seed.write_bytes(text)
        with pytest.raises(UsageError):
            read_seed(seed)
    with pytest.raises(UsageError, match="No such file"):
        read_seed(tmp_path / "none")
    seed.write_text(f"{SEED}\n")
    assert read_seed(seed) == SEED


def test_a_hidden_spec_says_where_it_is_wrong_and_may_hold_records(tmp_path):
    lab = lab_with(doubles, folder=tmp_path)
    for name, text, message in (
        ("hidden.txt", HIDDEN, r"hidden.txt is no spec. Hidden checks stand in a Python file \(.py\)"),
        ("mine.py", "x = 1\nprint(undefined)\n", "mine.py, line 2 cannot be loaded: NameError"),
        ("mine.py", HIDDEN.replace('\n    """The 27182 case."""', " ..."), "^mine.py: `waits` has no docstring"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(KitError, match=message):
            with_hidden_checks(lab, tmp_path / name)
    record = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass Case:\n    n: int\n"
    )
    (tmp_path / "mine.py").write_text(record + HIDDEN)
    assert len(with_hidden_checks(lab, tmp_path / "mine.py").checks) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "hidden.py holds no checks"),
        ("x = 1\ndef f(:\n", "^hidden.py, line 2 cannot be loaded: SyntaxError: invalid syntax$"),
        ("raise SystemExit(0)\n", "^hidden.py, line 1 cannot be loaded: SystemExit: 0$"),
        ("import sys\nsys.exit()\n", "^hidden.py, line 2 cannot be loaded: SystemExit:$"),
        (
            "from autograder.grading.labs import spec_of\nspec_of('lab77')\n",
            "^hidden.py, line 2 .* no lab called `lab77`",
        ),
        ("\xe9", "^hidden.py.* cannot be loaded: SyntaxError: .*utf-8"),
        (HIDDEN.replace("points=3", "points=float('nan')"), "^hidden.py: the points of `.*` are no number: nan."),
        (HIDDEN.replace("survives_the_31415_case(", "doubles("), "has a check called `doubles` already"),
        (HIDDEN.replace('("doubles",)', '("nothing",)'), "^hidden.py: .* is to come after `nothing`"),
        (HIDDEN.replace('("doubles",)', '"doubles"'), "^hidden.py, line .* names of checks stand in a tuple"),
        (HIDDEN.replace('\n    """The 27182 case."""', " ..."), "^hidden.py: `waits` has no docstring"),
    ],
)
def test_a_hidden_spec_that_is_none_is_bad_usage_in_one_line(tmp_path, text, message):
    (tmp_path / "hidden.py").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=message) as caught:
        with_hidden_checks(lab_with(doubles, folder=tmp_path), tmp_path / "hidden.py")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", ["raise RuntimeError", "raise SystemExit(0)"])
def test_a_hidden_check_that_fails_itself_is_our_fault_whatever_else_failed(secret_class, tmp_path, line):
    head, _, tail = HIDDEN.partition(', after=("doubles",)')
    (tmp_path / "faulty.py").write_text(
        head + tail.replace('raise CheckFailed("failed at 31415", mismatches=())', line)
    )
    lab = with_hidden_checks(lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "faulty.py")
    results = grade_class(lab, tmp_path / "class", tmp_path / "faulty", seed=SEED)
    assert len(results) == 2 and all(any(check.fault for check in each.checks) and each.flags for each in results)
    assert cli.exit_code(results) == 3


# ---- a finished run --------------------------------------------------------------------------------


def test_forms_come_from_a_finished_run_too(secret_class, tmp_path, capsys):
    results, out = secret_class
    assert read_class(out) == results
    sheet = tmp_path / "canvas.csv"
    sheet.write_text("Student,ID,Doubling (7)\nx,right,\ny,wrong,\nz,none,\n")
    (tmp_path / "moodle.csv").write_text("Identifier,ID number,Grade\nParticipant 1,right,\nParticipant 2,left,7\n")
    forms = ["--canvas", sheet, "--moodle", tmp_path / "moodle.csv", "--gradescope", "--junit", tmp_path / "j.xml"]
    assert cli.main(["export", str(out), *map(str, forms)]) == 0
    assert (out / "canvas.csv").read_text() == "Student,ID,Doubling (7)\nx,right,2\ny,wrong,0\nz,none,\n"
    printed = capsys.readouterr().out
    assert "2 grades filled in" in printed and "No submission: z none" in printed and "No row: wrong" in printed
    page = (out / "index.html").read_text()
    assert "canvas.csv: not filled in, or odd (1)" in page and "No submission: z none; its grade was left" in page
    assert "moodle.csv: not filled in, or odd (2)" in page and "No row: wrong" in page
    assert sorted(path.parent.name for path in out.glob("gradescope/*/results.json")) == ["right", "wrong"]
    assert int(ElementTree.parse(tmp_path / "j.xml").getroot().attrib["tests"]) == 6
    assert cli.main(["export", str(out), "--canvas", str(out / "canvas.csv")]) == 2
    assert cli.main(["export", str(tmp_path)]) == 2 and "not the folder of a finished run" in capsys.readouterr().err


def test_canvas_s_names_stand_on_pages_and_tables_and_files_are_called_as_before(secret_class, tmp_path, capsys):
    handed_in = tmp_path / "export"
    handed_in.mkdir()
    for name in ("turingadele_101_1_right.py", "lovelaceada_102_2_wrong.py"):
        (handed_in / name).write_text(name)
    (tmp_path / "canvas.csv").write_text('Student,ID,Doubling (7)\n"Turing, Adele",101,\n"Lovelace, Ada",102,\n')
    lab, out = lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "named"
    mashed = grade_class(lab, handed_in, out)
    assert [each.name for each in mashed] == ["", ""] and "Turing, Adele" not in (out / "index.html").read_text()

    def everywhere(folder):
        texts = [folder / "index.html", folder / "gradebook.csv", folder / "reports" / "turingadele.html"]
        return all("Turing, Adele" in path.read_text(encoding="utf-8") for path in texts)

    assert cli.main(["export", str(out), "--canvas", str(tmp_path / "canvas.csv"), "--feedback"]) == 0
    assert everywhere(out) and [each.name for each in read_class(out)] == ["Lovelace, Ada", "Turing, Adele"]
    assert {path.stem for path in (out / "results").iterdir()} == {"turingadele", "lovelaceada"}
    with zipfile.ZipFile(out / "feedback_canvas.zip") as opened:
        assert b"Turing, Adele" in opened.read("turingadele_101_1_report.html")
    assert grade_class(lab, handed_in, out) == read_class(out) and everywhere(out)  # known from the run before
    names = canvas.real_names(tmp_path / "canvas.csv").of
    again = grade_class(lab, handed_in, tmp_path / "fresh", told=Told(name_of=names))
    assert everywhere(tmp_path / "fresh") and again == read_class(tmp_path / "fresh")
    (only,) = grade_class(lab, handed_in, tmp_path / "one", told=Told(name_of=names), only=["Turing, Adele"])
    assert only.student == "turingadele"


NO_GRADE = {
    "--canvas": "Student,ID,Doubling (7)\nx,101,\n",
    "--moodle": "Identifier,Grade\nParticipant 1,\n",
}


@pytest.mark.parametrize(("option", "text"), NO_GRADE.items())
def test_a_file_into_which_no_grade_goes_is_one_loud_line_and_bad_input(secret_class, tmp_path, capsys, option, text):
    _, out = secret_class
    (tmp_path / "given.csv").write_text(text)
    (out / "gradebook.csv").write_text("") if option == "--moodle" else None
    before = (out / "gradebook.csv").read_bytes()
    assert cli.main(["export", str(out), option, str(tmp_path / "given.csv"), "--gradescope"]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1 and "No grade at all could be filled into" in printed.err
    assert "given.csv (no row: 2). They have no IDs" in printed.err and "No row" not in printed.out
    assert "results.json for 2" in printed.out and (out / "gradebook.csv").read_bytes() == before
    assert "No row: right" in (out / "index.html").read_text()


def test_a_class_whose_grades_fit_nowhere_is_graded_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(batch_module, "Worker", ClassWorker)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "right.py").write_text("right")
    (tmp_path / "given.csv").write_text(NO_GRADE["--moodle"])
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    lab = lab_with(doubles, folder=tmp_path / "lab")
    monkeypatch.setattr("autograder.grading.labs.load_lab", lambda name: lab)
    command = [
        "grade",
        "lab99",
        str(tmp_path / "class"),
        "--out",
        str(tmp_path / "out"),
        "--moodle",
        str(tmp_path / "given.csv"),
    ]
    assert cli.main(command) == 2 and "No grade at all" in capsys.readouterr().err
    assert "right" in (tmp_path / "out" / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert [each.points for each in read_class(tmp_path / "out")] == [2]


def test_a_class_that_we_could_not_grade_is_our_fault_and_not_the_file_s(tmp_path, capsys, monkeypatch):
    (tmp_path / "given.csv").write_text("Student,ID,Lab 1 (501)\nx,102,\n")
    monkeypatch.setattr(
        "autograder.grading.class_folder.read_class", lambda out: [result(ids={"canvas": "102"}, fault=True)]
    )
    assert cli.main(["export", str(tmp_path), "--canvas", str(tmp_path / "given.csv"), "--gradescope"]) == 3
    printed = capsys.readouterr().err
    assert "(not graded: 1)" in printed and "No results.json was written" in printed


def test_regrade_and_only_touch_what_they_name(secret_class, tmp_path, monkeypatch):
    results, out = secret_class
    lab = with_hidden_checks(lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "hidden.py")
    reads = []
    read = ClassWorker.read
    monkeypatch.setattr(
        ClassWorker, "read", lambda self, path, *_: (reads.append(Path(path).stem), read(self, path))[1]
    )
    again = grade_class(lab, tmp_path / "class", out, seed=SEED)
    assert reads == [] and again == results
    grade_class(lab, tmp_path / "class", out, seed=SEED, only=["wrong"], regrade=True)
    assert reads == ["wrong"] and len(read_class(out)) == 2
    grade_class(lab, tmp_path / "class", out, seed=SEED, regrade=True)
    assert sorted(reads) == ["right", "wrong", "wrong"]
    fresh = grade_class(lab, tmp_path / "class", tmp_path / "fresh", seed=SEED, only=["right"])
    assert [each.student for each in fresh] == ["right"] and len(read_class(tmp_path / "fresh")) == 1


def test_a_result_that_only_left_out_of_date_is_flagged_on_the_page_and_in_the_gradebook(secret_class, tmp_path):
    _, out = secret_class
    lab = with_hidden_checks(lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "hidden.py")
    for change, is_flagged in ((lambda: None, False), (lambda: rewrite(tmp_path / "class" / "right.py"), True)):
        change()
        results = {each.student: each for each in grade_class(lab, tmp_path / "class", out, seed=SEED, only=["wrong"])}
        assert (OUT_OF_DATE in results["right"].flags) is is_flagged and not results["wrong"].flags
        assert [OUT_OF_DATE in each.flags for each in read_class(out)] == [is_flagged, False]
        for file in ("index.html", "gradebook.csv"):
            assert ("left from an earlier run" in (out / file).read_text(encoding="utf-8-sig")) is is_flagged
        assert "left from an earlier run" not in (out / "reports" / "right.html").read_text()
    renewed = grade_class(lab, tmp_path / "class", out, seed=SEED)
    assert not any(each.flags for each in renewed) and not any(each.flags for each in read_class(out))


def test_of_a_zip_too_only_what_has_changed_is_out_of_date(secret_class, tmp_path):
    lab = lab_with(doubles, folder=tmp_path / "lab")
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as export:
        for name in ("right", "wrong"):
            export.writestr(f"{name}.py", name)
    grade_class(lab, tmp_path / "class.zip", tmp_path / "zipped")
    again = grade_class(lab, tmp_path / "class.zip", tmp_path / "zipped", only=["wrong"], regrade=True)
    assert len(again) == 2 and not any(each.flags for each in again)


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--canvas", "Student,ID,One (1),Two (2)\nA,101,,\n", "2 assignments that fit. Name one with --canvas-column"),
        ("--canvas", "Name,Grade\nA,\n", "is not a gradebook of Canvas"),
        ("--moodle", "Identifier,Bewertung\nParticipant 1,\n", "has no column `Grade`. Name it with --moodle-column"),
        ("--moodle", "", "is empty"),
        ("--junit", None, "is a folder, not a file"),
    ],
)
def test_a_form_that_will_not_do_is_found_out_before_the_class_is_graded(tmp_path, capsys, option, text, message):
    given = tmp_path / "given"
    given.mkdir() if text is None else given.write_text(text)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.py").write_text("x = 1\n")
    command = ["grade", "lab01", str(tmp_path / "class"), "--out", str(tmp_path / "out"), option, str(given)]
    assert cli.main(command) == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def rewrite(path):
    path.write_text(path.read_text() + "\n# handed in again\n")


def test_notes_and_ids_reach_the_gradebook_and_the_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_module, "Worker", ClassWorker)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "spec.py").write_text("s")
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "lovelaceada_LATE_101_900_lab.py").write_text("right")
    (tmp_path / "class" / "=evil_102_901_lab.pdf").write_text("right")
    grade_class(lab_with(doubles, folder=tmp_path / "lab"), tmp_path / "class", tmp_path / "out")
    gradebook = (tmp_path / "out" / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert "canvas 101" in gradebook and "'=evil" in gradebook
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("Late, says the platform.") == 1 and "neither a notebook" in page
    assert "Late, says the platform." in (tmp_path / "out" / "reports" / "lovelaceada.html").read_text()
