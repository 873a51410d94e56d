"""A loop that is written, as a function that Numba has compiled: what it takes, and what it leaves.

The state of a warp lies in rows of 32: integers (of all types, as int64), float64 and float32, a row for each variable. So
the processor has 4 to 16 lanes in one register. A call goes some rounds, 64 at a time: warp after warp, and of each warp all
lanes in each round. It counts, for each straight run, in how many rounds somebody came by, in how many of which warps, and
how many lanes; for each branch, how many warps it divided. Where a lane needs a closer look its 64 rounds are not gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numba import njit

from autograder.simgpu.in_registers.complex_numbers import PRODUCTS
from autograder.simgpu.in_registers.figures import LaneNumber, Sharing
from autograder.simgpu.in_registers.loads import AT_ONCE, FUNCTIONS, LoadText
from autograder.simgpu.in_registers.writer import LaneWriter
from autograder.simgpu.operations.loops import STUCK_AFTER, While
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.numba_types import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT64, UINT64

FINE, TROUBLE, STANDSTILL, DRAWS_APART = range(4)  # how a call ends
GONE, WHY, WHERE, LAST = range(4)  # places in what a call says: rounds, how it ended, the warp in trouble, rounds at last
PARAMETERS = (
    "warps", "rounds", "begun", "first", "step",
    "i", "d", "f", "oi", "od", "of", "bi", "bd", "bf",  # rows: as they are, as before these rounds, as at the last boundary
    "is_kept", "totals", "divided", "diverged", "by_warp", "of_chunk", "some", "masks", "full", "said",
)  # fmt: skip
SlotKind: TypeAlias = Literal["variable", "given", "range", "state", "result", "round"]
ROWS: dict[str, np.dtype] = {"i": INT64, "d": FLOAT64, "f": FLOAT32}


@dataclass(frozen=True)
class RegisterRow:
    """A row of 32 numbers of each warp."""

    kind: SlotKind
    what: object  # the variable's name, what is given, which half of a state, the number of the return
    code: str  # what a lane calls its number
    dtype: np.dtype
    rows: str  # among which it is
    number: int
    is_kept: bool  # whether rounds change it

    @property
    def load(self) -> str:
        element = f"{self.rows}_[{self.number * WARP} + k]"
        if self.dtype.kind == "c":
            return f"complex({element}, {self.rows}_[{(self.number + 1) * WARP} + k])"
        if self.dtype == BOOL:
            return f"{element} != 0"
        return element if self.dtype in ROWS.values() else f"np.{self.dtype.name}({element})"

    @property
    def store(self) -> str:
        if self.dtype.kind == "c":
            first, second = (f"{self.rows}_[{(self.number + i) * WARP} + k]" for i in range(2))
            return f"{first} = {self.code}.real; {second} = {self.code}.imag"
        value = f"np.int64({self.code})" if self.rows == "i" and self.dtype != INT64 else self.code
        return f"{self.rows}_[{self.number * WARP} + k] = {value}"


class RegisterRows:
    """The rows of a loop; the first row of integers says why a lane has left."""

    def __init__(self) -> None:
        self.all: list[RegisterRow] = []
        self.sizes = {"i": 1, "d": 0, "f": 0}

    def add(self, kind: SlotKind, what: object, code: str, dtype: np.dtype, *, is_kept: bool) -> None:
        rows = {FLOAT64: "d", COMPLEX128: "d", FLOAT32: "f", COMPLEX64: "f"}.get(dtype, "i")
        self.all.append(RegisterRow(kind, what, code, dtype, rows, self.sizes[rows], is_kept))
        self.sizes[rows] += 2 if dtype.kind == "c" else 1


@dataclass(frozen=True, eq=False)
class CompiledLoop:
    """A loop's function, and what it needs."""

    function: Callable[..., None]
    slots: tuple[RegisterRow, ...]
    sizes: dict[str, int]
    scalars: tuple[LaneNumber, ...]  # that all lanes share, by what they stem from


