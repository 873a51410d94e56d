"""Mutants of right answers: which there are, what their judge finds, and that no wrong one gets full marks.

A campaign of any size is `autograder fuzz LAB`; here are some for each lab, by a fixed seed, judged first. Graded is only
who is wrong, and not already in the judge's first and plainest case, and only up to the first check that says so.
There are 300 of all labs together, in two parts; every kind of change is in both. `make test` tries the first, and of those
that once had full marks the first of each lab.
"""

from __future__ import annotations

import ast
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.errors import UsageError
from autograder.grading.fuzzing.campaign import KEPT, OURS, campaign, marks_of
from autograder.grading.fuzzing.judging import judge_of, judged
from autograder.grading.fuzzing.mutants import KINDS, Mutant, edits, mutants
from autograder.grading.fuzzing.programs import fingerprint, right_answers
from autograder.grading.fuzzing.report import as_data, as_text
from autograder.grading.known_answers.answers import solution_of
from autograder.grading.labs import lab_names, load_lab
from autograder.grading.worker import Worker
from autograder.tests.part import covering, first_of

pytestmark = pytest.mark.long(50)

SEED = 20_260
MUTANTS = 300
SHARE, LEAST = 3, 5  # of a lab's mutants the first part is one of so many, and no fewer than so many
SHARES = {"lab06": 3, "lab07": 1}  # and 6 of each other lab: a mutant of these takes three and nine times as long
PARTS = ("first", "others")
LABS = [name for name in lab_names() if (solution_of(load_lab(name)) / "judge.py").is_file()]

LAST_TERMS = """    for term in range(DEEP):
        one_term(U(term), tiles_of_a, tiles_of_b, y + now * U(TILE_OF_A), x + now * U(TILE_OF_B), sums)
"""

# Once with full marks; what is replaced in which right answer, and what the judge says.
SURVIVORS = [
    ("lab03", "right/flat_block", "/ 256), 256]", "/ 256), 255]", "points are wrong"),
    ("lab03", "right/flat_block", "math.ceil(count / 256)", "math.ceil(count / 257)", "points are wrong"),
    ("lab03", "right/flat_block", "math.ceil(count / 256)", "math.ceil(count / 256.5)", "points are wrong"),
    ("lab01", "right/block_32_by_8", "a.shape[1]", "a.shape[1.5]", ""),
    ("lab01", "right/block_32_by_32", "c.shape[0]", "c.shape[0.5]", ""),
    ("lab02", "right/tiles_of_16", "range(TILE)", "range(TILE - 1)", "c["),
    ("lab02", "right/registers_a_column_each", "row + HEIGHT < m", "row + HEIGHT <= m", "outside its shape"),
    ("lab02", "right/registers_a_column_each", "if row < m:", "if row != m:", "outside its shape"),
    ("lab04", "right/shuffles_in_two_stages", "(16, 8, 4, 2, 1)", "(16, 8.5, 4, 2, 1)", ""),
    ("lab05", "right/grid_stride_loop", "cuda.syncthreads()", "cuda.syncwarp()", "Race"),
    ("lab01", "right/padded_copies", "row < padded.shape[0]", "row < given.shape[0]", "before anything was written"),
    ("lab05", "right/runs_in_a_register", "<= run_of < bins.size:\n                ", "<= run_of:\n                ",
     "outside its shape"),
    ("lab05", "right/device_functions", "count(items, own, bins.size)", "count(items, own, own.size)", "before anything"),
    ("lab05", "solution", "if own[b] > 0", "if own[size] > 0", "before anything was written"),
    ("lab06", "right/every_8", "sublist[after] < 0", "sublist[after] < 1", ""),
    ("lab06", "right/every_32", "(m + THREADS - 1) // THREADS", "(m + THREADS - 2) // THREADS", "nodes in whole"),
    ("lab06", "right/finds_the_heads", "mark_pointed_to[blocks, THREADS]", "mark_pointed_to[blocks, THREADS - 1]", "Race"),
    ("lab06", "right/finds_the_heads", "elif walked > 0", "elif walked > 1", "add_up"),
    ("lab07", "solution", "m % SIDE == 0 and n % SIDE == 0 and (k % DEEP == 0)",
     "m % SIDE == 0 or n % SIDE == 0 or k % DEEP == 0", "outside its shape"),
    ("lab07", "solution", "n % SIDE == 0 and (k % DEEP == 0)", "n % SIDE == 0", ""),
    ("lab07", "solution", f"{LAST_TERMS}    for i in range(OWN):\n        row =",
     f"{LAST_TERMS.replace('DEEP', 'DEEP - 1')}    for i in range(OWN):\n        row =", "are wrong"),
]  # fmt: skip


