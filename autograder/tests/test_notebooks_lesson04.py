"""Lesson 4: its exercises reply as they should, and what its prose says follows from what was counted and measured."""

from __future__ import annotations

import json
import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile, simulate
from autograder.course import lesson04 as lesson04_figures
from autograder.course.lesson04 import exercises as lesson04
from autograder.perfmodel import SPECIFICATIONS
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
WARPS, ADDING = (
    json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    for name in ("04a_warps_and_divergence", "04b_adding_up")
)
CELLS = WARPS + ADDING
H200 = json.loads((NOTEBOOKS / "data" / "warps_h200.json").read_text(encoding="utf-8"))
ROWS_H200, BY_WIDTH = H200["rows"], H200["four_ways_by_width"]
OF_ROWS = H200["counters_of_rows"]
WORK, LOOPS, SUMS = (H200["milliseconds"][each] for each in ("work", "loops", "reductions"))
READ = H200["counters"]
EARLY = H200["wrong_from_another_warp"]
READ_MS = 4 * H200["threads"]["reductions"] / SPECIFICATIONS["H200"].dram_gb_per_s / 1e6


def test_the_right_answer_is_praised_and_an_empty_cell_is_an_invitation() -> None:
    assert lesson04.how_many_diverge((4, 0, 1, 0)).outcome == "right"
    assert lesson04.how_many_diverge((...,) * 4).outcome == "your turn"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson04.how_many_diverge, (4, 4, 4, 4), "own 32 lanes"),
        (lesson04.how_many_diverge, (4, 2, 2, 1), "Who disagrees"),
        (lesson04.how_many_diverge, (4, 1, 1, 0), "between two warps"),
        (lesson04.how_many_diverge, (3, 3, 3, 3), "some say yes and some no"),
        (lesson04.how_many_diverge, 32, "takes 4 numbers"),
        (lesson04.find_warp, "my_place", "takes a kernel"),
        (lesson04.rows_in_order, 7, "takes a kernel"),
        (lesson04.first_threads_add, "block_sums", "takes a kernel"),
        (lesson04.any_width, (1, 2), "takes a kernel"),
        (lesson04.largest_of_warp, 7, "takes a kernel"),
    ],
)
def test_a_wrong_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


def test_the_answer_on_paper_is_that_of_the_machine() -> None:
    threads = np.arange(128).reshape(4, 32)
    asked = [threads % 2 == 0, threads < 64, threads < 50, threads // 32 == 1]
    diverge = tuple(int((each.any(axis=1) & ~each.all(axis=1)).sum()) for each in asked)
    assert lesson04.how_many_diverge(diverge).outcome == "right"


PLACE = """
def kernel(warps, lanes):
    x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    wide, high, deep = cuda.blockDim.x, cuda.blockDim.y, cuda.blockDim.z
    warps[z, y, x] = {warp}
    lanes[z, y, x] = {lane}
"""
NUMBER = "(x + wide * (y + high * z))"
PLACED_ALONE = """
def kernel(warps, lanes):
    if cuda.threadIdx.x + cuda.threadIdx.y + cuda.threadIdx.z == 0:
        number = 0
        for z in range(warps.shape[0]):
            for y in range(warps.shape[1]):
                for x in range(warps.shape[2]):
                    warps[z, y, x] = number // 32
                    lanes[z, y, x] = number % 32
                    number += 1
"""


@pytest.mark.parametrize(
    ("warp", "lane", "outcome", "words"),
    [
        (f"{NUMBER} // 32", f"{NUMBER} % 32", "right", "x first"),
        (f"{NUMBER} >> 5", "cuda.laneid", "right", "x first"),
        ("(x + warps.shape[2] * (y + warps.shape[1] * z)) // cuda.warpsize", f"{NUMBER} & 31", "right", "x first"),
        (NUMBER, "cuda.laneid", "not yet", "the threads' numbers"),
        ("cuda.laneid", "cuda.laneid", "not yet", "Those are lanes"),
        (f"{NUMBER} // 32 + 1", "cuda.laneid", "not yet", "Counting starts at 0"),
        ("x // 32", "x % 32", "not yet", "Everybody says warp 0"),
        ("(x + y + z) // 32", "x % 32", "not yet", "How many threads come before the first with y = 1, and with z = 1?"),
        ("cuda.grid(1) // 32", "cuda.laneid", "not yet", "Everybody says warp 0"),
        ("y", "x", "not yet", "no row"),
        ("y + high * z", "x", "not yet", "no row"),
        ("z", "cuda.laneid", "not yet", "no layer"),
        ("(x + wide * y) // 32", "cuda.laneid", "not yet", "Layers share their numbers"),
        ("(x + wide * y + wide * z) // 32", "cuda.laneid", "not yet", "How many threads has a whole layer z?"),
        ("(y + high * (x + wide * z)) // 32", "cuda.laneid", "not yet", "y first"),
        ("(z + deep * (y + high * x)) // 32", "cuda.laneid", "not yet", "z first"),
        (f"({NUMBER} + 31) // 32", "cuda.laneid", "not yet", "wrong warp; the first: warps[0, 0, 1] should be 0"),
        ("(x + 5 * (y + 7 * z)) // 32", "cuda.laneid", "not yet", "which of its lengths do you count on?"),
        (f"{NUMBER} // 32", "x % 32", "not yet", "The warps are right."),
        (f"{NUMBER} // 32", NUMBER, "not yet", "The warps are right. 283 of 315 threads name the wrong lane"),
    ],
)
def test_a_kernel_that_finds_its_warp_is_judged(warp: str, lane: str, outcome: str, words: str) -> None:
    reply = lesson04.find_warp(kernel_of(PLACE.format(warp=warp, lane=lane)))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_every_thread_is_to_find_its_own_warp() -> None:
    reply = lesson04.find_warp(kernel_of(PLACED_ALONE))
    assert (reply.outcome, "1 of the threads wrote it alone" in reply.words) == ("not yet", True), reply.words
    turned = PLACE.format(warp=f"{NUMBER} // 32", lane="cuda.laneid").replace("[z, y, x]", "[x, y, z]")
    assert "outside its shape" in lesson04.find_warp(kernel_of(turned)).words
    assert "no guard is missing: which index" in lesson04.find_warp(kernel_of(turned)).words
    only_lanes = PLACE.format(warp="0", lane="cuda.laneid").replace("    warps[z, y, x] = 0\n", "")
    assert "warps was not written" in lesson04.find_warp(kernel_of(only_lanes)).words


ROWS = """
def kernel(order, starts, values, sums):
    i = cuda.grid(1)
    if i < {bound}:
        row = {row}
        total = np.float32(0)
        k = {start}
        while k {less} {end}:
            total += values[k]
            k += 1
        sums[{at}] = total
"""
ROW = {"bound": "order.size", "row": "order[i]", "start": "starts[row]", "less": "<", "at": "row"}
ROW |= {"end": "starts[row + 1]"}


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ({}, "right", "sorted by length"),
        ({"bound": "order.shape[0]", "end": "starts[order[i] + 1]"}, "right", "sorted by length"),
        ({"at": "i"}, "not yet", "in the wrong places"),
        ({"row": "i"}, "not yet", "is not in order, and sums"),
        ({"row": "i", "bound": "sums.size"}, "not yet", "is not in order, and sums"),
        ({"bound": "sums.size"}, "not yet", "Reads `order[30]`, outside its shape"),
        ({"bound": "sums.size"}, "not yet", "the guard is missing, or lets too many through"),
        ({"bound": "10 ** 6"}, "not yet", "outside its shape"),
        ({"less": "<="}, "not yet", "Reads `values["),
        ({"less": "<="}, "not yet", "no guard is missing: which index belongs to which array? Row r goes from starts[r] to"),
        ({"end": "starts[order[i + 1]]"}, "not yet", "Reads `order[30]`, outside its shape (30,)"),
        ({"end": "starts[order[i + 1]]"}, "not yet", "no guard is missing"),
        ({"start": "starts[i]"}, "not yet", "Row r goes from starts[r]"),
        ({"end": "starts[row + 1] - 1"}, "not yet", "Row r goes from starts[r]"),
        ({"start": "starts[row] + 1"}, "not yet", "Row r goes from starts[r]"),
    ],
)
def test_sums_of_rows_in_an_order_are_judged(change: dict[str, str], outcome: str, words: str) -> None:
    reply = lesson04.rows_in_order(kernel_of(ROWS.format(**(ROW | change))))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


