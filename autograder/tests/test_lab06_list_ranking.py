"""Lab 6 holds what its files promise: wrong answers fail as their first lines say, right ones earn full marks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.grading.grade import check_submission
from autograder.grading.labs import load_lab, spec_of
from autograder.grading.worker import Worker
from autograder.language import parse_program, read_submission
from autograder.simulated_device import SimulatedDevice
from autograder.tests.grading_fakes import FakeWorker
from autograder.tests.known_answers import failed_checks, hints, report
from autograder.tests.lab_tests import SOURCES, Grade, LabTests, verdicts_of

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions" / "lab06_list_ranking"
CALIBRATION = SOLUTIONS / "calibration"
WRONG = sorted((SOLUTIONS / "wrong").glob("*.py"))
LAB = load_lab("lab06_list_ranking")
SPEC = spec_of("lab06_list_ranking")
SPEED_CHECK = "faster_than_pointer_jumping"


class TestKnownAnswers(LabTests):
    lab = LAB
    best_known = {SPEED_CHECK: SPEC.BEST_KNOWN}


def test_evenly_spaced_splitters_earn_no_bonus_and_those_at_random_places_do(graded: Grade) -> None:
    bonus = {}
    for name in ("every_32", "random_places"):
        result = graded(LAB, SOLUTIONS / "right" / f"{name}.py")
        bonus[name] = result.points - LAB.points
    assert bonus == {"every_32": 0, "random_places": sum(each.points for each in LAB.checks if each.bonus)}


@pytest.mark.parametrize(
    ("distance", "offset"),
    [(17, 0), *(pytest.param(*each, marks=pytest.mark.rest) for each in ((15, 7), (24, 0), (16, 15)))],
)
def test_no_distance_between_splitters_earns_the_bonus(
    distance: int, offset: int, tmp_path: Path, worker: Worker
) -> None:
    """At any place within their stretches of nodes, the last of which has a splitter wherever it ends."""
    text = (SOLUTIONS / "right" / "random_places.py").read_text(encoding="utf-8")
    hashed = text[text.index("        mixed = ") : text.index("        for i in range(first, last):")]
    text = text.replace(hashed, f"        place = min(first + {offset}, last - 1)\n")
    text = text.replace("EVERY = 16", f"EVERY = {distance}")
    path = tmp_path / "evenly.py"
    path.write_text(text, encoding="utf-8")
    result = check_submission(LAB, path, worker=worker)
    assert result.outcome == "passed", report(result)
    bonus = next(each for each in result.checks if each.bonus)
    assert bonus.outcome == "failed" and bonus.points == 0, report(result)
    assert re.search("visits them by their (reversed bits|remainders of [0-9]+),", bonus.message)


def test_who_jumps_on_all_nodes_takes_no_walk_and_earns_no_bonus(graded: Grade) -> None:
    result = graded(LAB, SOLUTIONS / "wrong" / "jumps_on_all_nodes.py")
    assert [each.outcome for each in result.checks if each.bonus] == ["not run"], report(result)


def test_a_launch_that_is_too_small_gets_its_hint_also_where_the_gpu_ends_the_run() -> None:
    """Splitters without a thread stay poison there, and are used as indices."""
    with Worker("autograder.tests.grading_fakes:GpuInAllButSpeed") as worker:
        result = check_submission(LAB, SOLUTIONS / "wrong" / "sixteen_blocks.py", worker=worker)
    assert failed_checks(result) == {"ranks_any_lists"} and not result.flags, report(result)
    assert hints(result) == {"launch_too_small"}, report(result)
    assert "CUDA error 700" in next(each.message for each in result.checks if each.name == "ranks_any_lists")


def test_a_hint_on_what_the_host_asks_for_names_that_and_no_other_request(tmp_path: Path, simulated: Worker) -> None:
    text = (SOLUTIONS / "right" / "every_8.py").read_text(encoding="utf-8")
    path = tmp_path / "copied.py"
    path.write_text(text.replace("    return links\n", "    return links.copy_to_host()\n"), encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated)
    told = {hint.name: hint.witness for each in result.checks for hint in each.hints}
    assert set(told) == {"copies_to_the_host", "copies_to_the_device"}, report(result)
    assert told["copies_to_the_host"].endswith(": copy_to_host")
    assert told["copies_to_the_device"].endswith(": a NumPy array as an argument")


@pytest.mark.parametrize("seed", ["secret-one-4711", "another-seed-8x8"])
def test_who_clears_nothing_is_told_so_whichever_stage_sees_it_first(
    seed: str, tmp_path: Path, simulated: Worker
) -> None:
    """In a list of two nodes the only walk may end at once: then the last stage is the first to look at the other node."""
    text = (SOLUTIONS / "right" / "every_8.py").read_text(encoding="utf-8")
    path = tmp_path / "uncleared.py"
    path.write_text(text.replace("        else:\n            sublist[i] = -1\n", ""), encoding="utf-8")
    result = check_submission(LAB, path, worker=simulated, seed=seed)
    assert failed_checks(result) == {"ranks_one_list"} and hints(result) == {"sublist_not_cleared"}, report(result)


# ---- what right is ---------------------------------------------------------------------------------------------------


def by_following_links(successor: np.ndarray, start: int) -> int:
    links, node = 0, start
    while successor[node] != node:
        links, node = links + 1, successor[node]
    return links


@pytest.mark.parametrize("lengths", [(1,), (9,), (4, 1, 1, 6)])
def test_lists_have_the_ranks_that_following_their_links_gives(lengths: tuple[int, ...]) -> None:
    successor, rank = SPEC.laid_out(np.random.default_rng(3).permutation(sum(lengths)), lengths)
    assert [by_following_links(successor, node) for node in range(len(successor))] == rank.tolist()
    assert sorted(np.bincount(successor, minlength=len(successor))[rank == 0]) == [1 + (k > 1) for k in sorted(lengths)]


def test_walks_and_ranks_of_a_list_that_fits_on_paper() -> None:
    """The list is 4, 0, 3, 1, 5, 2: splitters 3 and 5, with two nodes ahead of the first."""
    successor = np.array([3, 5, 2, 1, 0, 2], np.int32)
    sublist, steps, following, links = SPEC.walked(successor, np.array([3, 5], np.int32))
    assert sublist.tolist() == [-1, 0, 1, 0, -1, 1] and steps.tolist() == [-1, 1, 1, 0, -1, 0]
    assert following.tolist() == [1, -1] and links.tolist() == [2, 1]
    assert SPEC.ranks_of_sublists(following, links).tolist() == [3, 1]


def test_reversed_bits_put_multiples_of_powers_of_two_first() -> None:
    for bits, seed in ((4, 1), (10, 1), (10, 2)):
        order = SPEC.in_bit_reversed_order(bits, seed)
        assert sorted(order) == list(range(1 << bits))
        for k in range(bits):
            assert set(order[: 1 << (bits - k)]) == set(range(0, 1 << bits, 1 << k))
    assert not np.array_equal(SPEC.in_bit_reversed_order(10, 1), SPEC.in_bit_reversed_order(10, 2))


def test_numbers_go_by_their_remainders_and_among_those_in_any_order() -> None:
    order = SPEC.by_remainders(100, 7, 3, seed=1)
    assert sorted(order) == list(range(100)) and sorted((order - 3) % 7) == list((order - 3) % 7)
    assert not np.array_equal(order, SPEC.by_remainders(100, 7, 3, seed=2))


def test_the_report_can_make_every_list_again() -> None:
    nothing: Any = None  # runs here
    attempt = Attempt("any", nothing, np.random.default_rng(5))
    order = np.arange(6)[::-1]
    made = [SPEC.random_lists(attempt, (5, 1, 7)), SPEC.random_reduced_lists(attempt, (4, 9))]
    made.append(SPEC.list_from_zero(attempt, 9))
    assert made[-1][1][0] == 8
    made.append(SPEC.lists_along(attempt, order, (2, 4), "np.arange(6)[::-1]"))
    for array, _ in made:
        recipe = attempt._recipes[id(array)][1]
        assert np.array_equal(eval(recipe, {"np": np}), array)


# ---- speed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nodes", [pytest.param(SPEC.SPEED_NODES - SPEC.FEWER_NODES, marks=pytest.mark.rest), SPEC.SPEED_NODES]
)
def test_the_known_time_of_the_baseline_is_what_simulating_it_gives(nodes: int) -> None:
    """Whatever list of that size it ranks; it takes some seconds, which is why grading does not do it."""
    program = parse_program(read_submission(LAB.folder / "baseline.py"))
    successor, rank = SPEC.laid_out(np.random.default_rng(11).permutation(nodes))
    run = SimulatedDevice().run(program, replace(SPEC.ranking_request(successor), work_limit=10**9))
    assert (run.outputs["rank"] == rank).all()
    assert run.estimated_ns == pytest.approx(SPEC.baseline_ns(nodes), rel=0.005)


@pytest.mark.parametrize("source", SOURCES)
def test_the_threshold_lies_clear_of_every_answer(source: str) -> None:
    ratios = {name: each["ratio"] for name, each in verdicts_of(LAB.name, source)["ratios"][SPEED_CHECK].items()}
    right = [ratio for name, ratio in ratios.items() if name.startswith(("right/", "solution"))]
    too_slow = [ratios[name] for name in ("baseline", "wrong/every_100", "wrong/jumps_on_all_nodes") if name in ratios]
    # What is too slow is as slow with each seed; the longest sublist of a right answer may be longer than this one's.
    assert len(right) == len(TestKnownAnswers.right) + 1 and min(right) > 1.29 * SPEC.SPEEDUP
    assert len(too_slow) >= 2 and 1.1 * max(too_slow) < SPEC.SPEEDUP


def test_the_longest_of_the_longest_sublists_costs_a_right_answer_nothing(simulated: Worker) -> None:
    """Of 48 seeds the one whose list has the longest sublist: there `every_32` is predicted 1.20 times as fast."""
    answer = TestKnownAnswers.solutions / "right" / "every_32.py"
    result = check_submission(LAB, answer, worker=simulated, seed="s4")
    assert all(each.points == each.max_points for each in result.checks if not each.bonus), report(result)


def test_one_look_at_each_node_tells_right_ranks_from_all_others() -> None:
    rng = np.random.default_rng(11)
    for lengths in ((1,), (2,), (50,), (1, 1, 7, 30)):
        successor, rank = SPEC.laid_out(rng.permutation(sum(lengths)), lengths)
        assert np.array_equal(SPEC.ranks_along(successor), rank) and SPEC.ranks_follow(successor, rank)
        for node in range(successor.size):
            for off in (-1, 1, 2**20, -(2**31)):
                wrong = rank.copy()
                wrong[node] += np.int32(off)
                assert not SPEC.ranks_follow(successor, wrong)
        assert not SPEC.ranks_follow(successor, rank + np.int32(1))


def test_wrong_ranks_are_named_where_they_are_counted() -> None:
    successor, rank = SPEC.laid_out(np.arange(40))
    rank[7] += 1
    attempt = Attempt("any", FakeWorker(lambda: None), np.random.default_rng(0))
    with pytest.raises(CheckFailed, match=r"rank\[7\]"):
        SPEC.right_ranks(attempt, SPEC.ranking_request(successor), {"rank": rank})
