"""The pictures of lesson 3: what they count is right by hand, their frames fit together, their text can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import numpy as np
import pytest

from autograder.course.lesson03.bursts import Burst, answers, bus_timelines, busy_share, core_array
from autograder.course.lesson03.corner import corner_turning
from autograder.course.lesson03.layouts import layouts
from autograder.course.lesson03.lines import memory_lines
from autograder.course.lesson03.sweep import sweep
from autograder.course.lesson03.toy_memory import toy_memory, toy_memory_at_once
from autograder.course.lesson03.walks import walks
from autograder.figures import Figure
from autograder.figures.banks import bank_map, wavefronts
from autograder.figures.steps import LEAST
from autograder.records.accesses import Access, AccessKind
from autograder.tests.finding import found


def recorded(
    elements: tuple[int, ...],
    shape: tuple[int, ...],
    array: str = "x",
    kind: AccessKind = "load",
    warp: int = 0,
    itemsize: int = 4,
    block: tuple[int, int, int] = (0, 0, 0),
) -> Access:
    """A recorded access, made by hand."""
    addresses = np.array([itemsize * element if element >= 0 else -1 for element in elements])
    return Access(kind, "global", array, itemsize, shape, block, warp, addresses, 0)


def column(row_length: int, at: int = 5) -> Access:
    """32 lanes down a column of a tile."""
    return recorded(tuple(row_length * lane + at for lane in range(32)), (32, row_length), "tile")


ALONG = [recorded(tuple(8 * step + lane for lane in range(8)), (8, 8)) for step in range(3)]
DOWN = [recorded(tuple(8 * lane + step for lane in range(8)), (8, 8)) for step in range(3)]
CORNER = [
    recorded(tuple(128 * 37 + 64 + lane for lane in range(32)), (128, 128), warp=5),
    recorded(tuple(33 * 5 + lane for lane in range(32)), (32, 33), "tile", "store", 5),
    column(33),
    recorded(tuple(128 * 69 + 32 + lane for lane in range(32)), (128, 128), "out", "store", 5),
]
STRUCTURES = recorded(tuple(4 * lane + 3 for lane in range(32)), (32, 4), "particles")
ARRAYS = recorded(tuple(3 * 32 + lane for lane in range(32)), (4, 32), "particles")
SHIFTED = [recorded(tuple(32 * warp + lane + 5 for lane in range(32)), (96,), warp=warp) for warp in range(2)]

BUILDS = {
    "core_array": (core_array(), 3),
    "bus_timelines": (bus_timelines((1, 2, 4)), 3),
    "toy_memory": (toy_memory([[0, 1, 2, 3], [0, 4, 8, 12], [2, 3, 4, 5]]), 3),
    "walks": (walks({"rows": DOWN, "columns": ALONG}, 3), 3),
    "corner_turning": (corner_turning(CORNER), 4),
    "bank_map": ([bank_map(column(32)), bank_map(column(33)), bank_map(column(34))], 3),
    "memory_lines": ([memory_lines(SHIFTED[:1], "x[i + 5]"), memory_lines(SHIFTED, "x[i + 5]")], 2),
    "layouts": ([layouts({"one": STRUCTURES, "other": ARRAYS}, "xyzm")], 1),
    "sweep": (
        [
            sweep(
                {"used": {1: 100, 2: 50}, "moved": {1: 100, 2: 100}},
                title="t",
                along="stride",
                unit="GB/s",
                ticks=(1, 2),
            )
        ],
        1,
    ),
}
builds = pytest.mark.parametrize("name", BUILDS)


def said(figure: Figure) -> str:
    return " | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg))


@builds
def test_a_build_has_its_frames_all_of_one_size_and_each_says_something(name: str) -> None:
    frames, count = BUILDS[name]
    assert len({frame.svg for frame in frames}) == len(frames) == count
    assert len({found(r'viewBox="[^"]+"', frame.svg)[0] for frame in frames}) == 1
    for frame in frames:
        ElementTree.fromstring(frame.svg)
        assert len(frame.alt) > 30
        assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', frame.svg)) >= LEAST


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (bus_timelines((2,))[0], "2 banks: the bus is busy 50% of the time"),
        (bus_timelines((4,))[0], "4 banks: the bus is busy always, after the first row"),
        (BUILDS["toy_memory"][0][1], "4 bursts: 16 bytes moved, 4 used"),
        (BUILDS["toy_memory"][0][2], "2 bursts: 8 bytes moved, 4 used"),
        (toy_memory_at_once([[0, 1, 2, 3], [0, 4, 8, 12]]), "bytes 0, 1, 2, 3: 1 burst: 4 bytes moved, 4 used"),
        (toy_memory_at_once([[0, 1, 2, 3], [0, 4, 8, 12]]), "bytes 0, 4, 8, 12: 4 bursts: 16 bytes moved, 4 used"),
        (BUILDS["walks"][0][1], "step 1: 8 threads, 8 sectors"),
        (BUILDS["walks"][0][1], "step 1: 8 threads, 1 sector"),
        (BUILDS["corner_turning"][0][0], "1. loads a row of x: 4 sectors"),
        (
            BUILDS["corner_turning"][0][2],
            "2. stores into a row of tile: 1 wavefront | 3. loads a column of tile: 1 wavefront",
        ),
        (BUILDS["corner_turning"][0][3], "4. stores into a row of out: 4 sectors"),
        (BUILDS["corner_turning"][0][3], "stored here"),
        (bank_map(column(32)), "32 lanes, 1 bank: 32 wavefronts"),
        (bank_map(column(33)), "32 lanes, 32 banks: 1 wavefront"),
        (bank_map(column(34)), "32 lanes, 16 banks: 2 wavefronts"),
        (BUILDS["memory_lines"][0][0], "warp 0: 5 sectors, 160 bytes moved, 128 used"),
        (BUILDS["memory_lines"][0][1], "wanted by both: 1 sector"),
        (BUILDS["layouts"][0][0], "16 sectors: 512 bytes moved, 128 used"),
        (BUILDS["layouts"][0][0], "4 sectors: 128 bytes moved, 128 used"),
        (BUILDS["sweep"][0][0], "0 | 25 | 50 | 75 | 100"),
    ],
)
def test_what_a_frame_says_is_right_by_hand(frame: Figure, words: str) -> None:
    assert words in said(frame)


def test_a_bank_that_answers_waits_for_the_bus_and_then_reads_on() -> None:
    """Two banks, core 3 ticks, burst 2: both read at once, the second waits for the bus, then they take turns."""
    found = answers(2, 6, core=3, burst=2)
    assert found == [Burst(0, 0, 3, 5), Burst(1, 0, 5, 7), Burst(0, 5, 8, 10)]


@pytest.mark.parametrize("banks, share", [(1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0), (5, 1.0)])
def test_the_share_of_a_busy_bus_is_what_the_schedule_says(banks: int, share: float) -> None:
    """Counted in the schedule over 320 ticks after its start, against the formula."""
    busy = sum(max(0, min(each.end, 380) - max(each.sent, 60)) for each in answers(banks, 400))
    assert busy_share(banks) == share == pytest.approx(busy / 320, abs=0.02)


def test_words_that_lanes_share_are_handed_out_once() -> None:
    assert wavefronts(recorded((7,) * 32, (32, 32), "tile")) == 1
    assert wavefronts(recorded((7, 39, 7, 71), (32, 32), "tile")) == 3
    assert wavefronts(recorded((-1,) * 32, (32, 32), "tile")) == 0


def test_a_sweep_says_its_points_in_words() -> None:
    assert "used (GB/s) at stride 1: 100, 2: 50" in BUILDS["sweep"][0][0].alt


@pytest.mark.parametrize(
    "draw",
    [
        lambda: core_array(8, 0),
        lambda: answers(0, 10),
        lambda: toy_memory([[16]]),
        lambda: toy_memory_at_once([[-1]]),
        lambda: walks({"one": ALONG}, 4),
        lambda: corner_turning(CORNER[:3]),
        lambda: bank_map(recorded((0,), (32,), "tile")),
        lambda: memory_lines([], "nothing"),
        lambda: memory_lines(SHIFTED[:1], "no line", lines=0),
        lambda: layouts({"one": recorded((0,), (32, 5))}, "xyzm"),
        lambda: sweep({}, title="t", along="x", unit="y", ticks=()),
    ],
)
def test_what_is_not_there_cannot_be_drawn(draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        draw()
