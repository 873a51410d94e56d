"""The pictures made for slides: frames of one size, text for the last row, and numbers that are right by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.course.costs import bank_queues, clock_against, two_bounds, warp_walk
from autograder.course.lesson00.launches import dispatch, numbering
from autograder.course.lesson00.schedule import Slot
from autograder.course.lesson01.fetches import fetches
from autograder.course.lesson02.tiling import fetched_once, overhanging, own_share, phases, places_written
from autograder.course.lesson02.waiting import barriers, multiprocessor, schedule, too_early
from autograder.course.scenes import guarded, host_and_device, intensity
from autograder.figures import Figure, Pair
from autograder.figures.steps import LEAST, covering, global_index, inner_product, row_major, warps_of
from autograder.perfmodel import SPECIFICATIONS
from autograder.records.accesses import Access, AccessKind
from autograder.tests.finding import found


def tile_access(kind: AccessKind, array: str, shape: tuple[int, int], step: int, places: list[tuple[int, int]]) -> Access:
    """One warp's access to (row, column) places of a float32 array."""
    where = np.array([4 * (row * shape[1] + column) for row, column in places])
    return Access(kind, "global", array, 4, shape, (1, 0, 0), 0, where, step)


def loads_of_tiles() -> list[Access]:
    """A block of 2 x 2 threads, the second of the first row, in a product of 4 x 4: two phases of two tiles."""
    here = [(0, 0), (0, 1), (1, 0), (1, 1)]
    loads = []
    for step in range(2):
        loads.append(tile_access("load", "a", (4, 4), step, [(row, 2 * step + column) for row, column in here]))
        loads.append(tile_access("load", "b", (4, 4), step, [(2 * step + row, 2 + column) for row, column in here]))
    return loads


BUILDS = {
    "inner_product": (inner_product(1, 2, 3, 4, 5), 4 + 2),
    "global_index": (global_index((3, 2), (4, 4), (2, 1), (1, 2)), 4),
    "row_major": (row_major(4, 6, 2, 3), 4 + 2),
    "covering": (covering(1000, 16), 3),
    "warps_of": (warps_of((16, 16), 3), 1 + 3),
    "host_and_device": (host_and_device(), 5),
    "intensity": (intensity(2, 2), 3),
    "guarded": (guarded(1000, 1000, 16), 3),
    "numbering": (numbering(6, 5, 28, (3, 2)), 4),
    "dispatch": (dispatch([Slot(0, 0, 0, 2), Slot(1, 1, 0, 3), Slot(2, 0, 2, 4), Slot(3, 1, 3, 4)], 2), 3),
    "two_bounds": (two_bounds("a kernel", 30, 10), 2),
    "bank_queues": ([bank_queues(1024), bank_queues(1100)], 2),
    "warp_walk": (warp_walk([3, 1, 8, 4]), 2),
    "clock_against": ([clock_against([Pair("one", 1e3, 2e3, 1.0), Pair("two", 1e6, 1e6, 1.0)])], 1),
    "fetched_once": (fetched_once(16), 3),
    "phases": (phases(loads_of_tiles(), (1, 0)), 2 * 2),
    "own_share": (own_share(16, (1, 3), (7, 2), 32), 2),
    "overhanging": (overhanging(10, 11, 4), 3),
    "barriers": (barriers(), 2 * 2),
    "barriers without the first": (barriers(first=False), 2),
    "barriers without the second": (barriers(second=False), 2),
    "multiprocessor": (multiprocessor(SPECIFICATIONS["H200"], [("a", 256, 2048, 32), ("b", 256, 48000, 32)]), 2),
}
builds = pytest.mark.parametrize("name", BUILDS)


def said(figure: Figure) -> str:
    return " | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg))


@builds
def test_a_build_has_its_frames_all_of_one_size(name: str) -> None:
    frames, count = BUILDS[name]
    assert len(frames) == count
    assert len({found(r'viewBox="[^"]+"', frame.svg)[0] for frame in frames}) == 1
    assert len({frame.svg for frame in frames}) == count, "every key must change something"


