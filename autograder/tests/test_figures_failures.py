"""The pictures of a failed check: maps of wrong elements, and requests to global and to shared memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

from autograder.figures.palette import BLUE, INK, PALE_BLUE, VERMILLION
from autograder.figures.requests import request_banks, request_sectors
from autograder.figures.wrong_elements import COLOURS, SOME_WRONG, wrong_elements
from autograder.records.accesses import Access, AccessKind


def cells(svg: str, colour: str) -> list[tuple[float, float]]:
    """(width, height) of the boxes of one colour."""
    paths = re.findall(rf'<path d="([^"]*)" fill="{colour}"', svg)
    return [(float(w), float(h)) for path in paths for w, h in re.findall(r"h([\d.]+)v([\d.]+)", path)]


def queued(svg: str, colour: str) -> int:
    """How many cells of a map of banks have this colour."""
    return cells(svg, colour).count((11, 11))


def area(svg: str, colour: str) -> float:
    return sum(width * height for width, height in cells(svg, colour))


def access(addresses: list[int], *, kind: AccessKind = "load", space: str = "global", shape=(32, 32), itemsize: int = 4):
    lanes = np.full(32, -1)
    lanes[: len(addresses)] = addresses
    return Access(kind, space, "tile" if space == "shared" else "a", itemsize, shape, (0, 0, 0), 3, lanes, 0)


def test_a_map_has_a_cell_for_each_element_in_the_colour_of_what_became_of_it():
    wrong = np.zeros((5, 7), bool)
    wrong[4] = wrong[:, 6] = True
    unwritten = np.zeros_like(wrong)
    unwritten[:, 6] = True
    figure = wrong_elements("c", wrong, unwritten)
    one = area(figure.svg, VERMILLION) / 6
    assert area(figure.svg, INK) == 5 * one and area(figure.svg, PALE_BLUE) == 24 * one
    assert figure.alt == "c, 5 x 7 elements: 6 wrong, 5 never written, 24 right."


def test_a_large_array_is_binned_and_a_cell_says_whether_it_is_wrong_throughout():
    wrong = np.zeros((1024, 1024), bool)
    wrong[:, 1008:] = True  # one column of cells
    wrong[0, 0] = True  # a part of one
    figure = wrong_elements("c", wrong)
    partly = area(figure.svg, COLOURS[SOME_WRONG])
    assert "a cell is 16 x 16 elements" in figure.svg
    assert area(figure.svg, VERMILLION) == 64 * partly
    assert "16,385 wrong" in figure.alt


def test_one_wrong_element_among_millions_is_seen_and_located():
    wrong = np.zeros((2000, 3000), bool)
    wrong[1234, 567] = True
    figure = wrong_elements("c", wrong)
    assert area(figure.svg, COLOURS[SOME_WRONG]) > 0
    assert figure.alt.endswith("All that is not right lies in rows 1234 to 1234 and columns 567 to 567.")


def test_one_dimension_is_folded_into_rows_and_ends_where_the_array_ends():
    wrong = np.zeros(1000, bool)
    wrong[500:] = True
    figure = wrong_elements("sums", wrong)
    assert area(figure.svg, VERMILLION) == area(figure.svg, PALE_BLUE)
    assert ">960<" in figure.svg and "indices 500 to 999" in figure.alt


def test_a_map_of_noise_stays_small_enough_for_a_page():
    for shape in ((64, 64), (333, 777), (100_000,)):
        wrong = np.random.default_rng(0).random(shape) < 0.5
        assert len(wrong_elements("c", wrong, wrong & (np.indices(shape)[0] % 2 == 0)).svg) < 90_000


@pytest.mark.parametrize("shape", [(), (0,), (2, 2, 2)])
def test_other_shapes_have_no_map(shape):
    with pytest.raises(ValueError):
        wrong_elements("c", np.ones(shape, bool))


def test_a_request_to_global_memory_shows_its_first_sectors_and_counts_the_rest():
    figure = request_sectors(access([128 * lane for lane in range(32)]), "    total += a[row, i]\x0c  # <b>\n")
    assert "Warp 3 loads from a: 32 sectors for 32 lanes" in figure.alt
    assert "and 24 sectors more" in figure.svg and "a[7, 0:8]" in figure.svg and "a[8, 0:8]" not in figure.svg
    assert "total += a[row, i] # &lt;b&gt;" in figure.svg and "\x0c" not in figure.svg


def test_a_request_to_shared_memory_shows_a_row_for_each_wavefront():
    figure = request_banks(access([4 * 32 * lane for lane in range(32)], space="shared"))
    assert "Warp 3 reads tile: 32 wavefronts" in figure.alt
    assert "Bank 0 holds tile[0, 0], tile[1, 0] and 30 more" in figure.alt
    assert (queued(figure.svg, BLUE), queued(figure.svg, VERMILLION)) == (1, 31)


def test_a_request_with_the_longest_queue_is_small_enough_for_a_page():
    figure = request_banks(access([4 * 32 * lane for lane in range(32)], space="shared"))
    assert len(figure.svg) < 40_000


def test_lanes_that_want_the_same_word_need_one_wavefront():
    figure = request_banks(access([4] * 32, kind="store", space="shared"))
    assert "Warp 3 writes tile: 1 wavefront" in figure.alt
    assert (queued(figure.svg, BLUE), queued(figure.svg, VERMILLION)) == (1, 0)


def test_requests_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError):
        request_sectors(access([]))
    with pytest.raises(ValueError):
        request_banks(access([0, 8], space="shared", itemsize=8))
