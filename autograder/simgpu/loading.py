"""Imports of what stays to the end of a process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def for_good() -> Iterator[None]:
    """What is made within stays: nobody looks for garbage among it, now or later.

    Numba and the simulated GPU make some hundred thousand objects as they are imported. To look through them again and
    again took a third of the import's time, and a tenth of a second at each full look afterwards.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
