"""Submissions that are alike: the same files first, copies under other names, and nothing that everybody has at hand."""

from __future__ import annotations

import csv
import io
import re
import time
from collections import Counter
from dataclasses import replace

import pytest

from autograder.errors import Line
from autograder.grading import class_folder
from autograder.grading.at_hand import at_hand
from autograder.grading.class_folder import Told, prepared, renewed_class, write_reports
from autograder.grading.labs import load_lab
from autograder.language import parse_program
from autograder.language.canonical import fingerprints
from autograder.language.source import read_submission, submission_from_cells
from autograder.records.json_form import from_text, to_text, write_result
from autograder.records.results import CanonicalStatement, CheckResult, FunctionFingerprint, Result
from autograder.reports import alike, alike_page, class_page, gradebook, html
from autograder.reports.alike import MOST_STUDENTS, NEARLY, SAME_FILE, SAME_PROGRAM, SAME_TEXT, AtHand

NOTHING = AtHand()
PROGRAM = """
def f(a, out):
    for i in range(3):  # thrice
        first = a[i] + 1
        second = a[i] * a[i + 1]
        third = first - second
        if third < 0:
            out[i] = second
        else:
            out[i] = third / 2
    out[0] = max(a[0], a[1])
    out[1] = a[2] ** 3
    out[2] = -a[1]
    out[3] = a[0] // 2
"""
RENAMED = PROGRAM.replace("first", "u").replace("second", "v").replace("third", "w").replace("  # thrice", "")
CHECKS = (CheckResult("it_works", "It works.", "passed", 1, 1),)


def program(text):
    return fingerprints(parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False)))


def handed_in(student, text, **fields):
    found = program(text) if text else ()
    return Result("lab01", "Lab 1", student, f"{student}.py", CHECKS, "d", "simulated", fingerprints=found, **fields)


def other(number):
    """A program that has nothing in common with any other number's."""
    return f"def f(a, out):\n    out[0] = a.{'x' * (number + 1)}\n    out[1] = a.{'y' * (number + 1)}\n"


def kinds(results, known=NOTHING):
    return [(each.kind, [one.student for one in each.results]) for each in alike.alike(results, known)]


def test_groups_are_told_by_what_says_most_of_them_and_the_same_files_come_first():
    found = kinds(
        [
            handed_in("emmy", RENAMED, key="e"),
            handed_in("alan", PROGRAM.replace("    first", "    first "), key="b"),
            handed_in("grace", other(1), key="g"),
            handed_in("ada", PROGRAM, key="a"),
            handed_in("kurt", PROGRAM, key="a"),
            handed_in("alonzo", PROGRAM.replace("out[0] = max(a[0], a[1])", "out[1] = min(a[0], a[1])"), key="l"),
        ]
    )
    assert found == [
        (SAME_FILE, ["ada", "kurt"]),
        (SAME_PROGRAM, ["ada", "alan", "emmy", "kurt"]),
        (NEARLY, ["ada", "alonzo", "alan", "emmy", "kurt"]),
    ]


def test_the_same_text_is_more_than_the_same_program():
    assert kinds([handed_in("ada", PROGRAM, key="a"), handed_in("alan", PROGRAM + "\n", key="b")]) == [
        (SAME_TEXT, ["ada", "alan"])
    ]
    assert kinds([handed_in("ada", PROGRAM), handed_in("alan", RENAMED)]) == [(SAME_PROGRAM, ["ada", "alan"])]
    assert kinds([handed_in("ada", PROGRAM), handed_in("alan", other(1))]) == []


