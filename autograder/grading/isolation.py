"""Limits that a worker process puts on itself, and an honest list of those that are really in force.

Nothing a student wrote runs as Python, so these are the second wall: they bound what a mistake of ours could cost.
Each limit is tried out after it is set; one that the platform ignores is not listed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile

from autograder.grading.jobs import GIB, Limits

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>


def isolate(limits: Limits) -> tuple[str, ...]:
    """Limits this process as far as the platform allows; returns what is in force, in words for the report."""
    in_force = ["separate process", f"time {limits.run_seconds:g} s a run, {limits.submission_seconds:g} s in all"]
    if _without_network():
        in_force.append("no network")
    if _limit_memory(limits.memory_bytes):
        in_force.append(f"memory {limits.memory_bytes / GIB:g} GiB")
    if _limit_files(limits.file_bytes):
        in_force.append(f"files {limits.file_bytes / GIB * 1024:g} MiB")
    return tuple(in_force)


def _without_network() -> bool:
    """Moves the process to a network namespace of its own, which has no interface (Linux, where allowed)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.unshare(CLONE_NEWNET) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
    except (OSError, AttributeError):
        return False


def _limit_memory(limit_bytes: int) -> bool:
    """Bounds private memory, then checks that an allocation beyond the bound is refused."""
    if sys.platform == "win32":
        return False
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
        mmap.mmap(-1, limit_bytes + (64 << 20), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (ImportError, AttributeError):
        return False
    except (OSError, MemoryError, ValueError) as refused:
        return not isinstance(refused, ValueError)
    return False


def _limit_files(limit_bytes: int) -> bool:
    """Bounds the size of any file written, then checks that a longer one is refused."""
    if sys.platform == "win32":
        return False
    try:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write then fails with an error instead of ending the worker
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    except (ImportError, AttributeError, ValueError, OSError):
        return False
    try:
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), limit_bytes + 1)
    except OSError:
        return True
    return False
