"""Stand-ins for the devices and the worker, in NumPy: what the grader's own tests run instead of kernels."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder.cudagpu.session import driver_fault
from autograder.errors import GraderFault, KernelFault, Line
from autograder.grading import worker_process
from autograder.grading.attempt import Place
from autograder.grading.jobs import FunctionSummary, Greeting, Summary
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.language.program import Program
from autograder.records.runs import ROUND_REQUESTS, Comparison, Launch, Run, RunRequest, Source, Uninitialised
from autograder.simulated_device import SimulatedDevice

Function = Callable[..., object]
FAR_OUTSIDE = 1 << 24  # elements: beyond what a small test's arrays and what lies around them can take


def run_in_numpy(function: Function, request: RunRequest) -> Run:
    """Calls a NumPy function on copies of the arguments; what it leaves NaN counts as unwritten."""
    outputs: dict[str, np.ndarray] = {}
    arguments: dict[str, Any] = {}
    for name, value in request.arguments.items():
        if isinstance(value, Uninitialised):
            value = np.full(value.shape, np.nan, value.dtype)
        arguments[name] = value.copy() if isinstance(value, np.ndarray) else value
        if isinstance(value, np.ndarray):
            outputs[name] = arguments[name]
    function(**arguments)
    written = {k: ~np.isnan(outputs[k]) for k, v in request.arguments.items() if isinstance(v, Uninitialised)}
    return Run(outputs=outputs, written=written, estimated_ns=1000.0)


def a_call() -> RunRequest:
    """What a fake is asked to compare, each time it is timed."""
    return RunRequest("double", {})


class FakeWorker(Worker):
    """Acts as a `Worker` whose submission is one NumPy function called `double`, `speed` times the baseline's speed."""

    greeting = Greeting("fake device", "simulated", ("separate process",))
    source: Source = "simulated"

    def __init__(
        self, function: Function, speed: float = 3.0, summary: Summary | None = None, timed: Source = "simulated"
    ) -> None:
        self.function, self.speed, self.timed = function, speed, timed
        self.last_details = ""
        line = Line("double.py", 3)
        functions = {"double": FunctionSummary("host", ("a", "out"), line, "def double(a, out): ...")}
        self.summary = summary or Summary("double.py", functions)

    @property
    def seconds_used(self) -> float:
        return 0.0

    def read(self, submission: Any, *_: Any, **__: Any) -> Summary:
        return self.summary

    def run(self, request: RunRequest, on: Place) -> Run:
        return run_in_numpy(self.function, request)

    def compare(self, requests: Sequence[RunRequest], threshold: float | None, goes_on: bool = False) -> Comparison:
        speed = self.speed
        return Comparison(speed, 0.9 * speed, 1.1 * speed, self.timed, 1000.0, 1000.0 / speed)


class TimingWorker(FakeWorker):
    """A worker that times in so many rounds, as on a GPU: the function on each request that is not for warming up."""

    source: Source = "measured"

    def __init__(self, function: Function, rounds: int) -> None:
        super().__init__(function)
        self.rounds, self.so_far = rounds, 0
        self.warmed_up_on: list[bytes] = []
        self.timed_on: list[bytes] = []  # the first argument of each call

    def compare(self, requests: Sequence[RunRequest], threshold: float | None, goes_on: bool = False) -> Comparison:
        first = range(len(requests))[-ROUND_REQUESTS]
        self.warmed_up_on += [each.arguments["a"].tobytes() for each in requests[:first]]
        self.timed_on += [each.arguments["a"].tobytes() for each in requests[first:]]
        self.so_far += 1
        return Comparison(
            3.0, 2.9, 3.1, "measured", 3000.0, 1000.0,
            outputs=[run_in_numpy(self.function, each).outputs for each in requests[first:]],
            request_of_output=list(range(first, len(requests))), rounds=(3.0,) * self.so_far,
            goes_on=self.so_far < self.rounds,
        )  # fmt: skip


def lab_with(*judges: Callable[..., Any], hints: Sequence[Callable[..., Any]] = (), **fields: Any) -> Lab:
    """A lab of these checks and hints, as `load_lab` would give it."""
    return Lab(
        title="Doubling",
        lesson="00_start_here",
        required=fields.pop("required", ()),
        name="lab99_doubling",
        checks=tuple(vars(judge)["as_check"] for judge in judges),
        hints=tuple(vars(each)["as_hint"] for each in hints),
        **fields,
    )


