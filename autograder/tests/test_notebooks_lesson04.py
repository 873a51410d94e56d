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
from autograder.course.lesson04 import exercises as lesson04
from autograder.perfmodel import SPECIFICATIONS
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
CELLS = json.loads((NOTEBOOKS / "04_warps_and_divergence.ipynb").read_text(encoding="utf-8"))["cells"]
H200 = json.loads((NOTEBOOKS / "data" / "warps_h200.json").read_text(encoding="utf-8"))
WORK, LOOPS, SUMS = (H200["milliseconds"][each] for each in ("work", "loops", "reductions"))
READ = H200["counters"]
EARLY = H200["wrong_from_another_warp"]
READ_MS = 4 * H200["threads"]["reductions"] / SPECIFICATIONS["H200"].dram_gb_per_s / 1e6


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson04.in_which_warp, (1, 11, 3, 16)),
        (lesson04.how_many_diverge, (4, 0, 1, 0)),
        (lesson04.picture_in_rows, (62, 192)),
        (lesson04.slowest_lane, (32, 16.5)),
    ],
)
def test_the_right_answer_is_praised_and_an_empty_cell_is_an_invitation(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"
    assert exercise((...,) * len(answer)).outcome == "your turn"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson04.in_which_warp, (0, 14, 3, 16), "y first"),
        (lesson04.in_which_warp, (1, 43, 3, 16), "Lanes count from 0"),
        (lesson04.in_which_warp, (1, 11, 4, 20), "cut after every 32"),
        (lesson04.in_which_warp, (1, 12, 3, 16), "The second of"),
        (lesson04.how_many_diverge, (4, 4, 4, 4), "own 32 lanes"),
        (lesson04.how_many_diverge, (4, 2, 2, 1), "Who disagrees"),
        (lesson04.how_many_diverge, (4, 1, 1, 0), "between two warps"),
        (lesson04.picture_in_rows, (31, 160), "16 x 16"),
        (lesson04.picture_in_rows, (64, 192), "do not exist"),
        (lesson04.slowest_lane, (528, 16.5), "together"),
        (lesson04.slowest_lane, (32, 32), "Only in the first"),
        (lesson04.slowest_lane, 32, "takes 2 numbers"),
        (lesson04.in_which_warp, (5, 5, 5, 5), "x + 20 * y"),
        (lesson04.how_many_diverge, (3, 3, 3, 3), "some say yes and some no"),
        (lesson04.picture_in_rows, (7, 7), "cover 76 columns"),
        (lesson04.slowest_lane, (7, 7), "its longest lane"),
        (lesson04.first_threads_add, "block_sums", "takes a kernel"),
        (lesson04.largest_of_warp, 7, "takes a kernel"),
    ],
)
def test_a_wrong_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


def test_the_answers_are_those_of_the_machine() -> None:
    """The four numbers to be found on paper, found by kernels."""
    threads = np.arange(128).reshape(4, 32)
    asked = [threads % 2 == 0, threads < 64, threads < 50, threads // 32 == 1]
    diverge = tuple(int((each.any(axis=1) & ~each.all(axis=1)).sum()) for each in asked)
    assert lesson04.how_many_diverge(diverge).outcome == "right"
    row, column = np.divmod(np.arange(64 * 96), 96)
    inside = ((row < 62) & (column < 76)).reshape(-1, 32)
    warps = (int((inside.any(axis=1) & ~inside.all(axis=1)).sum()), len(inside))
    assert lesson04.picture_in_rows(warps).outcome == "right"
    assert lesson04.slowest_lane((32, np.arange(1, 33).mean())).outcome == "right"


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
        (DOUBLE, AT, True, "not yet", "560 bank conflicts"),
        (HALVE, "if t < step: part[t] += part[t + step]", False, "not yet", "Race on `part["),
        (HALVE, "if t <= step: part[t] += part[t + step]", True, "not yet", "part["),
        (HALVE, "if t < step: part[t] += part[2 * t + 1]", True, "not yet", "part["),
        (HALVE, "if t < step - 1: part[t] += part[t + step]", True, "not yet", "of 8 elements differ"),
    ],
    ids=["halving", "as given", "packed", "no barrier", "one too many", "in place", "one too few"],
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


