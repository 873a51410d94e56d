"""Lesson 8's ladder: each rung gives NumPy's result, what its notebooks say holds in the data, replies name mistakes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import cuda

from autograder.course import lesson08
from autograder.course.data import DATA
from autograder.course.lesson08 import limit_exercises, measurements
from autograder.course.lesson08.kernels import ANY_SIZE, LADDER, SMALL, SMALL_ANY_SIZE, best_for
from autograder.course.lesson08.machine_code import inner_loop, name_of, until_use
from autograder.live import simulate

H200 = json.loads((DATA / "ladder_h200.json").read_text(encoding="utf-8"))
CODE = json.loads((DATA / "ladder_machine_code.json").read_text(encoding="utf-8"))["rungs"]
TIMES = H200["products"]["milliseconds"]


OURS = "autograder.course.lesson08"
KERNELS = ("autograder.kernels", "autograder.course.lesson02.kernels", f"{OURS}.launching", f"{OURS}.kernels")
LIMIT = "autograder.course.lesson08.at_the_limit"
ALL = (*LADDER, SMALL, ANY_SIZE, SMALL_ANY_SIZE)


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimpleNamespace]:
    """The ladder and its companions as the simulated GPU has them, whatever this process has imported before."""
    before = {name: sys.modules.pop(name, None) for name in (*KERNELS, LIMIT)}
    with simulate() as ours:
        kernels, limit = import_module(KERNELS[-1]), import_module(LIMIT)
        rungs = {rung.name: rung for rung in (*kernels.LADDER, kernels.SMALL, kernels.ANY_SIZE, kernels.SMALL_ANY_SIZE)}
        yield SimpleNamespace(cuda=ours, rungs=rungs, limit=limit)
    sys.modules.update({name: module for name, module in before.items() if module is not None})


def whole(*shape: int) -> np.ndarray:
    """Small whole numbers, whose products float32 adds up without rounding."""
    return np.random.default_rng(shape[0]).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("name", [rung.name for rung in ALL])
def test_every_rung_multiplies(simulated: SimpleNamespace, name: str) -> None:
    rung, cuda = simulated.rungs[name], simulated.cuda
    m, depth, n = (rung.tile[0], 32, rung.tile[1]) if "any size" not in rung.name else (69, 19, 131)
    a, b, c = whole(m, depth), whole(depth, n), cuda.to_device(np.full((m, n), -1, np.float32))
    rung.launch(cuda.to_device(a), cuda.to_device(b), c)
    assert (c.copy_to_host() == a @ b).all()


def test_what_is_chosen_for_a_size_takes_it() -> None:
    for m, n, depth in ((1024, 1024, 1024), (4096, 4096, 4096), (1000, 1000, 1000), (4099, 4099, 4099), (4096, 4096, 40)):
        rung = best_for(m, n, depth)
        assert "any size" in rung.name or (m % rung.tile[0] == n % rung.tile[1] == depth % 16 == 0)


def test_a_sum(simulated: SimpleNamespace) -> None:
    cuda, limit = simulated.cuda, simulated.limit
    for n in (1, 1000, 2 * 4 * 1024 + 17, 3 * 8192):
        values, total = whole(n), cuda.to_device(np.zeros(1, np.float32))
        limit.add_up[2, 1024](cuda.to_device(values), total)
        assert total.copy_to_host()[0] == values.sum()


def test_a_transpose(simulated: SimpleNamespace) -> None:
    cuda, limit = simulated.cuda, simulated.limit
    a, b = whole(128, 192), cuda.device_array((192, 128), np.float32)
    limit.transpose[(3, 2), (32, 16)](cuda.to_device(a), b)
    assert (b.copy_to_host() == a.T).all()


@pytest.mark.parametrize("kind", ["uniform", "Zipf", "one value"])
def test_histograms(simulated: SimpleNamespace, kind: str) -> None:
    cuda, limit = simulated.cuda, simulated.limit
    values = measurements.values_of(kind, 40_004)
    for in_a_word, words in ((4, values.view(np.uint32)), (1, values.astype(np.uint32))):
        counts = cuda.to_device(np.zeros(256, np.uint32))
        limit.histogram_with(in_a_word)[1, 1024](cuda.to_device(words), counts)
        assert (counts.copy_to_host() == np.bincount(values, minlength=256)).all()


@pytest.mark.parametrize("n", [1, 2, 64, 65, 3000])
def test_lists(simulated: SimpleNamespace, n: int) -> None:
    cuda, limit = simulated.cuda, simulated.limit
    order = np.random.default_rng(n).permutation(n)
    successor, ranks = np.empty(n, np.int32), np.empty(n, np.int32)
    successor[order[:-1]], successor[order[-1]] = order[1:], order[-1]
    ranks[order] = np.arange(n - 1, -1, -1)
    rank = cuda.device_array(n, np.int32)
    limit.rank_lists(cuda.to_device(successor), rank, limit.Lists.of(n))
    assert (rank.copy_to_host() == ranks).all()


# ---- what the notebooks say of the figures ---------------------------------------------------------------------------


def test_the_goals_of_the_ladder_were_measured() -> None:
    def best(side: str) -> float:
        rung = best_for(int(side), int(side), int(side)).name
        return float(TIMES[side]["cuBLAS"] / TIMES[side][rung])

    assert best("4096") >= 0.85
    assert min(map(best, TIMES)) >= 0.75
    histograms = H200["histograms"]["milliseconds"]
    for times in histograms.values():
        assert times["reading"] / times["ours"] >= 0.8
        assert times["ours"] < min(ms for name, ms in times.items() if name not in ("ours", "reading"))
    assert H200["sum"]["milliseconds"]["reading"] / H200["sum"]["milliseconds"]["ours"] >= 0.9
    assert H200["transpose"]["milliseconds"]["copy"] / H200["transpose"]["milliseconds"]["ours"] >= 0.85
    assert H200["lists"]["nodes_per_second"] >= 5e9


def test_the_share_that_the_readme_and_the_changes_tell_is_the_measured_one() -> None:
    told = f"{TIMES['4096']['cuBLAS'] / TIMES['4096']['deep']:.0%}".replace("%", " % of cuBLAS")
    root = DATA.parent.parent
    for page in (root / "README.md", root / "autograder" / "CHANGELOG.md"):
        assert told in page.read_text(encoding="utf-8"), page


def test_the_surprise_of_the_second_notebook_is_there() -> None:
    slow, fast = CODE["written out"], CODE["deep"]
    shares = [each["by_name"]["FFMA"] / each["instructions_in_the_loop"] for each in (slow, fast)]
    assert [round(100 * each) for each in shares] == [85, 87]
    assert 1.15 < TIMES["4096"]["written out"] / TIMES["4096"]["deep"] < 1.25  # "a fifth longer"
    soon = [[each < 7 for each in of["instructions_until_use"]] for of in (slow, fast)]
    assert sum(soon[0]) > len(soon[0]) / 2
    assert not any(soon[1])


def test_what_the_second_notebook_says_of_its_rungs() -> None:
    read, at = H200["counters"]["rungs"], TIMES["4096"]
    assert read["unsigned"]["issue_slots_used_percent"] < 100 * 2 / 3  # "in more than a third of the cycles"
    assert 65 < read["spread"]["issue_slots_used_percent"] < 75  # "in three cycles of ten"
    assert read["spread"]["registers_per_thread"] == 96
    assert 0.85 < at["spread"] / at["unsigned"] < 0.9  # "the time by an eighth"
    assert 1.15 < at["spread"] / at["ahead"] < 1.25  # "a fifth faster"
    assert read["written out"]["issue_slots_used_percent"] < read["flat"]["issue_slots_used_percent"]
    assert H200["sum"]["milliseconds"]["ours"] / H200["sum"]["milliseconds"]["reading"] < 1.03
    assert all(1.06 <= TIMES[side]["deep"] / TIMES[side]["cuBLAS"] < 1.09 for side in ("4096", "8192"))
    assert CODE["deep"]["registers"] - CODE["written out"]["registers"] == 18


def test_the_second_notebook_says_why_few_columns_are_slow() -> None:
    large, small = (-(-3000 // side) * -(-700 // side) for side in (128, 64))
    times = H200["products"]["ragged_milliseconds"]["3000 x 5000 x 700"]
    share = times["cuBLAS"] / times["small tiles, any size"]
    text = " ".join((DATA.parent / "08b_to_the_limit.ipynb").read_text(encoding="utf-8").split())
    assert f"{large} large tiles for 132 multiprocessors, so that twelve of these have two" in text and large - 132 == 12
    assert f"the others wait: {times['any size']:.2f} ms. The {small} small tiles" in text
    assert round(share, 2) == round(TIMES["4096"]["cuBLAS"] / TIMES["4096"]["small tiles"], 2) == 0.72
    assert "the share of cuBLAS that small tiles have at 4,096 as well, 72 %" in text


def test_the_measured_kernels_are_those_of_the_ladder() -> None:
    """Registers were read on the H200, and by ptxas without one."""
    for rung in ALL:
        assert abs(H200["products"]["registers_per_thread"][rung.name] - CODE[rung.name]["registers"]) <= 2, rung.name


def test_distances_go_round_the_loop() -> None:
    """By hand: the first load is used in the next round, the second at once, the third by its second number."""
    loop = ["FFMA R1, R9, R2, R1", "LDS R9, [R30]", "LDS.128 R4, [R31]", "FFMA R1, R6, R13, R1"]
    loop += ["LDS.64 R12, [R32]", "BRA 0x0"]
    assert until_use(loop) == [4, 0, 4]
    assert list(map(name_of, ("@!P0 LDS.128 R4, [R31]", "FFMA.FTZ R1, R2, R3, R1"))) == ["LDS.128", "FFMA"]


def test_the_inner_loop_is_the_innermost() -> None:
    code = [(0, "MOV R1, R2"), (16, "FFMA R1, R1, R1, R1"), (32, "@P0 BRA 0x10"), (48, "@P1 BRA 0x0"), (64, "EXIT")]
    assert inner_loop(code) == ["FFMA R1, R1, R1, R1", "@P0 BRA 0x10"]


# ---- replies ---------------------------------------------------------------------------------------------------------


@cuda.jit
def two_barriers_a_piece(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        piece[t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = piece[t] + piece[63 - t]
        cuda.syncthreads()


@cuda.jit
def no_barrier(x, out):
    piece = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        piece[t] = x[start + t]
        out[start + t] = piece[t] + piece[63 - t]


@cuda.jit
def loads_twice(x, out):
    t = cuda.threadIdx.x
    for start in range(0, x.size, 64):
        out[start + t] = x[start + t] + x[start + 63 - t]


@cuda.jit
def not_ahead(x, out):
    places = cuda.shared.array((2, 64), np.float32)
    t = cuda.threadIdx.x
    now = 0
    for start in range(0, x.size, 64):
        places[now, t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = places[now, t] + places[now, 63 - t]
        now = 1 - now


@cuda.jit
def every_block_adds_all(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[y, k] * b[k, x]
    cuda.atomic.add(c, (y, x), total)


@cuda.jit
def adds_without_atomics(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(cuda.blockIdx.x, a.shape[1], cuda.gridDim.x):
        c[y, x] += a[y, k] * b[k, x]


@cuda.jit
def an_atomic_a_product(a, b, c):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(cuda.blockIdx.x, a.shape[1], cuda.gridDim.x):
        cuda.atomic.add(c, (y, x), a[y, k] * b[k, x])


@cuda.jit
def nothing(a, b, c):
    pass


REPLIES: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lesson08.one_barrier, two_barriers_a_piece, "one barrier a piece is enough"),
    (lesson08.one_barrier, no_barrier, "Race on"),
    (lesson08.one_barrier, loads_twice, "nothing was read from shared memory"),
    (lesson08.one_barrier, not_ahead, "asked for after piece 0 was used"),
    (lesson08.in_slices, every_block_adds_all, "Which are block s's?"),
    (lesson08.in_slices, adds_without_atomics, "lets no sum get lost"),
    (lesson08.in_slices, an_atomic_a_product, "add up in a register first"),
    (lesson08.in_slices, nothing, "Nothing was written to c"),
    (lesson08.waits_hidden, 28, "would do for one warp"),
    (lesson08.waits_hidden, ..., "Put your answer"),
    (lesson08.blocks_for, (64, 132, 256, 0), "keep 64 multiprocessors busy"),
]


@pytest.mark.parametrize(("exercise", "answer", "words"), REPLIES)
def test_a_mistake_is_named(exercise: Callable[[Any], Any], answer: Any, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome != "right"
    assert words in str(reply)


def test_a_product_of_one_s_own(simulated: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRADER_DEVICE", "simulated")
    assert "elements are wrong" in str(lesson08.against_the_library(lambda a, b, c: None if a is b else c))
    assert lesson08.against_the_library(simulated.rungs["strips"].launch).outcome == "right"


def test_the_exercises_are_those_of_the_notebook() -> None:
    text = (DATA.parent / "08b_to_the_limit.ipynb").read_text(encoding="utf-8")
    public = [name for name in vars(limit_exercises) if name in lesson08.__all__]
    assert public
    assert all(f"lesson08.{name}(" in text for name in public)
    assert Path(measurements.RESULT).exists()
