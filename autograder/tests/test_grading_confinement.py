"""The second wall: what a worker says that it cannot do, it cannot do; where a system has no wall, it says so and works.

The refusals below are skipped, visibly, where the worker's own list does not have that wall.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from autograder import cli
from autograder.errors import UsageError
from autograder.grading import isolation
from autograder.grading.confinement import landlock, seccomp
from autograder.grading.isolation import CONFINEMENT, NO_FILES, NO_NETWORK, NO_PROCESS
from autograder.grading.worker import Worker
from autograder.records.runs import RunRequest
from autograder.simgpu import primitives
from autograder.tests.lending import lend_cache
from autograder.tests.test_grading_forged import REQUEST, SOURCE

LINUX = sys.platform.startswith("linux")
PACKAGE = Path(primitives.__file__).parent
DEVICE = "autograder.tests.grading_fakes:TryingDevice"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class's folder, outside of all that a worker needs."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "ann.py").write_text(SOURCE)
    (folder / "seed.txt").write_text("a secret seed")
    return folder


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[Worker]:
    with Worker(DEVICE) as worker:
        worker.read(folder / "ann.py")
        yield worker


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def tried(worker: Worker, what: str, *given: object) -> Any:
    run = worker.run(RunRequest("double", {"what": what, "given": tuple(map(str, given))}, wants_returned=True), "device")
    assert run.fault is None
    return run.returned


def expect_wall(worker: Worker, wall: str) -> None:
    if wall not in worker.greeting.isolation:
        pytest.skip(f"this system has no such wall: {wall}")


# ---- in a worker ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["read", "write", "change", "remove", "truncate", "list"])
def test_a_worker_opens_nothing_of_a_class(worker: Worker, folder: Path, what: str) -> None:
    expect_wall(worker, NO_FILES)
    assert tried(worker, what, folder if what == "list" else folder / "seed.txt") == "PermissionError"
    assert (folder / "seed.txt").read_text() == "a secret seed"


NOT_NEEDED = ["/etc/passwd", "/proc/1/status", "/home", Path.home(), PACKAGE.parents[1], PACKAGE.parents[1] / "solutions"]


@pytest.mark.parametrize("path", NOT_NEEDED, ids=str)
def test_a_worker_opens_nothing_that_it_does_not_need(worker: Worker, path: Path | str) -> None:
    expect_wall(worker, NO_FILES)
    if not os.path.exists(path):
        pytest.skip(f"there is no {Path(path).name} here")
    assert tried(worker, "list" if os.path.isdir(path) else "read", path) == "PermissionError"


def test_a_worker_can_leave_nothing_for_whoever_comes_after_it(worker: Worker, folder: Path) -> None:
    """Neither in the caches that Numba and Python load from, nor in the temporary folder, nor beside submissions."""
    expect_wall(worker, NO_FILES)
    for place in (PACKAGE / "__pycache__", PACKAGE, Path("/tmp"), Path("/dev/shm"), folder, Path.home()):
        assert tried(worker, "write", place / "left_by_a_worker") in ("PermissionError", "FileNotFoundError")
        assert tried(worker, "link", place / "left_by_a_worker") in ("PermissionError", "FileNotFoundError")
        assert not (place / "left_by_a_worker").exists()


def test_a_worker_reads_its_libraries_and_writes_in_its_own_folder_which_goes_with_it(folder: Path) -> None:
    with Worker(DEVICE) as worker:
        worker.read(folder / "ann.py")
        assert tried(worker, "read", primitives.__file__) == "allowed"
        assert tried(worker, "import", "wave") == tried(worker, "import", "numpy.fft") == "allowed"
        assert worker._own is not None
        own = Path(worker._own.name)
        assert tried(worker, "write", own / "a") == tried(worker, "read", own / "a") == "allowed"
        assert (own / "a").read_text() == "x"
    assert not own.exists()


@pytest.mark.parametrize(
    "what", ["start a process", "fork", "signal the grader", "look into the grader", "speak to a neighbour", "send a packet"]
)
def test_a_worker_starts_nothing_and_speaks_to_nobody(worker: Worker, what: str) -> None:
    expect_wall(worker, NO_PROCESS)
    assert tried(worker, what) == "PermissionError"


def test_a_worker_has_no_network(worker: Worker, port: int) -> None:
    expect_wall(worker, NO_NETWORK)
    assert tried(worker, "connect", port) in ("PermissionError", "OSError", "ConnectionRefusedError")


def test_a_worker_changes_no_rights(worker: Worker, folder: Path) -> None:
    expect_wall(worker, NO_PROCESS)
    before = (folder / "seed.txt").stat().st_mode
    assert tried(worker, "chmod", folder / "seed.txt") == "PermissionError"
    assert (folder / "seed.txt").stat().st_mode == before


def test_a_worker_may_use_threads_and_signal_itself(worker: Worker) -> None:
    assert tried(worker, "start a thread") == tried(worker, "signal oneself") == "allowed"


def test_an_instructor_can_turn_the_walls_off_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(isolation.ENVIRONMENT, "off")
    with Worker(DEVICE) as worker:
        worker.read(folder / "ann.py")
        assert not {NO_FILES, NO_PROCESS} & set(worker.greeting.isolation)
        assert tried(worker, "read", folder / "seed.txt") == tried(worker, "start a process") == "allowed"
    monkeypatch.setenv(isolation.ENVIRONMENT, "perhaps")
    with pytest.raises(UsageError, match="it can be on or off"):
        Worker(DEVICE)


@pytest.mark.parametrize("wish", [None, "on"])
def test_a_worker_with_a_gpu_is_confined_only_if_that_is_asked_for(
    wish: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No driver has been tried behind these walls."""
    monkeypatch.delenv(isolation.ENVIRONMENT, raising=False)
    if wish:
        monkeypatch.setenv(isolation.ENVIRONMENT, wish)
    with Worker("autograder.tests.grading_fakes:GpuInAllButSpeed") as worker:
        assert worker.greeting.source == "measured"
        walls = {NO_FILES, NO_PROCESS} & set(worker.greeting.isolation)
    if wish is None:
        assert not walls
    elif landlock.version():
        assert NO_FILES in walls