def test_what_is_at_hand_is_no_sign_of_anything_and_one_file_is_one_file():
    known = AtHand.of(program(PROGRAM), program(other(3)))
    assert kinds([handed_in("ada", PROGRAM, key="a"), handed_in("alan", RENAMED, key="b")], known) == []
    assert kinds([handed_in("ada", PROGRAM, key="a"), handed_in("alan", PROGRAM, key="b")], known) == []
    assert kinds([handed_in("ada", PROGRAM, key="a"), handed_in("alan", PROGRAM, key="a")], known) == [
        (SAME_FILE, ["ada", "alan"])
    ]
    untouched = [handed_in("ada", other(3), key="a"), handed_in("alan", other(3), key="a")]
    assert kinds(untouched, known) == [] and kinds(untouched) == [(SAME_FILE, ["ada", "alan"])]


def test_what_more_than_a_few_have_is_what_one_comes_to():
    class_of = [handed_in(f"student {number}", PROGRAM) for number in range(MOST_STUDENTS)]
    assert [kind for kind, _ in kinds(class_of)] == [SAME_TEXT]
    assert kinds([*class_of, handed_in("ada", PROGRAM)]) == []


def test_who_cannot_be_read_is_counted_and_may_have_handed_in_the_same_file():
    unread = [handed_in(name, "", key="k", error="Broken.") for name in ("ada", "alan")]
    nothing = [handed_in(name, "", error="Nothing.") for name in ("emmy", "kurt")]
    assert kinds([*unread, *nothing]) == [(SAME_FILE, ["ada", "alan"])]
    results = [*unread, *nothing, handed_in("grace", PROGRAM)]
    page = alike_page.render(alike.alike(results, NOTHING), results, "Lab 1")
    assert "1 of 5 submissions were compared; of the others only files can be the same" in page


def test_the_page_shows_both_side_by_side_with_what_they_share_and_escapes_what_students_wrote():
    ada, alan = handed_in("ada", PROGRAM), handed_in("<b>alan", RENAMED.replace("def f(a", "def f(a, *b"))
    assert kinds([ada, alan]) == []
    alan = handed_in("<b>alan", RENAMED + "    # <script>alert(1)</script>\n    pass\n")
    page = alike_page.render(alike.alike([ada, alan], NOTHING), [ada, alan], "Lab 1")
    assert "<b>alan" not in page and "&lt;b&gt;alan" in page and "<script" not in page
    shown = re.findall(r"<pre.*?</pre>", page, re.DOTALL)
    assert len(shown) == 2 and all(each.count("<mark>") == 11 for each in shown)
    assert "<mark>        u = a[i] + 1</mark>" in shown[0] + shown[1]
    assert "# thrice" in page and "first" in page
    assert "No two submissions are alike" in alike_page.render([], [ada], "Lab 1")
    for word in ("cheat", "plagiar", "copied", "suspect"):
        assert word not in page.casefold()


def test_the_table_has_a_row_a_group_and_no_formula():
    groups = alike.alike([handed_in("=ada", PROGRAM), handed_in("alan", RENAMED)], NOTHING)
    head, row = csv.reader(io.StringIO(alike.text(groups)))
    assert head == ["alike", "students", "submissions", "own_statements", "share"]
    assert row == ["same but for names", "'=ada; alan", "'=ada.py; alan.py", "11", "1.0"]


def test_no_students_report_says_anything_of_it(tmp_path):
    results = [handed_in("ada", PROGRAM), handed_in("alan", RENAMED)]
    alone = html.render(results[0])
    lab = load_lab("lab01")
    with prepared(tmp_path):
        write_reports(results, lab, tmp_path, ["ada", "alan"])
    assert (tmp_path / "reports" / "ada.html").read_text(encoding="utf-8") == alone
    assert "alan" not in alone and "alike" not in alone
    assert SAME_PROGRAM in (tmp_path / "alike.csv").read_text(encoding="utf-8")
    assert 'href="alike.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'href="alike.html"' not in class_page.render(results[:1], "Lab 1") and "alike" not in gradebook.text(results)


