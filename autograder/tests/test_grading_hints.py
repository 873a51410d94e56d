"""Hints: each names what it is seen by, says nothing where that is not to be seen, and its remedy, carried out, mends.

`solutions/LAB/near_misses.jsonl` holds mutants of right answers: which hints must not be given to them, although they fail
a check that these hints look at. Most of them were given one once, and it was false. `remedies.jsonl` beside it has each
remedy carried out: see remedies.py.
"""

from __future__ import annotations

import ast
import json
import math
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from autograder.grading.evidence import Evidence, recogniser
from autograder.grading.grade import PUBLIC_SEED, Grading, check_submission, judge, read
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.spec import HintRule, Lab, hint
from autograder.grading.witness import LAUNCH, LEFT_OUT, RESULT, Witness, hazard, in_words
from autograder.grading.worker import Worker
from autograder.language.source import Submission, submission_from_cells
from autograder.records.results import CheckResult
from autograder.tests.known_answers import hints
from autograder.tests.part import covering, left_to_all, part_of_lab, quickest_first
from autograder.tests.remedies import Remedy, promised_hints, remedies

pytestmark = pytest.mark.long(90)

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_names()


def near_misses(lab: str) -> list[dict[str, Any]]:
    """A lab's near misses: `hints` that each must not get, the `text`, where it comes `from`, and what is `said` of it.

    `passes`: it passes all checks that the hint looks at. For a hint that says what its one check looks for, and no more:
    who fails that has earned it. `fails`: what it fails, where the hint looks at every check and judging all takes long.
    """
    path = ROOT / "solutions" / lab / "near_misses.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def kept_verdicts(lab: str) -> Any:
    """What the simulated GPU gave a lab's known answers."""
    path = ROOT / "solutions" / lab / "calibration" / "simulated.json"
    return json.loads(path.read_text(encoding="utf-8"))


def tried_near_misses() -> list[Any]:
    """One for each check of a lab that their hints look at, first those that are judged by the fewest checks, and of these
    the mutants of what is graded soonest. The rest, and those that all checks judge, are left to `make test-all`."""
    found = []
    for name_of_lab in LABS:
        lab, of_lab = load_lab(name_of_lab), near_misses(name_of_lab)
        checks = {i: looked_at(lab, each) for i, each in enumerate(of_lab)}
        judged_by = {i: frozenset().union(*each) for i, each in checks.items() if all(each)}
        seconds = kept_verdicts(name_of_lab)["seconds"]
        first = sorted(judged_by, key=lambda i: (len(judged_by[i]), seconds.get(of_lab[i]["from"], math.inf)))
        tried = covering({i: judged_by[i] for i in first})
        for i, each in enumerate(of_lab):
            marks = [] if i in tried else [pytest.mark.rest]
            found.append(pytest.param(name_of_lab, each, marks=marks, id=f"{lab.name[:5]}-{i}"))
    return found


def looked_at(lab: Lab, near_miss: dict[str, Any]) -> list[set[str]]:
    """For each of the hints that it must not get, the checks that this looks at; none where these are all."""
    rules = {rule.name: rule for rule in lab.hints}
    return [set(rules[name].checks or near_miss.get("fails", ())) for name in near_miss["hints"]]


def judged(lab: Lab, submission: Submission, names: Collection[str], worker: Worker) -> dict[str, CheckResult]:
    """These checks by name, each judged alone, which takes a fraction of the time; where none is named, all of them as
    grading judges them."""
    if not names:
        return {each.name: each for each in check_submission(lab, submission, worker=worker).checks}
    grading = Grading(lab, worker, PUBLIC_SEED, read(lab, submission, worker))
    found = {check.name: judge(grading, check) for check in lab.checks if check.name in names}
    assert not [flag for flag in grading.flags if flag.startswith("hint ")]  # one that failed itself
    return found


# ---- the machinery ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "counters, words",
    [
        (("shared_load_bank_conflicts", "shared_store_bank_conflicts"), "shared load and store bank conflicts"),
        (("global_load_requests",), "global load requests"),
        (("float64_operations", "float64_transcendentals"), "float64 operations and transcendentals"),
        (("shuffles", "barriers"), "shuffles and barriers"),
    ],
)
def test_what_names_of_counters_begin_and_end_with_is_said_once(counters: tuple[str, ...], words: str) -> None:
    assert in_words(counters) == words


def test_a_hint_without_a_witness_does_not_load() -> None:
    misconception = recogniser(Evidence)
    with pytest.raises(TypeError, match="shows"):
        misconception("a_check")
    with pytest.raises(TypeError, match="names no witness"):
        hint("a_hint", shows="")


