"""Has the C library keep memory that is freed, for whoever asks next."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import numpy as np

ONE_BLOCK_BYTES = 32 * 1024**2  # the largest that glibc keeps (mallopt(3))
KEPT_BYTES = 256 * 1024**2  # at the heap's end, at most: what a dozen vectors of a million numbers take and more
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


@cache
def keep_freed_memory() -> None:
    """Has glibc keep the memory of vectors when they are freed, for the next ones; other libraries do as they do.

    glibc gives it back to the system, and a new vector's pages are then handed out and cleared one by one, which can take
    as long as all that is done with them. So it is with the lane vectors of a launch, and with the arrays of the program
    around it.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another library: once it has freed a block it may keep as much
        np.empty(ONE_BLOCK_BYTES // 4, np.uint8)
        return
    mallopt(M_MMAP_THRESHOLD, ONE_BLOCK_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