IN_PLACE = """
def kernel(order, starts, values, sums):
    i = cuda.grid(1)
    while i < order.size:
        row = order[i]
        {first}
        for k in range(starts[row], starts[row + 1]):
            sums[row] += values[k]
        i += cuda.gridsize(1)
"""
ROWS_ALONE = """
def kernel(order, starts, values, sums):
    if cuda.grid(1) == 0:
        for i in range(order.size):
            total = np.float32(0)
            for k in range(starts[order[i]], starts[order[i] + 1]):
                total += values[k]
            sums[order[i]] = total
"""
ROW_OF_A_WARP = """
def kernel(order, starts, values, sums):
    i = cuda.grid(1) // 32
    while i < order.size:
        row, total = order[i], np.float32(0)
        for k in range(starts[row] + cuda.laneid, starts[row + 1], 32):
            total += values[k]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if cuda.laneid == 0:
            sums[row] = total
        i += cuda.gridsize(1) // 32
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (IN_PLACE.format(first="sums[row] = 0"), "right", "sorted by length"),
        (IN_PLACE.format(first="pass"), "not yet", "Every sum is 1 too small"),
        (ROWS_ALONE, "not yet", "1 of the threads wrote it alone"),
        (ROW_OF_A_WARP, "not yet", "of the threads wrote it alone"),
        ("def kernel(order, starts, values, sums):\n    pass\n", "your turn", "Nothing was written"),
        ("def kernel(starts, values, sums):\n    sums[0] = 1\n", "not yet", "takes order, starts, values and sums"),
    ],
    ids=["in place", "not cleared", "one thread", "a warp a row", "empty", "three parameters"],
)
def test_other_ways_to_add_up_rows_are_judged(source: str, outcome: str, words: str) -> None:
    reply = lesson04.rows_in_order(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_the_reply_says_what_the_order_of_rows_did_to_the_warps() -> None:
    words = lesson04.rows_in_order(kernel_of(ROWS.format(**ROW))).words
    drawn, by_length = (float(each) for each in found(r"drawn ([\d.]+) of 32 .* by length (\d+\.\d)", words).groups())
    assert by_length > 2 * drawn
    sectors = found(r"asks for ([\d.]+) as drawn and ([\d.]+) sorted", words).groups()
    assert 1 < float(sectors[0]) < float(sectors[1]) <= 32 and "Lanes are half of the story" in words


LOOP = """
def kernel(values, sums):
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    step = {first}
    while {more}:
        {add}
        {barrier}
        step {change}
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]
"""
DOUBLE = {"first": "1", "more": "step < 256", "change": "*= 2"}
HALVE = {"first": "128", "more": "step > 0", "change": "//= 2"}
AT = "at = 2 * step * t\n        if at < 256: part[at] += part[at + step]"


@pytest.mark.parametrize(
    ("loop", "add", "barrier", "outcome", "words"),
    [
        (HALVE, "if t < step: part[t] += part[t + step]", True, "right", "48 divergent branches instead of 384"),
        (DOUBLE, "if t % (2 * step) == 0: part[t] += part[t + step]", True, "your turn", "384 divergent branches"),
        (DOUBLE, AT, True, "right", "But neighbours read elements far from each other, which makes 560 bank conflicts"),
        (HALVE, "if t < step: part[t] += part[t + step]", False, "not yet", "Race on `part["),
        (HALVE, "if t <= step: part[t] += part[t + step]", True, "not yet", "part["),
        (HALVE, "if t < step: part[t] += part[2 * t + 1]", True, "not yet", "part["),
        (HALVE, "if t < step - 1: part[t] += part[t + step]", True, "not yet", "of 8 elements differ"),
        (HALVE | {"more": "step > 1"}, "if t < step: part[t] += part[t + step]", True, "not yet", "every second element"),
        (HALVE | {"first": "64"}, "if t < step: part[t] += part[t + step]", True, "not yet", "is the last step missing"),
        (DOUBLE | {"more": "step < 128"}, AT, True, "not yet", "the first half of its block: is the last step missing"),
        (DOUBLE | {"first": "2"}, AT, True, "not yet", "every second element of its block"),
    ],
    ids=[
        "halving", "as given", "packed", "no barrier", "one too many", "in place", "one too few", "no last step",
        "no first step", "packed, no last step", "packed, no first step",
    ],
)
def test_a_reduction_is_judged_by_its_sums_its_races_and_its_counts(loop, add, barrier, outcome, words) -> None:
    source = LOOP.format(**loop, add=add, barrier="cuda.syncthreads()" if barrier else "pass")
    reply = lesson04.first_threads_add(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


FILLED = """
def kernel(values, sums):
    part = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
