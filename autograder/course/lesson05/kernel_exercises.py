"""Kernels that readers of lesson 5 write, judged by what they count, send and load.

Those of notebooks/05a_atomics.ipynb come first, then those of notebooks/05b_privatized_histogram.ipynb.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from autograder.course.answers import RULES, Inputs, Owners, not_of, nothing_right, parameters, threads_that_store
from autograder.course.lesson05.items import BINS, letters
from autograder.course.replies import Reply, no_kernel, not_yet, right, source_of
from autograder.errors import KernelFault
from autograder.records.accesses import Access
from autograder.records.hazards import Hazard

LANES = 32
DIGITS, DIGIT_BLOCKS = 10, 4
LAUNCHES = ((1000, 128), (37, 128), (4096, 128))  # items and threads of a block: one that fits, two that do not


def _launched(items: int, threads: int) -> tuple[int, str]:
    """The blocks that give each item a thread, and how a reply begins that speaks of them."""
    return -(-items // threads), f"{items:,} items in blocks of {threads}."


def _least_requests(threads: int) -> int:
    """Requests of so many threads, if whole warps send them."""
    return -(-threads // LANES)


# ---- 5a ------------------------------------------------------------------------------------------------------------

KINDS = 7  # of items: prime, so that no row of the matrix ends where a sector does


def follows(kernel: Any) -> Reply:
    """A kernel of (items, pairs) that adds 1 to pairs[a, b] for each item a that is followed by b."""
    if (wrong := not_of(kernel, ("items", "pairs"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(12)
    for size, threads in LAUNCHES:
        blocks, launched = _launched(size, threads)
        items = (rng.integers(0, KINDS, size) * rng.integers(1, 3, size) // 2).astype(np.int32)
        pairs, expected = np.zeros((KINDS, KINDS), np.int32), np.zeros((KINDS, KINDS), np.int32)
        np.add.at(expected, (items[:-1], items[1:]), 1)
        inputs = Inputs(items=items)
        try:
            p = profile(kernel)[blocks, threads](items, pairs)
        except KernelFault as fault:
            if not _indexes_otherwise(kernel):
                raise
            return not_yet(f"{fault} The index is a pair in parentheses: cuda.atomic.add(pairs, (a, b), 1).")
        owners = None if _is_below_zero(p) else Owners(threads, (size - 1,))  # who looks back needs a guard of its own
        if (wrong := nothing_right(p, not pairs.any(), "pairs", launched, owners=owners, inputs=inputs)) is not None:
            return wrong
        if (pairs == expected.T).all() and (pairs != expected).any():
            return not_yet(f"{launched} Row and column are swapped: pairs[a, b] is for an a that is followed by b.")
        if (pairs != expected).any():
            again = np.zeros_like(expected)
            np.add.at(again, (items[:threads], items[1 : threads + 1]), blocks)
            told = _SAME_ITEMS if blocks > 1 and (pairs == again).all() else ""
            return not_yet(f"{launched} {_first_pair(pairs, expected)}{told}")
    requests = p.counters.global_atomic_requests
    if requests > 2 * _least_requests(size):
        words = f"{launched} The counts are right, but it took {requests:,} atomic requests, where "
        return not_yet(f"{words}{_least_requests(size)} would do: let each thread add one pair.")
    words = f"{size - 1:,} pairs, and {requests:,} atomic requests: 32 lanes send theirs in one."
    if _loads_little(p, size):
        text, seen = letters(), np.zeros((BINS, BINS), np.int32)
        profile(kernel)[-(-text.size // threads), threads](text, seen)
        words += f" In the book {seen[ord('q'), ord('u')]} of {seen[ord('q')].sum()} q's are followed by a u."
    return right(words)


_SAME_ITEMS = " Every block counted the same items, the first ones: `cuda.threadIdx.x` begins at 0 in each block."


def _is_below_zero(p: Any) -> bool:
    """Whether a launch used an index below 0."""
    return any(each.kind == "negative_index" for each in p.hazards)


def _indexes_otherwise(kernel: Any) -> bool:
    """Whether an atomic is given an element in place of an array and an index, or a list as its index."""
    calls = [node for node in ast.walk(ast.parse(source_of(kernel))) if isinstance(node, ast.Call) and node.args]
    atomics = [each.args for each in calls if ast.unparse(each.func).startswith("cuda.atomic.")]
    return any(isinstance(given[0], ast.Subscript) or any(isinstance(each, ast.List) for each in given) for given in atomics)


def _loads_little(p: Any, items: int) -> bool:
    """Whether a launch loads each item a few times at most, so that one with many items does not take long."""
    return bool(p.counters.global_load_requests <= 8 * _least_requests(items))


def _first_pair(pairs: np.ndarray, expected: np.ndarray) -> str:
    """The first count that differs, and what that may mean."""
    a, b = (int(at) for at in np.argwhere(pairs != expected)[0])
    words = f"{a} is followed by {b} {expected[a, b]} times, and pairs[{a}, {b}] says {pairs[a, b]}."
    if pairs.sum() == expected.sum():
        return f"{words} All {expected.sum():,} pairs were counted, but not all in their own place."
    return f"{words} There are {expected.sum():,} pairs, and {pairs.sum():,} were counted."


WANTED = 3
_DRAW = " Here: `ticket = cuda.atomic.add(found, 0, 1)` is an index that nobody else gets."


def places_found(kernel: Any) -> Reply:
    """A kernel of (items, wanted, places, found): the indices of all items equal to wanted, without gaps, and how many."""
    if (wrong := not_of(kernel, ("items", "wanted", "places", "found"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(13)
    for size, threads in LAUNCHES:
        blocks, launched = _launched(size, threads)
        items = rng.integers(0, KINDS, size).astype(np.int32)
        items[0] = WANTED - 1
        places, found = np.full(size, -1, np.int32), np.zeros(1, np.int32)
        inputs = Inputs(items=items)
        p = profile(kernel)[blocks, threads](items, WANTED, places, found)
        untouched = (places == -1).all() and not found[0]
        more = _DRAW if any(each.kind == "race" for each in p.hazards) else _FIRST_TICKET if _is_below_zero(p) else ""
        owners = None if _is_below_zero(p) else Owners(threads, (size,))
        if (wrong := nothing_right(p, untouched, "places", launched, more, owners, inputs=inputs)) is not None:
            return wrong
        if (words := _wrong_places(items, places, int(found[0]), threads)) is not None:
            return not_yet(f"{launched} {words}")
    expected = np.flatnonzero(items == WANTED)
    arguments = (items, WANTED, np.full(size, -1, np.int32), np.zeros(1, np.int32))
    if threads_that_store(kernel, blocks, threads, arguments, parameters(kernel)[2]) < expected.size / 2:
        return not_yet(f"{launched} The places are right, but few threads wrote them all. Let each look at one item.")
    loads, seen = p.counters.global_load_requests, f"{expected.size:,} places, each at an index of its own."
    if not p.counters.global_atomic_requests:
        return right(f"{seen} And no atomic at all, for the price of {loads:,} load requests for {size:,} items.")
    seen += " In which order they stand is up to the order in which threads come."
    if _loads_little(p, size):
        text, found = letters(), np.zeros(1, np.int32)
        places = np.full(text.size, -1, np.int32)
        profile(kernel)[-(-text.size // threads), threads](text, ord("q"), places, found)
        seen += f" The book has {found[0]} q's, the first at {places[: found[0]].min():,}."
    return right(seen)


_FIRST_TICKET = " The atomic gives back what stood there before its addition: the first ticket is 0."


def _wrong_places(items: np.ndarray, places: np.ndarray, found: int, threads: int) -> str | None:
    """What is wrong with the places that were written, in blocks of so many threads; None if nothing is."""
    expected, written = np.flatnonzero(items == WANTED), places[places != -1]
    many = expected.size
    if found == many and np.array_equal(np.sort(places[:many]), expected) and (places[many:] == -1).all():
        return None
    if not written.size:
        return f"found[0] is {found}, and {many} items are wanted. Nothing was written to places yet."
    if found == items.size > many:
        return f"found[0] is {found}, and {many} items are wanted: all drew a ticket. Only who stores should draw one."
    if np.array_equal(np.sort(written), expected):
        if (places[expected] == expected).all() and not np.array_equal(np.arange(many), expected):
            return "Each place stands at its own index, with gaps between. The atomic gives back a free index: use that."
        if places[0] == -1 and (places[1 : many + 1] != -1).all():
            return "places[0] was never written. The atomic gives back what was there before its addition: 0 at first."
        if (places[:many] != -1).all():
            return f"The places are right. But found[0] is {found}, and there are {many}."
        return "All places were written, but there are gaps between them. They should be the first elements."
    if (written == WANTED).all():
        return f"What was written is the item, {WANTED}. Write where it stands: its index."
    if written.size > many:
        return f"{written.size:,} places were written, and only {many} items are equal to wanted."
    missing = np.setdiff1d(expected, written)
    if missing.size and missing.size == (expected >= threads).sum() and missing[0] >= threads:
        return (
            f"items[{missing[0]}] is equal to wanted, and {missing[0]} is not among the places: none from {threads} on is. "
            "`cuda.threadIdx.x` begins at 0 in each block."
        )
    if missing.size:
        return f"items[{missing[0]}] is equal to wanted, and {missing[0]} is not among the places."
    return f"Not all that was written is an index of a wanted item: {np.setdiff1d(written, expected)[0]} is none."


BINS_AND_THREADS = ((26, 32), (100, 32), (256, 128))
_ONE_OWNER = " Here it can do without: give each bin one thread of the launch, and nobody else writes there."


def owners_count(kernel: Any) -> Reply:
    """A kernel of (items, bins) without atomics: a thread for each bin reads all items and counts its own."""
    if (wrong := not_of(kernel, ("items", "bins"))) is not None:
        return wrong
    from autograder import profile

    rng, size = np.random.default_rng(14), 500
    for many, threads in BINS_AND_THREADS:
        blocks, launched = -(-many // threads), f"{size} items, {many} bins, in blocks of {threads}."
        items = (rng.integers(0, many, size) * rng.integers(1, 4, size) // 3).astype(np.int32)
        bins, expected = np.zeros(many, np.int32), np.bincount(items, minlength=many)
        inputs = Inputs(items=items)
        p = profile(kernel)[blocks, threads](items, bins)
        more = _ONE_OWNER if any(each.kind == "race" for each in p.hazards) else ""
        if (wrong := nothing_right(p, not bins.any(), "bins", launched, more, inputs=inputs)) is not None:
            return wrong
        if p.counters.global_atomic_requests + p.counters.shared_atomic_requests:
            return not_yet(f"{launched} It uses atomics. Where one thread owns a bin, nobody else adds to it.")
        if (bins != expected).any():
            at = int(np.argmax(bins != expected))
            words = f"bins[{at}] is {bins[at]}, and {at} comes {expected[at]} times."
            if bins.sum() < expected.sum():
                words += f" {bins.sum():,} of {size} items were counted: does each thread look at all of them?"
            return not_yet(f"{launched} {words}")
    if threads_that_store(kernel, blocks, threads, (items, np.zeros_like(bins)), parameters(kernel)[1]) < many / 4:
        return not_yet(f"{launched} The counts are right, but few threads made them all. One thread for each bin.")
    loads, stores = p.counters.global_load_requests, p.counters.global_store_requests
    words = f"No atomic, and nobody to collide with. The price: {loads:,} load requests for {size} items."
    if stores > 2 * _least_requests(many):
        words += f" (It stored {stores:,} times. Count in a variable and store once: {_least_requests(many)} would do.)"
    return right(words)


# ---- 5b ------------------------------------------------------------------------------------------------------------


def private_digits(kernel: Any) -> Reply:
    """Put clearing and both barriers into a kernel that counts last digits, in blocks of 64 threads."""
    waiting = no_kernel(kernel)
    if waiting:
        return waiting
    from autograder import profile

    numbers = np.random.default_rng(10).integers(0, 1000, DIGIT_BLOCKS * 64).astype(np.int32)
    bins, inputs = np.zeros(DIGITS, np.int32), Inputs(numbers=numbers)
    p = profile(kernel, trace=True, trace_limit=numbers.size)[DIGIT_BLOCKS, 64](numbers, bins)
    broken = [each for each in p.hazards if each.kind in RULES]
    if not p.counters.barriers and any(each.kind == "uninitialised_read" for each in broken):
        return Reply("your turn", f"The report begins: {broken[0]}")
    if broken:
        return not_yet(f"{broken[0]}{_clears_totals(p, broken[0])}")
    if (wrong := inputs.changed()) is not None:
        return wrong
    expected = np.bincount(numbers % 10, minlength=DIGITS)
    if (bins != expected).any():
        digit = int(np.argmax(bins != expected))
        words = f"Digit {digit} comes {expected[digit]} times, and the kernel counted {bins[digit]}."
        added = _additions_to(p, digit)
        if bins[digit] > expected[digit] and added > DIGIT_BLOCKS and p.counters.shared_atomic_requests:
            words += f" {DIGIT_BLOCKS} blocks sent {added} additions to this bin: one thread of each block should add it."
        return not_yet(words)
    if not p.counters.shared_atomic_requests:
        return not_yet("The counts are right, but no block counts in a copy of its own. Keep the given lines.")
    if p.counters.barriers > 2 * 2 * DIGIT_BLOCKS:
        return not_yet("The counts are right, but two barriers are enough: after clearing, and before merging.")
    return right("Clear, barrier, count, barrier, merge.")


def _totals(p: Any) -> list[Access]:
    """What a traced launch did to the totals, which are the only array in global memory of so many elements."""
    return [each for each in p.trace("") if each.space == "global" and each.shape == (DIGITS,)]


def _clears_totals(p: Any, hazard: Hazard) -> str:
    """More words for a race at totals that are stored without being read, although atomics add to them."""
    kinds = {each.kind for each in _totals(p)}
    if hazard.kind == "race" and hazard.space == "global" and kinds == {"store", "atomic"}:
        return f" `{hazard.array}` begins at 0: clear only the private copy."
    return ""


def _additions_to(p: Any, digit: int) -> int:
    """How many lanes added to the total of this digit."""
    added = [each for each in _totals(p) if each.kind == "atomic"]
    return sum(int((each.addresses == digit * each.itemsize).sum()) for each in added)


FEW_BLOCKS, THREADS = 4, 128


def matches(kernel: Any) -> Reply:
    """A kernel of (items, value, total): each thread counts its share in a variable and adds it once."""
    if (wrong := not_of(kernel, ("items", "value", "total"))) is not None:
        return wrong
    from autograder import profile

    rng, value = np.random.default_rng(15), 3
    for size in (10_007, 300, 4096):
        items = rng.integers(0, 5, size).astype(np.int32)
        items[:3] = value  # not as many in the first items as elsewhere
        total = np.zeros(1, np.int32)
        launched = f"{size:,} items, {FEW_BLOCKS} blocks of {THREADS}."
        inputs = Inputs(items=items)
        p = profile(kernel)[FEW_BLOCKS, THREADS](items, value, total)
        if (wrong := nothing_right(p, not total[0], "total", launched, inputs=inputs)) is not None:
            return wrong
        c = p.counters
        if (words := _wrong_total(items, value, int(total[0]), c.global_atomic_requests > c.warps)) is not None:
            return not_yet(f"{launched} {words}")
        if c.global_atomic_requests > c.warps:
            words = f"The total is right, but {c.warps} warps sent {c.global_atomic_requests} atomic requests to it. "
            return not_yet(f"{launched} {words}Count in a variable, and add it once, after the loop.")
        if c.global_load_requests > 4 * _least_requests(size) + c.warps:
            words = f"The total is right, with {c.global_load_requests:,} requests to load {size:,} items. "
            return not_yet(f"{launched} {words}Share the items out among all threads: each item is read once.")
    sectors, sent = c.global_load_sectors_per_request, c.global_atomic_requests
    requests = "1 atomic request" if sent == 1 else f"{sent} atomic requests"
    words = f"{size:,} items, and {requests}: the smallest private copy is a register."
    if sectors > 2 * 4:
        words += f" (But {sectors:.3g} sectors a load, where 4 would do: “Which items?” below says why.)"
    return right(words)


def _wrong_total(items: np.ndarray, value: int, total: int, adds_often: bool) -> str | None:
    """What is wrong with a count of `value`; None if nothing is. `adds_often`: warps added to it more than once."""
    expected, threads = int((items == value).sum()), FEW_BLOCKS * THREADS
    if total == expected:
        return None
    if total == items.size:
        return f"total is {total:,}: that is all items. Count those that are equal to value."
    if total == int((items[:threads] == value).sum()):
        return (
            f"total is {total:,}, of {expected:,}: those among the first {threads}, an item for each thread. "
            "Let a thread that is done with one go on."
        )
    if total == threads:
        return f"total is {total:,}, of {expected:,}: that is the number of threads. Let each add what it counted, not 1."
    if total == value * expected:
        return f"total is {total:,}, and {expected:,} items are equal to {value}: that is their sum. Count them."
    words = f"total is {total:,}, and {expected:,} items are equal to value."
    if total > expected and adds_often:
        return f"{words} What a thread has counted is added again in later rounds: once is enough, after the loop."
    return f"{words} Is each item looked at by one thread, once? And does each thread add what it counted?"


def runs_kept(kernel: Any) -> Reply:
    """Finish the kernel that counts runs: what it holds at the end of its walk is not added yet."""
    if (wrong := not_of(kernel, ("items", "bins"))) is not None:
        return wrong
    rng = np.random.default_rng(11)
    for name, items in {
        "8,192 items in runs of 1,024": np.repeat(rng.integers(0, 256, 8), 1024),
        "random items": rng.integers(0, 256, 1500),
        "fewer items than threads": rng.integers(0, 256, 100),
    }.items():
        given = items.astype(np.int32)
        inputs = Inputs(items=given)
        bins, p = _counted(kernel, given)
        broken = [each for each in p.hazards if each.kind in RULES]
        if broken:
            return not_yet(f"{name}: {broken[0]}")
        if (wrong := inputs.changed(f"{name}:")) is not None:
            return wrong
        if (bins != np.bincount(items, minlength=BINS)).any():
            return _wrong_runs(name, items, int(bins.sum()))
        updates = p.counters.shared_atomic_requests + p.counters.global_atomic_requests
        if name.startswith("8,192") and updates >= items.size // LANES:
            return not_yet("The counts are right, but this kernel updates as often as it has items.")
    words = "A run that is open at the end counts as well."
    bins, idle = _counted(kernel, np.zeros(0, np.int32))
    with_copies = p.counters.shared_atomic_requests > 0  # their merge adds zeros as well, and has to
    if idle.counters.shared_atomic_requests if with_copies else idle.counters.global_atomic_requests:
        return right(f"{words} (Threads without an item add 0 to some bin: `if held > 0` would spare them that.)")
    return right(f"{words} Threads without an item add nothing.")


def _counted(kernel: Any, items: np.ndarray) -> tuple[np.ndarray, Any]:
    """The bins after a launch of one block on these items, and its profile."""
    from autograder import profile

    bins = np.zeros(BINS, np.int32)
    return bins, profile(kernel)[1, 256](items, bins)


def _wrong_runs(name: str, items: np.ndarray, counted: int) -> Reply:
    """The reply to bins that are not right."""
    words = f"{name}: {counted:,} of {items.size:,} were counted."
    if counted == items.size:
        return not_yet(f"{name}: all were counted, but not all in their own bin.")
    if counted == items.size - sum(len(_last_run(items[t::256])) for t in range(256)) and name.startswith("8,192"):
        return Reply("your turn", f"{words} Each thread still holds its last run: add it.")
    if counted > items.size:
        return not_yet(f"{words} Something is added more than once: a run, once it has been added, is over.")
    return not_yet(f"{words} When a run ends, what is added must be its length, to its own bin.")


def _last_run(items: np.ndarray) -> np.ndarray:
    """The items at the end that are all equal."""
    different = np.flatnonzero(items != items[-1:])
    return items[different[-1] + 1 :] if len(different) else items