@pytest.mark.parametrize("name", LABS)
def test_every_hint_of_a_lab_says_what_it_is_seen_by(name: str) -> None:
    assert all(rule.shows for rule in load_lab(name).hints)


# What decides by records, and may not read what these say to people.
DECIDING = sorted(
    [*ROOT.glob("labs/*/*.py"), *(ROOT / "autograder" / "grading" / name for name in ("witness.py", "evidence.py"))]
)
WORDS = {"message", "remedy"}
SEARCHES = {"startswith", "endswith", "count", "find", "index", "search", "match", "fullmatch", "findall"}


def is_text_of_a_record(node: ast.expr) -> bool:
    """`str(fault)`, or its like."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr")


def words_read(source: str) -> list[int]:
    """The lines that read the words of a hazard or a fault: its attributes, or a search in its text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in WORDS:
            found.append(node.lineno)
        if isinstance(node, ast.Compare) and any(map(is_text_of_a_record, (node.left, *node.comparators))):
            found.append(node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            if any(map(is_text_of_a_record, (node.func.value, *node.args))):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", DECIDING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_hints_and_witnesses_read_fields_and_no_words(path: Path) -> None:
    lines = words_read(path.read_text(encoding="utf-8"))
    assert not lines, f"{path}, lines {lines}: give the record a field, or the fault a kind, and read that"


@pytest.mark.parametrize(
    "source",
    ["'Reads' in each.message", "each.message.startswith('Reads')", "fault.remedy", "'needs' in str(fault)",
     "str(fault).startswith('The')", "re.search('x', str(fault))"],
)  # fmt: skip
def test_reading_words_is_noticed(source: str) -> None:
    assert words_read(source) and not words_read("each.access == 'load' and str(place[0])")


class Failed:
    """As much of an attempt as evidence needs: one run, with what was wrong."""

    def __init__(self, run: Any, request: Any) -> None:
        self.trials = [type("Trial", (), {"run": run, "request": request})]
        self.compared, self.wrong = None, None
        self.evidence: dict[type, Any] = {}


@pytest.mark.parametrize("name", ["block_and_grid_swapped", "empty_launch"])
def test_on_a_gpu_a_hint_sees_a_run_that_ended_before_its_first_launch(name: str) -> None:
    """It carries the call out on the simulated GPU as well, where it ends likewise: with no launches, and no refusal."""
    lab = load_lab("lab01")
    with Worker("autograder.tests.grading_fakes:GpuInAllButSpeed") as worker:
        result = check_submission(lab, ROOT / "solutions" / lab.name / "wrong" / f"{name}.py", worker=worker)
    assert not [each for each in result.flags if each.startswith("hint ")]
    assert hints(result) == {name}


def test_a_hint_is_not_given_where_its_witness_shows_nothing() -> None:
    from autograder.records.hazards import Hazard
    from autograder.records.runs import Launch, Run, RunRequest

    request = RunRequest("f", {"a": np.zeros(3)})
    launch = Launch("k", (2, 1, 1), (32, 1, 1))
    found = Hazard("race", "Race", "Wait.", None, kernel="k", block=(1, 0, 0), thread=(4, 0, 0), array="t", index=(5,))

    def given(shows: Witness, run: Run) -> str:
        def always(seen: Evidence) -> bool:
            """It did."""
            return True

        rule: HintRule = vars(recogniser(Evidence)(shows=shows)(always))["as_hint"]
        told = rule.recognise(cast(Any, Failed(run, request)))
        return told.witness if told is not None else ""

    assert given(LAUNCH, Run(launches=(launch,))) == "k[2, 32]"
    assert given(hazard("race"), Run(launches=(launch,), hazards=(found,))) == "`k`, thread 4 of block 1, t[5]"
    assert given(LAUNCH & hazard("race"), Run(launches=(launch,), hazards=(found,))).startswith("k[2, 32]; `k`")
    assert given(hazard("race") | LAUNCH, Run(launches=(launch,))) == "k[2, 32]"
    for nothing in (hazard("race"), RESULT, LAUNCH & hazard("race"), hazard("race", space="shared")):
        assert given(nothing, Run(launches=(launch,))) == ""


def test_hints_of_one_attempt_share_what_they_tried() -> None:
    from autograder.records.runs import Launch, Run, RunRequest

    tried = []

    class Trying(Evidence):
        @cached_property
        def experiment(self) -> bool:
            tried.append(self.run)
            return False

    def first(seen: Trying) -> bool:
        """It did."""
        return seen.experiment

    def second(seen: Trying) -> bool:
        """It did so, too."""
        return seen.experiment or True

    run = Run(launches=(Launch("k", (2, 1, 1), (32, 1, 1)),))
    attempt = Failed(run, RunRequest("f", {"a": np.zeros(3)}))
    misconception = recogniser(Trying)
    rules = [vars(misconception(shows=LAUNCH)(each))["as_hint"] for each in (first, second)]
    assert [rule.recognise(cast(Any, attempt)) is not None for rule in rules] == [False, True]
    assert len(tried) == 1
    attempt.trials.append(Failed(run, RunRequest("f", {"a": np.ones(3)})).trials[0])  # a further run is another matter
    assert rules[1].recognise(cast(Any, attempt)) is not None
    assert len(tried) == 2


def test_nothing_is_tried_for_a_hint_whose_witness_is_not_among_what_the_check_has_seen() -> None:
    from autograder.records.runs import Launch, Run, RunRequest

    asked: list[str] = []

    def given(shows: Witness) -> Any:
        def tries(seen: Evidence) -> bool:
            """It did."""
            asked.append(shows.kind)
            return True

        run = Run(launches=(Launch("k", (2, 1, 1), (32, 1, 1)),))
        rule = vars(recogniser(Evidence)(shows=shows)(tries))["as_hint"]
        return rule.recognise(cast(Any, Failed(run, RunRequest("f", {"a": np.zeros(3)}))))

    assert given(RESULT) is None and given(LEFT_OUT | RESULT) is None and asked == []
    assert given(RESULT | LAUNCH) is not None and asked == [f"{RESULT.kind} or {LAUNCH.kind}"]


# ---- near misses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab_name, near_miss", tried_near_misses())
def test_a_near_miss_gets_none_of_the_hints_that_are_not_its_own(
    lab_name: str, near_miss: dict[str, Any], simulated: Worker
) -> None:
    lab = load_lab(lab_name)
    submission = submission_from_cells("mutant.py", [("mutant.py", near_miss["text"])], is_notebook=False)
    by_hint = looked_at(lab, near_miss)
    found = judged(lab, submission, set().union(*by_hint) if all(by_hint) else (), simulated)
    failed, passed = ({name for name, each in found.items() if each.outcome == how} for how in ("failed", "passed"))
    for name, checks in zip(near_miss["hints"], by_hint, strict=True):
        fits = checks and checks <= passed if near_miss.get("passes") else (checks or failed) & failed
        assert fits, f"{name} is not asked, or the check not passed: {near_miss['said']}"
        assert not any(name == hint.name for each in found.values() for hint in each.hints), near_miss["said"]


@pytest.mark.parametrize("name", [name for name in LABS if near_misses(name)])
def test_a_hint_has_two_near_misses_among_known_answers_and_mutants(name: str) -> None:
    lab = load_lab(name)
    verdicts = kept_verdicts(name)
    missed = Counter(hint for each in near_misses(name) for hint in each["hints"])
    for rule in lab.hints:
        for answer, verdict in verdicts["verdicts"].items():
            asked = not rule.checks or set(verdict["failed"]) & set(rule.checks)
            missed[rule.name] += bool(answer.startswith("wrong/") and asked and rule.name not in verdict["hints"])
    few = {rule.name for rule in lab.hints if missed[rule.name] < 2}
    assert not few, sorted(few)


# ---- which launch a hint is about ------------------------------------------------------------------------------------


def with_an_idle_launch(text: str) -> str | None:
    """An answer whose host functions first launch a kernel that does nothing, with more threads than any of its own."""
    tree = ast.parse(text)
    launching = [
        each
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and not each.decorator_list and each.args.args
        and any(isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript) for call in ast.walk(each))
    ]
    for each in launching:
        each.body[:0] = ast.parse(f"does_nothing[4000, 32]({each.args.args[0].arg})").body
    first = next(i for i, each in enumerate(tree.body) if isinstance(each, ast.FunctionDef))
    tree.body[first:first] = ast.parse("@cuda.jit\ndef does_nothing(array):\n    pass").body
    return ast.unparse(ast.fix_missing_locations(tree)) if launching else None


