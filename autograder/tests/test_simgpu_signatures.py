"""What a function of the library takes, held against Numba's typing: right calls, and each with one thing wrong.

Numba's verdicts are in simgpu/measurements/signatures.json, with the script that asked; a sample is asked again here.
"""

from __future__ import annotations

import ast
import random
import re
import time
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest

from autograder.errors import KernelFault, NotCarriedOut
from autograder.language.program import Function, Reference
from autograder.simgpu.functions.known_functions import CALLS
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.dispatch import device
from autograder.simgpu.measurements import signatures
from autograder.simgpu.operations.calls import Call

cuda = cuda_module.build_module()
NAMES = {
    "cuda": Reference("numba.cuda"), "np": Reference("numpy"), "math": Reference("math"), "numba": Reference("numba"),
    "operator": Reference("operator"),
}  # fmt: skip
LIVE = 40  # calls that Numba is asked about again
SEED = 5


@dataclass(frozen=True)
class Difference:
    """Calls on which Numba and the simulated GPU differ, for a reason; `why` is Numba's, as stored."""

    calls: str  # a regular expression over the whole call
    reason: str
    why: str = ".*"

    def covers(self, call: str, why: str) -> bool:
        return bool(re.fullmatch(self.calls, call) and re.match(self.why, why))


WE_TAKE_MORE = (
    Difference(
        r"np\.(conjugate|divide|true_divide|isnan)\(.*\)",
        "numba-cuda 0.30 has them, and Numba 0.68's own target has not", "TypingError: Use of unsupported",
    ),
    Difference(r"(a\.|np\.)(sum|min|max|mean)\(a?\)|a\.ravel\(\)", "Numba's reductions fail in kernels by themselves"),
    Difference(
        r"(min|max)\(.*\)",
        "Numba 0.68 compiles min and max of several numbers for CPUs, and on CUDA fails by itself in compiling *args",
        "TypeError: (Signature mismatch|object of type)",
    ),
    Difference(r"math\.(degrees|radians)\(i\)", "numba-cuda 0.30 takes integers, and Numba 0.68's own target fails"),
    Difference(
        r"cuda\.(shfl|all)_sync\(mask=.*\)",
        "numba-cuda 0.30 takes these names, and Numba 0.68's own target has none for device functions",
    ),
    Difference(r"math\.(exp2|nextafter)\(.*\)", "numba-cuda 0.30 has them, and Numba 0.68's own target has not"),
    Difference(
        r"print\(.*\)", "numba-cuda 0.30 prints bools, tuples and cuda.threadIdx", "NotImplementedError: printing"
    ),
)
WE_TAKE_LESS = (
    Difference(r"(enumerate|zip)\(.*'x'.*\)", "the letters of a text are not looped over here"),
    Difference(r"(ord|iter|slice|type|str|repr|sum|hash)\(.*\)", "has no use in a kernel, and is not simulated"),
    Difference(r"(min|max)\(a\)", "Numba goes through an array one by one; write the loop"),
    Difference(r"cuda\.shared\.array\(-1, np\.float32\)", "Numba's typing does not look at the number"),
    Difference(r"a\.reshape\(.*\)", "the sizes do not fit, which Numba finds out when the kernel runs"),
    Difference(r"cuda\.selp\(.*\)", "Numba's typing does not look at the condition, and what it compiles is no PTX"),
    Difference(r"np\.(min|mean)\([fic]\)", "Numba takes a number for an array of one"),
    Difference(r"operator\.(eq|ne)\(.*('x'|None).*\)", "never equal, for Numba; a slip, here"),
    Difference(r"operator\.getitem\([ad], None\)", "a new axis is not simulated"),
)


def verdict(call: str) -> str:
    """Why the simulated GPU refuses a call; empty where it takes it."""
    text = signatures.kernel_text(call)
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    kernel = Function("kernel", "kernel", node, "signatures", text, NAMES)
    arguments = tuple(each.copy() for each in signatures.PARAMETERS.values())
    try:
        device.launch(kernel, (1, 1), arguments)
    except NotCarriedOut as fault:
        return f"ours: {fault}"
    except KernelFault as fault:
        return str(fault)
    return ""


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> dict[str, tuple[str, str]]:
    """Numba's verdict and ours on every third call, with --everything on every call."""
    step = 1 if request.config.getoption("everything") else 3
    return {call: (why, verdict(call)) for call, why in list(signatures.stored().items())[::step]}


