"""Hints: each names what it is seen by, says nothing where that is not to be seen, and its remedy mends.

`solutions/LAB/near_misses.jsonl` holds mutants of right answers: which hints must not be given to them, although they fail
a check that these hints look at. Most of them were given one once, and it was false.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from autograder.grading.evidence import Evidence, recogniser
from autograder.grading.grade import check_submission
from autograder.grading.known_answers.answers import KnownAnswer
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.spec import HintRule, hint
from autograder.grading.witness import LAUNCH, RESULT, Witness, hazard
from autograder.grading.worker import Worker
from autograder.language.source import submission_from_cells
from autograder.records.results import Result

ROOT = Path(__file__).resolve().parents[2]
LABS = lab_names()


def near_misses(lab: str) -> list[dict[str, Any]]:
    path = ROOT / "solutions" / lab / "near_misses.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


NEAR_MISSES = [pytest.param(lab, each, id=f"{lab[:5]}-{i}") for lab in LABS for i, each in enumerate(near_misses(lab))]

# A hint's remedy, carried out: what is replaced by what in the known wrong answer that gets it.
REMEDIES = [
    ("lab01", "guard_with_or", " or ", " and "),
    ("lab01", "guard_one_too_far", "<=", "<"),
    ("lab01", "cyclic_columns", "threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x", "grid(2)[0]"),
    ("lab01", "b_turned_first", "turned[col, i]", "b[i, col]"),
    ("lab03", "half_the_barriers", "        if y < TILE // 2:\n            cuda.syncthreads()", "    cuda.syncthreads()"),
    ("lab05", "as_many_cleared_as_items", "clear_kernel[(items.size", "clear_kernel[(bins.size"),
]  # fmt: skip


@pytest.fixture(scope="module")
def simulated() -> Iterator[Worker]:
    with Worker("simulated") as running:
        yield running


def hints_of(result: Result) -> dict[str, set[str]]:
    """The checks of a result that failed, with the hints given at each."""
    return {each.name: {hint.name for hint in each.hints} for each in result.checks if each.outcome == "failed"}


# ---- the machinery ---------------------------------------------------------------------------------------------------


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


# ---- near misses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab_name, near_miss", NEAR_MISSES)
def test_a_near_miss_gets_none_of_the_hints_that_it_once_got(
    lab_name: str, near_miss: dict[str, Any], simulated: Worker
) -> None:
    lab = load_lab(lab_name)
    rules = {rule.name: rule for rule in lab.hints}
    submission = submission_from_cells("mutant.py", [("mutant.py", near_miss["text"])], is_notebook=False)
    failed = hints_of(check_submission(lab, submission, worker=simulated))
    for name in near_miss["hints"]:
        assert failed.keys() & rules[name].checks or not rules[name].checks, f"{name} is not asked: {near_miss['said']}"
        assert not any(name in given for given in failed.values()), near_miss["said"]


@pytest.mark.parametrize("name", [name for name in LABS if near_misses(name)])
def test_most_hints_have_two_near_misses_among_known_answers_and_mutants(name: str) -> None:
    lab = load_lab(name)
    verdicts = json.loads((ROOT / "solutions" / name / "calibration" / "simulated.json").read_text(encoding="utf-8"))
    missed = Counter(hint for each in near_misses(name) for hint in each["hints"])
    for rule in lab.hints:
        for answer, verdict in verdicts["verdicts"].items():
            asked = not rule.checks or set(verdict["failed"]) & set(rule.checks)
            missed[rule.name] += bool(answer.startswith("wrong/") and asked and rule.name not in verdict["hints"])
    few = {rule.name for rule in lab.hints if missed[rule.name] < 2}
    assert len(few) <= len(lab.hints) // 5, sorted(few)


# ---- remedies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab_name, answer, old, new", REMEDIES, ids=[f"{each[0]}-{each[1]}" for each in REMEDIES])
def test_an_answer_mended_as_its_hint_says_passes_the_check(
    lab_name: str, answer: str, old: str, new: str, simulated: Worker
) -> None:
    lab = load_lab(lab_name)
    path = ROOT / "solutions" / lab.name / "wrong" / f"{answer}.py"
    checks, given = KnownAnswer(f"wrong/{answer}", "wrong", path).promise
    text = path.read_text(encoding="utf-8")
    assert given and old in text
    mended = submission_from_cells("mended.py", [("mended.py", text.replace(old, new))], is_notebook=False)
    result = check_submission(lab, mended, worker=simulated)
    assert not checks & hints_of(result).keys(), hints_of(result)
