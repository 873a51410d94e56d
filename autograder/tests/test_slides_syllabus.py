"""`slides/SYLLABUS.md` against the disk: names, minutes and hours are those of the decks and labs, and the sums come out."""

from __future__ import annotations

import re

import pytest

from autograder.decks.__main__ import ROOT, SLIDES
from autograder.decks.source import Deck, read_deck
from autograder.grading.labs import load_lab
from autograder.tests.finding import found

TEXT = (SLIDES / "SYLLABUS.md").read_text(encoding="utf-8")
NOTEBOOK, LAB = r"\b\d\d[a-z]?_[a-z0-9_]+", r"\blab\d\d_[a-z_]+"
DECKS: dict[str, Deck] = {each.stem: read_deck(each) for each in sorted(SLIDES.glob("[0-9][0-9]_*.md"))}
NOTEBOOKS = {each.stem for each in (ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb")}
LABS = {each.parent.name for each in (ROOT / "labs").glob("lab[0-9][0-9]_*/spec.py")}


def named(text: str) -> set[str]:
    """The decks, notebooks and labs that a text names."""
    return set(re.findall(rf"{LAB}|{NOTEBOOK}", text))


def parts(lesson: str) -> set[str]:
    """The notebooks of a deck's lesson."""
    return {each for each in NOTEBOOKS if each[:2] == lesson[:2]}


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in TEXT.split(f"## {section}\n")[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_deck_notebook_and_lab_that_is_named_exists() -> None:
    assert named(TEXT) <= NOTEBOOKS | LABS | set(DECKS)


def test_every_deck_notebook_and_lab_that_exists_has_its_place() -> None:
    assert NOTEBOOKS | LABS | set(DECKS) <= named(TEXT)
    assert {load_lab(name).lesson for name in LABS} <= NOTEBOOKS


def test_minutes_and_hours_are_those_of_the_decks_notebooks_and_labs() -> None:
    listed = rows("What there is")
    assert [row[0] for row in listed] == sorted(DECKS)
    for lesson, minutes, alone, lab, hours in listed:
        assert float(minutes) == DECKS[lesson].minutes, lesson
        each_alone = dict(part.split(": ") for part in alone.split(", "))
        assert set(each_alone) == parts(lesson)
        for name, time in each_alone.items():
            assert f"Allow {time} minutes" in (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert (lab, hours) == ("", "") or load_lab(lab).hours == float(hours)


def test_further_labs_are_those_that_no_lesson_has_in_the_list() -> None:
    further = rows("Further labs") if "## Further labs\n" in TEXT else []
    assert sorted(row[0] for row in further) == sorted(LABS - {row[3] for row in rows("What there is")})
    for name, lesson, hours in further:
        assert (load_lab(name).lesson, load_lab(name).hours) == (lesson, float(hours))


@pytest.mark.parametrize(("section", "minutes"), [("One day", 480), ("Three hours", 180)])
def test_a_plan_fills_its_time_and_each_deck_fits_without_what_is_left_out(section: str, minutes: int) -> None:
    plan = rows(section)
    assert sum(int(row[0]) for row in plan) == minutes
    assert f"{minutes} minutes" in TEXT.split(f"## {section}\n")[1]
    with_decks = [row for row in plan if row[2].startswith("the deck")]
    assert len(with_decks) >= 3
    for time, lesson, what in with_decks:
        left_out = re.findall("“([^”]+)”", what)
        spent = [slide.minutes for slide in DECKS[lesson].slides if slide.heading not in left_out]
        assert sum(spent) <= int(time), f"{lesson} takes {sum(spent):g} minutes"
        assert len(spent) == len(DECKS[lesson].slides) - len(left_out), lesson


def test_what_may_be_left_out_of_a_lecture_is_on_its_deck() -> None:
    for _, lessons, _, short in rows("Seven lectures"):
        headings = {slide.heading for each in named(lessons) & set(DECKS) for slide in DECKS[each].slides}
        assert set(re.findall("“([^”]+)”", short)) <= headings


def test_a_lecture_fits_into_its_time_without_what_is_left_out_and_its_labs_follow() -> None:
    minutes = int(found(r"(\d+) minutes each", TEXT)[1])
    hours = {row[0]: sum(map(int, re.findall(r": (\d+)", row[2]))) / 60 for row in rows("What there is")}
    listed = rows("Seven lectures")
    assert len(listed) == 7 and named(" ".join(row[1] for row in listed)) == set(DECKS)
    for _, lessons, home, left_out in listed:
        slides = [slide for lesson in named(lessons) for slide in DECKS[lesson].slides]
        assert sum(slide.minutes for slide in slides if f"“{slide.heading}”" not in left_out) <= minutes, lessons
        labs = sum(load_lab(lab).hours for lab in named(home) if lab.startswith("lab"))
        whole = labs + sum(hours[lesson] for lesson in named(lessons))
        assert abs(whole - int(found(r"(\d+) hours", home)[1])) <= 0.5, lessons


def test_exercises_that_are_named_exist() -> None:
    for section in ("One day", "Three hours"):
        for _, _, what in rows(section):
            for notebook, numbers in re.findall(r"(\S+): exercises? (\d(?:, \d)*(?: and \d)?)", what):
                text = (ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8")
                assert all(f"### Exercise {each} " in text for each in re.findall(r"\d", numbers)), (notebook, numbers)
