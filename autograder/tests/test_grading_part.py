"""What `make test` leaves to `make test-all`: answers that show what others show, and of many cases the longest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.known_answers.answers import fingerprint
from autograder.tests import seconds
from autograder.tests.part import MOST_SECONDS, covering, named_in, part_of

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


def test_each_check_bonus_flag_and_hint_is_shown() -> None:
    part = part_of(KEPT, TEXTS)
    assert part.whole == {"right/a", "right/b", "wrong/a", "wrong/e", "wrong/f"} and not part.new
    assert part.alone == {"wrong/d"}, "`one` is given by what is graded whole"


def test_of_those_that_show_the_same_the_one_is_taken_that_was_graded_in_the_least_time() -> None:
    seconds = dict.fromkeys(VERDICTS, 2.0) | {"right/c": 1.0, "wrong/c": 0.5, "wrong/h": 1.5}
    part = part_of(KEPT | {"seconds": seconds}, TEXTS)
    assert part.whole == {"right/b", "wrong/c", "wrong/h"} and part.alone == {"wrong/d"}
    del seconds["wrong/c"]  # of whom nobody knows: behind all others
    assert part_of(KEPT | {"seconds": seconds}, TEXTS).whole == {"right/c", "right/b", "wrong/a", "wrong/h"}


def test_a_hint_that_takes_long_to_show_is_left_out_and_named() -> None:
    seconds = dict.fromkeys(VERDICTS, 1.0) | {"wrong/d": MOST_SECONDS + 1}
    part = part_of(KEPT | {"seconds": seconds}, TEXTS)
    assert not part.alone and part.dear == {"two"}
    also = VERDICTS | {"wrong/j": verdict("first", hint="two")}
    texts = TEXTS | {"wrong/j": TEXTS["wrong/d"]}
    kept = KEPT | {"verdicts": also, "seconds": seconds, "texts": {name: fingerprint(text) for name, text in texts.items()}}
    assert part_of(kept, texts).alone == {"wrong/j"} and not part_of(kept, texts).dear
    seconds["wrong/a"] = seconds["wrong/b"] = seconds["wrong/c"] = MOST_SECONDS + 1
    assert part_of(kept, texts).dear == {"one"} and part_of(kept, texts).whole >= {"wrong/e"}, "checks are shown by any"


def test_an_answer_that_nobody_has_graded_or_whose_text_is_another_is_graded_whole() -> None:
    before = part_of(KEPT, TEXTS)
    changed = part_of(KEPT, TEXTS | {"wrong/i": "total = 0\n", "wrong/new": "total = 1\n"})
    assert changed.new == {"wrong/i", "wrong/new"}
    assert changed.whole == before.whole | changed.new and changed.alone == before.alone
    assert part_of({}, TEXTS).whole == set(TEXTS)
    unknown = part_of({"verdicts": VERDICTS}, TEXTS)
    assert unknown.whole == set(TEXTS) and not unknown.alone, "to which text a verdict was given must be kept"


def test_what_an_answer_showed_that_was_changed_is_shown_by_another() -> None:
    part = part_of(KEPT, TEXTS | {"wrong/a": "total = 0\n"})
    assert part.whole == part_of(KEPT, TEXTS).whole | {"wrong/b"} and part.alone == {"wrong/d"}


def test_what_a_page_names_is_graded_whole() -> None:
    assert named_in("as in right/c.py, or `d` and `wrong/e`") == {"right/c", "right/d"}
    assert part_of(KEPT, TEXTS, named_in("`right/c` and `d.py`")).whole >= {"right/c", "right/d"}


def test_an_answer_that_shows_nothing_new_changes_nothing_and_one_that_is_taken_takes_a_later_one_s_place() -> None:
    shows = {"b": ["x"], "d": ["x", "y"], "f": ["y"], "h": ["y", "z"]}
    assert covering(shows) == ["b", "d", "h"]
    assert covering(shows | {"j": ["x", "y"]}) == ["b", "d", "h"]
    assert covering({"b": ["x"], "c": ["y"], **shows}) == ["b", "c", "h"]
    assert covering(shows, first=["h"]) == ["h", "b"]


def test_how_lines_end_is_no_part_of_a_text() -> None:
    assert fingerprint("a\r\nb\r\n") == fingerprint("a\nb") != fingerprint("a\nb\nc")


def test_of_many_cases_the_quickest_are_tried_for_as_long_as_the_budget_lasts() -> None:
    took = {name: share * seconds.BUDGET for name, share in (("a", 0.3), ("b", 0.1), ("c", 0.7), ("d", 0.6))}
    cases = [f"t.py::test[{each}]" for each in took]
    assert seconds.left_out({"t.py::test": took}, cases) == {"t.py::test[c]"}
    assert seconds.left_out({"t.py::test": {"a": 9.0, "b": 8.0}}, cases[:2]) == {"t.py::test[a]"}, "one is always tried"


def test_what_nobody_has_timed_is_tried() -> None:
    assert not seconds.left_out({"t.py::test": {"a": 99.0}}, ["t.py::test[new]", "t.py::test[a]", "t.py::other"][:1])
    assert seconds.left_out({"t.py::test": {"a": 99.0}}, ["t.py::test[new]", "t.py::test[a]"]) == {"t.py::test[a]"}
    assert not seconds.left_out({}, [f"t.py::test[{i}]" for i in range(99)])


def test_times_are_kept_of_tests_that_take_long_and_of_what_was_not_run_this_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "seconds.json"
    monkeypatch.setattr(seconds, "KEPT", file)
    took = {"t.py::long[a]": 3.04, "t.py::long[b[0]]": 2.5, "t.py::short[a]": 0.4, "t.py::short[b]": 0.4, "t.py::one": 99.0}
    seconds.write(took, took, file)
    assert json.loads(file.read_text()) == {"t.py::long": {"a": 3.0, "b[0]": 2.5}}
    seconds.write({"t.py::long[b[0]]": 4.0, "t.py::long[c]": 0.01}, [*took, "t.py::long[c]"], file)
    assert json.loads(file.read_text()) == {"t.py::long": {"a": 3.0, "b[0]": 4.0}}
    seconds.write({}, ["t.py::short[a]"], file)
    assert json.loads(file.read_text()) == {"t.py::long": {"a": 3.0, "b[0]": 4.0}}, "of a test not asked for all is kept"
    seconds.write({"t.py::long[a]": 0.1, "t.py::long[b[0]]": 0.2}, took, file)
    assert json.loads(file.read_text()) == {}, "it has become quick"


def test_each_test_whose_times_are_kept_is_there() -> None:
    root = Path(__file__).resolve().parents[2]
    for name in seconds.kept():
        file, *_, test = name.split("::")
        assert f"def {test}(" in (root / file).read_text(encoding="utf-8"), name