def survivors() -> list[Any]:
    """Each with a name; but for the first of its lab it is left to `make test-all`."""
    names = [f"{name}-{number}" for number, (name, *_) in enumerate(SURVIVORS)]
    tried = covering({name: [of[0]] for name, of in zip(names, SURVIVORS, strict=True)})
    return [
        pytest.param(*of, marks=[] if name in tried else [pytest.mark.rest], id=name)
        for name, of in zip(names, SURVIVORS, strict=True)
    ]


@cache
def graded_mutants(name: str) -> list[Mutant]:
    shares = {each: SHARES.get(each[:5], 6) for each in LABS}
    count = -(-MUTANTS * shares[name] // sum(shares.values()))
    return list(mutants(right_answers(load_lab(name)), SEED, count))


def part_of(name: str, which: str) -> list[Mutant]:
    """The first of a lab's mutants, or the others."""
    found = graded_mutants(name)
    first = max(LEAST, -(-len(found) // SHARE))
    return found[:first] if which == "first" else found[first:]


def test_every_kind_of_change_is_made_and_stays_the_same_for_a_seed() -> None:
    lab = load_lab("lab04")
    answers = right_answers(lab)
    one, same, other = (list(mutants(answers, seed, 20)) for seed in (1, 1, 2))
    assert one == same and {each.text for each in one} != {each.text for each in other}
    kinds = {each.kind for tree in answers.values() for each in edits(tree)}
    assert kinds == {*KINDS, "statement", "barrier"}


def test_the_mutants_that_are_graded_are_many_and_of_every_kind() -> None:
    assert sum(len(graded_mutants(name)) for name in LABS) >= MUTANTS
    for which in PARTS:
        found = {kind for name in LABS for each in part_of(name, which) for kind in each.kinds}
        assert found == {*KINDS, "statement", "barrier"}


def test_no_two_mutants_are_one_program_and_none_is_a_right_answer() -> None:
    answers = right_answers(load_lab("lab01"))
    found = [each.fingerprint for each in mutants(answers, 3, 60)]
    assert len(set(found)) == len(found) == 60
    assert not set(found) & {fingerprint(ast.unparse(ast.parse(ast.unparse(tree)))) for tree in answers.values()}


@pytest.mark.parametrize("name", LABS)
def test_a_judge_finds_nothing_wrong_with_a_right_answer(name: str) -> None:
    lab = load_lab(name)
    assert judged(lab, judge_of(lab), ast.unparse(right_answers(lab)["solution"]), SEED) == []


@pytest.mark.parametrize("name, base, right, wrong, words", survivors())
def test_a_judge_finds_what_once_had_full_marks(name: str, base: str, right: str, wrong: str, words: str) -> None:
    lab = load_lab(name)
    text = ast.unparse(right_answers(lab)[base])
    assert right in text
    found = judged(lab, judge_of(lab), text.replace(right, wrong), SEED)
    assert found and words in found[0]


@pytest.mark.parametrize("name, base, right, wrong, words", survivors())
def test_what_once_had_full_marks_has_them_no_more(
    name: str, base: str, right: str, wrong: str, words: str, simulated: Worker
) -> None:
    lab = load_lab(name)
    text = ast.unparse(right_answers(lab)[base]).replace(right, wrong)
    marks = marks_of(lab, Mutant(0, base, (), wrong, text), simulated)
    assert marks.outcome in ("failed", "unreadable"), words


@pytest.mark.parametrize("which", first_of(PARTS))
@pytest.mark.parametrize("name", LABS)
def test_no_mutant_that_is_wrong_passes_every_check(name: str, which: str, simulated: Worker) -> None:
    lab = load_lab(name)
    cases = judge_of(lab)
    wrong: list[tuple[Mutant, list[str]]] = []
    for mutant in part_of(name, which):
        if found := judged(lab, cases, mutant.text, SEED):
            wrong.append((mutant, found))
    plainest = next(cases(np.random.default_rng(SEED))).name
    subtle = [(each, found) for each, found in wrong if not found[0].startswith(f"{plainest}:")]
    survived = [(each.said, found) for each, found in subtle if not marks_of(lab, each, simulated).failed]
    assert len(wrong) > len(part_of(name, which)) // 2
    assert subtle and not survived


def test_a_campaign_without_a_judge_says_what_to_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = load_lab("lab01")
    solutions = tmp_path / lab.name
    shutil.copytree(solution_of(lab), solutions, ignore=shutil.ignore_patterns("judge.py"))
    monkeypatch.setattr("autograder.grading.fuzzing.judging.solution_of", lambda lab: solutions)
    with pytest.raises(UsageError, match="no judge") as problem:
        campaign(lab, 1, 5)
    assert f"solutions/{lab.name}/judge.py" in problem.value.remedy


def test_a_campaign_into_a_file_says_so_before_anything_is_graded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be used as a folder"):
        campaign(load_lab("lab01"), 2, 5, out=tmp_path / "file")


@pytest.mark.rest  # a tool for maintainers, and a quarter of a minute
def test_a_campaign_goes_on_where_it_stopped_and_says_what_came_of_it(tmp_path: Path) -> None:
    lab = load_lab("lab01")
    graded: list[int] = []
    first = campaign(lab, 4, 5, out=tmp_path, tell=lambda each: graded.append(each.number))
    assert graded == [0, 1, 2, 3]
    lines = (tmp_path / KEPT).read_text(encoding="utf-8").splitlines()
    (tmp_path / KEPT).write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40], encoding="utf-8")
    again = campaign(lab, 4, 5, out=tmp_path, tell=lambda each: graded.append(each.number))
    assert again == first and graded[4:] == [int(lines[-1].split('"number": ')[1].split(",")[0])]
    kept = [json.loads(line) for line in (tmp_path / KEPT).read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    ours = [json.dumps(each | {"outcome": OURS}) for each in kept]  # a machine that was too busy, say: tried again
    (tmp_path / KEPT).write_text("\n".join(ours) + "\n", encoding="utf-8")
    assert campaign(lab, 4, 5, jobs=2, out=tmp_path) == first
    text, data = as_text(lab.name, 5, first), as_data(lab.name, 5, first)
    assert "4 mutants, seed 5" in text and sum(data["outcomes"].values()) == 4


def test_a_campaign_for_marks_alone_comes_to_the_same_marks_and_keeps_them_apart(tmp_path: Path) -> None:
    lab = load_lab("lab01")
    whole = campaign(lab, 6, 9, out=tmp_path)
    alone = campaign(lab, 6, 9, out=tmp_path, marks_only=True)
    assert {each.outcome for each in whole} >= {"failed", "full marks"}
    for one, other in zip(whole, alone, strict=True):
        assert (one.number, one.said, one.outcome, one.found) == (other.number, other.said, other.outcome, other.found)
        assert other.failed == one.failed[:1] and not other.hints
    lines = (tmp_path / KEPT).read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["key"] for line in lines if line}) == 12
