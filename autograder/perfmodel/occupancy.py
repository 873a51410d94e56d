"""How many blocks fit on a multiprocessor at once, and what stops one more (CUDA programming guide, occupancy)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from autograder.perfmodel.specification import Specification

WARP = 32
REGISTER_ALLOCATION = 256  # a warp gets its registers in chunks of this many (CUDA occupancy calculator)


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps resident on one multiprocessor, and the resource that stops one more."""

    blocks: int
    warps: int
    max_warps: int
    limit: str

    @property
    def ratio(self) -> float:
        """Resident warps over the most that the multiprocessor holds, 0 to 1."""
        return self.warps / self.max_warps


def occupancy(
    specification: Specification, threads_per_block: int, shared_bytes_per_block: int, registers_per_thread: int
) -> Occupancy:
    """Theoretical occupancy of one launch; zero blocks if not even one fits."""
    warps = max(1, ceil(threads_per_block / WARP))
    registers = warps * ceil(registers_per_thread * WARP / REGISTER_ALLOCATION) * REGISTER_ALLOCATION
    limits = {
        "threads": specification.max_threads // (warps * WARP),
        "blocks": specification.max_blocks,
        "registers": specification.registers // max(1, registers),
    }
    shared = shared_bytes_per_block + specification.shared_reserved_bytes_per_block
    if shared_bytes_per_block:
        limits["shared memory"] = specification.shared_bytes // shared
    limit = min(limits, key=limits.__getitem__)
    blocks = limits[limit]
    return Occupancy(blocks, blocks * warps, specification.max_threads // WARP, limit)
