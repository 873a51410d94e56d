"""The real GPU as a device: results, guard zones, faults and paired times. Skipped, visibly, where there is no GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.cudagpu import GpuFinding, find_gpu
from autograder.cudagpu.compilation import Compiler
from autograder.cudagpu.conditions import Flush
from autograder.cudagpu.memory import poisoned
from autograder.cudagpu.session import GpuSession
from autograder.cudagpu.timing import LEAST_ROUNDS
from autograder.errors import GraderFault, KernelFault
from autograder.grading.worker import Worker, gpu_lock
from autograder.language import parse_program, read_submission
from autograder.language.program import Program
from autograder.records.runs import ROUND_REQUESTS, WARM_UP_REQUESTS, Comparison, RunRequest, Uninitialised

FOUND: GpuFinding = find_gpu()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not FOUND.usable, reason=f"no GPU: {FOUND.reason}")]

VECTORS = """
from numba import cuda
import numpy as np

@cuda.jit(device=True)
def twice(x):
    return 2 * x

@cuda.jit
def double(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = twice(a[i])

@cuda.jit
def unguarded(a, b):
    i = cuda.grid(1)
    b[i] = a[min(i, a.size - 1)]

@cuda.jit
def half(a, b):
    i = cuda.grid(1)
    if i < a.size and i % 2 == 0:
        b[i] = a[i]

@cuda.jit
def spoils_input(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i]
        a[i] = 0

@cuda.jit
def far_outside(a, b):
    i = cuda.grid(1)
    b[i + 10**12] = a[0]

@cuda.jit
def mistyped(a, b):
    i = cuda.grid(1)
    b[i] = "text"

def on_the_host(a, b):
    middle = cuda.device_array(a.shape, np.float32)
    blocks = (a.size + 127) // 128
    double[blocks, 128](a, middle)
    double[blocks, 128](middle, b)

def far_outside_and_on(a, b):
    for _ in range(50):
        far_outside[1, 32](a, b)
        double[1, 32](a, b)
"""

SLOW_AND_FAST = """
from numba import cuda

@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    for j in range(REPEATS):
        if i < a.size:
            c[i] = a[i] + b[i]

REPEATS = {repeats}

def run(a, b, c):
    add[(a.size + 255) // 256, 256](a, b, c)
"""


@pytest.fixture(scope="module")
def opened():
    from autograder.cudagpu import GpuDevice

    return GpuDevice()


@pytest.fixture
def device(opened):
    """The GPU, and no other test of ours on it meanwhile: some of these measure."""
    with gpu_lock():
        yield opened


def program(folder: Path, text: str) -> Program:
    path = folder / "submission.py"
    path.write_text(text, encoding="utf-8")
    return parse_program(read_submission(path))


@pytest.fixture
def vectors(tmp_path: Path) -> Program:
    return program(tmp_path, VECTORS)


def request(function: str, n: int = 1000, dtype: type = np.float32, blocks: int | None = 8) -> RunRequest:
    a: np.ndarray = np.random.default_rng(n).integers(0, 100, n).astype(dtype)
    launch: dict[str, Any] = {"grid": blocks, "block": 128} if blocks else {}
    return RunRequest(function, {"a": a, "b": Uninitialised((n,), dtype)}, **launch)


def test_a_kernel_and_its_device_function_run(device, vectors: Program) -> None:
    asked = request("double")
    run = device.run(vectors, asked)
    assert run.fault is None and run.hazards == () and run.source == "measured"
    assert np.array_equal(run.outputs["b"], 2 * asked.arguments["a"])
    assert np.array_equal(run.outputs["a"], asked.arguments["a"])
    assert run.written["b"].all()
    assert run.launches[0].grid == (8, 1, 1) and run.launches[0].measured_ns > 0


def test_a_host_function_is_interpreted_and_its_launches_recorded(device, vectors: Program) -> None:
    asked = request("on_the_host", blocks=None)
    run = device.run(vectors, asked)
    assert run.fault is None
    assert np.array_equal(run.outputs["b"], 4 * asked.arguments["a"])
    assert [launch.kernel for launch in run.launches] == ["double", "double"]


def test_writes_behind_an_array_land_in_its_guard_zone(device, vectors: Program) -> None:
    run = device.run(vectors, request("unguarded"))
    assert [hazard.kind for hazard in run.hazards] == ["out_of_bounds"]
    assert run.hazards[0].array == "b" and "behind its last element" in run.hazards[0].message


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_lent_memory_is_poisoned_and_guarded_and_does_not_come_back(device, vectors: Program, dtype: type) -> None:
    lent = replace(request("unguarded", dtype=dtype), scratch=("b",))
    run = device.run(vectors, lent)
    assert set(run.outputs) == {"a"} and not run.written
    assert [hazard.array for hazard in run.hazards] == ["b"]
    arguments = {"a": Uninitialised((1000,), dtype), "b": Uninitialised((1000,), dtype)}
    copied = device.run(vectors, RunRequest("half", arguments, grid=8, block=128, scratch=("a",)))
    assert copied.outputs["b"].tobytes() == poisoned((1000,), dtype).tobytes()  # half of it copied from the lent array


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16])
def test_elements_left_out_are_known(device, vectors: Program, dtype: type) -> None:
    run = device.run(vectors, request("half", dtype=dtype))
    assert np.array_equal(run.written["b"], np.arange(1000) % 2 == 0)


def test_a_byte_that_happens_to_be_the_poison_still_counts_as_written(device, vectors: Program) -> None:
    a = np.arange(256, dtype=np.uint8)
    run = device.run(vectors, RunRequest("double", {"a": a, "b": Uninitialised((256,), np.uint8)}, grid=2, block=128))
    assert run.written["b"].all()


def test_a_changed_input_comes_back_changed(device, vectors: Program) -> None:
    assert not device.run(vectors, request("spoils_input")).outputs["a"].any()


@pytest.mark.parametrize(
    ("function", "word"), [("mistyped", "compiler does not accept"), ("absent", "does not define")]
)
def test_what_the_compiler_refuses_is_the_submission_s_fault(device, vectors, function: str, word: str) -> None:
    fault = device.run(vectors, request(function)).fault
    assert fault is not None and word in str(fault)


@pytest.mark.parametrize(("grid", "block"), [(0, 128), (8, 2048), (8, 1.5)])
def test_a_launch_that_no_gpu_accepts_is_refused(device, vectors: Program, grid: int, block: Any) -> None:
    asked = request("double")
    run = device.run(vectors, RunRequest("double", asked.arguments, grid=grid, block=block))
    assert isinstance(run.fault, KernelFault)


@pytest.mark.parametrize(
    ("function", "launch"), [("far_outside", "grid=1, block=32"), ("far_outside_and_on", "")], ids=["alone", "in a row"]
)
def test_an_index_far_outside_is_told_in_words_and_costs_this_process_only(
    tmp_path: Path, function: str, launch: str
) -> None:
    """Also where the next launch is the first to hear of it."""
    path = tmp_path / "submission.py"
    path.write_text(VECTORS, encoding="utf-8")
    script = (
        "import sys, numpy as np\n"
        "from autograder.cudagpu import GpuDevice\n"
        "from autograder.records.runs import RunRequest, Uninitialised\n"
        "from autograder.language import parse_program, read_submission\n"
        "program = parse_program(read_submission(sys.argv[1]))\n"
        "arguments = {'a': np.ones(10, np.float32), 'b': Uninitialised((10,), np.float32)}\n"
        "device = GpuDevice()\n"
        f"run = device.run(program, RunRequest('{function}', arguments, {launch}))\n"
        "print(device.is_usable(), type(run.fault).__name__, run.fault)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    assert told.startswith("False KernelFault ")
    assert "`far_outside` failed on the GPU" in told and "belongs to no array" in told


def vector_sum(n: int = 1 << 20) -> RunRequest:
    rng = np.random.default_rng()
    a, b = (rng.random(n, dtype=np.float32) for _ in range(2))
    return RunRequest("run", {"a": a, "b": b, "c": Uninitialised((n,), np.float32)})


def compared(
    device: Any, baseline: Program, submission: Program, draw: Callable[[], RunRequest], **options: Any
) -> tuple[Comparison, int]:
    """A comparison to its end, and how many outputs came of it, each held to the sum of its inputs."""
    requests = [draw() for _ in range(WARM_UP_REQUESTS + ROUND_REQUESTS)]
    found, verified = device.compare(baseline, submission, requests, **options), 0
    while True:
        for which, outputs in zip(found.request_of_output, found.outputs, strict=True):
            inputs = requests[which].arguments
            assert np.array_equal(outputs["c"], inputs["a"] + inputs["b"])
            verified += 1
        if not found.goes_on:
            return found, verified
        requests = [draw() for _ in range(ROUND_REQUESTS)]
        found = device.compare(baseline, submission, requests, goes_on=True, **options)


def test_a_program_is_as_fast_as_itself(device, tmp_path: Path) -> None:
    text = SLOW_AND_FAST.format(repeats=50)
    found, _ = compared(device, program(tmp_path, text), program(tmp_path, text), vector_sum)
    assert 0.95 < found.low <= found.ratio <= found.high < 1.05
    assert found.source == "measured" and "faster than the roofline floor" not in found.flags


def test_a_program_that_does_a_quarter_of_the_work_is_that_much_faster_and_every_output_is_given(
    device, tmp_path: Path
) -> None:
    slow = program(tmp_path, SLOW_AND_FAST.format(repeats=400))
    fast = program(tmp_path, SLOW_AND_FAST.format(repeats=100))
    found, verified = compared(device, slow, fast, vector_sum, threshold=2.0)
    assert 3 < found.ratio < 5 and found.low > 2.0
    assert verified == 2 * len(found.rounds) >= 2 * LEAST_ROUNDS


def test_a_comparison_that_is_not_under_way_cannot_go_on(device, tmp_path: Path) -> None:
    one = program(tmp_path, SLOW_AND_FAST.format(repeats=4))
    with pytest.raises(GraderFault, match="none of this submission is under way"):
        device.compare(one, one, [vector_sum(), vector_sum()], goes_on=True)


def test_a_submission_that_fails_ends_the_comparison_with_its_fault(device, tmp_path: Path) -> None:
    slow = program(tmp_path, SLOW_AND_FAST.format(repeats=4))
    broken = program(tmp_path, "def run(a, b, c):\n    return 1 / 0\n")
    assert compared(device, slow, broken, vector_sum)[0].fault is not None


MARK = 0x1234ABCD
SCRAPS = f"""
from numba import cuda
import numpy as np

@cuda.jit
def leaves(sink):
    words = cuda.shared.array(12288, np.uint32)
    for i in range(cuda.threadIdx.x, words.size, cuda.blockDim.x):
        words[i] = {MARK}
    cuda.syncthreads()
    cuda.nanosleep(20000)
    for i in range(cuda.threadIdx.x, words.size, cuda.blockDim.x):
        if words[words.size - 1 - i] != {MARK}:
            sink[0] = 1

@cuda.jit
def finds(found):
    words = cuda.shared.array(12288, np.uint32)
    n = 0
    for i in range(cuda.threadIdx.x, words.size, cuda.blockDim.x):
        n += words[i] == {MARK}
    cuda.nanosleep(20000)
    cuda.atomic.add(found, 0, n)
"""


def test_before_a_timed_call_shared_memory_holds_next_to_nothing_of_an_earlier_launch(device) -> None:
    names: dict[str, Any] = {}
    exec(SCRAPS, names)  # kernels of Numba's own
    from numba import cuda

    flush, blocks = Flush(), 4 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    sink, words_found = cuda.to_device(np.zeros(1, np.int64)), []
    for between in (lambda: None, flush):
        found = cuda.to_device(np.zeros(1, np.int64))
        names["leaves"][blocks, 256](sink)
        between()
        names["finds"][blocks, 256](found)
        words_found.append(int(found.copy_to_host()[0]))
    assert words_found[0] == blocks * 12288  # else this shows nothing
    assert words_found[1] < 0.01 * words_found[0]  # 0.5 to 0.6 % on an H200, in twenty tries


def test_what_a_session_leaves_behind_is_overwritten(device) -> None:
    from numba import cuda

    session = GpuSession(Compiler(), np.random.default_rng(0), timed=False)
    marks: np.ndarray = np.full(1 << 16, MARK, np.uint32)
    given, lent = session.to_device(marks), session.lent_array(marks.shape, marks.dtype, "")
    lent.copy_to_device(marks)
    session.overwrite()
    cuda.synchronize()
    for each in (given, lent):
        assert not (each.owner.raw.copy_to_host().view(np.uint32) == MARK).any()


def test_a_kernel_that_breaks_the_gpu_s_context_costs_its_own_submission_only(tmp_path: Path) -> None:
    broken, sound = tmp_path / "broken.py", tmp_path / "sound.py"
    broken.write_text(VECTORS + "\ndef run(a, b):\n    far_outside[1, 32](a, b)\n", encoding="utf-8")
    sound.write_text(VECTORS + "\ndef run(a, b):\n    double[1, 32](a, b)\n", encoding="utf-8")
    a = np.arange(32, dtype=np.float32)
    request = RunRequest("run", {"a": a, "b": Uninitialised((32,), np.float32)})
    with Worker("gpu") as worker:
        worker.read(broken)
        assert worker.run(request, "device").fault is not None
        worker.read(sound)
        run = worker.run(request, "device")
        assert run.fault is None and np.array_equal(run.outputs["b"], 2 * a)
