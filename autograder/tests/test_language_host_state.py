"""Nothing that host code keeps survives from one call to the next: every call finds what the module made at first.

Otherwise a submission knows which check is calling. Each program leaves something behind in a way of its own, or is told
that it cannot.
"""

from __future__ import annotations

import numpy as np
import pytest

from autograder.language import parse_program
from autograder.language.source import submission_from_cells
from autograder.records.runs import RunRequest
from autograder.simulated_device import SimulatedDevice

pytestmark = pytest.mark.quick

PROGRAM = """
import math
import numpy as np
from numba import cuda

@cuda.jit
def count(a):
    a[0] += 1

@cuda.jit
def count_in_a_record(a):
    a.x += 1

{module}

def host(a):
    {host}
"""
OBJECTS = "Host code has no arrays of objects"
KEPT = {  # (at module level, in the host function, which returns what it finds): what a call is told, or what each finds
    ("CALLS = np.array([[0], [0, 0]], 'O')", "CALLS[0].append(1)\n    return len(CALLS[0])"): OBJECTS,
    ("CALLS = np.array([None])", "CALLS[0] = 1\n    return 1"): OBJECTS,
    ("CALLS = np.zeros(2, [('n', 'O')])", "return CALLS.size"): OBJECTS,
    ("CALLS = np.zeros(2, 'f4,O')", "return CALLS.size"): OBJECTS,
    ("CALLS = np.zeros(2).astype('O')", "return CALLS.size"): OBJECTS,
    ("CALLS = np.full(2, 2 ** 70)", "return CALLS.size"): OBJECTS,
    ("KIND = np.dtype('O')", "return 1 if KIND is None else 2"): OBJECTS,
    ("", "x = np.asarray([None, 1])\n    return 1"): OBJECTS,
    ("POP = [1, 2, 3].pop", "return POP()"): "`.pop` cannot be kept at module level",
    ("POPS = ([1, 2, 3].pop, 3)", "return POPS[0]()"): "`.pop` cannot be kept at module level",
    ("FILL = np.zeros(2).fill", "return 1 if FILL is None else 2"): "`.fill` cannot be kept at module level",
    ("CALLS = [0]", "CALLS[0] += 1\n    return CALLS[0]"): "a list made at module level stays as it is",
    ("CALLS = [0]", "CALLS.append(1)\n    return len(CALLS)"): "`.append` cannot be used",
    ("CALLS = ([0],)", "CALLS[0].append(1)\n    return 1"): "`.append` cannot be used",
    ("CALLS = [[0]]", "mine = CALLS.copy()\n    mine[0][0] += 1\n    return mine[0][0]"): "stays as it is",
    ("CALLS = [0]", "CALLS += [1]\n    return len(CALLS)"): 2,
    ("CALLS = [0]", "mine = CALLS\n    mine *= 2\n    return len(mine)"): 2,
    ("CALLS = zip((1, 2, 3), (4, 5, 6))", "for x, y in CALLS:\n        return x"): 1,
    ("CALLS = enumerate((7, 8))", "for x, y in CALLS:\n        return y"): 7,
    ("CALLS = [zip((1, 2), (3, 4))]", "for x, y in CALLS[0]:\n        return x"): 1,
    ("A, B = enumerate((7, 8)), 1", "for x, y in A:\n        return y"): 7,
    ("CALLS = np.zeros(2)", "CALLS[0] += 1\n    return CALLS[0]"): "read-only",
    ("CALLS = np.zeros(2)", "CALLS.reshape(2, 1)[0] = 1\n    return 1"): "read-only",
    ("CALLS = np.zeros(2)", "CALLS.T[:] = 1\n    return 1"): "read-only",
    ("CALLS = np.zeros(2)", "CALLS.ravel().fill(3)\n    return 1"): "read-only",
    ("CALLS = np.zeros(2)", "count[1, 1](CALLS)\n    return int(CALLS[0])"): 0,
    ("CALLS = (np.zeros(2), 1)", "count[1, 1](CALLS[0])\n    return int(CALLS[0][0])"): 0,
    ("CALLS = np.zeros(2, [('x', 'i4')])[0]", "CALLS['x'] += 1\n    return CALLS['x']"): "read-only",
    ("CALLS = [np.zeros(2, [('x', 'i4')])[0]]", "CALLS[0]['x'] += 1\n    return 1"): "read-only",
    ("CALLS = np.zeros(2, [('x', 'i4')])", "CALLS[0]['x'] = 4\n    return CALLS[0]['x']"): "read-only",
    ("CALLS = np.zeros(2, [('x', 'i4')])", "for each in CALLS:\n        each['x'] += 1\n    return 1"): "read-only",
    ("CALLS = np.zeros(2, [('x', 'i4')])[0]", "count_in_a_record[1, 1](CALLS)\n    return int(CALLS['x'])"): 0,
    ("CALLS = cuda.device_array(2)", "return CALLS[0]"): "cannot be used at module level",
    ("CALLS = cuda.to_device(np.zeros(2))", "return CALLS[0]"): "cannot be used at module level",
    ("def step(n=[0]):\n    n[0] += 1\n    return n[0]", "return step()"): "stays as it is",
    ("def step(n=np.zeros(1)):\n    n[0] += 1\n    return n[0]", "return step()"): "read-only",
    ("def step(n=enumerate((5, 6))):\n    for i, x in n:\n        return x", "return step()"): 5,
    ("", "host.calls = 1\n    return 1"): "cannot be assigned to",
    ("CALLS = 0", "global CALLS\n    CALLS += 1\n    return CALLS"): "cannot contain `global`",
    ("CALLS = 3", "CALLS += 1\n    return CALLS"): 4,
    ("LAUNCH = count[1, 1]", "LAUNCH(a)\n    return 3"): 3,
    ("NUMBERS = {1: 2}", "NUMBERS[1] = 3\n    return 1"): "cannot contain this (Dict)",
    ("NUMBERS = {1, 2}", "return len(NUMBERS)"): "cannot contain this (Set)",
    ("GENERATED = (x for x in (1, 2, 3))", "for x in GENERATED:\n        return x"): 1,
    ("RANDOM = np.random.default_rng(1)", "return RANDOM.random()"): "cannot be used",
    ("", "x = cuda.device_array(2, np.int32)\n    found = x[0]\n    x[0] = 7\n    return found"): 0x5A5A5A5A,
    ("", "x = np.empty(2, np.int32)\n    found = x[0]\n    x[0] = 7\n    return found"): 0,
    ("", "x = cuda.pinned_array(2, np.int32)\n    found = x[0]\n    x[0] = 7\n    return found"): 0,
}  # fmt: skip


@pytest.mark.parametrize(("module", "host"), KEPT)
def test_a_second_call_finds_what_the_first_one_found(module: str, host: str) -> None:
    text = PROGRAM.format(module=module, host=host)
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    request = RunRequest("host", {"a": np.zeros(4, np.int32)}, wants_returned=True)
    device = SimulatedDevice()
    first, second, third = (device.run(program, request) for _ in range(3))
    promised = KEPT[module, host]
    if isinstance(promised, str):
        assert promised in str(first.fault), first.fault
        assert str(first.fault).startswith("lab.py, line ")
    else:
        assert first.fault is None and first.returned == promised, first.fault
    assert str(first.fault) == str(second.fault) == str(third.fault)
    assert first.returned == second.returned == third.returned
