"""Loops that are carried out by a list of steps: all that is told of them is what stepping through each round tells."""

from __future__ import annotations

import random

import numpy as np
import pytest

from autograder import profile
from autograder.errors import KernelFault
from autograder.language.live import from_python
from autograder.simgpu import cuda_module
from autograder.simgpu.access import Memory
from autograder.simgpu.device import Session
from autograder.simgpu.interpreter import Interpreter
from autograder.simgpu.replay import MOST_RECORDS, Record, Replay
from autograder.tests.random_kernels import define

cuda = cuda_module.build_module()
BLOCKS, THREADS = 2, 64
START = """
@cuda.jit
def kernel(a, out, whole):
    x = cuda.threadIdx.x
    at = cuda.grid(1)
    tile = cuda.shared.array(128, np.float32)
    other = cuda.shared.array((4, 64), np.float32)
    sums = cuda.local.array((2, 4), np.float32)
    own = cuda.local.array(4, np.float32)
    total = np.float32(0)
    held = np.float32(1)
    count = 0
    for i in range(4):
        own[i] = i
        sums[0, i] = a[at]
        sums[1, i] = 1
        other[i, x] = a[at] - i
    tile[x] = a[at]
    tile[x + 64] = -a[at]
    cuda.syncthreads()
"""
END = """
    out[at] = total + held + own[0] + 2 * own[1] + 3 * own[2] + 5 * own[3] + tile[x] + other[1, x]
    for i in range(4):
        out[at] += sums[0, i] * (i + 1) + sums[1, i] * (7 - i)
    whole[at] = count
"""


def text_of(body: str) -> str:
    return START + "\n".join("    " + line for line in body.strip("\n").splitlines()) + "\n" + END


class Told:
    """Everything that is known of one run of a kernel."""

    def __init__(self, kernel) -> None:
        a = np.random.default_rng(1).integers(-4, 5, BLOCKS * THREADS).astype(np.float32)
        out, whole = np.zeros_like(a), np.zeros(a.size, np.int64)
        self.fault = self.counters = self.lines = self.hazards = None
        try:
            run = profile(kernel)[BLOCKS, THREADS](a, out, whole)
            self.counters, self.lines, self.hazards = run.counters, run.lines, run.hazards
        except KernelFault as fault:
            self.fault = str(fault)
        self.outputs = out.tobytes(), whole.tobytes()


@pytest.fixture
def seen(monkeypatch):
    """What is written down, and the replays there are."""
    seen = {"records": 0, "runs": 0}

    def counting(what, method):
        def call(self, *arguments):
            seen[what] += 1
            return method(self, *arguments)

        return call

    monkeypatch.setattr(Replay, "run", counting("runs", Replay.run))
    monkeypatch.setattr(Record, "__init__", counting("records", Record.__init__))
    return seen


def assert_same(body: str, monkeypatch) -> Told:
    kernel = define(text_of(body), {"cuda": cuda, "np": np, "SIDE": 4})["kernel"]
    replayed = Told(kernel)
    with monkeypatch.context() as patch:
        patch.setattr(Interpreter, "plain_loop", lambda *_: None)
        stepped = Told(kernel)
    assert vars(replayed) == vars(stepped), body
    return replayed


