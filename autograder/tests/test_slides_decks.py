"""Every deck in `slides/`: complete, executed from scratch, self-contained, and looked at step by step in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograder.decks.__main__ import HANDOUTS, ROOT, SLIDES, build
from autograder.decks.browser import HEIGHT, WIDTH, Browser, find_browser
from autograder.decks.fitting import LEAST_TEXT
from autograder.decks.source import CodeBlock, Deck, Text, read_deck
from autograder.tests.part import first_of

pytestmark = pytest.mark.long

SOURCES = sorted(SLIDES.glob("[0-9][0-9]_*.md"))
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA

# What a step shows: text too small, too pale or cut off, and parts that lie on each other. Tolerances in pixels.
LOOK = (Path(__file__).parent / "look_at_slide.js").read_text(encoding="utf-8")

decks = pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.stem)
# What does not depend on what a deck's slides say.
one_deck = pytest.mark.parametrize("source", first_of(SOURCES, name=lambda s: s.stem))
# What takes seconds to look at in a browser, step by step; the others are looked at by `make test-all`.
some_decks = pytest.mark.parametrize("source", first_of(SOURCES, 3, name=lambda s: s.stem))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Built decks by name, each executed once for all tests of this file."""
    return {}


@pytest.fixture(scope="module")
def walks() -> dict[Path, Walk]:
    """Decks that were gone through, each once for all tests of this file."""
    return {}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slides")


@pytest.fixture
def page(source: Path, pages: dict[str, Path], out: Path) -> Path:
    if source.stem not in pages:
        pages[source.stem] = build(source, out)
    return pages[source.stem]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium, Chrome or Edge found: nobody looked at the slides (set BROWSER to one)")
    with Browser(program) as opened:
        yield opened


