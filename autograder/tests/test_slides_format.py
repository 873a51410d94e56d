"""A deck's Markdown: what it means, and what it refuses, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.decks.execution import Executed, Output, execute
from autograder.decks.fitting import LEAST_TEXT
from autograder.decks.rendering import render
from autograder.decks.source import CodeBlock, Deck, Pause, SlideColumn, Text, read_deck
from autograder.errors import UsageError

TITLE = "# Lesson\n\nNote: 1 min. Welcome.\n"


def deck_of(tmp_path: Path, text: str) -> Deck:
    path = tmp_path / "99_test.md"
    path.write_text(text, encoding="utf-8")
    return read_deck(path)


def test_a_slide_holds_its_heading_kind_parts_and_notes(tmp_path: Path) -> None:
    deck = deck_of(
        tmp_path,
        TITLE
        + '---\n## One idea\n<!-- slide: question -->\nWhy?\n\n. . .\n\n```python figure alt="A picture"\n1 + 1\n```\n'
        + "|||\n{{ 2 * 3 }} times\n\nNote: 2.5 min. Wait.\nThen go on.\n",
    )
    first, second = deck.slides
    assert (deck.name, deck.title, deck.minutes) == ("99_test", "Lesson", 3.5)
    assert (second.heading, second.kind, second.notes.markdown) == (
        "One idea",
        "question",
        "2.5 min. Wait.\nThen go on.",
    )
    assert [type(part) for part in second.parts] == [Text, Pause, CodeBlock, SlideColumn, Text]
    block, text = second.parts[2], second.parts[4]
    assert isinstance(block, CodeBlock) and isinstance(text, Text)
    assert (block.code, block.mode, block.alt, block.line.number) == ("1 + 1", "figure", "A picture", 12)
    assert text.values == ("2 * 3",)


def test_a_rule_inside_a_block_separates_nothing(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + "---\n## Code\n```text\n---\n## not a slide\n```\nNote: 1 min.\n")
    assert [slide.heading for slide in deck.slides] == ["Lesson", "Code"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("no heading\n\nNote: 1 min.\n", 1, "no heading"),
        ("# Lesson\n\nno notes\n", 1, "no notes that begin with a time"),
        ("# Lesson\n\nNote: soon.\n", 1, "no notes that begin with a time"),
        (TITLE + "---\n## A\n```python\n1\n\nNote: 1 min.\n", 7, "never closed"),
        (TITLE + "---\n## A\n```python loud\n1\n```\nNote: 1 min.\n", 7, "cannot be loud"),
        (TITLE + "---\n## A\n```python figure\n1\n```\nNote: 1 min.\n", 7, "cannot see it"),
        (TITLE + '---\n## A\n```python code lines="x"\n1\n```\nNote: 1 min.\n', 7, "cannot be read"),
        (TITLE + "---\n## A\n<!-- slide: joke -->\nNote: 1 min.\n", 6, "called joke"),
    ],
)
def test_what_the_format_does_not_know_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        deck_of(tmp_path, text)
    assert says in refused.value.message
    assert refused.value.line is not None and refused.value.line.number == line


def test_a_missing_deck_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_deck(tmp_path / "99_nothing.md")


def test_code_runs_in_order_in_one_python_and_what_it_gives_is_shown(tmp_path: Path) -> None:
    deck = deck_of(
        tmp_path,
        TITLE
        + "---\n## A\n```python silent\nx = 20\nprint('never seen')\n```\n```python\nprint(x + 2)\n```\n"
        + '{{ x / 7:.2f }} and {{ f"{x}!" }}\n\nNote: 1 min. {{ x * 2 }} in all.\n',
    )
    page = render(deck, execute(deck, tmp_path))
    assert '<pre class="output">22</pre>' in page
    assert "2.86 and 20!" in page
    assert "40 in all." in page
    assert "never seen" not in page


def test_code_that_fails_stops_the_build_with_its_line(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + "---\n## A\n```python silent\n1 / 0\n```\nNote: 1 min.\n")
    with pytest.raises(UsageError, match="ZeroDivisionError") as refused:
        execute(deck, tmp_path)
    assert refused.value.line is not None and refused.value.line.number == 7


def test_a_figure_is_drawn_on_the_page_itself_so_that_its_text_can_be_measured(tmp_path: Path) -> None:
    code = "from autograder.figures import bars\nbars({'copy': 2.0}, title='One bar', unit='GB/s')"
    deck = deck_of(tmp_path, TITLE + f'---\n## A\n```python figure alt="One bar"\n{code}\n```\nNote: 1 min.\n')
    (shown,) = execute(deck, Path(__file__).parents[2]).outputs[7]
    assert shown.mime == "image/svg+xml" and shown.data.startswith("<svg") and "One bar" in shown.data


def test_a_chart_has_real_text_that_the_last_row_can_read(tmp_path: Path) -> None:
    code = "import matplotlib.pyplot as plt\n_ = plt.title('Chart')\n_ = plt.plot([1, 2])"
    deck = deck_of(tmp_path, TITLE + f'---\n## A\n```python figure alt="A chart"\n{code}\n```\nNote: 1 min.\n')
    (shown,) = execute(deck, tmp_path).outputs[7]
    (title,) = re.findall(r"<text [^>]*>Chart</text>", shown.data)
    assert shown.mime == "image/svg+xml" and re.search(r"font: 24px|font-size: 24px", title), title  # 1.2 of 20


def test_frames_take_each_other_s_place(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + '---\n## A\n```python steps alt="Three"\n[1, 2, 3]\n```\nNote: 1 min.\n')
    page = render(deck, execute(deck, tmp_path))
    shown = [page.index(f'<pre class="output">{number}</pre>') for number in (1, 2, 3)]
    assert shown == sorted(shown)
    for kind in ("fade-out", "current-visible", "fade-in"):
        assert page.count(f'class="frame fragment {kind}"') == 1


def test_frames_are_those_of_their_own_block_whatever_the_deck_s_code_has_named(tmp_path: Path) -> None:
    """IPython's `_` stays what a deck assigned to it, and every later slide with steps was empty."""
    slides = "---\n## A\n```python silent\n_, other = (), 2\n```\nNote: 1 min.\n"
    slides += '---\n## B\n```python steps alt="Two"\n["one", "two"]\n```\nNote: 1 min.\n'
    silent, steps = execute(deck_of(tmp_path, TITLE + slides), tmp_path).outputs.values()
    assert not silent and [each.data for each in steps] == ["'one'", "'two'"]