REPEATS = {
    "tiles in shared memory": """
for phase in range(6):
    cuda.syncthreads()
    tile[x] = phase + x
    cuda.syncthreads()
    for i in range(SIDE * 2):
        total += tile[i + x // 8 * 8] * tile[8 * i]
""",
    "several sums a thread": """
for phase in range(5):
    for term in range(3):
        for i in range(4):
            own[i] = other[i, term]
        for i in range(2):
            for j in range(4):
                sums[i, j] += own[j] * other[term, x]
""",
    "elements that change places": """
for phase in range(5):
    for i in range(3):
        keep = own[i]
        own[i] = own[i + 1]
        own[i + 1] = keep
""",
    "variables that hold each other's old values": """
for phase in range(5):
    for i in range(3):
        before = held
        held = total - own[i]
        total = before + held
""",
    "a variable of a value that stays where it was": """
for phase in range(5):
    for i in range(4):
        held = sums[1, i]
        sums[1, i] = held + own[i]
        total += held
""",
    "constants and counters": """
for phase in range(4):
    for i in range(1, 7, 2):
        own[i // 2] = 3
        total += -own[1]
""",
    "numbers that stay known": """
for phase in range(4):
    n = 0
    for i in range(4):
        n = i * 2 + 1
        sums[0, i] = n
        total += own[3]
    count += n + i
    total += sums[1, n - 4]
""",
    "stores to shared memory": """
for phase in range(5):
    cuda.syncthreads()
    for i in range(4):
        other[i, x] = own[i] + other[i, x]
    cuda.syncthreads()
    total += other[1, 63 - x]
""",
    "a race that begins later": """
for phase in range(6):
    if phase < 3:
        cuda.syncthreads()
    tile[x] = phase
    if phase < 3:
        cuda.syncthreads()
    for i in range(4):
        total += tile[i * 16]
""",
    "a race of its own": """
for phase in range(5):
    for i in range(3):
        tile[x + i] = tile[x] + 1
""",
    "float64 in every round": """
for phase in range(4):
    for i in range(4):
        total += own[i] * 0.5
""",
    "something unwritten": """
room = cuda.shared.array(96, np.float32)
room[x] = 1
for phase in range(4):
    cuda.syncthreads()
    for i in range(3):
        total += room[x + 16 * i]
""",
    "outside its array": """
for phase in range(4):
    for i in range(3):
        total += tile[x + 32 * (i + 1)]
""",
    "a variable that steps on": """
step = 1
for phase in range(9):
    for i in range(3):
        own[i] += other[i, x] * step
    step += 1
""",
    "an index that steps on": """
step = 0
for phase in range(9):
    for i in range(3):
        total += other[i, step]
    step = (step + 1) % 5
""",
    "bounds that change": """
rounds = 1
for phase in range(6):
    for i in range(rounds):
        total += other[i, x]
    rounds = min(rounds + 1, 4)
""",
    "other threads each time": """
for phase in range(9):
    if x % 2 == phase % 2 or phase > 3:
        for i in range(4):
            total += other[i, x]
""",
    "threads that leave": """
for phase in range(6):
    if x == phase * 2:
        return
    for i in range(4):
        sums[0, i] += own[i]
""",
    "a type that changes": """
value = 1
for phase in range(5):
    for i in range(3):
        value = value + own[i]
total += value
""",
    "no round at all": """
for phase in range(3):
    for i in range(4, 4):
        total += own[i]
""",
    "another array by the same name": """
part = sums[0]
for phase in range(6):
    for i in range(4):
        total += part[i]
    if phase == 2:
        part = sums[1]
""",
    "a loop around that tests a condition": """
while count < 9:
    for i in range(4):
        own[i] += own[3]
    count += 1
""",
    "a counter that is used before its loop": """
j = 3
for phase in range(5):
    for i in range(2):
        total += own[j]
        for j in range(2):
            total += own[j]
""",
    "a counter as a bound before its loop": """
j = 3
for phase in range(5):
    for i in range(2):
        for k in range(j):
            total += own[k]
        for j in range(2):
            total += own[j]
""",
    "a vector, then one number for all threads": """
n = x % 4
for phase in range(6):
    for i in range(2):
        n = n + 2
    for k in range(n):
        total += own[k % 4]
    n = 1
""",
    "one number for all threads, then a vector": """
n = 1
for phase in range(6):
    for i in range(2):
        n = n + 2
    for k in range(n):
        total += own[k % 4]
    n = x % 4
""",
    "a race by one number that begins later": """
for phase in range(8):
    held = np.float32(7)
    for i in range(1):
        tile[x] = held
        held = held + own[i]
    if phase < 3:
        cuda.syncthreads()
    tile[63 - x] = 7
    if phase < 3:
        cuda.syncthreads()
""",
    "a race by one number that was a vector": """
for phase in range(8):
    held = own[1]
    if phase > 1:
        held = np.float32(7)
    for i in range(1):
        tile[x] = held
        held = held + own[i]
    if phase < 3:
        cuda.syncthreads()
    tile[63 - x] = 7
    if phase < 3:
        cuda.syncthreads()
""",
    "a race with one of many readers": """
for phase in range(6):
    cuda.syncthreads()
    for i in range(1):
        total += tile[i]
    if phase < 3:
        cuda.syncthreads()
    tile[x] = phase
""",
    "one number that becomes a vector in the loop": """
for phase in range(5):
    held = np.float32(2)
    for i in range(3):
        own[i] = held
        held = held + own[i + 1]
    total += held
""",
    "whole numbers that wrap": """
small = cuda.local.array(4, np.int8)
for i in range(4):
    small[i] = 100 + i
for phase in range(4):
    for i in range(4):
        small[i] += 9
    count += small[1]
""",
}
NOT_REPLAYED = {
    "a race of its own", "float64 in every round", "something unwritten", "outside its array", "a variable that steps on",
    "bounds that change", "whole numbers that wrap", "constants and counters", "threads that leave", "a type that changes",
    "one number for all threads, then a vector", "a race by one number that begins later",
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATS)
def test_a_loop_that_repeats_itself_tells_what_stepping_through_it_tells(name, seen, monkeypatch):
    assert_same(REPEATS[name], monkeypatch)
    assert (seen["runs"] == 0) == (name in NOT_REPLAYED)


def test_a_race_that_begins_after_a_loop_is_known_is_found():
    told = Told(define(text_of(REPEATS["a race that begins later"]), {"cuda": cuda, "np": np})["kernel"])
    assert "race" in {each.kind for each in told.hazards}


def test_a_loop_that_is_different_each_time_is_left_alone(seen, monkeypatch):
    assert_same(REPEATS["a variable that steps on"], monkeypatch)
    assert seen["records"] == MOST_RECORDS