def answers_by_launch() -> list[Any]:
    """For each hint that names launches, a wrong answer that gets it, and what that is after a launch of no use.

    Of a lab's hints that are seen by the same one is tried, and those of answers that nobody has graded yet: the rest are
    left to `make test-all`.
    """
    found: list[Any] = []
    for lab in map(load_lab, LABS):
        of_lab, new = {}, part_of_lab(lab.name).new
        kept = kept_verdicts(lab.name)
        rules = {rule.name: rule for rule in lab.hints if "a launch" in rule.shows}
        for answer in quickest_first(kept):
            verdict = kept["verdicts"][answer]
            if not answer.startswith("wrong/"):
                continue
            text = (ROOT / "solutions" / lab.name / f"{answer}.py").read_text(encoding="utf-8")
            for name in {*verdict["hints"]} & {*rules}:
                checks = frozenset(rules[name].checks or verdict["failed"]) & {*verdict["failed"]}
                if name not in of_lab and (other := with_an_idle_launch(text)) is not None:
                    of_lab[name] = (lab, name, other, checks), answer
        shows = {name: [rules[name].shows] for name in of_lab}
        tried = covering(shows, [name for name, (_, answer) in of_lab.items() if answer in new])
        for name, (values, _) in of_lab.items():
            marks = [] if name in tried else [pytest.mark.rest]
            found.append(pytest.param(*values, marks=marks, id=f"{lab.name[:5]}-{name}"))
    return found


