"""Landlock: from here on a process opens only what lies beneath the paths it names. https://docs.kernel.org/userspace-api/landlock.html

Linux 5.13 and later, where the kernel was built and started with it; no privilege is needed. Files that are open stay open.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same on every architecture
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
RESTRICT_SELF_TSYNC = 1 << 3
O_PATH = 0o10000000
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(13, 16))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
HANDLED_SINCE = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}  # by version of the interface

READ = READ_FILE | READ_DIR
USE = READ | WRITE_FILE | IOCTL_DEV  # of a device
MAKE = MAKE_DIR | MAKE_REG | MAKE_SYM
KEEP = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE | REFER | TRUNCATE  # of a folder of one's own

NET_SINCE, TCP = 4, 0b11  # bind and connect
SCOPE_SINCE, SCOPES = 6, 0b11  # abstract Unix sockets and signals to whoever is outside
TSYNC_SINCE = 8  # threads that are there already are held to it as well


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The version of Landlock that this kernel has; 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _call(CREATE_RULESET, None, 0, CREATE_RULESET_VERSION))


def restrict(reach: Iterable[tuple[Path, int]]) -> bool:
    """Leaves this process these paths and what lies beneath them, each for what is said (`READ`, `USE`, `KEEP`).

    Returns whether the kernel took it all; a path that is not there is left out. It cannot be taken back.
    """
    known = version()
    if not known:
        return False
    handled = sum(rights for since, rights in HANDLED_SINCE.items() if since <= known)
    rules = _Ruleset(handled, TCP if known >= NET_SINCE else 0, SCOPES if known >= SCOPE_SINCE else 0)
    ruleset = _call(CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if ruleset < 0:
        return False
    try:
        for path, rights in reach:
            _allow(ruleset, path, rights & handled)
        flags = RESTRICT_SELF_TSYNC if known >= TSYNC_SINCE else 0
        return without_new_privileges() and _call(RESTRICT_SELF, ruleset, flags) == 0
    finally:
        os.close(ruleset)


def without_new_privileges() -> bool:
    """No program that this process starts gets more rights than it has; the kernel asks for that before any wall."""
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= OF_FILES
        beneath = _PathBeneath(rights, opened)
        _call(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: object) -> int:
    """A system call that the C library has no function for; -1 where it is refused."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result: int = syscall(ctypes.c_long(number), *given)
    return result
