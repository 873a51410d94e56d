"""Exercises of notebooks/05a_atomics.ipynb and 05b_privatized_histogram.ipynb whose answers are numbers.

The answers that students see stand there, under "Answer"; kernels are judged in kernel_exercises.py.
"""

from __future__ import annotations

from typing import Any

from autograder.course.replies import Reply, judge_number, judge_tuple

VISITS, AT_ONE_ADDRESS = 2**26, 1.36  # of a log; additions a nanosecond at one counter, as the notebook prints it
ALL_MS, SPREAD_MS = VISITS / AT_ONE_ADDRESS / 1e6, 0.67  # all at one counter; spread over a million


def two_additions_each(answer: Any) -> Reply:
    """Two threads add 1 to a counter twice each, without atomics: (smallest, largest) value afterwards"""
    return judge_tuple(
        answer,
        (2, 4),
        "A thread reads for its second addition after its own first write, and whatever was written is at least 1.",
        {
            (
                1,
                4,
            ): "Almost. When a thread reads for the second time, it has itself written something. What is there then?",
            (1, 2): "Each of the two threads adds twice: that makes four additions.",
            (2, 2): "And if nobody gets in between?",
            (0, 4): "A write puts what was read plus 1, so nobody ever writes 0.",
            (3, 4): "One can be lost in each round, and more: let one thread sleep between its read and its write.",
            (4, 4): "That is what atomics would give. Without them a write can undo what others added meanwhile.",
        },
        hint="Write the four reads and four writes in an order of your own. A thread may sleep between the two for long.",
    )


def cost_of_a_request(answer: Any) -> Reply:
    """16 lanes add to bin 3, 8 to bin 5, 8 to bin 200, int32 bins: (addresses, sectors, cost)"""
    return judge_tuple(
        answer,
        (3, 2, 24),
        "Bins 0 to 7 share a sector: its longest queue is 16. Bin 200 is in another one, with 8.",
        {
            (3, 3, 32): "A sector is 32 bytes: 8 bins of int32. Which of the three share one?",
            (
                3,
                2,
                32,
            ): "Two sectors is right. Bins 3 and 5 are served side by side: only the longer queue counts.",
            (3, 2, 16): "Two sectors is right. The longest queue of each sector counts, and these add up.",
            (
                3,
                2,
                2,
            ): "Two sectors is right. But lanes that want the same bin take turns: a sector costs its longest queue.",
            (3, 1, 16): "Bin 200 is 195 bins away from bin 5, and a sector holds 8.",
            (32, 2, 24): "Lanes that add to the same bin use the same address.",
        },
        hint="Draw it as in the picture: a queue for each bin, a line below bins of one sector (8 bins), its longest queue.",
    )


def robot_in_the_log(answer: Any) -> Reply:
    """2**26 visits into a million bins, a quarter of them into one: at least how many milliseconds?"""
    return judge_number(
        answer,
        ALL_MS / 4,
        f"{ALL_MS / 4:.1f} ms for one counter, where all visits, spread over a million counters, take {SPREAD_MS}.",
        {
            SPREAD_MS: "That is without the robot. How long does its own counter take, one addition after the other?",
            ALL_MS: "That is for all 2^26 visits. A quarter of them are the robot's.",
            0.75 * SPREAD_MS + ALL_MS / 4: "Nearly. The other visits go to other places meanwhile: do not add them.",
            SPREAD_MS / 4: "A quarter of the time would be so if its visits were spread. They all go to one counter.",
            ALL_MS / 4 * 1e6: "Those are nanoseconds.",
            ALL_MS / 4 * 1e3: "Those are microseconds.",
            ALL_MS / 4 / 1e3: "Those are seconds.",
        },
        tolerance=0.03,  # 12 is right as well
        hint="A quarter of 2^26 visits at one counter, which takes 1.36 a nanosecond. A millisecond is 10^6 nanoseconds.",
    )


def bins_that_fit(answer: Any) -> Reply:
    """int32 bins in 48 KiB, and how often 65,536 bins in ranges of that size need all items: (bins, ranges)"""
    return judge_tuple(
        answer,
        (12_288, 6),
        "49,152 / 4 = 12,288, and 65,536 / 12,288 = 5.3. So all items are read six times.",
        {
            (12_288, 5): "The bins are right. 5 x 12,288 = 61,440: where do the others go?",
            (12_288, 5.33): "The bins are right. The last third of a range needs all items read as well.",
            (12_288, 5.3): "The bins are right. The last third of a range needs all items read as well.",
            (12_288, 16): "The bins are right. 16 ranges of 4,096 would be 65,536; here a range is as large as fits.",
            (49_152, 2): "An int32 has 4 bytes.",
            (12_000, 6): "A KiB has 1,024 bytes.",
            (12, 5_462): "48 KiB are 48 x 1,024 bytes.",
        },
        hint="48 KiB are 48 x 1,024 bytes, an int32 takes 4 of them, and a range that is not full is a range.",
    )
