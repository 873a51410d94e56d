"""Exercises of notebooks/07a_a_model_of_2009.ipynb and 07b_a_model_of_today.ipynb, which hold the answers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from math import ceil
from typing import Any

import numpy as np

from autograder.course.answers import not_of, nothing_right, parameters, threads_that_store, written_alone
from autograder.course.lesson07.lists import owners_and_ranks, random_list, rounds_of_warps
from autograder.course.replies import Reply, judge_array, judge_number, no_kernel, not_yet, right, source_of
from autograder.errors import SubmissionError
from autograder.perfmodel import SPECIFICATIONS, sureness
from autograder.perfmodel.hipc2009 import UNCOALESCED_CYCLES, from_counters
from autograder.perfmodel.prediction import duration

KEPLER_BYTES_A_THREAD = 1024 * (15 * (256 + 64 + 48) + 1536) / 30_720
LIST_RANKING_MS = 20.7  # whole blocks give 21.2, fractions of blocks 20.2
ATOMICS_MS = 2**26 / 1.36e6
N, BLOCK = 1024, (16, 16)
LONG_ROW = 1030  # longer than those of the product that is predicted, and no multiple of a tile
AT_LEAST = 1.5  # times as fast as the kernel that the exercise starts from
SELDOM = 0.1  # stores for each multiplication that are worth a word
NO_DIFFERENCE = 1.03  # times as fast or as slow: nothing was gained
PRODUCT = """@cuda.jit
def product(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        k = 0
        while k < a.shape[1]:
            total += a[row, k] * b[k, column]
            k += 1
        c[row, column] = total
"""  # as the exercise gives it

WINDOW, WINDOW_BLOCK = 8, 256
WINDOWS = 2**22  # sums of the launch whose time is predicted
EIGHT_LOADS_MS = 13.6  # for them by the model of 2009, MAX, if each thread loads its eight numbers from global memory
EIGHT_LOADS_H200_US = 23.3  # the same by today's model
TIMES_LESS = 10  # is asked for
SLOWER = 1.1  # times that: said to be slower, for a few per cent mean nothing

NODES, WALK_BLOCK = 2**16, 512
THREE_ACCESSES_MS = 1.19  # for a list of so many nodes by the model of 2009, MAX, with three accesses for each node
THREE_ACCESSES_H200_US = 45.8  # the same by today's model
LEAST_SAVED = 0.3  # of that time is asked for: one access of three

SQUARES, SQUARES_GRID, SQUARES_BLOCK = 2**24, 1056, 256  # every place for a thread on an H200 is taken, once

PREDICTED_RATIO = 3.0  # predicted, of an answer that latency limits


def on_chip_bytes(answer: Any) -> Reply:
    """How many bytes of on-chip memory has a Kepler GK110 for each of its 30,720 threads?"""
    return judge_number(
        answer,
        KEPLER_BYTES_A_THREAD,
        "15 x 368 kB in the multiprocessors and 1,536 kB of L2. A model is only as good as what is put into it.",
        {
            62.0: "That is the number of the article: 368 kB of one multiprocessor, for the threads of fifteen.",
            63.5: "That is the article's sum: 368 kB of one multiprocessor, for the threads of fifteen.",
            184.0: "Those are the multiprocessors alone; L2 is on the chip, too.",
            179.7: "Those are the multiprocessors alone; L2 is on the chip, too.",
            0.2352: "Those are kilobytes.",
            3528.0: "15 multiprocessors have 15 times the threads of one: 30,720, not 2,048.",
        },
        hint="Add up 15 times what each multiprocessor has, and L2 once; then divide by the threads of all 15.",
        tolerance=0.03,  # kilobytes of 1,000 or 1,024
    )


def list_ranking_ms(answer: Any) -> Reply:
    """The model's time for local ranking at N = 2^22 on 30 multiprocessors at 1.296 GHz, in milliseconds."""
    return judge_number(
        answer,
        LIST_RANKING_MS,
        "About 21 ms, as on the slide. Without a run, from six numbers.",
        {
            27.5: "Those are millions of cycles. The clock does 1.296 million in a millisecond.",
            26.2: "Those are millions of cycles. The clock does 1.296 million in a millisecond.",
            83.0: "D = 4 stages of the pipeline are missing in the denominator.",
            165.6: "The eight cores of a multiprocessor are missing in the denominator.",
            662.4: "The denominator D x N_C is missing: 4 x 8 threads are under way at once.",
            5.2: "A thread walks 4 log2 N nodes, not log2 N.",
            0.0207: "Those are seconds.",
            20_700.0: "Those are microseconds.",
            7.0: "Each node takes 1,500 cycles: three accesses of 500.",
            621.0: "N_B counts the blocks of one multiprocessor, not all of them.",
        },
        hint="N_B is the blocks of one multiprocessor, N_w = 16, N_t = 32, D = 4, N_C = 8; a ms has 1.296 million cycles.",
        tolerance=0.04,
    )


def most_apart(answer: Any) -> Reply:
    """At most how many times MAX is SUM, for any kernel?"""
    return judge_number(
        answer,
        2.0,
        "When both are equal. If one is ten times the other, MAX and SUM are 10 % apart and you need not know which holds.",
        {
            1.0: "That is the least: when one of the two is zero. What is the most?",
            0.5: "The other way round: SUM over MAX.",
        },
        hint="Let MAX be 1, which is the larger of the two. How much can the other one add to it?",
    )


def at_one_address(answer: Any) -> Reply:
    """Milliseconds for 2^26 atomic additions at one address, at 1.36 a nanosecond."""
    return judge_number(
        answer,
        ATOMICS_MS,
        "All the parallelism of 132 multiprocessors ends at one address.",
        {
            ATOMICS_MS * 1e3: "Those are microseconds.",
            ATOMICS_MS / 1e3: "Those are seconds.",
            2**26 * 1.36 / 1e6: "1.36 additions a nanosecond: divide by it.",
            ATOMICS_MS / 32: "Not even a warp's 32 additions to one address go together here.",
        },
        hint="2^26 additions, one after the other, 1.36 in each nanosecond; a millisecond has a million of these.",
        tolerance=0.02,
    )


def _with_faults_as_replies(exercise: Callable[[Any], Reply]) -> Callable[[Any], Reply]:
    """Says what stopped a kernel (a loop without an end, a word that none may use) as a reply, not as an exception."""

    @wraps(exercise)
    def replying(answer: Any) -> Reply:
        try:
            return exercise(answer)
        except SubmissionError as fault:
            return not_yet(str(fault))

    return replying


@_with_faults_as_replies
def sum_of_eight(kernel: Any) -> Reply:
    """A kernel of (x, y) with y[i] = x[i] + ... + x[i + 7], a tenth of eight loads' time by the model of 2009."""
    if (wrong := not_of(kernel, ("x", "y"))) is not None:
        return wrong
    from autograder.profiling import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(8)
    for n in (3, 508, 512, 1000):  # 508: the last of x has a place of its own behind a block's 256
        x, y = rng.random(n + WINDOW - 1, dtype=np.float32) + 1, np.zeros(n, np.float32)
        before, grid = x.copy(), ceil(n / WINDOW_BLOCK)
        p = profile(kernel)[grid, WINDOW_BLOCK](x, y)
        launched = f"{n} sums of {x.size} numbers:"
        beyond = any(each.kind == "out_of_bounds" and each.space == "shared" for each in p.hazards)
        more = f" A block's {WINDOW_BLOCK} sums need {WINDOW_BLOCK} + {WINDOW - 1} numbers." if beyond else ""
        if (wrong := nothing_right(p, not y.any(), "y", launched, more)) is not None:
            return wrong
        if not np.array_equal(x, before):
            return not_yet(f"{launched} the kernel changes x. It should only read it.")
        reply = judge_array(y, _window_sums(x, WINDOW), "", "y")
        if reply.outcome != "right":
            return not_yet(f"{launched} {_another_window(x, y) or reply.words}")
    if (wrong := written_alone(kernel, grid, WINDOW_BLOCK, (x, np.zeros_like(y)), launched)) is not None:
        return wrong
    x, y = np.ones(WINDOWS + WINDOW - 1, np.float32), np.zeros(WINDOWS, np.float32)
    p = profile(kernel, sample_blocks=16)[WINDOWS // WINDOW_BLOCK, WINDOW_BLOCK](x, y)
    old, today = from_counters(p.counters), p.estimate("H200")
    ms = old.milliseconds(hidden=True)
    told = (
        f"For 2^22 sums the model of 2009 says {ms:.3g} ms (N_comp {old.compute_cycles:,.0f}, N_memory "
        f"{old.memory_cycles:,.0f}), and {EIGHT_LOADS_MS} ms with eight loads a thread."
    )
    if ms > EIGHT_LOADS_MS / TIMES_LESS:
        return not_yet(f"y is right. {told} A tenth is asked for. {_what_costs_in_2009(p.counters)}")
    return right(
        f"{told} For an H200 today's model says {duration(today.ns)}, and {EIGHT_LOADS_H200_US} us with eight loads: a "
        f"cache serves those; {today.binding} limits yours"
        f"{', so yours is slower' if today.ns > SLOWER * 1e3 * EIGHT_LOADS_H200_US else ''}."
    )


def _window_sums(x: np.ndarray, window: int) -> np.ndarray:
    """Sums of so many neighbours, as many as the answers have."""
    return np.convolve(x.astype(np.float64), np.ones(window), "valid")


def _another_window(x: np.ndarray, y: np.ndarray) -> str:
    """What was computed in place of sums of eight numbers from x[i] on; empty where that is not known."""
    if np.allclose(y, _window_sums(x, WINDOW) / WINDOW, rtol=1e-4):
        return "these are means; the sum is asked for."
    for window in range(1, WINDOW):
        if np.allclose(y, _window_sums(x, window)[: y.size], rtol=1e-4):
            return f"y[i] is the sum of {window} of the eight numbers, x[i] to x[i + {window - 1}]."
    return ""


def _what_costs_in_2009(counters: Any) -> str:
    """What makes N_memory large, in words."""
    loads = counters.global_load_requests / counters.warps
    sectors = counters.global_load_sectors / max(1, counters.global_load_requests)
    stores = (counters.global_store_requests + counters.global_atomic_requests) / counters.warps
    each = "a sector" if sectors == 1 else f"{sectors:.3g} sectors on average"
    words = f"A thread makes {loads:.3g} loads from global memory, of {each}: "
    if loads > 2 and sectors < 2:
        return words + "few numbers at a time. Let all threads of a block load: 32 lanes side by side fetch 32 numbers."
    if loads > 2:
        return words + "let a block load each number once, and share it."
    if sectors > 4:
        return words + "more than four, so all count as uncoalesced. Let most loads begin where a sector begins."
    return words + f"that is little. It stores {stores:.3g} times."


@_with_faults_as_replies
def owner_and_rank(kernel: Any) -> Reply:
    """A kernel of (following, heads, both) that walks sublists and stores owner and rank of a node as one int64."""
    if (wrong := not_of(kernel, ("following", "heads", "both"))) is not None:
        return wrong
    from autograder.profiling import profile

    for n in (40, 700, 5000):
        following, heads = random_list(n, np.random.default_rng(n))
        both, before = np.full(n, -1, np.int64), (following.copy(), heads.copy())
        grid = ceil(heads.size / WALK_BLOCK)
        p = profile(kernel)[grid, WALK_BLOCK](following, heads, both)
        launched = f"A list of {n} nodes in {heads.size} sublists:"
        if (wrong := nothing_right(p, bool((both == -1).all()), "both", launched)) is not None:
            return wrong
        if not (np.array_equal(following, before[0]) and np.array_equal(heads, before[1])):
            return not_yet(f"{launched} the kernel changes what it should only read.")
        if words := _wrong_pair(both, *owners_and_ranks(following, heads)):
            return not_yet(f"{launched} {words}")
    arguments = following, heads, np.zeros_like(both)
    busy = threads_that_store(kernel, grid, WALK_BLOCK, arguments, parameters(kernel)[-1])
    if busy < heads.size / 2:
        return not_yet(f"{launched} all is right, but {busy} of the threads did it. Let each walk one sublist.")
    following, heads = random_list(NODES, np.random.default_rng(2009))
    p = profile(kernel)[ceil(heads.size / WALK_BLOCK), WALK_BLOCK](following, heads, np.zeros(NODES, np.int64))
    old, today = from_counters(p.counters), p.estimate("H200")
    ms = old.milliseconds(hidden=True)
    rounds = rounds_of_warps(heads, owners_and_ranks(following, heads)[0]).mean()
    told = (
        f"For 65,536 nodes the model of 2009 says {ms:.2f} ms ({old.memory_cycles / rounds / UNCOALESCED_CYCLES:.1f} "
        f"uncoalesced accesses a round), and {THREE_ACCESSES_MS} ms with three."
    )
    if ms > (1 - LEAST_SAVED) * THREE_ACCESSES_MS:
        return not_yet(f"All is right. {told} Load the next node once a round, and store both numbers at once.")
    return right(
        f"{told} For an H200 today's model says {duration(today.ns)}, and {THREE_ACCESSES_H200_US} us with three: "
        "a walk waits for the load that names its next node, and for no store."
    )


def _wrong_pair(both: np.ndarray, owner: np.ndarray, rank: np.ndarray) -> str:
    """What is wrong with packed owners and ranks, by the mistake where it is known; empty where nothing is."""
    high = 2**32
    if np.array_equal(both, owner * high + rank):
        return ""
    if np.array_equal(both, rank * high + owner):
        return "owner and rank have changed places: the owner comes times 2**32, the rank is added."
    if np.array_equal(both, owner * high + rank + 1):
        return "the ranks are one too large. The first node of a sublist has rank 0."
    if np.array_equal(both, owner * 10**6 + rank) or np.array_equal(both, owner + rank):
        return "two numbers share one int64 if the owner is multiplied by 2**32, so that the rank fits below it."
    if np.array_equal(both, rank) or np.array_equal(both % high, rank):
        return "the ranks are right, the owners are not: both[place] is index * 2**32 + rank."
    if (both == -1).any():
        missing = np.flatnonzero(both == -1)
        heads = " (all of them heads)" if (rank[missing] == 0).all() else ""
        return f"{missing.size} nodes are not written{heads}, node {missing[0]} for one."
    at = int(np.argmax(both != owner * high + rank))
    found, wanted = (f"owner {each // high} and rank {each % high}" for each in (both[at], owner[at] * high + rank[at]))
    return f"both[{at}] holds {found}, and should hold {wanted}."


@_with_faults_as_replies
def sum_of_squares(kernel: Any) -> Reply:
    """A kernel of (x, sums) in which each thread adds up the squares of its share, and which DRAM limits on an H200."""
    if (wrong := not_of(kernel, ("x", "sums"))) is not None:
        return wrong
    from autograder.profiling import profile

    rng = np.random.default_rng(9)
    for n, grid in ((1000, 4), (5003, 3), (100, 4)):
        x, sums = rng.random(n, dtype=np.float32) + 1, np.zeros(64 * grid, np.float32)
        before = x.copy()
        p = profile(kernel)[grid, 64](x, sums)
        launched = f"{n:,} numbers, {sums.size} threads:"
        if (wrong := nothing_right(p, not sums.any(), "sums", launched)) is not None:
            return wrong
        if not np.array_equal(x, before):
            return not_yet(f"{launched} the kernel changes x. It should only read it.")
        if words := _wrong_squares(x.astype(np.float64), sums):
            return not_yet(f"{launched} {words}")
    x, sums = np.full(SQUARES, 0.5, np.float32), np.zeros(SQUARES_GRID * SQUARES_BLOCK, np.float32)
    p = profile(kernel, sample_blocks=4)[SQUARES_GRID, SQUARES_BLOCK](x, sums)
    found = p.estimate("H200")
    told = f"For 2^24 numbers an H200 is predicted to take {duration(found.ns)}. {_capital(found.limits)}"
    if found.binding != "DRAM":
        doubles = [f" {each}" for each in p.hazards if each.kind == "accidental_float64"]
        return not_yet(f"The sums are right. {told}{''.join(doubles[:1])}")
    floor = 4 * SQUARES / SPECIFICATIONS["H200"].dram_gb_per_s
    return right(
        f"{told.removesuffix(found.advice)}The floor, each number read once at the data sheet's rate, is "
        f"{duration(floor)}: the kernel takes {found.ns / floor:.1f} times that."
    )


def _wrong_squares(x: np.ndarray, sums: np.ndarray) -> str:
    """What is wrong with the threads' sums of squares; empty where nothing is."""
    found = float(sums.astype(np.float64).sum())
    if not np.isclose(found, (x**2).sum(), rtol=1e-4):
        if np.isclose(found, x.sum(), rtol=1e-4):
            return "these are sums of the numbers, not of their squares."
        if np.isclose(found, (x[: sums.size] ** 2).sum(), rtol=1e-4):
            return "each thread took one number. There are fewer threads than numbers: let each take several."
        whole = x.size // sums.size * sums.size
        if np.isclose(found, (x[:whole] ** 2).sum(), rtol=1e-4):
            return f"the last {x.size - whole} numbers are missing. The threads' shares need not all be the same."
        words = f"all sums together should be {(x**2).sum():,.1f} and are {found:,.1f}."
        return f"{words} Is each number taken by one thread, once?"
    busy = int((sums > 0).sum())
    if busy < min(x.size, sums.size) / 3:
        above = "one is" if busy == 1 else f"{busy} are"
        return f"the total is right, but of the sums only {above} above 0. Let each thread keep its own."
    return ""


def _capital(words: str) -> str:
    """L2 and float32 stay as they are."""
    return words[0].upper() + words[1:] if words[1:2].islower() else words


def least_sure(answer: Any) -> Reply:
    """An answer that latency limits is predicted to be 3 times as fast: which thresholds does it pass surely?"""
    factor = sureness.known().ratios["latency"].factor
    low, high = PREDICTED_RATIO / factor, PREDICTED_RATIO * factor
    return judge_number(
        answer,
        low,
        f"The interval is {low:.2f} to {high:.2f}. A threshold inside it is too close to call.",
        {
            high: "That is the upper end. It could as well be slower than predicted.",
            factor: "That is the factor. By how much does it divide the predicted ratio?",
            PREDICTED_RATIO: "That is the prediction itself. How far off may it be?",
            PREDICTED_RATIO - factor: "A factor divides; it is not subtracted.",
        },
        hint="The interval begins at the ratio over the factor, and ends at the ratio times the factor.",
        tolerance=0.02,
    )


@_with_faults_as_replies
def two_thirds_of_the_time(kernel: Any) -> Reply:
    """Change the product until the model predicts two thirds of its time or less, in blocks of (16, 16)."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder.perfmodel.measurements.predicting import by_case
    from autograder.perfmodel.prediction import duration
    from autograder.profiling import profile

    wrong = _wrong_product(kernel, profile)
    if wrong:
        return not_yet(wrong)
    a = np.ones((N, N), np.float32)
    grid = (N // BLOCK[0], N // BLOCK[1])
    p = profile(kernel, sample_blocks=4)[grid, BLOCK](a, a, np.zeros_like(a))
    found, start = p.estimate("H200"), by_case()["matmul, x along columns, while, 16x16", N]
    before = duration(start.estimate.ns)
    told = f"{duration(found.ns)} predicted for N = {N:,}, after {before}; {found.binding} limits it."
    if found.ns <= start.estimate.ns / AT_LEAST:
        return right(f"{told} That is x {start.estimate.ns / found.ns:.2f}.")
    if _lines_of(source_of(kernel)) == _lines_of(PRODUCT):
        return Reply("your turn", f"{told} {found.advice}")
    did = _per_round(p.compiled, start.counters)
    if found.binding == "latency" and _as_many_loads(p.compiled, start.counters):
        did += " (Loading for several rounds at once changes nothing in this prediction; nobody has asked the clock.)"
    faster = start.estimate.ns / found.ns
    if faster < 1 / NO_DIFFERENCE:
        return not_yet(f"c is right, and it takes longer: {told} {did} {found.advice}")
    if faster < NO_DIFFERENCE:
        return not_yet(f"c is right, and it takes as long as before: {told} {did} {found.advice}")
    return not_yet(f"{told} That is x {faster:.2f}; x {AT_LEAST:g} is asked for. {did} {found.advice}")


def _lines_of(source: str) -> list[str]:
    """The statements of a function, without its decorator and its name."""
    function = ast.parse(source).body[0]
    return [ast.unparse(each) for each in function.body] if isinstance(function, ast.FunctionDef) else []


def _as_many_loads(now: Any, before: Any) -> bool:
    """Whether a product loads from global memory as often as the kernel as given."""
    return bool(np.isclose(now.global_load_requests, before.global_load_requests, rtol=0.01))


def _per_round(now: Any, before: Any) -> str:
    """What a thread does for one of the product's multiplications, now and in the kernel as given."""
    rounds = N**3 / 32  # of warps
    instructions, loads = (
        [getattr(each, name) / rounds for each in (now, before)]
        for name in ("issued_warp_instructions", "global_load_requests")
    )
    stores = (now.global_store_requests + now.global_atomic_requests) / rounds
    return (
        f"For each multiplication a thread executes {instructions[0]:.1f} instructions (as given "
        f"{instructions[1]:.1f}) and loads {loads[0]:.2g} numbers from global memory (as given {loads[1]:.2g})"
        f"{f'; it stores {stores:.2g} there (as given, one at the end)' if stores > SELDOM else ''}."
    )


def _wrong_product(kernel: Any, profile: Any) -> str:
    """What is wrong with two small products, one ragged and one of long rows; empty where nothing is."""
    rng = np.random.default_rng(7)
    for m, k, n in ((19, 37, 29), (5, LONG_ROW, 3)):
        a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
        c = np.zeros((m, n), np.float32)
        grid = (-(-n // BLOCK[0]), -(-m // BLOCK[1]))
        errors = [each for each in profile(kernel)[grid, BLOCK](a, b, c).hazards if each.severity == "error"]
        if errors:
            return str(errors[0])
        if not np.allclose(c, a @ b, rtol=1e-4):
            words = judge_array(c, a @ b, "").words
            return f"Fast, perhaps, but a {m} x {k} by {k} x {n} product comes out wrong. {words}"
    return ""