@pytest.mark.parametrize("code", ["[]", "None", "frames = [1, 2]"])
def test_steps_that_show_nothing_stop_the_build_with_their_line(tmp_path: Path, code: str) -> None:
    slides = "---\n## A\n```python silent\n[1, 2]\n```\nNote: 1 min.\n"
    slides += f'---\n## B\n```python steps alt="Two"\n{code}\n```\nNote: 1 min.\n'
    with pytest.raises(UsageError, match="shows nothing") as found:
        execute(deck_of(tmp_path, TITLE + slides), tmp_path)
    assert found.value.line is not None


def test_a_figure_s_small_text_grows_until_the_last_row_can_read_it(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + '---\n## A\n```python figure alt="Small"\n0\n```\nNote: 1 min.\n')
    svg = '<svg viewBox="0 0 1168 100"><text id="t" font-size="12">12</text><text font-size="44">44</text></svg>'
    page = render(deck, Executed(outputs={7: (Output("image/svg+xml", svg),)}))
    assert f'font-size="{LEAST_TEXT}"' in page and 'font-size="44"' in page
    assert 'font-size="12"' not in page
    assert 'id="t"' not in page, "ids of two figures on one page must not meet"


def labels_of(page: str) -> list[str]:
    return re.findall(r'<figure><svg[^>]* role="img" aria-label="([^"]*)">', page)