def test_names_that_come_later_stand_on_the_page_and_what_was_at_hand_stays_known(tmp_path, monkeypatch):
    results = [handed_in("ada", PROGRAM), handed_in("alan", RENAMED), handed_in("kurt", other(1), key="k")]
    results.append(handed_in("emmy", other(1), key="k"))
    monkeypatch.setattr(class_folder, "at_hand", lambda lab: AtHand.of(program(PROGRAM), program(other(1))))
    with prepared(tmp_path):
        write_reports(results, load_lab("lab01"), tmp_path, [each.student for each in results])
    for each in results:
        write_result(each, tmp_path / "results" / f"{each.student}.json")
    assert len((tmp_path / "alike.csv").read_text(encoding="utf-8").splitlines()) == 1
    renewed_class(results, Told(name_of=lambda student, ids: student.upper()), tmp_path)
    assert len((tmp_path / "alike.csv").read_text(encoding="utf-8").splitlines()) == 1
    (tmp_path / "class.json").unlink()
    renewed_class(results, Told(name_of=lambda student, ids: student.upper()), tmp_path)
    assert "ADA; ALAN" in (tmp_path / "alike.csv").read_text(encoding="utf-8")
    assert from_text(to_text(results[0])) == results[0]


@pytest.mark.parametrize(
    ("name", "in_two_sizes", "nearly"), [("lab01", 0, 1), ("lab03", 1, 1), ("lab04", 0, 1), ("lab05", 0, 0)]
)
def test_right_answers_of_different_designs_are_not_alike(name, in_two_sizes, nearly):
    """Where the right answers are not known, but the solution is: one design is left in two sizes, or with two loops."""
    lab = load_lab(name)
    solutions = lab.folder.parent.parent / "solutions" / lab.name
    asked_for = [each.name for each in lab.required]
    starter = fingerprints(parse_program(read_submission(lab.notebook)), asked_for)
    known = AtHand.of([*starter, *fingerprints(parse_program(read_submission(solutions / "lab.ipynb")))], starter)
    results = []
    for path in sorted((solutions / "right").glob("*.py")):
        found = fingerprints(parse_program(read_submission(path)), asked_for)
        results.append(Result(lab.name, lab.title, path.stem, path.name, CHECKS, "d", "simulated", fingerprints=found))
    kinds = [each.kind for each in alike.alike(results, known)]
    assert sorted(kinds) == [NEARLY] * nearly + [SAME_TEXT] * in_two_sizes
    assert len(results) > 8 and alike.alike(results, at_hand(lab)) == []  # all of them are known answers


def test_a_class_of_three_hundred_takes_seconds():
    lab = load_lab("lab02")
    folder = lab.folder.parent.parent / "solutions" / lab.name
    files = [*folder.glob("right/*.py"), *folder.glob("wrong/*.py")]
    programs = [fingerprints(parse_program(read_submission(path))) for path in files]
    results = [
        Result(lab.name, lab.title, f"{number}", "lab.py", CHECKS, "d", "simulated", fingerprints=programs[number % 60])
        for number in range(300)
    ]
    started = time.process_time()
    groups = alike.alike(results, NOTHING)
    alike_page.render(groups, results, lab.title)
    assert groups and time.process_time() - started < 20


def test_what_is_looked_at_grows_with_the_class_and_not_with_its_square(monkeypatch):
    """200 pairs of students, each with one statement in common: these are held against each other, not all 79,800."""
    looked_at = []

    class Counted(Counter[str]):
        def __and__(self, other):
            looked_at.append(1)
            return super().__and__(other)

    monkeypatch.setattr(alike, "Counter", Counted)

    def one(number):
        digests = [f"own {number} {at}" for at in range(alike.NEARLY_OWN)] + [f"shared {number // 2}"]
        statements = tuple(CanonicalStatement(each, at) for at, each in enumerate(digests))
        function = FunctionFingerprint("f", True, Line("lab.py", 1), f"def f{number}(): pass", f"{number}", statements)
        return replace(handed_in(f"student{number}", PROGRAM), fingerprints=(function,), key=f"{number}")

    assert alike.alike([one(number) for number in range(400)], NOTHING) == []
    assert len(looked_at) == 200
