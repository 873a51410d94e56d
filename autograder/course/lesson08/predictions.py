"""Predicted times of lesson 8's ladder on an H200 beside measured ones.

    python -m autograder.course.lesson08.predictions     # no GPU; some minutes; prints a table

Two blocks of each launch are counted, at two small depths: a kernel's work grows by the same amount from tile to tile.
Measured are those of notebooks/data/ladder_h200.json, registers those of instructions.json.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields

import numpy as np

from autograder.course.data import DATA
from autograder.course.lesson08 import instructions
from autograder.course.lesson08.kernels import LADDER, SMALL
from autograder.course.lesson08.launching import Rung
from autograder.perfmodel import SPECIFICATIONS, Estimate, estimate
from autograder.profiling import profile
from autograder.records.counters import Counters

SIDES = (1024, 2048, 4096)
TILES = 3, 5  # that are counted
BLOCKS = 2
OF_THE_LAUNCH = ("launches", "blocks", "threads", "warps", "simulated_blocks", "local_bytes", "unique_store_sectors")


def counted(rung: Rung, side: int, depth: int) -> Counters:
    """What the compiler leaves of `side` x `depth` times `depth` x `side`, scaled up from two blocks."""
    (rows, columns), ones = rung.tile, np.ones(side * depth, np.float32)
    a, b, c = ones.reshape(side, depth), ones.reshape(depth, side), np.zeros((side, side), np.float32)
    given: tuple[object, ...] = (a, b, c)
    if rung.is_flat:
        given = (ones, ones, c.reshape(-1), *(np.uint32(each) for each in (side, depth, side)))
    return profile(rung.kernel, sample_blocks=BLOCKS)[(side // columns, side // rows), rung.block](*given).compiled


def predicted(rung: Rung, side: int) -> Estimate:
    """The estimate of a product of two square matrices."""
    tile = instructions.depth_of(rung)
    few, many = (counted(rung, side, tiles * tile) for tiles in TILES)
    further = (side // tile - TILES[0]) / (TILES[1] - TILES[0])
    counts = {each.name: getattr(few, each.name) for each in fields(Counters)}
    for name in counts.keys() - set(OF_THE_LAUNCH):
        counts[name] = round(counts[name] + (getattr(many, name) - counts[name]) * further)
    compiled = json.loads(instructions.COMPILED.read_text(encoding="utf-8"))["rungs"][rung.name]
    return estimate(
        Counters(**counts),
        SPECIFICATIONS["H200"],
        threads_per_block=rung.block if isinstance(rung.block, int) else math.prod(rung.block),
        shared_bytes_per_block=compiled["shared_bytes"],
        registers_per_thread=compiled["registers"],
        array_bytes=3 * 4 * side * side,
    )


def main() -> None:
    measured = json.loads((DATA / "ladder_h200.json").read_text(encoding="utf-8"))["products"]["milliseconds"]
    print("| rung | " + " | ".join(f"{side}: predicted, measured ms, ratio, limited by" for side in SIDES) + " |")
    print("|---" * (1 + len(SIDES)) + "|")
    for rung in (*LADDER[3:], SMALL):
        cells = []
        for side in SIDES:
            found, clock = predicted(rung, side), measured[str(side)][rung.name]
            cells.append(f"{found.ns / 1e6:.3f}, {clock:.3f}, {found.ns / 1e6 / clock:.2f}, {found.binding}")
        print(f"| {rung.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