def test_there_is_a_deck_for_every_lesson() -> None:
    lessons = {each.stem[:2] for each in (ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb")}
    assert lessons <= {each.stem[:2] for each in SOURCES}


@decks
def test_a_deck_has_20_to_35_slides_and_fits_a_lecture(source: Path) -> None:
    deck = read_deck(source)
    assert 20 <= len(deck.slides) <= 35
    assert 40 <= deck.minutes <= 75


@decks
def test_questions_are_answered_on_the_next_slide_and_the_last_slide_leads_to_the_lab(source: Path) -> None:
    deck = read_deck(source)
    kinds = [slide.kind for slide in deck.slides]
    assert 3 <= kinds.count("question") <= 5
    assert all(after == "answer" for kind, after in zip(kinds, kinds[1:], strict=False) if kind == "question")
    assert kinds.count("answer") == kinds.count("question")
    assert kinds[0] == "title" and kinds[-1] == "lab"


@decks
def test_notes_tell_the_speaker_something_on_every_slide(source: Path) -> None:
    for slide in read_deck(source).slides:
        assert len(slide.notes.markdown.split()) >= 10, slide.heading


@decks
def test_double_braces_come_in_pairs(source: Path) -> None:
    """With one brace missing, a slide would show the expression in place of its value."""
    for slide in read_deck(source).slides:
        for part in (*slide.parts, slide.notes):
            if isinstance(part, Text):
                rest = part.filled([""] * len(part.values))
                assert "{{" not in rest and "}}" not in rest, slide.heading


@decks
def test_most_of_a_deck_is_drawn_or_run(source: Path) -> None:
    deck: Deck = read_deck(source)
    shown = [slide for slide in deck.slides if any(isinstance(part, CodeBlock) for part in slide.parts)]
    assert len(shown) >= 0.6 * len(deck.slides)


@pytest.mark.covering
@decks
def test_a_page_loads_nothing_from_anywhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    loads = _Loads()
    loads.feed(text)
    assert [each for each in loads.found if not each.startswith(("data:", "#"))] == []
    assert re.findall(r"url\((?![\"']?(?:data:|#))", "".join(loads.styles)) == []
    assert "@import" not in "".join(loads.styles)


@decks
def test_figures_have_words_for_those_who_cannot_see_them(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    figures = re.findall(r"<figure[^>]*><[^>]*>", text)
    assert figures and all(re.search(r'aria-label="[^"]{10,}"', each) for each in figures)


@dataclass(frozen=True)
class Shown:
    """What one step of a slide shows in a browser, and what a screen reader is told of it."""

    slide: int
    step: int
    wrong: list[str]  # what LOOK found
    told: list[bool]  # of each frame: whether a screen reader hears of it
    shown: list[bool]  # and whether it is on screen
    said: str  # when the slide comes, letters alone
    builds: list[list[str]]  # the words of each build's frames, likewise


@dataclass(frozen=True)
class Walk:
    """A deck gone through once, key by key."""

    steps: list[Shown]
    requests: list[str]
    complaints: list[str]


@pytest.fixture
def walk(page: Path, browser: Browser, walks: dict[Path, Walk]) -> Walk:
    if page not in walks:
        browser.open(page)
        steps = [_looked_at(browser, slide, step) for slide, step in browser.steps()]
        walks[page] = Walk(steps, list(browser.requests), list(browser.complaints))
    return walks[page]


def _looked_at(browser: Browser, slide: int, step: int) -> Shown:
    frames = "[...Reveal.getCurrentSlide().querySelectorAll('.frame')]"
    told = browser.evaluate(f"{frames}.map(each => each.getAttribute('aria-hidden') === 'false')")
    shown = browser.evaluate(f"{frames}.map(each => getComputedStyle(each).visibility === 'visible')")
    words = "each => each.textContent.replace(/\\W/g, '')"
    said = browser.evaluate(f"({words})(document.querySelector('.aria-status'))")
    builds = "[...Reveal.getCurrentSlide().querySelectorAll('.frames')]"
    texts = browser.evaluate(f"{builds}.map(build => [...build.children].map({words}))")
    wrong = json.loads(browser.evaluate(f"({LOOK})({WIDTH}, {HEIGHT}, {LEAST_TEXT}, {LEAST_CONTRAST})"))
    return Shown(slide, step, wrong, told, shown, said, texts)


@pytest.mark.covering
@some_decks
def test_every_step_of_every_slide_can_be_read_in_a_browser(walk: Walk) -> None:
    wrong = [f"slide {each.slide}, step {each.step}: {what}" for each in walk.steps for what in each.wrong]
    assert not wrong, "\n".join(wrong)


@some_decks
def test_a_screen_reader_is_told_of_the_frame_on_screen_alone(walk: Walk) -> None:
    for each in walk.steps:
        assert each.told == each.shown, (each.slide, each.step)
        if each.step == 1:
            for first, *_, last in each.builds:
                assert each.said.count(first) == 1 and (last == first or last not in each.said), each.slide


@some_decks
def test_a_deck_asks_the_network_for_nothing_and_its_console_stays_quiet(page: Path, walk: Walk) -> None:
    assert [each for each in walk.requests if not each.startswith(("data:", page.resolve().as_uri()))] == []
    assert walk.complaints == []


@one_deck
def test_the_presenter_view_opens_from_disk_and_shows_the_notes(page: Path, browser: Browser, source: Path) -> None:
    browser.open(page)
    browser.evaluate("Reveal.slide(1)")
    browser.evaluate("window.opened = []; window.open = (open => (...a) => (opened[0] = open(...a)))(window.open)")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="s", code="KeyS", windowsVirtualKeyCode=83, text="s")
    notes = "opened[0] && opened[0].document.querySelector('.speaker-controls-notes .value')"
    browser.wait_for(f"{notes} && {notes}.innerText.length > 20")
    words = read_deck(source).slides[1].notes.markdown.split()[:6]
    assert browser.evaluate(f"{notes}.innerText").split()[:6] == words
    browser.evaluate("opened[0].close()")


@one_deck
def test_a_deck_prints_as_a_handout_with_a_page_and_a_bookmark_for_each_slide(
    page: Path, browser: Browser, source: Path, out: Path
) -> None:
    path = out / "printed.pdf"
    browser.write_pdf(page, path)
    data, slides = path.read_bytes(), len(read_deck(source).slides)
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == slides
    assert data.count(b"/Dest") in (0, slides), "browsers before 2024 make no bookmarks"
    seen = "each => getComputedStyle(each).visibility === 'visible'"
    figures = browser.evaluate(f"[...document.querySelectorAll('figure')].filter({seen}).length")
    assert data.count(b"/Alt") == figures, "every figure on paper has its words, once"


@one_deck
def test_a_handout_comes_without_answers_and_with_notes(page: Path, browser: Browser, source: Path) -> None:
    slides = read_deck(source).slides
    printed = "document.querySelectorAll('.pdf-page').length"
    browser.open(page, f"?view=print{HANDOUTS['_without_answers']}")
    browser.wait_for(f"{printed} > 0")
    kinds = browser.evaluate("[...document.querySelectorAll('.pdf-page section')].map(each => each.classList[0])")
    assert kinds == [slide.kind for slide in slides if slide.kind != "answer"]
    browser.open(page, f"?view=print{HANDOUTS['_with_notes']}")
    browser.wait_for(f"{printed} > 0")
    notes = "[...document.querySelectorAll('.speaker-notes-pdf')]"
    assert browser.evaluate(f"{notes}.length") == len(slides)
    assert browser.evaluate(f"Math.max(...{notes}.map(each => each.scrollHeight))") <= HEIGHT, "a page each"


@one_deck
def test_the_presenter_view_has_a_clock_for_the_pace(page: Path, browser: Browser, source: Path) -> None:
    browser.open(page)
    seconds = browser.evaluate("Reveal.getSlidesAttributes().map(each => Number(each['data-timing']))")
    assert seconds == [60 * slide.minutes for slide in read_deck(source).slides]
    assert browser.evaluate("Reveal.getConfig().defaultTiming") is not None, "without it the presenter view has no pace"


@one_deck
def test_a_handout_shows_builds_at_their_end_and_no_code_faded(page: Path, browser: Browser) -> None:
    browser.open(page, "?view=print")
    browser.wait_for("document.querySelectorAll('.pdf-page').length > 0")
    looks = "each => getComputedStyle(each)"
    shown = f"[...document.querySelectorAll('.frame')].filter(each => ({looks})(each).visibility === 'visible')"
    assert browser.evaluate(f"{shown}.every(each => each.matches(':last-child'))")
    assert browser.evaluate(f"{shown}.length === document.querySelectorAll('.frames').length")
    faded = "[...document.querySelectorAll('.faded')]"
    assert browser.evaluate(f"{faded}.map({looks}).every(each => each.opacity === '1')")
    waiting = "[...document.querySelectorAll('.fragment:not(.frame)')]"
    assert browser.evaluate(f"{waiting}.map({looks}).every(each => each.visibility === 'visible')")


@one_deck
def test_a_deck_prints_with_a_page_for_each_step_where_that_is_asked_for(
    page: Path, browser: Browser, walk: Walk
) -> None:
    browser.open(page, "?view=print&pdfSeparateFragments=true")
    browser.wait_for("document.querySelectorAll('.pdf-page').length > 0")
    assert browser.evaluate("document.querySelectorAll('.pdf-page').length") == len(walk.steps)


class _Loads(HTMLParser):
    """Collects whatever a page would load, and its styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.styles: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        for name, value in attrs:
            if value and (
                name in ("src", "srcset", "poster", "data") or (name == "href" and tag in ("link", "image", "use"))
            ):
                self.found.append(value)
            if name == "style" and value:
                self.styles.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)
