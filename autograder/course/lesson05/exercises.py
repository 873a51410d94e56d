"""Exercises of notebooks/05_privatized_histogram.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES
from autograder.course.replies import Reply, judge_tuple, no_kernel, not_yet, right

DIGITS = 10


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


def private_digits(kernel: Any) -> Reply:
    """Put clearing and both barriers into a kernel that counts last digits, in blocks of 64 threads."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    numbers = np.random.default_rng(10).integers(0, 1000, 4 * 64).astype(np.int32)
    bins = np.zeros(DIGITS, np.int32)
    p = profile(kernel)[4, 64](numbers, bins)
    broken = [each for each in p.hazards if each.kind in RULES]
    if not p.counters.barriers and any(each.kind == "uninitialised_read" for each in broken):
        return Reply("your turn", f"There is neither clearing nor waiting yet. The report begins: {broken[0]}")
    if broken:
        return not_yet(str(broken[0]))
    expected = np.bincount(numbers % 10, minlength=DIGITS)
    if (bins != expected).any():
        digit = int(np.argmax(bins != expected))
        return not_yet(f"Digit {digit} comes {expected[digit]} times, and the kernel counted {bins[digit]}.")
    if not p.counters.shared_atomic_requests:
        return not_yet("The counts are right, but no block counts in a copy of its own. Keep the given lines.")
    if p.counters.barriers > 2 * 2 * 4:
        return not_yet("The counts are right, but two barriers are enough: after clearing, and before merging.")
    return right("Clear, barrier, count, barrier, merge.")


def coarse_launch(answer: Any) -> Reply:
    """2**20 items, 264 blocks of 256 threads, 256 bins: (most items of a thread, atomics in global memory)"""
    return judge_tuple(
        answer,
        (16, 67_584),
        "15.5 items a thread on average, so some take 16; and each of 264 blocks adds its 256 bins.",
        {
            (15, 67_584): "The second is right. 1,048,576 / 67,584 = 15.5: who takes the half items?",
            (15.5, 67_584): "The second is right. Nobody takes half an item.",
            (16, 1_048_576): "The first is right. Items are counted in shared memory. Who still adds to global memory?",
            (16, 256): "The first is right. 256 additions is what one block does.",
            (16, 65_536): "The first is right. That would be 256 blocks.",
            (16, 264): "The first is right. A block adds a number for each of its bins.",
            (
                4096,
                67_584,
            ): "The second is right. You worked out the items of a block's share: how many threads take them?",
        },
        hint="How many threads are there in all, to share 2^20 items? And what does each block add when it merges?",
    )


def runs_kept(kernel: Any) -> Reply:
    """Finish the kernel that counts runs: what it holds at the end of its walk is not added yet."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile

    rng = np.random.default_rng(11)
    for name, items in {
        "8,192 items in runs of 1,024": np.repeat(rng.integers(0, 256, 8), 1024),
        "random items": rng.integers(0, 256, 1500),
        "fewer items than threads": rng.integers(0, 256, 100),
    }.items():
        items, bins = items.astype(np.int32), np.zeros(256, np.int32)
        p = profile(kernel)[1, 256](items, bins)
        broken = [each for each in p.hazards if each.kind in RULES]
        if broken:
            return not_yet(f"{name}: {broken[0]}")
        expected = np.bincount(items, minlength=256)
        updates = p.counters.shared_atomic_requests + p.counters.global_atomic_requests
        if (bins != expected).any():
            missing = int(items.size - bins.sum())
            words = f"{name}: {int(bins.sum()):,} of {items.size:,} were counted."
            last = missing == sum(len(_last_run(items[t::256])) for t in range(256))
            if not missing:
                return not_yet(f"{name}: all were counted, but not all in their own bin.")
            if last and name.startswith("8,192"):
                return Reply("your turn", f"{words} Each thread still holds its last run: add it.")
            if bins.sum() > items.size:
                return not_yet(f"{words} Something is added more than once: a run, once it has been added, is over.")
            return not_yet(f"{words} When a run ends, what is added must be its length, to its own bin.")
        if name.startswith("8,192") and updates >= items.size // 32:
            return not_yet("The counts are right, but this kernel updates as often as it has items.")
    return right("A run that is open at the end counts as well, and threads without an item add nothing.")


def _last_run(items: np.ndarray) -> np.ndarray:
    """The items at the end that are all equal."""
    different = np.flatnonzero(items != items[-1:])
    return items[different[-1] + 1 :] if len(different) else items


def bins_that_fit(answer: Any) -> Reply:
    """int32 bins in 48 KiB, and passes for 65,536 bins in pieces of that size: (bins, passes)"""
    return judge_tuple(
        answer,
        (12_288, 6),
        "49,152 / 4 = 12,288, and 65,536 / 12,288 = 5.3. So all items are read six times.",
        {
            (12_288, 5): "The bins are right. 5 x 12,288 = 61,440: where do the others go?",
            (12_288, 5.33): "The bins are right. A third of a pass reads all items as well.",
            (49_152, 2): "An int32 has 4 bytes.",
            (12_000, 6): "A KiB has 1,024 bytes.",
            (12, 5_462): "48 KiB are 48 x 1,024 bytes.",
        },
        hint="48 KiB are 48 x 1,024 bytes, an int32 takes 4 of them, and a pass that is not full is a pass.",
    )
