"""The pictures of warps and masks: counts that are right by hand, builds that the last row can read, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course.costs import warp_walk
from autograder.course.lesson04.lanes import arrivals, shuffle_tree
from autograder.course.lesson04.masks import lockstep, tree_steps, who_works
from autograder.course.lesson04.warps import into_warps, picture_warps
from autograder.errors import Line
from autograder.figures import Figure
from autograder.figures.steps import LEAST
from autograder.records.accesses import Branch
from autograder.tests.finding import found

LANES = np.arange(32)
OFFSETS = (16, 8, 4, 2, 1)


def branch(taken: np.ndarray, warp: int = 0, block: tuple[int, int, int] = (0, 0, 0)) -> Branch:
    return Branch(Line("kernel.py", 1), block, warp, np.ones(32, bool), np.asarray(taken, bool))


def branches_over(shape: tuple[int, int], block: tuple[int, int]) -> list[Branch]:
    """What each warp does at the guard of a picture, worked out from coordinates alone."""
    found = []
    for by in range(-(-shape[0] // block[1])):
        for bx in range(-(-shape[1] // block[0])):
            for warp in range(block[0] * block[1] // 32):
                number = warp * 32 + LANES
                column, row = bx * block[0] + number % block[0], by * block[1] + number // block[0]
                found.append(branch((row < shape[0]) & (column < shape[1]), warp, (bx, by, 0)))
    return found


def doubling_in(threads: int) -> list[Branch]:
    """The branches of a reduction in which every second, every fourth, ... thread adds."""
    steps = [2 << step for step in range(int(np.log2(threads)))]
    return [branch((warp * 32 + LANES) % step == 0, warp) for step in steps for warp in range(threads // 32)]


def totals() -> list[list[int]]:
    """Ones, and what five shuffles make of them when lanes beyond the end get their own value back."""
    rows = [np.ones(32, int)]
    for offset in OFFSETS:
        rows.append(rows[-1] + rows[-1][np.where(LANES + offset < 32, LANES + offset, LANES)])
    return [row.tolist() for row in rows]


def walked() -> list[Figure]:
    with simulate() as cuda:

        @cuda.jit
        def two_paths(x, out):
            i = cuda.grid(1)
            if i % 4 == 0:
                out[0, i] = x[i]
            else:
                out[1, i] = x[i]
            out[2, i] = x[i]

        p = profile(two_paths, trace=True)[1, 32](np.ones(32, np.float32), np.zeros((3, 32), np.float32))
    return lockstep(p)


BUILDS = {
    "into_warps": (into_warps((np.arange(48) // 32).reshape(4, 3, 4)), 4),
    "picture_warps": (picture_warps(branches_over((62, 76), (16, 16)), (16, 16), (62, 76)), 4),
    "lockstep": (walked(), 4),
    "tree_steps": (tree_steps(doubling_in(128), "doubling"), 7),
    "shuffle_tree": (shuffle_tree(totals(), OFFSETS), 6),
    "who_works": (
        who_works(
            [("t % 32 == 0", [t % 32 == 0 for t in range(128)]), ("t < 64", [t < 64 for t in range(128)])], "Who works?"
        ),
        2,
    ),
    "warp_walk": (warp_walk((LANES + 1).tolist(), "rounds"), 2),
}
builds = pytest.mark.parametrize("name", BUILDS)


def said(figure: Figure) -> str:
    return " | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg))


@builds
def test_a_build_has_its_frames_all_of_one_size_and_readable_from_the_last_row(name: str) -> None:
    frames, count = BUILDS[name]
    assert len({frame.svg for frame in frames}) == len(frames) == count
    assert len({found(r'viewBox="[^"]+"', frame.svg)[0] for frame in frames}) == 1
    for frame in frames:
        assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', frame.svg)) >= LEAST
        assert len(frame.alt) > 20


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (BUILDS["into_warps"][0][3], "number = x + y * 4 + z * 12"),
        (BUILDS["into_warps"][0][3], "warp 1: 16 lanes"),
        (BUILDS["picture_warps"][0][3], "160 warps | 31 diverge | 5 are outside as a whole"),
        (
            picture_warps(branches_over((62, 76), (32, 8)), (32, 8), (62, 76))[3],
            "192 warps | 62 diverge | 6 are outside as a whole",
        ),
        (BUILDS["lockstep"][0][1], "8 of 32"),
        (BUILDS["lockstep"][0][3], "warp 0: 4 lines walked, 24.0 lanes active on average"),
        (BUILDS["tree_steps"][0][4], "20 divergent branches in 5 steps of 4 warps"),
        (BUILDS["tree_steps"][0][6], "1 warp diverges | 23 divergent branches in 7 steps of 4 warps"),
        (BUILDS["who_works"][0][0], "4 threads in 4 warps; 4 of 4 warps diverge"),
        (BUILDS["who_works"][0][1], "64 threads in 2 warps; 0 of 4 warps diverge"),
        (BUILDS["shuffle_tree"][0][2], "2 shuffles: lane 0 holds the sum of 4 lanes"),
        (BUILDS["warp_walk"][0][0], "32 lanes: 16.5 rounds on average, 32 the most"),
        (BUILDS["warp_walk"][0][1], "the warp takes 32 rounds; 16.5 of 32 lanes at work on average"),
    ],
)
def test_what_a_frame_says_is_right_by_hand(frame: Figure, words: str) -> None:
    assert words in said(frame)


def test_a_thread_s_colour_is_that_of_the_warp_that_was_recorded_for_it() -> None:
    right = into_warps((np.arange(64) // 32).reshape(1, 8, 8))[3].svg
    by_columns = into_warps((np.arange(64) // 32).reshape(1, 8, 8).transpose(0, 2, 1))[3].svg
    fills = [re.findall(r'fill="(#\w+)" stroke="#8A8A8A"', svg)[:64] for svg in (right, by_columns)]
    assert len(set(fills[0][:32])) == len(set(fills[0][32:])) == 1
    assert fills[1] == [fills[0][x * 8 + y] for y in range(8) for x in range(8)]


def test_a_row_of_arrivals_is_drawn_as_it_was_recorded() -> None:
    backwards = list(range(31, -1, -1))
    figure = arrivals([list(range(32)), backwards], ["simulated", "launch 1"], "Who came when")
    assert f"launch 1 | {' | '.join(map(str, backwards))}" in said(figure)
    assert "in 1 of 2 rows the warps came in the order of their numbers" in figure.alt


def test_the_walk_of_a_warp_fills_its_picture_and_says_what_its_colours_mean() -> None:
    before, after = BUILDS["warp_walk"][0]
    for frame in (before, after):
        height = float(found(r'viewBox="0 0 [\d.]+ ([\d.]+)"', frame.svg)[1])
        lowest = max(float(y) for y in re.findall(r'<text[^>]* y="([\d.]+)"', frame.svg))
        assert height - 40 < lowest < height - 10
    assert "at work | the slowest lane | waits for it" in said(after)


def test_a_picture_at_another_width_is_the_same_picture() -> None:
    wide = BUILDS["warp_walk"][0][0]
    narrow = wide.at_width(584)
    assert 'width="584" height="270"' in narrow.svg and narrow.alt == wide.alt
    assert narrow.svg.split("viewBox")[1] == wide.svg.split("viewBox")[1]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: into_warps(np.zeros((16, 16), int)),
        lambda: into_warps(np.zeros((1, 16, 16), int)),
        lambda: picture_warps(branches_over((62, 76), (16, 16)), (20, 4), (62, 76)),
        lambda: picture_warps(branches_over((62, 76), (16, 16))[:64], (16, 16), (62, 76)),
        lambda: picture_warps(branches_over((62, 76), (16, 16))[:-1], (16, 16), (62, 76)),
        lambda: picture_warps([], (16, 16), (62, 76)),
        lambda: warp_walk([0] * 32, "rounds"),
        lambda: tree_steps([], "nothing"),
        lambda: tree_steps([branch(LANES < 16, block=(1, 0, 0))], "another block"),
        lambda: who_works([("half a warp", [True] * 16)], "too short"),
        lambda: shuffle_tree(totals(), OFFSETS[:3]),
        lambda: arrivals([[0] * 32], ["one"], "twice"),
    ],
)
def test_what_is_not_there_cannot_be_drawn(draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        draw()
