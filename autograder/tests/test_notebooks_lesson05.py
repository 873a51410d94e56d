"""Lesson 5: its exercises reply as they should, and the numbers in its prose follow from the measurements and counts."""

from __future__ import annotations

import json
import linecache
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import perfmodel, profile, simulate
from autograder.course import lesson05
from autograder.course.lesson05 import exercises, kernels, measurements
from autograder.course.lesson05.items import night_sky
from autograder.kernels import histogram_global
from autograder.perfmodel import SPECIFICATIONS
from autograder.perfmodel.measurements.predicting import by_case
from autograder.perfmodel.prediction import MOST_LOADS_IN_FLIGHT, _loads_in_flight
from autograder.records.counters import Counters
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
MEASUREMENTS = Path(__file__).resolve().parents[1] / "simgpu" / "measurements"
H200 = json.loads((NOTEBOOKS / "data" / "histogram_h200.json").read_text(encoding="utf-8"))
MS = H200["milliseconds"]
TEXT = (NOTEBOOKS / "data" / "alice.txt").read_text(encoding="ascii")
WEIGHT = "privatized, weight as argument"


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (lesson05.two_additions_each, (2, 4)),
        (lesson05.cost_of_a_request, (3, 2, 24)),
        (lesson05.robot_in_the_log, 2**26 / 4 / 1.36 / 1e6),
        (lesson05.robot_in_the_log, 12.3),
        (lesson05.robot_in_the_log, 12),
        (lesson05.bins_that_fit, (12_288, 6)),
    ],
)
def test_the_right_answer_is_praised_and_an_empty_cell_invites(exercise, answer) -> None:
    assert exercise(answer).outcome == "right"
    assert exercise((...,) * len(answer) if isinstance(answer, tuple) else ...).outcome == "your turn"


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (lesson05.two_additions_each, (1, 4), "it has itself written"),
        (lesson05.two_additions_each, (1, 2), "four additions"),
        (lesson05.cost_of_a_request, (3, 3, 32), "8 bins of int32"),
        (lesson05.cost_of_a_request, (3, 2, 16), "these add up"),
        (lesson05.robot_in_the_log, 0.67, "without the robot"),
        (lesson05.robot_in_the_log, 49.2, "A quarter of them"),
        (lesson05.robot_in_the_log, 49.3, "A quarter of them"),
        (lesson05.robot_in_the_log, 12.34 + 0.75 * 0.67, "do not add them"),
        (lesson05.robot_in_the_log, 0.67 / 4, "if its visits were spread"),
        (lesson05.robot_in_the_log, 12_340_000, "nanoseconds"),
        (lesson05.robot_in_the_log, 12_336, "microseconds"),
        (lesson05.robot_in_the_log, 11.9, "too small"),
        (lesson05.robot_in_the_log, 17.3, "too large. A quarter of 2^26"),
        (lesson05.robot_in_the_log, "12", "takes one number"),
        (lesson05.bins_that_fit, (12_288, 5), "where do the others go"),
        (lesson05.bins_that_fit, (12_288, 65_536 / 12_288), "The last third of a range"),
        (lesson05.bins_that_fit, (12_288, 5.3), "The last third of a range"),
        (lesson05.bins_that_fit, (12_288, 16), "as large as fits"),
        (lesson05.bins_that_fit, (49_152, 2), "4 bytes"),
        (lesson05.two_additions_each, (3, 3), "in an order of your own"),
        (lesson05.cost_of_a_request, (1, 1, 1), "Draw it"),
        (lesson05.bins_that_fit, (1, 2), "48 x 1,024"),
        *[
            (exercise, "kernel", "takes a kernel")
            for exercise in (
                lesson05.follows,
                lesson05.places_found,
                lesson05.owners_count,
                lesson05.private_digits,
                lesson05.matches,
                lesson05.runs_kept,
            )
        ],
    ],
)
def test_another_answer_gets_words_that_help(exercise, answer, words: str) -> None:
    reply = exercise(answer)
    assert (reply.outcome, words in reply.words) == ("not yet", True), reply.words


def kernel_doing(parameters: str, body: str) -> Any:
    """A kernel of these parameters and lines."""
    return kernel_of(f"def kernel({parameters}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n")