class MisbehavingDevice:
    """A device for the worker process: does what the function's name says, in ways that no interpreter should."""

    name, source = "misbehaving device", "simulated"
    lost = False

    def is_usable(self) -> bool:
        return not self.lost

    def run(self, program: Program, request: RunRequest) -> Run:
        action = request.arguments.get("action")
        if action == "sleep":
            time.sleep(60)
        if action == "spin":
            until = time.monotonic() + 60
            while time.monotonic() < until:
                pass
        if action == "die":
            os._exit(11)
        if action == "lose the device":
            self.lost = True
        if self.lost:
            return Run(outputs={"pid": np.array([os.getpid()])}, fault=KernelFault("The GPU is gone."))
        if action == "raise":
            raise ZeroDivisionError("a bug in the device")
        if action == "allocate":
            return Run(outputs={"c": np.ones(1 << 32, np.uint8)})
        if action == "large reply":
            return Run(outputs={"c": np.ones(1 << 22, np.uint8)})
        if action == "print":
            print("a stray line on standard output", flush=True)
        if action in ("environment", "draw"):
            return Run(returned=" ".join(os.environ) if action == "environment" else str(np.random.random()))
        return Run(outputs={"pid": np.array([os.getpid()])}, returned="done")

    def compare(self, baseline: Program, submission: Program, requests: Sequence[RunRequest]) -> Comparison:
        return Comparison(2.0, 2.0, 2.0, "simulated", 2.0, 1.0)


class GpuInAllButSpeed:
    """A device that tells what a real GPU tells: no counts, no hazards, no estimates. An index that lies far outside its
    array ends the run, as on a GPU that has nothing mapped there, and leaves no output."""

    name, source = "no GPU", "measured"

    def __init__(self) -> None:
        self._simulated = SimulatedDevice()

    def is_usable(self) -> bool:
        return True

    def ends(self, run: Run) -> bool:
        """Whether this is a run that a GPU ends."""
        return any(max(map(abs, each.index or (0,))) > FAR_OUTSIDE for each in run.hazards if each.space == "global")

    def run(self, program: Program, request: RunRequest) -> Run:
        run = self._simulated.run(program, request)
        launches = tuple(
            Launch(each.kernel, each.grid, each.block, each.shared_bytes, measured_ns=1000.0) for each in run.launches
        )
        if self.ends(run):
            untimed = tuple(replace(each, measured_ns=None) for each in launches)
            fault = driver_fault(700, launches[:1])
            return Run(launches=untimed, fault=fault, source="measured")
        facts = {name: getattr(run, name) for name in ("outputs", "returned", "written", "transfers", "fault")}
        return Run(launches=launches, source="measured", measured_ns=1000.0 * len(launches), **facts)

    def compare(self, *arguments: Any, goes_on: bool = False, **settings: Any) -> Comparison:
        return self._simulated.compare(*arguments, **settings)


class GpuThatEndsEveryRun(GpuInAllButSpeed):
    """A device of which nothing comes back but the launches and a fault."""

    def ends(self, run: Run) -> bool:
        return True


FORGERIES: dict[str, Callable[[bytes], bytes]] = {  # of an honest frame
    "garbage": lambda frame: bytes(range(256)) * 40,
    "a huge length": lambda frame: (1 << 62).to_bytes(8, "little") + frame[8:],
    "a huge length of JSON": lambda frame: frame[:8] + (1 << 62).to_bytes(8, "little") + frame[16:],
    "half of a frame": lambda frame: frame[: len(frame) // 2],
    "nothing": lambda frame: b"",
    "a pickle": lambda frame: framed(pickle.dumps(Malicious())),
    "another record": lambda frame: framed(b'[[],[["a device","simulated",[]],null,"",false,false]]'),
    "deep JSON": lambda frame: framed(b"[" * 1_000_000),
    "JSON that grows": lambda frame: framed(b"[[],[" + b"[]," * 5_000_000 + b"[]]]"),
    "no JSON": lambda frame: framed(b"[[],NaNaN]"),
    "a fault of the machine": lambda frame: framed(b'[[],[null,["MachineFault",null,"A full disk.","",""],"",false,false]]'),
    "an array of objects": lambda frame: framed(b'[[["|O8",[1],"C"]],[null,null,"",false,false]]', bytes(8)),
    "an array that is none": lambda frame: framed(b'[[["<f4",[-1,-1],"C"]],[null,null,"",false,false]]', bytes(4)),
}  # fmt: skip
FORGERY = "AUTOGRADER_TEST_FORGERY"  # which one a device makes of its answer about a function called `forge`


class Malicious:
    """An answer that would run a command in whoever unpickles it."""

    def __reduce__(self) -> Any:
        return os.system, ("touch CANARY",)


def framed(data: bytes, arrays: bytes = b"") -> bytes:
    """A frame of wire.py around any bytes."""
    lengths = (8 + len(data) + len(arrays), len(data))
    return b"".join(each.to_bytes(8, "little") for each in lengths) + data + arrays


class ForgingDevice(SimulatedDevice):
    """A device that takes its worker over where a submission has a function called `forge`: it writes the answer itself."""

    def run(self, program: Program, request: RunRequest, **settings: Any) -> Run:
        run = super().run(program, request, **settings)
        if "forge" in program.functions and FORGERY in os.environ:
            honest = vars(worker_process)["send_reply"]

            def forged(stream: Any, *reply: Any) -> None:
                frame = io.BytesIO()
                honest(frame, *reply)
                stream.write(FORGERIES[os.environ[FORGERY]](frame.getvalue()))
                stream.flush()
                os._exit(0)

            vars(worker_process)["send_reply"] = forged
        return run


def start_a_process() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def start_a_thread() -> None:
    thread = threading.Thread(target=list)
    thread.start()
    thread.join()


def connect(to: str) -> None:
    with socket.create_connection(("127.0.0.1", int(to)), timeout=5):
        pass


def fork() -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)


