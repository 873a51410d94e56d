"""Reports as pages: self-contained, escaped, within their size, the same told by shape and word as by colour."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from autograder.errors import Line
from autograder.records.counters import Counters, LineProfile
from autograder.records.files import report_name
from autograder.records.results import CanonicalStatement, CheckResult, FunctionFingerprint, FunctionText
from autograder.reports import alike, alike_page, class_page, html, source_heat
from autograder.reports.attention import reasons
from autograder.reports.charts import dot_plot, histogram, speed_bar
from autograder.reports.speed import Speed
from autograder.reports.templating import asset, prose
from autograder.tests import sample_results as samples
from autograder.tests.finding import found

ALL = (*samples.KINDS, samples.hostile)
OWN_ADDRESS = re.compile(
    r"(data:image/svg\+xml;base64,[A-Za-z0-9+/=]*|reports/[A-Za-z0-9._%-]+\.html|(alike|index)\.html|#[a-z0-9-]+)?"
)
VOID = {"meta", "img", "input", "br", "hr", "link", "wbr"}


def alike_groups() -> list[alike.Alike]:
    """Two submissions whose programs say what they can against a page."""
    text = f"def f(a):  # {samples.HOSTILE_NAME}\n    return a"
    line = Line(samples.HOSTILE_NAME, 1)
    program = FunctionFingerprint("f", False, line, text, "d", (CanonicalStatement("s", 2),))
    results = (replace(samples.hostile(), fingerprints=(program,)),) * 2
    return [alike.Alike(kind, results, frozenset({"s"}), 0.9) for kind in alike.KINDS]


PAGES: dict[str, Callable[[], str]] = {
    **{f"page of {sample.__name__}": partial(lambda made: html.render(made()), sample) for sample in ALL},
    **{f"fragment of {sample.__name__}": partial(lambda made: html.fragment(made()), sample) for sample in ALL},
    "class": lambda: class_page.render([*samples.a_class(40), samples.hostile()], samples.HOSTILE_NAME),
    "empty class": lambda: class_page.render([], samples.TITLE),
    "alike": lambda: alike_page.render(alike_groups(), [samples.hostile()], samples.HOSTILE_NAME),
    "heat": lambda: source_heat.annotated(samples.hostile().lines),
}


class Page(HTMLParser):
    """A page taken apart: tags with attributes, text, scripts, and what is left open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def pages():
    return {name: make() for name, make in PAGES.items()}


@pytest.mark.parametrize("name", PAGES)
def test_every_tag_closes_in_order(pages, name):
    assert Page(pages[name]).open == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_nobody_for_anything(pages, name):
    for tag, attributes in Page(pages[name]).tags:
        for attribute in ("src", "href", "data", "action", "srcset", "poster"):
            address = attributes.get(attribute) or ""
            assert OWN_ADDRESS.fullmatch(address), (tag, attribute)
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
    assert not re.search(r"@import|url\(", pages[name])


@pytest.mark.parametrize("name", PAGES)
def test_nothing_a_student_wrote_becomes_markup_or_script(pages, name):
    page = Page(pages[name])
    ours = {str(asset("copy.js")), str(asset("sort.js"))}
    assert {"".join(page.scripts)} <= ours | {""}
    for tag, attributes in page.tags:
        assert not any(attribute.startswith("on") for attribute in attributes), tag
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", pages[name])


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("page") or "class" in name])
def test_the_pages_policy_allows_its_own_script_only(pages, name):
    page = Page(pages[name])
    policy = next(attributes["content"] for tag, attributes in page.tags if attributes.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256("".join(page.scripts).encode()).digest()).decode()
    assert policy is not None and policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", PAGES)
def test_no_id_is_given_twice_and_every_reference_meets_one(pages, name):
    tags = [attributes for _, attributes in Page(pages[name]).tags]
    ids = [attributes["id"] for attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {attributes["aria-labelledby"] for attributes in tags if "aria-labelledby" in attributes} <= set(ids)
    links = [attributes.get("href") or "" for attributes in tags]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.__name__)