GRID = "i = cuda.grid(1)\n"
PAIR = "if i + 1 < items.size: cuda.atomic.add(pairs, (items[i], items[i + 1]), 1)"


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to pairs"),
        (PAIR, "right", f"In the book {TEXT.count('qu')} of {TEXT.count('q')} q's are followed by a u."),
        ("if 0 < i < items.size: cuda.atomic.add(pairs, (items[i - 1], items[i]), 1)", "right", "128 atomic requests"),
        ("if i < items.size - 1: cuda.atomic.add(pairs[items[i]], items[i + 1], 1)", "right", "128 atomic requests"),
        (PAIR.replace("i + 1 < items", "i < items"), "not yet", "Reads `items[1000]`"),
        ("if i + 1 < items.size: pairs[items[i], items[i + 1]] += 1", "not yet", "one change is lost: use an atomic"),
        (PAIR.replace("items[i], items[i + 1]", "items[i + 1], items[i]"), "not yet", "Row and column are swapped"),
        ("if i < items.size: cuda.atomic.add(pairs, (items[i - 1], items[i]), 1)", "not yet", "Reads `items[-1]`"),
        (PAIR.replace("items[i + 1]", "items[i]"), "not yet", "not all in their own place"),
        (PAIR.replace("if i", "if i % 2 == 0 and i"), "not yet", "There are 999 pairs, and 500 were counted"),
        (PAIR.replace("pairs, (items[i], items[i + 1])", "pairs[items[i], items[i + 1]]"), "not yet", "a pair in parenth"),
        (PAIR.replace("(items[i], items[i + 1])", "[items[i], items[i + 1]]"), "not yet", "add(pairs, (a, b), 1)"),
        (PAIR.replace("items[i], items[i + 1]", "i, i + 1"), "not yet", "so no guard is missing: which index belongs to"),
        ("if i < items.size: cuda.atomic.add(pairs, (items[i], items[i + 1]), 1)", "not yet", "This thread has no element"),
        ("i = cuda.threadIdx.x\n" + PAIR, "not yet", "Every block counted the same items, the first ones"),
        ("if i + 1 < items.size and items[i] > 99: cuda.atomic.add(pairs, (items[i], items[i + 1]), 1)", "your turn",
         "It loads, but no thread of this launch gets as far as a store or an atomic."),
        ("if i + 1 < items.size: cuda.atomic.add(pairs, (items[i], items[i + 1]), 0)", "not yet",
         "The kernel writes, but pairs is as it was before."),
        (
            "if i == 0:\n"
            "    for k in range(items.size - 1): cuda.atomic.add(pairs, (items[k], items[k + 1]), 1)",
            "not yet",
            "4,095 atomic requests, where 128 would do",
        ),
    ],
)
def test_pairs_are_judged_by_their_counts_and_by_who_adds_them(body: str, outcome: str, words: str) -> None:
    reply = lesson05.follows(kernel_doing("items, pairs", GRID + body))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


MINE = GRID + "if i < items.size and items[i] == wanted:\n"
DRAW = MINE + "    ticket = cuda.atomic.add(found, 0, 1)\n"
IN_ORDER = """
i = cuda.grid(1)
before = 0
if i < items.size:
    for k in range(i):
        if items[k] == wanted:
            before += 1
    if items[i] == wanted:
        places[before] = i
        before += 1
    if i == items.size - 1:
        found[0] = before
"""
ALONE = """
if cuda.grid(1) == 0:
    many = 0
    for k in range(items.size):
        if items[k] == wanted:
            places[many] = k
            many += 1
    found[0] = many
"""


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to places"),
        (DRAW + "    places[ticket] = i", "right", f"The book has {TEXT.count('q')} q's, the first at {TEXT.index('q'):,}."),
        (MINE + "    places[cuda.atomic.add(found, 0, 1)] = i", "right", "each at an index of its own"),
        (IN_ORDER, "right", "no atomic at all, for the price of"),
        (MINE + "    places[found[0]] = i\n    found[0] += 1", "not yet", "Race on `places[0]`"),
        (MINE + "    places[found[0]] = i\n    found[0] += 1", "not yet", "an index that nobody else gets."),
        (
            MINE + "    cuda.atomic.add(found, 0, 1)\n    places[found[0] - 1] = i",
            "not yet",
            "Here: `ticket = cuda.atomic.add(found, 0, 1)` is an index that nobody else gets.",
        ),
        (
            MINE + "    ticket = found[0]\n    cuda.atomic.add(found, 0, 1)\n    places[ticket] = i",
            "not yet",
            "Race on `found[0]`: this thread updates it while",
        ),
        (DRAW, "not yet", "Nothing was written to places yet"),
        (DRAW + "    places[i] = i", "not yet", "with gaps between. The atomic gives back a free index"),
        (DRAW + "    places[ticket] = items[i]", "not yet", "What was written is the item, 3"),
        (DRAW + "    places[ticket + 1] = i", "not yet", "places[0] was never written"),
        (DRAW.replace("0, 1)", "0, 2)") + "    places[ticket] = i", "not yet", "there are gaps between them"),
        (DRAW.replace("==", "!=") + "    places[ticket] = i", "not yet", "845 places were written, and only 155"),
        (DRAW + "    places[ticket] = cuda.threadIdx.x", "not yet", "is not among the places"),
        (DRAW + "    places[ticket] = i\n    cuda.atomic.add(found, 0, 1)", "not yet", "found[0] is 310"),
        (DRAW.replace("i < items.size and ", "") + "    places[ticket] = i", "not yet", "Reads `items[1000]`"),
        (DRAW.replace("0, 1)", "0, 1) - 1") + "    places[ticket] = i", "not yet", "the first ticket is 0."),
        (DRAW.replace("found, 0", "found, wanted") + "    places[ticket] = i", "not yet", "so no guard is missing"),
        (DRAW.replace(" and items[i] == wanted", "") + "    if items[i] == wanted: places[ticket] = i", "not yet",
         "found[0] is 1000, and 155 items are wanted: all drew a ticket."),
        ((DRAW + "    places[ticket] = i").replace("cuda.grid(1)", "cuda.threadIdx.x"), "not yet",
         "138 is not among the places: none from 128 on is."),
        (ALONE, "not yet", "few threads wrote them all"),
    ],
)
def test_places_are_judged_by_their_indices_in_any_order(body: str, outcome: str, words: str) -> None:
    reply = lesson05.places_found(kernel_doing("items, wanted, places, found", body))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


