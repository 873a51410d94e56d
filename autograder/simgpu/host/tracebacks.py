"""Tracebacks of the programs that are run, without the frames of what runs them."""

from __future__ import annotations

import traceback
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent.parent


def told_traceback(error: Exception, script: Path) -> str:
    """The traceback of an error as Python prints it, without our frames; nothing where it has only one."""
    told = traceback.TracebackException.from_exception(error, compact=True)
    left, most = [told], 0
    while left:
        each = left.pop()
        kept = [frame for frame in each.stack if not _is_ours(frame.filename, script)]
        each.stack = traceback.StackSummary.from_list(kept)
        most = max(most, len(kept))
        left += [chained for chained in (each.__cause__, each.__context__) if chained is not None]
    return "".join(told.format()) if most > 1 else ""


def _is_ours(filename: str, script: Path) -> bool:
    """Whether a frame is the kit's, or of what runs the script or the cell for it."""
    if filename == str(script):
        return False
    path = Path(filename)
    return "runpy" in filename or "IPython" in path.parts or path.is_relative_to(PACKAGE)
