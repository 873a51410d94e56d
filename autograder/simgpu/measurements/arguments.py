"""Makers of a case's arguments: each returns a function of a seeded generator, for arrays that are always the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator], tuple[Any, ...]]


def matrices(m: int, k: int, n: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.random((m, k), np.float32), rng.random((k, n), np.float32), np.zeros((m, n), np.float32)

    return make


def transposed_matrices(m: int, k: int, n: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.random((k, m), np.float32), rng.random((k, n), np.float32), np.zeros((m, n), np.float32)

    return make


def picture_and_room(rows: int, columns: int, swap: bool = False) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        shape = (columns, rows) if swap else (rows, columns)
        return rng.random((rows, columns), np.float32), np.zeros(shape, np.float32)

    return make


def vector_and_room(
    size: int, dtype: Any = np.float32, room: int | None = None, *more: Any
) -> Maker:
    """A random vector, an empty one, and `more` scalars."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return (rng.integers(1, 100, size).astype(dtype), np.zeros(room or size, dtype), *more)

    return make


def items_and_bins(size: int, one_value: bool = False) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        items = np.full(size, 7, np.int32) if one_value else rng.integers(0, 256, size).astype(np.int32)
        return items, np.zeros(256, np.int32)

    return make


def linked_list(size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The successor of each node of one random list (the last points to itself), and the nodes in list order."""
    order = rng.permutation(size).astype(np.int32)
    following = np.empty(size, np.int32)
    following[order[:-1]] = order[1:]
    following[order[-1]] = order[-1]
    return following, order


def list_to_jump(size: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        following, order = linked_list(size, rng)
        rank = np.ones(size, np.int32)
        rank[order[-1]] = 0
        return following, rank, np.zeros(size, np.int32), np.zeros(size, np.int32)

    return make


def list_to_walk(size: int, splitters: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        following, order = linked_list(size, rng)
        heads = rng.choice(order[1:], splitters, replace=False)
        heads[0] = order[0]
        is_head = np.zeros(size, np.bool_)
        is_head[heads] = True
        empty = (np.zeros(size, np.int32) for _ in range(2))
        return (following, heads, is_head, *empty, np.zeros(splitters, np.int32))

    return make


def ranks_to_finish(size: int, splitters: int) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        owner = rng.integers(0, splitters, size).astype(np.int32)
        rank, offset = (rng.integers(0, size, n).astype(np.int32) for n in (size, splitters))
        return rank, owner, offset, np.zeros(size, np.int32)

    return make


def particles(dtype: np.dtype, values_first: bool = False) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        each = np.zeros(1024, dtype)
        for name in dtype.names or ():
            each[name] = rng.random(1024, np.float32)
        values = rng.random(1024, np.float32)
        return (values, each) if values_first else (each, values)

    return make


def moved(size: int, limit: int | None = None, dtype: Any = np.int32) -> Maker:
    """A vector, random indices into it (a permutation without `limit`), and room for the result."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        index = rng.permutation(size) if limit is None else rng.integers(0, limit, size)
        return rng.random(size, np.float32), index.astype(dtype), np.zeros(size, np.float32)

    return make


def updates(bins: int, dtype: Any, size: int = 4096) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        index = rng.integers(0, bins, size).astype(np.int32)
        return rng.integers(0, 1000, size).astype(dtype), index, np.zeros(bins, dtype)

    return make


def index_and_totals(bins: int, used: bool = False, size: int = 4096) -> Maker:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        index = rng.integers(0, bins, size).astype(np.int32)
        return (index, np.zeros(bins, np.int32)) + ((np.zeros(size, np.int32),) if used else ())

    return make
