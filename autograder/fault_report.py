"""What the kit leaves behind when it fails itself: a file with the details, and one line that says where it is."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback


def unexpected(problem: Exception) -> str:
    """Writes a report of an error of ours to a file and says so in one line."""
    path = write_fault_report("".join(traceback.format_exception(problem)))
    words = " ".join(str(problem).split())[:200]
    return f"an error of the grader, not yours: {type(problem).__name__}: {words}. Report written to {path}"


def write_fault_report(details: str) -> str:
    """Writes what went wrong on our side to a file of its own; returns its path."""
    handle, path = tempfile.mkstemp(prefix="autograder-fault-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(f"{sys.argv}\nPython {sys.version}\n{platform.platform()}\n\n{details}")
    return path
