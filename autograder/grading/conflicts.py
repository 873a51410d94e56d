"""How often warps wait for banks of shared memory: what the checks of several labs look at."""

from __future__ import annotations

from autograder.records.counters import Counters

LANES = 32


def shared_requests(counters: Counters) -> int:
    """Requests to shared memory of any kind: an atomic update gives what was there, as a load does."""
    return counters.shared_load_requests + counters.shared_store_requests + counters.shared_atomic_requests


def bank_conflicts(counters: Counters) -> int:
    """Wavefronts beyond the least needed, for tiles of float32.

    Nothing counts how often lanes take turns in an atomic update of float32, which is a loop of the compiler's: as often
    as there are lanes, then. Tiles are loaded and stored, so that this costs nobody anything who does that.
    """
    return (
        counters.shared_load_bank_conflicts
        + counters.shared_store_bank_conflicts
        + (LANES - 1) * counters.shared_atomic_requests
    )
