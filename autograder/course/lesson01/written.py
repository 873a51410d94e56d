"""Kernels that the reader of notebooks/01a_naive_matmul.ipynb and 01b_what_holds_it_up.ipynb writes, and the replies.

Each is launched on the simulated GPU over several sizes, one of them of whole blocks, and judged by what it wrote and how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.course.answers import Inputs, Owners, has_loop, not_of, nothing_right, parameters, written_alone
from autograder.course.replies import Reply, judge_array, not_yet, right
from autograder.errors import KernelFault
from autograder.figures.svg import plural

BLOCK = (16, 8)
SHAPES = ((5, 7), (37, 53), (64, 96))  # rows, columns; the last one in whole blocks, for counting
WHOLE = SHAPES[-1]
COALESCED = 4  # sectors of a request whose 32 lanes want 32 neighbours of 4 bytes
_FILL = -7.0  # an answer of no exercise here


def outer_product(kernel: Any) -> Reply:
    """A kernel of (x, y, c) that sets every c[row, column] to x[row] * y[column], launched in blocks of (16, 8)."""
    if (wrong := not_of(kernel, ("x", "y", "c"))) is not None:
        return wrong
    rng = np.random.default_rng(8)
    for rows, columns in SHAPES:
        x, y = rng.random(rows, dtype=np.float32) + 1, rng.random(columns, dtype=np.float32) + 1
        run = KernelRun(kernel, (x, y), (rows, columns), _grid(rows, columns), BLOCK, "c")
        mistakes = {"That is x[row] + y[column]: multiply.": np.add.outer(x, y)}
        if (wrong := run.wrong(np.outer(x, y), mistakes, _OUTER_ASKS)) is not None:
            return wrong
    if (wrong := run.done_by_few() or run.stores_apart()) is not None:
        return wrong
    return right(f"Every element is one thread's, and a store moves {run.store_sectors:g} sectors.")


def squared_distances(kernel: Any) -> Reply:
    """A kernel of (p, q, out) that sets out[row, column] to the squared distance of p[row] and q[column], points a row."""
    if (wrong := not_of(kernel, ("p", "q", "out"))) is not None:
        return wrong
    rng = np.random.default_rng(9)
    for (rows, columns), numbers in zip(SHAPES, (3, 5, 2), strict=True):
        p, q = rng.random((rows, numbers), dtype=np.float32) + 2, rng.random((columns, numbers), dtype=np.float32)
        apart = p[:, None, :].astype(np.float64) - q[None, :, :]
        expected = (apart**2).sum(axis=2)
        told = f"a point has {numbers} numbers"
        run = KernelRun(kernel, (p, q), (rows, columns), _grid(rows, columns), BLOCK, "out", told)
        mistakes = {
            "That is the distance. Its square is asked for, which needs no root.": np.sqrt(expected),
            "Those are the differences alone. Square each of them before you add it.": apart.sum(axis=2),
            "Only the last difference is in it: add up in a variable of the thread's own.": apart[:, :, -1] ** 2,
            "Only the first difference is in it: go through all the numbers of a point.": apart[:, :, 0] ** 2,
            "The first difference is missing: where does the loop begin?": (apart[:, :, 1:] ** 2).sum(axis=2),
            "The last difference is missing: how far does the loop count?": (apart[:, :, :-1] ** 2).sum(axis=2),
            "Only the first three differences are in it: p.shape[1] says how many there are.": (apart**2)[:, :, :3].sum(2),
            "That is the product of the two points, as in a matrix multiply. Take their difference.": p @ q.T,
        }
        if (wrong := run.wrong(expected, mistakes, _DISTANCE_ASKS)) is not None:
            return wrong
    if (wrong := run.done_by_few() or run.stores_apart()) is not None:
        return wrong
    return right("Two loops became a launch and one stayed, as in the matrix multiply: any table of pairs is made so.")


def scale_rows(kernel: Any) -> Reply:
    """Make a kernel of one-dimensional blocks, c[row, column] = factor[row] * a[row, column], read and write neighbours."""
    if (wrong := not_of(kernel, ("a", "factor", "c"))) is not None:
        return wrong
    rng = np.random.default_rng(10)
    for rows, columns in SHAPES:
        a, factor = rng.random((rows, columns), dtype=np.float32) + 1, rng.random(rows, dtype=np.float32) + 1
        run = KernelRun(kernel, (a, factor), (rows, columns), -(-rows * columns // 128), 128, "c")
        if (wrong := run.wrong(factor[:, None] * a, {}, _SCALE_ASKS)) is not None:
            return wrong
    if (wrong := run.done_by_few()) is not None:
        return wrong
    if max(run.load_sectors, run.store_sectors) > COALESCED:
        told = f"c is right. A load request moves {run.load_sectors:.3g} sectors, a store request {run.store_sectors:.3g}."
        return Reply("your turn", f"{told} If thread i has c[row, column], which element should thread i + 1 have?")
    return right(
        f"A load request moves {run.load_sectors:.3g} sectors and a store request {run.store_sectors:.3g}: 1 for the "
        "factor, which a warp shares, and 4 for 32 neighbours."
    )


VECTOR_SIZES = ((7, 5, 1), (37, 75, 2), (128, 128, 2))  # rows and columns of a; blocks of 64 threads
ROUND = 16  # instructions: twice what the compiler leaves of two loads, a multiply-add and a counter of one's own


def vector_times_matrix(kernel: Any) -> Reply:
    """A kernel of (x, a, y) that sets y[column] to the sum of x[k] * a[k, column] over k, in a loop of few instructions."""
    if (wrong := not_of(kernel, ("x", "a", "y"))) is not None:
        return wrong
    rng = np.random.default_rng(11)
    for rows, columns, blocks in VECTOR_SIZES:
        x, a = rng.random(rows, dtype=np.float32) + 1, rng.random((rows, columns), dtype=np.float32) + 1
        run = KernelRun(kernel, (x, a), (columns,), blocks, 64, "y", f"a is {rows} x {columns}")
        mistakes = {
            "Only the last product is in it: add up in a variable of the thread's own.": x[-1] * a[-1],
            "Only the first product is in it: does the loop count on?": x[0] * a[0],
            "The first product is missing: where does the loop begin to count?": x[1:] @ a[1:],
            "The last product is missing: how far does the loop count?": x[:-1] @ a[:-1],
            "Those are sums of columns of a: multiply each number by its x[k].": a.sum(axis=0),
        }
        if (wrong := run.wrong(x.astype(np.float64) @ a, mistakes, _VECTOR_ASKS)) is not None:
            return wrong
    if (wrong := run.done_by_few()) is not None:
        return wrong
    if run.load_sectors > COALESCED:
        return not_yet(f"y is right. But a load request moves {run.load_sectors:.3g} sectors, where 4 are the most needed.")
    instructions = run.profile.compiled.issued_warp_instructions / (rows * run.profile.counters.warps)
    told = f"y is right, and a round takes {instructions:.0f} instructions."
    if instructions > ROUND:
        return not_yet(f"{told} 8 are enough for such a round. What did the counting cost at the beginning of this lesson?")
    doubles = [each for each in run.profile.hazards if each.kind == "accidental_float64"]
    return right(f"{told} With range it would be nearly 40." + (f" One thing more: {doubles[0]}" if doubles else ""))


_FIRST_LINES = (
    "Where it was written it is right, and no thread got to the rest. Look at the first lines: which row and column has a "
    "thread (x comes first and counts columns, y counts rows), and whom does the guard let pass?"
)
_OUTER_ASKS = "Each element takes one number of x, by its row, and one of y, by its column."
_DISTANCE_ASKS = (
    "Each element takes a row of p, by its row, and a row of q, by its column: the sum of the squares of their differences."
)
_SCALE_ASKS = "Leave the line that writes c as it was. Which row and which column does thread i have, and is it inside c?"
_VECTOR_ASKS = "y[column] is the sum of x[k] * a[k, column], for every k from 0 to the last."


@dataclass
class KernelRun:
    """One launch of a kernel that fills its last parameter, an array of `shape` that holds nothing beforehand."""

    kernel: Any
    given: tuple[np.ndarray, ...]  # the arguments before it
    shape: tuple[int, ...]
    grid: Any
    block: Any
    array: str  # what the exercise calls it
    more: str = ""  # about the arguments, for the reader
    fault: KernelFault | None = None  # what ended it; then it has no result

    def __post_init__(self) -> None:
        """Launches twice: over memory that nobody has written, and over a number, to tell what is still untouched."""
        from autograder import profile  # the simulated GPU is only loaded for the exercises that need it
        from autograder.simgpu.host.host_side import device_array

        over = np.full(self.shape, _FILL, np.float32)
        self.inputs = Inputs(**dict(zip(parameters(self.kernel), self.given, strict=False)))
        try:
            profile(self.kernel)[self.grid, self.block](*self.given, over)
            fresh = device_array(self.shape, np.float32)
            self.profile = profile(self.kernel)[self.grid, self.block](*self.given, fresh)
        except KernelFault as fault:  # a loop without an end, for example
            self.fault = fault
            return
        self.result: np.ndarray = fresh.copy_to_host()
        self.untouched = np.isnan(self.result) & (over == _FILL)
        counters = self.profile.counters
        self.load_sectors = counters.global_load_sectors / max(1, counters.global_load_requests)
        self.store_sectors = counters.global_store_sectors / max(1, counters.global_store_requests)

    @property
    def launched(self) -> str:
        """The launch, for the reader."""
        size = " x ".join(map(str, self.shape)) if len(self.shape) > 1 else plural(self.shape[0], "element")
        words = f"{self.array} is {size}" if len(self.shape) > 1 else f"{self.array} has {size}"
        return f"{words}, in blocks of {self.block}{', ' + self.more if self.more else ''}."

    def wrong(self, expected: np.ndarray, mistakes: Mapping[str, np.ndarray], asks: str) -> Reply | None:
        """The reply to a launch that broke a rule or wrote something else; `mistakes` are words for known results."""
        if self.fault is not None:
            return not_yet(f"{self.launched} {self.fault}")
        missing = int(self.untouched.sum())
        owners = Owners(self.block, self.shape, counts=has_loop(self.kernel))
        is_untouched = missing == expected.size
        reply = nothing_right(
            self.profile, is_untouched, self.array, self.launched, owners=owners, kernel=self.kernel, inputs=self.inputs
        )
        if reply is not None:
            return reply
        written = ~self.untouched
        differs = judge_array(np.where(written, self.result, expected), expected, "", self.array)
        if differs.outcome != "right":
            same = (words for words, each in mistakes.items() if np.allclose(self.result, each, rtol=1e-4, atol=1e-4))
            return not_yet(f"{self.launched} {differs.words} {next(same, asks)}")
        if missing:
            first = ", ".join(str(int(each)) for each in np.argwhere(self.untouched)[0])
            never = f"{missing:,} of {expected.size:,} elements were never written; the first: {self.array}[{first}]."
            return not_yet(f"{self.launched} {never} {_FIRST_LINES if isinstance(self.block, tuple) else asks}")
        return None

    def done_by_few(self) -> Reply | None:
        """The reply to a right result that few of the threads wrote."""
        arguments = (*self.given, np.zeros(self.shape, np.float32))
        return written_alone(self.kernel, self.grid, self.block, arguments, self.launched)

    def stores_apart(self) -> Reply | None:
        """The reply to stores whose neighbours in x do not write neighbours."""
        if self.store_sectors <= COALESCED:
            return None
        return not_yet(
            f"{self.array} is right. But a store moves {self.store_sectors:.3g} pieces of 32 bytes, where {COALESCED} would "
            "do: let neighbours along x write neighbours."
        )


def _grid(rows: int, columns: int) -> tuple[int, int]:
    """The blocks that cover a matrix."""
    return (-(-columns // BLOCK[0]), -(-rows // BLOCK[1]))