def test_each_frame_of_a_build_says_what_it_shows_itself(tmp_path: Path) -> None:
    """The author's words tell how the build ends: read out with its first frame they would give the answer away."""
    code = "from autograder.figures import bars\n[bars({'copy': size}, title='At', unit='s') for size in (1.0, 2.0)]"
    deck = deck_of(tmp_path, TITLE + f'---\n## A\n```python steps alt="It doubles."\n{code}\n```\nNote: 1 min.\n')
    page = render(deck, execute(deck, Path(__file__).parents[2]))
    first, last = labels_of(page)
    assert "copy 1 s" in first and "It doubles" not in first
    assert last.startswith("It doubles. At") and "copy 2 s" in last
    labels = page.split("<script>")[0].count("aria-label=")
    assert labels == len(deck.slides) + 2, "a figure is read out once"


def test_a_figure_without_words_of_its_own_has_the_author_s(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + '---\n## A\n```python steps alt="Two curves"\n0\n```\nNote: 1 min.\n')
    chart = Output("image/svg+xml", '<svg viewBox="0 0 10 10"></svg>')
    assert labels_of(render(deck, Executed(outputs={7: (chart, chart)}))) == ["Two curves", "Two curves"]


def sizes_of(page: str) -> tuple[int, int]:
    """Code and output of the second slide, in pixels."""
    code, output = re.findall(r"--code: (\d+)px; --output: (\d+)px", page)[1]
    return int(code), int(output)


LINE = "x = 12345\n"
FOUR = f"```python code\n{LINE * 4}```\n"


@pytest.mark.parametrize(
    ("slide", "sizes"),
    [
        (FOUR, (32, 30)),
        (FOUR + "Few words.\n", (28, 26)),
        (FOUR + "|||\nFew words.\n", (28, 26)),
        (f"```python code\n{LINE * 10}```\n", (32, 30)),
        (f"```python code\n{LINE * 13}```\n", (28, 26)),
        (f"```python code\n{LINE * 18}```\n", (22, 20)),
        (f"```python code\n{'x' * 70}\n```\n", (26, 24)),
        (f"```python code\n{'x' * 80}\n```\n", (22, 20)),
        (f"{FOUR}|||\n```python code\n{'x' * 36}\n```\n", (22, 20)),
        (FOUR + "Many words. " * 80 + "\n", (22, 20)),
        (FOUR.replace(" code", ' figure alt="A picture"') + FOUR, (22, 20)),
        (FOUR.replace(" code", ' figure alt="A picture"') + "|||\n" + FOUR, (32, 30)),
    ],
)
def test_code_is_as_large_as_its_slide_has_room_for(tmp_path: Path, slide: str, sizes: tuple[int, int]) -> None:
    deck = deck_of(tmp_path, TITLE + f"---\n## A\n{slide}\nNote: 1 min.\n")
    picture = (Output("image/svg+xml", '<svg viewBox="0 0 10 10"></svg>'),)
    assert sizes_of(render(deck, Executed(outputs={7: picture}))) == sizes


@pytest.mark.parametrize(
    ("printed", "sizes"),
    [
        ("True\n", (32, 30)),
        ("x" * 65, (32, 28)),  # as large as a whole line allows
        ("x" * 90, (26, 20)),  # not much smaller than its code
        ("many words " * 20, (32, 30)),  # a line that is broken at any size may be broken
        ("x\n" * 12, (22, 20)),
    ],
)
def test_what_code_printed_grows_with_it(tmp_path: Path, printed: str, sizes: tuple[int, int]) -> None:
    deck = deck_of(tmp_path, TITLE + f"---\n## A\n```python\n{LINE * 4}```\nNote: 1 min.\n")
    assert sizes_of(render(deck, Executed(outputs={7: (Output("text/plain", printed),)}))) == sizes


def test_below_a_heading_of_two_lines_there_is_less_room(tmp_path: Path) -> None:
    code = f"```python code\n{LINE * 11}```\nNote: 1 min.\n"
    short, long = (deck_of(tmp_path, f"{TITLE}---\n## {heading}\n{code}") for heading in ("A", "Many words " * 6))
    assert sizes_of(render(short, Executed()))[0] > sizes_of(render(long, Executed()))[0]


def test_text_from_code_cannot_become_markup(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + "---\n## A\n```python\n0\n```\nNote: 1 min.\n")
    page = render(deck, Executed(outputs={7: (Output("text/plain", "<script>alert(1)</script>"),)}))
    assert "<script>alert(1)" not in page
