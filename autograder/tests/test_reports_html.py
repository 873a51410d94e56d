"""Reports as pages: self-contained, escaped, within their size, the same told by shape and word as by colour."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser

import pytest

from autograder.errors import Line
from autograder.records.counters import Counters, LineProfile
from autograder.records.files import report_name
from autograder.records.results import CheckResult
from autograder.reports import class_page, html, source_heat
from autograder.reports.charts import dot_plot, histogram, speed_bar
from autograder.reports.speed import Speed
from autograder.reports.templating import asset, prose
from autograder.tests import sample_results as samples
from autograder.tests.finding import found

ALL = (*samples.KINDS, samples.hostile)
OWN_ADDRESS = re.compile(r"(data:image/svg\+xml;base64,[A-Za-z0-9+/=]*|reports/[A-Za-z0-9._-]+\.html)?")
VOID = {"meta", "img", "input", "br", "hr", "link"}
PAGES: dict[str, Callable[[], str]] = {
    **{f"page of {sample.__name__}": partial(lambda made: html.render(made()), sample) for sample in ALL},
    **{f"fragment of {sample.__name__}": partial(lambda made: html.fragment(made()), sample) for sample in ALL},
    "class": lambda: class_page.render([*samples.a_class(40), samples.hostile()], samples.HOSTILE_NAME),
    "empty class": lambda: class_page.render([], samples.TITLE),
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


@pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.__name__)
def test_a_students_page_stays_below_300_kb(sample):
    assert len(html.render(sample()).encode()) < 300_000
    assert len(html.fragment(sample()).encode()) < 300_000


def test_a_class_of_300_stays_below_a_megabyte():
    assert len(class_page.render(samples.a_class(300), samples.TITLE).encode()) < 1_000_000


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
    links = [attributes.get("href") for tag, attributes in Page(class_page.render(results, "Lab")).tags if tag == "a"]
    assert {f"reports/{report_name(result.student)}.html" for result in results} == set(links)


def test_the_class_page_groups_who_needs_a_look():
    text = Page(class_page.render([sample() for sample in samples.KINDS], samples.TITLE)).text
    assert "Could not be read (1) grace" in text
    assert "Could not be graded (1) annie" in text
    assert "Speed too close to call (1) katherine" in text
    assert "Flagged (1) katherine clock fell by 12 % while timing" in text


def test_the_class_page_counts_which_check_fails():
    text = Page(class_page.render([sample() for sample in samples.KINDS], samples.TITLE)).text
    assert "The kernel never reads or writes outside its arrays. 2 1 4" in text


def test_the_students_table_can_be_sorted_with_a_keyboard_and_says_how_it_is_sorted():
    page = Page(class_page.render(samples.a_class(5), samples.TITLE))
    headers = [attributes for tag, attributes in page.tags if tag == "th" and attributes.get("scope") == "col"]
    assert sum("aria-sort" in attributes for attributes in headers) == 1
    assert sum(tag == "button" for tag, _ in page.tags) == 6
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
