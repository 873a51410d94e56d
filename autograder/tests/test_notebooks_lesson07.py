"""Lesson 7: its exercises reply as they should, and the numbers in its prose follow from the committed measurements."""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course.lesson07 import exercises as lesson07
from autograder.course.lesson07.lists import random_list
from autograder.course.lesson07.questions import QUESTIONS
from autograder.course.replies import Reply
from autograder.perfmodel import SPECIFICATIONS, roofline, sureness
from autograder.perfmodel.hipc2009 import from_counters, local_ranking
from autograder.perfmodel.measurements import unseen, verdicts
from autograder.perfmodel.measurements.predicting import HERE, by_case
from autograder.perfmodel.prediction import ALIKE, OVERLAP
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
A, B = NOTEBOOKS / "07a_a_model_of_2009.ipynb", NOTEBOOKS / "07b_a_model_of_today.ipynb"
CASES = by_case()
MICRO = json.loads((HERE / "microbenchmarks.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson07.on_chip_bytes, 235.2),
        (lesson07.on_chip_bytes, 229.7),
        (lesson07.list_ranking_ms, 21),
        (lesson07.list_ranking_ms, 20.2),
        (lesson07.most_apart, 2),
        (lesson07.at_one_address, 49),
        (lesson07.least_sure, 1.97),
        (lesson07.least_sure, 3 / 1.51),
    ],
)
def test_the_right_answer_is_praised(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson07.on_chip_bytes, 62, "one multiprocessor"),
        (lesson07.on_chip_bytes, 184, "L2 is on the chip"),
        (lesson07.list_ranking_ms, 27.5, "millions of cycles"),
        (lesson07.list_ranking_ms, 5.3, "4 log2 N"),
        (lesson07.list_ranking_ms, 662, "denominator"),
        (lesson07.most_apart, 0.5, "other way round"),
        (lesson07.most_apart, 3, "too large"),
        (lesson07.most_apart, float("inf"), "Let MAX be 1"),
        (lesson07.list_ranking_ms, 0.021, "seconds"),
        (lesson07.list_ranking_ms, 7.06, "three accesses"),
        (lesson07.list_ranking_ms, 1, "N_B is"),
        (lesson07.on_chip_bytes, 0.235, "kilobytes"),
        (lesson07.on_chip_bytes, 100, "L2 once"),
        (lesson07.at_one_address, 7, "one after the other"),
        (lesson07.two_thirds_of_the_time, "product", "takes a kernel"),
        (lesson07.at_one_address, 92, "divide by it"),
        (lesson07.at_one_address, ..., "your answer"),
        (lesson07.least_sure, 4.57, "the upper end"),
        (lesson07.least_sure, 1.51, "That is the factor"),
        (lesson07.least_sure, 3, "the prediction itself"),
        (lesson07.least_sure, 1.48, "not subtracted"),
        (lesson07.sum_of_eight, "kernel", "takes a kernel"),
        (lesson07.owner_and_rank, ..., "Write the kernel"),
        (lesson07.sum_of_squares, len, "takes a kernel"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert reply.outcome == ("your turn" if answer is ... else "not yet")
    assert words in reply.words


def cells(path: Path) -> dict[str, dict[str, Any]]:
    """By id; with the source as one string."""
    everything = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {each["id"]: each | {"source": "".join(each["source"])} for each in everything}


def answer(path: Path, cell: str) -> str:
    """The kernel of a hidden answer, without its decorator."""
    shown = re.findall(r"```python\n(.*?)```", cells(path)[cell]["source"], re.S)[0]
    return str(shown).removeprefix("@cuda.jit")


def replied(exercise: Callable[[Any], Reply], source: str) -> Reply:
    with simulate():
        return exercise(kernel_of(source))


AS_GIVEN = "\n" + lesson07.PRODUCT.removeprefix("@cuda.jit\n")
TILED = answer(B, "solution-twice")
BY_HAND = """        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
"""
FOUR_A_ROUND = """        k = 0
        while k + 3 < a.shape[1]:
            total += a[row, k] * b[k, column] + a[row, k + 1] * b[k + 1, column]
            total += a[row, k + 2] * b[k + 2, column] + a[row, k + 3] * b[k + 3, column]
            k += 4
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
"""
IN_RANGE = """        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
"""
FOUR_ROWS = """
def product(a, b, c):
    column, row = cuda.grid(2)
    m, first = c.shape[0], 4 * row
    if first < m and column < c.shape[1]:
        one, two, three, four = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        second, third, fourth = min(first + 1, m - 1), min(first + 2, m - 1), min(first + 3, m - 1)
        k = 0
        while k < a.shape[1]:
            shared = b[k, column]
            one += a[first, k] * shared
            two += a[second, k] * shared
            three += a[third, k] * shared
            four += a[fourth, k] * shared
            k += 1
        c[first, column] = one
        if first + 1 < m:
            c[first + 1, column] = two
        if first + 2 < m:
            c[first + 2, column] = three
        if first + 3 < m:
            c[first + 3, column] = four
"""
HOISTED = AS_GIVEN.replace("        k = 0\n", "        k, n = 0, a.shape[1]\n").replace("k < a.shape[1]", "k < n")


def test_the_last_exercise_begins_with_the_kernel_that_its_reply_takes_for_unchanged() -> None:
    assert cells(B)["answer-twice"]["source"].startswith(lesson07.PRODUCT)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (AS_GIVEN, "your turn", "latency limits it"),
        (TILED, "right", "shared memory limits it. That is x 1."),
        (TILED.replace("and start + tx < a.shape[1]", ""), "not yet", "outside its shape"),
        (AS_GIVEN.replace("a.shape[1]", "a.shape[1] - 1"), "not yet", "wrong. 551 of 551 elements differ"),
        (AS_GIVEN.replace("total +=", "c[row, column] +=").replace("        c[row, column] = total\n", ""), "not yet",
         "loads 2 numbers from global memory (as given 2); it stores 1 there (as given, one at the end)."),
        (AS_GIVEN.replace("a.shape[1]", "a.shape[1] + 1"), "not yet", "outside its shape"),
        (
            AS_GIVEN.replace("a.shape[1]", "min(a.shape[1], 64)"),
            "not yet",
            "5 x 1030 by 1030 x 3 product comes out wrong",
        ),
        (AS_GIVEN.replace("np.float32(0)", "np.float64(0)"), "not yet", "takes longer: 583 us"),
        (HOISTED, "not yet", "takes as long as before: 541 us"),
        (HOISTED, "not yet", "executes 7.6 instructions (as given 7.6) and loads 2 numbers"),
        (AS_GIVEN.replace(BY_HAND, FOUR_A_ROUND), "not yet", "takes as long as before"),
        (AS_GIVEN.replace(BY_HAND, FOUR_A_ROUND), "not yet", "Loading for several rounds at once changes nothing"),
        (AS_GIVEN.replace(BY_HAND, FOUR_A_ROUND), "not yet", "Load fewer numbers for each result (share them in a block"),
        (FOUR_ROWS, "not yet", "loads 1.2 numbers from global memory (as given 2). Load fewer numbers for each result"),
        (FOUR_ROWS, "not yet", "as long as before: 538 us"),  # one turn: most blocks have no row
        (AS_GIVEN.replace(BY_HAND, IN_RANGE), "not yet", "it takes longer"),
        (AS_GIVEN.replace(BY_HAND, IN_RANGE), "not yet", "issue limits it"),
        (AS_GIVEN.replace("            k += 1\n", ""), "not yet", "This loop never ends"),
    ],
)
def test_the_last_exercise_judges_a_product_by_its_prediction(source: str, outcome: str, words: str) -> None:
    reply = replied(lesson07.two_thirds_of_the_time, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


TILE = answer(A, "solution-sum-of-eight")
HALO = """    if t < 7 and i + 256 < x.size:
        tile[t + 256] = x[i + 256]
"""
EIGHT_LOADS = """
def sum_of_eight(x, y):
    i = cuda.grid(1)
    if i < y.size:
        total = np.float32(0)
        for k in range(8):
            total += x[i + k]
        y[i] = total
"""
BY_SHUFFLES = """
def sum_of_eight(x, y):
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % 32
    here, after = np.float32(0), np.float32(0)
    if i < x.size:
        here = x[i]
    if i + 32 < x.size and lane < 7:
        after = x[i + 32]
    total = here
    for k in range(1, 8):
        mine = cuda.shfl_sync(0xFFFFFFFF, here, (lane + k) % 32)
        next_ = cuda.shfl_sync(0xFFFFFFFF, after, (lane + k) % 32)
        total += mine if lane + k < 32 else next_
    if i < y.size:
        y[i] = total
"""
FROM_THE_MIDDLE = TILE.replace(HALO, "    if t < 7 and i < x.size:\n        tile[t] = x[i]\n").replace(
    "    if i < x.size:\n        tile[t] = x[i]\n", "    if i + 7 < x.size:\n        tile[t + 7] = x[i + 7]\n", 1
)
ONE_LOADS = """
def sum_of_eight(x, y):
    tile = cuda.shared.array(256 + 7, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t == 0:
        for k in range(263):
            if i + k < x.size:
                tile[k] = x[i + k]
    cuda.syncthreads()
    if i < y.size:
        total = np.float32(0)
        for k in range(8):
            total += tile[t + k]
        y[i] = total
"""
ALONE = """
def sum_of_eight(x, y):
    if cuda.grid(1) == 0:
        for i in range(y.size):
            total = np.float32(0)
            for k in range(8):
                total += x[i + k]
            y[i] = total
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("\ndef sum_of_eight(x, y):\n    pass\n", "your turn", "Nothing was written to y"),
        (TILE, "right", "today's model says 22.8 us, and 23.3 us with eight loads"),
        (TILE, "right", "a cache serves those; issue limits yours."),
        (BY_SHUFFLES, "right", "N_memory 60)"),
        (BY_SHUFFLES, "right", "issue limits yours, so yours is slower."),
        (EIGHT_LOADS, "not yet", "13.6 ms (N_comp 108, N_memory 4,020)"),
        (EIGHT_LOADS, "not yet", "8 loads from global memory, of 4.88 sectors on average: let a block"),
        (FROM_THE_MIDDLE, "not yet", "Let most loads begin where a sector begins"),
        (TILE.replace("    cuda.syncthreads()\n", ""), "not yet", "with nothing in between to order them"),
        (TILE.replace(HALO, ""), "not yet", "before anything was written there"),
        (TILE.replace("t < 7 and i + 256 < x.size", "t < 7"), "not yet", "outside its shape"),
        (TILE.replace("i + 256 < x.size", "i + 256 <= x.size"), "not yet", "Reads `x[515]`, outside its shape (515,)"),
        (TILE.replace("256 + 7", "256"), "not yet", "outside its shape (256,)"),
        (TILE.replace("256 + 7", "256"), "not yet", "A block's 256 sums need 256 + 7 numbers."),
        (ONE_LOADS, "not yet", "of a sector: few numbers at a time. Let all threads of a block load"),
        (EIGHT_LOADS.replace("y.size", "x.size"), "not yet", "outside its shape"),
        (EIGHT_LOADS.replace("range(8)", "range(7)"), "not yet", "the sum of 7 of the eight numbers"),
        (TILE.replace("= total", "= total / 8"), "not yet", "these are means"),
        (ALONE, "not yet", "1 of the threads wrote it alone"),
        (EIGHT_LOADS.replace("(x, y)", "(x, y, n)"), "not yet", "The kernel takes x and y"),
    ],
)
def test_a_sum_of_eight_is_judged_by_the_model_of_2009(source: str, outcome: str, words: str) -> None:
    reply = replied(lesson07.sum_of_eight, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


WALK = answer(A, "solution-owner-and-rank")
PAIR = "            both[place] = index * 2**32 + prefix\n"
STEP = "            prefix += 1\n            place = following[place]\n"
IN_TWO_STEPS = "            both[place] = index * 2**32\n            both[place] += prefix\n"
WALKED_ALONE = """
def owner_and_rank(following, heads, both):
    if cuda.grid(1) == 0:
        for index in range(heads.size):
            place, prefix = heads[index], 0
            while place >= 0:
                both[place] = index * 2**32 + prefix
                prefix += 1
                place = following[place]
"""
STRIDED = WALKED_ALONE.replace("    if cuda.grid(1) == 0:\n", "    if True:\n").replace(
    "range(heads.size)", "range(cuda.grid(1), heads.size, cuda.gridsize(1))"
)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("\ndef owner_and_rank(following, heads, both):\n    pass\n", "your turn", "Nothing was written to both"),
        (WALK, "right", "0.79 ms (2.0 uncoalesced accesses a round), and 1.19 ms with three"),
        (WALK, "right", "today's model says 44.2 us, and 45.8 us with three"),
        (WALK.replace("index * 2**32 + prefix", "(index << 32) | prefix"), "right", "2.0 uncoalesced"),
        (WALK.replace(">= 0", "!= -1"), "right", "2.0 uncoalesced"),
        (STRIDED, "right", "2.0 uncoalesced"),
        (WALK.replace("index * 2**32 + prefix", "prefix * 2**32 + index"), "not yet", "changed places"),
        (WALK.replace("heads[index], 0", "heads[index], 1"), "not yet", "one too large"),
        (WALK.replace("index < heads.size", "index < both.size"), "not yet", "outside its shape (7,)"),
        (WALK.replace("place >= 0", "place > 0"), "not yet", "nodes are not written"),
        (WALK.replace(PAIR + STEP, STEP + "            if place >= 0:\n    " + PAIR), "not yet", "(all of them heads)"),
        (WALK.replace("index * 2**32 + prefix", "prefix"), "not yet", "the owners are not"),
        (WALK.replace("2**32", "1000"), "not yet", "both[1] holds owner 0 and rank 4000"),
        (WALK.replace(PAIR, IN_TWO_STEPS), "not yet", "4.0 uncoalesced"),
        (WALK.replace("            place = following[place]\n", ""), "not yet", "This loop never ends"),
        (WALK.replace(PAIR, PAIR + "            heads[index] = place\n"), "not yet", "should only read"),
        (WALKED_ALONE, "not yet", "1 of the threads did it"),
    ],
)
def test_a_walk_is_judged_by_the_accesses_that_the_model_of_2009_charges(source: str, outcome: str, words: str) -> None:
    reply = replied(lesson07.owner_and_rank, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


SQUARES = answer(B, "solution-sum-of-squares")
WITH_WHILE = SQUARES.replace(
    """    for i in range(t, x.size, cuda.gridsize(1)):
        total += x[i] * x[i]
""",
    """    i = t
    while i < x.size:
        total += x[i] * x[i]
        i += cuda.gridsize(1)
""",
)
NEIGHBOURS = SQUARES.replace(
    "range(t, x.size, cuda.gridsize(1))", "range(t * each, min(x.size, (t + 1) * each))"
).replace("    total = np", "    each = (x.size + sums.size - 1) // sums.size\n    total = np")
IN_SUMS = SQUARES.replace("        total +=", "        sums[t] +=").replace("    sums[t] = total\n", "")
ONE_EACH = "\ndef sum_of_squares(x, sums):\n    t = cuda.grid(1)\n    if t < x.size:\n        sums[t] = x[t] * x[t]\n"


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("\ndef sum_of_squares(x, sums):\n    pass\n", "your turn", "Nothing was written to sums"),
        (SQUARES, "right", "is 14.0 us: the kernel takes 1.8 times that"),
        (WITH_WHILE, "right", "DRAM and L2 limit it alike"),
        (SQUARES.replace("np.float32(0)", "0.0"), "not yet", "Issue and DRAM limit it alike"),
        (SQUARES.replace("np.float32(0)", "0.0"), "not yet", "Start it as np.float32(...)"),
        (SQUARES.replace("x[i] * x[i]", "x[i] ** 2"), "right", "DRAM and issue limit it alike"),
        (SQUARES.replace("x[i] * x[i]", "x[i] ** 2.0"), "not yet", "Issue limits it"),
        (SQUARES.replace("x[i] * x[i]", "x[i] ** 2.0"), "not yet", "computed in float64"),
        (NEIGHBOURS, "not yet", "L2 limits it: 24.9 us"),
        (IN_SUMS, "not yet", "L2 limits it: 32.1 us"),
        (
            IN_SUMS.replace("sums[t] += x[i] * x[i]", "cuda.atomic.add(sums, t, x[i] * x[i])"),
            "not yet",
            "Atomics and latency limit it alike",
        ),
        (SQUARES.replace("x[i] * x[i]", "x[i]"), "not yet", "not of their squares"),
        (ONE_EACH, "not yet", "each thread took one number"),
        (NEIGHBOURS.replace("(x.size + sums.size - 1)", "x.size"), "not yet", "the last 232 numbers are missing"),
        (SQUARES.replace("sums[t] = total", "cuda.atomic.add(sums, 0, total)"), "not yet", "only one is above 0"),
        (SQUARES.replace("cuda.gridsize(1)", "cuda.blockDim.x"), "not yet", "taken by one thread, once?"),
        (ONE_EACH.replace("    if t < x.size:\n    ", ""), "not yet", "each thread took one number"),
    ],
)
def test_a_sum_of_squares_is_judged_by_what_limits_it(source: str, outcome: str, words: str) -> None:
    reply = replied(lesson07.sum_of_squares, source)
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_what_replies_compare_with_is_what_the_models_say() -> None:
    """Eight loads of a thread, and a walk of three accesses, as the exercises and the prose quote them."""
    x, y = np.ones(lesson07.WINDOWS + 7, np.float32), np.zeros(lesson07.WINDOWS, np.float32)
    with simulate():
        p = profile(kernel_of(EIGHT_LOADS), sample_blocks=16)[lesson07.WINDOWS // 256, 256](x, y)
    assert from_counters(p.counters).milliseconds(hidden=True) == pytest.approx(lesson07.EIGHT_LOADS_MS, rel=0.01)
    assert p.estimate("H200").ns / 1e3 == pytest.approx(lesson07.EIGHT_LOADS_H200_US, abs=0.05)
    with simulate():
        tile = profile(kernel_of(TILE), sample_blocks=16)[lesson07.WINDOWS // 256, 256](x, y)
    gained = (from_counters(p.counters), from_counters(tile.counters))
    assert 27 < gained[0].milliseconds(hidden=True) / gained[1].milliseconds(hidden=True) < 33, "a factor of thirty"
    assert 1 < p.estimate("H200").ns / tile.estimate("H200").ns < 1.2, "little gain"
    assert {p.estimate("H200").binding, tile.estimate("H200").binding} == {"issue"}, "issue limits both"
    assert "issue limits the tile and the eight loads alike" in prose(A)
    shown = cells(A)["walk"]["source"].removeprefix("@cuda.jit").split("\n\n\n")[0] + "\n"
    following, heads = random_list(lesson07.NODES, np.random.default_rng(2009))
    arrays = [np.zeros(lesson07.NODES, np.int32) for _ in range(2)]
    with simulate():
        p = profile(kernel_of(shown))[-(-heads.size // 512), 512](following, heads, *arrays)
    assert from_counters(p.counters).milliseconds(hidden=True) == pytest.approx(lesson07.THREE_ACCESSES_MS, rel=0.01)
    assert p.estimate("H200").ns / 1e3 == pytest.approx(lesson07.THREE_ACCESSES_H200_US, abs=0.05)


def kernel_of(source: str) -> Any:
    file = f"kernel {hash(source)}"
    name = found(r"def (\w+)\(", source)[1]
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope[name])


def slower(one: str, other: str, size: int) -> tuple[float, float, float]:
    """How many times slower `one` is: by the old model, by today's, by the clock."""
    first, second = CASES[one, size], CASES[other, size]
    old = [from_counters(each.source).milliseconds(hidden=True) for each in (first, second)]
    return old[0] / old[1], first.estimate.ns / second.estimate.ns, first.measured_ns / second.measured_ns


OLD_NAIVE, TILES = "matmul, x along columns, 16x16", "matmul, tiles of 16"
ROWS, WHILE = "matmul, x along rows, while, 32x32", "matmul, x along columns, while, 32x32"
RANGE, EXERCISE = "matmul, x along columns, 32x32", "matmul, x along columns, while, 16x16"
SIZES = (256, 512, 1024, 2048, 4096)
MEASURED = {size: CASES[WHILE, size].measured_ns for size in SIZES}
TIMES_AS_LONG = [MEASURED[2 * size] / MEASURED[size] for size in SIZES[:-1]]
RANDOM, EQUAL = "list ranking, random sublists", "list ranking, equal sublists"
UNIFORM, ONE, PRIVATE = (
    f"histogram, {kind}" for kind in ("global, uniform", "global, one value", "privatized, uniform")
)
PRIVATE_ONE = "histogram, privatized, one value"
RIDGES = {name: roofline(gpu).ridge_flop_per_byte for name, gpu in SPECIFICATIONS.items()}
KEPLER_THOUSANDS = lesson07.KEPLER_BYTES_A_THREAD / 1.024
ROWS_LOADS = CASES[ROWS, 1024].counters
ROOF_MS = CASES[WHILE, 1024].roofline_ns / 1e6
COUNTED_NAIVE = from_counters(CASES[OLD_NAIVE, 1024].source)
OLD_LIST = from_counters(CASES[RANDOM, 2**22].source).milliseconds(hidden=True)
TIMES = [CASES[name, 1024].measured_ns for name in (WHILE, RANGE, ROWS, TILES)]
LISTS = [(name, size) for name in (RANDOM, EQUAL) for size in (2**16, 2**20, 2**22)]
LIST_ERRORS = [-100 * CASES[each].error for each in LISTS]
LISTS_TOO_FAST = [each for each in LIST_ERRORS if each > 10]
LISTS_TOO_SLOW = [-each for each in LIST_ERRORS if each < -10]
IN_A_ROUND = [CASES[name, 1024].counters.issued_warp_instructions / (1024**3 / 32) for name in (RANGE, WHILE)]
TILES_NEED = CASES[TILES, 1024].estimate.breakdown
TILES_TWO = [TILES_NEED[part] for part in ("issue", "shared memory")]
TILES_BY_MAX = CASES[TILES, 1024].measured_ns / max(TILES_TWO)
WHILE_NEEDS = CASES[WHILE, 1024].estimate.breakdown
WHILE_US = {part: ns / 1e3 for part, ns in WHILE_NEEDS.items()}
UNSEEN = [[abs(each.error) for each in unseen.predictions() if each.half == half] for half in unseen.HALVES]
MEDIANS, NINETIETHS = ([100 * float(np.percentile(half, rank)) for half in UNSEEN] for rank in (50, 90))
THREADS = 132 * 2048 / (30 * 1024)
ROWS_SLOWER = slower(ROWS, WHILE, 1024)[2]
ROWS_SLOWER_1100 = slower(ROWS, WHILE, 1100)
BANDWIDTHS = SPECIFICATIONS["H200"].dram_gb_per_s / SPECIFICATIONS["T4"].dram_gb_per_s


def prose(*parts: Path) -> str:
    """What stands in these parts, with single spaces."""
    pages = [each for path in parts for each in cells(path).values() if each["cell_type"] == "markdown"]
    return " ".join("\n".join(each["source"] for each in pages).split())


LATENCY_FACTOR, LATENCY_HELD = sureness.known().ratios["latency"].factor, sureness.known().held_ratio("latency")
OLD_ROWS = slower("matmul, x along rows, 16x16", OLD_NAIVE, 1024)
LISTS_2_16 = slower(RANDOM, EQUAL, 2**16)
H200, T4 = SPECIFICATIONS["H200"], SPECIFICATIONS["T4"]
T4_PLACES = T4.multiprocessors * T4.max_threads // 1024
LARGE = json.loads((NOTEBOOKS / "data" / "case_studies_h200.json").read_text(encoding="utf-8"))["histogram"]["milliseconds"]
FACTORS = {name: each.factor for name, each in sureness.known().times.items()}
ROWS_1100, RANGE_NEEDS = CASES[ROWS, 1100].measured_ns, CASES[RANGE, 1024].estimate.breakdown


def in_all(name: str) -> int:
    """The requests of a multiply to global memory."""
    c = CASES[name, 1024].counters
    return c.global_load_requests + c.global_store_requests


WALKED = CASES[RANDOM, 2**20].counters
REQUEST_OF_THE_WALK = WALKED.global_load_sectors / WALKED.global_load_requests


@pytest.mark.parametrize(
    "sentence",
    [
        f"**{RIDGES['H200']:.1f} on an H200**",
        f"must be used in {4 * RIDGES['H200']:.0f} operations",
        "(" + ", ".join(f"{name} {RIDGES[name]:.1f}" for name in ("K40", "A100", "H100", "H200")) + ")",
        f"On an RTX 4090 it is {RIDGES['RTX 4090']:.0f}.",
        f"It is {lesson07.KEPLER_BYTES_A_THREAD:.0f} bytes",
        f"The K40, of that time, has {RIDGES['K40'] / 2:.1f} where",
        f"gives {1904 * 1000 / 30_720:.0f} with 1,000 bytes to the kB, and then {KEPLER_THOUSANDS:.0f} is right",
        f"{len(CASES)} cases of {len({name for name, _ in CASES})} kernels",
        f"The pencil says {ROOF_MS:.2f} ms, and the clock says {min(TIMES) / 1e6:.2f} ms or {max(TIMES) / 1e6:.2f}",
        f"has {COUNTED_NAIVE.compute_cycles:,.0f} and {COUNTED_NAIVE.memory_cycles:,.0f} cycles, where the pencil said "
        f"{1024 * (4 + 4):,} and {1024 * (20 + 20):,}",
        f"256 + 64 + 48 + 1,536 = {256 + 64 + 48 + 1536:,} kB",
        f"{2**22 / 22 / 512 / 30:.1f} blocks each, and since no block can be cut, 13",
        f"a warp walks until the longest of its 32 ends: {sum(1 / at for at in range(1, 33)):.2f} times as far",
        f"the H200 is {OLD_LIST * 1e6 / CASES[RANDOM, 2**22].measured_ns // 10 * 10:.0f} times as fast",
        f"From 21 ms to {CASES[RANDOM, 2**22].measured_ns / 1e6:.1f} ms",
        f"an L2 of {SPECIFICATIONS['H200'].l2_bytes // 2**20} MiB for {3 * 4 * 2**22 // 2**20} MiB of arrays",
        f"rows take {OLD_ROWS[0]:.0f} times as long as columns by the model, {OLD_ROWS[2]:.1f} times by the clock",
        f"shared memory needs {max(TILES_TWO) / 1e3:.0f} us and issue {min(TILES_TWO) / 1e3:.0f}",
        f"That makes {lesson07.EIGHT_LOADS_MS} ms for 2²² sums",
        f"could have taken {sum(TILES_TWO) / max(TILES_TWO):.1f} times MAX, and took {TILES_BY_MAX:.2f} times",
        f"the `while` loop needs {WHILE_US['issue']:.0f} us to issue its instructions and {WHILE_US['L1']:.0f} us for L1, "
        f"and it took {MEASURED[1024] / 1e3:.0f}",
        f"caches and banks (25 against {ROWS_SLOWER:.1f}), and caches (25 against {ROWS_SLOWER_1100[2]:.1f})",
        f"instructions (1.0 against {slower(RANGE, WHILE, 1024)[2]:.1f})",
        f"({slower(WHILE, TILES, 1024)[0]:.1f} against {slower(WHILE, TILES, 1024)[2]:.1f}): without tiles",
        f"({slower(RANDOM, EQUAL, 2**20)[0]:.1f} against {slower(RANDOM, EQUAL, 2**20)[2]:.2f}): a request of eight",
        f"(1.0 against {slower(ONE, UNIFORM, 2**20)[2]:.1f}): to the model",
        f"({slower(UNIFORM, PRIVATE, 2**24)[0]:.0f} against {slower(UNIFORM, PRIVATE, 2**24)[2]:.0f})",
    ],
)
def test_lesson_7a_says(sentence: str) -> None:
    assert sentence in prose(A)


@pytest.mark.parametrize(
    "sentence",
    [
        f"two 256 × 256 matrices in {MEASURED[256] / 1e3:.0f} microseconds",
        f"From the first size you would predict {16**3 * MEASURED[256] / 1e6:.0f} ms for the last one, and from the third "
        f"{4**3 * MEASURED[1024] / 1e6:.0f} ms. The clock says {MEASURED[4096] / 1e6:.0f}.",
        f"foresee {TIMES_AS_LONG[0]:.1f}, {TIMES_AS_LONG[1]:.1f}, {TIMES_AS_LONG[2]:.1f} and {TIMES_AS_LONG[3]:.1f}",
        f"{IN_A_ROUND[0]:.0f} a round with `range` and {IN_A_ROUND[1]:.0f} with `while`",
        f"x along the rows is {slower(ROWS, WHILE, 1024)[0]:.0f} times slower than along the columns",
        f"The H200 says {ROWS_SLOWER:.1f}, and **with 76 columns more it says {ROWS_SLOWER_1100[2]:.1f}**",
        f"it is {100 * (1 - ROWS_SLOWER_1100[1] / ROWS_SLOWER_1100[2]):.0f} % too low",
        f"carries out {MICRO['atomics']['global, 1 places, lanes/ns']:.2f} atomic additions a nanosecond",
        f"three are too fast, by {min(LISTS_TOO_FAST):.0f} to {max(LISTS_TOO_FAST):.0f} %",
        f"and {BANDWIDTHS:.0f} times the memory bandwidth",
        f"the T4 has {T4.multiprocessors} multiprocessors, which hold {T4.max_threads:,} threads each and run at "
        f"{T4.clock_ghz} GHz; the H200 {H200.multiprocessors}, of {H200.max_threads:,} threads, at {H200.clock_ghz} GHz",
        f"The H200 has places for all 256 blocks, a T4 for {T4_PLACES}: {256 / T4_PLACES:.1f} turns. Your small model says "
        f"{512 * (390 + 200 * (256 / T4_PLACES - 1)) / T4.clock_ghz / 1e3:.0f} us with the T4's clock",
        f"7a's clock said {ROWS_SLOWER:.1f} and {ROWS_SLOWER_1100[2]:.1f}. Lesson 1b's passes are 33, 9 and 2 a round",
        f"lists of 2¹⁶ nodes {LISTS_2_16[1]:.2f} against {LISTS_2_16[2]:.2f}; x along rows at N = 1,000 alone is "
        f"{-100 * CASES[ROWS, 1000].error:.0f} % too fast",
        f"Foreseen {lesson07.ATOMICS_MS:.1f}, measured {LARGE['one value']['global atomics']}. Spread over many addresses "
        f"the global version takes {LARGE['uniform']['global atomics']} ms",
        f"predicted to take {CASES[EXERCISE, 1024].estimate.ns / 1e6:.2f} ms for N = 1,024",
        f"to the power of {OVERLAP}",
        f"The multiplies of 7a took {min(TIMES) / 1e6 / ROOF_MS:.0f} to {max(TIMES) / 1e6 / ROOF_MS:.0f} times their floor",
        f"These {len(CASES)} lay before the model's authors",
        f"A further {len(unseen.predictions()) // 2} kernels were timed",
        f"The median error is {MEDIANS[0]:.0f} % in the first half and {MEDIANS[1]:.0f} % in the second, "
        f"the 90th percentile {NINETIETHS[0]:.0f} % and {NINETIETHS[1]:.0f} %",
        f"From the first half: {sureness.known().held_by_learned} %, not nine of ten",
        f"no part in the rules: {sureness.known().held_times[sureness.ANY]} %, by a factor "
        f"{FACTORS[sureness.ANY] / sureness.known().of_learned.factor:.1f} times as large",
        f"a third set of {sureness.known().times[sureness.ANY].cases} kernels",
        f"is a factor of {LATENCY_FACTOR:.2f}; of answers it was not made from, it held {LATENCY_HELD} %",
        f"tiles that load a sixteenth and gain a factor of {slower(WHILE, TILES, 1024)[2]:.1f}",
    ],
)
def test_lesson_7b_says(sentence: str) -> None:
    assert sentence in prose(B)


@pytest.mark.parametrize(
    ("part", "sentence", "holds"),
    [
        (A, "It holds nine times as many threads", 8.5 < THREADS < 9.5),
        (A, "their times differ by a factor of fourteen", 13.5 < max(TIMES) / min(TIMES) < 14.6),
        (A, "**no kernel can be faster**", min(TIMES) > 1e6 * ROOF_MS),
        (A, "`range` makes no access that `while` does not make", in_all(RANGE) == in_all(WHILE)),
        (A, "of eight lanes moves eight sectors", round(REQUEST_OF_THE_WALK) == 8),
        (B, "within 22 % up to 2²⁰", max(abs(CASES[RANDOM, size].error) for size in (2**16, 2**20)) < 0.22),
        (
            B,
            "One row is 21 % too slow, two are right, and three are too fast",
            len(LISTS_TOO_FAST) == 3 and [round(each) for each in LISTS_TOO_SLOW] == [21],
        ),
        (B, "0.14 ms whatever the items", {round(each["privatized"], 2) for each in LARGE.values()} == {0.14}),
        (B, "(At 2²⁴ nothing alone holds it up, says the model.)", CASES[PRIVATE, 2**24].estimate.ahead < ALIKE),
        (
            A,
            "On these cards of data centres it has hardly done so",
            max(RIDGES[name] for name in ("A100", "H200")) < RIDGES["K40"],
        ),
        (
            A,
            "which slows the columns, and the rows hardly",
            TIMES[1] > 3 * TIMES[0] and CASES["matmul, x along rows, 32x32", 1024].measured_ns < 1.01 * TIMES[2],
        ),
        (B, "76 columns more that halve a kernel's time", 0.4 < ROWS_1100 / CASES[ROWS, 1024].measured_ns < 0.55),
        (B, "takes longer to count than to wait for its memory", RANGE_NEEDS["issue"] > 2 * RANGE_NEEDS["latency"]),
    ],
)
def test_what_lesson_7_says_in_words_holds(part: Path, sentence: str, holds: bool) -> None:
    assert sentence in prose(part)
    assert holds


def test_lanes_32_words_apart_wait_for_32_passes_of_l1_and_33_apart_for_8() -> None:
    cycles = [MICRO["cycles per request"][f"L1 load, groups of 1 lanes {apart} words apart"] for apart in (32, 33)]
    assert cycles == [pytest.approx(32, rel=0.02), pytest.approx(8, rel=0.02)]
    assert "The likely reason: L1 has 32 banks" in prose(B)


def test_the_sum_of_squares_falls_short_of_its_floor_for_the_reasons_told() -> None:
    x, sums = np.full(lesson07.SQUARES, 0.5, np.float32), np.zeros(lesson07.SQUARES_GRID * 256, np.float32)
    with simulate():
        found = profile(kernel_of(SQUARES), sample_blocks=4)[lesson07.SQUARES_GRID, 256](x, sums).estimate("H200")
    floor = 4 * lesson07.SQUARES / SPECIFICATIONS["H200"].dram_gb_per_s
    dram, issue = (found.breakdown[name] for name in ("DRAM", "issue"))
    assert f"Predicted: {found.ns / floor:.1f} times its floor." in prose(B)
    assert f"({dram / 1e3:.1f} us, not {floor / 1e3:.1f}), issue needs not much less" in prose(B)
    assert 0.8 * dram < issue < dram and found.breakdown["launch overhead"] > 0.25 * floor


def test_the_estimate_for_a_t4_is_what_its_explanation_says() -> None:
    """From the committed output, which may differ where NVIDIA's compiler is asked for registers."""
    shown = json.dumps(cells(B)["own-estimate"]["outputs"])
    assert "NVIDIA T4: about 436 us" in shown and "latency limits it" in shown
    assert "today's 436: later turns are cheaper" in prose(B)


def test_a_count_of_today_agrees_with_the_slide_of_2009_within_one_percent() -> None:
    assert pytest.approx(local_ranking(2**22).milliseconds(hidden=True), rel=0.01) == OLD_LIST


def test_today_s_model_is_within_a_tenth_in_five_of_the_seven_questions() -> None:
    off = {pair: abs(today / clock - 1) for pair in QUESTIONS.values() for _, today, clock in [slower(*pair)]}
    lists = (RANDOM, EQUAL, 2**20)
    assert {pair for pair, each in off.items() if each > 0.1} == {(ROWS, WHILE, 1100), lists}
    words = f"all but rows of 1,100 and lists of 2²⁰ nodes ({100 * off[lists]:.0f} % off)."
    assert f"It is within a tenth of the clock in {words}" in prose(B)


def test_the_clock_follows_max_in_four_of_five_rows_and_latency_in_the_fifth() -> None:
    times_max = {}
    for name in (RANGE, "matmul, x along rows, 32x32", WHILE, ROWS, TILES):
        case = CASES[name, 1024]
        compute = case.estimate.breakdown["issue"]
        memory = max(case.estimate.breakdown[part] for part in ("L1", "shared memory", "L2", "DRAM"))
        times_max[name] = case.measured_ns / max(compute, memory)
    fifth = times_max.pop(WHILE)
    assert 0 <= min(times_max.values()) - 1 and round(100 * (max(times_max.values()) - 1)) <= 15
    assert fifth > 1.5 and CASES[WHILE, 1024].estimate.binding == "latency" == max(
        WHILE_NEEDS, key=WHILE_NEEDS.__getitem__
    )


def test_each_doubling_is_eight_times_the_work_and_never_eight_times_the_time() -> None:
    for size in SIZES[:-1]:
        before, after = CASES[WHILE, size].counters, CASES[WHILE, 2 * size].counters
        for work in ("float32_operations", "global_load_requests", "global_load_sectors"):
            assert getattr(after, work) == 8 * getattr(before, work)
        assert after.issued_warp_instructions == pytest.approx(8 * before.issued_warp_instructions, rel=0.02)
    assert all(abs(each / 8 - 1) > 0.15 for each in TIMES_AS_LONG)
    by_range = [CASES[RANGE, 2 * size].measured_ns / CASES[RANGE, size].measured_ns for size in SIZES[1:-1]]
    assert by_range == pytest.approx([8, 8, 8], rel=0.05), "the slow kernel's time can be scaled, from 512 on"
    fast, slow = ([CASES[name, size].estimate.binding for size in SIZES] for name in (WHILE, RANGE))
    assert (set(fast), set(slow[1:])) == ({"latency"}, {"issue"})


def test_the_turns_of_blocks_foretell_six_sizes_and_miss_the_seventh_as_lesson_7_says() -> None:
    """From the cell's committed output: blocks, turns, cycles a round, microseconds by turns and by the clock."""
    _, *rows = "".join(cells(B)["l7-turns"]["outputs"][0]["text"]).replace(",", "").splitlines()
    table = {int(size): [float(each) for each in numbers] for size, *numbers in map(str.split, rows)}
    blocks, turns, cycles, foretold, clock = table.pop(4096)
    assert len(table) == 6 and all(each[3] == pytest.approx(each[4], rel=0.03) for each in table.values())
    first = table[512][2]
    assert cycles == pytest.approx(first, rel=0.02), "as if every turn were a first one"
    assert f"a round costs {cycles:.0f} cycles again" in prose(B)
    model = CASES[WHILE, 4096].estimate.ns / 1e3
    assert foretold == pytest.approx(model, rel=0.05)
    words = f"ours says {foretold / 1e3:.0f} ms, it {model / 1e3:.0f}, and the clock {clock / 1e3:.0f}"
    assert words in prose(B) and foretold < 0.55 * clock
    assert "At 256 the launch has 64 blocks" in prose(B) and "At 512 it has 256" in prose(B)
    assert (table[256][0], table[512][0]) == (64, 256) and table[512][1] == 1 and 64 < 132 / 2
    h200 = SPECIFICATIONS["H200"]
    assert f"there are places for {h200.multiprocessors * h200.max_threads // 1024} blocks" in prose(B)
    matrix = 4 * 4096**2
    assert f"has {matrix // 2**20} MiB, more than the {h200.l2_bytes // 2**20} MiB of L2" in prose(B)
    assert matrix > h200.l2_bytes


def test_one_verdict_differs_and_lesson_7_says_which() -> None:
    differing = [
        (lab, each.name)
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.verdicts(lab, check)
        if not each.agrees and not each.stopped_before
    ]
    assert differing == [("lab02_tiled_matmul", "dynamic/one_array_for_both_tiles")]
    words = "a right answer to lab 2 that keeps both tiles in one dynamic shared array (sized at launch)."
    assert f"In one, the triangle: {words}" in prose(B)
    decided = [
        each
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.verdicts(lab, check)
        if not each.stopped_before and not each.host_requests
    ]
    assert f"speed decides {len(decided)} of them" in prose(B)
