"""The GPUs of a machine: which of them grade a class, and how a worker is given one of its own.

A worker sees one card, through CUDA_VISIBLE_DEVICES, and has it to itself while it measures (worker.py, `gpu_lock`). All
cards that grade a class are of one kind: speeds that were measured on different ones could not be compared.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

VISIBLE = "CUDA_VISIBLE_DEVICES"


def named(count: int) -> tuple[str, ...]:
    """What the first `count` cards are called in CUDA_VISIBLE_DEVICES: by their numbers where that says nothing."""
    text = os.environ.get(VISIBLE)
    if text is None:
        return tuple(map(str, range(count)))
    return tuple(each.strip() for each in text.split(","))[:count]


def first() -> str:
    """The card that a process uses which was given none."""
    return (named(1) or ("0",))[0] or "0"


@dataclass(frozen=True)
class Cards:
    """The cards that grade a class, and a line for each that does not; no cards where nothing runs on a GPU."""

    used: tuple[str, ...] = ()
    left_aside: tuple[str, ...] = ()

    @classmethod
    def of(cls, kinds: Sequence[str]) -> Cards:
        """`kinds`: the names of the GPUs that a worker sees, the one that it uses first."""
        pairs = list(zip(named(len(kinds)), kinds, strict=False))
        used = tuple(card for card, kind in pairs if kind == kinds[0])
        others = (f"GPU {card} ({kind}) grades nobody: the class is graded on {kinds[0]}." for card, kind in pairs)
        return cls(used, tuple(line for line, (_, kind) in zip(others, pairs, strict=True) if kind != kinds[0]))
