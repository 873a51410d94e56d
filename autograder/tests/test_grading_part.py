"""Which known answers `make test` grades: by what they show, and never without what nobody has graded yet."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.grading.known_answers.answers import fingerprint
from autograder.tests.part import covering, named_in, part_of

pytestmark = pytest.mark.quick


def verdict(*failed: str, hint: str = "", bonus: str = "", flag: str = "") -> dict[str, Any]:
    kept = {"hints": [hint], "bonus": [bonus], "flags": [flag]}
    return {"failed": list(failed)} | {name: [each for each in of if each] for name, of in kept.items()}


VERDICTS = {
    "right/a": verdict(), "right/b": verdict(bonus="more"), "right/c": verdict(), "right/d": verdict(),
    "wrong/a": verdict("first", hint="one"), "wrong/b": verdict("first", hint="one"),
    "wrong/c": verdict("first", hint="one"), "wrong/d": verdict("first", hint="two"),
    "wrong/e": verdict("first", "second"), "wrong/f": verdict("second", flag="second: close: 1.2 times"),
    "wrong/g": verdict("second", flag="second: close: 1.3 times"),
    "wrong/h": verdict("second", flag="second: close: 1.4 times"), "wrong/i": verdict("first"),
}  # fmt: skip
TEXTS = {name: f"the text of {name}\n" for name in VERDICTS}
KEPT: dict[str, Any] = {"verdicts": VERDICTS, "texts": {name: fingerprint(text) for name, text in TEXTS.items()}}


def test_each_check_bonus_flag_and_hint_is_shown_twice_where_there_are_two() -> None:
    part = part_of(KEPT, TEXTS)
    assert part.whole == {"right/a", "right/b", "right/c", "wrong/a", "wrong/b", "wrong/e", "wrong/f", "wrong/g"}
    assert part.alone == {"wrong/d"}, "`two` is given once, and `one` by what is graded whole"


def test_an_answer_that_nobody_has_graded_or_whose_text_is_another_is_graded_whole() -> None:
    before = part_of(KEPT, TEXTS)
    changed = part_of(KEPT, TEXTS | {"wrong/i": "total = 0\n", "wrong/new": "total = 1\n"})
    assert changed.whole == before.whole | {"wrong/i", "wrong/new"} and changed.alone == before.alone
    assert part_of({}, TEXTS).whole == set(TEXTS)
    unknown = part_of({"verdicts": VERDICTS}, TEXTS)
    assert unknown.whole == set(TEXTS) and not unknown.alone, "to which text a verdict was given must be kept"


def test_what_an_answer_showed_that_was_changed_is_shown_by_another() -> None:
    part = part_of(KEPT, TEXTS | {"wrong/a": "total = 0\n"})
    assert part.whole == part_of(KEPT, TEXTS).whole | {"wrong/c"} and part.alone == {"wrong/d"}


def test_what_a_page_names_is_graded_whole() -> None:
    assert named_in("as in right/c.py, or `d` and `wrong/e`") == {"right/c", "right/d"}
    assert part_of(KEPT, TEXTS, named_in("`right/c` and `d.py`")).whole >= {"right/c", "right/d"}


def test_an_answer_that_shows_nothing_new_changes_nothing_and_one_that_is_taken_takes_a_later_one_s_place() -> None:
    shows = {"b": ["x"], "d": ["x", "y"], "f": ["y"], "h": ["y", "z"]}
    assert covering(shows) == ["b", "d", "f", "h"]
    assert covering(shows | {"j": ["x", "y"]}) == ["b", "d", "f", "h"]
    assert covering({"b": ["x"], "c": ["y"], "d": ["x", "y"], "f": ["y"], "h": ["z"]}) == ["b", "d", "c", "h"]
    assert covering(shows, first=["h"], times=1) == ["h", "b"]


def test_how_lines_end_is_no_part_of_a_text() -> None:
    assert fingerprint("a\r\nb\r\n") == fingerprint("a\nb") != fingerprint("a\nb\nc")