@builds
def test_text_can_be_read_from_the_last_row(name: str) -> None:
    for frame in BUILDS[name][0]:
        assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', frame.svg)) >= LEAST
        assert len(frame.alt) > 20


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (inner_product(1, 2, 3, 4, 5)[-1], "c[1, 2] = total"),
        (inner_product(1, 2, 3, 4, 5)[3], "total += a[1, 2] * b[2, 2]"),
        (global_index((3, 2), (4, 4), (2, 1), (1, 2))[-1], "column = 2 * 4 + 1 = 9 | row = 1 * 4 + 2 = 6"),
        (row_major(4, 6, 2, 3)[-1], "2 * 6 + 3 = 15"),
        (covering(1000, 16)[0], "1,000 // 16 = 62 blocks: 992 threads, 8 columns have nobody"),
        (covering(1000, 16)[1], "(1,000 + 15) // 16 = 63 blocks: 1,008 threads"),
        (warps_of((16, 16))[2], "warp 1 | 32 to 63 | threadIdx.y = 2 and 3"),
        (warps_of((8, 8))[1], "threadIdx.y = 0 and 1 and 2 and 3"),
        (intensity(2, 2)[-1], "2 FLOP / 8 B = 0.25 FLOP per byte"),
        (guarded(1000, 1000, 16)[1], "16,064 idle: 1.6 % of all threads"),
        (guarded(1000, 1000, 16)[2], "64 at work | 192 idle"),
        (two_bounds("a kernel", 30, 10)[1], "MAX = 30 cycles | SUM is 1.33 times MAX"),
        (bank_queues(1024), "1 bank, 32 lanes at each"),
        (bank_queues(1100), "8 banks, 4 lanes at each"),
        (bank_queues(1025), "32 banks, 1 lane at each"),
        (warp_walk([3, 1, 8, 4])[0], "4 lanes: 4.0 nodes on average, 8 the most"),
        (warp_walk([3, 1, 8, 4])[1], "the warp takes 8 rounds; 2.0 of 4 lanes at work on average"),
        (
            clock_against([Pair("one", 1e3, 2e3, 1.0), Pair("two", 1e6, 1e6, 1.0)]),
            "1 of 2 within 30% | the furthest off: | one",
        ),
        (numbering(6, 5, 28, (3, 2))[2], "= 3 * 5 + 2 = 17"),
        (numbering(6, 5, 28, (3, 2))[3], "2 threads without an element"),
        (numbering(4, 128, 512, (2, 5))[3], "0 threads without an element"),
        (dispatch([Slot(0, 0, 0, 2), Slot(1, 0, 2, 3.5)], 1)[1], "2 blocks on 1 multiprocessor: done after 3.5 ms"),
        (phases(loads_of_tiles(), (1, 0))[0], "a_tile | 0,0 | 0,1 | 1,0 | 1,1 | b_tile | 0,2 | 0,3 | 1,2 | 1,3"),
        (phases(loads_of_tiles(), (1, 0))[3], "thread (1, 0): products 3 to 4 of 4"),
        (own_share(16, (1, 3), (7, 2), 32)[0], "a_tile[2, 7] = a[50, 39] | its own place | b_tile[2, 7] = b[34, 23]"),
        (overhanging(10, 11, 4)[2], "6 elements fetched | 10 zeros put in their place"),
        (places_written([tile_access("store", "t", (4, 4), 0, [(0, 0), (3, 3)])], "all"), "2 places filled | 14 hold"),
        (barriers(first=False)[1], "6 reads begin before the tiles are full"),
        (barriers(second=False)[1], "3 warps fill tiles that another still reads"),
        (
            multiprocessor(SPECIFICATIONS["H200"], [("x", 256, 40_960, 32)])[0],
            "5 blocks, 40 of 64 warps: occupancy 62%",
        ),
    ],
)
def test_what_a_frame_says_is_right_by_hand(frame: Figure, words: str) -> None:
    assert words in said(frame)


def test_fetches_counts_sectors_and_bytes() -> None:
    """32 lanes down a column of float32, rows 512 bytes apart: 32 sectors for 128 bytes; along a row: 4, all used."""
    down, along = (
        Access("load", "global", name, 4, (128, 128), (0, 0, 0), 0, np.array(where), 0)
        for name, where in (("a", range(0, 32 * 512, 512)), ("b", range(0, 32 * 4, 4)))
    )
    words = said(fetches([down, along], window=40))
    assert "32 lanes, 32 sectors | 1,024 bytes moved, 128 used" in words
    assert "32 lanes, 4 sectors | 128 bytes moved, 128 used" in words


@pytest.mark.parametrize(
    ("first", "second", "early"),
    [
        (True, True, set()),
        (False, True, {("read", 0, 0), ("read", 0, 2), ("read", 0, 3), ("read", 1, 0), ("read", 1, 1), ("read", 1, 2)}),
        (True, False, {("fill", 1, 0), ("fill", 1, 1), ("fill", 1, 2)}),
    ],
)
def test_the_drawn_order_of_warps_has_the_races_that_its_barriers_allow(first: bool, second: bool, early: set[Any]) -> None:
    """Worked out on paper from the lengths in `waiting.FILL` and `waiting.READ`."""
    assert {(span.kind, span.phase, span.warp) for span, _ in too_early(schedule(first, second))} == early


@pytest.mark.parametrize(
    "draw",
    [
        lambda: inner_product(3, 0, 3, 4, 5),
        lambda: row_major(4, 6, 4, 0),
        lambda: global_index((3, 2), (4, 4), (3, 0), (0, 0)),
        lambda: fetches([], window=40),
        lambda: phases([], (0, 0)),
        lambda: numbering(4, 128, 512, (4, 0)),
        lambda: dispatch([], 1),
        lambda: two_bounds("nothing", 0, 1),
        lambda: warp_walk([1] * 33),
        lambda: clock_against([]),
        lambda: places_written([], "none"),
    ],
)
def test_what_is_not_there_cannot_be_drawn(draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        draw()
