"""Lesson 5: its exercises reply as they should, and the numbers in its prose follow from the measurements and counts."""

from __future__ import annotations

import json
import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import simulate
from autograder.course import lesson05
from autograder.perfmodel import SPECIFICATIONS
from autograder.perfmodel.measurements.predicting import by_case

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
MEASUREMENTS = Path(__file__).resolve().parents[1] / "simgpu" / "measurements"
H200 = json.loads((NOTEBOOKS / "data" / "histogram_h200.json").read_text(encoding="utf-8"))
MS = H200["milliseconds"]
WEIGHT = "privatized, weight as argument"


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson05.two_additions_each, (2, 4)),
        (lesson05.cost_of_a_request, (3, 2, 24)),
        (lesson05.coarse_launch, (16, 67_584)),
        (lesson05.bins_that_fit, (12_288, 6)),
    ],
)
def test_the_right_answer_is_praised_and_an_empty_cell_invites(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"
    assert exercise((...,) * len(answer)).outcome == "your turn"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson05.two_additions_each, (1, 4), "it has itself written"),
        (lesson05.two_additions_each, (1, 2), "four additions"),
        (lesson05.cost_of_a_request, (3, 3, 32), "8 bins of int32"),
        (lesson05.cost_of_a_request, (3, 2, 16), "these add up"),
        (lesson05.coarse_launch, (15.5, 67_584), "half an item"),
        (lesson05.coarse_launch, (2**20 / 67_584, 67_584), "half an item"),
        (lesson05.coarse_launch, (1, 2), "first and second of (1, 2) are not right"),
        (lesson05.coarse_launch, (16, 1_048_576), "counted in shared memory"),
        (lesson05.coarse_launch, (17, 67_584), "The first of"),
        (lesson05.bins_that_fit, (12_288, 5), "where do the others go"),
        (lesson05.bins_that_fit, (12_288, 65_536 / 12_288), "A third of a pass"),
        (lesson05.bins_that_fit, (49_152, 2), "4 bytes"),
        (lesson05.two_additions_each, (3, 3), "in an order of your own"),
        (lesson05.cost_of_a_request, (1, 1, 1), "Draw it"),
        (lesson05.coarse_launch, (1, 2), "How many threads"),
        (lesson05.bins_that_fit, (1, 2), "48 x 1,024"),
        (lesson05.private_digits, "last_digits", "takes a kernel"),
        (lesson05.runs_kept, 7, "takes a kernel"),
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


DIGITS = """
def kernel(numbers, bins):
    own = cuda.shared.array(10, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    {clear}
    {first}
    cuda.atomic.add(own, numbers[i] % 10, 1)
    {second}
    if t < 10:
        cuda.atomic.add(bins, t, own[t])
"""
CLEAR, WAIT = "if t < 10: own[t] = 0", "cuda.syncthreads()"


@pytest.mark.parametrize(
    ("clear", "first", "second", "outcome", "words"),
    [
        (CLEAR, WAIT, WAIT, "right", "Clear, barrier, count, barrier, merge"),
        ("", "", "", "your turn", "before anything was written there"),
        ("", WAIT, WAIT, "not yet", "before anything was written there"),
        (CLEAR, "", "", "not yet", "this thread updates it"),
        (CLEAR, "", WAIT, "not yet", "this thread updates it"),
        (CLEAR, WAIT, "", "not yet", "this thread reads it"),
        (CLEAR, "cuda.syncwarp()", WAIT, "not yet", "Race on `own["),
        ("own[t] = 0", WAIT, WAIT, "not yet", "outside its shape (10,)"),
        ("if t < 9: own[t] = 0", WAIT, WAIT, "not yet", "Reads `own[9]`"),
        ("if t < 10: own[t] = 1", WAIT, WAIT, "not yet", "the kernel counted"),
        (CLEAR, f"{WAIT}; {WAIT}", WAIT, "not yet", "two barriers are enough"),
    ],
)
def test_a_private_copy_is_judged_by_its_report_and_its_counts(clear, first, second, outcome, words) -> None:
    reply = lesson05.private_digits(kernel_of(DIGITS.format(clear=clear, first=first, second=second)))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def test_counting_without_a_private_copy_is_no_answer() -> None:
    source = "def kernel(numbers, bins):\n    cuda.atomic.add(bins, numbers[cuda.grid(1)] % 10, 1)\n"
    reply = lesson05.private_digits(kernel_of(source))
    assert (reply.outcome, "no block counts in a copy of its own" in reply.words) == ("not yet", True), reply.words