"""
STORED = """
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]
"""
ONE_THREAD = """
    if t == 0:
        total = np.float32(0)
        for j in range(256):
            total += part[j]
        sums[cuda.blockIdx.x] = total
"""
ONE_THREAD_AT_THE_END = """
    for step in (128, 64, 32):
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
    if t == 0:
        for j in range(1, 32):
            part[0] += part[j]
"""
EVERYBODY = """
    total = np.float32(0)
    for j in range(256):
        total += part[j]
    if t == 0:
        sums[cuda.blockIdx.x] = total
"""
ATOMIC = """
def kernel(values, sums):
    cuda.atomic.add(sums, cuda.blockIdx.x, values[cuda.grid(1)])
"""
SHARED_ATOMIC = """
    if t > 0:
        cuda.atomic.add(part, 0, part[t])
    cuda.syncthreads()
"""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (FILLED + ONE_THREAD, "2.82 of 32 lanes"),
        (FILLED + ONE_THREAD_AT_THE_END + STORED, "of 32 lanes work"),
        (FILLED + EVERYBODY, "16,448 requests to load"),
        (ATOMIC, "without atomics"),
        (FILLED + SHARED_ATOMIC + STORED, "without atomics"),
    ],
    ids=["one thread", "one thread at the end", "everybody", "atomic", "shared atomic"],
)
def test_right_sums_by_threads_that_do_not_share_the_adding_are_not_yet_right(source: str, words: str) -> None:
    reply = lesson04.first_threads_add(kernel_of(source))
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


ROUNDED_UP = """
    width = 256
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            part[t] += part[t + half]
        cuda.syncthreads()
        width = half
"""
LAST_THREADS = """
    step = 128
    while step > 0:
        if t >= 256 - step:
            part[t] += part[t - step]
        cuda.syncthreads()
        step //= 2
    if t == 255:
        sums[cuda.blockIdx.x] = part[255]
"""
QUARTERS = """
    for step in (64, 16, 4, 1):
        if t < step:
            part[t] += part[t + step] + part[t + 2 * step] + part[t + 3 * step]
        cuda.syncthreads()
"""
OTHER_WARPS_REST = """
    for step in (128, 64, 32):
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
    if t < 32:
        for step in (16, 8, 4, 2, 1):
            if t < step:
                part[t] += part[t + step]
            cuda.syncwarp()
