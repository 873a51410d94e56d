"""Sizes for the unseen sparse matrices, graphs, strings, searches, records and grids."""

from __future__ import annotations

import numpy as np

from autograder.simgpu.measurements.sizing import (
    Arguments,
    Make,
    Random,
    Sized,
    blocks_of,
    elements,
    sized,
    striding,
    zeros,
)
from autograder.simgpu.measurements.unseen_irregular import BODY

BYTE, F32, I32 = np.uint8, np.float32, np.int32
SIDES = 24  # a graph's vertices are at least as many
STEP = 12  # most edges of a vertex, and one more


def sparse(r: Random, n: int) -> Arguments:
    """Rows of up to 19 elements: first of each, columns, values, and the vectors."""
    starts = np.concatenate([zeros(1, dtype=I32), np.cumsum(r.indices(20, n), dtype=I32)])
    count = int(starts[-1])
    return starts, r.indices(n, count), r.reals(count), r.reals(n), zeros(n)


def coordinates(r: Random, n: int) -> Arguments:
    starts, columns, values, x, y = sparse(r, n)
    return np.repeat(np.arange(n, dtype=I32), np.diff(starts)), columns, values, x, y


def graph(r: Random, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First edge of each of n vertices, and the edges' far ends: 1 to 11 each, ascending, each but once."""
    assert n >= SIDES
    reached = np.cumsum(r.indices(n // STEP, (n, STEP - 1)) + 1, axis=1, dtype=I32) - I32(1)
    degree = r.indices(STEP - 1, n) + 1
    taken = np.arange(STEP - 1, dtype=I32) < degree[:, None]
    return np.concatenate([zeros(1, dtype=I32), np.cumsum(degree, dtype=I32)]), reached[taken]


def levels(r: Random, n: int) -> np.ndarray:
    chosen: np.ndarray = np.array([-1, -1, 2, 3], I32)[r.indices(4, n)]
    return chosen


def frontier(r: Random, n: int) -> Arguments:
    starts, edges = graph(r, n)
    level = levels(r, n)
    return starts, edges, np.flatnonzero(level == 3).astype(I32), level, np.int64(3), zeros(1, dtype=I32)


def edges_of(r: Random, n: int) -> Arguments:
    """Four edges for each of n vertices: both ends, length, and distances so far, twice."""
    dist = r.wholes(1000, n)
    return r.indices(n, 4 * n), r.indices(n, 4 * n), r.wholes(100, 4 * n, low=1), dist, dist.copy()


def linked(r: Random, n: int) -> Arguments:
    """One list in random order: successors (the last is its own), ranks so far, and room for new ones."""
    order = r.order(n)
    following = np.empty(n, I32)
    following[order[:-1]] = order[1:]
    following[order[-1]] = order[-1]
    rank = np.ones(n, I32)
    rank[order[-1]] = 0
    return following, rank, zeros(n, dtype=I32), zeros(n, dtype=I32)


def text(more: int) -> Make:
    return lambda r, n: (r.wholes(100, n + more, BYTE, low=97), np.array([97, 98, 97, 99], BYTE), zeros(n, dtype=I32))


def bodies(r: Random, n: int) -> Arguments:
    made = zeros(n, dtype=BODY)
    for name in BODY.names or ():
        made[name] = r.reals(n)
    return made, F32(0.1)


IRREGULAR: tuple[Sized, ...] = (
    sized("csr_in_place", elements, sparse, 300, 1 << 17, 1 << 21),
    sized("csr_warp_per_row", blocks_of(32), sparse, 300, 1 << 17, 1 << 21),
    sized("coo_atomic", lambda n, a: a[2].size, coordinates, 300, 1 << 17, 1 << 21),
    sized("ell_rows", elements,
          lambda r, n: (r.rng.integers(-2 * n // 3, n, (12, n), dtype=I32).clip(-1), r.reals((12, n)), r.reals(n),
                        zeros(n)), 300, 1 << 17, 1 << 21),
    sized("bfs_level", lambda n, a: a[2].size, frontier, 500, 1 << 19, 1 << 22),
    sized("bfs_pull", elements, lambda r, n: (*graph(r, n), levels(r, n), zeros(n, dtype=I32), np.int64(3)),
          500, 1 << 19, 1 << 22),
    sized("relax_edges", lambda n, a: 4 * n, edges_of, 500, 1 << 18, 1 << 22),
    sized("count_degrees", striding(128),
          lambda r, n: (*edges_of(r, n)[:2], zeros(n, dtype=I32)), 500, 1 << 18, 1 << 22),
    sized("least_label", elements, lambda r, n: (*graph(r, n), r.order(n), zeros(n, dtype=I32)), 500, 1 << 19, 1 << 22),
    sized("page_rank_pull", elements, lambda r, n: (*graph(r, n), r.wholes(9, n, low=1), r.reals(n), zeros(n),
          F32(0.85)), 500, 1 << 19, 1 << 22),
    sized("jump_two", elements, linked, 1000, 1 << 20, 1 << 23),
    sized("find_left", elements,
          lambda r, n: (r.ascending(n, 1e9, np.int64), r.wholes(10**9, n, np.int64), zeros(n, dtype=np.int64)),
          500, 1 << 18, 1 << 23),
    sized("stab_intervals", elements, lambda r, n: (r.reals(1024), r.reals(1024) + F32(0.5), r.reals(n),
          zeros(n, dtype=I32)), 256, 1 << 16, 1 << 20),
    sized("fnv_hash", elements, lambda r, n: (r.wholes(256, (n, 8), BYTE), zeros(n, dtype=np.int64)),
          500, 1 << 21, 1 << 25),
    sized("find_pattern", elements, text(0), 1000, 1 << 22, 1 << 26),
    sized("find_pattern_tile", elements, text(4), 1024, 1 << 22, 1 << 26),
    sized("edit_diagonal", elements, lambda r, n: (r.wholes(4, n, BYTE), r.wholes(4, n, BYTE),
          r.wholes(200, (n + 1, n + 1)), np.int64(n + 10)), 200, 3000, 14_000),
    sized("edit_distance_block", elements, lambda r, n: (r.wholes(4, (n, 10), BYTE), r.wholes(4, 12, BYTE),
          zeros(n, dtype=I32)), 100, 1 << 17, 1 << 22),
    sized("move_bodies", elements, bodies, 1000, 1 << 21, 1 << 25),
    sized("move_columns", elements, lambda r, n: (*(r.reals(n) for _ in range(4)), F32(0.5)), 1000, 1 << 21, 1 << 25),
    sized("sort_into_cells", elements, lambda r, n: (r.reals(n), r.reals(n), zeros(n, dtype=I32), zeros(256, dtype=I32),
          np.int64(16)), 1000, 1 << 18, 1 << 22),
    sized("neighbours_in_reach", elements, lambda r, n: (r.reals(n), r.reals(n), F32(0.1), zeros(n, dtype=I32)),
          200, 4000, 30_000, sample=64),
    sized("nearest_center", elements, lambda r, n: (r.reals((n, 3)), r.reals((8, 3)), zeros(n, dtype=I32)),
          500, 1 << 20, 1 << 24),
    sized("sum_by_label", elements, lambda r, n: (r.wholes(64, (n, 3)).astype(F32), r.indices(8, n), zeros(8, 3),
          zeros(8, dtype=I32)), 500, 1 << 15, 1 << 19),
    sized("three_nearest", elements, lambda r, n: (r.reals(1000), r.reals(n), zeros(n, 3)), 100, 1 << 14, 1 << 18),
    sized("interpolate_table", elements, lambda r, n: (np.linspace(0, 1, 17, dtype=F32), r.reals(17), r.reals(n),
          zeros(n)), 500, 1 << 20, 1 << 24),
    sized("gather_pairs", elements, lambda r, n: (r.reals(n), r.indices(n, n), r.indices(n, n), zeros(n)),
          1000, 1 << 20, 1 << 24),
    sized("scatter_inverse", elements, lambda r, n: (r.order(n), zeros(n, dtype=I32)), 1000, 1 << 20, 1 << 24),
    sized("triangles_at", elements, lambda r, n: (*graph(r, n), zeros(n, dtype=I32)), 500, 1 << 17, 1 << 20),
    sized("letter_kinds", elements, lambda r, n: (r.wholes(128, n, BYTE), zeros(n, dtype=BYTE)),
          1000, 1 << 23, 1 << 27),
)  # fmt: skip
