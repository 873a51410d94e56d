"""The pictures made for slides: frames of one size, text for the last row, and numbers that are right by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from autograder.figures import Figure
from autograder.figures.fetches import fetches
from autograder.figures.scenes import guarded, host_and_device, intensity
from autograder.figures.steps import LEAST, covering, global_index, inner_product, row_major, warps_of

BUILDS = {
    "inner_product": (inner_product(1, 2, 3, 4, 5), 4 + 2),
    "global_index": (global_index((3, 2), (4, 4), (2, 1), (1, 2)), 4),
    "row_major": (row_major(4, 6, 2, 3), 4 + 2),
    "covering": (covering(1000, 16), 3),
    "warps_of": (warps_of((16, 16), 3), 1 + 3),
    "host_and_device": (host_and_device(), 5),
    "intensity": (intensity(2, 2), 3),
    "guarded": (guarded(1000, 1000, 16), 3),
}
builds = pytest.mark.parametrize("name", BUILDS)


def said(figure: Figure) -> str:
    return " | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg))


@builds
def test_a_build_has_its_frames_all_of_one_size(name: str) -> None:
    frames, count = BUILDS[name]
    assert len(frames) == count
    assert len({re.search(r'viewBox="[^"]+"', frame.svg)[0] for frame in frames}) == 1
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
    ],
)
def test_what_a_frame_says_is_right_by_hand(frame: Figure, words: str) -> None:
    assert words in said(frame)


def test_fetches_counts_sectors_and_bytes() -> None:
    """32 lanes down a column of float32, rows 512 bytes apart: 32 sectors for 128 bytes; along a row: 4, all used."""
    down, along = (
        SimpleNamespace(kind="load", array=name, itemsize=4, shape=(128, 128), warp=0, block=(0, 0, 0), addresses=where)
        for name, where in (("a", range(0, 32 * 512, 512)), ("b", range(0, 32 * 4, 4)))
    )
    words = said(fetches([down, along], window=40))
    assert "32 lanes, 32 sectors | 1,024 bytes moved, 128 used" in words
    assert "32 lanes, 4 sectors | 128 bytes moved, 128 used" in words


@pytest.mark.parametrize(
    "draw",
    [
        lambda: inner_product(3, 0, 3, 4, 5),
        lambda: row_major(4, 6, 4, 0),
        lambda: global_index((3, 2), (4, 4), (3, 0), (0, 0)),
        lambda: fetches([], window=40),
    ],
)
def test_what_is_not_there_cannot_be_drawn(draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError):
        draw()
