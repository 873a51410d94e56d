"""The picture of verdicts by prediction and by clock: what stands in which quarter, and what it says in words."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from autograder.course.lesson07.agreement import LEFT, QUARTERS, SIDE, TOP, JudgedAnswer, agreement
from autograder.figures.labels import Box
from autograder.figures.svg import SMALL, text_width

ANSWERS = [
    JudgedAnswer("fast", 2.0, 3.0, True),
    JudgedAnswer("slow", 0.5, 0.2, True),
    JudgedAnswer("slower than predicted", 0.9, 1.3, True),
    JudgedAnswer("wrong, and fast", 0.3, 5.0, False),
    JudgedAnswer("stopped", 1e-5, 0.0, False),  # far below, and never predicted
]


def test_an_answer_that_differs_is_named_and_no_other() -> None:
    figure = agreement(ANSWERS, title="Verdicts")
    words = [each.text for each in ElementTree.fromstring(figure.svg).iter() if each.tag.endswith("text")]
    assert [each for each in words if each and each.startswith("1  ")] == [
        "1  slower than predicted: predicted 1.30, measured 0.90 times what is asked for"
    ]
    assert {"same verdict (2)", "another verdict (1)", "fails an earlier check: no verdict on speed (2)"} <= set(words)
    assert figure.alt == (
        "Verdicts: of 3 verdicts on speed 1 pass and 1 fail by the clock and by prediction; slower than predicted differs."
    )


def test_answers_stand_in_the_quarter_of_their_verdicts_and_inside_the_frame() -> None:
    svg = ElementTree.fromstring(agreement(ANSWERS, title="Verdicts").svg)
    circles = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in svg.iter() if each.tag.endswith("circle")]
    marks = [(x, y) for x, y in circles if y >= TOP]  # the key is above
    middle = LEFT + SIDE / 2, TOP + SIDE / 2
    assert sorted((x > middle[0], y < middle[1]) for x, y in marks) == [
        (False, False), (False, False), (False, True), (True, True),
    ]  # fmt: skip
    assert all(LEFT <= x <= LEFT + SIDE and TOP <= y <= TOP + SIDE for x, y in marks)


def test_the_name_of_a_quarter_hides_no_answer_where_there_is_room() -> None:
    crowded = [JudgedAnswer("", x, y, False) for x in (3, 10, 95, 100, 4e5) for y in (70, 90, 1e3)]
    crowded += [JudgedAnswer("", x, y, False) for x in (0.02, 0.2, 0.9) for y in (0.01, 0.012)]
    svg = ElementTree.fromstring(agreement([*ANSWERS, *crowded], title="Verdicts").svg)
    marks = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in svg.iter() if each.tag.endswith("circle")]
    names = {each.text: each for each in svg.iter() if each.text in QUARTERS}
    assert set(names) == set(QUARTERS)
    for words, each in names.items():
        right, bottom = float(each.attrib["x"]), float(each.attrib["y"])
        box = Box(right - text_width(words, SMALL), bottom - SMALL, right, bottom)
        assert not any(map(box.covers, marks)), words
        left, top = QUARTERS[words]
        assert left < box.left < box.right < left + SIDE / 2 and top < box.top < box.bottom < top + SIDE / 2


@pytest.mark.parametrize("answers", [[], [JudgedAnswer("none", 0.0, 1.0, True)]])
def test_without_a_ratio_there_is_no_picture(answers: list[JudgedAnswer]) -> None:
    with pytest.raises(ValueError, match="positive"):
        agreement(answers, title="Verdicts")
