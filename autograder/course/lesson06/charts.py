"""Lesson 6's curves: how long walks get, how many splitters are best, and nanoseconds a node by the list's length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.course.lesson06.exercises import EULER
from autograder.course.lesson06.lists import walk_lengths
from autograder.figures.curves import Curve, curves
from autograder.figures.svg import Figure
from autograder.profiling import Profile

LANES = 32
LONG = 18  # lists of 2 to the power of this many nodes are drawn less often
THREE = ("one CPU core", "pointer jumping", "sublists")


@dataclass(frozen=True)
class Longest:
    """The longest walk of an average warp and of a whole list, and the least and most of the latter, in nodes."""

    of_warp: float
    of_all: float
    least: int
    most: int


def longest_walks(powers: Iterable[int] = range(8, 23, 2), seed: int = 2009) -> dict[int, Longest]:
    """Walks in lists of N = 2^power nodes with N / log2 N random splitters, drawn 200 times (20 times if long)."""
    rng, found = np.random.default_rng(seed), {}
    for power in powers:
        count, warps, longest = 2**power // power, [], []
        for _ in range(200 if power < LONG else 20):
            drawn = walk_lengths(2**power, count, rng)
            longest.append(int(drawn.max()))
            warps.append(drawn[: count // LANES * LANES].reshape(-1, LANES).max(axis=1).mean())
        found[power] = Longest(float(np.mean(warps)), float(np.mean(longest)), min(longest), max(longest))
    return found


def longest_walk_curves(found: Mapping[int, Longest]) -> Figure:
    """What `longest_walks` found, beside what theory says of it."""
    theory = [(2**k, k * (math.log(2**k / k) + EULER)) for k in found]
    spread = [(each.least, each.most) for each in found.values()]
    return curves(
        [
            Curve("longest of all", [(2**k, each.of_all) for k, each in found.items()], spread),
            Curve("log2 N (ln s + 0.58)", theory, theory=True),
            Curve("longest of a warp", [(2**k, each.of_warp) for k, each in found.items()]),
            Curve("4 log2 N", [(2**k, 4 * k) for k in found], theory=True),
            Curve("average", [(2**k, k) for k in found], theory=True),
        ],
        title="How long walks get, with N / log2 N random splitters",
        x_axis="nodes in the list (upright lines: from the least to the most of all lists)",
        y_axis="nodes",
        x_ticks={float(2**k): f"2^{k}" for k in (8, 12, 16, 20, 22)},
        y_ticks={float(value): f"{value}" for value in (5, 10, 20, 50, 100, 200, 500)},
    )


def spacing_curves(h200: Mapping[str, Any]) -> Figure:
    """Times of the walk and of ranking the splitters by nodes for each splitter, 2^24 nodes, from lists_h200.json."""
    spacings = {int(every): each for every, each in h200["spacings"].items()}
    lone_ns = h200["lone_walk_ns_a_node"][str(2**24)]
    alone = [(every, each["longest"] * lone_ns / 1e6) for every, each in spacings.items()]
    return curves(
        [
            Curve("walk", [(every, each["ms"]) for every, each in spacings.items()]),
            Curve("rank the splitters", [(every, each["jumping_ms"]) for every, each in spacings.items()]),
            Curve("longest walk alone", alone, theory=True),
        ],
        title="Few splitters or many? 16,777,216 nodes on an H200",
        x_axis="nodes for each splitter, on average",
        y_axis="ms",
        x_ticks={float(every): f"{every:,}" for every in (4, 16, 64, 256, 1024, 4096)},
        y_ticks={float(value): f"{value:g}" for value in (0.03, 0.1, 0.3, 1, 3, 10, 30)},
    )


def spacing_rows(h200: Mapping[str, Any]) -> str:
    """Both times of `spacing_curves` and their sum, a row each; below, the same choice as answers to lab 6 have it."""
    rows = [h200["how_spacings"]]
    for every, each in h200["spacings"].items():
        both = f"{each['ms']:>6.2f} + {each['jumping_ms']:>5.2f} = {each['ms'] + each['jumping_ms']:>6.2f} ms"
        rows.append(f"a splitter for every {int(every):>5,} nodes: {both}")
    rows.append(h200["how_answers"])
    for every in (8, 16, 32, 100):
        rows.append(f"a splitter for every {every:>5,} nodes: {h200['answers_ms'][f'every {every} nodes']:>22.2f} ms")
    return "\n".join(rows)


def recursion_rows(h200: Mapping[str, Any]) -> str:
    """Answers to lab 6 with and without walks on the splitters, and what walking again would save on a longer list."""
    answers = h200["answers_ms"]
    names = ("pointer jumping on all nodes", "every 8 nodes", "every 8 nodes, three walks")
    rows = [h200["how_answers"], *(f"{name:<29}{answers[name]:>6.3f} ms" for name in names)]
    once, again = h200["spacings"]["16"], answers["every 16 nodes"]
    walked, ranked = once["ms"], once["jumping_ms"]
    rows.append("2^24 nodes, a splitter for every 16")
    rows.append(f"walk {walked:.2f} ms + jumping on the 2^20 splitters {ranked:.2f} ms = {walked + ranked:.2f} ms")
    rows.append(f"walk {walked:.2f} ms + walking again, about {again:.2f} ms = about {walked + again:.2f} ms")
    return "\n".join(rows)


def line_rows(p: Profile) -> str:
    """Requests and sectors of the lines of a walk that follow links, and how many lanes are at work on average."""
    rows = ["load requests  sectors  store requests  sectors   line"]
    for each in p.lines:
        c = each.counters
        if "[after]" in each.text or "[node]" in each.text:
            loads = f"{c.global_load_requests:>13,} {c.global_load_sectors:>8,}"
            stores = f"{c.global_store_requests:>15,} {c.global_store_sectors:>8,}"
            rows.append(f"{loads} {stores}   {each.text.strip()}")
    rows.append(f"lanes at work in an average instruction: {p.counters.threads_per_instruction:.1f} of 32")
    return "\n".join(rows)


def ns_a_node_curves(milliseconds: Mapping[int, Mapping[str, float]]) -> Figure:
    """Nanoseconds for each node by the list's length, from the milliseconds of each way to rank it."""
    return curves(
        [Curve(name, [(size, 1e6 * times[name] / size) for size, times in milliseconds.items()]) for name in THREE],
        title="Nanoseconds for each node of the list",
        x_axis="nodes in the list",
        y_axis="ns a node",
        x_ticks={float(2**k): f"2^{k}" for k in (10, 14, 18, 22, 26)},
        y_ticks={float(value): f"{value:g}" for value in (0.1, 1, 10, 100, 1000)},
    )