@pytest.mark.long
def test_the_command_line_turns_them_off_and_the_result_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ann.py").write_text(SOURCE)
    monkeypatch.setenv(isolation.ENVIRONMENT, "on")  # put back afterwards
    for options in ([], ["--no-confinement"]):
        command = ["check", "lab01", str(tmp_path / "ann.py"), "--device", "simulated", *options]
        cli.main([*command, "--json", str(tmp_path / "ann.json")])
        said = set(json.loads((tmp_path / "ann.json").read_text())["isolation"])
        if options:
            assert not {NO_FILES, NO_PROCESS} & said
        elif landlock.version():
            assert NO_FILES in said


@pytest.mark.long
def test_what_the_cache_lacks_is_compiled_before_the_walls_are_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker fills Numba's cache, of whose modules one has nothing, and the next one finds in it whatever a run
    may need."""
    lend_cache(tmp_path / "cache", without=["primitives"])
    assert not list((tmp_path / "cache").rglob("primitives.*"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "ann.py").write_text(SOURCE)
    found = []
    for _ in range(2):
        with Worker("simulated") as worker:
            worker.read(tmp_path / "ann.py")
            assert worker.run(REQUEST, "device").fault is None
            found.append({each.name for each in (tmp_path / "cache").rglob("*.nbi")})
    names = {found.split(".")[1].split("-")[0] for found in found[0]}
    assert found[0] == found[1] and {"take_words", "extent", "count_mask", "note_atomics"} <= names


def test_what_is_compiled_when_it_is_called_is_kept_nowhere() -> None:
    """A confined worker that compiles it, as part of a loop that has gone on for a second, cannot write to the cache."""

    def one_more(number: int) -> int:
        return number + 1

    with_signature, without = primitives.compiled("int64(int64)")(one_more), primitives.compiled()(one_more)
    assert with_signature(1) == without(1) == 2
    assert cast(Any, with_signature).stats.cache_path and not cast(Any, without).stats.cache_path


# ---- on other systems ----------------------------------------------------------------------------------

PROBE = """
import encodings.idna, json, os, pathlib, signal, socket, sys, tempfile
import numpy as np
sys.path[:] = {path!r}
from autograder.grading import isolation
from autograder.grading.confinement import landlock, seccomp
from autograder.grading.jobs import Limits
try:
    import resource