"""
SHUFFLES = """
def kernel(values, sums):
    part = cuda.shared.array(8, np.float32)
    t, own = cuda.threadIdx.x, values[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
    if t % 32 == 0:
        part[t // 32] = own
    cuda.syncthreads()
    if t == 0:
        for j in range(1, 8):
            own += part[j]
        sums[cuda.blockIdx.x] = own
"""


@pytest.mark.parametrize(
    "source",
    [
        FILLED + ROUNDED_UP + STORED, FILLED + LAST_THREADS, FILLED + QUARTERS + STORED,
        FILLED + OTHER_WARPS_REST + STORED, SHUFFLES,
    ],
    ids=["rounded up", "last threads", "quarters", "other warps rest", "shuffles"],
)  # fmt: skip
def test_other_ways_to_share_the_adding_are_right(source: str) -> None:
    reply = lesson04.first_threads_add(kernel_of(source))
    assert reply.outcome == "right", reply.words


def test_what_the_exercise_compares_with_is_what_the_kernel_as_given_does() -> None:
    source = LOOP.format(
        **DOUBLE, add="if t % (2 * step) == 0: part[t] += part[t + step]", barrier="cuda.syncthreads()"
    )
    values, sums = np.ones(2048, np.float32), np.zeros(8, np.float32)
    counters = profile(kernel_of(source))[8, 256](values, sums).counters
    assert int(counters.threads_per_instruction) == lesson04.LANES_AS_GIVEN
    assert counters.shared_load_requests + counters.global_load_requests == lesson04.LOADS_AS_GIVEN


WIDE = """
def kernel(values, sums):
    part = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[{at}]
    cuda.syncthreads()
    left = cuda.blockDim.x
    while left > 1:
        half = {half}
        if {who}:
            part[t] += part[t + half]
        {wait}
        left = half
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]
"""
HALF = {"at": "cuda.grid(1)", "half": "(left + 1) // 2", "who": "t + half < left", "wait": "cuda.syncthreads()"}
LEFT_BEHIND = {"half": "left // 2", "who": "t < half"}


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ({}, "right", "No part is left behind"),
        (LEFT_BEHIND, "your turn", "3 blocks of 96 threads. As before, a part is left behind"),
        ({"who": "t < half"}, "not yet", "Too large: is a part added twice"),
        ({"who": "t + half < left - 1"}, "not yet", "Too small: is a part left out?"),
        ({"wait": "pass"}, "not yet", "Race on `part["),
        ({"wait": "cuda.syncwarp()"}, "not yet", "Put cuda.syncthreads()"),
        ({"who": "t < left"}, "not yet", "Reads `part[64]` before anything was written"),
        ({"half": "left // 2", "who": "t + half < left"}, "not yet", "Race on `part["),
        ({"at": "t"}, "not yet", "3 elements differ"),
    ],
)
def test_a_sum_of_any_number_of_warps_is_judged(change: dict[str, str], outcome: str, words: str) -> None:
    reply = lesson04.any_width(kernel_of(WIDE.format(**(HALF | change))))
    assert "odd" not in reply.words or "64 threads" not in reply.words, "their number is never odd there"
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


FILLED_WIDE = """
def kernel(values, sums):
    part = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    part[t] = values[cuda.grid(1)]
    cuda.syncthreads()
"""
PADDED = """
    for step in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        if t < step and t + step < cuda.blockDim.x:
            part[t] += part[t + step]
        cuda.syncthreads()
"""
ODD_ONE_BY_THREAD_0 = """
    left = cuda.blockDim.x
    while left > 1:
        if t < left // 2:
            part[t] += part[t + left // 2]
        if t == 0 and left % 2 == 1:
            part[0] += part[left - 1]
        cuda.syncthreads()
        left //= 2
"""
DOUBLED = """
    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0 and t + step < cuda.blockDim.x:
            part[t] += part[t + step]
        cuda.syncthreads()
        step *= 2
"""
EVERYBODY_LOADS = """
def kernel(values, sums):
    total, first = np.float32(0), cuda.blockIdx.x * cuda.blockDim.x
    for j in range(cuda.blockDim.x):
        total += values[first + j]
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total
"""
OF_256 = """
    for step in (128, 64, 32, 16, 8, 4, 2, 1):
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (FILLED_WIDE + PADDED + STORED, "right", "Lab 4"),
        (FILLED_WIDE + ODD_ONE_BY_THREAD_0 + STORED, "right", "Lab 4"),
        (SHUFFLES.replace("(8,", "(32,").replace("1, 8)", "1, cuda.blockDim.x // 32)"), "right", "Lab 4"),
        (FILLED_WIDE + DOUBLED + STORED, "right", "But each warp diverges 6.0 times"),
        (FILLED_WIDE + OF_256 + STORED, "not yet", "at a barrier. A block of 64 threads has as many numbers."),
        (FILLED_WIDE + ONE_THREAD.replace("256", "cuda.blockDim.x"), "not yet", "2.82 of 32 lanes"),
        (FILLED_WIDE + EVERYBODY.replace("256", "cuda.blockDim.x"), "not yet", "1,025 requests of each warp"),
        (EVERYBODY_LOADS, "not yet", "1,024 requests of each warp"),
        (ATOMIC, "not yet", "without atomics"),
        (FILLED_WIDE + SHARED_ATOMIC + STORED, "not yet", "without atomics"),
        ("def kernel(values, sums):\n    pass\n", "your turn", "Nothing was written to sums"),
    ],
    ids=[
        "padded", "odd one", "shuffles", "doubled", "of 256", "one", "everybody", "everybody loads", "atomic",
        "shared atomic", "empty",
    ],
)  # fmt: skip
def test_other_sums_of_any_number_of_warps_are_judged(source: str, outcome: str, words: str) -> None:
    reply = lesson04.any_width(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_what_is_left_behind_is_what_the_kernel_as_given_leaves_behind() -> None:
    """So that "as before" is said of nothing else."""
    given = next("".join(each["source"]) for each in ADDING if each["id"] == "answer-any-width")
    kernel = kernel_of(given.split("\n\n\n")[0].removeprefix("@cuda.jit\n").replace("sums_of_any_width", "kernel"))
    for threads in lesson04.WIDTHS:
        values, sums = np.random.default_rng(threads).integers(1, 9, (2, threads)), np.zeros(2, np.float32)
        profile(kernel)[2, threads](values.astype(np.float32).ravel(), sums)
        assert np.array_equal(sums, lesson04._halved(values))


LARGEST = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = {first}
    step = 16
    while step > {last}:
        other = cuda.{shuffle}(0xFFFFFFFF, largest, step)
        largest = {join}
        step //= 2
    if {who}:
        best[{at}] = largest
"""
LANE_0 = {
    "first": "values[i]",
    "last": "0",
    "shuffle": "shfl_down_sync",
    "join": "max(largest, other)",
    "who": "cuda.laneid == 0",
    "at": "i // 32",
}


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ({}, "right", "Shuffles of each warp: 5, and no barrier"),
        ({"shuffle": "shfl_xor_sync", "who": "i % 32 == 0"}, "right", "Shuffles of each warp: 5, and no barrier"),
        ({"last": "16"}, "not yet", "lane 0 began with"),
        ({"join": "largest + other"}, "not yet", "the sums"),
        ({"first": "max(values[i], np.float32(0))"}, "not yet", "below zero"),
        ({"join": "min(largest, other)"}, "not yet", "the smallest"),
        ({"join": "largest"}, "not yet", "no value of another lane reaches it"),
        ({"shuffle": "shfl_up_sync"}, "not yet", "shfl_down_sync hands values down"),
        ({"last": "1"}, "not yet", "Only lanes 0, 2, 4, ... went into it"),
        ({"join": "max(largest, other) if step < 16 else largest"}, "not yet", "Only lanes 0 to 15 went into it"),
        ({"who": "cuda.laneid == 31"}, "not yet", "the value of lane 31 alone"),
        ({"who": "cuda.laneid == 1"}, "not yet", "to 31 alone. Which lane has heard of all?"),
        ({"who": "True"}, "not yet", "One lane of each warp is to store"),
        ({"who": "cuda.threadIdx.x == 0"}, "not yet", "best[1] was not written"),
        ({"at": "cuda.blockIdx.x"}, "not yet", "Race on `best["),
        ({"at": "cuda.blockIdx.x"}, "not yet", "or use an atomic. Each warp has its own place in best: warp number i // 32"),
        ({"at": "cuda.threadIdx.x // 32"}, "not yet", "Each warp has its own place in best"),
        ({"at": "i // 31"}, "not yet", "11 x 96 threads"),
        ({"at": "i"}, "not yet", "no guard is missing: which index belongs to which array? Each warp has its own place"),
    ],
)
def test_the_largest_of_a_warp_is_judged(change: dict[str, str], outcome: str, words: str) -> None:
    reply = lesson04.largest_of_warp(kernel_of(LARGEST.format(**(LANE_0 | change))))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


LANE_BY_LANE = """
def kernel(values, best):
    i = cuda.grid(1)
    own = values[i]
    largest = own
    for lane in range(32):
        largest = max(largest, cuda.shfl_sync(0xFFFFFFFF, own, lane))
    if cuda.laneid == 0:
        best[i // 32] = largest
"""
ALL_LOADED = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = values[i // 32 * 32]
    for lane in range(1, 32):
        largest = max(largest, values[i // 32 * 32 + lane])
    if cuda.laneid == 0:
        best[i // 32] = largest
"""
IN_THE_GUARD = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = values[i]
    for step in (16, 8, 4, 2, 1):
        if cuda.laneid < step:
            largest = max(largest, cuda.shfl_down_sync(0xFFFFFFFF, largest, step))
    if cuda.laneid == 0:
        best[i // 32] = largest
"""
BY_AN_ATOMIC = """
def kernel(values, best):
    cuda.atomic.max(best, cuda.grid(1) // 32, values[cuda.grid(1)])
"""
ITS_OWN = """
def kernel(values, best):
    i = cuda.grid(1)
    if cuda.laneid == 0:
        best[i // 32] = values[i]
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (LANE_BY_LANE, "right", "But each warp makes 32 shuffles, and five would do"),
        (ALL_LOADED, "not yet", "32 loads for each warp"),
        (IN_THE_GUARD, "not yet", "names lanes that do not execute it here"),
        (ITS_OWN, "not yet", "Let the lanes compare"),
        (BY_AN_ATOMIC, "not yet", "no atomic"),
        (LARGEST.format(**LANE_0) + "    cuda.syncthreads()\n", "not yet", "neither shared memory nor a barrier"),
        ("def kernel(values, best):\n    pass\n", "your turn", "Nothing was written to best"),
    ],
    ids=["32 shuffles", "32 loads", "in the guard", "its own", "atomic", "barrier", "empty"],
)
def test_other_ways_to_the_largest_of_a_warp_are_judged(source: str, outcome: str, words: str) -> None:
    reply = lesson04.largest_of_warp(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def prose(cells: list[dict[str, Any]] = CELLS) -> str:
    return " ".join("\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "markdown").split())


def printed(name: str) -> str:
    """What the cell called `name` has printed."""
    cell = next(each for each in CELLS if each["id"] == name)
    return "".join("".join(each.get("text", "")) for each in cell["outputs"])


def drawn(name: str) -> str:
    """What the picture of the cell called `name` shows, in words."""
    cell = next(each for each in CELLS if each["id"] == name)
    return "".join("".join(each.get("data", {}).get("text/plain", "")) for each in cell["outputs"])


@pytest.mark.parametrize(
    "sentence",
    [
        f"gives work to {H200['threads']['work'] // 1_000_000} million threads, and takes {WORK['everyone']:.0f} ms",
        f"**{WORK['every_32nd']:.0f} ms**, as before",
        f"it takes **{WORK['the_first']:.1f} ms**",
        f"{WORK['everyone'] / WORK['the_first']:.0f} times as fast with the same work",
        f"H200's profiler read {READ['every_32nd']['threads_per_instruction']:.2f}",
        f"an H200's own counter says {READ['everyone']['warp_instructions']:,}, "
        f"{READ['every_32nd']['warp_instructions']:,} and {READ['the_first']['warp_instructions']:,}",
        f"155 x 41 + 5 x 18 = {READ['picture']['warp_instructions']:,} instructions (measured with `= 1` in place of "
        f"`+= 1`), {READ['picture']['threads_per_instruction']:.1f} of 32 lanes active",
        f"leaves only {READ['every_32nd']['warp_instructions'] / 512:,.0f} instructions in all, not 8,008",
        f"the instructions that the H200 counted take its schedulers 27.0 ms, and the clock says {WORK['everyone']:.1f}",
        "The times were {everyone:.0f}, {every_32nd:.0f} and {the_first:.1f} ms".format(**WORK),
        "Sorted, it takes {:.1f}, {:.1f} and {:.1f} times as long".format(
            *(each["sorted"] / each["as drawn"] for each in ROWS_H200)
        ),
        f"L2 must deliver {OF_ROWS['sorted']['l2_read_sectors'] / 1e6:.0f} million sectors in place of "
        f"{OF_ROWS['as drawn']['l2_read_sectors'] / 1e6:.0f}",
        f"the H200 is {LOOPS['as drawn'] / LOOPS['sorted']:.1f} times as fast",
        f"On the H200 {100 * np.mean(EARLY) / 2**20:.0f} % of the reads come too early",
        f"these 32 lanes make {np.random.default_rng(4).geometric(1 / 200, 1 << 16)[:32].mean():.0f} rounds on average",
    ],
)
def test_4a_says_what_was_measured(sentence: str) -> None:
    assert sentence in prose(WARPS)


@pytest.mark.parametrize(
    "sentence",
    [
        f"`halving` is {SUMS['doubling'] / SUMS['halving']:.1f} times as fast as `doubling`",
        f"{READ['doubling']['warp_instructions']:,} instructions against {READ['halving']['warp_instructions']:,}",
        f"`packed`, with nearly four times the passes, takes only {SUMS['packed'] / SUMS['halving'] - 1:.0%} longer than "
        "`halving`".replace("%", " %"),
        "It also has {:.0%} more instructions to execute ({:,}), and it takes {:.0%} longer".format(
            READ["packed"]["warp_instructions"] / READ["halving"]["warp_instructions"] - 1,
            READ["packed"]["warp_instructions"],
            SUMS["packed"] / SUMS["halving"] - 1,
        ).replace("%", " %"),
        f"The H200's counts are {8 * 48 - READ['doubling']['divergent_branches']} lower, one a block",
        f"The H200's counts are {8 * 6 - READ['halving']['divergent_branches']} lower, one a block",
        f"`doubling` needs {READ['doubling']['shared_load_wavefronts']} as well",
        f"an H200 could deliver these {4 * H200['threads']['reductions'] / 1e6:.0f} MB in {READ_MS:.3f} ms",
        f"Even `halving` takes {SUMS['halving'] / READ_MS:.0f} times as long",
        f"the start of {H200['threads']['reductions'] // 256:,} blocks",
        f"Add up {2**25 // 1_000_000} million ones in float32, one after the other: **half of them are lost**",
        f"{2**24:,} is 2^24, and the next float32 is {int(np.nextafter(np.float32(2**24), np.float32(2**25))):,}",
        f"the tree takes {np.log2(2**25):.0f} steps, not {2**25 // 1_000_000} million",
        f"for {H200['threads']['reductions'] // 1_000_000} million numbers four, with {2**26 // 256:,} sums, "
        f"{2**26 // 256**2:,}, {2**26 // 256**3} and 1",
    ],
)
def test_4b_says_what_was_measured(sentence: str) -> None:
    assert sentence in prose(ADDING)


def test_4b_prints_how_much_of_the_memory_s_speed_a_sum_has() -> None:
    shown = re.findall(r"^(\w[\w ]*?) +[\d.]+ ms +([\d,]+) GB/s: (\d+)% of 4,800", printed("reductions-measured"), re.M)
    shown += re.findall(r"^(s[\w ]*?) +[\d.]+ ms +([\d,]+) GB/s: (\d+)% of", printed("shuffled-block-measured"), re.M)
    assert [name for name, _, _ in shown] == ["doubling", "packed", "halving", "shuffled block"]
    for name, gb_per_s, percent in shown:
        assert float(gb_per_s.replace(",", "")) == pytest.approx(4800 * READ_MS / SUMS[name], abs=0.6)
        assert int(percent) == round(100 * READ_MS / SUMS[name])


def test_what_4b_says_of_trees_is_what_its_cells_print() -> None:
    assert re.search(r"after 33,554,432 ones: +16,777,216\n.*: 33,554,432, in 25 steps", printed("running-total"))
    assert " 96 ones: 64\n" in printed("ninety-six") and "160 ones: 128\n" in printed("ninety-six")
    parts = np.ones(96)
    for step in (48, 24, 12, 6, 3):
        parts = parts[:step] + parts[step : 2 * step]
    assert f"After the step of 3 there are three parts, each {parts[0]:.0f}." in prose(ADDING) and parts.size == 3
    launches = re.findall(r"numbers left: (\d+)", printed("several-blocks-run"))
    assert launches == ["256", "1"]
    exact, running, tree = re.findall(r"(?:in float64|other|tree): +([-+\d.,]+)", printed("several-blocks-run"))
    lost = f"{tree.strip('-')} of {float(exact.replace(',', '')):,.0f}, the running total {running.strip('-')}."
    assert f"loses little: {lost}" in prose(ADDING) and float(running) < 10 * float(tree) < 0


def needs(cell: str) -> dict[str, dict[str, float]]:
    """The table that a cell of 4b prints: milliseconds by kernel and by resource, and what was measured."""
    head, *rows = found(r"(milliseconds .*measured\n(?:\w.*\d\.\d+\n)+)", printed(cell))[1].splitlines()
    heads = re.split(r" {3,}", head)[1:]
    split = [re.split(r" {2,}", row) for row in rows]
    return {name: dict(zip(heads, map(float, numbers), strict=True)) for name, *numbers in split}


def test_instructions_hold_up_the_sums_and_bank_conflicts_none_of_them() -> None:
    sums = needs("halving-needs")
    assert list(sums) == ["doubling", "packed", "halving"]
    for name, row in sums.items():
        assert row["measured"] == round(SUMS[name], 3) and 0.75 < row["together"] / row["measured"] < 1.16
        resources = {each: ms for each, ms in row.items() if each not in ("together", "measured")}
        assert max(resources, key=resources.__getitem__) == "issue", "instructions need the most, in all three"
        assert min(row[each] for each in ("issue", "latency", "block launch")) > 2 * row["DRAM"], "all take longer than DRAM"
    packed, halving = sums["packed"], sums["halving"]
    assert 2.8 < packed["shared memory"] / halving["shared memory"] < 3.2, "three times as long"
    assert packed["shared memory"] < 0.65 * packed["issue"], "its instructions need longer still"
    clocks = f"Together all this makes {halving['together']} ms for `halving`, and the clock says {halving['measured']}"
    assert clocks in prose(ADDING)
    executed = {name: READ[name]["warp_instructions"] for name in sums}
    assert str(executed) in printed("halving-needs")


def test_with_fewer_instructions_the_start_of_blocks_takes_nearly_as_long() -> None:
    halving, shuffled = needs("shuffled-block-measured").values()
    resources = sorted((each for each in shuffled if each not in ("together", "measured")), key=shuffled.__getitem__)
    assert resources[-2:] == ["block launch", "issue"], "issue is still the longest"
    assert shuffled["block launch"] > 0.9 * shuffled["issue"], "nearly as long"
    assert shuffled["issue"] < halving["issue"], "fewer instructions"
    assert READ["shuffled block"]["warp_instructions"] < READ["halving"]["warp_instructions"]


def compiled_before_leaving(launch: str, warps: int, rest: int) -> tuple[float, float]:
    """Instructions of a warp before some of its lanes leave, and after, by the H200's counts of one launch.

    `rest` is how many lanes in all go on. Before, all 32 lanes are active; both parts are the same for all warps.
    """
    each = READ[launch]["warp_instructions"] / warps
    active = READ[launch]["threads_per_instruction"] * each * warps
    before = (active - rest * each) / (32 * warps - rest)
    return before, each - before


def test_lanes_leave_after_as_many_instructions_as_the_lesson_says() -> None:
    before, after = compiled_before_leaving("every_32nd", 512, 512)
    assert before == pytest.approx(21, abs=1) and before + after == pytest.approx(2704, abs=0.5)
    assert "a warp executes 21 compiled instructions before 31 lanes go home" in prose(WARPS)
    assert 155 * 41 + 5 * 18 == READ["picture"]["warp_instructions"] and READ["picture"]["branches"] == 0
    active = (160 * 32 * 18 + 62 * 76 * (41 - 18)) / READ["picture"]["warp_instructions"]
    assert active == pytest.approx(READ["picture"]["threads_per_instruction"], abs=0.01)
    source = found(r"^every_32nd +([\d,]+) +([\d,]+)$", printed("run-surprise"), re.M)[2]
    assert int(source.replace(",", "")) / 512 == 8008


def test_issue_holds_up_the_kernels_of_the_surprise() -> None:
    """One instruction a clock from each scheduler, at the clock of the data sheet; 16 rounds are 21 instructions."""
    gpu, rounds = SPECIFICATIONS["H200"], 20_000
    a_warp = READ["everyone"]["warp_instructions"] / 512 + (rounds - 2000) * 21 / 16
    clocks = WORK["everyone"] * 1e6 * gpu.clock_ghz
    assert 0.9 < a_warp * H200["threads"]["work"] / 32 / clocks / 528 < 1.1 and 528 == 4 * gpu.multiprocessors
    estimated, executed, ms = found(
        r"round: ([\d.]+) estimated, ([\d.]+) executed by .*\n.* from 528 schedulers, each one a clock: ([\d.]+) ms\n",
        printed("measured-surprise"),
    ).groups()
    counted = READ["everyone"]["warp_instructions"] / 512 / 2000
    assert float(executed) == round(counted, 2) and f"{estimated} instructions a round" in prose(WARPS)
    assert float(ms) == pytest.approx(H200["threads"]["work"] / 32 * rounds * counted / 528 / gpu.clock_ghz / 1e6, abs=0.05)
    assert f"take its schedulers {ms} ms" in prose(WARPS) and float(ms) == pytest.approx(WORK["everyone"], rel=0.02)


def test_the_script_times_sums_of_rows_that_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """In all orders and by either kernel: it compares them with NumPy itself, so a wrong one is no time."""
    with simulate():
        from autograder.course.lesson04 import kernels, measurements

        monkeypatch.setattr(measurements, "elapsed_ms", lambda launch: launch() or 1.0)
        times = measurements.times_of_rows(1024, 7)
        assert set(times) == set(ROWS_H200[0]) - {"rows", "mean"} and set(times.values()) == {1.0}
        nothing = kernel_of("def kernel(order, starts, values, sums):\n    pass\n")
        monkeypatch.setattr(kernels, "row_sums_by_warp", nothing)
        with pytest.raises(AssertionError, match="a warp a row"):
            measurements.times_of_rows(1024, 7)


def test_sorting_rows_is_told_as_it_was_measured() -> None:
    for each in ROWS_H200:
        assert each["sorted"] > 1.4 * each["as drawn"]
    long, short, few = ROWS_H200
    assert (long["mean"], short["mean"], few["mean"]) == (200, 64, 200)
    assert short["in any order"] == pytest.approx(short["sorted"], rel=0.05), "any other order costs as much"
    assert long["a warp a row"] < 0.7 * long["as drawn"] and few["a warp a row"] < 0.4 * few["as drawn"]
    assert short["a warp a row"] > short["as drawn"], "rows of 64 are too short for that"
    for name in ("as drawn", "in any order", "sorted"):
        c = OF_ROWS[name]
        sectors = c["global_load_sectors"] / c["global_load_requests"]
        assert sectors == pytest.approx(c["threads_per_instruction"], rel=0.05), "nearly a sector a lane"
    assert OF_ROWS["sorted"]["threads_per_instruction"] / OF_ROWS["as drawn"]["threads_per_instruction"] > 3.9
    from_l2 = {name: 32 * OF_ROWS[name]["l2_read_sectors"] / long[name] / 1e6 for name in OF_ROWS}
    assert from_l2["sorted"] == pytest.approx(from_l2["as drawn"], rel=0.05), "at about the same rate"
    for name in ("as drawn", "in any order", "sorted", "a warp a row"):
        assert re.search(rf"{name} .* {from_l2[name]:,.0f} ", printed("sorted-rows"))
    strides = json.loads((NOTEBOOKS / "data" / "coalescing_h200.json").read_text(encoding="utf-8"))["sweeps"]["milliseconds"]
    assert 1.8 < 32 * 2**26 / strides["load by stride"]["8"] / 1e6 / from_l2["sorted"] < 2, "nearly twice that in 3a"
    assert BY_WIDTH["width 32"] == pytest.approx(WORK["everyone"], rel=0.05)
    assert "measured: 1.0 times the time" in printed("four-ways-by-warp")


def test_words_for_measured_numbers_hold() -> None:
    assert READ["every_32nd"]["warp_instructions"] > READ["everyone"]["warp_instructions"]
    assert abs(WORK["every_32nd"] / WORK["everyone"] - 1) < 0.02, "as before"
    assert 24 < WORK["everyone"] / WORK["the_first"] < 32, "not quite 32 times"
    assert SUMS["halving"] < SUMS["packed"] < SUMS["doubling"]
    assert SUMS["shuffled block"] < SUMS["halving"]
    assert READ["packed"]["shared_load_wavefronts"] > 3.5 * READ["halving"]["shared_load_wavefronts"]
    assert READ["halving"]["divergent_branches"] == 8 * 5, "the last if is a predicate"
    assert set(H200["wrong_sums"]["written out"]) == {0}, "not one wrong sum"
    wrong = {name: set(counts) for name, counts in H200["wrong_reads"].items()}
    assert list(wrong.values()) == [{524_288}, {0}, {0}], "the opposite of the simulated GPU, in every launch"
    assert re.search(r"writers in the if +0 of 1,024.*\n.*writers in the else +1,024 of 1,024", printed("two-orders"))


def races_of_last_warp(last: str) -> int:
    """Hazards of the lesson's old trick with this in place of its last warp's six lines; the sums are right."""
    trick = "".join(next(each for each in CELLS if each["id"] == "old-trick")["source"])
    source, found = re.subn(r"    if t < 32:.*\n(?:        .*\n)+", lambda _: last, trick.removeprefix("@cuda.jit\n"))
    source = source.replace("def without_the_last_barriers(", "def kernel(")
    assert found == 1
    values, sums = np.random.default_rng(4).random(2048, dtype=np.float32), np.zeros(8, np.float32)
    hazards = profile(kernel_of(source))[8, 256](values, sums).hazards
    assert np.allclose(sums, values.reshape(8, 256).sum(axis=1)) and {each.kind for each in hazards} <= {"race"}
    return len(hazards)


def test_the_last_warp_needs_a_guard_as_well_as_its_barriers() -> None:
    """The lesson says which of the remedies for the old trick leaves races, and shows the one that leaves none."""
    steps = (32, 16, 8, 4, 2, 1)
    lines = [f"        part[t] += part[t + {step}]\n" for step in steps]
    waits, guards = "        cuda.syncwarp()\n", [f"        if t < {step}:\n    " for step in steps]
    start = "    if t < 32:\n"
    assert races_of_last_warp(start + "".join(lines)) == 5, "five races, as printed"
    assert races_of_last_warp(start + "".join(line + waits for line in lines)) == 5, "still five races"
    assert races_of_last_warp(start + "".join(map(str.__add__, guards, lines))) == 5, "the guard alone does not do"
    assert "five races in the report" in prose() and "races found:   5" in printed("old-trick-run")
    racing = dict(re.findall(r"^(\w.*?) +([\d,]+) accesses that race$", printed("remedies"), re.M))
    assert [name for name, accesses in racing.items() if accesses == "0"] == ["guard and syncwarp"]
    assert list(racing) == ["syncwarp", "guard", "guard and shuffle", "guard and syncwarp"]
    shown = next(each for each in CELLS if each["id"] == "rely-on" and "if t < 32" in "".join(each["source"]))
    assert races_of_last_warp(found(r"```python\n(.*?)```", "".join(shown["source"]), re.S)[1]) == 0
    assert "cuda.syncwarp()" in "".join(shown["source"]) and "if t < step:" in "".join(shown["source"])


def test_no_two_launches_let_the_warps_come_in_the_same_order() -> None:
    orders = H200["orders"]["one block of 1024"][:5]
    assert len({tuple(each) for each in orders}) == 5
    assert len(set(EARLY)) > 10, "each time they are others"
    assert "simulated: 0 wrong of 2,048" in printed("from-another-warp")
    first = sum(each[0] == 0 for each in orders)
    assert ("warp 0 was never the first" in prose()) == (first == 0)
    assert ("warp 0 was the first in one of them" in prose()) == (first == 1)


def test_words_for_counted_numbers_hold() -> None:
    rounds = np.random.default_rng(4).geometric(1 / 200, 1 << 16)[:32]
    assert 0.75 < 1 - rounds.mean() / rounds.max() < 0.85, "four fifths are grey"
    assert "as drawn" in printed("sorted-counted")
    active = float(found(r"as drawn +[\d,]+ +[\d,]+ +([\d.]+) +([\d.]+)", printed("sorted-counted"))[1])
    assert active < READ["walk, as drawn"]["threads_per_instruction"], "the H200 reads more"
    instructions = re.findall(r"^every\w+ +([\d,]+) +([\d,]+)$", printed("run-surprise"), re.M)
    threads, warps = ([int(each.replace(",", "")) for each in column] for column in zip(*instructions, strict=True))
    assert 0 < warps[1] / warps[0] - 1 < 0.01, "just as many, a little more"
    ratios = {name: READ[name]["warp_instructions"] / READ["everyone"]["warp_instructions"] for name in WORK}
    assert ratios["every_32nd"] == pytest.approx(warps[1] / warps[0], rel=0.01), "the proportions are much the same"
    assert ratios["the_first"] == pytest.approx(1 / 32, rel=0.3)
    assert f"the simulated GPU counts {threads[1] / warps[1]:.2f}" in prose(WARPS)
    divergent = dict(re.findall(r"^(\w+) .* +(\d+) +\d+$", printed("threads-per-instruction"), re.M))
    assert int(divergent["every_32nd"]) > 0 == READ["every_32nd"]["divergent_branches"], "no branch that diverges"
    assert "465" in printed("picture-cost") and 465 == 3 * 155 == 3 * (160 - 5)
    assert "155 of the 160 warps walked the body" in prose(WARPS)
    assert "62 rows, 76 columns; 24 blocks of 32 x 8; 192 warps; 62 diverge" in drawn("picture-in-rows")
    assert "31 diverge; 5 are outside" in drawn("picture-warps")
    assert "47 divergent branches in 8 steps" in drawn("doubling-picture"), "in every step"


def recorded_two_paths() -> Any:
    """A launch of a kernel in which even threads store, with its accesses kept."""
    source = "def kernel(x):\n    i = cuda.grid(1)\n    if i % 2 == 0:\n        x[i] = i\n"
    return profile(kernel_of(source), trace=True)[2, 64](np.zeros(128, np.float32))


def test_who_is_at_work_is_read_from_the_stores_of_the_first_block() -> None:
    mask = lesson04_figures.at_work(recorded_two_paths(), "x[i] = i", warps=3)
    assert mask.tolist() == 32 * [True, False] + 32 * [False], "the third warp is another block's"
    with pytest.raises(ValueError, match="no store was recorded at 'y'"):
        lesson04_figures.at_work(recorded_two_paths(), "y")


def test_the_table_of_lines_shows_lanes_and_the_branch_at_which_they_disagree() -> None:
    heading, _, *lines = lesson04_figures.lanes_by_line(recorded_two_paths()).splitlines()
    assert "active lanes" in heading
    guard, store = (line.split(maxsplit=3) for line in lines[1:])
    assert (guard[1], guard[2], guard[3]) == ("32.0", "4", "if i % 2 == 0:")
    assert store[1] == "16.0"


def kernel_of(source: str) -> Any:
    """A kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["kernel"])


def test_rows_in_any_order_are_predicted_to_wait_alike() -> None:
    """As 4a says of the estimate: latency limits both orders, and it hardly sees a difference; the clock sees 1.8 times."""
    from autograder.course.lesson04 import kernels

    prose = " ".join("".join(cell["source"]) for cell in WARPS)
    lengths = np.random.default_rng(4).geometric(1 / 200, 2048)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    values, ns = np.ones(int(starts[-1]), np.float32), {}
    for name, order in (("as drawn", np.arange(2048)), ("sorted", np.argsort(-lengths, kind="stable"))):
        given = (order.astype(np.int32), starts, values, np.zeros(2048, np.float32))
        estimate = profile(kernels.row_sums)[8, 256](*given).estimate("H200")
        assert estimate.binding == "latency"
        ns[name] = estimate.ns
    assert ns["sorted"] / ns["as drawn"] < 1.1 and "hardly sees a difference between the orders: a miss" in prose
    assert H200["rows"][2]["sorted"] / H200["rows"][2]["as drawn"] > 1.7
