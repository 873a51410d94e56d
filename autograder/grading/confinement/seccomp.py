"""Seccomp: from here on the kernel refuses a process the system calls that start others, open sockets or change the system.

For Linux on x86-64 and 64-bit ARM, in words that the kernel reads itself (classic BPF). What is refused fails with EPERM, as
if the user had no right to it. https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Mapping

from autograder.grading.confinement.landlock import without_new_privileges

Numbers = Mapping[str, tuple[int | None, int | None]]

# By name: its number on x86-64 and on 64-bit ARM (None: there is none), as in the kernel's unistd.h.
STARTING: Numbers = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
}  # fmt: skip
OTHER_PROCESSES: Numbers = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "kcmp": (312, 272),
    "tkill": (200, 130),
}  # fmt: skip
THE_SYSTEM: Numbers = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None), "ioperm": (173, None),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "mknod": (133, None), "mknodat": (259, 33),
}  # fmt: skip
WHOSE_FILES: Numbers = {  # what Landlock leaves to anybody who may name a path
    "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "truncate": (76, 45), "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
SHARING: Numbers = {  # what a GPU's driver may use to speak with its own parts
    "fchmod": (91, 52), "fchown": (93, 55), "fsetxattr": (190, 7), "fremovexattr": (199, 16), "socketpair": (53, 199),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "msgget": (68, 186),
}  # fmt: skip
UNIX_SOCKETS = (1,)  # AF_UNIX
TO_ONESELF: Numbers = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip
LIMITS_OF: Numbers = {"prlimit64": (302, 261)}
CLONE, CLONE3, SOCKET, SECCOMP = (56, 220), (435, 435), (41, 198), (317, 277)

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "amd64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}
CLONE_THREAD = 0x10000
OTHER_NUMBERS_FROM = 0x40000000  # x86-64's second set of numbers for the same calls

# one instruction: code, steps where it holds, steps where it does not, operand <linux/bpf_common.h>
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # in what the kernel shows: the low half, as both are little-endian
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | 38  # ENOSYS: the C library then takes the older call

SET_MODE_FILTER, ALL_THREADS, AT_FULL_SPEED = 1, 1, 4  # kernels before 5.16 would else slow the process's loads down
PR_SET_SECCOMP, MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.c_void_p)]


def restrict(*, may_share: bool) -> bool:
    """Refuses this process and all its threads what the tables above name; returns whether the kernel took it.

    `may_share`: all but `SHARING`, and Unix sockets. It cannot be taken back.
    """
    found = ARCHITECTURES.get(platform.machine().lower())
    if not sys.platform.startswith("linux") or found is None or sys.maxsize < 2**32 or not without_new_privileges():
        return False
    column, architecture = found
    instructions = program(column, architecture, os.getpid(), may_share)
    packed = b"".join(struct.pack("<HBBI", *each) for each in instructions)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    filtered = _Program(len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    call = ctypes.c_long(SECCOMP[column])
    if libc.syscall(call, SET_MODE_FILTER, ALL_THREADS | AT_FULL_SPEED, ctypes.byref(filtered)) == 0:
        return True
    return bool(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(filtered), 0, 0) == 0)


def program(column: int, architecture: int, process: int, may_share: bool) -> list[Instruction]:
    """The filter: each rule compares the call's number and returns, or steps on to the next rule."""
    made: list[Instruction] = [(LOAD, 0, 0, ARCHITECTURE_AT), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, REFUSE)]
    made.append((LOAD, 0, 0, NUMBER_AT))
    if column == 0:
        made += [(AT_LEAST, 0, 1, OTHER_NUMBERS_FROM), (RETURN, 0, 0, REFUSE)]
    tables = [STARTING, OTHER_PROCESSES, THE_SYSTEM, WHOSE_FILES, *([] if may_share else [SHARING])]
    for numbers in (number for table in tables for number in table.values()):
        made += _when(numbers[column], [(RETURN, 0, 0, REFUSE)])
    made += _when(CLONE3[column], [(RETURN, 0, 0, UNKNOWN)])
    made += _when(CLONE[column], _argument((ANY_BIT, 0, 1, CLONE_THREAD)))
    made += _when(SOCKET[column], _argument(*_one_of(UNIX_SOCKETS if may_share else ())))
    for numbers in TO_ONESELF.values():
        made += _when(numbers[column], _argument(*_one_of((process,))))
    for numbers in LIMITS_OF.values():
        made += _when(numbers[column], _argument(*_one_of((0, process))))
    return [*made, (RETURN, 0, 0, ALLOW)]


def _when(number: int | None, rule: list[Instruction]) -> list[Instruction]:
    return [] if number is None else [(EQUAL, 0, len(rule), number), *rule]


def _argument(*tests: Instruction) -> list[Instruction]:
    """Allows the call where a test of its first argument holds: the last one steps over the permission where it does not."""
    return [(LOAD, 0, 0, FIRST_ARGUMENT_AT), *tests, (RETURN, 0, 0, ALLOW if tests else REFUSE), (RETURN, 0, 0, REFUSE)]


def _one_of(values: Iterable[int]) -> list[Instruction]:
    values = list(values)
    return [(EQUAL, len(values) - 1 - at, 0 if at < len(values) - 1 else 1, value) for at, value in enumerate(values)]
