"""The logical clock of barriers: what they put in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Order:
    """An access stamped before a thread's last barrier is ordered before what the thread does now."""

    now: int
    grid_sync: int
    block_sync: np.ndarray  # int32, per block of the batch
    warp_sync: np.ndarray  # int32, per warp of the batch
    exchanged: np.ndarray | None = None  # int32, per warp: its last shuffle, which orders nothing; None before the first
    calls_under_atomic: int = 0  # nested calls of device functions that a condition on an atomic's result led to