def test_a_students_page_stays_below_300_kb(sample):
    assert len(html.render(sample()).encode()) < 300_000
    assert len(html.fragment(sample()).encode()) < 300_000


def test_a_class_of_300_stays_below_a_megabyte():
    assert len(class_page.render(samples.a_class(300), samples.TITLE).encode()) < 320_000


def test_a_fragment_needs_no_script_and_keeps_its_styles_to_itself():
    fragment = html.fragment(samples.transposed_mapping())
    page = Page(fragment)
    assert page.scripts == [] and "id" not in {name for _, attributes in page.tags for name in attributes}
    styles = re.sub(r"/\*.*?\*/", "", found(r"<style>(.*?)</style>", fragment, re.DOTALL)[1], flags=re.DOTALL)
    for selectors in re.findall(r"([^{};]+)\{", styles):
        if not selectors.strip().startswith("@"):
            assert all(".mtb" in each for each in selectors.split(",")), selectors


def test_the_page_shows_a_failure_with_all_that_helps():
    text = Page(html.render(samples.transposed_mapping())).text
    assert "6.5 of 13 points" in text
    assert "The next threshold is 2.00 times the baseline: 1.93 times faster than now (3 points)." in text
    assert "The first 10 of 24 wrong elements" in text and "c[0, 67] 2.389964 0" in text
    assert "Hint: transposed mapping. Your x index picks the row." in text
    assert "sectors per request 16" in text
    assert "matmul(a, b, c)" in text
    assert "A map of c: the wrong elements are the last five columns" in text
    assert "simulated 1.04 times the speed of the baseline (4.29 ms against 4.46 ms)" in text
    assert "total += a[row, i] * b[i, column] 2,097,152 2.00" in text


def test_a_hazard_on_the_page_names_line_thread_other_thread_and_remedy():
    text = Page(html.render(samples.race())).text
    assert "Race. Two threads of one block use tile[0, 3]" in text
    assert "block (0, 0, 0), thread (3, 1, 0); with thread (3, 0, 0) at lab.ipynb, code cell 3, line 11" in text
    assert "What to do: Call cuda.syncthreads() between the store and the load." in text
    assert "Warning: Accidental float64." in text


def test_each_outcome_has_its_own_word_and_shape():
    shapes: dict[str, set[str]] = {}
    page = html.render(samples.grader_fault()) + html.render(samples.race())
    for shape, word in re.findall(r'<span class="outcome"><svg[^>]*><(\w+) class="\w+".*?</svg><span>([\w ]+)<', page):
        shapes.setdefault(word, set()).add(shape)
    assert set(shapes) == {"passed", "failed", "not run"}
    assert shapes["failed"] == {"rect"} and shapes["passed"] == {"circle"}
    assert 'class="ring"' in page and page.count('class="ring"') == 3


def test_an_instructors_flags_stay_off_the_students_page():
    flagged = replace(samples.all_passed(), flags=("faster than the roofline floor",))
    assert "roofline" not in html.render(flagged) + html.fragment(flagged)
    assert "roofline" in class_page.render([flagged], samples.TITLE)


def test_the_graders_fault_is_owned_up_to():
    text = Page(html.render(samples.grader_fault())).text
    assert "That is its fault, not yours" in text and "not graded, of 1" in text and "0 of 1" not in text
    assert "That is its fault" not in Page(html.render(samples.race())).text


def test_the_same_result_makes_the_same_page():
    assert html.render(samples.race()) == html.render(samples.race())


# ---- the class page --------------------------------------------------------------------------------