OWNER = """
own = cuda.grid(1)
if own < bins.size:
    total = 0
    for item in items:
        if item == own:
            total += 1
    bins[own] = total
"""


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to bins"),
        (OWNER, "right", "The price: 4,000 load requests for 500 items."),
        (OWNER.replace("total += 1", "bins[own] += 1").replace("bins[own] = total", ""), "right", "It stored 500 times"),
        (OWNER.replace("if own < bins.size", "if True"), "not yet", "Writes `bins[26]`"),
        (OWNER.replace("cuda.grid(1)", "cuda.threadIdx.x"), "not yet", "give each bin one thread of the launch"),
        (OWNER.replace("in items:", "in items[1:]:"), "not yet", "499 of 500 items were counted"),
        (OWNER.replace("item == own", "item >= own"), "not yet", "bins[0] is 500, and 0 comes 48 times."),
        (OWNER.replace("total += 1", "cuda.atomic.add(bins, own, 1)").replace("bins[own] = total", ""), "not yet",
         "It uses atomics. Where one thread owns a bin"),
        (GRID + "if i < items.size: cuda.atomic.add(bins, items[i], 1)", "not yet", "It uses atomics"),
        (GRID + "if i < items.size: bins[items[i]] += 1", "not yet", "Here it can do without"),
        (GRID + "if i == 0:\n    for item in items: bins[item] += 1", "not yet", "few threads made them all"),
    ],
)  # fmt: skip
def test_owners_of_bins_are_judged_by_their_counts_and_need_no_atomic(body: str, outcome: str, words: str) -> None:
    reply = lesson05.owners_count(kernel_doing("items, bins", body))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


SHARE = """
own = 0
i = cuda.grid(1)
while i < items.size:
    if items[i] == value:
        own += 1
    i += cuda.gridsize(1)
cuda.atomic.add(total, 0, own)
"""
NEIGHBOURS = """
own = 0
share = (items.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
for i in range(cuda.grid(1) * share, min(items.size, (cuda.grid(1) + 1) * share)):
    if items[i] == value:
        own += 1
cuda.atomic.add(total, 0, own)
"""
TOGETHER = """
part = cuda.shared.array(1, np.int32)
if cuda.threadIdx.x == 0:
    part[0] = 0
cuda.syncthreads()
for i in range(cuda.grid(1), items.size, cuda.gridsize(1)):
    if items[i] == value:
        cuda.atomic.add(part, 0, 1)
cuda.syncthreads()
if cuda.threadIdx.x == 0:
    cuda.atomic.add(total, 0, part[0])
"""


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("pass", "your turn", "Nothing was written to total"),
        (SHARE, "right", "4,096 items, and 16 atomic requests: the smallest private copy is a register."),
        (SHARE.replace("cuda.atomic", "if own > 0: cuda.atomic"), "right", "16 atomic requests"),
        (NEIGHBOURS, "right", "But 32 sectors a load, where 4 would do"),
        (TOGETHER, "right", "4 atomic requests"),
        (SHARE.replace("total, 0, own", "total, 0, 1"), "not yet", "512, of 2,097: that is the number of threads"),
        (SHARE.replace("own += 1", "own += items[i]"), "not yet", "2,097 items are equal to 3: that is their sum"),
        (SHARE.replace("    i += cuda", "    cuda.atomic.add(total, 0, own)\n    i += cuda").rpartition("cuda.atomic")[0],
         "not yet", "total is 21,647, and 2,097 items are equal to value. What a thread has counted is added again"),
        (SHARE.replace("cuda.atomic.add(total, 0, own)", "cuda.atomic.add(total, 0, own + 1)"), "not yet", "Is each item"),
        (SHARE.replace("own += 1", "cuda.atomic.add(total, 0, 1)"), "not yet", "add it once, after the loop"),
        (SHARE.replace("cuda.atomic.add(total, 0, own)", "total[0] += own"), "not yet", "Race on `total[0]`"),
        (SHARE.replace("if items[i] == value", "if True"), "not yet", "total is 10,007: that is all items"),
        (SHARE.replace("while", "if"), "not yet", "of 2,097: those among the first 512"),
        (SHARE.replace("cuda.gridsize(1)", "cuda.blockDim.x"), "not yet", "Is each item looked at by one thread, once?"),
        (SHARE.replace("cuda.grid(1)", "0").replace("cuda.gridsize(1)", "1").replace("cuda.atomic", "if cuda.grid(1) "
         "== 0: cuda.atomic"), "not yet", "Share the items out among all threads"),
    ],
)  # fmt: skip
def test_a_copy_in_a_register_is_judged_by_its_total_and_its_requests(body: str, outcome: str, words: str) -> None:
    reply = lesson05.matches(kernel_doing("items, value, total", body))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


@pytest.mark.parametrize("exercise", [lesson05.follows, lesson05.owners_count, lesson05.runs_kept])
def test_a_kernel_of_other_parameters_is_told_which_it_takes(exercise) -> None:
    reply = exercise(kernel_doing("items", "pass"))
    assert (reply.outcome, "yours takes 1 parameter." in reply.words) == ("not yet", True), reply.words


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
        (f"{CLEAR}; bins[t] = 0", WAIT, WAIT, "not yet", "`bins` begins at 0: clear only the private copy."),
    ],
)
def test_a_private_copy_is_judged_by_its_report_and_its_counts(clear, first, second, outcome, words) -> None:
    reply = lesson05.private_digits(kernel_of(DIGITS.format(clear=clear, first=first, second=second)))
    assert (reply.outcome, words in reply.words) == (outcome, True), reply.words