def slots_of(writer: LaneWriter) -> RegisterRows:
    """The rows that a loop needs."""
    slots = RegisterRows()
    for name, (dtype, sharing) in writer.kinds.items():
        is_kept = name in writer.assigned
        if is_kept or sharing != Sharing.SHARED:
            slots.add("variable", name, writer.called(name, dtype), dtype, is_kept=is_kept)
    for op, figure in writer.given.items():
        if figure.sharing != Sharing.SHARED:
            slots.add("given", op, figure.code, figure.dtype, is_kept=False)
    if writer.is_by_lane:
        for code in ("current", "stop_of", "step_of"):
            slots.add("range", code, code, INT64, is_kept=code == "current")
    if writer.draws:
        for number in range(2):
            slots.add("state", number, f"s{number}", UINT64, is_kept=True)
    if writer.ways_out:
        slots.add("round", 0, "left_at", INT64, is_kept=True)
    for number, (_, result) in enumerate(writer.returns):
        if result is not None:
            slots.add("result", number, f"x{number}", result.dtype, is_kept=True)
    return slots


def compiled(writer: LaneWriter) -> CompiledLoop:
    """The loop as a function; compiled when it is first called."""
    slots = slots_of(writer)
    scalars = [
        LaneNumber(writer.called(name, dtype), dtype, sharing, origin=name)
        for name, (dtype, sharing) in writer.kinds.items()
        if sharing == Sharing.SHARED and name not in writer.assigned
    ] + [each for each in writer.given.values() if each.sharing == Sharing.SHARED]
    text = _text(writer, slots, [each.code for each in scalars])
    return CompiledLoop(_function(text), tuple(slots.all), slots.sizes, tuple(scalars))


@lru_cache(maxsize=64)
def _function(text: str) -> Callable[..., None]:
    names: dict[str, Any] = {
        **PRODUCTS, **FUNCTIONS, "np": np, "keep": _keep, "is_as_before": _is_as_before, "are_any_left": _are_any_left,
    }  # fmt: skip
    exec(text, names)  # noqa: S102 (written here, of operations)
    made: Callable[..., None] = njit(error_model="numpy", nogil=True, boundscheck=False)(names["loop"])
    return made