ATTEMPTS: dict[str, Callable[..., object]] = {
    "read": lambda path: Path(path).read_bytes(), "list": os.listdir, "write": lambda path: Path(path).write_text("x"),
    "change": lambda path: Path(path).open("r+").close(), "remove": os.unlink, "chmod": lambda path: os.chmod(path, 0o777),
    "truncate": lambda path: os.truncate(path, 0), "link": lambda path: os.symlink("/", path),
    "start a process": start_a_process, "start a thread": start_a_thread, "fork": fork, "connect": connect,
    "speak to a neighbour": lambda: socket.socket(getattr(socket, "AF_UNIX", -1)).close(),
    "send a packet": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "signal the grader": lambda: os.kill(os.getppid(), 0), "signal oneself": lambda: os.kill(os.getpid(), 0),
    "look into the grader": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "import": lambda name: importlib.import_module(name),
}  # fmt: skip


class TryingDevice:
    """A device that tries, in its worker, what its request names: "allowed", or the name of what refused it."""

    name, source = "trying device", "simulated"

    def run(self, program: Program, request: RunRequest) -> Run:
        try:
            ATTEMPTS[request.arguments["what"]](*request.arguments["given"])
        except (OSError, ImportError, subprocess.SubprocessError) as refused:
            return Run(returned=type(refused).__name__)
        return Run(returned="allowed")


class DeafDevice(SimulatedDevice):
    """A device whose worker answers its first run and takes no job after that."""

    def run(self, program: Program, request: RunRequest, **settings: Any) -> Run:
        def never(_: Any) -> Any:
            time.sleep(3600)

        vars(worker_process)["receive_job"] = never
        return super().run(program, request, **settings)


def device_without_driver() -> MisbehavingDevice:
    raise RuntimeError("no driver here")


class CardDevice(GpuInAllButSpeed):
    """A GPU of a machine that has the cards which TEST_CARDS names, kind by kind: sees those that CUDA_VISIBLE_DEVICES
    leaves, writes down when each run was on which, and does not open where its kind ends in "broken". Its process is killed
    in the middle of a run for each letter of the file that CARD_DEATHS names, which is one less then."""

    def __init__(self) -> None:
        super().__init__()
        kinds = os.environ[TEST_CARDS].split(",")
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(len(kinds))))).split(",")
        self.card, self.cards = seen[0], tuple(kinds[int(each)].removesuffix(" broken") for each in seen)
        self.name = self.cards[0]
        if kinds[int(self.card)].endswith("broken"):
            raise GraderFault("it does not answer.")

    def run(self, program: Program, request: RunRequest) -> Run:
        begun = time.monotonic()
        run = super().run(program, request)
        deaths = Path(os.environ.get(CARD_DEATHS, os.devnull))
        if left := deaths.read_text():
            deaths.write_text(left[1:])
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.4)  # so that runs on two cards overlap, if they can
        with open(os.environ[CARD_LOG], "a") as log:
            log.write(f"{self.card} {begun} {time.monotonic()}\n")
        return run


class KindDevice(SimulatedDevice):
    """The simulated GPU, called as this process's environment says, and measuring where that is a GPU's name."""

    def __init__(self) -> None:
        super().__init__()
        self.name = os.environ[TEST_KIND]
        self.source = "measured" if self.name.startswith("GPU") else "simulated"


TEST_KIND = "AUTOGRADER_TEST_KIND"
TEST_CARDS, CARD_LOG = "AUTOGRADER_TEST_CARDS", "AUTOGRADER_TEST_CARD_LOG"
CARD_DEATHS = "AUTOGRADER_TEST_CARD_DEATHS"