@pytest.mark.parametrize(
    ("merge", "words"),
    [
        ("if t < 10: bins[t] += own[t]", "use an atomic (cuda.atomic.add)."),
        ("if t < 10: bins[t] = own[t]", "or use an atomic."),
        ("cuda.atomic.add(bins, t % 10, own[t % 10])", "counted 126. 4 blocks sent 28 additions to this bin"),
        ("if t < 10: cuda.atomic.add(bins, t, own[t] + 1)", "Digit 0 comes 18 times, and the kernel counted 22."),
    ],
)
def test_a_wrong_merge_is_told_what_is_wrong_with_it(merge: str, words: str) -> None:
    given = "if t < 10:\n        cuda.atomic.add(bins, t, own[t])"
    source = DIGITS.format(clear=CLEAR, first=WAIT, second=WAIT)
    reply = lesson05.private_digits(kernel_of(source.replace(given, merge)))
    assert given in source and reply.outcome == "not yet"
    assert reply.words.endswith(words) or words in reply.words and "28" in words, reply.words


def test_counting_without_a_private_copy_is_no_answer() -> None:
    source = "def kernel(numbers, bins):\n    cuda.atomic.add(bins, numbers[cuda.grid(1)] % 10, 1)\n"
    reply = lesson05.private_digits(kernel_of(source))
    assert (reply.outcome, "no block counts in a copy of its own" in reply.words) == ("not yet", True), reply.words


RUNS = """
current, held = 0, 0
i = cuda.grid(1)
while i < items.size:
    item = items[i]
    if item != current:
        if held > 0:
            cuda.atomic.add(bins, current, held)
        current, held = item, 0
    held += 1
    i += cuda.gridsize(1)
"""
LAST = "cuda.atomic.add(bins, current, held)"
GUARDED = f"if held > 0: {LAST}"


def with_copies(body: str) -> str:
    """The same with a private copy: cleared before, merged afterwards."""
    clear = "own = cuda.shared.array(256, np.int32)\nt = cuda.threadIdx.x\nown[t] = 0\ncuda.syncthreads()\n"
    return clear + body.replace("(bins,", "(own,") + "\ncuda.syncthreads()\ncuda.atomic.add(bins, t, own[t])"


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        (RUNS, "your turn", "still holds its last run"),
        (RUNS + GUARDED, "right", "Threads without an item add nothing."),
        (RUNS + LAST, "right", "(Threads without an item add 0 to some bin"),
        (with_copies(RUNS + GUARDED), "right", "Threads without an item add nothing."),
        (with_copies(RUNS + LAST), "right", "(Threads without an item add 0 to some bin"),
        (RUNS + LAST.replace("held", "1"), "not yet", "7,424 of 8,192"),
        (RUNS + "bins[current] += held", "not yet", "Race on `bins["),
        (RUNS + LAST.replace("current", "item"), "not yet", "fewer items than threads"),
        (RUNS.replace("    i += c", f"    {LAST}\n    i += c"), "not yet", "more than once"),
        (RUNS.replace("bins, current", "bins, item") + GUARDED, "not yet", "not all in their own bin"),
        (
            GRID + "while i < items.size:\n    cuda.atomic.add(bins, items[i], 1)\n    i += cuda.gridsize(1)",
            "not yet",
            "as often as it has items",
        ),
    ],
)
def test_runs_are_judged_by_their_counts_and_by_how_often_they_update(body: str, outcome: str, words: str) -> None:
    reply = lesson05.runs_kept(kernel_doing("items, bins", body))
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
GPU = SPECIFICATIONS["H200"]
IN_FLIGHT = GPU.multiprocessors * GPU.max_threads
ANSWER_US = GPU.dram_latency_cycles / GPU.clock_ghz / 1e3


ATOMICS, COPIES = "05a_atomics", "05b_privatized_histogram"
ROUNDS = 2**26 / IN_FLIGHT
AT_ONE_PLACE = 2**26 / GLOBAL["one value"] / 1e6  # passes a nanosecond
TURNS = 2**26 / WEIGHTED["one value"] / 1e6 / GPU.multiprocessors  # a nanosecond, in each shared memory


