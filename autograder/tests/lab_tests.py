"""What every lab is held to: START HERE for the test of a lab. A lab's own test is a class of these, and what it adds.

    class TestKnownAnswers(LabTests):
        lab = load_lab("lab01_naive_matmul")

Wrong answers fail as their first lines say, right ones earn full marks, and the verdicts that an H200 gave are kept.
`make test` grades the answers of part.py, `make test-all` every one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from autograder.grading.attempt import Attempt
from autograder.grading.grade import PUBLIC_SEED, Grading, judge, read
from autograder.grading.known_answers.table import decided, table
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.tests.known_answers import (
    earns_a_part_of,
    failed_checks,
    hints,
    promised,
    report,
    waiting_for_a_gpu,
    without_close_calls,
)
from autograder.tests.part import left_to_all, part_of_lab

ROOT = Path(__file__).resolve().parents[2]
Grade = Callable[[Lab, Path], Result]
SOURCES = {"measured": "h200", "simulated": "simulated"}  # where ratios come from, and the file of verdicts


@cache
def verdicts_of(lab: str, source: str) -> dict[str, Any]:
    """What a device gave a lab's known answers: solutions/LAB/calibration/*.json."""
    path = ROOT / "solutions" / lab / "calibration" / f"{SOURCES[source]}.json"
    if not path.parent.is_dir():
        pytest.skip(f"no verdicts are kept yet: python -m autograder.grading.known_answers {lab}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


class LabTests:
    """The tests of one lab's files, by a subclass that names the lab."""

    pytestmark = [pytest.mark.long(60), pytest.mark.covering]

    lab: ClassVar[Lab]
    # Hints that tests of the lab's own ask for, beside those of the wrong answers: to the bonus, say.
    hints_elsewhere: ClassVar[frozenset[str]] = frozenset()
    # Flags that only a clock gives, by answer: they ask a person to look, and cost nothing.
    flags_on_a_gpu: ClassVar[Mapping[str, list[str]]] = {}
    # The ratio of the best known answer, by check that compares speed: far above it the spec has somebody look.
    best_known: ClassVar[Mapping[str, float]] = {}

    solutions: ClassVar[Path]
    wrong: ClassVar[list[Path]]
    right: ClassVar[list[Path]]

    def __init_subclass__(cls) -> None:
        cls.solutions = ROOT / "solutions" / cls.lab.name
        cls.wrong = sorted((cls.solutions / "wrong").glob("*.py"))
        cls.right = sorted((cls.solutions / "right").glob("*.py"))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        part = part_of_lab(self.lab.name)
        for kind, paths in (("wrong", self.wrong), ("right", self.right)):
            if f"{kind}_answer" in metafunc.fixturenames:
                metafunc.parametrize(f"{kind}_answer", [chosen(path, part.whole) for path in paths])
        if "judged_alone" in metafunc.fixturenames:
            alone = [path for path in self.wrong if named(path) in part.alone]
            metafunc.parametrize("judged_alone", alone, ids=lambda path: path.stem)

    @property
    def known(self) -> dict[str, Path]:
        """Every known answer by its name in tables of verdicts."""
        return {"solution": self.solutions / "lab.ipynb", **{named(path): path for path in (*self.right, *self.wrong)}}

    def test_a_wrong_answer_fails_exactly_its_checks_and_gets_exactly_its_hint(
        self, wrong_answer: Path, graded: Grade
    ) -> None:
        checks, hint = promised(wrong_answer)
        result = graded(self.lab, wrong_answer)
        assert not result.error and not without_close_calls(result.flags, checks), report(result)
        assert failed_checks(result) == checks, report(result)
        assert hints(result) == {hint} - {""}, report(result)

    def test_a_wrong_answer_judged_by_the_checks_that_it_fails_gets_its_hint(
        self, judged_alone: Path, worker: Worker
    ) -> None:
        checks, hint = promised(judged_alone)
        grading = Grading(self.lab, worker, PUBLIC_SEED, read(self.lab, judged_alone, worker))
        found = [judge(grading, each) for each in self.lab.checks if each.name in checks]
        assert {each.name for each in found if each.outcome == "failed"} == checks, [each.message for each in found]
        assert {each.name for check in found for each in check.hints} == {hint}, [each.message for each in found]

    def test_a_right_answer_earns_full_marks_or_the_part_that_it_names_and_no_hint(
        self, right_answer: Path, graded: Grade
    ) -> None:
        result = graded(self.lab, right_answer)
        bonus = {each.name for each in self.lab.checks if each.bonus}
        assert result.outcome == "passed" and not without_close_calls(result.flags, bonus), report(result)
        partly = {each.name for each in result.checks if not each.bonus and 0 < each.points < each.max_points}
        assert partly == earns_a_part_of(right_answer), report(result)
        assert not hints(result) and all(each.points for each in result.checks if not each.bonus), report(result)

    @pytest.mark.quick
    def test_the_solution_earns_full_marks_and_the_whole_bonus(self, graded: Grade) -> None:
        result = graded(self.lab, self.solutions / "lab.ipynb")
        assert result.outcome == "passed" and not result.flags, report(result)
        assert result.points == sum(each.points for each in self.lab.checks), report(result)

    @pytest.mark.quick
    def test_the_starter_fails_only_the_checks_that_all_others_wait_for(self, graded: Grade) -> None:
        result = graded(self.lab, self.lab.notebook)
        first = {each.name for each in self.lab.checks if not each.after and not each.bonus}
        assert not result.error, report(result)
        assert failed_checks(result) == first, report(result)
        assert {each.outcome for each in result.checks if each.name not in first} == {"not run"}, report(result)
        assert result.points == 0, report(result)

    def test_the_starter_ends_with_its_check(self) -> None:
        """`make notebooks` runs it from top to bottom; what the check shows is the result of the test above."""
        last = json.loads(self.lab.notebook.read_text(encoding="utf-8"))["cells"][-1]
        assert last["cell_type"] == "code"
        assert "".join(last["source"]) in (f'check("{self.lab.name}")', f'check("{self.lab.name.partition("_")[0]}")')

    @pytest.mark.rest
    @pytest.mark.parametrize("end", ("least", "most"))
    def test_verdicts_nearest_to_a_threshold_hold_at_both_ends_of_the_sizes(
        self, end: str, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is counted or timed is as large as the seed says: no seed may turn the verdict of a known answer."""

        def drawn(attempt: Attempt, low: int, high: int, step: int = 1) -> int:
            return low if end == "least" else high - (high - low) % step

        monkeypatch.setattr(Attempt, "drawn", drawn)
        for check, ratios in verdicts_of(self.lab.name, "simulated")["ratios"].items():
            judged = next(each for each in self.lab.checks if each.name == check)
            for name, fails in self.nearest_to_the_threshold(check, ratios).items():
                grading = Grading(self.lab, worker, PUBLIC_SEED, read(self.lab, self.known[name], worker))
                found = judge(grading, judged)
                assert found.outcome == ("failed" if fails else "passed"), (name, check, found.message)

    def nearest_to_the_threshold(self, check: str, ratios: Mapping[str, Any]) -> dict[str, bool]:
        """The slowest answer that passes, and the fastest that fails this check of speed and no other: does it fail?

        Right answers pass, but for a bonus: some have it, by their verdict, and some have not.
        """
        right = [name for name in ratios if name.startswith(("right/", "solution"))]
        slow = [name for name in ratios if name.startswith("wrong/") and promised(self.known[name])[0] == {check}]
        if next(each.bonus for each in self.lab.checks if each.name == check):
            verdicts = verdicts_of(self.lab.name, "simulated")["verdicts"]
            slow = [name for name in right if check not in verdicts[name]["bonus"]]
            right = [name for name in right if name not in slow]
        of = {name: ratios[name]["ratio"] for name in (*right, *slow)}
        return {min(right, key=of.__getitem__): False} | dict.fromkeys(sorted(slow, key=of.__getitem__)[-1:], True)

    def test_every_check_is_failed_by_some_wrong_answer(self) -> None:
        required = {each.name for each in self.lab.checks if not each.bonus}
        assert set().union(*(promised(path)[0] for path in self.wrong)) == required

    def test_every_hint_is_given_to_some_answer(self) -> None:
        given = {promised(path)[1] for path in self.wrong} - {""}
        assert given | self.hints_elsewhere == {each.name for each in self.lab.hints}

    def test_the_part_that_is_graded_shows_every_check_and_all_but_a_few_hints(self) -> None:
        """By what answers promise, and not by the verdicts by which they are chosen."""
        part = part_of_lab(self.lab.name)
        checks = {named(path): promised(path)[0] for path in self.wrong}
        hints = {named(path): {promised(path)[1]} - {""} for path in self.wrong}
        assert part.whole | part.alone <= {named(path) for path in (*self.right, *self.wrong)}
        assert not part.whole & part.alone and all(hints[name] for name in part.alone)
        assert shown_by(part.whole, checks) == shown_by(checks, checks)
        assert shown_by(part.whole | part.alone, hints) == shown_by(hints, hints) - part.dear
        assert len(part.dear) <= 0.3 * len(self.lab.hints)
        assert shown_by(hints, hints) | self.hints_elsewhere == {each.name for each in self.lab.hints}

    def test_no_points_or_thresholds_stand_in_the_handout_by_hand(self) -> None:
        notebook = json.loads(self.lab.notebook.read_text(encoding="utf-8"))
        prose = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
        assert not re.search(r"\d[\d.]*\s*(points?|times|x faster|%)", prose)

    @pytest.mark.parametrize("source", SOURCES)
    def test_every_known_answer_was_given_the_verdict_that_it_promises(self, source: str) -> None:
        found = verdicts_of(self.lab.name, source)
        assert found["source"] == source and set(found["verdicts"]) <= set(self.known)
        for name, verdict in found["verdicts"].items():
            checks, hint = promised(self.known[name]) if name.startswith("wrong/") else (set(), None)
            assert set(verdict["failed"]) == checks and set(verdict["hints"]) == ({hint} if hint else set()), name

    def test_no_answer_waits_for_its_simulated_verdict_and_the_table_names_those_that_wait_for_a_gpu(self) -> None:
        assert set(verdicts_of(self.lab.name, "simulated")["verdicts"]) == set(self.known)
        measured = set(verdicts_of(self.lab.name, "measured")["verdicts"])
        assert {name for name in self.known if not name.startswith("wrong/")} <= measured
        assert measured == set(self.known) - waiting_for_a_gpu(self.solutions)

    def test_both_devices_gave_the_same_verdicts_and_the_table_says_so(self) -> None:
        measured, simulated = (verdicts_of(self.lab.name, source)["verdicts"] for source in SOURCES)
        assert {name: decided(each) for name, each in measured.items()} == {
            name: decided(simulated[name]) for name in measured
        }
        assert {name: each["flags"] for name, each in measured.items() if each["flags"]} == self.flags_on_a_gpu
        bonus = [each.name for each in self.lab.checks if each.bonus]
        assert not any(without_close_calls(each["flags"], [*each["failed"], *bonus]) for each in simulated.values())
        assert table(self.lab) == (self.solutions / "calibration" / "verdicts.md").read_text(encoding="utf-8")

    def test_the_best_known_ratio_is_that_of_an_answer_here(self) -> None:
        """On whichever device it is the larger."""
        found = dict.fromkeys(self.best_known, 0.0)
        for source in SOURCES:
            for check, ratios in verdicts_of(self.lab.name, source)["ratios"].items():
                of_right = [each["ratio"] for name, each in ratios.items() if name.startswith(("right/", "solution"))]
                found[check] = max(found[check], *of_right)
        assert found == pytest.approx(dict(self.best_known), rel=0.02)


def named(path: Path) -> str:
    """An answer's name in tables of verdicts."""
    return f"{path.parent.name}/{path.stem}"


def chosen(path: Path, part: Collection[str]) -> Any:
    """An answer as a parameter, left to `make test-all` where it is not of the part."""
    return pytest.param(path, id=path.stem) if named(path) in part else left_to_all(path, path.stem)


def shown_by(names: Collection[str], shows: Mapping[str, Collection[str]]) -> set[str]:
    """All that these answers show."""
    return {each for name in names for each in shows.get(name, ())}