def disagreements(verdicts: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {call: (why, ours) for call, (why, ours) in verdicts.items() if bool(why) != bool(ours)}


def test_numba_and_the_simulated_gpu_take_the_same_calls(verdicts):
    assert len(verdicts) > 2300
    odd = [
        f"{call}: Numba: {why or 'takes it'}; here: {ours or 'taken'}"
        for call, (why, ours) in disagreements(verdicts).items()
        if not any(each.covers(call, why) for each in (WE_TAKE_MORE if why else WE_TAKE_LESS))
    ]
    assert not odd, "\n".join(odd)


@pytest.mark.rest
def test_every_difference_that_is_listed_is_one(verdicts):
    assert len(verdicts) > 7000
    for is_more, differences in ((True, WE_TAKE_MORE), (False, WE_TAKE_LESS)):
        for each in differences:
            found = disagreements(verdicts).items()
            assert any(bool(why) == is_more and each.covers(call, why) for call, (why, _) in found), each


def test_no_call_is_a_surprise_to_the_simulated_gpu(verdicts):
    assert [ours for _, ours in verdicts.values() if ours.startswith("ours: ")] == []


def test_every_function_of_the_core_is_among_the_calls():
    wider = {path for path, each in CALLS.items() if ".wider." in each.handler.__module__}
    asked = {call.split("(")[0] for call in signatures.stored()}
    spoken = {each.signature.name for path, each in CALLS.items() if path not in wider}
    reductions = {f"np.{name}" for name in """ravel transpose max var std prod all any argmin argmax count_nonzero nansum
    nanprod nanmin nanmax nanmean amin amax round isnat""".split()}  # fmt: skip
    assert len(wider) > 150
    assert spoken - asked - reductions == {"cuda.cg.grid_group.sync", "cuda.literal_unroll"}


def test_the_stored_calls_are_those_that_the_script_asks_for():
    assert list(signatures.stored().keys() ^ set(signatures.every_call())) == []


def test_numba_still_says_what_is_stored():
    if signatures.version() != numba.__version__:
        pytest.skip(f"the verdicts are of Numba {signatures.version()}")
    stored = signatures.stored()
    for call in random.Random(SEED).sample(sorted(stored), LIVE):
        assert bool(signatures.numbas_verdict(call)) == bool(stored[call]), call


@pytest.mark.parametrize("text, value", [("inf", np.inf), ("-inf", -np.inf), ("1e5", 1e5)])
def test_a_float_is_made_of_a_text_that_the_compiler_reads(text, value):
    @cuda.jit
    def kernel(out):
        out[0], out[1] = float(text), float("nan")

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out[0] == value and np.isnan(out[1])


def test_isinstance_is_known_to_the_compiler():
    @cuda.jit
    def kernel(a, i, out):
        out[0], out[1] = isinstance(i, int), isinstance(i, (float, complex))
        out[2], out[3] = isinstance(a[0], np.float32), isinstance((i, i), tuple)

    out = np.zeros(4, np.bool_)
    kernel[1, 1](np.zeros(1, np.float32), 3, out)
    assert out.tolist() == [True, False, True, True]


def test_a_call_with_plain_numbers_is_bound_in_about_a_microsecond():
    nobody: Any = None
    signature, call = CALLS["math.atan2"].signature, Call(nobody, nobody, nobody)
    arguments: list[Any] = [np.float64(1), np.zeros(32)]
    assert signature.bind(call, arguments, {}) is arguments  # neither copied nor converted
    best = min(_seconds(lambda: signature.bind(call, arguments, {})) for _ in range(20))
    assert best < 10e-6  # 0.5 us on a quiet machine


def _seconds(work, times=1000):
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times