def notebook_cells(part: str, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads((NOTEBOOKS / f"{part}.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def prose(part: str) -> str:
    return " ".join("\n".join("".join(cell["source"]) for cell in notebook_cells(part, "markdown")).split())


def printed(part: str, name: str) -> str:
    (cell,) = [each for each in notebook_cells(part, "code") if each["id"] == name]
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


@pytest.mark.parametrize(
    "sentence",
    [
        f"{len(TEXT):,} threads look at 65,536 letters",
        f"needs **{GLOBAL['uniform']:.1f} ms** to count {2**26 // 10**6} million numbers",
        f"{GLOBAL['uniform'] / READING['uniform']:.0f} times as long as a loop needs that only reads them",
        f"{TEXT.count(' '):,} spaces, and 2 were counted",
        f"counted {min(LOST['letters']['65536'])} to {max(LOST['letters']['65536'])}",
        f"the text has {len(set(TEXT))} different characters",
        f"{min(LOST['one value']['1048576'])} to {max(LOST['one value']['1048576'])} of a million arrive",
        f"counts nothing takes {READING['uniform']:.2f} ms",
        f"Counting takes {GLOBAL['uniform'] / READING['uniform']:.0f} times as long",
        f"and {GLOBAL['one value'] / READING['one value']:.0f} times when they are all the same",
        f"on all {GPU.multiprocessors} multiprocessors",
        f"{GLOBAL['one value'] / GLOBAL['uniform']:.1f} times as long. So the queues inside warps do not explain the times",
        f"{AT_ONE_PLACE:.2f} passes a nanosecond",
        f"only half, {TEXT.count(' ') / len(TEXT) * GLOBAL['one value']:.1f} of {GLOBAL['letters']:.1f} ms. But their",
        "bin k is (k + 1)^1.5 times less full than bin 0: bin 1 a third, bin 2 a fifth, bin 3 an eighth",
        f"with 1,056 blocks instead of {2**26 // 256:,} it takes {FEW['uniform']:.2f} ms",
        f"Shorter, {UNIFORM_BINS['no copies']['256'] / UNIFORM_BINS['no copies']['1048576']:.0f} times",
        f"256 counters are 1 KiB, just {4 * 256 // 128} lines",
        f"as in the last row: {UNIFORM_BINS['no copies']['1048576']:.2f} ms",
    ],
)
def test_lesson_5a_says(sentence: str) -> None:
    assert sentence in prose(ATOMICS)


@pytest.mark.parametrize(
    "sentence",
    [
        f"{2**26 // 10**6} million numbers, 256 counters, an atomic for each number: an H200 needs "
        f"**{GLOBAL['uniform']:.1f} ms**, and {GLOBAL['one value']:.1f} if all numbers are the same",
        *{f"At the end of this lesson it needs **{ms:.2f} ms**." for ms in PRIVATE.values()},
        f"already faster, {MS['privatized, one item a thread']['uniform']:.2f} ms",
        f"the same 8 lines take {2**26 / MS['privatized, one item a thread']['uniform'] / 1e6:.0f} additions a nanosecond, "
        f"where scattered ones got {2**26 / GLOBAL['uniform'] / 1e6:.1f}",
        f"with {GPU.multiprocessors} multiprocessors, each of which holds up to {GPU.max_threads:,} threads "
        f"({GPU.max_threads // 256} blocks)",
        f"eight for each multiprocessor: {BLOCKS['1056']:.2f} ms. ({PRIVATE['uniform']:.2f} in the other pictures",
        *{
            f"a more general kernel than `coarsened`: {min(ms):.2f} to {max(ms):.2f} ms at 256"
            for ms in [[each["all bins in copies"]["256"] for each in (UNIFORM_BINS, ZIPF_BINS)]]
        },
        f"it takes {BLOCKS['132'] / BLOCKS['1056']:.0f} times as long: a thread waits",
        f"it takes {BLOCKS['262144'] / BLOCKS['1056']:.0f} times as long: those are {2**26 // 10**6} million additions",
        f"delivers in {4 * 2**26 / GPU.dram_gb_per_s / 1e6:.3f} ms. The floor of the valley is {BLOCKS['1056']:.2f}",
        f"the {ROUNDS:.0f} rounds that a thread makes of 2^26 items would wait {ROUNDS * ANSWER_US / 1e3:.3f} of the "
        f"{BLOCKS['1056']:.2f} ms, at the {ANSWER_US:.3f} microseconds that DRAM takes to answer when nobody else asks",
        f"counts nothing takes {READING['uniform']:.2f} ms. (A little more even",
        f"Three things have changed since {GLOBAL['uniform']:.1f} ms",
        f"cost {100 * (MS['privatized, contiguous']['uniform'] / PRIVATE['uniform'] - 1):.0f} % more time",
        *{f"it takes {ms:.2f} ms whatever it counts" for ms in PRIVATE.values()},
        f"up to {GLOBAL['one value'] / PRIVATE['one value']:.0f} times less than before",
        f"one value takes {WEIGHTED['one value'] / WEIGHTED['uniform']:.1f} times as long as uniform items",
        f"2^26 turns in {WEIGHTED['one value']:.2f} ms are {TURNS:.1f} a nanosecond in each, about one a clock",
        f"On the H200 a thread has {ROUNDS:.0f} items, not 16",
        f"(of its {WITH_RUNS['night sky']:.2f} ms, the queue at bin 0",
        f"{FEW['night sky'] / WITH_RUNS['night sky']:.0f} times for the night sky",
        f"{FEW['one value'] / WITH_RUNS['one value']:.0f} times for one value",
        f"at most 48 KiB of shared memory (of the {GPU.shared_bytes // 1024} that a multiprocessor has)",
        f"eight blocks still fit into a multiprocessor's {GPU.shared_bytes // 1024} KiB",
        f"take {min(FIRST_BINS.values()):.2f} to {max(FIRST_BINS.values()):.2f} ms",
        f"{ZIPF_BINS['no copies']['1048576'] / FIRST_BINS['1048576']:.0f} times less than no copies",
    ],
)
def test_lesson_5b_says(sentence: str) -> None:
    assert sentence in prose(COPIES)


def test_of_the_question_for_two_kinds_of_items_both_answers_stay_hidden() -> None:
    cells = {each["id"]: each["metadata"] for each in notebook_cells(COPIES, "code")}
    assert all(cells[name]["jupyter"]["outputs_hidden"] for name in ("bins-uniform", "bins-zipf"))


def test_lesson_5_s_words_for_measured_times_hold() -> None:
    assert GLOBAL["letters"] < GLOBAL["uniform"] < GLOBAL["zipf"] < GLOBAL["night sky"] < GLOBAL["one value"]
    assert LOST["letters"]["65536"].count(len(set(TEXT))) > 10, "in most launches every bin said 1"
    assert min(BLOCKS, key=lambda blocks: BLOCKS[blocks]) == "1056" == str(8 * GPU.multiprocessors)
    assert max(BLOCKS["2112"], BLOCKS["8448"]) < 1.15 * BLOCKS["1056"], "a wide valley"
    assert BLOCKS["1056"] < min(READING.values()), "reading alone takes a little more even"
    assert all(0.98 < FEW[name] / GLOBAL[name] < 1.02 for name in GLOBAL), "few blocks alone gain nothing"
    assert GLOBAL["uniform"] / MS["copies in global memory"]["uniform"] > 10 > 2, "the copies do most"
    assert MS["copies in global memory"]["uniform"] > 2 * PRIVATE["uniform"], "and nearness the rest"
    assert all(MS["privatized, contiguous"][name] > PRIVATE[name] for name in PRIVATE), "interleaved was faster"
    assert max(PRIVATE.values()) < 1.25 * min(PRIVATE.values()), "robust against skew"
    assert all(MS["runs, interleaved"][name] > 0.97 * PRIVATE[name] for name in PRIVATE), "nothing is gained"
    assert WITH_RUNS["uniform"] > 0.98 * FEW["uniform"], "not at all for uniform items"
    assert H200["instructions"] == {"adds 1": "ATOMS.POPC.INC.32", "adds an argument": "ATOMS.ADD"}
    assert max(FIRST_BINS.values()) < 1.25 * min(FIRST_BINS.values()), "whether 8,192 bins or a million"
    assert ZIPF_BINS["no copies"]["256"] < 1.1 * ZIPF_BINS["no copies"]["1048576"], "more bins change nothing"


def test_the_robot_s_exercise_works_with_the_measured_rates() -> None:
    assert f"{2**26 / GLOBAL['one value'] / 1e6:.2f}" == f"{exercises.AT_ONE_ADDRESS}"
    assert f"{UNIFORM_BINS['no copies']['1048576']:.2f}" == f"{exercises.SPREAD_MS}"


def test_a_thread_for_each_bin_loads_as_many_times_more_as_lesson_5a_says() -> None:
    scattered, gathered = (int(line.split()[1].replace(",", "")) for line in printed(ATOMICS, "run-gather").splitlines())
    assert prose(ATOMICS).count(f"{gathered // scattered} times as many: {256 // 32} warps hold the 256 bins") == 1


def test_latency_limits_a_thread_for_each_bin_and_nothing_but_the_launch_so_few_additions() -> None:
    limits = {line.split()[0]: line.rpartition(": ")[2] for line in printed(ATOMICS, "run-gather").splitlines()}
    assert limits == {"global_atomics": "launch overhead", "owner_counts": "latency"}


def test_one_lane_draws_for_its_warp_as_lesson_5a_says_of_tickets() -> None:
    written, compiled = (int(each) for each in re.findall(r"\d+", printed(ATOMICS, "tickets").replace(",", "")))
    assert (written, compiled) == (len(TEXT), len(TEXT) // 32)
    assert "one lane draw for its warp" in prose(ATOMICS)
    places, found_many = np.full(100, -1, np.int32), np.zeros(1, np.int32)
    items = np.arange(100, dtype=np.int32) % 3
    profile(kernels.draw_tickets)[2, 64](items, 1, places, found_many)
    assert sorted(places[: found_many[0]]) == list(np.flatnonzero(items == 1)) and (places[found_many[0] :] == -1).all()


def test_more_bins_are_more_passes_and_less_time() -> None:
    _, *rows = printed(ATOMICS, "places-in-l2").replace(",", "").splitlines()
    passes, times = zip(*((int(row.split()[2]), float(row.split()[3])) for row in rows), strict=True)
    assert sorted(passes) == list(passes) and len(set(passes)) == len(passes) > 5
    assert sorted(times, reverse=True) == list(times)


def test_the_fullest_line_explains_all_but_the_uniform_items() -> None:
    _, *rows = printed(ATOMICS, "queue-alone").replace(",", "").splitlines()
    alone = {row[:10].strip(): int(row[10:].split()[0]) / 65_536 * GLOBAL["one value"] for row in rows}
    assert all(0.9 < ms / GLOBAL[name] <= 1 for name, ms in alone.items() if name != "uniform") and len(alone) == 5
    for sentence in (
        f"small letters, takes {alone['letters']:.1f}, and that of zipf {alone['zipf']:.1f} of {GLOBAL['zipf']:.1f} ms",
        f"For the uniform items it takes {alone['uniform']:.1f} of {GLOBAL['uniform']:.1f} ms",
    ):
        assert sentence in prose(ATOMICS)
    at_lines = lesson05.passes_at_lines(histogram_global, lesson05.letters())
    assert at_lines.index(max(at_lines)) == ord("a") * 4 // 128 == ord("z") * 4 // 128, "that of the small letters"


def test_the_few_lines_of_256_counters_serve_few_passes() -> None:
    _, *rows = printed(ATOMICS, "places-in-l2").replace(",", "").splitlines()
    rates = {int(row.split()[0]): float(row.split()[-1]) for row in rows}
    assert rates[256] == round(1024 * int(rows[0].split()[2]) / UNIFORM_BINS["no copies"]["256"] / 1e6, 1)
    assert f"an H200 serves {rates[256]} passes a nanosecond, twice what one address alone gets" in prose(ATOMICS)
    assert round(rates[256] / AT_ONE_PLACE) == 2
    assert f"over a million counters it serves {rates[2**20]:.0f}." in prose(ATOMICS)
    merged = 256 // 8 * 2**26 // 256 / MS["privatized, one item a thread"]["uniform"] / 1e6  # full sectors
    assert 0.8 < rates[256] / merged < 1.25, "as passes, merging is not faster"


def test_a_merge_s_pass_carries_8_additions() -> None:
    rows = {line.split()[0]: line.replace(",", "").split() for line in printed(COPIES, "no-fewer").splitlines()}
    _, _, additions, passes, _ = rows["privatized"]
    assert f"A pass now carries {int(additions) // int(passes)} additions" in prose(COPIES)


def test_of_a_night_sky_s_runs_so_many_additions_are_left_with_248_items_a_thread() -> None:
    """Of the items that were measured: drawn in the same order, and repeated."""
    rng = np.random.default_rng(5)
    rng.integers(0, 256, measurements.DRAWN)  # the uniform ones
    rng.random(measurements.DRAWN)  # zipf
    sky = np.resize(night_sky(rng, measurements.DRAWN).astype(np.uint8), measurements.ITEMS)
    ends = sky[:-IN_FLIGHT] != sky[IN_FLIGHT:]  # of runs; each thread's last item ends one as well
    additions = ends.sum() + IN_FLIGHT
    to_bin_0 = ((sky[:-IN_FLIGHT] == 0) & ends).sum() + (sky[-IN_FLIGHT:] == 0).sum()
    assert f"For the night sky {100 * additions / sky.size:.1f} % of the additions are left" in prose(COPIES)
    alone = to_bin_0 / AT_ONE_PLACE / 1e6
    assert f"{WITH_RUNS['night sky']:.2f} ms, the queue at bin 0 takes {alone:.1f})" in prose(COPIES)


def test_copies_in_global_memory_take_as_long_as_so_many_bins() -> None:
    counters, near = 256 * H200["blocks_where_few"], UNIFORM_BINS["no copies"]["262144"]
    assert f"they are {counters:,} counters, and 5a's table has {near:.2f} ms for about as many" in prose(COPIES)
    assert abs(counters / 262_144 - 1) < 0.05 and abs(MS["copies in global memory"]["uniform"] / near - 1) < 0.05


def test_what_the_estimate_says_of_shares_of_neighbours_and_of_weights() -> None:
    """It has one price for an atomic in shared memory, so it does not see what the clock sees of weights."""
    n, few = 2**24, H200["blocks_where_few"]
    drawn = np.random.default_rng(1).integers(0, 256, n).astype(np.int32)
    same, bins = np.zeros(n, np.int32), np.zeros(256, np.int32)
    shares = profile(kernels.contiguous, sample_blocks=8)[few, 256](drawn, bins.copy()).estimate("H200")
    assert shares.binding == "L2" and "(The estimate's limit is L2 then.)" in prose(COPIES)
    weights = [profile(kernels.weighted, sample_blocks=8)[few, 256](items, bins.copy(), 1) for items in (drawn, same)]
    first, second = (each.estimate("H200").ns for each in weights)
    assert second / first < 1.1
    assert "The estimate misses this: it charges for a request, however many lanes meet." in prose(COPIES)


def test_which_way_is_the_fastest_for_more_bins() -> None:
    fastest = {bins: min((way for way in UNIFORM_BINS if bins in UNIFORM_BINS[way]), key=lambda way: UNIFORM_BINS[way][bins])
               for bins in UNIFORM_BINS["no copies"]}  # fmt: skip
    few_ranges = [int(bins) for bins, way in fastest.items() if way == "ranges of 4,096"]
    assert "ranges for {:,} and {:,} bins, no copies beyond".format(*few_ranges) in prose(COPIES) and len(few_ranges) == 2
    assert {fastest[bins] for bins in ("65536", "262144", "1048576")} == {"no copies"}
    ranges = UNIFORM_BINS["ranges of 4,096"]
    assert 1.8 < ranges["16384"] / ranges["8192"] < 2.2 and 3.6 < ranges["65536"] / ranges["16384"] < 4.4
    assert "1048576" not in ranges
    assert all(FIRST_BINS[bins] == min(way[bins] for way in ZIPF_BINS.values() if bins in way) for bins in FIRST_BINS)


def test_how_many_blocks_with_copies_fit_and_how_fast_turns_are_taken() -> None:
    fitting = [min(GPU.max_threads // 256, GPU.shared_bytes // (KIB * 1024 + 1024)) for KIB in (16, 48)]
    assert fitting == [8, 4], "a block takes 1 KiB for itself"
    assert 0.85 < TURNS / GPU.clock_ghz < 1, "about one a clock"


def test_an_axis_begins_where_it_should_and_eight_threads_have_colours_of_their_own() -> None:
    rows = [lesson05.Row("uniform", {"the fullest bin alone": 0.217, "measured": 17.3})]
    pictures = [lesson05.marks(rows, title="t", axis="ms", begin=begin) for begin in (None, 0.1)]
    texts = [re.findall(r"<text[^>]*>([\d.]+)</text>", each.svg) for each in pictures]
    assert ("0.1" in texts[0], "0.1" in texts[1], "1" in texts[1]) == (False, True, True)
    loads = lesson05.loads_of_items(histogram_global, threads=8, size=8)
    drawn = lesson05.partition({"interleaved": loads}, title="t").svg
    fills = re.findall(r'<rect[^>]*fill="(#\w+)"[^>]*stroke="#1A1A1A"', drawn)
    assert len(fills) == len(set(fills)) == 8


def test_one_character_in_a_thousand_is_a_q() -> None:
    assert 900 < len(TEXT) / TEXT.count("q") < 1100


def test_an_h200_makes_a_little_more_passes_than_the_rule_says_and_none_with_one_value() -> None:
    rows = {line[:10].strip(): line.replace(",", "") for line in printed(ATOMICS, "atomic-sectors-measured").splitlines()}
    counted = {name: int(found(r"(\d+) passes counted", row)[1]) for name, row in rows.items()}
    assert counted["one value"] == READ["one value"]
    more = 100 * (READ["uniform"] / counted["uniform"] - 1)
    assert f"the H200 makes {more:.1f} % more passes than the rule says" in prose(ATOMICS)


def test_atomics_hold_up_the_histogram_without_copies_as_lesson_5a_says() -> None:
    case = by_case()["histogram, global, uniform", 2**24]
    needs = case.estimate.breakdown
    assert case.estimate.binding == "atomics" and abs(case.error) < 0.05
    assert needs["atomics"] > 50 * max(needs[each] for each in needs if each != "atomics"), "nothing else comes near"


def test_nothing_alone_holds_up_the_fastest_histogram_as_lesson_5b_says() -> None:
    case = by_case()["histogram, privatized, uniform", 2**24]
    needs = case.estimate.breakdown
    assert case.estimate.binding == "issue" and 0 < case.error < 0.15, "the clock says a little less"
    assert 1.8 < case.estimate.ns / needs["issue"] < 2, "almost twice as long"
    assert min(needs["DRAM"], needs["L2"], needs["atomics"]) > 2 / 3 * needs["issue"]
    assert needs["latency"] < needs["shared atomics"]


def test_a_loop_that_counts_in_shared_memory_asks_for_four_items_at_a_time() -> None:
    """As its machine code has it: four LDG before four ATOMS. The model then has four loads of a warp under way."""
    case = by_case()["histogram, privatized, uniform", 2**24]
    rows = json.loads((Path(perfmodel.__file__).parent / "measurements" / "counted.json").read_text(encoding="utf-8"))
    (row,) = (row for row in rows if (row["case"], row["size"]) == (case.case, case.size))
    assert _loads_in_flight(Counters(**row["counters"])) == MOST_LOADS_IN_FLIGHT == 4


def test_an_h200_adds_as_often_when_it_merges_as_is_counted_here() -> None:
    rows = [line.split() for line in printed(COPIES, "coarsened-kernel").splitlines()]
    assert {row[0]: row[2] for row in rows}["64"] in printed(COPIES, "coarsened-measured")


def test_lesson_5_s_words_for_counts_hold() -> None:
    """Against the committed output of the cells, which nbval compares with a run."""
    table = {line[:10].strip(): line[10:].split() for line in printed(ATOMICS, "contention-table").splitlines()[1:]}
    passes = {name: int(row[1].replace(",", "")) for name, row in table.items()}
    assert f"{passes['one value'] / passes['uniform']:.1f} times the passes of the uniform items" in prose(ATOMICS)
    assert passes["letters"] < 0.85 * passes["uniform"] and 0.95 < passes["zipf"] / passes["letters"] < 1.05
    fullest = re.findall(r"^(.{10}) the fullest bin takes +([\d,]+) of", printed(ATOMICS, "data-sets"), re.M)
    share = {name.strip(): int(most.replace(",", "")) / len(TEXT) for name, most in fullest}
    alone = {name: share[name] * GLOBAL["one value"] / GLOBAL[name] for name in share}
    assert alone["night sky"] > 0.95 and 0.6 < alone["zipf"] < 0.95 and alone["uniform"] < 0.05
    sent = [line.split() for line in printed(COPIES, "no-fewer").splitlines()[1:]]
    assert {(line[1], line[2]) for line in sent} == {("2,048", "65,536")}, "not one less"
    runs = {line[:10].strip(): [int(each.replace(",", "")) for each in line[10:].split()] for line in
            printed(COPIES, "runs-counted").splitlines()[1:]}  # fmt: skip
    every, kept, requests, kept_requests = runs["night sky"]
    assert round(kept / every, 1) == 0.1 and round(kept_requests / requests, 2) == 0.75
    assert runs["uniform"][1] > 0.99 * every, "for uniform items nothing is saved"
    different = int(found(r"words, ([\d,]+) different", printed(COPIES, "words"))[1].replace(",", ""))
    assert f"{different:,} bins still fit" in prose(COPIES) and 4 * different <= 48 * 1024
