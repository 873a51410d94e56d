"""Random kernels on the simulated GPU against Numba on the CPU, and against Python thread by thread."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.cudagpu import find_gpu
from autograder.grading.worker import gpu_lock
from autograder.simgpu.host import cuda_module
from autograder.tests import random_kernels as kernels

pytestmark = pytest.mark.long

cuda = cuda_module.build_module()
steady: dict[str, Any] = {
    "deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck), "database": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def only_wrapping(monkeypatch):
    """Wrapping around is meant here, in arithmetic and in indices; no thread leaves its arrays or meets another."""

    def tell(hazards):
        assert {hazard.kind for hazard in hazards} <= {"overflow_on_store", "negative_index", "accidental_float64"}

    monkeypatch.setattr(cuda_module.device, "tell", tell)


def assert_same(body: str, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    for name in kernels.OUTPUTS:
        equal = np.array_equal(ours[name], theirs[name], equal_nan=ours[name].dtype.kind == "f")
        if not equal:
            where = np.flatnonzero(ours[name] != theirs[name])[:5]
            raise AssertionError(
                f"{name}{where.tolist()}: simulated {ours[name][where]}, expected {theirs[name][where]}\n{body}"
            )


@settings(max_examples=10, **steady)
@given(st.integers(0, 2**32))
def test_random_kernels_compute_what_python_computes_thread_by_thread(seed):
    assert_as(kernels.run_by_python, seed, simple=True)


@pytest.mark.rest
@settings(max_examples=200, **steady)
@given(st.integers(0, 2**32))
def test_many_random_kernels_compute_what_python_computes_thread_by_thread(seed):
    assert_as(kernels.run_by_python, seed, simple=True)


def assert_as(run, seed, *, simple):
    """A random kernel leaves what `run` makes of its body; `simple`: one that plain Python computes alike."""
    choose = random.Random(seed)
    body, arrays = kernels.random_body(choose, simple=simple), kernels.inputs(choose)
    assert_same(body, kernels.on_gpu(body, arrays, cuda), run(body, arrays))


@settings(max_examples=2, **steady)
@given(st.integers(0, 2**32))
def test_random_kernels_of_all_types_compute_what_numba_computes_on_the_cpu(seed):
    assert_as(kernels.compiled_by_numba, seed, simple=False)


@pytest.mark.rest
@settings(max_examples=20, **steady)
@given(st.integers(0, 2**32))
def test_many_random_kernels_of_all_types_compute_what_numba_computes_on_the_cpu(seed):
    assert_as(kernels.compiled_by_numba, seed, simple=False)


@pytest.mark.gpu
@pytest.mark.skipif(not find_gpu().usable, reason=f"no GPU: {find_gpu().reason}")
@pytest.mark.parametrize("seed", range(48))
def test_random_kernels_compute_on_the_simulated_gpu_what_they_compute_on_a_real_one(seed):
    """Integers to the last bit; floats up to what fusing a product and a sum into one rounding changes."""
    from numba import cuda as real

    choose = random.Random(seed)
    body, arrays = kernels.random_body(choose, simple=seed % 2 == 0), kernels.inputs(choose)
    with warnings.catch_warnings(), gpu_lock():
        warnings.simplefilter("ignore")  # a small grid, arrays of the host
        theirs = kernels.on_gpu(body, arrays, real)
    ours = kernels.on_gpu(body, arrays, cuda)
    for name in kernels.OUTPUTS:
        if ours[name].dtype.kind == "f":
            bound = 64 * float(np.finfo(ours[name].dtype).eps)
            np.testing.assert_allclose(ours[name], theirs[name], rtol=bound, atol=bound, err_msg=f"{name}\n{body}")
        else:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{name}\n{body}")