RUNS = """
def kernel(items, bins):
    own = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    current, held = 0, 0
    i = cuda.grid(1)
    while i < items.size:
        item = items[i]
        if item != current:
            if held > 0:
                cuda.atomic.add(own, current, held)
            current, held = item, 0
        held += 1
        i += cuda.gridsize(1)
    {last}
    cuda.syncthreads()
    cuda.atomic.add(bins, t, own[t])
"""
ONE_BY_ONE = """
def kernel(items, bins):
    i = cuda.grid(1)
    while i < items.size:
        cuda.atomic.add(bins, items[i], 1)
        i += cuda.gridsize(1)
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (RUNS.format(last=""), "your turn", "still holds its last run"),
        (RUNS.format(last="if held > 0: cuda.atomic.add(own, current, held)"), "right", "open at the end"),
        (RUNS.format(last="cuda.atomic.add(own, current, held)"), "right", "open at the end"),
        (RUNS.format(last="cuda.atomic.add(own, current, 1)"), "not yet", "7,424 of 8,192"),
        (RUNS.format(last="own[current] += held"), "not yet", "Race on `own["),
        (RUNS.format(last="cuda.atomic.add(own, item, held)"), "not yet", "fewer items than threads"),
        (
            RUNS.format(last="").replace("i += c", "cuda.atomic.add(own, current, held); i += c"),
            "not yet",
            "more than once",
        ),
        (ONE_BY_ONE, "not yet", "as often as it has items"),
    ],
    ids=["as given", "guarded", "unguarded", "one for the run", "not atomic", "the last item", "each time", "no runs"],
)
def test_runs_are_judged_by_their_counts_and_by_how_often_they_update(source: str, outcome: str, words: str) -> None:
    reply = lesson05.runs_kept(kernel_of(source))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


def kernel_of(source: str) -> Any:
    """A kernel given as text, which stays readable as it is in a notebook."""
    file = f"answer {hash(source)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with simulate() as cuda:
        scope: dict[str, Any] = {"cuda": cuda, "np": np}
        exec(compile(source, file, "exec"), scope)
        return cuda.jit(scope["kernel"])


GLOBAL, PRIVATE, READING = MS["global atomics"], MS["privatized"], MS["reading alone"]
FEW, WITH_RUNS, WEIGHTED = (MS[name] for name in ("global atomics, few threads", "runs, no copies", WEIGHT))
BLOCKS, LOST = H200["milliseconds_by_blocks"], H200["counted_without_atomics"]
UNIFORM_BINS, ZIPF_BINS = (H200["milliseconds_by_bins"][kind] for kind in ("uniform", "zipf"))
COUNTERS = dict(json.loads((MEASUREMENTS / "h200_counters.json").read_text(encoding="utf-8"))["cases"])
READ = {kind: COUNTERS[f"histogram_global {kind}"]["global_red_sectors"] for kind in ("uniform", "one value")}
FIRST_BINS = ZIPF_BINS["the first 4,096 in copies"]
TEXT = (NOTEBOOKS / "data" / "alice.txt").read_text(encoding="ascii")
GPU = SPECIFICATIONS["H200"]
IN_FLIGHT = GPU.multiprocessors * GPU.max_threads
ANSWER_US = GPU.dram_latency_cycles / GPU.clock_ghz / 1e3


def notebook_cells(kind: str) -> list[dict[str, Any]]:
    notebook = json.loads((NOTEBOOKS / "05_privatized_histogram.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def prose() -> str:
    return " ".join("\n".join("".join(cell["source"]) for cell in notebook_cells("markdown")).split())


def printed(name: str) -> str:
    (cell,) = [each for each in notebook_cells("code") if each["id"] == name]
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


@pytest.mark.parametrize(
    "sentence",
    [
        f"{len(TEXT):,} threads look at 65,536 letters",
        f"needs **{GLOBAL['uniform']:.1f} ms** to count {2**26 // 10**6} million numbers",
        f"{GLOBAL['uniform'] / READING['uniform']:.0f} times as long as a loop needs that only reads them",
        f"it needs **{PRIVATE['uniform']:.2f} ms**: {GLOBAL['uniform'] / PRIVATE['uniform']:.0f} times less",
        f"{TEXT.count(' '):,} spaces, and 2 were counted",
        f"counted {min(LOST['letters']['65536'])} to {max(LOST['letters']['65536'])}",
        f"the text has {len(set(TEXT))} different characters",
        f"{min(LOST['one value']['1048576'])} to {max(LOST['one value']['1048576'])} of a million arrive",
        f"counts nothing takes {READING['uniform']:.2f} ms",
        f"Counting takes {GLOBAL['uniform'] / READING['uniform']:.0f} times as long",
        f"and {GLOBAL['one value'] / READING['one value']:.0f} times when they are all the same",
        f"on all {GPU.multiprocessors} multiprocessors",
        f"takes {GLOBAL['one value'] / GLOBAL['uniform']:.1f} times as long",
        f"{2**26 / GLOBAL['one value'] / 1e6:.2f} additions a nanosecond",
        f"Shorter, {UNIFORM_BINS['no copies']['256'] / UNIFORM_BINS['no copies']['1048576']:.0f} times",
        f"256 counters are 1 KiB, just {4 * 256 // 128} lines",
        f"take {2**26 / UNIFORM_BINS['no copies']['256'] / 1e6:.1f} additions a nanosecond all together, a million counters "
        f"{2**26 / UNIFORM_BINS['no copies']['1048576'] / 1e6:.0f}",
        f"delivers in {4 * 2**26 / GPU.dram_gb_per_s / 1e6:.3f} ms, as in lesson 4. The floor is {BLOCKS['1056']:.2f}",
        f"A full GPU has {IN_FLIGHT:,} threads, so {4 * IN_FLIGHT / 1e6:.1f} MB are under way. In the {ANSWER_US:.2f} "
        f"microseconds that DRAM takes to answer, it could have delivered {ANSWER_US * GPU.dram_gb_per_s / 1e3:.1f} MB",
        f"already faster: {MS['privatized, one item a thread']['uniform']:.2f} ms",
        f"{READ['one value']:,} atomic sectors for 65,536 times one value, as here, and {READ['uniform']:,} for uniform",
        f"8 × 256 = {GPU.max_threads:,} threads",
        f"it takes {BLOCKS['132'] / BLOCKS['1056']:.0f} times as long: a thread waits",
        f"it takes {BLOCKS['262144'] / BLOCKS['1056']:.0f} times as long: those are {2**26 // 10**6} million additions",
        f"the few blocks without copies {FEW['uniform']:.1f} ms",
        f"but in global memory, {MS['copies in global memory']['uniform']:.2f} ms",
        f"cost {100 * (MS['privatized, contiguous']['uniform'] / PRIVATE['uniform'] - 1):.0f} % more time",
        *{f"it takes {ms:.2f} ms whatever it counts" for ms in PRIVATE.values()},
        f"up to {GLOBAL['one value'] / PRIVATE['one value']:.0f} times less than before",
        f"one value takes {WEIGHTED['one value'] / PRIVATE['one value']:.1f} times as long",
        f"the night sky {WEIGHTED['night sky'] / PRIVATE['night sky']:.1f} times",
        f"{FEW['night sky'] / WITH_RUNS['night sky']:.0f} times for the night sky",
        f"{FEW['one value'] / WITH_RUNS['one value']:.0f} times for one value",
        f"at most 48 KiB of shared memory (of the {GPU.shared_bytes // 1024} that a multiprocessor has)",
        f"take {UNIFORM_BINS['no copies']['256'] / UNIFORM_BINS['no copies']['1048576']:.0f} times less than 256",
        f"take {min(FIRST_BINS.values()):.2f} to {max(FIRST_BINS.values()):.2f} ms",
        f"{ZIPF_BINS['no copies']['1048576'] / FIRST_BINS['1048576']:.0f} times less than no copies",
    ],
)
def test_lesson_5_says(sentence: str) -> None:
    assert sentence in prose()


def test_lesson_5_s_words_for_measured_times_hold() -> None:
    assert GLOBAL["letters"] < GLOBAL["uniform"] < GLOBAL["zipf"] < GLOBAL["night sky"] < GLOBAL["one value"]
    assert LOST["letters"]["65536"].count(len(set(TEXT))) > 10, "in most launches every bin said 1"
    assert min(BLOCKS, key=lambda blocks: BLOCKS[blocks]) == "1056" == str(8 * GPU.multiprocessors)
    assert max(BLOCKS["2112"], BLOCKS["8448"]) < 1.15 * BLOCKS["1056"], "a wide valley"
    assert BLOCKS["1056"] < 1.1 * READING["uniform"], "counting is nearly free"
    assert all(0.98 < FEW[name] / GLOBAL[name] < 1.02 for name in GLOBAL), "the few blocks gain nothing"
    assert GLOBAL["uniform"] / MS["copies in global memory"]["uniform"] > 10 > 2, "the copies do most"
    assert MS["copies in global memory"]["uniform"] > 2 * PRIVATE["uniform"], "and nearness the rest"
    assert all(MS["privatized, contiguous"][name] > PRIVATE[name] for name in PRIVATE), "interleaved was faster"
    assert max(PRIVATE.values()) < 1.25 * min(PRIVATE.values()), "robust against skew"
    assert all(MS["runs, interleaved"][name] > 0.97 * PRIVATE[name] for name in PRIVATE), "nothing is gained"
    assert WITH_RUNS["uniform"] > 0.98 * FEW["uniform"], "not at all for uniform items"
    assert H200["instructions"] == {"adds 1": "ATOMS.POPC.INC.32", "adds an argument": "ATOMS.ADD"}
    assert max(FIRST_BINS.values()) < 1.25 * min(FIRST_BINS.values()), "whether 8,192 bins or a million"
    assert ZIPF_BINS["no copies"]["256"] < 1.1 * ZIPF_BINS["no copies"]["1048576"], "more bins change nothing"


def test_more_bins_are_more_sectors_and_less_time() -> None:
    _, *rows = printed("places-in-l2").replace(",", "").splitlines()
    sectors, milliseconds = zip(*((int(row.split()[2]), float(row.split()[3])) for row in rows), strict=True)
    assert sorted(sectors) == list(sectors) and len(set(sectors)) == len(sectors) > 5
    assert sorted(milliseconds, reverse=True) == list(milliseconds)


def test_the_fullest_bin_alone_takes_uniform_items_next_to_no_time() -> None:
    [fullest] = re.findall(r"uniform +the fullest bin takes +(\d+) of 65,536", printed("data-sets"))
    alone = int(fullest) / 65_536 * GLOBAL["one value"]
    assert f"For the uniform items it is {alone:.1f} of {GLOBAL['uniform']:.1f} ms" in prose()


def test_waiting_holds_up_the_fastest_histogram_as_lesson_5_says() -> None:
    case = by_case()["histogram, privatized, uniform", 2**24]
    needs = case.estimate.breakdown
    assert case.estimate.binding == "latency" and abs(case.error) < 0.05
    assert 0.45 < needs["DRAM"] / case.measured_ns < 0.55, "DRAM would be done in half of the time"
    assert max(needs["atomics"], needs["shared atomics"]) < needs["DRAM"]


def test_lesson_5_s_words_for_counts_hold() -> None:
    """Against the committed output of the cells, which nbval compares with a run."""
    table = {line[:10].strip(): line[10:].split() for line in printed("contention-table").splitlines()[1:]}
    sectors = {name: int(row[1].replace(",", "")) for name, row in table.items()}
    assert {row[0] for row in table.values()} == {"2,048"}, "the requests are equal"
    assert round(sectors["one value"] / sectors["uniform"], 1) == 1.4
    assert sectors["letters"] < 0.85 * sectors["uniform"] and 0.95 < sectors["zipf"] / sectors["letters"] < 1.05
    share = {name: int(row[3].replace(",", "")) / len(TEXT) for name, row in table.items()}
    alone = {name: share[name] * GLOBAL["one value"] / GLOBAL[name] for name in share}
    assert alone["night sky"] > 0.95 and 0.6 < alone["zipf"] < 0.95 and alone["uniform"] < 0.05
    found = [line.split() for line in printed("no-fewer").splitlines()]
    assert {line[2] for line in found} == {"2,048"}, "not one less"
    runs = {line[:10].strip(): [int(each.replace(",", "")) for each in line[10:].split()] for line in
            printed("runs-counted").splitlines()[1:]}  # fmt: skip
    every, kept, requests, kept_requests = runs["night sky"]
    assert round(kept / every, 1) == 0.1 and round(kept_requests / requests, 2) == 0.75
    assert runs["uniform"][1] > 0.99 * every, "for uniform items nothing is saved"