@pytest.mark.parametrize("lab, name, text, checks", answers_by_launch())
def test_a_hint_is_about_the_launch_that_works_and_not_about_the_first(
    lab: Lab, name: str, text: str, checks: frozenset[str], simulated: Worker
) -> None:
    submission = submission_from_cells("answer.py", [("answer.py", text)], is_notebook=False)
    found = [each for result in judged(lab, submission, checks, simulated).values() for each in result.hints]
    named = [each.witness for each in found if each.name == name]
    assert named, [each.name for each in found]
    assert not any(each.startswith("does_nothing[") for each in named), named


# ---- remedies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LABS)
def test_every_hint_that_a_wrong_answer_gets_has_its_remedy_there(name: str) -> None:
    of_lab = remedies(name)
    assert Counter((each.answer, each.hint) for each in of_lab) == Counter(promised_hints(name))
    assert all(each.mended.label for each in of_lab)  # every edit fits
    assert len([each for each in of_lab if each.is_none]) <= len(of_lab) // 20


def tried_remedies() -> list[Any]:
    """One for each check of a lab that they are to mend, and those of answers that nobody has graded yet; the rest are left
    to `make test-all`: what an answer is once it is mended does not change with the hints."""
    found: list[Any] = []
    for lab in LABS:
        of_lab, new = {each.answer: each for each in remedies(lab) if not each.is_none}, part_of_lab(lab).new
        quickest = [name.removeprefix("wrong/") for name in quickest_first(kept_verdicts(lab))]
        mends = {answer: of_lab[answer].promise[0] for answer in (*quickest, *of_lab) if answer in of_lab}
        tried = covering(mends, [answer for answer in of_lab if f"wrong/{answer}" in new])
        for answer, each in of_lab.items():
            name = f"{lab[:5]}-{answer}"
            found.append(pytest.param(each, id=name) if answer in tried else left_to_all(each, name))
    return found


@pytest.mark.parametrize("remedy", tried_remedies())
def test_an_answer_mended_as_its_hint_says_passes_the_checks_that_it_failed(remedy: Remedy, simulated: Worker) -> None:
    failing, _ = remedy.promise
    found = judged(load_lab(remedy.lab), remedy.mended, failing, simulated)
    assert found.keys() == failing
    for each in found.values():
        assert each.outcome == "passed", (each.message, [hint.name for hint in each.hints])


@pytest.mark.parametrize(
    "line",
    [
        {"replace": [["a", "b"]], "says": "no remedy", "why": "A fact."},
        {"says": "no remedy"},
        {"replace": [["a", "b"]], "also": [["c", "d"]]},
        {"replace": [["a", "b"]], "becuase": "of a slip"},
        {},
    ],
)
def test_a_line_of_another_form_is_no_remedy(
    line: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.tests.remedies.ROOT", tmp_path)
    (tmp_path / "solutions" / "lab").mkdir(parents=True)
    path = tmp_path / "solutions" / "lab" / "remedies.jsonl"
    path.write_text(json.dumps({"answer": "some", "hint": "other"} | line), encoding="utf-8")
    with pytest.raises(ValueError, match="no line of a remedies.jsonl"):
        remedies("lab")


@pytest.mark.parametrize("edit", [["missing", "new"], ["twice", "new"], ["once", "once"], ["once", "new", 2]])
def test_an_edit_that_does_not_fit_is_refused(edit: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.tests.remedies.ROOT", tmp_path)
    (tmp_path / "solutions" / "lab" / "wrong").mkdir(parents=True)
    (tmp_path / "solutions" / "lab" / "wrong" / "some.py").write_text("once, twice, twice", encoding="utf-8")
    path = tmp_path / "solutions" / "lab" / "remedies.jsonl"
    path.write_text(json.dumps({"answer": "some", "hint": "other", "replace": [edit]}), encoding="utf-8")
    with pytest.raises(ValueError, match="some: '(missing|twice|once)' occurs"):
        _ = remedies("lab")[0].mended
