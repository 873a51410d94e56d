"""Exercises of notebooks/07_predicting_performance.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.replies import Reply, judge_number, no_kernel, not_yet, right

KEPLER_BYTES_A_THREAD = 1024 * (15 * (256 + 64 + 48) + 1536) / 30_720
LIST_RANKING_MS = 20.7  # whole blocks give 21.2, fractions of blocks 20.2
ATOMICS_MS = 2**26 / 1.36e6
N, BLOCK = 1024, (16, 16)
LONG_ROW = 1030  # longer than those of the product that is predicted, and no multiple of a tile
AT_LEAST = 1.5  # times as fast as the kernel that the exercise starts from


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
    found = profile(kernel, sample_blocks=4)[grid, BLOCK](a, a, np.zeros_like(a)).estimate("H200")
    start = by_case()["matmul, x along columns, while, 16x16", N].estimate
    told = f"{duration(found.ns)} predicted for N = {N:,}, after {duration(start.ns)}; {found.binding} limits it."
    if found.ns > 0.97 * start.ns:
        return Reply("your turn", f"{told} {found.advice}")
    if found.ns > start.ns / AT_LEAST:
        return not_yet(f"{told} That is x {start.ns / found.ns:.2f}; x {AT_LEAST:g} is asked for. {found.advice}")
    return right(f"{told} That is x {start.ns / found.ns:.2f}.")


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
            return f"Fast, perhaps, but a {m} x {k} by {k} x {n} product comes out wrong."
    return ""