LARGEST = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = {first}
    step = 16
    while step > {last}:
        other = cuda.shfl_down_sync(0xFFFFFFFF, largest, step)
        largest = {join}
        step //= 2
    if cuda.laneid == 0:
        best[i // 32] = largest
"""


@pytest.mark.parametrize(
    ("first", "last", "join", "outcome", "words"),
    [
        ("values[i]", 0, "max(largest, other)", "right", "no barrier"),
        ("values[i]", 16, "max(largest, other)", "your turn", "lane 0 began with"),
        ("values[i]", 0, "largest + other", "not yet", "the sums"),
        ("max(values[i], np.float32(0))", 0, "max(largest, other)", "not yet", "below zero"),
        ("values[i]", 0, "min(largest, other)", "not yet", "the smallest"),
        ("values[i]", 0, "largest", "not yet", "no value of another lane reaches it"),
        ("values[i]", 1, "max(largest, other)", "not yet", "best["),
    ],
    ids=["largest", "untouched", "sum", "from zero", "smallest", "thrown away", "four shuffles"],
)
def test_the_largest_of_a_warp_is_judged(first: str, last: int, join: str, outcome: str, words: str) -> None:
    reply = lesson04.largest_of_warp(kernel_of(LARGEST.format(first=first, last=last, join=join)))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_the_largest_of_a_warp_needs_no_shared_memory() -> None:
    source = LARGEST.format(first="values[i]", last=0, join="max(largest, other)") + "    cuda.syncthreads()\n"
    assert "neither shared memory nor a barrier" in lesson04.largest_of_warp(kernel_of(source)).words


def test_the_largest_of_a_warp_is_to_go_from_lane_to_lane() -> None:
    """Each lane loads all 32 values: the same results, 32 times the loads, and no shuffle."""
    source = """
def kernel(values, best):
    i = cuda.grid(1)
    largest = values[i // 32 * 32]
    for lane in range(1, 32):
        largest = max(largest, values[i // 32 * 32 + lane])
    if cuda.laneid == 0:
        best[i // 32] = largest
"""
    reply = lesson04.largest_of_warp(kernel_of(source))
    assert (reply.outcome, "32 loads for each warp" in reply.words) == ("not yet", True), reply.words
    upwards = LARGEST.replace("shfl_down_sync", "shfl_up_sync")
    reply = lesson04.largest_of_warp(kernel_of(upwards.format(first="values[i]", last=0, join="max(largest, other)")))
    assert "shfl_down_sync" in reply.words


def prose() -> str:
    return " ".join("\n".join("".join(each["source"]) for each in CELLS if each["cell_type"] == "markdown").split())


def printed(name: str) -> str:
    """What the cell called `name` has printed."""
    cell = next(each for each in CELLS if each["id"] == name)
    return "".join("".join(each.get("text", "")) for each in cell["outputs"])


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
        f"and found {READ['picture']['warp_instructions']:,} instructions, "
        f"{READ['picture']['warp_instructions'] / 160:.0f} a warp, and not one branch. "
        f"And it found {READ['picture']['threads_per_instruction']:.1f} of 32 lanes at work",
        f"the start of {H200['threads']['reductions'] // 4 // 256:,} blocks",
        f"the H200 is {LOOPS['as drawn'] / LOOPS['sorted']:.1f} times as fast",
        f"`halving` is {SUMS['doubling'] / SUMS['halving']:.1f} times as fast as `doubling`",
        f"{READ['doubling']['warp_instructions']:,} instructions for `doubling` and "
        f"{READ['halving']['warp_instructions']:,} for `halving`",
        f"numbers are {4 * H200['threads']['reductions'] / 1e6:.0f} MB, and the memory of an H200, with 4,800 GB/s, "
        f"delivers them in {READ_MS:.3f} ms",
        f"Even `halving` takes {SUMS['halving'] / READ_MS:.0f} times as long",
        f"take {SUMS['shuffled block']:.3f} ms, where `halving` takes {SUMS['halving']:.3f} ms",
        f"On the H200 {100 * np.mean(EARLY) / 2**20:.0f} % of the reads come too early",
        f"the mean of these 32 lanes is {np.random.default_rng(4).geometric(1 / 200, 1 << 16)[:32].mean():.0f} rounds",
    ],
)
def test_the_lesson_says_what_was_measured(sentence: str) -> None:
    assert sentence in prose()


def test_three_things_hold_up_halving_and_shared_memory_is_the_least() -> None:
    *rows, last = printed("halving-needs").splitlines()
    needs = {row[:13].strip(): float(row[13:].removesuffix("us")) for row in rows}
    assert min(needs[name] for name in ("issue", "latency", "block launch")) > 2 * needs["DRAM"]
    assert min(needs, key=needs.__getitem__) == "shared memory"
    predicted, measured = (float(each) for each in re.findall(r"(\d+) us", last))
    assert 0.7 < predicted / measured < 1, "they take even a little longer than the model thinks"


def test_words_for_measured_numbers_hold() -> None:
    assert READ["picture"]["branches"] == 0
    assert READ["every_32nd"]["warp_instructions"] > READ["everyone"]["warp_instructions"]
    assert abs(WORK["every_32nd"] / WORK["everyone"] - 1) < 0.02, "as before"
    assert 24 < WORK["everyone"] / WORK["the_first"] < 32, "not quite 32 times"
    assert SUMS["halving"] < SUMS["packed"] < SUMS["doubling"], "packed lost a part of what it had won"
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
    assert "still names five races" in prose() and "races found:   5" in printed("old-trick-run")
    shown = next(each for each in CELLS if each["id"] == "two-orders-explained")
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
    assert f"the simulated GPU counts {threads[1] / warps[1]:.2f}" in prose()
    assert "465" in printed("picture-cost") and 465 == 3 * 155 == 3 * (160 - 5)


def kernel_of(source: str) -> Any:
    """A kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["kernel"])
