"""The pictures: what they count, that they are well-formed SVG with alt text, and that their bytes never change."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, cast

import numpy as np
import pytest

from autograder.course.lesson00.journey import Step, journey
from autograder.course.lesson00.schedule import Slot, schedule
from autograder.course.lesson02.heat import heat_colour, heat_map
from autograder.course.lesson02.memories import memories
from autograder.course.lesson02.operands import operands
from autograder.figures import Figure, Point, bars, roofline, sector_map, thread_map
from autograder.figures.palette import (
    BLACK,
    BLUE,
    GREEN,
    IDLE,
    ORANGE,
    PALE_BLUE,
    PALE_ORANGE,
    PALER_BLUE,
    PAPER,
    SERIES,
    VERMILLION,
    ink_on,
    mix,
)
from autograder.figures.sector_map import sectors_of
from autograder.perfmodel import SPECIFICATIONS, Roofline
from autograder.records.accesses import Access, AccessKind


def recorded(
    addresses: tuple[int, ...],
    kind: AccessKind = "load",
    array: str = "a",
    itemsize: int = 4,
    shape: tuple[int, ...] = (128, 128),
    block: tuple[int, int, int] = (0, 0, 0),
) -> Access:
    """A recorded access, made by hand."""
    return Access(kind, "global", array, itemsize, shape, block, 0, np.array(addresses), 0)


ONE_ELEMENT = recorded((0,) * 32)
ALONG_A_ROW = recorded(tuple(range(0, 128, 4)), array="b")
DOWN_A_COLUMN = recorded(tuple(range(0, 32 * 512, 512)))

# One block of 2 x 2 threads, the second along x, multiplies 4 x 4 matrices: naive, and in two phases of tiles
NAIVE = [
    recorded(tuple(4 * (4 * row + k) for row in (0, 0, 1, 1)), shape=(4, 4), block=(1, 0, 0)) for k in range(4)
] + [recorded(tuple(4 * (4 * k + column) for column in (2, 3, 2, 3)), "load", "b", 4, (4, 4)) for k in range(4)]
PHASES = [
    [
        recorded(tuple(4 * (4 * row + start + x) for row in (0, 1) for x in (0, 1)), shape=(4, 4), block=(1, 0, 0)),
        recorded(tuple(4 * (4 * (start + y) + column) for y in (0, 1) for column in (2, 3)), "load", "b", 4, (4, 4)),
    ]
    for start in (0, 2)
]

TWO_CHIPS = {
    1: [Slot(0, 0, 0, 1), Slot(1, 0, 1, 3), Slot(2, 0, 3, 4)],
    4: [Slot(0, 0, 0, 1), Slot(1, 1, 0, 2), Slot(2, 2, 0, 1)],
}
STEPS = [Step("to_device(x)", "to device", 7.25), Step("add[...](x)", "on device", 0.5), Step("back", "to host")]

PICTURES = {
    "schedule": lambda: schedule(TWO_CHIPS, title="Three blocks on two chips", unit="ms"),
    "journey": lambda: journey(STEPS, title="There and back"),
    "memories": lambda: memories({"global": 1, "shared": 5, "local": 7, "constant": 0}, blocks=4, title="Who"),
    "operands": lambda: operands({"naive": NAIVE, "tiled": PHASES[0] + PHASES[1]}, (2, 2), title="What a block asks"),
    "phases": lambda: operands({"phase 0": PHASES[0], "phase 1": PHASES[1]}, (2, 2), title="Two phases"),
    "small launch": lambda: thread_map((3, 2), (4, 4), (7, 10)),
    "large launch": lambda: thread_map((63, 63), (16, 16), (1000, 1000)),
    "too few blocks": lambda: thread_map((2, 2), (4, 4), (10, 10)),
    "transposed launch": lambda: thread_map((2, 3), (4, 4), (7, 10), x_along="rows"),
    "sectors": lambda: sector_map([ONE_ELEMENT, DOWN_A_COLUMN], title="a < b & c"),
    "roofline": lambda: roofline(Roofline(1000, 150), [Point("naive", 0.25), Point("half cached", 0.5, 60.0)]),
    "bars": lambda: bars({"one": 1.5, "two": 3.25}, title="Times", unit="ms", places=2),
    "heat": lambda: heat_map([[0, 1], [2, 3]], title="Errors"),
}


def texts(figure: Figure) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text")]


def fills(figure: Figure, colour: str) -> int:
    """How many cells have this colour: the key's square and the map's are counted alike."""
    shapes = ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect")
    return sum(each.get("fill") == colour for each in shapes)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_one_self_contained_svg_with_alt_text_on_its_own_card(name: str) -> None:
    figure = PICTURES[name]()
    root = ElementTree.fromstring(figure.svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == figure.alt
    assert len(figure.alt) > 30
    assert root.find("{http://www.w3.org/2000/svg}rect").attrib["fill"] == PAPER
    assert not re.search(r"<script|href=|url\(|<image", figure.svg)


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_gets_an_html_image_with_alt_text_that_shrinks_with_the_page(name: str) -> None:
    figure = PICTURES[name]()
    assert figure._repr_mimebundle_() == {"text/html": figure.img, "text/plain": figure.alt}
    image = ElementTree.fromstring(figure.img.removesuffix(">") + "/>")
    assert image.tag == "img" and image.get("alt") == figure.alt
    assert image.get("style") == "max-width:100%;height:auto"
    kind, data = image.attrib["src"].split(",")
    assert kind == "data:image/svg+xml;base64" and base64.b64decode(data).decode() == figure.svg


@pytest.mark.parametrize("name", PICTURES)
def test_the_same_input_gives_the_same_bytes_in_ascii(name: str) -> None:
    assert PICTURES[name]().svg == PICTURES[name]().svg
    assert PICTURES[name]().svg.isascii()


@pytest.mark.parametrize("name", PICTURES)
def test_text_is_at_least_12_pixels_and_inside_the_card(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name]().svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for each in root.iter("{http://www.w3.org/2000/svg}text"):
        size = float(each.attrib["font-size"])
        assert size >= 12
        assert 0 < float(each.attrib["x"]) < width and 0 < float(each.attrib["y"]) < height, each.text
        if each.get("text-anchor") == "start":
            assert float(each.attrib["x"]) + 0.5 * size * len(each.text or "") < width, each.text


@pytest.mark.parametrize(
    "grid, block, shape, working, idle",
    [
        ((3, 2), (4, 4), (7, 10), 70, 26),
        ((1, 1), (1, 1), (1, 1), 1, 0),
        ((63, 63), (16, 16), (1000, 1000), 1_000_000, 1008**2 - 1000**2),
        ((7, 13), (32, 8), (100, 200), 20_000, 7 * 32 * 13 * 8 - 20_000),
    ],
)
def test_a_thread_map_counts_working_and_idle_threads(grid, block, shape, working: int, idle: int) -> None:
    figure = thread_map(grid, block, shape)
    assert f"{working:,} compute one element each" in figure.alt
    assert f"and {idle:,} (" in figure.alt
    if idle:
        assert f"{idle:,} threads idle" in texts(figure)


def test_a_thread_map_takes_numbers_as_a_launch_of_one_dimension_does() -> None:
    assert thread_map(6, 5, 28) == thread_map((6, 1), (5, 1), (1, 28))


def test_a_small_thread_map_draws_every_thread_once() -> None:
    figure = thread_map((3, 2), (4, 4), (7, 10))
    assert fills(figure, PALE_BLUE) + fills(figure, PALER_BLUE) == 70 + 1  # and one in the key
    assert fills(figure, IDLE) == 26 + 1
    assert texts(figure).count("0,0") == 6  # the first thread of each block


def test_a_thread_map_shows_elements_without_a_thread() -> None:
    figure = thread_map((2, 2), (4, 4), (10, 10))
    assert fills(figure, VERMILLION) == 36 + 1
    assert "36 elements have no thread" in figure.alt


def test_x_along_rows_swaps_the_sides() -> None:
    right, swapped = thread_map((3, 2), (4, 4), (7, 10)), thread_map((2, 3), (4, 4), (7, 10), x_along="rows")
    assert "blockIdx.x = 2" in texts(right) and "blockIdx.y = 2" in texts(swapped)
    assert "26 (27.1 %) are idle" in right.alt and "26 (27.1 %) are idle" in swapped.alt


@pytest.mark.parametrize(
    "access, sectors, used_bytes",
    [
        (ONE_ELEMENT, 1, 4),
        (ALONG_A_ROW, 4, 128),
        (DOWN_A_COLUMN, 32, 128),
        (recorded(tuple(range(4, 132, 4))), 5, 128),  # one element off the sector's edge costs a fifth
        (recorded((-1,) * 31 + (64,)), 1, 4),
        (recorded(tuple(range(0, 256, 8)), itemsize=8, shape=(32,)), 8, 256),
    ],
)
def test_sectors_are_the_distinct_32_byte_chunks_that_active_lanes_touch(access, sectors: int, used_bytes: int) -> None:
    assert len(sectors_of(access)) == sectors
    share = f"{100 * used_bytes / (32 * sectors):.3g} %"
    assert f"{32 * sectors:,} bytes moved, {used_bytes:,} of them used ({share})" in sector_map(access).alt


def test_a_sector_map_names_lanes_and_elements() -> None:
    figure = sector_map([ONE_ELEMENT, ALONG_A_ROW])
    assert "×32" in texts(figure)  # all lanes on one element
    assert "b[0, 24:32]" in texts(figure) and "31" in texts(figure)
    assert fills(figure, PALE_ORANGE) == 7 + 1


def test_a_roofline_takes_the_lower_of_both_limits() -> None:
    roof = Roofline(1000, 150)
    assert roof.attainable_gflop_per_s(0.25) == 37.5
    assert roof.attainable_gflop_per_s(100) == 1000
    assert roof.ridge_flop_per_byte == pytest.approx(6.667, abs=1e-3)
    assert "37.5 GFLOP/s, 3.75 % of the peak" in roofline(roof, [Point("no reuse", 0.25)]).alt


def test_a_roofline_of_a_known_gpu_uses_its_data_sheet() -> None:
    specification = SPECIFICATIONS["H200"]
    alt = roofline(specification, [Point("no reuse", 0.25)]).alt
    assert specification.name in alt
    assert f"{specification.dram_gb_per_s / 4:,.1f} GFLOP/s" in alt


def test_a_point_below_the_roof_is_drawn_below_it() -> None:
    figure = roofline(Roofline(1000, 150), [Point("on the roof", 0.25), Point("below", 0.25, 10.0)])
    root = ElementTree.fromstring(figure.svg)
    circle = next(root.iter("{http://www.w3.org/2000/svg}circle"))
    square = [each for each in root.iter("{http://www.w3.org/2000/svg}polygon") if each.get("fill") == SERIES[1]][0]
    corners = [tuple(map(float, each.split(","))) for each in square.attrib["points"].split()]
    assert min(y for _, y in corners) > float(circle.attrib["cy"])


@pytest.mark.parametrize("rate", [100.0, 33_675.0])
def test_the_ceiling_s_words_are_not_where_a_kernel_is(rate: float) -> None:
    root = ElementTree.fromstring(roofline(SPECIFICATIONS["H200"], [Point("a product", 489.0, rate)]).svg)
    words = next(each for each in root.iter("{http://www.w3.org/2000/svg}text") if (each.text or "").startswith("peak"))
    circle = next(root.iter("{http://www.w3.org/2000/svg}circle"))
    right, cx = float(words.attrib["x"]), float(circle.attrib["cx"])
    is_level = abs(float(words.attrib["y"]) - float(circle.attrib["cy"])) < 20
    assert is_level == (rate > 1000) and (right < cx if is_level else right > cx), "beside the ridge only where it has to"


def test_bars_are_proportional() -> None:
    figure = bars({"one": 1.0, "four": 4.0}, title="Times", unit="ms")
    widths = {
        each.attrib["fill"]: float(each.attrib["width"])
        for each in ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect")
    }
    assert widths[SERIES[1]] == pytest.approx(4 * widths[SERIES[0]])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: thread_map((0, 1), (16, 16), (4, 4)),
        lambda: thread_map(cast(Any, (1,)), (16, 16), (4, 4)),
        lambda: sector_map([]),
        lambda: roofline(Roofline(1000, 150), [Point("nothing", 0.0)]),
        lambda: bars({}, title="none"),
        lambda: bars({"less": -1.0}, title="none"),
        lambda: heat_map([], title="none"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw) -> None:
    with pytest.raises(ValueError):
        draw()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0, 7.0, -1.0])
def test_black_text_reads_on_every_heat(share: float) -> None:
    assert ink_on(heat_colour(share)) == BLACK


def test_operands_count_how_many_threads_ask_for_an_element() -> None:
    figure = operands({"naive": NAIVE, "tiled": PHASES[0] + PHASES[1]}, (2, 2), title="What a block asks")
    assert "naive: 32 loads of 16 elements; tiled: 16 loads of 16 elements" in figure.alt
    assert texts(figure).count("2") == 16 and texts(figure).count("1") == 16
    assert fills(figure, heat_colour(1)) == 16 + 1  # and one in the key
    assert fills(figure, heat_colour(0.5)) == 16 + 1


def test_operands_keep_earlier_phases_pale_and_find_the_block_of_c() -> None:
    figure = operands({"phase 0": PHASES[0], "phase 1": PHASES[1]}, (2, 2), title="Two phases")
    assert "in an earlier phase" in texts(figure)
    assert fills(figure, PALE_BLUE) == 8 + 1
    alone = operands({"phase 0": PHASES[0]}, (2, 2), title="One phase")
    assert "in an earlier phase" not in texts(alone)
    block_of_c = mix(PAPER, GREEN, 0.45)
    assert fills(alone, block_of_c) == 4 + 1


@pytest.mark.parametrize("panels", [{}, {"none": []}, {"no b": NAIVE[:4]}])
def test_operands_need_loads_of_both_matrices(panels) -> None:
    with pytest.raises(ValueError, match="operands"):
        operands(panels, (2, 2), title="nothing")


def test_memories_show_what_was_counted_in_each() -> None:
    counted = {"global": 3, "shared": 34, "local": 500, "constant": 6_000}
    words = " ".join(texts(memories(counted, blocks=4, title="Who")))
    for each in (
        "4 blocks",
        "3 requests",
        "requests in all blocks: shared memory 34, local 500",
        "6,000 requests",
    ):
        assert each in words


def test_a_schedule_shows_when_each_chip_is_done_and_who_had_no_block() -> None:
    figure = schedule(TWO_CHIPS, title="Three blocks on two chips", unit="ms")
    assert "1 multiprocessor: 4.0 ms" in texts(figure)
    assert "4 multiprocessors: 2.0 ms, 1 multiprocessor without a block" in texts(figure)
    assert "block 2" in texts(figure)
    shapes = ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect")
    widths = [float(each.attrib["width"]) for each in shapes if each.attrib["fill"] == ORANGE][:2]
    assert widths[0] == widths[1] == 700 / 4  # block 0 takes as long on both chips, on one scale
    with pytest.raises(ValueError, match="at least one chip"):
        schedule({1: []}, title="nothing")


def test_a_schedule_too_narrow_to_read_is_drawn_again_with_its_time_stretched() -> None:
    many = [Slot(block, block % 50, block // 50, block // 50 + 1) for block in range(100)]
    figure = schedule({1: [Slot(block, 0, block, block + 1) for block in range(100)], 50: many}, title="Two chips")
    assert "the same, time x 20" in texts(figure)  # 14 pixels wide: 280, since 50 times would be more than 500
    assert "50 multiprocessors: 2.0 (shown once more with time stretched 20 times)." in figure.alt
    shapes = list(ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect"))
    widths = {float(each.attrib["width"]) for each in shapes if each.attrib["fill"] == BLUE}
    assert {7.0, 140.0} <= widths  # the last block, on one scale with the other chip and stretched


def test_a_journey_draws_an_arrow_for_each_copy_and_the_times_that_are_known() -> None:
    figure = journey(STEPS, title="There and back")
    assert "7.25 ms" in texts(figure) and "0.50 ms" in texts(figure) and "measured" in texts(figure)
    arrows = list(ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(arrows) == 2
    tips = [float(each.attrib["points"].split(",")[0]) for each in arrows]
    assert tips[0] > tips[1], "to the device is to the right"
    shapes = ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}rect")
    lengths = [float(each.attrib["width"]) for each in shapes if float(each.attrib["height"]) == 18]
    assert lengths == pytest.approx([180, 180 * 0.5 / 7.25], abs=0.01)  # in proportion to the times
    assert "measured" not in texts(journey([Step("add", "on device")], title="No time"))
    with pytest.raises(ValueError, match="at least one step"):
        journey([], title="nothing")
