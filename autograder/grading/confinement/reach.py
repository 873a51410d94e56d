"""Which files a worker needs once it is up: Python's, the kit's, the system's libraries, and a GPU driver's devices.

It opens neither submissions nor specs, seeds or results: the grader opens what it is to read, and hands over the bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from autograder.grading.confinement.landlock import KEEP, READ, USE

LIBRARIES = (
    "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/lib", "/usr/share/zoneinfo", "/lib", "/lib32",
    "/lib64", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
)  # fmt: skip
ABOUT_THE_MACHINE = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Of a GPU's driver, on the safe side: it opens some of them only when the first kernel is launched.
OF_A_DRIVER = ("/usr", "/opt", "/etc", "/proc", "/sys", "/run/opengl-driver", "/run/nvidia", "/var/run/nvidia-persistenced")
DEVICES_OF_A_DRIVER = ("/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg", "/dev/dri", "/dev/shm")


def reach(own: Path, with_gpu: bool) -> list[tuple[Path, int]]:
    """The paths beneath which a worker may open files, each with what for; only in its own folder it makes any."""
    read = [*map(Path, LIBRARIES + ABOUT_THE_MACHINE), *of_python()]
    used = [Path(each) for each in DEVICES]
    kept = [own]
    if with_gpu:
        read += map(Path, OF_A_DRIVER)
        used += [Path(each) for pattern in DEVICES_OF_A_DRIVER for each in glob(pattern)]
        kept.append(Path("/dev/shm"))
    return [*((each, READ) for each in read), *((each, USE) for each in used), *((each, KEEP) for each in kept)]


def of_python() -> Iterator[Path]:
    """Where Python and its packages lie, and whatever has been imported from elsewhere: the kit itself, in a clone."""
    for each in {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}:
        yield Path(each)
    yield from (path for path in map(Path, sys.path) if path.name in ("site-packages", "dist-packages"))
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." not in name and name != "__main__" and file:
            path = Path(file)
            yield path.parent if path.stem == "__init__" else path
