"""What a class misunderstands: counted by check and hint, the untried apart, and an example that names nobody."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from autograder.errors import Line
from autograder.records.hazards import Hazard
from autograder.records.results import CheckResult, FunctionText, Hint, Picture, Result
from autograder.reports import misconceptions
from autograder.reports.misconceptions import steps

CODE = """def scale(a, b):  # by Ada Lovelace
    # "Ada's own idea"
    i = cuda.grid(1)
    b[i] = "#" * a[i]
"""
HAZARD = Hazard("out_of_bounds", "Writes b[64].", "Guard it.", Line("ada.py", 13), text="    b[i] = 2 * a[i]")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" id="ada"><text>{}</text></svg>'


def check(name, outcome="passed", hints=(), **fields):
    shown = tuple(Hint(each, f"You forgot {each}.", "line 3") for each in hints)
    return CheckResult(name, f"{name} is right.", outcome, 0, 1, hints=shown, **fields)


def result(student, *checks, **fields):
    functions = fields.pop("functions", (FunctionText("scale", True, Line("ada.py", 10), CODE),))
    return Result("lab01", "Lab 1", student, f"{student}.py", checks, "d", "simulated", functions=functions, **fields)


def a_class():
    blocked = check("second", "not run")
    failed = {"outcome": "failed", "came_to": ("scale",)}
    return [
        result("ada", check("first", hints=["guard"], hazards=(HAZARD,), **failed), blocked, key="a"),
        result("emmy", check("first", hints=["guard", "sync"], **failed), blocked, key="b"),
        result("grace", check("first", **failed), blocked),
        result("alan", check("first", "failed", hints=["sync"], tried=False), blocked),
        result("kurt", check("first"), check("second"), check("extra", bonus=True)),
        result("alonzo", check("first"), check("second", "failed"), check("extra", "not run", bonus=True)),
    ]


def students(results):
    return [each.student for each in results]


def test_each_check_counts_who_ran_it_and_who_has_not_begun_is_no_failure():
    first, second, extra = steps(a_class())
    assert (first.number, first.ran, first.total) == (1, 6, 6)
    assert students(first.passed) == ["kurt", "alonzo"] and students(first.failed) == ["ada", "emmy", "grace"]
    assert students(first.not_tried) == ["alan"] and students(first.without_hint) == ["grace"]
    assert (second.ran, second.total) == (2, 6) and students(second.not_run) == ["ada", "emmy", "grace", "alan"]
    assert extra.is_bonus and not second.is_bonus and extra.total == 2


def test_hints_are_counted_most_frequent_first_and_not_those_of_a_starter():
    (first, *_) = steps(a_class())
    assert [(each.name, students(each.results)) for each in first.hints] == [
        ("guard", ["ada", "emmy"]),
        ("sync", ["emmy"]),
    ]
    assert first.hints[0].sentence == "You forgot guard."


def test_checks_keep_the_lab_s_order_whatever_fails_most():
    results = [result("a", check("one"), check("two", "failed")), result("b", check("one"), check("two", "failed"))]
    assert [each.name for each in steps(results)] == ["one", "two"] and steps([]) == ()


def test_an_example_has_the_code_with_the_hazard_s_line_marked_and_nobody_s_name():
    (first, *_) = steps(a_class()[:1])
    example = first.hints[0].example
    assert example is not None and example.hazards == ("Writes b[64].",)
    assert [(each.text, each.is_marked) for each in example.code if each.text] == [
        ("def scale(a, b):", False),
        ("    i = cuda.grid(1)", False),
        ('    b[i] = "#" * a[i]', True),
    ]


@pytest.mark.parametrize(
    ("student", "ids", "code"),
    [
        ("Ada Lovelace", {}, 'def scale(a, b):\n    "By ADA."\n'),
        ("x", {"sid": "s4711"}, "def scale(a, b):\n    s4711 = 1\n"),
        ("李 小龙", {}, 'def scale(a, b):\n    "小龙"\n'),
        ("kwame_mensah", {}, "def mensah_kernel(a, b):\n    a[0] = 1\n"),
    ],
)
def test_code_that_says_whose_it_is_is_no_example_and_somebody_else_s_is(student, ids, code):
    function = FunctionText("scale", True, Line("x.py", 1), code)
    signed = result(
        student, check("first", "failed", ["guard"], came_to=("scale",)), functions=(function,), ids=ids, key="z"
    )
    (alone,) = steps([signed])
    assert alone.hints[0].example is None
    other = replace(signed, student="emmy", ids={}, key="a")
    (both,) = steps([signed, other])
    example = both.hints[0].example
    assert example is not None and "\n".join(each.text for each in example.code).strip() == code.strip()


def test_a_picture_makes_the_better_example_unless_it_names_somebody():
    plain, drawn = Picture(SVG.format("b[64]"), "b[64] is wrong"), Picture(SVG.format("for emmy"), "b[64] is wrong")
    failed = {"outcome": "failed", "came_to": ("scale",)}
    ada = result("ada", check("first", hints=["guard"], pictures=(plain,), **failed), key="a")
    emmy = result("emmy", check("first", hints=["guard"], pictures=(drawn,), **failed), key="b")
    for order in ([ada, emmy], [emmy, ada]):
        (first,) = steps(order)
        example = first.hints[0].example
        assert example is not None and example.picture == plain
    large = replace(plain, svg=plain.svg + " " * misconceptions.MOST_OF_A_DRAWING)
    (first,) = steps([result("ada", check("first", hints=["guard"], pictures=(large,), **failed))])
    assert first.hints[0].example is not None and first.hints[0].example.picture is None


def test_an_example_is_of_those_who_read_the_same_sentence_and_says_where_it_may_quote_secrets():
    told = [Hint("guard", text, "w") for text in ("64 threads.", "96 threads.", "96 threads.")]
    results = [
        result(name, replace(check("first", "failed", came_to=("scale",), secret="data"), hints=(hint,)), key=name)
        for name, hint in zip("zab", told, strict=True)
    ]
    tally = steps(results)[0].hints[0]
    assert tally.sentence == "96 threads." and len(tally.results) == 3
    assert tally.example is not None and tally.example.is_secret


def test_code_that_python_cannot_split_into_tokens_is_shown_up_to_there():
    odd = FunctionText("scale", True, Line("x.py", 1), "def scale(a):  # mine\n    x = '''never closed\n")
    (first,) = steps([result("emmy", check("first", "failed", ["guard"], came_to=("scale",)), functions=(odd,))])
    example = first.hints[0].example
    assert example is not None and example.code[0].text == "def scale(a):"


def test_the_table_has_a_row_a_hint_with_its_count_share_and_students():
    rows = list(csv.DictReader(io.StringIO(misconceptions.text(a_class()))))
    assert [(row["check"], row["hint"], row["count"], row["share"], row["students"]) for row in rows] == [
        ("first", "guard", "2", "0.3333", "ada; emmy"),
        ("first", "sync", "1", "0.1667", "emmy"),
        ("first", "(no hint)", "1", "0.1667", "grace"),
        ("first", "(not tried)", "1", "0.1667", "alan"),
        ("second", "(no hint)", "1", "0.1667", "alonzo"),
    ]
    assert rows[0]["sentence"] == "You forgot guard."


def test_a_name_that_is_a_formula_is_text_in_the_table_and_a_large_class_is_listed_whole():
    results = [result(f"=SUM({i:03d})", check("first", "failed", ["+1"])) for i in range(300)]
    (row,) = csv.DictReader(io.StringIO(misconceptions.text(results)))
    assert row["students"].startswith("'=SUM(000); ") and row["students"].endswith("=SUM(299)")
    assert row["hint"] == "'+1" and misconceptions.text([]).count("\n") == 1
