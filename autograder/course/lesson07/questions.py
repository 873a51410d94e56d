"""What both models and the clock say to the same questions: tables and pictures of lesson 7, from committed numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from autograder.course.data import DATA
from autograder.figures.marks import Row
from autograder.perfmodel import SPECIFICATIONS, hipc2009, roofline, sureness
from autograder.perfmodel.measurements import predicting

WHILE, RANGE = "matmul, x along columns, while, 32x32", "matmul, x along columns, 32x32"
ROWS, TILES = "matmul, x along rows, while, 32x32", "matmul, tiles of 16"

QUESTIONS: Mapping[str, tuple[str, str, int]] = {
    "x along rows / columns, N = 1,024": (ROWS, WHILE, 1024),
    "x along rows / columns, N = 1,100": (ROWS, WHILE, 1100),
    "range / while": (RANGE, WHILE, 1024),
    "x along columns / tiles of 16": (WHILE, TILES, 1024),
    "list: random / equal sublists, 2^20": ("list ranking, random sublists", "list ranking, equal sublists", 2**20),
    "histogram: one value / uniform, 2^20": ("histogram, global, one value", "histogram, global, uniform", 2**20),
    "histogram: global / privatized, 2^24": ("histogram, global, uniform", "histogram, privatized, uniform", 2**24),
}
"""How many times slower is the first kernel than the second, and at which size?"""

BOUNDED: Mapping[str, str] = {
    "range, x along columns": RANGE,
    "range, x along rows": "matmul, x along rows, 32x32",
    "while, x along columns": WHILE,
    "while, x along rows": ROWS,
    "tiles of 16": TILES,
}
MEMORY = ("L1", "shared memory", "L2", "DRAM")  # the parts of the memory system that a breakdown names


@cache
def _cases() -> Mapping[tuple[str, int], predicting.Prediction]:
    return predicting.by_case()


def ms_of_2009(case: str, size: int, *, hidden: bool = True) -> float:
    """What the model of 2009 gives for a counted case on its own GPU: MAX where waiting is `hidden`, else SUM."""
    return hipc2009.from_counters(_cases()[case, size].source).milliseconds(hidden=hidden)


def times_slower(one: str, other: str, size: int) -> dict[str, float]:
    """How many times slower `one` is than `other`: by the model of 2009, by today's, and by an H200's clock."""
    first, second = _cases()[one, size], _cases()[other, size]
    return {
        "model of 2009": ms_of_2009(one, size) / ms_of_2009(other, size),
        "model of today": first.estimate.ns / second.estimate.ns,
        "measured": first.measured_ns / second.measured_ns,
    }


def seven_questions(*who: str) -> list[Row]:
    """Each question with the answers of `who`, for a table or a picture."""
    found = {question: times_slower(*pair) for question, pair in QUESTIONS.items()}
    return [Row(question, {name: each[name] for name in who}) for question, each in found.items()]


def ridges_table() -> str:
    """Both rates of each GPU on the list, and where its roof has its ridge, a line a GPU."""
    lines = ["                    GFLOP/s    GB/s   operations a byte   operations an operand (4 bytes)"]
    for name, gpu in SPECIFICATIONS.items():
        its = roofline(gpu)
        ridge, speeds = its.ridge_flop_per_byte, f"{its.peak_gflop_per_s:>8,.0f} {its.bandwidth_gb_per_s:>7,.0f}"
        lines.append(f"{name:<18} {speeds} {ridge:>15.1f} {4 * ridge:>15.0f}")
    return "\n".join(lines)


def questions_table(rows: Sequence[Row]) -> str:
    """The answers of `seven_questions` as text, a line a question."""
    head = "times slower" + " " * 28 + "".join(f"{name.removeprefix('model of '):>10}" for name in rows[0].values)
    lines = [f"{row.name:<40}" + "".join(f"{value:>10.2f}" for value in row.values.values()) for row in rows]
    return "\n".join([head, *lines])


@dataclass(frozen=True)
class Bounds:
    """A kernel on an H200, in microseconds: to issue its instructions, of its slowest part of memory, by the clock."""

    name: str
    compute_us: float
    memory_us: float
    slowest_memory: str  # of MEMORY
    measured_us: float

    @property
    def max_us(self) -> float:
        """If the one is hidden behind the other."""
        return max(self.compute_us, self.memory_us)

    @property
    def sum_us(self) -> float:
        """If nothing is hidden."""
        return self.compute_us + self.memory_us

    @property
    def row(self) -> Row:
        """For a picture in which MAX is 1."""
        return Row(self.name, {"measured": self.measured_us / self.max_us}, (1.0, self.sum_us / self.max_us))


def bounds_on_h200(size: int = 1024) -> list[Bounds]:
    """MAX and SUM of five multiplies with the rates of an H200, and what its clock says."""
    found = list[Bounds]()
    for name, case in BOUNDED.items():
        needs = _cases()[case, size].estimate.breakdown
        slowest = max(MEMORY, key=needs.__getitem__)
        measured_us = _cases()[case, size].measured_ns / 1e3
        found.append(Bounds(name, needs["issue"] / 1e3, needs[slowest] / 1e3, slowest, measured_us))
    return found


def bounds_table(size: int = 1024) -> str:
    """The same as text, a line a kernel."""
    lines = [f"N = {size:,}, H200, us        N_comp  N_memory                   MAX    SUM  measured"]
    for each in bounds_on_h200(size):
        memory = f"{each.memory_us:>9.0f} {f'({each.slowest_memory})':<16}"
        bounds = f"{each.max_us:>6.0f} {each.sum_us:>6.0f} {each.measured_us:>9.0f}"
        lines.append(f"{each.name:<25} {each.compute_us:>9.0f} {memory}{bounds}")
    return "\n".join(lines)


def walks_table() -> str:
    """List ranking on an H200 at three sizes, predicted and measured, a line a list."""
    lines = ["list ranking, H200                 predicted us   measured us    error   limited by"]
    for how in ("random", "equal"):
        for size in (2**16, 2**20, 2**22):
            case = _cases()[f"list ranking, {how} sublists", size]
            times = f"{case.estimate.ns / 1e3:>12.1f} {case.measured_ns / 1e3:>13.1f} {100 * case.error:>+7.0f} %"
            lines.append(f"{how + ' sublists,':<17} N = {size:<12,} {times}   {case.estimate.binding}")
    return "\n".join(lines)


def large_histograms() -> str:
    """Histograms of 2^26 items, as an H200's clock has them, a line a kind of items."""
    told = json.loads((DATA / "case_studies_h200.json").read_text(encoding="utf-8"))
    lines = [told["what"]]
    for items, times in told["histogram"]["milliseconds"].items():
        factor = times["global atomics"] / times["privatized"]
        lines.append(f"{items:<10} " + ", ".join(f"{where} {ms} ms" for where, ms in times.items()) + f" (x {factor:.0f})")
    return "\n".join(lines)


def sureness_table() -> str:
    """How wide the model's intervals are and how many unseen cases they held, a line a resource."""
    sure = sureness.known()
    lines = ["limited by       off by a factor of at most   from kernels   unseen kernels inside"]
    for name, each in sorted(sure.times.items(), key=lambda one: one[0] == sureness.ANY):
        called = "all together" if name == sureness.ANY else name
        lines.append(f"{called:<20} {each.factor:>14.2f} {each.cases:>22} {sure.held_time(name):>18} %")
    narrow = f"a factor of {sure.of_learned.factor:.2f}; {sure.held_by_learned} % of unseen kernels inside"
    lines += ["", f"made from the first half: {narrow}"]
    factor, held = sure.ratios["latency"].factor, sure.held_ratio("latency")
    lines.append(f"ratios that latency limits: a factor of {factor:.2f}; {held} % of unseen answers inside")
    return "\n".join(lines)
