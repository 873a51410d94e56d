"""Limits that a worker process puts on itself, and an honest list of those that are really in force.

Nothing a student wrote runs as Python, so these are the second wall: they bound what a mistake of ours could cost.
Each limit is tried out after it is set; one that the platform ignores is not listed.

`CONFINEMENT` is Linux's alone. A worker that drives a GPU is not confined unless an instructor asks for it, since nobody has
tried that with a driver (`wished_confinement`); a network namespace, which needs no files, stays.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import sys
import tempfile
from pathlib import Path

from autograder.errors import UsageError
from autograder.grading.confinement import landlock, seccomp
from autograder.grading.confinement.reach import reach
from autograder.grading.jobs import GIB, Limits

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
ENVIRONMENT = "AUTOGRADER_CONFINEMENT"  # on or off
NO_NETWORK, NO_FILES, NO_PROCESS = "no network", "no files but its libraries", "no other process"
CONFINEMENT = (NO_NETWORK, NO_FILES, NO_PROCESS)


def wished_confinement() -> bool | None:
    """Whether workers are to be confined where the system can, by $AUTOGRADER_CONFINEMENT; None: those without a GPU."""
    wish = os.environ.get(ENVIRONMENT)
    if wish not in ("on", "off", None):
        raise UsageError(f"{ENVIRONMENT} is {wish!r}; it can be on or off.")
    return None if wish is None else wish == "on"


def isolate(limits: Limits, own: Path, *, with_gpu: bool = False, confined: bool = True) -> tuple[str, ...]:
    """Limits this process as far as the platform allows; returns what is in force, in words for the report.

    `own`: the folder in which it may make files. `with_gpu`: what a GPU's driver needs is left to it.
    """
    in_force = ["separate process", f"time {limits.run_seconds:g} s a run, {limits.submission_seconds:g} s in all"]
    has_no_network = _without_network()
    if _limit_memory(limits.memory_bytes):
        in_force.append(f"memory {limits.memory_bytes / GIB:g} GiB")
    if _limit_files(limits.file_bytes, own):
        in_force.append(f"files {limits.file_bytes / GIB * 1024:g} MiB")
    if confined:
        landlock.restrict(reach(own, with_gpu))
        seccomp.restrict(may_share=with_gpu)
    found = (has_no_network or _opens_no_socket(), _opens_no_file(), _starts_no_process())
    return (*in_force, *(wall for wall, is_up in zip(CONFINEMENT, found, strict=True) if is_up))


def _opens_no_socket() -> bool:
    try:
        socket.socket().close()
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def _opens_no_file() -> bool:
    """Tried with the list of what lies in the root folder, which everybody may read."""
    try:
        os.listdir(os.sep)
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def _starts_no_process() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    started = int(ctypes.CDLL(None).fork())  # os.fork would warn of threads: this child does nothing but end
    if started == 0:
        os._exit(0)
    if started > 0:
        os.waitpid(started, 0)
    return started < 0


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


def _limit_files(limit_bytes: int, own: Path) -> bool:
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
        with tempfile.TemporaryFile(dir=own) as file:
            os.ftruncate(file.fileno(), limit_bytes + 1)
    except OSError:
        return True
    return False