def _text(writer: LaneWriter, slots: RegisterRows, scalars: list[str]) -> str:
    source, loads = writer.source, LoadText(tuple(writer.arrays.values()), writer.loads)
    runs, divisions = range(len(source.runs)), range(len(source.divisions))
    drawn = [run.number for run in source.runs if run.draws]
    zero = " = ".join(
        [*(f"n{i}" for i in runs), *(f"d{i}" for i in divisions), *(f"q{i}" for i in drawn), "np.int64(0)"]
    )
    chunk = " = ".join([*(f"l{i}" for i in runs), *(f"a{i}" for i in runs), *(f"z{i}" for i in divisions), "np.int64(0)"])
    lines = [
        f"def loop({', '.join([*PARAMETERS, *loads.parameters, *scalars])}):",
        *(f"    {line}" for line in loads.at_first),
        "    done = 0",
        "    while done < rounds:",
        "        now = begun + done",
        f"        together = min({AT_ONCE} - (now & {AT_ONCE - 1}), rounds - done)",
        f"        {chunk}",
        "        some[:] = 0",
        "        apart = False",
        *(["        masks[:] = 0"] if drawn else []),
        "        for w in range(warps):",
        "            i_, d_, f_ = i[w], d[w], f[w]",
        "            keep(i_, oi[w]); keep(d_, od[w]); keep(f_, of[w])",
        "            trouble = work = loaded = np.int64(0)",
        *(f"            {line}" for line in loads.before_warp),
        "            for r in range(together):",
        "                number = now + r",
        "                counter = first + (done + r) * step",
        f"                {zero}",
        *(f"                {line}" for line in loads.before_round),
        f"                for k in range({WARP}):",
        "                    gone = i_[k]",
        *(f"                    {each.code} = {each.load}" for each in slots.all),
        "                    if gone == 0:",
        "                        g = np.int64(0)",
        *source.lines,
        "                        gone = g if g > 1 else 0",
        "                    i_[k] = gone",
        *(f"                    {each.store}" for each in slots.all if each.is_kept),
        "                if n0 == 0 or trouble != 0:",
        "                    break",
    ]  # fmt: skip
    for run in source.runs:
        instructions = sum(each.instructions for each in run.shares)
        loaded = sum(each.loads for each in run.shares)
        lines += [
            f"                if n{run.number} > 0:",
            f"                    l{run.number} += n{run.number}; a{run.number} += 1",
            f"                    some[{run.number}, r] = 1; work += {instructions}; loaded += {loaded}",
        ]
    for place, number in enumerate(drawn):
        lines += [f"                masks[{place}, r, w] = q{number}", f"                apart |= q{number} != full[w]"]
    for number, division in enumerate(source.divisions):
        lines += [
            f"                if 0 < d{number} < n{division.run}:",
            f"                    z{number} += 1; diverged[w] = True",
        ]
    lines += [
        *(f"                {line}" for line in loads.behind_round),
        "            if trouble != 0:",
        *(f"                {line}" for line in loads.in_trouble),
        f"                said[{WHY}] = {TROUBLE}; said[{WHERE}] = w",
        "                return",
        "            of_chunk[w] = work",
        *(["            loads_of_chunk[w] = loaded"] if writer.loads else []),
        *_rounds_of_steps(writer.asked_by, loads.in_trouble),
        "        for w in range(warps):",
        "            by_warp[w] += of_chunk[w]",
        *(["            loaded_by_warp[w] += loads_of_chunk[w]"] if writer.loads else []),
        *(f"        {line}" for line in loads.behind_chunk),
        *(f"        totals[{n}, 0] += some[{n}].sum(); totals[{n}, 1] += a{n}; totals[{n}, 2] += l{n}" for n in runs),
        *(f"        divided[{n}] += z{n}" for n in divisions),
        "        done += together",
        f"        said[{GONE}] = done; said[{LAST}] = together",
        "        if apart:",
        f"            said[{WHY}] = {DRAWS_APART}",
        "            return",
        "        if not are_any_left(i):",
        "            return",
    ]
    if isinstance(writer.loop, While) and not drawn:
        lines += [
            f"        if (begun + done) & {STUCK_AFTER - 1} == 0:",
            "            is_same = is_as_before(i, bi) and is_as_before(d, bd) and is_as_before(f, bf)",
            "            if is_kept[0] and is_same:",
            f"                said[{WHY}] = {STANDSTILL}",
            "                return",
            "            for w in range(warps):",
            "                keep(i[w], bi[w]); keep(d[w], bd[w]); keep(f[w], bf[w])",
            "            is_kept[0] = True",
        ]
    return "\n".join(lines)


def _rounds_of_steps(asked_by: Sequence[tuple[int, int]], in_trouble: Sequence[str]) -> list[str]:
    """Lines that have steps go rounds in which somebody came by the first of two runs, and nobody by the second."""
    if not asked_by:
        return []
    return [
        "        for r in range(together):",
        f"            if {' or '.join(f'some[{run}, r] > some[{asked}, r]' for run, asked in asked_by)}:",
        *(f"                {line}" for line in in_trouble),
        f"                said[{WHY}] = {TROUBLE}; said[{WHERE}] = warps - 1",
        "                return",
    ]


@njit(nogil=True, error_model="numpy", boundscheck=False)
def _keep(row: np.ndarray, into: np.ndarray) -> None:
    for k in range(len(row)):
        into[k] = row[k]


@njit(nogil=True, error_model="numpy", boundscheck=False)
def _is_as_before(rows: np.ndarray, before: np.ndarray) -> bool:
    for w in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            one, other = rows[w, k], before[w, k]
            if one != other and (one == one or other == other):  # noqa: PLR0124 (of NaN)
                return False
    return True


@njit(nogil=True, error_model="numpy", boundscheck=False)
def _are_any_left(rows: np.ndarray) -> bool:
    for w in range(rows.shape[0]):
        for k in range(WARP):
            if rows[w, k] == 0:
                return True
    return False
