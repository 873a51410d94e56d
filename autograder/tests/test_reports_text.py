"""Reports as text, JSON and CSV: exact, safe with anything a student wrote, the same bytes every time."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import textwrap
import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.errors import GraderFault, UsageError
from autograder.records import json_form
from autograder.records.counters import Counters
from autograder.records.files import former_report_names, report_name, write_atomically
from autograder.records.results import CheckResult, Mismatch, Result
from autograder.records.versions import VERSION
from autograder.reports import class_page, gradebook, gradescope, html, junit, terminal, wording
from autograder.reports.attention import reasons
from autograder.reports.speed import next_step, speed_of
from autograder.tests import sample_results as samples

ALL = (*samples.KINDS, samples.hostile)


# ---- JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.__name__)
def test_a_result_survives_json_exactly(sample):
    result = sample()
    text = json_form.to_text(result)
    again = json_form.from_text(text)
    assert json_form.to_text(again) == text
    if "nan" not in repr(result):  # NaN is unequal to itself
        assert again == result


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is not at fault
@given(st.dictionaries(st.text(), values, max_size=4), st.text())
def test_any_measured_value_and_any_text_survive_json(measured, text):
    result = samples.result_with(text, {"walks_along_rows": {"measured": measured, "message": text}})
    assert json_form.from_text(json_form.to_text(result)) == result


@pytest.mark.parametrize("name", ["$float", "$", "$$float"])
def test_a_key_of_the_students_own_is_not_taken_for_a_number(name):
    result = samples.result_with("ada", {"walks_along_rows": {"measured": {"case": {name: "nan"}}}})
    assert json_form.from_text(json_form.to_text(result)) == result


def test_json_takes_numpy_scalars_and_stays_strict_about_nan_and_infinity():
    numbers = {"ratio": np.float32(2.5), "count": np.int64(2**62), "right": np.bool_(True), "shape": np.array([3, 4])}
    one: Any = np.int64(1)
    infinite: Any = np.float32("-inf")
    wrong = Mismatch("c", (one, 2), np.float64("nan"), infinite)
    result = samples.result_with("ada", {"walks_along_rows": {"measured": numbers, "mismatches": (wrong,)}})
    form = json.loads(json_form.to_text(result), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    check = json_form.from_dict(form).checks[5]
    assert check.measured == {"ratio": 2.5, "count": 2**62, "right": True, "shape": (3, 4)}
    assert np.isnan(check.mismatches[0].expected) and check.mismatches[0].got == -math.inf
    assert type(check.mismatches[0].index[0]) is int


def test_json_has_the_fields_of_hazards_and_reads_results_that_were_written_without_them():
    fields = ("access", "shape", "other_writes", "barrier", "absent")
    raced = next(each for each in samples.race().checks if each.hazards)
    known = raced.hazards[0]
    told = replace(known, access="store", shape=(4, 4), other_writes=True, barrier="warp", absent=2)
    result = samples.result_with("ada", {raced.name: {"hazards": (told,)}})
    text = json_form.to_text(result)
    assert json_form.from_text(text) == result
    form = json.loads(text)
    for check in form["checks"]:
        check["hazards"] = [{key: each[key] for key in each if key not in fields} for each in check["hazards"]]
    (older,) = next(each.hazards for each in json_form.from_dict(form).checks if each.hazards)
    assert older == known and (older.access, older.shape, older.barrier, older.absent) == (None, None, None, 0)


def test_json_says_the_verdict_without_being_trusted_on_it():
    form = json_form.to_dict(samples.transposed_mapping())
    assert (form["version"], form["points"], form["max_points"], form["outcome"]) == (VERSION, 6.5, 13, "failed")
    assert json_form.from_dict(form | {"points": 100}).points == 6.5


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 99}', '{"version": 2}', '{"version": 2, "nonsense": 0}', "[" * 100_000],
    ids=["empty", "list", "no version", "later version", "no fields", "unknown field", "deep"],
)
def test_what_is_not_a_result_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as caught:
        json_form.from_text(text)
    assert "\n" not in str(caught.value)


WRONG_KINDS = [("outcome", "excellent"), ("points", "many"), ("name", 3), ("fault", "no"), ("hints", 5), ("hints", [1])]


@pytest.mark.parametrize(("field", "value"), WRONG_KINDS)
def test_a_result_with_a_field_of_the_wrong_kind_is_refused(field, value):
    form = json_form.to_dict(samples.all_passed())
    form["checks"][0][field] = value
    with pytest.raises(UsageError):
        json_form.from_dict(form)


def test_counters_that_are_zero_are_left_out_and_come_back_as_zero():
    form = json_form.to_dict(samples.all_passed())
    assert 0 not in form["counters"].values()
    assert json_form.from_dict(form).counters == samples.all_passed().counters != Counters()


def test_a_file_is_replaced_whole_and_left_alone_when_writing_fails(tmp_path):
    path = tmp_path / "deep" / "ada.json"
    json_form.write_result(samples.all_passed(), path)
    before = path.read_text()
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "half of it \udc80")
    with pytest.raises(GraderFault, match=r"ada\.json/x cannot be written: .+ what has been graded is kept"):
        write_atomically(path / "x", "a file is in the way")
    assert path.read_text() == before
    assert [each.name for each in path.parent.iterdir()] == ["ada.json"]


def test_students_never_share_a_report_not_even_where_case_is_ignored():
    names = ["ada", "Ada", "ADA", "a/da", "a:da", "../ada", "", ".", "con", "nul.txt", "josé", "jose", "李", "王"]
    names += ["x" * 300, "x" * 301]
    names += ["Ann%);(B", "Ann[=++B"]  # they share the first eight digits of their hashes
    names += ["Ada Lovelace", "ada lovelace", "ADA LOVELACE", "Ada  Lovelace", " Ada Lovelace", "Ada\u00a0Lovelace"]
    names += ["jose\u0301", "JOSÉ", "Weiß", "Weiss", "WEISS", "ﬁn", "fin", "İ", "i̇", "\u202eada", "a\u200db", "Con Air"]
    names += ["🧮" * 60, "\udc80"]
    for named in (report_name, lambda name: former_report_names(name)[0], lambda name: former_report_names(name)[1]):
        names += [named(name) for name in names if named(name) != name]  # names made to collide
        names += [named(name).upper() for name in names] + [named(name).title() for name in names]
    stems = {name: report_name(name) for name in names}
    as_one = {unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", stem).casefold()) for stem in stems.values()}
    assert len(as_one) == len(stems)
    for stem in stems.values():
        assert not set(stem) & set('/\\:*?"<>|') and len(stem.encode()) < 143 and stem == stem.strip(" .-")
        assert not any(unicodedata.category(each)[0] == "C" for each in stem)


@pytest.mark.parametrize(
    ("student", "stem"),
    [
        ("ada", "ada"), ("turing_chloé", "turing_chloé"), ("李小龙", "李小龙"), ("عربي", "عربي"), ("lab01.ada", "lab01.ada"),
        ("Ada Lovelace", "Ada Lovelace"), ("李 小龙", "李 小龙"), ("Elif Yılmaz", "Elif Yılmaz"),
        ("Turing, Adele", "Turing, Adele"),
        ("Ada Lovelace (412)", "Ada Lovelace (412)"), ("Zoë van der Berg", "Zoë van der Berg-69e6d8f92d0e92cc"),
        ("Ada", "Ada-99a563ab2f6e21e9"), ("a/b", "a-b-c14cddc033f64b9d"), ("con", "con-1143da2bc54c495c"),
    ],
)  # fmt: skip
def test_a_report_is_called_as_its_student_in_any_script_and_always_the_same(student, stem):
    assert report_name(student) == stem


def test_what_older_versions_called_a_report_is_known():
    assert former_report_names("Émile Borel") == ("mile-borel-0b136d6dc08d73ef", "mile-borel-0b136d6d")


# ---- bonus -----------------------------------------------------------------------------------------


def with_a_bonus(speed: float = 0.0) -> Result:
    """22 of 25 points, or more, and three bonus points."""
    checks = (
        CheckResult("right", "It is right.", "passed", 22, 22),
        CheckResult("fast", "It is fast.", "passed" if speed == 3 else "failed", speed, 3, "Too slow."),
        CheckResult("more", "Bonus: there is more.", "passed", 3, 3, bonus=True),
        CheckResult("most", "Bonus: there is most.", "failed", 0, 1, bonus=True),
    )
    return Result("lab04", "A lab", "emmy", "lab.py", checks, samples.SIMULATED, "simulated")


def plain_words(page: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", page).split())


FORMS = {
    "terminal": terminal.render,
    "class in a terminal": lambda result: terminal.render_class([result]),
    "page": lambda result: plain_words(html.render(result)),
    "fragment": lambda result: plain_words(html.fragment(result)),
    "class page": lambda result: plain_words(class_page.render([result], "A lab")),
    "gradescope": lambda result: json.loads(gradescope.text(result))["output"],
}


@pytest.mark.parametrize("form", FORMS)
def test_no_bonus_fills_the_gap_of_a_failed_check(form):
    shown = FORMS[form](with_a_bonus())
    assert "22 + 3 bonus of 25" in shown and "25 of 25" not in shown
    shown = FORMS[form](with_a_bonus(speed=2.5))
    assert "24.5 + 3 bonus of 25" in shown and "27.5" not in shown
    assert "25 + 3 bonus of 25" in FORMS[form](with_a_bonus(speed=3))


def test_points_without_any_bonus_are_one_number():
    result = replace(with_a_bonus(3), checks=with_a_bonus(3).checks[:2])
    assert "25 of 25 points" in terminal.render(result) and "bonus" not in class_page.render([result], "A lab")


def test_the_class_pages_points_leave_the_bonus_aside():
    shown = plain_words(class_page.render([with_a_bonus(), with_a_bonus(3)], "A lab"))
    assert "2 submissions, from 22 to 25 of 25 points, median 23.5, bonus aside." in shown


def test_gradebooks_get_the_sum_and_how_much_of_it_is_bonus():
    row = rows([with_a_bonus()])[0]
    assert (row["points"], row["bonus_points"], row["max_points"], row["outcome"]) == ("25", "3", "25", "failed")
    form = json.loads(json_form.to_text(with_a_bonus()))
    assert (form["points"], form["bonus_points"], form["max_points"]) == (25, 3, 25)
    assert json_form.from_dict(form) == with_a_bonus()
    assert json.loads(gradescope.text(with_a_bonus()))["score"] == 25


def test_a_failed_bonus_is_no_failure_in_ci():
    suite = junit.text([with_a_bonus(3)])
    assert 'failures="0"' in suite and 'skipped="1"' in suite
    assert 'failures="1"' in junit.text([with_a_bonus()])


# ---- gradebook -------------------------------------------------------------------------------------


def rows(results):
    return list(csv.DictReader(io.StringIO(gradebook.text(results))))


def test_the_gradebook_has_a_row_a_student_and_a_column_a_check():
    book = rows([sample() for sample in samples.KINDS])
    assert [row["student"] for row in book] == sorted(sample().student for sample in samples.KINDS)
    emmy = next(row for row in book if row["student"] == "emmy")
    assert (emmy["points"], emmy["max_points"], emmy["outcome"], emmy["speedup"]) == ("6.5", "13", "failed", "1.04")
    assert (emmy["check_right_on_any_shape"], emmy["check_walks_along_rows"]) == ("0.5", "0")
    assert (emmy["device"], emmy["source"]) == (samples.SIMULATED, "simulated")


def test_the_graders_fault_is_an_empty_cell_and_never_a_zero():
    annie = rows([samples.grader_fault()])[0]
    assert annie["points"] == annie["check_writes_every_element"] == ""
    assert annie["check_right_on_square_matrices"] == "2"
    assert "The worker was killed" in annie["needs_a_look"]


def test_the_gradebook_is_the_same_whatever_the_order_and_the_time(tmp_path):
    results = [sample() for sample in ALL]
    later = [replace(result, graded_at="2027-01-01T00:00:00Z", seconds=9.0) for result in reversed(results)]
    gradebook.write(results, tmp_path / "one.csv")
    gradebook.write(later, tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_spreadsheet_reads_the_gradebook_as_utf_8(tmp_path):
    gradebook.write([replace(samples.all_passed(), student="Zoë 李")], tmp_path / "one.csv")
    data = (tmp_path / "one.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and "Zoë 李" in data.decode("utf-8-sig")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", " =", "\r\n="])
def test_a_spreadsheet_finds_no_formula(start):
    formula = f'{start}1+cmd|"/c calc"!A1'
    row = rows([replace(samples.all_passed(), student=formula, submission=formula, device=formula, key=formula)])[0]
    for name in ("student", "submission", "device", "key"):
        assert row[name].startswith("'"), name
        assert not set(row[name]) & set("\t\r\n")


def test_numbers_are_plain_whatever_their_size():
    check = CheckResult("c", "C.", "passed", 12345.25, 1e6, measured={"ratio": 1234.5, "threshold": 2.0})
    row = rows([replace(samples.all_passed(), checks=(check,))])[0]
    assert (row["points"], row["max_points"], row["speedup"]) == ("12345.25", "1000000", "1234.5")


# ---- terminal --------------------------------------------------------------------------------------


def test_the_terminal_shows_a_failure_with_all_that_helps():
    text = terminal.render(samples.transposed_mapping())
    assert "6.5 of 13 points" in text
    assert "c[0, 67]: expected 2.389964, got 0" in text
    assert "and 19 wrong elements more" in text
    assert "Hint (transposed_mapping): Your x index picks the row." in text
    assert "        c = cuda.device_array((33, 71), np.float32)\n" in text
    assert "Simulated: 1.04 times the speed of the baseline" in text
    assert "2.00 times the baseline: 1.93 times faster than now (3 points)." in text


@pytest.mark.parametrize(("lines", "whole"), [(10, True), (400, False)])
def test_code_to_paste_is_shown_whole_or_not_at_all(lines, whole):
    code = "a = [\n" + f"    {'1 + ' * 70}1,\n" * lines + "]\n"
    result = samples.transposed_mapping()
    checks = tuple(replace(check, reproduce=code) if check.reproduce else check for check in result.checks)
    text = terminal.render(replace(result, checks=checks))
    assert (textwrap.indent(code, " " * 8) in text) == whole
    assert ("too long to show here" in text) != whole and ("1 + " in text) == whole


def test_a_check_that_the_grader_could_not_run_shows_no_zero():
    lines = terminal.render(samples.grader_fault()).splitlines()
    assert [line.split()[2] for line in lines if line.startswith("not run")] == ["-/1", "-/3"]


def test_a_hazard_names_line_thread_and_remedy():
    text = " ".join(terminal.render(samples.out_of_bounds()).split())
    assert "lab.ipynb, code cell 3, line 7: Index 1000 is outside axis 1 of b" in text
    assert "Block (62, 0, 0), thread (8, 0, 0), 8,000 times in all." in text
    assert "total += a[row, i] * b[i, column] Guard the access" in text


def test_a_message_that_is_its_first_hazard_is_told_once():
    result = samples.race()
    checks = [replace(each, message=str(each.hazards[0])) if each.hazards else each for each in result.checks]
    text = " ".join(terminal.render(replace(result, checks=tuple(checks))).split())
    for hazard in (check.hazards[0] for check in checks if check.hazards):
        assert text.count(hazard.message) == text.count(hazard.remedy) == 1


def test_colour_adds_escapes_around_the_outcome_and_nothing_else():
    result = samples.race()
    coloured = terminal.render(result, colour=True)
    plain = terminal.render(result)
    assert "\x1b" not in plain and "\x1b[" in coloured
    for code in ("32", "1;31", "33", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plain


def test_nothing_a_student_wrote_steers_the_terminal():
    text = terminal.render(samples.hostile()) + terminal.render_class([samples.hostile()])
    controls = {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs") and each != "\n"}
    assert not controls
    assert max(map(len, text.splitlines())) < 300


def test_the_class_table_is_aligned_with_wide_and_combining_names():
    names = ["李小龍" * 8, "Zoë", "x" * 80, "e\u0301lise"]
    table = terminal.render_class([replace(samples.all_passed(), student=name) for name in names])
    lines = table.splitlines()[:6]
    outcomes = [wording.display_width(line[: line.index("passed")]) for line in lines[2:]]
    assert len(set(outcomes)) == 1
    assert sum("~" in line for line in lines) == 2
    assert lines[3].startswith("Zoë ") and "13 of 13" in lines[3]


def test_the_class_table_counts_who_passed_and_who_needs_a_look():
    table = terminal.render_class([sample() for sample in samples.KINDS])
    assert table.endswith("7 submissions: 2 passed everything, 3 to look at\n")


# ---- speed and attention ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "goal", "factor"), [(0.5, 2.0, "4.00"), (1.999, 2.0, "1.01"), (2.0, 2.6, "1.30"), (2.6, None, None)]
)
def test_the_next_goal_is_the_threshold_then_the_end_of_the_ramp(ratio, goal, factor):
    measured = {"ratio": ratio, "threshold": 2.0, "full_points_at": 2.6}
    speed = speed_of(CheckResult("fast", "Fast.", "failed", 0, 3, measured=measured))
    assert speed.goal == goal
    assert (factor is None and speed.distance == "") or f"{factor} times faster than now" in speed.distance


@pytest.mark.parametrize(
    "measured", [{}, {"ratio": 2.0}, {"ratio": math.nan, "threshold": 2.0}, {"ratio": "2", "threshold": 2}]
)
def test_a_check_without_a_ratio_and_a_threshold_has_no_speed(measured):
    assert speed_of(CheckResult("c", "C.", "failed", 0, 1, measured=measured)) is None


def test_the_next_step_is_the_first_failed_check():
    assert next_step(samples.race()) == "Next: The kernel never reads or writes outside its arrays (2 points)."
    assert next_step(samples.all_passed()) == ""


@pytest.mark.parametrize(
    ("sample", "kinds"),
    [
        (samples.all_passed, []),
        (samples.syntax_error, ["unreadable"]),
        (samples.transposed_mapping, []),
        (samples.race, []),
        (samples.ambiguous_on_a_gpu, ["ambiguous", "flagged"]),
        (samples.too_close_by_prediction, ["ambiguous"]),
        (samples.grader_fault, ["not run"]),
    ],
)
def test_a_person_looks_at_what_is_out_of_the_ordinary_only(sample, kinds):
    assert [reason.kind for reason in reasons(sample())] == kinds


def test_a_speed_too_close_to_call_is_a_benefit_where_it_was_measured_and_a_doubt_where_it_was_predicted():
    measured, predicted = (
        next(speed for each in sample().checks if (speed := speed_of(each)) is not None)
        for sample in (samples.ambiguous_on_a_gpu, samples.too_close_by_prediction)
    )
    assert "interval 1.94 to 2.11" in measured.sentence and "benefit of the doubt" in measured.sentence
    expected = "1.52 to 2.38 expected of a GPU (right for 86 % of the answers that were timed)"
    assert expected in predicted.sentence
    assert "too close to call by prediction: the verdict stands, but a GPU may see it otherwise" in predicted.sentence
    assert "benefit" not in predicted.sentence
    assert measured.has_benefit and not predicted.has_benefit and predicted.goal == 2.0


def test_nobody_looks_at_what_was_predicted_to_be_fast_enough():
    close = samples.too_close_by_prediction()
    checks = tuple(replace(each, outcome="passed") for each in close.checks)
    assert [reason.kind for reason in reasons(replace(close, flags=()))] == ["ambiguous"]
    assert not reasons(replace(close, flags=(), checks=checks))


def test_a_report_says_how_sure_the_time_of_the_slowest_kernel_is():
    shown = " ".join(terminal.render(samples.too_close_by_prediction()).split())
    assert "slowest kernel matmul_kernel, 2.35 ms; 1.88 ms to 2.94 ms in 78 % of unseen kernels" in shown
    assert "interval held" not in shown


def test_a_flag_that_repeats_a_fault_is_told_once():
    flags = ("writes_every_element: The worker was killed: out of memory.",)
    assert [reason.kind for reason in reasons(replace(samples.grader_fault(), flags=flags))] == ["not run"]


# ---- wording ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (wording.index_text("c", (3, 4)), "c[3, 4]"),
        (wording.index_text("the sum of all `sums`", ()), "the sum of all `sums`"),
        (wording.points_text(2.0), "2"),
        (wording.points_text(2.125), "2.12"),
        (wording.points_text(math.nan), "?"),
        (wording.count_text(8_912_896), "8,912,896"),
        (wording.count_text(2.0), "2.00"),
        (wording.duration_text(1_660_000), "1.66 ms"),
        (wording.duration_text(2_800), "2.8 us"),
        (wording.duration_text(7.628e9), "7.63 s"),
        (wording.ratio_text(132.4), "132"),
        (wording.element_text(np.float32(0.1)), "0.1"),
        (wording.pair_text(1.0, 1.0 + 1e-12), ("1", "1.0000000000010001")),
        (wording.pair_text(1, math.nan), ("1", "nothing")),
        (wording.pair_text(1.0, math.nan), ("1", "nan")),
        (wording.measured_text("baseline_ns", 4.46e6), ("baseline", "4.46 ms")),
        (wording.measured_text("clock_mhz", 1980), ("clock mhz", "1,980")),
        (wording.measured_text("loads_of_a_warp", 17_406.0), ("loads of a warp", "17,406")),
        (wording.measured_text("loads_of_a_warp", 17.4061), ("loads of a warp", "17.41")),
        (wording.measured_text("throttled", np.bool_(False).item()), ("throttled", "no")),
        (wording.visible("a\x1b[2J\u202eb\udc80"), "a\\x1b[2J\\u202eb\\udc80"),
        (wording.clipped("李小龍", 5), "李小~"),
    ],
)
def test_values_in_words(words, expected):
    assert words == expected


def test_a_file_that_holds_just_that_is_left_alone(tmp_path):
    path = tmp_path / "page.html"
    write_atomically(path, "one")
    with path.open() as kept:  # so that its number is not given to another file
        number = os.fstat(kept.fileno()).st_ino
        write_atomically(path, "one")
        assert path.stat().st_ino == number
        write_atomically(path, "two")
        assert path.read_text() == "two" and path.stat().st_ino != number