def test_every_student_has_a_row_that_links_to_the_report():
    results = [*samples.a_class(40), samples.hostile()]
    page = Page(class_page.render(results, "Lab"))
    links = [attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"]
    expected = {f"reports/{quote(report_name(result.student))}.html" for result in results}
    assert {*expected, "alike.html"} == {link for link in links if not link.startswith("#")}
    assert sum(tag == "tr" for tag, _ in page.tags) == len(results) + 1


def test_the_class_page_groups_who_needs_a_look():
    text = Page(class_page.render([sample() for sample in samples.KINDS], samples.TITLE)).text
    assert "Could not be read (1) grace" in text
    assert "Could not be graded (1) annie" in text
    assert "Speed too close to call (1) katherine" in text
    assert "Flagged (1) katherine clock fell by 12 % while timing" in text


def test_the_class_page_counts_what_became_of_each_check_in_the_lab_s_order():
    results = [sample() for sample in samples.KINDS]
    begun = replace(samples.race().checks[0], outcome="failed", tried=False)
    results.append(replace(samples.race(), student="kurt", checks=(begun, *samples.race().checks[1:])))
    text = Page(class_page.render(results, samples.TITLE)).text
    told = ["right on square matrices. 7 ran 6 passed 0 failed 1 not tried kurt 1 not run"]
    told += ["3 The kernel never reads or writes outside its arrays. 7 ran 4 passed 3 failed barbara edsger kurt 1 not run"]
    told += ["1 no guard 63 blocks of 16 are 1,008 threads, so the last eight have no column. an example"]
    told += ["2 failed, and no hint fits who barbara kurt"]
    told += ["1 submission could not be read, and so ran nothing"]
    places = [text.index(each) for each in told[:4]]
    assert places == sorted(places) and told[4] in text
    assert text.index("Needs a look") > max(places) > text.index("What the class misunderstands")


def test_a_bonus_stands_apart_from_what_everybody_is_asked_for():
    more = CheckResult("more", "There is more.", "failed", 0, 3, bonus=True)
    checks = [more, CheckResult("right", "Right.", "passed", 2, 2)]
    text = Page(class_page.render([replace(samples.all_passed(), checks=tuple(checks))], "T")).text
    assert text.index("2 Right.") < text.index("Bonus, for those who") < text.index("1 There is more.")


def test_the_example_of_a_hint_marks_the_hazards_line_and_names_nobody():
    out = samples.out_of_bounds()
    text = "def kernel(a):  # Edsger's\n    total += a[row, i] * b[i, column]\n"
    kernel = FunctionText("kernel", True, Line(samples.CELL, 6), text)
    checks = tuple(replace(each, came_to=("kernel",)) if each.hints else each for each in out.checks)
    page = class_page.render([replace(out, checks=checks, functions=(kernel,))], samples.TITLE)
    example = found(r"<summary>an example</summary>(.*?)</details>", page, re.DOTALL)[1]
    assert "<mark>    total += a[row, i] * b[i, column]</mark>" in example and "def kernel(a):\n" in example
    assert "edsger" not in example.lower() and "Index 1000 is outside axis 1 of b" in example
    secret = tuple(replace(each, secret="data") for each in checks)
    assert "your secret inputs: not for students" not in page
    assert "your secret inputs: not for students" in class_page.render([replace(out, checks=secret)], samples.TITLE)


def test_pictures_of_examples_have_their_place_and_their_limit(monkeypatch):
    drawn = samples.transposed_mapping()
    hinted = tuple(replace(each, hints=drawn.checks[5].hints) if each.pictures else each for each in drawn.checks)
    results = [replace(drawn, checks=hinted)]
    assert class_page.render(results, "T").count("data:image/svg+xml") == 1
    monkeypatch.setattr(class_page, "DRAWINGS", 100)
    page = class_page.render(results, "T")
    assert "data:image/svg+xml" not in page and "A map of c: the wrong elements are" in page


def test_boxes_of_the_students_table_are_headed_by_the_numbers_of_the_checks():
    page = Page(class_page.render([samples.race()], samples.TITLE))
    heads = [a for tag, a in page.tags if tag == "a" and (a.get("href") or "").startswith("#check-")]
    titles = [f"{title}" for _, title, _ in samples._CHECKS]
    assert [each["title"] for each in heads] == titles
    boxes = [a.get("class") for tag, a in page.tags if tag == "i" and a.get("class", "x") in {"p", "f", "s", "t"}]
    assert boxes[-7:] == ["p", "p", "f", "p", "p", "p", "s"]
    assert " 1 to 2 passed, 3 failed, 4 to 6 passed, 7 not run ✓ ✓ ✕ ✓ ✓ ✓ –" in page.text


def test_all_speeds_stand_in_one_section():
    result = samples.all_passed()
    again = replace(result.checks[-1], name="again", title="Again.")
    page = class_page.render([replace(result, checks=(*result.checks, again))], "T")
    assert page.count(">Speed</h2>") == 1 and page.count("Each mark is a student") == 2


def test_what_nobody_needs_takes_no_column():
    quiet, flagged = samples.all_passed(), replace(samples.all_passed(), flags=("odd",), student="odd one")
    assert "needs a look" not in Page(class_page.render([quiet], "T")).text.split("sort by it")[1]
    page = class_page.render([quiet, flagged], "T")
    assert '<a href="#look-flagged">flagged</a>' in page


def test_a_name_breaks_between_its_parts():
    page = class_page.render([replace(samples.all_passed(), student="ada_<b>.lovelace")], "T")
    assert "<bdi>ada_<wbr>&lt;b&gt;.<wbr>lovelace</bdi>" in page


def test_whoever_fails_the_first_check_needs_a_look():
    first = samples.all_passed().checks[0]
    for changed, words in (
        ({"outcome": "failed"}, "failed the first check: The product is right on square"),
        ({"outcome": "failed", "tried": False}, "has not begun the first check: The product"),
        ({"outcome": "failed", "bonus": True}, ""),
        ({}, ""),
    ):
        checks = (replace(first, **changed), *samples.all_passed().checks[1:])
        told = reasons(replace(samples.all_passed(), checks=checks))
        assert [each.kind for each in told] == (["first check"] if words else [])
        assert not words or told[0].text.startswith(words)


def test_the_next_step_leads_to_its_check_on_a_page_and_in_no_notebook():
    page, fragment = html.render(samples.race()), html.fragment(samples.race())
    assert '<a href="#check-3">Next: The kernel never reads' in page and 'id="check-3"' in page
    assert "Next: The kernel never reads" in fragment and "#check" not in fragment
    assert "<p>Next: mend the error" in html.render(samples.syntax_error())


def test_the_students_table_can_be_sorted_with_a_keyboard_and_says_how_it_is_sorted():
    page = Page(class_page.render([*samples.a_class(4), samples.race()], samples.TITLE))
    headers = [attributes for tag, attributes in page.tags if tag == "th" and attributes.get("scope") == "col"]
    assert sum("aria-sort" in attributes for attributes in headers) == 1
    assert sum(tag == "button" for tag, _ in page.tags) == len(headers)
    roles = [attributes.get("role") for _, attributes in page.tags]  # where rows are no rows of a table on a narrow screen
    assert roles.count("row") == 6 and roles.count("rowheader") == 5 and roles.count("cell") == 5 * (len(headers) - 1)
    assert any(attributes.get("role") == "status" for _, attributes in page.tags)
    assert all(attributes.get("aria-label") for tag, attributes in page.tags if attributes.get("role") == "img")


# ---- annotated source ------------------------------------------------------------------------------


def test_annotated_source_shows_the_columns_asked_for():
    page = Page(source_heat.annotated(samples.LINES, ["warp_instructions", "global_load_sectors"]))
    assert "line source warp instructions load sectors" in page.text
    assert "7 total += a[row, i] * b[i, column] 2,621,440 2,097,152" in page.text
    bars = [float((attributes["style"] or "")[len("width:") : -1]) for tag, attributes in page.tags if tag == "i"]
    assert bars == [0.2, 0.3, 0.1, 20.1, 100.0, 100.0, 0.1]


def test_annotated_source_leaves_out_columns_of_zeros_and_the_idlest_lines():
    counted = {i: Counters(global_load_sectors=i) for i in range(1, 50)}
    lines = [LineProfile(Line("a.py", i), f"x{i} = a[i]", each, each) for i, each in counted.items()]
    text = Page(source_heat.annotated(lines, most_lines=10, caption="Sectors")).text
    assert "Sectors; 39 lines with the least work are left out" in text
    assert "x49" in text and "x39 " not in text and "atomic" not in text
    assert Page(source_heat.annotated([])).open == []


def test_annotated_source_names_each_file_once():
    lines = [LineProfile(Line(file, i), "x", Counters(), Counters()) for file in ("cell 1", "cell 2") for i in (1, 2)]
    text = Page(source_heat.annotated(lines)).text
    assert text.count("cell 1") == text.count("cell 2") == 1


# ---- geometry and colours --------------------------------------------------------------------------


def speed(ratio, low=None, high=None, threshold=2.0, full=2.6):
    return Speed(ratio, low or ratio, high or ratio, threshold, full, "measured")


@pytest.mark.parametrize("ratio", [0.0, 0.01, 1.0, 1.99, 2.0, 36.7, 5000.0])
def test_marks_stay_on_the_axis_in_the_order_of_their_numbers(ratio):
    bar = speed_bar(speed(ratio, ratio * 0.9, ratio * 1.1))
    assert bar.threshold is not None and bar.full is not None
    assert 0 <= bar.low <= bar.ratio <= bar.high < 100 and bar.threshold < bar.full < 100
    assert (bar.ratio < bar.threshold) == (ratio < 2.0)
    assert 2 <= len(bar.ticks) <= 7 and all(0 <= tick.at <= 100 for tick in bar.ticks)
    plot = dot_plot([("ada", speed(ratio)), ("emmy", speed(2.0))])
    assert all(0 <= dot.at <= 100 for dot in plot.dots) and plot.levels in (1, 2)


@pytest.mark.parametrize("most", [0, 1, 10, 24, 100, 12.5])
def test_the_histogram_counts_everyone_once(most):
    points = [most * i / 9 for i in range(10)]
    drawn = histogram(points, most)
    assert sum(bar.count for bar in drawn.bars) == 10
    assert abs(sum(bar.width for bar in drawn.bars) - 100) < 1e-6
    assert max(bar.height for bar in drawn.bars) == 100


@pytest.mark.parametrize(("most", "labels"), [(20, "0 5 10 15 20"), (10, "0 2 4 6 8 10"), (5, "0 1 2 3 4 5")])
def test_the_axis_of_points_is_labelled_in_round_steps_up_to_full_marks(most, labels):
    assert " ".join(tick.label for tick in histogram([0.0, most], most).ticks) == labels


def test_a_dotted_line_is_only_told_of_where_it_is_drawn():
    for end, is_drawn in ((2.6, True), (2.0, False)):
        check = CheckResult("s", "S.", "passed", 3, 3, measured={"ratio": 3.0, "threshold": 2.0, "full_points_at": end})
        page = class_page.render([replace(samples.all_passed(), checks=(check,))], "T")
        assert ("full points from the dotted line" in page) is is_drawn is ('class="full"' in page)


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    bright, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("sheet", ["report.css", "dark.css"])
def test_text_and_shapes_have_the_contrast_that_wcag_asks_for(sheet):
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", asset(sheet)))
    for ground in ("paper", "soft"):
        for text in ("ink", "muted", "link"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for shape in ("pass", "fail", "bar", "edge"):
            assert contrast(colours[shape], colours[ground]) >= 3.0, (shape, ground)


def test_what_stands_between_backticks_is_code_and_still_escaped() -> None:
    assert prose("Write `a[i] < b` & `c`.") == "Write <code>a[i] &lt; b</code> &amp; <code>c</code>."
    assert prose("one ` alone, ``, `two\nlines`") == "one ` alone, ``, `two\nlines`"
    assert prose("`<script>alert(1)</script>`") == "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>"
    page = html.render(replace(samples.KINDS[0](), error="`matmul` takes 2 parameters"))
    assert "<code>matmul</code> takes 2 parameters" in page
