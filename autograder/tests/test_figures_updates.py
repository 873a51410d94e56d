"""Pictures of lesson 5: orders are played and not told, queues and costs follow from addresses, copies add up."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from autograder.course.lesson05.contention import atomic_sectors, queues
from autograder.course.lesson05.partition import partition
from autograder.course.lesson05.privatization import private_copies, runs
from autograder.course.lesson05.updates import interleaving, interleaving_steps, played
from autograder.figures import Figure
from autograder.figures.palette import PAPER, VERMILLION, mix
from autograder.figures.svg import SMALL
from autograder.records.accesses import Access, AccessKind
from autograder.tests.finding import found

MIXED = [(0, "read"), (1, "read"), (0, "write"), (1, "write")]
ATOMIC = [(0, "add"), (1, "add")]


def access(*elements: int, kind: AccessKind = "atomic") -> Access:
    """One warp's access to these elements of an int32 array, -1 for an inactive lane."""
    where = [4 * each if each >= 0 else -1 for each in elements]
    return Access(kind, "global", "bins", 4, (256,), (0, 0, 0), 0, np.array(where), 0)


LETTERS = access(*[3] * 16, *[5] * 8, *[200] * 8)
INTERLEAVED = [access(*range(at, at + 8), kind="load") for at in (0, 8, 16, 24)]
CONTIGUOUS = [access(*range(at, 32, 4), kind="load") for at in range(4)]
PICTURES = {
    "interleaving": interleaving({"mixed": MIXED, "atomic": ATOMIC}, title="Two orders"),
    "queues": queues({"one": LETTERS, "other": access(*[7] * 32)}, title="Queues", names={3: "c"}),
    "many queues": queues({"spread": access(*range(0, 256, 8))}, title="No queue"),
    "partition": partition({"interleaved": INTERLEAVED, "contiguous": CONTIGUOUS}, title="Shares", round_shown=1),
    "copies": private_copies([[1, 2, 0], [3, 0, 0]], ["a", "b", "c"], title="Copies"),
    "runs": runs([0, 0, 9, 0, 0, 0], title="Runs"),
}


def words(figure: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)


@pytest.mark.parametrize("figure", PICTURES.values(), ids=list(PICTURES))
def test_a_picture_has_alt_text_no_tiny_letters_and_all_of_them_on_its_card(figure: Figure) -> None:
    assert len(figure.alt) > 30 and figure.svg.isascii()
    assert min(int(size) for size in re.findall(r'font-size="(\d+)"', figure.svg)) >= SMALL
    width, height = map(float, found(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure.svg).groups())
    places = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)"', figure.svg)
    assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in places)


def test_a_write_puts_what_the_thread_read_plus_one_and_says_what_it_undid() -> None:
    assert [(step.value, step.counter, step.lost) for step in played(MIXED)] == [
        (0, 0, False),
        (0, 0, False),
        (1, 1, False),
        (1, 1, True),
    ]
    assert [step.counter for step in played(ATOMIC)] == [1, 2]


def test_two_additions_each_leave_two_to_four_whatever_the_order() -> None:
    """The answer to exercise 1, over all orders."""
    own = [(thread, kind) for thread in (0, 1) for kind in ("read", "write", "read", "write")]
    found = set()
    for chosen in itertools.combinations(range(8), 4):
        mine, theirs = iter(own[:4]), iter(own[4:])
        found.add(played([next(mine) if at in chosen else next(theirs) for at in range(8)])[-1].counter)
    assert (min(found), max(found)) == (2, 4)


def test_the_picture_of_an_order_says_what_was_lost_and_a_build_adds_a_step_a_frame() -> None:
    assert "2 additions, the counter says 1: 1 lost" in words(PICTURES["interleaving"])
    assert "2 additions, the counter says 2" in words(PICTURES["interleaving"])
    frames = interleaving_steps(MIXED, title="One by one")
    assert [sum(each.startswith(("reads", "writes")) for each in words(frame)) for frame in frames] == [0, 1, 2, 3, 4]
    assert len({found("viewBox=.*? role", frame.svg)[0] for frame in frames}) == 1


@pytest.mark.parametrize("order", [[(0, "write")], [(0, "fetch")]])
def test_an_order_that_cannot_be_is_refused(order) -> None:
    with pytest.raises(ValueError, match="cannot"):
        interleaving({"": order}, title="none")


@pytest.mark.parametrize(
    ("elements", "cost"),
    [
        ([7] * 32, 32),
        (range(32), 4),
        (range(0, 256, 8), 32),
        ([3] * 16 + [5] * 8 + [200] * 8, 24),
        ([1, 1, 1, 2, 2, 9, -1, -1], 4),
    ],
)
def test_an_atomic_request_costs_the_longest_queue_of_each_sector(elements, cost: int) -> None:
    assert atomic_sectors(access(*elements)) == cost
    assert f": {cost} passes." in queues({"one": access(*elements)}, title="Queues").alt


def test_of_each_sector_one_longest_queue_stands_out() -> None:
    figure = queues({"one": access(0, 0, 1, 1, 9)}, title="Queues")
    colours = re.findall(r'<rect [^>]*fill="(#\w+)" stroke="#1A1A1A" stroke-width="0.6"', figure.svg)
    assert sorted(map(colours.count, set(colours))) == [2, 3]  # 0 0 and 9 count, 1 1 go with the first
    assert colours.count(mix(PAPER, VERMILLION, 0.75)) == 3


def test_a_round_loads_the_sectors_that_its_lanes_touch() -> None:
    assert "interleaved, round 1: 8 lanes load 1 sector." in PICTURES["partition"].alt
    assert "contiguous, round 1: 8 lanes load 4 sectors." in PICTURES["partition"].alt


def test_copies_add_up_and_a_run_is_one_update() -> None:
    assert "2 private copies of 3 bins, added up to 6 items; most often 'a'" in PICTURES["copies"].alt
    assert "6 items, 3 updates" in PICTURES["runs"].alt
    assert {"bin 0 += 2", "bin 9 += 1", "bin 0 += 3"} <= set(words(PICTURES["runs"]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: interleaving({}, title="none"),
        lambda: interleaving({"": [(2, "read")]}, title="none"),
        lambda: queues({}, title="none"),
        lambda: queues({"idle": access(-1)}, title="none"),
        lambda: partition({"short": INTERLEAVED}, title="none", round_shown=4),
        lambda: private_copies([], ["a"], title="none"),
        lambda: private_copies([[1, 2]], ["a"], title="none"),
        lambda: runs([], title="none"),
    ],
)
def test_nothing_to_draw_is_refused(draw) -> None:
    with pytest.raises(ValueError):
        draw()