except ImportError:
    pass
{before}  # a plain user may not be able to import anything any more
own = pathlib.Path(tempfile.mkdtemp())
outside = pathlib.Path(tempfile.mkdtemp())
found = {{"said": isolation.isolate(Limits(memory_bytes=1 << 30, file_bytes=1 << 20), own, **{options!r})}}
def attempt(name, action):
    try:
        action(); found[name] = "allowed"
    except (OSError, MemoryError) as refused:
        found[name] = type(refused).__name__
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets: packets.sendto(b"x", ("127.0.0.1", 9))
def write():
    with tempfile.TemporaryFile(dir=own) as file: file.write(bytes(1 << 21)); file.flush()
def fork():
    process = os.fork()
    if not process: os._exit(0)
    os.waitpid(process, 0)
attempt("network", send)
attempt("memory", lambda: np.ones(1 << 30, np.uint8))
attempt("files", write)
attempt("a file outside", lambda: (outside / "a").write_text("x"))
attempt("a list outside", lambda: os.listdir("/"))
attempt("fork", fork)
attempt("a Unix socket", lambda: socket.socket(socket.AF_UNIX).close())
print(json.dumps(found))
"""


def probed(before: str = "", **options: Any) -> dict[str, Any]:
    """What a process says and finds that has isolated itself."""
    code = PROBE.format(path=sys.path, before=before, options=options)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    said = found["said"]
    assert said[:2] == ["separate process", "time 20 s a run, 120 s in all"]
    assert (NO_NETWORK in said) == (found["network"] != "allowed")
    assert ("memory 1 GiB" in said) == (found["memory"] != "allowed")
    assert ("files 1 MiB" in said) == (found["files"] != "allowed")
    assert (NO_FILES in said) == (found["a file outside"] != "allowed") == (found["a list outside"] != "allowed")
    assert (NO_PROCESS in said) == (found["fork"] != "allowed")
    return found


NOBODY = "os.setgroups([]); os.setgid(65534); os.setuid(65534)"


@pytest.mark.parametrize("before", ["", NOBODY], ids=["whoever runs this", "a plain user"])
def test_what_is_listed_as_in_force_is_in_force(before: str) -> None:
    """Each limit is tried from inside a process that has isolated itself: refused where listed, allowed where not."""
    if before and (not LINUX or os.geteuid()):
        pytest.skip("whoever runs this is a plain user")
    said = probed(before)["said"]
    if LINUX:
        assert "memory 1 GiB" in said and "files 1 MiB" in said
    if landlock.version():
        assert NO_FILES in said


@pytest.mark.skipif(not LINUX, reason="these walls are Linux's alone")
@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
def test_an_older_kernel_closes_files_as_well(version: int) -> None:
    if landlock.version() < version:
        pytest.skip(f"this kernel has version {landlock.version()} of Landlock")
    assert NO_FILES in probed(f"landlock.version = lambda: {version}")["said"]


NO_LANDLOCK, NO_SECCOMP = "landlock._call = lambda *_: -1", "seccomp.ARCHITECTURES = {}"
NO_NAMESPACES = "isolation._without_network = lambda: False"


@pytest.mark.skipif(not LINUX, reason="these walls are Linux's alone")
@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ([NO_LANDLOCK], {NO_NETWORK, NO_PROCESS}),
        ([NO_SECCOMP, NO_NAMESPACES], {NO_FILES}),
        ([NO_NAMESPACES], {NO_NETWORK, NO_FILES, NO_PROCESS}),
        ([NO_LANDLOCK, NO_SECCOMP, NO_NAMESPACES], set()),
    ],
    ids=["no Landlock", "no seccomp", "no namespaces", "an old kernel in a container"],
)
def test_a_wall_that_the_system_lacks_is_left_out_and_not_listed(missing: list[str], left: set[str]) -> None:
    everything = set(probed()["said"])
    assert set(probed("; ".join(missing))["said"]) & set(CONFINEMENT) == left & everything


@pytest.mark.skipif(not LINUX, reason="these walls are Linux's alone")
def test_a_gpus_driver_keeps_what_it_needs_and_no_more() -> None:
    found = probed(with_gpu=True)
    assert found["a Unix socket"] == "allowed"
    if NO_PROCESS in probed()["said"]:
        assert found["network"] != "allowed" and found["fork"] == "PermissionError"
        assert probed()["a Unix socket"] == "PermissionError"


# ---- the filter of system calls ------------------------------------------------------------------------

DENIED = {name: numbers for table in (seccomp.STARTING, seccomp.OTHER_PROCESSES, seccomp.THE_SYSTEM, seccomp.WHOSE_FILES,
                                      seccomp.SHARING) for name, numbers in table.items()}  # fmt: skip
RULED = {**seccomp.TO_ONESELF, **seccomp.LIMITS_OF, "clone": seccomp.CLONE, "clone3": seccomp.CLONE3,
         "socket": seccomp.SOCKET, "seccomp": seccomp.SECCOMP}  # fmt: skip
ORDINARY = {"read": (0, 63), "write": (1, 64), "mmap": (9, 222), "openat": (257, 56), "exit_group": (231, 94),
            "futex": (202, 98), "ioctl": (16, 29), "brk": (12, 214)}  # fmt: skip
PID = 4321


def verdict(instructions: list[seccomp.Instruction], architecture: int, number: int, argument: int = 0) -> int:
    """What the kernel would do, by the definition of classic BPF."""
    shown = struct.pack("<IIQ6Q", number, architecture, 0, argument, *[0] * 5)
    at, value = 0, 0
    while True:
        code, holds, fails, operand = instructions[at]
        if code == seccomp.RETURN:
            return operand
        if code == seccomp.LOAD:
            (value,) = struct.unpack_from("<I", shown, operand)
            at += 1
            continue
        tests = {seccomp.EQUAL: value == operand, seccomp.AT_LEAST: value >= operand, seccomp.ANY_BIT: value & operand != 0}
        at += 1 + (holds if tests[code] else fails)


@pytest.mark.parametrize("may_share", [False, True])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_refuses_what_its_tables_name_and_nothing_else(machine: str, may_share: bool) -> None:
    column, architecture = seccomp.ARCHITECTURES[machine]
    made = seccomp.program(column, architecture, PID, may_share)
    assert len(made) < 4096  # the kernel's own limit

    def found(numbers: tuple[int | None, int | None], argument: int = 0) -> str:
        number = numbers[column]
        assert number is not None
        what = verdict(made, architecture, number, argument)
        return {seccomp.ALLOW: "allowed", seccomp.REFUSE: "refused", seccomp.UNKNOWN: "unknown"}[what]

    for name, numbers in DENIED.items():
        if numbers[column] is not None:
            assert found(numbers) == ("allowed" if may_share and name in seccomp.SHARING else "refused"), name
    assert {found(numbers) for numbers in ORDINARY.values()} == {"allowed"}
    assert found(seccomp.CLONE, 0x3D0F00) == "allowed" and found(seccomp.CLONE, 0x1200011) == "refused"
    assert found(seccomp.CLONE3) == "unknown"
    assert found(seccomp.SOCKET, 1) == ("allowed" if may_share else "refused")
    assert found(seccomp.SOCKET, 2) == found(seccomp.SOCKET, 16) == "refused"
    for numbers in seccomp.TO_ONESELF.values():
        assert [found(numbers, to) for to in (PID, 1, 0, 2**32 - 1)] == ["allowed", "refused", "refused", "refused"]
    assert [found(seccomp.LIMITS_OF["prlimit64"], of) for of in (0, PID, 1)] == ["allowed", "allowed", "refused"]
    other = next(each for _, each in seccomp.ARCHITECTURES.values() if each != architecture)
    assert verdict(made, other, 0) == seccomp.REFUSE
    if machine == "x86_64":
        assert verdict(made, architecture, 0x40000000 + 39) == seccomp.REFUSE


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
    ids=["x86_64", "aarch64"],
)
def test_the_numbers_are_those_of_the_kernels_own_header(column: int, header: str) -> None:
    if not Path(header).is_file():
        pytest.skip(f"there is no {header} here")
    known = {name: int(number) for name, number in
             re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(header).read_text())}  # fmt: skip
    newer = {"fchmodat2", "setxattrat", "removexattrat", "file_setattr", "open_tree_attr"}  # than some headers
    for name, numbers in {**DENIED, **RULED, **ORDINARY}.items():
        if name not in newer or name in known:
            assert known.get(name) == numbers[column], name