def test_a_launch_runs_out_of_work_where_stepping_would_have(seen, monkeypatch):
    text = text_of("while other[0, 0] < 9:\n    for i in range(4):\n        own[i] += other[i, x]\n")
    kernel = from_python(define(text, {"cuda": cuda, "np": np})["kernel"].py_func, "kernel")

    def told(limit: int) -> tuple:
        arrays = [np.ones(BLOCKS * THREADS, dtype) for dtype in (np.float32, np.float32, np.int64)]
        session = Session(work_limit=limit)
        with pytest.raises(KernelFault) as found:
            session.launch(kernel, BLOCKS, THREADS, arrays)
        return str(found.value), session.records[0].counters, session.work

    limits = range(40_000, 50_000, 700)
    replayed = [told(limit) for limit in limits]
    assert seen["runs"] > len(limits)
    monkeypatch.setattr(Interpreter, "plain_loop", lambda *_: None)
    assert replayed == [told(limit) for limit in limits]


def test_a_race_is_told_the_same_where_reads_are_checked_by_element(monkeypatch):
    bodies = ["if x < 40:\n    total += tile[x % 7]\n" + REPEATS["a race with one of many readers"]]
    bodies += [random_body(random.Random(seed)) for seed in range(100, 110)]
    for body in bodies:
        kernel = define(text_of(body), {"cuda": cuda, "np": np, "SIDE": 4})["kernel"]
        by_element = Told(kernel)
        with monkeypatch.context() as patch:
            patch.setattr(Memory, "_check_by_element", lambda *_: False)
            assert vars(by_element) == vars(Told(kernel)), body


def random_body(choose: random.Random) -> str:
    """A loop around loops of arithmetic on variables, registers and shared arrays, some of it with races.

    Counters are used outside their loops, and variables are now a vector and now one number for all threads.
    """

    def index(counters: list[str]) -> str:
        if choose.random() < stray:
            return choose.choice(["i1", "i2", "i9", "count % 4"])
        return (
            f"({choose.choice([*counters, '1', '2'])} + {choose.randrange(4)}) % 4"
            if choose.random() < 0.3
            else (choose.choice([*counters, "0", "3"]))
        )

    def element(counters: list[str]) -> str:
        i, j = index(counters), index(counters)
        place = choose.choice(["x", f"x // 8 + {j}", f"{j} * 16", f"(x + {j}) % 64"])
        return choose.choice(
            [f"own[{i}]", f"sums[{choose.randrange(2)}, {i}]", f"tile[{place}]", f"other[{i}, {place}]"]
        )

    def value(counters: list[str], depth: int = 2) -> str:
        if depth and choose.random() < 0.6:
            return f"({value(counters, depth - 1)} {choose.choice('+-*')} {value(counters, depth - 1)})"
        names = ["total", "held", "t", "u"]
        return choose.choice(names) if choose.random() < 0.4 else element(counters)

    def statements(counters: list[str], depth: int, indent: str) -> list[str]:
        lines = []
        for _ in range(choose.randint(1, 3)):
            if depth and choose.random() < 0.4:
                name = f"i{depth}"
                lines.append(f"{indent}for {name} in range({choose.randint(1, 4)}):")
                lines += statements([*counters, name], depth - 1, indent + "    ")
                continue
            mine = choose.choice(["total", "held", "t", "u", "own", "own", "sums", "other", "count"])
            i = index(counters)
            if mine == "count":
                lines.append(f"{indent}count += {choose.choice([*counters, '3', 'i1' if stray else '2'])}")
                continue
            target = {"own": f"own[{i}]", "sums": f"sums[1, {i}]", "other": f"other[{i}, x]"}.get(mine, mine)
            lines.append(f"{indent}{target} {choose.choice(['=', '=', '+=', '-='])} {value(counters)}")
        return lines

    stray = choose.choice([0, 0, 0.4])
    body = ["t = a[at]", "u = np.float32(2)", "i1 = 2", "i2 = 1", "i9 = 3", "for phase in range(5):"]
    for _ in range(choose.randint(0, 2)):
        name, one, vector = choose.choice([("held", "np.float32(phase)", "a[at]"), ("count", "1", "x % 4")])
        body += [f"    if phase {choose.choice('<>')} 2:", f"        {name} = {one}"]
        body += ["    else:", f"        {name} = {vector}"]
    if choose.random() < 0.7:
        body.append("    cuda.syncthreads()")
    if choose.random() < 0.5:
        body.append("    tile[x] = phase")
        body.append("    cuda.syncthreads()")
    for _ in range(choose.randint(1, 2)):
        body.append("    for i9 in range(4):")
        body += statements(["i9"], 2, "        ")
        if choose.random() < 0.5:
            body += ["    for k in range(count % 4):", "        total += own[k]"]
    return "\n".join(body)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_loops_tell_what_stepping_through_them_tells(seen, monkeypatch):
    for seed in range(60):
        assert_same(random_body(random.Random(seed)), monkeypatch)
    assert seen["runs"] > 60
