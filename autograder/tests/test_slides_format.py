"""A deck's Markdown: what it means, and what it refuses, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.decks.execution import Executed, Output, execute
from autograder.decks.rendering import LEAST_TEXT, render
from autograder.decks.source import Block, Column, Deck, Pause, Text, read_deck
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
    assert [type(part) for part in second.parts] == [Text, Pause, Block, Column, Text]
    block, text = second.parts[2], second.parts[4]
    assert isinstance(block, Block) and isinstance(text, Text)
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


def test_frames_take_each_other_s_place(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + '---\n## A\n```python steps alt="Three"\n[1, 2, 3]\n```\nNote: 1 min.\n')
    page = render(deck, execute(deck, tmp_path))
    shown = [page.index(f'<pre class="output">{number}</pre>') for number in (1, 2, 3)]
    assert shown == sorted(shown)
    for kind in ("fade-out", "current-visible", "fade-in"):
        assert page.count(f'class="frame fragment {kind}"') == 1


def test_a_figure_s_small_text_grows_until_the_last_row_can_read_it(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + '---\n## A\n```python figure alt="Small"\n0\n```\nNote: 1 min.\n')
    svg = '<svg viewBox="0 0 1168 100"><text id="t" font-size="12">12</text><text font-size="44">44</text></svg>'
    page = render(deck, Executed(outputs={7: (Output("image/svg+xml", svg),)}))
    assert f'font-size="{LEAST_TEXT}"' in page and 'font-size="44"' in page
    assert 'font-size="12"' not in page
    assert 'id="t"' not in page, "ids of two figures on one page must not meet"


def test_text_from_code_cannot_become_markup(tmp_path: Path) -> None:
    deck = deck_of(tmp_path, TITLE + "---\n## A\n```python\n0\n```\nNote: 1 min.\n")
    page = render(deck, Executed(outputs={7: (Output("text/plain", "<script>alert(1)</script>"),)}))
    assert "<script>alert(1)" not in page
